"""Races: add noise to each score, name the k largest, keep the scores.

Scores are exact integers.  What leaves is a set of positions, or their order, never a noisy score.
Which noise and how much of it is a `Race`: a function of public numbers.  The theorems are in
`race.proof.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import index
from typing import TYPE_CHECKING, Literal

from privsieve.errors import ParameterError, ReleaseFailed
from privsieve.noise.recall import better, found

if TYPE_CHECKING:
    from privsieve.noise.streams import Law, Noise

Kind = Literal["exponential", "laplace", "gumbel"]
KINDS: tuple[Kind, ...] = ("exponential", "laplace", "gumbel")

#: Binary places at which two real scores are first compared, and the last at which we try.
PLACES, LAST_PLACES = 32, 32 * 64


@dataclass(frozen=True)
class Race:
    """What a race for k of d scores does, decided from public numbers alone.

    kind : the law of the noise: "exponential", "laplace" or "gumbel"
    scale : of the noise, in units of a score; 0 where there is no choice
    named : how many positions the noise has to name one by one
    smallest : whether those are the ones to be left out
    account : "pure", or "approximate" where the delta is needed
    rho : what the race spends under zCDP

    >>> race = Race.of(30, 5, 24, Fraction(1))
    >>> race.kind, race.scale, race.named, race.account
    ('exponential', Fraction(240, 1), 5, 'pure')
    >>> race = Race.of(100, 20, 24, Fraction(1), delta=Fraction(1, 10**6))
    >>> race.kind, int(race.scale), race.account
    ('gumbel', 450, 'approximate')
    """

    kind: Kind
    scale: Fraction
    named: int
    smallest: bool
    account: Literal["pure", "approximate"]
    rho: Fraction

    @classmethod
    def of(cls, d: int, k: int, sensitivity: int, epsilon: Fraction, *,
           delta: Fraction = Fraction(0), ordered: bool = False, mechanism: str = "exponential",
           ) -> Race:
        """The race that makes the choice of k out of d (epsilon, delta)-DP and finds the most."""
        kind = _checked(d, k, sensitivity, epsilon, delta=delta, mechanism=mechanism)
        # [winners] as many as must be named one by one: the rest of the answer follows from them.
        named = min(k, d - 1) if ordered else min(k, d - k)
        smallest = not ordered and k > d - k
        # [noise-scale] twice the sensitivity for each name; with Laplace, once for each score
        times = min(2 * named, d) if kind == "laplace" else 2 * named
        unit = Fraction(times) / epsilon
        if delta and named:
            from privsieve.noise.bounded_range import gumbel_scale

            # [delta-scale] at sensitivity 1, so that the choice below does not depend on it
            less = gumbel_scale(named, epsilon, delta)
            sought = named if not ordered else k if k < d else d // 2
            # [branch] by what is found, from public numbers; where all are ordered, of one half
            if better("gumbel", kind, float(less / unit), (d, sought)):
                return cls("gumbel", less * sensitivity, named, smallest, "approximate",
                           named / (2 * less**2))
        # Laplace noise is symmetric: naming the smallest of -s is naming the largest of s.
        rho = named / (2 * unit**2) if kind == "gumbel" and named else epsilon**2 / 2
        return cls(kind, unit * sensitivity, named, smallest and kind != "laplace", "pure",
                   rho if named else Fraction(0))

    def share(self, d: int, k: int, gap: float) -> float:
        """The expected share of k columns that it finds, each ahead of the others by this gap.

        >>> round(Race.of(30, 8, 1, Fraction(1)).share(30, 8, 32), 2)
        0.73
        """
        if not self.named:
            return 1.0
        if self.smallest:
            # Those left out are raced.
            left = d - k
            return 1 - left * (1 - found(self.kind, d, left, gap / float(self.scale))) / k
        return found(self.kind, d, k, gap / float(self.scale))


def _checked(d: int, k: int, sensitivity: int, epsilon: Fraction, *, delta: Fraction,
             mechanism: str) -> Kind:
    if not 1 <= k <= d:
        raise ParameterError(f"{k} of {d} columns are to be chosen; choose from 1 to {d}")
    if sensitivity < 1 or epsilon <= 0:
        raise ParameterError(f"the sensitivity is {sensitivity} and epsilon is {epsilon}; "
                             "both must be larger than 0")
    if not 0 <= delta < 1:
        raise ParameterError(f"delta is {delta}; it must lie between 0 and 1")
    for kind in KINDS:
        if kind == mechanism:
            return kind
    raise ParameterError(f"the mechanism is {mechanism!r}; write one of {', '.join(KINDS)}")


def noise_mean(d: int, k: int, sensitivity: int, epsilon: Fraction, *,
               ordered: bool = False, delta: Fraction = Fraction(0),
               mechanism: str = "exponential") -> Fraction:
    """Scale (for exponential noise: mean) of the noise of a race for k of d; 0 if no choice is.

    >>> noise_mean(30, 5, 24, Fraction(1)), noise_mean(30, 25, 24, Fraction(1))
    (Fraction(240, 1), Fraction(240, 1))
    """
    return Race.of(d, k, sensitivity, epsilon, delta=delta, ordered=ordered,
                   mechanism=mechanism).scale


def top_k(scores: Sequence[int], k: int, sensitivity: int, epsilon: Fraction, noise: Noise, *,
          ordered: bool = False, delta: Fraction = Fraction(0), mechanism: str = "exponential",
          ) -> tuple[int, ...]:
    """Positions of k large scores, (epsilon, delta)-DP.

    A unit moves no score by more than `sensitivity`.  A set is returned in the order of positions;
    with `ordered`, the best comes first, and the order is covered as well.  Either direction of a
    neighbour, replaced or removed, is covered.

    >>> from privsieve.noise.streams import replay
    >>> top_k([900, 100, 500, 0], 2, 1, Fraction(1), replay(1))
    (0, 2)
    """
    d = len(scores)
    race = Race.of(d, k, sensitivity, epsilon, delta=delta, ordered=ordered, mechanism=mechanism)
    if not race.named:
        # [everything]
        return tuple(range(d))
    run = {"exponential": geometric_race, "laplace": laplace_race, "gumbel": gumbel_race}[race.kind]
    if not race.smallest:
        # [largest]
        return run(scores, k, race.scale, noise, ordered=ordered)
    # [smallest] to name those left out is cheaper
    out = set(run([-index(s) for s in scores], d - k, race.scale, noise))
    return tuple(j for j in range(d) if j not in out)


def geometric_race(scores: Sequence[int], k: int, mean: Fraction, noise: Noise, *,
                   ordered: bool = False) -> tuple[int, ...]:
    """The k largest of s_j + G_j, where P(G_j >= a) = exp(-a / mean); ties to the lower index.

    >>> from privsieve.noise.streams import replay
    >>> geometric_race([900, 100, 1000, 0], 2, Fraction(2), replay(1), ordered=True)
    (2, 0)
    """
    from privsieve.noise.streams import geometric

    drawn = geometric(mean, len(scores), noise)
    return _best([index(s) + g for s, g in zip(scores, drawn, strict=True)], k, ordered=ordered)


def laplace_race(scores: Sequence[int], k: int, scale: Fraction, noise: Noise, *,
                 ordered: bool = False) -> tuple[int, ...]:
    """The k largest of s_j + Z_j, P(Z_j = z) ~ exp(-|z| / scale); ties to the lower index.

    >>> from privsieve.noise.streams import replay
    >>> laplace_race([900, 100, 1000, 0], 2, Fraction(2), replay(1), ordered=True)
    (2, 0)
    """
    from privsieve.noise.streams import geometric

    # [two-sided]
    plus, minus = (geometric(scale, len(scores), noise) for _ in range(2))
    noisy = [index(s) + p - m for s, p, m in zip(scores, plus, minus, strict=True)]
    return _best(noisy, k, ordered=ordered)


def exponential_race(scores: Sequence[int], k: int, mean: Fraction, noise: Noise, *,
                     ordered: bool = False) -> tuple[int, ...]:
    """The k largest of s_j + E_j, where E_j is a real exponential of this mean, compared exactly.

    >>> from privsieve.noise.streams import replay
    >>> exponential_race([900, 100, 500, 0], 2, Fraction(2), replay(1))
    (0, 2)
    """
    from privsieve.noise.streams import exponential

    return _real_race(scores, k, mean, noise, law=exponential, ordered=ordered)


def gumbel_race(scores: Sequence[int], k: int, scale: Fraction, noise: Noise, *,
                ordered: bool = False) -> tuple[int, ...]:
    """The k largest of s_j + scale * X_j, where X_j is a standard Gumbel, compared exactly.

    >>> from privsieve.noise.streams import replay
    >>> gumbel_race([900, 100, 500, 0], 2, Fraction(2), replay(1))
    (0, 2)
    """
    from privsieve.noise.streams import gumbel

    return _real_race(scores, k, scale, noise, law=gumbel, ordered=ordered)


def _real_race(scores: Sequence[int], k: int, scale: Fraction, noise: Noise, *, law: Law,
               ordered: bool) -> tuple[int, ...]:
    from privsieve.noise.streams import SHORT, floors, uniforms

    streams = uniforms(len(scores), SHORT, noise)
    for places in range(PLACES, LAST_PLACES + 1, PLACES):
        # [places] floors of the real numbers 2^places (s_j + X_j), always of the same X_j.
        drawn = floors(streams, scale * 2**places, law)
        noisy = [(index(s) << places) + x for s, x in zip(scores, drawn, strict=True)]
        order = _ranking(noisy)
        # [strictly] different floors decide which of two real numbers is larger; equal ones do not.
        first = 0 if ordered else k - 1
        pairs = zip(order[first:k], order[first + 1 : k + 1], strict=False)
        if all(noisy[better] > noisy[worse] for better, worse in pairs):
            return tuple(order[:k] if ordered else sorted(order[:k]))
    raise ReleaseFailed


def _best(noisy: Sequence[int], k: int, *, ordered: bool) -> tuple[int, ...]:
    best = _ranking(noisy)[:k]
    return tuple(best if ordered else sorted(best))


def _ranking(noisy: Sequence[int]) -> list[int]:
    # [ties] the lower index wins: a public rule.
    return sorted(range(len(noisy)), key=lambda j: (-noisy[j], j))
