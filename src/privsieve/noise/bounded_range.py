"""Bounded range: what a Gumbel race of m names needs where there is a delta.

Each name is a choice by an exponential mechanism: its privacy loss lies in some interval of a
length eta that is known, wherever the interval lies.  How much m such choices lose together, each
depending on those before, is a recursion over a lattice of epsilons; it is computed in integers,
each rounding on the side of privacy.  The theorems are in `bounded_range.proof.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, log, log10, sqrt
from typing import Any, NamedTuple

from flint import arb

from privsieve.errors import ParameterError
from privsieve.noise.approximate import ball, concentrated, root_up
from privsieve.noise.streams import arithmetic

#: More choices than these are sized by zCDP: the recursion takes time as their square.
MOST = 100
#: Points of the lattice in an interval of eta: at least, at most, and over all choices together.
COARSEST, FINEST, POINTS = 6, 48, 480
#: Binary places of a delta and of a weight, and the working precision of what both are made of.
PLACES, PARTS, PRECISION = 96, 60, 256
#: A scale has four digits.
DIGITS = 4


class Lattice(NamedTuple):
    """What a recursion of `choices` steps is made of; numbers are integers, or floats to search.

    lost : the delta at epsilon + n h, where h = eta / fine and n goes from -choices fine on
    rise, fall : for t = i h, the probabilities of the losses t and t - eta
    back : exp(-eta)
    slack : what a t between two points can add, for each unit by which delta falls
    one : what stands for 1 in a weight
    """

    choices: int
    fine: int
    shift: Fraction  # epsilon / h
    lost: Any
    rise: list[Any]
    fall: list[Any]
    back: Any
    slack: Any
    one: Any

    @classmethod
    def of(cls, choices: int, eta: Fraction, epsilon: Fraction, *, exact: bool) -> Lattice:
        """The constants, on the side of privacy where `exact`."""
        import numpy as np

        fine = min(FINEST, max(COARSEST, POINTS // choices))
        number: Callable[[arb, int], Any] = _above if exact else _near
        with arithmetic(PRECISION):
            h, whole = ball(eta / fine), ball(eta)
            c = (-whole).exp()
            # [start] 1 - exp(e) where e is negative
            near, size = ball(epsilon), choices * fine
            negative = min(size, ceil(-epsilon * fine / eta) - 1)
            lost = [number(1 - (near + n * h).exp(), PLACES) for n in range(-size, negative + 1)]
            lost += [number(arb(0), PLACES)] * (2 * size + 1 - len(lost))
            up = [(i * h - whole).exp() for i in range(fine + 1)]
            return cls(
                choices, fine, epsilon * fine / eta, np.array(lost, object if exact else float),
                # [two-point]
                [number((1 - u) / (1 - c), PARTS) for u in up],
                [number((u - c) / (1 - c), PARTS) for u in up],
                _below(c, PARTS) if exact else _near(c, PARTS),
                # [between]
                number((h / 4).tanh() / (1 - c), PARTS), 2**PARTS if exact else 1.0)

    def settled(self, value: Any) -> Any:
        """A product with a weight in the units of a delta, rounded up."""
        return value if self.one == 1.0 else -(-value >> PARTS)


def lost(choices: int, eta: Fraction, epsilon: Fraction, *, exact: bool = True) -> Fraction:
    """A delta such that so many adaptive choices of range eta are (epsilon, delta)-DP.

    Without `exact`: nearly that number, in a tenth of the time.

    >>> lost(3, Fraction(1, 3), Fraction(1))
    Fraction(0, 1)
    >>> round(float(lost(3, Fraction(1, 2), Fraction(1))), 4)
    0.0031
    """
    made = Lattice.of(choices, eta, epsilon, exact=exact)
    for step in range(1, choices + 1):
        reach = (choices - step) * made.fine
        # [window] farther out the delta is that of no noise or of no loss, and stands there already
        first = max(-reach, ceil(-step * made.fine - made.shift))
        last = min(reach, floor(step * made.fine - made.shift))
        if first <= last:
            at = choices * made.fine
            made.lost[at + first:at + last + 1] = _step(made, at + first, at + last + 1)
    found = made.lost[choices * made.fine]
    return Fraction(int(found), 2**PLACES) if exact else Fraction(float(found))


def _step(made: Lattice, first: int, end: int) -> Any:
    """One more choice before those of `made.lost`, at the places from `first` to before `end`."""
    import numpy as np

    r, values = made.fine, made.lost
    # [mean] at each t = i h
    means = [made.rise[i] * values[first - i:end - i]
             + made.fall[i] * values[first - i + r:end - i + r] for i in range(r + 1)]
    # [concave] from i h to (i + 1) h
    falls = values[first - r:end + r - 1] - values[first - r + 1:end + r]
    behind = np.minimum(made.back * falls[r:], made.one * falls[r:])
    more = made.settled(made.slack * np.maximum(made.one * falls[:-r] - behind, 0))
    size = end - first
    sums = [np.maximum(means[i], means[i + 1]) + more[r - 1 - i:r - 1 - i + size] for i in range(r)]
    return made.settled(np.maximum.reduce(sums))


@lru_cache(maxsize=512)
def gumbel_scale(choices: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The scale of a Gumbel race of so many names that is (epsilon, delta)-DP at sensitivity 1.

    >>> gumbel_scale(20, Fraction(1), Fraction(1, 10**6))
    Fraction(1877, 100)
    """
    if choices < 1:
        raise ParameterError(f"{choices} choices; at least one is needed")
    rho = concentrated(epsilon, delta)
    # [at-most] both are enough: the pure scale, and that of zCDP
    known = [2 * choices / epsilon]
    if rho:
        known.append(root_up(choices / (2 * rho)))
    least = min(known)
    if choices > MOST:
        return least
    start = _searched(choices, epsilon, delta, least)
    unit = Fraction(10) ** (floor(log10(start)) + 1 - DIGITS)
    for above in range(5):
        tried = (ceil(start / unit) + above) * unit
        # [certified]
        if tried < least and lost(choices, 2 / tried, epsilon) <= delta:
            return tried
    return least


def _searched(choices: int, epsilon: Fraction, delta: Fraction, least: Fraction) -> Fraction:
    """About the least scale; a search in floats, of which nothing is believed."""
    def root(scale: Fraction) -> float:
        # nearly a straight line in the scale
        found = lost(choices, 2 / scale, epsilon, exact=False)
        return sqrt(-log(min(max(float(found), 1e-290), 1.0)))

    wanted = sqrt(-log(delta))
    before, now = least * Fraction(99, 100), least * Fraction(9, 10)
    high = root(before)
    for _ in range(8):
        here = root(now)
        if here == high:
            break
        slope = (now - before) / Fraction(here - high)
        before, high = now, here
        now = min(max(now + Fraction(wanted - here) * slope, now / 2), least)
        now = now.limit_denominator(10**9) or before
        if abs(now - before) < before / 10**5:
            break
    return now


def _above(x: arb, places: int) -> int:
    units: Any = (x * arb(2)**places).upper().ceil().unique_fmpz()
    return max(0, int(units))


def _below(x: arb, places: int) -> int:
    units: Any = (x * arb(2)**places).lower().floor().unique_fmpz()
    return int(units)


def _near(x: arb, _places: int) -> float:
    return max(0.0, float(x.mid()))
