"""Choice: what a release says of chosen columns that its plan does not settle.

Which names won is drawn with noise.  Held here against the plan: how many they are and in which
order, the noise on the counts of classes, and how far a description's counts may be off.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any

from privsieve.check.reasons import failed
from privsieve.public.canonical import LARGEST, text_of
from privsieve.public.columns import Category, Date, Flag, Label, Number
from privsieve.public.domain import Domain
from privsieve.public.event import Additive, Together
from privsieve.public.plan import Plan
from privsieve.release import Selection

#: Of a choice, the part of epsilon that goes to the counts of classes.
COUNTED = Fraction(1, 10)
#: Units times epsilon a column that pay for pairs, and for triples: of two classes, of more.
PAID = (15, 200), (25, 150)
#: Below this share of the units a class is rare.
RARE = Fraction(3, 20)
#: Of a number's share, the part of its counts; how many bins it has, and levels a category.
COUNTS, BINS, LEVELS = Fraction(7, 8), 16, 64
#: Standard deviations, squared, within which noise stays with 95 %.
WITHIN = Fraction(212, 100)**2


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
        "the release counts sure columns that were not asked for, or does not count them":
            (made.sure is not None) == ("sure" in settings),
        "the release describes columns though it was not asked for, or does not":
            (made.described is not None) == ("describe" in settings),
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
                len(branches) < 2 or made.branch == _branch_of(plan, list(map(int, counts.q))),
        })
    if made.described is not None and "describe" in settings:
        last = plan.event.events[-1] if isinstance(plan.event, Together) else plan.event
        assert isinstance(last, Additive)
        yield from _described(made.described, plan.domain,
                              Fraction(last.moves) / Fraction(last.scale))


def _branch_of(plan: Plan, q: Sequence[int]) -> str:
    """The branch that follows from noisy class counts: by what units are worth."""
    assert isinstance(plan.event, Together)
    first = plan.event.events[0]
    assert isinstance(first, Additive)
    # the counts have a tenth of the choice's epsilon
    strength = plan.units * (1 - COUNTED) / COUNTED * Fraction(first.moves) / Fraction(first.scale)
    total = plan.units * plan.domain.unit_weight
    worth = _worth(q, total, Fraction(first.scale) if plan.domain.replaces else None)
    settings: Mapping[str, Any] = plan.settings
    named, k, (pairs, triples) = settings["branches"], settings["k"], PAID[len(q) > 2]
    if "pairs" not in named or strength * worth * worth < pairs * k:
        return "one race"
    return "triples" if "triples" in named and strength * worth >= triples * k else "pairs"


def _worth(q: Sequence[int], total: int, scale: Fraction | None) -> Fraction:
    """What a unit is worth by noisy counts; `scale` where a rare class may be centred."""
    if len(q) > 2:
        there = [count for count in q if count > 0]
        return 2 * min(Fraction(1, 2), Fraction(min(there), sum(there))) if there else Fraction(1)
    least = min(max(q[1], 1), max(2, total) - 1)
    part = Fraction(min(least, max(2, total) - least), max(2, total))
    rare = scale is not None and abs(q[0] - q[1]) >= 4 * scale and min(q) < RARE * total
    return 2 * part * (1 - part) if rare else 2 * part


def notes(release: Mapping[str, Any]) -> Iterator[str]:
    """Say so where the class counts say that a class is not there."""
    told = release["class_counts"]
    whole = int(release["plan"]["units"]) * told["per"]
    limit = min(7 * Fraction(told["scale"]), Fraction(whole, 5 * len(told["q"])))
    return failed({"the target was not found: a class has a noisy count near none, and the names "
                   "may answer another question; check the domain file":
                   all(int(one) > limit for one in told["q"])})


# --- a description ------------------------------------------------------------------------------

def _described(told: Mapping[str, Any], domain: Domain, epsilon: Fraction) -> Iterator[str]:
    """What of a description does not follow from the domain and its share of epsilon."""
    parts = {part.name: part for part in domain.columns}
    target = domain.target
    classes = [text_of(one) for one in target.values] if isinstance(target, Label) else ["all"]
    for name, said in told.items():
        part = parts.get(name)
        if part is None or ("levels" in said) != isinstance(part, Category | Flag):
            yield "a column is described by what it has not"
            return
        own = epsilon / len(told) * (1 if "levels" in said else COUNTS)
        # twice the square of a mean of noise is its variance
        square = 2 * WITHIN * Fraction(2 if domain.replaces else 1)**2 / own**2
        yield from failed({
            "the described classes are not those of the domain":
                [one["class"] for one in said["classes"]] == classes,
            "the described levels are not those of the domain":
                "levels" not in said or list(said["levels"]) == levels_of(part),
            "a column is described on another scale than its own":
                "scale" not in said or said["scale"] == getattr(part, "scale", None),
            "the counts of a description are not within the noise of the claimed epsilon":
                all(_within(one, square, part) for one in said["classes"]),
            "figures of a description lie beyond the column's bounds, or not in order":
                "scale" not in said or all(_ordered(one, part) for one in said["classes"]),
        })


def levels_of(part: Any) -> list[str]:
    """What the levels are called.

    >>> levels_of(Flag("smoker"))
    ['no', 'yes']
    """
    if isinstance(part, Flag):
        return ["no", "yes"]
    listed = [*map(text_of, part.values), "other"]
    return listed if len(listed) <= LEVELS else [*listed[:LEVELS - 1], "others"]


def _within(said: Mapping[str, Any], square: Fraction, part: Any) -> bool:
    graded = isinstance(part, Number | Date)
    counts = [(one, BINS if graded else 1) for one in said["counts"]]
    if ("missing" in said) != (graded and part.missing_level):
        return False
    counts += [(said["missing"], 1)] if "missing" in said else []
    expected = 1 if graded else len(levels_of(part))
    return len(said["counts"]) == expected and all(_count(one, square * n) for one, n in counts)


def _count(one: Sequence[int], square: Fraction) -> bool:
    """Whether a range is as wide as the noise; below 0 and above all integers it is cut off."""
    count, low, high = one
    reach = math.isqrt(math.ceil(square) - 1) + 1
    if count == 0:
        return low == 0 and high <= reach
    return low == max(0, count - reach) and high == min(LARGEST, count + reach)


def _plain(said: Mapping[str, Any], part: Any) -> bool:
    """Whether numbers of a linear scale are written as Python writes them."""
    return not isinstance(part, Number) or part.scale == "log" or all(
        repr(float(text)) == text or "E" in text or "e" in text or float(text).is_integer()
        for one in (*said["quartiles"], said["mean"]) for text in one)


def _ordered(said: Mapping[str, Any], part: Any) -> bool:
    read: Any = datetime.fromisoformat if isinstance(part, Date) else float
    try:
        if not _plain(said, part):
            return False
        figures = [[read(text) for text in one] for one in (*said["quartiles"], said["mean"])]
    except ValueError:
        return False
    # six digits of a log scale may lie a little beyond a bound
    slack = 0.0 if isinstance(part, Date) or part.scale == "linear" else 1e-5
    low, high = part.low, part.high
    if slack:
        low, high = low * (1 - slack), high * (1 + slack)
    return all(low <= at[1] <= at[0] <= at[2] <= high for at in figures)
