"""Pairs for a choice of columns and for a table of counts.

The row that changes takes one unit from the score of a column and gives it to that of another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.check.pairs import TOP, TWO, Made, Pair, Tables, in_two, of_codes
from privsieve.public.columns import Flag, Label, Number
from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch

_FLAG = Domain((Flag("ill"),))
_FLAGS = Domain((Flag("x0"), Flag("x1")), target=Label("y", (0, 1)))
_RULES = {"depth": 1, "class_prior": None}


def sides() -> Tables:
    """Row 1 leaves the first column's side for the second's: one unit of both scores."""
    label = np.arange(12) % 2
    first = np.stack([label, label], axis=1)
    first[[1, 3], 1] = 0  # rows 1 and 3 contradict the second column
    second = first.copy()
    second[1] = [0, 1]  # row 1 contradicts the first instead
    return (first * TOP).astype(np.uint16), (second * TOP).astype(np.uint16), label


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


def _joint(method: str) -> Pair:
    """Two of three columns by a first race over pairs."""
    first, second = (rows * [TOP, TOP, TOP, 1] for rows in joined())
    return of_codes(Domain.box(0, 1, columns=3), first, second, k=2, joint="pair", **_RULES)(method)


def _persons(method: str) -> Pair:
    """A person with all rows leaves the first column's side for the second's."""
    first, second, label = sides()
    domain = Domain(TWO.columns, target=TWO.target, person="who", persons=len(first),
                    rows_per_person=2)
    twice = np.repeat(np.arange(len(first)), 2)
    ends = (Batch(np.asfortranarray(codes[twice]), label[twice].astype(np.int32),
                  twice.astype(np.uint64), np.arange(len(twice), dtype=np.uint64))
            for codes in (first, second))
    return Pair(method, domain, {"k": 1, **_RULES}, *ends)


def _number(method: str) -> Pair:
    """The same, where the classes are the two ends of a number: each cut between them is one."""
    first, second, label = sides()
    ends = (np.column_stack([codes, TOP * label]) for codes in (first, second))
    return of_codes(Domain.box(0, 1, columns=2, target=(0, 8)), *ends, k=1,
                    numeric="median-cut", depth=1)(method)


def _flags(**options: Any) -> Made:
    """The same with flags, of which the chosen one is counted within the classes, too."""
    first, second, label = sides()
    ends = (np.column_stack([codes // TOP, label]) for codes in (first, second))
    return of_codes(_FLAGS, *ends, k=1, **options)


def _counted(more: int, **options: Any) -> Made:
    """A row of another class: a class count falls, a score falls and another one rises.

    more : so many pairs of rows that both columns tell apart, so that noisy counts are drawn.
    """
    codes, _, label = sides()
    first = np.vstack([np.column_stack([codes, label]), [(0, 0, 0), (TOP, TOP, 1)] * more])
    second = first.copy()
    second[1, 2] = 1 - second[1, 2]
    return of_codes(TWO, first, second, k=1, **options)




def _correlated(method: str) -> Pair:
    """Eleven rows, and one that makes the first column go with the target, or neither."""
    eleven = ["010", "010", "100", "100", "100", "110", "010", "101", "101", "111", "000"]
    first, second = ([[TOP * int(cell) for cell in row] for row in (*eleven, last)]
                     for last in ("111", "001"))
    return of_codes(Domain.box(0, 1, columns=2, target=(0, 1)), first, second, k=1,
                    score="correlation")(method)


def _votes(method: str) -> Pair:
    """A row that is for the second column, where the others are for the first, comes."""
    domain = Domain(Domain.box(0, 1, columns=2).columns, target=Number("y", 0, 1),
                    neighbours="add-remove", rows=3)
    known = [[TOP, TOP, TOP], [0, 0, 0]]
    return of_codes(domain, [[0, TOP, TOP], *known], known, k=1, joint="votes")(method)


def _counts(method: str) -> Pair:
    """One row of three moves from a cell to the other."""
    return of_codes(_FLAG, [[0, 0], [0, 0], [1, 0]], [[0, 0], [1, 0], [1, 0]])(method)


def _threshold(method: str) -> Pair:
    """One of ten rows moves from a cell to the other: with a delta only large cells are named."""
    first, second = ([[0, 0]] * (10 - ill) + [[1, 0]] * ill for ill in (5, 4))
    return of_codes(_FLAG, first, second, delta="0.05")(method)


PAIRS: Mapping[str, Mapping[str, Made]] = {
    "rule-sieve": {
        "": in_two(sides, k=1, **_RULES),
        "ordered": in_two(sides, k=1, ordered=True, **_RULES),
        "joint": _joint,
        "persons": _persons,
        "number": _number,
        "votes": _votes,
        "counts": _counted(120, depth=1),
    },
    "noisy-top-k": {
        "": in_two(sides, k=1, class_prior=None),
        "class-counts": in_two(sides, k=1, score="class-counts", class_prior=None),
        "correlation": _correlated,
        "counts": _counted(1),
    },
    "noisy-histogram": {"": _counts, "threshold": _threshold,
                        "chosen": _flags(choice=_RULES)},
}
