"""RuleSieve where the target is a number: two ways to compare a column with it.

ranks : covariance of rules on a column with cuts of the target at 15 fixed ranks; pairs and
    products against the halves of the target.  No bound of the target matters but the grid.
median-cut : a noisy median by a tenth of epsilon, then the classes above and below it.

The proofs are in `rule_sieve_numeric.proof.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import isqrt
from typing import TYPE_CHECKING

from privsieve.errors import ParameterError
from privsieve.methods.choosing import Forecast, charged, count, depth, expected, selection
from privsieve.public.columns import Label, Number
from privsieve.public.cost import EPSILON_UNITS, Cost
from privsieve.public.domain import Domain
from privsieve.public.option import Choosing, declared, settings
from privsieve.public.plan import Plan, assumed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from privsieve.methods.rule_sieve import RuleSieveOptions
    from privsieve.noise.race import Race
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch
    from privsieve.summaries.layout import Layout
    from privsieve.summaries.numbers import Held, NumberTables

METHOD = "rule-sieve-numeric/1"
WAYS = ("ranks", "median-cut")
#: Ways of version 0.1.0: on no table that was measured did one need fewer rows than these two.
GONE = ("all-cuts", "kendall")
#: Scores are integers below 2 n^2; this many units keep them in 63 bits.
LARGEST = 2**29
#: The part of epsilon that goes to the noisy median.
MEDIAN_SHARE = 10


@declared
class NumberRules(Choosing):
    """The public parameters of one run by ranks."""

    domain: Domain
    units: int
    depth: int
    grid: int

    @property
    def race(self) -> Race:
        """The race for scores that one unit moves by 1."""
        from privsieve.noise.race import Race

        return Race(len(self.domain.columns), self.k, 1, self.epsilon, delta=self.delta,
                    ordered=self.ordered)

    @property
    def forecast(self) -> Forecast:
        """What the race is expected to find; a covariance is half of a gain."""
        return expected(self.race, len(self.domain.columns), self.k, Fraction(self.units, 2))


def planned(asked: RuleSieveOptions, domain: Domain, rows: int | None) -> Plan:
    """Plan one selection for a numeric target; reads no row.

    >>> import privsieve as ps
    >>> made = ps.plan("rule-sieve", ps.Domain.box(0, 1, columns=30, target=(0, 9)), k=3,
    ...                epsilon=1, rows=9000)
    >>> made.settings["numeric"], made.settings["order"], made.settings["grid"]
    ('ranks', 3, 16)
    """
    cost = Cost.of(asked.epsilon, delta=asked.delta, allow_weak=asked.allow_weak)
    d = len(domain.columns)
    k = count(asked.n_features_to_select, d)
    units = domain.public_units(rows)
    if not 2 <= units <= LARGEST:
        raise ParameterError(f"the table has {units} rows; a choice for a numeric target needs "
                             f"from 2 to {LARGEST}")
    cost.check_units(units)
    if _way(asked, domain) == "median-cut":
        return _median_plan(asked, domain, cost, units)
    deep, grid = depth(units, d, asked.depth, asked.max_ops)
    rules = NumberRules(k, epsilon=cost.epsilon, delta=cost.delta, ordered=asked.ordered,
                        domain=domain, units=units, depth=deep, grid=grid)
    race = rules.race
    cost = charged(cost, race)
    rules = replace(rules, delta=cost.delta)
    return selection(
        rules, cost, lambda one: one.forecast, method=METHOD,
        settings=settings(rules, numeric="ranks", order=deep, grid=grid), noise=2 * race.scale,
        theorem="rule-sieve-numeric", summarise=partial(summarise, rules=rules),
        mechanism=partial(mechanism, rules=rules))


def summarise(batches: Iterable[Batch], key: int, *, rules: NumberRules) -> NumberTables:
    """Rows become tables, one row for each unit."""
    from privsieve.summaries.numbers import number_tables
    from privsieve.summaries.persons import settled

    if rules.domain.person is not None:
        # [fixed] ranks, offsets and the sensitivity rest on the number of records
        batches = settled(batches, rules.domain)
    return number_tables(batches, key, domain=rules.domain, depth=rules.depth, grid=rules.grid)


# [number-mechanism]
def mechanism(summary: NumberTables, noise: Noise, *, rules: NumberRules) -> tuple[int, ...]:
    """Tables meet noise: scores, race."""
    from privsieve.noise.race import top_k

    score, sensitivity = scored(summary, rules)
    return top_k(score, replace(rules.race, sensitivity=sensitivity), noise)


def scored(summary: NumberTables, rules: NumberRules) -> tuple[list[int], int]:
    """Integer scores, and how far one unit moves any of them; private."""
    from privsieve.summaries.layout import Layout
    from privsieve.summaries.numbers import PARTS, Depth, halved, scores

    layout = Layout.of(halved(rules.domain))
    n = summary.rows
    by = Depth(_offsets(n, layout), isqrt(PARTS**2 * TRIPLE_SQUARE * n**3 // 1_000_000),
               rules.depth, rules.grid)
    # [number-sensitivity]
    return scores(summary, layout, by).tolist(), PARTS * max(1, n)
# [/number-mechanism]


def _offsets(n: int, layout: Layout) -> npt.NDArray[np.int64]:
    """What the best rule on one column reaches on noise, in eighths and n-fold; public but for n.

    0.8 sqrt(r (n - r) / n) rows where r lie below the cut; more for subsets of levels.
    """
    import numpy as np

    from privsieve.summaries.layout import SUBSETS
    from privsieve.summaries.numbers import CUTS, PARTS, spread

    below = spread(n, CUTS)
    found = np.zeros((len(below), len(layout.kind)), np.int64)
    for cut, r in enumerate(below):
        # millionths of n^2 times the square of the offset
        square = 640_000 * n * r * (n - r)
        for j, kind in enumerate(layout.kind):
            levels = int(layout.levels[j]) if kind == SUBSETS else 0
            wide = max(640_000, 159_155 * levels)
            found[cut, j] = isqrt(PARTS**2 * square * wide // 640_000 // 1_000_000)
    return found


#: The square, in millionths, of the constant for products of three (0.1).
TRIPLE_SQUARE = 10_000


# [median-mechanism]
def median_mechanism(held: Held, noise: Noise, *, epsilon: Fraction, inner: Plan,
                     ) -> tuple[int, ...]:
    """A noisy median cuts the target in two; the rest is RuleSieve for two classes."""
    # [median-moves]
    moves = 2 if inner.domain.replaces else 1
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
    from privsieve.noise.race import Race, top_k

    total, below, utility = sum(counts), 0, []
    for here in counts[:-1]:
        below += here
        utility.append(-abs(2 * below - total))
    # [median-sensitivity]
    return top_k(utility, Race(len(utility), 1, moves, epsilon), noise)[0]
# [/median-mechanism]


def _median_plan(asked: RuleSieveOptions, domain: Domain, cost: Cost, units: int) -> Plan:
    # [median-share] whole ledger units, and at least one for each
    spent = -(-cost.units // MEDIAN_SHARE)
    if spent >= cost.units:
        raise ParameterError("epsilon is 1e-9, the smallest unit; a noisy median and a race need "
                             "a share each: choose a larger epsilon")
    rest = cost.epsilon - Fraction(spent, EPSILON_UNITS)
    halves = replace(domain, target=Label(_name(domain), (0, 1)))
    inner = replace(asked, epsilon=rest, class_prior=None, numeric=None, allow_weak=True,
                    ).planned(halves, units)
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


def _way(asked: RuleSieveOptions, domain: Domain) -> str:
    """Which way is asked for; refuses what makes no sense."""
    if asked.numeric in GONE:
        raise ParameterError(f"numeric is {asked.numeric!r}, which left with version 0.2: where it "
                             "was measured it needed no fewer rows than ranks or median-cut; "
                             "write one of them")
    if asked.numeric is not None and asked.numeric not in WAYS:
        raise ParameterError(f"numeric is {asked.numeric!r}; write one of {', '.join(WAYS)}, or "
                             "None for ranks")
    if domain.neighbours == "add-remove" and asked.numeric != "median-cut":
        raise ParameterError("under add-remove the number of rows is private, and ranks of a "
                             'numeric target are not proved there: say numeric="median-cut", or '
                             'neighbours = "replace-one"')
    if asked.class_prior not in ("auto", None):
        raise ParameterError(f"class_prior is {asked.class_prior!r}, and the target "
                             f"{_name(domain)!r} is a number without classes; leave it out")
    if asked.joint is not None and asked.numeric != "median-cut":
        raise ParameterError(f'joint="{asked.joint}" begins with a set of columns for two '
                             'classes; for a numeric target it needs numeric="median-cut"')
    return asked.numeric or "ranks"


def _name(domain: Domain) -> str:
    assert isinstance(domain.target, Number)
    return domain.target.name
