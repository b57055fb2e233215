"""Law: choice.  What is suggested follows from public numbers, and does what it says."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from privsieve.errors import ParameterError
from privsieve.methods.ridge.sensitivity import expected_error, suggest_lambda
from privsieve.papers.kernel_ridge import printed_sensitivity

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))

import least_squares as paper


@pytest.mark.parametrize(("m", "epsilon", "G", "kappa", "M"), [
    (10_000, 1, 1.0, 1, 1), (300, "0.1", 2.0, 1, 5), (10**6, "0.01", 0.1, 2, 1)])
def test_the_suggested_lambda_is_the_best(m, epsilon, G, kappa, M):
    """No other lam, of a grid ten times as fine, is better by more than a hundredth."""
    best = expected_error(m, epsilon, suggest_lambda(m, epsilon, G, kappa=kappa, M=M),
                                 G, kappa=kappa, M=M)
    others = [expected_error(m, epsilon, f"{10**power:.9f}", G, kappa=kappa, M=M)
              for power in np.arange(-6, 6, 1 / 240) if 10**power >= 1e-6]

    assert min(others) <= best * (1 + 1e-9)
    assert best <= min(others) * 1.01


@pytest.mark.parametrize(("r", "slope"), [(0.25, -2 / 9), (0.5, -1 / 3), (1, -1 / 3)])
def test_the_rule_has_the_rate_of_theorem_3(r, slope):
    """Epsilon falls by the exponent of the theorem, and so does the bound at the rule's paper."""
    m = [10**k for k in range(4, 13)]
    made = [paper.suggest(one, r) for one in m]
    bounds = [paper.error_bound(one, found.epsilon, found.lam, r)
              for one, found in zip(m, made, strict=True)]

    assert slope == pytest.approx(np.polyfit(np.log(m), np.log(bounds), 1)[0], abs=1e-3)
    assert slope == pytest.approx(np.polyfit(np.log(m), np.log([a for a, _ in made]), 1)[0],
                                  abs=1e-3)


@pytest.mark.parametrize(("r", "slope"), [(0.25, -2 / 7), (0.5, -1 / 2), (2, -1 / 2)])
def test_the_rule_for_a_fixed_epsilon_has_the_rate_of_theorem_2(r, slope):
    """The bound of Theorem 2 falls by its exponent, whatever the epsilon."""
    for epsilon in (0.1, 1.0):
        m = [10**k for k in range(4, 12)]
        bounds = [paper.fixed_epsilon_bound(one, epsilon, paper.suggest(one, r, epsilon).lam, r)
                  for one in m]

        assert slope == pytest.approx(np.polyfit(np.log(m), np.log(bounds), 1)[0], abs=0.02)


def test_bounds_are_as_printed():
    """Theorem 3's terms by hand, with the noise of Lemma 2, and without the sample term."""
    m, epsilon, lam, r, G, kappa, M = 5000, 0.2, 0.03, 0.75, 2.0, 1.5, 3.0
    scale = printed_sensitivity(m, lam, kappa, M) / epsilon
    ridge_term = lam * (kappa**1 + kappa**-1 + 2) * G

    assert paper.error_bound(m, epsilon, lam, r, G, (kappa, M)) == pytest.approx(
        8 * M**2 * epsilon + 6 * scale**2 + ridge_term)
    assert paper.fixed_epsilon_bound(m, epsilon, lam, r, G, (kappa, M)) == pytest.approx(
        6 * scale**2 + 1.4 * ridge_term)


def test_the_gap_is_below_the_printed_one():
    """e^epsilon - 1 is at most 2 epsilon where the paper speaks, and is attained by a coin."""
    for epsilon in (0.01, 0.3, 1.0):
        assert epsilon < paper.generalisation_gap(epsilon) < 2 * epsilon
    assert paper.generalisation_gap(1, 2.0) == pytest.approx(2 * math.expm1(1))


@pytest.mark.parametrize("wrong", [
    lambda: paper.suggest(0, 1), lambda: paper.suggest(10, 0),
    lambda: expected_error(10, 0, "0.1"), lambda: expected_error(10, 1, "0.1", 0),
    lambda: paper.error_bound(10, 2.0, 0.1, 1), lambda: paper.error_bound(10, 1.0, 1.1, 1),
    lambda: paper.fixed_epsilon_bound(10, 1.0, 0.1, 1, 0.0),
    lambda: paper.generalisation_gap(1, -1),
])
def test_what_makes_no_sense_is_refused(wrong):
    """Numbers outside of what was derived are refused with their value."""
    with pytest.raises(ParameterError, match=r"m is|epsilon is"):
        wrong()
