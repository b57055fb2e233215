"""Weigh the classes: the option `class_prior`, and the weights that follow from it.

::

    None          every unit counts the same
    shares        declared: both sides of a cut have the same total weight
    "auto"        like shares, from noisy counts for a tenth of epsilon; "centred" if they show a
                  rare class
    "centred"     the label less its mean: no count is released, and no epsilon is spent
    "unbalanced"  "auto", and "centred" where counts would cost more than they bring

With more than two classes "auto" is "centred" where the domain allows that.

A labelling gives each class a signed integer weight of at most `largest`.  The value of a rule is a
sum of weights, so its sensitivity grows with `largest` alone.  The score is the best value over all
labellings: a maximum of functions of one sensitivity has the same sensitivity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from privsieve.errors import ParameterError
from privsieve.methods.branches import ALL_CUTS, unit_value
from privsieve.public.canonical import Json, exact
from privsieve.public.domain import EXACT_ROWS, Domain
from privsieve.public.dropped import explain
from privsieve.public.event import Additive, Event
from privsieve.public.option import number
from privsieve.release import NoisyCounts, exactly

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from privsieve.methods.rule_sieve import Rules
    from privsieve.noise.streams import Noise
    from privsieve.summaries.layout import Layout

#: Weights are multiples of 1/4096: the smallest share of a class that they can balance.
FINEST = 4096
#: The largest weight of all units with which sums of four centred scores fit: 24 n^2 < 2^63.
LARGEST_CENTRED = 2**29
#: Below this number of units times epsilon, a noisy class count costs more than it brings.
AUTO_FROM = 200
#: The share of epsilon that "auto" spends on the class counts.
AUTO_SHARE = Fraction(1, 10)
#: Below this share a class is rare: centred labels then serve better than weights.
RARE = Fraction(3, 20)
#: The square, in millionths, of what the best interval reaches on noise, by sqrt(n) rows; and those
#: of what a bit of ln m brings: 2 ln 2 / 36, and 2 ln 2 / 64.
INTERVAL_SQUARE, PAIR_SQUARE, TRIPLE_SQUARE = 640_000, 38_508, 21_661
#: The square, in millionths, of what cells with their best signs reach on noise, by the root of
#: rows and cells: 1 / (2 pi).
CELL_SQUARE = 159_155
#: The number of columns from which a table is wide.
WIDE = 100
#: Below this declared share, weights of FINEST parts are too coarse.
RAREST = Fraction(8, FINEST)
#: Declared shares become whole numbers of this many parts of a unit.
FINE = 1000

Prior = Literal["auto", "centred"] | tuple[Fraction, ...] | None
WORDS = ("auto", "centred", "unbalanced")


def written_shares(value: Any) -> object:
    """Read class shares, their text, or a word.

    >>> written_shares("none"), written_shares(0.2), written_shares("0.5,0.3,0.2")
    (None, 0.2, ['0.5', '0.3', '0.2'])
    """
    if value is None or value == "none":
        return None
    if isinstance(value, str) and "," in value:
        value = value.split(",")
    if isinstance(value, list):
        return [number(share) for share in value]
    return value if isinstance(value, str) and not value[:1].isdigit() else number(value)


def prior_of(request: object, domain: Domain, strength: Fraction, *, why_not: str) -> Prior:
    """Return the prior that the option `class_prior` means; from public numbers.

    strength : units times epsilon
    why_not : why labels cannot be centred in this domain; empty if they can
    """
    if request is None:
        return None
    if not isinstance(request, str) or request[:1].isdigit():
        return shares(request, domain.classes)
    demand_prior(request)
    if why_not and request != "auto":
        raise ParameterError(f'class_prior="{request}" {why_not}; write "auto", or public shares')
    many = request == "auto" and domain.classes > 2 and not why_not
    if many or request == "centred" or (request == "unbalanced" and strength < AUTO_FROM):
        return "centred"
    return "auto" if strength >= AUTO_FROM else None


def demand_prior(request: object) -> None:
    """Refuse an unknown word."""
    if isinstance(request, str) and not request[:1].isdigit() and request not in WORDS:
        raise ParameterError(explain(
            request, f'class_prior is {request!r}; write {", ".join(map(repr, WORDS))}, '
                     "a share between 0 and 1, or None"))


def uncentred(domain: Domain, total: int) -> str:
    """Say why labels cannot be centred where all units weigh `total`; "" if they can.

    >>> uncentred(Domain.box(0, 1, columns=2), 100), uncentred(Domain.box(0, 1, columns=2), 2**40)
    ('', 'takes at most 2^29 units of weight')
    """
    if not domain.replaces:
        return "needs the number of units, which is private under add-remove"
    if domain.rows_per_person > EXACT_ROWS:
        return f"needs persons of equal weight: rows_per_person of at most {EXACT_ROWS}"
    return "" if total <= LARGEST_CENTRED else "takes at most 2^29 units of weight"


def settles(prior: object, domain: Domain, units: int) -> bool:
    """Return whether exactly the declared persons take part: where labels may be centred.

    "auto" counts as centred, before the counts show whether a class is rare.
    """
    if domain.person is None or uncentred(domain, units * domain.unit_weight):
        return False
    if isinstance(prior, tuple):
        return _coarse(prior)
    return prior == "centred" or (prior == "auto" and domain.classes == 2)


def _coarse(shares: Sequence[Fraction]) -> bool:
    """Return whether weights of FINEST parts are too coarse for these declared shares."""
    return len(shares) == 2 and min(shares) < RAREST


class Labellings(NamedTuple):
    """Signed weights for each cut and class.

    squares : the sum over units of their squared weights, in units of one person or row: public,
        or released
    product_weights : the weights for products, which take one row a unit; None: the same
    unit_value : see `branches.unit_value`; of public or released numbers
    counts : the noisy class counts from which the weights follow, where some were drawn
    """

    weights: tuple[tuple[int, ...], ...]
    squares: tuple[int, ...]
    largest: int
    product_weights: tuple[tuple[int, ...], ...] | None = None
    unit_value: Fraction = Fraction(1)
    counts: NoisyCounts | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a release that describe the classes."""
        return {} if self.counts is None else {"class_counts": self.counts.write()}


def cuts(classes: int) -> tuple[tuple[int, ...], ...]:
    """List the cuts of the classes in two: 1 for the side without class 0.

    >>> cuts(2), len(cuts(6)), len(cuts(7))
    (((0, 1),), 31, 11)
    """
    if classes <= ALL_CUTS:
        return tuple(tuple((mask << 1) >> c & 1 for c in range(classes))
                     for mask in range(1, 2 ** (classes - 1)))
    alone = {tuple(int((c == own) == (own > 0)) for c in range(classes)) for own in range(classes)}
    below = {tuple(int(c > last) for c in range(classes)) for last in range(classes - 1)}
    return tuple(sorted(alone | below))


def equal(classes: int, units: int) -> Labellings:
    """Return labellings in which every class weighs 1.

    >>> equal(2, 100).weights
    ((-1, 1),)
    """
    signs = tuple(tuple(2 * side - 1 for side in cut) for cut in cuts(classes))
    return Labellings(signs, (units,) * len(signs), 1)


def balanced(counts: Sequence[int], scale: int, margin: Fraction = Fraction(0)) -> Labellings:
    """Return labellings in which both sides of a cut have the same total weight.

    counts : per class, public or noisy, in units of 1/scale
    margin : for noisy counts: sides that differ by less count as equal

    >>> balanced([90, 10], 1).weights
    ((-455, 4096),)
    """
    weights, squares = [], []
    for cut in cuts(len(counts)):
        sides = [sum(max(0, count) for count, side in zip(counts, cut, strict=True) if side == own)
                 for own in (0, 1)]
        if abs(sides[1] - sides[0]) < margin:
            sides = [1, 1]
        few = max(1, min(sides))
        size = [min(FINEST, max(1, FINEST * few // max(1, side))) for side in sides]
        weights.append(tuple((2 * side - 1) * size[side] for side in cut))
        squares.append(sum(max(0, count) * size[side] ** 2
                           for count, side in zip(counts, cut, strict=True)) // scale)
    return Labellings(tuple(weights), tuple(squares), FINEST)


# [centred]
def centred(counts: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return N times (label - its mean) for each cut, from the true counts N of the table.

    Where replacing a unit leaves N, the mean may be the table's own.  The gain of the best rule is
    then a covariance, which moves no more than for a mean that is known before.

    >>> centred([4, 3])
    ((-3, 4),)
    """
    total = sum(counts)
    ones = [sum(count for count, side in zip(counts, cut, strict=True) if side)
            for cut in cuts(len(counts))]
    return tuple(tuple(total * side - many for side in cut)
                 for cut, many in zip(cuts(len(counts)), ones, strict=True))
# [/centred]


def shares(prior: object, classes: int, *, name: str = "class_prior") -> tuple[Fraction, ...]:
    """Read declared class shares: one number (of class 1) or one for each class.

    >>> shares(0.1, 2)
    (Fraction(9, 10), Fraction(1, 10))
    """
    if isinstance(prior, (list, tuple)):
        read = tuple(exact(share, name) for share in prior)
    elif classes == 2:
        second = exact(prior, name)
        read = (1 - second, second)
    else:
        raise ParameterError(f"{name} is {prior!r}; give {classes} shares, one for each class, "
                             f"that add up to 1, or leave {name} out")
    if len(read) != classes or any(not 0 < share < 1 for share in read):
        raise ParameterError(f"{name} is {prior!r}; give {classes} shares between 0 and 1")
    total = sum(read, Fraction(0))
    if abs(total - 1) > Fraction(1, 10**6):
        raise ParameterError(f"{name} is {prior!r}; the shares add up to "
                             f"{float(total):g}; write shares that add up to 1")
    return read


# [counts]
@dataclass(frozen=True)
class CountNoise:
    """Noisy class counts: their noise, their event, and the fields of a release.

    units : the public number of rows or persons
    epsilon : the epsilon that is spent on them; 0 where none are drawn

    >>> CountNoise(Domain.box(0, 1, classes=(0, 1)), 100, Fraction(1, 20)).shows
    {'class_counts': {'per': 1, 'law': 'discrete-laplace', 'scale': '20'}}
    """

    domain: Domain
    units: int
    epsilon: Fraction

    @property
    def moves(self) -> int:
        """The largest move of the drawn counts by one unit; of two classes one count is drawn."""
        # [count-sensitivity] a replaced unit may leave one class and enter another
        doubly = self.domain.replaces and self.domain.classes > 2
        return (2 if doubly else 1) * self.domain.unit_weight

    @property
    def mean(self) -> Fraction:
        """The mean of each half of the noise on a count."""
        return self.moves / self.epsilon

    @property
    def events(self) -> tuple[Event, ...]:
        """The events for an accountant."""
        return (Additive.of("discrete-laplace", self.moves, self.mean),) if self.epsilon else ()

    @property
    def shows(self) -> dict[str, Json]:
        """The fields of a release that describe the counts."""
        return {"class_counts": {
            "per": self.domain.unit_weight, "law": "discrete-laplace",
            "scale": exactly(self.mean)}} if self.epsilon else {}

    def draw(self, counts: Sequence[int], noise: Noise) -> list[int]:
        """Return counts with noise; where rows are replaced, two of them add up to all units."""
        from privsieve.noise.streams import discrete_laplace

        if self.domain.replaces and len(counts) == 2:
            second = counts[1] + discrete_laplace(self.mean, noise)
            return [self.units * self.domain.unit_weight - second, second]
        return [count + discrete_laplace(self.mean, noise) for count in counts]

    def balanced(self, released: Sequence[int]) -> Labellings:
        """Return weights from released counts: sides that noise cannot tell apart are equal."""
        return self.stated(balanced(released, self.domain.unit_weight, margin=4 * self.mean),
                           released)

    def stated(self, labels: Labellings, released: Sequence[int]) -> Labellings:
        """Return the weights with the counts that a release states."""
        # [released-counts] as they were drawn
        return labels._replace(counts=NoisyCounts(
            tuple(released), self.domain.unit_weight, self.mean))
# [/counts]


# [labellings]
def labellings(counts: Sequence[int], unit_counts: Sequence[int], rules: Rules, noise: Noise,
               ) -> Labellings:
    """Return the class weights; draw class counts where the prior is "auto".

    counts : the weight of each class
    unit_counts : the number of units in each class, where each unit has one row
    """
    known = known_unit_value(rules.class_prior, rules.units)
    if known is not None:
        return _unreleased(counts, unit_counts, rules)._replace(unit_value=known)
    drawn = class_counts(rules)
    released = drawn.draw(counts, noise)
    rare, value = judged(released, rules)
    if rare:
        total = rules.units * rules.domain.unit_weight
        labels = drawn.stated(
            _centred(counts, unit_counts, rules, _inside(released[1], total)), released)
    else:
        labels = drawn.balanced(released)
    # [released-value]
    return labels._replace(unit_value=value)


def class_counts(rules: Rules) -> CountNoise:
    """Return the noise of the class counts that "auto" draws before the races."""
    spent = rules.epsilon * AUTO_SHARE if rules.class_prior == "auto" else Fraction(0)
    return CountNoise(rules.domain, rules.units, spent)


def judged(released: Sequence[int], rules: Rules) -> tuple[bool, Fraction]:
    """Return whether released counts show a rare class, whose labels are centred; and the value."""
    total, two = rules.units * rules.domain.unit_weight, len(released) == 2
    rare = (two and rules.domain.replaces and min(released) < RARE * total
            and abs(released[0] - released[1]) >= 4 * class_counts(rules).mean)
    return rare, unit_value(released, total, centred=rare)


def _unreleased(counts: Sequence[int], unit_counts: Sequence[int], rules: Rules) -> Labellings:
    """Return the class weights for which no count is released."""
    prior, scale = rules.class_prior, rules.domain.unit_weight
    if prior == "centred":
        return _centred(counts, unit_counts, rules, None)
    if not isinstance(prior, tuple):
        return equal(len(counts), rules.units)
    if _coarse(prior):
        known = _inside(int(prior[1] * rules.units * scale), rules.units * scale)
        return _centred(counts, unit_counts, rules, known)
    return balanced(_declared(prior, rules.units), FINE)


def _declared(shares: Sequence[Fraction], units: int) -> list[int]:
    """Return declared shares as whole numbers."""
    return [int(share * units * FINE) for share in shares]


def known_unit_value(prior: Prior, units: int) -> Fraction | None:
    """Return the unit value where it is known before the rows; None of counts to be released.

    >>> known_unit_value("centred", 10), known_unit_value((Fraction(9, 10), Fraction(1, 10)), 10)
    (Fraction(1, 2), Fraction(1, 5))
    """
    if isinstance(prior, tuple):
        return unit_value(_declared(prior, units), units * FINE, centred=_coarse(prior))
    return {"auto": None, "centred": Fraction(1, 2)}.get(prior or "", Fraction(1))


def _inside(second: int, total: int) -> list[int]:
    """Return both counts, with at least 1 in each class."""
    second = min(max(second, 1), total - 1)
    return [total - second, second]


def _centred(counts: Sequence[int], unit_counts: Sequence[int], rules: Rules,
             known: Sequence[int] | None) -> Labellings:
    """Return centred labels where the domain allows them; `known` are public or released counts."""
    scale = rules.domain.unit_weight
    # [public] by the number that was declared, or that a source of rows has
    if uncentred(rules.domain, rules.units * scale):
        return equal(len(counts), rules.units) if known is None else balanced(known, scale)
    # [invariant] replacing a unit leaves the total: there are as many rows, or settled persons
    total, weights = sum(counts), centred(counts)
    squares = 0 if known is None else sum(known) * known[0] * known[1] // scale
    product_weights = tuple(tuple(scale * w for w in row) for row in centred(unit_counts))
    return Labellings(weights, (squares,) * len(weights), max(1, total), product_weights)
# [/labellings]


def offsets(labels: Labellings, layout: Layout, scale: int) -> npt.NDArray[np.int64]:
    """Return, for each labelling and column, the gain of the best interval on noise; public.

    0.8 sqrt(n) rows of root-mean-square weight; sqrt(n levels / 2 pi) for subsets of levels.
    """
    import numpy as np

    from privsieve.summaries.layout import SUBSETS

    gains = np.zeros((len(labels.squares), len(layout.kind)), np.int64)
    for cut, squares in enumerate(labels.squares):
        for j, kind in enumerate(layout.kind):
            levels = int(layout.levels[j]) if kind == SUBSETS else 0
            square = max(INTERVAL_SQUARE, CELL_SQUARE * levels) * squares // 1_000_000
            gains[cut, j] = 24 * scale * isqrt(square)
    return gains


def by_chance(labels: Labellings, columns: int, scale: int) -> tuple[int, int, int]:
    """Return the gains on noise of the best pair, and product of two and of three signs; public.

    A column has m partners, so the best reaches sqrt(2 ln m) standard deviations of sqrt(n) / 2
    rows, with ln m in whole bits.  A product of two counts a third of that, of three a quarter.
    Rules on the grid, which are more numerous and weaker, reach as much as products of two.

    In a wide table products lose the gain of intervals, too: a column that is nearly always 0 has
    no interval with a gain near `offsets`, but is as good as any other in a product.

    >>> by_chance(equal(2, 100), 20, 1), by_chance(equal(2, 100), 4863, 1)
    ((72, 72, 72), (144, 336, 360))
    """
    squares, partners = max(labels.squares), columns - 1
    two, three = (24 * scale * isqrt(share * max(0, many.bit_length() - 1) * squares // 1_000_000)
                  for share, many in ((PAIR_SQUARE, partners),
                                      (TRIPLE_SQUARE, partners * (partners - 1) // 2)))
    wide = 24 * scale * isqrt(INTERVAL_SQUARE * squares // 1_000_000) if columns >= WIDE else 0
    return two, two + wide, three + wide


def by_cells(labels: Labellings, scale: int) -> int:
    """Return the gain on noise of the signs of four cells; public.

    sqrt(n m / 2 pi) for m cells of fixed cuts: for four cells nearly the constant of an interval.
    The best cuts reach .5 sqrt(n) more.  That is left on, so that pairs that are good by chance
    come before columns whose products have lost theirs.

    >>> by_cells(equal(2, 100), 1)
    168
    """
    return 24 * scale * isqrt(4 * CELL_SQUARE * max(labels.squares) // 1_000_000)
