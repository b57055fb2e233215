"""Law: a code book's words become the domain's; no row of a data file is read for them."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from privsieve.errors import DomainError, SchemaError
from privsieve.extras.codebooks import code_book
from privsieve.extras.codebooks.code_book import entries_for, read
from privsieve.public.columns import Category, Date, Flag, Label, Number
from privsieve.public.domain import Domain
from privsieve.public.domain_file import parse
from privsieve.public.draft import ID, TEXT, Proposal, TableFacts, draft
from privsieve.rows.cells import encoder

ROOT = Path(__file__).parents[2]
BOOK = """name,kind,values,low,high,missing,format,label
age,integer,,0,120,,,Age at admission
pain,number,,0,10,"99|98",,
sex,nominal,1=male|2=female|3=diverse,,,,,
smoker,yes/no,ja|nein,,,,,
day,date,,2020-01-01,2024-12-31,,%d.%m.%Y,
q01..q03,number,,1,5,,,
lab_*,number,,,,,,
case,id,,,,,,
remark,text,,,,,,
born,,,,,,,
"""
COLUMNS = ["age", "pain", "sex", "smoker", "day", "q01", "q02", "q03", "lab_na", "lab_k", "case",
           "remark", "born", "other"]


def book_of(folder, text, name="book.csv"):
    """A code book that holds this text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_line_for_each_variable(tmp_path):
    """Kinds, values, bounds, codes for missing, blocks and patterns; the label stands behind."""
    entries = entries_for(book_of(tmp_path, BOOK), COLUMNS)
    text = draft([entries[name] for name in COLUMNS if name in entries], TableFacts(unit="row"))

    assert [Number("age", 0, 120), Number("pain", 0, 10, missing_values=[98, 99]),
            Category("sex", [1, 2, 3]), Flag("smoker", true="ja", false="nein"),
            Date("day", "2020-01-01", "2024-12-31", "%d.%m.%Y"),
            *(Number(f"q0{j}", 1, 5) for j in (1, 2, 3)), Number("lab_na"),
            Number("lab_k")] == list(parse(text).columns)
    assert 'name = "age"  # Age at admission' in text
    assert 'names = ["q01..q03"]' in text
    assert (ID, TEXT, "other") == (entries["case"].why, entries["remark"].why,
                                   next(name for name in COLUMNS if name not in entries))


def test_a_name_stands_before_a_pattern(tmp_path):
    """What is said of one column is not overruled by what is said of many."""
    entries = entries_for(book_of(tmp_path, "name,low,high\nq*,1,5\nq2,0,9\n"), ["q1", "q2"])

    assert [(1, 5), (0, 9)] == [(entry.facts["low"], entry.facts["high"])
                                for entry in entries.values()]


def test_all_faults_of_a_book(tmp_path):
    """Each fault has its line; a book with another head, or about other columns, is refused."""
    text = ("name;kind;low;high;values\nage;number;old;9;\npain;number;9;1;\nsex;gender;;;\n"
            "age;number;;;\nward;category;;;A|A\nday;date;soon;2020-01-01;\nok;number;0;1;\n"
            "q9..q2;number;;;\n")
    with pytest.raises(DomainError) as caught:
        read(book_of(tmp_path, text))

    faults = str(caught.value).split("\n")
    assert "the code book has 7 faults:" == faults[0]
    assert [f"line {j}: " for j in (2, 3, 4, 5, 6, 7, 9)] == [line[:8] for line in faults[1:]]
    for line, word in zip(faults[1:],
                          ("low is 'old'", "low must be the smaller", "kind is 'gender'",
                                       "also on line 2", "listed twice", "a date such as",
                                       "counts down"), strict=True):
        assert word in line
    for text, word in (("a,b\n1,2\n", "no column is called name"), ("", "no column is called name"),
                       ("name\nx\n", "does not name any column of the table")):
        with pytest.raises((DomainError, SchemaError), match=word):
            entries_for(book_of(tmp_path, text), ["age"])
    for name in ("none.csv", "book.pdf"):
        if name == "book.pdf":
            book_of(tmp_path, "", name)
        with pytest.raises(SchemaError, match=r"does not exist|take one of"):
            read(tmp_path / name)


def test_latin_letters_and_semicolons(tmp_path):
    """A German book: semicolons, decimal commas, cp1252."""
    path = tmp_path / "book.csv"
    path.write_bytes("Variable;Type;Min;Max\nGröße;number;0,3;2,5\n".encode("cp1252"))

    assert [Proposal("Größe", "number", {"low": 0.3, "high": 2.5})] == read(path)


def test_a_sheet(tmp_path):
    """The first sheet of an Excel file is read as its CSV would be."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["Variable", "Kind", "Low", "High", "Values"], ["age", "number", 0, 120, None],
                ["day", "date", dt.date(2020, 1, 1), "2021-01-01", None],
                ["sex", "category", None, None, "m|f"], [None, None, None, None, None]):
        book.active.append(row)
    book.save(tmp_path / "book.xlsx")

    assert [Proposal("age", "number", {"low": 0, "high": 120}),
            Proposal("day", "date", {"low": dt.date(2020, 1, 1), "high": dt.date(2021, 1, 1)}),
            Proposal("sex", "category", {"values": ["m", "f"]})] == read(tmp_path / "book.xlsx")
    (tmp_path / "bad.xlsx").write_bytes(b"no sheet")
    with pytest.raises(SchemaError, match="as an Excel file"):
        read(tmp_path / "bad.xlsx")


def test_a_table_schema(tmp_path):
    """A Frictionless schema, alone or in a package."""
    schema = {"missingValues": ["", "-9"], "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120},
         "title": "Age"},
        {"name": "sex", "type": "string", "constraints": {"enum": ["m", "f"]}},
        {"name": "ill", "type": "boolean"}, {"name": "memo", "type": "string"},
        {"name": "day", "type": "date", "format": "%d.%m.%Y"}]}
    age = {"low": 0, "high": 120, "missing_values": [-9]}
    expected = [Proposal("age", "number", age, says="Age"),
                Proposal("sex", "category", {"values": ["m", "f"]}), Proposal("ill", "flag"),
                Proposal("memo", "", why=TEXT), Proposal("day", "date", {"format": "%d.%m.%Y"})]

    assert expected == read(book_of(tmp_path, json.dumps(schema), "s.json"))
    assert expected == read(book_of(tmp_path, json.dumps({"resources": [{"schema": schema}]}),
                                    "p.json"))
    for text in ("{}", "[", '{"fields": 1}', "[" * 100_000, '{"fields": [1]}'):
        with pytest.raises(SchemaError, match="not a Frictionless table schema"):
            read(book_of(tmp_path, text, "bad.json"))


FRAME = pd.DataFrame({"age": [34.0, 99.0], "sex": [1.0, 2.0], "q1": [1.0, 5.0], "ward": ["A", "B"],
                      "id": [1.0, 2.0]})


def test_a_dictionary_of_spss(tmp_path):
    """Value labels, user-missing codes, measures and variable labels; the rows do not matter."""
    pyreadstat = pytest.importorskip("pyreadstat")
    columns = []
    for at, frame in enumerate((FRAME, FRAME[::-1] * 2)):
        path = tmp_path / f"{at}.sav"
        pyreadstat.write_sav(
            frame, str(path), column_labels={"age": "Age in years", "q1": "I am content"},
            variable_value_labels={"sex": {1: "male", 2: "female", 9: "refused"},
                                   "q1": {1: "no", 3: "so so", 5: "yes", 9: "refused"},
                                   "ward": {"A": "North", "B": "South"}},
            missing_ranges={"age": [98, {"lo": 999, "hi": 999}], "sex": [9], "q1": [9]},
            variable_measure={"age": "scale", "sex": "nominal", "q1": "ordinal"})
        columns.append(read(path))

    assert [Proposal("age", "number", {"missing_values": [98, 999]}, says="Age in years"),
            Proposal("sex", "category", {"values": [1, 2]}),
            Proposal("q1", "number", {"low": 1, "high": 5, "missing_values": [9]},
                     says="I am content"),
            Proposal("ward", "category", {"values": ["A", "B"]}),
            Proposal("id", "", why=ID)] == columns[0] == columns[1]


def test_dictionaries_of_stata_and_sas(tmp_path):
    """Value labels of Stata; names, labels and dates of a SAS transport file."""
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = FRAME.assign(day=dt.date(2020, 1, 1))
    pyreadstat.write_dta(frame, str(tmp_path / "t.dta"), column_labels={"age": "Age"},
                         variable_value_labels={"sex": {1: "male", 2: "female"}})
    pyreadstat.write_xport(frame, str(tmp_path / "t.xpt"), column_labels={"age": "Age"})
    stata, sas = ({variable.name.lower(): variable for variable in read(tmp_path / name)}
                  for name in ("t.dta", "t.xpt"))

    assert Proposal("sex", "category", {"values": [1, 2]}) == stata["sex"]
    assert ("number", "Age", "date") == (stata["age"].kind, stata["age"].says, stata["day"].kind)
    assert ("number", "Age", "date") == (sas["age"].kind, sas["age"].says, sas["day"].kind)
    (tmp_path / "bad.dta").write_bytes(b"no data")
    with pytest.raises(SchemaError, match="does not fit its file name"):
        read(tmp_path / "bad.dta")


#: Files of SAS, SPSS and Stata that packages of R carry: installed, or unpacked by `.ci/run`.
REAL = {path.name: path for top in (Path("/usr/lib/R"), ROOT / "build/statistics/usr/lib/R")
        for path in [*top.glob("*/haven/examples/*"), *top.glob("*/foreign/files/*")]}


def real(name):
    """The entries of a file that one of these programs wrote, by their names."""
    pytest.importorskip("pyreadstat")
    if name not in REAL:
        pytest.skip("the example files of R are not here (Debian: r-cran-haven, r-cran-foreign)")
    entries = {variable.name: variable for variable in read(REAL[name])}
    parse(draft(list(entries.values()), TableFacts(unit="row")))
    return entries


@pytest.mark.parametrize(("name", "sign"), [("iris.sas7bdat", "_"), ("iris.sav", "."),
                                            ("iris.dta", "")])
def test_flowers_of_sas_spss_and_stata(name, sign):
    """Iris as three programs wrote it: the same columns and kinds; SPSS alone has its levels."""
    names = [f"Sepal{sign}Length", f"Sepal{sign}Width", f"Petal{sign}Length", f"Petal{sign}Width"]
    columns = real(name)

    assert [*([key.casefold(), "number"] for key in names), ["species", "category"]] == [
        [key.casefold(), column.kind] for key, column in columns.items()]
    assert ({"values": [1, 2, 3]} if sign == "." else {}) == list(columns.values())[-1].facts
    assert not any(column.why for column in columns.values())


def test_odd_variables_of_spss():
    """Ranges of missing codes, texts with such codes, ends of a scale, a date."""
    columns = real("testdata.sav")

    assert [{"missing_values": [1, 2]}, {"low": 1, "high": 5, "missing_values": [-1, 0]},
            {"values": [1, 2, 3, 4, 5]}, {"values": ["f", "m"]}, {"low": 1, "high": 5}] == [
        columns[key].facts for key in ("numeric_long_label", "factor_numeric",
                                       "factor_n_coded_miss",
                                       "factor_s_coded_miss", "factor_n_undeclared")]
    assert "date" == columns["date"].kind


def test_shapes_of_dates(tmp_path):
    """A format that shows a day is a date; a time of day is a number; a text may be an ID."""
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pd.DataFrame({"day": [1.0], "at": [2.0], "both": [3.0], "patient_id": ["x"]})
    pyreadstat.write_dta(frame, str(tmp_path / "t.dta"), variable_format={
        "day": "%td", "at": "%tcHH:MM:SS", "both": "%tcDDmonCCYY_HH:MM"})
    pyreadstat.write_xport(frame, str(tmp_path / "t.xpt"), variable_format={
        "day": "E8601DA", "at": "TIME8", "both": "DTDATE9"})

    for name in ("t.dta", "t.xpt"):
        assert ["date", "number", "date",
                ""] == [variable.kind for variable in read(tmp_path / name)], name
        assert ID == read(tmp_path / name)[-1].why


@pytest.mark.parametrize("name", ["formats", "t"])
def test_a_catalogue_of_sas_lies_beside_its_table(name, tmp_path, monkeypatch):
    """Value labels are taken from the catalogue of the table's name, or of SAS's own.

    No program but SAS writes one, so what a reader makes of it is made up here.
    """
    shapes = {"sex": "SEXF8.", "ward": "$WARD", "age": "BEST12", "x": None}
    table = SimpleNamespace(
        column_names=list(shapes), column_labels=[None] * 4, missing_ranges={}, variable_measure={},
        original_variable_types=shapes, readstat_variable_types={"ward": "string"})
    labels = {f"{name}.sas7bcat": {"SEXF": {1.0: "male", 2.0: "female"}, "$WARD": {"A": "North"}},
              "other.sas7bcat": {}}
    monkeypatch.setattr(code_book, "import_library", lambda *_: SimpleNamespace(
        read_sas7bdat=lambda path, **_: ({}, table),
        read_sas7bcat=lambda path, **_: (
            {}, SimpleNamespace(value_labels=labels[Path(path).name]))))
    for single_name in ("t.sas7bdat", *labels):
        (tmp_path / single_name).touch()

    assert [{"values": [1, 2]}, {"values": ["A"]}, {}, {}] == [
        variable.facts for variable in read(tmp_path / "t.sas7bdat")]


def test_a_target_of_a_book(tmp_path):
    """A category is a label with its values, a number with bounds stays a number."""
    path = book_of(tmp_path, "name,kind,values,low,high\nill,category,no|yes,,\ncost,number,,0,9\n"
                             "a,number,,,\n")
    entries = list(entries_for(path, ["ill", "cost", "a"]).values())

    assert Label("ill", ["no", "yes"]) == parse(draft(entries, TableFacts("ill"))).target
    assert Number("cost", 0, 9) == parse(draft(entries, TableFacts("cost"))).target
    assert isinstance(parse(draft(entries, TableFacts("ill"))), Domain)


def test_a_label_of_yes_and_no_keeps_its_words(tmp_path):
    """The words of a yes/no variable are those of the target, whichever of them stands first."""
    for values in ("ja|nein", "nein|ja"):
        entries = entries_for(book_of(tmp_path,
                                      f"name,kind,values\nage,number,\ny,yes/no,{values}\n"),
                              ["age", "y"])
        target = parse(draft([*entries.values()], TableFacts("y", unit="row"))).target

        assert ("nein", "ja") == target.values
        assert [1, 0, 1, 0] == encoder(target)(["JA", "Nein", "1", "no"]).tolist()
