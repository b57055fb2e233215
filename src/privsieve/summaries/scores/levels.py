"""Levels: the number of rows of each class at each level of a column.  Shared by several scores.

A flag or category is its levels.  A number is cut into `grid` equal parts of its declared range
(of its logarithm, for `scale="log"`); where missing is a level, it is one more.  The cut reads the
domain only.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from privsieve.public.columns import CODES, MISSING, Column
from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch
from privsieve.summaries import Summary

Ints = npt.NDArray[np.int64]


def width(column: Column, grid: int) -> int:
    """Count the levels of a column.

    >>> from privsieve.public.columns import Category, Number
    >>> width(Category("ward", ["A", "B"]), 16), width(Number("age", 0, 110, missing="level"), 16)
    (3, 17)
    """
    return column.levels or grid + column.missing_level


def level(codes: npt.NDArray[np.uint16], column: Column, grid: int) -> Ints:
    """Return the level of each code.

    >>> from privsieve.public.columns import Number
    >>> codes = np.array([0, 40000, 65535], np.uint16)
    >>> level(codes, Number("x", 0, 1), 2).tolist()
    [0, 1, 1]
    >>> level(codes, Number("x", 0, 1, missing="level"), 2).tolist()
    [0, 1, 2]
    """
    wide = codes.astype(np.int64)
    if column.levels:
        return wide
    # [grid] where missing is a level, its code is the first beyond the `grid` parts
    return wide * grid // (MISSING if column.missing_level else CODES)


def tally(levels: Ints, levels_count: int, batch: Batch, weight: Ints | None, classes: int) -> Ints:
    """Sum the weights of the rows by class (a row) and level (a column).

    >>> from privsieve.rows.batch import Batch
    >>> rows = Batch(np.zeros((3, 1), np.uint16), np.array([0, 1, 1], np.int32),
    ...              np.arange(3, dtype=np.uint64), np.arange(3, dtype=np.uint64))
    >>> tally(np.array([0, 2, 2]), 3, rows, None, 2).tolist()
    [[1, 0, 0], [0, 0, 2]]
    """
    place = batch.label.astype(np.int64) * levels_count + levels
    # [exact] NumPy adds weights as doubles: integers, and exact below 2^53.
    sums = np.bincount(place, weight, classes * levels_count)
    return sums.astype(np.int64).reshape(classes, levels_count)


@dataclass(frozen=True, eq=False, repr=False)
class LevelCounts(Summary):
    """The table of all columns: classes x levels; the levels of a column lie together."""

    table: Ints
    classes: tuple[int, ...]

    @classmethod
    def zero(cls, domain: Domain, grid: int) -> LevelCounts:
        """Return the counts of no rows."""
        levels = sum(width(column, grid) for column in domain.columns)
        return cls(np.zeros((domain.classes, levels), np.int64), (0,) * domain.classes)

    @classmethod
    def of(cls, batch: Batch, weight: Ints | None, domain: Domain, grid: int) -> LevelCounts:
        """Count the levels of some rows."""
        tables = [tally(level(batch.codes[:, j], column, grid), width(column, grid), batch, weight,
                        domain.classes)
                  for j, column in enumerate(domain.columns)]
        # Each row has one level of the first column.
        return cls(np.concatenate(tables, axis=1), tuple(tables[0].sum(axis=1).tolist()))

    def columns(self, domain: Domain, grid: int) -> list[list[list[int]]]:
        """Return each column's levels, and for each level the count of each class.

        Python's integers: what is made of them is exact, however large it grows.
        """
        ends = list(accumulate(width(column, grid) for column in domain.columns))
        by_level = self.table.T.tolist()
        return [by_level[a:b] for a, b in zip([0, *ends], ends, strict=False)]


def signed(counts: list[list[int]], weights: tuple[int, ...]) -> int:
    """Return the best set of levels against the rest: sum over levels of |weighted count|.

    >>> signed([[3, 1], [0, 2]], (-1, 1))
    4
    """
    return sum(abs(sum(w * n for w, n in zip(weights, level, strict=True))) for level in counts)
