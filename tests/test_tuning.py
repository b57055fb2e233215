"""PrivateTuning: tries cost what the proof says, and the better candidate comes out more often."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import privsieve as ps
import tables
from attacks import RUNS, refuted, stands
from privsieve.errors import DomainError, ParameterError
from privsieve.fit import fit
from privsieve.methods import plan as by_name
from privsieve.methods.tuning import attempt, predictor
from privsieve.noise.streams import replay, system
from privsieve.public.domain import person_weight
from privsieve.rows import open_source
from privsieve.summaries.halves import GRID, WHOLE, halves, vote_tables

CANDIDATES = [{"method": "rule-sieve", "k": k, "depth": 1} for k in (1, 4)]
plan = partial(by_name, "private-tuning")
PAIRS = 800


def naive_right(batch, weights, selected, noisy, bins_of):
    """What rows are worth that are predicted rightly, one row at a time."""
    logs, worth = vote_tables(noisy)
    total = 0
    for row in range(len(batch)):
        votes = [sum(int(logs[i, c, bins_of(batch.codes[row, j])]) for i, j in enumerate(selected))
                 for c in range(len(worth))]
        if votes.index(max(votes)) == batch.label[row]:
            total += int(weights[row]) * int(worth[batch.label[row]])
    return total


def test_the_parts_are_cut_by_place_and_never_by_content():
    """Whatever the rows hold, the same positions learn; exactly the public number of them."""
    rng = np.random.default_rng(1)
    domain = tables.domain("nn")
    cuts = set()
    for _ in range(20):
        whole = tables.batch(rng.integers(0, 65536, (90, 2)), rng.integers(0, 2, 90))
        marked = tables.batch(np.stack([np.arange(90), np.arange(90)], 1), whole.label)

        assert 60 == len(halves([whole], 5, domain=domain, first=60).learning)
        cuts.add(tuple(halves([marked], 5, domain=domain, first=60).learning.codes[:, 0]))
    other = halves([marked], 6, domain=domain, first=60).learning.codes[:, 0]

    assert 1 == len(cuts)
    assert tuple(other) not in cuts


def test_counts_and_worth_are_those_of_loops():
    """The tables count what loops count, and a prediction is judged as loops judge it."""
    rng = np.random.default_rng(2)
    domain = tables.domain("nnn", 3)
    for _ in range(30):
        n = int(rng.integers(1, 60))
        whole = tables.batch(tables.random_codes(rng, "nnn", n), rng.integers(0, 3, n))
        made = halves([whole], 9, domain=domain, first=n // 2)
        counts = np.zeros((3, 3, GRID), int)
        for codes, label in zip(made.learning.codes, made.learning.label, strict=True):
            for j, code in enumerate(codes):
                counts[j, label, code >> 13] += 1
        kept = {tuple(row) for row in zip(made.learning.row, strict=True)}
        noisy = rng.integers(-3, 20, (2, 3, GRID)).tolist()
        rest = list(made.bins.T)

        assert counts.tolist() == made.counts.tolist()
        assert n // 2 == len(kept)
        judged = tables.batch(np.array(rest, np.int64).reshape(-1, 3) << 13, made.label)
        assert naive_right(judged, made.weight, [0, 2], noisy,
                           lambda code: code >> 13) == made.right([0, 2], noisy)


@pytest.mark.parametrize("kind", ["rows", "add-remove", "persons"])
def test_one_unit_moves_one_part_and_by_as_much_as_is_paid_for(kind):
    """800 pairs: counts move by 2 k L in sum and the second part stands, or the other way."""
    rng = np.random.default_rng(3)
    scale = 1
    options = {}
    if kind == "add-remove":
        options = {"neighbours": "add-remove", "rows": 30}
    if kind == "persons":
        options = {"person": "id", "persons": 12, "rows_per_person": 3}
        scale = person_weight(3)
    domain = tables.domain("nf", 2, **options)
    worst = [0, 0]
    for _ in range(PAIRS):
        n = int(rng.integers(2, 30))
        unit = rng.permutation(1000)[:n] if kind != "persons" else rng.integers(0, 8, n)
        codes, label = tables.random_codes(rng, "nf", n), rng.integers(0, 2, n)
        one = int(rng.integers(n))
        if kind == "add-remove":
            kept = np.arange(n) != one
            other = tables.batch(codes[kept], label[kept], unit[kept])
        else:
            changed = unit == unit[one] if kind == "persons" else np.arange(n) == one
            new_codes, new_label = codes.copy(), label.copy()
            new_codes[changed] = tables.random_codes(rng, "nf", int(changed.sum()))
            new_label[changed] = 1 - label[one]
            other = tables.batch(new_codes, new_label, unit if kind == "persons" else None)
        first = tables.batch(codes, label, None if kind == "rows" else unit)
        noisy = rng.integers(-3, 20, (2, 2, GRID)).tolist()
        a, b = (halves([batch], 7, domain=domain, first=min(n, 8)) for batch in (first, other))

        counts = int(np.abs(a.counts - b.counts).sum())
        judged = abs(a.right([0, 1], noisy) - b.right([0, 1], noisy))

        assert counts == 0 or judged == 0
        assert counts <= (1 if kind == "add-remove" else 2) * 2 * scale
        assert judged <= scale * WHOLE
        worst = [max(worst[0], counts), max(worst[1], judged)]
    assert (1 if kind == "add-remove" else 2) * 2 * scale == worst[0]
    assert scale * WHOLE == worst[1]


def test_a_try_is_paid_in_whole_units_of_the_ledger():
    """Candidates get two thirds of 21/40 of epsilon, predictors the rest: no more is spent."""
    made = plan(tables.domain("nnnnn"), candidates=CANDIDATES, epsilon="0.7", rows=900)
    tuning = made.summarise.keywords["tuning"]

    assert Fraction(7, 10) * 21 / 40 == tuning.choosing + tuning.predicting
    assert all(one.cost.epsilon <= tuning.choosing for one in tuning.candidates)
    assert 600 == tuning.learning
    assert {"0.7"} == {made.cost.text}


@pytest.mark.parametrize(("options", "moves", "scale"), [
    ({}, 2, 1), ({"neighbours": "add-remove", "rows": 90}, 1, 1),
    ({"person": "id", "persons": 90, "rows_per_person": 3}, 2, 6)])
def test_the_noise_of_a_try_is_what_the_proof_asks_for(monkeypatch, options, moves, scale):
    """Each cell of a predictor and each score get noise of the mean that their epsilon pays for."""
    from privsieve.noise import streams as source

    cells, scores = [], []
    geometric, laplace = source.geometric, source.discrete_laplace
    monkeypatch.setattr(source, "geometric", lambda mean, count, noise: (
        cells.append((mean, count)), geometric(mean, count, noise))[1])
    made = plan(tables.domain("nnn", **options), candidates=[CANDIDATES[0] | {"k": 2}], epsilon=1,
                rows=90)
    tuning = made.mechanism.keywords["tuning"]
    batch = tables.batch(np.zeros((90, 3)), np.arange(90) % 2, np.arange(90) // 2 * 7919)
    summary = made.summarise([batch], 5)
    cells.clear()
    predictor(summary, (0, 2), replay(1), tuning)

    assert [(Fraction(moves * scale * 2) / tuning.predicting, 2 * 2 * 2 * GRID)] == cells
    monkeypatch.setattr(source, "discrete_laplace", lambda mean, noise: (
        scores.append(mean), laplace(mean, noise))[1])
    attempt(summary, replay(1), tuning)
    assert [Fraction(WHOLE * scale) / tuning.epsilon] == scores


@pytest.mark.slow
@pytest.mark.parametrize(("spent", "caught"), [(1, False), (2, True)])
def test_an_attack_on_the_predictor(spent, caught):
    """One learner that changes class and cells shows no more than is paid; half the noise does."""
    made = plan(tables.domain("f"), candidates=[CANDIDATES[0]], epsilon=6, rows=3)
    tuning = made.mechanism.keywords["tuning"]
    other = replace(tuning, epsilon=spent * tuning.epsilon)
    first, second = (halves([tables.batch([[code]] * 3, [code] * 3)], 7,
                            domain=tuning.domain, first=1) for code in (0, 1))

    def shown(half):
        return np.array(predictor(half, (0,), system(), other)).ravel()[[0, GRID + 1]]

    judged = refuted if caught else stands
    assert judged(shown, first, second, epsilon=float(tuning.predicting), profile=RUNS)


def test_the_forecast_is_that_of_the_weakest_candidate():
    """At every cost and gap the smallest figure of the candidates, each at its share."""
    made = plan(ps.Domain.box(0, 1, columns=12), candidates=CANDIDATES, epsilon="0.5", rows=3000)
    each = [one.forecast for one in made.summarise.keywords["tuning"].candidates]
    again = plan(ps.Domain.box(0, 1, columns=12), candidates=CANDIDATES, epsilon=3, rows=3000)

    assert made.forecast["found_percent"]["0.02"] == min(
        one["found_percent"]["0.02"] for one in each)
    assert ["0.1", "0.3", "0.5", "1", "3"] == list(made.forecast["by_cost"])
    assert made.forecast["by_cost"]["3"] == again.forecast["found_percent"]["0.1"]


def test_the_better_candidate_comes_out_more_often():
    """Four planted columns: a choice of four predicts better than one, and is found to."""
    X, y, planted = tables.gauss(np.random.default_rng(5), n=3000, d=12, planted=4, weakest=.9)
    made = plan(ps.Domain.box(0, 1, columns=12), candidates=CANDIDATES, epsilon=8, rows=3000)
    found = [fit(made, open_source(X, y=y), noise=replay(seed)) for seed in range(50)]

    chosen = [release.body["candidate"] for release in found]

    # A third of the runs have one try only: 38 are expected, and 25 by chance.
    assert sum(chosen) >= 33
    best = [release for release in found if release.body["candidate"] == 1]
    assert np.mean([tables.recall(release.selected, planted) for release in best]) > .9


def test_scores_of_a_candidate_are_computed_once(monkeypatch):
    """However many tries there are, each candidate whose weights are known is scored once."""
    from privsieve import kernels

    calls, plain = [], kernels.interval
    monkeypatch.setattr(kernels, "interval", lambda *given: calls.append(1) or plain(*given))
    rng = np.random.default_rng(5)
    X, y = rng.random((90, 6)), rng.integers(0, 2, 90)
    candidates = [{"method": "rule-sieve", "k": k, "class_prior": None, "joint": "none"}
                  for k in (1, 2, 3)]
    made = plan(ps.Domain.box(0, 1, columns=6), candidates=candidates, epsilon=3, rows=90)
    tries = []
    monkeypatch.setattr("privsieve.methods.tuning.predictor",
                        lambda *given: tries.append(1) or predictor(*given))
    most = 0
    for seed in range(8):
        calls.clear()
        tries.clear()
        fit(made, open_source(X, y=y), noise=replay(seed))
        most = max(most, len(tries))

        assert len(calls) <= 3
    assert most > 10


@pytest.mark.parametrize("options", [
    {"neighbours": "add-remove", "rows": 300}, {"person": "id", "persons": 100}])
def test_other_units_and_odd_tables_give_an_answer(options):
    """Persons, add-remove, one class, no rows: there is always an answer."""
    domain = tables.domain("nnf", 2, **options)
    made = plan(domain, candidates=CANDIDATES[:1], epsilon=1)
    rng = np.random.default_rng(0)
    for n in (0, 1, 300):
        batch = tables.batch(tables.random_codes(rng, "nnf", n), np.zeros(n, int),
                             rng.integers(0, 99, n))
        summary = made.summarise([batch] if n else [], 3)

        tried = made.mechanism(summary, replay(n))

        assert 0 == tried.candidate
        assert 1 == len(tried.selected)


@pytest.mark.parametrize(("candidates", "error", "says"), [
    ([], ParameterError, "0 candidates"),
    ([{"method": "rule-sieve", "k": 1, "epsilon": 1}], ParameterError, "epsilon"),
    ([{"method": "rule-sieve", "k": 1, "delta": "1e-6"}], ParameterError, "delta"),
    ([{"method": "private-tuning", "candidates": []}], ParameterError, "tuning"),
    ([{"method": "rule-sieve", "k": 9}], ParameterError, "9 columns"),
    ([{"k": 1}], ParameterError, "method is"),
])
def test_wrong_candidates_are_refused_before_rows(candidates, error, says):
    """What a candidate may not be is said when planning."""
    with pytest.raises(error, match=says):
        plan(tables.domain("nnn"), candidates=candidates, epsilon=1, rows=100)


def test_a_number_as_target_is_refused():
    """A try predicts classes."""
    domain = ps.Domain([ps.Number("a", 0, 1)], target=ps.Number("y", 0, 1))
    with pytest.raises(DomainError, match="classes"):
        plan(domain, candidates=CANDIDATES, epsilon=1, rows=100)


@pytest.mark.parametrize("given", ["epsilon", "delta", "domain", "ledger"])
def test_a_candidate_decides_nothing_that_tuning_decides(given, tmp_path):
    """Epsilon, domain and ledger of a candidate would be ignored: they are refused."""
    domain = ps.Domain.box(0, 1, columns=3)
    value = {"epsilon": 1, "delta": "1e-6", "domain": domain,
             "ledger": ps.Ledger(str(tmp_path / "l.db"), population="p")}[given]
    tuned = ps.PrivateTuning([ps.RuleSieve(1, **{given: value})], epsilon=1, domain=domain)

    with pytest.raises(ParameterError, match=f"{given} of its own"):
        tuned.plan(rows=100)


def test_a_checker_counts_the_columns_of_the_candidate(tmp_path):
    """`verify` knows how many columns the named candidate was to choose, and no other number."""
    X, y, _planted = tables.gauss(np.random.default_rng(5), n=600, d=6, planted=2)
    ledger = ps.Ledger(str(tmp_path / "budget.db"), population="p")
    ledger.grant(epsilon=2)
    domain = ps.Domain.box(0, 1, columns=6)
    made = plan(domain, candidates=CANDIDATES, epsilon=1, rows=600)
    release = fit(made, open_source(X, y=y), ledger=ledger)
    release.save(tmp_path / "out")

    def verified(**change):
        body = {**release.body, **change}
        return ps.verify(release.certificate, release=body).reasons

    assert ps.verify(tmp_path / "out" / "certificate.json",
                     release=tmp_path / "out" / "release.json").valid
    assert () == verified()
    other = 1 - release.body["candidate"]
    for wrong in (other, 7, -1, None, "0", True):
        assert any("as many columns as planned" in reason for reason in verified(candidate=wrong))
