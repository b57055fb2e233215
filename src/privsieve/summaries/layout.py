"""Layout: how columns enter the rules, and the public grid for pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from privsieve.public.columns import CODES, MIDDLE, MISSING, Column, Graded
from privsieve.public.domain import Domain
from privsieve.rows.cells import log_linear

Ints = npt.NDArray[np.int64]

#: Cells a side of the finest grid of pairs.
FINEST = 16
#: Where a number without bounds is cut, as far from `near`.
FAR = (-16, -4, -1, -.25, 0, .25, 1, 4, 16, 32, 64, 128, 256, 1024, 4096)
#: kinds of the interval kernel
ORDERED, ORDERED_WITH_MISSING, SUBSETS, ONE_LEVEL = range(4)
#: Up to this number of levels a rule may pick any subset of them; a subset rule's null grows with
#: the square root of the number of levels.
LARGEST_SUBSET = 8


@dataclass(frozen=True, eq=False, repr=False)
class Layout:
    """Kinds of the columns and the number of classes."""

    kind: npt.NDArray[np.uint8]
    levels: npt.NDArray[np.int64]  # 0 for numbers
    classes: int
    columns: tuple[Column, ...]

    @classmethod
    def of(cls, domain: Domain) -> Layout:
        """Return the layout of a domain."""
        return cls(
            np.array([_kind(column) for column in domain.columns], np.uint8),
            np.array([column.levels or 0 for column in domain.columns], np.int64),
            domain.classes,
            tuple(domain.columns),
        )

    @property
    def nominal(self) -> npt.NDArray[np.uint8]:
        """Return 1 for columns whose levels have no order, else 0."""
        return (self.kind >= SUBSETS).astype(np.uint8)

    @property
    def ordered(self) -> npt.NDArray[np.intp]:
        """The positions of the columns that have ranks."""
        return np.flatnonzero(self.kind < SUBSETS)

    def bins(self, codes: npt.NDArray[np.uint16], grid: int) -> npt.NDArray[np.uint8]:
        """Return codes on the public grid: 0..grid-1.

        Where missing is a level, it is the last bin and values use the others; of a category,
        the first grid-1 levels stand alone and the rest is the last bin.
        """
        return np.array([self.bin(j, column, grid) for j, column in enumerate(codes)],
                        np.uint8).reshape(codes.shape)

    def bin(self, j: int, codes: npt.NDArray[np.uint16], grid: int) -> npt.NDArray[np.uint8]:
        """Return codes of column j on the public grid."""
        if self.levels[j]:
            return np.minimum(codes, grid - 1).astype(np.uint8)
        column = self.columns[j]
        if isinstance(column, Graded) and column.gridless:
            # [cells] a coarser grid has every second edge, or every fourth
            edges = cell_edges(column)[FINEST // grid - 1::FINEST // grid]
            binned = np.repeat(np.arange(grid, dtype=np.uint16), np.diff([0, *edges, CODES]))[codes]
        else:
            binned = codes // (CODES // grid)  # [cells] equal steps
        if self.kind[j] == ORDERED_WITH_MISSING:
            binned = np.where(codes == MISSING, grid - 1, np.minimum(binned, grid - 2))
        return binned.astype(np.uint8, copy=False)


# [cell-edges]
def cell_edges(column: Column, steps: int = FINEST) -> Ints:
    """Return the codes at which the cells of the finest grid begin: public, by the domain alone.

    Between bounds they are equal steps; without bounds, powers of two to both sides of `near`.

    >>> from privsieve.public.columns import Number
    >>> cell_edges(Number("age", 0, 16))[:3].tolist(), len(cell_edges(Number("sodium")))
    ([4096, 8192, 12288], 15)
    """
    if isinstance(column, Graded) and column.gridless:
        return _edges_around(*column.reach, column.near or 0.0, steps)
    return np.arange(1, steps) * (CODES // steps)


@lru_cache(1024)
def _edges_around(low: float, high: float, near: float, steps: int) -> Ints:
    values = (near + np.array(FAR) if math.isinf(low)
              else low + (high - low) * np.arange(1, steps) / steps)
    return log_linear(values, near, CODES, MIDDLE).astype(np.int64)
# [/cell-edges]


def _kind(column: Column) -> int:
    if column.unordered:
        return SUBSETS if column.unordered <= LARGEST_SUBSET else ONE_LEVEL
    return ORDERED_WITH_MISSING if column.missing_level else ORDERED
