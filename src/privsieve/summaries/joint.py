"""Values of sets of columns: twice what the best rule on all of them gains."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from privsieve import kernels
from privsieve.kernels.joint import GRIDS, joint_best

if TYPE_CHECKING:
    from privsieve.summaries.layout import Layout
    from privsieve.summaries.rules import Ints, RuleTables, Weighing


def grids(sizes: Iterable[int]) -> tuple[int, ...]:
    """The grids that sets of these sizes need beside the pair grid.

    >>> grids((2,)), grids((3, 4))
    ((), (8, 4))
    """
    return tuple(GRIDS[size] for size in sizes if size in GRIDS)


# [set-values]
def set_values(tables: RuleTables, layout: Layout, by: Weighing, size: int) -> Ints:
    """Twice the value of the best rule of each set of `size` columns, in lexicographic order."""
    if size not in GRIDS:
        assert tables.bins is not None
        pairs: Ints = kernels.pair_best(tables.bins.bins, tables.bins.starts, tables.bins.weight,
                                        by.labellings, by.grid, layout.nominal)
        return pairs
    on = tables.joint[GRIDS[size]]
    return joint_best(on.bins, on.starts, on.weight, by.labellings, size, layout.nominal)
# [/set-values]
