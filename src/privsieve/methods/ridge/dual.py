"""Dual: kernel ridge regression solved in doubles, and how far that can be from the exact one.

The limits are of public numbers alone and hold for every table: the solver has no branch, and
looks at nothing to decide whether it is good enough.  See `dual.proof.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privsieve.errors import ParameterError
from privsieve.methods.ridge.gram import ERROR, Doubles, Kernel
from privsieve.methods.ridge.sensitivity import longest, ridge
from privsieve.noise.approximate import root_up, rounded_up

#: Half of the distance from 1 to the next double.
UNIT = Fraction(1, 2**53)
#: A kernel of so many records with each other takes 2 GB.
MOST_RECORDS = 2**14


@dataclass(frozen=True)
class Limits:
    """What rounding can do, for every table with K(x, x) <= 1 and targets from -1 to 1.

    solver : how far the computed function is from the exact one, in the kernel's space
    evaluated : how far a computed value of the computed function is from the exact one

    >>> found = Limits.of("0.01", 5000)
    >>> float(found.solver) < 1e-6, float(found.evaluated) < 1e-9
    (True, True)
    """

    lam: Fraction
    solver: Fraction
    evaluated: Fraction

    @classmethod
    def of(cls, lam: object, m: int) -> Limits:
        """The limits for m records."""
        value = ridge(lam)
        if not 1 <= m <= MOST_RECORDS:
            raise ParameterError(f"the table has {m} records; a session needs 1 to {MOST_RECORDS} "
                                 "(the kernel of all pairs is held in memory): for more, take "
                                 "PrivateKernelRidge, which has finite features")
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
    """The coefficients c of f = sum c_i K(x_i, .), from (K + m lam) c = y.

    >>> from privsieve.public.domain import Domain
    >>> from privsieve.methods.ridge.gram import Kernel
    >>> line = Kernel.of(Domain.box(0, 1, columns=1), "rbf", gamma=0.5)
    >>> solve(np.array([[-65535.0], [65535.0]]), np.array([1.0, 1.0]), line, 0.1).round(4).tolist()
    [0.5535, 0.5535]
    """
    A = kernel.gram(points, points)
    A[np.diag_indices(len(A))] += len(A) * lam
    factor: Doubles = np.linalg.cholesky(A).astype(np.float64, copy=False)
    return backward(factor, forward(factor, y))


def forward(L: Doubles, B: Doubles, done: int = 0) -> Doubles:
    """The solution of L X = B for a lower triangle, a row at a time; `done` rows are solved.

    >>> forward(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 9.0])).tolist()
    [1.0, 2.0]
    """
    X = B.copy()
    # [forward] sums of products in any order
    for i in range(done, len(L)):
        X[i] = (X[i] - L[i, :i] @ X[:i]) / L[i, i]
    return X


def backward(L: Doubles, b: Doubles) -> Doubles:
    """The solution of L' x = b for a lower triangle.

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
    """The function's values at some points.

    >>> from privsieve.public.domain import Domain
    >>> from privsieve.methods.ridge.gram import Kernel
    >>> line = Kernel.of(Domain.box(0, 1, columns=1), "rbf", gamma=0.5)
    >>> values(np.zeros((1, 1)), np.zeros((1, 1)), np.array([0.5]), line).tolist()
    [0.5]
    """
    # [values]
    return kernel.gram(at, points) @ c
