"""Measure what each k costs.  PRIVATE: the figures describe all rows and closed columns.

For each k and each way of choosing, this module counts the columns, how well they predict rows
that the choice did not use, and what attackers find who know more than was promised.

The rows are split into five folds.  For each fold, columns are chosen with the labels of the other
rows, and a logistic regression is fitted to these rows and judged on the fold.  (k is kept on all
rows, and the classes of all rows count in groups: neither compares columns.)

A row without an equal in the table may have equals among people who are not in it.  Their number
is estimated from the sizes of the classes of equal rows, as statistics offices do it.  Both
estimators assume that the table is a simple random sample of the population, drawn without
replacement, and that an attacker knows all published cells without error.
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
from privsieve.extras.steward.curves import (
    Area,
    Attackers,
    ColumnCost,
    CurvePoint,
    Findable,
    Shut,
    Uniques,
)
from privsieve.kernels.patterns import Rule, pattern_table
from privsieve.rows.matrix import Items

#: Each k that agencies use, and some in between.
KS = (2, 3, 5, 8, 10, 11, 20, 50, 100)
#: The k that are tried first: they are far apart, so that a search that is cut has a curve.
FIRST = (5, 11, 50, 3, 20)
#: Folds of the rows; each is judged by a choice and a regression on the others.
FOLDS = 5
#: Distinct rows times columns that are fitted; a larger choice is not judged.
MOST_CELLS = 2**26

Choose = Callable[[Labelled, Rule, Bools | None], Choice]


@dataclass(frozen=True, repr=False)
class Way:
    """A way of choosing columns, with the rule that it keeps at any k.

    choose : gets the table, the rule, and a mask of rows whose labels may be used (None: all).
    timed : whether it ends by itself after some time.
    """

    name: str
    rule: Rule
    choose: Choose
    timed: bool = False


@dataclass(frozen=True, repr=False)
class Curve:
    """The points that were reached, their choices, and sentences about the missing points."""

    points: tuple[CurvePoint, ...]
    choices: dict[tuple[str, int], Choice]
    unreached: tuple[str, ...]


def profile_ways(rule: Rule, names: Sequence[str] = ("few", "strict", "most")) -> list[Way]:
    """Return the profiles as ways of choosing.

    >>> [way.rule.model for way in profile_ways(Rule(k=5, classes=2))]
    ['containment', 'k-anonymity', 'containment']
    """
    def choose(name: str, table: Labelled, rule: Rule, marked: Bools | None) -> Choice:
        return publishable(replace(table, marked=marked), rule, name)

    return [Way(name, rule_of(name, rule), partial(choose, name), timed=name == "most")
            for name in names]


def method_way(rule: Rule, method: str, weights: Any, seconds: float) -> Way:
    """Return a method as a way of choosing, with its weights and time limit.

    >>> method_way(Rule(k=5, classes=2), "greedy", "even", 60).timed
    False
    """
    def choose(table: Labelled, rule: Rule, marked: Bools | None) -> Choice:
        objective = np.ones(len(table.items), np.int64) if weights == "even" else weights
        return by_method(replace(table, marked=marked), rule, method, objective, seconds)

    return Way(method, rule, choose, timed=method != "greedy")


def ks_of(table: Labelled, rule: Rule, wanted: int) -> tuple[int, ...]:
    """Return the possible k: `KS` and the wanted k, as far as there are rows.

    If the class is known, a class with fewer than k rows has no group of k.

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
    if not 2 <= wanted <= rows:
        raise ParameterError(f"k is {wanted}; with {rows} {what} it can be 2 to {rows}")
    return tuple(sorted(k for k in {*KS, wanted} if k <= rows))


@dataclass(eq=False, repr=False)
class _Progress:
    """The points so far, the time of each choice, and why a point is missing."""

    table: Labelled
    end: float
    points: dict[tuple[str, int], CurvePoint] = field(default_factory=dict)
    choices: dict[tuple[str, int], Choice] = field(default_factory=dict)
    took: dict[tuple[str, int], float] = field(default_factory=dict)
    why: list[str] = field(default_factory=list)

    def choose(self, way: Way, k: int) -> None:
        """Choose on all rows and count what attackers find, if there is time for it."""
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
        """Judge a choice on rows that it did not use; this repeats the choice for each fold."""
        took = self.took.get((way.name, k))
        if took is None or monotonic() + FOLDS * took > self.end:
            return
        tell(f"{way.name}, k = {k}: judging on rows that the choice has not seen")
        rule = replace(way.rule, k=k)
        area = honest_area(self.table, lambda marked: way.choose(self.table, rule, marked))
        self.points[way.name, k] = replace(self.points[way.name, k], area=area)


def curve(table: Labelled, ways: Sequence[Way], ks: Sequence[int], first: int,
          seconds: float) -> Curve:
    """Choose at each k in each way, then judge each choice; report what took too long.

    The k `first` comes first, then those of `FIRST`.  A way with a time limit comes last.  Ctrl-C
    ends the search with the points so far.
    """
    search = _Progress(table, monotonic() + seconds)
    wanted = [first, *FIRST, *ks]
    steps = [(step, way, k) for step in (search.choose, search.judge) for timed in (False, True)
             for k in sorted(ks, key=wanted.index) for way in ways if way.timed == timed]
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
    """Yield a sentence for each point without a choice or an area."""
    reached = {(point.way, point.k) for point in points}
    refused = {text.split(":")[0] for text in why}
    for way in ways:
        lost = [k for k in ks if (way.name, k) not in reached
                and f"{way.name}, k = {k}" not in refused]
        if lost:
            yield (f"{way.name}: no columns were chosen at k = {', '.join(map(str, lost))}, "
                   "because the time ran out.")
        dull = [point.k for point in points if point.way == way.name and point.area is None]
        if dull:
            yield (f"{way.name}: the area under the curve is missing at k = "
                   f"{', '.join(map(str, dull))}: no time, or too few classes in a fold.")


def _point(table: Labelled, way: Way, choice: Choice, k: int) -> CurvePoint:
    rule, items = replace(way.rule, k=k), table.items.take(choice.selected)
    return CurvePoint(
        way.name, k, len(set(items.origin)), len(items), level(table, rule, choice.selected),
        choice.complete, attackers(table, choice.selected, k),
        largest_share(table, rule, choice.selected) if rule.classes > 1 else None)


def level(table: Labelled, rule: Rule, selected: Sequence[int]) -> int:
    """Return the smallest group of these columns, in rows or in sources."""
    return shortfall(table, rule, selected).level


def attackers(table: Labelled, selected: Sequence[int], k: int) -> Attackers:
    """Count what the four usual attackers find in these columns.

    >>> items = Items.dense([[1, 0], [1, 0], [1, 1], [0, 1]])
    >>> table = Labelled(items, np.array([0, 0, 1, 1], np.int32), ("no", "yes"))
    >>> found = attackers(table, [0, 1], 2)
    >>> found.has.alone, found.every.alone, found.has_class.below
    (1, 2, 1)
    """
    items = table.items.take(selected)
    known = [Knowledge(items, None, columns, table.sources).groups()
             for columns in ((), (table.y,))]
    sizes = [size for groups in known for size in (groups.sizes(), groups.equals())]
    return Attackers(*(Findable(int((size < k).sum()), int((size <= 1).sum())) for size in sizes))


def largest_share(table: Labelled, rule: Rule, selected: Sequence[int]) -> float:
    """Return the largest share of one class in a group; the attacker does not know the class.

    >>> items = Items.dense([[1], [1], [1], [1], [0]])
    >>> table = Labelled(items, np.array([0, 0, 0, 1, 1], np.int32), ("no", "yes"))
    >>> largest_share(table, Rule(k=2, classes=2), [0])
    0.75
    """
    over = groups_by_class(table, rule, selected).over
    return float((over.max(axis=1) / over.sum(axis=1)).max())


def costs(table: Labelled, rule: Rule, selected: Sequence[int]) -> list[ColumnCost]:
    """Return the smallest group without each chosen column, the most costly column first."""
    origin = [table.items.origin[j] for j in selected]
    columns = []
    for name in dict.fromkeys(origin):
        rest = [j for j, of in zip(selected, origin, strict=True) if of != name]
        columns.append(ColumnCost(name, level(table, rule, rest), origin.count(name)))
    return sorted(columns, key=lambda column: (-column.without, column.name))


def shut(table: Labelled, rule: Rule, selected: Sequence[int]) -> tuple[list[Shut], int]:
    """Return what each closed item would do, and how many items were not counted."""
    counts: Any = closed(table, rule, selected)
    return [Shut(*item) for item in counts["closed"]], counts["passed_over"]


def folds(table: Labelled) -> Ints:
    """Return the fold of each row: a hash of its position, or of its source.

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
    """Return the area under the curve on rows whose labels neither chose columns nor fitted.

    `choose` gets a mask of the rows whose labels it may use.  The area is None for a fold without
    two classes, or for a choice that is too large to fit.
    """
    fold = folds(table)
    areas = []
    for judged in range(FOLDS):
        marked = fold != judged
        if len(np.unique(table.y[marked])) < 2:
            return None
        chosen = table.items.take(choose(marked).selected)
        area = area_of(chosen, table.y, marked)
        if area is None:
            return None
        areas.append(area)
    return Area(sum(areas) / FOLDS, min(areas), max(areas), FOLDS)


def area_of(items: Items, y: Codes, marked: Bools) -> float | None:
    """Fit a regression to the marked rows, and return its area under the curve on the others.

    With more than two classes it is the mean over classes, each against the rest.  No column gives
    one half.

    >>> items = Items.dense([[1], [0], [1], [0], [1], [0]])
    >>> area_of(items, np.array([1, 0, 1, 0, 1, 0], np.int32), np.arange(6) < 4)
    1.0
    """
    from sklearn.metrics import roc_auc_score

    classes = int(y.max(initial=0)) + 1
    masks, _, pattern = pattern_table(cells(items), y, classes)
    held, rest = np.unique(y[marked]), y[~marked]
    judged = [at for at, label in enumerate(held) if 0 < (rest == label).sum() < len(rest)]
    if not judged or len(masks) * max(1, len(items)) > MOST_CELLS:
        return None
    if not len(items):
        return 0.5
    scores = _scores(bits_of(masks, len(items)), pattern[marked], y[marked])[pattern[~marked]]
    if len(held) == 2:
        return float(roc_auc_score(rest == held[-1], scores[:, -1]))
    return float(np.mean([roc_auc_score(rest == held[at], scores[:, at]) for at in judged]))


def _scores(patterns: Floats, pattern: Codes, y: Codes) -> Floats:
    """Return the score of each class for each pattern; equal rows are fitted once, weighted."""
    models = import_library("sklearn.linear_model", "sklearn", "a model of the patterns")
    pairs, many = np.unique(np.stack([pattern, y]), axis=1, return_counts=True)
    model = models.LogisticRegression(max_iter=2000)
    model.fit(patterns[pairs[0]], pairs[1], sample_weight=many)
    scores = np.asarray(model.decision_function(patterns), np.float64)
    return scores.reshape(len(patterns), -1)


def estimate_uniques(items: Items, people: int, columns: str = "") -> Uniques:
    """Estimate how many unique rows are unique among `people`, if the rows are a sample.

    columns : what to call the columns of the table.

    >>> uniques = estimate_uniques(Items.dense([[1, 0], [1, 1], [1, 1], [0, 1]]), 8)
    >>> uniques.alone, uniques.pairs, round(uniques.share, 3), uniques.right
    (2, 1, 0.636, 0.5)
    """
    if people < items.rows:
        raise ParameterError(f"the population has {people} people, fewer than the table's "
                             f"{items.rows} rows; give at least {items.rows}")
    if not items.rows:
        raise SchemaError("the table has no rows; give a table with at least one row")
    sizes = Knowledge(items).groups().table.counts[:, 0]
    alone, pairs = int((sizes == 1).sum()), int((sizes == 2).sum())
    share = zayatz(sizes, people)
    return Uniques(columns, alone, pairs, alone * (share or 0.0), share,
                   data_intrusion(alone, pairs, items.rows / people))


def in_population(items: Items, population: Any) -> tuple[Ints, Ints]:
    """Count for each row the people who equal it, and the people who hold all its items."""
    whole, _, _ = read(population)
    if whole.names != items.names:
        raise SchemaError("the population has other columns than the table; give both the same "
                          "columns in the same order")
    both = _stack(items, whole)
    which = np.repeat(np.array([0, 1], np.int32), [items.rows, whole.rows])
    groups = Knowledge(both).groups(which, 2)
    _, counts, pattern = groups.table
    if (counts[:, 0] > counts[:, 1]).any():
        raise SchemaError("the population lacks rows of the table; give the population that the "
                          "rows of the table come from")
    mine = pattern[:items.rows]
    return counts[mine, 1], groups.over[mine, 1]


def _stack(first: Items, second: Items) -> Items:
    """Return the rows of two tables, one table after the other."""
    pieces = [piece for j in range(len(first)) for piece in (
        rows_of(first, j), rows_of(second, j) + np.int32(first.rows))]
    indices = np.concatenate(pieces) if pieces else np.zeros(0, np.int32)
    return Items(first.indptr + second.indptr, indices, first.rows + second.rows, first.names,
                 first.origin)


def zayatz(sizes: Ints, people: int) -> float | None:
    """Estimate the share of sample uniques that are population uniques (Zayatz 1991).

    `sizes` has the size of each class of equal rows.  Bayes' rule uses the chance that a class of j
    people has one row in the sample, drawn without replacement.  The sample gives the frequency of
    classes of j people.  In a small sample classes look too small, so the estimate is too large.
    Without a unique row it is None.

    >>> zayatz(np.array([1, 2]), 3), zayatz(np.array([2, 2]), 8)
    (1.0, None)
    """
    rows = int(sizes.sum())
    size, classes = np.unique(sizes, return_counts=True)
    if not len(size) or size[0] != 1:
        return None
    # The chance that exactly one of these people is among the rows: hypergeometric.
    chance = np.array([
        members * exp(_log_choose(people - members, rows - 1) - _log_choose(people, rows))
        if people - members >= rows - 1 else 0.0 for members in size.tolist()])
    return float(classes[0] * chance[0] / (classes * chance).sum())


def data_intrusion(alone: int, pairs: int, fraction: float) -> float | None:
    """Estimate the chance that a match with a unique row is right (Skinner and Elliot 2002).

    Data intrusion simulation removes a row, puts it back with the chance of a draw, and matches it.
    The mean needs only the classes of one and of two rows.  Without a unique row it is None.

    >>> data_intrusion(10, 5, 0.5), data_intrusion(10, 5, 1.0), data_intrusion(0, 5, 0.5)
    (0.5, 1.0, None)
    """
    if not alone:
        return None
    return fraction * alone / (fraction * alone + 2 * (1 - fraction) * pairs)


def _log_choose(whole: int, some: int) -> float:
    return lgamma(whole + 1) - lgamma(some + 1) - lgamma(whole - some + 1)
