"""Laws of greedy containment: weights, objectives, the toy table, the paper's data."""

from __future__ import annotations

import os
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import naive_containment as naive
from privsieve.containment.choose import choice_of, greedy, kept_rows, modular_order, weights
from privsieve.containment.labelled import Labelled
from privsieve.errors import ParameterError
from privsieve.kernels.patterns import Rule
from privsieve.rows.matrix import Items
from row_groups import levels

DATA = Path(os.environ.get("PRIVSIEVE_DATA", Path(__file__).parents[2] / "shared" / "data"))
#: The paper's Table 1.
TOY = [[1, 0, 1, 0, 1], [1, 0, 1, 0, 1], [1, 0, 0, 1, 1],
       [1, 0, 1, 0, 1], [1, 1, 1, 0, 1], [1, 1, 0, 1, 1]]  # fmt: skip
TOY_Y = np.array([1, 0, 1, 1, 0, 0], np.int32)


def table(seed, classes=None):
    """A random table, its rows as sets, and which labels may be used."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 14)), int(rng.integers(2, 8))
    matrix = rng.random((n, d)) < rng.choice([0.2, 0.5, 0.8], d)
    classes = int(rng.integers(2, 4)) if classes is None else classes
    y = rng.permutation(np.arange(n) % classes).astype(np.int32)
    marked = rng.random(n) < 0.7 if seed % 3 == 0 else None
    if marked is not None:
        marked[:classes] = True
    return Items.dense(matrix), [set(np.flatnonzero(r).tolist()) for r in matrix], y, marked


def pairs(y, marked):
    """Cross-class pairs of rows that may be used."""
    use = [i for i in range(len(y)) if marked is None or marked[i]]
    return [(a, b) for a in use for b in use if a < b and y[a] != y[b]]


@pytest.mark.parametrize("chunk", range(4))
def test_hamming(chunk):
    """The Hamming weight of a set is its mean difference over cross-class pairs, exactly."""
    for seed in range(chunk * 50, (chunk + 1) * 50):
        items, rows, y, marked = table(seed)
        classes, hidden = int(y.max()) + 1, [marked is not None and not m for m in
                                             (marked if marked is not None else y)]
        S = set(range(0, len(items), 2))
        total = max(len(pairs(y, marked)), 1)

        weight = weights(items, y, classes, "hamming", marked).of(sorted(S))
        assert weight == Fraction(naive.differences(rows, y, hidden, S), total)


def test_mutual_information():
    """Mutual information is the sum over the joint table, rounded to a thousand-millionth."""
    for seed in range(100):
        items, rows, y, marked = table(seed)
        use = [i for i in range(len(y)) if marked is None or marked[i]]
        total = weights(items, y, int(y.max()) + 1, "mutual-information", marked)
        for j in range(len(items)):
            joint = {}
            for i in use:
                key = (j in rows[i], int(y[i]))
                joint[key] = joint.get(key, 0) + 1 / len(use)
            wanted = sum(p * np.log(p / sum(v for k, v in joint.items() if k[0] == x)
                                    / sum(v for k, v in joint.items() if k[1] == c))
                         for (x, c), p in joint.items())

            assert abs(int(total.values[j]) * 1e-9 - wanted) < 2e-9


def paper_value(objective, rows, y, marked, S):
    """The paper's averages by loops."""
    hidden = [marked is not None and not marked[i] for i in range(len(y))]
    if objective == "class-errors":
        return 1 - Fraction(naive.errors(rows, y, hidden, S, 2), hidden.count(False))
    count = naive.differences if objective == "hamming" else naive.told_apart
    return Fraction(count(rows, y, hidden, S), max(len(pairs(y, marked)), 1))


@pytest.mark.parametrize("chunk", range(4))
def test_objectives(chunk):
    """A choice reports the paper's averages over labelled rows, and the level of all rows."""
    for seed in range(chunk * 30, (chunk + 1) * 30):
        items, rows, y, marked = table(seed)
        rule = Rule(2, int(y.max()) + 1)
        for objective in ("hamming", "distinct", "class-errors"):
            choice = greedy(Labelled(items, y, marked=marked), rule, objective)
            S = set(choice.selected)
            levels = [len(naive.group(rows, i, S, rule)) for i in range(len(rows))]
            assert choice.level == min(levels) >= 2
            assert choice.objective == paper_value(objective, rows, y, marked, S)


def test_toy():
    """The toy table: HamDist 6/9 and 8/9, DistCnt 6/9 and 4/9, and what Algorithm 2 picks."""
    items, rule = Items.dense(TOY), Rule(2, 2)
    value = {(S, by): choice_of(Labelled(items, TOY_Y), rule, S, by).objective
             for S in ((0, 1, 4), (2, 3, 4)) for by in ("hamming", "distinct")}

    assert value == {((0, 1, 4), "hamming"): Fraction(6, 9),
                     ((0, 1, 4), "distinct"): Fraction(6, 9),
                     ((2, 3, 4), "hamming"): Fraction(8, 9),
                     ((2, 3, 4), "distinct"): Fraction(4, 9)}
    assert greedy(Labelled(items, TOY_Y), rule, "hamming").selected == (1,)
    assert greedy(Labelled(items, TOY_Y), rule, np.array([1, 0, 1, 1, 1])).selected == (0, 2, 3, 4)
    assert greedy(Labelled(items, TOY_Y), rule, "hamming", prefix=(2,)).selected == (2, 3)


def test_skip_is_maximal():
    """With "skip" no item of weight can be added; with "break" the heaviest are a prefix."""
    for seed in range(80):
        items, rows, y, _ = table(seed)
        S = set(greedy(Labelled(items, y), Rule(3, 3), np.ones(len(items), int)).selected)
        by = weights(items, y, 3, "hamming").values
        order = modular_order(by, np.flatnonzero(by > 0))
        first = greedy(Labelled(items, y), Rule(3, 3, stop="break"), "hamming").selected

        assert not any(naive.feasible(rows, y, S | {j}, Rule(3, 3))
                       for j in set(range(len(items))) - S)
        assert sorted(order[: len(first)]) == list(first)


def test_suppressed():
    """A choice that leaves rows out says how many, and its level is that of the others."""
    seen = 0
    for seed in range(80):
        items, rows, y, _ = table(seed)
        rule = Rule(2 + seed % 2, 3, suppress=3)
        choice = greedy(Labelled(items, y), rule, "hamming")
        left = naive.stays(rows, y, set(choice.selected), rule)
        kept = [len(naive.group(rows, i, set(choice.selected), rule) & left) for i in left]
        seen += choice.suppressed > 0

        assert (choice.suppressed, choice.level) == (len(rows) - len(left), min(kept))
        kept = kept_rows(Labelled(items, y), rule, choice.selected)
        assert np.flatnonzero(kept).tolist() == sorted(left)
        assert all(left & naive.holds(rows, j) for j in choice.selected)
        assert choice.suppressed <= 3
    assert seen > 8


@pytest.mark.parametrize(("rule", "says"), [
    (Rule(1, 2), "k is 1"), (Rule(7, 2), "k is 7, but the table has 6 rows"),
    (Rule(2, 2, l_diversity=3), "l_diversity is 3"), (Rule(2, 2, suppress=5), "suppress is 5"),
    (Rule(2, 2, stop="stop"), "stop is 'stop'"), (Rule(2, 2, model="none"), "model is 'none'")])
def test_refused_rules(rule, says):
    """A rule that protects nobody or cannot be kept is refused in one sentence."""
    with pytest.raises(ParameterError, match=says):
        greedy(Labelled(Items.dense(TOY), TOY_Y), rule)


@pytest.mark.parametrize(("options", "says"), [
    ("entropy", "give one of mutual-information, hamming"), ([1.0, 2.0], "each of 5 items"),
    ([1, 1, np.nan, 1, 1], "item 2 is nan"), ([1, 1, 1, -1, 1], "item 3 is -1"),
    ([2**61] * 5, "divide all by the same"), (["a"] * 5, "a number for each")])
def test_refused_weights(options, says):
    """Weights are known names or numbers that are not negative."""
    with pytest.raises(ParameterError, match=says):
        greedy(Labelled(Items.dense(TOY), TOY_Y), Rule(2, 2), options)


def test_refused_prefix():
    """A prefix that breaks the rule is refused, not shortened."""
    for objective in ("hamming", "distinct", "class-errors"):
        with pytest.raises(ParameterError, match="first 2 items do not keep k = 2"):
            greedy(Labelled(Items.dense(TOY), TOY_Y), Rule(2, 2), objective, prefix=(1, 3))


@cache
def real(name):
    """The paper's data: items and classes (1 is spam, and the higher income)."""
    if not (DATA / name).is_dir():
        pytest.skip(f"PRIVSIEVE_DATA holds no {name}")
    import pandas as pd

    if name == "pu1":
        from scipy.sparse import load_npz

        X = load_npz(DATA / name / "X.npz").tocsc()
        X.sort_indices()
        y = pd.read_parquet(DATA / name / "rows.parquet")["y"]
        names = tuple(f"t{j}" for j in range(X.shape[1]))
        cells = X.indptr.astype(np.int64), X.indices.astype(np.int32)
        return Items(*cells, X.shape[0], names, names), y.to_numpy(np.int32)
    frame = pd.read_parquet(DATA / name / "data.parquet")
    y = frame.pop("y").to_numpy(np.int32)
    return Items.dense(frame.to_numpy(), list(frame.columns)), y


#: Columns chosen at k = 5, 8, 11: the paper's Table 6 (all but the last two), and ours.
PU1 = [("hamming", "break", "containment", [11, 11, 11]),
       ("distinct", "break", "containment", [11, 7, 7]),
       ("class-errors", "break", "containment", [3, 3, 3]),
       ("hamming", "break", "k-anonymity", [4, 4, 4]),
       ("distinct", "break", "k-anonymity", [4, 4, 4]),
       ("hamming", "skip", "containment", [191, 105, 71]),
       ("distinct", "skip", "k-anonymity", [19, 6, 4])]  # fmt: skip


@pytest.mark.parametrize(("objective", "stop", "model", "columns"), PU1)
def test_paper_email(objective, stop, model, columns):
    """On the paper's e-mails the printed methods choose as many columns as it reports."""
    items, y = real("pu1")
    chosen = [greedy(Labelled(items, y), Rule(k, 2, stop, model), objective) for k in (5, 8, 11)]

    assert [len(choice.selected) for choice in chosen] == columns
    assert all(choice.level >= k for choice, k in zip(chosen, (5, 8, 11), strict=True))


def test_adult():
    """On the census data greedy skip finds 13, 12, 11 columns of the values on record."""
    items, y = real("adult19")
    chosen = [greedy(Labelled(items, y), Rule(k, 2), "hamming") for k in (5, 8, 11)]
    errors = [greedy(Labelled(items, y), Rule(k, 2, "break"), "class-errors") for k in (5, 8, 11)]

    assert [len(choice.selected) for choice in chosen] == [13, 12, 11]
    assert [f"{float(choice.objective):.3f}" for choice in chosen] == ["5.085", "4.860", "4.520"]
    assert [(len(c.selected), c.level) for c in errors] == [(12, 7), (7, 24), (11, 16)]


def test_adult_mixed():
    """With two classes in every group, no group of the choice has one class."""
    items, y = real("adult19")
    choice = greedy(Labelled(items, y), Rule(5, 2, l_diversity=2), "hamming")
    rows = items.take(choice.selected)

    assert levels((rows.indptr, rows.indices), y, 2).classes.min() == 2
