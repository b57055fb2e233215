"""`privsieve inspect`: show the holder of a table how its cells are read."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

import click

from privsieve.cli import words
from privsieve.cli.private import PRIVATE, new_file
from privsieve.cli.verb import Outcome, verb
from privsieve.entries import load
from privsieve.errors import ParameterError
from privsieve.public.canonical import canonical, visible
from privsieve.public.domain import Domain
from privsieve.public.option import File
from privsieve.rows.inspect import Inspection, inspect

_COLOURS = {"STOP:": "red", "LOOK:": "yellow", "FINE:": "green"}


@verb("patients.csv --domain domain.toml")
def command(data: str, *, domain: File, private_output: File | None = None) -> Outcome | None:
    """PRIVATE: compare DATA with its domain file: a verdict on each column, and what to correct.

    Shows cells of the table, so do not share the output.  It costs no budget.  Without
    --private-output it writes only to a terminal.

    domain : the domain file
    private_output : write into this new file (only its owner may read it) instead of the terminal:
        a page if its name ends in .html, JSON if it ends in .json, else text
    """
    if private_output is None and not sys.stdout.isatty():
        raise ParameterError("the output of inspect is private, but stdout is not a terminal; "
                             "write it to a private file with --private-output FILE")
    inspection = inspect(data, Domain.from_toml(domain))
    if private_output is None:
        return Outcome(inspection.json(), lambda: _show(inspection.lines()))
    as_json = click.get_current_context().params["as_json"]
    with new_file(private_output, "of --private-output") as write:
        write(_written(inspection, private_output, as_json=as_json))
    words.say("written", f"{private_output}{PRIVATE}")
    return None


def _written(inspection: Inspection, path: str, *, as_json: bool) -> bytes:
    if as_json or path.lower().endswith(".json"):
        return canonical(inspection.json()) + b"\n"
    if path.lower().endswith((".html", ".htm")):
        page: bytes = load("export", "inspection")(inspection.json())
        return page
    return "\n".join([*inspection.lines(), ""]).encode()


def _show(lines: Sequence[str]) -> None:
    """Lines that fit the terminal; through a pager where they are more than it holds."""
    wide, high = shutil.get_terminal_size()
    rows = [row for at, line in enumerate(lines)
            for row in _fitted(line, min(wide, 100) - 1, apart=at > 1)]
    if len(rows) < high:
        click.echo("\n".join(rows))
    else:
        click.echo_via_pager("\n".join([*rows, ""]))


def _fitted(line: str, width: int, *, apart: bool = False) -> list[str]:
    """A line in rows, the later ones indented, with its first word in its colour.

    A verdict stands apart from what is before it.
    """
    text = visible(line)
    indent = " " * (len(text) - len(text.lstrip()))
    rows = click.wrap_text(text.lstrip(), width, initial_indent=indent,
                           subsequent_indent=indent + "    ").split("\n")
    word = text.partition(" ")[0]
    if word == "PRIVATE:":
        return [click.style(row, fg="red", bold=True) for row in rows]
    if word in _COLOURS:
        rows[0] = click.style(word, fg=_COLOURS[word], bold=True) + rows[0][len(word):]
        return ["", *rows] if apart else rows
    return rows
