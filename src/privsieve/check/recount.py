"""Recount: all of a release that follows from its domain and its plan, by code of the checker.

Nothing here is shared with what plans, sizes noise or draws it; a reason is a sentence that quotes
nothing of the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from importlib import import_module
from typing import Any

from privsieve.check.facts import Facts, common
from privsieve.check.schema import of_first, release_faults
from privsieve.check.theorems import BESIDE
from privsieve.public.canonical import RHO_UNITS, TOP

#: The module that recounts a method, a kind, or a part of one; loaded when it is asked for.
KINDS = {"selection": "recount_choice", "weights": "recount_weights", "histogram": "recount_table",
         "kernel-ridge": "recount_model", "kernel-ridge-session": "recount_answers",
         "described": "recount_described", "containment": "recount_published"}
#: How far a rho may be off that is recounted in floats.
_NEAR = 1e-7
#: The share of epsilon that a race by scores spends on class counts.
COUNTED = Fraction(1, 20)
#: Settings that say what a choice is among.
WISHES = ("always", "never", "groups", "costs", "price", "targets")
_AMOUNT = r"[0-9]{1,12}(\.[0-9]{1,12})?"


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
    """What of a release that holds would have taken too long to count again."""
    if not body["plan"]["method"].startswith("kernel-ridge-session/"):
        return []
    from privsieve.check import recount_answers

    return [*recount_answers.notes(release, body["plan"])]


def _in_order(facts: Facts) -> bool:
    """Whether names stand in the order of the table, where no other one was asked for."""
    settings, selected = facts.settings, facts.release["selected"]
    at = facts.release.get("candidate")
    if at is not None and at < len(settings.get("candidates", ())):
        settings = settings["candidates"][at]["settings"]
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


# --- what may be selected -------------------------------------------------------------------------

def agrees(settings: Mapping[str, Any], columns: Sequence[str], selected: Sequence[str]) -> bool:
    """Whether the columns that were selected are what the public wishes in the settings allow.

    Anybody may have written them: what has no sense agrees with no selection.  A group counts
    as one, and is whole; with a price as many are chosen as can be paid.

    >>> said = {"k": 2, "always": ["age"], "groups": {"home": ["street", "zip"]}}
    >>> columns = ["age", "street", "zip", "mri"]
    >>> [agrees(said, columns, one) for one in (["age", "street", "zip"], ["age", "street"])]
    [True, False]
    >>> priced = {"k": 2, "costs": {"mri": "3"}, "price": "3"}
    >>> [agrees(priced, columns, one) for one in (["mri"], ["age", "zip"], ["age"], ["age", "mri"])]
    [True, True, False, False]
    """
    groups = settings.get("groups") or {}
    group_of = {name: group for group, members in groups.items() for name in members}
    whole: dict[str, set[str]] = {}
    for name in columns:
        whole.setdefault(group_of.get(name, name), set()).add(name)
    out = {*_list(settings.get("never")), *_list(settings.get("targets"))}
    chosen = {group_of.get(name, name) for name in selected}
    always = set(_list(settings.get("always")))
    k = settings.get("k")
    if (type(k) is not int or not always <= chosen <= whole.keys() or chosen & out
            or set(selected) != {name for one in chosen for name in whole[one]}):
        return False
    if settings.get("price") is None:
        return len(chosen) == k
    costs = {name: _amount(cost) for name, cost in (settings.get("costs") or {}).items()}
    left = _amount(settings["price"]) - sum(costs.get(name, Fraction(1)) for name in chosen)
    rest = [costs.get(name, Fraction(1)) for name in whole.keys() - chosen - out]
    if left < 0 or len(chosen) > k:
        return False
    # as many as can be paid: where fewer than k were named, nothing that is left could be
    return len(chosen) == k or min(rest, default=left + 1) > left


def _list(names: object) -> Sequence[str]:
    if names is None:
        return ()
    if not isinstance(names, list | tuple):
        raise TypeError
    return names


def _amount(text: object) -> Fraction:
    if not isinstance(text, str) or not re.fullmatch(_AMOUNT, text):
        raise ValueError
    return Fraction(text)
