"""Choices of bounded range lose no more than is computed, and hardly less."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from exact import gumbel_order, order_law
from privsieve.errors import ParameterError
from privsieve.noise import approximate
from privsieve.noise.approximate import MOST, concentrated, gumbel_scale, lost

TINY = Fraction(1, 10**6)


def worst(choices, eta, epsilons, points):
    """The recursion itself, each t of a fine grid tried at each step: adaptive, from below."""
    if not choices:
        return np.maximum(0, -np.expm1(np.minimum(epsilons, 0)))
    worst_losses = np.zeros_like(epsilons)
    for t in np.linspace(0, eta, points):
        q = -math.expm1(t - eta) / -math.expm1(-eta)
        worst_losses = np.maximum(worst_losses, q * worst(choices - 1, eta, epsilons - t, points)
                                  + (1 - q) * worst(choices - 1, eta, epsilons - t + eta, points))
    return worst_losses


@pytest.mark.parametrize(("choices", "eta", "epsilon"), [
    (1, "0.5", "0.2"), (1, "2", "1"), (2, "0.5", "0.3"), (2, "1.5", "1"), (2, "0.1", "0"),
    (3, "0.5", "1"), (3, "1", "0.5"),
])
def test_the_worst_adaptive_choices_are_covered(choices, eta, epsilon):
    """No sequence of two-point choices, each after the others' answers, loses more."""
    loss = float(lost(choices, Fraction(eta), Fraction(epsilon)))
    tried = float(worst(choices, float(eta), np.array([float(epsilon)]), 21)[0])

    assert tried <= loss <= 1.03 * tried + 1e-4


@pytest.mark.parametrize("fine", [1, 2, 3])
@pytest.mark.parametrize(("choices", "eta", "epsilon"), [
    (1, "2", "0.5"), (2, "1", "0.3"), (2, "3", "2"), (3, "1", "0.5"),
])
def test_a_coarse_lattice_is_above(choices, eta, epsilon, fine, monkeypatch):
    """With one to three points in a range, what lies between them is covered as well."""
    monkeypatch.setattr(approximate, "FINEST", fine)
    loss = float(lost(choices, Fraction(eta), Fraction(epsilon)))
    tried = float(worst(choices, float(eta), np.array([float(epsilon)]), 13)[0])

    assert tried <= loss <= 1


@pytest.mark.parametrize("choices", [4, 16])
def test_another_accountant_finds_no_more(choices):
    """dp-accounting's composition of two-point losses stays below, and comes near."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    eta, epsilon = 0.4, 0.3 * math.sqrt(choices)
    loss, most = float(lost(choices, Fraction("0.4"), Fraction(epsilon))), 0.0
    for t in np.linspace(0.02, 0.38, 13):
        p = -math.expm1(t - eta) / -math.expm1(-eta)
        other = p * math.exp(-t)
        # The optimistic side rounds losses down: a bound from below.
        loss_law = pld.from_two_probability_mass_functions(
            {0: math.log(other), 1: math.log(1 - other)}, {0: math.log(p), 1: math.log(1 - p)},
            pessimistic_estimate=False, value_discretization_interval=1e-3, symmetric=False)
        most = max(most, loss_law.self_compose(choices).get_delta_for_epsilon(epsilon))

    assert 0.8 * loss < most <= loss


def loss_of_lists(scores, others, k, scale, epsilon):
    """P(S) - e^epsilon P'(S) at its largest, over sets S of lists of a Gumbel race."""
    first, second = (order_law(s, k, scale, gumbel_order) for s in (scores, others))
    return math.fsum(max(0.0, p - math.exp(epsilon) * second[a]) for a, p in first.items())


def worst_race(d, k, scale, epsilon):
    """The largest of these over scores on a grid, and moves of one up or down in each."""
    return max(
        loss_of_lists((0, *gaps), np.add((0, *gaps), move).tolist(), k, scale, epsilon)
        for gaps in itertools.product((-2 * scale, -scale / 2, 0, scale), repeat=d - 1)
        for move in itertools.product((-1, 1), repeat=d))


CASES = [(2, 1, "1", "0.01"), (3, 2, "1", "0.01"), (3, 2, "0.3", "0.05"), (4, 3, "1", "0.02"),
         (4, 2, "0.5", "1e-3")]


@pytest.mark.parametrize(("d", "k", "epsilon", "delta"), CASES)
def test_exact_laws_of_small_races_stay_below(d, k, epsilon, delta):
    """On all small neighbours the true law of the list loses at most delta, and not far less."""
    scale = float(gumbel_scale(k, Fraction(epsilon), Fraction(delta)))
    worst_law = worst_race(d, k, scale, float(epsilon))

    assert 0.2 * float(delta) < worst_law <= float(delta)


def test_the_search_sees_too_little_noise():
    """A race with a tenth less noise breaks the claim, and the laws say so."""
    scale = float(gumbel_scale(2, Fraction(1), Fraction("0.01")))

    assert worst_race(3, 2, 0.9 * scale, 1.0) > 0.01


def test_the_search_in_floats_is_close_and_the_integers_are_above():
    """Integers round up from what floats find, by less than a millionth."""
    for choices, eta, epsilon in ((5, "0.3", "1"), (20, "0.1", "1"), (70, "0.02", "0.4")):
        args = choices, Fraction(eta), Fraction(epsilon)
        exact, floats = float(lost(*args)), float(lost(*args, exact=False))

        assert exact == pytest.approx(floats, rel=1e-6)


def test_a_scale_is_at_most_the_two_others():
    """Never above the pure scale or that of zCDP; more choices never need less."""
    for epsilon, delta in (("1", "1e-6"), ("0.1", "1e-9"), ("8", "0.01"), ("1000", "1e-18"),
                           ("1e-9", "0.5")):
        exact = Fraction(epsilon), Fraction(delta)
        scales = [gumbel_scale(m, *exact) for m in (1, 2, 3, 10, 30, MOST + 1)]
        rho = float(concentrated(*exact))

        assert scales == sorted(scales)
        for m, scale in zip((1, 2, 3, 10, 30, MOST + 1), scales, strict=True):
            assert scale <= 2 * m / exact[0]
            assert float(scale) <= math.sqrt(m / (2 * rho)) * (1 + 1e-9)


def test_no_choice_is_refused():
    """Nothing to name has no scale."""
    with pytest.raises(ParameterError, match="write at least 1"):
        gumbel_scale(0, Fraction(1), TINY)
