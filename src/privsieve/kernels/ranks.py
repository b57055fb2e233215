"""A number against its columns: intervals and cuts, and pairs of rows in the order of both.

`kind` of a column is that of `kernels`: 0 ordered, 1 ordered with 65535 for missing, 2 nominal,
3 nominal with so many levels that one is set against the rest.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from privsieve.kernels.contract import (
    I64,
    U8,
    U16,
    Runs,
    demand_array,
    demand_column_rows,
    demand_equal,
    demand_kind,
    demand_runs,
    demand_whole,
    kernel,
)
from privsieve.kernels.rules import best_rules

__all__ = ["concordance", "cut_intervals", "rank_intervals"]

#: Values are below n^2 in size: so many rows keep them in 60 bits.  A plan allows half as many.
MOST_ROWS = 2**30
_MISSING = 65535
#: Cuts at a time: what is in memory grows with them.
_BLOCK = 256


def _demand_runs(runs: Runs, kind: U8) -> None:
    top = demand_runs("runs", runs)
    demand_kind(kind, "runs", len(runs[0]) - 1)
    demand_column_rows(runs, top, MOST_ROWS)


def _demand_codes(codes: U16, label: U16, kind: U8) -> None:
    demand_array("codes", codes, np.uint16, 2)
    demand_array("label", label, np.uint16, 1)
    demand_equal("label and codes", len(label), codes.shape[1])
    demand_whole("rows", len(label), 0, MOST_ROWS)
    demand_kind(kind, "codes", len(codes))


@kernel(_demand_runs)
def rank_intervals(runs: Runs, kind: U8) -> I64:
    """Twice the best rule of each column against each cut between two classes: int64[C - 1, d].

    With r of n rows below the cut, a rule that says yes to n_I rows, of which n_Ir lie below, is
    worth |n n_Ir - r n_I|: n times a covariance.  Rules are those of `kernels.interval`.

    >>> from privsieve.kernels import runs
    >>> codes, starts = np.array([[0, 1, 2, 3]], np.uint16), np.array([0, 1, 2, 4])
    >>> rank_intervals(runs(codes, starts), np.zeros(1, np.uint8)).tolist()
    [[6], [8]]
    """
    indptr, code, count = runs
    out = np.zeros((max(0, count.shape[1] - 1), len(kind)), np.int64)
    for j, (first, last) in enumerate(pairwise(indptr)):
        low = np.cumsum(count[first:last].astype(np.int64), axis=1)
        if len(out):
            out[:, j] = _best(low[:, :-1].T, low[:, -1], code[first:last], kind[j])
    return out


@kernel(_demand_codes)
def cut_intervals(codes: U16, label: U16, kind: U8) -> I64:
    """The same, the largest over all cuts of `label` by value: int64[d].

    >>> codes, label = np.array([[0, 1, 2, 3]], np.uint16), np.array([7, 8, 9, 9], np.uint16)
    >>> cut_intervals(codes, label, np.zeros(1, np.uint8)).tolist()
    [8]
    """
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
    return best_rules(every.sum() * low - low.sum(axis=1, keepdims=True) * every, code, kind)


@kernel(_demand_codes)
def concordance(codes: U16, label: U16, kind: U8) -> I64:
    """Pairs of rows in the same order of code and label, less those in opposite order: int64[d].

    Pairs that are equal in either, or with a missing code, count nothing; a nominal column is 0.

    >>> codes, label = np.array([[0, 1, 2, 2]], np.uint16), np.array([7, 9, 8, 9], np.uint16)
    >>> concordance(codes, label, np.zeros(1, np.uint8)).tolist()
    [2]
    """
    # Knight's formula, inversions by one binary digit at a time.
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
