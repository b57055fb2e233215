"""Halves: units cut in two by a keyed order, to learn from the one and to be judged by the other.

A unit (a row, or a person with all rows) lies in one part only, whatever it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import log2
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve import kernels
from privsieve.public.domain import Domain
from privsieve.rows.batch import LARGEST_BATCH, Batch, Passes
from privsieve.rows.room import Room
from privsieve.summaries.persons import row_weights
from privsieve.summaries.rules import Layout

Ints = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]

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
    room : where the rows lie.
    """

    learning: Batch
    counts: Ints
    bins: npt.NDArray[np.uint8]
    label: npt.NDArray[np.int32]
    weight: Ints
    summaries: tuple[Any, ...] = ()
    room: Room = field(default_factory=Room)

    @property
    def learners(self) -> Passes:
        """The rows of the first part, in batches that fit into memory."""
        if len(self.learning) <= LARGEST_BATCH:
            return Passes([self.learning], self.room)
        begins = range(0, len(self.learning), LARGEST_BATCH)
        return Passes([self.learning.rows(begin, begin + LARGEST_BATCH) for begin in begins],
                      self.room).mapped(Batch.contiguous)

    def right(self, selected: Sequence[int], tables: Sequence[Sequence[Sequence[int]]]) -> int:
        """What the rows of the second part are worth that noisy counts predict rightly.

        Each class is worth the same in sum, as the tables know it.  For fixed tables a row's
        prediction and worth depend on that row alone.
        """
        logs, worth = vote_tables(tables)
        right = 0
        for begin in range(0, len(self.label), LARGEST_BATCH):
            some = slice(begin, begin + LARGEST_BATCH)
            label = self.label[some]
            votes = sum((logs[i][:, self.bins[j, some]] for i, j in enumerate(selected)),
                        np.zeros((len(worth), len(label)), np.int64))
            hit = votes.argmax(axis=0) == label
            right += int((self.weight[some] * worth[label])[hit].sum())
        return right


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
    passes = Passes.of(batches)
    held = list(passes.keep()) or [Batch.empty(len(domain.columns))]
    unit, row = (np.concatenate([batch.unit for batch in held]),
                 np.concatenate([batch.row for batch in held]))
    inside = _inside((unit, row), key, domain, first)
    learning = _part(held, inside, passes.room)
    # At positions 0, 1, …, as a table of its own has them.
    row = np.arange(len(learning), dtype=np.uint64)
    learning = replace(learning, row=row, unit=row if domain.rows_are_public else learning.unit)
    judging = _part(held, ~inside, passes.room)
    layout = Layout.of(domain)
    weight = _weights(learning, domain, key)
    counts = np.zeros((len(domain.columns), layout.classes, GRID), np.int64)
    for column, codes, j in zip(counts, learning.codes.T, range(len(counts)), strict=True):
        np.add.at(column, (learning.label, layout.bin(j, codes, GRID)), weight)
    bins = passes.room.empty(judging.codes.T.shape, np.uint8)
    for j, codes in enumerate(judging.codes.T):
        bins[j] = layout.bin(j, codes, GRID)
    return Halves(learning, counts, bins, judging.label, _weights(judging, domain, key),
                  room=passes.room)


def _part(held: Sequence[Batch], inside: npt.NDArray[np.bool_], room: Room) -> Batch:
    """The rows of all batches that lie in a part, one batch after another."""
    many, columns = int(inside.sum()), held[0].codes.shape[1]
    made = Batch(room.empty((columns, many), np.uint16).T, room.empty((many,), np.int32),
                 room.empty((many,), np.uint64), room.empty((many,), np.uint64))
    at = begin = 0
    for batch in held:
        some = batch.take(np.flatnonzero(inside[begin:begin + len(batch)]))
        begin += len(batch)
        for there, array in ((made.codes, some.codes), (made.label, some.label),
                             (made.unit, some.unit), (made.row, some.row)):
            there[at:at + len(some)] = array
        at += len(some)
    return made


def _inside(ids: tuple[Keys, Keys], key: int, domain: Domain, first: int,
            ) -> npt.NDArray[np.bool_]:
    unit, row = ids
    # [parts] a keyed order of units: of positions or tags, never of what a unit holds
    tags = kernels.mix64(np.uint64(key ^ OWN) ^ kernels.mix64(unit))
    if domain.rows_are_public:
        found = np.zeros(len(unit), np.bool_)
        found[np.lexsort((row, tags))[:first]] = True
        return found
    units = domain.public_units(None)
    return tags < np.uint64((2**64 - 1) * first // max(1, units))


def _weights(part: Batch, domain: Domain, key: int) -> Ints:
    if domain.person is None:
        return np.ones(len(part), np.int64)
    return row_weights(part.unit, domain.rows_per_person, key)[0]
