"""Arrays: NumPy, lists of rows, SciPy sparse matrices.  Their columns have positions, no names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privsieve.errors import SchemaError
from privsieve.rows.source import Source, check_width, simple, slices, type_of

if TYPE_CHECKING:
    from privsieve.rows.source import RawColumn, Type


def open_array(X: npt.NDArray[Any], y: RawColumn | None) -> Source:
    """A two-dimensional array."""
    if X.ndim != 2 or X.dtype.names is not None:
        raise SchemaError(f"the array has {X.ndim} dimensions; a table has two, rows and columns "
                          "(X.reshape(-1, 1) for one column)")

    table = X if isinstance(X, np.ma.MaskedArray) else np.asarray(X)

    def cut(start: int, stop: int, j: int) -> RawColumn:
        return simple(table[start:stop, j])

    return positional(X.shape, type_of(X.dtype.kind), slices(len(X), cut), y)


def open_rows(X: Sequence[Any], y: RawColumn | None) -> Source:
    """A list of rows of the same length; each cell keeps the type that it has.

    All rows are checked alike, and before a charge.  A list without rows is as wide as the domain
    says: under add-remove it is a neighbour of a list with one row.
    """
    rows = [row.tolist() if isinstance(row, np.ndarray) else row for row in X]
    if not all(isinstance(row, (list, tuple)) for row in rows):
        raise SchemaError("the list is not a table; give a list of rows, each a list of cells")
    if len(set(map(len, rows))) > 1:
        raise SchemaError("the rows of the list have different lengths; a table has as many "
                          "cells in each")

    def cut(start: int, stop: int, j: int) -> RawColumn:
        return [row[j] for row in rows[start:stop]]

    if not rows:
        check_target(0, y)
        return Source((), (), "position", lambda: 0, slices(0, cut), y)
    return positional((len(rows), len(rows[0])), "other", slices(len(rows), cut), y)


def open_sparse(X: Any, y: RawColumn | None) -> Source:
    """A SciPy sparse matrix; a batch of rows is made dense at a time."""
    table = X.tocsr()

    def read(positions: Sequence[int], batch_rows: int) -> Iterator[list[RawColumn]]:
        for start in range(0, table.shape[0], batch_rows):
            piece = table[start:start + batch_rows].toarray()
            yield [simple(piece[:, j]) for j in positions]

    return positional(table.shape, type_of(table.dtype.kind), read, y)


def positional(shape: tuple[int, ...], types: Type | tuple[Type, ...], read: Any,
               y: RawColumn | None) -> Source:
    """A source of columns without names; of one type, or each of its own."""
    rows, width = shape
    check_width(width)
    check_target(rows, y)
    each = types if isinstance(types, tuple) else (types,) * width
    return Source(tuple(f"x{j}" for j in range(width)), each, "position", lambda: rows, read, y)


def array_of(X: Any) -> npt.NDArray[Any]:
    """What says of itself that it is an array."""
    try:
        found = np.asarray(X)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001  # the text of a foreign library could speak of rows
        found = None
    if found is None:
        raise SchemaError("the object cannot be taken for an array; give a NumPy array or a frame")
    return found


def target(y: Any) -> RawColumn:
    """The target as one column, whatever holds it."""
    if hasattr(y, "to_pandas") and hasattr(y, "to_list"):  # polars keeps nulls apart from NaN
        return list(y.to_list())
    if hasattr(y, "array") and hasattr(y, "dtype") and hasattr(y, "iloc"):
        from privsieve.rows.pandas_frame import column

        return column(y)
    if hasattr(y, "to_pylist"):
        from privsieve.rows.arrow import column as arrow_column

        return [cell for chunk in getattr(y, "chunks", [y]) for cell in arrow_column(chunk)]
    if isinstance(y, (list, tuple)):
        if any(isinstance(cell, (list, tuple)) and len(cell) != 1 for cell in y):
            raise SchemaError("y has 2 dimensions; give one label for each row")
        return [cell[0] if isinstance(cell, (list, tuple)) and len(cell) == 1 else cell
                for cell in y]
    found = y if isinstance(y, np.ndarray) else array_of(y)
    type_of(found.dtype.kind)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1:
        raise SchemaError(f"y has {found.ndim} dimensions; give one label for each row")
    return simple(found)


def target_type(y: Any) -> Type:
    """The type that the container of a target declares; a list declares none."""
    if hasattr(y, "to_pandas") and hasattr(y, "to_list"):
        return _polars_type(y.dtype)
    if hasattr(y, "array") and hasattr(y, "dtype") and hasattr(y, "iloc"):
        from privsieve.rows.pandas_frame import type_of_dtype

        return type_of_dtype(y.dtype)
    if hasattr(y, "to_pylist"):
        from privsieve.rows.arrow import type_of_arrow

        return type_of_arrow(y.type)
    if isinstance(y, (list, tuple)):
        return "other"
    return type_of((y if isinstance(y, np.ndarray) else array_of(y)).dtype.kind)


def _polars_type(dtype: Any) -> Type:
    """The word for a type of polars, by its name: polars is not imported."""
    words: dict[str, Type] = {
        "Boolean": "flag", "Date": "date", "Datetime": "date", "String": "text",
        "Categorical": "text", "Enum": "text", "Binary": "text", "Object": "text", "Null": "other"}
    if dtype.is_numeric():
        return "number"
    return words.get(str(dtype).partition("(")[0], "unreadable")


def check_target(rows: int, y: RawColumn | None) -> None:
    """Refuse a target that is not as long as the table."""
    if y is not None and len(y) != rows:
        raise SchemaError("X and y have different numbers of rows; give one label for each row")
