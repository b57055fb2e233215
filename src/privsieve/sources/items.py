"""Items of any table: what containment works on.  Its results speak of the original columns.

There is no budget here and no domain is needed: how a column is cut may be read from the table,
and is published with it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from privsieve.core.columns import Category, text_of
from privsieve.core.items import Items, check_size
from privsieve.core.pairs import by_item
from privsieve.errors import ParameterError, PrivsieveError, SchemaError
from privsieve.sources.arrays import target
from privsieve.sources.coding import Gather, Thermometer, encode, from_columns, labels
from privsieve.sources.opening import open_source
from privsieve.sources.source import TARGET, Source, check_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from privsieve.core.domain import Domain
    from privsieve.sources.source import RawColumn

    Labels = tuple[npt.NDArray[np.int32], tuple[Any, ...]]
    Found = tuple[Items, npt.NDArray[np.int32], tuple[Any, ...]]

__all__ = ["Thermometer", "column_of", "from_pairs", "items_of", "label_codes", "restricted",
           "without_labels"]

#: Bins of a column of numbers for which nobody gave cut points.
BINS = 4
BATCH = 65_536
_FORMS = {".npz": "npz", ".dat": "basket", ".basket": "basket", ".svm": "svmlight",
          ".svmlight": "svmlight", ".libsvm": "svmlight"}


def items_of(X: Any, y: Any = None, *, domain: Domain | None = None,
             columns: Sequence[str] | Mapping[Any, Any] | None = None, cuts: int = BINS,
             missing: str = "absent") -> Found:
    """A table as items, the class of each row, and the classes.

    Parameters
    ----------
    X : array of zeros and ones, sparse matrix, frame, `Items`, or path
        a path may be CSV, Parquet, .npz, .dat or .basket (a line of items a row) or .svm.
    y : array, or the name of a column, optional
        without it all rows are of one class, None.
    domain : Domain, optional
        which columns there are and of what kind; otherwise their cells say it.
    columns : names, or a mapping of name to how it is coded, optional
        how: None, a number of bins, a list of cut points (numbers) or of levels (texts: the
        others are not told apart), a `Thermometer`, or False (leave it out).  The key `...`
        stands for all other columns.
    cuts : into how many bins a number is cut where nobody gave cut points, by quantiles.
    missing : "absent" (a missing cell holds no item) or "level" (an item of its own).

    Examples
    --------
    >>> items, y, classes = items_of([[1, "A"], [0, "B"]], y=["no", "yes"])
    >>> items.names, items.origin, y.tolist(), classes
    (('x0', 'x1=A', 'x1=B'), ('x0', 'x1', 'x1'), [0, 1], ('no', 'yes'))
    """
    if missing not in ("absent", "level"):
        raise ParameterError(f"missing is {missing!r}; choose 'absent' or 'level'")
    if isinstance(cuts, bool) or not isinstance(cuts, int) or cuts < 2:
        raise ParameterError(f"cuts is {cuts!r}; write a whole number of bins from 2, and give "
                             "cut points with the column: columns={'age': [18, 65]}")
    whole = _whole(X, y)
    if isinstance(X, Source) and y is not None and not isinstance(y, str):
        raise SchemaError("X is an opened source and y came apart; open both together")
    if whole is None:
        return _tabular(open_source(X, None if isinstance(y, str) else y,
                                    csv=domain.csv if domain else None),
                        y if isinstance(y, str) else None,
                        {"domain": domain, "columns": columns, "cuts": cuts, "missing": missing})
    items, code, classes = whole
    if domain is not None:
        raise ParameterError("a domain is for tables of cells; this one holds yes or no only: "
                             "give columns= instead")
    return restricted(items, columns), code, classes


def restricted(items: Items, columns: Sequence[str] | Mapping[Any, Any] | None) -> Items:
    """The items of these columns; all of them for None."""
    if columns is None:
        return items
    if isinstance(columns, Mapping) and any(how not in (None, False) for how in columns.values()):
        raise ParameterError("the table holds yes or no only: its columns are not cut; give "
                             "their names")
    columns = _how(columns, items.names, {})
    place = {name: at for at, name in enumerate(items.names)}
    absent = [name for name in columns if name not in place]
    if absent:
        raise SchemaError(f"column {absent[0]!r} is not in the table; correct its name")
    return items.take([place[name] for name in columns])


def from_pairs(row: npt.NDArray[np.integer[Any]], item: npt.NDArray[np.integer[Any]], rows: int,
               names: Sequence[str]) -> Items:
    """Items from pairs of a row and an item; a pair that comes twice counts once.

    >>> from_pairs(np.array([1, 0, 1, 1]), np.array([0, 1, 1, 1]), 2, ["a", "b"]).indices.tolist()
    [1, 0, 1]
    """
    indptr, indices = by_item(row, item, rows, len(names))
    return Items(indptr, indices, rows, tuple(names), tuple(names))


def column_of(path: Path, name: str | None) -> list[Any]:
    """One column: of a table the one of this name, of other files each line."""
    if path.suffix.lower() not in (".csv", ".tsv", ".parquet", ".pq"):
        try:
            return path.read_text("utf-8").splitlines()
        except (OSError, UnicodeError):
            raise SchemaError("the file of labels cannot be read as text; give one label a "
                              "line") from None
    source = open_source(path)
    if name is None or name not in source.columns:
        raise SchemaError("the file of labels is a table; name its column of labels as target")
    return [cell for batch in guarded(source.raw([name], BATCH))
            for cell in (batch[0] if isinstance(batch[0], list) else batch[0].tolist())]


def without_labels(rows: int) -> Labels:
    """One class for all rows, where nobody gave labels."""
    return np.zeros(rows, np.int32), (None,)


def _whole(X: Any, y: Any) -> Found | None:
    """What is made of yes and no: items, matrices, files of them; None for a table of cells."""
    if isinstance(X, (str, os.PathLike)):
        form = _FORMS.get(Path(X).suffix.lower())
        if form is None:
            return None
        if not Path(X).is_file():
            raise SchemaError("the data file does not exist, or is not a file; check the path")
        from importlib import import_module

        items, code, classes = import_module(f"privsieve.sources.{form}").read(
            Path(X), y if isinstance(y, str) else None)
        return (items, code, classes) if isinstance(y, str) else (
            items, *_labels(y, items.rows, (code, classes)))
    if isinstance(X, Items):
        return X, *_labels(y, X.rows, without_labels(X.rows))
    items = _matrix(X)
    if items is None:
        return None
    if isinstance(y, str):
        raise SchemaError("y is a name, and an array has none; give one label for each row")
    return items, *_labels(y, items.rows, without_labels(items.rows))


def _matrix(X: Any) -> Items | None:
    """A sparse matrix, or an array of zeros and ones."""
    if hasattr(X, "tocsc") and hasattr(X, "nnz"):
        check_size(*map(int, X.shape))  # its other forms have a number for each row or column
        return sparse(X.tocsc())
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf" \
            and not isinstance(X, np.ma.MaskedArray) and len(X) \
            and all(_is_binary(X[:, at:at + 64]) for at in range(0, X.shape[1], 64)):
        return Items.dense(X)
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
    raw = target(y)
    if len(raw) != rows:
        raise SchemaError("X and y have different numbers of rows; give one label for each row")
    return label_codes(raw)


def label_codes(raw: RawColumn) -> Labels:
    """Labels as classes 0, 1, … and these.

    >>> label_codes([3, 1, 3])[1]
    (1, 3)
    """
    column = Gather("y")
    column.add(raw)
    return labels(column.coded())


def _tabular(source: Source, label: str | None, asked: Mapping[str, Any]) -> Found:
    """A table of cells, column by column."""
    domain, columns = asked["domain"], asked["columns"]
    if label is None and domain is not None and domain.target is not None and source.y is None:
        label = domain.target.name
    kinds = _kinds(domain)
    how = _how(columns, list(kinds) or source.columns, kinds)
    names = [name for name in how if name != label]
    _check_present(source, [*names, *([label] if label else [])])
    parts = {column.name: column for column in (domain.columns if domain else ())}
    gathered = [Gather(name, parts.get(name)) for name in names]
    classes = Gather(label or "y")
    labelled = label is not None or source.y is not None
    wanted = [*names, *([label or TARGET] if labelled else [])]
    rows = 0
    for batch in guarded(source.raw(wanted, BATCH)):
        rows += len(batch[0])
        for column, raw in zip([*gathered, classes], batch, strict=False):
            column.add(raw)
    found = [(coded, encode(coded, how[coded.name], asked["cuts"], asked["missing"]))
             for coded in (column.coded() for column in gathered)]
    code = labels(classes.coded()) if labelled else without_labels(rows)
    return from_columns(found, rows), *code


def _how(columns: Sequence[str] | Mapping[Any, Any] | None, known: Sequence[str],
         kinds: Mapping[str, Any]) -> dict[str, Any]:
    """How each column that is used is coded."""
    if not isinstance(columns, Mapping):
        return {name: kinds.get(name) for name in (known if columns is None else columns)}
    how = {name: columns.get(name, kinds.get(name, columns.get(...)))
           for name in known if name in columns or ... in columns}
    how |= {name: one for name, one in columns.items() if name is not ...}
    absent = [name for name, one in how.items() if one is False and name not in known]
    if absent:
        raise SchemaError(f"column {absent[0]!r} is to be left out and is not in the table; "
                          "correct its name")
    return {name: one for name, one in how.items() if one is not False}


def _kinds(domain: Domain | None) -> dict[str, Any]:
    """How a domain's columns are coded: categories by their values, the others by their cells."""
    if domain is None:
        return {}
    return {column.name: [text_of(value) for value in column.values]
            if isinstance(column, Category) else None for column in domain.columns}


def _check_present(source: Source, names: Sequence[str]) -> None:
    if source.by == "name":
        check_names(source.columns)
    if not names:
        raise SchemaError("no column is left to choose from; name at least one")
    absent = [name for name in names if name not in source.columns]
    if absent:
        raise SchemaError(f"column {absent[0]!r} is not in the table; correct its name")


def guarded(batches: Iterator[list[RawColumn]]) -> Iterator[list[RawColumn]]:
    """The body, without the warnings and texts of foreign libraries: these could quote a cell."""
    while True:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                batch = next(batches, None)
        except (PrivsieveError, KeyboardInterrupt):
            raise
        except BaseException:  # noqa: BLE001  # see above; a panic is no Exception
            raise SchemaError("the table cannot be read to its end: it is damaged; copy or "
                              "write it again") from None
        if batch is None:
            return
        yield batch
