"""Moments: the sums of products of features, and of features with the target.  Whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from privsieve.methods.ridge.features import features, target
from privsieve.methods.ridge.maps import Map
from privsieve.public.domain import Domain

if TYPE_CHECKING:
    from privsieve.rows.batch import Batch


Ints = npt.NDArray[np.int64]

#: Features of a piece of rows that are in memory at a time.
PIECE = 2**20
#: Products are below 2^32, and doubles hold their sums exactly below 2^52.
EXACT_ROWS = 2**20


@dataclass(frozen=True, eq=False, repr=False)
class Moments:
    """The summary: any cut of the rows into parts gives the same sums."""

    products: Ints  # width x width
    with_target: Ints  # width

    @classmethod
    def zero(cls, width: int) -> Moments:
        """The sums of no rows."""
        return cls(np.zeros((width, width), np.int64), np.zeros(width, np.int64))

    @classmethod
    def of(cls, batch: Batch, weight: Ints | None, *, made: Map, domain: Domain,
           most: int = 1) -> Moments:
        """The sums of some rows; `weight` is what each counts for, at most `most`; None is 1."""
        width = made.width
        found = cls.zero(width)
        # [exact] every partial sum, in whatever order, is a whole number that a double holds
        size = max(1, min(PIECE // width, EXACT_ROWS // most))
        for at in range(0, len(batch), size):
            rows = slice(at, at + size)
            phi = features(made, batch.codes[rows]).astype(np.float64)
            y = target(domain.target, batch.label[rows]).astype(np.float64)
            weighed = phi if weight is None else phi * weight[rows, None]
            found += cls((weighed.T @ phi).astype(np.int64), (weighed.T @ y).astype(np.int64))
        return found

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.products + other.products, self.with_target + other.with_target)
