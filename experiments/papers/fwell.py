"""FWELL: feature weights by local learning (Yang & Li 2014, and Li, Yang & Ji 2016), as printed.

Each record should be nearer to its nearest hit NH (its own class) than to its nearest miss NM (any
other): its margin is z = |x - NM| - |x - NH|, column by column, and the weights w are to make w.z
large.  `algorithm_1` is what is printed; `argmin` is what the analysis of it speaks about.

Not private, any of it: no noise is added here, and one record may be the hit or miss of all others.

Where the papers are silent: among equally near records the first is taken; a record without a hit
or without a miss has margin zero; `Variant` says how margins get length one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from privsieve.errors import ParameterError
from privsieve.kernels.nearest import nearest

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

__all__ = ["Variant", "algorithm_1", "argmin", "fwell", "margins", "neighbours"]

#: Newton's steps; a strictly convex smooth function needs a dozen.
STEPS = 100


@dataclass(frozen=True)
class Variant:
    """How the papers are read where they leave a choice.  Not private, whichever is taken.

    weights : "printed" is Algorithm 1, "argmin" the minimiser that its analysis takes it for.
    sign : "meant" is |x - NM| - |x - NH| (2014, 2018); "printed" what 2016 prints, its negative,
        which gives the largest weights to the worst columns.
    within : the analysis takes |z| <= 1 and does not say how.  "clip" shortens each margin that is
        longer; "largest" divides all by the longest, so that every margin depends on all records;
        "none" leaves them.

    >>> Variant(weights="argmin").sign
    'meant'
    """

    weights: Literal["printed", "argmin"] = "printed"
    sign: Literal["meant", "printed"] = "meant"
    within: Literal["clip", "largest", "none"] = "clip"


def neighbours(X: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Ints, Ints]:
    """NH and NM of each record under the Manhattan distance; -1 where there is none.

    Not private: they are other people's records.  The papers write them as if of x_i alone.

    >>> [rows.tolist() for rows in neighbours([[0.0], [1.0], [5.0]], [0, 0, 1])]
    [[1, 0, -1], [2, 2, 1]]
    """
    table, labels = _checked(X, y)
    codes = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    return nearest(np.ascontiguousarray(table), codes, "manhattan")


def margins(X: npt.ArrayLike, y: npt.ArrayLike, reading: Variant | None = None) -> Floats:
    """Return the z of each record: its distance to the miss less that to the hit, by column.

    Not private: the printed proof supposes that z_i depends on x_i only, but where a record is the
    nearest of many, replacing it changes the margins of them all.

    >>> margins([[0, 0], [0, 0.25], [0.5, 0]], [0, 0, 1])
    array([[ 0.5 , -0.25],
           [ 0.5 ,  0.  ],
           [ 0.  ,  0.  ]])
    """
    reading = reading or Variant()
    table, _ = _checked(X, y)
    hit, miss = neighbours(X, y)
    both = (hit >= 0) & (miss >= 0)
    nearer = np.abs(table - table[miss]) - np.abs(table - table[hit])
    z: Floats = np.where(both[:, None], nearer, 0.0)
    if reading.sign == "printed":
        z = -z
    if reading.within == "none" or not len(z):
        return z
    length = np.linalg.norm(z, axis=1, keepdims=True)
    longest = length.max() or 1.0 if reading.within == "largest" else np.maximum(length, 1.0)
    shortened: Floats = z / longest
    return shortened


def algorithm_1(Z: npt.ArrayLike, lam: float) -> Floats:
    """Algorithm 1: from w = (1, .., 1), one step of length one for each margin, in their order.

    It is printed as a way to the minimiser and does not go there: steps of length one never settle,
    and the last few records decide where they end.  Where a gradient is zero the printed step
    is 0/0; here it is none.

    Not private: the printed sensitivity 2/(lambda n) is that of the minimiser, and the end of this
    walk can move by 2 when one record changes, however many there are.

    >>> algorithm_1([[0.5, 0.5, 0.5, 0.5]] * 3, lam=0.1)
    array([0.5, 0.5, 0.5, 0.5])
    """
    z = _margins(Z, lam)
    w = np.ones(z.shape[1])
    for margin in z:
        gradient = 2 * lam * w - _sigmoid(-margin @ w) * margin / len(z)
        length = np.linalg.norm(gradient)
        if length > 0:
            w = w - gradient / length
    return w


def argmin(Z: npt.ArrayLike, lam: float, linear: npt.ArrayLike | None = None,
           extra: float = 0.0) -> Floats:
    """Return the w of the smallest (1/n) sum log(1 + exp(-w.z)) + lam |w|^2, by Newton's method.

    `linear` and `extra` add linear.w + extra/2 |w|^2.  The papers call lam |w|^2 lam-strongly
    convex; it is 2 lam, so that their 2/(lambda n) would be twice too large, were each margin of
    one record only.

    Not private: nothing is added to it, and all margins may change with one record.

    >>> argmin([[1.0, 0.0]], lam=1.0).round(6).tolist()
    [0.222323, 0.0]
    """
    z = _margins(Z, lam)
    push = np.zeros(z.shape[1]) if linear is None else np.asarray(linear, np.float64)
    curve = 2 * lam + extra

    def value(w: Floats) -> float:
        return float(np.logaddexp(0, -z @ w).mean() + curve / 2 * w @ w + push @ w)

    w = np.zeros(z.shape[1])
    for _ in range(STEPS):
        loss = _sigmoid(-z @ w)
        gradient = curve * w + push - loss @ z / len(z)
        if np.linalg.norm(gradient) < 1e-13:
            break
        bend = (z * (loss * (1 - loss) / len(z))[:, None]).T @ z + curve * np.eye(len(w))
        step, share = np.linalg.solve(bend, gradient), 1.0
        while share > 1e-9 and value(w - share * step) > value(w):
            share /= 2
        w = w - share * step
    return w


def fwell(X: npt.ArrayLike, y: npt.ArrayLike, lam: float, reading: Variant | None = None) -> Floats:
    """FWELL: the weights of the columns; the largest are selected.

    Not private: it adds no noise.

    >>> fwell([[0, 0], [0, 0.5], [1, 0], [1, 0.5]], [0, 0, 1, 1], 0.1).argmax()
    np.int64(0)
    """
    reading = reading or Variant()
    solve = algorithm_1 if reading.weights == "printed" else argmin
    return solve(margins(X, y, reading), lam)


def _sigmoid(t: Floats) -> Floats:
    """1 / (1 + exp(-t)), without overflow."""
    return np.exp(-np.logaddexp(0, -t))


def _checked(X: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, npt.NDArray[np.generic]]:
    table, labels = np.asarray(X, np.float64), np.asarray(y)
    if table.ndim != 2 or labels.shape != table.shape[:1]:
        raise ParameterError(f"X has shape {table.shape} and y {labels.shape}; "
                             "give a table of rows and columns, and one label for each row")
    return table, labels


def _margins(Z: npt.ArrayLike, lam: float) -> Floats:
    if not lam > 0:
        raise ParameterError(f"lam={lam} must be above 0; the papers tune it on the private rows")
    return np.asarray(Z, np.float64)
