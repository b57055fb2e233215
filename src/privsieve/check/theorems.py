"""Theorems: which one covers a plan, and what it takes for granted: recounted from the plan alone.

What each theorem rests on stands in `public.plan`, which a test holds against the lines `assumes:`
and `rests on:` of the proofs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from privsieve.check.reasons import failed
from privsieve.public.plan import LARGEST_EPSILON, SENTENCES, THEOREMS

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
    "private-tuning": "private-tuning",
    "rule-sieve": "rule-sieve",
    "rule-sieve-numeric": "rule-sieve-numeric",
    "rule-sieve-votes": "rule-sieve-votes",
}
#: What is asked for beside a choice, and the theorem that then covers both; the first one counts.
BESIDE: Mapping[str, str] = {"sure": "sure-count", "describe": "described"}


def theorems_of(plan: Mapping[str, Any]) -> list[str]:
    """The theorem of a plan, and those that it stands on.

    >>> theorems_of({"method": "noisy-top-k/1", "settings": {"describe": "0.2"}})
    ['described', 'noisy-top-k']
    """
    own, settings = OF_METHOD[str(plan["method"]).partition("/")[0]], plan["settings"]
    beside = [theorem for option, theorem in BESIDE.items() if option in settings]
    if "targets" in settings:
        beside.append("several-targets")
    inside = [theorem for one in settings.get("candidates", ()) for theorem in theorems_of(one)]
    return [*beside, own, *inside]


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
