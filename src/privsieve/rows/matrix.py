"""Items: a table as yes-or-no columns, by the rows that say yes.  What containment works on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
        that another lacks it; empty where nobody may (words, baskets, purchases).
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

    def take(self, positions: Sequence[int]) -> Items:
        """These items, in this order: the projection of the table on them."""
        pieces = [self.indices[self.indptr[j]:self.indptr[j + 1]] for j in positions]
        sizes = np.array([0, *map(len, pieces)], np.int64)
        return Items(np.cumsum(sizes),
                     np.concatenate(pieces) if pieces else np.zeros(0, np.int32), self.rows,
                     tuple(self.names[j] for j in positions),
                     tuple(self.origin[j] for j in positions),
                     tuple(self.absent[j] for j in positions) if self.absent else ())


def check_size(rows: int, width: int) -> None:
    """Refuse a sparse table whose size, which a few bytes can claim, would take all memory.

    >>> check_size(1000, 20)
    """
    if not (0 <= rows <= LARGEST_ROWS and 0 <= width <= LARGEST_ITEMS):
        raise SchemaError(f"the table says that it has {quoted(rows)} rows and {quoted(width)} "
                          f"columns; at most {LARGEST_ROWS} and {LARGEST_ITEMS} are read: leave "
                          "out columns that nobody has, or number them anew")
