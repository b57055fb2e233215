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
from attacks import RUNS, refuted, stands
from privsieve.errors import DomainError, ParameterError
from privsieve.fit import fit
from privsieve.methods.ridge import ridge
from privsieve.methods.ridge.features import ONE, WHOLE, features, target
from privsieve.methods.ridge.ridge import LAMS as ROUND
from privsieve.methods.ridge.ridge import Products
from privsieve.methods.ridge.sensitivity import sensitivity
from privsieve.noise.streams import replay
from privsieve.public.domain import Domain
from privsieve.rows import open_source

planned = partial(ps.plan, "kernel-ridge")
PAIRS = 300
#: Kernels, small enough that a pair of tables takes a millisecond.
KERNELS = [{"kernel": "linear"}, {"kernel": "cosine", "degree": 2},
           {"kernel": "rbf", "features": 6, "gamma": "1"}]
LAMS = ("0.001", "0.01", "0.1", "1", "100")


def domain(kinds="nn", **options):
    """A domain whose target is a number."""
    return Domain(tables.domain(kinds).columns, ps.Number("y", 0, 10), **options)


def model(of, rows=None, lam="0.1", **options):
    """The public parameters that a plan carries."""
    made = planned(of, epsilon=1, rows=rows, lam=lam, **options)
    return made.mechanism.keywords["model"]


def found(batch, known, key=0):
    """The exact weights of a table, as the mechanism has them."""
    return ridge.weights(ridge.summarise([batch], key, model=known), known)


def distance(one, two):
    """Euclidean, of exact fractions."""
    return math.sqrt(float(sum((a - b) ** 2 for a, b in zip(one, two, strict=True))))


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
    assert expected == found(tables.batch(codes, label), known)


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

    w = np.array([float(x) for x in found(tables.batch(codes, label), known)])
    shown = features(known.map, codes.astype(np.uint16)) / WHOLE @ w
    assert np.allclose(expected.predict(phi @ phi.T), shown, rtol=0, atol=1e-11)


def test_one_row_by_hand():
    """One row at the top of one flag, with the highest target: w = c / (a + lam m F^2 s)."""
    known = model(domain("f"), rows=1, lam="0.5", kernel="linear")

    expected = Fraction(ONE * ONE, 2 * ONE**2 + 1 * ONE**2)  # both features are F: w1 = w2
    assert [expected] * 2 == found(tables.batch([[1]], [65535]), known)


def test_the_sums_of_any_cut_are_the_same():
    """Of rows and persons, in any pieces; and they are sums of Python's integers."""
    rng = np.random.default_rng(2)
    codes, label = tables.random_codes(rng, "nmfc", 500), rng.integers(0, 65536, 500)
    whole = tables.batch(codes, label)
    weight = rng.integers(1, 5, 500)
    for options in KERNELS:
        known = model(domain("nmfc"), rows=500, **options)

        def of(rows, known=known):
            return Products.of(whole.take(rows), weight[rows], made=known.map,
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
    once = Products.of(extreme, weight, made=known.map, domain=known.domain, most=4096)

    assert {2**18 * 4095 * ONE**2} == set(once.products.ravel().tolist())
    assert {2**18 * 4095 * ONE**2} == set(once.with_target.tolist())


def random_pair(rng):
    """Two tables that differ in one row: random, or set against all others."""
    kinds = "".join(rng.choice(list("nnmfc"), rng.integers(1, 4)))
    n = int(rng.integers(1, 12))
    codes, label = tables.random_codes(rng, kinds, n), rng.integers(0, 65536, n)
    if rng.random() < 0.5:
        codes[:] = codes[0]
        label[:] = rng.choice([0, 65535])
    other, moved, one = codes.copy(), label.copy(), int(rng.integers(n))
    tops = {"f": 1, "c": 3}
    if rng.random() < 0.7:
        other[one] = [rng.choice([0, tops.get(kind, 65535)]) for kind in kinds]
    moved[one] = 65535 - label[one] if rng.random() < 0.8 else rng.integers(65536)
    return kinds, (codes, label), (other, moved), one


@pytest.mark.parametrize("options", KERNELS, ids=str)
def test_replacing_a_row_moves_the_weights_by_at_most_the_plan(options):
    """300 random and adversarial pairs a kernel stay inside, and some come near."""
    rng = np.random.default_rng(3)
    worst = 0.0
    for _ in range(PAIRS):
        kinds, first, second, _one = random_pair(rng)
        known = model(domain(kinds), rows=len(first[1]), lam=str(rng.choice(LAMS)), **options)
        apart = distance(found(tables.batch(*first), known), found(tables.batch(*second), known))
        worst = max(worst, apart / float(known.sensitivity))

        assert apart <= known.sensitivity
    assert worst > 0.7


@pytest.mark.parametrize("options", KERNELS, ids=str)
def test_a_row_that_comes_or_goes_moves_no_more(options):
    """Under add-remove, below the declared number of rows, at it, and where one is pushed out."""
    rng = np.random.default_rng(4)
    worst = 0.0
    for _ in range(PAIRS):
        kinds, (codes, label), _second, one = random_pair(rng)
        n = len(label)
        declared = max(1, n + int(rng.integers(-3, 3)))
        known = model(domain(kinds, neighbours="add-remove", rows=declared),
                      lam=str(rng.choice(LAMS)), **options)
        keep = np.arange(n) != one
        with_it = tables.batch(codes, label)
        without = tables.batch(codes[keep].reshape(-1, len(kinds)), label[keep])
        apart = distance(found(with_it, known), found(without, known))
        worst = max(worst, apart / float(known.sensitivity))

        assert apart <= known.sensitivity
    assert worst > 0.4


def person(rng, kinds, unit, rows):
    """Some rows of one person."""
    return (tables.random_codes(rng, kinds, rows), rng.choice([0, 65535, 40_000], rows),
            np.full(rows, unit))


def joined(persons):
    """The rows of some persons."""
    codes, label, unit = (np.concatenate(part) for part in zip(*persons, strict=True))
    return tables.batch(codes, label, unit)


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_a_person_with_many_rows_moves_no_more_than_a_row(neighbours):
    """Persons share one weight among their rows: the bound of one row holds for all of them."""
    rng = np.random.default_rng(5)
    worst = 0.0
    for _ in range(PAIRS // 2):
        kinds = "".join(rng.choice(list("nmfc"), rng.integers(1, 4)))
        count = int(rng.integers(1, 6))
        known = model(domain(kinds, person="id", persons=max(1, count - int(rng.integers(0, 2))),
                             rows_per_person=int(rng.choice([1, 3, 12])), neighbours=neighbours),
                      lam=str(rng.choice(LAMS)), **KERNELS[int(rng.integers(len(KERNELS)))])
        persons = [person(rng, kinds, 10 * unit, int(rng.integers(1, 6)))
                   for unit in range(count + 1)]
        at, key = int(rng.integers(count)), int(rng.integers(2**62))
        # A person who is replaced may be one without any id: absent.
        if neighbours == "replace-one" and rng.random() < 0.8:
            codes, label, _unit = person(rng, kinds, 10 * at, int(rng.integers(1, 6)))
            changed = [*persons]
            changed[at] = (codes, label, np.full(len(label), 10 * at))
        else:
            changed = persons[:at] + persons[at + 1:]
        apart = distance(found(joined(persons), known, key), found(joined(changed), known, key))
        worst = max(worst, apart / float(known.sensitivity))

        assert apart <= known.sensitivity
    assert worst > 0.4


@pytest.mark.parametrize("options", KERNELS, ids=str)
def test_no_rows_and_constant_rows_have_an_answer(options):
    """Under add-remove a table may be empty: the weights are 0; equal rows have weights, too."""
    known = model(domain("nc", neighbours="add-remove", rows=10), **options)
    equal = tables.batch(np.full((20, 2), 3), np.full(20, 65535))

    assert [0] * known.map.width == ridge.weights(ridge.summarise([], 0, model=known), known)
    assert any(found(equal, known))


def test_more_rows_than_declared_need_the_cap():
    """Without it, four times as many rows would make weights twice as long as the bound."""
    known = model(domain("n", neighbours="add-remove", rows=100), lam="0.01", kernel="linear")
    code = 32768 + int(65535 / 2 * 0.1)
    # two points on one line through the middle, each pulled outwards: the least certain direction
    codes = np.where(np.arange(400)[:, None] % 2, code, 65535 - code)
    rows = tables.batch(codes, np.where(np.arange(400) % 2, 65535, 0))
    capped = math.sqrt(float(sum(x * x for x in found(rows, known))))
    free = Products.of(rows, None, made=known.map, domain=known.domain)
    loose = math.sqrt(float(sum(x * x for x in ridge.weights(free, known))))

    assert capped <= known.longest
    assert loose > 1.4 * capped


@pytest.mark.parametrize(("lam", "m", "expected"),
                         [("0.01", 10**4, 0.12), ("0.1", 10**4, 0.005162)])
def test_the_sensitivity_of_a_plan_is_that_of_the_theorem(lam, m, expected):
    """In units of rows of length 1: the known values of Delta_K."""
    known = model(domain("nnn"), rows=m, lam=lam, kernel="linear")

    scaled = float(known.sensitivity) * ONE / WHOLE * math.sqrt(known.map.slots)
    assert expected == round(scaled, 6) == round(float(sensitivity(lam, m)), 6)


@pytest.mark.parametrize("options", KERNELS, ids=str)
def test_weights_are_no_longer_than_was_said(options):
    """The forecast's bound of the true vector's length holds."""
    rng = np.random.default_rng(6)
    for _ in range(100):
        kinds, (codes, label), _second, _one = random_pair(rng)
        known = model(domain(kinds), rows=len(label), lam=str(rng.choice(LAMS)), **options)

        w = found(tables.batch(codes, label), known)
        assert math.sqrt(float(sum(x * x for x in w))) <= known.longest


# the plan


@pytest.mark.parametrize("delta", [0, "1e-9"])
def test_the_noise_is_as_large_as_forecast(delta):
    """Over 300 replays the mean square of a weight, of the length and of a prediction is right."""
    of = domain("nn")
    made = planned(of, epsilon=1, delta=delta, rows=2000, features=60)
    known = made.mechanism.keywords["model"]
    summary = ridge.summarise([tables.batch([[0, 0]], [0])], 0, model=known)
    exact = known.grid.numbers(known.grid.integers(ridge.weights(summary, known)))
    noise = replay(1)
    drawn = np.array([known.grid.numbers(made.mechanism(summary, noise)) for _ in range(300)])
    off = drawn - np.array(exact)
    phi = features(known.map, np.array([[9, 60_000]], np.uint16))[0] / WHOLE
    forecast = {name: float(value) for name, value in made.forecast.items()}

    assert (known.delta == 0) == (delta == 0)
    assert math.sqrt((off**2).mean()) == pytest.approx(forecast["noise_each"], rel=0.05)
    assert np.linalg.norm(off, axis=1).mean() == pytest.approx(forecast["noise_length"], rel=0.05)
    assert (off @ phi).std() == pytest.approx(forecast["noise_prediction"], rel=0.2)


def test_a_delta_that_buys_nothing_is_not_spent():
    """For two weights Gamma-norm noise is the smaller; for 200 the Gaussian is."""
    few = planned(domain("n"), epsilon=1, delta="1e-9", rows=1000, kernel="linear")
    many = planned(domain("n"), epsilon=1, delta="1e-9", rows=1000)

    assert (Fraction(0), Fraction("1e-9")) == (few.cost.delta, many.cost.delta)
    plain = planned(domain("n"), epsilon=1, rows=1000)
    assert float(many.forecast["noise_each"]) < float(plain.forecast["noise_each"])


def test_a_plan_warns_of_pure_noise():
    """Few rows: it says so before the charge; many rows: it does not."""
    assert "noise of" in planned(domain(), epsilon=1, rows=100, lam=0.05).warning
    assert planned(domain(), epsilon=1, rows=100_000, lam=0.05).warning is None


@pytest.mark.parametrize("delta", [0, "1e-9"])
def test_lam_is_the_best_of_round_ones(delta):
    """Of all that "auto" looks at none has a smaller expected error; public numbers decide."""
    def error(lam):
        made = planned(domain(), epsilon=1, delta=delta, rows=9000, lam=lam)
        return made.mechanism.keywords["model"].error

    assert min(map(error, ROUND)) == error("auto")
    few, many = (float(planned(domain(), epsilon=1, rows=rows).settings["lam"])
                 for rows in (100, 10**6))
    assert few > 10 * many


def test_a_plan_is_found_by_its_name():
    """`ps.plan` knows it, and says what it will cost and that its release is a regression."""
    made = ps.plan("kernel-ridge", domain(), epsilon="0.5", rows=1000, kernel="cosine")

    assert ("regression", "0.5", "kernel-ridge/1") == (made.kind, made.cost.text, made.method)
    assert {"kernel": "cosine", "lam": "0.1", "features": 7, "degree": 3} == made.settings
    assert {"noise_each", "noise_length", "longest", "noise_prediction", "expected_error"} == set(
        made.forecast)


@pytest.mark.parametrize(("of", "options", "said"), [
    (domain(), {"lam": "1e-7"}, "lam is 1e-7; it must be between 1e-6"),
    (domain(), {"epsilon": "1e-9"}, "would not fit their grid"),
    (domain(), {"lam": 10**6, "rows": 2**30}, "would not fit a grid as fine as their noise"),
    (domain(), {"rows": 2**31}, r"least squares takes from 1 to 1073741824"),
    (domain(person="id", persons=2**20, rows_per_person=2000), {},
     "least squares takes from 1 to 262144"),
    (domain(person="id", persons=9, rows_per_person=5000), {}, "rows_per_person is 5000; at most"),
    (tables.domain("nn"), {}, "a target that is a number"),
    (ps.Domain.box(0, 1, target=(0, 1)), {}, "fits arrays of any width"),
    (domain(), {"delta": "0.5"}, "delta is 0.5 and 1000 units"),
    (domain(), {"epsilon": None}, "epsilon is 'None'"),
])
def test_wrong_plans_are_refused(of, options, said):
    """Before the charge, with the thing, its limit and a way out."""
    with pytest.raises((ParameterError, DomainError), match=said):
        planned(of, **{"epsilon": 1, "rows": 1000, **options})


def test_a_release_says_what_a_prediction_needs():
    """The keys of a regression, integers and texts alone."""
    rng = np.random.default_rng(7)
    X = rng.random((500, 2))
    made = planned(Domain.box(0, 1, columns=2, target=(0, 1)), epsilon=1, rows=500)
    body = fit(made, open_source(X, X[:, 0]), noise=replay(1)).body

    assert {"map": "fourier", "features": 200, "gamma": "0.5", "seed": 0} == body["features"]
    assert ["x0", "x1"] == body["selected"]
    assert 200 == len(body["values"]["q"])
    assert {"law": "gamma-norm", "each": made.forecast["noise_each"]} == body["noise"]
    assert made.mechanism.keywords["model"].grid.exponent == body["values"]["exponent"]


# the attack


def attacked(epsilon):
    """The mechanism on the worst pair: one row at one end, its target at the other one."""
    of = domain("f")
    made = planned(of, epsilon=epsilon, rows=2, kernel="linear", lam=100)
    known = made.mechanism.keywords["model"]
    pair = [ridge.summarise([tables.batch([[1], [1]], [65535, y])], 0, model=known)
            for y in (0, 65535)]
    one, two = (ridge.weights(summary, known) for summary in pair)
    noise = replay(8)

    def run(which):
        return np.array(known.grid.numbers(made.mechanism(pair[which], noise)))

    return run, distance(one, two) / float(known.sensitivity)


@pytest.mark.slow
def test_right_noise_withstands_the_attack():
    """On a pair that is nearly as far apart as can be, the claim is not refuted."""
    run, share = attacked(1)

    assert 0.9 < share <= 1
    # that half of the noise is caught says how near it comes
    assert stands(run, 0, 1, epsilon=1, profile=max(RUNS, 5000), least=0)


@pytest.mark.slow
def test_half_of_the_noise_is_caught():
    """A twin with half of the noise is refuted."""
    run, _share = attacked(2)

    assert refuted(run, 0, 1, epsilon=1, profile=max(RUNS, 5000))
