"""inspect: what the reader will make of a table, for the eyes of its holder only.

It looks at rows, so nothing of it may leave.  The rules are those of the reader, from `cells`:
what is counted here is what becomes a default, a bound or "other" there.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.public.columns import Category, Column, Date, Flag, Label, Scalar, Target
from privsieve.public.domain import Domain
from privsieve.public.grids import CODES, FEW_CODES
from privsieve.rows.batch import BATCH_CELLS, LARGEST_BATCH
from privsieve.rows.cells import (
    Codes,
    bounds,
    grader,
    is_missing,
    known,
    numbers,
    texts,
    values_of,
)
from privsieve.rows.source import RawColumn, needed, open_source, resolve

Ints = npt.NDArray[np.int64]

#: How many spellings of a column are kept, and shown.
_KEPT, _SHOWN = 10_000, 10
_FLAG_FIX = ("write yes and no as one of 1/0, true/false, yes/no, y/n, t/f, declare the words "
             '(true = "ja", false = "nein"), or make it a category: these become the default')
_CROWDED_FIX = (f"most values lie within {FEW_CODES} codes of each other, too near to be told "
                "apart: write typical = [centre, spread], or near, or narrower bounds, from a code "
                "book and never from here")
_QUOTES_FIX = ("a cell with a line break is never joined: a stray quote would swallow neighbours; "
               "write the table as Parquet, or that column without line breaks")


@dataclass(frozen=True, repr=False)
class Finding:
    """What one column holds.  PRIVATE.

    least, largest : the smallest and largest number (dates: days since 1970), or None
    spellings : texts that the domain does not list, and how often, the most frequent first
    codes : of a number or date the codes that values have, and how many have each
    """

    part: Column | Target
    rows: int
    missing: int = 0
    unparsable: int = 0
    below: int = 0
    above: int = 0
    unlisted: int = 0
    least: float | None = None
    largest: float | None = None
    spellings: tuple[tuple[str, int], ...] = ()
    codes: tuple[Ints, Ints] | None = None

    def __repr__(self) -> str:
        return f"<PRIVATE finding on {self.part.name!r}>"

    def __add__(self, other: Finding) -> Finding:
        counts = Counter(dict(self.spellings))
        counts.update(dict(other.spellings))
        sums = {name: getattr(self, name) + getattr(other, name) for name in _SUMS}
        least, largest = ([end for end in ends if end is not None] for ends in (
            (self.least, other.least), (self.largest, other.largest)))
        return Finding(self.part, **sums, least=min(least, default=None),
                       largest=max(largest, default=None),
                       spellings=tuple(counts.most_common(_KEPT)),
                       codes=_together(self.codes, other.codes))

    @property
    def fixes(self) -> tuple[str, ...]:
        """What to write into the domain file, where something should be written."""
        if isinstance(self.part, (Category, Label, Flag)):
            return _value_fixes(self)
        found = []
        if self.below:
            least = _shown(self.part, self.least, math.floor)
            found.append(f"these become low (the least is {least}); if the code book allows less, "
                         "write its bound")
        if self.above:
            largest = _shown(self.part, self.largest, math.ceil)
            found.append(f"these become high (the most is {largest}); if the code book allows "
                         "more, write its bound")
        if self.unparsable:
            form = "format" if isinstance(self.part, Date) else "csv.decimal"
            found.append(f"check {form} and the kind of the column: these become missing")
        if _crowded(self):
            found.append(_CROWDED_FIX)
        return tuple(found)

    def lines(self) -> list[str]:
        """The finding in words; a column without trouble has one line."""
        said = [f"{count} {word} ({count / max(self.rows, 1):.1%})" for word in _WORDS
                if (count := getattr(self, word))]
        head = f"{self.part.name} ({self.part.kind}): {', '.join(said).replace('_', ' ') or 'fine'}"
        used = [] if self.codes is None else [f"  {len(self.codes[0])} of {CODES} codes in use"]
        return [head, *used, *(f"  {spelling}" for spelling in _spelled(self)),
                *(f"  -> {fix}" for fix in self.fixes)]


_WORDS = ("missing", "unparsable", "below", "above", "unlisted")
_SUMS = ("rows", *_WORDS)


@dataclass(frozen=True, repr=False)
class Inspection:
    """What a table holds, column by column.  PRIVATE: for the holder of the table.

    lost : records that cannot be read (a CSV line with other than the header's number of fields,
        open quotes, a NUL, no end); they become default records
    open_quotes : those of them that open a quote and do not close it
    nobody, persons, most : rows without an id, how many persons, and the most rows of one
    """

    domain: Domain
    rows: int
    lost: int
    findings: tuple[Finding, ...]
    nobody: int = 0
    persons: int = 0
    most: int = 0
    open_quotes: int = 0

    def __repr__(self) -> str:
        return f"<PRIVATE inspection of {len(self.findings)} columns; .lines() shows it>"

    def lines(self) -> list[str]:
        """What to show in a terminal, line by line."""
        shown = ["PRIVATE: for the holder of the table; nothing below may leave",
                 f"{self.rows} rows"]
        # Of persons such a line names nobody: see `nobody`.
        person = self.domain.person is not None
        become = "are left out" if person else "become default records"
        if self.lost > self.open_quotes:
            shown.append(f"{self.lost - self.open_quotes} lines cannot be read and {become}: "
                         "check the number of fields, the quotes and csv.delimiter")
        if self.open_quotes:
            shown += [f"{self.open_quotes} lines have an open quote and {become}",
                      f"  -> {_QUOTES_FIX}"]
        if person:
            declared = self.domain.persons or "is missing"
            shown.append(f"{self.persons} persons (persons = {declared}); at most {self.most} rows "
                         f"of one (rows_per_person = {self.domain.rows_per_person})")
            if self.nobody:
                shown.append(f"{self.nobody} rows without an id are nobody's and weigh nothing: "
                             "check the column of the person")
        for finding in self.findings:
            shown += finding.lines()
        return shown


def inspect(X: Any, domain: Domain | str, y: Any = None) -> Inspection:
    r"""Look at a table with the reader's eyes.  PRIVATE; it spends nothing and changes nothing.

    Parameters
    ----------
    X, y : as for `open_source`
    domain : Domain or path of a domain file
        the public facts to check against the table.

    Examples
    --------
    >>> from privsieve.public.columns import Label, Number
    >>> from privsieve.public.domain import Domain
    >>> domain = Domain((Number("age", 0, 99),), target=Label("ill", ("No", "Yes")))
    >>> print("\n".join(inspect([[50], [120]], domain, y=["yes", "No"]).lines()[2:]))
    age (number): 1 above (50.0%)
      2 of 65536 codes in use
      -> these become high (the most is 120); if the code book allows more, write its bound
    ill (label): 1 unlisted (50.0%)
      "yes" 1 times: the domain lists "Yes"
      -> correct the table, or write its spelling in values: these become the default
    """
    domain = Domain.of(domain)
    source = open_source(X, y, csv=domain.csv)
    domain = resolve(domain, source.shape(count_rows=False), strict=False)
    parts = [*domain.columns, *([domain.target] if domain.target else [])]
    findings = [Finding(part, 0) for part in parts]
    people: Counter[str] = Counter()
    rows = lost = 0
    size = max(1, min(LARGEST_BATCH, BATCH_CELLS // len(parts)))
    names = needed(domain, source)
    open_quotes = source.file.open_quotes(source.positions(names)) if source.file else 0
    for columns in source.raw(names, size):
        rows += len(columns[0])
        if source.by in ("header", "field"):
            # A field of a line is a text, so None says that the line had none.
            lost += sum(cell is None for cell in columns[0])
        findings = [found + look(part, column, domain.csv.decimal)
                    for found, part, column in zip(findings, parts, columns, strict=False)]
        if domain.person is not None:
            people.update(texts(columns[-1]))
    nobody = people.pop("", 0)
    return Inspection(domain, rows, lost, tuple(findings), nobody, len(people),
                      max(people.values(), default=0), open_quotes)


def look(part: Column | Target, column: RawColumn, decimal: str) -> Finding:
    """The finding on a piece of one column.

    >>> from privsieve.public.columns import Flag
    >>> look(Flag("smoker"), ["yes", "maybe", None], ".").unlisted
    1
    """
    if isinstance(part, (Category, Label, Flag)):
        return _look_values(part, column)
    values = values_of(part, column, decimal)
    good = np.isfinite(values)
    missing = sum(is_missing(column[at]) for at in np.flatnonzero(~good))
    if not isinstance(part, Date) and part.missing_values:
        missing += int(np.isin(numbers(column, decimal), part.missing_values).sum())
    low, high = bounds(part)
    kept = values[good]
    return Finding(part, len(values), missing, int((~good).sum()) - missing,
                   int((kept < low).sum()), int((kept > high).sum()),
                   least=float(kept.min()) if len(kept) else None,
                   largest=float(kept.max()) if len(kept) else None,
                   codes=_counted(grader(part)(kept)))


def _counted(codes: Codes) -> tuple[Ints, Ints]:
    found, many = np.unique(codes.astype(np.int64), return_counts=True)
    return found, many.astype(np.int64)


def _together(one: tuple[Ints, Ints] | None, other: tuple[Ints, Ints] | None,
              ) -> tuple[Ints, Ints] | None:
    if one is None or other is None:
        return one or other
    found, place = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
    many = np.zeros(len(found), np.int64)
    np.add.at(many, place, np.concatenate([one[1], other[1]]))
    return found, many


def _crowded(found: Finding) -> bool:
    """Whether most values share a few codes though they differ."""
    if found.codes is None or found.least == found.largest:
        return False
    codes, many = found.codes
    if len(codes) == 1:
        return True
    ends = np.searchsorted(codes, codes + FEW_CODES)
    level = np.concatenate([[0], many.cumsum()])
    inside = level[ends] - level[:-1]
    several = ends - np.arange(len(codes)) > 1
    return bool((several & (2 * inside > level[-1])).any())


def _look_values(part: Category | Label | Flag, column: RawColumn) -> Finding:
    listed = _listed(part)
    counts: Counter[str] = Counter()
    missing = 0
    for cell, text in zip(column, texts(column), strict=True):
        if is_missing(cell):
            missing += 1
        elif (text.lower() if isinstance(part, Flag) else text) not in listed:
            counts[text] += 1
    return Finding(part, len(column), missing, unlisted=counts.total(),
                   spellings=tuple(counts.most_common(_KEPT)))


def _listed(part: Category | Label | Flag) -> Mapping[str, Scalar]:
    """Each text that is read, and the declared value that it says."""
    table, _ = known(part)
    if isinstance(part, Flag):
        return {text: text for text in table}
    return {text: part.values[code] for text, code in table.items()}


def _near(part: Category | Label | Flag, text: str) -> Scalar | None:
    """The declared value that differs in capitals or spaces only."""
    for listed, value in _listed(part).items():
        if _loose(listed) == _loose(text):
            return value
    return None


def _spelled(found: Finding) -> list[str]:
    """The unlisted texts, the most frequent first."""
    if not isinstance(found.part, (Category, Label, Flag)):
        return []
    lines = []
    for text, count in found.spellings[:_SHOWN]:
        near = _near(found.part, text)
        hint = "" if near is None else f": the domain lists {_quoted(near)}"
        lines.append(f"{_quoted(text)} {count} times{hint}")
    if len(found.spellings) > _SHOWN:
        lines.append(f"and {len(found.spellings) - _SHOWN} other texts")
    return lines


def _value_fixes(found: Finding) -> tuple[str, ...]:
    part = found.part
    if isinstance(part, Flag) and found.unlisted:
        return (_FLAG_FIX,)
    if isinstance(part, Flag) or not found.unlisted:
        return ()
    assert isinstance(part, (Category, Label))
    becomes = '"other"' if isinstance(part, Category) else "the default"
    if len(found.spellings) > _SHOWN:
        return (f"list the texts that matter in values = [...]: the others become {becomes}",)
    near = [text for text, _ in found.spellings if _near(part, text) is not None]
    far = [text for text, _ in found.spellings if text not in near]
    fixes = []
    if near:
        fixes.append("correct the table, or write its spelling in values: "
                     f"these become {becomes}")
    if far:
        listed = ", ".join(map(_quoted, [*part.values, *far]))
        fixes.append(f"write values = [{listed}], or leave it: these become {becomes}")
    return tuple(fixes)


def _loose(text: str) -> str:
    """Without what people forget: capitals and spaces."""
    return "".join(text.casefold().split())


def _quoted(value: Scalar) -> str:
    # ASCII, so that no control or direction character reaches the terminal.
    return json.dumps(value)


def _shown(part: Column | Target, value: float | None, outward: Callable[[float], int]) -> str:
    if isinstance(part, Date) and value is not None:
        # The day before, or after, so that the bound holds the value.
        return str(np.datetime64(outward(value), "D"))
    return "" if value is None else repr(int(value) if value.is_integer() else value)
