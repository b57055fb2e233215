"""Law: what a forecast says of fewer names is exact, and how many are named is a public number."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import privsieve as ps
from privsieve.check.verify import verify
from privsieve.errors import ParameterError
from privsieve.methods.choosing import Forecast
from privsieve.noise.race import Race, _first_order, _mean_inverse, recall, top_k
from privsieve.noise.streams import replay
from privsieve.public.canonical import canonical, digest
from privsieve.report import html


def by_sum(d, leaders, m, p):
    """The share of the leaders that is found, as a rational number, by the sum over all A."""
    n = d - leaders
    return m * sum(Fraction(math.comb(n, a), a + leaders) * p**a * (1 - p) ** (n - a)
                   for a in range(n + 1))


@pytest.mark.parametrize(("m", "p", "expected"), [
    (2, Fraction(1, 2), Fraction(43, 80)), (1, Fraction(1, 4), Fraction(2777, 7680))])
def test_the_page_of_the_referee(m, p, expected):
    """Two of six lead: the shares of the page, as rational numbers and as the forecast has them."""
    gap = -math.log(p)

    assert expected == by_sum(6, 2, m, p)
    assert abs(recall("exponential", 6, m, gap, leaders=2) - expected) < 1e-14


@pytest.mark.parametrize("d", [2, 3, 7, 40, 300])
def test_the_forecast_is_the_exact_sum(d):
    """Over sizes and gaps the float is the rational number, to ten places."""
    for leaders in sorted({1, 2, max(1, d // 7), d // 2}):
        for p in (Fraction(1, 10**6), Fraction(1, 300), Fraction(1, 9), Fraction(1, 2),
                  Fraction(99, 100)):
            exact = by_sum(d, leaders, 1, p)

            assert abs(_mean_inverse(d - leaders, float(p), leaders) / exact - 1) < 1e-10


def integral(n, p, k):
    """E[1 / (A + k)] as the integral of t^(k-1) (1 - p + p t)^n, by Gauss and Legendre."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    width = min(1.0, 80 / (k + n * p)) if n * p > 80 else 1.0
    s = (nodes + 1) / 2 * width  # t = 1 - s; what is left out is below exp(-80)
    with np.errstate(divide="ignore"):
        logs = (k - 1) * np.log1p(-s) + n * np.log1p(-p * s)
    return float((weights / 2 * width * np.exp(logs)).sum())


@pytest.mark.parametrize("k", [1, 5, 400])
def test_large_sums_are_the_integral(k):
    """Where every few values are summed, the sum is the integral of the generating function."""
    for n in (900, 20_000, 100_000):
        for p in (1e-7, 1e-3, 0.01, 0.2, 0.9):
            assert abs(_mean_inverse(n, p, k) / integral(n, p, k) - 1) < 1e-9


@pytest.mark.parametrize(("d", "k", "m", "units", "gap", "exact"), [
    (50, 5, 2, 100, .1, 1.2034), (50, 5, 5, 100, .1, 1.1875), (500, 20, 7, 400, .1, 2.9775),
    (30, 10, 4, 60, .2, 2.8120)])
def test_what_is_drawn_is_what_is_forecast(d, k, m, units, gap, exact):
    """20,000 races find as many of k leaders as the page of the referee says, to five errors."""
    rng = np.random.default_rng(11)
    race = Race(d, m, 1, Fraction(1))
    scores = rng.exponential(float(race.scale), (20_000, d))
    scores[:, :k] += gap * units
    hits = (np.argpartition(-scores, m - 1, axis=1)[:, :m] < k).sum(axis=1)

    assert abs(k * race.share(d, m, gap * units, leaders=k) - exact) < 5e-5
    assert abs(hits.mean() - exact) < 5 * hits.std() / math.sqrt(20_000)


def test_races_of_integers_find_what_is_forecast():
    """`top_k` itself, 1,500 times: the names that are right are those of the forecast."""
    race, lead = Race(40, 2, 24, Fraction(1)), 12
    scores = [24 * lead] * 6 + [0] * 34
    hits = [sum(j < 6 for j in top_k(scores, race, replay(seed))) for seed in range(1500)]
    share = Race(40, 2, 1, Fraction(1)).share(40, 2, lead, leaders=6) * 6

    assert abs(np.mean(hits) - share) < 5 * np.std(hits) / math.sqrt(1500)


@pytest.mark.parametrize(("d", "k", "leaders", "gap"), [
    (30, 3, 3, 2.0), (30, 8, 8, 4.0), (100, 4, 20, 3.0), (12, 9, 9, 1.0)])
def test_gumbel_names_are_followed(d, k, leaders, gap):
    """The chain of names finds what 60,000 drawn races find; for three names first order misses."""
    noisy = np.random.default_rng(3).gumbel(size=(60_000, d))
    noisy[:, :leaders] += gap
    hits = (np.argpartition(-noisy, k - 1, axis=1)[:, :k] < leaders).sum(axis=1) / leaders
    error = hits.std() / math.sqrt(60_000)

    assert abs(recall("gumbel", d, k, gap, leaders=leaders) - hits.mean()) < 5 * error
    assert k > 3 or abs(_first_order(d, k, gap, leaders) - hits.mean()) > 5 * error


#: For d, k and units times epsilon: what is named for the largest recall, and for F1.
TABLE = {
    (30, 5): {30: (5, 5), 100: (5, 5), 300: (5, 5), 1000: (5, 5)},
    (100, 5): {30: (5, 1), 100: (4, 2), 300: (5, 5), 1000: (5, 5)},
    (100, 20): {30: (20, 20), 100: (20, 20), 300: (20, 20), 1000: (20, 20)},
    (500, 5): {30: (1, 1), 100: (2, 2), 300: (5, 3), 1000: (5, 5)},
    (500, 20): {30: (20, 20), 100: (20, 3), 300: (11, 7), 1000: (20, 16)},
    (2000, 20): {30: (20, 1), 100: (2, 2), 300: (6, 5), 1000: (20, 12)},
}
#: The mean share of the names that are right, of k and of as many as are named.
RIGHT = {(100, 5, 30): (.08, .33), (100, 5, 100): (.22, .48), (500, 5, 30): (.02, .16),
         (500, 5, 100): (.07, .31), (500, 5, 300): (.37, .52), (500, 20, 100): (.06, .33),
         (500, 20, 300): (.13, .40), (500, 20, 1000): (.44, .51), (2000, 20, 30): (.01, .16),
         (2000, 20, 100): (.01, .31), (2000, 20, 300): (.04, .36), (2000, 20, 1000): (.31, .46)}


@pytest.mark.parametrize(("d", "k"), TABLE)
def test_the_table_of_the_referee(d, k):
    """How many names find most, and are worth most, and how many of them are right."""
    for units, (forecast_hits, forecast_score) in {**TABLE[d, k], 3000: (k, k)}.items():
        forecasts = [Forecast(Race(d, m, 1, Fraction(1)), d, m, Fraction(units), k)
                     for m in range(1, k + 1)]

        assert forecast_hits == max(forecasts, key=lambda count: count.mean * count.k).k
        assert forecast_score == max(forecasts, key=lambda count: count.f1).k
        if forecast_score < k:
            right = forecasts[k - 1].mean, forecasts[forecast_score - 1].mean
            assert RIGHT[d, k, units] == tuple(round(share, 2) for share in right)




WIDE = ps.Domain.box(0, 1, classes=(0, 1), columns=200)
NUMBERS = ps.Domain.box(0, 1, target=(0, 9), columns=200)
FLAGS = ps.Domain([ps.Flag(f"x{j}") for j in range(200)], target=ps.Label("y", [0, 1]))
METHODS = [("rule-sieve", {}), ("rule-sieve", {"class_prior": None, "ordered": True}),
           ("rule-sieve", {"numeric": "ranks"}),
           ("rule-sieve", {"numeric": "median-cut"}), ("block-fwell", {}),
           ("noisy-top-k", {"score": "mean-difference"})]


def planned(method, options, k, **extra_options):
    """A plan for the wide table, whose target is a number where the options name one."""
    domain = extra_options.pop("domain", NUMBERS if "numeric" in options else WIDE)
    return ps.plan(method, domain, k=k,
                   **{"epsilon": "0.5", "rows": 600, **options, **extra_options})


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_as_many_are_named_as_are_worth_most(method, options):
    """Of all numbers up to k the one of the largest expected F1 is named; no other is forecast."""
    plan = planned(method, options, 12, fewer="auto")
    m = plan.settings["k"]

    assert 1 <= m <= plan.settings["at_most"] == 12
    assert m == plan.forecast["names"] < 12
    assert "advice" not in plan.forecast
    assert plan.cost.epsilon == planned(method, options, 12).cost.epsilon
    # by hand, at the gap of the mixture that decides most: more names find more, and are worth less
    if method == "noisy-top-k":
        scores = {count: math.fsum(2 * 12 / (count + 12) * recall(
            "exponential", 200, count, 0.02 * 20 ** (i / 12) * 600 * 0.45 / (2 * count), leaders=12)
            for i in range(13)) for count in range(1, 13)}
        assert max(scores, key=scores.get) == m


@pytest.mark.parametrize("values", [
    {"epsilon": ("0.1", "0.2", "1", "4", "10")}, {"rows": (100, 200, 900, 4000, 90_000)}])
def test_less_is_named_with_less_epsilon(values):
    """How many are named grows with epsilon and with rows, from one or two to all."""
    (name, steps), = values.items()
    named = [planned("rule-sieve", {"depth": 1}, 8, fewer="auto", **{name: step}).settings["k"]
             for step in steps]

    assert named == sorted(named)
    assert named[0] <= 2 < named[-1] == 8


def test_fewer_than_asked_for_are_named_by_one_race():
    """Of fewer names one race is forecast, and it runs; all of them are named as without it."""
    for k, rows in ((12, 600), (4, 600), (4, 90_000), (12, 90_000)):
        few, all_of_them = (planned("rule-sieve", {"class_prior": "centred"}, k, rows=rows,
                                    **options)
                            for options in ({"fewer": "auto"}, {}))
        if few.settings["k"] < k:
            assert few.settings["branches"] == ["one race"]
        else:
            assert few.settings["branches"] == all_of_them.settings["branches"] != ["one race"]
            assert few.noise == all_of_them.noise


def test_where_nothing_can_be_found_the_plan_says_so():
    """Guesses are worth the more the more they are (F1): all are named, and a sentence warns."""
    plan = planned("rule-sieve", {"depth": 1}, 20, fewer="auto", rows=50, epsilon="0.1")

    assert plan.settings["k"] == 20
    assert "close to random" in plan.warning


@pytest.mark.parametrize(("k", "delta"), [(5, "0"), (12, "0.000001")])
def test_a_delta_is_charged_only_where_more_names_are_worth_more_with_it(k, delta):
    """Few names have no use for a delta; where it makes all of them worth most, it is taken."""
    pure, plan = (planned("rule-sieve", {"depth": 1}, k, fewer="auto", delta=some)
                  for some in (0, "1e-6"))

    assert plan.cost.delta_text == delta
    assert plan.settings["k"] == (pure.settings["k"] if delta == "0" else k)
    assert pure.settings["k"] < k


@pytest.mark.parametrize(("k", "options"), [
    (120, {}), (200, {}), (8, {"epsilon": 10, "rows": 90_000})])
def test_where_fewer_buy_nothing_all_are_named(k, options):
    """More than half of the columns, all of them, and what is found in any case stay as many."""
    plan = planned("rule-sieve", {"depth": 1}, k, fewer="auto", **options)

    assert k == plan.settings["k"] == plan.settings["at_most"]


def test_wishes_keep_their_places():
    """What is always in is added to the names that are raced, a group is one, never is out."""
    plan = planned("rule-sieve", {"depth": 1}, 14, fewer="auto", always=["x0", "x1"],
                   never=["x9"], groups={"both": ["x3", "x4"]})
    raced = [Forecast(Race(196, m, 1, Fraction(9, 20)), 196, m, Fraction(600), 12)
             for m in range(1, 13)]

    assert plan.settings["at_most"] == 14
    assert plan.settings["k"] == 2 + max(raced, key=lambda forecast: forecast.f1).k < 14
    assert plan.forecast["found_percent"]["0.1"] == int(100 * raced[plan.settings["k"] - 3].at(0.1))


@pytest.mark.parametrize(("options", "message"), [
    ({"fewer": "yes"}, 'write "auto"'), ({"fewer": True}, 'write "auto"'),
    ({"fewer": 3}, 'write "auto"'), ({"fewer": "auto", "joint": "pair"}, "joint")])
def test_what_cannot_be_had_is_refused_before_a_row(options, message):
    """One sentence, before anything is charged."""
    with pytest.raises(ParameterError, match=message):
        planned("rule-sieve", {"depth": 1}, 12, **options)


def test_the_names_are_as_many_as_planned_and_a_release_says_of_how_many():
    """Nothing is filled up; release, certificate and page agree, and another count is refused."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 600)
    X = np.clip(rng.random((600, 200)) * .7 + .3 * y[:, None] * (np.arange(200) < 12), 0, 1)
    model = ps.RuleSieve(12, fewer="auto", epsilon="0.5", depth=1, domain=WIDE).fit(X, y)
    release, certificate = model.release_.body, model.release_.certificate
    m = release["plan"]["settings"]["k"]

    assert len(release["selected"]) == m < 12
    assert verify(certificate, release).valid
    page = html(release, certificate).decode()
    assert "(at most 12 were requested)" in page
    assert "How many of the names would be right?" in page
    for most in (m - 1, "12", None, 13):
        plan = {**release["plan"], "settings": {**release["plan"]["settings"], "at_most": most}}
        forged = {**release, "plan": plan}
        signed = {**certificate, "plan": plan, "release_sha256": digest(canonical(forged))}
        assert ("plan.settings does not follow from the plan of this release",) == verify(
            signed, forged).reasons


def test_without_it_a_plan_says_what_fewer_names_would_be_worth():
    """The sentence names both numbers, and they are those of the two plans."""
    many, few = (planned("rule-sieve", {"depth": 1}, 12, **options)
                 for options in ({}, {"fewer": "auto"}))
    advice = many.forecast["advice"]
    asked_count, right, m, of_them = re.match(
        r"asked for (\d+): .* about ([\d.]+) of the .* would name (\d+), about ([\d.]+) of",
        advice).groups()
    mean = [Forecast(Race(200, k, 1, Fraction(9, 20)), 200, k, Fraction(600), 12).mean * k
            for k in (12, few.settings["k"])]

    assert ("12", str(few.settings["k"])) == (asked_count, m)
    assert [float(right), float(of_them)] == pytest.approx(mean, abs=0.5)
    assert "advice" not in planned("rule-sieve", {"depth": 1}, 12, epsilon=10, rows=90_000).forecast


def test_the_table_of_the_page_is_that_of_its_experiment(monkeypatch):
    """docs/how-much-epsilon.md has the forecast that the code makes."""
    root = Path(__file__).parents[1]
    monkeypatch.syspath_prepend(root / "experiments")
    from fewer_columns import forecast

    text = (root / "docs" / "how-much-epsilon.md").read_text(encoding="utf-8")
    assert "\n".join(forecast()[2:]) in text
