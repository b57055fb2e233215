"""Weights: how much each item alone tells of the class.  Integers, times one unit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from privsieve.errors import ParameterError
from privsieve.kernels import patterns

if TYPE_CHECKING:
    from privsieve.rows.matrix import Items

I64: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Labels: TypeAlias = npt.NDArray[np.int32]
Asked: TypeAlias = "str | npt.ArrayLike"

#: Weights that are no integers are rounded to this part of one.
NANO = Fraction(1, 10**9)


@dataclass(frozen=True, eq=False, repr=False)
class Weights:
    """Item j weighs `values[j] * unit`; sums are exact."""

    values: I64
    unit: Fraction

    def of(self, selected: Sequence[int] | I64) -> Fraction:
        """The weight of a set of items.

        >>> Weights(np.array([2, 3]), Fraction(1, 9)).of([0, 1])
        Fraction(5, 9)
        """
        return int(self.values[list(selected)].sum()) * self.unit


def weights(
    items: Items, y: Labels, classes: int, asked: Asked, label_rows: Bools | None = None
) -> Weights:
    """Weights by name, or a vector that is not negative; only the marked rows' labels count.

    "mutual-information" : in nats, between item and class.
    "hamming" : the share of cross-class pairs of rows that differ in the item (the paper's
        HamDist).  It rewards an item for being half full, whether or not the class moves it.
    "excess" : the squared difference of the two classes' rates.
    "youden" : the difference of the two classes' rates.

    With more than two classes the last two are averages over pairs of rows of different class.

    >>> from privsieve.rows.matrix import Items
    >>> toy = Items.dense([[1, 0], [1, 1], [0, 1], [0, 1]])
    >>> weights(toy, np.array([1, 1, 0, 0], np.int32), 2, "hamming").of([0, 1])
    Fraction(3, 2)
    """
    if not isinstance(asked, str):
        return _given(asked, len(items))
    if asked not in _NAMED:
        raise ParameterError(
            f"weights are {asked!r}; give one of {', '.join(_NAMED)}, or a number for each item"
        )
    label = coded(y, classes, label_rows)
    codes = classes if label_rows is None else 2 * classes
    held = patterns.class_counts(items.indptr, items.indices, label, codes)[:, :classes]
    return _NAMED[asked](held, np.bincount(label, minlength=codes)[:classes].astype(np.int64))


def coded(y: Labels, classes: int, label_rows: Bools | None) -> Labels:
    """The classes as kernels take them: raised where the label may not be used for scores.

    >>> coded(np.array([1, 0], np.int32), 2, np.array([True, False])).tolist()
    [1, 2]
    """
    y = np.ascontiguousarray(y, np.int32)
    return y if label_rows is None else np.where(label_rows, y, y + np.int32(classes))


def cross_pairs(sizes: I64) -> int:
    """Pairs of rows of different class.

    >>> cross_pairs(np.array([2, 3, 1]))
    11
    """
    total = [int(n) for n in sizes]
    return (sum(total) ** 2 - sum(n * n for n in total)) // 2


def _hamming(held: I64, sizes: I64) -> Weights:
    """Pairs of which one row has the item, less those of one class."""
    support, n = held.sum(1), int(sizes.sum())
    values = support * (n - support) - (held * (sizes - held)).sum(1)
    return Weights(values, Fraction(1, max(cross_pairs(sizes), 1)))


def _youden(held: I64, sizes: I64) -> Weights:
    values = np.zeros(len(held), np.int64)
    for a, b in combinations(range(len(sizes)), 2):
        values += np.abs(held[:, a] * sizes[b] - held[:, b] * sizes[a])
    return Weights(values, Fraction(1, max(cross_pairs(sizes), 1)))


def _excess(held: I64, sizes: I64) -> Weights:
    score = np.zeros(len(held))
    for a, b in combinations(np.flatnonzero(sizes), 2):
        apart = held[:, a] / sizes[a] - held[:, b] / sizes[b]
        score += apart * apart * float(sizes[a] * sizes[b])
    return _given(score / max(cross_pairs(sizes), 1), len(held))


def _mutual_information(held: I64, sizes: I64) -> Weights:
    n = max(int(sizes.sum()), 1)
    score = np.zeros(len(held))
    for joint in (held, sizes - held):
        margin = joint.sum(1, keepdims=True) * sizes
        ratio = np.divide(joint * float(n), margin, out=np.ones(joint.shape), where=joint > 0)
        score += (joint * np.log(ratio)).sum(1) / n
    return _given(np.maximum(score, 0), len(held))


def _given(asked: npt.ArrayLike, items: int) -> Weights:
    vector = np.asarray(asked)
    if vector.shape != (items,) or vector.dtype.kind not in "biuf":
        raise ParameterError(f"weights must be a number for each of {items} items")
    bad = np.flatnonzero(~np.isfinite(vector) | (vector < 0))
    if len(bad):
        raise ParameterError(
            f"the weight of item {bad[0]} is {vector[bad[0]]}; give 0 or more, and no NaN"
        )
    exact = vector.dtype.kind != "f"
    scaled = vector if exact else np.rint(vector * float(1 / NANO))
    if float(scaled.sum(dtype=np.float64)) >= 2.0**62:
        raise ParameterError("weights sum to more than 2^62 units; divide all of them by the same")
    return Weights(scaled.astype(np.int64), Fraction(1) if exact else NANO)


_NAMED: dict[str, Callable[[I64, I64], Weights]] = {
    "mutual-information": _mutual_information,
    "hamming": _hamming,
    "excess": _excess,
    "youden": _youden,
}
