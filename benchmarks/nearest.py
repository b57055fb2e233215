"""Nearest hits and misses, against scikit-learn's and faiss's search of each class."""
# Samples and packed bits: fwell.py and hamming.py.

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.neighbors import NearestNeighbors

from measure import Goal, call, paired
from privsieve import kernels
from privsieve.kernels.nearest import nearest

try:
    import faiss
except ImportError:  # a peer that need not be here
    faiss = None

try:
    from privsieve.kernels import _native as native
except ImportError:
    native = None

#: Of the loops for older machines: no more than this of faiss's time, which takes its newest.
OLDER = 1 / 2
#: A column of outliers: no more than this number of times the table without it.
HEAVY = 8
#: Rows, columns, and how many rows the peers look up.
SIZES = ((569, 30, 569), (3343, 20, 3343), (203, 12600, 203), (20000, 50, 500))


def table(rows, columns):
    """Ten latent factors and noise, scaled to [0, 1]; two classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 10)) @ rng.normal(size=(10, columns))
    X += rng.normal(size=X.shape)
    X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    return np.ascontiguousarray(X), (rng.random(rows) < 0.4).astype(np.int32)


def by_sklearn(X, y, points):
    """Two of the nearest of each class: one of them may be the row itself."""
    for label in (0, 1):
        peer = NearestNeighbors(n_neighbors=2, algorithm="brute", metric="manhattan")
        peer.fit(X[y == label]).kneighbors(X[:points])


def by_faiss(X, y, points):
    """The same in float32, and not checked again."""
    X = X.astype(np.float32)
    for label in (0, 1):
        index = faiss.IndexFlat(X.shape[1], faiss.METRIC_L1)
        index.add(X[y == label])
        index.search(X[:points], 2)


def peak(runs):
    """|a - b| of float32 that a tight loop adds up in a CPU second; None without a compiler."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "peak"
        subprocess.run([compiler, "-O3", "-march=native", "-std=c++17", "-Wno-psabi",
                        str(Path(__file__).with_name("peak.cpp")), "-o", str(program)], check=True)
        peaks = [float(subprocess.run([str(program)], check=True, text=True,
                                      capture_output=True).stdout) for _ in range(runs)]
    return sorted(peaks)[runs // 2]


def above_peak(runs):
    """What the machine could do in float32 over what we do, at 20000 x 50."""
    X, y = table(20_000, 50)
    able = peak(runs)
    if able is None:
        return
    spent = call(lambda: nearest(X, y, "manhattan"), runs)
    done = len(X) ** 2 * X.shape[1] / spent
    yield Goal("float32 peak / nearest hit and miss, 20000 x 50", able / done, 1 / 1.2,
               f"|a - b| in a CPU second: a tight loop {able / 1e9:.0f} G, ours {done / 1e9:.0f} G")


def against(rows, columns, points, runs):
    """Whole calls, all rows; a peer that looks up some of them is charged for all."""
    X, y = table(rows, columns)
    peers = [("scikit-learn, brute", by_sklearn, 1 / 15 if rows == 569 else 1 / 20)]
    if faiss is not None:
        peers.append(("faiss, flat L1", by_faiss, 1 / 5))
    for name, peer, limit in peers:
        ratio, theirs, ours = paired(partial(peer, X, y, points), lambda: several(X, y), runs)
        yield Goal(f"nearest hit and miss, {rows} x {columns} / {name}", ratio / 4 * points / rows,
                   limit, f"{kernels.implementation()}: {theirs * rows / points:.4f} s, "
                          f"ours {ours / 4:.4f} s")


def several(X, y):
    """Four searches, which a clock tells better."""
    for _ in range(4):
        nearest(X, y, "manhattan")


def older(rows, columns, points, runs):
    """The loops that older machines run, against faiss on this one."""
    names = native.nearest_loops() if native is not None and faiss is not None else []
    X, y = table(rows, columns)
    for k, name in enumerate(names):
        if k == 0:
            continue
        loops = partial(native.nearest, X, y, "manhattan", None, 1, 0, k)
        ratio, theirs, ours = paired(partial(by_faiss, X, y, points), loops, runs)
        yield Goal(f"nearest hit and miss by {name} loops, {rows} x {columns} / faiss, flat L1",
                   ratio, OLDER, f"{theirs:.4f} s, ours {ours:.4f} s")


def heavy(rows, columns, runs):
    """A column of outliers, of which bytes say nothing, beside the table without it."""
    X, y = table(rows, columns)
    tails = X.copy()
    tails[:, 0] = np.random.default_rng(1).standard_cauchy(rows) ** 3
    ratio, plain, ours = paired(lambda: several(X, y), lambda: several(tails, y), runs)
    return Goal(f"nearest hit and miss with a column of outliers / without, {rows} x {columns}",
                ratio, HEAVY, f"{plain / 4:.4f} s, with it {ours / 4:.4f} s")


def goals(*, short):
    """By size; a peer's time is for the same table."""
    runs = 3 if short else 7
    if faiss is not None:
        faiss.omp_set_num_threads(1)
    for size in SIZES[:3] if short else SIZES:
        yield from against(*size, runs)
    for size in SIZES[1:3]:
        yield from older(*size, runs)
        yield heavy(*size[:2], runs)
    if not short:
        yield from above_peak(runs)


if __name__ == "__main__":
    for goal in goals(short="--short" in sys.argv):
        print(f"{goal.ratio:.3f} of {goal.limit:.3f}  {goal.name}  [{goal.detail}]", flush=True)
