"""The exact median cut of every column, with keyed ties, from small mergeable tables.

Ties are broken by `tie_keys(unit, feature, key)`, not by the file's order: an order that columns
share would make tied columns copies of each other (or of a file sorted by class).

Over one part a kernel selects the cut.  Over several, three passes do: the code of the middle
rank comes from the runs; inside its tie group the top 16 bits of the keys are counted; of the few
rows in that bucket the exact one is picked.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from privsieve import kernels
from privsieve.public.columns import MISSING
from privsieve.summaries.layout import ORDERED_WITH_MISSING, SUBSETS, Part

Cuts = tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint64], npt.NDArray[np.uint64],
             npt.NDArray[np.int64]]

BUCKETS = 65536


def median_cuts(parts: Sequence[Part], key: int, kind: npt.NDArray[np.uint8]) -> Cuts:
    """The record of middle rank of each ordered column: its code, tie key, row, and the count."""
    if len(parts) == 1:
        part = parts[0]
        return kernels.median_cut(part.codes, part.ids[0], part.ids[1], key, kind)
    # [cuts] rank floor(m/2) of m rows that are not missing, by (code, tie key, row)
    cut = (np.zeros(len(kind), np.uint16), np.zeros(len(kind), np.uint64),
           np.zeros(len(kind), np.uint64), np.zeros(len(kind), np.int64))
    for j in np.flatnonzero(kind < SUBSETS).tolist():
        found = _column(parts, j, key, missing=kind[j] == ORDERED_WITH_MISSING)
        cut[0][j], cut[1][j], cut[2][j], cut[3][j] = found
    return cut


def _column(parts: Sequence[Part], j: int, key: int, *, missing: bool,
            ) -> tuple[int, int, int, int]:
    counts = np.zeros(BUCKETS, np.int64)
    for part in parts:
        counts += np.bincount(part.codes[j], minlength=BUCKETS)
    if missing:
        counts[MISSING] = 0
    count = int(counts.sum())
    if count == 0:
        return 0, 0, 0, 0
    code, left = _bucket(counts, count // 2)
    tops = np.zeros(BUCKETS, np.int64)
    for keys, _rows in _ties(parts, j, code, key):
        tops += np.bincount((keys >> np.uint64(48)).astype(np.int64), minlength=BUCKETS)
    top, left = _bucket(tops, left)
    few: list[tuple[int, int]] = []
    for keys, rows in _ties(parts, j, code, key):
        inside = (keys >> np.uint64(48)).astype(np.int64) == top
        few += zip(keys[inside].tolist(), rows[inside].tolist(), strict=True)
    return code, *sorted(few)[left], count


def _bucket(counts: npt.NDArray[np.int64], rank: int) -> tuple[int, int]:
    """The bucket that holds this rank, and the rank inside it."""
    ends = np.cumsum(counts)
    bucket = int(np.searchsorted(ends, rank, side="right"))
    return bucket, rank - int(ends[bucket] - counts[bucket])


def _ties(parts: Sequence[Part], j: int, code: int, key: int,
          ) -> list[tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]]:
    found = []
    for part in parts:
        tied = part.codes[j] == code
        found.append((kernels.tie_keys(part.ids[0][tied], j, key), part.ids[1][tied]))
    return found
