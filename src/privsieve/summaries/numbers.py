"""NumberTables: the sums of rows that RuleSieve needs if the target is a number.

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
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from privsieve import kernels
from privsieve.public.columns import CODES, Label
from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch, Part, Passes
from privsieve.summaries import Summary
from privsieve.summaries.forms import Bins, CellSums, Runs, Signs, SignSums
from privsieve.summaries.layout import Ints, Layout
from privsieve.summaries.passes import Counted, Found, TablePasses
from privsieve.summaries.persons import by_person
from privsieve.summaries.ranks import Records
from privsieve.summaries.stages import PART_CELLS

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


def number_tables(batches: Iterable[Batch], key: int, *, domain: Domain, depth: int, grid: int,
                  held: bool = True) -> NumberTables:
    """Make the summary of RuleSieve for a numeric target of some batches; one row a unit.

    The arguments are those of `rules.rule_tables`.
    """
    rows = records(Passes.of(batches), key, domain)
    parts = list(rows.keep(max(1, PART_CELLS // len(domain.columns)), labelled))
    return NumberPasses(domain, depth, grid).over(parts, key, rows.room, held=held)


def labelled(batch: Batch) -> Batch:
    """Return rows with their target as one more column, so that it has ranks as columns have."""
    codes = np.concatenate([batch.codes.T, batch.label.astype(np.uint16)[None]])
    return replace(batch, codes=codes.T, label=np.zeros(len(batch), np.int32))


class NumberPasses(TablePasses[Batch, NumberTables]):
    """How rows become tables, where the target is a number: the last of the columns."""

    @cached_property
    def layout(self) -> Layout:
        """How the columns enter the rules; the target is cut in two."""
        return Layout.of(halved(self.domain))

    def counted(self, some: Sequence[Batch], _key: int, _totals: Found) -> Counted:
        """Count codes of the columns and of the target."""
        return Counted(Runs.of(*map(self.single, some)), None)

    def summed(self, rows: Batch, key: int, totals: Found, *, held: bool = False) -> NumberTables:
        """Sum codes by ranks of the target, and products of signs and cells by halves of it."""
        feature, named = len(self.layout.kind), self.records(totals)
        first = len(totals[0].once("middles", self.middles)[0]) if self.order > 1 else 0
        last = first + len(spread(int(totals[0].whole.counts.sum()), CUTS))
        whole = replace(rows, codes=rows.codes[:, :feature],
                        label=rows.codes[:, feature].astype(np.int32))
        # [halves] lower half, middle record of an odd number, upper half
        alone, middle = (replace(whole, label=bins(whole, cut, feature, key))
                         for cut in (named.cut(first, last), named.cut(last)))
        split = Part.of(middle, 3)
        signs = self.products(split, self.cuts(totals), key, held=held) if self.order > 1 else None
        return NumberTables(Runs.of(Part.of(alone, last - first + 1)), signs,
                            self.cells(split, held=held))

    def single(self, rows: Batch) -> Part:
        """Return all rows, in any order."""
        return Part.of(rows, 1)

    def wanted(self, counted: Counted) -> tuple[Ints, Ints]:
        """Return the middle of each column, the cut of the target, and its halves."""
        columns, many = (counted.once("middles", self.middles) if self.order > 1
                         else (np.zeros(0, np.int64),) * 2)
        n = int(counted.whole.counts.sum())
        cuts = np.array([*spread(n, CUTS), *halves(n)], np.int64)
        return (np.append(columns, np.full(len(cuts), len(self.layout.kind))),
                np.append(many // 2, cuts))

    def none(self, batch: Batch) -> Batch:
        """Return no rows, with a target."""
        return labelled(batch)


def halved(domain: Domain) -> Domain:
    """Return the domain with the target cut in two, as a rule on columns sees it.

    >>> from privsieve.public.domain import Domain
    >>> halved(Domain.box(0, 1, columns=2, target=(0, 9))).classes
    2
    """
    assert domain.target is not None
    return replace(domain, target=Label(domain.target.name, (0, 1)))


# [records]
def records(rows: Passes, key: int, domain: Domain) -> Passes:
    """Return one row for each unit: of a person, the first in a keyed order."""
    if domain.person is None:
        return rows
    return Passes((batch.take(np.flatnonzero(first))
                   for batch, _weight, first in by_person(rows, domain.rows_per_person, key)),
                  rows.room)
# [/records]


def spread(n: int, cuts: int) -> tuple[int, ...]:
    """Ranks that cut n rows into equal parts, as far as there are enough.

    >>> spread(8, 3), spread(2, 3), spread(0, 3)
    ((2, 4, 6), (1,), ())
    """
    return tuple(sorted({i * n // (cuts + 1) for i in range(1, cuts + 1)} - {0}))


def halves(n: int) -> tuple[int, ...]:
    """Return the ranks at which the upper half begins, and the middle record if n is odd.

    >>> halves(6), halves(7), halves(1)
    ((3, 3), (3, 4), (0,))
    """
    return tuple(rank for rank in (n // 2, (n + 1) // 2) if rank < n)


def bins(batch: Batch, records: Records, feature: int, key: int) -> npt.NDArray[np.int32]:
    """Count for each row the records at or below it."""
    ranks = np.zeros(len(batch), np.int32)
    keys = kernels.tie_keys(batch.unit, feature, key)
    for code, tie, row in zip(*records, strict=True):
        # [at-or-above]
        later = (keys > tie) | ((keys == tie) & (batch.row >= row))
        ranks += (batch.label > code) | ((batch.label == code) & later)
    return ranks


@dataclass(frozen=True, eq=False, repr=False)
class Held:
    """Unchanged rows, for a plan that knows its classes only after a first answer."""

    rows: Passes
    key: int
    counts: tuple[int, ...]  # units by the target's cell on the public grid

    def labelled(self, cell: int) -> Passes:
        """Return the rows in two classes: those with a target above this cell, and others."""
        # [above-cell]
        low = (cell + 1) * (CODES // MEDIAN_GRID)
        return self.rows.mapped(lambda batch: replace(
            batch, label=(batch.label >= low).astype(np.int32)))


def hold(batches: Iterable[Batch], key: int, *, domain: Domain) -> Held:
    """Keep the rows, and count the target of one row a unit."""
    rows = Passes.of(batches)
    rows.keep(max(1, PART_CELLS // len(domain.columns)))
    # [target-counts]
    counts = np.zeros(MEDIAN_GRID, np.int64)
    for batch in records(rows, key, domain):
        counts += np.bincount(batch.label // (CODES // MEDIAN_GRID), minlength=MEDIAN_GRID)
    return Held(rows, key, tuple(counts.tolist()))


class Depth(NamedTuple):
    """Public numbers by which tables become scores.

    offset : what is taken off the score of a column alone, per cut and column, in `PARTS`.
    triple : what is subtracted from products of three; it depends on their number.
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
        best[columns] = np.maximum(best[columns], n * signs.best(2, HALVES))
        if by.order >= 3 and len(columns) > 2:
            best[columns] = np.maximum(best[columns], n * signs.best(3, HALVES) - by.triple)
    return best
# [/number-scores]
