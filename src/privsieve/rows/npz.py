"""NumPy archives: a sparse matrix as SciPy saves it, or plain arrays; nothing in one is run."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from privsieve.errors import SchemaError
from privsieve.rows.matrix import Items, check_size, from_pairs
from privsieve.rows.source import RawColumn, check_name_of

Array = npt.NDArray[Any]

_BINARY = ("the archive holds other values than 0 and 1; cut them into yes and no first, for "
           "example X > 0")
_DAMAGED = ("the .npz file cannot be read: it is damaged, or holds objects, which are never "
            "loaded; write it with scipy.sparse.save_npz or numpy.savez")


def read(path: Path, label: str | None) -> tuple[Items, RawColumn | None]:
    """Items of an archive; labels are its array `y`, or the one of another name."""
    arrays = _load(path)
    saved = "format" in arrays and "shape" in arrays
    items = _compressed(arrays) if saved else _plain(arrays)
    if label is not None and label not in arrays:
        raise SchemaError(f"the .npz file has no array {label!r} to take labels from; name one "
                          "of its arrays")
    y = arrays.get(label or "y")
    if y is not None and y.shape != (items.rows,):
        raise SchemaError("the labels in the .npz file are not one for each row; give as many "
                          "as the matrix has rows")
    return items, None if y is None else list(y.tolist())


def _load(path: Path) -> Mapping[str, Array]:
    with suppress(Exception), np.load(path, allow_pickle=False) as file:
        _check_sizes(path)
        found = {name: file[name] for name in file.files}
        if all(isinstance(array, np.ndarray) for array in found.values()):
            return found
    raise SchemaError(_DAMAGED)


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


def _plain(arrays: Mapping[str, Array]) -> Items:
    """The array X, or the only one of two dimensions; column names from `names`."""
    tables = {name: array for name, array in arrays.items() if array.ndim == 2}
    if "X" not in tables and len(tables) != 1:
        raise SchemaError("the .npz file must hold one array of two dimensions, or name the "
                          "table X")
    X = tables.get("X", next(iter(tables.values())))
    if X.dtype.kind not in "biuf" or not ((X == 0) | (X == 1)).all():
        raise SchemaError(_BINARY)
    return Items.of_cells(X, _names(arrays, X.shape[1]))


def _compressed(arrays: Mapping[str, Array]) -> Items:
    """The format of `scipy.sparse.save_npz`: csc, csr or coo."""
    form = _text(arrays["format"])
    need = {"csr": ("indptr", "indices", "data"), "csc": ("indptr", "indices", "data"),
            "coo": ("row", "col", "data")}.get(form)
    if need is None or not all(name in arrays for name in need):
        raise SchemaError("the sparse matrix in the .npz file is not in one of the formats csc, "
                          "csr and coo; convert it: X.tocsc()")
    try:
        rows, width = (int(size) for size in arrays["shape"])
        major, minor = _coordinates(form, arrays)
        sizes = (width, rows) if form == "csc" else (rows, width)
        data = arrays["data"]
        fits = (data.ndim == 1 and len(minor) == len(data) and _within(minor, sizes[1])
                and (len(major) - 1 <= sizes[0] if form != "coo"
                     else len(major) == len(minor) and _within(major, sizes[0])))
    except (ValueError, IndexError, TypeError, OverflowError, MemoryError):
        fits = False
    if not fits:
        raise SchemaError(_DAMAGED)
    check_size(rows, width)
    ones = bool((data == 1).all())
    if not ones and not np.array_equal(data != 0, data == 1):
        raise SchemaError(_BINARY)
    names = _names(arrays, width)
    if form == "csc" and ones and len(major) == width + 1 and _rising(major, minor):
        return Items(major, minor.astype(np.int32, copy=False), rows, names, names)
    if form != "coo":
        major = np.repeat(np.arange(len(major) - 1, dtype=np.int32), np.diff(major))
    row, item = (minor, major) if form == "csc" else (major, minor)
    if not ones:
        row, item = row[data != 0], item[data != 0]
    return from_pairs(row, item, rows, names)


def _coordinates(form: str, arrays: Mapping[str, Array]) -> tuple[Array, Array]:
    """Where the entries of each row or column begin (in coo the row of each), and the rest."""
    names = ("row", "col") if form == "coo" else ("indptr", "indices")
    major, minor = (arrays[name] for name in names)
    if not all(part.ndim == 1 and part.dtype.kind in "iu" for part in (major, minor)):
        raise ValueError
    if form != "coo":
        major = major.astype(np.int64)
        if not len(major) or major[0] or major[-1] != len(minor) or (np.diff(major) < 0).any():
            raise ValueError
    return major, minor


def _within(numbers: Array, bound: int) -> bool:
    return not len(numbers) or (int(numbers.min()) >= 0 and int(numbers.max()) < bound)


def _rising(indptr: Array, indices: Array) -> bool:
    """Whether the rows of each column rise, as SciPy leaves them: then there is nothing to sort."""
    rises = indices[1:] > indices[:-1]
    starts = indptr[1:-1]
    rises[starts[(starts > 0) & (starts < len(indices))] - 1] = True
    return bool(rises.all())


def _names(arrays: Mapping[str, Array], width: int) -> tuple[str, ...]:
    names = arrays.get("names")
    if names is None or names.shape != (width,) or names.dtype.kind != "U":
        return tuple(f"x{j}" for j in range(width))
    for name in names.tolist():
        check_name_of(name)
    return tuple(names.tolist())


def _text(array: Array) -> str:
    found = array.item() if array.size == 1 else ""
    return found.decode("ascii", "replace") if isinstance(found, bytes) else str(found)
