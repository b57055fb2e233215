"""How the verbs speak: results to stdout, words to stderr, tables of aligned text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import click

from privsieve.public.canonical import Json, canonical, hidden, visible
from privsieve.telling import terminal
from privsieve.telling.document import DataTable, Document, literal

#: Lines fit into 80 columns; labels take the first ones.
WIDTH, INDENT = 79, 11


def say(label: str, text: str = "", **style: Any) -> None:
    """One line of words on stderr: a bold label, and what it says."""
    click.echo(_labelled(label, text, **style), err=True)


def page(*, written: bool) -> None:
    """A page that could not be written beside its release."""
    if not written:
        say("page", "it could not be written; the release stands without it: privsieve report DIR "
                    "writes it", fg="yellow")


def verdict(*, valid: bool) -> None:
    """Whether something holds, on stdout."""
    show("valid" if valid else "NOT VALID", fg="green" if valid else "red", bold=True)


def hanging(text: str, indent: int) -> str:
    """A text in lines that fit, the later ones below its first word, which stands at `indent`."""
    return click.wrap_text(text, WIDTH - indent).replace("\n", "\n" + " " * indent)


def show(label: str, text: str = "", **style: Any) -> None:
    """One line of a result for people, on stdout."""
    click.echo(_labelled(label, text, **style))


def json(value: Json) -> None:
    """A result for machines: one canonical JSON object on stdout."""
    click.echo(canonical_text(value))


def canonical_text(value: Json) -> str:
    """A value in canonical JSON; what a terminal would obey is written as JSON's escapes.

    >>> canonical_text({"b": [1, "x"], "a": None})
    '{"a":null,"b":[1,"x"]}'
    """
    return "".join(_escaped(c) if hidden(c) else c for c in canonical(value).decode())


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print columns on stdout, aligned to the right; what would be too wide goes on below itself.

    >>> table(("epsilon", "found"), [("0.1", "7"), ("3", "100")])
      epsilon  found
          0.1      7
            3    100
    """
    cells = [[literal(cell) for cell in row] for row in rows]
    for row in terminal.table_lines(DataTable("", head, cells, words=0), bold=True):
        click.echo(row)


def tell(document: Document) -> None:
    """A document on stdout."""
    click.echo(terminal.lines(document, bold=True))


def line(text: str) -> None:
    """One line of a result on stdout, as a program reads it."""
    click.echo(visible(text.replace("\n", "\\n")))


def lines(texts: Iterable[str]) -> None:
    """Some of them."""
    for text in texts:
        line(text)


def _escaped(character: str) -> str:
    return "".join(f"\\u{unit:04x}" for unit in memoryview(character.encode("utf-16-le")).cast("H"))


def _labelled(label: str, text: str, **style: Any) -> str:
    label, text = visible(label), visible(text)
    if not text:
        return click.style(click.wrap_text(label, WIDTH), **style)
    # A name of a column may be long: then what is said of it begins below it.
    head = label.ljust(INDENT) if len(label) < INDENT else f"{label}\n{' ' * INDENT}"
    return click.style(head, bold=True, **style) + click.style(
        hanging(text, INDENT), **style)
