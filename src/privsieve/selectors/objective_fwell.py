"""ObjectiveFWELL: an epsilon-DP vector of weights by noise inside of the problem that it solves.

A random linear term makes the minimiser itself private, if it is the exact one and the change of
volume is paid for.  What is computed is only near it: a second, far smaller noise covers the rest.
See objective_fwell.proof.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING

from privsieve.privacy.values import Grid
from privsieve.privacy.vector import LARGEST, check_exponent, gamma_drawn

if TYPE_CHECKING:
    from privsieve.local.objective import Problem
    from privsieve.local.solver import Doubles
    from privsieve.privacy.noise import Noise

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

        # [split]
        second = epsilon * SECOND
        problem = Problem.of(lam, rows, columns, epsilon - second, partitions=partitions)
        # [sensitivity]
        fine = Grid.of(columns, 2 * problem.away)
        made = cls(problem, fine, 0, second)
        each = made.length / columns * (isqrt(columns) + 1)
        exponent = (each.numerator.bit_length() - each.denominator.bit_length()) - FINENESS
        check_exponent(exponent)
        return cls(problem, fine, max(fine.exponent, exponent), second)

    @property
    def length(self) -> Fraction:
        """The mean length by which noise moves the vector, at most."""
        first = 2 / (self.problem.epsilon * self.problem.rows * 2 * self.problem.ridge)
        return self.fine.d * (first + 1 / self.fine.beta(self.second))


# [perturbed]
def perturbed(Z: Doubles, by: Perturbing, noise: Noise) -> list[int]:
    """The noisy minimiser for rows up to length 1, in steps of the grid on which it leaves.

    >>> import numpy as np
    >>> from privsieve.privacy.noise import replay
    >>> made = Perturbing.of(1, 1, 2, Fraction(1000))
    >>> q = perturbed(np.array([[1.0, 0.0]]), made, replay(1))
    >>> [round(x * 2.0**made.exponent, 2) for x in q]
    [0.22, -0.0]
    """
    from privsieve.local.objective import solve

    problem, fine = by.problem, by.fine
    # [linear]
    b = gamma_drawn(fine.d, problem.epsilon / 2, problem.exponent, noise)
    # [near]
    near = fine.integers(solve(Z, b, problem))
    # [second]
    more = gamma_drawn(fine.d, fine.beta(by.second), fine.exponent, noise)
    # [leave]
    half, places = 1 << (by.exponent - fine.exponent) >> 1, by.exponent - fine.exponent
    return [max(-LARGEST, min(LARGEST, (at + add + half) >> places))
            for at, add in zip(near, more, strict=True)]
# [/perturbed]
