"""What a row's nearest hit and miss say of each column: the margins z of the papers."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

F64: TypeAlias = npt.NDArray[np.float64]
I64: TypeAlias = npt.NDArray[np.int64]

__all__ = ["margins", "spread"]

#: Numbers that are held at once: they stay in the cache.
HELD = 1 << 16


def margins(X: F64, hit: I64, miss: I64, rows: I64 | None = None,
            begins: I64 | None = None) -> F64:
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
    begins : int64[d], optional
        where each column begins that `spread` made several of; they are added up.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [0.0, 3.0], [2.0, 0.0]])
    >>> margins(X, np.array([1, 0, -1]), np.array([2, 2, 0])).tolist()
    [[2.0, -3.0], [2.0, 0.0], [0.0, 0.0]]
    """
    rows = np.arange(len(X)) if rows is None else rows
    known = np.flatnonzero((hit >= 0) & (miss >= 0))
    z = np.zeros((len(rows), X.shape[1] if begins is None else len(begins)))
    some = max(1, HELD // max(X.shape[1], 1))
    for first in range(0, len(known), some):
        at = known[first : first + some]
        own = X[rows[at]]
        part = np.abs(own - X[miss[at]])
        part -= np.abs(own - X[hit[at]])
        z[at] = part if begins is None else np.add.reduceat(part, begins, axis=1)
    return z


def spread(X: F64, categories: Collection[int]) -> tuple[F64, I64]:
    """Columns as they are searched, and where each begins: a category has one for each value.

    It holds 1/2 where the row has the value: two rows are 1 apart in a category, or 0.

    >>> coded, begins = spread(np.array([[0.3, 7.0], [0.5, 9.0]]), [1])
    >>> coded.tolist(), begins.tolist()
    ([[0.3, 0.5, 0.0], [0.5, 0.0, 0.5]], [0, 1])
    """
    pieces = []
    for j, column in enumerate(X.T):
        if j in categories:
            values, codes = np.unique(column, return_inverse=True)
            pieces.append(0.5 * np.eye(len(values))[codes])
        else:
            pieces.append(column[:, None])
    widths = [piece.shape[1] for piece in pieces]
    return (np.ascontiguousarray(np.concatenate(pieces, axis=1)),
            np.cumsum([0, *widths[:-1]]).astype(np.int64))
