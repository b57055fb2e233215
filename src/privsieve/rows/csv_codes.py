"""A CSV file by the kernel: the answers of `csv_file` and `columns`, cell by cell, and faster.

A line is a record, or it is none and then every cell of it is missing; no line touches another.
Numbers and levels become codes there.  Of dates, of flags with words of their own and of persons it
tells the texts apart, and the rules of `cells` see each different one.  Whether it serves is
decided by the implementation and the encoding, which are public.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping
from itertools import product
from math import inf, isfinite
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from privsieve.kernels import contract
from privsieve.kernels.contract import I32, MOST_ROWS, U16, demand_array, demand_whole
from privsieve.public.columns import Category, Column, Date, Flag, Label, Number, Target
from privsieve.public.domain import Domain
from privsieve.rows.columns import Codes, encoder, grid, known, log_edges
from privsieve.rows.csv_file import File
from privsieve.rows.source import Source

#: Encodings in which each byte is a character, the lower 128 as in ASCII.
_BYTES = {"ascii", "cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1257", "iso8859-1",
          "iso8859-2", "iso8859-5", "iso8859-7", "iso8859-9", "iso8859-15"}

class Lines(NamedTuple):
    """What was read of some lines.

    codes : a row for each part, in the order in which they were named; 0 where it is a text.
    ids : a row for each text part: which of its `texts` a line has.
    texts : the different texts of each text part, without blanks around them.
    end : where the next line begins.
    """

    codes: U16
    ids: I32
    texts: list[list[str]]
    end: int

    def __repr__(self) -> str:
        return object.__repr__(self)  # its fields are private


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
    ...     lines = records.read(b"0.5, A\n?,B\nC\n", 0, 10)
    ...     assert [[32768, 7, 7], [0, 0, 0]] == lines.codes.tolist()
    ...     assert ["A", "B", ""] == [lines.texts[0][at] for at in lines.ids[0]]
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

    def linear(self, position: int, low: float, step: float, used: int, missing: int) -> None:
        """A number: `floor((x - low) * step)`, cut to 0..used - 1."""
        if not (isfinite(low) and 0 < step < inf):
            raise ValueError("low must be finite, and step a finite number above 0")
        self._records.add_linear(self._checked(position), low, step, *_codes(used, missing))

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

    def read(self, block: bytes, start: int, most: int) -> Lines:
        """At most so many lines of a block, from this place on; the last may lack its end."""
        if not 0 <= start <= len(block):
            raise ValueError(f"start is {start}, and the block has {len(block)} bytes")
        most = demand_whole("most", most, 0, 2**63 - 1)
        codes, ids, texts, end = self._records.read(block, start, most)
        return Lines(codes, ids, [[text.decode() for text in part] for part in texts], end)

    def _checked(self, position: int) -> int:
        if not 0 <= position < self._need:
            raise ValueError(f"position is {position}; choose from 0 to {self._need - 1}")
        return position


def _codes(used: int, missing: int) -> tuple[int, int]:
    """The highest of so many codes, and the code of what is no number."""
    return demand_whole("used", used, 1, 65536) - 1, demand_whole("missing", missing, 0, 65535)


def serves(source: Source) -> bool:
    """Whether the kernel reads this source: by the implementation and the encoding alone.

    >>> from privsieve.rows import open_source
    >>> serves(open_source([[1]]))
    False
    """
    return source.file is not None and readable(source.file.csv.encoding)


def pieces(source: Source, domain: Domain, names: list[str], most: int,
           ) -> Iterator[tuple[Codes, list[str] | None]]:
    """Codes of the columns and the target, a row for each, and the persons; `most` lines at a time.

    `names` are those of the columns, the target and the person, in this order.
    """
    assert source.file is not None
    parts = [*domain.columns, *([domain.target] if domain.target else [])]
    positions = source.positions(names)
    records = _records(source.file, domain, positions)
    told = [(at, encoder(part, domain.csv.decimal)) for at, part in enumerate(parts)
            if _is_text(part)]
    for block in source.file.blocks(source.file.longest(positions)):
        end = 0
        while end < len(block):
            codes, ids, texts, end = records.read(block, end, most)
            for (at, encode), held, which in zip(told, texts, ids, strict=False):
                codes[at] = encode(held)[which]
            yield codes[:len(parts)], (None if domain.person is None
                                       else np.array(texts[-1], object)[ids[-1]].tolist())


def _records(file: File, domain: Domain, positions: list[int]) -> Records:
    how = domain.csv
    records = Records((how.delimiter, how.decimal), how.encoding, file.width,
                      max(positions) + 1, file.longest(positions))
    for position, part in zip(positions, (*domain.columns, domain.target), strict=False):
        if part is not None:
            _add(records, position, part)
    if domain.person is not None:
        records.text(positions[-1])
    return records


def _add(records: Records, position: int, part: Column | Target) -> None:
    """The rule of `columns.encoder` in the kernel's words."""
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
        if part.scale == "log":
            records.logarithmic(position, log_edges(part), used, missing)
        else:
            records.linear(position, part.low, used / (part.high - part.low), used, missing)


def _is_text(part: Column | Target) -> bool:
    """What the kernel tells apart and does not code; a word may have capitals beyond ASCII."""
    return isinstance(part, Date) or (isinstance(part, Flag) and bool(part.true or part.false))
