"""Mining: maximal sets of items that at least k rows contain.

Items are `(indptr, indices)`: item j is held by the rows ``indices[indptr[j]:indptr[j + 1]]``.
The rows that hold all items of a set are its cover, and their number its support.  A projection on
a set of support k keeps k, for its cover lies in the group of every row.  The converse is false:
what is maximal here can often be completed.
"""

# ruff: noqa: PLR0917  six arguments are allowed by the house

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import pairwise
from math import inf
from typing import Any, Literal, NamedTuple

import numpy as np

from privsieve.kernels.contract import (
    I32,
    I64,
    Cells,
    demand_array,
    demand_equal,
    demand_items,
    demand_whole,
    native,
)

#: The largest numbers of a rule, and the longest search in seconds: sums with them fit 64 bits.
LARGEST, MOST_SECONDS = 1 << 62, 10**9
#: How a search ended, as the kernels number it.
ENDED: tuple[Literal["all"], Literal["limit"], Literal["interrupted"]] = (
    "all", "limit", "interrupted")
#: Sets that the twin holds at most.
HELD = 1 << 22

__all__ = [
    "Sets", "Top", "TopRule", "all_maximal", "top_by_items", "top_by_rows", "top_maximal",
]  # fmt: skip

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

    k : the least number of rows of a cover.
    l_diversity : the least number of classes in a cover.
    r : the number of sets to return.
    nodes : the largest number of nodes to visit.
    least : the least weight of a set.
    """

    k: int
    l_diversity: int = 1
    r: int = 1
    nodes: int = 1 << 62
    least: int = 0


class Top(NamedTuple):
    """The heaviest sets, in order, and a bound for all other sets.

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
    """Return all maximal sets of support k or more, in lexicographic order.

    Return None if there are more than `cap`, or if the time is not enough: never a part of them.

    >>> toy = np.array([0, 2, 4, 5]), np.array([0, 1, 1, 2, 0], np.int32)
    >>> [list(all_maximal(toy, 3, k)) for k in (1, 2)]
    [[[0, 1], [0, 2]], [[0], [1]]]
    """
    demand_items(items, rows)
    k, cap = demand_whole("k", k, 1, LARGEST), demand_whole("cap", cap, 0, LARGEST)
    sets = _all_maximal(*items, rows, k, min(cap, 2**31 - 1), _limit(seconds))
    return None if sets is None else Sets(*sets)


def top_maximal(
    items: Cells, y: I32, weights: I64, rule: TopRule, seconds: float | None = None,
    listener: Callable[[Top], None] | None = None,
) -> Top:
    """Return the `r` heaviest maximal sets of those that keep k and l-diversity.

    Items of weight 0 are in no set.  Of equal weight, the lexicographically smaller set is first.
    With l-diversity a set is maximal if no item can join it and leave a cover of k rows and l
    classes.  An interrupt ends the search like a limit does.

    Items and rows are searched in turn, each time with more patience: the one is fast where k is
    large, the other where rows are few, and what one finds shortens the other.  `listener` is
    called with each answer so far.

    >>> toy = np.array([0, 2, 4, 5]), np.array([0, 1, 1, 2, 0], np.int32)
    >>> y = np.zeros(3, np.int32)
    >>> top = top_maximal(toy, y, np.array([1, 1, 5]), TopRule(k=1, r=2))
    >>> list(top.sets), top.value.tolist(), top.bound, top.ended
    ([[0, 2], [0, 1]], [6, 2], 6, 'all')
    """
    _demand_top(items, len(y), weights, rule)
    demand_array("y", y, np.int32, 1)
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
                if listener is not None and best.nodes:
                    listener(best)
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
    return _top(_top_by_rows(*items, label, weights, rule, _limit(seconds)))


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
        raise ValueError("a search over items does not use classes; l_diversity must be 1")
    return _top(_top_by_items(*items, rows, weights, rule, _limit(seconds)))


def _top(raw: tuple[Any, ...]) -> Top:
    *sets, value, bound, nodes, ended = raw
    return Top(Sets(*sets), value, bound, nodes, ENDED[ended])


def _nothing(weights: I64) -> Top:
    """Return what is known before a search."""
    none = np.zeros(0, np.int64)
    sets = Sets(np.zeros(1, np.int64), np.zeros(0, np.int32), none)
    return Top(sets, none, sum(weights.tolist()), 0, "limit")


def _patience(nodes: int) -> Iterator[int]:
    """Ever more nodes, up to as many as are allowed."""
    tried = 1 << 12
    while tried < nodes:
        yield tried
        tried *= 8
    yield nodes


def _better(a: Top, b: Top) -> Top:
    """Return the better of two searches that ended early, with the bound of both."""
    shared = max(a, b, key=lambda top: top.value.tolist())
    return shared._replace(bound=min(a.bound, b.bound), nodes=a.nodes + b.nodes, ended=b.ended)


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


# The twins: one search for all, of which sets are integers, bit by bit.


@native
def _all_maximal(
    indptr: I64, indices: I32, rows: int, k: int, cap: int, seconds: float
) -> tuple[I64, I32, I64] | None:
    miner = _Miner(TopRule(k, r=LARGEST), [1] * (len(indptr) - 1), cap, _end(seconds))
    try:
        miner.run((indptr, indices), np.zeros(int(rows), np.int32))
    except _EndedError:
        return None
    return _csr(sorted((_places(bits), support) for bits, support in miner.maximal))


@native
def _top_by_items(
    indptr: I64, indices: I32, rows: int, weight: I64, rule: TopRule, seconds: float
) -> tuple[Any, ...]:
    return _top_by_rows(indptr, indices, np.zeros(int(rows), np.int32), weight, rule, seconds)


@native
def _top_by_rows(
    indptr: I64, indices: I32, y: I32, weight: I64, rule: TopRule, seconds: float
) -> tuple[Any, ...]:
    miner, ended = _Miner(rule, weight.tolist(), HELD, _end(seconds)), "all"
    try:
        miner.run((indptr, indices), y)
    except _EndedError:
        ended = "limit"
    except KeyboardInterrupt:
        ended = "interrupted"
    heaviest = sorted((-miner.weight_of(bits), _places(bits), support)
                      for bits, support in miner.maximal)[: rule.r]
    best = [bits for bits in heaviest if -bits[0] >= rule.least]
    value = np.array([-minus for minus, _, _ in best], np.int64)
    bound = int(value.max(initial=0)) if ended == "all" else int(weight.sum())
    sets = _csr([(bits, support) for _, bits, support in best])
    return (*sets, value, bound, miner.visited, ENDED.index(ended))


class _EndedError(Exception):
    """The search has met a limit."""


@dataclass(repr=False)
class _Miner:
    """Depth first over items, the rarest first; a set is maximal if none that is known contains it.

    What weighs less than the r heaviest that are known is passed over, and so are then its parts.
    """

    rule: TopRule
    weight: list[int]
    cap: int
    end: float
    maximal: list[tuple[int, int]] = field(default_factory=list)  # items and support
    heaviest: list[int] = field(default_factory=list)  # a heap of at most r values
    classes: list[int] = field(default_factory=list)
    visited: int = 0

    def run(self, items: Cells, y: I32) -> None:
        """Search a table."""
        self.classes = [_bits(np.flatnonzero(y == c)) for c in np.unique(y)]
        covers = {j: _bits(items[1][a:b]) for j, (a, b) in enumerate(pairwise(items[0]))
                  if self.weight[j]}
        order = sorted((j for j in covers if self.keeps(covers[j])),
                       key=lambda j: covers[j].bit_count())
        full = (1 << len(y)) - 1
        if self.keeps(full):
            self.extend(0, full, [(1 << j, covers[j]) for j in order], [])

    def keeps(self, cover: int) -> bool:
        """Return whether the cover has enough rows, of enough classes."""
        return cover.bit_count() >= self.rule.k and (
            self.rule.l_diversity == 1
            or sum(1 for c in self.classes if c & cover) >= self.rule.l_diversity)

    def weight_of(self, items: int) -> int:
        """Return the weight of a set."""
        return sum(self.weight[j] for j in _places(items))

    def least(self) -> int:
        """Return the least weight of a set."""
        full = len(self.heaviest) == self.rule.r
        return max(self.rule.least, self.heaviest[0] if full else 0)

    def extend(self, path: int, cover: int, tail: list[tuple[int, int]], known: list[int]) -> None:
        """Find the sets that contain the path; `known` are the maximal sets among them."""
        self.visited += 1
        if self.visited > self.rule.nodes or time.monotonic() >= self.end:
            raise _EndedError
        known, seen = known[:], len(self.maximal)
        rest = sum(item for item, _ in tail)
        if self.weight_of(path | rest) < self.least():
            return
        if not tail and not known:
            self.store(path, cover.bit_count())
        for a, (item, held) in enumerate(tail):
            known += [bits for bits, _ in self.maximal[seen:]]
            seen = len(self.maximal)
            if any(rest & ~bits == 0 for bits in known):
                return
            rest ^= item
            joint, below = path | item, []
            for other, shared in tail[a + 1 :]:
                if held & shared == held:
                    joint |= other
                elif self.keeps(held & shared):
                    below.append((other, held & shared))
            below.sort(key=lambda bits: bits[1].bit_count())
            self.extend(joint, held, below, [bits for bits in known if joint & ~bits == 0])

    def store(self, items: int, support: int) -> None:
        """Store a maximal set."""
        if len(self.maximal) == self.cap:
            raise _EndedError
        self.maximal.append((items, support))
        heappush(self.heaviest, self.weight_of(items))
        if len(self.heaviest) > self.rule.r:
            heappop(self.heaviest)


def _end(seconds: float) -> float:
    return time.monotonic() + seconds if seconds >= 0 else inf


def _bits(places: Iterable[int]) -> int:
    return sum(1 << int(place) for place in places)


def _places(bits: int) -> list[int]:
    return [j for j, bit in enumerate(reversed(f"{bits:b}")) if bit == "1"]


def _csr(sets: list[tuple[list[int], int]]) -> tuple[I64, I32, I64]:
    ends = np.cumsum([0, *(len(bits) for bits, _ in sets)], dtype=np.int64)
    items = np.array([j for bits, _ in sets for j in bits], np.int32)
    return ends, items, np.array([support for _, support in sets], np.int64)
