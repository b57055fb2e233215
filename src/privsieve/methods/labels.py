"""How the classes are weighed: what a user asks for, and what becomes of it.

::

    None        every unit counts the same
    shares      declared: both sides of a cut count the same in sum
    "auto"      noisy counts in the place of declared ones, for a tenth of epsilon; if they show
                a rare class, "centred"
    "centred"   the label less its mean: no count leaves, and no epsilon is spent
    "unbalanced"  "auto", and "centred" where counts would cost more than they bring

With more than two classes "auto" is "centred" wherever that can be had.

A labelling gives each class a signed integer weight of at most `largest`; every rule's value is
a sum of them, so the sensitivity grows with `largest` and with nothing else.  The score is the
best over all labellings, which costs nothing: a maximum of functions with one sensitivity has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from privsieve.errors import ParameterError
from privsieve.methods.branches import ALL_CUTS, worth
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
#: Up to so much weight of all units, centred scores fit 64 bits, and sums of four: 24 n^2 < 2^63.
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
#: From so many columns on a table is wide.
WIDE = 100
#: Below this declared share, weights of FINEST parts are too coarse.
RAREST = Fraction(8, FINEST)
#: Declared shares become whole numbers of this many parts of a unit.
FINE = 1000

Prior = Literal["auto", "centred"] | tuple[Fraction, ...] | None
WORDS = ("auto", "centred", "unbalanced")


def written_shares(value: Any) -> object:
    """Class shares, or their text, or a word.

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


def prior_of(asked: object, domain: Domain, strength: Fraction, *, why_not: str) -> Prior:
    """What `class_prior` comes to, for so many units times epsilon; public.

    why_not : why labels cannot be centred in this domain; empty if they can.
    """
    if asked is None:
        return None
    if not isinstance(asked, str) or asked[:1].isdigit():
        return shares(asked, domain.classes)
    demand_prior(asked)
    if why_not and asked != "auto":
        raise ParameterError(f'class_prior="{asked}" {why_not}; write "auto", or public shares')
    many = asked == "auto" and domain.classes > 2 and not why_not
    if many or asked == "centred" or (asked == "unbalanced" and strength < AUTO_FROM):
        return "centred"
    return "auto" if strength >= AUTO_FROM else None


def demand_prior(asked: object) -> None:
    """Refuse a word that nobody may ask for.

    >>> demand_prior("auto"), demand_prior(None), demand_prior(0.2)
    (None, None, None)
    """
    if isinstance(asked, str) and not asked[:1].isdigit() and asked not in WORDS:
        raise ParameterError(explain(
            asked, f'class_prior is {asked!r}; write {", ".join(map(repr, WORDS))}, '
                   "a share between 0 and 1, or None"))


def uncentred(domain: Domain, total: int) -> str:
    """Why labels cannot be centred where all units weigh `total`, in words; empty if they can.

    >>> from privsieve.public.domain import Domain
    >>> uncentred(Domain.box(0, 1, columns=2), 100), uncentred(Domain.box(0, 1, columns=2), 2**40)
    ('', 'takes at most 2^29 units of weight')
    """
    if not domain.replaces:
        return "needs the number of units, which is private under add-remove"
    if domain.rows_per_person > EXACT_ROWS:
        return f"needs persons of equal weight: rows_per_person of at most {EXACT_ROWS}"
    return "" if total <= LARGEST_CENTRED else "takes at most 2^29 units of weight"


def settles(prior: object, domain: Domain, units: int) -> bool:
    """Whether exactly the declared persons take part: where labels may be centred on all of them.

    Public: so it goes for "auto" before anybody knows whether a rare class will be found.

    >>> from privsieve.public.domain import Domain
    >>> settles("centred", Domain.box(0, 1, columns=2), 100)  # as many rows as there are
    False
    """
    if domain.person is None or uncentred(domain, units * domain.unit_weight):
        return False
    if isinstance(prior, tuple):
        return _coarse(prior)
    return prior == "centred" or (prior == "auto" and domain.classes == 2)


def _coarse(shares: Sequence[Fraction]) -> bool:
    """Whether weights of FINEST parts are too coarse for these declared shares."""
    return len(shares) == 2 and min(shares) < RAREST


class Labellings(NamedTuple):
    """Signed weights per cut and class.

    squares : the sum over units of their squares, in units of one person or row: public, or
        released.
    standing : the weights for products, which take one row a unit; None: the same.
    worth : what a unit is worth beside one of even classes, of public or released numbers.
    counts : the noisy counts of the classes that the weights were made of, where some were drawn.
    """

    weights: tuple[tuple[int, ...], ...]
    squares: tuple[int, ...]
    largest: int
    standing: tuple[tuple[int, ...], ...] | None = None
    worth: Fraction = Fraction(1)
    counts: NoisyCounts | None = None

    @property
    def said(self) -> dict[str, Any]:
        """What a release says of the classes."""
        return {} if self.counts is None else {"class_counts": self.counts.write()}


def cuts(classes: int) -> tuple[tuple[int, ...], ...]:
    """Ways to cut the classes in two: 1 for the side without class 0.

    >>> cuts(2), len(cuts(6)), len(cuts(7))
    (((0, 1),), 31, 11)
    """
    if classes <= ALL_CUTS:
        return tuple(tuple((mask << 1) >> c & 1 for c in range(classes))
                     for mask in range(1, 2 ** (classes - 1)))
    alone = {tuple(int((c == one) == (one > 0)) for c in range(classes)) for one in range(classes)}
    below = {tuple(int(c > last) for c in range(classes)) for last in range(classes - 1)}
    return tuple(sorted(alone | below))


def equal(classes: int, units: int) -> Labellings:
    """Every class counts 1.

    >>> equal(2, 100).weights
    ((-1, 1),)
    """
    signs = tuple(tuple(2 * side - 1 for side in cut) for cut in cuts(classes))
    return Labellings(signs, (units,) * len(signs), 1)


def balanced(counts: Sequence[int], scale: int, margin: Fraction = Fraction(0)) -> Labellings:
    """Both sides of every cut count the same in sum, as far as the counts are right.

    counts : per class, public or noisy, in units of 1/scale.
    margin : for noisy counts: sides that differ by less count as equal.

    >>> balanced([90, 10], 1).weights
    ((-455, 4096),)
    """
    weights, squares = [], []
    for cut in cuts(len(counts)):
        sides = [sum(max(0, count) for count, side in zip(counts, cut, strict=True) if side == one)
                 for one in (0, 1)]
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
    """N times (label - its mean), for each cut: the true counts N of the table, and no noise.

    Where replacing a unit leaves N, the mean may be the table's own: what the best rule then gains
    is a covariance, which moves no more than for a mean that was known before.

    >>> centred([4, 3])
    ((-3, 4),)
    """
    total = sum(counts)
    found = []
    for cut in cuts(len(counts)):
        one = sum(count for count, side in zip(counts, cut, strict=True) if side)
        found.append(tuple(total * side - one for side in cut))
    return tuple(found)
# [/centred]


def shares(prior: object, classes: int, *, name: str = "class_prior") -> tuple[Fraction, ...]:
    """Read declared class shares: one number (of class 1) or one for each class.

    >>> shares(0.1, 2)
    (Fraction(9, 10), Fraction(1, 10))
    """
    if isinstance(prior, (list, tuple)):
        found = tuple(exact(share, name) for share in prior)
    elif classes == 2:
        one = exact(prior, name)
        found = (1 - one, one)
    else:
        raise ParameterError(f"{name} is {prior!r}; with {classes} classes give {classes} "
                             f"shares that add up to 1, or leave {name} out")
    if len(found) != classes or any(not 0 < share < 1 for share in found):
        raise ParameterError(f"{name} is {prior!r}; give {classes} shares between 0 and 1")
    total = sum(found, Fraction(0))
    if abs(total - 1) > Fraction(1, 10**6):
        raise ParameterError(f"{name} is {prior!r}; the shares add up to "
                             f"{float(total):g} instead of 1")
    return found


# [counts]
@dataclass(frozen=True)
class CountNoise:
    """Noisy counts of the classes: their noise, what drawing them does, and what a release says.

    units : the public number of rows or persons
    epsilon : what is spent on them; 0 where none are drawn

    >>> CountNoise(Domain.box(0, 1, classes=(0, 1)), 100, Fraction(1, 20)).shows
    {'class_counts': {'per': 1, 'law': 'discrete-laplace', 'scale': '20'}}
    """

    domain: Domain
    units: int
    epsilon: Fraction

    @property
    def moves(self) -> int:
        """How far a unit moves what is drawn: of two classes one count, and the other follows."""
        # [count-sensitivity] a replaced unit may leave one class and enter another
        doubly = self.domain.replaces and self.domain.classes > 2
        return (2 if doubly else 1) * self.domain.unit_weight

    @property
    def mean(self) -> Fraction:
        """The mean of each half of the noise on a count."""
        return self.moves / self.epsilon

    @property
    def events(self) -> tuple[Event, ...]:
        """What an accountant needs."""
        return (Additive.of("discrete-laplace", self.moves, self.mean),) if self.epsilon else ()

    @property
    def shows(self) -> dict[str, Json]:
        """What a release says of the counts beside them."""
        return {"class_counts": {
            "per": self.domain.unit_weight, "law": "discrete-laplace",
            "scale": exactly(self.mean)}} if self.epsilon else {}

    def draw(self, counts: Sequence[int], noise: Noise) -> list[int]:
        """Counts with noise; where rows are replaced, two of them add up to all units."""
        from privsieve.noise.streams import discrete_laplace

        if self.domain.replaces and len(counts) == 2:
            one = counts[1] + discrete_laplace(self.mean, noise)
            return [self.units * self.domain.unit_weight - one, one]
        return [count + discrete_laplace(self.mean, noise) for count in counts]

    def balanced(self, released: Sequence[int]) -> Labellings:
        """Weights by counts that were released: sides that noise cannot tell apart are equal."""
        return self.stated(balanced(released, self.domain.unit_weight, margin=4 * self.mean),
                           released)

    def stated(self, labels: Labellings, released: Sequence[int]) -> Labellings:
        """The weights with the counts that a release states."""
        # [released-counts] as they were drawn
        return labels._replace(counts=NoisyCounts(
            tuple(released), self.domain.unit_weight, self.mean))
# [/counts]


# [labellings]
def labellings(counts: Sequence[int], standing: Sequence[int], rules: Rules, noise: Noise,
               ) -> tuple[Labellings, Fraction]:
    """Class weights, and the epsilon that is left for the races.

    counts : the weight of each class.
    standing : how many units stand in each class, where each has one row.
    """
    known = worth_before(rules.class_prior, rules.units)
    if known is not None:
        return _unreleased(counts, standing, rules)._replace(worth=known), rules.epsilon
    drawn = class_counts(rules)
    released = drawn.draw(counts, noise)
    rare, value = judged(released, rules)
    if rare:
        total = rules.units * rules.domain.unit_weight
        found = drawn.stated(
            _centred(counts, standing, rules, _inside(released[1], total)), released)
    else:
        found = drawn.balanced(released)
    # [released-worth]
    return found._replace(worth=value), rules.epsilon * (1 - AUTO_SHARE)


def class_counts(rules: Rules) -> CountNoise:
    """The class counts that are drawn before the races, where "auto" draws some."""
    spent = rules.epsilon * AUTO_SHARE if rules.class_prior == "auto" else Fraction(0)
    return CountNoise(rules.domain, rules.units, spent)


def judged(released: Sequence[int], rules: Rules) -> tuple[bool, Fraction]:
    """Whether released counts show a rare class, whose labels are centred; what a unit is worth."""
    total, two = rules.units * rules.domain.unit_weight, len(released) == 2
    rare = (two and rules.domain.replaces and min(released) < RARE * total
            and abs(released[0] - released[1]) >= 4 * class_counts(rules).mean)
    return rare, worth(released, total, centred=rare)


def _unreleased(counts: Sequence[int], standing: Sequence[int], rules: Rules) -> Labellings:
    """Class weights that no count is released for."""
    prior, scale = rules.class_prior, rules.domain.unit_weight
    if prior == "centred":
        return _centred(counts, standing, rules, None)
    if not isinstance(prior, tuple):
        return equal(len(counts), rules.units)
    if _coarse(prior):
        known = _inside(int(prior[1] * rules.units * scale), rules.units * scale)
        return _centred(counts, standing, rules, known)
    return balanced(_declared(prior, rules.units), FINE)


def _declared(shares: Sequence[Fraction], units: int) -> list[int]:
    """Declared shares as whole numbers."""
    return [int(share * units * FINE) for share in shares]


def worth_before(prior: Prior, units: int) -> Fraction | None:
    """What a unit is worth, where that is known before the rows; None of counts to be released.

    >>> worth_before("centred", 10), worth_before((Fraction(9, 10), Fraction(1, 10)), 10)
    (Fraction(1, 2), Fraction(1, 5))
    """
    if isinstance(prior, tuple):
        return worth(_declared(prior, units), units * FINE, centred=_coarse(prior))
    return {"auto": None, "centred": Fraction(1, 2)}.get(prior or "", Fraction(1))


def _inside(one: int, total: int) -> list[int]:
    """Both counts, with at least 1 in each class."""
    one = min(max(one, 1), total - 1)
    return [total - one, one]


def _centred(counts: Sequence[int], standing: Sequence[int], rules: Rules,
             known: Sequence[int] | None) -> Labellings:
    """Centred labels, where they can be had; `known` are counts that are public or released."""
    scale = rules.domain.unit_weight
    # [public] by the number that was declared, or that a source of rows has
    if uncentred(rules.domain, rules.units * scale):
        return equal(len(counts), rules.units) if known is None else balanced(known, scale)
    # [invariant] replacing a unit leaves the total: there are as many rows, or settled persons
    total, weights = sum(counts), centred(counts)
    squares = 0 if known is None else sum(known) * known[0] * known[1] // scale
    one_each = tuple(tuple(scale * w for w in row) for row in centred(standing))
    return Labellings(weights, (squares,) * len(weights), max(1, total), one_each)
# [/labellings]


def offsets(labels: Labellings, layout: Layout, scale: int) -> npt.NDArray[np.int64]:
    """A public constant per labelling and column: what the best interval reaches on noise.

    0.8 sqrt(n) rows of root-mean-square weight; sqrt(n levels / 2 pi) for subsets of levels.
    """
    import numpy as np

    from privsieve.summaries.layout import SUBSETS

    found = np.zeros((len(labels.squares), len(layout.kind)), np.int64)
    for cut, squares in enumerate(labels.squares):
        for j, kind in enumerate(layout.kind):
            levels = int(layout.levels[j]) if kind == SUBSETS else 0
            square = max(INTERVAL_SQUARE, CELL_SQUARE * levels) * squares // 1_000_000
            found[cut, j] = 24 * scale * isqrt(square)
    return found


def by_chance(labels: Labellings, columns: int, scale: int) -> tuple[int, int, int]:
    """Public constants: what the best pair, and product of two and of three, reach on noise.

    sqrt(2 ln m) standard deviations of sqrt(n) / 2 rows where a column has m of them, with ln m in
    whole bits; of which a product of two counts a third, one of three a quarter.  Rules on the
    grid, which are more and each of which is less, reach what products of two do.  In a wide table
    products lose what intervals lose, too: one of thousands of columns that are nearly always 0 has
    no interval that comes near `offsets`, but is as good as any other in a product.

    >>> by_chance(equal(2, 100), 20, 1), by_chance(equal(2, 100), 4863, 1)
    ((72, 72, 72), (144, 336, 360))
    """
    squares, partners = max(labels.squares), columns - 1
    two, three = (24 * scale * isqrt(part * max(0, many.bit_length() - 1) * squares // 1_000_000)
                  for part, many in ((PAIR_SQUARE, partners),
                                     (TRIPLE_SQUARE, partners * (partners - 1) // 2)))
    wide = 24 * scale * isqrt(INTERVAL_SQUARE * squares // 1_000_000) if columns >= WIDE else 0
    return two, two + wide, three + wide


def by_cells(labels: Labellings, scale: int) -> int:
    """A public constant: what signs of four cells reach on noise.

    sqrt(n m / 2 pi) for m cells of fixed cuts; for four nearly the constant of an interval, and the
    best cuts reach .5 sqrt(n) more.  Where it is left on, pairs that are good by chance come before
    columns whose products have lost theirs.

    >>> by_cells(equal(2, 100), 1)
    168
    """
    return 24 * scale * isqrt(4 * CELL_SQUARE * max(labels.squares) // 1_000_000)
