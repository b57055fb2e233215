"""Objective: a problem with a random linear term, and how near its answer is whatever the term.

J(w) = (1/N) sum log(1 + exp(-w.z)) + lam |w|^2 + b.w / N + D |w|^2 / 2 is, with mu = 2 lam + D,
c = b / (N mu) and v = w + c, the plain problem in v with the ridge mu / 2 and margins v.z - c.z.
Its minimiser is short for every b: so one public bound serves for all.  See `objective.proof.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING

from privsieve.errors import ParameterError
from privsieve.local.constants import objective
from privsieve.local.limits import LARGEST_LAM, distance, ridge

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from privsieve.local.solver import Doubles

#: Rows are cut off to multiples of 2^-30, so that their products with b are whole numbers.
PLACES = 30
#: b is read in digits below this, so that a sum of products fits 63 bits.
DIGIT = 2**20
#: Rounding b adds at most 2^-16 to the distance.
FINENESS = 16


@dataclass(frozen=True)
class Problem:
    """The public numbers of one problem.

    rows : of how many vectors a unit decides one; there are as many for each of the partitions
    epsilon : b has density ~ exp(-epsilon |b| / 2)
    ridge : mu / 2, with what the change of volume needs
    exponent : b is rounded to multiples of 2^exponent
    away : `solve` is at most so far from the minimiser for the b that was not rounded

    >>> found = Problem.of("0.1", 66, 30, Fraction(99, 100))
    >>> round(float(found.epsilon), 6), found.ridge, float(found.away) < 1e-9
    (0.971238, Fraction(1, 10), True)
    """

    rows: int
    columns: int
    epsilon: Fraction
    ridge: Fraction
    exponent: int
    away: Fraction

    @classmethod
    def of(cls, lam: object, rows: int, columns: int, epsilon: Fraction, *,
           partitions: int = 1) -> Problem:
        """The problem whose exact minimiser is epsilon-DP."""
        noise, second = objective(lam, rows, epsilon, partitions=partitions)
        half = ridge(lam) + second / 2
        if half > LARGEST_LAM:
            raise ParameterError(f"epsilon is {float(epsilon):.3g} with {rows} vectors: they would "
                                 f"need a ridge above {LARGEST_LAM}; take more, or a larger "
                                 "epsilon")
        # [radius]
        near = distance(half, rows * partitions, columns, 1 / (2 * half))
        per = (isqrt(columns) + 1) / (4 * rows * half)
        # [exponent] from public numbers alone
        k = _log2(near / per) - FINENESS
        # [away]
        return cls(rows, columns, noise, half, k, near + per * Fraction(2) ** k)

    @property
    def shift(self) -> Fraction:
        """What one step of b moves c by."""
        return Fraction(2) ** self.exponent / (2 * self.rows * self.ridge)


def solve(Z: Doubles, b: Sequence[int], problem: Problem) -> list[Fraction]:
    """A point near the minimiser for rows up to length 1 and the linear term b, in steps.

    Z holds the rows of all partitions.

    >>> import numpy as np
    >>> at = solve(np.array([[1.0, 0.0]]), [0, 0], Problem.of(1, 1, 2, Fraction(5)))
    >>> [round(float(x), 6) for x in at]
    [0.222323, 0.0]
    """
    import numpy as np

    from privsieve.local.solver import minimise

    # [cut]
    whole = np.trunc(Z * 2.0**PLACES).astype(np.int64)
    unit = problem.shift / 2**PLACES
    # [start] the double that is nearest to the quotient
    start = np.array([-x * unit.numerator / unit.denominator for x in products(whole, b)],
                     np.float64)
    v = minimise(whole / 2.0**PLACES, problem.ridge, start).w
    # [back] exact
    return [Fraction(at) - problem.shift * step for at, step in zip(v.tolist(), b, strict=True)]


def products(whole: NDArray[np.int64], b: Sequence[int]) -> list[int]:
    """The products of rows, of whole numbers and up to 2^30 long, with b: exactly.

    >>> import numpy as np
    >>> products(np.array([[3, -4], [0, 1]]), [2**70 + 1, 2**70])
    [-1180591620717411303421, 1180591620717411303424]
    """
    import numpy as np

    total, place, rest = np.zeros(len(whole), object), 1, list(b)
    while any(rest):
        digits = [x % DIGIT if x > 0 else -(-x % DIGIT) for x in rest]
        # [along] |row| |digits| <= 2^30 2^20 sqrt(d)
        total += place * (whole @ np.array(digits, np.int64)).astype(object)
        rest = [(x - digit) // DIGIT for x, digit in zip(rest, digits, strict=True)]
        place *= DIGIT
    found: list[int] = total.tolist()
    return found


def _log2(value: Fraction) -> int:
    """A power of two that is at most the value, and more than a quarter of it."""
    return value.numerator.bit_length() - value.denominator.bit_length() - 1
