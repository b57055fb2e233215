"""RuleSieve where the target is a number: four ways to compare a column with it.

ranks : covariance of rules on a column with cuts of the target at 15 fixed ranks; pairs and
    products against the halves of the target.  No bound of the target matters but the grid.
all-cuts : the same with every cut of the target by value; for small tables.
kendall : pairs of rows in the same order of column and target; for dependence in one direction.
median-cut : a noisy median by a tenth of epsilon, then the classes above and below it.

The proofs are in `rule_sieve_numeric.proof.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import isqrt
from typing import TYPE_CHECKING, Any, Literal

from privsieve.errors import ParameterError
from privsieve.methods import forecast
from privsieve.methods.parameters import charged, count, depth
from privsieve.public.assumptions import assumed
from privsieve.public.canonical import Json
from privsieve.public.columns import Category, Label, Number
from privsieve.public.cost import EPSILON_UNITS, Cost
from privsieve.public.domain import Domain
from privsieve.public.plan import Plan

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from privsieve.noise.race import Race
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch
    from privsieve.summaries.layout import Layout
    from privsieve.summaries.numbers import Held, NumberTables

METHOD = "rule-sieve-numeric/1"
WAYS = ("ranks", "all-cuts", "kendall", "median-cut")
#: Scores are integers below 2 n^2; this many units keep them in 63 bits.
LARGEST = 2**29
#: The part of epsilon that goes to the noisy median.
MEDIAN_SHARE = 10

Way = Literal["ranks", "all-cuts", "kendall", "median-cut"]


@dataclass(frozen=True)
class Rules:
    """The public parameters of one run."""

    domain: Domain
    k: int
    epsilon: Fraction
    units: int
    numeric: Way
    ordered: bool
    order: int
    grid: int
    delta: Fraction = Fraction(0)

    @property
    def race(self) -> Race:
        """The race for scores that one unit moves by 1."""
        from privsieve.noise.race import Race

        return Race.of(len(self.domain.columns), self.k, 1, self.epsilon, delta=self.delta,
                       ordered=self.ordered)

    @property
    def forecast(self) -> forecast.Forecast:
        """What the race is expected to find; a covariance is half of a gain."""
        reach = Fraction(self.units, 2)
        return forecast.expected(self.race, len(self.domain.columns), self.k, reach)

    @property
    def kept(self) -> bool:
        """Whether codes and target are kept as they are."""
        return self.numeric != "ranks"


def plan(domain: Domain, *, k: float | Fraction, epsilon: object, rows: int | None,
         numeric: object, **options: Any) -> Plan:
    """Plan one selection for a numeric target; reads no row.

    `options` are those of `rule_sieve.plan`.

    >>> from privsieve.public.domain import Domain
    >>> from privsieve.methods.rule_sieve import plan as rule_sieve
    >>> domain = Domain.box(0, 1, columns=30, target=(0, 500))
    >>> made = rule_sieve(domain, k=3, epsilon=1, rows=9000)
    >>> made.settings["numeric"], made.settings["order"], made.settings["grid"]
    ('ranks', 3, 16)
    """
    cost = Cost.of(epsilon, delta=options["delta"], allow_weak=options["allow_weak"])
    d = len(domain.columns)
    k = count(k, d)
    units = domain.public_units(rows)
    if not 2 <= units <= LARGEST:
        raise ParameterError(f"the table has {units} rows; a choice for a numeric target needs "
                             f"from 2 to {LARGEST}")
    cost.check_units(units)
    way = _way(numeric, domain, units, options)
    if way == "median-cut":
        return _median_plan(domain, k, cost, units, options)
    order, grid = (1, 0) if way == "kendall" else depth(units, d, options["order"],
                                                        options["max_ops"])
    rules = Rules(domain, k, cost.epsilon, units, way, options["ordered"], order, grid, cost.delta)
    race = rules.race
    cost = charged(cost, race)
    rules = replace(rules, delta=cost.delta)
    free = k == d and not rules.ordered
    expected = rules.forecast
    costs = forecast.by_cost(cost.epsilon, lambda other: replace(rules, epsilon=other).forecast)
    return Plan(
        method=METHOD, kind="selection", domain=domain,
        cost=Cost(Fraction(0)) if free else cost, units=units, settings=_settings(rules),
        noise=2 * race.scale, forecast=forecast.json(expected, costs),
        warning=None if free else forecast.warning(expected),
        theorem="rule-sieve-numeric", assumes=assumed("rule-sieve-numeric"),
        summarise=partial(summarise, rules=rules), mechanism=partial(mechanism, rules=rules),
    )


def summarise(batches: Iterable[Batch], key: int, *, rules: Rules) -> NumberTables:
    """Rows become tables, one row for each unit."""
    from privsieve.summaries.numbers import Wanted, number_tables
    from privsieve.summaries.persons import settled

    if rules.domain.person is not None:
        # [fixed] ranks, offsets and the sensitivity rest on the number of records
        batches = settled(batches, rules.domain)
    wanted = Wanted("kept" if rules.kept else "ranks", rules.order, rules.grid)
    return number_tables(batches, key, domain=rules.domain, wanted=wanted)


# [number-mechanism]
def mechanism(summary: NumberTables, noise: Noise, *, rules: Rules) -> tuple[int, ...]:
    """Tables meet noise: scores, race."""
    from privsieve.noise.race import top_k

    score, sensitivity = scored(summary, rules)
    return top_k(score, rules.k, sensitivity, rules.epsilon, noise, ordered=rules.ordered,
                 delta=rules.delta)


def scored(summary: NumberTables, rules: Rules) -> tuple[list[int], int]:
    """Integer scores, and how far one unit moves any of them; private."""
    from privsieve.summaries.layout import Layout
    from privsieve.summaries.numbers import PARTS, Depth, concordances, halved, scores

    layout = Layout.of(halved(rules.domain))
    if rules.numeric == "kendall":
        # [kendall-sensitivity] a row is in n - 1 pairs, and each may turn round
        return concordances(summary, layout).tolist(), 2 * max(1, summary.rows - 1)
    n = summary.rows
    by = Depth(_offsets(n, layout, rules), isqrt(PARTS**2 * TRIPLE_SQUARE * n**3 // 1_000_000),
               rules.order, rules.grid)
    # [number-sensitivity]
    return scores(summary, layout, by).tolist(), PARTS * max(1, n)
# [/number-mechanism]


def _offsets(n: int, layout: Layout, rules: Rules) -> npt.NDArray[np.int64]:
    """What the best rule on one column reaches on noise, in eighths and n-fold; public but for n.

    0.8 sqrt(r (n - r) / n) rows where r lie below the cut, half of the root of n for all cuts
    together; more for subsets of levels.
    """
    import numpy as np

    from privsieve.summaries.layout import SUBSETS
    from privsieve.summaries.numbers import CUTS, PARTS, spread

    below = spread(n, CUTS) if rules.numeric == "ranks" else (None,)
    found = np.zeros((len(below), len(layout.kind)), np.int64)
    for cut, r in enumerate(below):
        # millionths of n^2 times the square of the offset
        square = ALL_CUTS_SQUARE * n**3 if r is None else 640_000 * n * r * (n - r)
        for j, kind in enumerate(layout.kind):
            levels = int(layout.levels[j]) if kind == SUBSETS else 0
            wide = max(640_000, 159_155 * levels)
            found[cut, j] = isqrt(PARTS**2 * square * wide // 640_000 // 1_000_000)
    return found


#: Squares, in millionths, of the constants for all cuts (0.5) and for products of three (0.1).
ALL_CUTS_SQUARE, TRIPLE_SQUARE = 250_000, 10_000


# [median-mechanism]
def median_mechanism(held: Held, noise: Noise, *, epsilon: Fraction, inner: Plan,
                     ) -> tuple[int, ...]:
    """A noisy median cuts the target in two; the rest is RuleSieve for two classes."""
    # [median-moves]
    moves = 2 if inner.domain.neighbours == "replace-one" else 1
    cell = median_cell(held.counts, moves, epsilon, noise)
    tables = inner.summarise(held.labelled(cell), held.key)
    chosen: tuple[int, ...] = inner.mechanism(tables, noise)
    return chosen


def median_cell(counts: Sequence[int], moves: int, epsilon: Fraction, noise: Noise) -> int:
    """The cell after which about half of the units lie below.

    A unit moves twice a count, less the total, by at most `moves`: 2 if replaced, 1 if it leaves.

    >>> from privsieve.noise.streams import replay
    >>> median_cell([0, 400, 0, 400], 2, Fraction(1), replay(1)) in (1, 2)
    True
    """
    from privsieve.noise.race import top_k

    total, below, utility = sum(counts), 0, []
    for here in counts[:-1]:
        below += here
        utility.append(-abs(2 * below - total))
    # [median-sensitivity]
    return top_k(utility, 1, moves, epsilon, noise)[0]
# [/median-mechanism]


def _median_plan(domain: Domain, k: int, cost: Cost, units: int, options: Mapping[str, Any],
                 ) -> Plan:
    from privsieve.methods import rule_sieve

    # [median-share] whole ledger units, and at least one for each
    spent = -(-cost.units // MEDIAN_SHARE)
    if spent >= cost.units:
        raise ParameterError("epsilon is 1e-9, the smallest unit; a noisy median and a race need "
                             "a share each: choose a larger epsilon")
    rest = cost.epsilon - Fraction(spent, EPSILON_UNITS)
    halves = replace(domain, target=Label(_name(domain), (0, 1)))
    inner = rule_sieve.plan(halves, k=k, epsilon=rest, rows=units,
                            **{**options, "class_prior": None, "allow_weak": True})
    free = inner.cost.epsilon == 0
    # [median-rho] the median is pure
    rho = inner.cost.rho and inner.cost.rho + (cost.epsilon - rest)**2 / 2
    return replace(
        inner, method=METHOD, domain=domain,
        cost=inner.cost if free else replace(cost, delta=inner.cost.delta, rho=rho),
        settings={**inner.settings, "numeric": "median-cut"},
        theorem="rule-sieve-numeric", assumes=assumed("rule-sieve-numeric"),
        summarise=partial(hold_rows, domain=domain),
        mechanism=partial(median_mechanism, epsilon=cost.epsilon - rest, inner=inner))


def hold_rows(batches: Iterable[Batch], key: int, *, domain: Domain) -> Held:
    """Rows are kept until a noisy median has made classes of them."""
    from privsieve.summaries.numbers import hold

    return hold(batches, key, domain=domain)


def _way(numeric: object, domain: Domain, units: int, options: Mapping[str, Any]) -> Way:
    """Which way is asked for, or follows from the public size; refuses what makes no sense."""
    d = len(domain.columns)
    if numeric is not None and numeric not in WAYS:
        raise ParameterError(f"numeric is {numeric!r}; write one of {', '.join(WAYS)}, or None for "
                             "ranks")
    if domain.neighbours == "add-remove" and numeric != "median-cut":
        raise ParameterError("under add-remove the number of rows is private, and ranks of a "
                             'numeric target are not proved there: say numeric="median-cut", or '
                             'neighbours = "replace-one"')
    way = numeric or "ranks"
    if options["class_prior"] not in ("auto", None):
        raise ParameterError(f"class_prior is {options['class_prior']!r}, and the target "
                             f"{_name(domain)!r} is a number without classes; leave it out")
    if options["joint"] is not None and way != "median-cut":
        raise ParameterError(f'joint="{options["joint"]}" begins with a set of columns for two '
                             'classes; for a numeric target it needs numeric="median-cut"')
    if way == "all-cuts" and units * units * d > options["max_ops"]:
        raise ParameterError(f'numeric="all-cuts" takes {units}² · {d} steps, and max_ops allows '
                             f'{options["max_ops"]}; say numeric="ranks", or a larger max_ops')
    if way == "kendall":
        _check_kendall(domain, options)
    return way  # type: ignore[return-value]  # it is among WAYS


def _check_kendall(domain: Domain, options: Mapping[str, Any]) -> None:
    nominal = [column.name for column in domain.columns if isinstance(column, Category)]
    if nominal:
        raise ParameterError(f'numeric="kendall" compares orders, and {nominal[0]!r} is a category '
                             'without one; say numeric="ranks", or leave the column out')
    if options["order"] not in (None, 1):
        raise ParameterError(f'order is {options["order"]!r}; numeric="kendall" looks at one '
                             "column at a time: leave order out")


def _name(domain: Domain) -> str:
    assert isinstance(domain.target, Number)
    return domain.target.name


def _settings(rules: Rules) -> Mapping[str, Json]:
    return {"k": rules.k, "numeric": rules.numeric, "order": rules.order, "grid": rules.grid,
            "ordered": rules.ordered}
