"""Maximal sets: items that k rows hold all of, the best of the largest, completed.

The paper takes sets of support k for all sets that keep k; they are only some of them.  So what
is mined here may be completed: by what greedy choice can still add.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from privsieve.containment.choice import (
    OF_SETS,
    Choice,
    Objective,
    choice_of,
    modular_order,
    named,
    tell_sets,
    weights,
)
from privsieve.containment.greedy import demand_rule, greedy
from privsieve.containment.labelled import Bools, Codes, Ints, cells
from privsieve.errors import ParameterError
from privsieve.kernels import mining
from privsieve.kernels.mining import Sets, Top
from privsieve.kernels.patterns import Rule
from privsieve.rows.matrix import Items

#: Where not all sets could be listed so many of the largest are compared, found in so many seconds.
INSTEAD, SECONDS = 20, 2.0
#: More maximal sets are refused where all must be listed.
MOST_SETS = 1_000_000


@dataclass(frozen=True)
class Mining:
    """Which maximal sets are compared, and what becomes of the best one.

    r : the r largest ones (the paper: 20); None compares all.
    complete : whether greedy choice may add what still keeps k.
    time_limit : seconds; where all sets were not seen by then, the best that was seen (of those
        that all have to be listed the 20 largest instead).
    """

    r: int | None = None
    complete: bool = True
    time_limit: float | None = None


def maximal(items: Items, y: Codes, rule: Rule, objective: Objective = "mutual-information",
            among: Mining = Mining(), *, label_rows: Bools | None = None) -> Choice:
    """The best maximal set, completed (Algorithm 1 of the paper, with an exact miner).

    `objective` is what `greedy` takes, or "size".  With weights and `Mining.r` None this is the
    heaviest set of all, found without listing the others; with "distinct" and "class-errors" all
    are listed then.  With `rule.l_diversity` = l the rows of a set are of l classes, and a set is
    maximal if it cannot grow and keep that; the completion keeps it too.  Items whose absence may
    be known, and items of no weight, are left to the completion.  Where time or Ctrl-C ends the
    search, what was seen by then is compared and completed; a second Ctrl-C ends the completion.
    Where classes may be known (`rule.labelled`), k rows that hold a set need not be k of each
    class: of each set then those items are compared that greedy choice accepts, the heaviest first.

    >>> toy = Items.dense([[1, 1, 0, 0, 1], [1, 1, 0, 0, 1], [1, 0, 1, 1, 1], [1, 0, 1, 1, 1]])
    >>> y = np.array([1, 0, 1, 0], np.int32)
    >>> maximal(toy, y, Rule(k=2, classes=2), "size", Mining(complete=False)).selected
    (0, 2, 3, 4)
    >>> maximal(toy, y, Rule(k=2, classes=2), "size").selected
    (0, 1, 2, 3, 4)
    """
    demand_rule(items, rule, y)
    if rule.model != "containment":
        raise ParameterError(f"model is {rule.model!r}; maximal sets keep k by containment only: "
                             "take a greedy or an exact choice")
    if among.r is not None and among.r < 1:
        raise ParameterError(f"r is {among.r}; compare at least 1 maximal set, or None for all")
    if among.time_limit is not None and not among.time_limit > 0:
        raise ParameterError(f"time_limit is {among.time_limit}; give more than 0 seconds")
    scored = np.ones(len(items), np.int64) if named(objective) == "size" else objective
    found, seen_all = _candidates(items, y, rule, scored, among, label_rows=label_rows)
    best, compared_all = _best(items, y, rule, scored, found, label_rows=label_rows)
    best = replace(best, complete=seen_all and compared_all)
    if not among.complete:
        return best
    whole = greedy(items, y, replace(rule, stop="skip"), scored, label_rows=label_rows,
                   prefix=best.selected)
    if set(best.selected) - set(whole.selected):  # the completion ended within what it began with
        return replace(best, complete=False)
    return replace(whole, complete=best.complete and whole.complete)


def heaviest(items: Items, y: Codes, rule: Rule, values: Ints, r: int = 1, *,
             seconds: float | None = None) -> Top:
    """The `r` heaviest maximal sets that keep the rule; exact unless the time was up.

    >>> toy, y = Items.dense([[1, 1, 0], [1, 1, 1], [0, 0, 1]]), np.array([1, 0, 1], np.int32)
    >>> list(heaviest(toy, y, Rule(k=2, classes=2), np.array([1, 1, 5]), r=2).sets)
    [[2], [0, 1]]
    """
    asked = mining.TopRule(rule.k, rule.l_diversity, r)
    return mining.top_maximal(cells(items), np.ascontiguousarray(y, np.int32), values, asked,
                              seconds, tell_sets)


def _best(items: Items, y: Codes, rule: Rule, objective: Objective, among: list[tuple[int, ...]],
          *, label_rows: Bools | None) -> tuple[Choice, bool]:
    """The best of some sets, the first of equals, and whether all of them were compared."""
    best: Choice | None = None
    try:
        for mined in among or [()]:
            part, whole = _within(items, y, rule, objective, mined, label_rows=label_rows)
            choice = choice_of(items, y, rule, part, objective, label_rows=label_rows)
            best = max(best or choice, choice, key=lambda one: one.objective or 0)
            if not whole:
                return best, False
    except KeyboardInterrupt:
        if best is None:
            raise
        return best, False
    assert best is not None
    return best, True


def _within(items: Items, y: Codes, rule: Rule, objective: Objective, mined: tuple[int, ...], *,
            label_rows: Bools | None) -> tuple[tuple[int, ...], bool]:
    """What of a mined set keeps the rule, all unless classes may be known; whether it is whole."""
    if not rule.labelled or not mined:
        return mined, True
    weighed = "hamming" if named(objective) in OF_SETS else objective
    values = weights(items, y, rule.classes, weighed, label_rows).values
    rank = np.zeros(len(items), np.int64)
    rank[modular_order(values, np.array(mined))] = np.arange(len(mined), 0, -1)
    found = greedy(items, y, replace(rule, stop="skip"), rank)
    return found.selected, found.complete


def _candidates(items: Items, y: Codes, rule: Rule, objective: Objective, among: Mining, *,
                label_rows: Bools | None) -> tuple[list[tuple[int, ...]], bool]:
    """The maximal sets to compare, the first one first where they are equally good; if all."""
    allowed = np.ones(len(items), np.int64)
    if rule.absent is not None:
        allowed[rule.absent] = 0
    if among.r is not None:
        top = heaviest(items, y, rule, allowed, among.r, seconds=among.time_limit)
    elif named(objective) not in OF_SETS:
        values = weights(items, y, rule.classes, objective, label_rows).values * allowed
        top = heaviest(items, y, rule, values, seconds=among.time_limit)
    elif rule.l_diversity == 1 and rule.absent is None:
        listed = _listed(items, rule.k, among)
        if listed is not None:
            return _tuples(listed), True
        top = heaviest(items, y, rule, allowed, INSTEAD, seconds=SECONDS)
        return _tuples(top.sets), False
    else:
        top = heaviest(items, y, rule, allowed, MOST_SETS + 1, seconds=among.time_limit)
        if len(top.sets) > MOST_SETS:
            raise _too_many(rule.k)
    return _tuples(top.sets), top.ended == "all"


def _listed(items: Items, k: int, among: Mining) -> Sets | None:
    """All maximal sets; None where time or Ctrl-C came first."""
    began = time.monotonic()
    try:
        sets = mining.all_maximal(cells(items), items.rows, k, MOST_SETS, among.time_limit)
    except KeyboardInterrupt:
        return None
    late = among.time_limit is not None and time.monotonic() - began >= among.time_limit
    if sets is None and not late:
        raise _too_many(k)
    return sets


def _too_many(k: int) -> ParameterError:
    return ParameterError(f"there are more than {MOST_SETS} maximal sets at k = {k}; raise k, or "
                          "ask for the r largest only")


def _tuples(sets: Sets) -> list[tuple[int, ...]]:
    return [tuple(one) for one in sets]
