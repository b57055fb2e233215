"""Arrays and pandas frames: NumPy, lists of rows, SciPy sparse matrices, and what is called y.

pandas is never imported: what came from it is known by its methods.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.errors import SchemaError
from privsieve.rows.source import (
    RawColumn,
    Source,
    Type,
    check_lengths,
    check_width,
    foreign,
    one_of_each,
    position_names,
    simple,
    slices,
    type_of,
)


def open_array(X: npt.NDArray[Any], y: RawColumn | None) -> Source:
    """Open a two-dimensional array."""
    if X.ndim != 2 or X.dtype.names is not None:
        raise SchemaError(f"the array has {X.ndim} dimensions; a table has two, rows and columns "
                          "(X.reshape(-1, 1) for one column)")

    table = X if isinstance(X, np.ma.MaskedArray) else np.asarray(X)

    def cut(start: int, stop: int, j: int) -> RawColumn:
        return simple(table[start:stop, j])

    return positional(X.shape, type_of(X.dtype.kind), slices(len(X), cut), y)


def open_rows(X: Sequence[Any], y: RawColumn | None) -> Source:
    """Open a list of rows of the same length; each cell keeps its type.

    All rows are checked alike, and before a charge.  A list without rows is as wide as the domain
    says: under add-remove it is a neighbour of a list with one row.
    """
    rows, widths = foreign(lambda: _lists(X), SchemaError(
        "the list is not a table; give a list of rows, each a list of cells"))
    if len(set(widths)) > 1:
        raise SchemaError("the rows of the list have different lengths; give each row the same "
                          "number of cells")

    def cut(start: int, stop: int, j: int) -> RawColumn:
        return [row[j] for row in rows[start:stop]]

    if not rows:
        check_lengths(0, y)
        return Source((), (), "position", lambda: 0, slices(0, cut), y)
    return positional((len(rows), widths[0]), "other", slices(len(rows), cut), y)


def _lists(X: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """Return the rows of a list and their lengths; a row that is no list raises."""
    rows = [row.tolist() if isinstance(row, np.ndarray) else row for row in X]
    if not all(isinstance(row, (list, tuple)) for row in rows):
        raise TypeError
    return rows, list(map(len, rows))


def open_sparse(X: Any, y: RawColumn | None) -> Source:
    """Open a SciPy sparse matrix; each batch is made dense by itself."""
    table = demand_inside(X).tocsr()

    def read(positions: Sequence[int], batch_rows: int) -> Iterator[list[RawColumn]]:
        for start in range(0, table.shape[0], batch_rows):
            piece = table[start:start + batch_rows].toarray()
            yield [simple(piece[:, j]) for j in positions]

    return positional(table.shape, type_of(table.dtype.kind), read, y)


def demand_inside(X: Any) -> Any:
    """Refuse a sparse matrix with an entry outside: SciPy would read and write other memory."""
    check = getattr(X, "check_format", getattr(X, "_check", None))
    if check is not None:
        foreign(check, SchemaError("the sparse matrix is damaged: its indices do not fit its "
                                   "shape; build it again"))
    return X


def positional(shape: tuple[int, ...], types: Type | tuple[Type, ...], read: Any,
               y: RawColumn | None) -> Source:
    """Return a source of columns without names; of one type, or each of its own."""
    rows, width = shape
    check_width(width)
    check_lengths(rows, y)
    each = types if isinstance(types, tuple) else (types,) * width
    return Source(position_names(width), each, "position", lambda: rows, read, y)


def array_of(X: Any) -> npt.NDArray[Any]:
    """Convert an object that says it is an array."""
    return foreign(lambda: np.asarray(X), SchemaError(
        "the object cannot be converted to an array; give a NumPy array or a frame"))


def target(y: Any) -> tuple[RawColumn, Type]:
    """Return the target as one column, and its container's type."""
    if hasattr(y, "to_pandas") and hasattr(y, "to_list"):  # polars keeps nulls apart from NaN
        return list(y.to_list()), _polars_type(y.dtype)
    if hasattr(y, "array") and hasattr(y, "dtype") and hasattr(y, "iloc"):
        kind = type_of_dtype(y.dtype)
        foreign(lambda: column(y.iloc[:0]), SchemaError(
            "y has a type that cannot be read; give it as text (pandas: astype(str))"))
        return column(y), kind
    if hasattr(y, "to_pylist"):
        from privsieve.rows import arrow

        return [cell for chunk in getattr(y, "chunks", [y])
                for cell in arrow.column(chunk)], arrow.type_of_arrow(y.type)
    if isinstance(y, (list, tuple)):
        # Exact types: a method of a cell's own class could raise.
        if any(type(cell) in (list, tuple) and len(cell) != 1 for cell in y):
            raise SchemaError("y has 2 dimensions; give one label for each row")
        return [cell[0] if type(cell) in (list, tuple) else cell for cell in y], "other"
    cells = y if isinstance(y, np.ndarray) else array_of(y)
    kind = type_of(cells.dtype.kind)
    if cells.ndim == 2 and cells.shape[1] == 1:
        cells = cells[:, 0]
    if cells.ndim != 1:
        raise SchemaError(f"y has {cells.ndim} dimensions; give one label for each row")
    return simple(cells), kind


def _polars_type(dtype: Any) -> Type:
    """Return the word for a type of polars, by its name: polars is not imported."""
    words: dict[str, Type] = {
        "Boolean": "flag", "Date": "date", "Datetime": "date", "String": "text",
        "Categorical": "text", "Enum": "text", "Binary": "text", "Object": "text", "Null": "other"}
    if dtype.is_numeric():
        return "number"
    return words.get(str(dtype).partition("(")[0], "unreadable")


def open_pandas(frame: Any, y: RawColumn | None) -> Source:
    """Open a frame; one whose columns are called 0, 1, 2, … is an array.

    An Arrow type that pandas does not know, or a zone that the system lacks, is refused by it only
    where it is asked for cells.
    """
    names = list(frame.columns)

    def cut(start: int, stop: int, j: int) -> RawColumn:
        return column(frame.iloc[start:stop, j])

    read = slices(len(frame), cut)
    kinds = list(frame.dtypes)
    types = tuple(map(type_of_dtype, kinds))
    # pandas hashes a category type by its categories, and stops at one that is no text.
    keys = [id(kind) if hasattr(kind, "categories") else kind for kind in kinds]
    if names and all(isinstance(name, (int, np.integer)) for name in names):
        return replace(positional(frame.shape, types, read, y),
                       empty=one_of_each(keys, lambda j: cut(0, 0, j)))
    if not all(isinstance(name, str) for name in names):
        raise SchemaError("the name of a column of the frame is not a text; rename it "
                          "(frame.columns = [...])")
    check_lengths(len(frame), y)
    return Source(tuple(map(str, names)), types, "name", lambda: len(frame), read, y,
                  empty=one_of_each(keys, lambda j: cut(0, 0, j)))


def column(series: Any) -> RawColumn:
    """Return a piece of a column: an array if pandas holds one, else its cells as objects."""
    if hasattr(series.dtype, "tz"):
        return simple(series.dt.tz_convert(None).to_numpy())
    if isinstance(series.dtype, np.dtype):
        return simple(series.to_numpy())
    # Nullable, Arrow, category, sparse, period: no cell may change because of its neighbours.  A
    # masked array that makes an array, and `astype`, switch the filters of warnings, which other
    # threads have, too.
    if hasattr(series.dtype, "numpy_dtype") and not hasattr(series.dtype, "pyarrow_dtype"):
        return [cell.item() if isinstance(cell, np.generic) else cell for cell in series.array]
    if hasattr(series.dtype, "pyarrow_dtype"):
        # A missing cell raises where pandas makes no cells of a layout: the type decides, and so
        # a column without rows raises as well, before the charge.
        import pyarrow as pa

        missing = pa.nulls(1, series.dtype.pyarrow_dtype)
        np.asarray(type(series.array)(missing), dtype=object)
    return list(np.asarray(series.array, dtype=object))


def type_of_dtype(dtype: Any) -> Type:
    """Return the word for a type of pandas; a category has the type of its categories."""
    if isinstance(dtype, np.dtype):
        return type_of(dtype.kind)
    if hasattr(dtype, "tz"):
        return "date"
    if hasattr(dtype, "categories"):
        # Without a category there is no cell, and nothing that could be read otherwise.
        return type_of_dtype(dtype.categories.dtype) if len(dtype.categories) else "other"
    if hasattr(dtype, "pyarrow_dtype"):
        from privsieve.rows.arrow import type_of_arrow

        return type_of_arrow(dtype.pyarrow_dtype)
    if type(dtype).__name__ in ("PeriodDtype", "IntervalDtype"):
        return "unreadable"
    return type_of(getattr(dtype, "kind", "O"))
