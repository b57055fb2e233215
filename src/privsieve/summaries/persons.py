"""Persons: which rows of a person count, and how much.

Each person weighs the same, L, however many rows they have: of at most `most` rows (kept by a
keyed order) each counts floor(L / rows).  One of them, the first of that order, stands for the
person where a rule needs one row a unit.  All of it depends on the person's own rows alone.
"""

from __future__ import annotations

from math import lcm
from typing import TYPE_CHECKING

import numpy as np

from privsieve import kernels

if TYPE_CHECKING:
    import numpy.typing as npt

#: Up to so many rows a person, floor(L / rows) is exact.
EXACT_ROWS = 10
ROUNDED_WEIGHT = 4096


def person_weight(most: int) -> int:
    """L: the least common multiple of 1..most while that is small.

    >>> person_weight(1), person_weight(4), person_weight(50)
    (1, 12, 4096)
    """
    return lcm(*range(1, most + 1)) if most <= EXACT_ROWS else max(ROUNDED_WEIGHT, most)


def row_weights(unit: npt.NDArray[np.uint64], most: int, key: int,
                ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The weight of each row (0: not kept), and whether it stands for its person.

    >>> weight, first = row_weights(np.array([7, 7, 7, 8], np.uint64), 2, key=0)
    >>> sorted(weight.tolist()), int(first.sum())
    ([0, 1, 1, 2], 2)
    """
    weight = np.zeros(len(unit), np.int64)
    first = np.zeros(len(unit), np.bool_)
    if len(unit) == 0:
        return weight, first
    # Rows of a person lie together, in the order of the source.
    order = np.argsort(unit, kind="stable")
    sorted_unit = unit[order]
    begins = np.flatnonzero(np.r_[True, sorted_unit[1:] != sorted_unit[:-1]])
    sizes = np.diff(np.r_[begins, len(unit)])
    nth = np.arange(len(unit)) - np.repeat(begins, sizes)
    # Which of their rows are kept: a keyed order of (person, n-th row of that person).
    draw = kernels.mix64(np.uint64(key) ^ kernels.mix64(sorted_unit + nth.astype(np.uint64)
                                                       * np.uint64(0x9E3779B97F4A7C15)))
    inner = np.lexsort((nth, draw, np.repeat(np.arange(len(sizes)), sizes)))
    rank = np.empty(len(unit), np.int64)
    rank[inner] = nth
    kept = np.minimum(sizes, most)
    share = np.where(rank < most, np.repeat(person_weight(most) // kept, sizes), 0)
    weight[order] = share
    first[order] = rank == 0
    return weight, first
