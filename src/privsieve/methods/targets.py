"""Several targets: one choice of columns that say something about any of them, or about all.

Each target has its own tables, class weights and values, as if it were alone.  Values of different
targets are brought to one sensitivity; a column is then worth the most for any target, or the sum
over them, and one race names columns; see targets.proof.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import lcm
from typing import TYPE_CHECKING, Any

from privsieve.errors import ParameterError
from privsieve.methods.choosing import charged
from privsieve.methods.places import Places, among, kept, narrow, narrowed, widened
from privsieve.public.canonical import Json, quoted
from privsieve.public.columns import Category, Column, Flag, Label, Number, Target
from privsieve.public.cost import EPSILON_UNITS, Cost
from privsieve.public.domain import Domain
from privsieve.public.plan import Plan, Scoring, assumed
from privsieve.summaries.stages import Summarise, together

if TYPE_CHECKING:
    from privsieve.noise.race import Race
    from privsieve.noise.streams import Noise

#: How values for several targets become one.
OVER = ("maximum", "mean")


@dataclass(frozen=True)
class Aims:
    """The public parameters of a choice for several targets.

    labels : for each target the position of its column; None for the target of the domain
    plans : for each a plan of its own, for its share of epsilon
    keep : the positions of the columns that may be chosen
    race : for values that one unit moves by 1
    """

    labels: tuple[int | None, ...]
    plans: tuple[Plan, ...]
    keep: tuple[int, ...]
    places: Places
    race: Race
    over: str

    @property
    def scorings(self) -> list[Scoring]:
        """How each target's plan values columns."""
        return [one.scoring for one in self.plans if one.scoring is not None]


def planned_for_all(asked: Any, domain: Domain, rows: int | None) -> Plan:
    """Plan one choice for the target of the domain and those that are named; reads no row."""
    _refuse(asked, domain)
    cost = Cost.of(asked.epsilon, delta=asked.delta, allow_weak=asked.allow_weak)
    keep = kept(asked, domain)
    labels = (None, *(domain.names.index(name) for name in asked.targets))
    aims = [narrow(domain, keep, **({} if label is None else {
        "target": target_of(domain.columns[label])})) for label in labels]
    # [shares] whole ledger units; what is left over goes to the race
    part = Fraction(cost.units // len(labels), EPSILON_UNITS)
    if not part:
        raise ParameterError(f"epsilon is {cost.text}, and {len(labels)} targets need a unit of it "
                             "each: choose a larger epsilon, or fewer targets")
    # [one-by-one] sets of columns for several targets are not raced
    alone = {"joint": "none"} if hasattr(asked, "joint") else {}
    each = replace(asked, epsilon=part, delta=0, allow_weak=True, **alone)
    plans = tuple(each.planned(aim, rows) for aim in aims)
    if any(one.scoring is None for one in plans):
        raise ParameterError("a target that is cut at a noisy median has no values that could "
                             "stand beside those of other targets, and there are several targets; "
                             'write numeric="ranks", under replace-one')
    places = among(asked, aims[0])
    counted = [part - one.scoring.epsilon for one in plans if one.scoring is not None]
    race = places.race(cost.epsilon - sum(counted), delta=cost.delta, ordered=asked.ordered,
                       mechanism=getattr(asked, "mechanism", "exponential"))
    charge = charged(cost, race, sum((spent**2 for spent in counted), Fraction(0)) / 2)
    run = Aims(labels, plans, keep, places, replace(race, delta=charge.delta), asked.over)
    # the forecast is that of the target for which least is found, at the whole cost
    whole = replace(asked, allow_weak=True, **alone)
    worst = min((whole.planned(aim, rows) for aim in aims), key=_found)
    return _plan(run, worst, charge, domain)


def _plan(run: Aims, worst: Plan, cost: Cost, domain: Domain) -> Plan:
    certain = run.places.certain and not run.race.ordered
    return replace(
        worst, method=run.plans[0].method, domain=domain,
        cost=Cost(Fraction(0)) if certain else cost, settings=_settings(run, domain),
        theorem="several-targets", scoring=None,
        assumes=assumed("several-targets", *(one.theorem for one in run.plans)),
        certain=widened(run.places.columns(), run.keep) if certain else None,
        summarise=summary_of(run), mechanism=partial(mechanism, run=run))


def _settings(run: Aims, domain: Domain) -> Mapping[str, Json]:
    """Those of the first target, and where others differ from it."""
    first = run.plans[0].settings
    by_target: dict[str, Json] = {}
    for label, one in zip(run.labels, run.plans, strict=True):
        own = {name: value for name, value in one.settings.items() if first.get(name) != value}
        if label is not None and own:
            by_target[domain.names[label]] = own
    return {**first, **({"by_target": by_target} if by_target else {})}


def _found(plan: Plan) -> int:
    found: Any = plan.forecast
    return int(found["found_percent"][found["usual_gap"]])


def target_of(column: Column) -> Target:
    """A column as a target: levels are classes, "other" the last; a number is a number.

    >>> target_of(Category("ward", ["A", "B"]))
    Label(name='ward', values=(0, 1, 2), default=0)
    """
    if isinstance(column, Number):
        return replace(column, cuts=(), role="known")
    if isinstance(column, Flag | Category):
        return Label(column.name, tuple(range(column.levels)))
    raise ParameterError(f"targets names {quoted(column.name)}, which is a date; a target is a "
                         "flag, a category or a number")


def _refuse(asked: Any, domain: Domain) -> None:
    if asked.over not in OVER:
        raise ParameterError(f'over is {quoted(asked.over)}; write "maximum" or "mean"')
    if domain.target is None:
        raise ParameterError("targets are named, and the domain has no target of its own; write "
                             "one of them as [target], and name the others")
    if asked.fewer is not None:
        raise ParameterError("fewer speaks of what is found for one target, and there are several; "
                             "leave it away")
    joint = getattr(asked, "joint", None)
    if joint not in (None, "auto", "none"):
        raise ParameterError(f"joint is {quoted(joint)}, which begins with a set of columns for "
                             "one target, and there are several targets; leave it away")
    prior = getattr(asked, "class_prior", None)
    if prior is not None and (not isinstance(prior, str) or prior[:1].isdigit()):
        raise ParameterError(f"class_prior is {quoted(prior)}, which are the shares of one "
                             "target's classes, and there are several targets; leave it away")
    if getattr(asked, "reference", None) is not None:
        raise ParameterError("a reference has the labels of one target, and there are several; "
                             "leave one of them away")


def summary_of(run: Aims) -> Summarise:
    """Rows become a summary for each target."""
    return together([narrowed(one.summarise, run.keep, label)
                     for label, one in zip(run.labels, run.plans, strict=True)])


# [mechanism]
def mechanism(summaries: Sequence[Any], noise: Noise, *, run: Aims) -> tuple[int, ...]:
    """Summaries meet noise: counts of each target, values over all of them, one race."""
    if run.places.certain and not run.race.ordered:
        return widened(run.places.columns(), run.keep)
    valued = [one.values(summary, noise)
              for one, summary in zip(run.scorings, summaries, strict=True)]
    values, moves = combined(valued, run.over)
    named = run.places.chosen(values, replace(run.race, sensitivity=moves), noise)
    return widened(named, run.keep)


def combined(valued: Sequence[tuple[Sequence[int], int]], over: str) -> tuple[list[int], int]:
    """One value a column from those for each target, and how far one unit moves it.

    >>> both = [([4, 0], 2), ([3, 9], 3)]
    >>> combined(both, "maximum"), combined(both, "mean")
    (([12, 18], 6), ([18, 18], 12))
    """
    # [common] a multiple of each sensitivity: a value moves by its share of it
    common = lcm(*(moves for _, moves in valued))
    scaled = [[value * (common // moves) for value in values] for values, moves in valued]
    if over == "maximum":
        return [max(each) for each in zip(*scaled, strict=True)], common
    # [sum] it orders columns as the mean does
    return [sum(each) for each in zip(*scaled, strict=True)], common * len(valued)
# [/mechanism]
