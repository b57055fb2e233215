"""Law: a session answers for a price, inside its bounds, and no row leaves with what it returns."""

from __future__ import annotations

import copy
import gc
import pickle
from dataclasses import replace
from fractions import Fraction
from types import FunctionType, ModuleType

import mpmath
import numpy as np
import pytest

import privsieve as ps
from privsieve import fit as fitting
from privsieve.errors import DomainError, ParameterError
from privsieve.methods.ridge import answers, dual
from privsieve.methods.ridge.answers import Memory, Solution, Task
from privsieve.methods.ridge.dual import (
    ERROR,
    NUGGET,
    Basis,
    Kernel,
    Rounding,
    certain,
    coordinates,
    targets,
)
from privsieve.methods.ridge.features import original
from privsieve.methods.ridge.sensitivity import sensitivity
from privsieve.noise.streams import replay
from privsieve.public.columns import Category, Flag, Number
from privsieve.public.domain import Domain
from privsieve.public.plan import Cost
from privsieve.rows import open_source
from privsieve.session import KernelRidgeSession, codes_of

MIXED = Domain([Number("age", 0, 110), Number("dose", 1, 9, missing="level"), Flag("smoker"),
                Category("ward", ["A", "B"])], target=Number("cost", -2, 6))
KERNELS = [("rbf", {"gamma": 0.7}), ("rbf", {"gamma": 300.0}), ("linear", {})]
kernels = pytest.mark.parametrize(("name", "options"), KERNELS, ids=str)


def random_codes(rng, n, *, same=False):
    """Codes of the mixed domain: ties, extremes, missing; or all records alike."""
    codes = np.column_stack([rng.integers(0, 65536, (n, 2)), rng.integers(0, 2, n),
                             rng.integers(0, 3, n)])
    codes[rng.random(n) < 0.2, :2] = rng.choice([0, 65535, 32768])
    if same:
        codes[:] = codes[0]
    return codes.astype(np.uint16)


def exact_coordinates(codes):
    """The points of the mixed domain, one cell at a time, in units of half a range."""
    unit = Fraction(1, 65536)
    return [[(2 * int(age) + 1 - 65536) * unit,
             Fraction(0) if dose == 65535 else (2 * int(dose) + 1 - 65536) * unit,
             Fraction(2 * (dose == 65535)), Fraction(2 * int(smoker) - 1),
             *[Fraction(92681 * (ward == level), 65536) for level in range(3)]]
            for age, dose, smoker, ward in codes.tolist()]


def exact_kernel(kernel, first, second):
    """The kernel of two points at fifty digits."""
    product = sum(a * b for a, b in zip(first, second, strict=True))
    if kernel.name == "rbf":
        away = sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) / 4
        return mpmath.exp(-mpmath.mpf(kernel.gamma) * away.numerator / away.denominator)
    share = (1 + product) / (1 + 1 + 4 + 1 + 2)
    return mpmath.mpf(share.numerator) / share.denominator


def exact_matrix(kernel, first, second):
    """The kernel of points with points, at fifty digits."""
    return mpmath.matrix([[exact_kernel(kernel, a, b) for b in second] for a in first])


def task(kernel, lam, m, codes, kind="batch", cost=None):
    """A task for some queries."""
    points = coordinates(codes, kernel.domain)
    if kind == "one":
        basis, weights = Basis(kernel, points, np.ones((1, 1))), np.ones((1, 1))
    else:
        basis, weights = Basis.of(points, kernel)
    return Task(kind, kernel, Fraction(lam), m, cost or Cost.of(1), basis, weights, codes)


def fitted(kernel, lam, codes, label):
    """The private part of a session."""
    points = coordinates(codes, kernel.domain)
    return Solution(points, dual.solve(points, targets(label, kernel.domain), kernel, float(lam)))


# Arithmetic


@kernels
def test_a_kernel_is_as_exact_as_it_says(name, options):
    """Each computed kernel is within ERROR of the exact one, and none is above 1."""
    kernel = Kernel.of(MIXED, name, **options)
    codes = random_codes(np.random.default_rng(1), 30)
    points = exact_coordinates(codes)
    gram = kernel.gram(*[coordinates(codes, MIXED)] * 2)
    with mpmath.workdps(50):
        exact = exact_matrix(kernel, points, points)
        worst = max(abs(exact[i, j] - gram[i, j]) for i in range(30) for j in range(30))

    assert worst <= ERROR
    assert gram.max() <= 1
    assert np.abs(np.diag(gram) - kernel.diagonal(coordinates(codes, MIXED))).max() <= ERROR


@kernels
@pytest.mark.parametrize(("lam", "same"), [("0.000001", True), ("0.000001", False), ("0.1", False)])
def test_a_solution_is_as_near_as_it_says(name, options, lam, same):
    """The computed function and its values are within the limits of those of fifty digits."""
    rng = np.random.default_rng(2)
    kernel, n = Kernel.of(MIXED, name, **options), 12
    codes, label = random_codes(rng, n, same=same), rng.choice([0, 65535], n)
    queries = random_codes(rng, 5)
    model, limits = fitted(kernel, lam, codes, label), Rounding.of(lam, n)
    answers_now = dual.values(coordinates(queries, MIXED), *model, kernel)
    with mpmath.workdps(50):
        points, at = exact_coordinates(codes), exact_coordinates(queries)
        K = exact_matrix(kernel, points, points)
        y = mpmath.matrix([mpmath.mpf(2 * int(code) - 65535) / 65536 for code in label])
        off = mpmath.matrix(model.c.tolist()) - mpmath.lu_solve(
            K + n * mpmath.mpf(float(lam)) * mpmath.eye(n), y)
        away = exact_matrix(kernel, at, points) * mpmath.matrix(model.c.tolist())

        assert mpmath.sqrt(abs((off.T * K * off)[0])) <= limits.solver
        assert max(abs(away[i] - answers_now[i]) for i in range(5)) <= limits.evaluated


def test_limits_are_small_beside_the_sensitivity():
    """Rounding adds less than a thousandth to the noise of a usual table."""
    for lam, m in (("0.01", 5000), ("0.1", 500), ("0.001", 10_000)):
        batch = task(Kernel.of(MIXED), lam, m, random_codes(np.random.default_rng(0), 60))
        moved = sensitivity(lam, m)

        assert batch.grid.sensitivity < moved * Fraction(1001, 1000)


@kernels
def test_a_basis_covers_its_kernel(name, options):
    """L L' - K has no eigenvalue below half of the nugget, whatever points are alike."""
    rng, kernel = np.random.default_rng(3), Kernel.of(MIXED, name, **options)
    codes = random_codes(rng, 150)
    codes[50:100] = codes[:50]
    codes[100:130, 0] = np.minimum(codes[:30, 0].astype(int) + 1, 65535)
    points = coordinates(codes, MIXED)
    basis, weights = Basis.of(points, kernel)
    over = basis.factor @ basis.factor.T - kernel.gram(basis.points, basis.points)

    assert np.linalg.eigvalsh(over).min() > 0.5 * NUGGET
    assert len(basis) <= 101
    assert np.abs(weights @ weights.T - kernel.gram(points, points)).max() < 1e-4


def test_a_wrong_factor_is_noticed(monkeypatch):
    """Rows of a factor that are off by a millionth are seen in the residual, and not taken."""
    kernel, rng, honest = Kernel.of(MIXED), np.random.default_rng(4), dual._pivots
    points = coordinates(random_codes(rng, 9), MIXED)

    def wrong(*arguments):
        kept, factor = honest(*arguments)
        return kept, factor + 1e-6

    monkeypatch.setattr(dual, "_pivots", wrong)
    basis, weights = Basis.of(points, kernel)

    assert (0, (9, 0)) == (len(basis), weights.shape)
    assert not certain(float("nan"), 5)


def test_duplicates_cost_no_dimension():
    """A query that comes twice is answered by what is released of the first."""
    kernel, codes = Kernel.of(MIXED), random_codes(np.random.default_rng(5), 6)
    twice = coordinates(np.concatenate([codes, codes]), MIXED)
    basis, weights = Basis.of(twice, kernel)

    assert len(basis) == len(np.unique(codes, axis=0))
    assert np.abs(weights[:6] - weights[6:]).max() < 1e-3


# Sensitivity


def test_the_noise_has_the_size_that_is_said():
    """Answers of a batch spread by what the plan forecasts."""
    kernel, rng = Kernel.of(MIXED), np.random.default_rng(9)
    model = fitted(kernel, "10", random_codes(rng, 40), rng.integers(0, 65536, 40))
    batch = task(kernel, "10", 40, random_codes(rng, 3))
    true = batch.weights @ dual.forward(batch.basis.factor, dual.values(
        batch.basis.points, *model, kernel))
    off = [batch.weights @ np.array(
        batch.grid.numbers(answers.answer_batch(model, noise, task=batch)))
           - true for noise in map(replay, range(400))]
    # half of the range
    each_noise = float(answers.plan(batch, Memory()).forecast["noise_each"]) / 4

    assert 0.85 * each_noise < np.sqrt(np.mean(np.square(off))) < 1.15 * each_noise


# A session


def table(n=60, seed=0):
    """Records whose target is a smooth function of them."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] / 2


BOX = Domain.box(0, 1, target=(0, 2))


@pytest.fixture
def ledger(tmp_path):
    """A budget of ten."""
    new_ledger = ps.Ledger(str(tmp_path / "budget.db"), population="people")
    new_ledger.grant(epsilon=10)
    return new_ledger


def opened(lam="1", seed=1, **options):
    """A session with repeatable noise, so that no ledger is asked."""
    session = KernelRidgeSession(*table(), lam=lam, domain=BOX, **options)
    session._noise = replay(seed)
    return session


def opened_for(X, **options):
    """The same for other rows."""
    session = KernelRidgeSession(X, [0.5] * len(X), lam="1", domain=BOX, **options)
    session._noise = replay(1)
    return session


class Spy:
    """A source that notes what was spent when its body was read, and how often."""

    def __init__(self, ledger, fail=False):
        X, y = table()
        self.source, self.ledger, self.fail, self.seen = open_source(X, y), ledger, fail, []

    def read(self, *where):
        self.seen.append(self.ledger.spent())
        if self.fail:
            raise ValueError("a row says 17")
        yield from self.source.read(*where)

    def opened(self):
        return replace(self.source, read=self.read)


def test_rows_are_read_once_and_after_the_charge(ledger):
    """The first answer's charge is durable before the body is opened; later ones read nothing."""
    spy = Spy(ledger)
    with KernelRidgeSession(spy.opened(), lam="1", domain=BOX, ledger=ledger) as session:
        assert [] == spy.seen
        session.predict_one([0.5, 0.5], epsilon=1)
        session.predict_batch([[0.1, 0.1], [0.9, 0.2]], epsilon=2)

    assert [1] == spy.seen
    assert session.release_.certificate["ledger"] is not None


def test_the_same_question_has_the_same_answer_for_nothing(ledger):
    """A record on the same codes at the same epsilon is charged once, at another one again."""
    X, y = table()
    with KernelRidgeSession(X, y, lam="1", domain=BOX, ledger=ledger) as session:
        first = session.predict_one([0.5, 0.5], epsilon="0.5")
        left = ledger.left()

        assert first == session.predict_one((0.5, 0.500001), epsilon="0.50")
        assert left == ledger.left()
        session.predict_one([0.5, 0.5], epsilon="0.25")
        assert left != ledger.left()


def test_a_plan_says_before_what_the_release_says_after(ledger):
    """Planning reads and charges nothing, and forecasts the noise that the release then names."""
    spy = Spy(ledger)
    with KernelRidgeSession(spy.opened(), lam="1", domain=BOX, ledger=ledger) as session:
        queries = np.random.default_rng(1).random((50, 2))
        batch = session.plan(queries, epsilon=1)
        assert ([], 10) == (spy.seen, ledger.left())
        session.predict_batch(queries, epsilon=1)
        assert batch.forecast == session.release_.body["forecast"]
        assert batch.forecast["noise_each"] == session.release_.body["noise"]["each"]
        assert 1 <= batch.settings["kept"] < 50


def test_answers_are_near_where_noise_is_small():
    """With a large epsilon each of the two ways comes near to the ridge regression itself."""
    X, y = table()
    queries = np.random.default_rng(2).random((12, 2))
    kernel = Kernel.of(BOX.of_width(["x0", "x1"]), "rbf", 3.0)
    codes = [coordinates(codes_of(x, kernel.domain), kernel.domain) for x in (X, queries)]
    expected = original(kernel.gram(codes[1], codes[0]) @ np.linalg.solve(
        kernel.gram(codes[0], codes[0]) + 60 * 0.01 * np.eye(60), y - 1), kernel.domain.target)
    with opened("0.01", gamma=3.0) as session:
        answer = session.predict_one(queries[0], epsilon=1000, allow_weak=True)
        batch = session.predict_batch(queries, epsilon=1000, allow_weak=True)

    assert abs(answer - expected[0]) < 0.02
    assert np.abs(batch - expected).max() < 0.4
    assert 0 < np.abs(batch - expected).max()


def test_a_session_is_neither_copied_nor_shown(ledger):
    """Pickling and copying raise, its text has no number of a row, and it ends empty."""
    X, y = table()
    session = KernelRidgeSession(X, y, domain=BOX, ledger=ledger)
    with session:
        session.predict_one([0.5, 0.5], epsilon=1)
        for way in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="contains rows"):
                way(session)
        with pytest.raises(TypeError, match="contains rows"):
            pickle.dumps(session._memory)
        assert repr(session) == "<KernelRidgeSession, open>"

    assert (None, None) == (session._source, session._memory.model)
    for after in (lambda: session.predict_one([0.5, 0.5], epsilon=1), session.__enter__):
        with pytest.raises(ParameterError):
            after()


def reached(thing, seen=None):
    """The bytes of all numbers that can be reached from an object."""
    seen = {} if seen is None else seen
    for referent in gc.get_referents(thing):
        if id(referent) not in seen and not isinstance(referent, (type, ModuleType, FunctionType)):
            seen[id(referent)] = referent
            reached(referent, seen)
    return b"".join(value.tobytes() for value in seen.values() if isinstance(value, np.ndarray))


def test_after_the_session_nothing_without_noise_is_held():
    """From a session, a release or a plan that is kept no row and no bare number is reached."""
    with opened() as session:
        session.predict_batch(np.random.default_rng(7).random((15, 2)), epsilon=1)
        kept = session, session.plan([[0.5, 0.5]], epsilon=1), session.release_
        model = session._memory.model
        private = [number.tobytes() for number in (*model.points, *model.c)]
        seen = reached(session)
        assert all(number in seen for number in private)

    left = reached(kept)
    assert not [number for number in private if number in left]


def test_a_plan_never_wakes_a_session():
    """Who fits a session's plan makes a release of its own: the session neither knows nor opens."""
    with opened() as session:
        session.predict_one([0.1, 0.1], epsilon=1)
        kept, memory = session.plan([[0.5, 0.5]], epsilon=1), session._memory
    fitting.fit(kept, open_source(*table()), noise=replay(1))

    assert memory.model is None


def test_of_two_threads_that_solve_the_first_is_remembered():
    """All releases of a session are of the same coefficients."""
    memory, models = Memory(), [Solution(np.zeros((1, 1)), np.full(1, x)) for x in (1.0, 2.0)]

    assert [models[0]] * 2 == [memory.learn(model) for model in models]


def test_rows_decide_nothing_where_numpy_is_told_to_raise():
    """Rows far apart underflow in their kernel: no setting of NumPy lets that be seen."""
    X = [[0.0, 0.0], [1.0, 1.0]] * 9
    for way in ("raise", "print"):
        with np.errstate(all=way), opened_for(X, gamma=1e4) as session:
            answered = [session.predict_one([0.1, 0.1], epsilon=1),
                        *session.predict_batch([[0.5, 0.5]], epsilon=1)]
            assert 2 == len(answered)


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"kernel": "cosine"}, ParameterError, 'write "rbf"'),
    ({"gamma": -1}, ParameterError, "gamma is -1"), ({"gamma": "x"}, ParameterError, "gamma is"),
    ({"kernel": "polynomial"}, ParameterError, "polynomials were removed"),
    ({"lam": 0}, ParameterError, "lam is 0"),
    ({"domain": Domain.box(0, 1)}, DomainError, "a target that is a number"),
    ({"domain": replace(MIXED, person="who", persons=9)}, DomainError, "replacement of one"),
    ({"domain": replace(MIXED, neighbours="add-remove", rows=9)}, DomainError, "replacement of"),
])
def test_a_wrong_parameter_is_said_before_a_row(options, error, message):
    """Public mistakes are refused when the session is made."""
    with pytest.raises(error, match=message):
        KernelRidgeSession(*table(), **{"domain": BOX, **options})


def test_a_wrong_question_costs_nothing(ledger):
    """Questions of a wrong shape or too weak are refused before the charge."""
    X, y = table()
    with KernelRidgeSession(X, y, domain=BOX, ledger=ledger) as session:
        for ask in (lambda: session.predict_one([[0.1, 0.1]] * 2, epsilon=1),
                    lambda: session.predict_one([0.1], epsilon=1),
                    lambda: session.predict_batch(np.empty((0, 2)), epsilon=1),
                    lambda: session.predict_batch([[0.1, 0.2]], epsilon=11)):
            with pytest.raises((ParameterError, ps.errors.SchemaError)):
                ask()

    assert 10 == ledger.left()


def test_a_function_that_is_gone_is_told_what_takes_its_place():
    """Who asks for a dropped way gets a sentence; another name is unknown, as everywhere."""
    with opened() as session:
        with pytest.raises(AttributeError, match="use PrivateKernelRidge"):
            session.release_function(epsilon=1, delta="1e-6")
        assert not hasattr(session, "answer")


def test_a_basis_that_rounding_spoils_is_refused_before_the_charge(ledger, monkeypatch):
    """Where rounding leaves no certain factor, nothing is asked of the rows."""
    monkeypatch.setattr("privsieve.methods.ridge.dual.certain", lambda _off, _n: False)
    with (KernelRidgeSession(*table(), domain=BOX, ledger=ledger) as session,
          pytest.raises(ParameterError, match="rounding errors are too large")):
        session.predict_batch([[0.5] * 2], epsilon=1)

    assert 10 == ledger.left()


def test_a_wide_table_is_refused():
    """Products of points stay exact: more columns than that are refused."""
    with pytest.raises(DomainError, match="declare fewer columns"):
        Kernel.of(Domain((*(Number(f"c{j}", 0, 1, missing="level") for j in range(2**16)),
                          Number("last", 0, 1))))


def test_a_release_close_to_noise_says_so():
    """A plan warns of noise above a quarter of the range, and not of a small one."""
    with opened(lam="0.01") as session:
        assert "close to pure noise" in session.plan([[0.5, 0.5]], epsilon="0.1").warning
        assert session.plan([[0.5, 0.5]], epsilon=1000, allow_weak=True).warning is None


def test_a_large_table_is_refused():
    """The kernel of all pairs has to fit into memory."""
    with pytest.raises(ParameterError, match="PrivateKernelRidge"):
        Rounding.of("0.1", 2**14 + 1)
    assert Rounding.of("0.000001", 2**14).solver < 1


def test_a_session_takes_paths(tmp_path):
    """Table, domain and ledger may be named by their files; the charge is in that ledger."""
    domain = Domain([Number("age", 0, 110)], target=Number("cost", -2, 6))
    domain.to_toml(tmp_path / "domain.toml")
    (tmp_path / "t.csv").write_text("age,cost\n" + "20,1\n70,3\n" * 10)
    ledger = ps.Ledger(str(tmp_path / "budget.db"), population="clinic")
    ledger.grant(3)
    with KernelRidgeSession(tmp_path / "t.csv", domain=tmp_path / "domain.toml",
                            ledger=tmp_path / "budget.db") as session:
        assert -2 <= session.predict_one([30], epsilon=1) <= 6
    with KernelRidgeSession(str(tmp_path / "t.csv"), domain=str(tmp_path / "domain.toml"),
                            ledger=str(tmp_path / "budget.db")) as session:
        session.predict_batch([[30], [60]], epsilon="0.5")

    assert Fraction(3, 2) == ledger.spent()
    assert domain.names == session.release_.columns
    with pytest.raises(DomainError, match="give a Domain, or the path"):
        KernelRidgeSession([[1.0]] * 9, [1.0] * 9, domain=7)


def test_every_release_verifies(ledger, tmp_path):
    """What a session releases is saved with its page, and its certificate holds."""
    X, y = table()
    with KernelRidgeSession(X, y, lam="1", domain=BOX, ledger=ledger) as session:
        session.predict_one([0.5, 0.5], epsilon=1)
        releases = [session.release_]
        session.predict_batch(X[:4], epsilon=1)
        releases.append(session.release_)
    for at, release in enumerate(releases):
        place = tmp_path / str(at)
        release.save(place)

        assert ps.verify(place / "certificate.json", release=place / "release.json").valid
        assert (place / "report.html").exists()
    assert 2 == len({release.sha256 for release in releases})


def test_a_release_names_its_kernel_and_a_log_scale():
    """Parameters are in the release as text; noise of a log scale is that of the logarithm."""
    domain = Domain([Number("x", 0, 1)], target=Number("cost", 1, 100, scale="log"))
    kernel = Kernel.of(domain, "rbf", 0.5)
    forecast = answers.plan(task(kernel, "10", 90, np.array([[9]], np.uint16)), Memory()).forecast

    assert {"kernel": "rbf", "gamma": "0.5"} == kernel.json()
    assert float(forecast["noise_each"]) == pytest.approx(
        float(forecast["noise_prediction"]) * np.log(100) / 2, rel=1e-4)
