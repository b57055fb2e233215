"""Law: naive.  The mining kernels, native and Python, against all sets of items."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import naive_mining as naive
from kernel_calls import native, serve
from privsieve.kernels import implementation as serves
from privsieve.kernels import mining
from privsieve.kernels.mining import TopRule
from privsieve.rows.matrix import Items

PARTS = range(20)
EACH = 40  # random tables per part: 800 in all
#: The paper's Table 1: what each of its six rows holds.
TOY = [{0, 2, 4}, {0, 2, 4}, {0, 3, 4}, {0, 2, 4}, {0, 1, 2, 4}, {0, 1, 3, 4}]


@pytest.fixture(params=["native", "numpy"], autouse=True)
def implementation(request, monkeypatch):
    """Every law holds for each implementation."""
    serve(request.param, monkeypatch)


#: For laws that hold the two together, or that only native code has.
once = pytest.mark.parametrize("implementation", ["native"], indirect=True)


class Case:
    """A random table, sparse to nearly full, with copies of rows and of columns; and a rule."""

    def __init__(self, seed, rows=13, items=7):
        rng = np.random.default_rng(seed)
        self.n, self.d = int(rng.integers(0, rows + 1)), int(rng.integers(0, items + 1))
        matrix = rng.random((self.n, self.d)) < rng.choice([0.2, 0.5, 0.8, 0.95], self.d)
        if self.n and rng.random() < 0.3:
            matrix = matrix[rng.integers(0, self.n, self.n)]
        if self.d and rng.random() < 0.3:
            matrix = matrix[:, rng.integers(0, self.d, self.d)]
        self.rows = [set(np.flatnonzero(row).tolist()) for row in matrix]
        dense = Items.dense(matrix.reshape(self.n, self.d))
        self.cells = dense.indptr, dense.indices
        self.classes = int(rng.integers(1, 4))
        self.y = rng.integers(0, self.classes, self.n).astype(np.int32)
        kind = rng.integers(3)
        self.weight = (np.ones(self.d, np.int64) if kind == 0
                       else rng.integers(0, [0, 4, 10**9][kind], self.d))
        self.rule = TopRule(k=int(rng.integers(1, 6)), r=int(rng.integers(1, 6)),
                            l_diversity=int(rng.integers(1, self.classes + 1)))

    def naive(self, classes):
        """The heaviest sets by brute force."""
        return naive.heaviest(self.rows, self.y, self.weight.tolist(), self.rule.k, classes,
                              self.rule.r)


def listed(top):
    """Sets with support and weight, as the oracle lists them."""
    return list(zip(top.sets, top.sets.support.tolist(), top.value.tolist(), strict=True))


def cases(chunk):
    """The random tables of a part."""
    return [Case(seed) for seed in range(chunk * EACH, (chunk + 1) * EACH)]


@pytest.mark.parametrize("chunk", PARTS)
def test_all_maximal(chunk):
    """All maximal sets and their supports are those of brute force, in lexicographic order."""
    for case in cases(chunk):
        sets = mining.all_maximal(case.cells, case.n, case.rule.k)
        expected = naive.maximal(case.rows, case.y, range(case.d), case.rule.k)

        assert expected == list(zip(sets, sets.support.tolist(), strict=True))


@pytest.mark.parametrize("chunk", PARTS)
def test_top_by_rows(chunk):
    """The heaviest maximal sets, with and without l-diversity, are those of brute force."""
    for case in cases(chunk):
        best = mining.top_by_rows(case.cells, case.y, case.weight, case.rule)
        expected = case.naive(case.rule.l_diversity)

        assert expected == listed(best)
        assert (best.ended, best.bound) == ("all", max([items[2] for items in expected], default=0))


@pytest.mark.parametrize("chunk", PARTS)
def test_top_by_items(chunk):
    """A search over items finds the same sets, and so does the search that takes turns."""
    for case in cases(chunk):
        plain = case.rule._replace(l_diversity=1)
        best = mining.top_by_items(case.cells, case.n, case.weight, plain)
        expected = case.naive(1)

        assert expected == listed(best)
        assert (best.ended, best.bound) == ("all", max([items[2] for items in expected], default=0))
        assert expected == listed(mining.top_maximal(case.cells, case.y, case.weight, plain))


@pytest.mark.parametrize("chunk", range(10))
def test_limits(chunk):
    """A search that is cut short returns maximal sets, and a bound that holds."""
    for seed in range(chunk * 30, chunk * 30 + 30):
        case = Case(seed, rows=20, items=9)
        nodes = case.rule._replace(nodes=1 + seed % 12, l_diversity=1)
        best = naive.heaviest(case.rows, case.y, case.weight.tolist(), case.rule.k, 1, 10**6)
        for actual_best in (mining.top_by_rows(case.cells, case.y, case.weight, nodes),
                            mining.top_by_items(case.cells, case.n, case.weight, nodes),
                            mining.top_maximal(case.cells, case.y, case.weight, nodes)):
            assert all(items in best for items in listed(actual_best))
            assert actual_best.bound >= max([items[2] for items in best], default=0)
            assert actual_best.ended == "all" or actual_best.nodes > nodes.nodes


@pytest.mark.parametrize("chunk", range(5))
def test_least(chunk):
    """Sets that are worth less than `least` are left out, and nothing else is."""
    for case in cases(chunk):
        least = case.rule._replace(least=3, l_diversity=1)
        expected = [items for items in case.naive(1) if items[2] >= 3]

        assert expected == listed(mining.top_by_rows(case.cells, case.y, case.weight, least))
        assert expected == listed(mining.top_by_items(case.cells, case.n, case.weight, least))


def test_toy():
    """The maximal sets of the paper's table at k = 2 are x1x2x5, x1x3x5 and x1x4x5."""
    toy = Items.dense([[j in row for j in range(5)] for row in TOY])

    assert [[0, 1, 4], [0, 2, 4], [0, 3, 4]] == list(
        mining.all_maximal((toy.indptr, toy.indices), 6, 2))


def test_cap():
    """More sets than the cap are no answer at all, and just as many are one."""
    items = Items.dense(np.eye(6, dtype=int).repeat(2, axis=0))
    cells = items.indptr, items.indices

    assert mining.all_maximal(cells, 12, 2, cap=5) is None
    assert len(mining.all_maximal(cells, 12, 2, cap=6)) == 6
    assert mining.all_maximal(cells, 12, 13).support.tolist() == []
    assert list(mining.all_maximal(cells, 12, 12)) == [[]]


def test_contract():
    """Arrays that do not fit are refused before a kernel sees them."""
    cells = np.array([0, 2, 3]), np.array([0, 1, 1], np.int32)
    y, weight = np.zeros(2, np.int32), np.ones(2, np.int64)
    with pytest.raises(ValueError, match="indices must be rows from 0 to 0"):
        mining.all_maximal(cells, 1, 2)
    with pytest.raises(ValueError, match="the rows of an item must rise"):
        mining.all_maximal((np.array([0, 2]), np.array([1, 1], np.int32)), 3, 2)
    with pytest.raises(ValueError, match="k must be at least 1"):
        mining.all_maximal(cells, 2, 0)
    with pytest.raises(ValueError, match="weights must not be negative"):
        mining.top_maximal(cells, y, -weight, TopRule(2))
    with pytest.raises(ValueError, match="r must be at least 1"):
        mining.top_maximal(cells, y, weight, TopRule(2, r=0))
    with pytest.raises(ValueError, match="does not use classes"):
        mining.top_by_items(cells, 2, weight, TopRule(2, l_diversity=2))
    with pytest.raises(TypeError, match="y must be a C-contiguous array of int32"):
        mining.top_by_rows(cells, y.astype(np.int64), weight, TopRule(2))


def hard(n=400, d=400):
    """Half-full noise: no search ends at k = 20."""
    items = Items.dense(np.random.default_rng(0).random((n, d)) < 0.5)
    return (items.indptr, items.indices), np.zeros(n, np.int32), np.ones(d, np.int64)


def test_time_limit():
    """A time limit ends a search before it is done; a full enumeration is then no answer."""
    cells, y, weight = hard()
    best = mining.top_maximal(cells, y, weight, TopRule(20), seconds=0.3)

    assert best.ended == "limit"
    assert best.bound >= best.value.max(initial=0)
    assert mining.all_maximal(cells, len(y), 20, cap=10**8, seconds=0.3) is None


INTERRUPTED = """
import signal, sys, threading, os, time
sys.path[:0] = sys.argv[1:]
from test_mining import hard
from privsieve.kernels import mining
cells, y, weight = hard()
def strike():
    time.sleep(0.7)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=strike).start()
print(mining.top_maximal(cells, y, weight, mining.TopRule(20), seconds=60).ended)
threading.Thread(target=strike).start()
try:
    mining.all_maximal(cells, len(y), 20, cap=10**9, seconds=60)
except KeyboardInterrupt:
    print("raised")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are of another kind there")
def test_interrupt(implementation):
    """Ctrl-C ends a search with what it has; of a full enumeration it leaves nothing."""
    env = {**os.environ, "PRIVSIEVE_KERNELS": "numpy" if serves() == "numpy" else ""}
    run = subprocess.run([sys.executable, "-c", INTERRUPTED, *sys.path], env=env,
                         capture_output=True, text=True, timeout=50, check=False)

    assert run.stdout.split() == ["interrupted", "raised"], run.stderr
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@once
@pytest.mark.parametrize("seed", range(8))
def test_twins(seed, monkeypatch):
    """Native and Python give the same bits on larger tables."""
    rng = np.random.default_rng(seed)
    n, d = [(90, 70), (300, 20), (30, 300), (400, 16)][seed % 4]
    density = rng.random(d) * [0.4, 0.5, 0.3, 0.3][seed % 4] + [0, 0, 0, 0.6][seed % 4]
    items = Items.dense(rng.random((n, d)) < density)
    cells, k = (items.indptr, items.indices), [4, 9, 3, 60][seed % 4]
    y, weight = rng.integers(0, 3, n).astype(np.int32), rng.integers(0, 50, d)
    both = []
    for which in ("native", "numpy"):
        serve(which, monkeypatch)
        plain, diverse = (mining.top_by_items(cells, n, weight, TopRule(k, r=7)),
                          mining.top_by_rows(cells, y, weight, TopRule(k, 2, r=7)))
        sets = mining.all_maximal(cells, n, k), plain.sets, diverse.sets
        both.append([plain.value, diverse.value, plain.bound, diverse.bound,
                     *(array for single_sets in sets
                       for array in (single_sets.indptr, single_sets.items, single_sets.support))])
    for ours, theirs in zip(*both, strict=True):
        assert np.array_equal(ours, theirs)
        assert getattr(ours, "dtype", None) == getattr(theirs, "dtype", None)


@once
def test_close_up():
    """Columns of a line of bits are closed up alike by all loops that this machine has."""
    rng = np.random.default_rng(7)
    for words in range(1, 9):
        for density in (0, 0.05, 0.5, 0.97, 1):
            bits, by = (rng.random((2, words * 64)) < [[0.5], [density]])
            packed = [np.packbits(line, bitorder="little").view(np.uint64) for line in (bits, by)]
            expected = np.zeros(words * 64 + 64, bool)
            expected[: by.sum()] = bits[by]
            line = np.packbits(expected, bitorder="little").view(np.uint64)
            for close_up in native.close_ups(*packed):
                assert np.array_equal(line, close_up)
