"""Write the reference pages from the code: `make options`.

The pages are docs/options.md, docs/glossary.md, docs/command-line.md and docs/python.md.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter, defaultdict
from dataclasses import fields
from pathlib import Path

import click

import privsieve
from privsieve.cli import verbs
from privsieve.cli.options import flag
from privsieve.methods import METHODS, options_of
from privsieve.public.option import abouts
from privsieve.report.frame import glossary as words_of

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "options.md"
GLOSSARY = DOCS / "glossary.md"
COMMAND_LINE = DOCS / "command-line.md"
PYTHON = DOCS / "python.md"
#: The pages of the reference from docstrings, in the order of a reader's work.
REFERENCE = ("public", "choosing", "numbers", "spending", "publishing", "originals")
#: Verbs whose options are also those of a method, which docs/options.md lists.
METHODICAL = ("plan", "select", "regress", "synthesize")
#: An option that this many commands explain in the same words has one common row.
COMMON = 3
MADE = "`make options` writes this page from the code.\n"
OPTIONS_HEAD = f"""\
# Options of the methods

Python and the command line read these options by the same rules, and a release records them.

{MADE}
Python reads a text as the command line does: `ordered="no"` is False, `depth="2"` is 2.
It reads values of NumPy as values of Python. It refuses a value of another type, such as
`ordered=1`, before the charge.

## Every estimator

| option | on the command line | meaning |
|---|---|---|
| `epsilon` | `--epsilon` | the privacy cost of the release, read as a decimal number |
| `allow_weak` | `--allow-weak` | accept an epsilon above 10 |
| `domain` | `--domain` | the public facts: [the domain file](domain-file.md) |
| `ledger` | `--ledger`, `--population` | where the budget is kept: [the ledger](ledger.md) |
| `max_memory` | `--max-memory` | the memory for the rows: [large tables](reader.md#large-tables) |
| `n_jobs` | `--jobs` | the number of threads |
| `allow_copies` | | let cross-validation and searches fit copies, each for its price: \
[why](python.md#cross-validation-and-grid-search) |
"""
PUBLISHING_HEAD = """\
## PublishableColumns

Python has these parameters, the command line [other options](command-line.md#privsieve-publish).

| option | default | meaning |
|---|---|---|"""
OPTION_TABLE = ("| option | default | on the command line | meaning |", "|---|---|---|---|")
COMMAND_LINE_HEAD = f"""\
# The command line

`privsieve VERB --help` lists the usual options of a verb, and `--help-all` lists all of them.
This page holds the same texts.

{MADE}
- **Output.** Results go to stdout, and messages go to stderr. So `privsieve select ... >
  names.txt` writes the names and nothing else.
- **For programs.** Every verb takes `--json` and then prints one canonical JSON object.
- **Colour.** `NO_COLOR=1` switches colours off. Without a terminal there are none.
- **Failure.** A refusal is one sentence on stderr with an [exit code](errors.md#exit-codes).
- **Ctrl-C.** Before the charge it ends the command at no cost. During the charge it has no
  effect. After the charge it ends the command with exit code 6.
- **Debugging.** `PRIVSIEVE_DEBUG=1` prints the traceback of an internal error. An error between
  the charge and the release never has a traceback.
- **Module.** `python -m privsieve` is the same command.

## TAB completion

TAB completes verbs, options, methods and files. Add one line to the start file of your shell:

| shell | file | line |
|---|---|---|
| bash | `~/.bashrc` | `eval "$(_PRIVSIEVE_COMPLETE=bash_source privsieve)"` |
| zsh | `~/.zshrc`, after `compinit` | `eval "$(_PRIVSIEVE_COMPLETE=zsh_source privsieve)"` |
| fish | `~/.config/fish/config.fish` | `_PRIVSIEVE_COMPLETE=fish_source privsieve \\| source` |
"""
#: The heading of the part of docs/python.md that is made; above it is a guide.
PYTHON_NAMES = "## Every public name\n"
PYTHON_HEAD = f"""\
{PYTHON_NAMES}
`help(ps.RuleSieve)` prints these texts, and the site has a page with all parameters for each table.
`make options` writes this section from the code.

`ps.plan` and `ps.verify` do not load NumPy, and only estimators load scikit-learn. mypy and
pyright read the types.
"""


def page(methods=METHODS) -> str:
    """Return a section for each method, and a table of the options that methods share."""
    rows = {method: _rows(options_of(method)) for method in methods}
    users = defaultdict(list)
    for method, texts in rows.items():
        for row in texts.values():
            users[row].append(method)
    shared = [f"{row} {', '.join(names)} |" for row, names in users.items() if len(names) > 1]
    parts = [OPTIONS_HEAD]
    if shared:
        parts += ["## Options of several methods\n", f"{OPTION_TABLE[0]} methods |",
                  f"{OPTION_TABLE[1]}---|", *shared, ""]
    for method, texts in rows.items():
        own = [row for row in texts.values() if len(users[row]) == 1]
        names = [f"`{name}`" for name, row in texts.items() if len(users[row]) > 1]
        parts += [f"## {method}\n", *(OPTION_TABLE if own else ()), *own, *([""] if own else [])]
        if names:
            parts.append("[Options of several methods](#options-of-several-methods): "
                         + ", ".join(names) + ".\n")
    return "\n".join([*parts, PUBLISHING_HEAD, *_publishing(), ""])


def _publishing() -> list[str]:
    """Return the row of each parameter of PublishableColumns."""
    kind = privsieve.PublishableColumns
    defaults = {each.name: each.default for each in fields(kind)}
    return [f"| `{name}` | `{defaults[name]!r}` | {_cell(about.says)} |"
            for name, about in abouts(kind).items()]


def _rows(kind) -> dict[str, str]:
    """Return the row of each option of a method, by its name."""
    known = {each.name: each for each in fields(kind)}
    return {name: _row(known[name], about) for name, about in abouts(kind).items()
            if name not in ("epsilon", "allow_weak")}


def _row(known, about) -> str:
    line = f"`{flag(known)}`" if flag(known) else ""
    left = "needed" if known.default is None and about.needed else f"`{known.default!r}`"
    words = f"; one of {', '.join(about.choices)}" if about.choices else ""
    return f"| `{known.name}` | {left} | {line} | {_cell(about.says + words)} |"


def glossary() -> str:
    """Return each term of the reports with its meaning."""
    head = "# Glossary\n\nThe reports and pages of privsieve use these words.\n"
    return "\n".join([head, *(f"## {term.replace('-', ' ')}\n\n{text}\n"
                              for term, text in words_of().items())])


def commands(group=verbs, words=()):
    """Yield each command with the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.resolve_command(context, [name])[1]
        yield (*words, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))


def _options(words, command) -> dict[str, tuple[str, bool]]:
    """Return what help says of each option of a command, and whether the option is required."""
    context = click.Context(command, info_name=words[-1])
    own = command.params if words[0] in METHODICAL else command.get_params(context)
    texts = {}
    for param in own:
        if isinstance(param, click.Option) and param.help and not param.hidden and (
                param.opts[-1] not in ("--help", "--help-all")):
            value = "" if param.is_flag else f" {param.make_metavar(context)}"
            default = param.default if getattr(param, "show_default", False) else None
            texts[f"`{param.opts[0]}{value}`"] = (
                param.help + (f" Default: {default}." if default is not None else ""),
                param.required)
    return texts


def _cell(text: str) -> str:
    """Return a text that Markdown shows as it is, in a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("*", "\\*")


def command_line() -> str:
    """Return a section for each verb, and a table of the options that many verbs share."""
    known = [(words, command, _options(words, command)) for words, command in commands()]
    uses = Counter((name, text) for _, _, options in known for name, (text, _) in options.items())
    common = {pair: None for pair, count in uses.items() if count >= COMMON}
    parts = [COMMAND_LINE_HEAD]
    for words, command, options in known:
        parts.append(_verb(words, command, options, common))
    parts.append("## Common options\n\nThese options mean the same wherever a verb lists them.\n\n"
                 "Every verb takes `--json`.\n\n"
                 "| option | meaning |\n|---|---|\n" + "".join(
                     f"| {_cell(name)} | {_cell(text)} |\n" for name, text in common))
    return "\n".join(parts)


def _verb(words, command, options, common) -> str:
    """Return the section of one verb."""
    level = "#" * (len(words) + 1)
    context = click.Context(command, info_name=" ".join(("privsieve", *words)))
    arguments = [param.make_metavar(context) for param in command.params
                 if isinstance(param, click.Argument)]
    usage = " ".join(("privsieve", *words, *arguments))
    first, *others = re.split(r"\n\s*\n", (command.help or "").strip())
    lines = [f"{level} privsieve {' '.join(words)}", "", _text(first), ""]
    lines += [line for other in others for line in (_text(other), "")]
    if isinstance(command, click.Group):
        return "\n".join(lines)
    if command.epilog:
        example = command.epilog.removeprefix("Example: ")
        lines += [f"Usage: `{usage} [OPTIONS]`. Example: `{example}`", ""]
    own = {name: pair for name, pair in options.items() if (name, pair[0]) not in common}
    if own:
        lines += ["| option | meaning |", "|---|---|"]
        lines += [f"| {_cell(name)} | {_cell(text)}{' Required.' if required else ''} |"
                  for name, (text, required) in own.items()] + [""]
    shared = [(name.strip("`").split()[0], required) for name, (_, required) in options.items()
              if name not in own and name != "`--json`"]
    if shared:
        lines += ["[Common options](#common-options): " + ", ".join(
            f"`{name}`{' (required)' if required else ''}" for name, required in shared) + ".", ""]
    if words[0] in METHODICAL:
        lines += ["This verb also takes the [options of its method](options.md).", ""]
    return "\n".join(lines)


def _text(paragraph: str) -> str:
    return " ".join(paragraph.split())


def python() -> str:
    """Return the guide of the page, and each public name with the start of its docstring."""
    guide = PYTHON.read_text(encoding="utf-8").partition(PYTHON_NAMES)[0]
    parts = [guide + PYTHON_HEAD]
    for name in REFERENCE:
        text = (DOCS / "reference" / f"{name}.rst").read_text(encoding="utf-8")
        title, _, words = (paragraph.strip() for paragraph in text.partition("\n=="))
        words = re.split(r"\n\s*\n", words)[1]
        parts.append(f"### {title}\n\n{_text(words)}\n\n| name | what it does |\n|---|---|\n")
        parts[-1] += "".join(
            f"| `{_call(public)}` | {_cell(_first(public))} |\n" for public in
            re.findall(r"^\.\. auto(?:class|function):: (\w+)", text, re.MULTILINE))
    parts.append("### Errors\n\nAll errors are in `privsieve.errors`: see [Errors](errors.md). "
                 "`ps.__version__` is the version.\n")
    return "\n".join(parts)


def _call(name: str) -> str:
    """Return a public name, and of a function its parameters, without types."""
    named = getattr(privsieve, name)
    if isinstance(named, type):
        return name
    bare = [each.replace(annotation=inspect.Parameter.empty)
            for each in inspect.signature(named).parameters.values()]
    return f"{name}{inspect.Signature(bare)}".replace("|", "\\|")


def _first(name: str) -> str:
    """Return the first paragraph of a docstring."""
    return re.split(r"\n\s*\n", inspect.getdoc(getattr(privsieve, name)) or "")[0]


def main() -> None:
    """Write all pages."""
    for path, text in ((PAGE, page()), (GLOSSARY, glossary()), (COMMAND_LINE, command_line()),
                       (PYTHON, python())):
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
