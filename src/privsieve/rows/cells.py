"""The rules for one cell, and for whole columns: what is a number, a date, a text, and its code.

The rules for one cell are the definitions.  Those for whole columns give the same answers, faster:
a fast path is taken only where it does, so that each code is a bit-exact function of its own cell,
and only operations that IEEE 754 rounds correctly are used (no logarithm).  Total: whatever a cell
is.  Only types that are known are looked at: the methods of a foreign object (`__str__`,
`__float__`) are never called.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import product
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from privsieve.kernels import contract
from privsieve.public.canonical import BLANK, plain, text_of
from privsieve.public.columns import CODES, DAY, ISO, MIDDLE, ColumnKind, Number
from privsieve.rows.source import RawColumn

#: How a date is written: None for ISO 8601, a format, or several that are tried in their order.
Form: TypeAlias = str | tuple[str, ...] | None
#: A decimal number, in ASCII.
NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
#: The exponent and the first 9 bits of the double below 2^-20, whose distance is the middle code.
_SMALLEST = 512 * (1023 - 20) - 1
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
    """Return the text by which a category, flag, label or person is compared; "" is missing.

    >>> text_cell(3.0), text_cell("3.0"), text_cell(" A "), text_cell(True), text_cell([1])
    ('3', '3', 'A', '1', '')
    """
    if type(cell) is str:
        return plain(cell)
    try:
        return plain(_text(cell))
    except Exception:  # noqa: BLE001  # a cell may be any object; it may not raise
        return ""


def number_cell(cell: object, signs: str = ".") -> float:
    """Return the number in a cell; NaN if it is not a finite number.

    signs : the decimal sign, what parts thousands, if anything does, and `<` and `>` where a limit
        such as "<5" is read as its number.

    >>> number_cell("<5"), number_cell("< 5", ".<"), number_cell(">=1.000", ",.<>")
    (nan, 5.0, 1000.0)
    >>> number_cell("1.032,3", ",."), number_cell("1.5", ",."), number_cell("12 000", ". ")
    (1032.3, nan, 12000.0)
    >>> number_cell("1e3"), number_cell(" -2.5"), number_cell("1,5", ","), number_cell("1_000")
    (1000.0, -2.5, 1.5, nan)
    """
    try:
        number = _number(cell, signs)
    except Exception:  # noqa: BLE001  # a cell may be any object; it may not raise
        return math.nan
    return number if math.isfinite(number) else math.nan


def date_cell(cell: object, form: Form = None) -> float:
    """Return days since 1970-01-01 in universal time; NaN if the cell is not a date.

    >>> date_cell("1970-01-02T12:00"), date_cell("31.01.1970", "%d.%m.%Y"), date_cell("soon")
    (1.5, 30.0, nan)
    >>> date_cell("1970-01-02", ("%d.%m.%Y", "ISO 8601"))
    1.0
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
    """Return whether a cell is empty: None, NaN, NA, NaT, or a blank text.

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
    if moment is None:
        return ""
    days, rest = divmod(moment, DAY)
    return str(np.datetime64(moment, "us") if rest else np.datetime64(days, "D"))


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


def _number(cell: object, signs: str) -> float:
    if isinstance(cell, (str, bytes)):
        text, decimal, thousands = _text(cell), signs[0], signs[1:].rstrip("<>")
        if text[:1] and text[0] in signs[1:].removeprefix(thousands):
            text = text[1:].removeprefix("=").strip(BLANK)
        parting = re.escape(thousands)
        if parting and re.fullmatch(
                rf"[+-]?[0-9]{{1,3}}(?:{parting}[0-9]{{3}})+(?:{re.escape(decimal)}[0-9]*)?", text):
            text = text.replace(thousands, "")
        if decimal != ".":
            if "." in text:
                return math.nan
            text = text.replace(decimal, ".")
        return float(text) if re.fullmatch(NUMBER, text) else math.nan
    if isinstance(cell, (*_NUMBERS, Decimal)):
        return float(cell)
    return math.nan


def _moment(cell: object) -> int | None:
    """Microseconds since 1970 of what is a date by its type."""
    if isinstance(cell, np.datetime64):
        ticks, missing = microseconds(np.array([cell]))
        return None if missing[0] else int(ticks[0])
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


def _parsed(text: str, form: Form) -> int | None:
    if not text or not text.isascii():
        return None
    for each in form if isinstance(form, tuple) else (form,):
        try:
            if each in (None, ISO):
                return _moment(dt.datetime.fromisoformat(text))
            return _moment(dt.datetime.strptime(text, str(each)))  # noqa: DTZ007  # its offset counts
        except ValueError:
            continue
    return None


Codes = npt.NDArray[np.uint16]
Encode: TypeAlias = Callable[[RawColumn], Codes]

#: Words of at most this length are listed in all spellings with capitals.
_SHORT = 5
_NOT_NUMBER = r"[^0-9+\-.eE]"
_PLAIN = frozenset((bool, int, float, type(None)))
#: Among cells of one of these types, and None, those that are equal have the same text.
_EQUAL_TEXT = frozenset((str, bool, int, float))


#: The number of each part of a date in the kernel, by the letter of its format.
_STEPS = {letter: bytes([at]) for at, letter in enumerate("YymdHMS", 1)}
_ISO = ("%Y-%m-%d", *(f"%Y-%m-%d{sign}%H:%M{rest}" for sign in "T " for rest in ("", ":%S")))


def encoder(kind: ColumnKind, signs: str = ".", missing: Sequence[str] = ()) -> Encode:
    """Return the function from a raw column to codes."""
    return CellRule.of(kind, signs, missing).codes


class CellRule(NamedTuple):
    """How a cell becomes a code: the one rule, which NumPy and both kernels follow.

    A text of the table has its code there.  Else a number (or a date, as days since 1970) has the
    code of the grid.  All else, and what is missing, has the code `other`.

    table : codes of texts, in small letters where `lower` says that capitals do not matter
    grade : how numbers become codes; None where the texts of the table are all that is read
    form : of dates how they are written; "" where no dates are read, None for ISO 8601
    signs : how numbers are written (`number_cell`)
    """

    table: Mapping[str, int]
    other: int
    lower: bool
    grade: NumberRule | None
    form: Form
    signs: str

    @classmethod
    def of(cls, kind: ColumnKind, signs: str = ".", missing: Sequence[str] = ()) -> CellRule:
        """Return the rule of a part of a domain; `missing` are texts that stand for an empty cell.

        >>> from privsieve.public.columns import Category
        >>> rule = CellRule.of(Category("ward", ["A", "B"]))
        >>> rule.codes(["B", " A ", "C", None]).tolist()
        [1, 0, 2, 2]
        """
        # A list reads such a text as `other` anyhow: none of its values is one.
        table = {**dict.fromkeys(missing, kind.other), **kind.table} if kind.graded else kind.table
        return cls(table, kind.other, kind.ignore_case,
                   NumberRule.of(kind) if kind.graded else None,
                   kind.format if kind.is_date else "", signs)

    @property
    def asks(self) -> bool:
        """Whether the kernel leaves some texts to Python: dates, and capitals beyond ASCII."""
        return self.lower or self.form != ""

    def codes(self, column: RawColumn) -> Codes:
        """Return the code of each cell."""
        if self.grade is None:
            return levels(column, self.table, self.other, lower=self.lower)
        codes = self.grade.codes(days(column, self.form) if self.form != "" else
                                 numbers(column, self.signs))
        if self.table:
            none = min({*range(len(self.table) + 1)}.difference(self.table.values()))
            listed = levels(column, self.table, none, lower=self.lower)
            codes = np.where(listed == none, codes, listed)
        return codes

    def native(self) -> Any:
        """Return the rule as the kernels take it."""
        texts = {text: code for word, code in self.table.items()
                 for text in (_spellings(word) if self.lower else (word,))}
        return contract.extension.CellRule(
            [text.encode() for text in texts], np.array(list(texts.values()), np.uint16),
            self.other, None if self.grade is None else self.grade.native(), self._forms(),
            (self.form != "", self.asks))

    def _forms(self) -> list[bytes]:
        """Dates that the kernel reads itself: each field is there once, in its full width."""
        readable = []
        forms = [self.form] if isinstance(self.form, str) else []  # several are read in Python
        for form in _ISO if self.form is None else forms:
            steps = re.findall(r"%?.", form, re.DOTALL)
            letters = "".join(step[1:] for step in steps)
            if form and len(set(letters)) == len(letters) and {*letters} <= _STEPS.keys() \
                    and {"m", "d"} < {*letters} and not {"Y", "y"} <= {*letters} \
                    and all(step[0] == "%" or step >= " " for step in steps):
                readable.append(b"".join(_STEPS[step[1]] if step[0] == "%" else step.encode()
                                      for step in steps))
        return readable


def limits(signs: str) -> int:
    """Return which limits are read as numbers: 1 for `<`, 2 for `>`, 3 for both."""
    return ("<" in signs) + 2 * (">" in signs)


def _spellings(word: str) -> set[str]:
    """Return usual spellings of a word in small letters; the kernel asks for others."""
    letters = [{c, c.upper()} for c in word]
    usual = map("".join, product(*letters)) if len(word) <= _SHORT else (
        word, word.upper(), word.capitalize(), word.title())
    return {text for text in usual if text.lower() == word}


def values_of(kind: ColumnKind, column: RawColumn, signs: str = ".") -> npt.NDArray[np.float64]:
    """Return the numbers, or days since 1970, of a column; NaN for missing values.

    >>> values_of(Number("pain", 0, 10, missing_values=[99]), ["3", "99.0", "none"]).tolist()
    [3.0, nan, nan]
    """
    if kind.is_date:
        return days(column, kind.format)
    values = numbers(column, signs)
    if kind.missing_values:
        values[np.isin(values, kind.missing_values)] = math.nan
    return values


class NumberRule(NamedTuple):
    """How numbers, or days since 1970, become codes; NumPy and both kernels follow the same rule.

    way : "linear", "log", or "around" (log-linear)
    line : where the grid begins, and codes for a unit; of "around" the middle
    edges : of "log", the inner edges of the grid
    grid : the highest code, and that of what is missing
    reach : where values are cut off
    gone : numbers that stand for none
    """

    way: Literal["linear", "log", "around"]
    line: tuple[float, float]
    edges: npt.NDArray[np.float64]
    grid: tuple[int, int]
    reach: tuple[float, float] = (-math.inf, math.inf)
    gone: tuple[float, ...] = ()

    @classmethod
    def of(cls, kind: Any) -> NumberRule:
        """Return the rule of a part of a domain.

        >>> rule = NumberRule.of(Number("sodium", 120, 160))
        >>> rule.codes(np.array([140.0, 150.0, np.nan])).tolist()
        [32768, 49152, 32768]
        """
        (used, missing), (low, high) = kind.grid, kind.bounds
        ends, none, gone = (used - 1, missing), np.empty(0), kind.missing_values
        if kind.gridless:
            near = kind.near or 0.0
            if low > -math.inf and not kind.missing_level:
                # what is missing is in the middle of the bounds
                middle = np.array([low + (high - low) / 2])
                ends = used - 1, int(log_linear(middle, near, used, missing)[0])
            return cls("around", (near, 0.0), none, ends, (low, high), gone)
        if kind.scale == "log":
            return cls("log", (0.0, 0.0), log_edges(kind), ends, gone=gone)
        # At the ends of its grid a value is cut off by its code.
        return cls("linear", (low, used / (high - low)), none, ends, gone=gone)

    def codes(self, values: npt.NDArray[np.float64]) -> Codes:
        """Return the code of each value."""
        if self.gone:
            values = np.where(np.isin(values, self.gone), math.nan, values)
        (start, step), (top, missing) = self.line, self.grid
        if self.way == "around" or self.reach != (-math.inf, math.inf):
            values = within(values, self.reach)
        if self.way == "around":
            return log_linear(values, start, top + 1, missing)
        if self.way == "log":
            return logarithmic(values, self.edges, top + 1, missing)
        return linear(values, start, step, top + 1, missing)

    def native(self) -> Any:
        """Return the rule as the kernels take it."""
        return contract.extension.NumberRule(self.way, self.line, self.edges, self.grid, self.reach,
                                             np.array(self.gone, np.float64))


def within(values: npt.NDArray[np.float64], reach: tuple[float, float]) -> npt.NDArray[np.float64]:
    """Values, cut off at bounds; NaN where they are not finite.

    >>> within(np.array([-5.0, 5.0, np.inf]), (0, 110)).tolist()
    [0.0, 5.0, nan]
    """
    return np.where(np.isfinite(values), np.clip(values, *reach), math.nan)


# [log-linear]
def log_linear(values: npt.NDArray[np.float64], near: float, used: int, missing: int) -> Codes:
    """Encode a sign, one of 64 octaves and 9 bits of the distance from `near`.

    z = x - near is one subtraction of doubles, rounded to nearest, ties to even.  Below 2^-20 the
    code is the middle one; else it is 512 octaves above 2^-20, and the first 9 bits after the
    leading one, away from the middle, at most at the end.  Total and monotone; infinite values are
    at the ends.

    >>> log_linear(np.array([0.0, 1.0, -1.0, 140.0, np.inf, np.nan]), 0.0, 65536, 7)
    array([32768, 43009, 22527, 46641, 65535,     7], dtype=uint16)
    """
    with np.errstate(all="ignore"):
        bits = np.subtract(values, near).view(np.uint64)
    octaves = ((bits & np.uint64(2**63 - 1)) >> np.uint64(43)).astype(np.int64)
    steps = np.clip(octaves - _SMALLEST, 0, used - 1 - MIDDLE)
    codes = (MIDDLE + np.where(bits >> np.uint64(63), -steps, steps)).astype(np.uint16)
    codes[np.isnan(values)] = missing
    return codes
# [/log-linear]


def linear(values: npt.NDArray[np.float64], low: float, step: float, used: int,
           missing: int) -> Codes:
    """`floor((x - low) * step)`, cut to 0..used - 1.

    >>> linear(np.array([0.0, 0.5, 1.0, 9.0, np.nan]), 0.0, 65536.0, 65536, 7)
    array([    0, 32768, 65535, 65535,     7], dtype=uint16)
    """
    with np.errstate(all="ignore"):
        scaled = np.subtract(values, low)
        scaled *= step
        # As `np.clip`, which takes longer to begin.
        np.minimum(np.maximum(scaled, 0, out=scaled), used - 1, out=scaled)
        codes = scaled.astype(np.int32).astype(np.uint16)
    codes[~np.isfinite(values)] = missing
    return codes


def logarithmic(values: npt.NDArray[np.float64], edges: npt.NDArray[np.float64], used: int,
                missing: int) -> Codes:
    """Count the inner edges of the grid at or below each value, at most used - 1."""
    codes = np.minimum(np.searchsorted(edges, values, side="right"), used - 1).astype(np.uint16)
    codes[~np.isfinite(values)] = missing
    return codes


def log_edges(kind: Number) -> npt.NDArray[np.float64]:
    """Return the 65,535 inner edges of a geometric grid, by halving with square roots.

    A square root is rounded correctly everywhere; a logarithm is not, and the workers of one
    release may be different machines.

    >>> from privsieve.public.columns import Number
    >>> log_edges(Number("dose", 1, 16, scale="log"))[[16383, 32767, 49151]]
    array([2., 4., 8.])
    """
    edges = np.empty(CODES + 1)
    edges[0], edges[CODES] = kind.low, kind.high
    step = CODES
    while step > 1:
        half = step // 2
        edges[half::step] = np.sqrt(edges[:-1:step]) * np.sqrt(edges[step::step])
        step = half
    return np.maximum.accumulate(edges)[1:-1]


def numbers(column: RawColumn, signs: str = ".") -> npt.NDArray[np.float64]:
    """Return `number_cell` of each cell; a number that is not finite is missing.

    >>> numbers(["1", "x", None, 2])
    array([ 1., nan, nan,  2.])
    """
    if isinstance(column, np.ndarray):
        if column.dtype.kind in "biuf":
            with np.errstate(all="ignore"):
                return column.astype(np.float64)
        return np.full(len(column), math.nan)
    values = _plain_numbers(column, signs[0])
    if values is None:
        values = [number_cell(cell, signs) for cell in column]
    return np.array(values, dtype=np.float64)


def _plain_numbers(cells: list[object], decimal: str) -> list[float] | None:
    """Try the fast path: all cells are texts of numbers (or blank), or numbers (or None).

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
            if re.search(_NOT_NUMBER, joined):
                return None
            return [float(text or "nan") for text in texts]
        if kinds <= _PLAIN:
            return [math.nan if cell is None else float(cell)  # type: ignore[arg-type]
                    for cell in cells]
    except (ValueError, OverflowError):
        pass
    return None


def days(column: RawColumn, form: Form = None) -> npt.NDArray[np.float64]:
    """Return `date_cell` of each cell.

    >>> days(["1970-01-03", "never"])
    array([ 2., nan])
    """
    if isinstance(column, np.ndarray) and column.dtype.kind == "M":
        moments, missing = microseconds(column)
        values = moments / float(DAY)
        values[missing] = math.nan
        return values
    cells, which = distinct(column)
    return np.array([date_cell(cell, form) for cell in cells], np.float64)[which]


def texts(column: RawColumn) -> list[str]:
    """Return `text_cell` of each cell.

    >>> texts([" a", 1.0, "1.0", None])
    ['a', '1', '1', '']
    """
    return [text_cell(cell) for cell in column]


def levels(column: RawColumn, table: Mapping[str, int], other: int, *,
           lower: bool = False) -> Codes:
    """Return the code of each cell's text in a table.

    >>> levels(["A", "b", None], {"A": 0, "B": 1}, 2)
    array([0, 2, 2], dtype=uint16)
    """
    cells, which = distinct(column)
    cell_texts = texts(cells)
    return np.array([table.get(text.lower() if lower else text, other) for text in cell_texts],
                    np.uint16)[which]


def distinct(column: RawColumn) -> tuple[list[Any], npt.NDArray[np.intp]]:
    """Return the distinct cells, and the place of each cell among them.

    >>> cells, which = distinct(["A", "B", None, "A"])
    >>> cells, which.tolist()
    (['A', 'B', None], [0, 1, 2, 0])
    """
    if isinstance(column, np.ndarray):
        different, which = np.unique(column, return_inverse=True)
        return list(different), which.reshape(-1)
    kinds = set(map(type, column)) - {type(None)}
    if len(kinds) == 1 and kinds <= _EQUAL_TEXT:
        place = {cell: at for at, cell in enumerate(dict.fromkeys(column))}
        return list(place), np.fromiter((place[cell] for cell in column), np.intp, len(column))
    return column, np.arange(len(column))
