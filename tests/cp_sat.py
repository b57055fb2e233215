"""The other opinion on the exact search: the constraint solver of OR-Tools.

It knows at first which pairs break the rule; whatever set it then likes best is checked, and each
group that is too small forbids a smallest set of items that makes it so.
"""

from __future__ import annotations

import time
from importlib import import_module

import numpy as np

from privsieve.kernels.covers import Covers, State
from privsieve.kernels.patterns import rule_facts
from privsieve.kernels.search import Found

#: More columns than this, and conflicts of pairs are found when they occur.
PAIRS = 300
#: Groups that forbid something in one round.
CUTS = 200


def search(cells, y, weights, rule, start=(), seconds=None):
    """The heaviest set that keeps the rule, as `search` says it; `nodes` are rounds.

    It takes no `suppress`.
    """
    facts, absent = rule_facts(cells, y, np.array(start, np.int64), rule)
    covers = Covers.of(cells, y, weights, facts.tolist(), absent.tolist())
    end = None if seconds is None else time.monotonic() + seconds
    first = [x for x, column in enumerate(covers.columns) if set(start).intersection(column.items)]
    chosen, value, bound, settings = rounds(covers, first, end)
    selected = sorted(j for x in chosen for j in covers.columns[x].items)
    return Found(np.array(selected, np.int64), value, bound, bound == value, settings)


def rounds(covers, first, end):
    """Ask the solver, forbid what breaks the rule, ask again."""
    cp_model = import_module("ortools.sat.python.cp_model")
    empty = covers.root()
    model = cp_model.CpModel()
    x = [model.new_bool_var(str(i)) for i in range(len(covers.columns))]
    for broken in pairs(covers, empty):
        model.add_bool_or([x[i].negated() for i in broken])
    if x:
        model.maximize(sum(c.weight * x[i] for i, c in enumerate(covers.columns)))
    best = completed(covers, empty, first)
    value, bound, count = weight(covers, best), covers.most, 0
    while bound > value and (end is None or time.monotonic() < end):
        count += 1
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        if end is not None:
            solver.parameters.max_time_in_seconds = max(end - time.monotonic(), 0.01)
        status = solver.solve(model)
        if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
            break
        bound = min(bound, int(solver.best_objective_bound + 0.5))
        liked = [i for i, value in enumerate(x) if solver.value(value)]
        broken_sets = forbidden(covers, empty, liked)
        for broken in broken_sets:
            model.add_bool_or([x[i].negated() for i in broken])
        repaired = completed(covers, empty, liked)
        if weight(covers, repaired) > value:
            best, value = repaired, weight(covers, repaired)
        if not broken_sets and status != cp_model.OPTIMAL:
            break
    return best, value, bound, count


def weight(covers, chosen):
    """The sum of the columns' weights."""
    return sum(covers.columns[i].weight for i in chosen)


def completed(covers, empty, first):
    """These columns as far as they keep the rule, and then all others that still do."""
    chosen, s = [], empty
    rest = sorted(set(range(len(covers.columns))).difference(first))
    for i in [*first, *rest]:
        if covers.keeps(s, i):
            after = covers.add(s, i)
            chosen.append(i)
            s = after
    return chosen


def forbidden(covers, empty, liked):
    """Smallest sets that break the rule, of those in `liked`: some for each small group."""
    patterns = [(own, cover) for own, cover in empty.patterns]
    for i in liked:
        after = covers.add(State(patterns, empty.stay), i)
        patterns = after.patterns
    small = [own & -own for own, cover in patterns if not covers.group(cover)][:CUTS]
    actual_forbidden = set()
    for row in small:
        for order in (liked, liked[::-1]):
            actual_forbidden.add(tuple(sorted(smallest(covers, order, row))))
    return actual_forbidden


def smallest(covers, order, row):
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


def pairs(covers, empty):
    """Columns that break the rule alone; and, where there are few, pairs that do."""
    many = range(len(covers.columns))
    alone = [i for i in many if not covers.keeps(empty, i)]
    chosen = [(i,) for i in alone]
    rest = [i for i in many if i not in alone]
    for a, i in enumerate(rest if len(rest) <= PAIRS else []):
        after = covers.add(empty, i)
        chosen += [(i, j) for j in rest[a + 1:] if not covers.keeps(after, j)]
    return chosen
