"""Laws: bridges back.  What another tool generalised is read with its levels as categories."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from arx_folder import read_arx
from bridge_tables import (
    labelled,
    random_table,
    rows_of,
    rscript,
    sdcmicro_library,
    write_csv,
)
from privsieve.cli import run
from privsieve.containment.labelled import Roles
from privsieve.errors import SchemaError
from privsieve.extras.bridges.arx import arx
from privsieve.extras.bridges.back import generalised
from privsieve.extras.bridges.sdcmicro import sdcmicro
from privsieve.extras.bridges.table import exported, write_folder
from privsieve.public.columns import Category
from privsieve.public.domain import Csv, Domain

R_COUNTS = ("a <- commandArgs(TRUE); d <- read.csv(a[1], sep = a[2], colClasses = 'character', "
            "check.names = FALSE, na.strings = character(0)); d <- d[as.integer(a[-(1:2)])]; "
            "cat('k', min(table(do.call(paste, c(unname(d), sep = '\\r')))))")


def checked(path, domain, known, capsys, *extra):
    """The k-anonymity that `privsieve check` finds among these columns."""
    capsys.readouterr()
    run(["check", str(path), "--domain", str(domain), "--columns", ",".join(known), "--json",
         *extra])
    return json.loads(capsys.readouterr().out)["k_anonymity"]["level"]


def pandas_k(path, known, delimiter=","):
    """The k of a table of texts, by pandas: what was taken out is a value of its own."""
    import pandas as pd

    frame = pd.read_csv(path, sep=delimiter, dtype=str, keep_default_na=False)
    return int(frame.groupby(list(known), dropna=False).size().min())


def counted_in_r(path, places, delimiter=","):
    """The same by `table` of base R."""
    text = rscript("-e", R_COUNTS, path, delimiter, *places)[1]
    return int(re.fullmatch(r"k (\d+)", text)[1])


def as_arx(folder, seed):
    """A result as ARX writes it: a level for each key variable, some rows taken out."""
    rng = random.Random(seed)
    read = read_arx(folder)
    lines = (folder / "data.csv").read_text("utf-8").splitlines()
    head, rows = lines[0].split(";"), [line.split(";") for line in lines[1:]]
    for hierarchy in read.hierarchies:
        level, at = rng.randint(hierarchy.key.lowest,
                                hierarchy.key.highest), head.index(hierarchy.key.name)
        text = {line[0]: line[level] for line in hierarchy.lines}
        rows = [[*row[:at], text[row[at]], *row[at + 1:]] for row in rows]
    places = [head.index(hierarchy.key.name) for hierarchy in read.hierarchies]
    for row in rng.sample(rows, 7):
        for at in places:
            row[at] = "*"
    return write_csv(folder / "result.csv", [head, *rows], delimiter=";"), places


@pytest.mark.parametrize("seed", range(4))
def test_what_arx_writes_is_read_back(tmp_path, capsys, seed):
    """Whatever levels are taken, the domain lists them, and `check`, pandas and R count one k."""
    path, table, roles = random_table(tmp_path, seed, target_known=False)
    write_folder(tmp_path / "arx", arx(exported(path, table, roles, 2)))
    result, places = as_arx(tmp_path / "arx", seed)
    known = [*roles.presences, *roles.both]
    domain = Domain.from_toml(tmp_path / "arx" / "domain.toml")
    listed = {column.name: set(column.values) for column in domain.columns}
    head, *rows = [line.split(";") for line in result.read_text("utf-8").splitlines()]

    assert [] == [row[at] for row in rows for at in places
                  if row[at] not in listed[head[at]] | {"*"}]
    assert "*" not in set().union(*listed.values())
    k = checked(result, tmp_path / "arx" / "domain.toml", known, capsys)
    assert k == pandas_k(result, known, ";")
    assert k == counted_in_r(result, [at + 1 for at in places], ";")


def test_levels_of_other_forms_are_categories(tmp_path, capsys, monkeypatch):
    """`domain --levels` lists intervals and sets of any form; `*`, NA and nothing are missing."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(4)
    rows = [[rng.choice(["[18, 40[", "[40, 90[", "*"]), rng.choice(["18-40", "40-90", "NA"]),
             rng.choice(["(18,40]", "(40,90]", ""]), rng.choice(["{A, B}", "{C}"]),
             rng.choice(["1", "2", "3"]), rng.choice("ny")] for _ in range(200)]
    names = ["arx", "argus", "r", "set", "code", "ill"]
    write_csv(Path("result.csv"), [names, *rows], ";")
    code = run(["domain", "result.csv", "--levels", "--out", "domain.toml"])

    assert 0 == code
    domain = Domain.from_toml("domain.toml")
    assert Csv(delimiter=";") == domain.csv
    assert (Category("arx", ("[18, 40[", "[40, 90[")), Category("argus", ("18-40", "40-90")),
            Category("r", ("(18,40]", "(40,90]")), Category("set", ("{A, B}", "{C}")),
            Category("code", ("1", "2", "3")), Category("ill", ("n", "y"))) == domain.columns
    for known in (names[:1], names[:3], names[2:5]):
        k = checked("result.csv", "domain.toml", known, capsys)
        assert k == pandas_k("result.csv", known, ";")
        assert k == counted_in_r("result.csv", [names.index(name) + 1 for name in known], ";")
    assert 0 == run(["publish", "result.csv", "--domain", "domain.toml", "--target", "ill", "-k",
                     "3", "--method", "greedy", "--out", "out"])
    assert {name.split("=")[0] for name in json.loads(Path("out/release.json").read_text())[
        "columns"]} <= set(names)


def test_what_was_not_generalised_is_refused(tmp_path):
    """A column with two ways to be missing, with too many levels, or a table without any level."""
    for rows, message in (([["a"], ["*"], [""], ["x"]], "more than one mark"),
                          ([["a"], *([str(at)] for at in range(1001))], "more than 1000 levels"),
                          ([["a", "b"], ["*", "*"], ["*", "*"]], "every cell of the table")):
        path = write_csv(tmp_path / "t.csv", rows)

        with pytest.raises(SchemaError, match=message):
            generalised(path)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A library of R with a stand-in for sdcMicro."""
    return sdcmicro_library(tmp_path_factory.mktemp("library"))


def test_what_the_script_writes_is_read_back(tmp_path, capsys, library):
    """The script writes nothing below k; else `check`, pandas and R count one k in its result."""
    rows = rows_of(5, 300)
    rows[0][2] = 'wa"rd\\ é'
    rows = [rows[0], *([*row[:2], f'{row[2]}"\\ é' if row[2] == "B" else row[2], *row[3:]]
                       for row in rows[1:])]
    path = write_csv(tmp_path / "t.csv", rows)
    known = ("age", rows[0][2], "smoker")
    table = labelled(path, known)
    roles = Roles(both=known, sensitive=("income",), target="ill")
    files = sdcmicro(exported(path, table, roles, 4))
    write_folder(tmp_path / "sdc", files)
    code, _, output = rscript("sdc.R", cwd=tmp_path / "sdc", env=library)

    assert (1, True) == (code, "fewer than k = 4 rows, so nothing was written" in output)
    assert not (tmp_path / "sdc" / "result.csv").exists()
    script = files["sdc.R"].replace(b"# sdc <- localSuppression", b"sdc <- localSuppression")
    (tmp_path / "sdc" / "next.R").write_bytes(script)
    code, out, output = rscript("next.R", cwd=tmp_path / "sdc", env=library)
    assert (0, True) == (code, out.endswith("written: result.csv, domain.toml\n")), output
    result, domain = tmp_path / "sdc" / "result.csv", tmp_path / "sdc" / "domain.toml"
    k = checked(result, domain, known, capsys)
    assert k == pandas_k(result, known) == counted_in_r(result, [1, 2, 3])
    assert k >= 4
    assert ("n", "y") == Domain.from_toml(domain).target.values
    assert 'B"\\ é' in Domain.from_toml(domain).columns[1].values
    assert ["age", rows[0][2], "smoker", "income"] == list(Domain.from_toml(domain).names)
    assert 1 == rscript("next.R", cwd=tmp_path / "sdc", env=library)[0]
