"""From a file to units: what a unit is, and that no cell decides how another unit is read."""

from __future__ import annotations

import csv as csv_module
import io
import itertools
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

import privsieve as ps
from data_makers import codes, csv_file, read
from privsieve.cli import run
from privsieve.errors import DomainError, SchemaError
from privsieve.public.canonical import plain
from privsieve.public.columns import Category, Date, Flag, Label, Number
from privsieve.public.domain import Domain
from privsieve.public.domain_file import parse, to_toml
from privsieve.public.plan import UNIT
from privsieve.rows import csv_file as csv_rows
from privsieve.rows import open_source
from privsieve.rows.source import reads

# Many of these releases are of one process, and of nobody.
pytestmark = pytest.mark.filterwarnings("ignore::privsieve.fit.UnsignedWarning")

HOSTILE = ["", "x", "NaN", "1e999", "-", "True", "1.5", "007", "2020-13-01", "\ufffd", "ja"]


def python_codes(path, domain, **options):
    """The codes of a CSV file by the reader in Python."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_rows, "serves", lambda _source: False)
        return codes(path, domain, **options)


def written(folder, columns, name="t.csv"):
    """A CSV file of columns of texts."""
    text = io.StringIO()
    out = csv_module.writer(text, lineterminator="\n", quoting=csv_module.QUOTE_ALL)
    out.writerow(columns)
    out.writerows(zip(*columns.values(), strict=True))
    return csv_file(folder, text.getvalue().encode(), b"", name)


def as_texts(folder, columns):
    """Columns of texts in each container that can hold them, by name."""
    table = pa.table({name: pa.array(cells, pa.string()) for name, cells in columns.items()})
    frame = pd.DataFrame(columns, dtype=object)
    pq.write_table(table, folder / "t.parquet")
    path = written(folder, columns)
    return {
        "csv": path, "parquet": folder / "t.parquet", "arrow": table, "stream": table.to_reader(),
        "arrow dictionary": pa.table({name: table[name].dictionary_encode() for name in columns}),
        "arrow view": pa.table({name: table[name].cast(pa.string_view()) for name in columns}),
        "pandas": frame, "pandas string": frame.astype("string"),
        "pandas category": frame.astype("category"), "polars": pl.DataFrame(columns),
        "read_csv(dtype=str)": pd.read_csv(path, dtype=str, keep_default_na=False),
        "polars.read_csv(infer_schema=False)": pl.read_csv(path, infer_schema=False),
    }


SPELLED = [
    (Category("c", [1, "01", "A"]), [
        (0, ["1", "1.0", "+1", "1.", "1.000", " 1\t", "True", "true", "TRUE"]),
        (1, ["01", " 01"]), (2, ["A"]),
        (3, ["", "1.5", "001", "01.0", "1e0", "tRue", "-1", "0", "False", "1.0.", "\u0661"])]),
    (Category("c", ["-3", "0", "true", 5]), [
        (0, ["-3", "-3.0", "-3."]), (1, ["0", "0.0", "-0", "-0.0", "+0", "False", "FALSE"]),
        (2, ["true", "True", "1", "1.0"]), (3, ["5", "5.0"]), (4, ["3", "--3", "00", "-03"])]),
    (Category("c", ["True", "true", "no"]), [
        (0, ["True"]), (1, ["true"]), (2, ["no"]), (3, ["1", "TRUE", "False", "1.0"])]),
    (Label("c", [False, True]), [(1, ["True", "true", "TRUE", "1", "1.0", "+1"]),
                                 (0, ["False", "false", "FALSE", "0", "0.0", "?", ""])]),
    (Label("c", [0, 1], default=1), [(1, ["1", "true", "?"]), (0, ["0", "-0.0", "False"])]),
    (Flag("c", default=True), [(1, ["1", "1.0", "Y", "TRUE", "x", ""]),
                               (0, ["0", "0.", "f", "NO"])]),
    (Flag("c", true=["ja", "JÄ"], false="nein"), [
        (1, ["ja", "Ja", "JA", "jä", "1", "yes", "True"]), (0, ["nein", "NEIN", "0.0", "n", "x"])]),
    (Flag("c", true=5, false=[2, 3]), [(1, ["5", "5.0", "1"]), (0, ["2", "2.", "3.0", "0", "7"])]),
    (Number("c", 0, 4), [(16384, ["1", "1.0", "+1", "01", "1e0", ".1e1"]), (32768, ["", "True"])]),
    (Date("c", "2020-01-01", "2020-01-05"), [(16384, ["2020-01-02", "20200102", "20200102.0"])]),
    (Date("c", "2020-01-01", "2020-01-05", format="%Y%m%d.%f"), [(16384, ["20200102.0"])]),
]


@pytest.mark.parametrize(("declared", "spelled"), SPELLED,
                         ids=lambda spelling: getattr(spelling, "kind", ""))
def test_spellings(tmp_path, declared, spelled):
    """Each spelling of a value has its one code, as a text in every container."""
    cells = [text for _, texts in spelled for text in texts]
    expected = [code for code, texts in spelled for _ in texts]
    column = Category(declared.name, declared.values) if isinstance(declared, Label) else declared
    domain = Domain([Flag("other")], target=declared) if isinstance(declared,
                                                                    Label) else Domain([column])
    columns = {"other": ["1"] * len(cells)} if isinstance(declared, Label) else {}
    tables = as_texts(tmp_path, {**columns, "c": cells})
    place = -1 if isinstance(declared, Label) else 0
    rows = {name: [row[place] for row in codes(table, domain)] for name, table in tables.items()}
    rows["python"] = [row[place] for row in python_codes(tables["csv"], domain)]
    if not columns:
        for name, X in (("list", [[cell] for cell in cells]),
                        ("array of objects", np.array(cells, object)[:, None]),
                        ("array of texts", np.array(cells)[:, None]),
                        ("bytes", [[cell.encode()] for cell in cells])):
            rows[name] = [row[0] for row in codes(X, domain)]

    assert dict.fromkeys(rows, expected) == rows


def typed(cells):
    """Numbers or flags in each container that declares a type."""
    array = np.array(cells)
    return {
        "array": array[:, None], "list": [[cell] for cell in cells],
        "floats": array.astype(float)[:, None], "small": array.astype("i1")[:, None],
        "sparse": sparse.csr_array(array.astype(float)[:, None]),
        "objects": np.array(cells, object)[:, None], "decimals": [[Decimal(int(x))] for x in cells],
        "pandas": pd.DataFrame({"c": cells}), "pandas floats": pd.DataFrame({"c": array * 1.0}),
        "pandas nullable": pd.DataFrame({"c": cells}).convert_dtypes(),
        "pandas category": pd.DataFrame({"c": cells}).astype("category"),
        "pandas arrow": pd.DataFrame({"c": cells}).convert_dtypes(dtype_backend="pyarrow"),
        "polars": pl.DataFrame({"c": cells}), "arrow": pa.table({"c": cells}),
        "arrow floats": pa.table({"c": pa.array(array * 1.0)}),
        "arrow decimal": pa.table({"c": pa.array([Decimal(int(x)) for x in cells])}),
        "texts": pd.DataFrame({"c": list(map(str, cells))}),
    }


@pytest.mark.parametrize("column", [
    Category("c", ["0", 1]), Category("c", [False, True]), Flag("c"), Category("c", ["0.0", "+1"]),
    Flag("c", true="ja")], ids=repr)
@pytest.mark.parametrize("cells", [[1, 0, 1], [True, False, True]], ids=["numbers", "flags"])
def test_typed_spellings(column, cells):
    """Numbers and flags of any type have the codes of the texts that write them."""
    rows = {name: [row[0] for row in codes(table, Domain([column]))]
            for name, table in typed(cells).items()}

    assert {name: [1, 0, 1] for name in rows} == rows


TARGETS = {
    "list": list, "array": np.array, "floats": lambda y: np.array(y, float),
    "column": lambda y: np.array(y)[:, None], "objects": lambda y: np.array(y, object),
    "pandas": pd.Series, "nullable": lambda y: pd.Series(y).convert_dtypes(), "polars": pl.Series,
    "arrow": pa.array, "chunks": lambda y: pa.chunked_array([y]),
    "texts": lambda y: [str(label) for label in y], "singles": lambda y: [[label] for label in y],
    "category": lambda y: pd.Series(y).astype("category"),
}


UNTYPED = ("list", "objects", "texts", "singles")


@pytest.mark.parametrize("values", [[0, 1], [False, True], ["false", "true"], ["0.0", "1.0"]],
                         ids=repr)
@pytest.mark.parametrize("y", [[1, 0], [True, False]], ids=["numbers", "flags"])
def test_targets(values, y):
    """Labels that came apart are read by the domain, whatever holds them."""
    domain = Domain([Flag("f")], target=Label("y", values))
    answers = {}
    for name, make in TARGETS.items():
        held = make(y)
        numeric = name == "floats" or type(y[0]) is int
        if values == ["false", "true"] and numeric and name not in UNTYPED:
            with pytest.raises(SchemaError, match="by its type"):
                codes([[1], [1]], domain, held)
            continue
        answers[name] = [row[-1] for row in codes([[1], [1]], domain, held)]

    assert {name: [1, 0] for name in answers} == answers
    assert len(answers) >= 4


def test_persons(tmp_path):
    """A person is one text, however it is spelled, and true is nobody else's number."""
    cells = ["7", "7.0", "+7", "07", "true", "1", "a", "a "]
    domain = Domain([Flag("f")], person="who", persons=9)
    for name, table in as_texts(tmp_path, {"f": ["1"] * 8, "who": cells}).items():
        tags = itertools.count()
        drawn = read(table, domain, entropy=lambda n, tags=tags: next(tags).to_bytes(n, "little"))
        units = np.concatenate([batch.unit for batch in drawn]).tolist()

        assert ([0, 0, 0, 1, 2, 3, 4, 4], name) == (units, name)


TABLE = {
    "number": ["0.5", "1", "2", "0", "1.5", "2.0"], "ward": ["1", "2", "3", "1", "2", "9"],
    "zip": ["00", "01", "02", "00", "01", "02"],
    "grade": ["1.0", "2.0", "1.0", "2.0", "1.0", "3.0"],
    "ill": ["True", "False", "True", "True", "False", "True"],
    "old": ["0.0", "1.0", "0.0", "1.0", "1.0", "0.0"],
    "day": ["2020-01-02", "2020-01-03", "2020-01-04", "2020-01-02", "2020-01-01", "2020-01-05"],
    "stamp": ["20200102", "20200103", "20200104", "20200102", "20200101", "20200105"],
    "word": ["A", "B", "A", "B", "C", "A"], "answer": ["ja", "nein", "ja", "ja", "nein", "nein"],
    "label": ["0.0", "1.0", "1.0", "0.0", "1.0", "0.0"], "who": ["1", "2", "2", "3", "1", "2"],
}
UNITS = Domain(
    [Number("number", 0, 2), Category("ward", [1, 2, 3]), Category("zip", ["00", "01", "02"]),
     Category("grade", [1, 2]), Flag("ill"), Flag("old"), Date("day", "2020-01-01", "2020-01-06"),
     Date("stamp", "2020-01-01", "2020-01-06", format="%Y%m%d"), Category("word", ["A", "B"]),
     Flag("answer", true="ja", false="nein")],
    target=Label("label", [0, 1]), person="who", persons=9)
WAYS = ("path", "python", "parquet", "dtype=str", "polars texts", "polars", "read_csv")


def by_way(folder, columns, way):
    """The table of a CSV file with these cells, opened in one of several ways."""
    path = written(folder, columns)
    if way in ("path", "python"):
        return path
    if way in ("parquet", "dtype=str"):
        frame = pd.read_csv(path, dtype=str)
        if way == "dtype=str":
            return frame
        frame.to_parquet(folder / "t.parquet")
        return folder / "t.parquet"
    if way == "read_csv":
        return pd.read_csv(path)
    return pl.read_csv(path, infer_schema=way == "polars")


def answers(folder, columns, way, domain):
    """What each row is read as, and its person by the order in which they come."""
    tags = itertools.count()
    with pytest.MonkeyPatch.context() as patch:
        if way == "python":
            patch.setattr(csv_rows, "serves", lambda _source: False)
        parts = read(by_way(folder, columns, way), domain,
                     entropy=lambda n: next(tags).to_bytes(n, "little"))
    # A row of nobody has no answer.
    rows, units = ([None] * len(columns["label"]) for _ in range(2))
    for batch in parts:
        for at, code, label, unit in zip(batch.row.tolist(), batch.codes.tolist(),
                                         batch.label.tolist(), batch.unit.tolist(), strict=True):
            rows[at], units[at] = [*code, label], unit
    return rows, units


def answers_or_none(folder, columns, way, domain):
    """The answers; None where a column was refused by its type."""
    try:
        return answers(folder, columns, way, domain)
    except SchemaError as error:
        if "by its type" not in str(error):
            raise
        return None


def together(units, without):
    """Which of the other rows are one person's."""
    kept = [unit for at, unit in enumerate(units) if at != without]
    return [[batch == other for other in kept] for batch in kept]


@pytest.mark.parametrize("column", list(TABLE))
@pytest.mark.parametrize("way", WAYS)
def test_one_hostile_cell(tmp_path, column, way):
    """One hostile cell changes no other unit: by inference, the same codes or refused by type."""
    if column in ("who", "label"):
        names = {column, "number", "word", "label", "who"}
    else:
        names = {column, "label", "who"}
    table = {name: TABLE[name] for name in TABLE if name in names}
    domain = replace(UNITS, columns=tuple(c for c in UNITS.columns if c.name in names))
    expected = answers(tmp_path, table, "path", domain)
    before = answers_or_none(tmp_path, table, way, domain)

    # Zeros in front of a number are what inference loses: only there a type is refused.
    assert before == (None if column == "zip" and way in ("read_csv", "polars") else expected)
    for cell in HOSTILE:
        after = answers_or_none(tmp_path, table | {column: [cell, *table[column][1:]]}, way, domain)
        if after is not None:
            assert (expected[0][1:], cell) == (after[0][1:], cell)
            assert (together(expected[1], 0), cell) == (together(after[1], 0), cell)
        else:
            assert before is None


@pytest.mark.parametrize(("options", "words"), [
    ({"true": "no"}, "always means false"),
    ({"false": ["nein", "Y"]}, "always means true"),
    ({"true": "ja", "false": "JA"}, "means true and false"),
    ({"true": ""}, "write a word"), ({"true": 1.5}, "write a word"),
    ({"false": None}, "write a word"), ({"true": 2, "false": 1}, "always means true"),
    ({"true": "a\nb"}, "write a word")])
def test_words_refused(options, words):
    """Words of a flag that contradict themselves are refused where they are written."""
    with pytest.raises(DomainError, match=words) as caught:
        Flag("smoker", **options)
    assert "'smoker'" in str(caught.value)


def test_words_in_the_domain_file():
    """Words are read from the domain file; a domain without any has the digest it always had."""
    domain = parse('[[column]]\nname="s"\nkind="flag"\ntrue="ja"\nfalse=["nein", "nie"]\n')

    assert Domain([Flag("s", true=["ja"], false=("nein", "nie"))]) == domain
    assert domain == parse(to_toml(domain))
    assert {"default": False, "kind": "flag", "name": "s", "true": ["ja"],
            "false": ["nein", "nie"]} == domain.json()["columns"][0]
    assert {"default": False, "kind": "flag", "name": "s"} \
        == Domain([Flag("s")]).json()["columns"][0]


def test_the_digest_of_a_domain():
    """A domain without words says no words: its digest is known."""
    domain = Domain(
        [Number("age", 0, 110), Flag("s"), Flag("t", default=True), Category("c", ["A", "01", 1]),
         Date("d", "2020-01-01", "2021-01-01")],
        target=Label("y", [False, True]), person="who", persons=9)

    assert "cf91806a766f835bbcb50a121ccf6d8449026f6726ac075e06b750e7a96f8795" == domain.digest()


ACCEPTED = {
    Number("c", 0, 1): "number text other",
    Date("c", "2020-01-01", "2021-01-01"): "date text other",
    Date("c", "2020-01-01", "2021-01-01", format="%Y%m%d"): "number date text other",
    Date("c", "2020-01-01", "2021-01-01", format="%d%m%Y"): "date text other",
    Flag("c"): "number flag text other", Category("c", [0, 1]): "number flag text other",
    Category("c", [3, "-4"]): "number text other", Category("c", ["01"]): "text other",
    Category("c", ["A", 1]): "flag text other", Category("c", ["true", "x"]): "flag text other",
    Category("c", ["true", "True"]): "text other", Label("c", ["No", "Yes"]): "text other",
    Label("c", [False, True]): "number flag text other",
}
TYPES = ("number", "flag", "text", "date", "other", "unreadable")
HELD = {
    "number": [np.array([0.0, 1.0]), np.array([1, 0], "u2"), pd.array([1, None], "Int64"),
            pd.Series([1, 2], dtype="category"), pd.Series([Decimal(1)] * 2).astype(
                pd.ArrowDtype(pa.decimal128(3)))],
    "flag": [np.array([True, False]), pd.array([True, None], "boolean")],
    "text": [np.array(["1", "x"]), pd.Series(["a", None], dtype="string"),
             np.array(["1", "x"], object), pd.Series(["1", "0"], dtype="category")],
    "date": [np.array(["2020-01-01", "NaT"], "M8[s]"), pd.Series(["2020-01-01"] * 2, dtype=
                                                                  "datetime64[ns, UTC]")],
    "unreadable": [np.array([1, 2], "m8[s]"), pd.Series(pd.period_range("2020", periods=2)),
                   pd.Series(pd.interval_range(0, 2)),
                   pd.Series([[1], []], dtype=pd.ArrowDtype(pa.list_(pa.int8())))],
}


@pytest.mark.parametrize("declared", ACCEPTED, ids=repr)
def test_types(declared):
    """Which types a kind reads is one total table, and frames keep to it, with rows or without."""
    accepted = set(ACCEPTED[declared].split())
    target = isinstance(declared, Label)
    domain = Domain([Flag("f")], target=declared) if target else Domain([declared])

    assert {kind: kind in accepted for kind in TYPES} == {kind: reads(declared, kind)
                                                          for kind in TYPES}
    for kind, columns in HELD.items():
        for column in columns:
            frame = pd.DataFrame({"c": column}) if not target else pd.DataFrame(
                {"f": [1, 0], "c": column})
            for X in (frame, frame.iloc[:0], pa.Table.from_pandas(frame)
                      if not isinstance(column, pd.Series) or kind != "unreadable" else frame):
                if kind in accepted:
                    read(X, domain)
                    continue
                with pytest.raises(SchemaError, match="by its type") as caught:
                    read(X, domain)
                assert "'c'" in str(caught.value)
                assert "path" in str(caught.value)


def test_an_array_of_flags():
    """An array of one type is the caller's: true and false are 1 and 0 in a box."""
    X = np.array([[True, False], [False, True]])

    assert codes(X.astype(float), Domain.box(0, 1), [0, 1]) == codes(X, Domain.box(0, 1), [0, 1])
    with pytest.raises(SchemaError, match="'x0'"):
        codes(pd.DataFrame(X, columns=["x0", "x1"]), Domain.box(0, 1, columns=2), [0, 1])


@pytest.mark.parametrize("at", [0, 3])
def test_lists(at):
    """A list that is no table is refused for any of its rows alike."""
    rows = [[1]] * 4
    for odd in ([1, 2], [], None, 5, "x"):
        changed = [*rows[:at], odd, *rows[at + 1:]]
        with pytest.raises(SchemaError, match=r"different lengths|not a table"):
            open_source(changed)
    for odd in ([1, 2], (), [1, 2, 3]):
        with pytest.raises(SchemaError, match="2 dimensions"):
            open_source(rows, [*rows[:at], odd, *rows[at + 1:]])


@pytest.mark.parametrize("X", [[], np.empty((0, 1)), pd.DataFrame({"f": np.empty(0)})],
                         ids=["list", "array", "frame"])
def test_no_rows(X):
    """Under add-remove a table without rows is a neighbour like any other."""
    domain = Domain([Flag("f")], target=Label("y", [0, 1]), neighbours="add-remove", rows=100)
    private = ps.plan("rule-sieve", domain, k=1, epsilon=1)
    assert [] == codes(X, domain, [])
    assert 1 == len(codes([[1]], domain, [1]))
    assert ("f",) == ps.RuleSieve(1, epsilon=1, domain=domain).fit(X, []).release_.selected
    assert private.units == 100


def test_a_box_of_no_width():
    """A list without rows gives a box no width, and says so."""
    with pytest.raises(SchemaError, match="no rows"):
        codes([], Domain.box(0, 1), [])


def lines(tmp_path, rows=400):
    """A file, its frame and its domains."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.integers(0, 2, rows), "b": rng.integers(0, 9, rows)})
    frame["y"] = frame["a"] ^ (rng.random(rows) < .1).astype(int)
    frame.to_csv(tmp_path / "t.csv", index=False)
    columns = [Number("a", 0, 1), Number("b", 0, 9)]
    return (tmp_path / "t.csv", frame, Domain(columns, target=Label("y", [0, 1])),
            Domain(columns, target=Number("y", 0, 1)))


@pytest.mark.parametrize(("options", "words"), [
    (["t.csv"], "one row of the file"), (["t.parquet"], "one row of the table"),
    (["--rows", "400"], "one row of the table")])
def test_the_plan_says_line(tmp_path, monkeypatch, capsys, options, words):
    """The verb `plan` names the unit of the table that it is given."""
    path, frame, labels, _ = lines(tmp_path)
    frame.to_parquet(tmp_path / "t.parquet")
    labels.to_toml(tmp_path / "d.toml")
    monkeypatch.chdir(tmp_path)
    arguments = ["plan", *options, "--domain", "d.toml", "--epsilon", "1", "--top", "1"]
    ended = run(arguments), run([*arguments, "--json"])
    text, _, note = capsys.readouterr().out.partition("{")

    assert (0, 0) == ended
    assert f"{words} (replace-one)" in text
    assert ("line" if "file" in words else "row") == json.loads("{" + note)["unit"]
    assert path.name == "t.csv"


def test_a_line_is_the_unit(tmp_path):
    """Of a CSV file the certificate protects one line, of a frame one row; both verify."""
    path, frame, labels, _ = lines(tmp_path)
    for X, words in ((path, UNIT["line"]), (frame, UNIT["row"])):
        release = ps.RuleSieve(1, epsilon=1, domain=labels).fit(X).release_

        assert words == release.certificate["claim"]["unit"]
        assert ps.verify(release.certificate, release.body).valid
    assert "one line of the file" == UNIT["line"]


def test_a_line_in_a_session(tmp_path):
    """A session on a CSV file protects a line."""
    path, _, _, numbers = lines(tmp_path, rows=40)
    with ps.KernelRidgeSession(path, kernel="linear", lam=1, domain=numbers) as session:
        session.predict_one([0.5] * len(numbers.columns), epsilon=1)

    assert UNIT["line"] == session.release_.certificate["claim"]["unit"]


def test_the_report_says_line(tmp_path):
    """The page of a release from a CSV file says that a row is a line of the file."""
    path, frame, labels, _ = lines(tmp_path)
    pages = {}
    for name, X in (("line", path), ("row", frame)):
        folder = tmp_path / name
        ps.RuleSieve(1, epsilon=1, domain=labels).fit(X).release_.save(folder)
        pages[name] = (folder / "report.html").read_text("utf-8")

    assert "A row is one line of the file" in pages["line"]
    assert "A row is one line of the file" not in pages["row"]
    assert "one row of the table" not in pages["line"]
    assert "If any one row were replaced by any other" in pages["line"]
    assert "the number of rows, 400" in pages["line"]
    assert "one row of the table" in pages["row"]
    assert "the number of rows, 400" in pages["row"]


@pytest.mark.parametrize(("text", "expected"), [
    ("+00", "+00"), ("-0.00", "0"), ("-7.", "-7"), ("7.0e0", "7.0e0"), (".0", ".0"), ("+.", "+."),
    ("٣.0", "٣.0"), ("10.01", "10.01"), ("1\n", "1\n"), ("-", "-"), ("+", "+"), ("", "")])
def test_plain(text, expected):
    """Only whole numbers in ASCII digits lose a sign and zeros; and once is enough."""
    assert expected == plain(text)
    assert plain(text) == plain(plain(text))


def test_the_page_lists_the_types():
    """The page's table of kinds and types is the one that is kept."""
    page = (Path(__file__).parents[1] / "docs" / "reader.md").read_text("utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in page.splitlines() if line.startswith("| `")]
    words = ("number", "flag", "text", "date", "unreadable")
    readings = {row[0]: dict(zip(words, row[1:], strict=True)) for row in rows if len(row) == 6}
    kinds = {
        "`number`": [Number("c", 0, 1)], "`flag`": [Flag("c")],
        "`date`": [Date("c", "2020-01-01", "2021-01-01")],
        "`category`, `label`": [Category("c", ["A"]), Category("c", [2, 3]), Label("c", [0, 1])],
    }

    assert kinds.keys() == readings.keys()
    for kind, parts in kinds.items():
        for word, cell in readings[kind].items():
            answers_of = {reads(column, word) for column in parts}
            assert (cell.startswith("read"), kind, word) == (True in answers_of, kind, word)
            if cell == "refused":
                assert {False} == answers_of
