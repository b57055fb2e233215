"""FWELL as its first paper defines it, without privacy: the yardstick of the selection tables.

z_i = |x_i - nearest miss| - |x_i - nearest hit| under L1; w minimises the mean of
log(1 + exp(-w z_i)) plus lam |w|^2; the k columns of largest w are chosen.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.neighbors import NearestNeighbors

#: Rows that look for their neighbours, at most; all rows may be found.
QUERIES = 2000
LAM = 0.01


def weights(X: np.ndarray, y: np.ndarray, lam: float = LAM) -> np.ndarray:
    """The exact minimiser, up to the solver's tolerance."""
    z = margins(X, y)

    def loss(w):
        t = z @ w
        return (np.logaddexp(0, -t).mean() + lam * w @ w, -z.T @ expit(-t) / len(z) + 2 * lam * w)

    return minimize(loss, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B",
                    options={"maxiter": 500}).x


def margins(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A row for each query: how much farther the miss is than the hit, by column."""
    queries = np.random.default_rng(0).permutation(len(X))[:QUERIES]
    margins_found = []
    for label in np.unique(y):
        mine = queries[y[queries] == label]
        hits, misses = np.flatnonzero(y == label), np.flatnonzero(y != label)
        if len(hits) < 2 or not len(mine):
            continue
        hit = hits[_nearest(X[hits], X[mine], 2)[:, 1]]
        miss = misses[_nearest(X[misses], X[mine], 1)[:, 0]]
        margins_found.append(np.abs(X[mine] - X[miss]) - np.abs(X[mine] - X[hit]))
    return np.concatenate(margins_found)


def _nearest(X: np.ndarray, queries: np.ndarray, count: int) -> np.ndarray:
    search = NearestNeighbors(n_neighbors=count, algorithm="brute", metric="manhattan").fit(X)
    return search.kneighbors(queries, return_distance=False)
