"""Choose a set of items that keeps a rule: greedily, by a heaviest maximal set, or optimally.

Level and objective of a choice are counted from the table.  Weights say how much each item alone
tells of the class: integers, times one unit.  A listener hears the progress of a search.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from privsieve.containment.knowledge import kept_rows, measure_selection
from privsieve.containment.labelled import Bools, Codes, Ints, Labelled, cells, rows_of
from privsieve.errors import ParameterError
from privsieve.kernels import mining, patterns
from privsieve.kernels.mining import Top, TopRule
from privsieve.kernels.patterns import Rule
from privsieve.kernels.search import Effort, search
from privsieve.public.dropped import explain
from privsieve.rows.matrix import Items

Objective: TypeAlias = "str | npt.ArrayLike"

MUTUAL = "mutual-information"
#: Weights that are no integers are rounded to this part of one.
NANO = Fraction(1, 10**9)
#: Objectives that weigh sets of items, and no item alone.
OF_SETS = ("distinct", "class-errors")
#: With fewer columns the exact search needs no start.
FEW = 64
#: With more columns the pairs that fit together do not fit into memory.
MANY = 50_000
#: The largest table whose maximal sets are mined for a start, and how long.
MINED_ROWS, MINED_NODES = 20_000, 100_000

_LISTENER: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


@dataclass(frozen=True)
class Choice:
    """Items that may be published together.

    selected : positions of items, increasing.
    level : the containment level of the projection (the smallest group).
    objective : what was maximised, as the paper reports it (an average over cross-class pairs).
    bound : no feasible set has a larger objective; None without an exact search.
    proved : whether `objective` equals `bound`.
    suppressed : rows that are left out so that k holds.
    complete : False where time or Ctrl-C ended the search before it was done.
    """

    selected: tuple[int, ...]
    level: int
    objective: Fraction | None = None
    bound: Fraction | None = None
    proved: bool = False
    suppressed: int = 0
    complete: bool = True


def gap(choice: Choice) -> Fraction:
    """Return how much better the best set may be, as a share of this choice.

    >>> gap(Choice((0,), 2, Fraction(2), Fraction(3)))
    Fraction(1, 2)
    """
    if choice.bound is None or choice.objective is None:
        raise ParameterError("the choice has no bound; only method `exact` gives one")
    return (choice.bound - choice.objective) / (choice.objective or 1)


def choice_of(table: Labelled, rule: Rule, accepted: Sequence[int] | Ints, objective: Objective,
              ) -> Choice:
    """Return a set of items as a choice: its level and objective are counted from the table.

    >>> toy = Labelled(Items.dense([[1, 0], [1, 1], [0, 1]]), np.array([1, 1, 0], np.int32))
    >>> choice_of(toy, Rule(k=2, classes=2), [1], "distinct").objective
    Fraction(1, 2)
    """
    selected = tuple(sorted(int(j) for j in accepted))
    level, suppressed = measure_selection(table, rule, selected)
    if named(objective) in OF_SETS:
        value = (distinct if objective == "distinct" else majority)(
            table.items, table.y, rule, selected, table.marked)
    else:
        value = weights_of(table, rule, objective).of(selected)
    return Choice(selected, level, value, suppressed=suppressed)


def distinct(items: Items, y: Codes, rule: Rule, selected: Sequence[int],
             label_rows: Bools | None = None) -> Fraction:
    """Return the share of cross-class pairs of rows that `selected` separates (DistCnt).

    >>> toy, y = Items.dense([[1], [0], [0]]), np.array([0, 0, 1], np.int32)
    >>> distinct(toy, y, Rule(k=2, classes=2), [0])
    Fraction(1, 2)
    """
    counts = _counts(items, y, rule.classes, selected, label_rows)[:, :rule.classes]
    total = cross_pairs(counts.sum(0))
    size = counts.sum(1)
    same = (int((size * size).sum()) - int((counts * counts).sum())) // 2
    return Fraction(total - same, max(total, 1))


def majority(items: Items, y: Codes, rule: Rule, selected: Sequence[int],
             label_rows: Bools | None = None) -> Fraction:
    """Return the share of rows in the majority class of a pattern of at least k rows.

    It is 1 less the classification metric per row.

    >>> toy, y = Items.dense([[1], [1], [0]]), np.array([0, 1, 1], np.int32)
    >>> majority(toy, y, Rule(k=2, classes=2), [0])
    Fraction(1, 3)
    """
    counts = _counts(items, y, rule.classes, selected, label_rows)
    known = counts[:, :rule.classes]
    right = known.max(1)[counts.sum(1) >= rule.k].sum()
    return Fraction(int(right), max(int(known.sum()), 1))


def _counts(items: Items, y: Codes, classes: int, selected: Sequence[int],
            label_rows: Bools | None) -> Ints:
    """Count rows by pattern and class; then the rows whose label may not be used."""
    codes = classes if label_rows is None else 2 * classes
    return patterns.pattern_table(cells(items.take(selected)), coded(y, classes, label_rows),
                                  codes).counts


def named(objective: Objective) -> str:
    """Return the word for an objective; none for weights as numbers."""
    return objective if isinstance(objective, str) else ""


def modular_order(values: Ints, among: Ints) -> Ints:
    """Sort positions by falling weight; ties to the smaller index.

    >>> modular_order(np.array([1, 3, 3]), np.array([0, 1, 2])).tolist()
    [1, 2, 0]
    """
    out: Ints = among[np.lexsort((among, -values[among]))].astype(np.int64)
    return out


@dataclass(frozen=True, eq=False, repr=False)
class Worth:
    """Item j weighs `values[j] * unit`; sums are exact."""

    values: Ints
    unit: Fraction

    def of(self, selected: Sequence[int] | Ints) -> Fraction:
        """Return the weight of a set of items.

        >>> Worth(np.array([2, 3]), Fraction(1, 9)).of([0, 1])
        Fraction(5, 9)
        """
        return int(self.values[list(selected)].sum()) * self.unit


def weights(items: Items, y: Codes, classes: int, objective: Objective,
            label_rows: Bools | None = None) -> Worth:
    """Return weights by name, or from a vector; only the labels of marked rows count.

    "mutual-information" : in nats, between item and class.
    "hamming" : the share of cross-class pairs of rows that differ in the item (the paper's
        HamDist).  It rewards an item for being half full, whether or not the class moves it.

    >>> toy = Items.dense([[1, 0], [1, 1], [0, 1], [0, 1]])
    >>> weights(toy, np.array([1, 1, 0, 0], np.int32), 2, "hamming").of([0, 1])
    Fraction(3, 2)
    """
    if not isinstance(objective, str):
        return _read_weights(objective, len(items))
    if objective not in _NAMED:
        raise ParameterError(explain(objective, f"weights are {objective!r}; give one of "
                                            f"{', '.join(_NAMED)}, or a number for each item"))
    label = coded(y, classes, label_rows)
    codes = classes if label_rows is None else 2 * classes
    held = patterns.class_counts(items.indptr, items.indices, label, codes)[:, :classes]
    return _NAMED[objective](held, np.bincount(label, minlength=codes)[:classes].astype(np.int64))


def weights_of(table: Labelled, rule: Rule, objective: Objective) -> Worth:
    """Return the weights of a table's items."""
    return weights(table.items, table.y, rule.classes, objective, table.marked)


def coded(y: Codes, classes: int, label_rows: Bools | None) -> Codes:
    """Return the classes for the kernels: raised where the label may not be used for scores.

    >>> coded(np.array([1, 0], np.int32), 2, np.array([True, False])).tolist()
    [1, 2]
    """
    y = np.ascontiguousarray(y, np.int32)
    return y if label_rows is None else np.where(label_rows, y, y + np.int32(classes))


def cross_pairs(sizes: Ints) -> int:
    """Count the pairs of rows of different class.

    >>> cross_pairs(np.array([2, 3, 1]))
    11
    """
    total = [int(n) for n in sizes]
    return (sum(total) ** 2 - sum(n * n for n in total)) // 2


def _hamming(held: Ints, sizes: Ints) -> Worth:
    """Count the pairs of which one row has the item, less those of one class."""
    support, n = held.sum(1), int(sizes.sum())
    values = support * (n - support) - (held * (sizes - held)).sum(1)
    return Worth(values, Fraction(1, max(cross_pairs(sizes), 1)))


def _mutual_information(held: Ints, sizes: Ints) -> Worth:
    n = max(int(sizes.sum()), 1)
    score = np.zeros(len(held))
    for joint in (held, sizes - held):
        margin = joint.sum(1, keepdims=True) * sizes
        ratio = np.divide(joint * float(n), margin, out=np.ones(joint.shape), where=joint > 0)
        score += (joint * np.log(ratio)).sum(1) / n
    return _read_weights(np.maximum(score, 0), len(held))


def _read_weights(weights: npt.ArrayLike, items: int) -> Worth:
    vector = np.asarray(weights)
    if vector.shape != (items,) or vector.dtype.kind not in "biuf":
        raise ParameterError(f"weights must be a number for each of {items} items")
    bad = np.flatnonzero(~np.isfinite(vector) | (vector < 0))
    if len(bad):
        raise ParameterError(f"the weight of item {bad[0]} is {vector[bad[0]]}; give 0 or more, "
                             "and no NaN")
    exact = vector.dtype.kind != "f"
    scaled = vector if exact else np.rint(vector * float(1 / NANO))
    if float(scaled.sum(dtype=np.float64)) >= 2.0**62:
        raise ParameterError("weights sum to more than 2^62 units; divide all by the same number")
    return Worth(scaled.astype(np.int64), Fraction(1) if exact else NANO)


_NAMED: dict[str, Callable[[Ints, Ints], Worth]] = {
    MUTUAL: _mutual_information, "hamming": _hamming}


# --- greedy ---------------------------------------------------------------------------------------

def greedy(table: Labelled, rule: Rule, objective: Objective = MUTUAL, *,
           prefix: Sequence[int] | None = None) -> Choice:
    """Choose items that keep the rule, the best first; `prefix` (what counts) before all others.

    `objective` is what `weights` takes (heaviest item first, the paper's Algorithm 2), "distinct"
    (most cross-class pairs told apart, Algorithm 3) or "class-errors" (the classification metric).
    Items of no weight are not chosen.  The paper stops at an item that does not fit; "skip" of
    `Rule.stop` passes over it.  An item that broke k also breaks it later, so no item of weight
    can be added to the result.  Rows that are left out count in the objective, but an item that
    only they hold is dropped.  Ctrl-C ends the choice with the items so far, which keep the rule.

    >>> toy = Items.dense([[1, 0, 1], [1, 1, 1], [0, 0, 1], [0, 1, 0]])
    >>> table = Labelled(toy, np.array([1, 1, 0, 0], np.int32))
    >>> choice = greedy(table, Rule(k=2, classes=2), "hamming")
    >>> choice.selected, choice.level, choice.objective
    ((0, 2), 2, Fraction(3, 2))
    """
    demand_rule(table, rule)
    items = table.items
    first = np.asarray(table.counted if prefix is None else prefix, np.int64).reshape(-1)
    label, rest = coded(table.y, rule.classes, table.marked), np.setdiff1d(np.arange(len(items)),
                                                                           first)
    if named(objective) == "distinct":
        accepted = patterns.lazy_distinct(cells(items), label, rest, rule, first)
    elif named(objective) == "class-errors":
        order = modular_order(weights_of(table, rule, "hamming").values, rest)
        accepted = patterns.class_errors(cells(items), label, order, rule, first)
    else:
        values = weights_of(table, rule, objective).values
        order = modular_order(values, rest[values[rest] > 0])
        accepted = patterns.greedy(cells(items), label, np.concatenate([first, order]), rule)
    accepted, complete = patterns.finished(accepted)
    if not complete and not len(accepted):
        raise KeyboardInterrupt  # it came before there was anything to give
    if complete and accepted[:len(first)].tolist() != first.tolist():
        raise ParameterError(f"the first {len(first)} items do not keep k = {rule.k}; "
                             "leave out some of these items")
    if rule.suppress:  # what only left-out rows hold is an empty column to all who see it
        stays = kept_rows(table, rule, accepted.tolist())
        seen = np.array([stays[rows_of(items, j)].any() for j in accepted], np.bool_)
        seen[:len(first)] = True
        accepted = accepted[seen]
    return replace(choice_of(table, rule, accepted, objective), complete=complete)


def demand_rule(table: Labelled, rule: Rule) -> None:
    """Refuse a rule that protects nobody, or that no table of this size can keep.

    If classes may be known, a class of fewer than k rows is refused, unless its rows may be left
    out.

    >>> demand_rule(Labelled(Items.dense([[1], [1]]), np.zeros(2, np.int32)), Rule(3, 2))
    Traceback (most recent call last):
    ...
    privsieve.errors.ParameterError: k is 3, but the table has 2 rows; choose at most 2
    """
    items = table.items
    if rule.k < 2:
        raise ParameterError(f"k is {rule.k}: a group of one protects nobody; choose at least 2")
    if rule.k > items.rows:
        raise ParameterError(f"k is {rule.k}, but the table has {items.rows} rows; choose at most "
                             f"{items.rows}")
    if not 1 <= rule.l_diversity <= rule.classes:
        raise ParameterError(f"l_diversity is {rule.l_diversity}; with {rule.classes} classes it "
                             f"can be 1 to {rule.classes}")
    if not 0 <= rule.suppress <= items.rows - rule.k:
        raise ParameterError(f"suppress is {rule.suppress}; with k = {rule.k}, at most "
                             f"{items.rows - rule.k} of {items.rows} rows can be left out")
    for name, value, known in (("stop", rule.stop, ("skip", "break")),
                               ("model", rule.model, ("containment", "k-anonymity"))):
        if value not in known:
            raise ParameterError(f"{name} is {value!r}; it can be {known[0]!r} or {known[1]!r}")
    if rule.labelled:
        size = np.bincount(table.y, minlength=rule.classes)
        small = size[(size > 0) & (size < rule.k)]
        if small.sum() > rule.suppress:
            raise ParameterError(
                f"{len(small)} of {np.count_nonzero(size)} classes have fewer than k = {rule.k} "
                f"rows ({small.sum()} in all), and an attacker may know the class; each class "
                f"needs at least {rule.k}: merge classes, leave the target unpublished, choose "
                "another target, choose a smaller k, or let these rows be left out")


# --- a heaviest maximal set -----------------------------------------------------------------------

def maximal(table: Labelled, rule: Rule, objective: Objective = MUTUAL,
            time_limit: float | None = None, *, complete: bool = True) -> Choice:
    """Choose the heaviest maximal set (the paper's Algorithm 1, exact), completed greedily.

    All items of a maximal set are held by k rows of `rule.l_diversity` classes, and no item can be
    added.  The paper takes sets of support k for all sets that keep k; they are only some of them.
    So greedy choice may complete the set (`complete`).  Items whose absence may be known, and items
    of no weight, are left to the completion.  If `time_limit` (seconds) or Ctrl-C ends the search,
    the best set so far is completed.  If classes may be known, k rows that hold a set need not be
    k of each class: greedy choice then accepts items of the set, the heaviest first.

    >>> toy = Items.dense([[1, 1, 0, 0, 1], [1, 1, 0, 0, 1], [1, 0, 1, 1, 1], [1, 0, 1, 1, 1]])
    >>> table = Labelled(toy, np.array([1, 0, 1, 0], np.int32))
    >>> maximal(table, Rule(k=2, classes=2), np.ones(5, int), complete=False).selected
    (0, 2, 3, 4)
    """
    demand_rule(table, rule)
    if rule.model != "containment":
        raise ParameterError(f"model is {rule.model!r}, but maximal sets keep k only under "
                             "containment; choose greedy or exact")
    if named(objective) in OF_SETS:
        raise ParameterError(f"weights are {objective!r}, but maximal sets need a weight for each "
                             "item; choose greedy, or other weights")
    _demand_seconds(time_limit)
    values = weights_of(table, rule, objective).values
    mined = values * (1 if rule.absent is None else ~rule.absent)
    top = mining.top_maximal(cells(table.items), np.ascontiguousarray(table.y, np.int32), mined,
                             TopRule(rule.k, rule.l_diversity), time_limit, tell_sets)
    selected: Sequence[int] = next(iter(top.sets), ())
    ended = top.ended == "all"
    if rule.labelled and len(selected):
        rank = np.zeros(len(values), np.int64)
        rank[modular_order(values, np.array(selected))] = np.arange(len(selected), 0, -1)
        kept = greedy(replace(table, counted=()), replace(rule, stop="skip"), rank)
        selected, ended = kept.selected, ended and kept.complete
    best = replace(choice_of(table, rule, selected, objective), complete=ended)
    if not complete:
        return best
    whole = greedy(table, replace(rule, stop="skip"), objective, prefix=best.selected)
    if set(best.selected) - set(whole.selected):  # the completion ended within what it began with
        return replace(best, complete=False)
    return replace(whole, complete=best.complete and whole.complete)


# --- the optimum ----------------------------------------------------------------------------------

def exact(table: Labelled, rule: Rule, objective: Objective = MUTUAL,
          time_limit: float | None = 60) -> Choice:
    """Choose the best set of items that keeps the rule: the paper's problem (1), of its own size.

    `objective` is what `weights` takes, or "distinct".  After `time_limit` seconds, or an
    interrupt, the best set so far is returned with a bound on all others.

    The best weights need not predict best: on the paper's Adult data the optimum of its HamDist
    predicts worse than the greedy choice.

    >>> toy = Items.dense([[1, 0, 1], [1, 1, 1], [0, 0, 1], [0, 1, 0]])
    >>> table = Labelled(toy, np.array([1, 1, 0, 0], np.int32))
    >>> choice = exact(table, Rule(k=2, classes=2), "hamming")
    >>> choice.selected, choice.objective, choice.proved
    ((0, 2), Fraction(3, 2), True)
    """
    demand_rule(table, rule)
    _demand_seconds(time_limit)
    if named(objective) == "class-errors":
        raise ParameterError("the exact search cannot use class-errors; take other weights")
    end = None if time_limit is None else time.monotonic() + time_limit
    label = coded(table.y, rule.classes, table.marked)
    values, most = None, cross_pairs(np.bincount(label, minlength=rule.classes)[:rule.classes])
    unit = Fraction(1, max(most, 1))
    held = np.diff(table.items.indptr) >= (1 if rule.suppress else rule.k)
    if named(objective) != "distinct":
        item_weights = weights_of(table, rule, objective)
        values, unit, most = item_weights.values, item_weights.unit, int(item_weights.values.sum())
        held &= values > 0
    candidates = int(held.sum())
    if candidates > MANY:
        raise ParameterError(f"{candidates} columns could be chosen, but the exact search "
                             f"takes at most {MANY}; choose greedily, or offer fewer columns")
    start, interrupted = np.empty(0, np.int64), False
    if values is not None and candidates > FEW:
        start, interrupted = _mined(table, rule, values, end)
    left = 0 if end is None else max(int(1000 * max(end - time.monotonic(), 0.001)), 1)
    result = search(cells(table.items), label, values, rule, start, Effort(
        int(interrupted), left, lambda nodes, best: tell_nodes(nodes, best, most)))
    if result.bound < 0:
        raise ParameterError(f"no set of columns keeps l_diversity = {rule.l_diversity} with k = "
                             f"{rule.k}, nor does the table; choose a smaller l_diversity")
    return replace(choice_of(table, rule, result.selected, objective), bound=result.bound * unit,
                   proved=result.proved, complete=result.proved)


def _mined(table: Labelled, rule: Rule, values: Ints, end: float | None) -> tuple[Ints, bool]:
    """Return a heaviest maximal set as a start, and whether the user ended the search.

    A limit of nodes, not of time, makes ties the same on every machine.
    """
    none = np.empty(0, np.int64)
    if rule.model != "containment" or rule.absent is not None or table.items.rows > MINED_ROWS:
        return none, False
    by = TopRule(rule.k, rule.l_diversity, nodes=MINED_NODES)
    seconds = None if end is None else max(end - time.monotonic(), 0.001)
    top = mining.top_maximal(cells(table.items), np.ascontiguousarray(table.y, np.int32), values,
                             by, seconds, tell_sets)
    start = [np.array(chosen, np.int64) for chosen in top.sets]
    return (start[0] if start else none), top.ended == "interrupted"


def _demand_seconds(time_limit: float | None) -> None:
    if time_limit is not None and not 0 < time_limit < float("inf"):
        raise ParameterError(f"time_limit is {time_limit}; give seconds above 0, or None")


# --- how far a search is --------------------------------------------------------------------------

@contextmanager
def listening(to: Callable[[str], None]) -> Iterator[None]:
    """Call `to` with each message of progress.

    >>> with listening(print):
    ...     tell("3 columns chosen")
    3 columns chosen
    """
    before = _LISTENER.set(to)
    try:
        yield
    finally:
        _LISTENER.reset(before)


def tell(words: str) -> None:
    """Send a message of progress to the listener."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(words)


def tell_sets(top: Top) -> None:
    """Report the progress of mining maximal sets."""
    best = int(top.value[0]) if len(top.value) else 0
    tell(f"{top.nodes} nodes, best at {_share(best, top.bound)} of the bound")


def tell_nodes(nodes: int, best: int, most: int) -> None:
    """Report the progress of the exact search."""
    tell(f"{nodes} nodes, best at {_share(best, most)} of all columns")


def _share(value: int, whole: int) -> str:
    return f"{100 * value // whole if whole else 100} %"
