"""For each mode of each method two made-up tables that differ in one unit, to be told apart.

They are public, and worst pairs or near to it: the changed unit moves what the method computes as
far as one unit can.  `privsieve audit` and the tests attack a method on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from privsieve.check.hard_rows import TOP, Codes, block, corners, crowd, joined, sides
from privsieve.errors import ParameterError
from privsieve.public.columns import Flag, Label, Number
from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch

TWO = Domain.box(0, 1, columns=2)
#: Runs on each table that show most of what a pair loses; of a whole tuning it takes more.
RUNS, WHOLE_RUNS = 3000, 50_000
#: Two public rows, one of each class: against them a row's vector can be as long as any.
CORNERS = (np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0, 1]))


@dataclass(frozen=True)
class Pair:
    """A method's plan but for epsilon, and two neighbouring tables for it."""

    method: str
    domain: Domain
    options: Mapping[str, Any]
    first: Batch
    second: Batch

    def attacked(self, epsilon: object) -> Callable[[Batch], Any]:
        """The method as it is shipped, from rows to what a release says, at this epsilon.

        >>> run = pair("rule-sieve").attacked(1)
        >>> run(pair("rule-sieve").first)["selected"] in (["x0"], ["x1"])
        True
        """
        from privsieve.methods import plan
        from privsieve.noise.streams import system
        from privsieve.release import said

        made = plan(self.method, self.domain, epsilon=epsilon, rows=self.units,
                    allow_weak=True, **self.options)
        noise = system()

        def run(table: Batch) -> Any:
            return said(made, made.mechanism(made.summarise([table], noise.key()), noise))

        return run

    @property
    def runs(self) -> int:
        """How often an audit runs on each table where nobody says a number: public."""
        return RUNS

    @property
    def delta(self) -> float:
        """What is claimed beside epsilon."""
        return float(self.options.get("delta", 0))

    @property
    def units(self) -> int | None:
        """The public number of rows; None where persons are declared, or nobody says a number."""
        public = self.domain.person is None and self.domain.neighbours == "replace-one"
        return len(self.first) if public else None


def pair(method: str, mode: str = "") -> Pair:
    """The pair of a mode of a method; the plain one where none is named.

    >>> len(pair("block-fwell").first), pair("felp").options["beta"]
    (6, 1)
    """
    made = _PAIRS.get(method, {}).get(mode)
    if made is None:
        named = ", ".join(one for one in modes(method) if one)
        raise ParameterError(f"{method} is attacked in no mode {mode!r}; "
                             + (f"known are: {named}" if named else "leave the mode out"))
    return made(method)


def modes(method: str) -> tuple[str, ...]:
    """The modes of a method that have a pair; "" is the plain one.

    >>> "joint" in modes("rule-sieve")
    True
    """
    from privsieve.methods import options_of

    options_of(method)  # refuses a name that is none
    return tuple(_PAIRS[method])


def table(codes: npt.ArrayLike, label: npt.ArrayLike) -> Batch:
    """Rows as the reader would give them; each is a unit."""
    made = np.asfortranarray(np.array(codes, dtype=np.uint16))
    row = np.arange(len(made), dtype=np.uint64)
    return Batch(made, np.array(label, dtype=np.int32), row, row)


def _of(tables: Callable[[], tuple[Codes, Codes, npt.NDArray[np.int64]]], **options: Any,
        ) -> Callable[[str], Pair]:
    """A pair in two columns of numbers, under a label that stays."""
    def made(method: str) -> Pair:
        first, second, label = tables()
        return Pair(method, TWO, options, table(first, label), table(second, label))

    return made


def _rows(domain: Domain, first: npt.ArrayLike, second: npt.ArrayLike, **options: Any,
          ) -> Callable[[str], Pair]:
    """A pair from two tables of codes, of which the last column is the target."""
    def made(method: str) -> Pair:
        tables = (table(codes[:, :-1], codes[:, -1])
                  for codes in (np.array(first), np.array(second)))
        return Pair(method, domain, options, *tables)

    return made


def _joint(method: str) -> Pair:
    """Two of three columns by a first race over pairs."""
    first, second = (rows * [TOP, TOP, TOP, 1] for rows in joined())
    return _rows(Domain.box(0, 1, columns=3), first, second, k=2, joint="pair", **_RULES)(method)


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
    return _rows(Domain.box(0, 1, columns=2, target=(0, 8)), *ends, k=1,
                 numeric="median-cut", depth=1)(method)


def _flags(**options: Any) -> Callable[[str], Pair]:
    """The same with flags, of which the chosen one is counted within the classes, too."""
    first, second, label = sides()
    ends = (np.column_stack([codes // TOP, label]) for codes in (first, second))
    return _rows(Domain((Flag("x0"), Flag("x1")), target=Label("y", (0, 1))), *ends, k=1, **options)


def _described(method: str) -> Pair:
    """The same among rows that fill each cell: below nought what noise leaves is cut off."""
    first, second, label = sides()
    filling = np.repeat([(0, 0, 0), (0, 0, 1), (1, 1, 0), (1, 1, 1)], (24, 8, 8, 24), axis=0)
    one, two = (np.vstack([np.column_stack([codes // TOP, label]), filling])
                for codes in (first, second))
    return _rows(Domain((Flag("x0"), Flag("x1")), target=Label("y", (0, 1))), one, two, k=1,
                 describe="0.5", **_RULES)(method)


def _disagreeing(method: str) -> Pair:
    """A row of a class of its own, paired with all others in the first column, or in the second."""
    others = [[0, 0, 0]] * 5
    return _rows(TWO, [*others, [TOP, 0, 1]], [*others, [0, TOP, 1]], k=1, score="disagreement",
                 class_prior=None)(method)


def _correlated(method: str) -> Pair:
    """Eleven rows, and one that makes the first column go with the target, or neither."""
    eleven = ["010", "010", "100", "100", "100", "110", "010", "101", "101", "111", "000"]
    first, second = ([[TOP * int(cell) for cell in row] for row in (*eleven, last)]
                     for last in ("111", "001"))
    return _rows(Domain.box(0, 1, columns=2, target=(0, 1)), first, second, k=1,
                 score="correlation")(method)


def _votes(method: str) -> Pair:
    """A row that is for the second column, where the others are for the first, comes."""
    domain = Domain(Domain.box(0, 1, columns=2).columns, target=Number("y", 0, 1),
                    neighbours="add-remove", rows=3)
    known = [[TOP, TOP, TOP], [0, 0, 0]]
    return _rows(domain, [[0, TOP, TOP], *known], known, k=1, joint="votes")(method)


def _model(method: str) -> Pair:
    """Two rows at one end, of which one has its target at the other end."""
    domain = Domain((Flag("x0"),), target=Number("y", 0, 10))
    return _rows(domain, [[1, TOP], [1, 0]], [[1, TOP], [1, TOP]], kernel="linear",
                 lam=100)(method)


def _counts(method: str) -> Pair:
    """One row of three moves from a cell to the other."""
    return _rows(_FLAG, [[0, 0], [0, 0], [1, 0]], [[0, 0], [1, 0], [1, 0]])(method)


def _threshold(method: str) -> Pair:
    """One of ten rows moves from a cell to the other: with a delta only large cells are named."""
    first, second = ([[0, 0]] * (10 - ill) + [[1, 0]] * ill for ill in (5, 4))
    return _rows(_FLAG, first, second, delta="0.05")(method)


@dataclass(frozen=True)
class SessionPair(Pair):
    """A session that was opened on one row, and what it answers.

    kind : "one" answer, a "batch" of two, or a "function" that is asked at two points.
    """

    kind: Literal["one", "batch", "function"] = "one"

    def attacked(self, epsilon: object) -> Callable[[Batch], Any]:
        """The answers as they are shipped, at this epsilon."""
        from fractions import Fraction

        from privsieve.methods.ridge import answers, dual
        from privsieve.noise.streams import system
        from privsieve.public.plan import Cost

        kernel = dual.Kernel.of(self.domain, "rbf")
        points = dual.coordinates(np.array([[0], [40_000]], np.uint16)[:1 + (self.kind != "one")],
                                  self.domain)
        if self.kind == "one":
            basis, weights = dual.Basis(kernel, points, np.ones((1, 1)), 0.0), np.ones((1, 1))
        else:
            basis, weights = dual.Basis.empty(kernel).extended(points)
        cost = Cost.of(epsilon, delta=self.options.get("delta", 0), allow_weak=True)
        task = answers.Task(self.kind, kernel, Fraction(_RIDGE), 1, cost, basis, weights,
                            np.zeros((len(points), 1), np.uint16))
        mechanism: Any = {"one": answers.one, "batch": answers.batch,
                          "function": answers.function}[self.kind]
        noise = system()

        def run(table: Batch) -> Any:
            at = dual.coordinates(table.codes, self.domain)
            model = answers.Solution(at, dual.solve(
                at, dual.targets(table.label, self.domain), kernel, float(_RIDGE)))
            found = mechanism(model, noise, task=task)
            return task.grid.numbers(found[0] if self.kind == "function" else found)

        return run


def _asked(kind: Literal["one", "batch", "function"], **options: Any) -> Callable[[str], Pair]:
    """One record under so strong a ridge that the bound is almost attained; its target moves."""
    def made(method: str) -> Pair:
        domain = Domain.box(0, 1, columns=1, target=(0, 1))
        first, second = (table([[0]], [y]) for y in (0, TOP))
        return SessionPair(method, domain, options, first, second, kind)

    return made


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
        from fractions import Fraction

        from privsieve.methods import plan, tuning
        from privsieve.noise.stopping import PRICE
        from privsieve.noise.streams import system
        from privsieve.release import said

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
        from fractions import Fraction

        from privsieve.noise.stopping import PRICE, best_of
        from privsieve.noise.streams import system

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
    from privsieve.methods.tuning import LEARNING
    from privsieve.summaries.halves import halves

    numbered = table(np.column_stack([np.arange(rows)] * 2), np.zeros(rows))
    cut = halves([numbered], _KEY, domain=TWO, first=int(rows * LEARNING))
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


_KEY = 1  # of a cut that is known
_FLAG = Domain((Flag("ill"),))
_RIDGE = "1000"
_RULES = {"depth": 1, "class_prior": None}
_TRIED = {"candidates": [{"method": "rule-sieve", "k": 1, **_RULES}]}
_PAIRS: Mapping[str, Mapping[str, Callable[[str], Pair]]] = {
    "rule-sieve": {
        "": _of(sides, k=1, **_RULES),
        "ordered": _of(sides, k=1, ordered=True, **_RULES),
        "joint": _joint,
        "persons": _persons,
        "number": _number,
        "votes": _votes,
        "sure": _of(sides, k=1, sure="0.1", independent_rows=True, **_RULES),
        "described": _described,
    },
    "block-fwell": {
        "": _of(block, k=1, block=3, repeats=1),
        "clip": _of(block, k=1, block=3, repeats=1, votes="clip", tau="0.01"),
    },
    "noisy-top-k": {
        "": _of(sides, k=1, class_prior=None),
        "class-counts": _of(sides, k=1, score="class-counts", class_prior=None),
        "disagreement": _disagreeing,
        "correlation": _correlated,
    },
    "private-tuning": {"": _whole, "learned": _learned, "judged": _judged, "stopped": _stopped},
    "output-fwell": {"": _of(corners, k=1, lam="0.1", reference=CORNERS)},
    "objective-fwell": {"": _of(crowd, k=1, lam="0.0006", clip="1", reference=CORNERS)},
    "felp": {"": _of(corners, k=1, reference=CORNERS, beta=1, repeats=2)},
    "kernel-ridge": {
        "": _model,
        "one-answer": _asked("one"),
        "batch": _asked("batch"),
        "function": _asked("function", delta="0.1"),
    },
    "noisy-histogram": {"": _counts, "threshold": _threshold,
                        "chosen": _flags(choice=_RULES)},
}
