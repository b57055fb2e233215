"""The convex solve reaches its certificate for every table, and its constants are true bounds."""

from __future__ import annotations

from fractions import Fraction
from math import cos, pi, sin

import numpy as np
import pytest
from flint import arb

import naive_local as naive
from privsieve.errors import ParameterError
from privsieve.local import solver
from privsieve.local.constants import (
    ensemble,
    ensemble_share,
    g,
    objective,
    output,
    r_max,
    windows,
)
from privsieve.local.limits import distance, steps
from privsieve.local.solver import descend, minimise
from privsieve.noise.balls import arithmetic

THREE = np.array([[1, 0], [0, 1], [-0.6, 0.8]])
#: lam, r_max and g, by quadrature-free formulas of an independent reading.
KNOWN = [("0.001", 11.799673, 1.854082), ("0.01", 3.731384, 1.505369),
         ("0.03", 2.154316, 1.295087), ("0.1", 1.177505, 1.128612), ("0.3", 0.593177, 1.039933),
         ("1", 0.222323, 1.006086), ("10", 0.024691, 1.000076)]


def unit(Z, length=1.0):
    """Rows of this length."""
    return Z / np.linalg.norm(Z, axis=1, keepdims=True) * length


def tables():
    """Tables that solvers dislike."""
    rng = np.random.default_rng(1)
    normal = rng.standard_normal
    scales = 10.0 ** rng.uniform(-6, 0, (1, 8))
    yield "random", unit(normal((200, 6)))
    yield "separable", unit(np.abs(normal((100, 5))))
    yield "duplicated", np.repeat(unit(normal((3, 4))), 50, axis=0)
    yield "collinear", np.repeat(unit(normal((40, 1)), 0.5), 6, axis=1) / 3
    yield "zero", np.zeros((7, 3))
    yield "one row", unit(normal((1, 4)))
    yield "no row", np.zeros((0, 4))
    yield "no column", np.zeros((4, 0))
    yield "wide", unit(normal((20, 300)))
    yield "both large", unit(normal((1600, 400)))
    yield "many rows", unit(normal((20_000, 10)))
    yield "ill-scaled", unit(normal((200, 8)) * scales)
    yield "long rows", unit(normal((100, 5)), 50.0)
    yield "long wide rows", unit(normal((15, 60)), 20.0)


@pytest.mark.parametrize("lam", [0.03, 0.5])
@pytest.mark.parametrize("form", [minimise, solver.cholesky, solver.dual, solver.conjugate])
def test_minimiser_is_the_naive_one(form, lam):
    """Each form finds what plain gradient descent converges to, in loops over cells."""
    rng = np.random.default_rng(0)
    for n, d in ((1, 1), (6, 2), (3, 5)):
        Z = unit(rng.standard_normal((n, d)), 0.9)
        w = form(Z, lam) if form is minimise else form(Z, lam, 1e-12)

        assert getattr(w, "w", w) == pytest.approx(naive.descend(Z.tolist(), lam, d), abs=1e-10)


@pytest.mark.parametrize("form", [solver.cholesky, solver.dual, solver.conjugate])
def test_margins_that_start_elsewhere(form):
    """Each form solves them as a column of its own would, whose weight is fixed at 1."""
    rng = np.random.default_rng(11)
    for n, d in ((6, 2), (300, 1), (3, 5)):
        Z, start = unit(rng.standard_normal((n, d)), 0.9), rng.standard_normal(n) * 5
        w = form(Z, 0.05, 1e-12, start)
        at = naive.gradient(np.c_[Z, start].tolist(), 0.05, [*w.tolist(), 1.0])

        assert np.linalg.norm(at[:d]) < 2e-12


@pytest.mark.parametrize("lam", [1e-6, 1e-3, 0.1, 10])
@pytest.mark.parametrize(("name", "Z"), list(tables()), ids=lambda value: value if isinstance(
    value, str) else "")
def test_the_certificate_is_reached(name, Z, lam):
    """The gradient is at most 1e-9 on every table, also of longer rows."""
    minimum = minimise(Z, lam)

    assert minimum.w.shape == (Z.shape[1],)
    assert minimum.gradient <= 1e-9, name


def test_newton_is_damped():
    """No table is left to descent: steep rows and rare ones are solved by Newton's method, too."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        n, length = int(rng.choice([2, 3, 10, 50])), float(rng.choice([1, 50, 1000]))
        d, lam = int(rng.choice([1, 3, 2 * n])), float(rng.choice([1e-6, 1e-4, 1e-2]))
        Z = rng.standard_normal((n, d)) * rng.choice([1, 0.01], (n, 1))
        Z[:, 0] += rng.choice([0, 3])
        Z *= length / np.linalg.norm(Z, axis=1).max()
        form = solver.dual if n < d else solver.cholesky

        for solve in (form, solver.conjugate):
            with np.errstate(all="ignore"):
                assert solver.certificate(Z, lam, solve(Z, lam, 5e-11), length)[1]


def exact_gradient(Z, lam, w):
    """The gradient's norm in balls: at least this."""
    with arithmetic(300):
        at = [2 * arb(lam) * arb(x) for x in w]
        for z in Z:
            t = sum((arb(a) * arb(b) for a, b in zip(z, w, strict=True)), arb(0))
            s = 1 / (1 + t.exp()) / len(Z)
            at = [x - s * arb(a) for x, a in zip(at, z, strict=True)]
        return float(sum((x * x for x in at), arb(0)).sqrt().lower())


def test_the_certificate_is_true():
    """The gradient in exact arithmetic is no larger than what is said, and not far below it."""
    for name, Z in tables():
        if 0 < Z.size < 2000:
            minimum = minimise(Z, 0.01)

            assert exact_gradient(Z.tolist(), 0.01, minimum.w.tolist()) <= minimum.gradient, name
    Z = unit(np.random.default_rng(0).standard_normal((30, 4)))
    w = np.ones(4)
    minimum, enough = solver.certificate(Z, 0.01, w, 1.0)
    assert not enough
    assert 1 <= minimum.gradient / exact_gradient(Z.tolist(), 0.01, w.tolist()) <= 1.00001


def broken(*_):
    """A form that cannot solve."""
    raise np.linalg.LinAlgError


@pytest.mark.parametrize("form", [broken, lambda Z, *_: np.full(Z.shape[1], np.nan),
                                  lambda Z, *_: np.ones(Z.shape[1]),
                                  lambda Z, *_: np.full(Z.shape[1], 1e200),
                                  lambda Z, *_: np.full(Z.shape[1], 1e155)])
def test_descent_serves_where_newton_fails(monkeypatch, form):
    """Whatever Newton's method does, the answer is as near as was promised without the table."""
    rng = np.random.default_rng(2)
    for lam in (0.01, 0.1, 3.0):
        for n, d in ((5, 2), (40, 3)):
            Z = unit(rng.standard_normal((n, d)) + 0.5)
            true = minimise(Z, lam).w
            with monkeypatch.context() as patch:
                for name in ("cholesky", "dual", "conjugate"):
                    patch.setattr(solver, name, form)
                minimum = minimise(Z, lam)
            exact = Fraction(str(lam))
            near = float(distance(exact, n, d, r_max(exact)))

            assert np.linalg.norm(minimum.w - true) <= 2 * near
            assert np.isfinite(minimum.gradient)


def test_of_long_rows_the_better_answer_leaves(monkeypatch):
    """Where nothing was promised, what Newton's method found is kept if descent is worse."""
    Z = np.array([[300.0, 0], [0, 200], [-300, 100]])
    near = minimise(Z, 0.01).w + 1e-6
    monkeypatch.setattr(solver, "cholesky", lambda *_: near)

    assert minimise(Z, 0.01).w.tolist() == near.tolist()
    assert np.linalg.norm(solver.gradient(Z, 0.01, descend(Z, 0.01, steps(0.01), 400))) > 0.1


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300, 1e160, 5e-324])
@pytest.mark.parametrize("shape", [(3, 2), (2, 5), (1600, 2)])
def test_no_value_raises(value, shape):
    """No cell of a table makes the solver raise or warn, and what leaves are numbers."""
    Z = np.full(shape, 0.25)
    Z[1, 1] = value

    assert np.isfinite(minimise(Z, 0.1).w).all()
    if not np.isfinite(value):
        Z[1, 1] = 0
        plain = Z.copy()
        Z[1, 1] = value
        assert minimise(plain, 0.1).w.tolist() == minimise(Z, 0.1).w.tolist()


@pytest.mark.parametrize("lam", [0, 9e-7, 1e7, "none", -1, float("nan")])
def test_lam_is_bounded(lam):
    """A lam beside which rounding is not small is refused in words."""
    with pytest.raises(ParameterError, match="lam is"):
        minimise(THREE, lam)


def test_other_refusals():
    """What is public and wrong is refused, with the way out."""
    for call, message in (
        (lambda: minimise(np.zeros(3), 0.1), "a row for each vector"),
        (lambda: output(0.1, 0, 3), "as if there were one"),
        (lambda: output("1e-6", 10**10, 3), "choose a larger lam"),
        (lambda: windows(3, 0, 1), "at least one window"),
        (lambda: windows(3, 1, 2), "at most 1"),
        (lambda: ensemble_share([], []), "at least one"),
        (lambda: objective(0.1, 5, Fraction(0)), "epsilon above 0"),
    ):
        with pytest.raises(ParameterError, match=message):
            call()


@pytest.mark.parametrize(("lam", "radius", "move"), KNOWN)
def test_known_constants(lam, radius, move):
    """Both constants are those that are known, never below, and hardly above."""
    assert -6e-7 <= r_max(lam) - Fraction(radius) <= 6e-7
    # A known value of six digits is rounded; the formula below gives more of them.
    c = np.linspace(0, 1, 200_001)
    true = (2 * np.sqrt(1 - c * c) * solver.slopes(-c * float(r_max(lam)))).max()
    assert abs(true - move) <= 1.1e-6
    assert 0 <= float(g(r_max(lam))) - true <= 3e-4


def test_r_max_is_attained():
    """Equal rows of the worst length have the longest minimiser, and no table a longer one."""
    rng = np.random.default_rng(3)
    for lam in (0.003, 0.1, 2.0):
        radius = float(r_max(lam))
        lengths = [np.linalg.norm(minimise(np.full((1, 1), t), lam).w)
                   for t in np.linspace(0, 1, 201)]
        assert 0.9999 * radius <= max(lengths) <= radius
        for _ in range(50):
            Z = unit(rng.standard_normal((4, 3)) + 2 * rng.random(), rng.random())
            assert np.linalg.norm(minimise(Z, lam).w) <= radius


def test_g_bounds_every_move():
    """No two rows and no w within the radius differ by more than g, and some nearly do."""
    rng = np.random.default_rng(4)
    for lam in ("0.001", "0.1", "1"):
        radius, best = float(r_max(lam)), 0.0
        for d in (1, 2, 3):
            w = rng.standard_normal((20_000, d))
            w = unit(w) * radius * rng.choice([1, 1, 0.5, rng.random()], (20_000, 1))
            vectors = unit(rng.standard_normal((20_000, d)))
            # The mirror image at the plane through w, which is the worst in two dimensions.
            along = unit(w)
            mirror = 2 * (vectors * along).sum(1, keepdims=True) * along - vectors
            other = np.where(rng.random((20_000, 1)) < 0.7, mirror,
                             unit(rng.standard_normal((20_000, d))) * rng.random((20_000, 1)))
            moved = [solver.slopes((w * z).sum(1))[:, None] * z for z in (vectors, other)]
            best = max(best, np.linalg.norm(moved[0] - moved[1], axis=1).max())

        assert 0.999 * float(g(r_max(lam))) <= best <= float(g(r_max(lam)))


def test_the_tight_pair():
    """One pair of tables attains 99.9 % of what is charged, and not more than all of it."""
    lam, n, c = 0.1, 10_000, 0.387890
    Z = np.zeros((n, 2))
    Z[:, 0] = 1
    ends = []
    for sign in (1, -1):
        Z[-1] = -c, sign * (1 - c * c) ** 0.5
        ends.append(minimise(Z, lam).w)
    moved = np.linalg.norm(ends[0] - ends[1])

    assert round(moved * lam * n, 6) == 0.564239
    assert 0.999 <= moved / float(output(lam, n, 2)) <= 1


def neighbours(rng, n, d):
    """Two tables that differ in the last row: random ones, and those of the tight pair's kind."""
    kind = rng.integers(3)
    Z = unit(rng.standard_normal((n, d))) * rng.random((n, 1)) ** rng.integers(3)
    other = unit(rng.standard_normal((1, d)))[0]
    if kind:
        Z[:-1] = np.eye(d)[0] * rng.uniform(0.3, 1)
        angle = rng.uniform(0, pi)
        Z[-1], other = np.zeros(d), np.zeros(d)
        Z[-1, 0] = other[0] = -cos(angle)
        Z[-1, -1], other[-1] = sin(angle), -sin(angle)
    if kind == 2:
        Z += rng.standard_normal(Z.shape) * 0.05
        Z /= np.maximum(1, np.linalg.norm(Z, axis=1, keepdims=True))
    changed = Z.copy()
    changed[-1] = other
    return Z, changed


def test_no_neighbour_moves_further():
    """Of 2,000 random and adversarial pairs none moves the minimiser by more than is charged."""
    rng = np.random.default_rng(5)
    most = 0.0
    for trial in range(2000):
        lam = str(rng.choice(["0.01", "0.1", "1"]))
        n, d = int(rng.choice([1, 2, 5, 40])), int(rng.integers(1, 4))
        Z, changed = neighbours(rng, n, d)
        partitions = 1 + (trial % 20 == 0)
        if partitions == 2:
            # A unit decides a row of each partition.
            Z, changed = (np.vstack([table, other]) for table, other in
                          zip((Z, changed), neighbours(rng, n, d), strict=True))
        moved = np.linalg.norm(minimise(Z, float(lam)).w - minimise(changed, float(lam)).w)
        most = max(most, moved / float(output(lam, n, d, partitions=partitions)))

    assert 0.95 <= most <= 1


def test_the_share_is_counted():
    """The share of an ensemble is the largest sum of uses over vectors, by plain fractions."""
    rng = np.random.default_rng(8)
    for _ in range(50):
        k, n = int(rng.integers(1, 5)), int(rng.integers(1, 9))
        uses, rows = rng.integers(0, 4, (k, n)), rng.integers(1, 9, k)
        sums = [sum(Fraction(int(uses[t, i]), int(rows[t])) for t in range(k)) for i in range(n)]

        assert max(sums) / k == ensemble_share(uses.tolist(), rows.tolist())


def test_no_neighbour_moves_an_ensemble_further():
    """The mean over balanced windows, and over draws with repetition, moves by at most its bound.

    One window that repeats the changed row is nearly as bad as is charged.
    """
    rng, most = np.random.default_rng(9), 0.0
    for _ in range(150):
        n, lam = 8, "0.1"
        Z, changed = neighbours(rng, n, 2)
        draws = (windows(n, 3, "0.7") if rng.random() < 0.5
                 else [rng.integers(0, n, 40).tolist() for _ in range(3)])
        uses = [[draw.count(i) for i in range(n)] for draw in draws]
        share = ensemble_share(uses, [len(draw) for draw in draws])
        means = [np.mean([minimise(table[draw], 0.1).w for draw in draws], axis=0)
                 for table in (Z, changed)]
        bound = float(ensemble(lam, share, 40, 2))
        most = max(most, np.linalg.norm(means[0] - means[1]) / bound)

    assert 0.5 <= most <= 1
