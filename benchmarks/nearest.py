"""Nearest hits and misses, against scikit-learn's and faiss's search of each class."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import NearestNeighbors

from measure import Goal, call
from privsieve import kernels
from privsieve.kernels.nearest import nearest

try:
    import faiss
except ImportError:  # a peer that need not be here
    faiss = None

#: Rows, columns, and how many rows the peers look up.
SIZES = ((569, 30, 569), (3343, 20, 3343), (203, 12600, 203), (20000, 50, 500))


def table(rows, columns):
    """Ten latent factors and noise, scaled to [0, 1]; two classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 10)) @ rng.normal(size=(10, columns))
    X += rng.normal(size=X.shape)
    X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    return np.ascontiguousarray(X), (rng.random(rows) < 0.4).astype(np.int32)


def by_sklearn(X, y, asked):
    """Two of the nearest of each class: one of them may be the row itself."""
    for label in (0, 1):
        peer = NearestNeighbors(n_neighbors=2, algorithm="brute", metric="manhattan")
        peer.fit(X[y == label]).kneighbors(X[:asked])


def by_faiss(X, y, asked):
    """The same in float32, and not checked again."""
    X = X.astype(np.float32)
    for label in (0, 1):
        index = faiss.IndexFlat(X.shape[1], faiss.METRIC_L1)
        index.add(X[y == label])
        index.search(X[:asked], 2)


def paired(peer, X, y, asked, runs):
    """The median ratio and its two times; in turns, because the machine is shared."""
    ratios = []
    for _ in range(runs):
        theirs = call(lambda: peer(X, y, asked), 1) * len(X) / asked
        ours = call(lambda: [nearest(X, y, "manhattan") for _ in range(4)], 1) / 4
        ratios.append((ours / theirs, theirs, ours))
    return sorted(ratios)[runs // 2]


def goals(*, short):
    """Whole calls, all rows; a peer that looks up some of them is charged for all."""
    made = []
    runs = 3 if short else 7
    if faiss is not None:
        faiss.omp_set_num_threads(1)
    for rows, columns, asked in SIZES[:3] if short else SIZES:
        X, y = table(rows, columns)
        peers = [("scikit-learn, brute", by_sklearn, 1 / 15 if rows == 569 else 1 / 20)]
        if faiss is not None:
            peers.append(("faiss, flat L1", by_faiss, 1 / 5))
        for name, peer, limit in peers:
            ratio, theirs, ours = paired(peer, X, y, asked, runs)
            made.append(Goal(f"nearest hit and miss, {rows} x {columns} / {name}", ratio, limit,
                             f"{kernels.implementation()}: {theirs:.4f} s, ours {ours:.4f} s"))
    return made
