"""Arrow tables and streams, polars: imported only for a source that needs pyarrow.

The kernel gives numbers, dates, and true and false their codes, many columns in one call; texts are
told apart, and the rules of `cells` see each different one.  Without the kernel those rules see all
cells: the same codes, cell by cell.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.entries import import_library
from privsieve.errors import SchemaError
from privsieve.kernels import contract
from privsieve.public.canonical import is_whole
from privsieve.public.columns import ColumnKind
from privsieve.public.domain import Csv, Domain
from privsieve.rows.cells import CellRule, Codes, Encode, encoder, limits
from privsieve.rows.room import Room, limited
from privsieve.rows.source import (
    TARGET,
    RawColumn,
    Source,
    Type,
    check_lengths,
    foreign,
    one_of_each,
)

if limited():
    # A limit counts what a pool reserves: a gigabyte at once, whatever is read.  Arrow asks when
    # it is loaded, and not again: who loads it before has to say this on their own.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

pa = import_library("pyarrow", "parquet", "a Parquet file, polars frame or Arrow table")

#: The kernel's letters for types of cells: those of Arrow's format strings, and a digit for a time.
_LETTERS = {pa.int8(): "c", pa.uint8(): "C", pa.int16(): "s", pa.uint16(): "S", pa.int32(): "i",
            pa.uint32(): "I", pa.int64(): "l", pa.uint64(): "L", pa.float16(): "e",
            pa.float32(): "f", pa.float64(): "g", pa.bool_(): "b", pa.date32(): "D",
            pa.date64(): "3", pa.string(): "u", pa.large_string(): "U", pa.binary(): "z",
            pa.large_binary(): "Z", pa.string_view(): "v", pa.binary_view(): "v"}
#: How often the codes of a part must fit into the memory for each thread: where all of its
#: columns are decoded at once, and where some are after others.
_ASIDE, _ASIDE_BY_COLUMNS = 16, 8
#: Bytes of codes of a part that is read by columns, at most; and cells that are decoded at once:
#: two megabytes, for each call has its price, and threads take turns to make one.
_LARGEST_PART, _AT_ONCE = 2**26, 2**18
#: Codes of some rows, and for each column that Python codes, its cells in pieces.
Coded = tuple[dict[int, list[Any]], Codes]
_TIMES = {"s": "0", "ms": "3", "us": "6", "ns": "9"}


@dataclass(frozen=True, eq=False, repr=False)
class Stretch:
    """Some rows that can be read apart from the others: how many, and their batches.

    some : (first, end, rows) -> batches of the columns from one place to another, of at most so
        many rows; None where all come at once.
    """

    rows: int
    batches: Callable[[], Iterator[Any]]
    some: Callable[[int, int, int], Iterator[Any]] | None = None


#: (positions, most rows of a batch) -> parts of the rows, in order, with the columns in that order
Parts = Callable[[Sequence[int], int], Iterator[Stretch]]


@dataclass(frozen=True, eq=False, repr=False)
class Body:
    """The types of all columns, and the rows."""

    types: Sequence[Any]
    parts: Parts


def open_table(table: Any, y: RawColumn | None) -> Source:
    """Open a `pyarrow.Table` or `RecordBatch`."""
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    check_lengths(table.num_rows, y)
    return source_of(table.schema, lambda: int(table.num_rows), lambda positions, most: alone(
        table.select(list(positions)).to_batches(max_chunksize=most)), y)


def open_stream(stream: Any, y: RawColumn | None) -> Source:
    """Anything with `__arrow_c_stream__`; a stream is read once, and its length is not known."""
    if y is not None:
        raise SchemaError("X is a stream, so y cannot be passed separately; put the target into "
                          "the stream, under its name in the domain")
    reader = foreign(lambda: pa.RecordBatchReader.from_stream(stream),
                     SchemaError("the object gives no Arrow stream of rows; give a table"))
    return source_of(reader.schema, None, partial(cut, reader), None)


def cut(batches: Iterable[Any], positions: Sequence[int], most: int) -> Iterator[Stretch]:
    """Yield these columns of batches, at most `most` rows at a time."""
    for batch in batches:
        wanted = batch.select(list(positions))
        yield from alone(wanted.slice(start, most) for start in range(0, batch.num_rows, most))


def alone(batches: Iterable[Any]) -> Iterator[Stretch]:
    """Batches that are there already, each a part."""
    return (Stretch(batch.num_rows, partial(iter, (batch,))) for batch in batches)


def column(array: Any) -> RawColumn:  # noqa: PLR0911  # one a type
    """Return a piece of a column; its type and its nulls decide the form."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        # By hand: pyarrow cannot decode each layout of texts that polars writes.
        values = dict(enumerate(column(array.dictionary)))
        return [values.get(at) for at in array.indices.to_pylist()]
    if pa.types.is_floating(kind):
        return np.where(_valid(array), _words(array, f"f{kind.bit_width // 8}"), math.nan)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        ticks = _words(array, f"i{kind.bit_width // 8}").astype(np.int64)
        ticks[~_valid(array)] = np.iinfo(np.int64).min
        unit = (kind.unit if pa.types.is_timestamp(kind)
                else "D" if pa.types.is_date32(kind) else "ms")
        return ticks.view(f"M8[{unit}]")
    if pa.types.is_boolean(kind) and not array.null_count and len(array):
        return _bits(array, 1)
    if pa.types.is_integer(kind) and not array.null_count:
        letter = "i" if pa.types.is_signed_integer(kind) else "u"
        return _words(array, f"{letter}{kind.bit_width // 8}")
    if _is_text(kind) or _is_exact(kind):
        return _cells(array)
    # Lists, records, durations, times: no rule reads them, so each is missing.
    return [None] * len(array)


def _words(array: Any, dtype: str) -> npt.NDArray[Any]:
    """Return the memory of an array as it is (pyarrow's own conversion would import pandas)."""
    if not len(array):
        return np.empty(0, dtype=dtype)
    return np.frombuffer(array.buffers()[1], dtype)[array.offset:array.offset + len(array)]


def _valid(array: Any) -> npt.NDArray[np.bool_]:
    """Return which cells of an array are not null."""
    if array.buffers()[0] is None:
        return np.ones(len(array), dtype=np.bool_)
    return _bits(array, 0)


def _bits(array: Any, at: int) -> npt.NDArray[np.bool_]:
    """Return an array's own bits: a slice lies in the memory of the whole."""
    first, end = array.offset // 8, -(-(array.offset + len(array)) // 8)
    held = np.unpackbits(np.frombuffer(array.buffers()[at], np.uint8)[first:end], bitorder="little")
    return held[array.offset % 8:array.offset % 8 + len(array)].astype(np.bool_)


def _cells(array: Any) -> list[Any]:
    try:
        return list(array.to_pylist())
    except UnicodeDecodeError:
        # The file did not keep its word; each text is read as far as it can be.
        return [None if (held := cell.as_buffer()) is None
                else held.to_pybytes().decode("utf-8", "replace") for cell in array]


def source_of(schema: Any, count: Callable[[], int] | None, parts: Parts, y: RawColumn | None,
              **fields: Any) -> Source:
    """Return a source of parts; `more` are other fields of it."""
    types = tuple(map(type_of_arrow, schema.types))

    def read(positions: Sequence[int], batch_rows: int) -> Iterator[list[RawColumn]]:
        for stretch in parts(positions, batch_rows):
            for batch in stretch.batches():
                yield [column(array) for array in batch.columns]

    def piece(j: int) -> RawColumn:
        # As both ways to read make them; `pa.array` of a list would load pandas.
        return column(pa.nulls(0, schema.types[j]))

    return Source(tuple(schema.names), types, "name", count, read, y,
                  empty=one_of_each(schema.types, piece), arrow=Body(schema.types, parts), **fields)


def type_of_arrow(kind: Any) -> Type:
    """Return the word for a type of Arrow."""
    if pa.types.is_dictionary(kind):
        return type_of_arrow(kind.value_type)
    if pa.types.is_boolean(kind):
        return "flag"
    if pa.types.is_floating(kind) or _is_exact(kind):
        return "number"
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return "date"
    if _is_text(kind):
        return "text"
    return "other" if pa.types.is_null(kind) else "unreadable"


def _is_exact(kind: Any) -> bool:
    tests = (pa.types.is_integer, pa.types.is_boolean, pa.types.is_decimal)
    return any(test(kind) for test in tests)


def _is_text(kind: Any) -> bool:
    """Texts and bytes, in each of Arrow's layouts."""
    names = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view",
             "fixed_size_binary")
    return any(getattr(pa.types, f"is_{name}")(kind) for name in names)


def pieces(source: Source, domain: Domain, wanted: tuple[list[str], int], room: Room,
           ) -> Iterator[tuple[Codes, RawColumn | None]]:
    """Encode the columns and the target, a row for each, and the persons.

    wanted : the names of the columns, the target and the person, in this order, and how many rows
        at a time, at most.
    """
    assert source.arrow is not None
    names, most = wanted
    parts = [*domain.columns, *([domain.target] if domain.target else [])]
    positions = source.positions([name for name in names if name != TARGET])
    inside = parts[:len(domain.columns)] if TARGET in names else parts
    kinds = [source.arrow.types[j] for j in positions]
    coder = _Coder(list(zip(kinds, inside, strict=False)), domain.csv)
    apart = encoder(parts[-1], domain.csv.signs, domain.csv.missing) if TARGET in names else None

    # Of the others, and of persons, Python makes something, one after another in their order.
    later = sorted({*coder.others, *([len(positions) - 1] if domain.person is not None else [])})
    # A row for the person too: it is not written.
    reader = _Reader(coder, later, (max(len(parts), len(positions)), len(positions)), most)

    at = 0
    for held, codes in _read(source.arrow.parts(positions, most), reader, room):
        coder.write_others(held, codes)
        many = codes.shape[1]
        if apart is not None and source.y is not None:
            codes[len(inside)] = apart(source.y[at:at + many])
        at += many
        yield codes[:len(parts)], None if domain.person is None else _joined(held[later[-1]])


def _read(parts: Iterator[Stretch], reader: _Reader, room: Room) -> Iterator[Coded]:
    """Read parts by threads, one part each, while there is room for their codes.

    A page may hold all rows of a part, and pages of all columns are there at once where rows are
    read: a large part is read by columns, too, while its codes find room.  Cells that Python codes
    would all be kept till then, and nobody knows how long they are.
    """
    def way(chunk: Stretch) -> tuple[Callable[[Stretch], list[Coded]] | None, int]:
        size, threads = reader.size(chunk), room.jobs + 1
        if chunk.some is not None and size <= _LARGEST_PART and room.ahead(
                size * _ASIDE_BY_COLUMNS * threads):
            return reader.by_columns, room.jobs
        if room.jobs > 1 and room.ahead(size * _ASIDE * threads):
            return reader.by_rows, room.jobs
        # There is room for the codes of one part, or the release was refused: see `batch.reading`.
        return reader.by_columns if chunk.some is not None and not reader.later else None, 1

    for (how, jobs), some in groupby(parts, way):
        if how is None:
            yield from map(reader.read, chain.from_iterable(chunk.batches() for chunk in some))
        elif jobs == 1:
            yield from chain.from_iterable(map(how, some))
        else:
            yield from chain.from_iterable(room.each(some, how))


class _Reader:
    """Batches of Arrow as codes.

    later : the columns whose cells are kept for Python.
    shape : rows of codes, and columns of a batch.
    most : rows that come out together, at most.
    """

    def __init__(self, coder: _Coder, later: list[int], shape: tuple[int, int], most: int) -> None:
        self.coder, self.later, self.most = coder, later, most
        self.height, self.columns = shape

    def size(self, chunk: Stretch) -> int:
        """Bytes of the codes of a part."""
        return 2 * chunk.rows * self.height

    def read(self, batch: Any) -> Coded:
        """Read a batch with all columns."""
        batch.validate()
        codes = np.empty((self.height, batch.num_rows), np.uint16)
        self.coder.write(batch, codes, 0, (0, batch.num_rows, 0))
        return {j: [batch.column(j)] for j in self.later}, codes

    def by_rows(self, chunk: Stretch) -> list[Coded]:
        """Read a part, one batch after another."""
        return list(map(self.read, chunk.batches()))

    def by_columns(self, chunk: Stretch) -> list[Coded]:
        """Read a part's columns in groups: decoded values stay in a cache.

        All columns of a batch at once would be several times its codes, fetched from the system
        again and again.
        """
        blank = list(self._blank(chunk.rows))
        wide = min(self.columns, max(1, _AT_ONCE // max(1, chunk.rows)))
        for first in range(0, self.columns, wide):
            self._some(chunk, (first, min(first + wide, self.columns)), _AT_ONCE // wide, blank)
        return blank

    def _blank(self, rows: int) -> Iterator[Coded]:
        """Room for the codes of a part, in one piece of memory, and for other cells."""
        memory = np.empty(self.height * rows, np.uint16)
        for at in range(0, rows, self.most):
            end = min(at + self.most, rows)
            codes = memory[self.height * at:self.height * end].reshape(self.height, end - at)
            yield {j: [] for j in self.later}, codes

    def _some(self, chunk: Stretch, columns: tuple[int, int], rows: int,
              blank: list[Coded]) -> None:
        """Code the columns from one place to another, at most `rows` rows at a time."""
        assert chunk.some is not None
        (first, end), at = columns, 0
        for batch in chunk.some(first, end, rows):
            batch.validate()
            # Its footer is wrong, and codes would be what was in memory before.
            _demand(at + batch.num_rows <= chunk.rows)
            begin = 0
            while begin < batch.num_rows:  # a batch ends where its reader wants
                held, codes = blank[at // self.most]
                place = at % self.most
                many = min(codes.shape[1] - place, batch.num_rows - begin)
                self.coder.write(batch, codes[first:end], first, (begin, many, place))
                for j in self.later:
                    if first <= j < end:
                        held[j].append(batch.column(j - first).slice(begin, many))
                begin, at = begin + many, at + many
        _demand(at == chunk.rows)


def _demand(good: object) -> None:
    """Raise the errors that `guarded` turns into one text."""
    if not good:
        raise ValueError


def _joined(arrays: list[Any]) -> RawColumn:
    """Pieces of a column as one."""
    if len(arrays) == 1:
        return column(arrays[0])
    return [cell for array in arrays for cell in column(array)]


class _Coder:
    """Rules of the kernel for the first columns of a batch; for each other one its encoder.

    Columns that are declared alike share a rule: a table may have tens of thousands.
    """

    def __init__(self, columns: Sequence[tuple[Any, ColumnKind]], csv: Csv) -> None:
        self._native = contract.extension.ArrowColumns()
        rules: dict[Any, tuple[CellRule, int | None]] = {}
        coded_columns: list[tuple[CellRule, int | None]] = []
        for kind, declared in columns:
            own = (value for key, value in vars(declared).items() if key != "name")
            how = (kind, type(declared), *own)
            if how not in rules:
                rule = CellRule.of(declared, csv.signs, csv.missing)
                rules[how] = rule, self._place(kind, rule)
            coded_columns.append(rules[how])
        self._rules = [rule for rule, _ in coded_columns]
        self.others = {j: rule.codes for j, (rule, at) in enumerate(coded_columns) if at is None}
        self._which = np.array([-1 if at is None else at for _, at in coded_columns], np.int32)

    def write(self, batch: Any, codes: Codes, first: int, where: tuple[int, int, int]) -> None:
        """Write a row of codes for each column that the kernel knows.

        first : where the first column of the batch stands among all
        where : the first row, how many, and where their codes stand
        """
        if not self._native:
            return
        which = np.full(batch.num_columns, -1, np.int32)
        mine = self._which[first:first + batch.num_columns]
        which[:len(mine)] = mine
        start, rows, place = where
        for j, at in self._native.read(batch.__arrow_c_array__()[1], which, codes, where):
            # Texts that the kernel leaves to Python.
            held = column(batch.column(j).slice(start, rows))
            codes[j, place + at] = self._rules[first + j].codes([held[i] for i in at.tolist()])

    def write_others(self, arrays: Mapping[int, list[Any]], codes: Codes) -> None:
        """Write a row of codes for each other column."""
        for j, encode in self.others.items():
            at = 0
            for array in arrays[j]:
                codes[j, at:at + len(array)] = _coded(array, encode)
                at += len(array)

    def _place(self, kind: Any, rule: CellRule) -> int | None:
        """Return the place of a rule in the kernel; None if it has none for this type."""
        letter = _TIMES[kind.unit] if pa.types.is_timestamp(kind) else _LETTERS.get(kind)
        if letter is None:
            return None
        if letter in "uUzZv":
            signs = (*map(ord, f"{rule.signs.rstrip('<>'):\0<2}"), limits(rule.signs))
            return int(self._native.add_text(letter, rule.native(), signs)) if hasattr(
                contract.extension, "CsvRecords") else None
        if (letter in "D0369") != (rule.form != ""):
            return None
        if rule.grade is None:
            return self._listed(letter, rule)
        if letter == "b" or rule.table:
            return None
        return int(self._native.add_number(letter, rule.grade.native()))

    def _listed(self, letter: str, rule: CellRule) -> int | None:
        """Whole numbers that are listed; a float may also be some other word."""
        if letter == "b":
            return int(self._native.add_bits(*rule.codes([False, True]).tolist(), rule.other))
        keys = [int(text) for text in rule.table if is_whole(text)]
        low, high = (0, 2**64) if letter in "CSIL" else (-2**63, 2**63)
        held = [key for key in keys if low <= key < high]
        odd = any(map(_is_number, rule.table.keys() - set(map(str, keys))))
        if letter in "efg" and (len(held) < len(keys) or odd):
            return None
        bits = np.array([key % 2**64 for key in held], np.uint64).view(np.int64)
        order = np.argsort(bits)
        return int(self._native.add_whole(letter, bits[order], rule.codes(list(held))[order],
                                          rule.other))


def _is_number(text: str) -> bool:
    """Return whether a float could be written so."""
    try:
        return float(text) is not None
    except ValueError:
        return False


def _coded(array: Any, encode: Encode) -> Codes:
    """Encode a column of a type that the kernel does not know; read a dictionary once."""
    kind = array.type
    if not pa.types.is_dictionary(kind):
        return encode(column(array))
    table, places = array.dictionary, array.indices
    codes = np.append(encode(column(table)), encode([None]))
    letter = "i" if pa.types.is_signed_integer(places.type) else "u"
    at = _words(places, f"{letter}{places.type.bit_width // 8}")
    return codes[np.where(_valid(places) & (at >= 0) & (at < len(table)), at, len(table))]
