"""Stopping: try candidates a random number of times, keep the best, pay for less than two.

The number of tries follows the logarithmic distribution, P(K = i) ~ (1 - gamma)^i / i, cut at
`MOST`.  Whoever knew K would know more: K never leaves, and all `MOST` tries are made, of which
those beyond K are thrown away.  The theorem is in `stopping.proof.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import accumulate
from math import lcm
from typing import TYPE_CHECKING, TypeVar

from privsieve.errors import ParameterError

if TYPE_CHECKING:
    from privsieve.noise.streams import Noise

    Output = TypeVar("Output")

#: gamma: the smaller, the more tries.
GAMMA = Fraction(1, 20)
#: No more tries than this are made, and never fewer.  On average 4.7 of them count.
MOST = 24
#: What the whole costs at most, in prices of one try: 40/21.
PRICE = 2 / (1 + GAMMA)  # [price]


@cache  # its keys are public: a number of tries
def chances(most: int = MOST) -> tuple[int, ...]:
    """Whole numbers in proportion to P(K = 1), ..., P(K = most).

    >>> [round(chance / sum(chances()), 4) for chance in chances()[:3]]
    [0.3332, 0.1583, 0.1002]
    """
    # [chances]
    exact = [(1 - GAMMA) ** i / i for i in range(1, most + 1)]
    common = lcm(*(chance.denominator for chance in exact))
    return tuple(int(chance * common) for chance in exact)


def below(bound: int, noise: Noise) -> int:
    """A uniform whole number below a bound, exactly.

    >>> from privsieve.noise.streams import system
    >>> below(1, system())
    0
    """
    if bound < 1:
        raise ParameterError(f"a number below {bound} was asked for; there is none")
    bits = (bound - 1).bit_length()
    size = -(-bits // 8)
    while True:
        # [rejection] what does not lie below the bound is drawn again: no remainder, no bias.
        drawn = int.from_bytes(noise.bytes(size)) >> (8 * size - bits)
        if drawn < bound:
            return drawn


def tries(noise: Noise) -> int:
    """K: how many tries count.  It must never leave.

    >>> from privsieve.noise.streams import system
    >>> 1 <= tries(system()) <= MOST
    True
    """
    ends = list(accumulate(chances()))
    drawn = below(ends[-1], noise)
    return next(i for i, end in enumerate(ends, 1) if drawn < end)


def best_of(attempt: Callable[[], tuple[int, Output]], noise: Noise) -> Output:
    """The output of the best score among K tries; of equal scores the first.

    `attempt` gives a score and an output and is (epsilon0)-DP in both together; the answer is
    (PRICE epsilon0)-DP.

    >>> from privsieve.noise.streams import system
    >>> best_of(lambda: (1, "a"), system())
    'a'
    """
    counted = tries(noise)
    # [padded] every try is made, so that time and work do not tell K.
    made = [attempt() for _ in range(MOST)]
    # [best]
    return max(made[:counted], key=lambda one: one[0])[1]
