"""A number against its columns: intervals and cuts, and pairs of rows in the order of both.

`kind` of a column is that of `kernels`: 0 ordered, 1 ordered with 65535 for missing, 2 nominal,
3 nominal with so many levels that one is set against the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from privsieve.kernels import implementation, ranks_twin
from privsieve.kernels.contract import (
    I64,
    U8,
    U16,
    Runs,
    demand_array,
    demand_equal,
    demand_kind,
    demand_runs,
    demand_whole,
)
from privsieve.kernels.magnitudes import demand_column_rows

__all__ = ["concordance", "cut_intervals", "rank_intervals"]

#: Values are below n^2 in size: so many rows keep them in 60 bits.  A plan allows half as many.
MOST_ROWS = 2**30

_kernels: Any = (
    import_module("privsieve.kernels._native") if implementation() == "native" else ranks_twin
)


def rank_intervals(runs: Runs, kind: U8) -> I64:
    """Twice the best rule of each column against each cut between two classes: int64[C - 1, d].

    With r of n rows below the cut, a rule that says yes to n_I rows, of which n_Ir lie below, is
    worth |n n_Ir - r n_I|: n times a covariance.  Rules are those of `kernels.interval`.

    >>> from privsieve.kernels import runs
    >>> codes, starts = np.array([[0, 1, 2, 3]], np.uint16), np.array([0, 1, 2, 4])
    >>> rank_intervals(runs(codes, starts), np.zeros(1, np.uint8)).tolist()
    [[6], [8]]
    """
    top = demand_runs("runs", runs)
    demand_kind(kind, "runs", len(runs[0]) - 1)
    demand_column_rows(runs, top, MOST_ROWS)
    out: I64 = _kernels.rank_intervals(runs, kind)
    return out


def cut_intervals(codes: U16, label: U16, kind: U8) -> I64:
    """The same, the largest over all cuts of `label` by value: int64[d].

    >>> codes, label = np.array([[0, 1, 2, 3]], np.uint16), np.array([7, 8, 9, 9], np.uint16)
    >>> cut_intervals(codes, label, np.zeros(1, np.uint8)).tolist()
    [8]
    """
    _demand(codes, label, kind)
    out: I64 = _kernels.cut_intervals(codes, label, kind)
    return out


def concordance(codes: U16, label: U16, kind: U8) -> I64:
    """Pairs of rows in the same order of code and label, less those in opposite order: int64[d].

    Pairs that are equal in either, or with a missing code, count nothing; a nominal column is 0.

    >>> codes, label = np.array([[0, 1, 2, 2]], np.uint16), np.array([7, 9, 8, 9], np.uint16)
    >>> concordance(codes, label, np.zeros(1, np.uint8)).tolist()
    [2]
    """
    _demand(codes, label, kind)
    out: I64 = _kernels.concordance(codes, label, kind)
    return out


def _demand(codes: U16, label: U16, kind: U8) -> None:
    demand_array("codes", codes, np.uint16, 2)
    demand_array("label", label, np.uint16, 1)
    demand_equal("label and codes", len(label), codes.shape[1])
    demand_whole("rows", len(label), 0, MOST_ROWS)
    demand_kind(kind, "codes", len(codes))
