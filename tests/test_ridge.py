"""Law: PrivateKernelRidge.  Exact weights, which a neighbour moves by at most what was said."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

import privsieve as ps
import tables
from privsieve.errors import DomainError, ParameterError
from privsieve.methods.ridge import ridge
from privsieve.methods.ridge.features import ONE, WHOLE, features, target
from privsieve.methods.ridge.ridge import LAMS as ROUND
from privsieve.methods.ridge.ridge import Products
from privsieve.noise.streams import replay
from privsieve.public.domain import Domain

planned = partial(ps.plan, "kernel-ridge")
#: Kernels, small enough that a pair of tables takes a millisecond.
KERNELS = [{"kernel": "linear"}, {"kernel": "cosine", "degree": 2},
           {"kernel": "rbf", "features": 6, "gamma": "1"}]


def domain(kinds="nn", **options):
    """A domain whose target is a number."""
    return Domain(tables.domain(kinds).columns, ps.Number("y", 0, 10), **options)


def model(of, rows=None, lam="0.1", **options):
    """The public parameters that a plan carries."""
    plan = planned(of, epsilon=1, rows=rows, lam=lam, **options)
    return plan.mechanism.keywords["model"]


def weights_of(batch, known, key=0):
    """The exact weights of a table, as the mechanism has them."""
    return ridge.weights(ridge.summarise([batch], key, model=known), known)


def naive_weights(codes, label, weight, known):
    """Gauss's elimination in fractions over loops: the normal equations as the proof has them."""
    phi = [[int(x) for x in row] for row in features(known.map, codes)]
    v = [int(x) for x in target(known.domain.target, label)]
    d, n = known.map.width, len(phi)
    whole = known.lam * known.units * known.domain.unit_weight * ONE**2 * known.map.slots
    left = [[Fraction(sum(int(weight[i]) * phi[i][a] * phi[i][b] for i in range(n)))
             + (whole if a == b else 0) for b in range(d)] for a in range(d)]
    right = [Fraction(sum(int(weight[i]) * phi[i][a] * v[i] for i in range(n))) for a in range(d)]
    for a in range(d):
        for b in range(a + 1, d):
            times = left[b][a] / left[a][a]
            left[b] = [y - times * x for x, y in zip(left[a], left[b], strict=True)]
            right[b] -= times * right[a]
    solved = [Fraction(0)] * d
    for a in reversed(range(d)):
        solved[a] = (right[a] - sum(left[a][b] * solved[b] for b in range(a + 1, d))) / left[a][a]
    return solved


@pytest.mark.parametrize("options", KERNELS, ids=str)
def test_weights_are_the_exact_ones(options):
    """They equal an elimination in fractions over loops, number for number."""
    rng = np.random.default_rng(0)
    codes, label = tables.random_codes(rng, "nf", 7), rng.integers(0, 65536, 7)
    known = model(domain("nf"), rows=7, **options)

    expected = naive_weights(codes, label.astype(np.int32), np.ones(7, int), known)
    assert expected == weights_of(tables.batch(codes, label), known)


@pytest.mark.parametrize("options", KERNELS, ids=str)
def test_predictions_are_those_of_kernel_ridge(options):
    """Without noise they are scikit-learn's for the same kernel and its alpha = lam n."""
    rng = np.random.default_rng(1)
    n = 300
    codes, label = rng.integers(0, 65536, (n, 2)), rng.integers(0, 65536, n)
    known = model(domain(), rows=n, lam="0.02", **options)
    phi = features(known.map, codes.astype(np.uint16)) / (ONE * math.sqrt(known.map.slots))
    y = target(known.domain.target, label.astype(np.int32)) / WHOLE
    expected = KernelRidge(alpha=0.02 * n, kernel="precomputed").fit(phi @ phi.T, y)

    w = np.array([float(x) for x in weights_of(tables.batch(codes, label), known)])
    predictions = features(known.map, codes.astype(np.uint16)) / WHOLE @ w
    assert np.allclose(expected.predict(phi @ phi.T), predictions, rtol=0, atol=1e-11)


def test_the_sums_of_any_cut_are_the_same():
    """Of rows and persons, in any pieces; and they are sums of Python's integers."""
    rng = np.random.default_rng(2)
    codes, label = tables.random_codes(rng, "nmfc", 500), rng.integers(0, 65536, 500)
    whole = tables.batch(codes, label)
    weight = rng.integers(1, 5, 500)
    for options in KERNELS:
        known = model(domain("nmfc"), rows=500, **options)

        def of(rows, known=known):
            return Products.of(whole.take(rows), weight[rows], kernel_map=known.map,
                              domain=known.domain, most=4)

        cuts = sorted(rng.integers(0, 500, 3))
        parts = [of(rows) for rows in np.split(np.arange(500), cuts)]
        once, added = of(np.arange(500)), sum(parts, Products.zero(known.map.width))
        phi = features(known.map, whole.codes).astype(object)
        v = target(known.domain.target, whole.label).astype(object)
        assert ((phi.T * weight) @ phi).tolist() == once.products.tolist()
        assert ((phi.T * weight) @ v).tolist() == once.with_target.tolist()
        assert once.products.tolist() == added.products.tolist()
        assert once.with_target.tolist() == added.with_target.tolist()


def test_the_largest_sums_fit():
    """Pieces of the most extreme rows stay exact at the largest weight."""
    known = model(domain("n"), rows=2**18, kernel="linear")
    extreme = tables.batch(np.full((2**18, 1), 65535), np.full(2**18, 65535))
    weight = np.full(2**18, 4095)  # no power of two, which a double would hold for nothing
    once = Products.of(extreme, weight, kernel_map=known.map, domain=known.domain, most=4096)

    assert {2**18 * 4095 * ONE**2} == set(once.products.ravel().tolist())
    assert {2**18 * 4095 * ONE**2} == set(once.with_target.tolist())


@pytest.mark.parametrize("kinds", ["nc", "fc"])
@pytest.mark.parametrize("options", KERNELS, ids=str)
def test_no_rows_and_constant_rows_have_an_answer(options, kinds):
    """Under add-remove a table may be empty: the weights are 0; equal rows have weights, too."""
    known = model(domain(kinds, neighbours="add-remove", rows=10), **options)
    equal = tables.batch(np.full((20, 2), 1), np.full(20, 65535))

    assert [0] * known.map.width == ridge.weights(ridge.summarise([], 0, model=known), known)
    assert any(weights_of(equal, known))


def test_more_rows_than_declared_need_the_cap():
    """Without it, four times as many rows would make weights twice as long as the bound."""
    known = model(domain("n", neighbours="add-remove", rows=100), lam="0.01", kernel="linear")
    code = 32768 + int(65535 / 2 * 0.1)
    # two points on one line through the middle, each pulled outwards: the least certain direction
    codes = np.where(np.arange(400)[:, None] % 2, code, 65535 - code)
    rows = tables.batch(codes, np.where(np.arange(400) % 2, 65535, 0))
    capped = math.sqrt(float(sum(x * x for x in weights_of(rows, known))))
    free = Products.of(rows, None, kernel_map=known.map, domain=known.domain)
    loose = math.sqrt(float(sum(x * x for x in ridge.weights(free, known))))

    assert capped <= known.longest
    assert loose > 1.4 * capped


# the plan


@pytest.mark.parametrize("delta", [0, "1e-9"])
def test_the_noise_is_as_large_as_forecast(delta):
    """Over 300 replays the mean square of a weight, of the length and of a prediction is right."""
    of = domain("nn")
    plan = planned(of, epsilon=1, delta=delta, rows=2000, features=60)
    known = plan.mechanism.keywords["model"]
    summary = ridge.summarise([tables.batch([[0, 0]], [0])], 0, model=known)
    exact = known.grid.numbers(known.grid.integers(ridge.weights(summary, known)))
    noise = replay(1)
    drawn = np.array([known.grid.numbers(plan.mechanism(summary, noise)) for _ in range(300)])
    off = drawn - np.array(exact)
    phi = features(known.map, np.array([[9, 60_000]], np.uint16))[0] / WHOLE
    forecast = {name: float(value) for name, value in plan.forecast.items()}

    assert (known.delta == 0) == (delta == 0)
    assert math.sqrt((off**2).mean()) == pytest.approx(forecast["noise_each"], rel=0.05)
    assert np.linalg.norm(off, axis=1).mean() == pytest.approx(forecast["noise_length"], rel=0.05)
    assert (off @ phi).std() == pytest.approx(forecast["noise_prediction"], rel=0.2)


def test_a_plan_warns_of_pure_noise():
    """Few rows: it says so before the charge; many rows: it does not."""
    assert "noise of" in planned(domain(), epsilon=1, rows=100, lam=0.05).warning
    assert planned(domain(), epsilon=1, rows=100_000, lam=0.05).warning is None


@pytest.mark.parametrize("delta", [0, "1e-9"])
def test_lam_is_the_best_of_round_ones(delta):
    """Of all that "auto" looks at none has a smaller expected error; public numbers decide."""
    def error(lam):
        plan = planned(domain(), epsilon=1, delta=delta, rows=9000, lam=lam)
        return plan.mechanism.keywords["model"].error

    assert min(map(error, ROUND)) == error("auto")
    few, many = (float(planned(domain(), epsilon=1, rows=rows).settings["lam"])
                 for rows in (100, 10**6))
    assert few > 10 * many


@pytest.mark.parametrize(("of", "options", "message"), [
    (domain(), {"lam": "1e-7"}, "lam is 1e-7; it must be between 1e-6"),
    (domain(), {"epsilon": "1e-9"}, "would not fit their grid"),
    (domain(), {"lam": 10**6, "rows": 2**30}, "would not fit a grid as fine as their noise"),
    (domain(), {"rows": 2**31}, r"least squares takes 1 to 1073741824"),
    (domain(person="id", persons=2**20, rows_per_person=2000), {},
     "least squares takes 1 to 262144"),
    (domain(person="id", persons=9, rows_per_person=5000), {}, "rows_per_person is 5000; write"),
    (tables.domain("nn"), {}, "a target that is a number"),
    (ps.Domain.box(0, 1, target=(0, 1)), {}, "does not name its columns"),
    (domain(), {"delta": "0.5"}, "delta is 0.5, which is too large for 1000 units"),
    (domain(), {"epsilon": None}, "epsilon is 'None'"),
])
def test_wrong_plans_are_refused(of, options, message):
    """Before the charge, with the thing, its limit and a way out."""
    with pytest.raises((ParameterError, DomainError), match=message):
        planned(of, **{"epsilon": 1, "rows": 1000, **options})
