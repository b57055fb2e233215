"""Told: how far a search is, in words for who waits for it.  Without a listener nothing is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privsieve.kernels.mining import Top

_LISTENER: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


@contextmanager
def listening(to: Callable[[str], None]) -> Iterator[None]:
    """Let somebody hear what is told meanwhile.

    >>> with listening(print):
    ...     tell("3 columns chosen")
    3 columns chosen
    """
    before = _LISTENER.set(to)
    try:
        yield
    finally:
        _LISTENER.reset(before)


def tell(words: str) -> None:
    """Say how far it is, to who listens."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(words)


def tell_sets(top: Top) -> None:
    """Say what is known while maximal sets are mined."""
    best = int(top.value[0]) if len(top.value) else 0
    tell(f"{top.nodes} nodes, best at {_share(best, top.bound)} of the bound")


def tell_nodes(nodes: int, best: int, most: int) -> None:
    """Say what is known while the exact search goes on."""
    tell(f"{nodes} nodes, best at {_share(best, most)} of all columns")


def _share(part: int, whole: int) -> str:
    return f"{100 * part // whole if whole else 100} %"
