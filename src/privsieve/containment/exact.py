"""The exact optimum: the best set of items that keeps the rule, with a proof or a bound.

A second opinion is asked of the constraint solver of OR-Tools.  It runs as
`python -m privsieve.containment.exact`, JSON in and out: the solver is never loaded into the
process that asks.  It knows at first which pairs break the rule; whatever set it then likes best is
checked, and each group that is too small forbids a smallest set of items that makes it so.
"""

# ruff: noqa: PLR0917  six arguments are allowed by the house

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from typing import Any

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
from privsieve.errors import CheckFailed, ParameterError
from privsieve.kernels import mining
from privsieve.kernels.covers_twin import Covers, State
from privsieve.kernels.patterns import Cells, Rule, rule_facts
from privsieve.kernels.search import Effort, Found, search
from privsieve.rows.matrix import Items

#: With fewer columns than this a start is not worth looking for.
FEW = 64
#: With more, which pairs fit together would not fit into memory.
MANY = 50_000
#: The largest table whose maximal sets are mined for a start, and how long.
MINED_ROWS, MINED_NODES = 20_000, 100_000
#: More columns than this, and conflicts of pairs are found when they occur.
PAIRS = 300
#: Groups that forbid something in one round.
CUTS = 200


@dataclass(frozen=True, repr=False)
class Solving:
    """How long a best set is looked for, and by whom.

    time_limit : seconds; the best set by then is given with a bound on all others.  A limit does
        not change what is proved before it.
    second_opinion : ask OR-Tools as well, for weights, in the time that is left, and compare.
    """

    time_limit: float | None = 60
    second_opinion: bool = False


def exact(items: Items, y: Codes, rule: Rule, objective: Objective = "mutual-information",
          by: Solving = Solving(), *, label_rows: Bools | None = None) -> Choice:
    """The best set of items that keeps the rule: the paper's problem (1), of its own size.

    `objective` is what `weights` takes, or "distinct".  An interrupt ends it as a time limit does.

    The best weights need not predict best: on the paper's Adult data the optimum of its HamDist
    predicts worse than the greedy choice.

    >>> toy = Items.dense([[1, 0, 1], [1, 1, 1], [0, 0, 1], [0, 1, 0]])
    >>> choice = exact(toy, np.array([1, 1, 0, 0], np.int32), Rule(k=2, classes=2), "hamming")
    >>> choice.selected, choice.objective, choice.proved
    ((0, 2), Fraction(3, 2), True)
    """
    demand_rule(items, rule, y)
    _demand(objective, rule, by)
    label = coded(y, rule.classes, label_rows)
    if named(objective) == "distinct":
        values, unit = None, Fraction(1, max(_pairs_apart(label, rule.classes), 1))
    else:
        weighed = weights(items, y, rule.classes, objective, label_rows)
        values, unit = weighed.values, weighed.unit
    run = _Solver(items, label, values, rule, by.time_limit)
    if run.candidates > MANY:
        raise ParameterError(f"{run.candidates} columns could be chosen, but the exact search "
                             f"takes at most {MANY}; choose greedily, or fewer columns first")
    found = run.best()
    if found.bound < 0:
        raise ParameterError(f"no set of columns keeps l_diversity = {rule.l_diversity} with k = "
                             f"{rule.k}, not even the empty one; ask for fewer classes")
    if by.second_opinion:
        found = _agreed(found, run)
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


def _demand(objective: Objective, rule: Rule, by: Solving) -> None:
    if named(objective) == "class-errors":
        raise ParameterError("class-errors has no exact search; take weights or 'distinct'")
    if by.time_limit is not None and not 0 < by.time_limit < float("inf"):
        raise ParameterError(f"time_limit is {by.time_limit}; give seconds above 0, or None")
    if by.second_opinion and (named(objective) == "distinct" or rule.suppress):
        raise ParameterError("second_opinion takes weights and suppress = 0; leave it out")
    if by.second_opinion and find_spec("ortools") is None:
        raise ParameterError("second_opinion asks OR-Tools: pip install 'privsieve[exact]'")


def _agreed(found: Found, run: _Solver) -> Found:
    """What both searches know; they may not contradict each other."""
    assert run.values is not None
    if int(run.values.sum()) >= 1 << 53:
        raise ParameterError("second_opinion bounds in floats: the weights may sum to less than "
                             "2^53 units; divide all of them by the same")
    try:
        other = opinion(run.cells, run.label, run.values, run.rule, found.selected, run.seconds())
    except KeyboardInterrupt:
        return found
    if other.value > found.bound or found.value > other.bound:
        raise CheckFailed("branch and bound and OR-Tools contradict each other; please report it")
    best = max(found, other, key=lambda one: one.value)
    bound = min(found.bound, other.bound)
    return best._replace(bound=bound, proved=bound == best.value)


def opinion(items: Cells, y: Codes, weights: Ints, rule: Rule, start: Ints, seconds: float | None,
            ) -> Found:
    """The heaviest set that keeps the rule, found by another program.

    It takes no `suppress`.  `nodes` are its rounds.
    """
    facts, absent = rule_facts(items, y, start, rule)
    asked = {
        "items": [part.tolist() for part in items], "y": y.tolist(), "weights": weights.tolist(),
        "facts": facts.tolist(), "absent": absent.tolist(), "start": start.tolist(),
        "seconds": seconds,
    }
    run = subprocess.run([sys.executable, "-m", "privsieve.containment.exact"], check=False,
                         input=json.dumps(asked), capture_output=True, text=True)
    if run.returncode:
        raise CheckFailed(f"OR-Tools ended with exit code {run.returncode}; leave the opinion out")
    said = json.loads(run.stdout)
    return Found(np.array(said.pop("selected"), np.int64), **said)


def solve(asked: dict[str, Any]) -> dict[str, Any]:
    """What the other process does: ask the solver, forbid what breaks the rule, ask again."""
    indptr, indices = asked["items"]
    items = np.array(indptr, np.int64), np.array(indices, np.int32)
    covers = Covers.of(items, np.array(asked["y"], np.int32), np.array(asked["weights"], np.int64),
                       asked["facts"], asked["absent"])
    end = None if asked["seconds"] is None else time.monotonic() + asked["seconds"]
    start = set(asked["start"])
    first = [x for x, column in enumerate(covers.columns) if start.intersection(column.items)]
    chosen, value, bound, rounds = _rounds(covers, first, end)
    selected = sorted(j for x in chosen for j in covers.columns[x].items)
    return {"selected": selected, "value": value, "bound": bound, "proved": bound == value,
            "nodes": rounds}


def _rounds(covers: Covers, first: list[int], end: float | None) -> tuple[list[int], int, int, int]:
    cp_model = import_module("ortools.sat.python.cp_model")
    empty = covers.root()
    assert empty is not None
    model = cp_model.CpModel()
    x = [model.new_bool_var(str(i)) for i in range(len(covers.columns))]
    for broken in _pairs(covers, empty):
        model.add_bool_or([x[i].negated() for i in broken])
    if x:
        model.maximize(sum(c.weight * x[i] for i, c in enumerate(covers.columns)))
    best = completed(covers, empty, first)
    value, bound, rounds = weight(covers, best), covers.most, 0
    while bound > value and (end is None or time.monotonic() < end):
        rounds += 1
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        if end is not None:
            solver.parameters.max_time_in_seconds = max(end - time.monotonic(), 0.01)
        status = solver.solve(model)
        if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
            break
        bound = min(bound, int(solver.best_objective_bound + 0.5))
        liked = [i for i, one in enumerate(x) if solver.value(one)]
        broken_sets = forbidden(covers, empty, liked)
        for broken in broken_sets:
            model.add_bool_or([x[i].negated() for i in broken])
        repaired = completed(covers, empty, liked)
        if weight(covers, repaired) > value:
            best, value = repaired, weight(covers, repaired)
        if not broken_sets and status != cp_model.OPTIMAL:
            break
    return best, value, bound, rounds


def weight(covers: Covers, chosen: Iterable[int]) -> int:
    """The sum of the columns' weights."""
    return sum(covers.columns[i].weight for i in chosen)


def completed(covers: Covers, empty: State, first: list[int]) -> list[int]:
    """These columns as far as they keep the rule, and then all others that still do."""
    chosen, s = [], empty
    rest = sorted(set(range(len(covers.columns))).difference(first))
    for i in [*first, *rest]:
        if covers.keeps(s, i):
            after = covers.add(s, i)
            assert after is not None
            chosen.append(i)
            s = after
    return chosen


def forbidden(covers: Covers, empty: State, liked: list[int]) -> set[tuple[int, ...]]:
    """Smallest sets that break the rule, of those in `liked`: some for each small group."""
    patterns = [(own, cover) for own, cover in empty.patterns]
    for i in liked:
        after = covers.add(State(patterns, empty.stay), i)
        assert after is not None
        patterns = after.patterns
    small = [own & -own for own, cover in patterns if not covers.group(cover)][:CUTS]
    found = set()
    for row in small:
        for order in (liked, liked[::-1]):
            found.add(tuple(sorted(_smallest(covers, order, row))))
    return found


def _smallest(covers: Covers, order: list[int], row: int) -> list[int]:
    """Leaves columns out, in this order, while the row's group stays too small."""
    kept = [i for i in order if covers.columns[i].rows & row or covers.columns[i].absent]
    for i in list(kept):
        rest = [j for j in kept if j != i]
        cover = (1 << covers.rows) - 1
        for j in rest:
            held = covers.columns[j].rows
            cover &= held if held & row else ~held
        if not covers.group(cover):
            kept = rest
    return kept


def _pairs(covers: Covers, empty: State) -> list[tuple[int, ...]]:
    """Columns that break the rule alone; and, where there are few, pairs that do."""
    many = range(len(covers.columns))
    alone = [i for i in many if not covers.keeps(empty, i)]
    found: list[tuple[int, ...]] = [(i,) for i in alone]
    rest = [i for i in many if i not in alone]
    for a, i in enumerate(rest if len(rest) <= PAIRS else []):
        after = covers.add(empty, i)
        assert after is not None
        found += [(i, j) for j in rest[a + 1:] if not covers.keeps(after, j)]
    return found


if __name__ == "__main__":
    json.dump(solve(json.load(sys.stdin)), sys.stdout)
