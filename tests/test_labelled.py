"""Laws of a class that may be known: each class of a group keeps k; kernels, choices and refusals.

Where the class of a row may be known as well, everything is as if one item for each class were
always published.  The loops know nothing of items of classes: they count rows of the same class.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest

import cp_sat
import naive_containment as naive
import naive_search
from kernel_calls import serve
from privsieve.containment.choose import demand_rule, exact, greedy, maximal
from privsieve.containment.knowledge import Knowledge, kept_rows, standing
from privsieve.containment.labelled import Labelled, as_known
from privsieve.containment.measures import closed
from privsieve.containment.publish import project
from privsieve.containment.publishable import by_sources, publishable
from privsieve.errors import NothingFits, ParameterError
from privsieve.kernels import patterns
from privsieve.kernels.patterns import Rule
from privsieve.kernels.search import search
from privsieve.rows.matrix import Items

PARTS, EACH = range(2), 60  # random tables: 120


@pytest.fixture(params=["native", "numpy"])
def implementation(request, monkeypatch):
    """Each implementation in turn."""
    serve(request.param, monkeypatch)


class Case:
    """A random table with a rule under which classes may be known."""

    def __init__(self, seed, most=14):
        rng = np.random.default_rng([12, seed])
        n, self.d = int(rng.integers(4, most + 1)), int(rng.integers(1, 8))
        classes = int(rng.integers(1, 4))
        matrix = rng.random((n, self.d)) < rng.choice([0.2, 0.5, 0.8], self.d)
        self.n, self.rows = n, [set(np.flatnonzero(row).tolist()) for row in matrix]
        self.items = Items.dense(matrix)
        self.cells = self.items.indptr, self.items.indices
        self.y = rng.permutation(np.arange(n) * classes // n).astype(np.int32)
        self.hidden = rng.random(n) < rng.choice([0, 0.3])
        self.label = np.where(self.hidden, self.y + classes, self.y).astype(np.int32)
        self.order = rng.permutation(self.d)
        self.weights = rng.integers(1, 9, self.d)
        self.sources = rng.integers(0, n, n).astype(np.int32)
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


def cases(part, each=EACH, **given):
    """The random tables of a part."""
    return [Case(seed, **given) for seed in range(part * each, (part + 1) * each)]


def fitting(part, each=EACH, **given):
    """Those whose empty set keeps the rule."""
    return [case for case in cases(part, each, **given) if case.fits()]


# kernels


@cache
def loops(part):
    """What the loops choose, once for both implementations."""
    found = []
    for case in cases(part):
        rows, y, hidden, rule = case.rows, case.y.tolist(), case.hidden, case.rule
        order = case.order.tolist()

        def apart(S, rows=rows, y=y, hidden=hidden):
            return naive.told_apart(rows, y, hidden, S)

        def right(S, rows=rows, y=y, hidden=hidden, k=rule.k):
            return -naive.errors(rows, y, hidden, S, k)

        found.append([naive.greedy(rows, y, order, rule),
                      naive.best_first(rows, y, order[1:], order[:1], rule, apart, 1),
                      naive.best_first(rows, y, order[1:], order[:1], rule, right, None)])
    return found


def kernels(case, rule):
    """What the kernels choose."""
    given, first, rest = (case.cells, case.label), case.order[:1], case.order[1:]
    return [patterns.greedy(*given, case.order, rule).tolist(),
            patterns.lazy_distinct(*given, rest, rule, first).tolist(),
            patterns.class_errors(*given, rest, rule, first).tolist()]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.usefixtures("implementation")
def test_choices(part):
    """The three greedy choices are those of the loops, item by item."""
    found = [kernels(case, case.rule) for case in cases(part)]

    assert loops(part) == found


@pytest.mark.usefixtures("implementation")
def test_the_laws_see_it():
    """A kernel that takes classes for unknown chooses otherwise on many of these tables."""
    wrong = [kernels(case, replace(case.rule, labelled=False))
             for part in PARTS for case in cases(part)]
    right = [found for part in PARTS for found in loops(part)]

    assert sum(a != b for a, b in zip(wrong, right, strict=True)) > 24
    assert sum(any(found) for found in right) > 60


@pytest.mark.usefixtures("implementation")
def test_as_if_classes_were_items():
    """Without l, a choice is the one from the table with an item for each class, chosen first."""
    several = 0
    for case in (case for part in PARTS for case in cases(part)):
        rule = replace(case.rule, l_diversity=1, suppress=0, stop="skip")
        if np.bincount(case.y).min() < rule.k:
            continue
        many = int(case.y.max()) + 1
        both = as_known(case.items, None, ("class", case.y, [str(c) for c in range(many)]))
        absent = None if rule.absent is None else np.append(rule.absent, np.zeros(many, np.bool_))
        first = np.arange(case.d, len(both))
        plain = replace(rule, absent=absent, labelled=False)
        found = patterns.greedy((both.indptr, both.indices), case.label,
                                np.concatenate([first, case.order]), plain)
        several += len(found) > len(first)

        assert found.tolist() == [*first, *patterns.greedy(case.cells, case.label, case.order,
                                                           rule)]
    assert several > 60


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.usefixtures("implementation")
def test_optimum(part):
    """The exact search proves the optimum that trying all sets finds."""
    chosen = 0
    for case in cases(part, 25, most=12):
        for worth in (case.weights, None):
            found = search(case.cells, case.label, worth, case.rule)
            best = naive_search.best(case.rows, case.y, case.hidden, worth, case.rule, case.d)
            chosen += len(found.selected) > 0

            assert (best, best, True) == (found.value, found.bound, found.proved)
            assert best < 0 or naive_search.keeps(case.rows, case.y, set(found.selected.tolist()),
                                                  case.rule)
    assert chosen > 10


@pytest.mark.usefixtures("implementation")
def test_what_stays():
    """The rows that stay hold the union of all sets of rows that keep the rule by themselves."""
    left_out = 0
    for case in cases(0, 40, most=9):
        S, rule = set(range(case.d)), case.rule
        sets = [set(some) for size in range(case.n + 1)
                for some in combinations(range(case.n), size)]
        kept = [some for some in sets
                if all(naive.kept(case.rows, case.y, S, rule, some, i) for i in some)]
        found = kept_rows(Labelled(case.items, case.y), rule, range(case.d))
        left_out += 0 < found.sum() < case.n

        assert sorted(set().union(*kept)) == np.flatnonzero(found).tolist()
    assert left_out > 5


# choices


@pytest.mark.parametrize("part", PARTS)
def test_standing(part):
    """The level is the smallest group of one class among those who stay, who are as counted."""
    for case in cases(part):
        S = set(case.order[: 1 + case.d // 2].tolist())
        left = naive.stays(case.rows, case.y, S, case.rule)
        groups = [{h for h in naive.group(case.rows, i, S, case.rule) & left
                   if case.y[h] == case.y[i]} for i in left]
        expected = min(map(len, groups), default=0), case.n - len(left)

        assert expected == standing(Labelled(case.items, case.y), case.rule, sorted(S))
        assert sorted(left) == np.flatnonzero(
            kept_rows(Labelled(case.items, case.y), case.rule, sorted(S))).tolist()


@pytest.mark.parametrize("part", PARTS)
def test_public_choices(part):
    """Each choice says its level and keeps the rule; the optimum is no worse than the others."""
    for case in fitting(part):
        rule = replace(case.rule, stop="skip")
        given = Labelled(case.items, case.y), rule
        chosen = [greedy(*given, by) for by in (case.weights, "distinct", "class-errors")]
        best = exact(*given, case.weights)
        if rule.model == "containment":
            chosen.append(maximal(*given, case.weights))
        for choice in (*chosen, best):
            level, suppressed = standing(*given, choice.selected)

            assert naive.feasible(case.rows, case.y, set(choice.selected), rule)
            assert (level, suppressed) == (choice.level, choice.suppressed)
            assert level >= rule.k
        assert best.proved
        assert best.objective >= chosen[0].objective


@pytest.mark.parametrize("part", PARTS)
def test_maximal(part):
    """What is mined is cut to what keeps the rule, and completed until nothing fits."""
    cut = 0
    for case in fitting(part):
        rule = replace(case.rule, model="containment", suppress=0)
        if np.bincount(case.y).min() < rule.k:
            continue
        table = Labelled(case.items, case.y)
        for by in (case.weights, np.ones(case.d, np.int64)):
            loose = maximal(table, replace(rule, labelled=False), by, complete=False)
            plain = maximal(table, rule, by, complete=False)
            whole = maximal(table, rule, by)
            S = set(whole.selected)
            more = set(range(case.d)) - S
            cut += loose.selected != plain.selected

            assert naive.feasible(case.rows, case.y, set(plain.selected), rule)
            assert set(plain.selected) <= S
            assert naive.feasible(case.rows, case.y, S, rule)
            assert not any(naive.feasible(case.rows, case.y, S | {j}, rule) for j in more)
    assert cut > 3


def test_second_opinion():
    """OR-Tools, asked for the same rule, finds the same optimum."""
    pytest.importorskip("ortools", reason="OR-Tools is not installed")
    chosen = 0
    for case in (case for part in range(5) for case in cases(part, 12)):
        rule = replace(case.rule, suppress=0)
        if not naive.feasible(case.rows, case.y, set(), rule):
            continue
        said = cp_sat.search(case.cells, case.y, case.weights, rule)
        best = naive_search.best(case.rows, case.y, case.hidden, case.weights, rule, case.d)
        chosen += len(said.selected) > 0

        assert (best, True) == (said.value, said.proved)
    assert chosen > 10


# what is said of columns


def test_closed():
    """Of each closed item the smallest crowd of one class is told, and the rows below k."""
    for case in (case for part in PARTS for case in cases(part, 20)):
        names = tuple(f"c{c}" for c in range(case.rule.classes))
        table = Labelled(case.items, case.y, names)
        expected = []
        for j in range(1, case.d):
            crowds = [naive.group(case.rows, i, {0, j}, case.rule) for i in range(case.n)]
            known = [sum(case.y[h] == case.y[i] for h in crowd) for i, crowd in enumerate(crowds)]
            poor = sum(len({case.y[h] for h in crowd}) < case.rule.l_diversity for crowd in crowds)
            expected.append([f"x{j}", min(known), sum(size < case.rule.k for size in known), poor])

        assert sorted(expected) == sorted(closed(table, case.rule, [0])["closed"])


def distinct_sources(case, S, model):
    """The sources of each row's class in its group, by loops."""
    rule = replace(case.rule, model=model)
    return [len({case.sources[h] for h in naive.group(case.rows, i, S, rule)
                 if case.y[h] == case.y[i]}) for i in range(case.n)]


@pytest.mark.parametrize("part", PARTS)
def test_sources(part):
    """Sources are counted within the class of a row, by all who count sources."""
    chosen = 0
    for case in cases(part):
        everything = set(range(case.d))
        table = Labelled(case.items, case.y, ("a", "b", "c"), sources=case.sources)
        found = Knowledge(case.items, None, (case.y,), case.sources).groups()
        for model, sizes in (("containment", found.sizes()), ("k-anonymity", found.equals())):
            rule = replace(case.rule, model=model)
            expected = distinct_sources(case, everything, model)

            known = Knowledge.of(table, replace(rule, labelled=True), range(case.d)).groups()
            assert expected == known.sizes().tolist()
            assert min(expected) == known.level()
            if case.rule.absent is None:
                assert expected == sizes.tolist()
        rule = replace(case.rule, l_diversity=1, suppress=0, k=2, stop="skip")
        if min(distinct_sources(case, set(), rule.model)) < 2:
            with pytest.raises(ParameterError, match=r"classes have rows of fewer than k = 2 "
                                                     r"sources|the rows are of"):
                by_sources(Labelled(case.items, case.y, sources=case.sources), rule, case.weights)
            continue
        choice = by_sources(Labelled(case.items, case.y, sources=case.sources), rule, case.weights)
        S = set(choice.selected)
        chosen += len(S) > 0

        assert min(distinct_sources(case, S, rule.model)) >= 2
        assert all(min(distinct_sources(case, S | {j}, rule.model)) < 2
                   for j in everything - S)
    assert chosen > 3


# refusals


SMALL = np.array([0] * 5 + [1] * 2 + [2], np.int32)
TABLE = Labelled(Items.dense(np.tri(8, 4, dtype=int)), SMALL)
SAYS = ("2 of 3 classes have fewer than k = 3 rows, 3 in all, and the class may be known; a class "
        "takes at least 3 rows: merge classes, leave the target unpublished, choose another")


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
    with pytest.raises(NothingFits, match="one alone keeps at most k = 4"):
        project(table, choice, rule, with_target=True)
