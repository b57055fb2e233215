"""Progress: how much of a search is done, on stderr, where it takes more than a second."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, TextIO

import numpy as np

if TYPE_CHECKING:
    from privsieve.kernels.contract import I64

__all__ = ["shown"]

#: Seconds of silence at first; between two looks on a terminal; and between lines elsewhere.
SILENCE, PAUSE, LINES = 1.0, 0.2, 5.0


@contextmanager
def shown(name: str, whole: int, verbose: int) -> Iterator[I64 | None]:
    """A count for a kernel to raise up to `whole`, told meanwhile; None if nobody asks.

    It is told by a thread of its own: the kernel holds the other one.

    >>> with shown("neighbours", 10, verbose=1) as done:
    ...     done[0] += 10  # too quick to be told
    """
    if not verbose:
        yield None
        return
    done, over = np.zeros(1, np.int64), Event()

    def text() -> str:
        return f"{name}: {100 * int(done[0]) // max(whole, 1)} %"

    thread = Thread(target=_tell, args=(text, sys.stderr, over), daemon=True)
    thread.start()
    try:
        yield done
    finally:
        over.set()
        thread.join()


def _tell(text: Callable[[], str], stream: TextIO, over: Event) -> None:
    if over.wait(SILENCE):
        return
    terminal = stream.isatty()
    # What is done only grows: on a terminal each text covers the one before.
    before, after, pause = ("\r", "", PAUSE) if terminal else ("", "\n", LINES)
    ended = False
    while not ended:
        stream.write(f"{before}{text()}{after}")
        stream.flush()
        ended = over.wait(pause)
    stream.write(f"{before}{text()}\n")
