"""Sources that the tests make: hostile cells, files, and the naive reader."""
# ruff: noqa: DTZ001, DTZ007  # tables hold clock times

from __future__ import annotations

import datetime as dt
import functools
import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np

from privsieve.public.columns import Category, Date, Flag, Label, Number
from privsieve.public.domain import Csv, Domain
from privsieve.rows import open_source, resolve
from privsieve.rows.batch import batches

DOMAIN = Domain(
    [Number("age", 0, 110), Number("dose", 0.5, 500, scale="log"),
     Number("score", -1, 1, missing="level"), Date("day", "2020-01-01", "2021-01-01"),
     Flag("smoker", default=True), Category("ward", ["A", "B", 3])],
    target=Label("ill", ["No", "Yes"], default="Yes"))

#: Cells of every kind that a table may hold, and some that it should not.
HOSTILE = [
    None, math.nan, math.inf, -math.inf, -0.0, 0.0, 1.0, 0.5, 110, 111, -1, 2**53 + 1, 10**400,
    -(10**5000), True, False, Decimal("1.5"), Decimal("1E+400"), Decimal("1E+999999999"),
    Decimal("sNaN"), Decimal("NaN"), Decimal("Infinity"), Decimal("3.00"), Fraction(1, 2), 1j,
    "", "  ", "\t7 ", "1e400", "-1e400", "1e-400", "0x10", "1_000", "1,000", "1.000,5", "٣", "nan",
    "NaN", "inf", "Infinity", "+5", "5.", ".5", ".", "e5", "1e5", "--1", "Yes", "yes", "YES ", "no",
    "A", "a", "B ", "3", "3.0", "2020-06-01", "2020-06-01T12:00:00+05:30", "2020-W23-1", "20200601",
    "2020-13-01", "01.06.2020", "2020-06-01T00:00:00Z", "9999-12-31T23:59:59-23:59", 20200601,
    "01.06.\u0662\u0660\u0662\u0660",
    dt.date(2020, 6, 1), dt.datetime(2020, 6, 1, 6, 30, 1, 7),
    dt.datetime(2020, 6, 1, tzinfo=dt.timezone(dt.timedelta(hours=-7))),
    dt.datetime.max.replace(tzinfo=dt.timezone(dt.timedelta(hours=-7))), dt.date.min,
    dt.time(1), dt.timedelta(1), [], [1, 2], {}, {"a": 1}, (), {1}, object(), b"1.5", b"\xff", b"A",
    np.float32(0.5), np.float64(0.25), np.int8(3), np.uint64(2**64 - 1), np.bool_(True),
    np.datetime64("2020-06-01"), np.datetime64("NaT"), np.datetime64("2020-06", "M"),
    np.datetime64(2**62, "D"), np.timedelta64(3, "D"), np.str_("A"), np.longdouble("1e4000"),
    np.array([1.0, 2.0]), "\0", "\ud800", "ﬀ", "é", "\u202e1",
]


class Horror:
    """A cell whose every method raises."""

    def __getattr__(self, name):
        raise RuntimeError("secret")

    def _raise(self, *_):
        raise RuntimeError("secret")

    __str__ = __repr__ = __float__ = __int__ = __len__ = __iter__ = __eq__ = __bool__ = _raise
    __hash__ = None


def read(X, domain=DOMAIN, y=None, *, rows=None, batch_rows=None, entropy=bytes, strict=True):
    """Open, resolve and read; `entropy` is all zeros unless given."""
    source = open_source(X, y, csv=domain.csv)
    domain = resolve(domain, source.shape(count_rows=False), strict=strict)
    return list(batches(source, domain, rows=rows, entropy=entropy, batch_rows=batch_rows))


def codes(X, domain=DOMAIN, y=None, **options):
    """The codes and labels of a table, a row of numbers for each."""
    parts = read(X, domain, y, **options)
    if not parts:
        return []
    table = np.concatenate([np.column_stack([b.codes.astype(int), b.label]) for b in parts])
    return table.tolist()


def csv_file(folder, body, header=b"age,dose,score,day,smoker,ward,ill\n", name="table.csv"):
    """A CSV file with this header and body."""
    path = folder / name
    path.write_bytes(header + body)
    return path


# The naive reader: one cell at a time, by the words of the specification.


def naive_code(column, cell, decimal="."):
    """The code of a cell."""
    if column.kind in ("category", "label"):
        known = [naive_text(value) for value in column.values]
        text = naive_text(cell)
        if text in known:
            return known.index(text)
        for words in (["1", "true", "True", "TRUE"], ["0", "false", "False", "FALSE"]):
            full_words = [word for word in words if word in known]
            if text in words and len(full_words) == 1:
                return known.index(full_words[0])
        return len(known) if column.kind == "category" else known.index(naive_text(column.default))
    if column.kind == "flag":
        text = naive_text(cell).lower()
        if text in [naive_text(word).lower() for word in column.true]:
            return 1
        if text in [naive_text(word).lower() for word in column.false]:
            return 0
        if text in ("1", "true", "yes", "y", "t"):
            return 1
        return 0 if text in ("0", "false", "no", "n", "f") else int(column.default)
    used = 65535 if column.missing == "level" else 65536
    missing = 65535 if column.missing == "level" else 32768
    if column.kind == "date":
        value, low, high = (naive_days(c, column.format) for c in (cell, column.low, column.high))
    else:
        value, low, high = naive_number(cell, decimal), column.low, column.high
    if value is None or not math.isfinite(value):
        return missing
    if column.scale == "log":
        return min(sum(edge <= value for edge in naive_edges(low, high)), used - 1)
    return math.floor(max(0.0, min((value - low) * (used / (high - low)), used - 1.0)))


def naive_text(cell):
    """The text of a cell; a whole number as Python writes it."""
    text = naive_bare(cell)
    sign, digits, point, rest = re.fullmatch(r"([+-]?)([0-9]*)([.]?)(.*)", text, re.DOTALL).groups()
    if digits and digits.isascii() and (digits == "0" or digits[0] != "0") and (
            rest == "0" * len(rest) if point else not rest):
        return digits if sign != "-" or digits == "0" else sign + digits
    return text


def naive_bare(cell):
    """The text of a cell, a text without the blanks around it."""
    if isinstance(cell, np.generic) and not isinstance(cell, (np.datetime64, np.longdouble)):
        cell = cell.item()
    if isinstance(cell, bytes):
        cell = cell.decode("utf-8", "replace")
    if isinstance(cell, str):
        return str(cell).strip(" \t")
    if isinstance(cell, bool):
        return str(int(cell))
    if isinstance(cell, int):
        return "" if abs(cell) > 10**4000 else str(cell)
    if isinstance(cell, float):
        cell, written = Decimal(cell), str(cell)
    elif isinstance(cell, Decimal):
        written = str(cell)
    else:
        return ""
    if cell.is_nan():
        return ""
    exponent = cell.as_tuple().exponent
    short = isinstance(exponent, int) and -400 < cell.adjusted() < 400
    return str(int(cell)) if short and cell == int(cell) else written


def naive_number(cell, decimal="."):
    """The number in a cell, or None."""
    if isinstance(cell, (bytes, str)):
        text = naive_bare(cell)
        if any(c not in "0123456789+-eE" + decimal for c in text):
            return None
        cell = text.replace(decimal, ".")
    elif isinstance(cell, (np.timedelta64, np.datetime64)) or not isinstance(
            cell, (bool, int, float, Decimal, np.generic)):
        return None
    try:
        return float(cell)
    except (ValueError, OverflowError):
        return None


def naive_days(cell, form=None):
    """The days since 1970 in a cell, or None."""
    if isinstance(cell, np.datetime64):
        unit, count = np.datetime_data(cell.dtype)
        return None if np.isnat(cell) else naive_ticks(int(cell.astype(np.int64)) * count, unit)
    if isinstance(cell, dt.date) and not isinstance(cell, dt.datetime):
        cell = dt.datetime(cell.year, cell.month, cell.day)
    if not isinstance(cell, dt.datetime):
        for text in (naive_text(cell), naive_bare(cell)):
            try:
                text.encode("ascii")
                moment = dt.datetime.strptime(text, form) if form \
                    else dt.datetime.fromisoformat(text)
            except ValueError:
                continue
            cell = moment
        if not isinstance(cell, dt.datetime):
            return None
    shift = cell.utcoffset() or dt.timedelta(0)
    moment = cell.replace(tzinfo=None) - dt.datetime(1970, 1, 1) - shift
    return float(moment // dt.timedelta(microseconds=1)) / 86_400_000_000


SECONDS = {"W": 604800, "D": 86400, "h": 3600, "m": 60, "s": 1, "ms": Fraction(1, 10**3),
           "us": Fraction(1, 10**6), "ns": Fraction(1, 10**9), "ps": Fraction(1, 10**12),
           "as": Fraction(1, 10**18)}


def naive_ticks(ticks, unit):
    """The days since 1970 of these hours or months."""
    if unit in SECONDS:
        return float(math.floor(ticks * SECONDS[unit] * 10**6)) / 86_400_000_000
    year, month = divmod(ticks * (12 if unit == "Y" else 1), 12)
    if not 1 <= 1970 + year <= 9999:
        return float(year * 366)
    return float(dt.date(1970 + year, 1 + month, 1).toordinal() - dt.date(1970, 1, 1).toordinal())


@functools.cache
def naive_edges(low, high, depth=16):
    """Halve a geometric interval by square roots; the inner edges, in order."""
    if depth == 0:
        return ()
    middle = math.sqrt(low) * math.sqrt(high)
    return (*naive_edges(low, middle, depth - 1), middle, *naive_edges(middle, high, depth - 1))


SEMICOLON = Csv(delimiter=";", decimal=",", encoding="cp1252")
