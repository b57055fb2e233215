"""Passes: RuleSieve's tables by sums over parts of the rows, where not all of them are in memory.

::

    1  codes by class, and with them the code that each median has
    2  rows that share it, by the top bits of their tie keys
    3  keys and positions of the few rows that the middle one is among
    4  products of signs, and cells of sets of columns

What a part comes to adds up, whatever the cut.  `rules.at_ranks` finds the same records of rows
that are all in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from privsieve.kernels.sums import tie_counts, tied
from privsieve.public.columns import MISSING
from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch, Part, Passes
from privsieve.summaries import Summary
from privsieve.summaries.numbers import CUTS, NumberTables, bins, halves, spread
from privsieve.summaries.persons import by_person
from privsieve.summaries.ranks import Record, bucket
from privsieve.summaries.rules import (
    ORDERED_WITH_MISSING,
    Cuts,
    Ints,
    Keys,
    Layout,
    Rows,
    RuleTables,
    Runs,
    Signs,
    parts_of,
)
from privsieve.summaries.stages import PART_CELLS, OfParts, Stages
from privsieve.summaries.sums import CellSums, SignSums

#: A column, and a 0-based rank among its rows.
Rank = tuple[int, int]
#: What the passes before came to.
Found = tuple[Any, ...]
Made = TypeVar("Made")


# Records of given ranks, in three passes


@dataclass(frozen=True, eq=False, repr=False)
class Few(Summary):
    """Keys and positions of few rows for each of some places."""

    keys: tuple[Keys, ...]
    rows: tuple[Keys, ...]

    def __add__(self, other: Few) -> Few:
        return Few(*(tuple(np.concatenate(both) for both in zip(mine, others, strict=True))
                     for mine, others in ((self.keys, other.keys), (self.rows, other.rows))))


@dataclass(frozen=True, eq=False, repr=False)
class Ranks:
    """Where ranks lie, as far as it is known: a place for each.

    places : a column and a code each; later the top bits of the tie key, too.
    left : the ranks inside of those places.
    """

    places: Ints
    left: tuple[int, ...]

    # [ranks-in-passes]
    @classmethod
    def of(cls, runs: Runs, ranks: Sequence[Rank]) -> Ranks:
        """The codes that hold these ranks."""
        indptr, code, count = runs.table
        places, left = np.zeros((len(ranks), 2), np.int64), []
        for place, (column, rank) in zip(places, ranks, strict=True):
            here = slice(indptr[column], indptr[column + 1])
            at, inside = bucket(count[here].sum(axis=1, dtype=np.int64), rank)
            place[:] = column, code[here][at]
            left.append(inside)
        return cls(places, tuple(left))

    def ties(self, part: Part, key: int) -> Ints:
        """How the tie keys begin of the rows at each place."""
        return tie_counts(part.codes, part.ids, key, self.places)

    def among(self, ties: Ints) -> Ranks:
        """The same, with the top bits of the keys that hold the ranks."""
        found = [bucket(counts, rank) for counts, rank in zip(ties, self.left, strict=True)]
        tops = np.array([top for top, _ in found], np.int64).reshape(-1, 1)
        return Ranks(np.concatenate([self.places, tops], axis=1),
                     tuple(inside for _, inside in found))

    def few(self, part: Part, key: int) -> Few:
        """The rows at each place."""
        ends, keys, rows = tied(part.codes, part.ids, key, self.places)
        cut = list(pairwise(ends.tolist()))
        return Few(tuple(keys[a:b] for a, b in cut), tuple(rows[a:b] for a, b in cut))

    def records(self, few: Few) -> list[Record]:
        """The records of the ranks."""
        found = []
        for place, rank, keys, rows in zip(self.places.tolist(), self.left, few.keys, few.rows,
                                           strict=True):
            inside = sorted(zip(keys.tolist(), rows.tolist(), strict=True))
            found.append(Record(place[1], *inside[rank]))
        return found
    # [/ranks-in-passes]


def kept(made: Any, name: str, of: Callable[[], Made]) -> Made:
    """What follows from a pass is made once, and goes when what the pass came to goes."""
    known = vars(made).setdefault("_made", {})
    if name not in known:
        known[name] = of()
    found: Made = known[name]
    return found


def middles(runs: Runs, layout: Layout) -> list[Rank]:
    """The rank in the middle of each column that has ranks, of the rows that are not missing."""
    indptr, code, count = runs.table
    found = []
    for j in layout.ordered.tolist():
        here = slice(indptr[j], indptr[j + 1])
        known = code[here] != MISSING if layout.kind[j] == ORDERED_WITH_MISSING else slice(None)
        if many := int(count[here][known].sum(dtype=np.int64)):
            found.append((j, many // 2))
    return found


def cuts_of(runs: Runs, layout: Layout, records: Iterable[Record]) -> Cuts:
    """Records of the middle ranks as `rules.median_cuts` gives them."""
    cuts = (np.zeros(len(layout.kind), np.uint16), np.zeros(len(layout.kind), np.uint64),
            np.zeros(len(layout.kind), np.uint64), np.zeros(len(layout.kind), np.int64))
    indptr, code, count = runs.table
    for (j, _rank), record in zip(middles(runs, layout), records, strict=True):
        here = slice(indptr[j], indptr[j + 1])
        known = code[here] != MISSING if layout.kind[j] == ORDERED_WITH_MISSING else slice(None)
        cuts[0][j], cuts[1][j], cuts[2][j] = record
        cuts[3][j] = count[here][known].sum(dtype=np.int64)
    return cuts


def _nobody(batch: Batch) -> Rows:
    """No rows, as rows of persons."""
    return batch, np.zeros(len(batch), np.int64), np.zeros(len(batch), np.bool_)


# The tables


@dataclass(frozen=True, eq=False, repr=False)
class Counted(Summary):
    """Codes by class of all rows with their weights, and of one row a unit where those differ."""

    whole: Runs
    single: Runs | None

    @property
    def ranked(self) -> Runs:
        """Those that ranks are of."""
        return self.whole if self.single is None else self.single


class Ranked:
    """The passes between codes and products: they find the records of ranks."""

    layout: Layout

    @property
    def between(self) -> tuple[Callable[[Any, Any, Found], Any], ...]:
        """One pass after another."""
        return self.ties, self.few

    def ties(self, rows: Any, key: int, found: Found) -> Ints:
        """How the tie keys begin of rows that share the code of a rank."""
        return self._ranks(found).ties(self.single(rows), key)

    def few(self, rows: Any, key: int, found: Found) -> Few:
        """The few rows that the ranks are among."""
        return self._among(found).few(self.single(rows), key)

    def records(self, found: Found) -> list[Record]:
        """The records of all ranks that there are."""
        return kept(found[0], "records", lambda: self._among(found).records(found[2]))

    def single(self, rows: Any) -> Part:
        """One row a unit, in any order."""
        raise NotImplementedError

    def asked(self, counted: Counted) -> list[Rank]:
        """The ranks."""
        raise NotImplementedError

    def _ranks(self, found: Found) -> Ranks:
        return kept(found[0], "ranks",
                    lambda: Ranks.of(found[0].ranked, self.asked(found[0])))

    def _among(self, found: Found) -> Ranks:
        return kept(found[0], "among", lambda: self._ranks(found).among(found[1]))


@dataclass(frozen=True, eq=False, repr=False)
class RuleSums(Ranked):
    """Which sums RuleSieve's tables take; public.

    order : how many signs a product has, at most; 1 for none
    pairs : the grid of pairs, or 0
    """

    layout: Layout
    order: int
    pairs: int

    @property
    def stages(self) -> tuple[Callable[[Any, Any, Found], Any], ...]:
        """One pass after another; where no column is cut at its median, one is all."""
        if self.order < 2:
            return (self.at_once,)
        return OfParts(self.counted), *self.between, self.summed

    def counted(self, some: Sequence[Rows], _key: int, _found: Found) -> Counted:
        """Codes by class."""
        whole, single = zip(*(parts_of(rows, self.layout.classes) for rows in some), strict=True)
        return Counted(Runs.of(*whole), None if single[0] is whole[0] else Runs.of(*single))

    def summed(self, rows: Rows, key: int, found: Found) -> RuleTables:
        """Products of signs at those cuts, and cells."""
        whole, single = parts_of(rows, self.layout.classes)
        cuts = kept(found[0], "cuts", lambda: cuts_of(
            found[0].ranked, self.layout, self.records(found)))
        signs = Signs.of(single, cuts, key, self.layout)
        return self._tables(None, SignSums.of(signs, self.order), whole)

    def at_once(self, rows: Rows, _key: int, _found: Found) -> RuleTables:
        """All, where there are no signs."""
        whole, _single = parts_of(rows, self.layout.classes)
        return self._tables(Runs.of(whole), None, whole)

    def ended(self, found: Found) -> RuleTables:
        """The tables."""
        last: RuleTables = found[-1]
        if self.order < 2:
            return last
        return RuleTables(found[0].whole, last.signs, last.bins)

    def of_persons(self, rows: Passes, key: int, domain: Domain) -> RuleTables:
        """The tables of persons, whose weights are known when all rows are there."""
        rows.keep(rows.part_rows(PART_CELLS // len(self.layout.kind), len(self.layout.kind)))
        parts = list(by_person(rows, domain.rows_per_person, key))
        stages = Stages(self.stages, len(self.layout.kind), self.ended, ready=_nobody)
        tables: RuleTables = stages.over(parts, key, rows.room)
        return tables

    def _tables(self, runs: Any, signs: SignSums | None, part: Part) -> RuleTables:
        return RuleTables(
            runs, signs, CellSums.of(part, self.layout, self.pairs) if self.pairs else None)

    def single(self, rows: Rows) -> Part:
        """One row a unit, in any order."""
        return parts_of(rows, self.layout.classes)[1]

    def asked(self, counted: Counted) -> list[Rank]:
        """The middle of each column."""
        return middles(counted.ranked, self.layout)


# A number as a target


def labelled(batch: Batch) -> Batch:
    """Rows with their target as one more column, so that it has ranks as columns have."""
    codes = np.concatenate([batch.codes.T, batch.label.astype(np.uint16)[None]])
    return replace(batch, codes=codes.T, label=np.zeros(len(batch), np.int32))


@dataclass(frozen=True, eq=False, repr=False)
class NumberSums(Ranked):
    """Which sums the tables take where the target is a number: the last of the columns.

    layout : that of the other columns, with the target cut in two
    depth : how many signs a product has, at most; 1 for none
    pairs : the grid of pairs, or 0
    """

    layout: Layout
    depth: int
    pairs: int

    @property
    def stages(self) -> tuple[Callable[[Any, Any, Found], Any], ...]:
        """One pass after another."""
        return OfParts(self.counted), *self.between, self.summed

    def counted(self, some: Sequence[Batch], _key: int, _found: Found) -> Counted:
        """Codes of the columns and of the target."""
        return Counted(Runs.of(*(Part.of(rows, 1) for rows in some)), None)

    def summed(self, rows: Batch, key: int, found: Found) -> NumberTables:
        """Codes by ranks of the target; products of signs and cells by halves of it."""
        feature, runs = len(self.layout.kind), found[0].whole
        records, medians = self.records(found), len(self._middles(runs))
        ends = medians + len(spread(self._many(runs), CUTS))
        whole = replace(rows, codes=rows.codes[:, :feature],
                        label=rows.codes[:, feature].astype(np.int32))
        # [halves-in-passes] as `numbers.number_tables` cuts rows that are all in memory
        alone, middle = (replace(whole, label=bins(whole, cut, feature, key))
                         for cut in (records[medians:ends], records[ends:]))
        split, signs = Part.of(middle, 3), None
        if self.depth >= 2:
            cuts = kept(found[0], "cuts", lambda: cuts_of(runs, self.layout, records[:medians]))
            signs = SignSums.of(Signs.of(split, cuts, key, self.layout), self.depth)
        return NumberTables(
            Runs.of(Part.of(alone, ends - medians + 1)), signs,
            CellSums.of(split, self.layout, self.pairs) if self.pairs else None)

    def ended(self, found: Found) -> NumberTables:
        """The tables."""
        tables: NumberTables = found[-1]
        return tables

    def single(self, rows: Batch) -> Part:
        """All rows, in any order."""
        return Part.of(rows, 1)

    def asked(self, counted: Counted) -> list[Rank]:
        """The middle of each column; where the target is cut, and its halves."""
        target, n = len(self.layout.kind), self._many(counted.whole)
        return self._middles(counted.whole) + [
            (target, rank) for rank in (*spread(n, CUTS), *halves(n))]

    def _many(self, runs: Runs) -> int:
        """How many rows there are."""
        return int(runs.counts.sum())

    def _middles(self, runs: Runs) -> list[Rank]:
        return middles(runs, self.layout) if self.depth >= 2 else []
