"""Rules on several columns: three and four at once, and pairs for any number of classes.

Bins, classes and labellings are those of `privsieve.kernels`.
"""
# ruff: noqa: PLR0917  six arguments are allowed by the house

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from privsieve.kernels import implementation, joint_twin
from privsieve.kernels.contract import I64, U8, demand_bins
from privsieve.kernels.magnitudes import class_sums

__all__ = ["GRIDS", "class_gain", "joint_best"]

#: Cells a side of the grid that sets of three and of four columns are cut on.
GRIDS = {3: 8, 4: 4}

#: What all rows may weigh; twice its square fits.  `selectors.labels.uncentred` allows half of it.
MOST_WEIGHT = 2**31 - 1

_kernels: Any = (
    import_module("privsieve.kernels._native") if implementation() == "native" else joint_twin
)


def joint_best(
    bins: U8, starts: I64, weight: I64 | None, labellings: I64, size: int, nominal: U8
) -> I64:
    """Twice the best rule of each set of 3 or 4 columns, in lexicographic order: 012, 013, ...

    Each column is cut at one public indicator of `GRIDS[size]` bins; the 8 or 16 cells have a free
    sign each, and every combination of indicators is tried.

    >>> bins = np.array([[0, 0, 7, 7], [0, 7, 0, 7], [0, 7, 7, 0]], np.uint8)
    >>> starts, weighing = np.array([0, 2, 4]), np.array([[-1, 1]])
    >>> joint_best(bins, starts, None, weighing, 3, np.zeros(3, np.uint8)).tolist()
    [4]
    """
    if size not in GRIDS:
        raise ValueError(f"size must be 3 or 4, not {size}")
    demand_bins(bins, starts, weight, labellings, GRIDS[size], nominal)
    out: I64 = _kernels.joint_best(bins, starts, weight, labellings, size, nominal)
    return out


def class_gain(bins: U8, starts: I64, weight: I64 | None, grid: int, nominal: U8) -> I64:
    """How much the best four-cell rule for a set of classes beats both columns alone, times n.

    The value of a rule "cell in B -> class in A" is n n(A, B) - n(A) n(B), in weights, the best
    over all A and B; n is the weight of all rows.  Without a partner: 0.

    >>> bins, starts = np.array([[0, 3, 0, 3], [0, 3, 3, 0]], np.uint8), np.array([0, 2, 4])
    >>> class_gain(bins, starts, None, 4, np.zeros(2, np.uint8)).tolist()
    [4, 4]
    """
    demand_bins(bins, starts, weight, np.ones((1, np.size(starts) - 1), np.int64), grid, nominal)
    if class_sums(starts, weight).sum() > MOST_WEIGHT:
        raise ValueError(f"all rows must weigh at most {MOST_WEIGHT}: values are its square")
    out: I64 = _kernels.class_gain(bins, starts, weight, grid, nominal)
    return out
