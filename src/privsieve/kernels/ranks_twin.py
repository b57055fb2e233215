"""The kernels of `ranks` in NumPy: the same names, arguments and bits as the native extension."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from privsieve.kernels.contract import I64, U8, U16, Runs

_MISSING = 65535
#: Cuts at a time: what is in memory grows with them.
_BLOCK = 256


def rank_intervals(runs: Runs, kind: U8) -> I64:
    """Twin of `ranks.rank_intervals`."""
    indptr, code, count = runs
    out = np.zeros((max(0, count.shape[1] - 1), len(kind)), np.int64)
    for j, (first, last) in enumerate(pairwise(indptr)):
        low = np.cumsum(count[first:last].astype(np.int64), axis=1)
        if len(out):
            out[:, j] = _best(low[:, :-1].T, low[:, -1], code[first:last], kind[j])
    return out


def cut_intervals(codes: U16, label: U16, kind: U8) -> I64:
    """Twin of `ranks.cut_intervals`."""
    out = np.zeros(len(codes), np.int64)
    levels, cut = np.unique(label, return_inverse=True)
    for j, column in enumerate(codes):
        code, place = np.unique(column, return_inverse=True)
        every = np.bincount(place, minlength=len(code))
        below = np.zeros(len(code), np.int64)
        for start in range(0, len(levels) - 1, _BLOCK):
            many = min(_BLOCK, len(levels) - 1 - start)
            here = (cut >= start) & (cut < start + many)
            low = np.zeros((many, len(code)), np.int64)
            np.add.at(low, (cut[here] - start, place[here]), 1)
            low = below + np.cumsum(low, axis=0)
            out[j] = max(out[j], _best(low, every, code, kind[j]).max())
            below = low[-1]
    return out


def _best(low: I64, every: I64, code: U16, kind: int) -> I64:
    """Twice the best rule, for each row of `low`: the rows of each code below a cut."""
    value = every.sum() * low - low.sum(axis=1, keepdims=True) * every
    if kind == 2:
        subsets: I64 = np.abs(value).sum(axis=1)
        return subsets
    if kind == 3:
        single: I64 = 2 * np.abs(value).max(axis=1, initial=0)
        return single
    if kind == 0:
        level = np.cumsum(value, axis=1, out=value)
        plain: I64 = 2 * (level.max(axis=1, initial=0) - level.min(axis=1, initial=0))
        return plain
    missing = code == _MISSING
    known = value[:, ~missing]
    path = np.concatenate([np.zeros((len(known), 1), np.int64), np.cumsum(known, axis=1)], axis=1)
    up = (path - np.minimum.accumulate(path, axis=1)).max(axis=1)
    down = (np.maximum.accumulate(path, axis=1) - path).max(axis=1)
    total = path[:, -1]
    best = np.maximum(np.maximum(2 * up - total, total + 2 * down), np.abs(total))
    both: I64 = best + np.abs(value[:, missing]).sum(axis=1)
    return both


def concordance(codes: U16, label: U16, kind: U8) -> I64:
    """Twin of `ranks.concordance`: Knight's formula, inversions by one binary digit at a time."""
    out = np.zeros(len(codes), np.int64)
    for j in np.flatnonzero(kind < 2):
        here = codes[j] != _MISSING if kind[j] else np.ones(len(label), np.bool_)
        x, y = codes[j][here], label[here]
        order = np.lexsort((y, x))
        both = x.astype(np.int64) << 16 | y
        n = len(x)
        out[j] = (n * (n - 1) // 2 - _equal(x) - _equal(y) + _equal(both)
                  - 2 * _inversions(y[order]))
    return out


def _equal(value: I64 | U16) -> int:
    """How many pairs are equal."""
    count = np.unique(value, return_counts=True)[1]
    return int((count * (count - 1) // 2).sum())


def _inversions(y: U16) -> int:
    """How many pairs stand in falling order."""
    found = 0
    for bit in range(16):
        # Pairs that differ first in this digit: a one before a zero is an inversion.
        order = np.argsort(y >> (bit + 1), kind="stable")
        group, one = (y >> (bit + 1))[order], (y[order] >> bit & 1).astype(np.int64)
        before = np.cumsum(one) - one
        first = np.searchsorted(group, group, side="left")
        found += int(((before - before[first]) * (1 - one)).sum()) if len(y) else 0
    return found
