"""Dual: kernel ridge regression on codes, in doubles, with known limits of rounding.

A record is a point of whole numbers (`coordinates`), so products and squared distances of points
are exact whatever the order of their sums; what is rounded comes after.  K(x, x) <= 1 everywhere.
The limits are of public numbers alone and hold for every table: the solver has no branch, and
looks at nothing to decide whether it is good enough.

`Basis` holds the points at which a function leaves.  It is made of queries and the kernel, and of
no row: rounding there is no leak, it is part of the noise's law, and what the proof needs of the
factor is checked on the factor itself.  See `dual.proof.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from privsieve.errors import DomainError, ParameterError
from privsieve.methods.ridge.features import Doubles
from privsieve.methods.ridge.sensitivity import longest, ridge
from privsieve.noise.approximate import root_up, rounded_up
from privsieve.public.canonical import Json
from privsieve.public.columns import CODES, MIDDLE, MISSING, Date, Number
from privsieve.public.domain import Domain

#: Half of a column's range in coordinates.  Two levels of a category are as far from each other as
#: the ends of a range (2 * 92681^2 is 131072^2 but for 2e-5), and a missing level at least as far.
HALF, LEVEL, ABSENT = CODES, 92_681, 2 * CODES
#: Sums of products stay below 2^53 up to this sum of squared lengths, in units of HALF^2.
WIDEST = 2**18
LARGEST_GAMMA = 10**6
#: How far a computed kernel can be from the exact one, anywhere.
ERROR = Fraction(1, 2**48)
#: Half of the distance from 1 to the next double.
UNIT = Fraction(1, 2**53)
#: A kernel of this many records with each other takes 2 GB.
MOST_RECORDS = 2**14
#: Variance that each kept point has of its own, in units of the kernel; a point whose variance,
#: given those that are kept, is below twice that is not kept: the kept ones answer for it.
NUGGET = 2.0**-28
#: Kept points at most.
MOST_KEPT = 2048


@dataclass(frozen=True)
class Kernel:
    """A kernel of records: public parameters, and the domain that says what a record is.

    ::

        rbf     exp(-gamma |x - x'|^2), columns scaled to a range of 1
        linear  (1 + z.z') / (1 + w), columns from -1 to 1, w their largest squared length
    """

    domain: Domain
    name: Literal["rbf", "linear"]
    gamma: float = 1.0

    @classmethod
    def of(cls, domain: Domain, name: str = "rbf", gamma: object = 1.0) -> Kernel:
        """Check what a person wrote.

        >>> Kernel.of(Domain.box(0, 1, columns=2), "linear").json()
        {'kernel': 'linear'}
        """
        if name not in ("rbf", "linear"):
            raise ParameterError(f'kernel is {name!r}; write "rbf" or "linear"')
        if length(domain) > WIDEST:
            raise DomainError(f"the columns have a squared length of {length(domain)}; kernels are "
                              f"exact up to {WIDEST}; declare fewer columns")
        try:
            width = float(gamma)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            width = 0.0
        if not 1 / LARGEST_GAMMA <= width <= LARGEST_GAMMA:
            raise ParameterError(f"gamma is {gamma!r}; write a number from 1e-6 to 1e6 (columns "
                                 "are scaled to a range of 1)")
        return cls(domain, name, width if name == "rbf" else 1.0)  # type: ignore[arg-type]

    def json(self) -> dict[str, Json]:
        """Return what a release says of the kernel."""
        return {"kernel": self.name} | ({"gamma": repr(self.gamma)} if self.name == "rbf" else {})

    def gram(self, P: Doubles, Q: Doubles) -> Doubles:
        """Evaluate the kernel for each point of P with each of Q.

        >>> line = Kernel.of(Domain.box(0, 1, columns=1), "rbf", gamma=0.5)
        >>> P = coordinates(np.array([[0], [65535]], np.uint16), line.domain)
        >>> line.gram(P, P).round(4).tolist()
        [[1.0, 0.6065], [0.6065, 1.0]]
        """
        # [exact] integers below 2^53, whatever the order of the sums
        products = P @ Q.T
        if self.name == "rbf":
            # [distance]
            products *= -2.0
            products += np.einsum("ij,ij->i", P, P)[:, None]
            products += np.einsum("ij,ij->i", Q, Q)
            # [rbf] a power of two and one rounding, then exp
            products *= -(self.gamma / (2 * HALF) ** 2)
            return np.exp(products, out=products)
        return self._scaled(products)

    def diagonal(self, P: Doubles) -> Doubles:
        """Evaluate the kernel of each point with itself: at most 1."""
        if self.name == "rbf":
            return np.ones(len(P))
        return self._scaled(np.einsum("ij,ij->i", P, P))

    def _scaled(self, products: Doubles) -> Doubles:
        # [linear]
        products += HALF**2
        products /= HALF**2 * (1 + length(self.domain))
        return products


def length(domain: Domain) -> int:
    """Return the largest squared length of a point, in units of HALF^2.

    >>> length(Domain.box(0, 1, columns=3))
    3
    """
    # [length]
    return sum((4 if column.missing_level else 1) if isinstance(column, Number | Date)
               else 1 if column.kind == "flag" else 2 for column in domain.columns)


def coordinates(codes: npt.NDArray[np.uint16], domain: Domain) -> Doubles:
    """Records as points of whole numbers: a range is 131,072 long, with 0 in its middle.

    >>> from privsieve.public.columns import Category, Flag
    >>> domain = Domain([Number("age", 0, 110), Flag("smoker"), Category("ward", ["A"])])
    >>> coordinates(np.array([[0, 1, 1]], np.uint16), domain).tolist()
    [[-65535.0, 65536.0, 0.0, 92681.0]]
    """
    parts = [np.empty((len(codes), 0))]
    for j, column in enumerate(domain.columns):
        code = codes[:, j].astype(np.float64)
        if isinstance(column, (Number, Date)):
            # [number] the middle of the grid's cell
            at = 2 * code + 1 - HALF
            if column.missing_level:
                # [absent]
                gone = code == MISSING
                parts.append(np.column_stack([np.where(gone, 0, at), gone * float(ABSENT)]))
            else:
                parts.append(at[:, None])
        elif column.kind == "flag":
            parts.append(((2 * code - 1) * HALF)[:, None])
        else:
            # [category]
            parts.append((code[:, None] == np.arange(column.levels)) * float(LEVEL))
    return np.ascontiguousarray(np.concatenate(parts, axis=1))


def targets(label: npt.NDArray[np.int32], domain: Domain) -> Doubles:
    """Targets between -1 and 1, from the codes of a target that is a number.

    >>> domain = Domain.box(0, 1, columns=1, target=(0, 9))
    >>> targets(np.array([0, 65535], np.int32), domain).round(4).tolist()
    [-1.0, 1.0]
    """
    used = MISSING if target(domain).missing_level else CODES
    at = np.where(label >= used, MIDDLE, label)
    # [target] one rounding, which is monotone: never beyond 1
    return (2.0 * at + 1 - used) / used


def target(domain: Domain) -> Number:
    """Return the target; refuse what is not a number."""
    if not isinstance(domain.target, Number):
        raise DomainError('least squares needs a target that is a number; write [target] with '
                          'kind = "number", low and high, or target=Number(...)')
    return domain.target


@dataclass(frozen=True)
class Rounding:
    """What rounding can do, for every table with K(x, x) <= 1 and targets from -1 to 1.

    solver : how far the computed function is from the exact one, in the kernel's space
    evaluated : how far a computed value of the computed function is from the exact one

    >>> rounding = Rounding.of("0.01", 5000)
    >>> float(rounding.solver) < 1e-6, float(rounding.evaluated) < 1e-9
    (True, True)
    """

    lam: Fraction
    solver: Fraction
    evaluated: Fraction

    @classmethod
    def of(cls, lam: object, m: int) -> Rounding:
        """Return the limits for m records."""
        value = ridge(lam)
        if not 1 <= m <= MOST_RECORDS:
            raise ParameterError(f"the table has {m} records; a session takes 1 to {MOST_RECORDS}, "
                                 "because memory must hold the kernel of all pairs; use "
                                 "PrivateKernelRidge for more")
        # [lost] of the matrix K + m lam: kernel, diagonal, factor and both triangles
        lost = m * ERROR + 9 * m * m * UNIT * (1 + m * value)
        # [solver]
        solver = lost / (m * value) * root_up(1 / value)
        # [evaluated]
        evaluated = 3 * (ERROR + m * UNIT) / value
        return cls(value, rounded_up(solver), rounded_up(evaluated))

    @property
    def longest(self) -> Fraction:
        """A bound of the exact function's length."""
        return longest(self.lam)


# [solve]
def solve(points: Doubles, y: Doubles, kernel: Kernel, lam: float) -> Doubles:
    """Solve (K + m lam) c = y for the coefficients c of f = sum c_i K(x_i, .).

    >>> line = Kernel.of(Domain.box(0, 1, columns=1), "rbf", gamma=0.5)
    >>> solve(np.array([[-65535.0], [65535.0]]), np.array([1.0, 1.0]), line, 0.1).round(4).tolist()
    [0.5535, 0.5535]
    """
    A = kernel.gram(points, points)
    A[np.diag_indices(len(A))] += len(A) * lam
    factor: Doubles = np.linalg.cholesky(A).astype(np.float64, copy=False)
    return backward(factor, forward(factor, y))


def forward(L: Doubles, B: Doubles) -> Doubles:
    """Solve L X = B for a lower triangle, one row at a time.

    >>> forward(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 9.0])).tolist()
    [1.0, 2.0]
    """
    X = B.copy()
    # [forward] sums of products in any order
    for i in range(len(L)):
        X[i] = (X[i] - L[i, :i] @ X[:i]) / L[i, i]
    return X


def backward(L: Doubles, b: Doubles) -> Doubles:
    """Solve L' x = b for a lower triangle.

    >>> backward(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([4.0, 8.0])).tolist()
    [1.0, 2.0]
    """
    x = b.copy()
    # [backward] a row of L at a time, which lies together in memory
    for i in range(len(L) - 1, -1, -1):
        x[i] /= L[i, i]
        x[:i] -= L[i, :i] * x[i]
    return x
# [/solve]


def values(at: Doubles, points: Doubles, c: Doubles, kernel: Kernel) -> Doubles:
    """Evaluate the function at some points.

    >>> line = Kernel.of(Domain.box(0, 1, columns=1), "rbf", gamma=0.5)
    >>> values(np.zeros((1, 1)), np.zeros((1, 1)), np.array([0.5]), line).tolist()
    [0.5]
    """
    # [values]
    return kernel.gram(at, points) @ c


@dataclass(frozen=True, eq=False, repr=False)
class Basis:
    """Kept points, and a lower triangle L with L L' >= K + NUGGET / 2, for certain.

    >>> line = Kernel.of(Domain.box(0, 1, columns=1), "rbf")
    >>> basis, weights = Basis.of(np.array([[0.0], [0.0], [65536.0]]), line)
    >>> len(basis.points), weights.shape
    (2, (3, 2))
    """

    kernel: Kernel
    points: Doubles
    factor: Doubles

    @classmethod
    def of(cls, points: Doubles, kernel: Kernel, price: float = 0.0) -> tuple[Self, Doubles]:
        """Return a basis of points that answers all of them, and the weights of all.

        A point that is much like the kept ones is answered by them: nothing is asked of the rows
        for it.  `price` is the variance that another kept point adds to every answer: points that
        are not worth it are not kept.
        """
        kept, weights = _pivots(points, kernel, price)
        factor, there = np.tril(weights[kept]), points[kept]
        # [residual]
        wanted = kernel.gram(there, there)
        wanted[np.diag_indices(len(kept))] += NUGGET
        wanted -= factor @ factor.T
        # [checked]
        if not certain(float((wanted * wanted).sum()), len(kept)):
            return cls(kernel, points[:0], np.empty((0, 0))), np.zeros((len(points), 0))
        return cls(kernel, there, factor), weights

    @classmethod
    def at(cls, points: Doubles, kernel: Kernel) -> Self:
        """Return the basis of points in the order of their draws; nothing more is drawn on it."""
        whole = kernel.gram(points, points)
        whole[np.diag_indices(len(whole))] += NUGGET
        return cls(kernel, points, np.linalg.cholesky(whole).astype(np.float64))

    def __len__(self) -> int:
        return len(self.factor)

    def weights(self, points: Doubles) -> Doubles:
        """Return a row for each point: its value as weights of the basis' whitened numbers."""
        return forward(self.factor, self.kernel.gram(self.points, points)).T


def _pivots(points: Doubles, kernel: Kernel, price: float) -> tuple[list[int], Doubles]:
    """Choose the points to keep, in order, and return their columns of the factor."""
    left = kernel.diagonal(points)
    factor = np.zeros((len(points), min(MOST_KEPT, len(points))))
    kept: list[int] = []
    open_, unknown = np.ones(len(points), np.bool_), []
    while len(kept) < factor.shape[1]:
        j = int(left.argmax())
        # [threshold]
        if not left[j] > 2 * NUGGET:
            break
        i = len(kept)
        column = kernel.gram(points, points[j:j + 1])[:, 0]
        column -= factor[:, :i] @ factor[j, :i]
        # [nugget]
        pivot = np.sqrt(column[j] + NUGGET)
        column /= pivot
        column[j] = pivot
        left -= column * column
        open_[j], left[j] = False, -np.inf
        column[kept] = 0.0
        factor[:, i] = column
        kept.append(j)
        unknown.append(float(left[open_].sum()) / len(points))
    if price and kept:
        # [worth] the number of dimensions for which noise and ignorance together are least
        best = int(np.argmin(price * np.arange(len(kept)) + unknown)) + 1
        kept = kept[:best]
    return kept, factor[:, :len(kept)]


def certain(off: float, n: int) -> bool:
    """Return whether L L' >= K + NUGGET / 2 for n points, rounding included.

    >>> certain(0.0, MOST_KEPT), certain(1e-18, MOST_KEPT), certain(0.0, 2 * MOST_KEPT)
    (True, False, False)
    """
    # [entry] of what was computed of one entry of the residual; [frobenius] all of them
    entry = 3 * (n + 3) * UNIT + ERROR
    return bool(0 <= off) and 1.01 * off**0.5 + float(n * entry) <= NUGGET / 2  # noqa: SIM300
