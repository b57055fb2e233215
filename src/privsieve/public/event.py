"""Event: what a plan does with noise, in the numbers that a privacy accountant needs.

A plan and its release contain the event, so that anyone can compute epsilon, delta and rho with
another program.  `check/events.py` does so for `verify`.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Literal

import msgspec
from msgspec import Struct

from privsieve.public.canonical import Json


class _Event(Struct, frozen=True, tag_field="event", forbid_unknown_fields=True,
             omit_defaults=True):
    """An event; amounts are fractions as texts."""

    def json(self) -> dict[str, Json]:
        """Return the fields as a release shows them.

        >>> Gaussian.of(1, 2, 30).json()
        {'event': 'gaussian', 'd': 30, 'moves': '1', 'sigma': '2'}
        """
        fields: dict[str, Json] = msgspec.json.decode(msgspec.json.encode(self))
        return fields


class RaceEvent(_Event, frozen=True, tag="race"):
    """The selection of some of d scores, with noise on each score.

    named : the number of positions that the noise selects one by one
    scale : the scale of the noise, if a unit moves each score by at most 1
    """

    noise: Literal["exponential", "gumbel"]
    d: int
    named: int
    scale: str


class Additive(_Event, frozen=True, tag="additive"):
    """The release of numbers with noise whose density falls by e for each `scale` of distance.

    moves : the distance that a unit moves the numbers, in the norm of the law
    threshold : the least released count, if there is one
    rows : the largest count of the rows of a unit, if there is a threshold
    """

    noise: Literal["laplace", "discrete-laplace", "gamma-norm"]
    moves: str
    scale: str
    threshold: int | None = None
    rows: int | None = None

    @classmethod
    def of(cls, noise: Literal["laplace", "discrete-laplace", "gamma-norm"],
           moves: Fraction | int, scale: Fraction, *, threshold: int | None = None,
           rows: int | None = None) -> Additive:
        """Return an event with the amounts as texts."""
        return cls(noise, str(Fraction(moves)), str(scale), threshold, rows)


class Gaussian(_Event, frozen=True, tag="gaussian"):
    """The release of d numbers with Gaussian noise; a unit moves them by `moves` (Euclidean)."""

    d: int
    moves: str
    sigma: str

    @classmethod
    def of(cls, moves: Fraction | int, sigma: Fraction | int, d: int) -> Gaussian:
        """Return an event with the amounts as texts."""
        return cls(d, str(Fraction(moves)), str(Fraction(sigma)))


class Objective(_Event, frozen=True, tag="objective"):
    """The release of a perturbed minimum: a random linear term, then noise on the solution.

    rows : the number of losses; partitions : the number of losses that depend on one unit
    term : the rate of the linear term
    ridge : the strength of the ridge penalty, with the amount that the noise needs
    moves, scale : the second noise, which covers the error of the solver
    """

    rows: int
    partitions: int
    ridge: str
    term: str
    moves: str
    scale: str


class Together(_Event, frozen=True, tag="together"):
    """All of these events."""

    events: tuple[Event, ...]


class Either(_Event, frozen=True, tag="either"):
    """One of these events, chosen by what was released before."""

    events: tuple[Event, ...]


Event = RaceEvent | Additive | Gaussian | Objective | Together | Either
#: The event of a release that reads no rows.
NOTHING = Together(())


def together(*events: Event) -> Event:
    """Join events; a single event stays as it is."""
    row = tuple(each for event in events
                for each in (event.events if isinstance(event, Together) else (event,)))
    return row[0] if len(row) == 1 else Together(row)


def either(events: Iterable[Event]) -> Event:
    """Join the events of several branches; merge equal ones."""
    distinct = tuple(dict.fromkeys(events))
    return distinct[0] if len(distinct) == 1 else Either(distinct)
