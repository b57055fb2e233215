"""Choosing: the options, candidates, forecast and plan of all methods that choose columns.

Let k columns exceed the others by a share `gap` of the rows.  `noise.race` computes how many of
them a race that names m columns finds, from the law of its noise.  With exponential noise, k at
most half of d columns, and A binomial with d - k tries of exp(-gap n epsilon / (2 m)),

    E[m / (A + k)] of the k are found, and E[k / (A + k)] of the m names are right.

At gap 0 the second is k/d, which is guessing.  `fewer` chooses m from these public numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from privsieve.errors import ParameterError
from privsieve.methods.branches import Extent, takes
from privsieve.methods.method import PrivateMethod
from privsieve.noise.race import Race
from privsieve.public.canonical import EPSILON_UNITS, Json, decimal, quoted, read_flag
from privsieve.public.domain import Domain, after_coding
from privsieve.public.event import NOTHING
from privsieve.public.option import (
    PLACED,
    as_json,
    count,
    declared,
    how_many,
    number,
    option,
    resolve_options,
    written_group,
)
from privsieve.public.plan import Chosen, Cost, NoiseSize, Plan, holds_rows
from privsieve.release import Selection
from privsieve.summaries.stages import seen

if TYPE_CHECKING:
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch

#: Gaps that tables have: weak, usual (waveform .08 to .10, WDBC .15), strong (XOR .23).
GAPS = (Fraction(1, 50), Fraction(1, 20), Fraction(1, 10), Fraction(1, 5))
USUAL = Fraction(1, 10)
#: A plan warns where its gain over guessing is below this share of the possible gain.
LITTLE = 0.2
#: Equally likely gaps from weak to strong, over which `fewer` takes the mean.
MIXTURE = tuple(0.02 * 20 ** (i / 12) for i in range(13))
#: A plan advises fewer names where a smaller share than this of the names would be right.
FEW = 0.5
#: The largest number of candidates for k that are all tried.
TRIED = 64
#: Epsilons that a report compares with the epsilon of its release.
COSTS = (Fraction(1, 10), Fraction(3, 10), Fraction(1), Fraction(3))


@declared
class Choosing(PrivateMethod):
    """The options of every method that chooses columns."""

    kind = Selection

    n_features_to_select: Any = option(
        default=5, kw_only=False, needed=True, setting="k", read=how_many, flag="--top",
        metavar="N", says="the number of columns, or a fraction of all, such as 0.1")
    delta: Any = option(default=0, metavar="D", setting=None, read=number,
                        says="the delta of the guarantee, such as 1e-9: less noise if many "
                             "columns are chosen")
    ordered: bool = option(default=False, read=read_flag,
                           says="release the order of the columns, too")
    always: Any = option(
        default=None, several=list, unsaid=True, metavar="NAME",
        says="columns or groups that are always chosen; they count among the k")
    never: Any = option(
        default=None, several=list, unsaid=True, metavar="NAME",
        says="columns that are never chosen")
    groups: Any = option(
        default=None, several=dict, unsaid=True, read=written_group, metavar="NAME=A,B,…",
        flag="--group",
        says="columns that are chosen together under one name; the group counts as one column")
    fewer: Any = option(default=None, choices=("auto",), setting="at_most", unsaid=True,
                        flag="--at-most",
                        says="auto: choose fewer than k columns if the forecast is better")

    def coding(self, domain: Domain) -> Domain:
        """Return the domain by which rows become codes."""
        return domain

    def planned(self, domain: Domain, rows: int | None) -> Plan:
        """Plan one selection; reads no row."""
        # an empty list names no column
        names: dict[str, Any] = {name: getattr(self, name) or None for name in PLACED}
        options = replace(self, **names)
        kept = None if options.never is None else _kept_positions(options, domain)
        return options.planned_choice(
            ColumnChoice(options, domain, options.coding(domain), kept), rows)

    def planned_choice(self, choice: ColumnChoice, rows: int | None) -> Plan:
        """Plan one selection among the columns of a choice; reads no row."""
        raise NotImplementedError


@dataclass(frozen=True)
class Forecast:
    """The expected share of the named columns that are among the best.

    k : the number of columns that are named, of d
    reach : the lead of a column whose gap is 1, in units of a score
    sought : the number of best columns, at least k

    >>> forecast = Forecast(Race(30, 3, 1, Fraction(1)), 30, 3, Fraction(569), 3)
    >>> round(forecast.guessing, 2), [round(share, 2) for share in forecast.right]
    (0.1, [0.46, 0.94, 1.0, 1.0])
    """

    race: Race
    d: int
    k: int
    reach: Fraction
    sought: int

    def at(self, gap: float) -> float:
        """Return the share of right names where the best columns lead by this gap."""
        share = self.race.share(self.d, self.k, gap * float(self.reach), leaders=self.sought)
        return share * self.sought / self.k

    @property
    def guessing(self) -> float:
        """The share of right names by guessing."""
        return self.sought / self.d

    @cached_property
    def right(self) -> tuple[float, ...]:
        """The share of right names for each of `GAPS`."""
        return tuple(self.at(float(gap)) for gap in GAPS)

    @property
    def usual(self) -> float:
        """The share of right names on a usual table."""
        return self.at(float(USUAL))

    @cached_property
    def mean(self) -> float:
        """The share of right names over the mixture of tables."""
        return sum(map(self.at, MIXTURE)) / len(MIXTURE)

    @property
    def f1(self) -> float:
        """The harmonic mean of the right share of names and the found share of the best columns."""
        return 2 * self.mean * self.k / (self.k + self.sought)

    @property
    def gain(self) -> float:
        """The gain over guessing at a usual gap, as a share of the possible gain."""
        return (self.usual - self.guessing) / (1 - self.guessing) if self.guessing < 1 else 1.0


def by_cost(epsilon: Fraction, forecast_at: Callable[[Fraction], Forecast]) -> Mapping[str, Json]:
    """Return the per cent found on a usual table, rounded down, at this and other epsilons.

    >>> by_cost(Fraction(1), lambda epsilon: Forecast(Race(30, 3, 1, epsilon), 30, 3,
    ...                                               Fraction(569), 3))
    {'0.1': 23, '0.3': 70, '1': 99, '3': 99}
    """
    return {decimal(-(-cost * EPSILON_UNITS // 1)): int(100 * forecast_at(cost).usual)
            for cost in sorted({*COSTS, epsilon})}


def warning(forecast: Forecast) -> str | None:
    """Warn where the choice will be close to random on a usual table."""
    if forecast.gain >= LITTLE:
        return None
    those = "columns sought" if forecast.k == forecast.sought else "columns named"
    are = "found" if forecast.k == forecast.sought else "right"
    return (f"the choice will be close to random: of the {those} about {forecast.usual:.0%} are "
            f"{are} on a usual table, and {forecast.guessing:.0%} by guessing; more rows, a larger "
            "epsilon or fewer columns to choose would help")


# [fewer]
def fewer(rules: AnyRun) -> AnyRun:
    """Return the run with the number of names of the largest F1, where `fewer` is "auto".

    Public numbers decide, before the charge.  `fewer` then holds the requested number.  Where more
    than half of the columns are requested, all are named: the race names those that are left out.
    """
    if rules.fewer is None:
        return rules
    if not rules.one_race:
        raise ParameterError('fewer="auto" is for one top-k selection, but joint begins with '
                             "a pair of columns; leave out fewer or joint")
    return _best_number(rules)


def _best_number(rules: AnyRun) -> AnyRun:
    places = rules.places
    k = places.k

    def naming(m: int, **changes: Any) -> AnyRun:
        # A pair first is for tables where much can be found: there all k are named.
        by, total = rules if m == k else rules.alone, places.taken + m
        return replace(by, n_features_to_select=total, fewer=places.total,
                       places=replace(places, k=m, total=total), **changes)

    if 2 * k > places.d:
        return naming(k)
    # The search ignores the delta, whose noise takes long to size; the last comparison uses it.
    m = _largest(lambda m: naming(m, delta=Fraction(0)).forecast.f1, k)
    return max(naming(m), naming(k), key=lambda run: run.forecast.f1)


def _largest(value: Callable[[int], float], k: int) -> int:
    """Return the number from 1 to k with the largest value, the smaller of equals.

    Of many numbers some are tried, and then those between the neighbours of the best.

    >>> _largest(lambda m: -(m - 3) ** 2, 9), _largest(lambda m: -(m - 700) ** 2, 5000)
    (3, 700)
    """
    low, high = 1, k
    while high - low >= TRIED:
        steps = [low * (high / low) ** (i / TRIED) for i in range(TRIED + 1)]
        tried = sorted({min(high, max(low, round(step))) for step in steps})
        best = tried.index(max(tried, key=value))
        low, high = tried[max(0, best - 1)], tried[min(len(tried) - 1, best + 1)]
    return max(range(low, high + 1), key=value)
# [/fewer]


def advice(rules: Run) -> str | None:
    """Advise fewer names where few of k would be right; both figures are of possible plans."""
    places = rules.places
    if rules.fewer is not None or not rules.one_race:
        return None
    k, forecast = places.k, rules.forecast
    if forecast.mean >= FEW:
        return None
    few = _best_number(rules)
    named = few.places.k
    if named == k:
        return None
    beside = " beside those that are always in" if places.taken else ""
    return (f"asked for {k}{beside}: with {rules.units} {rules.domain.unit}s and this epsilon "
            f"about {_rounded(forecast.mean * k)} of the {k} would be right; --at-most "
            f'{places.total} (in Python fewer="auto") would name {named}, about '
            f"{_rounded(few.forecast.mean * named)} of {'them' if named > 1 else 'it'} right, in "
            "the mean over tables from weak to strong")


def _rounded(columns: float) -> str:
    """Round a number of columns for people.

    >>> _rounded(0.34), _rounded(2.96), _rounded(8.7)
    ('0.3', '3', '9')
    """
    return f"{columns:.0f}" if columns >= 3 else f"{columns:.1f}".removesuffix(".0")


def charged(cost: Cost, race: Race, before: Fraction = Fraction(0)) -> Cost:
    """Return the cost of a plan with this race, without a delta that would not reduce the noise.

    before : the rho that pure mechanisms spend before the race

    >>> unit, tiny = Fraction(1), Fraction(1, 10**6)
    >>> [charged(Cost(unit, tiny), Race(100, k, 1, unit, delta=tiny)).delta_text for k in (3, 20)]
    ['0', '0.000001']
    """
    rho = race.rho + before if race.kind == "gumbel" else None
    return replace(cost, rho=rho, delta=Fraction(0) if race.account == "pure" else cost.delta)


@dataclass(frozen=True)
class ColumnChoice:
    """The request of a choice, and the columns that it is among.

    declared : the declared domain, with the columns that are never in
    coding : the same with the bounds by which rows become codes
    kept : the positions of the columns that the method sees; None for all

    >>> from privsieve.methods import plan
    >>> settings = plan("rule-sieve", Domain.box(0, 1, columns=9), k=3, epsilon=1, rows=500,
    ...                 never=["x4"], always="x0").settings
    >>> settings["k"], settings["always"], settings["never"]
    (3, ['x0'], ['x4'])
    """

    options: Choosing
    declared: Domain
    coding: Domain
    kept: tuple[int, ...] | None = None

    @cached_property
    def places(self) -> Places:
        """The items that are raced, and the number of places."""
        return among(self.options, self.domain)

    @cached_property
    def domain(self) -> Domain:
        """The domain that the method sees: without the columns that are never in."""
        if self.kept is None:
            return self.coding
        return replace(self.coding, columns=tuple(self.coding.columns[j] for j in self.kept))

    def priced(self, rows: int | None, least: int = 2) -> tuple[Cost, int]:
        """Return the cost and the number of units; refuse fewer units than `least`."""
        options = self.options
        cost = Cost.of(options.epsilon, delta=options.delta, allow_weak=options.allow_weak)
        units = self.domain.public_units(rows)
        if units < least:
            raise ParameterError(f"the table has {units} {self.domain.unit}s (n_samples = {units})"
                                 f"; this method needs at least {least}")
        cost.check_units(units)
        return cost, units

    def run(self, kind: type[AnyRun], cost: Cost, units: int, **own: Any) -> AnyRun:
        """Return the public parameters of a run, with the number of names that `fewer` chooses."""
        return fewer(resolve_options(
            kind, self.options, n_features_to_select=self.places.total, epsilon=cost.epsilon,
            delta=cost.delta, domain=self.domain, units=units, places=self.places, **own))

    def plan(self, *, settings: Mapping[str, Json], summarise: Any, mechanism: Any,
             certain: tuple[int, ...] | None, **own: Any) -> Plan:
        """Plan a choice; `summarise` and `mechanism` know the columns that the method sees."""
        if self.kept is not None:
            certain = None if certain is None else tuple(self.kept[j] for j in certain)
            summarise = seen(summarise, partial(narrowed, kept=self.kept),
                             len(self.declared.columns))
            mechanism = partial(chosen_of, kept=self.kept, mechanism=mechanism)
        return Plan(kind=Selection.kind, domain=self.declared, reads=self.coding, certain=certain,
                    settings=settings, options=as_json(self.options, settings), summarise=summarise,
                    mechanism=mechanism, **own)


def selection(choice: ColumnChoice, rules: Run, cost: Cost, *, noise: Fraction, summarise: Any,
              times: int = 1, **own: Any) -> Plan:
    """Plan a choice by races; a choice of all columns costs nothing.

    noise : its size, in units on a score
    times : gaps of scores, as a multiple of gaps of rows
    own : the fields of `Plan` that are the method's own, and a `hint` that ends a warning
    """
    free = rules.places.certain and not rules.ordered
    forecast = rules.forecast
    hint = own.pop("hint", "")
    text = None if free else warning(forecast)
    taken = own.pop("takes", None) or takes(Extent.of(rules.domain, rules.units))
    own |= {"event": NOTHING, "shows": {}} if free else {}
    notes: dict[str, Json] = {
        "advice": None if free else advice(rules),
        "names": None if rules.fewer is None else rules.places.k,
        "after_coding": after_coding(rules.domain)}
    return choice.plan(
        units=rules.units, assumes=rules.assumes, warning=text and text + hint,
        forecast={
            **{name: note for name, note in notes.items() if note is not None},
            "guessing_percent": int(100 * forecast.guessing),
            "usual_gap": str(float(times * USUAL)),
            "found_percent": {str(float(times * gap)): int(100 * share)
                              for gap, share in zip(GAPS, forecast.right, strict=True)},
            "by_cost": by_cost(cost.epsilon, lambda other: replace(rules, epsilon=other).forecast)},
        noise=NoiseSize(noise, "units on a score"),
        certain=rules.places.columns() if free else None,
        cost=Cost(Fraction(0)) if free else cost, summarise=summarise,
        takes=taken if holds_rows(summarise) else taken._replace(rows=0), **own)


@dataclass(frozen=True)
class Places:
    """The items that are raced, and the number of places.

    items : for each item the positions of its columns: one, or those of a group
    always : the positions that are always included
    total : the number of places, with those of the columns that are always included
    k : the number of items that are named

    >>> options = Choosing(n_features_to_select=3, always=("x1",), groups={"both": ["x0", "x3"]})
    >>> among(options, Domain.box(0, 1, columns=5))
    Places(items=((0, 3), (2,), (4,)), always=(1,), total=3, k=2)
    """

    items: tuple[tuple[int, ...], ...]
    always: tuple[int, ...]
    total: int
    k: int

    @property
    def d(self) -> int:
        """The number of items."""
        return len(self.items)

    @property
    def taken(self) -> int:
        """The number of places that are taken before the race."""
        return self.total - self.k

    @cached_property
    def plain(self) -> bool:
        """Whether each place is for a single column."""
        return (len(self.always) + self.k == self.total
                and all(len(item) == 1 for item in self.items))

    @property
    def certain(self) -> bool:
        """Whether there is nothing to choose."""
        return self.k == self.d

    def race(self, epsilon: Fraction, **own: Any) -> Race:
        """Return the race for scores that one unit moves by 1; `own` are further fields of it."""
        return Race(self.d, self.k, 1, epsilon, **own)

    def forecast(self, race: Race, reach: Fraction, sought: int) -> Forecast:
        """Return the forecast of a race where `sought` columns were requested."""
        return Forecast(race, self.d, self.k, reach, sought - self.taken)

    def scores(self, scores: Sequence[int]) -> list[int]:
        """Return the score of each item: the largest of its columns."""
        # [most-of-its-columns]
        return [max(scores[j] for j in item) for item in self.items]

    def columns(self, named: Iterable[int] | None = None, *, ordered: bool = False,
                ) -> tuple[int, ...]:
        """Return the positions of the columns of some items, or of all."""
        raced = [j for item in (range(self.d) if named is None else named)
                 for j in self.items[item]]
        return (*self.always, *raced) if ordered else tuple(sorted((*self.always, *raced)))

    def chosen(self, scores: Sequence[int], race: Race, noise: Noise) -> tuple[int, ...]:
        """Run one race over scores of columns; return positions, in order if that is released."""
        from privsieve.noise.race import top_k

        if self.certain and not race.ordered:
            # [nothing-to-choose]
            return self.columns()
        return self.columns(top_k(self.scores(scores), race, noise), ordered=race.ordered)


@declared
class Run(Choosing):
    """The public parameters of one run of a choice: its options as numbers, and public facts."""

    domain: Domain
    units: int
    places: Places

    @property
    def k(self) -> int:
        """The number of columns that are named."""
        return int(self.n_features_to_select)

    @property
    def sought(self) -> int:
        """The number of columns that were requested."""
        return self.k if self.fewer is None else int(self.fewer)

    @property
    def race(self) -> Race:
        """The race for scores that one unit moves by 1."""
        return self.places.race(self.epsilon, delta=self.delta, ordered=self.ordered)

    @property
    def reach(self) -> Fraction:
        """The lead of a column whose gap is 1, in units of a score.

        A unit that comes or goes moves a score half as far as a unit that is replaced.
        """
        return Fraction(self.units * (1 if self.domain.replaces else 2))

    @property
    def forecast(self) -> Forecast:
        """The forecast of the choice."""
        return self.places.forecast(self.race, self.reach, self.sought)

    @property
    def one_race(self) -> bool:
        """Whether one race may name all columns."""
        return True

    @property
    def alone(self) -> Self:
        """The same run where one race names all columns."""
        return self


AnyRun = TypeVar("AnyRun", bound=Run)


def among(options: Choosing, domain: Domain) -> Places:
    """Read the candidates of a choice of columns; refuse names that contradict each other."""
    members = _members(options, domain)
    always = _always(options, members)
    raced = [name for name in members if name not in always]
    all_of_them = len(members) == len(domain.columns) and not options.never
    total = count(options.n_features_to_select, len(members), *([] if all_of_them else [
        "{} columns and groups are left to choose from; choose fewer"]))
    if total <= len(always):
        raise ParameterError(f"always names {len(always)} and the number to choose is {total}, so "
                             "nothing is left to choose; choose more, or name fewer")
    return Places(tuple(members[name] for name in raced),
                  tuple(j for name in always for j in members[name]), total, total - len(always))


def _members(options: Choosing, domain: Domain) -> dict[str, tuple[int, ...]]:
    """Return the positions of each single column and each group, by name and in order."""
    position = {name: j for j, name in enumerate(domain.names)}
    group_of: dict[str, str] = {}
    for group, columns in (options.groups or {}).items():
        if group in position:
            raise ParameterError(f"a group and a column are both named {quoted(group)}; "
                                 "give the group another name")
        for name in columns:
            if name not in position:
                raise ParameterError(f"group {quoted(group)} names {quoted(name)}, which is "
                                     "not a column; write names of the domain's columns")
            if name in group_of:
                raise ParameterError(f"group {quoted(group)} names {quoted(name)}, which is "
                                     f"already in group {quoted(group_of[name])}; remove it from "
                                     "one of the groups")
            group_of[name] = group
    members: dict[str, list[int]] = {}
    for name, j in position.items():
        members.setdefault(group_of.get(name, name), []).append(j)
    return {name: tuple(columns) for name, columns in members.items()}


def _always(options: Choosing, members: Mapping[str, object]) -> list[str]:
    """Return the single columns and groups that are always included; refuse other names."""
    names = list(options.always or ())
    for name in names:
        if name in members:
            continue
        inside = [group for group, columns in (options.groups or {}).items() if name in columns]
        if inside:
            raise ParameterError(f"always names {quoted(name)}, which is in group "
                                 f"{quoted(inside[0])}; name the group instead")
        raise ParameterError(f"always names {quoted(name)}, which is not a column or a group; "
                             "write names of the domain's columns")
    return names


# --- columns that are never in ------------------------------------------------------------------

def _kept_positions(options: Choosing, domain: Domain) -> tuple[int, ...]:
    """Return the positions of the columns that the method sees."""
    for name in options.never:
        if name not in domain.names:
            raise ParameterError(f"never names {quoted(name)}, which is not a column; write "
                                 "names of the domain's columns")
        if name in (options.always or ()):
            raise ParameterError(f"always and never both name {quoted(name)}; remove one of them")
        for group, columns in (options.groups or {}).items():
            if name in columns:
                raise ParameterError(f"never and group {quoted(group)} both name {quoted(name)}; "
                                     "remove one of them")
    positions = tuple(j for j, name in enumerate(domain.names) if name not in options.never)
    if not positions:
        raise ParameterError("never names all columns; remove some names from never")
    return positions


def narrowed(batch: Batch, kept: Sequence[int]) -> Batch:
    """Return rows with some of their columns."""
    import numpy as np

    # [cell-by-cell] units, positions and tags stay: one unit is changed in one unit's rows
    return replace(batch, codes=np.ascontiguousarray(batch.codes.T[list(kept)]).T)


def chosen_of(summary: Any, noise: Noise, *, kept: Sequence[int], mechanism: Any) -> Chosen:
    """Run a mechanism over the kept columns; return its answer as positions among all columns."""
    named = mechanism(summary, noise)
    return Chosen((kept[j] for j in named), **getattr(named, "fields", {}))
