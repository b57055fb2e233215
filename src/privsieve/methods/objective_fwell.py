"""ObjectiveFWELL: the weights of local learning, with noise inside of the problem that is solved.

A random linear term makes the minimiser itself private, if it is the exact one and the change of
volume is paid for.  What is computed is only near it: a second, far smaller noise covers the rest.
See objective_fwell.proof.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt, sqrt
from typing import TYPE_CHECKING, Any

from privsieve.methods.local_weights import Learning, WeightOptions, weights_plan
from privsieve.methods.option import declared, option
from privsieve.public.cost import LARGEST_EPSILON, Cost
from privsieve.public.domain import Domain
from privsieve.public.plan import Plan
from privsieve.release import figure

if TYPE_CHECKING:
    from privsieve.local.objective import Problem
    from privsieve.local.solver import Doubles
    from privsieve.noise.streams import Noise
    from privsieve.noise.values import Grid
    from privsieve.summaries.moves import Moves

METHOD = "objective-fwell/1"
#: What the noise for the solver's error costs.
SECOND = Fraction(1, 100)
#: The step of the numbers that leave is about 2^-16 of their noise.
FINENESS = 16


@declared
class ObjectiveOptions(WeightOptions):
    """What ObjectiveFWELL is asked for."""

    repeats: Any = option(default=1, read=int, metavar="T",
                          says="how often the table is cut into blocks")

    def planned(self, domain: Domain, rows: int | None) -> Plan:
        """Plan a release of weights; reads no row.  `reference` is public: it is read here."""
        from privsieve.local.constants import output, r_max

        cost = Cost.of(self.epsilon, allow_weak=self.allow_weak)
        learning = Learning.of(self, domain, rows)
        d, many, read = len(domain.columns), learning.vectors, learning.asked
        by = Perturbing.of(read.lam, many, d, cost.epsilon, partitions=read.repeats)
        longest = r_max(by.problem.ridge)
        moved = output(read.lam, many, d, partitions=read.repeats)
        second = {"second_ridge": figure(2 * (by.problem.ridge - read.lam))}
        return weights_plan(
            learning, by, longest, moved, method=METHOD, cost=cost,
            settings={**learning.settings(), **second}, theorem="objective-fwell",
            warning=_warning(learning, by, cost.epsilon), mechanism=mechanism)


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

    @property
    def law(self) -> str:
        """The law's name."""
        return "gamma-norm"


# [mechanism]
def mechanism(summary: Moves, noise: Noise, *, learning: Learning, by: Perturbing,
              ) -> tuple[int, ...]:
    """The minimiser over all rows of an objective that met noise."""
    return perturbed(learning.stacked(summary), by, noise)
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


def _warning(learning: Learning, by: Perturbing, epsilon: Fraction) -> str | None:
    """A sentence where noise moves weights by more than any weights are long."""
    from privsieve.local.constants import r_max

    longest, enough, more = r_max(by.problem.ridge), epsilon, by
    if by.length <= longest:
        return None
    while more.length > r_max(more.problem.ridge) and enough < LARGEST_EPSILON:
        enough *= 2
        more = Perturbing.of(learning.asked.lam, learning.vectors, by.fine.d, enough,
                             partitions=learning.asked.repeats)
    return (f"the weights will be mostly noise: it moves them by about {float(by.length):.2g}, "
            f"and no table's weights are longer than {float(longest):.2g}; they could be as long "
            f"from an epsilon of about {float(enough):.2g}, and are usually shorter: take more "
            "rows, a larger lam, or, to choose columns, a method that releases no weights")
