"""Law: a query names columns of one table and compares them with literals: no cell stops it."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_makers import read
from privsieve import Domain, Flag, NoisyTopK, Number
from privsieve.errors import PrivsieveError, ReleaseFailed, SchemaError
from privsieve.extras.queries import query as sql
from privsieve.public.columns import Category, Date, Label
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
    columns = pa.table({
        "age": pa.array(rng.integers(0, 120, n), mask=rng.random(n) < .1),
        "smoker": rng.random(n) < .5, "ward": rng.choice(["A", "B", "C"], n),
        "day": pa.array(rng.integers(18000, 19000, n), pa.int32()).cast(pa.date32()),
        "ill": rng.integers(0, 2, n), "note": ["secret"] * n})
    pq.write_table(columns, tmp_path / "patients.parquet", row_group_size=700)
    return columns, tmp_path / "patients.parquet"


def same(first, other):
    """Whether two readings have the same codes, labels and places."""
    return all(np.concatenate([getattr(b, name) for b in first]).tolist()
               == np.concatenate([getattr(b, name) for b in other]).tolist()
               for name in ("codes", "label", "row"))


def base_of(path, *statements):
    """A database of DuckDB after some statements."""
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


def test_rows_of_a_query_are_those_of_its_file(table, tmp_path):
    """Parquet, a table of DuckDB and a view give the same codes in the same order, and again."""
    columns, path = table
    expected = read(path, DOMAIN, rows=columns.num_rows, strict=False)
    base = base_of(tmp_path / "clinic's.duckdb", f"CREATE TABLE patients AS SELECT * FROM '{path}'",
                   "CREATE VIEW known AS SELECT ill, age, smoker, ward, day FROM patients")
    attach = tmp_path / "clinic.sql"
    attach.write_text("-- where\nATTACH '{}' AS clinic (READ_ONLY); USE clinic;\n".format(
        str(base).replace("'", "''")))
    for query, connect in ((QUERY.format(path), None), ("FROM patients SELECT *;\n", base),
                           ("SELECT * FROM clinic.patients", attach), ("FROM known", base),
                           ("SELECT day, AGE, ill, ward, smoker FROM known", attach)):
        source = open_source(f"sql:{query}", connect=connect)
        unfinished = source.raw(["age"], 10)
        next(unfinished)

        assert source.shape(count_rows=True).rows == columns.num_rows
        assert same(expected, read(source, DOMAIN, rows=columns.num_rows, strict=False))
        assert same(expected,
                    read(source, DOMAIN, rows=columns.num_rows, strict=False, batch_rows=99))


# --- what a cell can decide -----------------------------------------------------------------------

ROWS, AT = 30, 17
#: Of each column of a database, its type, and cells that one row may hold.
CELLS = {
    "number": ("DOUBLE", ["'nan'", "'inf'", "'-inf'", "'-0.0'", "1e308", "NULL"]),
    "small": ("TINYINT", ["-128", "NULL"]),
    "huge": ("HUGEINT", ["170141183460469231731687303715884105727", "-1" + "0" * 38, "NULL"]),
    "vast": ("UHUGEINT", ["340282366920938463463374607431768211455", "NULL"]),
    "exact": ("DECIMAL(38, 10)", ["9999999999999999999999999999.9999999999", "NULL"]),
    "day": ("DATE", ["'infinity'", "'-infinity'", "'5877641-06-23 (BC)'", "NULL"]),
    "time": ("TIMESTAMP", ["'infinity'", "'290309-12-22 (BC) 00:00:00'", "NULL"]),
    "zoned": ("TIMESTAMPTZ", ["'infinity'", "NULL"]),
    "moment": ("TIMESTAMP_MS", ["'294247-01-10 04:00:54.775'", "NULL"]),
    "text": ("VARCHAR", ["'x'", "''", "'1e400'", "'it''s \"q\",;'", "E'a\\nb'", "chr(0)",
                         "repeat('9', 5000)", "'\u202e\ud7ff'", "NULL"]),
    "word": ("ENUM ('0', '1', 'z')", ["'z'", "NULL"]),
    "bytes": ("BLOB", ["'\\xFF\\xFE'::BLOB", "''::BLOB", "NULL"]),
    "yes": ("BOOLEAN", ["NULL"]),
}
#: Where those of its columns are the domain's.
HOSTILE = Domain([Number("id", 0, ROWS), *(Number(name, 0, 3) for name in CELLS if name not in (
    "day", "time", "zoned", "moment", "word", "yes")), *(Date(name, "2020-01-01", "2021-01-01")
    for name in ("day", "time", "zoned", "moment"))], target=Label("word", [0, 1]), rows=ROWS,
    unit_declared=True)
#: Conditions on each of its columns.
WHERES = [f"{name} {how}" for name, how in (
    ("number", "< 0.5"), ("number", ">= 1"), ("small", "BETWEEN -3 AND 1"), ("huge", "IS NOT NULL"),
    ("exact", "<> 1.5"), ("day", "> '2020-06-01'"), ("time", "<= '2020-06-01 10:00:00'"),
    ("moment", "= '2020-06-01'"), ("text", "IN ('1', 'x')"), ("text", ">= '1'"), ("word", "= '1'"),
    ("bytes", "IS NULL"), ("yes", "= TRUE"))]


def hostile_base(path, which=None):
    """A database of DuckDB with a table `t` and a view `v`; one row may hold the odd cells."""
    plain = {"DATE": "'2020-06-01'", "TIMESTAMP": "'2020-06-01'", "TIMESTAMPTZ": "'2020-06-01'",
             "TIMESTAMP_MS": "'2020-06-01'", "BLOB": "'1'::BLOB", "BOOLEAN": "TRUE",
             CELLS["word"][0]: "(i % 2)::VARCHAR"}
    values = []
    for kind, odd in CELLS.values():
        value = f"CAST({plain.get(kind, '(i % 2)')} AS {kind})"
        values.append(value if which is None else f"CASE WHEN i = {AT} THEN CAST("
                      f"{odd[which % len(odd)]} AS {kind}) ELSE {value} END")
    columns = ", ".join(f"{cell} {kind}" for cell, (kind, _) in CELLS.items())
    return base_of(path, f"CREATE TABLE t (id INTEGER, {columns}, list INT[])",
                   f"INSERT INTO t SELECT i, {', '.join(values)}, [i] FROM range({ROWS}) r(i)",
                   "CREATE VIEW v AS SELECT * EXCLUDE (list) FROM t")


def others(source, domain, **how):
    """The codes of each row but one, by the column `id`."""
    (odd,) = read([[AT]], Domain(domain.columns[:1]), rows=1)
    codes = {batch.codes[j, 0]: (*batch.codes[j, 1:], batch.label[j])
             for batch in read(source, domain, strict=False, **how) for j in range(len(batch))}
    codes.pop(odd.codes[0, 0], None)
    return codes


def test_no_cell_of_a_database_decides(tmp_path):
    """Whatever one row holds, the others of a table or view keep their codes, whatever WHERE."""
    coming = Domain(HOSTILE.columns, target=HOSTILE.target, rows=ROWS, unit_declared=True,
                    neighbours="add-remove")
    queries = ["FROM t", "FROM v", *(f"FROM t WHERE {where}" for where in WHERES),
               f"FROM v WHERE NOT ({' OR '.join(WHERES)})", f"FROM t WHERE {' AND '.join(WHERES)}"]

    def readings(which=None):
        base = hostile_base(tmp_path / f"{which}.duckdb", which)
        return [others(open_source(f"sql:{query}", connect=base), domain, rows=rows)
                for query in queries
                for domain, rows in ((coming, None), (HOSTILE, ROWS))
                if domain is coming or "WHERE" not in query]

    expected = readings()

    assert len(expected[0]) == len(expected[1]) == ROWS - 1
    assert {len(answer) for answer in expected} > {0, ROWS - 1}
    for which in range(max(len(cells) for _, cells in CELLS.values())):
        assert expected == readings(which), which


def hostile_parquet(path, name=None, cell=None):
    """A Parquet file where one cell is replaced."""
    columns = {"id": pa.array(range(ROWS)), "number": pa.array([i % 2 for i in range(ROWS)],
                                                               pa.float64()),
               "text": pa.array([b"%d" % (i % 2) for i in range(ROWS)]),
               "moment": pa.array([18000 * 86400000] * ROWS), "word": pa.array(["0", "1"] * 15)}
    if name is not None:
        held = columns[name].to_pylist()
        held[AT] = cell
        columns[name] = pa.array(held, columns[name].type)
    columns["text"] = columns["text"].view(pa.string())
    columns["moment"] = columns["moment"].view(pa.timestamp("ms"))
    pq.write_table(pa.table(columns), path, row_group_size=8)
    return path


PARQUET = [("text", b"\xff\xfe"), ("text", b""), ("text", b"\0"), ("text", b"a\n\"'"),
           ("text", None),
           ("number", float("nan")), ("number", float("-inf")), ("number", -0.0), ("number", None),
           ("moment", 2**63 - 1), ("moment", -2**63), ("moment", None), ("word", "z" * 9999)]
PARQUET_DOMAIN = Domain([Number("id", 0, ROWS), Number("number", 0, 3), Category("text", ["1"]),
                         Date("moment", "2019-01-01", "2021-01-01")], target=Label("word", [0, 1]),
                        rows=ROWS, neighbours="add-remove", unit_declared=True)
PARQUET_WHERES = ["", " WHERE text <> '1'", " WHERE NOT (number > 0 OR text IS NULL)",
                  " WHERE moment < '2021-01-01' AND word IN ('0', '1')"]


def test_no_cell_of_a_parquet_file_decides(tmp_path):
    """The same of a file: texts that are not UTF-8, and times that DuckDB cannot hold."""
    def readings(path):
        return [others(open_source(f"sql:FROM '{path}'{where}"), PARQUET_DOMAIN)
                for where in PARQUET_WHERES]

    expected = readings(hostile_parquet(tmp_path / "a.parquet"))
    for name, cell in PARQUET:
        odd = hostile_parquet(tmp_path / "b.parquet", name, cell)

        assert expected == readings(odd), (name, cell)


def outcome(X, ledger, domain, **how):
    """What a steward sees: a release, or the sentence of a refusal; and what was charged."""
    before = ledger.spent()
    try:
        source = open_source(X, **how)
        NoisyTopK(domain=domain, n_features_to_select=1, epsilon="0.01", ledger=ledger).fit(source)
    except ReleaseFailed:
        return "failed", ledger.spent() - before
    except PrivsieveError as refusal:
        return str(refusal), ledger.spent() - before
    return "released", ledger.spent() - before


def held_as(folder, a, b):
    """A table in each container; its last row, which lies behind what is sniffed, is odd."""
    folder.mkdir()
    rows = pa.table({"a": ["1"] * 29_999 + [a], "b": [1.0] * 29_999 + [b], "ill": [0, 1] * 15_000})
    places = {end: f"'{folder / 't'}.{end}'" for end in ("csv", "parquet")}
    pq.write_table(rows, folder / "t.parquet")
    return base_of(
        folder / "t.duckdb", f"CREATE TABLE t AS FROM {places['parquet']}",
        f"COPY t TO {places['csv']}", "CREATE VIEW v AS SELECT ill, b, a FROM t",
        "CREATE VIEW cast_view AS SELECT a::DOUBLE AS a, b, ill FROM t",
        "CREATE TABLE computed (b DOUBLE, ill INT, a DOUBLE AS (b + 1))"), places


NEIGHBOURS = ("replace-one", "add-remove")
#: The four forms of queries that one cell decided, and the forms that stand.
FORMS = {
    "SELECT a::DOUBLE AS a, b, ill FROM {parquet}": "more than name columns",
    "SELECT * FROM read_csv({csv}, columns = {{'a': 'DOUBLE', 'b': 'DOUBLE', 'ill': 'INT'}})":
        "more than name columns",
    "SELECT sqrt(b) AS a, b, ill FROM {parquet}": "more than name columns",
    "SELECT chr(b::INT) AS a, b, ill FROM {parquet}": "more than name columns",
    "SELECT * FROM {csv}": "for a CSV file, give its path",
    "FROM {parquet} WHERE CAST(a AS INT) > 0": "more than name columns",
    "SELECT a, b, ill FROM {parquet} WHERE a > 0": "does not have the type",
    "SELECT * FROM cast_view": "view of its columns",
    "SELECT a, b, ill FROM computed": "view of its columns",
    "SELECT a, b, ill FROM t": None,
    "FROM v": None,
    "FROM {parquet}": None,
    "FROM v WHERE a >= '1' AND b <> 2": None,
}


@pytest.fixture(scope="module")
def odd_tables(tmp_path_factory):
    """Tables that differ in one cell, in each container."""
    folder = tmp_path_factory.mktemp("odd")
    return [held_as(folder / str(which), *odd)
            for which, odd in enumerate([("1", 1.0), ("secret", 1.0), ("1", -1.0)])]


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("query", FORMS)
def test_no_cell_decides_whether_there_is_a_release(odd_tables, query, neighbours, ledger):
    """Tables that differ in one cell are all released, or all refused before the charge."""
    domain = Domain([Number("a", 0, 3), Number("b", 0, 3)], target=Label("ill", [0, 1]),
                    rows=30_000, neighbours=neighbours, unit_declared=True)
    refusal = FORMS[query]
    if refusal is None and "WHERE" in query and neighbours == "replace-one":
        refusal = "or WHERE in a query"
    answers = [outcome("sql:" + query.format(**places), ledger, domain, connect=base)
               for base, places in odd_tables]

    assert answers[0] == answers[1] == answers[2]
    if refusal is None:
        assert answers[0] == ("released", Fraction(1, 100))
    else:
        assert (True, 0) == (refusal in answers[0][0], answers[0][1])


# --- what a query may say -------------------------------------------------------------------------

#: Queries that are refused, with words of the reason.
REFUSED = {
    "more than name columns": [
        "SELECT age::INT AS age, ill FROM t", "SELECT age AS years, ill FROM t",
        "SELECT TRY_CAST(age AS INT) FROM t", "SELECT age + 1, ill FROM t",
        "SELECT 1 AS age FROM t",
        "SELECT count(*) FROM t", "SELECT ill FROM t GROUP BY ill", "SELECT DISTINCT ill FROM t",
        "SELECT t.age FROM t", "SELECT s.x FROM t", "SELECT *, age FROM t", "SELECT t.* FROM t",
        "SELECT * EXCLUDE (ill) FROM t", "SELECT * REPLACE (age + 1 AS age) FROM t",
        "SELECT * RENAME (age AS years) FROM t", "SELECT COLUMNS('a.*') FROM t",
        "FROM t ORDER BY age", "FROM t LIMIT 5", "FROM t LIMIT 5 OFFSET 1", "FROM t TABLESAMPLE 5",
        "FROM t USING SAMPLE 10%", "FROM t AS u", "FROM t u(a, b)", "FROM t, t AS u",
        "FROM t JOIN t AS u USING (age)", "FROM t POSITIONAL JOIN t AS u", "FROM range(3)",
        "FROM read_csv('t.csv')", "FROM read_parquet('t.parquet')", "FROM glob('*')",
        "FROM (SELECT age FROM t)", "WITH u AS (FROM t) FROM u", "FROM t UNION ALL FROM t",
        "FROM t EXCEPT FROM t", "VALUES (1)", "SELECT 1", "FROM t QUALIFY row_number() OVER () < 5",
        "SELECT age, row_number() OVER () FROM t", "DESCRIBE t",
        "SHOW TABLES", "UNPIVOT t ON age, dose", "FROM query('FROM t')", "FROM query_table('t')",
        "FROM t WHERE age", "FROM t WHERE age = dose", "FROM t WHERE 3 < age", "FROM t WHERE TRUE",
        "FROM t WHERE age + 1 > 3", "FROM t WHERE age > 1 + 1", "FROM t WHERE abs(age) > 3",
        "FROM t WHERE age > (SELECT 1)", "FROM t WHERE age IN (SELECT 1)",
        "FROM t WHERE age IN (dose)",
        "FROM t WHERE EXISTS (FROM t)", "FROM t WHERE word LIKE 'a%'", "FROM t WHERE word ~ 'a'",
        "FROM t WHERE word COLLATE NOCASE = 'a'", "FROM t WHERE age = NULL", "FROM t WHERE age = ?",
        "FROM t WHERE age = $1", "FROM t WHERE day > DATE '2020-01-01'",
        "FROM t WHERE age::INT = 1",
        "FROM t WHERE CASE WHEN age > 1 THEN TRUE END", "FROM t WHERE (age, ill) = (1, 2)",
        "FROM t WHERE age IS DISTINCT FROM 1", "FROM t WHERE age BETWEEN 1 AND dose",
        "FROM t WHERE t.age = 1", "FROM t WHERE s.x = 1", "FROM t WHERE word[1] = 'a'",
        "FROM t WHERE age > 1 GROUP BY ALL", "FROM t WHERE word = x'61'", "SELECT 1; SELECT 2",
        "FROM t WHERE age IS NOT DISTINCT FROM NULL", "FROM t WHERE (age > 1) = TRUE",
        "FROM t AT (VERSION => 1)"],
    "view of its columns": [
        "FROM absent", "FROM absent.t", "SELECT nothing FROM t", "FROM t WHERE nothing = 1",
        "FROM t WHERE current_date = '2020-01-01'", "SELECT more FROM t", "FROM 't.csv'",
        "FROM t.csv", "FROM 't.json'", "FROM 't.xlsx'", "FROM frame", "FROM duckdb_settings",
        "FROM information_schema.tables", "FROM of_cast", "FROM of_root", "FROM of_limit",
        "FROM of_sample", "FROM of_order", "FROM of_join", "FROM of_union", "FROM of_distinct",
        "FROM of_window", "FROM of_rows", "FROM of_one", "FROM of_function", "FROM of_csv",
        "FROM of_parquet", "FROM of_of_cast", "SELECT absent FROM 't.parquet'",
        "FROM 't.parquet' WHERE absent = 1", "FROM more"],
    "does not have the type": [
        "FROM t WHERE word = 5", "FROM t WHERE word IN ('a', 5)", "FROM t WHERE age = 'a'",
        "FROM t WHERE age = 1.5", "FROM t WHERE age = 300000000000", "FROM t WHERE age = TRUE",
        "FROM t WHERE age = 1e999", "FROM t WHERE dose = 1e999", "FROM t WHERE dose = '1'",
        "FROM t WHERE day = 'x'", "FROM t WHERE day = 20200101", "FROM t WHERE day > '2020-13-01'",
        "FROM t WHERE time BETWEEN 'a' AND 'b'", "FROM t WHERE zoned > '2020-01-01'",
        "FROM t WHERE exact = 1.23456", "FROM t WHERE exact = 1e30", "FROM t WHERE kind = 5",
        "FROM t WHERE list = 1", "FROM t WHERE yes = 1", "FROM t WHERE s = 'a'",
        "FROM 't.parquet' WHERE word = 5", "FROM 't.parquet' WHERE age = 1.5"],
    "cannot be read as SELECT": [
        "SELEC 1", "CREATE TABLE z (a INT)", "COPY t TO 'z.csv'", "ATTACH 'z.db'", "INSTALL sqlite",
        "EXPLAIN FROM t", "PREPARE p AS FROM t", "EXECUTE p",
        "PIVOT t ON ill USING count(*)", "FROM t WITH ORDINALITY", "SET threads = 2",
        "FROM t WHERE",
        "INSERT INTO t VALUES (1)", "DROP TABLE t", "CALL pragma_version()",
        "SELECT 1; CREATE TABLE z (a INT)"],
    "unprintable": ["SELECT '\x07'", "FROM t WHERE word = '\u202e'", ""],
    "longer than 4000": ["FROM t --" + "x" * 4000],
    "does not exist": ["FROM 'absent.parquet'", "FROM '*.parquet'"],
}
VIEWS = {
    "of_cast": "SELECT word::INT AS age, ill FROM t", "of_root": "SELECT sqrt(age) AS age FROM t",
    "of_limit": "FROM t LIMIT 3", "of_sample": "FROM t USING SAMPLE 3",
    "of_order": "FROM t ORDER BY age",
    "of_join": "SELECT t.age FROM t, t AS u", "of_union": "FROM t UNION ALL FROM t",
    "of_distinct": "SELECT DISTINCT age FROM t", "of_window": "SELECT age, rank() OVER () r FROM t",
    "of_rows": "SELECT age, ill FROM t WHERE age > 1", "of_one": "SELECT age, 1 AS ill FROM t",
    "of_function": "FROM duckdb_settings()",
    "of_csv": "FROM '{}/t.csv'", "of_parquet": "FROM '{}/t.parquet'", "of_of_cast": "FROM of_cast"}


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    """A database with views that compute, and files beside it."""
    base = base_of(
        tmp_path / "clinic.duckdb",
        "CREATE TABLE t (age INT, dose DOUBLE, ill INT, word VARCHAR, day DATE, time TIMESTAMP, "
        "zoned TIMESTAMPTZ, exact DECIMAL(9, 2), kind ENUM ('a'), list INT[], yes BOOL, "
        "s STRUCT(x INT))",
        "INSERT INTO t (age, dose, ill, word) VALUES (1, 2, 1, 'a'), (2, 1, 0, 'b')",
        "CREATE TABLE more (age INT, ill INT, more INT AS (age + 1))",
        f"COPY (SELECT age, ill, word FROM t) TO '{tmp_path}/t.csv'",
        f"COPY (SELECT age, ill, word FROM t) TO '{tmp_path}/t.parquet'",
        *(f"CREATE VIEW {name} AS {text.format(tmp_path)}" for name, text in VIEWS.items()))
    monkeypatch.chdir(tmp_path)
    return base


@pytest.mark.parametrize("words", REFUSED)
def test_other_queries_are_refused(clinic, words, ledger, cli, tmp_path):
    """In a sentence, before the charge, on the command line and in Python."""
    frame = pa.table({"age": [1], "ill": [0]})  # DuckDB would read a name of Python's
    domain = Domain([Number("age", 0, 110)], target=Label("ill", [0, 1]), unit_declared=True,
                    neighbours="add-remove", rows=frame.num_rows)
    domain.to_toml(tmp_path / "d.toml")
    for query in REFUSED[words]:
        full_outcome, spent = outcome(f"sql:{query}", ledger, domain, connect=clinic)

        assert words in full_outcome, query
        assert (0, True) == (spent, full_outcome.count(". ") + full_outcome.count("\n") < 2)
        code, _, output = cli(
            "select", f"sql:{query}", "--connect", clinic, "--domain", tmp_path / "d.toml",
            "--epsilon", "1", "--top", "1", "--ledger", ledger.path, "--population", "clinic",
            "--out", tmp_path / "out")

        assert (3, True) == (code, words in " ".join(output.split())), query
        assert ledger.spent() == 0


WORDS = {"age": ["3", "-1", "7.0"], "dose": ["0.5", "2", "-1e0"], "word": ["'b'", "''", "'a''b'"],
         "day": ["'2020-03-01'"], "yes": ["TRUE", "false"], "exact": ["1.5", "2"]}


def conditions(rng):
    """A condition that a query may have."""
    name = rng.choice(list(WORDS))
    value, other = rng.choice(WORDS[name], 2)
    sign = rng.choice(["=", "<>", "!=", "==", "<", "<=", ">", ">="])
    return str(rng.choice([
        f"{name} {sign} {value}", f"{name} IS NULL", f'"{name.upper()}" IS NOT NULL',
        f"{name} IN ({value}, {other})", f"{name} NOT IN ({value}, {other})",
        f"{name} BETWEEN {value} AND {other}", f"{name} NOT BETWEEN {value} AND {other}"]))


def test_conditions_hold_where_duckdb_has_them(tmp_path):
    """Missing cells, NaN, zeros of both signs: the same rows as DuckDB, of a table and a file."""
    rng = np.random.default_rng(3)
    cells = [("NULL", "3", "-1", "8"), ("NULL", "'nan'", "0.5", "'-0.0'", "2", "'inf'", "-1"),
             ("NULL", "''", "'a'", "'b'", "'a''b'", "'é'"),
             ("NULL", "'2020-03-01'", "'infinity'", "'1999-01-01'"), ("NULL", "TRUE", "FALSE"),
             ("NULL", "1.5", "2", "-7")]
    rows = ", ".join(f"({', '.join([str(i), *map(rng.choice, cells)])})" for i in range(200))
    base = base_of(tmp_path / "t.duckdb", "CREATE TABLE t (id INT, age SMALLINT, dose DOUBLE, word "
                   "VARCHAR, day DATE, yes BOOL, exact DECIMAL(9, 2))",
                   f"INSERT INTO t VALUES {rows}",
                   f"COPY t TO '{tmp_path}/t.parquet'")
    wheres = []
    for _ in range(40):
        first, two, three = (conditions(rng) for _ in range(3))
        wheres.append(rng.choice([
            first, f"{first} AND NOT ({two} OR {three})", f"({first} AND {two}) AND {three}",
            f"NOT NOT {first} OR {two} AND {three}"]))
    with duckdb.connect(str(base)) as connection:
        expected = [[i for (i,) in connection.execute(f"SELECT id FROM t WHERE {where}").fetchall()]
                    for where in wheres]

    assert len({len(answer) for answer in expected}) > 20
    for where, ids in zip(wheres, expected, strict=True):
        for place in ("t", f"'{tmp_path}/t.parquet'"):
            source = open_source(f"sql:SELECT id FROM {place} WHERE {where}",
                                 connect=base if place == "t" else None)
            read_ids = itertools.chain.from_iterable(some for some, in source.raw(["id"], 64))

            assert ids == list(read_ids), where


@pytest.mark.parametrize("statement", [
    "CREATE TABLE u AS SELECT word::INT AS age FROM t", "CREATE VIEW u AS FROM 't.csv'",
    "SET VARIABLE u = (SELECT word::INT FROM clinic.t)", "COPY clinic.t TO 'u.csv'",
    "FROM clinic.t", "CREATE MACRO u(a) AS a", "INSERT INTO t VALUES (1)",
    "CALL pragma_version()", "EXPLAIN FROM t",
    "PREPARE p AS FROM t"])
def test_a_connection_file_reads_no_row(clinic, tmp_path, statement):
    """Its statements find a database; one that reads rows could stop at one, before the charge."""
    attach = tmp_path / "clinic.sql"
    attach.write_text(f"ATTACH '{clinic}' AS clinic (READ_ONLY); {statement};")
    with pytest.raises(SchemaError, match="may contain only ATTACH"):
        open_source("sql:FROM clinic.t", connect=attach)


def test_what_a_connection_file_sets_moves_no_row(clinic, tmp_path):
    """Threads, and whether rows keep their order, are ours."""
    attach = tmp_path / "clinic.sql"
    attach.write_text("SET threads = 4; SET preserve_insertion_order = false")
    held = sql._connected(attach)

    assert [1, True, False] == [sql._first(held, f"SELECT current_setting('{name}')") for name in (
        "threads", "preserve_insertion_order", "enable_external_access")]


def test_queries_of_duckdb_that_have_not_run_are_refused(clinic):
    """They, and a CSV file of Arrow's that is read as it goes, run after the charge."""
    import pyarrow.csv

    with duckdb.connect(str(clinic), read_only=True) as connection:
        for lazy in (connection.sql("SELECT word::INT AS age, ill FROM t"),
                     pyarrow.csv.open_csv("t.csv")):
            with pytest.raises(SchemaError, match="has not run"):
                open_source(lazy)


def test_a_connection_that_does_not_open_is_refused(tmp_path):
    """Whatever is wrong with its file; and one without a query."""
    odd, wrong, none = tmp_path / "a.txt", tmp_path / "a.sql", tmp_path / "a.duckdb"
    odd.write_text("")
    wrong.write_text("ATTACH 'nowhere/secret.db' AS clinic (READ_ONLY)")
    none.write_bytes(b"secret")
    for path, message in ((odd, "ends in '.txt'"), (wrong, "cannot use"),
                          (none, "cannot use"),
                          (tmp_path / "b.sql", "does not exist")):
        with pytest.raises(SchemaError, match=message) as failed:
            open_source("sql:FROM t", connect=path)
        assert "secret" not in str(failed.value)
    with pytest.raises(SchemaError, match="a connection file needs a query"):
        open_source([[1]], connect=odd)


def test_duckdb_takes_half_of_the_memory_at_most(tmp_path, monkeypatch):
    """Half of what is free; a connection file may say another limit."""
    monkeypatch.setattr(sql, "free_memory", lambda: 10**9)
    query = "SELECT current_setting('memory_limit')"
    other = tmp_path / "limit.sql"
    other.write_text("SET memory_limit = '100MB'")

    assert "476.8 MiB" == sql._connected(None).execute(query).fetchone()[0]
    assert "95.3 MiB" == sql._connected(other).execute(query).fetchone()[0]


def test_the_query_stands_in_the_release(table, tmp_path, cli, ledger):
    """Plan, release, certificate and page say it, and `verify` knows the field."""
    columns, path = table
    Domain(DOMAIN.columns, target=DOMAIN.target, unit_declared=True, neighbours="add-remove",
           rows=columns.num_rows).to_toml(tmp_path / "domain.toml")
    out = tmp_path / "out"
    common = [f"sql:SELECT * FROM '{path}'\nWHERE age > 1", "--domain", tmp_path / "domain.toml",
              "--epsilon", "1", "--top", "2"]
    code, *output = cli("plan", *common)
    text = " ".join("".join(output).split())

    assert (0, True) == (code, "WHERE age > 1" in text), output
    assert "you are responsible for choosing the right rows" in text
    code, *output = cli("select", *common, "--ledger", ledger.path, "--population", "clinic",
                        "--out", out)
    assert code == 0, output
    for name in ("release.json", "certificate.json"):
        assert "WHERE age > 1" in (out / name).read_text()
    page = " ".join((out / "report.html").read_text().split())

    assert "WHERE age &gt; 1" in page
    assert "its author is responsible for choosing the right rows" in page
    assert cli("verify", out / "certificate.json")[0] == 0
