"""Tables of counts as summaries: dense or sparse.

All are integers that add up; which rows of a person take part was settled before, by a keyed
order of that person's own rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.kernels.rules import add_up
from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch
from privsieve.summaries import S
from privsieve.summaries.persons import summed

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Dense:
    """The count of each cell; the last axis changes fastest."""

    counts: Ints

    @classmethod
    def of(cls, places: Ints, cells: int, weight: Ints | None = None) -> Dense:
        """Count the places of rows, each by its weight."""
        return cls(add_up(places, weight, cells))

    def __add__(self, other: Dense) -> Dense:
        return Dense(self.counts + other.counts)


@dataclass(frozen=True, eq=False, repr=False)
class Sparse:
    """The cells with rows, in order, and their counts."""

    places: Ints
    counts: Ints

    @classmethod
    def of(cls, places: Ints, weight: Ints | None = None) -> Sparse:
        """Count the places of rows, each by its weight."""
        if weight is not None:
            # [no-trace] a row of weight 0 makes no cell
            places, weight = places[weight > 0], weight[weight > 0]
        held, inverse = np.unique(places, return_inverse=True)
        return cls(held, add_up(inverse, weight, len(held)))

    def __add__(self, other: Sparse) -> Sparse:
        places, inverse = np.unique(np.concatenate([self.places, other.places]),
                                    return_inverse=True)
        return Sparse(places, add_up(inverse, np.concatenate([self.counts, other.counts]),
                                     len(places)))


def flat(cells: Sequence[npt.NDArray[Any]], sizes: Sequence[int]) -> Ints:
    """Number cells on several axes by one place; the last axis runs fastest.

    >>> flat([np.array([1, 0]), np.array([2, 1])], [2, 3]).tolist()
    [5, 1]
    """
    combined = np.zeros(len(cells[0]) if cells else 0, np.int64)
    for cell, size in zip(cells, sizes, strict=True):
        combined = combined * size + cell
    return combined


def table_of(cells: Sequence[npt.NDArray[Any]], sizes: Sequence[int], weight: Ints | None = None,
             *, sparse: bool) -> Dense | Sparse:
    """Return the table of rows with these cells on each axis; a row counts its weight, or 1."""
    places = flat(cells, sizes)
    return Sparse.of(places, weight) if sparse else Dense.of(places, prod(sizes), weight)


def kept(batches: Iterable[Batch], key: int, domain: Domain, zero: S,
         of: Callable[[Batch], S]) -> S:
    """Sum over the rows that are used: of a person, at most the declared number."""
    # [rows-kept] a row counts as declared, whatever share of its person it stands for
    return summed(batches, key, domain=domain, zero=zero, of=lambda batch, _weight: of(batch))
