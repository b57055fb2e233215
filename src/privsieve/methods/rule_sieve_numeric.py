"""RuleSieve for a target that is a number: two ways to compare a column with it.

ranks : the covariance of rules on a column with cuts of the target at 15 fixed ranks; pairs and
    products against the halves of the target; one race.
median-cut : a noisy median by a tenth of epsilon, then the classes above and below it.

With "auto" units times epsilon decide: few go to ranks and one race, others to the median, to pairs
and to rounds.  The proofs are in `rule_sieve_numeric.proof.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import isqrt
from typing import TYPE_CHECKING, Any

from privsieve.errors import ParameterError
from privsieve.methods import branches
from privsieve.methods.branches import ONE
from privsieve.methods.choosing import COSTS, ColumnChoice, Run, charged, selection
from privsieve.methods.method import BITS
from privsieve.noise.race import Race
from privsieve.public.canonical import EPSILON_UNITS, Json
from privsieve.public.columns import Label, Number
from privsieve.public.domain import Domain
from privsieve.public.event import together
from privsieve.public.option import declared, settings
from privsieve.public.plan import Chosen, Cost, Plan, Takes
from privsieve.summaries.stages import passes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from privsieve.methods.rule_sieve import RuleSieveOptions
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch
    from privsieve.summaries.layout import Ints, Layout
    from privsieve.summaries.numbers import Held, NumberPasses, NumberTables

METHOD = "rule-sieve-numeric/3"
#: Scores are integers below 2 n^2; this many units keep them in 63 bits.
LARGEST = 2**29
#: Epsilon over the epsilon of the noisy median; the steps between bounds at which a cut is likely.
MEDIAN_SHARE, STEPS = 10, 512
#: Units times epsilon, for each column chosen, from which "auto" cuts at a median and begins with
#: a set (three causes in four copies each: .7 of them by ranks, all by the median).
AUTO_FROM = 100
#: The square, in millionths, of the constant for products of three (0.1).
TRIPLE_SQUARE = 10_000


@declared
class NumberRules(Run):
    """The public parameters of one run by ranks."""

    assumes = BITS

    depth: int
    grid: int

    @property
    def reach(self) -> Fraction:
        """The lead of a column whose gap is 1: a covariance is half of a gain."""
        return Fraction(self.units, 2)


def planned(options: RuleSieveOptions, choice: ColumnChoice, rows: int | None) -> Plan:
    """Plan one selection for a numeric target; reads no row.

    >>> import privsieve as ps
    >>> box = ps.Domain.box(0, 1, columns=30, target=(0, 9))
    >>> [plan.settings["numeric"] for plan in (
    ...     ps.plan("rule-sieve", box, k=3, epsilon=1, rows=rows) for rows in (200, 9000))]
    ['ranks', 'median-cut']
    """
    domain = choice.domain
    cost, units = choice.priced(rows)
    if units > LARGEST:
        raise ParameterError(f"the table has {units} rows; a numeric target allows at most "
                             f"{LARGEST}")
    way = _checked_way(options, domain)
    if way == "median-cut":
        return _cut_plan(options, choice, cost, units)
    if way == "auto" and (plan := _auto_plan(options, choice, cost, units)):
        return plan
    table = branches.Extent.of(domain, units)
    deep, grid = branches.depth(table, options.depth, options.max_ops)
    rules = choice.run(NumberRules, cost, units, depth=deep, grid=grid)
    race = rules.race
    cost = charged(cost, race)
    rules = replace(rules, delta=cost.delta)
    # Ranks cut the target into 16 classes, and products see three of them.
    tables = branches.Tables(table, (1, 16, 3), deep, grid, copies=3)
    takes = branches.takes(table, deep=deep, grid=grid)._replace(**tables.memory())
    return selection(
        choice, rules, cost, method=METHOD,
        settings=settings(rules, numeric="ranks", order=deep, grid=grid, branches=[ONE.name]),
        noise=2 * race.scale, takes=takes, event=race.event,
        theorem="rule-sieve-numeric", summarise=_summary(rules, takes),
        mechanism=partial(mechanism, rules=rules))


def summarise(batches: Iterable[Batch], key: int, *, rules: NumberRules, size: int = 0,
              ) -> NumberTables:
    """Sum rows of persons into tables, one row for each person.

    size : bytes of all rows; without room for them, sums are made of parts
    """
    from privsieve.summaries.numbers import number_tables
    from privsieve.summaries.persons import fix_persons

    # [fixed] ranks, offsets and the sensitivity rest on the number of records
    rows = fix_persons(batches, rules.domain)
    return number_tables(rows, key, domain=rules.domain, depth=rules.depth, grid=rules.grid,
                         held=rows.room.holds(size))


def _summary(rules: NumberRules, takes: Takes) -> Callable[[Iterable[Batch], int], NumberTables]:
    """Return the summary of a plan: in passes, where each row is a unit."""
    if rules.domain.person is not None:
        return partial(summarise, rules=rules, size=takes.whole)
    return passes(partial(_passes, rules), 4, takes.whole, columns=len(rules.domain.columns),
                  placed=True,  # by rank
                  ready=_labelled)


def _labelled(batch: Batch) -> Batch:
    from privsieve.summaries.numbers import labelled

    return labelled(batch)


def _passes(rules: NumberRules) -> NumberPasses:
    from privsieve.summaries.numbers import NumberPasses

    return NumberPasses(rules.domain, rules.depth, rules.grid)


# [number-mechanism]
def mechanism(summary: NumberTables, noise: Noise, *, rules: NumberRules) -> tuple[int, ...]:
    """Run one race over the scores of tables."""
    score, sensitivity = scored(summary, rules)
    chosen = rules.places.chosen(score, replace(rules.race, sensitivity=sensitivity), noise)
    return Chosen(chosen, branch=ONE.name)


def scored(summary: NumberTables, rules: NumberRules) -> tuple[list[int], int]:
    """Return integer scores, and the largest move of a score by one unit; private."""
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
    """Return the gain on noise of the best rule on one column, in eighths and n-fold.

    0.8 sqrt(r (n - r) / n) rows where r lie below the cut; more for subsets of levels.
    """
    import numpy as np

    from privsieve.summaries.layout import SUBSETS
    from privsieve.summaries.numbers import CUTS, PARTS, spread

    below = spread(n, CUTS)
    gains = np.zeros((len(below), len(layout.kind)), np.int64)
    for cut, r in enumerate(below):
        # millionths of n^2 times the square of the offset
        square = 640_000 * n * r * (n - r)
        for j, kind in enumerate(layout.kind):
            levels = int(layout.levels[j]) if kind == SUBSETS else 0
            wide = max(640_000, 159_155 * levels)
            gains[cut, j] = isqrt(PARTS**2 * square * wide // 640_000 // 1_000_000)
    return gains


# [cut-mechanism]
def cut_mechanism(held: Held, noise: Noise, *, share: Fraction, inner: Plan, target: Any,
                  ) -> tuple[int, ...]:
    """Cut the target at a noisy cell; then run RuleSieve for the two classes."""
    from privsieve.summaries.layout import cell_edges

    # [median-moves]
    moves = 2 if inner.domain.replaces else 1
    middle = median_cell(held.counts, moves, share, noise, edges=cell_edges(target, STEPS))
    rows = held.labelled(middle)
    chosen: tuple[int, ...] = inner.mechanism(inner.summarise(rows, held.key), noise)
    return chosen


def median_cell(counts: Sequence[int], moves: int, epsilon: Fraction, noise: Noise, *,
                edges: Ints | None = None) -> int:
    """Return a cell such that about half of the units lie up to its end.

    A unit moves twice a count, less the total, by at most `moves`: 2 if replaced, 1 if it leaves.
    A cut is likely at public `edges`.

    >>> from privsieve.noise.streams import replay
    >>> median_cell([0, 400, 0, 400], 2, Fraction(1), replay(1)) in (1, 2)
    True
    """
    import numpy as np

    from privsieve.methods.rounds import favoured
    from privsieve.noise.race import top_k

    # [median-sensitivity] what is added to likely cells is public
    utility = -np.abs(2 * np.cumsum(counts)[:-1] - sum(counts))
    race = Race(len(utility), 1, moves, epsilon)
    utility += 0 if edges is None else favoured(edges, race)
    return top_k(utility.tolist(), race, noise)[0]
# [/cut-mechanism]


def _auto_plan(options: RuleSieveOptions, choice: ColumnChoice, cost: Cost, units: int,
               ) -> Plan | None:
    """Return the plan of "auto" by cuts of the target, or None for ranks."""
    domain, k = choice.domain, choice.places.total
    joint = options.joint or "auto"
    # [auto] of public numbers alone, before there is a row
    strong = joint != "none" and units * cost.epsilon >= AUTO_FROM * k
    plain = joint in ("auto", "none") and (not strong or cost.units < MEDIAN_SHARE)
    if plain and domain.replaces:
        return None
    # [no-ranks] under add-remove there are none to fall back on
    plan = _cut_plan(options, choice, cost, units)
    return None if plan.settings["branches"] == [ONE.name] and domain.replaces else plan


def _cut_plan(options: RuleSieveOptions, choice: ColumnChoice, cost: Cost, units: int) -> Plan:
    """Return the plan in which a noisy cell makes two classes of the target."""
    from privsieve.methods.rule_sieve import by_classes
    from privsieve.summaries.numbers import MEDIAN_GRID, hold

    # [cut-shares] whole ledger units, and at least one for each
    first = -(-cost.units // MEDIAN_SHARE)
    if first >= cost.units:
        raise ParameterError(f"epsilon is {cost.text}; the noisy cut and the choice need at least "
                             "1e-9 each: choose a larger epsilon")
    share = Fraction(first, EPSILON_UNITS)
    domain = choice.domain
    halves = replace(domain, target=Label(_target_name(domain), (0, 1)))

    def remaining(whole: Cost) -> Plan:
        spent = Fraction(-(-whole.units // MEDIAN_SHARE), EPSILON_UNITS)
        rest = replace(options, epsilon=whole.epsilon - spent, class_prior=None, numeric=None,
                       allow_weak=True)
        return by_classes(rest, ColumnChoice(rest, halves, halves), units, cut=True)

    inner = remaining(cost)
    # the cut is a race for one cell
    cell = Race(MEDIAN_GRID - 1, 1, 1, share).event
    free = inner.cost.epsilon == 0
    # [cut-rho] the median is pure
    rho = inner.cost.rho and inner.cost.rho + share**2 / 2
    forecasts: dict[str, Any] = {Cost(whole).text: remaining(Cost(whole)).forecast
                                 for whole in sorted({*COSTS, cost.epsilon})}
    by_cost: dict[str, Json] = {text: forecast["found_percent"][forecast["usual_gap"]]
                                for text, forecast in forecasts.items()}
    return choice.plan(
        method=METHOD, units=units, noise=inner.noise, warning=inner.warning, takes=inner.takes,
        shows=inner.shows, certain=inner.certain,
        cost=inner.cost if free else replace(cost, delta=inner.cost.delta, rho=rho),
        settings={**inner.settings, "numeric": "median-cut"},
        forecast={**inner.forecast, "by_cost": by_cost},
        theorem="rule-sieve-numeric", assumes=inner.assumes,
        event=inner.event if free else together(cell, inner.event),
        summarise=partial(hold, domain=domain),
        mechanism=partial(cut_mechanism, share=share, inner=inner, target=domain.target))


def _checked_way(options: RuleSieveOptions, domain: Domain) -> str:
    """Return the option `numeric`; refuse options that contradict it."""
    way = options.numeric or "auto"
    joined = options.joint not in ("auto", "none", None)
    if way == "ranks" and not domain.replaces:
        raise ParameterError("under add-remove the number of rows is private, and the proof for "
                             'ranks needs it; write numeric="median-cut", or neighbours = '
                             '"replace-one"')
    if options.class_prior not in ("auto", None):
        raise ParameterError(f"class_prior is {options.class_prior!r}, but the target "
                             f"{_target_name(domain)!r} is a number without classes; leave it out")
    if joined and way == "ranks":
        raise ParameterError(f'joint="{options.joint}" needs two classes, and ranks have none; '
                             'write numeric="median-cut", or leave numeric out')
    return way


def _target_name(domain: Domain) -> str:
    assert isinstance(domain.target, Number)
    return domain.target.name
