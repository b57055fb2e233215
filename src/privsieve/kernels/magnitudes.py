"""How large the sums of a kernel may become: below 2^61, so that twice a sum fits 64 bits.

Sums are bounded before a kernel adds.  A rule's value is a difference of two parts of
``S = sum of |v_i|`` over the rows of a column, so that no step of a kernel passes 2 S.  Bounds are
told in floating point where they are near: its roundings are far smaller than the bit to spare.

No table of a plan gets here.  A class weighs at most 4096, or all rows n^2 / 2 <= 2^59 where
classes are centred (`selectors.weights.LARGEST_CENTRED`).  For rows, 2^61 is 2^49 of them; for
persons of weight L, the plan refuses L and persons that come near (`selectors.rule_sieve`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from privsieve.kernels.contract import I64, Runs

__all__ = [
    "LARGEST_SUM", "class_sums", "demand_column_rows", "demand_column_sums",
    "demand_signed", "demand_total", "largest",
]  # fmt: skip

LARGEST_SUM = 2**61


def largest(name: str, values: npt.NDArray[Any]) -> int:
    """Refuse numbers below 0; the largest of the others, 0 if there is none.

    >>> largest("weight", np.array([3, -1]))
    Traceback (most recent call last):
    ...
    ValueError: weight must not be negative
    """
    # One pass: as numbers without a sign, negative ones are the largest.
    found = int(values.view(f"u{values.dtype.itemsize}").max(initial=0))
    if found > np.iinfo(values.dtype).max:
        raise ValueError(f"{name} must not be negative")
    return found


def demand_total(name: str, values: npt.NDArray[Any]) -> None:
    """Refuse numbers below 0, and those whose sum may not fit.

    >>> demand_total("weight", np.array([2**60, 2**60]))
    Traceback (most recent call last):
    ...
    ValueError: weight must sum to less than 2^61
    """
    # The product is an upper bound at the cost of one pass.
    if (largest(name, values) * values.size >= LARGEST_SUM
            and values.sum(dtype=np.float64) >= LARGEST_SUM):
        raise ValueError(f"{name} must sum to less than 2^61")


def class_sums(starts: I64, weight: I64 | None) -> npt.NDArray[Any]:
    """The weight of each class.

    >>> class_sums(np.array([0, 2, 2, 3]), np.array([5, 1, 7])).tolist()
    [6, 0, 7]
    """
    if weight is None:
        return np.diff(starts)
    return np.diff(np.concatenate([[0], np.cumsum(weight)])[starts])


def demand_signed(labellings: I64, by_class: npt.NDArray[Any]) -> None:
    """Refuse class weights that weigh rows too much; `by_class`: what the rows weigh by themselves.

    >>> demand_signed(np.array([[-1, 1]]), np.array([2**60, 2**60 - 2**10]))
    """
    sizes = np.abs(labellings.astype(np.float64))
    if (sizes @ by_class.astype(np.float64)).max(initial=0) >= LARGEST_SUM:
        raise ValueError("labellings weigh the rows with 2^61 or more: sums of them may not fit "
                         "64 bits")


def demand_column_sums(runs: Runs, top: int, labellings: I64) -> None:
    """The same for each column of runs, whose counts are from 0 to `top`."""
    # The product is an upper bound, and nearly always small enough.
    row = int(np.abs(labellings.astype(np.float64)).sum(axis=1).max(initial=0))
    if row * int(np.diff(runs[0]).max(initial=0)) * top < LARGEST_SUM:
        return
    for column in _sums(runs):
        demand_signed(labellings, column)


def demand_column_rows(runs: Runs, top: int, most: int) -> None:
    """Refuse runs of which a column counts more than `most` rows; counts are from 0 to `top`.

    >>> runs = np.array([0, 1, 1]), np.zeros(1, np.uint16), np.array([[2, 3]])
    >>> demand_column_rows(runs, 3, 4)
    Traceback (most recent call last):
    ...
    ValueError: runs must count at most 4 rows
    """
    bound = top * runs[2].shape[1] * int(np.diff(runs[0]).max(initial=0))
    if bound > most and _sums(runs).sum(axis=1).max(initial=0) > most:
        raise ValueError(f"runs must count at most {most} rows")


def _sums(runs: Runs) -> npt.NDArray[np.float64]:
    """The counts of each column, by class."""
    indptr, _, count = runs
    held = np.diff(indptr) > 0
    found = np.zeros((len(held), count.shape[1]))
    if held.any():
        found[held] = np.add.reduceat(count, indptr[:-1][held], axis=0, dtype=np.float64)
    return found
