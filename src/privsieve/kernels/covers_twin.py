"""Sets of items by the rows that each of their patterns covers; a set of rows is an integer.

`covers.h` says the same natively.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from privsieve.kernels.contract import I64

if TYPE_CHECKING:
    from privsieve.kernels.patterns import Cells


@dataclass(frozen=True, repr=False)
class Column:
    """Equal items as one.  `absent`: whether it may be known that a person lacks it."""

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
    columns: list[Column]
    classes: list[int] = field(repr=False)
    scored: list[int] = field(repr=False)
    pairs_only: bool

    @classmethod
    def of(cls, items: Cells, y: npt.NDArray[np.int32], weights: I64 | None, facts: list[int],
           absent: list[int]) -> Covers:
        """The columns of a table; equal ones, and complements whose absence is known, as one."""
        k, l_diversity, suppress, classes, _, _, equal, labelled = facts[:8]
        suppress = min(suppress, len(y) - 1)  # somebody stays
        per = [bits(np.flatnonzero(y % classes == c), len(y)) for c in range(classes)]
        scored = [bits(np.flatnonzero(y == c), len(y)) for c in range(classes)]
        found: dict[tuple[bool, int], Column] = {}
        full = (1 << len(y)) - 1
        for j in range(len(items[0]) - 1):
            rows = bits(items[1][items[0][j]:items[0][j + 1]], len(y))
            known = bool(equal or absent[j])
            column = Column(1 if weights is None else int(weights[j]), known, rows, (j,))
            rare = (0 < rows.bit_count() < k) or (known and 0 < (full ^ rows).bit_count() < k)
            if not column.weight or (rare and not suppress):
                continue
            key = known, full ^ rows if known and rows & 1 and not suppress else rows
            old = found.get(key)
            if old is None:
                found[key] = column
            elif weights is not None:
                found[key] = replace(old, weight=old.weight + column.weight, items=(*old.items, j))
        columns = sorted(found.values(), key=lambda c: 0 if weights is None else -c.weight)
        return cls(k, l_diversity, suppress, bool(labelled), len(y), columns, per, scored,
                   weights is None)

    @property
    def most(self) -> int:
        """No set is worth more."""
        if not self.pairs_only:
            return sum(c.weight for c in self.columns)
        return pairs([c.bit_count() for c in self.scored])

    def root(self) -> State | None:
        """The empty set, if it keeps the rule."""
        full = (1 << self.rows) - 1
        return self._peel(State([(full, full)], full)) if self.rows else None

    def keeps(self, s: State, x: int) -> bool:
        """Whether the rule holds with one more column."""
        column = self.columns[x]
        for _, cover in s.patterns:
            parts = (cover & column.rows, cover & ~column.rows if column.absent else 0)
            if any(part and not self.group(part) for part in parts):
                gone = self.rows - s.stay.bit_count()
                return gone < self.suppress and self.add(s, x) is not None
        return not column.rows or bool(column.rows & s.stay)

    def add(self, s: State, x: int) -> State | None:
        """One more column; None if too many rows would have to be left out."""
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
        """Whether these rows are a group that is large and diverse enough."""
        return not rows & ~self.crowded(rows)

    def crowded(self, cover: int) -> int:
        """The rows of a cover whose group is large and diverse enough, if this is it."""
        parts = [c & cover for c in self.classes]
        if self.l_diversity > 1 and sum(1 for part in parts if part) < self.l_diversity:
            return 0
        known = parts if self.labelled else [cover]
        return sum(part for part in known if part.bit_count() >= self.k)

    def gain(self, s: State, x: int) -> int:
        """What one more column is worth."""
        column = self.columns[x]
        if not self.pairs_only:
            return column.weight
        return sum(self._pairs(own) - self._pairs(own & column.rows)
                   - self._pairs(own & ~column.rows) for own, _ in s.patterns)

    def _pairs(self, rows: int) -> int:
        return pairs([(c & rows).bit_count() for c in self.scored])

    def _wasted(self, s: State) -> bool:
        """Whether all rows that hold some column are left out."""
        held = [self.columns[x].rows for x in s.columns]
        return any(rows and not rows & s.stay for rows in held)

    def _peel(self, s: State) -> State | None:
        while True:
            leave = 0
            for own, cover in s.patterns:
                leave |= own & ~self.crowded(cover)
            stay = s.stay & ~leave
            if self.rows - stay.bit_count() > self.suppress:
                return None
            if stay == s.stay:
                return s
            s = State([(own, cover & stay) for own, cover in s.patterns], stay, s.columns)


def bits(some: npt.NDArray[np.int32] | I64, rows: int) -> int:
    """Some rows as an integer.

    >>> bits(np.array([0, 2]), 3)
    5
    """
    held = np.zeros(rows, np.bool_)
    held[some] = True
    return int.from_bytes(np.packbits(held, bitorder="little").tobytes(), "little")


def pairs(sizes: list[int]) -> int:
    """Pairs of rows of different class.

    >>> pairs([2, 3])
    6
    """
    return (sum(sizes) ** 2 - sum(n * n for n in sizes)) // 2
