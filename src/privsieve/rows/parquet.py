"""Parquet files and folders of them: footers before the charge, and pages after it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from privsieve.errors import SchemaError
from privsieve.rows.arrow import Stretch, source_of
from privsieve.rows.source import PARQUET_FILES, Source, foreign

import pyarrow as pa  # isort: skip  # `arrow` says before where it takes memory

#: Rows of one byte at most: a page of equal cells is short, but each group of rows has a header.
ROWS_A_BYTE = 2**16
#: What a reader holds of a column that was not decoded yet.
_BUFFER = 2**16
#: What Hive calls a folder of rows without a value, and the type of such columns.
_NULL = "__HIVE_DEFAULT_PARTITION__"
_KEY = pa.dictionary(pa.int8(), pa.string())


def open_parquet(path: Path) -> Source:
    """Open a Parquet file or a folder of them: footers now, pages after the charge.

    The files of a folder are read in the order of their names.  The folders `name=value` around
    them are columns of texts, as Hive writes them.
    """
    paths = _files(path) if path.is_dir() else [path]
    first, of_first, rows = _opened(paths[0])
    columns, group = _columns(of_first), _largest(first)
    for at, file_path in enumerate(paths[1:], 2):
        file, of_file, file_rows = _opened(file_path)
        if _columns(of_file) != columns:
            raise SchemaError(f"file {at} of {len(paths)} in the folder (sorted by name) has "
                              "other columns or types than the first; write all files alike, or "
                              "give each file separately")
        rows, group = rows + file_rows, max(group, _largest(file))
    keys = _keys([file_path.relative_to(path) for file_path in paths] if path.is_dir() else [])
    schema = pa.schema([*of_first, *(pa.field(key, _KEY) for key in keys)])
    names = schema.names  # made anew each time that it is asked for

    def parts(positions: Sequence[int], most: int) -> Iterator[Stretch]:
        wanted = [names[j] for j in positions]
        for file_path in paths:
            readers = _Readers(file_path, first if file_path == paths[0] else _opened(file_path)[0])
            held = _values(file_path.relative_to(path)) if keys else {}
            for many, groups in _groups(readers.footer, most):
                some = partial(readers.some, groups, wanted, held)
                yield Stretch(many, partial(some, 0, len(wanted), most), some)

    return source_of(schema, lambda: rows, parts, None, path=True, partitioned=bool(keys),
                     group=group)


class _Readers:
    """Readers of one file: as many as threads ask for at once, each used again."""

    def __init__(self, path: Path, first: Any) -> None:
        self.path, self.idle, self.footer = path, deque([first]), first.metadata

    def some(self, groups: list[int], names: list[str], keys: Mapping[str, str | None],
             *what: int) -> Iterator[Any]:
        """Yield some columns of some groups of rows, at most a number of rows at a time."""
        first, end, most = what
        try:
            file = self.idle.pop()
        except IndexError:
            file = _opened(self.path)[0]
        yield from _batches(file, names[first:end], keys, (groups, most))
        self.idle.append(file)


def _largest(file: Any) -> int:
    """Return the rows of the largest group of a file."""
    groups = range(file.metadata.num_row_groups)
    return max((file.metadata.row_group(at).num_rows for at in groups), default=0)


def _columns(schema: Any) -> list[tuple[str, Any]]:
    return sorted(zip(schema.names, schema.types, strict=True), key=lambda column: str(column[0]))


def _opened(path: Path) -> tuple[Any, Any, int]:
    """Open a Parquet file: return it, its schema, and the rows of its footer."""
    import pyarrow.parquet as pq

    def footer() -> tuple[Any, Any, int]:
        # Read, and not mapped: who cuts the file off meanwhile ends a release, and no process.  Nor
        # are pages asked for ahead: threads of Arrow would be waited for at each column.
        file = pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
        # Made anew each time that it is asked for; a type that it does not know is refused here.
        schema = file.schema_arrow
        return file, schema, _rows_of(file.metadata, path.stat().st_size)

    return foreign(footer, SchemaError(
        "the file is truncated or is not Parquet: its footer cannot be read; copy or write it "
        "again"))


def _batches(file: Any, names: list[str], keys: Mapping[str, str | None],
             how: tuple[list[int], int]) -> Iterator[Any]:
    """These columns of a file; a key has one value in all of its rows."""
    groups, most = how
    wanted = [name for name in names if name not in keys] or file.schema_arrow.names[:1]
    for batch in file.iter_batches(most, row_groups=groups, columns=wanted, use_threads=False):
        if batch.schema.names == names:
            yield batch
            continue
        n = batch.num_rows
        held = {name: pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int8)),
                                                     pa.array([value], pa.string()))
                for name, value in keys.items()}
        yield pa.record_batch([held[name] if name in held else batch.column(name)
                               for name in names], names)


def _groups(footer: Any, least: int) -> Iterator[tuple[int, list[int]]]:
    """Groups that are read together, and their rows: a reader keeps the pages of them all."""
    together, rows = [], 0
    for at in range(footer.num_row_groups):
        together.append(at)
        rows += footer.row_group(at).num_rows
        if rows >= least:
            yield rows, together
            together, rows = [], 0
    if together:
        yield rows, together


def _files(folder: Path) -> list[Path]:
    """Return a folder's files in the order of their names; _ and . begin notes."""
    held = sorted(path.relative_to(folder).parts for path in folder.rglob("*") if path.is_file())
    files = [parts for parts in held if not any(name[0] in "_." for name in parts)]
    if not files:
        raise SchemaError("the folder holds no Parquet file (.parquet, .pq); check the path")
    if any(not parts[-1].lower().endswith(PARQUET_FILES) for parts in files):
        raise SchemaError("the folder holds a file that is not Parquet (.parquet, .pq); move it "
                          "elsewhere, or start its name with _")
    return [folder.joinpath(*parts) for parts in files]


def _keys(files: Sequence[Path]) -> list[str]:
    """Return the names of the folders `name=value` around each file: the same for all."""
    keys_of_files = [[name.partition("=")[0] for name in file.parts[:-1] if "=" in name]
                     for file in files]
    if any(keys != keys_of_files[0] for keys in keys_of_files):
        raise SchemaError("the folders name=value around the files have different names; use the "
                          "same names for all files")
    return keys_of_files[0] if keys_of_files else []


def _values(file: Path) -> dict[str, str | None]:
    from urllib.parse import unquote

    pairs = [name.partition("=") for name in file.parts[:-1] if "=" in name]
    return {key: None if value == _NULL else unquote(value) for key, _, value in pairs}


def _rows_of(footer: Any, size: int) -> int:
    """Return the rows that a footer claims; refuse more than a file of this size can hold."""
    groups = [footer.row_group(j).num_rows for j in range(footer.num_row_groups)]
    if footer.num_rows != sum(groups) or min(groups, default=0) < 0 or (
            footer.num_rows > ROWS_A_BYTE * size):
        raise ValueError
    return int(footer.num_rows)
