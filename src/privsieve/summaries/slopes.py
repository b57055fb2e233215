"""Slopes: what the best cut of a x + b y is worth, for each pair of columns x and y.

Where a target follows a trend of two columns together, no cut of either sees as much of it as a cut
of their sum.  Cuts, not intervals: an interval of 3 x + y is nearly one of x, and a column with a
hump would be as good with any partner as with one that helps (squares of three columns: .78 found
where cuts find all).  The proof is in `slopes.proof.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privsieve.kernels.slopes import SIDE

if TYPE_CHECKING:
    from privsieve.summaries.layout import Layout
    from privsieve.summaries.rules import Ints, RuleTables, Weighing


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
