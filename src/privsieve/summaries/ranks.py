"""Ranks: find the record of a given rank by sums over parts of the rows; a key breaks ties.

::

    codes  per column, how many rows have each code: they say which code holds a rank
    ties   where many rows share it, how the tie keys of those rows begin
    few    of the rows that are left, keys and positions: the record is among them

The results of parts add up, whatever the cut.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from privsieve.kernels.sums import tie_counts, tied
from privsieve.rows.batch import Part
from privsieve.summaries import Summary

Ints = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
#: Sorted codes of each column, with counts by class: see `kernels.runs`.
Table = tuple[Ints, npt.NDArray[np.uint16], npt.NDArray[np.signedinteger]]

#: Of more rows that share a code, those are told apart by how their keys begin.
FEW = 256


class Records(NamedTuple):
    """The records of some ranks: rows at them or above are those that compare no lower."""

    code: Ints
    tie: Keys
    row: Keys

    def __repr__(self) -> str:
        return object.__repr__(self)  # its fields are private

    def cut(self, begin: int, end: int | None = None) -> Records:
        """Return some of them."""
        return Records(self.code[begin:end], self.tie[begin:end], self.row[begin:end])


@dataclass(frozen=True, eq=False, repr=False)
class Few(Summary):
    """Some rows: for which rank each may be the record, its tie key, and its position."""

    rank: Ints
    tie: Keys
    row: Keys

    def __add__(self, other: Few) -> Few:
        return Few(*(np.concatenate([getattr(piece, name) for piece in (self, other)])
                     for name in ("rank", "tie", "row")))


def rows_before(count: npt.NDArray[np.signedinteger]) -> Ints:
    """Count the rows before each code of a table, and all rows.

    >>> rows_before(np.array([[1, 2], [0, 4]])).tolist()
    [0, 3, 7]
    """
    many = np.zeros(len(count) + 1, np.int64)
    for of_class in count.T:  # a sum over rows of two numbers takes ten times as long
        many[1:] += of_class
    return many.cumsum()


# [ranks]
@dataclass(frozen=True, eq=False, repr=False)
class Ranks:
    """Where ranks lie, as far as it is known.

    column, code : those that hold each rank.
    top : how the tie key of its record begins; -1: any way.
    left : the rank inside of the rows that have all of these.
    many : how many rows have the code.
    """

    column: Ints
    code: Ints
    top: Ints
    left: Ints
    many: Ints

    @classmethod
    def of(cls, table: Table, column: Ints, rank: Ints) -> Ranks:
        """Return the codes that hold these 0-based ranks, each among the rows of a column."""
        indptr, code, count = table
        ends = rows_before(count)
        place = ends[indptr[column]] + rank
        at = np.searchsorted(ends, place, side="right") - 1
        return cls(column, code[at].astype(np.int64), np.full(len(at), -1), place - ends[at],
                   ends[at + 1] - ends[at])

    def ties(self, chunk: Part, key: int) -> Ints:
        """Count how the tie keys begin of rows that share a code with many others."""
        return tie_counts(chunk.codes, chunk.ids, key, self._places(2)[self._crowded])

    def among(self, ties: Ints) -> Ranks:
        """Return the same with how the keys begin that hold the ranks."""
        at, ends = self._crowded, ties.cumsum(axis=1)
        top, left = self.top.copy(), self.left.copy()
        top[at] = passed = (ends <= left[at, None]).sum(axis=1)
        left[at] -= (ends - ties)[np.arange(len(at)), passed]
        return replace(self, top=top, left=left)

    def few(self, chunk: Part, key: int) -> Few:
        """Return the rows of a part that may be the records."""
        ends, keys, rows = tied(chunk.codes, chunk.ids, key, self._places(3))
        return Few(np.repeat(np.arange(len(self.top)), np.diff(ends)), keys, rows)

    def records(self, few: Few) -> Records:
        """Return the records of the ranks."""
        order = np.lexsort((few.row, few.tie, few.rank))
        begin = np.searchsorted(few.rank[order], np.arange(len(self.top)))
        at = order[begin + self.left]
        return Records(self.code, few.tie[at], few.row[at])

    @property
    def _crowded(self) -> npt.NDArray[np.intp]:
        return np.flatnonzero(self.many > FEW)

    def _places(self, numbers: int) -> Ints:
        return np.column_stack([self.column, self.code, self.top])[:, :numbers].copy()
# [/ranks]
