"""Pairs for a choice of columns, for a tuning of one, and for a table of counts.

The row that changes takes one unit from the score of a column and gives it to that of another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from privsieve.check.pairs import RUNS, TOP, TWO, Made, Pair, Tables, in_two, of_codes, table
from privsieve.methods import plan, tuning
from privsieve.noise.stopping import PRICE, best_of
from privsieve.noise.streams import system
from privsieve.public.columns import Flag, Label, Number
from privsieve.public.domain import Domain
from privsieve.release import said
from privsieve.rows.batch import Batch
from privsieve.summaries.halves import halves

#: Runs on each table that show most of what a whole tuning loses.
WHOLE_RUNS = 50_000
_KEY = 1  # of a cut that is known
_FLAG = Domain((Flag("ill"),))
_FLAGS = Domain((Flag("x0"), Flag("x1")), target=Label("y", (0, 1)))
_RULES = {"depth": 1, "class_prior": None}
_TRIED = {"candidates": [{"method": "rule-sieve", "k": 1, **_RULES}]}


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


def _described(method: str) -> Pair:
    """The same among rows that fill each cell: below nought what noise leaves is cut off."""
    first, second, label = sides()
    filling = np.repeat([(0, 0, 0), (0, 0, 1), (1, 1, 0), (1, 1, 1)], (24, 8, 8, 24), axis=0)
    one, two = (np.vstack([np.column_stack([codes // TOP, label]), filling])
                for codes in (first, second))
    return of_codes(_FLAGS, one, two, k=1, describe="0.5", **_RULES)(method)


def _disagreeing(method: str) -> Pair:
    """A row of a class of its own, paired with all others in the first column, or in the second."""
    others = [[0, 0, 0]] * 5
    return of_codes(TWO, [*others, [TOP, 0, 1]], [*others, [0, TOP, 1]], k=1, score="disagreement",
                    class_prior=None)(method)


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


@dataclass(frozen=True)
class TryPair(Pair):
    """A tuning before one who knows how the units were cut: the proof has its bound for each key.

    kind : the unit that changes has "learned", and a try's tables leave, or it has "judged", and a
        try's score, each at a try's own price; or the "whole" is released, as it is shipped.
    """

    kind: Literal["learned", "judged", "whole"] = "learned"

    @property
    def runs(self) -> int:
        """Of many tries little is seen in a run."""
        return WHOLE_RUNS if self.kind == "whole" else RUNS

    def attacked(self, epsilon: object) -> Callable[[Batch], Any]:
        """A try, or all of them, as it is made, at this epsilon."""
        price = 1 if self.kind == "whole" else PRICE
        paid = Fraction(int(Fraction(str(epsilon)) * price * 10**9), 10**9)
        made: Any = plan(self.method, self.domain, epsilon=paid, rows=self.units, allow_weak=True,
                         **self.options)
        rules, noise = made.mechanism.keywords["tuning"], system()

        # Under a known key a table has one summary.
        summaries = {id(table): made.summarise([table], _KEY)
                     for table in (self.first, self.second)}

        def run(table: Batch) -> Any:
            summary = summaries[id(table)]
            if self.kind == "whole":
                return said(made, made.mechanism(summary, noise))
            if self.kind == "judged":
                return tuning.attempt(summary, noise, rules)
            selected = rules.candidates[0].mechanism(summary.summaries[0], noise)
            return selected, tuning.predictor(summary, selected, noise, rules)

        return run


@dataclass(frozen=True)
class StopPair(Pair):
    """The best of many tries at the tuning's price, where each try is as bad as its price allows.

    A try answers by randomised response whether it saw the first table, and its answer is its
    score.  A tuning's own tries share their price among a choice, a predictor and a score, and half
    of them goes unseen: of it as a whole less can be found, however many runs there are.
    """

    def attacked(self, epsilon: object) -> Callable[[Batch], Any]:
        """The best answer, as random stopping is shipped, at this epsilon."""
        noise = system()
        likely = 1 / (1 + math.exp(-Fraction(str(epsilon)) / PRICE))

        def run(table: Batch) -> Any:
            first = table is self.first

            def attempt() -> tuple[int, str]:
                true = int.from_bytes(noise.bytes(7)) < likely * 2**56
                return (1, "first") if true == first else (0, "second")

            return best_of(attempt, noise)

        return run


def _stopped(method: str) -> Pair:
    """Any two tables: only which of them it is tells."""
    first, second, label = sides()
    return StopPair(method, TWO, _TRIED, table(first, label), table(second, label))


def _learners(rows: int) -> npt.NDArray[np.bool_]:
    """Which rows are in the first part, under the key that is known."""
    numbered = table(np.column_stack([np.arange(rows)] * 2), np.zeros(rows))
    cut = halves([numbered], _KEY, domain=TWO, first=int(rows * tuning.LEARNING))
    return np.isin(np.arange(rows), cut.learning.codes[:, 0])


def _learned(method: str) -> Pair:
    """A row of the first part leaves the first column's side for the second's."""
    learns = _learners(18)
    ends = []
    for side in sides()[:2]:
        codes, label = np.zeros((18, 2)), np.zeros(18)
        codes[learns], label[learns] = side, sides()[2]
        ends.append(table(codes, label))
    return TryPair(method, TWO, _TRIED, ends[0], ends[1], "learned")


def _judged(method: str) -> Pair:
    """A row of the second part is predicted rightly, or not; all others there never are."""
    learns = _learners(300)
    label = np.zeros(300)
    label[np.flatnonzero(learns)[::4]] = 1  # the rarer class: a row of it counts as one
    codes = np.where(learns, label, 1)[:, None] * [TOP, TOP]
    row = int(np.argmin(learns))
    label[row], other = 1, codes.copy()
    other[row] = 0
    return TryPair(method, TWO, _TRIED, table(codes, label), table(other, label), "judged")


def _whole(method: str) -> Pair:
    """A row that learns leaves x0 for x1, which never wins, and x3, which never does, for x2.

    Who does not know that it learns could tell nothing, in any number of runs that somebody waits
    for: an attack on the whole that could not fail.

    x0 is two rows behind x1, and x2 a row behind x3; x0 predicts eight rows rightly and x2 13, of
    the rarer class, the others none: what loses most of a grid (`tests/whole_tunings.py`).
    """
    learns = _learners(300)
    row, *rest = np.flatnonzero(learns)
    judges, label = np.flatnonzero(~learns), np.ones(300)
    label[rest], label[rest[::3]] = 0, 1
    codes = np.where(learns, label, 0)[:, None] * np.ones(4)
    codes[judges[:8], 0] = codes[judges[:13], 2] = 1
    for wrong, column in ((rest[0], 0), (rest[1], 0), (rest[5], 2)):
        codes[wrong, column] = 1 - label[wrong]
    one, two = codes.copy(), codes.copy()
    one[row], two[row] = (1, 0, 0, 1), (0, 1, 1, 0)
    tried = [{**_TRIED["candidates"][0], "never": never}
             for never in (["x2", "x3"], *[["x0", "x1"]] * 4)]
    return TryPair(method, Domain.box(0, 1, columns=4), {"candidates": tried},
                   table(one * TOP, label), table(two * TOP, label), "whole")


PAIRS: Mapping[str, Mapping[str, Made]] = {
    "rule-sieve": {
        "": in_two(sides, k=1, **_RULES),
        "ordered": in_two(sides, k=1, ordered=True, **_RULES),
        "joint": _joint,
        "persons": _persons,
        "number": _number,
        "votes": _votes,
        "sure": in_two(sides, k=1, sure="0.1", independent_rows=True, **_RULES),
        "described": _described,
    },
    "noisy-top-k": {
        "": in_two(sides, k=1, class_prior=None),
        "class-counts": in_two(sides, k=1, score="class-counts", class_prior=None),
        "disagreement": _disagreeing,
        "correlation": _correlated,
    },
    "private-tuning": {"": _whole, "learned": _learned, "judged": _judged, "stopped": _stopped},
    "noisy-histogram": {"": _counts, "threshold": _threshold,
                        "chosen": _flags(choice=_RULES)},
}
