"""Nearest: the nearest hit and the nearest miss of every row of a table of numbers.

A row's hit is the nearest other row of its class, its miss the nearest row of any other class.
The distance is a float64, added up column by column from the left: this order is a part of the
contract, because it decides which rows are equally far.  Ties go to the lowest row.

``"manhattan"`` adds ``|a - b|``, ``"euclidean"`` adds ``(a - b) ** 2`` (the root would change no
answer but by its rounding), and ``"hamming"`` counts the columns, all 0 or 1, that differ.

In samples of the rows each row looks among the others of its sample.  One search serves all: it
keeps a short list of each row's nearest, of which nearly always one is in a sample, and looks
farther where none is.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from privsieve.kernels.contract import (
    I32,
    I64,
    MOST_ROWS,
    U64,
    Bools,
    demand_array,
    demand_equal,
    demand_whole,
    native,
)

Metric: TypeAlias = Literal["manhattan", "euclidean", "hamming"]
F64: TypeAlias = npt.NDArray[np.float64]

__all__ = ["F64", "I32", "LARGEST", "METRICS", "TOGETHER", "Metric", "nearest", "nearest_in"]

METRICS = ("manhattan", "euclidean", "hamming")
#: Samples that one search serves: a row has a bit for each.
TOGETHER = 64
#: The largest size of a number: sums of squares stay finite.
LARGEST = 1e100
#: Distances that the twin holds at once; they fit the cache of a core.
HELD = 1 << 17


def nearest(X: F64, label: I32, metric: Metric) -> tuple[I64, I64]:
    """Return the rows ``(hit, miss)`` nearest to each row; -1 where there is none.

    >>> X = np.array([[0.0, 0.0], [3.0, 0.0], [1.0, 1.0], [9.0, 9.0]])
    >>> hit, miss = nearest(X, np.array([0, 0, 1, 2], np.int32), "manhattan")
    >>> hit.tolist(), miss.tolist()
    ([1, 0, -1, -1], [2, 2, 0, 1])
    """
    hit, miss = _search(X, label, metric, None, 1)
    return hit[:, 0], miss[:, 0]


def nearest_in(X: F64, label: I32, metric: Metric, drawn: Bools) -> tuple[I64, I64]:
    """Search in samples: row i is in sample r if ``drawn[i, r]``; -1 where it is not.

    >>> X, label = np.array([[0.0], [3.0], [1.0], [9.0]]), np.array([0, 0, 0, 1], np.int32)
    >>> drawn = np.array([[True, True], [True, True], [True, False], [False, True]])
    >>> hit, miss = nearest_in(X, label, "manhattan", drawn)
    >>> hit.T.tolist(), miss.T.tolist()
    ([[2, 2, 0, -1], [1, 0, -1, -1]], [[-1, -1, -1, -1], [3, 3, -1, 1]])
    """
    demand_array("drawn", drawn, np.bool_, 2)
    demand_equal("drawn and X", len(drawn), len(X))
    hits, misses = (np.empty(drawn.shape, np.int64) for _ in range(2))
    for first in range(0, drawn.shape[1], TOGETHER):
        some = drawn[:, first : first + TOGETHER]
        bits = np.zeros((len(X), TOGETHER), bool)
        bits[:, : some.shape[1]] = some
        words = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)[:, 0]
        parts = _search(X, label, metric, words, some.shape[1])
        for whole, chunk in zip((hits, misses), parts, strict=True):
            whole[:, first : first + TOGETHER] = chunk
    return hits, misses


def _search(X: F64, label: I32, metric: Metric, drawn: U64 | None, samples: int) -> tuple[I64, I64]:
    """Search once; refuse what is no table of such numbers."""
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(METRICS)}, not {metric!r}")
    demand_array("X", X, np.float64, 2)
    demand_array("label", label, np.int32, 1)
    demand_equal("label and X", len(label), len(X))
    demand_whole("rows of X", len(X), 0, MOST_ROWS)
    # The kernel sees all numbers anyway: it says so where there is one that it does not take.
    rows = _nearest(X, label, metric, drawn, samples)
    if rows is not None:
        return rows
    if metric == "hamming":
        raise ValueError("metric 'hamming' needs columns of 0 and 1; code the columns this way, or "
                         "use 'manhattan'")
    raise ValueError(f"X must hold numbers from -{LARGEST:g} to {LARGEST:g}, but has NaN or "
                     "larger numbers; fill missing values, and scale the columns")


@native
def _nearest(
    X: F64, label: I32, metric: Metric, drawn: U64 | None, samples: int
) -> tuple[I64, I64] | None:
    """Search some rows at a time, against all.

    Bit r of ``drawn[i]`` says whether row i is in sample r.  None where a number is refused.
    """
    if not _taken(X, metric):
        return None
    n = len(X)
    hit, miss = (np.full((n, samples), -1, np.int64) for _ in range(2))
    columns = X.T.copy()
    some = max(1, HELD // max(n, 1))
    for first in range(0, n, some):
        rows = np.arange(first, min(first + some, n))
        far = _distances(columns, rows, metric)
        far[np.arange(len(rows)), rows] = np.inf
        same = label[rows, None] == label
        for r in range(samples):
            inside = np.ones(n, bool) if drawn is None else (drawn >> np.uint64(r) & 1).astype(bool)
            asks = inside[rows, None]
            hit[rows, r] = _first(far, same & inside & asks)
            miss[rows, r] = _first(far, ~same & inside & asks)
    return hit, miss


def _taken(X: F64, metric: Metric) -> bool:
    """Return whether distances between all numbers can be told."""
    if metric == "hamming":
        return bool(((X == 0) | (X == 1)).all())
    return not X.size or bool(np.abs(X).max() <= LARGEST)  # not so for NaN


def _distances(columns: F64, rows: I64, metric: Metric) -> F64:
    """Return distances from these rows to all, column by column from the left."""
    far = np.zeros((len(rows), columns.shape[1]))
    for column in columns:
        gap = column[rows, None] - column
        if metric == "euclidean":
            np.square(gap, out=gap)
        else:  # columns of 0 and 1 differ by 1 or not at all
            np.abs(gap, out=gap)
        far += gap
    return far


def _first(far: F64, among: Bools) -> I64:
    """Return the first of the nearest in each line, among those marked; -1 if none."""
    left = np.where(among, far, np.inf)
    best = left.argmin(axis=1)
    return np.where(left[np.arange(len(far)), best] < np.inf, best, -1)
