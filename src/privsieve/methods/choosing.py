"""What all choices of columns share: how many, among what, their worth, and their plan.

If k columns stand out by a share `gap` of the rows and the others by nothing, a race that names m
of them finds, in expectation over its noise, what `noise.race` computes from the law of its noise;
with exponential noise, k at most half of the columns, and A binomial with d - k tries of
exp(-gap n epsilon / (2 m)),

    E[m / (A + k)] of the k, and E[k / (A + k)] of the m names are right.

At gap 0 the second is k/d, which is guessing.  How many names are worth most follows from public
numbers alone: see `fewer`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from privsieve.errors import ParameterError
from privsieve.methods.branches import Extent, takes
from privsieve.methods.method import PrivateMethod
from privsieve.public.canonical import EPSILON_UNITS, Json, decimal, quoted, read_flag
from privsieve.public.domain import Domain, after_coding
from privsieve.public.event import NOTHING
from privsieve.public.option import (
    WISHES,
    as_json,
    count,
    declared,
    how_many,
    number,
    option,
    settled,
    written_group,
)
from privsieve.public.plan import Chosen, Cost, NoiseSize, Plan, holds_rows
from privsieve.release import Selection
from privsieve.summaries.stages import seen

if TYPE_CHECKING:
    from privsieve.noise.race import Race
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch

#: Gaps that tables show: weak, usual (waveform .08 to .10, WDBC .15), strong (XOR .23).
GAPS = (Fraction(1, 50), Fraction(1, 20), Fraction(1, 10), Fraction(1, 5))
USUAL = Fraction(1, 10)
#: Below this part of what is to be gained over guessing, we say so before the charge.
LITTLE = 0.2
#: Tables from weak to strong, each as likely: how many names are worth most is decided over them.
MIXTURE = tuple(0.02 * 20 ** (i / 12) for i in range(13))
#: Where a smaller part of the names would be right, we say what fewer names would be worth.
FEW = 0.5
#: So many numbers of names are tried one by one.
TRIED = 64
#: Costs beside which a report shows that of its release.
COSTS = (Fraction(1, 10), Fraction(3, 10), Fraction(1), Fraction(3))


@declared
class Choosing(PrivateMethod):
    """What a method is asked for that chooses columns."""

    kind = Selection

    n_features_to_select: Any = option(
        default=5, kw_only=False, needed=True, setting="k", read=how_many, flag="--top",
        metavar="N", says="how many columns, or which fraction of them, such as 0.1")
    delta: Any = option(default=0, metavar="D", setting=None, read=number,
                        says="what it may cost beyond epsilon, such as 1e-9: less noise where "
                             "many columns are chosen")
    ordered: bool = option(default=False, read=read_flag,
                           says="release the order of the columns, too")
    always: Any = option(
        default=None, several=list, unsaid=True, metavar="NAME",
        says="columns, or groups, that are in whatever the rows say; they count among k")
    never: Any = option(
        default=None, several=list, unsaid=True, metavar="NAME",
        says="columns that are not looked at")
    groups: Any = option(
        default=None, several=dict, unsaid=True, read=written_group, metavar="NAME=A,B,…",
        flag="--group",
        says="columns that are chosen and released as one, under a name; a group takes one place")
    fewer: Any = option(default=None, choices=("auto",), setting="at_most", unsaid=True,
                        flag="--at-most",
                        says="auto names fewer columns where so many cannot be found: at most k")

    def coding(self, domain: Domain) -> Domain:
        """The domain by which rows become codes."""
        return domain

    def planned(self, domain: Domain, rows: int | None) -> Plan:
        """Plan one selection; reads no row."""
        # an empty list says nothing
        wishes: dict[str, Any] = {name: getattr(self, name) or None for name in WISHES}
        asked = replace(self, **wishes)
        keep = None if asked.never is None else _kept(asked, domain)
        return asked.planned_choice(ColumnChoice(asked, domain, asked.coding(domain), keep), rows)

    def planned_choice(self, choice: ColumnChoice, rows: int | None) -> Plan:
        """Plan one selection from what may be chosen; reads no row."""
        raise NotImplementedError


@dataclass(frozen=True)
class Forecast:
    """The expected share of the names that are right: among the best, as many as are sought.

    k : how many of d columns are named
    sought : how many are the best, at least k; where it is k, so many of the best are found
    reach : how far a gap of 1 puts a column ahead, in units of a score

    >>> from privsieve.noise.race import Race
    >>> made = Forecast(Race(30, 3, 1, Fraction(1)), 30, 3, Fraction(569), 3)
    >>> round(made.guessing, 2), [round(share, 2) for share in made.right]
    (0.1, [0.46, 0.94, 1.0, 1.0])
    """

    race: Race
    d: int
    k: int
    reach: Fraction
    sought: int

    def at(self, gap: float) -> float:
        """The share of the names that are right where the best stand out by this gap."""
        found = self.race.share(self.d, self.k, gap * float(self.reach), leaders=self.sought)
        return found * self.sought / self.k

    @property
    def guessing(self) -> float:
        """The share of names that are right by guessing."""
        return self.sought / self.d

    @cached_property
    def right(self) -> tuple[float, ...]:
        """The share for each of GAPS."""
        return tuple(self.at(float(gap)) for gap in GAPS)

    @property
    def usual(self) -> float:
        """The share on a usual table."""
        return self.at(float(USUAL))

    @cached_property
    def mean(self) -> float:
        """The share over the mixture of tables."""
        return sum(map(self.at, MIXTURE)) / len(MIXTURE)

    @property
    def worth(self) -> float:
        """The harmonic mean of the shares that are right, and found (F1), over the mixture."""
        return 2 * self.mean * self.k / (self.k + self.sought)

    @property
    def gain(self) -> float:
        """The part of the way from guessing to certainty at a usual gap."""
        return (self.usual - self.guessing) / (1 - self.guessing) if self.guessing < 1 else 1.0


def json(made: Forecast, costs: Mapping[str, Json], *, times: int = 1, **more: Json,
         ) -> Mapping[str, Json]:
    """The forecast as it stands on a release: per cent of the names, rounded down."""
    return {
        **{name: value for name, value in more.items() if value is not None},
        "guessing_percent": int(100 * made.guessing),
        "usual_gap": str(float(times * USUAL)),
        "found_percent": {str(float(times * gap)): int(100 * share)
                          for gap, share in zip(GAPS, made.right, strict=True)},
        "by_cost": costs,
    }


def by_cost(epsilon: Fraction, at: Callable[[Fraction], Forecast]) -> Mapping[str, Json]:
    """Per cent found on a usual table, rounded down, at this and other costs.

    >>> from privsieve.noise.race import Race
    >>> by_cost(Fraction(1), lambda epsilon: Forecast(Race(30, 3, 1, epsilon), 30, 3,
    ...                                               Fraction(569), 3))
    {'0.1': 23, '0.3': 70, '1': 99, '3': 99}
    """
    return {decimal(-(-cost * EPSILON_UNITS // 1)): int(100 * at(cost).usual)
            for cost in sorted({*COSTS, epsilon})}


def warning(made: Forecast) -> str | None:
    """A sentence where the choice will be close to random on a usual table.

    >>> from privsieve.noise.race import Race
    >>> warning(Forecast(Race(30, 3, 1, Fraction(1)), 30, 3, Fraction(5), 3))[:44]
    'the choice will be close to random: of the c'
    """
    if made.gain >= LITTLE:
        return None
    those = "columns sought" if made.k == made.sought else "columns named"
    are = "found" if made.k == made.sought else "right"
    return (f"the choice will be close to random: of the {those} about {made.usual:.0%} are "
            f"{are} on a usual table, and {made.guessing:.0%} by guessing; more rows, a larger "
            "epsilon or fewer columns to choose would help")


# [fewer]
def fewer(rules: Settled) -> Settled:
    """The rules with as many names as are worth most, where `fewer` is "auto".

    Decided from public numbers, before the charge: the largest `Forecast.worth`.  What was asked
    for stays in `fewer`.  More than half of the columns stay as many: those left out are raced.
    """
    if rules.fewer is None:
        return rules
    if rules.fewer != "auto":
        raise ParameterError(f'fewer is {quoted(rules.fewer)}; write "auto" to name at most k '
                             "columns, or leave it out")
    if not rules.one_race:
        raise ParameterError('fewer="auto" is for columns that one race names, and joint begins '
                             "with a pair of them; leave one of the two out")
    return _worth_most(rules)


def _worth_most(rules: Settled) -> Settled:
    places = rules.places
    k = places.k

    def naming(m: int, **more: Any) -> Settled:
        # What begins with a pair is for where much can be found: there all k are named.
        by, total = rules if m == k else rules.alone, places.taken + m
        return replace(by, n_features_to_select=total, fewer=places.total,
                       places=replace(places, k=m, total=total), **more)

    if 2 * k > places.d:
        return naming(k)
    # Without a delta: its noise takes long to size.  At the end it has its say.
    m = _largest(lambda m: naming(m, delta=Fraction(0)).forecast.worth, k)
    return max(naming(m), naming(k), key=lambda one: one.forecast.worth)


def _largest(worth: Callable[[int], float], k: int) -> int:
    """The number from 1 to k that is worth most, the smaller of equals.

    Of many numbers some are tried, and then those between the neighbours of the best.

    >>> _largest(lambda m: -(m - 3) ** 2, 9), _largest(lambda m: -(m - 700) ** 2, 5000)
    (3, 700)
    """
    low, high = 1, k
    while high - low >= TRIED:
        steps = [low * (high / low) ** (i / TRIED) for i in range(TRIED + 1)]
        tried = sorted({min(high, max(low, round(step))) for step in steps})
        best = tried.index(max(tried, key=worth))
        low, high = tried[max(0, best - 1)], tried[min(len(tried) - 1, best + 1)]
    return max(range(low, high + 1), key=worth)
# [/fewer]


def advice(rules: Run) -> str | None:
    """A sentence where few of k names would be right, and fewer names would be worth more.

    It speaks of the mean over the mixture of tables; both figures are those of plans that can
    be made.
    """
    places = rules.places
    if rules.fewer is not None or not rules.one_race:
        return None
    k, made = places.k, rules.forecast
    if made.mean >= FEW:
        return None
    few = _worth_most(rules)
    named = few.places.k
    if named == k:
        return None
    beside = " beside those that are always in" if places.taken else ""
    return (f"asked for {k}{beside}: with {rules.units} {rules.domain.unit}s and this epsilon "
            f"about {_about(made.mean * k)} of the {k} would be right; --at-most {places.total} "
            f'(in Python fewer="auto") would name {named}, about '
            f"{_about(few.forecast.mean * named)} of {'them' if named > 1 else 'it'} right, in the "
            "mean over tables from weak to strong")


def _about(columns: float) -> str:
    """A number of columns for people.

    >>> _about(0.34), _about(2.96), _about(8.7)
    ('0.3', '3', '9')
    """
    return f"{columns:.0f}" if columns >= 3 else f"{columns:.1f}".removesuffix(".0")


def charged(cost: Cost, race: Race, before: Fraction = Fraction(0)) -> Cost:
    """What a plan with this race costs; a delta that would buy nothing is not spent.

    before : what is spent under zCDP before the race, by what is pure

    >>> from privsieve.public.plan import Cost
    >>> from privsieve.noise.race import Race
    >>> one, tiny = Fraction(1), Fraction(1, 10**6)
    >>> [charged(Cost(one, tiny), Race(100, k, 1, one, delta=tiny)).delta_text for k in (3, 20)]
    ['0', '0.000001']
    """
    rho = race.rho + before if race.kind == "gumbel" else None
    return replace(cost, rho=rho, delta=Fraction(0) if race.account == "pure" else cost.delta)


@dataclass(frozen=True)
class ColumnChoice:
    """What is chosen among which columns.

    asked : the options of the choice
    declared : the domain as it was declared, with the columns that are never in
    coding : the same with the bounds by which rows become codes
    keep : the positions of the columns that a method is given; None for all

    >>> from privsieve.methods import plan
    >>> made = plan("rule-sieve", Domain.box(0, 1, columns=9), k=3, epsilon=1, rows=500,
    ...             never=["x4"], always="x0")
    >>> made.settings["k"], made.settings["always"], made.settings["never"]
    (3, ['x0'], ['x4'])
    """

    asked: Choosing
    declared: Domain
    coding: Domain
    keep: tuple[int, ...] | None = None

    @cached_property
    def places(self) -> Places:
        """What is raced, and for how many places; refuses what makes no sense."""
        return among(self.asked, self.domain)

    @cached_property
    def domain(self) -> Domain:
        """The columns that a method is given: without those that are never in."""
        if self.keep is None:
            return self.coding
        return replace(self.coding, columns=tuple(self.coding.columns[j] for j in self.keep))

    def priced(self, rows: int | None, least: int = 2) -> tuple[Cost, int]:
        """What the choice costs, and from how many units; fewer than the least are refused."""
        asked = self.asked
        cost = Cost.of(asked.epsilon, delta=asked.delta, allow_weak=asked.allow_weak)
        units = self.domain.public_units(rows)
        if units < least:
            raise ParameterError(f"the table has {units} {self.domain.unit}s (n_samples = {units})"
                                 f"; a choice from them needs at least {least}")
        cost.check_units(units)
        return cost, units

    def settled(self, kind: type[Settled], cost: Cost, units: int, **own: Any) -> Settled:
        """The public parameters of a run, with as many names as are worth most."""
        return fewer(settled(
            kind, self.asked, n_features_to_select=self.places.total, epsilon=cost.epsilon,
            delta=cost.delta, domain=self.domain, units=units, places=self.places, **own))

    def plan(self, *, settings: Mapping[str, Json], summarise: Any, mechanism: Any,
             certain: tuple[int, ...] | None, **own: Any) -> Plan:
        """The plan of a choice, from functions that know the columns a method is given."""
        if self.keep is not None:
            certain = None if certain is None else tuple(self.keep[j] for j in certain)
            summarise = seen(summarise, partial(narrowed, keep=self.keep),
                             len(self.declared.columns))
            mechanism = partial(chosen_of, keep=self.keep, mechanism=mechanism)
        return Plan(kind=Selection.kind, domain=self.declared, reads=self.coding, certain=certain,
                    settings=settings, asked=as_json(self.asked, settings), summarise=summarise,
                    mechanism=mechanism, **own)


def selection(choice: ColumnChoice, rules: Run, cost: Cost, *, noise: Fraction, summarise: Any,
              **own: Any) -> Plan:
    """The plan of a choice by one race; a choice of all columns costs nothing.

    rules : the public parameters of the run.
    noise : its size, in units on a score.
    own : what is the method's own: name, settings, theorem, and its mechanism.
    """
    free = rules.places.certain and not rules.ordered
    expected = rules.forecast
    costs = by_cost(cost.epsilon, lambda other: replace(rules, epsilon=other).forecast)
    forecast = json(expected, costs, times=rules.times, advice=None if free else advice(rules),
                    names=None if rules.fewer is None else rules.places.k,
                    after_coding=after_coding(rules.domain))
    close = None if free else warning(expected)
    taken = own.pop("takes", None) or takes(Extent.of(rules.domain, rules.units))
    own |= {"event": NOTHING, "shows": {}} if free else {}
    return choice.plan(
        units=rules.units, assumes=rules.assumes, forecast=forecast,
        warning=close and close + rules.useful, noise=NoiseSize(noise, "units on a score"),
        certain=rules.places.columns() if free else None,
        cost=Cost(Fraction(0)) if free else cost, summarise=summarise,
        takes=taken if holds_rows(summarise) else taken._replace(rows=0), **own)


@dataclass(frozen=True)
class Places:
    """What is raced, and for how many places.

    items : of each that is raced the positions of its columns: one, or those of a group
    always : positions that are in without a race
    total : how many places there are, those that are taken always among them
    k : how many items are named

    >>> from privsieve.public.domain import Domain
    >>> asked = Choosing(n_features_to_select=3, always=("x1",), groups={"both": ["x0", "x3"]})
    >>> among(asked, Domain.box(0, 1, columns=5))
    Places(items=((0, 3), (2,), (4,)), always=(1,), total=3, k=2)
    """

    items: tuple[tuple[int, ...], ...]
    always: tuple[int, ...]
    total: int
    k: int

    @property
    def d(self) -> int:
        """How many items are raced."""
        return len(self.items)

    @property
    def taken(self) -> int:
        """How many places are taken before the race."""
        return self.total - self.k

    @cached_property
    def plain(self) -> bool:
        """Whether each place is for a column on its own."""
        return (len(self.always) + self.k == self.total
                and all(len(item) == 1 for item in self.items))

    @property
    def certain(self) -> bool:
        """Whether there is nothing to choose."""
        return self.k == self.d

    def race(self, epsilon: Fraction, **own: Any) -> Race:
        """The race for scores that one unit moves by 1; `own` are further fields of it."""
        from privsieve.noise.race import Race

        return Race(self.d, self.k, 1, epsilon, **own)

    def forecast(self, race: Race, reach: Fraction, sought: int) -> Forecast:
        """What a race is expected to find, where so many columns were asked for."""
        return Forecast(race, self.d, self.k, reach, sought - self.taken)

    def scores(self, scores: Sequence[int]) -> list[int]:
        """What each item is worth: the most of its columns."""
        # [most-of-its-columns]
        return [max(scores[j] for j in item) for item in self.items]

    def columns(self, named: Iterable[int] | None = None, *, ordered: bool = False,
                ) -> tuple[int, ...]:
        """The positions of the columns of some items, of all where none are given."""
        raced = [j for item in (range(self.d) if named is None else named)
                 for j in self.items[item]]
        return (*self.always, *raced) if ordered else tuple(sorted((*self.always, *raced)))

    def chosen(self, scores: Sequence[int], race: Race, noise: Noise) -> tuple[int, ...]:
        """One race over scores of columns: positions, in order where that is released."""
        from privsieve.noise.race import top_k

        if self.certain and not race.ordered:
            # [nothing-to-choose]
            return self.columns()
        return self.columns(top_k(self.scores(scores), race, noise), ordered=race.ordered)


@declared
class Run(Choosing):
    """The public parameters of one run of a choice: its options, settled, and public facts."""

    domain: Domain
    units: int
    places: Places

    #: Gaps of scores are so many times those of rows.
    times: ClassVar[int] = 1

    @property
    def useful(self) -> str:
        """What a warning says beside."""
        return ""

    @property
    def k(self) -> int:
        """How many columns are named."""
        return int(self.n_features_to_select)

    @property
    def sought(self) -> int:
        """How many columns were asked for."""
        return self.k if self.fewer is None else int(self.fewer)

    @property
    def race(self) -> Race:
        """The race for scores that one unit moves by 1."""
        return self.places.race(self.epsilon, delta=self.delta, ordered=self.ordered)

    @property
    def reach(self) -> Fraction:
        """How far a gap of 1 puts a column ahead, in units of a score.

        Where units come and go instead of being replaced, one moves a score by half as much.
        """
        return Fraction(self.units * (1 if self.domain.replaces else 2))

    @property
    def forecast(self) -> Forecast:
        """What the choice is expected to find."""
        return self.places.forecast(self.race, self.reach, self.sought)

    @property
    def one_race(self) -> bool:
        """Whether one race may name all columns."""
        return True

    @property
    def alone(self) -> Self:
        """The same where one race names all columns."""
        return self


Settled = TypeVar("Settled", bound=Run)


def among(asked: Choosing, domain: Domain) -> Places:
    """Read what a choice of columns of this domain is among; refuses what makes no sense."""
    members = _members(asked, domain)
    always = _always(asked, members)
    raced = [name for name in members if name not in always]
    all_of_them = len(members) == len(domain.columns) and not asked.never
    total = count(asked.n_features_to_select, len(members), *([] if all_of_them else [
        "{} columns and groups are left to choose from; choose fewer"]))
    if total <= len(always):
        raise ParameterError(f"always names {len(always)} and {total} are to be chosen: nothing is "
                             "left to choose; choose more, or name fewer")
    return Places(tuple(members[name] for name in raced),
                  tuple(j for name in always for j in members[name]), total, total - len(always))


def _members(asked: Choosing, domain: Domain) -> dict[str, tuple[int, ...]]:
    """The positions of each column alone and of each group, by its name and in order."""
    position = {name: j for j, name in enumerate(domain.names)}
    group_of: dict[str, str] = {}
    for group, columns in (asked.groups or {}).items():
        if group in position:
            raise ParameterError(f"a group is called {quoted(group)}, as a column is; give it "
                                 "another name")
        for name in columns:
            if name not in position:
                raise ParameterError(f"group {quoted(group)} has {quoted(name)}, which is no "
                                     "column to choose; write names of the domain's columns")
            if name in group_of:
                raise ParameterError(f"group {quoted(group)} names {quoted(name)}, which is in "
                                     f"group {quoted(group_of[name])} already; groups may not "
                                     "overlap: write it once")
            group_of[name] = group
    found: dict[str, list[int]] = {}
    for name, j in position.items():
        found.setdefault(group_of.get(name, name), []).append(j)
    return {name: tuple(columns) for name, columns in found.items()}


def _always(asked: Choosing, members: Mapping[str, object]) -> list[str]:
    """The columns alone and the groups that are always in; names of others are refused."""
    known = list(asked.always or ())
    for name in known:
        if name in members:
            continue
        inside = [group for group, columns in (asked.groups or {}).items() if name in columns]
        if inside:
            raise ParameterError(f"always names {quoted(name)}, which is a part of group "
                                 f"{quoted(inside[0])}; name the group")
        raise ParameterError(f"always names {quoted(name)}, which is no column to choose, nor a "
                             "group; write names of the domain's columns")
    return known


# --- columns that are never in ------------------------------------------------------------------

def _kept(asked: Choosing, domain: Domain) -> tuple[int, ...]:
    """The positions of the columns that a method is given."""
    for name in asked.never:
        if name not in domain.names:
            raise ParameterError(f"never names {quoted(name)}, which is no column of the domain; "
                                 "write names of its columns")
        if name in (asked.always or ()):
            raise ParameterError(f"{quoted(name)} is named by always and by never; name it once")
        for group, columns in (asked.groups or {}).items():
            if name in columns:
                raise ParameterError(f"{quoted(name)} is never chosen, and group {quoted(group)} "
                                     "has it; take it out of one of them")
    positions = tuple(j for j, name in enumerate(domain.names) if name not in asked.never)
    if not positions:
        raise ParameterError("never names all columns; leave some to choose from")
    return positions


def narrowed(batch: Batch, keep: Sequence[int]) -> Batch:
    """Rows with some of their columns."""
    import numpy as np

    # [cell-by-cell] units, positions and tags stay: one unit is changed in one unit's rows
    return replace(batch, codes=np.ascontiguousarray(batch.codes.T[list(keep)]).T)


def chosen_of(summary: Any, noise: Noise, *, keep: Sequence[int], mechanism: Any) -> Chosen:
    """What a mechanism names of the columns that were kept, as positions among all columns."""
    named = mechanism(summary, noise)
    return Chosen((keep[j] for j in named), **getattr(named, "said", {}))
