"""Event: what a plan does with noise, in as many numbers as an accountant needs.

A plan carries its event and a release shows it, so that anybody may work out epsilon, delta and rho
with a program of their own; `check/events.py` does so for `verify`.
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
    """One event; amounts are texts of fractions."""

    def json(self) -> dict[str, Json]:
        """Return the fields as a release shows them.

        >>> Gaussian.of(1, 2, 30).json()
        {'event': 'gaussian', 'd': 30, 'moves': '1', 'sigma': '2'}
        """
        found: dict[str, Json] = msgspec.json.decode(msgspec.json.encode(self))
        return found


class RaceEvent(_Event, frozen=True, tag="race"):
    """Some of d scores are named, by scores with noise on each.

    named : how many positions the noise names one by one
    scale : of the noise, where a unit moves each score by at most 1
    """

    noise: Literal["exponential", "gumbel"]
    d: int
    named: int
    scale: str


class Additive(_Event, frozen=True, tag="additive"):
    """Numbers leave with noise whose chance falls by e for each `scale` of distance.

    moves : how far a unit moves all numbers, in the norm of the law
    threshold : where only counts from here on are named
    rows : what the rows of a unit count at most, where there is a threshold
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
        """Write down the amounts."""
        return cls(noise, str(Fraction(moves)), str(scale), threshold, rows)


class Gaussian(_Event, frozen=True, tag="gaussian"):
    """d numbers leave with Gaussian noise; a unit moves them by `moves` in the Euclidean norm."""

    d: int
    moves: str
    sigma: str

    @classmethod
    def of(cls, moves: Fraction | int, sigma: Fraction | int, d: int) -> Gaussian:
        """Write down the amounts."""
        return cls(d, str(Fraction(moves)), str(Fraction(sigma)))


class Objective(_Event, frozen=True, tag="objective"):
    """A convex problem of `rows` losses meets a random linear term, its solution a second noise.

    term : the rate of the linear term; partitions : how many of the losses a unit decides
    ridge : how strongly weights are held small, with what was added for the noise
    moves, scale : of the second noise, which covers the error of the solver
    """

    rows: int
    partitions: int
    ridge: str
    term: str
    moves: str
    scale: str


class Together(_Event, frozen=True, tag="together"):
    """All of these events happen."""

    events: tuple[Event, ...]


class Either(_Event, frozen=True, tag="either"):
    """One of these events happens; which one is decided by what was released before."""

    events: tuple[Event, ...]


Event = RaceEvent | Additive | Gaussian | Objective | Together | Either
#: A release that reads no row.
NOTHING = Together(())


def together(*events: Event) -> Event:
    """Join events in one row; one alone stays as it is."""
    row = tuple(each for event in events
                for each in (event.events if isinstance(event, Together) else (event,)))
    return row[0] if len(row) == 1 else Together(row)


def either(events: Iterable[Event]) -> Event:
    """Join the events of several branches; equal ones are one."""
    found = tuple(dict.fromkeys(events))
    return found[0] if len(found) == 1 else Either(found)
