"""Laws of rules on slopes of two columns: exact values, and how far one unit moves them."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

import naive
import tables
from kernel_calls import serve
from privsieve.kernels.slopes import SIDE, SLOPES, slope_best
from privsieve.methods.branches import Sizes, slopes
from privsieve.public.columns import Category, Date, Flag, Label, Number
from privsieve.public.domain import Domain, person_weight
from privsieve.summaries.rules import Layout, rule_tables
from privsieve.summaries.sets import set_scores, slope_values
from test_naive import Table
from test_rules import weighing


@pytest.fixture(params=["native", "numpy"])
def implementation(request, monkeypatch):
    """Slopes, in both forms."""
    serve(request.param, monkeypatch)


def made(seed, n, d):
    """A random table on the grid of slopes; many rows share their cells, or lie at its corners."""
    t, rng = Table(seed, n=n, d=d), np.random.default_rng([seed, 1])
    top = int(rng.choice([2, 5, SIDE]))
    t.bins = rng.integers(0, top, (d, n)).astype(np.uint8)
    if seed % 4 == 1:
        t.bins = (t.bins % 2 * (SIDE - 1)).astype(np.uint8)
    return t


# naive


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize("seed", range(60))
def test_slopes_equal_loops(seed):
    """The best cut of each of ten sums, whatever the classes and weights."""
    t = made(seed, (0, 1, 4, 9)[seed % 4], 1 + seed % 3)
    found = slope_best(t.bins, t.starts, t.weight, t.labellings[:2])

    assert naive.slope_best(t.bins.tolist(), t.weights()[:2], SLOPES) == found.tolist()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rows", [600, SIDE * SIDE - 1, SIDE * SIDE, 20_001])
def test_long_columns(rows, seed, monkeypatch):
    """Fewer rows than cells, as many, or more: native and NumPy agree, weighted or not."""
    t, found = made(seed, rows, 4), []
    for which in ("native", "numpy"):
        serve(which, monkeypatch)
        found.append(slope_best(t.bins, t.starts, t.weight, t.labellings).tolist())

    assert found[0] == found[1]


def test_the_ten_slopes():
    """Up to three bins of one column for one of the other, rising and falling; none twice."""
    assert 10 == len(set(SLOPES)) == len({(a, b) for a, b in SLOPES if a > 0})
    assert {1, 2, 3} == {max(abs(a), abs(b)) for a, b in SLOPES}
    assert all(min(abs(a), abs(b)) == 1 for a, b in SLOPES)


def test_contract():
    """Bins beyond the grid, and weights that add up to too much, are refused."""
    bins, starts = np.full((2, 2), SIDE, np.uint8), np.array([0, 2])
    with pytest.raises(ValueError, match="below the grid's 64"):
        slope_best(bins, starts, None, np.array([[1]]))
    with pytest.raises(ValueError, match=r"2\^61"):
        slope_best(bins - SIDE, starts, None, np.array([[2**60]]))


# exact values


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize(("rows", "expected"), [
    # x + y: 10 and 11, where no single cut of x or y tells more than 6 of 8
    ([(1, 9, 0), (4, 6, 0), (6, 4, 0), (9, 1, 0), (2, 9, 1), (5, 6, 1), (7, 4, 1), (10, 1, 1)], 8),
    # 3 x - y: 0, 3 and 6 below 9, 12 and 23; no cut tells an interval, such as x - y = 2, 4, 6
    ([(1, 3, 0), (4, 9, 0), (5, 9, 0), (7, 12, 1), (8, 12, 1), (9, 4, 1)], 6),
    ([(9, 7, 0), (8, 4, 1), (7, 1, 0)], 1),
    # parity of the corners: one of four is told from the others
    ([(0, 0, 0), (63, 63, 0), (0, 63, 1), (63, 0, 1)], 2),
    ([], 0),
])
def test_values_by_hand(rows, expected):
    """Rows on which the best rule is right, less those on which it is wrong."""
    rows = sorted(rows, key=lambda row: row[2])
    bins = np.array([row[:2] for row in rows], np.uint8).reshape(-1, 2).T.copy()
    starts = np.searchsorted([row[2] for row in rows], range(3)).astype(np.int64)

    assert [expected] == slope_best(bins, starts, None, np.array([[-1, 1]])).tolist()


# which columns


def test_only_codes_that_can_be_added_up():
    """Numbers and dates on bounds; no levels, and no column whose last code is missing."""
    domain = Domain([Flag("f"), Number("a", 0, 1), Category("c", list("ABC")),
                     Number("m", 0, 1, missing="level"), Number("l", 1, 9, scale="log"),
                     Date("d", "2020-01-01", "2024-12-31")], target=Label("y", [0, 1]))
    layout = Layout.of(domain)
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 65536, (40, 6))
    codes[:, [0, 2]] %= 2
    held = rule_tables([tables.batch(codes, rng.integers(0, 2, 40))], 1, domain=domain, order=1,
                       grid=(4, SIDE))
    without = rule_tables([tables.batch(codes, rng.integers(0, 2, 40))], 1, domain=domain,
                          order=1, grid=4)
    found = slope_values(held, layout, weighing([[-1, 1]], 6))

    assert [1, 4, 5] == layout.sloped.tolist()
    pairs = [(j, k) for j in range(6) for k in range(j + 1, 6)]
    assert {(1, 4), (1, 5), (4, 5)} == {p for p, v in zip(pairs, found, strict=True) if v}
    assert not slope_values(without, layout, weighing([[-1, 1]], 6)).any()


@pytest.mark.parametrize("parts", [1, 7, 100])
def test_any_cut_into_parts_gives_the_same(parts):
    """The summary is a monoid: its slopes do not know how the rows came."""
    rng = np.random.default_rng(parts)
    domain, codes, label = (tables.domain("nnn"), rng.integers(0, 65536, (100, 3)),
                            rng.integers(0, 2, 100))
    whole, cut = (rule_tables([tables.batch(codes[i:i + n], label[i:i + n])
                               for i in range(0, 100, n)], 1, domain=domain, order=1,
                              grid=(4, SIDE), part_rows=1) for n in (100, parts))
    layout, by = Layout.of(domain), weighing([[-3, 4]], 3)

    assert slope_values(whole, layout, by).tolist() == slope_values(cut, layout, by).tolist()


def test_operations_are_public():
    """Columns, units and cuts alone say whether there is time for slopes."""
    def can(columns, units, cuts=1, max_ops=2**36):
        return slopes(tables.domain(columns), Sizes(2, len(columns), units, cuts, 16, max_ops))

    yes = can("nn", 10**6), can("nf" * 5 + "n", 100), can("nn", 10, 1, 2**21)
    no = can("n", 10), can("fff", 10), can("nn", 10**10), can("nn", 10, 2, 2**21)
    assert all(yes)
    assert not any(no)


# sensitivity

CELLS = ((0, 0), (0, 63), (63, 0), (63, 63), (20, 21), (21, 20))


def values(rows, labelling, weight=None):
    """Twice the best slope of a table of (cell, class)."""
    rows = sorted(rows, key=lambda row: row[1])
    bins = np.array([CELLS[cell] for cell, _ in rows], np.uint8).reshape(-1, 2).T.copy()
    starts = np.searchsorted([c for _, c in rows], range(3)).astype(np.int64)
    if labelling is None:  # centred on the table's own counts
        labelling = [-(len(rows) - starts[1]), starts[1]]
    return int(slope_best(bins, starts, weight, np.array([labelling], np.int64))[0])


def moves(n, labelling):
    """The most that a replaced row, and one that leaves, moves a value: over all tables."""
    records = list(product(range(len(CELLS)), (0, 1)))
    found = {size: {rows: values([records[r] for r in rows], labelling)
                    for rows in combinations_with_replacement(range(len(records)), size)}
             for size in (n - 1, n)}
    replaced = left = 0
    for rows, value in found[n].items():
        for i in range(n):
            rest = (*rows[:i], *rows[i + 1:])
            left = max(left, abs(value - found[n - 1][rest]))
            replaced = max(replaced, *(abs(value - found[n][tuple(sorted((*rest, other)))])
                                       for other in range(len(records))))
    return replaced, left


@pytest.mark.parametrize(("labelling", "expected"), [
    ([-1, 1], (2, 1)), ([-1, 4], (5, 4)), (None, (4, None))], ids=str)
def test_every_neighbour_of_every_small_table(labelling, expected):
    """Replace-one 2 W, add-remove W, centred 2 n: all tables of 3 rows."""
    replaced, left = moves(3, labelling)

    assert expected[0] == replaced <= 2 * (3 if labelling is None else max(map(abs, labelling)))
    if labelling is not None:
        assert expected[1] == left == max(map(abs, labelling))


def pair_value(rows, labellings, grids):
    """24 times what a pair of columns is worth, as the race of pairs has it."""
    codes = np.array([cell for cell, _ in rows]).reshape(-1, 2) * 1024
    labels = np.array([c for _, c in rows], np.int64)
    domain = tables.domain("nn", 2)
    held = rule_tables([tables.batch(codes, labels)], 1, domain=domain, order=1, grid=grids)
    by = weighing(labellings, 2)._replace(grid=grids[0], apart=False)
    return int(set_scores(held, Layout.of(domain), by, 2)[0][0])


def test_a_slope_is_the_third_part_of_a_pair():
    """What no cuts of both columns tell, a cut of their sum does."""
    rows = [((i, 30 - i + 4 * c), c) for i in (4, 12, 20, 28) for c in (0, 1)]

    assert pair_value(rows, [[-1, 1]], (4,)) < pair_value(rows, [[-1, 1]], (4, SIDE))
    assert 12 * len(rows) == pair_value(rows, [[-1, 1]], (4, SIDE))


@pytest.mark.parametrize("labellings", [[[-1, 1]], [[-1, 4], [3, -2]]], ids=str)
def test_no_neighbour_moves_a_pair_beyond_its_race(labellings):
    """All tables of three rows: 24 W where a row is replaced, over all labellings at once."""
    records = list(product(range(len(CELLS)), (0, 1)))
    found = {rows: pair_value([(CELLS[records[r][0]], records[r][1]) for r in rows], labellings,
                              (4, SIDE))
             for rows in combinations_with_replacement(range(len(records)), 3)}
    moved = max(abs(value - found[tuple(sorted((*rows[:i], *rows[i + 1:], other)))])
                for rows, value in found.items() for i in range(3)
                for other in range(len(records)))

    assert moved <= 24 * max(abs(w) for row in labellings for w in row)
    assert moved > 12 * max(abs(w) for row in labellings for w in row)


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_a_person_moves_a_slope_by_one_persons_worth(neighbours):
    """However many rows of a person count: 2 L W, and L W where one leaves."""
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
        by, layout, key = weighing([[-3, 5]], 3, scale=scale), Layout.of(domain), int(
            rng.integers(2**63))
        two = [slope_values(rule_tables([_joined(held)], key, domain=domain, order=1,
                                        grid=(4, SIDE)), layout, by)
               for held in (persons, changed)]
        bound = (2 if neighbours == "replace-one" else 1) * 5 * scale
        moved = int(np.abs(two[0] - two[1]).max())
        worst = max(worst, moved / bound)

        assert moved <= bound
    assert worst > 0.5


def _person(rng, unit):
    rows = int(rng.choice([1, 2, 5]))
    return (rng.choice([0, 30000, 65535], (rows, 3)), np.full(rows, rng.integers(2)),
            np.full(rows, unit * 7919 + 5))


def _joined(persons):
    return tables.batch(*(np.concatenate([p[at] for p in persons]) for at in range(3)))


def test_a_slope_fitted_to_the_table_is_caught():
    """Planted fault: a grid between the table's own ends moves further than the claim."""
    def fitted(rows):
        x = np.array([row[0] for row in rows], float)
        low, high = x.min(), max(x.max(), x.min() + 1)
        z = ((x - low) * (SIDE - 1) / (high - low)).astype(np.uint8)
        order = np.argsort([row[1] for row in rows], kind="stable")
        starts = np.searchsorted(sorted(row[1] for row in rows), range(3)).astype(np.int64)
        return int(slope_best(np.stack([z, z])[:, order].copy(), starts, None,
                              np.array([[-1, 1]]))[0])

    one = [(i, int(i >= 4)) for i in range(8)]
    two = [*one[:-1], (10**6, 1)]

    assert abs(fitted(one) - fitted(two)) > 2
