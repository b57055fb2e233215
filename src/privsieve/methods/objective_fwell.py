"""ObjectiveFWELL: the weights of local learning, with noise inside of the problem that is solved.

A random linear term makes the minimiser itself private, if it is the exact one and the change of
volume is paid for.  What is computed is only near it: a second, far smaller noise covers the rest.
See objective_fwell.proof.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import isqrt, sqrt
from typing import TYPE_CHECKING, Literal

from privsieve.methods.local_weights import Learning, figure, forecast, released
from privsieve.public.canonical import Json
from privsieve.public.cost import LARGEST_EPSILON, Cost
from privsieve.public.domain import Domain
from privsieve.public.plan import NoiseSize, Plan, assumed

if TYPE_CHECKING:
    from privsieve.local.objective import Problem
    from privsieve.local.solver import Doubles
    from privsieve.noise.streams import Noise
    from privsieve.noise.values import Grid
    from privsieve.rows.batch import Batch
    from privsieve.summaries.moves import Moves

METHOD = "objective-fwell/1"
#: What the noise for the solver's error costs.
SECOND = Fraction(1, 100)
#: The step of the numbers that leave is about 2^-16 of their noise.
FINENESS = 16


@dataclass(frozen=True)
class Perturbing:
    """The public numbers of one release.

    problem : what is solved, at the first part of epsilon
    fine : the grid on which the second noise is added
    exponent : of the coarser grid on which the numbers leave

    >>> made = Perturbing.of("0.1", 66, 30, Fraction(1))
    >>> round(float(made.problem.epsilon), 6), made.exponent, made.second
    (0.971238, -16, Fraction(1, 100))
    """

    problem: Problem
    fine: Grid
    exponent: int
    second: Fraction

    @classmethod
    def of(cls, lam: object, rows: int, columns: int, epsilon: Fraction, *,
           partitions: int = 1) -> Perturbing:
        """For so many vectors that have one unit each, cut so often."""
        from privsieve.local.objective import Problem
        from privsieve.noise.values import Grid, check_exponent

        # [split]
        second = epsilon * SECOND
        problem = Problem.of(lam, rows, columns, epsilon - second, partitions=partitions)
        # [sensitivity]
        fine = Grid.of(columns, 2 * problem.away)
        made = cls(problem, fine, 0, second)
        each = made.scale * (isqrt(columns) + 1)
        exponent = each.numerator.bit_length() - each.denominator.bit_length() - FINENESS
        check_exponent(exponent)
        return replace(made, exponent=max(fine.exponent, exponent))

    @property
    def scale(self) -> Fraction:
        """1 / beta of both noises together, once the first has gone through the problem."""
        problem = self.problem
        first = 1 / (problem.epsilon * problem.rows * problem.ridge)
        return first + 1 / self.fine.beta(self.second)

    @property
    def length(self) -> Fraction:
        """How far noise moves the vector on the mean, at most."""
        return self.fine.d * self.scale

    @property
    def each(self) -> float:
        """The standard deviation of one number, at most."""
        return float(self.scale) * sqrt(self.fine.d + 1)

    def json(self) -> dict[str, Json]:
        """What a release says of the noise."""
        return {"law": "gamma-norm", "each": figure(self.each)}


@dataclass(frozen=True)
class Objective:
    """The public parameters of one run."""

    learning: Learning
    by: Perturbing


def plan(  # the method's public options, all keyword-only
    domain: Domain,
    *,
    k: float | Fraction | Literal["positive"],
    epsilon: object,
    rows: int | None = None,
    lam: object = "0.1",
    clip: object = None,
    block: int = 6,
    repeats: int = 1,
    reference: object = None,
    allow_weak: bool = False,
) -> Plan:
    """Plan a release of weights; reads no row.  `reference` is public: it is read here.

    >>> from privsieve.public.domain import Domain
    >>> made = plan(Domain.box(0, 1, columns=10), k=3, epsilon=1, rows=20_000)
    >>> made.forecast
    {'noise_each': '0.01006', 'noise_length': '0.03033', 'longest': '1.178'}
    """
    from privsieve.local.constants import output, r_max

    cost = Cost.of(epsilon, allow_weak=allow_weak)
    learning = Learning.of(domain, {"k": k, "rows": rows, "lam": lam, "clip": clip, "block": block,
                                    "repeats": repeats, "reference": reference})
    d, many = len(domain.columns), learning.vectors
    by = Perturbing.of(learning.lam, many, d, cost.epsilon, partitions=learning.repeats)
    run, longest = Objective(learning, by), r_max(by.problem.ridge)
    moved = output(learning.lam, many, d, partitions=learning.repeats)
    return Plan(
        method=METHOD, kind="weights", domain=domain, cost=cost, units=learning.units,
        settings={**learning.settings(),
                  "second_ridge": figure(2 * (by.problem.ridge - learning.lam))},
        noise=NoiseSize(by.length / moved, "units on the weights"), forecast=forecast(by, longest),
        warning=_warning(run, cost.epsilon, longest),
        theorem="objective-fwell", assumes=assumed("objective-fwell"),
        summarise=partial(summarise, run=run), mechanism=partial(mechanism, run=run),
        says=partial(released, learning=learning, noise=by),
    )


# [mechanism]
def summarise(batches: Iterable[Batch], key: int, *, run: Objective) -> Moves:
    """Rows become vectors of blocks, or of units; `key` is fresh, secret and dropped."""
    from privsieve.summaries.moves import Whole

    return run.learning.summarise(batches, key, Whole())


def mechanism(summary: Moves, noise: Noise, *, run: Objective) -> tuple[int, ...]:
    """The minimiser over all rows of an objective that met noise."""
    from privsieve.methods.output_fwell import stacked

    return perturbed(stacked(summary, run.learning), run.by, noise)
# [/mechanism]


def perturbed(Z: Doubles, by: Perturbing, noise: Noise) -> tuple[int, ...]:
    """The noisy minimiser for rows up to length 1, in steps of the grid on which it leaves.

    >>> import numpy as np
    >>> from privsieve.noise.streams import replay
    >>> made = Perturbing.of(1, 1, 2, Fraction(1000))
    >>> q = perturbed(np.array([[1.0, 0.0]]), made, replay(1))
    >>> [round(x * 2.0**made.exponent, 2) for x in q]
    [0.22, -0.0]
    """
    from privsieve.local.objective import solve
    from privsieve.noise.values import gamma_drawn
    from privsieve.public.canonical import LARGEST

    problem, fine = by.problem, by.fine
    # [linear]
    b = gamma_drawn(fine.d, problem.epsilon / 2, problem.exponent, noise)
    # [near]
    near = fine.integers(solve(Z, b, problem))
    # [second]
    more = gamma_drawn(fine.d, fine.beta(by.second), fine.exponent, noise)
    # [leave]
    places = by.exponent - fine.exponent
    half = 1 << places >> 1
    return tuple(max(-LARGEST, min(LARGEST, (at + add + half) >> places))
                 for at, add in zip(near, more, strict=True))


def _warning(run: Objective, epsilon: Fraction, longest: Fraction) -> str | None:
    """A sentence where noise moves weights by more than any weights are long."""
    if run.by.length <= longest:
        return None
    from privsieve.local.constants import r_max

    learning, by, enough = run.learning, run.by, epsilon
    while by.length > r_max(by.problem.ridge) and enough < LARGEST_EPSILON:
        enough *= 2
        by = Perturbing.of(learning.lam, learning.vectors, by.fine.d, enough,
                           partitions=learning.repeats)
    return (f"the weights will be mostly noise: it moves them by about {float(run.by.length):.2g}, "
            f"and no table's weights are longer than {float(longest):.2g}; they could be as long "
            f"from an epsilon of about {float(enough):.2g}, and are usually shorter: take more "
            "rows, a larger lam, or, to choose columns, a method that releases no weights")
