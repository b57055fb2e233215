"""Wall time with two threads beside one: kernels over pairs and sets, and whole choices.

Below 2^20 rows all rows are in memory at once, and both cores are to be used.  On a shared machine
wall times say little; each goal also tells the CPU time of the thread that asks, which on a quiet
machine is the wall time.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

import scale
from measure import Goal
from privsieve import kernels
from privsieve.kernels.contract import using_threads
from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch
from privsieve.summaries.layout import Layout
from privsieve.summaries.rules import rule_tables

COLUMNS, LIMIT, PAIRS = 50, .65, 5


def timed(work, threads):
    """Wall seconds of a call, and CPU seconds of the thread that asks."""
    with using_threads(threads):
        wall, own = time.perf_counter(), time.thread_time()
        work()
        return time.perf_counter() - wall, time.thread_time() - own


def shared(name, work):
    """The median over pairs of two threads beside one, in turns."""
    values = np.array([(*timed(work, 1), *timed(work, 2)) for _ in range(PAIRS)])
    (wall, own), (single, _, two, _) = np.median(values[:, 2:] / values[:, :2], axis=0), np.median(
        values, axis=0)
    return Goal(f"{name}: two threads / one, wall time", wall, LIMIT,
                f"{single:.3f} s, {two:.3f} s; CPU of the thread that asks: {own:.2f}")


def goals(*, short):
    """Each kernel, and RuleSieve from a Parquet file to its release."""
    if kernels.implementation() != "native":
        return  # the twins have one thread
    rows = 300_000 if short else 1_000_000
    rng, row = np.random.default_rng(0), np.arange(rows, dtype=np.uint64)
    codes = rng.integers(0, 65536, (COLUMNS, rows), np.uint16)
    batch = Batch(codes.T, (rng.random(rows) < .5).astype(np.int32), row, row)
    domain, weights = Domain.box(0, 1, columns=COLUMNS), np.array([[-1, 1]])
    tables, layout = rule_tables([batch], 7, domain=domain, order=3, grid=16), Layout.of(domain)
    size = f"{rows} x {COLUMNS}"
    for name, work in (("gains of pairs", partial(tables.bins.gain, weights, 16, layout)),
                       ("values of pairs", partial(tables.bins.pairs, weights, 16, layout)),
                       ("products of three", partial(tables.signs.best, 3, weights))):
        yield shared(f"{name}, {size}", work)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        scale.write(path, rows, COLUMNS)
        single, two = (scale.ours("rule-sieve", path, 4 * scale.GIB, jobs) for jobs in (1, 2))
        pairs = [(*scale.wall(single), *scale.wall(two)) for _ in range(PAIRS)]
    yield Goal(f"rule-sieve, {size}, from the file to the release: two threads / one, wall time",
               statistics.median(after / before for before, after in pairs), LIMIT,
               "{:.2f} s, {:.2f} s".format(*np.median(pairs, axis=0)))


if __name__ == "__main__":
    for goal in goals(short="--short" in sys.argv):
        print(f"{goal.ratio:.3f} of {goal.limit:.3f}  {goal.name}  [{goal.detail}]", flush=True)
