"""Gather: batches of one raw column as its distinct cells, read as the domain says.

What the domain names is read as `columns` reads it for codes: numbers with its decimal, within its
bounds; dates by their format; flags by their words; listed values in any spelling.  A column that
no domain names is held as its texts, and its cells say what it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from privsieve.public.canonical import BLANK
from privsieve.public.columns import Category, Column, Date, Flag, Label, Number, Target, text_of
from privsieve.rows.cells import DAY, date_cell, number_cell, text_cell
from privsieve.rows.columns import bounds, days, known, numbers

if TYPE_CHECKING:
    from privsieve.rows.source import RawColumn


Doubles = npt.NDArray[np.float64]

#: Among cells of one of these types, and None, those that are equal have the same text.
_EQUAL_TEXT = frozenset((str, bool, int, float))


@dataclass(frozen=True, eq=False, repr=False)
class Coded:
    """A column: its distinct cells, and for each row the position of its own (-1: missing).

    dates : whether numbers are days since 1970.
    part : what the domain says of it.
    decimal : how its texts write a fraction.
    """

    name: str
    cells: tuple[float | str, ...]
    codes: npt.NDArray[np.int32]
    dates: bool = False
    part: Column | Target | None = None
    decimal: str = "."

    def numbers(self) -> Doubles | None:
        """The distinct cells as numbers; None where one of them is none."""
        read = (lambda _text, _decimal: np.nan) if self.dates else number_cell
        found = np.array([read(cell, self.decimal) if isinstance(cell, str) else cell
                          for cell in self.cells], np.float64)
        return None if np.isnan(found).any() else found

    def as_dates(self) -> Coded:
        """The same column with its cells as dates; what is none stays a text."""
        if self.dates:
            return self
        found = [date_cell(cell) for cell in self.cells]
        cells = tuple(cell if day != day else day  # noqa: PLR0124  # NaN
                      for cell, day in zip(self.cells, found, strict=True))
        return Coded(self.name, cells, self.codes, dates=True)

    def texts(self) -> list[str]:
        """The distinct cells as texts."""
        return [shown(cell, dates=self.dates) for cell in self.cells]

    def of_rows(self, found: Doubles) -> Doubles:
        """What belongs to the distinct cells, for each row; NaN where it is missing."""
        return np.append(found, np.nan)[self.codes]


class Gather:
    """Batches of one raw column, gathered into a `Coded`.

    >>> column = Gather("ward")
    >>> column.add(["A", None, "B", " A"])
    >>> coded = column.coded()
    >>> coded.cells, coded.codes.tolist()
    (('A', 'B'), [0, -1, 1, 0])
    >>> column = Gather("crp", Number("crp", 0, 500), ",")
    >>> column.add(["3,5", "x", "9000"])
    >>> column.coded().cells, column.coded().codes.tolist()
    ((3.5, 500.0), [0, -1, 1])
    """

    def __init__(self, name: str, part: Column | Target | None = None, decimal: str = ".") -> None:
        self._name, self._part, self._decimal = name, part, decimal
        self._dates = isinstance(part, Date)
        self._known: dict[float | str, int] = {}
        #: The batches: numbers, whose distinct ones are found at the end, or codes.
        self._pieces: list[Doubles | npt.NDArray[np.int32]] = []
        self._spelled, self._other = _spellings(part)

    def add(self, raw: RawColumn) -> None:
        """Take another batch."""
        if isinstance(self._part, Number | Date):
            self._pieces.append(self._within(raw, self._part))
        elif isinstance(raw, np.ndarray) and raw.dtype.kind in "biuf" and self._part is None:
            self._pieces.append(raw.astype(np.float64))
        elif isinstance(raw, np.ndarray):
            distinct, inverse = np.unique(raw, return_inverse=True)
            self._pieces.append(self._codes(distinct)[inverse.reshape(-1)])
        elif len(kinds := set(map(type, raw)) - {type(None)}) == 1 and kinds <= _EQUAL_TEXT:
            distinct_cells = list(dict.fromkeys(raw))
            place = dict(zip(distinct_cells, self._codes(distinct_cells).tolist(), strict=True))
            self._pieces.append(np.fromiter((place[cell] for cell in raw), np.int32, len(raw)))
        else:
            self._pieces.append(self._codes(raw))

    def coded(self) -> Coded:
        """All that was added."""
        if self._pieces and all(piece.dtype == np.float64 for piece in self._pieces):
            distinct, inverse = np.unique(np.concatenate(self._pieces), return_inverse=True)
            there = int((~np.isnan(distinct)).sum())
            codes = np.where(inverse < there, inverse, -1).astype(np.int32).reshape(-1)
            cells: tuple[float | str, ...] = tuple(distinct[:there].tolist())
        else:
            # Beside texts, a number is the text that writes it.
            pieces = [self._codes(piece.tolist()) if piece.dtype == np.float64 else piece
                      for piece in self._pieces]
            codes = np.concatenate([np.zeros(0, np.int32), *pieces]).astype(np.int32)
            cells = tuple(self._known)
        return Coded(self._name, cells, codes, self._dates, self._part, self._decimal)

    def _within(self, raw: RawColumn, part: Number | Date) -> Doubles:
        """Numbers, or days, of which those beyond the bounds are the bound."""
        found = days(raw, part.format) if isinstance(part, Date) else numbers(raw, self._decimal)
        low, high = bounds(part)
        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(found), np.clip(found, low, high), np.nan)

    def _codes(self, cells: Iterable[object]) -> npt.NDArray[np.int32]:
        return np.array([self._code(self._read(cell)) for cell in cells], np.int32)

    def _read(self, cell: object) -> float | str:
        if self._part is None and isinstance(cell, np.datetime64):
            self._dates = True
            return date_cell(cell)
        text = text_cell(cell)
        if self._part is None:
            # A point that is no decimal is part of the text: 12.000 is not 12 there.
            odd = self._decimal != "." and isinstance(cell, str) and "." in cell
            return cell.strip(BLANK) if odd and isinstance(cell, str) else text
        if isinstance(self._part, Flag):
            text = text.lower()
        return self._spelled.get(text, text if self._other is None else self._other)

    def _code(self, cell: float | str) -> int:
        if cell == "" or cell != cell:  # noqa: PLR0124  # what differs from itself is no number
            return -1
        return self._known.setdefault(cell, len(self._known))


def _spellings(part: Column | Target | None) -> tuple[Mapping[str, str], str | None]:
    """Which listed value each text says, and what all other texts say (None: themselves)."""
    if not isinstance(part, Category | Label | Flag):
        return {}, None
    table, other = known(part)
    texts = ["0", "1"] if isinstance(part, Flag) else [text_of(value) for value in part.values]
    spelled = {text: texts[code] for text, code in table.items()}
    return spelled, None if isinstance(part, Category) else texts[other]


def shown(cell: float | str, *, dates: bool) -> str:
    """A cell, or a cut point, as a name holds it.

    >>> shown(18.0, dates=False), shown(18262.0, dates=True), shown(0.5, dates=True)
    ('18', '2020-01-01', '1970-01-01T12:00:00')
    """
    if isinstance(cell, str):
        return cell
    if not dates:
        return text_of(cell)
    if float(cell).is_integer():
        return str(np.datetime64(int(cell), "D"))
    return str(np.datetime64(round(cell * DAY), "us")).removesuffix(".000000")
