"""Law: records of ranks by sums of a fixed size are those that all rows in memory have."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privsieve as ps
from privsieve import kernels, methods
from privsieve.public.columns import CODES, MISSING
from privsieve.rows.batch import Batch, Part
from privsieve.summaries import placed
from privsieve.summaries.flat import flat
from privsieve.summaries.numbers import bins, halves, spread
from privsieve.summaries.passes import NumberSums, RuleSums, cuts_of, labelled
from privsieve.summaries.placed import Order, Placed
from privsieve.summaries.ranks import at_ranks
from privsieve.summaries.rules import ORDERED_WITH_MISSING, Layout, Runs, Signs, median_cuts

#: Kinds of columns with few and with many codes, and with none that is not missing.
CODED = {"two codes": [0, 9], "one code": [5], "few codes": [0, 1, 2, 40_000, CODES - 1],
         "missing, too": [3, 4, MISSING], "missing alone": [MISSING]}
KEYS = st.integers(0, 2**64 - 1)
#: So many tables; PRIVSIEVE_TABLES asks for more.
TABLES = int(os.environ.get("PRIVSIEVE_TABLES", "200"))


@st.composite
def tables(draw):
    """A small table with heavy ties: codes by column, classes, kinds, and where sites cut it."""
    n, columns = draw(st.integers(1, 40)), draw(st.lists(st.sampled_from([*CODED]), min_size=1,
                                                         max_size=4))
    codes = [draw(st.lists(st.sampled_from(CODED[name]), min_size=n, max_size=n))
             for name in columns]
    kind = [ORDERED_WITH_MISSING if MISSING in CODED[name] else 0 for name in columns]
    label = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    at = np.arange(n, dtype=np.uint64)
    batch = Batch(np.array(codes, np.uint16).reshape(len(codes), n).T, np.array(label, np.int32),
                  at, at)
    cut = sorted(draw(st.lists(st.integers(0, n), max_size=3)))
    return batch, np.array(kind, np.uint8), [*cut, n]


def layout_of(kind, classes):
    """The layout of such columns."""
    columns = len(kind)
    return Layout(kind, np.zeros(columns, np.int64), classes, np.arange(columns))


def parts_of(batch, ends):
    """The rows of each site."""
    return [batch.rows(a, b) for a, b in zip([0, *ends], ends, strict=False)]


def told(sums, batch, ends, key, columns):
    """What all rounds but the last come to, each as the sum of those of the sites."""
    found = ()
    for stage in sums.stages[:-1]:
        total = stage(Batch.empty(columns), key, found)
        for part in parts_of(batch, ends):
            total = total + stage(part, key, found)
        found = (*found, total)
    return found


@settings(max_examples=TABLES, derandomize=True, deadline=None)
@given(tables(), KEYS)
def test_cuts_are_those_of_all_rows(made, key):
    """Each median's code, key and count, and every sign: with the keys of one table, its own."""
    batch, kind, ends = made
    layout = layout_of(kind, 3)
    sums, part = RuleSums(layout, 2, 0, (), len(batch)), Part.of(batch, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placed, "FEW", 0)
        found = told(sums, batch, ends, key, len(kind))
        cuts = cuts_of(found[0].ranked, layout, sums.records(found))
        mine = sums.signs(part, cuts, key)

    code, tie, row, count = median_cuts([part], key, kind)
    assert [code.tolist(), tie.tolist(), count.tolist()] == [
        cuts[0].tolist(), cuts[2].tolist(), cuts[3].tolist()]
    whole = Signs.of(part, (code, tie, row, count), key, layout)
    assert flat(whole).tolist() == flat(mine).tolist()


class OwnKeys:
    """Keys that somebody wrote down, a row for each column."""

    def __init__(self, keys):
        self._keys = keys

    def keys(self, rows, column):
        return self._keys[column][rows.astype(np.int64)]


@settings(max_examples=TABLES, derandomize=True, deadline=None)
@given(tables(), st.integers(0, 2**32))
def test_any_distinct_keys_order_ties(made, seed):
    """The row in the middle is that of a sorted list of codes and keys, and so is every sign."""
    batch, kind, ends = made
    layout, n = layout_of(kind, 3), len(batch)
    rng = np.random.default_rng(seed)
    keys = np.array([rng.permutation(n) << 40 | rng.integers(0, 2**40) for _ in kind], np.uint64)
    keys >>= np.uint64(0 if seed % 2 else 40)
    own, sums = OwnKeys(keys), RuleSums(layout, 3, 0, (), n)
    found = told(sums, batch, ends, own, len(kind))
    tables = [sums.summed(part, own, found) for part in parts_of(batch, ends)]

    slow = np.zeros((len(kind), n), int)
    for j, masked in enumerate(kind.tolist()):
        order = [i for _code, _key, i in sorted(zip(
            batch.codes[:, j].tolist(), keys[j].tolist(), range(n), strict=True))
            if not masked or batch.codes[i, j] != MISSING]
        for at, i in enumerate(order):
            slow[j, i] = np.sign(2 * at + 1 - len(order))
    total = tables[0]
    for more in tables[1:]:
        total = total + more
    for size, sums_of in ((2, total.signs.two), (3, total.signs.three)):
        for columns, row in zip(combinations(range(len(kind)), size), sums_of.tolist(),
                                strict=True):
            product = slow[list(columns)].prod(axis=0)
            assert row == [int(product[batch.label == c].sum()) for c in range(3)]


@settings(max_examples=TABLES // 2, derandomize=True, deadline=None)
@given(tables(), KEYS)
def test_a_number_is_cut_where_all_rows_are(made, key):
    """Ranks of the target and medians of the columns, for a target with ties."""
    batch, kind, ends = made
    layout, n, target = layout_of(kind, 2), len(batch), len(kind)
    sums, rows = NumberSums(layout, 2, 0, n), labelled(batch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placed, "FEW", 0)
        found = told(sums, rows, ends, key, target + 1)
        records = sums.records(found)
        ranks = [*spread(n, 15), *halves(n)]
        cut = records[len(records) - len(ranks):]
        stood = sums._bins(batch, cut, target, key)

    whole = at_ranks([(batch.label, batch.unit, batch.row)], ranks, target, key)
    assert [(one.code, one.tie) for one in whole] == [(one.code, one.row) for one in cut]
    assert bins(batch, whole, target, key).tolist() == stood.tolist()


@settings(max_examples=TABLES, derandomize=True, deadline=None)
@given(tables(), KEYS)
def test_counts_are_those_of_a_loop(made, key):
    """Of the rows that share a code, and the bits so far, the next bits, one by one."""
    batch, kind, _ends = made
    part, rows = Part.of(batch, 3), len(batch)
    at = Placed.of(Runs.of(part), [(j, rows // 3) for j in range(len(kind))], Order(rows))
    begun = [0] * len(kind)
    for rounds in range(1, at.order.rounds + 1):
        counts = at.counts(part, key)
        for j, (column, code) in enumerate(at.places.tolist()):
            slow = [0] * 2**16
            for i, tie in enumerate(kernels.tie_keys(batch.unit, column, key).tolist()):
                bits = tie >> 64 - 16 * rounds
                if batch.codes[i, column] == code and bits >> 16 == begun[j]:
                    slow[bits % 2**16] += 1
            assert slow == counts[j].tolist()
        at = at.among(counts)
        begun = at.begun.tolist()
    assert all(rank == 0 for rank in at.left)


def unmixed(z):
    """Back from `mix64`: each of its steps is undone."""
    def shifted(z, by):
        found = z
        while by < 64:
            found, by = found ^ found >> by, 2 * by
        return found

    z = shifted(z, 31) * pow(0x94D049BB133111EB, -1, 2**64) % 2**64
    z = shifted(z, 27) * pow(0xBF58476D1CE4E5B9, -1, 2**64) % 2**64
    return (shifted(z, 30) - 0x9E3779B97F4A7C15) % 2**64


@settings(max_examples=500, derandomize=True, deadline=None)
@given(KEYS, KEYS, st.integers(0, 2**20))
def test_a_tie_key_says_its_unit(unit, key, feature):
    """For one column and key the tie keys of two units are never the same: they can be undone."""
    tie = int(kernels.tie_keys(np.array([unit], np.uint64), feature, key)[0])
    place = unmixed(unmixed(tie) ^ key) ^ (feature << 40) % 2**64

    assert unit == place * pow(0x100000001B3, -1, 2**64) % 2**64


def test_a_rank_that_nobody_has_is_a_place_all_the_same():
    """Columns that are missing in all rows have words as others have, and no record."""
    kind = np.array([ORDERED_WITH_MISSING, 0], np.uint8)
    layout, at = layout_of(kind, 1), np.arange(9, dtype=np.uint64)
    codes = np.stack([np.full(9, MISSING, np.uint16), np.arange(9, dtype=np.uint16)])
    batch = Batch(codes.T, np.zeros(9, np.int32), at, at)
    sums = RuleSums(layout, 2, 0, (), 9)
    found = told(sums, batch, [9], 5, 2)

    assert (2, 2**16) == found[1].shape
    assert [0, 1] == found[1].sum(axis=1).tolist()
    assert [4] == [record.code for record in sums.records(found)]


COLUMNS = [ps.Number("a", 0, 1), ps.Number("b", 0, 1, missing="level"), ps.Flag("c")]
LABEL, NUMBER = ps.Label("y", [0, 1]), ps.Number("y", 0, 1)


@pytest.mark.parametrize("rows", [300, 301])
@pytest.mark.parametrize(("target", "options"), [
    (LABEL, {}), (LABEL, {"depth": 2}), (LABEL, {"joint": "triple", "epsilon": 9}),
    (NUMBER, {"numeric": "ranks"})], ids=str)
def test_both_ways_make_one_summary(rows, target, options, monkeypatch):
    """All passes of a plan, of a fixed size and not, with the keys of one table."""
    monkeypatch.setattr(placed, "FEW", 0)
    domain = ps.Domain(COLUMNS, target=target)
    plan = methods.plan("rule-sieve", domain, rows=rows, **{"epsilon": 1, "k": 3, **options})
    rng, at = np.random.default_rng(rows), np.arange(rows, dtype=np.uint64)
    codes = np.stack([rng.choice([7, 9], rows), rng.choice([5, MISSING], rows),
                      rng.integers(0, 2, rows)]).astype(np.uint16)
    batch = Batch(codes.T, rng.integers(0, 2, rows).astype(np.int32), at, at)
    usual, ends = replace(plan.summarise, whole=None), [rows // 3, rows]

    assert 4 == len(usual.stages)
    assert 6 == len(usual.adding.stages)
    assert flat(usual([batch], 3)).tolist() == flat(
        usual.adding(parts_of(batch, ends), 3)).tolist()


def test_a_rank_beyond_the_counts_leads_nowhere():
    """Made-up rows may have fewer than a rank before them: bits 0, and no fault."""
    at = Placed(Order(3), np.array([[0, 0]]), (0,), np.zeros(1, np.uint64))

    assert [0] == at.among(np.zeros((1, 2**16), np.int64)).begun.tolist()
