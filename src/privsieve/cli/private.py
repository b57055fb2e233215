"""New files, which only their owner may read unless the caller gives another mode."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click

from privsieve.cli import words
from privsieve.cli.verb import Outcome
from privsieve.errors import ParameterError
from privsieve.folder import NEW, write_durably
from privsieve.public.canonical import Json

#: The note beside the name of a file about rows.
PRIVATE = " (private: only its owner may read it)"


def kept(text: str, facts: Mapping[str, Json], out: str | None, *, mode: int = 0o600,
         note: str = "") -> Outcome:
    """Write a result to the new file of --out, or return it to be printed.

    facts : the result for machines; `note` follows the name of the file
    """
    if out is not None:
        with new_file(out, "of --out", mode) as write:
            write(text.encode())
        words.say("written", f"{out}{note}")
    return Outcome({**facts, "written": out},
                   partial(click.echo, text, nl=False) if out is None else ())


@contextmanager
def new_file(path: str | Path, what: str, mode: int = 0o600) -> Iterator[Callable[[bytes], None]]:
    """Make a file before the work, and yield a function that writes it whole and durably.

    Never overwrites a file or follows a link.  If the work fails or writes nothing, the file is
    removed, so that the command can be repeated.
    """
    try:
        file = os.fdopen(os.open(path, NEW, mode), "wb", buffering=0)
    except FileExistsError:
        raise ParameterError(f"the file {what} exists and is not overwritten; name a new "
                             "file") from None
    except (OSError, ValueError):
        raise ParameterError(f"the file {what} cannot be written; its folder must exist and be "
                             "writable") from None
    written = False

    def write(data: bytes) -> None:
        nonlocal written
        try:
            write_durably(file.fileno(), data)
        except OSError:
            raise ParameterError(f"the file {what} cannot be written: its disk is full or fails; "
                                 "free some space, or name a file on another disk") from None
        written = True

    try:
        with file:
            yield write
    except BaseException:
        written = False
        raise
    finally:
        if not written:
            Path(path).unlink(missing_ok=True)
