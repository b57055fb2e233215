"""Scores for any number of classes at once: the average of two ways to be of use.

S is the best "value in B -> class in A" over sets B of a public family and all sets A of classes,
less what chance would give; O the number of units that the best guess of the class from the
column's bin gets right.  S sees a class that is told from all others, O that many are told apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privsieve.kernels.joint import class_gain
from privsieve.summaries.layout import SUBSETS, Layout

if TYPE_CHECKING:
    from privsieve.summaries.rules import Ints, RuleTables, Runs

#: Bins of a single column.
GRID = 16


# [class-scores]
def class_scores(tables: RuleTables, layout: Layout, grid: int) -> Ints:
    """4 n times the average of S and O for each column; n is the weight of all units.

    max(2 n S, n (P - M)) + 2 n O, where P - M is what a partner adds on the pair grid.
    """
    total = int(tables.runs.counts.sum())
    best, right = np.zeros((2, len(layout.kind)), np.int64)
    for j in range(len(layout.kind)):
        inside = binned(tables.runs, layout, j)
        best[j] = 2 * _subsets(inside, intervals=bool(layout.kind[j] < SUBSETS))
        right[j] = inside.max(axis=1).sum()
    if grid and tables.bins is not None and len(layout.kind) > 1:
        on = tables.bins
        gain = class_gain(on.bins, on.starts, on.weight, grid, layout.nominal)
        best = np.maximum(best, gain)
    scored: Ints = best + 2 * total * right
    return scored


def binned(runs: Runs, layout: Layout, j: int) -> Ints:
    """How much of each class lies in each bin of column j."""
    indptr, code, count = runs.table
    here = slice(indptr[j], indptr[j + 1])
    found = np.zeros((GRID, count.shape[1]), np.int64)
    np.add.at(found, layout.bin(j, code[here], GRID), count[here])
    return found


def _subsets(inside: Ints, *, intervals: bool) -> int:
    """Best of n n(A, B) - n(A) n(B) over class sets A, and intervals or single bins B."""
    if intervals:
        level = np.concatenate([np.zeros_like(inside[:1]), np.cumsum(inside, axis=0)])
        sets = level[:, None] - level[None]
    else:
        sets = inside[None]
    surplus = inside.sum() * sets - inside.sum(axis=0) * sets.sum(axis=-1, keepdims=True)
    # The best A takes each class whose surplus is above zero.
    return int(np.maximum(surplus, 0).sum(axis=-1).max())
# [/class-scores]
