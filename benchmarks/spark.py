"""A frame of Spark beside the same file read by one process: one release, and what it costs.

    python benchmarks/spark.py [ROWS [COLUMNS]]

Needs the extra `spark` and a Java runtime.  Under replayed noise both releases have to be the same
bytes.  The overhead is the wall time on `local[2]`, with a session that runs already, over that of
one process with both cores.  A figure is printed and held to no goal: most of it is Spark.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession

import privsieve as ps
from privsieve.fit import fit
from privsieve.noise.streams import replay
from privsieve.rows import open_source
from privsieve.rows.room import Room
from scale import write

ROWS, COLUMNS = 10_000_000, 50


def timed(plan, table):
    """One release, its wall time, and the CPU time that this process itself took."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    model = fit(plan, open_source(table), noise=replay(1), room=Room.usual())
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return model.bytes, time.perf_counter() - start, cpu


def main(rows=ROWS, columns=COLUMNS):
    """Both ways, for a choice by scores and for a table of counts."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    domain = ps.Domain([ps.Number(f"x{j}", 0, 1) for j in range(int(columns))],
                       target=ps.Label("y", [0, 1]))
    session = SparkSession.builder.master("local[2]").getOrCreate()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        write(path, int(rows), int(columns))
        frame = session.read.parquet(str(path))
        for estimator in (ps.NoisyTopK(5, epsilon=1, domain=domain),
                          ps.NoisyHistogram(columns=["x0", "x1"], bins=16, epsilon=1,
                                            domain=domain)):
            plan = estimator.plan(rows=int(rows))
            here, wall, cpu = timed(plan, path)
            there, slower, driver = timed(plan, frame)
            assert here == there
            print(f"{plan.method}, {rows} x {columns}: one process {wall:.1f} s ({cpu:.1f} s CPU), "
                  f"local[2] {slower:.1f} s ({driver:.1f} s CPU in the driver), "
                  f"{slower / wall:.1f} times", flush=True)
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
