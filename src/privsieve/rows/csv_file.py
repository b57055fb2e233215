"""A CSV file: one record is one physical line, and a line that cannot be read is a default record.

Nothing in a line can touch another line: no quote reaches over a line end, no type is inferred,
no width is counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privsieve.errors import DomainError, SchemaError
from privsieve.public.canonical import BLANK
from privsieve.public.columns import check_name
from privsieve.public.domain import Csv
from privsieve.rows.cells import NUMBER
from privsieve.rows.source import Source, repeated

if TYPE_CHECKING:
    from privsieve.rows.source import RawColumn, Type

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
class File:
    """Where the body begins and how its lines are cut.

    width : how many fields a record has, as the header says.  Without one it has at least the
        fields that the domain names: the width of any row is that row's own affair.
    """

    path: Path
    csv: Csv
    start: int
    width: int | None = None

    def longest(self, positions: Sequence[int]) -> int:
        """A line with more bytes is no record."""
        return LARGEST_LINE + LARGEST_CELL * (self.width or max(positions) + 1)

    def blocks(self, longest: int) -> Iterator[bytes]:
        """Whole lines, a block of the file at a time; the last may lack its end."""
        tail = b""
        with self.path.open("rb") as file:
            file.seek(self.start)
            while block := file.read(_BLOCK):
                cut = block.rfind(b"\n") + 1
                if cut:
                    yield tail + block[:cut]
                    tail = b""
                # What is kept of a line without end stays too long, and takes no more room.
                tail = (tail + block[cut:])[:longest + 1]
        if tail:
            yield tail

    def lines(self, longest: int) -> Iterator[list[bytes | None]]:
        """Lists of lines, a block of the file at a time; None is a line that is too long."""
        for block in self.blocks(longest):
            found = block.split(b"\n")
            if not found[-1]:
                found.pop()
            yield [line if len(line) <= longest else None for line in found]

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

    def record(self, line: bytes | None, need: int) -> list[str] | None:
        """The fields of a line that is a record, or None."""
        found = self.fields(line)
        if found is None:
            return None
        return found if (len(found) >= need if self.width is None else len(found) == self.width) \
            else None

    def open_quotes(self, positions: Sequence[int]) -> int:
        """How many lines are no record and hold an odd number of quotes.  PRIVATE, for `inspect`.

        A line break in a cell leaves such lines, where the cell begins and where it ends.
        """
        need = max(positions) + 1
        return sum(line is not None and line.count(b'"') % 2 == 1
                   and self.record(line, need) is None
                   for lines in self.lines(self.longest(positions)) for line in lines)


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
    body = File(path, how, len(head) if how.header else skip)
    first = body.fields(head[skip:].removesuffix(b"\n"))
    columns = _header(head, first, how) if how.header else _numbered(first)
    # The header is public; the first row of a file without one is not, and decides nothing.
    body = replace(body, width=len(columns) if how.header else None)

    def read(positions: Sequence[int], batch_rows: int) -> Iterator[list[RawColumn]]:
        return _records(body, positions, batch_rows)

    types: list[Type] = ["other"] * len(columns)
    return Source(columns, tuple(types), "header" if how.header else "field", body.count, read,
                  file=body)


def _records(file: File, positions: Sequence[int], batch_rows: int) -> Iterator[list[RawColumn]]:
    """Columns of some lines."""
    need = max(positions) + 1
    blank = [None] * need
    for lines in file.lines(file.longest(positions)):
        for start in range(0, len(lines), batch_rows):
            records: list[Sequence[Any]] = [file.record(line, need) or blank
                                            for line in lines[start:start + batch_rows]]
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
