"""Column choices under anonymity by containment (Zhang et al. 2017), as printed.

`greedy_hamdist` is Algorithm 2, `greedy_distcnt` Algorithm 3, `cm_greedy` the same loop with the
classification metric, `maximal` Algorithm 1.  With ``model="k-anonymity"`` the two greedy methods
are the paper's k-anonymity variants.

`y` is 1 for the first class, 0 for the second, and -1 for a row whose label may not be looked at:
such a row counts in every group and in no utility.

The kernels are the product's, which end where the first item breaks k.  The tests hold all of it
against loops over rows that follow the print word by word.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from privsieve.containment.choose import (
    Choice,
    coded,
    distinct,
    majority,
    modular_order,
    weights,
)
from privsieve.containment.knowledge import Knowledge
from privsieve.containment.labelled import Bools, Codes, Ints, cells, rows_of
from privsieve.errors import ParameterError
from privsieve.kernels import patterns
from privsieve.kernels.mining import TopRule, top_maximal
from privsieve.kernels.patterns import Rule
from privsieve.rows.matrix import Items

Model = Literal["containment", "k-anonymity"]

__all__ = ["classification_metric", "cm_greedy", "distcnt", "greedy_distcnt", "greedy_hamdist",
           "hamdist", "hamdist_of_each", "level", "maximal"]


def hamdist_of_each(items: Items, y: npt.ArrayLike) -> tuple[Ints, int]:
    """Definition 8 for each item alone: cross-class pairs that it tells apart, and all pairs.

    HamDist of a set is the sum over its items (Theorem 1), divided by the number of pairs.

    >>> apart, pairs = hamdist_of_each(Items.dense([[1, 0], [1, 1], [0, 1]]), [1, 0, 0])
    >>> apart.tolist(), pairs
    ([1, 2], 2)
    """
    codes, marked = _labels(y)
    each = weights(items, codes, 2, "hamming", marked)
    return each.values, each.unit.denominator


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
    codes, marked = _labels(y)
    return distinct(items, codes, Rule(1, 2), selected, marked)


def classification_metric(items: Items, y: npt.ArrayLike, selected: Sequence[int], k: int) -> int:
    """Definition 2: rows in groups below k, and of the others those of the minority class.

    >>> classification_metric(Items.dense([[1], [1], [1], [0]]), [1, 0, 0, 1], [0], k=2)
    2
    """
    codes, marked = _labels(y)
    right = majority(items, codes, Rule(k, 2), selected, marked)
    return int((1 - right) * int(marked.sum()))


def level(items: Items, selected: Sequence[int], model: Model = "containment") -> int:
    """AC of the projection (Definitions 4 and 6), or its k-anonymity.

    The paper calls AC the smallest k for which the data are anonymous; its example, and every use,
    is the largest.

    >>> table = Items.dense([[1, 1], [1, 0], [1, 1]])
    >>> level(table, [0, 1]), level(table, [0, 1], "k-anonymity")
    (2, 1)
    """
    return Knowledge(items.take(selected), equal=model == "k-anonymity").groups().level()


def greedy_hamdist(items: Items, y: npt.ArrayLike, k: int, model: Model = "containment") -> Choice:
    """Algorithm 2: items by falling HamDist until the first that breaks k.

    The paper's claim that the set is optimal for its size holds (it is the top of a list); it says
    nothing about the problem that was posed, whose sets may be larger.  Ties: the smaller index.

    >>> greedy_hamdist(Items.dense([[1, 0], [1, 1], [0, 1], [0, 1]]), [1, 0, 0, 1], k=2).selected
    (0,)
    """
    label, order = _prepared(items, y, k)
    chosen = patterns.greedy(cells(items), label, order, _rule(k, model))
    return _choice(items, chosen, hamdist(items, y, chosen.tolist()))


def greedy_distcnt(items: Items, y: npt.ArrayLike, k: int, model: Model = "containment") -> Choice:
    """Algorithm 3: the item with the largest gain of DistCnt, until it breaks k.

    Two departures from the print.  Line 13 says `until AC >= k`, which would end after the first
    item that keeps k; `until AC < k` is meant.  Where no item gains anything the printed loop
    never ends; here it ends.  Ties: the smaller index.

    >>> greedy_distcnt(Items.dense([[1, 0], [1, 1], [0, 1], [0, 1]]), [1, 0, 0, 1], k=2).selected
    (0,)
    """
    label, _ = _prepared(items, y, k)
    chosen = patterns.lazy_distinct(cells(items), label, np.arange(len(items)), _rule(k, model))
    return _choice(items, chosen, distcnt(items, y, chosen.tolist()))


def cm_greedy(items: Items, y: npt.ArrayLike, k: int) -> Choice:
    """CM Greedy: the item that leaves the smallest classification metric, until it breaks k.

    The paper does not say what to do where no item lowers the metric.  It must go on: on its Adult
    data no single item does, and its table has five items.  Ties: HamDist, then the smaller index.
    The objective is minus the metric.

    >>> cm_greedy(Items.dense([[1, 0], [1, 1], [0, 1], [0, 1]]), [1, 1, 0, 0], k=2).selected
    (0,)
    """
    label, order = _prepared(items, y, k)
    chosen = patterns.class_errors(cells(items), label, order, _rule(k, "containment"))
    metric = classification_metric(items, y, chosen.tolist(), k)
    return _choice(items, chosen, Fraction(-metric))


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
    frequent = top_maximal(cells(items), nobody, np.ones(len(items), np.int64), TopRule(k, r=r))
    empty: list[int] = []
    best = min(frequent.sets, key=lambda chosen: (-int(weight[chosen].sum()), chosen),
               default=empty)
    return _choice(items, best, hamdist(items, y, best))


def _prepared(items: Items, y: npt.ArrayLike, k: int) -> tuple[Codes, Ints]:
    """Return the labels as kernels take them, and the items by falling HamDist."""
    demand_k(items, k)
    weight, _ = hamdist_of_each(items, y)
    codes, marked = _labels(y)
    return coded(codes, 2, marked), modular_order(weight, np.arange(len(items)))


def _rule(k: int, model: Model) -> Rule:
    return Rule(k, 2, "break", model)


def _choice(items: Items, chosen: Sequence[int] | Ints, objective: Fraction) -> Choice:
    selected = tuple(sorted(int(j) for j in chosen))
    return Choice(selected, level(items, selected), objective)


def demand_k(items: Items, k: int) -> None:
    """Refuse a k that does not fit the number of rows."""
    if not 1 <= k <= items.rows:
        raise ParameterError(f"k={k} does not fit a table of {items.rows} rows; "
                             f"give a k from 1 to {items.rows}")


def _labels(y: npt.ArrayLike) -> tuple[Codes, Bools]:
    """Return the classes, and the rows whose label may be looked at."""
    codes = np.asarray(y, np.int32)
    n1, n0 = np.count_nonzero(codes == 1), np.count_nonzero(codes == 0)
    if not n1 * n0:
        raise ParameterError(f"{n1} and {n0} labelled rows in the two classes; each needs one")
    return np.maximum(codes, 0), codes >= 0


def dense(items: Items, selected: Sequence[int]) -> Bools:
    """Return which rows hold each of these items."""
    held = np.zeros((items.rows, len(selected)), np.bool_)
    for place, j in enumerate(selected):
        held[rows_of(items, j), place] = True
    return held
