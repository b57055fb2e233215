"""Kernels: arrays in, arrays out.  Native where it was built, NumPy elsewhere, the same bits.

Rows are class-partitioned: those of class 0 first, then those of class 1, and so on;
`starts[c]` is the first row of class c, and its last entry the number of rows.  `labellings`
are rows of signed integer class weights w: row i weighs v_i = w[class of i], times its own weight,
0 or more, where one is given; all |v_i| add up to less than 2^61 (`magnitudes`).  Columns are rows
of `codes` and `bins`, so that each is contiguous.  `kind` of a column: 0 ordered, 1 ordered with
65535 for missing, 2 nominal, 3 nominal with so many levels that one is set against the rest.
"""
# ruff: noqa: PLR0917  six arguments are allowed by the house

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from privsieve.kernels import numpy_twin
from privsieve.kernels.contract import (
    MOST_ROWS,
    demand_array,
    demand_bins,
    demand_column_weights,
    demand_cuts,
    demand_equal,
    demand_kind,
    demand_offsets,
    demand_runs,
    demand_signs,
    demand_weight,
    demand_whole,
)
from privsieve.kernels.magnitudes import demand_total

if TYPE_CHECKING:
    from privsieve.kernels.contract import I64, U8, U16, U64, Cuts, Planes, Runs

__all__ = [
    "implementation",
    "interval",
    "median_cut",
    "merge_runs",
    "mix64",
    "pair_best",
    "pair_gain",
    "reason",
    "runs",
    "sign_pairs",
    "sign_planes",
    "sign_triples",
    "tie_keys",
]


def _choose() -> tuple[Any, str]:
    if os.environ.get("PRIVSIEVE_KERNELS") == "numpy":
        return numpy_twin, "PRIVSIEVE_KERNELS=numpy asks for it"
    try:
        return import_module("privsieve.kernels._native"), ""
    except ImportError:
        return numpy_twin, "the native extension does not load; install again with a C++17 compiler"


_kernels, _reason = _choose()


def implementation() -> Literal["native", "numpy"]:
    """Which implementation serves.

    >>> implementation() in {"native", "numpy"}
    True
    """
    return "numpy" if _kernels is numpy_twin else "native"


def reason() -> str:
    """Why NumPy serves; empty if the native extension does.

    >>> bool(reason()) == (implementation() == "numpy")
    True
    """
    return _reason


def mix64(z: U64) -> U64:
    """Scramble 64 bits: the finaliser of splitmix64, a bijection.

    >>> mix64(np.array([0, 1], np.uint64)).tolist()
    [16294208416658607535, 10451216379200822465]
    """
    demand_array("z", z, np.uint64, np.ndim(z))
    out: U64 = _kernels.mix64(z)
    return out


def tie_keys(unit: U64, feature: int, key: int) -> U64:
    """Order of the units that share a code, a fresh one for each feature.

    An order that features share would make tied columns copies of each other.

    >>> units = np.arange(2, dtype=np.uint64)
    >>> (tie_keys(units, 0, 7) == tie_keys(units, 1, 7)).any()
    np.False_
    """
    demand_array("unit", unit, np.uint64, 1)
    out: U64 = _kernels.tie_keys(unit, _word("feature", feature), _word("key", key))
    return out


def runs(codes: U16, starts: I64, weight: I64 | None = None) -> Runs:
    """Sorted distinct codes of each column, with their count (or weight) per class.

    Returns ``(indptr, code, count)``: column j has the codes ``code[indptr[j]:indptr[j + 1]]``.
    The count is int32, and int64 with weights.

    >>> codes, starts = np.array([[5, 5, 2]], np.uint16), np.array([0, 2, 3])
    >>> [part.tolist() for part in runs(codes, starts)]
    [[0, 2], [2, 5], [[0, 1], [2, 0]]]
    """
    demand_array("codes", codes, np.uint16, 2)
    demand_offsets("starts", starts, codes.shape[1])
    demand_weight(weight, codes.shape[1])
    if weight is None:  # a part of a table: its counts are int32
        demand_whole("rows", codes.shape[1], 0, MOST_ROWS)
    out: Runs = _kernels.runs(codes, starts, weight)
    return out


def merge_runs(a: Runs, b: Runs) -> Runs:
    """The runs of two sets of rows together: a commutative monoid.

    The count is int64 if either is, or if together they are too many rows for int32.

    >>> part = runs(np.array([[5, 2]], np.uint16), np.array([0, 1, 2]))
    >>> merge_runs(part, part)[2].tolist()
    [[0, 2], [2, 0]]
    """
    top = demand_runs("a", a) + demand_runs("b", b)
    demand_equal("columns of a and b", len(a[0]), len(b[0]))
    demand_equal("classes of a and b", a[2].shape[1], b[2].shape[1])
    demand_total("count of a", a[2][: a[0][1:2].sum()])
    demand_total("count of b", b[2][: b[0][1:2].sum()])
    rows = sum(int(r[2][: r[0][1]].sum(dtype=np.int64)) for r in (a, b)) if len(a[0]) > 1 else 0
    # dtypes are compared, not scalar types: int64 may be `long` or `long long`
    wide = np.int64 in (a[2].dtype, b[2].dtype) or rows > np.iinfo(np.int32).max
    # All columns have all rows, so that no entry passes what the first column adds up to.
    if top > rows:
        raise ValueError("each column of a and b must count the same rows")
    out: Runs = _kernels.merge_runs(a, b, wide)
    return out


def interval(runs: Runs, labellings: I64, kind: U8) -> I64:
    """Twice the best one-column rule of each column, for each labelling: int64[L, d].

    Ordered: the largest |v(inside) - v(outside)| of all intervals of codes; a missing code is set
    apart, and its sign is free.  Nominal: of all sets of levels, or of all single levels.

    >>> codes, starts = np.array([[0, 1, 2, 3]], np.uint16), np.array([0, 2, 4])
    >>> interval(runs(codes, starts), np.array([[-1, 1]]), np.zeros(1, np.uint8)).tolist()
    [[4]]
    """
    demand_column_weights(runs, labellings, kind)
    out: I64 = _kernels.interval(runs, labellings, kind)
    return out


def median_cut(codes: U16, unit: U64, row: U64, key: int, kind: U8) -> Cuts:
    """The record in the middle of each ordered column: ``(code, key, row, count)``.

    It has the 0-based rank ``count // 2`` by (code, tie key, row) among the ``count`` records that
    are not missing; four zeros where the column is nominal or all is missing.

    >>> codes, rows = np.array([[9, 3, 5]], np.uint16), np.arange(3, dtype=np.uint64)
    >>> code, _, row, count = median_cut(codes, rows, rows, 1, np.zeros(1, np.uint8))
    >>> code.tolist(), row.tolist(), count.tolist()
    ([5], [2], [3])
    """
    demand_array("codes", codes, np.uint16, 2)
    for name, ids in (("unit", unit), ("row", row)):
        demand_array(name, ids, np.uint64, 1)
        demand_equal(f"{name} and codes", len(ids), codes.shape[1])
    demand_kind(kind, "codes", len(codes))
    out: Cuts = _kernels.median_cut(codes, unit, row, _word("key", key), kind)
    return out


def sign_planes(codes: U16, starts: I64, ids: U64, key: int, cuts: Cuts, kind: U8) -> Planes:
    """Signs on both sides of the cuts, one bit a row: ``(planes, masks, zeros, words)``.

    Bit 1 is the sign +1.  Class c takes the words ``words[c]`` to ``words[c + 1]`` of a plane,
    whole 256 bits.  Below the cut is -1, above it +1; the record of the cut is +1 if the count is
    even and else 0, and ``zeros`` says where its bit lies (-1: not among these rows).  A missing
    code has sign 0; ``masks``, there if some kind is 1, have bit 1 where the sign is not 0.
    Nominal columns are all 0.  ``ids`` are the rows ``unit`` and ``row``, which is unique.

    >>> codes, ids = np.array([[9, 3, 5]], np.uint16), np.array([[0, 1, 2]] * 2, np.uint64)
    >>> kind, starts = np.zeros(1, np.uint8), np.array([0, 3])
    >>> cuts = median_cut(codes, *ids, 1, kind)
    >>> planes, masks, zeros, words = sign_planes(codes, starts, ids, 1, cuts, kind)
    >>> planes.tolist(), masks, zeros.tolist(), words.tolist()
    ([[1, 0, 0, 0]], None, [2], [0, 4])
    """
    demand_array("codes", codes, np.uint16, 2)
    demand_offsets("starts", starts, codes.shape[1])
    demand_array("ids", ids, np.uint64, 2)
    demand_equal("ids and (unit, row)", len(ids), 2)
    demand_equal("ids and codes", ids.shape[1], codes.shape[1])
    demand_cuts(cuts, kind, len(codes))
    key = _word("key", key)
    words = np.concatenate([[0], np.cumsum((np.diff(starts) + 255) // 256 * 4)]).astype(np.int64)
    masked = bool((kind == 1).any())
    layout = np.stack([starts, words])
    return (*_kernels.sign_planes(codes, layout, ids, key, cuts, kind, masked), words)


def sign_pairs(
    planes: U64, masks: U64 | None, zeros: I64, words: I64, rows: I64, labellings: I64
) -> I64:
    """For each column the largest |sum_i v_i A_ij A_il| over other columns and labellings.

    `rows` is the number of rows of each class; the rest is from `sign_planes`.  A class may be put
    together from parts: what is no row has bit 0 in all planes and masks, wherever it lies.

    >>> planes, none = np.array([[5, 0, 0, 0], [6, 0, 0, 0]], np.uint64), np.array([-1, -1])
    >>> sign_pairs(planes, None, none, np.array([0, 4]), np.array([3]), np.array([[1]])).tolist()
    [1, 1]
    """
    demand_signs(planes, masks, zeros, words, rows, labellings)
    out: I64 = _kernels.sign_pairs(planes, masks, zeros, words, rows, labellings)
    return out


def sign_triples(
    planes: U64, masks: U64 | None, zeros: I64, words: I64, rows: I64, labellings: I64
) -> I64:
    """For each column the largest |sum_i v_i A_ij A_il A_im| over other pairs and labellings.

    >>> planes, none = np.array([[5, 0, 0, 0]] * 3, np.uint64), np.array([-1, -1, -1])
    >>> sign_triples(planes, None, none, np.array([0, 4]), np.array([3]), np.array([[2]])).tolist()
    [2, 2, 2]
    """
    demand_signs(planes, masks, zeros, words, rows, labellings)
    out: I64 = _kernels.sign_triples(planes, masks, zeros, words, rows, labellings)
    return out


def pair_gain(
    bins: U8, starts: I64, weight: I64 | None, labellings: I64, grid: int, nominal: U8
) -> I64:
    """How much the best four-cell rule of a column and a partner beats both alone, doubled.

    The rules cut each column at one public indicator: ``bin <= a``, or ``bin == a`` where
    `nominal`, for a = 0..grid - 2, or not at all.  Bins are below `grid`.  Without a partner: 0.

    >>> bins, starts = np.array([[0, 3, 0, 3], [0, 3, 3, 0]], np.uint8), np.array([0, 2, 4])
    >>> pair_gain(bins, starts, None, np.array([[-1, 1]]), 4, np.zeros(2, np.uint8)).tolist()
    [4, 4]
    """
    demand_bins(bins, starts, weight, labellings, grid, nominal)
    out: I64 = _kernels.pair_gain(bins, starts, weight, labellings, grid, nominal)
    return out


def pair_best(
    bins: U8, starts: I64, weight: I64 | None, labellings: I64, grid: int, nominal: U8
) -> I64:
    """Twice the best four-cell rule of each pair of columns, in the order 01, 02, .., 12, ...

    >>> bins, starts = np.array([[0, 3, 0, 3], [0, 3, 3, 0]], np.uint8), np.array([0, 2, 4])
    >>> pair_best(bins, starts, None, np.array([[-1, 1]]), 4, np.zeros(2, np.uint8)).tolist()
    [4]
    """
    demand_bins(bins, starts, weight, labellings, grid, nominal)
    out: I64 = _kernels.pair_best(bins, starts, weight, labellings, grid, nominal)
    return out


def _word(name: str, value: int) -> int:
    return demand_whole(name, value, 0, 2**64 - 1)
