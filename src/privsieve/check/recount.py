"""Recount: all of a release that follows from its domain and its plan, by code of the checker.

Nothing here is shared with what plans, sizes noise or draws it; a reason is a sentence that quotes
nothing of the files.  What each module recounts it recounts from `Facts`: what is public of a
release, read from its two files.  What each theorem rests on stands in `public.plan`, which a test
holds against the lines `assumes:` and `rests on:` of the proofs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from importlib import import_module
from typing import Any

from privsieve.check.certificate import of_first
from privsieve.check.reasons import Unreadable, failed
from privsieve.check.schema import release_faults
from privsieve.errors import DomainError
from privsieve.frozen import dataclass
from privsieve.public.canonical import RHO_UNITS, TOP
from privsieve.public.columns import Column, Label
from privsieve.public.domain import LARGEST_ROWS, Domain, part_of
from privsieve.public.plan import LARGEST_EPSILON, SENTENCES, THEOREMS, UNIT

#: The module that recounts a method or a kind; loaded when it is asked for.
KINDS = {"selection": "recount_choice", "weights": "recount_weights", "histogram": "recount_table",
         "kernel-ridge": "recount_model", "kernel-ridge-session": "recount_answers",
         "containment": "containment"}
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
    "rule-sieve-votes": "rule-sieve-votes",
}
#: What is asked for beside a choice, and the theorem that then covers both; the first one counts.
BESIDE: Mapping[str, str] = {"sure": "sure-count", "describe": "described"}
#: How far a rho may be off that is recounted in floats.
_NEAR = 1e-7
#: The share of epsilon that a race by scores spends on class counts.
COUNTED = Fraction(1, 20)
#: Settings that say what a choice is among.
WISHES = ("always", "never", "groups")


def release_reasons(body: Mapping[str, Any], release: Mapping[str, Any]) -> Iterator[str]:
    """What of a release is not of its form, or does not follow from its domain and plan."""
    before, kind = of_first(body), body["claim"]["kind"]
    faults = list(release_faults(release, kind, before=before))
    yield from faults
    if faults:
        return
    facts = Facts.of(release, before=before)
    yield from common(facts, body["claim"])
    if not _in_order(facts):
        yield "the release names columns in another order than the table's, which is not released"
    module = KINDS[facts.method if kind == "regression" else kind]
    yield from import_module(f"privsieve.check.{module}").reasons(facts)
    if kind == "histogram" and facts.settings["choice"] is not None:
        from privsieve.check import recount_choice

        yield from recount_choice.plan_reasons(facts.settings["choice"], facts.domain,
                                               before=before)


def unseen(body: Mapping[str, Any], release: Mapping[str, Any]) -> list[str]:
    """What of a release that holds was not counted again, or speaks against its use."""
    if "class_counts" in release:
        from privsieve.check import recount_choice

        return [*recount_choice.notes(release)]
    if not body["plan"]["method"].startswith("kernel-ridge-session/"):
        return []
    from privsieve.check import recount_answers

    return [*recount_answers.notes(release, body["plan"])]


def _in_order(facts: Facts) -> bool:
    """Whether names stand in the order of the table, where no other one was asked for."""
    settings, selected = facts.settings, facts.release["selected"]
    if settings.get("ordered"):
        return True
    place = {name: j for j, name in enumerate(facts.domain.names)}
    found = [place.get(name, -1) for name in selected]
    return found == sorted(found)


def rho_holds(body: Mapping[str, Any]) -> bool:
    """Whether the rho of a charge is that of its plan.

    A pure release spends half the square of its epsilon, a Gaussian one what its sigma says; of a
    race with a delta only bounds are recounted.
    """
    known, claim, settings = body["ledger"], body["claim"], body["plan"]["settings"]
    epsilon, delta = Fraction(claim["epsilon"]), Fraction(claim["delta"])
    units = None if known["rho"] is None else Fraction(known["rho"]) * RHO_UNITS
    most = min(TOP, -(-epsilon**2 * RHO_UNITS // 2))
    if not delta:
        # beside a choice that is free two parts are charged, each with a square of its own
        least = most / 2 if all(name in settings for name in BESIDE) else Fraction(most)
        if settings.get("mechanism") == "gumbel":
            least = most = _gumbel(epsilon, settings)
        return units is not None and least <= units <= most
    if claim["kind"] == "histogram":
        return units is None
    if units is None:
        return False
    if claim["kind"] == "selection":
        return 0 < units <= most
    from privsieve.check.real import gaussian_sigma

    sigma = gaussian_sigma(float(epsilon), float(delta))
    rho = RHO_UNITS / (2 * sigma * sigma)
    return abs(float(units) - rho) <= rho * _NEAR + 1


def _gumbel(epsilon: Fraction, settings: Mapping[str, Any]) -> int:
    """The rho of a race that version 0.1.0 made with Gumbel noise, without a delta."""
    counted = COUNTED * epsilon if settings["class_share"] == "noisy" else Fraction(0)
    rho = (epsilon - counted)**2 / (8 * settings["k"]) + counted**2 / 2
    return int(-(-rho * RHO_UNITS // 1))


# --- facts ----------------------------------------------------------------------------------------

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


# --- theorems -----------------------------------------------------------------------------------

def theorems_of(plan: Mapping[str, Any]) -> list[str]:
    """The theorem of a plan, and those that it stands on.

    >>> theorems_of({"method": "noisy-top-k/1", "settings": {"describe": "0.2"}})
    ['described', 'noisy-top-k']
    """
    own, settings = OF_METHOD[str(plan["method"]).partition("/")[0]], plan["settings"]
    return [*(theorem for option, theorem in BESIDE.items() if option in settings), own]


def claim_reasons(claim: Mapping[str, Any], plan: Mapping[str, Any]) -> Iterator[str]:
    """What of a claim does not follow from its plan."""
    theorems = theorems_of(plan)
    words = {word for theorem in theorems for word in THEOREMS[theorem]}
    epsilon, delta = Fraction(claim["epsilon"]), Fraction(claim["delta"])
    return failed({
        "the theorem is not the one that covers the method": claim["theorem"] == theorems[0],
        "the assumptions are not those of the theorem":
            list(claim["assumes"]) == [word for word in SENTENCES if word in words],
        "the claimed epsilon is beyond what may be asked for": epsilon <= LARGEST_EPSILON,
        "the claimed delta is no chance below 1": delta < 1,
        "nothing is claimed for a release that has noise":
            epsilon > 0 or claim["kind"] == "selection",
    })


# --- what may be selected -------------------------------------------------------------------------

def agrees(settings: Mapping[str, Any], columns: Sequence[str], selected: Sequence[str]) -> bool:
    """Whether the columns that were selected are what the public wishes in the settings allow.

    Anybody may have written them: what has no sense agrees with no selection.  A group counts
    as one, and is whole.

    >>> said = {"k": 2, "always": ["age"], "groups": {"home": ["street", "zip"]}}
    >>> columns = ["age", "street", "zip", "mri"]
    >>> [agrees(said, columns, one) for one in (["age", "street", "zip"], ["age", "street"])]
    [True, False]
    """
    groups = settings.get("groups") or {}
    group_of = {name: group for group, members in groups.items() for name in members}
    whole: dict[str, set[str]] = {}
    for name in columns:
        whole.setdefault(group_of.get(name, name), set()).add(name)
    chosen = {group_of.get(name, name) for name in selected}
    always = set(_list(settings.get("always")))
    k = settings.get("k")
    return (type(k) is int and always <= chosen <= whole.keys()
            and chosen.isdisjoint(_list(settings.get("never"))) and len(chosen) == k
            and set(selected) == {name for one in chosen for name in whole[one]})


def _list(names: object) -> Sequence[str]:
    if names is None:
        return ()
    if not isinstance(names, list | tuple):
        raise TypeError
    return names
