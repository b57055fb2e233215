"""Ranks: which record has a given rank, over pieces of any size; exact, ties by a keyed order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from privsieve import kernels
from privsieve.public.columns import CODES

Ints = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
#: Of some rows the code of one column, the unit and the row.
Ranked = tuple[npt.NDArray[np.integer], Keys, Keys]


class Record(NamedTuple):
    """The record of a rank: rows that stand at it or above are those that compare no lower."""

    code: int
    tie: int
    row: int

    def __repr__(self) -> str:
        return object.__repr__(self)  # its fields are private


def at_ranks(pieces: Sequence[Ranked], ranks: Sequence[int], feature: int, key: int,
             ) -> list[Record]:
    """The records of these 0-based ranks by (code, tie key, row), over all pieces.

    The codes are counted; inside the tie group of the one that holds the rank the top 16 bits of
    the keys are; and of the few rows in that bucket the exact one is picked.

    >>> rows = np.arange(3, dtype=np.uint64)
    >>> records = at_ranks([(np.array([9, 3, 5]), rows, rows)], [0, 2], 1, key=7)
    >>> [record.code for record in records]
    [3, 9]
    """
    counts = _counted(codes for codes, _unit, _row in pieces)
    ties: dict[int, list[tuple[Keys, Keys]]] = {}
    records = []
    for rank in ranks:
        # [at-ranks] the code that holds this rank, then its place in the tie group
        code, left = bucket(counts, rank)
        if code not in ties:
            ties[code] = [(kernels.tie_keys(unit, feature, key), row) for _codes, unit, row in
                          (where(piece, piece[0] == code) for piece in pieces)]
        top, left = bucket(_counted(_top(keys) for keys, _row in ties[code]), left)
        few: list[tuple[int, int]] = []
        for keys, row in ties[code]:
            inside = _top(keys) == top
            few += zip(keys[inside].tolist(), row[inside].tolist(), strict=True)
        records.append(Record(code, *sorted(few)[left]))
    return records


def where(piece: Ranked, inside: npt.NDArray[np.bool_]) -> Ranked:
    """The rows of a piece that are inside."""
    codes, unit, row = piece
    return codes[inside], unit[inside], row[inside]


def _counted(pieces: Iterable[npt.NDArray[np.integer]]) -> Ints:
    counts = np.zeros(CODES, np.int64)
    for codes in pieces:
        counts += np.bincount(codes, minlength=CODES)
    return counts


def _top(keys: Keys) -> Ints:
    return (keys >> np.uint64(48)).astype(np.int64)


def bucket(counts: Ints, rank: int) -> tuple[int, int]:
    """The bucket that holds this rank, and the rank inside it."""
    ends = np.cumsum(counts)
    bucket = int(np.searchsorted(ends, rank, side="right"))
    return bucket, rank - int(ends[bucket] - counts[bucket])
