"""Hard rows: the codes of two tables that differ in one row, which moves a score or a vector most.

Made up, and public; `pairs.py` says which method they are hard on.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.uint16]

TOP = 65535  # the last code of a column


def sides() -> tuple[Codes, Codes, npt.NDArray[np.int64]]:
    """Row 1 leaves the first column's side for the second's: one unit of both scores."""
    label = np.arange(12) % 2
    first = np.stack([label, label], axis=1)
    first[[1, 3], 1] = 0  # rows 1 and 3 contradict the second column
    second = first.copy()
    second[1] = [0, 1]  # row 1 contradicts the first instead
    return (first * TOP).astype(np.uint16), (second * TOP).astype(np.uint16), label


def block() -> tuple[Codes, Codes, npt.NDArray[np.int64]]:
    """Six rows of which three make a block: the last row turns its block's vector around."""
    middle, places = 0.1, (0.05, 0.085, 0.1025, 0.115, 0.15)
    first = np.array([[place, place] for place in places] + [[middle, 1.0]])
    second = first.copy()
    second[5] = [1.0, middle]
    return (np.floor(first * TOP).astype(np.uint16), np.floor(second * TOP).astype(np.uint16),
            np.array([0, 0, 0, 0, 0, 1]))


def corners(rows: int = 20) -> tuple[Codes, Codes, npt.NDArray[np.int64]]:
    """Rows against two public corners; the last row's vector is turned from one side to another."""
    c = 0.387890  # where a vector of weights is moved most
    ends = []
    for sign in (1, -1):
        codes = np.tile(np.array([0, TOP // 2]), (rows, 1))
        codes[-1] = np.round((1 - np.array([-c, sign * math.sqrt(1 - c * c)])) / 2 * TOP)
        ends.append(codes.astype(np.uint16))
    return ends[0], ends[1], np.zeros(rows, dtype=np.int64)


def crowd() -> tuple[Codes, Codes, npt.NDArray[np.int64]]:
    """Four thousand short rows that hold weights far out, and one that pulls to either side.

    The price is for a pull that is turned by twice a row's length, where weights are infinitely
    long.  Here they are 14 long, and a row a little behind them is turned by 1.87 of its length:
    `lam` and `clip` are chosen with these two numbers, in a simulation whose densities are known.
    """
    short, back = 0.05, 0.25
    ends = []
    for sign in (1, -1):
        pulls = np.tile([short, 0.0], (4000, 1))
        pulls[-1] = -back, sign * math.sqrt(1 - back * back)
        # against the corners a row x pulls by 1 - 2x, and a clip of 1 leaves it as long as it is
        ends.append(np.round((1 - pulls) / 2 * TOP).astype(np.uint16))
    return ends[0], ends[1], np.zeros(len(pulls), dtype=np.int64)


def joined() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Flags and a class: with another class of the first row one pair falls and two rise.

    At epsilon 1 the loss is 1, after what chance reaches is taken off.
    """
    rows = np.array([(0, 0, 0, 0), (0, 0, 0, 1), (1, 0, 0, 1), (1, 0, 0, 1), (0, 1, 0, 0),
                     (0, 0, 1, 1), (0, 0, 1, 0), (0, 1, 0, 0), (0, 0, 1, 1), (1, 0, 0, 1),
                     (1, 0, 0, 1), (1, 1, 0, 0), (1, 1, 1, 0), (0, 0, 0, 0), (1, 1, 1, 0),
                     (1, 0, 0, 1)])
    other = rows.copy()
    other[0, 3] = 1
    return rows, other
