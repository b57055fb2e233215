"""Races follow their exact law; no neighbour moves it by more than epsilon, and some move it so."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from exact import (
    exponential_order,
    geometric_order,
    gumbel_order,
    order_law,
    set_law,
    top_k_law,
)
from privsieve.errors import ParameterError
from privsieve.noise.approximate import MOST, concentrated, lost
from privsieve.noise.race import (
    Race,
    geometric_race,
    top_k,
)
from privsieve.noise.streams import Noise, replay


class Fed(Noise):
    """Uniforms whose geometric noise is known: in the middle of what gives each number."""

    def __init__(self, wanted, mean):
        digits = (int(math.exp(-(g + 0.5) / mean) * 2**64) for g in wanted)
        self.left = b"".join(d.to_bytes(8) for d in digits)

    def bytes(self, count):
        served, self.left = self.left[:count], self.left[count:]
        return served


def sixth(values):
    """Six decimals, as in the tables."""
    return [round(value, 6) for value in values]


@pytest.mark.parametrize(("scores", "k", "mean", "expected"), [
    ((0, 1, 2, 3), 2, 2, (.019064, .036814, .118812, .066079, .223506, .535725)),
    ((5, 4, 3, 2, 1), 2, 10, (.160821, .133749, .113905, .098246, .109495, .093871, .081312,
                              .079735, .069199, .059667)),
    ((16, -16), 1, 32, (.816060, .183940)),
])
def test_calculator_exponential_sets(scores, k, mean, expected):
    """The calculator of real races gives the known tables."""
    assert list(expected) == sixth(set_law(scores, k, mean, exponential_order).values())


def test_calculator_exponential_orders():
    """The calculator of ordered real races gives the known table and the known tight pair."""
    expected = [.299927, .164863, .231945, .078728, .145810, .078728]
    before, after = (exponential_order(s, (1, 2), 4) for s in ((22, 20, 21), (23, 19, 20)))

    assert expected == sixth(order_law((2, 1, 0), 2, 4, exponential_order).values())
    assert sixth([before, after, math.log(before / after)]) == [.078728, .028962, 1.0]


@pytest.mark.parametrize(("scores", "k", "mean", "expected"), [
    ((7, 7, 7, 7, 7), 3, 3, (.169987, .131853, .121801, .104529, .094477, .087274, .084950,
                             .074898, .067696, .062535)),
    ((24, 24, 24, 72), 3, 7.2, (.000000, .380548, .331200, .288252)),
])
def test_calculator_geometric_sets(scores, k, mean, expected):
    """The calculator of integer races gives the known tables, ties to the lower index."""
    assert list(expected) == sixth(set_law(scores, k, mean, geometric_order).values())


def enumerated(race, d, mean):
    """The law of a program: its answers for all vectors of noise but 1e-9, weighted."""
    q, law = math.exp(-1 / mean), {}
    most = math.ceil(mean * math.log(d * 1e9)) + 1
    for wanted in itertools.product(range(most), repeat=d):
        answer = race(Fed(wanted, mean))
        law[answer] = law.get(answer, 0.0) + (1 - q) ** d * q ** sum(wanted)
    return law


def close(expected, actual):
    """The same answers with the same probabilities."""
    return set(actual) <= set(expected) and all(
        abs(probability - actual.get(answer, 0.0)) < 2e-9
        for answer, probability in expected.items())


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(("scores", "k", "mean"), [
    ((1, 1, 0), 1, Fraction(1)), ((0, 0, 0), 2, Fraction(1)), ((0, 2, 1), 2, Fraction(4, 5)),
    ((1, 0, 1, 1), 2, Fraction(1, 2)), ((0, 1), 1, Fraction(2)),
])
def test_geometric_race_enumerated(scores, k, mean, ordered):
    """The program, run on every vector of noise, has the calculator's law."""
    law = enumerated(lambda noise: geometric_race(scores, k, mean, noise, ordered=ordered),
                     len(scores), mean)
    calculator = order_law if ordered else set_law
    expected = calculator(scores, k, float(mean), geometric_order)

    assert close(expected, law)


@pytest.mark.parametrize(("scores", "k", "ordered"), [
    ((1, 0, 1), 2, False), ((0, 0, 1), 2, True), ((0, 1, 0), 3, True), ((2, 0, 1, 1), 3, False),
    ((1, 2), 1, False),
])
def test_top_k_enumerated(scores, k, ordered):
    """The mechanism, run on every vector of noise, has the law of its definition."""
    d, epsilon = len(scores), 4
    race = Race(d, k, 1, Fraction(epsilon), ordered=ordered)
    law = enumerated(lambda noise: top_k(scores, race, noise), d, race.scale)
    expected = top_k_law(scores, k, 1, epsilon, ordered=ordered)

    assert close(expected, law)


def worst_loss(d, law):
    """The largest |log ratio| over all vectors of {0, 1, 2} and all neighbours at distance 1."""
    laws = {}
    for s in itertools.product(range(-1, 4), repeat=d):
        law_of_s = law(s)
        laws[s] = np.log(np.array([law_of_s[answer] for answer in sorted(law_of_s)]))
    return max(
        float(np.abs(laws[s] - laws[tuple(np.add(s, move))]).max())
        for s in itertools.product(range(3), repeat=d)
        for move in itertools.product((-1, 0, 1), repeat=d)
    )


CASES = [(d, k, ordered) for d in (2, 3, 4) for k in (1, 2, 3) for ordered in (False, True)
         if k < d + ordered]


@pytest.mark.parametrize(("d", "k", "ordered"), CASES)
def test_top_k_costs_epsilon_and_no_more(d, k, ordered):
    """Over all small neighbours the loss is at most epsilon, and it is attained."""
    worst = worst_loss(d, lambda s: top_k_law(s, k, 1, 1.0, ordered=ordered))

    assert abs(worst - 1.0) < 1e-9


@pytest.mark.parametrize(("d", "k", "ordered"), [case for case in CASES if case[0] < 4])
def test_gumbel_races_cost_epsilon_and_no_more(d, k, ordered):
    """Gumbel races stay under epsilon on all small neighbours, and come near it."""
    worst = worst_loss(d, lambda s: top_k_law(s, k, 1, 1.0, ordered=ordered, mechanism="gumbel"))

    assert 0.55 < worst <= 1 + 1e-9


def divergence(scores, others, k, scale, alpha):
    """The Rényi divergence of two Gumbel races' lists."""
    first, second = (order_law(s, k, scale, gumbel_order) for s in (scores, others))
    return math.log(math.fsum(p**alpha * second[a] ** (1 - alpha)
                              for a, p in first.items())) / (alpha - 1)


@pytest.mark.parametrize(("k", "near"), [(1, 0.99), (2, 0.80)])
def test_gumbel_races_are_concentrated(k, near):
    """Over neighbours and orders alpha, D_alpha <= alpha rho, and the bound is nearly reached."""
    rho = float(concentrated(Fraction(1), Fraction(1, 10**6)))
    unit, worst = 2 * math.sqrt(k / (8 * rho)), 0.0
    for alpha in (1.01, 1.5, 2, 8, 64):
        for gaps in itertools.product((-12, -6, 0, 6, 12), repeat=k):
            for move in itertools.product((-1, 1), repeat=k + 1):
                scores = [0, *gaps]
                others = np.add(scores, move).tolist()
                loss = divergence(scores, others, k, unit, alpha) / (alpha * rho)
                worst = max(worst, loss)

    assert near < worst <= 1


def test_a_race_is_decided_by_public_numbers():
    """Kind, scale and side follow from d, k, sensitivity, epsilon and delta; some by hand."""
    tiny, unit = Fraction(1, 10**6), Fraction(1)
    names = [(race.kind, race.named, race.smallest, race.account) for race in (
        Race(30, 5, 24, unit), Race(30, 25, 24, unit), Race(30, 25, 24, unit, ordered=True),
        Race(30, 6, 24, unit, delta=tiny), Race(30, 7, 24, unit, delta=tiny),
        Race(30, 23, 24, unit, delta=tiny), Race(30, 24, 24, unit, delta=tiny),
        Race(30, 30, 24, unit, delta=tiny))]
    expected = [
        ("exponential", 5, False, "pure"), ("exponential", 5, True, "pure"),
        ("exponential", 25, False, "pure"),
        ("exponential", 6, False, "pure"),
        ("gumbel", 7, False, "approximate"), ("gumbel", 7, True, "approximate"),
        ("exponential", 6, True, "pure"), ("exponential", 0, True, "pure"),
    ]

    assert expected == names


@pytest.mark.parametrize(("k", "epsilon", "delta"), [(8, 1, "1e-6"), (50, "0.1", "1e-9"),
                                                     (5, 8, "0.01")])
def test_an_approximate_scale_is_certified(k, epsilon, delta):
    """What is computed for it is at most delta, and above for a five-hundredth less noise."""
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    race = Race(200, k, 7, epsilon, delta=delta)
    ranges = [Fraction(14) / race.scale, Fraction(14 * 500, 499) / race.scale]

    assert race.account == "approximate"
    assert [True, False] == [lost(k, eta, epsilon) <= delta for eta in ranges]
    assert race.rho == Fraction(49 * k) / (2 * race.scale**2)
    assert race.scale < Race(200, k, 7, epsilon).scale


def test_a_race_of_very_many_names_is_sized_by_zcdp():
    """Above the largest number of choices its square is hardly above that of the formula."""
    race = Race(1000, MOST + 1, 7, Fraction(1), delta=Fraction(1, 10**6))
    exact = Fraction(49 * (MOST + 1)) / (2 * concentrated(Fraction(1), Fraction(1, 10**6)))

    assert exact <= race.scale**2 < exact * (1 + Fraction(1, 2**60))


def test_the_search_sees_a_data_dependent_tie_order():
    """Ties that go to the larger score break the claim, and the search says so."""
    def biased(scores):
        by_score = sorted(range(3), key=lambda j: -scores[j])
        law = set_law([scores[j] for j in by_score], 1, 2.0, geometric_order)
        return {(by_score[j],): p for (j,), p in law.items()}

    assert worst_loss(3, biased) > 1.1


def test_noise_is_sized_for_the_cheaper_side():
    """A set costs min(k, d - k) names, an order min(k, d - 1); everything costs nothing."""
    sizes = [Race(10, k, 3, Fraction(1, 2)).scale for k in (1, 5, 7, 9, 10)]
    orders = [Race(10, k, 3, Fraction(1, 2), ordered=True).scale for k in (1, 7, 10)]

    assert [Fraction(1, 8), 0] == [Race(10, k, 3, Fraction(1, 2)).rho for k in (5, 10)]
    assert [12 * m for m in (1, 5, 3, 1, 0)] == sizes
    assert [12 * m for m in (1, 7, 9)] == orders


def test_everything_needs_no_noise():
    """All of d is chosen without a bit; so is the order of one."""
    class NoBits(Noise):
        def bytes(self, count):
            raise AssertionError

    expected = (0, 1, 2)

    assert expected == top_k([5, 9, 1], Race(3, 3, 1, Fraction(1)), NoBits())
    assert top_k([5], Race(1, 1, 1, Fraction(1), ordered=True), NoBits()) == (0,)


@pytest.mark.parametrize(("k", "sensitivity", "epsilon"), [
    (0, 1, 1), (4, 1, 1), (-1, 1, 1), (1, 0, 1), (1, 1, 0), (1, 1, -1),
])
def test_bad_parameters_are_refused(k, sensitivity, epsilon):
    """A k outside 1 to d, what is not positive, a delta that is none, and other scores."""
    with pytest.raises(ParameterError, match=r"choose from 1 to 3|must be larger than 0"):
        Race(3, k, sensitivity, Fraction(epsilon))
    for delta in (Fraction(1), Fraction(-1, 9)):
        with pytest.raises(ParameterError, match="between 0 and 1"):
            Race(3, 1, 1, Fraction(1), delta=delta)
    with pytest.raises(ParameterError, match="there are 2 scores; this selection needs 3"):
        top_k([1, 2], Race(3, 1, 1, Fraction(1)), replay(1))


def test_scores_are_integers_of_any_kind():
    """NumPy integers near their limit do not wrap; a float is refused."""
    huge = np.array([2**63 - 1, 0, 2**63 - 10**9], dtype=np.int64)
    expected, race = (0, 2), Race(3, 2, 1, Fraction(1), ordered=True)

    assert expected == top_k(huge, race, replay(2))
    assert expected == top_k([int(s) for s in huge], race, replay(2))
    with pytest.raises(TypeError):
        top_k([1.5, 2.0], Race(2, 1, 1, Fraction(1)), replay(1))


def test_little_noise_names_the_best():
    """With epsilon large the best k are named, by either side, in either form."""
    scores = [10**6 * j for j in (3, 0, 7, 5, 1)]
    for k, best in ((1, (2,)), (2, (2, 3)), (3, (0, 2, 3)), (4, (0, 2, 3, 4))):
        for options in ({}, {"delta": Fraction(1, 2)}):
            assert best == top_k(scores, Race(5, k, 1, Fraction(10), **options), replay(k))
        ordered = Race(5, k, 1, Fraction(10), ordered=True)
        assert sorted(best) == sorted(top_k(scores, ordered, replay(k)))
    ranking = (2, 3, 0, 4, 1)

    assert ranking == top_k(scores, Race(5, 5, 1, Fraction(10), ordered=True), replay(9))
