"""Facts: what is public of a release, read from its two files, for all that is recounted.

The domain is built anew from what the release says of it; a domain that could not have been
declared is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from privsieve.check.reasons import Unreadable, failed
from privsieve.errors import DomainError
from privsieve.frozen import dataclass
from privsieve.public.columns import Column, Label
from privsieve.public.domain import LARGEST_ROWS, Domain, part_of
from privsieve.public.plan import UNIT


@dataclass(frozen=True)
class Facts:
    """What follows from the files of a release that an epsilon was paid for.

    before : whether version 0.1.0 wrote it
    """

    release: Mapping[str, Any]
    plan: Mapping[str, Any]
    domain: Domain
    before: bool

    @classmethod
    def of(cls, release: Mapping[str, Any], *, before: bool) -> Facts:
        """The facts of a release whose form was checked."""
        return cls(release, release["plan"], domain_of(release["domain"]), before)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of the plan."""
        found: Mapping[str, Any] = self.plan["settings"]
        return found

    @property
    def forecast(self) -> Mapping[str, Any]:
        """The forecast of the release."""
        found: Mapping[str, Any] = self.release["forecast"]
        return found

    @property
    def epsilon(self) -> Fraction:
        """The whole epsilon."""
        return Fraction(self.plan["epsilon"])

    @property
    def delta(self) -> Fraction:
        """The whole delta."""
        return Fraction(self.plan["delta"])

    @property
    def units(self) -> int:
        """How many rows or persons shaped the method."""
        return int(self.plan["units"])

    @property
    def method(self) -> str:
        """The method without its version."""
        return str(self.plan["method"]).partition("/")[0]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the domain."""
        return tuple(self.domain.columns)


def domain_of(said: Mapping[str, Any]) -> Domain:
    """The domain that a release says; what nobody could have declared is refused."""
    try:
        columns: Any = [part_of(part) for part in said["columns"]]
        target: Any = None if said["target"] is None else part_of(said["target"])
        rows: Any = said["rows_per_person"]
        made = Domain(columns, target, person=said["person"], neighbours=said["neighbours"],
                      rows_per_person=1 if rows is None else rows, rows=said["rows"],
                      persons=said["persons"])
        same = made.json() == dict(said)
    except (DomainError, ValueError, TypeError, ArithmeticError):
        same = False
    if not same:
        raise Unreadable("the domain of the release is none that could have been declared")
    return made


def common(facts: Facts, claim: Mapping[str, Any]) -> Iterator[str]:
    """What has to hold of a release of any kind that an epsilon was paid for."""
    domain, units = facts.domain, facts.units
    person = domain.person is not None
    declared = domain.persons if person else None if domain.replaces else domain.rows
    return failed({
        "the columns of the release are not those of its domain":
            list(facts.release["columns"]) == list(domain.names),
        "the claimed unit is not the one of the domain":
            (claim["unit"] == UNIT["person"]) == person,
        "the claimed neighbours are not those of the domain":
            claim["neighbours"] == domain.neighbours,
        "the number of units is not the one that the domain declares":
            units <= LARGEST_ROWS and (units == declared or (
                declared is None and not person and domain.replaces)),
        "the claimed delta would let a whole unit out": facts.delta * units < 1,
    })


def warned(facts: Facts, figure: float, limit: float) -> Iterator[str]:
    """Whether a release warns where a public figure is beyond a limit, and only there."""
    if abs(figure - limit) > 1e-6 * limit and (figure > limit) != (
            facts.release["warning"] is not None):
        yield "the release does not warn of what its plan foresees, or warns of something else"


def classes_of(domain: Domain) -> int:
    """How many classes the target has; 0 where it is no label."""
    return len(domain.target.values) if isinstance(domain.target, Label) else 0
