"""Sums in place of rows: what RuleSieve's scores are made of, by parts of a table of any length.

::

    products  per set of two or three columns, the sum of their signs' product in each class
    cells     per set of columns, how much of each class lies in each cell of a public grid

Both are as large as the number of sets, whatever the number of rows.  They answer what `Signs` and
`Bins` answer, which hold the rows: the same integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from math import isqrt

import numpy as np
import numpy.typing as npt

from privsieve import kernels
from privsieve.kernels.rules import joint_best
from privsieve.kernels.sums import cell_sums, product_sums
from privsieve.rows.batch import Part
from privsieve.summaries import Summary
from privsieve.summaries.rules import Ints, Layout, Signs, of_pair

Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False, repr=False)
class SignSums(Summary):
    """The sums of products of signs, by class; sets of columns that have ranks."""

    two: Ints
    three: Ints | None
    rows: Ints

    @classmethod
    def of(cls, signs: Signs, order: int) -> SignSums:
        """Add up the products of a part."""
        held = signs.planes, signs.masks, signs.zeros, signs.words, signs.rows
        three = product_sums(*held, 3) if order > 2 else None  # a product of three
        return cls(product_sums(*held, 2), three, signs.rows)

    def pairs(self, weights: Ints) -> Ints:
        """For each column its best product with another one."""
        return self._best(self.two, 2, weights)

    def triples(self, weights: Ints) -> Ints:
        """For each column its best product with two others."""
        assert self.three is not None
        return self._best(self.three, 3, weights)

    def _best(self, sums: Ints, size: int, weights: Ints) -> Ints:
        """For each column the largest |weighted sum| of a set that it is in."""
        d = (1 + isqrt(1 + 8 * len(self.two))) // 2
        best, value = np.zeros(d, np.int64), np.abs(sums @ weights.T).max(axis=1, initial=0)
        members = np.array(list(combinations(range(d), size)), np.intp).reshape(-1, size)
        for column in members.T:
            np.maximum.at(best, column, value)
        return best


@dataclass(frozen=True, eq=False, repr=False)
class CellSums(Summary):
    """How much of each class lies in each cell of each set of some columns.

    The cells of a set are a small table of rows with weights: kernels take it for one.

    on : the positions of the columns; their sets are in lexicographic order
    grid : cells a side
    """

    cells: Ints
    on: Places
    size: int
    grid: int

    @classmethod
    def of(cls, part: Part, layout: Layout, size: int, grid: int) -> CellSums:
        """Count the cells of a part, of those columns that the grid is for."""
        on = layout.gridded
        bins = layout.bins(part.codes, grid)
        if len(on) < len(bins):
            bins = np.ascontiguousarray(bins[on])
        return cls(cell_sums(bins, part.starts, part.weight, size, grid), on, size, grid)

    def __add__(self, other: CellSums) -> CellSums:
        return replace(self, cells=self.cells + other.cells)

    def gain(self, weights: Ints, grid: int, layout: Layout) -> Ints:
        """For each column what a partner adds to it; 0 where it has no grid."""
        gain = np.zeros(len(layout.kind), np.int64)
        for pair, bins, starts, weight in self:
            more = kernels.pair_gain(bins, starts, weight, weights, grid, layout.nominal[pair])
            gain[pair] = np.maximum(gain[pair], more)
        return gain

    def pairs(self, weights: Ints, grid: int, layout: Layout) -> Ints:
        """Twice the best rule of each pair, in lexicographic order; 0 where one has no grid."""
        d = len(layout.kind)
        values = np.zeros(d * (d - 1) // 2, np.int64)
        for pair, bins, starts, weight in self:
            values[of_pair(pair, d)] = kernels.pair_best(bins, starts, weight, weights, grid,
                                                          layout.nominal[pair])[0]
        return values

    def sets(self, weights: Ints, size: int, layout: Layout) -> Ints:
        """Twice the best rule of each set of three or four columns, in lexicographic order."""
        return np.array([joint_best(bins, starts, weight, weights, size, layout.nominal[on])[0]
                         for on, bins, starts, weight in self], np.int64)

    def __iter__(self) -> Iterator[tuple[Places, npt.NDArray[np.uint8], Ints, Ints]]:
        """Each set, and its cells as bins, where classes start, and weights."""
        each = self.grid**self.size
        classes = self.cells.shape[1] // each
        cell = np.indices((self.grid,) * self.size, np.uint8).reshape(self.size, each)
        bins, starts = np.tile(cell, classes), np.arange(classes + 1) * each
        for columns, weight in zip(combinations(self.on.tolist(), self.size), self.cells,
                                   strict=True):
            yield np.array(columns, np.intp), bins, starts, weight
