"""Law: a query is a table.  It is bound before the charge, and its text is public."""

from __future__ import annotations

import sqlite3
import traceback
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_makers import read
from privsieve import Domain, Flag, Ledger, NoisyTopK, Number
from privsieve.errors import ReleaseFailed, SchemaError
from privsieve.public.columns import Category, Date, Label
from privsieve.rows import sql
from privsieve.rows.source import open_source

duckdb = pytest.importorskip("duckdb", reason="the extra `db` is not installed")

DOMAIN = Domain([Number("age", 0, 110), Flag("smoker"), Category("ward", ["A", "B"]),
                 Date("day", "2020-01-01", "2021-01-01")], target=Label("ill", [0, 1]),
                unit_declared=True)
QUERY = "SELECT * FROM '{}'"


@pytest.fixture
def table(tmp_path):
    """Some patients, and the path of a Parquet file of them."""
    rng = np.random.default_rng(0)
    n = 5000
    made = pa.table({
        "age": pa.array(rng.integers(0, 120, n), mask=rng.random(n) < .1),
        "smoker": rng.random(n) < .5, "ward": rng.choice(["A", "B", "C"], n),
        "day": pa.array(rng.integers(18000, 19000, n), pa.int32()).cast(pa.date32()),
        "ill": rng.integers(0, 2, n), "note": ["secret"] * n})
    pq.write_table(made, tmp_path / "patients.parquet", row_group_size=700)
    return made, tmp_path / "patients.parquet"


def same(one, other):
    """Whether two readings have the same codes, labels and places."""
    return all(np.concatenate([getattr(b, name) for b in one]).tolist()
               == np.concatenate([getattr(b, name) for b in other]).tolist()
               for name in ("codes", "label", "row"))


def test_rows_of_a_query_are_those_of_its_file(table, tmp_path):
    """Parquet, CSV and a database of DuckDB give the same codes in the same order."""
    made, path = table
    expected = read(path, DOMAIN, rows=made.num_rows, strict=False)
    csv = tmp_path / "patients.csv"
    duckdb.sql(f"COPY (SELECT * FROM '{path}') TO '{csv}'")
    base = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(base)) as connection:
        connection.execute(f"CREATE TABLE patients AS SELECT * FROM '{path}'")
    attach = tmp_path / "clinic.sql"
    attach.write_text(f"ATTACH '{base}' AS clinic (READ_ONLY); USE clinic;\n")
    for query, connect in ((QUERY.format(path), None), (QUERY.format(csv) + " ;\n", None),
                           ("FROM patients SELECT *", base), ("SELECT * FROM patients", attach)):
        source = open_source(f"sql:{query}", connect=connect)

        assert source.shape(count_rows=True).rows == made.num_rows
        assert same(expected, read(source, DOMAIN, rows=made.num_rows, strict=False))
        assert same(expected, read(source, DOMAIN, rows=made.num_rows, strict=False, batch_rows=99))


def test_sqlite_by_its_scanner(table, tmp_path):
    """A file of SQLite is a table where DuckDB's extension is there."""
    made, path = table
    base = tmp_path / "clinic.sqlite"
    with sqlite3.connect(base) as connection:
        connection.execute("CREATE TABLE patients (age REAL, ill INTEGER)")
        connection.executemany("INSERT INTO patients VALUES (?, ?)", zip(
            made["age"].to_pylist(), made["ill"].to_pylist(), strict=True))
    connection.close()
    attach = tmp_path / "clinic.sql"
    attach.write_text(f"LOAD sqlite; ATTACH '{base}' AS clinic (TYPE sqlite, READ_ONLY);\n")
    with duckdb.connect() as probe:
        try:
            probe.execute("LOAD sqlite")
        except duckdb.Error:
            pytest.skip("DuckDB's extension sqlite is not installed, and is not fetched")
    domain = Domain([Number("age", 0, 110)], target=Label("ill", [0, 1]))
    expected = read(path, domain, rows=made.num_rows, strict=False)

    assert same(expected, read(open_source("sql:FROM clinic.patients", connect=attach), domain,
                               rows=made.num_rows))


@pytest.mark.parametrize(("query", "said"), [
    ("SELECT nothing FROM range(3)", "cannot be bound"),
    ("SELECT * FROM absent", "cannot be bound"),
    ("SELEC 1", "cannot be read as SQL"), ("SELECT 1; SELECT 2", "not one SELECT"),
    ("CREATE TABLE t (a INT)", "not one SELECT"), ("", "empty"),
    ("SELECT '\x07'", "cannot be shown"),
    ("SELECT 1 --" + "x" * 4000, "longer than 4000")])
def test_a_query_that_does_not_bind_is_refused(query, said):
    """Before the charge, in a sentence of ours."""
    with pytest.raises(SchemaError, match=said):
        open_source(f"sql:{query}")


def test_a_connection_that_does_not_open_is_refused(tmp_path):
    """Whatever is wrong with its file; and one without a query."""
    odd, wrong, none = tmp_path / "a.txt", tmp_path / "a.sql", tmp_path / "a.duckdb"
    odd.write_text("")
    wrong.write_text("ATTACH 'nowhere/secret.db' AS clinic (READ_ONLY)")
    none.write_bytes(b"secret")
    for path, said in ((odd, "ends in '.txt'"), (wrong, "does not take"), (none, "does not take"),
                       (tmp_path / "b.sql", "does not exist")):
        with pytest.raises(SchemaError, match=said) as failed:
            open_source("sql:SELECT 1 AS a", connect=path)
        assert "secret" not in str(failed.value)
    with pytest.raises(SchemaError, match="a connection file is for a query"):
        open_source([[1]], connect=odd)


def test_duckdb_takes_half_of_the_memory_at_most(tmp_path, monkeypatch):
    """Half of what is free; a connection file may say another limit."""
    monkeypatch.setattr(sql, "free_memory", lambda: 10**9)
    said = "SELECT current_setting('memory_limit')"
    other = tmp_path / "limit.sql"
    other.write_text("SET memory_limit = '100MB'")

    assert "476.8 MiB" == sql._connected(None).execute(said).fetchone()[0]
    assert "95.3 MiB" == sql._connected(other).execute(said).fetchone()[0]


def test_a_query_that_fails_after_its_charge_has_one_text(tmp_path):
    """A cell that a cast refuses is in no text, and the charge stands."""
    pq.write_table(pa.table({"age": ["1"] * 3000 + ["secret"]}), tmp_path / "t.parquet")
    source = open_source(f"sql:SELECT CAST(age AS INT) AS age, 2 AS dose, 1 AS ill "
                         f"FROM '{tmp_path / 't.parquet'}'")
    domain = Domain([Number("age", 0, 110), Number("dose", 0, 9)], target=Label("ill", [0, 1]),
                    unit_declared=True)
    ledger = Ledger(tmp_path / "l.db", population="clinic")
    ledger.grant("1")
    with pytest.raises(ReleaseFailed) as failed:
        NoisyTopK(domain=domain, n_features_to_select=1, epsilon="0.5", ledger=ledger).fit(source)
    assert "secret" not in "".join(traceback.format_exception(failed.value))
    assert failed.value.__cause__ is None
    assert failed.value.__context__ is None
    assert Fraction(1, 2) == ledger.spent()


def test_a_count_that_fails_is_refused(tmp_path):
    """Before the charge, in a sentence that says what to do; no cell stands in it."""
    pq.write_table(pa.table({"age": ["1", "secret"]}), tmp_path / "t.parquet")
    source = open_source(f"sql:FROM '{tmp_path / 't.parquet'}' WHERE CAST(age AS INT) > 0")
    with pytest.raises(SchemaError, match="TRY_CAST") as failed:
        source.shape(count_rows=True)
    assert "secret" not in str(failed.value)


def test_the_query_stands_in_the_release(table, tmp_path, cli, ledger):
    """Plan, release, certificate and page say it, and `verify` knows the field."""
    _, path = table
    DOMAIN.to_toml(tmp_path / "domain.toml")
    out = tmp_path / "out"
    common = [f"sql:SELECT * FROM '{path}'\nWHERE age > 1", "--domain", tmp_path / "domain.toml",
              "--epsilon", "1", "--top", "2", "--unit", "row"]
    code, *said = cli("plan", *common)
    told = " ".join("".join(said).split())

    assert (0, True, True) == (code, "WHERE age > 1" in told, "your word" in told), said
    code, *said = cli("select", *common, "--ledger", ledger.path, "--population", "clinic",
                      "--out", out)
    assert code == 0, said
    for name in ("release.json", "certificate.json"):
        assert "WHERE age > 1" in (out / name).read_text()
    page = " ".join((out / "report.html").read_text().split())

    assert "WHERE age &gt; 1" in page
    assert "author&#39;s word" in page
    assert cli("verify", out / "certificate.json")[0] == 0


def test_a_query_without_duckdb_is_refused(monkeypatch):
    """The extra is named."""
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    with pytest.raises(SchemaError, match=r"privsieve\[db\]"):
        open_source("sql:SELECT 1 AS a")
