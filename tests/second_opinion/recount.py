"""Recount: all of a release that follows from its domain and its plan, by code of the checker.

Nothing here is shared with what plans, sizes noise or draws it; a reason is a sentence that quotes
nothing of the files.  What each module recounts it recounts from `Facts`: what is public of a
release, read from its two files.  What each theorem assumes its method says, which a test
holds against the lines `assumes:` and `rests on:` of the proofs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import Any

from every_method import THEOREMS
from privsieve.check.reasons import failed
from privsieve.check.replan import domain_of
from privsieve.public.canonical import RHO_UNITS, TOP
from privsieve.public.columns import Column, Label
from privsieve.public.domain import LARGEST_ROWS, Domain
from privsieve.public.plan import LARGEST_EPSILON, UNIT

#: The module that recounts a method or a kind; loaded when it is asked for.
KINDS = {"selection": "recount_choice", "weights": "recount_weights", "histogram": "recount_table",
         "kernel-ridge": "recount_model", "kernel-ridge-session": "recount_answers"}
#: The theorem of each method, by its name without a version.
OF_METHOD: Mapping[str, str] = {
    "block-fwell": "block-fwell",
    "felp": "felp",
    "kernel-ridge": "ridge",
    "kernel-ridge-session": "kernel-ridge-answers",
    "noisy-histogram": "noisy-histogram",
    "noisy-top-k": "noisy-top-k",
    "objective-fwell": "objective-fwell",
    "output-fwell": "output-fwell",
    "rule-sieve": "rule-sieve",
    "rule-sieve-numeric": "rule-sieve-numeric",
}
#: How far a rho may be off that is recounted in floats.
_NEAR = 1e-7


def release_reasons(release: Mapping[str, Any], claim: Mapping[str, Any]) -> Iterator[str]:
    """What of a release does not follow from its domain and plan."""
    kind, facts = claim["kind"], Facts.of(release)
    yield from common(facts, claim)
    yield from claim_reasons(claim, release["plan"])
    module = KINDS[facts.method if kind == "regression" else kind]
    yield from import_module(f"second_opinion.{module}").reasons(facts)
    if kind == "histogram" and facts.settings["choice"] is not None:
        from second_opinion import recount_choice

        yield from recount_choice.plan_reasons(facts.settings["choice"], facts.domain)


def rho_holds(rho: Fraction | None, claim: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    """Whether the rho of a plan is that of its noise.

    A pure release spends half the square of its epsilon, a Gaussian one what its sigma says; of a
    race with a delta only bounds are recounted.
    """
    epsilon, delta = Fraction(claim["epsilon"]), Fraction(claim["delta"])
    units = None if rho is None else rho * RHO_UNITS
    most = min(TOP, -(-epsilon**2 * RHO_UNITS // 2))
    if not delta:
        return units == most
    if claim["kind"] == "histogram":
        return units is None
    if units is None:
        return False
    if claim["kind"] == "selection":
        return 0 < units <= most
    from second_opinion.real import gaussian_sigma

    sigma = gaussian_sigma(float(epsilon), float(delta))
    spent = RHO_UNITS / (2 * sigma * sigma)
    return abs(float(units) - spent) <= spent * _NEAR + 1


# --- facts ----------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Facts:
    """What follows from the files of a release that an epsilon was paid for."""

    release: Mapping[str, Any]
    plan: Mapping[str, Any]
    domain: Domain

    @classmethod
    def of(cls, release: Mapping[str, Any]) -> Facts:
        """The facts of a release whose form was checked."""
        return cls(release, release["plan"], domain_of(release["domain"]))

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of the plan."""
        actual_settings: Mapping[str, Any] = self.plan["settings"]
        return actual_settings

    @property
    def forecast(self) -> Mapping[str, Any]:
        """The forecast of the release."""
        actual_forecast: Mapping[str, Any] = self.release["forecast"]
        return actual_forecast

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


def claim_reasons(claim: Mapping[str, Any], plan: Mapping[str, Any]) -> Iterator[str]:
    """What of a claim does not follow from its plan."""
    theorem = OF_METHOD[str(plan["method"]).partition("/")[0]]
    epsilon, delta = Fraction(claim["epsilon"]), Fraction(claim["delta"])
    return failed({
        "the theorem is not the one that covers the method": claim["theorem"] == theorem,
        "the assumptions are not those of the theorem":
            list(claim["assumes"]) == list(THEOREMS[theorem]),
        "the claimed epsilon is beyond what may be asked for": epsilon <= LARGEST_EPSILON,
        "the claimed delta is not below 1": delta < 1,
        "nothing is claimed for a release that has noise":
            epsilon > 0 or claim["kind"] == "selection",
    })
