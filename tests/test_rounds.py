"""Law: rounds.  Shares add up, residuals and sums are those of loops, and copies do not come back.

How far a unit moves what meets noise is in test_neighbours.py.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import privsieve as ps
from privsieve.fit import fit
from privsieve.methods import rounds
from privsieve.methods.branches import ROUNDS_FROM
from privsieve.methods.rounds import ODDS, STEP, UNIT, Residuals, Rounds
from privsieve.noise.race import Race
from privsieve.noise.streams import replay
from privsieve.rows import open_source
from privsieve.rows.batch import Part
from privsieve.summaries.rules import Layout

DOMAIN = ps.Domain([ps.Number("a", 0, 1), ps.Number("b", 0, 1, missing="level"),
                    ps.Category("c", ["A", "B", "C"]), ps.Flag("d"),
                    *(ps.Number(f"x{j}", 0, 1) for j in range(8))],
                   target=ps.Label("y", [0, 1]))


def made(before=3, many=2, size=3):
    """Some rounds."""
    return Rounds(DOMAIN, 400, 16, before, 12 - size, many, Fraction(9, 10), size)


@pytest.mark.parametrize(("before", "many", "size"), [(3, 2, 3), (2, 1, 2), (5, 4, 3), (4, 1, 2)])
def test_the_shares_add_up(before, many, size):
    """The set, the races and the steps cost the epsilon together, to the last part."""
    how = made(before, many, size)
    steps = how.fitted * how.share

    assert how.epsilon == how.first + many * rounds.RACE * how.share + steps
    assert how.fitted == before + many - 1
    sums = [event for event in how.events if hasattr(event, "moves")]
    spent = sum(Fraction(one.moves) / Fraction(one.scale) for one in sums)
    assert spent == steps * (1 - rounds.CUT)
    cuts = Race(rounds.CELLS - 1, 1, 1, how.share * rounds.CUT / 2).event
    assert 2 * how.fitted == how.events.count(cuts)


def residuals(rng, rows=60):
    """Rows by class with odds of their own."""
    codes = np.stack([rng.integers(0, 65536, rows), rng.choice([0, 5, 40_000, 65535], rows),
                      rng.integers(0, 3, rows), rng.integers(0, 2, rows),
                      *rng.integers(0, 65536, (8, rows))]).astype(np.uint16)
    ones = np.arange(rows, dtype=np.uint64)
    many = int(rng.integers(0, rows + 1))
    part = Part(codes, ones, ones, np.array([0, many, rows]), rng.integers(1, 5, rows))
    return Residuals(part, rng.integers(-rounds.MOST, rounds.MOST + 1, rows).astype(np.int32))


def test_residuals_and_sums_are_those_of_loops():
    """A residual is the smaller of 1 and the odds against a class; sums are of these."""
    rng, layout = np.random.default_rng(1), Layout.of(DOMAIN)
    for _ in range(40):
        one = residuals(rng)
        j = int(rng.integers(0, 4))
        edges = np.unique(rng.integers(1, 65536, 3)) if j < 2 else np.zeros(0, np.int64)
        bins, wanted = rounds._bins(one.rows.codes[j], edges, layout, j), np.zeros((20, 2), int)
        for i, odds in enumerate(one.odds.tolist()):
            label, code = int(i >= one.rows.starts[1]), int(one.rows.codes[j][i])
            size = round(UNIT * min(1.0, math.exp((-odds if label else odds) / STEP)))
            cell = code if j > 1 else len(edges) + 1 if j == 1 and code == 65535 else sum(
                code >= edge for edge in edges.tolist())
            wanted[cell, label] += size * int(one.rows.weight[i])

        assert one.sums(bins, 20).reshape(20, 2).tolist() == wanted.tolist()
    assert (ODDS[0], ODDS[-1] < UNIT / 1000) == (UNIT, True)


def test_steps_lean_to_the_class_that_is_there():
    """What has no noise is nearly believed, what is all noise is not, and both sides are alike."""
    sums = np.array([[400.0, 100.0], [100.0, 400.0], [250.0, 250.0]])
    exact, loud = (rounds._steps(sums, scale, [3]) for scale in (0.01, 1e6))

    assert exact[0] < -STEP / 2 < STEP / 2 < exact[1]
    assert np.abs(exact[2]) < STEP / 8
    assert np.abs(loud).max() < STEP / 8
    assert (rounds._steps(sums[:, ::-1], 0.01, [3]) == -exact).all()


BOX = ps.Domain.box(0, 1, columns=30, target=(0, 9))


@pytest.mark.parametrize(("options", "many"), [
    ({}, 2), ({"k": 3}, 0), ({"k": 3, "joint": "pair"}, 1), ({"joint": "none"}, 0),
    ({"fewer": "auto"}, 0), ({"numeric": "ranks"}, 0),
    ({"always": ["x1"]}, 2), ({"epsilon": "0.3"}, 0), ({"max_ops": 1000}, 5),
    ({"max_ops": 1000, "ordered": True}, 0), ({"max_ops": 1000, "joint": "none"}, 0)])
def test_where_rounds_run_is_public(options, many):
    """From 600 units times epsilon a column on, after a set, or where there can be none."""
    plan = ps.plan("rule-sieve", BOX, rows=5 * ROUNDS_FROM * 2, **{"k": 5, "epsilon": 1, **options})

    assert many == plan.settings.get("rounds", 0)
    assert plan.json() == ps.plan("rule-sieve", BOX, rows=5 * ROUNDS_FROM * 2,
                                  **{"k": 5, "epsilon": 1, **options}).json()


def causes(rng, n=4000):
    """Four causes behind a number, seven copies of the strongest, and 19 columns of noise."""
    cause = rng.standard_normal((n, 4))
    copies = cause[:, :1] + 0.3 * rng.standard_normal((n, 7))
    y = cause @ [1, 0.8, 0.65, 0.5] + 0.5 * rng.standard_normal(n)
    return np.column_stack([cause, copies, rng.standard_normal((n, 19))]), y


def test_copies_do_not_come_back():
    """Of four causes nearly all are named, where one race after the set names copies."""
    domain = ps.Domain([ps.Number(f"x{j}", -6, 6) for j in range(30)],
                       target=ps.Number("y", -8, 8))
    named = []
    for seed in range(8):
        source = open_source(*causes(np.random.default_rng(seed)))
        plan = ps.plan("rule-sieve", domain, rows=4000, k=4, epsilon=1)
        found = fit(plan, source, noise=replay(seed)).selected
        places = [int(name[1:]) for name in found]
        named.append(len({0 if 4 <= j < 11 else j for j in places if j < 11}))

    assert sum(named) >= 0.85 * 32
