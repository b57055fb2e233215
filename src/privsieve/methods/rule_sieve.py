"""RuleSieve: an epsilon-DP set of columns by the best of a data-free family of rules.

The score of column j is the largest gain of any rule that uses j: an interval of its values, a
four-cell rule with one partner, or a product of two or three median signs.  The best of many rules
moves no more than one rule does when a unit changes.  So a larger family costs no privacy: see
rule_sieve.proof.md.  A race with geometric noise then names k columns.  Or a race over pairs names
the first two, and the others follow by their scores, or in rounds (`rounds`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations, islice
from math import comb
from typing import TYPE_CHECKING, Any, Self

from privsieve.errors import DomainError, ParameterError
from privsieve.methods import branches
from privsieve.methods.branches import ONE, Branch, Extent, Sizes, Switch
from privsieve.methods.choosing import Choosing, ColumnChoice, Forecast, Places, Run, selection
from privsieve.methods.labels import (
    FINEST,
    Labellings,
    by_cells,
    by_chance,
    class_counts,
    demand_prior,
    judged,
    known_unit_value,
    labellings,
    offsets,
    prior_of,
    settles,
    uncentred,
    written_shares,
)
from privsieve.methods.method import BITS
from privsieve.noise.race import Race
from privsieve.public.columns import Number, read_finely
from privsieve.public.domain import Domain
from privsieve.public.event import Event, either, together
from privsieve.public.option import declared, option, settings, whole
from privsieve.public.plan import Chosen, Cost, Plan, Takes
from privsieve.summaries.stages import PART_CELLS, by_class, passes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from privsieve.methods.rounds import Rounds
    from privsieve.methods.worst import Pair
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch, Passes
    from privsieve.summaries.layout import Layout
    from privsieve.summaries.rules import RulePasses, RuleTables, Weighing

METHOD = "rule-sieve/4"
WAYS = ("auto", "ranks", "median-cut")  # to compare numbers of a target


@declared
class RuleSieveOptions(Choosing):
    """Choose columns under pure epsilon-DP by the best rules on one, two or three columns.

    Finds columns that matter alone, in pairs and in threes (AND, OR, XOR, parity).

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(4000.0).reshape(1000, 4) % 97 / 97
    >>> y = X[:, 2] > 0.5
    >>> domain = ps.Domain.box(0.0, 1.0, classes=(0, 1))
    >>> ps.RuleSieve(1, epsilon=2, domain=domain).fit(X, y).get_support().sum()
    np.int64(1)
    """

    theorems = ("rule-sieve", "rule-sieve-numeric")
    assumes = BITS
    needs_bounds = False

    class_prior: Any = option(
        default="auto", read=written_shares, metavar="P", rare=True,
        says="how rare classes gain weight: auto (noisy counts for a tenth of epsilon), centred "
             "(free), unbalanced (auto if it pays, else centred), none, or class shares: 0.2")
    depth: Any = option(
        default=None, read=whole, choices=("1", "2", "3"), setting="order", rare=True,
        says="the most columns in one rule; by default the size of the table decides")
    joint: str | None = option(
        default="auto", choices=branches.WORDS,
        says="pair: begin with the best pair, so that columns are found that matter only "
             "together; rounds: then choose one column at a time by what the chosen columns do "
             "not explain, so that no copies are chosen; auto: as the rows and epsilon "
             "allow; none: all columns at once")
    numeric: str | None = option(
        default="auto", choices=WAYS, setting=None, rare=True,
        says="for a numeric target: ranks: compare its ranks; median-cut: compare two classes, "
             "above and below a noisy median; auto: as the rows and epsilon allow")
    max_ops: int = option(default=branches.MAX_OPS, setting=None, read=whole, flag=None,
                          says="the most 64-bit operations that a run may take")

    def coding(self, domain: Domain) -> Domain:
        """Return the domain by which rows become codes."""
        # [read-finely] rules compare values and compute with none: bounds cut off, and no more
        return replace(domain, columns=[read_finely(column) for column in domain.columns],
                       target=domain.target and read_finely(domain.target))

    def planned_choice(self, choice: ColumnChoice, rows: int | None) -> Plan:
        """Plan one selection; reads no row."""
        if isinstance(choice.domain.target, Number):
            from privsieve.methods import rule_sieve_numeric

            return rule_sieve_numeric.planned(self, choice, rows)
        if self.numeric not in ("auto", None):
            raise ParameterError(f"numeric is {self.numeric!r}, but the target is not a number; "
                                 "leave numeric out")
        demand_prior(self.class_prior)
        return by_classes(self, choice, rows)

    @classmethod
    def worst_pairs(cls) -> Mapping[str, Pair]:
        """Return tables in which a row takes one unit from a score and gives it to another."""
        import numpy as np

        from privsieve.methods.worst import RULES, TOP, counted, in_two, joined, of_codes, sides

        first, second, label = sides()
        # the classes are the two ends of a number: each cut between them is one
        ends = (np.column_stack([codes, TOP * label]) for codes in (first, second))
        return {
            "": in_two(sides(), k=1, **RULES),
            "ordered": in_two(sides(), k=1, ordered=True, **RULES),
            "joint": of_codes(Domain.box(0, 1, columns=3),
                              *(rows * [TOP, TOP, TOP, 1] for rows in joined()),
                              k=2, joint="pair", **RULES),
            "persons": _of_persons(),
            "number": of_codes(Domain.box(0, 1, columns=2, target=(0, 8)), *ends, k=1,
                               numeric="median-cut", depth=1),
            "counts": counted(120, depth=1),
        }


def _of_persons() -> Pair:
    """Return tables in which a person with two rows moves from one column's side to the other's."""
    import numpy as np

    from privsieve.methods.worst import RULES, TWO, Pair, sides
    from privsieve.rows.batch import Batch

    first, second, label = sides()
    domain = replace(TWO, person="who", persons=len(first), rows_per_person=2)
    twice = np.repeat(np.arange(len(first)), 2)
    ends = (Batch(np.asfortranarray(codes[twice]), label[twice].astype(np.int32),
                  twice.astype(np.uint64), np.arange(len(twice), dtype=np.uint64))
            for codes in (first, second))
    return Pair(domain, {"k": 1, **RULES}, *ends)


def by_classes(options: RuleSieveOptions, choice: ColumnChoice, rows: int | None, *,
               cut: bool = False) -> Plan:
    """Plan one selection for a label.

    cut : whether `rule_sieve_numeric` makes the classes from a number
    """
    joint = options.joint or "auto"
    domain, places = choice.domain, choice.places
    cost, units = choice.priced(rows)
    if joint not in ("auto", "none") and not places.plain:
        raise ParameterError(f'joint="{joint}" cannot choose groups of columns; leave out joint, '
                             "or the groups")
    if joint in ("pair", "rounds") and options.ordered:
        raise ParameterError(f'joint="{joint}" chooses a set without order; leave out ordered')
    if joint == "rounds" and (cost.delta or options.fewer is not None):
        raise ParameterError('joint="rounds" takes neither delta nor fewer; leave out '
                             "delta and fewer")
    if 24 * units * domain.unit_weight * FINEST >= 2**57:
        raise DomainError(f"table.rows_per_person is {domain.rows_per_person}, which is too "
                          f"large for {units} persons (sums need more than 63 bits); write a "
                          "smaller number")
    prior = prior_of(options.class_prior, domain, units * cost.epsilon,
                     why_not=uncentred(domain, units * domain.unit_weight))
    table = Extent.of(domain, units, cuts=branches.many_cuts(domain.classes))
    deep, grid = branches.depth(table, options.depth, options.max_ops)
    rules = choice.run(Rules, cost, units, depth=deep, joint=joint, class_prior=prior, grid=grid,
                       cut=cut)
    cost = _charged(cost, rules)
    rules = replace(rules, delta=cost.delta)
    takes = _takes(rules, table)
    return selection(
        choice, rules, cost, method=METHOD,
        settings=settings(rules, grid=grid,
                          branches=[branch.name for branch in rules.switch.reachable]),
        noise=max(race.scale for race in _main_races(rules))
        * (1 if rules.domain.replaces else Fraction(1, 2)),
        event=together(*class_counts(rules).events,
                       either(_branch_event(rules, branch) for branch in rules.switch.reachable)),
        shows=class_counts(rules).shows,
        theorem="rule-sieve", takes=takes, summarise=_summary(rules, takes),
        branch_of=(lambda released: rules.switch.branch(judged(released, rules)[1]).name)
        if rules.class_prior == "auto" else None,
        mechanism=partial(mechanism, rules=rules))


def _takes(rules: Rules, table: Extent) -> Takes:
    """Return the time and memory of the most expensive branch that may run."""
    many = rules.domain.classes
    first = any(branch.size for branch in rules.switch.reachable)
    tables = branches.Tables(table, (many, 0, many) if rules.depth > 1 else (0, many, many),
                             rules.depth, rules.grid, first)
    takes = branches.takes(table, deep=rules.depth, grid=rules.grid, first=first)._replace(
        **tables.memory(branches.FEW))
    return branches.with_rounds(takes, table, many, rules.most) if rules.most else takes


@declared
class Rules(RuleSieveOptions, Run):
    """The public parameters of one run."""

    grid: int
    cut: bool

    @property
    def forecast(self) -> Forecast:
        """The forecast of the branch that finds least."""
        return min((self.places.forecast(race, self.reach, self.sought)
                    for race in _main_races(self)), key=lambda forecast: forecast.usual)

    @property
    def raced(self) -> Fraction:
        """The epsilon of the races and what follows them: all but that of class counts."""
        return self.epsilon - class_counts(self).epsilon  # type: ignore[no-any-return]

    def new(self, branch: Branch) -> int:
        """Count the columns that the first race of a branch names and that are not always in."""
        return branches.new(branch, len(self.places.always))

    def races(self, branch: Branch) -> list[Race]:
        """Return the races of a branch before its rounds, for scores that one unit moves by 1."""
        places, size, epsilon = self.places, self.new(branch), self.raced
        if branch == ONE:
            return [places.race(epsilon, delta=self.delta, ordered=self.ordered)]
        if not size:
            return []
        share = epsilon * Fraction(size, places.k)
        if branch.goes_on:
            share = _rounds(self, branch).first
        pair = Race(comb(places.d, size), 1, 1, share)
        left = places.k - size
        if branch.goes_on or not left:
            return [pair]
        # [delta] after a pair one race at most names several columns: it gets the delta
        return [pair, Race(places.d - size, left, 1, epsilon * Fraction(left, places.k),
                           delta=self.delta if left > 1 else Fraction(0))]

    @property
    def one_race(self) -> bool:
        """Whether one race may name all columns."""
        return self.joint in ("auto", "none")

    @property
    def alone(self) -> Self:
        """The same run where one race names all columns."""
        return replace(self, joint="none")

    @property
    def settles(self) -> bool:
        """Whether exactly the declared number of persons takes part."""
        return settles(self.class_prior, self.domain, self.units)

    @cached_property
    def switch(self) -> Switch:
        """The switch between branches, by public numbers and by released class counts."""
        if not self.places.plain:
            # [one-by-one] a group is no column
            return Switch((ONE,), self.k, Fraction(0))
        strength = self.units * self.raced
        # Cells of a number without bounds are coarse: a pair comes first where rounds follow it.
        bounded = all(not isinstance(column, Number) or column.low is not None
                      for column in self.domain.columns)
        sizes = Sizes(self.k, len(self.domain.columns), self.units, self.domain.classes,
                      self.grid, self.max_ops, len(self.places.always))
        switch = branches.switch(str(self.joint), sizes, strength, ordered=self.ordered,
                                 cells=bounded, go_on=self.go_on)
        if self.cut:
            switch = replace(switch, least=(branches.FROM, branches.NUMBER_FROM))
        elif self.joint == "auto":
            # Thousands of words beside a label: one race is .04 ahead where no pair comes first.
            switch = replace(switch, room=tuple(branch for branch in switch.room
                                                if branch != branches.ALONE))
        known = known_unit_value(self.class_prior, self.units)
        return switch if known is None else switch.known(known)

    @property
    def go_on(self) -> bool:
        """Whether there can be rounds: where class shares are known, and there is time."""
        if self.joint in ("none", "pair") or self.places.k < 2 or self.ordered or self.delta:
            return False
        # [known-shares] of two classes; of more the rounds begin with them
        known = self.cut or self.domain.classes > 2 or self.class_prior not in ("centred", None)
        work = branches.OPS * self.places.k * branches.a_round(
            Extent.of(self.domain, self.units), self.domain.classes)
        return self.joint == "rounds" or (known and work <= self.max_ops)

    def rounds(self, branch: Branch) -> int:
        """Count the columns that a branch names in rounds."""
        return self.places.k - self.new(branch) if branch.goes_on else 0

    @property
    def most(self) -> int:
        """The largest number of columns that a branch names in rounds."""
        return max(map(self.rounds, self.switch.reachable))

    def sensitivity(self, largest: int) -> int:
        """Return the largest move of a score, which has 24 steps a unit; half if a unit leaves."""
        # [sensitivity]
        return (24 if self.domain.replaces else 12) * self.domain.unit_weight * largest


@dataclass(frozen=True, eq=False, repr=False)
class WithRows:
    """Tables, and the rows that rounds need."""

    tables: RuleTables
    rows: Passes
    key: int


def summarise(batches: Iterable[Batch], key: int, *, rules: Rules, size: int = 0) -> RuleTables:
    """Sum rows into tables: runs, and signs and bins where the plan needs them.

    size : bytes of all rows; without room for them, sums are made of parts
    """
    from privsieve.summaries.rules import rule_tables

    rows = _passes_over(batches, rules)
    return rule_tables(rows, key, domain=rules.domain, order=rules.depth, grid=rules.grid,
                       held=rows.room.holds(size))


def with_rows(batches: Iterable[Batch], key: int, *, rules: Rules, tables: Any) -> WithRows:
    """Sum rows by the function `tables`, and keep the rows for the rounds."""
    from privsieve.rows.batch import in_classes

    rows = _passes_over(batches, rules)
    # Of persons the order of the source counts.
    ready = in_classes if rules.domain.person is None else None
    rows.keep(max(1, PART_CELLS // len(rules.domain.columns)), ready)
    return WithRows(tables(rows, key), rows, key)


def _passes_over(batches: Iterable[Batch], rules: Rules) -> Passes:
    """Return the rows of a source, of exactly the declared persons where labels may be centred."""
    from privsieve.rows.batch import Passes
    from privsieve.summaries.persons import fix_persons

    rows = Passes.of(batches)
    return fix_persons(rows, rules.domain) if rules.settles else rows


def _summary(rules: Rules, takes: Takes) -> Callable[[Iterable[Batch], int], Any]:
    """Return the summary of a plan: in passes, where each row is a unit."""
    tables: Any = partial(summarise, rules=rules, size=takes.whole)
    if rules.domain.person is None:
        many = 4 if rules.depth > 1 else 1
        tables = passes(partial(_passes, rules), many, takes.whole, ready=by_class,
                        columns=len(rules.domain.columns), placed=many > 1)
    return partial(with_rows, rules=rules, tables=tables) if rules.most else tables


def _passes(rules: Rules) -> RulePasses:
    from privsieve.summaries.rules import RulePasses

    return RulePasses(rules.domain, rules.depth, rules.grid)


# [mechanism]
def mechanism(summary: RuleTables | WithRows, noise: Noise, *, rules: Rules) -> tuple[int, ...]:
    """Draw the class weights, run the races over scores, and then the rounds over the rows."""
    from privsieve.noise.race import top_k
    from privsieve.summaries.layout import Layout
    from privsieve.summaries.rules import scores

    places, tables = rules.places, summary.tables if isinstance(summary, WithRows) else summary
    if places.certain and not rules.ordered:
        return places.columns()
    layout = Layout.of(rules.domain)
    by, moves, labels = weighed(tables, layout, rules, noise)
    branch = rules.switch.branch(labels.unit_value)
    if branch == ONE:
        single = replace(rules.races(ONE)[0], sensitivity=moves)
        return Chosen(places.chosen(scores(tables, layout, by).tolist(), single, noise),
                      branch=branch.name, **labels.fields)

    free, named = [item[0] for item in places.items], list[int]()
    if rules.new(branch):
        values, score = _pair_values(tables, (layout, by), places)
        races = iter(rules.races(branch))

        def race(raced: Sequence[int]) -> tuple[int, ...]:
            return top_k(raced, replace(next(races), sensitivity=moves), noise)

        # [pair-then-rounds] the pair alone, at its share
        k = rules.new(branch) if branch.goes_on else places.k
        named = [free[at] for at in choose(values, score[free].tolist(),
                                           (rules.new(branch), k, len(free)), race)]
    if branch.goes_on:
        assert isinstance(summary, WithRows)
        left = [j for j in free if j not in named]
        named += _rounds(rules, branch).names(
            summary.rows, summary.key, [*places.always, *named], left,
            start=start(labels, rules), noise=noise)
    return Chosen(sorted((*places.always, *named)), branch=branch.name, **labels.fields)


def _pair_values(tables: RuleTables, how: tuple[Layout, Weighing], places: Places,
                 ) -> tuple[list[int], npt.NDArray[np.int64]]:
    """Return the value of each pair that may come first, and the score of each column."""
    from privsieve.summaries.pairs import pair_scores

    # [pair-sensitivity] the value of a pair moves by no more than a score
    values, score = pair_scores(tables, *how)
    # [free-pairs]
    taken, pairs = set(places.always), combinations(range(len(score)), 2)
    inside = branches.PAIRS.size - branches.new(branches.PAIRS, len(taken))
    return values[[len(taken.intersection(pair)) == inside for pair in pairs]].tolist(), score


def weighed(summary: RuleTables, layout: Layout, rules: Rules, noise: Noise,
            ) -> tuple[Weighing, int, Labellings]:
    """Return how tables become scores, the largest move of a score, and the class weights."""
    import numpy as np

    from privsieve.summaries.rules import Weighing

    counts = summary.runs.counts.tolist()
    unit_counts = counts if summary.signs is None else summary.signs.rows.tolist()
    labels = labellings(counts, unit_counts, rules, noise)
    scale, products = rules.domain.unit_weight, labels.product_weights
    by = Weighing(np.array(labels.weights, np.int64), offsets(labels, layout, scale), scale,
                  rules.depth, rules.grid,
                  None if products is None else np.array(products, np.int64),
                  by_chance=by_chance(labels, len(layout.kind), scale),
                  by_cells=by_cells(labels, scale))
    return by, rules.sensitivity(labels.largest), labels
# [/mechanism]


# [joint-choice]
def choose(values: Sequence[int], score: Sequence[int], sizes: tuple[int, int, int],
           race: Callable[[Sequence[int]], tuple[int, ...]]) -> tuple[int, ...]:
    """Name k columns, of which the first `size` come together; sorted, so that no order leaves.

    values : of each pair, or of each column beside one that is always in, in lexicographic order
    score : of single columns, for the second race
    sizes : size, k, and the number of columns
    """
    size, k, d = sizes
    won = race(values)[0]
    chosen = next(islice(combinations(range(d), size), won, None))
    if k > size:
        rest = [j for j in range(d) if j not in chosen]
        chosen = (*chosen, *(rest[j] for j in race([score[j] for j in rest])))
    return tuple(sorted(chosen))
# [/joint-choice]


def _main_races(rules: Rules) -> list[Race]:
    """Return for each branch the race of its forecast: as if it chose all columns."""
    places, main = rules.places, []
    for branch in rules.switch.reachable:
        races = rules.races(branch)
        if races and races[-1].account == "approximate":
            main.append(races[-1])
            continue
        share = branches.dilution(branch, places.k, places.d, len(places.always))
        if branch.goes_on:  # the rest goes to what the rounds release
            share = share * _rounds(rules, branch).raced
        main.append(places.race(rules.raced * share, ordered=rules.ordered))
    return main


def _charged(cost: Cost, rules: Rules) -> Cost:
    """Return the cost of any branch: the delta if one of them needs it, and the largest rho."""
    counted, rho = class_counts(rules).epsilon, []
    last = [races[-1] for races in map(rules.races, rules.switch.reachable) if races]
    if all(race.account == "pure" for race in last):
        return replace(cost, delta=Fraction(0), rho=None)
    for race in last:
        # [first-rho] what is pure before the race that names several, or all of a pure branch
        pure = rules.raced - race.epsilon if race.delta else rules.raced
        rho.append((race.rho if race.delta else 0) + (counted**2 + pure**2) / 2)
    return replace(cost, rho=max(rho))


def _branch_event(rules: Rules, branch: Branch) -> Event:
    """Return the event of a branch: its races, and its rounds."""
    rounds = _rounds(rules, branch).events if branch.goes_on else []
    return together(*(race.event for race in rules.races(branch)), *rounds)


# [start]
def start(labels: Labellings, rules: Rules) -> list[int]:
    """Return the log-odds of classes before the first step, of public or released counts."""
    from privsieve.summaries.residuals import log_odds_of

    known: Sequence[int | Fraction] = labels.counts.q if labels.counts else (
        [1] * rules.domain.classes)
    if isinstance(rules.class_prior, tuple):
        known = [share * rules.units for share in rules.class_prior]
    return log_odds_of([float(count) for count in known])
# [/start]


def _rounds(rules: Rules, branch: Branch) -> Rounds:
    """Return the rounds of a branch."""
    from privsieve.methods.rounds import Rounds

    places, size = rules.places, rules.new(branch)
    return Rounds(rules.domain, rules.units, len(places.always) + size,
                  places.d - size, places.k - size, rules.raced, size,
                  level=not rules.cut and rules.class_prior in ("centred", None))
