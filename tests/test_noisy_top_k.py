"""NoisyTopK: what it finds, and exact probabilities.  Its scores have laws of their own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import privsieve as ps
import tables
from exact import exponential_order, geometric_order, set_law
from privsieve.fit import fit
from privsieve.methods import plan
from privsieve.methods.labels import equal
from privsieve.noise.streams import replay
from privsieve.rows import open_source
from privsieve.summaries.scores import SCORES, Public, score_of
from test_scores import CLASSED, values, with_number

BOX = ps.Domain.box(0, 1, columns=12)
NUMBER = ps.Domain(BOX.columns, target=ps.Number("y", 0, 1))


def strong(n=3000, positives=0.5):
    """Three columns of twelve that show the class."""
    rng = np.random.default_rng(2)
    y = (rng.random(n) < positives).astype(int)
    X = rng.random((n, 12))
    for j in (2, 5, 9):
        X[:, j] = np.clip(0.4 * y + 0.6 * X[:, j], 0, 1)
    return X, y


def choose(X, y, domain=BOX, *, seed=5, **options):
    """The names that one selection with a repeatable noise gives."""
    planned = plan("noisy-top-k", domain, rows=len(X), **options)
    return fit(planned, open_source(X, y), noise=replay(seed)).selected


@pytest.mark.parametrize("share", ["noisy", 0.1, "0.1", [0.9, 0.1]])
@pytest.mark.parametrize("name", ["mean-difference", "class-counts"])
def test_a_rare_class_is_weighed(name, share):
    """With one positive in ten, columns are found by shares, declared or noisy."""
    X, y = rare()

    assert {"x2", "x5", "x9"} == set(choose(X, y, k=3, epsilon=4, score=name, class_prior=share))


def test_a_rare_class_misleads_a_mean_that_is_not_weighed():
    """Where all rows count alike, a mean far from the middle looks like a difference."""
    X, y = rare()

    assert {"x2", "x5", "x9"} != set(choose(X, y, k=3, epsilon=4, class_prior=None))


def rare():
    """One positive in ten, and columns whose means lie far from the middle."""
    X, y = strong(6000, 0.1)
    return np.clip(X * np.linspace(0.1, 1, 12), 0, 1), y


@pytest.mark.parametrize("name", CLASSED)
def test_more_than_two_classes(name):
    """Columns that tell five classes apart are found."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 5, 6000)
    X = rng.random((6000, 12))
    X[:, 4], X[:, 7] = (y + X[:, 4]) / 5, (4 - y + X[:, 7]) / 5
    domain = ps.Domain.box(0, 1, columns=12, classes=range(5))

    assert ("x4", "x7") == choose(X, y, domain, k=2, epsilon=4, score=name)


def test_scores_see_different_things():
    """A middle that tells has no mean: counts find it, the others do not."""
    rng = np.random.default_rng(4)
    X = rng.random((4000, 12))
    y = (np.abs(X[:, 6] - 0.5) < 0.25).astype(int)

    choices = {name: choose(X, y, k=1, epsilon=4, score=name) == ("x6",) for name in CLASSED}

    assert {"class-counts": True, "mean-difference": False} == choices


def test_a_correlation_is_the_same_wherever_values_lie():
    """Columns and target off their middles: the three that go with it are found all the same."""
    rng = np.random.default_rng(4)
    X = 0.5 + 0.5 * rng.random((2000, 12))
    y = np.clip(0.6 + 0.3 * (X[:, [2, 5, 9]] @ [1, -1, 1] - 0.75) + 0.1 * rng.random(2000), 0, 1)

    assert {"x2", "x5", "x9"} == set(choose(X, y, NUMBER, k=3, epsilon=8, score="correlation"))


# exact probabilities


def small(name):
    """A score of three columns for three rows, and its plan at epsilon 1."""
    columns = tables.domain("ffc" if name != "correlation" else "ffn").columns
    domain = ps.Domain(columns, target=ps.Label("y", [0, 1]))
    domain = with_number(domain) if name == "correlation" else domain
    planned = plan("noisy-top-k", domain, k=1, epsilon=1, rows=3, score=name, class_prior=None)
    return score_of(name, Public(domain, 3)), planned


@pytest.mark.parametrize("name", SCORES)
def test_a_choice_has_its_exact_probabilities(name):
    """2,000 choices follow the law of the race on the score's integers."""
    score, planned = small(name)
    label = [0, 65535, 65535] if name == "correlation" else [0, 1, 1]
    rows = tables.batch([[0, 0, 0], [1, 1, 1], [1, 0, 3]], label)
    score_values = values(score, [rows], equal(2, 3))
    mean, noise = 2 * score.sensitivity(equal(2, 3) if score.weighed else None), replay(11)
    # Geometric noise of a large mean is as good as exponential.
    law = set_law(score_values, 1, mean, geometric_order if mean < 1000 else exponential_order)

    summary = planned.summarise([rows], 1)
    picked = [planned.mechanism(summary, noise) for _ in range(2000)]
    counts = [picked.count((j,)) for j in range(3)]

    assert stats.chisquare(counts, 2000 * np.array(list(law.values()))).pvalue > 1e-6
