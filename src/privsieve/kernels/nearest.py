"""The nearest hit and the nearest miss of every row of a table of numbers.

A row's hit is the nearest other row of its class, its miss the nearest row of any other class.
The distance is a float64, added up column by column from the left: this order is a part of the
contract, because it decides which rows are equally far.  Ties go to the lowest row.

``"manhattan"`` adds ``|a - b|``, ``"euclidean"`` adds ``(a - b) ** 2`` (the root would change no
answer but by its rounding), and ``"hamming"`` counts the columns, all 0 or 1, that differ.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from privsieve.kernels import implementation, nearest_twin
from privsieve.kernels.contract import demand_array, demand_equal

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt

    from privsieve.kernels.contract import I64

    F64: TypeAlias = npt.NDArray[np.float64]
    I32: TypeAlias = npt.NDArray[np.int32]
    Metric: TypeAlias = Literal["manhattan", "euclidean", "hamming"]

__all__ = ["LARGEST", "METRICS", "nearest"]

METRICS = ("manhattan", "euclidean", "hamming")
#: The largest size of a number: sums of squares stay finite.
LARGEST = 1e100

_kernels: Any = (
    import_module("privsieve.kernels._native") if implementation() == "native" else nearest_twin
)


def nearest(X: F64, label: I32, metric: Metric) -> tuple[I64, I64]:
    """The rows ``(hit, miss)`` nearest to each row; -1 where there is none.

    >>> X = np.array([[0.0, 0.0], [3.0, 0.0], [1.0, 1.0], [9.0, 9.0]])
    >>> hit, miss = nearest(X, np.array([0, 0, 1, 2], np.int32), "manhattan")
    >>> hit.tolist(), miss.tolist()
    ([1, 0, -1, -1], [2, 2, 0, 1])
    """
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(METRICS)}, not {metric!r}")
    demand_array("X", X, np.float64, 2)
    demand_array("label", label, np.int32, 1)
    demand_equal("label and X", len(label), len(X))
    _demand_values(X, metric)
    found: tuple[I64, I64] = _kernels.nearest(X, label, metric)
    return found


def _demand_values(X: F64, metric: Metric) -> None:
    """Refuse numbers between which no distance is told."""
    if metric == "hamming":
        if not ((X == 0) | (X == 1)).all():
            raise ValueError(
                "metric 'hamming' needs columns of 0 and 1; code each column so, "
                "or take 'manhattan'"
            )
    elif X.size and not (X.min() >= -LARGEST and X.max() <= LARGEST):  # not so for NaN
        raise ValueError(
            f"X must hold numbers from -{LARGEST:g} to {LARGEST:g}, and it holds NaN or larger "
            "ones; fill what is missing, and scale the columns"
        )
