"""Samplers follow their formulas, and the same test rejects noise 30 % off."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from exact import (
    gamma_norm,
    geometric_order,
    gumbel_order,
    order_law,
    set_law,
)
from privsieve.noise.race import (
    Race,
    geometric_race,
    gumbel_race,
    top_k,
)
from privsieve.noise.streams import discrete_laplace, geometric, replay
from privsieve.noise.values import Grid, gaussian, laplace

#: A right sampler is rejected once in a million; seeds are fixed, so it passes or it does not.
MILLIONTH = 1e-6
#: Right, and 30 % off in both directions.
SCALES = [(Fraction(1), True), (Fraction(13, 10), False), (Fraction(7, 10), False)]


def fits(counts, probabilities):
    """Chi-square at one in a million: answers with their law, rare ones pooled."""
    counts, expected = np.asarray(counts, float), sum(counts) * np.asarray(probabilities)
    rare = expected < 10
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    statistic = ((counts - expected) ** 2 / expected).sum()
    return stats.chi2.sf(statistic, len(counts) - 1) > MILLIONTH


def lawful(answers, law):
    """Whether drawn answers fit a law, all of whose answers are listed."""
    counts = Counter(answers)
    return set(counts) <= set(law) and fits([counts[a] for a in law], list(law.values()))


@pytest.mark.parametrize(("off", "right"), SCALES)
@pytest.mark.parametrize("mean", [Fraction(1, 2), Fraction(31, 3), Fraction(10**6)])
def test_geometric(mean, off, right):
    """P(G >= a) = exp(-a / mean), for small and large means."""
    drawn = geometric(mean * off, 8_000, replay(1))
    step = max(1, int(mean) // 4)
    edges = [a * step for a in range(20)]
    tails = [math.exp(-a / mean) for a in edges] + [0.0]
    bins = Counter(min(g // step, 19) for g in drawn)

    assert right == fits([bins[i] for i in range(20)], -np.diff(tails))


@pytest.mark.parametrize(("off", "right"), SCALES)
def test_discrete_laplace(off, right):
    """P(Z = z) is proportional to exp(-|z| / mean)."""
    mean, noise = 4, replay(2)
    q = math.exp(-1 / mean)
    law = {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-400, 401)}

    assert right == lawful((discrete_laplace(mean * off, noise) for _ in range(5_000)), law)


@pytest.mark.parametrize(("off", "right"), SCALES)
@pytest.mark.parametrize(("race", "law"), [(geometric_race, geometric_order),
                                           (gumbel_race, gumbel_order)])
@pytest.mark.parametrize("ordered", [False, True])
def test_races(race, law, ordered, off, right):
    """Races name sets and orders with their exact probabilities."""
    scores, mean, noise = (0, 1, 2, 2), 2, replay(3)
    expected = (order_law if ordered else set_law)(scores, 2, mean, law)
    drawn = (race(scores, 2, mean * off, noise, ordered=ordered) for _ in range(4500))

    assert right == lawful(drawn, expected)


@pytest.mark.parametrize(("off", "right"), SCALES)
@pytest.mark.parametrize(("k", "ordered"), [(12, False), (4, False), (12, True)])
def test_approximate_races(k, ordered, off, right):
    """With a delta, a race for many names follows the Gumbel law of its scale."""
    epsilon, delta, noise, d = Fraction(1, 2), Fraction(1, 100), replay(7), 16
    race = Race(d, k, 1, epsilon, delta=delta, ordered=ordered)
    assert ("gumbel", "approximate") == (race.kind, race.account)
    ahead = round(race.scale * 5 / 2)  # so that neither answer is rare
    scores = [ahead * (j == 0) for j in range(d)]
    # How often the first is named: in the set, or as the best of the list.
    law = gumbel_order([-s for s in scores] if race.smallest else scores, (0,),
                       float(race.scale * off))
    if not ordered:
        signs, left, chance = -1 if race.smallest else 1, d, 0.0
        weight, reached = math.exp(signs * ahead / float(race.scale * off)), 1.0
        for _ in range(race.named):
            chance += reached * weight / (weight + left - 1)
            reached *= (left - 1) / (weight + left - 1)
            left -= 1
        law = 1 - chance if race.smallest else chance
    drawn = [top_k(scores, race, noise) for _ in range(4000)]
    named = sum(answer[0] == 0 if ordered else 0 in answer for answer in drawn)

    assert right == fits([named, len(drawn) - named], [law, 1 - law])


GRID, NARROW = Grid.of(4, Fraction(1)), Grid.of(4, Fraction(1), norm=1)


@pytest.mark.parametrize(("off", "right"), SCALES)
def test_laplace_values(off, right):
    """Each number gets a Laplace variable of scale sensitivity / epsilon."""
    noise = replay(8)
    drawn = [NARROW.numbers(laplace([0] * 4, NARROW, 3 / off, noise)) for _ in range(1000)]
    fit = stats.kstest(np.ravel(drawn), "laplace", (0, 1 / 3)).pvalue

    assert right == (fit > MILLIONTH)


@pytest.mark.parametrize(("off", "right"), SCALES)
def test_gaussian_values(off, right):
    """Each number gets a normal variable of this sigma, and no two are correlated."""
    noise, sigma = replay(9), Fraction(7, 3)
    drawn = np.array([GRID.numbers(gaussian([0] * 4, GRID, sigma * off, noise))
                      for _ in range(1000)])
    fit = stats.kstest(drawn.ravel(), "norm", (0, 7 / 3)).pvalue

    assert right == (fit > MILLIONTH)
    for i, j in ((0, 1), (0, 2), (2, 3)):
        assert stats.pearsonr(drawn[:, i], drawn[:, j]).pvalue > MILLIONTH
        assert stats.pearsonr(drawn[:, i] ** 2, drawn[:, j] ** 2).pvalue > MILLIONTH


def sample(d, beta, count, seed, k=-20):
    """Vectors of noise as an array, in units of 1."""
    noise = replay(seed)
    drawn = [gamma_norm([0] * d, beta, k, noise) for _ in range(count)]
    return np.array(drawn, float) * 2.0**k


@pytest.mark.parametrize(("off", "right"), SCALES)
@pytest.mark.parametrize(("d", "count"), [(1, 1200), (2, 1200), (3, 1200), (30, 400)])
def test_gamma_norm_length(d, count, off, right):
    """The length of the vector is Gamma(d) with rate beta."""
    length = np.linalg.norm(sample(d, Fraction(3) * off, count, seed=d), axis=1)

    assert right == (stats.kstest(length, "gamma", (d, 0, 1 / 3)).pvalue > MILLIONTH)


@pytest.mark.parametrize("d", [2, 3, 30])
def test_gamma_norm_direction(d):
    """The direction is uniform: each coordinate's square is a Beta, its sign a fair coin."""
    drawn = sample(d, Fraction(1), 700, seed=10 + d)
    share = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)) ** 2
    for j in {0, 1, d - 1}:
        fair = stats.binomtest(int((drawn[:, j] > 0).sum()), len(drawn)).pvalue

        assert stats.kstest(share[:, j], "beta", (0.5, (d - 1) / 2)).pvalue > MILLIONTH
        assert fair > MILLIONTH


@pytest.mark.parametrize("w", [0, 1])
def test_low_bits_say_nothing(w):
    """The last three binary digits of an answer are uniform, whatever was added to."""
    noise = replay(6)
    low = Counter(gamma_norm([w], Fraction(1), -20, noise)[0] % 8 for _ in range(2000))

    assert fits([low[i] for i in range(8)], [1 / 8] * 8)
