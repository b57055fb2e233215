"""Pages that are made from the code: `make options` writes docs/options.md and docs/glossary.md."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from privsieve.cli.options import flag
from privsieve.methods import METHODS, options_of
from privsieve.public.option import abouts
from privsieve.report.frame import glossary as words_of

PAGE = Path(__file__).parents[1] / "docs" / "options.md"
GLOSSARY = PAGE.with_name("glossary.md")
HEAD = """\
# Options of the methods

Each option is one field of its method's options. This page, the constructor, `ps.plan`, the command
line and the settings of a release are made from it (`make options` writes it). Every method takes
`epsilon` and `allow_weak` as well, and every estimator `domain` and `ledger`.

Python reads a value as the command line does, by the option's field and before the charge. A text
is what it would be on the command line: `ordered="no"` is False, `depth="2"` is 2. Values of NumPy
are read as Python's. A value of another kind is refused in a sentence: `ordered=1` and
`depth=True` are.
"""


def page(methods=METHODS) -> str:
    """A section for each method, with a table of its options."""
    parts = [HEAD]
    for method in methods:
        kind = options_of(method)
        known = {one.name: one for one in fields(kind)}
        parts.append(f"## {method}\n\n| option | where left out | on the command line "
                     "| what for |\n|---|---|---|---|\n")
        parts += [_row(known[name], about) for name, about in abouts(kind).items()
                  if name not in ("epsilon", "allow_weak")]
    return "\n".join(part if part.endswith("|\n") else f"{part}\n" for part in parts).replace(
        "|\n\n|", "|\n|").rstrip() + "\n"


def _row(known, about) -> str:
    line = f"`{flag(known)}`" if flag(known) else ""
    left = "needed" if known.default is None and about.needed else f"`{known.default!r}`"
    words = f"; one of {', '.join(about.choices)}" if about.choices else ""
    return f"| `{known.name}` | {left} | {line} | {about.says}{words} |\n".replace("\n\n", "\n")


def glossary() -> str:
    """Each term of the reports, and what it means."""
    head = ("# Glossary\n\nThe words of privsieve's reports and pages. A "
            "report explains\nthose that it uses.\n")
    return "\n".join([head, *(f"## {term.replace('-', ' ')}\n\n{said}\n"
                              for term, said in words_of().items())])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    GLOSSARY.write_text(glossary(), encoding="utf-8")
