"""Sums: add up, over rows, the values that rules on sets of columns use.

Bins, classes and planes are those of `privsieve.kernels`; sets are in lexicographic order.
"""
# ruff: noqa: PLR0917  six arguments are allowed by the house

from __future__ import annotations

from itertools import combinations

import numpy as np

from privsieve.kernels.contract import (
    I32,
    I64,
    MOST_BINNED,
    MOST_ROWS,
    U8,
    U16,
    U64,
    demand_array,
    demand_equal,
    demand_offsets,
    demand_signs,
    demand_weight,
    demand_whole,
    kernel,
)
from privsieve.kernels.rules import cells_of, known_signs, tie_keys

__all__ = ["TOPS", "cell_sums", "code_sums", "product_sums", "tie_counts", "tied"]

#: The number of parts into which keys fall by their top bits.
TOPS = 4096
_SHIFT = np.uint64(52)


def _demand_codes(codes: U16, label: I32, classes: int) -> None:
    demand_array("codes", codes, np.uint16, 2)
    demand_array("label", label, np.int32, 1)
    demand_equal("rows of codes and label", codes.shape[1], len(label))
    demand_whole("rows", len(label), 0, MOST_ROWS)
    demand_whole("classes", classes, 1, 65536)
    if label.min(initial=0) < 0 or label.max(initial=0) >= classes:
        raise ValueError("labels must be from 0 to one less than the number of classes")


@kernel(_demand_codes)
def code_sums(codes: U16, label: I32, classes: int) -> I64:
    """Sum the codes of each column in each class: int64[classes, columns].

    Rows come in any order.

    >>> codes = np.array([[1, 2, 65535], [0, 0, 7]], np.uint16)
    >>> code_sums(codes, np.array([0, 1, 1], np.int32), 2).tolist()
    [[1, 0], [65537, 7]]
    """
    # [exact-sums] NumPy adds weights as doubles: whole numbers, and exact below 2^53
    many = int(classes)
    sums = [np.bincount(label, column, many) for column in codes]
    return np.array(sums, np.int64).reshape(-1, many).T.copy()


def _demand_cells(bins: U8, starts: I64, weight: I64 | None, grid: int) -> None:
    demand_array("bins", bins, np.uint8, 2)
    demand_offsets("starts", starts, bins.shape[1])
    demand_whole("rows of bins", bins.shape[1], 0, MOST_BINNED)
    demand_weight(weight, bins.shape[1])
    if demand_whole("grid", grid, 0, 255) not in {4, 8, 16}:
        raise ValueError(f"grid must be 4, 8 or 16, not {grid}")
    if bins.max(initial=0) >= grid:
        raise ValueError(f"bins must be below the grid's {grid}")


@kernel(_demand_cells)
def cell_sums(bins: U8, starts: I64, weight: I64 | None, grid: int) -> I64:
    """Sum weights in each cell of each pair of columns: int64[pairs, C * cells].

    Cells are those of the first class, then of the second; the bin of the last column runs fastest.

    >>> bins, starts = np.array([[0, 3, 0], [0, 3, 3]], np.uint8), np.array([0, 2, 3])
    >>> np.flatnonzero(cell_sums(bins, starts, None, 4)[0]).tolist()
    [0, 15, 19]
    """
    sums = [cells_of(bins[[*pair]], starts, weight, grid).ravel()
             for pair in combinations(range(len(bins)), 2)]
    return np.array(sums, np.int64).reshape(len(sums), (len(starts) - 1) * grid**2)


def _demand_products(planes: U64, masks: U64 | None, zeros: I64, words: I64, rows: I64, size: int,
                     ) -> None:
    demand_signs(planes, masks, zeros, words, rows, np.ones((1, np.size(rows)), np.int64))
    demand_whole("size", size, 2, 3)


@kernel(_demand_products)
def product_sums(planes: U64, masks: U64 | None, zeros: I64, words: I64, rows: I64, size: int,
                 ) -> I64:
    """Sum each product of `size` signs over the rows of each class: int64[sets, C].

    The arguments are those of `sign_pairs`.

    >>> planes, none = np.array([[5, 0, 0, 0], [6, 0, 0, 0]], np.uint64), np.array([-1, -1])
    >>> product_sums(planes, None, none, np.array([0, 4]), np.array([3]), 2).tolist()
    [[-1]]
    """
    known, spare = known_signs(planes, masks, zeros, words, rows)
    sums = []
    for columns in combinations(range(len(planes)), size):
        sign, there = np.zeros_like(planes[0]), np.full_like(planes[0], np.iinfo(np.uint64).max)
        for j in columns:
            sign, there = sign ^ planes[j], there & known[j]
        # Bit 1 is +1: a product of two is -1 where one bit is set, one of three where two are.
        minus = (sign if size == 2 else ~sign) & there
        level = np.cumsum([0, *np.bitwise_count(there).astype(np.int64)
                           - 2 * np.bitwise_count(minus).astype(np.int64)])
        blank = spare if size == 2 else -spare
        sums.append(np.diff(level[words]) - blank)
    return np.array(sums, np.int64).reshape(len(sums), len(rows))


def _demand_places(codes: U16, ids: U64, key: int, places: I64, wide: int) -> None:
    demand_array("codes", codes, np.uint16, 2)
    demand_array("ids", ids, np.uint64, 2)
    demand_equal("ids and (unit, row)", len(ids), 2)
    demand_equal("ids and codes", ids.shape[1], codes.shape[1])
    demand_whole("key", key, 0, 2**64 - 1)
    demand_array("places", places, np.int64, 2)
    demand_equal("numbers of a place", places.shape[1], wide)
    least, most = (0, 0, -1)[:wide], (len(codes) - 1, 65535, TOPS - 1)[:wide]
    if (places < least).any() or (places > most).any():
        raise ValueError("places must be columns, codes and parts of keys")


def _demand_ties(codes: U16, ids: U64, key: int, places: I64) -> None:
    _demand_places(codes, ids, key, places, 2)


def _demand_few(codes: U16, ids: U64, key: int, places: I64) -> None:
    _demand_places(codes, ids, key, places, 3)


@kernel(_demand_ties)
def tie_counts(codes: U16, ids: U64, key: int, places: I64) -> I64:
    """Count the top bits of the keys of rows that share a code: int64[places, TOPS].

    A place is a column, whose position is the feature that the keys are of, and a code.

    >>> codes, ids = np.array([[5, 5, 7]], np.uint16), np.array([[0, 1, 2]] * 2, np.uint64)
    >>> tie_counts(codes, ids, 1, np.array([[0, 5]])).sum(axis=1).tolist()
    [2]
    """
    sums = np.zeros((len(places), TOPS), np.int64)
    for counts, (column, code) in zip(sums, places.tolist(), strict=True):
        keys = tie_keys(ids[0][codes[column] == code], column, key)
        counts[:] = np.bincount((keys >> _SHIFT).astype(np.int64), minlength=TOPS)
    return sums


@kernel(_demand_few)
def tied(codes: U16, ids: U64, key: int, places: I64) -> tuple[I64, U64, U64]:
    """Return the rows that share a code and the top bits of their keys: ``(indptr, keys, rows)``.

    A place is a column, a code, and the top bits; -1 for any.

    >>> codes, ids = np.array([[5, 5, 7]], np.uint16), np.array([[0, 1, 2]] * 2, np.uint64)
    >>> top = int(tie_keys(ids[0], 0, 1)[1] >> np.uint64(52))
    >>> tied(codes, ids, 1, np.array([[0, 5, top]]))[2].tolist()
    [1]
    """
    sums, rows = [], []
    for column, code, top in places.tolist():
        same = codes[column] == code
        keys = tie_keys(ids[0][same], column, key)
        inside = (keys >> _SHIFT == top) | (top < 0)
        sums.append(keys[inside])
        rows.append(ids[1][same][inside])
    ends = np.cumsum([0, *map(len, sums)], dtype=np.int64)
    none = np.zeros(0, np.uint64)
    return ends, np.concatenate([none, *sums]), np.concatenate([none, *rows])
