"""The exact optimum: the best set of items that keeps the rule, with a proof or a bound."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction

import numpy as np

from privsieve.containment.choice import (
    Choice,
    Objective,
    choice_of,
    coded,
    cross_pairs,
    named,
    tell_nodes,
    tell_sets,
    weights,
)
from privsieve.containment.greedy import demand_rule
from privsieve.containment.labelled import Bools, Codes, Ints, cells
from privsieve.errors import ParameterError
from privsieve.kernels import mining
from privsieve.kernels.patterns import Rule
from privsieve.kernels.search import Effort, Found, search
from privsieve.rows.matrix import Items

#: With fewer columns than this a start is not worth looking for.
FEW = 64
#: With more, which pairs fit together would not fit into memory.
MANY = 50_000
#: The largest table whose maximal sets are mined for a start, and how long.
MINED_ROWS, MINED_NODES = 20_000, 100_000


def exact(items: Items, y: Codes, rule: Rule, objective: Objective = "mutual-information",
          time_limit: float | None = 60, *, label_rows: Bools | None = None) -> Choice:
    """The best set of items that keeps the rule: the paper's problem (1), of its own size.

    `objective` is what `weights` takes, or "distinct".  `time_limit` is in seconds: the
    best set by then is given with a bound on all others, and what is proved before it is the same.
    An interrupt ends it as a time limit does.

    The best weights need not predict best: on the paper's Adult data the optimum of its HamDist
    predicts worse than the greedy choice.

    >>> toy = Items.dense([[1, 0, 1], [1, 1, 1], [0, 0, 1], [0, 1, 0]])
    >>> choice = exact(toy, np.array([1, 1, 0, 0], np.int32), Rule(k=2, classes=2), "hamming")
    >>> choice.selected, choice.objective, choice.proved
    ((0, 2), Fraction(3, 2), True)
    """
    demand_rule(items, rule, y)
    _demand(objective, time_limit)
    label = coded(y, rule.classes, label_rows)
    if named(objective) == "distinct":
        values, unit = None, Fraction(1, max(_pairs_apart(label, rule.classes), 1))
    else:
        weighed = weights(items, y, rule.classes, objective, label_rows)
        values, unit = weighed.values, weighed.unit
    run = _Solver(items, label, values, rule, time_limit)
    if run.candidates > MANY:
        raise ParameterError(f"{run.candidates} columns could be chosen, but the exact search "
                             f"takes at most {MANY}; choose greedily, or fewer columns first")
    found = run.best()
    if found.bound < 0:
        raise ParameterError(f"no set of columns keeps l_diversity = {rule.l_diversity} with k = "
                             f"{rule.k}, not even the empty one; ask for fewer classes")
    choice = choice_of(items, y, rule, found.selected, objective, label_rows=label_rows)
    return replace(choice, bound=found.bound * unit, proved=found.proved, complete=found.proved)


class _Solver:
    """One problem and the time that it has."""

    def __init__(self, items: Items, label: Codes, values: Ints | None, rule: Rule,
                 time_limit: float | None) -> None:
        self.items, self.label, self.values, self.rule = items, label, values, rule
        self.cells = cells(items)
        held = np.diff(items.indptr) >= (1 if rule.suppress else rule.k)
        self.candidates = int((held if values is None else held & (values > 0)).sum())
        self.end = None if time_limit is None else time.monotonic() + time_limit

    def seconds(self) -> float | None:
        """What is left; never nothing, so that there is always an answer."""
        return None if self.end is None else max(self.end - time.monotonic(), 0.001)

    def best(self) -> Found:
        """The search, from a heaviest maximal set where that may be a good start."""
        start, interrupted = self._mined()
        left = self.seconds()
        effort = Effort(int(interrupted), 0 if left is None else max(int(left * 1000), 1),
                        self._tell)
        return search(self.cells, self.label, self.values, self.rule, start, effort)

    def _tell(self, nodes: int, best: int) -> None:
        most = (_pairs_apart(self.label, self.rule.classes) if self.values is None
                else int(self.values.sum()))
        tell_nodes(nodes, best, most)

    def _mined(self) -> tuple[Ints, bool]:
        """A start, and whether the user has had enough.  Its limit is no time: it decides ties."""
        rule, none = self.rule, np.empty(0, np.int64)
        plain = rule.model == "containment" and rule.absent is None
        small = self.candidates <= FEW or self.items.rows > MINED_ROWS
        if self.values is None or not plain or small:
            return none, False
        by = mining.TopRule(rule.k, rule.l_diversity, nodes=MINED_NODES)
        label = (self.label % rule.classes).astype(np.int32)
        top = mining.top_maximal(self.cells, label, self.values, by, self.seconds(), tell_sets)
        start = [np.array(chosen, np.int64) for chosen in top.sets]
        return (start[0] if start else none), top.ended == "interrupted"


def _pairs_apart(label: Codes, classes: int) -> int:
    """Pairs of rows of different class, of those whose label may be used."""
    return cross_pairs(np.bincount(label, minlength=classes)[:classes].astype(np.int64))


def _demand(objective: Objective, time_limit: float | None) -> None:
    if named(objective) == "class-errors":
        raise ParameterError("class-errors has no exact search; take weights or 'distinct'")
    if time_limit is not None and not 0 < time_limit < float("inf"):
        raise ParameterError(f"time_limit is {time_limit}; give seconds above 0, or None")
