"""Rounds: after a first set each column by what the columns before it left unexplained.

Every row has a log-odds of its class: a sum of steps, one for each column that was named before, by
the bin of its value.  Its residual is the smaller of 1 and the odds against its class.  A round
scores the columns that are left against the residuals, by the same rules as a first race, and one
race names one of them; then its steps are released, as noisy sums of residuals by bin.  A column
that only repeats what was named before finds no residual, and does not come back.

The proof is in `rounds.proof.md`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from math import prod
from operator import add

import numpy as np
import numpy.typing as npt

from privsieve.methods.labels import by_chance, equal, offsets
from privsieve.noise import discrete, race
from privsieve.noise.race import Race
from privsieve.noise.streams import Noise
from privsieve.public.columns import CODES, MISSING
from privsieve.public.domain import Domain
from privsieve.public.event import Additive, Event
from privsieve.rows.batch import Part, Passes
from privsieve.summaries.persons import by_person
from privsieve.summaries.rules import (
    ORDERED_WITH_MISSING,
    Bins,
    Layout,
    RuleTables,
    Runs,
    Weighing,
    scores,
)

Ints = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]

#: A race takes so many times what the steps of a column take; of which the quartiles take a part.
RACE, CUT = 2, Fraction(1, 4)
#: A whole residual, and the parts of one in a log-odds; a log-odds and a step stay inside of these.
UNIT, STEP = 4096, 256
MOST, MOST_STEP = 12 * STEP, 3 * STEP
#: exp(-u / STEP), in parts of a whole residual.
ODDS = np.array([round(UNIT * math.exp(-u / STEP)) for u in range(MOST + 1)], np.int64)
#: Cells in which quartiles are looked for; levels of a category that have steps of their own.
CELLS, LEVELS = 1024, 16
#: How far the steps of single bins are expected from their mean, and that from 0.
PRIOR, MEAN = 0.4, 0.1


@dataclass(frozen=True)
class Rounds:
    """The public parameters of the rounds.

    before : how many columns are named before, those that are always in among them
    free : how many of the columns may be named
    rounds : how many are named one by one
    epsilon : what the set costs and all that follows
    size : how many columns the set names
    """

    domain: Domain
    units: int
    grid: int
    before: int
    free: int
    rounds: int
    epsilon: Fraction
    size: int

    @property
    def fitted(self) -> int:
        """How many columns get steps: all but the last."""
        return self.before + self.rounds - 1

    @property
    def share(self) -> Fraction:
        """The epsilon of the steps of a column; for each column that is named there is a race."""
        # [shares]
        return self.epsilon / (self.fitted + RACE * (self.size + self.rounds))

    @property
    def first(self) -> Fraction:
        """The epsilon of the race for the set."""
        return RACE * self.size * self.share

    @property
    def moves(self) -> int:
        """How far a unit moves all sums of residuals by bin together."""
        # [sums-move] one row's residual leaves a cell, and another one comes to a cell
        return (2 if self.domain.replaces else 1) * UNIT * self.domain.unit_weight

    @property
    def sensitivity(self) -> int:
        """How far a unit moves a score: as in the first race, by residuals of at most `UNIT`."""
        # [round-sensitivity]
        return (24 if self.domain.replaces else 12) * UNIT * self.domain.unit_weight

    @property
    def events(self) -> list[Event]:
        """What the noise does: a race in each round, and what the steps are made of."""
        quartile = Race(CELLS - 1, 1, 1, self.share * CUT / 2).event
        together = [self.size] * (self.size > 0) + [1] * (self.fitted - self.size)
        return [*(Race(self.free - t, 1, 1, RACE * self.share).event for t in range(self.rounds)),
                *[quartile] * (2 * self.fitted),
                *(Additive.of("discrete-laplace", self.moves, self.mean(columns))
                  for columns in together)]

    def mean(self, columns: int) -> Fraction:
        """The mean of each half of the noise on a sum, for steps of so many columns together."""
        return Fraction(self.moves) / (columns * self.share * (1 - CUT))

    @property
    def raced(self) -> Fraction:
        """The part of the epsilon that the races get."""
        return RACE * (self.size + self.rounds) * self.share / self.epsilon

    # [rounds]
    def names(self, rows: Passes, key: int, named: Sequence[int], free: Sequence[int],
              noise: Noise) -> list[int]:
        """The columns that the rounds name, after those that were named before.

        named : the set at the end.
        """
        layout, held, found = Layout.of(self.domain), _held(rows, key, self.domain), list[int]()
        alone = len(named) - self.size
        for columns in (*([j] for j in named[:alone]), named[alone:]):
            if columns:
                self._fit(held, columns, layout, noise)
        for t in range(self.rounds):
            left = [j for j in free if j not in found]
            raced = self._scores(held, layout)[left].tolist()
            won = race.top_k(raced, Race(len(left), 1, self.sensitivity, RACE * self.share), noise)
            found.append(left[won[0]])
            if t + 1 < self.rounds:
                self._fit(held, found[-1:], layout, noise)
        return found

    def _scores(self, held: Sequence[Residuals], layout: Layout) -> Ints:
        """24 times the best rule's value on residuals, for each column."""
        d, scale = len(self.domain.columns), self.domain.unit_weight
        even = equal(2, self.units)
        by = Weighing(np.array(even.weights, np.int64), UNIT * offsets(even, layout, scale), scale,
                      1, self.grid, by_chance=(UNIT * by_chance(even, d, scale)[0], 0, 0))
        parts = [one.part() for one in held]
        bins = [Bins.of(part, layout, self.grid) for part in parts] if self.grid else []
        return scores(RuleTables(Runs.of(*parts), None, reduce(add, bins) if bins else None),
                      layout, by)

    def _fit(self, held: Sequence[Residuals], columns: Sequence[int], layout: Layout,
             noise: Noise) -> None:
        """Release the steps of some columns, in each cell of their bins, and take them."""
        cells, sizes = [np.zeros(len(one.odds), np.int64) for one in held], []
        for j in columns:
            edges = self._edges(held, j, layout, noise)
            sizes.append(min(int(layout.levels[j]), LEVELS) if layout.levels[j] else len(edges) + 2)
            cells = [cell * sizes[-1] + _bins(one.rows.codes[j], edges, layout, j)
                     for cell, one in zip(cells, held, strict=True)]
        sums = sum((one.sums(cell, prod(sizes)) for one, cell in zip(held, cells, strict=True)),
                   np.zeros(2 * prod(sizes), np.int64))
        # [sums] what leaves; the steps are made of it
        mean, unit = self.mean(len(columns)), UNIT * self.domain.unit_weight
        left = discrete.noisy(sums, mean, noise)
        steps = _steps(left.reshape(-1, 2) / unit, float(mean) / unit, sizes)
        for one, cell in zip(held, cells, strict=True):
            one.take(steps[cell])

    def _edges(self, held: Sequence[Residuals], j: int, layout: Layout, noise: Noise) -> Ints:
        """Where the bins of a column with an order begin, by two quartiles; none of levels."""
        if layout.levels[j]:
            return np.zeros(0, np.int64)
        apart = layout.kind[j] == ORDERED_WITH_MISSING
        counts = sum((one.counts(j, apart=bool(apart)) for one in held),
                     np.zeros(CELLS, np.int64))
        # [quartile-sensitivity] 4 below less part of all moves by 4 at most
        how = Race(CELLS - 1, 1, 4 * self.domain.unit_weight, self.share * CUT / 2)
        below, wide = np.cumsum(counts)[:-1], CODES // CELLS
        low, high = sorted((race.top_k((-np.abs(4 * below - part * counts.sum())).tolist(), how,
                                       noise)[0] + 1) * wide for part in (1, 3))
        return np.unique([low, (low + high) // 2, high])
    # [/rounds]


@dataclass(eq=False, repr=False)
class Residuals:
    """Rows by class, with what each weighs and its log-odds of the second class."""

    rows: Part
    odds: npt.NDArray[np.int32]

    @property
    def label(self) -> Ints:
        """The class of each row."""
        return np.repeat(np.arange(2), self.rows.rows)

    @property
    def size(self) -> Ints:
        """The residual of each row, times what it weighs."""
        # [residual] the smaller of 1 and the odds against its class
        against = np.where(self.label == 1, self.odds, -self.odds)
        found: Ints = ODDS[np.maximum(against, 0)]
        return found if self.rows.weight is None else found * self.rows.weight

    def part(self) -> Part:
        """The rows as the rules take them, each by the size of its residual."""
        return replace(self.rows, weight=self.size)

    def counts(self, j: int, *, apart: bool) -> Ints:
        """Rows in each cell of a column, by what they weigh; `apart` leaves out what is missing."""
        codes, weight = self.rows.codes[j], self.rows.weight
        there = codes != MISSING if apart else np.ones(len(codes), np.bool_)
        return np.bincount(codes[there] // (CODES // CELLS), None if weight is None
                           else weight[there], CELLS).astype(np.int64)

    def sums(self, bins: Ints, many: int) -> Ints:
        """The residuals of each bin and class, added up; exact: they are below 2^53."""
        return np.bincount(2 * bins + self.label, self.size, 2 * many).astype(np.int64)

    def take(self, steps: Ints) -> None:
        """Add a step to the log-odds of each row."""
        self.odds = np.clip(self.odds + steps, -MOST, MOST).astype(np.int32)


def _held(rows: Passes, key: int, domain: Domain) -> list[Residuals]:
    """The rows, of persons with what each weighs; even odds before the first step."""
    if domain.person is None:
        parts = [Part.of(batch, 2) for batch in rows.keep()]
    else:
        parts = []
        for batch, weight, _first in by_person(rows, domain.rows_per_person, key):
            kept = np.flatnonzero(weight)
            parts.append(Part.of(batch.take(kept), 2, weight[kept]))
    return [Residuals(part, np.zeros(len(part.unit), np.int32)) for part in parts]


def _bins(codes: npt.NDArray[np.uint16], edges: Ints, layout: Layout, j: int) -> Ints:
    """The bin of each code: its level, or by edges, with what is missing in the last."""
    if layout.levels[j]:
        return np.minimum(codes, LEVELS - 1).astype(np.int64)
    found = np.searchsorted(edges, codes, side="right").astype(np.int64)
    if layout.kind[j] == ORDERED_WITH_MISSING:
        found[codes == MISSING] = len(edges) + 1
    return found


def _steps(sums: Doubles, scale: float, sizes: Sequence[int]) -> Ints:
    """A step for each cell, of released sums of both classes: a mean under a public prior.

    Neighbouring bins of a column are expected to have much the same step.

    >>> _steps(np.array([[90.0, 10.0], [10.0, 90.0]]), 1.0, [2]).tolist()[0] < 0
    True
    """
    gap = sums[:, 1] - sums[:, 0]
    size = np.maximum(sums.sum(1), max(1.0, scale / 2))
    places = np.indices(sizes).reshape(len(sizes), -1)
    apart = sum(np.abs(place[:, None] - place) / max(1, many / 3)
                for place, many in zip(places, sizes, strict=True))
    centred = np.eye(len(sums)) - size / size.sum()
    near = centred @ (PRIOR**2 * np.exp(-apart)) @ centred.T + MEAN**2
    within = size[:, None] * near * size + np.diag(4 * scale**2 + size)
    mean = np.clip(near @ (size * np.linalg.solve(within, gap)), -1, 1)
    steps: Ints = np.rint(2 * STEP * np.arctanh(0.95 * mean)).astype(np.int64)
    return np.clip(steps, -MOST_STEP, MOST_STEP)
