"""pandas frames, column by column; imported only where a frame came from pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from privsieve.errors import SchemaError
from privsieve.rows.arrays import check_target, positional
from privsieve.rows.source import Source, simple, slices, type_of

if TYPE_CHECKING:
    from privsieve.rows.source import RawColumn, Type


def open_pandas(frame: Any, y: RawColumn | None) -> Source:
    """A frame; one whose columns are called 0, 1, 2, … is an array."""
    names = list(frame.columns)

    def cut(start: int, stop: int, j: int) -> RawColumn:
        return column(frame.iloc[start:stop, j])

    read = slices(len(frame), cut)
    types = tuple(type_of_dtype(kind) for kind in frame.dtypes)
    if names and all(isinstance(name, (int, np.integer)) for name in names):
        return positional(frame.shape, types, read, y)
    if not all(isinstance(name, str) for name in names):
        raise SchemaError("a column of the frame is not named by a text; rename it "
                          "(frame.columns = [...])")
    check_target(len(frame), y)
    return Source(tuple(map(str, names)), types, "name", lambda: len(frame), read, y)


def column(series: Any) -> RawColumn:
    """A piece of a column: an array where pandas holds one, else its cells as objects."""
    if hasattr(series.dtype, "tz"):
        return simple(series.dt.tz_convert(None).to_numpy())
    if isinstance(series.dtype, np.dtype):
        return simple(series.to_numpy())
    # Nullable, Arrow, category, sparse, period: no cell may change by what stands beside it.
    return list(series.astype(object))


def type_of_dtype(dtype: Any) -> Type:
    """The word for a type of pandas; a category has the type of its categories."""
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
