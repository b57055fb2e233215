"""Law: a row counts as its declared weight, exactly, and moves no count by more than the maximum.

The claim is [noisy-histogram](../src/privsieve/methods/histogram/noisy_histogram.proof.md).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.pipeline import make_pipeline

import privsieve as ps
import tables
from attacks import refuted
from data_makers import HOSTILE, csv_file
from every_method import ESTIMATORS
from privsieve.check.events import threshold_delta
from privsieve.errors import DomainError, ParameterError, SchemaError
from privsieve.fit import fit
from privsieve.methods import METHODS, options_of
from privsieve.methods.histogram.noisy_histogram import Tabling
from privsieve.methods.worst import pair
from privsieve.noise.streams import replay
from privsieve.public.domain import LARGEST_WEIGHT
from privsieve.public.domain_file import parse, to_toml
from privsieve.rows import open_source, resolve
from privsieve.rows.batch import batches
from privsieve.rows.cells import encoder
from privsieve.rows.inspect import inspect
from privsieve.summaries.persons import declared_weights
from test_merge import cut

ILL = (ps.Flag("ill"),)


def weighted(most, **options):
    """A domain of one flag, in which a row weighs `most` at most."""
    return ps.Domain(ILL, weight="w", weight_max=most, **options)


def weights_of(cells, most):
    """The weights that cells are read as."""
    domain = weighted(most)
    codes = encoder(domain.with_weight.columns[-1], ".")(cells)
    rows = np.column_stack([np.zeros(len(codes), np.uint16), codes])
    return declared_weights(tables.batch(rows, np.zeros(len(rows))), domain).tolist()


def planned(domain, **options):
    """The plan of a table of counts."""
    return ps.plan("noisy-histogram", domain, **{"epsilon": 1, "rows": 3, **options})


def counts(plan, X, key=1, rows=None):
    """The private counts of a table, as a mapping from cells."""
    source = open_source(X, csv=plan.domain.csv)
    resolve(plan.domain, source.shape(count_rows=False))
    summary = plan.summarise(batches(source, plan.coding, rows=rows, entropy=replay(1).bytes), key)
    places = getattr(summary, "places", range(len(summary.counts)))
    return {int(place): int(count) for place, count in zip(places, summary.counts, strict=True)}


# what a weight is


@pytest.mark.parametrize("most", [1, 2, 3, 5, 7, 10, 17, 255, 257, 1000, 4369,
                                  LARGEST_WEIGHT])
def test_whole_weights_are_exact(most):
    """Each whole number from 0 to the maximum is its own weight, as a number and as a text."""
    whole = list(range(most + 1))

    assert whole == weights_of(np.array(whole, float), most)
    assert whole == weights_of(list(map(str, whole)), most)


def test_the_rule_for_other_weights():
    """What lies outside is cut off, what is no number weighs nothing, and the rest is rounded."""
    cells = [-1, 0, 0.4, 0.6, 2.4, 4.6, 5, 6, 1e300, -1e300, math.inf, math.nan, None, "", "two",
             "3", "-3", True]

    assert [0, 0, 0, 1, 2, 5, 5, 5, 5, 0, 0, 0, 0, 0, 0, 3, 0, 1] == weights_of(cells, 5)


def test_no_cell_weighs_more_than_the_maximum_or_less_than_nothing():
    """Whatever a cell holds."""
    for most in (1, 3, LARGEST_WEIGHT):
        assert all(0 <= weight <= most for weight in weights_of(HOSTILE, most))
        codes = np.arange(65536, dtype=np.uint16)
        weights = declared_weights(tables.batch(np.stack([codes, codes], axis=1), codes),
                                 weighted(most))
        assert (0, most) == (weights.min(), weights.max())


def test_all_readers_weigh_alike(tmp_path):
    """CSV files, frames, Arrow tables and Parquet files give the same sums."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"w": rng.integers(-2, 14, 300).astype(float),
                          "ill": rng.integers(0, 2, 300)})
    frame.loc[::7, "w"] = np.nan
    frame.loc[::11, "w"] = 3.3
    plan, path = planned(weighted(10)), tmp_path / "t.parquet"
    pl.DataFrame(frame).write_parquet(path)
    true = frame["w"].fillna(0).clip(0, 10).round().groupby(frame["ill"]).sum().astype(int)
    csv = csv_file(tmp_path, frame.to_csv(index=False, header=False).encode(), b"w,ill\n")
    frames = frame, frame.astype(str), pl.DataFrame(frame), pa.Table.from_pandas(frame)

    for X in (*frames, path, csv):
        assert true.to_dict() == counts(plan, X)


# sums


def naive(batch, most, sizes, kept=None):
    """Sums of weights by loops."""
    sums = {}
    for row in range(len(batch)) if kept is None else kept:
        *cells, code = batch.codes[row].tolist()
        weight = 0 if code == 65535 else round(Fraction((2 * code + 1) * most, 2 * 65535))
        place = 0
        for cell, size in zip([*cells, int(batch.label[row])], sizes, strict=True):
            place = place * size + cell
        sums[place] = sums.get(place, 0) + weight
    return {place: count for place, count in sums.items() if count}


@pytest.mark.parametrize("delta", [0, "1e-9"])
@pytest.mark.parametrize("seed", range(20))
def test_counts_are_sums_of_weights_however_cut(seed, delta):
    """Dense and sparse tables equal the loops, in one batch or in many."""
    rng = np.random.default_rng(seed)
    most = int(rng.choice([1, 2, 9, 500]))
    domain = tables.domain("fc", 3, weight="w", weight_max=most)
    codes = np.column_stack([tables.random_codes(rng, "fc", 60), tables.random_codes(rng, "m", 60)])
    whole = tables.batch(codes, rng.integers(0, 3, 60))
    plan = planned(domain, delta=delta)
    expected = naive(whole, most, (2, 4, 3))

    for parts in ([whole], cut(whole, rng, 7)):
        summary = plan.summarise(parts, 1)
        places = getattr(summary, "places", np.arange(len(summary.counts)))
        totals = dict(zip(places.tolist(), summary.counts.tolist(), strict=True))
        assert expected == {place: count for place, count in totals.items() if count}
        assert not delta or 0 not in totals.values()  # a cell without weight leaves no trace


def test_rows_of_a_person_each_have_their_weight():
    """Of each person as many rows count as declared, each by its own weight."""
    domain = replace(weighted(5), person="who", persons=3, rows_per_person=2)
    frame = pd.DataFrame({"ill": [1, 1, 1, 0, 1], "w": [5, 5, 5, 3, 4],
                          "who": ["a", "a", "a", "b", None]})

    assert {0: 3, 1: 10} == counts(planned(domain), frame)
    assert 2 * 2 * 5 == planned(domain).mechanism.keywords["run"].sensitivity


# exact: all tables of a tiny domain, and all of their neighbours

MOST = 2


WEIGHTS = [None, 0, 1, 2]
CODES = dict(zip(WEIGHTS, encoder(weighted(MOST).with_weight.columns[-1], ".")(WEIGHTS),
                 strict=True))
ROWS = list(itertools.product((0, 1), CODES))


def neighbours(plan, *, replaces):
    """The counts of both cells, by the shipped summary, of all neighbours of up to three rows."""
    @cache
    def counted(rows):
        codes = np.array([[ill, CODES[weight]] for ill, weight in rows]).reshape(len(rows), 2)
        summary = plan.summarise([tables.batch(codes, np.zeros(len(rows)))], 1)
        places = getattr(summary, "places", range(2))
        held = dict(zip(map(int, places), summary.counts.tolist(), strict=True))
        return held.get(0, 0), held.get(1, 0)

    pairs = set()
    for size in (1, 2, 3):
        for rows in itertools.combinations_with_replacement(ROWS, size):
            for at, first in enumerate(rows):
                rest = rows[:at] + rows[at + 1:]
                for other in [(*rest, row) for row in ROWS] if replaces else [rest]:
                    pair = counted((first, *rest)), counted(other)
                    pairs |= {pair, pair[::-1]}
    return pairs


@pytest.mark.parametrize("neighbour", ["replace-one", "add-remove"])
def test_no_answer_is_more_likely_than_promised(neighbour):
    """The largest ratio of all answers' chances over all neighbours is e^epsilon, and no more.

    The noise is the law of theorem 2 of discrete.proof.md, with the mean that the plan decided.
    """
    replaces, epsilon = neighbour == "replace-one", Fraction(1, 2)
    domain = weighted(MOST, **({} if replaces else {"neighbours": neighbour, "rows": 3}))
    plan = planned(domain, epsilon=epsilon)
    q = math.exp(-1 / plan.noise.amount)
    answers = list(itertools.product(range(-12, 18), repeat=2))
    law = cache(lambda held: [q ** (abs(y[0] - held[0]) + abs(y[1] - held[1])) for y in answers])
    pairs = neighbours(plan, replaces=replaces)
    worst = max(p / r for first, other in pairs for p,
                r in zip(law(first), law(other), strict=True))

    assert math.isclose(worst, math.exp(epsilon), rel_tol=1e-9)
    # it is attained by the largest weight that moves, or comes
    assert max(sum(map(abs, np.subtract(first, other))) for first, other in pairs) == (
        plan.mechanism.keywords["run"].sensitivity) == (2 if replaces else 1) * MOST


def named_law(held, q, threshold, last):
    """The chances of each answer of one cell: not named, or named with a count."""
    if not held:
        return [1.0] + [0.0] * (last - threshold + 1)
    named = [(1 - q) / (1 + q) * q ** abs(y - held) for y in range(threshold, last + 1)]
    return [1 - math.fsum(named), *named]


@pytest.mark.parametrize("neighbour", ["replace-one", "add-remove"])
def test_named_cells_spend_no_more_than_their_delta(neighbour):
    """Of all neighbours of a tiny domain none loses more than delta at epsilon, and some nearly do.

    The chances of all answers are added up: two cells, each not named or named with its count.
    """
    replaces, epsilon, delta = neighbour == "replace-one", 2.0, 0.05
    domain = weighted(MOST, **({} if replaces else {"neighbours": neighbour, "rows": 3}))
    plan = planned(domain, epsilon=epsilon, delta=str(delta))
    q, least = math.exp(-1 / plan.noise.amount), int(plan.settings["threshold"])
    law = cache(lambda held: np.array(named_law(held, q, least, least + 80)))
    lost = 0.0
    for pair_of_counts in neighbours(plan, replaces=replaces):
        p, r = (np.outer(law(held[0]), law(held[1])) for held in pair_of_counts)
        lost = max(lost, np.maximum(0, p - math.exp(epsilon) * r).sum())

    assert 0.2 * delta < lost <= delta
    assert threshold_delta(plan.event) <= delta


def test_one_weight_moves_no_count_beyond_the_plan():
    """Random frames, in which one row is anything at all."""
    rng, plan = np.random.default_rng(9), planned(weighted(7), rows=9)
    moves = []
    for _ in range(150):
        frame = pd.DataFrame({"ill": rng.integers(0, 2, 9).astype(object),
                              "w": rng.integers(0, 12, 9).astype(object)})
        other = frame.copy()
        other.loc[4] = [1 - frame.loc[4, "ill"], HOSTILE[rng.integers(len(HOSTILE))]]
        first, two = (counts(plan, table, rows=9) for table in (frame, other))
        moves.append(sum(abs(first[cell] - two[cell]) for cell in (0, 1)))

    assert 7 < max(moves) <= plan.mechanism.keywords["run"].sensitivity == 14


# attack


def test_noise_that_forgets_the_weight_is_caught(monkeypatch):
    """A twin whose noise is made for rows of weight 1 is found out on the worst pair."""
    monkeypatch.setattr(Tabling, "unit_count", property(lambda run: run.domain.rows_per_person))
    worst = pair("noisy-histogram", "weighted")

    assert refuted(worst.attacked(1), worst.first, worst.second, epsilon=1, profile=3000)


# the release


@pytest.mark.parametrize("options", [{}, {"delta": "1e-6"}], ids=str)
def test_a_weighted_release_is_planned_again(options, tmp_path):
    """The release says the weight, `verify` plans with it, and the sum is the noisy one."""
    frame = pd.DataFrame({"ill": [0] * 300 + [1] * 200, "w": [1] * 300 + [5] * 200})
    ledger = ps.Ledger(str(tmp_path / "budget.db"), population="clinic")
    ledger.grant(2, delta="1e-3")
    model = ps.NoisyHistogram(epsilon=2, domain=weighted(5), ledger=ledger, **options).fit(frame)
    model.release_.save(tmp_path / "out")
    again = ps.NoisyHistogram.of_release(ps.load(tmp_path / "out"))
    body = {**model.release_.body}

    assert ps.verify(tmp_path / "out", ledger=ledger.path).valid
    assert again.counts_.sum() == sum(body["cells"]["q"])
    assert np.abs(again.counts_ - [300, 1000]).max() < 120
    assert 1 < len(model.sample(50)["ill"])
    for wrong in ({"weight_max": 1}, {"weight": None}, {"weight_max": 0}, {"weight": "ill"}):
        changed = {**body, "domain": {**body["domain"], **wrong}}
        assert not ps.verify(model.release_.certificate, changed).valid
    page = (tmp_path / "out" / "report.html").read_text()
    assert "What is the total weight of the rows for each" in page
    assert "the noisy sum" in page


def test_a_domain_without_weights_is_as_before():
    """No field says that there is none, so that no digest moves."""
    plain = ps.Domain(ILL)

    assert not {"weight", "weight_max"} & plain.json().keys()
    assert plain.with_weight is plain
    assert {"weight": "w", "weight_max": 9}.items() <= weighted(9).json().items()
    assert weighted(9).digest() not in (plain.digest(), weighted(8).digest())


def test_a_domain_file_with_a_weight():
    """A domain file declares both keys, and is written back as it was."""
    domain = parse('[table]\nunit = "row"\nweight = "w"\nweight_max = 20\n[[column]]\n'
                   'name = "ill"\nkind = "flag"\n')

    assert domain == weighted(20) == parse(to_toml(domain))
    assert "column w, from 0 to 20" in str(domain)


@pytest.mark.parametrize(("options", "words"), [
    ({"weight": "w"}, "weight_max is missing: without a public maximum"),
    ({"weight_max": 3}, "needs table.weight"), ({"weight": "w", "weight_max": 0}, "1 to 10000"),
    ({"weight": "w", "weight_max": 2.5}, "1 to"), ({"weight": "w", "weight_max": True}, "1 to"),
    ({"weight": "w", "weight_max": LARGEST_WEIGHT + 1}, "from 1 to"),
    ({"weight": "ill", "weight_max": 3}, "named twice"), ({"weight": 3, "weight_max": 3}, "name")])
def test_wrong_weights_are_refused(options, words):
    """A weight needs a public maximum, and a column of its own."""
    with pytest.raises(DomainError, match=words):
        ps.Domain(ILL, **options)


def test_a_hopeless_plan_counts_rows_of_the_largest_weight():
    """The warning does not depend on the unit of the weights: noise grows with the maximum."""
    texts = [planned(weighted(most), rows=rows, **options).warning for most in (1, 4)
             for rows, options in ((3, {}), (30, {"delta": "1e-6"}))]

    assert "column w, from 0 to 4" in str(planned(weighted(4)))
    largest = " rows of the largest weight on average"
    assert texts[2] == texts[0].replace(" rows on average", largest)
    assert "rows of the largest weight or more are named, and there are 30 rows" in texts[3]
    assert planned(weighted(4), rows=100).warning is None
    assert "expected_error" not in planned(weighted(4)).forecast


# refused elsewhere


@pytest.fixture
def ledger(tmp_path):
    """A ledger of which nothing is spent."""
    budget = ps.Ledger(str(tmp_path / "budget.db"), population="clinic")
    budget.grant(9, delta="1e-3")
    return budget


@pytest.mark.parametrize("method", [each for each in ESTIMATORS if each.name in METHODS], ids=repr)
def test_methods_that_count_rows_alike_refuse_a_weight(method, ledger):
    """Before any charge, with a sentence that names what supports it; which ones, a class says."""
    table = method.table().assign(w=1)
    able = options_of(method.name).takes_weights and "n_features_to_select" not in method.options
    weighted_method = method.estimator(ledger=ledger,
                                       domain=replace(method.domain, weight="w", weight_max=3))
    if able:
        weighted_method.fit(table)
    else:
        with pytest.raises((DomainError, ParameterError),
                           match=r"noisy-histogram$|rows alike; name the columns"):
            weighted_method.fit(table)
    assert able == bool(ledger.spent())


def test_sessions_and_publications_refuse_a_weight(ledger):
    """Nor do a session and what counts groups of rows take one silently."""
    domain = ps.Domain.box(0, 1, columns=2, target=(0, 1))
    frame = pd.DataFrame(np.ones((9, 4)), columns=["x0", "x1", "y", "w"])
    with pytest.raises(DomainError, match="a kernel session counts all rows alike"):
        ps.KernelRidgeSession(frame, domain=replace(domain, weight="w", weight_max=3),
                              ledger=ledger)
    with pytest.raises(DomainError, match="groups count rows or people"):
        ps.PublishableColumns(2, domain=weighted(3)).fit(pd.DataFrame({"ill": [1, 0], "w": 1}))
    assert 0 == ledger.spent()


def test_tables_without_the_column_are_refused(ledger):
    """An array has no names, and a frame or file has to hold the column."""
    histogram = ps.NoisyHistogram(epsilon=1, domain=weighted(3), ledger=ledger)
    for X, words in ((np.ones((9, 2)), "the weight 'w' is a column, but an array has no names"),
                     (pd.DataFrame({"ill": [1, 0]}), "column 'w' is not in the table"),
                     (pd.DataFrame({"ill": [1, 0], "w": pd.to_timedelta([1, 2])}), "unsupported"),
                     (pd.DataFrame({"ill": [1, 0], "w": 1, "x": 1}), "'x', which the domain")):
        with pytest.raises(SchemaError, match=words):
            histogram.fit(X)
    assert 0 == ledger.spent()


def test_inspect_looks_at_weights():
    """The holder sees which weights are cut off or are no numbers."""
    inspection = inspect(pd.DataFrame({"ill": [1, 0, 1], "w": ["9", "x", "1"]}), weighted(3))
    weights = inspection.findings[-1]

    assert ("w", 1, 1) == (weights.declared.name, weights.above, weights.unparsable)


@pytest.mark.parametrize("method", [each for each in ESTIMATORS if each.name in METHODS], ids=repr)
def test_sample_weight_is_refused(method, ledger):
    """With or without weights in the domain, directly, in a pipeline, and by metadata routing."""
    table, ones = method.table(), np.ones(400)
    for domain in (method.domain, replace(method.domain, weight="w", weight_max=3)):
        known_method = method.estimator(ledger=ledger, domain=domain)
        with pytest.raises(ParameterError, match="name it in the domain"):
            known_method.fit(table, sample_weight=ones)
        with pytest.raises(ParameterError, match="nothing was charged"):
            make_pipeline(known_method).fit(
                table, **{f"{type(known_method).__name__.lower()}__sample_weight": ones})
        with sklearn.config_context(enable_metadata_routing=True):
            assert "sample_weight" not in known_method.get_metadata_routing().fit.requests
            with pytest.raises((ParameterError, TypeError), match="sample_weight"):
                make_pipeline(known_method).fit(table, sample_weight=ones)
    with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
        method.estimator(ledger=ledger).fit(table, weights=ones)
    assert 0 == ledger.spent()


def test_a_replayed_table_of_weights():
    """The whole way from a frame to counts adds noise for the largest weight."""
    frame = pd.DataFrame({"ill": [0, 1] * 50, "w": [2, 4] * 50})
    drawn = np.array([fit(planned(weighted(4), rows=100), open_source(frame),
                          noise=replay(seed)).body["cells"]["q"] for seed in range(150)])

    assert np.abs(drawn.mean(axis=0) - [100, 200]).max() < 6
    assert abs(drawn.std() - np.hypot(float(planned(weighted(4)).forecast["noise_each"]), 50)) < 4
