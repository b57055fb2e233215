"""Recount a choice of columns: what its settings allow, what they cost, and its forecast.

Which names won is drawn with noise; what nobody can recount of a forecast (the per cent that a race
finds) is held between what is certain of it.  Of a description beside the choice classes, levels
and scales are recounted, and how far its counts may be off.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any

from privsieve.check.certificate import SCORES
from privsieve.check.reasons import Unreadable, failed
from privsieve.check.recount import BESIDE, Facts, classes_of
from privsieve.frozen import dataclass
from privsieve.public.canonical import EPSILON_UNITS, LARGEST, decimal, text_of
from privsieve.public.columns import Category, Date, Flag, Label, Number
from privsieve.public.domain import Domain, after_coding

#: Gaps for which a forecast says what is found, and costs beside its own.
GAPS, COSTS = ("0.02", "0.05", "0.1", "0.2"), ("0.1", "0.3", "1", "3")
#: Gaps of votes are twice those of rows.
VOTE_GAPS = ("0.04", "0.1", "0.2", "0.4")
#: What may be asked for, and how many columns it begins with.
SETS = {"pair": "pairs", "triple": "triples", "quad": "quads", "none": "one race"}
SIZES = {"one race": 0, "pairs": 2, "triples": 3, "quads": 4}
#: Units times epsilon a column that pay for pairs, and for triples: of two classes, of more.
PAID = (15, 200), (25, 150)
#: Below this share of the units a class is rare.
RARE = Fraction(3, 20)
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
        """Read public wishes; names that are none are refused."""
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
        out = self.settings.get("never", ())
        if not out:
            return self.domain
        return Domain(tuple(one for one in self.domain.columns if one.name not in out))


def reasons(facts: Facts) -> Iterator[str]:
    """What of a choice does not follow from domain and plan."""
    choice = Wished.of(facts.settings, facts.domain)
    yield from plan_reasons(facts.plan, facts.domain, before=facts.before)
    yield from _cost(choice, facts.epsilon)
    yield from _beside(choice, facts)
    yield from _forecast(facts, choice)
    yield from _branch(choice, facts)
    yield from _class_counts(choice, facts)


def plan_reasons(plan: Mapping[str, Any], domain: Domain, *, before: bool) -> Iterator[str]:
    """What of the plan of a choice contradicts itself or the domain."""
    settings, method = plan["settings"], str(plan["method"]).partition("/")[0]
    choice, classes = Wished.of(settings, domain), classes_of(domain)
    number = method == "rule-sieve-numeric" or settings.get("score") == "correlation"
    shares = settings.get("class_prior", settings.get("class_share"))
    yield from failed({
        "the plan chooses more columns than there are, or none":
            1 <= choice.k <= choice.items and choice.sought >= choice.k,
        "the method of the plan is for another kind of target":
            (isinstance(domain.target, Number) if number else classes > 0)
            or (method == "rule-sieve-votes" and domain.target is not None),
        "the planned shares are not those of the classes":
            not isinstance(shares, list | tuple) or (
                len(shares) == classes and sum(map(Fraction, shares)) == 1),
        "classes are weighed that the score does not weigh":
            "score" not in settings or SCORES.get(settings["score"], False)
            or settings["class_share"] is None,
        "an independence of rows is confirmed for nothing":
            ("sure" in settings) == ("independent_rows" in settings),
        "what stands beside a choice is no share of epsilon":
            sum(Fraction(settings.get(name, 0)) for name in BESIDE) < 1
            and all(0 < Fraction(settings[name]) < 1 for name in BESIDE if name in settings),
        "a sure count is planned where it could not be true":
            "sure" not in settings or (classes > 0 and domain.replaces),
    })
    if method == "block-fwell":
        yield from _blocks(settings)
    if method == "rule-sieve-votes":
        yield from failed({"the plan screens fewer columns than it names": choice.k <= settings[
            "screened"] <= choice.items})
    if "branches" in settings and not before:
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
    joint = SETS.get(str(settings.get("joint", "none")))
    gridless = bool(choice.kept.gridless)
    return failed({
        "the planned branches are not in order, or not those that were asked for":
            named == [one for one in SIZES if one in named]
            and (joint is None or named in ([joint], ["one race"])),
        "slopes are planned where no set of columns is raced":
            "slopes" not in settings or bool({"pairs", "triples"} & set(named)),
        "what a column adds to a pair is planned where no third column follows a pair":
            "thirds" not in settings
            or ("pairs" in named and settings["k"] > 2 and "always" not in settings),
        "the plan does not say how pairs without a grid are valued, or says it without one":
            gridless == ("pairs_without_grid" in settings),
    })


def _cost(choice: Wished, epsilon: Fraction) -> Iterator[str]:
    """A choice of all columns costs nothing, and any other one something."""
    free = choice.certain and not any(name in choice.settings for name in BESIDE)
    return failed({"a choice is charged that reads nothing, or one that reads rows is free":
                   (epsilon == 0) == free})


def _branch(choice: Wished, facts: Facts) -> Iterator[str]:
    says = "branches" in facts.settings and not choice.certain
    branch = facts.release.get("branch")
    return failed({
        "the release says a branch that the plan does not have, or none":
            (branch is not None) == says and (not says or branch in facts.settings["branches"]),
    })


def _class_counts(choice: Wished, facts: Facts) -> Iterator[str]:
    """Whether counts of classes are there where they were paid for, with their noise."""
    told, settings, domain = facts.release.get("class_counts"), facts.settings, facts.domain
    share = Fraction(1, 10) if settings.get("class_prior") == "auto" else (
        Fraction(1, 20) if settings.get("class_share") == "noisy" else Fraction(0))
    if choice.certain or facts.before:
        share = Fraction(0)
    if told is None or not share:
        return failed({"the release counts classes that it did not pay for, or does not count them":
                       (told is None) == (not share)})
    epsilon = facts.epsilon - sum(_share_of(choice, facts, name) for name in BESIDE
                                  if name in settings)
    q, per, scale = list(map(int, told["q"])), told["per"], Fraction(told["scale"])
    two = classes_of(domain) == 2 and domain.replaces
    moves = 2 if domain.replaces and not two else 1
    if len(q) != classes_of(domain):
        return iter(("the release does not have one count for each class",))
    return failed({
        "the class counts have another noise than their share of epsilon buys":
            per == domain.unit_weight and scale == moves * per / (share * epsilon),
        "the class counts do not add up to the number of units":
            not two or sum(q) == facts.units * per,
        "the branch of the release does not follow from its class counts":
            "branch" not in facts.release or facts.release["branch"] == _branch_of(
                settings, PAID[len(q) > 2], facts.units * epsilon * (1 - share),
                _worth(q, facts.units * per, scale if two else None)),
    })


def notes(release: Mapping[str, Any]) -> Iterator[str]:
    """What is to be said of a release whose class counts say that a class is not there."""
    told = release["class_counts"]
    whole = int(release["plan"]["units"]) * told["per"]
    limit = min(7 * Fraction(told["scale"]), Fraction(whole, 5 * len(told["q"])))
    return failed({"the target was not found: a class has a noisy count near none, and the names "
                   "may answer another question; check the domain file":
                   all(int(one) > limit for one in told["q"])})


def _worth(q: Sequence[int], total: int, scale: Fraction | None) -> Fraction:
    """What a unit is worth by noisy counts; `scale` where a rare class may be centred."""
    if len(q) == 2:
        least = min(max(q[1], 1), max(2, total) - 1)
        part = Fraction(min(least, max(2, total) - least), max(2, total))
    else:
        there = [count for count in q if count > 0]
        part = min(Fraction(1, 2), Fraction(min(there), sum(there))) if there else Fraction(1, 2)
    rare = scale is not None and abs(q[0] - q[1]) >= 4 * scale and min(q) < RARE * total
    return 2 * part * (1 - part) if rare else 2 * part


def _branch_of(settings: Mapping[str, Any], paid: tuple[int, int], strength: Fraction,
               worth: Fraction) -> str:
    """The branch that the plan takes for units that are worth so much."""
    named, k, (pairs, triples) = settings["branches"], settings["k"], paid
    if len(named) == 1:
        return str(named[0])
    if "pairs" not in named or strength * worth * worth < pairs * k:
        return "one race"
    return "triples" if "triples" in named and strength * worth >= triples * k else "pairs"


def _beside(choice: Wished, facts: Facts) -> Iterator[str]:
    told = facts.release.get("described")
    if told is not None and "describe" in facts.settings:
        share = _share_of(choice, facts, "describe")
        yield from _described(told, facts.domain, share)


def _share_of(choice: Wished, facts: Facts, name: str) -> Fraction:
    """What something beside a choice gets of epsilon: whole units, rounded up."""
    shares = {one: Fraction(facts.settings[one]) for one in BESIDE if one in facts.settings}
    if choice.certain:
        # only these are charged: what was asked for follows from their sum, to a unit
        return facts.epsilon * shares[name] / sum(shares.values())
    return Fraction(-(-shares[name] * facts.epsilon * EPSILON_UNITS // 1), EPSILON_UNITS)


# --- forecasts ----------------------------------------------------------------------------------

def _forecast(facts: Facts, first: Wished) -> Iterator[str]:
    told, votes = facts.forecast, facts.method == "block-fwell"
    found, costs = told["found_percent"], told["by_cost"]
    guessed = int(100 * (first.sought / first.items))
    shares = [found[gap] for gap in (VOTE_GAPS if votes else GAPS) if gap in found]
    own = [cost for cost in costs if cost not in COSTS]
    epsilon = decimal(-(-facts.epsilon * EPSILON_UNITS // 1))
    yield from failed({
        "the forecast speaks of other gaps than its method":
            set(found) == set(VOTE_GAPS if votes else GAPS),
        "the usual gap of the forecast is another one":
            told["usual_gap"] == ("0.2" if votes else "0.1"),
        "the forecast of guessing does not follow from the number of columns":
            told["guessing_percent"] == guessed,
        "the forecast finds less where a gap is larger, or than by guessing":
            all(one <= other for one, other in zip([guessed - 1, *shares], shares, strict=False)),
        "the forecast speaks of other costs than its own":
            set(COSTS) <= set(costs) and len(own) <= 1
            and (not facts.epsilon or not own or own == [epsilon]
                 or first.certain or facts.before),
        "the forecast contradicts itself at the claimed epsilon":
            first.certain or (facts.before and epsilon not in costs)
            or costs.get(epsilon) == found.get(told["usual_gap"]),
        "the forecast names another number of columns than the plan":
            told.get("names") == (first.k if "at_most" in first.settings else None),
        "fewer columns are advised where they were asked for":
            "advice" not in told or "at_most" not in first.settings,
        "the forecast does not say which columns cannot be found":
            facts.before or told.get("after_coding") == _coded(first),
    })


def _coded(choice: Wished) -> str | None:
    return after_coding(choice.kept) if choice.items else None


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
