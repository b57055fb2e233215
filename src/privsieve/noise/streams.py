"""Streams: ideal real random variables, exactly rounded.

A uniform real number is an endless stream of binary digits.  A prefix of digits gives an interval,
and the formula is evaluated at both ends.  If both give the same answer, it is exact; if not, more
digits are read after the same prefix.  A draw is therefore never a float near the formula: see
`streams.proof.md`.

The logarithm of one number, which a plain choice needs, is here.  Other formulas are in `balls.py`.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from math import log
from typing import TYPE_CHECKING, Any

from privsieve.errors import ParameterError, ReleaseFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The first digits of a number for one coordinate, and of a number for a vector.
SHORT, LONG = 64, 192
#: The digits of a refinement, and the most of a stream, so that broken entropy cannot loop.
STEP, LONGEST = 64, LONG + 64 * 64
#: For fewer logarithms, importing the faster Arb would take more time than it saves.
FEW = 2000
#: At least this many draws, with at most this mean, are computed together.
SEVERAL, LARGEST_MEAN = 24, 2**24
#: log 2 in units of 2^-56; log 4/3 and the largest error of `near` in units of 2^-31.
LOG_2, LOG_4_3, BESIDE = 49_946_518_145_322_873, 617_792_546, 16
#: 1 / 21, 1 / 19, ... 1 in units of 2^-31, rounded down.
PARTS = tuple(2**31 // odd for odd in range(21, 0, -2))
#: Smaller numbers of 64 digits determine U too coarsely.
LEAST_DIGITS = 2**33
_FEW_DIGITS = Context(12, ROUND_HALF_EVEN, MIN_EMIN, MAX_EMAX, traps=[])


class Noise:
    """Random bits of the operating system, read at each draw and never stored.

    >>> len(Noise().bytes(3)), Noise().private
    (3, True)
    """

    __slots__ = ()
    private = True

    def bytes(self, count: int) -> bytes:
        """Return fresh random bytes; errors of the system pass through."""
        # [fresh] bits are not read ahead, so a fork or a thread cannot see the same bits again.
        return os.urandom(count)

    def key(self) -> int:
        """Return sixty-four fresh bits, for a secret order that does not depend on rows.

        >>> 0 <= Noise().key() < 2**64
        True
        """
        return int.from_bytes(self.bytes(8))


class _Replay(Noise):
    """A stream of a seed: block `i` is a hash of the seed and `i`."""

    __slots__ = ("_blocks", "_left", "_seed")
    private = False

    def __init__(self, seed: int) -> None:
        self._seed = str(seed).encode()
        self._blocks = 0
        self._left = bytearray()

    def bytes(self, count: int) -> bytes:
        while len(self._left) < count:
            block = self._blocks.to_bytes(16) + self._seed
            self._left += hashlib.blake2b(block, person=b"privsieve-replay").digest()
            self._blocks += 1
        taken = bytes(self._left[:count])
        del self._left[:count]
        return taken


def system() -> Noise:
    """Return the source of private noise.

    >>> system().private
    True
    """
    return Noise()


def replay(seed: int) -> Noise:
    """Return noise that repeats itself, for tests, experiments and benchmarks only.

    >>> replay(1).bytes(4) == replay(1).bytes(4), replay(1).private
    (True, False)
    """
    return _Replay(seed)


@dataclass(slots=True, eq=False, repr=False)
class Uniform:
    """A uniform real number: its first `bits` binary digits, and the source of the others."""

    digits: int
    bits: int
    noise: Noise

    def refine(self) -> None:
        """Read more digits after the same prefix."""
        if self.bits >= LONGEST:
            raise ReleaseFailed
        # [refine]
        self.digits = self.digits << STEP | int.from_bytes(self.noise.bytes(STEP // 8))
        self.bits += STEP


def uniforms(count: int, bits: int, noise: Noise) -> list[Uniform]:
    """Return fresh streams with `bits` digits each, a multiple of eight, in source order.

    >>> [u.bits for u in uniforms(2, 64, replay(1))]
    [64, 64]
    """
    size = bits // 8
    read = noise.bytes(count * size)
    cuts = range(0, count * size, size)
    return [Uniform(int.from_bytes(read[i : i + size]), bits, noise) for i in cuts]


def geometric(mean: Fraction, count: int, noise: Noise) -> list[int]:
    """Draw numbers with P(G >= a) = exp(-a / mean), exactly: floors of exponentials.

    `mean` is the mean of the exponential.

    >>> len(geometric(Fraction(48), 3, system()))
    3
    """
    if mean <= 0:
        raise ParameterError(f"the mean of noise is {mean}; it must be larger than 0")
    # [geometric]
    streams = uniforms(count, SHORT, noise)
    if count < SEVERAL or mean > LARGEST_MEAN:
        return _exact_floors(streams, mean)
    quick = glimpsed([stream.digits for stream in streams], mean)
    missing = [stream for stream, floor in zip(streams, quick, strict=True) if floor is None]
    others = iter(_exact_floors(missing, mean))
    return [next(others) if floor is None else floor for floor in quick]


def glimpsed(digits: Sequence[int], mean: Fraction) -> list[int | None]:
    """Return floor(-mean * log U) of streams of 64 digits, or None if 63-bit integers cannot.

    >>> glimpsed([2**63, 0], Fraction(10))
    [6, None]
    """
    import numpy as np

    m = np.array(digits, np.uint64)
    # [guess-shift] of a double: a wrong guess is detected
    shift = np.clip(64 - np.frexp(m.astype(np.float64))[1], 0, 63).astype(np.int64)
    by = shift.astype(np.uint64)
    y = m << by
    sure = (m >= LEAST_DIGITS) & (y >> np.uint64(63) == 1) & (y >> by == m)
    low, high = _ends(shift, (y >> np.uint64(32)).astype(np.int64), mean)
    # [glimpse] if both ends of the interval of the logarithm have the same floor, it is exact
    sure &= low == high
    return [floor if is_sure else None
            for floor, is_sure in zip(low.tolist(), sure.tolist(), strict=True)]


def _ends(shift: Any, x: Any, mean: Fraction) -> tuple[Any, Any]:
    """Return floors around -mean * log U, for 2^shift U from x / 2^32 to (x + 2) / 2^32."""
    near = (shift * LOG_2 >> 25) + LOG_4_3 - _log_of(x)
    over, under = mean.as_integer_ratio()
    bits = 43 - (over // under).bit_length()
    slope = (over << bits) // under
    return (_scaled(near - BESIDE, slope) >> 13 + bits,
            _scaled(near + BESIDE, slope + 1) + 1 >> 13 + bits)


def _scaled(x: Any, slope: int) -> Any:
    """Return floor(x slope / 2^18), or one less; both products fit in 63 bits."""
    return slope * (x >> 18) + (slope * (x & 2**18 - 1) >> 18)


def _log_of(x: Any) -> Any:
    """Return log(x / (3/4 2^32)) in units of 2^-31, for x from 2^31 to 2^32."""
    # [series] of (1 + s) / (1 - s), where |s| is at most 1/5
    s = ((x - 3 * 2**30) << 31) // (x + 3 * 2**30)
    square, total = s * s >> 31, 0
    for term in PARTS:
        total = (total * square >> 31) + term
    return s * total >> 30


def _exact_floors(streams: list[Uniform], mean: Fraction) -> list[int]:
    """Return the floors of some streams exactly, and refine them if needed."""
    if len(streams) > FEW:
        from privsieve.noise.balls import exponential, floors

        return floors(streams, mean, exponential)
    return [floor_log(stream, mean) for stream in streams]


def floor_log(stream: Uniform, mean: Fraction) -> int:
    """Return floor(-mean * log U) exactly; refine the stream until its digits decide.

    >>> floor_log(Uniform(2**63, 64, replay(1)), Fraction(10))  # U is 1/2 and a little
    6
    """
    m, (over, under) = stream.digits, mean.as_integer_ratio()
    if stream.bits == SHORT and m >= LEAST_DIGITS and over <= LARGEST_MEAN * under:
        shift = SHORT - m.bit_length()
        # [glimpse-one] as for many; decimals take four times as long
        low, high = _ends(shift, m << shift >> 32, mean)
        if low == high:
            return int(low)
    # [guess] of a double: any will do, because only certain floors are returned
    near: float | Decimal = (stream.bits + 1) * log(2) - log(2 * stream.digits + 1)
    # Few digits nearly always decide, and take a third of the time.
    if _is_floor(floor := _times(mean, near), stream, mean, _FEW_DIGITS):
        return floor
    while not _is_floor(floor := _times(mean, near), stream, mean, _decimals(stream)):
        stream.refine()
        near = _decimals(stream).ln(_decimals(stream).divide(2 << stream.bits,
                                                             2 * stream.digits + 1))
    return floor


def _is_floor(a: int, stream: Uniform, mean: Fraction, c: Context) -> bool:
    """Return whether exp(-(a + 1) / mean) < U <= exp(-a / mean), for certain."""
    m, whole = stream.digits, 1 << stream.bits
    top, bottom = (c.divide(-at * mean.denominator, mean.numerator) for at in (a, a + 1))
    # [neighbours] all is correctly rounded, so a real number lies between those of its decimal
    most = c.next_minus(c.exp(c.next_minus(top)))
    least = c.next_plus(c.exp(c.next_plus(bottom)))
    # [certain-log]
    return (least <= c.next_minus(c.divide(m, whole))
            and c.next_plus(c.divide(m + 1, whole)) <= most)


def _decimals(stream: Uniform) -> Context:
    """Return arithmetic with the digits of the stream, and a few more."""
    return Context(stream.bits // 3, ROUND_HALF_EVEN, MIN_EMIN, MAX_EMAX, traps=[])


def _times(mean: Fraction, near: float | Decimal) -> int:
    """Return floor(mean * near), exactly."""
    over, under = near.as_integer_ratio()
    return mean.numerator * over // (mean.denominator * under)


def discrete_laplace(mean: Fraction, noise: Noise) -> int:
    """Draw two-sided geometric noise: P(Z = z) is proportional to exp(-|z| / mean).

    A count that one unit moves by at most 1 is (1 / mean)-DP with this noise.

    >>> isinstance(discrete_laplace(Fraction(20), system()), int)
    True
    """
    # [difference]
    plus, minus = geometric(mean, 2, noise)
    return plus - minus
