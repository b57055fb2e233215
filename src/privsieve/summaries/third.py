"""What a column is worth once a pair is named: alone, or by what it adds to the pair.

A parity of three shows in no pair and in no single column but by products of signs, which one unit
moves much.  Once two of its columns are named, eight cells show the third.
"""

from __future__ import annotations

from privsieve.kernels.joint import GRIDS
from privsieve.summaries.layout import Layout
from privsieve.summaries.rules import TRIPLE, Ints, RuleTables, Weighing, floor_mean, scores


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
