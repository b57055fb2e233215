"""The same tables for any folder of data: every private selector at equal epsilon, defaults as is.

    python experiments/unseen.py FOLDER [--short] [--jobs 2] [--only NAME ...]

takes each folder in FOLDER that holds `data.parquet` (a column a feature, the target `y`), or
`X.npz` (sparse, not negative) beside `rows.parquet` (its `y`), and writes a dated table into
`results/`.  A whole target of few values is a class; any other number is a number.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import protocol
from privsieve.methods import plan
from privsieve.noise.streams import replay
from privsieve.public.domain import Domain
from privsieve.rows import open_source
from privsieve.rows.batch import batches
from selection_tables import split

EPSILONS = ("0.1", "0.3", "1", "3", "10")
SPLITS, DRAWS, RANDOM = 8, 2, 30
#: A whole target of up to this number of values is a class.
MOST_CLASSES = 30
#: Wider tables, and longer ones, are cut to this by public numbers: place and order.
WIDEST, LONGEST = 3000, 20_000
OURS = "RuleSieve"
#: Every method as it comes: its name and what has to be said beside k and epsilon.
CLASSES = {
    OURS: ("rule-sieve", {}),
    "RuleSieve, one race": ("rule-sieve", {"joint": "none"}),
    "class-counts": ("noisy-top-k", {"score": "class-counts"}),
    "mean-difference": ("noisy-top-k", {"score": "mean-difference"}),
    "BlockFWELL": ("block-fwell", {}),
}
NUMBERS = {
    OURS: ("rule-sieve", {}),
    "RuleSieve, ranks": ("rule-sieve", {"numeric": "ranks", "joint": "none"}),
    "correlation": ("noisy-top-k", {"score": "correlation"}),
}
#: What says how many threads a library starts.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
#: Those that are no form of ours: what we are compared with, each for itself.
RIVALS = ("class-counts", "mean-difference", "BlockFWELL", "correlation", "random")


@dataclass(frozen=True, eq=False)
class Unseen:
    """A table with its target and how many columns to choose."""

    name: str
    X: np.ndarray
    y: np.ndarray
    k: int

    @property
    def number(self) -> bool:
        """Whether the target is a number."""
        return self.y.dtype.kind == "f"

    @property
    def methods(self) -> dict:
        """Who chooses here."""
        return NUMBERS if self.number else CLASSES


def tables(folder: Path) -> Iterator[Path]:
    """The folders that hold a table with a target."""
    for path in sorted(folder.iterdir()):
        if (path / "data.parquet").exists() or ((path / "X.npz").exists()
                                                and (path / "rows.parquet").exists()):
            yield path


def read(folder: Path) -> Unseen:
    """A table; its columns are brought to 0..1 by bounds that are treated as public here."""
    import pyarrow.parquet as pq

    if (folder / "data.parquet").exists():
        table = pq.read_table(folder / "data.parquet").to_pandas()
        y = table["y"].to_numpy()
        # another form of the target is no feature
        beside = [name for name in table if name == "y" or name.startswith(("y_", "disease19"))]
        X = table.drop(columns=beside).select_dtypes("number").to_numpy(float)
    else:
        X = np.minimum(sp.load_npz(folder / "X.npz")[:LONGEST].toarray(), 1).astype(float)
        y = pq.read_table(folder / "rows.parquet", columns=["y"])["y"].to_numpy()[:LONGEST]
    X, y = X[:, :WIDEST], np.asarray(y)
    if len(y) > LONGEST:
        kept = np.sort(np.random.default_rng(0).permutation(len(y))[:LONGEST])
        X, y = X[kept], y[kept]
    levels = np.unique(y)
    if y.dtype.kind == "f" and not (len(levels) <= MOST_CLASSES and np.all(levels % 1 == 0)):
        y = (y - y.min()) / (y.max() - y.min())
    else:
        y = np.searchsorted(levels, y)
    X = np.where(np.isfinite(X), X, np.nanmedian(np.where(np.isfinite(X), X, np.nan), axis=0))
    low, high = X.min(axis=0), X.max(axis=0)
    X = (X - low) / np.maximum(high - low, 1e-12)
    return Unseen(folder.name, X, y, how_many(X.shape[1]))


def how_many(d: int) -> int:
    """How many columns of d are chosen: a public rule, fixed before anybody looked.

    >>> [how_many(d) for d in (4, 9, 30, 60, 600)]
    [1, 2, 3, 5, 20]
    """
    return max(1, min(d // 4, 3 if d <= 40 else 5 if d <= 200 else 20))


def quality(table: Unseen, train: np.ndarray, test: np.ndarray, chosen: tuple[int, ...]) -> float:
    """Two plain learners on the chosen columns: mean balanced accuracy, or mean R2 of a number."""
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.metrics import balanced_accuracy_score, r2_score
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    X, y, columns = table.X, table.y, list(chosen)
    learners, judge = ((KNeighborsRegressor(9), Ridge(1e-3)), r2_score) if table.number else (
        (KNeighborsClassifier(3), LogisticRegression(max_iter=200)), balanced_accuracy_score)
    return float(np.mean([judge(y[test], learner.fit(X[train][:, columns], y[train]).predict(
        X[test][:, columns])) for learner in learners]))


def one_split(folder: Path, seed: int, epsilons: tuple[str, ...], draws: int) -> dict:
    """What each method's choices are worth on one split, by method and epsilon."""
    table = read(folder)
    classes = np.zeros(len(table.y), int) if table.number else table.y
    train, test = split(classes, seed)
    known: dict[tuple[int, ...], float] = {}

    def score(chosen) -> float:
        key = tuple(sorted(map(int, chosen)))
        if key not in known:
            known[key] = quality(table, train, test, key)
        return known[key]

    rng, d = np.random.default_rng([seed, 99]), table.X.shape[1]
    chance = float(np.mean([score(rng.choice(d, table.k, replace=False)) for _ in range(RANDOM)]))
    qualities = {("random", epsilon): chance for epsilon in epsilons}
    for name, epsilon, choices in choose_by_plans(table, table.methods, train, seed, epsilons,
                                                  draws):
        qualities[name, epsilon] = float(np.mean(list(map(score, choices))))
    return qualities


def choose_by_plans(table: Unseen, methods: dict, train: np.ndarray, seed: int,
                    epsilons: tuple[str, ...], draws: int,
                    ) -> Iterator[tuple[str, str, list[tuple[int, ...]]]]:
    """Yield each method, each epsilon, and the columns that some draws of noise choose."""
    d = table.X.shape[1]
    domain = (Domain.box(0, 1, columns=d, target=(0, 1)) if table.number else
              Domain.box(0, 1, columns=d, classes=list(range(int(table.y.max()) + 1))))
    source = open_source(table.X[train], y=table.y[train])
    summaries: dict[str, object] = {}
    chosen: dict[tuple[str, str], list[tuple[int, ...]]] = {}
    for name, (method, options) in methods.items():
        for epsilon in epsilons:
            planned = plan(method, domain, k=table.k, epsilon=epsilon, rows=len(train), **options)
            key = what_runs(planned)
            if (key, epsilon) not in chosen:
                if key not in summaries:
                    summaries[key] = planned.summarise(batches(
                        source, planned.coding, rows=len(train), entropy=replay(seed).bytes),
                        seed + 1)
                chosen[key, epsilon] = [planned.mechanism(summaries[key],
                                                          replay(1000 * seed + draw))
                                        for draw in range(draws)]
            yield name, epsilon, chosen[key, epsilon]


def what_runs(planned) -> str:
    """What rows become, which depends on the plan and not on all of its epsilon; and who chooses.

    A default that can only be one race is the same method as one race: noise is replayed, and what
    it chooses is the same.
    """
    settings = dict(planned.settings)
    if settings.get("branches") == ["one race"]:
        settings.pop("joint", None)
    return json.dumps([planned.method, settings], default=str, sort_keys=True)


def error(values: np.ndarray) -> float:
    """A standard error that counts that splits overlap (Nadeau and Bengio: 30 % are tested)."""
    return float(values.std(ddof=1) * (1 / len(values) + 3 / 7) ** .5)


def tabulate(table: Unseen, rows: list[dict], epsilons: tuple[str, ...],
             ) -> tuple[list[str], list[str]]:
    """The lines of a table, and a line for each rival that is ahead beyond two errors."""
    names = [name for name, epsilon in rows[0] if epsilon == epsilons[0]]
    what = "mean R2" if table.number else "mean balanced accuracy"
    lines = [f"## {table.name}: {len(table.y)} x {table.X.shape[1]}, k = {table.k}, {what}", "",
             "| method | " + " | ".join(epsilons) + " |", "|---" * (len(epsilons) + 1) + "|"]
    behind = []
    for name in sorted(names, key=lambda name: (name != OURS, name == "random", name)):
        cells = []
        for epsilon in epsilons:
            values = np.array([row[name, epsilon] for row in rows])
            ours = np.array([row[OURS, epsilon] for row in rows]) - values
            cells.append(f"{values.mean():.3f}" + (
                "" if name == OURS else f" ({ours.mean():+.3f}, {error(ours):.3f})"))
            if name in RIVALS and ours.mean() < -2 * error(ours):
                behind.append(f"| {table.name} | {name} | {epsilon} | {ours.mean():+.3f} "
                              f"({error(ours):.3f}) |")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return [*lines, ""], behind


HEAD = """\
# Every private selector, on each table of a folder

{splits} splits (70 % of the rows choose, 30 % test), {draws} draws of noise in each. All methods at
the same true epsilon and with their defaults; k by a rule on the number of columns alone. In
brackets: how far RuleSieve is ahead, paired by split, and the standard error of that, which counts
that splits overlap. Bounds are the columns' own and are treated as public. Classes: three nearest
neighbours and a logistic regression; numbers: nine nearest neighbours and ridge regression. Tables
of more than {widest} columns or {longest} rows are cut. Noise is replayed from a seed.
"""


def summed_up(behind: list[str]) -> list[str]:
    """The last part: where a rival is ahead."""
    return ["## Where RuleSieve is behind a rival by more than two standard errors", "",
            *(["| table | rival | epsilon | difference |", "|---|---|---|---|", *behind]
              if behind else ["Nowhere."]), ""]


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*")
    arguments = parser.parse_args()
    splits, draws, epsilons = (3, 1, ("0.3", "3")) if arguments.short else (SPLITS, DRAWS, EPSILONS)
    folders = [table for table in tables(arguments.folder)
               if not arguments.only or table.name in arguments.only]
    if not folders:
        raise SystemExit(f"no table in {arguments.folder}: a table is a folder with data.parquet, "
                         "with X.npz and rows.parquet")
    short = "_short" if arguments.short else ""
    out = protocol.RESULTS / f"unseen{short}_{dt.datetime.now(dt.UTC):%Y-%m-%d}.md"
    lines, behind = [HEAD.format(splits=splits, draws=draws, widest=WIDEST, longest=LONGEST)], []
    # A process uses one core: on small tables the threads of several cost more than they bring.
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        for folder in folders:
            rows = list(pool.map(partial(one_split, folder, epsilons=epsilons, draws=draws),
                                 range(100, 100 + splits)))
            extra_lines, lost = tabulate(read(folder), rows, epsilons)
            lines, behind = lines + extra_lines, behind + lost
            # written as far as it goes: a long run that is stopped has said something
            out.write_text("\n".join(lines + summed_up(behind)), encoding="utf-8")
            print(folder.name, file=sys.stderr, flush=True)
    print(out.name)


if __name__ == "__main__":
    main()
