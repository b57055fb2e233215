"""Balls: formulas of uniform numbers, computed in Arb's balls, which hold every possible value.

A `Uniform` of which a prefix was read is a ball; what a formula makes of it is a ball that holds
the real value, and an answer is accepted where the ball allows one only.  See `streams.proof.md`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction

from flint import arb, ctx, fmpq

from privsieve.noise.streams import Uniform

#: A formula: balls of standard variables from the streams that they are made of.
Law = Callable[[Sequence[Uniform]], list[arb]]

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


def floors(streams: Sequence[Uniform], scale: Fraction, law: Law) -> list[int]:
    """Exactly floor(scale * X) of each stream's X; a stream is refined only where it must be.

    >>> from privsieve.noise.streams import replay
    >>> floors([Uniform(2**63, 64, replay(1))], Fraction(10), exponential)  # U is 1/2 or more
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

    >>> from privsieve.noise.streams import replay, uniforms
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
