"""Law: a neighbouring table moves each score by at most what the plan says."""

from __future__ import annotations

from functools import partial
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

import tables
from privsieve.methods import plan as by_name
from privsieve.public.domain import person_weight
from test_rules import score, weighing

plan = partial(by_name, "rule-sieve")

PAIRS = 400


def rules_of(domain, k=1):
    """The public parameters that a plan carries."""
    return plan(domain, k=k, epsilon=1, rows=1000).mechanism.keywords["rules"]


def random_labellings(rng, classes):
    """Up to three ways to weigh the classes, and the largest weight."""
    table = rng.integers(1, 65, (rng.integers(1, 4), classes)) * rng.choice([-1, 1], (1, classes))
    return table, int(np.abs(table).max())


def random_pair(rng):
    """Two tables that differ in one row: ties, duplicates, one class, extremes, label changes."""
    kinds = "".join(rng.choice(list("nnmfcwuuv"), rng.integers(1, 6)))
    classes = int(rng.integers(2, 8))
    n = int(rng.integers(2, 40))
    codes = tables.random_codes(rng, kinds, n)
    label = rng.integers(0, classes, n) if rng.random() < 0.8 else np.full(n, 1)
    row = int(rng.integers(n))
    other, other_label = codes.copy(), label.copy()
    how = rng.integers(4)
    if how == 0:
        other_label[row] = rng.integers(classes)
    elif how == 1:
        other[row] = codes[rng.integers(n)]
        other_label[row] = rng.integers(classes)
    elif how == 2:
        tops = {"f": 1, "c": 3, "w": 30}
        other[row] = [rng.choice([0, tops.get(kind, 65535)]) for kind in kinds]
        other_label[row] = classes - 1 - label[row]
    else:
        other[row] = tables.random_codes(rng, kinds, n)[row]
        other_label[row] = rng.integers(classes)
    return kinds, classes, (codes, label), (other, other_label), row


@pytest.mark.parametrize("seed", range(4))
def test_replacing_a_row_moves_no_score_beyond_the_plan(seed):
    """400 random and adversarial pairs stay inside 24 times the largest weight."""
    rng = np.random.default_rng(seed)
    for _ in range(PAIRS // 4):
        kinds, classes, first, second, _tables = random_pair(rng)
        table, largest = random_labellings(rng, classes)
        domain = tables.domain(kinds, classes)
        by = weighing(table, len(kinds), grid=int(rng.choice([4, 8, 16])))
        key = int(rng.integers(2**63))

        moved = np.abs(score([tables.batch(*first)], domain, by, key)
                       - score([tables.batch(*second)], domain, by, key)).max()

        assert moved <= rules_of(domain).sensitivity(largest)


def test_removing_a_row_moves_no_score_beyond_half():
    """Under add-remove one row moves a score by 12 times the largest weight at most."""
    rng = np.random.default_rng(9)
    for _ in range(PAIRS):
        kinds, classes, (codes, label), _second, tables_first = random_pair(rng)
        table, largest = random_labellings(rng, classes)
        domain = tables.domain(kinds, classes, neighbours="add-remove", rows=30)
        by = weighing(table, len(kinds))
        key = int(rng.integers(2**63))
        unit = rng.integers(0, 2**63, len(codes))
        kept = np.delete(np.arange(len(codes)), tables_first)

        moved = np.abs(
            score([tables.batch(codes, label, unit)], domain, by, key)
            - score([tables.batch(codes[kept], label[kept], unit[kept])], domain, by, key)).max()

        assert moved <= rules_of(domain).sensitivity(largest)


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_replacing_a_person_moves_no_score_beyond_the_plan(neighbours):
    """A person with 1 to 50 rows moves a score by one person's worth, however many rows count."""
    rng = np.random.default_rng(10)
    for _ in range(PAIRS):
        most = int(rng.choice([1, 2, 3, 4, 10, 50]))
        kinds = "".join(rng.choice(list("nnmfcuv"), rng.integers(1, 4)))
        domain = tables.domain(kinds, 2, person="id", rows_per_person=most, persons=20,
                               neighbours=neighbours)
        persons = [_person(rng, kinds, unit) for unit in range(int(rng.integers(2, 12)))]
        changed = list(persons)
        person = int(rng.integers(len(persons)))
        # A person who is replaced may be one without any id: absent.
        if neighbours == "replace-one" and rng.random() < 0.8:
            changed[person] = _person(rng, kinds, 99)
        else:
            del changed[person]
        table, largest = random_labellings(rng, 2)
        by = weighing(table, len(kinds), scale=person_weight(most))
        key = int(rng.integers(2**63))

        moved = np.abs(score([_joined(persons)], domain, by, key)
                       - score([_joined(changed)], domain, by, key)).max()

        assert moved <= rules_of(domain).sensitivity(largest)


def _person(rng, kinds, unit):
    rows = int(rng.choice([1, 2, 3, 7, 50]))
    codes = tables.random_codes(rng, kinds, rows)
    if rng.random() < 0.5:
        codes[:] = codes[0]
    label = rng.integers(0, 2, rows) if rng.random() < 0.3 else np.full(rows, rng.integers(2))
    return codes, label, np.full(rows, unit * 7919 + 5)


def _joined(persons):
    return tables.batch(np.concatenate([p[0] for p in persons]),
                        np.concatenate([p[1] for p in persons]),
                        np.concatenate([p[2] for p in persons]))


def test_every_neighbour_of_every_table_of_four_rows():
    """All tables with 4 rows and 2 binary columns, all neighbours: the bound is attained."""
    domain = tables.domain("nn")
    by = weighing([[-1, 1]], 2)
    records = list(product((0, 65535), (0, 65535), (0, 1)))
    actual_worst = {}
    for table in combinations_with_replacement(range(len(records)), 4):
        rows = [records[r] for r in table]
        actual_worst[table] = score([tables.batch([row[:2] for row in rows],
                                                  [row[2] for row in rows])],
                                    domain, by)

    worst = max(
        np.abs(actual_worst[table]
               - actual_worst[tuple(sorted((*table[:i], other, *table[i + 1:])))]).max()
        for table in actual_worst for i in range(4) for other in range(len(records)))

    assert worst == rules_of(domain).sensitivity(1) == 24


def test_every_removal_from_every_table_of_four_rows():
    """All tables of 4 rows and 2 binary columns: leaving a row out moves a score by at most 12."""
    domain = tables.domain("nn", neighbours="add-remove", rows=5)
    by = weighing([[-1, 1]], 2)
    records = list(product((0, 65535), (0, 65535), (0, 1)))
    actual_worst = {}

    def scored(rows):
        # The unit travels with its row: leaving one out changes no key of another.
        if rows not in actual_worst:
            codes = [records[r][:2] for r, _unit in rows]
            label = [records[r][2] for r, _unit in rows]
            actual_worst[rows] = score([tables.batch(codes, label, [unit for _r, unit in rows])],
                                       domain, by)
        return actual_worst[rows]

    worst = 0
    for table in combinations_with_replacement(range(len(records)), 4):
        whole = tuple(zip(table, (11, 22, 33, 44), strict=True))
        worst = max(worst, *(int(np.abs(scored(whole) - scored(whole[:i] + whole[i + 1:])).max())
                             for i in range(4)))

    assert worst == rules_of(domain).sensitivity(1) == 12


def test_a_wrong_bound_would_be_seen():
    """The same search refutes a sensitivity that is one unit too small."""
    domain = tables.domain("n")
    by = weighing([[-1, 1]], 1)
    before = score([tables.batch([[0], [0], [65535], [65535]], [0, 0, 1, 1])], domain, by)
    after = score([tables.batch([[65535], [0], [65535], [65535]], [0, 0, 1, 1])], domain, by)

    assert np.abs(before - after).max() > 24 - 1
