"""Limits: the errors of the solver that public numbers bound for every table.

The problem is to minimise (1/N) sum log(1 + exp(-w.z)) + lam |w|^2 over the rows z.  The solver
accepts a point where the gradient is small, or makes enough steps of gradient descent to be
near for any table; both in doubles, whose rounding is counted here.  The theorem is in
`limits.proof.md`.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, log

from privsieve.errors import ParameterError
from privsieve.public.canonical import exact

#: The ridge that is allowed: below it, rounding is no longer small beside it.
SMALLEST_LAM, LARGEST_LAM = Fraction(1, 10**6), Fraction(10**6)
#: A computed gradient that is accepted, and the part of w* that descent leaves.
ENOUGH = NEAR = 1e-10


def ridge(lam: object) -> Fraction:
    """Read a lam as an exact fraction; refuse one outside of the limits.

    >>> ridge(0.1)
    Fraction(1, 10)
    """
    value = exact(lam, "lam")
    if not SMALLEST_LAM <= value <= LARGEST_LAM:
        raise ParameterError(
            f"lam is {lam}; it must be between 1e-6 and 1e6, because rounding is too large "
            "below.  lam=0.1 suits rows of length up to 1"
        )
    return value


def step(lam: float, length: float = 1.0) -> float:
    """Return the step of gradient descent for rows up to this length.

    >>> round(step(0.1), 6)
    3.076923
    """
    # [step] 2 / (L + mu), with L = length^2 / 4 + 2 lam and mu = 2 lam
    return 2 / (length * length / 4 + 4 * lam)


def steps(lam: float) -> int:
    """Count the steps that bring any table with rows up to length 1 near its minimiser.

    >>> steps(0.1), steps(0.01)
    (38, 167)
    """
    # [steps]
    return ceil(log(1 / NEAR) / (2 * lam * step(lam)))


def allowance(rows: int, columns: int, lam: float, length: float, norm: float) -> float:
    """Bound how far rounding moves a gradient at a w of this norm, for any order of sums.

    >>> allowance(1000, 30, 0.1, 1.0, 1.0) < 3e-13
    True
    """
    # [allowance] 2^-52 is twice the unit of rounding
    return 2.0**-52 * (
        length * (rows + 24) + (columns + 8) * (length * length + 16 * lam) / 4 * norm
    )


def distance(lam: Fraction, rows: int, columns: int, radius: Fraction) -> Fraction:
    """Bound the distance of `minimise` from the minimiser, for every table of short rows.

    `radius` bounds |w*|: `constants.r_max(lam)`, where margins start from 0.

    >>> float(distance(Fraction(1, 10), 1000, 30, Fraction(2))) < 1e-9
    True
    """
    # [public-allowance]
    lost = Fraction(allowance(rows, columns, float(lam), 1.0, float(2 * radius + 2)))
    # [accepted]
    gradient = Fraction(11, 10**11) + 6 * lost
    if gradient > 2 * lam:
        raise ParameterError(
            f"{rows} rows of {columns} columns are too many for lam = {float(lam)}: the rounding "
            "error of their sum is too large; choose a larger lam"
        )
    # [descended]
    descended = Fraction(11, 10**11) * radius + lost / (2 * lam)
    return max(gradient / (2 * lam), descended)
