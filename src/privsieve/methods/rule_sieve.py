"""RuleSieve: an epsilon-DP set of columns by the best of a data-free family of rules.

The score of column j is the largest gain of any rule of the family that uses j: an interval of
its values, a four-cell rule with one partner, a product of two or three median signs.  The best
of however many rules moves no more when one unit changes than one rule does, so the family is
free; see rule_sieve.proof.md.  A race with geometric noise then picks k columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Literal

from privsieve.errors import DomainError, ParameterError
from privsieve.methods import forecast, rule_sieve_numeric
from privsieve.methods.joint import Joint, beginning, check, choose, dilution, several
from privsieve.methods.labels import (
    AUTO_SHARE,
    labellings,
    offsets,
    prior_of,
    settles,
    uncentred,
    unit_weight,
)
from privsieve.methods.parameters import MAX_OPS, charged, count, depth
from privsieve.methods.weights import FINEST
from privsieve.public.assumptions import assumed
from privsieve.public.canonical import Json
from privsieve.public.columns import Number
from privsieve.public.cost import Cost
from privsieve.public.domain import Box, Domain
from privsieve.public.plan import Plan

if TYPE_CHECKING:
    from privsieve.noise.race import Race
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch
    from privsieve.summaries.layout import Layout
    from privsieve.summaries.rules import RuleTables, Weighing

METHOD = "rule-sieve/2"

Prior = Literal["auto", "centred", "average"] | tuple[Fraction, ...] | None


@dataclass(frozen=True)
class Rules:
    """The public parameters of one run."""

    domain: Domain
    k: int
    epsilon: Fraction
    units: int
    class_prior: Prior
    ordered: bool
    joint: Joint | None
    order: int
    grid: int
    delta: Fraction = Fraction(0)

    @property
    def replace(self) -> bool:
        """Whether neighbours replace a unit (else they add or remove one)."""
        return self.domain.neighbours == "replace-one"

    @property
    def scale(self) -> int:
        """What one unit weighs: 1 for rows, L for persons."""
        return unit_weight(self.domain)

    @property
    def settled(self) -> bool:
        """Whether exactly the declared number of persons takes part."""
        return settles(self.class_prior, self.domain, self.units)

    def sensitivity(self, largest: int) -> int:
        """How far a score can move, in its integer units: 24 a unit, half of it if one leaves."""
        return (24 if self.replace else 12) * self.scale * largest  # [sensitivity]


def plan(  # the method's public options, all keyword-only
    domain: Domain,
    *,
    k: float | Fraction,
    epsilon: object,
    delta: object = 0,
    rows: int | None = None,
    class_prior: object = "auto",
    order: int | None = None,
    ordered: bool = False,
    joint: Joint | None = None,
    max_ops: int = MAX_OPS,
    allow_weak: bool = False,
    numeric: str | None = None,
) -> Plan:
    """Plan one selection; reads no row.

    >>> from privsieve.public.domain import Domain
    >>> made = plan(Domain.box(0, 1, columns=30), k=3, epsilon=1, rows=569)
    >>> made.cost.text, made.settings["order"], made.settings["grid"]
    ('1', 3, 16)
    """
    cost = Cost.of(epsilon, delta=delta, allow_weak=allow_weak)
    if isinstance(domain, Box):
        raise DomainError("this domain fits arrays of any width; to plan before there is one, say "
                          "how many columns: Domain.box(low, high, columns=30)")
    if isinstance(domain.target, Number):
        return rule_sieve_numeric.plan(
            domain, k=k, epsilon=epsilon, delta=delta, rows=rows, numeric=numeric,
            class_prior=class_prior, order=order, ordered=ordered, joint=joint, max_ops=max_ops,
            allow_weak=allow_weak)
    if numeric is not None:
        raise ParameterError(f"numeric is {numeric!r}, and the target is no number; leave it out")
    d = len(domain.columns)
    k = count(k, d)
    units = domain.public_units(rows)
    if units < 2:
        raise ParameterError(f"the table has {units} rows (n_samples = {units}); a choice from "
                             "rows needs at least 2")
    cost.check_units(units)
    _check_sums(domain, units)
    prior = prior_of(class_prior, domain, units * cost.epsilon,
                     why_not=uncentred(domain, units * unit_weight(domain)),
                     plain=joint is None and order in (None, 1))
    order, grid = depth(units, d, 1 if prior == "average" else order, max_ops)
    if joint is not None:
        check(joint, (k, d, units, domain.classes), max_ops, ordered=ordered, grid=grid)
    rules = Rules(domain, k, cost.epsilon, units, prior, ordered, joint, order, grid, cost.delta)
    cost = charged(cost, _race(rules), _pure_rho(rules))
    return _planned(replace(rules, delta=cost.delta), cost)


def _check_sums(domain: Domain, units: int) -> None:
    """Refuse units whose weights take scores past 63 bits, with room for 16 times as many."""
    if 24 * units * unit_weight(domain) * FINEST >= 2**59:
        raise DomainError(f"table.rows_per_person is {domain.rows_per_person}, which {units} "
                          "persons take past 63 bits; write less: of a person with more rows so "
                          "many are used")


def _planned(rules: Rules, cost: Cost) -> Plan:
    """The plan of a run whose parameters are settled."""
    d, k, ordered = len(rules.domain.columns), rules.k, rules.ordered
    free = k == d and not ordered
    expected = _forecast(rules)
    costs = forecast.by_cost(cost.epsilon,
                             lambda other: _forecast(replace(rules, epsilon=other)))
    return Plan(
        method=METHOD, kind="selection", domain=rules.domain,
        cost=Cost(Fraction(0)) if free else cost, units=rules.units, settings=_settings(rules),
        noise=_main_race(rules).scale * (1 if rules.replace else Fraction(1, 2)),
        forecast=forecast.json(expected, costs),
        warning=None if free else forecast.warning(expected),
        theorem="rule-sieve", assumes=assumed("rule-sieve"),
        summarise=partial(summarise, rules=rules), mechanism=partial(mechanism, rules=rules),
    )


def summarise(batches: Iterable[Batch], key: int, *, rules: Rules) -> RuleTables:
    """Rows become tables: runs, and signs and bins where the plan has them."""
    from privsieve.summaries.persons import settled
    from privsieve.summaries.rules import grids, rule_tables

    if rules.settled:
        batches = settled(batches, rules.domain)
    more = grids(beginning(rules.joint, rules.k).needed) if rules.joint else ()
    return rule_tables(batches, key, domain=rules.domain, order=rules.order,
                       grid=(rules.grid, *more))


# [mechanism]
def mechanism(summary: RuleTables, noise: Noise, *, rules: Rules) -> tuple[int, ...]:
    """Tables meet noise: weights, scores, race."""
    from privsieve.noise.race import top_k
    from privsieve.summaries.layout import Layout
    from privsieve.summaries.rules import class_scores, scores, set_values

    def race(raced: Sequence[int], k: int, sensitivity: int, epsilon: Fraction) -> tuple[int, ...]:
        # [delta] of a joint choice one race at most names several columns: it gets the delta
        delta = rules.delta if rules.joint is None or k > 1 else Fraction(0)
        return top_k(raced, k, sensitivity, epsilon, noise, ordered=rules.ordered, delta=delta)

    if rules.k == len(rules.domain.columns) and not rules.ordered:
        return tuple(range(rules.k))
    layout = Layout.of(rules.domain)
    if rules.class_prior == "average":
        # [average-sensitivity] the weight of all units is the same for neighbours: see `settled`
        moves = 4 * rules.scale * max(1, int(summary.runs.counts.sum()))
        return race(class_scores(summary, layout, rules.grid).tolist(), rules.k, moves,
                    rules.epsilon)
    by, moves, epsilon = weighed(summary, layout, rules, noise)
    score = scores(summary, layout, by).tolist()
    if rules.joint is None:
        return race(score, rules.k, moves, epsilon)
    begun = beginning(rules.joint, rules.k)
    values = {size: set_values(summary, layout, by, size).tolist() for size in begun.needed}
    # [set-sensitivity] twice a set's value moves by two units' worth
    return choose(values, score, (begun.size, rules.k), (moves // 12, moves, epsilon), race)


def weighed(summary: RuleTables, layout: Layout, rules: Rules, noise: Noise,
            ) -> tuple[Weighing, int, Fraction]:
    """How tables become scores, how far one then moves, and the epsilon that is left."""
    import numpy as np

    from privsieve.summaries.rules import Weighing

    counts = summary.runs.counts.tolist()
    standing = counts if summary.signs is None else summary.signs.rows.tolist()
    labels, epsilon = labellings(counts, standing, rules, noise)
    by = Weighing(np.array(labels.weights, np.int64), offsets(labels, layout, rules.scale),
                  rules.scale, rules.order, rules.grid,
                  None if labels.standing is None else np.array(labels.standing, np.int64))
    return by, rules.sensitivity(labels.largest), epsilon
# [/mechanism]


def _race_share(rules: Rules) -> Fraction:
    """The part of epsilon that the race gets."""
    return 1 - AUTO_SHARE if rules.class_prior == "auto" else Fraction(1)


def _forecast(rules: Rules) -> forecast.Forecast:
    """What the race is expected to find.

    Where units come and go instead of being replaced, one moves a score by half as much.
    """
    reach = Fraction(rules.units * (1 if rules.replace else 2))
    return forecast.expected(_main_race(rules), len(rules.domain.columns), rules.k, reach)


def _main_race(rules: Rules) -> Race:
    """The race that a forecast is made for: as if all columns were chosen by one."""
    from privsieve.noise.race import Race

    race, d = _race(rules), len(rules.domain.columns)
    if race.account == "approximate":
        return race
    epsilon = _race_share(rules) * rules.epsilon * dilution(rules.joint, rules.k, d)
    return Race.of(d, rules.k, 1, epsilon, ordered=rules.ordered)


def _race(rules: Rules) -> Race:
    """The race that a delta may help: the one that names several columns."""
    from privsieve.noise.race import Race

    d, epsilon, before, delta = len(rules.domain.columns), rules.epsilon, 0, rules.delta
    if rules.joint is not None:
        before, share = several(rules.joint, rules.k, d)
        epsilon, delta = epsilon * share, delta if before else Fraction(0)
    return Race.of(d - before, rules.k - before, 1, _race_share(rules) * epsilon, delta=delta,
                   ordered=rules.ordered)


def _pure_rho(rules: Rules) -> Fraction:
    """What the class counts, and a race for the first set, spend under zCDP beside `_race`."""
    counted = (1 - _race_share(rules)) * rules.epsilon
    first = Fraction(0)
    if rules.joint is not None:
        # [first-rho] what the race that names several columns does not get
        first = 1 - several(rules.joint, rules.k, len(rules.domain.columns))[1]
    return (counted**2 + (_race_share(rules) * rules.epsilon * first)**2) / 2


def _settings(rules: Rules) -> Mapping[str, Json]:
    prior = rules.class_prior
    return {
        "k": rules.k,
        "order": rules.order,
        "grid": rules.grid,
        "ordered": rules.ordered,
        "joint": rules.joint,
        "class_prior": [str(p) for p in prior] if isinstance(prior, tuple) else prior,
    }
