"""Spark: a frame whose rows stay with its workers, which code them and send back sums.

Of a frame this process sees names and types, how many rows there are where that is public, and the
bytes that `Cluster.run` brings: of each part of the rows one answer, added up by workers before it
comes.  A task that Spark runs again, or twice, or on another executor, has its answer once: Spark
takes of each partition the first that is finished, and no number of a partition comes twice.

Frames are queries, and a query that computes may stop at a row.  So only those are taken that read
rows as they are; and a row has a place only in a frame that is nothing but files of Parquet.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from privsieve._version import __version__
from privsieve.entries import import_library
from privsieve.errors import ParameterError, ReleaseFailed, SchemaError
from privsieve.extras.spark import cluster
from privsieve.rows.batch import BATCH_CELLS, LARGEST_BATCH, Batch, coded, joined
from privsieve.rows.source import RawColumn, Source, Type, foreign

if TYPE_CHECKING:
    from privsieve.public.domain import Domain
    from privsieve.public.plan import Plan

#: What a task sends: of which part, of how many rows, and its answer; none where it failed.
ANSWER = "part int, n long, s binary"
#: So many answers come to the driver, however many tasks there are.
ANSWERS = 4
_TYPES: dict[str, Type] = {
    "boolean": "flag", "date": "date", "timestamp": "date", "timestamp_ntz": "date",
    "void": "other",
    **dict.fromkeys(("byte", "short", "integer", "long", "float", "double", "decimal"), "number"),
    **dict.fromkeys(("string", "char", "varchar", "binary"), "text"),
}
#: Steps of a query that make no cell: no row can stop them.
_PLAIN = (
    r"(Project|Filter|SubqueryAlias|View|Repartition|RepartitionByExpression|Sort|Union|Join"
    r"|Relation|LocalRelation|Range)\b")
#: Steps that leave each row in its place.
_STILL = r"(Project|SubqueryAlias|View|Relation \[.*\] parquet$)\b"
#: A function, arithmetic, a place in a list; a check for null, and a number that is written as one
#: of another type, are none.
_HARMLESS = r"\b(?:isnotnull|isnull)(?=\()|\bcast\(-?[0-9.]+ as [a-z]+\)"
_COMPUTES = (r"\w\(| (?:[-+*/%|^&]|div) |(?<!\w)-\w+#|#[0-9]+L?\[|subquery"
             r"|\.\.\. [0-9]+ more field")
#: One thread at a time changes a setting of Spark, or the logs; who reads now, and the first one's
#: levels of logs.
_turn, _reading, _logs = threading.Lock(), list[int](), list[Any]()
_COMPUTED = ("X is a Spark query that computes, and one row could stop it while it is read; write "
             "it to Parquet, and give spark.read.parquet(...)")


class Work(Protocol):
    """What workers do with rows; both functions go to the cluster with all that they hold."""

    def of(self, batches: Iterable[Batch]) -> bytes:
        """The answer of some of the rows."""

    def plus(self, answers: Iterable[bytes]) -> bytes:
        """The answer of all rows of some answers."""


@dataclass(frozen=True, eq=False, repr=False)
class Cluster:
    """The workers that can read a frame.

    placed : whether each row has a place that no other row and no run of the query changes.
    """

    frame: Any
    placed: bool

    def demand_sum(self, plan: Plan, source: Source) -> None:
        """Refuse, before the charge, a summary that workers cannot add up."""
        cluster.demand_sum(plan, source)

    def on_workers(self, plan: Plan, source: Source, key: int) -> Any:
        """Return the summary of all rows."""
        return cluster.on_workers(plan, source, key)

    def demand(self) -> None:
        """Refuse workers that cannot do our work; a frame of their own shows it, without a row."""
        found = foreign(lambda: self.frame.sparkSession.range(0, 1, 1, 1).mapInArrow(
            _version, "version string").toArrow().to_pylist(), ParameterError(
            "the workers of the Spark cluster cannot import privsieve, or have another Python than "
            "this one; install privsieve there, and set PYSPARK_PYTHON"))
        if found != [{"version": __version__}]:
            raise ParameterError("the workers of the Spark cluster have another version of "
                                 f"privsieve than this one, {__version__}; install the same")

    def places(self) -> dict[str, int]:
        """Of each file of the frame, the place of its first row: files go by their paths."""
        with _quiet():
            found = self.frame.selectExpr("_metadata.file_path p", "_metadata.row_index r").groupBy(
                "p").agg({"r": "max", "*": "count"}).toArrow()
        files = sorted(zip(*(column.to_pylist() for column in found.columns), strict=True))
        # A file that is read twice has two rows in one place.
        if any(last + 1 != rows for _file, last, rows in files):
            raise ReleaseFailed
        starts = accumulate((rows for _file, _last, rows in files), initial=0)
        return {file: start for (file, _last, _rows), start in zip(files, starts, strict=False)}

    def run(self, task: Work, names: Sequence[str], domain: Domain, *, rows: int | None,
            places: dict[str, int] | None) -> tuple[int, list[bytes]]:
        """How many rows there are, and answers that are all of theirs.

        rows : those whose place is not below it are no part of it; None: all are.
        places : of each file, where its rows begin; None: no place is asked for.
        """
        def of(pieces: Iterator[Any]) -> Iterator[Any]:
            return _of(_Share(pieces, domain, rows, places), task)

        def plus(pieces: Iterator[Any]) -> Iterator[Any]:
            return _plus(pieces, task)

        wanted = [f"{_quoted(name)} c{j}" for j, name in enumerate(names)]
        if places is not None:
            wanted += ["_metadata.file_path p", "_metadata.row_index r"]
        with _quiet():
            answers = self.frame.selectExpr(*wanted).mapInArrow(of, ANSWER).repartition(
                ANSWERS, "part").mapInArrow(plus, ANSWER).toArrow()
        found = answers.column("s").to_pylist()
        if not all(found):
            raise ReleaseFailed
        return sum(answers.column("n").to_pylist()), found


def open_spark(frame: Any, y: Any) -> Source:
    """A frame of Spark, classic or Connect: its names and types, and who reads it."""
    if y is not None:
        raise SchemaError("X is a Spark frame and y came apart; put the target into the frame, "
                          "under the name that the domain gives it")
    if not hasattr(frame, "mapInArrow"):
        raise SchemaError("X is of Spark and no frame; give a DataFrame (of pandas on Spark: its "
                          "to_spark())")
    import_library("pyspark", "spark", "a Spark frame")
    refusal = SchemaError("the Spark frame gives no schema; its query or its session is broken")
    schema, live = foreign(lambda: (frame.schema, frame.isStreaming), refusal)
    if live:
        raise SchemaError("X is a stream of Spark, which has no end; write it to Parquet, and give "
                          "spark.read.parquet(...)")
    steps = foreign(lambda: _steps(frame), refusal)
    if not all(map(_plain, steps)):
        raise SchemaError(_COMPUTED)

    def count() -> int:
        return int(foreign(frame.count, SchemaError(
            "the rows of the Spark frame cannot be counted; look at what Spark says of it")))

    types = [_TYPES.get(field.dataType.typeName(), "unreadable") for field in schema.fields]
    names = tuple(field.name for field in schema.fields)
    return Source(names, tuple(types), "name", count, lambda _positions, _rows: iter(()), path=True,
                  cluster=Cluster(frame, all(re.match(_STILL, step) for step in steps)))


def _steps(frame: Any) -> list[str]:
    """The steps of a query as Spark prints them, with all of their columns."""
    conf, key = frame.sparkSession.conf, "spark.sql.debug.maxToStringFields"
    with _turn:  # two that restored what the other had set would leave it set
        before = conf.get(key)
        conf.set(key, str(2**30))
        try:
            # `explain` prints it, and only a change of `sys.stdout` would catch that.
            told: str = frame._explain_string(extended=True) if hasattr(  # noqa: SLF001
                frame, "_explain_string") else frame._sc._jvm.PythonSQLUtils.explainString(  # noqa: SLF001
                    frame._jdf.queryExecution(), "extended")  # noqa: SLF001
        finally:
            conf.set(key, before)
    told = told.split("== Analyzed Logical Plan ==\n")[1]
    told = told.split("\n== Optimized Logical Plan ==")[0]
    return [line.lstrip(" :+-") for line in told.splitlines()[1:] if line]


def _plain(step: str) -> bool:
    """Whether no row can stop a step.

    >>> _plain("Filter (age#3 > 40)"), _plain("Filter (cast(age#3 as int) > 40)")
    (True, False)
    """
    if not re.match(_PLAIN, step):
        return False
    if step.startswith("Relation "):
        return step.endswith((" parquet", " orc"))
    return step.startswith(("LocalRelation", "Range", "View", "SubqueryAlias")) or (
        not re.search(_COMPUTES, re.sub(_HARMLESS, "", step)))


def _quoted(name: str) -> str:
    """A name as a query writes it.

    >>> _quoted("a`b.c")
    '`a``b.c`'
    """
    return "`" + name.replace("`", "``") + "`"


@contextmanager
def _quiet() -> Iterator[None]:
    """No log while rows are read: what Spark says of a task that fails may hold a cell.

    Where it fails, the log of a JVM that this process started (for a classic session, or for a
    Connect server of its own) stays off: other tasks may fail after it.  Of several threads the
    first turns logs off, and the last turns them on.
    """
    known = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    context = getattr(known, "_active_spark_context", None)
    with _turn:
        if not _reading:
            _logs[:] = [logging.root.manager.disable, {} if context is None else _levels(
                context._jvm.org.apache.logging.log4j)]  # noqa: SLF001
        _reading.append(1)
        logging.disable()
        for name, (off, _before, change) in _logs[1].items():
            change(name, off)
    try:
        yield
    except BaseException:
        _logs[1] = {}
        raise
    finally:
        with _turn:
            _reading.pop()
            if not _reading:
                logging.disable(_logs[0])
                for name, (_off, before, change) in _logs[1].items():
                    change(name, before)


def _levels(log4j: Any) -> dict[str, tuple[Any, Any, Callable[[str, Any], None]]]:
    """Each logger that the JVM has configured: its level, none at all, and what sets it."""
    found = log4j.LogManager.getContext(False).getConfiguration().getLoggers()  # Java's
    change = log4j.core.config.Configurator.setLevel
    return {name: (log4j.Level.OFF, found[name].getLevel(), change) for name in found}


# What runs on a worker.  Nothing here raises: the text of an exception goes to the driver.


def _version(pieces: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    for _piece in pieces:
        yield pa.record_batch([pa.array([__version__])], ["version"])


@dataclass(frozen=True, eq=False, repr=False)
class _Share:
    """The rows that a task is given."""

    pieces: Iterable[Any]
    domain: Domain
    rows: int | None
    places: dict[str, int] | None

    def batches(self, seen: list[int]) -> Iterator[Batch]:
        """Rows as integers; how many there are is added to `seen`."""
        size = max(1, min(LARGEST_BATCH, BATCH_CELLS // len(self.domain.columns)))
        yield from joined(coded(self._read(seen), self.domain, os.urandom), size)

    def _read(self, seen: list[int]) -> Iterator[tuple[list[RawColumn], Any]]:
        from privsieve.rows.arrow import column

        for piece in self.pieces:
            row = self._row(piece, sum(seen))
            if self.places is not None and self.rows is not None:
                inside = np.flatnonzero(row < self.rows)
                if len(inside) < len(row):
                    piece, row = piece.take(inside), row[inside]  # noqa: PLW2901  # the same rows
            width = piece.num_columns - 2 * (self.places is not None)
            seen.append(len(row))
            yield [column(piece.column(j)) for j in range(width)], row

    def _row(self, piece: Any, at: int) -> Any:
        """The place of each row; where none is asked for, any."""
        if self.places is None:
            return np.arange(at, at + piece.num_rows, dtype=np.uint64)
        file = piece.column(piece.num_columns - 2).dictionary_encode()
        starts = np.array([self.places[name] for name in file.dictionary.to_pylist()], np.uint64)
        index = piece.column(piece.num_columns - 1)
        return starts[file.indices.to_numpy()] + index.to_numpy().astype(np.uint64)


def _of(rows: _Share, task: Work) -> Iterator[Any]:
    """The answer of one task."""
    part, answer = -1, b""
    seen: list[int] = []
    try:
        from pyspark import TaskContext

        with np.errstate(all="ignore"):
            context: Any = TaskContext.get()
            part = context.partitionId()
            answer = task.of(rows.batches(seen))
    except BaseException:  # noqa: BLE001  # its text could speak of rows, whatever its type
        answer = b""
    yield _sent(part, sum(seen), answer)


def _plus(pieces: Iterable[Any], task: Work) -> Iterator[Any]:
    """What the answers of some tasks come to."""
    parts: set[int] = set()
    counts: list[int] = []

    def answers() -> Iterator[bytes]:
        for piece in pieces:
            for part, n, answer in zip(*(column.to_pylist() for column in piece.columns),
                                       strict=True):
                if part in parts or not answer:
                    raise ReleaseFailed
                parts.add(part)
                counts.append(n)
                yield answer

    try:
        found = task.plus(answers())
    except BaseException:  # noqa: BLE001  # as above
        found = b""
    yield _sent(0, sum(counts), found)


def _sent(part: int, n: int, answer: bytes) -> Any:
    import pyarrow as pa

    return pa.record_batch([pa.array([part], pa.int32()), pa.array([n], pa.int64()),
                            pa.array([answer], pa.binary())], ["part", "n", "s"])
