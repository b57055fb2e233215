"""Choice: a set of items that keeps k, and how good it is.

Its level and objective are counted from the table.  Weights say how much each item alone tells of
the class: integers, times one unit.  How far a search is, is told to who listens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from privsieve.containment.knowledge import Groups, groups_by_class, rows_beyond
from privsieve.containment.labelled import Bools, Codes, Ints, cells, narrowed
from privsieve.errors import ParameterError
from privsieve.kernels import patterns
from privsieve.kernels.mining import Top
from privsieve.kernels.patterns import Rule
from privsieve.rows.matrix import Items

Objective: TypeAlias = "str | npt.ArrayLike"

#: Weights that are no integers are rounded to this part of one.
NANO = Fraction(1, 10**9)
#: Objectives that weigh sets of items, and no item alone.
OF_SETS = ("distinct", "class-errors")

_LISTENER: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


@dataclass(frozen=True)
class Choice:
    """Items that may be published together.

    selected : positions of items, increasing.
    level : the containment level of the projection (the smallest group).
    objective : what was maximised, as the paper reports it (an average over cross-class pairs).
    bound : no feasible set has a larger objective; None where nobody looked.
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
    """How much better than this the best set may be, as a share of it.

    >>> gap(Choice((0,), 2, Fraction(2), Fraction(3)))
    Fraction(1, 2)
    """
    if choice.bound is None or choice.objective is None:
        raise ParameterError("nobody looked for a bound; choose with `exact`")
    return (choice.bound - choice.objective) / (choice.objective or 1)


def choice_of(items: Items, y: Codes, rule: Rule, accepted: Sequence[int] | Ints,
              objective: Objective, *, label_rows: Bools | None = None) -> Choice:
    """A set of items as a choice: its level and objective are counted from the table.

    >>> toy, y = Items.dense([[1, 0], [1, 1], [0, 1]]), np.array([1, 1, 0], np.int32)
    >>> choice_of(toy, y, Rule(k=2, classes=2), [1], "distinct").objective
    Fraction(1, 2)
    """
    selected = tuple(sorted(int(j) for j in accepted))
    level, suppressed = standing(items, y, rule, selected)
    if named(objective) == "distinct":
        value = distinct(items, y, rule.classes, selected, label_rows)
    elif named(objective) == "class-errors":
        value = majority(items, y, rule, selected, label_rows)
    else:
        value = weights(items, y, rule.classes, objective, label_rows).of(selected)
    return Choice(selected, level, value, suppressed=suppressed)


def standing(items: Items, y: Codes, rule: Rule, selected: Sequence[int]) -> tuple[int, int]:
    """The smallest group when `selected` is published, and the rows that must be left out.

    No row must be left out of a set that keeps the rule; the group is among those that stay.

    >>> toy, y = Items.dense([[1], [0], [0]]), np.zeros(3, np.int32)
    >>> standing(toy, y, Rule(k=2, classes=1), [0])
    (2, 1)
    """
    groups, stays = _staying(items, y, rule, selected)
    counts, over = groups.table.counts, groups.over
    left = counts * stays
    if not stays.all():
        over = groups.around(left)
    size = over[left > 0] if rule.labelled else over.sum(1)[left.any(1)]
    return (int(size.min()) if len(size) else 0), int(counts.sum() - left.sum())


def kept_rows(items: Items, y: Codes, rule: Rule, selected: Sequence[int]) -> Bools:
    """The rows that stay when `selected` is published: all, if it keeps the rule.

    >>> toy, y = Items.dense([[1], [0], [0]]), np.zeros(3, np.int32)
    >>> kept_rows(toy, y, Rule(k=2, classes=1), [0]).tolist()
    [False, True, True]
    """
    groups, stays = _staying(items, y, rule, selected)
    out: Bools = stays[groups.table.pattern, y]
    return out


def _staying(items: Items, y: Codes, rule: Rule, selected: Sequence[int],
             ) -> tuple[Groups, Bools]:
    """The groups on `selected`, and of each pattern which rows stay, by class."""
    groups = groups_by_class(items.take(selected), y, narrowed(rule, selected))
    counts = groups.table.counts
    if not any(rows_beyond(counts, groups.over, rule)):
        return groups, np.ones(counts.shape, np.bool_)
    if rule.model == "containment":
        return groups, patterns.peel(groups.table.masks, counts, rule.k, rule.l_diversity,
                                     labelled=rule.labelled)
    large = (counts if rule.labelled else counts.sum(1, keepdims=True)) >= rule.k
    diverse = (large & (counts > 0)).sum(1, keepdims=True) >= rule.l_diversity
    return groups, np.broadcast_to(large & diverse, counts.shape)


def distinct(items: Items, y: Codes, classes: int, selected: Sequence[int],
             label_rows: Bools | None = None) -> Fraction:
    """The share of cross-class pairs of rows that `selected` tells apart (the paper's DistCnt).

    >>> toy, y = Items.dense([[1], [0], [0]]), np.array([0, 0, 1], np.int32)
    >>> distinct(toy, y, 2, [0])
    Fraction(1, 2)
    """
    counts = _counts(items, y, classes, selected, label_rows)[:, :classes]
    total = cross_pairs(counts.sum(0))
    size = counts.sum(1)
    same = (int((size * size).sum()) - int((counts * counts).sum())) // 2
    return Fraction(total - same, max(total, 1))


def majority(items: Items, y: Codes, rule: Rule, selected: Sequence[int],
             label_rows: Bools | None = None) -> Fraction:
    """The share of rows in the majority class of a pattern of at least k rows.

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
    """Rows per pattern and class; behind these, the rows whose label may not be used."""
    codes = classes if label_rows is None else 2 * classes
    return patterns.pattern_table(cells(items.take(selected)), coded(y, classes, label_rows),
                                  codes).counts


def named(objective: Objective) -> str:
    """The word for an objective; none for weights as numbers."""
    return objective if isinstance(objective, str) else ""


def modular_order(values: Ints, among: Ints) -> Ints:
    """Positions by falling weight; ties to the smaller index.

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
        """The weight of a set of items.

        >>> Worth(np.array([2, 3]), Fraction(1, 9)).of([0, 1])
        Fraction(5, 9)
        """
        return int(self.values[list(selected)].sum()) * self.unit


def weights(items: Items, y: Codes, classes: int, asked: Objective,
            label_rows: Bools | None = None) -> Worth:
    """Weights by name, or a vector that is not negative; only the marked rows' labels count.

    "mutual-information" : in nats, between item and class.
    "hamming" : the share of cross-class pairs of rows that differ in the item (the paper's
        HamDist).  It rewards an item for being half full, whether or not the class moves it.
    "excess" : the squared difference of the two classes' rates.
    "youden" : the difference of the two classes' rates.

    With more than two classes the last two are averages over pairs of rows of different class.

    >>> toy = Items.dense([[1, 0], [1, 1], [0, 1], [0, 1]])
    >>> weights(toy, np.array([1, 1, 0, 0], np.int32), 2, "hamming").of([0, 1])
    Fraction(3, 2)
    """
    if not isinstance(asked, str):
        return _given(asked, len(items))
    if asked not in _NAMED:
        raise ParameterError(f"weights are {asked!r}; give one of {', '.join(_NAMED)}, or a number "
                             "for each item")
    label = coded(y, classes, label_rows)
    codes = classes if label_rows is None else 2 * classes
    held = patterns.class_counts(items.indptr, items.indices, label, codes)[:, :classes]
    return _NAMED[asked](held, np.bincount(label, minlength=codes)[:classes].astype(np.int64))


def coded(y: Codes, classes: int, label_rows: Bools | None) -> Codes:
    """The classes as kernels take them: raised where the label may not be used for scores.

    >>> coded(np.array([1, 0], np.int32), 2, np.array([True, False])).tolist()
    [1, 2]
    """
    y = np.ascontiguousarray(y, np.int32)
    return y if label_rows is None else np.where(label_rows, y, y + np.int32(classes))


def cross_pairs(sizes: Ints) -> int:
    """Pairs of rows of different class.

    >>> cross_pairs(np.array([2, 3, 1]))
    11
    """
    total = [int(n) for n in sizes]
    return (sum(total) ** 2 - sum(n * n for n in total)) // 2


def _hamming(held: Ints, sizes: Ints) -> Worth:
    """Pairs of which one row has the item, less those of one class."""
    support, n = held.sum(1), int(sizes.sum())
    values = support * (n - support) - (held * (sizes - held)).sum(1)
    return Worth(values, Fraction(1, max(cross_pairs(sizes), 1)))


def _youden(held: Ints, sizes: Ints) -> Worth:
    values = np.zeros(len(held), np.int64)
    for a, b in combinations(range(len(sizes)), 2):
        values += np.abs(held[:, a] * sizes[b] - held[:, b] * sizes[a])
    return Worth(values, Fraction(1, max(cross_pairs(sizes), 1)))


def _excess(held: Ints, sizes: Ints) -> Worth:
    score = np.zeros(len(held))
    for a, b in combinations(np.flatnonzero(sizes), 2):
        apart = held[:, a] / sizes[a] - held[:, b] / sizes[b]
        score += apart * apart * float(sizes[a] * sizes[b])
    return _given(score / max(cross_pairs(sizes), 1), len(held))


def _mutual_information(held: Ints, sizes: Ints) -> Worth:
    n = max(int(sizes.sum()), 1)
    score = np.zeros(len(held))
    for joint in (held, sizes - held):
        margin = joint.sum(1, keepdims=True) * sizes
        ratio = np.divide(joint * float(n), margin, out=np.ones(joint.shape), where=joint > 0)
        score += (joint * np.log(ratio)).sum(1) / n
    return _given(np.maximum(score, 0), len(held))


def _given(asked: npt.ArrayLike, items: int) -> Worth:
    vector = np.asarray(asked)
    if vector.shape != (items,) or vector.dtype.kind not in "biuf":
        raise ParameterError(f"weights must be a number for each of {items} items")
    bad = np.flatnonzero(~np.isfinite(vector) | (vector < 0))
    if len(bad):
        raise ParameterError(f"the weight of item {bad[0]} is {vector[bad[0]]}; give 0 or more, "
                             "and no NaN")
    exact = vector.dtype.kind != "f"
    scaled = vector if exact else np.rint(vector * float(1 / NANO))
    if float(scaled.sum(dtype=np.float64)) >= 2.0**62:
        raise ParameterError("weights sum to more than 2^62 units; divide all of them by the same")
    return Worth(scaled.astype(np.int64), Fraction(1) if exact else NANO)


_NAMED: dict[str, Callable[[Ints, Ints], Worth]] = {
    "mutual-information": _mutual_information, "hamming": _hamming, "excess": _excess,
    "youden": _youden,
}


@contextmanager
def listening(to: Callable[[str], None]) -> Iterator[None]:
    """Let somebody hear what is told meanwhile.

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
    """Say how far it is, to who listens."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(words)


def tell_sets(top: Top) -> None:
    """Say what is known while maximal sets are mined."""
    best = int(top.value[0]) if len(top.value) else 0
    tell(f"{top.nodes} nodes, best at {_share(best, top.bound)} of the bound")


def tell_nodes(nodes: int, best: int, most: int) -> None:
    """Say what is known while the exact search goes on."""
    tell(f"{nodes} nodes, best at {_share(best, most)} of all columns")


def _share(part: int, whole: int) -> str:
    return f"{100 * part // whole if whole else 100} %"
