"""Model: the public parameters of a regression, and what follows from them before a row is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING

from privsieve.methods.ridge.maps import ONE, WHOLE, Map
from privsieve.methods.ridge.sensitivity import longest, sensitivity
from privsieve.public.canonical import Json
from privsieve.public.domain import Domain

if TYPE_CHECKING:
    from privsieve.noise.values import Grid

#: Where the noise of a prediction is this part of half the target's range, guessing is as good.
PURE_NOISE = 0.5
#: What lam="auto" chooses from.
LAMS = tuple(f"{digit}e{power}" for power in range(-5, 3) for digit in (1, 2, 5))


@dataclass(frozen=True)
class Model:
    """The public parameters of one run.

    sigma : of Gaussian noise; None: Gamma-norm noise.
    """

    domain: Domain
    map: Map
    lam: Fraction
    units: int
    epsilon: Fraction
    sigma: Fraction | None = None

    @property
    def weight(self) -> int:
        """What the rows of one unit weigh together, at most."""
        return self.domain.unit_weight

    @property
    def ridge(self) -> Fraction:
        """What is added to the diagonal of the products, once for each unit's whole weight."""
        # [scaled-ridge] rows are as long as the root of `slots` times 65535; theirs is to be 1
        return self.lam * self.units * self.weight * ONE**2 * self.map.slots

    @property
    def sensitivity(self) -> Fraction:
        """How far one unit moves the weights, in the Euclidean norm."""
        from privsieve.noise.approximate import root_up, rounded_up

        # [unit] rows and target are at most 1 after scaling
        unit = Fraction(WHOLE, ONE) * root_up(Fraction(1, self.map.slots))
        return rounded_up(sensitivity(self.lam, self.units) * unit)

    @property
    def longest(self) -> Fraction:
        """A bound of the length of the weights before noise, for every table."""
        from privsieve.noise.approximate import root_up

        return longest(self.lam) * Fraction(WHOLE, ONE) * root_up(Fraction(1, self.map.slots))

    @cached_property
    def grid(self) -> Grid:
        """The public grid of the weights."""
        from privsieve.noise.values import Grid

        return Grid.of(self.map.width, self.sensitivity)

    @property
    def each(self) -> float:
        """The standard deviation of the noise on one weight."""
        if self.sigma is not None:
            return float(self.sigma)
        return sqrt(self.map.width + 1) / float(self.grid.beta(self.epsilon))

    @property
    def length(self) -> float:
        """The mean length of the noise vector (of a Gaussian one, its root mean square)."""
        width = self.map.width
        if self.sigma is not None:
            return sqrt(width) * float(self.sigma)
        return width / float(self.grid.beta(self.epsilon))

    @property
    def prediction(self) -> float:
        """The standard deviation of noise on one prediction, at most; in half ranges."""
        return self.each * sqrt(self.map.slots) * ONE / WHOLE

    @property
    def error(self) -> float:
        """Root of the mean square of what noise and ridge take from a prediction, in half ranges.

        If the true function has a length of 1 in the kernel's space, the ridge takes lam at most.
        """
        return sqrt(self.prediction**2 + float(self.lam))

    def with_delta(self, delta: Fraction) -> Model:
        """Gaussian noise, where this delta makes it the smaller one; else the same model."""
        if not delta:
            return self
        # [cheapest] from public numbers
        sigma = self.grid.sigma(self.epsilon, delta)
        return replace(self, sigma=sigma) if float(sigma) < self.each else self


def best(model: Model, delta: Fraction) -> Model:
    """The lam with the smallest expected error, among round ones: from public numbers alone.

    >>> from privsieve.public.columns import Flag, Number
    >>> from privsieve.public.domain import Domain
    >>> from privsieve.methods.ridge.maps import Map
    >>> domain = Domain((Flag("a"),), Number("days", 0, 9))
    >>> some = Model(domain, Map("linear", domain.columns), Fraction(1), 10_000, Fraction(1))
    >>> float(best(some, Fraction(0)).lam)
    0.02
    """
    made = (replace(model, lam=Fraction(lam)).with_delta(delta) for lam in LAMS)
    return min(made, key=lambda one: one.error)


def forecast(model: Model) -> Mapping[str, Json]:
    """Public figures: of weights in their own unit, of predictions in half the target's range."""
    return {
        "noise_each": shown(model.each),
        "noise_length": shown(model.length),
        "longest": shown(float(model.longest)),
        "noise_prediction": shown(model.prediction),
        "expected_error": shown(model.error),
    }


def warning(model: Model) -> str | None:
    """A sentence where a prediction is close to pure noise."""
    if model.prediction < PURE_NOISE:
        return None
    return (f"a prediction will have noise of {model.prediction:.2g} times half the target's "
            "range: the middle of the range is as good a guess; more rows, a larger epsilon, "
            "fewer features or a larger lam would help")


def shown(value: float) -> str:
    """A figure as a decimal text.

    >>> shown(0.0312345), shown(0.0000312345)
    ('0.0312', '3.123e-05')
    """
    return f"{value:.3g}" if 0.001 <= value < 1000 else f"{value:.3e}"
