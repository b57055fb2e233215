"""inspect: what the reader silently does, said plainly, for the eyes of the holder only."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_makers import DOMAIN, HOSTILE, codes, csv_file
from privsieve.errors import SchemaError
from privsieve.public.columns import Category, Date, Flag, Label, Number
from privsieve.public.domain import Csv, Domain
from privsieve.rows.batch import batches
from privsieve.rows.inspect import inspect, look

CELLS = [cell for cell in HOSTILE if not isinstance(cell, np.ndarray)]


def one(part, cells):
    """What inspect says of a single column, without the head."""
    return inspect([[cell] for cell in cells], Domain([part])).lines()[2:]


def test_yes():
    """A label that differs in capitals is silent in the reader and plain here."""
    domain = Domain([Flag("f")], target=Label("ill", ["No", "Yes"]))
    labels = ["Yes"] * 5 + ["yes"] * 212 + ["No"] * 3
    found = inspect([[1]] * 220, domain, labels)

    assert [1] * 5 + [0] * 215 == [row[-1] for row in codes([[1]] * 220, domain, y=labels)]
    assert ["ill (label): 212 unlisted (96.4%)", '  "yes" 212 times: the domain lists "Yes"',
            "  -> correct the table, or write its spelling in values: these become the default"] \
        == found.lines()[3:]


def test_numbers():
    """Bounds that are passed, and texts that are no numbers, are counted with their fix."""
    assert [("age (number): 1 missing (14.3%), 2 unparsable (28.6%), 1 below (14.3%), "
             "2 above (28.6%)"), "  3 of 65536 codes in use",
            ("  -> these become low (the least is -7); if the code book allows less, "
            "write its bound"),
            ("  -> these become high (the most is 1234567.5); if the code book allows "
            "more, write its bound"),
            "  -> check csv.decimal and the kind of the column: these become missing"] \
        == one(Number("age", 0, 110), [50, -7, 1234567.5, 111, None, "x", float("inf")])
    assert ["age (number): fine", "  3 of 65536 codes in use"] == one(
        Number("age", 0, 110), [0, 110, "7"])


SODIUM = [136, 138.5, 140, 141, 143.5, 139.2]
CROWDED = ("  -> most values lie within 8 codes of each other, too near to be told apart: write "
           "typical = [centre, spread], or near, or narrower bounds, from a code book and never "
           "from here")


@pytest.mark.parametrize(("part", "cells", "used", "said"), [
    (Number("x", -1e6, 1e6), SODIUM, 1, [CROWDED]), (Number("x"), SODIUM, 6, []),
    (Number("x", typical=[140, 5]), SODIUM, 6, []),
    (Number("x"), [2000, 2000.5, 2001], 1, [CROWDED]),
    (Number("x", near=2000), [2000, 2000.5, 2001], 3, []), (Number("x"), [7, 7, 7], 1, []),
    (Number("x", 0, 1), [0, 0, 0, 1], 2, [])])
def test_codes_in_use(part, cells, used, said):
    """How many codes values have, and a way out where most of them share a few."""
    assert ["x (number): fine", f"  {used} of 65536 codes in use", *said] == one(part, cells)


def test_codes_of_a_long_table_are_counted_together():
    """Pieces of a table add up to what one look would find."""
    part, cells = Number("x"), [7, 9, 7, 7, 1e9, -3]
    first, second = (look(part, cells[at], ".") for at in (slice(2), slice(2, None)))
    whole = look(part, cells, ".")

    assert [each.tolist() for each in whole.codes] == [
        each.tolist() for each in (first + second).codes]
    assert [1, 3, 1, 1] == whole.codes[1].tolist()


def test_dates():
    """Dates are counted like numbers, and their bounds are days that hold them."""
    assert ["d (date): 1 unparsable (25.0%), 1 below (25.0%), 1 above (25.0%)",
            "  3 of 65536 codes in use",
            ("  -> these become low (the least is 2019-06-01); if the code book allows "
            "less, write its bound"),
            ("  -> these become high (the most is 2022-06-02); if the code book allows "
            "more, write its bound"),
            "  -> check format and the kind of the column: these become missing"] \
        == one(Date("d", "2020-01-01", "2021-01-01"),
               ["2020-06-01", "2019-06-01T12:00", "2022-06-01T12:00", "1.6.2020"])


def test_values():
    """Values that the domain does not list are shown with the values to write."""
    assert ["ward (category): 1 missing (16.7%), 3 unlisted (50.0%)", '  "C" 2 times',
            '  "a" 1 times: the domain lists "A"',
            '  -> correct the table, or write its spelling in values: these become "other"',
            '  -> write values = ["A", 3, "C"], or leave it: these become "other"'] \
        == one(Category("ward", ["A", 3]), ["A ", None, "C", "C", "a", "3.0"])
    assert 13 == len(one(Category("ward", ["A"]), [f"w{j}" for j in range(50)]))
    assert '  "maybe" 1 times' == one(Flag("f"), ["yes", 0, "maybe"])[1]


def test_terminal():
    """What a cell holds cannot steer the terminal."""
    said = "".join(one(Category("c", ["A"]), ["\x1b[31m", "\u202ex", "\u009b"]))

    assert said.isascii()
    assert said.isprintable()


def test_lines(tmp_path):
    """Lines of a CSV file that become default records are counted."""
    file = csv_file(tmp_path, b'1\n\n1,2\n"1\n0\n\0\n', b"f\n")
    found = inspect(file, Domain([Flag("f")]))

    assert (6, 4, 4) == (found.rows, found.lost, found.findings[0].missing)
    assert found.lines()[2].startswith("3 lines cannot be read")


def test_open_quotes(tmp_path):
    """Lines that a line break in a cell has cut are counted apart, with the way out."""
    body = b'1,"a\nb\nc"\n0,5" pipe\n1\n"0",x\n'
    domain = Domain([Flag("f"), Category("t", ["x"])])
    for header, how in ((b"f,t\n", Csv()), (b"", Csv(header=False))):
        names = ("f", "t") if header else ("c1", "c2")
        named = Domain([Flag(names[0]), Category(names[1], ["x"])], csv=how)
        found = inspect(csv_file(tmp_path, body, header), named)

        assert (6, 4, 2) == (found.rows, found.lost, found.open_quotes)
        assert found.lines()[2].startswith("2 lines cannot be read")
        assert "2 lines have an open quote and become default records" == found.lines()[3]
        assert "Parquet" in found.lines()[4]
    assert [0, 0] == [inspect([[1, "x"]], domain).open_quotes,
                      inspect(csv_file(tmp_path, b"1,x\n", b"f,t\n"), domain).open_quotes]


def test_wrong_delimiter(tmp_path):
    """A wrong delimiter is found by the header, or without one by the lines that are lost."""
    file = csv_file(tmp_path, b"1;2\n" * 3, b"")
    domain = Domain([Flag("c2")], csv=Csv(header=False))

    assert 3 == inspect(file, domain).lost
    with pytest.raises(SchemaError, match=r"csv\.delimiter"):
        inspect(csv_file(tmp_path, b"1;2\n", b"a;b\n"), Domain([Flag("a"), Flag("b")]))


def test_persons():
    """Persons beside the declared number, the most rows of one, and rows that are nobody's."""
    domain = Domain([Flag("f")], person="who", rows_per_person=2, persons=9)
    frame = pd.DataFrame({"f": [1] * 5, "who": ["a", "b", "a", None, "a"], "other": [1] * 5})
    found = inspect(frame, domain)

    assert (1, 2, 3) == (found.nobody, found.persons, found.most)
    assert found.lines()[2:4] == [
        "2 persons (persons = 9); at most 3 rows of one (rows_per_person = 2)",
        "1 rows without an id are nobody's and weigh nothing: check the column of the person"]


def test_private():
    """What an inspection found is not in its repr, and its lines begin with the warning."""
    found = inspect([["secret"]], Domain([Category("c", ["A"])]))

    assert found.lines()[0].startswith("PRIVATE")
    for shown in (repr(found), str(found), repr(found.findings), str(found.findings[0])):
        assert "PRIVATE" in shown
        assert "secret" not in shown


PARTS = [*DOMAIN.columns, DOMAIN.target]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(CELLS), min_size=1, max_size=6), st.sampled_from(PARTS),
       st.integers(0, 6))
def test_agrees(cells, part, cut):
    """Counts are those of the reader's codes, and two pieces add up to the whole."""
    found = look(part, cells, ".")
    coded = Counter(row[0] for row in codes([[cell] for cell in cells], Domain([column(part)])))
    silent = found.missing + found.unparsable + found.unlisted

    assert found.lines() == (look(part, cells[:cut], ".") + look(part, cells[cut:], ".")).lines()
    if part.kind in ("category", "label"):
        assert coded[len(part.values)] == silent
    if part.name == "score":
        assert coded[65535] == silent
    if part.kind == "number":
        assert coded[0] >= found.below
        assert coded[65534 if part.name == "score" else 65535] >= found.above


def column(part):
    """A label as a category, so that its other values have a code of their own."""
    return Category(part.name, part.values) if isinstance(part, Label) else part


def test_reader_is_not_told(tmp_path):
    """Inspecting changes nothing of what is read."""
    file = csv_file(tmp_path, b"50,5,0,2020-07-01,no,B,No\nx\n")
    before = codes(file)
    inspect(file, DOMAIN)

    assert before == codes(file)
    assert batches.__module__ == "privsieve.rows.batch"
