"""RuleTables: what the rules of RuleSieve need of the rows, as integers that add up.

::

    runs    per column, how many rows of each class have each code       interval rules
    signs   per column, which rows lie above the median, by class        2- and 3-way products
    bins    per column, the public grid bin of each row, by class        rules on pairs

The class stays an index everywhere, so that weights may come after the charge, from a noisy
count.  Keyed ties and persons are settled before (`ties`, `persons`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from privsieve import kernels

if TYPE_CHECKING:
    from privsieve.summaries.layout import Layout, Part
    from privsieve.summaries.ties import Cuts


Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Runs:
    """Per column, the distinct codes and their counts per class."""

    table: tuple[Ints, npt.NDArray[np.uint16], npt.NDArray[np.signedinteger]]
    counts: Ints  # per class, weighted

    @classmethod
    def of(cls, part: Part) -> Runs:
        """Count the codes of a part."""
        weight = np.ones(part.ids.shape[1], np.int64) if part.weight is None else part.weight
        sums = np.concatenate([[0], np.cumsum(weight)])
        return cls(kernels.runs(part.codes, part.starts, part.weight),
                   np.diff(sums[part.starts]))

    def __add__(self, other: Runs) -> Runs:
        return Runs(kernels.merge_runs(self.table, other.table), self.counts + other.counts)


@dataclass(frozen=True, eq=False, repr=False)
class Signs:
    """Bit planes of the median splits; rows by class, each class padded with zero bits."""

    planes: npt.NDArray[np.uint64]
    masks: npt.NDArray[np.uint64] | None
    zeros: Ints
    words: Ints
    rows: Ints

    @classmethod
    def of(cls, part: Part, cuts: Cuts, key: int, kind: npt.NDArray[np.uint8]) -> Signs:
        """Split a part at cuts that were found over the whole table."""
        return cls(*kernels.sign_planes(part.codes, part.starts, part.ids, key, cuts, kind),
                   part.rows)

    def __add__(self, other: Signs) -> Signs:
        both = self.planes, other.planes
        masks = None
        if self.masks is not None and other.masks is not None:
            masks = self._by_class(other, (self.masks, other.masks))
        return Signs(self._by_class(other, both), masks, self._zeros(other),
                     self.words + other.words, self.rows + other.rows)

    def _by_class(self, other: Signs, pair: tuple[npt.NDArray[np.uint64], ...],
                  ) -> npt.NDArray[np.uint64]:
        pieces = []
        for c in range(len(self.rows)):
            pieces.append(pair[0][:, self.words[c]:self.words[c + 1]])
            pieces.append(pair[1][:, other.words[c]:other.words[c + 1]])
        return np.ascontiguousarray(np.concatenate(pieces, axis=1))

    def _zeros(self, other: Signs) -> Ints:
        """A zero row keeps its place in its class; the class begins later."""
        def moved(zeros: Ints, words: Ints, shift: Ints) -> Ints:
            place = np.searchsorted(words, zeros >> 6, side="right") - 1
            return np.where(zeros < 0, -1, zeros + 64 * shift[np.maximum(place, 0)])

        here = moved(self.zeros, self.words, other.words[:-1])
        there = moved(other.zeros, other.words, self.words[1:])
        return np.maximum(here, there)


@dataclass(frozen=True, eq=False, repr=False)
class Bins:
    """Public grid bins; rows by class."""

    bins: npt.NDArray[np.uint8]
    starts: Ints
    weight: Ints | None

    @classmethod
    def of(cls, part: Part, layout: Layout, grid: int) -> Bins:
        """Put a part on the grid."""
        return cls(layout.bins(part.codes, grid), part.starts, part.weight)

    def __add__(self, other: Bins) -> Bins:
        pieces, weights = [], []
        for c in range(len(self.starts) - 1):
            for one in (self, other):
                rows = slice(one.starts[c], one.starts[c + 1])
                pieces.append(one.bins[:, rows])
                weights.append(None if one.weight is None else one.weight[rows])
        joined = [w for w in weights if w is not None]
        return Bins(np.ascontiguousarray(np.concatenate(pieces, axis=1)),
                    self.starts + other.starts, np.concatenate(joined) if joined else None)


@dataclass(frozen=True, eq=False, repr=False)
class RuleTables:
    """The summary: runs always, signs and bins where the plan asks for them.

    `joint` has the bins of further grids, by their fineness: those of sets of columns.
    """

    runs: Runs
    signs: Signs | None
    bins: Bins | None
    joint: Mapping[int, Bins] = field(default_factory=dict)

    def __add__(self, other: RuleTables) -> RuleTables:
        return RuleTables(
            self.runs + other.runs,
            None if self.signs is None or other.signs is None else self.signs + other.signs,
            None if self.bins is None or other.bins is None else self.bins + other.bins,
            {grid: bins + other.joint[grid] for grid, bins in self.joint.items()},
        )


def total(parts: Sequence[RuleTables]) -> RuleTables:
    """The sum of some summaries."""
    return reduce(add, parts)


class Weighing(NamedTuple):
    """Public (or released) numbers by which tables become scores.

    labellings : signed class weights, one row per way to cut the classes in two.
    offset : what is taken off the interval score, per labelling and column, in 24ths.
    scale : what one unit weighs (1 for rows; the common multiple for persons).
    order : 1, 2 or 3: how many signs a product may have.
    grid : cells a side of the pair grid, or 0.
    standing : the weights where each unit has one row, if they differ: in products.
    """

    labellings: Ints
    offset: Ints
    scale: int
    order: int
    grid: int
    standing: Ints | None = None


# [scores]
def scores(tables: RuleTables, layout: Layout, by: Weighing) -> Ints:
    """24 times the best rule's value, for each column.

    U_j = max(K_j - offset, g_j, X_j, Y_j) with K over intervals, g over pairs, X and Y over
    products of two and three signs, each divided by its own sensitivity.
    """
    best: Ints = (12 * kernels.interval(tables.runs.table, by.labellings, layout.kind)
                  - by.offset).max(axis=0)
    if by.grid and tables.bins is not None and len(layout.kind) > 1:
        gain = kernels.pair_gain(tables.bins.bins, tables.bins.starts, tables.bins.weight,
                                 by.labellings, by.grid, layout.nominal)
        best = np.maximum(best, 6 * gain)
    ranked = layout.ordered
    if by.order >= 2 and tables.signs is not None and len(ranked) > 1:
        weights = by.labellings if by.standing is None else by.standing
        products = (*_fields(tables.signs), weights)
        best[ranked] = np.maximum(best[ranked], 4 * by.scale * kernels.sign_pairs(*products))
        if by.order >= 3 and len(ranked) > 2:
            best[ranked] = np.maximum(best[ranked], 3 * by.scale * kernels.sign_triples(*products))
    return best
# [/scores]


def _fields(signs: Signs) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64] | None,
                                   Ints, Ints, Ints]:
    return signs.planes, signs.masks, signs.zeros, signs.words, signs.rows
