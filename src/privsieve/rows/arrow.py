"""Arrow tables and streams, Parquet files, polars: imported only where a source needs pyarrow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from privsieve.errors import SchemaError
from privsieve.rows.source import (
    RawColumn,
    Source,
    Type,
    check_lengths,
    foreign,
    one_of_each,
)

#: Rows of one byte at most: a page of equal cells is short, but each group of rows has a header.
ROWS_A_BYTE = 2**16


def open_table(table: Any, y: RawColumn | None) -> Source:
    """A `pyarrow.Table` or `RecordBatch`."""
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    check_lengths(table.num_rows, y)

    def read(positions: Sequence[int], batch_rows: int) -> Iterator[list[RawColumn]]:
        for batch in table.select(list(positions)).to_batches(max_chunksize=batch_rows):
            yield [column(array) for array in batch.columns]

    return _source(table.schema, lambda: int(table.num_rows), read, y)


def open_stream(stream: Any, y: RawColumn | None) -> Source:
    """Anything with `__arrow_c_stream__`; a stream is read once, and its length is not known."""
    if y is not None:
        raise SchemaError("X is a stream and y came apart; put the target into the stream, under "
                          "the name that the domain gives it")
    reader = foreign(lambda: pa.RecordBatchReader.from_stream(stream),
                     SchemaError("the object gives no Arrow stream of rows; give a table"))

    def read(positions: Sequence[int], batch_rows: int) -> Iterator[list[RawColumn]]:
        for batch in reader:
            for start in range(0, batch.num_rows, batch_rows):
                piece = batch.slice(start, batch_rows)
                yield [column(piece.column(j)) for j in positions]

    return _source(reader.schema, None, read, None)


def open_parquet(path: Path) -> Source:
    """A Parquet file: its footer now, its pages after the charge."""
    import pyarrow.parquet as pq

    def footer() -> tuple[Any, Any, int]:
        file = pq.ParquetFile(path)
        return file, file.schema_arrow, _rows_of(file.metadata, path.stat().st_size)

    file, schema, rows = foreign(footer, SchemaError(
        "the Parquet file is truncated or not one: its footer cannot be read; copy or write it "
        "again"))
    names = schema.names

    def read(positions: Sequence[int], batch_rows: int) -> Iterator[list[RawColumn]]:
        wanted = [names[j] for j in positions]
        for batch in file.iter_batches(batch_rows, columns=wanted):
            yield [column(batch.column(name)) for name in wanted]

    return _source(schema, lambda: rows, read, None)


def _rows_of(footer: Any, size: int) -> int:
    """The rows that a footer claims; refused where a file of this size cannot hold them."""
    groups = [footer.row_group(j).num_rows for j in range(footer.num_row_groups)]
    if footer.num_rows != sum(groups) or min(groups, default=0) < 0 or (
            footer.num_rows > ROWS_A_BYTE * size):
        raise ValueError
    return int(footer.num_rows)


def column(array: Any) -> RawColumn:  # noqa: PLR0911  # one a type
    """A piece of a column; the choice is made by its type, and by whether a cell is null."""
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
    """The memory of an array as it is (pyarrow's own conversion would import pandas)."""
    if not len(array):
        return np.empty(0, dtype=dtype)
    return np.frombuffer(array.buffers()[1], dtype)[array.offset:array.offset + len(array)]


def _valid(array: Any) -> npt.NDArray[np.bool_]:
    """Where an array is not null."""
    if array.buffers()[0] is None:
        return np.ones(len(array), dtype=np.bool_)
    return _bits(array, 0)


def _bits(array: Any, at: int) -> npt.NDArray[np.bool_]:
    held = np.unpackbits(np.frombuffer(array.buffers()[at], np.uint8), bitorder="little")
    return held[array.offset:array.offset + len(array)].astype(np.bool_)


def _cells(array: Any) -> list[Any]:
    try:
        return list(array.to_pylist())
    except UnicodeDecodeError:
        # The file did not keep its word; each text is read as far as it can be.
        return [None if (held := cell.as_buffer()) is None
                else held.to_pybytes().decode("utf-8", "replace") for cell in array]


def _source(schema: Any, count: Callable[[], int] | None, read: Any, y: RawColumn | None,
            ) -> Source:
    types = tuple(map(type_of_arrow, schema.types))

    def piece(j: int) -> RawColumn:
        # As both ways to read make them: of a table, and of a file's batches.
        return column(pa.array([], schema.types[j]))

    return Source(tuple(schema.names), types, "name", count, read, y,
                  empty=one_of_each(schema.types, piece))


def type_of_arrow(kind: Any) -> Type:
    """The word for a type of Arrow."""
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
