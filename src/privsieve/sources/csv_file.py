"""A CSV file: one record is one physical line, and a line that cannot be read is a default record.

Nothing in a line can touch another line: no quote reaches over a line end, no type is inferred,
no width is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privsieve.core.columns import check_name
from privsieve.errors import DomainError, SchemaError
from privsieve.sources.cells import BLANK, NUMBER
from privsieve.sources.source import Source, repeated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Any

    from privsieve.core.domain import Csv
    from privsieve.sources.source import RawColumn, Type

_BOM = b"\xef\xbb\xbf"
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_BLOCK = 2**20
_LARGEST_HEADER = 2**24
#: A line may have this many bytes, and so many more for each column of the header.
LARGEST_LINE = 2**16
LARGEST_CELL = 64

_NO_HEADER = ("the first line does not look like column names (a field is empty, a number, "
              "repeated, or not printable); if the file has none, set csv.header = false; "
              "if it has, check csv.delimiter")


@dataclass(frozen=True, eq=False, repr=False)
class _File:
    """Where the body begins and how its lines are cut."""

    path: Path
    csv: Csv
    start: int

    def lines(self, longest: int) -> Iterator[list[bytes | None]]:
        """Lists of lines, a block of the file at a time; None is a line that is too long."""
        tail = b""
        with self.path.open("rb") as file:
            file.seek(self.start)
            while block := file.read(_BLOCK):
                found = (tail + block).split(b"\n")
                # What is kept of a line without end stays too long, and takes no more room.
                tail = found.pop()[:longest + 1]
                yield [line if len(line) <= longest else None for line in found]
        if tail:
            yield [tail if len(tail) <= longest else None]

    def count(self) -> int:
        """Physical lines of the body; nothing in them is parsed."""
        rows, last = 0, b"\n"
        with self.path.open("rb") as file:
            file.seek(self.start)
            while block := file.read(_BLOCK):
                rows += block.count(b"\n")
                last = block[-1:]
        return rows + (last != b"\n")

    def fields(self, line: bytes | None) -> list[str] | None:
        """The fields of a line, or None where it has none that can be told apart."""
        if not line or b"\0" in line:
            return None
        try:
            text = line.decode(self.csv.encoding, "replace").removesuffix("\r")
            if not text:
                return None
        except UnicodeError:
            return None
        return _quoted(text, self.csv.delimiter) if '"' in text else text.split(self.csv.delimiter)


def _quoted(text: str, delimiter: str) -> list[str] | None:
    import csv

    try:
        return next(csv.reader([text], delimiter=delimiter, strict=True))
    except (csv.Error, UnicodeError, StopIteration):
        return None


def open_csv(path: Path, how: Csv) -> Source:
    """Read the first line; the body stays closed."""
    with path.open("rb") as file:
        head = file.readline(_LARGEST_HEADER)
    if head.startswith(_WIDE_BOMS):
        raise SchemaError("the file is written in UTF-16 or UTF-32; save it as UTF-8")
    skip = len(_BOM) if head.startswith(_BOM) else 0
    if len(head) == skip:
        raise SchemaError("the file is empty; a table has at least a line of column names")
    body = _File(path, how, len(head) if how.header else skip)
    first = body.fields(head[skip:].removesuffix(b"\n"))
    columns = _header(head, first, how) if how.header else _numbered(first)
    # The header is public; the first row of a file without one is not, and decides nothing.
    width = len(columns) if how.header else None

    def read(positions: Sequence[int], batch_rows: int) -> Iterator[list[RawColumn]]:
        return _records(body, positions, width, batch_rows)

    types: list[Type] = ["other"] * len(columns)
    return Source(columns, tuple(types), "header" if how.header else "field", body.count, read)


def _records(file: _File, positions: Sequence[int], width: int | None, batch_rows: int,
             ) -> Iterator[list[RawColumn]]:
    """Columns of some lines.  A header says how many fields a record has.

    Without one a record has at least the fields that the domain names: the width of any row is
    that row's own affair.
    """
    need = max(positions) + 1
    blank = [None] * need
    for lines in file.lines(LARGEST_LINE + LARGEST_CELL * (width or need)):
        for start in range(0, len(lines), batch_rows):
            records: list[Sequence[Any]] = []
            for line in lines[start:start + batch_rows]:
                found = file.fields(line)
                fits = found is not None and (
                    len(found) >= need if width is None else len(found) == width)
                records.append(found if fits and found is not None else blank)
            yield [[record[j] for record in records] for j in positions]


def _header(head: bytes, first: list[str] | None, how: Csv) -> tuple[str, ...]:
    names = tuple(name.strip(BLANK) for name in first or ())
    if not _decodes(head.removeprefix(_BOM), how.encoding):
        raise SchemaError(f"the first line is not written in {how.encoding}; set csv.encoding, "
                          'for example to "cp1252"')
    if not names or repeated(names) or not all(map(_is_name, names)):
        raise SchemaError(_NO_HEADER)
    return names


def _decodes(line: bytes, encoding: str) -> bool:
    try:
        line.decode(encoding)
    except UnicodeError:
        return False
    return True


def _is_name(name: str) -> bool:
    try:
        check_name(name)
    except DomainError:
        return False
    return NUMBER.fullmatch(name.replace(",", ".")) is None


def _numbered(first: list[str] | None) -> tuple[str, ...]:
    return tuple(f"c{j}" for j in range(1, len(first or ("",)) + 1))
