"""PrivateKernelRidge: the weights of a least-squares model over public features, with noise.

Rows become whole-number features and their sums of products; from the sums the weights follow
exactly, as fractions: no rounding and no solver stands between rows and noise.  A prediction is
a function of what was released, and costs nothing.  See `ridge.proof.md`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import sqrt
from typing import TYPE_CHECKING, Any

from privsieve.core.canonical import LARGEST as LARGEST_WRITTEN
from privsieve.core.columns import Number
from privsieve.core.cost import Cost
from privsieve.core.domain import Box
from privsieve.core.plan import Plan
from privsieve.errors import DomainError, ParameterError
from privsieve.regression.maps import ONE, WHOLE, map_of, written
from privsieve.regression.sensitivity import longest, ridge, sensitivity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from privsieve.core.batch import Batch
    from privsieve.core.canonical import Json
    from privsieve.core.domain import Domain
    from privsieve.privacy.noise import Noise
    from privsieve.privacy.values import Grid
    from privsieve.regression.maps import Map
    from privsieve.regression.moments import Moments

METHOD = "kernel-ridge/1"
#: Units times the weight of each: sums of so many products are below 2^63.
LARGEST_WEIGHT = 2**30
#: Rows of a person that can be told apart by their weight.
MOST_ROWS = 4096
#: Where the noise of a prediction is this part of half the target's range, guessing is as good.
PURE_NOISE = 0.5


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
        from privsieve.summaries.persons import person_weight

        return 1 if self.domain.person is None else person_weight(self.domain.rows_per_person)

    @property
    def ridge(self) -> Fraction:
        """What is added to the diagonal of the products, once for each unit's whole weight."""
        # [scaled-ridge] rows are as long as the root of `slots` times 65535; theirs is to be 1
        return self.lam * self.units * self.weight * ONE**2 * self.map.slots

    @property
    def sensitivity(self) -> Fraction:
        """How far one unit moves the weights, in the Euclidean norm."""
        from privsieve.privacy.approximate import root_up, rounded_up

        # [unit] rows and target are at most 1 after scaling
        unit = Fraction(WHOLE, ONE) * root_up(Fraction(1, self.map.slots))
        return rounded_up(sensitivity(self.lam, self.units) * unit)

    @property
    def longest(self) -> Fraction:
        """A bound of the length of the weights before noise, for every table."""
        from privsieve.privacy.approximate import root_up

        return longest(self.lam) * Fraction(WHOLE, ONE) * root_up(Fraction(1, self.map.slots))

    @property
    def grid(self) -> Grid:
        """The public grid of the weights."""
        from privsieve.privacy.values import Grid

        return Grid.of(self.map.width, self.sensitivity)

    @property
    def each(self) -> float:
        """The standard deviation of the noise on one weight."""
        if self.sigma is not None:
            return float(self.sigma)
        return sqrt(self.map.width + 1) / float(self.grid.beta(self.epsilon))


def plan(
    domain: Domain,
    *,
    epsilon: object,
    delta: object = 0,
    rows: int | None = None,
    kernel: str = "rbf",
    gamma: object = None,
    degree: object = None,
    features: object = 200,
    feature_seed: object = 0,
    lam: object = "0.05",
    allow_weak: bool = False,
) -> Plan:
    """Plan one model; reads no row.

    >>> from privsieve.core.domain import Domain
    >>> domain = Domain.box(0, 1, columns=5, target=(0, 100))
    >>> made = plan(domain, epsilon=1, rows=10_000, kernel="linear")
    >>> made.kind, made.settings["features"], made.forecast["noise_prediction"]
    ('regression', 6, '0.0342')
    """
    cost = Cost.of(epsilon, delta=delta, allow_weak=allow_weak)
    _check(domain)
    units = domain.public_units(rows)
    made = map_of(domain.columns, kernel, gamma=gamma, degree=degree, features=features,
                  seed=feature_seed)
    model = Model(domain, made, ridge(lam), units, cost.epsilon)
    _check_size(model)
    cost.check_units(units)
    cost, model = _cheapest(cost, model)
    _check_noise(model)
    forecast = _forecast(model)
    return Plan(
        method=METHOD, kind="regression", domain=domain, cost=cost, units=units,
        settings=_settings(model, kernel), noise=Fraction(model.each), forecast=forecast,
        warning=_warning(forecast), theorem="ridge", assumes=("ideal-bits",),
        summarise=partial(summarise, model=model), mechanism=partial(mechanism, model=model),
        says=partial(says, model=model),
    )


def summarise(batches: Iterable[Batch], key: int, *, model: Model) -> Moments:
    """Rows become sums of products; at most the public number of units takes part."""
    from privsieve.engines.sums import summed
    from privsieve.regression.moments import Moments

    of = partial(Moments.of, made=model.map, domain=model.domain, most=model.weight)
    # [capped] the divisor is public, so that no more units may take part
    return summed(batches, key, domain=model.domain, zero=Moments.zero(model.map.width), of=of,
                  most=model.units)


def mechanism(summary: Moments, noise: Noise, *, model: Model) -> tuple[int, ...]:
    """Weights meet noise, on the public grid."""
    from privsieve.privacy.values import gamma, gaussian

    grid = model.grid
    # [leave]
    exact = grid.integers(weights(summary, model))
    q = (gamma(exact, grid, model.epsilon, noise) if model.sigma is None
         else gaussian(exact, grid, model.sigma, noise))
    # [written] canonical JSON holds integers up to 2^53 - 1
    return tuple(max(-LARGEST_WRITTEN, min(LARGEST_WRITTEN, units)) for units in q)


def weights(summary: Moments, model: Model) -> list[Fraction]:
    """The exact weights of a table; private."""
    from flint import fmpz_mat

    width, ridge_ = model.map.width, model.ridge
    # [normal-equations] in whole numbers, positive definite for every table
    system = fmpz_mat(width, width, [ridge_.denominator * int(x)
                                     for x in summary.products.ravel()])
    for j in range(width):
        system[j, j] = int(system[j, j]) + ridge_.numerator
    right = fmpz_mat(width, 1, [ridge_.denominator * int(x) for x in summary.with_target])
    # [solved] over the rationals: nothing is rounded
    found = system.solve(right)
    return [Fraction(int(found[j, 0].p), int(found[j, 0].q)) for j in range(width)]


def says(output: Sequence[int], *, model: Model) -> Mapping[str, Json]:
    """What the release says beyond the plan."""
    return {
        "selected": list(model.domain.names),
        "features": model.map.json(),
        "values": {"exponent": model.grid.exponent, "q": list(output)},
        "noise": {"law": "gamma-norm" if model.sigma is None else "gaussian",
                  "each": _text(model.each)},
    }


def _check(domain: Domain) -> None:
    if isinstance(domain, Box):
        raise DomainError("this domain fits arrays of any width; to plan before there is one, say "
                          "how many columns: Domain.box(low, high, columns=30, target=(0, 100))")
    if not isinstance(domain.target, Number):
        raise DomainError('a regression needs a target that is a number: [target] with kind = '
                          '"number", low and high')
    if domain.rows_per_person > MOST_ROWS:
        raise DomainError(f"table.rows_per_person is {domain.rows_per_person}; at most "
                          f"{MOST_ROWS} rows of a person are used: write less")


def _check_size(model: Model) -> None:
    # [sums-fit] units times their weight times the square of the largest feature is below 2^62
    most = LARGEST_WEIGHT // model.weight
    if not 1 <= model.units <= most:
        raise ParameterError(f"the table has {model.units} rows or persons; least squares takes "
                             f"from 1 to {most}, so that its sums fit 64 bits")


def _check_noise(model: Model) -> None:
    """Refuse, before the charge, noise that its grid could not hold."""
    from privsieve.privacy.vector import LARGEST

    grid = model.grid
    size = model.sigma or model.map.width / grid.beta(model.epsilon)
    if size >= LARGEST * grid.step:
        raise ParameterError(f"epsilon is {float(model.epsilon):g}, and the noise of "
                             f"{model.map.width} weights would not fit their grid; choose a larger "
                             "epsilon or fewer features")
    if model.longest >= LARGEST * grid.step:
        raise ParameterError(f"lam is {float(model.lam):g} for {model.units} rows or persons, and "
                             "the weights would not fit a grid as fine as their noise; choose a "
                             "smaller lam")


def _cheapest(cost: Cost, model: Model) -> tuple[Cost, Model]:
    """Gaussian noise where a delta makes it smaller; where it does not, no delta is spent."""
    if not cost.delta:
        return cost, model
    # [cheapest] from public numbers
    sigma = model.grid.sigma(cost.epsilon, cost.delta)
    if float(sigma) < model.each:
        return cost, replace(model, sigma=sigma)
    return replace(cost, delta=Fraction(0)), model


def _forecast(model: Model) -> Mapping[str, Json]:
    """Public figures; for weights in their own unit, for predictions in half the target's range.

    expected_error : root of the mean square of noise and of what the ridge takes away, if the true
        function has a length of 1 (half a range) in the kernel's space.
    """
    width = model.map.width
    length = (width / float(model.grid.beta(model.epsilon)) if model.sigma is None
              else sqrt(width) * float(model.sigma))
    prediction = model.each * sqrt(model.map.slots) * ONE / WHOLE
    return {
        "noise_each": _text(model.each),
        "noise_length": _text(length),
        "longest": _text(float(model.longest)),
        "noise_prediction": _text(prediction),
        "expected_error": _text(sqrt(prediction**2 + float(model.lam))),
    }


def _warning(forecast: Mapping[str, Json]) -> str | None:
    noise = float(str(forecast["noise_prediction"]))
    if noise < PURE_NOISE:
        return None
    return (f"a prediction will have noise of {noise:.2g} times half the target's range: the "
            "middle of the range is as good a guess; more rows, a larger epsilon, fewer "
            "features or a larger lam would help")


def _settings(model: Model, kernel: str) -> Mapping[str, Json]:
    said: dict[str, Any] = {name: value for name, value in model.map.json().items()
                            if name != "map"}
    return {"kernel": kernel, "lam": written(model.lam), **said}


def _text(value: float) -> str:
    return f"{value:.3g}" if 0.001 <= value < 1000 else f"{value:.3e}"
