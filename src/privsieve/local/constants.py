"""Constants: bounds of the change of the minimiser by one row, rounded up.

The minimiser of (1/N) sum log(1 + exp(-w.z)) + lam |w|^2, over rows z of Euclidean length at most
1 that depend on one unit each.  Everything follows from public numbers; real formulas are evaluated
in balls, and what leaves is a fraction on the safe side.  See `constants.proof.md`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from functools import cache
from math import ceil, lcm

from flint import arb, fmpq

from privsieve.errors import ParameterError
from privsieve.local.limits import distance, ridge
from privsieve.noise.balls import arithmetic
from privsieve.public.canonical import exact

#: Working precision, and binary places of what leaves.
PRECISION, PLACES = 192, 64
#: How far the search for g^2 may end above the true maximum; and its first grid, 2^3 x 2^3.
TOLERANCE, FIRST = Fraction(1, 2**16), 3
#: The second derivative of log(1 + exp(-t)) is at most this.
CURVATURE = Fraction(1, 4)


@cache  # its keys are public: a ridge
def r_max(lam: Hashable) -> Fraction:
    """Bound the minimiser's length for every table, rounded up.

    >>> round(float(r_max("0.1")), 6), round(float(r_max("0.01")), 6)
    (1.177505, 3.731384)
    """
    lam = ridge(lam)
    with arithmetic(PRECISION):
        w = arb(-1).exp().lambertw()
        # [far] always a bound
        far = _up((w / (2 * _ball(lam))).sqrt())
        if not _ball(far) < 1 + w:
            return far
        low, high = Fraction(0), far
        # [near] `high` always holds for certain
        for _ in range(PLACES):
            middle = (low + high) / 2
            if 2 * _ball(lam * middle) >= 1 / (1 + _ball(middle).exp()):
                high = middle
            else:
                low = middle
        return _up(_ball(high))


@cache  # its keys are public: a bound that follows from a ridge
def g(radius: Fraction) -> Fraction:
    """Bound |s(-w.z) z - s(-w.z') z'| over all rows and |w| <= radius, rounded up; at most 2.

    >>> round(float(g(r_max("0.1"))), 4), round(float(g(r_max("0.01"))), 4)
    (1.1286, 1.5054)
    """
    with arithmetic(PRECISION):
        # [at-most-two]
        return min(Fraction(2), _up(_largest(_ball(radius)).sqrt()))


def _largest(r: arb) -> arb:
    """Bound the squared distance of two moves from above, by branch and bound."""
    # [at-least-one] two opposite rows that are orthogonal to w
    low = top = arb(1)
    k = FIRST
    boxes = [(i, j) for j in range(2**k) for i in range(j + 1)]
    while boxes:
        open_boxes = []
        for i, j in boxes:
            # [beyond] the angles are at least a half turn apart
            if i + j >= 2**k:
                continue
            at, upper = _box(r, i, j, k)
            low = low.max(at.lower())
            if upper <= low + _ball(TOLERANCE):
                top = top.max(upper)
            else:
                open_boxes += [(2 * i + a, 2 * j + b) for a in (0, 1) for b in (0, 1)]
        # [symmetric] the swapped box holds the same values
        boxes, k = [(i, j) for i, j in open_boxes if i <= j], k + 1
    return top


def _box(r: arb, i: int, j: int, k: int) -> tuple[arb, arb]:
    """Return the squared distance in the middle of a box of angles, and a bound over the box."""
    half = arb((1, -k - 1))
    middle = arb((2 * i + 1, -k - 1)), arb((2 * j + 1, -k - 1))
    at, _, _ = _moves(r, *middle)
    _, by_a, by_b = _moves(r, *(arb(x, half) for x in middle))
    # [mean-value]
    return at, (at + half * arb.pi() * (by_a.abs_upper() + by_b.abs_upper())).upper()


def _moves(r: arb, a: arb, b: arb) -> tuple[arb, arb, arb]:
    """Return the squared distance for two angles, in half turns, and its two derivatives."""
    (sin_a, cos_a), (sin_b, cos_b) = a.sin_cos_pi(), b.sin_cos_pi()
    sine, cosine = (a + b).sin_cos_pi()
    # [lengths] of the two moves
    long_a, long_b = 1 / (1 + (-r * cos_a).exp()), 1 / (1 + (-r * cos_b).exp())
    # [squared]
    square = long_a * long_a + long_b * long_b - 2 * long_a * long_b * cosine
    turn = long_a * long_b * sine
    # [derivatives]
    by_a = 2 * (turn - r * sin_a * long_a * (1 - long_a) * (long_a - long_b * cosine))
    by_b = 2 * (turn - r * sin_b * long_b * (1 - long_b) * (long_b - long_a * cosine))
    return square, by_a, by_b


def output(lam: object, rows: int, columns: int, *, partitions: int = 1) -> Fraction:
    """Bound the change of the result of `minimise` by one row, in the Euclidean norm.

    `rows` is the number of vectors of which a unit decides one: units, or the blocks of one
    partition; the table has this number for each of the partitions.  No row may be longer than 1:
    clip in doubles to a little less.

    >>> round(float(output("0.1", 10_000, 30)) * 1000, 4)
    0.5643
    """
    return ensemble(lam, Fraction(1, _counted(rows)), rows * max(1, partitions), columns)


def ensemble(lam: object, share: Fraction, rows: int, columns: int) -> Fraction:
    """Bound the same for a mean of minimisers; `share` is the result of `ensemble_share`.

    `rows` is the largest number of vectors of one of them.

    >>> ensemble("0.1", Fraction(1, 100), 100, 5) == output("0.1", 100, 5)
    True
    """
    value = ridge(lam)
    radius = r_max(value)
    # [moved]
    moved = min(share * g(radius) / (2 * value), 2 * radius)
    # [solver]
    return moved + 2 * distance(value, _counted(rows), columns, radius)


def windows(n: int, k: int, beta: object) -> list[list[int]]:
    """Return k balanced subsets of n: cyclic, each a share of `beta`, evenly started.

    >>> windows(5, 2, "0.6")
    [[0, 1, 2], [2, 3, 4]]
    """
    share = exact(beta, "beta")
    if n < 1 or k < 1 or not 0 < share <= 1:
        raise ParameterError(f"k is {k}, beta is {beta} and n is {n}; give at least one window "
                             "and position, and beta above 0 and at most 1")
    size = ceil(share * n)
    return [[(t * n // k + i) % n for i in range(size)] for t in range(k)]


def ensemble_share(uses: Sequence[Sequence[int]], rows: Sequence[int]) -> Fraction:
    """Return the largest share that one unit has in a mean of minimisers.

    uses : for each minimiser, of how many of its vectors each unit decides
    rows : for each minimiser, how many vectors it has

    >>> ensemble_share([[1, 1, 0], [0, 1, 1]], [2, 2])
    Fraction(1, 2)
    """
    if not rows or len(uses) != len(rows):
        raise ParameterError(f"{len(uses)} lists of uses for {len(rows)} minimisers; give one "
                             "list for each, and at least one")
    common = lcm(*(_counted(count) for count in rows))
    weights = [common // count for count in rows]
    # [share] exact: a sum of whole numbers for each unit
    most = max((sum(w * int(used) for w, used in zip(weights, unit, strict=True))
                for unit in set(zip(*uses, strict=True))), default=0)
    return Fraction(most, common * len(rows))


def objective(lam: object, rows: int, epsilon: Fraction, *, partitions: int = 1,
              ) -> tuple[Fraction, Fraction]:
    """Split an epsilon between the noise in the objective and its change of volume.

    What is returned is the epsilon of the noise, and D of a second ridge D |w|^2 / 2.

    >>> noise, second = objective("0.1", 66, Fraction(99, 100))
    >>> round(float(noise), 6), second
    (0.971238, Fraction(0, 1))
    """
    value = ridge(lam)
    if epsilon <= 0 or partitions < 1:
        raise ParameterError(f"epsilon is {epsilon} with {partitions} partitions; choose epsilon "
                             "above 0 and at least one partition")
    with arithmetic(PRECISION):
        ratio = CURVATURE / (_counted(rows) * 2 * value)
        # [volume] one rank-one change; one for each of several partitions
        volume = (1 + _ball(ratio / partitions)).log() * partitions
        left = -_up(volume - _ball(epsilon))
        if left >= epsilon / 2:
            return left, Fraction(0)
        # [second-ridge]
        grown = ((_ball(epsilon) / (2 * partitions)).exp() - 1) * rows * partitions
        needed = _up(_ball(CURVATURE) / grown - 2 * _ball(value))
        return epsilon / 2, max(Fraction(0), needed)


def _counted(rows: int) -> int:
    if rows < 1:
        raise ParameterError(f"the number of vectors is {rows}; give at least 1.  Without "
                             "vectors, release zeros as if there were one")
    return rows


def _ball(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))


def _up(ball: arb) -> Fraction:
    """Round the upper end of a ball up to a multiple of 2^-64."""
    # [up]
    return Fraction(int((ball * 2**PLACES).upper().ceil().unique_fmpz()), 2**PLACES)
