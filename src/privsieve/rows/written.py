"""Guess the format of a CSV file from its lines, for a draft and for an inspection.

A release never guesses: it follows the domain file.  A draft guesses by the first line, which is
not a row.  All other guesses come from rows and are PRIVATE: only the holder of the table sees
them, and each is marked as read from the rows.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from privsieve.errors import DomainError, SchemaError
from privsieve.public.canonical import hidden
from privsieve.public.columns import MOST_CODES
from privsieve.public.domain import Csv, Domain
from privsieve.public.draft import toml_value
from privsieve.rows.cells import number_cell
from privsieve.rows.csv_file import File
from privsieve.rows.source import field_position, fold

#: What may part the fields of a line, the likeliest first.
DELIMITERS = (",", ";", "\t", "|")
_HEADER_BYTES, _BODY_BYTES, _LINES = 2**16, 2**22, 50_000
_BOM = b"\xef\xbb\xbf"
#: How many places of each trouble are kept.
_PLACES = 3
#: The note on each proposal that reveals something of the table.
FROM_ROWS = "read from the rows"
#: For each reason why a line is not a record: a description, and what to do.
REASONS = {
    "empty": ("empty", "remove it from the file"),
    "too long": ("too long", "shorten or remove its longest cell"),
    "open quote": (
        "with an open quote",
        ("if cells hold line breaks, write line_breaks = true in [table.csv], which needs "
         'unit = "person" or neighbours = "add-remove"; or save the table as Parquet')),
    "zero byte": ("with a zero byte", "write the table again, as text"),
    "fewer fields": (
        "with fewer fields than the header", "it may be the rest of a line with an open quote"),
    "more fields": (
        "with more fields than the header", "put quotes around a cell that holds the delimiter"),
    "not told apart": ("with text beside a quoted cell", "check its quotes"),
}
#: Words that often stand for a missing number; other words are proposed where they repeat.
_USUAL = frozenset(("k.a.", "ka", "na", "n/a", "n.a.", "-", "--", ".", "?", "null", "none", "nan",
                    "missing", "unknown", "unbekannt", "fehlt", "keine angabe"))
#: The most words for missing that are proposed.
_MOST_WORDS = 20
#: Options that say what single cells mean; the others say how the whole file is written.
CELL_KEYS = ("missing", "censored")


class Remark(NamedTuple):
    """A CSV option whose declared value differs from what the file shows."""

    key: str
    declared: Any
    actual: Any

    def __repr__(self) -> str:
        return object.__repr__(self)


@dataclass(frozen=True, repr=False)
class Broken:
    """Lines that are not records for one reason, and the first line numbers.  PRIVATE."""

    why: str
    many: int = 0
    where: tuple[int, ...] = ()


def recognised(path: Path) -> Csv:
    """Guess the format of a CSV file from its first line only.

    A semicolon between fields means a decimal comma.  The encoding is utf-8 if the first line is
    valid utf-8, else cp1252.
    """
    try:
        with path.open("rb") as file:
            line = file.readline(_HEADER_BYTES)
    except (OSError, ValueError):
        raise SchemaError("the data file does not exist, or cannot be read; check the "
                          "path") from None
    delimiter = guess(line.decode("latin-1"))
    return Csv(delimiter=delimiter, decimal="," if delimiter == ";" else ".",
               encoding=_encoding(line, "utf-8"))


def guess(header: str) -> str:
    """Return the delimiter that occurs most often in a header line.

    >>> guess("age;sex;ward"), guess("age")
    (';', ',')
    """
    return max(DELIMITERS, key=header.count)


def looked_at(path: Path, csv: Csv, names: Sequence[str] = ()) -> Csv:
    """Guess the format of a CSV file from its rows, if not as declared.  PRIVATE.

    names : the columns that the delimiter should give.
    """
    with path.open("rb") as file:
        body = file.read(_BODY_BYTES)
    body = body[:body.rfind(b"\n") + 1] or body
    csv = replace(csv, encoding=_encoding(body, csv.encoding))
    lines = [line.rstrip(b"\r") for line in body.removeprefix(_BOM).split(b"\n", _LINES)[:_LINES]]
    delimiter = _delimiter(lines[:2000], csv, names)
    if delimiter != csv.delimiter:
        csv = replace(csv, delimiter=delimiter, decimal="." if delimiter == "," else csv.decimal)
    opened = File(Path(), csv, 0)
    cells = [cell.strip() for line in lines for cell in opened.fields(line) or
             line.decode(csv.encoding, "replace").replace('"', "").split(csv.delimiter)]
    decimal, thousands = _signs(cells, csv)
    csv = replace(csv, decimal=decimal, thousands=thousands)
    return replace(csv, line_breaks=csv.line_breaks or _has_line_breaks(lines, csv))


def _signs(cells: Sequence[str], csv: Csv) -> tuple[str, str]:
    """Return the decimal sign and the thousands separator that most cells agree with.

    >>> _signs(["1.032", "0,5"], Csv(";")), _signs(["12,500", "0.5"], Csv())
    ((',', '.'), ('.', ','))
    """
    counts = Counter[tuple[str, bool]]()
    for cell in cells:
        if match := re.fullmatch(r"-?(\d+)([.,])(\d+)", cell):
            # Three digits behind the sign may be thousands, so they say less.
            sure = len(match[3]) != 3 or len(match[1]) > 3 or match[1][0] == "0"
            counts[match[2], sure] += 1
    decimal = csv.decimal
    for sure in (True, False):
        points, commas = counts[".", sure], counts[",", sure] * (csv.delimiter != ",")
        if points != commas:
            decimal = "." if points > commas else ","
            break
    for sign in (".", ",", "'", " "):
        group = rf"-?[1-9]\d{{0,2}}(?:[{sign}]\d{{3}})+(?:[{decimal}]\d*)?"
        if sign != decimal and any(re.fullmatch(group, cell) for cell in cells):
            return decimal, sign
    return decimal, csv.thousands if csv.thousands != decimal else ""


def _has_line_breaks(lines: Sequence[bytes], csv: Csv) -> bool:
    """Return whether some lines are one row, because a quoted cell holds a line break."""
    if not csv.header:
        return False
    file = File(Path(), csv, 0, len(File(Path(), csv, 0).fields(lines[0]) or ()))
    starts = [at for at, line in enumerate(lines) if at and file.begins(line)]
    return any(end - start > 1 and file.record(lines[start], 1) is None
               and file.record(file.whole(lines[start:end]), 1) is not None
               for start, end in pairwise([*starts, len(lines)]))


def explain_cells(unread: Iterable[Mapping[str, int]], csv: Csv) -> Csv:
    """Add words for missing, and signs of limits, that would explain unread cells.  PRIVATE.

    unread : for each column of numbers or dates, the texts that are not read, and their counts

    >>> found = explain_cells([{"k.A.": 1, "<5": 2, "x": 1, "Q4": 9}], Csv())
    >>> found.missing, found.censored
    (('k.A.',), ('<',))
    """
    words, signs = Counter[str](), set(csv.censored)
    for texts in unread:
        for text, count in texts.items():
            if text[:1] in ("<", ">") and isfinite(number_cell(text, f"{csv.signs}<>")):
                signs.add(text[0])
            elif not any(map(str.isdigit, text)) and not any(map(hidden, text)):
                words[text] += count
    usual = [word for word, count in words.most_common() if count > 1 or word.casefold() in _USUAL]
    return replace(csv, missing=(*csv.missing, *usual[:_MOST_WORDS])[:MOST_CODES],
                   censored=sorted(signs))


def as_shown(path: Path, domain: Domain) -> Domain:
    """Return the domain with the CSV options that the file shows."""
    csv = looked_at(path, domain.csv, needed_names(domain))
    if domain.rows_are_public:  # then a line is a row
        csv = replace(csv, line_breaks=False)
    return replace(domain, csv=csv)


def compare(declared: Csv, actual: Csv) -> tuple[Remark, ...]:
    """Return the options for which the file differs from its declaration."""
    keys = ("encoding", "delimiter", *(item.name for item in fields(Csv)))
    return tuple(Remark(key, getattr(declared, key), getattr(actual, key))
                 for key in dict.fromkeys(keys)
                 if getattr(declared, key) != getattr(actual, key))


def _encoding(data: bytes, declared: str) -> str:
    """Return the declared encoding if it can be right; else utf-8, cp1252, or latin-1."""
    for name in ("utf-8", "cp1252"):
        try:
            data.removeprefix(_BOM).decode(name)
        except UnicodeError:
            continue
        usual = name == "cp1252" and codecs.lookup(declared).name not in ("utf-8", "ascii")
        return declared if data.isascii() or usual or codecs.lookup(declared).name == name else name
    return "latin-1"


def _delimiter(lines: Sequence[bytes], csv: Csv, names: Sequence[str]) -> str:
    """Return the declared delimiter, or one that gives more of the columns."""
    need = 1 + max((field_position(name) or 0 for name in names), default=0)

    def count_columns(sign: str) -> int:
        try:
            how = replace(csv, delimiter=sign, decimal="." if sign == "," else csv.decimal)
        except DomainError:
            return 0
        file = File(Path(), how, 0)
        if not csv.header:
            return sum(file.record(line, need) is not None for line in lines)
        have = {fold(field.strip()).casefold() for field in file.fields(lines[0]) or []}
        return sum(fold(name).casefold() in have for name in names)

    return max((csv.delimiter, *DELIMITERS), key=count_columns)


def broken(file: File, positions: Sequence[int]) -> tuple[Broken, ...]:
    """Count the lines that are not records, each under the first reason that holds."""
    need, reasons = max(positions) + 1, {why: Broken(why) for why in REASONS}
    lines = (line for block in file.lines(file.longest(positions)) for line in block)
    for number, line in enumerate(lines, 1 + file.csv.header):
        if file.record(line, need) is None:
            why = _why(file, line, need)
            before = reasons[why]
            reasons[why] = Broken(why, before.many + 1, (*before.where, number)[:_PLACES])
    return tuple(reason for reason in reasons.values() if reason.many)


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


def to_write(remarks: Iterable[Remark], declared: Csv) -> list[str]:
    """Return the line of the domain file that describes the file, if the declared one is wrong."""
    options = {remark.key: remark.actual for remark in remarks}
    if not options:
        return []
    for key, value in vars(declared).items():
        if value != getattr(Csv(), key):
            options.setdefault(key, value)
    line = ", ".join(f"{key} = {toml_value(value)}" for key, value in options.items())
    return [(f"in [table] write csv = {{ {line} }} ({FROM_ROWS}; the author of the file can "
             "confirm it)")]


def needed_names(domain: Domain) -> list[str]:
    """List all columns that the domain names, with its target and its person."""
    target = domain.target.name if domain.target else None
    return [*domain.names, *filter(None, [target, domain.person])]
