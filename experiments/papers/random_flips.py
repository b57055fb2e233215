"""RF: k-member clustering (Byun et al. 2007), then one vector for each cluster.

The anonymity paper compares with it (Zhang et al. 2017, section 5.2): rows are clustered until
each cluster has at least k, and cells are flipped until all rows of a cluster are equal.  What
results is k-anonymous on all columns, and untrue in the cells that were flipped.

The paper does not say to what a cluster is flipped.  By majority an e-mail table needs fewer flips
than it has ones (0.9 %); the paper reports 1.3 to 2.0 %.  A member drawn at random gives what it
reports on Adult (0.6, 0.9, 1.2 % against 0.60, 1.00, 1.44 %), so that is the rule.  It publishes
the complete row of a real person, k times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from papers.containment import demand_k, dense
from privsieve.rows.matrix import Items

Bits = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]

__all__ = ["Flipped", "random_flips"]


@dataclass(frozen=True, eq=False)
class Flipped:
    """A k-anonymous table.

    matrix : bool[n, d], the rows after the flips.
    cluster : int64[n], the cluster of each row.
    """

    matrix: Bits
    cluster: npt.NDArray[np.int64]
    flips: int

    @property
    def share(self) -> float:
        """The share of cells that were flipped: the number in the paper's parentheses."""
        return self.flips / max(self.matrix.size, 1)


def random_flips(items: Items, k: int, *, rule: Literal["member", "majority"] = "member",
                 random_state: int | np.random.Generator | None = None) -> Flipped:
    """Make all columns k-anonymous by flips.  NOT PRIVATE beyond k-anonymity; no certificate.

    rule : what the rows of a cluster become: one of them at random, or each column's majority
        (ties to zero).

    >>> from privsieve.rows.matrix import Items
    >>> flipped = random_flips(Items.dense([[1, 0], [1, 0], [0, 1], [0, 1]]), k=2, random_state=0)
    >>> flipped.share, bool((flipped.cluster[0] == flipped.cluster[1]))
    (0.0, True)
    """
    demand_k(items, k)
    rng = np.random.default_rng(random_state)
    held = dense(items, range(len(items)))
    cluster = _k_member(_words(held), k, rng)
    flipped = held.copy()
    for c in range(int(cluster.max()) + 1):
        rows = np.flatnonzero(cluster == c)
        flipped[rows] = (held[rng.choice(rows)] if rule == "member"
                         else 2 * held[rows].sum(axis=0) > len(rows))
    return Flipped(flipped, cluster, int((flipped != held).sum()))


def _words(held: Bits) -> Words:
    """Pack each row into whole words of 64 bits."""
    packed = np.packbits(held, axis=1)
    out = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), np.uint8)
    out[:, :packed.shape[1]] = packed
    return out.view(np.uint64)


def _k_member(words: Words, k: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Clusters of k: a row far from the last one, then k - 1 times the row that costs least.

    The cost of a row is the number of columns on which its cluster would not agree.  Rows that are
    left over go to the cluster whose first row is nearest.
    """
    rows = len(words)
    rest, left = np.arange(rows), words.copy()  # kept together; taking a row moves the last one
    many = rows
    cluster = np.full(rows, -1, np.int64)
    firsts: list[int] = []

    def take(place: int) -> int:
        nonlocal many
        row = int(rest[place])
        many -= 1
        rest[place], left[place] = rest[many], left[many]
        return row

    last = int(rng.integers(rows))
    while many >= k:
        last = take(int(_ones(left[:many] ^ words[last]).argmax()))
        firsts.append(last)
        cluster[last] = len(firsts) - 1
        every, some = words[last].copy(), words[last].copy()
        for _ in range(k - 1):
            last = take(int(_ones((some | left[:many]) & ~(every & left[:many])).argmin()))
            cluster[last] = len(firsts) - 1
            every &= words[last]
            some |= words[last]
    for row in rest[:many]:
        cluster[row] = _ones(words[firsts] ^ words[row]).argmin()
    return cluster


def _ones(words: Words) -> npt.NDArray[np.int64]:
    ones: npt.NDArray[np.int64] = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    return ones
