"""Passes: make RuleSieve's tables by sums over parts of the rows.

::

    1  codes by class, and with them the code that each median has
    2  where many rows share it, how their tie keys begin
    3  keys and positions of the few rows that the middle one is among
    4  products of signs, and cells of sets of columns

The last one keeps rows where all of them fit into memory, and makes sums where they do not.  What
each part gives adds up, whatever the cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Generic, TypeVar

import numpy as np

from privsieve.kernels.contract import Cuts
from privsieve.public.columns import MISSING
from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch, Part
from privsieve.rows.room import Room
from privsieve.summaries import Summary
from privsieve.summaries.forms import Bins, CellSums, Kept, Runs, Signs, SignSums
from privsieve.summaries.layout import ORDERED_WITH_MISSING, Ints, Layout
from privsieve.summaries.ranks import Few, Ranks, Records
from privsieve.summaries.stages import OfParts, Stage, Stages

#: What the passes before came to.
Found = tuple[Any, ...]
Rows = TypeVar("Rows")
Made = TypeVar("Made")
Tables = TypeVar("Tables")


@dataclass(frozen=True, eq=False, repr=False)
class Counted(Summary):
    """Codes by class of all rows with their weights, and of one row a unit where those differ."""

    whole: Runs
    single: Runs | None

    @property
    def ranked(self) -> Runs:
        """Those that ranks are of."""
        return self.whole if self.single is None else self.single

    def once(self, name: str, make: Callable[[Counted], Made]) -> Made:
        """Compute a result of the counts once, and keep it as long as the counts."""
        known = vars(self).setdefault("_known", {})
        if name not in known:
            known[name] = make(self)
        derived: Made = known[name]
        return derived


@dataclass(frozen=True, eq=False, repr=False)
class TablePasses(Generic[Rows, Tables]):
    """One pass after another; public.

    domain : the columns and the target.
    order : how many signs a product has, at most; 1 for none.
    grid : cells a side of the grid of pairs, or 0.
    """

    domain: Domain
    order: int
    grid: int

    @cached_property
    def layout(self) -> Layout:
        """How columns enter the rules."""
        return Layout.of(self.domain)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Return the function of each pass over a part."""
        return OfParts(self.counted), self.ties, self.few, self.summed

    def over(self, parts: Iterable[Rows], key: int, room: Room, *, held: bool) -> Tables:
        """Return the tables of parts that can be read again; held : see `Stages.whole`."""
        stages = Stages(self.stages, len(self.domain.columns), self.ended, ready=self.none)
        tables: Tables = stages.over(parts, key, room, self.held if held else None)
        return tables

    @property
    def held(self) -> Stage:
        """The last pass, where rows are held."""
        return partial(self.summed, held=True)

    def ties(self, rows: Rows, key: int, totals: Found) -> Ints:
        """Count how the tie keys begin of rows that share the code of a rank with many."""
        return self._ranks(totals).ties(self.single(rows), key)

    def few(self, rows: Rows, key: int, totals: Found) -> Few:
        """Return the few rows that the ranks are among."""
        return self._ranks(totals).among(totals[1]).few(self.single(rows), key)

    def records(self, totals: Found) -> Records:
        """Return the records of all wanted ranks."""
        return self._ranks(totals).among(totals[1]).records(totals[2])

    def _ranks(self, totals: Found) -> Ranks:
        counted: Counted = totals[0]
        return counted.once("ranks", lambda known: Ranks.of(known.ranked.table,
                                                            *self.wanted(known)))

    # [cuts]
    def middles(self, counted: Counted) -> tuple[Ints, Ints]:
        """Return the columns with a median, and of how many rows it is: those not missing."""
        (indptr, code, count), layout = counted.ranked.table, self.layout
        columns, first, last = layout.ordered, indptr[layout.ordered], indptr[layout.ordered + 1]
        # [missing] it is the highest code, so that ranks among the others are ranks among all
        apart = (layout.kind[columns] == ORDERED_WITH_MISSING) & (last > first)
        apart[apart] = code[last[apart] - 1] == MISSING
        many = np.full(len(columns), counted.ranked.counts.sum())
        many[apart] -= count[last[apart] - 1].sum(axis=1)
        return columns[many > 0], many[many > 0]

    def cuts(self, totals: Found) -> Cuts:
        """Return the middle record of each column as `kernels.sign_planes` takes it."""
        (columns, many), d = totals[0].once("middles", self.middles), len(self.layout.kind)
        cuts = (np.zeros(d, np.uint16), np.zeros(d, np.uint64), np.zeros(d, np.uint64),
                np.zeros(d, np.int64))
        cuts[0][columns], cuts[1][columns], cuts[2][columns] = self.records(totals).cut(
            0, len(columns))
        cuts[3][columns] = many
        return cuts
    # [/cuts]

    def products(self, chunk: Part, cuts: Cuts, key: int, *, held: bool) -> Signs | SignSums:
        """Return the signs of a part, or sums of their products."""
        signs = Signs.of(chunk, cuts, key, self.layout)
        return signs if held else SignSums.of(signs, self.order)

    def cells(self, chunk: Part, *, held: bool) -> Bins | CellSums | None:
        """Return the bins of a part, or sums by their cells; None without a grid."""
        form = Bins if held else CellSums
        return form.of(chunk, self.layout, self.grid) if self.grid else None

    # What depends on the target

    def counted(self, some: Sequence[Rows], key: int, totals: Found) -> Counted:
        """Count the codes of some parts."""
        raise NotImplementedError

    def summed(self, rows: Rows, key: int, totals: Found, *, held: bool = False) -> Tables:
        """Return the tables of a part, without the counts."""
        raise NotImplementedError

    def ended(self, totals: Found) -> Tables:
        """Return the tables, with the rows that are held as one part."""
        tables = totals[-1]
        held = {name: replace(form, parts=(form.together,)) for name in ("signs", "bins")
                if isinstance(form := getattr(tables, name), Kept)}
        ended: Tables = replace(tables, **held)
        return ended

    def single(self, rows: Rows) -> Part:
        """Return one row a unit, in any order."""
        raise NotImplementedError

    def wanted(self, counted: Counted) -> tuple[Ints, Ints]:
        """Return columns and 0-based ranks, the middles first."""
        raise NotImplementedError

    def none(self, batch: Batch) -> Rows:
        """Return no rows as the passes take them."""
        raise NotImplementedError
