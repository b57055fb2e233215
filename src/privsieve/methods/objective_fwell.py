"""ObjectiveFWELL: the weights of local learning, with noise in the objective.

A random linear term makes the exact minimiser private, if the change of volume is paid for.  The
computed minimiser is only near the exact one: a second, far smaller noise covers the difference.

J(w) = (1/N) sum log(1 + exp(-w.z)) + lam |w|^2 + b.w / N + D |w|^2 / 2 is, with mu = 2 lam + D,
c = b / (N mu) and v = w + c, the plain problem in v with the ridge mu / 2 and margins v.z - c.z.
Its minimiser has a bounded length for every b, so one public bound serves for all.  The proof is in
objective_fwell.proof.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt, sqrt
from typing import TYPE_CHECKING, Any

from privsieve.errors import ParameterError
from privsieve.methods.local_weights import Learning, WeightOptions, weights_plan
from privsieve.public.domain import Domain
from privsieve.public.event import Event, Objective
from privsieve.public.option import as_json, declared, option, whole
from privsieve.public.plan import LARGEST_EPSILON, Cost, Plan
from privsieve.release import Law, figure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from privsieve.local.solver import Doubles
    from privsieve.methods.worst import Pair
    from privsieve.noise.streams import Noise
    from privsieve.noise.values import Grid
    from privsieve.summaries.moves import Moves

METHOD = "objective-fwell/1"
#: The share of the noise for the solver's error in epsilon.
SECOND = Fraction(1, 100)
#: Rounding b adds at most 2^-16 to the distance; a step of the grid is about 2^-16 of the noise.
FINENESS = 16
#: Rows are cut off to multiples of 2^-30, so that their products with b are whole numbers.
PLACES = 30
#: b is read in digits below this, so that a sum of products fits 63 bits.
DIGIT = 2**20


@declared
class ObjectiveFWELLOptions(WeightOptions):
    """Release weights of columns under pure epsilon-DP, with noise inside the optimisation.

    `OutputFWELL` adds noise to the finished weights.  Noise inside the optimisation is smaller only
    if `lam` is small and epsilon large, because one row can then move the weights far.

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(40000.0).reshape(10000, 4) % 97 / 97
    >>> domain = ps.Domain.box(0.0, 1.0, classes=(0, 1))
    >>> weights = ps.ObjectiveFWELL(1, epsilon=4, domain=domain).fit(X, X[:, 2] > 0.5).weights_
    >>> weights.shape, int(weights.argmax())
    ((4,), 2)
    """

    theorems = ("objective-fwell",)

    repeats: Any = option(default=1, read=whole, metavar="T", rare=True,
                          says="how often the table is divided into blocks")

    def planned(self, domain: Domain, rows: int | None) -> Plan:
        """Plan a release of weights; reads no row but the public ones of `reference`."""
        from privsieve.local.constants import output, r_max

        cost = Cost.of(self.epsilon, allow_weak=self.allow_weak)
        learning = Learning.of(self, domain, rows)
        d, many, read = len(domain.columns), learning.vectors, learning.options
        by = Perturbing.of(read.lam, many, d, cost.epsilon, partitions=read.repeats)
        longest = r_max(by.problem.ridge)
        moved = output(read.lam, many, d, partitions=read.repeats)
        settings = {**learning.settings(),
                    "second_ridge": figure(2 * (by.problem.ridge - read.lam))}
        return weights_plan(
            learning, by, longest=longest, moved=moved, method=METHOD, cost=cost,
            settings=settings, options=as_json(self, settings), theorem="objective-fwell",
            warning=_warning(learning, by, cost.epsilon), mechanism=mechanism)

    @classmethod
    def worst_pairs(cls) -> Mapping[str, Pair]:
        """Return tables in which a row pulls weights that are far out to either side."""
        from privsieve.methods.worst import CORNERS, crowd, in_two

        return {"": in_two(crowd(), k=1, lam="0.0006", clip="1", reference=CORNERS)}


@dataclass(frozen=True)
class Problem:
    """The public numbers of one problem.

    rows : the number of vectors of which a unit decides one; each partition has that number
    epsilon : b has density ~ exp(-epsilon |b| / 2)
    ridge : mu / 2, with the second ridge for the change of volume
    exponent : b is rounded to multiples of 2^exponent
    away : the largest distance of `solve` from the minimiser for the unrounded b

    >>> problem = Problem.of("0.1", 66, 30, Fraction(99, 100))
    >>> round(float(problem.epsilon), 6), problem.ridge, float(problem.away) < 1e-9
    (0.971238, Fraction(1, 10), True)
    """

    rows: int
    columns: int
    epsilon: Fraction
    ridge: Fraction
    exponent: int
    away: Fraction

    @classmethod
    def of(cls, lam: object, rows: int, columns: int, epsilon: Fraction, *,
           partitions: int = 1) -> Problem:
        """Return the problem whose exact minimiser is epsilon-DP."""
        from privsieve.local.constants import objective
        from privsieve.local.limits import LARGEST_LAM, distance, ridge

        noise, second = objective(lam, rows, epsilon, partitions=partitions)
        half = ridge(lam) + second / 2
        if half > LARGEST_LAM:
            raise ParameterError(f"epsilon is {float(epsilon):.3g} with {rows} vectors, which "
                                 f"need a ridge above {LARGEST_LAM}; choose a larger epsilon or "
                                 "more rows")
        # [radius]
        near = distance(half, rows * partitions, columns, 1 / (2 * half))
        per = (isqrt(columns) + 1) / (4 * rows * half)
        # [exponent] from public numbers alone
        k = _log2(near / per) - FINENESS
        # [away]
        return cls(rows, columns, noise, half, k, near + per * Fraction(2) ** k)

    @property
    def shift(self) -> Fraction:
        """The move of c for one step of b."""
        return Fraction(2) ** self.exponent / (2 * self.rows * self.ridge)


@dataclass(frozen=True)
class Perturbing:
    """The public numbers of one release.

    problem : the problem that is solved, at the first part of epsilon
    fine : the grid on which the second noise is added
    exponent : of the coarser grid on which the weights are released

    >>> by = Perturbing.of("0.1", 66, 30, Fraction(1))
    >>> round(float(by.problem.epsilon), 6), by.exponent, by.second
    (0.971238, -16, Fraction(1, 100))
    """

    problem: Problem
    fine: Grid
    exponent: int
    second: Fraction
    partitions: int = 1

    @classmethod
    def of(cls, lam: object, rows: int, columns: int, epsilon: Fraction, *,
           partitions: int = 1) -> Perturbing:
        """Return the release for `rows` vectors of each partition."""
        from privsieve.noise.values import Grid, check_exponent

        # [split]
        second = epsilon * SECOND
        problem = Problem.of(lam, rows, columns, epsilon - second, partitions=partitions)
        # [sensitivity]
        fine = Grid.of(columns, 2 * problem.away)
        by = cls(problem, fine, 0, second, partitions)
        each = by.scale * (isqrt(columns) + 1)
        exponent = each.numerator.bit_length() - each.denominator.bit_length() - FINENESS
        check_exponent(exponent)
        return replace(by, exponent=max(fine.exponent, exponent))

    @property
    def scale(self) -> Fraction:
        """The scale 1 / beta of both noises together, the first after the problem."""
        problem = self.problem
        first = 1 / (problem.epsilon * problem.rows * problem.ridge)
        return first + 1 / self.fine.beta(self.second)

    @property
    def event(self) -> Event:
        """The event of both noises, for an accountant."""
        problem = self.problem
        return Objective(problem.rows, self.partitions, str(problem.ridge), str(problem.epsilon),
                         str(self.fine.sensitivity), str(1 / self.fine.beta(self.second)))

    @property
    def length(self) -> Fraction:
        """A bound of the mean length of the noise."""
        return self.fine.d * self.scale

    @property
    def each(self) -> float:
        """A bound of the standard deviation of the noise on one number."""
        return float(self.scale) * sqrt(self.fine.d + 1)

    @property
    def law(self) -> Law:
        """The law's name."""
        return "gamma-norm"


# [mechanism]
def mechanism(summary: Moves, noise: Noise, *, learning: Learning, by: Perturbing,
              ) -> tuple[int, ...]:
    """Minimise a noisy objective over all rows."""
    return perturbed(learning.stacked(summary), by, noise)
# [/mechanism]


def perturbed(Z: Doubles, by: Perturbing, noise: Noise) -> tuple[int, ...]:
    """Return the noisy minimiser for rows up to length 1, in steps of the released grid.

    >>> import numpy as np
    >>> from privsieve.noise.streams import replay
    >>> by = Perturbing.of(1, 1, 2, Fraction(1000))
    >>> q = perturbed(np.array([[1.0, 0.0]]), by, replay(1))
    >>> [round(x * 2.0**by.exponent, 2) for x in q]
    [0.22, -0.0]
    """
    from privsieve.noise.values import gamma_drawn
    from privsieve.public.canonical import LARGEST

    problem, fine = by.problem, by.fine
    # [linear]
    b = gamma_drawn(fine.d, problem.epsilon / 2, problem.exponent, noise)
    # [near]
    near = fine.integers(solve(Z, b, problem))
    # [second]
    added = gamma_drawn(fine.d, fine.beta(by.second), fine.exponent, noise)
    # [leave]
    places = by.exponent - fine.exponent
    half = 1 << places >> 1
    return tuple(max(-LARGEST, min(LARGEST, (at + noise + half) >> places))
                 for at, noise in zip(near, added, strict=True))


def solve(Z: Doubles, b: Sequence[int], problem: Problem) -> list[Fraction]:
    """Return a point near the minimiser for rows up to length 1 and the linear term b, in steps.

    Z holds the rows of all partitions.

    >>> import numpy as np
    >>> at = solve(np.array([[1.0, 0.0]]), [0, 0], Problem.of(1, 1, 2, Fraction(5)))
    >>> [round(float(x), 6) for x in at]
    [0.222323, 0.0]
    """
    import numpy as np

    from privsieve.local.solver import minimise

    # [cut]
    whole = np.trunc(Z * 2.0**PLACES).astype(np.int64)
    unit, of = (-problem.shift / 2**PLACES).as_integer_ratio()
    # [start] the double that is nearest to the quotient
    start = np.array([x * unit / of for x in products(whole, b)], np.float64)
    v = minimise(whole / 2.0**PLACES, problem.ridge, start).w
    # [back] exact
    return [Fraction(at) - problem.shift * step for at, step in zip(v.tolist(), b, strict=True)]


def products(whole: NDArray[np.int64], b: Sequence[int]) -> list[int]:
    """Return the exact products of rows, of whole numbers and up to 2^30 long, with b.

    >>> import numpy as np
    >>> products(np.array([[3, -4], [0, 1]]), [2**70 + 1, 2**70])
    [-1180591620717411303421, 1180591620717411303424]
    """
    import numpy as np

    total, place, rest = np.zeros(len(whole), object), 1, list(b)
    while any(rest):
        digits = [x % DIGIT if x > 0 else -(-x % DIGIT) for x in rest]
        # [along] |row| |digits| <= 2^30 2^20 sqrt(d)
        total += place * (whole @ np.array(digits, np.int64)).astype(object)
        rest = [(x - digit) // DIGIT for x, digit in zip(rest, digits, strict=True)]
        place *= DIGIT
    products: list[int] = total.tolist()
    return products


def _log2(value: Fraction) -> int:
    """Return k for a power 2^k that is at most the value, and above a quarter of it."""
    return value.numerator.bit_length() - value.denominator.bit_length() - 1


def _warning(learning: Learning, by: Perturbing, epsilon: Fraction) -> str | None:
    """Warn where the noise is longer than any weights can be."""
    from privsieve.local.constants import r_max

    longest, enough, larger = r_max(by.problem.ridge), epsilon, by
    if by.length <= longest:
        return None
    while larger.length > r_max(larger.problem.ridge) and enough < LARGEST_EPSILON:
        enough *= 2
        larger = Perturbing.of(learning.options.lam, learning.vectors, by.fine.d, enough,
                               partitions=learning.options.repeats)
    return (f"the weights will be mostly noise: it moves them by about {float(by.length):.2g}, "
            f"and no table's weights are longer than {float(longest):.2g}; they could be as long "
            f"from an epsilon of about {float(enough):.2g}, and are usually shorter: take more "
            "rows, a larger lam, or, to choose columns, a method that releases no weights")
