"""Ranks of a numeric target: cuts at fixed public ranks, exact, with keyed ties.

Rows are ordered by (code, tie key, row); the tie key is that of a feature of its own, so that no
column shares its order.  Which rows lie below rank r is then known from one record: that of rank r.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from privsieve import kernels
from privsieve.public.columns import CODES

if TYPE_CHECKING:
    from privsieve.rows.batch import Batch


class Record(NamedTuple):
    """The record of a rank: rows that stand at it or above are those that compare no lower."""

    code: int
    tie: int
    row: int

    def __repr__(self) -> str:
        return object.__repr__(self)  # its fields are private


def spread(n: int, cuts: int) -> tuple[int, ...]:
    """Ranks that cut n rows into equal parts, as far as there are so many.

    >>> spread(8, 3), spread(2, 3), spread(0, 3)
    ((2, 4, 6), (1,), ())
    """
    return tuple(sorted({i * n // (cuts + 1) for i in range(1, cuts + 1)} - {0}))


def halves(n: int) -> tuple[int, ...]:
    """The ranks at which the upper half begins, and the middle record where n is odd.

    >>> halves(6), halves(7), halves(1)
    ((3, 3), (3, 4), (0,))
    """
    return tuple(rank for rank in (n // 2, (n + 1) // 2) if rank < n)


def at_ranks(batches: Sequence[Batch], ranks: Sequence[int], feature: int, key: int,
             ) -> tuple[Record, ...]:
    """The records of these 0-based ranks, over all batches.

    >>> from privsieve.rows.batch import Batch
    >>> rows = np.arange(3, dtype=np.uint64)
    >>> batch = Batch(np.zeros((3, 1), np.uint16), np.array([9, 3, 5], np.int32), rows, rows)
    >>> [record.code for record in at_ranks([batch], [0, 2], 1, key=7)]
    [3, 9]
    """
    counts = np.zeros(CODES, np.int64)
    for batch in batches:
        counts += np.bincount(batch.label, minlength=CODES)
    ends = np.cumsum(counts)
    groups: dict[int, list[tuple[int, int]]] = {}
    found = []
    for rank in ranks:
        # [at-ranks] the code that holds this rank, then its place in the tie group
        code = int(np.searchsorted(ends, rank, side="right"))
        if code not in groups:
            groups[code] = _ties(batches, code, feature, key)
        found.append(Record(code, *groups[code][rank - int(ends[code] - counts[code])]))
    return tuple(found)


def _ties(batches: Sequence[Batch], code: int, feature: int, key: int) -> list[tuple[int, int]]:
    """The (tie key, row) of the rows with this code, in order."""
    keys, rows = [np.zeros(0, np.uint64)], [np.zeros(0, np.uint64)]
    for batch in batches:
        tied = batch.label == code
        keys.append(kernels.tie_keys(batch.unit[tied], feature, key))
        rows.append(batch.row[tied])
    joined, places = np.concatenate(keys), np.concatenate(rows)
    order = np.lexsort((places, joined))
    return list(zip(joined[order].tolist(), places[order].tolist(), strict=True))


def bins(batch: Batch, records: Sequence[Record], feature: int, key: int,
         ) -> npt.NDArray[np.int32]:
    """For each row, how many of these records it stands at or above."""
    found = np.zeros(len(batch), np.int32)
    keys = kernels.tie_keys(batch.unit, feature, key)
    for code, tie, row in records:
        # [at-or-above]
        later = (keys > np.uint64(tie)) | ((keys == np.uint64(tie)) & (batch.row >= np.uint64(row)))
        found += (batch.label > code) | ((batch.label == code) & later)
    return found
