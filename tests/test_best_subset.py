"""Law: the best subset.  What the experiment says of its rival follows from enumeration."""

from __future__ import annotations

import math
import sys
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))

import best_subset
from exact import top_k_law
from privsieve.noise.race import Race


def small(n=300, p=7, k=2):
    """A table of which all sets can be looked at, and its sums."""
    table = best_subset.autoregressive((1, 2), n, p, 0.3)
    X, y = (np.clip(array, -0.5, 0.5) for array in (table.X, table.y))
    return table, best_subset.Fit(X.T @ X, X.T @ y, float(y @ y), n), k


@pytest.fixture
def two(monkeypatch):
    """The experiment where two columns matter."""
    monkeypatch.setattr(best_subset, "K", 2)
    return small()


def test_a_loss_is_the_least(two, monkeypatch):
    """No short weights on a fine grid are better than those of a set; the limit is felt."""
    _, fit, k = two
    for radius in (0.3, 1.1):
        monkeypatch.setattr(best_subset, "RADIUS", radius)
        sets = np.array(list(combinations(range(7), k)))
        losses = fit.losses(sets)
        grid = [(r * math.cos(t), r * math.sin(t)) for r, t in product(
            np.linspace(0, radius, 30), np.linspace(0, 2 * math.pi, 90))]
        for columns, loss in zip(sets, losses, strict=True):
            A, b = fit.A[np.ix_(columns, columns)], fit.b[columns]
            tried = min((fit.square - 2 * np.dot(beta, b) + np.dot(beta, A @ beta)
                         + best_subset.RIDGE * np.dot(beta, beta)) / (2 * fit.n) for beta in grid)

            assert loss <= tried + 1e-12
            assert tried - loss < 2e-3


def test_the_rival_is_what_enumeration_says(two):
    """By mistakes: classes of sets, each by its best.  Best R: no less than it can be."""
    table, fit, k = two
    top, mistakes = best_subset.by_rival(table, None)
    sets = list(combinations(range(7), k))
    log = dict(zip(sets, -fit.losses(np.array(sets)) / (2 * fit.moves), strict=True))
    classes = {}
    for share, value in log.items():
        classes.setdefault(k - len({*share} & {1, 3}), []).append(value)
    weight = {wrong: len(all_of) * math.exp(max(all_of) - log[1, 3])
              for wrong, all_of in classes.items()}

    assert {0, 1, 2} == set(classes)
    assert mistakes.exact == pytest.approx(1 / sum(weight.values()))
    # R is one and the sets with one mistake and one more; the others count as the last of these
    best = sorted(log.values(), reverse=True)
    listed, last = best[:12], best[11]
    true = math.exp(log[1, 3]) / (sum(map(math.exp, listed)) + 9 * math.exp(last))
    assert top.exact >= true - 1e-9
    assert 0 < top.exact < 1


def test_draws_are_those_of_a_race():
    """The share of each column in 20,000 draws is that of the exact law."""
    race, scores = Race(4, 2, 3, 1), [9, 0, 4, 12]
    named = best_subset.drawn(scores, race, 20_000, np.random.default_rng(1))
    law = top_k_law(scores, 2, 3, 1.0)

    for pair, chance in law.items():
        share = (np.sort(named, axis=1) == np.array(sorted(pair))).all(axis=1).mean()
        assert abs(share - chance) < 0.03


def test_planted_columns_are_every_second():
    """A signal of five times the noise, of five columns, each correlated with its neighbour."""
    table = best_subset.autoregressive((3,), 20_000, 12, 0.8)
    signal = table.X[:, table.planted].sum(axis=1) / math.sqrt(5)

    assert (1, 3, 5, 7, 9) == table.planted
    assert 0.8 == pytest.approx(np.corrcoef(table.X[:, 4], table.X[:, 5])[0, 1], abs=0.02)
    assert 5 == pytest.approx((signal @ signal) / ((table.y - signal) @ (table.y - signal)))


def test_a_line_has_a_cell_for_each_way(monkeypatch):
    """One small table, by all ways."""
    monkeypatch.setattr(best_subset, "DRAWS", 20)
    line = best_subset.row(30, 0.1, 400, 1)

    assert 3 + len(best_subset.COLUMNS) == line.count("|") - 1
    assert line.startswith("| 30 | 0.1 | 400 | 0")
