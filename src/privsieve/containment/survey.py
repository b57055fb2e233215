"""Survey: the groups of a table's rows, counted once for all measures; of all rows, or of some.

A sample leaves out rows whose groups are counted, never rows of a group: the group of each row
that is counted is exact, and only shares of rows are estimates.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privsieve.errors import SchemaError
from privsieve.kernels.patterns import Table, around, pattern_table

if TYPE_CHECKING:
    from privsieve.rows.matrix import Items


Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]
Positions = npt.NDArray[np.signedinteger[Any]]
Ints = npt.NDArray[np.int64]

#: A count of more work than this (pairs of patterns that contain each other, and a hundredth of
#: those that are compared) takes minutes.
MOST_WORK = 5 * 10**9
#: Rows of a sample that nobody asked for, and patterns from which the work is foreseen.
SAMPLE, FORESEEN = 10_000, 256


@dataclass(frozen=True, eq=False, repr=False)
class Survey:
    """What the groups of the rows `who` are made of.

    table : the patterns of all rows.
    starts : where the bits of each item begin in a mask, and where the last ones end.
    who : the rows whose groups were counted: all, or a sample in their order.
    asked, place : their patterns, and of each of them its position there.
    over : of each pattern asked for, the rows of its group by class.
    held : of each pattern of the table, the rows `who` in whose group its rows sit.
    """

    table: Table
    starts: Ints
    who: Ints
    asked: Positions
    place: Ints
    over: Ints
    held: Ints

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return len(self.table.pattern)

    @property
    def complete(self) -> bool:
        """Whether the groups of all rows were counted."""
        return len(self.who) == self.rows

    @property
    def margin(self) -> float:
        """The 95 % half-width of a share of rows that the sample estimates; 0 without a sample.

        Hoeffding's: it holds for every share and for rows drawn without replacement.
        """
        return 0.0 if self.complete else sqrt(log(2 / 0.05) / (2 * len(self.who)))

    def group(self) -> Ints:
        """The rows in the group of each of `who`."""
        found: Ints = self.over.sum(axis=1)[self.place]
        return found

    def masks(self) -> npt.NDArray[np.uint64]:
        """The patterns asked for."""
        return masks_of(self.table, self.asked)


def survey_of(items: Items, y: Codes, classes: int, *, absent: Bools | None = None,
              sample: int | None = None) -> Survey:
    """Count the groups of all rows, or of so many rows drawn at random (always the same ones).

    >>> from privsieve.rows.matrix import Items
    >>> items, y = Items.dense([[1, 1], [1, 0], [1, 0]]), np.zeros(3, np.int32)
    >>> survey_of(items, y, 1).group().tolist()
    [1, 3, 3]
    >>> some = survey_of(items, y, 1, sample=2)
    >>> len(some.who), some.complete
    (2, False)
    """
    return count(*_table(items, y, classes, absent), sample)


def count(table: Table, starts: Ints, sample: int | None = None) -> Survey:
    """The survey of a table of patterns."""
    rows = len(table.pattern)
    who = np.arange(rows)
    if sample is not None and sample < rows:
        who = np.sort(np.random.default_rng(0).choice(rows, sample, replace=False))
    asked, place, size = np.unique(table.pattern[who], return_inverse=True, return_counts=True)
    over, held = around(table.masks, table.counts, masks_of(table, asked), size)
    return Survey(table, starts, who, asked, place, over, held)


def surveyed(items: Items, y: Codes, classes: int, *, absent: Bools | None = None,
             k: int | None = None, sample: int | None = None) -> Survey:
    """Count the groups of all rows, or of a sample where all would take minutes.

    k : a level that is demanded: all rows are counted unless a sample shows that it is not kept.
    sample : so many rows, whatever it takes; 0 is all of them.

    >>> from privsieve.rows.matrix import Items
    >>> surveyed(Items.dense([[1, 1], [1, 0]]), np.zeros(2, np.int32), 1).complete
    True
    """
    if not items.rows:
        raise SchemaError("the table has no row; a risk is a share of rows: give at least one")
    if sample is not None:
        return survey_of(items, y, classes, absent=absent, sample=sample or None)
    table, starts = _table(items, y, classes, absent)
    if work(table, _support(items, starts)) <= MOST_WORK:
        return count(table, starts)
    some = count(table, starts, SAMPLE)
    return some if k is None or int(some.group().min()) < k else count(table, starts)


def work(table: Table, support: Ints) -> float:
    """What a count of all groups would take, foreseen from some patterns; 0 where it is little.

    support : of each bit the rows that have it.
    """
    many = len(table.masks)
    if many**2 <= MOST_WORK:
        return 0.0
    some = np.random.default_rng(0).choice(many, min(FORESEEN, many), replace=False)
    masks = table.masks[np.sort(some)]
    one = np.ones((many, 1), np.int64)
    over, _ = around(table.masks, one, masks, one[:len(some), 0])
    bits = np.unpackbits(masks.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    listed = np.where(bits[:, :len(support)], support, many).min(axis=1, initial=many)
    return float((over[:, 0] + listed / 100).mean() * many)


def masks_of(table: Table, patterns: Positions) -> npt.NDArray[np.uint64]:
    """The masks of these patterns, in the order of the table; no copy of all of them."""
    return table.masks if len(patterns) == len(table.masks) else table.masks[patterns]


def _table(items: Items, y: Codes, classes: int, absent: Bools | None) -> tuple[Table, Ints]:
    width = np.ones(len(items), np.int64) if absent is None else 1 + absent.astype(np.int64)
    return (pattern_table((items.indptr, items.indices), y, classes, absent),
            np.concatenate([np.zeros(1, np.int64), np.cumsum(width)]))


def _support(items: Items, starts: Ints) -> Ints:
    """The rows that have each bit: an item, or its absence where that may be known."""
    support = np.diff(items.indptr)
    found = np.full(int(starts[-1]), items.rows)
    found[starts[:-1]] = support
    both = np.diff(starts) == 2
    found[starts[:-1][both] + 1] -= support[both]
    return found
