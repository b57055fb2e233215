"""Laws of the scores: loops, merge, sensitivity.  A new score is put into the lists here."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

import naive_scores as naive
import tables
from privsieve.errors import DomainError
from privsieve.methods.labels import Labellings
from privsieve.public.columns import Label, Number
from privsieve.public.domain import Domain
from privsieve.summaries.persons import row_weights, summed
from privsieve.summaries.scores import SCORES, Public, score_of
from test_merge import cut
from test_sensitivity import _joined, _person, random_pair

CLASSED = ["mean-difference", "class-counts"]
PAIRS = 400


def measured(score, batches, key=0):
    """The summary of some batches."""
    return summed(batches, key, domain=score.public.domain, zero=score.zero(), of=score.of)


def values(score, batches, weights, key=0):
    """The integers of a table."""
    return score.values(measured(score, batches, key), weights if score.weighed else None)


def bound(score, weights):
    """How far one unit may move them."""
    return score.sensitivity(weights if score.weighed else None)


def random_weights(rng, classes, largest=64):
    """Up to three ways to weigh the classes."""
    table = rng.integers(1, largest + 1, (rng.integers(1, 4), classes)) * rng.choice(
        [-1, 1], (1, classes))
    rows = tuple(tuple(int(w) for w in row) for row in table)
    squares = tuple(int(s) for s in rng.integers(0, 1000, len(rows)))
    return Labellings(rows, squares, max(abs(w) for row in rows for w in row))


def equal(classes, squares=0):
    """Class 0 against the rest, each row counts 1; no chance is taken off."""
    return Labellings(((-1, *[1] * (classes - 1)),), (squares,), 1)


def target_of(name, domain, rng, label):
    """The domain and the labels for a score: a number is made of a class."""
    if name != "correlation":
        return domain, label
    code = rng.choice([0, 1, 32767, 32768, 65534, 65535, int(rng.integers(65536))], len(label))
    return (with_number(domain), code)


def with_number(domain):
    """The same columns with a numeric target."""
    return Domain(domain.columns, target=Number("y", 0, 1), person=domain.person,
                  rows_per_person=domain.rows_per_person, neighbours=domain.neighbours,
                  rows=domain.rows, persons=domain.persons)


def kinds_of(kinds):
    """How the naive twins call the kinds of `tables`."""
    return [{"c": 4, "w": 31}.get(kind, kind) for kind in kinds]


def looped(name, kinds, codes, label, weight, *, public, weights):
    """The naive twin of a score."""
    found = []
    for kind, column in zip(kinds_of(kinds), np.array(codes).T.tolist(), strict=True):
        rows = (column, kind, list(label), list(weight))
        twin = getattr(naive, name.replace("-", "_"))
        found.append(twin(*rows, weights.weights, weights.squares, public.weight)
                     if name in CLASSED else twin(*rows))
    return found


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", SCORES)
def test_a_score_equals_its_loops(name, neighbours):
    """Every value is what loops over rows, over sets of levels and over pairs find."""
    rng = np.random.default_rng(1)
    for _ in range(40):
        kinds, classes = "".join(rng.choice(list("nmfc"), 3)), int(rng.integers(2, 5))
        n = int(rng.integers(2, 12))
        label = rng.integers(0, classes, n)
        domain, label = target_of(name, tables.domain(kinds, classes, neighbours=neighbours,
                                                      rows=n), rng, label)
        score = score_of(name, Public(domain, n))
        weights, codes = random_weights(rng, classes), tables.random_codes(rng, kinds, n)

        found = values(score, [tables.batch(codes, label)], weights)

        assert found == looped(name, kinds, codes.tolist(), label.tolist(), [1] * n,
                               public=score.public, weights=weights)


@pytest.mark.parametrize("name", SCORES)
def test_a_score_of_persons_equals_its_loops(name):
    """The same with rows that share a person's weight, fewer or more persons than declared."""
    rng = np.random.default_rng(2)
    for persons in [4, 9] * 20:
        kinds, classes = "".join(rng.choice(list("nmfc"), 2)), 3
        domain = tables.domain(kinds, classes, person="id", rows_per_person=3, persons=4)
        unit = rng.integers(0, 6, 10) * 7919
        codes, label = tables.random_codes(rng, kinds, 10), rng.integers(0, classes, 10)
        domain, label = target_of(name, domain, rng, label)
        score, weights = score_of(name, Public(domain, persons)), random_weights(rng, classes)
        weight, _first = row_weights(unit.astype(np.uint64), 3, 5)

        found = values(score, [tables.batch(codes, label, unit)], weights, key=5)

        kept = weight > 0
        assert found == looped(name, kinds, codes[kept].tolist(), label[kept].tolist(),
                               weight[kept].tolist(), public=score.public, weights=weights)


@pytest.mark.parametrize("person", [None, "id"])
@pytest.mark.parametrize("name", SCORES)
def test_any_cut_gives_the_same_values(name, person):
    """Many batches, empty ones too, in any order: identical integers."""
    rng = np.random.default_rng(3)
    for n in (2, 64, 300):
        options = {"person": person, "persons": 50, "rows_per_person": 3} if person else {}
        domain, label = target_of(name, tables.domain("nmfcw", 3, **options), rng,
                                  rng.integers(0, 3, n))
        unit = rng.integers(0, n // 2 + 1, n) if person else None
        score, weights = score_of(name, Public(domain, n)), random_weights(rng, 3)
        whole = tables.batch(tables.random_codes(rng, "nmfcw", n), label, unit)
        expected = values(score, [whole], weights)

        for pieces in (2, 9):
            parts = cut(whole, rng, pieces)
            assert expected == values(score, parts, weights)
            if not person:
                assert expected == values(score, parts[::-1], weights)
            summary = score.zero()
            for part in parts:
                summary = score.of(part, None) + summary
            if not person:
                assert expected == score.values(summary, weights if score.weighed else None)


def test_sums_are_exact_beyond_64_bits():
    """Sums that no 64-bit integer holds add up all the same."""
    domain = tables.domain("nn")
    score = score_of("mean-difference", Public(domain, 2))
    one = score.of(tables.batch([[65535, 0]], [1]), np.array([2**45]))
    for _ in range(10):
        one += one

    assert [65535 * 2**55, 65535 * 2**55] == score.values(one, equal(2))


@pytest.mark.parametrize("chunk", [1, 3, 7])
def test_chunks_do_not_show(monkeypatch, chunk):
    """Where the sums of a correlation are cut changes nothing."""
    rng = np.random.default_rng(4)
    domain = with_number(tables.domain("nmfc"))
    rows = tables.batch(tables.random_codes(rng, "nmfc", 20), rng.integers(0, 65536, 20))
    score = score_of("correlation", Public(domain, 20))
    expected = values(score, [rows], None)
    monkeypatch.setattr("privsieve.summaries.scores.correlation.CHUNK", chunk)

    assert expected == values(score, [rows], None)


# sensitivity


def neighbours_of(name, rng, *, removal=False):
    """A score, weights, and two tables that differ in one row."""
    kinds, classes, first, second, one = random_pair(rng)
    n = len(first[0])
    relation = {"neighbours": "add-remove", "rows": 30} if removal else {}
    domain = tables.domain(kinds, classes, **relation)
    if name == "correlation":
        ends = rng.choice([0, 32767, 32768, 65534, 65535, int(rng.integers(65536))], (2, n))
        ends[1, np.arange(n) != one] = ends[0, np.arange(n) != one]
        domain, first, second = with_number(domain), (first[0], ends[0]), (second[0], ends[1])
    if removal:
        kept = np.arange(n) != one
        second = (first[0][kept], first[1][kept])
    return score_of(name, Public(domain, n)), random_weights(rng, classes), first, second


def moved(score, weights, first, second, key=0):
    """How far the furthest value moves."""
    before = values(score, [tables.batch(*first)], weights, key)
    after = values(score, [tables.batch(*second)], weights, key)
    return max(abs(a - b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("name", SCORES)
def test_replacing_a_row_moves_no_value_beyond_the_bound(name):
    """800 random and adversarial pairs stay inside."""
    rng = np.random.default_rng(5)
    for _ in range(PAIRS):
        score, weights, first, second = neighbours_of(name, rng)

        assert moved(score, weights, first, second) <= bound(score, weights)


@pytest.mark.parametrize("name", SCORES)
def test_removing_a_row_moves_no_value_beyond_the_bound(name):
    """800 pairs under add-remove stay inside the smaller bound."""
    rng = np.random.default_rng(6)
    for _ in range(PAIRS):
        score, weights, first, second = neighbours_of(name, rng, removal=True)

        assert moved(score, weights, first, second) <= bound(score, weights)


@pytest.mark.parametrize(("name", "neighbours"), [
    (name, relation) for name in SCORES for relation in ("replace-one", "add-remove")])
def test_a_person_moves_no_value_beyond_the_bound(name, neighbours):
    """A person with 1 to 50 rows, more persons than declared: 800 pairs stay inside."""
    rng = np.random.default_rng(7)
    for _ in range(PAIRS):
        most = int(rng.choice([1, 2, 3, 4, 12, 50]))
        kinds = "".join(rng.choice(list("nmfc"), rng.integers(1, 4)))
        domain = tables.domain(kinds, 2, person="id", rows_per_person=most, persons=20,
                               neighbours=neighbours)
        persons = [_person(rng, kinds, unit) for unit in range(int(rng.integers(2, 7)))]
        if name == "correlation":
            domain = with_number(domain)
            persons = [(c, label * rng.choice([0, 30_000, 65535]), u) for c, label, u in persons]
        units = int(rng.choice([2, 3, 20]))
        score, weights = score_of(name, Public(domain, units)), random_weights(rng, 2)
        changed, one = list(persons), int(rng.integers(len(persons)))
        # A person who is replaced may be one without any id: absent.
        if neighbours == "replace-one" and rng.random() < 0.8:
            codes, label, _ = _person(rng, kinds, 0)
            if name == "correlation":
                label *= 65535
            # The tag is drawn without looking at rows: who is replaced leaves it behind.
            changed[one] = codes, label, np.full(len(label), persons[one][2][0])
        else:
            del changed[one]
        key = int(rng.integers(2**63))

        before = values(score, [_joined(persons)], weights, key)
        after = values(score, [_joined(changed)], weights, key)

        furthest = max(abs(a - b) for a, b in zip(before, after, strict=True))
        assert furthest <= bound(score, weights)


def every_table(records, rows):
    """All tables of so many rows, as tuples of positions."""
    return product(range(len(records)), repeat=rows)


def worst_of_all(score, weights, rows, records):
    """The furthest move over all tables of so many rows and all their neighbours."""
    found = {
        table: values(score, [tables.batch([[records[r][0]] for r in table],
                                           [records[r][1] for r in table])], weights)[0]
        for table in every_table(records, rows)}
    if score.public.replace:
        return max(abs(found[t] - found[(*t[:i], r, *t[i + 1:])])
                   for t in found for i in range(rows) for r in range(t[i]))
    fewer = {table: values(score, [tables.batch([[records[r][0]] for r in table],
                                                [records[r][1] for r in table])], weights)[0]
             for table in every_table(records, rows - 1)}
    return max(abs(found[t] - fewer[t[:i] + t[i + 1:]]) for t in found for i in range(rows))


@pytest.mark.parametrize("kind", "nmfc")
@pytest.mark.parametrize(("name", "neighbours"), [
    *((name, relation) for name in CLASSED for relation in ("replace-one", "add-remove"))])
def test_every_neighbour_of_every_small_table(name, neighbours, kind):
    """All tables of four rows at the ends of the range, all neighbours: the bound is attained."""
    codes = {"n": (0, 65535), "m": (0, 65534, 65535), "f": (0, 1), "c": (0, 1, 3)}[kind]
    domain = tables.domain(kind, neighbours=neighbours, rows=4)
    score = score_of(name, Public(domain, 4))
    worst = worst_of_all(score, equal(2), 4, list(product(codes, (0, 1))))

    assert bound(score, equal(2)) == worst


@pytest.mark.parametrize(("kind", "codes", "labels", "rows"), [
    ("n", (0, 65535), (0, 65535), 8), ("f", (0, 1), (0, 65535), 8), ("c", (0, 1, 3), (0, 65535), 6),
    ("m", (0, 65534, 65535), (0, 65535), 8), ("n", (0, 32767, 65535), (0, 32767, 65535), 6),
], ids=str)
def test_every_neighbour_of_a_small_correlation(kind, codes, labels, rows):
    """All tables of so many rows and all their neighbours: both bounds are all but attained.

    With six rows the mean of y is no centre of the grid; where missing is a level, values end below
    the last code.
    """
    score = score_of("correlation", Public(with_number(tables.domain(kind)), rows))
    removed = score_of("correlation", Public(with_number(tables.domain(
        kind, neighbours="add-remove", rows=rows)), rows))
    records = list(product(codes, labels))

    def value(table):
        return values(score, [tables.batch([[records[r][0]] for r in table],
                                           [records[r][1] for r in table])], None)[0]

    full = {table: value(table)
            for table in combinations_with_replacement(range(len(records)), rows)}
    replaced = came = 0
    for table in combinations_with_replacement(range(len(records)), rows - 1):
        with_one = [full[tuple(sorted((*table, r)))] for r in range(len(records))]
        replaced = max(replaced, max(with_one) - min(with_one))
        came = max(came, *(abs(one - value(table)) for one in with_one))

    assert 0.999 * bound(score, None) < replaced <= bound(score, None)
    assert 0.999 * bound(removed, None) < came <= bound(removed, None)
    assert 2 * bound(removed, None) == bound(score, None)


@pytest.mark.parametrize(("share", "largest"), [
    (Fraction(1, 10), Fraction(5)), (Fraction(3, 10), Fraction(5, 3)),
    (Fraction(1, 2), Fraction(1))])
def test_a_mean_moves_by_the_largest_weight(share, largest):
    """With weights 1 / (2 share) a replaced row moves the mean difference by the largest."""
    omega = [1 / (2 * (1 - share)), 1 / (2 * share)]
    # The published weights are fractions; here times 18, in integers.
    whole = tuple(int(18 * w) for w in omega)
    weights = Labellings(((-whole[0], whole[1]),), (0,), max(whole))
    score = score_of("mean-difference", Public(tables.domain("n"), 3))
    records = list(product((0, 65535), (0, 1)))

    worst = worst_of_all(score, weights, 3, records)

    assert Fraction(worst, 18 * 2 * 65535) == largest
    assert worst == score.sensitivity(weights)


@pytest.mark.parametrize(("name", "first", "second"), [
    ("mean-difference", ([[0], [0]], [0, 1]), ([[0], [65535]], [0, 1])),
    ("class-counts", ([[0], [65535]], [0, 1]), ([[0], [0]], [0, 1])),
    ("correlation", ([[0]] * 6 + [[65535]] * 2, [0, 65535] * 3 + [0, 0]),
     ([[0]] * 6 + [[65535]] * 2, [0, 65535] * 4)),
])
def test_a_wrong_bound_would_be_seen(name, first, second):
    """One pair of tables refutes a bound of nine tenths of the proved one."""
    domain = tables.domain("n")
    score = score_of(name, Public(with_number(domain) if name == "correlation" else domain, 2))

    assert moved(score, equal(2), first, second) > 0.9 * bound(score, equal(2))


# refusals


@pytest.mark.parametrize(("name", "domain", "word"), [
    ("correlation", tables.domain("n"), "low and high"),
    ("correlation", Domain(tables.domain("n").columns), "no target"),
    *((name, with_number(tables.domain("n")), "classes") for name in CLASSED),
    ("class-counts", tables.domain("n", person="p", persons=9, rows_per_person=5000), "4096"),
])
def test_what_a_score_cannot_measure_is_refused(name, domain, word):
    """Before the charge, in words that say the way out."""
    with pytest.raises(DomainError, match=word):
        score_of(name, Public(domain, 9))


def test_a_score_that_is_not_there_is_refused():
    """The message names those that are."""
    from privsieve.errors import ParameterError

    with pytest.raises(ParameterError, match="known are: mean-difference"):
        score_of("chi-square", Public(tables.domain("n"), 9))


def test_labels_are_labels():
    """A score for classes takes any number of them."""
    domain = Domain(tables.domain("nf").columns, target=Label("y", list(range(9))))
    for name in CLASSED:
        score = score_of(name, Public(domain, 18))
        found = values(score, [tables.batch([[0, 0], [65535, 1]] * 9, [*range(9)] * 2)],
                       random_weights(np.random.default_rng(8), 9))

        assert 2 == len(found)
