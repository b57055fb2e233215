"""Law: sources.  Where rows are of persons a group of a publication is k persons, not k rows.

Who they are is said by a domain that names the person, or by a column of the table.
"""

from __future__ import annotations

import csv
import html
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import privsieve as ps
from privsieve.check.verify import verify
from privsieve.containment.forward import forward
from privsieve.containment.knowledge import Groups, Knowledge
from privsieve.containment.labelled import Labelled
from privsieve.containment.measures import closed
from privsieve.containment.publishable import by_sources
from privsieve.errors import ParameterError, SchemaError
from privsieve.kernels.patterns import Rule
from privsieve.ledger.ledger import Ledger
from privsieve.rows.cutting import Cutting, shared_cuts
from privsieve.rows.items import Reading, items_of, table_of
from privsieve.rows.matrix import Items

DOMAIN = """[table]
unit = "person"
person = "patient"
persons = 60
[[column]]
name = "rare"
kind = "flag"
[[column]]
name = "smoker"
kind = "flag"
[[column]]
name = "ward"
kind = "category"
values = ["A", "B", "C"]
[target]
name = "ill"
kind = "label"
values = ["no", "yes"]
default = "no"
"""
#: How a person is named: words of a command, and the word for persons in texts.
SOURCE, PERSON = ("--target", "ill", "--source", "patient"), ("--domain", "d.toml")
NOUN = {SOURCE: ("sources", "sources"), PERSON: ("persons", "people")}
LEDGER = ("--ledger", "n.db", "--population", "clinic", "--snapshot", "2026")
EVEN = ("--method", "greedy", "--weights", "even")
WAYS = [(), ("--profile", "strict"), ("--method", "greedy"), EVEN, (*EVEN, "--absences", "all"),
        ("--publish-target",), (*EVEN, "--publish-target"),
        ("--method", "greedy", "--absences", "smoker"),
        ("--method", "greedy", "--l-diversity", "2")]

named = pytest.mark.parametrize("who", [SOURCE, PERSON], ids=["source", "person"])


def visits():
    """Rows of 60 patients: six that hold `rare` are one patient's, and ten rows are nobody's."""
    rng = np.random.default_rng(3)
    rows = []
    for at in range(240):
        who = 0 if at < 6 else at % 60
        rows.append((f"p{who}" if at < 230 else "", int(at < 6), int(rng.random() < 0.5),
                     "ABC"[rng.integers(3)], "no" if at >= 6 and rng.random() < 0.6 else "yes"))
    return pd.DataFrame(rows, columns=["patient", "rare", "smoker", "ward", "ill"])


@pytest.fixture
def privsieve(tmp_path, monkeypatch, cli):
    """Run one command line in a folder with the visits and their domain file."""
    monkeypatch.chdir(tmp_path)
    visits().to_csv("v.csv", index=False)
    Path("d.toml").write_text(DOMAIN)
    return cli


def publish(who, *options, out="out"):
    """The words of a publication that counts persons."""
    return ("publish", "v.csv", *who, "-k", 5, "--out", out, *options)


def claim_of(folder="out"):
    """What is claimed of a publication."""
    return json.loads(Path(folder, "certificate.json").read_text())["claim"]


def flat(text):
    """A text without its line breaks."""
    return " ".join(text.split())


def people(rows, who, known, classes=None):
    """For each row the people of its group, by loops: `known` are columns whose absences count."""
    def fits(i, h):
        return (classes is None or classes[i] == classes[h]) and all(
            b == a if j in known else b >= a
            for j, (a, b) in enumerate(zip(rows[i], rows[h], strict=True)))

    return [len({who[h] for h in range(len(rows)) if fits(i, h)} - {-1, ""})
            for i in range(len(rows))]


def fewest(claim):
    """The fewest patients in a group of a publication, from the private table."""
    with Path("v.csv").open() as file:
        lines = list(csv.DictReader(file))
    rows = [[int(line[name] == "1" if name in line else line["ward"] == name.partition("=")[2])
             for name in claim["columns"]] for line in lines]
    names = claim["columns"] if claim["model"] == "k-anonymity" else claim["absent"]
    classes = [line["ill"] for line in lines] if claim["roles"]["target_known"] else None
    return min(people(rows, [line["patient"] for line in lines],
                      {claim["columns"].index(name) for name in names}, classes))


@named
@pytest.mark.parametrize("way", WAYS)
def test_six_rows_of_one_patient_hide_nobody(privsieve, who, way):
    """Every way of choosing counts patients, says so, and is verified; the six rows stay closed."""
    code, _, err = privsieve(*publish(who, *way))
    assert 0 == code, err
    counted, noun = NOUN[who]
    claim, release = claim_of(), json.loads(Path("out/release.json").read_text())
    table = "out/table.csv"

    assert (counted, counted) == (claim["counted"], release["plan"]["counted"])
    assert fewest(claim) >= 5
    assert not {"rare", "patient"} & {*claim["columns"]}
    assert () == verify("out/certificate.json", "out/release.json", table=table).reasons
    assert f"matching rows of at least 5 different {noun}" in flat(err)


def test_rows_would_have_published_them(privsieve):
    """The same table by rows publishes the six rows of one patient: the person keeps them in."""
    Path("d.toml").write_text(re.sub(r"unit.*\nperson.*\npersons.*\n", 'unit = "row"\n', DOMAIN))
    assert 0 == privsieve(*publish(PERSON, *EVEN))[0]
    claim = claim_of()

    assert ("rare" in claim["columns"], "counted" in claim) == (True, False)
    assert 1 == fewest(claim)


GREEDY_ONLY = "--method greedy and the profiles few and strict"


@pytest.mark.parametrize(("who", "options", "code", "text"), [
    (PERSON, ("--profile", "most"), 2, "one row a person"),
    (PERSON, ("--method", "maximal"), 2, "one row a person"),
    (PERSON, ("--method", "exact"), 2, "one row a person"),
    (PERSON, ("--method", "greedy", "--suppress", "3"), 2, "suppress"),
    (PERSON, ("--max-share", "0.9"), 2, "one row a person"),
    (PERSON, ("--closeness", "0.5"), 2, "one row a person"),
    (PERSON, ("--source", "ward"), 2, "the person of the domain file is 'patient'"),
    (PERSON, ("--columns", "patient,ward"), 2, "is never published"),
    (PERSON, ("--sensitive", "patient"), 2, "is never published"),
    (PERSON, ("--long", "ward", "smoker"), 2, "in a log, each user is one row"),
    (PERSON, ("-k", "61"), 3, "has 60 people, but k is 61"),
    (SOURCE, ("--profile", "most"), 2, GREEDY_ONLY),
    (SOURCE, ("--method", "exact"), 2, GREEDY_ONLY),
    (SOURCE, ("--method", "greedy", "--suppress", "2"), 2, "suppress"),
    (SOURCE, ("--source", "nobody"), 3, "'nobody' is"),
    (SOURCE, ("--source", "ill"), 2, "is never published"),
    (SOURCE, ("--levels", "patient=p1"), 2, "is never published"),
    (SOURCE, ("--long", "patient", "ward"), 2, "each user is one row"),
    (SOURCE, ("-k", "61", "--method", "greedy"), 3, "60 sources"),
])
def test_what_cannot_count_persons_is_refused(privsieve, who, options, code, text):
    """What counts rows only is refused in one sentence with the way out, and writes nothing."""
    actual_code, out, err = privsieve(*publish(who), *options)

    assert (code, "", 1, True) == (actual_code, out, err.count("\n"), text in flat(err)), err
    assert not Path("out").exists()


@pytest.mark.parametrize("command", [
    publish(PERSON), ("explore", "v.csv", "--domain", "d.toml", "--out", "x.html"),
    ("check", "v.csv", "--domain", "d.toml")])
def test_a_person_that_the_file_lacks(privsieve, command):
    """A domain whose person is no column of the file is refused in one sentence, before all."""
    Path("v.csv").write_text(Path("v.csv").read_text().replace("patient", "pid", 1))
    before = {*Path().iterdir()}

    assert (3, "", "privsieve: column 'patient' is not in the table; correct its name\n") == (
        privsieve(*command))
    assert before == {*Path().iterdir()}


@named
def test_check_counts_persons(privsieve, who):
    """`check` counts patients, says how many rows are nobody's, and asks for as many as -k."""
    counted, noun = NOUN[who]
    arguments = ("check", "v.csv", *who, "--columns", "rare,smoker")
    document = json.loads(privsieve(*arguments, "--json")[1])
    rows = visits()[["rare", "smoker"]].to_numpy().tolist()
    expected = min(people(rows, visits()["patient"].tolist(), {0, 1}))
    count = document[counted]

    assert (1, 60, 10) == (expected, count["count"], count["nobody"])
    assert expected == count["containment"]["level"] < document["containment"]["level"]
    assert 0 == privsieve(*arguments[:-1], "smoker", "-k", 2)[0]
    code, out, _err = privsieve(*arguments, "-k", 2)
    assert (7, True) == (code, f"60 {noun}" in out)


def test_the_holder_counts_a_folder_again(privsieve):
    """A folder is counted again from its table in people, which nobody else can."""
    assert 0 == privsieve(*publish(PERSON, *EVEN))[0]
    claim = claim_of()
    document = json.loads(privsieve("union", "v.csv", "out", "--domain", "d.toml", "--json")[1])
    alone = privsieve("union", "v.csv", "out", "--target", "ill", "--without", "patient")[1]

    assert fewest(claim) == document["lowest"] < claim["level"]
    assert "k counts people in one folder, but rows here" in flat(alone)


@named
def test_all_texts_say_who_is_counted(privsieve, who):
    """Page, form, label, `verify` and the page of each k: persons, as many rows as they have."""
    noun = NOUN[who][1]
    assert 0 == privsieve(*publish(who, *EVEN, "--publish-target", "--l-diversity", 1,
                                   "--internal-report", "private.html"))[0]
    assert 0 == privsieve("explore", "v.csv", *who, "--out", "x.html", "--seconds", 5)[0]
    pages = [flat(html.unescape(re.sub("<[^>]*>", "", Path(name).read_text())))
             for name in ("out/report.html", "private.html")]
    officer, label = (privsieve("export", form, "out")[1] for form in ("officer", "label"))
    verified, explored = privsieve("verify", "out")[1], Path("x.html").read_text()

    rows = ("Each row is one person", "each row is one person", "one row of the table")
    for text in (*pages, officer, label, verified, explored):
        assert noun in text
        assert not [full_text for full_text in rows if full_text in text]
    for text in (*pages, officer, label, verified):
        assert not [full_text for full_text in ("1 time in", "chance of a hit", "1 in 5")
                    if full_text in text]
        assert ("ources" in text) == (who == SOURCE)
    assert f"k counts {noun}, but the table has no ids" in flat(verified)
    if who == SOURCE:
        assert all("Two sources are two people" in page for page in pages)
        assert "the number of rows of one source is not limited" in officer
        return
    assert "A person may have several rows: k counts people." in explored
    for page in pages:
        assert "A person may have any number of rows." in page
        assert "counted in rows, of which a person may have several" in page
    assert "one person, who may have any number of rows" in officer
    assert "the number of rows of one person is not limited" in officer


def test_a_certificate_says_what_it_counts(privsieve):
    """One that counts something else, or says nothing of it, does not hold."""
    privsieve(*publish(SOURCE, *LEDGER, "--first"))
    good = json.loads(Path("out/certificate.json").read_text())
    for counted in ("rows", "people", "", ["persons"], 5):
        assert verify({**good, "claim": {**good["claim"], "counted": counted}}).reasons
    plain = {name: value for name, value in good["claim"].items() if name != "counted"}

    assert "differs from the ledger entry" in " ".join(verify({**good, "claim": plain}).reasons)


@pytest.mark.parametrize(("who", "way_out"), [
    (SOURCE, "--source"), (PERSON, "person in the domain file")])
def test_publications_add_up(privsieve, who, way_out):
    """Under one ledger all columns together are of k persons, and rows are refused beside them."""
    assert 0 == privsieve(*publish(who, "--columns", "smoker", *EVEN, *LEDGER, "--first",
                                   out="1"))[0]
    assert 0 == privsieve(*publish(who, "--columns", "ward", *EVEN, *LEDGER, out="2"))[0]
    code, _, err = privsieve("publish", "v.csv", "--target", "ill", "-k", 5, "--columns", "smoker",
                             "--out", "3", *EVEN, *LEDGER)

    assert (4, True) == (code, way_out in flat(err)), err
    assert [NOUN[who][0]] * 2 == [
        noted.claim["counted"] for noted in Ledger("n.db", population="clinic").publications()]
    document = json.loads(privsieve("union", "v.csv", "1", "2", *who, "--json")[1])
    assert document["lowest"] >= 5


def test_rows_first_then_sources(privsieve):
    """A later publication by sources asks of all columns together that groups are of k sources."""
    plain = ("publish", "v.csv", "--target", "ill", "-k", 5, "--without", "patient", *EVEN, *LEDGER)
    assert 0 == privsieve(*plain, "--first", "--out", "1")[0]
    code, _out, err = privsieve(*publish(SOURCE, *EVEN, *LEDGER, out="2"))

    assert (4, True) == (code, "rows in groups below k = 5" in err), err
    assert not Path("2").exists()


def test_a_mistake_of_ours_is_not_published(privsieve, monkeypatch):
    """Sources of the chosen columns are counted again, apart from the choice."""
    level = Groups.level
    monkeypatch.setattr(Groups, "level", lambda groups: 4 if groups.unit is not None
                        else level(groups))
    code, _out, err = privsieve(*publish(SOURCE))

    assert (7, True) == (code, "bug in privsieve" in err)
    assert not Path("out").exists()


# --- below the commands --------------------------------------------------------------------------

def test_people_are_counted_by_the_definition():
    """On 300 random tables with rows of nobody all who count people agree with loops."""
    rng, chosen = np.random.default_rng(4), 0
    for _ in range(300):
        n, d = rng.integers(2, 14), int(rng.integers(1, 6))
        rows = (rng.random((n, d)) < rng.random()).astype(int)
        who = rng.integers(-1, rng.integers(1, 8), n).astype(np.int32)
        y, absent = rng.permutation(np.arange(n) % 2).astype(np.int32), rng.random(d) < 0.5
        known, labelled = set(np.flatnonzero(absent).tolist()), bool(rng.integers(2))
        classes = y if labelled else None
        rule = Rule(2, 2, absent=absent, labelled=labelled)
        table = Labelled(Items.dense(rows), y, ("n", "y"), sources=who)

        assert people(rows, who, known, classes) == Knowledge.of(
            table, rule, range(d)).groups().sizes().tolist()
        assert people(rows, who, set(range(d)), classes) == Knowledge.of(
            table, Rule(2, 2, model="k-anonymity", labelled=labelled),
            range(d)).groups().sizes().tolist()
        groups = Knowledge(table.items, None, (y,) if labelled else (), who).groups()
        for sizes, seen in ((groups.sizes(), ()), (groups.equals(), set(range(d)))):
            assert people(rows, who, seen, classes) == sizes.tolist()
        if min(people(rows[:, :0], who, (), classes)) < 2:
            with pytest.raises((ParameterError, SchemaError)):
                by_sources(table, rule, np.ones(d, np.int64))
            continue
        for choice in (by_sources(table, rule, np.ones(d, np.int64)), forward(table, rule)):
            at = list(choice.selected)
            chosen += bool(at)
            assert min(people(rows[:, at], who, {at.index(j) for j in known & {*at}}, classes)) >= 2
    assert chosen > 100


def test_closed_columns_are_counted_by_sources():
    """What a closed column would do is told in persons: none is called free that exposes one."""
    items = Items.dense([[1, 1, 0]] * 6 + [[1, 0, 0]] * 6, ["a", "b", "c"])
    table = Labelled(items, np.zeros(12, np.int32), ("all",),
                     sources=np.array([0] * 6 + [1, 2, 3, 4, 5, 6]))
    levels = {name: (level, small) for name, level, small, _ in
              closed(table, Rule(2, 1), [0])["closed"]}

    assert {"b": (1, 6), "c": (7, 0)} == levels


def test_a_cut_point_is_shared_by_people():
    """Rows of nobody and of one person share no cut point, however many they are."""
    values = np.repeat([1.0, 2.0, 3.0], 10)
    many, alone = np.arange(30), np.repeat([0, 1, 2], 10)

    assert shared_cuts(values, Cutting(k=5, sources=many))
    for sources in (alone, np.full(30, -1), np.where(many < 14, many, -1)):
        assert [] == shared_cuts(values, Cutting(k=5, sources=sources))


def test_ids_are_told_apart_as_persons_are(tmp_path):
    """Of ids the text counts: 1 and 1.0 are one person; whole numbers beyond 2^53 are two."""
    domain = ps.Domain([ps.Flag("a")], person="who", persons=3)
    for who, expected in (([1, 1.0, "1", " 1.0 ", None, "b"], [0, 0, 0, 0, -1, 1]),
                          ([2**53, 2**53 + 1, 2**53, 5, 5, 6], [0, 1, 0, 2, 2, 3])):
        frame = pd.DataFrame({"a": [0, 1] * 3, "who": pd.Series(who)})
        assert expected == table_of(frame, None, Reading(domain)).sources.tolist()


def test_whose_rows(tmp_path):
    """Spellings are trimmed; a row that names nobody is nobody's; the table has the column."""
    path = tmp_path / "t.csv"
    path.write_text("a,who\n1,x\n0, x \n1,\n0,y\n1,\n")

    assert [0, 0, -1, 1, -1] == table_of(path, None, Reading(person="who")).sources.tolist()
    with pytest.raises(SchemaError, match="'whom' is not in the table"):
        table_of(path, None, Reading(person="whom"))
    (tmp_path / "b.dat").write_text("1 2\n1\n")
    with pytest.raises(ParameterError, match="holds only items"):
        table_of(tmp_path / "b.dat", None, Reading(person="who"))


COUNTING = [ps.PublishableColumns(5, method=how) for how in ("greedy", "few", "strict")]
ROWS_ONLY = [*(ps.PublishableColumns(5, method=how) for how in ("maximal", "exact", "most")),
             ps.PublishableColumns(5, method="greedy", suppress=2),
             ps.PublishableColumns(5, method="greedy", weights="distinct")]


@pytest.fixture
def domain(tmp_path):
    """The domain of the visits, and a file of it."""
    (tmp_path / "d.toml").write_text(DOMAIN)
    return tmp_path / "d.toml"


@pytest.mark.parametrize("kind", COUNTING, ids=str)
def test_estimators_count_people(kind, domain):
    """With a domain that names a person a group is k people, and the release says so."""
    frame = visits()
    model = kind.set_params(domain=domain).fit(frame)
    held, _, _ = items_of(frame, domain=ps.Domain.of(domain))
    at = [held.names.index(name) for name in model.release_.items]
    bits = np.zeros((held.rows, len(at)), int)
    for j, item in enumerate(at):
        bits[held.indices[held.indptr[item]:held.indptr[item + 1]], j] = 1

    assert min(people(bits, frame["patient"].tolist(), set(range(len(at))))) >= 5
    assert "people" == model.release_.counted
    assert "people" in str(model.release_)
    assert not {"rare", "patient"} & {*model.release_.selected}
    assert {"rare", "patient"} <= {*model.release_.columns}


@pytest.mark.parametrize("kind", ROWS_ONLY, ids=str)
def test_estimators_that_count_rows_refuse_people(kind, domain):
    """What cannot count people refuses a domain that names them; nothing is fitted."""
    with pytest.raises(ParameterError, match=r"people|sources"):
        kind.set_params(domain=domain).fit(visits())
    assert not hasattr(kind, "release_")


def test_estimators_refuse_other_people(domain):
    """A table without the person, or sources beside it, are refused in a sentence."""
    kind = ps.PublishableColumns(5, method="greedy", domain=domain)
    with pytest.raises(SchemaError, match="'patient' is not in the table"):
        kind.fit(visits().drop(columns="patient"))
    with pytest.raises(ParameterError, match="leave out one of them"):
        kind.fit(visits(), sources=range(240))
    frame = visits()
    by_name = ps.PublishableColumns(5, method="greedy").fit(
        frame[["rare", "smoker"]], frame["ill"], sources=frame["patient"].replace("", None))
    assert ("smoker",) == by_name.release_.selected
