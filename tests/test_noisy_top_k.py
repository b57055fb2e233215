"""NoisyTopK: plan, choice, exact probabilities, attack.  Its scores have laws of their own."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import privsieve as ps
import tables
from attacks import RUNS, near, refuted, stands
from exact import exponential_order, set_law
from privsieve.errors import DomainError, ParameterError
from privsieve.fit import fit
from privsieve.methods import plan
from privsieve.methods.labels import equal
from privsieve.methods.worst import sides
from privsieve.noise.streams import replay, system
from privsieve.rows import open_source
from privsieve.rows.batch import batches
from privsieve.summaries.scores import SCORES, Public, score_of
from test_scores import CLASSED, values, with_number

BOX = ps.Domain.box(0, 1, columns=12)
NUMBER = ps.Domain(BOX.columns, target=ps.Number("y", 0, 1))


def domain_of(name):
    """Twelve numbers, with classes or with a number to go with."""
    return NUMBER if name == "correlation" else BOX


def strong(n=3000, positives=0.5):
    """Three columns of twelve that show the class."""
    rng = np.random.default_rng(2)
    y = (rng.random(n) < positives).astype(int)
    X = rng.random((n, 12))
    for j in (2, 5, 9):
        X[:, j] = np.clip(0.4 * y + 0.6 * X[:, j], 0, 1)
    return X, y


def choose(X, y, domain=BOX, *, seed=5, **options):
    """The names that one selection with a repeatable noise gives."""
    made = plan("noisy-top-k", domain, rows=len(X), **options)
    return fit(made, open_source(X, y), noise=replay(seed)).selected


@pytest.mark.parametrize("name", SCORES)
def test_each_score_finds_strong_columns(name):
    """Three strong columns of twelve are found, whatever the score."""
    X, y = strong()

    assert {"x2", "x5", "x9"} == set(choose(X, y, domain_of(name), k=3, epsilon=4, score=name))


@pytest.mark.parametrize("share", ["noisy", 0.1, "0.1", [0.9, 0.1]])
@pytest.mark.parametrize("name", ["mean-difference", "class-counts"])
def test_a_rare_class_is_weighed(name, share):
    """With one positive in ten, columns are found by shares, declared or noisy."""
    X, y = rare()

    assert {"x2", "x5", "x9"} == set(choose(X, y, k=3, epsilon=4, score=name, class_prior=share))


def test_a_rare_class_misleads_a_mean_that_is_not_weighed():
    """Where all rows count alike, a mean far from the middle looks like a difference."""
    X, y = rare()

    assert {"x2", "x5", "x9"} != set(choose(X, y, k=3, epsilon=4, class_prior=None))


def rare():
    """One positive in ten, and columns whose means lie far from the middle."""
    X, y = strong(6000, 0.1)
    return np.clip(X * np.linspace(0.1, 1, 12), 0, 1), y


@pytest.mark.parametrize("name", CLASSED)
def test_more_than_two_classes(name):
    """Columns that tell five classes apart are found."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 5, 6000)
    X = rng.random((6000, 12))
    X[:, 4], X[:, 7] = (y + X[:, 4]) / 5, (4 - y + X[:, 7]) / 5
    domain = ps.Domain.box(0, 1, columns=12, classes=range(5))

    assert ("x4", "x7") == choose(X, y, domain, k=2, epsilon=4, score=name)


def test_scores_see_different_things():
    """A middle that tells has no mean: counts find it, the others do not."""
    rng = np.random.default_rng(4)
    X = rng.random((4000, 12))
    y = (np.abs(X[:, 6] - 0.5) < 0.25).astype(int)

    found = {name: choose(X, y, k=1, epsilon=4, score=name) == ("x6",) for name in CLASSED}

    assert {"class-counts": True, "mean-difference": False} == found


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize(("neighbours", "public"), [
    ("replace-one", {"persons": 700}), ("add-remove", {"persons": 500})])
def test_persons_end_to_end(name, neighbours, public):
    """Rows of one person count together, in both relations; ids and labels may be texts."""
    X, y = strong()
    names = [f"x{j}" for j in range(12)]
    label = y if name == "correlation" else np.where(y, "ill", "well")
    frame = pd.DataFrame(X, columns=names).assign(
        who=[f"p{i % 700}" for i in range(len(X))], y=label)
    target = NUMBER.target if name == "correlation" else ps.Label("y", ["well", "ill"])
    domain = ps.Domain(BOX.columns, target=target, person="who", rows_per_person=3,
                       neighbours=neighbours, **public)

    assert {"x2", "x5", "x9"} == set(choose(frame, None, domain, k=3, epsilon=8, score=name))


def test_add_remove_needs_no_number_of_rows():
    """Under add-remove the declared figure shapes the method; the true one is never used."""
    X, y = strong()
    domain = ps.Domain(BOX.columns, target=BOX.target, neighbours="add-remove", rows=1000)

    assert {"x2", "x5", "x9"} == set(choose(X, y, domain, k=3, epsilon=2))


def test_an_ordered_choice_begins_with_the_strongest():
    """ordered=True gives a list, not a set."""
    X, y = strong()
    X[:, 9] = np.clip(0.8 * y + 0.2 * X[:, 9], 0, 1)

    assert "x9" == choose(X, y, k=3, epsilon=8, ordered=True)[0]


def test_more_than_half_of_the_columns():
    """K above d/2 leaves out the weakest, by a race among fewer."""
    X, y = strong()

    assert ("x0", "x1", "x2") == choose(X[:, [2, 5, 9, 0]], y, ps.Domain.box(0, 1, columns=4),
                                        k=3, epsilon=1)


def test_all_columns_are_free():
    """K = d is no choice: it costs nothing."""
    made = plan("noisy-top-k", BOX, k=12, epsilon=1, rows=9)

    assert ("0", None) == (made.cost.text, made.warning)


@pytest.mark.parametrize(("options", "word"), [
    ({"score": "chi-square"}, 'write "mean-difference"'), ({"score": 3}, 'write "mean'),
    ({"mechanism": "laplace"}, "Laplace noise of a choice is gone"),
    ({"score": "disagreement"}, "are gone: write score"),
    ({"score": "mutual-information"}, "are gone: write score"),
    ({"class_prior": 0}, "class_prior"), ({"class_prior": 1}, "class_prior"),
    ({"class_prior": "even"}, "class_prior"), ({"class_prior": [0.2, 0.2]}, "add up"),
    ({"class_prior": [1, 2, 3]}, "class_prior"),
    ({"rows": 1}, "at least 2"), ({"k": 13}, "13 columns"), ({"epsilon": 0}, "epsilon"),
], ids=str)
def test_public_mistakes_are_refused(options, word):
    """Each names the option and the way out."""
    with pytest.raises(ParameterError, match=word):
        plan("noisy-top-k", BOX, **{"k": 3, "epsilon": 1, "rows": 100, **options})


@pytest.mark.parametrize(("domain", "options"), [
    (ps.Domain.box(0, 1), {}), (NUMBER, {}), (ps.Domain(BOX.columns), {}),
    (BOX, {"score": "correlation"}),
    (ps.Domain(BOX.columns, target=BOX.target, person="who"), {}),
])
def test_a_domain_that_does_not_fit_is_refused(domain, options):
    """No width, no classes, no number to go with, no public number of units."""
    with pytest.raises(DomainError, match=r"columns=30|classes|persons|class-counts"):
        plan("noisy-top-k", domain, k=1, epsilon=1, rows=100, **options)


def test_settings_say_what_happens():
    """The release names score, race and shares; a score that weighs no classes has none."""
    made = plan("noisy-top-k", BOX, k=3, epsilon=1, rows=100, class_prior="0.25")
    other = plan("noisy-top-k", NUMBER, k=3, epsilon=1, rows=100, score="correlation")

    assert {"k": 3, "score": "mean-difference", "ordered": False,
            "class_share": ["3/4", "1/4"]} == made.settings
    assert other.settings["class_share"] is None


def test_a_correlation_is_another_mechanism_than_it_was():
    """What was centred on the table was version 1; the other scores are what they were."""
    assert ["noisy-top-k/1", "noisy-top-k/2"] == [
        plan("noisy-top-k", domain_of(name), k=3, epsilon=1, rows=100, score=name).method
        for name in ("class-counts", "correlation")]


def test_a_correlation_is_the_same_wherever_values_lie():
    """Columns and target off their middles: the three that go with it are found all the same."""
    rng = np.random.default_rng(4)
    X = 0.5 + 0.5 * rng.random((2000, 12))
    y = np.clip(0.6 + 0.3 * (X[:, [2, 5, 9]] @ [1, -1, 1] - 0.75) + 0.1 * rng.random(2000), 0, 1)

    assert {"x2", "x5", "x9"} == set(choose(X, y, NUMBER, k=3, epsilon=8, score="correlation"))


def test_the_forecast_has_the_shape_of_all_forecasts():
    """The same keys as RuleSieve's; a count costs a twentieth, add-remove doubles the strength."""
    ours = plan("noisy-top-k", BOX, k=3, epsilon=1, rows=300)
    other = plan("rule-sieve", BOX, k=3, epsilon=1, rows=300, class_prior=None)
    whole = plan("noisy-top-k", BOX, k=3, epsilon=1, rows=300, class_prior=None)
    removal = plan("noisy-top-k", ps.Domain(BOX.columns, target=BOX.target, rows=300,
                                            neighbours="add-remove"), k=3, epsilon=1,
                   class_prior=None)

    assert other.forecast.keys() == ours.forecast.keys()
    assert {**other.forecast, "after_coding": None} == {**whole.forecast, "after_coding": None}
    assert (Fraction(6), Fraction(6) / Fraction(19, 20)) == (whole.noise.amount, ours.noise.amount)
    assert Fraction(3) == removal.noise.amount


# exact probabilities


def of_integers(found, noise):
    """P(first) for each column: noise on integers, ties to the lower place."""
    values = np.arange(min(found) + noise.ppf(1e-12), max(found) + noise.ppf(1 - 1e-12) + 1)
    return [float((noise.pmf(values - s) * np.prod([
        noise.cdf(values - t - (i < j)) for i, t in enumerate(found) if i != j], axis=0)).sum())
        for j, s in enumerate(found)]


def of_reals(found, noise):
    """P(first) for each column: real noise, by the share of it that each stands above."""
    shares = (np.arange(200_000) + 0.5) / 200_000
    return [float(np.prod([noise.cdf(noise.ppf(shares) + s - t)
                           for i, t in enumerate(found) if i != j], axis=0).mean())
            for j, s in enumerate(found)]


def exponential_law(found, mean):
    """Geometric noise: summed where it is small, as good as exponential where it is not."""
    if mean < 1000:
        return of_integers(found, stats.geom(-math.expm1(-1 / mean), loc=-1))
    return of_reals(found, stats.expon(scale=mean))


def small(name):
    """A score of three columns for three rows, and its plan at epsilon 1."""
    columns = tables.domain("ffc" if name != "correlation" else "ffn").columns
    domain = ps.Domain(columns, target=ps.Label("y", [0, 1]))
    domain = with_number(domain) if name == "correlation" else domain
    made = plan("noisy-top-k", domain, k=1, epsilon=1, rows=3, score=name, class_prior=None)
    return score_of(name, Public(domain, 3)), made


@pytest.mark.parametrize("name", SCORES)
def test_a_choice_has_its_exact_probabilities(name):
    """2,000 choices follow the law of the race on the score's integers."""
    score, made = small(name)
    label = [0, 65535, 65535] if name == "correlation" else [0, 1, 1]
    rows = tables.batch([[0, 0, 0], [1, 1, 1], [1, 0, 3]], label)
    found = values(score, [rows], equal(2, 3))
    expected = exponential_law(found, 2 * bound_of(score))
    noise = replay(11)

    summary = made.summarise([rows], 1)
    picked = [made.mechanism(summary, noise) for _ in range(2000)]
    counts = [picked.count((j,)) for j in range(3)]

    assert stats.chisquare(counts, 2000 * np.array(expected)).pvalue > 1e-6


def bound_of(score):
    """How far one unit may move a value, all rows counting alike."""
    return score.sensitivity(equal(2, 3) if score.weighed else None)


@pytest.mark.parametrize("name", SCORES)
def test_every_small_table_keeps_the_claim(name):
    """All tables of three rows and two flags, all neighbours: no answer is e times likelier."""
    domain = tables.domain("ff")
    domain = with_number(domain) if name == "correlation" else domain
    score = score_of(name, Public(domain, 3))
    labels = (0, 65535) if name == "correlation" else (0, 1)
    records = list(product((0, 1), (0, 1), labels))
    law = {}
    for table in product(range(len(records)), repeat=3):
        batch = tables.batch([records[r][:2] for r in table], [records[r][2] for r in table])
        found = values(score, [batch], equal(2, 3))
        law[table] = set_law(found, 1, 2 * bound_of(score), exponential_order)

    worst = max(abs(math.log(law[t][s] / law[(*t[:i], r, *t[i + 1:])][s]))
                for t in law for i in range(3) for r in range(t[i]) for s in ((0,), (1,)))

    # Three rows that a centre has to fit move a correlation less than many would.
    assert (0.4 if name == "correlation" else 0.5) < worst <= 1 + 1e-9


@pytest.mark.parametrize(("classes", "relation", "moves"), [
    (2, {}, 1), (3, {}, 2), (2, {"neighbours": "add-remove", "rows": 9}, 1),
    (3, {"neighbours": "add-remove", "rows": 9}, 1),
    (2, {"person": "p", "persons": 9, "rows_per_person": 3}, 6),
    (3, {"person": "p", "persons": 9, "rows_per_person": 3}, 12),
])
def test_counts_and_race_spend_epsilon_together(monkeypatch, classes, relation, moves):
    """A twentieth goes to the counts, for as far as a unit moves them; the rest to the race."""
    spent = []
    monkeypatch.setattr("privsieve.noise.streams.discrete_laplace",
                        lambda mean, _noise: spent.append(moves / mean) or 0)
    monkeypatch.setattr("privsieve.noise.race.top_k",
                        lambda *given: spent.append(given[1].epsilon) or (0,))
    domain = tables.domain("nnn", classes, **relation)
    made = plan("noisy-top-k", domain, k=1, epsilon=2, rows=9)

    made.mechanism(made.summarise([tables.batch([[0, 1, 2]] * 9, [0, 1, 1] * 3)], 1), None)

    counts = classes if classes > 2 or domain.neighbours == "add-remove" else 1
    assert [Fraction(1, 10)] * counts + [Fraction(19, 10)] == spent


# attack

FIRST, SECOND, y = sides()


def chooser(epsilon, **options):
    """The mechanism as it is shipped, at this epsilon, on summaries of the two tables."""
    made = plan("noisy-top-k", ps.Domain.box(0, 1, columns=2), k=1, epsilon=epsilon, rows=12,
                **options)
    summary = {id(X): made.summarise(batches(open_source(X / 65535, y), made.domain, rows=12,
                                             entropy=system().bytes), 1)
               for X in (FIRST, SECOND)}
    return lambda table: made.mechanism(summary[id(table)], system())


@pytest.mark.slow
@pytest.mark.parametrize("share", [None, "noisy"])
def test_the_worst_pair_keeps_the_claim(share):
    """The 99 % bound stays under epsilon = 1; the race without a count comes near."""
    mine = chooser(1, class_prior=share)
    least = near(0.85) if share is None else -1

    assert stands(mine, FIRST, SECOND, epsilon=1, profile=RUNS, least=least)


@pytest.mark.slow
def test_half_the_noise_is_caught():
    """A twin that adds half of the noise (it runs at epsilon 2) is found out."""
    mine = chooser(2, class_prior=None)

    assert refuted(mine, FIRST, SECOND, epsilon=1, profile=RUNS)


#: Eleven rows of two numbers and a target, and a row that makes the first go with it, or neither.
ELEVEN = ["010", "010", "100", "100", "100", "110", "010", "101", "101", "111", "000"]
LAST = {"first": "111", "neither": "001"}


def correlated(epsilon):
    """The race for one of two numbers at this epsilon, by the name of the last row."""
    made = plan("noisy-top-k", with_number(tables.domain("nn")), k=1, epsilon=epsilon, rows=12,
                score="correlation")
    rows = {name: 65535 * np.array([[int(cell) for cell in row] for row in (*ELEVEN, last)])
            for name, last in LAST.items()}
    summary = {name: made.summarise([tables.batch(some[:, :2], some[:, 2])], 1)
               for name, some in rows.items()}
    return lambda name: made.mechanism(summary[name], system())


@pytest.mark.slow
def test_a_centre_that_is_chosen_keeps_the_claim():
    """Two tables that are told apart by .976 of epsilon = 1; half the noise is caught."""
    assert stands(correlated(1), *LAST, epsilon=1, profile=RUNS, least=near(0.8))
    assert refuted(correlated(2), *LAST, epsilon=1, profile=RUNS)


def test_a_delta_is_spent_where_it_helps_and_only_there():
    """Many columns: less noise for a delta that is charged; few columns: no delta is charged."""
    wide = ps.Domain.box(0, 1, columns=100)
    many, plain = (plan("noisy-top-k", wide, k=30, epsilon=1, rows=5000, delta=delta)
                   for delta in ("1e-6", 0))
    few = plan("noisy-top-k", wide, k=2, epsilon=1, rows=5000, delta="1e-6")

    assert ("approximate", "pure", "pure") == tuple(
        made.cost.account for made in (many, plain, few))
    assert many.noise < plain.noise
    with pytest.raises(ParameterError, match="delta"):
        plan("noisy-top-k", wide, k=30, epsilon=1, rows=5000, delta="0.001")


@pytest.mark.parametrize("name", CLASSED)
def test_a_smoke_audit_finds_nothing(name):
    """Two hundred runs on each of two neighbours refute no score."""
    assert stands(chooser(1, score=name), FIRST, SECOND, epsilon=1)


# names and repeats


@pytest.mark.parametrize("name", SCORES)
def test_the_estimator_plans_as_the_method_does(name):
    """NoisyTopK and `plan` say the same of the same."""
    domain = domain_of(name)
    made = ps.NoisyTopK(3, score=name, epsilon=1, domain=domain)

    assert made.plan(rows=50).json() == plan("noisy-top-k", domain, k=3, epsilon=1, rows=50,
                                             score=name).json()


def test_a_numeric_target_is_fitted_from_arrays():
    """X and y as arrays, y a number: the column that goes with it is found."""
    rng = np.random.default_rng(5)
    X = rng.random((2000, 12))
    target = np.clip(0.5 * X[:, 3] + 0.5 * rng.random(2000), 0, 1)

    made = ps.NoisyTopK(1, score="correlation", epsilon=4, domain=NUMBER).fit(X, target)

    assert [3] == np.flatnonzero(made.get_support()).tolist()
