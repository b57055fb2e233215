"""Covers: sets of items, by the rows of each pattern; a set of rows is an integer.

Greedy choices in plain Python, the twins of those in `patterns`, and what that of `search` goes by.
`covers.h` says the same natively.
"""
# ruff: noqa: PLR0917  six arguments are allowed by the house

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf
from typing import NamedTuple

import numpy as np

from privsieve.kernels.contract import I32, I64, U8, Cells

#: Stands last where the user ended a choice.
ENDED = -1


@dataclass(frozen=True, repr=False)
class EqualItems:
    """Equal items as one column.  `absent`: whether it may be known that a person lacks it."""

    weight: int
    absent: bool
    rows: int
    items: tuple[int, ...]


class State(NamedTuple):
    """A set of columns: the rows of each pattern and those that hold all of it; rows that stay."""

    patterns: list[tuple[int, int]]
    stay: int
    columns: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return object.__repr__(self)  # its fields are private


@dataclass(frozen=True, repr=False)
class Covers:
    """The table: columns that can be chosen, heaviest first."""

    k: int
    l_diversity: int
    suppress: int
    labelled: bool
    rows: int
    columns: list[EqualItems]
    classes: list[int] = field(repr=False)
    scored: list[int] = field(repr=False)
    pairs_only: bool

    @classmethod
    def each(cls, items: Cells, y: I32, weights: I64 | None, facts: list[int],
             absent: list[int]) -> Covers:
        """Return the columns of a table: its items, one by one."""
        k, l_diversity, suppress, classes, _, _, equal, labelled = facts[:8]
        columns = [EqualItems(1 if weights is None else int(weights[j]), bool(equal or absent[j]),
                              bits(items[1][a:b], len(y)), (j,))
                   for j, (a, b) in enumerate(pairwise(items[0]))]
        known = [bits(np.flatnonzero(y % classes == c), len(y)) for c in range(classes)]
        scored = [bits(np.flatnonzero(y == c), len(y)) for c in range(classes)]
        return cls(k, l_diversity, suppress, bool(labelled), len(y), columns, known, scored,
                   weights is None)

    @classmethod
    def of(cls, items: Cells, y: I32, weights: I64 | None, facts: list[int],
           absent: list[int]) -> Covers:
        """Return the columns of a table; equal ones, and known complements, as one."""
        every = cls.each(items, y, weights, facts, absent)
        suppress = min(every.suppress, len(y) - 1)  # somebody stays
        full, merged = (1 << len(y)) - 1, dict[tuple[bool, int], EqualItems]()
        for member in every.columns:
            sides = [member.rows, full ^ member.rows] if member.absent else [member.rows]
            rare = any(0 < side.bit_count() < every.k for side in sides)
            if not member.weight or (rare and not suppress):
                continue
            turned = member.absent and member.rows & 1 and not suppress
            key = member.absent, full ^ member.rows if turned else member.rows
            old = merged.get(key)
            if old is None:
                merged[key] = member
            elif weights is not None:
                merged[key] = replace(old, weight=old.weight + member.weight,
                                      items=(*old.items, *member.items))
        columns = sorted(merged.values(), key=lambda c: 0 if weights is None else -c.weight)
        return replace(every, suppress=suppress, columns=columns)

    @property
    def most(self) -> int:
        """Return the largest value of any set."""
        if not self.pairs_only:
            return sum(c.weight for c in self.columns)
        sizes = [c.bit_count() for c in self.scored]
        return (sum(sizes) ** 2 - sum(n * n for n in sizes)) // 2

    def root(self) -> State | None:
        """Return the empty set, if it keeps the rule."""
        full = (1 << self.rows) - 1
        return self._peel(State([(full, full)], full))

    def keeps(self, s: State, x: int) -> bool:
        """Return whether the rule holds with one more column."""
        column = self.columns[x]
        for _, cover in s.patterns:
            parts = (cover & column.rows, cover & ~column.rows if column.absent else 0)
            if any(held and not self.group(held) for held in parts):
                gone = self.rows - s.stay.bit_count()
                return gone < self.suppress and self.add(s, x) is not None
        return not column.rows or bool(column.rows & s.stay)

    def add(self, s: State, x: int) -> State | None:
        """Add a column; return None if this would leave out too many rows."""
        column, parts = self.columns[x], []
        for own, cover in s.patterns:
            if own & ~column.rows:
                parts.append((own & ~column.rows, cover & ~column.rows if column.absent else cover))
            if own & column.rows:
                parts.append((own & column.rows, cover & column.rows))
        grown = State(parts, s.stay, (*s.columns, x))
        peeled = self._peel(grown) if self.suppress else grown
        return None if peeled is None or self._wasted(peeled) else peeled

    def group(self, rows: int) -> bool:
        """Return whether these rows are a group that is large and diverse enough."""
        return not rows & ~self._crowded(rows)

    def _crowded(self, cover: int) -> int:
        """Return a cover's rows in groups that are large and diverse enough, if this is it."""
        parts = [c & cover for c in self.classes]
        if self.l_diversity > 1 and sum(1 for held in parts if held) < self.l_diversity:
            return 0
        known = parts if self.labelled else [cover]
        return sum(held for held in known if held.bit_count() >= self.k)

    def gain(self, s: State, x: int) -> int:
        """Return the gain of a column: its weight, or the pairs that it distinguishes."""
        if not self.pairs_only:
            return self.columns[x].weight
        halves = [[self._classes(held) for held in self._halves(own, x)] for own, _ in s.patterns]
        return sum(sum(a) * sum(b) - sum(p * q for p, q in zip(a, b, strict=True))
                   for a, b in halves)

    def errors(self, s: State, x: int) -> int:
        """Count errors with one more column: rows outside of majorities, or in small patterns."""
        parts = [held for own, _ in s.patterns for held in self._halves(own, x)]
        return sum(sum(known) - max(known) * (held.bit_count() >= self.k)
                   for held in parts for known in [self._classes(held)])

    def _halves(self, own: int, x: int) -> tuple[int, int]:
        """Return the rows of a pattern that hold a column, and the others."""
        return own & self.columns[x].rows, own & ~self.columns[x].rows

    def _classes(self, rows: int) -> list[int]:
        """Count rows of each class, of those whose class may be used for scores."""
        return [(c & rows).bit_count() for c in self.scored]

    def _wasted(self, s: State) -> bool:
        """Return whether all rows that hold some column are left out."""
        held = [self.columns[x].rows for x in s.columns]
        return any(rows and not rows & s.stay for rows in held)

    def _peel(self, s: State) -> State | None:
        while True:
            leave = 0
            for own, cover in s.patterns:
                leave |= own & ~self._crowded(cover)
            stay = s.stay & ~leave
            if self.rows - stay.bit_count() > self.suppress:
                return None
            if stay == s.stay:
                return s
            s = State([(own, cover & stay) for own, cover in s.patterns], stay, s.columns)


def bits(some: I32 | I64, rows: int) -> int:
    """Return some rows as an integer.

    >>> bits(np.array([0, 2]), 3)
    5
    """
    held = np.zeros(rows, np.bool_)
    held[some] = True
    return int.from_bytes(np.packbits(held, bitorder="little").tobytes(), "little")


def greedy(items: Cells, y: I32, order: I64, facts: I64, absent: U8) -> I64:
    """Return the items of `order` that the rule accepts, one after another."""
    choice = _Choice(items, y, facts, absent)
    return choice.grown(lambda: choice.in_order(order.tolist()))


def lazy_distinct(
    items: Cells, y: I32, candidates: I64, prefix: I64, facts: I64, absent: U8
) -> I64:
    """Not lazy at all: each step counts all gains."""
    choice = _Choice(items, y, facts, absent)
    return choice.grown(lambda: choice.best_first(
        prefix.tolist(), candidates.tolist(), choice.covers.gain, least=1))


def class_errors(items: Cells, y: I32, candidates: I64, prefix: I64, facts: I64, absent: U8) -> I64:
    """Count all errors at each step."""
    choice = _Choice(items, y, facts, absent)
    return choice.grown(lambda: choice.best_first(
        prefix.tolist(), candidates.tolist(), lambda s, x: -choice.covers.errors(s, x), -inf))


class _Choice:
    """A set that grows item by item while it keeps the rule."""

    def __init__(self, items: Cells, y: I32, facts: I64, absent: U8) -> None:
        self.covers = Covers.each(items, y, None, facts.tolist(), absent.tolist())
        self.skip = bool(facts[5])
        self.accepted: list[int] = []

    def grown(self, grow: Callable[[], None]) -> I64:
        """Return the accepted items; a last -1 means that the user stopped the search."""
        empty = self.covers.root()
        if empty is None:
            return np.empty(0, np.int64)
        self.state = empty
        try:
            grow()
        except KeyboardInterrupt:
            self.accepted.append(ENDED)
        return np.array(self.accepted, np.int64)

    def accept(self, item: int) -> bool:
        """Accept an item if the rule holds with it and a remaining row has it."""
        s = self.state._replace(columns=())  # those taken before may be held by nobody now
        after = self.covers.add(s, item) if self.covers.keeps(s, item) else None
        if after is None:
            return False
        self.state = after
        self.accepted.append(item)
        return True

    def in_order(self, order: list[int]) -> None:
        """Try one item after another; skip an item that does not fit, or stop there."""
        for item in order:
            if not self.accept(item) and not self.skip:
                return

    def best_first(self, prefix: list[int], left: list[int],
                   score: Callable[[State, int], int], least: float) -> None:
        """Take a prefix, then the column of the best score, until no score is at least `least`."""
        if not all(self.accept(item) for item in prefix):
            return
        values: dict[int, int] = {}
        while left:
            values = values or {x: score(self.state, x) for x in left}
            best = max(left, key=values.__getitem__)
            if values[best] < least:
                return
            left.remove(best)
            if self.accept(best):
                values = {}
            elif not self.skip:
                return
