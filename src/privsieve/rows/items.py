"""Items of any table: what containment works on.  Its results speak of the original columns.

There is no budget here and no domain is needed: how a column is cut may be read from the table,
and is published with it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.errors import ParameterError, SchemaError
from privsieve.public.domain import Csv
from privsieve.rows import npz, svmlight
from privsieve.rows.arrays import demand_inside, target
from privsieve.rows.coding import Coded, Gather, Thermometer
from privsieve.rows.matrix import Items, Sensitive, check_size
from privsieve.rows.source import RawColumn, Source, check_lengths, open_source
from privsieve.rows.table import (
    Reading,
    Table,
    body_of,
    how_coded,
    labels,
    tabular,
    unmerged,
)

Labels = tuple[npt.NDArray[np.int32], tuple[Any, ...]]
Found = tuple[Items, npt.NDArray[np.int32], tuple[Any, ...]]

__all__ = ["Reading", "Table", "Thermometer", "column_of", "items_of", "label_codes",
           "restricted", "table_of", "without_labels"]

#: Files that are tables with names, by the ends of theirs.
TABLES = (".csv", ".tsv", ".parquet", ".pq")
#: Files that hold yes and no only, by the ends of their names.
_FORMS = {".npz": npz.read, ".dat": svmlight.read_basket, ".basket": svmlight.read_basket,
          ".svm": svmlight.read, ".svmlight": svmlight.read, ".libsvm": svmlight.read}


def items_of(X: Any, y: Any = None, **how: Any) -> Found:
    """A table as items, the class of each row, and the classes.

    Parameters
    ----------
    X : array of zeros and ones, sparse matrix, frame, `Items`, or path
        a path may be CSV, Parquet, .npz, .dat or .basket (a line of items a row) or .svm.
    y : array, or the name of a column, optional
        without it all rows are of one class, None.
    **how : how the table is read
        the fields of `Reading`: domain, columns, cuts, missing, k, ...

    Examples
    --------
    >>> items, y, classes = items_of([[1, "A"], [0, "B"]], y=["no", "yes"])
    >>> items.names, items.origin, y.tolist(), classes
    (('x0', 'x1=A', 'x1=B'), ('x0', 'x1', 'x1'), [0, 1], ('no', 'yes'))
    """
    found = table_of(X, y, Reading(**how))
    return found.items, found.y, found.classes


def table_of(X: Any, y: Any = None, reading: Reading | None = None) -> Table:
    """Items, classes and sensitive columns of a table, of the same rows in the same order.

    >>> found = table_of([[1, "A"], [0, "B"]], None, Reading(sensitive=("x1",)))
    >>> found.items.names, [(one.name, one.values) for one in found.sensitive]
    (('x0',), [('x1', ('A', 'B'))])
    """
    reading = reading or Reading()
    whole = None if reading.domain is not None and isinstance(X, np.ndarray) else _whole(X, y)
    if isinstance(X, Source) and y is not None and not isinstance(y, str):
        raise SchemaError("X is an opened source and y came apart; open both together")
    if whole is None:
        csv, apart = reading.domain.csv if reading.domain else None, not isinstance(y, str)
        if apart and y is not None and isinstance(X, str | os.PathLike):
            cells, kind = target(y)
            source = replace(open_source(X, csv=csv), y=cells, y_type=kind)
        else:
            source = open_source(X, y if apart else None, csv=csv)
        return tabular(source, None if apart else y, reading)
    if reading.person is not None:
        raise ParameterError("whose row each is says a column of a table of cells, CSV or Parquet; "
                             "this one has no other columns than its items")
    if reading.domain is not None:
        raise ParameterError("a domain is for tables of cells; this one holds yes or no only: "
                             "give columns= instead")
    return _of_items(whole, reading.target or (y if isinstance(y, str) else "y"), reading)


def _of_items(whole: Found, label: str, reading: Reading) -> Table:
    """A table without cells: some of its items, and its classes, which may be merged."""
    (items, code, classes), columns, how = whole, reading.columns, None
    if isinstance(columns, Mapping) and label in columns and label not in items.names:
        how = columns[label]
        columns = {name: one for name, one in columns.items() if name != label} or None
    apart = list(dict.fromkeys(reading.sensitive or ()))
    sensitive = tuple(_yes_or_no(items, name) for name in apart)
    kept = restricted(items, columns)
    if apart:
        kept = kept.take([j for j, name in enumerate(kept.names) if name not in apart])
    if classes != (None,):
        cells = tuple(float(one) if isinstance(one, int | float) else one for one in classes)
        code, classes = labels(Coded(label, cells, code), how, reading.cutting(items.rows))
    reading.cutting(items.rows)  # as many sources as rows
    return Table(kept, code, classes, sensitive, reading.sources)


def _yes_or_no(items: Items, name: str) -> Sensitive:
    """An item of a table without cells as a column of values."""
    codes = np.zeros(items.rows, np.int32)
    codes[restricted(items, [name]).indices] = 1
    return Sensitive(name, codes, ("no", "yes"))


def restricted(items: Items, columns: Sequence[str] | Mapping[Any, Any] | None) -> Items:
    """The items of these columns; all of them for None."""
    if columns is None:
        return items
    if isinstance(columns, Mapping) and any(how not in (None, False) for how in columns.values()):
        raise ParameterError("the table holds yes or no only: its columns are not cut; give "
                             "their names")
    columns = how_coded(columns, items.names)
    place = {name: at for at, name in enumerate(items.names)}
    absent = [name for name in columns if name not in place]
    if absent:
        raise SchemaError(f"column {absent[0]!r} is not in the table; correct its name")
    return items.take([place[name] for name in columns])


def column_of(path: Path, name: str | None, csv: Csv | None = None) -> list[Any]:
    """One column: of a table the one of this name, of other files each line."""
    if path.suffix.lower() not in TABLES:
        if path.exists() and not path.is_file():  # a device may have no end
            raise SchemaError("the labels are no file; give a file with one label a line")
        try:
            return path.read_text(csv.encoding if csv else "utf-8").splitlines()
        except (OSError, UnicodeError):
            raise SchemaError("the file of labels cannot be read as text; give one label a "
                              "line") from None
    source = open_source(path, csv=csv)
    if name is None or name not in source.columns:
        raise SchemaError("the file of labels is a table; name its column of labels as target")
    return [cell for batch in body_of(source, [name])
            for cell in (batch[0] if isinstance(batch[0], list) else batch[0].tolist())]


def without_labels(rows: int) -> Labels:
    """One class for all rows, where nobody gave labels."""
    return np.zeros(rows, np.int32), (None,)


def _whole(X: Any, y: Any) -> Found | None:
    """What is made of yes and no: items, matrices, files of them; None for a table of cells."""
    if isinstance(X, (str, os.PathLike)):
        read = _FORMS.get(Path(X).suffix.lower())
        if read is None:
            return None
        if not Path(X).is_file():
            raise SchemaError("the data file does not exist, or is not a file; check the path")
        label = y if isinstance(y, str) else None
        whole, own = read(Path(X), label)
        found = without_labels(whole.rows) if own is None else label_codes(own)
        return whole, *(found if label is not None else _labels(y, whole.rows, found))
    items = X if isinstance(X, Items) else _matrix(X)
    if items is None:
        return None
    if isinstance(y, str) and items is not X:
        raise SchemaError("y is a name, and an array has none; give one label for each row")
    return items, *_labels(y, items.rows, without_labels(items.rows))


def _matrix(X: Any) -> Items | None:
    """A sparse matrix, or an array of zeros and ones."""
    if hasattr(X, "tocsc") and hasattr(X, "nnz"):
        check_size(*map(int, X.shape))  # its other forms have a number for each row or column
        return sparse(demand_inside(X).tocsc())
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf" \
            and not isinstance(X, np.ma.MaskedArray) and len(X) \
            and all(_is_binary(X[:, at:at + 64]) for at in range(0, X.shape[1], 64)):
        return Items.of_cells(X)
    return None


def sparse(matrix: Any) -> Items:
    """A compressed matrix, by column; explicit zeros hold nothing."""
    if not matrix.has_canonical_format or not np.all(matrix.data):
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    if not np.all(matrix.data == 1):
        raise SchemaError("the sparse matrix holds other values than 0 and 1; cut it into yes "
                          "and no first, for example X > 0")
    rows, width = matrix.shape
    names = tuple(f"x{j}" for j in range(width))
    return Items(matrix.indptr.astype(np.int64, copy=False),
                 matrix.indices.astype(np.int32, copy=False), rows, names, names)


def _is_binary(block: npt.NDArray[Any]) -> bool:
    return bool(((block == 0) | (block == 1)).all())


def _labels(y: Any, rows: int, otherwise: Labels) -> Labels:
    """The classes of labels that came apart from the table."""
    if y is None:
        return otherwise
    raw, _kind = target(y)
    check_lengths(rows, raw)
    return label_codes(raw)


def label_codes(raw: RawColumn) -> Labels:
    """Labels as classes 0, 1, … and these.

    >>> label_codes([3, 1, 3])[1]
    (1, 3)
    """
    column = Gather("y")
    column.add(raw)
    return unmerged(column.coded())
