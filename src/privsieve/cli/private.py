"""A file that only its owner may read, and that was not there before."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from privsieve.cli import words
from privsieve.errors import ParameterError

if TYPE_CHECKING:
    from privsieve.containment.choice import Choice
    from privsieve.containment.labelled import Labelled
    from privsieve.containment.publish import Issued
    from privsieve.kernels.patterns import Rule
    Write = Callable[[Labelled, Rule, Choice, Issued], None]

def new_file(path: str | Path, what: str) -> BinaryIO:
    """Open a new file for its owner alone; nothing is overwritten, no link is followed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        return os.fdopen(os.open(path, flags, 0o600), "wb")
    except FileExistsError:
        raise ParameterError(f"the file {what} exists; nothing is overwritten: name a new "
                             "one") from None
    except (OSError, ValueError):
        raise ParameterError(f"the file {what} cannot be written; its folder must exist and be "
                             "writable") from None


@contextmanager
def internal(path: str | None) -> Iterator[Write]:
    """Make the file before anything is published; take it away if nothing is."""
    if path is None:
        yield lambda *_: None
        return
    file = new_file(path, "of --internal-report")
    written: list[Any] = []

    def write(table: Labelled, rule: Rule, choice: Choice, issued: Issued) -> None:
        from privsieve.containment.breaking import closed
        from privsieve.report import internal_html

        written.append(file.write(internal_html(
            issued.release, issued.certificate, closed(table, rule, choice.selected))))
        words.say("internal", f"{path} (PRIVATE: not to be released)", fg="yellow")

    try:
        with file:
            yield write
    finally:
        if not written:
            Path(path).unlink(missing_ok=True)
