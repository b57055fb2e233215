"""Law: one answer, whatever a table lies in, wherever its rows lie, however many threads work.

Clusters have the same law beside their own tests: `extras/test_spark_cluster.py` and
`extras/test_spark.py`.
"""

from __future__ import annotations

import random
from importlib.util import find_spec

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from every_method import ESTIMATORS, ROWS
from privsieve import fit as fitting
from privsieve.noise.streams import replay
from privsieve.public.canonical import canonical
from privsieve.rows import batch as reading
from privsieve.rows import open_source
from privsieve.rows.room import Room


def arrow(frame):
    """A frame as Arrow holds it."""
    return pa.Table.from_pandas(frame, preserve_index=False)


def of_array(frame, _folder):
    """Cells without names, and the target apart."""
    return open_source(frame.iloc[:, :-1].to_numpy(dtype=object), y=frame.iloc[:, -1].to_numpy())


def of_csv(frame, folder):
    """Lines of a file."""
    frame.to_csv(folder / "t.csv", index=False)
    return open_source(folder / "t.csv")


def of_parquet(frame, folder):
    """Groups of rows that fit no batch."""
    pq.write_table(arrow(frame), folder / "t.parquet", row_group_size=70)
    return open_source(folder / "t.parquet")


def of_folder(frame, folder):
    """Three files in folders of Hive; one column is in their names alone."""
    for piece, (start, end) in enumerate([(0, 150), (150, 151), (151, ROWS)]):
        place = folder / "t" / f"year={2020 + piece}"
        place.mkdir(parents=True)
        pq.write_table(arrow(frame.iloc[start:end]), place / "part.parquet")
    return open_source(folder / "t")


def of_stream(frame, _folder):
    """Rows that come once."""
    return open_source(arrow(frame).to_reader(max_chunksize=90))


def of_query(frame, folder):
    """What DuckDB reads of a file."""
    pq.write_table(arrow(frame), folder / "q.parquet")
    return open_source(f"sql:SELECT * FROM '{folder / 'q.parquet'}'")


FORMS = (
    lambda frame, _folder: open_source(frame),
    lambda frame, _folder: open_source(pl.from_arrow(arrow(frame))),
    lambda frame, _folder: open_source(arrow(frame)),
    of_array, of_csv, of_parquet, of_folder, of_stream,
    *([of_query] if find_spec("duckdb") else []),
)


def answer(method, source, room, size):
    """What is released of a source, but for the words of what it lies in."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reading, "LARGEST_BATCH", size)
        # Rooms of a few bytes are refused before the charge: here they cut the rows.
        patched.setattr(reading, "demand_room", lambda _plan, _source, room: room)
        body = fitting.fit(method.plan(), source, noise=replay(7), room=room).body
    # A line of a file has a name of its own, and a query is said.
    plan = {name: value for name, value in body["plan"].items() if name not in ("record", "query")}
    return canonical({**body, "plan": plan})


def test_a_query_is_one_of_the_forms():
    """Where DuckDB is there; else this says that queries were left out."""
    pytest.importorskip("duckdb", reason="the extra `db` is not installed")

    assert of_query in FORMS


@pytest.mark.parametrize("method", ESTIMATORS, ids=repr)
def test_one_table_has_one_answer(method, tmp_path):
    """Each form of a table, each in a room and a cut of its own."""
    draw = random.Random(repr(method))
    whole = answer(method, open_source(method.table()), Room(), ROWS)
    for at, form in enumerate(FORMS):
        place = tmp_path / str(at)
        place.mkdir()
        room = Room(memory=draw.choice([None, 0, 3000]), jobs=draw.choice([1, 2, 3]))
        answer_now = answer(method, form(method.table(), place), room,
                            draw.choice([64, 97, 150, ROWS]))

        assert whole == answer_now, (at, room.memory, room.jobs)
