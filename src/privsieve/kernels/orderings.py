"""The nearest hits and misses of every row in order, and the nearest among some rows only.

Hit, miss, metric, the order of adding up and ties are those of `nearest`: what is found here is
what `nearest` finds in a table of the chosen rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privsieve.kernels import orderings_twin
from privsieve.kernels.contract import demand_array, demand_equal
from privsieve.kernels.nearest import METRICS

if TYPE_CHECKING:
    from privsieve.kernels.contract import I64
    from privsieve.kernels.nearest import F64, I32, Metric

__all__ = ["among", "orderings"]


def orderings(X: F64, label: I32, metric: Metric, most: int) -> tuple[I64, I64]:
    """The `most` nearest hits and misses of each row, nearest first; -1 after the last.

    >>> X = np.array([[0.0], [3.0], [1.0], [9.0]])
    >>> hits, misses = orderings(X, np.array([0, 0, 0, 1], np.int32), "manhattan", 2)
    >>> hits.tolist(), misses.tolist()
    ([[2, 1], [2, 0], [0, 1], [-1, -1]], [[3, -1], [3, -1], [3, -1], [1, 2]])
    """
    _demand_table(X, label, metric)
    if most < 1:
        raise ValueError(f"most must be at least 1, not {most}")
    return orderings_twin.orderings(X, label, metric, most)


def among(X: F64, label: I32, metric: Metric, rows: I64, members: I64) -> tuple[I64, I64]:
    """The nearest hit and miss of `rows` among `members` (rising), itself not counted.

    >>> X = np.array([[0.0], [3.0], [1.0], [9.0]])
    >>> hit, miss = among(X, np.array([0, 0, 0, 1], np.int32), "manhattan",
    ...                   np.array([0]), np.array([0, 1]))
    >>> hit.tolist(), miss.tolist()
    ([1], [-1])
    """
    _demand_table(X, label, metric)
    for name, value in (("rows", rows), ("members", members)):
        demand_array(name, value, np.int64, 1)
        if len(value) and not 0 <= value.min() <= value.max() < len(X):
            raise ValueError(f"{name} must be positions of rows of X, from 0 to {len(X) - 1}")
    if (np.diff(members) <= 0).any():
        raise ValueError("members must rise: ties go to the lowest of them")
    return orderings_twin.among(X, label, metric, rows, members)


def _demand_table(X: F64, label: I32, metric: Metric) -> None:
    """Refuse what is no table of numbers with classes; `nearest` says which numbers."""
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(METRICS)}, not {metric!r}")
    demand_array("X", X, np.float64, 2)
    demand_array("label", label, np.int32, 1)
    demand_equal("label and X", len(label), len(X))
    if not np.isfinite(X).all():
        raise ValueError("X must hold numbers, and it holds NaN or infinity; fill what is missing")
