"""Written: how a CSV file is written, as its lines show it, for a draft and for a look.

A reader never guesses: it takes what the domain file says.  A draft guesses by the first line,
which is no row.  Whatever else is guessed here is guessed from rows, and PRIVATE: so that the first
look at a file says all at once; and each guess says that it was read from the rows.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from privsieve.errors import DomainError, SchemaError
from privsieve.public.columns import ColumnKind
from privsieve.public.domain import Csv, Domain
from privsieve.rows.cells import date_cell, is_missing, number_cell
from privsieve.rows.csv_file import File
from privsieve.rows.finding import FORMS
from privsieve.rows.source import field_position, fold

#: Lines by which the decimal sign and the forms of dates are judged.
_SAMPLE = 2000
#: What may part the fields of a line, the likeliest first.
DELIMITERS = (",", ";", "\t", "|")
_HEADER_BYTES, _BODY_BYTES = 2**16, 2**22
#: What is not UTF-8 and comes from a European office is mostly this.
_OTHER = "cp1252"
_BOM = b"\xef\xbb\xbf"
#: How many places of each trouble are kept.
_PLACES = 3
#: What stands beside every proposal that holds something of the table.
FROM_ROWS = "read from the rows"
#: Why a line is no record: what is said of such lines, and the way out.
REASONS = {
    "empty": ("empty", "take it out of the file"),
    "too long": ("too long", "look for a cell that holds a text, and leave it out"),
    "open quote": (
        "with an open quote",
        ("a cell with a line break is never joined: a stray quote would swallow neighbours; write "
         "the table as Parquet, or that column without line breaks")),
    "zero byte": ("with a zero byte", "write the table again, as text"),
    "fewer fields": (
        "with fewer fields than the header", "what an open quote has cut off is one, too"),
    "more fields": (
        "with more fields than the header", "a cell with the delimiter needs quotes around it"),
    "not told apart": ("with text beside a quoted cell", "check its quotes"),
}


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


def recognised(path: Path) -> Csv:
    """How a CSV file is written, by its first line alone.

    A decimal comma goes with a semicolon: programs part fields by semicolons where the comma was
    taken.  Letters are utf-8 where the first line is, else cp1252.
    """
    try:
        with path.open("rb") as file:
            head = file.readline(_HEADER_BYTES)
    except (OSError, ValueError):
        raise SchemaError("the data file does not exist, or cannot be read; check the "
                          "path") from None
    delimiter = guess(head.decode("latin-1"))
    return Csv(delimiter=delimiter, decimal="," if delimiter == ";" else ".",
               encoding=_read_as(head))


def guess(header: str) -> str:
    """The character that parts most fields of a header line.

    >>> guess("age;sex;ward"), guess("age")
    (';', ',')
    """
    return max(DELIMITERS, key=header.count)


def looked_at(path: Path, csv: Csv) -> Csv:
    """How a CSV file is written, by its rows.  PRIVATE."""
    with path.open("rb") as file:
        body = file.read(_BODY_BYTES)
    body = body[:body.rfind(b"\n") + 1] or body
    encoding = _read_as(body)
    cells = re.split(r"[\r\n" + re.escape(csv.delimiter) + "]",
                     body.decode(encoding, "replace").replace('"', ""))
    comma, point = (sum(bool(re.fullmatch(rf"\s*-?\d+{sign}\d+\s*", cell)) for cell in cells)
                    for sign in (",", r"\."))
    decimal = csv.decimal if comma == point else "," if comma > point else "."
    return replace(csv, encoding=encoding,
                   decimal=decimal if decimal != csv.delimiter else csv.decimal)


def _read_as(data: bytes) -> str:
    """utf-8 where the bytes are, else cp1252 where they are, else latin-1, which all bytes are."""
    for name in ("utf-8", "cp1252"):
        try:
            data.removeprefix(_BOM).decode(name)
        except UnicodeError:
            continue
        return name
    return "latin-1"


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
    forms = [(part, remark) for part, cells in sampled if part.is_date
             and (remark := _form(part, cells)) is not None]
    remarks += [remark for _, remark in forms]
    known = {part.name: replace(part, format=remark.found)  # type: ignore[type-var]
             for part, remark in forms}
    columns: tuple[Any, ...] = tuple(known.get(part.name, part) for part in domain.columns)
    return replace(domain, columns=columns, csv=csv), tuple(remarks)


def broken(file: File, positions: Sequence[int]) -> tuple[Broken, ...]:
    """Lines that are no records, each counted under the first reason that holds."""
    need, found = max(positions) + 1, {why: Broken(why) for why in REASONS}
    lines = (line for block in file.lines(file.longest(positions)) for line in block)
    for number, line in enumerate(lines, 1 + file.csv.header):
        if file.record(line, need) is None:
            why = _why(file, line, need)
            before = found[why]
            found[why] = Broken(why, before.many + 1, (*before.where, number)[:_PLACES])
    return tuple(one for one in found.values() if one.many)


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


def quoted_sign(text: str) -> str:
    """A sign or word as a domain file has it."""
    return '"\\t"' if text == "\t" else f'"{text}"'


def to_write(remarks: Iterable[Remark]) -> list[str]:
    """The lines of a domain file that would say what the file shows."""
    said = {one.key: one.found for one in remarks}
    csv = [f"{key} = {quoted_sign(said[key])}" for key in ("delimiter", "decimal", "encoding")
           if key in said]
    found = [f"in [table] write csv = {{ {', '.join(csv)} }}"] if csv else []
    found += [f"to the column {key.removesuffix('.format')} add format = {quoted_sign(form)}"
              for key, form in said.items() if key.endswith(".format")]
    return [f"{line} ({FROM_ROWS}: who wrote the file can say whether that is so)"
            for line in found]


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
    tried = [declared, *(sign for sign in DELIMITERS if sign != declared)]
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

def _sample(path: Path, domain: Domain) -> list[tuple[ColumnKind, list[str]]]:
    """Filled cells of numbers and dates from the first lines."""
    head, end = _head(path)
    first, named = File(path, domain.csv, 0).fields(head) or [], domain.csv.header
    file = File(path, domain.csv, end if named else 0, len(first) if named else None)
    at = {fold(name.strip()).casefold(): j for j, name in enumerate(first)}
    parts = [(part, at.get(fold(part.name).casefold()) if named
              else field_position(part.name))
             for part in (*domain.columns, *([domain.target] if domain.target else []))
             if part.graded]
    need = max((j for _, j in parts if j is not None), default=0) + 1
    lines = islice((line for block in file.lines(2**20) for line in block), _SAMPLE)
    records = [record for line in lines if (record := file.record(line, need)) is not None]
    return [(part, [record[j] for record in records if not is_missing(record[j])])
            for part, j in parts if j is not None]


def _decimal(sampled: Iterable[tuple[ColumnKind, list[str]]], csv: Csv) -> Remark | None:
    """The other decimal sign, where more cells can be read with it alone."""
    cells = [cell for part, found in sampled if part.is_number for cell in found]
    other = "," if csv.decimal == "." else "."
    one, two = (np.array([isfinite(number_cell(cell, sign)) for cell in cells], np.bool_)
                for sign in (csv.decimal, other))
    here, there = int((one & ~two).sum()), int((two & ~one).sum())
    if there <= here or _with(csv, decimal=other) is None:
        return None
    return Remark("decimal", csv.decimal, other,
                  f"of {len(cells)} numbers looked at, {there} can be read with it alone")


def _form(part: Any, cells: Sequence[str]) -> Remark | None:
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
