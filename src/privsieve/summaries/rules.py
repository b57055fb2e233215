"""RuleTables: the sums of rows that RuleSieve needs, and the scores that follow from them.

Ties are broken by `tie_keys(unit, feature, key)`, not by the file's order: an order that columns
share would make tied columns copies of each other (or of a file sorted by class).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from privsieve import kernels
from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch, Part, Passes, in_classes
from privsieve.summaries import Summary
from privsieve.summaries.forms import Bins, CellSums, Runs, Signs, SignSums
from privsieve.summaries.layout import Ints, Layout
from privsieve.summaries.passes import Counted, Found, TablePasses
from privsieve.summaries.persons import by_person
from privsieve.summaries.stages import PART_CELLS, Stage

#: Rows that are units; or rows of persons, with what each weighs, and whether it stands for one.
Rows = Batch | tuple[Batch, Ints, npt.NDArray[np.bool_]]


@dataclass(frozen=True, eq=False, repr=False)
class RuleTables(Summary):
    """The summary: runs always, products and cells where the plan asks for them."""

    runs: Runs
    signs: Signs | SignSums | None
    bins: Bins | CellSums | None


def rule_tables(batches: Iterable[Batch], key: int, *, domain: Domain, order: int, grid: int,
                held: bool = True) -> RuleTables:
    """Make the summary of RuleSieve of some batches, which are kept while it is made.

    grid : that of pairs, or 0.
    held : whether rows are held for products and cells, or their sums are made.
    """
    rows = Passes.of(batches)
    ready = in_classes if domain.person is None else None
    kept = rows.keep(max(1, PART_CELLS // len(domain.columns)), ready)
    parts: Iterable[Rows] = list(kept if ready else by_person(rows, domain.rows_per_person, key))
    return RulePasses(domain, order, grid).over(parts, key, rows.room, held=held)


class RulePasses(TablePasses[Rows, RuleTables]):
    """How rows become tables, where the target has classes; without signs one pass is all."""

    @property
    def stages(self) -> tuple[Stage, ...]:
        """One pass after another."""
        return super().stages if self.order > 1 else (self.summed,)

    def counted(self, some: Sequence[Rows], _key: int, _totals: Found) -> Counted:
        """Count codes by class."""
        whole, single = zip(*map(self._parts, some), strict=True)
        return Counted(Runs.of(*whole), None if single[0] is whole[0] else Runs.of(*single))

    def summed(self, rows: Rows, key: int, totals: Found, *, held: bool = False) -> RuleTables:
        """Return products of signs at the medians, and cells; runs if no pass counted them."""
        whole, single = self._parts(rows)
        runs: Any = Runs.of(whole) if self.order < 2 else None
        signs = None if runs else self.products(single, self.cuts(totals), key, held=held)
        return RuleTables(runs, signs, self.cells(whole, held=held))

    def ended(self, totals: Found) -> RuleTables:
        """Return the tables, with the counts of the first pass."""
        tables = super().ended(totals)
        return tables if self.order < 2 else replace(tables, runs=totals[0].whole)

    def single(self, rows: Rows) -> Part:
        """Return one row a unit, in any order."""
        return self._parts(rows)[1]

    def wanted(self, counted: Counted) -> tuple[Ints, Ints]:
        """Return the middle of each column."""
        columns, many = counted.once("middles", self.middles)
        return columns, many // 2

    def none(self, batch: Batch) -> Rows:
        """Return no rows, in the form of these."""
        if self.domain.person is None:
            return batch
        return batch, np.zeros(len(batch), np.int64), np.zeros(len(batch), np.bool_)

    def _parts(self, rows: Rows) -> tuple[Part, Part]:
        return parts_of(rows, self.domain.classes)


def parts_of(rows: Rows, classes: int) -> tuple[Part, Part]:
    """Return a part for sums, and one with one row a unit for ranks."""
    if isinstance(rows, Batch):
        chunk = Part.of(rows, classes)
        return chunk, chunk
    batch, weight, first = rows
    kept = np.flatnonzero(weight)
    return (Part.of(batch.take(kept), classes, weight[kept]),
            Part.of(batch.take(np.flatnonzero(first)), classes))


# What tables become


def best_alone(runs: Runs, labelling: Ints, layout: Layout, grid: int) -> Ints:
    """Twice the best rule that cuts a column once on the grid, or not at all."""
    indptr, codes, count = runs.table
    signed, best = count @ labelling, np.zeros(len(layout.kind), np.int64)
    for j, nominal in enumerate(layout.nominal.tolist()):
        here = slice(indptr[j], indptr[j + 1])
        # codes are sorted, and so are their cells
        ends = np.searchsorted(layout.bin(j, codes[here], grid), np.arange(grid), side="right")
        level = np.append(0, signed[here].cumsum())[ends]
        below = np.diff(level, prepend=0)[:-1] if nominal else level[:-1]
        best[j] = np.abs([*(2 * below - level[-1]), level[-1]]).max()
    return best


class Weighing(NamedTuple):
    """Public (or released) numbers by which tables become scores.

    labellings : signed class weights, one row per way to cut the classes in two.
    offset : what is taken off the interval score, per labelling and column, in 24ths.
    scale : what one unit weighs (1 for rows; the common multiple for persons).
    order : 1, 2 or 3: how many signs a product may have.
    grid : cells a side of the pair grid, or 0.
    product_labellings : the weights where each unit has one row, if they differ: in products.
    by_chance : what is taken off the best pair with a column, and off its best product of two and
        of three, in 24ths: of thousands of partners one is good by chance.
    by_cells : the same for the rule of a pair that is raced.
    """

    labellings: Ints
    offset: Ints
    scale: int
    order: int
    grid: int
    product_labellings: Ints | None = None
    by_chance: tuple[int, int, int] = (0, 0, 0)
    by_cells: int = 0

    def alone(self, cut: int) -> Weighing:
        """Return the same with one labelling."""
        here = slice(cut, cut + 1)
        fixed = None if self.product_labellings is None else self.product_labellings[here]
        return self._replace(labellings=self.labellings[here], offset=self.offset[here],
                             product_labellings=fixed)

    def ways(self) -> list[Weighing]:
        """Return a weighing for each labelling; each values a set."""
        return [self.alone(cut) for cut in range(len(self.labellings))]


# [scores]
def scores(tables: RuleTables, layout: Layout, by: Weighing, gain: Ints | None = None) -> Ints:
    """24 times the best rule's value, for each column.

    U_j = max(K_j - offset, g_j - a, X_j - b, Y_j - c) with K over intervals, g over pairs, X and Y
    over products of two and three signs, each divided by its own sensitivity; a, b and c
    are `by_chance`.

    gain : g, where it is known
    """
    pairs, two, three = by.by_chance
    best: Ints = (12 * kernels.interval(tables.runs.table, by.labellings, layout.kind)
                  - by.offset).max(axis=0)
    if by.grid and tables.bins is not None and len(layout.kind) > 1:
        gain = tables.bins.gain(by.labellings, by.grid, layout) if gain is None else gain
        best = np.maximum(best, 6 * gain - pairs)
    ranked, signs = layout.ordered, tables.signs
    if by.order >= 2 and signs is not None and len(ranked) > 1:
        weights = by.labellings if by.product_labellings is None else by.product_labellings
        best[ranked] = np.maximum(best[ranked], 4 * by.scale * signs.best(2, weights) - two)
        if by.order >= 3 and len(ranked) > 2:
            best[ranked] = np.maximum(best[ranked], 3 * by.scale * signs.best(3, weights) - three)
    return best
# [/scores]
