"""Kernels: arrays in, arrays out.  C++ if it was built, else NumPy, with the same bits.

Rows are class-partitioned: those of class 0 first, then those of class 1, and so on;
`starts[c]` is the first row of class c, and its last entry the number of rows.  `labellings`
are rows of signed integer class weights w: row i weighs v_i = w[class of i], times its own weight,
0 or more, where one is given; all |v_i| add up to less than 2^61 (`contract`).  Columns are rows
of `codes` and `bins`, so that each is contiguous.  `kind` of a column: 0 ordered, 1 ordered with
65535 for missing, 2 nominal, 3 nominal with many levels, of which one is set against the rest.
"""

from __future__ import annotations

from privsieve.kernels.contract import implementation, plane_words, reason
from privsieve.kernels.rules import (
    interval,
    merge_runs,
    mix64,
    pair_best,
    pair_gain,
    rank_intervals,
    runs,
    runs_together,
    sign_pairs,
    sign_planes,
    sign_triples,
    tie_keys,
)

__all__ = [
    "implementation", "interval", "merge_runs", "mix64", "pair_best",
    "pair_gain", "plane_words", "rank_intervals", "reason", "runs", "runs_together", "sign_pairs",
    "sign_planes", "sign_triples", "tie_keys",
]  # fmt: skip
