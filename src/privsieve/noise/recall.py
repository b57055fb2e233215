"""Recall: how many of the best scores a race names, by the law of its noise; public numbers alone.

k of d scores are ahead of the others by a gap.  The threshold t above which k noisy scores are
expected solves k P(X > t - gap) + (d - k) P(X > t) = k, and P(X > t - gap) is the share found: in
expectation over the noise and to first order, on the low side where k is small.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, expm1, log, log1p
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    Law = Literal["exponential", "laplace", "gumbel"]

#: Gaps, in scales of the one law, at which two are compared: from hardly seen to hardly missed.
GAPS = (0.25, 0.5, 1, 2, 3, 4, 6, 8)
#: A difference of shares below this is none.
SAME = 1e-9
#: A forecast is of first order: who is said to find more has to do so with this much more noise.
MARGIN = 1.02


def found(law: Law, d: int, k: int, gap: float) -> float:
    """The share of the k best of d that a race names, each ahead by `gap` scales of its noise.

    >>> [round(found(law, 100, 20, 3), 2) for law in ("exponential", "laplace", "gumbel")]
    [0.83, 0.78, 0.74]
    """
    if k == d:
        return 1.0
    if law == "exponential":
        return k / (k + (d - k) * exp(-gap))
    low = _above(law, k / d)
    high = low + gap
    for _ in range(80):
        middle = (low + high) / 2
        if k * _tail(law, middle - gap) + (d - k) * _tail(law, middle) > k:
            low = middle
        else:
            high = middle
    return _tail(law, high - gap)


def better(law: Law, other: Law, times: float, sizes: tuple[int, int], *,
           gaps: Sequence[float] = GAPS) -> bool:
    """Whether `law` finds no fewer than `other` at any gap, and more at some, by a margin.

    times : the scale of `law`, where that of `other` is 1
    sizes : d and k

    >>> better("gumbel", "exponential", 0.9, (30, 8)), better("gumbel", "exponential", 0.7, (30, 8))
    (False, True)
    """
    d, k = sizes
    more = [found(law, d, k, gap / (MARGIN * times)) - found(other, d, k, gap) for gap in gaps]
    return min(more) >= -SAME and max(more) > SAME


def _tail(law: Law, x: float) -> float:
    """P(X > x), for a scale of 1."""
    if law == "gumbel":
        return -expm1(-exp(-x)) if x > -20 else 1.0
    return exp(-x) / 2 if x > 0 else 1 - exp(x) / 2


def _above(law: Law, share: float) -> float:
    """The x with P(X > x) = share."""
    if law == "gumbel":
        return -log(-log1p(-share))
    return -log(2 * share) if share < 0.5 else log(2 * (1 - share))
