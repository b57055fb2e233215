"""The kernels in NumPy: the same names, arguments and bits as the native extension.

They serve where no compiler was, and check the native ones.  What each computes is said in
`privsieve.kernels`; arguments have passed `contract`.
"""
# ruff: noqa: PLR0917  six arguments are allowed by the house

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from privsieve.kernels.contract import I64, U8, U16, U64, Cuts, Runs

__all__ = [
    "interval",
    "median_cut",
    "merge_runs",
    "mix64",
    "pair_best",
    "pair_gain",
    "runs",
    "sign_pairs",
    "sign_planes",
    "sign_triples",
    "tie_keys",
]

_MISSING = 65535


def mix64(z: U64) -> U64:
    """Twin of `kernels.mix64`."""
    with np.errstate(over="ignore"):
        z = z + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def tie_keys(unit: U64, feature: int, key: int) -> U64:
    """Twin of `kernels.tie_keys`."""
    with np.errstate(over="ignore"):
        place = unit * np.uint64(0x100000001B3) ^ np.uint64(feature << 40 & (1 << 64) - 1)
    return mix64(np.uint64(key) ^ mix64(place))


def runs(codes: U16, starts: I64, weight: I64 | None) -> Runs:
    """Twin of `kernels.runs`."""
    classes = len(starts) - 1
    label = np.repeat(np.arange(classes), np.diff(starts))
    wide = np.int32 if weight is None else np.int64
    found = [np.unique(column, return_inverse=True) for column in codes]
    counts = []
    for code, place in found:
        count = np.zeros((len(code), classes), wide)
        np.add.at(count, (place, label), 1 if weight is None else weight)
        counts.append(count)
    return _join([code for code, _ in found], counts, (classes, wide))


def merge_runs(a: Runs, b: Runs, wide: bool) -> Runs:  # noqa: FBT001  the native twin's signature
    """Twin of `kernels.merge_runs`."""
    dtype, classes = np.int64 if wide else np.int32, a[2].shape[1]
    codes, counts = [], []
    for j in range(len(a[0]) - 1):
        parts = [(r[1][r[0][j] : r[0][j + 1]], r[2][r[0][j] : r[0][j + 1]]) for r in (a, b)]
        code, place = np.unique(np.concatenate([c for c, _ in parts]), return_inverse=True)
        count = np.zeros((len(code), classes), dtype)
        np.add.at(count, place, np.concatenate([n for _, n in parts]).astype(dtype))
        codes.append(code)
        counts.append(count)
    return _join(codes, counts, (classes, dtype))


def _join(codes: list[U16], counts: list[I64], like: tuple[int, type]) -> Runs:
    indptr = np.cumsum([0, *map(len, codes)], dtype=np.int64)
    classes, dtype = like
    return (
        indptr,
        np.concatenate([np.empty(0, np.uint16), *codes]),
        np.concatenate([np.empty((0, classes), dtype), *counts]),
    )


def interval(runs: Runs, labellings: I64, kind: U8) -> I64:
    """Twin of `kernels.interval`."""
    indptr, code, count = runs
    signed = labellings @ count.T.astype(np.int64)
    out = np.zeros((len(labellings), len(kind)), np.int64)
    for j, (first, last) in enumerate(pairwise(indptr)):
        value = signed[:, first:last]
        missing = code[first:last] == _MISSING
        if kind[j] == 3:
            total = value.sum(1)
            out[:, j] = np.abs(np.column_stack([2 * value - total[:, None], total])).max(1)
        elif kind[j] == 2:
            out[:, j] = np.abs(value).sum(1)
        elif kind[j] == 1:
            out[:, j] = _ordered(value[:, ~missing]) + np.abs(value[:, missing]).sum(1)
        else:
            out[:, j] = _ordered(value)
    return out


def _ordered(value: I64) -> I64:
    level = np.concatenate([np.zeros((len(value), 1), np.int64), np.cumsum(value, 1)], 1)
    up = (level - np.minimum.accumulate(level, 1)).max(1)
    down = (np.maximum.accumulate(level, 1) - level).max(1)
    total = level[:, -1]
    best: I64 = np.maximum(np.maximum(2 * up - total, total + 2 * down), np.abs(total))
    return best


def median_cut(codes: U16, unit: U64, row: U64, key: int, kind: U8) -> Cuts:
    """Twin of `kernels.median_cut`."""
    d = len(codes)
    code, count = np.zeros(d, np.uint16), np.zeros(d, np.int64)
    keys, rows = np.zeros(d, np.uint64), np.zeros(d, np.uint64)
    for j in np.flatnonzero(kind < 2):
        here = codes[j] != _MISSING if kind[j] else np.ones(len(unit), bool)
        count[j] = here.sum()
        if count[j]:
            value, tie, place = codes[j][here], tie_keys(unit[here], int(j), key), row[here]
            middle = np.lexsort((place, tie, value))[count[j] // 2]
            code[j], keys[j], rows[j] = value[middle], tie[middle], place[middle]
    return code, keys, rows, count


def sign_planes(
    codes: U16, layout: I64, ids: U64, key: int, cuts: Cuts, kind: U8, masked: bool,  # noqa: FBT001  the native twin's signature
) -> tuple[U64, U64 | None, I64]:
    """Twin of `kernels.sign_planes`, which has checked and laid out its arguments."""
    starts, words = layout
    bit = np.arange(codes.shape[1]) + np.repeat(words[:-1] * 64 - starts[:-1], np.diff(starts))
    planes = np.zeros((len(codes), int(words[-1])), np.uint64)
    masks, zeros = np.zeros_like(planes), np.full(len(codes), -1, np.int64)
    unit, row = ids
    for j in np.flatnonzero((kind < 2) & (cuts[3] > 0)):
        code, tie, place, count = (part[j] for part in cuts)
        keys = tie_keys(unit, int(j), key)
        same = codes[j] == code
        tied = same & (keys == tie)
        zero = tied & (row == place) if count % 2 else np.zeros(len(row), bool)
        known = codes[j] != _MISSING if kind[j] else np.ones(len(row), bool)
        above = (codes[j] > code) | (same & (keys > tie)) | (tied & (row >= place))
        zeros[j] = bit[zero].max(initial=-1)
        planes[j] = _pack(bit[above & known & ~zero], int(words[-1]))
        masks[j] = _pack(bit[known & (bit != zeros[j])], int(words[-1]))
    return planes, masks if masked else None, zeros


def _pack(bit: I64, words: int) -> U64:
    flags = np.zeros(words * 64, bool)
    flags[bit] = True
    return np.packbits(flags, bitorder="little").view("<u8")


def sign_pairs(
    planes: U64, masks: U64 | None, zeros: I64, words: I64, rows: I64, labellings: I64,
) -> I64:
    """Twin of `kernels.sign_pairs`."""
    known, spare = _known(planes, masks, zeros, words, rows)
    best = np.zeros(len(planes), np.int64)
    for l in range(len(planes) - 1):  # noqa: E741  the paper's letter
        left, right = (planes[l], known[l]), (planes[l + 1 :], known[l + 1 :])
        top = _products(left, right, words, spare, labellings)
        best[l] = max(best[l], top.max())
        best[l + 1 :] = np.maximum(best[l + 1 :], top)
    return best


def sign_triples(
    planes: U64, masks: U64 | None, zeros: I64, words: I64, rows: I64, labellings: I64,
) -> I64:
    """Twin of `kernels.sign_triples`."""
    known, spare = _known(planes, masks, zeros, words, rows)
    best = np.zeros(len(planes), np.int64)
    for l in range(1, len(planes) - 1):  # noqa: E741  the paper's letter
        right = planes[l + 1 :], known[l + 1 :]
        for j in range(l):
            left = planes[j] ^ planes[l], known[j] & known[l]
            top = _products(left, right, words, spare, labellings)
            best[j], best[l] = max(best[j], top.max()), max(best[l], top.max())
            best[l + 1 :] = np.maximum(best[l + 1 :], top)
    return best


def _known(
    planes: U64, masks: U64 | None, zeros: I64, words: I64, rows: I64,
) -> tuple[U64, I64]:
    """Masks, and for each class how many of their bits are no rows.

    Without masks every bit is known but the zero row's; the padding, which has equal signs in
    all planes, is then counted and taken off.
    """
    if masks is not None:
        return masks, np.zeros_like(rows)
    known = np.full_like(planes, np.iinfo(np.uint64).max)
    for j in np.flatnonzero(zeros >= 0):
        known[j, zeros[j] >> 6] ^= np.uint64(1 << int(zeros[j] & 63))
    return known, np.diff(words) * 64 - rows


def _products(
    left: tuple[U64, U64], right: tuple[U64, U64], words: I64, spare: I64, labellings: I64,
) -> I64:
    """Max over labellings of |sum of left x right|, for each row of `right`."""
    both = left[1] & right[1]
    unlike = np.bitwise_count((left[0] ^ right[0]) & both).astype(np.int64)
    level = np.cumsum(np.bitwise_count(both).astype(np.int64) - 2 * unlike, axis=1)
    level = np.concatenate([np.zeros((len(level), 1), np.int64), level], 1)
    sums = np.diff(level[:, words], axis=1) - spare
    best: I64 = np.abs(sums @ labellings.T).max(1, initial=0)
    return best


def pair_gain(
    bins: U8, starts: I64, weight: I64 | None, labellings: I64, grid: int, nominal: U8,
) -> I64:
    """Twin of `kernels.pair_gain`."""
    d = len(bins)
    never = np.iinfo(np.int64).min if d > 1 and len(labellings) else 0
    gain = np.full(d, never, np.int64)
    for pair, q in pair_tables(bins, starts, weight, labellings, grid, nominal):
        total = q[:, -1, -1]
        alone = np.abs(2 * np.concatenate([q[:, :, -1], q[:, -1, :]], 1) - total[:, None]).max(1)
        gain[pair] = np.maximum(gain[pair], (_four_cells(q) - alone).max(initial=never))
    return gain


def pair_best(
    bins: U8, starts: I64, weight: I64 | None, labellings: I64, grid: int, nominal: U8,
) -> I64:
    """Twin of `kernels.pair_best`."""
    tables = pair_tables(bins, starts, weight, labellings, grid, nominal)
    return np.array([_four_cells(q).max(initial=0) for _, q in tables], np.int64)


def pair_tables(
    bins: U8, starts: I64, weight: I64 | None, labellings: I64, grid: int, nominal: U8,
) -> Iterator[tuple[list[int], I64]]:
    """Pairs j < l with q[labelling, a, b] = signed weight of both indicators; the last is all."""
    d, classes = len(bins), len(starts) - 1
    label = np.repeat(np.arange(classes), np.diff(starts))
    for j in range(d):
        rows = (label * grid + bins[j]) * grid
        for l in range(j + 1, d):  # noqa: E741  the paper's letter
            cell = np.zeros(classes * grid * grid, np.int64)
            np.add.at(cell, rows + bins[l], 1 if weight is None else weight)
            signed = (labellings @ cell.reshape(classes, -1)).reshape(-1, grid, grid)
            yield [j, l], indicators(indicators(signed, 1, nominal[j]), 2, nominal[l])


def indicators(cells: I64, axis: int, nominal: int) -> I64:
    """Sums up to each bin, or each bin by itself; the last place is the sum of all."""
    up_to = np.cumsum(cells, axis)
    if not nominal:
        return up_to
    levels = np.delete(cells, -1, axis)
    return np.concatenate([levels, np.take(up_to, [-1], axis)], axis)


def _four_cells(q: I64) -> I64:
    a, b, total = q[:, :, -1:], q[:, -1:, :], q[:, -1:, -1:]
    cells = np.abs(q) + np.abs(a - q) + np.abs(b - q) + np.abs(total - a - b + q)
    best: I64 = cells.max((1, 2), initial=0)
    return best
