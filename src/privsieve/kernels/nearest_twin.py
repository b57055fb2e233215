"""The kernel of `privsieve.kernels.nearest` in NumPy: the same name, arguments and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from privsieve.kernels.contract import I64
    from privsieve.kernels.nearest import F64, I32, Metric

#: Distances that are held at once; they fit the cache of a core.
HELD = 1 << 17


def nearest(X: F64, label: I32, metric: Metric) -> tuple[I64, I64]:
    """Twin of `nearest.nearest`: some rows at a time, against all."""
    n = len(X)
    hit, miss = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    columns = X.T.copy()
    some = max(1, HELD // max(n, 1))
    for first in range(0, n, some):
        rows = np.arange(first, min(first + some, n))
        far = _distances(columns, rows, metric)
        same = label[rows, None] == label
        same[np.arange(len(rows)), rows] = False
        hit[rows] = _first(far, same)
        miss[rows] = _first(far, label[rows, None] != label)
    return hit, miss


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


def _first(far: F64, among: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> I64:
    """The first of the nearest in each line, among those marked; -1 if none is."""
    best = np.where(among, far, np.inf).argmin(axis=1)
    return np.where(among.any(axis=1), best, -1)
