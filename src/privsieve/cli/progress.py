"""Progress: the stage of the work on a terminal, where it takes more than a second."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Seconds of silence at first, and between two looks.
SILENCE, PAUSE = 1.0, 0.2


class Progress:
    """What goes on.  It is said by a thread of its own, for a kernel may hold the other one.

    >>> progress = Progress()
    >>> progress.stage("choosing")
    >>> progress.known("3 columns")
    >>> progress.text()
    'choosing: 3 columns (0 s)'
    """

    def __init__(self) -> None:
        self._began = monotonic()
        self._said = ("starting", "")

    def stage(self, name: str) -> None:
        """Begin a stage, of which nothing is known yet."""
        self._said = (name, "")

    def known(self, words: str) -> None:
        """Say what is known of the stage."""
        self._said = (self._said[0], words)

    def text(self) -> str:
        """The stage, what is known of it, and the seconds since the start."""
        name, known = self._said
        return f"{name}{': ' * bool(known)}{known} ({monotonic() - self._began:.0f} s)"


@contextmanager
def shown() -> Iterator[Progress]:
    """Show the stages on stderr, if it is a terminal."""
    progress = Progress()
    if not sys.stderr.isatty():
        yield progress
        return
    done = Event()
    thread = Thread(target=_show, args=(progress, done), daemon=True)
    thread.start()
    try:
        yield progress
    finally:
        done.set()
        thread.join()


def _show(progress: Progress, done: Event) -> None:
    if done.wait(SILENCE):
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(progress.text())) as status:
        while not done.wait(PAUSE):
            status.update(Text(progress.text()))
