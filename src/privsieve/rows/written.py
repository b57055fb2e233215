"""Written: how a CSV file is written, as its lines show it, for a draft and for a look.

A reader never guesses: it takes what the domain file says.  A draft guesses by the first line,
which is no row.  Whatever else is guessed here is guessed from rows, and PRIVATE: so that the first
look at a file says all at once; and each guess says that it was read from the rows.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from privsieve.errors import DomainError, SchemaError
from privsieve.public.domain import Csv, Domain
from privsieve.rows.csv_file import File
from privsieve.rows.source import field_position, fold

#: What may part the fields of a line, the likeliest first.
DELIMITERS = (",", ";", "\t", "|")
_HEADER_BYTES, _BODY_BYTES, _LINES = 2**16, 2**22, 2000
_BOM = b"\xef\xbb\xbf"
#: How many places of each trouble are kept.
_PLACES = 3
#: The note on each proposal that reveals something of the table.
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
    """What the file says otherwise than the domain file: a key, and both values."""

    key: str
    declared: str
    found: str

    def __repr__(self) -> str:
        return object.__repr__(self)


@dataclass(frozen=True, repr=False)
class Broken:
    """Lines that are no records, by why, and where the first of them stand.  PRIVATE."""

    why: str
    many: int = 0
    where: tuple[int, ...] = ()


def recognised(path: Path) -> Csv:
    """Return how a CSV file is written, by its first line alone.

    A decimal comma goes with a semicolon: programs part fields by semicolons where the comma was
    taken.  Letters are utf-8 where the first line is, else cp1252.
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
    """Return the character that parts most fields of a header line.

    >>> guess("age;sex;ward"), guess("age")
    (';', ',')
    """
    return max(DELIMITERS, key=header.count)


def looked_at(path: Path, csv: Csv, names: Sequence[str] = ()) -> Csv:
    """Return how a CSV file is written, by its rows, if not as declared.  PRIVATE.

    names : the columns that the delimiter should give.
    """
    with path.open("rb") as file:
        body = file.read(_BODY_BYTES)
    body = body[:body.rfind(b"\n") + 1] or body
    csv = replace(csv, encoding=_encoding(body, csv.encoding))
    lines = [line.rstrip(b"\r") for line in body.removeprefix(_BOM).split(b"\n", _LINES)[:_LINES]]
    delimiter = _delimiter(lines, csv, names)
    if delimiter != csv.delimiter:
        csv = replace(csv, delimiter=delimiter, decimal="." if delimiter == "," else csv.decimal)
    cells = [cell.strip() for cell in re.split(
        r"[\r\n" + re.escape(csv.delimiter) + "]",
        body.decode(csv.encoding, "replace").replace('"', ""))]
    marks = {sign: sum(bool(re.fullmatch(rf"-?\d+[{sign}]\d+", cell)) for cell in cells)
             for sign in ",."}
    decimal = csv.decimal if marks[","] == marks["."] else max(marks, key=marks.__getitem__)
    parting = "." if decimal == "," else ","
    grouped = rf"-?\d{{1,3}}(?:[{parting}]\d{{3}})+[{decimal}]\d+"
    thousands = parting if any(re.fullmatch(grouped, cell) for cell in cells) else csv.thousands
    if decimal in (csv.delimiter, csv.decimal):
        decimal = csv.decimal
    return replace(csv, decimal=decimal, thousands=thousands if thousands != decimal else "")


def written(path: Path, domain: Domain) -> tuple[Domain, tuple[Remark, ...]]:
    """Return the domain as the file is written, and what that changed."""
    csv = looked_at(path, domain.csv, needed_names(domain))
    return replace(domain, csv=csv), tuple(
        Remark(key, getattr(domain.csv, key), getattr(csv, key))
        for key in ("encoding", "delimiter", "decimal", "thousands")
        if getattr(domain.csv, key) != getattr(csv, key))


def _encoding(data: bytes, declared: str) -> str:
    """Return the declared encoding where it can be right; else utf-8, cp1252, or latin-1."""
    for name in ("utf-8", "cp1252"):
        try:
            data.removeprefix(_BOM).decode(name)
        except UnicodeError:
            continue
        usual = name == "cp1252" and codecs.lookup(declared).name not in ("utf-8", "ascii")
        return declared if data.isascii() or usual or codecs.lookup(
            declared).name == name else name
    return "latin-1"


def _delimiter(lines: Sequence[bytes], csv: Csv, names: Sequence[str]) -> str:
    """Return the declared delimiter, or one under which more columns are there."""
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
    """Count the lines that are no records, each under the first reason that holds."""
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


def quoted_sign(text: str) -> str:
    """Quote a sign or word for a domain file."""
    return '"\\t"' if text == "\t" else f'"{text}"'


def to_write(remarks: Iterable[Remark]) -> list[str]:
    """Return the lines of a domain file that would say what the file shows."""
    csv = ", ".join(f"{remark.key} = {quoted_sign(remark.found)}" for remark in remarks)
    line = (f"in [table] write csv = {{ {csv} }} ({FROM_ROWS}: who wrote the file can say whether "
            "that is so)")
    return [line] if csv else []


def needed_names(domain: Domain) -> list[str]:
    """List all columns that the domain names, with its target and its person."""
    target = domain.target.name if domain.target else None
    return [*domain.names, *filter(None, [target, domain.person])]
