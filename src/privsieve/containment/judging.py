"""Judging: how well columns predict rows that nothing of the choice has seen.

The rows are parted into five folds.  For each fold columns are chosen with the labels of the other
rows, a logistic regression is fitted to these, and the fold is judged.  (k is kept on all rows, and
a rule that asks for several classes in a crowd looks at the classes of all: neither compares
columns.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from privsieve.containment.measures import cells
from privsieve.kernels.patterns import pattern_table
from privsieve.report.exploring import Area
from privsieve.rows.matrix import Items

if TYPE_CHECKING:
    from privsieve.containment.choice import Choice
    from privsieve.containment.labelled import Labelled


Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

FOLDS = 5
#: Distinct rows times columns that are fitted; a larger choice is not judged.
MOST_CELLS = 2**26


def folds(table: Labelled) -> npt.NDArray[np.int64]:
    """The fold of each row: a hash of its position, or of its source, so that none is in two.

    >>> from privsieve.containment.labelled import Labelled
    >>> from privsieve.rows.matrix import Items
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

    >>> from privsieve.rows.matrix import Items
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
    scores = _scores(_bits(masks, len(items)), pattern[marked], y[marked])[pattern[~marked]]
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
    from sklearn.linear_model import LogisticRegression

    pairs, many = np.unique(np.stack([pattern, y]), axis=1, return_counts=True)
    model = LogisticRegression(max_iter=2000)
    model.fit(patterns[pairs[0]], pairs[1], sample_weight=many)
    found = np.asarray(model.decision_function(patterns), np.float64)
    return found.reshape(len(patterns), -1)


def _bits(masks: npt.NDArray[np.uint64], items: int) -> Floats:
    """Patterns as zeros and ones."""
    bits = np.unpackbits(masks.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    return bits[:, :items].astype(np.float64)
