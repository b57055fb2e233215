"""Events: compute epsilon, delta and rho of a plan from its event.

This code is independent of the code that plans and draws noise.  Pure amounts are added as
fractions.  Formulas with a delta are evaluated in floats, with a relative error below `NEAR`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from privsieve.check.reasons import Unreadable
from privsieve.public.event import Additive, Either, Event, Gaussian, Objective, RaceEvent, Together

#: The largest relative error of an amount in floats.
NEAR = 1e-6
#: The most events of a plan, and the most names of a race that are counted again.
MOST_EVENTS, MOST_NAMED = 64, 4096


class Amounts(NamedTuple):
    """The privacy cost of events.

    epsilon : the sum of the pure events; rho : the sum of all, None if one is not known
    rest : the event with a delta, if there is one
    """

    epsilon: Fraction
    rho: float | None
    rest: Gaussian | RaceEvent | Additive | None = None


def holds(event: Event, epsilon: Fraction, delta: Fraction) -> bool:
    """Return whether an event is (epsilon, delta)-DP, up to the error of floats.

    >>> from privsieve.public.event import Additive
    >>> count = Additive.of("discrete-laplace", 2, Fraction(4))
    >>> holds(count, Fraction(1, 2), Fraction(0)), holds(count, Fraction(1, 3), Fraction(0))
    (True, False)
    """
    branches = _branches(event)
    spends = any(_added(branch).rest is not None for branch in branches)
    return spends == (delta > 0) and all(_holds(branch, epsilon, delta) for branch in branches)


def rho_of(event: Event) -> float | None:
    """Return the most rho that an event spends; None if it is not known.

    >>> from privsieve.public.event import Gaussian
    >>> rho_of(Gaussian.of(1, 2, 30))
    0.125
    """
    each = [_added(branch).rho for branch in _branches(event)]
    return None if None in each else max(rho for rho in each if rho is not None)


def _holds(events: tuple[Event, ...], epsilon: Fraction, delta: Fraction) -> bool:
    amounts = _added(events)
    left = epsilon - amounts.epsilon
    if left < -epsilon * Fraction(NEAR):
        return False
    if isinstance(amounts.rest, Additive):  # its counts cost epsilon, too
        left -= _fraction(amounts.rest.moves) / _fraction(amounts.rest.scale)
        return left >= -epsilon * Fraction(NEAR) and threshold_delta(
            amounts.rest) <= float(delta) * (1 + NEAR)
    return amounts.rest is None or _lost(amounts.rest, float(left)) <= float(delta) * (1 + NEAR)


def _branches(event: Event) -> list[tuple[Event, ...]]:
    """Return the events of each branch of a plan."""
    if isinstance(event, Either):
        branches = [branch for part_event in event.events for branch in _branches(part_event)]
    elif isinstance(event, Together):
        branches = [()]
        for part_event in event.events:
            branches = [(*before, *after) for before in branches for after in _branches(part_event)]
            if len(branches) > MOST_EVENTS:
                break
    else:
        branches = [(event,)]
    if not 0 < len(branches) <= MOST_EVENTS:
        raise Unreadable("the plan has no events, or too many")
    return branches


def _added(events: Iterable[Event]) -> Amounts:
    epsilon, rho, rest = Fraction(0), 0.0, None
    for event in events:
        pure, own = _amounts_of(event)
        epsilon += pure or 0
        rho += own if own is not None else math.nan
        if pure is None:
            if rest is not None:
                raise Unreadable("the plan spends a delta twice")
            rest = event
    return Amounts(epsilon, None if math.isnan(rho) else rho, rest)  # type: ignore[arg-type]


def _amounts_of(event: Event) -> tuple[Fraction | None, float | None]:
    """Return epsilon, None unless the event is pure, and rho, None if it is not known."""
    if isinstance(event, Gaussian):
        return None, float(_fraction(event.moves) ** 2 / (2 * _fraction(event.sigma) ** 2))
    if isinstance(event, RaceEvent):
        if not event.named:
            return Fraction(0), 0.0
        if event.noise == "gumbel":
            # each name is a choice of range 2 / scale
            return None, float(event.named / (2 * _fraction(event.scale) ** 2))
        epsilon = 2 * event.named / _fraction(event.scale)
    elif isinstance(event, Additive):
        epsilon = _fraction(event.moves) / _fraction(event.scale)
        if event.threshold is not None:
            return None, None
    else:
        assert isinstance(event, Objective)
        epsilon = (_fraction(event.term) + _fraction(event.moves) / _fraction(event.scale)
                   + _volume(event))
    return epsilon, float(epsilon**2 / 2)


def _volume(event: Objective) -> Fraction:
    """Return the cost of the random term beyond its rate: how much a unit stretches volumes."""
    rows = event.rows * event.partitions
    return Fraction(event.partitions * math.log1p(
        0.25 / (rows * 2 * float(_fraction(event.ridge)))))


def _fraction(text: str) -> Fraction:
    if not 0 < len(text) <= 1000:
        raise Unreadable("an amount of the planned event is not a number")
    amount = Fraction(text)
    if amount <= 0:
        raise Unreadable("an amount of the planned event is not above 0")
    return amount


def _lost(event: Gaussian | RaceEvent, epsilon: float) -> float:
    """Return the delta of an event at an epsilon."""
    if isinstance(event, Gaussian):
        sigma = float(_fraction(event.sigma) / _fraction(event.moves))
        return gaussian_delta(sigma, epsilon)
    return race_delta(event.named, 2 / float(_fraction(event.scale)), epsilon)


def gaussian_delta(sigma: float, epsilon: float) -> float:
    """Return the delta of Gaussian noise at sensitivity 1 (Balle and Wang 2018).

    >>> round(gaussian_delta(4.224679, 1.0) * 1e6, 4)
    1.0
    """
    half, shift = 1 / (2 * sigma), epsilon * sigma
    return math.exp(_log_tail(shift - half)) - math.exp(epsilon + _log_tail(shift + half))


def _log_tail(x: float) -> float:
    """Return the logarithm of P(N > x) of a standard normal N, also for large x."""
    x /= math.sqrt(2)
    if x < 20:
        return math.log(math.erfc(x) / 2)
    y = 1 / (2 * x * x)
    return -x * x - math.log(2 * x * math.sqrt(math.pi)) + math.log1p(-y + 3 * y * y - 15 * y**3)


def race_delta(named: int, eta: float, epsilon: float) -> float:
    """Return a lower bound on the delta of `named` adaptive choices of range eta, on a grid.

    A choice of range eta loses t or t - eta for some t, with the probabilities that privacy allows.

    >>> race_delta(20, 2 / 18.77, 1.0) < 1e-6 < race_delta(20, 2 / 18, 1.0)
    True
    """
    import numpy as np

    if not 0 < named <= MOST_NAMED:
        raise Unreadable("the plan selects too many names to recount")
    fine = max(2, min(24, 4096 // named))
    t = np.arange(fine + 1) * eta / fine
    # the probability of the loss t; the loss is t - eta otherwise
    chance = -np.expm1(t - eta) / -math.expm1(-eta)
    size = named * fine
    lost = np.maximum(0.0, -np.expm1(epsilon + np.arange(-size, size + 1) * eta / fine))
    for left in range(named - 1, -1, -1):
        places = np.arange(size - left * fine, size + left * fine + 1)
        lost[places] = np.max([p * lost[places - i] + (1 - p) * lost[places - i + fine]
                               for i, p in enumerate(chance)], axis=0)
    return float(lost[size])


def threshold_delta(event: Additive) -> float:
    """Return the delta of naming only cells whose noisy count reaches a threshold.

    >>> count = Additive("discrete-laplace", "1", "2", threshold=28, rows=1)
    >>> threshold_delta(count) < 1e-6 < threshold_delta(Additive("discrete-laplace", "1", "2",
    ...                                                          threshold=26, rows=1))
    True
    """
    scale, rows = float(_fraction(event.scale)), event.rows
    if event.threshold is None or rows is None or not 0 < rows < event.threshold:
        raise Unreadable("the threshold of the plan is missing, or too small for its rows")
    each = [math.exp(-(event.threshold - most) / scale) * times
            for most, times in ((1, rows), (rows, 1))]
    return max(each) / (1 + math.exp(-1 / scale))
