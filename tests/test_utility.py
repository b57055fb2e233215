"""Law: what the default selector promises in quality holds on tables with known signals."""

from __future__ import annotations

import numpy as np
import pytest

import tables
from attacks import again
from privsieve.fit import fit
from privsieve.methods import plan
from privsieve.noise.streams import replay
from privsieve.public.columns import Label, Number
from privsieve.public.domain import Domain
from privsieve.rows import open_source


def choose(X, y, k, epsilon, seed, domain=None, **options):
    """One selection with a noise that can be repeated."""
    domain = domain or Domain.box(0.0, 1.0, columns=X.shape[1])
    planned = plan("rule-sieve", domain, k=k, epsilon=epsilon, rows=len(X), allow_weak=True,
                   **options)
    return fit(planned, open_source(X, y), noise=replay(seed)).selected


def test_an_exclusive_or_is_found():
    """A pair that matters only together, among 20 columns of 4,200 rows, at epsilon 0.1."""
    hits = 0
    for seed in range(100):
        X, y, planted = tables.xor(np.random.default_rng(seed))
        hits += tables.recall(choose(X, y, 2, "0.1", seed), planted) == 1

    assert hits >= 95


def test_five_shifted_columns_of_fifty_are_found():
    """14,000 rows at epsilon 0.1: mean recall at least 0.9."""
    hits = []
    for seed in range(8):
        X, y, planted = tables.gauss(np.random.default_rng(seed))
        hits.append(tables.recall(choose(X, y, 5, "0.1", seed), planted))

    assert np.mean(hits) >= 0.9


def test_a_rare_class_is_no_hindrance():
    """10 % positives, 7,000 rows, shifts of 1 deviation, epsilon 0.5: mean recall at least 0.9."""
    hits = []
    for seed in range(16):
        X, y, planted = tables.gauss(np.random.default_rng(seed), n=7000, positives=0.1,
                                     weakest=1.0)
        hits.append(tables.recall(choose(X, y, 5, "0.5", seed), planted))

    assert np.mean(hits) >= 0.9


def test_three_parity_is_found():
    """Three columns that matter only together, at epsilon 0.3."""
    hits = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.random((6000, 15))
        y = (X[:, :3] > 0.5).sum(axis=1) % 2
        hits += tables.recall(choose(X, y, 3, "0.3", seed), {0, 1, 2}) == 1

    assert hits >= 19


#: Mean of `wdbc_accuracy` over the 2,000 seeds 10,000 to 11,999 (standard error 0.0005).
RECORDED_WDBC = 0.9257


def wdbc_accuracy(seed):
    """Choose 3 of 30 columns at epsilon 1 on 70 % of WDBC; 3NN accuracy on the rest."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split
    from sklearn.neighbors import KNeighborsClassifier

    data = load_breast_cancer()
    domain = Domain([Number(f"x{j}", 0, high) for j, high in enumerate(data.data.max(axis=0))],
                    target=Label("y", (0, 1)))
    X, Xt, y, yt = train_test_split(data.data, data.target, test_size=0.3, random_state=seed,
                                    stratify=data.target)
    columns = [int(name[1:]) for name in choose(X, y, 3, 1, seed, domain)]
    scale = data.data.max(axis=0)[columns]
    near = KNeighborsClassifier(3).fit(X[:, columns] / scale, y)
    return near.score(Xt[:, columns] / scale, yt)


def test_wdbc_keeps_its_accuracy():
    """Mean accuracy over 50 draws is not below the recorded mean less 0.03: ten standard errors."""
    pytest.importorskip("sklearn")

    assert RECORDED_WDBC > 0.85
    assert np.mean([wdbc_accuracy(seed) for seed in range(50)]) >= RECORDED_WDBC - 0.03


@pytest.mark.slow
def test_at_a_tiny_epsilon_the_choice_is_uniform():
    """At epsilon 1e-6 a strong signal is chosen no more often than any other column."""
    from scipy.stats import chisquare

    rng = np.random.default_rng(1)
    X, y, _planted = tables.gauss(rng, n=400, d=12, planted=1)
    planned = plan("rule-sieve", Domain.box(0.0, 1.0, columns=12), k=1, epsilon="1e-6", rows=len(X),
                   allow_weak=True)
    chosen, counts = again(planned, open_source(X, y), replay(3)), np.zeros(12)
    for _ in range(1200):
        counts[int(chosen()[0][1:])] += 1

    assert chisquare(counts).pvalue > 1e-6


def test_a_pair_first_finds_the_pair():
    """joint="pair" finds an exclusive or with fewer rows."""
    hits = 0
    for seed in range(50):
        X, y, planted = tables.xor(np.random.default_rng(seed), n=1500)
        hits += tables.recall(choose(X, y, 2, "0.1", seed, joint="pair"), planted) == 1

    assert hits >= 40


@pytest.mark.parametrize("classes", [3, 8])
def test_more_than_two_classes(classes):
    """Columns that tell classes apart are found for any number of classes."""
    hits = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, classes, 4000)
        X = rng.random((4000, 12))
        X[:, 4] = (y + X[:, 4]) / classes
        X[:, 7] = (classes - 1 - y + X[:, 7]) / classes
        domain = Domain.box(0, 1, columns=12, classes=range(classes))
        hits.append(tables.recall(choose(X, y, 2, 1, seed, domain), {4, 7}))

    assert np.mean(hits) >= 0.9


def test_a_class_of_one_in_a_hundred_is_no_hindrance():
    """1 % positives, 20,000 rows, epsilon 1.25: mean recall at least 0.9, known or not."""
    for prior in ("auto", "centred"):
        hits = []
        for seed in range(6):
            X, y, planted = tables.gauss(np.random.default_rng(seed), n=20_000, positives=0.01,
                                         weakest=1.0)
            hits.append(tables.recall(choose(X, y, 5, "1.25", seed, class_prior=prior), planted))

        assert np.mean(hits) >= 0.9


def test_rounds_take_one_of_each_group():
    """Of three causes, each shown by four near copies, rounds name all; one race does not."""
    held = {joint: [] for joint in ("auto", "none", "rounds")}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        cause = rng.standard_normal((2500, 3))
        y = (cause @ [1.0, 0.8, 0.6] + 0.5 * rng.standard_normal(2500) > 0).astype(int)
        X = rng.standard_normal((2500, 30))
        X[:, :12] = np.repeat(cause, 4, axis=1) + 0.3 * rng.standard_normal((2500, 12))
        for joint, groups in held.items():
            chosen = choose(np.clip(X / 8 + 0.5, 0, 1), y, 3, 1, seed, joint=joint)
            groups.append(len({int(name[1:]) // 4 for name in chosen}))

    assert min(np.mean(held["rounds"]), np.mean(held["auto"])) > 2.6
    assert np.mean(held["none"]) < 2
