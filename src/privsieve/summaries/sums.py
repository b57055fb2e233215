"""Sums in place of rows: what RuleSieve's scores are made of, by parts of a table of any length.

::

    products  per set of two or three columns, the sum of their signs' product in each class
    cells     per pair of columns, how much of each class lies in each cell of a public grid

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
from privsieve.kernels.sums import cell_sums, product_sums
from privsieve.rows.batch import Part
from privsieve.summaries import Summary
from privsieve.summaries.rules import Ints, Layout, Signs

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
    """How much of each class lies in each cell of each pair of columns.

    The cells of a pair are a small table of rows with weights: kernels take it for one.

    cells : of pairs in lexicographic order
    grid : cells a side
    """

    cells: Ints
    grid: int

    @classmethod
    def of(cls, part: Part, layout: Layout, grid: int) -> CellSums:
        """Count the cells of a part."""
        return cls(cell_sums(layout.bins(part.codes, grid), part.starts, part.weight, 2, grid),
                   grid)

    def __add__(self, other: CellSums) -> CellSums:
        return replace(self, cells=self.cells + other.cells)

    def gain(self, weights: Ints, grid: int, layout: Layout) -> Ints:
        """For each column what a partner adds to it."""
        gain = np.zeros(len(layout.kind), np.int64)
        for pair, bins, starts, weight in self._pairs(layout):
            more = kernels.pair_gain(bins, starts, weight, weights, grid, layout.nominal[pair])
            gain[pair] = np.maximum(gain[pair], more)
        return gain

    def pairs(self, weights: Ints, grid: int, layout: Layout) -> Ints:
        """Twice the best rule of each pair, in lexicographic order."""
        return np.array([kernels.pair_best(bins, starts, weight, weights, grid,
                                           layout.nominal[pair])[0]
                         for pair, bins, starts, weight in self._pairs(layout)], np.int64)

    def _pairs(self, layout: Layout) -> Iterator[tuple[Places, npt.NDArray[np.uint8], Ints, Ints]]:
        """Each pair, and its cells as bins, where classes start, and weights."""
        each = self.grid**2
        classes = self.cells.shape[1] // each
        cell = np.indices((self.grid,) * 2, np.uint8).reshape(2, each)
        bins, starts = np.tile(cell, classes), np.arange(classes + 1) * each
        for columns, weight in zip(combinations(range(len(layout.kind)), 2), self.cells,
                                   strict=True):
            yield np.array(columns, np.intp), bins, starts, weight
