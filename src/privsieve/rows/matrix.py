"""Items: a table as yes-or-no columns, by the rows that say yes.  What containment works on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.errors import SchemaError
from privsieve.public.canonical import quoted

#: A sparse table with more columns or rows is refused: public caps, for what one line may ask for.
LARGEST_ITEMS, LARGEST_ROWS = 2**20, 2**27


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
        held = np.asarray(matrix) != 0
        columns, rows = np.nonzero(held.T)
        indptr = np.searchsorted(columns, np.arange(held.shape[1] + 1)).astype(np.int64)
        named = tuple(names) if names is not None else tuple(f"x{j}" for j in range(held.shape[1]))
        return cls(indptr, rows.astype(np.int32), held.shape[0], named, named)

    @classmethod
    def of_cells(cls, matrix: npt.ArrayLike, names: Sequence[str] | None = None) -> Items:
        """The same of a table of cells: whoever knows a cell knows what it is not.

        >>> Items.of_cells([[1, 0], [1, 1]]).absent
        (True, True)
        """
        return replace(found := cls.dense(matrix, names), absent=(True,) * len(found))

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
    """Refuse a sparse table whose size, which a few bytes can claim, would take all memory.

    >>> check_size(1000, 20)
    """
    if not (0 <= rows <= LARGEST_ROWS and 0 <= width <= LARGEST_ITEMS):
        raise SchemaError(f"the table says that it has {quoted(rows)} rows and {quoted(width)} "
                          f"columns; at most {LARGEST_ROWS} and {LARGEST_ITEMS} are read: leave "
                          "out columns that nobody has, or number them anew")


Ints = npt.NDArray[np.int64]


def by_item(row: npt.NDArray[Any], item: npt.NDArray[Any], rows: int, items: int,
            ) -> tuple[Ints, npt.NDArray[np.int32]]:
    """Where the rows of each item begin, and these, increasing; what comes twice counts once.

    One number stands for a pair, so that numbers are sorted and no positions: NumPy does that with
    the vectors of the machine.  Half as wide numbers take half as long.

    >>> [part.tolist() for part in by_item(np.array([1, 0, 1, 1]), np.array([0, 1, 1, 1]), 2, 2)]
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
    found = np.searchsorted(key, starts[:-1].astype(kind))
    indptr = np.append(found, len(key)).astype(np.int64)
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
