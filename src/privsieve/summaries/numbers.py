"""NumberTables: what the rules of RuleSieve need of the rows where the target is a number.

::

    alone   per column, how many rows of each bin of ranks have each code
    signs   per column, which rows lie above the median, by half of the target
    bins    per column, the public grid bin of each row, by half of the target

The target is cut at fixed public ranks: exact, with the tie keys of a feature of its own, so that
no column shares its order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from privsieve import kernels
from privsieve.public.columns import CODES, Label
from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch, Part, Passes
from privsieve.summaries import Summary
from privsieve.summaries.persons import by_person
from privsieve.summaries.ranks import Record, at_ranks
from privsieve.summaries.rules import PART_ROWS, Bins, Ints, Layout, Runs, Signs, median_cuts

if TYPE_CHECKING:
    from privsieve.summaries.sums import CellSums, SignSums

#: Cuts of the target at fixed ranks: it is cut into 16 parts of as many rows.
CUTS = 15
#: Cells of codes on which a noisy median is looked for: 4 codes each.
MEDIAN_GRID = 16_384
#: Signed weights of the lower half, the middle record and the upper half of the target.
HALVES = np.array([[-1, 0, 1]])
#: Scores are counted in eighths of a row, n of them for each of n rows: a unit moves one by 8 n.
PARTS = 8


@dataclass(frozen=True, eq=False, repr=False)
class NumberTables(Summary):
    """The summary: any cut of the rows into parts gives the same scores."""

    alone: Runs
    signs: Signs | SignSums | None
    bins: Bins | CellSums | None

    @property
    def rows(self) -> int:
        """How many rows (persons) there are."""
        return int(self.alone.counts.sum())


def number_tables(batches: Iterable[Batch], key: int, *, domain: Domain, depth: int,
                  grid: int, part_rows: int = PART_ROWS) -> NumberTables:
    """The summary of RuleSieve for a numeric target over some batches; one row a unit.

    grid : that of pairs, or 0
    """
    layout, feature = Layout.of(halved(domain)), len(domain.columns)
    held = list(records(Passes.of(batches), key, domain).keep(part_rows)) or [
        Batch.empty(feature)]
    n = sum(map(len, held))
    targets = [(batch.label, batch.unit, batch.row) for batch in held]
    cuts = at_ranks(targets, spread(n, CUTS), feature, key)
    middle = at_ranks(targets, halves(n), feature, key)
    # [halves] lower half, middle record of an odd number, upper half
    split = [Part.of(replace(batch, label=bins(batch, middle, feature, key)), 3)
             for batch in held]
    signs = median_cuts(split, key, layout.kind) if depth >= 2 else None

    return reduce(add, (
        NumberTables(Runs.of(Part.of(replace(batch, label=bins(batch, cuts, feature, key)),
                                     len(cuts) + 1)),
                     None if signs is None else Signs.of(part, signs, key, layout),
                     Bins.of(part, layout, grid) if grid else None)
        for batch, part in zip(held, split, strict=True)))


def halved(domain: Domain) -> Domain:
    """The domain with the target cut in two: what a rule on columns sees of it.

    >>> from privsieve.public.domain import Domain
    >>> halved(Domain.box(0, 1, columns=2, target=(0, 9))).classes
    2
    """
    assert domain.target is not None
    return replace(domain, target=Label(domain.target.name, (0, 1)))


# [records]
def records(rows: Passes, key: int, domain: Domain) -> Passes:
    """One row for each unit: of a person, the first of a keyed order of that person's rows."""
    if domain.person is None:
        return rows
    return Passes((batch.take(np.flatnonzero(first))
                   for batch, _weight, first in by_person(rows, domain.rows_per_person, key)),
                  rows.room)
# [/records]


def spread(n: int, cuts: int) -> tuple[int, ...]:
    """Ranks that cut n rows into equal parts, as far as there are so many.

    >>> spread(8, 3), spread(2, 3), spread(0, 3)
    ((2, 4, 6), (1,), ())
    """
    return tuple(sorted({i * n // (cuts + 1) for i in range(1, cuts + 1)} - {0}))


def halves(n: int) -> tuple[int, ...]:
    """The ranks at which the upper half begins, and the middle record where n is odd.

    >>> halves(6), halves(7), halves(1)
    ((3, 3), (3, 4), (0,))
    """
    return tuple(rank for rank in (n // 2, (n + 1) // 2) if rank < n)


def bins(batch: Batch, records: Sequence[Record], feature: int, key: int,
         ) -> npt.NDArray[np.int32]:
    """For each row, how many of these records it stands at or above."""
    found = np.zeros(len(batch), np.int32)
    keys = kernels.tie_keys(batch.unit, feature, key)
    for code, tie, row in records:
        # [at-or-above]
        later = (keys > np.uint64(tie)) | ((keys == np.uint64(tie)) & (batch.row >= np.uint64(row)))
        found += (batch.label > code) | ((batch.label == code) & later)
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Held:
    """Rows as they were read, for a plan whose classes are known only after a first answer."""

    rows: Passes
    key: int
    counts: tuple[int, ...]  # units by the target's cell on the public grid

    def labelled(self, cell: int) -> Passes:
        """The rows, in two classes: those whose target lies above this cell, and the others."""
        # [above-cell]
        low = (cell + 1) * (CODES // MEDIAN_GRID)
        return self.rows.mapped(lambda batch: replace(
            batch, label=(batch.label >= low).astype(np.int32)))


def hold(batches: Iterable[Batch], key: int, *, domain: Domain) -> Held:
    """Keep the rows, and count the target of one row a unit."""
    rows = Passes.of(batches)
    rows.keep(PART_ROWS)
    # [target-counts]
    counts = np.zeros(MEDIAN_GRID, np.int64)
    for batch in records(rows, key, domain):
        counts += np.bincount(batch.label // (CODES // MEDIAN_GRID), minlength=MEDIAN_GRID)
    return Held(rows, key, tuple(counts.tolist()))


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
    alone = kernels.rank_intervals(tables.alone.table, layout.kind)
    nothing = -np.iinfo(np.int64).max // 2  # where there is no cut: fewer than two rows
    best: Ints = (4 * alone - by.offset[:len(alone)]).max(axis=0, initial=nothing)
    if by.grid and tables.bins is not None and len(layout.kind) > 1:
        best = np.maximum(best, n * tables.bins.gain(HALVES, by.grid, layout))
    columns, signs = layout.ordered, tables.signs
    if by.order >= 2 and signs is not None and len(columns) > 1:
        best[columns] = np.maximum(best[columns], n * signs.pairs(HALVES))
        if by.order >= 3 and len(columns) > 2:
            best[columns] = np.maximum(best[columns], n * signs.triples(HALVES) - by.triple)
    return best
# [/number-scores]
