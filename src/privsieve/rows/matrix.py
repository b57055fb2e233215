"""Items: a table as yes-or-no columns, by the rows that say yes, and the files that hold them.

Arrays, sparse matrices, archives of NumPy and baskets have one rule: an entry is
0 or 1, and a pair of a row and an item that comes twice counts once.  Nothing in a file is run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from privsieve.entries import import_library
from privsieve.errors import SchemaError
from privsieve.public.canonical import quoted
from privsieve.rows.arrays import demand_inside
from privsieve.rows.source import RawColumn, check_name_of, position_names

#: A sparse table with more columns or rows is refused: public caps, for what one line may ask for.
LARGEST_ITEMS, LARGEST_ROWS = 2**20, 2**27
#: A line with more bytes is no basket.
LARGEST_LINE = 2**24
_NO_ITEMS = ("the {} holds values other than 0 and 1; convert it to yes and no first, for example "
             "with X > 0")
_DAMAGED = SchemaError("the .npz file cannot be read: it is damaged, or holds objects, which are "
                       "never loaded; write it with scipy.sparse.save_npz or numpy.savez")
_COMPRESSED = ("indptr", "indices", "data")


@dataclass(frozen=True, eq=False, repr=False)
class Items:
    """Binary columns, compressed by column.

    indptr, indices : int64[d + 1], int32[ones]
        the rows that hold item j are `indices[indptr[j]:indptr[j + 1]]`, increasing.
    rows : how many rows there are.
    names : one for each item, such as "smoker" or "ward=A".
    origin : for each item the column of the table that it came from.
    absent : for each item whether, by its kind, who may know that a person has it may know as well
        that another lacks it, as in every table of cells; empty where nobody may: a sparse matrix,
        a basket or a log says what a person has (words, purchases).
    """

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    rows: int
    names: tuple[str, ...]
    origin: tuple[str, ...]
    absent: tuple[bool, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def dense(cls, matrix: npt.ArrayLike, names: Sequence[str] | None = None) -> Items:
        """Items from rows of zeros and ones.

        >>> Items.dense([[1, 0], [1, 1]]).indices.tolist()
        [0, 1, 1]
        """
        held = np.ascontiguousarray((np.asarray(matrix) != 0).T)
        rows = [np.flatnonzero(column).astype(np.int32) for column in held]
        indptr = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        named = position_names(len(held)) if names is None else tuple(names)
        return cls(indptr, np.concatenate([np.zeros(0, np.int32), *rows]), held.shape[1], named,
                   named)

    @classmethod
    def of_cells(cls, matrix: npt.ArrayLike, names: Sequence[str] | None = None) -> Items:
        """Return items of a table of cells; absences of items may be known.

        >>> Items.of_cells([[1, 0], [1, 1]]).absent
        (True, True)
        """
        return replace(items := cls.dense(matrix, names), absent=(True,) * len(items))

    def take(self, positions: Sequence[int]) -> Items:
        """These items, in this order: the projection of the table on them."""
        pieces = [self.indices[self.indptr[j]:self.indptr[j + 1]] for j in positions]
        sizes = np.array([0, *map(len, pieces)], np.int64)
        return Items(np.cumsum(sizes),
                     np.concatenate(pieces) if pieces else np.zeros(0, np.int32), self.rows,
                     tuple(self.names[j] for j in positions),
                     tuple(self.origin[j] for j in positions),
                     tuple(self.absent[j] for j in positions) if self.absent else ())


@dataclass(frozen=True, eq=False, repr=False)
class Sensitive:
    """A column that must not be learned: the value of each row.  It never becomes items.

    codes : for each row the position of its value.
    values : the texts of the values, in their order; a missing cell is the text "missing", last.
    ordered : whether they are numbers or dates, so that some are nearer to each other.
    """

    name: str
    codes: npt.NDArray[np.int32]
    values: tuple[str, ...]
    ordered: bool = False


def check_size(rows: int, width: int) -> None:
    """Refuse a sparse table that claims more rows or columns than memory could hold.

    >>> check_size(1000, 20)
    """
    if not (0 <= rows <= LARGEST_ROWS and 0 <= width <= LARGEST_ITEMS):
        raise SchemaError(f"the table claims {quoted(rows)} rows and {quoted(width)} columns; at "
                          f"most {LARGEST_ROWS} and {LARGEST_ITEMS} are allowed: leave out empty "
                          "columns, or renumber the columns")


Ints = npt.NDArray[np.int64]


def by_item(row: npt.NDArray[Any], item: npt.NDArray[Any], rows: int, items: int,
            ) -> tuple[Ints, npt.NDArray[np.int32]]:
    """Return where each item's rows begin, and these, increasing; repeats count once.

    One number stands for a pair, so that numbers are sorted and no positions: NumPy does that with
    the vectors of the machine.  Half as wide numbers take half as long.

    >>> [array.tolist() for array in by_item(np.array([1, 0, 1, 1]), np.array([0, 1, 1, 1]), 2, 2)]
    [[0, 1, 3], [1, 0, 1]]
    """
    kind = np.uint32 if rows * items < 2**32 else np.int64
    key: Any = item.astype(kind)
    key *= kind(rows)
    key += row.astype(kind, copy=False)
    key.sort()
    again = key[1:] == key[:-1]
    if again.any():
        key = key[np.concatenate([np.ones(1, np.bool_), ~again])]
    starts = np.arange(items + 1) * rows
    begins = np.searchsorted(key, starts[:-1].astype(kind))
    indptr = np.append(begins, len(key)).astype(np.int64)
    key -= np.repeat(starts[:-1].astype(kind), np.diff(indptr))
    return indptr, key.astype(np.int32)


def from_pairs(row: npt.NDArray[np.integer[Any]], item: npt.NDArray[np.integer[Any]], rows: int,
               names: Sequence[str]) -> Items:
    """Items from pairs of a row and an item; a pair that comes twice counts once.

    >>> from_pairs(np.array([1, 0, 1, 1]), np.array([0, 1, 1, 1]), 2, ["a", "b"]).indices.tolist()
    [1, 0, 1]
    """
    indptr, indices = by_item(row, item, rows, len(names))
    return Items(indptr, indices, rows, tuple(names), tuple(names))


# --- arrays and sparse matrices -------------------------------------------------------------------

def of_matrix(X: Any) -> Items | None:
    """Return the items of a sparse matrix, or of an array of zeros and ones; of others None."""
    if hasattr(X, "tocsc") and hasattr(X, "nnz"):
        check_size(*map(int, X.shape))  # its other forms have a number for each row or column
        return _sparse(demand_inside(X), "sparse matrix")
    if isinstance(X, np.ndarray) and X.ndim == 2 and len(X) and not isinstance(
            X, np.ma.MaskedArray) and _is_binary(X):
        return Items.of_cells(X)
    return None


def _sparse(X: Any, what: str, names: Sequence[str] | None = None) -> Items:
    """Return the items of a sparse matrix whose indices lie inside."""
    rows, width = X.shape
    names = position_names(width) if names is None else tuple(names)
    if X.format == "csc" and (X.data == 1).all() and X.has_canonical_format:
        return Items(X.indptr.astype(np.int64, copy=False),
                     X.indices.astype(np.int32, copy=False), rows, names, names)
    pairs = X.tocoo()  # unlike tocsc it does not add up what stands twice
    ones = pairs.data == 1
    if not np.array_equal(pairs.data != 0, ones):
        raise SchemaError(_NO_ITEMS.format(what))
    return from_pairs(pairs.row[ones], pairs.col[ones], rows, names)


def _is_binary(X: npt.NDArray[Any]) -> bool:
    return X.dtype.kind in "biuf" and all(
        bool(((block == 0) | (block == 1)).all())
        for block in (X[:, at:at + 64] for at in range(0, X.shape[1], 64)))


# --- archives of NumPy ----------------------------------------------------------------------------

def read_npz(path: Path, label: str | None) -> tuple[Items, RawColumn | None]:
    """Read the items of an archive; labels are its array `y`, or the array named `label`."""
    arrays = _load(path)
    items = _saved(arrays) if "format" in arrays and "shape" in arrays else _plain(arrays)
    if label is not None and label not in arrays:
        raise SchemaError(f"the .npz file has no array {label!r} to take labels from; name one "
                          "of its arrays")
    y = arrays.get(label or "y")
    if y is not None and y.shape != (items.rows,):
        raise SchemaError("the .npz file does not have one label for each row; give as many "
                          "labels as the matrix has rows")
    return items, None if y is None else list(y.tolist())


def _load(path: Path) -> Mapping[str, npt.NDArray[Any]]:
    with suppress(Exception), np.load(path, allow_pickle=False) as file:
        _check_sizes(path)
        arrays = {name: file[name] for name in file.files}
        if all(isinstance(array, np.ndarray) for array in arrays.values()):
            return arrays
    raise _DAMAGED


def _check_sizes(path: Path) -> None:
    """Refuse an array whose header claims more than its bytes: NumPy makes room for it first."""
    with ZipFile(path) as archive:
        for member in archive.infolist():
            with archive.open(member) as file:
                version = npy.read_magic(file)
                read = (npy.read_array_header_1_0 if version == (1, 0)
                        else npy.read_array_header_2_0)
                shape, _, kind = read(file)
            if prod(shape) * kind.itemsize > member.file_size:
                raise ValueError


def _plain(arrays: Mapping[str, npt.NDArray[Any]]) -> Items:
    """Return the array X, or the only one of two dimensions; column names from `names`."""
    tables = {name: array for name, array in arrays.items() if array.ndim == 2}
    if "X" not in tables and len(tables) != 1:
        raise SchemaError("the .npz file must hold exactly one array of two dimensions; or call "
                          "the table X")
    X = tables.get("X", next(iter(tables.values())))
    if not _is_binary(X):
        raise SchemaError(_NO_ITEMS.format("archive"))
    return Items.of_cells(X, _names(arrays, X.shape[1]))


def _saved(arrays: Mapping[str, npt.NDArray[Any]]) -> Items:
    """Return the matrix that `scipy.sparse.save_npz` wrote."""
    text = arrays["format"].item() if arrays["format"].size == 1 else ""
    form = text.decode("ascii", "replace") if isinstance(text, bytes) else str(text)
    need = {"csr": _COMPRESSED, "csc": _COMPRESSED, "coo": ("row", "col", "data")}.get(form)
    if need is None or not all(name in arrays for name in need):
        raise SchemaError("the sparse matrix in the .npz file has an unknown format; convert it "
                          "to csc, csr or coo: X.tocsc()")
    parts = [arrays[name] for name in need]
    try:
        rows, width = map(int, arrays["shape"])
        fits = min(rows, width) >= 0 and all(
            array.ndim == 1 and array.dtype.kind in ("iu" if array is not parts[2] else "biufc")
            for array in parts)
    except (ValueError, TypeError, OverflowError):
        fits = False
    if not fits:
        raise _DAMAGED
    check_size(rows, width)
    return _sparse(_built(form, parts, (rows, width)), "archive", _names(arrays, width))


def _built(form: str, parts: Sequence[npt.NDArray[Any]], shape: tuple[int, int]) -> Any:
    """Build a sparse matrix, of which SciPy says whether its parts fit together."""
    sparse = import_library("scipy.sparse", "sklearn", "a sparse matrix")
    first, second, data = parts
    native = data.astype(data.dtype.newbyteorder("="), copy=False)
    with suppress(Exception):
        if form == "coo":
            return demand_inside(sparse.coo_matrix((native, (first, second)), shape))
        kind: Any = sparse.csr_matrix if form == "csr" else sparse.csc_matrix
        if int(first[-1]) == len(second):  # SciPy would leave the others out
            return demand_inside(kind((native, second, first), shape))
    raise _DAMAGED


def _names(arrays: Mapping[str, npt.NDArray[Any]], width: int) -> tuple[str, ...]:
    names = arrays.get("names")
    if names is None or names.shape != (width,) or names.dtype.kind != "U":
        return position_names(width)
    for name in names.tolist():
        check_name_of(name)
    return tuple(names.tolist())


# --- lines ----------------------------------------------------------------------------------------

def read_basket(path: Path, label: str | None) -> tuple[Items, RawColumn | None]:
    """Read a file of lines, as in the FIMI repository: the items of a row, with blanks between.

    `label` says where a line holds its class: "first", "last" or None.  An item is a whole number,
    and its name in the results is that number.  An empty line is a row without items.
    """
    if label not in (None, "first", "last"):
        raise SchemaError(f"the place of the label in a line is {label!r}; write 'first' or "
                          "'last', or give the labels separately")

    row: list[int] = []
    item: list[int] = []
    classes: list[int] = []
    lines = _lines_of(path)
    for at, line in enumerate(lines):
        numbers = [_number(word, at) for word in line.split()]
        if label is not None:
            if not numbers:
                raise SchemaError(f"line {at + 1} of the file is empty, but must hold a label")
            classes.append(numbers.pop(0 if label == "first" else -1))
        row += [at] * len(numbers)
        item += numbers
    known, column = np.unique(np.array(item, np.int64), return_inverse=True)
    names = [str(number) for number in known.tolist()]
    return (from_pairs(np.array(row, np.int64), column.reshape(-1), len(lines), names),
            None if label is None else classes)


def _lines_of(path: Path) -> list[bytes]:
    """Return the lines of a file of ASCII text; what follows the last line end if not empty."""
    data = path.read_bytes()
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    if not data.isascii() or b"\0" in data or any(len(line) > LARGEST_LINE for line in lines):
        raise SchemaError("the file does not hold lines of numbers in plain text; convert it")
    if not lines:
        raise SchemaError("the file is empty; a table has at least one line")
    return lines


def _number(word: bytes, at: int) -> int:
    if not word.isdigit() or len(word) > 18:
        raise SchemaError(f"line {at + 1} of the file must hold only whole numbers, separated by "
                          "blanks; correct it, or name the file .csv")
    return int(word)


#: Files that hold yes and no only, by the ends of their names.
FORMS = {".npz": read_npz, **dict.fromkeys((".dat", ".basket"), read_basket)}
