"""Output of the verbs: results on stdout, notes on stderr."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Any

import click

from privsieve.public.canonical import Json, canonical, hidden, visible
from privsieve.telling import terminal
from privsieve.telling.document import Document

#: The width of a line, and of the labels at its start.
WIDTH, INDENT = 79, 11


def say(label: str, text: str = "", **style: Any) -> None:
    """Print a bold label and a text on stderr."""
    click.echo(_labelled(label, text, **style), err=True)


def page(*, written: bool) -> None:
    """Say if the page beside a release could not be written."""
    if not written:
        say("page", "not written; the release is valid without it. `privsieve report DIR` writes "
                    "it", fg="yellow")


def show(label: str, text: str = "", **style: Any) -> None:
    """Print a label and a text on stdout."""
    click.echo(_labelled(label, text, **style))


def command(arguments: Iterable[str]) -> None:
    """Print a command as a user types it, on stdout."""
    click.secho(command_line(arguments), fg="cyan")


def command_line(arguments: Iterable[str]) -> str:
    """Return a command as a user types it, in lines of at most 80 characters if possible."""
    first, *options = " ".join(visible(shlex.quote(word)) for word in arguments).split(" --")
    line = f"$ privsieve {first}"
    for option in options:
        long = len(line.rpartition("\n")[2]) + len(option) > 74
        line += f" \\\n    --{option}" if long else f" --{option}"
    return line


def json(value: Json) -> None:
    """Print one canonical JSON object on stdout."""
    click.echo(canonical_text(value))


def canonical_text(value: Json) -> str:
    """Return a value as canonical JSON; control characters become JSON escapes.

    >>> canonical_text({"b": [1, "x"], "a": None})
    '{"a":null,"b":[1,"x"]}'
    """
    return "".join(_escaped(c) if hidden(c) else c for c in canonical(value).decode())


def tell(document: Document) -> None:
    """Print a document on stdout."""
    click.echo(terminal.lines(document, bold=True))


def lines(texts: Iterable[str]) -> None:
    """Print lines on stdout, as a program reads them."""
    for text in texts:
        click.echo(visible(text.replace("\n", "\\n")))


def _escaped(character: str) -> str:
    return "".join(f"\\u{unit:04x}" for unit in memoryview(character.encode("utf-16-le")).cast("H"))


def _labelled(label: str, text: str, **style: Any) -> str:
    label, text = visible(label), visible(text)
    if not text:
        return click.style(click.wrap_text(label, WIDTH), **style)
    # After a long label, such as a column name, the text begins on the next line.
    head = label.ljust(INDENT) if len(label) < INDENT else f"{label}\n{' ' * INDENT}"
    lines = click.wrap_text(text, WIDTH - INDENT).replace("\n", "\n" + " " * INDENT)
    return click.style(head, bold=True, **style) + click.style(lines, **style)
