"""Nearest hits and misses of rows of 0 and 1, against SciPy's sparse products and faiss."""

from __future__ import annotations

import sys

import numpy as np
from scipy import sparse

from measure import Goal, paired
from privsieve.kernels.nearest import nearest

try:
    import faiss
except ImportError:  # a peer that need not be here
    faiss = None

#: Rows, columns and the share of ones: 0.9 % and 1.9 %, and one so rare that all is in lists.
SIZES = ((1099, 24_604, 0.009), (1993, 4862, 0.019), (1993, 4862, 0.003))


def table(rows, columns, density):
    """Columns that are held by a power law; two classes."""
    rng = np.random.default_rng(0)
    held = np.arange(1, columns + 1) ** -0.8
    held = np.minimum(held * density * columns / held.sum(), 0.5)
    held *= density * columns / held.sum()
    X = (rng.random((rows, columns)) < held).astype(np.float64)
    return X, (rng.random(rows) < 0.4).astype(np.int32)


def by_faiss(packed, y):
    """Two of the nearest of each class: one of them may be the row itself."""
    for label in (0, 1):
        index = faiss.IndexBinaryFlat(packed.shape[1] * 8)
        index.add(np.ascontiguousarray(packed[y == label]))
        index.search(packed, 2)


def against(rows, columns, density, runs):
    """Ours from float64, packing and checks included; the peers have their own form ready."""
    X, y = table(rows, columns, density)
    listed = sparse.csr_array(X.astype(np.int32))
    packed = np.packbits(X.astype(np.uint8), axis=1)
    # The product alone: a search for the nearest goes through it afterwards.  Where hardly any
    # are ones, it has hardly anything to do.
    peers = [("SciPy's sparse X @ X.T", lambda: listed @ listed.T, 1 / 2 if density > 0.005 else 1)]
    if faiss is not None:
        peers.append(("faiss, flat binary", lambda: by_faiss(packed, y), 1 / 2))
    for name, peer, limit in peers:
        ratio, theirs, ours = paired(peer, lambda: nearest(X, y, "hamming"), runs)
        yield Goal(f"Hamming, {rows} x {columns}, {100 * X.mean():.1f} % ones / {name}",
                   ratio, limit, f"{theirs:.4f} s, ours {ours:.4f} s")


def goals(*, short):
    """The rarest ones in the long form only."""
    if faiss is not None:
        faiss.omp_set_num_threads(1)
    for size in SIZES[:2] if short else SIZES:
        yield from against(*size, 3 if short else 7)


if __name__ == "__main__":
    for goal in goals(short="--short" in sys.argv):
        print(f"{goal.ratio:.3f} of {goal.limit:.3f}  {goal.name}  [{goal.detail}]", flush=True)
