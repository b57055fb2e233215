"""Rules on several columns: three and four at once, and pairs for any number of classes.

Bins, classes and labellings are those of `privsieve.kernels`.
"""
# ruff: noqa: PLR0917  six arguments are allowed by the house

from __future__ import annotations

from itertools import combinations

import numpy as np

from privsieve.kernels.contract import I64, U8, class_sums, demand_bins, kernel
from privsieve.kernels.rules import indicators, pair_tables

__all__ = ["GRIDS", "class_gain", "joint_best"]

#: Cells a side of the grid that sets of three and of four columns are cut on.
GRIDS = {3: 8, 4: 4}

#: What all rows may weigh; twice its square fits.  `selectors.labels.uncentred` allows half of it.
MOST_WEIGHT = 2**31 - 1


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


def _demand_classes(bins: U8, starts: I64, weight: I64 | None, grid: int, nominal: U8) -> None:
    demand_bins(bins, starts, weight, np.ones((1, np.size(starts) - 1), np.int64), grid, nominal)
    if class_sums(starts, weight).sum() > MOST_WEIGHT:
        raise ValueError(f"all rows must weigh at most {MOST_WEIGHT}: values are its square")


@kernel(_demand_classes)
def class_gain(bins: U8, starts: I64, weight: I64 | None, grid: int, nominal: U8) -> I64:
    """How much the best four-cell rule for a set of classes beats both columns alone, times n.

    The value of a rule "cell in B -> class in A" is n n(A, B) - n(A) n(B), in weights, the best
    over all A and B; n is the weight of all rows.  Without a partner: 0.

    >>> bins, starts = np.array([[0, 3, 0, 3], [0, 3, 3, 0]], np.uint8), np.array([0, 2, 4])
    >>> class_gain(bins, starts, None, 4, np.zeros(2, np.uint8)).tolist()
    [4, 4]
    """
    gain = np.zeros(len(bins), np.int64)
    each = np.eye(len(starts) - 1, dtype=np.int64)
    for pair, q in pair_tables(bins, starts, weight, each, grid, nominal):
        size = q[:, -1:, -1:]
        surplus = size.sum() * q - size * q.sum(0)
        a, b = np.broadcast_arrays(surplus[:, :, -1:], surplus[:, -1:, :])
        both = surplus[:, :-1, :-1]
        a, b = a[:, :-1, :-1], b[:, :-1, :-1]
        rules = (a, b, both, a - both, b - both, a + b - both, a + b - 2 * both)
        best = max(int(_positive(rule).max(initial=0)) for rule in rules)
        alone = max(int(_positive(one).max(initial=0)) for one in (a, b))
        gain[pair] = np.maximum(gain[pair], best - alone)
    return gain


def _positive(surplus: I64) -> I64:
    out: I64 = np.maximum(surplus, 0).sum(0)
    return out
