"""Forms: the values that rules use, as kept rows or as sums over parts of the rows.

::

    Runs              per column, how many rows of each class have each code   interval rules
    Signs, SignSums   which rows lie above the median of each column           products of 2 and 3
    Bins, CellSums    the public grid bin of each row and column               rules on pairs

Kept rows are faster where all fit into memory; sums are as large as the number of sets of columns,
whatever the number of rows.  Both answer the same questions with the same integers.  The class
stays an index everywhere, so that weights may come after the charge, from a noisy count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from math import isqrt
from operator import add
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from privsieve import kernels
from privsieve.kernels.contract import Cuts
from privsieve.kernels.sums import cell_sums, product_sums
from privsieve.rows.batch import Part
from privsieve.summaries import Summary
from privsieve.summaries.layout import Ints, Layout
from privsieve.summaries.ranks import Keys, Table

Numbers = npt.NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class Runs(Summary):
    """Per column, the distinct codes and their counts per class."""

    table: Table
    counts: Ints  # per class, weighted

    @classmethod
    def of(cls, *parts: Part) -> Runs:
        """Count the codes of some parts, in one table."""
        return cls(kernels.runs_together([(chunk.codes, chunk.starts, chunk.weight)
                                          for chunk in parts]),
                   reduce(add, (chunk.counts for chunk in parts)))

    def __add__(self, other: Runs) -> Runs:
        return Runs(kernels.merge_runs(self.table, other.table), self.counts + other.counts)


@dataclass(frozen=True, eq=False, repr=False)
class Kept(Summary):
    """Rows of several parts, which are put together by class at the end."""

    parts: tuple[Any, ...]

    def __add__(self, other: Self) -> Self:
        parts = tuple(chunk for chunk in self.parts + other.parts if chunk[0].shape[-1])
        return replace(self, parts=parts or self.parts[:1])

    @property
    def together(self) -> Any:
        """All rows as one part."""
        return self.parts[0] if len(self.parts) == 1 else self._joined(*self.parts)

    def _joined(self, *parts: Any) -> Any:
        raise NotImplementedError


def by_class(arrays: Sequence[Numbers], starts: Sequence[Ints]) -> Numbers:
    """Join arrays along the last axis: class 0 of all arrays first, then class 1.

    >>> by_class([np.array([1, 3]), np.array([2, 4])], [np.array([0, 1, 2])] * 2).tolist()
    [1, 2, 3, 4]
    """
    return np.ascontiguousarray(np.concatenate(
        [array[..., start[c]:start[c + 1]] for c in range(len(starts[0]) - 1)
         for array, start in zip(arrays, starts, strict=True)], axis=-1))


# Products of signs


class Planes(NamedTuple):
    """Bit planes of the median splits; rows by class, each class padded with zero bits."""

    planes: Keys
    masks: Keys | None
    zeros: Ints
    words: Ints
    rows: Ints

    def __repr__(self) -> str:
        return object.__repr__(self)  # its fields are private


@dataclass(frozen=True, eq=False, repr=False)
class Signs(Kept):
    """Signs on both sides of the median of each column that has ranks."""

    parts: tuple[Planes, ...]

    @classmethod
    def of(cls, chunk: Part, cuts: Cuts, key: int, layout: Layout) -> Signs:
        """Split the columns that have ranks at cuts that were found over the whole table."""
        planes, masks, zeros = kernels.sign_planes(chunk.codes, chunk.starts, chunk.ids, key, cuts,
                                                   layout.kind)
        ranked = layout.ordered
        if len(ranked) < len(planes):
            planes, zeros = np.ascontiguousarray(planes[ranked]), zeros[ranked]
            masks = None if masks is None else np.ascontiguousarray(masks[ranked])
        return cls((Planes(planes, masks, zeros, kernels.plane_words(chunk.starts), chunk.rows),))

    def _joined(self, *parts: Planes) -> Planes:
        planes, masks, zeros, words, rows = zip(*parts, strict=True)
        known = [mask for mask in masks if mask is not None]
        return Planes(by_class(planes, words), by_class(known, words) if known else None,
                      reduce(np.maximum, _moved(zeros, np.array(words))), sum(words), sum(rows))

    @property
    def rows(self) -> Ints:
        """How many rows each class has."""
        rows: Ints = self.together.rows
        return rows

    def best(self, size: int, weights: Ints) -> Ints:
        """Return each column's best product with one or two others."""
        held: Planes = self.together
        product = kernels.sign_pairs if size == 2 else kernels.sign_triples
        return product(*held, weights)


def _moved(zeros: Sequence[Ints], words: Ints) -> Iterator[Ints]:
    """Zero rows keep their place in their class and part; the part begins later."""
    # [zeros] behind all words of classes before, and those of parts before in the class
    sizes = np.diff(words)
    begin = np.append(0, sizes.sum(axis=0).cumsum())[:-1] + sizes.cumsum(axis=0) - sizes
    for zero, word, here in zip(zeros, words, begin - words[:, :-1], strict=True):
        place = np.searchsorted(word, zero >> 6, side="right") - 1
        yield np.where(zero < 0, -1, zero + 64 * here[np.maximum(place, 0)])


@dataclass(frozen=True, eq=False, repr=False)
class SignSums(Summary):
    """The sums of products of signs, by class; sets of columns that have ranks."""

    two: Ints
    three: Ints | None
    rows: Ints

    @classmethod
    def of(cls, signs: Signs, order: int) -> SignSums:
        """Add up the products of a part."""
        held: Planes = signs.together
        return cls(product_sums(*held, 2), product_sums(*held, 3) if order > 2 else None, held.rows)

    def best(self, size: int, weights: Ints) -> Ints:
        """Return each column's largest |weighted sum| over the sets that hold it."""
        sums = self.two if size == 2 else self.three
        assert sums is not None
        d = (1 + isqrt(1 + 8 * len(self.two))) // 2
        best, value = np.zeros(d, np.int64), np.abs(sums @ weights.T).max(axis=1, initial=0)
        members = np.array(list(combinations(range(d), size)), np.intp).reshape(-1, size)
        np.maximum.at(best, members.ravel(), np.repeat(value, size))
        return best


# Cells of pairs


class Cells(NamedTuple):
    """A table on the grid: rows by class, each with a weight, if not 1."""

    bins: npt.NDArray[np.uint8]
    starts: Ints
    weight: Ints | None

    def __repr__(self) -> str:
        return object.__repr__(self)  # its fields are private


class PairRules(Summary):
    """Rules on pairs of columns, of tables on the grid."""

    def gain(self, weights: Ints, grid: int, layout: Layout) -> Ints:
        """Return the gain of each column from its best partner."""
        gain = np.zeros(len(layout.kind), np.int64)
        for columns, extra_gain in self._by_grid(kernels.pair_gain, weights, grid, layout):
            gain[columns] = np.maximum(gain[columns], extra_gain)
        return gain

    def pairs(self, weights: Ints, grid: int, layout: Layout) -> Ints:
        """Twice the best rule of each pair, in lexicographic order."""
        return np.concatenate([np.zeros(0, np.int64), *(
            best for _, best in self._by_grid(kernels.pair_best, weights, grid, layout))])

    def _by_grid(self, kernel: Callable[..., Ints], weights: Ints, grid: int, layout: Layout,
               ) -> Iterator[tuple[npt.NDArray[np.intp], Ints]]:
        for columns, cells in self.tables(len(layout.kind), grid):
            yield columns, kernel(*cells, weights, grid, layout.nominal[columns])

    def tables(self, columns: int, grid: int) -> Iterator[tuple[npt.NDArray[np.intp], Cells]]:
        """Tables that hold each pair of columns once, in order, and the columns of each table."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class Bins(Kept, PairRules):
    """Public grid bins of rows: one table of all columns."""

    parts: tuple[Cells, ...]

    @classmethod
    def of(cls, chunk: Part, layout: Layout, grid: int) -> Bins:
        """Put a part on the grid."""
        return cls((Cells(layout.bins(chunk.codes, grid), chunk.starts, chunk.weight),))

    def _joined(self, *parts: Cells) -> Cells:
        bins, starts, weights = zip(*parts, strict=True)
        known = [weight for weight in weights if weight is not None]
        return Cells(by_class(bins, starts), sum(starts),
                     by_class(known, starts) if known else None)

    def tables(self, columns: int, grid: int) -> Iterator[tuple[npt.NDArray[np.intp], Cells]]:
        """Return all rows."""
        del grid
        yield np.arange(columns), self.together


@dataclass(frozen=True, eq=False, repr=False)
class CellSums(PairRules):
    """How much of each class lies in each cell of each pair of columns, in lexicographic order."""

    cells: Ints

    @classmethod
    def of(cls, chunk: Part, layout: Layout, grid: int) -> CellSums:
        """Count the cells of a part."""
        return cls(cell_sums(layout.bins(chunk.codes, grid), chunk.starts, chunk.weight, grid))

    def tables(self, columns: int, grid: int) -> Iterator[tuple[npt.NDArray[np.intp], Cells]]:
        """Return a small table of each pair: one weighted row of each class in each cell."""
        classes = self.cells.shape[1] // grid**2
        bins = np.tile(np.indices((grid, grid), np.uint8).reshape(2, -1), classes)
        starts = np.arange(classes + 1) * grid**2
        for pair, weight in zip(combinations(range(columns), 2), self.cells, strict=True):
            yield np.array(pair, np.intp), Cells(bins, starts, weight)
