"""Containment against the floor of its memory traffic, and the paper's own loops.

The floor is one pass of a C loop over all entries that looks up the label of each: what any
count by class must do at the least.  The literal algorithm of the paper asks `np.unique` for the
patterns of every candidate anew; it is timed on some candidates and extrapolated to all of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from measure import Goal, call, paired
from privsieve import kernels
from privsieve.containment.choose import modular_order, weights
from privsieve.containment.labelled import Labelled
from privsieve.containment.measures import containment_level
from privsieve.containment.publishable import publishable
from privsieve.kernels import patterns
from privsieve.kernels.patterns import Rule
from privsieve.rows.items import items_of
from privsieve.rows.matrix import Items

DATA = Path(os.environ.get("PRIVSIEVE_DATA", Path(__file__).parents[2] / "shared" / "data"))
COLUMNS, ENTRIES, K = 5000, 45, 5


def goals(*, short):
    """Goals of the referee's page, at k = 5; the short form has a tenth of the rows."""
    rows = 100_000 if short else 1_000_000
    return [*email(), *large(rows, 3 if short else 5), *growth(),
            *archives(1 if short else 5), *few(300_000 if short else 1_000_000)]


#: Ones in each of 30 columns: few, half, and from few to half.
DENSITIES = {"few ones": 0.15, "half ones": 0.5, "few to half": np.linspace(0.02, 0.5, 30)}
#: The time of a level with ten times the rows: at most this factor; rows times log rows is 12.
GROWTH = 14


def growth(rows=100_000):
    """How much longer a level takes of ten times the rows; wall, median of three."""
    seconds = []
    for name, density in DENSITIES.items():
        few, many = (wall(table_of_ones(size, density)) for size in (rows, 10 * rows))
        seconds.append(Goal(f"level of {10 * rows:,} x 30, {name} / of {rows:,} x 30", many / few,
                            GROWTH, f"{few:.3f} s, {many:.3f} s"))
    return seconds


def table_of_ones(rows, density):
    """A table of 30 columns of zeros and ones."""
    return (np.random.default_rng(5).random((rows, 30)) < density).astype(np.uint8)


def wall(table, runs=3):
    """Median seconds of the level of a table, after one that warms up."""
    containment_level(table)
    spent = []
    for _ in range(runs):
        start = time.perf_counter()
        containment_level(table)
        spent.append(time.perf_counter() - start)
    return sorted(spent)[runs // 2]


def generated(rows, columns=COLUMNS):
    """Columns of falling density, each leaning to one of two classes: 42 entries a row."""
    rng = np.random.default_rng(2)
    y = (rng.random(rows) < 0.4).astype(np.int32)
    density = np.arange(1, columns + 1) ** -0.8
    density = np.minimum(density * ENTRIES / density.sum(), 0.5)
    rates = np.minimum(density[:, None] * np.exp(rng.normal(-0.1, 0.5, (columns, 2))), 0.7)
    members = [np.flatnonzero(y == c).astype(np.int32) for c in (0, 1)]
    held = [np.sort(np.concatenate([some[spread(rng, len(some), rate)]
                                    for some, rate in zip(members, pair, strict=True)]))
            for pair in rates]
    indptr = np.cumsum([0, *map(len, held)]).astype(np.int64)
    names = ("",) * columns
    return Items(indptr, np.concatenate(held), rows, names, names), y


def spread(rng, rows, rate):
    """Positions that are each taken with this probability."""
    at = np.cumsum(rng.geometric(rate, int(rows * rate + 6 * (rows * rate) ** 0.5 + 9))) - 1
    return at[at < rows]


def large(rows, runs):
    """Counts, greedy skip and DistCnt with break, as multiples of the floor; memory."""
    if kernels.implementation() != "native":
        return []  # the twins are held to no speed
    items, y = generated(rows)
    cells, rule = (items.indptr, items.indices), Rule(K, 2)
    order = modular_order(weights(items, y, 2, "hamming").values, np.arange(COLUMNS))
    floor = call(lambda: np.sum(y[items.indices]), runs)  # looks up the label of each entry
    count = call(lambda: patterns.class_counts(*cells, y, 2), runs)
    skip = call(lambda: patterns.greedy(cells, y, order, rule), runs)
    distinct = call(lambda: patterns.lazy_distinct(cells, y, np.arange(COLUMNS),
                                                   Rule(K, 2, "break")), runs)
    size = f"{rows:,} x {COLUMNS:,}, {items.indptr[-1] / 1e6:.1f} M entries"
    peak, arrays = memory(items, y, "kernels_in_turn")
    return [
        Goal("class counts / gather floor", count / floor, 2,
             f"{size}: floor {floor:.4f} s, ours {count:.4f} s"),
        Goal("greedy skip / gather floor", skip / floor, 25, f"ours {skip:.4f} s"),
        Goal("DistCnt with break / gather floor", distinct / floor, 25, f"ours {distinct:.4f} s"),
        Goal("peak memory / CSC arrays", peak / arrays, 2,
             f"{peak / 2**20:.0f} MiB over {arrays / 2**20:.0f} MiB of arrays"),
    ]


def memory(items, y, work):
    """Peak resident memory of a process that does this, above what it needs without data."""
    code = """
import sys
import numpy as np
import containment as c
status = lambda: open("/proc/self/status").read()  # what getrusage says begins with the parent's
peak = lambda: int(status().split("VmHWM:")[1].split()[0]) * 1024
run = getattr(c, sys.argv[2])
toy = np.random.default_rng(0).integers(0, 2, (40, 3))
run(c.Items.dense(toy), toy[:, 0].astype(np.int32))
before = peak()
indptr, indices, y = (np.load(f"{sys.argv[1]}/{part}.npy") for part in ("indptr", "indices", "y"))
names = ("",) * (len(indptr) - 1)
run(c.Items(indptr, indices, len(y), names, names), y)
print(peak() - before, indptr.nbytes + indices.nbytes)
"""
    with tempfile.TemporaryDirectory() as folder:
        for name, array in (("indptr", items.indptr), ("indices", items.indices), ("y", y)):
            np.save(f"{folder}/{name}.npy", array)
        path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
        process = subprocess.run([sys.executable, "-c", code, folder, work], check=True, text=True,
                                 capture_output=True, env={**os.environ, "PYTHONPATH": path})
    peak, arrays = (int(number) for number in process.stdout.split())
    return peak, arrays


def kernels_in_turn(items, y):
    """What the greedy choices ask of the kernels."""
    cells, order = (items.indptr, items.indices), np.arange(len(items))
    weights(items, y, 2, "hamming")
    patterns.greedy(cells, y, order, Rule(K, 2))
    patterns.lazy_distinct(cells, y, order, Rule(K, 2, "break"))


def choice_of_few(items, y):
    """The choice of profile "few"."""
    publishable(Labelled(items, y), Rule(K, 2), "few")


def few(rows, columns=2000):
    """The memory of the whole choice of few columns."""
    items, y = generated(rows, columns)
    peak, arrays = memory(items, y, "choice_of_few")
    return [Goal(f"{rows:,} x {columns:,}: peak memory of few / CSC arrays", peak / arrays, 2,
                 f"{peak / 2**20:.0f} MiB over {arrays / 2**20:.0f} MiB of arrays")]


def in_memory(matrix):
    """Items of a matrix that is new, so that nothing is known of its order."""
    items_of(type(matrix)((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape))


def archives(runs, rows=100_000, columns=2000):
    """Archives of SciPy, against the same matrix in memory.

    Not compressed where columns are in order: there is nothing to do but to look at them.  To
    inflate one takes longer than that, in any program.
    """
    from scipy import sparse

    items, _ = generated(rows, columns)
    ones = np.ones(len(items.indices), np.int8)
    matrix = sparse.csc_matrix((ones, items.indices, items.indptr.astype(np.int32)),
                               shape=(rows, columns))
    sizes = []
    with tempfile.TemporaryDirectory() as folder:
        for form, compressed in (("csc", False), ("csr", True)):
            archive = matrix.asformat(form)
            sparse.save_npz(f"{folder}/{form}.npz", archive, compressed=compressed)
            ratio, theirs, ours = paired(partial(in_memory, archive),
                                         partial(items_of, f"{folder}/{form}.npz"), runs)
            how = "compressed" if compressed else "as it is"
            sizes.append(Goal(f"{rows:,} x {columns:,}: {form} npz {how} / items_of(matrix)", ratio,
                              10, f"matrix {theirs:.4f} s, npz {ours:.4f} s"))
    return sizes


def email():
    """The paper's e-mails: ours against its two algorithms, read literally, in NumPy."""
    if not (DATA / "pu1").is_dir():
        print(f"containment: no {DATA / 'pu1'}; two goals are not measured")
        return []
    import pandas as pd
    from scipy.sparse import load_npz

    X = load_npz(DATA / "pu1" / "X.npz").tocsc()
    X.sort_indices()
    y = pd.read_parquet(DATA / "pu1" / "rows.parquet")["y"].to_numpy(np.int32)
    cells = X.indptr.astype(np.int64), X.indices.astype(np.int32)
    items = Items(*cells, X.shape[0], ("",) * X.shape[1], ("",) * X.shape[1])
    every = np.arange(len(items))
    order = modular_order(weights(items, y, 2, "hamming").values, every)
    return [
        against("greedy skip", patterns.greedy, order, Rule(K, 2), (items, y)),
        against("lazy DistCnt", patterns.lazy_distinct, every, Rule(K, 2, "break"), (items, y)),
    ]


def against(name, ours, order, rule, table):
    """CPU time of ours over that of the literal algorithm, from 20 candidates of it."""
    items, y = table
    mine = call(lambda: ours((items.indptr, items.indices), y, order, rule), 7)
    chosen = ours((items.indptr, items.indices), y, order, rule).tolist()
    dense = np.zeros((items.rows, len(items)), np.uint8)
    for j in range(len(items)):
        dense[items.indices[items.indptr[j] : items.indptr[j + 1]], j] = 1
    # Algorithm 2 checks each candidate once, with what was chosen before it; Algorithm 3 evaluates
    # all that are left in each of its rounds, and we time the middle one for all of them.
    once = rule.stop == "skip"
    rounds = 1 if once else len(chosen) + 1
    place = {int(j): at for at, j in enumerate(order)}
    some = order[len(items) // 40 :: len(items) // 20].tolist()
    start = time.process_time()
    for j in some:
        if once:
            literal_level(dense, [i for i in chosen if place[i] < place[j]] + [j])
        else:
            literal_distinct(dense, y, [*chosen[: len(chosen) // 2], j])
    literal = (time.process_time() - start) / len(some) * len(items) * rounds
    return Goal(f"PU1, k = 5: {name} / the paper's loops in NumPy", mine / literal, 1 / 1000,
                f"ours {mine:.4f} s, literal {literal:.0f} s extrapolated from {len(some)} of "
                f"{len(items) * rounds:,} evaluations")


def literal_level(dense, chosen):
    """AC of the projection: distinct rows, and for each the rows that contain it."""
    groups, count = np.unique(dense[:, chosen], axis=0, return_counts=True)
    return min(int(count[(groups >= group).all(1)].sum()) for group in groups)


def literal_distinct(dense, y, chosen):
    """DistCnt of the projection: cross-class pairs less those of equal pattern."""
    groups, which = np.unique(dense[:, chosen], axis=0, return_inverse=True)
    positive = np.bincount(which.ravel(), y, len(groups))
    size = np.bincount(which.ravel(), minlength=len(groups))
    return int(y.sum()) * int((1 - y).sum()) - int((positive * (size - positive)).sum())
