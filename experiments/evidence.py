"""Measure private selectors on many public tables: `make evidence`.

    python experiments/evidence.py [--only NAME ...] [--limit SECONDS] [--out FILE]

appends a line for each set, split, method and epsilon to `results/evidence_DATE.csv`. A run that is
cut off goes on where it was: splits that are in the file are not measured again. The page
`docs/evidence.md` and its figures are written from the file by `evidence_page.py`.

A set is one of `evidence_data.py`; a method is a selector of this package with its defaults, one of
`private_rivals.py`, or `kendall.py`. All have the same true epsilon: one row is replaced.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if __name__ == "__main__":  # before NumPy is imported: threads cost more here than they bring
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import numpy as np

import evidence_data
import kendall
import protocol
from private_rivals import RIVALS
from selection_tables import split
from unseen import CLASSES, NUMBERS, OURS, choose_by_plans, quality

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unseen import Unseen

EPSILONS = ("0.1", "0.3", "1", "3", "10")
SPLITS, DRAWS, RANDOM = 5, 2, 10
#: The selectors of this package that are measured; report-noisy-max is `NoisyTopK` by its score.
PLANNED = {
    False: {name: CLASSES[name] for name in (OURS, "mean-difference", "BlockFWELL")},
    True: {name: NUMBERS[name] for name in (OURS, "RuleSieve, ranks", "correlation")},
}
FIELDS = ("kind", "set", "rows", "columns", "k", "split", "method", "epsilon", "score")
#: The seed of the first split.
FIRST = 500


def measure_split(table: Unseen, seed: int) -> dict[tuple[str, str], float]:
    """Return what each method's columns predict on one split, by method and epsilon."""
    classes = np.zeros(len(table.y), int) if table.number else table.y
    train, test = split(classes, seed)
    known: dict[tuple[int, ...], float] = {}

    def judge(columns: tuple[int, ...]) -> float:
        key = tuple(sorted(map(int, columns)))
        if key not in known:
            known[key] = quality(table, train, test, key)
        return known[key]

    rng, d = np.random.default_rng([seed, 99]), table.X.shape[1]
    scores = {("random", ""): float(np.mean([judge(rng.choice(d, table.k, replace=False))
                                             for _ in range(RANDOM)])),
              ("all columns", ""): judge(tuple(range(d)))}
    for name, epsilon, choices in choose_by_plans(
            table, PLANNED[table.number], train, seed, EPSILONS, DRAWS):
        scores[name, epsilon] = float(np.mean(list(map(judge, choices))))
    rivals = RIVALS | ({"Kendall": kendall.choose_in_table} if table.number else {})
    for place, (name, choose) in enumerate(rivals.items()):
        for epsilon in EPSILONS:
            noise = np.random.default_rng([seed, place, round(10 * float(epsilon))])
            scores[name, epsilon] = float(np.mean([
                judge(choose(table, train, float(epsilon), noise)) for _ in range(DRAWS)]))
    return scores


def lines_of_set(name: str, *, number: bool, splits: list[int]) -> Iterator[list[dict]]:
    """Yield the lines of the file for each split of a set."""
    table = evidence_data.read_set(name, number=number)
    for seed in splits:
        scores = measure_split(table, FIRST + seed)
        head = {"kind": "number" if number else "class", "set": name, "rows": len(table.y),
                "columns": table.X.shape[1], "k": table.k, "split": seed}
        yield [head | {"method": method, "epsilon": epsilon, "score": f"{score:.4f}"}
               for (method, epsilon), score in scores.items()]


def read_lines(path: Path) -> list[dict[str, str]]:
    """Return the lines of a file of results; none where there is no file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def append_lines(path: Path, lines: list[dict], fields: tuple[str, ...] = FIELDS) -> None:
    """Append lines in one write, so that a split is in the file whole or not at all."""
    new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerows(lines)


def newest(stem: str) -> Path:
    """Return the newest file of results of this name, or today's name."""
    files = sorted(protocol.RESULTS.glob(f"{stem}_????-??-??.csv"))
    today = protocol.RESULTS / f"{stem}_{dt.datetime.now(dt.UTC):%Y-%m-%d}.csv"
    return files[-1] if files else today


def stop_set(*_: object) -> None:
    """End a set that takes too long."""
    raise TimeoutError


def main() -> None:
    """Measure the sets that are not in the file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", help="names of sets, such as keel/wdbc")
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--limit", type=float, default=90, help="seconds of CPU for a set")
    parser.add_argument("--total", type=float, default=2400, help="seconds of CPU for the run")
    parser.add_argument("--out", type=Path, default=newest("evidence"))
    options = parser.parse_args()
    if not evidence_data.DATA.is_dir():
        protocol.end_without_data(f"no folder {evidence_data.DATA}: `make evidence` fetches the "
                                  "packages that hold the tables")
    measured = {(line["kind"], line["set"], int(line["split"])) for line in read_lines(options.out)}
    signal.signal(signal.SIGVTALRM, stop_set)
    for number in (True, False):
        for name in evidence_data.name_sets(numbers=number):
            kind = "number" if number else "class"
            missing = [seed for seed in range(options.splits) if (kind, name, seed) not in measured]
            if not missing or (options.only and name not in options.only):
                continue
            if time.process_time() > options.total:
                print("the time of the run is over; run again to go on", file=sys.stderr)
                return
            began = time.process_time()
            signal.setitimer(signal.ITIMER_VIRTUAL, options.limit)
            try:
                for lines in lines_of_set(name, number=number, splits=missing):
                    append_lines(options.out, lines)
            except TimeoutError:
                print(f"{name}: more than {options.limit:.0f} s", file=sys.stderr)
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            print(f"{kind} {name} {time.process_time() - began:.1f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
