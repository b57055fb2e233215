"""`privsieve synthesize`: a table of counts, rows of it, rows again, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import privsieve as ps
from privsieve.cli import synthesize
from privsieve.errors import DomainError
from privsieve.folder import Folder
from privsieve.ledger.ledger import Ledger
from privsieve.methods.histogram.noisy_histogram import Axis
from privsieve.methods.histogram.released import as_csv
from privsieve.public.columns import Category, Date, Flag, Number
from privsieve.public.domain import demand_cells
from privsieve.rows import Source
from privsieve.rows import batch as reader
from test_cli import BUDGET, DOMAIN, place, privsieve, rows, spent  # noqa: F401  # fixtures

GIVEN = ("--domain", "domain.toml", "--epsilon", "1", "--rows", "300")


def call(*options, data="table.csv", arguments=(*GIVEN, "--columns", "dose,ward"), out="first"):
    """The words of a table of counts."""
    return ("synthesize", data, *arguments, *BUDGET, "--out", out, *options)


def read(text):
    """A CSV file as columns."""
    head, *body = csv.reader(io.StringIO(text))
    return {name: [row[j] for row in body] for j, name in enumerate(head)}


def test_synthesize(privsieve):  # noqa: F811  # the fixture
    """A table: names on stdout, words on stderr, a folder with rows of the domain's values."""
    code, out, err = privsieve(*call())
    rows = read(Path("first/synthetic.csv").read_text())

    assert (0, ["dose", "ward"]) == (code, out.splitlines())
    assert "48 cells, with noise of about 2.8 on each" in err
    assert "clinic has 1 left" in err
    assert "made from release.json alone" in err
    assert {"release.json", "certificate.json", "synthetic.csv"} <= {
        path.name for path in Path("first").iterdir()}
    assert 0o600 == stat.S_IMODE(Path("first/synthetic.csv").stat().st_mode)
    assert ["dose", "ward", "ill"] == list(rows)
    assert [300] * 3 == [len(column) for column in rows.values()]
    assert {"A", "B", "other"} >= set(rows["ward"])
    assert {"no", "yes"} == set(rows["ill"])
    assert all(0 <= float(cell) <= 10 for cell in rows["dose"])
    sick = [float(d) for d, ill in zip(rows["dose"], rows["ill"], strict=True) if ill == "yes"]
    assert np.mean(sick) > 6
    assert Fraction(1) == spent()


def test_columns_are_chosen(privsieve):  # noqa: F811  # the fixture
    """`--top` chooses in the same release, at the same cost."""
    arguments = (*GIVEN, "--top", "1", "--share", "0.4", "--bins", "dose=5")
    code, out, _err = privsieve(*call(arguments=arguments))
    settings = json.loads(Path("first/release.json").read_bytes())["plan"]["settings"]

    assert (0, ["dose"]) == (code, out.splitlines())
    assert ("0.4", {"dose": 5}) == (settings["choice"]["epsilon"], settings["bins"])
    assert Fraction(1) == spent()


def test_more_rows_cost_nothing(privsieve):  # noqa: F811  # the fixture
    """`--from` makes rows of a release that is there, on stdout or into a new file."""
    privsieve(*call())
    code, out, err = privsieve("synthesize", "--from", "first", "--rows", "1000")
    rows = read(out)
    again = privsieve("synthesize", "--from", "first", "--rows", "1000")[1]

    assert (0, "", 1000) == (code, err, len(rows["ward"]))
    assert out == again  # they follow from the release
    assert 0 == privsieve("synthesize", "--from", "first", "--rows", "9", "--out", "more.csv")[0]
    assert 10 == len(Path("more.csv").read_text().splitlines())
    assert 2 == privsieve("synthesize", "--from", "first", "--rows", "9", "--out", "more.csv")[0]
    assert Fraction(1) == spent()


@pytest.mark.parametrize(("change", "code", "text"), [
    ({"--epsilon": "0"}, 2, "larger than 0"), ({"--epsilon": "11"}, 2, "--allow-weak"),
    ({"--epsilon": "3"}, 4, "the cost is epsilon 3; the budget has 2 left"),
    ({"--epsilon": None}, 2, "Missing option '--epsilon'"),
    ({"--domain": None}, 2, "Missing option '--domain'"),
    ({"--ledger": None}, 2, "Missing option '--ledger'"),
    ({"--out": None}, 2, "Missing option '--out'"),
    ({"--population": None}, 2, "Missing option '--population'"),
    ({"--rows": None}, 2, "Missing option '--rows'"), ({"--rows": "-1"}, 2, "whole number from 0"),
    ({"--rows": "many"}, 2, "not a valid integer"), ({"--top": "2"}, 2, "give only one"),
    ({"--columns": "dose,none"}, 2, "'none' is not a column"),
    ({"--columns": "dose,dose"}, 2, "twice"), ({"--columns": "ill"}, 2, "'ill' is not a column"),
    ({"--share": "0.4"}, 2, "--top"),
    ({"--columns": None, "--top": "9"}, 2, "the domain has 4"),
    ({"--bins": "0"}, 2, "bins is 0"), ({"--bins": "dose"}, 2, "bins is 'dose'"),
    ({"--bins": "dose=x"}, 2, "whole number"), ({"--bins": "ward=3"}, 2, "have bins"),
    ({"--bins": "none=3"}, 2, "not a column of the domain"),
    ({"--bins": "dose=3", "--bin": "a=3"}, 2, "--bin was removed"),
    ({"--bins": "=3"}, 2, "a number for every column"),
    ({"--bins": "60000", "--columns": "age,dose"}, 2, "at most 724 bins"),
    ({"--bins": "100"}, 2, "--anyway"), ({"--delta": "0.5"}, 2, "much smaller"),
    ({"--delta": "1e-9"}, 2, "only cells of"), ({"--person": "age"}, 2, "another unit"),
    ({"--delta": "0.001"}, 4, "delta"), ({"--out": "."}, 2, "exists"),
    ({"--from": "first"}, 2, "leave it out"),
    ({"--method": "magic"}, 2, "No such option"),
])
def test_refusals(privsieve, change, code, text):  # noqa: F811  # the fixture
    """A refused table says one sentence, charges nothing and leaves no folder."""
    options = {"--domain": "domain.toml", "--epsilon": "1", "--columns": "dose,ward",
               "--rows": "300", "--out": "first", "--ledger": "budget.db",
               "--population": "clinic", **change}
    args = [argument for name, value in options.items() if value is not None
            for argument in (name, value)]
    before = set(Path().iterdir())
    got, out, err = privsieve("synthesize", "table.csv", *args)

    assert (code, "") == (got, out)
    assert text in err
    assert 1 == len(err.splitlines())
    assert 0 == spent()
    assert before == set(Path().iterdir())


@pytest.mark.parametrize(("old", "new"), [
    ('"A"', '"=1+1"'), ('"B"', '"-1+1"'), ('"B"', '"@A1"'), ('"yes"', '"=cmd|1"')])
def test_a_formula_is_refused_before_the_charge(privsieve, old, new):  # noqa: F811  # the fixture
    """What a spreadsheet runs in a CSV file is refused, and costs nothing."""
    text = Path("domain.toml").read_text()
    Path("domain.toml").write_text(text.replace(old, new))
    code, out, err = privsieve(*call())

    assert (2, "", 0) == (code, out, spent())
    assert "begins like a formula" in err
    assert not Path("first").exists()


@pytest.mark.parametrize("name", [
    Number("=age", 0, 1), Flag("@x"), Category("a", ["+A1"]), Category("a", ["@b"]),
    Date("day", "2020-01-01", "2021-01-01", format="=%d.%m.%Y"), ps.Label("ill", ["no", "-1-1"])])
def test_declared_names_and_values_are_no_formulas(name):
    """Each declared text that a CSV file may hold is looked at; a signed number is none."""
    with pytest.raises(DomainError, match="begins like a formula"):
        demand_cells([name])


def test_numbers_are_no_formulas(privsieve):  # noqa: F811  # the fixture
    """A declared value that is a number with a sign, or a dash, is written as it is."""
    text = Path("domain.toml").read_text()
    Path("domain.toml").write_text(text.replace('"A"', '"-1.5"').replace('"B"', '"-"'))

    assert 0 == privsieve(*call())[0]
    assert Path("first/synthetic.csv").exists()


@pytest.mark.parametrize(("args", "code", "text"), [
    ((), 2, "Missing: DATA, --domain FILE, --epsilon E, --rows N, --ledger "),
    (("--rows", "9"), 2, "Missing: DATA, --domain FILE, --epsilon E, --ledger FILE, "),
    (("--from", "first"), 2, "Missing option '--rows'"),
    (("table.csv", "--rows", "9"), 2, "Missing: --domain FILE, --epsilon E, --ledger FILE, "),
    (("--from", "first", "--anyway"), 2, "--anyway cannot be combined with --from"),
    (("--rows", "9", "--from", "none"), 2, "'none' does not exist"),
    (("table.csv", "--rows", "9", "--from", "first"), 2, "DATA cannot be combined with --from"),
    (("--rows", "9", "--from", "first", "--bins", "a=2"), 2,
     "--bins cannot be combined with --from"),
    (("--rows", "9", "--from", "chosen"), 3, "no table of counts"),
])
def test_refusals_of_free_rows(privsieve, args, code, text):  # noqa: F811  # the fixture
    """Without a table, or with a release that has none: one sentence."""
    privsieve("select", "table.csv", "--domain", "domain.toml", "--epsilon", "1", "--top", "1",
              *BUDGET, "--out", "chosen")
    got, out, err = privsieve("synthesize", *args)

    assert (code, "") == (got, out)
    assert text in err


def test_rows_are_made_of_what_holds(privsieve):  # noqa: F811  # the fixture
    """A release that was changed, or has no certificate, gives no rows: exit code 7."""
    privsieve(*call())
    body = json.loads(Path("first/release.json").read_bytes())
    body["cells"]["q"][0] += 1
    Path("first/release.json").write_text(json.dumps(body))
    changed = privsieve("synthesize", "--from", "first", "--rows", "9")
    Path("first/certificate.json").unlink()
    alone = privsieve("synthesize", "--from", "first", "--rows", "9", "--out", "more.csv")

    assert [(7, ""), (7, "")] == [changed[:2], alone[:2]]
    assert "no rows are made from a release that is not valid" in changed[2]
    assert "certificate.json is missing" in alone[2]
    assert not Path("more.csv").exists()


@pytest.mark.parametrize(("options", "message"), [
    (("--columns", "dose"), ("a table of 16 counts over 1 of 4 columns",)),
    (("--columns", "dose", "--delta", "0.001"), ("only counts of at least 14 are named",)),
    (("--top", "1", "--bins", "300"), ("a table of at most 600 counts", "mostly noise")),
    (("--columns", "dose", "--bins", "dose=5", "--no-target"), ("a table of 5 counts",)),
])
def test_a_plan_reads_no_row(privsieve, monkeypatch, options, message):  # noqa: F811  # the fixture
    """`plan` takes the options of `synthesize`; it says size and noise, and charges nothing."""
    def never(*_args):
        raise AssertionError

    monkeypatch.setattr(Source, "raw", never)
    arguments = ("plan", "table.csv", "--domain", "domain.toml", "--epsilon", "1", "--method",
                 "noisy-histogram")
    code, out, err = privsieve(*arguments, *options)

    assert (0, "", 0) == (code, err, spent())
    assert max(map(len, out.splitlines())) < 80
    for words in ("epsilon 1", "one row of the file", *message):
        assert words in " ".join(out.split())
    document = json.loads(privsieve(*arguments, *options, "--json")[1])
    assert ("1", "400") == (document["epsilon"], document["units"])
    assert {"forecast", "settings", "warning"} <= set(document)


def test_rows_that_cannot_be_written_leave_the_release(privsieve, monkeypatch):  # noqa: F811
    """The release was paid for: it stands without its rows, and says how to make them."""
    write = Folder.write

    def full(folder, name, data):
        if name == "synthetic.csv":
            raise OSError(28, "no space")
        write(folder, name, data)

    monkeypatch.setattr(Folder, "write", full)
    code, out, err = privsieve(*call())

    assert (0, 2) == (code, len(out.splitlines()))
    assert "--from" in err
    assert Path("first/release.json").exists()
    assert not Path("first/synthetic.csv").exists()


def test_persons_and_delta(privsieve):  # noqa: F811  # the fixture
    """Persons are counted with a few rows each; with a delta only large cells are named."""
    head, *lines = rows().splitlines()
    body = [f"{line},p{number // 2}" for number, line in enumerate(lines)]
    Path("table.csv").write_text("\n".join([f"{head},patient", *body, ""]))
    Path("domain.toml").write_text(DOMAIN.replace('unit = "row"', ""))
    Ledger("other.db", population="clinic").grant("9", delta="0.001")
    code, _out, err = privsieve(
        "synthesize", "table.csv", "--domain", "domain.toml", "--epsilon", "9", "--delta", "1e-4",
        "--columns", "ward,smoker", "--rows", "20", "--person", "patient", "--persons", "200",
        "--rows-per-person", "2", "--ledger", "other.db", "--population", "clinic",
        "--out", "first", "--anyway")
    document = json.loads(Path("first/release.json").read_bytes())

    assert (0, True) == (code, "one person with all their rows" in err)
    assert document["cells"]["place"] == sorted(document["cells"]["place"]) != []
    assert min(document["cells"]["q"]) >= int(document["plan"]["settings"]["threshold"])
    assert b"p199" not in b"".join(path.read_bytes() for path in Path("first").iterdir())


def test_dates_flags_and_blanks_are_written_as_they_are_read():
    """A date in its format, a flag as 1 or 0, what is missing blank, "other" as other."""
    axes = [Axis(Date("day", "2020-01-01", "2020-12-31", format="%d.%m.%Y", missing="level"), 2),
            Axis(Flag("ill")), Axis(Category("ward", ["other", 'a "b"'])),
            Axis(Number("dose", 0, 1, missing="level"), 2)]
    rows = {"day": np.array(["2020-03-01", "NaT"], "M8[D]"), "ill": np.array([True, False]),
            "ward": np.array([None, 'a "b"'], object), "dose": np.array([0.25, np.nan])}

    assert b'day,ill,ward,dose\n01.03.2020,1,,0.25\n,0,"a ""b""",\n' == as_csv(axes, rows)


def test_synthetic_rows_are_a_table_for_the_same_domain(privsieve):  # noqa: F811  # the fixture
    """What was made can be read with the domain of its columns, and gives the same cells."""
    privsieve(*call(arguments=(*GIVEN[:-1], "400", "--columns", "dose,ward,smoker")))
    histogram = ps.NoisyHistogram.of_release(ps.load("first"))
    domain = ps.Domain([ps.Number("dose", 0, 10), ps.Category("ward", ["A", "B"]),
                        ps.Flag("smoker")], target=ps.Label("ill", ["no", "yes"]))
    again = ps.NoisyHistogram(epsilon=1000, allow_weak=True, domain=domain)
    again.fit("first/synthetic.csv")

    assert histogram.counts_.tolist() == again.counts_.tolist()
    assert "synthetic.csv" == synthesize.NAME
    assert os.access("first/synthetic.csv", os.R_OK)


@pytest.mark.parametrize("fault", [RuntimeError("row 17 says 42"), KeyboardInterrupt()])
def test_failed_after_the_charge(privsieve, monkeypatch, fault):  # noqa: F811  # the fixture
    """A fault after the charge has one text and code 6, and the charge stays."""
    def broken(*_args, **_options):
        raise fault

    monkeypatch.setattr(reader, "batches", broken)
    code, out, err = privsieve(*call())

    message = err.splitlines()[-1]
    assert (6, "", "privsieve: release failed; the budget is charged") == (code, out, message)
    assert 1 == spent()
