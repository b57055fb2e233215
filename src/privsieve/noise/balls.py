"""Balls: formulas of uniform numbers in Arb's balls, which contain every possible value.

The prefix of a `Uniform` is a ball, and so is a formula of it.  An answer is accepted if it is the
only one in the ball.  See `streams.proof.md`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction

from flint import arb, ctx, fmpq

from privsieve.noise.streams import Uniform

#: A formula: streams in, balls of standard variables out.
Law = Callable[[Sequence[Uniform]], list[arb]]

#: Arb's working precision belongs to the process, so one thread at a time may set it.  Forks wait
#: for the lock, so that a child never inherits it locked.
_LOCK = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release,
                        after_in_child=_LOCK.release)


@contextmanager
def arithmetic(bits: int) -> Iterator[None]:
    """Compute with balls at this working precision, in one thread at a time.

    >>> with arithmetic(200):
    ...     (arb(2).sqrt() < 1.5) and ctx.prec
    200
    """
    with _LOCK, ctx.workprec(bits):
        yield


def exponential(streams: Sequence[Uniform]) -> list[arb]:
    """Return -log U: a standard exponential from one stream."""
    return [minus_log(streams)]


def gumbel(streams: Sequence[Uniform]) -> list[arb]:
    """Return -log(-log U): a standard Gumbel from one stream."""
    return [-minus_log(streams).log()]


def minus_log(streams: Sequence[Uniform]) -> arb:
    """Return -log of the product; digits `m` of `p` bits mean 2^(p+1) U in [2m, 2m + 2]."""
    product, bits = arb(1), 0
    for stream in streams:
        # [ball]
        product *= arb(2 * stream.digits + 1, 1)
        bits += stream.bits + 1
    return bits * arb.const_log2() - product.log()


def floors(streams: Sequence[Uniform], scale: Fraction, law: Law) -> list[int]:
    """Return floor(scale * X) of each stream's X, exactly; refine a stream only if needed.

    >>> from privsieve.noise.streams import replay
    >>> floors([Uniform(2**63, 64, replay(1))], Fraction(10), exponential)  # U is 1/2 or more
    [6]
    """
    # First all at once: setting the precision takes time, and the first digits mostly decide.
    times = _ratio(scale)
    with arithmetic(max((stream.bits for stream in streams), default=0) + 64):
        first = [_floor(law([stream])[0], times, 0) for stream in streams]
    return [certain([stream], scale, law)[0] if floor is None else floor
            for stream, floor in zip(streams, first, strict=True)]


def certain(streams: Sequence[Uniform], scale: Fraction, law: Law, *,
            shift: Fraction = Fraction(0)) -> list[int]:
    """Return floor(scale * X + shift) of each X that a law makes of the streams, exactly.

    >>> from privsieve.noise.streams import replay, uniforms
    >>> certain(uniforms(1, 64, replay(1)), Fraction(0), exponential, shift=Fraction(7, 2))
    [3]
    """
    while True:
        with arithmetic(streams[0].bits + 64 + len(streams).bit_length()):
            answers = [_floor(ball, _ratio(scale), _ratio(shift)) for ball in law(streams)]
        known = [floor for floor in answers if floor is not None]
        if len(known) == len(answers):
            return known
        # [together] refine all: the next balls are of the same numbers
        for stream in streams:
            stream.refine()


def _floor(ball: arb, times: fmpq, plus: fmpq | int) -> int | None:
    # [certain] None unless the ball allows one integer only; an empty ball allows none.
    answer = (ball * times + plus).floor().unique_fmpz()
    return None if answer is None else int(answer)


def _ratio(x: Fraction) -> fmpq:
    return fmpq(x.numerator, x.denominator)
