"""One machine, a numeric target: batches are held while their ranks and summaries are made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from privsieve.public.columns import CODES, Label
from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch
from privsieve.summaries import ranks
from privsieve.summaries.layout import Layout, Part
from privsieve.summaries.numbers import Joint, NumberTables, total
from privsieve.summaries.persons import row_weights
from privsieve.summaries.rule_engine import PART_ROWS, gather
from privsieve.summaries.rules import Bins, Runs, Signs
from privsieve.summaries.ties import median_cuts

#: Cuts of the target at fixed ranks: it is cut into 16 parts of as many rows.
CUTS = 15
#: Cells of the public grid on which a noisy median is looked for.
MEDIAN_GRID = 512


@dataclass(frozen=True)
class Wanted:
    """What of the tables a plan needs: `kept` for rules on all pairs of rows, else ranks."""

    alone: Literal["ranks", "kept"]
    order: int
    grid: int


def halved(domain: Domain) -> Domain:
    """The domain with the target cut in two: what a rule on columns sees of it.

    >>> from privsieve.public.domain import Domain
    >>> halved(Domain.box(0, 1, columns=2, target=(0, 9))).classes
    2
    """
    assert domain.target is not None
    return replace(domain, target=Label(domain.target.name, (0, 1)))


def number_tables(batches: Iterable[Batch], key: int, *, domain: Domain, wanted: Wanted,
                  part_rows: int = PART_ROWS) -> NumberTables:
    """The summary of RuleSieve for a numeric target over some batches; one row a unit."""
    layout, feature = Layout.of(halved(domain)), len(domain.columns)
    held = records(gather(batches, part_rows), key, domain) or [Batch.empty(feature)]
    n = sum(map(len, held))
    cuts = ranks.at_ranks(held, ranks.spread(n, CUTS), feature, key)
    middle = ranks.at_ranks(held, ranks.halves(n), feature, key)
    # [halves] lower half, middle record of an odd number, upper half
    split = [Part.of(replace(batch, label=ranks.bins(batch, middle, feature, key)), 3)
             for batch in held]
    signs = median_cuts(split, key, layout.kind) if wanted.order >= 2 else None
    made = []
    for batch, part in zip(held, split, strict=True):
        if wanted.alone == "kept":
            alone: Joint | Runs = Joint.of(batch)
        else:
            label = ranks.bins(batch, cuts, feature, key)
            alone = Runs.of(Part.of(replace(batch, label=label), len(cuts) + 1))
        made.append(NumberTables(
            alone, None if signs is None else _ordered(Signs.of(part, signs, key, layout.kind),
                                                       layout),
            Bins.of(part, layout, wanted.grid) if wanted.grid else None))
    return total(made)


# [records]
def records(batches: list[Batch], key: int, domain: Domain) -> list[Batch]:
    """One row for each unit: of a person, the first of a keyed order of that person's rows."""
    if domain.person is None or not batches:
        return batches
    first = row_weights(np.concatenate([batch.unit for batch in batches]),
                        domain.rows_per_person, key)[1]
    ends = np.cumsum([len(batch) for batch in batches])
    return [batch.take(np.flatnonzero(stands)) for batch, stands in
            zip(batches, np.split(first, ends[:-1]), strict=True)]
# [/records]


@dataclass(frozen=True, eq=False, repr=False)
class Held:
    """Rows as they were read, for a plan whose classes are known only after a first answer."""

    batches: tuple[Batch, ...]
    key: int
    counts: tuple[int, ...]  # units by the target's cell on the public grid

    def labelled(self, cell: int) -> list[Batch]:
        """The rows, of class 1 where the target lies above this cell."""
        # [above-cell]
        low = (cell + 1) * (CODES // MEDIAN_GRID)
        return [replace(batch, label=(batch.label >= low).astype(np.int32))
                for batch in self.batches]


def hold(batches: Iterable[Batch], key: int, *, domain: Domain) -> Held:
    """Keep the rows, and count the target of one row a unit."""
    held = gather(batches)
    # [target-counts]
    counts = np.zeros(MEDIAN_GRID, np.int64)
    for batch in records(held, key, domain):
        counts += np.bincount(batch.label // (CODES // MEDIAN_GRID), minlength=MEDIAN_GRID)
    return Held(tuple(held), key, tuple(counts.tolist()))


def _ordered(signs: Signs, layout: Layout) -> Signs:
    """Only the columns that have ranks take part in products."""
    keep = layout.ordered
    masks = None if signs.masks is None else np.ascontiguousarray(signs.masks[keep])
    return Signs(np.ascontiguousarray(signs.planes[keep]), masks, signs.zeros[keep], signs.words,
                 signs.rows)
