"""Law: a look at a table.  It is private, fits a terminal, and leaves a note of public facts."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path

import pytest

from privsieve.cli import inspect as verb
from privsieve.errors import SchemaError
from privsieve.public import inspected
from privsieve.public.columns import Category, Date, Label, Number
from privsieve.public.domain import Domain
from privsieve.report import inspected_html
from privsieve.rows.inspect import inspect
from test_cli import on_terminal, place, privsieve, rows, select  # noqa: F401  # fixtures
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


def test_the_note_hangs_on_no_row(privsieve):  # noqa: F811
    """Beside the domain file stands its digest, the same for every table and every verdict."""
    privsieve(*LOOK, "--private-output", "first.txt")
    first = note()
    Path(NOTE).unlink()
    Path("table.csv").write_text("age;dose;ward;smoker;ill\nx;x;x;x;x\n\n")
    privsieve(*LOOK, "--private-output", "second.txt")

    digest = hashlib.sha256(Path("domain.toml").read_bytes()).hexdigest()
    assert first == note()
    assert [f"sha256:{digest}"] == [line for line in first.splitlines() if line[0] != "#"]
    assert Path("second.txt").read_text().splitlines()[1].startswith("STOP")
    assert {NOTE, "domain.toml"} == {path.name for path in Path().glob("domain*")}


def test_the_note_leaves_strangers_as_they_are(tmp_path):
    """No file or link that lies beside the domain file is written through or deleted."""
    domain, other = tmp_path / "d.toml", tmp_path / "other"
    domain.write_text("x")
    other.write_text("mine")
    beside = [tmp_path / f"d.toml.inspected.{name}" for name in (os.getpid(), "0")]
    for link in beside:
        link.symlink_to(other)

    assert inspected.note(domain, "ab")
    assert "mine" == other.read_text()
    assert all(link.is_symlink() for link in beside)
    assert 5 == len(list(tmp_path.iterdir()))


def test_a_look_from_python_is_noted(privsieve):  # noqa: F811
    """A look with the path of a domain file leaves the command's note; one with a domain none."""
    inspect("table.csv", Domain.from_toml("domain.toml"))
    assert not Path(NOTE).exists()
    with pytest.raises(SchemaError):  # nobody looked
        inspect("none.csv", "domain.toml")
    assert not Path(NOTE).exists()
    inspect("table.csv", Path("domain.toml"))
    noted = note()

    assert "nobody has looked" not in " ".join(privsieve(*select())[2].split())
    privsieve(*LOOK, "--private-output", "look.txt")
    assert noted == note()


def test_select_says_where_nobody_looked(privsieve):  # noqa: F811
    """Select asks for a look until there was one with the domain file as it stands."""
    asked = "nobody has looked at a table with this domain file"

    assert asked in " ".join(privsieve(*select())[2].split())
    privsieve(*LOOK, "--private-output", "look.txt")
    assert asked not in " ".join(privsieve(*select(out="second"))[2].split())
    with Path("domain.toml").open("a") as file:
        file.write("# another word\n")
    code, _out, err = privsieve(*select(out="third"))
    assert (4, False) == (code, asked in " ".join(err.split()))  # a refusal is one line
    assert 1 == len(err.splitlines())


def test_a_note_that_cannot_be_written(privsieve):  # noqa: F811
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
