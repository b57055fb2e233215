"""The rules of `cells` for whole columns, and codes on the domain's grid.

Each code is a bit-exact function of its own cell: a fast path is taken only where it gives the
answers of the rule, and only operations that IEEE 754 rounds correctly are used (no logarithm).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from privsieve.public.canonical import BLANK, coded
from privsieve.public.columns import (
    CODES,
    MIDDLE,
    MISSING,
    Category,
    Column,
    Date,
    Flag,
    Label,
    Number,
    Target,
    text_of,
)
from privsieve.rows.cells import (
    DAY,
    date_cell,
    microseconds,
    number_cell,
    text_cell,
)

if TYPE_CHECKING:
    from privsieve.rows.source import RawColumn

Codes = npt.NDArray[np.uint16]
Encode: TypeAlias = "Callable[[RawColumn], Codes]"

_NOT_NUMBER = re.compile(r"[^0-9+\-.eE]")
_PLAIN = frozenset((bool, int, float, type(None)))
#: Among cells of one of these types, and None, those that are equal have the same text.
_EQUAL_TEXT = frozenset((str, bool, int, float))


def encoder(part: Column | Target, decimal: str = ".") -> Encode:
    """The function from a raw column to codes; what depends on the domain alone is done here."""
    if isinstance(part, (Category, Label, Flag)):
        table, other = known(part)
        lower = isinstance(part, Flag)
        return lambda column: levels(column, table, other, lower=lower)
    used, missing = grid(part)
    low, high = bounds(part)
    if isinstance(part, Date):
        form = part.format
        return lambda column: linear(days(column, form), low, used / (high - low), used, missing)
    if part.scale == "log":
        edges = log_edges(part)
        return lambda column: logarithmic(numbers(column, decimal), edges, used, missing)
    return lambda column: linear(numbers(column, decimal), low, used / (high - low), used, missing)


def known(part: Category | Label | Flag) -> tuple[Mapping[str, int], int]:
    """The codes of the texts that are known, and the code of all others.

    >>> known(Category("ward", ["A", "B"]))
    ({'A': 0, 'B': 1}, 2)
    """
    if isinstance(part, Flag):
        return part.words, int(part.default)
    table = coded([text_of(value) for value in part.values])
    return table, len(part.values) if isinstance(part, Category) else part.default_class


def grid(part: Number | Date) -> tuple[int, int]:
    """How many codes are used for values, and the code of what is missing.

    >>> grid(Date("day", "2020-01-01", "2021-01-01", missing="level"))
    (65535, 65535)
    """
    return (MISSING, MISSING) if part.missing_level else (CODES, MIDDLE)


def bounds(part: Number | Date) -> tuple[float, float]:
    """The bounds as numbers; those of a date are days since 1970."""
    if isinstance(part, Date):
        return date_cell(part.low), date_cell(part.high)
    return part.low, part.high


def linear(values: npt.NDArray[np.float64], low: float, step: float, used: int,
           missing: int) -> Codes:
    """`floor((x - low) * step)`, cut to 0..used - 1.

    >>> linear(np.array([0.0, 0.5, 1.0, 9.0, np.nan]), 0.0, 65536.0, 65536, 7)
    array([    0, 32768, 65535, 65535,     7], dtype=uint16)
    """
    with np.errstate(all="ignore"):
        scaled = np.subtract(values, low)
        scaled *= step
        np.clip(scaled, 0, used - 1, out=scaled)
        codes = scaled.astype(np.int32).astype(np.uint16)
    codes[~np.isfinite(values)] = missing
    return codes


def logarithmic(values: npt.NDArray[np.float64], edges: npt.NDArray[np.float64], used: int,
                missing: int) -> Codes:
    """How many inner edges of the grid are at or below each value, at most used - 1."""
    codes = np.minimum(np.searchsorted(edges, values, side="right"), used - 1).astype(np.uint16)
    codes[~np.isfinite(values)] = missing
    return codes


def log_edges(part: Number) -> npt.NDArray[np.float64]:
    """The 65,535 inner edges of a geometric grid, by halving with square roots.

    A square root is rounded correctly everywhere; a logarithm is not, and the workers of one
    release may be different machines.

    >>> from privsieve.public.columns import Number
    >>> log_edges(Number("dose", 1, 16, scale="log"))[[16383, 32767, 49151]]
    array([2., 4., 8.])
    """
    edges = np.empty(CODES + 1)
    edges[0], edges[CODES] = part.low, part.high
    step = CODES
    while step > 1:
        half = step // 2
        edges[half::step] = np.sqrt(edges[:-1:step]) * np.sqrt(edges[step::step])
        step = half
    return np.maximum.accumulate(edges)[1:-1]


def numbers(column: RawColumn, decimal: str = ".") -> npt.NDArray[np.float64]:
    """`number_cell` of each cell; what is not finite is missing.

    >>> numbers(["1", "x", None, 2])
    array([ 1., nan, nan,  2.])
    """
    if isinstance(column, np.ndarray):
        if column.dtype.kind in "biuf":
            with np.errstate(all="ignore"):
                return column.astype(np.float64)
        return np.full(len(column), math.nan)
    found = _plain_numbers(column, decimal)
    if found is None:
        found = [number_cell(cell, decimal) for cell in column]
    return np.array(found, dtype=np.float64)


def _plain_numbers(cells: list[object], decimal: str) -> list[float] | None:
    """The fast path: all cells are texts of numbers (or blank), or all are numbers (or None).

    Of texts made of digits, signs, points and e, `float` takes exactly those that the rule
    takes; it raises for the others.
    """
    kinds = set(map(type, cells))
    try:
        if kinds == {str}:
            texts = [cell.strip(BLANK) for cell in cells]  # type: ignore[attr-defined]
            joined = "".join(texts)
            if decimal != ".":
                if "." in joined:
                    return None
                joined = joined.replace(decimal, ".")
                texts = [text.replace(decimal, ".") for text in texts]
            if _NOT_NUMBER.search(joined):
                return None
            return [float(text or "nan") for text in texts]
        if kinds <= _PLAIN:
            return [math.nan if cell is None else float(cell)  # type: ignore[arg-type]
                    for cell in cells]
    except (ValueError, OverflowError):
        pass
    return None


def days(column: RawColumn, form: str | None = None) -> npt.NDArray[np.float64]:
    """`date_cell` of each cell.

    >>> days(["1970-01-03", "never"])
    array([ 2., nan])
    """
    if isinstance(column, np.ndarray) and column.dtype.kind == "M":
        moments, missing = microseconds(column)
        found = moments / float(DAY)
        found[missing] = math.nan
        return found
    if isinstance(column, np.ndarray):
        distinct, inverse = np.unique(column, return_inverse=True)
        return np.array([date_cell(cell, form) for cell in distinct], np.float64)[inverse]
    known: dict[str, float] = {}
    out = np.empty(len(column))
    for at, cell in enumerate(column):
        if type(cell) is str:
            if cell not in known:
                known[cell] = date_cell(cell, form)
            out[at] = known[cell]
        else:
            out[at] = date_cell(cell, form)
    return out


def texts(column: RawColumn) -> list[str]:
    """`text_cell` of each cell.

    >>> texts([" a", 1.0, "1.0", None])
    ['a', '1', '1', '']
    """
    return [text_cell(cell) for cell in column]


def levels(column: RawColumn, table: Mapping[str, int], other: int, *,
           lower: bool = False) -> Codes:
    """The code of each cell's text in a table.

    >>> levels(["A", "b", None], {"A": 0, "B": 1}, 2)
    array([0, 2, 2], dtype=uint16)
    """
    if isinstance(column, np.ndarray):
        distinct, inverse = np.unique(column, return_inverse=True)
        return _looked_up(list(distinct), table, other, lower=lower)[inverse]
    return _looked_up(column, table, other, lower=lower)


def _looked_up(cells: list[object], table: Mapping[str, int], other: int, *,
               lower: bool) -> Codes:
    def code(cell: object) -> int:
        text = text_cell(cell)
        return table.get(text.lower() if lower else text, other)

    kinds = set(map(type, cells)) - {type(None)}
    if len(kinds) == 1 and kinds <= _EQUAL_TEXT:
        known = {cell: code(cell) for cell in set(cells)}
        return np.array([known[cell] for cell in cells], dtype=np.uint16)
    return np.array([code(cell) for cell in cells], dtype=np.uint16)
