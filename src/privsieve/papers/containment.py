"""Column choices under anonymity by containment (Zhang et al. 2017), as printed.

`greedy_hamdist` is Algorithm 2, `greedy_distcnt` Algorithm 3, `cm_greedy` the same loop with the
classification metric, `maximal` Algorithm 1.  With ``model="k-anonymity"`` the two greedy methods
are the paper's k-anonymity variants.

`y` is 1 for the first class, 0 for the second, and -1 for a row whose label may not be looked at:
such a row counts in every group and in no utility.

But for the miner of Algorithm 1, this is a second and slower program than the product's own: that
both give the same columns is a test of both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from privsieve.containment.choice import Choice
from privsieve.errors import ParameterError
from privsieve.kernels.mining import TopRule, top_maximal
from privsieve.rows.matrix import Items

Ints = npt.NDArray[np.int64]
Model = Literal["containment", "k-anonymity"]

__all__ = ["classification_metric", "cm_greedy", "distcnt", "greedy_distcnt", "greedy_hamdist",
           "hamdist", "hamdist_of_each", "level", "maximal"]

#: Whose labels count: the two classes of the paper, then the rows without a label.
CLASSES = 3


def hamdist_of_each(items: Items, y: npt.ArrayLike) -> tuple[Ints, int]:
    """Definition 8 for each item alone: cross-class pairs that it tells apart, and all pairs.

    HamDist of a set is the sum over its items (Theorem 1), divided by the number of pairs.

    >>> hamdist_of_each(Items.dense([[1, 0], [1, 1], [0, 1]]), [1, 0, 0])
    (array([1, 2]), 2)
    """
    labels = _labels(y)
    of, row = _entries(items)
    held = np.bincount(of * CLASSES + labels[row], minlength=len(items) * CLASSES)
    first, second = held.reshape(-1, CLASSES)[:, :2].T
    n1, n0 = _sizes(labels)
    return (first * (n0 - second) + second * (n1 - first)).astype(np.int64), n1 * n0


def hamdist(items: Items, y: npt.ArrayLike, selected: Sequence[int]) -> Fraction:
    """Definition 8: the average Hamming distance of rows of different classes.

    >>> hamdist(Items.dense([[1, 0], [1, 1], [0, 1]]), [1, 0, 0], [0, 1])
    Fraction(3, 2)
    """
    weight, pairs = hamdist_of_each(items, y)
    return Fraction(int(weight[list(selected)].sum()), pairs)


def distcnt(items: Items, y: npt.ArrayLike, selected: Sequence[int]) -> Fraction:
    """Definition 9: the share of cross-class pairs that the set tells apart.

    >>> distcnt(Items.dense([[1, 0], [1, 1], [0, 1]]), [1, 0, 0], [0])
    Fraction(1, 2)
    """
    labels = _labels(y)
    n1, n0 = _sizes(labels)
    counts = _counts(_groups(items, selected), labels)
    return 1 - Fraction(int((counts[:, 0] * counts[:, 1]).sum()), n1 * n0)


def classification_metric(items: Items, y: npt.ArrayLike, selected: Sequence[int], k: int) -> int:
    """Definition 2: rows in groups below k, and of the others those of the minority class.

    >>> classification_metric(Items.dense([[1], [1], [1], [0]]), [1, 0, 0, 1], [0], k=2)
    2
    """
    return int(_penalty(_counts(_groups(items, selected), _labels(y)), k).sum())


def level(items: Items, selected: Sequence[int], model: Model = "containment") -> int:
    """AC of the projection (Definitions 4 and 6), or its k-anonymity.

    The paper calls AC the smallest k for which the data are anonymous; its example, and every use,
    is the largest.

    >>> table = Items.dense([[1, 1], [1, 0], [1, 1]])
    >>> level(table, [0, 1]), level(table, [0, 1], "k-anonymity")
    (2, 1)
    """
    group = _groups(items, selected)
    _, first, size = np.unique(group, return_index=True, return_counts=True)
    if model == "k-anonymity" or not selected:
        return int(size.min())
    held = dense(items, selected)[first].astype(np.float32)
    missing = held @ (1 - held).T  # [p, q]: how many items of p the pattern q lacks
    return int(((missing == 0) @ size).min())


def greedy_hamdist(items: Items, y: npt.ArrayLike, k: int, model: Model = "containment") -> Choice:
    """Algorithm 2: items by falling HamDist until the first that breaks k.

    The paper's claim that the set is optimal for its size holds (it is the top of a list); it says
    nothing about the problem that was posed, whose sets may be larger.  Ties: the smaller index.

    >>> greedy_hamdist(Items.dense([[1, 0], [1, 1], [0, 1], [0, 1]]), [1, 0, 0, 1], k=2).selected
    (0,)
    """
    demand_k(items, k)
    weight, _ = hamdist_of_each(items, y)
    chosen: list[int] = []
    for j in np.argsort(-weight, kind="stable").tolist():
        if level(items, [*chosen, j], model) < k:
            break
        chosen.append(j)
    return _choice(items, chosen, hamdist(items, y, chosen))


def greedy_distcnt(items: Items, y: npt.ArrayLike, k: int, model: Model = "containment") -> Choice:
    """Algorithm 3: the item with the largest gain of DistCnt, until it breaks k.

    Two departures from the print.  Line 13 says `until AC >= k`, which would end after the first
    item that keeps k; `until AC < k` is meant.  Where no item gains anything the printed loop
    never ends; here it ends.  Ties: the smaller index.

    >>> greedy_distcnt(Items.dense([[1, 0], [1, 1], [0, 1], [0, 1]]), [1, 0, 0, 1], k=2).selected
    (0,)
    """
    labels = _labels(y)

    def best(chosen: list[int]) -> int | None:
        group = _groups(items, chosen)
        whole = _counts(group, labels)
        of, where, inside = _cells(items, group, labels)
        outside = whole[where] - inside
        gain = np.zeros(len(items), np.int64)
        np.add.at(gain, of, inside[:, 0] * outside[:, 1] + inside[:, 1] * outside[:, 0])
        j = int(gain.argmax())
        return j if gain[j] > 0 else None

    chosen = _grow(items, k, model, best)
    return _choice(items, chosen, distcnt(items, y, chosen))


def cm_greedy(items: Items, y: npt.ArrayLike, k: int) -> Choice:
    """CM Greedy: the item that leaves the smallest classification metric, until it breaks k.

    The paper does not say what to do where no item lowers the metric.  It must go on: on its Adult
    data no single item does, and its table has five items.  Ties: HamDist, then the smaller index.
    The objective is minus the metric.

    >>> cm_greedy(Items.dense([[1, 0], [1, 1], [0, 1], [0, 1]]), [1, 1, 0, 0], k=2).selected
    (0,)
    """
    labels = _labels(y)
    weight, _ = hamdist_of_each(items, y)

    def best(chosen: list[int]) -> int | None:
        group = _groups(items, chosen)
        whole = _counts(group, labels)
        of, where, inside = _cells(items, group, labels)
        before, outside = whole[where], whole[where] - inside
        change = _penalty(inside, k) + _penalty(outside, k) - _penalty(before, k)
        metric = np.zeros(len(items), np.int64)
        np.add.at(metric, of, change)
        free = np.setdiff1d(np.arange(len(items)), chosen)
        order = np.lexsort((free, -weight[free], metric[free]))
        return int(free[order[0]]) if len(free) else None

    chosen = _grow(items, k, "containment", best)
    return _choice(items, chosen, Fraction(-classification_metric(items, y, chosen, k)))


def maximal(items: Items, y: npt.ArrayLike, k: int, r: int = 20) -> Choice:
    """Algorithm 1: of the r largest maximal frequent sets the one with the largest HamDist.

    Lemma 3 takes the frequent sets for all feasible ones; they are feasible, and not all: what is
    returned can often be completed.  The paper's miner was stopped early, it seems: the largest
    sets of its own e-mail data have 694, 617 and 577 items for k = 5, 8 and 11, not 121, 66, 58.
    Ties in size and in HamDist: the lexicographically smaller set.

    >>> maximal(Items.dense([[1, 1, 0], [1, 1, 1], [0, 0, 1]]), [1, 0, 0], k=2).selected
    (0, 1)
    """
    demand_k(items, k)
    weight, _ = hamdist_of_each(items, y)
    nobody = np.zeros(items.rows, np.int32)
    found = top_maximal((items.indptr, items.indices), nobody, np.ones(len(items), np.int64),
                        TopRule(k, r=r))
    empty: list[int] = []
    best = min(found.sets, key=lambda one: (-int(weight[one].sum()), one), default=empty)
    return _choice(items, best, hamdist(items, y, best))


def _grow(items: Items, k: int, model: Model, best: Callable[[list[int]], int | None],
          ) -> list[int]:
    """Add the best item while k holds."""
    demand_k(items, k)
    chosen: list[int] = []
    while len(chosen) < len(items):
        j = best(chosen)
        if j is None or level(items, [*chosen, j], model) < k:
            break
        chosen.append(j)
    return chosen


def _choice(items: Items, chosen: list[int], objective: Fraction) -> Choice:
    return Choice(tuple(sorted(chosen)), level(items, chosen), objective)


def demand_k(items: Items, k: int) -> None:
    """Refuse a k that no table of so many rows can have."""
    if not 1 <= k <= items.rows:
        raise ParameterError(f"k={k} does not fit a table of {items.rows} rows; "
                             f"give a k from 1 to {items.rows}")


def _labels(y: npt.ArrayLike) -> Ints:
    """0 for the paper's first class, 1 for its second, 2 for no label."""
    labels = np.array([1, 0, 2])[np.asarray(y, np.int64)]
    n1, n0 = _sizes(labels)
    if not n1 * n0:
        raise ParameterError(f"{n1} and {n0} labelled rows in the two classes; each needs one")
    return labels


def _sizes(labels: Ints) -> tuple[int, int]:
    return int((labels == 0).sum()), int((labels == 1).sum())


def _entries(items: Items) -> tuple[Ints, Ints]:
    """The item and the row of every one."""
    of = np.repeat(np.arange(len(items)), np.diff(items.indptr))
    return of, items.indices.astype(np.int64)


def dense(items: Items, selected: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Which rows hold each of these items."""
    held = np.zeros((items.rows, len(selected)), np.bool_)
    for place, j in enumerate(selected):
        held[items.indices[items.indptr[j]:items.indptr[j + 1]], place] = True
    return held


def _groups(items: Items, selected: Sequence[int]) -> Ints:
    """The number of each row's group: rows are together if they agree on the selected items."""
    group = np.zeros(items.rows, np.int64)
    for held in dense(items, selected).T:
        _, group = np.unique(2 * group + held, return_inverse=True)
    return group


def _counts(group: Ints, labels: Ints) -> Ints:
    """Rows of each class in each group."""
    size = (int(group.max()) + 1) * CLASSES
    return np.bincount(group * CLASSES + labels, minlength=size).reshape(-1, CLASSES)


def _cells(items: Items, group: Ints, labels: Ints) -> tuple[Ints, Ints, Ints]:
    """For each item and each group that it meets: both, and the rows of each class in common."""
    of, row = _entries(items)
    groups = int(group.max()) + 1
    cell, where = np.unique(of * groups + group[row], return_inverse=True)
    counts = np.bincount(where * CLASSES + labels[row], minlength=len(cell) * CLASSES)
    return cell // groups, cell % groups, counts.reshape(-1, CLASSES)


def _penalty(counts: Ints, k: int) -> Ints:
    """The classification metric of each group."""
    known = counts[:, :2]
    wrong: Ints = np.where(counts.sum(axis=1) < k, known.sum(axis=1), known.min(axis=1))
    return wrong
