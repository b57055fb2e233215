"""What all choices of columns share: how many, what they will be worth, and their plan.

If k columns stand out by a share `gap` of the rows and the others by nothing, a race finds, in
expectation over its noise and to first order, the share of them that `noise.race` computes
from the law of its noise; with exponential noise and at most half of the columns chosen

    recall(gap) = k / (k + (d - k) exp(-gap n epsilon / (2 k))).

At gap 0 it is k/d, which is guessing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from privsieve.errors import ParameterError
from privsieve.public.canonical import Json, quoted
from privsieve.public.cost import EPSILON_UNITS, Cost, decimal
from privsieve.public.plan import NoiseSize, Plan, assumed

if TYPE_CHECKING:
    from privsieve.noise.race import Race

#: Word operations that a run may take: 12 to 20 seconds of one core.
MAX_OPS = 2**36
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


def count(k: object, d: int) -> int:
    """Read how many columns: a number, or a fraction of them.

    >>> count(5, 30), count(0.1, 30)
    (5, 3)
    """
    if isinstance(k, bool) or not isinstance(k, (int, float, Fraction)):
        item = getattr(k, "item", None)
        if item is None or isinstance(k, bool):
            raise ParameterError(f"the number of columns to choose is {quoted(k)}; write a whole "
                                 "number from 1, or a fraction between 0 and 1")
        return count(item(), d)
    if isinstance(k, (float, Fraction)):
        if not 0 < k < 1:
            raise ParameterError(f"the fraction of columns to choose is {k}; it must lie between "
                                 "0 and 1 (for a number of columns write a whole number)")
        k = max(1, int(k * d))
    if k < 1:
        raise ParameterError(f"{quoted(k)} columns are to be chosen; at least 1 is needed")
    if k > d:
        raise ParameterError(f"{quoted(k)} columns are to be chosen, and the domain has {d}")
    return k


def depth(units: int, d: int, asked: int | None, max_ops: int) -> tuple[int, int]:
    """How deep the products go and how fine the pair grid is: public, from n, d and max_ops."""
    if asked not in (None, 1, 2, 3):
        raise ParameterError(f"depth is {quoted(asked)}; write 1, 2 or 3, or None to let the size "
                             "decide")
    words = -(-units // 64) + 64  # 64: measured overhead of one product, in words
    pairs = d * (d - 1) // 2
    pair_limit = 3 * max_ops // 8
    deepest = 1
    if pairs * words <= pair_limit:
        deepest = 3 if pairs * (d - 2) // 3 * words <= max_ops // 4 else 2
    for grid in (16, 8, 4):
        work = (grid - 1) ** 2 * words
        if grid == 16:
            work = min(work, 5 * units // 2)
        if pairs * work <= pair_limit:
            break
    else:
        grid = 0
    return asked or deepest, grid if d > 1 else 0


def charged(cost: Cost, race: Race, before: Fraction = Fraction(0)) -> Cost:
    """What a plan with this race costs; a delta that would buy nothing is not spent.

    before : what is spent under zCDP before the race, by what is pure

    >>> from privsieve.public.cost import Cost
    >>> from privsieve.noise.race import Race
    >>> one, tiny = Fraction(1), Fraction(1, 10**6)
    >>> [charged(Cost(one, tiny), Race(100, k, 1, one, delta=tiny)).delta_text for k in (3, 20)]
    ['0', '0.000001']
    """
    rho = race.rho + before if race.kind == "gumbel" else None
    return replace(cost, rho=rho, delta=Fraction(0) if race.account == "pure" else cost.delta)


def selection(rules: Any, cost: Cost, look: Callable[[Any], Forecast], *, noise: Fraction,
              **own: Any) -> Plan:
    """The plan of a choice by one race; a choice of all columns costs nothing.

    rules : the public parameters of the run, with their domain, units and k.
    look : what rules find, by their epsilon.
    noise : its size, in units on a score.
    own : what is the method's own: name, settings, theorem, and its two functions.
    """
    free = rules.k == len(rules.domain.columns) and not rules.ordered
    expected = look(rules)
    costs = by_cost(cost.epsilon, lambda other: look(replace(rules, epsilon=other)))
    said = {"forecast": json(expected, costs), "warning": warning(expected),
            "assumes": assumed(own["theorem"]), **own}
    if free:
        said["warning"] = None
    return Plan(kind="selection", domain=rules.domain, units=rules.units,
                noise=NoiseSize(noise, "units on a score"),
                cost=Cost(Fraction(0)) if free else cost, **said)
