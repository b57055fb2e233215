"""The forecast: what a choice will be worth, from public numbers alone.

If k columns stand out by a share `gap` of the rows and the others by nothing, a race finds, in
expectation over its noise and to first order, the share of them that `privacy.recall` computes
from the law of its noise; with exponential noise and at most half of the columns chosen

    recall(gap) = k / (k + (d - k) exp(-gap n epsilon / (2 k))).

At gap 0 it is k/d, which is guessing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from privsieve.public.canonical import Json
from privsieve.public.cost import EPSILON_UNITS, decimal

if TYPE_CHECKING:
    from privsieve.noise.race import Race

#: Gaps that tables show: weak, usual (waveform .08 to .10, WDBC .15), strong (XOR .23).
GAPS = (Fraction(1, 50), Fraction(1, 20), Fraction(1, 10), Fraction(1, 5))
USUAL = Fraction(1, 10)
#: Below this part of what is to be gained over guessing, we say so before the charge.
LITTLE = 0.2
#: Costs beside which a report shows that of its release.
COSTS = (Fraction(1, 10), Fraction(3, 10), Fraction(1), Fraction(3))


class Forecast(NamedTuple):
    """Expected share of the k best columns that are found, by the gap of the table."""

    guessing: float
    recall: tuple[float, ...]  # for each of GAPS

    @property
    def gain(self) -> float:
        """The part of the way from guessing to certainty at a usual gap."""
        usual = self.recall[GAPS.index(USUAL)]
        return (usual - self.guessing) / (1 - self.guessing) if self.guessing < 1 else 1.0


def expected(race: Race, d: int, k: int, reach: Fraction) -> Forecast:
    """Forecast k of d columns by this race; a gap of 1 puts a column ahead by `reach`.

    >>> from privsieve.noise.race import Race
    >>> made = expected(Race(30, 3, 1, Fraction(1)), 30, 3, Fraction(569))
    >>> round(made.guessing, 2), [round(share, 2) for share in made.recall]
    (0.1, [0.43, 0.93, 1.0, 1.0])
    """
    return Forecast(k / d, tuple(race.share(d, k, float(gap * reach)) for gap in GAPS))


def json(made: Forecast, costs: Mapping[str, Json]) -> Mapping[str, Json]:
    """The forecast as it stands on a release: per cent, rounded down."""
    return {
        "guessing_percent": int(100 * made.guessing),
        "usual_gap": str(float(USUAL)),
        "found_percent": {str(float(gap)): int(100 * share)
                          for gap, share in zip(GAPS, made.recall, strict=True)},
        "by_cost": costs,
    }


def by_cost(epsilon: Fraction, at: Callable[[Fraction], Forecast]) -> Mapping[str, Json]:
    """Per cent found on a usual table, rounded down, at this and other costs.

    >>> from privsieve.noise.race import Race
    >>> by_cost(Fraction(1), lambda epsilon: expected(Race(30, 3, 1, epsilon), 30, 3,
    ...                                               Fraction(569)))
    {'0.1': 22, '0.3': 65, '1': 99, '3': 99}
    """
    return {decimal(-(-cost * EPSILON_UNITS // 1)): int(100 * at(cost).recall[GAPS.index(USUAL)])
            for cost in sorted({*COSTS, epsilon})}


def warning(made: Forecast) -> str | None:
    """A sentence where the choice will be close to random on a usual table.

    >>> from privsieve.noise.race import Race
    >>> warning(expected(Race(30, 3, 1, Fraction(1)), 30, 3, Fraction(5)))[:44]
    'the choice will be close to random: of the c'
    """
    if made.gain >= LITTLE:
        return None
    usual = made.recall[GAPS.index(USUAL)]
    return (f"the choice will be close to random: of the columns sought about {usual:.0%} are "
            f"found on a usual table, and {made.guessing:.0%} by guessing; more rows, a larger "
            "epsilon or fewer columns to choose would help")
