"""Four numbers for each row of a table, straight from the kernels: an oracle of laws."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from privsieve.kernels.patterns import around, pattern_table


class RowGroups(NamedTuple):
    """Rows that hold all that a row holds, or just that; their classes; the rows that it is among.

    group, equal : rows that hold all that it holds, and just what it holds.
    classes : distinct classes in its group.
    held : rows in whose group it sits.
    """

    group: np.ndarray
    equal: np.ndarray
    classes: np.ndarray
    held: np.ndarray


def levels(items, y, classes, absent=None):
    """Each row's group on all of these items."""
    masks, counts, pattern = pattern_table(items, y, classes, absent)
    size = counts.sum(1)
    group, held = around(masks, counts, masks, size)
    numbers = group.sum(1), size, (group > 0).sum(1), held
    return RowGroups(*(number[pattern] for number in numbers))
