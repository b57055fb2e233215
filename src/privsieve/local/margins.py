"""What a row's nearest hit and miss say of each column: the margins z of the papers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    F64: TypeAlias = npt.NDArray[np.float64]
    I64: TypeAlias = npt.NDArray[np.int64]

__all__ = ["margins"]

#: Numbers that are held at once: they stay in the cache.
HELD = 1 << 16


def margins(X: F64, hit: I64, miss: I64, rows: I64 | None = None) -> F64:
    """``|x - miss| - |x - hit|`` of each row; zeros where it has no hit or no miss (-1).

    Positive in a column that tells the row from its miss and not from its hit.

    Parameters
    ----------
    X : float64[n, d]
        the table.
    hit, miss : int64[N]
        positions in X of the nearest row of the same class and of another one.
    rows : int64[N], optional
        whose they are; all rows of X in their order by default.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [0.0, 3.0], [2.0, 0.0]])
    >>> margins(X, np.array([1, 0, -1]), np.array([2, 2, 0])).tolist()
    [[2.0, -3.0], [2.0, 0.0], [0.0, 0.0]]
    """
    rows = np.arange(len(X)) if rows is None else rows
    known = np.flatnonzero((hit >= 0) & (miss >= 0))
    z = np.zeros((len(rows), X.shape[1]))
    some = max(1, HELD // max(X.shape[1], 1))
    for first in range(0, len(known), some):
        at = known[first : first + some]
        own = X[rows[at]]
        part = np.abs(own - X[miss[at]])
        part -= np.abs(own - X[hit[at]])
        z[at] = part
    return z
