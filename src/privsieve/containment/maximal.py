"""Maximal sets: items that k rows hold all of, the best of the largest, completed.

The paper takes sets of support k for all sets that keep k; they are only some of them.  So what
is mined here may be completed: by what greedy choice can still add.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from privsieve.containment.greedy import Objective, choice_of, demand_rule, greedy
from privsieve.containment.weights import I64, Bools, Labels, weights
from privsieve.errors import ParameterError
from privsieve.kernels import mining

if TYPE_CHECKING:
    from privsieve.containment.choice import Choice
    from privsieve.containment.greedy import Rule
    from privsieve.core.items import Items
    from privsieve.kernels.mining import Sets, Top

__all__ = ["Mining", "all_maximal", "heaviest", "maximal"]

@dataclass(frozen=True)
class Mining:
    """Which maximal sets are compared, and what becomes of the best one.

    r : the r largest ones (the paper: 20); None compares all.
    complete : whether greedy choice may add what still keeps k.
    time_limit : seconds; where all sets were not seen by then, the best that was seen.
    cap : more maximal sets than these are refused where all must be listed.
    """

    r: int | None = None
    complete: bool = True
    time_limit: float | None = None
    cap: int = 1_000_000


def maximal(
    items: Items,
    y: Labels,
    rule: Rule,
    objective: Objective = "mutual-information",
    among: Mining = Mining(),
    *,
    label_rows: Bools | None = None,
) -> Choice:
    """The best maximal set, completed (Algorithm 1 of the paper, with an exact miner).

    `objective` is what `greedy` takes, or "size".  With weights and `Mining.r` None this is the
    heaviest set of all, found without listing the others; with "distinct" and "class-errors" all
    are listed then.  With `rule.l_diversity` = l the rows of a set are of l classes, and a set is
    maximal if it cannot grow and keep that; the completion keeps it too.  Items whose absence may
    be known, and items of no weight, are left to the completion.

    >>> from privsieve.containment.greedy import Rule
    >>> from privsieve.core.items import Items
    >>> toy = Items.dense([[1, 1, 0, 0, 1], [1, 1, 0, 0, 1], [1, 0, 1, 1, 1], [1, 0, 1, 1, 1]])
    >>> y = np.array([1, 0, 1, 0], np.int32)
    >>> maximal(toy, y, Rule(k=2, classes=2), "size", Mining(complete=False)).selected
    (0, 2, 3, 4)
    >>> maximal(toy, y, Rule(k=2, classes=2), "size").selected
    (0, 1, 2, 3, 4)
    """
    _demand(items, rule, among)
    size = isinstance(objective, str) and objective == "size"
    scored: Objective = np.ones(len(items), np.int64) if size else objective
    found = _candidates(items, y, rule, scored, among, label_rows=label_rows)
    choices = [choice_of(items, y, rule, one, scored, label_rows=label_rows)
               for one in found or [()]]  # fmt: skip
    best = max(choices, key=lambda choice: choice.objective or 0)
    if not among.complete:
        return best
    return greedy(items, y, replace(rule, stop="skip"), scored, label_rows=label_rows,
                  prefix=best.selected)  # fmt: skip


def heaviest(
    items: Items, y: Labels, rule: Rule, values: I64, r: int = 1, *, seconds: float | None = None
) -> Top:
    """The `r` heaviest maximal sets that keep the rule; exact unless the time was up.

    >>> from privsieve.containment.greedy import Rule
    >>> from privsieve.core.items import Items
    >>> toy, y = Items.dense([[1, 1, 0], [1, 1, 1], [0, 0, 1]]), np.array([1, 0, 1], np.int32)
    >>> list(heaviest(toy, y, Rule(k=2, classes=2), np.array([1, 1, 5]), r=2).sets)
    [[2], [0, 1]]
    """
    cells = (items.indptr, items.indices)
    asked = mining.TopRule(rule.k, rule.l_diversity, r)
    return mining.top_maximal(cells, np.ascontiguousarray(y, np.int32), values, asked, seconds)


def all_maximal(items: Items, k: int, cap: int = 1_000_000) -> list[tuple[int, ...]]:
    """Every set of support k that no item can join, in lexicographic order.

    >>> from privsieve.core.items import Items
    >>> all_maximal(Items.dense([[1, 1, 0], [1, 1, 1], [0, 0, 1]]), 2)
    [(0, 1), (2,)]
    """
    sets = mining.all_maximal((items.indptr, items.indices), items.rows, k, cap)
    if sets is None:
        raise ParameterError(
            f"there are more than {cap} maximal sets at k = {k}; raise k, raise cap, or ask for "
            "the r largest only"
        )
    return _tuples(sets)


def _candidates(
    items: Items, y: Labels, rule: Rule, objective: Objective, among: Mining, *,
    label_rows: Bools | None,
) -> list[tuple[int, ...]]:  # fmt: skip
    """The maximal sets that are compared, the first one first where they are equally good."""
    allowed = np.ones(len(items), np.int64)
    if rule.absent is not None:
        allowed[rule.absent] = 0
    if among.r is not None:
        return _tuples(heaviest(items, y, rule, allowed, among.r, seconds=among.time_limit).sets)
    if not isinstance(objective, str) or objective not in {"distinct", "class-errors"}:
        values = weights(items, y, rule.classes, objective, label_rows).values * allowed
        return _tuples(heaviest(items, y, rule, values, seconds=among.time_limit).sets)
    if rule.l_diversity == 1 and rule.absent is None:
        return all_maximal(items, rule.k, among.cap)
    top = heaviest(items, y, rule, allowed, among.cap + 1, seconds=among.time_limit)
    if len(top.sets) > among.cap or top.ended != "all":
        raise ParameterError(
            f"not all maximal sets at k = {rule.k} could be listed, at most {among.cap} in the "
            "time limit; raise k, cap or time_limit, or ask for the r largest only"
        )
    return _tuples(top.sets)


def _tuples(sets: Sets) -> list[tuple[int, ...]]:
    return [tuple(one) for one in sets]


def _demand(items: Items, rule: Rule, among: Mining) -> None:
    demand_rule(items, rule)
    if rule.model != "containment":
        raise ParameterError(
            f"model is {rule.model!r}; maximal sets keep k by containment only: take a greedy or "
            "an exact choice"
        )
    if among.r is not None and among.r < 1:
        raise ParameterError(f"r is {among.r}; compare at least 1 maximal set, or None for all")
    if among.time_limit is not None and not among.time_limit > 0:
        raise ParameterError(f"time_limit is {among.time_limit}; give more than 0 seconds")
