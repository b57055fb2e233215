"""Choose columns by Kendall's rank correlation (Dick, Gillenwater, Joseph; NeurIPS 2023).

The paper's DPKendall names k columns one after another, each with epsilon / k. The score of a
column is the size of its rank correlation with the target, less the mean size of its rank
correlations with the columns that are already named. The largest noisy score wins.

The paper bounds scores for rows that are added or removed: by 3/2 for the first column, by 3 for
later ones. Here one row is replaced and the number n of rows is public.

**Bounds.** For a pair of rows i, l let s(i, l) = sign(a_i - a_l) sign(b_i - b_l), which is -1, 0 or
1; S is its sum over all pairs, and T = |S| / (n - 1). A replaced row lies in n - 1 pairs, and moves
each by at most 2. So |S| moves by at most 2 (n - 1), and T by at most 2: `FIRST`. The examples of
`rank_correlation` attain it. A later score is a T less a mean of other Ts, which also moves by at
most 2. The difference moves by at most 4: `LATER`.

**Each step is (epsilon / k)-private.** Fix the noise of all columns but j. Column j wins if its
noise is at least some a, with probability min(1, exp(-a / m)) for exponential noise of mean m. If
scores move by at most D, then a moves by at most 2 D, and the probability by a factor of at most
exp(2 D / m). With m = 2 D k / epsilon this is exp(epsilon / k).

**The whole is epsilon-private.** The scores of a step depend on the rows and on the names before.
Each step keeps epsilon / k for any names before it, and there are k steps (basic composition).

The authors' code divides by the number of untied pairs (tau-b), which depends on the rows; no bound
is proved for that where values repeat. Here a tied pair counts 0 and the divisor is public. Their
noise is Gumbel; exponential noise, as here, finds at least as much at the same epsilon.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from unseen import Unseen

#: How far a replaced row moves a score: of the first column, and of a later one.
FIRST, LATER = 2, 4


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Return concordant less discordant pairs, divided by n - 1; a tied pair counts 0.

    It is n / 2 times Kendall's tau-a, the scale of the paper.

    >>> rank_correlation(np.array([0, 1, 2, 3]), np.array([1, 2, 3, 4]))
    2.0
    >>> rank_correlation(np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0]))
    0.0
    """
    from scipy.stats import kendalltau

    n = len(a)
    untied = [n * (n - 1) // 2 - int((counts * (counts - 1) // 2).sum())
              for counts in (np.unique(values, return_counts=True)[1] for values in (a, b))]
    if not all(untied):
        return 0.0
    tau_b = kendalltau(a, b, method="asymptotic").statistic
    return round(float(tau_b) * float(untied[0]) ** .5 * float(untied[1]) ** .5) / (n - 1)


class RankCorrelations:
    """The sizes of all rank correlations of a table; each column's are computed when needed."""

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        self.X, self.y = X, y
        self.with_column = functools.cache(lambda j: self._correlate(self.X[:, j]))
        self.with_target = self._correlate(y)

    def _correlate(self, values: np.ndarray) -> np.ndarray:
        return np.array([abs(rank_correlation(self.X[:, j], values))
                         for j in range(self.X.shape[1])])


def choose_by_kendall(sizes: RankCorrelations, k: int, epsilon: float,
                      rng: np.random.Generator) -> tuple[int, ...]:
    """Name k columns, each by one noisy maximum with epsilon / k."""
    chosen: list[int] = []
    for step in range(k):
        scores = sizes.with_target.copy()
        if chosen:
            scores -= np.mean([sizes.with_column(j) for j in chosen], axis=0)
        noisy = scores + rng.exponential(2 * (LATER if step else FIRST) * k / epsilon, len(scores))
        noisy[chosen] = -np.inf
        chosen.append(int(np.argmax(noisy)))
    return tuple(chosen)


def choose_in_table(table: Unseen, rows: np.ndarray, epsilon: float, rng: np.random.Generator,
                    ) -> tuple[int, ...]:
    """Name the columns of a table by the rows that may choose."""
    return choose_by_kendall(_correlations(table, rows.tobytes()), table.k, epsilon, rng)


@functools.lru_cache(maxsize=1)
def _correlations(table: Unseen, rows: bytes) -> RankCorrelations:
    at = np.frombuffer(rows, np.int64)
    return RankCorrelations(table.X[at], table.y[at])
