"""Recount a choice of columns: what its settings allow, what they cost, and its forecast.

Which names won is drawn with noise; what nobody can recount of a forecast (the per cent that a race
finds) is held between what is certain of it.  Of a description beside the choice classes, levels
and scales are recounted, and how far its counts may be off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from privsieve.check.reasons import Unreadable, failed
from privsieve.public.canonical import EPSILON_UNITS, decimal
from privsieve.public.columns import Number
from privsieve.public.domain import Domain, after_coding
from second_opinion.recount import Facts, classes_of

#: Gaps for which a forecast says what is found, and costs beside its own.
GAPS, COSTS = ("0.02", "0.05", "0.1", "0.2"), ("0.1", "0.3", "1", "3")
#: Gaps of votes are twice those of rows.
VOTE_GAPS = ("0.04", "0.1", "0.2", "0.4")
#: What may be asked for, and how many columns it begins with.
ASKED = {"pair": ["pairs"], "rounds": ["pairs", "rounds"], "none": ["one race"]}
BRANCHES = ("one race", "pairs", "rounds")
#: Scores that weigh the classes.
SCORES = {"mean-difference": True, "class-counts": True}
#: Of a number's share, the part of its counts; how many bins it has, and levels a category.
COUNTS, BINS, LEVELS = Fraction(7, 8), 16, 64
#: Standard deviations, squared, within which noise stays with 95 %.
WITHIN = Fraction(212, 100)**2


@dataclass(frozen=True)
class Wished:
    """What a choice is among, by its settings.

    items : how many are raced: columns alone and groups
    k : how many of them are named, at most; sought : how many were asked for
    """

    settings: Mapping[str, Any]
    domain: Domain
    items: int
    taken: int

    @classmethod
    def of(cls, settings: Mapping[str, Any], domain: Domain) -> Wished:
        """Read public choices; names that are none are refused."""
        groups: Mapping[str, Sequence[str]] = settings.get("groups") or {}
        members = [name for columns in groups.values() for name in columns]
        out = list(settings.get("never", ()))
        always, names = list(settings.get("always", ())), set(domain.names)
        known = (names - set(members) - set(out)) | set(groups)
        listed = [*out, *members, *always]
        if len(set(listed)) != len(listed) or not (
                {*out, *members} <= names and set(always) <= known
                and not names & set(groups)):
            raise Unreadable("the plan names what is no column of the domain, or one twice")
        return cls(settings, domain, len(known) - len(always), len(always))

    @property
    def k(self) -> int:
        """How many items are named."""
        return int(self.settings["k"]) - self.taken

    @property
    def sought(self) -> int:
        """How many items were asked for."""
        return int(self.settings.get("at_most", self.settings["k"])) - self.taken

    @property
    def certain(self) -> bool:
        """Whether there is nothing to choose."""
        return self.k == self.items and not self.settings.get("ordered")

    @property
    def kept(self) -> Domain:
        """The domain of the columns that are looked at."""
        out = set(self.settings.get("never", ()))
        if not out:
            return self.domain
        return Domain(tuple(column for column in self.domain.columns if column.name not in out))


def reasons(facts: Facts) -> Iterator[str]:
    """What of a choice does not follow from domain and plan."""
    choice = Wished.of(facts.settings, facts.domain)
    yield from plan_reasons(facts.plan, facts.domain)
    yield from _cost(choice, facts.epsilon)
    yield from _forecast(facts, choice)


def plan_reasons(plan: Mapping[str, Any], domain: Domain) -> Iterator[str]:
    """What of the plan of a choice contradicts itself or the domain."""
    settings, method = plan["settings"], str(plan["method"]).partition("/")[0]
    choice, classes = Wished.of(settings, domain), classes_of(domain)
    number = method == "rule-sieve-numeric" or settings.get("score") == "correlation"
    shares = settings.get("class_prior", settings.get("class_share"))
    yield from failed({
        "the plan chooses more columns than there are, or none":
            1 <= choice.k <= choice.items and choice.sought >= choice.k,
        "the method of the plan is for another kind of target":
            isinstance(domain.target, Number) if number else classes > 0,
        "the planned shares are not those of the classes":
            not isinstance(shares, list | tuple) or (
                len(shares) == classes and sum(map(Fraction, shares)) == 1),
        "classes are weighed that the score does not weigh":
            "score" not in settings or SCORES.get(settings["score"], False)
            or settings["class_share"] is None,
    })
    if method == "block-fwell":
        yield from _blocks(settings)
    if "branches" in settings:
        yield from _branches(choice)


def _blocks(settings: Mapping[str, Any]) -> Iterator[str]:
    alone = settings["reference"] is not None
    tau, units = settings["tau"], 1 if alone else settings["block"] or 1
    return failed({
        "a block is planned for units that stand alone, or none for others":
            (settings["block"] is None) == alone and (not alone or settings["repeats"] == 1),
        "the largest vote is not one of the planned votes":
            (tau is None) == (settings["votes"] == "sign")
            and (tau is None or (int(tau) % units == 0 and 1 <= int(tau) // units <= 65535)),
    })


def _branches(choice: Wished) -> Iterator[str]:
    settings, named = choice.settings, list(choice.settings["branches"])
    joint = ASKED.get(str(settings.get("joint", "none")))
    return failed({
        "the planned branches are not in order, or not those that were asked for":
            named == [branch for branch in BRANCHES if branch in named]
            and (joint is None or named == ["one race"] or {*named} <= {*joint}),
    })


def _cost(choice: Wished, epsilon: Fraction) -> Iterator[str]:
    """A choice of all columns costs nothing, and any other one something."""
    free = choice.certain
    return failed({"a choice is charged that reads nothing, or one that reads rows is free":
                   (epsilon == 0) == free})


# --- forecasts ----------------------------------------------------------------------------------

def _forecast(facts: Facts, first: Wished) -> Iterator[str]:
    forecast, votes = facts.forecast, facts.method == "block-fwell"
    percent, costs = forecast["found_percent"], forecast["by_cost"]
    guessed = int(100 * (first.sought / first.items))
    shares = [percent[gap] for gap in (VOTE_GAPS if votes else GAPS) if gap in percent]
    own = [cost for cost in costs if cost not in COSTS]
    epsilon = decimal(-(-facts.epsilon * EPSILON_UNITS // 1))
    yield from failed({
        "the forecast has other gaps than its method":
            set(percent) == set(VOTE_GAPS if votes else GAPS),
        "the usual gap of the forecast is another one":
            forecast["usual_gap"] == ("0.2" if votes else "0.1"),
        "the forecast of guessing does not follow from the number of columns":
            forecast["guessing_percent"] == guessed,
        "the forecast finds less where a gap is larger, or than by guessing":
            all(share <= other for share,
                other in zip([guessed - 1, *shares], shares, strict=False)),
        "the forecast has other costs than its own":
            set(COSTS) <= set(costs) and len(own) <= 1
            and (not facts.epsilon or not own or own == [epsilon]
                 or first.certain),
        "the forecast contradicts itself at the claimed epsilon":
            first.certain or costs.get(epsilon) == percent.get(forecast["usual_gap"]),
        "the forecast names another number of columns than the plan":
            forecast.get("names") == (first.k if "at_most" in first.settings else None),
        "fewer columns are advised where they were asked for":
            "advice" not in forecast or "at_most" not in first.settings,
        "the forecast does not say which columns cannot be found":
            forecast.get("after_coding") == _coded(first),
    })


def _coded(choice: Wished) -> str | None:
    if "branches" not in choice.settings:
        return after_coding(choice.kept) if choice.items else None
    # rules read numbers around 0, or the bound that is nearest to it
    columns = [replace(column, near=sorted((column.low, 0.0, column.high))[1])
               if isinstance(column, Number) and column.scale == "linear" and column.low is not None
               and column.near is None else column
               for column in choice.kept.columns]
    return after_coding(replace(choice.kept, columns=columns)) if choice.items else None
