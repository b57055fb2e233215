"""Solver: the minimiser of (1/N) sum log(1 + exp(-w.z)) + lam |w|^2, with a certificate.

Newton's method, in the form that the table's shape makes cheapest; for what it cannot solve, so
many steps of gradient descent that the answer is near for every table with rows up to length 1
(`limits.proof.md`).  Any table has an answer; only a wrong `lam` or a wrong shape is refused.
Each row's margin w.z may start from a number of its own: so a linear term is solved (`objective`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from privsieve.errors import ParameterError
from privsieve.local.limits import ENOUGH, allowance, ridge, step, steps
from privsieve.local.newton import cholesky, conjugate, dual, margins, slopes

Doubles = NDArray[np.float64]

#: Up to so many columns a d x d system is cheap; up to so many rows, an n x n one.  Where the ridge
#: is above this share of the rows' squared length, few products with the table do.
NARROW, SHORT, STRONG = 250, 250, 0.005
#: Rows that are longer than 1 for certain, whatever rounding did to their length.
LONGER = 1.000001


@dataclass(frozen=True, repr=False)
class Minimum:
    """A point, and a bound of the exact gradient's norm there, rounding included.

    |w - w*| <= gradient / (2 lam).
    """

    w: Doubles
    gradient: float


def minimise(Z: Doubles, lam: float | Fraction, start: Doubles | None = None) -> Minimum:
    """The minimiser over the rows of Z.  What is not finite counts as 0.

    `start` holds finite numbers that are added to the rows' margins.

    >>> found = minimise(np.array([[1, 0], [0, 1], [-0.6, 0.8]]), 0.1)
    >>> found.w.round(6).tolist(), found.gradient < 1e-9
    ([0.332533, 0.949614], True)
    """
    lam = float(ridge(lam))
    Z = cleaned(Z)
    n, d = Z.shape
    with np.errstate(all="ignore"):
        length = longest(Z)
        enough = ENOUGH / 2
        try:
            # [form] by what is cheapest; none of them promises anything
            if lam >= STRONG * length * length:
                w = conjugate(Z, lam, enough, start)
            elif n < d and n <= SHORT:
                w = dual(Z, lam, enough, start)
            elif d <= NARROW:
                w = cholesky(Z, lam, enough, start)
            else:
                w = conjugate(Z, lam, enough, start)
        except np.linalg.LinAlgError:
            w = np.zeros(d)
        found, enough = certificate(Z, lam, w, length, start)
        # [accept]
        if enough:
            return found
        # [descend]
        far = descend(Z, lam, steps(lam), length, start)
        last, _ = certificate(Z, lam, far, length, start)
    # [longer] nothing was promised for such rows: the better one
    return found if length > LONGER and found.gradient < last.gradient else last


def cleaned(Z: Doubles) -> Doubles:
    """The rows as doubles, with 0 for what is not finite.

    >>> cleaned(np.array([[np.nan, 1.0]])).tolist()
    [[0.0, 1.0]]
    """
    Z = np.ascontiguousarray(Z, dtype=np.float64)
    if Z.ndim != 2:
        raise ParameterError(f"Z has {Z.ndim} dimensions; give a row for each vector")
    with np.errstate(all="ignore"):
        if not np.isfinite(np.vdot(Z, Z)):  # one product is faster than a sum
            Z = np.where(np.isfinite(Z), Z, 0.0)
    return Z


def longest(Z: Doubles) -> float:
    """The length of the longest row, and at least 1.

    >>> longest(np.array([[3.0, 4.0], [0.0, 0.0]]))
    5.0
    """
    return sqrt(max(1.0, float(np.einsum("ij,ij->i", Z, Z).max(initial=0.0))))


def certificate(
    Z: Doubles, lam: float, w: Doubles, length: float, start: Doubles | None = None
) -> tuple[Minimum, bool]:
    """The certificate of a point, and whether the computed gradient there is small enough."""
    # [gradient]
    at = gradient(Z, lam, w, start)
    size = sqrt(float(at @ at))
    # [bound]
    lost = allowance(len(Z), Z.shape[1], lam, length, sqrt(float(w @ w)))
    bound = 1.000001 * size + lost
    # [finite] at a point so far out that its length is infinite, nothing is proved
    enough = size <= max(ENOUGH, 4 * lost) < float("inf")
    return Minimum(w, bound if bound >= 0 else float("inf")), enough


def gradient(Z: Doubles, lam: float, w: Doubles, start: Doubles | None = None) -> Doubles:
    """The gradient at w.

    >>> gradient(np.array([[1.0, 0.0]]), 0.5, np.zeros(2)).tolist()
    [-0.5, 0.0]
    """
    return 2 * lam * w - Z.T @ slopes(margins(Z, w, start)) / max(1, len(Z))


def descend(
    Z: Doubles, lam: float, count: int, length: float = 1.0, start: Doubles | None = None
) -> Doubles:
    """So many full steps of gradient descent from 0.

    >>> descend(np.array([[1, 0], [0, 1], [-0.6, 0.8]]), 0.1, 1).round(6).tolist()
    [0.205128, 0.923077]
    """
    w = np.zeros(Z.shape[1])
    size = step(lam, length)
    # [constant-step]
    for _ in range(count if size > 0 else 0):
        w = w - size * gradient(Z, lam, w, start)
    return w
