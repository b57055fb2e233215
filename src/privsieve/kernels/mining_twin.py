"""The mining kernels in Python: the same names, arguments and answers as the native extension.

Sets of items and of rows are Python integers, bit by bit.  What each kernel computes is said in
`privsieve.kernels.mining`, which has checked the arguments.
"""
# ruff: noqa: PLR0917  six arguments are allowed by the house

from __future__ import annotations

import time
from bisect import insort
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.kernels.contract import I64

I32 = npt.NDArray[np.int32]

__all__ = ["all_maximal", "top_by_items", "top_by_rows"]

_ALL, _LIMIT, _INTERRUPTED = range(3)


class _EndedError(Exception):
    """The search has met a limit."""


def _end(seconds: float) -> float:
    return time.monotonic() + seconds if seconds >= 0 else inf


def _bits(places: Iterable[int]) -> int:
    return sum(1 << int(place) for place in places)


def _places(bits: int) -> list[int]:
    return [j for j, bit in enumerate(reversed(f"{bits:b}")) if bit == "1"]


def _csr(sets: list[list[int]], support: list[int]) -> tuple[Any, ...]:
    ends = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    items = np.array([j for one in sets for j in one], np.int32)
    return ends, items, np.array(support, np.int64)


def all_maximal(
    indptr: I64, indices: I32, rows: int, k: int, cap: int, seconds: float
) -> tuple[Any, ...] | None:
    """Twin of `kernels.mining.all_maximal`."""
    weight = np.ones(len(indptr) - 1, np.int64)
    miner = _Miner(k, cap, 1 << 62, _end(seconds))
    try:
        miner.run(indptr, indices, rows, weight)
    except _EndedError:
        return None
    found = sorted((_places(one), support) for one, support in miner.found)
    return _csr([one for one, _ in found], [support for _, support in found])


def top_by_items(
    indptr: I64, indices: I32, rows: int, weight: I64, rule: tuple[int, ...], seconds: float
) -> tuple[Any, ...]:
    """Twin of `kernels.mining.top_by_items`, which it equals where the search comes to its end."""
    k, _, r, nodes, least = rule
    miner, ended = _Miner(k, 1 << 22, nodes, _end(seconds)), _ALL
    try:
        miner.run(indptr, indices, rows, weight)
    except _EndedError:
        ended = _LIMIT
    except KeyboardInterrupt:
        ended = _INTERRUPTED
    sets = [(_places(one), support) for one, support in miner.found]
    worth = sorted((-sum(int(weight[j]) for j in one), one, support) for one, support in sets)
    best = [one for one in worth if -one[0] >= least][:r]
    bound = int(weight.sum()) if ended else -best[0][0] if best else 0
    value = np.array([-value for value, _, _ in best], np.int64)
    found = _csr([one for _, one, _ in best], [support for _, _, support in best])
    return (*found, value, bound, miner.visited, ended)


@dataclass(repr=False)
class _Miner:
    """Depth first over items, the rarest first; a set is maximal if no set found contains it."""

    k: int
    cap: int
    nodes: int
    end: float
    found: list[tuple[int, int]] = field(default_factory=list)
    visited: int = 0

    def run(self, indptr: I64, indices: I32, rows: int, weight: I64) -> None:
        covers = {j: _bits(indices[a:b]) for j, (a, b) in enumerate(pairwise(indptr))
                  if weight[j] > 0 and b - a >= self.k}  # fmt: skip
        order = sorted(covers, key=lambda j: covers[j].bit_count())
        if rows >= self.k:
            self.extend(0, rows, [(1 << j, covers[j]) for j in order], [])

    def extend(
        self, path: int, support: int, tail: list[tuple[int, int]], known: list[int]
    ) -> None:
        """Find what contains the path; `known` are the sets found that do."""
        self.visited += 1
        if self.visited > self.nodes or time.monotonic() >= self.end:
            raise _EndedError
        known, seen = known[:], len(self.found)
        rest = sum(item for item, _ in tail)
        if not tail and not known:
            if len(self.found) == self.cap:
                raise _EndedError
            self.found.append((path, support))
        for a, (item, cover) in enumerate(tail):
            known += [one for one, _ in self.found[seen:]]
            seen = len(self.found)
            if any(rest & ~one == 0 for one in known):
                return
            rest ^= item
            count, joint, below = cover.bit_count(), path | item, []
            for other, more in tail[a + 1 :]:
                both = (cover & more).bit_count()
                if both == count:
                    joint |= other
                elif both >= self.k:
                    below.append((other, cover & more))
            below.sort(key=lambda one: one[1].bit_count())
            self.extend(joint, count, below, [one for one in known if joint & ~one == 0])


def top_by_rows(
    indptr: I64, indices: I32, y: I32, weight: I64, rule: tuple[int, ...], seconds: float
) -> tuple[Any, ...]:
    """Twin of `kernels.mining.top_by_rows`."""
    kept = {j: indices[a:b].tolist() for j, (a, b) in enumerate(pairwise(indptr))
            if weight[j] > 0 and b - a >= rule[0]}  # fmt: skip
    lines: list[list[int]] = [[] for _ in range(len(y))]
    for j, cover in kept.items():
        for i in cover:
            lines[i].append(j)
    distinct: dict[tuple[int, ...], list[int]] = {}
    for line, label in sorted(zip(map(tuple, lines), y.tolist(), strict=True)):
        distinct.setdefault(line, []).append(label)
    search = _Search(rule, [int(w) for w in weight], _end(seconds))
    for line, labels in distinct.items():
        search.add(line, labels)
    ended = search.run()
    sets = _csr([one for _, one, _ in search.best], [support for _, _, support in search.best])
    value = np.array([-value for value, _, _ in search.best], np.int64)
    bound = max(search.bound, int(value.max(initial=0)))
    return (*sets, value, bound, search.visited, ended)


@dataclass(repr=False)
class _Node:
    """A set of items, the rows that hold it, those passed over, and the others by strength."""

    items: int
    value: int
    cover: list[int]
    passed: list[int]
    rows: list[tuple[int, int]]  # minus what it has in common with the set, and which


@dataclass(repr=False)
class _Search:
    """Depth first over distinct rows; a child takes one row as the weakest of its cover."""

    rule: tuple[int, ...]
    weight: list[int]
    end: float
    row: list[int] = field(default_factory=list)
    many: list[int] = field(default_factory=list)
    classes: list[int] = field(default_factory=list)
    best: list[tuple[int, list[int], int]] = field(default_factory=list)
    bound: int = 0
    visited: int = 0

    def add(self, line: tuple[int, ...], labels: list[int]) -> None:
        """Take a distinct row, and the classes of those that equal it."""
        self.row.append(_bits(line))
        self.many.append(len(labels))
        self.classes.append(_bits(set(labels)))

    def run(self) -> int:
        """Search, and say how it ended."""
        rows = sorted((-self.worth(one), i) for i, one in enumerate(self.row))
        try:
            self.children(_Node(-1, sum(self.weight), [], [], rows), top=True)
        except _EndedError:
            return _LIMIT
        except KeyboardInterrupt:
            return _INTERRUPTED
        self.bound = 0
        return _ALL

    def worth(self, items: int) -> int:
        return sum(self.weight[j] for j in _places(items))

    def threshold(self) -> int:
        full = len(self.best) == self.rule[2]
        return max(self.rule[4], -self.best[-1][0] if full else 0)

    def holds(self, cover: list[int]) -> bool:
        classes = 0
        for i in cover:
            classes |= self.classes[i]
        return self.size(cover) >= self.rule[0] and classes.bit_count() >= self.rule[1]

    def size(self, cover: list[int]) -> int:
        return sum(self.many[i] for i in cover)

    def settle(self, at: _Node) -> None:
        """Store the set if its cover suffices; else go on to the children."""
        if self.holds(at.cover):
            self.store(at)
        elif at.value > self.threshold():
            self.children(at)

    def children(self, at: _Node, *, top: bool = False) -> None:
        for t, (minus, _) in enumerate(at.rows):
            if not self.holds(at.cover + [i for _, i in at.rows[: t + 1]]):
                continue
            if -minus < self.threshold():
                return
            if top:
                self.bound = -minus
            self.visited += 1
            if self.visited > self.rule[3] or time.monotonic() >= self.end:
                raise _EndedError
            self.child(at, t)

    def child(self, at: _Node, t: int) -> None:
        minus, row = at.rows[t]
        items = at.items & self.row[row]
        passed = at.passed + [i for _, i in at.rows[t + 1 :]]
        if any(items & ~self.row[i] == 0 for i in passed):
            return
        below = _Node(items, -minus, [*at.cover, row], passed, [])
        least = self.threshold()
        for _, i in at.rows[:t]:
            value = self.worth(items & self.row[i])
            if value == below.value:
                below.cover.append(i)
            elif value >= least:
                below.rows.append((-value, i))
        below.rows.sort()
        self.settle(below)

    def store(self, at: _Node) -> None:
        one = (-at.value, _places(at.items), self.size(at.cover))
        if len(self.best) == self.rule[2] and one[:2] >= self.best[-1][:2]:
            return
        others = set().union(*(_places(self.row[i]) for i in at.cover)) - set(one[1])
        if any(self.holds([i for i in at.cover if self.row[i] >> j & 1]) for j in others):
            return
        insort(self.best, one)
        del self.best[self.rule[2] :]
