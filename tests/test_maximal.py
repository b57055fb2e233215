"""Laws of maximal sets as a method: which set is best, completion, the paper's e-mail."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import naive_containment
import naive_mining as naive
import real_data
from papers import containment as paper
from privsieve.containment.choose import choice_of, maximal, weights
from privsieve.containment.labelled import Labelled
from privsieve.errors import ParameterError
from privsieve.kernels import implementation, mining
from privsieve.kernels.patterns import Rule
from privsieve.rows.matrix import Items

#: The paper's Table 1, and labels that make x5 useless.
TOY = [[1, 0, 1, 0, 1], [1, 0, 1, 0, 1], [1, 0, 0, 1, 1],
       [1, 0, 1, 0, 1], [1, 1, 1, 0, 1], [1, 1, 0, 1, 1]]  # fmt: skip
TOY_Y = np.array([1, 0, 1, 1, 0, 0], np.int32)


class Case:
    """A random table of two or three classes, and a rule that it can keep."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(5, 14)), int(rng.integers(1, 8))
        matrix = rng.random((n, d)) < rng.choice([0.2, 0.5, 0.8], d)
        self.rows = [set(np.flatnonzero(row).tolist()) for row in matrix]
        self.items = Items.dense(matrix)
        classes = int(rng.integers(2, 4))
        self.y = rng.permutation(np.arange(n) % classes).astype(np.int32)
        absent = rng.random(d) < 0.4 if seed % 4 == 0 else None
        self.rule = Rule(int(rng.integers(2, 5)), classes, absent=absent,
                         l_diversity=int(rng.choice([1, 1, 2])))
        self.table = Labelled(self.items, self.y)
        self.allowed = [j for j in range(d) if absent is None or not absent[j]]

    def best(self, sets, objective):
        """The largest objective among these sets."""
        values = [choice_of(self.table, self.rule, S, objective).objective for S in sets]
        return max(values, default=0)

    def maximal(self, among):
        """The maximal sets of these items, by brute force."""
        return [S for S, _ in naive.maximal(self.rows, self.y, among, self.rule.k,
                                            self.rule.l_diversity)]


def cases(chunk, many=40):
    """The random tables of a part."""
    return [Case(seed) for seed in range(chunk * many, (chunk + 1) * many)]


def test_toy():
    """Completed, the toy's maximal frequent sets are its true maximal feasible ones."""
    items, rule = Items.dense(TOY), Rule(2, 2)
    rows = [{j for j in range(5) if row[j]} for row in TOY]
    sets = [tuple(S) for S in mining.all_maximal((items.indptr, items.indices), items.rows, 2)]
    ones = np.ones(5)
    completed = {maximal(Labelled(items, TOY_Y), rule, ones * 0.01 + np.isin(range(5), S),
                         ).selected for S in sets}
    feasible = [set(S) for S in naive.frequent([set(range(5))], [0], range(5), 1)
                if naive_containment.feasible(rows, TOY_Y, set(S), rule)]

    assert sets == [(0, 1, 4), (0, 2, 4), (0, 3, 4)]
    assert completed == {(0, 1, 4), (0, 2, 3, 4)}
    assert sorted(completed) == sorted(tuple(sorted(S)) for S in feasible
                                       if not any(S < other for other in feasible))
    assert len(feasible) == 20


@pytest.mark.parametrize("chunk", range(4))
def test_best_of_all(chunk):
    """What is chosen is the best maximal set by any weights."""
    for case in cases(chunk):
        for objective in ("hamming", "mutual-information", np.ones(len(case.items))):
            values = weights(case.items, case.y, case.rule.classes, objective).values
            useful = [j for j in case.allowed if values[j] > 0]
            maximum = maximal(case.table, case.rule, objective, complete=False)
            sets = case.maximal(useful)

            assert case.best(sets, objective) == maximum.objective
            assert not sets or sorted(maximum.selected) in sets


@pytest.mark.parametrize("chunk", range(4))
def test_completion(chunk):
    """A completed set contains a best maximal one, keeps the rule, and no item of weight fits."""
    for case in cases(chunk):
        plain = maximal(case.table, case.rule, "hamming", complete=False)
        whole = maximal(case.table, case.rule, "hamming")
        S = set(whole.selected)

        assert set(plain.selected) <= S
        assert naive_containment.feasible(case.rows, case.y, S, case.rule)
        assert whole.level >= case.rule.k
        values = weights(case.items, case.y, case.rule.classes, "hamming").values
        assert not any(naive_containment.feasible(case.rows, case.y, S | {j}, case.rule)
                       for j in range(len(case.items)) if values[j] > 0 and j not in S)


def test_labels_of_some_rows():
    """Weights use the marked rows' labels only; k holds on all rows."""
    rng = np.random.default_rng(5)
    items = Items.dense(rng.random((60, 12)) < 0.5)
    y, marked = rng.integers(0, 2, 60).astype(np.int32), rng.random(60) < 0.5
    other = np.where(marked, y, 1 - y).astype(np.int32)
    first, two = (maximal(Labelled(items, labels, marked=marked), Rule(6, 2))
                  for labels in (y, other))

    assert first == two
    assert first.level >= 6


def test_refusals():
    """What cannot be mined is refused in a sentence that says the way out."""
    table = Labelled(Items.dense(TOY), TOY_Y)
    with pytest.raises(ParameterError, match="only under containment; choose greedy or exact"):
        maximal(table, Rule(2, 2, model="k-anonymity"))
    with pytest.raises(ParameterError, match="time_limit is 0; give seconds above 0"):
        maximal(table, Rule(2, 2), "hamming", 0)
    with pytest.raises(ParameterError, match="need a weight for each item; choose greedy"):
        maximal(table, Rule(2, 2), "distinct")
    with pytest.raises(ParameterError, match="k is 1"):
        maximal(table, Rule(1, 2))


#: The twin would take minutes on the e-mail.
fast = pytest.mark.skipif(implementation() == "numpy", reason="too large for loops in Python")


@fast
@pytest.mark.parametrize(("k", "largest", "mutual", "mixed"), [
    (5, 694, 689, 317), (8, 617, 620, 293), (11, 577, 577, 261)])
def test_email(k, largest, mutual, mixed):
    """The paper's e-mail: the largest sets, the heaviest completed, and with two classes."""
    items, y = real_data.email()
    rule, diverse = Rule(k, 2), Rule(k, 2, l_diversity=2)

    even = np.ones(len(items), np.int64)
    assert len(maximal(Labelled(items, y), rule, even, complete=False).selected) == largest
    whole = maximal(Labelled(items, y), rule)
    assert (len(whole.selected), whole.level) == (mutual, k)
    two = maximal(Labelled(items, y), diverse)
    assert (len(two.selected), two.level) == (mixed, k)


@fast
def test_email_paper_rule():
    """The best of the 20 largest by HamDist is not larger than the heaviest of all."""
    items, y = real_data.email()
    printed = paper.maximal(items, y, 5)
    best = maximal(Labelled(items, y), Rule(5, 2), "hamming", complete=False)

    assert Fraction(0) < printed.objective <= best.objective
    assert printed.level >= 5
    assert best.level >= 5


def test_adult():
    """On Adult no frequent set holds two levels of an attribute; the completion does better."""
    items, y = real_data.adult()
    maximum = maximal(Labelled(items, y), Rule(5, 2), "hamming", complete=False)
    whole = maximal(Labelled(items, y), Rule(5, 2), "hamming")

    assert len(maximum.selected) == 8
    assert len(whole.selected) > 8
    assert whole.objective > maximum.objective
