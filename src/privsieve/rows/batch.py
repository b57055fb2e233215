"""Batch: some rows as integers on the domain's public grid.  Behind the reader there is no more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """Rows as integers.

    codes : uint16, rows x columns (column-major: a column is contiguous)
        a number is 0..65535 between low and high; a category or flag is its level.
    label : int32
        the class, or the code of a numeric target.
    unit : uint64
        what is protected: the row's position, or a fresh random number for each row (add-remove)
        or person.
    row : uint64
        the position in the source.
    """

    codes: npt.NDArray[np.uint16]
    label: npt.NDArray[np.int32]
    unit: npt.NDArray[np.uint64]
    row: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.label)

    def __add__(self, other: Batch) -> Batch:
        return Batch.concat([self, other])

    @classmethod
    def empty(cls, columns: int) -> Batch:
        """No rows of a table with so many columns."""
        return cls(np.empty((columns, 0), np.uint16).T, np.empty(0, np.int32),
                   np.empty(0, np.uint64), np.empty(0, np.uint64))

    @classmethod
    def concat(cls, batches: list[Batch]) -> Batch:
        """One batch after another."""
        if len(batches) == 1:
            return batches[0]
        return Batch(
            np.concatenate([b.codes.T for b in batches], axis=1).T,
            np.concatenate([b.label for b in batches]),
            np.concatenate([b.unit for b in batches]),
            np.concatenate([b.row for b in batches]),
        )

    def take(self, index: npt.NDArray[np.intp]) -> Batch:
        """These rows, in this order."""
        return Batch(np.take(self.codes.T, index, axis=1).T, self.label[index], self.unit[index],
                     self.row[index])
