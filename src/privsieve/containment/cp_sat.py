"""A second opinion on the exact optimum, by the constraint solver of OR-Tools.

It runs as `python -m privsieve.containment.cp_sat`, JSON in and out: the solver is never loaded
into the process that asks.  It knows at first which pairs break the rule; whatever set it then
likes best is checked, and each group that is too small forbids a smallest set of items that makes
it so.
"""
# ruff: noqa: PLR0917  six arguments are allowed by the house

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np

from privsieve.errors import CheckFailed
from privsieve.kernels.contract import I64
from privsieve.kernels.covers_twin import Covers, State
from privsieve.kernels.patterns import Cells, Rule, rule_facts
from privsieve.kernels.search import I32, Found

#: More columns than this, and conflicts of pairs are found when they occur.
PAIRS = 300
#: Groups that forbid something in one round.
CUTS = 200


def opinion(
    items: Cells, y: I32, weights: I64, rule: Rule, start: I64, seconds: float | None
) -> Found:
    """The heaviest set that keeps the rule, found by another program.

    It takes no `suppress`.  `nodes` are its rounds.
    """
    facts, absent = rule_facts(items, y, start, rule)
    asked = {
        "items": [part.tolist() for part in items], "y": y.tolist(), "weights": weights.tolist(),
        "facts": facts.tolist(), "absent": absent.tolist(), "start": start.tolist(),
        "seconds": seconds,
    }  # fmt: skip
    run = subprocess.run(
        [sys.executable, "-m", "privsieve.containment.cp_sat"],
        input=json.dumps(asked), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if run.returncode:
        raise CheckFailed(f"OR-Tools ended with exit code {run.returncode}; leave the opinion out")
    said = json.loads(run.stdout)
    return Found(np.array(said.pop("selected"), np.int64), **said)


def solve(asked: dict[str, Any]) -> dict[str, Any]:
    """What the other process does: ask the solver, forbid what breaks the rule, ask again."""
    indptr, indices = asked["items"]
    items = np.array(indptr, np.int64), np.array(indices, np.int32)
    covers = Covers.of(items, np.array(asked["y"], np.int32), np.array(asked["weights"], np.int64),
                       asked["facts"], asked["absent"])  # fmt: skip
    end = None if asked["seconds"] is None else time.monotonic() + asked["seconds"]
    start = set(asked["start"])
    first = [x for x, column in enumerate(covers.columns) if start.intersection(column.items)]
    chosen, value, bound, rounds = _rounds(covers, first, end)
    selected = sorted(j for x in chosen for j in covers.columns[x].items)
    return {"selected": selected, "value": value, "bound": bound, "proved": bound == value,
            "nodes": rounds}  # fmt: skip


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
