"""Source: a table in two steps, its structure (public) and its body (after the charge).

A table is opened by what it is, and its columns are matched with the domain's by name and declared
type.  A container that declares a type has decided it for all rows alike, so that a refusal by it
reveals nothing about a row.  Texts are always taken: each is read alone.  A type is refused where
its cells cannot say what the domain lists: the text was lost before, and one odd cell would bring
it back for all.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from privsieve.entries import load
from privsieve.errors import DomainError, PrivsieveError, ReleaseFailed, SchemaError
from privsieve.public.canonical import check_name, first_of, is_whole
from privsieve.public.columns import ColumnKind, Listed
from privsieve.public.domain import Box, Csv, Domain

if TYPE_CHECKING:
    from privsieve.rows.arrow import Body
    from privsieve.rows.csv_file import File

T = TypeVar("T")
#: A column of some rows: an array of bool, int, float or datetime64, or a list of objects.
RawColumn = npt.NDArray[Any] | list[Any]
#: The body: columns at these positions, in batches of a largest number of rows.
Read = Callable[[Sequence[int], int], Iterator[list[RawColumn]]]
#: Of the columns at these positions the first of each type: how a piece of no rows is made of it.
Empty = Callable[[Sequence[int]], dict[int, Callable[[], RawColumn]]]
#: "number", "text", "flag", "date"; "other" where the container does not say (a CSV file, a list);
#: "unreadable" for what no rule of `cells` reads (durations, lists, records).
Type = Literal["number", "text", "flag", "date", "other", "unreadable"]

#: A table with more columns is refused; it is a public cap.
LARGEST_WIDTH = 100_000
#: The name under which a source gives a `y` that came apart from its table (no column can be
#: named so: it holds a control character).
TARGET = "\0target"
_FIELD = r"c[1-9][0-9]{0,5}"


@dataclass(frozen=True, eq=False, repr=False)
class Source:
    """A table that was opened: its structure, and two functions that read.

    by : how the domain's columns are found
        "name" (frames, Parquet), "header" (a CSV file; its fields are never echoed), "position"
        (arrays), "field" (a CSV file without header: c1, c2, …; any number of them).
    count : () -> rows
        the number of rows, for domains where it is public; None where nobody can know it.
    read : (positions, batch rows) -> batches of raw columns
        the body.
    y : the target, where it came apart from the table
    file : a CSV file, whose lines a kernel can read
    y_type : the declared type of `y`
    path : whether it is a file, of which columns that the domain does not name are never read
    empty : pieces of no rows, where a library gives the columns: it may not know each type
    arrow : batches of Arrow, whose columns a kernel can code
    partitioned : whether a row lies where its own cells say, as in folders `name=value`, or is
        left out, as by the condition of a query
    group : how many rows lie in one piece of a file, at most
    query : the text of SQL whose rows these are
    cluster : the workers that hold the rows, which never come here (of the extra `spark`)
    rows : how many there are, where the structure was asked to say so
    """

    columns: tuple[str, ...]
    types: tuple[Type, ...]
    by: Literal["name", "header", "position", "field"]
    count: Callable[[], int] | None
    read: Read
    y: RawColumn | None = None
    file: File | None = None
    y_type: Type = "other"
    path: bool = False
    empty: Empty | None = None
    arrow: Body | None = None
    partitioned: bool = False
    group: int = 0
    query: str | None = None
    cluster: Any = None
    rows: int | None = None

    def __post_init__(self) -> None:
        if self.by in ("name", "header"):
            check_width(len(self.columns))
        if self.by == "name":
            check_names(self.columns)

    def shape(self, *, count_rows: bool) -> Source:
        """Return the structure; with the number of rows only if the domain makes it public."""
        rows = self.count() if count_rows and self.count is not None else None
        return replace(self, rows=rows)

    @property
    def labelled(self) -> bool:
        """Return whether `y` is passed separately from the table."""
        return self.y is not None

    @property
    def record(self) -> Literal["row", "line"]:
        """Return "line" for a CSV file without line breaks in cells, else "row"."""
        lines = self.by in ("header", "field") and not (self.file and self.file.csv.line_breaks)
        return "line" if lines else "row"

    def raw(self, names: Sequence[str], batch_rows: int) -> Iterator[list[RawColumn]]:
        """Yield the body in batches: these columns, in this order."""
        if self.cluster is not None:
            raise SchemaError("X is a Spark frame, which this method cannot read; write it to "
                              "Parquet, and give the file")
        return self._raw(names, batch_rows)

    def _raw(self, names: Sequence[str], batch_rows: int) -> Iterator[list[RawColumn]]:
        positions = self.positions([name for name in names if name != TARGET])
        at = 0
        for batch in self.read(positions, batch_rows):
            n = len(batch[0])
            columns = iter(batch)
            yield [self._target(at, n) if name == TARGET else next(columns) for name in names]
            at += n

    def positions(self, names: Sequence[str]) -> list[int]:
        """Return the positions of the columns of these names."""
        if self.by == "field":
            return [j for name in names if (j := field_position(name)) is not None]
        place = {fold(name): j for j, name in enumerate(self.columns)}
        return [place[fold(name)] for name in names]

    def _target(self, at: int, n: int) -> RawColumn:
        assert self.y is not None
        return self.y[at:at + n]


def foreign(ask: Callable[[], T], refusal: PrivsieveError | type[ReleaseFailed]) -> T:
    """Call a foreign library, and replace its errors, whose text could quote rows."""
    try:
        return ask()
    except KeyboardInterrupt:
        raise  # it is whoever reads that is stopped: `fit` after its charge, or a prediction
    except BaseException:  # noqa: BLE001, S110  # a panic too
        pass
    # Raised here, and not above, so that it carries no context.
    raise refusal


def guarded(body: Iterator[T], refusal: PrivsieveError | type[ReleaseFailed]) -> Iterator[T]:
    """Yield the body of a table, without the error texts of foreign libraries."""
    while (batch := foreign(lambda: next(body, None), refusal)) is not None:
        yield batch


def slices(rows: int, cut: Callable[[int, int, int], RawColumn]) -> Read:
    """Yield a body in memory: `cut(start, stop, position)` gives a piece of a column."""

    def read(positions: Sequence[int], batch_rows: int) -> Iterator[list[RawColumn]]:
        for start in range(0, rows, batch_rows):
            stop = min(start + batch_rows, rows)
            yield [cut(start, stop, j) for j in positions]

    return read


def one_of_each(types: Sequence[Hashable], piece: Callable[[int], RawColumn]) -> Empty:
    """Pieces of no rows of a table with these types, of columns that a library gives."""

    def empty(positions: Sequence[int]) -> dict[int, Callable[[], RawColumn]]:
        first: dict[Hashable, int] = {}
        for j in positions:
            first.setdefault(types[j], j)
        return {j: partial(piece, j) for j in first.values()}

    return empty


def fold(name: str) -> str:
    r"""Return the form in which names are matched: accents in one spelling, capitals kept.

    >>> fold("e\u0301") == "\u00e9"
    True
    """
    return unicodedata.normalize("NFC", name)


def position_names(width: int) -> tuple[str, ...]:
    """Return the names of the columns of a table without names.

    >>> position_names(2)
    ('x0', 'x1')
    """
    return tuple(f"x{j}" for j in range(width))


def field_position(name: str) -> int | None:
    """Return the position of a column of a file without header, or None.

    >>> field_position("c1"), field_position("c07"), field_position("age")
    (0, None, None)
    """
    if re.fullmatch(_FIELD, name) and int(name[1:]) <= LARGEST_WIDTH:
        return int(name[1:]) - 1
    return None


def repeated(names: Sequence[str]) -> bool:
    """Return whether two names are the same but for capitals.

    >>> repeated(["age", "Age"])
    True
    """
    return len({fold(name).casefold() for name in names}) < len(names)


def check_lengths(rows: int, y: RawColumn | None) -> None:
    """Refuse a target whose length differs from the table."""
    if y is not None and len(y) != rows:
        raise SchemaError("X and y have different numbers of rows; give one label for each row")


def check_fields(width: int, domain: Domain) -> None:
    """Refuse an array whose width differs from the domain."""
    if width != len(domain.columns):
        raise SchemaError(f"the array has {width} columns and the domain names "
                          f"{len(domain.columns)}; give both the same columns in the same order")


def check_width(width: int) -> None:
    """Refuse a table without columns, or with too many."""
    if not width:
        raise SchemaError("the table has no column; give at least one")
    if width > LARGEST_WIDTH:
        raise SchemaError(f"the table has {width} columns; at most {LARGEST_WIDTH} are allowed: "
                          "give fewer columns")


def check_names(names: Sequence[str]) -> None:
    """Refuse names of a frame or Parquet file that could not be told apart or shown."""
    for name in names:
        check_name_of(name)
    if repeated(names):
        raise SchemaError("two columns of the table have the same name (capital letters do not "
                          "count); rename one")


def check_name_of(name: object) -> None:
    """Apply `check_name` to a name of a table."""
    try:
        check_name(name)
    except DomainError as error:
        raise SchemaError(str(error)) from None


def type_of(kind: str) -> Type:
    """Return the word for a NumPy kind.

    >>> type_of("f"), type_of("M"), type_of("O")
    ('number', 'date', 'text')
    """
    if kind == "c":
        raise SchemaError("Complex data not supported: give the real and the imaginary part as "
                          "two columns")
    words: dict[str, Type] = {"b": "flag", "i": "number", "u": "number", "f": "number",
                              "M": "date", "U": "text", "S": "text", "O": "text"}
    return words.get(kind, "unreadable")


def simple(array: npt.NDArray[Any]) -> RawColumn:
    """Return an array of a kind that the reader knows, or the list of its cells."""
    if isinstance(array, np.ma.MaskedArray):
        cells = np.ma.getdata(array).astype(object)
        cells[np.ma.getmaskarray(array)] = None
        return list(cells)
    if array.dtype.kind in "biufM":
        return np.asarray(array)
    if array.dtype.kind in "OUS":
        return list(array.tolist())
    # Complex numbers, durations, records: no rule reads them, so each is missing.
    return [None] * len(array)


_WORDS = {"number": "numbers", "flag": "true and false", "date": "dates",
          "unreadable": "cells of an unsupported type (durations, lists, records)"}
_WAY_OUT = ("give the path of the file, or the column as text (pandas: dtype=str), or correct the "
            "domain")


def check_types(domain: Domain, shape: Source, types: Iterable[Type]) -> None:
    """Refuse a column whose declared type cannot be read as the domain says.

    `types` are those of the domain's columns, in its order, then of its target and its person.
    """
    target = [] if domain.target is None else [domain.target]
    parts: list[ColumnKind | str] = [*domain.columns, *target]
    if domain.person is not None:
        parts.append(domain.person)
    for column, kind in zip(parts, types, strict=True):
        if isinstance(column, str):
            if kind == "unreadable":
                raise SchemaError(
                    f"the person {column!r} is a column of {_WORDS[kind]}; {_WAY_OUT}")
        else:
            check_type(column, kind, array=shape.by == "position")


def check_type(column: ColumnKind, kind: Type, *, array: bool = False) -> None:
    """Refuse a declared type whose cells cannot be read as a part of the domain."""
    if reads(column, kind, array=array):
        return
    what = "column" if column.is_column else "target"
    problem = (f"{what} {column.name!r} holds {_WORDS[kind]} by its type, but the domain says "
               f"{column.kind}")
    if kind == "number" and isinstance(column, Listed):
        odd = next(text for text in column.texts if not is_whole(text))
        problem += f" with the value {odd!r}, which is not a whole number"
    raise SchemaError(f"{problem}; {_WAY_OUT}")


def reads(column: ColumnKind, kind: Type, *, array: bool = False) -> bool:
    """Return whether cells of a declared type are read as this column.

    `array`: all columns have one type, that the caller chose; its true and false are 1 and 0.

    >>> from privsieve.public.columns import Category
    >>> reads(Category("zip", ["01", "02"]), "number"), reads(Category("n", [1, 2]), "number")
    (False, True)
    """
    if array and kind == "flag" and column.is_number:
        kind = "number"
    return kind in ("text", "other") or column.reads_type(kind)


#: What a query begins with, where a table is given by a text.
SQL = "sql:"
TEXT_FILES = (".csv", ".tsv", ".txt")
PARQUET_FILES = (".parquet", ".pq")
#: Packages whose tables are queries that run when they are read.
_LAZY = {"duckdb", "_duckdb", "ibis", "datafusion", "daft"}
_ACCEPTED = ("give a path (.csv, .tsv, .txt, .parquet, or a folder of Parquet files), an array, a "
             "list of rows, a sparse matrix, a pandas, polars or Spark frame, or an Arrow table or "
             "stream")


def open_source(X: Any, y: Any = None, *, csv: Csv | None = None,
                connect: str | os.PathLike[str] | None = None) -> Source:
    """Open a table without reading a row.

    Parameters
    ----------
    X : path, array, list of rows, sparse matrix, frame of pandas, polars or Spark, Arrow table or
        stream
        the table; a folder of Parquet files is one; so are the rows of "sql:SELECT ...".  A
        `Source` is given back as it is.
    y : array or column name, optional
        the target, where X does not hold it under the domain's name.
    csv : Csv, optional
        how a CSV file is written.
    connect : path, optional
        for SQL: a database of DuckDB (.duckdb, .db), or statements that attach some (.sql).

    Examples
    --------
    >>> open_source([[1, "A"], [2, "B"]], y=[0, 1]).shape(count_rows=True).rows
    2
    """
    queried = isinstance(X, str) and X.startswith(SQL)
    _check_connection(connect, queried=queried)
    if isinstance(X, (str, os.PathLike)):
        if y is not None:
            raise SchemaError("X is a file or a query, so y cannot be passed separately; name the "
                              "target in the domain")
        if queried:
            place = None if connect is None else Path(connect)
            queries: Source = load("source", "sql")(str(X).removeprefix(SQL), place)
            return queries
        return _open_path(Path(X), csv or Csv())
    if isinstance(X, Source):
        return X
    home = _homes(X)
    if "pyspark" in home:
        frame: Source = load("source", "pyspark")(X, y)
        return frame
    if isinstance(y, str):
        if y not in list(getattr(X, "columns", ())) or not hasattr(X, "drop"):
            raise SchemaError(f"y is {y!r}, but the table has no such column; give the name of a "
                              "column, or the labels")
        X, y = (X.drop(columns=[y]) if hasattr(X, "iloc") else X.drop([y])), X[y]
    if y is None:
        return _open_table(X, None, home)
    from privsieve.rows import arrays

    cells, kind = arrays.target(y)
    return replace(_open_table(X, cells, home), y_type=kind)


def resolve(domain: Domain, shape: Source, *, strict: bool = True) -> Domain:
    """Check that a table has what the domain names; a box takes the table's width.

    `strict` refuses columns of a frame that the domain does not name; else, and of a file, they are
    never read.

    >>> resolve(Domain.box(0, 1), open_source([[0.5, 1]], y=[1])).names
    ('x0', 'x1')
    """
    if isinstance(domain, Box):
        if not shape.columns:
            raise SchemaError("the list has no rows, so its columns are unknown; name the columns "
                              "of the box (Domain.box(..., columns=[...]))")
        label = domain.target.name if domain.target and not shape.labelled else None
        domain = domain.of_width([name for name in shape.columns if name != label])
    if shape.partitioned and domain.unit == "row" and domain.neighbours == "replace-one":
        raise SchemaError("with folders name=value, or WHERE in a query, a replaced row may leave "
                          'the table; write neighbours = "add-remove" in the domain, or name the '
                          "column of person ids")
    if shape.labelled and domain.target is None:
        raise SchemaError("y is given, but the domain has no target; add target=Label(...) to it")
    if shape.by == "position":
        _check_positions(domain, shape)
    else:
        _check_names(domain.with_weight, shape, strict=strict)
    return domain


def needed(domain: Domain, shape: Source) -> list[str]:
    """Return the columns to read by name: columns, target (or `TARGET`), person."""
    labelled = domain.target is not None and shape.labelled
    if shape.by == "position":
        return [*shape.columns, *[TARGET] * labelled]
    target = [] if domain.target is None else [TARGET if labelled else domain.target.name]
    return [*domain.names, *target, *([domain.person] if domain.person is not None else [])]


def names_of(X: Any) -> tuple[str, ...] | None:
    """Return the names of a frame's columns; None if it has positions only.

    >>> import pyarrow as pa
    >>> names_of(pa.table({"age": [1]})), names_of([[1]])
    (('age',), None)
    """
    # pyarrow: its `columns` are the cells
    # (of a Spark frame any attribute may be a column)
    arrow = "pyspark" not in _homes(X) and hasattr(X, "column_names")
    names: Any = X.column_names if arrow else getattr(X, "columns", ())
    columns: tuple[object, ...] = tuple(names)
    if not columns or not all(isinstance(name, str) for name in columns):
        return None
    return tuple(map(str, columns))


def typed(kept: Any, X: Any) -> Any:
    """Return columns that scikit-learn passed as an array, with their types in X.

    >>> typed([1], [[1, 2]])
    [1]
    """
    if type(kept) is type(X) and "polars" in _homes(X):
        return X.select(kept.columns)
    return kept


def _check_connection(connect: object, *, queried: bool) -> None:
    if connect is not None and not queried:
        raise SchemaError("a connection file needs a query; write the table as sql:SELECT ..., "
                          "or leave the file out")


def _open_path(path: Path, csv: Csv) -> Source:
    ending = path.suffix.lower()
    if not path.is_dir() and ending not in (*TEXT_FILES, *PARQUET_FILES):
        raise SchemaError(f"the file's name ends in {ending!r}; .csv, .tsv, .txt, .parquet and "
                          ".pq are allowed: convert or rename the file")
    if not path.exists() or not (path.is_file() or path.is_dir()):
        raise SchemaError("the data file does not exist, or is not a file; check the path")
    if ending in TEXT_FILES and path.is_file():
        from privsieve.rows.csv_file import open_csv

        return replace(open_csv(path, csv), path=True)
    from privsieve.rows.parquet import open_parquet

    return open_parquet(path)


def _open_table(X: Any, target: RawColumn | None, home: set[str]) -> Source:
    """Choose by the package that the object comes from, so that no other is imported."""
    from privsieve.rows import arrays

    if "pandas" in home and hasattr(X, "iloc") and hasattr(X, "columns"):
        return arrays.open_pandas(X, target)
    if ("polars" in home and hasattr(X, "collect")) or home & _LAZY or (
            type(X).__name__ == "CSVStreamingReader"):
        # A lazy query may fail because of a row, and that would be an answer.
        raise SchemaError("X is a lazy frame, whose query has not run; give X.collect(), or "
                          "the path of its file")
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
    raise SchemaError(f"X is of an unsupported type; {_ACCEPTED}")


def _open_arrow(X: Any, target: Any, home: set[str]) -> Source:
    from privsieve.rows import arrow

    if "polars" in home and hasattr(X, "columns"):
        return arrow.open_table(foreign(lambda: arrow.pa.table(X), SchemaError(
            "a column of the frame is of a type that Arrow does not know; cast it to a number, a "
            "text or a date")), target)
    if isinstance(X, (arrow.pa.Table, arrow.pa.RecordBatch)):
        return arrow.open_table(X, target)
    return arrow.open_stream(X, target)


def _homes(X: object) -> set[str]:
    """Return the packages of an object's type and of what it inherits from."""
    return {kind.__module__.partition(".")[0] for kind in type(X).__mro__}


def _check_positions(domain: Domain, shape: Source) -> None:
    """Refuse an array of a wrong width or type; a list without rows has neither."""
    for noun, name in (("person", domain.person), ("weight", domain.weight)):
        if name is not None:
            raise SchemaError(f"the {noun} {name!r} is a column, but an array has no names; give a "
                              "frame or a file")
    width = len(shape.columns)
    if domain.target is not None and not shape.labelled:
        raise SchemaError(f"the domain has the target {domain.target.name!r} and requires y to be "
                          "passed, but the target y is None: an array holds columns only; give y")
    if width:
        check_fields(width, domain)
        check_types(domain, shape, [*shape.types, *[shape.y_type] * shape.labelled])


def _check_names(domain: Domain, shape: Source, *, strict: bool) -> None:
    names = needed(domain, shape)
    have = set(map(fold, shape.columns))
    faults = [_absent(name, shape) for name in names if name != TARGET and not (
        fold(name) in have if shape.by != "field" else field_position(name) is not None)]
    if faults:
        raise SchemaError("\n".join(first_of(faults)))
    known = {fold(name) for name in names}
    extra = [name for name in shape.columns if fold(name) not in known]
    if strict and extra and not shape.path and shape.by == "name":
        others = f" (and {len(extra) - 1} more)" if len(extra) > 1 else ""
        raise SchemaError(f"the table has the column {extra[0]!r}, which the domain does not "
                          f"name{others}; drop it or add it to the domain")
    if shape.by == "name":
        held = dict(zip(map(fold, shape.columns), shape.types, strict=True)) | {
            TARGET: shape.y_type}
        check_types(domain, shape, [held[fold(name)] for name in names])


def _absent(name: str, shape: Source) -> str:
    if shape.by == "field":
        return (f"column {name!r} cannot be in a file without a header, whose columns are c1, c2, "
                "…; rename it in the domain, or set csv.header = true")
    capitals = {other.casefold() for other in map(fold, shape.columns)}
    if fold(name).casefold() in capitals:
        return (f"column {name!r} has other capital letters in the table; write it in the domain "
                "as in the table")
    hint = ("; correct its name in the domain, or check csv.delimiter" if shape.by == "header"
            else "; correct its name in the domain, or add the column")
    return f"column {name!r} is not in the table{hint}"
