"""Tables of counts as summaries: dense or sparse, and rows kept until columns are chosen.

All are integers that add up; which rows of a person take part was settled before, by a keyed
order of that person's own rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch, Passes
from privsieve.summaries import Summary
from privsieve.summaries.persons import summed

if TYPE_CHECKING:
    from privsieve.methods.histogram.noisy_histogram import Axis


Ints = npt.NDArray[np.int64]

S = TypeVar("S", bound=Summary)


@dataclass(frozen=True, eq=False, repr=False)
class Dense:
    """How many rows each cell holds, the last axis running fastest."""

    counts: Ints

    @classmethod
    def of(cls, places: Ints, cells: int) -> Dense:
        """Count the places of rows."""
        return cls(np.bincount(places, minlength=cells))

    def __add__(self, other: Dense) -> Dense:
        return Dense(self.counts + other.counts)


@dataclass(frozen=True, eq=False, repr=False)
class Sparse:
    """The cells that hold a row, in order, and how many each holds."""

    places: Ints
    counts: Ints

    @classmethod
    def of(cls, places: Ints) -> Sparse:
        """Count the places of rows."""
        return cls(*np.unique(places, return_counts=True))

    def __add__(self, other: Sparse) -> Sparse:
        places, inverse = np.unique(np.concatenate([self.places, other.places]),
                                    return_inverse=True)
        counts = np.zeros(len(places), np.int64)
        np.add.at(counts, inverse, np.concatenate([self.counts, other.counts]))
        return Sparse(places, counts)


@dataclass(frozen=True, eq=False, repr=False)
class BeforeChoice:
    """What a choice of columns needs, and the rows that are tabulated after it; both private."""

    sieve: Any  # the summary of the method that chooses
    rows: Passes
    key: int


def on_axes(axes: Sequence[Axis], batch: Batch, domain: Domain) -> Iterator[Ints]:
    """The cell of each row, on one axis after another.

    >>> from privsieve.public.columns import Number
    >>> from privsieve.methods.histogram.noisy_histogram import Axis
    >>> age = Number("age", 0, 110, missing="level")
    >>> codes = np.array([[0], [65534], [65535]], np.uint16)
    >>> batch = Batch(codes, np.zeros(3, np.int32), *np.zeros((2, 3), np.uint64))
    >>> [cells.tolist() for cells in on_axes([Axis(age, 4)], batch, Domain([age]))]
    [[0, 3, 4]]
    """
    place = {name: j for j, name in enumerate(domain.names)}
    for axis in axes:
        codes = batch.codes[:, place[axis.name]] if axis.name in place else batch.label
        found = codes.astype(np.int64)
        # [cell] a missing value has the code after the last that is used, and so the last cell
        yield found * axis.bins // axis.used if axis.bins else found


def flat(cells: Sequence[npt.NDArray[Any]], sizes: Sequence[int]) -> Ints:
    """Cells on several axes as one place, the last axis running fastest.

    >>> flat([np.array([1, 0]), np.array([2, 1])], [2, 3]).tolist()
    [5, 1]
    """
    found = np.zeros(len(cells[0]) if cells else 0, np.int64)
    for cell, size in zip(cells, sizes, strict=True):
        found = found * size + cell
    return found


def counted(batches: Iterable[Batch], key: int, *, domain: Domain, axes: Sequence[Axis],
            sparse: bool) -> Dense | Sparse:
    """The table of some axes over some batches."""
    sizes = [axis.cells for axis in axes]

    def of(batch: Batch) -> Dense | Sparse:
        return table_of(list(on_axes(axes, batch, domain)), sizes, sparse=sparse)

    return kept(batches, key, domain, of(Batch.empty(len(domain.columns))), of)


def table_of(cells: Sequence[npt.NDArray[Any]], sizes: Sequence[int], *, sparse: bool,
             ) -> Dense | Sparse:
    """The table of rows whose cells on each axis are given."""
    places = flat(cells, sizes)
    return Sparse.of(places) if sparse else Dense.of(places, prod(sizes))


def kept(batches: Iterable[Batch], key: int, domain: Domain, zero: S,
         of: Callable[[Batch], S]) -> S:
    """The sum over the rows that take part: of a person, so many as the domain says."""
    # [rows-kept] a row counts once, whatever share of its person it stands for
    return summed(batches, key, domain=domain, zero=zero, of=lambda batch, _weight: of(batch))
