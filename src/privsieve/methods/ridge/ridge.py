"""PrivateKernelRidge: the weights of a least-squares model over public features, with noise.

Rows become whole-number features and their sums of products; from the sums the weights follow
exactly, as fractions: no rounding and no solver stands between rows and noise.  A prediction is
a function of what was released, and costs nothing.  See `ridge.proof.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from privsieve.errors import DomainError, ParameterError
from privsieve.methods.ridge.maps import map_of, written
from privsieve.methods.ridge.model import Model, best, forecast, shown, warning
from privsieve.methods.ridge.sensitivity import ridge
from privsieve.noise.streams import Noise
from privsieve.public.assumptions import assumed
from privsieve.public.canonical import Json
from privsieve.public.columns import Number
from privsieve.public.cost import Cost
from privsieve.public.domain import Box, Domain
from privsieve.public.plan import NoiseSize, Plan

if TYPE_CHECKING:
    from privsieve.methods.ridge.moments import Moments
    from privsieve.rows.batch import Batch

METHOD = "kernel-ridge/1"
#: Units times the weight of each: sums of so many products are below 2^63.
LARGEST_WEIGHT = 2**30
#: Rows of a person that can be told apart by their weight.
MOST_ROWS = 4096


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
    lam: object = "auto",
    allow_weak: bool = False,
) -> Plan:
    """Plan one model; reads no row.  lam="auto" is chosen from public numbers.

    >>> from privsieve.public.domain import Domain
    >>> domain = Domain.box(0, 1, columns=5, target=(0, 100))
    >>> made = plan(domain, epsilon=1, rows=10_000, kernel="linear")
    >>> made.kind, made.settings["features"], made.forecast["noise_prediction"]
    ('regression', 6, '0.12')
    """
    cost = Cost.of(epsilon, delta=delta, allow_weak=allow_weak)
    _check(domain)
    units = domain.public_units(rows)
    made = map_of(domain.columns, kernel, gamma=gamma, degree=degree, features=features,
                  seed=feature_seed)
    auto = lam == "auto"
    model = Model(domain, made, Fraction(1) if auto else ridge(lam), units, cost.epsilon)
    _check_size(model)
    cost.check_units(units)
    model = best(model, cost.delta) if auto else model.with_delta(cost.delta)
    if model.sigma is None:  # the delta would buy nothing: it is not spent
        cost = replace(cost, delta=Fraction(0))
    else:
        cost = replace(cost, rho=model.grid.rho(model.sigma))
    _check_noise(model)
    return Plan(
        method=METHOD, kind="regression", domain=domain, cost=cost, units=units,
        settings=_settings(model, kernel), noise=NoiseSize(Fraction(model.each), "on a weight"),
        forecast=forecast(model), warning=warning(model),
        theorem="ridge", assumes=assumed("ridge"),
        summarise=partial(summarise, model=model), mechanism=partial(mechanism, model=model),
        says=partial(says, model=model),
    )


def summarise(batches: Iterable[Batch], key: int, *, model: Model) -> Moments:
    """Rows become sums of products; at most the public number of units takes part."""
    from privsieve.methods.ridge.moments import Moments
    from privsieve.summaries.sums import summed

    of = partial(Moments.of, made=model.map, domain=model.domain, most=model.weight)
    # [capped] the divisor is public, so that no more units may take part
    return summed(batches, key, domain=model.domain, zero=Moments.zero(model.map.width), of=of,
                  most=model.units)


def mechanism(summary: Moments, noise: Noise, *, model: Model) -> tuple[int, ...]:
    """Weights meet noise, on the public grid."""
    from privsieve.noise.values import gamma, gaussian

    grid = model.grid
    # [leave]
    exact = grid.integers(weights(summary, model))
    return tuple(gamma(exact, grid, model.epsilon, noise) if model.sigma is None
                 else gaussian(exact, grid, model.sigma, noise))


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
                  "each": shown(model.each)},
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
    from privsieve.public.canonical import LARGEST

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


def _settings(model: Model, kernel: str) -> Mapping[str, Json]:
    said: dict[str, Any] = {name: value for name, value in model.map.json().items()
                            if name != "map"}
    return {"kernel": kernel, "lam": written(model.lam), **said}
