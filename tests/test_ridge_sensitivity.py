"""Law: a neighbouring table moves a kernel ridge regression by at most what is said.

The ridge that is suggested follows from that and from public numbers.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from privsieve.errors import ParameterError
from privsieve.methods.ridge.sensitivity import (
    expected_error,
    longest,
    of_predictions,
    sensitivity,
    suggest_lambda,
)

PAIRS = 500


def rbf(X, Y, gamma=0.5):
    """The Gaussian kernel; kappa is 1."""
    return np.exp(-gamma * ((X[:, None] - Y[None]) ** 2).sum(axis=2))


def linear(X, Y):
    """The products; kappa is the largest length of a row."""
    return X @ Y.T


def ridge(kernel, X, y, lam):
    """The dual coefficients of a table."""
    return np.linalg.solve(kernel(X, X) + len(X) * lam * np.eye(len(X)), y)


def moved(kernel, first, second, lam):
    """How far f lies from f' in the norm of the kernel's space."""
    points = np.concatenate([first[0], second[0]])
    by = np.concatenate([ridge(kernel, *first, lam), -ridge(kernel, *second, lam)])
    return float(np.sqrt(max(0.0, by @ kernel(points, points) @ by)))


def neighbours(rng, adversarial):
    """A kernel with its kappa, M, and two tables that differ in one record."""
    n, d = int(rng.integers(1, 12)), int(rng.integers(1, 4))
    M, kappa = float(rng.choice([1, 3])), 1.0
    kernel, X = rbf, rng.normal(size=(n, d)) * rng.choice([0.01, 1, 10])
    if rng.random() < 0.5:
        kernel, kappa = linear, 2.0
        X = kappa * X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1)
    y = rng.uniform(-M, M, n)
    other, target = X.copy(), y.copy()
    if adversarial:
        # One point, one sign, and the last record against it.
        X[:] = X[-1] * (kappa / max(np.linalg.norm(X[-1]), 1e-300) if kernel is linear else 1)
        y[:] = M
        other, target = X.copy(), y.copy()
        target[-1] = -M
        other[-1] = X[-1] * rng.choice([-1, 0, 1])
    else:
        other[-1] = X[0] if rng.random() < 0.3 else -X[-1] * rng.uniform()
        target[-1] = -M if target[-1] > 0 else M
    return kernel, kappa, M, (X, y), (other, target)


@pytest.mark.parametrize(("lam", "m", "kappa", "M", "expected"), [
    ("0.01", 10**4, 1, 1, 0.12), ("0.1", 10**4, 1, 1, 0.005162), ("0.05", 500, 2, 3, 2.626625),
    ("0.1", 5, 1, 1, 3.650282),
])
def test_values_of_the_theorem(lam, m, kappa, M, expected):
    """Known values; the last one is where the second branch of the minimum is the smaller."""
    assert expected == round(float(sensitivity(lam, m, kappa, M)), 6)


@pytest.mark.parametrize("adversarial", [False, True])
def test_neighbours_stay_inside(adversarial):
    """2,000 random and 2,000 adversarial pairs move f, and its length, by no more than is said."""
    rng = np.random.default_rng(1 + adversarial)
    worst = 0.0
    for _ in range(PAIRS):
        kernel, kappa, M, first, second = neighbours(rng, adversarial)
        lam = str(rng.choice([0.001, 0.01, 0.1, 1.0]))
        limit = float(sensitivity(lam, len(first[1]), kappa, M))
        by = ridge(kernel, *first, float(lam))
        length = np.sqrt(max(0.0, by @ kernel(first[0], first[0]) @ by))
        share = moved(kernel, first, second, float(lam)) / limit

        worst = max(worst, share)
        assert share <= 1 + 1e-9
        assert length <= float(longest(lam, M)) * (1 + 1e-9)
    assert worst > 0.4


@pytest.mark.parametrize(("lam", "M"), [("0.01", 1), ("0.25", 3)])
def test_the_length_is_attained(lam, M):
    """A table of one point where the kernel is lam has a function of the greatest length."""
    s = float(lam) ** 0.5
    X, y = np.full((7, 1), s), np.full(7, float(M))
    by = ridge(linear, X, y, float(lam))

    assert float(longest(lam, M)) == pytest.approx(np.sqrt(by @ linear(X, X) @ by), rel=1e-12)


def test_predictions_are_bounded_twice():
    """A clipped prediction moves by kappa times the function's move, and by 2 M at most."""
    assert of_predictions("0.0001", 10, 2, 3) == 6
    assert of_predictions("0.1", 10**6, 2, 3) == 2 * sensitivity("0.1", 10**6, 2, 3)


def test_roundings_go_up():
    """The exact bound, with roots of perfect squares, is not undercut."""
    exact = Fraction(2, 7 * 10**4) * 3 / Fraction(1, 100) * (5 + 3 * 5 * 5)

    assert 0 <= sensitivity("0.01", 7 * 10**4, 3, 5) - exact < exact / 2**60


@pytest.mark.parametrize(("wrong", "message"), [
    (("0.0000001", 10), "lam is 0.0000001; it must be between"), (("0.1", 0), "m is 0"),
    (("0.1", 10, 0), "kappa is 0"), (("0.1", 10, 1, 0), "M is 0"),
])
def test_bad_parameters_are_refused(wrong, message):
    """A lam out of range, no records and bounds of nothing are refused with their value."""
    with pytest.raises(ParameterError, match=message):
        sensitivity(*wrong)


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
