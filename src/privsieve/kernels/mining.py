"""Maximal sets: items that at least k rows hold all of, and that no further item may join.

Items are `(indptr, indices)`: item j is held by the rows ``indices[indptr[j]:indptr[j + 1]]``.
The rows that hold all items of a set are its cover, and their number its support.  A projection on
a set of support k keeps k, for its cover lies in the group of every row.  The converse is false:
what is maximal here can often be completed.
"""

# ruff: noqa: PLR0917  six arguments are allowed by the house

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from privsieve.kernels import implementation, mining_twin
from privsieve.kernels.contract import I64, demand_array, demand_equal, demand_items, demand_whole

I32: TypeAlias = npt.NDArray[np.int32]
Cells: TypeAlias = tuple[I64, I32]

#: The largest numbers of a rule, and the longest search in seconds: sums with them fit 64 bits.
LARGEST, MOST_SECONDS = 1 << 62, 10**9

__all__ = [
    "Sets", "Top", "TopRule", "all_maximal", "top_by_items", "top_by_rows", "top_maximal",
]  # fmt: skip

_kernels: Any = (
    import_module("privsieve.kernels._native") if implementation() == "native" else mining_twin
)


@dataclass(frozen=True, eq=False, repr=False)
class Sets:
    """Set s is ``items[indptr[s]:indptr[s + 1]]``, increasing, and ``support[s]`` rows hold it."""

    indptr: I64
    items: I32
    support: I64

    def __len__(self) -> int:
        return len(self.support)

    def __iter__(self) -> Iterator[list[int]]:
        for first, end in pairwise(self.indptr.tolist()):
            yield self.items[first:end].tolist()


class TopRule(NamedTuple):
    """Which sets, how many of them, and when to give up.

    k : a cover has at least so many rows.
    l_diversity : a cover has rows of at least so many classes.
    r : so many sets are asked for.
    nodes : so many nodes of a search may be looked at.
    least : sets of less weight are not asked for.
    """

    k: int
    l_diversity: int = 1
    r: int = 1
    nodes: int = 1 << 62
    least: int = 0


class Top(NamedTuple):
    """Sets, the heaviest first, and what is known of all others.

    value : the weight of each set.
    bound : no set is heavier.
    nodes : how many nodes of the search were looked at.
    ended : "all" if none was left, else what ended it.
    """

    sets: Sets
    value: I64
    bound: int
    nodes: int
    ended: Literal["all", "limit", "interrupted"]

    def __repr__(self) -> str:
        return object.__repr__(self)  # its fields are private


def all_maximal(
    items: Cells, rows: int, k: int, cap: int = 1 << 20, seconds: float | None = None
) -> Sets | None:
    """All maximal sets of support k or more, in lexicographic order.

    None if there are more than `cap`, or if they are not found in so many seconds: never a part.

    >>> toy = np.array([0, 2, 4, 5]), np.array([0, 1, 1, 2, 0], np.int32)
    >>> [list(all_maximal(toy, 3, k)) for k in (1, 2)]
    [[[0, 1], [0, 2]], [[0], [1]]]
    """
    demand_items(items, rows)
    k, cap = demand_whole("k", k, 1, LARGEST), demand_whole("cap", cap, 0, LARGEST)
    found = _kernels.all_maximal(*items, rows, k, min(cap, 2**31 - 1), _limit(seconds))
    return None if found is None else Sets(*found)


def top_maximal(
    items: Cells, y: I32, weights: I64, rule: TopRule, seconds: float | None = None,
    told: Callable[[Top], None] | None = None,
) -> Top:
    """The `r` heaviest maximal sets of those that keep k and l-diversity.

    Items of weight 0 are in no set.  Of equal weight, the lexicographically smaller set is first.
    With l-diversity a set is maximal if no item can join it and leave a cover of k rows and l
    classes.  An interrupt ends the search like a limit does.

    Items and rows are searched in turn, each time with more patience: the one is fast where k is
    large, the other where rows are few, and what one finds shortens the other.  Each time `told`
    hears what is known.

    >>> toy = np.array([0, 2, 4, 5]), np.array([0, 1, 1, 2, 0], np.int32)
    >>> y = np.zeros(3, np.int32)
    >>> top = top_maximal(toy, y, np.array([1, 1, 5]), TopRule(k=1, r=2))
    >>> list(top.sets), top.value.tolist(), top.bound, top.ended
    ([[0, 2], [0, 1]], [6, 2], 6, 'all')
    """
    _demand_top(items, len(y), weights, rule)
    end = None if seconds is None else time.monotonic() + seconds
    searches: list[Callable[..., Top]] = [
        lambda *limits: top_by_items(items, len(y), weights, *limits),
        lambda *limits: top_by_rows(items, y, weights, *limits),
    ]
    best = _nothing(weights)
    for nodes in _patience(rule.nodes):
        for search in searches[rule.l_diversity > 1 :]:
            least = int(best.value[-1]) if len(best.value) == rule.r else rule.least
            left = None if end is None else max(0.0, end - time.monotonic())
            try:
                if told is not None and best.nodes:
                    told(best)
                top = search(rule._replace(nodes=nodes, least=least), left)
            except KeyboardInterrupt:  # it came before or after the search
                return best._replace(ended="interrupted")
            best = top if top.ended == "all" else _better(best, top)
            if top.ended != "limit" or left == 0:
                return best
    return best


def top_by_rows(
    items: Cells, y: I32, weights: I64, rule: TopRule, seconds: float | None = None
) -> Top:
    """`top_maximal` by a search over the rows of a cover.

    >>> toy = np.array([0, 2, 4, 5]), np.array([0, 1, 1, 2, 0], np.int32)
    >>> y = np.array([0, 0, 1], np.int32)
    >>> list(top_by_rows(toy, y, np.array([1, 1, 5]), TopRule(k=2, l_diversity=2)).sets)
    [[1]]
    """
    _demand_top(items, len(y), weights, rule)
    demand_array("y", y, np.int32, 1)
    label = np.unique(y, return_inverse=True)[1].astype(np.int32)
    return _top(_kernels.top_by_rows(*items, label, weights, tuple(rule), _limit(seconds)))


def top_by_items(
    items: Cells, rows: int, weights: I64, rule: TopRule, seconds: float | None = None
) -> Top:
    """`top_maximal` by a search over items, without l-diversity.

    >>> toy = np.array([0, 2, 4, 5]), np.array([0, 1, 1, 2, 0], np.int32)
    >>> list(top_by_items(toy, 3, np.array([1, 1, 5]), TopRule(k=2, r=3)).sets)
    [[0], [1]]
    """
    _demand_top(items, rows, weights, rule)
    if rule.l_diversity > 1:
        raise ValueError("a search over items knows no classes; l_diversity must be 1")
    return _top(_kernels.top_by_items(*items, rows, weights, tuple(rule), _limit(seconds)))


def _top(raw: tuple[Any, ...]) -> Top:
    *sets, value, bound, nodes, ended = raw
    return Top(Sets(*sets), value, bound, nodes, ("all", "limit", "interrupted")[ended])


def _nothing(weights: I64) -> Top:
    """What is known before a search."""
    none = np.zeros(0, np.int64)
    found = Sets(np.zeros(1, np.int64), np.zeros(0, np.int32), none)
    return Top(found, none, sum(weights.tolist()), 0, "limit")


def _patience(nodes: int) -> Iterator[int]:
    """Ever more nodes, up to as many as are allowed."""
    tried = 1 << 12
    while tried < nodes:
        yield tried
        tried *= 8
    yield nodes


def _better(a: Top, b: Top) -> Top:
    """Of two searches that ended early, the one that found more, with the bound of both."""
    more = max(a, b, key=lambda top: top.value.tolist())
    return more._replace(bound=min(a.bound, b.bound), nodes=a.nodes + b.nodes, ended=b.ended)


def _limit(seconds: float | None) -> float:
    """Seconds as the kernels take them: below 0 is no limit."""
    if seconds is None:
        return -1.0
    if not seconds >= 0:
        raise ValueError("seconds must not be negative")
    return float(min(seconds, MOST_SECONDS))


def _demand_top(items: Cells, rows: int, weights: I64, rule: TopRule) -> None:
    demand_items(items, rows)
    demand_array("weights", weights, np.int64, 1)
    demand_equal("weights and items", len(weights), len(items[0]) - 1)
    if (weights < 0).any() or sum(weights.tolist()) >= 1 << 62:
        raise ValueError("weights must not be negative, and sum to less than 2^62")
    for name, number, least in zip(TopRule._fields, rule, (1, 1, 1, 1, 0), strict=True):
        demand_whole(name, number, least, LARGEST)

