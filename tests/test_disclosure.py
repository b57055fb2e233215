"""Law: disclosure.  What a group is said to tell of a column is what loops over rows find."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import chain

import numpy as np
import pytest

import naive_disclosure as naive
from privsieve.containment import limits
from privsieve.containment.labelled import Labelled, Sensitive
from privsieve.containment.limits import (
    Limits,
    attacker_groups,
    columns_of,
    disclosures,
    failing,
    groups_of,
    missed,
)
from privsieve.errors import ParameterError, SchemaError
from privsieve.kernels.patterns import Rule
from privsieve.rows.matrix import Items

MODELS = ("containment", "k-anonymity")


def table_of(rng, rows=None):
    """A random table with a target and two sensitive columns, one of them of numbers."""
    n = int(rows or rng.integers(1, 14))
    matrix = (rng.random((n, rng.integers(0, 6))) < rng.random()).astype(int)
    classes = int(rng.integers(1, 4))
    values = int(rng.integers(1, 7))
    texts = tuple(map(str, range(values)))
    return matrix, Labelled(
        Items.dense(matrix), rng.integers(0, classes, n).astype(np.int32),
        tuple(range(classes)), "ill", sensitive=(
            Sensitive("ward", rng.integers(0, values, n).astype(np.int32), texts),
            Sensitive("age", rng.integers(0, values, n).astype(np.int32), texts, ordered=True)))


def rule_of(rng, width, classes):
    """A random attacker."""
    absent = rng.random(width) < rng.choice([0, 0.5, 1]) if rng.random() < 0.7 else None
    return Rule(k=1, classes=classes, model=MODELS[rng.integers(2)], absent=absent,
                labelled=bool(rng.integers(2)))


def naive_groups(matrix, table, rule, role):
    """All groups that count for a column, one after the other: without the class, then with it."""
    rows = [set(np.flatnonzero(row).tolist()) for row in matrix]
    whole = set(range(matrix.shape[1]))
    levels = [naive.groups(rows, whole, rule)]
    if rule.labelled and role == "sensitive" and len(table.classes) > 1:
        levels.append(naive.groups(rows, whole, rule, table.y.tolist()))
    return levels


def up(figure):
    """A risk as it is shown, in millionths."""
    return -int(-figure * 10**6 // 1)


def down(figure):
    """Protection as it is shown, in millionths; the oracle knows fifty digits."""
    return int((figure + Decimal("1e-40")) * 10**6)


def millionths(text):
    """A text as JSON writes it."""
    return int(Fraction(text) * 10**6)


def test_figures_are_loops(monkeypatch):
    """On 80 random tables each figure, and each count of rows, is what the definition says."""
    rng = np.random.default_rng(5)
    for turn in range(80):
        matrix, table = table_of(rng)
        rule = rule_of(rng, matrix.shape[1], len(table.classes))
        if turn % 2:  # a few values at a time
            monkeypatch.setattr(limits, "_CELLS", 1)
            monkeypatch.setattr(limits, "_VALUES", int(rng.integers(1, 4)))
        disclosures_read = disclosures(table, rule)
        assert [(column.name, role) for column, role in columns_of(table)] == [
            (disclosure.column, disclosure.role) for disclosure in disclosures_read]
        for disclosure, (column, role) in zip(disclosures_read, columns_of(table), strict=True):
            values = column.codes.tolist()
            each = naive_groups(matrix, table, rule, role)
            figures = naive.figures(values, list(chain(*each)), column.ordered)
            share, distinct, entropy, closeness = figures
            above = [[step, sum(any(naive.share(values, group[i]) >= Fraction(step)
                                    for group in each) for i in range(len(values)))]
                     for step in ("0.8", "0.95")]
            document = disclosure.json()

            assert up(share) == millionths(document["share"])
            assert up(closeness) == millionths(document["closeness"])
            assert down(entropy) == millionths(document["entropy"])
            assert (distinct, above) == (document["distinct"], document["above"])
            assert (len(values), len(set(values)), column.ordered, role) == (
                document["rows"], document["values"], document["ordered"], document["role"])


def limits_of(rng, figures):
    """Limits of which some are just the figure of a table, or a little more or less."""
    def near(figure, unit, low, high, steps=(-1, 0, 1)):
        if rng.random() < 0.4:
            return None
        moved = Fraction(str(round(float(figure), 9))) + int(rng.choice(steps)) * unit
        return min(max(moved, low), high)

    share, distinct, entropy, closeness = figures
    nano = Fraction(1, 10**9)
    return (int(distinct) + int(rng.integers(-1, 2)) if rng.random() < 0.5 else None,
            near(share, nano, nano, Fraction(1)),
            near(Fraction(entropy), 10 * nano, Fraction(1), Fraction(99), (-1, 1)),
            near(closeness, nano, nano, Fraction(1)))


def test_failing_rows_are_loops():
    """On 120 random tables, with limits at the edge, just the rows of bad groups fail."""
    rng = np.random.default_rng(6)
    seen = set()
    for _ in range(120):
        matrix, table = table_of(rng)
        rule = rule_of(rng, matrix.shape[1], len(table.classes))
        for column, role in columns_of(table):
            values = column.codes.tolist()
            each = naive_groups(matrix, table, rule, role)
            wanted_limits = limits_of(rng, naive.figures(values, list(chain(*each)),
                                                         column.ordered))
            limits = Limits(*wanted_limits)
            failing = limits.failing(attacker_groups(table, rule, column, role))
            expected = [any(naive.misses(values, group[i], wanted_limits, column.ordered)
                            for group in each)
                        for i in range(len(values))]
            seen |= {(name, bool(rows.any())) for name, rows in failing.items()}

            assert expected == np.any([np.zeros(len(values), bool), *failing.values()],
                                      axis=0).tolist()
            for name, rows in failing.items():
                place = ("distinct", "share", "entropy", "closeness").index(name)
                only = [limit if at == place else None for at, limit in enumerate(wanted_limits)]

                assert [any(naive.misses(values, group[i], only, column.ordered) for group in each)
                        for i in range(len(values))] == rows.tolist()
    assert {(name, bad) for name in ("distinct", "share", "entropy", "closeness")
            for bad in (True, False)} == seen


def test_a_limit_that_is_met_exactly_is_kept():
    """A group of two values in equal parts has entropy l 2; a thousand millionth more is missed."""
    for counts, least in (([3, 3], "2"), ([7] * 7, "7")):
        codes = np.repeat(np.arange(len(counts)), counts).astype(np.int32)
        table = Labelled(Items.dense(np.ones((len(codes), 1))), codes, tuple(range(len(counts))))
        rule = Rule(2, len(counts))

        assert not failing(table, rule, Limits.of(entropy=least), [0]).any()
        assert failing(table, rule, Limits.of(entropy=f"{least}.000000001"), [0]).all()
        assert least == disclosures(table, rule)[0].json()["entropy"]


def test_what_cannot_be_compared_is_missed():
    """Where values are not as common, a limit that floating point cannot tell from it is missed.

    One half and four eighths have entropy l 4.
    """
    table = Labelled(Items.dense(np.ones((8, 1))), np.array([0] * 4 + [1, 2, 3, 4], np.int32),
                     tuple(range(5)))

    assert failing(table, Rule(2, 5), Limits.of(entropy="4"), [0]).all()
    assert not failing(table, Rule(2, 5), Limits.of(entropy="3.9999"), [0]).any()
    assert "3.999999" == disclosures(table, Rule(2, 5))[0].json()["entropy"]


def test_monotone_limits_are():
    """What misses a limit that is called monotone misses it with every further column."""
    rng = np.random.default_rng(7)
    other = 0
    for _ in range(150):
        matrix, table = table_of(rng, rows=int(rng.integers(4, 12)))
        if matrix.shape[1] < 2:
            continue
        rule = rule_of(rng, matrix.shape[1], len(table.classes))
        limits = Limits.of(distinct=int(rng.integers(1, 3)), share="0.7", entropy="1.8",
                           closeness="0.3")
        less, columns_more = list(range(matrix.shape[1] - 1)), list(range(matrix.shape[1]))
        with_less, with_more = (missed(table, rule, limits.monotone(rule), of)
                                for of in (less, columns_more))
        for name, rows in with_less.items():
            assert not rows or with_more[name]
        if limits.monotone(rule) != limits:
            before, after = (missed(table, rule, limits, of) for of in (less, columns_more))
            other += any(rows and not after[name] for name, rows in before.items())

    assert other  # and the others are not


def test_a_share_is_not_monotone():
    """Two groups that overlap may each keep a share that their union does not."""
    rows = [[1, 1, 0]] * 2 + [[1, 1, 1]] * 4 + [[1, 0, 1]] * 2 + [[0, 0, 0]] * 8
    table = Labelled(Items.dense(rows), np.array([0] * 4 + [1, 1, 0, 0] + [1] * 8, np.int32),
                     ("no", "yes"), "ill")
    rule, limits = Rule(2, 2), Limits.of(share="0.67")

    assert {("share", "ill"): 0} == missed(table, rule, limits, [0, 1, 2])
    assert {("share", "ill"): 8} == missed(table, rule, limits, [0])


def test_limits_are_demanded():
    """A limit that nothing or everything keeps by its kind is refused, with what it can be."""
    for bad, message in (({"share": "0"}, "above 0 and at most 1"),
                         ({"share": "1.01"}, "at most 1"),
                         ({"entropy": "0.5"}, "at least 1"), ({"closeness": "x"}, "such as 0.8"),
                         ({"share": "1/2"}, "such as 0.8"), ({"distinct": 0}, "write 1 or more"),
                         ({"closeness": "0.1234567891"}, "nine digits")):
        with pytest.raises(ParameterError, match=message):
            Limits.of(**bad)


def test_too_many_values_are_refused(monkeypatch):
    """A column of which the distances could not be counted in whole numbers is refused by name."""
    monkeypatch.setattr(limits, "_LARGEST", 100)
    items, column = Items.dense(np.ones((9, 1))), Sensitive("pay", np.arange(9, dtype=np.int32),
                                                            tuple("abcdefghi"), ordered=True)
    with pytest.raises(SchemaError, match=r"'pay' has 9 values in 9 rows.*cut them"):
        groups_of(items, Rule(2, 1), column)


def test_nothing_private_is_shown():
    """Groups and figures do not print themselves."""
    table = Labelled(Items.dense([[1], [1]]), np.array([0, 1], np.int32), (0, 1), "ill")
    [disclosures_read] = disclosures(table, Rule(2, 2))

    assert "0.5" not in repr(disclosures_read)
    assert "array" not in repr(attacker_groups(table, Rule(2, 2), *columns_of(table)[0]))
