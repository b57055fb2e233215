"""Describe the cells of one column, and judge its declaration; for the holder of the table only.

The rules are those of the reader, from `cells`: what is counted here is what becomes a default, a
bound or "other" there.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from privsieve.public.canonical import near
from privsieve.public.columns import ISO, ColumnKind, Graded, Listed, Scalar
from privsieve.public.domain import FEW_CODES
from privsieve.rows.cells import (
    NumberRule,
    date_cell,
    distinct,
    is_missing,
    numbers,
    text_cell,
    texts,
    values_of,
)
from privsieve.rows.source import RawColumn

Ints = npt.NDArray[np.int64]
Words = Literal["stop", "look", "fine"]

#: How many spellings of a column are kept; and how many places of one trouble.
_KEPT, _PLACES = 10_000, 3
#: The number of different values that are counted exactly; more are estimated, about 2 % off.
_EXACT = 4096
#: Bins of a table of counts, where nobody says more; one of them holds nearly all from here on.
BINS, _NEARLY = 8, 0.95
#: Formats of dates that are proposed, the likeliest first.
FORMS = (ISO, *(day + clock for clock in ("", " %H:%M", " %H:%M:%S") for day in (
    "%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%Y", "%Y/%m/%d",
    "%Y%m%d")))
#: Numbers that often stand for "missing".
_MARKS = np.array([sign * int(digit * many) for sign in (-1, 1) for digit in "789"
                   for many in range(1, 8)] + [-1.0])
#: From this number of rows on, a column that differs in nearly all of them is an identifier.
_MANY, _UNIQUE = 50, 0.9
#: A label that is lost in more than this part of the rows costs the whole choice.
_LABELS = 0.05


class Spelling(NamedTuple):
    """A text that cannot be read, its number of rows, and its first row."""

    text: str
    many: int
    first: int

    def __repr__(self) -> str:
        return object.__repr__(self)


@dataclass(frozen=True, eq=False, repr=False)
class Different:
    """Count different values by their smallest hashes, which add up.  PRIVATE.

    >>> (Different.of([1, 2]) + Different.of([2, 3])).many
    3
    """

    hashes: npt.NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))

    @classmethod
    def of(cls, hashes: Iterable[int] | npt.NDArray[np.uint64]) -> Different:
        """Return the count of values with these hashes."""
        return cls(np.unique(np.array(list(hashes) if not isinstance(hashes, np.ndarray)
                                      else hashes, np.uint64))[:_EXACT])

    def __add__(self, other: Different) -> Different:
        return Different.of(np.concatenate([self.hashes, other.hashes]))

    @property
    def exact(self) -> bool:
        """Return whether `many` is a count, not an estimate."""
        return len(self.hashes) < _EXACT

    @property
    def many(self) -> int:
        """Return the number of different values, or an estimate."""
        return len(self.hashes) if self.exact else int(
            (_EXACT - 1) / (int(self.hashes[-1]) + 1) * 2**64)


@dataclass(frozen=True, eq=False, repr=False)
class Finding:
    """The cells of one column, counted.  PRIVATE.

    declared : the column as the domain file declares it
    least, largest : the smallest and largest number (dates: days since 1970), or None
    codes : the codes that values have (of a category, label or flag: the declared levels), and how
        many rows have each
    spellings : texts that the domain does not read, the most frequent first
    where : where each trouble stands first, as the place is called (a line, a row; from 1)
    marks : numbers such as 999 with how often and where first they stand; `others` are the ends of
        what remains
    forms : ways to write a date, and how many of the unread cells they would read
    """

    declared: ColumnKind
    rows: int
    missing: int = 0
    unparsable: int = 0
    below: int = 0
    above: int = 0
    unlisted: int = 0
    least: float | None = None
    largest: float | None = None
    codes: tuple[Ints, Ints] = field(default_factory=lambda: (np.empty(0, np.int64),) * 2)
    different: Different = field(default_factory=Different)
    whole: bool = True
    spellings: tuple[Spelling, ...] = ()
    where: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    marks: Mapping[float, tuple[int, int]] = field(default_factory=dict)
    others: tuple[float, float] | None = None
    forms: Mapping[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<PRIVATE finding on {self.declared.name!r}>"

    def __add__(self, other: Finding) -> Finding:
        sums = {name: getattr(self, name) + getattr(other, name) for name in SUMS}
        least, largest = ([end for end in ends if end is not None] for ends in (
            (self.least, other.least), (self.largest, other.largest)))
        ends = [*(self.others or ()), *(other.others or ())]
        return Finding(
            self.declared, **sums, least=min(least, default=None),
            largest=max(largest, default=None), codes=_together(self.codes, other.codes),
            different=self.different + other.different, whole=self.whole and other.whole,
            spellings=_spelled(self.spellings, other.spellings),
            where={word: tuple(sorted((*self.where.get(word, ()), *other.where.get(word, ())))
                               [:_PLACES]) for word in {**self.where, **other.where}},
            marks={mark: _twice(self.marks.get(mark), other.marks.get(mark))
                   for mark in {**self.marks, **other.marks}},
            others=(min(ends), max(ends)) if ends else None,
            forms=Counter(self.forms) + Counter(other.forms))

    @property
    def present(self) -> int:
        """Count the rows whose cell is not empty."""
        return self.rows - self.missing

    @property
    def lost(self) -> int:
        """Count the rows whose cell cannot be read."""
        return self.unparsable + self.unlisted

    @property
    def bins(self) -> Ints | None:
        """Return the rows in each of the equal bins of a public grid; None without a grid."""
        declared = self.declared
        if not isinstance(declared, Graded) or declared.gridless:
            return None
        (codes, many), used = self.codes, declared.grid[0]
        inside = codes < used
        return np.bincount(codes[inside] * BINS // used, many[inside],
                           minlength=BINS).astype(np.int64)

    @property
    def in_one_bin(self) -> bool:
        """Return whether nearly all values are in one bin, although they differ."""
        if self.bins is None or not self.bins.sum():
            return False
        fullest = int(self.bins.argmax())
        inside = self.codes[0] * BINS // self.declared.grid[0] == fullest  # type: ignore[attr-defined]
        return bool(self.bins[fullest] >= _NEARLY * self.bins.sum() and inside.sum() > 1)

    @property
    def crowded(self) -> bool:
        """Return whether most values share a few codes, although they differ."""
        if isinstance(self.declared, Listed) or self.least == self.largest:
            return False
        codes, many = self.codes
        if len(codes) == 1:
            return True
        ends = np.searchsorted(codes, codes + FEW_CODES)
        level = np.concatenate([[0], many.cumsum()])
        inside = level[ends] - level[:-1]
        several = ends - np.arange(len(codes)) > 1
        return bool((several & (2 * inside > level[-1])).any())


WORDS = ("missing", "unparsable", "below", "above", "unlisted")
SUMS = ("rows", *WORDS)


def look(declared: ColumnKind, column: RawColumn, decimal: str, start: int = 1) -> Finding:
    """Return the finding on a piece of a column; `start` is the place of its first cell.

    >>> from privsieve.public.columns import Flag
    >>> look(Flag("smoker"), ["yes", "maybe", None], ".").unlisted
    1
    """
    if isinstance(declared, Listed):
        return _look_values(declared, column, start)
    assert isinstance(declared, Graded)
    values = values_of(declared, column, decimal)
    good = np.isfinite(values)
    is_code = np.isin(numbers(column, decimal), declared.missing_values) if (
        declared.missing_values) else np.zeros(len(values), bool)
    bad = [int(at) for at in np.flatnonzero(~good & ~is_code) if not is_missing(column[at])]
    spelled: dict[str, list[int]] = {}
    for at in bad:
        spelled.setdefault(text_cell(column[at]), []).append(at)
    low, high = declared.bounds
    below, above = ((values < low) & good, (values > high) & good)
    kept = values[good]
    beyond = {word: _first(np.flatnonzero(wrong), start)
              for word, wrong in (("below", below), ("above", above)) if wrong.any()}
    marked = np.isin(values, _MARKS) & good & declared.is_number
    rest = values[good & ~marked]
    return Finding(
        declared, len(values), int((~good).sum()) - len(bad), len(bad), int(below.sum()),
        int(above.sum()), least=float(kept.min()) if len(kept) else None,
        largest=float(kept.max()) if len(kept) else None,
        codes=_counted(NumberRule.of(declared).codes(kept)),
        different=Different.of(_mixed(kept)), whole=bool((kept == np.floor(kept)).all()),
        spellings=_spelled(Spelling(text, len(at), at[0] + start) for text, at in spelled.items()),
        where=beyond | ({"unparsable": _first(bad, start)} if bad else {}),
        marks={float(mark): (int((values == mark).sum()), int(np.argmax(values == mark)) + start)
               for mark in np.unique(values[marked])},
        others=(float(rest.min()), float(rest.max())) if len(rest) else None,
        forms=_forms(spelled) if declared.is_date else {})


def _look_values(declared: Listed, column: RawColumn, start: int) -> Finding:
    table = declared.table
    cells, which = distinct(column)
    many = np.bincount(which, minlength=len(cells))
    first = np.zeros(len(cells), np.int64)
    first[which[::-1]] = np.arange(len(which))[::-1] + start
    used: Counter[int] = Counter()
    odd, missing, cell_texts = [], 0, texts(cells)
    for at, (cell, text) in enumerate(zip(cells, cell_texts, strict=True)):
        spelled = text.lower() if declared.ignore_case else text
        if is_missing(cell):
            missing += int(many[at])
        elif spelled in table:
            used[table[spelled]] += int(many[at])
        else:
            odd.append(at)
    codes = np.array(sorted(used), np.int64)
    return Finding(
        declared, len(column), missing, unlisted=int(many[odd].sum()),
        codes=(codes, np.array([used[code] for code in codes.tolist()], np.int64)),
        different=Different.of(int.from_bytes(blake2b(text.encode(errors="replace"),
                                                      digest_size=8).digest(), "big")
                               for text in set(cell_texts) - {""}),
        spellings=_spelled(Spelling(cell_texts[at], int(many[at]), int(first[at])) for at in odd),
        where={"unlisted": _first(np.flatnonzero(np.isin(which, odd)), start)} if odd else {})


# --- adding up -----------------------------------------------------------------------------------

def _mixed(values: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
    """Mix the bits of numbers so that they look random: the finaliser of SplitMix64."""
    bits = (np.unique(values) + 0.0).view(np.uint64)
    with np.errstate(over="ignore"):
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))


def _counted(codes: npt.NDArray[np.uint16]) -> tuple[Ints, Ints]:
    different, many = np.unique(codes.astype(np.int64), return_counts=True)
    return different, many.astype(np.int64)


def _together(first: tuple[Ints, Ints], second: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    different, place = np.unique(np.concatenate([first[0], second[0]]), return_inverse=True)
    many = np.zeros(len(different), np.int64)
    np.add.at(many, place, np.concatenate([first[1], second[1]]))
    return different, many


def _spelled(*pieces: Iterable[Spelling]) -> tuple[Spelling, ...]:
    """Join the spellings of some pieces, the most frequent first, then the first in the table."""
    spellings: dict[str, Spelling] = {}
    for spelling in (spelling for piece in pieces for spelling in piece):
        before = spellings.get(spelling.text)
        spellings[spelling.text] = spelling if before is None else Spelling(
            spelling.text, before.many + spelling.many, min(before.first, spelling.first))
    return tuple(sorted(spellings.values(), key=lambda spelling: (
        -spelling.many, spelling.first, spelling.text))[:_KEPT])


def _twice(first: tuple[int, int] | None, second: tuple[int, int] | None) -> tuple[int, int]:
    """Add two counts, and return the first place of both."""
    both = [each for each in (first, second) if each is not None]
    return sum(many for many, _ in both), min(place for _, place in both)


def _first(places: Iterable[int] | npt.NDArray[np.intp], start: int) -> tuple[int, ...]:
    return tuple(int(at) + start for at in list(places)[:_PLACES])


def _forms(spelled: Mapping[str, Sequence[int]]) -> Counter[str]:
    """Count the unread cells that each date format would read."""
    return Counter({form: many for form in FORMS if (many := sum(
        len(at) for text, at in spelled.items() if not math.isnan(date_cell(text, form))))})


# --- the verdict ---------------------------------------------------------------------------------

class Verdict(NamedTuple):
    """The verdict on a column as declared, with the reason.

    stop : nothing of it can be found, or most of it is lost
    look : something is lost or odd, and somebody should know of it
    """

    word: Words
    reason: str

    def __repr__(self) -> str:
        return object.__repr__(self)


def verdict(column: Finding) -> Verdict:
    """Return whether a column can be used as declared, with the reason.

    >>> from privsieve.public.columns import Flag
    >>> verdict(look(Flag("smoker"), ["maybe", "no", "yes", "no"], ".")).reason
    'some cells cannot be read, or are outside the bounds'
    """
    return next((Verdict("stop", reason) for reason in _stops(column)),
                next((Verdict("look", reason) for reason in _looks(column)),
                     Verdict("fine", "fine")))


def _stops(column: Finding) -> Iterable[str]:
    """Yield why a column cannot be used as declared."""
    declared, present, lost = column.declared, column.present, column.lost
    read = present - lost
    if not column.rows:
        return
    if not present:
        yield "all cells are empty: the column cannot be used"
    elif is_identifier(column):
        yield "almost every row has a different text: an identifier, which cannot be used"
    elif not read:
        yield f"no value matches the domain file: every cell becomes {declared.becomes}"
    elif not declared.is_column and lost > _LABELS * present:
        yield (f"{lost} of {present} labels cannot be read and become {declared.becomes}: the "
               "result would answer another question")
    elif 2 * lost > present:
        yield f"more than half of its cells cannot be read: they become {declared.becomes}"
    elif 2 * (column.below + column.above) > read:
        yield "more than half of its values are outside the bounds: they become a bound"
    elif _constant(column):
        yield ("all its values are equal: it cannot be selected" if declared.is_column
               else "only one class occurs: there is nothing to predict")
    elif column.crowded:
        yield ("every row has a different whole number, and most share a few steps: an identifier?"
               if whole_and_different(column) else
               "its values differ, but most share a few steps: they cannot be distinguished")


def _looks(column: Finding) -> Iterable[str]:
    """Yield what the holder of the table should check in a column."""
    if whole_and_different(column):
        yield "every row has a different whole number: if it is an identifier, remove the column"
    if column.in_one_bin:
        yield (f"nearly all values are in 1 of the {BINS} equal bins between its bounds: methods "
               "that use bins or bounds learn little from it")
    if suspects(column):
        yield "some values look like codes for missing values"
    if column.lost or column.below or column.above:
        yield "some cells cannot be read, or are outside the bounds"
    if column.rows and 2 * column.missing > column.rows:
        yield "more than half of its cells are empty"
    if not column.declared.is_column and 0 < len(column.codes[0]) < (column.declared.levels or 0):
        yield "a class that the domain lists never occurs"


def is_identifier(column: Finding) -> bool:
    """Return whether almost every row has a different text."""
    return (isinstance(column.declared, Listed) and column.present >= _MANY
            and column.different.many >= _UNIQUE * column.present)


def whole_and_different(column: Finding) -> bool:
    """Return whether almost every row has a different whole number."""
    read = column.present - column.lost
    return (column.declared.is_number and column.whole and read >= _MANY
            and column.different.many >= (1.0 if column.different.exact else _UNIQUE) * read)


def _constant(column: Finding) -> bool:
    if column.declared.others_are_a_level:
        return len(column.codes[0]) + (column.unlisted > 0) == 1
    if isinstance(column.declared, Listed):
        return len(column.codes[0]) == 1 and not column.lost
    return column.least == column.largest


def suspects(column: Finding) -> list[tuple[float, tuple[int, int]]]:
    """Return the marks far from all other values, or below them and below 0."""
    if column.others is None:
        return []
    low, high = column.others
    reach = max(high - low, 1.0)
    return [(mark, (many, first)) for mark, (many, first) in sorted(column.marks.items())
            if many > 1 and (mark - high >= reach or low - mark >= reach
                             or (mark < 0 <= low and column.whole))]


# --- a text that is not read ---------------------------------------------------------------------

def _loose(text: str) -> str:
    """Return a text in small letters without spaces."""
    return "".join(text.casefold().split())


def quoted_value(value: Scalar) -> str:
    """Return a value in ASCII, so that no control or direction character reaches the terminal."""
    return json.dumps(value)


def near_value(declared: ColumnKind, text: str) -> str | None:
    """Return the declared value with a similar spelling, as JSON; None if there is none."""
    if not isinstance(declared, Listed):
        return None
    loose = {_loose(listed): listed if declared.is_binary else declared.values[code]
             for listed, code in declared.table.items()}
    meant = near(_loose(text), loose, 0.8) if len(text) > 3 else None
    value = loose.get(_loose(text), None if meant is None else loose[meant])
    return None if value is None else quoted_value(value)
