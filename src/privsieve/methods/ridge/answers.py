"""Answers: the plans of a session's releases, and their functions for rows and for noise.

::

    one    a prediction, clipped, with Laplace noise
    batch  predictions at some points together, with Gamma-norm noise in the kept rank

A batch releases whitened numbers: the function at the points of a `Basis`, divided by its factor.
See `answers.proof.md`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from math import sqrt
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from privsieve.errors import ParameterError
from privsieve.methods.method import NUMBERS
from privsieve.methods.ridge import dual
from privsieve.methods.ridge.dual import (
    MOST_KEPT,
    NUGGET,
    UNIT,
    Basis,
    Kernel,
    Rounding,
    coordinates,
    target,
    targets,
)
from privsieve.methods.ridge.features import Doubles, original
from privsieve.methods.ridge.sensitivity import longest, sensitivity
from privsieve.methods.worst import Pair, table
from privsieve.noise.approximate import root_up, rounded_up
from privsieve.noise.streams import Noise, system
from privsieve.noise.values import Grid, VectorNoise, gamma, laplace
from privsieve.public.canonical import LARGEST, Json, exactly
from privsieve.public.columns import CODES, Category, Flag
from privsieve.public.domain import Domain
from privsieve.public.plan import Cost, NoiseSize, Plan, Takes
from privsieve.release import ANSWERS, GridNumbers, NoiseLaw, Regression, figure
from privsieve.rows.batch import Batch

METHOD = "kernel-ridge-session/1"
THEOREM, ASSUMES = "kernel-ridge-answers", NUMBERS
#: The release is close to pure noise where its noise is larger than this part of the half range.
NOISY = Fraction(1, 2)
#: Queries of one batch at most.
MOST_QUERIES = 4 * MOST_KEPT
#: What a session may have been asked for.
_ASKED = {"answers", "kernel", "gamma", "lam", "epsilon"}


class Solution(NamedTuple):
    """Rows as points, and the coefficients of the function: private."""

    points: Doubles
    c: Doubles

    def __repr__(self) -> str:
        return object.__repr__(self)  # its fields are private


class Memory:
    """What a session knows of the rows; it stays in one process and is forgotten.

    keeps : whether rows that are met are remembered: not after `forget`, nor for a plan alone
    """

    __slots__ = ("keeps", "lock", "model", "process")

    def __init__(self, *, keeps: bool = True) -> None:
        self.keeps = keeps
        self.model: Solution | None = None
        self.lock = threading.Lock()
        self.process = os.getpid()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a session's memory contains rows; it cannot be copied or pickled")

    @property
    def turn(self) -> AbstractContextManager[object]:
        """One thread at a time; a lock that was held at a fork would stay so in the child."""
        return self.lock if self.process == os.getpid() else nullcontext()

    def learn(self, model: Solution) -> Solution:
        """Remember, unless that is over; of two threads that solved, the first one's holds."""
        with self.turn:
            if self.model is None and self.keeps:
                self.model = model
            return self.model or model

    def forget(self) -> None:
        """Forget the rows, for good."""
        with self.turn:
            self.keeps, self.model = False, None


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """The public parameters of one release of a session.

    basis : kept points with the factor of their covariance; for one answer, the point alone
    weights : what each query takes of the basis
    codes : the queries on the domain's grid
    """

    kind: Literal["one", "batch"]
    kernel: Kernel
    lam: Fraction
    m: int
    cost: Cost
    basis: Basis
    weights: Doubles
    codes: npt.NDArray[np.uint16]

    @cached_property
    def grid(self) -> Grid:
        """Where the numbers leave, and how far a neighbour moves them."""
        limits = Rounding.of(self.lam, self.m)
        moved = sensitivity(self.lam, self.m)
        if self.kind == "one":
            # [one] clipped numbers are at most 2 apart
            return Grid.of(1, min(Fraction(2), moved + 2 * (limits.solver + limits.evaluated)),
                           norm=1)
        # [dimension]
        n = len(self.basis)
        return Grid.of(n, rounded_up(moved + 2 * whitened(limits, n)))

    @cached_property
    def noise(self) -> VectorNoise:
        """The noise on the numbers."""
        return VectorNoise(self.grid, self.cost.epsilon)

    @property
    def spread(self) -> float:
        """The standard deviation of the noise on an answer, in half ranges of the target."""
        return self.noise.each * max(float(np.sqrt(row @ row)) for row in self.weights)

    def answers(self, q: Sequence[int]) -> Doubles:
        """Return the queries' answers in the target's units, from what was released."""
        return original(self.weights @ np.array(self.grid.numbers(q)), target(self.kernel.domain))


def whitened(limits: Rounding, n: int) -> Fraction:
    """Return how far rounding can move n whitened numbers, in the Euclidean norm.

    >>> float(whitened(Rounding.of("0.01", 5000), 100)) < 1e-3
    True
    """
    # [inverse] a bound of |L^-1|
    inverse = root_up(Fraction(2) / Fraction(NUGGET))
    # [values] |L^-1| times the error of n values
    pointwise = inverse * root_up(Fraction(n)) * limits.evaluated
    # [triangle] of the forward substitution
    triangle = inverse * 2 * n * UNIT * root_up(Fraction(11 * n, 10))
    return (limits.solver + pointwise + 2 * triangle * (limits.longest + limits.solver + pointwise))


def plan(task: Task, memory: Memory) -> Plan:
    """Plan one release; reads no row."""
    task.cost.check_units(task.m)
    if task.noise.size >= LARGEST * task.grid.step:  # refused before the charge
        raise ParameterError(f"epsilon is {task.cost.text}, so the noise of {task.grid.d} numbers "
                             "would not fit their grid; choose a larger epsilon")
    each = task.spread
    return Plan(
        method=METHOD, kind=Regression.kind, domain=task.kernel.domain, cost=task.cost,
        units=task.m,
        settings={"answers": task.kind, "lam": figure(task.lam, 6, "g"), **task.kernel.json(),
                  "queries": len(task.codes), "kept": task.grid.d, **_points(task)},
        noise=NoiseSize(Fraction(each), "half ranges on an answer"), forecast=_forecast(task),
        warning=None if each <= NOISY else (
            f"the noise on an answer has a standard deviation of {each / 2:.2g} of the target's "
            "range: close to pure noise.  Take a larger epsilon or lam, or more rows; "
            "`suggest_lambda` names a lam from public numbers"),
        event=task.noise.event, theorem=THEOREM,
        assumes=ASSUMES,
        options={"answers": task.kind, "lam": exactly(task.lam), "epsilon": task.cost.text,
               **task.kernel.json()},
        shows={"queries": task.codes.tolist()},
        summarise=partial(solved, task=task, memory=memory),
        mechanism=partial(answer_one if task.kind == "one" else answer_batch, task=task),
        says=partial(write_answers, task=task),
        # The kernel of all pairs, its triangle, and what makes one of the other.
        takes=Takes(0.0, ((32 * task.m**2, 0),)),
    )


def plan_session(domain: Domain, units: int, fields: Mapping[str, Any],
                 queries: Sequence[Sequence[int]]) -> Plan:
    """Plan the release of a session again from what it says; reads no row."""
    settings = fields["asked"]
    if domain.person is not None or not domain.replaces or settings.keys() - _ASKED:
        raise ParameterError("a session has no such options, or its domain does not replace a row")
    if len(queries) > MOST_QUERIES:
        raise ParameterError(f"a batch has at most {MOST_QUERIES} records; ask for fewer")
    cost = Cost.of(settings["epsilon"], allow_weak=True)
    kernel = Kernel.of(domain, settings["kernel"], settings.get("gamma", 1.0))
    codes, kind = _records(domain, queries), settings["answers"]
    if kind == "batch":
        at = fields["settings"]["points"]
        if not 0 < len(set(at)) == len(at) <= MOST_KEPT or not {*at} <= {*range(len(codes))}:
            raise ParameterError("the points of the released numbers are not among the queries")
        basis = Basis.at(coordinates(codes[at], domain), kernel)
        weights = basis.weights(coordinates(codes, domain))
    elif kind == "one" and len(codes) == 1:
        basis = Basis(kernel, coordinates(codes, domain), np.ones((1, 1)))
        weights = np.ones((1, 1))
    else:
        raise ParameterError("a session answers one query, or one batch of queries")
    lam = Rounding.of(settings["lam"], units).lam
    return plan(Task(kind, kernel, lam, units, cost, basis, weights, codes), Memory(keeps=False))


def _records(domain: Domain, queries: Sequence[Sequence[int]]) -> npt.NDArray[np.uint16]:
    """Queries as records of the domain; what none could be is refused."""
    most = [1 if isinstance(column, Flag) else column.levels - 1
            if isinstance(column, Category) else CODES - 1 for column in domain.columns]
    if any(len(query) != len(most) or not all(
            type(code) is int and 0 <= code <= top for code, top in zip(query, most, strict=True))
            for query in queries):
        raise ParameterError("a query is not a record of the domain")
    return np.array(queries, np.uint16).reshape(len(queries), len(most))


def _points(task: Task) -> Mapping[str, Json]:
    """Return the queries of a batch whose numbers leave: they determine all answers."""
    if task.kind != "batch":
        return {}
    return {"points": places(task.basis.points, coordinates(task.codes, task.kernel.domain))}


def places(points: Doubles, among: Doubles) -> list[int]:
    """Return the first position of each point among others.

    >>> places(np.array([[2.0], [1.0]]), np.array([[1.0], [2.0], [1.0]]))
    [1, 0]
    """
    first = {among[at].tobytes(): at for at in range(len(among) - 1, -1, -1)}
    return [first[point.tobytes()] for point in points]


# [mechanism]
def solved(batches: Iterable[Batch], _key: int, *, task: Task, memory: Memory) -> Solution:
    """Solve for the function at the first release; later ones reuse it."""
    # [once] what is not asked of `batches` is not read again
    known = memory.model
    if known is not None:
        return known
    kernel = task.kernel
    read = Batch.concat([Batch.empty(len(kernel.domain.columns)), *batches])
    points, y = coordinates(read.codes, kernel.domain), targets(read.label, kernel.domain)
    return memory.learn(Solution(points, dual.solve(points, y, kernel, float(task.lam))))


def answer_one(model: Solution, noise: Noise, *, task: Task) -> list[int]:
    """Add Laplace noise to a clipped prediction."""
    value = np.clip(_values(model, task.basis, task), -1.0, 1.0)  # [clip]
    return laplace(task.grid.integers(value.tolist()), task.grid, task.cost.epsilon, noise)


def answer_batch(model: Solution, noise: Noise, *, task: Task) -> list[int]:
    """Whitened numbers meet Gamma-norm noise, in as many dimensions as points are kept."""
    whole = dual.forward(task.basis.factor, _values(model, task.basis, task))
    return gamma(task.grid.integers(whole.tolist()), task.grid, task.cost.epsilon, noise)


# [/mechanism]


def _values(model: Solution, basis: Basis, task: Task) -> Doubles:
    return dual.values(basis.points, model.points, model.c, task.kernel)


def write_answers(output: Sequence[int], *, task: Task) -> Mapping[str, Json]:
    """Return the noisy numbers, the queries and their answers, as the release says them."""
    return Regression(
        task.kernel.domain.names,
        {"map": ANSWERS, **task.kernel.json(), "lam": figure(task.lam, 6, "g")},
        GridNumbers(task.grid.exponent, tuple(output)),
        NoiseLaw(task.noise.law, figure(task.spread * _half(task.kernel), 6, "g")),
        queries=tuple(tuple(map(int, row)) for row in task.codes),
        answers=tuple(repr(float(x)) for x in task.answers(output))).write()


def _forecast(task: Task) -> Mapping[str, Json]:
    """Forecast an answer's noise in the target's unit, and noise and error in half ranges.

    If the true function has a length of 1 in the kernel's space, the ridge takes lam at most.
    """
    return {"noise_each": figure(task.spread * _half(task.kernel), 6, "g"),
            "noise_prediction": figure(task.spread, 6, "g"),
            "expected_error": figure(sqrt(task.spread**2 + float(task.lam)), 6, "g"),
            "longest": figure(float(longest(task.lam)), 6, "g")}


def _half(kernel: Kernel) -> float:
    """Return half of the target's range, which is 1 here; on a log scale of its logarithm."""
    column = target(kernel.domain)
    low, high = column.ends
    if column.scale == "log":
        return float(np.log(high / low)) / 2
    return (high - low) / 2


@dataclass(frozen=True, repr=False)
class SessionPair(Pair):
    """A session that was opened on one record, and what it answers.

    The ridge is so strong that the bound is almost attained; the record's target moves.
    """

    how: Literal["one", "batch"] = field(default="one", kw_only=True)

    @classmethod
    def of(cls, how: Literal["one", "batch"]) -> SessionPair:
        """Return the pair of one answer, or of a batch of two."""
        first, second = (table([[0]], [y]) for y in (0, CODES - 1))
        return cls(Domain.box(0, 1, columns=1, target=(0, 1)), {}, first, second, how=how)

    def attacked(self, epsilon: object) -> Callable[[Batch], Any]:
        """Return the shipped mechanism of a session at this epsilon."""
        kernel, lam = Kernel.of(self.domain, "rbf"), Fraction(1000)
        codes = np.array([[0], [40_000]], np.uint16)[:1 + (self.how == "batch")]
        points = coordinates(codes, self.domain)
        if self.how == "one":
            basis, weights = Basis(kernel, points, np.ones((1, 1))), np.ones((1, 1))
        else:
            basis, weights = Basis.of(points, kernel)
        task = Task(self.how, kernel, lam, 1, Cost.of(epsilon, allow_weak=True), basis, weights,
                    np.zeros((len(points), 1), np.uint16))
        noise = system()

        def run(rows: Batch) -> Any:
            at = coordinates(rows.codes, self.domain)
            model = Solution(at, dual.solve(at, targets(rows.label, self.domain), kernel,
                                            float(lam)))
            mechanism = answer_one if self.how == "one" else answer_batch
            return task.grid.numbers(mechanism(model, noise, task=task))

        return run
