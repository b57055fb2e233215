"""Races: add one-sided noise to each score, name the k largest, keep the scores.

Scores are exact integers.  What leaves is a set of positions, or their order, never a noisy score.
The theorems are in `race.proof.md`.
"""

from __future__ import annotations

from fractions import Fraction
from operator import index
from typing import TYPE_CHECKING

from privsieve.errors import ParameterError, ReleaseFailed
from privsieve.privacy.noise import SHORT, floors, geometric, uniforms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privsieve.privacy.noise import Noise

#: Binary places at which two real scores are first compared, and the last at which we try.
PLACES, LAST_PLACES = 32, 32 * 64


def noise_mean(d: int, k: int, sensitivity: int, epsilon: Fraction, *,
               ordered: bool = False) -> Fraction:
    """Mean of the noise that makes a race for k of d scores epsilon-DP; 0 if there is no choice.

    >>> noise_mean(30, 5, 24, Fraction(1)), noise_mean(30, 25, 24, Fraction(1))
    (Fraction(240, 1), Fraction(240, 1))
    """
    if not 1 <= k <= d:
        raise ParameterError(f"{k} of {d} columns are to be chosen; choose from 1 to {d}")
    if sensitivity < 1 or epsilon <= 0:
        raise ParameterError(f"the sensitivity is {sensitivity} and epsilon is {epsilon}; "
                             "both must be larger than 0")
    # [winners] as many as must be named one by one: the rest of the answer follows from them.
    named = min(k, d - 1) if ordered else min(k, d - k)
    # [noise-scale]
    return Fraction(2 * named * sensitivity) / epsilon


def top_k(scores: Sequence[int], k: int, sensitivity: int, epsilon: Fraction, noise: Noise, *,
          ordered: bool = False) -> tuple[int, ...]:
    """Positions of k large scores, epsilon-DP if a unit moves no score by more than `sensitivity`.

    A set is returned in the order of positions; with `ordered`, the best comes first, and the
    order is covered as well.  Either direction of a neighbour, replaced or removed, is covered.

    >>> from privsieve.privacy.noise import replay
    >>> top_k([900, 100, 500, 0], 2, 1, Fraction(1), replay(1))
    (0, 2)
    """
    d = len(scores)
    mean = noise_mean(d, k, sensitivity, epsilon, ordered=ordered)
    if not mean:
        # [everything]
        return tuple(range(d))
    if ordered or k <= d - k:
        # [largest]
        return geometric_race(scores, k, mean, noise, ordered=ordered)
    # [smallest] to name those left out is cheaper
    out = set(geometric_race([-index(s) for s in scores], d - k, mean, noise))
    return tuple(j for j in range(d) if j not in out)


def geometric_race(scores: Sequence[int], k: int, mean: Fraction, noise: Noise, *,
                   ordered: bool = False) -> tuple[int, ...]:
    """The k largest of s_j + G_j, where P(G_j >= a) = exp(-a / mean); ties to the lower index.

    >>> from privsieve.privacy.noise import replay
    >>> geometric_race([900, 100, 1000, 0], 2, Fraction(2), replay(1), ordered=True)
    (2, 0)
    """
    drawn = geometric(mean, len(scores), noise)
    noisy = [index(s) + g for s, g in zip(scores, drawn, strict=True)]
    best = _ranking(noisy)[:k]
    return tuple(best if ordered else sorted(best))


def exponential_race(scores: Sequence[int], k: int, mean: Fraction, noise: Noise, *,
                     ordered: bool = False) -> tuple[int, ...]:
    """The k largest of s_j + E_j, where E_j is a real exponential of this mean, compared exactly.

    >>> from privsieve.privacy.noise import replay
    >>> exponential_race([900, 100, 500, 0], 2, Fraction(2), replay(1))
    (0, 2)
    """
    streams = uniforms(len(scores), SHORT, noise)
    for places in range(PLACES, LAST_PLACES + 1, PLACES):
        # [places] floors of the real numbers 2^places (s_j + E_j), always of the same E_j.
        drawn = floors(streams, mean * 2**places)
        noisy = [(index(s) << places) + e for s, e in zip(scores, drawn, strict=True)]
        order = _ranking(noisy)
        # [strictly] different floors decide which of two real numbers is larger; equal ones do not.
        first = 0 if ordered else k - 1
        pairs = zip(order[first:k], order[first + 1 : k + 1], strict=False)
        if all(noisy[better] > noisy[worse] for better, worse in pairs):
            return tuple(order[:k] if ordered else sorted(order[:k]))
    raise ReleaseFailed


def _ranking(noisy: Sequence[int]) -> list[int]:
    # [ties] the lower index wins: a public rule.
    return sorted(range(len(noisy)), key=lambda j: (-noisy[j], j))
