"""Halves: units cut in two by a keyed order, to learn from the one and to be judged by the other.

A unit (a row, or a person with all rows) lies in one part only, whatever it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import log2
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve import kernels
from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch
from privsieve.summaries.layout import Layout
from privsieve.summaries.persons import row_weights

Ints = npt.NDArray[np.int64]

#: Bins of a number in the predictor's counts.
GRID = 8
#: What one unit is worth if it is predicted rightly and its class is the rarest.
WHOLE = 4096
#: Logarithms are whole numbers of this part.
FINE = 65536
#: The cut has an order of its own: ties and blocks of the candidates use the key as it is.
OWN = 0x8A5CD789635D2DFF


@dataclass(frozen=True, eq=False, repr=False)
class Halves:
    """Two parts of the units.

    learning : the rows of the first part.
    counts : columns x classes x bins, the weights of the first part's rows.
    bins, label, weight : the second part: uint8 bins by column, classes, weights of its rows.
    summaries : the candidates' summaries of the first part.
    """

    learning: Batch
    counts: Ints
    bins: npt.NDArray[np.uint8]
    label: npt.NDArray[np.int32]
    weight: Ints
    summaries: tuple[Any, ...] = ()

    def right(self, selected: Sequence[int], tables: Sequence[Sequence[Sequence[int]]]) -> int:
        """What the rows of the second part are worth that noisy counts predict rightly.

        Each class is worth the same in sum, as the tables know it.  For fixed tables a row's
        prediction and worth depend on that row alone.
        """
        logs, worth = vote_tables(tables)
        votes = sum((logs[i][:, self.bins[j]] for i, j in enumerate(selected)),
                    np.zeros((len(worth), len(self.label)), np.int64))
        hit = votes.argmax(axis=0) == self.label
        return int((self.weight * worth[self.label])[hit].sum())


def vote_tables(tables: Sequence[Sequence[Sequence[int]]]) -> tuple[Ints, Ints]:
    """Logarithms of class-conditional shares, and what a unit of each class is worth.

    >>> logs, worth = vote_tables([[[30, 10], [10, 10]]])
    >>> worth.tolist(), bool(logs[0, 0, 0] > logs[0, 1, 0])
    ([2048, 4096], True)
    """
    counts = [[[max(1, cell) for cell in row] for row in table] for table in tables]
    logs = [[[round(FINE * log2(cell / sum(row))) for cell in row] for row in table]
            for table in counts]
    sizes = [max(1, sum(row)) for row in tables[0]]
    worth = [max(1, WHOLE * min(sizes) // size) for size in sizes]
    return np.array(logs, np.int64), np.array(worth, np.int64)


def halves(batches: Iterable[Batch], key: int, *, domain: Domain, first: int) -> Halves:
    """Cut the units in two.

    Where rows are units and public in number, the `first` smallest of a keyed order learn; else
    each unit learns by a keyed coin with that share.
    """
    held = list(batches)
    whole = Batch.concat(held) if held else Batch.empty(len(domain.columns))
    inside = _inside(whole, key, domain, first)
    learning = whole.take(np.flatnonzero(inside))
    # At positions 0, 1, …, as a table of its own has them.
    row = np.arange(len(learning), dtype=np.uint64)
    learning = replace(learning, row=row, unit=row if domain.rows_are_public else learning.unit)
    judging = whole.take(np.flatnonzero(~inside))
    layout = Layout.of(domain)
    weight = _weights(learning, domain, key)
    counts = np.zeros((len(domain.columns), layout.classes, GRID), np.int64)
    for column, bins in zip(counts, layout.bins(learning.codes.T, GRID), strict=True):
        np.add.at(column, (learning.label, bins), weight)
    return Halves(learning, counts, layout.bins(judging.codes.T, GRID), judging.label,
                  _weights(judging, domain, key))


def _inside(whole: Batch, key: int, domain: Domain, first: int) -> npt.NDArray[np.bool_]:
    # [parts] a keyed order of units: of positions or tags, never of what a unit holds
    tags = kernels.mix64(np.uint64(key ^ OWN) ^ kernels.mix64(whole.unit))
    if domain.rows_are_public:
        found = np.zeros(len(whole), np.bool_)
        found[np.lexsort((whole.row, tags))[:first]] = True
        return found
    units = domain.public_units(None)
    return tags < np.uint64((2**64 - 1) * first // max(1, units))


def _weights(part: Batch, domain: Domain, key: int) -> Ints:
    if domain.person is None:
        return np.ones(len(part), np.int64)
    return row_weights(part.unit, domain.rows_per_person, key)[0]
