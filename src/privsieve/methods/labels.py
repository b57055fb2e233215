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
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING

from privsieve.errors import ParameterError
from privsieve.methods.weights import (
    FINEST,
    LARGEST_CENTRED,
    Labellings,
    balanced,
    centred,
    equal,
    shares,
)
from privsieve.public.domain import Domain

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from privsieve.methods.rule_sieve import Prior, Rules
    from privsieve.noise.streams import Noise
    from privsieve.summaries.layout import Layout

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

WORDS = ("auto", "centred", "unbalanced", "average")


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
                             "columns alone and in pairs: leave order and joint away, or write "
                             '"auto" or "centred"')
    many = domain.classes > 2 and plain and not why_not
    if asked == "average" or (asked == "auto" and many):
        return "average"
    if asked == "centred" or (asked == "unbalanced" and strength < AUTO_FROM):
        return "centred"
    return "auto" if strength >= AUTO_FROM else None


def unit_weight(domain: Domain) -> int:
    """What one unit weighs: 1 for rows, L for persons.

    >>> from privsieve.public.domain import Domain
    >>> unit_weight(Domain.box(0, 1, columns=2))
    1
    """
    if domain.person is None:
        return 1
    from privsieve.summaries.persons import person_weight

    return person_weight(domain.rows_per_person)


def uncentred(domain: Domain, total: int) -> str:
    """Why labels cannot be centred where all units weigh `total`, in words; empty if they can.

    >>> from privsieve.public.domain import Domain
    >>> uncentred(Domain.box(0, 1, columns=2), 100), uncentred(Domain.box(0, 1, columns=2), 2**40)
    ('', 'takes at most 2^30 units of weight')
    """
    if domain.neighbours != "replace-one":
        return "needs the number of units, which is private under add-remove"
    if domain.person is not None:
        from privsieve.summaries.persons import EXACT_ROWS

        if domain.rows_per_person > EXACT_ROWS:
            return f"needs persons of equal weight: rows_per_person of at most {EXACT_ROWS}"
    return "" if total <= LARGEST_CENTRED else "takes at most 2^30 units of weight"


def settles(prior: Prior, domain: Domain, units: int) -> bool:
    """Whether exactly the declared persons take part: where labels may be centred on all of them.

    Public: so it goes for "auto" before anybody knows whether a rare class will be found.

    >>> from privsieve.public.domain import Domain
    >>> settles("centred", Domain.box(0, 1, columns=2), 100)  # as many rows as there are
    False
    """
    if domain.person is None or uncentred(domain, units * unit_weight(domain)):
        return False
    if isinstance(prior, tuple):
        return _coarse(prior)
    return prior in ("centred", "average") or (prior == "auto" and domain.classes == 2)


def _coarse(shares: Sequence[Fraction]) -> bool:
    """Whether weights of FINEST parts are too coarse for these declared shares."""
    return len(shares) == 2 and min(shares) < RAREST


# [labellings]
def labellings(counts: Sequence[int], standing: Sequence[int], rules: Rules, noise: Noise,
               ) -> tuple[Labellings, Fraction]:
    """Class weights, and the epsilon that is left for the race.

    counts : the weight of each class.
    standing : how many units stand in each class, where each has one row.
    """
    from privsieve.noise.streams import discrete_laplace

    prior, classes, scale = rules.class_prior, len(counts), rules.scale
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
    if rules.replace and classes == 2:
        mean, total = scale / spent, rules.units * scale
        one = counts[1] + discrete_laplace(mean, noise)
        released = [total - one, one]
        if abs(released[0] - released[1]) >= 4 * mean and min(released) < RARE * total:
            return _centred(counts, standing, rules, _inside(one, total)), left
    else:
        mean = (2 if rules.replace else 1) * scale / spent
        released = [count + discrete_laplace(mean, noise) for count in counts]
    return balanced(released, scale, margin=4 * mean), left


def _inside(one: int, total: int) -> list[int]:
    """Both counts, with at least 1 in each class."""
    one = min(max(one, 1), total - 1)
    return [total - one, one]


def _centred(counts: Sequence[int], standing: Sequence[int], rules: Rules,
             known: Sequence[int] | None) -> Labellings:
    """Centred labels, where they can be had; `known` are counts that are public or released."""
    # [public] by the number that was declared, or that a source of rows has
    if uncentred(rules.domain, rules.units * rules.scale):
        return equal(len(counts), rules.units) if known is None else balanced(known, rules.scale)
    # [invariant] replacing a unit leaves the total: there are as many rows, or settled persons
    total, weights = sum(counts), centred(counts)
    squares = 0 if known is None else sum(known) * known[0] * known[1] // rules.scale
    one_each = tuple(tuple(rules.scale * w for w in row) for row in centred(standing))
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
