"""Residuals: the unexplained part of each row, after steps by the chosen columns.

A row has a log-odds of its class: a sum of steps by the bins of its values.  Where the classes are
cut in two, its residual is the smaller of 1 and the odds against its side; all of it in integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from privsieve.public.columns import CODES, MISSING
from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch, Part, Passes
from privsieve.summaries.layout import ORDERED_WITH_MISSING, Ints, Layout
from privsieve.summaries.persons import by_person

Doubles = npt.NDArray[np.float64]

#: A whole residual, and the parts of one in a log-odds; a log-odds and a step stay inside of these.
UNIT, STEP = 4096, 256
MOST, MOST_STEP = 12 * STEP, 3 * STEP
#: exp(-u / STEP), in parts of a whole residual.
ODDS = np.array([round(UNIT * math.exp(-u / STEP)) for u in range(MOST + 1)], np.int64)
#: Cells in which quartiles are looked for; levels of a category that have steps of their own.
CELLS, LEVELS = 4096, 16
#: How far the steps of single bins are expected from their mean, of two classes and of many.
PRIORS = (0.4, 0.6)
#: How far their mean is expected from 0.
MEAN = 0.1


@dataclass(eq=False, repr=False)
class Residuals:
    """Rows by class, with their weights and log-odds.

    odds : of two classes those of the second, of more those of each
    bins : the cell of each row on the grid of each column
    shares : of each class, as they are known before the first column
    place, cells : the cell of each row, among `cells`, of the columns that were named first
    """

    rows: Part
    odds: npt.NDArray[np.int32]
    bins: npt.NDArray[np.uint8]
    shares: Doubles
    place: Ints
    cells: int = 1

    @cached_property
    def label(self) -> Ints:
        """The class of each row."""
        return np.repeat(np.arange(len(self.rows.rows)), self.rows.rows)

    @property
    def likely(self) -> Ints:
        """How likely each class is, beside the most likely one."""
        result: Ints = ODDS[np.minimum(self.odds.max(axis=0) - self.odds, MOST)]
        return result

    def size(self, cut: int) -> Ints:
        """Return each row's residual times its weight; of many classes, one against the rest."""
        # [residual] the smaller of 1 and the odds against its side
        if len(self.odds) == 1:
            against = np.where(self.label == 1, self.odds[0], -self.odds[0])
            result: Ints = ODDS[np.maximum(against, 0)]
        else:
            likely = self.likely
            every = likely.sum(axis=0)
            own = np.where(self.label == cut, likely[cut], every - likely[cut])
            result = np.where(own <= every - own, UNIT, UNIT * (every - own) // np.maximum(own, 1))
        return result if self.rows.weight is None else result * self.rows.weight

    def chunk(self, cut: int) -> Part:
        """Return the rows as the rules take them, each by the size of its residual."""
        return replace(self.rows, weight=self.size(cut))

    def inside(self, chunk: Part, signs: Ints, grid: int) -> Ints:
        """Residuals with their signs: by column, cell of those named first, and its own cell."""
        assert chunk.weight is not None
        signed, base = (chunk.weight * signs[self.label]).astype(np.float64), self.place * grid
        return np.stack([np.bincount(base + bins, signed, self.cells * grid)
                         for bins in self.bins]).astype(np.int64).reshape(
                             len(self.bins), self.cells, grid)

    def counts(self, j: int, *, apart: bool) -> Ints:
        """Count rows in each cell of a column by weight; `apart` leaves out missing values."""
        codes, weight = self.rows.codes[j], self.rows.weight
        there = codes != MISSING if apart else np.ones(len(codes), np.bool_)
        return np.bincount(codes[there] // (CODES // CELLS), None if weight is None
                           else weight[there], CELLS).astype(np.int64)

    def by_class(self) -> Ints:
        """Sum the weights of the rows of each class."""
        return np.bincount(self.label, self.rows.weight, len(self.rows.rows)).astype(np.int64)

    def sums(self, bins: Ints, many: int) -> list[Ints]:
        """Return the sums in each bin for a step; exact, because sums are below 2^53.

        Of two classes the residuals of each, in one array; of more how many more rows each class
        has than were expected, and then what all rows weigh.
        """
        if len(self.odds) == 1:
            return [np.bincount(2 * bins + self.label, self.size(0), 2 * many).astype(
                np.int64).reshape(many, 2).T]
        likely = self.likely
        weight = np.broadcast_to(1 if self.rows.weight is None else self.rows.weight, len(bins))
        there = self.label == np.arange(len(likely))[:, None]
        gradients = (UNIT * there - UNIT * likely // likely.sum(axis=0)) * weight
        return [np.stack([np.bincount(bins, of, many) for of in each]).astype(np.int64)
                for each in (gradients, [UNIT * weight])]

    def take(self, steps: Ints) -> None:
        """Add a step to the log-odds of each row."""
        self.odds = np.clip(self.odds + steps, -MOST, MOST).astype(np.int32)


def residuals(rows: Passes, key: int, domain: Domain, start: Sequence[int], grid: int,
              ) -> list[Residuals]:
    """Return the rows, of persons with their weights, and the log-odds before the first step."""
    layout = Layout.of(domain)
    if domain.person is None:
        parts = [Part.of(batch, domain.classes) for batch in rows.keep()]
    else:
        parts = []
        for batch, weight, _first in by_person(rows, domain.rows_per_person, key):
            kept = np.flatnonzero(weight)
            parts.append(Part.of(batch.take(kept), domain.classes, weight[kept]))
    # [empty] a table without rows has an answer, too
    parts = parts or [Part.of(Batch.empty(len(domain.columns)), domain.classes)]
    odds = np.array(start, np.int32)[:, None]
    return [Residuals(chunk, np.repeat(odds, len(chunk.unit), 1), layout.bins(chunk.codes, grid),
                      shares_of(start), np.zeros(len(chunk.unit), np.int64)) for chunk in parts]


def shares_of(odds: Sequence[int]) -> Doubles:
    """Return the share of each class for these log-odds.

    >>> shares_of([0, 0, -178]).round(1).tolist()
    [0.4, 0.4, 0.2]
    """
    likely = np.exp(np.array(odds) / STEP)
    result: Doubles = likely / likely.sum()
    return result


def log_odds_of(counts: Sequence[float]) -> list[int]:
    """Return the log-odds of the second of two classes, or of each, within public bounds.

    >>> log_odds_of([90, 10]), log_odds_of([100, -3]), log_odds_of([2, 1, 1])
    ([-562], [-1179], [104, -74, -74])
    """
    pairs = [counts] if len(counts) == 2 else [(sum(counts) / len(counts), some) for some in counts]
    return [max(-MOST, min(MOST, round(STEP * math.log(max(1.0, some) / max(1.0, none)))))
            for none, some in pairs]


def signs_of(classes: int, cut: int) -> Ints:
    """Return the sign of each class: of two the second, of more one against all others.

    >>> signs_of(2, 0).tolist(), signs_of(3, 0).tolist()
    ([-1, 1], [1, -1, -1])
    """
    return np.where(np.arange(classes) == (cut if classes > 2 else 1), 1, -1)


def best_cut(inside: Ints, *, nominal: bool) -> int:
    """Twice the best rule that cuts a column once, with a sign of its own in each cell of others.

    >>> best_cut(np.array([[4, -4], [-3, 3]]), nominal=False)
    14
    """
    below = inside if nominal else inside.cumsum(axis=1)
    every = inside.sum(axis=1, keepdims=True)
    return int((np.abs(below) + np.abs(every - below)).sum(axis=0).max())


def bins_of(codes: npt.NDArray[np.uint16], edges: Ints, layout: Layout, j: int) -> Ints:
    """Return the bin of each code: its level, or by edges; missing values in the last."""
    if layout.levels[j]:
        return np.minimum(codes, LEVELS - 1).astype(np.int64)
    cell = np.repeat(np.arange(len(edges) + 1), np.diff([0, *edges, CODES]))
    result: Ints = cell[codes]
    if layout.kind[j] == ORDERED_WITH_MISSING:
        result[codes == MISSING] = len(edges) + 1
    return result


def steps_of(gap: Doubles, size: Doubles, deviation: float, sizes: Sequence[int], *,
             spread: float) -> Ints:
    """Return a step for each cell from its gap between sides: a mean under a public prior.

    Neighbouring bins are expected to have much the same step.

    gap, size : released sums by cell: of one side less the other, and of both
    deviation : that of the noise on a gap
    spread : how far steps are expected from their mean

    >>> steps_of(np.array([-80.0, 80.0]), np.array([100.0, 100.0]), 2.0, [2], spread=0.4).tolist()
    [-433, 433]
    """
    size = np.maximum(size, max(1.0, deviation / 4))
    places = np.indices(sizes).reshape(len(sizes), -1)
    apart = sum(np.abs(place[:, None] - place) / max(1, many / 3)
                for place, many in zip(places, sizes, strict=True))
    centred = np.eye(len(gap)) - size / size.sum()
    near = centred @ (spread**2 * np.exp(-apart)) @ centred.T + MEAN**2
    within = size[:, None] * near * size + np.diag(deviation**2 + size)
    mean = np.clip(near @ (size * np.linalg.solve(within, gap)), -1, 1)
    steps: Ints = np.rint(2 * STEP * np.arctanh(0.95 * mean)).astype(np.int64)
    return np.clip(steps, -MOST_STEP, MOST_STEP)
