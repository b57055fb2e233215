"""Patterns: the patterns of rows in chosen columns, and greedy choices that keep k.

Items are `(indptr, indices)`: item j is held by the rows ``indices[indptr[j]:indptr[j + 1]]``.
A pattern is the set of chosen items that a row holds; the group of a row are the rows that hold
all of its pattern.  `y` is the class of each row, plus `classes` where the label may be used for
`l_diversity` only, not for a score.

Ctrl-C ends a choice with what was accepted by then; -1 then stands last (`finished`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from privsieve.kernels import covers
from privsieve.kernels.contract import (
    I32,
    I64,
    MOST_ROWS,
    U8,
    U64,
    Bools,
    Cells,
    demand_array,
    demand_equal,
    demand_items,
    demand_total,
    demand_whole,
    kernel,
    native,
)

__all__ = [
    "Cells", "PatternTable", "Rule", "around", "class_counts", "class_errors", "finished",
    "greedy", "lazy_distinct", "pattern_table", "peel", "superset_counts",
]  # fmt: skip

#: Pairs of masks that are compared at once.
PAIRS = 1 << 20

_greedy = native(covers.greedy)
_lazy_distinct = native(covers.lazy_distinct)
_class_errors = native(covers.class_errors)


@dataclass(frozen=True, eq=False)
class Rule:
    """The limits of a set of items, and how to treat an item that would break them.

    k : the least number of rows in the group of each row.
    classes : how many classes there are.
    stop : "skip" passes over an item that does not fit, "break" ends there.
    model : "containment", or "k-anonymity", where a group is the rows of equal pattern.
    l_diversity : the least number of distinct classes in a group.
    absent : items whose absence may be known as well; a group then shares it.
    suppress : the number of rows that may be left out so that the rest keeps k; an item that
        only such rows hold does not fit.
    labelled : the class of a row may be known as well: its group is then the rows of its class
        that hold all that it holds.  `l_diversity` is that of the group without the class.

    All of it is downward closed: what holds for a set of items holds for every part of it.
    """

    k: int
    classes: int
    stop: Literal["skip", "break"] = "skip"
    model: Literal["containment", "k-anonymity"] = "containment"
    l_diversity: int = 1
    absent: Bools | None = None
    suppress: int = 0
    labelled: bool = False


class PatternTable(NamedTuple):
    """The patterns of a projection: their items as bits, their rows per class; each row's pattern.

    masks : uint64[P, W]; bit j is item j, and further bits the absences that may be known.
    counts : int64[P, classes].
    pattern : int32[rows]; patterns are numbered by their first row.
    """

    masks: U64
    counts: I64
    pattern: I32

    def __repr__(self) -> str:
        return object.__repr__(self)  # its fields are private


@kernel(lambda indptr, indices, y, classes: (
    indptr, indices, y, _demand((indptr, indices), y, classes)))
def class_counts(indptr: I64, indices: I32, y: I32, classes: int) -> I64:
    """Count rows of each class that hold each item: int64[d, classes].

    >>> toy = np.array([0, 2, 3]), np.array([0, 2, 1], np.int32)
    >>> class_counts(*toy, np.array([0, 1, 1], np.int32), 2).tolist()
    [[1, 1], [0, 1]]
    """
    label = y[indices]
    out = np.zeros((len(indptr) - 1, int(classes)), np.int64)
    for c in range(classes):
        out[:, c] = np.diff(np.concatenate([[0], np.cumsum(label == c)])[indptr])
    return out


def greedy(items: Cells, y: I32, order: I64, rule: Rule) -> I64:
    """Return the items of `order` that the rule accepts, in this order.

    What is first in `order` is the prefix: it is accepted whole if it keeps the rule.

    >>> toy, y = (np.array([0, 2, 3]), np.array([0, 1, 1], np.int32)), np.zeros(3, np.int32)
    >>> greedy(toy, y, np.array([1, 0]), Rule(k=2, classes=1)).tolist()
    [0]
    """
    return _greedy(items, y, order, *rule_facts(items, y, order, rule))


def finished(accepted: I64) -> tuple[I64, bool]:
    """Return the accepted items, and whether the choice was completed.

    >>> finished(np.array([4, 2, -1]))
    (array([4, 2]), False)
    """
    cut = bool(len(accepted)) and accepted[-1] == covers.ENDED
    return (accepted[:-1] if cut else accepted), not cut


def lazy_distinct(
    items: Cells, y: I32, candidates: I64, rule: Rule, prefix: I64 | None = None
) -> I64:
    """Choose items greedily that distinguish most pairs of different class; prefix first.

    Ends where no candidate tells a further pair apart; ties go to the earlier candidate.
    Gains only shrink as the set grows, so old ones are bounds and few are computed anew.

    >>> toy, y = (np.array([0, 2, 4]), np.array([0, 1, 0, 2], np.int32)), np.array([0, 0, 1, 1])
    >>> lazy_distinct(toy, y.astype(np.int32), np.arange(2), Rule(2, 2)).tolist()
    [0]
    """
    prefix = np.empty(0, np.int64) if prefix is None else prefix
    demand_array("prefix", prefix, np.int64, 1)
    demand_array("candidates", candidates, np.int64, 1)
    facts = rule_facts(items, y, np.concatenate([prefix, candidates]), rule)
    return _lazy_distinct(items, y, candidates, prefix, *facts)


def class_errors(
    items: Cells, y: I32, candidates: I64, rule: Rule, prefix: I64 | None = None
) -> I64:
    """Greedily the items that leave fewest rows outside the majority of their pattern.

    All rows of a pattern with fewer than k rows are counted as errors.  The best is taken even if
    it helps nothing (no item alone may), until it does not fit; ties go to the earlier candidate.

    >>> toy, y = (np.array([0, 2, 4]), np.array([0, 1, 0, 2], np.int32)), np.array([0, 0, 1, 1])
    >>> class_errors(toy, y.astype(np.int32), np.arange(2), Rule(2, 2)).tolist()
    [0]
    """
    prefix = np.empty(0, np.int64) if prefix is None else prefix
    demand_array("prefix", prefix, np.int64, 1)
    demand_array("candidates", candidates, np.int64, 1)
    facts = rule_facts(items, y, np.concatenate([prefix, candidates]), rule)
    return _class_errors(items, y, candidates, prefix, *facts)


def pattern_table(items: Cells, y: I32, classes: int, absent: Bools | None = None) -> PatternTable:
    """Patterns of the rows on all of these items: project first.

    >>> toy, y = (np.array([0, 2, 3]), np.array([0, 1, 1], np.int32)), np.zeros(3, np.int32)
    >>> [array.tolist() for array in pattern_table(toy, y, 1)]
    [[[1], [3], [0]], [[1], [1], [1]], [0, 1, 2]]
    """
    classes = _demand(items, y, classes)
    known = _known(absent, len(items[0]) - 1)
    return PatternTable(*_pattern_table(items, y, classes, known))


@native
def _pattern_table(items: Cells, y: I32, classes: int, absent: U8) -> tuple[U64, I64, I32]:
    place = np.arange(len(absent)) + np.cumsum(absent, dtype=np.int64) - absent
    words = max(-(-int(len(absent) + absent.sum()) // 64), 1)
    masks = np.zeros((len(y), words), np.uint64)
    for j, (a, b) in enumerate(pairwise(items[0])):
        held = np.zeros(len(y), np.bool_)
        held[items[1][a:b]] = True
        # The bit of an item, and after it that of its absence, where it may be known.
        for bit, rows in ((place[j], held), (place[j] + 1, ~held & bool(absent[j]))):
            if rows.any():
                masks[rows, bit // 64] |= np.uint64(1 << int(bit) % 64)
    _, first, pattern = np.unique(masks, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.argsort(order).astype(np.int32)[pattern.reshape(-1)]
    counts = np.bincount(number.astype(np.int64) * classes + y, minlength=len(order) * classes)
    return masks[first[order]], counts.reshape(len(order), classes), number


def _demand_table(masks: U64, counts: I64) -> None:
    demand_array("masks", masks, np.uint64, 2)
    demand_array("counts", counts, np.int64, 2)
    demand_equal("masks and counts", len(masks), len(counts))
    demand_whole("masks", len(masks), 0, MOST_ROWS)
    demand_total("counts", counts)


def _demand_around(masks: U64, counts: I64, wanted: U64, rows: I64) -> None:
    _demand_table(masks, counts)
    demand_array("asked", wanted, np.uint64, 2)
    demand_array("rows", rows, np.int64, 1)
    demand_equal("asked and rows", len(wanted), len(rows))
    demand_equal("words of asked and masks", wanted.shape[1], masks.shape[1])
    demand_whole("asked", len(wanted), 0, MOST_ROWS)
    demand_total("rows", rows)


@kernel(_demand_around)
def around(masks: U64, counts: I64, wanted: U64, rows: I64) -> tuple[I64, I64]:
    """Count the supersets of masks among others, both ways, as `superset_counts`.

    For each asked mask the sums of the counts of all masks that contain it: int64[A, C].  For each
    mask of the table the `rows` of the asked masks that it contains: int64[P].

    >>> over, held = around(np.array([[1], [3]], np.uint64), np.array([[5], [7]]),
    ...                     np.array([[2], [0]], np.uint64), np.array([1, 4]))
    >>> over.tolist(), held.tolist()
    ([[7], [12]], [4, 5])
    """
    over = np.zeros((len(wanted), counts.shape[1]), np.int64)
    held = np.zeros(len(masks), np.int64)
    step = max(PAIRS // max(len(masks), 1), 1)
    for a in range(0, len(wanted), step):
        lacks = np.zeros((len(wanted[a : a + step]), len(masks)), np.bool_)
        for some, all_of_them in zip(wanted[a : a + step].T, masks.T, strict=True):
            lacks |= (some[:, None] & ~all_of_them) != 0
        over[a : a + step] = ~lacks @ counts
        held += rows[a : a + step] @ ~lacks
    return over, held


@kernel(_demand_table)
def superset_counts(masks: U64, counts: I64) -> I64:
    """Sum for each mask the counts of all masks that contain it: int64[P, C].

    >>> superset_counts(np.array([[1], [3], [0]], np.uint64), np.array([[1], [1], [1]])).tolist()
    [[2], [1], [3]]
    """
    return around(masks, counts, masks, np.zeros(len(masks), np.int64))[0]


def peel(masks: U64, counts: I64, k: int, l_diversity: int = 1, *, labelled: bool = False) -> Bools:
    """Return which rows stay if all in too small groups leave, repeatedly: bool[P, C].

    What stays is the largest set of rows that keeps k and `l_diversity`.  Rows leave by pattern,
    and by pattern and class if `labelled`: then k rows of the class must stay in the group.

    >>> table = np.array([[1], [3], [0]], np.uint64), np.array([[2, 1], [0, 1], [2, 0]])
    >>> peel(*table, 2).tolist()
    [[True, True], [False, False], [True, True]]
    >>> peel(*table, 2, labelled=True).tolist()
    [[True, False], [False, False], [True, False]]
    """
    _demand_table(masks, counts)
    k, l_diversity = _sizes(k=k, l_diversity=l_diversity)
    return _peel(masks, counts, k, l_diversity, labelled=bool(labelled)).view(np.bool_)


@native
def _peel(masks: U64, counts: I64, k: int, diversity: int, *, labelled: bool) -> U8:
    stays = np.ones(counts.shape, np.bool_)
    while True:
        group = superset_counts(masks, counts * stays)
        size = group if labelled else group.sum(1, keepdims=True)
        good = (size >= k) & ((group > 0).sum(1, keepdims=True) >= diversity)
        if np.broadcast_to(good, stays.shape)[stays].all():
            return stays.view(np.uint8)
        stays &= good


def _known(absent: Bools | None, items: int) -> U8:
    if absent is None:
        return np.zeros(items, np.uint8)
    demand_array("absent", absent, np.bool_, 1)
    demand_equal("absent and items", len(absent), items)
    return absent.view(np.uint8)


def rule_facts(items: Cells, y: I32, order: I64, rule: Rule) -> tuple[I64, U8]:
    """Return the rule as the kernels take it.

    (k, l, suppress, classes, codes, skip, equal, labelled), absent.
    """
    demand_array("y", y, np.int32, 1)
    classes = demand_whole("classes", rule.classes, 1, MOST_ROWS // 2)
    codes = 2 * classes if len(y) and y.max() >= classes else classes
    _demand(items, y, codes)
    demand_array("order", order, np.int64, 1)
    d = len(items[0]) - 1
    known = not len(order) or (order.min() >= 0 and order.max() < d)
    if not known or len(np.unique(order)) < len(order):
        raise ValueError(f"order must be different items from 0 to {d - 1}")
    k, l_diversity, suppress = _sizes(k=rule.k, l_diversity=rule.l_diversity,
                                      suppress=rule.suppress)
    numbers = [k, l_diversity, suppress, rule.classes, codes,
               rule.stop == "skip", rule.model == "k-anonymity", bool(rule.labelled)]
    return np.array(numbers, np.int64), _known(rule.absent, d)


def _demand(items: Cells, y: I32, codes: int) -> int:
    demand_array("y", y, np.int32, 1)
    demand_items(items, len(y))
    codes = demand_whole("classes", codes, 1, MOST_ROWS)
    if len(y) * 2 ** (codes - 1).bit_length() >= 2**32:
        raise ValueError(f"{len(y)} rows of {codes} classes are too many for 32 bits; take fewer")
    if len(y) and not (y.min() >= 0 and y.max() < codes):
        raise ValueError(f"y must be classes from 0 to {codes - 1}")
    return codes


def _sizes(**sizes: int) -> list[int]:
    """Return the numbers of rows or classes of a rule; kernels compare sums with them."""
    return [demand_whole(name, size, 0, 1 << 62) for name, size in sizes.items()]
