"""Law: with `line_breaks` one row is one record, wherever its cells break lines."""

from __future__ import annotations

import csv
import io
import os
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from data_makers import codes, csv_file
from privsieve.errors import DomainError
from privsieve.public.columns import Category, Label, Number
from privsieve.public.domain import Csv, Domain
from privsieve.rows import csv_file as csv_rows
from privsieve.rows import open_source
from privsieve.rows.csv_file import File

HOW = Csv(";", line_breaks=True)
COLUMNS = [Number("n", 0, 9), Category("text", ["a b", "a", "b"])]
PERSONS = Domain(COLUMNS, Label("y", [0, 1]), person="who", persons=9, rows_per_person=9, csv=HOW)
ROWS = Domain(COLUMNS, Label("y", [0, 1]), neighbours="add-remove", rows=9, csv=HOW)
HEADER = b"n;text;y;who\n"
#: Lines that begin a row by their own text, and lines that never do.
FIRST = [b"1;a;0;p", b'2;"a', b'3;"a;x', b'4;"a""', b'5;"', b"6;a b;1;q", b';"x";"', b'7;a;1;"q']
LATER = [b"", b"b", b'b";1;p', b'";0;q', b'b;c";1', b'"', b"x;y", b"\0", b"\xff\xff", b'""']
rows = st.builds(lambda first, later: b"\n".join([first, *later]), st.sampled_from(FIRST),
                 st.lists(st.sampled_from(LATER), max_size=3))


def read(folder, body, domain=PERSONS, *, native=True):
    """The codes and the label of each row that is somebody's."""
    path = csv_file(folder, body, HEADER)
    with pytest.MonkeyPatch.context() as patch:
        if not native:
            patch.setattr(csv_rows, "serves", lambda _source: False)
        return codes(path, domain, entropy=os.urandom)


def ended(body):
    """Lines with their end."""
    return b"".join(row + b"\n" for row in body)


def test_lines_begin_rows_by_their_own_text():
    """The lines of this test are what their names say."""
    file = File(None, HOW, 0, 4)

    assert [True] * len(FIRST) == [file.begins(line) for line in FIRST]
    assert [False] * len(LATER) == [file.begins(line) for line in LATER]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(rows, max_size=5), rows, st.integers(0, 5))
@example([FIRST[0], FIRST[5]], b'5;"\nb";1;q', 1)
def test_a_row_that_comes_is_one_record(tmp_path_factory, body, row, at):
    """Under add-remove one row more, whole or broken, is one record more; no other one changes."""
    folder = tmp_path_factory.getbasetemp()
    before = read(folder, ended(body), ROWS)
    after = read(folder, ended([*body[:at], row, *body[at:]]), ROWS)
    place = min(at, len(body))

    assert len(body) == len(before)
    assert before == after[:place] + after[place + 1:]
    assert read(folder, ended([row]), ROWS) == after[place:place + 1]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(rows, max_size=4), rows, rows, st.integers(0, 4))
def test_a_row_of_a_person_changes_no_other_person(tmp_path_factory, body, old, new, at):
    """Where persons are protected, another row in the place of one leaves all other rows alone."""
    folder = tmp_path_factory.getbasetemp()
    own = [read(folder, ended([row])) for row in (old, new)]
    both = [read(folder, ended([*body[:at], row, *body[at:]])) for row in (old, new)]
    rest = [read(folder, ended(rows_)) for rows_ in (body[:at], body[at:])]

    assert [[*rest[0], *each, *rest[1]] for each in own] == both


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(rows | st.sampled_from(LATER), max_size=6), st.integers(1, 30))
def test_kernel_and_blocks(tmp_path_factory, body, size):
    """The kernel and Python read the same rows, wherever the file is cut into blocks."""
    folder = tmp_path_factory.getbasetemp()
    expected = read(folder, b"\n".join(body), ROWS, native=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_rows, "_BLOCK", size)

        for native in (False, True):
            assert expected == read(folder, b"\n".join(body), ROWS, native=native)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 9).map(str), st.text('ab\n" ', max_size=6),
                          st.sampled_from("01"), st.sampled_from("pq")), max_size=5),
       st.sampled_from(["\n", "\r\n"]))
def test_what_programs_write(tmp_path_factory, table, end):
    """Cells with line breaks and quotes, written by another program, are read; a break is a blank.

    A frame holds the same cells, and has the same codes.
    """
    folder = tmp_path_factory.getbasetemp()
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=";", lineterminator=end).writerows(table)
    path = csv_file(folder, text.getvalue().encode(), HEADER)
    flat = [[cell.replace("\n", " ") for cell in row] for row in table]
    batches = open_source(path, csv=HOW).raw(["n", "text", "y", "who"], 99)

    assert flat == [list(row) for batch in batches for row in zip(*batch, strict=True)]
    frame = pd.DataFrame(flat, columns=["n", "text", "y", "who"], dtype=str)
    expected = codes(frame, PERSONS, strict=False, entropy=os.urandom)
    assert expected == read(folder, text.getvalue().encode())


def test_rows_that_are_replaced_are_refused():
    """Where the number of rows is public, line breaks are refused with what to write."""
    with pytest.raises(DomainError, match=r"neighbours = \"add-remove\".*Parquet"):
        replace(ROWS, neighbours="replace-one")
    with pytest.raises(DomainError, match="needs a header"):
        Csv(line_breaks=True, header=False)
    assert not open_source([[1]], csv=HOW).rows


def test_without_the_option(tmp_path):
    """Without the option the same file has a record for each line: none of them is a whole row."""
    body = b'5;"a\nb";1;q\n6;a;0;p\n'

    assert [[36408, 0, 1], [43690, 1, 0]] == read(tmp_path, body)
    assert 1 == len(read(tmp_path, body, replace(PERSONS, csv=Csv(";"))))
