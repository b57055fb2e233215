"""Search: the heaviest set of items that keeps a rule, by branch and bound.

Items, classes and rules are those of `patterns`.
"""
# ruff: noqa: PLR0917  six arguments are allowed by the house

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from privsieve.kernels.contract import (
    I32,
    I64,
    U8,
    Cells,
    demand_array,
    demand_equal,
    demand_whole,
    native,
)
from privsieve.kernels.covers import Covers, State
from privsieve.kernels.patterns import Rule, rule_facts

__all__ = ["Effort", "Found", "search"]

#: The most nodes or milliseconds of a search: the clock reaches so far.
MOST_EFFORT = 1 << 40


class Effort(NamedTuple):
    """When to end without a proof; 0 is no limit.  A proof that was found first knows of neither.

    nodes : sets looked at.
    milliseconds : time.
    told : hears, now and then, how many sets were looked at and the best value.
    """

    nodes: int = 0
    milliseconds: int = 0
    listener: Callable[[int, int], object] | None = None


class Found(NamedTuple):
    """The best set, and a bound for all other sets.

    selected : increasing.
    value : sum of weights, or pairs of rows of different class that are told apart.
    bound : no set that keeps the rule has a larger value.  Both are -1 if not even the empty does.
    proved : whether they are equal.
    nodes : how many sets were looked at.
    """

    selected: I64
    value: int
    bound: int
    proved: bool
    nodes: int


def search(
    items: Cells,
    y: I32,
    weights: I64 | None,
    rule: Rule,
    start: I64 | None = None,
    effort: Effort = Effort(),  # noqa: B008  it is frozen
) -> Found:
    """Return the heaviest set that keeps the rule; without weights, one of most distinct pairs.

    The search begins with the best of greedy choice, `start` as far as it keeps the rule and
    completed, and a local search from there; its twin begins with `start` alone, and is slow.
    Items of weight 0 are never chosen.  An interrupt ends the search like a limit does.

    >>> toy = np.array([0, 2, 4, 6]), np.array([0, 1, 2, 3, 1, 2], np.int32)
    >>> y = np.zeros(4, np.int32)
    >>> [int(figure) for figure in search(toy, y, np.array([2, 2, 3]), Rule(2, 1))[1:4]]
    [4, 4, 1]
    """
    start = np.empty(0, np.int64) if start is None else start
    demand_array("start", start, np.int64, 1)
    start = np.sort(start)
    facts, absent = rule_facts(items, y, start, rule)
    if weights is not None:
        demand_array("weights", weights, np.int64, 1)
        demand_equal("weights and items", len(weights), len(items[0]) - 1)
        total = sum(weights.tolist())
        if (weights < 0).any() or total >= 1 << 62:
            raise ValueError("weights must not be negative, and sum to less than 2^62")
    ends = [demand_whole(name, number, 0, MOST_EFFORT)
            for name, number in zip(effort._fields, effort[:2], strict=False)]
    facts = np.append(facts, np.array(ends, np.int64))
    return Found(*_search(items, y, weights, facts, absent, (start, effort.listener)))


@native
def _search(items: Cells, y: I32, weights: I64 | None, facts: I64, absent: U8,
           begin: tuple[I64, Callable[[int, int], object] | None],
           ) -> tuple[I64, int, int, bool, int]:
    """Return the heaviest set that keeps the rule, as `search` returns it.

    `begin` is a start, and who is told how far it is.
    """
    covers = Covers.of(items, y, weights, facts.tolist(), absent.tolist())
    empty = covers.root()
    if empty is None:
        return np.empty(0, np.int64), -1, -1, True, 0
    most, milliseconds = int(facts[8]), int(facts[9])
    run = _Run(covers, most or inf, time.monotonic() + (milliseconds / 1000 or inf), begin[1])
    try:
        bound = max(run.value, run.whole(empty, set(begin[0].tolist())))
    except KeyboardInterrupt:
        bound = covers.most
    chosen = sorted(j for x in run.best for j in covers.columns[x].items)
    return np.array(chosen, np.int64), run.value, bound, bound == run.value, run.nodes


@dataclass(repr=False)
class _Run:
    """Branch and bound: what all columns together could still add is the bound of a set."""

    covers: Covers
    most: float
    end: float
    listener: Callable[[int, int], object] | None
    best: tuple[int, ...] = ()
    value: int = 0
    nodes: int = 0

    def stopped(self) -> bool:
        """Return whether a limit is met; report progress now and then."""
        if self.listener is not None:
            self.listener(self.nodes, self.value)
        return self.nodes > self.most or time.monotonic() >= self.end

    def whole(self, empty: State, start: set[int]) -> int:
        """Search all sets, after the start as far as it keeps the rule."""
        every = range(len(self.covers.columns))
        s, value = empty, 0
        for x in sorted(every, key=lambda x: start.isdisjoint(self.covers.columns[x].items)):
            if self.covers.keeps(s, x) and not self.stopped():
                value += self.covers.gain(s, x)
                s = self.covers.add(s, x) or s
        self.best, self.value = s.columns, value
        return self.descend(empty, 0, [x for x in every if self.covers.keeps(empty, x)])

    def descend(self, s: State, value: int, left: list[int]) -> int:
        """Search the sets that extend a set by any of those left; return a bound on all."""
        self.nodes += 1
        if value > self.value:
            self.best, self.value = s.columns, value
        gains = {x: self.covers.gain(s, x) for x in left}
        left = sorted((x for x in left if gains[x]), key=lambda x: -gains[x])
        known = self.value
        for i, x in enumerate(left):
            bound = min(value + sum(gains[z] for z in left[i:]), self.covers.most)
            if bound <= self.value:
                break
            if self.stopped():
                return max(known, bound)
            after = self.covers.add(s, x)
            assert after is not None
            fits = [z for z in left[i + 1:] if self.covers.keeps(after, z)]
            known = max(known, self.descend(after, value + gains[x], fits))
        return max(known, self.value)
