"""Values leave on a grid that public numbers decide, with noise that is surely large enough."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from scipy import stats

from exact import gamma_norm
from privsieve.errors import ParameterError
from privsieve.noise.approximate import (
    analytic_sigma,
    by_tail,
    concentrated,
    concentrated_sigma,
    root_up,
    rounded_down,
    rounded_up,
)
from privsieve.noise.streams import replay
from privsieve.noise.values import Grid, gamma, gaussian, laplace
from privsieve.public.canonical import LARGEST

#: Epsilons and deltas from the smallest to the largest that a ledger knows.
PAIRS = [(Fraction(epsilon), Fraction(delta)) for epsilon in ("1e-9", "0.1", "1", "8", "1000")
         for delta in ("1e-18", "1e-6", "0.1", "0.999")]


@pytest.mark.parametrize(("epsilon", "delta", "sigma"), [
    ("1", "1e-6", 4.224679), ("0.1", "1e-6", 36.304690),
])
def test_known_sigmas(epsilon, delta, sigma):
    """The analytic Gaussian has the known sigmas, to six digits."""
    assert sigma == round(float(analytic_sigma(Fraction(epsilon), Fraction(delta))), 6)


def test_known_rho():
    """The rho of epsilon 1 and delta 1e-6 is known; the sigma of a rho is exact where it can be."""
    assert round(float(by_tail(Fraction(1), Fraction("1e-6"))), 7) == .0174689
    assert round(float(concentrated(Fraction(1), Fraction("1e-6"))), 7) == .024356
    assert concentrated_sigma(Fraction(1, 8)) == 2


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_the_simple_rho_is_rounded_down(epsilon, delta):
    """It gives back at most epsilon by rho + 2 sqrt(rho log(1/delta)), and hardly less."""
    import mpmath

    rho = by_tail(epsilon, delta)
    with mpmath.workdps(120):
        exact = mpmath.mpf(rho.numerator) / rho.denominator
        log = -mpmath.log(mpmath.mpf(delta.numerator) / delta.denominator)
        back = exact + 2 * mpmath.sqrt(exact * log)
        wanted = mpmath.mpf(epsilon.numerator) / epsilon.denominator

        assert back <= wanted
        assert back > wanted * (1 - mpmath.mpf(10) ** -8)


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_rho_is_rounded_down(epsilon, delta):
    """Its least delta over alpha is at most the wanted one; a ten-thousandth more is too much."""
    import mpmath

    def least(rho):
        def slope(x):
            return (1 + 2 * x) * rho + mpmath.log(x / (1 + x)) - wanted

        low, high = mpmath.mpf(10) ** -300, mpmath.mpf(10) ** 300
        for _ in range(400):
            middle = mpmath.sqrt(low * high)
            low, high = (middle, high) if slope(middle) < 0 else (low, middle)
        return (low * ((1 + low) * rho - wanted) + low * mpmath.log(low)
                - (1 + low) * mpmath.log1p(low))

    rho = concentrated(epsilon, delta)
    with mpmath.workdps(60):
        wanted = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        limit = mpmath.log(mpmath.mpf(delta.numerator) / delta.denominator)
        at = mpmath.mpf(rho.numerator) / rho.denominator

        assert least(at) <= limit
        assert least(at * (1 + mpmath.mpf(10) ** -4)) > limit
    assert rho >= by_tail(epsilon, delta)


def test_rho_is_that_of_another_accountant():
    """dp-accounting gives epsilon back from the rho, by its own search over orders."""
    rdp = pytest.importorskip("dp_accounting.rdp.rdp_privacy_accountant")
    orders = 1 + np.logspace(-3, 3, 4000)
    for epsilon, delta in (("1", "1e-6"), ("0.1", "1e-9"), ("8", "0.01")):
        rho = float(concentrated(Fraction(epsilon), Fraction(delta)))
        epsilon_found = rdp.compute_epsilon(orders, rho * orders, float(delta))[0]

        assert float(epsilon) == pytest.approx(epsilon_found, rel=1e-4)


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_sigma_is_rounded_up(epsilon, delta):
    """At this sigma the exact delta is at most the wanted one; a millionth less is too little."""
    import mpmath

    def lost(sigma):
        half, shift = 1 / (2 * sigma), wanted * sigma
        return mpmath.ncdf(half - shift) - mpmath.exp(wanted) * mpmath.ncdf(-half - shift)

    sigma = analytic_sigma(epsilon, delta)
    with mpmath.workdps(80):
        wanted = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        limit = mpmath.mpf(delta.numerator) / delta.denominator
        at = mpmath.mpf(sigma.numerator) / sigma.denominator

        assert lost(at) <= limit
        assert lost(at * (1 - mpmath.mpf(10) ** -6)) > limit


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0.5), (1, 0), (1, 1), (-1, 0.5)])
def test_what_has_no_sigma_is_refused(epsilon, delta):
    """An epsilon of 0 and a delta of 0 or 1 are refused, as is a rho of 0."""
    for formula in (concentrated, analytic_sigma):
        with pytest.raises(ParameterError, match="must be larger than 0, and delta"):
            formula(Fraction(epsilon), Fraction(delta))
    with pytest.raises(ParameterError, match="rho is 0"):
        concentrated_sigma(Fraction(0))


def test_roundings_have_a_side():
    """A root and a scale are rounded up, a rate down, by less than 2^-60; exact ones stay."""
    near = 1 + Fraction(1, 2**60)
    for p, q in itertools.product((1, 2, 3, 10**40 + 1, 2**200), (1, 3, 7**30, 2**90)):
        x = Fraction(p, q)

        assert x <= root_up(x) ** 2 < x * near
        assert x <= rounded_up(x) < x * near
        assert x / near < rounded_down(x) <= x
        assert root_up(x * x) ** 2 >= x * x


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 17, 12600])
@pytest.mark.parametrize("moved", ["1", "0.3", "7", "1e-9", "123456789.5", "4"])
def test_the_order_of_a_grid(d, moved, norm):
    """Exponent from d and the sensitivity, sensitivity from the exponent, noise from that."""
    moved = Fraction(moved)
    grid = Grid.of(d, moved, norm=norm)
    rounding = grid.sensitivity - moved

    assert (d if norm == 1 else Fraction(math.isqrt(d))) * grid.step <= rounding
    assert d * grid.step**2 <= rounding**2 or norm == 1
    assert moved / 2**20 < rounding <= moved * (Fraction(1, 2**16) + Fraction(1, 2**60))
    epsilon = Fraction(1, 3)
    assert grid.beta(epsilon) * grid.sensitivity <= epsilon
    if norm == 1:
        assert grid.scale(epsilon) * epsilon >= grid.sensitivity
    assert grid.concentrated(Fraction(1, 50)) >= 5 * grid.sensitivity
    assert grid.sigma(epsilon, epsilon) >= grid.sensitivity * analytic_sigma(epsilon, epsilon)


@pytest.mark.parametrize("norm", [1, 2])
def test_rounding_moves_no_more_than_the_grid_says(norm):
    """Rounded neighbours at the full distance stay within the sensitivity that is used."""
    rng = np.random.default_rng(1)
    worst = 0.0
    for d in (1, 2, 7, 30):
        grid = Grid.of(d, Fraction(1, 10**4), norm=norm)
        for _ in range(200):
            w, move = rng.standard_normal((2, d)) * float(grid.step)
            move = move / np.linalg.norm(move, norm) * 1e-4 * (1 - 1e-12)
            first, two = (np.array(grid.integers(list(map(Fraction, v)))) for v in (w, w + move))
            far = np.linalg.norm((first - two).astype(float), norm) * float(grid.step)
            worst = max(worst, far / float(grid.sensitivity))

    assert 0.99 < worst <= 1


def test_values_are_read_as_fractions():
    """Doubles go to the nearest multiple exactly, halves up; what is not finite is refused."""
    grid = Grid.of(3, Fraction(2**20), norm=1)
    step = float(grid.step)

    assert [1, 1, -1] == grid.integers([0.5 * step, 1.49 * step, -1.5 * step])
    for bad in (float("nan"), float("inf")):
        with pytest.raises((ValueError, OverflowError)):
            grid.integers([0.0, bad, 0.0])


def test_numbers_are_exact():
    """Every answer is its integer times the step, without rounding, up to the clamp."""
    for moved in (Fraction("1e-12"), Fraction(10**12)):
        grid = Grid.of(2, moved)
        for q in (LARGEST, -LARGEST, LARGEST - 1, 3):
            assert q * grid.step == Fraction(*grid.numbers([q])[0].as_integer_ratio())


@pytest.mark.parametrize("call", [
    lambda: Grid.of(0, Fraction(1)), lambda: Grid.of(1, Fraction(0)),
    lambda: Grid.of(1, Fraction(1), norm=3), lambda: Grid.of(1, Fraction(1, 2**1060)),
    lambda: Grid.of(2, Fraction(1)).scale(Fraction(1)),
    lambda: Grid.of(2, Fraction(1)).integers([1.0]),
    lambda: laplace([1], Grid.of(2, Fraction(1), norm=1), Fraction(1), replay(1)),
    lambda: laplace([1, 2], Grid.of(2, Fraction(1)), Fraction(1), replay(1)),
    lambda: gaussian([1, 2], Grid.of(2, Fraction(1)), Fraction(0), replay(1)),
    lambda: gamma([1, 2], Grid.of(2, Fraction(1)), Fraction(1, 10**12), replay(1)),
])
def test_what_does_not_fit_a_grid_is_refused(call):
    """No number, no sensitivity, another norm or length, or noise beyond the clamp is refused."""
    with pytest.raises(ParameterError):
        call()


def test_the_value_meets_noise_as_integers():
    """Moving a value by steps moves the answer by as many."""
    w, epsilon = [5, -(2**40), 7], Fraction(1)
    grid, narrow = Grid.of(3, Fraction(1)), Grid.of(3, Fraction(1), norm=1)
    for draw in (lambda v: gamma(v, grid, epsilon, replay(4)),
                 lambda v: laplace(v, narrow, epsilon, replay(4)),
                 lambda v: gaussian(v, grid, Fraction(2), replay(4))):
        assert [a + b for a, b in zip(w, draw([0, 0, 0]), strict=True)] == draw(w)


def test_laplace_agrees_with_opendp():
    """Our Laplace values and OpenDP's, an independent sampler, cannot be told apart."""
    dp.enable_features("contrib")
    peer = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=float, nan=False)),
                             dp.l1_distance(T=float), scale=2.0)
    grid, noise = Grid.of(10000, Fraction(1), norm=1), replay(3)
    ours = grid.numbers(laplace([0] * 10000, grid, Fraction(1, 2), noise))

    assert stats.ks_2samp(ours, peer([0.0] * 10000)).pvalue > 1e-6
    assert stats.ks_2samp(np.multiply(ours, 1.3), peer([0.0] * 10000)).pvalue < 1e-6


def test_gaussian_agrees_with_opendp():
    """Our Gaussian values and OpenDP's cannot be told apart, and a rho has the same sigma."""
    dp.enable_features("contrib")
    peer = dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T=float, nan=False)),
                              dp.l2_distance(T=float), scale=2.0)
    grid, noise = Grid.of(10000, Fraction(1)), replay(4)
    ours = grid.numbers(gaussian([0] * 10000, grid, Fraction(2), noise))

    assert stats.ks_2samp(ours, peer([0.0] * 10000)).pvalue > 1e-6
    assert stats.ks_2samp(np.multiply(ours, 1.3), peer([0.0] * 10000)).pvalue < 1e-6
    assert abs(peer.map(d_in=1.0) - 1 / 8) < 1e-9
    assert concentrated_sigma(Fraction(1, 8)) == 2


def test_gamma_norm_is_no_longer_than_a_fair_laplace():
    """For one number the vector's noise is Laplace noise: OpenDP's, an independent sampler."""
    dp.enable_features("contrib")
    peer = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=float, nan=False)),
                             dp.l1_distance(T=float), scale=1.0)
    noise = replay(5)
    ours = [gamma_norm([0], Fraction(1), -30, noise)[0] / 2**30 for _ in range(3000)]

    assert stats.ks_2samp(ours, peer([0.0] * 3000)).pvalue > 1e-6
