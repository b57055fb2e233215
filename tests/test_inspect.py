"""inspect: what the reader silently does, said plainly, for the eyes of the holder only."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_makers import DOMAIN, HOSTILE, codes, csv_file
from privsieve.errors import SchemaError
from privsieve.public.columns import Category, Date, Flag, Label, Number
from privsieve.public.domain import Csv, Domain
from privsieve.public.domain_file import parse, to_toml
from privsieve.rows.finding import look, verdict
from privsieve.rows.inspect import fixes, inspect, lines
from privsieve.rows.written import FROM_ROWS

CELLS = [cell for cell in HOSTILE if not isinstance(cell, np.ndarray)]


def make_column(column, cells):
    """What inspect says of a single column, without the head."""
    return inspect([[cell] for cell in cells], Domain([column])).lines()[3:]


def test_yes():
    """A label that differs in capitals is silent in the reader and stops here."""
    domain = Domain([Flag("f")], target=Label("ill", ["No", "Yes"]))
    labels = ["Yes"] * 5 + ["yes"] * 212 + ["No"] * 3
    inspection = inspect([[at % 2] for at in range(220)], domain, labels)

    assert [1] * 5 + [0] * 215 == [row[-1] for row in codes(
        [[at % 2] for at in range(220)], domain, y=labels)]
    assert [
        "STOP: 1 of 2 columns cannot be used as declared", "220 rows",
        ("STOP: ill (label): 212 of 220 labels cannot be read and become the default: the "
         "result would answer another question"),
        "  212 unlisted (96.4%; rows 6, 7, 8 …)", "  3 different values; 2 of 2 levels in use",
        '  "yes" 212 times, first in row 6: the domain lists "Yes"',
        ("  -> correct the table, or write ignore_case = true; otherwise these texts become "
         "the default"),
    ] == inspection.lines()[1:8]


def test_numbers():
    """Bounds that are passed, and texts that are no numbers, are counted with place and fix."""
    assert ["LOOK: age (number): some cells cannot be read, or are outside the bounds",
            ("  1 missing (12.5%), 1 unparsable (12.5%; row 6), 1 below (12.5%; row 2), "
             "2 above (25.0%; rows 3, 4)"),
            ("  6 different values, read as 5 of 65536 steps; 3 of 8 bins in use (the "
             "fullest has 50 %)"),
            '  "x" 1 times, first in row 6',
            ("  -> values below low become low (the smallest is -7, read from the rows); if the "
             "code book allows smaller values, write its bound"),
            ("  -> values above high become high (the largest is 1234567.5, read from the rows); "
             "if the code book allows larger values, write its bound"),
            ("  -> unread cells become missing.  If these texts do not mean missing, "
             "check csv.decimal, csv.thousands and the kind of the column")] \
        == make_column(Number("age", 0, 110), [50, -7, 1234567.5, 111, None, "x", 45, 49])
    assert ["age (number): fine", ("  3 different values, read as 3 of 65536 steps; 2 of 8 bins in "
                                   "use (the fullest has 66 %)")] == make_column(
        Number("age", 0, 110), [0, 110, "7"])


def test_words_for_yes_and_no_are_no_numbers():
    """A column of yes and no that a draft took for numbers is said to be a flag; others are not."""
    flag = ('  -> unread cells become missing, but are words for yes and no (read from the rows); '
            'if the code book agrees, write kind = "flag"')

    assert flag in make_column(Number("smoker"), ["yes", "No", "YES", "no"])
    assert flag not in make_column(Number("smoker"), ["yes", "no", "perhaps", "no"])
    assert flag not in make_column(Number("smoker"), [1, 0, 1, None])


SODIUM = [136, 138.5, 140, 141, 143.5, 139.2]
CROWDED = "  -> most values are within 8 steps of each other"


@pytest.mark.parametrize(("column", "cells", "used", "word"), [
    (Number("x", -1e6, 1e6), SODIUM, 1, "stop"), (Number("x"), SODIUM, 6, "fine"),
    (Number("x", 120, 160), SODIUM, 6, "fine"),
    (Number("x"), [2000, 2000.5, 2001], 1, "stop"),
    (Number("x", near=2000), [2000, 2000.5, 2001], 3, "fine"), (Number("x"), [7, 7, 7], 1, "stop"),
    (Number("x", 0, 1), [0, 0, 0, 1], 2, "fine"), (Number("x", 0, 20_000), SODIUM, 6, "look"),
    (Number("x", 0, 1), SODIUM, 1, "stop")])
def test_codes_in_use(column, cells, used, word):
    """How many codes values have, and a verdict that is right where they share a few."""
    view = look(column, cells, ".")
    crowded = used == 1 and len(set(cells)) > 1

    assert (word, used) == (verdict(view).word, len(view.codes[0]))
    assert crowded == any(line.startswith(CROWDED) for line in lines(view))


@pytest.mark.parametrize(("column", "cells", "word", "message"), [
    (Number("x", 0, 9), [None] * 60, "stop", "all cells are empty"),
    (Number("x", 0, 9), ["a"] * 60, "stop", "no value matches"),
    (Category("x", ["A"]), [f"id{at}" for at in range(60)], "stop", "identifier"),
    (Flag("x"), ["ja", "nein"] * 30, "stop", "no value matches"),
    (Category("x", ["A", "B"]), ["A"] * 60, "stop", "values are equal"),
    (Category("x", ["A", "B"]), ["A", "B", None] * 20, "fine", "fine"),
    (Label("x", ["A", "B"]), ["A"] * 60, "stop", "only one class"),
    (Label("x", ["A", "B", "C"]), ["A", "B"] * 30, "look", "never occurs"),
    (Number("x", 0, 9), range(10, 70), "stop", "outside the bounds"),
    (Number("x", 0, 10_000), range(1000, 1060), "look", "identifier"),
    (Number("x", 0, 10), [at / 7 for at in range(60)], "fine", "fine"),
    (Number("x", 0, 100), [None] * 40 + [3, 50] * 10, "look", "empty"),
    (Date("x", "2020-01-01", "2021-01-01"), ["2020-05-01", "2020-12-01"] * 9, "fine", "fine")])
def test_verdicts(column, cells, word, message):
    """A verdict is right where nothing is left, where all is one, and where all differs."""
    judged = verdict(look(column, list(cells), "."))

    assert word == judged.word
    assert message in judged.reason


def test_one_bad_column_of_many_is_to_be_looked_at():
    """A constant among good columns stops itself alone; the target stops the whole."""
    rows = [[at % 50, at % 7, at % 11, 5] for at in range(100)]
    columns = [Number(name, 0, 60) for name in "abcd"]
    for labels, word in ((["no", "yes"] * 50, "look"), (["no", "Yes"] * 50, "stop")):
        inspection = inspect(rows, Domain(columns, target=Label("y", ["no", "yes"])), labels)

        assert word == inspection.verdict.word
        assert "stop" == verdict(inspection.findings[3]).word
        text = inspection.verdict.reason
        assert "1 of 5 columns" in text or "2 of 5 columns" in text


def test_columns_in_one_bin():
    """27 of 30 columns in one bin of their bounds: the table is not called fine."""
    wide = [Number(f"x{at}", 0, 10_000) for at in range(27)]
    domain = Domain([*wide, *(Number(f"y{at}", 0, 30) for at in range(3))])
    inspection = inspect([[5 + (row * 7 + at) % 23 for at in range(30)] for row in range(100)],
                         domain)

    assert "stop" == inspection.verdict.word
    assert "27 of 30 columns have nearly all values in 1 bin" in inspection.verdict.reason
    assert ["look"] * 27 + ["fine"] * 3 == [verdict(finding).word
                                            for finding in inspection.findings]


def test_codes_for_missing():
    """A number far from all others, or below 0 where no other is, is asked about with its place."""
    ages = [*range(20, 60), 999, 999, 60]
    view = look(Number("age", 0, 110), ages, ".")

    assert {999.0: (2, 41)} == view.marks
    assert "  999 2 times, first in row 41, far from all other values" in lines(view)
    assert any("missing value" in fix for fix in fixes(view))
    assert not any("write its bound" in fix for fix in fixes(view))
    assert "  -9 2 times, first in row 1, far from all other values" in lines(
        look(Number("n", -10, 99), [-9, 3, -9, 4, 0], "."))
    for usual in ([7, 8, 9] * 3, [-9, -8, -3, 4, -9], [88, 89, 99, 99, 97]):
        assert not any("far from" in line for line in lines(look(Number("n", -99, 99), usual, ".")))


def test_many_different_values():
    """Beyond a few thousand the different values are estimated, within six standard deviations."""
    view = look(Number("x"), np.arange(100_000) / 7, ".")

    assert not view.different.exact
    assert abs(view.different.many - 100_000) < 6 * 100_000 / 4096 ** 0.5


def test_values():
    """Values that the domain does not list are shown with their place and a near value."""
    assert ["LOOK: ward (category): some cells cannot be read, or are outside the bounds",
            "  1 missing (14.3%), 3 unlisted (42.9%; rows 3, 4, 5)",
            "  4 different values; 2 of 2 levels in use",
            '  "C" 2 times, first in row 3',
            '  "a" 1 times, first in row 5: the domain lists "A"',
            ('  -> correct the table, or write ignore_case = true; otherwise these texts become '
             '"other"'),
            ('  -> if the code book lists them, add "C" (read from the rows) to values; '
             'otherwise they become "other"')] \
        == make_column(Category("ward", ["A", 3]), ["A ", None, "C", "C", "a", "3.0", "A"])
    assert 15 == len(make_column(Category("ward", ["w"]), [f"w{j % 50}" for j in range(60)]))
    assert '  "maybe" 1 times, first in row 3' == make_column(Flag("f"), ["yes", 0, "maybe"])[3]
    labelled = Domain([Flag("x")], Label("y", ["benign", "malignant"]))
    assert 'the domain lists "malignant"' in "\n".join(inspect(
        [["yes"]] * 2, labelled, ["benign", "malignent"]).lines())


def test_open_quotes(tmp_path):
    """Lines that a line break in a cell has cut are counted apart, with the way out."""
    body = b'1,"a\nb\nc"\n0,5" pipe\n1\n"0",x\n'
    domain = Domain([Flag("f"), Category("t", ["x"])])
    for header, how in ((b"f,t\n", Csv()), (b"", Csv(header=False))):
        names = ("f", "t") if header else ("c1", "c2")
        named = Domain([Flag(names[0]), Category(names[1], ["x"])], csv=how)
        inspection = inspect(csv_file(tmp_path, body, header), named)

        assert (6, 4) == (inspection.rows, inspection.lost)
        assert {"open quote": 2,
                "fewer fields": 2} == {reason.why: reason.many for reason in inspection.broken}
        assert "Parquet" in "".join(inspection.lines())
    assert [(), ()] == [inspect([[1, "x"]], domain).broken,
                        inspect(csv_file(tmp_path, b"1,x\n", b"f,t\n"), domain).broken]


def test_places_are_lines_of_the_file(tmp_path):
    """A place is the line of the file, also beyond the first piece that is read."""
    body = b"".join(b"%d\n" % (at % 50) for at in range(70_000)) + b"x\n"
    inspection = inspect(csv_file(tmp_path, body, b"age\n"), Domain([Number("age", 0, 110)]))

    assert {"unparsable": (70_002,)} == inspection.findings[0].where
    assert (("x", 1, 70_002),) == inspection.findings[0].spellings


GERMAN = """Größe;Crp;Natrium;Aufnahme;Raucher;Wieder
1,72;"3,5";140,1;31.01.2021;ja;Nein
1,68;k.A.;138,2;28.02.2021;nein;Ja
1,81;7,25;999;03.12.2021;ja;ja
1,90;12,0;141,9;04.11.2022;nein;Nein
1,55;8,8;999;05.05.2022;ja;Ja
"""
GERMAN_DOMAIN = [Number("Größe", 0.3, 2.6), Number("Crp", 0, 60), Number("Natrium", 90, 200),
                 Date("Aufnahme", "2021-01-01", "2022-12-31"),
                 Flag("Raucher", true="ja", false="nein")]


def test_a_german_file_at_the_first_look(tmp_path):
    """Semicolon, comma, cp1252, dd.mm.yyyy and codes for missing are all said in one look."""
    path = tmp_path / "klinik.csv"
    path.write_bytes(GERMAN.encode("cp1252").replace(b"\n", b"\r\n"))
    domain = Domain(GERMAN_DOMAIN, target=Label("Wieder", ["Nein", "Ja"]))
    inspection = inspect(path, domain)
    text = "\n".join(inspection.lines())

    assert {"encoding": "cp1252", "delimiter": ";", "decimal": ",", "missing": ("k.A.",)} == {
        remark.key: remark.actual for remark in inspection.remarks}
    assert ('csv = { encoding = "cp1252", delimiter = ";", decimal = ",", missing = ["k.A."] } '
            "(read from the") in text
    assert 'format = "%d.%m.%Y" would read 5 of the unread dates (read from the rows' in text
    assert '"k.A." 1 times, first in line 3' in text
    assert "999 2 times, first in line 4, far from all other values" in text
    assert '"ja" 1 times, first in line 4: the domain lists "Ja"' in text
    assert ("stop", 0, 5) == (inspection.verdict.word, inspection.lost, inspection.rows)
    assert domain == inspection.domain
    assert {"Größe": "fine", "Aufnahme": "stop", "Raucher": "fine", "Crp": "look",
            "Natrium": "look", "Wieder": "stop"} == {
        finding.declared.name: verdict(finding).word for finding in inspection.findings}


@pytest.mark.parametrize("csv", [Csv(";", ",", "cp1252", missing="k.A."), Csv(missing="k.A.")])
def test_a_file_that_is_as_declared(tmp_path, csv):
    """A file that is written as the domain file says gives no remark."""
    body = GERMAN if csv.decimal == "," else GERMAN.replace(",", ".").replace(";", ",")
    path = tmp_path / "klinik.csv"
    path.write_bytes(body.encode(csv.encoding))
    parts = [column if column.name != "Aufnahme" else Date(column.name, column.low, column.high,
                                                           "%d.%m.%Y")
             for column in GERMAN_DOMAIN]

    assert () == inspect(path, Domain(parts, target=Label("Wieder", ["Nein", "Ja"]),
                                      csv=csv)).remarks


def test_other_encodings(tmp_path):
    """UTF-8 that is declared as cp1252 is seen; plain letters are no reason for a remark."""
    path, domain = tmp_path / "t.csv", [Category("größe", ["groß"])]
    path.write_bytes("größe\ngroß\nklein\n".encode())

    assert ["utf-8"] == [remark.actual for remark in inspect(
        path, Domain(domain, csv=Csv(encoding="cp1252"))).remarks]
    path.write_bytes(b"g\n1\n")
    assert () == inspect(path, Domain([Flag("g")], csv=Csv(encoding="cp1252"))).remarks


def test_dates_of_two_ways(tmp_path):
    """Days and months that may be either way round are asked about."""
    file = csv_file(tmp_path, b"01/02/2020\n03/04/2020\n", b"d\n")
    lines = inspect(file, Domain([Date("d", "2020-01-01", "2021-01-01")])).lines()

    assert 'format = "%d/%m/%Y" or "%m/%d/%Y" would read 2 of the unread dates' in "\n".join(lines)


def test_thousands_of_a_german_file(tmp_path):
    """Points between groups of three digits are seen, and read once they are declared."""
    file = csv_file(tmp_path, b"1.032,3;1\n12,5;2\n7.250.100,0;3\n", b"bnp;n\n")
    domain = Domain([Number("bnp", 0, 10**7), Number("n", 0, 9)], csv=Csv(";", ","))
    inspection = inspect(file, domain)

    assert [("thousands", "", ".")] == [tuple(remark) for remark in inspection.remarks]
    assert (12.5, 7250100.0) == (inspection.findings[0].least, inspection.findings[0].largest)
    assert 'thousands = "."' in "\n".join(inspection.lines())


@pytest.mark.parametrize(("cells", "decimal", "line"), [
    (["1.032,3", "12,5", "7.250.100"], ",", 'thousands = "."'),
    (["1.032", "12,5"], ",", 'thousands = "."'), (["1 032,3", "12,5"], ",", 'thousands = " "'),
    (["1'032.3", "12.5"], ".", 'thousands = "\'"'), (["1,032", "12.5"], ".", 'thousands = ","'),
    (["5", "<5", "7"], ".", 'censored = ["<"]'), (["5", "> 1,5", "<=7,5"], ",", '["<", ">"]'),
    (["5", "k.A.", "7"], ".", 'missing = ["k.A."]'), (["5", "-", "7"], ",", 'missing = ["-"]'),
    (["5", "oB", "oB"], ".", 'missing = ["oB"]'),
    (["5", '"', "7"], ".", None), (["5", "Meier", "7"], ".", None), (["5", "A3", "A3"], ".", None),
    (["0.123", "4.567"], ".", None), (["1.234", "0.5"], ".", None), (["5", "<x", "7"], ".", None)])
def test_cells_that_an_option_would_read(tmp_path, cells, decimal, line):
    """Each form of a cell without its option: inspect says what to write, and then reads it."""
    body = "".join(f'{at};"{cell}"\n' if cell != '"' else f"{at};\n" for at, cell in
                   enumerate(cells)).encode()
    path = csv_file(tmp_path, body, b"n;x\n")
    domain = Domain([Number("n", 0, 9), Number("x", 0, 10**7)], csv=Csv(";", decimal))
    proposed = [text for text in inspect(path, domain).lines() if "in [table] write csv" in text]

    assert (line is not None) == bool(proposed)
    if line is None:
        return
    assert line in proposed[0]
    assert FROM_ROWS in proposed[0]
    assert "these texts do not mean missing" not in "\n".join(inspect(path, domain).lines())
    options = proposed[0].partition("write ")[2].partition(" (read")[0]
    text = to_toml(domain).partition("[table.csv]")
    whole = f"{text[0].rstrip()}\n{options}\n[[column]]{text[2].partition('[[column]]')[2]}"
    again = inspect(path, parse(whole))
    assert ((), 0) == (again.remarks, sum(finding.lost for finding in again.findings))


def test_quoted_line_breaks(tmp_path):
    """Line breaks are proposed where rows may be private, and counted as broken lines elsewhere."""
    path = csv_file(tmp_path, b'1,"a\nb",p\n2,x,q\n', b"n,t,who\n")
    columns = [Number("n", 0, 9), Category("t", ["a b", "x"])]
    person = inspect(path, Domain(columns, person="who", persons=9))
    by_row = inspect(path, Domain(columns))

    assert [("line_breaks", False, True)] == [tuple(remark) for remark in person.remarks]
    assert (2, 0, 0) == (person.rows, person.lost, person.nobody)
    assert "write csv = { line_breaks = true }" in "\n".join(person.lines())
    assert ((), 3, 2) == (by_row.remarks, by_row.rows, by_row.lost)
    assert "write line_breaks = true in [table.csv], which needs unit" in "\n".join(by_row.lines())
    assert () == inspect(path, Domain(columns, person="who", persons=9, csv=Csv(
        line_breaks=True))).remarks


def test_dates_in_two_forms():
    """Beside dates that are read, another form is proposed as the second of a list."""
    cells = ["2020-03-01"] * 3 + ["01.02.2020", "03.02.2020", "k.A."]
    for form, fix in ((None, ["ISO 8601", "%d.%m.%Y"]), ("%d.%m.%Y", ["%d.%m.%Y", "ISO 8601"])):
        column = Date("d", "2020-01-01", "2021-01-01", form)
        listed = str(fix).replace("'", '"')

        assert f"format = {listed}" == fixes(look(column, cells, "."))[0].partition(" would")[0]
        assert 1 == look(replace(column, format=fix), cells, ".").unparsable


@pytest.mark.parametrize(("target", "cells", "fix"), [
    (Label("y", ["nein", "ja"]), ["Ja", "NEIN"], "write ignore_case = true"),
    (Label("y", ["nein", "ja"]), ["j", "n"], 'words = [["nein", "n"], ["ja", "j"]]'),
    (Label("y", ["no", "yes"], words=["nein", "ja"]), ["Y"], '["yes", "ja", "Y"]]'),
    (Flag("y", true="ja", false="nein"), ["j", "n"], 'true = ["ja", "j"]'),
    (Label("y", ["nein", "ja"]), ["tot"], 'add "tot" (read from the rows) to values')])
def test_a_label_in_other_words(target, cells, fix):
    """A label in other words than declared stops, and inspect says how to declare them."""
    labels = ["ja", "nein"] * 5 + cells * 3
    domain = Domain([Number("n", 0, 99)], target)
    inspection = inspect([[at] for at in range(len(labels))], domain, labels)

    assert fix in "\n".join(inspection.lines())
    assert "stop" == inspection.verdict.word


def test_wrong_delimiter(tmp_path):
    """A wrong delimiter is found by the header, or without one by the fields that it gives."""
    file = csv_file(tmp_path, b"1;2\n" * 3, b"")
    inspection = inspect(file, Domain([Flag("c2")], csv=Csv(header=False)))
    other = inspect(csv_file(tmp_path, b"1;2\n", b"a;b\n"), Domain([Flag("a"), Flag("b")]))

    assert ([";"], 0) == ([remark.actual for remark in inspection.remarks], inspection.lost)
    assert ([";"], 0, ()) == ([remark.actual for remark in other.remarks], other.lost, other.absent)


def test_columns_that_are_not_there(tmp_path):
    """All columns that the table lacks are said at once, with a near name; the rest is looked at.

    A table that has none of them is refused, as the reader does.
    """
    file = csv_file(tmp_path, b"1,2,3\n", b"Alter,groesse,extra\n")
    domain = Domain([Number("alter", 0, 110), Number("groesse", 0, 9), Flag("gone")],
                    target=Label("y", [0, 1]))
    inspection = inspect(file, domain)

    assert (("alter", "Alter"), ("gone", None), ("y", None)) == inspection.absent
    assert ("Alter", "extra") == inspection.ignored
    assert ["groesse"] == [finding.declared.name for finding in inspection.findings]
    assert "stop" == inspection.verdict.word
    with pytest.raises(SchemaError, match="is not in the table"):
        inspect(file, Domain([Flag("gone")]))


def test_persons():
    """Persons beside the declared number, the most rows of one, and rows that are nobody's."""
    domain = Domain([Flag("f")], person="who", rows_per_person=2, persons=9)
    frame = pd.DataFrame({"f": [1] * 5, "who": ["a", "b", "a", None, "a"], "other": [1] * 5})
    inspection = inspect(frame, domain)

    assert (1, 2, 3) == (inspection.nobody, inspection.persons, inspection.most)
    assert inspection.lines()[4:7] == [
        "2 persons (persons = 9), each with at most 3 rows (rows_per_person = 2)",
        "1 rows are beyond rows_per_person and are left out",
        "1 rows have no person id and are ignored: check the column of person ids"]


def test_private():
    """What an inspection found is not in its repr, and its lines begin with the warning."""
    inspection = inspect([["secret"]], Domain([Category("c", ["A"])]))

    assert inspection.lines()[0].startswith("PRIVATE")
    for text in (repr(inspection), str(inspection), repr(inspection.findings),
                 str(inspection.findings[0])):
        assert "PRIVATE" in text
        assert "secret" not in text
    assert "secret" not in repr(inspection.findings[0].spellings)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(["zq7", "Zq8", "71.25", -71.25, "k.A.", "31.12.1871",
                                 "1871-12-31"]), min_size=1, max_size=6))
def test_what_is_proposed_says_that_it_was_read_from_rows(cells):
    """No value of the table is in a proposal without the words that rows said it."""
    for column in (Number("n", 0, 1), Category("c", ["A"]), Label("y", ["A", "B"]), Flag("f"),
                   Date("d", "2020-01-01", "2021-01-01")):
        for fix in fixes(look(column, cells, ".")):
            holds = any(word in fix for word in ("zq7", "Zq8", "71.25", "k.A.", "1871"))

            assert not holds or FROM_ROWS in fix


PARTS = [*DOMAIN.columns, DOMAIN.target]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(CELLS), min_size=1, max_size=6), st.sampled_from(PARTS),
       st.integers(0, 6))
def test_agrees(cells, own_column, cut):
    """Counts are those of the reader's codes, and two pieces add up to the whole."""
    view = look(own_column, cells, ".")
    coded = Counter(row[0] for row in codes([[cell] for cell in cells],
                                            Domain([column(own_column)])))
    silent = view.missing + view.unparsable + view.unlisted

    cut = min(cut, len(cells))
    assert lines(view) == lines(look(own_column, cells[:cut], ".")
                                + look(own_column, cells[cut:], ".", cut + 1))
    if own_column.kind in ("category", "label"):
        assert coded[len(own_column.values)] == silent
    if own_column.name == "score":
        assert coded[65535] == silent
    if own_column.kind == "number":
        assert coded[0] >= view.below
        assert coded[65534 if own_column.name == "score" else 65535] >= view.above


def column(own_column):
    """A label as a category, so that its other values have a code of their own."""
    return Category(own_column.name, own_column.values) if isinstance(own_column,
                                                                      Label) else own_column


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.binary(max_size=300), st.sampled_from([Csv(), Csv(";", ",", "cp1252"), Csv("\t"),
                                                 Csv(header=False)]))
def test_a_look_is_total(tmp_path_factory, body, csv):
    """Whatever the body holds, a look has a verdict, words and JSON; only the header may refuse."""
    from privsieve.public.canonical import canonical

    names = ("age", "day", "ward", "ill") if csv.header else ("c1", "c2", "c3", "c4")
    domain = Domain([Number(names[0], 0, 110), Date(names[1], "2020-01-01", "2021-01-01"),
                     Category(names[2], ["A", "ä"])], target=Label(names[3], [0, 1]), csv=csv)
    header = csv.delimiter.join(names).encode() + b"\n" if csv.header else b"1"
    inspection = inspect(csv_file(tmp_path_factory.mktemp("t"), body, header), domain)

    assert inspection.verdict.word in ("stop", "look", "fine")
    assert all(line.isprintable() or line.strip() for line in inspection.lines())
    assert canonical(inspection.json())
    assert sum(finding.rows for finding in inspection.findings) == 4 * inspection.rows
