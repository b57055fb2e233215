"""What every kernel demands of its arrays, checked once for both implementations.

Shapes, types and offsets are public; no text here can show what an array holds.  How large sums
may become is said in `magnitudes`.  A kernel trusts all of this: it looks at nothing twice.
"""
# ruff: noqa: PLR0917  six arguments are allowed by the house

from __future__ import annotations

from operator import index
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

from privsieve.kernels.magnitudes import (
    class_sums,
    demand_column_sums,
    demand_signed,
    demand_total,
    largest,
)

U8: TypeAlias = npt.NDArray[np.uint8]
U16: TypeAlias = npt.NDArray[np.uint16]
U64: TypeAlias = npt.NDArray[np.uint64]
I64: TypeAlias = npt.NDArray[np.int64]
Cells: TypeAlias = tuple[I64, npt.NDArray[np.int32]]
Runs: TypeAlias = tuple[I64, U16, npt.NDArray[Any]]
Cuts: TypeAlias = tuple[U16, U64, U64, I64]
Planes: TypeAlias = tuple[U64, U64 | None, I64, I64]

__all__ = [
    "demand_array", "demand_bins", "demand_column_weights", "demand_cuts", "demand_equal",
    "demand_items", "demand_kind", "demand_offsets", "demand_rising", "demand_room", "demand_runs",
    "demand_signs", "demand_weight", "demand_whole",
]  # fmt: skip

#: Rows, columns and places of a row are 32-bit integers in the kernels.
MOST_ROWS = 2**31 - 1
#: Histograms of bins have four counts of 32 bits a cell, each for every fourth row.
MOST_BINNED = 2**33
#: Entries that are compared at a time: they stay in the first caches.
AT_ONCE = 1 << 15


def demand_array(
    name: str, value: object, dtype: npt.DTypeLike | list[npt.DTypeLike], ndim: int
) -> None:
    """Refuse what is not a C-contiguous, aligned array of this type and this many dimensions.

    >>> demand_array("codes", np.zeros(3), np.uint16, 1)
    Traceback (most recent call last):
    ...
    TypeError: codes must be a C-contiguous array of uint16 with 1 dimensions; convert it first
    """
    allowed = [np.dtype(t) for t in (dtype if isinstance(dtype, list) else [dtype])]
    good = (
        isinstance(value, np.ndarray)
        and value.dtype in allowed
        and value.ndim == ndim
        and value.flags.c_contiguous
        and value.flags.aligned
    )
    if not good:
        types = " or ".join(str(t) for t in allowed)
        raise TypeError(
            f"{name} must be a C-contiguous array of {types} with {ndim} dimensions; "
            "convert it first"
        )


def demand_room(name: str, room: npt.NDArray[Any]) -> None:
    """Refuse an array that an answer cannot be written into.

    >>> demand_room("out", np.zeros(3))
    """
    if not room.flags.writeable:
        raise ValueError(f"{name} cannot be written to; copy it first")


def demand_whole(name: str, value: SupportsIndex, low: int, high: int) -> int:
    """Read a whole number from `low` to `high`.

    >>> demand_whole("k", 0, 1, 5)
    Traceback (most recent call last):
    ...
    ValueError: k must be at least 1 and at most 5
    """
    try:
        found = index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number") from None
    if not low <= found <= high:
        raise ValueError(f"{name} must be at least {low} and at most {high}")
    return int(found)


def demand_equal(what: str, first: int, second: int) -> None:
    """Refuse two lengths that should be the same.

    >>> demand_equal("kind and codes", 2, 3)
    Traceback (most recent call last):
    ...
    ValueError: kind and codes must agree in length, but have 2 and 3
    """
    if first != second:
        raise ValueError(f"{what} must agree in length, but have {first} and {second}")


def demand_offsets(name: str, offsets: object, end: int) -> None:
    """Refuse offsets that do not lead from 0 to `end` without a step back.

    >>> demand_offsets("starts", np.array([0, 2, 1]), 1)
    Traceback (most recent call last):
    ...
    ValueError: starts must rise from 0 to the number of entries that it divides
    """
    demand_array(name, offsets, np.int64, 1)
    assert isinstance(offsets, np.ndarray)
    if not len(offsets) or offsets[0] or offsets[-1] != end or (np.diff(offsets) < 0).any():
        raise ValueError(f"{name} must rise from 0 to the number of entries that it divides")


def demand_rising(name: str, offsets: I64, values: npt.NDArray[Any]) -> None:
    """Refuse values that do not rise strictly inside each of the parts that offsets divide.

    >>> demand_rising("rows", np.array([0, 2, 4]), np.array([3, 5, 1, 1]))
    Traceback (most recent call last):
    ...
    ValueError: rows must rise
    """
    falls = sum(int(np.count_nonzero(values[a + 1 : a + AT_ONCE + 1]
                                     <= values[a : a + AT_ONCE][: len(values) - a - 1]))
                for a in range(0, len(values) - 1, AT_ONCE))
    if not falls:
        return
    begins = np.unique(offsets)
    begins = begins[(begins > 0) & (begins < len(values))]
    if falls != np.count_nonzero(values[begins] <= values[begins - 1]):
        raise ValueError(f"{name} must rise")


def demand_items(items: Cells, rows: int) -> None:
    """Refuse items whose rows are none of the table's, or do not rise.

    Rows that rise are each there once: sums over them are counts, and a set of rows is one list.

    >>> demand_items((np.array([0, 2]), np.array([1, 1], np.int32)), 2)
    Traceback (most recent call last):
    ...
    ValueError: the rows of an item must rise
    """
    indptr, indices = items
    demand_array("indices", indices, np.int32, 1)
    demand_offsets("indptr", indptr, len(indices))
    demand_whole("rows", rows, 0, MOST_ROWS)
    demand_whole("items", len(indptr) - 1, 0, MOST_ROWS)
    demand_rising("the rows of an item", indptr, indices)
    held = indptr[1:] > indptr[:-1]
    first, last = indices[indptr[:-1][held]], indices[indptr[1:][held] - 1]
    if len(first) and not 0 <= first.min() <= last.max() < rows:
        raise ValueError(f"indices must be rows from 0 to {rows - 1}")


def demand_runs(name: str, runs: Runs) -> int:
    """Refuse a triple that is not what `runs` returns; its largest count.

    >>> demand_runs("a", (np.array([0, 1]), np.zeros(1, np.uint16), np.array([[2, 5]])))
    5
    """
    indptr, code, count = runs
    demand_array(f"{name}: code", code, np.uint16, 1)
    demand_array(f"{name}: count", count, [np.int32, np.int64], 2)
    demand_offsets(f"{name}: indptr", indptr, len(code))
    demand_equal(f"{name}: code and count", len(code), len(count))
    demand_rising(f"{name}: the codes of a column", indptr, code)
    return largest(f"{name}: count", count)


def demand_kind(kind: U8, what: str, columns: int) -> None:
    """Refuse kinds that are none, or not one for each column.

    >>> demand_kind(np.array([4], np.uint8), "codes", 1)
    Traceback (most recent call last):
    ...
    ValueError: kind must be 0, 1, 2 or 3
    """
    demand_array("kind", kind, np.uint8, 1)
    demand_equal(f"kind and {what}", len(kind), columns)
    if kind.max(initial=0) > 3:
        raise ValueError("kind must be 0, 1, 2 or 3")


def demand_column_weights(runs: Runs, labellings: I64, kind: U8) -> None:
    """Refuse what is no runs, and kinds and class weights that do not fit them or weigh too much.

    >>> runs = np.array([0, 1]), np.zeros(1, np.uint16), np.array([[2**40]])
    >>> demand_column_weights(runs, np.array([[2**30]]), np.zeros(1, np.uint8))
    Traceback (most recent call last):
    ...
    ValueError: labellings weigh the rows with 2^61 or more: sums of them may not fit 64 bits
    """
    top = demand_runs("runs", runs)
    demand_array("labellings", labellings, np.int64, 2)
    demand_kind(kind, "runs", len(runs[0]) - 1)
    demand_equal("classes of labellings and runs", labellings.shape[1], runs[2].shape[1])
    demand_column_sums(runs, top, labellings)


def demand_cuts(cuts: Cuts, kind: U8, columns: int) -> None:
    """Refuse what is not what `median_cut` returns for these columns.

    >>> none = np.empty(0, np.uint64)
    >>> demand_cuts((np.empty(0, np.uint16), none, none, np.empty(0, np.int64)),
    ...             np.empty(0, np.uint8), 0)
    """
    types = (np.uint16, np.uint64, np.uint64, np.int64, np.uint8)
    parts: list[npt.NDArray[Any]] = [*cuts, kind]
    for part, dtype in zip(parts, types, strict=True):
        demand_array("each part of cuts, and kind,", part, dtype, 1)
        demand_equal("cuts, kind and codes", len(part), columns)
    demand_kind(kind, "codes", columns)
    largest("count of cuts", cuts[3])


def demand_weight(weight: I64 | None, rows: int) -> None:
    """Refuse weights that are not one int64 a row, 0 or more.

    >>> demand_weight(None, 3)
    """
    if weight is not None:
        demand_array("weight", weight, np.int64, 1)
        demand_equal("weight and rows", len(weight), rows)
        demand_total("weight", weight)


def demand_signs(
    planes: U64, masks: U64 | None, zeros: I64, words: I64, rows: I64, labellings: I64
) -> None:
    """Refuse planes whose parts do not fit each other.

    >>> planes, zeros = np.zeros((1, 4), np.uint64), np.array([256])
    >>> demand_signs(planes, None, zeros, np.array([0, 4]), np.array([3]), np.array([[1]]))
    Traceback (most recent call last):
    ...
    ValueError: zeros must be -1 or lie within the planes
    """
    demand_array("planes", planes, np.uint64, 2)
    if masks is not None:
        demand_array("masks", masks, np.uint64, 2)
        demand_equal("masks and planes", len(masks), len(planes))
        demand_equal("words of masks and planes", masks.shape[1], planes.shape[1])
        if any((plane & ~mask).any() for plane, mask in zip(planes, masks, strict=True)):
            raise ValueError("planes must have bit 0 where masks have")
    demand_array("zeros", zeros, np.int64, 1)
    demand_equal("zeros and planes", len(zeros), len(planes))
    demand_offsets("words", words, planes.shape[1])
    demand_array("rows", rows, np.int64, 1)
    demand_array("labellings", labellings, np.int64, 2)
    demand_equal("rows and words", len(rows), len(words) - 1)
    demand_equal("rows and classes of labellings", len(rows), labellings.shape[1])
    if (rows < 0).any() or (rows > np.diff(words) * 64).any():
        raise ValueError("rows must fit the words of their class")
    if (zeros < -1).any() or (zeros >= planes.shape[1] * 64).any():
        raise ValueError("zeros must be -1 or lie within the planes")
    # Whatever the planes hold: a class adds up its rows less twice the bits that differ.
    demand_signed(labellings, np.diff(words) * 128)


def demand_bins(
    bins: U8, starts: I64, weight: I64 | None, labellings: I64, grid: int, nominal: U8
) -> None:
    """Refuse bins whose companions do not fit them, or a grid without a kernel.

    >>> bins, starts = np.zeros((1, 2), np.uint8), np.array([0, 2])
    >>> demand_bins(bins, starts, None, np.array([[1]]), 5, np.zeros(1, np.uint8))
    Traceback (most recent call last):
    ...
    ValueError: grid must be 4, 8 or 16, not 5
    """
    demand_array("bins", bins, np.uint8, 2)
    demand_offsets("starts", starts, bins.shape[1])
    demand_whole("rows of bins", bins.shape[1], 0, MOST_BINNED)
    demand_weight(weight, bins.shape[1])
    demand_array("labellings", labellings, np.int64, 2)
    demand_equal("classes of labellings and starts", labellings.shape[1], len(starts) - 1)
    demand_array("nominal", nominal, np.uint8, 1)
    demand_equal("nominal and bins", len(nominal), len(bins))
    if demand_whole("grid", grid, 0, 255) not in {4, 8, 16}:
        raise ValueError(f"grid must be 4, 8 or 16, not {grid}")
    if bins.max(initial=0) >= grid:
        raise ValueError(f"bins must be below the grid's {grid}")
    demand_signed(labellings, class_sums(starts, weight))
