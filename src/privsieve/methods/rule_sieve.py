"""RuleSieve: an epsilon-DP set of columns by the best of a data-free family of rules.

The score of column j is the largest gain of any rule of the family that uses j: an interval of
its values, a four-cell rule with one partner, a product of two or three median signs.  The best
of however many rules moves no more when one unit changes than one rule does, so the family is
free; see rule_sieve.proof.md.  A race with geometric noise then picks k columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from privsieve.errors import DomainError, ParameterError
from privsieve.methods import rule_sieve_numeric
from privsieve.methods.choosing import (
    MAX_OPS,
    Forecast,
    charged,
    count,
    depth,
    expected,
    selection,
)
from privsieve.methods.joint import Joint, beginning, check, choose, dilution, several
from privsieve.methods.labels import (
    AUTO_SHARE,
    FINEST,
    labellings,
    offsets,
    prior_of,
    settles,
    uncentred,
    written_shares,
)
from privsieve.methods.option import Choosing, declared, option, settings, settled
from privsieve.public.columns import Number
from privsieve.public.cost import Cost
from privsieve.public.domain import Domain
from privsieve.public.plan import Plan

if TYPE_CHECKING:
    from privsieve.noise.race import Race
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch
    from privsieve.summaries.layout import Layout
    from privsieve.summaries.rules import RuleTables, Weighing

METHOD = "rule-sieve/2"


@declared
class RuleSieveOptions(Choosing):
    """What RuleSieve is asked for."""

    class_prior: Any = option(
        default="auto", read=written_shares, metavar="P",
        says="how the classes are weighed: auto (a tenth of epsilon), centred, unbalanced, "
             "average, none, or public class shares such as 0.2 or 0.5,0.3,0.2")
    depth: Any = option(
        default=None, read=int, choices=("1", "2", "3"), setting="order", was="order",
        says="how many columns a rule may join; the size of the table decides where this is left "
             "out")
    joint: Joint | None = option(
        default=None, choices=("pair", "triple", "quad"),
        says="begin with the best set of two, three or four columns: less redundancy, and finds "
             "what matters only together")
    numeric: str | None = option(
        default=None, choices=rule_sieve_numeric.WAYS, setting=None,
        says="how a target that is a number is compared; ranks where this is left out")
    max_ops: int = option(default=MAX_OPS, setting=None,
                          says="how many word operations a run may take")

    def planned(self, domain: Domain, rows: int | None) -> Plan:
        """Plan one selection; reads no row."""
        if isinstance(domain.target, Number):
            return rule_sieve_numeric.planned(self, domain, rows)
        cost = Cost.of(self.epsilon, delta=self.delta, allow_weak=self.allow_weak)
        if self.numeric is not None:
            raise ParameterError(f"numeric is {self.numeric!r}, and the target is no number; leave "
                                 "it out")
        d = len(domain.columns)
        k = count(self.n_features_to_select, d)
        units = domain.public_units(rows)
        if units < 2:
            raise ParameterError(f"the table has {units} rows (n_samples = {units}); a choice from "
                                 "rows needs at least 2")
        cost.check_units(units)
        _check_sums(domain, units)
        prior = prior_of(self.class_prior, domain, units * cost.epsilon,
                         why_not=uncentred(domain, units * domain.unit_weight),
                         plain=self.joint is None and self.depth in (None, 1))
        deep, grid = depth(units, d, 1 if prior == "average" else self.depth, self.max_ops)
        if self.joint is not None:
            check(self.joint, (k, d, units, domain.classes), self.max_ops, ordered=self.ordered,
                  grid=grid)
        rules = settled(Rules, self, n_features_to_select=k, epsilon=cost.epsilon, depth=deep,
                        class_prior=prior, delta=cost.delta, domain=domain, units=units, grid=grid)
        cost = charged(cost, _race(rules), _pure_rho(rules))
        rules = replace(rules, delta=cost.delta)
        return selection(
            rules, cost, _forecast, method=METHOD, settings=settings(rules, grid=grid),
            noise=_main_race(rules).scale * (1 if rules.replace else Fraction(1, 2)),
            theorem="rule-sieve", summarise=partial(summarise, rules=rules),
            mechanism=partial(mechanism, rules=rules))


@declared
class Rules(RuleSieveOptions):
    """The public parameters of one run: the options, settled, and the public facts."""

    domain: Domain
    units: int
    grid: int

    @property
    def replace(self) -> bool:
        """Whether neighbours replace a unit (else they add or remove one)."""
        return self.domain.neighbours == "replace-one"

    @property
    def scale(self) -> int:
        """What one unit weighs: 1 for rows, L for persons."""
        return self.domain.unit_weight

    @property
    def settles(self) -> bool:
        """Whether exactly the declared number of persons takes part."""
        return settles(self.class_prior, self.domain, self.units)

    def sensitivity(self, largest: int) -> int:
        """How far a score can move, in its integer units: 24 a unit, half of it if one leaves."""
        return (24 if self.replace else 12) * self.scale * largest  # [sensitivity]


def _check_sums(domain: Domain, units: int) -> None:
    """Refuse units whose weights take scores past 63 bits, with room for 16 times as many."""
    if 24 * units * domain.unit_weight * FINEST >= 2**59:
        raise DomainError(f"table.rows_per_person is {domain.rows_per_person}, which {units} "
                          "persons take past 63 bits; write less: of a person with more rows so "
                          "many are used")


def summarise(batches: Iterable[Batch], key: int, *, rules: Rules) -> RuleTables:
    """Rows become tables: runs, and signs and bins where the plan has them."""
    from privsieve.summaries.persons import settled
    from privsieve.summaries.rules import grids, rule_tables

    if rules.settles:
        batches = settled(batches, rules.domain)
    more = grids(beginning(rules.joint, rules.k).needed) if rules.joint else ()
    return rule_tables(batches, key, domain=rules.domain, order=rules.depth,
                       grid=(rules.grid, *more))


# [mechanism]
def mechanism(summary: RuleTables, noise: Noise, *, rules: Rules) -> tuple[int, ...]:
    """Tables meet noise: weights, scores, race."""
    from privsieve.noise.race import Race, top_k
    from privsieve.summaries.layout import Layout
    from privsieve.summaries.rules import class_scores, scores, set_values

    def race(raced: Sequence[int], k: int, sensitivity: int, epsilon: Fraction) -> tuple[int, ...]:
        # [delta] of a joint choice one race at most names several columns: it gets the delta
        delta = rules.delta if rules.joint is None or k > 1 else Fraction(0)
        return top_k(raced, Race(len(raced), k, sensitivity, epsilon, delta=delta,
                                 ordered=rules.ordered), noise)

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
                  rules.scale, rules.depth, rules.grid,
                  None if labels.standing is None else np.array(labels.standing, np.int64))
    return by, rules.sensitivity(labels.largest), epsilon
# [/mechanism]


def _race_share(rules: Rules) -> Fraction:
    """The part of epsilon that the race gets."""
    return 1 - AUTO_SHARE if rules.class_prior == "auto" else Fraction(1)


def _forecast(rules: Rules) -> Forecast:
    """What the race is expected to find.

    Where units come and go instead of being replaced, one moves a score by half as much.
    """
    reach = Fraction(rules.units * (1 if rules.replace else 2))
    return expected(_main_race(rules), len(rules.domain.columns), rules.k, reach)


def _main_race(rules: Rules) -> Race:
    """The race that a forecast is made for: as if all columns were chosen by one."""
    from privsieve.noise.race import Race

    race, d = _race(rules), len(rules.domain.columns)
    if race.account == "approximate":
        return race
    epsilon = _race_share(rules) * rules.epsilon * dilution(rules.joint, rules.k, d)
    return Race(d, rules.k, 1, epsilon, ordered=rules.ordered)


def _race(rules: Rules) -> Race:
    """The race that a delta may help: the one that names several columns."""
    from privsieve.noise.race import Race

    d, epsilon, before, delta = len(rules.domain.columns), rules.epsilon, 0, rules.delta
    if rules.joint is not None:
        before, share = several(rules.joint, rules.k, d)
        epsilon, delta = epsilon * share, delta if before else Fraction(0)
    return Race(d - before, rules.k - before, 1, _race_share(rules) * epsilon, delta=delta,
                ordered=rules.ordered)


def _pure_rho(rules: Rules) -> Fraction:
    """What the class counts, and a race for the first set, spend under zCDP beside `_race`."""
    counted = (1 - _race_share(rules)) * rules.epsilon
    first = Fraction(0)
    if rules.joint is not None:
        # [first-rho] what the race that names several columns does not get
        first = 1 - several(rules.joint, rules.k, len(rules.domain.columns))[1]
    spent: Fraction = counted**2 + (_race_share(rules) * rules.epsilon * first)**2
    return spent / 2
