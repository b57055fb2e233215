"""RuleSieve: an epsilon-DP set of columns by the best of a data-free family of rules.

The score of column j is the largest gain of any rule of the family that uses j: an interval of
its values, a four-cell rule with one partner, a product of two or three median signs.  The best
of however many rules moves no more when one unit changes than one rule does, so the family is
free; see rule_sieve.proof.md.  A race with geometric noise then picks k columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import isqrt
from typing import TYPE_CHECKING, Literal

from privsieve.core.cost import Cost
from privsieve.core.domain import Box
from privsieve.core.plan import Plan
from privsieve.errors import DomainError, ParameterError
from privsieve.selectors import forecast
from privsieve.selectors.parameters import MAX_OPS, count, depth
from privsieve.selectors.weights import Labellings, balanced, equal, shares

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    import numpy.typing as npt

    from privsieve.core.batch import Batch
    from privsieve.core.canonical import Json
    from privsieve.core.domain import Domain
    from privsieve.privacy.noise import Noise
    from privsieve.privacy.race import Race
    from privsieve.summaries.layout import Layout
    from privsieve.summaries.rules import RuleTables

METHOD = "rule-sieve/1"
#: Below this number of units times epsilon, a noisy class count costs more than it brings.
AUTO_FROM = 200
#: The share of epsilon that "auto" spends on the class counts.
AUTO_SHARE = Fraction(1, 10)

Prior = Literal["auto"] | tuple[Fraction, ...] | None


@dataclass(frozen=True)
class Rules:
    """The public parameters of one run."""

    domain: Domain
    k: int
    epsilon: Fraction
    units: int
    class_prior: Prior
    ordered: bool
    diverse: bool
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
        from privsieve.summaries.persons import person_weight

        return 1 if self.domain.person is None else person_weight(self.domain.rows_per_person)

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
    diverse: bool = False,
    max_ops: int = MAX_OPS,
    allow_weak: bool = False,
) -> Plan:
    """Plan one selection; reads no row.

    >>> from privsieve.core.domain import Domain
    >>> made = plan(Domain.box(0, 1, columns=30), k=3, epsilon=1, rows=569)
    >>> made.cost.text, made.settings["order"], made.settings["grid"]
    ('1', 3, 16)
    """
    cost = Cost.of(epsilon, delta=delta, allow_weak=allow_weak)
    if isinstance(domain, Box):
        raise DomainError("this domain fits arrays of any width; to plan before there is one, say "
                          "how many columns: Domain.box(low, high, columns=30)")
    d = len(domain.columns)
    k = count(k, d)
    prior = _prior(class_prior, domain.classes)
    units = domain.public_units(rows)
    if units < 2:
        raise ParameterError(f"the table has {units} rows; a choice from rows needs at least 2")
    cost.check_units(units)
    order, grid = depth(units, d, order, max_ops)
    if diverse and (k < 2 or not grid or ordered):
        raise ParameterError("diverse=True starts with a pair: it needs k of at least 2, "
                             "a pair grid (fewer columns or rows), and ordered=False")
    rules = Rules(domain, k, cost.epsilon, units, prior, ordered, diverse, order, grid, cost.delta)
    race = _race(rules)
    if race.account == "pure":  # the delta would buy nothing: it is not spent
        cost, rules = replace(cost, delta=Fraction(0)), replace(rules, delta=Fraction(0))
    free = k == d and not ordered
    paid = _race_share(rules) * cost.epsilon
    # Where units come and go instead of being replaced, one moves a score by half as much.
    strength = units * paid * (1 if rules.replace else 2) * _gain(rules, race)
    expected = forecast.expected(d, k, strength, ordered=ordered)
    return Plan(
        method=METHOD, kind="selection", domain=domain,
        cost=Cost(Fraction(0)) if free else cost,
        units=units, settings=_settings(rules), noise=_raced(rules) * 2 * units / strength,
        forecast=forecast.json(expected), warning=None if free else forecast.warning(expected),
        theorem="rule-sieve", assumes=("ideal-bits",),
        summarise=partial(summarise, rules=rules), mechanism=partial(mechanism, rules=rules),
    )


def summarise(batches: Iterable[Batch], key: int, *, rules: Rules) -> RuleTables:
    """Rows become tables: runs, and signs and bins where the plan has them."""
    from privsieve.engines.local import rule_tables

    return rule_tables(batches, key, domain=rules.domain, order=rules.order, grid=rules.grid)


# [mechanism]
def mechanism(summary: RuleTables, noise: Noise, *, rules: Rules) -> tuple[int, ...]:
    """Tables meet noise: weights, scores, race."""
    from privsieve.privacy.race import top_k
    from privsieve.summaries.layout import Layout
    from privsieve.summaries.rules import Weighing, pair_values, scores

    if rules.k == len(rules.domain.columns) and not rules.ordered:
        return tuple(range(rules.k))
    layout = Layout.of(rules.domain)
    labels, epsilon = labellings(summary.runs.counts.tolist(), rules, noise)
    by = Weighing(_table(labels.weights), _offsets(labels, layout, rules), rules.scale,
                  rules.order, rules.grid)
    score = scores(summary, layout, by).tolist()
    if not rules.diverse:
        return top_k(score, rules.k, rules.sensitivity(labels.largest), epsilon, noise,
                     ordered=rules.ordered, delta=rules.delta)
    # A pair first, from the pair values; then the rest by the race, given the pair.
    share = epsilon * 2 / rules.k
    values = pair_values(summary, layout, by).tolist()
    # [pair-sensitivity] twice a pair's value moves by two units' worth
    sensitivity = rules.sensitivity(labels.largest) // 12
    pair = _pairs(len(score), top_k(values, 1, sensitivity, share, noise)[0])
    if rules.k == 2:
        return pair
    rest = [j for j in range(len(score)) if j not in pair]
    others = top_k([score[j] for j in rest], rules.k - 2, rules.sensitivity(labels.largest),
                   epsilon - share, noise, delta=rules.delta)
    return tuple(sorted((*pair, *(rest[j] for j in others))))
# [/mechanism]


# [labellings]
def labellings(counts: list[int], rules: Rules, noise: Noise) -> tuple[Labellings, Fraction]:
    """Class weights, and the epsilon that is left for the race."""
    from privsieve.privacy.noise import discrete_laplace

    classes, scale = len(counts), rules.scale
    if rules.class_prior is None:
        return equal(classes, rules.units), rules.epsilon
    if rules.class_prior != "auto":
        declared = [int(share * rules.units * FINE) for share in rules.class_prior]
        return balanced(declared, FINE), rules.epsilon
    if rules.units * rules.epsilon < AUTO_FROM:
        return equal(classes, rules.units), rules.epsilon
    spent = rules.epsilon * AUTO_SHARE
    # [count-sensitivity] a replaced unit may leave one class and enter another
    if rules.replace and classes == 2:
        mean = scale / spent
        one = counts[1] + discrete_laplace(mean, noise)
        released = [rules.units * scale - one, one]
    else:
        mean = (2 if rules.replace else 1) * scale / spent
        released = [count + discrete_laplace(mean, noise) for count in counts]
    return balanced(released, scale, margin=4 * mean), rules.epsilon - spent
# [/labellings]


#: Declared shares become whole numbers of this many parts of a unit.
FINE = 1000


def _offsets(labels: Labellings, layout: Layout, rules: Rules) -> npt.NDArray[np.int64]:
    """A public constant per labelling and column: what the best interval reaches on noise.

    0.8 sqrt(n) rows of root-mean-square weight; sqrt(n levels / 2 pi) for subsets of levels.
    """
    import numpy as np

    from privsieve.summaries.layout import SUBSETS

    found = np.zeros((len(labels.squares), len(layout.kind)), np.int64)
    for cut, squares in enumerate(labels.squares):
        for j, kind in enumerate(layout.kind):
            levels = int(layout.levels[j]) if kind == SUBSETS else 0
            square = max(640_000, 159_155 * levels) * squares // 1_000_000
            found[cut, j] = 24 * rules.scale * isqrt(square)
    return found


def _table(weights: tuple[tuple[int, ...], ...]) -> npt.NDArray[np.int64]:
    import numpy as np

    return np.array(weights, np.int64)


def _pairs(d: int, index: int) -> tuple[int, int]:
    """The pair at this place in 01, 02, ..., 12, ...."""
    first = 0
    while index >= d - 1 - first:
        index -= d - 1 - first
        first += 1
    return first, first + 1 + index


def _prior(prior: object, classes: int) -> Prior:
    if prior is None or (isinstance(prior, str) and prior == "auto"):
        return prior  # type: ignore[return-value]
    if isinstance(prior, str) and not prior[:1].isdigit():
        raise ParameterError(f'class_prior is {prior!r}; write "auto", a share between 0 and 1, '
                             "or None")
    return shares(prior, classes)


def _race_share(rules: Rules) -> Fraction:
    """The part of epsilon that the race gets."""
    auto = rules.class_prior == "auto" and rules.units * rules.epsilon >= AUTO_FROM
    return 1 - AUTO_SHARE if auto else Fraction(1)


def _race(rules: Rules) -> Race:
    """The race that a delta may help: of all columns, or of those that a pair leaves."""
    from privsieve.privacy.race import Race

    pair = 2 if rules.diverse and rules.k > 2 else 0
    epsilon = _race_share(rules) * rules.epsilon * (rules.k - pair) / rules.k
    return Race.of(len(rules.domain.columns) - pair, rules.k - pair, 1, epsilon,
                   delta=Fraction(0) if rules.diverse and not pair else rules.delta,
                   ordered=rules.ordered)


def _gain(rules: Rules, race: Race) -> Fraction:
    """By how much a delta makes the noise smaller."""
    if race.account == "pure":
        return Fraction(1)
    pure = _race(replace(rules, delta=Fraction(0)))
    return pure.scale / race.scale


def _raced(rules: Rules) -> int:
    """How many columns share the race's epsilon: the chosen, or those left out if fewer."""
    d = len(rules.domain.columns)
    return min(rules.k, d - 1) if rules.ordered else min(rules.k, d - rules.k)


def _settings(rules: Rules) -> Mapping[str, Json]:
    prior = rules.class_prior
    return {
        "k": rules.k,
        "order": rules.order,
        "grid": rules.grid,
        "ordered": rules.ordered,
        "diverse": rules.diverse,
        "class_prior": [str(p) for p in prior] if isinstance(prior, tuple) else prior,
    }
