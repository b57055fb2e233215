"""For each mode of each method two made-up tables that differ in one unit, to be told apart.

They are public, and worst pairs or near to it: the changed unit moves what the method computes as
far as one unit can.  `privsieve audit` and the tests attack a method on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from privsieve.errors import ParameterError
from privsieve.methods import options_of, plan
from privsieve.methods.ridge import answers, dual
from privsieve.noise.streams import system
from privsieve.public.columns import Flag, Label, Number
from privsieve.public.domain import Domain
from privsieve.public.plan import Cost
from privsieve.release import said
from privsieve.rows.batch import Batch

TWO = Domain.box(0, 1, columns=2)
TOP = 65535  # the last code of a column
_FLAG = Domain((Flag("ill"),))
_FLAGS = Domain((Flag("x0"), Flag("x1")), target=Label("y", (0, 1)))
_RULES = {"depth": 1, "class_prior": None}
#: Two public rows, one of each class: against them a row's vector can be as long as any.
CORNERS = (np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0, 1]))
_RIDGE = "1000"
#: Runs on each table that show most of what a pair loses.
RUNS = 3000

#: Codes of both tables, and the label of each row.
Tables = tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16], npt.NDArray[np.int64]]
Made = Callable[[str], "Pair"]


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
    known = modes(method)
    if mode not in known:
        named = ", ".join(filter(None, known))
        raise ParameterError(f"{method} is attacked in no mode {mode!r}; "
                             + (f"known are: {named}" if named else "leave the mode out"))
    return PAIRS[method][mode](method)


def modes(method: str) -> tuple[str, ...]:
    """The modes of a method that have a pair; "" is the plain one.

    >>> "joint" in modes("rule-sieve")
    True
    """
    options_of(method)  # refuses a name that is none
    return tuple(PAIRS[method])


def table(codes: npt.ArrayLike, label: npt.ArrayLike) -> Batch:
    """Rows as the reader would give them; each is a unit."""
    made = np.asfortranarray(np.array(codes, dtype=np.uint16))
    row = np.arange(len(made), dtype=np.uint64)
    return Batch(made, np.array(label, dtype=np.int32), row, row)


def in_two(tables: Callable[[], Tables], **options: Any) -> Made:
    """A pair in two columns of numbers, under a label that stays."""
    def made(method: str) -> Pair:
        first, second, label = tables()
        return Pair(method, TWO, options, table(first, label), table(second, label))

    return made


def of_codes(domain: Domain, first: npt.ArrayLike, second: npt.ArrayLike, **options: Any) -> Made:
    """A pair from two tables of codes, of which the last column is the target."""
    def made(method: str) -> Pair:
        tables = (table(codes[:, :-1], codes[:, -1])
                  for codes in (np.array(first), np.array(second)))
        return Pair(method, domain, options, *tables)

    return made


# --- a choice of columns, and a table of counts ---------------------------------------------------
#
# The row that changes takes one unit from the score of a column and gives it to that of another.

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


def _counts(method: str) -> Pair:
    """One row of three moves from a cell to the other."""
    return of_codes(_FLAG, [[0, 0], [0, 0], [1, 0]], [[0, 0], [1, 0], [1, 0]])(method)


def _threshold(method: str) -> Pair:
    """One of ten rows moves from a cell to the other: with a delta only large cells are named."""
    first, second = ([[0, 0]] * (10 - ill) + [[1, 0]] * ill for ill in (5, 4))
    return of_codes(_FLAG, first, second, delta="0.05")(method)


# --- numbers, and a choice by vectors: weights, a model, answers of a session ---------------------
#
# The row that changes turns a vector around, or moves a model as far as its bound.

def block() -> Tables:
    """Six rows of which three make a block: the last row turns its block's vector around."""
    middle, places = 0.1, (0.05, 0.085, 0.1025, 0.115, 0.15)
    first = np.array([[place, place] for place in places] + [[middle, 1.0]])
    second = first.copy()
    second[5] = [1.0, middle]
    return (np.floor(first * TOP).astype(np.uint16), np.floor(second * TOP).astype(np.uint16),
            np.array([0, 0, 0, 0, 0, 1]))


def corners(rows: int = 20) -> Tables:
    """Rows against two public corners; the last row's vector is turned from one side to another."""
    c = 0.387890  # where a vector of weights is moved most
    ends = []
    for sign in (1, -1):
        codes = np.tile(np.array([0, TOP // 2]), (rows, 1))
        codes[-1] = np.round((1 - np.array([-c, sign * math.sqrt(1 - c * c)])) / 2 * TOP)
        ends.append(codes.astype(np.uint16))
    return ends[0], ends[1], np.zeros(rows, dtype=np.int64)


def crowd() -> Tables:
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


def _model(method: str) -> Pair:
    """Two rows at one end, of which one has its target at the other end."""
    domain = Domain((Flag("x0"),), target=Number("y", 0, 10))
    return of_codes(domain, [[1, TOP], [1, 0]], [[1, TOP], [1, TOP]], kernel="linear",
                    lam=100)(method)


@dataclass(frozen=True)
class SessionPair(Pair):
    """A session that was opened on one row, and what it answers.

    kind : "one" answer, or a "batch" of two.
    """

    kind: Literal["one", "batch"] = "one"

    def attacked(self, epsilon: object) -> Callable[[Batch], Any]:
        """The answers as they are shipped, at this epsilon."""
        kernel = dual.Kernel.of(self.domain, "rbf")
        points = dual.coordinates(np.array([[0], [40_000]], np.uint16)[:1 + (self.kind != "one")],
                                  self.domain)
        if self.kind == "one":
            basis, weights = dual.Basis(kernel, points, np.ones((1, 1))), np.ones((1, 1))
        else:
            basis, weights = dual.Basis.of(points, kernel)
        cost = Cost.of(epsilon, allow_weak=True)
        task = answers.Task(self.kind, kernel, Fraction(_RIDGE), 1, cost, basis, weights,
                            np.zeros((len(points), 1), np.uint16))
        mechanism = answers.one if self.kind == "one" else answers.batch
        noise = system()

        def run(table: Batch) -> Any:
            at = dual.coordinates(table.codes, self.domain)
            model = answers.Solution(at, dual.solve(
                at, dual.targets(table.label, self.domain), kernel, float(_RIDGE)))
            return task.grid.numbers(mechanism(model, noise, task=task))

        return run


def _asked(kind: Literal["one", "batch"]) -> Made:
    """One record under so strong a ridge that the bound is almost attained; its target moves."""
    def made(method: str) -> Pair:
        domain = Domain.box(0, 1, columns=1, target=(0, 1))
        first, second = (table([[0]], [y]) for y in (0, TOP))
        return SessionPair(method, domain, {}, first, second, kind)

    return made


_CHOICES: Mapping[str, Mapping[str, Made]] = {
    "rule-sieve": {
        "": in_two(sides, k=1, **_RULES),
        "ordered": in_two(sides, k=1, ordered=True, **_RULES),
        "joint": _joint,
        "persons": _persons,
        "number": _number,
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
_NUMBERS: Mapping[str, Mapping[str, Made]] = {
    "block-fwell": {
        "": in_two(block, k=1, block=3, repeats=1),
        "clip": in_two(block, k=1, block=3, repeats=1, votes="clip", tau="0.01"),
    },
    "output-fwell": {"": in_two(corners, k=1, lam="0.1", reference=CORNERS)},
    "objective-fwell": {"": in_two(crowd, k=1, lam="0.0006", clip="1", reference=CORNERS)},
    "felp": {"": in_two(corners, k=1, reference=CORNERS, beta=1, repeats=2)},
    "kernel-ridge": {
        "": _model,
        "one-answer": _asked("one"),
        "batch": _asked("batch"),
    },
}
#: The pairs of each method, by mode.
PAIRS = {**_CHOICES, **_NUMBERS}
