"""Law: check.  What it says of a table is what brute force finds in it."""

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from privsieve.containment.knowledge import Knowledge
from privsieve.containment.measures import containment_level, gains, rare_sets
from privsieve.rows.matrix import Items
from privsieve.telling.document import Document

TOY = "a,b,c,d,e\n" + "1,0,1,0,1\n1,0,1,0,1\n1,0,0,1,1\n1,0,1,0,1\n1,1,1,0,1\n1,1,0,1,1\n"


@pytest.fixture
def privsieve(tmp_path, monkeypatch, cli):
    """Run one command line in a folder with the paper's toy table."""
    monkeypatch.chdir(tmp_path)
    Path("toy.csv").write_text(TOY)
    return cli


def level(rows, columns):
    """The size of the smallest group on some columns, from the definition."""
    return min(sum(all(other[j] >= mine[j] for j in columns) for other in rows) for mine in rows)


def costs(items):
    """What single columns cost anyone who knows which items a row has."""
    known = Knowledge(items)
    return gains(known, known.groups().sizes())


def rare(rows, k):
    """All sets of at most three columns that some rows hold, but fewer than k, and no part."""
    def holders(columns):
        return sum(all(row[j] for j in columns) for row in rows)

    supports = {}
    for size in (1, 2, 3):
        for columns in itertools.combinations(range(len(rows[0])), size):
            parts = itertools.combinations(columns, size - 1)
            if 0 < holders(columns) < k and all(holders(itemset) >= k for itemset in parts
                                                if itemset):
                supports[columns] = holders(columns)
    return supports


def test_gains_and_rare_sets_are_brute_force():
    """On 1,000 random tables both agree with the definitions."""
    rng = np.random.default_rng(11)
    for _ in range(1000):
        rows = (rng.random((rng.integers(1, 13), rng.integers(1, 7))) < rng.random()).astype(int)
        k, names = int(rng.integers(2, 6)), [f"c{j}" for j in range(rows.shape[1])]
        items = Items.dense(rows, names)
        columns = set(range(rows.shape[1]))
        now = level(rows, columns)
        without = {j: level(rows, columns - {j}) for j in columns}
        itemsets, expected = rare_sets(items, k, at_most=10**6), rare(rows.tolist(), k)

        assert {names[j]: new for j, new in without.items() if new > now} == costs(items)
        assert expected == dict(zip(itemsets.sets, itemsets.rows, strict=True))
        assert itemsets.complete
        some = rare_sets(items, k, at_most=2)
        assert set(some.sets) <= set(expected)
        assert min(2, len(expected)) == len(some.sets)


def test_a_column_of_several_items_is_one():
    """What a column costs is what all its items cost together."""
    items = Items.dense([[1, 0, 1], [0, 1, 1], [0, 0, 1], [0, 0, 1]], ["w=A", "w=B", "s"])
    joined = Items(items.indptr, items.indices, items.rows, items.names, ("w", "w", "s"))

    assert ({}, {"w": 4}) == (costs(items), costs(joined))


def test_check_shows(privsieve):
    """The toy table of the paper: level 1, what each column costs, and what breaks k = 2."""
    has = ("--presences-only", "all")
    code, out, err = privsieve("check", "toy.csv", "-k", 2, *has)
    assert (7, True) == (code, "smallest group (containment level) is 1, below k = 2" in err)
    code, full_document, _err = privsieve("check", "toy.csv", "--json", "-k", 2, *has)
    assert 7 == code
    document = json.loads(full_document)

    assert (1, 6, 5) == (document["containment"]["level"], document["rows"], document["columns"])
    assert {"b": 2} == document["level_without"]
    assert [{"items": ["b", "c"], "rows": 1}, {"items": ["b", "d"], "rows": 1}] == document["rare"]
    assert document["rare_complete"]
    assert re.search("without +b: smallest group 2 instead of 1", out)
    assert re.search("rare +b, c: 1 row has all of these items", out)
    assert out.startswith("PRIVATE")
    assert document["containment"]["level"] == containment_level(np.array(
        [list(map(int, line.split(","))) for line in TOY.splitlines()[1:]]))


def test_a_search_that_stops_says_so(privsieve, monkeypatch):
    """Where not all sets were looked at, nothing is said of those that were not."""
    monkeypatch.setattr("privsieve.containment.measures.MOST_READ", 0)
    out = privsieve("check", "toy.csv", "-k", 2)[1]

    assert re.search("rare +there may be more combinations: the search stopped here", out)
    assert "larger sets do" not in out


def test_what_groups_tell_is_shown(privsieve, monkeypatch):
    """Of a target, figures of disclosure as JSON and as a table; without one, nothing."""
    Path("ill.csv").write_text("smoker,ill\n" + "1,0\n" * 4 + "0,0\n" * 2 + "0,1\n" * 2)
    ask = ("check", "ill.csv", "--target", "ill")
    document, out = json.loads(privsieve(*ask, "--json")[1]), privsieve(*ask)[1]

    assert [{"column": "ill", "role": "target", "rows": 8, "values": 2, "share": "1",
             "above": [["0.8", 4], ["0.95", 4]], "distinct": 1, "entropy": "1",
             "closeness": "0.25", "ordered": False}] == document["disclosure"]
    assert "at 0.95" in out
    assert re.search(r"^ +ill +2 +1 +1 +1 +0.25 +4 +4$", out, re.MULTILINE)
    assert [] == json.loads(privsieve("check", "toy.csv", "--json")[1])["disclosure"]
    assert "worst group" not in privsieve("check", "toy.csv")[1]
    monkeypatch.setattr("privsieve.cli.check.MOST_PAIRS", 1)
    assert "not counted" in privsieve(*ask)[1]
    assert json.loads(privsieve(*ask, "--json")[1])["disclosure"] is None


def test_sensitive_columns_are_told_of(capsys):
    """Each sensitive column has a line, or more where its name is long."""
    from privsieve.cli import words
    from privsieve.cli.check import _disclosed, _disclosure_parts
    from privsieve.containment.labelled import Labelled, Sensitive

    ages = Sensitive("a very long name of a column", np.array([0, 1, 2, 2], np.int32),
                     ("20", "30", "40"), ordered=True)
    items = Items.dense([[1], [1], [0], [0]])
    labelled = Labelled(replace(items, absent=(True,)), np.zeros(4, np.int32), ("all",),
                        sensitive=(ages,))
    lines = _disclosed(labelled, np.array([True]), 2)
    words.tell(Document("", parts=[*_disclosure_parts(lines)]))

    assert ("0.375", 1, "1") == (lines[0].json()["closeness"], lines[0].distinct,
                                 lines[0].json()["share"])
    out = capsys.readouterr().out
    assert all(word in out for word in ages.name.split())
    assert "0.375" in out


def test_check_passes(privsieve):
    """A kept k is exit code 0; without -k nothing is demanded; a target adds what classes show."""
    assert 0 == privsieve("check", "toy.csv", "-k", 2, "--columns", "a,c,d")[0]
    assert 0 == privsieve("check", "toy.csv")[0]
    code, out, _err = privsieve("check", "toy.csv", "--target", "d")
    assert (0, True) == (code, "rows are in groups of one class" in out)
    assert "one_class" in privsieve("check", "toy.csv", "--target", "d", "--json")[1]
    assert 2 == privsieve("check", "toy.csv", "-k", 1)[0]
    assert 3 == privsieve("check", "none.csv")[0]
    Path("e.csv").write_text("a,b,c,d\n" + "1,1,1,0\n1,1,0,1\n1,0,1,1\n0,1,1,1\n" * 2 + "1,1,1,1\n")
    assert "three items breaks k = 2; larger sets do" in privsieve("check", "e.csv", "-k", 2)[1]
