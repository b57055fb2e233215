"""Pairs for what releases numbers, or chooses by vectors: weights, a model, answers of a session.

The row that changes turns a vector around, or moves a model as far as its bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from privsieve.check.pairs import TOP, Made, Pair, Tables, in_two, of_codes, table
from privsieve.methods.ridge import answers, dual
from privsieve.noise.streams import system
from privsieve.public.columns import Flag, Number
from privsieve.public.domain import Domain
from privsieve.public.plan import Cost
from privsieve.rows.batch import Batch

#: Two public rows, one of each class: against them a row's vector can be as long as any.
CORNERS = (np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0, 1]))
_RIDGE = "1000"


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


PAIRS: Mapping[str, Mapping[str, Made]] = {
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
