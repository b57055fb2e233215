"""Laws of the scores: loops, merge, sensitivity.  A new score is put into the lists here."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

import naive_scores as naive
import tables
from privsieve.errors import DomainError, ParameterError
from privsieve.methods.labels import Labellings
from privsieve.public.columns import Number
from privsieve.public.domain import Domain
from privsieve.summaries.persons import row_weights, summed
from privsieve.summaries.scores import SCORES, Public, score_of
from test_merge import cut

CLASSED = ["mean-difference", "class-counts"]


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
    values = []
    for kind, column in zip(kinds_of(kinds), np.array(codes).T.tolist(), strict=True):
        rows = (column, kind, list(label), list(weight))
        twin = getattr(naive, name.replace("-", "_"))
        values.append(twin(*rows, weights.weights, weights.squares, public.weight)
                      if name in CLASSED else twin(*rows))
    return values


@pytest.mark.parametrize("public", [
    {}, {"neighbours": "add-remove", "rows": 9}, {"person": "id", "rows_per_person": 3,
                                                  "persons": 4}], ids=str)
@pytest.mark.parametrize("name", SCORES)
def test_a_score_equals_its_loops(name, public):
    """Every value is what loops over rows, over sets of levels and over pairs find.

    Of rows, and of persons who share one weight among their rows: more or fewer than declared.
    """
    rng = np.random.default_rng(1)
    for _ in range(40):
        kinds, classes = "".join(rng.choice(list("nmfc"), 3)), int(rng.integers(2, 5))
        n = int(rng.integers(2, 12))
        unit = rng.integers(0, 6, n) * 7919 if "person" in public else None
        domain, label = target_of(name, tables.domain(kinds, classes, **public), rng,
                                  rng.integers(0, classes, n))
        score = score_of(name, Public(domain, int(rng.choice([n, 4, 9]))))
        weights, codes = random_weights(rng, classes), tables.random_codes(rng, kinds, n)
        weight = np.ones(n, int) if unit is None else row_weights(unit.astype(np.uint64), 3, 5)[0]

        score_values = values(score, [tables.batch(codes, label, unit)], weights, key=5)

        kept = weight > 0
        assert score_values == looped(name, kinds, codes[kept].tolist(), label[kept].tolist(),
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
            for piece in parts:
                summary = score.of(piece, None) + summary
            if not person:
                assert expected == score.values(summary, weights if score.weighed else None)


def test_sums_are_exact_beyond_64_bits():
    """Sums that no 64-bit integer holds add up all the same."""
    domain = tables.domain("nn")
    score = score_of("mean-difference", Public(domain, 2))
    value = score.of(tables.batch([[65535, 0]], [1]), np.array([2**45]))
    for _ in range(10):
        value += value

    assert [65535 * 2**55, 65535 * 2**55] == score.values(value, equal(2))


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


def every_table(records, rows):
    """All tables of `n` rows, as tuples of positions."""
    return product(range(len(records)), repeat=rows)


def worst_of_all(score, weights, rows, records):
    """The furthest move over all tables of `n` rows and all their neighbours."""
    worst = {
        table: values(score, [tables.batch([[records[r][0]] for r in table],
                                           [records[r][1] for r in table])], weights)[0]
        for table in every_table(records, rows)}
    if score.public.replace:
        return max(abs(worst[t] - worst[(*t[:i], r, *t[i + 1:])])
                   for t in worst for i in range(rows) for r in range(t[i]))
    fewer = {table: values(score, [tables.batch([[records[r][0]] for r in table],
                                                [records[r][1] for r in table])], weights)[0]
             for table in every_table(records, rows - 1)}
    return max(abs(worst[t] - fewer[t[:i] + t[i + 1:]]) for t in worst for i in range(rows))


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
    """All tables of a few rows and all their neighbours: both bounds are all but attained.

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
        came = max(came, *(abs(row - value(table)) for row in with_one))

    assert 0.999 * bound(score, None) < replaced <= bound(score, None)
    assert 0.999 * bound(removed, None) < came <= bound(removed, None)
    assert 2 * bound(removed, None) == bound(score, None)


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


def test_a_score_that_is_not_there_is_refused():
    """The message names those that are."""
    with pytest.raises(ParameterError, match="choose one of: mean-difference"):
        score_of("chi-square", Public(tables.domain("n"), 9))
