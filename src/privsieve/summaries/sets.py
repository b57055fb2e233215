"""Sets: what RuleSieve's tables say beyond one column and two classes.

::

    sets of columns    the best rule of two, three or four, or the best way to cut them into parts
    slopes             a rule of a pair: what the best cut of a x + b y is worth
    the third          what a column adds to a pair that was named
    sets of classes    for any number of classes at once

Where a target follows a trend of two columns together, no cut of either sees as much of it as a cut
of their sum.  Cuts, not intervals: an interval of 3 x + y is nearly one of x, and a column with a
hump would be as good with any partner as with one that helps (squares of three columns: .78 found
where cuts find all).  A parity of three shows in no pair and in no single column but by products of
signs, which one unit moves much.  Once two of its columns are named, eight cells show the third.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, combinations

import numpy as np

from privsieve.kernels.joint import GRIDS
from privsieve.kernels.slopes import SIDE
from privsieve.summaries.rules import (
    PAIR,
    SUBSETS,
    TRIPLE,
    Ints,
    Layout,
    RuleTables,
    Runs,
    Weighing,
    scores,
)

#: Bins of a single column, where scores are for many classes at once.
CLASS_GRID = 16


# Sets of columns


# [set-values]
def set_values(tables: RuleTables, layout: Layout, by: Weighing, size: int) -> Ints:
    """Twice the value of the best rule of each set of `size` columns, in lexicographic order."""
    if size not in GRIDS:
        assert tables.bins is not None
        pairs: Ints = tables.bins.pairs(by.labellings, by.grid, layout)
        if tables.cuts is not None:
            pairs = np.maximum(pairs, tables.cuts.pairs(by.labellings, layout).max(axis=0))
        return pairs
    return tables.joint[GRIDS[size]].sets(by.labellings, size, layout)


def set_scores(tables: RuleTables, layout: Layout, by: Weighing, size: int) -> tuple[Ints, Ints]:
    """24 times what sets of `size` columns, and single ones, are worth for each of their columns.

    Where labellings are apart the mean over them, rounded down: the largest would be that of copies
    of one column where one labelling stands out.  Sets are in lexicographic order.
    """
    ways = by.ways()
    mean = floor_mean((_both(tables, layout, one, size) for one in ways), len(ways))
    return mean[:-len(layout.kind)], mean[-len(layout.kind):]


def _both(tables: RuleTables, layout: Layout, by: Weighing, size: int) -> Ints:
    """What sets, and then single columns, are worth by one labelling, or by all at once."""
    score = scores(tables, layout, by)
    # A triple may be a pair and a column; of four columns only all, or each alone, are asked.
    together = {part: 12 * _together(tables, layout, by, part)
                for part in ((PAIR, TRIPLE) if size == TRIPLE else (size,))}
    if size == PAIR:
        together[PAIR] -= by.by_cells[0]
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


def _together(tables: RuleTables, layout: Layout, by: Weighing, size: int) -> Ints:
    """Twice the value of the best rule of each set; a slope is a rule of a pair."""
    values = set_values(tables, layout, by, size)
    return values if size != PAIR else np.maximum(values, slope_values(tables, layout, by))


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


# Slopes, and what a column adds to a named pair


# [slope-values]
def slope_values(tables: RuleTables, layout: Layout, by: Weighing) -> Ints:
    """Twice the value of the best slope of each pair of columns, in lexicographic order.

    0 where a column's codes cannot be added up, and everywhere where the plan has no slopes.
    """
    d, on = len(layout.kind), tables.joint.get(SIDE)
    values = np.zeros(d * (d - 1) // 2, np.int64)
    if on is not None:
        first, second = layout.sloped[np.stack(np.triu_indices(len(layout.sloped), 1))]
        values[first * (2 * d - first - 1) // 2 + second - first - 1] = on.slopes(
            by.labellings, layout)
    return values
# [/slope-values]


def third_scores(tables: RuleTables, layout: Layout, by: Weighing, pair: tuple[int, ...]) -> Ints:
    """24 times what each column is worth after a pair, which is public by then.

    Its score; or half of what eight cells reach beyond the four of the pair, on the same grid, less
    what they reach so by chance.  Half, as both move with a unit.  Of several labellings the mean.
    """
    ways = by.ways()
    return floor_mean((_beside(tables, layout, one, pair) for one in ways), len(ways))


# [third-scores]
def _beside(tables: RuleTables, layout: Layout, by: Weighing, pair: tuple[int, ...]) -> Ints:
    """The same by one labelling, or by all at once."""
    score: Ints = scores(tables, layout, by).copy()
    four = _eight_cells(tables, layout, by, pair)
    for j in range(len(score)):
        if j not in pair:
            more = _eight_cells(tables, layout, by, (*pair, j)) - four
            score[j] = max(score[j], 6 * more - by.by_cells[1])
    return score


def _eight_cells(tables: RuleTables, layout: Layout, by: Weighing, columns: tuple[int, ...]) -> int:
    """Twice the best rule of three columns; of two beside one that is constant: four cells."""
    return tables.joint[GRIDS[TRIPLE]].together(by.labellings, columns, layout)
# [/third-scores]


# Sets of classes


# [class-scores]
def class_scores(tables: RuleTables, layout: Layout, grid: int) -> Ints:
    """For any number of classes at once, the average of two ways to be of use; 4 n-fold.

    S is the best "value in B -> class in A" over sets B of a public family and all sets A of
    classes, less what chance would give; O the number of units that the best guess of the class
    from the column's bin gets right.  S sees a class that is told from all others, O that many are
    told apart.  n is the weight of all units: max(2 n S, n (P - M)) + 2 n O, where P - M is what a
    partner adds on the pair grid.
    """
    total = int(tables.runs.counts.sum())
    best, right = np.zeros((2, len(layout.kind)), np.int64)
    for j in range(len(layout.kind)):
        for inside in binned(tables.runs, layout, j):
            best[j] = max(best[j], 2 * _subsets(inside, intervals=bool(layout.kind[j] < SUBSETS)))
            right[j] = max(right[j], inside.max(axis=1).sum())
    if grid and tables.bins is not None and len(layout.kind) > 1:
        best = np.maximum(best, tables.bins.classes(grid, layout))
    scored: Ints = best + 2 * total * right
    return scored


def binned(runs: Runs, layout: Layout, j: int) -> Iterator[Ints]:
    """How much of each class lies in each bin of column j; on all grids that it has."""
    indptr, code, count = runs.table
    here = slice(indptr[j], indptr[j + 1])
    if j in layout.gridless:
        from privsieve.summaries.cuts import windows

        yield from windows(code[here], count[here], CLASS_GRID)
        return
    found = np.zeros((CLASS_GRID, count.shape[1]), np.int64)
    np.add.at(found, layout.bin(j, code[here], CLASS_GRID), count[here])
    yield found


def _subsets(inside: Ints, *, intervals: bool) -> int:
    """Best of n n(A, B) - n(A) n(B) over class sets A, and intervals or single bins B."""
    if intervals:
        level = np.concatenate([np.zeros_like(inside[:1]), np.cumsum(inside, axis=0)])
        sets = level[:, None] - level[None]
    else:
        sets = inside[None]
    surplus = inside.sum() * sets - inside.sum(axis=0) * sets.sum(axis=-1, keepdims=True)
    # The best A takes each class whose surplus is above zero.
    return int(np.maximum(surplus, 0).sum(axis=-1).max())
# [/class-scores]
