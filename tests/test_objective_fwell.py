"""ObjectiveFWELL: the exact minimiser keeps its claim, and what is computed is near it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import floor

import numpy as np
import pytest
from flint import arb, fmpq
from scipy import stats

import naive_local as naive
import tables
from attacks import RUNS, refuted
from privsieve.errors import ParameterError
from privsieve.local import solver
from privsieve.local.constants import objective, r_max
from privsieve.local.limits import distance
from privsieve.local.solver import slopes
from privsieve.methods.objective_fwell import (
    PLACES,
    Perturbing,
    Problem,
    perturbed,
    products,
    solve,
)
from privsieve.noise.balls import arithmetic
from privsieve.noise.streams import replay
from privsieve.noise.values import gamma_drawn
from test_methods import planned, strong

METHOD = "objective-fwell"


def unit(Z, length=1.0):
    """Rows of this length, or of 0."""
    return Z / np.maximum(1e-300, np.linalg.norm(Z, axis=1, keepdims=True)) * length


def rows(rng, n, d):
    """Random rows up to length 1, some of them 0 or equal."""
    Z = unit(rng.standard_normal((n, d))) * rng.random((n, 1)) ** rng.integers(3) * (1 - 1e-12)
    if n > 1 and rng.random() < 0.3:
        Z[0] = rng.choice([0, 1]) * Z[-1]
    return Z


# the solver


@pytest.mark.parametrize("lam", ["0.03", "0.5"])
def test_the_minimiser_is_the_naive_one(lam):
    """`solve` finds what descent in loops finds for the whole objective, D included."""
    rng = np.random.default_rng(0)
    for n, d, epsilon in ((1, 1, "0.5"), (6, 2, "9"), (3, 5, "1"), (9, 3, "0.1")):
        problem = Problem.of(lam, n, d, Fraction(epsilon))
        Z = rows(rng, n, d)
        b = rng.standard_normal(d) * 3
        steps = [round(x / 2.0**problem.exponent) for x in b]
        _, second = objective(lam, n, Fraction(epsilon))
        true = naive.descend(Z.tolist(), float(lam) + float(second) / 2, d, linear=(b / n).tolist())

        assert [float(x) for x in solve(Z, steps, problem)] == pytest.approx(true, abs=1e-7)


def off(Z, at, problem, b):
    """At most so far is a point from the minimiser for b: the gradient in balls, by the modulus."""
    with arithmetic(1500):
        def ball(x):
            return arb(fmpq(x.numerator, x.denominator))

        mu, n = 2 * ball(problem.ridge), problem.rows
        gaps = [mu * ball(x) + ball(y) / n for x, y in zip(at, b, strict=True)]
        for row in Z:
            z = [arb(x) for x in (np.trunc(row * 2.0**PLACES) / 2.0**PLACES).tolist()]
            t = sum((x * ball(y) for x, y in zip(z, at, strict=True)), arb(0))
            # Beyond that the slope is 0 or 1 to thousands of digits.
            s = 1 / (1 + t.max(-10_000).min(10_000).exp()) / len(Z)
            gaps = [x - s * y for x, y in zip(gaps, z, strict=True)]
        return (sum((x * x for x in gaps), arb(0)).sqrt() / mu).upper()


def broken(Z, *_):
    """A form that cannot solve."""
    return np.full(Z.shape[1], 1e200)


@pytest.mark.parametrize("newton", [True, False])
def test_the_distance_holds_whatever_b_is(newton, monkeypatch):
    """For any table and b, tiny or beyond all noise, Newton's method or not: within `away`.

    b lies half a step of the grid away from what the solver is told, in each coordinate.
    """
    if not newton:
        for name in ("cholesky", "dual", "conjugate"):
            monkeypatch.setattr(solver, name, broken)
    rng = np.random.default_rng(1)
    worst = 0
    for size in (0, 1, 2**20, 2**45, 2**48, 2**52, 2**56, 2**60, 2**75, 2**90, 2**200, 2**400):
        for n, d, lam in ((1, 1, "0.001"), (4, 2, "0.1"), (3, 7, "0.02"), (30, 3, "1")):
            problem = Problem.of(lam, n, d, Fraction(1))
            Z = rows(rng, n, d)
            q = [int(Fraction(x) * size) for x in rng.standard_normal(d).tolist()]
            if d > 1 and rng.random() < 0.7:
                # At a right angle to a row: huge products that leave nothing.
                first, second, *_ = np.trunc(Z[-1] * 2.0**PLACES).astype(int).tolist()
                q = [second * size, -first * size, *[0] * (d - 2)]
            step = Fraction(2) ** problem.exponent
            b = [(x + Fraction(rng.choice([-1, 1]).item(), 2)) * step for x in q]
            near = off(Z, solve(Z, q, problem), problem, b)
            worst = max(worst, float(near / arb(float(problem.away))))

            assert near <= arb(float(problem.away)) * 1.000001

    assert worst > 1e-6


def test_products_with_b_are_exact():
    """Of rows that are 2^30 long and any whole numbers, to the last digit."""
    rng = np.random.default_rng(12)
    for d in (1, 2, 30, 900):
        signs = rng.choice([-1, 1], (3, d))
        whole = np.trunc(signs * 2.0**PLACES / d**0.5).astype(np.int64)
        for size in (1, 2**20 - 1, 2**20, 2**63, 3**60):
            b = [int(sign) * size + int(x) for sign, x in
                 zip(signs[0], rng.integers(-9, 9, d), strict=True)]
            expected = [sum(x * y for x, y in zip(row, b, strict=True)) for row in whole.tolist()]

            assert expected == products(whole, b)


def test_rows_of_several_partitions():
    """With T partitions the mean is over all rows, and the linear term is shared by N."""
    rng = np.random.default_rng(2)
    problem = Problem.of("0.1", 4, 2, Fraction(1), partitions=3)
    Z = rows(rng, 12, 2)
    true = naive.descend(Z.tolist(), float(problem.ridge), 2, linear=[0.5 / 4, -1 / 4])
    b = [round(x / 2.0**problem.exponent) for x in (0.5, -1)]

    assert [float(x) for x in solve(Z, b, problem)] == pytest.approx(true, abs=1e-7)


def test_no_row_no_column_no_trouble():
    """Rows of zeros only leave -b / (N mu), exactly where the grid allows."""
    problem = Problem.of("0.1", 2, 3, Fraction(1))
    solution = solve(np.zeros((2, 3)), [1, -2, 0], problem)

    assert solution == [-problem.shift, 2 * problem.shift, 0]


def test_what_cannot_be_solved_is_refused():
    """A ridge or a rounding beyond what the solver takes is refused before there is a row."""
    for call, message in (
        (lambda: Problem.of("0.1", 1, 3, Fraction(1, 10**9)), "need a ridge above"),
        (lambda: Problem.of("1e-6", 10**10, 3, Fraction(1)), "choose a larger lam"),
        (lambda: Problem.of("0", 5, 3, Fraction(1)), "lam is"),
        (lambda: Problem.of("0.1", 0, 3, Fraction(1)), "as if there were one"),
    ):
        with pytest.raises(ParameterError, match=message):
            call()


# the exact minimiser


def log_density(Z, W, problem, *, volume=True):
    """The logarithm of the density of the exact minimiser at each w, up to a constant.

    b = -N grad(w) is the one term whose minimiser is w; its density times the change of volume.
    """
    n, d, mu = problem.rows, Z.shape[1], 2 * float(problem.ridge)
    s = slopes(W @ Z.T)
    share = n / len(Z)  # of a row, in N times the mean
    b = share * s @ Z - n * mu * W
    second = n * mu * np.eye(d) + share * np.einsum("wr,ri,rj->wij", s * (1 - s), Z, Z)
    densities = -float(problem.epsilon) / 2 * np.linalg.norm(b, axis=1)
    return densities + (np.linalg.slogdet(second)[1] if volume else 0.0)


def neighbours(rng, n, d, partitions):
    """Rows of some partitions; in each of them the last one changes, anyhow or to the worst."""
    first = np.concatenate([rows(rng, n, d) for _ in range(partitions)])
    second = first.copy()
    for last in range(n - 1, n * partitions, n):
        kind = rng.integers(3)
        second[last] = rows(rng, 1, d)[0]
        if kind:  # nothing against a whole row, which bends the objective most where w.z = 0
            first[last] = unit(rng.standard_normal((1, d)))[0]
            second[last] = -first[last] if kind == 2 else 0
    return first, second


def where(rng, first, problem):
    """Where to compare: minimisers for likely b, and the planes in which rows bend most."""
    d = first.shape[1]
    for _ in range(4):
        yield rng.standard_normal(d) * rng.choice([0.01, 1, 10, 1000])
        yield unit(rng.standard_normal((1, d)))[0] * rng.exponential(float(1 / problem.ridge))
        # At right angles to the row that changes.
        way = rng.standard_normal(d)
        yield way - (way @ first[-1]) * first[-1] / max(1e-300, first[-1] @ first[-1])
    yield np.zeros(d)


@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize(("lam", "epsilon"), [("0.001", "1"), ("0.01", "1"), ("0.1", "0.2"),
                                              ("0.01", "5"), ("1", "0.5"), ("0.0001", "0.05")])
def test_the_density_of_the_exact_minimiser(lam, epsilon, partitions):
    """In exact densities no neighbours of 1 to 5 rows differ by more than the claim."""
    rng = np.random.default_rng(3)
    worst = 0.0
    for trial in range(800):
        n, d = 1 + trial % 5, 1 + trial % 3
        problem = Problem.of(lam, n, d, Fraction(epsilon), partitions=partitions)
        first, second = neighbours(rng, n, d, partitions)
        W = np.array(list(where(rng, first, problem)))
        moved = log_density(first, W, problem) - log_density(second, W, problem)
        worst = max(worst, np.abs(moved).max() / float(epsilon))

    assert 0.4 < worst <= 1 + 1e-9


def careless(lam, n, d, epsilon=Fraction(1)):
    """The problem of who forgets the change of volume: all of epsilon for b, and no D."""
    return replace(Problem.of(lam, n, d, epsilon), epsilon=epsilon, ridge=Fraction(lam))


@pytest.mark.parametrize(("lam", "ratio"), [("0.001", 4.59), ("0.01", 2.36)])
def test_without_the_volume_the_claim_is_false(lam, ratio):
    """The same comparison refutes a claim of 1 that leaves the change of volume out."""
    problem = careless(lam, 1, 1)
    first, second = np.array([[1.0]]), np.array([[0.0]])
    W = np.linspace(-3, 3, 601)[:, None]
    worst, counted = (np.abs(log_density(first, W, problem, volume=volume)
                             - log_density(second, W, problem, volume=volume)).max()
                      for volume in (True, False))

    assert ratio <= worst <= ratio + 0.05
    assert counted <= 1


# the release


def law(z, w, problem):
    """P(the minimiser for one row and one column is at most w)."""
    b = problem.rows * (z / (1 + np.exp(z * w)) - 2 * float(problem.ridge) * w)
    return stats.laplace.sf(b, scale=2 / float(problem.epsilon))


@pytest.mark.parametrize("lam", ["0.001", "0.1"])
def test_the_law_of_a_release(lam):
    """What leaves follows the exact law of the minimiser; one that is 30 % off is rejected."""
    by = Perturbing.of(lam, 1, 1, Fraction(1))
    noise = replay(4)
    Z = np.array([[0.9]])
    drawn = np.array([perturbed(Z, by, noise)[0] for _ in range(6000)]) * 2.0**by.exponent

    assert stats.kstest(drawn, lambda w: law(0.9, w, by.problem)).pvalue > 1e-6
    wrong = replace(by.problem, epsilon=by.problem.epsilon * Fraction(13, 10))
    assert stats.kstest(drawn, lambda w: law(0.9, w, wrong)).pvalue < 1e-6


def test_without_the_second_noise_the_table_shows():
    """A minimiser for rounded b lies on a lattice that the table decides: no point is shared."""
    problem = replace(Problem.of("0.1", 1, 1, Fraction(1)), exponent=-10)
    first, second = ({solve(np.array([[z]]), [q], problem)[0] for q in range(-200, 201)}
                     for z in (1.0, 0.7))

    assert 401 == len(first) == len(second)
    assert set() == first & second


@pytest.mark.parametrize(("lam", "rows_", "columns"), [
    ("0.1", 66, 30), ("0.001", 66, 30), ("0.3", 1, 1), ("0.01", 5000, 500)])
def test_the_second_noise_covers_the_distance(lam, rows_, columns):
    """Its sensitivity is twice the distance and what two roundings to its grid add."""
    by = Perturbing.of(lam, rows_, columns, Fraction(1))
    problem = by.problem

    assert by.second + Fraction(99, 100) == 1
    assert by.fine.sensitivity >= 2 * problem.away
    solved = distance(problem.ridge, rows_, columns, 1 / (2 * problem.ridge))
    rounding = Fraction(2) ** problem.exponent / 2 / (2 * rows_ * problem.ridge)
    assert problem.away > solved
    assert (problem.away - solved) ** 2 >= columns * rounding**2 > 0
    assert by.fine.beta(by.second) * by.fine.sensitivity <= by.second
    # ... and it is small beside the first.
    assert columns / by.fine.beta(by.second) < Fraction(1, 1000) * by.length


@pytest.mark.parametrize("coarser", [0, 1, 5, 30])
def test_numbers_leave_on_the_coarse_grid(coarser):
    """What leaves is the sum on the fine grid, rounded: of the same noise, to the nearest."""
    by = Perturbing.of("0.1", 3, 4, Fraction(1))
    by = replace(by, exponent=by.fine.exponent + coarser)
    rng = np.random.default_rng(7)
    Z = rows(rng, 3, 4)
    noise = replay(8)
    b = gamma_drawn(4, by.problem.epsilon / 2, by.problem.exponent, noise)
    near = by.fine.integers(solve(Z, b, by.problem))
    second_draw = gamma_drawn(4, by.fine.beta(by.second), by.fine.exponent, noise)
    ratio = Fraction(2) ** (by.fine.exponent - by.exponent)

    expected = tuple(floor((x + y) * ratio + Fraction(1, 2))
                     for x, y in zip(near, second_draw, strict=True))
    clamped = tuple(max(1 - 2**53, min(2**53 - 1, x)) for x in expected)
    assert clamped == perturbed(Z, by, replay(8))
    assert second_draw != [0] * 4


# the plan


def stacked(planned, batch, key=1):
    """The rows of the problem for a table."""
    return planned.summarise.keywords["learning"].stacked(planned.summarise([batch], key))


def test_what_a_plan_says():
    """The vectors, the noise, the longest weights and the second ridge follow from public numbers.

    A small lam with few vectors needs a second ridge, and the weights are then shorter.
    """
    plan, small = planned(METHOD), planned(METHOD, lam="0.0005", rows=60)
    by = Perturbing.of("0.1", 500, 12, Fraction(1))

    assert (500, 1, "0") == tuple(plan.settings[n] for n in ("vectors", "repeats", "second_ridge"))
    assert f"{float(by.length):.4g}" == plan.forecast["noise_length"]
    assert "1.178" == plan.forecast["longest"]
    _, second = objective("0.0005", 10, Fraction(99, 100))
    assert float(small.settings["second_ridge"]) == pytest.approx(float(second), rel=1e-3) != 0
    repeated = planned(METHOD, repeats=3).mechanism.keywords["by"]
    assert Problem.of("0.1", 500, 12, Fraction(99, 100), partitions=3) == repeated.problem
    longest = r_max(Fraction("0.0005") + second / 2)
    assert float(small.forecast["longest"]) == pytest.approx(float(longest), rel=1e-3)


def test_weights_are_near_the_minimiser():
    """At a large epsilon the released weights are those of the problem without noise."""
    X, y = strong(60_000)
    plan = planned(METHOD, rows=60_000, epsilon=10)
    held = tables.batch(np.floor(X * 65535), y)
    true = solver.minimise(stacked(plan, held), 0.1).w
    drawn = np.array(plan.mechanism(plan.summarise([held], 1), replay(3)))
    weights = drawn * 2.0**plan.mechanism.keywords["by"].exponent

    assert np.linalg.norm(weights - true) <= 3 * float(plan.forecast["noise_length"])
    assert np.linalg.norm(true) > 30 * np.linalg.norm(weights - true)


def released(by, seed, view=float):
    """The mechanism for one row and one column, and what an attacker looks at."""
    noise = replay(seed)
    return lambda z: view(perturbed(np.array([[z]]), by, noise)[0] * 2.0**by.exponent)


@pytest.mark.slow
def test_an_attacker_catches_who_forgets_the_volume():
    """A twin that leaves the change of volume out is refuted: the weight is too often near 0."""
    by = replace(Perturbing.of("0.001", 1, 1, Fraction(1)), problem=careless("0.001", 1, 1))

    assert refuted(released(by, 6, abs), 1.0, 0.0, epsilon=1, profile=RUNS // 3)
