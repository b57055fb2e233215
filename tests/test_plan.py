"""Law: what is decided before a row is read is public, and every option of it works."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import privsieve as ps
import tables
from privsieve.errors import DomainError, ParameterError
from privsieve.fit import fit
from privsieve.methods import plan
from privsieve.methods.branches import MAX_OPS, OPS, Extent, a_round, depth, scored, takes
from privsieve.noise.race import Race
from privsieve.noise.streams import replay
from privsieve.public.option import count
from privsieve.rows import open_source
from test_methods import choose, strong

BOX = ps.Domain.box(0, 1, columns=12)


def test_an_ordered_choice_begins_with_the_strongest():
    """ordered=True gives a list, not a set."""
    X, y = strong()
    X[:, 9] = np.clip(0.8 * y + 0.2 * X[:, 9], 0, 1)

    assert "x9" == choose("rule-sieve", X, y, epsilon=5, ordered=True).selected[0]


def test_all_columns_are_free(tmp_path):
    """K = d is no choice: it costs nothing and reads nothing."""
    ledger = ps.Ledger(tmp_path / "b.db", population="all")
    ledger.grant(epsilon=1)
    domain = ps.Domain.box(0, 1, columns=2)
    source = open_source(np.zeros((9, 2)), np.zeros(9))
    planned = plan("rule-sieve", domain, k=2, epsilon=1, rows=9)

    release = fit(planned, source, ledger=ledger)

    assert ("x0", "x1") == release.selected
    assert 1 == ledger.left()
    assert "0" == release.certificate["claim"]["epsilon"]


def test_counts_and_fractions():
    """A number of columns may be a whole number, or a fraction of them."""
    assert (5, 3, 1, 2) == (count(5, 30), count(0.1, 30), count(0.01, 30), count(2, 3))
    assert 10 == count(Fraction(1, 3), 30)


@pytest.mark.parametrize("k", [0, -1, 13, 1.0, 0.0, float("nan"), True, "x", None])
def test_a_wrong_number_of_columns_is_refused(k):
    """K below 1, above d, or no number is a public mistake."""
    with pytest.raises(ParameterError, match="column"):
        plan("rule-sieve", BOX, k=k, epsilon=1, rows=100)


def test_many_classes_need_their_shares():
    """With three classes one share says too little."""
    with pytest.raises(ParameterError, match="give 3 shares"):
        plan("rule-sieve", tables.domain("nnn", 3), k=1, epsilon=1, rows=100, class_prior=0.5)


@pytest.mark.parametrize(("units", "d", "expected"), [
    (1_000_000, 100, (3, 16)), (100_000, 1000, (2, 4)), (5000, 12_600, (2, 0)),
    (100_000, 5000, (2, 0)), (20_000, 600, (3, 16)), (50, 1, (3, 0)), (70, 6000, (2, 16)),
    (70, 12_000, (2, 8)), (200, 88_000, (1, 0)),
])
def test_the_depth_follows_the_declared_sizes(units, d, expected):
    """How deep the rules go is a function of n, d and max_ops."""
    assert expected == depth(Extent(units, d), None, MAX_OPS)


@pytest.mark.parametrize("max_ops", [10**4, 2**31, 2**36])
@pytest.mark.parametrize("options", [{}, {"cuts": 31}, {"weighed": True}, {"masked": True}])
def test_no_size_takes_longer_than_was_promised(options, max_ops):
    """Whatever is declared, scores take no more than `max_ops`, and never more with less of it."""
    for units in (2, 70, 1000, 10**5, 10**7):
        for d in (1, 2, 30, 500, 12_000, 88_000):
            table = Extent(units, d, **options)
            deep, grid = depth(table, None, max_ops)

            assert OPS * scored(table, deep, grid) <= max_ops
            assert (deep, grid) <= (3, depth(table, None, 2 * max_ops)[1])


def test_what_a_run_takes_is_said_before_it():
    """A plan estimates time and memory from declared sizes alone, those of sets among them."""
    def takes_of(k=3, rows=5000, **options):
        return plan("rule-sieve", WIDE, k=k, epsilon=10, rows=rows, **options).takes

    pairs, first = (takes(Extent(5000, 60), deep=3, grid=16, first=pair) for pair in (False, True))
    assert takes_of(joint="pair").seconds == first.seconds
    assert takes_of().seconds == pytest.approx(first.seconds + a_round(Extent(5000, 60), 2) / 1e9)
    assert takes_of(joint="none").seconds == pairs.seconds
    assert takes_of(joint="none").seconds < takes_of().seconds < takes_of(rows=50_000).seconds
    assert takes_of(joint="none").bytes < takes_of().bytes < takes_of(rows=50_000).bytes
    assert plan("block-fwell", WIDE, k=3, epsilon=1, rows=5000).takes is not None


def test_the_forecast_grows_with_epsilon_and_warns():
    """More epsilon finds more; next to nothing is said before the charge."""
    forecasts = [plan("rule-sieve", BOX, k=3, epsilon=epsilon, rows=300) for epsilon in
                 ("0.01", "0.1", "1", "10")]

    shares = [forecast.forecast["found_percent"]["0.1"] for forecast in forecasts]
    assert sorted(shares) == shares
    assert "close to random" in forecasts[0].warning
    assert forecasts[-1].warning is None


@pytest.mark.parametrize("k", [3, 9])
def test_the_forecast_tells_the_truth(k):
    """The formula agrees with 400 races on scores that have its gap."""
    from privsieve.noise.race import top_k

    d, units, gap = 12, 1000, Fraction(1, 20)
    planned = plan("rule-sieve", BOX, k=k, epsilon="0.5", rows=units, class_prior=None)
    scores = [int(24 * gap * units) * (j < k) for j in range(d)]
    races = [top_k(scores, Race(d, k, 24, Fraction(1, 2)), replay(seed)) for seed in range(400)]
    mean = np.mean([sum(j < k for j in race) / k for race in races])

    assert abs(planned.forecast["found_percent"]["0.05"] / 100 - mean) < 0.06


WIDE = ps.Domain.box(0, 1, columns=60)


def test_a_delta_is_charged_only_where_it_helps():
    """Few columns need none: the plan stays pure; many cost the delta and get less noise."""
    def make_plan(k, **options):
        return plan("rule-sieve", WIDE, k=k, epsilon=1, rows=5000, **options)

    few, many, pure = make_plan(4, delta="1e-6"), make_plan(20, delta="1e-6"), make_plan(20)

    assert (few.cost, few.noise) == (make_plan(4).cost, make_plan(4).noise)
    assert ("1", "0.000001", "approximate") == (many.cost.text, many.cost.delta_text,
                                                many.cost.account)
    assert many.json()["delta"] == "0.000001"
    assert many.noise.amount < pure.noise.amount * Fraction(3, 4)
    assert many.forecast["found_percent"]["0.02"] > pure.forecast["found_percent"]["0.02"]


@pytest.mark.parametrize("options", [{"ordered": True}, {"joint": "pair"}, {"class_prior": None}])
def test_the_delta_of_a_plan_reaches_the_race(options, monkeypatch):
    """The race is run with the epsilon that is left and the delta that the plan charges."""
    from privsieve.noise import race

    seen, top_k = [], race.top_k

    def spied(scores, wanted_race, noise):
        seen.append((wanted_race.k, wanted_race.epsilon, wanted_race.delta))
        return top_k(scores, wanted_race, noise)

    monkeypatch.setattr(race, "top_k", spied)
    rng = np.random.default_rng(3)
    X, y = rng.random((2000, 60)), rng.integers(0, 2, 2000)
    choose("rule-sieve", X, y, WIDE, k=20, delta="1e-6", **options)
    tiny, spent = Fraction(1, 10**6), sum(epsilon for _, epsilon, _ in seen)

    assert tiny == sum(delta for _, _, delta in seen)
    assert seen[-1][2] == tiny
    assert spent == (1 if "class_prior" in options else Fraction(9, 10))


@pytest.mark.parametrize(("delta", "match"), [
    ("0.0002", "5000 units"), ("-1", "delta is"), ("1", "delta is"), ("much", "delta is"),
])
def test_a_delta_that_promises_nothing_is_refused(delta, match):
    """A delta of 1/n or more, or that is none, is refused before the charge."""
    with pytest.raises(ParameterError, match=match):
        plan("rule-sieve", WIDE, k=20, epsilon=1, rows=5000, delta=delta)


@pytest.mark.parametrize(("method", "options"), [
    ("block-fwell", {}), ("noisy-top-k", {}), ("rule-sieve", {"numeric": "ranks"}),
    ("rule-sieve", {"numeric": "median-cut"})])
def test_the_delta_of_every_method_is_spent_once(method, options, monkeypatch):
    """What the plan charges is what its races are given, in epsilon and in delta together."""
    from privsieve.noise import race

    seen, top_k = [], race.top_k

    def spied(scores, wanted_race, noise):
        seen.append((wanted_race.epsilon, wanted_race.delta))
        return top_k(scores, wanted_race, noise)

    monkeypatch.setattr(race, "top_k", spied)
    rng = np.random.default_rng(3)
    X, y = rng.random((2000, 60)), rng.integers(0, 2, 2000)
    domain = ps.Domain.box(0, 1, columns=60, target=(0, 1)) if options else WIDE
    planned = plan(method, domain, rows=2000, k=20, epsilon=1, delta="1e-6", **options)
    fit(planned, open_source(X, y), noise=replay(5))
    counted = Fraction(1, 20) if method == "noisy-top-k" else 0

    assert ("approximate", Fraction(1, 10**6)) == (planned.cost.account, planned.cost.delta)
    assert planned.cost.delta == sum(delta for _, delta in seen)
    assert planned.cost.epsilon == sum(epsilon for epsilon, _ in seen) + counted


@pytest.mark.parametrize(("method", "options", "pure"), [
    ("rule-sieve", {"class_prior": None, "joint": "none"}, []),
    ("rule-sieve", {"class_prior": "auto", "joint": "none"}, [Fraction(1, 10)]),
    ("noisy-top-k", {}, [Fraction(1, 20)]),
    ("block-fwell", {}, []),
])
def test_a_plan_says_what_it_spends_under_zcdp(method, options, pure):
    """Rho is that of the race, and half the square of what is pure before it; unknown if pure."""
    planned = plan(method, WIDE, rows=100_000, k=20, epsilon=1, delta="1e-6", **options)
    race = Race(len(WIDE.columns), 20, 1, 1 - sum(pure), delta=Fraction(1, 10**6))

    assert planned.cost.rho == race.rho + sum(share**2 / 2 for share in pure)
    assert planned.cost.delta == Fraction(1, 10**6)
    assert plan(method, WIDE, rows=100_000, k=20, epsilon=1, **options).cost.rho is None


def test_the_first_pair_is_pure():
    """With joint="pair" the race for it is added as a pure one, at two of k shares."""
    planned = plan("rule-sieve", WIDE, rows=100_000, k=20, epsilon=1, delta="1e-6", joint="pair",
                   class_prior=None)
    rest = Race(len(WIDE.columns) - 2, 18, 1, Fraction(18, 20), delta=Fraction(1, 10**6))

    assert planned.cost.rho == rest.rho + Fraction(1, 10)**2 / 2


def test_the_median_is_pure():
    """With a cut at a noisy median a tenth of epsilon is added as pure."""
    domain = ps.Domain.box(0, 1, columns=100, target=(0, 500))
    planned = plan("rule-sieve", domain, rows=100_000, k=20, epsilon=1, delta="1e-6",
                   numeric="median-cut", joint="none")
    rest = Race(100, 20, 1, Fraction(9, 10), delta=Fraction(1, 10**6))

    assert planned.cost.rho == rest.rho + Fraction(1, 200)


def test_sums_that_do_not_fit_are_refused_before_rows():
    """The plan refuses numbers of rows and persons with which scores pass 63 bits."""
    def options(rows_per_person):
        domain = ps.Domain([ps.Number("a", 0, 1), ps.Number("b", 0, 1)],
                           target=ps.Label("y", [0, 1]), person="id", persons=2**20,
                           rows_per_person=rows_per_person)
        return plan("rule-sieve", domain, k=1, epsilon=1)

    with pytest.raises(DomainError, match="rows_per_person is 1099511627776"):
        options(2**40)
    assert options(4096).settings["k"] == 1
