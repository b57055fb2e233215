"""Law: a folder of Parquet files is the table of their rows, file after file."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_makers import read
from privsieve.errors import SchemaError
from privsieve.public.columns import Category, Flag, Label, Number
from privsieve.public.domain import Domain
from privsieve.rows.source import open_source, resolve

DOMAIN = Domain([Number("age", 0, 110), Flag("smoker")], target=Label("ill", [0, 1]))
#: A part of the column `ward`: each row, and what its folder is called.
WARDS = {"ward=A": "A", "ward=B%20C": "B C", "ward=__HIVE_DEFAULT_PARTITION__": None}


def table(rows, seed):
    """Some patients."""
    rng = np.random.default_rng(seed)
    return pa.table({"age": rng.normal(50, 20, rows), "smoker": rng.random(rows) < .5,
                     "ill": rng.integers(0, 2, rows)})


def joined(batches):
    """Codes, labels, units and places of all batches."""
    return [np.concatenate([getattr(batch, name) for batch in batches]).tolist()
            for name in ("codes", "label", "unit", "row")]


def test_files_stand_in_the_order_of_their_names(tmp_path):
    """The codes and places of the table that they are parts of; notes of others are left out."""
    parts = [table(rows, seed) for seed, rows in enumerate((70, 0, 130, 1))]
    folder = tmp_path / "table.parquet"
    (folder / "b").mkdir(parents=True)
    for name, piece in zip(("a.parquet", "b/1.PQ", "b/2.parquet", "c.parquet"), parts, strict=True):
        pq.write_table(piece, folder / name)
    for note in ("_SUCCESS", ".a.parquet.crc", "b/_metadata"):
        (folder / note).write_text("")
    expected = joined(read(pa.concat_tables(parts), DOMAIN, rows=201))
    source = open_source(folder)

    assert source.shape(count_rows=True).rows == 201
    for size in (None, 50):
        assert expected == joined(read(str(folder), DOMAIN, rows=201, batch_rows=size))


def test_pieces_without_rows_end_nothing():
    """Of a table or a stream: what stands behind them is read, and no default record for it."""
    parts = [table(rows, rows) for rows in (3, 0, 0, 5, 0)]
    whole = pa.concat_tables(parts)
    stream = pa.RecordBatchReader.from_batches(
        whole.schema, [piece.combine_chunks().to_batches()[0] if piece.num_rows else
                       pa.RecordBatch.from_pylist([], whole.schema) for piece in parts])
    expected = joined(read(whole.combine_chunks(), DOMAIN, rows=8))

    assert expected == joined(read(whole, DOMAIN, rows=8))
    assert expected == joined(read(stream, DOMAIN, rows=8))


def hive(folder):
    """A folder with a part for each ward, and the table of all rows."""
    whole = []
    for seed, (name, ward) in enumerate(sorted(WARDS.items())):
        piece = table(40 + seed, seed)
        (folder / name).mkdir(parents=True)
        pq.write_table(piece, folder / name / "part.parquet")
        whole.append(piece.append_column("ward", pa.array([ward] * piece.num_rows, pa.string())))
    return pa.concat_tables(whole)


def test_folders_with_values_are_columns(tmp_path):
    """A folder `name=value` says what all its rows hold in the column of that name."""
    whole = hive(tmp_path / "t")
    domain = Domain([Category("ward", ["A", "B C"]), *DOMAIN.columns], target=DOMAIN.target,
                    neighbours="add-remove", rows=123)
    expected = joined(read(whole, domain))

    assert expected == joined(read(tmp_path / "t", domain))
    assert expected[0] != joined(read(whole, Domain(
        [Category("ward", ["A"]), *DOMAIN.columns], target=DOMAIN.target,
        neighbours="add-remove", rows=123)))[0]
    only = Domain([Category("ward", ["A", "B C"])], neighbours="add-remove", rows=123)

    assert joined(read(whole.select(["ward"]), only)) == joined(read(tmp_path / "t", only))


def test_rows_that_their_cells_move_are_refused_under_replacement(tmp_path):
    """One row that is replaced would be in another file, and move those between."""
    hive(tmp_path / "t")
    with pytest.raises(SchemaError, match='neighbours = "add-remove"'):
        resolve(DOMAIN, open_source(tmp_path / "t").shape(count_rows=False))


def _write(path, names, **how):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({name: pa.array([1], how.get(name, pa.int64())) for name in names}),
                   path)


@pytest.mark.parametrize(("files", "message"), [
    ({"a.parquet": "ab", "b.parquet": "a"}, "file 2 of 2 .* other columns"),
    ({"a.parquet": "ab", "b.parquet": "abc"}, "other columns"),
    ({"x=1/a.parquet": "a", "y=1/b.parquet": "a"}, "have different names"),
    ({"x=1/a.parquet": "a", "b.parquet": "a"}, "have different names"),
    ({"a=1/a.parquet": "ab"}, "two columns of the table have the same name"),
    ({}, "holds no Parquet file"), ({"_a.parquet": "a"}, "holds no Parquet file")])
def test_a_folder_that_is_no_table_is_refused(tmp_path, files, message):
    """Before the charge, in a sentence that names no folder: its name may be a value."""
    for name, columns in files.items():
        _write(tmp_path / "t" / name, columns)
    (tmp_path / "t").mkdir(exist_ok=True)
    with pytest.raises(SchemaError, match=message) as failed:
        open_source(tmp_path / "t")
    assert str(tmp_path) not in str(failed.value)
    assert "=1" not in str(failed.value)


def test_other_types_and_files_are_refused(tmp_path):
    """A type, a footer, a file that is no Parquet."""
    _write(tmp_path / "t" / "a.parquet", "a")
    _write(tmp_path / "t" / "b.parquet", "a", a=pa.float64())
    with pytest.raises(SchemaError, match="other columns or types"):
        open_source(tmp_path / "t")
    (tmp_path / "t" / "b.parquet").write_bytes(b"PAR1")
    with pytest.raises(SchemaError, match="footer cannot be read"):
        open_source(tmp_path / "t")
    (tmp_path / "t" / "b.parquet").rename(tmp_path / "t" / "b.csv")
    with pytest.raises(SchemaError, match="not Parquet"):
        open_source(tmp_path / "t")
