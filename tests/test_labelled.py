"""Laws of a class that may be known: each class of a group keeps k; choices and refusals.

The loops count rows of the same class; that kernels and the exact search agree with them where a
class may be known is tested in test_patterns and test_exact.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import naive_containment as naive
from privsieve.containment.choose import demand_rule, exact, greedy, maximal
from privsieve.containment.knowledge import kept_rows, measure_selection
from privsieve.containment.labelled import Labelled
from privsieve.containment.measures import closed
from privsieve.containment.publish import project
from privsieve.containment.publishable import publishable
from privsieve.errors import NothingFits, ParameterError
from privsieve.kernels.patterns import Rule
from privsieve.rows.matrix import Items

PARTS, EACH = range(2), 60  # random tables: 120


class Case:
    """A random table with a rule under which classes may be known."""

    def __init__(self, seed):
        rng = np.random.default_rng([12, seed])
        n, self.d = int(rng.integers(4, 15)), int(rng.integers(1, 8))
        classes = int(rng.integers(1, 4))
        matrix = rng.random((n, self.d)) < rng.choice([0.2, 0.5, 0.8], self.d)
        self.n, self.rows = n, [set(np.flatnonzero(row).tolist()) for row in matrix]
        self.items = Items.dense(matrix)
        self.y = rng.permutation(np.arange(n) * classes // n).astype(np.int32)
        self.order = rng.permutation(self.d)
        self.weights = rng.integers(1, 9, self.d)
        self.rule = Rule(
            k=int(rng.choice([2, 2, 2, 3, 4, 5])), classes=classes,
            stop=str(rng.choice(["skip", "skip", "break"])),
            model=str(rng.choice(["containment"] * 2 + ["k-anonymity"])),
            l_diversity=int(rng.integers(1, classes + 1)),
            absent=rng.random(self.d) < 0.4 if rng.random() < 0.4 else None,
            suppress=int(rng.integers(0, 4)) if n > 8 else 0, labelled=True)  # fmt: skip

    def fits(self):
        """Whether the rule is one that containment takes for this table."""
        try:
            demand_rule(Labelled(self.items, self.y), self.rule)
        except ParameterError:
            return False
        return naive.feasible(self.rows, self.y, set(), self.rule)


def cases(chunk, each=EACH):
    """The random tables of a part."""
    return [Case(seed) for seed in range(chunk * each, (chunk + 1) * each)]


def fitting(chunk):
    """Those whose empty set keeps the rule."""
    return [case for case in cases(chunk) if case.fits()]


@pytest.mark.parametrize("chunk", PARTS)
def test_standing(chunk):
    """The level is the smallest group of one class among those who stay, who are as counted."""
    for case in cases(chunk):
        S = set(case.order[: 1 + case.d // 2].tolist())
        left = naive.stays(case.rows, case.y, S, case.rule)
        groups = [{h for h in naive.group(case.rows, i, S, case.rule) & left
                   if case.y[h] == case.y[i]} for i in left]
        expected = min(map(len, groups), default=0), case.n - len(left)

        assert expected == measure_selection(Labelled(case.items, case.y), case.rule, sorted(S))
        assert sorted(left) == np.flatnonzero(
            kept_rows(Labelled(case.items, case.y), case.rule, sorted(S))).tolist()


@pytest.mark.parametrize("chunk", PARTS)
def test_public_choices(chunk):
    """Each choice says its level and keeps the rule; the optimum is no worse than the others."""
    for case in fitting(chunk):
        rule = replace(case.rule, stop="skip")
        arguments = Labelled(case.items, case.y), rule
        chosen = [greedy(*arguments, by) for by in (case.weights, "distinct", "class-errors")]
        best = exact(*arguments, case.weights)
        if rule.model == "containment":
            chosen.append(maximal(*arguments, case.weights))
        for choice in (*chosen, best):
            level, suppressed = measure_selection(*arguments, choice.selected)

            assert naive.feasible(case.rows, case.y, set(choice.selected), rule)
            assert (level, suppressed) == (choice.level, choice.suppressed)
            assert level >= rule.k
        assert best.proved
        assert best.objective >= chosen[0].objective


@pytest.mark.parametrize("chunk", PARTS)
def test_maximal(chunk):
    """What is mined is cut to what keeps the rule, and completed until nothing fits."""
    cut = 0
    for case in fitting(chunk):
        rule = replace(case.rule, model="containment", suppress=0)
        if np.bincount(case.y).min() < rule.k:
            continue
        table = Labelled(case.items, case.y)
        for by in (case.weights, np.ones(case.d, np.int64)):
            loose = maximal(table, replace(rule, labelled=False), by, complete=False)
            plain = maximal(table, rule, by, complete=False)
            whole = maximal(table, rule, by)
            S = set(whole.selected)
            others = set(range(case.d)) - S
            cut += loose.selected != plain.selected

            assert naive.feasible(case.rows, case.y, set(plain.selected), rule)
            assert set(plain.selected) <= S
            assert naive.feasible(case.rows, case.y, S, rule)
            assert not any(naive.feasible(case.rows, case.y, S | {j}, rule) for j in others)
    assert cut > 3


# what is said of columns


def test_closed():
    """Of each closed item the smallest group of one class is told, and the rows below k."""
    for case in (case for column in PARTS for case in cases(column, 20)):
        names = tuple(f"c{c}" for c in range(case.rule.classes))
        table = Labelled(case.items, case.y, names)
        expected = []
        for j in range(1, case.d):
            crowds = [naive.group(case.rows, i, {0, j}, case.rule) for i in range(case.n)]
            known = [sum(case.y[h] == case.y[i] for h in crowd) for i, crowd in enumerate(crowds)]
            poor = sum(len({case.y[h] for h in crowd}) < case.rule.l_diversity for crowd in crowds)
            expected.append([f"x{j}", min(known), sum(size < case.rule.k for size in known), poor])

        assert sorted(expected) == sorted(closed(table, case.rule, [0])["closed"])


# refusals


SMALL = np.array([0] * 5 + [1] * 2 + [2], np.int32)
TABLE = Labelled(Items.dense(np.tri(8, 4, dtype=int)), SMALL)
SAYS = (r"2 of 3 classes have fewer than k = 3 rows \(3 in all\), and an attacker may know the "
        r"class; each class needs at least 3: merge classes, leave the target unpublished, choose")


@pytest.mark.parametrize("choose", [
    greedy, exact, maximal, demand_rule, lambda table, rule: publishable(table, rule, "strict")])
def test_a_class_below_k(choose):
    """A class of fewer than k rows is refused, unless its rows may be left out."""
    with pytest.raises(ParameterError, match=SAYS):
        choose(TABLE, Rule(3, 3, labelled=True))
    with pytest.raises(ParameterError, match=SAYS):
        choose(TABLE, Rule(3, 3, labelled=True, suppress=2))

    demand_rule(TABLE, Rule(3, 3))
    assert greedy(TABLE, Rule(3, 3, labelled=True, suppress=3)).level >= 3


def test_nothing_fits():
    """Where no column keeps k the sentence names what the largest support allows."""
    items = Items.dense([[1], [1], [1], [1], [0], [0], [0], [0]])
    table = Labelled(items, np.array([0, 0, 1, 1] * 2, np.int32), ("a", "b"), "ill")
    rule = Rule(3, 2, labelled=True)

    choice = greedy(Labelled(items, table.y), rule, np.ones(1, np.int64))
    with pytest.raises(NothingFits, match="one column alone keeps at most k = 4"):
        project(table, choice, rule, with_target=True)
