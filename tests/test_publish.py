"""Law: publish.  What leaves keeps what is claimed, says nothing else, and adds up."""

import csv
import io
import json
import random
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from forged import claim_of
from privsieve.check.table import Opened, Unreadable
from privsieve.check.verify import verify
from privsieve.containment.choose import Choice
from privsieve.containment.labelled import Labelled
from privsieve.containment.publish import project, written
from privsieve.errors import CheckFailed, LedgerError, ParameterError
from privsieve.kernels.patterns import Rule
from privsieve.ledger import chain
from privsieve.ledger.ledger import Ledger, populations
from privsieve.public.canonical import canonical, digest
from privsieve.release import load
from privsieve.rows.matrix import Items

ROWS = 300
LEDGER = ("--ledger", "budget.db", "--population", "clinic", "--snapshot", "2026")
GREEDY = ("--method", "greedy", "--publish-target")


def table():
    """A table whose label follows the dose."""
    rng = random.Random(7)
    lines = ["age,dose,ward,smoker,ill"]
    for _ in range(ROWS):
        dose = rng.randint(0, 10)
        ill = "yes" if dose + rng.randint(-2, 2) > 5 else "no"
        lines.append(f"{rng.randint(0, 110)},{dose},{rng.choice('ABC')},{rng.randint(0, 1)},{ill}")
    return "\n".join([*lines, ""])


@pytest.fixture
def privsieve(tmp_path, monkeypatch, cli):
    """Run one command line in a folder with a table: its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(table())
    return cli


def publish(*options, out="out", k=5):
    """The words of a publication."""
    return ("publish", "t.csv", "--target", "ill", "-k", k, "--out", out, *options)


def naive(rows, absent=(), *, equal=False):
    """The size of the smallest group, from the definition."""
    def fits(mine, other):
        return mine == other if equal else all(
            b >= a if j not in absent else a == b
            for j, (a, b) in enumerate(zip(mine, other, strict=True)))

    return min(sum(fits(mine, other) for other in rows) for mine in rows)


def lines(data):
    """The rows of a CSV file of zeros and ones, without its head."""
    return [tuple(map(int, row)) for row in list(csv.reader(io.StringIO(data.decode())))[1:]]


@pytest.mark.parametrize("how", [(), ("--profile", "strict"), GREEDY,
                                 ("--profile", "most"), ("--method", "maximal"),
                                 ("--method", "exact", "--weights", "hamming"),
                                 ("--method", "greedy", "--weights", "distinct")])
def test_publish(privsieve, how):
    """A folder of three files; the table has the claimed columns and level, and `verify` agrees."""
    code, out, err = privsieve(*publish(*how))
    assert 0 == code, err
    data = Path("out/table.csv").read_bytes()
    certificate = json.loads(Path("out/certificate.json").read_text())
    claim = certificate["claim"]

    assert {"table.csv", "release.json", "certificate.json", "report.html"} == {
        path.name for path in Path("out").iterdir()}
    assert {0o600} == {path.stat().st_mode & 0o777 for path in Path("out").iterdir()}
    assert out.splitlines() == list(load("out").selected)
    assert set(out.split()) <= {"age", "dose", "ward", "smoker"}
    opened = Opened.of(data, claim)
    assert (claim["columns"], ROWS, claim["level"]) == (
        list(opened.held), opened.rows, opened.smallest()[0])
    assert claim["level"] >= 5
    assert verify("out/certificate.json", "out/release.json", table="out/table.csv").valid
    code, out, _err = privsieve("verify", "out")
    assert (0, "valid") == (code, out.split()[0])
    if claim["target"]:
        assert (2, "ill") == (claim["l_diversity"], claim["target"])
        assert opened.smallest()[1] >= 2


def test_nothing_else_leaves(privsieve):
    """No index and no metadata: the file holds the names and the cells."""
    privsieve(*publish(*GREEDY, out="c"))
    head = Path("c/table.csv").read_text().splitlines()[0]
    assert [*json.loads(Path("c/release.json").read_text())["columns"], "ill"] == next(
        csv.reader([head]))


def test_the_order_is_drawn(privsieve):
    """Rows leave in another order than they came in, and each time in another; none is lost."""
    for out in ("a", "b"):
        assert 0 == privsieve(*publish(*GREEDY, out=out))[0]
    first, second = (Path(out, "table.csv").read_text().splitlines() for out in "ab")
    place = Labelled(Items.dense(np.eye(40, dtype=int)), np.zeros(40, np.int32), (None,))
    rows = project(place, Choice(tuple(range(40)), 1), Rule(k=1, classes=1), with_target=False)

    assert first != second
    assert (first[0], Counter(first)) == (second[0], Counter(second))
    assert sorted(rows.cells.argmax(1).tolist()) == list(range(40))
    assert rows.cells.argmax(1).tolist() != list(range(40))


def test_a_changed_table_is_found(privsieve):
    """A row more, less or other, other columns, another file: each has its reason."""
    privsieve(*publish(*GREEDY))
    whole = Path("out/table.csv").read_text().splitlines(keepends=True)
    flipped = str(1 - int(whole[1][0])) + whole[1][1:]
    for change in ([*whole[:-1]], [*whole, whole[-1]], [whole[0], flipped, *whole[2:]],
                   [whole[0].replace("ill", "sick"), *whole[1:]], whole[:1],
                   ["a,ill\n", "1,2,3\n"]):
        Path("other.csv").write_text("".join(change))
        code, out, _err = privsieve("verify", "out/certificate.json", "--table", "other.csv")
        assert (7, True) == (code, "NOT VALID" in out)
    assert 2 == privsieve("verify", "out", "--table", "none.csv")[0]
    assert 0 == privsieve("verify", "out", "--table", "out/table.csv")[0]


def test_a_false_claim_is_found(privsieve):
    """A certificate that claims more than the table keeps does not pass, nor one of other shape."""
    privsieve(*publish(*GREEDY))
    good = json.loads(Path("out/certificate.json").read_text())
    for name, value in (("k", 4), ("k", 1), ("level", 400), ("l_diversity", 3), ("target", None),
                        ("absent", ["none"]), ("model", "k-anonymity"), ("columns", []),
                        ("suppressed", -1), ("k", "5"), ("model", "magic"), ("target", 3)):
        bad = {**good, "claim": {**good["claim"], name: value}}
        verdict = verify(bad, "out/release.json", table="out/table.csv")
        # A smaller k is a weaker claim, and true: only the ledger binds it.
        assert (name, value) == ("k", 4) or verdict.reasons
    assert verify({**good, "plan": {}}, "out/release.json").reasons
    assert verify({**good, "population": "clinic"}).reasons
    assert verify(good, table=object()).reasons
    assert any("groups were not recounted" in note for note in verify(good).notes)


def test_recounting_is_the_definition():
    """On 400 random tables the recount is the naive one, for each model and known absences."""
    rng = np.random.default_rng(3)
    for _ in range(400):
        cells = (rng.random((rng.integers(1, 12), rng.integers(1, 6))) < rng.random()).astype(int)
        rows, width = [tuple(row) for row in cells.tolist()], cells.shape[1]
        labels = rng.integers(0, 3, len(rows)).astype(str).tolist()
        absent = [j for j in range(width) if rng.random() < 0.3]
        text = "".join(",".join([*map(str, row), label]) + "\n"
                       for row, label in zip(rows, labels, strict=True))
        data = (",".join([*(f"c{j}" for j in range(width)), "y"]) + "\n" + text).encode()
        claim = claim_of([f"c{j}" for j in range(width)], target="y",
                         absent=[f"c{j}" for j in absent])
        level, equal = (Opened.of(data, {**claim, "model": model}).smallest()
                        for model in ("containment", "k-anonymity"))
        poorest = min(len({label for other, label in zip(rows, labels, strict=True)
                           if all(b >= a if j not in absent else a == b
                                  for j, (a, b) in enumerate(zip(mine, other, strict=True)))})
                      for mine in rows)

        assert (naive(rows, absent), poorest) == level
        assert naive(rows, equal=True) == equal[0]


@pytest.mark.parametrize("data", [
    b"", b"a,b\n", b"a,a\n1,0\n", b"a,b\n1\n", b"a\n2\n", b"a\n\xff\n", b'a\n"1\n', b"PAR1",
])
def test_no_table(data):
    """What is no table of zeros and ones is said so."""
    for columns, target in ((["a"], None), (["a", "b"], None), (["a"], "y"), ([], None)):
        with pytest.raises(Unreadable):
            Opened.of(data, claim_of(columns, target=target))


def test_suppressed_rows_are_left_out(privsieve):
    """With a row budget the rows that would stand alone do not leave, and k holds in the file."""
    Path("t.csv").write_text("a,b,ill\n" + "1,0,0\n0,1,1\n1,0,1\n0,1,0\n" * 5 + "1,1,1\n")
    code, _out, err = privsieve("publish", "t.csv", "--target", "ill", "-k", 5, "--out", "out",
                                "--method", "greedy", "--weights", "even", "--suppress", 1)
    assert (0, True) == (code, "1 rows left out" in " ".join(err.split()))
    claim = json.loads(Path("out/certificate.json").read_text())["claim"]

    assert (1, ["a", "b"]) == (claim["suppressed"], claim["columns"])
    assert 20 == len(lines(Path("out/table.csv").read_bytes()))
    assert claim["level"] == naive(lines(Path("out/table.csv").read_bytes())) == 10


def test_known_absences(privsieve):
    """A column whose absence is known counts as equal in groups, and the certificate says it."""
    code, _out, err = privsieve(*publish("--method", "greedy", "--presences-only", "all",
                                         "--absences", "smoker,ward"))
    assert 0 == code, err
    claim = json.loads(Path("out/certificate.json").read_text())["claim"]
    known = [claim["columns"].index(name) for name in claim["absent"]]

    assert claim["absent"] == [name for name in claim["columns"]
                               if name.partition("=")[0] in ("smoker", "ward")]
    assert claim["level"] == naive(lines(Path("out/table.csv").read_bytes()), known)
    assert verify("out/certificate.json", table="out/table.csv").valid


def test_partial_columns(privsieve):
    """A result names the table's columns, and lists the items of those that leave in part."""
    privsieve(*publish("--method", "greedy"))
    body = json.loads(Path("out/release.json").read_text())

    for name in body["selected"]:
        assert any(item == name or item.startswith((f"{name}=", f"{name}<", f"{name}>"))
                   for item in body["columns"])
    assert set(body["partial"]) <= set(body["selected"])
    assert all(item in body["columns"] for partial in body["partial"].values() for item in partial)


# --- the ledger ---------------------------------------------------------------------------------

def test_a_head_tells_an_older_ledger(privsieve):
    """The head is the certificate's; of a ledger that was set back nothing is published."""
    assert 0 == privsieve(*publish(*LEDGER, "--first", "--head", "head.json"))[0]
    head, kept = json.loads(Path("head.json").read_text()), Path("budget.db").read_bytes()
    assert head["hash"] == json.loads(Path("out/certificate.json").read_text())["ledger"]["head"]
    assert 0 == privsieve(*publish(*LEDGER, "--head", "head.json", out="again"))[0]
    Path("budget.db").write_bytes(kept)
    code, _out, err = privsieve(*publish(*LEDGER, "--head", "head.json", out="third"))

    assert 4 == code
    assert "an older copy of the ledger" in err
    assert not Path("third").exists()


def test_the_ledger_notes_it(privsieve):
    """People need no budget; the entry binds the certificate; the chain recounts."""
    assert 4 == privsieve(*publish(*LEDGER))[0]
    assert not Path("out").exists()
    code, _out, err = privsieve(*publish(*LEDGER, "--first"))
    assert 0 == code, err
    ledger = Ledger("budget.db", population="clinic")

    assert ["people", "publish"] == [entry.kind for entry in ledger.entries()]
    assert (0, 0, True) == (ledger.limit(), ledger.left(), ledger.verify_chain().valid)
    assert 0 == privsieve("verify", "out", "--ledger", "budget.db")[0]
    out = privsieve("ledger", "show", "--ledger", "budget.db")[1]
    assert "of 2026 (containment, k = 5)" in " ".join(out.split())
    ledger.grant("2")
    assert (2, True) == (ledger.limit(), ledger.verify_chain().valid)
    assert ("clinic",) == tuple(population.population for population in populations("budget.db"))
    good = json.loads(Path("out/certificate.json").read_text())
    for claim in ({**good["claim"], "k": 4}, {**good["claim"], "suppressed": 1}):
        assert "differs from the ledger entry" in " ".join(verify({**good, "claim": claim}).reasons)
    other = Ledger("other.db", population="clinic")
    other.introduce()
    assert "lacks the publication" in " ".join(verify(good, ledger="other.db").reasons)


def test_introduced_people(tmp_path):
    """Introducing twice changes nothing; a budget comes once; capitals make no second account."""
    path = str(tmp_path / "b.db")
    ledger = Ledger(path, population="town")
    for _ in range(2):
        ledger.introduce()
    assert ["people"] == [entry.kind for entry in ledger.entries()]
    for act in ("introduce", "grant"):
        with pytest.raises(LedgerError, match="town: the ledger has this population"):
            getattr(Ledger(path, population="Town"), act)(*["1"] * (act == "grant"))
    ledger.grant("1")
    with pytest.raises(LedgerError, match="already has a limit"):
        ledger.grant("1")
    ledger.introduce()
    assert ledger.verify_chain().valid
    with pytest.raises(ParameterError, match="name of the signer"):
        ledger.other_people("2027", " ")
    with pytest.raises(LedgerError, match="try again"):
        ledger.publish("2026", ["a"], 2, "containment", claim={}, after=7)


@pytest.mark.parametrize(("kind", "body"), [
    ("people", {"population": "p"}), ("people", {}),
    ("other-people", {"population": "q", "snapshot": "s", "signed": "n"}),
    ("other-people", {"population": "p", "snapshot": "s", "signed": ""}),
    ("other-people", {"population": "p", "snapshot": "s"}),
    ("reserve", {"population": "p", "request": "a", "units": 1}),
])
def test_impossible_entries(kind, body):
    """People twice, a signature for nobody or by nobody, a charge without a budget: found."""
    first = chain.Entry.after(None, "people", {"population": "p"})

    assert () == chain.replay([first])[2]
    assert 1 == len(chain.replay([first, chain.Entry.after(first, kind, body)])[2])


def test_the_union_rule(privsieve):
    """Publications of one snapshot keep the largest k together, or the later one is refused."""
    Path("t.csv").write_text("a,b,ill\n" + "1,0,0\n1,0,1\n0,1,0\n0,1,1\n0,0,1\n0,0,0\n" * 5
                             + "1,1,0\n")
    even = ("--method", "greedy", "--weights", "even")
    first = privsieve(*publish(*even, *LEDGER, "--columns", "a", "--first", out="1"))
    assert 0 == first[0], first[2]
    assert 0 == privsieve(*publish(*even, *LEDGER, "--columns", "a", out="2"))[0]
    assert 0 == privsieve(*publish(*even, "--columns", "b", out="alone"))[0]
    code, _out, err = privsieve(*publish(*even, *LEDGER, "--columns", "b", out="3"))

    assert (5, True) == (code, "no further column keeps the rule together" in err), err
    assert not Path("3").exists()
    assert [("a",), ("a",)] == [noted.columns for noted in
                                Ledger("budget.db", population="clinic").publications()]


def test_the_largest_k_rules(privsieve):
    """Columns at k = 2 after others at k = 5 have to keep 5 together with these."""
    Path("t.csv").write_text("a,b,ill\n" + "1,0,0\n1,0,1\n0,0,1\n0,0,0\n" * 5 + "1,1,0\n1,1,1\n"
                             "0,1,1\n0,1,1\n0,1,0\n0,1,0\n")
    even = ("--method", "greedy", "--weights", "even")
    assert 0 == privsieve(*publish(*even, *LEDGER, "--columns", "a", "--first", out="1"))[0]
    assert 0 == privsieve(*publish(*even, out="fits", k=2))[0]
    assert 0 == privsieve(*publish(*even, *LEDGER, out="2", k=2))[0]
    code, _out, err = privsieve(*publish(*even, *LEDGER, "--columns", "b", out="3", k=2))

    assert ["a", "b"] == json.loads(Path("fits/release.json").read_text())["columns"]
    assert ["a"] == json.loads(Path("2/release.json").read_text())["columns"]
    assert (5, True) == (code, "no further column keeps the rule together" in err), err


def test_suppression_does_not_add_up(privsieve):
    """Beside a publication without some rows no other may stand, but the same."""
    Path("t.csv").write_text("a,b,ill\n" + "1,0,0\n0,1,1\n1,0,1\n0,1,0\n" * 5 + "1,1,1\n")
    arguments = ("--method", "greedy", "--weights", "even", *LEDGER, "--suppress", 1)
    assert 0 == privsieve(*publish(*arguments, "--first", out="1"))[0]
    assert 0 == privsieve(*publish(*arguments, out="2"))[0]

    code, _out, err = privsieve(*publish(*arguments, "--columns", "a", out="3"))
    assert (4, True) == (code, "leaves out rows" in err)


def test_the_snapshot_rule(privsieve):
    """Another state of the table is refused, unless somebody signs that it is of other people."""
    assert 0 == privsieve(*publish(*LEDGER, "--first", out="1"))[0]
    later = (*LEDGER[:-1], "2027")
    code, _out, err = privsieve(*publish(*later, out="2"))
    assert (4, True) == (code, '--other-people "NAME"' in err)
    assert 0 == privsieve(*publish(*later, "--other-people", "Dr. Sign", out="2"))[0]
    assert 0 == privsieve(*publish(*later, out="3"))[0]
    assert 0 == privsieve(*publish(*LEDGER, out="4"))[0]
    ledger = Ledger("budget.db", population="clinic")

    assert [("2027", "Dr. Sign")] == [(entry.body["snapshot"], entry.body["signed"])
                                      for entry in ledger.entries() if entry.kind == "other-people"]
    assert ledger.verify_chain().valid


def test_strict_and_contained_together(privsieve):
    """If one publication promised k-anonymity, all columns together are k-anonymous."""
    Path("t.csv").write_text("a,b,ill\n" + "1,0,0\n1,0,1\n0,0,1\n0,0,0\n" * 5
                             + "1,1,0\n1,1,1\n0,1,1\n" * 3)
    arguments = ("--method", "greedy", "--weights", "even", *LEDGER)
    has = ("--presences-only", "all")
    assert 0 == privsieve(*publish(*arguments, "--columns", "a", "--first", "--model",
                                   "k-anonymity",
                                   out="1"))[0]
    assert 0 == privsieve(*publish(*arguments[:-6], *has, out="alone"))[0]
    assert 0 == privsieve(*publish(*arguments, *has, out="2"))[0]

    assert ["a", "b"] == json.loads(Path("alone/release.json").read_text())["columns"]
    assert ["a"] == json.loads(Path("2/release.json").read_text())["columns"]


def test_one_target_only(privsieve):
    """Two targets of one snapshot are not counted together, and so refused."""
    assert 0 == privsieve(*publish(*GREEDY, *LEDGER, "--first", out="1"))[0]
    code, _out, err = privsieve("publish", "t.csv", "--target", "smoker", "-k", 5, *GREEDY, *LEDGER,
                                "--out", "2")
    assert (4, True) == (code, "name that target (--target)" in err)


def test_a_search_says_what_it_proved(privsieve):
    """An exact choice says that it is the best one, or by how much another may be better."""
    from fractions import Fraction

    from privsieve.cli.publish import _search_text

    err = privsieve(*publish("--method", "exact", "--weights", "hamming"))[2]

    assert "proved: no other set of columns is better" in err
    assert "by at most 25 %" in _search_text(Choice((0,), 5, Fraction(4), Fraction(5)))


def test_columns_are_cut_as_asked(privsieve):
    """Cuts, levels, bins and left-out columns of the shell are those of Python."""
    arguments = ("--cut", "age=40,60", "--cut", "dose=3", "--levels", "ward=A", "--without",
                 "smoker", "--missing", "level")
    document = json.loads(privsieve("check", "t.csv", "--target", "ill", *arguments, "--json")[1])

    assert (3, 9) == (document["columns"], document["items"])
    out = privsieve("check", "t.csv", "--bins", 5, "--without", "ward,ill", "--json")[1]
    assert (3, 11) == (json.loads(out)["columns"], json.loads(out)["items"])
    assert 0 == privsieve("check", "t.csv", "--columns", "age,ward", "--cut", "age=50")[0]


# --- refusals -----------------------------------------------------------------------------------

@pytest.mark.parametrize(("options", "code", "text"), [
    (("-k", 1), 2, "k is 1"),
    (("-k", 301), 2, "k is 301"),
    (("--profile", "few", "--method", "greedy"), 2, "leave out --method and --weights"),
    (("--weights", "hamming"), 2, "add --method greedy"),
    (("--method", "greedy", "--weights", "magic"), 2, "magic"),
    (("--ledger", "budget.db"), 2, "go together"),
    (("--first",), 2, "need a ledger"),
    (("--head", "h.json"), 2, "need a ledger"),
    ((*LEDGER, "--fingerprint-key", "k"), 2, "this ledger is a file"),
    (("--absences", "nobody"), 2, "'nobody'"),
    (("--model", "k-anonymity"), 2, "--profile strict"),
    (("--long", "a", "b"), 2, "--people"),
    (("--value", "age"), 2, "are for logs"),
    (("--columns", "nobody"), 3, "'nobody' is not in the table"),
    (("--cut", "age"), 2, "write COLUMN=VALUE"),
    (("--cut", "age=x"), 2, "not a number or date"),
    (("--cut", "age=5", "--columns", "ward"), 2, "not in --columns"),
    (("--out", "t.csv"), 2, "exists"),
    (("--without", "age", "--columns", "ward"), 2, "--without, but not in"),
    (("--long", "a", "b", "--people", "t.csv", "--cut", "a=1"), 2, "are not for logs"),
    (("--target", "none"), 3, "'none' is not in the table"),
    (("--publish-target", "--target", "", "--method", "greedy", "--weights", "even"), 2,
     "needs a target"),
    (("--l-diversity", 3, "--method", "greedy"), 2, "l_diversity is 3"),
])
def test_refusals(privsieve, options, code, text):
    """A refusal is one sentence with its code, and leaves no folder."""
    actual_code, out, err = privsieve(*publish(), *options)

    assert (code, "", 1) == (actual_code, out, len(err.splitlines())), err
    assert text in err
    assert not Path("out").exists()


def test_no_target(privsieve):
    """Without a target columns are chosen by number only if that is said."""
    code, _out, err = privsieve("publish", "t.csv", "-k", 5, "--out", "out", "--columns", "ward")
    assert (2, True) == (code, "--weights even" in err)
    assert 0 == privsieve("publish", "t.csv", "-k", 5, "--out", "out", "--columns", "ward",
                          "--method", "greedy", "--weights", "even")[0]


def test_one_class(privsieve):
    """A target of one class says nothing, and is refused in words."""
    Path("t.csv").write_text("a,b,ill\n" + "1,0,1\n0,1,1\n" * 9)
    code, _out, err = privsieve(*publish())

    assert (3, True) == (code, "one class" in err)


def test_no_column_fits(privsieve):
    """Where no column keeps k the exit code is 5, and a k that would work is named."""
    Path("t.csv").write_text("a,b,ill\n1,0,1\n0,1,0\n1,0,1\n0,0,0\n0,0,0\n")
    code, _out, err = privsieve(*publish("--method", "greedy", k=3))

    assert (5, True) == (code, "at most k = 2" in err)
    assert not Path("out").exists()


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+1", "@sum", "-x", "a\u202eb"])
def test_hostile_names(privsieve, name):
    """A name that a spreadsheet would run, or that shows backwards, is refused."""
    text = Path("t.csv").read_text().splitlines()
    quoted = '"' + name.replace('"', '""') + '"'
    Path("t.csv").write_text("\n".join([f"age,dose,ward,{quoted},ill", *text[1:], ""]))
    code, _out, err = privsieve("publish", "t.csv", "--target", "ill", "-k", 5, "--out", "out",
                                "--method", "greedy", "--weights", "even", "--columns", name)

    assert 3 == code, err
    assert "\u202e" not in err
    assert not Path("out").exists()


def test_hostile_cells_and_quotes():
    """Quotes, commas and blanks in names come back; labels that begin like a formula do not."""
    items = Items.dense([[1, 0], [1, 0], [0, 1], [0, 1]], ['a,"b"', " c "])
    place = Labelled(items, np.array([0, 1, 0, 1], np.int32), ("no, never", '"yes"'), "x")
    projected = project(place, Choice((0, 1), 2), Rule(k=2, classes=2), with_target=True)
    read = list(csv.reader(io.StringIO(written(projected).decode())))

    assert ['a,"b"', " c ", "x"] == read[0]
    assert {"no, never", '"yes"'} == {row[2] for row in read[1:]}
    assert 4 == Opened.of(written(projected), claim_of(['a,"b"', " c "], target="x")).rows
    for bad in (("=1+1", "b"), ("a\nb", "c"), ("-1+1", "b"), ("@x", "b")):
        with pytest.raises(ValueError, match="a label of the target"):
            project(Labelled(items, place.y, bad, "x"), Choice((0, 1), 2), Rule(k=2, classes=2),
                    with_target=True)
    assert project(Labelled(items, place.y, (-1, 1), "x"), Choice((0, 1), 2),
                   Rule(k=2, classes=2), with_target=True).labels


def test_what_nobody_could_verify_is_not_published(privsieve, monkeypatch):
    """A table of more than `verify` counts is refused in a sentence, and leaves no folder."""
    monkeypatch.setattr("privsieve.check.table.MOST_ROWS", 10)
    code, _out, err = privsieve(*publish("--method", "greedy"))

    assert (3, True) == (code, "too many rows to recount" in err)
    assert not Path("out").exists()


def test_a_mistake_of_ours_is_not_published(privsieve, monkeypatch):
    """If what was written does not keep k, nothing is published: the file itself is counted."""
    from privsieve.containment import publish as module

    monkeypatch.setattr(module, "written", lambda *publication: b"".join(
        written(*publication).splitlines(keepends=True)[:2]))
    code, _out, err = privsieve(*publish(*LEDGER, "--first"))

    assert (7, True) == (code, "bug in privsieve" in err)
    assert not Path("out").exists()
    assert () == Ledger("budget.db", population="clinic").publications()


def test_no_row_is_left_out_unasked():
    """A choice that does not keep the rule is refused, and not mended by leaving rows out."""
    place = Labelled(Items.dense([[1], [0], [0]]), np.zeros(3, np.int32), ("x",))

    with pytest.raises(CheckFailed, match="bug in privsieve"):
        project(place, Choice((0,), 2), Rule(k=2, classes=1), with_target=False)


@pytest.mark.parametrize("fault", [KeyboardInterrupt, OSError])
def test_a_note_comes_before_a_name(privsieve, monkeypatch, fault):
    """Files get their names after the note; one that is lost then may be published again."""
    from privsieve.folder import Folder

    noted = []

    def link(self):
        noted.extend(Ledger("budget.db", population="clinic").publications())
        raise fault

    with monkeypatch.context() as patched:
        patched.setattr(Folder, "link", link)
        assert privsieve(*publish(*LEDGER, "--first"))[0] in (2, 130)
    assert (1, False) == (len(noted), Path("out").exists())
    assert 0 == privsieve(*publish(*LEDGER))[0]
    assert 0 == privsieve("verify", "out", "--ledger", "budget.db")[0]


def test_json_and_digests(privsieve):
    """`--json` is one object; the certificate's digests are those of the files."""
    out = privsieve(*publish("--json"))[1]
    claim = json.loads(out)["claim"]
    certificate = json.loads(Path("out/certificate.json").read_text())

    assert claim == certificate["claim"]
    assert digest(Path("out/table.csv").read_bytes()) == claim["table_sha256"]
    assert digest(Path("out/release.json").read_bytes()) == certificate["release_sha256"]
    assert canonical(certificate) == Path("out/certificate.json").read_bytes()
    shutil.rmtree("out")


def test_other_inputs(privsieve):
    """A log with its people, and a basket file with labels apart, can be published."""
    rng = random.Random(3)
    Path("log.csv").write_text("who,film\n" + "".join(
        f"u{j},{film}\n" for j in range(60) for film in "AB" if rng.random() < 0.5))
    Path("people.csv").write_text("who,ill\n" + "".join(f"u{j},{j % 2}\n" for j in range(60)))
    Path("b.dat").write_text("".join(" ".join(str(i) for i in range(4) if rng.random() < 0.5) + "\n"
                                     for _ in range(60)))
    Path("y.txt").write_text("".join(f"{j % 2}\n" for j in range(60)))
    log = privsieve("publish", "log.csv", "--long", "who", "film", "--people", "people.csv",
                    "--target", "ill", "-k", 5, "--out", "1", "--method", "greedy")
    basket = privsieve("publish", "b.dat", "--labels", "y.txt", "-k", 5, "--out", "2", "--method",
                       "greedy", "--publish-target")

    assert (0, 0) == (log[0], basket[0]), (log, basket)
    assert "label" == Path("2/table.csv").read_text().splitlines()[0].split(",")[-1]
    assert 0 == privsieve("verify", "1")[0] == privsieve("verify", "2")[0]
