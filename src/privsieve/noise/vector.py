"""Vectors: noise whose density falls with the Euclidean length, exactly rounded to a grid."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from operator import index

from flint import arb

from privsieve.errors import ParameterError
from privsieve.noise.streams import LONG, Noise, Uniform, certain, minus_log, uniforms
from privsieve.public.canonical import LARGEST  # to which what leaves is clamped

#: Exponents of the grids on which every clamped multiple is a finite double.
SMALLEST_EXPONENT, LARGEST_EXPONENT = -1074, 970


def gamma_norm(w: Sequence[int], beta: Fraction, k: int, noise: Noise) -> list[int]:
    """The vector w 2^k + b, rounded to the grid 2^k, where b has density ~ exp(-beta ||b||_2).

    `w` and the answer are in units of 2^k; the answer is clamped at 2^53 - 1.  If neighbours move
    w 2^k by at most D in the Euclidean norm, it is (beta D)-DP.

    >>> from privsieve.noise.streams import system
    >>> len(gamma_norm([0, 0, 0], Fraction(1), -20, system()))
    3
    """
    check_exponent(k)
    if not w or beta <= 0 or len(w) >= LARGEST * beta * Fraction(2) ** k:
        raise ParameterError(
            f"noise of {len(w)} coordinates with beta = {beta} does not fit the grid 2^{k}; "
            "choose at least one coordinate, beta > 0, and a grid above 2^-53 of the noise"
        )
    return added(w, gamma_drawn(len(w), beta, k, noise))


def gamma_drawn(d: int, beta: Fraction, k: int, noise: Noise) -> list[int]:
    """The noise b of `gamma_norm` alone, rounded to the grid, in units of 2^k, and not clamped.

    >>> from privsieve.noise.streams import replay
    >>> gamma_drawn(2, Fraction(1), 0, replay(1))
    [-1, 2]
    """
    streams = uniforms(d + 2 * ((d + 1) // 2), LONG, noise)
    # [round]
    return certain(streams, 1 / (beta * Fraction(2) ** k), spherical, shift=Fraction(1, 2))


def added(w: Sequence[int], drawn: Sequence[int]) -> list[int]:
    """The sums, clamped to what a release can hold: a draw never makes it fail.

    >>> added([1, 2**60], [2, 0]) == [3, 2**53 - 1]
    True
    """
    # [add] `w` meets noise that is already an integer.  [clamp]
    return [max(-LARGEST, min(LARGEST, index(at) + b)) for at, b in zip(w, drawn, strict=True)]


def check_exponent(k: int) -> None:
    """Refuse a grid whose points are no doubles.

    >>> check_exponent(-37)
    """
    if not SMALLEST_EXPONENT <= k <= LARGEST_EXPONENT:
        raise ParameterError(
            f"the grid's exponent is {k}; it must be between {SMALLEST_EXPONENT} "
            f"and {LARGEST_EXPONENT}"
        )


def spherical(streams: Sequence[Uniform]) -> list[arb]:
    """Balls of b in units of 1 / beta: a length that is Gamma(d), and a uniform direction.

    Of the streams the first d make the length, and the others, an even number, the direction.
    """
    d = len(streams) // 4 * 2 + (1 if len(streams) % 4 == 3 else 0)
    radius, pairs = streams[:d], streams[d:]
    normals: list[arb] = []
    for v, t in zip(pairs[::2], pairs[1::2], strict=True):
        normals += normal([v, t])
    square = 2 * minus_log(pairs[::2])
    for unused in normals[d:]:
        square -= unused * unused
    # [radius]
    scale = minus_log(radius) / square.sqrt()
    return [scale * x for x in normals[:d]]


def normal(streams: Sequence[Uniform]) -> list[arb]:
    """Two independent standard normals from two uniforms."""
    v, t = streams
    # [normal]
    sine, cosine = (arb(2 * t.digits + 1, 1) / (1 << t.bits)).sin_cos_pi()
    far = (2 * minus_log((v,))).sqrt()
    return [far * cosine, far * sine]
