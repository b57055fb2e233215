"""Events: what a plan does with noise comes to, in epsilon, delta and rho.

Nothing here is shared with what plans, sizes noise or draws it.  Pure amounts are added up as
fractions; where a delta is spent the formulas are evaluated in floats, and may be off by `NEAR`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from privsieve.check.reasons import Unreadable
from privsieve.public.event import Additive, Either, Event, Gaussian, Objective, RaceEvent, Together

#: How far an amount in floats may be off, relatively.
NEAR = 1e-6
#: More events than these are no plan of ours; and so many names of a race are followed.
MOST_EVENTS, MOST_NAMED = 64, 4096


class Amounts(NamedTuple):
    """What events come to.

    epsilon : of all events that are pure; rho : of all, None where one has none that is known
    rest : the one event with a delta, where there is one
    """

    epsilon: Fraction
    rho: float | None
    rest: Gaussian | RaceEvent | Additive | None = None


def holds(event: Event, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether an event is (epsilon, delta)-DP, as far as floats can tell.

    >>> from privsieve.public.event import Additive
    >>> count = Additive.of("discrete-laplace", 2, Fraction(4))
    >>> holds(count, Fraction(1, 2), Fraction(0)), holds(count, Fraction(1, 3), Fraction(0))
    (True, False)
    """
    branches = _branches(event)
    spends = any(_added(branch).rest is not None for branch in branches)
    return spends == (delta > 0) and all(_holds(branch, epsilon, delta) for branch in branches)


def rho_of(event: Event) -> float | None:
    """What an event spends as concentrated privacy, at most; None where that is not known.

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
    """The events of each way that a plan may go."""
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
        raise Unreadable("the plan has more events than a plan can have")
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
    """The epsilon of an event that is pure, and its rho."""
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
    """What the random term costs beyond its rate: how far a unit stretches volumes."""
    rows = event.rows * event.partitions
    return Fraction(event.partitions * math.log1p(
        0.25 / (rows * 2 * float(_fraction(event.ridge)))))


def _fraction(text: str) -> Fraction:
    if not 0 < len(text) <= 1000:
        raise Unreadable("an amount of the planned event is none")
    amount = Fraction(text)
    if amount <= 0:
        raise Unreadable("an amount of the planned event is not above 0")
    return amount


def _lost(event: Gaussian | RaceEvent, epsilon: float) -> float:
    """The delta of an event at an epsilon."""
    if isinstance(event, Gaussian):
        sigma = float(_fraction(event.sigma) / _fraction(event.moves))
        return gaussian_delta(sigma, epsilon)
    return race_delta(event.named, 2 / float(_fraction(event.scale)), epsilon)


def gaussian_delta(sigma: float, epsilon: float) -> float:
    """The delta of Gaussian noise at sensitivity 1 (Balle and Wang 2018).

    >>> round(gaussian_delta(4.224679, 1.0) * 1e6, 4)
    1.0
    """
    half, shift = 1 / (2 * sigma), epsilon * sigma
    return math.exp(_log_tail(shift - half)) - math.exp(epsilon + _log_tail(shift + half))


def _log_tail(x: float) -> float:
    """The logarithm of the chance that a standard normal number is above x, far out as well."""
    x /= math.sqrt(2)
    if x < 20:
        return math.log(math.erfc(x) / 2)
    y = 1 / (2 * x * x)
    return -x * x - math.log(2 * x * math.sqrt(math.pi)) + math.log1p(-y + 3 * y * y - 15 * y**3)


def race_delta(named: int, eta: float, epsilon: float) -> float:
    """The delta of so many adaptive choices of range eta, from below: on a grid of losses.

    A choice of range eta loses t or t - eta for some t, with the chances that make it private.

    >>> race_delta(20, 2 / 18.77, 1.0) < 1e-6 < race_delta(20, 2 / 18, 1.0)
    True
    """
    import numpy as np

    if not 0 < named <= MOST_NAMED:
        raise Unreadable("the planned race names more than can be counted again")
    fine = max(2, min(24, 4096 // named))
    t = np.arange(fine + 1) * eta / fine
    # the loss is t with this chance, and t - eta else: both follow from what privacy allows
    chance = -np.expm1(t - eta) / -math.expm1(-eta)
    size = named * fine
    lost = np.maximum(0.0, -np.expm1(epsilon + np.arange(-size, size + 1) * eta / fine))
    for left in range(named - 1, -1, -1):
        places = np.arange(size - left * fine, size + left * fine + 1)
        lost[places] = np.max([p * lost[places - i] + (1 - p) * lost[places - i + fine]
                               for i, p in enumerate(chance)], axis=0)
    return float(lost[size])


def threshold_delta(event: Additive) -> float:
    """The delta of naming only cells whose noisy count reaches a threshold.

    >>> count = Additive("discrete-laplace", "1", "2", threshold=28, rows=1)
    >>> threshold_delta(count) < 1e-6 < threshold_delta(Additive("discrete-laplace", "1", "2",
    ...                                                          threshold=26, rows=1))
    True
    """
    scale, rows = float(_fraction(event.scale)), event.rows
    if event.threshold is None or rows is None or not 0 < rows < event.threshold:
        raise Unreadable("the threshold of the plan is none")
    each = [math.exp(-(event.threshold - most) / scale) * times
            for most, times in ((1, rows), (rows, 1))]
    return max(each) / (1 + math.exp(-1 / scale))
