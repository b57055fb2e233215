"""The methods of the tables, as functions of one shape.

A method takes items, labels, k, and a mask of the rows whose labels its weights may use; it
returns the positions of its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from papers import containment as paper
from privsieve.containment.choose import greedy, maximal
from privsieve.containment.labelled import Labelled
from privsieve.containment.publishable import publishable
from privsieve.kernels.patterns import Rule
from privsieve.rows.matrix import Items

Method = Callable[[Items, np.ndarray, int, np.ndarray], Sequence[int]]


def printed(choose: Callable[..., paper.Choice], *lines: str) -> Method:
    """A method of the paper."""
    def method(items: Items, y: np.ndarray, k: int, marked: np.ndarray) -> Sequence[int]:
        return choose(items, np.where(marked, y, -1), k, *lines).selected

    return method


def everything(items: Items, y: np.ndarray, k: int, marked: np.ndarray) -> Sequence[int]:
    """All columns: no protection at all."""
    del y, k, marked
    return range(len(items))


PRINTED: dict[str, Method] = {
    "Maximal": printed(paper.maximal),
    "HamDist": printed(paper.greedy_hamdist),
    "DistCnt": printed(paper.greedy_distcnt),
    "CM Greedy": printed(paper.cm_greedy),
    "k-anonymity HamDist": printed(paper.greedy_hamdist, "k-anonymity"),
    "k-anonymity DistCnt": printed(paper.greedy_distcnt, "k-anonymity"),
    "all columns": everything,
}


def greedy_skip(items: Items, y: np.ndarray, k: int, marked: np.ndarray) -> Sequence[int]:
    """The product's greedy choice by mutual information, passing over what breaks k."""
    return greedy(Labelled(items, y.astype(np.int32), marked=marked), Rule(k, 2)).selected


def heaviest_completed(items: Items, y: np.ndarray, k: int, marked: np.ndarray) -> Sequence[int]:
    """The maximal set of most mutual information, completed; a group may be of one class.

    It is what the profile most chooses from, without its rule of two classes.
    """
    return maximal(Labelled(items, y.astype(np.int32), marked=marked), Rule(k, 2)).selected


def profile(name: str) -> Method:
    """A profile of `PublishableColumns`."""
    def method(items: Items, y: np.ndarray, k: int, marked: np.ndarray) -> Sequence[int]:
        table = Labelled(items, y.astype(np.int32), marked=marked)
        return publishable(table, Rule(k, 2), name).selected

    return method


def on_training_rows(method: Method) -> Method:
    """The same, where the rows that are not marked do not exist: k is then not kept on them.

    The two-class rule of `few` and `most` looks at every label of the table, and so at those of
    test rows.  This is the control that it brings nothing.
    """
    def chosen(items: Items, y: np.ndarray, k: int, marked: np.ndarray) -> Sequence[int]:
        held = marked[items.indices]
        place = (np.cumsum(marked) - 1).astype(np.int32)
        own_items = Items(np.concatenate([[0], np.cumsum(held)])[items.indptr],
                          place[items.indices[held]], int(marked.sum()), items.names, items.origin)
        return method(own_items, y[marked], k, np.ones(own_items.rows, np.bool_))

    return chosen


OURS: dict[str, Method] = {
    "ours: greedy, skip": greedy_skip,
    "ours: heaviest, completed": heaviest_completed,
    "ours: few": profile("few"),
    "ours: most": profile("most"),
    "ours: strict": profile("strict"),
    "ours: few, on training rows": on_training_rows(profile("few")),
    "ours: most, on training rows": on_training_rows(profile("most")),
}
