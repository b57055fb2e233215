"""RuleSieve: an epsilon-DP set of columns by the best of a data-free family of rules.

The score of column j is the largest gain of any rule of the family that uses j: an interval of
its values, a four-cell rule with one partner, a product of two or three median signs.  The best
of however many rules moves no more when one unit changes than one rule does, so the family is
free; see rule_sieve.proof.md.  A race with geometric noise then picks k columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations, islice
from math import comb
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

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
from privsieve.public.columns import Number
from privsieve.public.cost import Cost
from privsieve.public.domain import Domain
from privsieve.public.option import Choosing, declared, option, settings, settled
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
            noise=_main_race(rules).scale * (1 if rules.domain.replaces else Fraction(1, 2)),
            theorem="rule-sieve", summarise=partial(summarise, rules=rules),
            mechanism=partial(mechanism, rules=rules))


@declared
class Rules(RuleSieveOptions):
    """The public parameters of one run: the options, settled, and the public facts."""

    domain: Domain
    units: int
    grid: int

    @property
    def settles(self) -> bool:
        """Whether exactly the declared number of persons takes part."""
        return settles(self.class_prior, self.domain, self.units)

    def sensitivity(self, largest: int) -> int:
        """How far a score can move, in its integer units: 24 a unit, half of it if one leaves."""
        # [sensitivity]
        return (24 if self.domain.replaces else 12) * self.domain.unit_weight * largest


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
        moves = 4 * rules.domain.unit_weight * max(1, int(summary.runs.counts.sum()))
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
    scale = rules.domain.unit_weight
    by = Weighing(np.array(labels.weights, np.int64), offsets(labels, layout, scale), scale,
                  rules.depth, rules.grid,
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
    reach = Fraction(rules.units * (1 if rules.domain.replaces else 2))
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


Racing = Callable[[Sequence[int], int, int, Fraction], tuple[int, ...]]

Joint = Literal["pair", "triple", "quad"]
#: How many columns the first race names.
SIZES: Mapping[str, int] = {"pair": 2, "triple": 3, "quad": 4}
#: What it takes to value one set, in word operations beside those for its rows.
SET_OPS = 2**14


class Beginning(NamedTuple):
    """How large the first set is, and the sizes of all sets whose values are needed."""

    size: int
    needed: tuple[int, ...]


def beginning(joint: Joint, k: int) -> Beginning:
    """What a choice of k columns needs.

    >>> beginning("quad", 4).needed, beginning("quad", 6).needed
    ((4,), (3, 4))
    """
    size = SIZES[joint]
    return Beginning(size, (size,) if k == size or joint == "pair" else tuple(sorted({3, size})))


def check(joint: Joint, sizes: tuple[int, int, int, int], max_ops: int, *, ordered: bool,
          grid: int) -> None:
    """Refuse what cannot be chosen together; `sizes` are k, columns, units and classes."""
    if not isinstance(joint, str) or joint not in SIZES:
        raise ParameterError(f'joint is {joint!r}; write "pair", "triple" or "quad", or None')
    k, d, units, classes = sizes
    size = SIZES[joint]
    if classes > 2 < size:
        raise ParameterError(f'joint="{joint}" is for two classes, and the label has {classes}; '
                             'write joint="pair", or None')
    if k < size:
        raise ParameterError(f'joint="{joint}" begins with {size} columns, and {k} are to be '
                             "chosen; choose more, or a smaller beginning")
    if ordered:
        raise ParameterError(f'joint="{joint}" gives a set; it needs ordered=False')
    if joint == "pair" and not grid:
        raise ParameterError('joint="pair" needs a pair grid, and there is none for so many '
                             "columns and rows; raise max_ops, or leave it away")
    sets = sum(comb(d, needed) for needed in beginning(joint, k).needed if needed > SIZES["pair"])
    work = sets * (5 * units // 2 + SET_OPS)
    if work > max_ops:
        raise ParameterError(f'joint="{joint}" would take {work:.1e} operations for {d} columns '
                             f"of {units} units, and max_ops is {max_ops:.1e}; raise it, name "
                             "fewer columns in the domain, or leave joint away")


# [joint-choice]
def shares(size: int, k: int, d: int) -> tuple[Fraction, Fraction]:
    """What the race for the first set gets of epsilon, and what all that follows gets together.

    >>> shares(3, 5, 30), shares(3, 5, 6)
    ((Fraction(3, 5), Fraction(2, 5)), (Fraction(1, 3), Fraction(2, 3)))
    """
    if leaves_out(size, k, d):
        # [left-out-share] a set of useful columns is likely there: each name of those that are
        # not gets twice what the set gets (measured; any share is as private)
        named = 2 * (d - k)
        return Fraction(1, 1 + named), Fraction(named, 1 + named)
    return Fraction(size, k), Fraction(k - size, k)


def leaves_out(size: int, k: int, d: int) -> bool:
    """Whether one race names those left out, in the place of rounds that name those chosen."""
    return size > SIZES["pair"] and 0 < d - k < k - size


def choose(values: Mapping[int, Sequence[int]], score: Sequence[int], rules: tuple[int, int],
           spend: tuple[int, int, Fraction], race: Racing) -> tuple[int, ...]:
    """K columns, of which the first `size` come as one set; sorted, so that no order leaves.

    values : per size of sets, twice the value of each in lexicographic order.
    score : of single columns, for what follows a pair.
    rules : size and k.
    spend : how far a doubled value and a score move, and epsilon.
    """
    (size, k), (step, sensitivity, epsilon), d = rules, spend, len(score)
    first, after = (epsilon * share for share in shares(size, k, d))
    won = race(values[size], 1, step, first)[0]
    chosen = list(next(islice(combinations(range(d), size), won, None)))
    if size == 2 and k > size:
        rest = [j for j in range(d) if j not in chosen]
        chosen += [rest[j] for j in race([score[j] for j in rest], k - 2, sensitivity, after)]
    elif leaves_out(size, k, d):
        rest, beside, pairs = _beside(values[3], chosen, d)
        chosen += [rest[j] for j in race(beside, k - size, step * pairs, after)]
    while len(chosen) < k:
        rest, beside, pairs = _beside(values[3], chosen, d)
        chosen.append(rest[race(beside, 1, step * pairs, after / (k - size))[0]])
    return tuple(sorted(chosen))


def _beside(three: Sequence[int], chosen: Sequence[int], d: int,
            ) -> tuple[list[int], list[int], int]:
    """The other columns; what each is worth with all pairs of those chosen; how many pairs."""
    rest = [j for j in range(d) if j not in chosen]
    pairs = list(combinations(chosen, 2))
    # [round-sensitivity] a sum over pairs moves by what all of them may
    return rest, [sum(three[place(d, (*pair, j))] for pair in pairs) for j in rest], len(pairs)
# [/joint-choice]


def several(joint: Joint, k: int, d: int) -> tuple[int, Fraction]:
    """How many columns come before the one race that names several, and its share of epsilon.

    No columns and all of epsilon where each race names one set or one column.

    >>> several("pair", 5, 30), several("triple", 5, 6), several("triple", 5, 30)
    ((2, Fraction(3, 5)), (3, Fraction(2, 3)), (0, Fraction(1, 1)))
    """
    size = SIZES[joint]
    if k - size > 1 and (size == SIZES["pair"] or leaves_out(size, k, d)):
        return size, shares(size, k, d)[1]
    return 0, Fraction(1)


def dilution(joint: Joint | None, k: int, d: int) -> Fraction:
    """The noise of one race for k of d, as a part of that with which columns are told apart here.

    >>> dilution("triple", 5, 30), dilution("triple", 5, 6), dilution("pair", 6, 8)
    (Fraction(1, 1), Fraction(2, 3), Fraction(2, 3))
    """
    if joint is None or k == d:
        return Fraction(1)
    size = SIZES[joint]
    named = Fraction(k)  # a set alone, and rounds
    if k > size and (size == SIZES["pair"] or leaves_out(size, k, d)):
        named = min(k - size, d - k) / shares(size, k, d)[1]
    return min(k, d - k) / named


def place(d: int, columns: Sequence[int]) -> int:
    """Where a set of columns stands among all sets of its size, in lexicographic order.

    >>> [place(4, columns) for columns in combinations(range(4), 3)], place(4, (3, 1))
    ([0, 1, 2, 3], 4)
    """
    size = len(columns)
    after = sum(comb(d - 1 - j, size - i) for i, j in enumerate(sorted(columns)))
    return comb(d, size) - 1 - after
