"""Basis: the points at which a function leaves, and the factor of their noise's covariance.

All of this is public: queries, the kernel, and no row.  So rounding here is no leak, it is part of
the noise's law; and what the proof needs of the factor is checked on the factor itself.
See `basis.proof.md`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privsieve.methods.ridge.dual import UNIT, forward
from privsieve.methods.ridge.gram import ERROR, Doubles, Kernel

#: Variance that each kept point has of its own, in units of the kernel; a point whose variance,
#: given those that are kept, is below twice that is not kept: the kept ones answer for it.
NUGGET = 2.0**-28
#: Kept points at most.
LARGEST = 2048


@dataclass(frozen=True, eq=False, repr=False)
class Basis:
    """Kept points, and a lower triangle L with L L' >= K + NUGGET / 2, for certain.

    >>> from privsieve.public.domain import Domain
    >>> from privsieve.methods.ridge.gram import Kernel
    >>> line = Kernel.of(Domain.box(0, 1, columns=1), "rbf")
    >>> basis, weights = Basis.empty(line).extended(np.array([[0.0], [0.0], [65536.0]]))
    >>> len(basis.points), weights.shape
    (2, (3, 2))
    """

    kernel: Kernel
    points: Doubles
    factor: Doubles
    off: float  # squared, how far L L' is from K + NUGGET as computed

    @classmethod
    def empty(cls, kernel: Kernel) -> Basis:
        """No points yet."""
        return cls(kernel, np.empty((0, 0)), np.empty((0, 0)), 0.0)

    def __len__(self) -> int:
        return len(self.factor)

    def weights(self, points: Doubles) -> Doubles:
        """A row for each point: the function there, of the whitened numbers of the basis."""
        if not len(self):
            return np.zeros((len(points), 0))
        return forward(self.factor, self.kernel.gram(self.points, points)).T

    def extended(self, points: Doubles, price: float = 0.0) -> tuple[Basis, Doubles]:
        """The basis with those of some points that are not answered for; and all their weights.

        A point that is much like the kept ones is answered by them, that is by what was released
        before: nothing is asked of the rows for it.  `price` is the variance that another kept
        point adds to every answer: points that are not worth it are not kept.
        """
        known = self.weights(points)
        kept, found = self._pivots(points, known, price)
        n, new = len(self), len(kept)
        factor = np.zeros((n + new, n + new))
        factor[:n, :n] = self.factor
        factor[n:, :n] = known[kept]
        factor[n:, n:] = np.tril(found[kept])
        both = np.concatenate([self.points, points[kept]]) if n else points[kept]
        off = self.off + self._residual(both, factor, n)
        # [checked]
        if not certain(off, n + new):
            return self, known
        return Basis(self.kernel, both, factor, off), np.concatenate([known, found], axis=1)

    def _pivots(self, points: Doubles, known: Doubles, price: float) -> tuple[list[int], Doubles]:
        """Which points are kept, in order, and the columns of the factor that they begin."""
        room = LARGEST - len(self)
        left = self.kernel.diagonal(points) - (known * known).sum(axis=1)
        found = np.zeros((len(points), min(room, len(points))))
        kept: list[int] = []
        open_, unknown = np.ones(len(points), np.bool_), []
        while len(kept) < found.shape[1]:
            j = int(left.argmax())
            # [threshold]
            if not left[j] > 2 * NUGGET:
                break
            i = len(kept)
            column = self.kernel.gram(points, points[j:j + 1])[:, 0]
            column -= known @ known[j] + found[:, :i] @ found[j, :i]
            # [nugget]
            pivot = np.sqrt(column[j] + NUGGET)
            column /= pivot
            column[j] = pivot
            left -= column * column
            open_[j], left[j] = False, -np.inf
            column[kept] = 0.0
            found[:, i] = column
            kept.append(j)
            unknown.append(float(left[open_].sum()) / len(points))
        if price and kept:
            # [worth] so many dimensions that noise and ignorance together are least
            best = int(np.argmin(price * np.arange(len(kept)) + unknown)) + 1
            kept = kept[:best]
        return kept, found[:, :len(kept)]

    def _residual(self, points: Doubles, factor: Doubles, since: int) -> float:
        """Squared, how far the new rows of L L' are from those of K + NUGGET, both as computed."""
        # [residual] twice: rows, and columns
        wanted = self.kernel.gram(points[since:], points)
        wanted[np.arange(len(points) - since), np.arange(since, len(points))] += NUGGET
        wanted -= factor[since:] @ factor.T
        return 2 * float((wanted * wanted).sum())


def certain(off: float, n: int) -> bool:
    """Whether L L' >= K + NUGGET / 2 for n points, rounding included.

    >>> certain(0.0, LARGEST), certain(1e-18, LARGEST), certain(0.0, 2 * LARGEST)
    (True, False, False)
    """
    # [entry] of what was computed of one entry of the residual; [frobenius] all of them
    entry = 3 * (n + 3) * UNIT + ERROR
    return bool(0 <= off) and 1.01 * off**0.5 + float(n * entry) <= NUGGET / 2  # noqa: SIM300
