"""Noise: ideal real random variables, exactly rounded.

A uniform real number is an endless stream of binary digits.  We read a prefix, see the number in
the interval that the prefix allows, and carry its ends through the formula.  If both ends give one
answer, it is that of the real number; if not, more digits are read after the same prefix.  So no
draw is ever "a float near the formula": see `streams.proof.md`.

The logarithm of one number, which is all that a plain choice needs, is here; other formulas are in
`balls.py`.
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

#: First digits of a number that decides one coordinate, and of one that decides a vector.
SHORT, LONG = 64, 192
#: Digits per refinement, and the most that a stream may have: broken entropy must end somewhere.
STEP, LONGEST = 64, LONG + 64 * 64
#: So many logarithms take less time here than Arb, which is faster, takes to be imported.
FEW = 2000
#: From so many draws on they are looked at together, where their mean is small enough.
SEVERAL, LARGEST_MEAN = 24, 2**24
#: log 2 in units of 2^-56; in units of 2^-31 log 4/3, and what bounds the error of `near`.
LOG_2, LOG_4_3, BESIDE = 49_946_518_145_322_873, 617_792_546, 16
#: 1 / 21, 1 / 19, ... 1 in units of 2^-31, rounded down.
PARTS = tuple(2**31 // odd for odd in range(21, 0, -2))
#: Smaller numbers of 64 digits say too little of U.
LEAST_DIGITS = 2**33
_FEW_DIGITS = Context(12, ROUND_HALF_EVEN, MIN_EMIN, MAX_EMAX, traps=[])


class Noise:
    """Random bits of the operating system, read at each draw and never kept.

    >>> len(Noise().bytes(3)), Noise().private
    (3, True)
    """

    __slots__ = ()
    private = True

    def bytes(self, count: int) -> bytes:
        """Fresh random bytes; what the system raises passes through."""
        # [fresh] nothing is read ahead: neither a fork nor a thread can see the same bits again.
        return os.urandom(count)

    def key(self) -> int:
        """Sixty-four fresh bits, for a secret order that no row decides.

        >>> 0 <= Noise().key() < 2**64
        True
        """
        return int.from_bytes(self.bytes(8))


class _Replay(Noise):
    """A stream that a seed decides: block `i` is a hash of the seed and `i`."""

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
    """The one source of private noise.

    >>> system().private
    True
    """
    return Noise()


def replay(seed: int) -> Noise:
    """Noise that repeats itself: for tests, experiments and benchmarks, never for a release.

    >>> replay(1).bytes(4) == replay(1).bytes(4), replay(1).private
    (True, False)
    """
    return _Replay(seed)


@dataclass(slots=True, eq=False, repr=False)
class Uniform:
    """A uniform real number: `bits` first binary digits, and where the others come from."""

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
    """Fresh streams with `bits` digits each, a multiple of eight, in the order of the source.

    >>> [u.bits for u in uniforms(2, 64, replay(1))]
    [64, 64]
    """
    size = bits // 8
    read = noise.bytes(count * size)
    cuts = range(0, count * size, size)
    return [Uniform(int.from_bytes(read[i : i + size]), bits, noise) for i in cuts]


def geometric(mean: Fraction, count: int, noise: Noise) -> list[int]:
    """Draws with P(G >= a) = exp(-a / mean), exactly: floors of exponentials.

    `mean` is that of the exponential.

    >>> len(geometric(Fraction(48), 3, system()))
    3
    """
    if mean <= 0:
        raise ParameterError(f"the mean of noise is {mean}; it must be larger than 0")
    # [geometric]
    streams = uniforms(count, SHORT, noise)
    if count < SEVERAL or mean > LARGEST_MEAN:
        return _told(streams, mean)
    seen = glimpsed([stream.digits for stream in streams], mean)
    missing = [stream for stream, one in zip(streams, seen, strict=True) if one is None]
    others = iter(_told(missing, mean))
    return [next(others) if one is None else one for one in seen]


def glimpsed(digits: Sequence[int], mean: Fraction) -> list[int | None]:
    """floor(-mean * log U) of streams of 64 digits where integers of 63 bits tell it; else None.

    >>> glimpsed([2**63, 0], Fraction(10))
    [6, None]
    """
    import numpy as np

    m = np.array(digits, np.uint64)
    # [guess-shift] of a double: what is wrong is seen
    shift = np.clip(64 - np.frexp(m.astype(np.float64))[1], 0, 63).astype(np.int64)
    by = shift.astype(np.uint64)
    y = m << by
    sure = (m >= LEAST_DIGITS) & (y >> np.uint64(63) == 1) & (y >> by == m)
    low, high = _ends(shift, (y >> np.uint64(32)).astype(np.int64), mean)
    # [glimpse] where both ends of what may be the logarithm have one floor, it is that
    sure &= low == high
    return [floor if told else None
            for floor, told in zip(low.tolist(), sure.tolist(), strict=True)]


def _ends(shift: Any, x: Any, mean: Fraction) -> tuple[Any, Any]:
    """Floors around -mean * log U, for 2^shift U from x / 2^32 to (x + 2) / 2^32; or arrays."""
    near = (shift * LOG_2 >> 25) + LOG_4_3 - _log_of(x)
    over, under = mean.as_integer_ratio()
    bits = 43 - (over // under).bit_length()
    slope = (over << bits) // under
    return (_scaled(near - BESIDE, slope) >> 13 + bits,
            _scaled(near + BESIDE, slope + 1) + 1 >> 13 + bits)


def _scaled(x: Any, slope: int) -> Any:
    """floor(x slope / 2^18), or one less; in two parts, of which no product passes 63 bits."""
    return slope * (x >> 18) + (slope * (x & 2**18 - 1) >> 18)


def _log_of(x: Any) -> Any:
    """log(x / (3/4 2^32)) in units of 2^-31, for x from 2^31 to 2^32."""
    # [series] of (1 + s) / (1 - s), where |s| is 1/5 at most
    s = ((x - 3 * 2**30) << 31) // (x + 3 * 2**30)
    square, total = s * s >> 31, 0
    for part in PARTS:
        total = (total * square >> 31) + part
    return s * total >> 30


def _told(streams: list[Uniform], mean: Fraction) -> list[int]:
    """The floors of some streams: exactly, and read on where need be."""
    if len(streams) > FEW:
        from privsieve.noise.balls import exponential, floors

        return floors(streams, mean, exponential)
    return [floor_log(stream, mean) for stream in streams]


def floor_log(stream: Uniform, mean: Fraction) -> int:
    """Exactly floor(-mean * log U); the stream is read on while its digits do not tell.

    >>> floor_log(Uniform(2**63, 64, replay(1)), Fraction(10))  # U is 1/2 and a little
    6
    """
    m, (over, under) = stream.digits, mean.as_integer_ratio()
    if stream.bits == SHORT and m >= LEAST_DIGITS and over <= LARGEST_MEAN * under:
        shift = SHORT - m.bit_length()
        # [glimpse-one] as of many; decimals take four times as long
        low, high = _ends(shift, m << shift >> 32, mean)
        if low == high:
            return int(low)
    # [guess] of a double: any will do, for only what is certain is returned
    near: float | Decimal = (stream.bits + 1) * log(2) - log(2 * stream.digits + 1)
    # Few digits tell nearly always, and take a third of the time.
    if _is_floor(found := _times(mean, near), stream, mean, _FEW_DIGITS):
        return found
    while not _is_floor(found := _times(mean, near), stream, mean, _decimals(stream)):
        stream.refine()
        near = _decimals(stream).ln(_decimals(stream).divide(2 << stream.bits,
                                                             2 * stream.digits + 1))
    return found


def _is_floor(a: int, stream: Uniform, mean: Fraction, c: Context) -> bool:
    """Whether exp(-(a + 1) / mean) < U <= exp(-a / mean), for certain."""
    m, whole = stream.digits, 1 << stream.bits
    top, bottom = (c.divide(-at * mean.denominator, mean.numerator) for at in (a, a + 1))
    # [neighbours] all is correctly rounded, so a real number lies between those of its decimal
    most = c.next_minus(c.exp(c.next_minus(top)))
    least = c.next_plus(c.exp(c.next_plus(bottom)))
    # [certain-log]
    return (least <= c.next_minus(c.divide(m, whole))
            and c.next_plus(c.divide(m + 1, whole)) <= most)


def _decimals(stream: Uniform) -> Context:
    """Arithmetic with as many digits as the stream has, and a few."""
    return Context(stream.bits // 3, ROUND_HALF_EVEN, MIN_EMIN, MAX_EMAX, traps=[])


def _times(mean: Fraction, near: float | Decimal) -> int:
    """floor(mean * near), exactly."""
    over, under = near.as_integer_ratio()
    return mean.numerator * over // (mean.denominator * under)


def discrete_laplace(mean: Fraction, noise: Noise) -> int:
    """Two-sided geometric noise: P(Z = z) is proportional to exp(-|z| / mean).

    Added to a count that one unit moves by at most 1, it is (1 / mean)-DP.

    >>> isinstance(discrete_laplace(Fraction(20), system()), int)
    True
    """
    # [difference]
    plus, minus = geometric(mean, 2, noise)
    return plus - minus
