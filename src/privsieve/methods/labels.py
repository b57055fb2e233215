"""How the classes are weighed: what a user asks for, and what becomes of it.

::

    None        every unit counts the same
    shares      declared: both sides of a cut count the same in sum
    "auto"      noisy counts in the place of declared ones, for a tenth of epsilon; if they show
                a rare class, "centred"
    "centred"   the label less its mean: no count leaves, and no epsilon is spent
    "unbalanced"  "auto", and "centred" where counts would cost more than they bring
    "average"   more than two classes, all at once: see `summaries.rules`; no epsilon

With more than two classes "auto" is "average" wherever that can be had.

A labelling gives each class a signed integer weight of at most `largest`; every rule's value is
a sum of them, so the sensitivity grows with `largest` and with nothing else.  The score is the
best over all labellings, which costs nothing: a maximum of functions with one sensitivity has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Literal, NamedTuple

from privsieve.errors import ParameterError
from privsieve.public.cost import exact
from privsieve.public.domain import EXACT_ROWS, Domain

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from privsieve.methods.rule_sieve import Rules
    from privsieve.noise.streams import Noise
    from privsieve.summaries.layout import Layout

#: Weights are multiples of 1/4096: the smallest share of a class that they can balance.
FINEST = 4096
#: Up to so many classes, every way to cut them in two is tried (31 ways at 6).
ALL_CUTS = 6
#: Up to so much weight of all units, centred scores fit 64 bits: 6 n^2 < 2^63.
LARGEST_CENTRED = 2**30


#: Below this number of units times epsilon, a noisy class count costs more than it brings.
AUTO_FROM = 200
#: The share of epsilon that "auto" spends on the class counts.
AUTO_SHARE = Fraction(1, 10)
#: Below this share a class is rare: centred labels then serve better than weights.
RARE = Fraction(3, 20)
#: Below this declared share, weights of FINEST parts are too coarse.
RAREST = Fraction(8, FINEST)
#: Declared shares become whole numbers of this many parts of a unit.
FINE = 1000

Prior = Literal["auto", "centred", "average"] | tuple[Fraction, ...] | None
WORDS = ("auto", "centred", "unbalanced", "average")


def written_shares(text: str) -> object:
    """Class shares of a command line, or a word.

    >>> written_shares("none"), written_shares("0.2"), written_shares("0.5,0.3,0.2")
    (None, '0.2', ['0.5', '0.3', '0.2'])
    """
    if text == "none":
        return None
    return text.split(",") if "," in text else text


def prior_of(asked: object, domain: Domain, strength: Fraction, *, why_not: str, plain: bool,
             ) -> Prior:
    """What `class_prior` comes to, for so many units times epsilon; public.

    why_not : why labels cannot be centred in this domain; empty if they can.
    plain : whether columns are scored alone and in pairs only, and raced one by one.
    """
    if asked is None:
        return None
    if not isinstance(asked, str) or asked[:1].isdigit():
        return shares(asked, domain.classes)
    if asked not in WORDS:
        raise ParameterError(f'class_prior is {asked!r}; write {", ".join(map(repr, WORDS))}, '
                             "a share between 0 and 1, or None")
    if why_not and asked != "auto":
        raise ParameterError(f'class_prior="{asked}" {why_not}; write "auto", or public shares')
    if asked == "average" and (domain.classes == 2 or not plain):
        raise ParameterError('class_prior="average" is for more than two classes, and scores '
                             "columns alone and in pairs: leave depth and joint away, or write "
                             '"auto" or "centred"')
    many = domain.classes > 2 and plain and not why_not
    if asked == "average" or (asked == "auto" and many):
        return "average"
    if asked == "centred" or (asked == "unbalanced" and strength < AUTO_FROM):
        return "centred"
    return "auto" if strength >= AUTO_FROM else None


def uncentred(domain: Domain, total: int) -> str:
    """Why labels cannot be centred where all units weigh `total`, in words; empty if they can.

    >>> from privsieve.public.domain import Domain
    >>> uncentred(Domain.box(0, 1, columns=2), 100), uncentred(Domain.box(0, 1, columns=2), 2**40)
    ('', 'takes at most 2^30 units of weight')
    """
    if not domain.replaces:
        return "needs the number of units, which is private under add-remove"
    if domain.rows_per_person > EXACT_ROWS:
        return f"needs persons of equal weight: rows_per_person of at most {EXACT_ROWS}"
    return "" if total <= LARGEST_CENTRED else "takes at most 2^30 units of weight"


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
    return prior in ("centred", "average") or (prior == "auto" and domain.classes == 2)


def _coarse(shares: Sequence[Fraction]) -> bool:
    """Whether weights of FINEST parts are too coarse for these declared shares."""
    return len(shares) == 2 and min(shares) < RAREST


class Labellings(NamedTuple):
    """Signed weights per cut and class.

    squares : the sum over units of their squares, in units of one person or row: public, or
        released.
    standing : the weights for products, which take one row a unit; None: the same.
    """

    weights: tuple[tuple[int, ...], ...]
    squares: tuple[int, ...]
    largest: int
    standing: tuple[tuple[int, ...], ...] | None = None


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


# [labellings]
def labellings(counts: Sequence[int], standing: Sequence[int], rules: Rules, noise: Noise,
               ) -> tuple[Labellings, Fraction]:
    """Class weights, and the epsilon that is left for the race.

    counts : the weight of each class.
    standing : how many units stand in each class, where each has one row.
    """
    from privsieve.noise.streams import discrete_laplace

    prior, classes, scale = rules.class_prior, len(counts), rules.domain.unit_weight
    if prior is None or prior == "average":
        return equal(classes, rules.units), rules.epsilon
    if prior == "centred":
        return _centred(counts, standing, rules, None), rules.epsilon
    if isinstance(prior, tuple):
        declared = [int(share * rules.units * FINE) for share in prior]
        if _coarse(prior):
            known = _inside(int(prior[1] * rules.units * scale), rules.units * scale)
            return _centred(counts, standing, rules, known), rules.epsilon
        return balanced(declared, FINE), rules.epsilon
    spent = rules.epsilon * AUTO_SHARE
    left = rules.epsilon - spent
    # [count-sensitivity] a replaced unit may leave one class and enter another
    if rules.domain.replaces and classes == 2:
        mean, total = scale / spent, rules.units * scale
        one = counts[1] + discrete_laplace(mean, noise)
        released = [total - one, one]
        if abs(released[0] - released[1]) >= 4 * mean and min(released) < RARE * total:
            return _centred(counts, standing, rules, _inside(one, total)), left
    else:
        mean = (2 if rules.domain.replaces else 1) * scale / spent
        released = [count + discrete_laplace(mean, noise) for count in counts]
    return balanced(released, scale, margin=4 * mean), left


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
            square = max(640_000, 159_155 * levels) * squares // 1_000_000
            found[cut, j] = 24 * scale * isqrt(square)
    return found
