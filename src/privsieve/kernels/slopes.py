"""Rules on slopes of two columns: cuts of a x + b y, for ten public a and b.

Bins, classes and labellings are those of `privsieve.kernels`.
"""

from __future__ import annotations

import numpy as np

from privsieve.kernels.contract import (
    I64,
    MOST_BINNED,
    U8,
    class_sums,
    demand_array,
    demand_equal,
    demand_offsets,
    demand_signed,
    demand_weight,
    demand_whole,
    kernel,
)

__all__ = ["SIDE", "SLOPES", "slope_best"]

#: Cells a side of the grid on which two columns are added up.
SIDE = 64
#: What a column's bin counts for beside the bin of its partner, 1; either may be the steep one.
STEEP = (1, 2, 3)
#: The ten slopes a x + b y.
SLOPES = ((1, 1), (1, -1), (2, 1), (2, -1), (1, 2), (1, -2), (3, 1), (3, -1), (1, 3), (1, -3))


def _demand_slopes(bins: U8, starts: I64, weight: I64 | None, labellings: I64) -> None:
    demand_array("bins", bins, np.uint8, 2)
    demand_offsets("starts", starts, bins.shape[1])
    demand_whole("rows of bins", bins.shape[1], 0, MOST_BINNED)
    demand_weight(weight, bins.shape[1])
    demand_array("labellings", labellings, np.int64, 2)
    demand_equal("classes of labellings and starts", labellings.shape[1], len(starts) - 1)
    if bins.max(initial=0) >= SIDE:
        raise ValueError(f"bins must be below the grid's {SIDE}")
    demand_signed(labellings, class_sums(starts, weight))


# [slope-best]
@kernel(_demand_slopes)
def slope_best(bins: U8, starts: I64, weight: I64 | None, labellings: I64) -> I64:
    """Twice the best cut of a x + b y, over `SLOPES`, of each pair of columns: 01, 02, ...

    A rule is 1 above a cut of a x + b y and -1 below it, or the other way about.

    >>> bins, starts = np.array([[0, 9, 1, 10], [8, 0, 9, 1]], np.uint8), np.array([0, 2, 4])
    >>> slope_best(bins, starts, None, np.array([[-1, 1]])).tolist()
    [4]
    """
    classes, best = len(starts) - 1, []
    label = np.repeat(np.arange(classes), np.diff(starts))
    for j in range(len(bins)):
        for l in range(j + 1, len(bins)):  # noqa: E741  # as in the proofs
            cell = np.zeros((classes, SIDE, SIDE), np.int64)
            np.add.at(cell, (label, bins[j], bins[l]), 1 if weight is None else weight)
            signed = np.tensordot(labellings, cell, axes=1)
            turned = signed.swapaxes(1, 2)
            best.append(max((_steepest(cells, steep) for steep in STEEP
                             for cells in (signed, turned)), default=0))
    return np.array(best, np.int64)


def _steepest(cells: I64, steep: int) -> int:
    """Twice the best cut of steep x + y, and of steep x - y."""
    line = np.zeros((2, len(cells), steep * (SIDE - 1) + SIDE), np.int64)
    for a in range(SIDE):
        here = slice(steep * a, steep * a + SIDE)
        line[0, :, here] += cells[:, a]
        line[1, :, here] += cells[:, a, ::-1]
    below = line.cumsum(-1)
    total = below[..., -1:]
    # A cut below all of them, too.
    return int(np.maximum(np.abs(2 * below - total), np.abs(total)).max(initial=0))
# [/slope-best]
