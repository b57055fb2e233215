"""The kernel of `privsieve.kernels.nearest` in NumPy: the same name, arguments and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privsieve.kernels.contract import I64, U64

if TYPE_CHECKING:
    from privsieve.kernels.nearest import F64, I32, Bools, Metric

#: The largest size of a number: sums of squares stay finite.
LARGEST = 1e100
#: Distances that are held at once; they fit the cache of a core.
HELD = 1 << 17


def nearest(
    X: F64, label: I32, metric: Metric, drawn: U64 | None = None, samples: int = 1, *,
    done: I64 | None = None,
) -> tuple[I64, I64] | None:
    """Twin of the search behind `nearest.nearest_in`: some rows at a time, against all.

    Bit r of ``drawn[i]`` says whether row i is in sample r.  None where a number is refused.
    ``done[0]`` grows by the rows that are answered.
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
        if done is not None:
            done += len(rows)
    return hit, miss


def _taken(X: F64, metric: Metric) -> bool:
    """Whether all numbers are such that a distance is told between them."""
    if metric == "hamming":
        return bool(((X == 0) | (X == 1)).all())
    return not X.size or bool(np.abs(X).max() <= LARGEST)  # not so for NaN


def _distances(columns: F64, rows: I64, metric: Metric) -> F64:
    """From these rows to all, column by column from the left."""
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
    """The first of the nearest in each line, among those marked; -1 if none is in reach."""
    left = np.where(among, far, np.inf)
    best = left.argmin(axis=1)
    return np.where(left[np.arange(len(far)), best] < np.inf, best, -1)
