"""Law: sources.  Where rows are of persons a group is of k persons, and their column stays."""

from __future__ import annotations

import html
import json
import random
import re
from pathlib import Path

import numpy as np
import pytest

from privsieve.check.table import Opened
from privsieve.check.verify import verify
from privsieve.containment.groups import source_crowds
from privsieve.containment.knowledge import Knowledge
from privsieve.containment.labelled import Labelled
from privsieve.containment.publishable import by_sources
from privsieve.errors import SchemaError
from privsieve.kernels.patterns import Rule
from privsieve.ledger.ledger import Ledger
from privsieve.rows.items import Reading, table_of
from privsieve.rows.matrix import Items

ROWS, PERSONS = 400, 90
WAYS = [("--profile", "few"), ("--profile", "strict"), ("--method", "greedy"),
        ("--method", "greedy", "--weights", "even"), ("--method", "greedy", "--absences", "smoker"),
        ("--method", "greedy", "--l-diversity", "2")]
LEDGER = ("--ledger", "budget.db", "--population", "clinic", "--snapshot", "2026")


def table():
    """Rows of persons: those of one person are alike, so that rows hide nobody from sources."""
    rng = random.Random(5)
    lines = ["age,dose,ward,smoker,who,ill"]
    people = [(rng.randint(0, 3), rng.randint(0, 10), rng.choice("ABCD"), rng.randint(0, 1))
              for _ in range(PERSONS)]
    for row in range(ROWS):
        who = row % PERSONS if row < 2 * PERSONS else rng.randrange(8)
        age, dose, ward, smoker = people[who]
        ill = "yes" if dose + rng.randint(-2, 2) > 5 else "no"
        lines.append(f"{20 * age},{dose},{ward},{smoker},p{who},{ill}")
    return "\n".join([*lines, ""])


@pytest.fixture
def privsieve(tmp_path, monkeypatch, cli):
    """Run one command line in a folder with a table: its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(table())
    return cli


def publish(*more, out="out", k=5):
    """The words of a publication by sources."""
    return ("publish", "t.csv", "--target", "ill", "-k", k, "--out", out, "--source", "who", *more)


def poorest(columns, model, absent=()):
    """The fewest persons in a group, from the private table, by the definition."""
    from privsieve.rows.items import items_of

    items, _, _ = items_of("t.csv", "ill", columns={"who": False, ...: None})
    held = np.zeros((items.rows, len(columns)), int)
    for at, name in enumerate(columns):
        j = items.names.index(name)
        held[items.indices[items.indptr[j]:items.indptr[j + 1]], at] = 1
    who = [line.split(",")[4] for line in Path("t.csv").read_text().splitlines()[1:]]
    known = [name in absent or model == "k-anonymity" for name in columns]

    def fits(mine, other):
        return all(b == a if seen else b >= a
                   for a, b, seen in zip(mine, other, known, strict=True))

    rows = [tuple(row) for row in held.tolist()]
    return min(len({w for w, other in zip(who, rows, strict=True) if fits(mine, other)})
               for mine in set(rows))


@pytest.mark.parametrize("way", WAYS)
def test_published_groups_are_of_k_sources(privsieve, way):
    """Each group is of k persons; the file has as many rows in each; the persons do not leave."""
    code, _out, err = privsieve(*publish(*way))
    assert 0 == code, err
    claim = json.loads(Path("out/certificate.json").read_text())["claim"]
    text = Path("out/table.csv").read_text()
    level, _classes = Opened.of(text.encode(), claim).smallest()

    assert "sources" == claim["counted"]
    assert poorest(claim["columns"], claim["model"], claim["absent"]) >= 5
    assert level == claim["level"] >= 5
    assert "who" not in text
    assert "p1" not in text
    assert "finds rows of at least 5 different sources that fit" in " ".join(err.split())
    release = json.loads(Path("out/release.json").read_text())
    assert "sources" == release["plan"]["counted"]


def test_rows_alone_would_not_do(privsieve):
    """The same choice by rows leaves groups of fewer persons: the option is what keeps them."""
    way = ("--method", "greedy", "--weights", "even")
    assert 0 == privsieve(*publish(*way, out="sources"))[0]
    assert 0 == privsieve("publish", "t.csv", "--target", "ill", "-k", 5, "--out", "rows", *way,
                          "--without", "who")[0]
    counted, plain = (json.loads(Path(name, "certificate.json").read_text())["claim"]
                      for name in ("sources", "rows"))

    assert "counted" not in plain
    assert poorest(plain["columns"], "containment") < 5
    assert poorest(counted["columns"], "containment") >= 5


def test_verify_says_what_it_cannot_count(privsieve):
    """A checker recounts rows, notes that k counts sources, and finds a certificate without it."""
    privsieve(*publish(*LEDGER, "--first"))
    good = json.loads(Path("out/certificate.json").read_text())
    code, out, _err = privsieve("verify", "out", "--ledger", "budget.db")
    assert (0, True) == (code, "k counts sources, which the table does not hold" in
                         " ".join(out.split()))
    for counted in ("rows", "people", "", ["persons"]):
        assert verify({**good, "claim": {**good["claim"], "counted": counted}}).reasons
    plain = {name: value for name, value in good["claim"].items() if name != "counted"}
    assert "noted in the ledger" in " ".join(verify({**good, "claim": plain}).reasons)
    assert verify({**good, "claim": {**good["claim"], "counted": 5}}).reasons


def test_the_pages_speak_of_sources(privsieve):
    """No page gives odds in rows where k counts persons, who may have many of the rows that fit."""
    way = ("--method", "greedy", "--weights", "even")
    privsieve(*publish(*way, "--internal-report", "private.html"))
    privsieve("publish", "t.csv", "--target", "ill", "-k", 5, "--out", "plain", *way,
              "--without", "who")
    *pages, plain = (" ".join(html.unescape(re.sub("<[^>]*>", "", Path(name).read_text())).split())
                     for name in ("out/report.html", "private.html", "plain/report.html"))
    odds = ("1 time in", "chance of a hit", "1 in 5", "Each row is one person.")
    sources = ("ows of at least 5 different sources always fit", "Two sources are two people",
               "has rows of at least 5 different sources that fit")

    assert [True] * 4 + [False] * 3 == [said in plain for said in odds + sources]
    for page in pages:
        assert [False] * 4 + [True] * 3 == [said in page for said in odds + sources]
    label, officer = (privsieve("export", form, "out")[1] for form in ("label", "officer"))
    assert "of at least 5 different sources" in label
    assert "how many are of one source is not bounded" in officer
    assert "1 time in" not in officer


def test_closed_columns_are_counted_by_sources(privsieve):
    """What a closed column would do is told in persons: none is called free that exposes one."""
    from privsieve.containment.breaking import closed

    items = Items.dense([[1, 1, 0]] * 6 + [[1, 0, 0]] * 6, ["a", "b", "c"])
    table = Labelled(items, np.zeros(12, np.int32), ("all",),
                     sources=np.array([0] * 6 + [1, 2, 3, 4, 5, 6]))
    found = {name: (level, small) for name, level, small, _ in
             closed(table, Rule(2, 1), [0])["closed"]}

    assert {"b": (1, 6), "c": (7, 0)} == found


def test_publications_of_sources_add_up(privsieve):
    """After a publication by sources all columns together are of k sources, or nothing leaves."""
    even = ("--method", "greedy", "--weights", "even")
    assert 0 == privsieve(*publish(*even, *LEDGER, "--first", out="1"))[0]
    assert 0 == privsieve(*publish(*even, *LEDGER, out="2"))[0]
    code, _out, err = privsieve("publish", "t.csv", "--target", "ill", "-k", 5, "--without", "who",
                                "--out", "3", *even, *LEDGER)
    assert (4, True) == (code, "--source COLUMN" in err), err
    code, _out, err = privsieve(*publish("--method", "greedy", "--absences", "dose", *LEDGER,
                                         "--cut", "dose=1,2,3,4,5,6,7,8,9", out="4"))
    assert 4 == code, err
    assert [("sources",), ("sources",)] == [(noted.claim["counted"],) for noted in
                                            Ledger("budget.db", population="clinic").publications()]


def test_rows_first_then_sources(privsieve):
    """A later publication by sources asks of all columns together that groups are of k sources."""
    even = ("--method", "greedy", "--weights", "even")
    plain = ("publish", "t.csv", "--target", "ill", "-k", 5, "--without", "who", *even, *LEDGER)
    assert 0 == privsieve(*plain, "--first", "--out", "1")[0]
    code, _out, err = privsieve(*publish(*even, *LEDGER, out="2"))

    assert (4, True) == (code, "rows in groups below k = 5" in err), err
    assert not Path("2").exists()


def test_check_counts_sources(privsieve):
    """`check --source` counts the persons of each group, and -k asks for that many."""
    asked = ("check", "t.csv", "--target", "ill", "--source", "who", "--columns", "smoker,ward",
             "--presences-only", "all")
    found = json.loads(privsieve(*asked, "--json")[1])
    level = poorest(["smoker", "ward=A", "ward=B", "ward=C", "ward=D"], "containment")

    assert (PERSONS, level) == (found["sources"]["count"], found["sources"]["containment"]["level"])
    assert level < found["containment"]["level"]
    assert 0 == privsieve(*asked, "-k", level)[0]
    code, out, err = privsieve(*asked, "-k", level + 1)
    assert (7, True) == (code, f"level in sources is {level}" in err)
    assert f"{PERSONS} sources" in out
    assert "known, in sources" in out
    assert "sources" not in json.loads(privsieve("check", "t.csv", "--without", "who", "--json")[1])


def test_sources_are_counted_by_the_definition():
    """On 300 random tables the distinct sources of each group are those of brute force."""
    rng = np.random.default_rng(4)
    for _ in range(300):
        rows = (rng.random((rng.integers(1, 14), rng.integers(1, 6))) < rng.random()).astype(int)
        sources = rng.integers(0, rng.integers(1, 8), len(rows)).astype(np.int32)
        absent = rng.random(rows.shape[1]) < 0.3
        expected = {
            "containment": [len({int(s) for s, other in zip(sources, rows, strict=True)
                                 if all(b >= a if not seen else b == a for a, b, seen
                                        in zip(mine, other, absent, strict=True))})
                            for mine in rows],
            "k-anonymity": [len({int(s) for s, other in zip(sources, rows, strict=True)
                                 if (mine == other).all()}) for mine in rows]}
        for model, counts in expected.items():
            rule = Rule(2, 1, model=model, absent=absent if model == "containment" else None)

            groups = Knowledge.of(Items.dense(rows), rule, None, sources).groups()
            assert counts == groups.sizes().tolist()
        found = source_crowds(Items.dense(rows), sources, 2)
        assert min(expected["k-anonymity"]) == found.equal.level
        assert found.count == len(set(sources.tolist()))


def test_whose_rows(tmp_path):
    """Spellings are trimmed; a row that names nobody is nobody's; the table has the column."""
    path = tmp_path / "t.csv"
    path.write_text("a,who\n1,x\n0, x \n1,\n0,y\n1,\n")

    assert [0, 0, -1, 1, -1] == table_of(path, None, Reading(person="who")).sources.tolist()
    with pytest.raises(SchemaError, match="'whom' is not in the table"):
        table_of(path, None, Reading(person="whom"))


def test_weights_as_an_array():
    """Weights in an array are weights, not a name."""
    items, y = Items.dense([[1, 1], [1, 0], [0, 1], [0, 0]]), np.array([1, 1, 0, 0], np.int32)

    assert (1,) == by_sources(Labelled(items, y, sources=np.array([0, 0, 1, 2])), Rule(2, 2),
                              np.array([1, 1])).selected


@pytest.mark.parametrize(("more", "code", "text"), [
    (("--profile", "most"), 2, "--method greedy and by the profiles few and strict"),
    (("--method", "exact"), 2, "--method greedy and by the profiles few and strict"),
    (("--method", "greedy", "--suppress", "2"), 2, "suppress"),
    (("--source", "nobody"), 3, "'nobody' is"),
    (("--source", "ill"), 2, "never leaves the table"),
    (("--columns", "age,who"), 2, "never leaves the table"),
    (("--levels", "who=p1"), 2, "never leaves the table"),
    (("--long", "who", "ward"), 2, "each user is one row"),
    (("-k", "91", "--method", "greedy"), 3, "90 sources"),
])
def test_refusals(privsieve, more, code, text):
    """What cannot be counted by sources is refused in a sentence, and leaves no folder."""
    found, out, err = privsieve(*publish(), *more)

    assert (code, "", 1) == (found, out, len(err.splitlines())), err
    assert text in err
    assert not Path("out").exists()


def test_a_matrix_has_no_source(privsieve):
    """A file of items alone has no column of persons."""
    Path("b.dat").write_text("1 2\n1\n2\n")
    code, _out, err = privsieve("check", "b.dat", "--source", "who")

    assert code in (2, 3)
    assert "who" in err or "--source" in err


def test_a_mistake_of_ours_is_not_published(privsieve, monkeypatch):
    """Sources of the chosen columns are counted again, apart from the choice."""
    from privsieve.containment import publish as module

    monkeypatch.setattr(module, "sources_at", lambda *_: np.array([4]))
    code, _out, err = privsieve(*publish())

    assert (7, True) == (code, "mistake of privsieve" in err)
    assert not Path("out").exists()
