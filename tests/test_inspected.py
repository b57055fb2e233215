"""Law: a look at a table.  It is private, fits a terminal, and a charge after a STOP is refused."""

from __future__ import annotations

import gc
import hashlib
import json
import stat
from pathlib import Path

import numpy as np
import pytest

from privsieve import KernelRidgeSession, Ledger, RuleSieve
from privsieve.cli import inspect as verb
from privsieve.errors import ParameterError
from privsieve.fit import fit
from privsieve.methods import plan
from privsieve.noise.streams import replay
from privsieve.public import inspected
from privsieve.public.columns import Category, Date, Label, Number
from privsieve.public.domain import Domain
from privsieve.report.looks import inspected_html
from privsieve.rows import open_source
from privsieve.rows.inspect import inspect
from test_cli import (  # noqa: F401  # fixtures
    BUDGET,
    DOMAIN,
    on_terminal,
    place,
    privsieve,
    rows,
    select,
    spent,
)
from test_report import harmless

LOOK = ("inspect", "table.csv", "--domain", "domain.toml")
NOTE = "domain.toml.inspected"


def note():
    """What stands beside the domain file."""
    return Path(NOTE).read_text(encoding="utf-8")


def page_of(columns, folder):
    """A page with whatever it can say, and these names and texts wherever one can stand."""
    one, two, three = columns
    lines = [f"{one};{two};{three};d;y"] + [
        f'{at / 7:.2f};{two if at % 3 else "A"};{at};0{1 + at % 9}.02.2020;{three if at % 4 else 1}'
        for at in range(80)] + ["", '"', "1;2"]
    path = folder / "looked.csv"
    path.write_text("\n".join(lines).replace(".", ","), encoding="cp1252")
    path.write_text(path.read_text(encoding="cp1252").replace(",02,", ".02."), encoding="cp1252")
    domain = Domain([Number(one, 0, 1000), Category(two, ["A", "B", "ä"]), Number(three),
                     Date("d", "2020-01-01", "2021-01-01"), Number(one[:100] + "gone")],
                    target=Label("y", [0, 1]))
    return inspected_html(inspect(path, domain).told())


def stopped(*, domain="domain.toml"):
    """A table whose labels are other words, and that somebody looked at."""
    Path("table.csv").write_text(rows().replace(",yes", ",ja").replace(",no\n", ",nein\n"))
    return inspect("table.csv", domain)


@pytest.mark.parametrize("verb", [
    select(), ("synthesize", "table.csv", "--domain", "domain.toml", "--epsilon", "1", "--top", "1",
               "--bins", "2", "--rows", "9", *BUDGET, "--out", "first")],
    ids=["select", "synthesize"])
def test_a_charge_after_a_stop_is_refused(privsieve, verb):  # noqa: F811
    """Nothing is charged and no folder is made; --anyway goes on, and so does a better file."""
    assert 0 == privsieve(*LOOK, "--private-output", "fine.txt")[0]
    assert 0 == privsieve(*verb[:-1], "fine")[0]
    before, _ = spent(), stopped()
    inspected._kept.clear()  # as in a process of its own
    code, out, err = privsieve(*verb)

    assert (2, "", before, False) == (code, out, spent(), Path("first").exists())
    assert "inspect said STOP" in " ".join(err.split())
    assert "ja" not in " ".join(err.split()).replace("--anyway", "")
    assert 0 == privsieve(*verb, "--anyway")[0]
    assert before < spent()


def test_a_regression_after_a_stop_is_refused(privsieve):  # noqa: F811
    """So is a model of a number that the table does not hold."""
    Path("domain.toml").write_text(DOMAIN.partition("[target]")[0] + """[target]
name = "ill"\nkind = "number"\nlow = 0\nhigh = 1\n""")
    verb = ("regress", "table.csv", "--domain", "domain.toml", "--epsilon", "1", "--kernel",
            "linear", *BUDGET, "--out", "first")
    assert "stop" == inspect("table.csv", "domain.toml").verdict.word
    before = spent()

    assert (2, before) == (privsieve(*verb)[0], spent())
    assert 0 == privsieve(*verb, "--anyway")[0]


def test_the_record_is_private_and_of_one_table_and_one_domain(privsieve):  # noqa: F811
    """Mode 0600, two digests and a word; another table, domain file or verdict makes it void."""
    stopped()
    record, before = json.loads(note()), note()
    Path(NOTE).unlink()
    Path("look.txt").unlink(missing_ok=True)
    privsieve(*LOOK, "--private-output", "look.txt")
    seen = Path("table.csv").stat()

    assert before == note()
    assert 0o600 == stat.S_IMODE(Path(NOTE).stat().st_mode)
    assert {"private", "domain_sha256", "file_sha256", "verdict"} == record.keys()
    assert ("stop", "PRIVATE") == (record["verdict"], record["private"][:7])
    assert record["file_sha256"] == hashlib.sha256(
        f"{seen.st_size} {seen.st_mtime_ns}".encode()).hexdigest()
    for change in (
            lambda: Path("table.csv").write_text(rows(401)),
            lambda: Path("domain.toml").write_text(DOMAIN.replace('"yes"', '"ja"')),
            lambda: Path("domain.toml").write_text(DOMAIN.replace(
                'unit = "row"', 'unit = "row"\ncsv = { encoding = "cp1252" }')),
            lambda: Path(NOTE).write_text("{"), lambda: Path(NOTE).unlink()):
        Path("domain.toml").write_text(DOMAIN)
        stopped()
        inspected._kept.clear()
        with pytest.raises(ParameterError, match="said STOP"):
            inspected.demand(Domain.from_toml("domain.toml"), "table.csv", anyway=False)
        change()
        inspected.demand(Domain.from_toml("domain.toml"), "table.csv", anyway=False)
    assert not list(Path().glob(f"{NOTE}.*"))


def test_what_is_public_in_a_domain_file_keeps_the_record(privsieve):  # noqa: F811
    """A comment, or another number of rows, reads no cell otherwise: the STOP stands."""
    Path("domain.toml").write_text(DOMAIN.replace('unit = "row"', 'unit = "row"\nrows = 400'))
    stopped()
    Path("domain.toml").write_text(f"# a comment\n{DOMAIN}")

    assert 2 == privsieve(*select())[0]


@pytest.mark.filterwarnings("ignore::privsieve.fit.UnsignedWarning")
def test_a_fit_in_python_after_a_stop_is_refused(privsieve):  # noqa: F811
    """With a domain of a file, or words against classes in memory; a mended table fits."""
    stopped(domain=Domain.from_toml("domain.toml"))
    inspected._kept.clear()
    ledger = Ledger("budget.db", population="clinic")
    sieve = RuleSieve(2, epsilon=1, domain=Domain.from_toml("domain.toml"), ledger=ledger)
    before = spent()
    with pytest.raises(ParameterError, match="anyway=True"):
        sieve.fit("table.csv")
    assert before == spent()
    assert 2 == len(sieve.fit("table.csv", anyway=True).release_.selected)

    X, y = np.random.default_rng(2).random((300, 4)), np.array(["nein", "ja"] * 150, object)
    sieve = RuleSieve(2, epsilon=1, domain=Domain.box(0, 1))
    assert "stop" == inspect(X, Domain.box(0, 1), y).verdict.word
    with pytest.raises(ParameterError, match="said STOP"):
        sieve.fit(X, y)
    sieve.fit(X, y, anyway=True)
    sieve.fit(X, (y == "ja").astype(int))
    sieve.fit(X.copy(), y)  # another table, which nobody looked at
    assert "fine" == inspect(X, Domain.box(0, 1, classes=("nein", "ja")), y).verdict.word
    RuleSieve(2, epsilon=1, domain=Domain.box(0, 1, classes=("nein", "ja"))).fit(X, y)
    del X
    gc.collect()
    assert all("/" not in one and " " not in table for one, table in inspected._kept)


def test_a_session_after_a_stop_is_refused():
    """A session, which charges at its answers, is not opened."""
    X, y = np.zeros((60, 2)), np.zeros(60)
    domain = Domain.box(0, 1, target=(0, 1))
    assert "stop" == inspect(X, domain, y).verdict.word
    with pytest.raises(ParameterError, match="said STOP"):
        KernelRidgeSession(X, y, domain=domain)
    KernelRidgeSession(X, y, domain=domain, anyway=True).close()


def test_no_release_knows_the_record(privsieve):  # noqa: F811
    """With a record or without one, the same noise gives the same bytes, and no path is in them."""
    made = []
    for verdict in (None, "fine", "look"):
        domain = Domain.from_toml("domain.toml")
        if verdict is not None:
            inspected.note(domain, "table.csv", None, verdict)
        source = open_source("table.csv")
        one = plan("rule-sieve", domain, k=2, epsilon=1, rows=400)
        made.append(fit(one, source, noise=replay(3)).bytes)

    assert 1 == len(set(made))
    assert str(Path.cwd()).encode() not in made[0]
    privsieve(*select())
    for path in Path("first").iterdir():
        assert str(Path.cwd()).encode() not in path.read_bytes()


def test_a_record_that_cannot_be_written(privsieve):  # noqa: F811
    """Where nothing can be written beside the domain file, that is said and nothing is lost."""
    Path(NOTE).mkdir()
    code, _out, err = privsieve(*LOOK, "--private-output", "look.txt")

    assert (0, True) == (code, "nothing can be written" in " ".join(err.split()))
    assert Path("look.txt").read_text().startswith("PRIVATE")
    assert ["domain.toml", NOTE] == sorted(path.name for path in Path().glob("domain*"))


def test_json_and_text_say_the_same(privsieve):  # noqa: F811
    """What programs are told is what people are, and both files are for their owner alone."""
    for name in ("look.json", "look.txt"):
        assert (0, "") == privsieve(*LOOK, "--private-output", name)[:2]
    privsieve(*LOOK, "--json", "--private-output", "again.dat")
    told, text = json.loads(Path("look.json").read_text()), Path("look.txt").read_text()

    assert told == json.loads(Path("again.dat").read_text())
    assert told["private"] == text.splitlines()[0]
    assert f"{told['verdict'].upper()}: {told['said']}" == text.splitlines()[1]
    assert {"age", "dose", "ward", "smoker", "ill"} == {one["name"] for one in told["columns"]}
    for one in told["columns"]:
        assert f"{one['name']} ({one['kind']}): {one['said']}" in text
    assert {0o600} == {stat.S_IMODE(Path(name).stat().st_mode) for name in (
        "look.json", "look.txt", "again.dat")}


@pytest.mark.parametrize("columns", [("age", "ward", "n"), ("<script>", "&amp", 'x" onload="'),
                                     ("W" * 100, "a_b" * 30, "<b>" * 30)])
def test_the_page(tmp_path, columns):
    """The page is harmless whatever stands in a table, and says what was found and where."""
    page = harmless(page_of(columns, tmp_path))

    for said in ("PRIVATE · ABOUT THE ROWS OF A TABLE · DO NOT RELEASE", "STOP.", "read from the",
                 "with an open quote", "line 83", "labels are not read", "Columns that the table"):
        assert said in page.words
    assert page.titles[0].startswith("PRIVATE")


def test_a_page_is_written(privsieve):  # noqa: F811
    """A name that ends in .html gets the page, for its owner alone."""
    assert 0 == privsieve(*LOOK, "--private-output", "look.html")[0]
    assert 0o600 == stat.S_IMODE(Path("look.html").stat().st_mode)
    assert "PRIVATE" in harmless(Path("look.html").read_bytes()).titles[0]


def test_lines_fit_a_terminal(place):  # noqa: F811
    """On 80 columns every line is shorter, and a long look goes through the pager."""
    code, seen = on_terminal(*LOOK, NO_COLOR="1", LINES="200")
    _, paged = on_terminal(*LOOK, NO_COLOR="1", LINES="5", PAGER="sed s/^/paged:/")

    assert 0 == code
    assert max(map(len, seen.splitlines())) < 80
    assert "paged:PRIVATE" in paged
    assert "paged:" not in seen


@pytest.mark.parametrize(("line", "word"), [("STOP: x", "STOP:"), ("LOOK: x", "LOOK:"),
                                            ("FINE: x", "FINE:")])
def test_words_are_coloured(line, word):
    """Verdicts have a colour, and never the colour alone."""
    assert verb._fitted(line, 79)[0].startswith("\x1b[")
    assert word in verb._fitted(line, 79)[0]
