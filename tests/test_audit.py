"""The audit's bound stays under what is true, and broken twins are caught."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from attacks import RUNS
from exact import gamma_norm
from privsieve.check.audit import PROFILES, _epsilon, _lowest, audit
from privsieve.errors import ParameterError
from privsieve.noise.discrete import noisy
from privsieve.noise.race import geometric_race
from privsieve.noise.streams import discrete_laplace, replay

#: A neighbouring pair of scores at distance 1 whose loss at k = 1 is epsilon.
SCORES = ((2, 0), (1, 1))


def count(mean, seed):
    """A count with two-sided geometric noise."""
    noise = replay(seed)
    return lambda table: table + discrete_laplace(mean, noise)


def cells(mean, seed):
    """Counts of two cells with two-sided geometric noise."""
    noise = replay(seed)
    return lambda table: noisy(np.array(table), mean, noise)


def sieve(mean, seed):
    """The better of two scores by the race."""
    noise, names = replay(seed), ("age", "ward")
    return lambda table: {names[j] for j in geometric_race(table, 1, mean, noise)}


def vector(beta, seed):
    """Three numbers with Gamma-norm noise on a grid of 2^-10."""
    noise = replay(seed)
    return lambda table: np.array(gamma_norm([table * 1024, 0, 0], beta, -10, noise)) / 1024


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "pair"), [
    (count(Fraction(1), 1), (0, 1)), (sieve(Fraction(2), 2), SCORES),
    (vector(Fraction(1), 3), (0, 1)), (cells(Fraction(2), 12), SCORES),
], ids=["count", "sieve", "vector", "cells"])
def test_right_noise_is_not_exceeded(mechanism, pair):
    """A mechanism that costs 1 is not refuted, though the bound comes near."""
    report = audit(mechanism, *pair, epsilon=1.0, profile=RUNS)

    assert (report.exceeded, report.runs) == (False, 2 * RUNS)
    assert 0.3 < report.bound < report.bound95 <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "pair"), [
    (count(Fraction(1, 2), 4), (0, 1)), (sieve(Fraction(1), 5), SCORES),
    (vector(Fraction(2), 6), (0, 1)), (cells(Fraction(1), 13), SCORES),
], ids=["count", "sieve", "vector", "cells"])
def test_half_noise_is_caught(mechanism, pair):
    """A twin with half of the noise is refuted."""
    report = audit(mechanism, *pair, epsilon=1.0, profile=RUNS)

    assert report.exceeded
    assert 1.0 < report.bound <= report.bound95 <= 2.0


@pytest.mark.parametrize("honest", [count(Fraction(1), 8), lambda _table: (1, 2)],
                         ids=["numbers", "selections"])
def test_an_exception_is_an_output(honest):
    """A right mechanism that fails on one table in 5 % of its runs is refuted."""
    luck = random.Random(9)

    def fragile(table):
        if table == 1 and luck.random() < 0.05:
            raise ValueError("a column is constant")
        return honest(table)

    assert audit(fragile, 0, 1, epsilon=1.0, profile=RUNS).exceeded


def test_the_words_of_an_exception_are_an_output():
    """A mechanism that always fails, and says why, is refuted at once."""
    def loud(table):
        raise ValueError(f"could not convert {table}")

    assert audit(loud, "ann", "bob", epsilon=1.0).exceeded


@pytest.mark.parametrize("leak", [
    lambda table: table, lambda table: [table, 2], lambda table: [0.5, float("nan"), table],
    lambda table: np.array([[0, table]]), lambda table: {"a", "b"} if table else {"b"},
    lambda table: (1, 2) if table else (2, 1), lambda table: {"all": table},
    lambda table: np.zeros(1 + table), lambda table: ([1], table), lambda table: "yes" * table,
    lambda table: np.full(600, float(table)), lambda table: float("inf") if table else 1e308,
])
def test_a_leak_is_caught_in_any_shape(leak):
    """Two hundred runs find a plain leak in numbers, arrays, names, orders, lengths and texts."""
    report = audit(leak, 0, 1, epsilon=1.0)

    assert (report.exceeded, report.runs) == (True, 400)
    assert report.bound > 2.7


def test_delta_is_subtracted():
    """A leak with probability 3 % refutes (0.1, 0), and does not refute (0.1, 0.05)."""
    def leaky(seed):
        luck = random.Random(seed)
        return lambda table: table if luck.random() < 0.03 else -1

    assert audit(leaky(1), 0, 1, epsilon=0.1, profile=RUNS).exceeded
    assert not audit(leaky(1), 0, 1, epsilon=0.1, delta=0.05, profile=RUNS).exceeded


def test_false_alarms_are_rare():
    """Of 200 audits of exactly epsilon, 1 % may err; one in a million is that 13 do."""
    luck, yes = random.Random(11), math.e / (1 + math.e)

    def response(table):
        return table if luck.random() < yes else 1 - table

    reports = [audit(response, 0, 1, epsilon=1.0) for _ in range(200)]

    assert sum(a.exceeded for a in reports) < stats.binom.isf(1e-6, 200, 0.01)
    assert sum(a.bound95 > 1.0 for a in reports) < stats.binom.isf(1e-6, 200, 0.05)


@pytest.mark.parametrize("runs", [1, 7, 134, 20_000])
@pytest.mark.parametrize("wrong", [1e-9, 0.005, 0.9])
def test_limits_are_those_of_clopper_and_pearson(runs, wrong):
    """The lower limit of a share is the Beta quantile, from below."""
    for hits in {0, 1, runs // 3, runs - 1, runs}:
        expected = stats.beta.ppf(wrong, hits, runs - hits + 1) if hits else 0.0
        lowest = _lowest(hits, runs, math.log(wrong))

        assert expected * (1 - 1e-9) <= lowest <= expected * (1 + 1e-9)


@pytest.mark.parametrize("wrong", [0.01, 0.05])
@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_no_two_shares_are_wronged_more_often_than_was_said(wrong, delta):
    """Over all counts of 25 runs each, exactly: a bound is too high with that probability."""
    runs, hits = 25, np.arange(26)
    bounds = np.array([[_epsilon(hit, less, runs, wrong, delta) for less in hits] for hit in hits])
    worst = 0.0
    for extra_share in np.linspace(delta + 0.01, 0.99, 30):
        for less in np.linspace(0.001, extra_share - delta, 30):
            chance = np.outer(*(stats.binom.pmf(hits, runs, share)
                                for share in (extra_share, less)))
            worst = max(worst, chance[bounds > math.log((extra_share - delta) / less)
                                      + 1e-12].sum())

    assert wrong / 20 < worst <= wrong


def test_a_bound_is_the_least_ratio_that_is_not_too_far():
    """Two p-values multiply to what Fisher allows; of all such shares, the smallest ratio."""
    far = -math.log(0.01)
    for _ in range(99):
        far = math.log(1 + far) - math.log(0.01)
    parts = np.linspace(0, 1, 20_001)[1:-1]
    for hits_first, less, delta in ((300, 60, 0.0), (750, 300, 0.0), (525, 60, 0.1),
                                    (1500, 0, 0.0)):
        high = stats.beta.ppf(np.exp(-far * parts), hits_first, 1501 - hits_first) - delta
        low = stats.beta.isf(np.exp(-far * (1 - parts)), less + 1, 1500 - less)
        expected = np.log(high / low).min()

        assert expected - 0.002 < _epsilon(hits_first, less, 1500, 0.01, delta) <= expected + 1e-6


def test_nothing_seen_says_nothing():
    """An event that never happens gives no bound; one that always does, a finite one."""
    assert _epsilon(0, 0, 100, 0.01, 0.0) == -math.inf
    assert 0 < _epsilon(100, 0, 100, 0.01, 0.1) < _epsilon(100, 0, 100, 0.01, 0.0) < math.inf
    assert _epsilon(50, 0, 100, 0.01, 0.5) == -math.inf


@pytest.mark.parametrize(("options", "message"), [
    ({"epsilon": 1.0, "profile": "nightly"}, "choose one of smoke, ci, release"),
    ({"epsilon": 1.0, "profile": 99}, "number of runs from 100"),
    ({"epsilon": -1.0}, "choose epsilon from 0"), ({"epsilon": math.nan}, "choose epsilon from 0"),
    ({"epsilon": 1.0, "delta": 1.0}, "delta from 0 to below 1"),
])
def test_bad_parameters_are_refused(options, message):
    """A profile that is not there and an impossible claim are refused before a run."""
    with pytest.raises(ParameterError, match=message):
        audit(lambda table: table, 0, 1, **options)


def test_profiles_are_what_they_say():
    """Both tables get the profile's number of runs."""
    expected = {"smoke": 200, "ci": 30_000, "release": 1_000_000}

    assert expected == PROFILES
