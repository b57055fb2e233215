"""Rules on three and four columns at once.

Bins, classes and labellings are those of `privsieve.kernels`.
"""
# ruff: noqa: PLR0917  six arguments are allowed by the house

from __future__ import annotations

from itertools import combinations

import numpy as np

from privsieve.kernels.contract import I64, U8, demand_bins, kernel
from privsieve.kernels.rules import indicators

__all__ = ["GRIDS", "joint_best"]

#: Cells a side of the grid that sets of three and of four columns are cut on.
GRIDS = {3: 8, 4: 4}


def _demand_sets(
    bins: U8, starts: I64, weight: I64 | None, labellings: I64, size: int, nominal: U8
) -> None:
    if size not in GRIDS:
        raise ValueError(f"size must be 3 or 4, not {size}")
    demand_bins(bins, starts, weight, labellings, GRIDS[size], nominal)


@kernel(_demand_sets)
def joint_best(
    bins: U8, starts: I64, weight: I64 | None, labellings: I64, size: int, nominal: U8
) -> I64:
    """Twice the best rule of each set of 3 or 4 columns, in lexicographic order: 012, 013, ...

    Each column is cut at one public indicator of `GRIDS[size]` bins; the 8 or 16 cells have a free
    sign each, and every combination of indicators is tried.

    >>> bins = np.array([[0, 0, 7, 7], [0, 7, 0, 7], [0, 7, 7, 0]], np.uint8)
    >>> starts, weighing = np.array([0, 2, 4]), np.array([[-1, 1]])
    >>> joint_best(bins, starts, None, weighing, 3, np.zeros(3, np.uint8)).tolist()
    [4]
    """
    grid, classes = GRIDS[size], len(starts) - 1
    label = np.repeat(np.arange(classes), np.diff(starts))
    best = []
    for chosen in combinations(range(len(bins)), size):
        place = label
        for j in chosen:
            place = place * grid + bins[j]
        cell = np.zeros(classes * grid**size, np.int64)
        np.add.at(cell, place, 1 if weight is None else weight)
        signed = (labellings @ cell.reshape(classes, grid**size)).reshape(-1, *[grid] * size)
        best.append(_cut(signed, nominal[list(chosen)]))
    return np.array(best, np.int64)


def _cut(signed: I64, nominal: U8) -> int:
    """The largest sum of |cell| over all indicators, one a column."""
    for axis, named in enumerate(nominal, start=1):
        inside = indicators(signed, axis, int(named))
        total = np.take(inside, [-1], axis)
        inside = np.delete(inside, -1, axis)
        # The two sides of each cut stand on a new last axis.
        signed = np.stack([inside, total - inside], -1)
    cells = tuple(range(-len(nominal), 0))
    return int(np.abs(signed).sum(cells).max(initial=0))
