"""Discrete: two-sided geometric noise for many counts at once, exact to the last bit.

A geometric variable is a number in binary whose digits are independent.  Each digit is one
comparison of a uniform number with a public chance, so that whole arrays are drawn by comparing
integers; what the first 64 bits of a uniform number leave open, ball arithmetic decides.  The
theorems are in `discrete.proof.md`.
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

#: Noise above this mean would not fit the integers of a release.
LARGEST_MEAN = 2**30
#: What leaves is clamped to this, which no count of rows reaches.
LARGEST_COUNT = 2**42
#: Uniform numbers that are held at a time.
CHUNK = 2**20


def two_sided(mean: Fraction, count: int, noise: Noise) -> Ints:
    """Draws with P(Z = z) proportional to exp(-|z| / mean), exactly.

    >>> two_sided(Fraction(5), 3, Noise()).shape
    (3,)
    """
    _check(mean)
    found = np.empty(count, np.int64)
    most = max(1, CHUNK // (2 + 2 * _digits(mean)))
    for at in range(0, count, most):
        here = min(most, count - at)
        # [difference-of-two] of independent draws
        drawn = _geometric(mean, 2 * here, noise)
        found[at:at + here] = drawn[:here] - drawn[here:]
    return found


def noisy(counts: Ints, mean: Fraction, noise: Noise) -> Ints:
    """Counts with noise on each: (L / mean)-DP where neighbours move their sum of moves by L.

    >>> noisy(np.array([5, 0]), Fraction(2), Noise()).shape
    (2,)
    """
    # [add-noise] [clamp-count]
    found: Ints = np.clip(counts + two_sided(mean, len(counts), noise), -LARGEST_COUNT,
                          LARGEST_COUNT)
    return found


def above(counts: Ints, mean: Fraction, threshold: int, noise: Noise) -> tuple[Ints, Ints]:
    """Of counts that are not 0, those whose noisy value reaches a threshold: where, and what.

    >>> where, what = above(np.array([900, 1]), Fraction(2), 100, Noise())
    >>> where.tolist()
    [0]
    """
    # [above] what stays below leaves no trace
    found = noisy(counts, mean, noise)
    kept = np.flatnonzero(found >= threshold)
    return kept, found[kept]


def threshold(mean: Fraction, most: int, delta: Fraction) -> int:
    """From which noisy count on a cell is named, so that named cells spend at most delta.

    mean : of the noise's halves; most : what the rows of one unit count at most.

    >>> threshold(Fraction(2), 1, Fraction(1, 10**6))
    28
    """
    _check(mean)
    with arithmetic(256):
        by = arb(fmpq(mean.numerator, mean.denominator))
        q, spent = (-1 / by).exp(), arb(fmpq(delta.numerator, delta.denominator))
        # [threshold] a unit's rows alone in cells of their own, or all in one
        reach = [rows - by * ((1 + q) * spent / times).log()
                 for rows, times in ((1, most), (most, 1))]
        # [filled] cells that only the other table has
        reach += [rows - by * ((1 + q) * (1 - q**rows)).log() for rows in (1, most)]
        # rounded up
        found = [int(one.upper().ceil().unique_fmpz() or 0) for one in reach]
    return max(most + 1, *found)


def _geometric(mean: Fraction, count: int, noise: Noise) -> Ints:
    """Draws with P(G >= a) = exp(-a / mean): binary digits one by one, then what lies beyond."""
    found = np.zeros(count, np.int64)
    digits = _digits(mean)
    for i in range(digits):
        # [digit]
        found += _heads(mean / 2**i, _words(count, noise), noise).astype(np.int64) << i
    # [beyond] a uniform number whose first word is not 0 lies above exp(-2^digits / mean)
    for at in np.flatnonzero(_words(count, noise) == 0):
        far = certain([Uniform(0, SHORT, noise)], mean / 2**digits, exponential)[0]
        found[at] += far << digits
    return found


def _heads(mean: Fraction, words: Words, noise: Noise) -> npt.NDArray[np.bool_]:
    """Which uniform numbers, seen by their first words, lie below 1 / (1 + exp(1 / mean))."""
    edge = _edge(mean)
    found: npt.NDArray[np.bool_] = words < np.uint64(edge)
    # [undecided] the ball of the first word holds the chance itself
    for at in np.flatnonzero(words == np.uint64(edge)):
        stream = Uniform(int(words[at]), SHORT, noise)
        found[at] = certain([stream], Fraction(1), partial(_past, mean=mean))[0] < 0
    return found


def _past(streams: Sequence[Uniform], mean: Fraction) -> list[arb]:
    """The distance of a uniform number from the chance: below 0 where it lies under it."""
    (stream,) = streams
    return [arb(2 * stream.digits + 1, 1) / 2**(stream.bits + 1) - _chance(mean)]


def _chance(mean: Fraction) -> arb:
    return 1 / (1 + arb(fmpq(mean.denominator, mean.numerator)).exp())


@lru_cache(maxsize=256)  # its keys are public: means of noise, from epsilon and sensitivity
def _edge(mean: Fraction) -> int:
    """The first word of the chance: floor(2^64 / (1 + exp(1 / mean)))."""
    bits = 256
    while True:
        with arithmetic(bits):
            found = (_chance(mean) * 2**SHORT).floor().unique_fmpz()
        if found is not None:
            return int(found)
        bits *= 2


def _digits(mean: Fraction) -> int:
    """How many digits are drawn: beyond them a draw ends but for a chance of 2^-64."""
    # [digits]
    return int(45 * mean).bit_length()


def _words(count: int, noise: Noise) -> Words:
    return np.frombuffer(noise.bytes(8 * count), ">u8").astype(np.uint64)


def _check(mean: Fraction) -> None:
    if not 0 < mean <= LARGEST_MEAN:
        raise ParameterError(f"the mean of the noise is {float(mean):.3g}; it must be larger than "
                             f"0 and at most {LARGEST_MEAN}: choose a larger epsilon")
