"""Law: RuleSieve's tables as sums over parts of the rows choose what all rows at once choose."""

from __future__ import annotations

import os
from functools import reduce
from operator import add

import numpy as np
import pandas as pd
import pytest

import naive
import privsieve as ps
import tables
from privsieve import fit as fitting
from privsieve.errors import ParameterError
from privsieve.noise import race
from privsieve.noise.streams import replay
from privsieve.rows import batch as reading
from privsieve.rows import open_source
from privsieve.rows.batch import Batch
from privsieve.rows.room import Room
from privsieve.summaries import forms, ranks
from privsieve.summaries.rules import RulePasses
from privsieve.summaries.stages import Stages

ROWS = 300
NUMBERS = (ps.Number("a", 0, 9), ps.Number("b", 0, 1), ps.Number("c", 0, 50),
           ps.Number("d", 0, 3, missing="level"), ps.Number("e", 0, 1))
LEVELS = (ps.Flag("f"), ps.Category("g", ["x", "y"]),
          ps.Category("h", [f"l{i}" for i in range(12)]))
YES, THREE, COST = (ps.Label("y", [0, 1]), ps.Label("y", [0, 1, 2]), ps.Number("y", 0, 5))
FOUR = {"n_features_to_select": 4}


def table(target):
    """Ties, missing cells, levels that nobody declared, rare classes."""
    rng = np.random.default_rng(3)
    n = ROWS
    columns = {"a": rng.integers(0, 10, n), "b": rng.random(n), "c": rng.integers(0, 3, n) * 20.0,
               "d": np.where(rng.random(n) < .3, np.nan, rng.integers(0, 4, n)), "e": rng.random(n),
               "f": rng.integers(0, 2, n), "g": rng.choice(["x", "y", "z"], n),
               "h": rng.choice([f"l{i}" for i in range(15)], n), "who": rng.integers(0, 90, n),
               "free": rng.random(n)}
    trend = (columns["a"] > 4) ^ (columns["b"] > .5)
    columns["y"] = {2: trend * 1, 3: trend * 1 + (rng.random(n) < .1), None: rng.integers(0, 6, n)}[
        len(target.values) if isinstance(target, ps.Label) else None]
    return pd.DataFrame(columns)


CASES = [
    (NUMBERS, YES, {"joint": "none"}, {}),
    (NUMBERS, YES, {"joint": "none", "depth": 1}, {}),
    (NUMBERS, YES, {"joint": "pair"}, {}),
    (NUMBERS + LEVELS, YES, {"joint": "pair", "class_prior": "centred"}, {}),
    (NUMBERS + LEVELS, THREE, {"joint": "pair"}, {}),
    (NUMBERS + LEVELS, THREE, {"joint": "none"}, {}),
    (LEVELS, THREE, {"n_features_to_select": 1}, {}),
    (NUMBERS + LEVELS, YES, {"always": ["a"], "never": ["h"]}, {}),
    (NUMBERS + LEVELS, YES, {"joint": "pair"}, {"neighbours": "add-remove", "rows": 300}),
    (NUMBERS + LEVELS, YES, {"joint": "pair"}, {"person": "who", "persons": 80,
                                                  "rows_per_person": 3}),
    (NUMBERS, YES, {"class_prior": "centred"}, {"person": "who", "persons": 95,
                                                "rows_per_person": 2}),
    (NUMBERS + LEVELS, COST, {"numeric": "ranks"}, {}),
    (NUMBERS, COST, {"numeric": "ranks", "depth": 1}, {}),
    (NUMBERS + LEVELS, COST, {"numeric": "median-cut"}, {}),
    (NUMBERS, COST, {"numeric": "median-cut", "joint": "pair"}, {}),
    (NUMBERS, COST, {"numeric": "ranks"}, {"person": "who", "persons": 70, "rows_per_person": 4}),
    (NUMBERS, COST, {"numeric": "median-cut"}, {"person": "who", "persons": 80,
                                                "rows_per_person": 3}),
    ((*NUMBERS, ps.Number("free")), YES, {"joint": "none"}, {}),
]


@pytest.mark.parametrize("at", [0, 4, 17])
def test_each_stage_adds_up_for_any_cut_and_order(at):
    """An engine's parts, in any order, add up to the result of one process."""
    columns, target, options, extra_options = CASES[at]
    domain = ps.Domain(columns, target=target, **extra_options)
    plan = ps.RuleSieve(**{**FOUR, "epsilon": 10, "domain": domain, **options}).plan(rows=ROWS)
    whole = Batch.concat(list(reading.batches(open_source(table(target)), domain, rows=ROWS,
                                              entropy=os.urandom)))
    rng, pieces, stages = np.random.default_rng(at), [], plan.summarise
    assert isinstance(stages, Stages)

    for parts in (1, 5):
        where, totals = rng.integers(0, parts, ROWS), ()
        cut = [whole.take(np.flatnonzero(where == piece)) for piece in range(parts)]
        for stage in range(len(stages.stages)):
            sums = [stages.once(stage, [piece], 7, totals) for piece in cut]
            totals = (*totals, reduce(add, sums))
        pieces.append(plan.mechanism(stages.ended(totals), replay(3)))
    assert pieces[0] == pieces[1] == plan.mechanism(plan.summarise([whole], 7), replay(3))


@pytest.mark.parametrize("seed", range(24))
def test_middle_records_are_those_of_loops(seed, monkeypatch):
    """By (code, tie key, row) of those that are not missing, for any cut and any ties."""
    monkeypatch.setattr(ranks, "FEW", seed % 3)
    rng, kinds = np.random.default_rng(seed), "nnmmfc"
    n, parts = int(rng.integers(0, 60)), int(rng.integers(1, 5))
    codes = np.where(rng.random((n, len(kinds))) < .3, 65535, rng.integers(0, 3, (n, len(kinds))))
    codes[:, 4:] %= 2
    batch = tables.batch(codes, rng.integers(0, 2, n), rng.integers(0, 3, n))
    where, passes = rng.integers(0, parts, n), RulePasses(tables.domain(kinds), 2, 0)
    cut, pieces = [batch.take(np.flatnonzero(where == piece)) for piece in range(parts)], ()
    for stage in passes.stages[:3]:
        pieces = (*pieces, reduce(add, [stage(piece, 7, pieces) for piece in cut]))
    expected = naive.cuts(batch.codes.T, batch.unit, batch.row, 7, passes.layout.kind)
    assert [record.tolist() for record in expected] == [cut_record.tolist()
                                                        for cut_record in passes.cuts(pieces)]


def test_what_no_file_can_hold_is_refused_before_the_charge(tmp_path):
    """Sums of too many sets need memory: said while nothing is charged."""
    many = ps.Domain([ps.Number(f"x{j}", 0, 1) for j in range(900)], target=YES)
    ledger = ps.Ledger(str(tmp_path / "ledger.db"), population="all")
    ledger.grant(3)
    plan = ps.RuleSieve(1, epsilon=1, domain=many, max_ops=2**50).plan(rows=10**6)
    source = open_source(pd.DataFrame({name: [.5] for name in [*many.names, "y"]}))
    with pytest.raises(ParameterError, match=r"needs [0-9]+ MB of memory.*max_memory"):
        fitting.fit(plan, source, ledger=ledger, room=Room(memory=10**8))
    assert ledger.spent() == 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(
    str(value) for own_value in case[2:] for value in own_value.values())[:40])
def test_sums_over_parts_choose_what_all_rows_choose(case, monkeypatch):
    """Identical scores in every race, and identical releases, for any part and any memory."""
    columns, target, options, extra_options = case
    domain = ps.Domain(columns, target=target, **extra_options)
    plan = ps.RuleSieve(**{**FOUR, "epsilon": 10, "domain": domain, **options}).plan(
        rows=None if extra_options else ROWS)
    summed, values, last, raced = [], [], forms.CellSums.of, race.top_k
    monkeypatch.setattr(forms.CellSums, "of", lambda *args: summed.append(1) or last(*args))
    monkeypatch.setattr(race, "top_k", lambda utility, *rest: (
        values.append(list(utility)), raced(utility, *rest))[1])

    # Such rooms are refused before the charge: what matters is that any cut gives the same.
    monkeypatch.setattr(reading, "demand_room", lambda _plan, _source, room: room)

    def released(room, size):
        values.clear()
        monkeypatch.setattr(reading, "LARGEST_BATCH", size)
        release = fitting.fit(plan, open_source(table(target)), noise=replay(5), room=room)
        assert values
        return release.bytes, list(values)

    expected = released(Room(), ROWS)
    assert not summed

    for room, size in ((Room(memory=0), 70), (Room(memory=0, jobs=2), 64), (Room(memory=0), ROWS)):
        assert expected == released(room, size)
    assert bool(summed) == (plan.settings.get("grid") != 0)
