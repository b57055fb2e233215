"""Law: papers.  Least squares as printed answers as printed, and says what it should not."""

from __future__ import annotations

import numpy as np
import pytest

from papers import kernel_ridge as paper
from privsieve.errors import ParameterError
from privsieve.methods.ridge.sensitivity import sensitivity


def neighbours():
    """Two tables that differ in one target: a step on a line, and its last label turned."""
    X = np.column_stack([np.linspace(-2, 2, 40), np.zeros(40)])
    y = np.sign(X[:, 0])
    return X, y, np.append(y[:-1], -y[-1])


def test_two_answers_give_their_difference_away():
    """However large the noise, f(x) - f(z) is exact: it tells two neighbours apart each time.

    One label turned; noise of scale 10; a thousand releases of each table.
    """
    X, y, other = neighbours()
    points = np.array([[1.0, 0.0], [-1.0, 0.0]])
    actual_answers = []
    for target in (y, other):
        f = paper.least_squares(X, target, 0.1, paper.gaussian)
        answers = [paper.private_least_squares(f, 10, 1, random_state=seed)(points)
                   for seed in range(1000)]
        actual_answers.append([a - b for a, b in answers])

        assert np.std([a for a, _ in answers]) > 10
        assert np.ptp(actual_answers[-1]) < 1e-12
    assert abs(actual_answers[0][0] - actual_answers[1][0]) > 0.01


def test_the_release_is_one_number_beside_the_function():
    """pi(f) + b: the same b at all points, Laplace of the printed scale."""
    X, y, _ = neighbours()
    f = paper.least_squares(X, 3 * y, 0.01, paper.gaussian)
    points = np.random.default_rng(0).normal(size=(30, 2))
    sizes = []
    for seed in range(2000):
        moved = paper.private_least_squares(f, 2, 4, random_state=seed)(points) - np.clip(
            f(points), -1, 1)
        sizes.append(abs(moved[0]))

        assert np.ptp(moved) < 1e-12
    assert 0.46 < np.mean(sizes) < 0.54


def test_the_printed_sensitivity_is_above_the_true_one():
    """Lemma 2 holds wherever it speaks, and is more than twice ours."""
    for lam in ("0.001", "0.01", "0.1", "0.3"):
        for m in (100, 10_000):
            assert float(sensitivity(lam, m)) * 1.8 < paper.printed_sensitivity(m, float(lam))


@pytest.mark.parametrize("wrong", [
    lambda: paper.least_squares([[0.0]], [1.0], 0, paper.gaussian),
    lambda: paper.printed_sensitivity(10, 2.0), lambda: paper.printed_sensitivity(0, 0.1),
    lambda: paper.private_least_squares(lambda Z: Z, 1, 0),
])
def test_bad_parameters_are_refused(wrong):
    """A ridge of nothing or above 1, no record and no epsilon are refused."""
    with pytest.raises(ParameterError, match="must be"):
        wrong()
