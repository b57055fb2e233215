"""Law: on a cluster the same release comes out, it is charged once, and no row speaks."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import shutil
import signal
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import privsieve as ps
from every_method import ESTIMATORS, WARD, table
from privsieve import fit as fitting
from privsieve.errors import ParameterError, ReleaseFailed, SchemaError
from privsieve.extras.spark import frame as clusters
from privsieve.noise.streams import replay
from privsieve.rows import open_source
from privsieve.summaries.stages import Stages

sql = pytest.importorskip("pyspark.sql", reason="the spark extra is not installed")
if shutil.which("java") is None:
    pytest.skip("Spark needs a Java runtime", allow_module_level=True)

fcntl = pytest.importorskip("fcntl", reason="Spark's tests need the locks of Unix")

from pyspark import cloudpickle  # noqa: E402  # once it is known to be there

# Workers get the functions of this module, and need not have it.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:PySpark does not yet"),
              # Spark leaves sockets and processes to the end of the program.
              pytest.mark.filterwarnings("ignore::ResourceWarning"),
              pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]
SECRET = "the-cell-of-somebody"
ROWS = 400
MODES = ("local[2]", "local-cluster[2,1,1024]", "connect")
#: One pass, and several (`test_spark_cluster` has every method).
PASSES = {estimator.name: estimator for estimator in ESTIMATORS
          if estimator.name in ("noisy-top-k", "rule-sieve")}.values()


class Spark:
    """A session, and all that its processes print."""

    def __init__(self, mode, folder):
        self.folder = folder
        os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1",
                       "SPARK_SCALA_VERSION": "2.13", "SPARK_WORKER_DIR": str(folder / "work"),
                       # What runs for a minute is not worth a second compilation.
                       "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
                       "PYTHONPATH": str(Path(ps.__file__).parents[1])}
        builder = sql.SparkSession.builder
        if mode == "connect":
            builder = builder.remote("local[2]")
        else:
            builder = builder.master(mode).config("spark.ui.enabled", "false").config(
                "spark.sql.warehouse.dir", str(folder))
        # A process prints to where the one that starts it does.
        with (folder / "printed").open("ab") as file, printing_to(file):
            self.session = builder.getOrCreate()

    def read(self, path):
        return self.session.read.parquet(str(path))

    def printed(self):
        return "".join(path.read_text(errors="replace") for path in
                       (*self.folder.parent.glob("spark*/printed"),
                        *self.folder.glob("work/*/*/std*")))


@contextlib.contextmanager
def printing_to(file):
    """Let this process, and those it starts, print to a file."""
    kept = os.dup(1), os.dup(2)
    os.dup2(file.fileno(), 1)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)


@pytest.fixture(scope="module", params=MODES)
def spark(request, tmp_path_factory):
    """One session a mode; a server of Connect has one port, for all processes of the tests."""
    interrupted = signal.getsignal(signal.SIGINT)
    with (tmp_path_factory.getbasetemp().parent / "connect").open("w") as port:
        if request.param == "connect":
            fcntl.flock(port, fcntl.LOCK_EX)
        new_spark = Spark(request.param, tmp_path_factory.mktemp("spark"))
        yield new_spark
        new_spark.session.stop()
    gc.collect()
    # Spark takes Ctrl-C for itself, and keeps it.
    signal.signal(signal.SIGINT, interrupted)


@pytest.fixture(scope="module")
def ward(tmp_path_factory):
    """The ward of the laws, in three files."""
    folder = tmp_path_factory.mktemp("ward")
    for piece, rows in enumerate(np.array_split(np.arange(ROWS), 3)):
        pq.write_table(pa.Table.from_pandas(table(ROWS).iloc[rows], preserve_index=False),
                       folder / f"{piece}.parquet")
    return folder


@pytest.fixture
def plan():
    """A plan of a method whose summary the tests replace."""
    return ps.NoisyTopK(2, epsilon=1, domain=WARD).plan(rows=ROWS)


def of_codes(rows, _key, _before):
    """A sum that looks at no place of a row."""
    return sum((batch.codes.astype(np.int64).sum(axis=0) + 65536 * int(batch.label.sum())
                for batch in rows), np.zeros(4, np.int64))


def of_places(rows, key, _before):
    """One that does, and looks at the sum before it."""
    total = np.zeros(4, np.int64)
    for batch in rows:
        weight = (batch.row * np.uint64(key % 97) + batch.unit).astype(np.int64)
        total += (weight[:, None] * batch.codes % 1009).sum(axis=0)
    return total * (_before[0][0] % 7 + 1)


def of_secret(rows, _key, _before):
    """A stage that says what it saw."""
    if rows:
        raise ValueError(f"{SECRET} {rows[0].codes[:3].tolist()}")
    return np.zeros(1, np.int64)


def of_list(stage, piece, key, totals):
    """A stage that takes a list of batches."""
    return stage([piece] if len(piece) else [], key, totals)


def added_up(plan, *stages, placed=False):
    """A plan with a summary of our own, and a list that keeps it."""
    kept = []

    def mechanism(summary, _noise):
        kept.append(summary)
        return (0, 1)

    return replace(plan, mechanism=mechanism, summarise=Stages(
        tuple(partial(of_list, stage) for stage in stages), len(plan.domain.columns),
        placed=placed)), kept


def summary(plan, X, *stages, placed=False):
    """The sums of some stages over a table."""
    plan, kept = added_up(plan, *stages, placed=placed)
    fitting.fit(plan, open_source(X), noise=replay(3))
    return [piece.tolist() for piece in kept[0]]


@pytest.mark.parametrize("method", PASSES, ids=str)
def test_the_release_is_that_of_the_frame_in_memory(spark, ward, method):
    """Under replayed noise the same bytes come out; columns that no domain names are not read."""
    here, there = (fitting.fit(method.plan(), open_source(each), noise=replay(3))
                   for each in (method.table(), spark.read(ward)))

    assert here.bytes == there.bytes


def test_places_are_those_of_the_files(spark, ward, plan):
    """Where a stage breaks ties, rows have the places that they have in the folder."""
    frame = spark.read(ward)
    expected = summary(plan, table(ROWS)[[*WARD.names, "back"]], of_codes, of_places, placed=True)

    assert expected == summary(plan, frame, of_codes, of_places, placed=True)
    assert expected == summary(plan, frame.select("back", *WARD.names), of_codes, of_places,
                               placed=True)


# The only mode with executors apart from the driver.
@pytest.mark.parametrize("spark", MODES[1:2], indirect=True)
def test_an_executor_that_is_killed_changes_nothing_and_is_charged_once(
        spark, ward, plan, ledger, tmp_path):
    """A lost executor's parts are made again, and each is in the sum once."""
    def deadly(rows, key, totals):
        if rows:
            with contextlib.suppress(FileExistsError):
                with (tmp_path / "killed").open("x") as file:
                    # The process that started the one that starts workers.
                    executor = Path(f"/proc/{os.getppid()}/stat").read_text().split()[3]
                    file.write(Path(f"/proc/{executor}/cmdline").read_text())
                os.kill(int(executor), signal.SIGKILL)
        return of_codes(rows, key, totals)

    expected = summary(plan, table(ROWS)[[*WARD.names, "back"]], of_codes)
    total, kept = added_up(plan, deadly)
    release = fitting.fit(total, open_source(spark.read(ward)), ledger=ledger)

    assert "CoarseGrainedExecutorBackend" in (tmp_path / "killed").read_text()
    assert expected == [piece.tolist() for piece in kept[0]]
    assert release.certificate is not None
    assert ledger.spent() == 1
    assert len(ledger.charges()) == 1


def test_no_text_of_a_worker_reaches_the_driver(spark, ward, plan, ledger, capfd, caplog):
    """What a worker raises has the one text of a release that failed, and is printed nowhere."""
    caplog.set_level(logging.DEBUG)
    total, _ = added_up(plan, of_secret)
    with pytest.raises(ReleaseFailed) as failed:
        fitting.fit(total, open_source(spark.read(ward)), ledger=ledger)

    assert (failed.value.__cause__, failed.value.__context__) == (None, None)
    assert str(failed.value) == str(ReleaseFailed())
    output = capfd.readouterr()
    assert SECRET not in output.out + output.err + caplog.text + spark.printed()


def test_no_text_of_spark_reaches_the_driver(spark, plan, tmp_path, capfd, caplog, monkeypatch):
    """Where a query stops at a row, which is refused as long as it can be seen in the query."""
    caplog.set_level(logging.DEBUG)
    rows = table(ROWS)
    rows["age"] = [SECRET, *map(str, rows["age"][1:])]
    rows.to_parquet(tmp_path / "texts.parquet")
    frame = spark.read(tmp_path).selectExpr("cast(age as int) age", "stay", "smoker", "ward",
                                            "back")
    with pytest.raises(SchemaError, match="computes"):
        open_source(frame)
    monkeypatch.setattr(clusters, "_plain", lambda _step: True)
    with pytest.raises(ReleaseFailed) as failed:
        summary(plan, frame, of_codes)

    assert (failed.value.__cause__, failed.value.__context__) == (None, None)
    output = capfd.readouterr()
    assert SECRET not in output.out + output.err + caplog.text + spark.printed()


# The only modes whose driver has a log of the JVM.
@pytest.mark.parametrize("spark", MODES[:2], indirect=True)
def test_the_log_is_as_before(spark, ward, plan):
    """After a release Spark logs what it logged before it, and no more."""
    log4j = spark.session.sparkContext._jvm.org.apache.logging.log4j
    for name, (_off, _level, change) in clusters._levels(log4j).items():
        change(name, log4j.Level.INFO)  # a filter leaves out what is below WARN
    printed = len(spark.printed())
    summary(plan, spark.read(ward), of_codes)
    spark.session.range(3).count()

    assert " INFO " not in spark.printed()[printed:]
    log4j.LogManager.getRootLogger().error("again")
    assert "again" in spark.printed()[printed:]


def test_what_cannot_be_read_is_refused_before_the_charge(spark, ward, plan, ledger):
    """A frame without the places that a summary asks for costs nothing."""
    frame = spark.read(ward)
    placed, _ = added_up(plan, of_places, placed=True)
    for rows in (frame.repartition(2), frame.orderBy("age"), frame.union(frame)):
        with pytest.raises(ParameterError, match="unchanged"):
            fitting.fit(placed, open_source(rows), ledger=ledger)

    assert ledger.spent() == 0


def test_a_frame_that_fits_no_domain_is_refused(spark, ward):
    """Columns that are not there, types that cannot be read, queries that compute."""
    frame = spark.read(ward)
    estimator = ps.NoisyTopK(2, epsilon=1, domain=WARD)
    for rows, text in ((frame.drop("age"), "'age' is not in the table"),
                       (frame.withColumn("ward", frame["age"]), "with the value 'A'"),
                       (frame.selectExpr("*", "array(age) a").drop("age"), "computes"),
                       (frame.groupBy("ward").count(), "computes"),
                       (frame.selectExpr("age + 1 age"), "computes"),
                       (frame.where("age / stay > 1"), "computes")):
        with pytest.raises(SchemaError, match=text):
            estimator.fit(rows)
    with pytest.raises(SchemaError, match="put the target into the frame"):
        estimator.fit(frame, table(ROWS)["back"])
    with pytest.raises(SchemaError, match="which this method cannot read"):
        ps.inspect(frame, domain=WARD)


def test_workers_that_cannot_do_the_work_are_refused(spark, ward, plan, monkeypatch):
    """Another version on a worker is found before the charge."""
    monkeypatch.setattr(clusters, "__version__", "0.0.0")
    with pytest.raises(ParameterError, match=r"another version .* 0\.0\.0"):
        summary(plan, spark.read(ward), of_codes)
