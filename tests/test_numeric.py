"""Law: numeric targets.  Kernels equal loops, scores equal what was computed by hand, any cut."""

from __future__ import annotations

import numpy as np
import pytest

import naive
import naive_numbers
import tables
from kernel_calls import serve
from privsieve import kernels
from privsieve.public.columns import Number
from privsieve.public.domain import Domain
from privsieve.summaries import numbers
from privsieve.summaries.layout import Layout
from privsieve.summaries.numbers import (
    CUTS,
    HALVES,
    Depth,
    bins,
    halves,
    hold,
    number_tables,
    scores,
    spread,
)
from privsieve.summaries.ranks import Records
from test_merge import cut


@pytest.fixture(params=["native", "numpy"], autouse=True)
def implementation(request, monkeypatch):
    """Every law holds for each implementation, and both are held to the same loops."""
    serve(request.param, monkeypatch)


def number_domain(kinds, **options):
    """A domain whose target is a number."""
    domain = tables.domain(kinds, **options)
    return Domain(domain.columns, Number("y", 0, 1), person=domain.person, persons=domain.persons,
                  rows_per_person=domain.rows_per_person)


def layout_of(kinds):
    """The layout of columns by their letters."""
    return Layout.of(tables.domain(kinds))


def score(batches, domain, *, order=3, grid=4, key=0, offset=0):
    """Scores with the same offset for all rules on one column."""
    new_tables = number_tables(batches, key, domain=domain, depth=order, grid=grid)
    kinds = Layout.of(tables.domain("n" * len(domain.columns)))
    layout = Layout(np.array([_kind(c) for c in domain.columns], np.uint8),
                    np.array([c.levels or 0 for c in domain.columns]), kinds.classes,
                    tuple(domain.columns))
    offsets = np.full((max(1, new_tables.rows), len(domain.columns)), offset, np.int64)
    return scores(new_tables, layout, Depth(offsets, 0, order, grid))


def _kind(column):
    from privsieve.summaries.layout import _kind as kind

    return kind(column)


def random_columns(rng, n, d):
    """Codes with ties and missing ones."""
    codes = np.array([rng.choice([0, 1, 256, 65535, 9], n) if rng.random() < 0.6
                      else rng.integers(0, 65536, n) for _ in range(d)], np.uint16).reshape(d, n)
    return np.ascontiguousarray(codes)


@pytest.mark.parametrize("seed", range(60))
def test_kernels_equal_loops(seed):
    """Intervals against cuts by class are what loops give."""
    rng = np.random.default_rng(seed)
    n, d = (0, 1, 2, 5, 7, 9)[seed % 6], 4
    codes = random_columns(rng, n, d)
    kind = rng.integers(0, 4, d).astype(np.uint8)
    columns = codes.tolist()
    column = np.sort(rng.integers(0, 4, n))
    starts = np.searchsorted(column, np.arange(5)).astype(np.int64)
    weight = np.ones(n, np.int64) if seed % 2 else None

    assert [[naive_numbers.covariance(x, (column <= c).tolist(), k) * 2
             for x, k in zip(columns, kind, strict=True)] for c in range(3)] == (
        kernels.rank_intervals(kernels.runs(codes, starts, weight), kind).tolist())


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("implementation", ["native"], indirect=True)
def test_implementations_agree_on_long_columns(seed, monkeypatch):
    """On columns longer than every block the native kernels and the twins have the same bits."""
    rng = np.random.default_rng(seed)
    codes = random_columns(rng, 1200, 6)
    kind = np.array([0, 1, 2, 3, 0, 1], np.uint8)
    runs = kernels.runs(codes, np.array([0, 1, 500, 1200]), None)

    answers = []
    for which in ("native", "numpy"):
        serve(which, monkeypatch)
        answers.append(kernels.rank_intervals(runs, kind))
    first, two = answers
    assert first.dtype == two.dtype
    assert first.tolist() == two.tolist()


def by_ranks(x, y, wanted):
    """N times the best covariance at some ranks, ties of y by the row."""
    order = np.lexsort((np.arange(len(y)), y))
    place = np.empty(len(y), np.int64)
    place[order] = np.arange(len(y))
    ranks = []
    for r in wanted:
        label = (place >= r).astype(np.int64)
        rows = np.argsort(label, kind="stable")
        runs = kernels.runs(np.array([x], np.uint16)[:, rows].copy(),
                            np.array([0, r, len(y)]), None)
        ranks.append(int(kernels.rank_intervals(runs, np.zeros(1, np.uint8))[0, 0]) // 2)
    return ranks


def test_exact_values_at_ranks():
    """R1 at its five ranks; R4, where one row moves the value at rank 2 by n = 4, from 4 to 0."""
    assert [5, 8, 6, 4, 5] == by_ranks([3, 0, 2, 4, 1, 2], [5, 1, 4, 9, 1, 7], range(1, 6))
    assert [4] == by_ranks([0, 0, 1, 1], [0, 1, 2, 3], [2])
    assert [0] == by_ranks([0, 0, 1, 1], [4, 1, 2, 3], [2])


def records_of(batch, ranks, feature, key):
    """The records of a batch at these ranks of the target."""
    unit, row = batch.unit.tolist(), batch.row.tolist()
    order = naive.ranking(batch.label.tolist(), feature, unit, row, key)
    return Records(*(np.array([of(order[rank]) for rank in ranks], dtype) for of, dtype in (
        (batch.label.__getitem__, np.int64),
        (lambda i: naive.tie_key(unit[i], feature, key), np.uint64),
        (row.__getitem__, np.uint64))))


def test_exact_values_of_pairs():
    """R3: the halves of y, the pair, the product and both intervals."""
    a, b, y = [0, 0, 7, 7, 1, 1, 6, 6], [0, 7, 0, 7, 1, 6, 1, 6], [1, 8, 7, 2, 3, 6, 5, 4]
    batch = tables.batch(np.array([a, b]).T * 8192, np.array(y) * 100)
    middle = records_of(batch, halves(8), 2, key=0)
    upper = bins(batch, middle, 2, key=0)
    new_tables = number_tables([batch], 0, domain=number_domain("nn"), depth=2, grid=4)
    signs, cells = new_tables.signs.together, new_tables.bins.together

    assert [-1, 1, 1, -1, -1, 1, 1, -1] == HALVES[0, upper].tolist()
    assert [8] == kernels.pair_best(*cells, HALVES, 4, np.zeros(2, np.uint8)).tolist()
    assert [8, 8] == kernels.pair_gain(*cells, HALVES, 4, np.zeros(2, np.uint8)).tolist()
    assert [8, 8] == kernels.sign_pairs(*signs, HALVES).tolist()


@pytest.mark.parametrize("n", [2, 3, 6, 7, 11])
def test_scores_equal_loops(n):
    """The whole score of tables without ties is what loops over all rules give."""
    rng = np.random.default_rng(n)
    for grid in (4, 8):
        columns = [rng.permutation(65536)[:n].tolist() for _ in range(4)]
        label = rng.permutation(65536)[:n]
        order = np.argsort(label).tolist()
        batch = tables.batch(np.array(columns).T, label)

        for degree in (1, 2, 3):
            expected = naive_numbers.score(columns, order, spread(n, CUTS), grid, degree)
            scores = score([batch], number_domain("nnnn"), order=degree, grid=grid)
            assert expected == scores.tolist()
            # Pairs and products by themselves: rules on one column are larger on small tables.
            expected = naive_numbers.score(columns, order, [], grid, degree)
            scores = score([batch], number_domain("nnnn"), order=degree, grid=grid, offset=10**8)
            assert expected == scores.tolist()


def test_ranks_equal_loops():
    """Bins are by the order (code, tie key, row) of the target, for any ranks and any ties."""
    rng = np.random.default_rng(4)
    for n in (1, 2, 9, 40):
        for levels in (1, 3, 65536):
            label = rng.integers(0, levels, n)
            batch = tables.batch(np.zeros((n, 1)), label, rng.integers(0, 5, n))
            wanted = sorted(rng.choice(n, min(n, 4), replace=False).tolist())
            order = naive.ranking(label.tolist(), 7, batch.unit.tolist(), batch.row.tolist(), 99)
            expected = [sum(order.index(i) >= rank for rank in wanted) for i in range(n)]

            records = records_of(batch, wanted, 7, 99)
            assert expected == bins(batch, records, 7, 99).tolist()


@pytest.mark.parametrize("kinds", ["nnnn", "nmfcw"])
@pytest.mark.parametrize("person", [None, "id"])
def test_any_cut_gives_the_same_scores(kinds, person, monkeypatch):
    """One part, many, or many in another order: identical integers, ties in the target too."""
    rng = np.random.default_rng(5)
    options = {"person": "id", "persons": 50, "rows_per_person": 3} if person else {}
    domain = number_domain(kinds, **options)
    for n in (1, 2, 3, 64, 257):
        unit = rng.integers(0, n // 2 + 1, n) if person else None
        whole = tables.batch(tables.random_codes(rng, kinds, n), rng.integers(0, 9, n) * 7000, unit)
        monkeypatch.setattr(numbers, "PART_CELLS", 2**20)
        expected = score([whole], domain, key=77).tolist()

        monkeypatch.setattr(numbers, "PART_CELLS", 1)
        for pieces in (2, 5):
            parts = cut(whole, rng, pieces)
            assert expected == score(parts, domain, key=77).tolist()
            if not person:
                assert expected == score(parts[::-1], domain, key=77).tolist()


def test_the_unit_of_the_target_does_not_matter():
    """Any increasing change of the target's codes without new ties leaves all scores as they are.

    So bounds matter only where the grid makes different values equal.
    """
    rng = np.random.default_rng(6)
    for n in (7, 30, 120):
        codes = tables.random_codes(rng, "nnmf", n)
        label = rng.integers(0, 40, n)
        other = np.sort(rng.choice(65536, 40, replace=False))[label]

        assert (score([tables.batch(codes, label)], number_domain("nnmf")).tolist()
                == score([tables.batch(codes, other)], number_domain("nnmf")).tolist())


def test_a_cell_cuts_the_rows_that_were_counted():
    """Rows of class 0 are those of the cells up to the chosen one."""
    rng = np.random.default_rng(7)
    batches = [tables.batch(np.zeros((n, 1)), rng.integers(0, 65536, n)) for n in (40, 60)]
    held = hold(batches, 0, domain=number_domain("n"))

    assert 100 == sum(held.counts)
    for cell in (0, 7, 255, 510):
        label = np.concatenate([batch.label for batch in held.labelled(cell)])
        assert sum(held.counts[:cell + 1]) == (label == 0).sum()


def test_no_rows_have_scores():
    """A table without rows, and one of a single row, score alike in all columns."""
    for n in (0, 1):
        batch = tables.batch(np.zeros((n, 3)), np.zeros(n))

        assert 1 == len(set(score([batch], number_domain("nnn")).tolist()))

