"""Noise: ideal real random variables, exactly rounded or exactly compared.

A uniform real number is an endless stream of binary digits.  We read a prefix, see the number as
the ball that the prefix allows, and carry the ball through the formula.  If the ball decides the
answer, the answer is that of the real number; if not, more digits are read after the same prefix.
So no draw is ever "a float near the formula": see `noise.proof.md`.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from fractions import Fraction
from operator import index
from typing import TYPE_CHECKING

from flint import arb, ctx, fmpq

from privsieve.errors import ParameterError, ReleaseFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

#: First digits of a number that decides one coordinate, and of one that decides a vector.
SHORT, LONG = 64, 192
#: Digits per refinement, and the most that a stream may have: broken entropy must end somewhere.
STEP, LONGEST = 64, LONG + 64 * 64
#: Vector noise is clamped to the integers that a double holds exactly.
LARGEST = 2**53
#: Exponents of the grids on which every clamped multiple is a finite double.
SMALLEST_EXPONENT, LARGEST_EXPONENT = -1074, 970

#: Arb's working precision belongs to the process, so one thread at a time may set it.  It is taken
#: around a fork too: a child never inherits it locked.
_LOCK = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release
    )


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
        import hashlib

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


def floors(streams: Sequence[Uniform], mean: Fraction) -> list[int]:
    """Exactly floor(-mean * log U) of each stream; a stream is refined only where it must be.

    >>> floors([Uniform(2**63, 64, replay(1))], Fraction(10))  # U is 1/2 and a little
    [6]
    """
    factor = fmpq(mean.numerator, mean.denominator)
    with _LOCK:
        return [_floor(stream, factor) for stream in streams]


def _floor(stream: Uniform, factor: fmpq) -> int:
    while True:
        with ctx.workprec(stream.bits + 64):
            # [certain] None unless the ball allows one integer only; no ball, no integer.
            answer = (_minus_log((stream,)) * factor).floor().unique_fmpz()
        if answer is not None:
            return int(answer)
        stream.refine()


def _minus_log(streams: Sequence[Uniform]) -> arb:
    """-log of the product: digits `m` of `p` bits say that 2^(p+1) U lies in [2m, 2m + 2]."""
    product, bits = arb(1), 0
    for stream in streams:
        # [ball]
        product *= arb(2 * stream.digits + 1, 1)
        bits += stream.bits + 1
    return bits * arb.const_log2() - product.log()


def geometric(mean: Fraction, count: int, noise: Noise) -> list[int]:
    """Draws with P(G >= a) = exp(-a / mean), exactly: floors of exponentials.

    `mean` is that of the exponential.

    >>> len(geometric(Fraction(48), 3, system()))
    3
    """
    if mean <= 0:
        raise ParameterError(f"the mean of noise is {mean}; it must be larger than 0")
    # [geometric]
    return floors(uniforms(count, SHORT, noise), mean)


def discrete_laplace(mean: Fraction, noise: Noise) -> int:
    """Two-sided geometric noise: P(Z = z) is proportional to exp(-|z| / mean).

    Added to a count that one unit moves by at most 1, it is (1 / mean)-DP.

    >>> isinstance(discrete_laplace(Fraction(20), system()), int)
    True
    """
    # [difference]
    plus, minus = geometric(mean, 2, noise)
    return plus - minus


def gamma_norm(w: Sequence[int], beta: Fraction, k: int, noise: Noise) -> list[int]:
    """The vector w 2^k + b, rounded to the grid 2^k, where b has density ~ exp(-beta ||b||_2).

    `w` and the answer are in units of 2^k; the answer is clamped at 2^53.  If neighbours move
    w 2^k by at most D in the Euclidean norm, it is (beta D)-DP.

    >>> len(gamma_norm([0, 0, 0], Fraction(1), -20, system()))
    3
    """
    if not SMALLEST_EXPONENT <= k <= LARGEST_EXPONENT:
        raise ParameterError(
            f"the grid's exponent is {k}; it must be between {SMALLEST_EXPONENT} "
            f"and {LARGEST_EXPONENT}"
        )
    if not w or beta <= 0 or len(w) >= LARGEST * beta * Fraction(2) ** k:
        raise ParameterError(
            f"noise of {len(w)} coordinates with beta = {beta} does not fit the grid 2^{k}; "
            "choose at least one coordinate, beta > 0, and a grid above 2^-53 of the noise"
        )
    d = len(w)
    streams = uniforms(d + 2 * ((d + 1) // 2), LONG, noise)
    rounded = _rounded(streams, d, 1 / (beta * Fraction(2) ** k))
    # [add] `w` meets noise that is already an integer.  [clamp]
    return [max(-LARGEST, min(LARGEST, index(at) + b)) for at, b in zip(w, rounded, strict=True)]


def _rounded(streams: Sequence[Uniform], d: int, unit: Fraction) -> list[int]:
    """floor(b + 1/2) for each coordinate of b; every stream is refined until all are certain."""
    half = fmpq(1, 2)
    while True:
        with _LOCK, ctx.workprec(streams[0].bits + 64 + d.bit_length()):
            balls = _vector(streams[:d], streams[d:], unit)
            answers = [(ball + half).floor().unique_fmpz() for ball in balls]
        certain = [int(answer) for answer in answers if answer is not None]
        if len(certain) == d:
            return certain
        for stream in streams:
            stream.refine()


def _vector(radius: Sequence[Uniform], pairs: Sequence[Uniform], unit: Fraction) -> list[arb]:
    """Balls of b: a length that is Gamma(d) in units of `unit`, and a uniform direction."""
    normal: list[arb] = []
    for v, t in zip(pairs[::2], pairs[1::2], strict=True):
        # [normal] two independent standard normals from two uniforms.
        sine, cosine = (arb(2 * t.digits + 1, 1) / (1 << t.bits)).sin_cos_pi()
        far = (2 * _minus_log((v,))).sqrt()
        normal += [far * cosine, far * sine]
    square = 2 * _minus_log(pairs[::2])
    for unused in normal[len(radius) :]:
        square -= unused * unused
    # [radius]
    length = _minus_log(radius) * fmpq(unit.numerator, unit.denominator)
    scale = length / square.sqrt()
    return [scale * x for x in normal[: len(radius)]]
