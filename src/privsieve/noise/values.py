"""Values: release a vector of numbers with noise, on a grid of public numbers.

The proof follows the order of computation.  The grid's exponent follows from the sensitivity alone,
the effect of rounding on the sensitivity from the exponent, and the noise from both.  All noise is
exactly rounded to the grid.  See `values.proof.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from operator import index
from typing import TYPE_CHECKING, Literal

from flint import arb

from privsieve.errors import ParameterError
from privsieve.noise.approximate import (
    analytic_sigma,
    concentrated_sigma,
    root_up,
    rounded_down,
    rounded_up,
)
from privsieve.noise.balls import Law, certain, minus_log
from privsieve.noise.streams import LONG, SHORT, Noise, Uniform, uniforms
from privsieve.public.canonical import LARGEST  # released numbers are clamped to it
from privsieve.public.event import Additive, Event, Gaussian

if TYPE_CHECKING:
    from privsieve.public.plan import Cost

#: Rounding to the grid adds at most 2^-16 of the sensitivity.
FINENESS = 16
#: The exponents of grids on which every clamped multiple is a finite double.
SMALLEST_EXPONENT, LARGEST_EXPONENT = -1074, 970


@dataclass(frozen=True)
class Grid:
    """The public grid of d numbers, multiples of 2^exponent, and their sensitivity.

    norm : the norm of the sensitivity, 1 or 2
    sensitivity : of the rounded numbers, with the effect of rounding

    >>> grid = Grid.of(4, Fraction(3))
    >>> grid.exponent, float(grid.sensitivity)
    (-17, 3.0000152587890625)
    """

    d: int
    norm: int
    exponent: int
    sensitivity: Fraction

    @classmethod
    def of(cls, d: int, sensitivity: Fraction, *, norm: int = 2) -> Grid:
        """Make the grid for d real numbers with this sensitivity in this norm."""
        if d < 1 or sensitivity <= 0 or norm not in (1, 2):
            raise ParameterError(f"d is {d}, sensitivity is {sensitivity} and norm is {norm}; give "
                                 "at least one number, a sensitivity above 0 and norm 1 or 2")
        # [exponent] from d and the sensitivity alone
        added_up = root_up(Fraction(d)) if norm == 2 else Fraction(d)
        k = _log2(sensitivity) - FINENESS - _log2(added_up) - 1
        check_exponent(k)
        # [used] rounding moves each number by at most half a step, on both sides
        return cls(d, norm, k, rounded_up(sensitivity + added_up * Fraction(2) ** k))

    def integers(self, w: Sequence[float | Fraction]) -> list[int]:
        """Return the nearest multiples, in units of the grid; raise if a number is not finite.

        >>> Grid.of(2, Fraction(1)).integers([1.0, -0.25])
        [131072, -32768]
        """
        if len(w) != self.d:
            raise ParameterError(f"there are {len(w)} numbers; the grid is for {self.d}")
        # [nearest]
        return [int((Fraction(x) / self.step + Fraction(1, 2)) // 1) for x in w]

    def numbers(self, q: Sequence[int]) -> list[float]:
        """Return the released numbers as doubles: exactly, since the integers are below 2^53.

        >>> Grid.of(1, Fraction(1)).numbers([3])
        [2.288818359375e-05]
        """
        return [float(units * self.step) for units in q]

    @property
    def step(self) -> Fraction:
        """Return the distance of neighbouring points."""
        return Fraction(2) ** self.exponent

    def beta(self, epsilon: Fraction) -> Fraction:
        """Return the rate of Gamma-norm noise that is epsilon-DP, rounded down."""
        return rounded_down(epsilon / self._in(2))  # [beta]

    def scale(self, epsilon: Fraction) -> Fraction:
        """Return the scale of Laplace noise that is epsilon-DP, rounded up."""
        return rounded_up(self._in(1) / epsilon)  # [scale]

    def sigma(self, epsilon: Fraction, delta: Fraction) -> Fraction:
        """Return the sigma of Gaussian noise that is (epsilon, delta)-DP, rounded up."""
        return rounded_up(self._in(2) * analytic_sigma(epsilon, delta))  # [sigma]

    def concentrated(self, rho: Fraction) -> Fraction:
        """Return the sigma of Gaussian noise that is rho-zCDP, rounded up."""
        return rounded_up(self._in(2) * concentrated_sigma(rho))  # [rho-sigma]

    def rho(self, sigma: Fraction) -> Fraction:
        """Return the rho that Gaussian noise of this sigma spends under zCDP.

        >>> round(float(Grid.of(4, Fraction(1)).rho(Fraction(5))), 4)
        0.02
        """
        return self._in(2)**2 / (2 * sigma**2)  # [spent-rho]

    def _in(self, norm: int) -> Fraction:
        if self.norm > norm:
            raise ParameterError("Laplace noise needs the sensitivity in norm 1 (the sum of all "
                                 "changes); make the grid with norm=1")
        return self.sensitivity


@dataclass(frozen=True)
class VectorNoise:
    """The noise on the numbers of a grid: Gaussian with a delta, Laplace in norm 1, else Gamma."""

    grid: Grid
    epsilon: Fraction
    delta: Fraction = Fraction(0)  # 0 in norm 2: noise of Gamma length

    @classmethod
    def of(cls, d: int, sensitivity: Fraction, cost: Cost) -> VectorNoise:
        """Choose the law with the shorter noise: Gamma, or Gaussian if there is a delta."""
        grid = Grid.of(d, sensitivity)
        pure = cls(grid, cost.epsilon)
        law = cls(grid, cost.epsilon, cost.delta)
        # [law] compares sqrt(d) sigma, the root of a mean square, with d / beta, a mean
        if not cost.delta or law.scale**2 * grid.beta(cost.epsilon)**2 >= d:
            law = pure
        if law.size >= LARGEST * grid.step:
            raise ParameterError(f"epsilon is {cost.text}; the noise on {d} numbers would not fit "
                                 "their grid: choose a larger epsilon")
        return law

    @property
    def exponent(self) -> int:
        """Return the exponent of the grid."""
        return self.grid.exponent

    @property
    def law(self) -> Literal["gaussian", "laplace", "gamma-norm"]:
        """Return the name of the law."""
        if self.delta:
            return "gaussian"
        return "laplace" if self.grid.norm == 1 else "gamma-norm"

    @cached_property
    def scale(self) -> Fraction:
        """Return the sigma or the Laplace scale of each number, or 1 / beta of the vector."""
        if self.delta:
            return self.grid.sigma(self.epsilon, self.delta)
        return (self.grid.scale(self.epsilon) if self.law == "laplace"
                else 1 / self.grid.beta(self.epsilon))

    @property
    def rho(self) -> Fraction | None:
        """Return the rho that Gaussian noise spends under zCDP; None for other laws."""
        return self.grid.rho(self.scale) if self.delta else None

    @property
    def event(self) -> Event:
        """Return the event for an accountant."""
        moves = self.grid.sensitivity
        if self.law == "gaussian":
            return Gaussian.of(moves, self.scale, self.grid.d)
        return Additive.of(self.law, moves, self.scale)

    @property
    def size(self) -> Fraction:
        """Return the size that has to fit the grid."""
        return self.scale * (self.grid.d if self.law == "gamma-norm" else 1)

    @property
    def each(self) -> float:
        """Return the standard deviation of one number."""
        times = {"gaussian": 1.0, "laplace": sqrt(2), "gamma-norm": sqrt(self.grid.d + 1)}
        return float(self.scale) * times[self.law]

    @property
    def length(self) -> float:
        """Return the expected length of the noise in norm 2 (Gaussian: root mean square)."""
        return float(self.scale) * (sqrt(self.grid.d) if self.delta else self.grid.d)

    # [noise]
    def add(self, w: Sequence[float | Fraction], noise: Noise) -> tuple[int, ...]:
        """Round the numbers to the grid and add noise."""
        q = self.grid.integers(w)
        if self.delta:
            return tuple(gaussian(q, self.grid, self.scale, noise))
        return tuple((laplace if self.law == "laplace" else gamma)(
            q, self.grid, self.epsilon, noise))
    # [/noise]


def gamma(w: Sequence[int], grid: Grid, epsilon: Fraction, noise: Noise) -> list[int]:
    """Add Gamma-norm noise to integers on a grid: epsilon-DP.

    >>> grid = Grid.of(3, Fraction(1, 100))
    >>> len(gamma(grid.integers([0.5, 0.25, 1]), grid, Fraction(1), Noise()))
    3
    """
    beta = grid.beta(epsilon)
    _check(w, grid, grid.d / beta)
    return added(w, gamma_drawn(grid.d, beta, grid.exponent, noise))


def laplace(w: Sequence[int], grid: Grid, epsilon: Fraction, noise: Noise) -> list[int]:
    """Add Laplace noise, exactly rounded to the grid, to integers on it: epsilon-DP.

    >>> grid = Grid.of(3, Fraction(1, 100), norm=1)
    >>> len(laplace(grid.integers([0.5, 0.25, 1]), grid, Fraction(1), Noise()))
    3
    """
    scale = grid.scale(epsilon)
    _check(w, grid, scale)
    # [laplace]
    return added(w, rounded(two_sided, 1, scale / grid.step, len(w), noise))


def gaussian(w: Sequence[int], grid: Grid, sigma: Fraction, noise: Noise) -> list[int]:
    """Add Gaussian noise, exactly rounded to the grid, to integers on it.

    With `grid.sigma(epsilon, delta)` it is (epsilon, delta)-DP; with `grid.concentrated(rho)`
    it is rho-zCDP.

    >>> grid = Grid.of(3, Fraction(1, 100))
    >>> sigma = grid.sigma(Fraction(1), Fraction(1, 10**6))
    >>> len(gaussian(grid.integers([0.5, 0.25, 1]), grid, sigma, noise=Noise()))
    3
    """
    _check(w, grid, sigma)
    # [gaussian]
    return added(w, rounded(normal, 2, sigma / grid.step, len(w), noise))


def two_sided(streams: Sequence[Uniform]) -> list[arb]:
    """Return a standard Laplace from one stream: the first digit is the sign."""
    (stream,) = streams
    rest = stream.bits - 1
    # [sign]
    size = minus_log([Uniform(stream.digits & (1 << rest) - 1, rest, stream.noise)])
    return [-size if stream.digits >> rest else size]


def rounded(law: Law, per: int, scale: Fraction, count: int, noise: Noise) -> list[int]:
    """Draw values of scale * X, each rounded; a law makes `per` values from `per` streams.

    >>> from privsieve.noise.streams import replay
    >>> rounded(two_sided, 1, Fraction(10), 3, replay(1))
    [8, 23, 1]
    """
    size = -(-count // per) * per
    streams = uniforms(size, SHORT, noise)
    # [to-nearest]
    drawn = [x for i in range(0, size, per)
             for x in certain(streams[i:i + per], scale, law, shift=Fraction(1, 2))]
    return drawn[:count]


def gamma_drawn(d: int, beta: Fraction, k: int, noise: Noise) -> list[int]:
    """Draw noise of density ~ exp(-beta ||b||_2), rounded to the grid 2^k, in its units.

    If neighbours move w 2^k by at most D in the Euclidean norm, w + b is (beta D)-DP.

    >>> from privsieve.noise.streams import replay
    >>> gamma_drawn(2, Fraction(1), 0, replay(1))
    [-1, 2]
    """
    streams = uniforms(d + 2 * ((d + 1) // 2), LONG, noise)
    # [round]
    return certain(streams, 1 / (beta * Fraction(2) ** k), spherical, shift=Fraction(1, 2))


def added(w: Sequence[int], drawn: Sequence[int]) -> list[int]:
    """Return the sums, clamped to the range of a release, so that a release never fails.

    >>> added([1, 2**60], [2, 0]) == [3, 2**53 - 1]
    True
    """
    # [add] the noise is an integer already.  [clamp]
    return [max(-LARGEST, min(LARGEST, index(at) + b)) for at, b in zip(w, drawn, strict=True)]


def check_exponent(k: int) -> None:
    """Refuse a grid whose points are not doubles.

    >>> check_exponent(-37)
    """
    if not SMALLEST_EXPONENT <= k <= LARGEST_EXPONENT:
        raise ParameterError(f"the grid's exponent is {k}; it must be between {SMALLEST_EXPONENT} "
                             f"and {LARGEST_EXPONENT}")


def spherical(streams: Sequence[Uniform]) -> list[arb]:
    """Return balls of b in units of 1 / beta: a Gamma(d) length and a uniform direction.

    The first d streams make the length; the others, an even number, make the direction.
    """
    d = len(streams) // 4 * 2 + (1 if len(streams) % 4 == 3 else 0)
    radius, pairs = streams[:d], streams[d:]
    normals: list[arb] = []
    for v, t in zip(pairs[::2], pairs[1::2], strict=True):
        normals += normal([v, t])
    square = 2 * minus_log(pairs[::2])
    for unused in normals[d:]:
        square -= unused * unused
    # [radius]
    scale = minus_log(radius) / square.sqrt()
    return [scale * x for x in normals[:d]]


def normal(streams: Sequence[Uniform]) -> list[arb]:
    """Return two independent standard normals from two uniforms."""
    v, t = streams
    # [normal]
    sine, cosine = (arb(2 * t.digits + 1, 1) / (1 << t.bits)).sin_cos_pi()
    far = (2 * minus_log((v,))).sqrt()
    return [far * cosine, far * sine]


def _check(w: Sequence[int], grid: Grid, size: Fraction) -> None:
    if len(w) != grid.d:
        raise ParameterError(f"there are {len(w)} numbers; the grid is for {grid.d}")
    if not 0 < size < LARGEST * grid.step:
        raise ParameterError(f"noise of size {float(size):.3g} does not fit a grid of steps of "
                             f"2^{grid.exponent}; choose a larger epsilon, or fewer numbers")


def _log2(value: Fraction) -> int:
    """Return floor(log2(value)), exactly."""
    k = value.numerator.bit_length() - value.denominator.bit_length()
    return k if value >= Fraction(2) ** k else k - 1
