"""Rounds: choose columns one by one, each by what earlier columns leave unexplained.

A round scores the remaining columns against the residuals of the rows (`summaries.residuals`): by
rules on the column alone, and by cuts of it inside the cells of the columns that were named first.
A race names one column.  Then the steps of that column are released, as noisy sums by bin.  A copy
of a named column finds no residual, and is not named.

The proof is in `rounds.proof.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import isqrt, log, prod
from operator import add
from typing import TYPE_CHECKING

from privsieve.methods.labels import CELL_SQUARE, equal, offsets
from privsieve.noise import race
from privsieve.noise.race import Race
from privsieve.public.columns import CODES
from privsieve.public.domain import Domain
from privsieve.public.event import Additive, Event

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Passes
    from privsieve.summaries.layout import Layout
    from privsieve.summaries.residuals import Residuals

    Ints = npt.NDArray[np.int64]

#: The share of the quartiles in the epsilon of steps; of the rest, with many classes, the share of
#: row counts.
CUT, COUNT = Fraction(1, 4), Fraction(1, 8)
#: Cells a side of the grid of a column; a whole residual; cells in which quartiles are looked for.
SIDE, UNIT, CELLS = 16, 4096, 4096


@dataclass(frozen=True)
class Rounds:
    """The public parameters of the rounds.

    before : the number of columns that are named before, with those that are always included
    free : the number of columns that may be named
    rounds : the number of columns that are named one by one
    epsilon : the cost of the pair and all that follows
    size : the number of columns that the first race names
    level : whether the shares of the classes are unknown, and are released first
    """

    domain: Domain
    units: int
    before: int
    free: int
    rounds: int
    epsilon: Fraction
    size: int
    level: bool = False

    @property
    def fitted(self) -> int:
        """The number of columns that get steps: all but the last."""
        return self.before + self.rounds - 1

    @property
    def race(self) -> Fraction:
        """The epsilon of a race over that of a column's steps; steps of many classes need more."""
        return Fraction(2) if self.domain.classes == 2 else Fraction(3, 2)

    @property
    def share(self) -> Fraction:
        """The epsilon of the steps of a column; each named column has a race."""
        # [shares]
        return self.epsilon / (self.level + self.fitted + self.race * (self.size + self.rounds))

    @property
    def first(self) -> Fraction:
        """The epsilon of the race for the pair."""
        return self.race * self.size * self.share

    @property
    def moves(self) -> int:
        """The largest move by one unit of the weights of rows, added up by cell."""
        return (2 if self.domain.replaces else 1) * self.domain.unit_weight

    @property
    def sensitivity(self) -> int:
        """The largest move of a score by one unit, with residuals of at most `UNIT`."""
        # [round-sensitivity]
        return (24 if self.domain.replaces else 12) * UNIT * self.domain.unit_weight

    @property
    def events(self) -> list[Event]:
        """The events of the noise: a race in each round, quartiles and sums."""
        quartile = Race(CELLS - 1, 1, 1, self.share * CUT / 2).event
        together = [self.size] * (self.size > 0) + [1] * (self.fitted - self.size)
        sums = [(self.moves, self.moves / self.share)] * self.level
        sums += [noise for columns in together for noise in self.noise(columns)]
        races = [Race(self.free - t, 1, 1, self.race * self.share) for t in range(self.rounds)]
        return [*(race.event for race in races), *[quartile] * (2 * self.fitted),
                *(Additive.of("discrete-laplace", *noise) for noise in sums)]

    def noise(self, columns: int) -> list[tuple[int, Fraction]]:
        """Return the largest move of each kind of sums by bin, and the mean of half its noise.

        Of many classes there are two kinds: sums of residuals, and counts of rows.
        """
        # [sums-move] one row's residual leaves a cell, and that of another row enters a cell
        moves, epsilon = UNIT * self.moves, columns * self.share * (1 - CUT)
        if self.domain.classes == 2:
            return [(moves, moves / epsilon)]
        return [(2 * moves, 2 * moves / (epsilon * (1 - COUNT))),
                (moves, moves / (epsilon * COUNT))]

    @property
    def raced(self) -> Fraction:
        """The share of the races in the epsilon."""
        return self.race * (self.size + self.rounds) * self.share / self.epsilon

    # [rounds]
    def names(self, rows: Passes, key: int, named: Sequence[int], free: Sequence[int], *,
              start: Sequence[int], noise: Noise) -> list[int]:
        """Return the columns that the rounds name.

        named : the columns that were named before, the pair at the end
        start : the log-odds of each class, of public or released numbers
        """
        from privsieve.summaries.layout import Layout
        from privsieve.summaries.residuals import residuals

        layout, names = Layout.of(self.domain), list[int]()
        parts = residuals(rows, key, self.domain, start, SIDE)
        if self.level:
            self._level(parts, noise)
        single = len(named) - self.size
        for columns in (*([j] for j in named[:single]), *[named[single:]] * (self.size > 0)):
            self._fit(parts, columns, layout, noise)
        for t in range(self.rounds):
            left = [j for j in free if j not in names]
            how = Race(len(left), 1, self.sensitivity, self.race * self.share)
            raced = self.scores(parts, layout)[left].tolist()
            names.append(left[race.top_k(raced, how, noise)[0]])
            if t + 1 < self.rounds:
                self._fit(parts, names[-1:], layout, noise)
        return names

    def scores(self, parts: Sequence[Residuals], layout: Layout) -> Ints:
        """Return for each column 24 times the best rule's value on residuals, over all cuts."""
        import numpy as np

        return reduce(np.maximum, (self._cut_scores(parts, layout, cut)
                                   for cut in range(layout.classes if layout.classes > 2 else 1)))

    def _cut_scores(self, parts: Sequence[Residuals], layout: Layout, cut: int) -> Ints:
        """Return the scores for one cut of the classes in two."""
        from privsieve.summaries.forms import Runs
        from privsieve.summaries.residuals import best_cut, signs_of
        from privsieve.summaries.rules import RuleTables, Weighing, scores

        scale, halves = self.domain.unit_weight, [rows.chunk(cut) for rows in parts]
        signs = signs_of(layout.classes, cut)
        by = Weighing(signs[None], UNIT * offsets(equal(2, self.units), layout, scale), scale, 1, 0)
        best = scores(RuleTables(Runs.of(*halves), None, None), layout, by)
        cells = parts[0].cells
        if cells > 1:
            # the gain on noise of the signs of two sides in each cell, as `labels.by_cells`
            chance = 24 * UNIT * scale * isqrt(CELL_SQUARE * 2 * cells * self.units // 1_000_000)
            inside = reduce(add, (rows.inside(half, signs, SIDE)
                                  for rows, half in zip(parts, halves, strict=True)))
            for j, nominal in enumerate(layout.nominal.tolist()):
                best[j] = max(best[j], 12 * best_cut(inside[j], nominal=nominal) - chance)
        return best

    def _level(self, parts: Sequence[Residuals], noise: Noise) -> None:
        """Release the number of rows of each class, and begin with their log-odds."""
        import numpy as np

        from privsieve.noise import discrete
        from privsieve.summaries.residuals import log_odds_of, shares_of

        counts = np.sum([rows.by_class() for rows in parts], axis=0)
        steps = log_odds_of(discrete.noisy(counts, self.moves / self.share, noise).tolist())
        for rows in parts:
            rows.take(np.array(steps)[:, None])
            rows.shares = shares_of(steps)

    def _fit(self, parts: Sequence[Residuals], columns: Sequence[int], layout: Layout,
             noise: Noise) -> None:
        """Release sums by the bins of some columns, and take the steps that follow from them."""
        import numpy as np

        from privsieve.noise import discrete
        from privsieve.summaries.residuals import LEVELS, PRIORS, bins_of, steps_of

        cells, sizes = [np.zeros(len(rows.rows.unit), np.int64) for rows in parts], list[int]()
        for j in columns:
            edges = self._edges(parts, j, layout, noise)
            sizes.append(min(int(layout.levels[j]), LEVELS) if layout.levels[j] else len(edges) + 2)
            cells = [cell * sizes[-1] + bins_of(rows.rows.codes[j], edges, layout, j)
                     for cell, rows in zip(cells, parts, strict=True)]
        sums = [rows.sums(cell, prod(sizes)) for rows, cell in zip(parts, cells, strict=True)]
        # [sums] what leaves; the steps are made of it
        unit = UNIT * self.domain.unit_weight
        left: list[npt.NDArray[np.float64]] = []
        means = [mean for _moves, mean in self.noise(len(columns))]
        for kind, mean in zip(zip(*sums, strict=True), means, strict=True):
            whole = reduce(add, kind)
            left.append(np.reshape(discrete.noisy(whole.ravel(), mean, noise), whole.shape) / unit)
        scale = float(means[0]) / unit
        if layout.classes == 2:
            gaps, all_sizes, deviation = left[0][1:] - left[0][:1], [left[0].sum(0)], 2 * scale
        else:
            gaps, deviation = left[0], 2**0.5 * scale
            all_sizes = [2 * share * left[1][0] for share in parts[0].shares.tolist()]
        steps = np.stack([steps_of(gap, size, deviation, sizes,
                                   spread=PRIORS[layout.classes > 2])
                          for gap, size in zip(gaps, all_sizes, strict=True)])
        for rows, cell in zip(parts, cells, strict=True):
            rows.take(steps[:, cell])
            if rows.cells == 1 or len(columns) > 1:
                rows.place, rows.cells = cell, prod(sizes)

    def _edges(self, parts: Sequence[Residuals], j: int, layout: Layout, noise: Noise) -> Ints:
        """Return the first codes of bins of an ordered column, by two quartiles; none of levels."""
        import numpy as np

        from privsieve.summaries.layout import ORDERED_WITH_MISSING, cell_edges

        if layout.levels[j]:
            return np.zeros(0, np.int64)
        apart = layout.kind[j] == ORDERED_WITH_MISSING
        counts = sum((rows.counts(j, apart=bool(apart)) for rows in parts),
                     np.zeros(CELLS, np.int64))
        # [quartile-sensitivity] 4 below less p of all moves by 4 at most
        how = Race(CELLS - 1, 1, 4 * self.domain.unit_weight, self.share * CUT / 2)
        below, likely = np.cumsum(counts)[:-1], favoured(cell_edges(layout.columns[j]), how)
        low, high = sorted((race.top_k((likely - np.abs(4 * below - p * counts.sum())).tolist(),
                                       how, noise)[0] + 1) * (CODES // CELLS) for p in (1, 3))
        return np.unique([low, (low + high) // 2, high])
    # [/rounds]


# [favoured]
def favoured(edges: Ints, how: Race) -> Ints:
    """Return the bonus of cells at public edges, which gives them half of the chance."""
    import numpy as np

    bonuses = np.zeros(how.d, np.int64)
    bonus = round(float(how.scale) * log((how.d + 1) / len(edges)))
    bonuses[np.maximum(edges // (CODES // (how.d + 1)) - 1, 0)] = bonus
    return bonuses
# [/favoured]
