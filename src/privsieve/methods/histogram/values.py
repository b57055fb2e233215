"""Values: from cells back to what a domain's columns hold.  Free: it sees no row.

The inverse of the reader's coding: what is made for a cell is read into the same cell again.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privsieve.public.columns import CODES, Date, Flag, Number, text_of
from privsieve.rows.cells import DAY, bounds, log_edges

if TYPE_CHECKING:
    from privsieve.methods.histogram.axes import Axis


Ints = npt.NDArray[np.int64]

#: What a level that is not listed is called, where no listed one has this name.
OTHER = "other"
_SECONDS = 86_400


def at_code(column: Number | Date, codes: npt.NDArray[Any] | Sequence[int],
            ) -> npt.NDArray[np.float64]:
    """Where codes begin, as numbers; those of a date are days since 1970.

    >>> at_code(Number("age", 0, 110), [0, 32768, 65536]).tolist()
    [0.0, 55.0, 110.0]
    >>> at_code(Number("dose", 1, 16, scale="log"), [0, 16384, 32768, 65536]).tolist()
    [1.0, 2.0, 4.0, 16.0]
    """
    places = np.asarray(codes, np.float64)
    low, high = bounds(column)
    if isinstance(column, Number) and column.scale == "log":
        known = np.concatenate([[low], log_edges(column), [high]])
        return known[np.minimum(places, CODES).astype(np.intp)]
    used = CODES - column.missing_level
    found: npt.NDArray[np.float64] = np.clip(low + places * ((high - low) / used), low, high)
    return found


def edges(axis: Axis) -> list[str]:
    """The edges of an axis' bins, as text; of a date in ISO 8601.

    >>> from privsieve.public.columns import Category
    >>> from privsieve.methods.histogram.axes import Axis
    >>> edges(Axis(Number("age", 0, 100), 4))
    ['0.0', '25.0', '50.0', '75.0', '100.0']
    >>> edges(Axis(Date("day", "2020-01-01", "2020-01-02"), 2))
    ['2020-01-01', '2020-01-01T12:00:00', '2020-01-02']
    """
    assert isinstance(axis.column, Number | Date)
    found = at_code(axis.column, axis.begins)
    if isinstance(axis.column, Date):
        return [_moment(round(day * DAY)) for day in found.tolist()]
    return [repr(edge) for edge in found.tolist()]


def names(axis: Axis) -> list[str]:
    """What the cells of an axis are called.

    >>> from privsieve.public.columns import Category
    >>> from privsieve.methods.histogram.axes import Axis
    >>> names(Axis(Category("ward", ["A", "B"])))
    ['A', 'B', 'other']
    >>> names(Axis(Number("age", 0, 100, missing="level"), 2))
    ['0 to 50', '50 to 100', 'missing']
    """
    column = axis.column
    if isinstance(column, Flag):
        return ["no", "yes"]
    if isinstance(column, Number | Date):
        ends = edges(axis)
        if isinstance(column, Number):
            ends = [f"{x:,.0f}" if abs(x) >= 10**4 else f"{x:.4g}" for x in map(float, ends)]
        found = [f"{low} to {high}" for low, high in pairwise(ends)]
        return found + ["missing"] * (axis.cells > axis.bins)
    listed = [text_of(value) for value in column.values]
    return listed + [OTHER] * (axis.cells > len(listed))


def made(axis: Axis, cells: Ints, rng: np.random.Generator) -> npt.NDArray[Any]:
    """A value for each cell: its level, or one that is uniform in its bin.

    >>> from privsieve.public.columns import Category
    >>> from privsieve.methods.histogram.axes import Axis
    >>> rng = np.random.default_rng(0)
    >>> made(Axis(Category("ward", ["A", "B"])), np.array([1, 2]), rng).tolist()
    ['B', 'other']
    >>> found = made(Axis(Number("age", 0, 100), 4), np.array([0, 3]), rng)
    >>> bool(0 <= found[0] < 25 and 75 <= found[1] <= 100)
    True
    """
    column = axis.column
    if isinstance(column, Flag):
        return cells.astype(np.bool_)
    if isinstance(column, Number | Date):
        return _spread(axis, cells, rng)
    listed: list[Any] = list(column.values)
    if axis.cells > len(listed):
        known = {text_of(value) for value in listed}
        listed.append(OTHER if OTHER not in known else None)
    found = np.empty(len(listed), object)
    found[:] = listed
    return (found if len({type(value) for value in listed}) > 1 else np.array(listed))[cells]


def _spread(axis: Axis, cells: Ints, rng: np.random.Generator) -> npt.NDArray[Any]:
    """Uniform values in bins; nothing where a cell is that of what is missing."""
    column, begins = axis.column, np.array(axis.begins)
    assert isinstance(column, Number | Date)
    missing = cells >= axis.bins
    bins = np.where(missing, 0, cells)
    if isinstance(column, Date):
        return _days(column, at_code(column, begins), bins, rng, missing)
    # [inside] at the middle of a code of the bin: no rounding leads out of it
    codes = rng.integers(begins[bins], begins[bins + 1])
    low, high = at_code(column, codes), at_code(column, codes + 1)
    found = np.sqrt(low) * np.sqrt(high) if column.scale == "log" else _short(column, low, high)
    found[missing] = np.nan
    return found


def _short(column: Number, low: npt.NDArray[np.float64], high: npt.NDArray[np.float64],
           ) -> npt.NDArray[np.float64]:
    """Middles, in as few decimals as keep them in their quarter of the code."""
    digits = int(np.ceil(np.log10(4 * CODES / (column.high - column.low))))
    found: npt.NDArray[np.float64] = (low + high) / 2
    return np.round(found, digits) if abs(digits) < 15 else found  # digits of a double


def _days(column: Date, ends: npt.NDArray[np.float64], bins: Ints, rng: np.random.Generator,
          missing: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """Whole days where the bounds are whole days, else seconds."""
    whole = all(moment.time() == dt.time() for moment in (column.low, column.high))
    per = 1 if whole else _SECONDS
    first = np.ceil(ends[:-1] * per).astype(np.int64)
    last = np.ceil(ends[1:] * per).astype(np.int64)
    # A bin that holds no whole one gets the one before it; the last holds its end.
    last[-1] += ends[-1] * per == last[-1]
    empty = last <= first
    first[empty], last[empty] = first[empty] - 1, first[empty]
    found = rng.integers(first[bins], last[bins]).astype(f"M8[{'D' if whole else 's'}]")
    found[missing] = np.datetime64("NaT")
    return found


def _moment(micro: int) -> str:
    text = str(np.datetime64(micro, "us"))
    return text.removesuffix(".000000").removesuffix("T00:00:00")
