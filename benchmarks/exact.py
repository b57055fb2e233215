"""The exact search against OR-Tools."""

from __future__ import annotations

import resource
from importlib.util import find_spec

import numpy as np

from measure import Goal, call
from privsieve.containment.choice import weights
from privsieve.containment.exact import opinion
from privsieve.kernels.patterns import Rule
from privsieve.kernels.search import search
from privsieve.rows.matrix import Items


def table(rows, columns, density):
    """A random table, with its cells, classes and Hamming weights."""
    rng = np.random.default_rng(0)
    rates = rng.permutation(np.linspace(*density, columns))
    items = Items.dense(rng.random((rows, columns)) < rates)
    y = rng.integers(0, 2, rows).astype(np.int32)
    return (items.indptr, items.indices), y, weights(items, y, 2, "hamming").values


def children(function):
    """CPU seconds of the processes that a call starts, and what it returns."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = function()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, out


def solver(short):
    """The same proof by both solvers; nothing where OR-Tools is not installed."""
    if find_spec("ortools") is None:
        return []
    rows, columns = (2000, 24) if short else (5000, 32)
    cells, y, w = table(rows, columns, (0.05, 0.4))
    rule, none = Rule(5, 2), np.empty(0, np.int64)
    other, said = children(lambda: opinion(cells, y, w, rule, none, None))
    ours, found = call(lambda: search(cells, y, w, rule), 3), search(cells, y, w, rule)
    assert (found.value, found.proved) == (said.value, said.proved)
    return [Goal("exact / OR-Tools, both proved", ours / other, 1 / 2,
                 f"{rows} x {columns}, {found.nodes} nodes: {ours:.3f} s and {other:.2f} s, "
                 "its start and its own Python included")]


def goals(*, short):
    """The search beats a general solver."""
    return solver(short)
