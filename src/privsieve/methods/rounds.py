"""Rounds: columns one by one, each by what the columns before it left unexplained.

A round scores the columns that are left against the residuals of the rows (`summaries.residuals`):
by rules on the column alone, and by cuts of it inside of the cells of the columns that were named
first.  One race names one of them; then its steps are released, as noisy sums by bin.  A column
that only repeats what was named before finds no residual, and does not come back.

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

#: Of what steps take the part of the quartiles; of the rest, with many classes, that of row counts.
CUT, COUNT = Fraction(1, 4), Fraction(1, 8)
#: Cells a side of the grid of a column; a whole residual; cells in which quartiles are looked for.
SIDE, UNIT, CELLS = 16, 4096, 4096


@dataclass(frozen=True)
class Rounds:
    """The public parameters of the rounds.

    before : how many columns are named before, those that are always in among them
    free : how many of the columns may be named
    rounds : how many are named one by one
    epsilon : what the pair costs and all that follows
    size : how many columns the first race names
    level : whether the classes' shares are not known before, and are released first
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
        """How many columns get steps: all but the last."""
        return self.before + self.rounds - 1

    @property
    def race(self) -> Fraction:
        """What a race takes, beside the steps of a column; those of many classes need more."""
        return Fraction(2) if self.domain.classes == 2 else Fraction(3, 2)

    @property
    def share(self) -> Fraction:
        """The epsilon of the steps of a column; for each column that is named there is a race."""
        # [shares]
        return self.epsilon / (self.level + self.fitted + self.race * (self.size + self.rounds))

    @property
    def first(self) -> Fraction:
        """The epsilon of the race for the pair."""
        return self.race * self.size * self.share

    @property
    def moves(self) -> int:
        """How far a unit moves all that its rows weigh, added up by cell."""
        return (2 if self.domain.replaces else 1) * self.domain.unit_weight

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
        sums = [(self.moves, self.moves / self.share)] * self.level
        sums += [one for columns in together for one in self.noise(columns)]
        races = [Race(self.free - t, 1, 1, self.race * self.share) for t in range(self.rounds)]
        return [*(race.event for race in races), *[quartile] * (2 * self.fitted),
                *(Additive.of("discrete-laplace", *one) for one in sums)]

    def noise(self, columns: int) -> list[tuple[int, Fraction]]:
        """How far a unit moves the sums by bin of some columns, and the mean of half the noise.

        Of many classes there are two kinds of sums: those that steps lean to, and counts of rows.
        """
        # [sums-move] one row's residual leaves a cell, and another one comes to a cell
        moves, epsilon = UNIT * self.moves, columns * self.share * (1 - CUT)
        if self.domain.classes == 2:
            return [(moves, moves / epsilon)]
        return [(2 * moves, 2 * moves / (epsilon * (1 - COUNT))),
                (moves, moves / (epsilon * COUNT))]

    @property
    def raced(self) -> Fraction:
        """The part of the epsilon that the races get."""
        return self.race * (self.size + self.rounds) * self.share / self.epsilon

    # [rounds]
    def names(self, rows: Passes, key: int, named: Sequence[int], free: Sequence[int], *,
              start: Sequence[int], noise: Noise) -> list[int]:
        """The columns that the rounds name, after those that were named before.

        named : the pair at the end.
        start : the log-odds of each class, of public or released numbers
        """
        from privsieve.summaries.layout import Layout
        from privsieve.summaries.residuals import residuals

        layout, found = Layout.of(self.domain), list[int]()
        held = residuals(rows, key, self.domain, start, SIDE)
        if self.level:
            self._level(held, noise)
        alone = len(named) - self.size
        for columns in (*([j] for j in named[:alone]), *[named[alone:]] * (self.size > 0)):
            self._fit(held, columns, layout, noise)
        for t in range(self.rounds):
            left = [j for j in free if j not in found]
            how = Race(len(left), 1, self.sensitivity, self.race * self.share)
            raced = self.scores(held, layout)[left].tolist()
            found.append(left[race.top_k(raced, how, noise)[0]])
            if t + 1 < self.rounds:
                self._fit(held, found[-1:], layout, noise)
        return found

    def scores(self, held: Sequence[Residuals], layout: Layout) -> Ints:
        """24 times the best rule's value on residuals, for each column, of all cuts of classes."""
        import numpy as np

        return reduce(np.maximum, (self._cut_scores(held, layout, cut)
                                   for cut in range(layout.classes if layout.classes > 2 else 1)))

    def _cut_scores(self, held: Sequence[Residuals], layout: Layout, cut: int) -> Ints:
        """The scores where the classes are cut in two."""
        from privsieve.summaries.forms import Runs
        from privsieve.summaries.residuals import best_cut, signs_of
        from privsieve.summaries.rules import RuleTables, Weighing, scores

        scale, parts = self.domain.unit_weight, [one.chunk(cut) for one in held]
        signs = signs_of(layout.classes, cut)
        by = Weighing(signs[None], UNIT * offsets(equal(2, self.units), layout, scale), scale, 1, 0)
        best = scores(RuleTables(Runs.of(*parts), None, None), layout, by)
        cells = held[0].cells
        if cells > 1:
            # what the signs of two sides in each cell reach on noise, as `labels.by_cells`
            chance = 24 * UNIT * scale * isqrt(CELL_SQUARE * 2 * cells * self.units // 1_000_000)
            inside = reduce(add, (one.inside(part, signs, SIDE)
                                  for one, part in zip(held, parts, strict=True)))
            for j, nominal in enumerate(layout.nominal.tolist()):
                best[j] = max(best[j], 12 * best_cut(inside[j], nominal=nominal) - chance)
        return best

    def _level(self, held: Sequence[Residuals], noise: Noise) -> None:
        """Release how many rows each class has; the log-odds begin there."""
        import numpy as np

        from privsieve.noise import discrete
        from privsieve.summaries.residuals import log_odds_of, shares_of

        counts = np.sum([one.by_class() for one in held], axis=0)
        steps = log_odds_of(discrete.noisy(counts, self.moves / self.share, noise).tolist())
        for one in held:
            one.take(np.array(steps)[:, None])
            one.shares = shares_of(steps)

    def _fit(self, held: Sequence[Residuals], columns: Sequence[int], layout: Layout,
             noise: Noise) -> None:
        """Release sums by the bins of some columns, and take the steps that are made of them."""
        import numpy as np

        from privsieve.noise import discrete
        from privsieve.summaries.residuals import LEVELS, PRIORS, bins_of, steps_of

        cells, sizes = [np.zeros(len(one.rows.unit), np.int64) for one in held], list[int]()
        for j in columns:
            edges = self._edges(held, j, layout, noise)
            sizes.append(min(int(layout.levels[j]), LEVELS) if layout.levels[j] else len(edges) + 2)
            cells = [cell * sizes[-1] + bins_of(one.rows.codes[j], edges, layout, j)
                     for cell, one in zip(cells, held, strict=True)]
        sums = [one.sums(cell, prod(sizes)) for one, cell in zip(held, cells, strict=True)]
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
            all_sizes = [2 * part * left[1][0] for part in held[0].shares.tolist()]
        steps = np.stack([steps_of(gap, size, deviation, sizes,
                                   spread=PRIORS[layout.classes > 2])
                          for gap, size in zip(gaps, all_sizes, strict=True)])
        for one, cell in zip(held, cells, strict=True):
            one.take(steps[:, cell])
            if one.cells == 1 or len(columns) > 1:
                one.place, one.cells = cell, prod(sizes)

    def _edges(self, held: Sequence[Residuals], j: int, layout: Layout, noise: Noise) -> Ints:
        """Where the bins of a column with an order begin, by two quartiles; none of levels."""
        import numpy as np

        from privsieve.summaries.layout import ORDERED_WITH_MISSING, cell_edges

        if layout.levels[j]:
            return np.zeros(0, np.int64)
        apart = layout.kind[j] == ORDERED_WITH_MISSING
        counts = sum((one.counts(j, apart=bool(apart)) for one in held),
                     np.zeros(CELLS, np.int64))
        # [quartile-sensitivity] 4 below less part of all moves by 4 at most
        how = Race(CELLS - 1, 1, 4 * self.domain.unit_weight, self.share * CUT / 2)
        below, likely = np.cumsum(counts)[:-1], favoured(cell_edges(layout.columns[j]), how)
        low, high = sorted((race.top_k((likely - np.abs(4 * below - part * counts.sum())).tolist(),
                                       how, noise)[0] + 1) * (CODES // CELLS) for part in (1, 3))
        return np.unique([low, (low + high) // 2, high])
    # [/rounds]


# [favoured]
def favoured(edges: Ints, how: Race) -> Ints:
    """What a race for a cell adds to those at public edges: half of the chance is theirs."""
    import numpy as np

    more = np.zeros(how.d, np.int64)
    bonus = round(float(how.scale) * log((how.d + 1) / len(edges)))
    more[np.maximum(edges // (CODES // (how.d + 1)) - 1, 0)] = bonus
    return more
# [/favoured]
