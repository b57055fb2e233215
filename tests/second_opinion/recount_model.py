"""Recount a regression: its features, its grid and its noise, from domain and plan alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from privsieve.check.reasons import failed
from privsieve.public.columns import Category, Column, Date, Number
from privsieve.release import figure
from second_opinion.real import Between, agrees, exponents, gaussian_sigma, used
from second_opinion.recount import Facts, warned

#: The map of each kernel, by its name in a release.
MAPS = {"linear": "linear", "cosine": "cosine", "rbf": "fourier"}
#: What would be 1, over the largest feature.
OVER_ONE = 65536 / 65535
SMALLEST_LAM, LARGEST_LAM = Fraction(1, 10**6), Fraction(10**6)
LARGEST_FEATURES = 1024
#: A prediction is close to noise from this part of half the target's range on.
PURE_NOISE = 0.5


def reasons(facts: Facts) -> Iterator[str]:
    """What of a regression does not follow from domain and plan."""
    settings, release = facts.settings, facts.release
    own = {name: value for name, value in settings.items() if name not in ("kernel", "lam")}
    target = facts.domain.target
    yield from failed({
        "a regression is planned for a target that is no number": isinstance(target, Number),
        "the planned ridge is beyond what may be asked for":
            SMALLEST_LAM <= Fraction(settings["lam"]) <= LARGEST_LAM,
        "the features of the release are not the planned ones":
            release["features"] == {"map": MAPS[settings["kernel"]], **own},
        "the release does not name all columns":
            list(release["selected"]) == list(facts.domain.names),
        "a formula does not hold queries and answers":
            not {"queries", "answers"} & release.keys(),
    })
    slots, width = sizes(facts.columns, settings["kernel"], settings)
    if settings["features"] != width or Fraction(settings["lam"]) <= 0:
        yield "the number of features does not follow from the columns"
        return
    yield from _noise(facts, slots, width)


def sizes(columns: Sequence[Column], kernel: str, settings: Mapping[str, Any]) -> tuple[int, int]:
    """How many slots and features a map has; too many are told as 0.

    >>> from privsieve.public.columns import Flag
    >>> sizes([Flag("a"), Flag("b")], "cosine", {"degree": 2})
    (3, 3)
    """
    if kernel == "rbf":
        features = settings["features"]
        return (features // 2, features) if features % 2 == 0 else (0, 0)
    degree = settings["degree"]
    if kernel == "linear" and degree != 1:
        return 0, 0
    alone = [1, 1]
    for column in columns:
        waves = degree if isinstance(column, Number | Date) else 1
        alone = [alone[0] + waves,
                 alone[1] + sum(_wide(column, wave) for wave in range(1, waves + 1))]
    return (alone[0], alone[1]) if alone[1] <= LARGEST_FEATURES else (0, 0)


def _wide(column: Column, wave: int) -> int:
    if isinstance(column, Number | Date):
        return 2 if column.missing_level and wave == 1 else 1
    return column.levels if isinstance(column, Category) else 1


def moved(lam: float, units: int) -> float:
    """How far one record moves the function, in the norm of its space.

    >>> round(moved(0.1, 10_000), 6)
    0.005162
    """
    shrunk = min(1 / lam, math.sqrt(units / lam) / 2)
    return 2 * shrunk * (1 + longest(lam)) / units


def longest(lam: float) -> float:
    """The longest that the function can be."""
    return math.sqrt(1 / lam) / 2


def _noise(facts: Facts, slots: int, width: int) -> Iterator[str]:
    release, forecast = facts.release, facts.forecast
    lam, units = float(Fraction(facts.settings["lam"])), max(1, facts.units)
    epsilon, delta = float(facts.epsilon), float(facts.delta)
    unit = OVER_ONE * math.sqrt(1 / slots)
    wide = Between.about(moved(lam, units) * unit)
    exponent = release["values"]["exponent"]
    on_grid = exponents(width, wide)
    S = used(width, wide, exponent if exponent in on_grid else min(on_grid))
    law, each, length = "gamma-norm", S.times(math.sqrt(width + 1) / epsilon), S.times(
        width / epsilon)
    if delta:
        sigma = gaussian_sigma(epsilon, delta)
        law = "gaussian" if sigma < math.sqrt(width + 1) / epsilon * (1 + 1e-9) else law
        each = S.times(sigma)
        length = each.times(math.sqrt(width))
    prediction = each.times(math.sqrt(slots) / OVER_ONE)
    error = prediction.through(lambda x: math.sqrt(x * x + lam))
    known = {"noise_each": each, "noise_length": length, "noise_prediction": prediction,
             "expected_error": error, "longest": Between.about(longest(lam) * unit)}
    yield from warned(facts, prediction.low, PURE_NOISE)
    yield from failed({
        "the law of the noise is not the one of the claimed delta": release["noise"]["law"] == law,
        "the amount of noise is not the one of the claimed epsilon":
            agrees(release["noise"]["each"], each, write_figure),
        "the grid of the numbers does not follow from their sensitivity": exponent in on_grid,
        "the release does not hold one number for each feature":
            len(release["values"]["q"]) == width,
        "the forecast does not follow from the plan":
            forecast.keys() == known.keys()
            and all(agrees(forecast[name], span, write_figure) for name, span in known.items()),
    })


def write_figure(value: float) -> str:
    """A figure as a formula says it.

    >>> write_figure(0.0312345), write_figure(0.0000312345)
    ('0.0312', '3.123e-05')
    """
    return figure(value, 3, "g") if 0.001 <= value < 1000 else figure(value, 4, "e")
