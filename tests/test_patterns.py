"""Law: naive.  The pattern kernels, native and NumPy, against loops over sets."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest

import naive_containment as naive
from kernel_calls import serve
from privsieve.containment.knowledge import Knowledge
from privsieve.kernels import patterns
from privsieve.kernels.patterns import Rule
from privsieve.rows.matrix import Items
from row_groups import levels

PARTS = range(20)
EACH = 40  # random tables per part: 800 in all
#: The paper's Table 1: what each of its six rows holds.
TOY = [{0, 2, 4}, {0, 2, 4}, {0, 3, 4}, {0, 2, 4}, {0, 1, 2, 4}, {0, 1, 3, 4}]


@pytest.fixture(params=["native", "numpy"], autouse=True)
def implementation(request, monkeypatch):
    """Every law holds for each implementation."""
    serve(request.param, monkeypatch)


class Case:
    """A random table with a random rule: all that a rule can say occurs."""

    def __init__(self, seed, rows=13, items=7, plain=False):
        rng = np.random.default_rng(seed)
        self.n, self.d = int(rng.integers(0, rows + 1)), int(rng.integers(1, items + 1))
        self.classes = int(rng.integers(2, 4))
        matrix = rng.random((self.n, self.d)) < rng.choice([0.2, 0.5, 0.8], self.d)
        self.rows = [set(np.flatnonzero(row).tolist()) for row in matrix]
        self.y = rng.integers(0, self.classes, self.n).astype(np.int32)
        self.hidden = rng.random(self.n) < rng.choice([0, 0.3])
        self.label = np.where(self.hidden, self.y + self.classes, self.y).astype(np.int32)
        self.items = Items.dense(matrix.reshape(self.n, self.d))
        self.cells = self.items.indptr, self.items.indices
        self.order = rng.permutation(self.d)
        self.absent = rng.random(self.d) < 0.5 if rng.random() < 0.3 else None
        self.rule = Rule(
            k=int(rng.integers(1, 6)), classes=self.classes,
            stop=str(rng.choice(["skip", "break"])),
            model=str(rng.choice(["containment"] * 2 + ["k-anonymity"])),
            l_diversity=int(rng.choice([1, 1, 2, 3])), absent=self.absent,
            suppress=int(rng.integers(1, 5)) if rng.random() < 0.3 else 0)
        if rng.random() < 0.4:
            self.rule = replace(self.rule, labelled=True, k=1 + self.rule.k // 2)
        if plain:
            self.rule = Rule(self.rule.k, self.classes)


@cache
def expected(seed):
    """What the loops say, once for both implementations."""
    case = Case(seed)
    rows, y, hidden, rule = case.rows, case.y.tolist(), case.hidden, case.rule
    first, rest = case.order[:1].tolist(), case.order[1:].tolist()

    def apart(S):
        return naive.told_apart(rows, y, hidden, S)

    def right(S):
        return -naive.errors(rows, y, hidden, S, rule.k)

    return (naive.greedy(rows, y, case.order.tolist(), rule),
            naive.best_first(rows, y, case.order.tolist(), [], rule, apart, 1),
            naive.best_first(rows, y, rest, first, rule, apart, 1),
            naive.best_first(rows, y, case.order.tolist(), [], rule, right, None),
            naive.best_first(rows, y, rest, first, rule, right, None))


@pytest.mark.parametrize("chunk", PARTS)
def test_greedy_choices(chunk):
    """All greedy choices are those of the loops, item by item, for every kind of rule."""
    for seed in range(chunk * EACH, (chunk + 1) * EACH):
        case = Case(seed)
        arguments = case.cells, case.label
        first, rest = case.order[:1], case.order[1:]
        choices = (patterns.greedy(*arguments, case.order, case.rule),
                   patterns.lazy_distinct(*arguments, case.order, case.rule),
                   patterns.lazy_distinct(*arguments, rest, case.rule, first),
                   patterns.class_errors(*arguments, case.order, case.rule),
                   patterns.class_errors(*arguments, rest, case.rule, first))

        assert expected(seed) == tuple(choice.tolist() for choice in choices), seed


@pytest.mark.parametrize("chunk", PARTS)
def test_feasible(chunk):
    """Definition 4 read literally, rare subsets and the kernel agree on what keeps k."""
    for seed in range(chunk * EACH, (chunk + 1) * EACH):
        case = Case(seed, plain=True)
        S = set(case.order[: 1 + seed % case.d].tolist())
        literal = naive.feasible(case.rows, case.y, S, case.rule)
        accepted = patterns.greedy(case.cells, case.y, np.array(sorted(S)), case.rule)
        empty = not case.n or case.n >= case.rule.k

        assert literal == (not naive.rare_subset(case.rows, S, case.rule.k)), seed
        assert literal == (empty and len(accepted) == len(S)), seed


@pytest.mark.parametrize("chunk", PARTS)
def test_levels(chunk):
    """Groups, equal rows, classes and rows in whose group one sits, row by row."""
    for seed in range(chunk * EACH, (chunk + 1) * EACH):
        case = Case(seed)
        rule, all_items = Rule(2, case.classes, absent=case.absent), set(range(case.d))
        groups = [naive.group(case.rows, i, all_items, rule) for i in range(case.n)]
        level = levels(case.cells, case.y, case.classes, case.absent)
        known = Knowledge(case.items, case.absent).groups(case.y, case.classes)

        assert level.group.tolist() == [len(g) for g in groups], seed
        assert level.equal.tolist() == [case.rows.count(row) for row in case.rows], seed
        assert level.group.tolist() == known.sizes().tolist(), seed
        assert level.equal.tolist() == known.equals().tolist(), seed
        assert level.classes.tolist() == [len({case.y[h] for h in g}) for g in groups], seed
        assert level.held.tolist() == [sum(i in g for g in groups) for i in range(case.n)], seed


@pytest.mark.parametrize("chunk", PARTS)
def test_pattern_table(chunk):
    """Patterns are numbered by their first row, hold its items, and count all rows by class."""
    for seed in range(chunk * EACH, (chunk + 1) * EACH):
        case = Case(seed)
        masks, counts, pattern = patterns.pattern_table(case.cells, case.y, case.classes)
        wanted = naive.patterns(case.rows, set(range(case.d)))

        assert masks[:, 0].tolist() == [sum(2**j for j in items) for items in wanted], seed
        for p, members in enumerate(wanted.values()):
            assert np.flatnonzero(pattern == p).tolist() == members, seed
            labels = [case.y[i] for i in members]
            assert counts[p].tolist() == [labels.count(c) for c in range(case.classes)], seed


@pytest.mark.parametrize("chunk", PARTS)
def test_peel(chunk):
    """What stays is what the loops leave: the largest set of rows that keeps the rule."""
    for seed in range(chunk * EACH, (chunk + 1) * EACH):
        case = Case(seed)
        rule = Rule(case.rule.k, case.classes, l_diversity=case.rule.l_diversity,
                    absent=case.absent, labelled=case.rule.labelled)
        masks, counts, pattern = patterns.pattern_table(case.cells, case.y, case.classes,
                                                        case.absent)
        kept = patterns.peel(masks, counts, rule.k, rule.l_diversity, labelled=rule.labelled)
        wanted = naive.stays(case.rows, case.y, set(range(case.d)), rule)

        assert np.flatnonzero(kept[pattern, case.y]).tolist() == sorted(wanted), seed


def test_peel_is_largest():
    """No larger set of rows keeps the rule than the one that peeling leaves."""
    for seed in range(80):
        case, S = Case(seed, rows=8), set(range(7))
        rule = Rule(case.rule.k, case.classes, l_diversity=case.rule.l_diversity,
                    absent=np.resize(case.absent, 7) if case.absent is not None else None,
                    labelled=case.rule.labelled)
        sets = [set(some) for size in range(case.n + 1)
                for some in combinations(range(case.n), size)]
        kept = [some for some in sets
                if all(naive.kept(case.rows, case.y, S, rule, some, i) for i in some)]

        assert naive.stays(case.rows, case.y, S, rule) == set().union(*kept) == max(kept, key=len)


def test_class_counts():
    """Counts by class are those of the rows that hold the item; any number of classes."""
    for seed in range(200):
        case = Case(seed)
        classes = [2, 3, 300][seed % 3]
        y = np.random.default_rng(seed).integers(0, classes, case.n).astype(np.int32)
        counts = patterns.class_counts(*case.cells, y, classes)
        wanted = [np.bincount(y[sorted(naive.holds(case.rows, j))], minlength=classes).tolist()
                  for j in range(case.d)]

        assert counts.tolist() == wanted


@pytest.mark.parametrize("shape", [(40, 150, 0.5), (3000, 9, 0.9), (5000, 70, 0.05),
                                   (300, 64, 0.3)])
def test_supersets_of_many(shape):
    """Sums over containing masks agree with loops beyond one word, one block and few bits."""
    n, d, density = shape
    rng = np.random.default_rng(n)
    y = rng.integers(0, 3, n).astype(np.int32)
    items = Items.dense(rng.random((n, d)) < density * rng.random(d))
    absent = rng.random(d) < 0.3
    masks, counts, _ = patterns.pattern_table((items.indptr, items.indices), y, 3, absent)
    sets = [int.from_bytes(mask.tobytes(), "little") for mask in masks]
    some = rng.choice(len(sets), min(len(sets), 60), replace=False)
    wanted = [counts[[a & b == a for b in sets]].sum(0).tolist() for a in (sets[p] for p in some)]

    assert patterns.superset_counts(masks, counts)[some].tolist() == wanted


def test_toy():
    """The paper's Table 1 at k = 2: its row levels, 20 feasible sets, two of them maximal."""
    items = Items.dense([[j in row for j in range(5)] for row in TOY])
    cells, y = (items.indptr, items.indices), np.zeros(6, np.int32)
    sets = [set(S) for size in range(6) for S in combinations(range(5), size)]
    kept = [S for S in sets
            if len(patterns.greedy(cells, y, np.array(sorted(S), np.int64), Rule(2, 1))) == len(S)]
    maximal = [S for S in kept if not any(S < other for other in kept)]

    assert levels(cells, y, 1).group.tolist() == [4, 4, 2, 4, 1, 1]
    assert kept == [S for S in sets if naive.feasible(TOY, [0] * 6, S, Rule(2, 1))]
    assert len(kept) == 20
    assert maximal == [{0, 1, 4}, {0, 2, 3, 4}]


@cache
def many_classes():
    """A table of 70 classes, and what the loops choose of it for some l."""
    rng = np.random.default_rng(5)
    matrix = rng.random((250, 8)) < 0.5
    y = rng.integers(0, 70, 250).astype(np.int32)
    rules = [Rule(2, 70, l_diversity=l_diversity) for l_diversity in (2, 20, 65)]
    rows = [set(np.flatnonzero(row).tolist()) for row in matrix]
    return Items.dense(matrix), y, [(rule, naive.greedy(rows, y, range(8), rule)) for rule in rules]


@pytest.mark.slow
def test_many_classes():
    """Diversity counts classes beyond one word of them."""
    items, y, choices = many_classes()
    for rule, expected in choices:
        choice = patterns.greedy((items.indptr, items.indices), y, np.arange(8), rule)

        assert expected == choice.tolist()


@cache
def wide_choices():
    """A table of 90 items, and what the loops choose of it, with absences and without."""
    rng = np.random.default_rng(9)
    matrix = rng.random((60, 90)) < 0.04
    matrix[:, 80:] = matrix[:, :10]
    rows = [set(np.flatnonzero(row).tolist()) for row in matrix]
    y = rng.integers(0, 2, 60).astype(np.int32)
    rules = [Rule(k, 2, absent=absent) for absent in (None, rng.random(90) < 0.9) for k in (1, 2)]
    return rows, Items.dense(matrix), y, [(rule, naive.greedy(rows, y, range(90), rule))
                                          for rule in rules]


def test_wide_choice():
    """Choices of more than 64 items, and 128 with absences, are those of the loops."""
    rows, items, y, choices = wide_choices()
    cells = items.indptr, items.indices
    for rule, expected in choices:
        choice = patterns.greedy(cells, y, np.arange(90), rule)

        assert expected == choice.tolist()
        assert rule.k == 2 or len(choice) == 90
        assert len(patterns.pattern_table(cells, y, 2, rule.absent).masks) == len(
            {frozenset(row) for row in rows})


@pytest.mark.parametrize("fault", ["order", "twice", "rows", "falls", "classes", "absent"])
def test_contract(fault):
    """What does not fit is refused before a kernel sees it."""
    items, y, order, rule = Items.dense([[1, 0], [1, 1]]), np.zeros(2, np.int32), np.arange(2), \
        Rule(2, 1)
    cells = items.indptr, items.indices
    order = {"order": order + 1, "twice": order * 0}.get(fault, order)
    cells = (cells[0], cells[1] + np.int32(9)) if fault == "rows" else cells
    cells = (cells[0], cells[1][[1, 0, 2]]) if fault == "falls" else cells
    y = y - np.int32(1) if fault == "classes" else y
    rule = Rule(2, 1, absent=np.zeros(3, np.bool_)) if fault == "absent" else rule

    with pytest.raises(ValueError, match=r"must be|must rise|agree in length"):
        patterns.greedy(cells, y, order, rule)
