"""Recount released weights: how many vectors, how far one unit moves the weights, the noise.

The bound of two moves is a maximum that a maker rounds up by at most 2^-16 of its square, so that
its figures lie in a narrow span.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from privsieve.check.reasons import failed
from second_opinion.real import (
    FINENESS,
    Between,
    agrees,
    exponents,
    gaussian_sigma,
    power,
    radius,
    reach,
    solver_error,
    used,
)
from second_opinion.recount import Facts, classes_of, warned

PART_UNITS, MOST_PARTS = 16_384, 1024
#: What a random linear term leaves of epsilon, and the part that goes to a second noise.
SECOND = 0.01
SMALLEST_LAM, LARGEST_LAM = Fraction(1, 10**6), Fraction(10**6)


@dataclass(frozen=True)
class Sized:
    """What noise a release of weights has to have.

    each, length : the standard deviation of one number, and the mean length of all
    """

    law: str
    each: Between
    length: Between
    exponents: set[int]
    second: Between | None = None
    longest: Between | None = None


def reasons(facts: Facts) -> Iterator[str]:
    """What of released weights does not follow from domain and plan."""
    settings, d = facts.settings, len(facts.columns)
    k, lam, clip = settings["k"], Fraction(settings["lam"]), Fraction(settings["clip"])
    yield from failed({
        "the plan names more columns than the domain has": k == "positive" or k <= d,
        "weights are planned for a target without classes": classes_of(facts.domain) > 0,
        "the planned ridge or length is beyond what may be asked for":
            SMALLEST_LAM <= lam <= LARGEST_LAM and Fraction(1, 65535) <= clip and clip**2 <= d,
        "a block is planned for units that stand alone, or none for others":
            (settings["block"] is None) == (settings["reference"] is not None),
        "the weights of units that stand alone are planned more than once":
            settings["reference"] is None or settings.get("repeats", 1) == 1,
    })
    if any(not 0 < share <= 1 for share in [Fraction(settings.get("beta", 1))]) or not (
            SMALLEST_LAM <= lam <= LARGEST_LAM):
        yield "the planned share of the units is none"
        return
    if settings["vectors"] != vectors(facts):
        yield "the number of vectors does not follow from the number of units"
        return
    yield from _noise(facts, sized(facts))


def _noise(facts: Facts, numbers: Sized) -> Iterator[str]:
    forecast, release = facts.forecast, facts.release
    longest = numbers.longest or Between.about(radius(float(Fraction(facts.settings["lam"]))))
    second = facts.settings.get("second_ridge")
    yield from warned(facts, numbers.length.low, longest.high)
    yield from failed({
        "the law of the noise is not the one of the claimed delta":
            release["noise"]["law"] == numbers.law,
        "the amount of noise is not the one of the claimed epsilon":
            agrees(release["noise"]["each"], numbers.each),
        "the forecast of the noise is not the noise":
            forecast["noise_each"] == release["noise"]["each"]
            and agrees(forecast["noise_length"], numbers.length),
        "the forecast of the weights does not follow from the ridge":
            agrees(forecast["longest"], longest),
        "the grid of the numbers does not follow from their sensitivity":
            release["values"]["exponent"] in numbers.exponents,
        "the second ridge does not follow from the claimed epsilon":
            second is None or (numbers.second is not None and agrees(second, numbers.second)),
        "the release does not hold one weight for each column":
            len(release["values"]["q"]) == len(facts.columns),
    })


def vectors(facts: Facts) -> int:
    """How many rows a repeat, or a member, has."""
    settings, units = facts.settings, facts.units
    taken = int(Fraction(settings.get("beta", 1)) * units)
    if settings["reference"] is not None:
        return max(1, taken)
    parts = min(MOST_PARTS, -(-units // PART_UNITS))
    return max(1, taken // (int(settings["block"]) * parts)) * parts


def sized(facts: Facts) -> Sized:
    """The noise that follows from the plan."""
    settings, d = facts.settings, len(facts.columns)
    lam, rows = float(Fraction(settings["lam"])), int(settings["vectors"])
    if facts.method == "objective-fwell":
        return _objective(lam, rows, facts)
    r, times = radius(lam), int(settings.get("repeats", 1))
    share, wide = _share(facts), reach(r)
    error = 2 * solver_error(lam, rows * times, d, r)
    moved = Between(min(share * wide.low / (2 * lam), 2 * r) * (1 - 1e-9) + error,
                 min(share * wide.high / (2 * lam), 2 * r) * (1 + 1e-9) + error)
    epsilon, delta = float(facts.epsilon), float(facts.delta)
    exponent = facts.release["values"]["exponent"]
    ends = exponents(d, moved)
    known = set(range(min(ends), max(ends) + 1))
    S = used(d, moved, exponent if exponent in known else min(known))
    if not delta:
        return Sized("gamma-norm", S.times(math.sqrt(d + 1) / epsilon), S.times(d / epsilon), known)
    sigma = gaussian_sigma(epsilon, delta)
    # a delta is spent only where it makes the noise shorter
    law = "gaussian" if sigma**2 * epsilon**2 < d * (1 + 1e-9) else "gamma-norm"
    unit = Between.about(1.0)
    each = Between(S.low * sigma * unit.low, S.high * sigma * unit.high)
    return Sized(law, each, each.times(math.sqrt(d)), known)


def _share(facts: Facts) -> float:
    """The share of one unit in the weights."""
    settings, rows = facts.settings, int(facts.settings["vectors"])
    if facts.method != "felp":
        return 1 / rows
    times = int(settings["resamples"])
    return math.ceil(times * Fraction(settings["beta"])) / (times * rows)


def _objective(lam: float, rows: int, facts: Facts) -> Sized:
    """The noise inside of the problem, and the small one that covers the solver's error."""
    d, times = len(facts.columns), int(facts.settings["repeats"])
    second = float(facts.epsilon) * SECOND
    epsilon = float(facts.epsilon) - second
    volume = math.log1p(0.25 / (rows * 2 * lam) / times) * times
    left, rest = epsilon - volume, 0.0
    if left < epsilon / 2:
        grown = math.expm1(epsilon / (2 * times)) * rows * times
        left, rest = epsilon / 2, max(0.0, 0.25 / grown - 2 * lam)
    half = lam + rest / 2
    near = solver_error(half, rows * times, d, 1 / (2 * half))
    per = (math.isqrt(d) + 1) / (4 * rows * half)
    # the power of two may be told one too small
    away = [near + per * 2.0 ** (power(near / per) - at - FINENESS) for at in (1, 0)]
    fine = exponents(d, Between(2 * away[0] * (1 - 1e-9), 2 * away[1] * (1 + 1e-9)))
    moved = [used(d, Between.about(2 * distance), one_k) for distance in away for one_k in fine]
    first = 1 / (left * rows * half)
    scale = Between((first + min(distance.low for distance in moved) / second) * (1 - 1e-9),
                 (first + max(distance.high for distance in moved) / second) * (1 + 1e-9))
    coarse = [power(scale.low * (math.isqrt(d) + 1)) + at - FINENESS for at in (0, 1)]
    known = {max(noise, other) for noise in fine for other in coarse}
    return Sized("gamma-norm", scale.times(math.sqrt(d + 1)), scale.times(d), known,
                 Between.about(2 * (half - lam)) if rest else Between(0.0, 0.0),
                 Between.about(radius(half)))

