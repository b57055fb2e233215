"""Pairs: the score of the best rule of two columns, from rows or from sums over parts of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from privsieve.summaries.layout import Ints, Layout
from privsieve.summaries.rules import RuleTables, Weighing, best_alone, scores


# [pair-values]
def pair_scores(tables: RuleTables, layout: Layout, by: Weighing) -> tuple[Ints, Ints]:
    """Return 24 times the score of pairs, and of single columns, for each of their columns.

    Of several labellings the mean, rounded down: the largest would be that of copies
    of one column where one labelling stands out.  Pairs are in lexicographic order.
    """
    ways = by.ways()
    mean = floor_mean((_both(tables, layout, labelling) for labelling in ways), len(ways))
    return mean[:-len(layout.kind)], mean[-len(layout.kind):]


def _both(tables: RuleTables, layout: Layout, by: Weighing) -> Ints:
    """Score pairs, and then single columns, by one labelling."""
    assert tables.bins is not None
    values = tables.bins.pairs(by.labellings, by.grid, layout)
    first, second = np.triu_indices(len(layout.kind), 1)
    # [gain-of-pairs] what `gain` finds, of values that are there
    alone = best_alone(tables.runs, by.labellings[0], layout, by.grid)
    extra, gain = values - np.maximum(alone[first], alone[second]), np.full(len(alone), -2**58)
    np.maximum.at(gain, first, extra)
    np.maximum.at(gain, second, extra)
    score = scores(tables, layout, by, gain)
    # Floor division of integers, also below 0.
    pairs = np.maximum(12 * values - by.by_cells, (score[first] + score[second]) // 2)
    return np.concatenate([pairs, score])


def floor_mean(values: Iterable[Ints], many: int) -> Ints:
    """Return the mean, rounded down.

    >>> floor_mean([np.array([3, -3]), np.array([4, -4])], 2).tolist()
    [3, -4]
    """
    whole, rest = (np.zeros(1, np.int64) for _ in range(2))
    for value in values:
        # [mean-over-cuts] quotients and remainders, so that no sum grows with the labellings
        parts = np.divmod(value, many)
        whole, rest = whole + parts[0], rest + parts[1]
    mean: Ints = whole + rest // many
    return mean
# [/pair-values]
