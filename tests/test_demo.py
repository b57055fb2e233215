"""The demo: a made-up table that is always the same, and a path through all verbs."""

import hashlib
import json
import stat
from pathlib import Path

import numpy as np
import pytest

from privsieve.cli import demo, run
from privsieve.cli.words import command_line
from privsieve.fit import fit
from privsieve.ledger.ledger import Ledger
from privsieve.methods import plan
from privsieve.noise.streams import replay
from privsieve.public.domain import Domain
from privsieve.rows import open_source, resolve


@pytest.fixture(scope="module")
def table():
    """The made-up table as arrays of text."""
    return {name: np.array(cells) for name, cells in demo.patients().items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the demo writes."""
    new_folder = tmp_path_factory.mktemp("demo")
    demo.write(new_folder)
    return new_folder


def test_shape(table, folder):
    """20,000 rows, 40 columns and a label; the written domain is the public one."""
    assert 41 == len(table)
    assert {demo.ROWS} == {len(cells) for cells in table.values()}
    assert demo.domain() == Domain.from_toml(folder / "domain.toml")
    assert [*demo.domain().names, "readmitted"] == list(table)
    assert demo.ROWS + 1 == len((folder / "patients.csv").read_text().splitlines())


def test_the_same_table(folder, tmp_path):
    """Two demos begin with the same patients."""
    demo.write(tmp_path)

    first, second = (hashlib.sha256((place / "patients.csv").read_bytes()).hexdigest()
                     for place in (folder, tmp_path))
    assert first == second


def test_believable(table):
    """About 18 in a hundred come back; some cells are missing, the others within their bounds."""
    share = (table["readmitted"] == "yes").mean()
    assert 0.17 < share < 0.19
    for name, (low, high, *_) in demo.MEASURES.items():
        cells = table[name]
        numbers = cells[cells != ""].astype(float)
        assert low <= numbers.min() < numbers.max() <= high, name
        assert abs((cells == "").mean() - 0.04 * (name in demo.LACKING)) < 0.02, name
    for name, wanted in demo.FLAGS.items():
        assert abs((table[name] == "1").mean() - wanted) < 0.02, name


def test_interaction(table):
    """Potassium and diuretic say nothing alone, and much together; the others say much alone."""
    ill = table["readmitted"] == "yes"
    known = table["potassium"] != ""
    high = known & (np.where(known, table["potassium"], "0").astype(float) > 42)
    rows = table["diuretic"] == "1"

    # Five standard errors of a difference of two shares are 0.027.
    assert abs(ill[rows].mean() - ill[~rows].mean()) < 0.027
    assert abs(ill[high].mean() - ill[known & ~high].mean()) < 0.027
    assert ill[high & ~rows].mean() - ill[high & rows].mean() > 0.1
    age = table["age"].astype(float)
    assert ill[age > 64].mean() - ill[age <= 64].mean() > 0.05


def test_what_was_planted_is_found(folder):
    """At epsilon 0.5 the six planted columns are found, the two that matter only together, too."""
    domain = Domain.from_toml(folder / "domain.toml")
    source = open_source(folder / "patients.csv", csv=domain.csv)
    shape = source.shape(count_rows=True)
    planned = plan("rule-sieve", resolve(domain, shape, strict=False), k=6, epsilon="0.5",
                   rows=shape.rows)
    release = fit(planned, source, noise=replay(1))

    assert set(demo.PLANTED) == set(release.selected)


def test_demo(tmp_path, monkeypatch, capsys):
    """The demo runs every step, shows commands of at most 80 columns, and ends with `start`."""
    monkeypatch.chdir(tmp_path)
    code = run(["demo", "--out", "here"])
    output = capsys.readouterr()

    assert 0 == code
    assert 0o700 == stat.S_IMODE(Path("here").stat().st_mode)
    there = {path.name for path in Path("here").iterdir()}
    assert {"patients.csv", "domain.toml", "budget.db", "first", "columns"} <= there
    for words in (
            "invented patients", "$ privsieve ledger grant", "$ privsieve plan",
            "$ privsieve select", "$ privsieve verify", "valid", "found ", "$ privsieve publish"):
        assert words in output.out
    assert 1 == sum(line.startswith("  privsieve start ") for line in output.out.splitlines())
    assert max(map(len, output.out.splitlines())) <= 80
    assert "Traceback" not in output.err
    chosen = json.loads(Path("here/first/release.json").read_bytes())["selected"]
    # In a hundred runs none missed one of the two, nor of the pair.
    assert {"prior_admissions", "age"} <= set(chosen)
    assert "0.5" == str(Ledger("here/budget.db", population="demo-clinic").spent())


def test_demo_never_overwrites(tmp_path, monkeypatch, capsys):
    """A folder that exists is left alone, and another name is asked for."""
    monkeypatch.chdir(tmp_path)
    Path("privsieve-demo").mkdir()
    codes = [run(["demo"]), run(["demo", "--out", "none/here"])]
    err = capsys.readouterr().err

    assert [2, 2] == codes
    assert "name another with --out" in " ".join(err.split())
    assert [] == list(Path("privsieve-demo").iterdir())


def test_line():
    """A long command is cut before an option, as a shell takes it."""
    line = command_line(["select", "a file.csv", "--domain", "x" * 20, "--ledger", "y" * 30])

    assert [f"$ privsieve select 'a file.csv' --domain {'x' * 20} \\",
            f"    --ledger {'y' * 30}"] == line.splitlines()
