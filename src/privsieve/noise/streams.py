"""Noise: ideal real random variables, exactly rounded or exactly compared.

A uniform real number is an endless stream of binary digits.  We read a prefix, see the number as
the ball that the prefix allows, and carry the ball through the formula.  If the ball decides the
answer, the answer is that of the real number; if not, more digits are read after the same prefix.
So no draw is ever "a float near the formula": see `streams.proof.md`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx, fmpq

from privsieve.errors import ParameterError, ReleaseFailed

#: A formula: balls of standard variables from the streams that they are made of.
Law = Callable[[Sequence["Uniform"]], list[arb]]

#: First digits of a number that decides one coordinate, and of one that decides a vector.
SHORT, LONG = 64, 192
#: Digits per refinement, and the most that a stream may have: broken entropy must end somewhere.
STEP, LONGEST = 64, LONG + 64 * 64
#: Arb's working precision belongs to the process, so one thread at a time may set it.  It is taken
#: around a fork too: a child never inherits it locked.
_LOCK = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release,
                        after_in_child=_LOCK.release)


@contextmanager
def arithmetic(bits: int) -> Iterator[None]:
    """Ball arithmetic at this working precision, for one thread at a time.

    >>> with arithmetic(200):
    ...     (arb(2).sqrt() < 1.5) and ctx.prec
    200
    """
    with _LOCK, ctx.workprec(bits):
        yield


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


def exponential(streams: Sequence[Uniform]) -> list[arb]:
    """-log U: a standard exponential from one stream."""
    return [minus_log(streams)]


def gumbel(streams: Sequence[Uniform]) -> list[arb]:
    """-log(-log U): a standard Gumbel from one stream."""
    return [-minus_log(streams).log()]


def minus_log(streams: Sequence[Uniform]) -> arb:
    """-log of the product: digits `m` of `p` bits say that 2^(p+1) U lies in [2m, 2m + 2]."""
    product, bits = arb(1), 0
    for stream in streams:
        # [ball]
        product *= arb(2 * stream.digits + 1, 1)
        bits += stream.bits + 1
    return bits * arb.const_log2() - product.log()


def floors(streams: Sequence[Uniform], scale: Fraction, law: Law = exponential) -> list[int]:
    """Exactly floor(scale * X) of each stream's X; a stream is refined only where it must be.

    >>> floors([Uniform(2**63, 64, replay(1))], Fraction(10))  # U is 1/2 and a little
    [6]
    """
    # All of them at their first digits, which mostly do: setting the precision takes its time.
    times = _ratio(scale)
    with arithmetic(max((stream.bits for stream in streams), default=0) + 64):
        first = [_floor(law([stream])[0], times, 0) for stream in streams]
    return [certain([stream], scale, law)[0] if floor is None else floor
            for stream, floor in zip(streams, first, strict=True)]


def certain(streams: Sequence[Uniform], scale: Fraction, law: Law, *,
            shift: Fraction = Fraction(0)) -> list[int]:
    """Exactly floor(scale * X + shift) of each X that a law makes of the streams together.

    >>> certain(uniforms(1, 64, replay(1)), Fraction(0), exponential, shift=Fraction(7, 2))
    [3]
    """
    while True:
        with arithmetic(streams[0].bits + 64 + len(streams).bit_length()):
            found = [_floor(ball, _ratio(scale), _ratio(shift)) for ball in law(streams)]
        answers = [floor for floor in found if floor is not None]
        if len(answers) == len(found):
            return answers
        # [together] all are read on: the next balls are of the same numbers
        for stream in streams:
            stream.refine()


def _floor(ball: arb, times: fmpq, plus: fmpq | int) -> int | None:
    # [certain] None unless the ball allows one integer only; no ball, no integer.
    answer = (ball * times + plus).floor().unique_fmpz()
    return None if answer is None else int(answer)


def _ratio(x: Fraction) -> fmpq:
    return fmpq(x.numerator, x.denominator)


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
