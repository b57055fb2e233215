"""Law: check of a sample.  Its rows have their true groups, and shares are called estimates."""

import json
from math import log, sqrt
from pathlib import Path

import numpy as np
import pytest

from privsieve.containment import measures as module
from privsieve.containment.knowledge import Knowledge
from privsieve.containment.labelled import as_known
from privsieve.containment.measures import (
    containment_level,
    crowd,
    disclosure_risk,
    gains,
    hub_of,
    risk_of,
    sampled,
)
from privsieve.rows.matrix import Items
from row_groups import levels


def some(seed, rows=3000, width=14):
    """A table and classes."""
    rng = np.random.default_rng(seed)
    matrix = rng.random((rows, width)) < 0.7 * rng.random(width)
    return Items.dense(matrix), rng.integers(0, 2, rows).astype(np.int32)


def test_groups_of_a_sample_are_exact():
    """Each row of a sample has the group that it has among all rows, absences known or not."""
    for seed in range(5):
        plain, y = some(seed)
        absent = np.random.default_rng(seed).random(len(plain)) < 0.5
        for items in (plain, as_known(plain, absent, None)):
            risk = sampled(Knowledge(items), y, 2, sample=200)
            whole = levels((items.indptr, items.indices), y, 2)
            held = sampled(Knowledge(items), y, 2, sample=0).held

            assert whole.group[risk.who].tolist() == risk.sizes().tolist()
            assert whole.held.tolist() == held[risk.table.pattern].tolist()
            assert 200 == len(set(risk.who.tolist()))
            assert risk.held.max() <= 200
        assert whole.group.tolist() == levels((plain.indptr, plain.indices), y, 2,
                                              absent).group.tolist()


def test_estimates_are_within_the_margin():
    """The share below k, its average chance and the share of one class are near the true ones."""
    items, y = some(1, rows=4000)
    whole = disclosure_risk(items, y, k=9)
    risk = sampled(Knowledge(items), y, 2, sample=500)
    own_risk = risk_of(risk, 9, labelled=True)
    margin = sqrt(log(40) / 1000)

    assert (500, margin) == (own_risk.sample.rows, own_risk.sample.margin)
    assert whole.sample is None
    assert (whole.prosecutor, whole.unique, whole.one_class_equals, whole.patterns) == (
        own_risk.prosecutor, own_risk.unique, own_risk.one_class_equals, own_risk.patterns)
    assert whole.containment.level <= own_risk.containment.level
    assert abs(whole.containment.average - own_risk.containment.average) < margin
    for name in ("one_class", "unique"):
        assert abs(getattr(whole, name) - getattr(own_risk, name)) < margin * items.rows
    assert abs(whole.containment.below - own_risk.containment.below) < margin * items.rows
    assert abs(whole.hub.below - own_risk.hub.below) < margin * items.rows
    assert whole.hub.left == own_risk.hub.left == hub_of(risk, 9).left


def test_sources_of_a_sample():
    """Sources in the groups of a sample are counted among all rows."""
    items, _ = some(2, rows=900)
    sources = np.random.default_rng(2).integers(0, 300, items.rows).astype(np.int32)
    whole = Knowledge(items, unit=sources).groups()
    risk = sampled(Knowledge(items, unit=sources), sample=80)
    exact = whole.sizes()[risk.who]
    level = crowd(risk.sizes(), 5, risk.rows)

    assert (exact.min(), round((exact < 5).sum() * 900 / 80)) == (level.level, level.below)
    assert whole.equals().tolist() == risk.equals().tolist()


def test_when_a_sample_is_drawn(monkeypatch):
    """Beyond the bound a sample is drawn, unless a k is demanded that it does not refute."""
    monkeypatch.setattr(module, "SAMPLE", 300)
    items, y = some(3)
    same = Items.dense(np.repeat(np.eye(6, dtype=int), 400, axis=0))

    assert sampled(Knowledge(items), y, 2).who is None
    monkeypatch.setattr(module, "MANY_PATTERNS", 2)
    assert [300, 300, 3000, 20] == [sampled(Knowledge(items), y, 2, **how).counted for how in (
        {}, {"k": 2}, {"sample": 0}, {"sample": 20})]
    assert containment_level(items) < 2
    assert [300, 2400, 300] == [sampled(Knowledge(same), **how).counted for how in (
        {}, {"k": 400}, {"k": 401})]


@pytest.fixture
def privsieve(tmp_path, monkeypatch, cli):
    """Run one command line in a folder with a table of level 2."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a,b,c\n" + "1,0,1\n0,1,1\n1,1,0\n0,0,1\n" * 50 + "1,1,1\n" * 2)
    return cli


def test_check_says_that_it_is_a_sample(privsieve):
    """A sample's error, its bounds and what it does not look for are said, and 0 is all rows."""
    _, out, _ = privsieve("check", "t.csv", "--sample", 50)
    words = " ".join(out.split())
    document = json.loads(privsieve("check", "t.csv", "--sample", 50, "--json")[1])

    assert ("estimated from 50 random rows. With 95 % confidence, shares of rows and averages are "
            "right to within 19 percentage points; the level may be lower") in words
    assert "what may be known at most " in words
    assert "the cost of columns is not measured in a sample" in words
    assert {"rows": 50, "half_width": "0.192065", "confidence": "0.95"} == document["sample"]
    whole = privsieve("check", "t.csv")
    assert privsieve("check", "t.csv", "--sample", 0) == whole == privsieve(
        "check", "t.csv", "--sample", 1000)
    assert "sample" not in whole[1]
    assert json.loads(privsieve("check", "t.csv", "--json")[1])["sample"] is None
    assert 2 == privsieve("check", "t.csv", "--sample", -1)[0]


def test_rows_below_k_with_the_class_are_of_all_rows(privsieve):
    """A sample of a tenth estimates the rows below k among all rows, with the class known, too."""
    def below(sample):
        out = json.loads(privsieve("check", "wide.csv", "--target", "ill", "--sample", sample,
                                   "--json")[1])
        return out["with_class"]["containment"]["below"], out["containment"]["below"]

    rng = np.random.default_rng(3)
    matrix = (rng.random((4000, 14)) < 0.5).astype(int)
    head = ",".join([*(f"x{j}" for j in range(13)), "ill"])
    np.savetxt("wide.csv", matrix, "%d", ",", header=head, comments="")
    margin = sqrt(log(40) / 800) * 4000

    for estimated, counted in zip(below(400), below(0), strict=True):
        assert abs(estimated - counted) < margin


def test_a_sample_never_confirms_a_level(privsieve):
    """A level that a sample does not refute is not said to be kept: code 7, and the way out."""
    code, _, err = privsieve("check", "t.csv", "--sample", 50, "-k", 2)

    assert (7, True) == (code, "a sample cannot show whether it is 2; add --sample 0" in err)
    assert 7 == privsieve("check", "t.csv", "--sample", 50, "-k", 300)[0]
    assert 0 == privsieve("check", "t.csv", "--sample", 0, "-k", 2)[0]


def test_what_columns_cost_in_many_rounds():
    """The level without a column is that of the other columns, however many groups it takes."""
    levels_found = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        width = int(rng.integers(3, 9))
        matrix = rng.random((1500, width)) < 0.6 * rng.random(width)
        matrix[rng.integers(0, 1500)] = True
        items = Items.dense(matrix)
        items = Items(items.indptr, items.indices, 1500, items.names,
                      ("pair", "pair", *items.origin[2:]))
        absent = rng.random(width) < 0.5 if seed % 2 else None

        def level(kept, items=items, absent=absent):
            rows = items.take(kept)
            return int(levels((rows.indptr, rows.indices), np.zeros(1500, np.int32), 1,
                              None if absent is None else absent[kept]).group.min())

        known, now = Knowledge(items, absent), level(list(range(width)))
        without = {name: level([j for j in range(width) if items.origin[j] != name])
                   for name in dict.fromkeys(items.origin)}
        wanted = {name: level for name, level in without.items() if level > now}
        levels_found += sum(level > 50 for level in wanted.values())

        assert wanted == gains(known, known.groups().sizes())
    assert levels_found


def test_a_later_round_may_hold_the_smallest_group():
    """Small groups that all grow without a column do not hide a larger one that stays."""
    alike = 200  # rows that are alone with "c" and have 40 equals without it
    rows = np.zeros((alike * 41 + 30, alike + 2), np.bool_)
    rows[:alike * 41, :alike] = np.repeat(np.eye(alike, dtype=np.bool_), 41, axis=0)
    rows[:alike * 41:41, alike] = True
    rows[alike * 41:, alike + 1] = True
    items = Items.dense(rows, [*(f"x{j}" for j in range(alike)), "c", "t"])

    assert {"c": 30} == gains(Knowledge(items), Knowledge(items).groups().sizes())
