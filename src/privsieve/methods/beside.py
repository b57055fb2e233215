"""What stands beside a choice of columns, paid for in the same charge.

The choice gets what these leave of epsilon; each is a mechanism of its own that is given the names
that were chosen, which are released by then.  `sure=` counts how many of them are surely related
to the classes, `describe=` says what they look like.  The proof that the costs add up is in
`beside.proof.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from privsieve.errors import ParameterError
from privsieve.methods.branches import Extent, Tables, takes
from privsieve.methods.choosing import COSTS, plan_among
from privsieve.public import event as events
from privsieve.public.canonical import EPSILON_UNITS, Json, exact, quoted
from privsieve.public.columns import Label
from privsieve.public.domain import Domain
from privsieve.public.option import Choosing
from privsieve.public.plan import SENTENCES, Chosen, Cost, Plan, Takes, assumed
from privsieve.summaries.stages import Stages, Summarise, adding, together

if TYPE_CHECKING:
    from privsieve.methods.described import Describing
    from privsieve.methods.sure_count import SureCount
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch
    from privsieve.summaries.rules import Runs

#: What may be asked for beside a choice, each for a share of epsilon, and the module that has it.
KINDS = {"sure": "sure_count", "describe": "described"}


@dataclass(frozen=True)
class Together:
    """The public parameters of a choice and of what stands beside it."""

    domain: Domain
    inner: Plan
    parts: tuple[SureCount | Describing, ...]

    @property
    def free(self) -> bool:
        """Whether the choice itself reads nothing, as there is nothing to choose."""
        return self.inner.cost.epsilon == 0

    @property
    def certain(self) -> tuple[int, ...]:
        """What such a choice names."""
        every = tuple(range(len(self.domain.columns)))
        return every if self.inner.certain is None else self.inner.certain


@dataclass(frozen=True, eq=False, repr=False)
class Beside:
    """What the choice needs of the rows, and what each part does; private."""

    chosen: Any
    runs: tuple[Runs, ...]


def planned(asked: Choosing, domain: Domain, rows: int | None) -> Plan:
    """Plan a choice, and what was asked for beside it; reads no row.

    >>> import privsieve as ps
    >>> made = ps.plan("rule-sieve", ps.Domain.box(0, 1, columns=30), k=3, epsilon=1, rows=9000,
    ...                sure="0.1", independent_rows=True)
    >>> made.cost.text, made.theorem, made.settings["sure"]
    ('1', 'sure-count', '0.1')
    """
    wanted = {name: share for name in KINDS if (share := getattr(asked, name)) is not None}
    if asked.independent_rows and "sure" not in wanted:
        raise ParameterError("independent_rows is for sure, which is not asked for; give sure=, "
                             "or leave independent_rows away")
    if not wanted:
        return plan_among(asked, domain, rows)
    units, cost = domain.public_units(rows), Cost.of(asked.epsilon, delta=asked.delta,
                                                     allow_weak=asked.allow_weak)
    spent = shares(wanted, cost)
    parts = tuple(import_module(f"privsieve.methods.{KINDS[name]}").part(asked, domain, units, one)
                  for name, one in spent.items())
    inner = _inner(asked, cost.epsilon - sum(spent.values()), domain, rows)
    return _plan(Together(domain, inner, parts), asked, cost,
                 _by_cost(asked, wanted, domain, rows, cost))


def shares(wanted: Mapping[str, Any], cost: Cost) -> dict[str, Fraction]:
    """What each gets of epsilon: whole units of the ledger, with one at least for the choice.

    >>> shares({"sure": "0.1", "describe": "0.25"}, Cost.of(2))
    {'sure': Fraction(1, 5), 'describe': Fraction(1, 2)}
    """
    found = {}
    for name, share in wanted.items():
        part = exact(share, name)
        if not 0 < part < 1:
            raise ParameterError(f"{name} is {quoted(share)}; it is a share of epsilon between 0 "
                                 "and 1: write 0.1, for example")
        # [beside-share] rounded up
        found[name] = Fraction(-(-part * cost.units // 1), EPSILON_UNITS)
    if sum(found.values()) >= cost.epsilon:
        raise ParameterError(f"{' and '.join(wanted)} would take all of epsilon, and nothing is "
                             "left for the choice; give smaller shares, or a larger epsilon")
    return found


def _inner(asked: Choosing, epsilon: Fraction, domain: Domain, rows: int | None) -> Plan:
    """The plan of the choice alone, for what the others leave."""
    alone = replace(asked, epsilon=epsilon, sure=None, independent_rows=False, describe=None,
                    allow_weak=True)
    return plan_among(alone, domain, rows)


def _plan(run: Together, asked: Choosing, cost: Cost, by_cost: Mapping[str, Json]) -> Plan:
    from privsieve.release import exactly

    inner, theorems = run.inner, [part.THEOREM for part in run.parts]
    # [beside-rho] what stands beside the choice is pure
    rho = sum((part.epsilon**2 for part in run.parts), Fraction(0)) / 2 + (inner.cost.rho or 0)
    if run.free:
        # [free-choice] nothing is read for it
        cost = Cost(sum((part.epsilon for part in run.parts), Fraction(0)), rho=rho)
    else:
        cost = replace(cost, delta=inner.cost.delta, rho=None if inner.cost.rho is None else rho)
    said = {name: exactly(exact(share, name)) for name in KINDS
            if (share := getattr(asked, name)) is not None}
    confirmed = {"independent_rows": True} if asked.independent_rows else {}
    warned = filter(None, [inner.warning, *(part.warning(_most(inner)) for part in run.parts)])
    return replace(
        inner, cost=cost, settings={**inner.settings, **said, **confirmed},
        forecast={**inner.forecast, "by_cost": by_cost}, warning="; ".join(warned) or None,
        theorem=theorems[0],
        event=events.together(*([] if run.free else [inner.event]),
                              *(part.event(_most(inner)) for part in run.parts)),
        assumes=tuple(word for word in SENTENCES
                      if word in (*inner.assumes, *assumed(*theorems))),
        summarise=_summary_of(run), mechanism=partial(mechanism, run=run), takes=_takes(run))


def _takes(run: Together) -> Takes:
    """The choice, and the codes of all columns by class: those of all, of a part, and of both."""
    chosen, table = run.inner.takes, Extent.of(run.domain, run.inner.units)
    label = run.domain.target
    runs = Tables(table, (0, 0, 0), 1, []).runs(
        len(label.values) if isinstance(label, Label) else 1)
    taken = chosen if chosen is not None and not run.free else takes(table)
    return taken._replace(
        # Stages that run together add up batch after batch: so do the codes of the choice.
        stages=tuple((most + 3 * runs, thread + 5 * runs) for most, thread in taken.stages),
        whole=taken.whole and taken.whole + runs)


def _most(inner: Plan) -> int:
    """How many columns are chosen, at most."""
    k: Any = inner.settings["k"]
    return len(inner.domain.columns) if "groups" in inner.settings else k


def _by_cost(asked: Choosing, wanted: Mapping[str, Any], domain: Domain, rows: int | None,
             cost: Cost) -> dict[str, Json]:
    """What the choice finds on a usual table, by the cost of all together."""
    found: dict[str, Json] = {}
    for other in sorted({*COSTS, cost.epsilon}):
        left = other - sum(shares(wanted, Cost(other)).values())
        made: Any = _inner(asked, left, domain, rows).forecast
        found[Cost(other).text] = made["found_percent"][made["usual_gap"]]
    return found


def _summary_of(run: Together) -> Summarise:
    """What rows become: one stage after another where no person has to be weighed first."""
    if run.domain.person is not None:
        return partial(summarise, run=run)
    counts = adding(partial(_standing, domain=run.domain), run.domain)
    both = together([counts] if run.free else [counts, run.inner.summarise],
                    len(run.domain.columns))
    return both.then(partial(_both, len(run.parts))) if isinstance(both, Stages) else partial(
        summarise, run=run)


def _standing(batches: Iterable[Batch], key: int, *, domain: Domain) -> Runs:
    from privsieve.summaries.persons import standing

    return standing(batches, key, domain=domain)


def _both(parts: int, found: tuple[Any, ...]) -> Beside:
    # [one-count] each part has the counts of the same rows
    runs, *chosen = found
    return Beside(chosen[0] if chosen else None, (runs,) * parts)


# [beside-summary]
def summarise(batches: Iterable[Batch], key: int, *, run: Together) -> Beside:
    """Rows become the summary of the choice, and counts of the codes of each column by class."""
    from privsieve.rows.batch import Passes
    from privsieve.summaries.persons import settled, standing

    held, counted = Passes.of(batches), {}
    held.keep()
    for part in run.parts:
        # [settled-persons] exactly as many as were declared: so many are the units of its law
        exactly = part.SETTLES and run.domain.person is not None
        if exactly not in counted:
            counted[exactly] = standing(settled(held, run.domain) if exactly else held, key,
                                        domain=run.domain)
    runs = tuple(counted[part.SETTLES and run.domain.person is not None] for part in run.parts)
    return Beside(None if run.free else run.inner.summarise(held, key), runs)
# [/beside-summary]


# [beside-mechanism]
def mechanism(summary: Beside, noise: Noise, *, run: Together) -> Chosen:
    """The choice first; what stands beside it is of the columns that it released."""
    # [inner-first]
    chosen = run.certain if run.free else run.inner.mechanism(summary.chosen, noise)
    more = {part.FIELD: part.said(runs, chosen, noise)
            for part, runs in zip(run.parts, summary.runs, strict=True)}
    return Chosen(chosen, **{**getattr(chosen, "said", {}), **more})
# [/beside-mechanism]
