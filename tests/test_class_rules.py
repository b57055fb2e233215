"""Laws of rare and of many classes: centred labels, "auto", the average of two uses."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

import tables
from privsieve import kernels
from privsieve.errors import ParameterError
from privsieve.methods import plan
from privsieve.methods.labels import FINEST, LARGEST_CENTRED, labellings
from privsieve.methods.rule_sieve import summarise, weighed
from privsieve.noise import streams as noises
from privsieve.noise.streams import replay
from privsieve.summaries.layout import Layout
from privsieve.summaries.rules import scores
from test_rules import T1, T2, T4, T5, T6


def rules_of(domain, **options):
    """The public parameters that a plan carries."""
    options = {"k": 1, "epsilon": 1, "rows": 1000, **options}
    # codes are made by hand, in equal steps
    return replace(plan("rule-sieve", domain, **options).mechanism.keywords["rules"], domain=domain)


def scored(batch, rules, key=0):
    """Scores as the mechanism has them, and how far it says that they move."""
    new_scores, layout = summarise([batch], key, rules=rules), Layout.of(rules.domain)
    by, moves, *_ = weighed(new_scores, layout, rules, replay(1))
    return scores(new_scores, layout, by), moves


# exact values

CENTRED = {
    "xor": (T1, 8, [192, 192]), "odd": (T2, 7, [216, 288, 144]), "rare": (T4, 6, [120, 120, 120]),
    "parity": (T5, 8, [96, 96, 96, 288]), "one class": (T6, 3, [0, 0]),
}


@pytest.mark.parametrize("name", CENTRED)
def test_centred_scores_are_the_published_ones(name):
    """U24 of the small tables with centred labels, and the bound 24 n."""
    (codes, label, *_), n, expected = CENTRED[name]
    domain = tables.domain("n" * len(codes[0]))
    rules = replace(rules_of(domain, class_prior="centred"), grid=4, depth=3)

    scores, moves = scored(tables.batch(np.array(codes) * 8192, label), rules)

    assert (expected, 24 * n) == (scores.tolist(), moves)


# sensitivity


def test_centred_scores_of_every_neighbour():
    """All tables of 4 rows and 2 binary columns: 24 (n - 1) is attained, and nothing above."""
    rules = rules_of(tables.domain("nn"), class_prior="centred")
    records = list(product((0, 65535), (0, 65535), (0, 1)))
    worst, moves = worst_of(records, rules)

    assert 72 == worst < moves == 96


def worst_of(records, rules):
    """How far a neighbour of any table of four of these rows moves a score, and what is said."""
    worst = {}
    for table in combinations_with_replacement(range(len(records)), 4):
        rows = [records[r] for r in table]
        worst[table], moves = scored(
            tables.batch([row[:-1] for row in rows], [row[-1] for row in rows]), rules)
    return max(
        np.abs(worst[table] - worst[tuple(sorted((*table[:i], *table[i + 1:], other)))]).max()
        for table in worst for i in range(4) for other in range(len(records))), moves


def test_centred_scores_fit_at_the_limit():
    """2^29 units of weight, half in each class and told apart: 6 n^2, exactly, and sums of four."""
    half = LARGEST_CENTRED // 2
    codes, starts = np.array([[0, 65535]], np.uint16), np.array([0, 1, 2])
    runs = kernels.runs(codes, starts, np.array([half, half]))
    score = 12 * kernels.interval(runs, np.array([[-half, half]]), np.zeros(1, np.uint8))

    assert 6 * LARGEST_CENTRED**2 == int(score[0, 0]) < 2**63 // 4


# auto


def released(monkeypatch, rules, counts, drawn=0):
    """The labellings when the noise on counts is known."""
    monkeypatch.setattr(noises, "discrete_laplace", lambda _mean, _noise: drawn)
    return labellings(counts, counts, rules, None)


@pytest.mark.parametrize(("counts", "drawn", "weights"), [
    # 1,000 rows at epsilon 1: counts get mean 10, and differ if by 40
    ((500, 500), 0, (-4096, 4096)), ((519, 481), 0, (-4096, 4096)), ((520, 480), 0, (-3780, 4096)),
    ((300, 700), 0, (-4096, 1755)), ((850, 150), 0, (-722, 4096)), ((851, 149), 0, (-149, 851)),
    ((850, 150), -1, (-150, 850)), ((5, 995), 0, (-995, 5)), ((990, 10), -30, (-10, 990)),
    ((10, 990), 40, (-990, 10)), ((1000, 0), 0, (0, 1000)), ((900, 100), 400, (-4096, 4096)),
])
def test_auto_weighs_by_what_it_released(monkeypatch, counts, drawn, weights):
    """Near even: alike; below .15: centred; else weights with no clip, from the noisy count."""
    rules = rules_of(tables.domain("nn"))

    labels = released(monkeypatch, rules, counts, drawn)

    assert (weights,) == labels.weights
    assert Fraction(9, 10) == rules.raced
    assert labels.largest == (1000 if sum(map(abs, weights)) == 1000 else FINEST)


def test_offsets_come_from_what_was_released(monkeypatch):
    """Centred labels take n n0 n1 of the noisy counts, clamped inside the table; declared: 0."""
    rules = rules_of(tables.domain("nn"))
    squares = [released(monkeypatch, rules, (950, 50), drawn).squares for drawn in (0, 10, -80)]
    declared = rules_of(tables.domain("nn"), class_prior="centred")

    assert [(1000 * 950 * 50,), (1000 * 940 * 60,), (1000 * 999,)] == squares
    assert (0,) == released(monkeypatch, declared, (950, 50)).squares


# public


@pytest.mark.parametrize(("prior", "rows", "expected"), [
    ("auto", 199, None), ("auto", 200, "auto"), ("unbalanced", 199, "centred"),
    ("unbalanced", 200, "auto"), ("centred", 2, "centred"), (None, 1000, None),
])
def test_what_a_prior_comes_to(prior, rows, expected):
    """Below 200 units times epsilon no count is bought; who knows of a rare class says so."""
    planned = plan("rule-sieve", tables.domain("nnn"), k=1, epsilon=1, rows=rows, class_prior=prior)

    assert expected == planned.settings["class_prior"]
    assert (Fraction(20, 9) if expected == "auto" else 2) == planned.noise.amount


@pytest.mark.parametrize(("options", "expected"), [
    ({}, "centred"), ({"depth": 2}, "centred"), ({"joint": "pair"}, "centred"),
    ({"rows": 5}, "centred"), ({"rows": 2**31}, "auto"), ({"class_prior": "unbalanced"}, "auto"),
])
def test_what_auto_is_with_many_classes(options, expected):
    """Labels are centred, wherever that can be had."""
    request = {"k": 2, "epsilon": 1, "rows": 1000, **options}

    assert expected == plan("rule-sieve", tables.domain("nnn", 3),
                            **request).settings["class_prior"]


ADD_REMOVE = {"neighbours": "add-remove", "rows": 1000}
PERSONS = {"person": "id", "persons": 1000, "rows_per_person": 11}


@pytest.mark.parametrize("public", [ADD_REMOVE, PERSONS], ids=["add-remove", "persons"])
@pytest.mark.parametrize("classes", [2, 3])
def test_where_labels_cannot_be_centred(public, classes):
    """It is refused before the charge, with the way out; "auto" then weighs the classes."""
    domain = tables.domain("nnn", classes, **public)
    counts = [900 * 4096, 100 * 4096, 0][:classes]
    rules = rules_of(domain, rows=None)

    for prior in ("centred", "unbalanced"):
        with pytest.raises(ParameterError, match=r"add-remove|at most 10"):
            rules_of(domain, rows=None, class_prior=prior)
    labels = labellings(counts, counts, rules, replay(1))
    assert ("auto", Fraction(9, 10)) == (rules.class_prior, rules.raced)
    assert labels.largest == FINEST
    assert labels.product_weights is None


@pytest.mark.parametrize(("prior", "classes", "expected"), [
    ("centred", 2, True), ("auto", 2, True), ("centred", 4, True),
    (None, 2, False), ("auto", 3, True), (Fraction(1, 10), 2, False), (Fraction(1, 600), 2, True),
])
def test_persons_are_settled_where_the_proof_counts_them(prior, classes, expected):
    """Whatever may be centred on all persons takes the declared number of them, from both tables.

    That "auto" may find a rare class is known before rows; rows are as many as they are.
    """
    person, row = (rules_of(tables.domain("nn", classes, **public), rows=rows, class_prior=prior)
                   for public, rows in (({"person": "id", "persons": 1000}, None), ({}, 1000)))

    assert (expected, False) == (person.settles, row.settles)


def test_only_a_declared_number_of_persons_is_centred():
    """Fewer persons than declared are filled up with default ones; those beyond it are left out."""
    domain = tables.domain("nn", person="id", persons=5)
    rules = rules_of(domain, rows=None, class_prior="centred")
    for many in (0, 3, 5, 9):
        unit = np.arange(many) + 1
        came = tables.batch(np.full((many, 2), 9), np.ones(many), unit[::-1])
        summary = summarise([came], 7, rules=rules)
        counts = summary.runs.counts.tolist()
        labels = labellings(counts, counts, rules, None)

        assert [5 - min(many, 5), min(many, 5)] == counts
        assert 5 == labels.largest


def test_a_declared_share_too_small_for_weights_is_centred():
    """From a share of 1/512 on weights are fine enough; below, labels are centred."""
    fine, coarse = (rules_of(tables.domain("nn"), class_prior=share)
                    for share in (Fraction(1, 512), Fraction(1, 513)))

    assert FINEST == labellings([995, 5], [995, 5], fine, None).largest
    labels = labellings([995, 5], [995, 5], coarse, None)
    assert ((-5, 995),) == labels.weights
    assert (1000 * 999 * 1,) == labels.squares
    assert 1 == coarse.raced


@pytest.mark.parametrize(("options", "message"), [
    ({"class_prior": "even"}, "class_prior is 'even'; write 'auto', 'centred'"),
    ({"class_prior": "number"}, "class_prior is 'number'; write 'auto', 'centred'"),
    ({"class_prior": "average", "classes": 3}, "averages over classes were removed: write"),
    ({"class_prior": "centred", "rows": 2**31}, r"at most 2\^29 units"),
], ids=str)
def test_public_mistakes_are_refused(options, message):
    """Each names the option, its limit and the way out."""
    classes = options.pop("classes", 2)
    request = {"k": 2, "epsilon": 1, "rows": 1000, **options}

    with pytest.raises(ParameterError, match=message):
        plan("rule-sieve", tables.domain("nnn", classes), **request)
