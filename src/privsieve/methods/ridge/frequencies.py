"""Frequencies: the public random numbers of a Fourier map, in whole numbers.

The same seed gives the same bits on every machine and in every version: SHAKE-256 is a standard,
and all that follows is arithmetic of integers.  Nothing here is secret, and nothing is noise.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, lru_cache
from hashlib import shake_256
from math import isqrt

import numpy as np
import numpy.typing as npt

from privsieve.methods.ridge.maps import ONE, Map
from privsieve.public.columns import Category, Column, Flag

#: Binary places of fixed numbers here, and pi with so many.
PLACES = 128
PI = 0x3243F6A8885A308D313198A2E03707344
#: A turn of a phase is 2^32, and one of the table of cosines 2^16.
TURN, STEPS = 2**32, 2**16
#: Bits that are counted for one normal number, and bytes of the jitter beside them.
BITS, JITTER = 1024, 4


@lru_cache(8)  # its keys are public: kinds of columns, gamma, a seed
def frequencies(made: Map) -> tuple[npt.NDArray[np.int64], ...]:
    """Of each column: by how much of a turn each level moves each phase; parts x pairs.

    A number has one line, for a step of its code; then one for "missing" if that is a level.  A
    flag has one, for yes; a category has one for each level.
    """
    return tuple(_of_column(column, j, made) for j, column in enumerate(made.columns))


def _of_column(column: Column, j: int, made: Map) -> npt.NDArray[np.int64]:
    parts = made.parts(j)
    drawn = normals(f"privsieve-fourier/1/{made.seed}/{j}", parts * made.pairs)
    # Two levels of a category lie at distance 1, each of the two being half of the square.
    share = made.gamma / 2 if isinstance(column, Category) else made.gamma
    fine = _times(share, TURN)
    times = [fine] * parts
    if not isinstance(column, (Category, Flag)):
        times[0] = _times(share, TURN // STEPS)
    moved = [(drawn[at] * times[at // made.pairs] + (1 << PLACES - 1) >> PLACES) % TURN
             for at in range(len(drawn))]
    return np.array(moved, np.int64).reshape(parts, made.pairs)


def _times(share: Fraction, turn: int) -> int:
    """What a unit of `normals` turns a phase by, sqrt(2 share) / (2 pi) a normal, with PLACES."""
    # the variance of `normals` is 2^64 (BITS / 4 + 1 / 12)
    square = 2 * share * 12 / (3 * BITS + 1)
    root = isqrt((square.numerator << 4 * PLACES) // square.denominator)
    return (turn * root // (2 * PI)) >> 32


def normals(label: str, count: int) -> list[int]:
    """Public draws close to a normal law, in units of 2^-32 / sqrt(256 + 1/12).

    Each is how many of 1024 bits are ones, less 512, and a jitter of one: its excess of kurtosis is
    -0.002.

    >>> len(normals("example", 3)), normals("example", 2) == normals("example", 3)[:2]
    (3, True)
    """
    size = BITS // 8 + JITTER
    read = np.frombuffer(shake_256(label.encode()).digest(count * size), np.uint8)
    rows = read.reshape(count, size)
    ones = np.unpackbits(rows[:, :BITS // 8], axis=1).sum(axis=1, dtype=np.int64)
    jitter = np.ascontiguousarray(rows[:, BITS // 8:]).view("<u4")[:, 0].astype(np.int64)
    found: list[int] = ((ones - BITS // 2) * TURN + jitter - TURN // 2).tolist()
    return found


@cache
def cosines() -> npt.NDArray[np.int64]:
    """65535 cos(2 pi i / 65536), rounded towards zero, for i from 0 to 65535.

    >>> cosines()[[0, 8192, 16384, 32768]].tolist()
    [65534, 46340, 0, -65534]
    """
    quarter = STEPS // 4
    cosine, sine = _small(2 * PI // STEPS)
    c, s, first = 1 << PLACES, 0, []
    for _ in range(quarter + 1):
        # [towards-zero] after 2^14 rotations c is off by less than 2^-100
        first.append(max(0, (ONE * c - (1 << 48)) >> PLACES))
        c, s = (c * cosine - s * sine) >> PLACES, (s * cosine + c * sine) >> PLACES
    half = np.array(first[:-1], np.int64)
    # [symmetric]
    falling = np.concatenate([half, np.zeros(1, np.int64), -half[:0:-1]])
    table = np.concatenate([falling, -falling])
    table.setflags(write=False)
    return table


def _small(angle: int) -> tuple[int, int]:
    """Cosine and sine of a small angle, by their series."""
    power, sums = 1 << PLACES, [0, 0, 0, 0]
    for k in range(16):
        sums[k % 4] += power
        power = (power * angle >> PLACES) // (k + 1)
    return sums[0] - sums[2], sums[1] - sums[3]
