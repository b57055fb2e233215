"""Layout: how the domain's columns enter the rules.  Public, made from the domain alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privsieve.frozen import dataclass
from privsieve.public.columns import MISSING, Category, Column, Number, adds_up
from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch

#: kinds of the interval kernel
ORDERED, ORDERED_WITH_MISSING, SUBSETS, ONE_LEVEL = range(4)
#: Up to so many levels a rule may pick any subset of them; a subset rule's null grows with the
#: square root of the number of levels.
LARGEST_SUBSET = 8


@dataclass(frozen=True, eq=False, repr=False)
class Layout:
    """Kinds of the columns and the number of classes."""

    kind: npt.NDArray[np.uint8]
    levels: npt.NDArray[np.int64]  # 0 for numbers
    classes: int
    sloped: npt.NDArray[np.intp]  # the positions of the columns whose codes are added up
    gridless: tuple[int, ...] = ()  # the positions of numbers whose codes are no equal steps

    @classmethod
    def of(cls, domain: Domain) -> Layout:
        """The layout of a domain."""
        return cls(
            np.array([_kind(column) for column in domain.columns], np.uint8),
            np.array([column.levels or 0 for column in domain.columns], np.int64),
            domain.classes,
            np.array(sloped(domain), np.intp),
            gridless=tuple(j for j, column in enumerate(domain.columns)
                           if isinstance(column, Number) and column.gridless),
        )

    @property
    def nominal(self) -> npt.NDArray[np.uint8]:
        """1 for columns whose levels have no order."""
        return (self.kind >= SUBSETS).astype(np.uint8)

    @property
    def gridded(self) -> npt.NDArray[np.intp]:
        """The positions of the columns whose bins say something."""
        kept = np.ones(len(self.kind), np.bool_)
        kept[list(self.gridless)] = False
        return np.flatnonzero(kept)

    @property
    def ordered(self) -> npt.NDArray[np.intp]:
        """The positions of the columns that have ranks."""
        return np.flatnonzero(self.kind < SUBSETS)

    def bins(self, codes: npt.NDArray[np.uint16], grid: int) -> npt.NDArray[np.uint8]:
        """Codes on the public grid: 0..grid-1, by shifts and products of integers.

        Where missing is a level, it is the last bin and values use the others; of a category,
        the first grid-1 levels stand alone and the rest is the last bin.
        """
        found = np.empty(codes.shape, np.uint8)
        for j, column in enumerate(codes):
            found[j] = self.bin(j, column, grid)
        return found

    def bin(self, j: int, codes: npt.NDArray[np.uint16], grid: int) -> npt.NDArray[np.uint8]:
        """Codes of column j on the public grid."""
        if self.kind[j] == ORDERED_WITH_MISSING:
            return (codes.astype(np.uint32) * (grid - 1) // MISSING).astype(np.uint8)
        if self.levels[j]:
            return np.minimum(codes, grid - 1).astype(np.uint8)
        return (codes >> (16 - (grid.bit_length() - 1))).astype(np.uint8)


def sloped(domain: Domain) -> tuple[int, ...]:
    """The columns whose codes are equal parts of declared bounds, so that two can be added up.

    >>> sloped(Domain.box(0, 1, columns=3))
    (0, 1, 2)
    """
    return tuple(j for j, column in enumerate(domain.columns) if adds_up(column))


def _kind(column: Column) -> int:
    if isinstance(column, Category):
        return SUBSETS if column.levels <= LARGEST_SUBSET else ONE_LEVEL
    return ORDERED_WITH_MISSING if column.missing_level else ORDERED


@dataclass(frozen=True, eq=False, repr=False)
class Part:
    """Rows sorted by class, columns contiguous: what the kernels take.

    ids : uint64, 2 x n; the unit and the row.
    starts : where each class begins, and the end.
    weight : what each row counts for; None is 1.
    """

    codes: npt.NDArray[np.uint16]
    ids: npt.NDArray[np.uint64]
    starts: npt.NDArray[np.int64]
    weight: npt.NDArray[np.int64] | None = None

    @classmethod
    def of(cls, batch: Batch, classes: int, weight: npt.NDArray[np.int64] | None = None) -> Part:
        """Sort the rows of a batch by class, keeping their order otherwise."""
        if (batch.label[1:] >= batch.label[:-1]).all():
            return cls._sorted(batch, classes, weight)
        order = by_class(batch.label)
        starts = np.searchsorted(batch.label[order], np.arange(classes + 1))
        return cls(
            np.ascontiguousarray(np.take(batch.codes.T, order, axis=1)),
            np.ascontiguousarray(np.stack([batch.unit[order], batch.row[order]])),
            starts.astype(np.int64),
            None if weight is None else np.ascontiguousarray(weight[order]),
        )

    @classmethod
    def _sorted(cls, batch: Batch, classes: int, weight: npt.NDArray[np.int64] | None) -> Part:
        """Rows that lie by class already."""
        starts = np.searchsorted(batch.label, np.arange(classes + 1))
        return cls(np.ascontiguousarray(batch.codes.T), np.stack([batch.unit, batch.row]),
                   starts.astype(np.int64), weight)

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """How many rows each class has."""
        return np.diff(self.starts)


def by_class(label: npt.NDArray[np.int32]) -> npt.NDArray[np.intp]:
    """The order of rows by their class, and else as they came.

    >>> by_class(np.array([1, 0, 1, 0], np.int32)).tolist()
    [1, 3, 0, 2]
    """
    # Numbers of 16 bits are sorted by counting.
    return np.argsort(label.astype(np.uint16), kind="stable")


def in_classes(batch: Batch) -> Batch:
    """The same rows, by class."""
    return batch.take(by_class(batch.label))
