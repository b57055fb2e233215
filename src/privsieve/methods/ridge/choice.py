"""Choice: which epsilon and lam, and what error to expect, all from public numbers.

Nie and Wang 2017 bound the error of a private prediction and balance the bound: `suggest`.  Its
terms are far from what is measured, so `suggest_lambda` balances the two that matter: the noise
that is really added, and what the ridge takes away.  r and G are assumptions about the truth
f*: f* = L^r g with |g|^2 = G, where L averages the kernel over the points.  They are public
guesses; no function here sees a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import expm1, sqrt
from typing import NamedTuple

from privsieve.errors import ParameterError
from privsieve.methods.ridge.sensitivity import LARGEST_LAM, SMALLEST_LAM, of_predictions
from privsieve.public.canonical import exact

#: Up to here exp(epsilon) - 1 <= 2 epsilon, by which the paper's bounds are derived.
LARGEST_EPSILON = 1.25
#: The public grid on which a lam is looked for: so many in each power of ten, three digits each.
PER_DECADE = 24


class EpsilonChoice(NamedTuple):
    """An epsilon and a lam, of nine decimals at most: as they are read elsewhere."""

    epsilon: float
    lam: float


def suggest(m: int, r: float, epsilon: object = None) -> EpsilonChoice:
    """The rule of Theorem 3 for m records; of Theorem 2 where epsilon is given.

    The first lets epsilon fall with m as slowly as its bound allows: it is a small epsilon, and a
    lam that suits it.  Both are for a prediction at one point.

    >>> suggest(10_000, 0.5)
    EpsilonChoice(epsilon=0.046415888, lam=0.046415889)
    >>> suggest(10_000, 0.5, epsilon=1)
    EpsilonChoice(epsilon=1.0, lam=0.01)
    """
    _check(m, r)
    if epsilon is None:
        chosen = round(m ** -min(1 / 3, 4 * r / (3 + 6 * r)), 9)
        strength = m * chosen
    else:
        chosen, strength = float(exact(epsilon, "epsilon")), float(m)
    return EpsilonChoice(chosen, round(strength ** (-2 / min(4, 3 + 2 * r)), 9))


def suggest_lambda(m: int, epsilon: object, G: float = 1.0, *, kappa: object = 1,
                   M: object = 1) -> float:
    """The lam of least `expected_error`, of a public grid.

    >>> suggest_lambda(10_000, 1), suggest_lambda(1000, "0.1")
    (0.0178, 0.215)
    """
    grid = (float(f"{10 ** (step / PER_DECADE):.3g}")
            for step in range(-6 * PER_DECADE, 6 * PER_DECADE + 1))
    return min((lam for lam in grid if SMALLEST_LAM <= exact(lam, "lam") <= LARGEST_LAM),
               key=lambda lam: expected_error(m, epsilon, lam, G, kappa=kappa, M=M))


def expected_error(m: int, epsilon: object, lam: object, G: float = 1.0, *, kappa: object = 1,
                   M: object = 1) -> float:
    """Squared error of one private prediction to expect: noise, and what the ridge takes away.

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


class Point(NamedTuple):
    """A point of a curve: what an epsilon buys."""

    epsilon: float
    lam: float
    error: float


def error_curve(m: int, epsilons: Sequence[object], G: float = 1.0, *,
                kappa: object = 1, M: object = 1) -> list[Point]:
    """For each epsilon the best lam and the error to expect.

    >>> [(point.epsilon, round(point.error, 3)) for point in error_curve(10_000, ["0.1", 1])]
    [(0.1, 0.081), (1.0, 0.023)]
    """
    found = []
    for epsilon in epsilons:
        lam = suggest_lambda(m, epsilon, G, kappa=kappa, M=M)
        error = expected_error(m, epsilon, lam, G, kappa=kappa, M=M)
        found.append(Point(float(exact(epsilon, "epsilon")), lam, error))
    return found


def error_bound(m: int, epsilon: float, lam: float, r: float, G: float = 1.0,  # noqa: PLR0917
                sizes: tuple[float, float] = (1.0, 1.0)) -> float:
    """The bound of Theorem 3 on a private prediction's expected excess squared error.

    `sizes` are kappa and M: bounds of the kernel's root and of the target.
    It holds for the noise of the paper and for ours, which is less.  The paper's sample term,
    8 sqrt(2 pi) M^2 / sqrt(m), is left out: its expectation is 0, for the function that it is about
    does not depend on the rows.  Above M^2 it says nothing that zero does not.

    >>> round(error_bound(10**6, 0.01, 0.01, 0.5), 2)
    1.08
    """
    noise, ridge = _terms(m, epsilon, lam, r, (G, *sizes))
    # [theorem-3]
    return 8 * sizes[1] ** 2 * epsilon + noise + ridge


def fixed_epsilon_bound(m: int, epsilon: float, lam: float, r: float,  # noqa: PLR0917
                        G: float = 1.0, sizes: tuple[float, float] = (1.0, 1.0)) -> float:
    """The bound of Theorem 2: expected error above (1 + 2 epsilon) times that of the truth.

    The factor 1 + 2 epsilon of the last term is lost in print, and kept here.

    >>> round(fixed_epsilon_bound(10**6, 1.0, 0.001, 0.5), 3)
    0.108
    """
    noise, ridge = _terms(m, epsilon, lam, r, (G, *sizes))
    # [theorem-2]
    return noise + (1 + 2 * epsilon) * ridge


def generalisation_gap(epsilon: object, G: float = 1.0) -> float:
    """Theorem 1: how far an epsilon-private choice's mean on its rows can be from that on others.

    G bounds the expected value of what is averaged, which is never negative.  The paper has
    2 G epsilon, for epsilon below 1; this is the number before it was rounded up.

    >>> round(generalisation_gap("0.1"), 4)
    0.1052
    """
    value = exact(epsilon, "epsilon")
    if value < 0 or not G >= 0:
        raise ParameterError(f"epsilon is {epsilon} and G is {G}; neither may be negative")
    return expm1(float(value)) * G


def _terms(m: int, epsilon: float, lam: float, r: float, sizes: tuple[float, float, float],
           ) -> tuple[float, float]:
    """Noise three times, and approximation: what both bounds have."""
    G, kappa, M = sizes
    _check(m, r)
    if not (0 < epsilon <= LARGEST_EPSILON and 0 < lam <= 1 and G > 0 and kappa > 0 and M > 0):
        raise ParameterError(f"epsilon is {epsilon}, lam is {lam}, G is {G}, kappa is {kappa} and "
                             f"M is {M}; the bound is derived for epsilon up to {LARGEST_EPSILON} "
                             "and lam up to 1, all above 0")
    longest = M / sqrt(lam)
    noise = 24 * (longest * kappa**2 * (kappa + 1) / (lam * m * epsilon)) ** 2
    return noise, lam ** min(1, 2 * r) * (kappa ** (4 * r - 2) + kappa ** (4 * r - 4) + 2) * G


def _check(m: int, r: float) -> None:
    if m < 1 or not r > 0:
        raise ParameterError(f"m is {m} and r is {r}; give at least one record, and r above 0: how "
                             "smooth the truth is (0.5: it lies in the kernel's space)")
