"""The kernels of `privsieve.kernels.orderings` in NumPy: the same names and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privsieve.kernels.contract import I64
    from privsieve.kernels.nearest import F64, I32, Metric

Bools: TypeAlias = npt.NDArray[np.bool_]

#: Distances that are held at once; they fit the cache of a core.
HELD = 1 << 17


def orderings(X: F64, label: I32, metric: Metric, most: int) -> tuple[I64, I64]:
    """Twin of `orderings.orderings`."""
    every = np.arange(len(X))
    hits, misses = (np.full((len(X), most), -1, np.int64) for _ in range(2))
    for rows, far, hit, miss in _blocks(X, label, metric, every, every):
        hits[rows] = _in_order(far, hit, most)
        misses[rows] = _in_order(far, miss, most)
    return hits, misses


def among(X: F64, label: I32, metric: Metric, rows: I64, members: I64) -> tuple[I64, I64]:
    """Twin of `orderings.among`."""
    found: tuple[list[I64], list[I64]] = ([], [])
    for _, far, hit, miss in _blocks(X, label, metric, rows, members):
        for wanted, kept in zip((hit, miss), found, strict=True):
            best = np.where(wanted, far, np.inf).argmin(axis=1)
            kept.append(np.where(wanted.any(axis=1), members[best] if len(members) else -1, -1))
    none = np.empty(0, np.int64)
    return np.concatenate([none, *found[0]]), np.concatenate([none, *found[1]])


def _blocks(
    X: F64, label: I32, metric: Metric, rows: I64, members: I64
) -> Iterator[tuple[I64, F64, Bools, Bools]]:
    """Some rows at a time: their distances to all members, and which are hits and misses."""
    columns = np.ascontiguousarray(X[members].T)
    some = max(1, HELD // max(len(members), 1))
    for first in range(0, len(rows) if len(members) else 0, some):
        piece = rows[first : first + some]
        far = np.zeros((len(piece), len(members)))
        for column, own in zip(columns, X[piece].T, strict=True):
            gap = own[:, None] - column
            if metric == "euclidean":
                np.square(gap, out=gap)
            else:  # columns of 0 and 1 differ by 1 or not at all
                np.abs(gap, out=gap)
            far += gap
        same = label[piece, None] == label[members]
        yield piece, far, same & (piece[:, None] != members), ~same


def _in_order(far: F64, wanted: Bools, most: int) -> I64:
    """The nearest wanted columns of each line by distance, then position; -1 after the last."""
    far = np.where(wanted, far, np.inf)
    width = far.shape[1]
    last = np.partition(far, min(most, width) - 1, axis=1)[:, min(most, width) - 1]
    # All that are as near as the last: among equals a partition takes any, and we the lowest.
    line, column = np.nonzero(wanted & (far <= last[:, None]))
    order = np.lexsort((column, far[line, column], line))
    line, column = line[order], column[order]
    place = np.arange(len(line)) - np.searchsorted(line, line)
    kept = place < most
    found = np.full((len(far), most), -1, np.int64)
    found[line[kept], place[kept]] = column[kept]
    return found
