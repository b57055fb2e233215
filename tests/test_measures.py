"""Law: measures.  Levels, risks, frequent neighbours and sources against loops over sets."""

from __future__ import annotations

import time
from dataclasses import astuple
from fractions import Fraction

import numpy as np
import pytest

import naive_measures as naive
from privsieve.containment import measures
from privsieve.containment.choose import greedy
from privsieve.containment.knowledge import Knowledge, numbered
from privsieve.containment.labelled import Labelled
from privsieve.containment.measures import (
    classification_metric,
    containment_level,
    disclosure_risk,
    hub_of,
    k_anonymity_level,
)
from privsieve.errors import ParameterError, SchemaError
from privsieve.kernels.patterns import Rule
from privsieve.rows.matrix import Items
from real_data import email

PARTS, EACH = range(6), 100  # 600 random tables in all
#: The paper's Table 1.
TOY = [[1, 0, 1, 0, 1], [1, 0, 1, 0, 1], [1, 0, 0, 1, 1],
       [1, 0, 1, 0, 1], [1, 1, 1, 0, 1], [1, 1, 0, 1, 1]]


def tables(chunk):
    """Random tables: the items, what each row holds, classes, k."""
    for seed in range(chunk * EACH, (chunk + 1) * EACH):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(1, 14)), int(rng.integers(1, 8))
        matrix = rng.random((n, d)) < rng.choice([0.15, 0.3, 0.5, 0.8])
        rows = [set(np.flatnonzero(row).tolist()) for row in matrix]
        yield (Items.dense(matrix), rows, rng.integers(0, rng.integers(1, 4), n).tolist(),
               int(rng.integers(2, 6)), rng)


@pytest.mark.parametrize("chunk", PARTS)
def test_levels(chunk):
    """The level of a row is the number of rows in its group; of a table, the smallest."""
    for items, rows, *_ in tables(chunk):
        sizes = [len(naive.group(rows, i)) for i in range(len(rows))]
        copies = [len(naive.equals(rows, i)) for i in range(len(rows))]

        assert sizes == containment_level(items, per_row=True).tolist()
        assert copies == k_anonymity_level(items, per_row=True).tolist()
        assert (min(sizes), min(copies)) == (containment_level(items), k_anonymity_level(items))


def test_the_level_of_many_patterns():
    """The smallest group that is looked for is that of all groups, whatever patterns contain."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows = rng.random((300, int(rng.choice([5, 9, 70])))) < rng.random()
        table = Items.dense(np.concatenate([rows & (rng.random(rows.shape) < 0.9), rows, rows]))

        assert containment_level(table, per_row=True).min() == containment_level(table)
        assert containment_level(table) == Knowledge(table).groups().level()


def test_the_level_of_ten_times_the_rows():
    """A level takes about as long as a sort: rows times log rows, with threefold slack."""
    def seconds(rows, density):
        table = np.random.default_rng(5).random((rows, 30)) < density
        spent = []
        for _ in range(4):
            start = time.perf_counter()
            containment_level(table)
            spent.append(time.perf_counter() - start)
        return sorted(spent[1:])[1]

    for density in (0.15, 0.5, np.linspace(0.02, 0.5, 30)):
        assert seconds(300_000, density) <= 3 * 14 * seconds(30_000, density)


@pytest.mark.parametrize("chunk", PARTS)
def test_risks(chunk):
    """Each number of a risk is what loops over all rows count."""
    for items, rows, y, k, _ in tables(chunk):
        every = range(len(rows))
        sizes = [len(naive.group(rows, i)) for i in every]
        copies = [len(naive.equals(rows, i)) for i in every]
        risk = disclosure_risk(items, y, k=k)

        assert (len(rows), k, len(set(map(frozenset, rows)))) == (risk.rows, risk.k, risk.patterns)
        for crowd, risk_level in ((sizes, risk.containment), (copies, risk.prosecutor)):
            highest, average = naive.chances(crowd)
            assert (min(crowd), highest) == (risk_level.level, risk_level.highest)
            assert average == pytest.approx(risk_level.average, rel=1e-12)
            assert sum(size < k for size in crowd) == risk_level.below
        assert Fraction(risk.patterns, len(rows)) == pytest.approx(
            risk.prosecutor.average, rel=1e-12)
        assert copies.count(1) == risk.unique
        assert naive.one_class(rows, y, naive.group) == risk.one_class
        assert naive.one_class(rows, y, naive.equals) == risk.one_class_equals


@pytest.mark.parametrize("chunk", PARTS)
def test_groups_hubs_errors(chunk):
    """The `hub` figure and the classification metric follow their words."""
    for items, rows, y, k, _ in tables(chunk):
        assert naive.hub(rows, k) == astuple(hub_of(Knowledge(items).groups(), k))
        assert naive.classification_metric(rows, y, k) == classification_metric(items, y, k)


@pytest.mark.parametrize("chunk", PARTS)
def test_sources(chunk):
    """A source counts once in each group, however many of its rows are there."""
    for seed, (items, rows, *_) in enumerate(tables(chunk)):
        sources = np.random.default_rng(seed).integers(0, 3, len(rows))
        sizes = [len({int(sources[h]) for h in naive.group(rows, i)}) for i in range(len(rows))]

        assert sizes == Knowledge(items, unit=sources).groups().sizes().tolist()


def test_many_sources():
    """Sources are counted in pieces, and a piece may end anywhere."""
    items = Items.dense(np.ones((600, 1)))

    for sources, count in ((np.arange(600), 600), (np.arange(600) // 2 * 2, 300)):
        assert (Knowledge(items, unit=sources).groups().sizes() == count).all()


def test_toy():
    """The paper's Table 1 has the row levels 4, 4, 2, 4, 1, 1."""
    assert containment_level(TOY, per_row=True).tolist() == [4, 4, 2, 4, 1, 1]
    assert k_anonymity_level(TOY, per_row=True).tolist() == [3, 3, 1, 3, 1, 1]


def test_nothing():
    """A table without columns hides everybody among all, one without rows nobody."""
    assert containment_level(Items.dense(np.zeros((4, 0)))) == 4
    assert containment_level(Items.dense(np.zeros((0, 2)))) == 0


def test_warning():
    """The `hub` figure warns above a fifth of the rows, and not at a fifth."""
    assert measures.Hub(0, 10, 2, 0).warning is None
    assert "3 of 10 rows are in a group below k" in measures.Hub(0, 10, 3, 0).warning


WRONG = {
    "k 1": (lambda: disclosure_risk(TOY, k=1), ParameterError, "k is 1; write a whole number"),
    "k true": (lambda: classification_metric(TOY, [0] * 6, k=True), ParameterError, "k is True"),
    "no row": (lambda: disclosure_risk(Items.dense(np.zeros((0, 2)))), SchemaError, "no row"),
    "flat": (lambda: numbered([[1]]), SchemaError, "2 dimensions"),
}


@pytest.mark.parametrize("case", WRONG)
def test_refusals(case):
    """A wrong argument is refused in a sentence that names the way out."""
    call, error, words = WRONG[case]

    with pytest.raises(error, match=words):
        call()


#: KAC_EVIDENCE 4 and 6: objective, stop, k; columns; rows in every group, below k and alone
#: without the busiest; unique rows; patterns; rows in one-class groups.
PU1 = {
    ("hamming", "break", 5): (11, (16, 1094, 0, 0), 274, 468, 213),
    ("hamming", "break", 11): (11, (16, 1088, 29, 0), 274, 468, 213),
    ("distinct", "break", 5): (11, (5, 1094, 18, 4), 252, 440, 157),
    ("mutual-information", "skip", 5): (305, (0, 1094, 676, 307), 990, 1034, 464),
    ("mutual-information", "skip", 8): (401, (8, 1091, 889, 100), 994, 1035, 467),
    ("hamming", "skip", 11): (71, (11, 1088, 403, 107), 951, 1003, 390),
}


@pytest.mark.parametrize("case", PU1)
def test_email(case):
    """On the paper's e-mail the figures of the evidence come back."""
    items, y = email()
    objective, stop, k = case
    choice = greedy(Labelled(items, y), Rule(k, 2, stop), objective)
    rows = items.take(choice.selected)
    risk = disclosure_risk(rows, y, k=k)

    assert PU1[case] == (len(rows), astuple(risk.hub), risk.unique, risk.patterns, risk.one_class)
    assert choice.level == risk.containment.level
    assert (risk.hub.warning is not None) == (objective != "distinct" and stop == "skip")
