"""Written: how a CSV file is written, as its lines show it; PRIVATE, for `inspect` alone.

A reader never guesses: it takes what the domain file says.  Here is guessed, from rows, so that the
first look at a file says all at once; and each guess says that it was read from the rows.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from privsieve.errors import DomainError
from privsieve.public.columns import Column, Date, Number, Target
from privsieve.public.domain import Csv, Domain
from privsieve.rows.cells import date_cell, is_missing, number_cell
from privsieve.rows.csv_file import File
from privsieve.rows.finding import FORMS
from privsieve.rows.source import field_position, fold

#: Lines by which the decimal sign and the forms of dates are judged.
_SAMPLE = 2000
_DELIMITERS = (",", ";", "\t", "|")
#: What is not UTF-8 and comes from a European office is mostly this.
_OTHER = "cp1252"
_BOM = b"\xef\xbb\xbf"
#: How many places of each trouble are kept.
_PLACES = 3


class Remark(NamedTuple):
    """What the file says otherwise than the domain file: a key, both values, and a sentence."""

    key: str
    declared: str
    found: str
    said: str

    def __repr__(self) -> str:
        return object.__repr__(self)


@dataclass(frozen=True, repr=False)
class Broken:
    """Lines that are no records, by why, and where the first of them stand.  PRIVATE."""

    why: str
    many: int = 0
    where: tuple[int, ...] = ()


def written(path: Path, domain: Domain) -> tuple[Domain, tuple[Remark, ...]]:
    """The domain with what the file shows of how it is written, and what that changed.

    Each step takes what the one before found: bytes, the delimiter, then cells.
    """
    csv, remarks = domain.csv, []
    for step in (_encoding, _delimiter):
        remark = step(path, replace(domain, csv=csv))
        if remark is not None:
            remarks.append(remark)
            csv = _changed(csv, remark)
    sampled = _sample(path, replace(domain, csv=csv))
    decimal = _decimal(sampled, csv)
    if decimal is None and csv.decimal != domain.csv.decimal:
        decimal = Remark("decimal", domain.csv.decimal, csv.decimal, "the comma parts the columns")
    if decimal is not None:
        remarks.append(decimal)
        csv = _changed(csv, decimal)
    forms = [(part, remark) for part, cells in sampled if isinstance(part, Date)
             and (remark := _form(part, cells)) is not None]
    remarks += [remark for _, remark in forms]
    known = {part.name: replace(part, format=remark.found) for part, remark in forms}
    columns = tuple(known.get(part.name, part) for part in domain.columns)
    return replace(domain, columns=columns, csv=csv), tuple(remarks)


def broken(file: File, positions: Sequence[int]) -> tuple[Broken, ...]:
    """Lines that are no records, each counted under the first reason that holds."""
    need, found = max(positions) + 1, {why: Broken(why) for why in _REASONS}
    lines = (line for block in file.lines(file.longest(positions)) for line in block)
    for number, line in enumerate(lines, 1 + file.csv.header):
        if file.record(line, need) is None:
            why = _why(file, line, need)
            before = found[why]
            found[why] = Broken(why, before.many + 1, (*before.where, number)[:_PLACES])
    return tuple(one for one in found.values() if one.many)


#: Why a line is no record.
_REASONS = ("empty", "too long", "open quote", "zero byte", "fewer fields", "more fields",
            "not told apart")


def _why(file: File, line: bytes | None, need: int) -> str:
    if line is None:
        return "too long"
    if not line.strip(b"\r"):
        return "empty"
    if b"\0" in line:
        return "zero byte"
    if line.count(b'"') % 2 == 1:
        return "open quote"
    fields = file.fields(line)
    if fields is None:
        return "not told apart"
    return "fewer fields" if len(fields) < (file.width or need) else "more fields"


# --- bytes ---------------------------------------------------------------------------------------

def _encoding(path: Path, domain: Domain) -> Remark | None:
    """Another encoding, where the declared one cannot read the file or misreads it."""
    high = wrong = first = 0
    for number, line in enumerate(_lines(path), 1):
        if line.isascii():
            continue
        high += 1
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            wrong, first = wrong + 1, first or number
    declared = domain.csv.encoding
    if codecs.lookup(declared).name in ("utf-8", "ascii"):
        if not wrong:
            return None
        mixed = f"; {high - wrong} others are: it mixes two encodings" if high > wrong else ""
        return Remark("encoding", declared, _OTHER,
                      f"{wrong} lines are not UTF-8, the first is line {first}{mixed}")
    if high and not wrong:
        return Remark("encoding", declared, "utf-8", f"all {high} lines with letters beyond a to z "
                                                     "are UTF-8")
    return None


def _lines(path: Path) -> Iterator[bytes]:
    """Whole lines; one without end comes in pieces."""
    with path.open("rb") as file:
        while line := file.readline(2**20):
            yield line


def _head(path: Path) -> tuple[bytes, int]:
    """The first line without its marks, and where the next one begins."""
    first = next(_lines(path), b"")
    return first.removeprefix(_BOM).rstrip(b"\r\n"), len(first)


def _delimiter(path: Path, domain: Domain) -> Remark | None:
    """Another delimiter, where it gives more of the names, or without names more fields."""
    declared = domain.csv.delimiter
    tried = [declared, *(sign for sign in _DELIMITERS if sign != declared)]
    found = {sign: _names_there(path, domain, sign) for sign in tried}
    best = max(tried, key=lambda sign: found[sign])
    if best == declared or not found[best] > found[declared]:
        return None
    asked = f"of {len(needed_names(domain))} columns" if domain.csv.header else "lines looked at"
    return Remark("delimiter", declared, best, f"with it {found[best]} {asked} are there, as "
                                               f"declared {found[declared]}")


def _names_there(path: Path, domain: Domain, sign: str) -> int:
    """How many of the columns a delimiter gives; without names how many lines have them all."""
    csv = _with(domain.csv, delimiter=sign)
    if csv is None:
        return 0
    file = File(path, csv, 0)
    if not csv.header:
        need = 1 + max((field_position(name) or 0 for name in needed_names(domain)), default=0)
        lines = (line.rstrip(b"\r\n") for line in islice(_lines(path), _SAMPLE))
        return sum(file.record(line, need) is not None for line in lines)
    fields = file.fields(_head(path)[0]) or []
    have = {fold(name.strip()).casefold() for name in fields}
    return sum(fold(name).casefold() in have for name in needed_names(domain))


def needed_names(domain: Domain) -> list[str]:
    """All columns that the domain names, its target and its person among them."""
    more = [domain.target.name] if domain.target else []
    return [*domain.names, *more, *([domain.person] if domain.person else [])]


# --- cells ---------------------------------------------------------------------------------------

def _sample(path: Path, domain: Domain) -> list[tuple[Column | Target, list[str]]]:
    """Filled cells of numbers and dates from the first lines."""
    head, end = _head(path)
    first, named = File(path, domain.csv, 0).fields(head) or [], domain.csv.header
    file = File(path, domain.csv, end if named else 0, len(first) if named else None)
    at = {fold(name.strip()).casefold(): j for j, name in enumerate(first)}
    parts = [(part, at.get(fold(part.name).casefold()) if named
              else field_position(part.name))
             for part in (*domain.columns, *([domain.target] if domain.target else []))
             if isinstance(part, Number | Date)]
    need = max((j for _, j in parts if j is not None), default=0) + 1
    lines = islice((line for block in file.lines(2**20) for line in block), _SAMPLE)
    records = [record for line in lines if (record := file.record(line, need)) is not None]
    return [(part, [record[j] for record in records if not is_missing(record[j])])
            for part, j in parts if j is not None]


def _decimal(sampled: Iterable[tuple[Column | Target, list[str]]], csv: Csv) -> Remark | None:
    """The other decimal sign, where more cells can be read with it alone."""
    cells = [cell for part, found in sampled if isinstance(part, Number) for cell in found]
    other = "," if csv.decimal == "." else "."
    one, two = (np.array([isfinite(number_cell(cell, sign)) for cell in cells], np.bool_)
                for sign in (csv.decimal, other))
    here, there = int((one & ~two).sum()), int((two & ~one).sum())
    if there <= here or _with(csv, decimal=other) is None:
        return None
    return Remark("decimal", csv.decimal, other,
                  f"of {len(cells)} numbers looked at, {there} can be read with it alone")


def _form(part: Date, cells: Sequence[str]) -> Remark | None:
    """Another way to write dates, where it reads more of them."""
    read = {form: sum(isfinite(date_cell(cell, form)) for cell in set(cells))
            for form in (part.format, *FORMS)}
    best = max(FORMS, key=lambda form: read[form])
    if read[best] <= read[part.format]:
        return None
    also = [form for form in FORMS if form != best and read[form] == read[best]]
    doubt = f"; so does {' and '.join(also)}, ask which it is" if also else ""
    return Remark(f"{part.name}.format", part.format or "ISO 8601", best,
                  f"it reads {read[best]} of {len(set(cells))} dates looked at, as declared "
                  f"{read[part.format]}{doubt}")


def _with(csv: Csv, **changed: Any) -> Csv | None:
    """How else it may be written; None where a delimiter and a decimal sign are the same."""
    more: dict[str, Any] = {"decimal": "."} if changed.get("delimiter") == "," else {}
    try:
        return replace(csv, **more, **changed)
    except DomainError:
        return None


def _changed(csv: Csv, remark: Remark) -> Csv:
    found = _with(csv, **{remark.key: remark.found})
    assert found is not None  # it was tried
    return found
