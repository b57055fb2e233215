"""Exploring: the curve of k, for the steward.  PRIVATE: it speaks of all rows and closed columns.

For each k and each way of choosing: how many columns, how well they predict rows that nothing of
the choice has seen, and what strangers find who know more than was promised.

The rows are parted into five folds.  For each fold columns are chosen with the labels of the other
rows, a logistic regression is fitted to these, and the fold is judged.  (k is kept on all rows, and
a rule that asks for several classes in a crowd looks at the classes of all: neither compares
columns.)

A row without an equal in the table may have equals among the people who are not in it.  How many
is estimated from the sizes of the classes of equal rows, as statistics offices do it.  Both
estimators assume that the table is a simple random sample of the population, drawn without
replacement, and that a stranger knows all published cells, without an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import exp, lgamma
from time import monotonic
from typing import Any

import numpy as np

from privsieve.containment.choose import Choice, tell
from privsieve.containment.knowledge import Knowledge, groups_by_class, shortfall
from privsieve.containment.labelled import (
    Bools,
    Codes,
    Floats,
    Ints,
    Labelled,
    bits_of,
    cells,
    rows_of,
)
from privsieve.containment.measures import closed, read
from privsieve.containment.publishable import by_method, publishable, rule_of
from privsieve.entries import import_library
from privsieve.errors import ParameterError, PrivsieveError, SchemaError
from privsieve.extras.steward.curves import Area, ColumnCost, CurvePoint, Findable, Shut, Strangers
from privsieve.kernels.patterns import Rule, pattern_table
from privsieve.rows.matrix import Items

#: Each k that agencies use, and some between them.
KS = (2, 3, 5, 8, 10, 11, 20, 50, 100)
#: Those that are tried first, far from each other, so that a cut search has a curve.
FIRST = (5, 11, 50, 3, 20)
#: Parts of the rows, of which each is judged by a choice and a regression on the others.
FOLDS = 5
#: Distinct rows times columns that are fitted; a larger choice is not judged.
MOST_CELLS = 2**26

Choose = Callable[[Labelled, Rule, Bools | None], Choice]


@dataclass(frozen=True, repr=False)
class Way:
    """A way of choosing: its name, the rule that it keeps (with any k), and how it chooses.

    choose : gets the table, the rule, and a mask of rows whose labels may be used (None: all).
    timed : whether it ends by itself after some time.
    """

    name: str
    rule: Rule
    choose: Choose
    timed: bool = False


@dataclass(frozen=True, repr=False)
class Curve:
    """Points that were reached, their choices, and why others were not, in sentences."""

    points: tuple[CurvePoint, ...]
    choices: dict[tuple[str, int], Choice]
    unreached: tuple[str, ...]


def profile_ways(rule: Rule, names: Sequence[str] = ("few", "strict", "most")) -> list[Way]:
    """The profiles, each with the rule that it keeps.

    >>> [way.rule.model for way in profile_ways(Rule(k=5, classes=2))]
    ['containment', 'k-anonymity', 'containment']
    """
    def choose(name: str, table: Labelled, rule: Rule, marked: Bools | None) -> Choice:
        return publishable(replace(table, marked=marked), rule, name)

    return [Way(name, rule_of(name, rule), partial(choose, name), timed=name == "most")
            for name in names]


def method_way(rule: Rule, method: str, weights: Any, seconds: float) -> Way:
    """The method that somebody named, with its weights; where it has a time limit, that one.

    >>> method_way(Rule(k=5, classes=2), "greedy", "even", 60).timed
    False
    """
    def choose(table: Labelled, rule: Rule, marked: Bools | None) -> Choice:
        asked = np.ones(len(table.items), np.int64) if weights == "even" else weights
        return by_method(replace(table, marked=marked), rule, method, asked, seconds)

    return Way(method, rule, choose, timed=method != "greedy")


def ks_of(table: Labelled, rule: Rule, asked: int) -> tuple[int, ...]:
    """What k can be: `KS` and the one that was asked for, as far as there are rows.

    Where the class is known, a class with fewer than k rows has no crowd of k.

    >>> table = Labelled(Items.dense([[1]] * 12), np.zeros(12, np.int32), ("all",))
    >>> ks_of(table, Rule(k=4, classes=1), 4)
    (2, 3, 4, 5, 8, 10, 11)
    """
    rows, what = table.items.rows, "rows"
    if table.sources is not None:
        rows = len(np.unique(table.sources[table.sources >= 0]))
        what = "people" if table.people else "sources"
    if rule.labelled:
        sizes = np.bincount(table.y, minlength=rule.classes)
        if 0 < sizes[sizes > 0].min(initial=rows) < rows:
            rows, what = int(sizes[sizes > 0].min()), "rows in the smallest class"
    if not 2 <= asked <= rows:
        raise ParameterError(f"k is {asked}; with {rows} {what} it can be 2 to {rows}")
    return tuple(sorted(k for k in {*KS, asked} if k <= rows))


@dataclass(eq=False, repr=False)
class _Progress:
    """What was reached so far, how long each choice took, and why something was not reached."""

    table: Labelled
    end: float
    points: dict[tuple[str, int], CurvePoint] = field(default_factory=dict)
    choices: dict[tuple[str, int], Choice] = field(default_factory=dict)
    took: dict[tuple[str, int], float] = field(default_factory=dict)
    why: list[str] = field(default_factory=list)

    def choose(self, way: Way, k: int) -> None:
        """Choose on all rows and count what strangers find, if one like it took no longer."""
        longest = max((took for (name, _), took in self.took.items() if name == way.name),
                      default=0.0)
        began = monotonic()
        if began + longest > self.end:
            return
        tell(f"{way.name}, k = {k}: choosing")
        try:
            choice = way.choose(self.table, replace(way.rule, k=k), None)
            self.points[way.name, k] = _point(self.table, way, choice, k)
        except PrivsieveError as error:
            self.why.append(f"{way.name}, k = {k}: {error}")
            return
        self.choices[way.name, k] = choice
        self.took[way.name, k] = monotonic() - began
        if not choice.complete and not way.timed:
            raise KeyboardInterrupt  # nothing else ends such a choice early

    def judge(self, way: Way, k: int) -> None:
        """Judge a choice on rows that it has not seen: as many choices again as there are folds."""
        took = self.took.get((way.name, k))
        if took is None or monotonic() + FOLDS * took > self.end:
            return
        tell(f"{way.name}, k = {k}: judging on rows that the choice has not seen")
        rule = replace(way.rule, k=k)
        area = honest_area(self.table, lambda marked: way.choose(self.table, rule, marked))
        self.points[way.name, k] = replace(self.points[way.name, k], area=area)


def curve(table: Labelled, ways: Sequence[Way], ks: Sequence[int], asked: int,
          seconds: float) -> Curve:
    """Choose at each k in each way, and judge each choice; what takes too long is left, and said.

    The k that was asked for comes first, then those of `FIRST`; a way that ends by time comes after
    all others.  Ctrl-C ends it with what was reached by then.
    """
    search = _Progress(table, monotonic() + seconds)
    wanted = [asked, *FIRST, *ks]
    steps = [(step, way, k) for timed in (False, True) for k in sorted(ks, key=wanted.index)
             for step in (search.choose, search.judge) for way in ways if way.timed == timed]
    try:
        for step, way, k in steps:
            step(way, k)
    except KeyboardInterrupt:
        search.why.append("Somebody ended the search (Ctrl-C).")
    points = tuple(search.points[way.name, k] for way in ways for k in ks
                   if (way.name, k) in search.points)
    return Curve(points, search.choices, (*search.why, *_unreached(points, ways, ks, search.why)))


def _unreached(points: Sequence[CurvePoint], ways: Sequence[Way], ks: Sequence[int],
               why: Sequence[str]) -> Iterator[str]:
    """What there was no time for."""
    reached = {(one.way, one.k) for one in points}
    refused = {text.split(":")[0] for text in why}
    for way in ways:
        lost = [k for k in ks if (way.name, k) not in reached
                and f"{way.name}, k = {k}" not in refused]
        if lost:
            yield (f"{way.name}: no columns were chosen at k = {', '.join(map(str, lost))}, for "
                   "want of time.")
        dull = [one.k for one in points if one.way == way.name and one.area is None]
        if dull:
            yield (f"{way.name}: the area under the curve is missing at k = "
                   f"{', '.join(map(str, dull))}, for want of time, or of classes in a fold.")


def _point(table: Labelled, way: Way, choice: Choice, k: int) -> CurvePoint:
    rule, part = replace(way.rule, k=k), table.items.take(choice.selected)
    return CurvePoint(
        way.name, k, len(set(part.origin)), len(part), level(table, rule, choice.selected),
        choice.complete, strangers(table, choice.selected, k),
        largest_share(table, rule, choice.selected) if rule.classes > 1 else None)


def level(table: Labelled, rule: Rule, selected: Sequence[int]) -> int:
    """The smallest crowd of these columns for the stranger of the rule, in rows or in sources."""
    return shortfall(table, rule, selected).level


def strangers(table: Labelled, selected: Sequence[int], k: int) -> Strangers:
    """What the four usual strangers find in these columns.

    >>> items = Items.dense([[1, 0], [1, 0], [1, 1], [0, 1]])
    >>> table = Labelled(items, np.array([0, 0, 1, 1], np.int32), ("no", "yes"))
    >>> found = strangers(table, [0, 1], 2)
    >>> found.has.alone, found.every.alone, found.has_class.below
    (1, 2, 1)
    """
    part = table.items.take(selected)
    known = [Knowledge(part, None, columns, table.sources).groups()
             for columns in ((), (table.y,))]
    sizes = [one for groups in known for one in (groups.sizes(), groups.equals())]
    return Strangers(*(Findable(int((one < k).sum()), int((one <= 1).sum())) for one in sizes))


def largest_share(table: Labelled, rule: Rule, selected: Sequence[int]) -> float:
    """The largest share of one class in a crowd, for the rule's stranger without the class.

    >>> items = Items.dense([[1], [1], [1], [1], [0]])
    >>> table = Labelled(items, np.array([0, 0, 0, 1, 1], np.int32), ("no", "yes"))
    >>> largest_share(table, Rule(k=2, classes=2), [0])
    0.75
    """
    over = groups_by_class(table, rule, selected).over
    return float((over.max(axis=1) / over.sum(axis=1)).max())


def costs(table: Labelled, rule: Rule, selected: Sequence[int]) -> list[ColumnCost]:
    """The smallest crowd without each chosen column of the table, the dearest first."""
    origin = [table.items.origin[j] for j in selected]
    found = []
    for name in dict.fromkeys(origin):
        rest = [j for j, of in zip(selected, origin, strict=True) if of != name]
        found.append(ColumnCost(name, level(table, rule, rest), origin.count(name)))
    return sorted(found, key=lambda one: (-one.without, one.name))


def shut(table: Labelled, rule: Rule, selected: Sequence[int]) -> tuple[list[Shut], int]:
    """What each item that stays closed would do, and how many were not looked at."""
    said: Any = closed(table, rule, selected)
    return [Shut(*one) for one in said["closed"]], said["passed_over"]


def folds(table: Labelled) -> Ints:
    """The fold of each row: a hash of its position, or of its source, so that none is in two.

    >>> nobody = Labelled(Items.dense(np.ones((8, 1))), np.zeros(8, np.int32), ("all",))
    >>> folds(nobody).tolist()
    [0, 0, 4, 4, 2, 0, 3, 0]
    """
    whose = np.arange(table.items.rows) if table.sources is None else table.sources
    mixed = (whose.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed ^ (mixed >> np.uint64(31))) % np.uint64(FOLDS)).astype(np.int64)


def honest_area(table: Labelled, choose: Callable[[Bools], Choice]) -> Area | None:
    """The area under the curve, of rows whose labels neither chose a column nor fitted anything.

    `choose` gets a mask of the rows whose labels it may use.  None where it cannot be said: a fold
    without two classes, or a choice that is too large to fit.
    """
    fold = folds(table)
    found = []
    for one in range(FOLDS):
        marked = fold != one
        if len(np.unique(table.y[marked])) < 2:
            return None
        chosen = table.items.take(choose(marked).selected)
        area = area_of(chosen, table.y, marked)
        if area is None:
            return None
        found.append(area)
    return Area(sum(found) / FOLDS, min(found), max(found), FOLDS)


def area_of(items: Items, y: Codes, marked: Bools) -> float | None:
    """The area for the rows that are not marked, of a regression on those that are.

    The mean over classes, each against the rest; of two classes the one.  Columns that say nothing
    rank at random: one half.

    >>> items = Items.dense([[1], [0], [1], [0], [1], [0]])
    >>> area_of(items, np.array([1, 0, 1, 0, 1, 0], np.int32), np.arange(6) < 4)
    1.0
    """
    classes = int(y.max(initial=0)) + 1
    masks, _, pattern = pattern_table(cells(items), y, classes)
    held, rest = np.unique(y[marked]), y[~marked]
    judged = [at for at, one in enumerate(held) if 0 < (rest == one).sum() < len(rest)]
    if not judged or len(masks) * max(1, len(items)) > MOST_CELLS:
        return None
    if not len(items):
        return 0.5
    scores = _scores(bits_of(masks, len(items)), pattern[marked], y[marked])[pattern[~marked]]
    if len(held) == 2:
        return ranked(scores[:, -1], rest == held[-1])
    return float(np.mean([ranked(scores[:, at], rest == held[at]) for at in judged]))


def ranked(score: Floats, yes: Bools) -> float:
    """The share of pairs, one of each kind, that a score ranks rightly; ties count half.

    >>> ranked(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, False, True, True]))
    0.875
    """
    _, tied, many = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(many) - (many - 1) / 2)[tied]
    positive = int(yes.sum())
    return float((rank[yes].sum() - positive * (positive + 1) / 2)
                 / (positive * (len(yes) - positive)))


def _scores(patterns: Floats, pattern: Codes, y: Codes) -> Floats:
    """For each pattern the score of each class; equal rows are fitted once, with their number."""
    models = import_library("sklearn.linear_model", "sklearn", "a model of the patterns")
    pairs, many = np.unique(np.stack([pattern, y]), axis=1, return_counts=True)
    model = models.LogisticRegression(max_iter=2000)
    model.fit(patterns[pairs[0]], pairs[1], sample_weight=many)
    found = np.asarray(model.decision_function(patterns), np.float64)
    return found.reshape(len(patterns), -1)


@dataclass(frozen=True, repr=False)
class Uniques:
    """Rows that are alone in a table, and what that means among all people.

    rows, people : rows of the table, and people of the population.
    alone : rows without an equal in the table (sample uniques).
    pairs : classes of just two equal rows; where there are few, estimates are rough.
    unique : how many of those alone have no equal in the population either; `share` of `alone`.
    right : the chance that a match with a row that is alone is the right person.

    `share` and `right` are None where no row is alone: there is nothing to find.
    """

    rows: int
    people: int
    alone: int
    pairs: int
    unique: float
    share: float | None
    right: float | None


def estimated(items: Items, people: int) -> Uniques:
    """The estimates of Zayatz, and of Skinner and Elliot, for a sample of so many people.

    >>> found = estimated(Items.dense([[1, 0], [1, 1], [1, 1], [0, 1]]), 8)
    >>> found.alone, found.pairs, round(found.share, 3), found.right
    (2, 1, 0.636, 0.5)
    """
    if people < items.rows:
        raise ParameterError(f"the population has {people} people and the table {items.rows} rows; "
                             f"the table is a part of it: give at least {items.rows}")
    sizes, _ = _sizes(items)
    alone, pairs = int((sizes == 1).sum()), int((sizes == 2).sum())
    share = zayatz(sizes, people)
    return Uniques(items.rows, people, alone, pairs, alone * (share or 0.0), share,
                   data_intrusion(alone, pairs, items.rows / people))


def counted(items: Items, population: Items) -> Uniques:
    """The same, counted on a table of the whole population, of which the first one is a part.

    >>> whole = Items.dense([[1, 0], [1, 1], [0, 1], [0, 1]])
    >>> found = counted(Items.dense([[1, 0], [0, 1]]), whole)
    >>> found.alone, found.unique, found.share, round(found.right, 3)
    (2, 1.0, 0.5, 0.667)
    """
    sizes, pattern = _sizes(items)
    outside, _ = in_population(items, population)
    mine = outside[sizes[pattern] == 1]
    alone, unique = len(mine), int((mine == 1).sum())
    return Uniques(items.rows, population.rows, alone, int((sizes == 2).sum()), float(unique),
                   unique / alone if alone else None,
                   alone / int(mine.sum()) if alone else None)


def in_population(items: Items, population: Any) -> tuple[Ints, Ints]:
    """How many rows of the population equal each row, and how many hold all that it holds."""
    whole, _, _ = read(population)
    if whole.names != items.names:
        raise SchemaError("the population has other columns than the table; give both the same "
                          "columns in the same order")
    both = _stack(items, whole)
    which = np.repeat(np.array([0, 1], np.int32), [items.rows, whole.rows])
    groups = Knowledge(both).groups(which, 2)
    _, counts, pattern = groups.table
    if (counts[:, 0] > counts[:, 1]).any():
        raise SchemaError("the population lacks rows of the table; give a population of which the "
                          "table is a part")
    mine = pattern[:items.rows]
    return counts[mine, 1], groups.over[mine, 1]


def _stack(first: Items, second: Items) -> Items:
    """The rows of two tables, one after the other."""
    pieces = [piece for j in range(len(first)) for piece in (
        rows_of(first, j), rows_of(second, j) + np.int32(first.rows))]
    indices = np.concatenate(pieces) if pieces else np.zeros(0, np.int32)
    return Items(first.indptr + second.indptr, indices, first.rows + second.rows, first.names,
                 first.origin)


def zayatz(sizes: Ints, people: int) -> float | None:
    """The share of sample uniques that are population uniques, by Zayatz (1991); None without any.

    `sizes` has the size of each class of equal rows.  By Bayes' rule from the chance, under
    sampling without replacement, that a class of j people has one row in the sample; how common
    classes of j people are is taken from the sample.  In a small sample classes look smaller than
    they are, so that the estimate is then too large: on the side of caution.

    >>> zayatz(np.array([1, 2]), 3), zayatz(np.array([2, 2]), 8)
    (1.0, None)
    """
    rows = int(sizes.sum())
    size, classes = np.unique(sizes, return_counts=True)
    if not len(size) or size[0] != 1:
        return None
    # Of so many people just one is among the rows: hypergeometric.
    chance = np.array([
        one * exp(_log_choose(people - one, rows - 1) - _log_choose(people, rows))
        if people - one >= rows - 1 else 0.0 for one in size.tolist()])
    return float(classes[0] * chance[0] / (classes * chance).sum())


def data_intrusion(alone: int, pairs: int, fraction: float) -> float | None:
    """The chance that a match with a unique row is right, by Skinner and Elliot (2002).

    Data intrusion simulation: a row is taken out and put back with the chance of having been
    drawn, and matched; the mean over all of that needs the classes of one and of two rows only.
    None where no row is alone.

    >>> data_intrusion(10, 5, 0.5), data_intrusion(10, 5, 1.0), data_intrusion(0, 5, 0.5)
    (0.5, 1.0, None)
    """
    if not alone:
        return None
    return fraction * alone / (fraction * alone + 2 * (1 - fraction) * pairs)


def _sizes(items: Items) -> tuple[Ints, Codes]:
    """How many rows each class of equal rows has, and the class of each row."""
    if not items.rows:
        raise SchemaError("the table has no row; a share of rows needs at least one")
    _, counts, pattern = Knowledge(items).groups().table
    return counts[:, 0], pattern


def _log_choose(whole: int, part: int) -> float:
    return lgamma(whole + 1) - lgamma(part + 1) - lgamma(whole - part + 1)
