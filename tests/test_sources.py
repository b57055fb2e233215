"""Sources: structure is public, comes before the charge, and its errors say the way out."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from data_makers import DOMAIN, csv_file, read
from privsieve.errors import SchemaError
from privsieve.public.columns import Flag, Label
from privsieve.public.domain import Csv, Domain
from privsieve.rows import open_source, resolve
from privsieve.rows import source as limits

HEADER = b"age,dose,score,day,smoker,ward,ill\n"
NAMES = ("age", "dose", "score", "day", "smoker", "ward", "ill")


def shape(X, y=None, *, count_rows=True, csv=None):
    """The structure of a table."""
    return open_source(X, y, csv=csv).shape(count_rows=count_rows)


def refused(X, y=None, *, domain=None, csv=None, strict=True):
    """The text of the error with which a table is refused."""
    with pytest.raises(SchemaError) as caught:
        resolve(domain or DOMAIN, shape(X, y, csv=csv or DOMAIN.csv), strict=strict)
    return str(caught.value)


def test_shapes(tmp_path):
    """Each container states its columns, their physical types, and its rows."""
    columns = {"n": [1, 2], "f": [True, None], "t": ["a", "b"], "x": [0.5, None],
               "d": pd.to_datetime(["2020-01-01", None])}
    frame = pd.DataFrame(columns)
    table = pa.Table.from_pandas(frame)
    pq.write_table(table, tmp_path / "t.parquet")
    types = ("number", "flag", "text", "number", "date")
    expected = (tuple(columns), types, 2, "name")
    for X in (table, pl.from_arrow(table), tmp_path / "t.parquet",
              str(tmp_path / "t.parquet"), table.to_batches()[0], frame.convert_dtypes()):
        shape_now = shape(X)

        assert expected == (shape_now.columns, shape_now.types, shape_now.rows, shape_now.by)
    assert ("number", "text", "text", "number", "date") == shape(frame).types
    assert (tuple(columns), None) == (shape(table.to_reader()).columns,
                                      shape(table.to_reader()).rows)


def test_positions():
    """Arrays have a width and no names."""
    X = np.zeros((4, 3))
    for table in (X, X.tolist(), sparse.csc_array(X), pd.DataFrame(X)):
        shape_now = shape(table, np.zeros(4))

        assert (("x0", "x1", "x2"), 4, "position", True) \
            == (shape_now.columns, shape_now.rows, shape_now.by, shape_now.labelled)


def test_rows_are_private(tmp_path):
    """Where the number of rows is not public, no container says it."""
    file = csv_file(tmp_path, b"\n\n")
    for X in (file, pa.table({"a": [1]}), np.zeros((2, 2)), pd.DataFrame({"a": [1]}),
              pl.DataFrame({"a": [1]})):
        assert shape(X, count_rows=False).rows is None
        assert shape(X).rows is not None


@pytest.mark.parametrize(("body", "rows"), [
    (b"", 0), (b"\n", 1), (b"1", 1), (b"1\n", 1), (b"1\n2", 2), (b"1\n\n", 2), (b'"1\n2"\n', 2),
    (b"x\n" * 1_000_000, 1_000_000)])
def test_count(tmp_path, body, rows):
    """The rows of a CSV file are its physical lines, as many as are read."""
    file = csv_file(tmp_path, body)

    assert rows == shape(file).rows
    if rows < 10:
        assert rows == sum(map(len, read(file)))


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf"])
def test_empty(tmp_path, content):
    """An empty file is refused as empty."""
    assert "is empty" in refused(csv_file(tmp_path, b"", content))


HEADLESS = {
    "numbers": b"50,5,0,2020,1,2,3\n", "a number": b"age,dose,17,day,smoker,ward,ill\n",
    "decimal comma": b'age,"1,5"\n', "empty": b"age,,score\n", "last empty": b"age,dose,\n",
    "duplicate": b"age,dose,age\n", "capitals": b"age,dose,AGE\n", "blank": b"\n",
    "accents": "é,e\u0301\n".encode(), "control": b"age,\x1b[31mdose\n",
    "old mac": b"secret,dose\r1,2\r", "quotes": b'"age,dose\n', "nul": b"age,\0\n",
    "direction": "age,\u202edose\n".encode(),
}


@pytest.mark.parametrize("header", HEADLESS.values(), ids=HEADLESS)
def test_no_header(tmp_path, header):
    """A first line that may be a patient is refused, not echoed, and the way out is named."""
    message = refused(csv_file(tmp_path, b"1\n", header))

    assert "csv.header = false" in message
    assert not any(field in message for field in ("50", "17", "2020", "secret", "AGE", "dose"))


@pytest.mark.parametrize(("start", "word"), [
    (b"\xff\xfea\0", "UTF-8"), (b"\xfe\xff\0a", "UTF-8"), (b"\xff\xfe\0\0a\0\0\0", "UTF-8"),
    (b"gr\xf6\xdfe,dose\n", "csv.encoding")])
def test_encodings(tmp_path, start, word):
    """A file in another encoding is refused with what to do."""
    assert word in refused(csv_file(tmp_path, b"", start))


def test_header_is_not_echoed(tmp_path):
    """What a CSV file's first line says is in no message about columns, which names all."""
    missing = refused(csv_file(tmp_path, b"", b"Miller;1950;age;dose\n"))
    capitals = refused(csv_file(tmp_path, b"", HEADER.replace(b"age", b"Age")))

    assert missing.split("\n") == [
        f"column {name!r} is not in the table; correct its name in the domain, or check "
        "csv.delimiter" for name in NAMES]
    assert capitals == ("column 'age' has other capital letters in the table; write it in the "
                        "domain as in the table")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_names(make):
    """A frame's names equal the domain's, in any order; an absent or extra one is named."""
    columns = {name: ["1"] for name in reversed(NAMES)}
    resolve(DOMAIN, shape(make(columns)))
    extra = refused(make({**columns, "name": ["x"], "id": ["y"]}))
    columns.pop("dose")

    assert extra == ("the table has the column 'name', which the domain does not name (and 1 "
                     "more); drop it or add it to the domain")
    assert "column 'dose' is not in the table; correct its name in the domain, or add the column" \
        == refused(make(columns))


def test_loose(tmp_path):
    """On the command line, and of a file, columns that the domain does not name are never read."""
    domain = Domain([Flag("f")])
    path = csv_file(tmp_path, b"x,1\n", b"secret,f\n")
    bad = pa.array([b"x"], pa.binary())
    table = pa.table({"secret": bad, "f": [True]})

    assert [[[1]]] == [batch.codes.tolist() for batch in read(table, domain, strict=False)]
    assert [[[1]]] == [batch.codes.tolist() for batch in read(path, domain)]


def test_target_and_person():
    """The target and the person have to be there."""
    domain = Domain([Flag("f")], target=Label("y", [0, 1]), person="who", persons=9)

    assert "'y' is not in the table" in refused(pa.table({"f": [1], "who": [1]}), domain=domain)
    assert "'who' is not in the table" in refused(pa.table({"f": [1], "y": [1]}), domain=domain)
    assert "'who' is a column, but an array has no names" in refused([[1]], [1], domain=domain)


def test_target_apart():
    """A target may come apart from the table, as labels or as the name of a column of a frame."""
    domain = Domain([Flag("f")], target=Label("y", [0, 1]))
    tables = [(pd.DataFrame({"f": [1], "z": [1]}), "z"), (pl.DataFrame({"f": [1], "z": [1]}), "z"),
              (pd.DataFrame({"f": [1]}), pd.Series([1])), (pa.table({"f": [1]}), pa.array([1])),
              (pa.table({"f": [1]}), pa.chunked_array([[1], []])), (pl.DataFrame({"f": [1]}), [1]),
              (pd.DataFrame({"f": [1]}), pd.Series(["1"], dtype="category"))]

    assert [[1]] * 7 == [[int(batch.label[0]) for batch in read(X, domain, y)] for X, y in tables]


class Ordered:
    """A class that says it is from Spark."""


Ordered.__module__ = "pyspark.sql.dataframe"

REFUSED = {
    "spark": (Ordered(), None, "not a DataFrame"),
    "iterator": (iter([[1]]), None, "iterator"),
    "dict": ({"a": [1]}, None, "unsupported type"),
    "number": (7, None, "unsupported type"),
    "flat array": (np.zeros(3), None, "1 dimensions"),
    "cube": (np.zeros((1, 1, 1)), None, "3 dimensions"),
    "records": (np.zeros((2, 2), "i4,i4"), None, "dimensions"),
    "flat list": ([1, 2], None, "list of rows"),
    "list of nothing": ([None], None, "list of rows"),
    "ragged list": ([[1], [1, 2]], None, "different lengths"),
    "no column": (np.zeros((3, 0)), None, "no column"),
    "too wide": (sparse.csr_array((1, limits.LARGEST_WIDTH + 1)), None, "at most 100000"),
    "short y": ([[1]], [1, 2], "different numbers of rows"),
    "long frame": (pd.DataFrame({"a": [1]}), [1, 2], "different numbers of rows"),
    "flat y": ([[1]], [[1, 2]], "2 dimensions"),
    "wide y": ([[1]], np.zeros((1, 2)), "2 dimensions"),
    "series": (pl.Series([1]), None, "Arrow stream"),
    "stream, so y": (pa.table({"a": [1]}).to_reader(), [1], "into the stream"),
    "lazy": (pl.LazyFrame({"a": [1]}), None, "collect()"),
    "no such y": (pd.DataFrame({"a": [1]}), "b", "no such column"),
    "y of an array": (np.zeros((1, 1)), "b", "no such column"),
    "duplicates": (pd.DataFrame([[1, 2]], columns=["a", "a"]), None, "same name"),
    "capitals": (pa.table({"a": [1], "A": [1]}), None, "same name"),
    "control": (pa.table({"\x1b": [1]}), None, "control"),
    "mixed names": (pd.DataFrame([[1, 2]], columns=["a", 1]), None, "is not a text"),
    "pickle": ("table.pkl", None, "'.pkl'"),
    "no file": ("nowhere.csv", None, "does not exist"),
    "file and y": ("nowhere.csv", [1], "name the target"),
    "width": (np.zeros((1, 2)), np.zeros(1), "has 2 columns and the domain names 6"),
    "no y": (np.zeros((1, 6)), None, "target y is None"),
}


@pytest.mark.parametrize(("X", "y", "word"), REFUSED.values(), ids=REFUSED)
def test_refused(X, y, word):
    """What is no table, or has no order, is refused in one sentence."""
    assert word in refused(X, y)


def test_directory(tmp_path):
    """A folder without Parquet is no table, and no path is in the message."""
    (tmp_path / "d.csv").mkdir()
    message = refused(tmp_path / "d.csv")

    assert "holds no Parquet file" in message
    assert str(tmp_path) not in message


def test_no_target():
    """A target that the domain does not know is refused."""
    assert "the domain has no target" in refused([[1]], [1], domain=Domain([Flag("f")]))


@pytest.mark.parametrize("cut", [0, 3, 4, 40, 400, -1, -4, -8])
def test_truncated(tmp_path, cut):
    """A truncated Parquet file is refused before a row is read, without a path."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"f": list(range(1000))}), path)
    path.write_bytes(path.read_bytes()[:cut])

    assert "footer cannot be read" in refused(path)
    assert str(tmp_path) not in refused(path)


def test_headerless_names(tmp_path):
    """Without a header columns are called c1, c2, …; a row's width refuses no name."""
    file = csv_file(tmp_path, b"1,2\n", b"")
    how = Csv(header=False)
    domain = Domain([Flag("c2"), Flag("c77")], csv=how)

    assert (("c1", "c2"), "field") == (shape(file, csv=how).columns, shape(file, csv=how).by)
    assert domain == resolve(domain, shape(file, csv=how))
    for name in ("c0", "c02", "age", "c100001", "C1"):
        message = refused(file, domain=Domain([Flag(name)], csv=how), csv=how)

        assert f"column {name!r} cannot be in a file without a header" in message


def test_box():
    """A box takes the width and the names of the table that it meets."""
    box = Domain.box(0, 2, classes=("a", "b"))
    frame = pd.DataFrame({"u": [1.0], "y": ["b"], "v": [2.0]})

    assert ("x0", "x1") == resolve(box, shape(np.zeros((1, 2)), ["a"])).names
    assert ("u", "v") == resolve(box, shape(frame)).names
    assert ("u", "v") == resolve(box, shape(frame[["u", "v"]], ["a"])).names
    assert 2.0 == resolve(box, shape(frame)).columns[1].high


def test_accents(tmp_path):
    """A name with accents is found in either spelling."""
    domain = Domain([Flag("\u00e9")])
    file = csv_file(tmp_path, b"1\n", "e\u0301\n".encode())

    assert [[1]] == [batch.codes[:, 0].tolist() for batch in read(file, domain)]


def test_nothing_is_shown():
    """A source shows nothing of its table, and compares by identity."""
    source = open_source([["secret"]], ["secret"])

    assert re.fullmatch(r"<privsieve\.rows\.source\.Source object at 0x[0-9a-f]+>", repr(source))
    assert source != open_source([["secret"]], ["secret"])


LAZY = """
import sys
import numpy
before = set(sys.modules)
from privsieve.rows import open_source, resolve
from privsieve.rows.batch import batches, demand_readable
from privsieve.public.columns import *
from privsieve.public.domain import *
{0}
loaded = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(sorted(loaded & {{"pandas", "polars", "pyarrow", "scipy", "sklearn"}}))
"""
READ_FILE = """
domain = Domain([Flag("f")])
source = open_source({0!r})
demand_readable(source, domain)
list(batches(source, resolve(domain, source.shape(count_rows=True)), rows=1, entropy=bytes))
"""


@pytest.mark.parametrize(("kind", "expected"), [("csv", "[]"), ("parquet", "['pyarrow']")])
def test_imports(tmp_path, kind, expected):
    """A CSV file, an array or a list needs NumPy alone; Parquet needs pyarrow and no other."""
    path = csv_file(tmp_path, b"1\n", b"f\n")
    if kind == "parquet":
        path = tmp_path / "t.parquet"
        pq.write_table(pa.table({"f": [1]}), path)
    code = READ_FILE.format(str(path)) + "open_source(numpy.zeros((1, 1))); open_source([[1]])"
    process = subprocess.run([sys.executable, "-c", LAZY.format(code)], check=True,
                             capture_output=True, text=True, env={"PYTHONPATH": ":".join(sys.path)})

    assert expected == process.stdout.strip()
