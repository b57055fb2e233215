"""Progress: the stage of the work on a terminal, within a second where it takes longer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic

#: Seconds of silence at first (what draws is loaded after it), and between two looks.
SILENCE, PAUSE = 0.6, 0.2


class Progress:
    """What goes on.  It is said by a thread of its own, for a kernel may hold the other one.

    >>> progress = Progress()
    >>> progress.stage("choosing")
    >>> progress.known("3 columns")
    >>> progress.text()
    'choosing, 0 s: 3 columns'
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
        """The stage, the seconds since the start, and what is known: less than a line."""
        name, known = self._said
        return f"{name}, {monotonic() - self._began:.0f} s{': ' * bool(known)}{known}"


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

    def line() -> Text:
        return Text(progress.text(), no_wrap=True, overflow="ellipsis")

    with Console(stderr=True).status(line()) as status:
        while not done.wait(PAUSE):
            status.update(line())
