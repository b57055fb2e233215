"""Laws of the exact search: the optimum is one, a bound holds, limits and interrupts are kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

import cp_sat
import naive_search as naive
from kernel_calls import serve
from privsieve.containment.choose import exact, gap, weights
from privsieve.containment.labelled import Labelled
from privsieve.errors import ParameterError
from privsieve.kernels.patterns import Rule
from privsieve.kernels.search import Effort, search
from privsieve.rows.matrix import Items
from real_data import adult

IMPLEMENTATIONS = ("native", "numpy")
PARTS, EACH = range(10), 30  # random tables: 300 in all
#: HamDist of the proved optimum on Adult, as the evidence page has it.
ADULT = {5: "5.447", 8: "5.216", 11: "5.209"}
SOLVER = pytest.mark.skipif(find_spec("ortools") is None, reason="OR-Tools is not installed")


class Case:
    """A random table, rule and objective: all that can be asked for occurs."""

    def __init__(self, seed, rows=(2, 13), items=(1, 7)):
        rng = np.random.default_rng(seed)
        n, self.d = int(rng.integers(*rows)), int(rng.integers(*items))
        classes = int(rng.integers(1, 4))
        matrix = rng.random((n, self.d)) < rng.choice([0.2, 0.5, 0.8], self.d)
        twin = rng.integers(self.d, size=2)
        matrix[:, twin[0]] = matrix[:, twin[1]] ^ (seed % 5 == 1)
        self.rows = [set(np.flatnonzero(row).tolist()) for row in matrix]
        self.y = rng.integers(0, classes, n).astype(np.int32)
        self.hidden = rng.random(n) < rng.choice([0, 0, 0.3])
        self.label = np.where(self.hidden, self.y + classes, self.y).astype(np.int32)
        items = Items.dense(matrix)
        self.cells = items.indptr, items.indices
        self.weights = rng.integers(0, 9, self.d) if seed % 3 else None
        self.start = rng.permutation(self.d)[: rng.integers(self.d + 1)]
        self.rule = Rule(
            k=int(rng.integers(1, 5)), classes=classes,
            model="k-anonymity" if rng.random() < 0.2 else "containment",
            l_diversity=int(rng.integers(1, min(classes, 2) + 1)),
            absent=rng.random(self.d) < 0.4 if rng.random() < 0.3 else None,
            suppress=int(rng.integers(0, min(n, 4))) if rng.random() < 0.3 else 0,
        )  # fmt: skip
        if rng.random() < 0.4:
            self.rule = replace(self.rule, labelled=True, k=1 + self.rule.k // 2)

    def answers(self, monkeypatch, nodes=0):
        """What either implementation finds: which of the best sets it is, each may say."""
        for which in IMPLEMENTATIONS:
            serve(which, monkeypatch)
            yield search(self.cells, self.label, self.weights, self.rule, self.start, Effort(nodes))

    def best(self):
        """The optimum by trying all sets."""
        return naive.best(self.rows, self.y, self.hidden, self.weights, self.rule, self.d)

    def holds(self, choice):
        """Whether a set keeps the rule and has the value that is said."""
        S = set(choice.selected.tolist())
        value = naive.score(self.rows, self.y, self.hidden, self.weights, S)
        return choice.value == value and naive.keeps(self.rows, self.y, S, self.rule)


@pytest.mark.parametrize("chunk", PARTS)
def test_brute_force(chunk, monkeypatch):
    """The proved optimum is the best of all sets, for both objectives, models and l."""
    for seed in range(chunk * EACH, (chunk + 1) * EACH):
        case = Case(seed)
        best = case.best()
        for choice in case.answers(monkeypatch):
            assert (choice.value, choice.bound, choice.proved) == (best, best, True), seed
            assert choice.value < 0 or case.holds(choice), seed


@pytest.mark.parametrize("chunk", PARTS)
def test_bound(chunk, monkeypatch):
    """A search that is stopped knows a set that keeps the rule and a bound on all of them."""
    for seed in range(chunk * 5, (chunk + 1) * 5):
        case = Case(seed, rows=(12, 20), items=(7, 9))
        best = case.best()
        for choice in case.answers(monkeypatch, 1 + seed % 3):
            assert choice.value <= best <= choice.bound, seed
            assert choice.value < 0 or case.holds(choice), seed
            assert choice.proved == (choice.value == choice.bound), seed


@pytest.mark.parametrize("seed", range(6))
def test_one_optimum(seed, monkeypatch):
    """Where all sets are too many to try, both implementations prove the same optimum."""
    items, y = random_table(60, 16, 0.3, 2000 + seed)
    spread = np.random.default_rng(seed).integers(1, 10**6, 16) if seed % 2 else None
    optima = []
    for which in IMPLEMENTATIONS:
        serve(which, monkeypatch)
        optima.append(search((items.indptr, items.indices), y, spread, Rule(4, 2), None)[1:4])

    assert optima[0] == optima[1]
    assert optima[0][2]


def random_table(n, d, density, seed=0):
    """Items of a random table, and two classes."""
    rng = np.random.default_rng(seed)
    return Items.dense(rng.random((n, d)) < density), rng.integers(0, 2, n).astype(np.int32)


def test_choice():
    """The choice says what was asked: the paper's average, its level, bound and proof."""
    items, y = random_table(60, 12, 0.3)
    marked = np.arange(60) < 40
    for objective in ("hamming", "distinct", "mutual-information", np.arange(12)):
        choice = exact(Labelled(items, y, marked=marked), Rule(4, 2), objective)
        shorter = replace(choice, bound=choice.objective * 2)

        assert choice.proved
        assert choice.level >= 4
        assert choice.bound == choice.objective
        assert (gap(choice), gap(shorter)) == (0, 1)


def test_limit_is_kept():
    """A time limit ends a search, and what is not proved then has a bound above the value."""
    items, y = random_table(1000, 60, 0.3)
    choice = exact(Labelled(items, y), Rule(5, 2), "hamming", 0.5)

    assert not choice.proved
    assert choice.bound > choice.objective > 0
    assert gap(choice) > 0


def test_limit_changes_no_proof():
    """What is proved within a limit is what is proved without one."""
    items, y = random_table(150, 70, 0.2)
    for rule in (Rule(8, 2), Rule(8, 2, l_diversity=2), Rule(8, 2, model="k-anonymity")):
        limited, free = (exact(Labelled(items, y), rule, "hamming", t) for t in (300, None))

        assert limited == free
        assert free.proved


INTERRUPTED = """
import os, signal, sys, threading
import numpy as np
from privsieve.containment.choose import exact
from privsieve.containment.labelled import Labelled
from privsieve.rows.matrix import Items
from privsieve.kernels.patterns import Rule
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
rng = np.random.default_rng(0)
items = Items.dense(rng.random((1000, 60)) < 0.3)
y = rng.integers(0, 2, 1000).astype(np.int32)
threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
choice = exact(Labelled(items, y), Rule(5, 2), "hamming", None)
print(choice.proved, choice.level >= 5, choice.bound > choice.objective > 0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a process of one's own")
@pytest.mark.parametrize("kernels", IMPLEMENTATIONS)
def test_interrupt(kernels):
    """An interrupt ends the search, and the best so far comes back with its bound."""
    run = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True,
                         timeout=120, check=False, env={**os.environ, "PRIVSIEVE_KERNELS": kernels})

    assert (run.stdout.split(), run.returncode) == (["False", "True", "True"], 0), run.stderr


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer signal")
def test_other_signals():
    """Another signal's error is the user's: it is not swallowed."""
    class Alarm(Exception):
        pass

    def ring(*_):
        raise Alarm

    items, y = random_table(1000, 60, 0.3)
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(Alarm):
            exact(Labelled(items, y), Rule(5, 2), "hamming", 30)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("k", ADULT)
def test_adult(k):
    """The optimum on Adult is the one of the evidence page, proved."""
    items, y = adult()
    choice = exact(Labelled(items, y), Rule(k, 2), "hamming", None)

    assert f"{float(choice.objective):.3f}" == ADULT[k]
    assert choice.proved
    assert choice.level >= k


@SOLVER
@pytest.mark.parametrize("model", ["containment", "k-anonymity"])
@pytest.mark.parametrize("k", ADULT)
def test_adult_twice(k, model):
    """Branch and bound and OR-Tools find the same optimum on Adult, each with a proof."""
    items, y = adult()
    rule, values = Rule(k, 2, model=model), weights(items, y, 2, "hamming").values
    cells = items.indptr, items.indices
    ours = search(cells, y, values, rule)
    other = cp_sat.search(cells, y, values, rule, seconds=300)

    assert (ours.value, ours.proved) == (other.value, other.proved)
    assert other.proved


@SOLVER
def test_second_opinion():
    """OR-Tools finds the same optimum on random tables, for both models and two classes a group."""
    for seed, model in enumerate(("containment", "k-anonymity", "containment")):
        items, y = random_table(80, 14, 0.4, seed)
        rule = Rule(4, 2, model=model, l_diversity=1 + seed // 2, absent=np.arange(14) < seed)
        values = weights(items, y, 2, "hamming").values
        choice = exact(Labelled(items, y), rule, "hamming")
        for start in ((), choice.selected[:1]):
            other = cp_sat.search((items.indptr, items.indices), y, values, rule, start, 300)

            assert (values[list(choice.selected)].sum(), True) == (other.value, other.proved)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"rule": Rule(1, 2)}, "k is 1: a group of one protects nobody; choose at least 2"),
        ({"objective": "class-errors"}, "exact search cannot use class-errors"),
        ({"time_limit": 0}, "time_limit is 0; give seconds above 0, or None"),
        ({"rule": Rule(3, 3, l_diversity=3)}, "no set of columns keeps l_diversity = 3 with k = 3"),
    ],
)
def test_refused(wrong, text):
    """What cannot be answered is refused, and the words say what can."""
    items, y = random_table(30, 6, 0.4)
    options = {"rule": Rule(3, 2), "objective": "hamming", **wrong}
    with pytest.raises(ParameterError, match=text):
        exact(Labelled(items, y), **options)


def test_too_many(monkeypatch):
    """More columns than memory has room for are refused, before anything is searched."""
    from privsieve.containment import choose as module

    monkeypatch.setattr(module, "MANY", 5)
    items, y = random_table(30, 6, 0.4)
    with pytest.raises(ParameterError, match="6 columns could be chosen, but"):
        exact(Labelled(items, y), Rule(3, 2), "hamming")
