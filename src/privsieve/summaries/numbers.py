"""NumberTables: what the rules of RuleSieve need of the rows where the target is a number.

::

    alone   per column, how many rows of each bin of ranks have each code   (Runs)
            or codes and target as they are, for rules on all pairs of rows  (Joint)
    signs   per column, which rows lie above the median, by half of the target
    bins    per column, the public grid bin of each row, by half of the target
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from privsieve import kernels
from privsieve.kernels import ranks as ranked

if TYPE_CHECKING:
    from privsieve.rows.batch import Batch
    from privsieve.summaries.layout import Layout
    from privsieve.summaries.rules import Bins, Runs, Signs

Ints = npt.NDArray[np.int64]

#: Signed weights of the lower half, the middle record and the upper half of the target.
HALVES = np.array([[-1, 0, 1]])
#: Scores are counted in eighths of a row, n of them for each of n rows: a unit moves one by 8 n.
PARTS = 8


@dataclass(frozen=True, eq=False, repr=False)
class Joint:
    """Codes and target of all rows: what cannot be counted by parts is kept."""

    codes: npt.NDArray[np.uint16]
    label: npt.NDArray[np.uint16]

    @classmethod
    def of(cls, batch: Batch) -> Joint:
        """Keep the codes of a batch."""
        return cls(np.ascontiguousarray(batch.codes.T), batch.label.astype(np.uint16))

    def __add__(self, other: Joint) -> Joint:
        return Joint(np.ascontiguousarray(np.concatenate([self.codes, other.codes], axis=1)),
                     np.concatenate([self.label, other.label]))


@dataclass(frozen=True, eq=False, repr=False)
class NumberTables:
    """The summary: any cut of the rows into parts gives the same scores."""

    alone: Runs | Joint
    signs: Signs | None
    bins: Bins | None

    @property
    def rows(self) -> int:
        """How many rows (persons) there are."""
        if isinstance(self.alone, Joint):
            return len(self.alone.label)
        return int(self.alone.counts.sum())

    def __add__(self, other: NumberTables) -> NumberTables:
        return NumberTables(
            self.alone + other.alone,  # type: ignore[operator]  # both of one plan
            None if self.signs is None or other.signs is None else self.signs + other.signs,
            None if self.bins is None or other.bins is None else self.bins + other.bins,
        )


def total(parts: Sequence[NumberTables]) -> NumberTables:
    """The sum of some summaries."""
    return reduce(add, parts)


class Depth(NamedTuple):
    """Public numbers by which tables become scores.

    offset : what is taken off the score of a column alone, per cut and column, in `PARTS`.
    triple : what is taken off products of three, of which there are so many.
    order : 1, 2 or 3: how many signs a product may have.
    grid : cells a side of the pair grid, or 0.
    """

    offset: Ints
    triple: int
    order: int
    grid: int


# [number-scores]
def scores(tables: NumberTables, layout: Layout, by: Depth) -> Ints:
    """8 n times the best rule's value in rows, for each column.

    U_j = max(C_j - offset, g_j / 4, X_j / 4, Y_j / 4 - triple): C over rules on one column and
    cuts of the target, g, X and Y over pairs and products against its halves.
    """
    n = tables.rows
    if isinstance(tables.alone, Joint):
        alone = ranked.cut_intervals(tables.alone.codes, tables.alone.label, layout.kind)[None]
    else:
        alone = ranked.rank_intervals(tables.alone.table, layout.kind)
    nothing = -np.iinfo(np.int64).max // 2  # where there is no cut: fewer than two rows
    best: Ints = (4 * alone - by.offset[:len(alone)]).max(axis=0, initial=nothing)
    if by.grid and tables.bins is not None and len(layout.kind) > 1:
        gain = kernels.pair_gain(tables.bins.bins, tables.bins.starts, None, HALVES, by.grid,
                                 layout.nominal)
        best = np.maximum(best, n * gain)
    columns = layout.ordered
    if by.order >= 2 and tables.signs is not None and len(columns) > 1:
        one = tables.signs
        products = (one.planes, one.masks, one.zeros, one.words, one.rows, HALVES)
        best[columns] = np.maximum(best[columns], n * kernels.sign_pairs(*products))
        if by.order >= 3 and len(columns) > 2:
            best[columns] = np.maximum(best[columns],
                                       n * kernels.sign_triples(*products) - by.triple)
    return best
# [/number-scores]


def concordances(tables: NumberTables, layout: Layout) -> Ints:
    """|concordant - discordant| pairs of rows, for each column: one row moves it by 2 (n - 1)."""
    assert isinstance(tables.alone, Joint)
    found: Ints = np.abs(ranked.concordance(tables.alone.codes, tables.alone.label, layout.kind))
    return found
