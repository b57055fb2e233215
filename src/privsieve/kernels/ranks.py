"""A number against its columns: rules on intervals against cuts at ranks.

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
    demand_column_rows,
    demand_kind,
    demand_runs,
    kernel,
)
from privsieve.kernels.rules import best_rules

__all__ = ["rank_intervals"]

#: Values are below n^2 in size: so many rows keep them in 60 bits.  A plan allows half as many.
MOST_ROWS = 2**30


def _demand_runs(runs: Runs, kind: U8) -> None:
    top = demand_runs("runs", runs)
    demand_kind(kind, "runs", len(runs[0]) - 1)
    demand_column_rows(runs, top, MOST_ROWS)


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


def _best(low: I64, every: I64, code: U16, kind: int) -> I64:
    """Twice the best rule, for each row of `low`: the rows of each code below a cut."""
    return best_rules(every.sum() * low - low.sum(axis=1, keepdims=True) * every, code, kind)
