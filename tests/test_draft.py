"""Law: a draft holds names and types, nothing of a row, and is a domain wherever it can be one."""

from __future__ import annotations

import json
import tomllib

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_makers import csv_file
from privsieve.errors import DomainError, SchemaError
from privsieve.public.columns import Category, Date, Flag, Label, Number, label_of
from privsieve.public.domain import Csv, Domain
from privsieve.public.domain_file import parse
from privsieve.public.draft import ID, TEXT, UNKNOWN, Proposal, TableFacts, draft, proposed
from privsieve.rows import open_source
from privsieve.rows.written import guess, looked_at, recognised

names = st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=8).filter(
    str.strip)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.tuples(names, st.sampled_from(["number", "text", "flag", "date", "other",
                                                  "unreadable"])),
                min_size=1, max_size=9, unique_by=lambda table: table[0].casefold()),
       st.sampled_from([None, "row"]))
def test_a_draft_is_a_domain(columns, unit):
    """Whatever columns are called: a draft is TOML, and a domain if one column needs nothing."""
    entries = [proposed(*column) for column in columns]
    text = draft(entries, TableFacts(unit=unit))
    used = [entry.name for entry in entries if not entry.aside]

    tomllib.loads(text)
    if used:
        assert tuple(used) == parse(text).names
        assert parse(text).unit_declared == (unit is not None)
    else:
        with pytest.raises(DomainError, match="names no column"):
            parse(text)


@pytest.mark.parametrize(("name", "kind", "expected"), [
    ("crp", "other", Proposal("crp", "number")),
    ("birth_year", "number", Proposal("birth_year", "number", {"near": 2000})),
    ("Geburtsjahr", "other", Proposal("Geburtsjahr", "number", {"near": 2000})),
    ("isSmoker", "other", Proposal("isSmoker", "flag")),
    ("smoker", "flag", Proposal("smoker", "flag")),
    ("patientId", "number", Proposal("patientId", "", why=ID)),
    ("Patientennummer", "other", Proposal("Patientennummer", "", why=ID)),
    ("customer no", "text", Proposal("customer no", "", why=ID)),
    ("idle_time", "other", Proposal("idle_time", "number")),
    ("last_name", "text", Proposal("last_name", "", why=TEXT)),
    ("ward", "text", Proposal("ward", "category")),
    ("created_at", "other", Proposal("created_at", "date")),
    ("update_count", "other", Proposal("update_count", "number")),
    ("anything", "date", Proposal("anything", "date")),
    ("smoker", "other", Proposal("smoker", "number", why=UNKNOWN)),
    ("smoker", "number", Proposal("smoker", "number")),
    ("worst texture", "other", Proposal("worst texture", "number")),
])
def test_what_a_name_says(name, kind, expected):
    """A kind is proposed by a name and a type; what nobody should use is set aside with why."""
    assert expected == proposed(name, kind)


def test_what_is_set_aside_can_be_taken_in():
    """Below its reason stands what to fill in; with the # away it is a column."""
    text = draft([proposed("age", "number"), proposed("ward", "text"), proposed("day", "date")],
                 TableFacts(unit="row"))
    head, _, rest = text.partition("# Set aside")
    taken = rest.split("then remove the #:\n")
    ward = taken[1].partition("\n#\n")[0].replace("# ", "")
    day = taken[2].partition("\n#\n")[0].replace("# ", "")
    assert ward.count("<- fill in") == 1
    ward = ward.partition("values = ")[0] + 'values = ["A", "B"]\n'
    day = day.partition("low = ")[0] + "low = 2020-01-01\nhigh = 2021-01-01\n"

    assert ("age",) == parse(text).names
    assert [Number("age"), Category("ward", ["A", "B"]),
            Date("day", "2020-01-01", "2021-01-01")] == list(parse(head + ward + day).columns)


def test_the_table_and_the_target():
    """What is declared of the table is in the draft; what is not is asked for."""
    entries = [proposed(name, "other") for name in ("person_id", "age", "y")]
    whole = TableFacts("y", ("no", "1.0"), "person", None, 4, 500, Csv(";", ","))
    domain = parse(draft(entries, whole))

    assert Domain([Number("age")], Label("y", ["no", 1]), person="person_id", rows_per_person=4,
                  persons=500, csv=Csv(";", ",")) == domain
    with pytest.raises(DomainError, match=r"target 'y'.*values is missing"):
        parse(draft(entries, TableFacts("y")))
    assert label_of(Flag("y")) == parse(draft(
        [*entries[:2], proposed("y", "flag")], TableFacts("y"))).target
    with pytest.raises(SchemaError, match="column 'Y' is not in the table"):
        draft(entries, TableFacts("Y"))
    with pytest.raises(DomainError, match="no column is named like an identifier"):
        draft(entries[1:], TableFacts("y", unit="person"))
    with pytest.raises(DomainError, match="person_id, user_id"):
        draft([*entries, proposed("user_id", "other")], TableFacts("y", unit="person"))


def test_draft_of_sources(tmp_path):
    """A draft holds names and types, and nothing of the rows."""
    frame = pd.DataFrame({"n": [12345, 2], "t": ["secret", "x"], "f": [True, False],
                          "c": pd.Categorical(["hidden", "b"])})
    table = pa.table({"d": pa.array(["hidden"]).dictionary_encode(), "n": [1.5]})

    assert [Number("n"), Flag("f")] == list(parse(Domain.draft(frame)).columns)
    assert [Number("n")] == list(parse(Domain.draft(open_source(table))).columns)
    assert [Number("a")] == list(parse(Domain.draft(csv_file(tmp_path, b"7\n", b"a\n"))).columns)
    assert [Number("x0")] == list(parse(Domain.draft(np.zeros((1, 1)))).columns)
    assert not any(word in Domain.draft(frame) for word in ("12345", "secret", "hidden"))


def test_levels_of_a_type_are_taken_where_the_caller_vouches():
    """Levels come from a declared type or list, only on request, and never from the rows."""
    wards = pd.CategoricalDtype(["A", "B", "C"])
    frame = pd.DataFrame({"ward": pd.Series(["B", "A"], dtype=wards), "n": [1.5, 2],
                          "grade": pd.Categorical([2, 1], categories=[1, 2, 3]),
                          "on": pd.Categorical([True, False]), "t": ["secret", "x"],
                          "user_id": pd.Categorical(["hidden", "b"]),
                          "ill": pd.Categorical(["no", "no"], categories=["no", "yes"])})
    text = Domain.draft(frame, "ill", code_book="dtype")
    polars = pl.DataFrame({"ward": pl.Series(["B"], dtype=pl.Enum(["A", "B", "C"])), "n": [1],
                           "c": pl.Series(["hidden"], dtype=pl.Categorical)})

    assert Domain([Category("ward", ["A", "B", "C"]), Number("n"), Category("grade", [1, 2, 3]),
                   Flag("on")], Label("ill", ["no", "yes"])) == parse(text)
    assert "declared them public" in text
    assert text == Domain.draft(frame.iloc[:0], "ill", code_book="dtype")
    assert (Category("ward", ["A", "B", "C"]), Number("n")) == parse(
        Domain.draft(polars, code_book="dtype")).columns
    assert not any(word in text + Domain.draft(polars, code_book="dtype")
                   for word in ("secret", "hidden"))


def test_levels_of_a_list(tmp_path):
    """A mapping of columns to lists is a code book."""
    frame = pd.DataFrame({"ward": pd.Categorical(["hidden"]), "grade": [1]})
    book = {"ward": ["A", "B"], "grade": range(1, 4)}

    expected = (Category("ward", ["A", "B"]), Category("grade", [1, 2, 3]))
    assert expected == parse(Domain.draft(frame, code_book=book)).columns
    assert expected == parse(Domain.draft(csv_file(tmp_path, b"A,1\n", b"ward,grade\n"),
                                          code_book=book)).columns


@pytest.mark.parametrize(("arguments", "error", "reason"), [
    ({"code_book": {"word": ["A"]}}, SchemaError, "'word', but the table has no such column"),
    ({"code_book": {"ward": [0.5]}}, DomainError, "neither a text nor a whole number"),
    ({"code_book": {"ward": "AB"}}, DomainError, "list every value")])
def test_levels_that_cannot_be_listed(arguments, error, reason):
    """What cannot be a public list of values is refused with what to write."""
    with pytest.raises(error, match=reason):
        Domain.draft(pd.DataFrame({"ward": pd.Categorical(["A"])}), **arguments)
    for X in (pd.DataFrame({"a": [1]}), [[1]],
              pl.DataFrame({"a": pl.Series(["x"], dtype=pl.Categorical)}),
              pa.table({"a": pa.array(["x"]).dictionary_encode()})):
        with pytest.raises(SchemaError, match="no column lists its levels in its type"):
            Domain.draft(X, code_book="dtype")


@pytest.mark.parametrize(("head", "expected"), [
    (b"a;b,c;d\n", Csv(";", ",")), (b"a,b\n", Csv()), (b"a\tb\n", Csv("\t")),
    ("Größe;b\n".encode("latin-1"), Csv(";", ",", "cp1252")), ("Größe;b\n".encode(), Csv(";", ",")),
    (b"\xef\xbb\xbfa,b\n", Csv()), (b"a\x81,b\n", Csv(encoding="latin-1"))])
def test_the_first_line_says_how_a_file_is_written(tmp_path, head, expected):
    """Delimiter, decimal sign and letters follow from the header, whatever the body holds."""
    for at, body in enumerate((b"", b"1.5;2\n\xff\xfe;\n", b"x\n")):
        assert expected == recognised(csv_file(tmp_path, body, head, f"{at}.csv"))
    assert ";" == guess("a;b")


def test_a_look(tmp_path):
    """A look proposes kinds from rows, all of it as `seen`, and takes no name's word for it."""
    rows = [f"{j};{j % 60 + 20},5;{'AB'[j % 2]};{'ja' if j % 3 else 'nein'};"
            f"{j % 28 + 1:02}.03.2024;{9 if j % 5 == 0 else j % 4};text {j};{j % 2}"
            for j in range(100)]
    path = csv_file(tmp_path, "\n".join([*rows, ""]).encode("latin-1"),
                    b"id;x;ward;r;on;pain;notes2;y\n")
    text = Domain.draft(path, "y", look=True)
    kinds = {(column.get("name") or "+".join(column["names"])): column
             for column in tomllib.loads(text)["column"]}

    assert ["20.5 to 79.5"] == kinds["x"]["seen"]
    assert ("category", ["A", "B"]) == (kinds["ward"]["kind"], kinds["ward"]["seen"])
    assert ["ja", "nein", 'true = "ja"', 'false = "nein"'] == kinds["r"]["seen"]
    assert ("%d.%m.%Y", ["01.03.2024 to 28.03.2024"]) == (kinds["on"]["format"],
                                                          kinds["on"]["seen"])
    assert "missing_values = [9]" in kinds["pain"]["seen"][1]
    assert "notes2" not in kinds
    assert [0, 1] == tomllib.loads(text)["target"]["seen"]
    with pytest.raises(DomainError) as caught:
        parse(text)
    assert 7 == str(caught.value).count("\nline ")
    assert Csv(";", ".", "cp1252") == looked_at(
        csv_file(tmp_path, "1.5;Ä\n2.5;x\n".encode("latin-1"), b"a;b\n", "b.csv"), Csv(";", ","))


def test_a_look_at_odd_cells(tmp_path):
    """Cells with thousands, limits and words for missing are numbers; near-copies are named.

    Words and limits are `seen`, so that no verb takes them before a code book says so.
    """
    rows = []
    for at in range(200):
        lab = f"{at + 1},{at % 10}" if at < 150 else f"{at - 149}.{at:03},5"
        rows.append([f"P{at // 2}", "k.A." if at % 9 == 0 else lab,
                     "<5" if at % 4 == 0 else f"{at % 37 + 5},0",
                     "-" if at % 2 else str(7 * at % 50), f"{at % 25},{at % 7}",
                     f"{(at % 25) * 1000 + at % 7 * 100}", "k.A." if at % 3 else "ja",
                     "2024-03-04" if at % 5 == 0 else f"{at % 28 + 1:02}.03.2024",
                     f"Meier {at}", f'"a\nb {at % 3}"', str(100_000 + at), str(at % 2)])
    body = "".join(";".join(row) + "\n" for row in rows).encode()
    path = csv_file(tmp_path, body, b"who;NT-proBNP;CRP;half;g;mg;r;on;text2;notes3;serial;y\n")
    text = Domain.draft(path, "y", person="who", classes=[0, 1], look=True)
    document = tomllib.loads(text)
    columns = {name: column for column in document["column"]
               for name in column.get("names", [column.get("name")])}

    assert {"missing": ["-", "k.A."], "censored": ["<"]} == document["table"]["seen"]
    assert (".", True) == tuple(document["table"]["csv"][key]
                                for key in ("thousands", "line_breaks"))
    assert "missing" not in document["table"]["csv"]
    for name in ("NT-proBNP", "CRP", "half", "g", "mg"):
        assert "number" == columns[name]["kind"]
    numbers = columns["mg"]["seen"]
    assert "mg: 0 to 24600, nearly a copy of g: leave one of them out" in numbers
    assert "CRP: 5 to 41" in numbers
    assert [] == [message for message in numbers if "no number" in message]
    assert "a different whole number in each row" in str(columns["serial"]["seen"])
    assert ["%d.%m.%Y", "ISO 8601"] == columns["on"]["format"]
    assert ("category", ["ja"]) == (columns["r"]["kind"], columns["r"]["seen"])
    assert ["a b 0", "a b 1", "a b 2"] == columns["notes3"]["seen"]
    assert "text2" not in columns
    with pytest.raises(DomainError, match=r"\[table\]: seen holds values from the rows") as caught:
        parse(text.replace("private = true\n", ""))
    assert "k.A." not in str(caught.value)


def test_a_look_at_line_breaks_of_rows(tmp_path):
    """Where rows are the unit, a look says what line breaks need, and does not declare them."""
    path = csv_file(tmp_path, b'1,"a\nb"\n2,x\n', b"n,t2\n")
    text = Domain.draft(path, look=True)

    assert "line_breaks = true in csv reads them, and needs" in text
    assert "csv" not in tomllib.loads(text)["table"]


def test_a_look_at_a_frame():
    """Declared types are looked at by their cells, as a file is."""
    frame = pd.DataFrame({"n": np.arange(40) / 2 % 7, "f": [True, False] * 20,
                          "day": pd.date_range("2024-01-01", periods=40), "w": ["A", "B"] * 20,
                          "empty": [None] * 40, "y": [0, 1] * 20})
    document = tomllib.loads(Domain.draft(frame, "y", look=True))

    assert [("n", "number", ["0 to 6.5"]), ("f", "flag", ["0", "1"]),
            ("day", "date", ["2024-01-01 to 2024-02-09"]), ("w", "category", ["A", "B"]),
            ("empty", "category", [])] == [
        (column["name"], column["kind"], column["seen"]) for column in document["column"]]
    assert [0, 1] == document["target"]["seen"]


def test_a_look_at_what_is_known(tmp_path):
    """What a code book or the caller says is not looked at."""
    path = csv_file(tmp_path, b"1,5,yes\n" * 30, b"a,b,y\n")
    book = tmp_path / "book.csv"
    book.write_text("name,kind,low,high\na,number,0,9\n")
    text = Domain.draft(path, "y", classes=["no", "yes"], code_book=book, look=True)
    document = tomllib.loads(text)

    assert ["seen" in column for column in document["column"]] == [False, True]
    assert "seen" not in document["target"]


def test_unknown_names(tmp_path, monkeypatch, cli):
    """A name that says nothing is set aside, with a block to take in; --numbers takes it in."""
    monkeypatch.chdir(tmp_path)
    csv_file(tmp_path, b"", b"age,smoker,married,y\n")
    words = ("domain", "table.csv", "--target", "y", "--classes", "0,1", "--unit", "row")
    _, text, err = cli(*words)
    block = text.partition("also write their kind:\n")[2].replace("# ", "")

    assert ("age",) == parse(text).names
    assert "2 of 4 columns" in err
    assert ("age", "smoker", "married") == parse(text + block).names
    code, text, err = cli(*words, "--numbers")
    assert (0, ("age", "smoker", "married")) == (code, parse(text).names)
    assert "set aside" not in err
    assert ("age",) == parse(Domain.draft("table.csv", "y", classes=[0, 1])).names


@pytest.mark.parametrize(("kind", "values", "expected"), [
    ("flag", "ja|nein", ("nein", "ja")), ("category", "yes|no", ("yes", "no")),
    ("boolean", "Yes|No", ("no", "yes")), ("", "nein|ja", ("nein", "ja"))])
def test_a_label_of_a_code_book(tmp_path, kind, values, expected):
    """A label that a code book calls yes and no keeps its words; nothing has to be filled in."""
    path = csv_file(tmp_path, b"", b"age,y\n")
    book = tmp_path / "book.csv"
    book.write_text(f"name,kind,values\nage,number,\ny,{kind},{values}\n")
    domain = parse(Domain.draft(path, "y", code_book=book))

    assert expected == domain.target.values
    assert [0, 1] == [domain.target.table[word] for word in expected]


def test_columns_for_programs(tmp_path, monkeypatch, cli):
    """--json says why a column is set aside, and nothing of a look that goes to a file."""
    monkeypatch.chdir(tmp_path)
    csv_file(tmp_path, b"7,A,3,1\n8,B,4,0\n", b"patient_id,ward,age,y\n")
    words = ("domain", "table.csv", "--target", "y", "--unit", "row", "--json")
    code, out, _ = cli(*words)
    answer = json.loads(out)

    assert 0 == code
    assert answer["draft"].startswith("# Public facts")
    assert [("patient_id", "", ID), ("age", "number", ""), ("y", "label", "")] == [
        tuple(answer["columns"][at][key] for key in ("name", "kind", "set_aside"))
        for at in (0, 2, 3)]
    assert ("category", True) == (answer["columns"][1]["kind"],
                                  "categories without values" in answer["columns"][1]["set_aside"])
    code, out, _ = cli(*words, "--look", "--out", "look.toml")
    assert (0, {"written": "look.toml"}) == (code, json.loads(out))
    assert 'seen = ["A", "B"]' in (tmp_path / "look.toml").read_text()
