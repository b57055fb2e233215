"""Law: no charge without an answer, whatever a table holds and whatever it lies in.

Each table is made of the oddest cells that its container can hold.  A call ends with a release, or
with a refusal before the charge: the ledger never holds a charge that has no release.  After the
charge nothing warns.
"""
# ruff: noqa: DTZ001  # tables hold clock times

from __future__ import annotations

import datetime as dt
import os
import random
import warnings
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from importlib.util import find_spec

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

import privsieve as ps
from data_makers import DOMAIN, HOSTILE, Horror
from privsieve import fit as fitting
from privsieve.errors import PrivsieveError, ReleaseFailed, SchemaError
from privsieve.ledger.ledger import Ledger
from privsieve.rows import open_source
from privsieve.rows.items import items_of

#: Hostile tables of a run; a longer search sets the variable.
TABLES = int(os.environ.get("PRIVSIEVE_HOSTILE", "1000"))
NAMES = ("age", "dose", "score", "day", "smoker", "ward", "ill")
PERSONS = replace(DOMAIN, person="who", persons=9, rows_per_person=2)
COMING = replace(DOMAIN, neighbours="add-remove", rows=9)
#: Arrays have no names, and one kind of column.
BOX = ps.Domain.box(-1, 1, classes=(0, 1))


# --- cells ----------------------------------------------------------------------------------------

def _raising(name, base=object):
    """A class whose method of this name raises."""
    def method(*_):
        raise RuntimeError("a cell of the table")
    return type("Raising", (base,), {name: method})


#: Objects of which one method raises, or says what is not so.
OBJECTS = [
    *(_raising(name)() for name in ("__str__", "__float__", "__eq__", "__hash__", "__bool__",
                                    "__int__", "__index__", "__len__", "__iter__", "__array__",
                                    "__repr__", "__getattribute__", "__lt__", "__format__")),
    *(_raising(name, str)("50") for name in ("__eq__", "__hash__", "__str__", "strip", "encode",
                                             "lower", "__len__")),
    *(_raising(name, float)(0.5) for name in ("__eq__", "__float__", "__lt__", "__int__",
                                              "is_integer", "as_integer_ratio")),
    *(_raising(name, int)(7) for name in ("__eq__", "__int__", "__abs__", "__index__")),
    _raising("utcoffset", dt.datetime)(2020, 6, 1), _raising("toordinal", dt.date)(2020, 6, 1),
    _raising("__len__", list)([1]), _raising("__iter__", dict)(a=1),
    pd.NA, pd.NaT, pd.Interval(0, 1), pd.Period("2020-06"), pd.Timestamp("2020-06-01", tz="UTC"),
    pd.Series([1, 2]), pd.DataFrame({"a": [1]}), pl.Series([1]), pa.scalar(5), pa.array([1]),
    Decimal("-sNaN123"), Decimal("1e999999"), type, len, NotImplemented, ..., range(3),
    memoryview(b"5"), bytearray(b"A"), frozenset(), Exception("x"), np.ma.masked,
    "9" * 5000, "\ud800\udfff", "\0" * 9, "1\n2", '"', "A\r\nB", "\ufeff5", "5\u2028",
]


def cells(rng, n):
    """Cells of a column of objects."""
    pool = rng.choice((HOSTILE, OBJECTS, [*HOSTILE, *OBJECTS], [Horror()], [*HOSTILE, None, 50]))
    return [rng.choice(pool) for _ in range(n)]


def ends(rng, n, kind):
    """Numbers at the ends of their type, in no order."""
    most = np.finfo(kind).max
    return np.array(rng.choices([np.nan, np.inf, -np.inf, most, -most, np.finfo(kind).tiny, 0, .5],
                                k=n), kind)


#: The first columns of each list below hold texts, which any domain takes.
TEXTS = 6


# --- containers -----------------------------------------------------------------------------------

def objects(values):
    """A series of objects as they are: none of them is looked at."""
    array = np.empty(len(values), object)
    for at, value in enumerate(values):
        array[at] = value
    return pd.Series(array, dtype=object)


def _nulls(rng, values):
    return [None if rng.random() < 0.3 else value for value in values]


#: Columns of pandas: (rng, n) -> series.
PANDAS = [
    lambda rng, n: objects(cells(rng, n)),
    lambda rng, n: pd.Series(_nulls(rng, ["A", "\0", ""] * n)[:n], dtype="string"),
    lambda rng, n: pd.Series(_nulls(rng, ["50", "x"] * n)[:n], dtype="string[pyarrow]"),
    lambda rng, n: pd.Series(_nulls(rng, ["A", 5, 0.5, (1, 2)] * n)[:n], dtype="category"),
    lambda _rng, n: pd.Series(pd.Categorical.from_codes([0] * n, pd.Index(
        ["\ud800", "=1+1"], dtype=object))),
    lambda _rng, n: pd.Series(pd.Categorical.from_codes([0] * n, pd.Index(
        [_raising("__str__")(), 5], dtype=object))),
    lambda rng, n: pd.Series(_nulls(rng, [2**63 - 1] * n), dtype="Int64"),
    lambda rng, n: pd.Series(_nulls(rng, [0.5] * n), dtype="Float32"),
    lambda rng, n: pd.Series(_nulls(rng, [True] * n), dtype="boolean"),
    lambda _rng, n: pd.Series(pd.Categorical.from_codes([-1] * n, [1.5, 2.5])),
    lambda _rng, n: pd.Series(pd.Categorical.from_codes([0] * n, [dt.date(2020, 6, 1)])),
    lambda _rng, n: pd.Series(pd.Categorical.from_codes([0] * n, [Decimal("1e99"), "B"])),
    lambda _rng, n: pd.Series(pd.arrays.SparseArray([np.nan, 1.0] * n)[:n]),
    lambda _rng, n: pd.Series(pd.period_range("2020-01", periods=n, freq="M")),
    lambda _rng, n: pd.Series(pd.interval_range(0, n, periods=n)),
    lambda _rng, n: pd.Series([pd.Timedelta(1)] * n), lambda _rng, n: pd.Series([1j] * n),
    lambda rng, n: pd.Series(_nulls(rng, [dt.datetime(2020, 6, 1)] * n), dtype="datetime64[s]"),
    lambda _rng, n: pd.Series(pd.date_range("2020", periods=n, tz="Asia/Tokyo")),
    lambda rng, n: pd.Series(_nulls(rng, [[1]] * n), dtype=pd.ArrowDtype(pa.list_(pa.int8()))),
    lambda rng, n: pd.Series(_nulls(rng, [Decimal(1)] * n),
                             dtype=pd.ArrowDtype(pa.decimal128(38, 3))),
    lambda rng, n: pd.Series(ends(rng, n, rng.choice(("f8", "f4")))),
]


def _broken_text(_rng, n):
    offsets = np.arange(n + 1, dtype=np.int32)
    return pa.StringArray.from_buffers(n, pa.py_buffer(offsets), pa.py_buffer(b"\xff" * n))


#: Columns of Arrow: (rng, n) -> array.
ARROW = [
    _broken_text,
    lambda rng, n: pa.array(_nulls(rng, ["A", "50", "", "\0"] * n)[:n]),
    lambda rng, n: pa.array(_nulls(rng, ["A", None] * n)[:n]).dictionary_encode(),
    lambda _rng, n: pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int8()),
                                                   pa.array([None, "A"])),
    lambda rng, n: pa.array(_nulls(rng, [b"\xff\0"] * n)), lambda _rng, n: pa.nulls(n),
    lambda rng, n: pa.array(_nulls(rng, [[1, None]] * n)),
    lambda rng, n: pa.array(_nulls(rng, [{"a": 1}] * n)),
    lambda rng, n: pa.array(_nulls(rng, [[("a", 1)]] * n), pa.map_(pa.string(), pa.int8())),
    lambda rng, n: pa.array(_nulls(rng, [Decimal("1e30")] * n), pa.decimal256(60, 2)),
    lambda rng, n: pa.array(_nulls(rng, [np.float16(0.5)] * n), pa.float16()),
    lambda rng, n: pa.array(_nulls(rng, [2**63 - 1, -(2**63)] * n)[:n], pa.int64()),
    lambda rng, n: pa.array(_nulls(rng, [2**64 - 1] * n), pa.uint64()),
    lambda rng, n: pa.array(_nulls(rng, [2**62] * n), pa.timestamp("s")),
    lambda rng, n: pa.array(_nulls(rng, [-(2**62)] * n), pa.timestamp("ns", "Asia/Tokyo")),
    lambda rng, n: pa.array(_nulls(rng, [2**31 - 1] * n), pa.date32()),
    lambda rng, n: pa.array(_nulls(rng, [5] * n), pa.time32("s")),
    lambda rng, n: pa.array(_nulls(rng, [5] * n), pa.duration("us")),
    lambda rng, n: pa.array(_nulls(rng, ["A"] * n), pa.large_string()),
    lambda rng, n: pa.array(_nulls(rng, ["a longer text than twelve"] * n), pa.string_view()),
    lambda rng, n: pa.array(_nulls(rng, [True, False] * n)[:n]),
    lambda rng, n: pa.array(_nulls(rng, [float("nan"), float("inf"), 1e308] * n)[:n]),
    lambda _rng, n: pa.RunEndEncodedArray.from_arrays(pa.array([n], pa.int32()),
                                                      pa.array(["A"])),
]

#: Columns of polars: (rng, n) -> series.
POLARS = [
    lambda rng, n: pl.Series(_nulls(rng, [{1, 2}, object()] * n)[:n], dtype=pl.Object),
    lambda rng, n: pl.Series(_nulls(rng, ["A", ""] * n)[:n], dtype=pl.Categorical),
    lambda rng, n: pl.Series(_nulls(rng, ["A"] * n), dtype=pl.Enum(["A", "B"])),
    lambda rng, n: pl.Series(_nulls(rng, [b"\xff"] * n)),
    lambda _rng, n: pl.Series([None] * n),
    lambda rng, n: pl.Series(_nulls(rng, ["50", "\0", "x" * 99] * n)[:n]),
    lambda rng, n: pl.Series(_nulls(rng, [[1]] * n)),
    lambda rng, n: pl.Series(_nulls(rng, [{"a": 1}] * n)),
    lambda rng, n: pl.Series(_nulls(rng, [Decimal("1.5")] * n)),
    lambda rng, n: pl.Series(_nulls(rng, [dt.timedelta(1)] * n)),
    lambda rng, n: pl.Series(_nulls(rng, [dt.time(1)] * n)),
    lambda _rng, n: pl.Series([2**100] * n, dtype=pl.Int128),
    lambda rng, n: pl.Series(_nulls(rng, [float("nan"), float("inf")] * n)[:n]),
    lambda rng, n: pl.Series(_nulls(rng, [dt.date(9999, 12, 31)] * n)),
    lambda rng, n: pl.Series(_nulls(rng, [True] * n)),
]

#: What lines of a file are made of.
PIECES = [b",", b",", b",", b",", b'"', b'""', b"\n", b"\r", b"\r\n", b"\0", b"\xff", b"\xc3",
          b"\xed\xa0\x80", b"\xef\xbb\xbf", b" ", b"\t", b";", b"50", b"1e999", b"-1e-999",
          b"9" * 400, b"nan", b"inf", b"0x1p3", b"A", b"Yes", b"2020-06-01", b"2020-99-99",
          b"0000-00-00", b"yes", b"'", b"\\", b"=1+1", b"\x1b[31m", b"50,5,0,2020-07-01,no,B,No",
          b"\n50,5,0,2020-07-01,no,B,No\n", b"\xe2\x80\xa8", b"\x1a", b"1.032,3"]


def typed(makers, texts, names, rng, n):
    """Columns of random types, most of them among the first, which hold texts."""
    odd = rng.choice((0, 0.1, 0.5))
    return {name: rng.choice(makers if rng.random() < odd else makers[:texts])(rng, n)
            for name in names}


def of_objects(rng, names, n, _folder):
    """A frame of objects."""
    return pd.DataFrame({name: objects(cells(rng, n)) for name in names}), None


def of_pandas(rng, names, n, _folder):
    """A frame of extension types."""
    return pd.DataFrame(typed(PANDAS, TEXTS, names, rng, n)), None


def of_arrow(rng, names, n, _folder):
    """A table or a stream of Arrow."""
    table = pa.table(typed(ARROW, TEXTS, names, rng, n))
    return (table.to_reader(max_chunksize=3) if rng.random() < 0.3 else table), None


def of_polars(rng, names, n, _folder):
    """A frame of polars."""
    return pl.DataFrame(typed(POLARS, TEXTS, names, rng, n)), None


def of_parquet(rng, names, n, folder):
    """A file of Parquet, of the types that one can hold."""
    data = {}
    for name, column in typed(ARROW, TEXTS, names, rng, n).items():
        try:
            pq.write_table(pa.table({name: column}), pa.BufferOutputStream())
            data[name] = column
        except (pa.ArrowException, NotImplementedError):
            data[name] = pa.nulls(n)
    path = folder / "t.parquet"
    pq.write_table(pa.table(data), path, row_group_size=rng.choice((1, 4, 99)))
    return path, None


def of_query(rng, names, n, folder):
    """What DuckDB reads of such a file."""
    path, _ = of_parquet(rng, names, n, folder)
    return f"sql:SELECT * FROM '{path}'", None


def of_csv(rng, names, n, folder):
    """A file of lines of any bytes."""
    body = b"".join(rng.choice(PIECES) for _ in range(n * 12))
    path = folder / "t.csv"
    path.write_bytes(",".join(names).encode() + b"\n" + body + b"\n" * 6)
    return path, None


def of_lists(rng, names, n, _folder):
    """Rows as lists, with the target apart."""
    rows = [cells(rng, len(names) - 1) for _ in range(n)]
    return rows, [None if issubclass(type(cell), (list, tuple)) else cell for cell in cells(rng, n)]


def of_array(rng, names, n, _folder):
    """An array of any type, with any target."""
    shape = n, len(names) - 1
    new_cells = rng.choice((
        lambda: np.full(shape, rng.choice((np.nan, np.inf, 1e308, 0))),
        lambda: ends(rng, n * shape[1], rng.choice(("f8", "f4", "longdouble"))).reshape(shape),
        lambda: objects(cells(rng, n * shape[1])).to_numpy().reshape(shape),
        lambda: np.ma.masked_invalid(np.full(shape, np.nan)),
        lambda: np.full(shape, "\0x"), lambda: np.full(shape, b"\xff"),
        lambda: np.full(shape, 1j), lambda: np.full(shape, 2**64 - 1, np.uint64),
        lambda: np.zeros(shape, "M8[D]"), lambda: np.zeros(shape, "?"),
        lambda: np.zeros(shape, np.longdouble), lambda: np.zeros(shape, "f2")))()
    return new_cells, rng.choice((lambda: cells(rng, n), lambda: np.zeros(n), lambda: objects(
        cells(rng, n)), lambda: pa.nulls(n), lambda: pl.Series([None] * n)))()


def of_sparse(rng, names, n, _folder):
    """A sparse matrix with entries that are not finite, that come twice, or that stand nowhere."""
    width = len(names) - 1
    many = rng.randrange(1, 3 * n)
    data = np.array([rng.choice((np.nan, np.inf, 0.0, 1.0, 1e308)) for _ in range(many)])
    row = np.array([rng.randrange(n) for _ in range(many)])
    column = np.array([rng.randrange(width) for _ in range(many)])
    matrix = sparse.coo_matrix((data, (row, column)), (n, width))
    form = rng.choice(("csr", "csc", "coo", "lil", "dok", "bsr", "dia"))
    matrix = matrix.asformat(form)
    if form == "csr" and rng.random() < 0.3:
        matrix.indices[rng.randrange(len(matrix.indices))] = rng.choice((-1, width, 2**31 - 1))
    return matrix, [rng.choice((0, 1)) for _ in range(n)]


FORMS = {
    "objects": of_objects, "pandas": of_pandas, "arrow": of_arrow, "polars": of_polars,
    "parquet": of_parquet, "csv": of_csv, "lists": of_lists, "array": of_array,
    "sparse": of_sparse, **({"query": of_query} if find_spec("duckdb") else {}),
}
#: Containers that declare no type: no cell of theirs is a reason to refuse.
UNTYPED = ("objects", "csv", "lists")
METHODS = (
    lambda domain: ps.NoisyTopK(2, score="class-counts", domain=domain),
    lambda domain: ps.RuleSieve(2, domain=domain),
    lambda domain: ps.BlockFWELL(2, block=3, domain=domain),
    lambda domain: ps.NoisyHistogram(columns=["ward"], domain=domain),
    lambda domain: ps.OutputFWELL(2, block=3, domain=domain),
)


def called(rng, form, folder, ledgers):
    """What a call ends with, "release" or the refusal, and the ledger that it was given."""
    apart = form in ("lists", "array", "sparse")
    domain = BOX if apart else rng.choice((DOMAIN, PERSONS, COMING))
    names = [*NAMES, "who"] if domain is PERSONS else NAMES
    X, y = FORMS[form](rng, names, rng.choice((6, 9, 12)), folder)
    method = METHODS[0 if domain is BOX else rng.randrange(len(METHODS))]
    ledger = ledgers[domain.unit + domain.neighbours]
    model = method(domain).set_params(epsilon="0.5", ledger=ledger)
    try:
        model.fit(X, y)
    except PrivsieveError as error:
        return error, ledger
    return "release", ledger


def granted(folder):
    """A ledger for each thing that is protected."""
    ledgers = {}
    for protected in ("rowreplace-one", "rowadd-remove", "personreplace-one"):
        ledgers[protected] = Ledger(str(folder / f"{protected}.db"), population="clinic")
        ledgers[protected].grant(epsilon=1000)
    return ledgers


@pytest.fixture
def outcome(monkeypatch):
    """What is warned of after the charge, and switches of filters, which all threads have."""
    heard, sealed = [], fitting.sealed

    def watched(*arguments):
        with warnings.catch_warnings(record=True) as warned, np.errstate(all="warn"):
            warnings.simplefilter("always")
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(warnings.catch_warnings, "__enter__",
                              lambda _self: heard.append("a switch"))
                answer = sealed(*arguments)
        heard.extend(map(str, warned))
        return answer

    monkeypatch.setattr(fitting, "sealed", watched)
    return heard


@pytest.mark.parametrize("form", FORMS)
def test_a_hostile_table_has_an_answer_or_costs_nothing(form, tmp_path, outcome, caplog, capfd):
    """Each call ends with a release of its charge, or with a refusal that is not charged."""
    ledgers, released = granted(tmp_path), Counter()
    for number in range(TABLES // len(FORMS)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            end, ledger = called(random.Random(f"{form} {number}"), form, tmp_path, ledgers)
        released[ledger.path] += end == "release"

        assert not isinstance(end, ReleaseFailed), number
        assert form not in UNTYPED or end == "release", (number, end)
        assert [] == outcome, number
        assert released[ledger.path] == 2 * ledger.spent(), number
    assert ([], "", "") == (caplog.records, *capfd.readouterr())
    assert [()] * 3 == [ledger.orphans() for ledger in ledgers.values()]
    assert TABLES // len(FORMS) // 5 < sum(released.values())


def of_lines(rng, ending, n, folder):
    """A file of baskets or of arrays, damaged in some bytes."""
    path = folder / f"t.{ending}"
    if ending == "npz":
        sparse.save_npz(path, sparse.random(n, 5, 0.5, "csc", random_state=rng.randrange(99)) > 0,
                        compressed=rng.random() < 0.5)
        body = bytearray(path.read_bytes())
        for _ in range(rng.randrange(4)):
            body[rng.randrange(len(body))] = rng.randrange(256)
    else:
        words = [*PIECES, b"1:1", b"0", b"-1", b"2:0", b"qid:3", b"# x", b"99999999:1", b"1:nan"]
        body = b" ".join(rng.choice(words) for _ in range(6 * n))
    path.write_bytes(body)
    return path, None


@pytest.mark.parametrize("form", [*(form for form in FORMS if form != "query"),
                                  "npz", "dat"])
def test_a_hostile_table_has_items_or_is_refused(form, tmp_path):
    """Who publishes columns of such a table has its items, or a refusal in words of ours."""
    ends = Counter()
    for number in range(TABLES // 25):
        rng = random.Random(f"{form} {number}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            X, y = (FORMS[form](rng, NAMES, rng.choice((6, 9)), tmp_path) if form in FORMS
                    else of_lines(rng, form, rng.choice((6, 9)), tmp_path))
            how = {"domain": DOMAIN} if y is None and form in FORMS and rng.random() < 0.5 else {}
            try:
                ends[len(items_of(X, y, **how)) > 0] += 1
            except PrivsieveError:
                ends["refused"] += 1

    assert TABLES // 25 == sum(ends.values())


# --- what such tables have shown ------------------------------------------------------------------

@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
@pytest.mark.parametrize("opened", [open_source, items_of])
def test_an_index_outside_of_a_sparse_matrix_is_refused(form, opened):
    """SciPy would write where the index points: it is refused before anything is made of it."""
    matrix = sparse.eye(6, format="coo").asformat(form)
    (matrix.coords[1] if form == "coo" else matrix.indices)[2] = 10**6

    with pytest.raises(SchemaError, match="damaged"):
        opened(matrix)
