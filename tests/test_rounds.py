"""Law: rounds.  Shares add up, residuals and sums are those of loops, and copies do not come back.

How far a unit moves what meets noise is in test_neighbours.py.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import privsieve as ps
from privsieve.fit import fit
from privsieve.methods import rounds
from privsieve.methods.branches import ROUNDS_FROM
from privsieve.methods.rounds import Rounds
from privsieve.methods.rule_sieve_numeric import median_cell
from privsieve.noise.race import Race
from privsieve.noise.streams import replay
from privsieve.public.columns import read_finely
from privsieve.rows import open_source
from privsieve.rows.batch import Part
from privsieve.rows.cells import NumberRule
from privsieve.rows.room import Room
from privsieve.summaries import residuals
from privsieve.summaries.layout import Layout, cell_edges
from privsieve.summaries.numbers import MEDIAN_GRID
from privsieve.summaries.residuals import MOST, ODDS, STEP, UNIT, Residuals

COLUMNS = [ps.Number("a", 0, 1), ps.Number("b", 0, 1, missing="level"),
           ps.Category("c", ["A", "B", "C"]), ps.Flag("d"),
           *(ps.Number(f"x{j}", 0, 1) for j in range(8))]


def domain_of(classes=2):
    """Columns of all kinds, and a label."""
    return ps.Domain(COLUMNS, target=ps.Label("y", list(range(classes))))


def run_rounds(before=3, many=2, size=3, *, classes=2, level=False):
    """Some rounds."""
    return Rounds(domain_of(classes), 400, before, 12 - size, many, Fraction(9, 10), size, level)


def test_both_modules_count_alike():
    """The numbers that a plan knows without NumPy are those of the rows."""
    assert (rounds.UNIT, rounds.CELLS) == (UNIT, residuals.CELLS)


@pytest.mark.parametrize("level", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("before", "many", "size"), [(3, 2, 3), (2, 1, 2), (5, 4, 3), (4, 1, 2)])
def test_the_shares_add_up(before, many, size, classes, level):
    """The pair, the races and the steps cost the epsilon together, to the last part."""
    how = run_rounds(before, many, size, classes=classes, level=level)
    steps = how.fitted * how.share

    assert how.epsilon == how.first + many * how.race * how.share + steps + level * how.share
    assert how.fitted == before + many - 1
    sums = [event for event in how.events if hasattr(event, "moves")]
    spent = sum(Fraction(total.moves) / Fraction(total.scale) for total in sums)
    assert spent == steps * (1 - rounds.CUT) + level * how.share
    cuts = Race(rounds.CELLS - 1, 1, 1, how.share * rounds.CUT / 2).event
    assert 2 * how.fitted == how.events.count(cuts)


def some_rows(rng, classes, rows=60):
    """Rows by class with odds of their own."""
    codes = np.stack([rng.integers(0, 65536, rows), rng.choice([0, 5, 40_000, 65535], rows),
                      rng.integers(0, 3, rows), rng.integers(0, 2, rows),
                      *rng.integers(0, 65536, (8, rows))]).astype(np.uint16)
    ones = np.arange(rows, dtype=np.uint64)
    starts = np.array([0, *np.sort(rng.integers(0, rows + 1, classes - 1)), rows])
    run = Part(codes, ones, ones, starts, rng.integers(1, 5, rows))
    odds = rng.integers(-MOST, MOST + 1, (1 if classes == 2 else classes, rows))
    return Residuals(run, odds.astype(np.int32), Layout.of(domain_of(classes)).bins(codes, 16),
                     np.full(classes, 1 / classes), rng.integers(0, 6, rows), 6)


def wanted_size(rule, i, label, cut):
    """A residual, by its definition."""
    if len(rule.odds) == 1:
        gap = int(rule.odds[0, i])
        return round(UNIT * min(1.0, math.exp((-gap if label else gap) / STEP)))
    top = rule.odds[:, i].max()
    likely = [round(UNIT * math.exp(-min(int(top - odd), MOST) / STEP)) for odd in rule.odds[:, i]]
    own = likely[cut] if label == cut else sum(likely) - likely[cut]
    return min(UNIT, UNIT * (sum(likely) - own) // own) if own else UNIT


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_residuals_and_sums_are_those_of_loops(classes):
    """A residual is the smaller of 1 and the odds against a side; sums are of these."""
    rng, layout = np.random.default_rng(1), Layout.of(domain_of(classes))
    for _ in range(20):
        single_column, cut = some_rows(rng, classes), int(rng.integers(classes))
        j = int(rng.integers(0, 4))
        edges = np.unique(rng.integers(1, 65536, 3)) if j < 2 else np.zeros(0, np.int64)
        bins = residuals.bins_of(single_column.rows.codes[j], edges, layout, j)
        signs = residuals.signs_of(classes, cut)
        wanted = [np.zeros((classes, 20), int), *[np.zeros((1, 20), int)] * (classes > 2)]
        cells = np.zeros((12, 6, 16), int)
        for i, label in enumerate(single_column.label.tolist()):
            code, weight = int(single_column.rows.codes[j][i]), int(single_column.rows.weight[i])
            size = wanted_size(single_column, i, label, cut)
            assert single_column.size(cut)[i] == size * weight
            cell = code if j > 1 else len(edges) + 1 if j == 1 and code == 65535 else sum(
                code >= edge for edge in edges.tolist())
            if classes == 2:
                wanted[0][label, cell] += size * weight
            else:
                likely = single_column.likely[:, i].tolist()
                wanted[1][0, cell] += UNIT * weight
                for c in range(classes):
                    residual = UNIT * (label == c) - UNIT * likely[c] // sum(likely)
                    wanted[0][c, cell] += residual * weight
            for column in range(12):
                here = column, single_column.place[i], single_column.bins[column, i]
                cells[here] += size * weight * int(signs[label])

        sums = single_column.sums(bins, 20)
        assert [of.tolist() for of in sums] == [of.tolist() for of in wanted]
        assert single_column.by_class().tolist() == [
            single_column.rows.weight[single_column.label == c].sum() for c in range(classes)]
        assert single_column.inside(single_column.chunk(cut), signs, 16).tolist() == cells.tolist()
    assert (ODDS[0], ODDS[-1] < UNIT / 1000) == (UNIT, True)


def far_off(label, cell):
    """A row of class `label` in a cell, of which one other class was all that was expected."""
    starts = np.array([0, *(int(label < c) for c in range(1, 3)), 1])
    ones, odds = np.ones(1, np.uint64), np.full((3, 1), -MOST, np.int32)
    odds[(label + 1) % 3] = MOST
    run = Part(np.zeros((12, 1), np.uint16), ones, ones, starts, None)
    row = Residuals(run, odds, np.zeros((12, 1), np.uint8), np.full(3, 1 / 3), np.zeros(1, int))
    return row.sums(np.array([cell]), 2)


def test_a_row_moves_the_sums_of_many_classes_by_all_that_is_claimed():
    """A row that is nothing of what was expected, and one of another cell: the bound is attained.

    No row moves them by more than a half of it: the parts that were expected add up to one at most.
    """
    how, rng = run_rounds(classes=3), np.random.default_rng(4)
    claims = [moves for moves, _ in how.noise(1)]
    for first, second, claim in zip(far_off(0, 0), far_off(2, 1), claims, strict=True):
        assert claim == np.abs(first - second).sum()
    for _ in range(20):
        rows = some_rows(rng, 3)
        weight = rows.rows.weight
        sums = rows.sums(np.arange(60), 60)
        for each, claim in zip(sums, claims, strict=True):
            assert (2 * np.abs(each).sum(axis=0) <= claim * weight).all()


@pytest.mark.parametrize("nominal", [False, True])
def test_the_best_cut_is_that_of_loops(nominal):
    """All cuts of a column, each with a free sign for both sides in each cell of the others."""
    rng = np.random.default_rng(2)
    for _ in range(50):
        inside = rng.integers(-9, 10, (3, 5))
        best = max(sum(abs(sum(row[k] for k in side)) + abs(sum(row) - sum(row[k] for k in side))
                       for row in inside.tolist())
                   for a in range(5) for side in ([a] if nominal else range(a + 1),))

        assert best == residuals.best_cut(inside, nominal=nominal)


def test_a_quartile_is_looked_for_at_public_edges_first():
    """Where rows say nothing, half of the draws end at one of 15 edges; all cells have a chance."""
    how = Race(rounds.CELLS - 1, 1, 4, Fraction(1, 100))
    edges = np.arange(1, 16) * 4096
    next_edge = rounds.favoured(edges, how)
    weight = np.exp(next_edge / float(how.scale))

    assert (edges // 16 - 1).tolist() == np.flatnonzero(next_edge).tolist()
    assert 0.45 < weight[next_edge > 0].sum() / weight.sum() < 0.55


def test_steps_lean_to_the_class_that_is_there():
    """What has no noise is nearly believed, what is all noise is not, and both sides are alike."""
    gap, size = np.array([-300.0, 300.0, 0.0]), np.full(3, 500.0)
    exact, loud = (residuals.steps_of(gap, size, deviation, [3], spread=0.4)
                   for deviation in (0.02, 2e6))

    assert exact[0] < -STEP / 2 < STEP / 2 < exact[1]
    assert np.abs(exact[2]) < STEP / 8
    assert np.abs(loud).max() < STEP / 8
    assert (residuals.steps_of(-gap, size, 0.02, [3], spread=0.4) == -exact).all()


THIRTY = [ps.Number(f"x{j}", 0, 1) for j in range(30)]
NUMBER, LABEL, FOUR = (ps.Domain(THIRTY, target=target) for target in (
    ps.Number("y", 0, 9), ps.Label("y", [0, 1]), ps.Label("y", [0, 1, 2, 3])))
EVEN = {"class_prior": "0.5"}


@pytest.mark.parametrize(("domain", "options", "named"), [
    (NUMBER, {}, ["rounds"]), (NUMBER, {"epsilon": "0.66"}, ["pairs"]),
    (NUMBER, {"joint": "pair"}, ["pairs"]), (NUMBER, {"joint": "none"}, ["one race"]),
    (NUMBER, {"fewer": "auto"}, ["rounds"]), (NUMBER, {"numeric": "ranks"}, ["one race"]),
    (NUMBER, {"always": ["x1"]}, ["rounds"]), (NUMBER, {"max_ops": 10**8}, ["rounds"]),
    (NUMBER, {"max_ops": 10**6}, ["one race"]),
    (NUMBER, {"joint": "rounds", "epsilon": "0.01"}, ["rounds"]),
    (LABEL, EVEN, ["rounds"]), (LABEL, {}, ["one race", "pairs", "rounds"]),
    (LABEL, {"class_prior": "0.05"}, ["one race"]), (LABEL, {"class_prior": "centred"}, ["pairs"]),
    (LABEL, {"ordered": True}, ["one race"]),
    (LABEL, {"delta": "1e-9"}, ["one race", "pairs", "rounds"]),  # no race could use it
    (LABEL, {"groups": {"g": ["x0", "x1"]}}, ["one race"]),
    (FOUR, {}, ["pairs"]), (FOUR, {"epsilon": 2}, ["rounds"]),
], ids=lambda options: None if isinstance(options, ps.Domain) else str(options))
def test_where_rounds_run_is_public(domain, options, named):
    """From 400 units times epsilon a column on, 300 for a number, for classes of known shares."""
    request = {"k": 5, "epsilon": 1, "rows": 5 * ROUNDS_FROM * 10 // 9 + 1, **options}
    plan = ps.plan("rule-sieve", domain, **request)

    assert named == plan.settings["branches"]
    assert plan.json() == ps.plan("rule-sieve", domain, **request).json()


def causes(rng, copied, n=4000):
    """Four causes behind a number, seven copies of one of them, and 19 columns of noise."""
    cause = rng.standard_normal((n, 4))
    copies = cause[:, [copied]] + 0.3 * rng.standard_normal((n, 7))
    y = cause @ [1, 0.8, 0.65, 0.5] + 0.5 * rng.standard_normal(n)
    return np.column_stack([cause, copies, rng.standard_normal((n, 19))]), y


@pytest.mark.parametrize("copied", [0, 2], ids=["of the first pair", "of a round"])
@pytest.mark.parametrize("target", ["number", "number without bounds", "two classes", "three"])
def test_copies_do_not_come_back(target, copied):
    """Of four causes nearly all are named, where one race after a pair names copies.

    Copies of the first pair add nothing in its cells; copies of a later column, by its steps alone.
    """
    bounds = () if target.endswith("bounds") else (-8, 8)
    label = {"two classes": ps.Label("y", [0, 1]), "three": ps.Label("y", [0, 1, 2])}.get(
        target, ps.Number("y", *bounds))
    domain = ps.Domain([ps.Number(f"x{j}", *bounds) for j in range(30)], target=label)
    named = []
    for seed in range(8):
        X, y = causes(np.random.default_rng(seed), copied)
        if target == "two classes":
            y = (y > 0).astype(int)
        elif target == "three":
            y = np.digitize(y, [-0.7, 0.7])
        plan = ps.plan("rule-sieve", domain, rows=4000, k=4, epsilon=2)
        selected = fit(plan, open_source(X, y), noise=replay(seed)).selected
        places = [int(name[1:]) for name in selected]
        named.append(len({copied if 4 <= j < 11 else j for j in places if j < 11}))

    assert sum(named) >= 0.9 * 32


def test_three_columns_that_matter_together_are_found():
    """The third of a parity has no rule of its own: it is seen in the cells of the others."""
    hits = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((6000, 15))
        y = (X[:, :3] > 0).sum(axis=1) % 2
        domain = ps.Domain([ps.Number(f"x{j}") for j in range(15)], target=ps.Label("y", [0, 1]))
        plan = ps.plan("rule-sieve", domain, rows=6000, k=3, epsilon=1, joint="rounds")
        hits += fit(plan, open_source(X, y), noise=replay(seed)).selected == ("x0", "x1", "x2")

    assert hits >= 9


@pytest.mark.parametrize("person", [None, "who"])
def test_the_memory_that_may_be_used_changes_nothing(person):
    """All rows at once, or tables by parts of them: the same names, or a refusal before."""
    rng, named = np.random.default_rng(3), set()
    frame = pd.DataFrame(rng.random((40_000, 20)), columns=[f"x{j}" for j in range(20)])
    frame["y"] = (frame.x0 + frame.x1 > 1).astype(int)
    frame["who"] = np.arange(40_000) // 2
    domain = ps.Domain([ps.Number(f"x{j}", 0, 1) for j in range(20)],
                       target=ps.Label("y", [0, 1]), **({} if person is None else {
                           "person": person, "persons": 20_000, "rows_per_person": 2}))
    plan = ps.plan("rule-sieve", domain, rows=40_000, k=4, epsilon=1)
    least = plan.takes.parts(1)

    assert "rounds" in plan.settings["branches"]
    for memory in (None, 10**9, 10**8 + least):
        release = fit(plan, open_source(frame), noise=replay(3), room=Room(memory=memory))
        named.add(release.selected)
    assert 1 == len(named)


@pytest.mark.parametrize("target", [
    ps.Number("y"), ps.Label("y", [0, 1]), ps.Label("y", [0, 1, 2])])
@pytest.mark.parametrize("odd", ["constant", "all missing", "two rows", "infinite"])
def test_odd_tables_have_an_answer(target, odd):
    """A constant target, no cell that can be read, two rows: a release like any other."""
    rng = np.random.default_rng(1)
    X, y = rng.random((400, 8)), rng.integers(0, 2, 400)
    if odd == "all missing":
        X[:] = np.nan
    elif odd == "infinite":
        X[X > 0.9] = np.inf
    elif odd == "constant":
        y[:] = 1
    else:
        X, y = X[:2], y[:2]
    sieve = ps.RuleSieve(3, epsilon=5, domain=ps.Domain(
        [ps.Number(f"x{j}") for j in range(8)], target=target), joint="rounds").fit(X, y)

    assert (3, "rounds") == (sieve.get_support().sum(), sieve.release_.body["branch"])


def test_a_target_is_cut_inside_of_its_bounds_where_rows_are_few():
    """Half of the chance of a noisy median goes to public edges, which lie inside."""
    target = read_finely(ps.Number("y", 100, 900))
    codes = NumberRule.of(target).codes(np.linspace(200, 800, 100)) // 4
    counts = np.bincount(codes, minlength=MEDIAN_GRID).tolist()
    low, high = NumberRule.of(target).codes(np.array([100.0, 900.0])) // 4
    cut = [median_cell(counts, 2, Fraction(1, 50), replay(seed), edges=cell_edges(target, 512))
           for seed in range(200)]

    assert np.mean([low < bound < high for bound in cut]) > 0.45
