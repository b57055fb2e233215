"""Answers: the plans of what a session releases, and the functions that meet rows and noise.

::

    one       a prediction, clipped, with Laplace noise
    batch     predictions at some points together, with Gamma-norm noise in the kept rank
    function  predictions at points that are asked one after another: a Gaussian process

The last two release whitened numbers: the function at the points of a `Basis`, divided by its
factor.  See `answers.proof.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from math import sqrt
from typing import Literal

import numpy as np
import numpy.typing as npt

from privsieve.errors import ParameterError
from privsieve.methods.ridge import dual
from privsieve.methods.ridge.basis import LARGEST, NUGGET, Basis
from privsieve.methods.ridge.dual import UNIT, Limits
from privsieve.methods.ridge.gram import Doubles, Kernel, coordinates, original, target, targets
from privsieve.methods.ridge.memory import Memory, Model
from privsieve.methods.ridge.sensitivity import longest, sensitivity
from privsieve.noise.approximate import root_up, rounded_up
from privsieve.noise.streams import Noise
from privsieve.noise.values import Grid, gamma, gaussian, laplace
from privsieve.public.assumptions import assumed
from privsieve.public.canonical import LARGEST as LARGEST_UNITS
from privsieve.public.canonical import Json
from privsieve.public.cost import Cost
from privsieve.public.plan import NoiseSize, Plan
from privsieve.rows.batch import Batch

METHOD = "kernel-ridge-session/1"
#: The release is close to pure noise where its noise is larger than this part of the half range.
NOISY = Fraction(1, 2)


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """The public parameters of one release of a session.

    basis : kept points with the factor of their covariance; for one answer, the point alone
    weights : what each query takes of the basis
    codes : the queries on the domain's grid
    """

    kind: Literal["one", "batch", "function"]
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
        limits = Limits.of(self.lam, self.m)
        moved = sensitivity(self.lam, self.m)
        if self.kind == "one":
            # [one] clipped numbers are at most 2 apart
            return Grid.of(1, min(Fraction(2), moved + 2 * (limits.solver + limits.evaluated)),
                           norm=1)
        # [dimension] all that a function may ever keep
        n = LARGEST if self.kind == "function" else len(self.basis)
        return Grid.of(n, rounded_up(moved + 2 * whitened(limits, n)))

    @cached_property
    def sigma(self) -> Fraction:
        """Of the Gaussian on each whitened number of a function."""
        return self.grid.sigma(self.cost.epsilon, self.cost.delta)

    @property
    def size(self) -> Fraction:
        """The size of the noise as its grid has to hold it."""
        if self.kind == "one":
            return self.grid.scale(self.cost.epsilon)
        return (self.sigma if self.kind == "function"
                else self.grid.d / self.grid.beta(self.cost.epsilon))

    @property
    def each(self) -> float:
        """The standard deviation of the noise on one number."""
        if self.kind == "one":
            return sqrt(2) * float(self.grid.scale(self.cost.epsilon))
        if self.kind == "batch":
            return sqrt(self.grid.d + 1) / float(self.grid.beta(self.cost.epsilon))
        return float(self.sigma)

    @property
    def spread(self) -> float:
        """The standard deviation of the noise on an answer, in half ranges of the target."""
        most = max((float(np.sqrt(row @ row)) for row in self.weights), default=1.0)
        return self.each * most

    def answers(self, q: list[int]) -> Doubles:
        """The queries' answers in the target's units, from what was released."""
        return original(self.weights @ np.array(self.grid.numbers(q)), self.kernel.domain)


def whitened(limits: Limits, n: int) -> Fraction:
    """How far rounding can move n whitened numbers, in the Euclidean norm.

    >>> float(whitened(Limits.of("0.01", 5000), 100)) < 1e-3
    True
    """
    # [inverse] a bound of |L^-1|
    inverse = root_up(Fraction(2) / Fraction(NUGGET))
    # [values] |L^-1| times the error of n values
    pointwise = inverse * root_up(Fraction(n)) * limits.evaluated
    # [triangle] of the forward substitution
    triangle = inverse * 2 * n * UNIT * root_up(Fraction(11 * n, 10))
    return (limits.solver + pointwise
            + 2 * triangle * (limits.longest + limits.solver + pointwise))


def plan(task: Task, memory: Memory) -> Plan:
    """Plan one release; reads no row."""
    task.cost.check_units(task.m)
    _check_noise(task)
    each = task.spread
    cost = task.cost if task.kind != "function" else replace(task.cost,
                                                             rho=task.grid.rho(task.sigma))
    return Plan(
        method=METHOD, kind="regression", domain=task.kernel.domain, cost=cost, units=task.m,
        settings={"answers": task.kind, "lam": _text(float(task.lam)), **task.kernel.json(),
                  "queries": len(task.codes), "kept": task.grid.d},
        noise=NoiseSize(Fraction(each), "half ranges on an answer"), forecast=_forecast(task),
        warning=_warning(each) if each > NOISY else None,
        theorem="kernel-ridge-answers", assumes=assumed("kernel-ridge-answers"),
        summarise=partial(solved, task=task, memory=memory),
        mechanism=partial(_MECHANISMS[task.kind], task=task), says=partial(said, task=task),
    )


def _check_noise(task: Task) -> None:
    """Refuse, before the charge, noise that its grid could not hold."""
    if task.size >= LARGEST_UNITS * task.grid.step:
        raise ParameterError(f"epsilon is {task.cost.text}, and the noise of {task.grid.d} numbers "
                             "would not fit their grid; choose a larger epsilon")


# [mechanism]
def solved(batches: Iterable[Batch], _key: int, *, task: Task, memory: Memory) -> Model:
    """Rows become a function, at the first release; the others find it."""
    # [once] what is not asked of `batches` is not read again
    known = memory.model
    if known is not None:
        return known
    kernel = task.kernel
    read = Batch.concat([Batch.empty(len(kernel.domain.columns)), *batches])
    points, y = coordinates(read.codes, kernel.domain), targets(read.label, kernel.domain)
    return memory.learn(Model(points, dual.solve(points, y, kernel, float(task.lam))))


def one(model: Model, noise: Noise, *, task: Task) -> list[int]:
    """A clipped prediction meets Laplace noise."""
    value = np.clip(_values(model, task.basis, task), -1.0, 1.0)  # [clip]
    return laplace(task.grid.integers(value.tolist()), task.grid, task.cost.epsilon, noise)


def batch(model: Model, noise: Noise, *, task: Task) -> list[int]:
    """Whitened numbers meet Gamma-norm noise, in as many dimensions as points are kept."""
    whole = dual.forward(task.basis.factor, _values(model, task.basis, task))
    return gamma(task.grid.integers(whole.tolist()), task.grid, task.cost.epsilon, noise)


def function(model: Model, noise: Noise, *, task: Task) -> tuple[list[int], Doubles]:
    """The same, with Gaussian noise; what is asked later goes on from here."""
    return drawn(model, noise, task, task.basis, np.empty(0))


def drawn(model: Model, noise: Noise, task: Task, basis: Basis, before: Doubles,
          ) -> tuple[list[int], Doubles]:
    """Noisy whitened numbers of the new points of a basis; and all of them, without noise."""
    done = len(before)
    if done == len(basis):
        return [], before
    new = _values(model, replace(basis, points=basis.points[done:]), task)
    # [onward] each number is computed once: those before stay as they are
    whole = dual.forward(basis.factor, np.concatenate([before, new]), done)
    grid = replace(task.grid, d=len(basis) - done)  # [part] of the grid of all
    q = gaussian(grid.integers(whole[done:].tolist()), grid, task.sigma, noise)
    return q, whole
# [/mechanism]


_MECHANISMS = {"one": one, "batch": batch, "function": function}


def _values(model: Model, basis: Basis, task: Task) -> Doubles:
    return dual.values(basis.points, model.points, model.c, task.kernel)


def said(output: object, *, task: Task) -> Mapping[str, Json]:
    """What the release says: the noisy numbers, the queries, and their answers."""
    q: list[int] = output[0] if task.kind == "function" else output  # type: ignore[index,assignment]
    law = {"one": "laplace", "batch": "gamma-norm", "function": "gaussian"}[task.kind]
    return {
        "selected": list(task.kernel.domain.names),
        "features": {"map": "answers", **task.kernel.json(), "lam": _text(float(task.lam))},
        "values": {"exponent": task.grid.exponent, "q": list(q)},
        "noise": {"law": law, "each": _text(task.spread * _half(task.kernel))},
        "queries": [list(map(int, row)) for row in task.codes],
        "answers": [repr(float(x)) for x in task.answers(q)],
    }


def _forecast(task: Task) -> Mapping[str, Json]:
    """Of an answer: its noise in the target's unit; and, in half ranges, noise and error.

    If the true function has a length of 1 in the kernel's space, the ridge takes lam at most.
    """
    return {"noise_each": _text(task.spread * _half(task.kernel)),
            "noise_prediction": _text(task.spread),
            "expected_error": _text(sqrt(task.spread**2 + float(task.lam))),
            "longest": _text(float(longest(task.lam)))}


def _half(kernel: Kernel) -> float:
    """Half of the target's range, which is 1 here; on a log scale of its logarithm."""
    part = target(kernel.domain)
    if part.scale == "log":
        return float(np.log(part.high / part.low)) / 2
    return (part.high - part.low) / 2


def _warning(each: float) -> str:
    return (f"the noise on an answer has a standard deviation of {each / 2:.2g} of the target's "
            "range: close to pure noise.  Take a larger epsilon or lam, or more rows; "
            "`suggest_lambda` names a lam from public numbers")


def _text(value: float) -> str:
    return f"{value:.6g}"
