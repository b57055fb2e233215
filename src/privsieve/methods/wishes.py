"""Wishes: from what somebody wants of a choice to its plan.

always : in the answer whatever the rows say, and not raced
never : not looked at: the method is given a domain without them
groups : raced, chosen and released as one; what a group is worth is the most of its columns
costs, price : a race for as many as can be paid
targets : one choice of columns that say something about any of them, or about all

All of it is public.  `choosing.among` reads what is left to choose among.  Of several targets each
has its own tables, class weights and values, as if it were alone.  Values of different targets are
brought to one sensitivity; a column is then worth the most for any target, or the sum over them,
and one race names columns; see wishes.proof.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import lcm
from typing import TYPE_CHECKING, Any

from privsieve.errors import ParameterError
from privsieve.frozen import dataclass
from privsieve.methods.choosing import Places, among, amount, charged
from privsieve.public.canonical import EPSILON_UNITS, Json, quoted
from privsieve.public.columns import Category, Column, Flag, Label, Number, Target
from privsieve.public.domain import Domain
from privsieve.public.option import Choosing
from privsieve.public.plan import Chosen, Cost, Plan, Scoring, assumed
from privsieve.release import exactly
from privsieve.summaries.stages import Summarise, seen, together

if TYPE_CHECKING:
    from privsieve.noise.race import Race
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch

#: Options that say what a choice is among.
WISHES = ("always", "never", "groups", "costs", "price", "targets", "over")
#: How values for several targets become one.
OVER = ("maximum", "mean")


# --- from what somebody gave to a plan ----------------------------------------------------------

def planned(asked: Choosing, domain: Domain, rows: int | None) -> Plan:
    """Plan a choice of columns among those that may be chosen; reads no row.

    >>> from privsieve.methods import plan
    >>> from privsieve.public.domain import Domain
    >>> made = plan("rule-sieve", Domain.box(0, 1, columns=9), k=3, epsilon=1, rows=500,
    ...             never=["x4"], always="x0")
    >>> made.settings["k"], made.settings["always"], made.settings["never"]
    (3, ['x0'], ['x4'])
    """
    wishes = written(asked, domain)
    if wishes is None:
        return asked.planned(domain, rows)
    asked = replace(asked, **wishes)
    if asked.targets:
        return planned_for_all(asked, domain, rows)
    keep = kept(asked, domain)
    if len(keep) == len(domain.columns):
        return asked.planned(domain, rows)
    inner = asked.planned(narrow(domain, keep), rows)
    return replace(
        inner, domain=domain, certain=None if inner.certain is None else widened(
            inner.certain, keep),
        summarise=narrowed(inner.summarise, keep, domain),
        mechanism=partial(chosen_of, keep=keep, mechanism=inner.mechanism))


def written(asked: Choosing, domain: Domain) -> dict[str, Any] | None:
    """The public wishes in one form; None where there are none."""
    if asked.over != "maximum" and not asked.targets:
        raise ParameterError(f"over is {quoted(asked.over)}, and there is one target; leave it "
                             "away, or name targets=")
    if all(getattr(asked, name) is None for name in WISHES if name != "over"):
        return None
    wishes: dict[str, Any] = {name: _names(getattr(asked, name), name)
                              for name in ("always", "never", "targets")}
    wishes["groups"] = _mapping(asked.groups, "groups", "address", ["street", "zip"])
    if wishes["groups"]:
        wishes["groups"] = {name: _group(columns, name)
                            for name, columns in wishes["groups"].items()}
    wishes["costs"] = _mapping(asked.costs, "costs", "mri", 5)
    both = [name for name in wishes["always"] or () if name in (wishes["never"] or ())]
    if both:
        raise ParameterError(f"{quoted(both[0])} is named by always and by never; name it once")
    for option in ("never", "targets"):
        for name in wishes[option] or ():
            if name not in domain.names:
                raise ParameterError(f"{option} names {quoted(name)}, which is no column of the "
                                     "domain; write names of its columns")
            _only_there(name, option, wishes)
    if asked.price is not None:
        wishes["price"] = exactly(amount(asked.price, "price"))
    if wishes["costs"]:
        wishes["costs"] = {name: exactly(amount(cost, f"costs[{quoted(name)}]"))
                           for name, cost in wishes["costs"].items()}
    return wishes


def _only_there(name: str, option: str, wishes: Mapping[str, Any]) -> None:
    """Refuse a column that cannot be chosen and is named where it would be."""
    why = "is never chosen" if option == "never" else "is a target, and so is never chosen"
    if option == "targets" and name in (wishes["never"] or ()):
        raise ParameterError(f"{quoted(name)} is named by never and by targets; a target is not "
                             "chosen anyhow: take it out of never")
    groups = [group for group, columns in (wishes["groups"] or {}).items() if name in columns]
    if groups:
        raise ParameterError(f"{quoted(name)} {why}, and group {quoted(groups[0])} has it; take it "
                             "out of one of them")
    for other in ("always", "costs"):
        if name in (wishes[other] or ()):
            raise ParameterError(f"{quoted(name)} {why}, and {other} names it; take it out of one "
                                 "of them")


def _names(value: object, option: str) -> tuple[str, ...] | None:
    """One name, or several; each once."""
    if value is None:
        return None
    names = [value] if isinstance(value, str) else value
    if isinstance(names, Mapping) or not isinstance(names, Iterable):
        names = [None]
    listed = list(names)
    if not all(isinstance(name, str) for name in listed):
        raise ParameterError(f'{option} is {quoted(value)}; write a list of names, such as ["age"]')
    for name in listed:
        if listed.count(name) > 1:
            raise ParameterError(f"{option} names {quoted(name)} twice; name it once")
    return tuple(map(str, listed)) or None


def _mapping(value: object, option: str, name: str, one: object) -> dict[str, Any] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ParameterError(f"{option} is {quoted(value)}; write a mapping from names, such as "
                             f"{({name: one})!r}")
    return dict(value) or None


def _group(columns: object, name: str) -> list[str]:
    listed = _names(columns, f"group {quoted(name)}")
    if listed is None:
        raise ParameterError(f"group {quoted(name)} has no columns; name at least one, or leave it "
                             "away")
    return list(listed)


# --- columns that are not looked at -------------------------------------------------------------

def kept(asked: Choosing, domain: Domain) -> tuple[int, ...]:
    """The positions of the columns that a method is given."""
    out = {*(asked.never or ()), *(asked.targets or ())}
    found = tuple(j for j, name in enumerate(domain.names) if name not in out)
    if not found:
        raise ParameterError("never and targets name all columns; leave some to choose from")
    return found


def narrow(domain: Domain, keep: Sequence[int], **changed: Any) -> Domain:
    """The domain with some of its columns."""
    return replace(domain, columns=tuple(domain.columns[j] for j in keep), **changed)


def narrowed(summarise: Summarise, keep: Sequence[int], domain: Domain,
             label: int | None = None) -> Summarise:
    """A summary of some of the domain's columns, and of another label where one is named."""
    # [cell-by-cell] units, positions and tags stay: one unit is changed in one unit's rows
    return seen(summarise, partial(narrower, keep=keep, label=label), len(domain.columns))


def narrower(batch: Batch, keep: Sequence[int], label: int | None = None) -> Batch:
    """Rows with some of their columns; `label` is the column that is their target."""
    import numpy as np

    codes = np.ascontiguousarray(batch.codes.T[list(keep)]).T
    if label is None:
        return replace(batch, codes=codes)
    return replace(batch, codes=codes, label=batch.codes[:, label].astype(np.int32))


def widened(named: Iterable[int], keep: Sequence[int]) -> tuple[int, ...]:
    """Positions among the columns that were kept, as positions among all; what is said, too."""
    return Chosen((keep[j] for j in named), **getattr(named, "said", {}))


def chosen_of(summary: Any, noise: Noise, *, keep: Sequence[int], mechanism: Any,
              ) -> tuple[int, ...]:
    """What a mechanism names of the columns that were kept."""
    return widened(mechanism(summary, noise), keep)


# --- several targets ------------------------------------------------------------------------------

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
        summarise=summary_of(run, domain), mechanism=partial(mechanism, run=run))


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

    >>> target_of(Category("ward", ["A", "B"])).values
    (0, 1, 2)
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


def summary_of(run: Aims, domain: Domain) -> Summarise:
    """Rows become a summary for each target."""
    return together([narrowed(one.summarise, run.keep, domain, label)
                     for label, one in zip(run.labels, run.plans, strict=True)],
                    len(domain.columns))


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
