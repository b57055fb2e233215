"""Progress: a line on the terminal with the stage of the work, if it takes longer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from threading import Event, Thread
from time import monotonic

import click

#: Seconds before the first line, and between two lines.
SILENCE, PAUSE = 0.6, 0.2
#: Go to the start of the line and clear it.
CLEAR = "\r\x1b[2K"


class Progress:
    """The stage of the work, drawn by its own thread because a kernel may block the main thread.

    >>> progress = Progress()
    >>> progress.stage("choosing")
    >>> progress.known("3 columns")
    >>> progress.text()
    'choosing, 0 s: 3 columns'
    """

    def __init__(self) -> None:
        self._began = monotonic()
        self._stage, self._known = "", ""
        self.visible = False

    def stage(self, name: str) -> None:
        """Begin a stage."""
        self._stage, self._known = name, ""
        self._draw()

    def known(self, words: str) -> None:
        """Set the details of the stage."""
        self._known = words

    def text(self) -> str:
        """Return the stage, the seconds since the start, and the details."""
        seconds = monotonic() - self._began
        return f"{self._stage}, {seconds:.0f} s{': ' * bool(self._known)}{self._known}"

    def watch(self, done: Event, silence: float) -> None:
        """Draw the stage repeatedly until the work is done, after some seconds of silence."""
        if done.wait(silence):
            return
        self.visible = True
        while not done.wait(PAUSE):
            self._draw()
        self.visible = False
        click.echo(CLEAR, err=True, nl=False)

    def _draw(self) -> None:
        """Write the line if a stage has begun."""
        if self.visible and self._stage:
            line = self.text()[:get_terminal_size().columns - 1]
            click.echo(f"{CLEAR}{line}", err=True, nl=False)


@contextmanager
def staged(silence: float | None = None) -> Iterator[Progress]:
    """Show the stages on stderr, if it is a terminal."""
    progress = Progress()
    if not sys.stderr.isatty():
        yield progress
        return
    done = Event()
    wait = SILENCE if silence is None else silence
    progress.visible = wait == 0
    thread = Thread(target=progress.watch, args=(done, wait), daemon=True)
    thread.start()
    try:
        yield progress
    finally:
        done.set()
        thread.join()
