"""Attack: an output that no sum with a double can give refutes a value for certain.

`y` is refuted for `w` if no double `b` has fl(w + b) == y.  Noise that is added as a double leaves
such traces of it; what is a multiple of a public step, whatever the value, leaves none.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from privsieve.noise.streams import replay
from privsieve.noise.values import Grid, gamma, gaussian, laplace
from privsieve.public.canonical import LARGEST

EPSILON = Fraction(1)


def refuted(y, w):
    """For which coordinates no double b has fl(w + b) == y."""
    near = y - w
    reached = np.zeros(np.shape(y), bool)
    for b in (near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf)):
        reached |= w + b == y
    return ~reached


def pair(d, norm):
    """Two values at the distance 1, each on the grid: neighbours."""
    first = np.full(d, 0.3)
    second = first.copy()
    second[0] += 0.7
    grid = Grid.of(d, Fraction(1), norm=norm)
    return grid, [grid.integers(v.tolist()) for v in (first, second)]


def naive_gamma(w, d, rng):
    """Length times direction, added in doubles."""
    direction = rng.standard_normal(d)
    return w + direction * (rng.gamma(d) / np.linalg.norm(direction))


def naive_laplace(w, d, rng):
    """NumPy's Laplace, added in doubles."""
    return w + rng.laplace(size=d)


OURS = {
    "gamma": (2, lambda w, grid, noise: gamma(w, grid, EPSILON, noise)),
    "laplace": (1, lambda w, grid, noise: laplace(w, grid, EPSILON, noise)),
    "gaussian": (2, lambda w, grid, noise: gaussian(w, grid, Fraction(4), noise)),
}


@pytest.mark.parametrize("naive", [naive_gamma, naive_laplace])
def test_naive_noise_refutes_the_other_table_in_every_run(naive):
    """At d = 600 doubles added to a value refute its neighbour each time, and never the value."""
    d, rng = 600, np.random.default_rng(1)
    true, other = np.full(d, 0.3), np.full(d, 0.3)
    other += 0.7 / np.sqrt(d)
    runs = [naive(true, d, rng) for _ in range(200)]

    assert all(refuted(y, other).any() for y in runs)
    assert not any(refuted(y, true).any() for y in runs)


@pytest.mark.parametrize("naive", [naive_gamma, naive_laplace])
def test_naive_noise_is_refuted_in_one_number(naive):
    """A single number with NumPy's noise refutes its neighbour in a good part of the runs."""
    rng = np.random.default_rng(2)
    ys = np.array([naive(np.zeros(1), 1, rng)[0] for _ in range(4000)])

    assert refuted(ys, np.ones(4000)).mean() > 0.2
    assert not refuted(ys, np.zeros(4000)).any()


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("d", [1, 30, 600])
def test_ours_refutes_nothing(name, d):
    """In steps of the grid every answer is an integer within the clamp, for both tables alike.

    So the set of answers that a table can give is the same for each: no answer refutes one.
    """
    norm, draw = OURS[name]
    grid, tables = pair(d, norm)
    for i, w in enumerate(tables):
        noise = replay(10 + i)
        for _ in range(5):
            q = draw(w, grid, noise)
            numbers = np.array(grid.numbers(q))

            assert all(isinstance(x, int) and abs(x) <= LARGEST for x in q)
            assert [Fraction(x) / grid.step for x in numbers.tolist()] == q
            for other in tables:
                assert not refuted(numbers, np.array(grid.numbers(other))).any()


@pytest.mark.parametrize("name", OURS)
def test_ours_refutes_off_grid_values_alike(name):
    """A value between the steps is refuted as often whichever table was drawn from."""
    norm, draw = OURS[name]
    grid, tables = pair(1, norm)
    ratios = []
    for i, w in enumerate(tables):
        noise = replay(20 + i)
        ys = np.array([grid.numbers(draw(w, grid, noise))[0] for _ in range(1500)])
        # The true values before they were rounded: neither grid point nor dyadic.
        ratios.append([int(refuted(ys, np.full(1500, guess)).sum()) for guess in (0.3, 1.0 / 3)])
    for ratio, two in zip(*ratios, strict=True):
        table = [[ratio, 1500 - ratio], [two, 1500 - two]]

        assert ratio == two or stats.fisher_exact(table).pvalue > 1e-6


@pytest.mark.parametrize("name", OURS)
def test_low_digits_say_nothing(name):
    """The last three binary digits are uniform and the same for both tables."""
    norm, draw = OURS[name]
    grid, tables = pair(1, norm)
    for i, w in enumerate(tables):
        noise = replay(30 + i)
        low = Counter(draw(w, grid, noise)[0] % 8 for _ in range(1500))

        assert stats.chisquare([low[j] for j in range(8)]).pvalue > 1e-6


def test_the_low_digits_test_sees_a_leak():
    """Noise in steps of 8 keeps the last digits of the value, and is rejected."""
    grid, tables = pair(1, 1)
    noise = replay(40)
    low = Counter((8 * laplace([0], grid, EPSILON, noise)[0] + tables[0][0]) % 8
                  for _ in range(500))

    assert stats.chisquare([low[j] for j in range(8)]).pvalue < 1e-6
