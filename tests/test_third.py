"""Laws of what a column adds to a named pair: exact values, and how far one unit moves it."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest

import naive
import tables
from kernel_calls import serve
from privsieve.methods import plan
from privsieve.methods.rule_sieve import choose
from privsieve.noise.streams import replay
from privsieve.public.domain import person_weight
from privsieve.summaries.rules import Layout, rule_tables, scores
from privsieve.summaries.sets import third_scores
from test_joint import grown, left, losses, replaced
from test_rules import T5, weighing
from test_slopes import _joined, _person

GRID = 8


def made(kinds, rows, classes=2, **public):
    """Tables of some rows, each its codes and then its class, and how columns lie in them."""
    rows = np.array(rows, np.int64).reshape(-1, len(kinds) + 1)
    domain = tables.domain(kinds, classes, **public)
    held = rule_tables([tables.batch(rows[:, :-1], rows[:, -1])], 1, domain=domain, order=1,
                       grid=(4, GRID))
    return held, Layout.of(domain)


@pytest.mark.parametrize("form", ["native", "numpy"])
@pytest.mark.parametrize("seed", range(12))
def test_half_of_what_eight_cells_reach_beyond_four(seed, form, monkeypatch):
    """By loops: the best cut of three columns less that of two; of many labellings the mean."""
    serve(form, monkeypatch)
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, 65536, (9, 3)), rng.integers(0, 3, 9)])
    label = np.sort(rng.integers(0, 3, 9))
    held, layout = made("nnnc", np.column_stack([codes, label]), 3)
    by = weighing([[-5, 2, 1], [4, 3, -7]], 4, order=1)._replace(by_cells=(0, int(seed)))
    pair = list(combinations(range(4), 2))[seed % 6]
    bins, nominal = held.joint[GRID].bins.tolist(), layout.nominal

    def best(columns, v):
        return naive.joint_best([bins[j] for j in columns], [v], len(columns), GRID,
                                nominal[list(columns)])[0]

    each = []
    for cut, weights in enumerate(by.labellings):
        v = weights[label].tolist()
        each.append([int(one) if j in pair else max(
            int(one), 6 * (best((*pair, j), v) - best(pair, v)) - seed)
            for j, one in enumerate(scores(held, layout, by.alone(cut)))])

    assert [math.floor(Fraction(sum(two), 2)) for two in zip(*each, strict=True)] == (
        third_scores(held, layout, by, pair).tolist())


def test_the_third_of_a_parity():
    """Eight rows: signs say 24 of each column, and eight cells say 48 of the one that is left."""
    codes = np.array(T5[0])[:, :3] // 4 * 65535
    domain = tables.domain("nnn")
    held = rule_tables([tables.batch(codes, T5[1])], 3, domain=domain, order=3, grid=(4, GRID))
    layout, by = Layout.of(domain), weighing([[-1, 1]], 3)

    assert [24, 24, 24] == scores(held, layout, by).tolist()
    assert [24, 24, 48] == third_scores(held, layout, by, (0, 1)).tolist()


# sensitivity


def valued(weights, pair=(0, 1)):
    """For all tables of some binary rows: what columns are worth after a pair."""
    def value(rows):
        counts = np.bincount([row[-1] for row in rows], minlength=2)
        held, layout = made("nnn", rows)
        labels = weights if weights is not None else [[-int(counts[1]), int(counts[0])]]
        return third_scores(held, layout, weighing(labels, 3, order=1), pair)

    return lambda n: {rows: value([RECORDS[r] for r in rows])
                      for rows in combinations_with_replacement(range(len(RECORDS)), n)}


RECORDS = list(product((0, 65535), (0, 65535), (0, 65535), (0, 1)))


@pytest.mark.parametrize(("weights", "largest"), [([[-1, 1]], 1), ([[-1, 4]], 4)], ids=str)
def test_every_neighbour_of_every_small_table(weights, largest):
    """All tables of three rows: 24 W a replaced row, 12 W one that leaves; both are met."""
    two, three = map(valued(weights), (2, 3))

    assert 12 * largest == left(three, two)
    assert 12 * largest < replaced(three, len(RECORDS)) <= 24 * largest


def test_centred_labels_move_it_as_published():
    """All tables of three rows, centred on their own counts: below 24 n."""
    moved = replaced(valued(None)(3), len(RECORDS))

    assert 24 * 2 == moved < 24 * 3


def test_the_bound_is_attained():
    """Eight rows of which one goes to where eight cells lose by it and four gain: by 24.

    All that is added, and not the half of it, would move by 48.
    """
    minus, plus = 3 * [(0, 0, 1, 0)], 3 * [(1, 1, 1, 1)]
    two = []
    for changed in ((0, 0, 0, 1), (1, 1, 0, 1)):
        rows = 65535 * np.array([*minus, *plus, (1, 1, 0, 0), changed])
        held, layout = made("nnn", rows // [1, 1, 1, 65535])
        two.append(third_scores(held, layout, weighing([[-1, 1]], 3, order=1, grid=0), (0, 1))[2])

    assert [24, 0] == two


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_a_person_moves_it_by_one_persons_worth(neighbours):
    """However many rows of a person count: 24 L W, and 12 L W where one leaves."""
    rng, worst = np.random.default_rng(8), 0
    for _ in range(150):
        most = int(rng.choice([1, 2, 3, 4]))
        scale = person_weight(most)
        domain = tables.domain("nnn", 2, person="id", rows_per_person=most, persons=20,
                               neighbours=neighbours)
        persons = [_person(rng, unit) for unit in range(int(rng.integers(2, 6)))]
        changed, one = list(persons), int(rng.integers(len(persons)))
        if neighbours == "add-remove":
            del changed[one]
        else:
            changed[one] = _person(rng, 99)
        by, key = weighing([[-3, 5]], 3, order=1, scale=scale), int(rng.integers(2**63))
        pair = list(combinations(range(3), 2))[int(rng.integers(3))]
        two = [third_scores(rule_tables([_joined(held)], key, domain=domain, order=1,
                                        grid=(4, GRID)), Layout.of(domain), by, pair)
               for held in (persons, changed)]
        bound = (24 if neighbours == "replace-one" else 12) * 5 * scale
        moved = int(np.abs(two[0] - two[1]).max())
        worst = max(worst, moved / bound)

        assert moved <= bound
    assert worst > 0.5


@pytest.mark.parametrize(("k", "d"), [(3, 4), (4, 5)])
def test_the_law_of_what_follows_a_pair_keeps_epsilon(k, d):
    """Scores that are others after each pair, and all move at random as far as they may."""
    rng, epsilon, worst = np.random.default_rng(5), Fraction(2), 0.0
    pairs = list(combinations(range(d), 2))
    for _ in range(12):
        values, score = rng.integers(0, 60, len(pairs)), rng.integers(0, 60, (len(pairs), d))
        moves, laws = (rng.choice((-24, 24), values.shape), rng.choice((-24, 24), score.shape)), []
        for sign in (0, 1):
            first = (values + sign * moves[0]).tolist()
            after = dict(zip(pairs, (score + sign * moves[1]).tolist(), strict=True))
            laws.append(grown(lambda race, first=first, after=after: choose(
                first, after.__getitem__, (2, k, d), (24, epsilon), race)))
        assert 1 == pytest.approx(sum(laws[0].values()))
        worst = max(worst, *losses(*laws))

    assert .2 < worst <= epsilon * (1 + 1e-9)


# public


@pytest.mark.parametrize(("kinds", "options", "said"), [
    ("n" * 10, {}, True), ("n" * 10, {"joint": "pair"}, True), ("n" * 10, {"k": 2}, None),
    ("n" * 10, {"joint": "none"}, None), ("n" * 10, {"always": ["x0"]}, None),
    ("n" * 10, {"joint": "triple"}, None), ("n" * 10, {"max_ops": 10**6}, None),
], ids=str)
def test_a_plan_says_whether_thirds_count(kinds, options, said):
    """Where a pair may come first, more than two are chosen and triples could be raced."""
    asked = {"k": 3, "epsilon": "0.1", "rows": 1000, "class_prior": "0.5", **options}

    assert said == plan("rule-sieve", tables.domain(kinds), **asked).settings.get("thirds")


@cache
def found(rows):
    """How many of a parity's columns are found by a pair and one column, over some draws."""
    rng = np.random.default_rng(7)
    made = plan("rule-sieve", tables.domain("n" * 12), k=3, epsilon=1, rows=rows,
                class_prior="0.5", joint="pair")
    codes = rng.integers(0, 65536, (rows, 12))
    summary = made.summarise([tables.batch(codes, (codes[:, :3] >= 32768).sum(axis=1) % 2)], 3)
    return [tuple(made.mechanism(summary, replay(draw))) for draw in range(8)]


def test_a_pair_of_a_parity_finds_its_third():
    """Among those whose pair is of the parity, the third column always is."""
    of = [len({0, 1, 2}.intersection(one)) for one in found(500)]

    assert 3 in of
    assert 2 not in of
