"""NoisyHistogram: counts, what one unit moves, the plan, the promise, and what is made of it."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest

import every_method
import privsieve as ps
import tables
from privsieve.errors import (
    DomainError,
    ParameterError,
    SchemaError,
)
from privsieve.fit import fit
from privsieve.methods.histogram import released
from privsieve.methods.histogram.noisy_histogram import Axis
from privsieve.methods.histogram.released import CountTable, nearest, scaled, shared
from privsieve.noise.streams import replay
from privsieve.rows import open_source, resolve
from privsieve.rows.batch import Passes
from privsieve.rows.cells import encoder
from privsieve.rows.room import Room
from test_merge import cut

ROWS, WARD = every_method.ROWS, every_method.WARD
plan = partial(ps.plan, "noisy-histogram")
BOX = ps.Domain.box(0, 1, columns=4)


def planned(domain=BOX, **options):
    """A plan of one table."""
    return plan(domain, **{"epsilon": 1, "rows": 3000, **options})


def summed(planned, batches, key=1):
    """The private counts of a plan."""
    return planned.summarise(batches, key)


def table(rows=ROWS):
    """A made-up ward with its target."""
    return every_method.table(rows)[[*WARD.names, "back"]]


def naive(batch, letters, bins, classes, kept=None):
    """Counts of cells by loops: the place of each row, digit by digit."""
    counts = {}
    for i in range(len(batch)) if kept is None else kept:
        place = 0
        for code, letter in zip(batch.codes[i].tolist(), letters, strict=True):
            size = {"f": 2, "c": 4, "w": 31}.get(letter, bins + (letter == "m"))
            used = 65535 if letter == "m" else 65536
            place = place * size + (code if letter in "fcw" else math.floor(
                Fraction(code * bins, used)))
        place = place * classes + int(batch.label[i])
        counts[place] = counts.get(place, 0) + 1
    return counts


def as_cells(summary):
    """A dense or sparse table as a mapping."""
    places = getattr(summary, "places", np.arange(len(summary.counts)))
    return {int(p): int(c) for p, c in zip(places, summary.counts, strict=True) if c}


# counts


@pytest.mark.parametrize("delta", [0, "1e-9"])
@pytest.mark.parametrize("seed", range(20))
def test_counts_equal_the_loops(seed, delta):
    """Numbers, missing levels, flags, categories and classes: dense and sparse equal loops."""
    rng = np.random.default_rng(seed)
    letters = "".join(rng.choice(list("nnmfcw"), rng.integers(1, 5)))
    classes, bins, n = int(rng.integers(2, 5)), int(rng.integers(1, 9)), int(rng.integers(0, 60))
    batch = tables.batch(tables.random_codes(rng, letters, n), rng.integers(0, classes, n))
    plan = planned(tables.domain(letters, classes), bins=bins, delta=delta)

    assert naive(batch, letters, bins, classes) == as_cells(summed(plan, [batch]))


@pytest.mark.parametrize("delta", [0, "1e-9"])
def test_any_cut_gives_the_same_counts(delta):
    """One batch or many: identical integers, also where a person's rows lie in several."""
    rng = np.random.default_rng(5)
    domain = tables.domain("nmfc", 3, person="id", persons=90, rows_per_person=3)
    whole = tables.batch(tables.random_codes(rng, "nmfc", 200), rng.integers(0, 3, 200),
                         rng.integers(0, 70, 200))
    once, several = (as_cells(summed(planned(domain, delta=delta), batches, key=7))
                     for batches in ([whole], cut(whole, rng, 9)))

    assert once == several


def test_what_waits_for_a_choice_is_read_again():
    """The table after a choice is of the rows that chose, however cut and wherever they lie."""
    rng = np.random.default_rng(6)
    plan = planned(tables.domain("nmfc", 3), k=2, choice={"depth": 1, "class_prior": None})
    whole = tables.batch(tables.random_codes(rng, "nmfc", 200), rng.integers(0, 3, 200))
    parts = Passes(iter(cut(whole, rng, 3)), Room(memory=0))

    assert plan.mechanism(summed(plan, [whole]), replay(3)) == plan.mechanism(
        summed(plan, parts), replay(3))


def test_missing_is_a_cell_and_other_is_a_cell():
    """A missing level and what no value lists are counted where the domain puts them."""
    domain = ps.Domain([ps.Number("age", 0, 100, missing="level"), ps.Category("ward", ["A", "B"])])
    source = open_source(pd.DataFrame({"age": [10, None, 90, 100], "ward": ["A", "Z", None, "B"]}))
    plan = planned(domain, columns=["age", "ward"], bins=2, epsilon=10)
    release = fit(plan, source, noise=replay(1))
    rows = plan.summarise(
        [tables.batch([[6553, 0], [65535, 2], [58981, 2], [65534, 1]], [0] * 4)], 1)

    assert [[1, 0, 0], [0, 1, 1], [0, 0, 1]] == rows.counts.reshape(3, 3).tolist()
    assert [3, 3] == list(release.body["cells"]["shape"])


def test_a_numeric_target_has_bins():
    """A target that is a number is cut like a column."""
    domain = ps.Domain.box(0, 1, columns=2, target=(0, 500))
    plan = planned(domain, columns=["x1"], bins={"y": 5, "x1": 3})
    counts = plan.summarise([tables.batch([[0, 0], [0, 65535]], [0, 65535])], 1).counts

    assert ("15", 1, 1) == (plan.forecast["cells"], counts[0], counts[-1])


# the plan


def test_the_forecast_is_what_is_measured():
    """Noise of a cell, and its mean share of the rows: as 200 tables show."""
    plan = planned(columns=["x0", "x1"], bins=8, rows=1000)
    drawn = np.array([plan.mechanism(summed(plan, []), replay(seed)).counts for seed in range(200)])

    assert abs(drawn.std() - float(plan.forecast["noise_each"])) < 0.1
    assert abs(np.abs(drawn).sum(axis=1).mean() / 2000
               - float(plan.forecast["expected_error"])) < 0.005


@pytest.mark.parametrize(("options", "word"), [
    ({"columns": ["x0", "x9"]}, "'x9' is not a column"), ({"columns": ["x0", "x0"]}, "twice"),
    ({"columns": []}, "columns has no name"), ({"columns": ["x0"], "k": 1}, "one of them"),
    ({"columns": ["y"]}, "not a column"),
    ({"bins": 0}, "bins is 0"), ({"bins": 2.5}, "bins"), ({"bins": True}, "bins"),
    ({"bins": 65535}, "from 1 to 65534"), ({"bins": {"x9": 3}}, "not a column"),
    ({"bins": {"x0": 0}}, "'x0'"), ({"bins": {"y": 3}}, "have bins"),
    ({"bins": 40}, "at most 26 bins"), ({"k": 5}, "the domain has 4"), ({"k": 0}, "at least 1"),
    ({"k": 2, "share": 0}, "share"), ({"k": 2, "share": 1}, "share"),
    ({"k": 2, "share": "all"}, "share"), ({"k": 2, "choice": {"delta": 1}}, "not an option"),
    ({"choice": {"depth": 1}}, "no columns are chosen"), ({"k": 3, "bins": 90}, "at most 80 bins"),
    ({"epsilon": "1e-9"}, "larger epsilon"), ({"epsilon": None}, "epsilon"),
    ({"delta": "0.1"}, "much smaller"), ({"rows": 0}, "at least 1"),
], ids=str)
def test_public_mistakes_are_refused(options, word):
    """Each names the option and the way out."""
    with pytest.raises(ParameterError, match=word):
        planned(**options)


def test_more_cells_need_a_delta():
    """Beyond 2^20 cells a table is refused, and with a delta named by threshold."""
    wide = ps.Domain.box(0, 1, columns=12)
    with pytest.raises(ParameterError, match="give a delta"):
        planned(wide)
    with pytest.raises(ParameterError, match=r"2\^53"):
        planned(ps.Domain.box(0, 1, columns=20), delta="1e-9")

    plan = planned(wide, delta="1e-9", rows=60_000)
    assert str(2 * 8**12) == plan.forecast["cells"]
    assert "expected_error" not in plan.forecast


@pytest.mark.parametrize(("options", "words"), [
    ({"bins": 20, "columns": ["x0", "x1"], "rows": 1000}, ("up to 357", "at most 13 bins")),
    ({"delta": "1e-9", "rows": 200}, ("only cells of about 42", "at most 4 cells")),
    ({"k": 1, "rows": 9, "bins": 2}, ("close to random",)),
])
def test_a_hopeless_plan_says_so(options, words):
    """Mostly noise is said before the charge, with the largest table that would not be."""
    warning = planned(**options).warning

    assert all(word in warning for word in words), warning


# a choice first


def strong(n=3000):
    """Two columns of eight that show the class."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, n)
    X = rng.random((n, 8))
    for j in (2, 5):
        X[:, j] = np.clip(0.4 * y + 0.6 * X[:, j], 0, 1)
    return X, y


WIDE = ps.Domain.box(0, 1, columns=8)


@pytest.mark.parametrize("options", [
    {}, {"delta": "1e-9"}, {"share": "0.2"}, {"choice": {"class_prior": "centred"}},
    {"choice": {"joint": "pair"}}, {"target": False}], ids=str)
def test_columns_are_chosen_and_tabulated_in_one_release(options, tmp_path):
    """Strong columns are chosen, and their table follows: one charge, one certificate."""
    X, y = strong()
    ledger = ps.Ledger(str(tmp_path / "budget.db"), population="clinic")
    ledger.grant(3, delta="1e-6")
    model = ps.NoisyHistogram(n_features_to_select=2, bins=4, epsilon=2, domain=WIDE,
                              ledger=ledger, **options).fit(X, y)
    release = model.release_

    assert ("x2", "x5") == release.selected
    assert Fraction(2) == ledger.spent()
    assert () == ps.verify(release.certificate, release.body, ledger=ledger.path).reasons
    assert ("2", "histogram") == (release.certificate["claim"]["epsilon"],
                                  release.certificate["claim"]["kind"])
    true = np.histogramdd(np.column_stack([X[:, [2, 5]], y]), bins=[4, 4, 2],
                          range=[(0, 1), (0, 1), (-0.5, 1.5)])[0]
    assert np.abs(model.marginal(["x2", "x5"]) - true.sum(axis=2)).max() < 150


def test_the_shares_add_up():
    """Choice and table have whole units of the ledger, and all of epsilon together."""
    plan = planned(WIDE, k=2, epsilon="0.000000901", share="0.333", bins=2, choice={"depth": 1})
    run = plan.mechanism.keywords["run"]

    assert (Fraction(300, 10**9), Fraction(601, 10**9)) == (run.sieve.cost.epsilon, run.epsilon)
    assert plan.cost.epsilon == run.sieve.cost.epsilon + run.epsilon
    assert (0, 0) == (run.sieve.cost.delta, run.delta)
    assert plan.noise.amount == 2 / run.epsilon


def test_a_choice_of_all_columns_is_none():
    """K = d spends all of epsilon on the table."""
    plan = planned(k=4, bins=3)

    assert (None, Fraction(2)) == (plan.settings["choice"], plan.noise.amount)


def test_the_largest_choice_decides_the_size():
    """No choice may ask for a table that would be refused: the plan counts the largest."""
    domain = ps.Domain([ps.Flag("a"), *(ps.Category(n, [str(v) for v in range(40)])
                                        for n in "bcd")], target=ps.Label("y", [0, 1]))

    assert str(41 * 41 * 2) == planned(domain, k=2).forecast["cells"]


def test_the_delta_is_the_tables():
    """The choice gets no delta: all of it is the threshold's."""
    run = planned(WIDE, k=2, delta="1e-6", bins=4).mechanism.keywords["run"]

    assert (Fraction(1, 10**6), 0) == (run.delta, run.sieve.cost.delta)


# the estimator: what all methods promise is in tests/test_laws.py


@pytest.fixture
def ledger(tmp_path):
    """Three epsilon for one population."""
    new_ledger = ps.Ledger(str(tmp_path / "budget.db"), population="clinic")
    new_ledger.grant(epsilon=3, delta="1e-3")
    return new_ledger


OPTIONS = [{"columns": ["age", "ward"]}, {"n_features_to_select": 2},
           {"columns": ["age", "ward"], "delta": "1e-6", "bins": 2}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_release_folder_serves(options, ledger, tmp_path):
    """What a folder holds is verified, loaded, and gives the same table."""
    model = ps.NoisyHistogram(epsilon=1, domain=WARD, ledger=ledger, **options).fit(table())
    model.release_.save(tmp_path / "out")
    again = ps.NoisyHistogram.of_release(ps.load(tmp_path / "out"))

    assert () == ps.verify(tmp_path / "out" / "certificate.json",
                           tmp_path / "out" / "release.json", ledger=ledger.path).reasons
    assert model.counts_.tolist() == again.counts_.tolist()
    assert ROWS == again.counts_.sum()
    assert set(model.release_.selected) | {"back"} == set(again.sample(3))


def test_a_release_of_another_kind_is_refused():
    """A selection holds no table, and a damaged table is none."""
    chosen = ps.RuleSieve(1, epsilon=1, domain=WARD).fit(table()).release_
    with pytest.raises(SchemaError, match="no table of counts"):
        ps.NoisyHistogram.of_release(chosen)
    body = fit(planned(columns=["x0"]), open_source(np.zeros((9, 4)), np.zeros(9)),
               noise=replay(1)).body
    for cells in ({"shape": [9, 2]}, {"q": [1]}, {"q": [2**60] * 16}, {"place": [99] * 16},
                  {"place": "some"}, {"names": ["x9", "y"]}):
        with pytest.raises(SchemaError):
            CountTable.of({**body, "cells": {**body["cells"], **cells}})


# afterwards


@pytest.mark.parametrize("seed", range(40))
def test_the_nearest_table_is_the_nearest(seed):
    """No table of counts from 0 on with this sum is nearer: all of them are looked at."""
    rng = np.random.default_rng(seed)
    noisy, total = rng.integers(-6, 9, 4), int(rng.integers(0, 9))
    nearest_rows = nearest(noisy, total)
    best = min(((np.array(c) - noisy) ** 2).sum()
               for c in itertools.product(range(total + 1), repeat=4) if sum(c) == total)

    assert (total, True) == (nearest_rows.sum(), bool((nearest_rows >= 0).all()))
    assert best == ((nearest_rows - noisy) ** 2).sum()


def test_shares_keep_their_sums():
    """Scaling and sharing out are exact in sum and within one of each share."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        counts, n = rng.integers(0, 50, 12), int(rng.integers(1, 300))
        counts[0] += 1
        for counts_now in (scaled(counts, n), shared(counts, n, rng)):
            assert n == counts_now.sum()
            assert (np.abs(counts_now - counts * n / counts.sum()) < 1).all()
    assert shared(np.array([3, 5, 0]), 8, rng).tolist() == [3, 5, 0]
    drawn = sum(shared(np.array([1, 2, 4]), 5, rng) for _ in range(4000)) / 4000
    assert np.abs(drawn - np.array([5, 10, 20]) / 7).max() < 0.05


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_margins_agree(delta):
    """Margins are sums of one table, whose total is the public number of rows."""
    X, y = strong()
    model = ps.NoisyHistogram(["x2", "x5"], bins=3, epsilon=1, delta=delta, domain=WIDE).fit(X, y)
    whole = model.counts_

    assert (3, 3, 2) == whole.shape
    assert (3000, True) == (whole.sum(), bool((whole >= 0).all()))
    assert whole.sum(axis=1).tolist() == model.marginal(["x2", "y"]).tolist()
    assert whole.sum(axis=(0, 1)).tolist() == model.marginal("y").tolist()
    assert model.marginal(["x2", "y"]).T.tolist() == model.marginal(["y", "x2"]).tolist()
    assert ["0", "1"] == model.cells("y")


def test_a_private_number_of_rows_is_not_told():
    """Where rows come and go, or persons have several, the sum is the noisy one."""
    X, y = strong()
    domain = ps.Domain(WIDE.columns, target=WIDE.target, neighbours="add-remove", rows=2500)
    model = fit(plan(domain, columns=["x2"], epsilon=1), open_source(X, y), noise=replay(4))
    table = CountTable.of(model.body)

    assert sum(model.body["cells"]["q"]) == table.counts.sum() != 3000
    assert abs(table.counts.sum() - 3000) < 60


@pytest.mark.parametrize(("options", "word"), [
    (["x9"], "not a column"), (["x2", "x2"], "once"), (["x0"], "not a column")])
def test_wrong_margins_are_refused(options, word):
    """A margin names columns of the table, each once."""
    X, y = strong()
    model = ps.NoisyHistogram(["x2", "x5"], bins=3, epsilon=1, domain=WIDE).fit(X, y)

    with pytest.raises(ParameterError, match=word):
        model.marginal(options)
    for n in (-1, 2.5, True, released.LARGEST_SAMPLE + 1):
        with pytest.raises(ParameterError, match="whole number"):
            model.sample(n)


# synthetic rows

COLUMNS = [
    ps.Number("a", 0, 110), ps.Number("b", -3.3, 1e6, missing="level"),
    ps.Number("c", 1e-3, 40, scale="log"), ps.Number("d", 2, 3000, scale="log", missing="level"),
    ps.Number("e", 1e9, 1e9 + 1), ps.Number("f", 0, 1e-7), ps.Flag("g"),
    ps.Category("h", ["A", "B"]), ps.Category("i", [3, 1, "x"]), ps.Category("j", ["other", "o"]),
    ps.Date("k", "2020-01-01", "2024-12-31"), ps.Date("l", "2020-01-01T06:00", "2020-02-01"),
    ps.Date("m", "1950-03-01", "2024-12-31", missing="level"),
    ps.Label("n", ["no", "yes"]), ps.Label("o", [2, 7, 9]),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
@pytest.mark.parametrize("bins", [1, 3, 8, 50])
def test_synthetic_values_are_read_into_their_cells(column, bins):
    """What is made for a cell lies within the bounds, and the reader puts it there again."""
    axis = Axis(column, bins if isinstance(column, ps.Number | ps.Date) else 0)
    cells = np.repeat(np.arange(axis.cells), 300)
    values = released.values_of(axis, cells, np.random.default_rng(1))
    read = encoder(column, ".")
    codes = read(values if values.dtype.kind in "biufM" else list(values)).astype(np.int64)
    again = codes * axis.bins // axis.used if axis.bins else codes

    assert [] == cells[again != cells].tolist()[:5]
    assert axis.cells == len(released.cell_names(axis))
    if isinstance(column, ps.Number):
        inside = values[~np.isnan(values)]
        assert column.low <= inside.min() <= inside.max() <= column.high


def test_numbers_are_spread_over_their_bins():
    """In a bin every part of it is as likely as every other, on the column's own scale."""
    from scipy import stats

    rng = np.random.default_rng(2)
    plain = released.values_of(Axis(COLUMNS[0], 4), np.full(20_000, 2), rng)
    logged = np.log(released.values_of(Axis(COLUMNS[2], 4), np.full(20_000, 1), rng))
    days = released.values_of(Axis(COLUMNS[10], 4), np.full(20_000, 3), rng).astype(np.int64)
    step = np.log(40 / 1e-3) / 4
    assert stats.kstest(plain, "uniform", (55, 27.5)).pvalue > 1e-6
    assert stats.kstest(logged, "uniform", (np.log(1e-3) + step, step)).pvalue > 1e-6
    assert (dt.date(2024, 12, 31) - dt.date(1970, 1, 1)).days == days.max()
    assert len(set(days)) == days.max() - days.min() + 1


def test_synthetic_rows_have_the_table_s_counts():
    """As many rows as the table has give its counts; a frame is made where asked for."""
    X, y = strong()
    model = ps.NoisyHistogram(["x2", "x5"], bins=3, epsilon=1, domain=WIDE).fit(X, y)
    rows = model.sample(3000, as_frame=True)
    counts = np.histogramdd(rows[["x2", "x5", "y"]].to_numpy(), bins=[3, 3, 2],
                            range=[(0, 1), (0, 1), (-0.5, 1.5)])[0]

    assert np.abs(counts - model.counts_).max() <= 1  # a third of a code lies on either side
    assert (["x2", "x5", "y"], 0) == (list(rows.columns), len(model.sample(0)["y"]))
    assert rows["y"].tolist() != sorted(rows["y"])
    assert model.sample(50)["x2"].tolist() != model.sample(50)["x2"].tolist()


def test_an_empty_table_still_gives_rows():
    """Where no cell passes the threshold, nothing is known, and rows are spread over the domain."""
    X, y = strong(60)
    release = fit(plan(WIDE, epsilon="0.1", delta="1e-9", rows=60), open_source(X, y),
                  noise=replay(1))
    table = CountTable.of(release.body)
    rows = table.sample(500, np.random.default_rng(0))

    assert (0, 0) == (len(table.places), table.marginal(["x0"]).sum())
    assert 0 <= rows["x0"].min() < 0.2 < 0.8 < rows["x0"].max() <= 1


@pytest.mark.parametrize("choice", [{}, {"numeric": "median-cut"}], ids=str)
def test_a_numeric_target_chooses_and_is_tabulated(choice):
    """Columns are chosen for a number, and counted together with its bins."""
    rng = np.random.default_rng(4)
    X = rng.random((3000, 5))
    domain = ps.Domain.box(0, 1, columns=5, target=(0, 2))
    model = ps.NoisyHistogram(n_features_to_select=1, bins=4, epsilon=4, choice=choice,
                              domain=domain).fit(X, 2 * X[:, 3])

    assert ("x3",) == model.release_.selected
    assert np.diag(model.counts_).sum() > 2800


@pytest.mark.parametrize("options", [{"epsilon": 1000}, {"epsilon": "0.000001"}], ids=str)
def test_almost_no_noise_and_almost_nothing_else(options):
    """The largest and the smallest epsilon are planned, released and used as any other."""
    domain = ps.Domain([ps.Flag("a")], neighbours="add-remove", rows=50)
    frame = pd.DataFrame({"a": [0] * 30 + [1] * 20})
    model = ps.NoisyHistogram(domain=domain, allow_weak=True, **options).fit(frame)

    assert float(model.release_.body["noise"]["each"]) > 0
    assert options["epsilon"] != 1000 or [30, 20] == model.counts_.tolist()
    assert 9 == len(model.sample(9)["a"])


def test_a_table_without_target_or_ledger():
    """A domain needs no target, and what all columns are needs no names."""
    domain = ps.Domain([ps.Flag("a"), ps.Category("b", ["x", "y"])])
    frame = pd.DataFrame({"a": [0, 1] * 300, "b": ["x", "y"] * 300})
    model = ps.NoisyHistogram(epsilon=2, domain=domain).fit(frame)
    source = open_source(frame)

    assert (2, 3) == model.counts_.shape
    assert ["no", "yes"] == model.cells("a")
    assert resolve(domain, source.shape(count_rows=True)).names == model.release_.selected
    with pytest.raises(DomainError, match="no domain"):
        ps.NoisyHistogram(epsilon=1).plan(rows=9)
