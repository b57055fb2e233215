"""Sets: what the best rule of two, three or four columns is worth, cut into parts or not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, combinations

import numpy as np

from privsieve.kernels.rules import GRIDS
from privsieve.summaries.rules import PAIR, TRIPLE, Ints, Layout, RuleTables, Weighing, scores


# [set-values]
def set_values(tables: RuleTables, layout: Layout, by: Weighing, size: int) -> Ints:
    """Twice the value of the best rule of each set of `size` columns, in lexicographic order."""
    if size not in GRIDS:
        assert tables.bins is not None
        pairs: Ints = tables.bins.pairs(by.labellings, by.grid, layout)
        return pairs
    return tables.joint[GRIDS[size]].sets(by.labellings, size, layout)


def set_scores(tables: RuleTables, layout: Layout, by: Weighing, size: int) -> tuple[Ints, Ints]:
    """24 times what sets of `size` columns, and single ones, are worth for each of their columns.

    Of several labellings the mean, rounded down: the largest would be that of copies
    of one column where one labelling stands out.  Sets are in lexicographic order.
    """
    ways = by.ways()
    mean = floor_mean((_both(tables, layout, one, size) for one in ways), len(ways))
    return mean[:-len(layout.kind)], mean[-len(layout.kind):]


def _both(tables: RuleTables, layout: Layout, by: Weighing, size: int) -> Ints:
    """What sets, and then single columns, are worth by one labelling."""
    score = scores(tables, layout, by)
    # A triple may be a pair and a column; of four columns only all, or each alone, are asked.
    together = {part: 12 * set_values(tables, layout, by, part)
                for part in ((PAIR, TRIPLE) if size == TRIPLE else (size,))}
    if size == PAIR:
        together[PAIR] -= by.by_cells
    return np.concatenate([best_partition(size, together, score), score])


def floor_mean(values: Iterable[Ints], many: int) -> Ints:
    """The mean, rounded down.

    >>> floor_mean([np.array([3, -3]), np.array([4, -4])], 2).tolist()
    [3, -4]
    """
    whole, rest = (np.zeros(1, np.int64) for _ in range(2))
    for one in values:
        # [mean-over-cuts] quotients and remainders, so that no sum grows with the labellings
        parts = np.divmod(one, many)
        whole, rest = whole + parts[0], rest + parts[1]
    mean: Ints = whole + rest // many
    return mean


def best_partition(size: int, together: Mapping[int, Ints], score: Ints) -> Ints:
    """The best way to cut each set into parts; a part counts for each of its columns alike.

    together : by size, what sets are worth as one part, in lexicographic order.

    >>> best_partition(2, {2: np.array([5, 9, 2])}, np.array([8, 3, 0])).tolist()
    [5, 9, 2]
    """
    d = len(score)
    columns = np.fromiter(chain.from_iterable(combinations(range(d), size)), np.int64)
    members = columns.reshape(-1, size)
    # Floor division of integers, also below 0.
    best: Ints = np.maximum(together[size], score[members].sum(axis=1) // size)
    if size == TRIPLE:
        for alone in range(size):
            a, b = (members[:, one] for one in range(size) if one != alone)
            pair = together[PAIR][a * d - a * (a + 1) // 2 + b - a - 1]
            best = np.maximum(best, (2 * pair + score[members[:, alone]]) // size)
    return best
# [/set-values]
