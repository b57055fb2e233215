"""Law: numeric targets, from table to names: every way works; what makes no sense is refused."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import privsieve as ps
from privsieve.errors import DomainError, ParameterError
from privsieve.methods import plan
from privsieve.noise.streams import replay
from test_methods import choose as choose_by

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))

import rule_sieve_regression as regression

BOX = ps.Domain.box(0, 1, columns=12, target=(-20, 20))
WAYS = ["auto", "ranks", "median-cut"]


def choose(X, y, domain=BOX, **options):
    """The names that one selection with a repeatable noise gives."""
    return choose_by("rule-sieve", X, y, domain, **options).selected


def strong(n=2500):
    """Three columns of twelve that add up to the target."""
    rng = np.random.default_rng(2)
    X = rng.random((n, 12))
    return X, 4 * (X[:, 2] + X[:, 5] - X[:, 9]) + rng.normal(size=n) / 2


@pytest.mark.parametrize("options", [
    {}, *({"numeric": way} for way in WAYS), {"depth": 1}, {"depth": 2}, {"max_ops": 10_000},
    {"numeric": "median-cut", "joint": "pair"}, {"class_prior": None},
    {"numeric": None},
    *({"joint": joint} for joint in ("none", "pair", "rounds")),
], ids=str)
def test_each_way_finds_strong_columns(options):
    """Whatever the options, three strong columns are found at epsilon 2."""
    X, y = strong()

    assert {"x2", "x5", "x9"} == set(choose(X, y, k=3, epsilon=2, **options))


@pytest.mark.parametrize("numeric", [None, "median-cut"])
def test_an_ordered_choice_begins_with_the_strongest(numeric):
    """ordered=True gives a list, not a set."""
    X, y = strong()

    assert "x9" == choose(X, y - 8 * X[:, 9], k=3, epsilon=5, ordered=True, numeric=numeric)[0]


def test_what_only_ranks_see():
    """A product of two columns, and a column that only spreads the target, are found by ranks."""
    rng = np.random.default_rng(3)
    X = rng.random((2000, 12))
    product = (2 * X[:, 1] - 1) * (2 * X[:, 7] - 1) + rng.normal(size=2000) / 10
    spread = np.exp(3 * X[:, 4] - 1.5) * rng.normal(size=2000)

    assert {"x1", "x7"} == set(choose(X, product, k=2, epsilon=1))
    assert {"x4"} == set(choose(X, spread, k=1, epsilon=1))


def test_products_of_three_are_found():
    """Three columns that act only together, on a target of wild noise."""
    rng = np.random.default_rng(6)
    X = rng.random((3000, 12))
    y = np.prod(np.sign(X[:, [0, 5, 8]] - 0.5), axis=1) + rng.standard_cauchy(3000) / 2

    assert {"x0", "x5", "x8"} == set(choose(X, y, k=3, epsilon=1))


def test_bounds_need_not_be_tight():
    """Bounds a hundred times as wide as the values change nothing that can be seen."""
    X, y = strong()
    wide = ps.Domain.box(0, 1, columns=12, target=(-600, 600))

    assert {"x2", "x5", "x9"} == set(choose(X, y, wide, k=3, epsilon=2))


def test_persons_count_once():
    """Rows of one person are one record, in a frame with a person column."""
    X, y = strong()
    names = [f"x{j}" for j in range(12)]
    frame = pd.DataFrame(X, columns=names).assign(who=[f"p{i % 1200}" for i in range(len(X))], y=y)
    for numeric in WAYS:
        domain = ps.Domain(BOX.columns, target=BOX.target, person="who", rows_per_person=3,
                           persons=1000)

        assert {"x2", "x5", "x9"} == set(choose(frame, None, domain, k=3, epsilon=4,
                                                numeric=numeric))


@pytest.mark.parametrize("options", [{"rows": 1000}, {"person": "who", "persons": 1000}])
def test_add_remove_by_a_noisy_median(options):
    """Where units come and go noisy quantiles serve, and ranks are refused."""
    X, y = strong()
    frame = pd.DataFrame(X, columns=BOX.names).assign(y=y)
    if "person" in options:
        frame["who"] = [f"p{i}" for i in range(len(X))]
    domain = ps.Domain(BOX.columns, target=BOX.target, neighbours="add-remove", **options)

    for numeric in ("auto", None, "median-cut"):
        assert {"x2", "x5", "x9"} == set(choose(frame, None, domain, k=3, epsilon=2,
                                                numeric=numeric))
    assert "median-cut" == plan("rule-sieve", domain, k=3, epsilon="0.1").settings["numeric"]
    with pytest.raises(ParameterError, match=r'under add-remove .*"median-cut"'):
        plan("rule-sieve", domain, k=3, epsilon=2, numeric="ranks")


def test_the_estimator_takes_arrays():
    """`RuleSieve` with a box of numbers fits arrays, and says how the target was compared."""
    X, y = strong()
    model = ps.RuleSieve(3, epsilon=3, domain=ps.Domain.box(0, 1, target=(-20, 20)),
                         numeric="median-cut").fit(X, y)

    assert {"x2", "x5", "x9"} == set(model.get_feature_names_out())
    assert "median-cut" == model.release_.body["plan"]["settings"]["numeric"]
    assert "rule-sieve-numeric" == model.release_.certificate["claim"]["theorem"]


def test_categories_are_compared_by_levels():
    """A category that shifts the target is found, though it has no order."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"ward": rng.choice(list("ABC"), 2000), "age": rng.random(2000),
                          "stay": rng.random(2000)})
    frame["cost"] = frame["ward"].map({"A": 0, "B": 9, "C": 1}) + rng.normal(size=2000)
    domain = ps.Domain([ps.Category("ward", ["A", "B"]), ps.Number("age", 0, 1),
                        ps.Number("stay", 0, 1)], target=ps.Number("cost", -50, 50))

    for numeric in WAYS:
        assert ("ward",) == choose(frame, None, domain, k=1, epsilon=1, numeric=numeric)


@pytest.mark.parametrize(("options", "word"), [
    ({"numeric": "tau"}, 'write "auto", "ranks" or "median-cut"'),
    ({"numeric": "median-and-spread"}, 'spread were removed: write numeric="median-cut"'),
    ({"class_prior": 0.5}, "number without classes"),
    ({"numeric": "ranks", "joint": "pair"}, 'write numeric="median-cut", or leave'),
    ({"numeric": "kendall"}, 'write "auto"'), ({"numeric": "all-cuts"}, 'write "auto"'),
    ({"rows": 1}, "needs at least 2"), ({"rows": 2**30}, "allows at most"), ({"depth": 4}, "depth"),
    ({"numeric": "median-cut", "epsilon": "1e-9"}, "larger epsilon"),
], ids=str)
def test_public_mistakes_are_refused(options, word):
    """Each names the option and the way out."""
    with pytest.raises(ParameterError, match=word):
        plan("rule-sieve", BOX, **{"k": 3, "epsilon": 1, "rows": 1000, **options})


def test_numeric_is_for_numbers():
    """With classes the option is refused, and so are bounds that are no pair."""
    with pytest.raises(ParameterError, match="the target is not a number"):
        plan("rule-sieve", ps.Domain.box(0, 1, columns=3), k=1, epsilon=1, rows=9, numeric="ranks")
    for wrong in (9, (1,), (0, 1, 2), "ab"):
        with pytest.raises(DomainError, match=r"two bounds|finite number"):
            ps.Domain.box(0, 1, target=wrong)


def test_all_columns_are_free():
    """K = d is no choice: it costs nothing, whatever the way."""
    for numeric in WAYS:
        assert 0 == plan("rule-sieve", BOX, k=12, epsilon=1, rows=100, numeric=numeric).cost.epsilon


def test_the_cut_and_the_races_share_epsilon():
    """A tenth of epsilon, in whole units of the ledger, goes to the median."""
    for epsilon in ("1", "0.123456789", "3e-9"):
        planned = plan("rule-sieve", BOX, k=3, epsilon=epsilon, rows=100, numeric="median-cut")
        keywords = planned.mechanism.keywords

        assert Fraction(epsilon) == keywords["share"] + keywords["inner"].cost.epsilon
        assert Fraction(epsilon) / 10 <= keywords["share"] < Fraction(epsilon) / 10 + Fraction(
            1, 10**9)
        assert planned.cost.epsilon == Fraction(epsilon)


def test_the_forecast_tells_the_truth():
    """The formula agrees with 400 races on covariances that are half of its gap."""
    from privsieve.noise.race import Race, top_k

    d, k, units = 12, 3, 1000
    planned = plan("rule-sieve", BOX, k=k, epsilon="0.5", rows=units, numeric="ranks")
    scores = [8 * units * (units // 40) * (j < k) for j in range(d)]
    race = Race(d, k, 8 * units, Fraction(1, 2))
    races = [top_k(scores, race, replay(seed)) for seed in range(400)]
    mean = np.mean([sum(j < k for j in race) / k for race in races])

    assert abs(planned.forecast["found_percent"]["0.05"] / 100 - mean) < 0.06


@pytest.mark.parametrize(("table", "strength"), [
    ("prod", 231), ("quad", 330), ("friedman1", 860), ("heavy", 1401), ("hetero", 751)])
def test_quality_on_generated_tables(monkeypatch, table, strength):
    """Products, squares, wild noise and spread need no more rows x epsilon than was recorded."""
    monkeypatch.setattr(regression, "GRID", [strength])
    recalls = [regression.recalls(regression.TABLES[table](np.random.default_rng([seed, 50])),
                                  "ranks", 10, seed) for seed in range(5)]

    assert np.mean(recalls) >= 0.8
