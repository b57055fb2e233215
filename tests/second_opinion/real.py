"""Real: the few real formulas that a check recounts, in plain floats and fractions.

Nothing here is shared with what draws noise or sizes it.  A release says its figures in a few
digits, so that floats are enough; where a maker rounds a bound up, what it may say is an interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from privsieve.release import figure

#: What leaves is on a grid that is this number of binary places finer than its sensitivity.
FINENESS = 16
#: How far a figure in floats may be off, relatively.
_NEAR = 1e-9
#: How far above the largest squared distance of two moves its bound may be.
_SLACK = 2.0**-16


class Between(NamedTuple):
    """Where a figure lies.

    >>> Between(2.0, 3.0).times(3)
    Between(low=6.0, high=9.0)
    """

    low: float
    high: float

    @classmethod
    def about(cls, value: float, near: float = _NEAR) -> Between:
        """A figure in floats."""
        return cls(value * (1 - near), value * (1 + near))

    def times(self, factor: float) -> Between:
        """Both ends, times a factor above 0."""
        return Between(self.low * factor, self.high * factor)

    def through(self, rising: Callable[[float], float]) -> Between:
        """What a rising function makes of it."""
        return Between(rising(self.low), rising(self.high))


def agrees(text: str, span: Between, written: Callable[[float], str] = figure) -> bool:
    """Whether a text is how a figure of the span is written.

    >>> agrees("0.3333", Between.about(1 / 3)), agrees("0.3334", Between.about(1 / 3))
    (True, False)
    """
    low, high = written(span.low), written(span.high)
    return text in (low, high) or (
        Fraction(low) < Fraction(text) < Fraction(high) and written(float(text)) == text)


def power(value: float) -> int:
    """The largest power of two that is not above a figure.

    >>> power(1.0), power(0.75), power(5)
    (0, -1, 2)
    """
    return math.frexp(value)[1] - 1


def exponents(d: int, moved: Between, *, norm: int = 2) -> set[int]:
    """The exponents that a grid of d numbers may have, which a neighbour moves by this length.

    >>> exponents(4, Between.about(3.0))
    {-17}
    """
    reach = math.sqrt(d) if norm == 2 else d
    return {power(end) - FINENESS - power(reach * (1 + 1e-15)) - 1 for end in moved}


def used(d: int, moved: Between, exponent: int, *, norm: int = 2) -> Between:
    """How far a neighbour moves what was rounded to a grid."""
    step = (math.sqrt(d) if norm == 2 else d) * 2.0**exponent
    return Between(moved.low + step, moved.high + step)


def log_erfc(x: float) -> float:
    """The logarithm of the complementary error function, far out as well.

    >>> round(log_erfc(1.0), 6), round(log_erfc(30.0), 4)
    (-1.849606, -903.9741)
    """
    if x < 20:
        return math.log(math.erfc(x))
    y = 1 / (2 * x * x)
    return -x * x - math.log(x * math.sqrt(math.pi)) + math.log1p(-y + 3 * y * y - 15 * y**3)


def gaussian_sigma(epsilon: float, delta: float) -> float:
    """Sigma of the Gaussian that is (epsilon, delta)-DP at sensitivity 1 (Balle and Wang 2018).

    >>> round(gaussian_sigma(1.0, 1e-6), 6)
    4.224679
    """
    def lost(sigma: float) -> float:
        half, shift = 1 / (2 * sigma), epsilon * sigma
        first = log_erfc((shift - half) / math.sqrt(2))
        second = epsilon + log_erfc((half + shift) / math.sqrt(2))
        return -math.inf if second >= first else first + math.log(-math.expm1(second - first))

    wanted, low, high = math.log(2 * delta), 2.0**-12, 2.0**-9
    while lost(high) > wanted:
        low, high = high, 2 * high
    while high / low > 1 + 1e-13:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if lost(middle) <= wanted else (middle, high)
        if middle in (low, high) and math.sqrt(low * high) == middle:
            break
    return high


# --- weights of local learning ------------------------------------------------------------------

def radius(lam: float) -> float:
    """The longest that weights can be: where 2 lam r is the slope of log(1 + exp(-r)).

    >>> round(radius(0.1), 6), round(radius(0.01), 6)
    (1.177505, 3.731384)
    """
    w = 0.27846454276107377  # w exp(w) = 1 / e
    far = math.sqrt(w / (2 * lam))
    if far >= 1 + w:
        return far
    low, high = 0.0, far
    for _ in range(60):
        middle = (low + high) / 2
        if 2 * lam * middle >= 1 / (1 + math.exp(middle)):
            high = middle
        else:
            low = middle
    return high


def reach(r: float) -> Between:
    """How far two moves of a gradient can be apart where weights are so long: what may be said.

    >>> [round(end, 3) for end in reach(radius(0.1))]
    [1.129, 1.129]
    """
    def square(a: float, b: float) -> float:
        if a < 0 or b < 0 or a + b > math.pi:
            return 0.0
        first, two = (1 / (1 + math.exp(-min(700.0, r * math.cos(x)))) for x in (a, b))
        return first * first + two * two - 2 * first * two * math.cos(a + b)

    steps = [math.pi * i / 24 for i in range(25)]
    best, a, b = max((square(a, b), a, b) for a in steps for b in steps if b <= a)
    step = math.pi / 24
    while step > 1e-9:  # to the top of the hill
        near = max((square(a + i * step, b + j * step), a + i * step, b + j * step)
                   for i in (-1, 0, 1) for j in (-1, 0, 1))
        if near[0] > best:
            best, a, b = near
        else:
            step /= 2
    best = max(1.0, best)
    return Between(math.sqrt(best) * (1 - _NEAR), min(2.0, math.sqrt(best + _SLACK)) * (1 + _NEAR))


def solver_error(lam: float, rows: int, columns: int, longest: float) -> float:
    """How far a computed minimiser may be from the exact one.

    >>> solver_error(0.1, 1000, 30, 2.0) < 1e-9
    True
    """
    lost = 2.0**-52 * (rows + 24 + (columns + 8) * (1 + 16 * lam) / 4 * (2 * longest + 2))
    gradient = 1.1e-10 + 6 * lost
    return max(gradient / (2 * lam), 1.1e-10 * longest + lost / (2 * lam))
