"""Law: for a numeric target, too, a neighbouring table moves each score by at most the bound."""

from __future__ import annotations

import os
from fractions import Fraction
from itertools import product
from math import log

import numpy as np
import pytest

import privsieve as ps
import tables
from attacks import refuted, stands
from exact import top_k_law
from privsieve import kernels
from privsieve.fit import fit
from privsieve.methods import plan
from privsieve.methods.rule_sieve_numeric import median_cell, scored
from privsieve.noise.streams import replay, system
from privsieve.rows import open_source
from privsieve.summaries.numbers import HALVES, number_tables
from test_numeric import number_domain

PAIRS = 250


def moves_of(batches, domain, key=0, rows=1000, **options):
    """Scores and bound as the mechanism has them."""
    planned = plan("rule-sieve", domain, k=1, epsilon=1, rows=rows, **options)
    score, sensitivity = scored(planned.summarise(batches, key),
                                planned.mechanism.keywords["rules"])
    return np.array(score, dtype=object), sensitivity


def random_pair(rng):
    """Two tables that differ in one row: ties, duplicates, constants, extremes."""
    kinds = "".join(rng.choice(list("nnmf"), rng.integers(1, 5)))
    n = int(rng.integers(2, 30))
    codes = tables.random_codes(rng, kinds, n)
    label = rng.integers(0, int(rng.choice([1, 2, 5, 65536])), n)
    if rng.random() < 0.3:
        label = np.sort(label)
    other, moved, row = codes.copy(), label.copy(), int(rng.integers(n))
    other[row] = (tables.random_codes(rng, kinds, n)[row] if rng.random() < 0.5 else
                  [rng.choice([0, {"f": 1}.get(kind, 65535)]) for kind in kinds])
    moved[row] = rng.choice([0, 65535, label[rng.integers(n)], rng.integers(65536)])
    return kinds, (codes, label), (other, moved)


def test_replacing_a_row_moves_no_score_beyond_the_bound():
    """250 random and adversarial pairs: the scores move by at most the mechanism's bound."""
    rng = np.random.default_rng(5)
    for _ in range(PAIRS):
        kinds, first, second = random_pair(rng)
        key, domain = int(rng.integers(2**63)), number_domain(kinds)
        moved_by, bound = moves_of([tables.batch(*first)], domain, key)
        two, same = moves_of([tables.batch(*second)], domain, key)

        assert bound == same == 8 * len(first[0])
        assert np.abs(moved_by - two).max() <= bound


def test_replacing_a_person_moves_no_score_beyond_the_bound():
    """A person with any number of rows counts as one row: the same bound."""
    rng = np.random.default_rng(3)
    for _ in range(100):
        kinds = "".join(rng.choice(list("nmf"), rng.integers(1, 4)))
        domain = number_domain(kinds, person="id", persons=9, rows_per_person=2)
        persons = [_person(rng, kinds, unit) for unit in range(int(rng.integers(1, 9)))]
        changed, key = list(persons), int(rng.integers(2**63))
        changed[rng.integers(len(persons))] = _person(rng, kinds, 99)
        moved_by, bound = moves_of([_joined(persons)], domain, key)
        two, same = moves_of([_joined(changed)], domain, key)

        assert bound == same
        assert np.abs(moved_by - two).max() <= bound


def _person(rng, kinds, unit):
    rows = int(rng.choice([1, 2, 5]))
    return (tables.random_codes(rng, kinds, rows), rng.integers(0, 65536, rows),
            np.full(rows, unit * 7919 + 5))


def _joined(persons):
    return tables.batch(*(np.concatenate([p[at] for p in persons]) for at in range(3)))


def worst(values, targets, n):
    """The largest move over all tables of one column and n rows and all neighbours; the bound.

    All columns that n rows can have stand side by side; they meet one target at a time.
    """
    columns = np.array(list(product(values, repeat=n))).T
    domain = number_domain("n" * columns.shape[1])
    labels = list(product(targets, repeat=n))
    pairs = [moves_of([tables.batch(columns, label)], domain, rows=n, depth=1,
                      max_ops=n * n * columns.shape[1])  # too little for pairs
             for label in labels]
    score = np.array([pair for pair, _ in pairs], np.int64)
    score = score.reshape(*[len(targets)] * n, *[len(values)] * n)
    moved = max(int(np.ptp(score, axis=(i, n + i)).max()) for i in range(n))
    return moved, pairs[0][1]


@pytest.mark.parametrize(("values", "targets", "n", "expected"), [
    ((0, 9, 65535), (0, 9, 65535), 4, 24), ((0, 65535), (0, 9, 99, 65535), 4, 24),
    ((0, 65535), (0, 9, 65535), 5, 32),
], ids=str)
def test_every_neighbour_of_every_small_table(values, targets, n, expected):
    """All tables, all neighbours: n - 1 rows are reached, and nothing goes beyond the bound."""
    moved, bound = worst(values, targets, n)

    assert expected == moved <= bound


@pytest.mark.parametrize("n", [4, 5])
def test_a_single_rank_reaches_its_bound(monkeypatch, n):
    """At one fixed rank a score moves by n rows, as is claimed: n - 1 would be refuted."""
    monkeypatch.setattr("privsieve.summaries.numbers.CUTS", 1)
    moved, bound = worst((0, 65535), (0, 9, 99, 65535), n)

    assert 8 * n == moved == bound
    assert moved > 8 * (n - 1)


def test_every_neighbour_of_every_table_of_two_columns():
    """All tables of 3 rows (in a long audit 4) with two binary columns: pairs and products, too."""
    n = 4 if "PRIVSIEVE_RUNS" in os.environ else 3
    domain, records = number_domain("nn"), list(product((0, 65535), (0, 65535), (0, 65535)))
    score = np.array([
        moves_of([tables.batch([records[r][:2] for r in table], [records[r][2] for r in table])],
                 domain)[0] for table in product(range(8), repeat=n)], np.int64)
    score = score.reshape(*(8,) * n, 2)

    assert max(int(np.ptp(score, axis=i).max()) for i in range(n)) <= 8 * n


#: The target and two or three columns as ranks; then the first row goes to one end of each.
TWO = ([[6, 3, 0, 9, 2, 5, 4, 7, 1, 8], [0, 1, 2, 7, 9, 5, 4, 8, 3, 6],
        [9, 6, 7, 3, 2, 0, 1, 4, 5, 8]], [-1, 10, -1])
THREE = ([[9, 7, 8, 3, 4, 5, 6, 1, 2, 0], [1, 5, 7, 3, 8, 2, 6, 0, 4, 9],
          [5, 8, 7, 0, 3, 1, 2, 9, 4, 6], [1, 9, 8, 4, 5, 6, 3, 7, 0, 2]], [11, 11, -1, 11])


@pytest.mark.parametrize(("degree", "rows", "end"), [(2, *TWO), (3, *THREE)])
def test_products_reach_their_bound(degree, rows, end):
    """A row that changes sides in the target and most columns moves a product's sum by 8."""
    columns = np.array(rows).T * 100 + 200
    two = columns.copy()
    two[0] = np.array(end) * 100 + 200
    domain = number_domain("n" * degree)
    before, after = (_products(tables.batch(t[:, 1:], t[:, 0]), domain, 0)[degree]
                     for t in (columns, two))

    assert {8} == set(np.abs(before - after).tolist())


def test_products_stay_inside():
    """What own sign and others' signs can do to a product adds up to 8, for three and for four."""
    for factors in (3, 4):
        moves = [sum(abs(x - y) for x, y in zip(a, b, strict=True)) + abs(np.prod(a) - np.prod(b))
                 for a in product((-1, 0, 1), repeat=factors)
                 for b in product((-1, 0, 1), repeat=factors)]

        assert 8 == max(moves)


def _products(batch, domain, key):
    signs = number_tables([batch], key, domain=domain, depth=3, grid=0).signs
    arguments = *signs.together, HALVES
    return {2: kernels.sign_pairs(*arguments), 3: kernels.sign_triples(*arguments)}


def neighbours_of(table, cells, replaced):
    """The tables that differ from one, of the cells of its units, in its first unit."""
    yield from ((other, *table[1:]) for other in range(cells)) if replaced else [table[1:]]


@pytest.mark.parametrize(("replaced", "moves"), [(True, 2), (False, 1)])
def test_the_noisy_median_moves_by_what_it_says(monkeypatch, replaced, moves):
    """All tables of four units in four cells: one moves what is raced by 2, by 1 if it leaves."""
    raced = []
    monkeypatch.setattr("privsieve.noise.race.top_k",
                        lambda scores, race, _noise: raced.append((
                            scores, race.k, race.sensitivity, race.epsilon)) or (0,))
    cells, moved = 4, 0
    for table in product(range(cells), repeat=4):
        for other in neighbours_of(table, cells, replaced):
            raced.clear()
            for t in (table, other):
                median_cell(np.bincount(t, minlength=cells).tolist(), moves, Fraction(1, 3),
                            replay(1))
            moved = max(moved, *(abs(a - b) for a, b in zip(raced[0][0], raced[1][0], strict=True)))

            assert (1, moves, Fraction(1, 3)) == raced[0][1:] == raced[1][1:]
            assert utilities(np.bincount(table, minlength=cells).tolist()) == raced[0][0]

    assert moves == moved


@pytest.mark.parametrize(("replaced", "moves"), [(True, 2), (False, 1)])
def test_the_law_of_the_noisy_median_reaches_epsilon_and_no_more(replaced, moves):
    """Exact laws over all tables of four units in three cells: the largest loss is epsilon."""
    epsilon, cells, worst = 1.5, 3, 0.0

    def law(table):
        raced = utilities(np.bincount(table, minlength=cells).tolist())
        return top_k_law(raced, 1, moves, epsilon)

    for table in product(range(cells), repeat=4):
        law_of_table = law(table)
        for other in neighbours_of(table, cells, replaced):
            two = law(other)
            worst = max(worst, *(abs(log(law_of_table[cell] / two[cell])) for cell in law_of_table))

    assert epsilon == pytest.approx(worst)


@pytest.mark.parametrize("person", [False, True], ids=["rows", "persons"])
@pytest.mark.parametrize(("neighbours", "moves"), [("replace-one", 2), ("add-remove", 1)])
def test_the_median_pays_for_what_its_neighbours_move(monkeypatch, person, neighbours, moves):
    """The median of a plan is raced with 1 where units come and go, with 2 where they stay."""
    raced = []
    monkeypatch.setattr("privsieve.noise.race.top_k",
                        lambda _scores, race, _noise:
                        raced.append(race.sensitivity) or tuple(range(race.k)))
    units = {"person": "who", "persons": 20} if person else {"rows": 20}
    box = ps.Domain.box(0, 1, columns=3, target=(0, 8))
    domain = ps.Domain(box.columns, target=box.target, neighbours=neighbours, **units)
    planned = plan("rule-sieve", domain, k=1, epsilon=1, numeric="median-cut")
    codes = np.arange(60).reshape(20, 3) * 1000
    held = planned.summarise([tables.batch(codes, np.arange(20) * 3000)], 5)

    planned.mechanism(held, replay(1))

    assert moves == raced[0]


def utilities(counts):
    """How uneven each cell splits the units, by its definition."""
    return [-abs(sum(counts[:g + 1]) - sum(counts[g + 1:])) for g in range(len(counts) - 1)]


def test_the_noisy_median_is_a_median():
    """With little noise the cell splits the units as evenly as the grid allows."""
    rng = np.random.default_rng(8)
    for seed in range(20):
        counts = rng.integers(0, 50, 16).tolist()
        cell = median_cell(counts, 2, Fraction(100), replay(seed))

        assert max(utilities(counts)) - utilities(counts)[cell] <= 1


FIRST_X = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [0, 0], [0, 1], [1, 0], [1, 1]], float)
FIRST_Y = np.arange(8.0)


def sieve(epsilon, way):
    """The mechanism as it is shipped."""
    domain = ps.Domain.box(0, 1, columns=2, target=(0, 8))
    planned = plan("rule-sieve", domain, k=1, epsilon=epsilon, rows=8, numeric=way)
    return lambda y: fit(planned, open_source(FIRST_X, y), noise=system()).selected


@pytest.mark.parametrize("way", ["ranks", "median-cut"])
def test_an_attack_stays_under_the_claim(way):
    """200 runs on two tables that differ in one target do not refute epsilon = 1."""
    other = FIRST_Y.copy()
    other[0] = 7.5

    assert stands(sieve(1, way), FIRST_Y, other, epsilon=1)


def test_an_attack_finds_a_tenth_of_the_noise():
    """A twin at epsilon 10 on a pair whose order of columns turns round is refuted."""
    domain = ps.Domain.box(0, 1, columns=2, target=(0, 8))
    planned = plan("rule-sieve", domain, k=1, epsilon=10, rows=6)
    x = np.array([[9, 9], [0, 3], [3, 6], [6, 9], [0, 9], [9, 6]]) / 9

    def twin(y):
        return fit(planned, open_source(x, y), noise=system()).selected

    assert refuted(twin, np.array([5, 1, 2, 4, 0, 3.0]), np.array([5, 1, 2, 4, 8, 3.0]), epsilon=1)
