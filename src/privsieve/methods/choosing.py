"""What all choices of columns share: how many, what they will be worth, and their plan.

If k columns stand out by a share `gap` of the rows and the others by nothing, a race that names m
of them finds, in expectation over its noise, what `noise.race` computes from the law of its noise;
with exponential noise, k at most half of the columns, and A binomial with d - k tries of
exp(-gap n epsilon / (2 m)),

    E[m / (A + k)] of the k, and E[k / (A + k)] of the m names are right.

At gap 0 the second is k/d, which is guessing.  How many names are worth most follows from public
numbers alone: see `fewer`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from privsieve.errors import ParameterError
from privsieve.frozen import dataclass
from privsieve.methods import branches
from privsieve.public.canonical import Json, quoted
from privsieve.public.cost import EPSILON_UNITS, Cost, decimal
from privsieve.public.domain import Domain
from privsieve.public.grids import after_coding
from privsieve.public.option import Choosing
from privsieve.public.plan import NoiseSize, Plan, assumed

if TYPE_CHECKING:
    from privsieve.noise.race import Race

Asked = TypeVar("Asked", bound=Choosing)

#: Gaps that tables show: weak, usual (waveform .08 to .10, WDBC .15), strong (XOR .23).
GAPS = (Fraction(1, 50), Fraction(1, 20), Fraction(1, 10), Fraction(1, 5))
USUAL = Fraction(1, 10)
#: Below this part of what is to be gained over guessing, we say so before the charge.
LITTLE = 0.2
#: Tables from weak to strong, each as likely: how many names are worth most is decided over them.
MIXTURE = tuple(0.02 * 20 ** (i / 12) for i in range(13))
#: Where a smaller part of the names would be right, we say what fewer names would be worth.
FEW = 0.5
#: So many numbers of names are tried one by one.
TRIED = 64
#: Costs beside which a report shows that of its release.
COSTS = (Fraction(1, 10), Fraction(3, 10), Fraction(1), Fraction(3))


@dataclass(frozen=True)
class Forecast:
    """The expected share of the names that are right: among the best, as many as are sought.

    k : how many of d columns are named
    sought : how many are the best, at least k; where it is k, so many of the best are found
    reach : how far a gap of 1 puts a column ahead, in units of a score
    """

    race: Race
    d: int
    k: int
    reach: Fraction
    sought: int

    def at(self, gap: float) -> float:
        """The share of the names that are right where the best stand out by this gap."""
        found = self.race.share(self.d, self.k, gap * float(self.reach), leaders=self.sought)
        return found * self.sought / self.k

    @property
    def guessing(self) -> float:
        """The share of names that are right by guessing."""
        return self.sought / self.d

    @cached_property
    def right(self) -> tuple[float, ...]:
        """The share for each of GAPS."""
        return tuple(self.at(float(gap)) for gap in GAPS)

    @property
    def usual(self) -> float:
        """The share on a usual table."""
        return self.at(float(USUAL))

    @cached_property
    def mean(self) -> float:
        """The share over the mixture of tables."""
        return sum(map(self.at, MIXTURE)) / len(MIXTURE)

    @property
    def worth(self) -> float:
        """The harmonic mean of the shares that are right, and found (F1), over the mixture."""
        return 2 * self.mean * self.k / (self.k + self.sought)

    @property
    def gain(self) -> float:
        """The part of the way from guessing to certainty at a usual gap."""
        return (self.usual - self.guessing) / (1 - self.guessing) if self.guessing < 1 else 1.0


def expected(race: Race, d: int, k: int, reach: Fraction, sought: int | None = None) -> Forecast:
    """Forecast k of d columns by this race; a gap of 1 puts a column ahead by `reach`.

    >>> from privsieve.noise.race import Race
    >>> made = expected(Race(30, 3, 1, Fraction(1)), 30, 3, Fraction(569))
    >>> round(made.guessing, 2), [round(share, 2) for share in made.right]
    (0.1, [0.46, 0.94, 1.0, 1.0])
    """
    return Forecast(race, d, k, reach, sought or k)


def json(made: Forecast, costs: Mapping[str, Json], **more: Json) -> Mapping[str, Json]:
    """The forecast as it stands on a release: per cent of the names, rounded down."""
    return {
        **{name: value for name, value in more.items() if value is not None},
        "guessing_percent": int(100 * made.guessing),
        "usual_gap": str(float(USUAL)),
        "found_percent": {str(float(gap)): int(100 * share)
                          for gap, share in zip(GAPS, made.right, strict=True)},
        "by_cost": costs,
    }


def by_cost(epsilon: Fraction, at: Callable[[Fraction], Forecast]) -> Mapping[str, Json]:
    """Per cent found on a usual table, rounded down, at this and other costs.

    >>> from privsieve.noise.race import Race
    >>> by_cost(Fraction(1), lambda epsilon: expected(Race(30, 3, 1, epsilon), 30, 3,
    ...                                               Fraction(569)))
    {'0.1': 23, '0.3': 70, '1': 99, '3': 99}
    """
    return {decimal(-(-cost * EPSILON_UNITS // 1)): int(100 * at(cost).usual)
            for cost in sorted({*COSTS, epsilon})}


def coded(made: Mapping[str, Json], domain: Domain) -> Mapping[str, Json]:
    """A forecast with the gap that it means, and which columns cannot be found."""
    said = after_coding(domain)
    return made if said is None else {**made, "after_coding": said}


def warning(made: Forecast) -> str | None:
    """A sentence where the choice will be close to random on a usual table.

    >>> from privsieve.noise.race import Race
    >>> warning(expected(Race(30, 3, 1, Fraction(1)), 30, 3, Fraction(5)))[:44]
    'the choice will be close to random: of the c'
    """
    if made.gain >= LITTLE:
        return None
    those = "columns sought" if made.k == made.sought else "columns named"
    are = "found" if made.k == made.sought else "right"
    return (f"the choice will be close to random: of the {those} about {made.usual:.0%} are "
            f"{are} on a usual table, and {made.guessing:.0%} by guessing; more rows, a larger "
            "epsilon or fewer columns to choose would help")


# [fewer]
def fewer(rules: Asked, look: Callable[[Any], Forecast]) -> Asked:
    """The rules with as many names as are worth most, where `fewer` is "auto".

    Decided from public numbers, before the charge: the largest `Forecast.worth`.  What was asked
    for stays in `fewer`.  More than half of the columns stay as many: those left out are raced.
    """
    if rules.fewer is None:
        return rules
    if rules.fewer != "auto":
        raise ParameterError(f'fewer is {quoted(rules.fewer)}; write "auto" to name at most k '
                             "columns, or leave it out")
    settled: Any = rules
    if settled.price is not None:
        raise ParameterError('fewer="auto" and a price say both how many columns are named; leave '
                             "one of the two out")
    if not rules.one_race:
        raise ParameterError('fewer="auto" is for columns that one race names, and joint begins '
                             "with a set of them; leave one of the two out")
    chosen: Asked = _worth_most(rules, look)
    return chosen


def _worth_most(rules: Any, look: Callable[[Any], Forecast]) -> Any:
    places = rules.places
    k = places.k

    def naming(m: int, **more: Any) -> Any:
        # What begins with a set is for where much can be found: there all k are named.
        by, total = rules if m == k else rules.alone, places.taken + m
        return replace(by, n_features_to_select=total, fewer=places.total,
                       places=replace(places, k=m, total=total), **more)

    if 2 * k > places.d:
        return naming(k)
    # Without a delta: its noise takes long to size.  At the end it has its say.
    m = _largest(lambda m: look(naming(m, delta=Fraction(0))).worth, k)
    return max(naming(m), naming(k), key=lambda one: look(one).worth)


def _largest(worth: Callable[[int], float], k: int) -> int:
    """The number from 1 to k that is worth most, the smaller of equals.

    Of many numbers some are tried, and then those between the neighbours of the best.

    >>> _largest(lambda m: -(m - 3) ** 2, 9), _largest(lambda m: -(m - 700) ** 2, 5000)
    (3, 700)
    """
    low, high = 1, k
    while high - low >= TRIED:
        steps = [low * (high / low) ** (i / TRIED) for i in range(TRIED + 1)]
        tried = sorted({min(high, max(low, round(step))) for step in steps})
        best = tried.index(max(tried, key=worth))
        low, high = tried[max(0, best - 1)], tried[min(len(tried) - 1, best + 1)]
    return max(range(low, high + 1), key=worth)
# [/fewer]


def advice(rules: Any, look: Callable[[Any], Forecast]) -> str | None:
    """A sentence where few of k names would be right, and fewer names would be worth more.

    It speaks of the mean over the mixture of tables; both figures are those of plans that can
    be made.
    """
    places = rules.places
    if rules.fewer is not None or not rules.one_race or places.prices:
        return None
    k, made = places.k, look(rules)
    if made.mean >= FEW:
        return None
    few = _worth_most(rules, look)
    named = few.places.k
    if named == k:
        return None
    beside = " beside those that are always in" if places.taken else ""
    return (f"asked for {k}{beside}: with {rules.units} {rules.domain.unit}s and this epsilon "
            f"about {_about(made.mean * k)} of the {k} would be right; --at-most {places.total} "
            f'(in Python fewer="auto") would name {named}, about '
            f"{_about(look(few).mean * named)} of {'them' if named > 1 else 'it'} right, in the "
            "mean over tables from weak to strong")


def _about(columns: float) -> str:
    """A number of columns for people.

    >>> _about(0.34), _about(2.96), _about(8.7)
    ('0.3', '3', '9')
    """
    return f"{columns:.0f}" if columns >= 3 else f"{columns:.1f}".removesuffix(".0")


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


def cuts_fit(domain: Domain, units: int, labellings: int, max_ops: int) -> bool:
    """Whether pairs with a column that has no grid are valued by all cuts: public.

    There has to be such a column, and `max_ops` has to last for all cuts alone.

    >>> from privsieve.public.domain import Domain, Number
    >>> domain = Domain([Number(f"x{j}") for j in range(100)])
    >>> [cuts_fit(domain, n, 1, branches.MAX_OPS) for n in (100_000, 200_000)]
    [True, False]
    """
    work = branches.Extent.of(domain, units, cuts=labellings).by_cuts(len(domain.gridless))
    return 0 < branches.OPS * work <= max_ops


def pairs_said(rules: Any) -> dict[str, str]:
    """How pairs with a column that has no grid are valued, where there is one."""
    if not rules.domain.gridless:
        return {}
    return {"pairs_without_grid": "all cuts" if rules.cuts else "none"}


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

    rules : the public parameters of the run, with their domain, units and places.
    look : what rules find, by their epsilon.
    noise : its size, in units on a score.
    own : what is the method's own: name, settings, theorem, and its two functions.
    """
    free = rules.places.certain and not rules.ordered
    expected = look(rules)
    costs = by_cost(cost.epsilon, lambda other: look(replace(rules, epsilon=other)))
    said = {"forecast": coded(json(expected, costs, advice=None if free else advice(rules, look),
                                   names=None if rules.fewer is None else rules.places.k),
                              rules.domain),
            "warning": warning(expected),
            "assumes": assumed(own["theorem"]), **own}
    if free:
        said["warning"] = None
    said.setdefault("takes", branches.takes(branches.Extent.of(rules.domain, rules.units)))
    return Plan(kind="selection", domain=rules.domain, units=rules.units,
                noise=NoiseSize(noise, "units on a score"),
                certain=rules.places.columns() if free else None,
                cost=Cost(Fraction(0)) if free else cost, **said)
