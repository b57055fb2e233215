"""Worst: for each mode of a method, two invented tables that differ in one unit, for attacks.

They are public, and worst pairs or near to it: the changed unit moves what the method computes as
far as one unit can.  A method says its own in `worst_pairs`; what several share stands here.
`privsieve audit` and the tests attack a method on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.errors import ParameterError
from privsieve.methods import options_of, plan
from privsieve.noise.streams import system
from privsieve.public.columns import Flag, Label
from privsieve.public.domain import Domain
from privsieve.release import write_output
from privsieve.rows.batch import Batch

TWO = Domain.box(0, 1, columns=2)
TOP = 65535  # the last code of a column
FLAGS = Domain((Flag("x0"), Flag("x1")), target=Label("y", (0, 1)))
#: Options of RuleSieve under which a row moves both scores of `sides` by one unit.
RULES: Mapping[str, Any] = {"depth": 1, "class_prior": None}
#: Two public rows, one of each class: against them a row's vector can be as long as any.
CORNERS = (np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0, 1]))
#: Runs on each table that show most of what a pair loses.
RUNS = 3000

#: Codes of both tables, and the label of each row.
Tables = tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16], npt.NDArray[np.int64]]


@dataclass(frozen=True, repr=False)
class Pair:
    """A method's plan but for epsilon, and two neighbouring tables for it."""

    domain: Domain
    options: Mapping[str, Any]
    first: Batch
    second: Batch
    method: str = field(default="", kw_only=True)

    def attacked(self, epsilon: object) -> Callable[[Batch], Any]:
        """Return the shipped method at this epsilon, from rows to what a release says.

        >>> run = pair("rule-sieve").attacked(1)
        >>> run(pair("rule-sieve").first)["selected"] in (["x0"], ["x1"])
        True
        """
        planned = plan(self.method, self.domain, epsilon=epsilon, rows=self.units,
                    allow_weak=True, **self.options)
        noise = system()

        def run(table: Batch) -> Any:
            answer = planned.mechanism(planned.summarise([table], noise.key()), noise)
            return write_output(planned, answer)

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
    """Return the pair of a mode of a method; of the plain one where none is named.

    >>> len(pair("block-fwell").first), pair("felp").options["beta"]
    (6, 1)
    """
    pairs = options_of(method).worst_pairs()
    if mode not in pairs:
        named = ", ".join(filter(None, pairs))
        raise ParameterError(f"{method} has no mode {mode!r}; "
                             + (f"choose one of: {named}" if named else "leave the mode out"))
    chosen: Pair = replace(pairs[mode], method=method)
    return chosen


def modes(method: str) -> tuple[str, ...]:
    """Return the modes of a method that have a pair; "" is the plain one.

    >>> "joint" in modes("rule-sieve")
    True
    """
    return tuple(options_of(method).worst_pairs())


def table(codes: npt.ArrayLike, label: npt.ArrayLike) -> Batch:
    """Return a batch of rows as the reader would; each is a unit."""
    columns = np.asfortranarray(np.array(codes, dtype=np.uint16))
    row = np.arange(len(columns), dtype=np.uint64)
    return Batch(columns, np.array(label, dtype=np.int32), row, row)


def in_two(tables: Tables, **options: Any) -> Pair:
    """Return a pair in two columns of numbers, under a label that stays."""
    first, second, label = tables
    return Pair(TWO, options, table(first, label), table(second, label))


def of_codes(domain: Domain, first: npt.ArrayLike, second: npt.ArrayLike, **options: Any) -> Pair:
    """Return a pair from two tables of codes, of which the last column is the target."""
    ends = (table(codes[:, :-1], codes[:, -1]) for codes in map(np.array, (first, second)))
    return Pair(domain, options, *ends)


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


def counted(extra_pairs: int, **options: Any) -> Pair:
    """Return a pair in which a row changes class: a count and a score fall, another rises.

    extra_pairs : number of added pairs of rows that both columns separate, so that noisy counts
        are drawn.
    """
    codes, _, label = sides()
    first = np.vstack([np.column_stack([codes, label]), [(0, 0, 0), (TOP, TOP, 1)] * extra_pairs])
    second = first.copy()
    second[1, 2] = 1 - second[1, 2]
    return of_codes(TWO, first, second, k=1, **options)


def flagged(**options: Any) -> Pair:
    """Return the pair of `sides` with flags; the chosen one is counted by class."""
    first, second, label = sides()
    return of_codes(FLAGS, *(np.column_stack([codes // TOP, label]) for codes in (first, second)),
                    k=1, **options)


# --- a choice by vectors: the row that changes turns a vector around ------------------------------

def block() -> Tables:
    """Six rows of which three make a block: the last row turns its block's vector around."""
    middle, places = 0.1, (0.05, 0.085, 0.1025, 0.115, 0.15)
    first = np.array([[place, place] for place in places] + [[middle, 1.0]])
    second = first.copy()
    second[5] = [1.0, middle]
    return (np.floor(first * TOP).astype(np.uint16), np.floor(second * TOP).astype(np.uint16),
            np.array([0, 0, 0, 0, 0, 1]))


def corners(rows: int = 20) -> Tables:
    """Return rows against two public corners; the last row's vector changes sides."""
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
