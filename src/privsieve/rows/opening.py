"""Open a table by what it is, and match its columns with the domain's: structure only."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privsieve.errors import SchemaError
from privsieve.public.domain import Box, Csv, Domain
from privsieve.rows.csv_file import open_csv
from privsieve.rows.source import Shape, Source, field_position, fold
from privsieve.rows.types import check_types

if TYPE_CHECKING:
    from privsieve.rows.source import RawColumn, Type

_TEXT_FILES = (".csv", ".tsv", ".txt")
_PARQUET_FILES = (".parquet", ".pq")
_ACCEPTED = ("give a path (.csv, .tsv, .txt, .parquet), an array, a list of rows, a sparse matrix, "
             "a pandas or polars frame, or an Arrow table or stream")


def open_source(X: Any, y: Any = None, *, csv: Csv | None = None) -> Source:
    """Open a table without reading a row.

    Parameters
    ----------
    X : path, array, list of rows, sparse matrix, pandas or polars frame, Arrow table or stream
        the table; a `Source` is given back as it is.
    y : array or column name, optional
        the target, where X does not hold it under the domain's name.
    csv : Csv, optional
        how a CSV file is written.

    Examples
    --------
    >>> open_source([[1, "A"], [2, "B"]], y=[0, 1]).shape(count_rows=True).rows
    2
    """
    if isinstance(X, (str, os.PathLike)):
        if y is not None:
            raise SchemaError("X is a file and y came apart; name the target in the domain")
        return _open_path(Path(X), csv or Csv())
    if isinstance(X, Source):
        return X
    home = _homes(X)
    if "pyspark" in home:
        raise SchemaError("X is a Spark frame, whose rows have no stable order; write it to "
                          "Parquet and give the file")
    if isinstance(y, str):
        X, y = _split(X, y)
    return _open_object(X, y, home)


def resolve(domain: Domain, shape: Shape, *, strict: bool = True) -> Domain:
    """Check that a table has what the domain names; a box takes the table's width.

    `strict` refuses columns of a frame that the domain does not name; else, and of a file, they are
    never read.

    >>> box = Domain.box(0, 1)
    >>> resolve(box, Shape(("x0", "x1"), ("number",) * 2, by="position", labelled=True)).names
    ('x0', 'x1')
    """
    if isinstance(domain, Box):
        if not shape.columns:
            raise SchemaError("the list has no row, and so no width; name the columns of the box "
                              "(Domain.box(..., columns=[...]))")
        label = domain.target.name if domain.target and not shape.labelled else None
        domain = domain.of_width([name for name in shape.columns if name != label])
    if shape.labelled and domain.target is None:
        raise SchemaError("y is given and the domain has no target; add target=Label(...) to it")
    if shape.by == "position":
        _check_positions(domain, shape)
    else:
        _check_names(domain, shape, strict=strict)
    return domain


def needed(domain: Domain, *, labelled: bool) -> list[str]:
    """The names that are read from the table itself: columns, target, person."""
    names = list(domain.names)
    if domain.target is not None and not labelled:
        names.append(domain.target.name)
    if domain.person is not None:
        names.append(domain.person)
    return names


def names_of(X: Any) -> tuple[str, ...] | None:
    """The names of a frame's columns; None for what has positions only.

    >>> import pyarrow as pa
    >>> names_of(pa.table({"age": [1]})), names_of([[1]])
    (('age',), None)
    """
    # pyarrow: its `columns` are the cells
    names: Any = X.column_names if hasattr(X, "column_names") else getattr(X, "columns", ())
    found: tuple[object, ...] = tuple(names)
    if not found or not all(isinstance(name, str) for name in found):
        return None
    return tuple(map(str, found))


def typed(kept: Any, X: Any) -> Any:
    """Columns that scikit-learn took through an array, with the types that they had in X.

    >>> typed([1], [[1, 2]])
    [1]
    """
    if type(kept) is type(X) and "polars" in _homes(X):
        return X.select(kept.columns)
    return kept


def _open_path(path: Path, csv: Csv) -> Source:
    ending = path.suffix.lower()
    if ending not in (*_TEXT_FILES, *_PARQUET_FILES):
        raise SchemaError(f"the file's name ends in {ending!r}; .csv, .tsv, .txt, .parquet and "
                          ".pq are read: convert or rename it")
    if not path.is_file():
        raise SchemaError("the data file does not exist, or is not a file; check the path")
    if ending in _TEXT_FILES:
        return replace(open_csv(path, csv), path=True)
    from privsieve.rows.arrow import open_parquet

    return replace(open_parquet(path), path=True)


def _open_object(X: Any, y: Any, home: set[str]) -> Source:
    from privsieve.rows import arrays

    if y is None:
        return _open_table(X, None, home)
    return replace(_open_table(X, arrays.target(y), home), y_type=arrays.target_type(y))


def _open_table(X: Any, target: RawColumn | None, home: set[str]) -> Source:
    """Choose by the package that the object comes from, so that no other is imported."""
    from privsieve.rows import arrays

    if "pandas" in home and hasattr(X, "iloc") and hasattr(X, "columns"):
        from privsieve.rows.pandas_frame import open_pandas

        return open_pandas(X, target)
    if "polars" in home and hasattr(X, "collect"):
        # A lazy query may fail because of a row, and that would be an answer.
        raise SchemaError("X is a lazy frame, whose query has not run; give X.collect()")
    if "scipy" in home and hasattr(X, "tocsr"):
        return arrays.open_sparse(X, target)
    if hasattr(X, "__arrow_c_stream__"):
        return _open_arrow(X, target, home)
    if "numpy" in home and hasattr(X, "ndim"):
        return arrays.open_array(X, target)
    if isinstance(X, (list, tuple)):
        return arrays.open_rows(X, target)
    if hasattr(X, "__array__"):
        return arrays.open_array(arrays.array_of(X), target)
    if hasattr(X, "__next__"):
        raise SchemaError(f"X is an iterator, whose order cannot be relied on; {_ACCEPTED}")
    raise SchemaError(f"X is of a type that is not read here; {_ACCEPTED}")


def _open_arrow(X: Any, target: Any, home: set[str]) -> Source:
    import pyarrow as pa

    from privsieve.rows import arrow

    if "polars" in home and hasattr(X, "columns"):
        return arrow.open_table(pa.table(X), target)
    if isinstance(X, (pa.Table, pa.RecordBatch)):
        return arrow.open_table(X, target)
    return arrow.open_stream(X, target)


def _homes(X: object) -> set[str]:
    """The packages of an object's type and of what it inherits from."""
    return {kind.__module__.partition(".")[0] for kind in type(X).__mro__}


def _split(X: Any, y: str) -> tuple[Any, Any]:
    """A frame without the column `y`, and that column."""
    names = list(getattr(X, "columns", ()))
    if y not in names or not hasattr(X, "drop"):
        raise SchemaError(f"y is {y!r}, and the table has no column of that name; give a name "
                          "of the frame, or the labels")
    return (X.drop(columns=[y]) if hasattr(X, "iloc") else X.drop([y])), X[y]


def _check_positions(domain: Domain, shape: Shape) -> None:
    """Refuse an array of another width or type; a list without rows has neither."""
    if domain.person is not None:
        raise SchemaError(f"the person {domain.person!r} is a column, and an array has no names; "
                          "give a frame or a file")
    width = len(shape.columns)
    if domain.target is not None and not shape.labelled:
        raise SchemaError(f"the domain has the target {domain.target.name!r} and requires y to be "
                          "passed, but the target y is None: an array holds columns only; give y")
    if width and width != len(domain.columns):
        raise SchemaError(f"the array has {width} columns and the domain names "
                          f"{len(domain.columns)}; give both the same columns in the same order")
    if width:
        check_types(domain, shape, [*shape.types, *[shape.y_type] * shape.labelled])


def _check_names(domain: Domain, shape: Shape, *, strict: bool) -> None:
    names = needed(domain, labelled=shape.labelled)
    have = {fold(name) for name in shape.columns}
    for name in names:
        found = (fold(name) in have if shape.by != "field" else field_position(name) is not None)
        if not found:
            raise SchemaError(_absent(name, shape))
    known = {fold(name) for name in names}
    extra = [name for name in shape.columns if fold(name) not in known]
    if strict and extra and not shape.path and shape.by == "name":
        raise SchemaError(f"the table has the column {extra[0]!r}, which the domain does not "
                          f"name{_others(extra)}; drop it or add it to the domain")
    if shape.by == "name":
        held = dict(zip(map(fold, shape.columns), shape.types, strict=True))
        types: list[Type] = [held[fold(name)] for name in names]
        if shape.labelled:
            types.insert(len(domain.columns), shape.y_type)
        check_types(domain, shape, types)


def _absent(name: str, shape: Shape) -> str:
    if shape.by == "field":
        return (f"column {name!r} cannot be in a file without header, whose columns are c1, c2, "
                "…; rename it in the domain, or set csv.header = true")
    capitals = {other.casefold() for other in map(fold, shape.columns)}
    if fold(name).casefold() in capitals:
        return (f"column {name!r} is in the table with other capitals; write it in the domain as "
                "the table does")
    hint = ("; correct its name in the domain, or check csv.delimiter" if shape.by == "header"
            else "; correct its name in the domain, or add the column")
    return f"column {name!r} is not in the table{hint}"


def _others(extra: Sequence[str]) -> str:
    return f" (and {len(extra) - 1} more)" if len(extra) > 1 else ""
