"""Tables that do not fit: whole processes in a limit of memory, against polars' streaming means.

Each of ours is a process of its own that may take a limit of data and no more (`RLIMIT_DATA`); what
it cannot hold lies in a private file.  The peer reads the same Parquet file and gives the mean of
each column by class, in a stream.

    python benchmarks/scale.py many [FOLDER]

is the longest: 50,000,000 rows of 100 columns in 2 GiB, with 5 GB of Parquet and 11 GB of rows in
the folder (that of temporary files where none is named).

    python benchmarks/scale.py each [ROWS]

prints the table of docs/reader.md: what each method takes of a smaller table that it may not hold.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np

import privsieve as ps
from measure import Goal, call, program
from privsieve import kernels
from privsieve.fit import fit
from privsieve.rows import open_source, resolve
from privsieve.rows.batch import Batch, batches
from privsieve.rows.room import Room
from privsieve.summaries.rules import rule_tables

GIB = 2**30
COLUMNS = 20
#: Rows of a group of the file.
GROUP = 2**17
#: Times the CPU of the peer.
LIMITS = {"noisy-top-k": 2, "noisy-histogram": 2, "rule-sieve": 5}
PEER = ("import sys, polars as pl; "
        "pl.scan_parquet(sys.argv[1]).group_by('y').agg(pl.all().mean()).collect("
        "engine='streaming')")


def goals(*, short):
    """Each method in a gigabyte, and how long it takes beside the peer; both cores beside one."""
    if kernels.implementation() != "native":
        return []  # the twins are held to no speed
    rows, runs = (4_000_000, 1) if short else (20_000_000, 3)
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        write(path, rows, COLUMNS)
        peer = program([sys.executable, "-c", PEER, path], runs)
        for method, most in LIMITS.items():
            own = program(ours(method, path, GIB), runs)
            lines.append(Goal(f"{method}, {rows} x {COLUMNS} in 1 GiB / polars' streaming means",
                              own / peer, most, f"ours {own:.1f} s, polars {peer:.1f} s, CPU"))
        lines += both_cores(path, rows, runs)
        lines.append(planes(Path(folder) / "flags.parquet", rows // 10))
    return lines


def planes(path, rows):
    """Bits of flags, once they are there: all their pairs by class, beside the peer's means."""
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    names = [f"x{j}" for j in range(COLUMNS)]
    y = rng.integers(0, 2, rows)
    pq.write_table(pa.table([*(rng.random((COLUMNS, rows)) < .4), y], [*names, "y"]), path)
    domain = ps.Domain([ps.Flag(name) for name in names], target=ps.Label("y", [0, 1]))
    read = Batch.concat(list(batches(open_source(path), domain, rows=rows, entropy=os.urandom)))
    signs = rule_tables([read], 7, domain=domain, order=2, grid=0).signs
    peer = call(lambda: pl.scan_parquet(path).group_by("y").agg(pl.all().mean()).collect(
        engine="streaming"), 5)
    own = call(lambda: signs.best(2, np.array([[1, -1]])), 5)
    return Goal(f"all pairs of {COLUMNS} flags by class from planes of {rows} rows / polars' "
                "streaming means of their Parquet", own / peer, 1 / 20,
                f"ours {1000 * own:.2f} ms, polars {1000 * peer:.1f} ms, CPU")


def many(folder=None):
    """The longest: how long each method takes, and how much memory."""
    rows, columns = 50_000_000, 100
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = Path(place) / "table.parquet"
        write(path, rows, columns, levels=100)
        for method in LIMITS:
            start, before = time.perf_counter(), os.times()
            subprocess.run([str(row) for row in ours(method, path, 2 * GIB, 2)], check=True,
                           env={**os.environ, "TMPDIR": place})
            after = os.times()
            spent = sum(after[2:4]) - sum(before[2:4])
            print(f"{method}, {rows} x {columns} in 2 GiB: {time.perf_counter() - start:.0f} s, "
                  f"{spent:.0f} s of CPU", flush=True)


#: What is run of each method for the table of the documents; memory that rows may take.
EACH = {
    "noisy-top-k": {"k": 4},
    "noisy-top-k --score class-counts": {"k": 4, "score": "class-counts"},
    "noisy-histogram --columns x0,x1": {"columns": ["x0", "x1"], "bins": 16},
    "rule-sieve --depth 1 --joint none": {"k": 4, "depth": 1, "joint": "none"},
    "rule-sieve --joint none": {"k": 4, "joint": "none"},
    "rule-sieve": {"k": 4},
    "block-fwell": {"k": 4},
}
SOME = "200MB"


def each(rows=4_000_000):
    """A row a method: CPU a cell with and without room, and memory that was its own at most."""
    print("| method | CPU a cell, in memory | in 200 MB | own memory at most |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "table.parquet"
        write(path, int(rows), COLUMNS)
        for method in EACH:
            outputs = [subprocess.run([sys.executable, __file__, "one", method, path, *memory],
                                      check=True, capture_output=True, text=True).stdout.split()
                       for memory in ((), (SOME,))]
            (free, _), (tight, most) = ([float(word) for word in output] for output in outputs)
            cells = int(rows) * COLUMNS
            print(f"| {method} | {1e9 * free / cells:.1f} ns | {1e9 * tight / cells:.1f} ns | "
                  f"{most / 1e6:.0f} MB |", flush=True)


def single_run(method, path, memory=None):
    """CPU seconds of one release, by one thread, and the most memory that no file stands behind."""
    warnings.simplefilter("ignore")  # nothing is signed here
    domain = ps.Domain([ps.Number(f"x{j}", 0, 1) for j in range(COLUMNS)],
                       target=ps.Label("y", [0, 1]))
    source = open_source(Path(path))
    plan = ps.plan(method.split()[0], domain, rows=source.count(), epsilon=1, **EACH[method])
    most, ended = [0], threading.Event()

    def watch():
        while not ended.wait(.01):
            status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
            now = next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))
            most[0] = max(most[0], 1024 * now)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    start = time.process_time()
    fit(plan, source, room=Room.usual(memory, 1))
    spent = time.process_time() - start
    ended.set()
    watcher.join()
    print(spent, most[0])


def both_cores(path, rows, runs):
    """Wall time with all cores beside that with one, from the file to the release.

    Cores that share what they are made of slow each other: two processes at once say how much.
    """
    for method in ("noisy-top-k", "rule-sieve"):
        first, two = (ours(method, path, GIB, jobs) for jobs in (1, 2))
        # In turns: a shared machine has slow minutes.
        values = np.array([(*wall(first), *wall(two), max(wall(first, first)))
                           for _ in range(runs)])
        alone, threads, beside = np.median(values, axis=0)
        yield Goal(f"{method}, {rows} x {COLUMNS}: two threads / one, wall time",
                   threads / alone, .6, f"{threads:.1f} s, {alone:.1f} s; two processes at once, "
                   f"which share nothing, would take {beside / 2 / alone:.2f}")


def wall(*commands):
    """Seconds that processes say they took once their modules were there; they must succeed."""
    started = [subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
               for command in commands]
    outputs = [process.communicate()[0] for process in started]
    assert not any(process.returncode for process in started)
    return [float(text.split()[-1]) for text in outputs]


def ours(method, path, limit, jobs=1):
    """The command of one release in a limit of memory."""
    return [sys.executable, __file__, method, path, limit, jobs]


def write(path, rows, columns, levels=None):
    """Numbers from 0 to 1, or some levels; the first four matter for the class."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(columns)]
    kind = pa.float64() if levels is None else pa.uint8()
    schema = pa.schema([*((name, kind) for name in names), ("y", pa.int64())])
    with pq.ParquetWriter(path, schema) as file:
        for start in range(0, rows, GROUP):
            many = min(GROUP, rows - start)
            table = (rng.random((columns, many)) if levels is None else
                     rng.integers(0, levels, (columns, many), np.uint8))
            top = 1 if levels is None else levels
            y = (table[:4].sum(axis=0, dtype=float) / top + rng.random(many) > 2.5).astype(np.int64)
            file.write_table(pa.table([*table, y], schema=schema))


def main(method, path, limit, jobs):
    """One release of a file, in a limit of memory; prints what it chose, and seconds it took."""
    limits = (int(limit), resource.getrlimit(resource.RLIMIT_DATA)[1])
    resource.setrlimit(resource.RLIMIT_DATA, limits)
    open_source(Path(path))  # loads Arrow, and says before where it takes memory
    columns, top = columns_of(path)
    start = time.perf_counter()
    source = open_source(Path(path))
    domain = ps.Domain([ps.Number(f"x{j}", 0, top) for j in range(columns)],
                       target=ps.Label("y", [0, 1]))
    domain = resolve(domain, source.shape(count_rows=True))
    # Of fewer rows "auto" looks at sets, too, as long as `max_ops` lasts.
    options = {"noisy-histogram": {"columns": ["x0", "x1"], "bins": 16},
               "rule-sieve": {"k": 4, "joint": "none"}}.get(method, {"k": 4})
    plan = ps.plan(method, domain, rows=source.count(), epsilon=1, **options)
    release = fit(plan, source, room=Room.usual(jobs=int(jobs)))
    print(*(release.selected or [len(release.bytes)]), time.perf_counter() - start)


def columns_of(path):
    """How many columns of numbers a file has, and where they end."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pq.read_schema(path)
    return len(schema.names) - 1, 100 if pa.types.is_integer(schema.types[0]) else 1


if __name__ == "__main__":
    verbs = {"many": many, "each": each, "one": single_run}
    if sys.argv[1] in verbs:
        verbs[sys.argv[1]](*sys.argv[2:])
    else:
        main(*sys.argv[1:])
