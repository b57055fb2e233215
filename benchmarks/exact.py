"""The exact search against OR-Tools."""

from __future__ import annotations

import sys
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from measure import Goal, call
from privsieve.containment.choose import weights
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


def opinion():
    """The tests' model for OR-Tools."""
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    return import_module("cp_sat")


def solver(short):
    """The same proof by both solvers; nothing where OR-Tools is not installed."""
    if find_spec("ortools") is None:
        return []
    rows, columns = (2000, 24) if short else (5000, 32)
    cells, y, w = table(rows, columns, (0.05, 0.4))
    rule, peer = Rule(5, 2), opinion()
    start = time.process_time()
    peer_search = peer.search(cells, y, w, rule)
    other = time.process_time() - start
    ours, our_search = call(lambda: search(cells, y, w, rule), 3), search(cells, y, w, rule)
    assert (our_search.value, our_search.proved) == (peer_search.value, peer_search.proved)
    return [Goal("exact / OR-Tools, both proved", ours / other, 1 / 2,
                 f"{rows} x {columns}, {our_search.nodes} nodes: {ours:.3f} s and {other:.2f} s, "
                 "its own Python included")]


def goals(*, short):
    """The search beats a general solver."""
    return solver(short)
