"""RuleTables: what the rules of RuleSieve need of the rows, as integers that add up.

::

    runs    per column, how many rows of each class have each code       interval rules
    signs   per column, which rows lie above the median, by class        2- and 3-way products
    bins    per column, the public grid bin of each row, by class        rules on pairs

The class stays an index everywhere, so that weights may come after the charge, from a noisy
count.  Ties are broken by `tie_keys(unit, feature, key)`, not by the file's order: an order that
columns share would make tied columns copies of each other (or of a file sorted by class).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import add
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from privsieve import kernels
from privsieve.public.columns import CODES, MIDDLE, MISSING, Column, Graded
from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch, Part, Passes
from privsieve.rows.cells import log_linear
from privsieve.summaries import Summary
from privsieve.summaries.persons import by_person
from privsieve.summaries.ranks import Ranked, at_ranks, where

if TYPE_CHECKING:
    from privsieve.summaries.sums import CellSums, SignSums

Ints = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
#: Rows that are units; or rows of persons, with what each weighs, and whether it stands for one.
Rows = Batch | tuple[Batch, Ints, npt.NDArray[np.bool_]]
#: Of each column the code, tie key and row of its median record, and how many rows it has.
Cuts = tuple[npt.NDArray[np.uint16], Keys, Keys, Ints]

#: Rows that become one part.  Any cut gives the same scores; fewer parts are faster.
PART_ROWS = 2**23
#: Cells a side of the finest grid of pairs.
FINEST = 16
#: Of more rows a table says the cell of each code.
FEW_ROWS = 4096
#: Where a number without bounds is cut, as far from `near`.
FAR = (-16, -4, -1, -.25, 0, .25, 1, 4, 16, 32, 64, 128, 256, 1024, 4096)
#: kinds of the interval kernel
ORDERED, ORDERED_WITH_MISSING, SUBSETS, ONE_LEVEL = range(4)
#: Up to so many levels a rule may pick any subset of them; a subset rule's null grows with the
#: square root of the number of levels.
LARGEST_SUBSET = 8


# How columns enter the rules


@dataclass(frozen=True, eq=False, repr=False)
class Layout:
    """Kinds of the columns and the number of classes."""

    kind: npt.NDArray[np.uint8]
    levels: npt.NDArray[np.int64]  # 0 for numbers
    classes: int
    columns: tuple[Column, ...]

    @classmethod
    def of(cls, domain: Domain) -> Layout:
        """The layout of a domain."""
        return cls(
            np.array([_kind(column) for column in domain.columns], np.uint8),
            np.array([column.levels or 0 for column in domain.columns], np.int64),
            domain.classes,
            tuple(domain.columns),
        )

    @property
    def nominal(self) -> npt.NDArray[np.uint8]:
        """1 for columns whose levels have no order."""
        return (self.kind >= SUBSETS).astype(np.uint8)

    @property
    def ordered(self) -> npt.NDArray[np.intp]:
        """The positions of the columns that have ranks."""
        return np.flatnonzero(self.kind < SUBSETS)

    def bins(self, codes: npt.NDArray[np.uint16], grid: int) -> npt.NDArray[np.uint8]:
        """Codes on the public grid: 0..grid-1.

        Where missing is a level, it is the last bin and values use the others; of a category,
        the first grid-1 levels stand alone and the rest is the last bin.
        """
        return np.array([self.bin(j, column, grid) for j, column in enumerate(codes)],
                        np.uint8).reshape(codes.shape)

    def bin(self, j: int, codes: npt.NDArray[np.uint16], grid: int) -> npt.NDArray[np.uint8]:
        """Codes of column j on the public grid."""
        if self.levels[j]:
            return np.minimum(codes, grid - 1).astype(np.uint8)
        # [cells] a coarser grid has every second edge, or every fourth
        edges = cell_edges(self.columns[j])[FINEST // grid - 1::FINEST // grid]
        if len(codes) < FEW_ROWS:
            found = np.searchsorted(edges, codes, side="right").astype(np.uint8)
        else:
            cells = np.arange(len(edges) + 1, dtype=np.uint8)
            found = np.repeat(cells, np.diff([0, *edges, CODES]))[codes]
        if self.kind[j] == ORDERED_WITH_MISSING:
            found = np.where(codes == MISSING, grid - 1, np.minimum(found, grid - 2))
        return found.astype(np.uint8, copy=False)


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


# [cell-edges]
def cell_edges(column: Column, steps: int = FINEST) -> Ints:
    """The codes at which the cells of the finest grid begin: public, by the domain alone.

    Between bounds they are equal steps; without bounds, powers of two to both sides of `near`.

    >>> from privsieve.public.columns import Number
    >>> cell_edges(Number("age", 0, 16))[:3].tolist(), len(cell_edges(Number("sodium")))
    ([4096, 8192, 12288], 15)
    """
    if isinstance(column, Graded) and column.gridless:
        return _edges_around(*column.reach, column.near or 0.0, steps)
    return np.arange(1, steps) * (CODES // steps)


@lru_cache(1024)
def _edges_around(low: float, high: float, near: float, steps: int) -> Ints:
    values = (near + np.array(FAR) if math.isinf(low)
              else low + (high - low) * np.arange(1, steps) / steps)
    return log_linear(values, near, CODES, MIDDLE).astype(np.int64)
# [/cell-edges]


def _kind(column: Column) -> int:
    if column.unordered:
        return SUBSETS if column.unordered <= LARGEST_SUBSET else ONE_LEVEL
    return ORDERED_WITH_MISSING if column.missing_level else ORDERED


# What rows become


@dataclass(frozen=True, eq=False, repr=False)
class Runs(Summary):
    """Per column, the distinct codes and their counts per class."""

    table: tuple[Ints, npt.NDArray[np.uint16], npt.NDArray[np.signedinteger]]
    counts: Ints  # per class, weighted

    @classmethod
    def of(cls, *parts: Part) -> Runs:
        """Count the codes of some parts, in one table."""
        return cls(kernels.runs_together([(part.codes, part.starts, part.weight)
                                          for part in parts]),
                   reduce(add, (part.counts for part in parts)))

    def __add__(self, other: Runs) -> Runs:
        return Runs(kernels.merge_runs(self.table, other.table), self.counts + other.counts)


@dataclass(frozen=True, eq=False, repr=False)
class Signs(Summary):
    """Bit planes of the median splits; rows by class, each class padded with zero bits."""

    planes: Keys
    masks: Keys | None
    zeros: Ints
    words: Ints
    rows: Ints

    @classmethod
    def of(cls, part: Part, cuts: Cuts, key: int, layout: Layout) -> Signs:
        """Split the columns that have ranks at cuts that were found over the whole table."""
        planes, masks, zeros = kernels.sign_planes(part.codes, part.starts, part.ids, key, cuts,
                                                   layout.kind)
        ranked = layout.ordered
        if len(ranked) < len(planes):
            planes, zeros = np.ascontiguousarray(planes[ranked]), zeros[ranked]
            masks = None if masks is None else np.ascontiguousarray(masks[ranked])
        return cls(planes, masks, zeros, kernels.plane_words(part.starts), part.rows)

    def __add__(self, other: Signs) -> Signs:
        masks = None
        if self.masks is not None and other.masks is not None:
            masks = self._by_class(other, self.masks, other.masks)
        return Signs(self._by_class(other, self.planes, other.planes), masks, self._zeros(other),
                     self.words + other.words, self.rows + other.rows)

    def pairs(self, weights: Ints) -> Ints:
        """For each column its best product with another one."""
        return kernels.sign_pairs(self.planes, self.masks, self.zeros, self.words, self.rows,
                                  weights)

    def triples(self, weights: Ints) -> Ints:
        """For each column its best product with two others."""
        return kernels.sign_triples(self.planes, self.masks, self.zeros, self.words, self.rows,
                                    weights)

    def _by_class(self, other: Signs, mine: Keys, others: Keys) -> Keys:
        pieces = []
        for c in range(len(self.rows)):
            pieces.append(mine[:, self.words[c]:self.words[c + 1]])
            pieces.append(others[:, other.words[c]:other.words[c + 1]])
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
class Bins(Summary):
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

    def gain(self, weights: Ints, grid: int, layout: Layout) -> Ints:
        """For each column what a partner adds to it."""
        return kernels.pair_gain(self.bins, self.starts, self.weight, weights, grid, layout.nominal)

    def pairs(self, weights: Ints, grid: int, layout: Layout) -> Ints:
        """Twice the best rule of each pair, in lexicographic order."""
        return kernels.pair_best(self.bins, self.starts, self.weight, weights, grid, layout.nominal)


@dataclass(frozen=True, eq=False, repr=False)
class RuleTables(Summary):
    """The summary: runs always, signs and bins where the plan asks for them, or sums of them."""

    runs: Runs
    signs: Signs | SignSums | None
    bins: Bins | CellSums | None


def rule_tables(batches: Iterable[Batch], key: int, *, domain: Domain, order: int,
                grid: int, part_rows: int = PART_ROWS) -> RuleTables:
    """The summary of RuleSieve over some batches, held as integer codes while it is made.

    grid : that of pairs, or 0
    """
    layout = Layout.of(domain)
    rows = Passes.of(batches)
    held = list(rows.keep(part_rows)) or [Batch.empty(len(domain.columns))]
    whole, single = _parts(Passes(held, rows.room), key, domain, layout)
    cuts = median_cuts(single, key, layout.kind) if order >= 2 else None
    return reduce(add, (
        RuleTables(Runs.of(part), None if cuts is None else Signs.of(one, cuts, key, layout),
                   Bins.of(part, layout, grid) if grid else None)
        for part, one in zip(whole, single, strict=True)))


def _parts(batches: Passes, key: int, domain: Domain, layout: Layout,
           ) -> tuple[list[Part], list[Part]]:
    """Parts for sums, and parts with one row a unit for ranks."""
    rows: Iterable[Rows] = batches if domain.person is None else by_person(
        batches, domain.rows_per_person, key)
    both = [parts_of(one, layout.classes) for one in rows]
    return [whole for whole, _single in both], [single for _whole, single in both]


def parts_of(rows: Rows, classes: int) -> tuple[Part, Part]:
    """A part for sums, and one with one row a unit for ranks."""
    if isinstance(rows, Batch):
        part = Part.of(rows, classes)
        return part, part
    batch, weight, first = rows
    kept = np.flatnonzero(weight)
    return (Part.of(batch.take(kept), classes, weight[kept]),
            Part.of(batch.take(np.flatnonzero(first)), classes))


def median_cuts(parts: Sequence[Part], key: int, kind: npt.NDArray[np.uint8]) -> Cuts:
    """The record of middle rank of each ordered column: its code, tie key, row, and the count."""
    if len(parts) == 1:
        part = parts[0]
        return kernels.median_cut(part.codes, part.ids[0], part.ids[1], key, kind)
    # [cuts] rank floor(m/2) of m rows that are not missing, by (code, tie key, row)
    cuts = (np.zeros(len(kind), np.uint16), np.zeros(len(kind), np.uint64),
            np.zeros(len(kind), np.uint64), np.zeros(len(kind), np.int64))
    for j in np.flatnonzero(kind < SUBSETS).tolist():
        pieces: list[Ranked] = [(part.codes[j], part.ids[0], part.ids[1]) for part in parts]
        if kind[j] == ORDERED_WITH_MISSING:
            pieces = [where(piece, piece[0] != MISSING) for piece in pieces]
        if count := sum(len(codes) for codes, _unit, _row in pieces):
            record = at_ranks(pieces, [count // 2], j, key)[0]
            cuts[0][j], cuts[1][j], cuts[2][j], cuts[3][j] = *record, count
    return cuts


# What tables become


class Weighing(NamedTuple):
    """Public (or released) numbers by which tables become scores.

    labellings : signed class weights, one row per way to cut the classes in two.
    offset : what is taken off the interval score, per labelling and column, in 24ths.
    scale : what one unit weighs (1 for rows; the common multiple for persons).
    order : 1, 2 or 3: how many signs a product may have.
    grid : cells a side of the pair grid, or 0.
    standing : the weights where each unit has one row, if they differ: in products.
    by_chance : what is taken off the best pair with a column, and off its best product of two and
        of three, in 24ths: of thousands of partners one is good by chance.
    by_cells : the same for the rule of a pair that is raced.
    """

    labellings: Ints
    offset: Ints
    scale: int
    order: int
    grid: int
    standing: Ints | None = None
    by_chance: tuple[int, int, int] = (0, 0, 0)
    by_cells: int = 0

    def alone(self, cut: int) -> Weighing:
        """The same with one labelling."""
        here = slice(cut, cut + 1)
        return self._replace(labellings=self.labellings[here], offset=self.offset[here],
                             standing=None if self.standing is None else self.standing[here])

    def ways(self) -> list[Weighing]:
        """What a set is valued by: each labelling, one after another."""
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
        weights = by.labellings if by.standing is None else by.standing
        best[ranked] = np.maximum(best[ranked], 4 * by.scale * signs.pairs(weights) - two)
        if by.order >= 3 and len(ranked) > 2:
            best[ranked] = np.maximum(best[ranked],
                                      3 * by.scale * signs.triples(weights) - three)
    return best
# [/scores]
