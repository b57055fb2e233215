"""Discrete: two-sided geometric noise for many counts at once, exact to the last bit.

The binary digits of a geometric variable are independent.  Each digit is one comparison of a
uniform number with a public probability, so whole arrays are drawn by comparing integers.  If the
first 64 bits of a uniform number do not decide, ball arithmetic does.  The theorems are in
`discrete.proof.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt
from flint import arb, fmpq

from privsieve.errors import ParameterError
from privsieve.noise.balls import arithmetic, certain, exponential
from privsieve.noise.streams import SHORT, Noise, Uniform

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

#: The largest mean of noise that fits the integers of a release.
LARGEST_MEAN = 2**30
#: Released counts are clamped to this; counts of rows are smaller.
LARGEST_COUNT = 2**42
#: The most uniform numbers in memory.
CHUNK = 2**20


def two_sided(mean: Fraction, count: int, noise: Noise) -> Ints:
    """Draw numbers with P(Z = z) proportional to exp(-|z| / mean), exactly.

    >>> two_sided(Fraction(5), 3, Noise()).shape
    (3,)
    """
    _check(mean)
    draws = np.empty(count, np.int64)
    most = max(1, CHUNK // (2 + 2 * _digits(mean)))
    for at in range(0, count, most):
        here = min(most, count - at)
        # [difference-of-two] of independent draws
        drawn = _geometric(mean, 2 * here, noise)
        draws[at:at + here] = drawn[:here] - drawn[here:]
    return draws


def noisy(counts: Ints, mean: Fraction, noise: Noise) -> Ints:
    """Add noise to each count: (L / mean)-DP if neighbours move the counts by L in total.

    >>> noisy(np.array([5, 0]), Fraction(2), Noise()).shape
    (2,)
    """
    # [add-noise] [clamp-count]
    values: Ints = np.clip(counts + two_sided(mean, len(counts), noise), -LARGEST_COUNT,
                          LARGEST_COUNT)
    return values


def above(counts: Ints, mean: Fraction, threshold: int, noise: Noise) -> tuple[Ints, Ints]:
    """Return the places and values of noisy counts that reach a threshold; omit counts of 0.

    >>> where, what = above(np.array([900, 1]), Fraction(2), 100, Noise())
    >>> where.tolist()
    [0]
    """
    # [above] counts below leave no trace
    values = noisy(counts, mean, noise)
    kept = np.flatnonzero(values >= threshold)
    return kept, values[kept]


def threshold(mean: Fraction, most: int, delta: Fraction) -> int:
    """Return the least noisy count of a named cell, so that the names spend at most delta.

    mean : the mean of the noise's halves; most : the largest count of the rows of one unit.

    >>> threshold(Fraction(2), 1, Fraction(1, 10**6))
    28
    """
    _check(mean)
    with arithmetic(256):
        by = arb(fmpq(mean.numerator, mean.denominator))
        q, spent = (-1 / by).exp(), arb(fmpq(delta.numerator, delta.denominator))
        # [threshold] each row of a unit in a cell of its own, or all rows in one cell
        reach = [rows - by * ((1 + q) * spent / times).log()
                 for rows, times in ((1, most), (most, 1))]
        # [filled] cells that only the other table fills
        reach += [rows - by * ((1 + q) * (1 - q**rows)).log() for rows in (1, most)]
        # rounded up
        limits = [int(bound.upper().ceil().unique_fmpz() or 0) for bound in reach]
    return max(most + 1, *limits)


def _geometric(mean: Fraction, count: int, noise: Noise) -> Ints:
    """Draw numbers with P(G >= a) = exp(-a / mean): each binary digit, then the part beyond."""
    draws = np.zeros(count, np.int64)
    digits = _digits(mean)
    for i in range(digits):
        # [digit]
        draws += _heads(mean / 2**i, _words(count, noise), noise).astype(np.int64) << i
    # [beyond] a uniform number whose first word is not 0 lies above exp(-2^digits / mean)
    for at in np.flatnonzero(_words(count, noise) == 0):
        far = certain([Uniform(0, SHORT, noise)], mean / 2**digits, exponential)[0]
        draws[at] += far << digits
    return draws


def _heads(mean: Fraction, words: Words, noise: Noise) -> npt.NDArray[np.bool_]:
    """Return which uniform numbers, by their first words, are below 1 / (1 + exp(1 / mean))."""
    edge = _edge(mean)
    below: npt.NDArray[np.bool_] = words < np.uint64(edge)
    # [undecided] the ball of the first word contains the probability itself
    for at in np.flatnonzero(words == np.uint64(edge)):
        stream = Uniform(int(words[at]), SHORT, noise)
        below[at] = certain([stream], Fraction(1), partial(_past, mean=mean))[0] < 0
    return below


def _past(streams: Sequence[Uniform], mean: Fraction) -> list[arb]:
    """Return a uniform number minus the probability: below 0 if it is smaller."""
    (stream,) = streams
    return [arb(2 * stream.digits + 1, 1) / 2**(stream.bits + 1) - _chance(mean)]


def _chance(mean: Fraction) -> arb:
    return 1 / (1 + arb(fmpq(mean.denominator, mean.numerator)).exp())


@lru_cache(maxsize=256)  # its keys are public: means of noise, from epsilon and sensitivity
def _edge(mean: Fraction) -> int:
    """Return the first word of the probability: floor(2^64 / (1 + exp(1 / mean)))."""
    bits = 256
    while True:
        with arithmetic(bits):
            word = (_chance(mean) * 2**SHORT).floor().unique_fmpz()
        if word is not None:
            return int(word)
        bits *= 2


def _digits(mean: Fraction) -> int:
    """Return the number of digits to draw; a draw is longer with probability 2^-64."""
    # [digits]
    return int(45 * mean).bit_length()


def _words(count: int, noise: Noise) -> Words:
    return np.frombuffer(noise.bytes(8 * count), ">u8").astype(np.uint64)


def _check(mean: Fraction) -> None:
    if not 0 < mean <= LARGEST_MEAN:
        raise ParameterError(f"the mean of the noise is {float(mean):.3g}; it must be larger than "
                             f"0 and at most {LARGEST_MEAN}; choose a larger epsilon")
