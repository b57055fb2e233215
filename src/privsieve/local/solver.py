"""Solver: the minimiser of (1/N) sum log(1 + exp(-w.z)) + lam |w|^2, with a certificate.

Newton's method, in the form that the table's shape makes cheapest: d x d systems, n x n systems,
or products with the table alone.  None of them promises anything: where the certificate does not
accept what they return, enough steps of gradient descent follow to be near for every table with
rows up to length 1 (`limits.proof.md`).  Any table has an answer; only a wrong `lam` or a wrong
shape is refused.  Each row's margin w.z may start from a number of its own: so a linear
term is solved (`methods/objective_fwell`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from privsieve.errors import ParameterError
from privsieve.local.limits import ENOUGH, allowance, ridge, step, steps

Doubles = NDArray[np.float64]

#: A d x d system is cheap up to NARROW columns, an n x n one up to SHORT rows.  If the ridge is
#: above the share STRONG of the rows' squared length, few products with the table suffice.
NARROW, SHORT, STRONG = 250, 250, 0.005
#: Rows that are longer than 1 for certain, whatever rounding did to their length.
LONGER = 1.000001
#: Rounds of Newton's method, of halving a step, and products in one round of conjugate gradients.
ROUNDS, HALVINGS, PRODUCTS = 100, 40, 500
#: Rows that are weighed and multiplied at a time: they stay in the cache.
BLOCK = 1 << 18
#: Where a gradient fell by this factor, the old second derivatives are good enough to keep.
KEEP = 0.1
#: The first guess uses about this many rows for each column.
GUESS = 64


@dataclass(frozen=True, repr=False)
class Minimum:
    """A point, and a bound of the exact gradient's norm there, rounding included.

    |w - w*| <= gradient / (2 lam).
    """

    w: Doubles
    gradient: float


def minimise(Z: Doubles, lam: float | Fraction, start: Doubles | None = None) -> Minimum:
    """Return the minimiser over the rows of Z.  Values that are not finite count as 0.

    `start` holds finite numbers that are added to the rows' margins.

    >>> minimum = minimise(np.array([[1, 0], [0, 1], [-0.6, 0.8]]), 0.1)
    >>> minimum.w.round(6).tolist(), minimum.gradient < 1e-9
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
        minimum, enough = certificate(Z, lam, w, length, start)
        # [accept]
        if enough:
            return minimum
        # [descend]
        far = descend(Z, lam, steps(lam), length, start)
        last, _ = certificate(Z, lam, far, length, start)
    # [longer] nothing was promised for such rows: the better one
    return minimum if length > LONGER and minimum.gradient < last.gradient else last


def cleaned(Z: Doubles) -> Doubles:
    """Return the rows as doubles, with 0 for values that are not finite.

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
    """Return the length of the longest row, and at least 1.

    >>> longest(np.array([[3.0, 4.0], [0.0, 0.0]]))
    5.0
    """
    return sqrt(max(1.0, float(np.einsum("ij,ij->i", Z, Z).max(initial=0.0))))


def certificate(
    Z: Doubles, lam: float, w: Doubles, length: float, start: Doubles | None = None
) -> tuple[Minimum, bool]:
    """Return a point's certificate, and whether the computed gradient is small enough."""
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
    """Return the gradient at w.

    >>> gradient(np.array([[1.0, 0.0]]), 0.5, np.zeros(2)).tolist()
    [-0.5, 0.0]
    """
    return 2 * lam * w - Z.T @ slopes(margins(Z, w, start)) / max(1, len(Z))


def descend(
    Z: Doubles, lam: float, count: int, length: float = 1.0, start: Doubles | None = None
) -> Doubles:
    """Make `count` full steps of gradient descent from 0.

    >>> descend(np.array([[1, 0], [0, 1], [-0.6, 0.8]]), 0.1, 1).round(6).tolist()
    [0.205128, 0.923077]
    """
    w = np.zeros(Z.shape[1])
    size = step(lam, length)
    # [constant-step]
    for _ in range(count if size > 0 else 0):
        w = w - size * gradient(Z, lam, w, start)
    return w


def slopes(t: Doubles) -> Doubles:
    """1 / (1 + exp(t)): how steeply log(1 + exp(-t)) falls.

    >>> slopes(np.array([0.0, 800.0])).tolist()
    [0.5, 0.0]
    """
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(t)))


def margins(Z: Doubles, w: Doubles, start: Doubles | None) -> Doubles:
    """Return w.z of each row, plus its starting value.

    >>> margins(np.eye(2), np.array([1.0, 2.0]), np.array([10.0, 20.0])).tolist()
    [11.0, 22.0]
    """
    return Z @ w if start is None else Z @ w + start


def cholesky(Z: Doubles, lam: float, enough: float, start: Doubles | None = None) -> Doubles:
    """Solve d x d systems of second derivatives, kept while they serve.

    Each form of Newton's method stops where the computed gradient is at most `enough`, or after a
    public number of rounds.

    >>> cholesky(np.array([[1.0, 0.0]]), 1.0, 1e-12).round(6).tolist()
    [0.222323, 0.0]
    """
    n, d = Z.shape
    stride = n // (GUESS * max(1, d))
    w = np.zeros(d)
    if stride > 3:
        few = None if start is None else start[::stride]
        w = cholesky(np.ascontiguousarray(Z[::stride]), lam, 1e-3, few)
    t = margins(Z, w, start)
    inverse, before = None, 0.0
    for _ in range(ROUNDS):
        s = slopes(t)
        at = 2 * lam * w - s @ Z / max(1, n)
        size = sqrt(float(at @ at))
        if not size > enough:
            break
        if inverse is None or size > KEEP * before:
            factor = np.linalg.inv(np.linalg.cholesky(_second(Z, lam, s * (1 - s))))
            inverse = factor.T @ factor
        before = size
        p = -(inverse @ at)
        q = Z @ p
        by = damped((t, q), s, (lam * 2 * float(w @ p), lam * 2 * float(p @ p)))
        w, t = w + by * p, t + by * q
    return w


def _second(Z: Doubles, lam: float, bends: Doubles) -> Doubles:
    """Return the matrix of second derivatives."""
    n, d = Z.shape
    second = 2 * lam * np.eye(d)
    roots = np.sqrt(bends / max(1, n))
    size = max(1, BLOCK // max(1, d))
    for i in range(0, n, size):
        weighed = roots[i : i + size, None] * Z[i : i + size]
        second += weighed.T @ weighed
    return second


def dual(Z: Doubles, lam: float, enough: float, start: Doubles | None = None) -> Doubles:
    """Solve n x n systems: w = Z' a; the table is used only for products of its rows.

    >>> dual(np.array([[1.0, 0.0]]), 1.0, 1e-12).round(6).tolist()
    [0.222323, 0.0]
    """
    n = len(Z)
    products = Z @ Z.T
    a, t = np.zeros(n), np.zeros(n) if start is None else start
    for _ in range(ROUNDS):
        s = slopes(t)
        at = 2 * lam * a - s / max(1, n)
        moved = products @ at
        # |Z' at|, which is the gradient
        if not sqrt(max(0.0, float(at @ moved))) > enough:
            break
        bends = s * (1 - s)
        system = bends[:, None] * products
        system.flat[:: n + 1] += 2 * lam * n
        p = np.linalg.solve(system, bends * (t if start is None else t - start) + s) - a
        q = products @ p
        by = damped((t, q), s, (2 * lam * float(a @ q), 2 * lam * float(p @ q)))
        a, t = a + by * p, t + by * q
    return np.asarray(a @ Z)


def conjugate(Z: Doubles, lam: float, enough: float, start: Doubles | None = None) -> Doubles:
    """Solve each round's system by conjugate gradients, with products with the table alone.

    >>> conjugate(np.array([[1.0, 0.0]]), 1.0, 1e-12).round(6).tolist()
    [0.222323, 0.0]
    """
    n, d = Z.shape
    w, t = np.zeros(d), np.zeros(n) if start is None else start
    first = 0.0
    for _ in range(ROUNDS):
        s = slopes(t)
        at = 2 * lam * w - s @ Z / max(1, n)
        size = sqrt(float(at @ at))
        if not size > enough:
            break
        first = first or size
        share = min(0.1, sqrt(size / first))
        p, q = _conjugate(Z, lam, s * (1 - s) / max(1, n), at, max(share * size, 0.3 * enough))
        by = damped((t, q), s, (2 * lam * float(w @ p), 2 * lam * float(p @ p)))
        w, t = w + by * p, t + by * q
    return w


def _conjugate(
    Z: Doubles, lam: float, bends: Doubles, at: Doubles, enough: float
) -> tuple[Doubles, Doubles]:
    """Return a step p near -H^-1 at, and Z p, until the rest is at most `enough`."""
    p, q = np.zeros_like(at), np.zeros(len(Z))
    rest = -at
    way, long = rest, float(rest @ rest)
    for _ in range(PRODUCTS):
        along, curved = _bent(Z, bends, way)
        curved += 2 * lam * way
        by = long / float(way @ curved)
        p, q, rest = p + by * way, q + by * along, rest - by * curved
        longer = float(rest @ rest)
        if not sqrt(longer) > enough:
            break
        way, long = rest + longer / long * way, longer
    return p, q


def _bent(Z: Doubles, bends: Doubles, way: Doubles) -> tuple[Doubles, Doubles]:
    """Z way and Z' (bends Z way), some rows at a time, so that each is fetched once."""
    n, d = Z.shape
    along, curved = np.empty(n), np.zeros(d)
    size = max(1, BLOCK // max(1, d))
    for i in range(0, n, size):
        products = np.matmul(Z[i : i + size], way, out=along[i : i + size])
        curved += (bends[i : i + size] * products) @ Z[i : i + size]
    return along, curved


def damped(line: tuple[Doubles, Doubles], s: Doubles, ridge: tuple[float, float]) -> float:
    """Return how far to go along a line: halve until the slope is no steeper than half.

    `line` is t and q of the margins t + x q; `ridge` is u and v of the ridge's slope u + x v.

    >>> damped((np.zeros(1), np.ones(1)), np.full(1, 0.5), (0.0, 2.0))
    0.25
    """
    t, q = line
    n = max(1, len(t))
    start = ridge[0] - float(s @ q) / n
    by = 1.0
    for _ in range(HALVINGS):
        slope = ridge[0] + by * ridge[1] - float(slopes(t + by * q) @ q) / n
        if slope <= -0.5 * start or not slope > 0:
            break
        by /= 2
    return by
