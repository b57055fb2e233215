"""A CSV file: one record is one physical line, and a line that cannot be read is a default record.

Nothing in a line can touch another line: no quote reaches over a line end, no type is inferred,
no width is counted.  The kernel gives the same codes, cell by cell, and faster: of dates, of flags
with words of their own and of persons it tells the texts apart, and the rules of `cells` see each
different one.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from math import inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.errors import DomainError, SchemaError
from privsieve.kernels import contract
from privsieve.kernels.contract import I32, MOST_ROWS, U16, demand_array, demand_whole
from privsieve.public.canonical import BLANK, check_name
from privsieve.public.columns import (
    CODES,
    MIDDLE,
    Category,
    Column,
    Date,
    Flag,
    Label,
    Number,
    Target,
    grid,
    known,
)
from privsieve.public.domain import Csv, Domain
from privsieve.rows.cells import NUMBER, Codes, encoder, log_edges
from privsieve.rows.room import Room
from privsieve.rows.source import RawColumn, Source, Type, foreign, repeated

_BOM = b"\xef\xbb\xbf"
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_BLOCK = 2**20
_LARGEST_HEADER = 2**24
#: Encodings in which each byte is a character, the lower 128 as in ASCII.
_BYTES = {"ascii", "cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1257", "iso8859-1",
          "iso8859-2", "iso8859-5", "iso8859-7", "iso8859-9", "iso8859-15"}
#: A line may have this many bytes, and so many more for each column of the header.
LARGEST_LINE = 2**16
LARGEST_CELL = 64

_NO_HEADER = ("the first line does not look like column names (a field is empty, a number, "
              "repeated, or not printable); if the file has none, set csv.header = false "
              "(privsieve domain: --no-header); if it has, check csv.delimiter")


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
    """Whether lines in this encoding can be read here.

    >>> readable("utf-16")
    False
    """
    built = hasattr(contract.extension, "CsvRecords")
    return built and codecs.lookup(encoding).name in {"utf-8", *_BYTES}


class Records:
    r"""How a line becomes codes: the fields that are read, each a part of the table.

    Parameters
    ----------
    signs : the delimiter and the decimal sign.
    encoding : one that is `readable`.
    width : how many fields a record has; None: at least `need`.
    need : the first so many fields hold all parts.
    longest : a line with more bytes is no record.

    Examples
    --------
    >>> if readable("utf-8"):
    ...     records = Records((",", "."), "utf-8", 2, 2, 100)
    ...     records.linear(0, 0.0, 65536.0, 65536, 7)
    ...     records.text(1)
    ...     codes, ids, texts, _end = records.read(b"0.5, A\n?,B\nC\n", 0, 10)
    ...     assert [[32768, 7, 7], [0, 0, 0]] == codes.tolist()
    ...     assert ["A", "B", ""] == [texts[0][at] for at in ids[0]]
    """

    def __init__(self, signs: tuple[str, str], encoding: str, width: int | None, need: int,
                 longest: int) -> None:
        if not readable(encoding):
            raise ValueError(f"lines in {encoding} are read in Python; ask `readable` first")
        points = np.empty(0, np.uint16)
        if codecs.lookup(encoding).name != "utf-8":
            points = np.array([ord(bytes([byte]).decode(encoding, "replace"))
                               for byte in range(256)], np.uint16)
        delimiter, decimal = (demand_whole("each sign", ord(sign), 0, 127) for sign in signs)
        self._need = demand_whole("need", need, 0, MOST_ROWS)
        self._records = contract.extension.CsvRecords(
            (delimiter, decimal), points, demand_whole("width", width or 0, 0, MOST_ROWS), need,
            demand_whole("longest", longest, 0, MOST_ROWS))

    def linear(self, position: int, low: float, step: float, used: int, missing: int, *,
               reach: tuple[float, float] = (-inf, inf)) -> None:
        """A number: `floor((x - low) * step)` of x cut off at `reach`, cut to 0..used - 1."""
        if not (isfinite(low) and 0 < step < inf):
            raise ValueError("low must be finite, and step a finite number above 0")
        self._records.add_linear(self._checked(position), low, step, *_codes(used, missing),
                                 *_reach(reach))

    def log_linear(self, position: int, near: float, used: int, missing: int, *,
                   reach: tuple[float, float] = (-inf, inf)) -> None:
        """A number: the code of `cells.log_linear` for x cut off at `reach`."""
        if not isfinite(near):
            raise ValueError("near must be finite")
        demand_whole("used", used, MIDDLE + 1, CODES)
        self._records.add_around(self._checked(position), near, *_codes(used, missing),
                                 *_reach(reach))

    def logarithmic(self, position: int, edges: npt.NDArray[np.float64], used: int,
                    missing: int) -> None:
        """A number: how many edges are at or below it, at most used - 1."""
        demand_array("edges", edges, np.float64, 1)
        if not (edges[1:] >= edges[:-1]).all():
            raise ValueError("edges must rise")
        self._records.add_log(self._checked(position), edges, *_codes(used, missing))

    def levels(self, position: int, table: Mapping[str, int], other: int) -> None:
        """A text that has a code in a table; the others have the code `other`."""
        texts = [text.encode() for text in table]
        codes = np.array([demand_whole("each code", code, 0, 65535) for code in table.values()],
                         np.uint16)
        self._records.add_levels(self._checked(position), texts, codes,
                                 demand_whole("other", other, 0, 65535))

    def text(self, position: int) -> None:
        """A text, as it is."""
        self._records.add_text(self._checked(position))

    def read(self, block: bytes, start: int, most: int) -> tuple[U16, I32, list[list[str]], int]:
        """At most so many lines of a block, from this place on; the last may lack its end.

        Gives a row of codes for each part, in the order in which they were named (0 where it is a
        text); for each text part which of its texts a line has; the different texts of each,
        without blanks around them; and where the next line begins.
        """
        if not 0 <= start <= len(block):
            raise ValueError(f"start is {start}, and the block has {len(block)} bytes")
        most = demand_whole("most", most, 0, 2**63 - 1)
        codes, ids, texts, end = self._records.read(block, start, most)
        return codes, ids, [[text.decode() for text in part] for part in texts], end

    def _checked(self, position: int) -> int:
        if not 0 <= position < self._need:
            raise ValueError(f"position is {position}; choose from 0 to {self._need - 1}")
        return position


def _codes(used: int, missing: int) -> tuple[int, int]:
    """The highest of so many codes, and the code of what is no number."""
    return demand_whole("used", used, 1, 65536) - 1, demand_whole("missing", missing, 0, 65535)


def _reach(reach: tuple[float, float]) -> tuple[float, float]:
    if not reach[0] <= reach[1]:
        raise ValueError("reach must be a number and one that is no smaller")
    return reach


def serves(source: Source) -> bool:
    """Whether the kernel reads this source: by the implementation and the encoding alone.

    >>> from privsieve.rows import open_source
    >>> serves(open_source([[1]]))
    False
    """
    return source.file is not None and readable(source.file.csv.encoding)


def pieces(source: Source, domain: Domain, wanted: tuple[list[str], int], room: Room,
           ) -> Iterator[tuple[Codes, list[str] | None]]:
    """Codes of the columns and the target, a row for each, and the persons.

    wanted : the names of the columns, the target and the person, in this order, and how many lines
        at a time, at most.
    """
    names, most = wanted
    assert source.file is not None
    parts = [*domain.columns, *([domain.target] if domain.target else [])]
    positions = source.positions(names)
    records = Records((domain.csv.delimiter, domain.csv.decimal), domain.csv.encoding,
                      source.file.width, max(positions) + 1, source.file.longest(positions))
    for position, part in zip(positions, parts, strict=False):
        _add(records, position, part)
    if domain.person is not None:
        records.text(positions[-1])
    told = [(at, encoder(part, domain.csv.decimal)) for at, part in enumerate(parts)
            if _is_text(part)]

    def read(block: bytes) -> list[tuple[Any, ...]]:
        end, found = 0, []
        while end < len(block):
            *one, end = records.read(block, end, most)
            found.append(tuple(one))
        return found

    # Threads run the kernel and no more: what Python does with texts happens here, in their order.
    for codes, ids, texts in chain.from_iterable(
            room.each(source.file.blocks(source.file.longest(positions)), read)):
        for (at, encode), held, which in zip(told, texts, ids, strict=False):
            codes[at] = encode(held)[which]
        yield codes[:len(parts)], (None if domain.person is None
                                   else np.array(texts[-1], object)[ids[-1]].tolist())


def _add(records: Records, position: int, part: Column | Target) -> None:
    """The rule of `cells.encoder` in the kernel's words."""
    if _is_text(part):
        records.text(position)
    elif isinstance(part, (Category, Label, Flag)):
        table, other = known(part)
        if isinstance(part, Flag):
            table = {"".join(letters): code for text, code in table.items()
                     for letters in product(*({c, c.upper()} for c in text))}
        records.levels(position, table, other)
    else:
        assert isinstance(part, Number)
        used, missing = grid(part)
        if part.gridless:
            records.log_linear(position, part.near or 0.0, used, missing, reach=part.reach)
        elif part.scale == "log":
            records.logarithmic(position, log_edges(part), used, missing)
        else:
            low, high = part.ends
            records.linear(position, low, used / (high - low), used, missing, reach=part.reach)


def _is_text(part: Column | Target) -> bool:
    """What the kernel tells apart and does not code; a word may have capitals beyond ASCII."""
    if isinstance(part, Category | Label):
        return part.ignore_case
    return (isinstance(part, Date) or (isinstance(part, Flag) and bool(part.true or part.false))
            or (isinstance(part, Number) and bool(part.missing_values)))
