"""The internal report of `publish`: a private file outside of the release folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privsieve.cli import words
from privsieve.cli.private_file import new_file

if TYPE_CHECKING:
    from privsieve.containment.choice import Choice
    from privsieve.containment.labelled import Labelled
    from privsieve.containment.publish import Issued
    from privsieve.kernels.patterns import Rule

    Write = Callable[[Labelled, Rule, Choice, Issued], None]


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
