"""The kernels of `privsieve.kernels.joint` in NumPy: the same names, arguments and bits."""
# ruff: noqa: PLR0917  six arguments are allowed by the house

from __future__ import annotations

from itertools import combinations

import numpy as np

from privsieve.kernels.contract import I64, U8
from privsieve.kernels.numpy_twin import indicators, pair_tables


def joint_best(
    bins: U8, starts: I64, weight: I64 | None, labellings: I64, size: int, nominal: U8
) -> I64:
    """Twin of `joint.joint_best`."""
    grid, classes = 8 if size == 3 else 4, len(starts) - 1
    label = np.repeat(np.arange(classes), np.diff(starts))
    best = []
    for chosen in combinations(range(len(bins)), size):
        place = label
        for j in chosen:
            place = place * grid + bins[j]
        cell = np.zeros(classes * grid**size, np.int64)
        np.add.at(cell, place, 1 if weight is None else weight)
        signed = (labellings @ cell.reshape(classes, -1)).reshape(-1, *[grid] * size)
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


def class_gain(bins: U8, starts: I64, weight: I64 | None, grid: int, nominal: U8) -> I64:
    """Twin of `joint.class_gain`."""
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
