"""Sensitivity: the largest effect of one record on a kernel ridge regression, from public numbers.

The function f that minimises (1/m) sum (f(x_i) - y_i)^2 + lam |f|^2 over the space of a kernel, for
m records with |y_i| <= M and K(x, x) <= kappa^2 at every point, also where f is asked.  All
numbers are exact fractions, rounded so that the bounds hold.  See `sensitivity.proof.md`.

`suggest_lambda` balances what matters: the noise that is added, and what the ridge takes away.
"""

from __future__ import annotations

from fractions import Fraction

from privsieve.errors import ParameterError
from privsieve.noise.approximate import root_up, rounded_up
from privsieve.public.canonical import exact

#: The ridge that is allowed: below it rounding is not small, and above it nothing is learned.
SMALLEST_LAM, LARGEST_LAM = Fraction(1, 10**6), Fraction(10**6)
#: Candidates for lam in each power of ten of the public grid; each has three digits.
PER_DECADE = 24


def sensitivity(lam: object, m: int, kappa: object = 1, M: object = 1) -> Fraction:
    """Bound how far replacing one record moves f, in the norm of the kernel's space.

    Columns and target of the record may change; m is the number of records.

    >>> round(float(sensitivity("0.1", 10_000)), 6), float(sensitivity("0.01", 10_000))
    (0.005162, 0.12)
    """
    value, kernel, target = _public(lam, m, kappa, M)
    # [one-record] |(A + lam)^-1 K_x| / (1 + h)
    shrunk = min(kernel / value, root_up(m / value) / 2)
    # [residual] |y - f-(x)|
    residual = target + kernel * longest(value, target)
    return rounded_up(2 * shrunk * residual / m)


def of_predictions(lam: object, m: int, kappa: object = 1, M: object = 1) -> Fraction:
    """Bound how far replacing one record moves one prediction clipped to [-M, M].

    >>> round(float(of_predictions("0.1", 10_000)), 6), of_predictions("0.0001", 10)
    (0.005162, Fraction(2, 1))
    """
    _, kernel, target = _public(lam, m, kappa, M)
    # [prediction]
    return min(2 * target, kernel * sensitivity(lam, m, kappa, M))


def longest(lam: object, M: object = 1) -> Fraction:
    """Bound the length of f in the norm of the kernel's space, for every table; rounded up.

    >>> float(longest("0.01"))
    5.0
    """
    # [longest]
    return exact(M, "M") * root_up(1 / ridge(lam)) / 2


def ridge(lam: object) -> Fraction:
    """Read a lam as an exact fraction; refuse one outside of the limits.

    >>> ridge(0.1)
    Fraction(1, 10)
    """
    value = exact(lam, "lam")
    if not SMALLEST_LAM <= value <= LARGEST_LAM:
        raise ParameterError(f"lam is {lam}; it must be between 1e-6 and 1e6.  "
                             "`suggest_lambda` computes one from public numbers")
    return value


def suggest_lambda(m: int, epsilon: object, G: float = 1.0, *, kappa: object = 1,
                   M: object = 1) -> float:
    """Return the lam of least `expected_error` on a public grid.

    >>> suggest_lambda(10_000, 1), suggest_lambda(1000, "0.1")
    (0.0178, 0.215)
    """
    grid = (float(f"{10 ** (step / PER_DECADE):.3g}")
            for step in range(-6 * PER_DECADE, 6 * PER_DECADE + 1))
    return min((lam for lam in grid if SMALLEST_LAM <= exact(lam, "lam") <= LARGEST_LAM),
               key=lambda lam: expected_error(m, epsilon, lam, G, kappa=kappa, M=M))


def expected_error(m: int, epsilon: object, lam: object, G: float = 1.0, *, kappa: object = 1,
                   M: object = 1) -> float:
    """Return the expected squared error of one private prediction: noise and loss by the ridge.

    The first term is exact; the second is of the truth's G, and is what a ridge of lam can lose.

    >>> round(expected_error(10_000, 1, 0.01), 4)
    0.0388
    """
    value = exact(epsilon, "epsilon")
    if not value or not G > 0:
        raise ParameterError(f"epsilon is {epsilon} and G is {G}; both must be above 0")
    # [noise] twice the squared scale of Laplace noise
    scale = float(of_predictions(lam, m, kappa, M) / value)
    return 2 * scale**2 + float(exact(lam, "lam")) * G


def _public(lam: object, m: int, kappa: object, M: object) -> tuple[Fraction, Fraction, Fraction]:
    kernel, target = exact(kappa, "kappa"), exact(M, "M")
    if m < 1 or kernel <= 0 or target <= 0:
        raise ParameterError(f"m is {m}, kappa is {kappa} and M is {M}; give at least one record, "
                             "and bounds of the kernel and of the target above 0")
    return ridge(lam), kernel, target
