"""The exact optimum: the best set of items that keeps the rule, with a proof or a bound."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from privsieve.containment.choice import Choice
from privsieve.containment.greedy import choice_of, demand_rule
from privsieve.containment.told import tell_nodes, tell_sets
from privsieve.containment.weights import I64, Asked, Bools, Labels, coded, cross_pairs, weights
from privsieve.errors import CheckFailed, ParameterError
from privsieve.kernels import mining
from privsieve.kernels.patterns import Rule
from privsieve.kernels.search import Effort, Found, search

if TYPE_CHECKING:
    from privsieve.containment.selector import Published
    from privsieve.rows.matrix import Items

__all__ = ["Rule", "exact", "gap"]

#: With fewer columns than this a start is not worth looking for.
FEW = 64
#: With more, which pairs fit together would not fit into memory.
MANY = 50_000
#: The largest table whose maximal sets are mined for a start, and how long.
MINED_ROWS, MINED_NODES = 20_000, 100_000


def exact(
    items: Items,
    y: Labels,
    rule: Rule,
    objective: Asked = "mutual-information",
    *,
    label_rows: Bools | None = None,
    time_limit: float | None = 60,
    second_opinion: bool = False,
) -> Choice:
    """The best set of items that keeps the rule: the paper's problem (1), of its own size.

    `objective` is what `weights` takes, or "distinct".  After `time_limit` seconds, or an
    interrupt, it is the best set so far, with a bound on all others.  A limit does not change
    what is proved before it.  `second_opinion` asks OR-Tools as well, for weights, in the time
    that is left, and compares.

    The best weights need not predict best: on the paper's Adult data the optimum of its HamDist
    predicts worse than the greedy choice.

    >>> from privsieve.rows.matrix import Items
    >>> toy = Items.dense([[1, 0, 1], [1, 1, 1], [0, 0, 1], [0, 1, 0]])
    >>> choice = exact(toy, np.array([1, 1, 0, 0], np.int32), Rule(k=2, classes=2), "hamming")
    >>> choice.selected, choice.objective, choice.proved
    ((0, 2), Fraction(3, 2), True)
    """
    demand_rule(items, rule, y)
    _demand_objective(objective, rule, time_limit, second_opinion=second_opinion)
    label = coded(y, rule.classes, label_rows)
    if isinstance(objective, str) and objective == "distinct":
        values = None
        sizes = np.bincount(label, minlength=rule.classes)[: rule.classes]
        unit = Fraction(1, max(cross_pairs(sizes.astype(np.int64)), 1))
    else:
        weighed = weights(items, y, rule.classes, objective, label_rows)
        values, unit = weighed.values, weighed.unit
    run = _Run(items, label, values, rule, time_limit)
    if run.candidates > MANY:
        raise ParameterError(
            f"{run.candidates} columns could be chosen, but the exact search takes at most {MANY}; "
            "choose greedily, or fewer columns first"
        )
    found = run.best()
    if found.bound < 0:
        raise ParameterError(
            f"no set of columns keeps l_diversity = {rule.l_diversity} with k = {rule.k}, not even "
            "the empty one; ask for fewer classes"
        )
    if second_opinion:
        found = _agreed(found, run)
    choice = choice_of(items, y, rule, found.selected, objective, label_rows=label_rows)
    return replace(choice, bound=found.bound * unit, proved=found.proved, complete=found.proved)


def gap(choice: Choice | Published) -> Fraction:
    """How much better than this the best set may be, as a share of it.

    >>> from privsieve.containment.choice import Choice
    >>> gap(Choice((0,), 2, Fraction(2), Fraction(3)))
    Fraction(1, 2)
    """
    if choice.bound is None or choice.objective is None:
        raise ParameterError("nobody looked for a bound; choose with `exact`")
    return (choice.bound - choice.objective) / (choice.objective or 1)


class _Run:
    """One problem and the time that it has."""

    def __init__(self, items: Items, label: Labels, values: I64 | None, rule: Rule,
                 time_limit: float | None) -> None:
        self.items, self.label, self.values, self.rule = items, label, values, rule
        self.cells = items.indptr, items.indices
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
        sizes = np.bincount(self.label, minlength=self.rule.classes)[: self.rule.classes]
        most = cross_pairs(sizes.astype(np.int64)) if self.values is None else self.values.sum()
        tell_nodes(nodes, best, int(most))

    def _mined(self) -> tuple[I64, bool]:
        """A start, and whether the user has had enough.  Its limit is no time: it decides ties."""
        rule, none = self.rule, np.empty(0, np.int64)
        plain = rule.model == "containment" and rule.absent is None
        small = self.candidates <= FEW or self.items.rows > MINED_ROWS
        if self.values is None or not plain or small:
            return none, False
        by = mining.TopRule(rule.k, rule.l_diversity, nodes=MINED_NODES)
        label = (self.label % rule.classes).astype(np.int32)
        top = mining.top_maximal(self.cells, label, self.values, by, self.seconds(),
                                 tell_sets)
        start = [np.array(chosen, np.int64) for chosen in top.sets]
        return (start[0] if start else none), top.ended == "interrupted"


def _demand_objective(
    objective: Asked, rule: Rule, time_limit: float | None, *, second_opinion: bool
) -> None:
    named = objective if isinstance(objective, str) else ""
    if named == "class-errors":
        raise ParameterError("class-errors has no exact search; take weights or 'distinct'")
    if time_limit is not None and not 0 < time_limit < float("inf"):
        raise ParameterError(f"time_limit is {time_limit}; give seconds above 0, or None")
    if second_opinion and (named == "distinct" or rule.suppress):
        raise ParameterError("second_opinion takes weights and suppress = 0; leave it out")
    if second_opinion and find_spec("ortools") is None:
        raise ParameterError("second_opinion asks OR-Tools: pip install 'privsieve[exact]'")


def _agreed(found: Found, run: _Run) -> Found:
    """What both searches know; they may not contradict each other."""
    from privsieve.containment.cp_sat import opinion

    assert run.values is not None
    if int(run.values.sum()) >= 1 << 53:
        raise ParameterError("second_opinion bounds in floats: the weights may sum to less than "
                             "2^53 units; divide all of them by the same")  # fmt: skip
    try:
        other = opinion(run.cells, run.label, run.values, run.rule, found.selected, run.seconds())
    except KeyboardInterrupt:
        return found
    if other.value > found.bound or found.value > other.bound:
        raise CheckFailed("branch and bound and OR-Tools contradict each other; please report it")
    best = max(found, other, key=lambda one: one.value)
    bound = min(found.bound, other.bound)
    return best._replace(bound=bound, proved=bound == best.value)
