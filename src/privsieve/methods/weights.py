"""Class weights: how the classes are cut in two, and what each class counts for.

A labelling gives each class a signed integer weight of at most `largest`; every rule's value is
a sum of them, so the sensitivity grows with `largest` and with nothing else.  The score is the
best over all labellings, which costs nothing: a maximum of functions with one sensitivity has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from privsieve.errors import ParameterError
from privsieve.public.cost import exact

#: Weights are multiples of 1/4096: the smallest share of a class that they can balance.
FINEST = 4096
#: Up to so many classes, every way to cut them in two is tried (31 ways at 6).
ALL_CUTS = 6
#: Up to so much weight of all units, centred scores fit 64 bits: 6 n^2 < 2^63.
LARGEST_CENTRED = 2**30


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
