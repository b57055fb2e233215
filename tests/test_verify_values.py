"""Law: verify.  Who has a published table alone finds what its groups were said to tell."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain

import numpy as np
import pytest

import naive_disclosure as naive
from forged import claim_of
from privsieve.check.table import Disclosed, Opened, Unreadable, limit_notes, limit_reasons
from privsieve.containment.labelled import Labelled, Sensitive
from privsieve.containment.limits import Limits, disclosures, missed
from privsieve.kernels.patterns import Rule
from privsieve.rows.matrix import Items
from test_disclosure import MODELS, naive_groups

AGES = ("-1.5", "2", "10", "1e2", "missing")


def published(rng, rows=None):
    """A random table as it is published: its file, its claim, and what its maker counted."""
    n, d = int(rows or rng.integers(2, 12)), int(rng.integers(1, 5))
    matrix = (rng.random((n, d)) < rng.random()).astype(int)
    codes = [rng.integers(0, size, n).astype(np.int32) for size in (2, 3, len(AGES))]
    equal = bool(rng.integers(2))
    absent = rng.random(d) < 0.5
    names = [f"c{j}" for j in range(d)]
    table = Labelled(
        Items.dense(matrix, names), codes[0], ("no", "yes"), "ill", sensitive=(
            Sensitive("ward", codes[1], ("a", "b", "c")),
            Sensitive("age", codes[2], AGES, ordered=True)))
    rule = Rule(1, 2, model=MODELS[equal], absent=absent, labelled=bool(rng.integers(2)))
    lines = [",".join([*map(str, row), ("no", "yes")[y], "abc"[w], AGES[a]])
             for row, y, w, a in zip(matrix.tolist(), *codes, strict=True)]
    data = "\n".join([",".join([*names, "ill", "ward", "age"]), *lines, ""]).encode()
    claim = {"columns": names, "target": "ill", "sensitive": ["ward", "age"],
             "model": rule.model, "l_diversity": 1,
             "absent": [] if equal else [names[j] for j in np.flatnonzero(absent)],
             "roles": {"target": "ill", "target_known": rule.labelled,
                       "sensitive": ["ward", "age"]},
             "limits": {"share": None, "entropy": None, "closeness": None, "ordered": ["age"]}}
    return matrix, table, rule, claim, data


def disclosed(table, rule):
    """The part of a release that describes values."""
    return [disclosure.json() for disclosure in disclosures(table, rule)]


def is_said(figures, counted):
    """Whether this is what the checker counted."""
    return len(figures) == len(counted) and all(map(Disclosed.says, counted, figures))


def test_maker_and_checker_agree():
    """On 150 random tables the checker finds each figure that the maker says."""
    rng = np.random.default_rng(3)
    for _ in range(150):
        _, table, rule, claim, data = published(rng)

        assert is_said(disclosed(table, rule), Opened.of(data, claim).disclosures())


def test_the_checker_is_loops():
    """On 60 random tables the checker's figures are what the definitions say."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        matrix, table, rule, claim, data = published(rng)
        column = table.sensitive[1]
        each = list(chain(*naive_groups(matrix, table, rule, "sensitive")))
        share, distinct, entropy, closeness = naive.figures(column.codes.tolist(), each,
                                                            ordered=True)
        figures = Opened.of(data, claim).disclosed("age")

        assert (share, distinct, closeness) == (figures.share, figures.distinct, figures.closeness)
        assert 0 <= Fraction(entropy) - figures.entropy + Fraction(2, 10**40) < Fraction(1, 10**10)


def test_limits_are_recounted():
    """A limit that the maker's rows miss is a reason for the checker, and no other is."""
    rng = np.random.default_rng(5)
    caught = 0
    for _ in range(150):
        _, table, rule, claim, data = published(rng)
        wanted_limits = {"share": str(rng.choice(["0.5", "0.75"])),
                         "entropy": str(rng.choice(["1", "2"])),
                         "closeness": str(rng.choice(["0.25", "0.5"]))}
        claim["l_diversity"] = int(rng.integers(1, 3))
        claim["limits"] = {**wanted_limits, "ordered": ["age"]}
        limits = Limits.of(distinct=claim["l_diversity"], **wanted_limits)
        rows = missed(table, rule, limits, range(len(table.items)))
        reasons = list(limit_reasons(claim, Opened.of(data, claim).disclosures()))
        caught += bool(reasons)
        words = {"share": "share of one value", "entropy": "entropy l", "distinct": "number of",
                 "closeness": "distance"}

        assert {(words[name], column == "ill") for (name, column), bad in rows.items() if bad} == {
            (word, "the target" in reason) for reason in reasons for word in words.values()
            if word in reason}
    assert 50 < caught < 150


def test_forged_limits_and_figures_are_found():
    """A limit a millionth stricter than the table, and any figure that is edited, is a reason."""
    rng = np.random.default_rng(6)
    _, table, rule, claim, data = published(rng, rows=40)
    figures = disclosed(table, rule)
    worst = {"share": max(figures, key=lambda figure: Fraction(figure["share"])),
             "entropy": min(figures, key=lambda figure: Fraction(figure["entropy"])),
             "closeness": max(figures, key=lambda figure: Fraction(figure["closeness"]))}
    for name, figure in worst.items():
        true = Fraction(figure[name])
        if name == "share" and true == 1:
            continue
        stricter = true + (1 if name == "entropy" else -1) * Fraction(2, 10**6)
        for limit, reasons in ((true, 0), (stricter, 1)):
            claim["limits"] = {**dict.fromkeys(("share", "entropy", "closeness")),
                               name: f"{float(limit):.6f}", "ordered": ["age"]}

            values = Opened.of(data, claim).disclosures()
            assert bool(reasons) == bool(list(limit_reasons(claim, values)))
    counted = Opened.of(data, claim).disclosures()
    for at, figure in enumerate(figures):
        for name, value in figure.items():
            forged = [dict(each) for each in figures]
            other = "0.123456" if isinstance(value, str) else not value
            forged[at][name] = [] if isinstance(value, list) else other

            assert not is_said(forged, counted), name
    assert is_said(figures, counted)
    assert not is_said(figures[1:], counted)


def test_an_entropy_may_be_told_as_a_millionth_less():
    """A maker may not count a large group exactly, and then says less; never more."""
    _, table, rule, claim, data = published(np.random.default_rng(7), rows=20)
    figures, counted = disclosed(table, rule), Opened.of(data, claim).disclosures()
    first = figures[0]
    true = int(Fraction(first["entropy"]) * 10**6)
    for parts, valid in ((true - 1, True), (true - 2, False), (true + 1, False)):
        first["entropy"] = f"{parts / 10**6:.6f}".rstrip("0").rstrip(".")

        assert valid == is_said(figures, counted)


def told_of(text, column, *, ordered=True):
    """What groups on the column a tell of another one."""
    claim = claim_of(["a"], sensitive=[column])
    claim["limits"]["ordered"] = [column] * ordered
    return Opened.of(text.encode(), claim).disclosed(column)


def test_dates_have_an_order():
    """Dates and months of dates are ordered; anything else that is claimed to be, is refused."""
    days = "a,day\n1,2020-01\n1,2021-05\n1,2020-02\n0,missing\n"
    far, near = told_of(days, "day", ordered=False), told_of(days, "day")

    assert (Fraction(1, 6), Fraction(1, 4)) == (near.closeness, far.closeness)
    for bad in ("x", "2020-1", "nan", "1/3"):
        with pytest.raises(Unreadable, match="numbers or dates"):
            told_of(days.replace("2020-02", bad), "day")


def test_a_bad_table_is_refused():
    """A table without a claimed column, without a row, or with other cells is said to be so."""
    for data, of in ((b"a,b\n1,x\n", ["c"]), (b"a,b\n", ["a"]), (b"a,b\n2,x\n", ["a"]),
                     (b"a,b\n1,x\n", [])):
        with pytest.raises(Unreadable):
            Opened.of(data, claim_of(of, sensitive=["b"]))


def test_what_is_not_published_is_noted():
    """Limits on columns that stay behind are said not to be recounted; a bad limit is a reason."""
    claim = {"columns": ["a"], "target": None, "sensitive": [], "l_diversity": 2,
             "roles": {"target": "ill", "target_known": False, "sensitive": []},
             "limits": {"share": None, "entropy": None, "closeness": None}}

    assert 1 == len(list(limit_notes(claim)))
    assert [] == list(limit_notes({**claim, "l_diversity": 1}))
    forged = {**claim, "limits": {**claim["limits"], "share": "1.5"}}
    assert ["a claimed limit is impossible"] == list(limit_reasons(forged, []))


def test_bins_are_ordered_by_where_they_begin():
    """Bins of numbers and dates, however many digits they have, are counted in their order."""
    for names in (("pay<9000", "pay=9000..15000", "pay>=15000", "missing"),
                  ("pay<2020-06-01", "pay=2020-06-01..2021-01-01", "pay>=2021-01-01", "missing")):
        cells = [names[at] for at in (0, 0, 1, 2, 3, 3, 2, 1)]
        text = "a,pay\n" + "".join(f"{at % 2},{cell}\n" for at, cell in enumerate(cells))
        places = {name: str(at) for at, name in enumerate(names[:3])} | {"missing": "missing"}
        plain = "a,pay\n" + "".join(f"{at % 2},{places[cell]}\n" for at, cell in enumerate(cells))

        assert told_of(plain, "pay") == told_of(text, "pay")
