"""Law: the kernel that codes columns of Arrow gives the answers of the rules, cell by cell."""

from __future__ import annotations

import math
from itertools import chain
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_makers import read
from privsieve.kernels import contract
from privsieve.public.columns import DAY, Category, Date, Flag, Label, Number
from privsieve.public.domain import Csv, Domain
from privsieve.rows import arrow as reading
from privsieve.rows.cells import encoder
from privsieve.rows.room import Room
from privsieve.rows.source import open_source, reads

needs_kernel = pytest.mark.skipif(contract.extension is None,
                                  reason="the native kernels are not built")

INTS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(),
        pa.uint64()]
FLOATS = [pa.float16(), pa.float32(), pa.float64()]
DATES = [pa.date32(), pa.date64(), *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
         pa.timestamp("us", "UTC")]
TEXTS = [pa.string(), pa.large_string(), pa.binary(), pa.string_view(),
         pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.uint32(), pa.large_string())]
OTHERS = [pa.bool_(), pa.decimal128(20, 2), pa.dictionary(pa.int16(), pa.int64()),
          pa.dictionary(pa.uint8(), pa.float64()), pa.null()]
PARTS = [
    Number("x", 0, 110), Number("x", -1e300, 1e300), Number("x", 0.1, 3, missing="level"),
    Number("x", 1, 100, "log"), Number("x", 1, 100, "log", "level"), Number("x"),
    Number("x", near=2000.5, missing="level"), Number("x", -5, 5, near=0.1),
    Number("x", 2, 9, near=2), Number("x", 0, 110, missing_values=[99, 0, 2**53]),
    Number("x", missing_values=[-1]), Category("x", [0, 1, 2, -3]), Category("x", [7]),
    Category("x", [-2**63, 2**63 - 1, 2**64 - 1, 2**53 + 1, 2**53]), Category("x", [True, False]),
    Category("x", [10**30, 3]), Category("x", ["A", "b", "3"]), Flag("x"),
    Flag("x", default=True), Flag("x", true=["2", "inf", "1.5"], false="-1"),
    Date("x", "2020-01-01", "2021-01-01"),
    Date("x", "1900-01-01", "2100-01-01T12:00", missing="level"),
    Date("x", "1969-12-31T23:59:59.999990", "1970-01-01T00:00:00.000010"),
    Date("x", "2020-01-01", "2021-01-01", "%Y%m%d"),
    Date("x", "2020-01-01", "2021-01-01", ["%Y%m%d", "ISO 8601"]), Label("x", [1, 0, 5], default=5)]
EDGES = [0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, 1e308, 110.0, math.nextafter(110, 0),
         99.0, 1.5, 2.0**53, 2.0**63, -(2.0**63), 1e30, 3.0, 1.0, 2.0, 6e-8, 65504.0]
WORDS = ["A", "b", " 3 ", "3.0", "", "2020-06-01", "1e2", "yes", "TRUE", "inf", "20200601", "\xe4"]


def cells(kind):
    """Cells that a type can hold, its edges among them."""
    if pa.types.is_dictionary(kind):
        return cells(kind.value_type)
    if pa.types.is_integer(kind):
        bits, signed = kind.bit_width, pa.types.is_signed_integer(kind)
        low, high = (-2**(bits - 1), 2**(bits - 1) - 1) if signed else (0, 2**bits - 1)
        return st.integers(low, high) | st.sampled_from(
            [low, high, *(x for x in (-3, 0, 1, 2, 7, 99, 2**53, 2**53 + 1) if low <= x <= high)])
    if pa.types.is_floating(kind):
        return (st.floats(width=kind.bit_width) | st.sampled_from(EDGES)
                | st.floats(-200, 200, width=kind.bit_width))
    if pa.types.is_boolean(kind):
        return st.booleans()
    if pa.types.is_decimal(kind):
        return st.decimals(-10**6, 10**6, places=2)
    if pa.types.is_null(kind):
        return st.none()
    return st.sampled_from(WORDS)


def make_array(kind, values):
    """An array of a type; moments are made of their ticks."""
    if kind in DATES:
        return pa.array(values, pa.int32() if kind == pa.date32() else pa.int64()).view(kind)
    if kind == pa.float16():
        with np.errstate(all="ignore"):
            return pa.array([None if x is None else np.float16(x) for x in values], kind)
    if kind == pa.float32():
        with np.errstate(all="ignore"):
            return pa.array([None if x is None else float(np.float32(x)) for x in values], kind)
    if pa.types.is_dictionary(kind):
        return make_array(kind.value_type, values).dictionary_encode().cast(kind)
    return pa.array(values, kind)


@st.composite
def columns(draw):
    """A part and an array that it reads: with nulls or without, whole or a slice."""
    kind = draw(st.sampled_from([*INTS, *FLOATS, *DATES, *TEXTS, *OTHERS]))
    column = draw(st.sampled_from([column for column in PARTS
                                   if reads(column, reading.type_of_arrow(kind))]))
    if kind in DATES:
        word = 31 if kind == pa.date32() else 63
        each = st.integers(-2**word, 2**word - 1) | st.integers(-20_000, 20_000) | st.integers(
            18000, 19000).map(lambda day: _ticks(kind, day))
    else:
        each = cells(kind)
    values = draw(st.lists(st.none() | each if draw(st.booleans()) else each, max_size=40))
    array = make_array(kind, values)
    first = draw(st.integers(0, len(array)))
    return column, array.slice(first, draw(st.integers(0, len(array) - first)))


def _ticks(kind, day):
    if kind == pa.date32():
        return day
    unit = "ms" if kind == pa.date64() else kind.unit
    return day * {"s": 86_400, "ms": 86_400_000, "us": DAY, "ns": 1000 * DAY}[unit]


def by_kernel(column, array, most=7):
    """The codes of one column, as they are read of a table."""
    domain = (Domain([Number("z", 0, 1)], target=column) if isinstance(column, Label)
              else Domain([column]))
    table = pa.table({"x": array, "z": pa.nulls(len(array), pa.float64())})
    source = open_source(table)
    names = ["z", "x"] if isinstance(column, Label) else ["x"]
    return [int(code) for codes, _ in reading.pieces(source, domain, (names, most), Room(jobs=2))
            for code in codes[-1]]


def naive(column, array):
    """The same by a loop over cells: each is looked at alone."""
    encode = encoder(column)
    if array.type not in DATES:
        return [int(encode([cell])[0]) for cell in array.to_pylist()]
    low, high = column.bounds
    used, missing = (65535, 65535) if column.missing_level else (65536, 32768)
    step = used / (high - low)
    ticks = array.view(pa.int32() if array.type == pa.date32() else pa.int64()).to_pylist()
    units = {"s": (10**6, 1), "ms": (1000, 1), "us": (1, 1), "ns": (1, 1000)}
    of, parts = ((DAY, 1) if array.type == pa.date32() else
                 units["ms" if array.type == pa.date64() else array.type.unit])
    codes = []
    for tick in ticks:
        if tick in (None, -2**63):
            codes.append(missing)
            continue
        micro = min(max(tick, -(2**62 // of)), 2**62 // of) * of // parts
        codes.append(min(max(math.floor((micro / DAY - low) * step), 0), used - 1))
    return codes


@needs_kernel
@settings(max_examples=500, deadline=None)
@given(columns())
def test_codes_are_those_of_the_rules(drawn):
    """The kernel, the rules on whole columns, and a loop over cells give the same codes."""
    column, array = drawn
    expected = naive(column, array)

    assert expected == encoder(column)(reading.column(array)).tolist()
    assert expected == by_kernel(column, array)


@needs_kernel
@pytest.mark.parametrize("kind", [*INTS, *FLOATS, *DATES, pa.bool_()], ids=str)
def test_long_columns_have_their_own_nulls(kind):
    """Of a slice with few nulls, wherever it begins among the bits of the whole."""
    rng = np.random.default_rng(len(str(kind)))
    drawn = rng.integers(0, 2 if kind == pa.bool_() else 120, 600)
    few = rng.random(600) < .02
    values = [None if gone else bool(x) if kind == pa.bool_() else int(x)
              for x, gone in zip(drawn, few, strict=True)]
    whole = make_array(kind, values)
    for column in [column for column in PARTS if reads(column, reading.type_of_arrow(kind))]:
        for first, rows in ((0, 600), (7, 590), (15, 500), (599, 1)):
            array = whole.slice(first, rows)

            assert encoder(column)(reading.column(array)).tolist() == by_kernel(column, array, 600)


@needs_kernel
@pytest.mark.parametrize("kind", [*INTS, *FLOATS, *DATES, pa.bool_()], ids=str)
def test_the_kernel_itself_answers(kind):
    """Numbers, dates, and true and false are not looked at in Python."""
    column = next(column for column in reversed(PARTS[:-1])
                  if reads(column, reading.type_of_arrow(kind)) and "%" not in str(column))
    if pa.types.is_floating(kind):
        column = PARTS[0]
    coder = reading._Coder([(kind, column)], Csv())

    assert not coder.others


@needs_kernel
def test_a_batch_of_another_form_is_refused():
    """No cell is read beyond a batch, and none written beyond the codes."""
    native = contract.extension.ArrowColumns()
    native.add_bits(0, 1, 1)
    capsule = pa.record_batch({"x": [True, False]}).__arrow_c_array__()[1]
    for which, shape, where in (
            ([0, 0], (2, 2), (0, 2, 0)), ([0], (1, 1), (0, 2, 0)), ([0], (0, 2), (0, 2, 0)),
            ([0], (1, 3), (0, 3, 0)), ([0], (1, 3), (1, 2, 0)), ([0], (1, 3), (0, 2, 2)),
            ([0], (1, 3), (0, 0, 4)), ([0], (1, 3), (3, 0, 0)), ([0], (1, 3), (2**64 - 1, 1, 0)),
            ([0], (1, 3), (0, 2**64 - 1, 1))):
        with pytest.raises(ValueError, match="other columns or rows"):
            native.read(capsule, np.array(which, np.int32), np.empty(shape, np.uint16), where)


def test_a_table_is_read_alike_without_the_kernel(tmp_path, monkeypatch):
    """Targets, persons and labels that came apart: both ways give the same batches."""
    rng = np.random.default_rng(0)
    n = 500
    held = {"a": pa.array(rng.normal(size=n), mask=rng.random(n) < .2),
            "b": rng.integers(0, 3, n), "c": pa.array(rng.choice(["A", "B", "?"], n)),
            "d": rng.random(n) < .5, "id": rng.integers(0, 90, n).astype(str)}
    table = pa.table({**held, "t": rng.integers(0, 2, n)})
    path = tmp_path / "table.parquet"
    pq.write_table(table, path, row_group_size=130)
    parts = [Number("a", -3, 3), Category("b", [0, 1]), Category("c", ["A", "B"]), Flag("d")]
    apart = Domain(parts, target=Label("t", [0, 1]))
    joined = Domain(parts, target=Label("t", [0, 1]), person="id", persons=100)
    cases = [(joined, path, None), (joined, table, None),
             (apart, pa.table({name: held[name] for name in "abcd"}), table["t"])]
    for domain, X, y in cases:
        def answer(domain=domain, X=X, y=y):
            count = iter(range(10**6))
            batches = read(X, domain, y, entropy=lambda k: next(count).to_bytes(k, "little"))
            return [np.concatenate([getattr(batch, name) for batch in batches]).tolist()
                    for name in ("codes", "label", "unit", "row")]
        with monkeypatch.context() as patch:
            patch.setattr(contract, "extension", None)
            expected = answer()

        assert expected == answer()


@needs_kernel
def test_columns_one_after_another_give_the_same_rows(tmp_path, monkeypatch):
    """However many cells are decoded at once, and where none is read by columns: the same rows."""
    rng = np.random.default_rng(1)
    n = 700
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({
        "a": pa.array(rng.normal(size=n), mask=rng.random(n) < .2), "b": rng.integers(0, 3, n),
        "c": pa.array(rng.choice(["A", "B", "?"], n)), "id": rng.integers(0, 90, n).astype(str),
        "t": rng.integers(0, 2, n)}), path, row_group_size=130)
    domain = Domain([Number("a", -3, 3), Category("b", [0, 1]), Category("c", ["A", "B"])],
                    target=Label("t", [0, 1]), person="id", persons=100)

    def answer():
        count = iter(range(10**6))
        # All are held at once: memory that is lent again too early would show.
        return [[getattr(batch, name).tolist() for name in ("codes", "label", "unit", "row")]
                for batch in list(read(path, domain, batch_rows=64, rows=n,
                                       entropy=lambda k: next(count).to_bytes(k, "little")))]

    with monkeypatch.context() as patch:
        patch.setattr(reading, "_LARGEST_PART", -1)
        expected = answer()
    for cells in (1, 7, 50, 150, 400, 2**16):
        monkeypatch.setattr(reading, "_AT_ONCE", cells)

        answers = answer()
        for at in range(4):
            assert list(chain(*(batch[at] for batch in expected))) == list(
                chain(*(batch[at] for batch in answers)))


@needs_kernel
def test_a_column_of_other_rows_ends_it():
    """No code is what was in memory before: a part has as many rows as it says, in each column."""
    coder = reading._Coder([(pa.int64(), Number("x", 0, 9))], Csv())
    reader = reading._Reader(coder, [], (1, 1), 4)
    batch = pa.record_batch({"x": [1, 2, 3]})
    for rows in (0, 2, 5):
        stretch = reading.Stretch(rows, lambda: iter((batch,)), lambda *_: iter((batch,)))
        with pytest.raises(ValueError, match=r"^$"):
            reader.by_columns(stretch)


def test_bits_of_a_slice_are_its_own():
    """A slice of a long column is read at its own length."""
    array = pa.array([True, None, False] * 1000).slice(1501, 9)
    seen = SimpleNamespace(most=0)

    def counted(held, **how):
        seen.most = max(seen.most, len(held))
        return unpack(held, **how)

    unpack = np.unpackbits
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "unpackbits", counted)
        bits = [reading._valid(array).tolist(), reading._bits(array, 1).tolist()]

    assert [[cell is not None for cell in array.to_pylist()]] == bits[:1]
    assert 0 < seen.most <= 3
