"""How the verbs speak: results to stdout, words to stderr, tables of aligned text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import zip_longest
from textwrap import wrap
from typing import Any

import click

from privsieve.public.canonical import EPSILON_UNITS, Json, canonical, decimal, hidden, visible
from privsieve.public.printed import fitted

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
    click.echo(document(value))


def document(value: Json) -> str:
    """A value in canonical JSON; what a terminal would obey is written as JSON's escapes.

    >>> document({"b": [1, "x"], "a": None})
    '{"a":null,"b":[1,"x"]}'
    """
    return "".join(_escaped(c) if hidden(c) else c for c in canonical(value).decode())


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print columns on stdout, aligned to the right; what would be too wide goes on below itself.

    Where that would break a word, each row has a line for each of its cells.

    >>> table(("epsilon", "found"), [("0.1", "7"), ("3", "100")])
      epsilon  found
          0.1      7
            3    100
    >>> table(("population", "left"), [("all who came to the clinic in the north, " * 2, "1")])
      population                                                               left
      all who came to the clinic in the north, all who came to the clinic in      1
      the north,
    >>> table(("entry", "request", "digest"), [("4", "ab" * 16, "cd" * 32)])
      entry    4
      request  abababababababababababababababab
      digest   cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd
    """
    lines = [tuple(head), *(tuple(map(visible, row)) for row in rows)]
    columns = list(zip(*lines, strict=True))
    widest = [max(map(len, column)) for column in columns]
    width = fitted(widest, WIDTH - 2)
    if any(len(word) > w for column, w in zip(columns, width, strict=True)
           for cell in column for word in cell.split()):
        _records(lines[0], lines[1:])
        return
    narrowed = [w < whole for w, whole in zip(width, widest, strict=True)]
    for number, line in enumerate(lines):
        cells = [wrap(cell, w) or [""] for cell, w in zip(line, width, strict=True)]
        for parts in zip_longest(*cells, fillvalue=""):
            text = "  ".join(part.ljust(w) if many else part.rjust(w) for part, w, many in zip(
                parts, width, narrowed, strict=True))
            click.secho(f"  {text}".rstrip(), bold=number == 0)


def _records(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Rows one below another, with the names of their cells."""
    indent = max(map(len, head)) + 4
    for number, row in enumerate(rows):
        if number:
            click.echo()
        for name, cell in zip(head, row, strict=True):
            click.echo(click.style(f"  {name}".ljust(indent), bold=True) + hanging(cell, indent))


def amount(value: Fraction) -> str:
    """An amount of epsilon, exact.

    >>> from fractions import Fraction
    >>> amount(Fraction(5, 2))
    '2.5'
    """
    return decimal(int(value * EPSILON_UNITS))


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
