"""Laws of all cuts: what pairs without a grid are worth, and how far one unit moves it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

import naive
import tables
from kernel_calls import native, serve
from privsieve.errors import ParameterError
from privsieve.kernels.cuts import cut_best
from privsieve.methods import plan
from privsieve.methods.branches import cuts_fit
from privsieve.noise.streams import replay
from privsieve.public.columns import CODES, Label, Number
from privsieve.public.domain import Domain
from privsieve.rows import open_source
from privsieve.rows.batch import Part, batches
from privsieve.summaries.cuts import ZOOMS, AllCuts
from privsieve.summaries.numbers import Depth, number_tables
from privsieve.summaries.numbers import scores as number_scores
from privsieve.summaries.rules import Layout, rule_tables
from privsieve.summaries.sets import _subsets, class_scores, set_scores
from test_naive import Table
from test_rules import score as scored
from test_rules import weighing
from test_sensitivity import random_labellings, random_pair

#: Eight rows of exclusive or, each corner twice: columns a, b and what a row weighs.
P1 = [(0, 0, 1), (0, 7, -1), (7, 0, -1), (7, 7, 1), (1, 1, 1), (1, 6, -1), (6, 1, -1), (6, 6, 1)]


@pytest.fixture(params=["native", "numpy"])
def implementation(request, monkeypatch):
    """All cuts, in both forms."""
    serve(request.param, monkeypatch)


def made(seed, n, d):
    """A random table of codes, most of them tied, some the last; kinds, and who is wanted."""
    t, rng = Table(seed, n=n, d=d), np.random.default_rng([seed, 2])
    pool = rng.integers(0, CODES, 5) if seed % 3 else np.array([0, 1, 2, 65534, 65535])
    t.codes = rng.choice(pool, (d, n)).astype(np.uint16)
    t.kind, t.wanted = (rng.integers(0, top, d).astype(np.uint8) for top in (4, 2))
    return t


# naive


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize("seed", range(90))
def test_all_cuts_equal_loops(seed):
    """Each pair's value is the best of all cuts of both, with a free sign for each cell."""
    t = made(seed, (0, 1, 2, 5, 9, 14)[seed % 6], 1 + seed % 4)
    found = cut_best(t.codes, t.starts, t.weight, t.labellings[:2], t.kind, t.wanted)

    assert naive.cut_best(t.codes.tolist(), t.weights()[:2], t.kind > 1, t.wanted) == found.tolist()


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize("seed", range(30))
def test_gain_equals_loops(seed):
    """A pair's gain is what it is worth beyond the better of its columns, one cut each."""
    t = made(seed, (0, 1, 4, 9)[seed % 4], 1 + seed % 4)
    layout = Layout(t.kind, np.zeros(len(t.kind), np.int64), t.classes,
                    np.zeros(0, np.intp))
    layout = replace(layout, gridless=tuple(np.flatnonzero(t.wanted).tolist()))
    found = AllCuts(t.codes, t.starts, t.weight).gain(t.labellings[:2], layout)

    assert naive.cut_gain(t.codes.tolist(), t.weights()[:2], t.kind > 1, t.wanted) == found.tolist()


def agreed(monkeypatch, *args):
    """What all programs find, in whatever instructions; it is one thing."""
    found = []
    for which in ("native", "numpy"):
        serve(which, monkeypatch)
        found.append(cut_best(*args).tolist())
    found += [native.cut_best(*args, loops).tolist() for loops in range(len(native.cut_loops()))]
    assert found[1:] == found[:1] * (len(found) - 1)
    return found[0]


@pytest.mark.parametrize("scale", [1, 2**21])
@pytest.mark.parametrize("seed", range(9))
def test_long_columns(seed, scale, monkeypatch):
    """On columns of few, many and only different codes all programs agree, narrow and wide."""
    t, rng = made(seed, (1001, 3000, 40)[seed // 3], 3), np.random.default_rng(seed)
    t.codes = rng.integers(0, (7, 300, CODES)[seed % 3], t.codes.shape).astype(np.uint16)

    assert agreed(monkeypatch, t.codes, t.starts, t.weight, t.labellings * scale, t.kind,
                  np.ones(3, np.uint8))


@pytest.mark.parametrize("nominal", [(0, 0), (2, 0), (0, 3), (3, 2)])
@pytest.mark.parametrize("codes", [(1300, 700), (600, 20), (900, 560)])
def test_more_rows_than_pass_at_once(codes, nominal, monkeypatch):
    """Groups of one code, and runs of them, go on where one pass ends and the next begins."""
    rng, n = np.random.default_rng(codes), 150_000
    table = np.stack([(most * rng.random(n)**3).astype(np.uint16) for most in codes])
    starts = np.array([0, 50_000, 90_000, n])

    assert agreed(monkeypatch, table, starts, None, np.array([[-2, 3, 0], [1, -1, 1]]),
                  np.array(nominal, np.uint8), np.ones(2, np.uint8))


@pytest.mark.parametrize("noise", [0, .3])
def test_every_code(noise):
    """65,536 leaves: exclusive or is found to the row, whichever column the tree is over."""
    rng, n = np.random.default_rng(11), CODES + 9000
    code = np.concatenate([np.arange(CODES), rng.integers(0, CODES, n - CODES)])
    table = np.stack([code, rng.permutation(code)])
    label = (table[0] < 30_000) ^ (table[1] < 41_000) ^ (rng.random(n) < noise)
    rows = np.argsort(label, kind="stable")
    table, starts = table[:, rows].astype(np.uint16), np.array([0, n - label.sum(), n])
    found = {native.cut_best(np.ascontiguousarray(table[order]), starts, None,
                             scale * np.array([[-1, 1]]), np.zeros(2, np.uint8),
                             np.ones(2, np.uint8), loops)[0, 0] / scale
             for order in ([0, 1], [1, 0]) for scale in (1, 2**16)
             for loops in range(len(native.cut_loops()))}

    assert len(found) == 1
    assert found == {n} if not noise else min(found) > .39 * n


def test_contract():
    """What does not fit is refused."""
    codes, starts, ones = np.zeros((2, 2), np.uint16), np.array([0, 2]), np.ones(2, np.uint8)
    with pytest.raises(ValueError, match="wanted and codes"):
        cut_best(codes, starts, None, np.array([[1]]), ones, ones[:1])
    with pytest.raises(ValueError, match=r"2\^61"):
        cut_best(codes, starts, None, np.array([[2**60]]), ones, ones)


# exact values


def value(rows, kind=(0, 0)):
    """Twice the value of a pair of rows (a, b, weight)."""
    rows = sorted(rows, key=lambda row: row[2])
    codes = np.array([row[:2] for row in rows], np.uint16).reshape(-1, 2).T.copy()
    weights = sorted({row[2] for row in rows})
    starts = np.searchsorted([row[2] for row in rows], [*weights, 2**40]).astype(np.int64)
    return int(cut_best(codes, starts, None, np.array([weights], np.int64),
                        np.array(kind, np.uint8), np.ones(2, np.uint8))[0, 0])


@pytest.mark.usefixtures("implementation")
def test_published_values():
    """P1 of the design page: 8 of 8; a ninth row in the middle is right as well."""
    assert 8 == value(P1)
    assert 9 == value([*P1, (3, 3, -1)])


@pytest.mark.usefixtures("implementation")
def test_values_by_hand():
    """The last code is missing and may be cut off; a single level is set against the rest."""
    missing = [(65535, 1, 1), (65535, 9, -1), (4, 1, -1), (5, 9, 1)]
    middle = [(1, 1, 1), (1, 9, -1), (0, 1, -1), (0, 9, 1), (2, 1, -1), (2, 9, 1)]

    assert 4 == value(missing, (1, 0))
    assert 6 == value(middle, (2, 0)) == value([(b, a, w) for a, b, w in middle], (0, 3))
    assert 2 == value(middle)
    assert 0 == cut_best(np.zeros((2, 0), np.uint16), np.array([0, 0]), None, np.array([[3]]),
                         np.zeros(2, np.uint8), np.ones(2, np.uint8))[0, 0]


# which pairs, and when


def mixed():
    """A domain with a number of each kind, and a category."""
    return tables.domain("nuvcf")


def summary(domain, codes, label, *, parts=1, **options):
    """Tables with all cuts, of rows that come in parts."""
    n = max(1, -(-len(label) // parts))
    return rule_tables([tables.batch(codes[i:i + n], label[i:i + n])
                        for i in range(0, len(label), n)], 1, domain=domain,
                       grid=(4, CODES), **{"order": 1, **options})


def test_only_pairs_with_a_column_without_a_grid():
    """Of other pairs nothing is valued here; bins of such a column add nothing."""
    rng, domain = np.random.default_rng(5), mixed()
    codes, label = tables.random_codes(rng, "nuvcf", 60), rng.integers(0, 2, 60)
    tabled, layout = summary(domain, codes, label), Layout.of(domain)
    pairs = [(j, k) for j in range(5) for k in range(j + 1, 5)]
    cuts = tabled.cuts.pairs(np.array([[-1, 1]]), layout)[0]
    grid = tabled.bins.pairs(np.array([[-1, 1]]), 4, layout)

    assert ((1, 2), [0, 3, 4]) == (layout.gridless, layout.gridded.tolist())
    assert {p for p in pairs if {1, 2} & {*p}} == {p for p, v in zip(pairs, cuts, strict=True) if v}
    assert {(0, 3), (0, 4), (3, 4)} == {p for p, v in zip(pairs, grid, strict=True) if v}
    assert not tabled.bins.gain(np.array([[-1, 1]]), 4, layout)[[1, 2]].any()


@pytest.mark.parametrize("parts", [1, 3, 50])
def test_any_cut_into_parts_gives_the_same(parts):
    """The summary is a monoid: all cuts, and windows of codes, do not know how rows came."""
    rng, domain = np.random.default_rng(6), mixed()
    codes, label = tables.random_codes(rng, "nuvcf", 50), rng.integers(0, 2, 50)
    layout, by = Layout.of(domain), weighing([[-3, 4]], 5)
    whole, cut = summary(domain, codes, label), summary(domain, codes, label, parts=parts,
                                                        part_rows=1)

    for one, other in zip(set_scores(whole, layout, by, 2), set_scores(cut, layout, by, 2),
                          strict=True):
        assert one.tolist() == other.tolist()
    assert class_scores(whole, layout, 4).tolist() == class_scores(cut, layout, 4).tolist()


def test_the_plan_decides_by_public_numbers():
    """Pairs times units times the depth of a tree; nobody pays for what is not there."""
    free = Domain([Number(f"x{j}") for j in range(100)], Label("y", [0, 1]))

    assert cuts_fit(free, 100_000, 1, 2**36)
    assert not cuts_fit(free, 200_000, 1, 2**36)
    assert not cuts_fit(Domain.box(0, 1, columns=100), 10, 1, 2**36)
    assert not cuts_fit(Domain([Number("x")]), 10, 1, 2**36)


@pytest.mark.parametrize("target", [Label("y", [0, 1]), Label("y", [0, 1, 2]), Number("y")],
                         ids=["two", "many", "number"])
@pytest.mark.parametrize("public", [{}, {"max_ops": 10_000}])
def test_the_settings_say_how_pairs_are_valued(target, public):
    """In a domain with bounds they say nothing new; averages of many classes know no cuts."""
    free, bound = ([Number(f"x{j}", *ends) for j in range(4)] for ends in ((), (0, 1)))
    options = {"rows": 500, "k": 2, "epsilon": 1, **public}
    cuts = not public and (isinstance(target, Number) or target.values == (0, 1))

    assert ("all cuts" if cuts else "none") == plan(
        "rule-sieve", Domain(free, target), joint="none", **options).settings["pairs_without_grid"]
    assert "pairs_without_grid" not in plan("rule-sieve", Domain(bound, target), joint="none",
                                            **options).settings


@pytest.mark.parametrize(("options", "said"), [
    ({"joint": "triple"}, r"cuts numbers on a grid.*low and high, or typical"),
    ({"joint": "quad", "k": 4}, "cuts numbers on a grid"),
    ({"joint": "pair", "max_ops": 10_000}, "needs a pair grid"),
])
def test_sets_that_need_a_grid_are_refused(options, said):
    """Before anything is charged."""
    domain = Domain([Number(f"x{j}") for j in range(5)], Label("y", [0, 1]))
    with pytest.raises(ParameterError, match=said):
        plan("rule-sieve", domain, **{"rows": 500, "k": 3, "epsilon": 1, **options})


def test_a_median_needs_a_grid():
    """A target without bounds has ranks, and no grid on which a median would be looked for."""
    domain = Domain([Number("a"), Number("b")], Number("y"))
    with pytest.raises(ParameterError, match=r"target 'y' has none: write its low and high"):
        plan("rule-sieve", domain, rows=500, k=1, epsilon=1, numeric="median-cut")

    assert plan("rule-sieve", domain, rows=500, k=1, epsilon=1).settings["numeric"] == "ranks"


# what is found


def chosen(domain, X, y, k, **options):
    """Choices under twenty draws of noise."""
    asked = plan("rule-sieve", domain, rows=len(X), k=k, **{"epsilon": "0.5", **options})
    held = asked.summarise(batches(open_source(X, y), domain, rows=len(X), entropy=bytes), 3)
    return [set(asked.mechanism(held, replay(seed))) for seed in range(20)]


@pytest.mark.parametrize("joint", ["none", "auto"])
def test_exclusive_or_is_found_without_bounds(joint):
    """Where both lie above their 62 % quantile or both below: never by a grid between +-1e6."""
    rng = np.random.default_rng(8)
    g = rng.standard_normal((600, 8))
    y = ((g[:, 0] > .3) ^ (g[:, 1] > .3)).astype(int)
    found = [sum(names == {0, 1} for names in chosen(Domain(
        [Number(f"x{j}", *ends) for j in range(8)], Label("y", [0, 1])), 140 + 5 * g, y, 2,
        joint=joint, class_prior=None, depth=1)) for ends in ((), (-1e6, 1e6))]

    assert found[0] >= 19
    assert found[1] <= 3


def test_classes_are_told_apart_without_bounds():
    """Averages of many classes look at windows of codes: 140 +- 5 is in one part of sixteen."""
    rng = np.random.default_rng(9)
    y = rng.integers(0, 4, 1500)
    g = rng.standard_normal((1500, 12))
    g[:, :2] += np.array([[-1, 1], [1, 1], [1, -1], [-1, -1]])[y]
    domain = Domain([Number(f"x{j}") for j in range(12)], Label("y", range(4)))

    assert sum(names == {0, 1} for names in chosen(domain, 140 + 5 * g, y, 2, joint="none")) == 20


# sensitivity

RECORDS = [(a, b, v) for a, b in product(range(3), repeat=2) for v in (-1, 1)]


@cache
def every(n):
    """Twice the value of all tables of n rows with codes 0, 1 and 2."""
    return {rows: value([RECORDS[r] for r in rows])
            for rows in combinations_with_replacement(range(len(RECORDS)), n)}


@pytest.mark.parametrize("n", [3, 4])
def test_every_neighbour_of_every_small_table(n):
    """Replace-one 2, add-remove 1, both attained."""
    replaced = left = 0
    for rows, found in every(n).items():
        for i in range(n):
            rest = (*rows[:i], *rows[i + 1:])
            left = max(left, abs(found - every(n - 1)[rest]))
            replaced = max(replaced, *(abs(found - every(n)[tuple(sorted((*rest, other)))])
                                       for other in range(len(RECORDS))))

    assert (replaced, left) == (2, 1)


def both(domain, table, by, label_sets=(2,)):
    """Scores, and values of pairs, of a table without a grid."""
    codes, label = table
    tabled, layout = summary(domain, codes, label, order=by.order), Layout.of(domain)
    return np.concatenate([part for size in label_sets
                           for part in set_scores(tabled, layout, by, size)])


def neighbours(rng):
    """Two tables that differ in one row, with columns without a grid among them."""
    kinds, classes, first, second, one = random_pair(rng)
    if not {*kinds} & {*"uv"}:
        kinds = kinds.replace("n", "u").replace("m", "v")
    return kinds, classes, first, second, one


@pytest.mark.parametrize("seed", range(3))
def test_a_row_moves_sets_and_scores_by_no_more(seed):
    """24 times the largest weight where it is replaced, 12 times where it leaves."""
    rng, worst = np.random.default_rng([seed, 77]), np.zeros(2)
    for _ in range(100):
        kinds, classes, first, second, one = neighbours(rng)
        table, largest = random_labellings(rng, classes)
        if len(kinds) < 2:
            continue
        domain, by = tables.domain(kinds, classes), weighing(table, len(kinds), order=1)
        without = tuple(np.delete(part, one, axis=0) for part in first)
        found = [both(domain, rows, by) for rows in (first, second, without)]
        moved = [int(np.abs(found[0] - other).max()) for other in found[1:]]
        worst = np.maximum(worst, np.array(moved) / largest)

        assert moved[0] <= 24 * largest
        assert moved[1] <= 12 * largest
    assert (worst > (15, 8)).all()


@pytest.mark.parametrize("seed", range(3))
def test_a_row_moves_centred_scores_and_averages_by_no_more(seed):
    """24 n by labels less their mean; 4 n where classes are averaged, by windows of codes."""
    rng, worst = np.random.default_rng([seed, 78]), np.zeros(2)
    for _ in range(100):
        kinds, classes, first, second, _one = neighbours(rng)
        domain, layout = tables.domain(kinds, classes), Layout.of(tables.domain(kinds, classes))
        n, found = len(first[1]), []
        for codes, label in (first, second):
            ones = np.bincount(label, minlength=classes)[1:].sum()
            cut = weighing([[-ones] + [n - ones] * (classes - 1)], len(kinds), order=1)
            found.append((scored([tables.batch(codes, label)], domain, cut),
                          class_scores(summary(domain, codes, label), layout, 4)))
        moved = np.array([np.abs(one - other).max() for one, other in zip(*found, strict=True)])
        worst = np.maximum(worst, moved / n)

        assert moved[0] <= 24 * n
        assert moved[1] <= 4 * n
    assert (worst > (14, 2)).all()


@pytest.mark.parametrize("seed", range(6))
def test_windows_are_searched_to_their_end(seed):
    """What is looked at reaches what all windows of all widths reach, those without a code too."""
    rng, n = np.random.default_rng([seed, 80]), 9
    codes = rng.choice([*rng.integers(0, CODES, 3), *(32768 + rng.integers(0, 60, 6))], n)
    label = rng.integers(0, 3, n)
    alone, right = 0, 0
    for wide in ZOOMS:
        for begin in range(-8 * wide, CODES, 8 * wide):
            bins = np.clip((codes - begin) // wide, 0, 15)
            inside = np.bincount(3 * bins + label, minlength=48).reshape(16, 3)
            if (inside.sum(1) > 0).sum() == 1 and right:
                continue  # all in one bin
            alone = max(alone, _subsets(inside, intervals=True))
            right = max(right, int(inside.max(1).sum()))
    found = class_scores(summary(tables.domain("u", 3), codes[:, None], label),
                         Layout.of(tables.domain("u", 3)), 4)

    assert [2 * alone + 2 * n * right] == found.tolist()


def test_every_neighbour_in_windows_of_codes():
    """Averages of three classes by windows of one, four and more codes: tables of three rows."""
    domain, records = tables.domain("u", 3), list(product((0, 5, 16, 40000), range(3)))
    layout = Layout.of(domain)
    found = {}
    for rows in combinations_with_replacement(range(len(records)), 3):
        codes, label = zip(*(records[r] for r in rows), strict=True)
        found[rows] = int(class_scores(summary(domain, np.array(codes)[:, None], np.array(label)),
                                       layout, 4)[0])
    worst = max(abs(score - found[tuple(sorted((*rows[:i], other, *rows[i + 1:])))])
                for rows, score in found.items() for i in range(3)
                for other in range(len(records)))

    assert 8 < worst <= 12


@pytest.mark.parametrize("seed", range(3))
def test_a_record_moves_a_score_for_numbers_by_no_more(seed):
    """8 n where the target is a number and pairs are cut everywhere."""
    rng, worst = np.random.default_rng([seed, 79]), 0
    for _ in range(60):
        n, d = int(rng.integers(3, 12)), 3
        domain = Domain([Number(f"x{j}") for j in range(d)], Number("y"))
        codes, target = rng.integers(0, 6, (n, d)), rng.integers(0, 8, n)
        other, moved_target, one = codes.copy(), target.copy(), int(rng.integers(n))
        other[one], moved_target[one] = rng.integers(0, 6, d), rng.integers(0, 8)
        layout = Layout.of(tables.domain("u" * d))
        by = Depth(np.zeros((n, d), np.int64), 0, 1, 4)
        found = [number_scores(number_tables([tables.batch(rows, y)], 5, domain=domain, depth=1,
                                             grid=(4, CODES)), layout, by)
                 for rows, y in ((codes, target), (other, moved_target))]
        moved = int(np.abs(found[0] - found[1]).max())
        worst = max(worst, moved / n)

        assert moved <= 8 * n
    assert worst >= 4


def test_bins_between_the_tables_own_ends_are_caught():
    """Planted fault: a grid fitted to the rows moves further than all cuts do."""
    def fitted(rows):
        ends = np.array([row[:2] for row in rows], float)
        low, high = ends.min(0), ends.max(0)
        bins = ((ends - low) * 3 / np.maximum(high - low, 1)).astype(int)
        return value([(*cell, row[2]) for cell, row in zip(bins.tolist(), rows, strict=True)])

    moved = max(abs(fitted(P1) - fitted([*P1[:i], (60000, 60000, 1), *P1[i + 1:]]))
                for i in range(len(P1)))

    assert moved > 2 >= max(abs(value(P1) - value([*P1[:i], (60000, 60000, 1), *P1[i + 1:]]))
                            for i in range(len(P1)))


def test_parts_keep_their_classes():
    """Adding parts puts rows of a class together, with their weights."""
    part = Part(np.array([[1, 2, 3]], np.uint16), *np.zeros((2, 3), np.uint64), np.array([0, 1, 3]),
                np.array([5, 6, 7]))
    joined = AllCuts.of(part) + AllCuts.of(part)

    assert [[1, 1, 2, 3, 2, 3]] == joined.codes.tolist()
    assert ([0, 2, 6], [5, 5, 6, 7, 6, 7]) == (joined.starts.tolist(), joined.weight.tolist())
