"""Law: items.  Whatever holds a table, its yes-or-no columns are the same."""

import gzip
import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from privsieve.errors import ParameterError, PrivsieveError, SchemaError
from privsieve.public.columns import Category, Date, Flag, Label, Number
from privsieve.public.domain import Csv, Domain
from privsieve.rows import open_source
from privsieve.rows.items import Long, column_of, items_of, read_long
from privsieve.rows.matrix import Items

X = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 0, 0]])
Y = ["no", "yes", "no", "yes"]
FRAME = pd.DataFrame({"age": [17, 18, 64, 70], "ward": ["A", "B", None, "A"],
                      "smoker": ["yes", "no", "no", "yes"], "ill": Y})


def dense(items):
    """Items as rows of zeros and ones."""
    values = np.zeros((items.rows, len(items)), int)
    for j in range(len(items)):
        rows = items.indices[items.indptr[j]:items.indptr[j + 1]]
        assert np.all(np.diff(rows) > 0)
        values[rows, j] = 1
    assert np.int64 == items.indptr.dtype
    assert np.int32 == items.indices.dtype
    return values


def held(items):
    """The rows of each item, by its name."""
    return {name: column.tolist() for name, column in zip(items.names, dense(items).T, strict=True)}


def wide_csv(path):
    """X with its labels as a CSV file."""
    rows = [",".join([*map(str, row), label]) for row, label in zip(X, Y, strict=True)]
    path.write_text("\n".join(["x0,x1,x2,y", *rows]) + "\n")
    return path


def saved(path, matrix):
    """A matrix as SciPy saves it."""
    sparse.save_npz(path, matrix)
    return path


def npz(path, **arrays):
    """A NumPy archive."""
    np.savez(path, **arrays)
    return path


MATRICES = {
    "array": lambda _: X,
    "bool": lambda _: X.astype(bool),
    "float32": lambda _: X.astype(np.float32),
    "rows": lambda _: X.tolist(),
    "csr": lambda _: sparse.csr_matrix(X),
    "csc": lambda _: sparse.csc_array(X),
    "coo": lambda _: sparse.coo_matrix(X),
    "explicit zeros": lambda _: sparse.csr_matrix(
        (np.array([1, 0, 1, 1, 1, 1]), [0, 1, 2, 2, 0, 1], [0, 3, 4, 6, 6])),
    "duplicates": lambda _: sparse.csc_matrix(X + 0.0),
    "pandas": lambda _: pd.DataFrame(X, columns=["x0", "x1", "x2"]),
    "polars": lambda _: pl.DataFrame(X, schema=["x0", "x1", "x2"], orient="row"),
    "arrow": lambda _: pa.table({f"x{j}": X[:, j] for j in range(3)}),
    "npz csr": lambda place: saved(place / "a.npz", sparse.csr_matrix(X)),
    "npz csc": lambda place: saved(place / "a.npz", sparse.csc_matrix(X)),
    "npz coo": lambda place: saved(place / "a.npz", sparse.coo_matrix(X)),
    "npz plain": lambda place: npz(place / "a.npz", data=X),
    "items": lambda _: Items.dense(X),
}


@pytest.mark.parametrize("make", MATRICES.values(), ids=MATRICES)
def test_every_matrix_gives_the_same_items(make, tmp_path):
    """Arrays, sparse matrices, frames and archives of one table give one answer."""
    items, y, classes = items_of(make(tmp_path), Y)

    assert X.tolist() == dense(items).tolist()
    assert ("x0", "x1", "x2") == items.names == items.origin
    assert ([0, 1, 0, 1], ("no", "yes"), np.int32) == (y.tolist(), classes, y.dtype)


def test_files_with_a_target(tmp_path):
    """CSV and Parquet files name their target; basket and npz files hold theirs."""
    csv = wide_csv(tmp_path / "t.csv")
    table = pa.table({**{f"x{j}": X[:, j] for j in range(3)}, "y": Y})
    pq.write_table(table, tmp_path / "t.parquet")
    npz(tmp_path / "t.npz", X=X, y=np.array([0, 1, 0, 1]))
    expected = {"x0": [1, 0, 1, 0], "x1": [0, 0, 1, 0], "x2": [1, 1, 0, 0]}

    for path in (csv, tmp_path / "t.parquet"):
        items, y, classes = items_of(path, "y")
        assert (expected, [0, 1, 0, 1], ("no", "yes")) == (held(items), y.tolist(), classes)
    items, y, classes = items_of(tmp_path / "t.npz")
    assert (expected, [0, 1, 0, 1], (0, 1)) == (held(items), y.tolist(), classes)


@pytest.mark.parametrize(("label", "text", "y"), [
    (None, "7 3\n\n3\n7 7\n", [0, 0, 0, 0]),
    ("last", "7 3 0\n1\n3 0\n7 7 1\n", [0, 1, 0, 1]),
    ("first", "0 7 3\n1\n0 3\n1 7 7\n", [0, 1, 0, 1]),
])
def test_baskets(label, text, y, tmp_path):
    """A line of numbers is a row; an empty line too; a number that comes twice counts once."""
    (tmp_path / "t.dat").write_text(text)
    items, actual_items, classes = items_of(tmp_path / "t.dat", label)

    assert {"3": [1, 0, 1, 0], "7": [1, 0, 0, 1]} == held(items)
    assert (y, 2 if label else 1) == (actual_items.tolist(), len(classes))


def test_logs(tmp_path):
    """Users are rows in the order of their names, items columns, and a line twice counts once."""
    log = pd.DataFrame({"who": [2, 1, 2, 2], "film": ["B", "A", "A", "B"], "seen": [1, 1, 0, 1]})
    items, _y, classes = read_long(log, Long("who", "film"))
    assert ({"A": [1, 1], "B": [0, 1]}, (None,)) == (held(items), classes)
    items, _y, _classes = read_long(log, Long("who", "film", "seen"))
    assert {"A": [1, 0], "B": [0, 1]} == held(items)
    people = pd.DataFrame({"who": [3, 1, 2], "ill": ["no", "yes", "yes"]})
    (tmp_path / "log.csv").write_text("who,film\n2,B\n1,A\n2,A\n")
    people.to_csv(tmp_path / "people.csv", index=False)
    items, y, classes = read_long(tmp_path / "log.csv", Long("who", "film",
                                  people=tmp_path / "people.csv", target="ill"))

    assert {"A": [1, 1, 0], "B": [0, 1, 0]} == held(items)
    assert ([1, 1, 0], ("no", "yes")) == (y.tolist(), classes)


def test_logs_refuse_what_they_do_not_know():
    """An unknown user or item, an odd value, a user twice or a missing cell is no row."""
    log = pd.DataFrame({"who": [2, 1], "film": ["B", "A"], "seen": [1, 2]})
    people = pd.DataFrame({"who": [1, 3]})
    for call, text in (
        (lambda: read_long(log, Long("who", "film", people=people)),
         "unknown user; add it to the table of people"),
        (lambda: read_long(log, Long("who", "film"), items=["A"]),
         "unknown item; add it to the list of items"),
        (lambda: read_long(log, Long("who", "film", "seen")), "values other than 0 and 1"),
        (lambda: read_long(log, Long("who", "book")), "'book' is not in the log"),
        (lambda: read_long(log, Long("who", "film",
                                     people=pd.DataFrame({"who": [1, 2, 2]}))), "or repeated"),
        (lambda: read_long(pd.DataFrame({"who": ["a", None], "film": ["x", "y"]}),
                           Long("who", "film")), "lines without 'who'"),
    ):
        with pytest.raises(SchemaError, match=text):
            call()


def test_mixed_frames():
    """Texts become levels, numbers bins by quantiles, yes and no one item; origins are kept."""
    items, y, classes = items_of(FRAME, "ill", cuts=2, k=1)

    assert {"age<64": [1, 1, 0, 0], "age>=64": [0, 0, 1, 1], "ward=A": [1, 0, 0, 1],
            "ward=B": [0, 1, 0, 0], "smoker": [1, 0, 0, 1]} == held(items)
    assert ("age", "age", "ward", "ward", "smoker") == items.origin
    assert ([0, 1, 0, 1], ("no", "yes")) == (y.tolist(), classes)


def test_cuts_are_as_asked():
    """Cut points, listed levels, bins, a missing level, some columns."""
    how = {"age": [18, 65], "ward": ["B"]}
    assert {"age<18": [1, 0, 0, 0], "age=18..65": [0, 1, 1, 0], "age>=65": [0, 0, 0, 1],
            "ward=B": [0, 1, 0, 0]} == held(items_of(FRAME, columns=how)[0])
    names = items_of(FRAME, "ill", columns={"age": 2, ...: None}, missing="level", k=2)[0].names
    assert ("age<60", "age>=60", "age=missing", "ward=A", "ward=B", "ward=missing", "smoker",
            "smoker=missing") == names
    assert ("smoker",) == items_of(FRAME, columns=["smoker"])[0].names
    assert ("smoker",) == items_of(FRAME, "ill", columns={"age": False, "ward": False,
                                                          ...: None})[0].names
    assert ("x0", "x2") == items_of(X, columns={"x1": False, ...: None})[0].names
    assert ("x2", "x0") == items_of(X, columns=["x2", "x0"])[0].names


def test_domains_say_what_columns_are(tmp_path):
    """A domain's categories are its values, its dates are read by their form, its CSV by its."""
    (tmp_path / "t.csv").write_text("w;d;f;ill\n1;31.01.2020;yes;0\n2;01.03.2020;no;1\n"
                                    "3;02.03.2020;no;1\n")
    domain = Domain([Category("w", [1, 2]), Date("d", "2019-01-01", "2021-01-01", "%d.%m.%Y"),
                     Flag("f")], target=Label("ill", [0, 1]), csv=Csv(";"))
    items, y, _ = items_of(tmp_path / "t.csv", domain=domain, cuts=2, k=1)

    assert {"w=1": [1, 0, 0], "w=2": [0, 1, 0], "d<2020-03-01": [1, 0, 0],
            "d>=2020-03-01": [0, 1, 1], "f": [1, 0, 0]} == held(items)
    assert [0, 1, 1] == y.tolist()
    assert {"d<2020-02-01": [1, 0, 0], "d>=2020-02-01": [0, 1, 1]} == held(
        items_of(pd.DataFrame({"d": pd.to_datetime(["2020-01-31", "2020-03-01", "2020-03-02"])}),
                 columns={"d": ["2020-02-01"]})[0])
    assert ("age<50", "age>=50") == items_of(
        pd.DataFrame({"age": [1, 50, 60]}), domain=Domain([Number("age", 0, 110)]), cuts=2,
        k=1)[0].names


def test_large_and_odd_tables():
    """Empty rows and columns, duplicated rows and columns, and a million columns are tables."""
    items, _, _ = items_of(np.array([[0, 1, 1], [0, 0, 0], [0, 1, 1]]))
    assert ([0, 0, 2, 4], 3) == (items.indptr.tolist(), items.rows)
    wide = sparse.csc_matrix((np.ones(2), ([0, 1], [5, 999_999])), shape=(2, 1_000_000))
    assert (1_000_000, 2) == (len(items_of(wide)[0]), len(items_of(wide)[0].indices))


CSV = "a,b,y\n1,0,1\n0,1,0\n"
BAD = [
    (np.array([[2, 0]]), {"columns": {"x0": ["a"], "x9": 2}}, "'x9' is not in the table"),
    (sparse.csr_matrix([[2, 0]]), {}, "values other than 0 and 1"),
    (sparse.csr_matrix([[np.nan, 0]]), {}, "values other than 0 and 1"),
    (pd.DataFrame({"id": [f"p{j}" for j in range(60)]}), {}, "'id' differs in almost every row"),
    (pd.DataFrame({"id": range(60)}), {}, "'id' differs in almost every row"),
    (pd.DataFrame({"a": ["x", "3"]}), {"columns": {"a": 3}}, "cells are not numbers"),
    (pd.DataFrame({"a": [1, 2]}), {"y": "b"}, "'b' is not in the table"),
    (pd.DataFrame({"a": [1, 2]}), {"y": [1, None]}, "rows without a label"),
    (pd.DataFrame({"a": [1, 2]}), {"y": [1]}, "different numbers of rows"),
    (X, {"y": [1]}, "different numbers of rows"),
    (X, {"y": "x0"}, "an array has no names"),
    (X, {"columns": {"x0": 3}}, "its columns cannot be cut"),
    (X, {"columns": ["x9"]}, "'x9' is not in the table"),
    (X, {"columns": {"x9": False, ...: None}}, "'x9', which you leave out"),
    (FRAME, {"columns": {"x9": False, ...: None}}, "'x9', which you leave out"),
    (FRAME, {"columns": {"age": object()}}, "write None"),
    (FRAME, {"columns": {"age": 1}}, "has 1 bins"),
    (FRAME, {"columns": []}, "no column is left"),
    (pd.DataFrame({"a": [f"t{j % 2000}" for j in range(9000)]}), {}, "more than 1000 levels"),
    (pd.DataFrame({"a": [1, 2]}), {"y": ["x"] * 0}, "different numbers of rows"),
    (X, {"missing": "zero"}, "missing is 'zero'"),
    (X, {"cuts": 1}, "cuts is 1"),
    (pd.DataFrame({"a": [1, 2]}), {"columns": {"a": [2, 1]}}, "in increasing order"),
    (pd.DataFrame({"a": ["x\u202ey", "z"]}), {}, "column 'a' has a level that is too long"),
    (pd.DataFrame({"a": ["A=1", "B"], "a=A": ["1", "2"]}), {"columns": {"a": None, "a=A": ["1"]}},
     "the same name"),
    (open_source(X), {"y": Y}, "y cannot be separate"),
]


@pytest.mark.parametrize(("table", "options", "text"), BAD)
def test_refusals(table, options, text):
    """What cannot be made into items is refused in words."""
    with pytest.raises(PrivsieveError, match=text):
        items_of(table, **options)


FILES = [
    ("t.dat", b"1 2\n3 secret\n", "line 2 of the file"),
    ("t.dat", b"", "empty"),
    ("t.dat", "1 2\n3 \u0661\n".encode(), "plain text"),
    ("t.npz", b"not an archive", "cannot be read"),
    ("t.csv", b"", "empty"),
    ("t.parquet", b"PAR1xxxx", "truncated"),
    ("t.xlsx", b"", "ends in"),
]


@pytest.mark.parametrize(("name", "body", "text"), FILES)
def test_bad_files(name, body, text, tmp_path):
    """A file that is not what its name says is refused, and no cell is quoted."""
    (tmp_path / name).write_bytes(body)
    with pytest.raises(PrivsieveError, match=text) as caught:
        items_of(tmp_path / name)

    assert "secret" not in str(caught.value)


def test_bad_archives(tmp_path):
    """Objects are never loaded from an archive, and a false shape is found."""
    objects = npz(tmp_path / "o.npz", X=np.array([[object()]]))
    two = npz(tmp_path / "t.npz", a=X, b=X)
    other = npz(tmp_path / "v.npz", X=X * 2)
    whole = {"format": b"csr", "shape": [2, 2], "data": [1], "indices": [5], "indptr": [0, 1, 1]}
    outside = npz(tmp_path / "s.npz", **{name: np.array(a) for name, a in whole.items()})
    lil = npz(tmp_path / "l.npz", format=np.array(b"lil"), shape=np.array([1, 1]))
    for path, text in ((objects, "holds objects"), (two, "exactly one"), (other, "values other"),
                       (outside, "cannot be read"), (lil, "unknown format"),
                       (tmp_path / "none.npz", "does not exist")):
        with pytest.raises(SchemaError, match=text):
            items_of(path)
    with pytest.raises(SchemaError, match="no array 'z'"):
        items_of(npz(tmp_path / "z.npz", X=X), "z")
    with pytest.raises(ParameterError, match="a domain describes cells"):
        items_of(sparse.csr_matrix(X), domain=Domain.box(0, 1))


def test_labels_in_a_file_of_their_own(tmp_path):
    """A text file gives a label a line, a table its column."""
    (tmp_path / "y.txt").write_text("no\nyes\n")
    FRAME.to_parquet(tmp_path / "y.parquet")

    table = wide_csv(tmp_path / "t.csv")
    for label in (["b", "a", "b", "a"], np.array([1, 0, 1, 0])):
        assert [1, 0, 1, 0] == items_of(table, label, columns=["x0"])[1].tolist()
    for label in (["b", "a", "b"], ["b", "a", "b", "a", "a"]):
        with pytest.raises(SchemaError, match="different numbers of rows"):
            items_of(table, label)
    assert ["no", "yes"] == column_of(tmp_path / "y.txt", None)
    assert Y == column_of(tmp_path / "y.parquet", "ill")
    with pytest.raises(SchemaError, match="name its column"):
        column_of(tmp_path / "y.parquet", None)
    with pytest.raises(SchemaError, match="cannot be read as text"):
        column_of(tmp_path / "none.txt", None)
    with pytest.raises(SchemaError, match="not a file"):  # and no wait for its end
        column_of(Path(os.devnull), None)


def test_damaged_parquet_is_refused_in_words(tmp_path):
    """A file whose body is damaged is refused without the words of the library."""
    frame = pd.DataFrame({"a": np.arange(2000) % 7, "y": np.arange(2000) % 2})
    frame.to_parquet(tmp_path / "t.parquet", compression="gzip")
    data = bytearray((tmp_path / "t.parquet").read_bytes())
    at = data.index(gzip.compress(b"")[:2])
    data[at + 10:at + 40] = bytes(30)
    (tmp_path / "t.parquet").write_bytes(data)

    with pytest.raises(SchemaError, match="cannot be read to its end") as caught:
        items_of(tmp_path / "t.parquet", "y")
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert Path(tmp_path).name not in str(caught.value)
