"""Law: spellings.  However a table is written, its domain makes the same items of it."""

import datetime as dt
import json
import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_makers import codes
from kernel_calls import serve
from privsieve.check.replan import domain_of
from privsieve.cli import run
from privsieve.errors import DomainError, SchemaError
from privsieve.public.canonical import text_of
from privsieve.public.columns import Category, Date, Flag, Label, Number, label_of
from privsieve.public.domain import Csv, Domain
from privsieve.public.domain_file import parse, to_toml
from privsieve.rows.cells import date_cell, encoder, number_cell
from privsieve.rows.inspect import inspect
from privsieve.rows.items import Long, Reading, column_of, items_of, read_long, table_of

#: Cells of all kinds, and of none.
CELLS = ["1", "1.0", "+1", "01", "0", "-0", "True", "true", "FALSE", "yes", "Ja", "nein", " ja ",
         "A", "a", "x", "", None, float("nan"), 1, 0, 1.0, 2.5, True, False, Decimal("1.0"),
         "2,5", "2.5", "1.000", "1e2", "nan", "inf", "-7", "900", "31.01.2020", "2020-06-01",
         "2020-06-01T12:00", dt.date(2020, 3, 1), np.float32(0.5), np.int64(3), [1], object()]
PARTS = [
    Flag("c"), Flag("c", default=True), Flag("c", true="ja", false=["nein", "x"]),
    Category("c", ["A", "B"]), Category("c", [0, 1]), Category("c", ["true", "x"]),
    Category("c", ["true", "1"]), Category("c", [1, "01", "2,5"]),
    Category("c", ["A", "JA", "true"], ignore_case=True),
    Number("c", 0, 100, cuts=[1, 2, 50]), Number("c", 1, 2, cuts=[1, 1.5, 2]),
    Number("c", -10, 10, missing="level", cuts=[0]), Number("c", 0.5, 1000, "log", cuts=[1]),
    Date("c", "2020-01-01", "2020-12-31", "%d.%m.%Y", cuts=["2020-02-01"]),
    Date("c", "2020-02-01", "2020-07-01", cuts=["2020-03-01", "2020-06-01"]),
]


def rows_of(items):
    """The rows of each item, by its name."""
    return {name: items.indices[items.indptr[j]:items.indptr[j + 1]].tolist()
            for j, name in enumerate(items.names)}


def expected(column, cells, decimal):
    """The rows of each item, from the codes that a selection would count."""
    codes = encoder(column, decimal)(cells).tolist()
    if isinstance(column, Flag):
        return {"c": [row for row, code in enumerate(codes) if code == 1]}
    if isinstance(column, Category):
        return {f"c={text_of(value)}": [row for row, code in enumerate(codes) if code == at]
                for at, value in enumerate(column.values)}
    date = isinstance(column, Date)
    low, high = map(date_cell, (column.low, column.high)) if date else (column.low, column.high)
    cuts = [*map(date_cell, column.cuts)] if date else column.cuts
    read = [date_cell(cell, column.format) if date else number_cell(cell, decimal)
            for cell in cells]
    bins = [[row for row, number in enumerate(read) if not math.isnan(number)
             and first <= min(max(number, low), high) < last]
            for first, last in zip([-math.inf, *cuts], [*cuts, math.inf], strict=True)]
    if column.missing == "level":
        bins.append([row for row, number in enumerate(read) if math.isnan(number)])
    return bins


@pytest.mark.parametrize("column", PARTS, ids=repr)
def test_items_are_what_a_selection_reads(column):
    """The item of a flag or level is its code; the bin of a number that of what select reads."""
    rng = np.random.default_rng(3)
    for decimal in (".", ","):
        domain = Domain([column, Flag("other")], csv=Csv(";", decimal))
        for _ in range(40):
            cells = [CELLS[at] for at in rng.integers(0, len(CELLS), rng.integers(1, 40))]
            if rng.random() < 0.5:
                cells = [cell for cell in cells if isinstance(cell, str)] or ["1"]
            frame = pd.DataFrame({"c": pd.Series(cells, dtype=object), "other": [0] * len(cells)})
            rows = rows_of(items_of(frame, domain=domain)[0])
            rows.pop("other")
            wanted = expected(column, cells, decimal)

            assert (wanted if isinstance(wanted, dict) else [*wanted]) == (
                rows if isinstance(wanted, dict) else [*rows.values()])


@pytest.mark.parametrize("label", [Label("c", [0, 1]), Label("c", ["A", "x"], "x"),
                                   Label("c", [False, True], True), Label("c", [1, "01", "ja"]),
                                   Label("c", ["X", "JA"], ignore_case=True, words=["a", [1]])])
def test_classes_are_what_a_selection_reads(label):
    """The class of a row is its code, whatever the label's cell is."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        cells = [CELLS[at] for at in rng.integers(0, len(CELLS), rng.integers(1, 40))]
        frame = pd.DataFrame({"a": [0, *[1] * (len(cells) - 1)],
                              "c": pd.Series(cells, dtype=object)})
        _, y, classes = items_of(frame, domain=Domain([Flag("a")], target=label))
        codes = encoder(label, ".")(cells).tolist()

        assert [label.values[code] for code in codes] == [classes[at] for at in y]
        assert [label.values[code] for code in sorted(set(codes))] == [*classes]


YES_OR_NO = (Label("y", ["nein", "ja"], ignore_case=True, words=[["n", 0], ["j", 1]]),
             label_of(Flag("y", true=["ja", "j"], false=["nein", "n"])))
#: Cells that a container can hold, with their class.
WORDS = [("ja", 1), ("Ja", 1), ("JA", 1), (" jA ", 1), ("nein", 0), ("NEIN", 0), ("J", 1), ("n", 0),
         ("1", 1), ("0.0", 0), ("x", 0), ("", 0)]


@pytest.mark.parametrize("label", YES_OR_NO, ids=["ignore_case", "flag"])
def test_words_of_a_label_are_read_alike_by_every_reader(label, tmp_path, monkeypatch):
    """Capitals that are ignored, and further words: one class, in each container."""
    words, classes = zip(*WORDS, strict=True)
    upper = Category("ward", ["Nein", "JA"], ignore_case=True)
    domain = Domain([upper, Flag("a")], target=label)
    frame = pd.DataFrame({"ward": words, "a": [0] * len(words), "y": words})
    frame.to_csv(tmp_path / "t.csv", index=False)
    arrow = pa.Table.from_pandas(frame)
    pq.write_table(arrow, tmp_path / "t.parquet")
    parted = arrow.set_column(2, "y", arrow["y"].dictionary_encode())
    tables = [(frame, None), (frame.drop(columns="y"), frame["y"]), (arrow, None), (parted, None),
              (pl.from_arrow(arrow), None), (tmp_path / "t.csv", None),
              (tmp_path / "t.parquet", None),
              (frame[["ward", "a"]].to_numpy(), np.array(words, object)),
              ([list(row) for row in frame[["ward", "a"]].itertuples(index=False)], list(words))]
    level = [1 if word.strip().lower() == "ja" else 0 if word.lower() == "nein" else 2
             for word in words]
    for which in ("native", "numpy"):
        serve(which, monkeypatch)
        for X, y in tables:
            values = np.array(codes(X, domain, y))
            assert [level, list(classes)] == values[:, [0, 2]].T.tolist()
    typed = [np.array([1, 0, 1]), np.array([True, False, True]), np.array([1.0, 0.0, 1.0])]
    for which in ("native", "numpy"):
        serve(which, monkeypatch)
        for cells in typed:
            frame = pd.DataFrame({"a": [0, 1, 0], "y": cells})
            for X in (frame, pa.Table.from_pandas(frame)):
                assert [1, 0, 1] == [row[1] for row in codes(X, Domain([Flag("a")], label))]
        half = Label("y", ["nein", "ja"], words=[[0], [1, "2.5"]])
        table = pa.table({"a": [0, 1, 0], "y": [2.5, 0.0, 1.0]})
        assert [1, 0, 1] == [row[1] for row in codes(table, Domain([Flag("a")], half))]
    looked = inspect(tmp_path / "t.csv", domain)
    assert (1, (0, 1)) == (looked.findings[2].unlisted, tuple(looked.findings[2].codes[0]))


def test_a_rule_for_capitals_is_declared():
    """It is in the digest and the domain file; values and words that would be one are refused."""
    plain, ignoring = (Domain([Category("w", ["A"], ignore_case=how)],
                              target=Label("y", ["ja", "nein"], ignore_case=how))
                       for how in (False, True))

    assert plain.digest() != ignoring.digest()
    for domain in (ignoring, *(Domain([Flag("a")], target=value) for value in YES_OR_NO)):
        assert domain == parse(to_toml(domain)) == domain_of(json.loads(json.dumps(domain.json())))
    assert YES_OR_NO[1] == parse(to_toml(plain).partition("[target]")[0] + """[target]
name = "y"\nkind = "flag"\ntrue = ["ja", "j"]\nfalse = ["nein", "n"]""").target
    for kind, values in ((Category, ["A", "a"]), (Label, ["Ja", "JA"])):
        with pytest.raises(DomainError, match="means two values where capitals are ignored"):
            kind("y", values, ignore_case=True)
    with pytest.raises(DomainError, match="means two values; remove it"):
        Label("y", ["a", "b"], words=[["c"], ["c"]])


ENGLISH = Domain(
    [Number("age", 0, 110, cuts=[40, 65]), Number("crp", 0, 500), Number("dose", 0, 50),
     Date("day", "2019-01-01", "2021-12-31"), Flag("smoker"), Category("ward", ["Köln", "B"]),
     Category("grade", [1, 2, 3]), Number("pay", 0, 9000, role="sensitive"),
     Category("ill", ["flu", "gout"], "sensitive")],
    target=Label("back", ["no", "yes"]))
GERMAN = Domain(
    [Number("age", 0, 110, cuts=[40, 65]), Number("crp", 0, 500), Number("dose", 0, 50),
     Date("day", "2019-01-01", "2021-12-31", "%d.%m.%Y"), Flag("smoker", true="ja", false="nein"),
     Category("ward", ["Köln", "B"]), Category("grade", [1, 2, 3]),
     Number("pay", 0, 9000, role="sensitive"), Category("ill", ["flu", "gout"], "sensitive")],
    target=Label("back", ["no", "yes"]), csv=Csv(";", ",", "cp1252"))
CROSSED = ["back", "smoker", "age", "ward", "crp", "ill", "grade", "day", "pay", "dose"]


def written(folder):
    """One table in two spellings, with their domain files."""
    rng = np.random.default_rng(8)
    n = 240
    age, crp = rng.integers(18, 99, n), np.round(rng.gamma(1, 9, n), 2)
    dose = np.where(rng.random(n) < 0.8, 0, np.round(rng.uniform(5, 50, n), 2))
    day = [dt.date(2020, 1, 1) + dt.timedelta(int(j)) for j in rng.integers(0, 500, n)]
    smoker, grade = rng.integers(0, 2, n), rng.integers(1, 4, n)
    ward, ill = rng.choice(["Köln", "B", "C"], n), rng.choice(["flu", "gout", "rare"], n)
    pay = np.round(rng.choice([900.5, 1200, 3500.25], n), 2)
    back = np.where((age > 60) ^ (rng.random(n) < 0.2), "yes", "no")
    gone = rng.random(n) < 0.05
    lines = {"en": [",".join(CROSSED)], "de": [";".join(CROSSED)]}
    for j in range(n):
        cells = [back[j], "yes" if smoker[j] else "no", age[j], ward[j],
                 "" if gone[j] else crp[j], ill[j], grade[j], day[j].isoformat(), pay[j], dose[j]]
        lines["en"].append(",".join(map(str, cells)))
        cells = [back[j], "Ja" if smoker[j] else "nein", f"{age[j]},0", ward[j],
                 "k.A." if gone[j] else str(crp[j]).replace(".", ","), ill[j], f"+{grade[j]}",
                 day[j].strftime("%d.%m.%Y"), f"{pay[j]:.2f}".replace(".", ","),
                 str(dose[j]).replace(".", ",")]
        lines["de"].append(";".join(map(str, cells)))
    for name, domain, encoding in (("en", ENGLISH, "utf-8"), ("de", GERMAN, "cp1252")):
        (folder / f"{name}.csv").write_text("\n".join(lines[name]) + "\n", encoding)
        domain.to_toml(folder / f"{name}.toml")
    frame = pd.read_csv(folder / "en.csv", dtype=str, keep_default_na=False)
    pq.write_table(pa.Table.from_pandas(frame), folder / "en.parquet")
    return folder


def test_both_spellings_are_one_table(tmp_path):
    """Semicolons, decimal commas, ja and nein, cp1252: the same items, classes and values."""
    folder = written(tmp_path)
    german = table_of(folder / "de.csv", None, Reading(GERMAN))
    for path in ("en.csv", "en.parquet"):
        english = table_of(folder / path, None, Reading(ENGLISH))

        assert rows_of(english.items) == rows_of(german.items)
        assert english.items.origin == german.items.origin
        assert (english.y.tolist(), english.classes) == (german.y.tolist(), german.classes)
        assert [(column.name, column.codes.tolist(), column.values, column.ordered)
                for column in english.sensitive] == [
            (column.name, column.codes.tolist(), column.values, column.ordered)
            for column in german.sensitive]
    names = english.items.names
    assert {"age<40", "age=40..65", "age>=65", "smoker", "ward=Köln", "grade=3"} <= {*names}
    assert {"crp", "dose", "day"} <= {name.partition("<")[0] for name in names}
    assert ["900.5", "1200", "3500.25"] == [*english.sensitive[0].values]


def test_columns_that_no_domain_names():
    """Beside a domain's columns, numbers have its decimal, and 12.000 is a text there."""
    domain = Domain([Flag("f")], csv=Csv(";", ","))
    frame = pd.DataFrame({"f": [0, 1], "n": ["1,5", "3"], "t": ["12.000", "12"]})
    items, _, _ = items_of(frame, domain=domain, columns={"n": [2], "t": None})

    assert {"n<2": [0], "n>=2": [1], "t=12": [1], "t=12.000": [0]} == rows_of(items)


def test_numbers_beside_texts():
    """A number and the text that writes it are one level, in one batch or in two."""
    from privsieve.rows.coding import Gather

    column = Gather("a")
    column.add(np.array([1.0, np.nan, 2.5]))
    column.add(["1", 2.5, "A", 1.0])
    coded = column.coded()

    assert (("1", "2.5", "A"), [0, -1, 1, 0, 1, 2, 0]) == (coded.cells, coded.codes.tolist())


def test_arrays_and_lists_have_the_names_of_the_domain():
    """Columns without names are those of the domain, in its order; a box has any width."""
    domain = Domain([Number("age", 0, 110, cuts=[18]), Category("ward", ["A"])],
                    target=Label("ill", [0, 1]))
    items, y, _ = items_of([[17, "A"], [30, "B"]], [1, 0], domain=domain)

    assert ({"age<18": [0], "age>=18": [1], "ward=A": [0]}, [1, 0]) == (rows_of(items), y.tolist())
    with pytest.raises(SchemaError, match="the array has 1 columns and the domain names 2"):
        items_of([[17], [30]], domain=domain)
    grid = np.arange(24.0).reshape(12, 2)
    assert ("x0<10", "x0>=10", "x1<10", "x1>=10") == items_of(
        grid, domain=Domain.box(0, 30), cuts=2, k=2)[0].names


def test_files_beside_the_table(tmp_path):
    """Labels, sources, logs and their people are read as the domain's csv says."""
    csv = Csv(";", ",", "cp1252")
    domain = Domain([Flag("seen", true="ja")], csv=csv, target=Label("ill", ["nö", "yes"], "nö"))
    (tmp_path / "y.csv").write_text("who;ill\nJürgen;nö\nÄnne;yes\n", "cp1252")
    (tmp_path / "y.txt").write_text("nö\nyes\n", "cp1252")
    (tmp_path / "log.csv").write_text("who;film;seen\nÄnne;Ödipus;Ja\nJürgen;B;nein\n", "cp1252")
    (tmp_path / "num.csv").write_text("who;film;seen\nÄnne;Ödipus;1,0\nJürgen;B;0,0\n", "cp1252")

    assert ["nö", "yes"] == column_of(tmp_path / "y.csv", "ill", csv)
    assert ["nö", "yes"] == column_of(tmp_path / "y.txt", None, csv)
    assert [0, 1] == table_of(tmp_path / "log.csv", None, Reading(Domain(
        domain.columns, person="who", persons=2, csv=csv))).sources.tolist()
    for log, domain_read in (("log.csv", domain), ("num.csv", Domain([Flag("z")], domain.target,
                                                                     csv=csv))):
        items, y, classes = read_long(
            tmp_path / log, Long("who", "film", "seen", tmp_path / "y.csv", "ill"),
            domain=domain_read)
        assert {"B": [], "Ödipus": [1]} == rows_of(items)
        assert ([0, 1], ("nö", "yes")) == (y.tolist(), classes)


def test_the_command_line_reads_files_beside_the_table(tmp_path, monkeypatch, capsys):
    """--labels, --source and --long read their files as --domain says."""
    monkeypatch.chdir(tmp_path)
    csv = Csv(";", ",", "cp1252")
    Domain([Flag("raucht", true="ja", false="nein")], csv=csv).to_toml("d.toml")
    Domain([Flag("n")], csv=csv).to_toml("log.toml")
    rows = [("ja" if j % 3 else "nein", f"Ärztin {j % 20}", "nö" if j % 2 else "ja")
            for j in range(80)]
    for name, head, lines in (
            ("t.csv", "raucht;wer", [";".join(row[:2]) for row in rows]),
            ("y.csv", "krank;wer", [f"{row[2]};{row[1]}" for row in rows]),
            ("log.csv", "wer;was;n", [f"{row[1]};{row[0]};{j % 2},0" for j, row in
                                      enumerate(rows)])):
        Path(name).write_text("\n".join([head, *lines]) + "\n", "cp1252")
    for words, columns in (
            (["t.csv", "--domain", "d.toml", "--labels", "y.csv", "--target", "krank"], 1),
            (["t.csv", "--domain", "d.toml", "--source", "wer"], 1),
            (["log.csv", "--domain", "log.toml", "--long", "wer", "was", "--value", "n"], 2)):
        code = run(["check", *words, "--json"])
        output = capsys.readouterr()
        assert code == 0, output.err
        assert columns == json.loads(output.out)["columns"]
