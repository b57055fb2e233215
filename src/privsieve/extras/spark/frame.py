"""Frame: a Spark frame whose rows stay on its workers, which code them and return sums.

This process reads names and types of a frame, the number of rows if it is public, and the bytes of
`Cluster.run`: one answer for each partition, which workers add up first.  A partition is counted
once, even if Spark runs its task again: Spark uses the first finished task of a partition, and
`_add` refuses a repeated partition.

Frames are queries, and a query that computes may fail at a row.  Only queries that read rows
unchanged are accepted.  A row has a place only in a frame that consists of Parquet files.
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

#: The output of a task: partition, number of rows, and answer, which is empty after a failure.
ANSWER = "part int, n long, s binary"
#: The number of answers for the driver.
ANSWERS = 4
_TYPES: dict[str, Type] = {
    "boolean": "flag", "date": "date", "timestamp": "date", "timestamp_ntz": "date",
    "void": "other",
    **dict.fromkeys(("byte", "short", "integer", "long", "float", "double", "decimal"), "number"),
    **dict.fromkeys(("string", "char", "varchar", "binary"), "text"),
}
#: Steps of a query that do not compute cells, and so cannot fail at a row.
_PLAIN = (
    r"(Project|Filter|SubqueryAlias|View|Repartition|RepartitionByExpression|Sort|Union|Join"
    r"|Relation|LocalRelation|Range)\b")
#: Steps that keep each row in its place.
_STILL = r"(Project|SubqueryAlias|View|Relation \[.*\] parquet$)\b"
#: Signs of a computation: a function, arithmetic, a place in a list.  Checks for null and casts of
#: constants are harmless.
_HARMLESS = r"\b(?:isnotnull|isnull)(?=\()|\bcast\(-?[0-9.]+ as [a-z]+\)"
_COMPUTES = (r"\w\(| (?:[-+*/%|^&]|div) |(?<!\w)-\w+#|#[0-9]+L?\[|subquery"
             r"|\.\.\. [0-9]+ more field")
#: The lock for settings of Spark and logs, the current readers, and the log levels before them.
_turn, _reading, _logs = threading.Lock(), list[int](), list[Any]()
_COMPUTED = ("X is a Spark query that computes, so it could fail at a row; write it to Parquet, "
             "and give spark.read.parquet(...)")


class Work(Protocol):
    """The work on rows; both functions are sent to the cluster with their data."""

    def of(self, batches: Iterable[Batch]) -> bytes:
        """Return the answer for some of the rows."""

    def plus(self, answers: Iterable[bytes]) -> bytes:
        """Return the answer for all rows of some answers."""


@dataclass(frozen=True, eq=False, repr=False)
class Cluster:
    """The workers that read a frame.

    placed : whether each row has a constant place, in every run of the query.
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
        """Refuse workers without privsieve; the test uses a frame of its own, without rows."""
        versions = foreign(lambda: self.frame.sparkSession.range(0, 1, 1, 1).mapInArrow(
            _version, "version string").toArrow().to_pylist(), ParameterError(
            "the workers of the Spark cluster cannot import privsieve, or have another Python than "
            "this one; install privsieve there, and set PYSPARK_PYTHON"))
        if versions != [{"version": __version__}]:
            raise ParameterError("the workers of the Spark cluster have another version of "
                                 f"privsieve than this one, {__version__}; install the same")

    def places(self) -> dict[str, int]:
        """Return the place of the first row of each file, with files sorted by path."""
        with _quiet():
            table = self.frame.selectExpr("_metadata.file_path p", "_metadata.row_index r").groupBy(
                "p").agg({"r": "max", "*": "count"}).toArrow()
        files = sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))
        # A file that is read twice would have two rows in one place.
        if any(last + 1 != rows for _file, last, rows in files):
            raise ReleaseFailed
        starts = accumulate((rows for _file, _last, rows in files), initial=0)
        return {file: start for (file, _last, _rows), start in zip(files, starts, strict=False)}

    def run(self, task: Work, names: Sequence[str], domain: Domain, *, rows: int | None,
            places: dict[str, int] | None) -> tuple[int, list[bytes]]:
        """Return the number of rows, and answers for all of them.

        rows : rows at this place or later are ignored; None reads all.
        places : the first place of each file; None if places are not needed.
        """
        def of(pieces: Iterator[Any]) -> Iterator[Any]:
            return _answer(_Share(pieces, domain, rows, places), task)

        def plus(pieces: Iterator[Any]) -> Iterator[Any]:
            return _add(pieces, task)

        wanted = [f"{_quoted(name)} c{j}" for j, name in enumerate(names)]
        if places is not None:
            wanted += ["_metadata.file_path p", "_metadata.row_index r"]
        with _quiet():
            answers = self.frame.selectExpr(*wanted).mapInArrow(of, ANSWER).repartition(
                ANSWERS, "part").mapInArrow(plus, ANSWER).toArrow()
        results = answers.column("s").to_pylist()
        if not all(results):
            raise ReleaseFailed
        return sum(answers.column("n").to_pylist()), results


def open_spark(frame: Any, y: Any) -> Source:
    """Open a Spark frame, classic or Connect: its names and types, and its workers."""
    if y is not None:
        raise SchemaError("X is a Spark frame and y is separate; put the target into the frame, "
                          "with its name in the domain")
    if not hasattr(frame, "mapInArrow"):
        raise SchemaError("X is an object of Spark, but not a DataFrame; give a DataFrame (from "
                          "pandas on Spark: to_spark())")
    import_library("pyspark", "spark", "a Spark frame")
    refusal = SchemaError("the Spark frame has no schema; check its query and its session")
    schema, live = foreign(lambda: (frame.schema, frame.isStreaming), refusal)
    if live:
        raise SchemaError("X is a stream of Spark without an end; write it to Parquet, and give "
                          "spark.read.parquet(...)")
    steps = foreign(lambda: _steps(frame), refusal)
    if not all(map(_plain, steps)):
        raise SchemaError(_COMPUTED)

    def count() -> int:
        return int(foreign(frame.count, SchemaError(
            "the rows of the Spark frame cannot be counted; see the error of Spark")))

    types = [_TYPES.get(field.dataType.typeName(), "unreadable") for field in schema.fields]
    names = tuple(field.name for field in schema.fields)
    return Source(names, tuple(types), "name", count, lambda _positions, _rows: iter(()), path=True,
                  cluster=Cluster(frame, all(re.match(_STILL, step) for step in steps)))


def _steps(frame: Any) -> list[str]:
    """Return the steps of a query as Spark prints them, with all of their columns."""
    conf, key = frame.sparkSession.conf, "spark.sql.debug.maxToStringFields"
    with _turn:  # one thread at a time changes and restores the setting
        before = conf.get(key)
        conf.set(key, str(2**30))
        try:
            # The public `explain` only prints.
            text: str = frame._explain_string(extended=True) if hasattr(  # noqa: SLF001
                frame, "_explain_string") else frame._sc._jvm.PythonSQLUtils.explainString(  # noqa: SLF001
                    frame._jdf.queryExecution(), "extended")  # noqa: SLF001
        finally:
            conf.set(key, before)
    text = text.split("== Analyzed Logical Plan ==\n")[1]
    text = text.split("\n== Optimized Logical Plan ==")[0]
    return [line.lstrip(" :+-") for line in text.splitlines()[1:] if line]


def _plain(step: str) -> bool:
    """Return whether a step cannot fail at a row.

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
    """Return a name as a query writes it.

    >>> _quoted("a`b.c")
    '`a``b.c`'
    """
    return "`" + name.replace("`", "``") + "`"


@contextmanager
def _quiet() -> Iterator[None]:
    """Turn logs off while rows are read, since Spark's message about a task may contain a cell.

    After a failure the log of a JVM that this process started (for a classic session, or for its
    own Connect server) stays off, since other tasks may fail later.  The first of several threads
    turns logs off, and the last turns them on.
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
    """Return each configured logger of the JVM: the level "off", its level, and its setter."""
    loggers = log4j.LogManager.getContext(False).getConfiguration().getLoggers()  # Java's
    change = log4j.core.config.Configurator.setLevel
    return {name: (log4j.Level.OFF, loggers[name].getLevel(), change) for name in loggers}


# Code on a worker.  It must not raise: the text of an exception goes to the driver.


def _version(pieces: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    for _piece in pieces:
        yield pa.record_batch([pa.array([__version__])], ["version"])


@dataclass(frozen=True, eq=False, repr=False)
class _Share:
    """The rows of a task."""

    pieces: Iterable[Any]
    domain: Domain
    rows: int | None
    places: dict[str, int] | None

    def batches(self, seen: list[int]) -> Iterator[Batch]:
        """Yield rows as integers, and add their numbers to `seen`."""
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
        """Return the place of each row; any place if places are not needed."""
        if self.places is None:
            return np.arange(at, at + piece.num_rows, dtype=np.uint64)
        file = piece.column(piece.num_columns - 2).dictionary_encode()
        starts = np.array([self.places[name] for name in file.dictionary.to_pylist()], np.uint64)
        index = piece.column(piece.num_columns - 1)
        return starts[file.indices.to_numpy()] + index.to_numpy().astype(np.uint64)


def _answer(rows: _Share, task: Work) -> Iterator[Any]:
    """Yield the answer of one task."""
    partition, answer = -1, b""
    seen: list[int] = []
    try:
        from pyspark import TaskContext

        with np.errstate(all="ignore"):
            context: Any = TaskContext.get()
            partition = context.partitionId()
            answer = task.of(rows.batches(seen))
    except BaseException:  # noqa: BLE001  # its text could contain values of rows
        answer = b""
    yield _sent(partition, sum(seen), answer)


def _add(pieces: Iterable[Any], task: Work) -> Iterator[Any]:
    """Yield the sum of the answers of some tasks."""
    partitions: set[int] = set()
    counts: list[int] = []

    def answers() -> Iterator[bytes]:
        for piece in pieces:
            for partition, n, answer in zip(*(column.to_pylist() for column in piece.columns),
                                       strict=True):
                if partition in partitions or not answer:
                    raise ReleaseFailed
                partitions.add(partition)
                counts.append(n)
                yield answer

    try:
        total = task.plus(answers())
    except BaseException:  # noqa: BLE001  # as above
        total = b""
    yield _sent(0, sum(counts), total)


def _sent(partition: int, n: int, answer: bytes) -> Any:
    import pyarrow as pa

    return pa.record_batch([pa.array([partition], pa.int32()), pa.array([n], pa.int64()),
                            pa.array([answer], pa.binary())], ["part", "n", "s"])
