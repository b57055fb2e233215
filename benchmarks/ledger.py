"""A charge and its commit, against two bare transactions that are as durable."""

from __future__ import annotations

import gc
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path

from measure import Goal
from privsieve.ledger.ledger import Ledger
from privsieve.methods import plan
from privsieve.public.domain import Domain
from privsieve.public.plan import Cost, terms

#: Bare transactions take this part of the time at least; and releases that came before.
LEAST, BEFORE = 0.4, 200


def bare(path):
    """A row in each of two transactions, with the pragmas of the ledger, over one connection."""
    db = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode=DELETE", "synchronous=EXTRA", "fullfsync=ON"):
        db.execute(f"PRAGMA {pragma}")
    db.execute("CREATE TABLE IF NOT EXISTS t(a INTEGER PRIMARY KEY, b TEXT) STRICT")

    def work():
        for _ in range(2):
            db.execute("BEGIN IMMEDIATE")
            db.execute("INSERT INTO t(b) VALUES (?)", ("x" * 600,))
            db.execute("COMMIT")

    return work


def charged(path):
    """A charge with the terms of a real plan, and its commit."""
    ledger = Ledger(path, population="people")
    ledger.grant(1000)
    planned = plan("rule-sieve", Domain.box(0, 1, columns=30), k=3, epsilon="0.1", rows=569)
    text = terms(planned, {"privsieve": "bench"})

    def work():
        ledger.commit(ledger.reserve(Cost.of("0.1"), text), "ab" * 32)

    for _ in range(BEFORE):
        work()
    return work


def wall(work, times):
    """Seconds of `count` calls: a transaction waits for the disk, which takes no CPU."""
    gc.collect()
    start = time.perf_counter()
    for _ in range(times):
        work()
    return time.perf_counter() - start


def goals(*, short):
    """In turns, because the disk is shared; a folder beside the results is on a real disk."""
    runs, times = (5, 10) if short else (15, 20)
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        peer, ours = bare(f"{folder}/bare.db"), charged(f"{folder}/budget.db")
        pairs = [(wall(ours, times), wall(peer, times)) for _ in range(runs)]
    spent, theirs = (statistics.median(series) / times for series in zip(*pairs, strict=True))
    ratio = statistics.median(first / other for first, other in pairs)
    yield Goal(f"reserve and commit after {BEFORE} / two bare durable transactions", ratio,
               1 / LEAST, f"ours {1000 * spent:.2f} ms, bare {1000 * theirs:.2f} ms: "
               f"{1 / ratio:.2f} of the rate")


if __name__ == "__main__":
    for goal in goals(short="--short" in sys.argv):
        print(f"{goal.ratio:.3f} of {goal.limit:.3f}  {goal.name}  [{goal.detail}]", flush=True)
