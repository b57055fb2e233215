"""Rules on pairs of columns that have no grid: all cuts of both, between any two codes.

Codes, classes, labellings and kinds are those of `privsieve.kernels`.
"""
# ruff: noqa: PLR0917  six arguments are allowed by the house

from __future__ import annotations

from itertools import combinations

import numpy as np

from privsieve.kernels.contract import (
    I64,
    MOST_ROWS,
    U8,
    U16,
    Bools,
    class_sums,
    demand_array,
    demand_equal,
    demand_kind,
    demand_offsets,
    demand_signed,
    demand_weight,
    demand_whole,
    kernel,
)

__all__ = ["cut_best"]

#: First codes whose cells stand in memory at once.
_AT_ONCE = 64


def _demand_cuts(
    codes: U16, starts: I64, weight: I64 | None, labellings: I64, kind: U8, wanted: U8
) -> None:
    demand_array("codes", codes, np.uint16, 2)
    demand_offsets("starts", starts, codes.shape[1])
    demand_whole("rows of codes", codes.shape[1], 0, MOST_ROWS)
    demand_weight(weight, codes.shape[1])
    demand_array("labellings", labellings, np.int64, 2)
    demand_equal("classes of labellings and starts", labellings.shape[1], len(starts) - 1)
    demand_kind(kind, "codes", len(codes))
    demand_array("wanted", wanted, np.uint8, 1)
    demand_equal("wanted and codes", len(wanted), len(codes))
    demand_signed(labellings, class_sums(starts, weight))


# [cut-best]
@kernel(_demand_cuts)
def cut_best(
    codes: U16, starts: I64, weight: I64 | None, labellings: I64, kind: U8, wanted: U8
) -> I64:
    """Twice the best four-cell rule of each pair, by all cuts: int64[labellings, pairs].

    An ordered column is cut between any two of its codes, 65535 for missing being the last; of a
    nominal one any single level is set against the rest.  Pairs are in the order 01, 02, ..; one
    of which neither column is wanted has 0.

    >>> codes, starts = np.array([[1, 5, 2, 4], [7, 8, 9, 6]], np.uint16), np.array([0, 2, 4])
    >>> ordered, wanted = np.zeros(2, np.uint8), np.ones(2, np.uint8)
    >>> cut_best(codes, starts, None, np.array([[-1, 1]]), ordered, wanted).tolist()
    [[4]]
    """
    d, classes = len(codes), len(starts) - 1
    value = labellings[:, np.repeat(np.arange(classes), np.diff(starts))]
    if weight is not None:
        value = value * weight
    place = [np.unique(column, return_inverse=True)[1] for column in codes]
    best = np.zeros((len(labellings), d * (d - 1) // 2), np.int64)
    for at, (one, other) in enumerate(combinations(range(d), 2)):
        if (wanted[one] or wanted[other]) and value.size:
            nominal = kind[[one, other]] > 1
            best[:, at] = _four_cells(value, place[one], place[other], nominal)
    return best


def _four_cells(value: I64, x: I64, y: I64, nominal: Bools) -> I64:
    """The largest sum of four |cells|, for each row of values."""
    many, total = int(y.max()) + 1, value.sum(1)[:, None, None]
    best, before = np.zeros(len(value), np.int64), np.zeros((len(value), 1, many), np.int64)
    below = _all_in(value, np.zeros_like(y), y, (1, many))
    if not nominal[1]:
        below = below.cumsum(2)
    for first in range(0, int(x.max()) + 1, _AT_ONCE):
        here = (x >= first) & (x < first + _AT_ONCE)
        cell = _all_in(value[:, here], x[here] - first, y[here], (_AT_ONCE, many))
        if not nominal[0]:
            cell = before + cell.cumsum(1)
            before = cell[:, -1:]
        both, a = cell if nominal[1] else cell.cumsum(2), cell.sum(2, keepdims=True)
        four = np.abs(both) + np.abs(a - both) + np.abs(below - both) + np.abs(
            total - a - below + both)
        best = np.maximum(best, four.max((1, 2)))
    return best


def _all_in(value: I64, x: I64, y: I64, shape: tuple[int, int]) -> I64:
    """Values added up by cell."""
    cell = np.zeros((shape[0] * shape[1], len(value)), np.int64)
    np.add.at(cell, x * shape[1] + y, value.T)
    return np.ascontiguousarray(cell.T).reshape(-1, *shape)
# [/cut-best]
