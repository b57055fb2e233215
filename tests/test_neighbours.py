"""Law: sensitivity, from the table on.  Random plans and neighbours through the public path."""

from __future__ import annotations

import os
import random

import pytest

from neighbours import METHODS, climbed, planned, setting
from privsieve.methods import labels, rule_sieve
from privsieve.methods.rounds import Rounds
from privsieve.rows import batch as reader

#: Plans of a run, by parts that tests can share out; a longer soak sets the variable.
PLANS, PARTS = int(os.environ.get("PRIVSIEVE_PLANS", "200")), 20
RELEASED = "rule-sieve", "auto"


@pytest.mark.parametrize("chunk", range(PARTS))
def test_no_neighbour_moves_beyond_its_plan(chunk, tmp_path):
    """No score moves by more than its race is told, which is the same for both neighbours.

    Nor does a count behind a released one cost more than its share: rows and persons, replaced,
    coming and going, with blank ids and broken lines, through frames, lists and files.
    """
    for number in range(chunk, PLANS, PARTS):
        rng = random.Random(number)
        where = setting(rng, METHODS[number % len(METHODS)])
        worst, _ = climbed(rng, where, tmp_path, starts=4, steps=0 if number % 3 else 12)

        assert max(worst) <= 1 + 1e-9, (number, worst, where.family)


ONE = {"k": 1, "epsilon": 1}
PLAIN = {**ONE, "class_prior": None, "depth": 1}
PERSONS = {"most": 2, "units": 4}
ROUNDS = {"k": 3, "epsilon": 1000, "joint": "rounds"}
ATTAINED = {
    "rules": ("rule-sieve", "nn", 2, PLAIN, {"units": 4}),
    "rules, persons": ("rule-sieve", "nn", 2, PLAIN, PERSONS),
    "rules, a person comes": ("rule-sieve", "nn", 2, PLAIN,
                              {**PERSONS, "neighbours": "add-remove"}),
    "products": ("rule-sieve", "nnn", 2, {**PLAIN, "depth": 3}, {"units": 6}),
    "auto": ("rule-sieve", "nn", 2, {**ONE, "epsilon": 100},
             {"units": 4, "container": "csv", "neighbours": "add-remove"}),
    "pairs of columns": ("rule-sieve", "nnn", 2, {**PLAIN, "k": 2, "joint": "pair"}, {"units": 6}),
    "ranks": ("rule-sieve", "nn", 0, {**ONE, "numeric": "ranks"}, {"most": 2, "units": 300}),
    "median": ("rule-sieve", "nn", 0, {**ONE, "numeric": "median-cut"}, PERSONS),
    "rounds": ("rule-sieve", "nnnn", 0, ROUNDS, {"units": 6}),
    "rounds, a person comes": ("rule-sieve", "nnnn", 0, ROUNDS,
                               {**PERSONS, "neighbours": "add-remove"}),
    "rounds alone": ("rule-sieve", "nnnn", 0, {**ROUNDS, "k": 2, "max_ops": 1000}, {"units": 6}),
    "rounds of labels": ("rule-sieve", "nnfn", 2, ROUNDS, {"units": 6}),
    "rounds of three classes": ("rule-sieve", "nnnn", 3, ROUNDS, {"units": 6}),
    "rounds of three classes, a person comes": ("rule-sieve", "nnnn", 3, ROUNDS,
                                                {**PERSONS, "neighbours": "add-remove"}),
    "counts": ("noisy-top-k", "nn", 2, {**ONE, "score": "class-counts"}, PERSONS),
    "means": ("noisy-top-k", "nn", 2, {**ONE, "score": "mean-difference"}, {"units": 4}),
    "covariance": ("noisy-top-k", "nn", 0, {**ONE, "score": "correlation"},
                   {"units": 4, "neighbours": "add-remove"}),
    "a group": ("noisy-top-k", "nnn", 2, {**ONE, "score": "class-counts",
                                          "groups": {"g": ["x0", "x1"]}}, {"units": 4}),
    "votes": ("block-fwell", "nn", 2, {**ONE, "block": 3, "repeats": 1}, {"units": 6}),
    "votes of persons": ("block-fwell", "nn", 2, {**ONE, "block": 3, "repeats": 1},
                         {"most": 2, "units": 6}),
}


@pytest.mark.parametrize("name", ATTAINED)
def test_the_bound_is_attained(name, tmp_path):
    """A search from random tables reaches a pair that moves a score by all that is claimed."""
    method, kinds, classes, options, public = ATTAINED[name]
    where, rng = planned(method, kinds, classes, options, **public), random.Random(3)
    best = 0.0
    for _ in range(12):
        worst, _ = climbed(rng, where, tmp_path, starts=10, steps=120, enough=1)
        best = max(best, worst.ratio)
        if best >= 1:
            break

    assert 1 == best


def test_labels_of_the_table_come_close(tmp_path):
    """Centred labels move by less than the whole: (n - 1) / n of it, which is found for persons."""
    where = planned("rule-sieve", "nn", 2, {**ONE, "class_prior": "centred"}, **PERSONS)
    worst, _ = climbed(random.Random(5), where, tmp_path, starts=40, steps=300, enough=0.75)

    assert 0.74 < worst.ratio < 1


# the harness itself


def moves_of(where, folder):
    """The worst ratio that a short search finds."""
    return climbed(random.Random(1), where, folder, starts=40, steps=40)[0].ratio


def test_a_sensitivity_that_is_one_part_too_small_is_seen(tmp_path, monkeypatch):
    """23 twenty-fourths in the place of 24 turn the search red."""
    method, kinds, classes, options, public = ATTAINED["rules, persons"]
    where = planned(method, kinds, classes, options, **public)
    known = rule_sieve.Rules.sensitivity

    assert moves_of(where, tmp_path) <= 1
    monkeypatch.setattr(rule_sieve.Rules, "sensitivity",
                        lambda rules, largest: known(rules, largest) - 1)
    assert moves_of(where, tmp_path) > 1


@pytest.mark.parametrize("what", ["sensitivity", "moves"])
@pytest.mark.parametrize("name", [name for name in ATTAINED if name.startswith("rounds")])
def test_rounds_whose_bound_is_one_part_too_small_are_seen(name, what, tmp_path, monkeypatch):
    """The same of what a unit moves in a round: scores, and sums of residuals together."""
    method, kinds, classes, options, public = ATTAINED[name]
    known = getattr(Rounds, what)
    monkeypatch.setattr(Rounds, what, property(lambda rounds: known.fget(rounds) * 23 // 24))
    where = planned(method, kinds, classes, options, **public)
    assert where.plan.settings["branches"] == ["rounds"]
    worst = max(climbed(random.Random(seed), where, tmp_path, starts=10, steps=120,
                        enough=1.01)[0].ratio for seed in range(6))

    assert worst > 1


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_rows_without_an_id_that_are_one_person_are_seen(neighbours, tmp_path, monkeypatch):
    """A reader that takes all rows without an id for those of one person turns the search red."""
    where = planned("rule-sieve", "nn", 2, PLAIN, most=1, units=6, neighbours=neighbours)

    assert moves_of(where, tmp_path) <= 1
    texts = reader.texts
    monkeypatch.setattr(reader, "texts", lambda column: [text or "?" for text in texts(column)])
    object.__setattr__(where, "shared", True)
    assert moves_of(where, tmp_path) > 1


@pytest.mark.parametrize("classes", [2, 3])
def test_a_number_of_persons_from_the_table_is_seen(classes, tmp_path, monkeypatch):
    """If nobody replaces an absent person, the sensitivity is another; that is seen."""
    where = planned("rule-sieve", "nn", classes, {**ONE, "class_prior": "centred"}, **PERSONS)

    assert moves_of(where, tmp_path) <= 1
    for module in (labels, rule_sieve):
        monkeypatch.setattr(module, "settles", lambda *_public: False)
    assert float("inf") == moves_of(where, tmp_path)
