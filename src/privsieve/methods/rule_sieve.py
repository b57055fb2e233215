"""RuleSieve: an epsilon-DP set of columns by the best of a data-free family of rules.

The score of column j is the largest gain of any rule of the family that uses j: an interval of
its values, a four-cell rule with one partner, a product of two or three median signs.  The best
of however many rules moves no more when one unit changes than one rule does, so the family is
free; see rule_sieve.proof.md.  A race with geometric noise then picks k columns; or a race over
pairs picks the first two, and the others follow by their scores, or in rounds (`rounds`).
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
from privsieve.methods.branches import ONE, Branch, Sizes, Switch
from privsieve.methods.choosing import (
    Choosing,
    ColumnChoice,
    Forecast,
    Places,
    Run,
    charged,
    selection,
)
from privsieve.methods.labels import (
    FINEST,
    Labellings,
    by_cells,
    by_chance,
    class_counts,
    demand_prior,
    judged,
    labellings,
    offsets,
    prior_of,
    settles,
    uncentred,
    worth_before,
    written_shares,
)
from privsieve.methods.method import BITS
from privsieve.public.columns import Number, read_finely
from privsieve.public.domain import Domain
from privsieve.public.event import Event, either, together
from privsieve.public.option import declared, option, settings, whole
from privsieve.public.plan import Chosen, Cost, Plan, Takes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from privsieve.methods.rounds import Rounds
    from privsieve.methods.worst import Pair
    from privsieve.noise.race import Race
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch, Passes
    from privsieve.summaries.layout import Layout
    from privsieve.summaries.rules import RulePasses, RuleTables, Weighing

METHOD = "rule-sieve/4"
WAYS = ("auto", "ranks", "median-cut")  # to compare numbers of a target


@declared
class RuleSieveOptions(Choosing):
    """Choose columns under pure epsilon-DP by the best of a data-free family of rules.

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
        says="how the classes are weighed: auto (a tenth of epsilon), centred, unbalanced, "
             "none, or public class shares such as 0.2 or 0.5,0.3,0.2")
    depth: Any = option(
        default=None, read=whole, choices=("1", "2", "3"), setting="order", rare=True,
        says="how many columns a rule may join; the size of the table decides where this is left "
             "out")
    joint: str | None = option(
        default="auto", choices=branches.WORDS,
        says="pair: begin with the best pair, which finds what matters only together; rounds: then "
             "name each column by what those before it leave unexplained, so that no copies come; "
             "auto: as far as rows and epsilon pay for it; none: one race")
    numeric: str | None = option(
        default="auto", choices=WAYS, setting=None, rare=True,
        says="how a target that is a number is compared; auto cuts it where rows and epsilon "
             "pay for pairs and rounds, else takes ranks")
    max_ops: int = option(default=branches.MAX_OPS, setting=None, read=whole, flag=None,
                          says="how many word operations a run may take")

    def coding(self, domain: Domain) -> Domain:
        """The domain by which rows become codes."""
        # [read-finely] rules compare values and compute with none: bounds cut off, and no more
        return replace(domain, columns=[read_finely(column) for column in domain.columns],
                       target=domain.target and read_finely(domain.target))

    def planned_choice(self, choice: ColumnChoice, rows: int | None) -> Plan:
        """Plan one selection; reads no row."""
        if isinstance(choice.domain.target, Number):
            from privsieve.methods import rule_sieve_numeric

            return rule_sieve_numeric.planned(self, choice, rows)
        if self.numeric not in ("auto", None):
            raise ParameterError(f"numeric is {self.numeric!r}, and the target is no number; leave "
                                 "it out")
        demand_prior(self.class_prior)
        return by_classes(self, choice, rows)

    @classmethod
    def worst_pairs(cls) -> Mapping[str, Pair]:
        """A row takes one unit from one score and gives it to another."""
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
    """A person with both rows leaves the first column's side for the second's."""
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


def by_classes(asked: RuleSieveOptions, choice: ColumnChoice, rows: int | None, *,
               cut: bool = False) -> Plan:
    """Plan one selection for a label.

    cut : whether `rule_sieve_numeric` made the classes of a number
    """
    joint = asked.joint or "auto"
    domain, places = choice.domain, choice.places
    cost, units = choice.priced(rows)
    if joint not in ("auto", "none") and not places.plain:
        raise ParameterError(f'joint="{joint}" names columns, and groups are raced one by one; '
                             "leave joint away")
    if joint in ("pair", "rounds") and asked.ordered:
        raise ParameterError(f'joint="{joint}" gives a set; it needs ordered=False')
    if joint == "rounds" and (cost.delta or asked.fewer is not None):
        raise ParameterError('joint="rounds" names k columns under pure epsilon; leave delta and '
                             "fewer away")
    _check_sums(domain, units)
    prior = prior_of(asked.class_prior, domain, units * cost.epsilon,
                     why_not=uncentred(domain, units * domain.unit_weight))
    deep, grid = branches.depth(_table(domain, units), asked.depth, asked.max_ops)
    rules = choice.settled(Rules, cost, units, depth=deep, joint=joint, class_prior=prior,
                           grid=grid, cut=cut)
    cost = _charged(cost, rules)
    rules = replace(rules, delta=cost.delta)
    takes = _takes(rules)
    named = [branch.name for branch in rules.switch.reachable]
    return selection(
        choice, rules, cost, method=METHOD,
        settings=settings(rules, grid=rules.grid, branches=named),
        noise=max(race.scale for race in _main_races(rules))
        * (1 if rules.domain.replaces else Fraction(1, 2)),
        event=_event(rules), shows=class_counts(rules).shows,
        theorem="rule-sieve", takes=takes, summarise=_summary(rules, takes),
        branch_of=partial(_branch_of, rules=rules) if rules.class_prior == "auto" else None,
        mechanism=partial(mechanism, rules=rules))


def _table(domain: Domain, units: int) -> branches.Extent:
    """The sizes by which a choice is priced."""
    return branches.Extent.of(domain, units, cuts=branches.many_cuts(domain.classes))


def _takes(rules: Rules) -> Takes:
    """Time and memory of the dearest branch that may run."""
    table, many = _table(rules.domain, rules.units), rules.domain.classes
    first = any(branch.size for branch in rules.switch.reachable)
    tables = branches.Tables(table, (many, 0, many) if rules.depth > 1 else (0, many, many),
                             rules.depth, rules.grid, first)
    made = branches.takes(table, deep=rules.depth, grid=rules.grid, first=first)._replace(
        **tables.memory(branches.FEW))
    return branches.with_rounds(made, table, many, rules.most) if rules.most else made


@declared
class Rules(RuleSieveOptions, Run):
    """The public parameters of one run."""

    grid: int
    cut: bool

    @property
    def forecast(self) -> Forecast:
        """What the races are expected to find, in the branch that finds least."""
        return min((self.places.forecast(race, self.reach, self.sought)
                    for race in _main_races(self)), key=lambda made: made.usual)

    @property
    def raced(self) -> Fraction:
        """The epsilon that is left for the races, and what follows them, after class counts."""
        return self.epsilon - class_counts(self).epsilon  # type: ignore[no-any-return]

    def new(self, branch: Branch) -> int:
        """How many columns the first race of a branch names that are not in already."""
        return branches.new(branch, len(self.places.always))

    @property
    def one_race(self) -> bool:
        """Whether one race may name all columns."""
        return self.joint in ("auto", "none")

    @property
    def alone(self) -> Self:
        """The same where one race names all columns."""
        return replace(self, joint="none")

    @property
    def settles(self) -> bool:
        """Whether exactly the declared number of persons takes part."""
        return settles(self.class_prior, self.domain, self.units)

    @cached_property
    def switch(self) -> Switch:
        """Which branch runs, by public numbers and by class counts that are released."""
        if not self.places.plain:
            # [one-by-one] a group is no column
            return Switch((ONE,), self.k, Fraction(0))
        strength = self.units * self.raced
        # Cells of a number without bounds are coarse: a pair comes first where rounds follow it.
        bounded = all(not isinstance(column, Number) or column.low is not None
                      for column in self.domain.columns)
        sizes = Sizes(self.k, len(self.domain.columns), self.units, self.domain.classes,
                      self.grid, self.max_ops, len(self.places.always))
        made = branches.switch(str(self.joint), sizes, strength, ordered=self.ordered,
                               cells=bounded, go_on=self.go_on)
        if self.cut:
            made = replace(made, least=(branches.FROM, branches.NUMBER_FROM))
        elif self.joint == "auto":
            # Thousands of words beside a label: one race is .04 ahead where no pair comes first.
            made = replace(made, room=tuple(one for one in made.room if one != branches.ALONE))
        known = worth_before(self.class_prior, self.units)
        return made if known is None else made.known(known)

    @property
    def go_on(self) -> bool:
        """Whether there can be rounds: where class shares are known, and there is time."""
        if self.joint in ("none", "pair") or self.places.k < 2 or self.ordered or self.delta:
            return False
        # [known-shares] of two classes; of more the rounds begin with them
        known = self.cut or self.domain.classes > 2 or self.class_prior not in ("centred", None)
        work = branches.OPS * self.places.k * branches.a_round(
            branches.Extent.of(self.domain, self.units), self.domain.classes)
        return self.joint == "rounds" or (known and work <= self.max_ops)

    def rounds(self, branch: Branch) -> int:
        """How many columns a branch names in rounds."""
        return self.places.k - self.new(branch) if branch.goes_on else 0

    @property
    def most(self) -> int:
        """The most columns that some branch names in rounds."""
        return max(map(self.rounds, self.switch.reachable))

    def sensitivity(self, largest: int) -> int:
        """How far a score can move, in its integer units: 24 a unit, half of it if one leaves."""
        # [sensitivity]
        return (24 if self.domain.replaces else 12) * self.domain.unit_weight * largest


def _check_sums(domain: Domain, units: int) -> None:
    """Refuse units whose weights take scores past 63 bits, or sums of residuals past 53."""
    if 24 * units * domain.unit_weight * FINEST >= 2**57:
        raise DomainError(f"table.rows_per_person is {domain.rows_per_person}, which {units} "
                          "persons take past 63 bits; write less: of a person with more rows so "
                          "many are used")


@dataclass(frozen=True, eq=False, repr=False)
class WithRows:
    """Tables, and the rows that rounds go on with."""

    tables: RuleTables
    rows: Passes
    key: int


def summarise(batches: Iterable[Batch], key: int, *, rules: Rules, size: int = 0) -> RuleTables:
    """Rows of persons become tables: runs, and signs and bins where the plan needs them.

    size : bytes that all rows take; where there is less room for them, sums are made of parts
    """
    from privsieve.rows.batch import Passes
    from privsieve.summaries.persons import fix_persons
    from privsieve.summaries.rules import rule_tables

    rows = Passes.of(batches)
    if rules.settles:
        rows = fix_persons(rows, rules.domain)
    return rule_tables(rows, key, domain=rules.domain, order=rules.depth, grid=rules.grid,
                       held=rows.room.holds(size))


def with_rows(batches: Iterable[Batch], key: int, *, rules: Rules, made: Any) -> WithRows:
    """Tables, as `made` makes them, and the rows that rounds go on with."""
    from privsieve.rows.batch import Passes, in_classes
    from privsieve.summaries.persons import fix_persons
    from privsieve.summaries.stages import PART_CELLS

    rows = Passes.of(batches)
    if rules.settles:
        rows = fix_persons(rows, rules.domain)
    # Of persons the order of the source counts.
    ready = in_classes if rules.domain.person is None else None
    rows.keep(max(1, PART_CELLS // len(rules.domain.columns)), ready)
    return WithRows(made(rows, key), rows, key)


def _summary(rules: Rules, takes: Takes) -> Callable[[Iterable[Batch], int], Any]:
    """How rows become tables: in passes, where each row is a unit."""
    from privsieve.summaries.stages import by_class, passes

    made: Any = partial(summarise, rules=rules, size=takes.whole)
    if rules.domain.person is None:
        many = 4 if rules.depth > 1 else 1
        made = passes(partial(_passes, rules), many, takes.whole, ready=by_class,
                      columns=len(rules.domain.columns), placed=many > 1)
    return partial(with_rows, rules=rules, made=made) if rules.most else made


def _passes(rules: Rules) -> RulePasses:
    from privsieve.summaries.rules import RulePasses

    return RulePasses(rules.domain, rules.depth, rules.grid)


# [mechanism]
def mechanism(summary: RuleTables | WithRows, noise: Noise, *, rules: Rules) -> tuple[int, ...]:
    """Tables meet noise: weights, scores, races; then rounds over the rows, where they are kept."""
    from privsieve.noise.race import Race, top_k
    from privsieve.summaries.layout import Layout
    from privsieve.summaries.rules import scores

    places, tables = rules.places, summary.tables if isinstance(summary, WithRows) else summary
    if places.certain and not rules.ordered:
        return places.columns()
    layout = Layout.of(rules.domain)
    by, moves, epsilon, labels = weighed(tables, layout, rules, noise)
    branch = rules.switch.branch(labels.worth)
    rounds = _rounds(rules, branch) if branch.goes_on else None
    if branch == ONE:
        alone = replace(_race(rules, ONE), sensitivity=moves, epsilon=epsilon)
        return Chosen(places.chosen(scores(tables, layout, by).tolist(), alone, noise),
                      branch=branch.name, **labels.said)

    def race(raced: Sequence[int], k: int, sensitivity: int, epsilon: Fraction) -> tuple[int, ...]:
        # [delta] after a pair one race at most names several columns: it gets the delta
        delta = rules.delta if k > 1 else Fraction(0)
        return top_k(raced, Race(len(raced), k, sensitivity, epsilon, delta=delta), noise)

    free, size = [item[0] for item in places.items], rules.new(branch)
    named = list[int]()
    if size:
        values, score = _pair_values(tables, (layout, by), places)
        # [pair-then-rounds] the pair alone, at its share
        k, share = (places.k, epsilon) if rounds is None else (size, rounds.first)
        named = [free[at] for at in choose(values, score[free].tolist(), (size, k, len(free)),
                                           (moves, share), race)]
    if rounds is not None:
        assert isinstance(summary, WithRows)
        left = [j for j in free if j not in named]
        named += rounds.names(summary.rows, summary.key, [*places.always, *named], left,
                              start=start(labels, rules), noise=noise)
    return Chosen(sorted((*places.always, *named)), branch=branch.name, **labels.said)


def _pair_values(tables: RuleTables, how: tuple[Layout, Weighing], places: Places,
                 ) -> tuple[list[int], npt.NDArray[np.int64]]:
    """What each pair that may come first is worth, and each column."""
    from privsieve.summaries.pairs import pair_scores

    # [pair-sensitivity] the value of a pair moves by no more than a score
    values, score = pair_scores(tables, *how)
    # [free-pairs]
    taken, pairs = set(places.always), combinations(range(len(score)), 2)
    inside = branches.PAIRS.size - branches.new(branches.PAIRS, len(taken))
    return values[[len(taken.intersection(pair)) == inside for pair in pairs]].tolist(), score


def weighed(summary: RuleTables, layout: Layout, rules: Rules, noise: Noise,
            ) -> tuple[Weighing, int, Fraction, Labellings]:
    """How tables become scores, how far one then moves, the epsilon left, and class weights."""
    import numpy as np

    from privsieve.summaries.rules import Weighing

    counts = summary.runs.counts.tolist()
    standing = counts if summary.signs is None else summary.signs.rows.tolist()
    labels, epsilon = labellings(counts, standing, rules, noise)
    scale = rules.domain.unit_weight
    by = Weighing(np.array(labels.weights, np.int64), offsets(labels, layout, scale), scale,
                  rules.depth, rules.grid,
                  None if labels.standing is None else np.array(labels.standing, np.int64),
                  by_chance=by_chance(labels, len(layout.kind), scale),
                  by_cells=by_cells(labels, scale))
    return by, rules.sensitivity(labels.largest), epsilon, labels
# [/mechanism]


Racing = Callable[[Sequence[int], int, int, Fraction], tuple[int, ...]]


# [joint-choice]
def choose(values: Sequence[int], score: Sequence[int], sizes: tuple[int, int, int],
           spend: tuple[int, Fraction], race: Racing) -> tuple[int, ...]:
    """K columns, of which the first `size` come together; sorted, so that no order leaves.

    values : of each pair, or of each column beside one that is always in, in lexicographic order.
    score : of single columns, for what follows.
    sizes : size, k, and how many columns there are.
    spend : how far a value and a score move, and epsilon.
    """
    (size, k, d), (moves, epsilon) = sizes, spend
    won = race(values, 1, moves, epsilon * Fraction(size, k))[0]
    chosen = next(islice(combinations(range(d), size), won, None))
    if k > size:
        rest = [j for j in range(d) if j not in chosen]
        more = race([score[j] for j in rest], k - size, moves, epsilon * Fraction(k - size, k))
        chosen = (*chosen, *(rest[j] for j in more))
    return tuple(sorted(chosen))
# [/joint-choice]


def _main_races(rules: Rules) -> list[Race]:
    """For each branch the race that a forecast is made for: as if all columns were chosen by it."""
    places, races = rules.places, []
    for branch in rules.switch.reachable:
        race = _race(rules, branch)
        if race.account != "approximate":
            part = branches.dilution(branch, places.k, places.d, len(places.always))
            if branch.goes_on:  # the rest goes to what the rounds release
                part = part * _rounds(rules, branch).raced
            race = places.race(rules.raced * part, ordered=rules.ordered)
        races.append(race)
    return races


def _race(rules: Rules, branch: Branch) -> Race:
    """The race that names several columns, which a delta may help."""
    from privsieve.noise.race import Race

    places, epsilon = rules.places, rules.raced
    if branch == ONE:
        return places.race(epsilon, delta=rules.delta, ordered=rules.ordered)
    before, part = branches.several(branch, places.k, len(places.always))
    return Race(places.d - before, places.k - before, 1, epsilon * part,
                delta=rules.delta if before else Fraction(0))


def _charged(cost: Cost, rules: Rules) -> Cost:
    """What any branch may cost: the delta if one of them needs it, and the largest rho."""
    races = [_race(rules, branch) for branch in rules.switch.reachable]
    paid = [charged(cost, race) for race in races]
    if not any(one.delta for one in paid):
        return paid[0]
    rho = max(race.rho + _pure_rho(rules, branch)
              for race, branch in zip(races, rules.switch.reachable, strict=True))
    return replace(cost, rho=rho)


def _branch_of(released: Sequence[int], *, rules: Rules) -> str:
    """The name of the branch that follows from noisy class counts."""
    return rules.switch.branch(judged(released, rules)[1]).name


def _event(rules: Rules) -> Event:
    """Class counts, where some are drawn, and the races of a branch."""
    return together(*class_counts(rules).events,
                    either(_branch_event(rules, one) for one in rules.switch.reachable))


def _branch_event(rules: Rules, branch: Branch) -> Event:
    """One race; or one over pairs, and what names the columns that are left."""
    from privsieve.noise.race import Race

    places, epsilon = rules.places, rules.raced
    size = rules.new(branch)
    if branch == ONE:
        return _race(rules, branch).event
    if branch.goes_on:
        rounds = _rounds(rules, branch)
        pair = [Race(comb(places.d, size), 1, 1, rounds.first).event] if size else []
        return together(*pair, *rounds.events)
    first = Race(comb(places.d, size), 1, 1, epsilon * Fraction(size, places.k)).event
    if places.k == size:
        return first
    delta = rules.delta if places.k - size > 1 else Fraction(0)
    return together(first, Race(places.d - size, places.k - size, 1,
                                epsilon * Fraction(places.k - size, places.k), delta=delta).event)


# [start]
def start(labels: Labellings, rules: Rules) -> list[int]:
    """The log-odds of classes before the first step: of counts that are public or released."""
    from privsieve.summaries.residuals import log_odds_of

    known: Sequence[int | Fraction] = labels.counts.q if labels.counts else (
        [1] * rules.domain.classes)
    if isinstance(rules.class_prior, tuple):
        known = [share * rules.units for share in rules.class_prior]
    return log_odds_of([float(one) for one in known])
# [/start]


def _rounds(rules: Rules, branch: Branch) -> Rounds:
    """The rounds of a branch."""
    from privsieve.methods.rounds import Rounds

    places, size = rules.places, rules.new(branch)
    return Rounds(rules.domain, rules.units, len(places.always) + size,
                  places.d - size, places.k - size, rules.raced, size,
                  level=not rules.cut and rules.class_prior in ("centred", None))


def _pure_rho(rules: Rules, branch: Branch) -> Fraction:
    """What the class counts, and a race for a pair, spend under zCDP beside `_race`."""
    counted = class_counts(rules).epsilon
    # [first-rho] what the race that names several columns does not get
    first = 1 - branches.several(branch, rules.places.k, len(rules.places.always))[1]
    spent: Fraction = counted**2 + (rules.raced * first)**2
    return spent / 2
