"""Newton's method in three forms: d x d systems, n x n systems, and products with the table alone.

None of them promises anything: `solver` certifies what they return.  Each stops where the computed
gradient is at most `enough`, or after a public number of rounds.  `start` holds the margins at
w = 0, where they are not 0.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

#: Rounds of Newton's method, of halving a step, and products in one round of conjugate gradients.
ROUNDS, HALVINGS, PRODUCTS = 100, 40, 500
#: Rows that are weighed and multiplied at a time: they stay in the cache.
BLOCK = 1 << 18
#: Where a gradient fell by this factor, the old second derivatives are good enough to keep.
KEEP = 0.1
#: A first guess is taken from about so many rows for each column.
GUESS = 64


def slopes(t: Doubles) -> Doubles:
    """1 / (1 + exp(t)): how steeply log(1 + exp(-t)) falls.

    >>> slopes(np.array([0.0, 800.0])).tolist()
    [0.5, 0.0]
    """
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(t)))


def margins(Z: Doubles, w: Doubles, start: Doubles | None) -> Doubles:
    """w.z of each row, and what it starts from.

    >>> margins(np.eye(2), np.array([1.0, 2.0]), np.array([10.0, 20.0])).tolist()
    [11.0, 22.0]
    """
    return Z @ w if start is None else Z @ w + start


def cholesky(Z: Doubles, lam: float, enough: float, start: Doubles | None = None) -> Doubles:
    """By d x d systems of second derivatives, kept while they serve.

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
            inverse = _inverse(_second(Z, lam, s * (1 - s)))
        before = size
        p = -(inverse @ at)
        q = Z @ p
        by = damped((t, q), s, (lam * 2 * float(w @ p), lam * 2 * float(p @ p)))
        w, t = w + by * p, t + by * q
    return w


def _inverse(second: Doubles) -> Doubles:
    """The inverse of a positive matrix from its Cholesky factor."""
    factor = np.linalg.inv(np.linalg.cholesky(second))
    return np.asarray(factor.T @ factor)


def _second(Z: Doubles, lam: float, bends: Doubles) -> Doubles:
    """The matrix of second derivatives."""
    n, d = Z.shape
    second = 2 * lam * np.eye(d)
    roots = np.sqrt(bends / max(1, n))
    size = max(1, BLOCK // max(1, d))
    for i in range(0, n, size):
        weighed = roots[i : i + size, None] * Z[i : i + size]
        second += weighed.T @ weighed
    return second


def dual(Z: Doubles, lam: float, enough: float, start: Doubles | None = None) -> Doubles:
    """By n x n systems: w = Z' a, and the table is met only to make the products of its rows.

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
    """By products with the table alone: each round's system is solved by conjugate gradients.

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
    """A step p near -H^-1 at, and Z p, until the rest is at most `enough`."""
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
        part = np.matmul(Z[i : i + size], way, out=along[i : i + size])
        curved += (bends[i : i + size] * part) @ Z[i : i + size]
    return along, curved


def damped(line: tuple[Doubles, Doubles], s: Doubles, ridge: tuple[float, float]) -> float:
    """How far to go along a line: all of it, halved until the slope there is no steeper than half.

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
