"""Coding: a column of any kind becomes yes-or-no items.

A column is held as its distinct cells and the code of each row's cell; what an item holds is then
decided once for each distinct cell.  What the domain names is read as `cells` reads it for codes:
numbers with its decimal, within its bounds; dates by their format; flags by their words; listed
values in any spelling.  A column that no domain names is held as its texts, and its cells say what
it is.  No text here quotes a cell.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.errors import DomainError, ParameterError, SchemaError
from privsieve.public.canonical import BLANK, FLAGS, check_name, coded, text_of
from privsieve.public.columns import DAY, ColumnKind, Graded, Listed
from privsieve.rows.cells import date_cell, distinct, number_cell, text_cell, texts, values_of
from privsieve.rows.cutting import Cutting, shared_cuts
from privsieve.rows.matrix import Items
from privsieve.rows.source import RawColumn

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Coded:
    """A column: its distinct cells, and for each row the position of its own (-1: missing).

    dates : whether numbers are days since 1970.
    kind : its kind, where a domain names it.
    decimal : how its texts write a fraction.
    """

    name: str
    cells: tuple[float | str, ...]
    codes: npt.NDArray[np.int32]
    dates: bool = False
    kind: ColumnKind | None = None
    decimal: str = "."

    def numbers(self) -> Doubles | None:
        """Return the distinct cells as numbers; None where one of them is none."""
        read = (lambda _text, _decimal: np.nan) if self.dates else number_cell
        values = np.array([read(cell, self.decimal) if isinstance(cell, str) else cell
                          for cell in self.cells], np.float64)
        return None if np.isnan(values).any() else values

    def as_dates(self) -> Coded:
        """Return the column with its cells as dates; other cells stay texts."""
        if self.dates:
            return self
        days = [date_cell(cell) for cell in self.cells]
        cells = tuple(cell if day != day else day  # noqa: PLR0124  # NaN
                      for cell, day in zip(self.cells, days, strict=True))
        return Coded(self.name, cells, self.codes, dates=True)

    def texts(self) -> list[str]:
        """Return the distinct cells as texts."""
        return [write_cell(cell, dates=self.dates) for cell in self.cells]

    def of_rows(self, values: Doubles) -> Doubles:
        """Map a value of each distinct cell to the rows; NaN for missing cells."""
        return np.append(values, np.nan)[self.codes]


class Gather:
    """Batches of one raw column, gathered into a `Coded`.

    >>> column = Gather("ward")
    >>> column.add(["A", None, "B", " A"])
    >>> coded = column.coded()
    >>> coded.cells, coded.codes.tolist()
    (('A', 'B'), [0, -1, 1, 0])
    >>> from privsieve.public.columns import Number
    >>> column = Gather("crp", Number("crp", 0, 500), ",")
    >>> column.add(["3,5", "x", "9000"])
    >>> column.coded().cells, column.coded().codes.tolist()
    ((3.5, 500.0), [0, -1, 1])
    """

    def __init__(self, name: str, kind: ColumnKind | None = None, decimal: str = ".", *,
                 ids: bool = False) -> None:
        #: `ids`: whose row each is, told apart as methods with noise tell persons apart, by texts.
        self._name, self._kind, self._decimal, self._ids = name, kind, decimal, ids
        self._dates = kind is not None and kind.is_date
        self._known: dict[float | str, int] = {}
        #: The batches: numbers, whose distinct ones are found at the end, or codes.
        self._pieces: list[Doubles | npt.NDArray[np.int32]] = []
        self._spelled, self._other = _spellings(kind)

    def add(self, raw: RawColumn) -> None:
        """Take another batch."""
        raw = texts(raw) if self._ids else raw
        if isinstance(self._kind, Graded):
            values = values_of(self._kind, raw, self._decimal)
            low, high = self._kind.bounds
            with np.errstate(invalid="ignore"):
                clipped = np.clip(values, low, high)
                self._pieces.append(np.where(np.isfinite(values), clipped, np.nan))
        elif isinstance(raw, np.ndarray) and raw.dtype.kind in "biuf" and self._kind is None:
            self._pieces.append(raw.astype(np.float64))
        else:
            cells, which = distinct(raw)
            self._pieces.append(self._codes(cells)[which])

    def coded(self) -> Coded:
        """Return all that was added."""
        if self._pieces and all(piece.dtype == np.float64 for piece in self._pieces):
            different, inverse = np.unique(np.concatenate(self._pieces), return_inverse=True)
            there = int((~np.isnan(different)).sum())
            codes = np.where(inverse < there, inverse, -1).astype(np.int32).reshape(-1)
            cells: tuple[float | str, ...] = tuple(different[:there].tolist())
        else:
            # Beside texts, a number is the text that writes it.
            pieces = [self._codes(piece.tolist()) if piece.dtype == np.float64 else piece
                      for piece in self._pieces]
            codes = np.concatenate([np.zeros(0, np.int32), *pieces]).astype(np.int32)
            cells = tuple(self._known)
        return Coded(self._name, cells, codes, self._dates, self._kind, self._decimal)

    def _codes(self, cells: Iterable[object]) -> npt.NDArray[np.int32]:
        # What is empty, or differs from itself, is missing.
        return np.array([-1 if cell == "" or cell != cell  # noqa: PLR0124  # NaN
                         else self._known.setdefault(cell, len(self._known))
                         for cell in map(self._read, cells)], np.int32)

    def _read(self, cell: object) -> float | str:
        if self._kind is None and issubclass(type(cell), np.datetime64):
            self._dates = True
            return date_cell(cell)
        text = text_cell(cell)
        if self._kind is None:
            # A point that is no decimal is part of the text: 12.000 is not 12 there.
            odd = self._decimal[0] != "." and isinstance(cell, str) and "." in cell
            return cell.strip(BLANK) if odd and isinstance(cell, str) else text
        known = text.lower() if self._kind.ignore_case else text
        return self._spelled.get(known, text if self._other is None else self._other)


def _spellings(kind: ColumnKind | None) -> tuple[Mapping[str, str], str | None]:
    """Return the listed value of each text, and the value of all others (None: themselves)."""
    if not isinstance(kind, Listed):
        return {}, None
    spelled = {text: kind.texts[code] for text, code in kind.table.items()}
    return spelled, None if kind.others_are_a_level else kind.texts[kind.other]


def write_cell(cell: float | str, *, dates: bool) -> str:
    """Write a cell, or a cut point, for a name.

    >>> write_cell(18.0, dates=False), write_cell(18262.0, dates=True)
    ('18', '2020-01-01')
    """
    if isinstance(cell, str):
        return cell
    if not dates:
        return text_of(cell)
    if float(cell).is_integer():
        return str(np.datetime64(int(cell), "D"))
    return str(np.datetime64(round(cell * DAY), "us")).removesuffix(".000000")


Mask = npt.NDArray[np.bool_]

#: A column of texts may have this many levels; one with more is cut, or its levels are listed.
LARGEST_LEVELS = 1000
#: What a missing cell is called.
MISSING = "missing"
#: From this number of rows on, a column that differs in most of them is taken for an identifier.
MANY = 50


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """The division of the distinct cells of a column into bins or levels.

    names : of the bins ("age<18"), or the levels.
    places : of each distinct cell, the place of its name; `len(names)` where it has none.
    points : the cut points of bins; None for levels.
    """

    column: Coded
    names: tuple[str, ...]
    places: npt.NDArray[np.intp]
    points: tuple[float, ...] | None = None


def encode(column: Coded, how: Any, cutting: Cutting, missing: str = "absent",
           ) -> list[tuple[str, Mask]]:
    """Encode a column as items: their names, and the distinct cells that each holds.

    `how` is None (decide by the domain, or by the cells), a number of bins, a list of cut points
    (numbers or dates) or of levels (texts).

    >>> from privsieve.rows.cutting import Cutting
    >>> from privsieve.rows.coding import Gather
    >>> column = Gather("age")
    >>> column.add([17, 30, 70, None])
    >>> [name for name, _ in encode(column.coded(), [18, 65], Cutting(), "level")]
    ['age<18', 'age=18..65', 'age>=65', 'age=missing']
    """
    parts, name, kind = split(column, how, cutting), column.name, column.kind
    if parts is None:
        masks = [(name, _mask([FLAGS[text.lower()] == 1 for text in column.texts()]))]
    else:
        names = parts.names if parts.points is not None else [f"{name}={x}" for x in parts.names]
        masks = [(label, _mask(parts.places == at)) for at, label in enumerate(names)]
    # The missing cells of a flag are its default, where a domain says that it is one.
    own = kind is not None and kind.missing_level
    if (missing == "level" or own) and not (kind is not None and kind.is_binary):
        nothing = _mask(np.zeros(len(column.cells)))
        nothing[-1] = True
        masks.append((f"{name}={MISSING}", nothing))
    return masks


def split(column: Coded, how: Any, cutting: Cutting) -> Split | None:
    """Return the division of a column into bins or levels; None if it holds yes and no."""
    kind = column.kind
    if how is None and kind is not None:
        if kind.is_binary:
            return None
        how = (kind.texts if isinstance(kind, Listed) and kind.is_column else
               (list(kind.cuts) or cutting.bins) if kind.graded else None)
    if how is None:
        how = _by_cells(column, cutting)
        if not isinstance(how, int):
            return None if how is None else _levels(column, how)
    if isinstance(how, list | tuple):
        if not any(isinstance(entry, str) for entry in how) or column.dates:
            return _at_points(column, how)
        return _levels(column, list(dict.fromkeys(map(text_of, how))))
    if isinstance(how, int) and not isinstance(how, bool):
        return _quantiles(column, replace(cutting, bins=how))
    raise ParameterError(f"the coding of column {column.name!r} is not allowed; write None, a "
                         "number of bins, or a list of cuts or levels")


def from_columns(columns: Sequence[tuple[Coded, list[tuple[str, Mask]]]], rows: int) -> Items:
    """Return the items of coded columns; the absence of an item may be known.

    The role "presences" in the domain means that absences of the column are not known.
    """
    pieces, names, origin, absent = [np.zeros(0, np.int32)], [], [], []
    for column, items in columns:
        for name, mask in items:
            try:
                check_name(name)
            except DomainError:
                raise SchemaError(f"column {column.name!r} has a level that is too long or not "
                                  "printable for a name; list the levels to keep") from None
            pieces.append(np.flatnonzero(mask[column.codes]).astype(np.int32))
            names.append(name)
            origin.append(column.name)
            absent.append(getattr(column.kind, "role", None) != "presences")
    if len(set(names)) != len(names):
        raise SchemaError("two items would have the same name; rename a column, or list the "
                          "levels to keep")
    indptr = np.cumsum([len(piece) for piece in pieces]).astype(np.int64)
    return Items(indptr, np.concatenate(pieces), rows, tuple(names), tuple(origin), tuple(absent))


def differs(column: Coded) -> bool:
    """Return whether most rows have a value of their own in a column."""
    rows = len(column.codes)
    return rows >= MANY and 2 * len(column.cells) > rows


def _by_cells(column: Coded, cutting: Cutting) -> int | list[str] | None:
    """Decide by the cells: yes or no, a number to cut into bins, or one of some texts."""
    texts = column.texts()
    if {text.lower() for text in texts} <= FLAGS.keys():
        return None
    rows, numbers = len(column.codes), column.numbers()
    if differs(column) if numbers is None else (
            rows >= MANY and np.ptp(numbers) + 1 == len(numbers) == rows and not column.dates):
        raise SchemaError(f"column {column.name!r} differs in almost every row, like an "
                          "identifier, so it cannot keep k; leave it out (--without), or cut it")
    if numbers is not None:
        return cutting.bins
    if len(texts) > LARGEST_LEVELS:
        raise SchemaError(f"column {column.name!r} has more than {LARGEST_LEVELS} levels; list "
                          "the levels to keep, or leave the column out")
    return sorted(texts)


def _demanded(column: Coded) -> Doubles:
    if not column.cells:
        return np.zeros(0)
    numbers = column.numbers()
    if numbers is None:
        what = "dates" if column.dates else "numbers"
        raise SchemaError(f"column {column.name!r} cannot be cut, because some cells are not "
                          f"{what}; correct them, or list its levels")
    return numbers


def _at_points(column: Coded, cuts: Sequence[object]) -> Split:
    """Check the given cut points, and divide the column by them."""
    if any(isinstance(cut, dt.date | np.datetime64) for cut in cuts):
        column = column.as_dates()
    read = date_cell if column.dates else number_cell
    points = [read(cut) for cut in cuts]
    if not points or any(cut != cut for cut in points) or sorted(set(points)) != points:  # noqa: PLR0124  # NaN
        raise ParameterError(f"the cuts of column {column.name!r} must be numbers (dates for a "
                             "date column) in increasing order")
    if isinstance(column.kind, Graded):
        low, high = column.kind.bounds
        for cut in points:
            if not low <= cut <= high:
                ends = [write_cell(point, dates=column.dates) for point in (cut, low, high)]
                raise ParameterError(f"the cut point {ends[0]} of column {column.name!r} is "
                                     f"outside its bounds in the domain, {ends[1]} to {ends[2]}; "
                                     "leave it out, or correct the domain")
    return _bins(column, _demanded(column), points)


def _quantiles(column: Coded, cutting: Cutting) -> Split:
    """Cut points with about as many rows between them, each shared by k rows."""
    if cutting.bins < 2:
        raise ParameterError(f"column {column.name!r} has {cutting.bins} bins; choose at least 2")
    numbers = _demanded(column)
    return _bins(column, numbers, shared_cuts(column.of_rows(numbers), cutting, dates=column.dates))


def _levels(column: Coded, levels: Sequence[str]) -> Split:
    """Return the listed levels of a column, in any spelling."""
    table = coded(levels)
    return Split(column, tuple(levels), np.array(
        [table.get(text, len(levels)) for text in column.texts()], np.intp))


def _bins(column: Coded, numbers: Doubles, points: Sequence[float]) -> Split:
    """Return the bins between cut points; without a cut point there is none."""
    name, ends = column.name, [write_cell(cut, dates=column.dates) for cut in points]
    names = (f"{name}<{ends[0]}", *(f"{name}={low}..{high}" for low, high in pairwise(ends)),
             f"{name}>={ends[-1]}") if ends else ()
    return Split(column, names, np.searchsorted(points, numbers, side="right"), tuple(points))


def _mask(marked: Any) -> Mask:
    """Return the mask of distinct cells, with a last place for missing: it holds nothing."""
    return np.append(np.asarray(marked, np.bool_), False)
