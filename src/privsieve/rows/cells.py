"""The rules for one cell: what is a number, a date, a text.  Total: whatever the cell is.

These are the definitions.  `columns` gives the same answers for whole columns, faster; the reader
and `inspect` use nothing else.  Only types that are known are looked at: the methods of a foreign
object (`__str__`, `__float__`) are never called.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from privsieve.public.canonical import BLANK, plain
from privsieve.public.columns import text_of

#: A decimal number, in ASCII.
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
#: Microseconds in a day.
DAY = 86_400_000_000
_EPOCH = dt.date(1970, 1, 1).toordinal()
#: pandas' missing values, by name, so that pandas is not imported.
_MISSING_TYPES = ("NAType", "NaTType")
#: NumPy counts a duration among its signed integers, so these are named one by one.
_NUMBERS = (bool, int, float, np.bool_, np.byte, np.short, np.intc, np.int_, np.longlong,
            np.unsignedinteger, np.floating)
_MICRO = {"W": 7 * DAY, "D": DAY, "h": DAY // 24, "m": 60_000_000, "s": 1_000_000, "ms": 1000,
          "us": 1}
_FINE = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}


def text_cell(cell: object) -> str:
    """The text by which a category, flag, label or person is compared; "" is missing.

    >>> text_cell(3.0), text_cell("3.0"), text_cell(" A "), text_cell(True), text_cell([1])
    ('3', '3', 'A', '1', '')
    """
    if type(cell) is str:
        return plain(cell)
    try:
        return plain(_text(cell))
    except Exception:  # noqa: BLE001  # a cell may be any object; it may not raise
        return ""


def number_cell(cell: object, decimal: str = ".") -> float:
    """The number that a cell says; NaN where it says none, or none that is finite.

    >>> number_cell("1e3"), number_cell(" -2.5"), number_cell("1,5", ","), number_cell("1_000")
    (1000.0, -2.5, 1.5, nan)
    """
    try:
        found = _number(cell, decimal)
    except Exception:  # noqa: BLE001  # a cell may be any object; it may not raise
        return math.nan
    return found if math.isfinite(found) else math.nan


def date_cell(cell: object, form: str | None = None) -> float:
    """Days since 1970-01-01 in universal time; NaN where the cell says no date.

    >>> date_cell("1970-01-02T12:00"), date_cell("31.01.1970", "%d.%m.%Y"), date_cell("soon")
    (1.5, 30.0, nan)
    """
    try:
        moment = _moment(cell)
        if moment is None:
            text = _text(cell)
            moment = _parsed(text, form)
            if moment is None and text != plain(text):
                moment = _parsed(plain(text), form)
    except Exception:  # noqa: BLE001  # a cell may be any object; it may not raise
        return math.nan
    return math.nan if moment is None else float(moment) / DAY


def is_missing(cell: object) -> bool:
    """Whether nothing was written: None, NaN, NA, NaT, or a blank text.

    >>> is_missing("  "), is_missing(float("nan")), is_missing("NA"), is_missing([])
    (True, True, False, False)
    """
    if cell is None or type(cell).__name__ in _MISSING_TYPES:
        return True
    if isinstance(cell, (str, bytes)):
        return not text_cell(cell)
    if isinstance(cell, (float, np.floating)):
        return math.isnan(cell)
    if isinstance(cell, np.datetime64):
        return bool(np.isnat(cell))
    return isinstance(cell, Decimal) and cell.is_nan()


def microseconds(dates: npt.NDArray[np.datetime64]) -> tuple[npt.NDArray[np.int64],
                                                             npt.NDArray[np.bool_]]:
    """Microseconds since 1970 (rounded down; far dates become a bound), and where there is none.

    >>> microseconds(np.array(["1970-01-01T00:00:01", "NaT"], "M8[s]"))
    (array([1000000,       0]), array([False,  True]))
    """
    unit, count = np.datetime_data(dates.dtype)
    missing = np.isnat(dates)
    if unit in ("Y", "M"):
        # Months have no length of their own; beyond these years all bounds have been passed.
        year = 12 * count if unit == "Y" else count
        far = 12 * 20_000 // year
        ticks = np.clip(_ticks(dates), -far, far) * count
        return microseconds(np.where(missing, 0, ticks).astype(f"M8[{unit}]").astype("M8[D]"))[0], \
            missing
    if unit in _FINE:
        whole = np.clip(_ticks(dates), -(2**62 // count), 2**62 // count) * count // _FINE[unit]
    elif unit in _MICRO:
        step = _MICRO[unit] * count
        whole = np.clip(_ticks(dates), -(2**62 // step), 2**62 // step) * step
    else:  # a unit-less array holds nothing but NaT
        missing = np.ones(len(dates), dtype=np.bool_)
        whole = np.zeros(len(dates), dtype=np.int64)
    return np.where(missing, 0, whole), missing


def _ticks(dates: npt.NDArray[np.datetime64]) -> npt.NDArray[np.int64]:
    native = dates.astype(dates.dtype.newbyteorder("="), copy=False)
    return np.ascontiguousarray(native).view(np.int64)


def _text(cell: object) -> str:
    if isinstance(cell, str):
        return str.__str__(cell).strip(BLANK)
    if isinstance(cell, bytes):
        return bytes.decode(cell, "utf-8", "replace").strip(BLANK)
    if isinstance(cell, Decimal):
        return _decimal_text(cell)
    if isinstance(cell, _NUMBERS):
        return _number_text(cell)
    moment = _moment(cell)
    return "" if moment is None else _iso(moment)


def _number_text(cell: float | np.bool_ | np.integer | np.floating) -> str:
    if isinstance(cell, (bool, np.bool_)):
        return text_of(bool(cell))
    if isinstance(cell, (int, np.integer)):
        return text_of(int(cell))
    return "" if math.isnan(cell) else text_of(float(cell))


def _decimal_text(cell: Decimal) -> str:
    if cell.is_nan():
        return ""
    # The digits of a whole number are written out only where there are not too many.
    whole = cell.is_finite() and -400 < cell.adjusted() < 400 and cell == cell.to_integral_value()
    return str(int(cell)) if whole else str(cell)


def _iso(moment: int) -> str:
    days, rest = divmod(moment, DAY)
    return str(np.datetime64(moment, "us") if rest else np.datetime64(days, "D"))


def _number(cell: object, decimal: str) -> float:
    if isinstance(cell, (str, bytes)):
        text = _text(cell)
        if decimal != ".":
            if "." in text:
                return math.nan
            text = text.replace(decimal, ".")
        return float(text) if NUMBER.fullmatch(text) else math.nan
    if isinstance(cell, (*_NUMBERS, Decimal)):
        return float(cell)
    return math.nan


def _moment(cell: object) -> int | None:
    """Microseconds since 1970 of what is a date by its type."""
    if isinstance(cell, np.datetime64):
        found, missing = microseconds(np.array([cell]))
        return None if missing[0] else int(found[0])
    if not isinstance(cell, dt.date) or type(cell).__name__ in _MISSING_TYPES:
        return None
    moment = (cell.toordinal() - _EPOCH) * DAY
    if isinstance(cell, dt.datetime):
        clock = (cell.hour * 60 + cell.minute) * 60 + cell.second
        moment += clock * 1_000_000 + cell.microsecond
        offset = cell.utcoffset()
        if offset is not None:
            moment -= offset // dt.timedelta(microseconds=1)
    return moment


def _parsed(text: str, form: str | None) -> int | None:
    if not text or not text.isascii():
        return None
    try:
        if form is None:
            return _moment(dt.datetime.fromisoformat(text))
        return _moment(dt.datetime.strptime(text, form))  # noqa: DTZ007  # an offset is folded in
    except ValueError:
        return None
