"""A CSV file: one record is one physical line, and a line that cannot be read is a default record.

Nothing in a line can touch another line: no quote reaches over a line end, no type is inferred,
no width is counted.  The kernel gives the same codes, cell by cell, and faster: of dates, of flags
with words of their own and of persons it tells the texts apart, and the rules of `cells` see each
different one.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from privsieve.errors import DomainError, SchemaError
from privsieve.kernels import contract
from privsieve.public.canonical import BLANK, check_name
from privsieve.public.domain import Csv, Domain
from privsieve.rows.cells import NUMBER, CellRule, Codes, limits, text_cell
from privsieve.rows.room import Room
from privsieve.rows.source import RawColumn, Source, Type, foreign, repeated

_BOM = b"\xef\xbb\xbf"
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_BLOCK = 2**20
_LARGEST_HEADER = 2**24
#: Encodings in which each byte is a character, the lower 128 as in ASCII.
_BYTES = {"ascii", "cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1257", "iso8859-1",
          "iso8859-2", "iso8859-5", "iso8859-7", "iso8859-9", "iso8859-15"}
#: The largest bytes of a line, and the bytes that each column of the header adds.
LARGEST_LINE = 2**16
LARGEST_CELL = 64

_NO_HEADER = ("the first line does not look like column names (a field is empty, a number, "
              "repeated, or not printable); if the file has no header, set csv.header = false "
              "(privsieve domain: --no-header); otherwise check csv.delimiter")


@dataclass(frozen=True, eq=False, repr=False)
class File:
    """The start of the body, and how its lines are cut.

    width : the number of fields of a record, by the header.  Without a header, a record has at
        least the fields that the domain names; rows may differ in width.
    """

    path: Path
    csv: Csv
    start: int
    width: int | None = None

    def longest(self, positions: Sequence[int]) -> int:
        """Return the largest number of bytes of a record; a longer line is not a record."""
        return LARGEST_LINE + LARGEST_CELL * (self.width or max(positions) + 1)

    def blocks(self, longest: int) -> Iterator[bytes]:
        """Whole records, a block of the file at a time; the last may lack its end."""
        return self._rows(longest) if self.csv.line_breaks else self._lines(longest)

    def _rows(self, longest: int) -> Iterator[bytes]:
        """Yield rows whose cells may hold line breaks; these become blanks.

        A row begins at each line that is a whole row, or that begins one by its own text, and
        reaches to the next such line at most.  So no row depends on another one.
        """
        row, size = list[bytes](), 0
        for block in self._lines(longest):
            records = []
            for line in block.removesuffix(b"\n").split(b"\n"):
                if self.begins(line):
                    records += [self.whole(row)] if row else []
                    row, size = [line], len(line)
                elif row and size <= longest:  # a longer row is no record, whatever follows
                    row.append(line)
                    size += len(line) + 1
            yield b"".join(record + b"\n" for record in records)
        if row:
            yield self.whole(row)

    def begins(self, line: bytes) -> bool:
        """Return whether a row begins here: a whole row, or fields and an open quote."""
        if self.record(line, 1) is not None:
            return True
        if b'"' not in line or b"\0" in line:
            return False
        delimiter = re.escape(self.csv.delimiter)
        quoted, bare = r'"(?:[^"]|"")*+', rf'[^"{delimiter}]*+'
        try:
            text = line.decode(self.csv.encoding, "replace")
        except UnicodeError:
            return False
        return re.fullmatch(rf'(?:(?:{quoted}"|{bare}){delimiter})++{quoted}', text) is not None

    def whole(self, row: Sequence[bytes]) -> bytes:
        """Join the lines of a row: as few as make a whole row, else all."""
        for end, line in enumerate(row, 1):
            if end == 1 or b'"' in line:
                text = b" ".join(each.removesuffix(b"\r") for each in row[:end])
                if self.record(text, 1) is not None:
                    return text
        return b" ".join(row)

    def _lines(self, longest: int) -> Iterator[bytes]:
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
            pieces = block.split(b"\n")
            if not pieces[-1]:
                pieces.pop()
            yield [line if len(line) <= longest else None for line in pieces]

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
        """Return the fields of a line, or None if they cannot be told apart."""
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
        """Return the fields of a line that is a record, or None."""
        fields = self.fields(line)
        if fields is None:
            return None
        is_record = len(fields) >= need if self.width is None else len(fields) == self.width
        return fields if is_record else None


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
    columns = _header(head, first, how) if how.header else tuple(
        f"c{j}" for j in range(1, len(first or ("",)) + 1))
    # The header is public; the first row of a file without one is not, and decides nothing.
    body = replace(body, width=len(columns) if how.header else None)

    def read(positions: Sequence[int], batch_rows: int) -> Iterator[list[RawColumn]]:
        return _records(body, positions, batch_rows)

    types: list[Type] = ["other"] * len(columns)
    return Source(columns, tuple(types), "header" if how.header else "field", body.count, read,
                  file=body)


def _records(file: File, positions: Sequence[int], batch_rows: int) -> Iterator[list[RawColumn]]:
    """Return columns of some lines."""
    need = max(positions) + 1
    blank = [None] * need
    for lines in file.lines(file.longest(positions)):
        for start in range(0, len(lines), batch_rows):
            records: list[Sequence[Any]] = [file.record(line, need) or blank
                                            for line in lines[start:start + batch_rows]]
            yield [without_missing([record[j] for record in records], file.csv.missing)
                   for j in positions]


def without_missing(cells: RawColumn, missing: Sequence[str]) -> RawColumn:
    """Return the cells, without texts that stand for an empty one."""
    return [None if text_cell(cell) in missing else cell for cell in cells] if missing else cells


def _header(head: bytes, first: list[str] | None, how: Csv) -> tuple[str, ...]:
    names = tuple(name.strip(BLANK) for name in first or ())
    other = "latin-1" if how.encoding.lower() == "cp1252" else "cp1252"
    foreign(lambda: head.removeprefix(_BOM).decode(how.encoding), SchemaError(
        f"the first line is not written in {how.encoding}; set csv.encoding, "
        f'for example to "{other}"'))
    if not names or repeated(names) or not all(map(_is_name, names)):
        raise SchemaError(_NO_HEADER)
    return names


def _is_name(name: str) -> bool:
    try:
        check_name(name)
    except DomainError:
        return False
    return re.fullmatch(NUMBER, name.replace(",", ".")) is None


def readable(encoding: str) -> bool:
    """Return whether lines in this encoding can be read here.

    >>> readable("utf-16")
    False
    """
    built = hasattr(contract.extension, "CsvRecords")
    return built and codecs.lookup(encoding).name in {"utf-8", *_BYTES}


def records_of(csv: Csv, width: int | None, need: int, longest: int) -> Any:
    """Return the kernel that reads lines; the parts of a table are added to it in their order.

    width : how many fields a record has; None: at least `need`.
    need : the number of fields, from the first, that hold all columns to read.
    longest : a line with more bytes is no record.
    """
    points = np.empty(0, np.uint16)
    if codecs.lookup(csv.encoding).name != "utf-8":
        points = np.array([ord(bytes([byte]).decode(csv.encoding, "replace"))
                           for byte in range(256)], np.uint16)
    signs = (*map(ord, (csv.delimiter, csv.decimal, csv.thousands or "\0")), limits(csv.signs))
    return contract.extension.CsvRecords(signs, points, width or 0, need, longest)


def serves(source: Source) -> bool:
    """Return whether the kernel reads this source: by the implementation and the encoding alone.

    >>> from privsieve.rows import open_source
    >>> serves(open_source([[1]]))
    False
    """
    return source.file is not None and readable(source.file.csv.encoding)


def pieces(source: Source, domain: Domain, wanted: tuple[list[str], int], room: Room,
           ) -> Iterator[tuple[Codes, list[str] | None]]:
    """Encode the columns and the target, a row for each, and the persons.

    wanted : the names of the columns, the target and the person, in this order, and how many lines
        at a time, at most.
    """
    names, most = wanted
    assert source.file is not None
    parts = [*domain.columns, *([domain.target] if domain.target else [])]
    positions = source.positions(names)
    records = records_of(domain.csv, source.file.width, max(positions) + 1,
                         source.file.longest(positions))
    rules = [CellRule.of(column, domain.csv.signs, domain.csv.missing) for column in parts]
    for position, rule in zip(positions, rules, strict=False):
        records.add(position, rule.native())
    if domain.person is not None:
        records.add(positions[-1], None)
    asking = [(at, rule) for at, rule in enumerate(rules) if rule.asks]

    def read(block: bytes) -> list[tuple[Any, ...]]:
        # Of each part a row of codes; of each text that is kept which one a line has.
        end, pieces = 0, []
        while end < len(block):
            codes, ids, texts, end = records.read(block, end, most)
            pieces.append((codes, ids, [[text.decode() for text in column] for column in texts]))
        return pieces

    # Threads run the kernel and no more: what Python does with texts happens here, in their order.
    for codes, ids, texts in chain.from_iterable(
            room.each(source.file.blocks(source.file.longest(positions)), read)):
        for (at, rule), held, which in zip(asking, texts, ids, strict=False):
            if held:
                open_ = np.flatnonzero(which >= 0)
                codes[at, open_] = rule.codes(held)[which[open_]]
        yield codes[:len(parts)], (None if domain.person is None
                                   else np.array(texts[-1], object)[ids[-1]].tolist())
