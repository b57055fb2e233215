"""The reader: integers at once, each a function of its own cell, whatever the cell is."""
# ruff: noqa: DTZ001  # tables hold clock times

from __future__ import annotations

import datetime as dt
import io
import tracemalloc
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from data_makers import (
    DOMAIN,
    HOSTILE,
    SECONDS,
    SEMICOLON,
    codes,
    csv_file,
    naive_code,
    read,
)
from privsieve.public.columns import Category, Date, Flag, Number
from privsieve.public.domain import Csv, Domain
from privsieve.rows import csv_file as csv_rows
from privsieve.rows.cells import encoder
from privsieve.rows.csv_file import LARGEST_CELL, LARGEST_LINE

PARTS = [*DOMAIN.columns, DOMAIN.target, Date("d", "2020-01-01", "2021-01-01", format="%d.%m.%Y"),
         Number("t", 0, 110, missing="level"), Number("l", 1e-300, 1e300, "log", "level"),
         Flag("f"), Category("c", [0, 1, 20200601, "nan", "1.5", "\ufffd"])]
DEFAULT = [32768, 32768, 65535, 32768, 1, 3, 1]
GOOD = b"50,5,0,2020-07-01,no,B,No\n"
often = settings(max_examples=200, deadline=None, derandomize=True)


@pytest.mark.parametrize("column", PARTS, ids=lambda column: f"{column.kind}-{column.name}")
def test_naive(column):
    """A hostile cell has the code that the naive reader gives it, alone and among others."""
    encode = encoder(column, ".")
    alone = [encode([cell])[0] for cell in HOSTILE]
    expected = [naive_code(column, cell) for cell in HOSTILE]

    assert expected == alone
    assert expected == encode(HOSTILE).tolist()


cells = st.one_of(
    st.sampled_from([cell for cell in HOSTILE if not isinstance(cell, np.ndarray)]),
    st.floats(), st.integers(), st.text(max_size=8), st.decimals(), st.booleans(),
    st.from_regex(r"[+-]?[0-9]{0,4}[.,]?[0-9]{0,3}(e[+-]?[0-9]{1,3})?", fullmatch=True),
    st.dates().map(dt.date.isoformat), st.datetimes())
columns = st.one_of(st.lists(cells, max_size=12), st.lists(st.floats(), max_size=12),
                    st.lists(st.text("0123456789+-.,eE \t_nax", max_size=6), max_size=12))


@often
@given(columns, st.sampled_from(PARTS), st.sampled_from([".", ","]))
def test_naive_any(column, declared, decimal):
    """Any column has, cell by cell, the codes of the naive reader."""
    assert [naive_code(declared, cell, decimal) for cell in column] \
        == encoder(declared, decimal)(column).tolist()


@often
@given(st.sampled_from(["f8", "f4", "f2", "i8", "u8", "i1", "?", ">f8", ">i4"]),
       st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=8), st.sampled_from(PARTS))
def test_naive_arrays(kind, words, column):
    """An array of any bits has, cell by cell, the codes of the naive reader."""
    bits = np.array(words, dtype=np.uint64).view(np.uint8)
    array = (bits > 127) if kind == "?" else bits.view(kind)

    assert [naive_code(column, cell)
            for cell in array.tolist()] == encoder(column, ".")(array).tolist()


@often
@given(st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(-0.5, 1.5)), min_size=1,
                max_size=8),
       st.sampled_from([*SECONDS, "10s", "7us", "3M", "M", "Y"]))
def test_dates(drawn, unit):
    """A datetime64 of any unit, even far beyond the calendar, has the code of its moment."""
    column = PARTS[3]
    name, count = np.datetime_data(f"M8[{unit}]")
    length = SECONDS.get(name, 86400 * 30) * count
    ticks = [x if isinstance(x, int) else int((18262 + 366 * x) * 86400 / float(length))
             for x in drawn]
    array = np.clip(np.array(ticks, dtype=object), -(2**63), 2**63 - 1).astype("i8").view(
        f"M8[{unit}]")

    assert [naive_code(column, cell) for cell in array] == encoder(column, ".")(array).tolist()


@pytest.fixture(scope="module", params=["native", "python"])
def way(request):
    """CSV lines are read by the kernel, and then by its twin in Python."""
    if request.param == "native":
        if not csv_rows.readable("utf-8"):
            pytest.skip("the native kernels are not built")
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_rows, "serves", lambda _source: False)
        yield


BODY = st.binary(max_size=200).map(lambda raw: raw.replace(b"\n", b""))


@pytest.mark.usefixtures("way")
@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(BODY, min_size=1, max_size=5), st.data())
def test_local(tmp_path_factory, lines, data):
    """Replacing one physical line, by any bytes, changes no code of another record."""
    folder = tmp_path_factory.getbasetemp()
    at = data.draw(st.integers(0, len(lines)))
    other = data.draw(st.one_of(BODY, st.sampled_from(
        [b'"', b'""', b'a"b', b'"50",5,0,2020-07-01,no,B,No', b"\xef\xbb\xbf", b"\xff\xfe"])))
    lines.insert(at, GOOD[:-1])
    before = codes(csv_file(folder, b"\n".join([*lines, b""])))
    changed = [*lines[:at], other, *lines[at + 1:]]
    after = codes(csv_file(folder, b"\n".join([*changed, b""])))

    assert len(lines) == len(before) == len(after)
    assert before[:at] + before[at + 1:] == after[:at] + after[at + 1:]


def table():
    """Columns whose values every container can hold."""
    return {"age": [50.0, -0.0, 200.5, None], "dose": [1.0, 0.5, None, 2.0**60],
            "score": [None, 0.25, -1.0, 1.0],
            "day": [dt.datetime(2020, 2, 1), dt.datetime(2020, 12, 1, 3, 4, 5, 6), None,
                    dt.datetime(1900, 1, 1)],
            "smoker": [True, False, None, True], "ward": ["A", "B ", "C", None],
            "ill": ["Yes", "No", "no", None]}


def frames(folder):
    """The same table in each container that has names."""
    columns = table()
    arrow = pa.table(columns)
    pq.write_table(arrow, folder / "t.parquet", row_group_size=3)
    csv_text = io.StringIO()
    pd.DataFrame(columns).to_csv(csv_text, index=False)
    chunks = pa.concat_tables([arrow.slice(0, 1), arrow.slice(1)])
    coded = arrow.set_column(5, "ward", arrow["ward"].dictionary_encode())
    views = arrow.set_column(5, "ward", arrow["ward"].cast(pa.string_view()))
    zoned = arrow.set_column(3, "day", arrow["day"].cast(pa.timestamp("us", "Asia/Tokyo")))
    plain = pd.DataFrame(columns)
    return {
        "pandas": plain, "pandas objects": plain.astype(object),
        "pandas nullable": plain.convert_dtypes(),
        "pandas arrow": plain.convert_dtypes(dtype_backend="pyarrow"),
        "pandas category": plain.astype({"ward": "category", "ill": "category"}),
        "pandas zoned": plain.assign(day=plain["day"].dt.tz_localize("UTC").dt.tz_convert(
            "Asia/Tokyo")),
        "pandas shuffled columns": plain[list(columns)[::-1]],
        "polars": pl.DataFrame(columns),
        "polars category": pl.DataFrame(columns).with_columns(pl.col("ward").cast(pl.Categorical)),
        "arrow": arrow, "arrow chunks": chunks, "arrow dictionary": coded, "arrow views": views,
        "arrow zoned": zoned, "arrow stream": arrow.to_reader(),
        "arrow batch": arrow.combine_chunks().to_batches()[0],
        "parquet": folder / "t.parquet",
        "csv": csv_file(folder, csv_text.getvalue().encode(), header=b""),
    }


def test_containers(tmp_path):
    """The same values have the same codes in every container, in batches of any size."""
    expected = [list(row) for row in zip(*(
        [naive_code(column, cell) for cell in table()[column.name]]
        for column in [*DOMAIN.columns, DOMAIN.target]), strict=True)]
    codes_read = {name: codes(frame) for name, frame in frames(tmp_path).items()}
    small = {name: codes(frame, batch_rows=1) for name, frame in frames(tmp_path).items()}

    assert dict.fromkeys(codes_read, expected) == codes_read
    assert codes_read == small


def test_arrays():
    """Arrays of any layout, lists and sparse matrices have the same codes, by position."""
    box = Domain.box(-1, 1)
    X = np.random.default_rng(7).integers(-1, 2, (9, 3)) * 0.5
    y = (np.arange(9) > 4).astype(int)
    expected = codes(X, box, y)
    masked = np.ma.masked_equal(X, 5.0)
    others = [np.asfortranarray(X), X.tolist(), list(X), X.astype("f4"), X.astype(object),
              sparse.csr_matrix(X), sparse.coo_array(X), X.astype(">f8"), masked, pd.DataFrame(X)]

    assert [expected] * len(others) == [codes(other, box, y) for other in others]
    assert [expected] * len(others) == [codes(other, box, y, batch_rows=2) for other in others]
    assert [expected] * 6 == [codes(X, box, labels) for labels in (
        y.tolist(), y[:, None], pd.Series(y), pl.Series(y), pa.array(y), y.astype(float))]


def test_masked():
    """A masked cell is missing."""
    X = np.ma.masked_equal([[3.0], [1.0]], 1.0)

    assert [[65535, 0], [32768, 0]] == codes(X, Domain.box(1, 3), [0, 0])


@pytest.mark.parametrize("rows", [0, 1, 3, 4, 9])
@pytest.mark.parametrize("batch_rows", [1, 2, 100])
def test_rows(rows, batch_rows):
    """A public number of rows comes out exactly: default records are added, surplus is not read."""
    frame = pa.table(table())
    expected = (codes(frame) + [DEFAULT] * 9)[:rows]

    assert expected == codes(frame, rows=rows, batch_rows=batch_rows)


def test_positions():
    """Under replace-one the unit of a row is its position, and so is `row`."""
    parts = read(pa.table(table()), rows=6, batch_rows=4)

    assert list(range(6)) == np.concatenate([batch.unit for batch in parts]).tolist()
    assert list(range(6)) == np.concatenate([batch.row for batch in parts]).tolist()


def test_tags():
    """Under add-remove a row's unit is drawn afresh and knows nothing of the row."""
    domain = replace(DOMAIN, neighbours="add-remove", rows=10)
    drawn = [bytes(range(1, 33))]
    [batch] = read(pa.table(table()), domain, entropy=lambda n: drawn.pop()[:n])

    assert np.frombuffer(bytes(range(1, 33)), "<u8").tolist() == batch.unit.tolist()


def test_persons(tmp_path):
    """A person is the cell's text, the same in every container; its unit is a fresh number.

    A row without an id is nobody's: it is left out, keeps its position, and no tag is drawn.
    """
    domain = Domain([Flag("f")], person="who", persons=10)
    people, flags = [7.0, None, 8.0, None, 7.0], [True, True, False, True, True]
    files = [pd.DataFrame({"f": flags, "who": people}), pa.table({"f": flags, "who": people}),
             pl.DataFrame({"who": [7, None, 8, None, 7], "f": flags}),
             csv_file(tmp_path, b"1,7\n1,\n0, 8\n1,9,\n1,7\n", b"f,who\n"),
             csv_file(tmp_path, b'1,7\n1, \t\n0,8\n"1,9\n1,7\n', b"f,who\n", "u.csv")]
    for file in files:
        for size in (1, 100):
            # The second person first draws a number that is taken, and then another.
            drawn = [3, 3, 2**64 - 1]
            parts = read(file, domain, batch_rows=size,
                         entropy=lambda n, drawn=drawn: drawn.pop(0).to_bytes(n, "little"))

            assert [3, 2**64 - 1, 3] == np.concatenate([batch.unit for batch in parts]).tolist()
            assert [0, 2, 4] == np.concatenate([batch.row for batch in parts]).tolist()
            assert [[1], [0], [1]] == np.concatenate([batch.codes for batch in parts]).tolist()
            assert [] == drawn


@pytest.mark.parametrize("kind", [object, "category", "string"])
def test_pandas_null(kind):
    """NA, NaT, NaN and None are missing in a frame."""
    cells = [None, pd.NA, np.nan] + [pd.NaT] * (kind is object)
    frame = pd.DataFrame({name: pd.Series(cells, dtype=kind) for name in table()})

    assert [DEFAULT] * len(frame) == codes(frame)


def test_arrow_types():
    """Decimals, dates and bytes are read; broken UTF-8 is read as far as it can be."""
    broken = pa.StringArray.from_buffers(3, pa.py_buffer(np.array([0, 1, 2, 3], "i4")),
                                         pa.py_buffer(b"A\xffB"))
    odd = pa.nulls(3)
    columns = {"age": pa.array([Decimal("55.00"), None, Decimal(-1)]),
               "dose": pa.array([2**53 + 1, None, 1]), "score": odd,
               "day": pa.array([dt.date(2020, 7, 1), None, None]),
               "smoker": pa.array([b"no", None, b"\xff"]), "ward": broken,
               "ill": pa.nulls(3)}
    domain = replace(DOMAIN, columns=(*DOMAIN.columns[:5], Category("ward", ["A", "\ufffd", "B"])))

    assert [[32768, 65535, 65535, naive_code(PARTS[3], "2020-07-01"), 0, 0, 1],
            [32768, 32768, 65535, 32768, 1, 1, 1],
            [0, naive_code(PARTS[1], 1), 65535, 32768, 1, 2, 1]] == codes(pa.table(columns), domain)


def test_neighbour_cells():
    """A null beside a large integer does not change the large integer's text."""
    large = 2**53 + 1
    domain = Domain([Category("id", [large])])
    tables = [pa.table({"id": [large, None]}), pl.DataFrame({"id": [large, None]}),
              pd.DataFrame({"id": pd.array([large, None], "Int64")}), [[large], [None]]]

    assert [[[0, 0], [1, 0]]] * 4 == [codes(frame, domain) for frame in tables]


BAD_LINES = {
    "blank": b"", "carriage return": b"\r", "short": b"50,5", "long": b"50,5,0,2020-07-01,no,B,No,",
    "open quote": b'"50,5,0,2020-07-01,no,B,No',
    "text after quote": b'"50"x,5,0,2020-07-01,no,B,No',
    "nul": b"50,5,0,2020-07-01,no,B,\0", "other delimiter": b"50;5;0;2020-07-01;no;B;No",
    "huge": GOOD[:-1] + b" " * (LARGEST_LINE + 7 * LARGEST_CELL + 2 - len(GOOD)),
    "several blocks": GOOD[:-1] + b" " * (3 * 2**20 + 17),
}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("line", BAD_LINES.values(), ids=BAD_LINES)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_bad_lines(tmp_path, line, at):
    """A line that has no fields is a default record; the lines around it are what they were."""
    lines = [GOOD[:-1]] * 2
    lines.insert(at, line)
    [good] = codes(csv_file(tmp_path, GOOD))
    codes_read = codes(csv_file(tmp_path, b"\n".join(lines) + b"\n"))

    assert [DEFAULT if j == at else good for j in range(3)] == codes_read


GOOD_LINES = {
    "crlf": GOOD[:-1] + b"\r\n", "no end": GOOD[:-1],
    "quotes": b'"50",5,"0",2020-07-01,"no","B",No\n',
    "spaces": b" 50 ,\t5,0 , 2020-07-01,no ,B ,No\n",
    "capitals": b"50,5,0,2020-07-01,NO,B,No\n", "zeros": b"050.0,5e0,-0.0,20200701,0,B,No\n",
    "zone": b"50,5,0,2020-07-01T02:00+02:00,F,B,No\n",
}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("line", GOOD_LINES.values(), ids=GOOD_LINES)
def test_good_lines(tmp_path, line):
    """The same record may be written in several ways."""
    assert codes(csv_file(tmp_path, GOOD)) == codes(csv_file(tmp_path, line))


@pytest.mark.usefixtures("way")
def test_endless_line(tmp_path):
    """A line without end takes no more memory than a block of the file."""
    file = csv_file(tmp_path, b"5" * (24 * 2**20))
    tracemalloc.start()
    codes_read = codes(file)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert [DEFAULT] == codes_read
    assert peak < 8 * 2**20


@pytest.mark.usefixtures("way")
def test_dialect(tmp_path):
    """Delimiter, decimal comma and encoding are the domain's; a foreign byte stays local."""
    domain = Domain([Number("größe", 0, 4), Category("ort", ["Köln", "Ulm"])], csv=SEMICOLON)
    body = "1,5;Köln\n1.5;Ulm\n".encode("cp1252") + b"1;\x81\n"
    file = csv_file(tmp_path, body, "größe;ort\n".encode("cp1252"))

    assert [[24576, 0, 0], [32768, 1, 0], [16384, 2, 0]] == codes(file, domain)


@pytest.mark.usefixtures("way")
def test_byte_order_mark(tmp_path):
    """A UTF-8 byte order mark is no part of the first name, nor of the first row."""
    bom = b"\xef\xbb\xbf"
    file = csv_file(tmp_path, GOOD, bom + b"age,dose,score,day,smoker,ward,ill\n")
    bare = Domain([Number("c1", 0, 4)], csv=Csv(header=False))

    assert codes(csv_file(tmp_path, GOOD, name="b.csv")) == codes(file)
    assert [[16384, 0]] == codes(csv_file(tmp_path, b"1\n", bom, "c.csv"), bare)


@pytest.mark.usefixtures("way")
def test_no_header(tmp_path):
    """Without a header no row decides the width: each is read by the positions that are named."""
    domain = Domain([Number("c2", 0, 4)], csv=Csv(header=False))
    body = b"x\n0,1\n0,1,5\n\n0,2"

    assert [[32768, 0], [16384, 0], [16384, 0], [32768, 0], [32768, 0]] \
        == codes(csv_file(tmp_path, body, b""), domain)
