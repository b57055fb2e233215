"""The exact search in plain Python: the same answers as the native one, node by node.

A graph is a list of integers: bit j of entry i says that candidates i and j may stand together.
"""
# ruff: noqa: PLR0917  six arguments are allowed by the house

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from privsieve.kernels.contract import I64
from privsieve.kernels.covers_twin import Covers, State

if TYPE_CHECKING:
    from privsieve.kernels.patterns import Cells

Graph: TypeAlias = list[int]

ROUNDS, CHECKS = 100, 20_000  # of the local search
CLOSING = 1 << 18  # vertices coloured for the bound of one open node


def search(items: Cells, y: npt.NDArray[np.int32], weights: I64 | None, facts: I64,
           absent: npt.NDArray[np.uint8], begin: tuple[I64, Callable[[int, int], object] | None],
           ) -> tuple[I64, int, int, bool, int]:
    """The heaviest set that keeps the rule, as `search.search` returns it.

    `begin` is a start, and who is told how far it is.
    """
    start, told = begin
    covers = Covers.of(items, y, weights, facts.tolist(), absent.tolist())
    empty = covers.root()
    if empty is None:
        return np.empty(0, np.int64), -1, -1, True, 0
    most, milliseconds = int(facts[8]), int(facts[9])
    end = time.monotonic() + milliseconds / 1000 if milliseconds else float("inf")
    run = _Search(covers, empty, most, end, told)
    try:
        bound = max(run.value, run.whole(set(start.tolist())))
    except KeyboardInterrupt:
        bound = covers.most
    chosen = sorted(j for x in run.best for j in covers.columns[x].items)
    return np.array(chosen, np.int64), run.value, bound, bound == run.value, run.nodes


def colour(graph: Graph, weight: list[int], budget: float) -> tuple[int, list[int]]:
    """What classes of conflicting candidates weigh within the budget, and who is left over.

    A set has at most one of a class.  Weights fall, so that a class weighs what its first does.

    >>> colour([0, 0], [3, 2], 4), colour([2, 1], [3, 2], 4)
    ((3, []), (3, [1]))
    """
    total, left = 0, []
    friends: list[int] = []
    for i, whole in enumerate(weight):
        a = next((a for a, found in enumerate(friends) if not found >> i & 1), len(friends))
        if a == len(friends):
            if whole > budget - total:
                left.append(i)
                continue
            friends.append(0)
            total += whole
        friends[a] |= graph[i]
    return total, left


def pick(graph: Graph, some: list[int]) -> Graph:
    """The part of a graph on some of its candidates, renumbered.

    >>> pick([6, 1, 1], [0, 2])
    [2, 1]
    """
    return [sum(1 << b for b, j in enumerate(some) if j != i and graph[i] >> j & 1) for i in some]


@dataclass(repr=False)
class _Search:
    """One run: the best so far, and when to end."""

    covers: Covers
    empty: State
    most: int
    end: float
    told: Callable[[int, int], object] | None = None
    best: tuple[int, ...] = ()
    value: int = 0
    nodes: int = 0
    checks: int = 0
    drawn: int = 0
    stopped: bool = False

    def draw(self, below: int) -> int:
        """Draw a number: `mix64` of how many were drawn."""
        z = (self.drawn + 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        self.drawn += 1
        return (z ^ z >> 31) % below

    def poll(self) -> bool:
        """Whether to end: the time is looked at often, for a check here is slow."""
        self.stopped = self.stopped or time.monotonic() >= self.end
        if self.told is not None and not self.stopped:
            self.told(self.nodes, self.value)
        return self.stopped

    def whole(self, start: set[int]) -> int:
        """All of it, from the starts to the bound."""
        columns = range(len(self.covers.columns))
        alone = [x for x in columns if self.covers.keeps(self.empty, x)]
        first = [x for x in alone if start.intersection(self.covers.columns[x].items)]
        calm = dict.fromkeys(columns, 0)
        self.best, self.value = self.complete(alone, [], calm)
        given = self.complete(alone, first, calm)
        if given[1] > self.value:
            self.best, self.value = given
        self.improve(alone)
        full = (1 << len(alone)) - 1
        return self.descend(self.empty, (), 0, alone, [full] * len(alone))

    def complete(self, alone: list[int], first: list[int], noise: dict[int, int],
                 ) -> tuple[tuple[int, ...], int]:
        """A set that begins with these and takes what is heaviest, and its value."""
        chosen: list[int] = []
        value, s = 0, self.empty

        def take(x: int) -> bool:
            nonlocal s, value
            self.checks += 1
            self.poll()
            if not self.covers.keeps(s, x):
                return False
            value += self.covers.gain(s, x)
            chosen.append(x)
            after = self.covers.add(s, x)
            assert after is not None
            s = after
            return True

        for x in first:
            if not self.poll():
                take(x)
        rest = [x for x in alone if x not in chosen]
        while rest and not self.poll():
            gains = {x: self.covers.gain(s, x) for x in rest}
            order = sorted((-(g + (g >> 9) * noise[x]), x) for x, g in gains.items() if g)
            rest, found = [], False
            for _, x in order:
                if self.poll():
                    break
                if found and self.covers.pairs_only:
                    rest.append(x)
                else:
                    found = take(x) or found
        return tuple(chosen), value

    def improve(self, alone: list[int]) -> None:
        """Drop a share, complete in a disturbed order, go on from what is nearly as good."""
        now, worth = self.best, self.value
        for _ in range(ROUNDS):
            if self.checks >= CHECKS or self.stopped or len(self.best) == len(alone):
                return
            share = 5 + self.draw(36)
            kept = [x for x in now if self.draw(100) >= share]
            noise = {x: self.draw(512) for x in alone}
            chosen, value = self.complete(alone, kept, noise)
            if value > self.value:
                self.best, self.value = chosen, value
            if value >= worth - (worth >> 6):
                now, worth = chosen, value

    def thin(self, s: State, listed: list[int], graph: Graph) -> bool:
        """Cut pairs that do not keep the rule with what is chosen; false if stopped midway."""
        for i, x in enumerate(listed):
            after = self.covers.add(s, x)
            assert after is not None
            for j in range(i + 1, len(listed)):
                if graph[i] >> j & 1 and not self.covers.keeps(after, listed[j]):
                    graph[i] ^= 1 << j
                    graph[j] ^= 1 << i
                if self.poll():
                    return False
        return True

    def descend(self, s: State, chosen: tuple[int, ...], value: int, listed: list[int],
                graph: Graph) -> int:
        """The best of these chosen and any of those listed; returns a bound on all."""
        self.nodes += 1
        if value > self.value:
            self.best, self.value = chosen, value
        weight = [self.covers.gain(s, x) for x in listed]
        if self.covers.pairs_only:
            order = sorted((i for i, w in enumerate(weight) if w), key=lambda i: -weight[i])
            listed, weight = [listed[i] for i in order], [weight[i] for i in order]
            graph = pick(graph, order)
        most = self.covers.most
        total = min(value + sum(weight), most)
        if total <= self.value:
            return self.value
        self.stopped = self.stopped or 0 < self.most < self.nodes
        if self.poll():
            return total
        if not colour(graph, weight, self.value - value)[1]:
            return self.value
        if not self.thin(s, listed, graph):
            return max(self.value, min(most, value + colour(graph, weight, float("inf"))[0]))
        left = colour(graph, weight, self.value - value)[1]
        allowed = set(range(len(listed))).difference(left)
        for t, b in enumerate(left):
            some = sorted(j for j in allowed if graph[b] >> j & 1)
            after = self.covers.add(s, listed[b])
            assert after is not None
            bound = self.descend(after, (*chosen, listed[b]), value + weight[b],
                                 [listed[j] for j in some], pick(graph, some))
            allowed.add(b)
            if self.stopped:
                part, kept = pick(graph, some), [weight[j] for j in some]
                bound = min(bound, value + weight[b] + colour(part, kept, float("inf"))[0])
                bound = max(bound, value + waiting(graph, weight, allowed, left[t + 1:]))
                return max(self.value, min(bound, most))
        return self.value


def waiting(graph: Graph, weight: list[int], allowed: set[int], left: list[int]) -> int:
    """A bound on what the candidates that were not branched on would add.

    >>> waiting([0, 0], [3, 2], {0}, [1])
    2
    """
    if not left:
        return 0
    coarse = colour(graph, weight, float("inf"))[0]
    if len(left) * len(graph) > CLOSING:
        return coarse
    fine, allowed = 0, set(allowed)
    for b in left:
        some = sorted(j for j in allowed if graph[b] >> j & 1)
        fine = max(fine, weight[b] + colour(pick(graph, some), [weight[j] for j in some],
                                            float("inf"))[0])
        allowed.add(b)
    return min(coarse, fine)


MASK = (1 << 64) - 1
