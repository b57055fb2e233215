"""Law: what workers add up is what one process adds up, and nothing that fails there speaks."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import privsieve as ps
from every_method import ESTIMATORS, WARD, table
from privsieve import fit as fitting
from privsieve.errors import ParameterError, ReleaseFailed
from privsieve.extras.spark import frame as clusters
from privsieve.extras.spark.cluster import Pass, read, written
from privsieve.extras.spark.frame import Cluster
from privsieve.noise.streams import replay
from privsieve.rows import open_source
from privsieve.rows.batch import Batch
from privsieve.summaries.stages import Stages

ROWS = 400
#: Every method of the laws which this method cannot read.
SUMS = [estimator for estimator in ESTIMATORS if isinstance(estimator.plan().summarise, Stages)]


class Frame:
    """A frame as Spark has it, of which this process runs the tasks: lists of Arrow batches."""

    def __init__(self, parts, at=None):
        self.parts, self.at = parts, at
        batches = [[pa.record_batch({"id": [0]})]]
        self.sparkSession = SimpleNamespace(range=lambda *_: Frame(batches))

    @classmethod
    def of(cls, frame, tasks):
        """The rows of a frame, dealt out to tasks; each knows where it stood."""
        held = pa.Table.from_pandas(frame, preserve_index=False)
        held = held.append_column("_metadata.row_index", pa.array(range(len(frame))))
        held = held.append_column("_metadata.file_path", pa.array(["one"] * len(frame)))
        return cls([held.take(rows).to_batches(max_chunksize=37)
                    for rows in np.array_split(np.random.default_rng(1).permutation(len(frame)),
                                               tasks)])

    def selectExpr(self, *wanted):  # noqa: N802  # Spark's
        names = [column.rsplit(" ", 1)[0].strip("`") for column in wanted]
        return Frame([[piece.select(names) for piece in parts] for parts in self.parts])

    def mapInArrow(self, of, _schema):  # noqa: N802  # Spark's
        batches = []
        for at, parts in enumerate(self.parts):
            sys.modules["pyspark"].TaskContext.at = at
            batches.append(list(of(iter(parts))))
        return Frame(batches)

    def repartition(self, number, _column):
        rows = [row for parts in self.parts for row in parts]
        return Frame([[row for row in rows if row.column(0)[0].as_py() % number == at]
                      for at in range(number)])

    def toArrow(self):  # noqa: N802  # Spark's
        return pa.Table.from_batches([row for parts in self.parts for row in parts])


@pytest.fixture(autouse=True)
def worker(monkeypatch):
    """What a worker of Spark knows of its task."""

    class Context:
        at = 0

        @classmethod
        def get(cls):
            return SimpleNamespace(partitionId=lambda: cls.at)

    monkeypatch.setitem(sys.modules, "pyspark", SimpleNamespace(TaskContext=Context))


def on_cluster(frame, tasks=5, *, placed=True):
    """A source whose rows are with workers."""
    return replace(open_source(frame), cluster=OneFile(Frame.of(frame, tasks), placed))


class OneFile(Cluster):
    """Where Spark would group rows by files: here there is one."""

    def places(self):
        return {"one": 0}


def of_list(stage, piece, key, totals):
    """A stage that takes a list of batches."""
    return stage([piece] if len(piece) else [], key, totals)


def added_up(*stages, placed=False):
    """A summary of stages of our own."""
    return Stages(tuple(partial(of_list, stage) for stage in stages), 4, placed=placed)


def of_codes(rows, _key, _before):
    """A sum that looks at cells alone."""
    return sum((batch.codes.astype(np.int64).sum(axis=0) for batch in rows), np.zeros(4, np.int64))


@pytest.fixture
def plan():
    """A plan of a method whose summary the tests replace."""
    return replace(ps.NoisyTopK(2, epsilon=1, domain=WARD).plan(rows=ROWS),
                   mechanism=lambda _summary, _noise: (0, 1))


@pytest.mark.parametrize("method", SUMS, ids=repr)
def test_a_cluster_gives_the_release_of_the_frame(method):
    """Under replayed noise the same bytes come out, however the rows are dealt out."""
    here = fitting.fit(method.plan(), open_source(method.table()), noise=replay(5))

    for tasks in (1, 7):
        there = fitting.fit(method.plan(), on_cluster(method.table(), tasks), noise=replay(5))
        assert here.bytes == there.bytes


@pytest.mark.parametrize("method", SUMS, ids=repr)
def test_what_looks_at_no_place_says_so(method):
    """A summary that any order of rows will do for is the same in any order, with any units."""
    stages = method.plan().summarise
    batch = Batch.concat(list(all_rows(method)))
    order = np.random.default_rng(2).permutation(len(batch))
    odd = np.random.default_rng(3).integers(0, ROWS, len(batch), np.uint64)
    moved = batch.take(order)
    same = written(stages([batch], 7)) == written(
        stages([Batch(moved.codes, moved.label, odd, odd)], 7))

    assert same or stages.placed


def all_rows(method):
    """The table of a method as integers."""
    from privsieve.rows.batch import batches

    return batches(open_source(method.table()), method.domain, rows=ROWS, entropy=bytes)


@pytest.mark.parametrize("fault", [ValueError("cell"), MemoryError, SystemExit("cell"),
                                   KeyboardInterrupt])
def test_a_task_that_fails_sends_a_mark(plan, fault):
    """Whatever is raised in a task, its text stays there, and the release fails as any other."""

    def failing(rows, _key, _before):
        if rows:
            raise fault
        return np.zeros(1, np.int64)

    source = on_cluster(table(ROWS)[[*WARD.names, "back"]])
    rows = clusters._Share(source.cluster.frame.parts[0], WARD, None, None)
    [sent] = clusters._answer(rows, Pass(failing, 7))
    assert sent.to_pylist()[0]["s"] == b""
    with pytest.raises(ReleaseFailed) as failed:
        fitting.fit(replace(plan, summarise=added_up(failing)), source, noise=replay(3))

    assert (None, None) == (failed.value.__cause__, failed.value.__context__)


def test_no_part_is_added_twice():
    """An answer whose partition came before, or that has no numbers, gives the mark."""
    task = Pass(of_codes, 7)
    good = task.of([])

    for parts, answers in (((1, 1), (good, good)), ((1, 2), (good, b""))):
        sent = [clusters._sent(piece, 0, answer)
                for piece, answer in zip(parts, answers, strict=True)]
        [total] = clusters._add(sent, task)
        assert total.to_pylist()[0]["s"] == b""


def test_the_public_number_of_rows_comes_out(plan):
    """Missing rows are default records, surplus ones go by their place, or the release fails."""
    rows = table(ROWS)[[*WARD.names, "back"]]
    kept = []
    plan = replace(plan, mechanism=lambda summary, _noise: kept.append(summary[0]) or (0, 1))
    for units, placed in ((ROWS + 3, False), (ROWS + 3, True), (ROWS - 3, True)):
        some = replace(plan, units=units, summarise=added_up(of_codes, placed=placed))
        for source in (open_source(rows), on_cluster(rows)):
            fitting.fit(some, source, noise=replay(3))
        assert kept[-2].tolist() == kept[-1].tolist()
    with pytest.raises(ReleaseFailed):
        fitting.fit(replace(plan, units=ROWS - 3, summarise=added_up(of_codes)), on_cluster(rows),
                    noise=replay(3))


def test_what_is_no_sum_of_a_cluster_is_refused(plan, ledger, monkeypatch):
    """Before the charge, and in a sentence."""
    monkeypatch.setattr(fitting, "demand_valid", lambda _plan: None)  # these plans were edited
    rows = table(ROWS)[[*WARD.names, "back"]].assign(id=1)
    persons = ps.Domain(WARD.columns, target=WARD.target, person="id", persons=50)
    coming = replace(WARD, neighbours="add-remove", rows=400)
    simple = replace(plan, summarise=added_up(of_codes))
    tied = replace(plan, summarise=added_up(of_codes, placed=True))
    large = added_up(lambda *_: np.zeros(2 * 10**7, np.int64))
    for some, placed, text in (
            (replace(plan, summarise=lambda _batches, _key: 0), True, "does not add up rows"),
            (replace(simple, domain=persons), True, "protects people"),
            (tied, False, "unchanged"),
            (replace(tied, domain=coming), True, "add-remove"),
            (replace(plan, summarise=large), True, "100 MB")):
        with pytest.raises(ParameterError, match=text):
            fitting.fit(some, on_cluster(rows, placed=placed), ledger=ledger)

    assert ledger.spent() == 0


@pytest.mark.parametrize(("step", "plain"), [
    ("Relation [age#1,ward#2] parquet", True), ("Relation [age#1] csv", False),
    ("Project [age#1 AS years#2, blood-pressure#3]", True),
    ("Project [(age#1 + 1) AS a#2]", False), ("Project [cast(age#1 as int) AS a#2]", False),
    ("Project [-age#1 AS a#2]", False), ("Project [list#1[0] AS a#2]", False),
    ("Project [age#1, ... 25 more fields]", False), ("Project [read(age#1)#5 AS a#2]", False),
    ("Filter ((age#1L > cast(3 as bigint)) AND NOT (ward#2 = A))", True),
    ("Filter isnotnull(age#1)", True), ("Filter (age#1 > scalar-subquery#5 [])", False),
    ("Join Inner, (id#1 = id#2)", True), ("Aggregate [ward#2], [count(1) AS n#4L]", False),
    ("MapInArrow <lambda>(age#1)#7, false", False), ("LogicalRDD [age#1], false", False)])
def test_a_step_that_no_row_can_stop(step, plain):
    """What computes is told from what takes rows as they are."""
    assert plain == clusters._plain(step)


def test_what_travels_is_what_was_sent():
    """Numbers of any size and type, in any part of a summary."""
    sent = {"a": (1 << 80, None, np.array([True])),
            "b": [np.zeros((2, 0), np.uint16), np.array([[1 << 70], [2]])]}
    table = read(written(sent), sent)

    assert (1 << 80, None) == table["a"][:2]
    assert table["a"][2].tolist() == [True]
    assert (table["b"][0].shape, table["b"][0].dtype) == ((2, 0), np.uint16)
    assert table["b"][1].tolist() == [[1 << 70], [2]]
    with pytest.raises(AssertionError):
        written(0.5)
