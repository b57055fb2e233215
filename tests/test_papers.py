"""Law: papers.  What is printed is what runs, and its counts come out on the papers' own data."""

from __future__ import annotations

import os
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import naive_containment as naive
import naive_mining
from papers import containment as paper
from papers.dp_baselines import ACCOUNTINGS, Baseline, sensitivity
from papers.random_flips import random_flips
from privsieve.errors import ParameterError
from privsieve.kernels.patterns import Rule
from privsieve.rows.matrix import Items

DATA = Path(os.environ.get("PRIVSIEVE_DATA", Path(__file__).parents[2] / "shared" / "data"))
KS = (5, 8, 11)
TOY = [[1, 0, 1, 0, 1], [1, 0, 1, 0, 1], [1, 0, 0, 1, 1],
       [1, 0, 1, 0, 1], [1, 1, 1, 0, 1], [1, 1, 0, 1, 1]]
TOY_Y = [1, 0, 1, 1, 0, 0]


# -- the definitions, by the loops of the pattern kernels ------------------------------------------


class Loops:
    """A table as sets of columns, its labels, and the definitions word by word."""

    def __init__(self, rows, y):
        self.rows = [{j for j, cell in enumerate(row) if cell} for row in rows]
        self.y, self.hidden, self.columns = y, [label < 0 for label in y], range(len(rows[0]))
        self.pairs = y.count(1) * y.count(0)

    def level(self, selected, model="containment"):
        """Definitions 4 and 6: the smallest number of rows that hold all of a row."""
        rule = Rule(1, 1, model=model)
        return min(len(naive.group(self.rows, i, set(selected), rule))
                   for i in range(len(self.rows)))

    def hamdist(self, selected):
        """Definition 8."""
        return Fraction(naive.differences(self.rows, self.y, self.hidden, set(selected)),
                        self.pairs)

    def told_apart(self, selected):
        """Definition 9, times the number of pairs."""
        return naive.told_apart(self.rows, self.y, self.hidden, set(selected))

    def metric(self, selected, k):
        """Definition 2; only rows with a label are counted as wrong."""
        return naive.errors(self.rows, self.y, self.hidden, set(selected), k)

    def ranking(self, k, model):
        """Algorithm 2."""
        order = sorted(self.columns, key=lambda j: (-self.hamdist([j]), j))
        return tuple(sorted(naive.greedy(self.rows, self.y, order, Rule(k, 1, "break", model))))

    def best_first(self, k, model):
        """Algorithm 3 as it is meant: the largest gain of DistCnt, until it is 0 or breaks k."""
        return tuple(sorted(naive.best_first(self.rows, self.y, self.columns, [], Rule(
            k, 1, "break", model), self.told_apart, 1)))

    def cm(self, k):
        """CM Greedy: the smallest metric, then the largest HamDist, until it breaks k."""
        chosen, left = [], list(self.columns)
        while left:
            best = min(left, key=lambda j: (self.metric([*chosen, j], k), -self.hamdist([j]), j))
            if self.level([*chosen, best]) < k:
                break
            chosen.append(best)
            left.remove(best)
        return tuple(sorted(chosen))


def small_tables(seed, how_many):
    """Random tables of at most 13 rows and 7 columns, with labels of both classes."""
    rng = np.random.default_rng(seed)
    tables_seen = 0
    while tables_seen < how_many:
        n, d = int(rng.integers(2, 14)), int(rng.integers(1, 8))
        rows = (rng.random((n, d)) < rng.uniform(0.2, 0.8)).astype(int).tolist()
        y = rng.integers(0, 2, n).tolist()
        if rng.random() < 0.3:
            y[int(rng.integers(n))] = -1
        k = int(rng.integers(1, min(n, 5) + 1))
        if {0, 1} <= set(y):
            tables_seen += 1
            yield rows, y, k


# -- the definitions and the algorithms ----------------------------------------------------------


def test_the_toy_table():
    """Table 1 of the paper: HamDist 6/9 and 8/9, DistCnt 6/9 and 4/9, rows of level 1 at worst."""
    toy = Items.dense(TOY)

    assert [Fraction(6, 9), Fraction(8, 9)] == [
        paper.hamdist(toy, TOY_Y, s) for s in ([0, 1, 4], [2, 3, 4])]
    assert [Fraction(6, 9), Fraction(4, 9)] == [
        paper.distcnt(toy, TOY_Y, s) for s in ([0, 1, 4], [2, 3, 4])]
    assert [1, 2, 2] == [paper.level(toy, s) for s in (range(5), [0, 1, 4], [2, 3, 4])]
    assert paper.level(toy, []) == 6


def test_definitions_are_the_papers():
    """Levels, HamDist, DistCnt and the metric agree with loops over rows, on 600 random tables."""
    rng = np.random.default_rng(1)
    for rows, y, k in small_tables(0, 600):
        items = Items.dense(rows)
        selected = np.flatnonzero(rng.random(len(items)) < 0.6).tolist()

        loops = Loops(rows, y)
        assert (loops.level(selected), loops.level(selected, "k-anonymity"),
                loops.hamdist(selected), Fraction(loops.told_apart(selected), loops.pairs),
                loops.metric(selected, k)) == (
            paper.level(items, selected), paper.level(items, selected, "k-anonymity"),
            paper.hamdist(items, y, selected), paper.distcnt(items, y, selected),
            paper.classification_metric(items, y, selected, k))


@pytest.mark.parametrize("model", ["containment", "k-anonymity"])
def test_algorithms_are_the_papers(model):
    """Both greedy algorithms and CM Greedy choose as the pseudocode does, on 300 random tables."""
    for rows, y, k in small_tables(2, 300):
        items, loops = Items.dense(rows), Loops(rows, y)

        assert loops.ranking(k, model) == paper.greedy_hamdist(items, y, k, model).selected
        assert loops.best_first(k, model) == paper.greedy_distcnt(items, y, k, model).selected
        if model == "containment":
            assert loops.cm(k) == paper.cm_greedy(items, y, k).selected


def test_maximal_is_the_best_of_the_largest():
    """Algorithm 1 has the largest HamDist of all maximal frequent sets where r is large enough."""
    for rows, y, k in small_tables(3, 200):
        selected = paper.maximal(Items.dense(rows), y, k, r=200).selected

        loops = Loops(rows, y)
        largest = naive_mining.maximal(loops.rows, y, loops.columns, k)
        assert loops.hamdist(selected) == max((loops.hamdist(s) for s, _ in largest), default=0)
        assert loops.level(selected) >= k


def test_bad_parameters_are_refused():
    """A k beyond the rows, a single class, and too many cells raise before any work."""
    toy = Items.dense(TOY)
    for bad in (0, 7):
        with pytest.raises(ParameterError, match=rf"k={bad} .* 6 rows"):
            paper.greedy_distcnt(toy, TOY_Y, bad)
        with pytest.raises(ParameterError, match=rf"k={bad} .* 6 rows"):
            random_flips(toy, bad)
    with pytest.raises(ParameterError, match="6 and 0 labelled rows"):
        paper.greedy_hamdist(toy, [1] * 6, 2)
    with pytest.raises(ParameterError, match=r"at most 2\^20"):
        Baseline("laplace", "true", 27, Fraction(1))
    with pytest.raises(ParameterError, match="above 0"):
        Baseline("laplace", "true", 2, Fraction(0))
    with pytest.raises(ParameterError, match="the table has 5"):
        Baseline("laplace", "true", 6, Fraction(1)).run(toy, TOY_Y)


# -- the papers' data ----------------------------------------------------------------------------


def table(name):
    """A data set as items and labels, or a skip."""
    if not (DATA / name).is_dir():
        pytest.skip(f"{name}: PRIVSIEVE_DATA names no folder of data")
    import pyarrow.parquet as pq
    from scipy import sparse

    if (DATA / name / "X.npz").exists():
        matrix = sparse.csc_matrix(sparse.load_npz(DATA / name / "X.npz") > 0)
        y = pq.read_table(DATA / name / "rows.parquet")["y"].to_numpy()
    else:
        frame = pq.read_table(DATA / name / "data.parquet")
        y = frame["y"].to_numpy()
        columns = [c.to_numpy() for c in frame.drop_columns(["y"]).columns]
        matrix = sparse.csc_matrix(np.column_stack(columns) > 0)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    names = tuple(f"x{j}" for j in range(matrix.shape[1]))
    return Items(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32),
                 matrix.shape[0], names, names), y


METHODS = {
    "HamDist": paper.greedy_hamdist,
    "DistCnt": paper.greedy_distcnt,
    "CM": paper.cm_greedy,
    "k-anonymity HamDist": lambda *a: paper.greedy_hamdist(*a, "k-anonymity"),
    "k-anonymity DistCnt": lambda *a: paper.greedy_distcnt(*a, "k-anonymity"),
}
#: Table 6 of the paper, and the levels that these sets have.
PU1 = {
    "HamDist": ([11, 11, 11], [16, 16, 16]), "DistCnt": ([11, 7, 7], [5, 22, 22]),
    "CM": ([3, 3, 3], [14, 14, 14]), "k-anonymity HamDist": ([4, 4, 4], [63, 63, 63]),
    "k-anonymity DistCnt": ([4, 4, 4], [35, 35, 35]),
}
#: Not the paper's counts: its cuts of Adult are not known.  Found before by another program.
ADULT19 = {
    "HamDist": ([12, 12, 10], [8, 8, 14]), "DistCnt": ([11, 10, 9], [7, 8, 17]),
    "CM": ([12, 7, 11], [7, 24, 16]), "k-anonymity HamDist": ([7, 7, 7], [58, 58, 58]),
    "k-anonymity DistCnt": ([9, 7, 7], [17, 58, 58]),
}


@pytest.mark.parametrize(("name", "expected"), [("pu1", PU1), ("adult19", ADULT19)])
def test_printed_counts(name, expected):
    """The numbers of columns of table 6, 15 of 15 on the paper's e-mail, and those on Adult."""
    items, y = table(name)
    actual_choices = {method: [choose(items, y, k) for k in KS] for method,
                      choose in METHODS.items()}

    assert expected == {method: ([len(choice.selected) for choice in choices],
                                 [choice.level for choice in choices])
                        for method, choices in actual_choices.items()}


def test_the_largest_sets_of_the_papers_email():
    """Algorithm 1 on the paper's e-mail finds 694, 617, 577 columns, where 121, 66, 58 stand."""
    items, y = table("pu1")

    assert [694, 617, 577] == [len(paper.maximal(items, y, k).selected) for k in KS]


@pytest.mark.parametrize("name", ["pu1", "adult19"])
def test_product_and_print_agree(name):
    """The product's greedy choices with stop="break" are the columns of the print."""
    from privsieve.containment.choose import greedy
    from privsieve.containment.labelled import Labelled
    from privsieve.kernels.patterns import Rule

    items, y = table(name)
    for k, model in product(KS, ("containment", "k-anonymity")):
        rule = Rule(k, 2, "break", model)
        for objective, choose in (("hamming", paper.greedy_hamdist),
                                  ("distinct", paper.greedy_distcnt)):
            expected, choice = choose(items, y, k, model), greedy(
                Labelled(items, y.astype(np.int32)), rule, objective)

            assert (expected.selected, expected.objective) == (choice.selected, choice.objective)
            assert paper.level(items, expected.selected, model) == choice.level


@pytest.mark.parametrize(("name", "low", "high"), [
    ("adult19", 0.0055, 0.0067), ("pu1", 0.0085, 0.0105)])
def test_flip_rates(name, low, high):
    """RF at k=5 flips about .61 % of Adult's cells (paper: .60 %) and .95 % of the e-mail's."""
    items, _ = table(name)
    flipped = random_flips(items, 5, random_state=0)
    _, equal = np.unique(np.packbits(flipped.matrix, axis=1), axis=0, return_counts=True)

    assert low < flipped.share < high
    assert equal.min() >= 5


# -- flips ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["member", "majority"])
def test_flips_make_a_table_k_anonymous(rule):
    """Every cluster has at least k rows, all equal, and the flips are counted right."""
    for seed, (rows, _, k) in enumerate(small_tables(4, 300)):
        flipped = random_flips(Items.dense(rows), k, rule=rule, random_state=seed)

        assert np.bincount(flipped.cluster).min() >= k
        for c in np.unique(flipped.cluster):
            mine = flipped.matrix[flipped.cluster == c]
            assert (mine == mine[0]).all()
            if rule == "member":
                assert mine[0].tolist() in np.array(rows, bool)[flipped.cluster == c].tolist()
        assert int((flipped.matrix != np.array(rows, bool)).sum()) == flipped.flips


def test_clusters_start_from_afar():
    """A cluster begins far from the last and takes what is near: on a line, pairs from the ends."""
    line = np.tri(10, dtype=int)
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(10)
        flipped = random_flips(Items.dense(line[order]), 2, random_state=seed)
        pairs = {frozenset(order[flipped.cluster == c].tolist()) for c in range(5)}

        assert {frozenset({i, i + 1}) for i in range(0, 10, 2)} == pairs


# -- private baselines ---------------------------------------------------------------------------


def scores(rows, y, accounting):
    """The score of each column, as the mechanism takes it."""
    weight, pairs = paper.hamdist_of_each(Items.dense(rows), y)
    return [Fraction(int(w), len(y) ** 2 if accounting == "true" else pairs) for w in weight]


def test_sensitivities_hold_and_are_tight():
    """A row replaced by any other moves a score by at most what is said, and by that much once.

    With fixed labels that is 1 / min(n1, n0); with the label, (n - 1) / n^2 pairs per n^2 rows.
    """
    reached = set()
    for n, bits in product((3, 4, 5), range(3)):
        rng = np.random.default_rng([n, bits])
        for _ in range(60):
            rows, y = rng.integers(0, 2, (n, 1)).tolist(), rng.integers(0, 2, n).tolist()
            i, label = int(rng.integers(n)), int(rng.integers(2))
            other = [*rows[:i], [1 - rows[i][0]], *rows[i + 1:]]
            relabelled = [*y[:i], label, *y[i + 1:]]
            for accounting, theirs in (("literal", y), ("true", relabelled)):
                if {0, 1} > set(y) or {0, 1} > set(theirs):
                    continue
                moved = abs(scores(rows, y, accounting)[0] - scores(other, theirs, accounting)[0])
                limit = sensitivity(sum(y), n - sum(y), accounting)

                assert moved <= limit
                if moved == limit:
                    reached.add(accounting)

    assert {"literal", "true"} == reached


def test_what_a_reading_spends():
    """At epsilon 1 and 11 columns: literal 24 and 13, printed 2 and 3/2, true 1."""
    spent = {(mechanism, accounting): Baseline(mechanism, accounting, 11, Fraction(1)).spent
             for mechanism in ("laplace", "exponential") for accounting in ACCOUNTINGS}

    assert spent == {
        ("laplace", "literal"): 24, ("exponential", "literal"): 13,
        ("laplace", "printed"): 2, ("exponential", "printed"): Fraction(3, 2),
        ("laplace", "true"): 1, ("exponential", "true"): 1}


@pytest.mark.parametrize("mechanism", ["laplace", "exponential"])
@pytest.mark.parametrize("accounting", ACCOUNTINGS)
def test_without_noise_the_table_comes_back(mechanism, accounting):
    """At a huge epsilon the best columns are chosen and every row is made as often as it is."""
    rng = np.random.default_rng(7)
    y = np.arange(60) % 2
    rows = (rng.random((60, 6)) < np.where(np.arange(6) < 2, 0.5, 0.04)).astype(int)
    rows[:, 0] = y
    method = Baseline(mechanism, accounting, 2, Fraction(10**7))
    synthetic = method.run(Items.dense(rows), y, random_state=1)

    assert synthetic.selected == (0, 1)
    assert sorted(map(tuple, np.column_stack([rows[:, :2], y]))) == sorted(
        map(tuple, np.column_stack([synthetic.held, synthetic.y])))


@pytest.mark.parametrize("accounting", ACCOUNTINGS)
def test_choices_follow_their_formulas(accounting):
    """One column of two is drawn as often as exp(step H / 2D) or two Laplaces say (one in 10^6)."""
    rows, y = [[1, 0], [1, 1], [0, 1], [0, 0], [0, 0], [1, 0]], [1, 1, 0, 0, 0, 1]
    items, runs, rng = Items.dense(rows), 4000, np.random.default_rng(8)
    first, second = (float(s) for s in scores(rows, y, accounting))
    delta = float(sensitivity(3, 3, accounting))
    for mechanism in ("laplace", "exponential"):
        method = Baseline(mechanism, accounting, 1, Fraction(2))
        hits = sum(method.choose(items, y, rng) == (0,) for _ in range(runs))
        gap = float(method.step) * (first - second) / (2 * delta)
        expected = (1 / (1 + np.exp(-gap)) if mechanism == "exponential"
                    else 1 - np.exp(-gap) * (2 + gap) / 4)

        assert abs(hits / runs - expected) < 4.9 * np.sqrt(expected * (1 - expected) / runs)
