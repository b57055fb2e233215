"""Choice: what a release says of chosen columns that its plan does not settle.

Which names won is drawn with noise.  Held here against the plan: how many they are and in which
order, the noise on the counts of classes, and the branch that follows from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from privsieve.check.reasons import failed
from privsieve.public.columns import Label
from privsieve.public.plan import Plan
from privsieve.release import Selection


def name_reasons(plan: Plan, columns: Sequence[str], selected: Sequence[str]) -> Iterator[str]:
    """Say whether the names are as many as planned, and in the order of the table."""
    place = {name: j for j, name in enumerate(columns)}
    found = [place.get(name, -1) for name in selected]
    yield from failed({
        "the release selects what is not among its columns, or twice":
            -1 not in found and len(set(found)) == len(found),
        "the release names columns in another order than the table's, which is not released":
            bool(plan.settings.get("ordered")) or found == sorted(found),
        "the release does not select as many columns as planned":
            agrees(plan.settings, columns, selected),
    })


def agrees(settings: Mapping[str, Any], columns: Sequence[str], selected: Sequence[str]) -> bool:
    """Whether the columns that were selected are what the settings allow; a group counts as one.

    >>> said = {"k": 2, "always": ["age"], "groups": {"home": ["street", "zip"]}}
    >>> columns = ["age", "street", "zip", "mri"]
    >>> [agrees(said, columns, one) for one in (["age", "street", "zip"], ["age", "street"])]
    [True, False]
    """
    group_of = {name: group for group, members in (settings.get("groups") or {}).items()
                for name in members}
    chosen = {group_of.get(name, name) for name in selected}
    whole = {name for name in columns if group_of.get(name, name) in chosen}
    k = settings.get("k", len(columns))
    return (set(selected) == whole and len(chosen) == k
            and set(settings.get("always") or ()) <= chosen
            and not chosen & {*(settings.get("never") or ())})


def reasons(plan: Plan, made: Selection) -> Iterator[str]:
    """Say what of a selection does not follow from its plan."""
    settings: Mapping[str, Any] = plan.settings
    counts = made.class_counts
    branches = settings.get("branches", []) if plan.certain is None else []
    planned = plan.shows.get("class_counts")
    yield from failed({
        "the release says a branch that the plan does not have, or none":
            made.branch in branches if branches else made.branch is None,
        "the release counts classes that it did not pay for, or does not count them":
            (counts is not None) == (planned is not None),
    })
    target = plan.domain.target
    if counts is not None and isinstance(target, Label):
        total = sum(map(int, counts.q))
        yield from failed({
            "the class counts have another noise than their share of epsilon buys":
                planned == {"per": counts.per, "law": counts.law, "scale": counts.scale},
            "the release does not have one count for each class":
                len(counts.q) == len(target.values),
            "the class counts do not add up to the number of units":
                len(counts.q) != 2 or not plan.domain.replaces
                or total == plan.units * counts.per,
            "the branch of the release does not follow from its class counts":
                plan.branch_of is None
                or made.branch == plan.branch_of(tuple(map(int, counts.q))),
        })
