"""`privsieve demo`: the whole path on a made-up table, by the commands that anybody would type."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import click

from privsieve.cli import words
from privsieve.errors import ParameterError

_INTRO = """\
A made-up hospital table: 20,000 patients, 40 columns, and the question which of
them say that a patient comes back within a month.  Nobody in it exists.  Six
columns were planted: four that matter alone, and two that matter only together.
The noise is real, so another run may choose differently."""

_NEXT = (
    ("domain your.csv --out domain.toml", "a draft; fill in the bounds"),
    ("inspect your.csv --domain domain.toml", "for your eyes: does the domain fit?"),
    ("plan your.csv --domain domain.toml --unit row --epsilon 0.5 --top 6", "what it would cost"),
)

_PAGES = (
    (("first", "report.html"), "the selection: for everybody"),
    (("columns", "report.html"), "the publication: for everybody who gets the table"),
    (("internal.html",), "the publication, with its closed columns: PRIVATE, for the holder"),
)


@click.command("demo", epilog="Example: privsieve demo --out try-it")
@click.option("--out", metavar="DIR", default="privsieve-demo", show_default=True,
              help="Where to put it all; it must not exist.")
def command(out: str) -> None:
    """Watch it work: a made-up hospital table, a plan, one selection, one publication.

    Makes DIR with patients.csv, domain.toml, a ledger and the two release folders.
    """
    from privsieve.demo import write

    folder = _folder(out)
    click.echo(_INTRO)
    write(folder)
    at = {name: os.path.join(out, name)  # noqa: PTH118  # as typed, not as resolved
          for name in ("patients.csv", "domain.toml", "budget.db", "first", "columns",
                       "internal.html")}
    asked = ["--domain", at["domain.toml"], "--unit", "row", "--epsilon", "0.5", "--top", "6"]
    charged = ["--ledger", at["budget.db"], "--population", "demo-clinic"]
    _step("Its holder grants the patients a budget.")
    _run(["ledger", "grant", *charged, "--epsilon", "2"])
    _step("What would a choice of six columns cost, and what is it worth?  No row is read.")
    _run(["plan", at["patients.csv"], *asked])
    _step("One choice.  The budget is charged first; then the rows are read.")
    _run(["select", at["patients.csv"], *asked, *charged, "--out", at["first"]])
    _compare(folder)
    _step("Anybody can check the release, without the table.")
    _run(["verify", at["first"], "--ledger", at["budget.db"]])
    _step("Another question: which columns may be published row by row?  Everybody is to\n"
          "have five equals.  This needs no noise, and promises less.")
    _run(["publish", at["patients.csv"], "--domain", at["domain.toml"], "--profile", "strict",
          "-k", "5", "--publish-target", "--out", at["columns"],
          "--internal-report", at["internal.html"]])
    _run(["verify", at["columns"]])
    _step("Each release says all of this on one page that any browser shows:")
    for name, whose in _PAGES:
        click.echo(f"  {os.path.join(out, *name)}\n      {whose}")  # noqa: PTH118  # as typed
    _step("With a table of your own:")
    for line, why in _NEXT:
        click.echo(f"  privsieve {line}\n      {why}")


def _folder(out: str) -> Path:
    folder = Path(out)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        raise ParameterError("the folder of the demo exists; nothing is overwritten: name "
                             f"another, for example --out {_another(out)}") from None
    except (OSError, ValueError):
        raise ParameterError("the folder of the demo cannot be made; the folder around it must "
                             "exist and be writable") from None
    return folder


def _another(out: str) -> str:
    """A name that is free."""
    number = 2
    while os.path.lexists(f"{out.rstrip('/')}-{number}"):
        number += 1
    return shlex.quote(f"{out.rstrip('/')}-{number}")


def _step(text: str) -> None:
    click.echo()
    words.show(text, bold=True)


def _run(arguments: list[str]) -> None:
    """Show a command, and run it as it stands."""
    from privsieve.cli import verbs

    click.secho(_line(arguments), fg="cyan")
    verbs.main(arguments, "privsieve", standalone_mode=False,
               color=click.get_current_context().color)


def _line(arguments: list[str]) -> str:
    """A command as it would be typed, in lines of at most 80 characters where that can be."""
    words_of = " ".join(map(shlex.quote, arguments)).split(" --")
    line = f"$ privsieve {words_of[0]}"
    for option in words_of[1:]:
        long = len(line.rpartition("\n")[2]) + len(option) > 74
        line += f" \\\n    --{option}" if long else f" --{option}"
    return line


def _compare(folder: Path) -> None:
    """What was planted, and what was chosen."""
    from privsieve.demo import PLANTED

    chosen = json.loads((folder / "first" / "release.json").read_bytes())["selected"]
    _step("We know the truth here, because the table is made up:")
    for name, effect in PLANTED.items():
        found = name in chosen
        mark = click.style("found " if found else "missed", fg="green" if found else "yellow")
        click.echo(f"  {mark}  {name:<18}{effect}")
    for name in chosen:
        if name not in PLANTED:
            click.echo(f"  {click.style('chance', fg='yellow')}  {name:<18}was not planted")
