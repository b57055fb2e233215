"""One machine: batches are held as integer codes while their summaries are made."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch
from privsieve.summaries.layout import Layout, Part
from privsieve.summaries.persons import row_weights
from privsieve.summaries.rules import Bins, RuleTables, Runs, Signs, total
from privsieve.summaries.ties import median_cuts

#: Rows that become one part.  Any cut gives the same scores; fewer parts are faster.
PART_ROWS = 2**23


def rule_tables(batches: Iterable[Batch], key: int, *, domain: Domain, order: int,
                grid: int | tuple[int, ...], part_rows: int = PART_ROWS) -> RuleTables:
    """The summary of RuleSieve over some batches.

    grid : that of pairs, or 0; and then those of sets of columns.
    """
    layout = Layout.of(domain)
    held = gather(batches, part_rows) or [Batch.empty(len(domain.columns))]
    whole, single = _parts(held, key, domain, layout)
    cuts = median_cuts(single, key, layout.kind) if order >= 2 else None
    ranked = layout.ordered
    pairs, *joint = (grid,) if isinstance(grid, int) else grid
    made = []
    for part, one in zip(whole, single, strict=True):
        signs = None
        if cuts is not None:
            signs = _ranked(Signs.of(one, cuts, key, layout.kind), ranked)
        made.append(RuleTables(Runs.of(part), signs,
                               Bins.of(part, layout, pairs) if pairs else None,
                               {fine: Bins.of(part, layout, fine) for fine in joint}))
    return total(made)


def gather(batches: Iterable[Batch], part_rows: int = PART_ROWS) -> list[Batch]:
    """Join small batches into parts of at least this many rows."""
    parts: list[Batch] = []
    held: list[Batch] = []
    for batch in batches:
        held.append(batch)
        if sum(map(len, held)) >= part_rows:
            parts.append(Batch.concat(held))
            held = []
    if held:
        parts.append(Batch.concat(held))
    return parts


def _parts(batches: list[Batch], key: int, domain: Domain, layout: Layout,
           ) -> tuple[list[Part], list[Part]]:
    """Parts for sums, and parts with one row a unit for ranks."""
    if domain.person is None:
        parts = [Part.of(batch, layout.classes) for batch in batches]
        return parts, parts
    weight, first = row_weights(np.concatenate([b.unit for b in batches]),
                                domain.rows_per_person, key)
    whole, single, at = [], [], 0
    for batch in batches:
        mine, stands = weight[at:at + len(batch)], first[at:at + len(batch)]
        at += len(batch)
        kept = np.flatnonzero(mine)
        whole.append(Part.of(batch.take(kept), layout.classes, mine[kept]))
        single.append(Part.of(batch.take(np.flatnonzero(stands)), layout.classes))
    return whole, single


def _ranked(signs: Signs, ranked: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Signs:
    """Only the columns that have ranks take part in products."""
    if len(ranked) == len(signs.planes):
        return signs
    masks = None if signs.masks is None else np.ascontiguousarray(signs.masks[ranked])
    return Signs(np.ascontiguousarray(signs.planes[ranked]), masks, signs.zeros[ranked],
                 signs.words, signs.rows)
