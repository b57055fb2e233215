"""Race: noisy top-k selection.  Add noise to each score; release the positions of the k largest.

Scores are exact integers.  The release is a set of places, or their order, and never a noisy score.
A `Race` decides the law and the size of the noise from public numbers, and forecasts its accuracy.
The theorems are in `race.proof.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, expm1, lgamma, log, log1p, sqrt
from operator import index
from typing import TYPE_CHECKING, Literal

from privsieve.errors import ParameterError, ReleaseFailed
from privsieve.public import event

if TYPE_CHECKING:
    from privsieve.noise.streams import Noise

#: The first and the last number of binary places at which two real scores are compared.
PLACES, LAST_PLACES = 32, 32 * 64
#: Gaps, in scales of exponential noise, at which two laws are compared.
GAPS = (0.25, 0.5, 1, 2, 3, 4, 6, 8)
#: Smaller differences of shares count as 0.
SAME = 1e-9
#: Laws are compared to first order: the better one must stay better with this much more noise.
MARGIN = 1.02
#: The most names of a Gumbel race that are followed one by one; else the first order is used.
FOLLOWED = 100


@dataclass(frozen=True)
class Race:
    """The noise of a selection of k of d scores, decided from public numbers alone.

    sensitivity : the most that a unit moves a score, in either direction
    ordered : whether the order is released too, with the best first

    >>> race = Race(30, 5, 24, Fraction(1))
    >>> race.kind, race.scale, race.named, race.account
    ('exponential', Fraction(240, 1), 5, 'pure')
    >>> race = Race(100, 20, 24, Fraction(1), delta=Fraction(1, 10**6))
    >>> race.kind, int(race.scale), race.account
    ('gumbel', 450, 'approximate')
    """

    d: int
    k: int
    sensitivity: int
    epsilon: Fraction
    _: KW_ONLY
    delta: Fraction = Fraction(0)
    ordered: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.k <= self.d:
            raise ParameterError(f"the number of columns to choose is {self.k}; choose from 1 to "
                                 f"{self.d}")
        if self.sensitivity < 1 or self.epsilon <= 0:
            raise ParameterError(f"the sensitivity is {self.sensitivity} and epsilon is "
                                 f"{self.epsilon}; both must be larger than 0")
        if not 0 <= self.delta < 1:
            raise ParameterError(f"delta is {self.delta}; it must lie between 0 and 1")

    @property
    def named(self) -> int:
        """Return the number of positions that the noise has to name one by one."""
        # [winners] the other positions follow from them
        return min(self.k, self.d - 1 if self.ordered else self.d - self.k)

    @property
    def smallest(self) -> bool:
        """Return whether the noise names the positions to leave out."""
        return not self.ordered and self.k > self.d - self.k

    @property
    def kind(self) -> Literal["exponential", "gumbel"]:
        """Return the law of the noise: "exponential", or "gumbel" if it uses the delta."""
        return "exponential" if self._gumbel is None else "gumbel"

    @cached_property
    def scale(self) -> Fraction:
        """Return the scale of the noise, in units of a score; 0 if there is no choice."""
        return (self._pure if self._gumbel is None else self._gumbel) * self.sensitivity

    @property
    def account(self) -> Literal["pure", "approximate"]:
        """Return the kind of account: "approximate" if the delta is used."""
        return "pure" if self._gumbel is None else "approximate"

    @property
    def rho(self) -> Fraction:
        """Return the rho that it spends under zCDP."""
        if self._gumbel is not None:
            return self.named / (2 * self._gumbel**2)
        return self.epsilon**2 / 2 if self.named else Fraction(0)

    @property
    def event(self) -> event.RaceEvent:
        """Return the event for an accountant."""
        return event.RaceEvent(self.kind, self.d, self.named, str(self.scale / self.sensitivity))

    @cached_property
    def _pure(self) -> Fraction:
        """Return the scale without a delta, at sensitivity 1."""
        # [noise-scale] twice the sensitivity for each name
        return Fraction(2 * self.named) / self.epsilon

    @cached_property
    def _gumbel(self) -> Fraction | None:
        """Return the scale with the delta, at sensitivity 1; None if it is not more accurate."""
        if not self.delta or not self.named:
            return None
        from privsieve.noise.approximate import gumbel_scale

        # [delta-scale] at sensitivity 1, so that the choice below does not depend on it
        scale = gumbel_scale(self.named, self.epsilon, self.delta)
        # [branch] by the forecast, from public numbers; if all are ordered, for one half
        sought = self.named if self.k < self.d else self.d // 2
        return scale if better(float(scale / self._pure), self.d, sought) else None

    def share(self, d: int, k: int, gap: float, *, leaders: int | None = None) -> float:
        """Return the expected share of the leaders that it names, with this gap to the others.

        k : the number of names out of d
        leaders : the number of leaders, at least k; by default k

        >>> round(Race(30, 8, 1, Fraction(1)).share(30, 8, 32), 2)
        0.74
        """
        if not self.named:
            return 1.0
        if self.smallest:
            left = d - k  # the noise names these
            return 1 - left * (1 - recall(self.kind, d, left, gap / float(self.scale))) / k
        return recall(self.kind, d, k, gap / float(self.scale), leaders=leaders)


def top_k(scores: Sequence[int], race: Race, noise: Noise) -> tuple[int, ...]:
    """Return the positions of k large scores, (epsilon, delta)-DP.

    An unordered set is sorted by position; in an ordered race the best comes first.

    >>> from privsieve.noise.streams import replay
    >>> top_k([900, 100, 500, 0], Race(4, 2, 1, Fraction(1)), replay(1))
    (0, 2)
    """
    d, k = race.d, race.k
    if len(scores) != d:
        raise ParameterError(f"there are {len(scores)} scores; this selection needs {d}")
    if not race.named:
        # [everything]
        return tuple(range(d))
    run = gumbel_race if race.kind == "gumbel" else geometric_race
    if not race.smallest:
        # [largest]
        return run(scores, k, race.scale, noise, ordered=race.ordered)
    # [smallest] naming the positions to leave out is cheaper
    out = set(run([-index(s) for s in scores], d - k, race.scale, noise))
    return tuple(j for j in range(d) if j not in out)


def geometric_race(scores: Sequence[int], k: int, mean: Fraction, noise: Noise, *,
                   ordered: bool = False) -> tuple[int, ...]:
    """Return the k largest s_j + G_j, with P(G_j >= a) = exp(-a / mean); lower index wins ties.

    >>> from privsieve.noise.streams import replay
    >>> geometric_race([900, 100, 1000, 0], 2, Fraction(2), replay(1), ordered=True)
    (2, 0)
    """
    from privsieve.noise.streams import geometric

    drawn = geometric(mean, len(scores), noise)
    best = _ranking([index(s) + g for s, g in zip(scores, drawn, strict=True)])[:k]
    return tuple(best if ordered else sorted(best))


def gumbel_race(scores: Sequence[int], k: int, scale: Fraction, noise: Noise, *,
                ordered: bool = False) -> tuple[int, ...]:
    """Return the k largest s_j + scale * X_j with standard Gumbel X_j, compared exactly.

    >>> from privsieve.noise.streams import replay
    >>> gumbel_race([900, 100, 500, 0], 2, Fraction(2), replay(1))
    (0, 2)
    """
    from privsieve.noise.balls import floors, gumbel
    from privsieve.noise.streams import SHORT, uniforms

    streams = uniforms(len(scores), SHORT, noise)
    for places in range(PLACES, LAST_PLACES + 1, PLACES):
        # [places] floors of the real numbers 2^places (s_j + X_j), always of the same X_j.
        drawn = floors(streams, scale * 2**places, gumbel)
        noisy = [(index(s) << places) + x for s, x in zip(scores, drawn, strict=True)]
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


def recall(law: str, d: int, k: int, gap: float, *, leaders: int | None = None) -> float:
    """Return the share of the leaders that a race for k of d names, `gap` noise scales ahead.

    leaders : the number of leaders, at least k; by default k

    Exponential noise has no memory.  A of the d - leaders others, a binomial number with
    p = exp(-gap), pass the level of the leaders, and all above it are in uniform order: the share
    is k E[1 / (A + leaders)].  In a Gumbel race each name is a choice by known weights among the
    remaining ones.  Few names are followed one by one, many to first order.

    >>> [round(recall(law, 100, 20, 3), 2) for law in ("exponential", "gumbel")]
    [0.84, 0.74]
    >>> round(recall("exponential", 100, 2, 3, leaders=20), 3)
    0.084
    """
    leaders = k if leaders is None else leaders
    if k == d:
        return 1.0
    if law == "exponential":
        return k * _mean_inverse(d - leaders, exp(-gap), leaders)
    return (_followed if k <= FOLLOWED else _first_order)(d, k, gap, leaders)


def _mean_inverse(n: int, p: float, k: int) -> float:
    """Return E[1 / (A + k)] for a binomial A: n tries of p.

    For a wide law only every few values are summed.  By Poisson's summation formula the error is
    of the order of its characteristic function there, or of P(A = 0); both are below exp(-35).

    >>> round(2 * _mean_inverse(4, 0.5, 2), 9), 43 / 80
    (0.5375, 0.5375)
    """
    if p >= 1 or p <= 0:
        return 1 / (n + k if p >= 1 else k)
    middle, spread = int(n * p), sqrt(n * p * (1 - p))
    step, reach = int(spread / 2) if spread > 6 else 1, int(7 * spread) + 20
    odds = log(p) - log1p(-p)
    top = lgamma(middle + 1) + lgamma(n - middle + 1)
    total = inverse = 0.0
    for a in range(max(0, middle - reach), min(n, middle + reach) + 1, step):
        weight = exp(top - lgamma(a + 1) - lgamma(n - a + 1) + (a - middle) * odds)
        total += weight
        inverse += weight / (a + k)
    return inverse / total


def _followed(d: int, k: int, gap: float, leaders: int) -> float:
    """Return the share of the leaders among the first k names of a Gumbel race."""
    law, behind = [1.0], exp(-gap)  # the probability of each number of named leaders
    for named in range(k):
        after = [0.0] * (len(law) + 1)
        for hits, likely in enumerate(law):
            left = leaders - hits
            others = max(0, d - leaders - named + hits) * behind
            next_leads = likely * left / (left + others) if left > 0 else 0.0
            after[hits + 1] += next_leads
            after[hits] += likely - next_leads
        law = after
    return sum(hits * likely for hits, likely in enumerate(law)) / leaders


def _first_order(d: int, k: int, gap: float, leaders: int) -> float:
    """Return the share of a Gumbel race with a constant threshold t.

    It has k expected noisy scores above it: leaders P(X > t - gap) + (d - leaders) P(X > t) = k.
    The share is P(X > t - gap).
    """
    low = -log(-log1p(-k / d))
    high = low + gap
    for _ in range(80):
        middle = (low + high) / 2
        above = leaders * _tail(middle - gap) + (d - leaders) * _tail(middle)
        low, high = (middle, high) if above > k else (low, middle)
    return _tail(high - gap)


def better(times: float, d: int, k: int, *, gaps: Sequence[float] = GAPS) -> bool:
    """Return whether Gumbel noise is at least as accurate at all gaps, and better at one.

    times : its scale, relative to that of the exponential noise

    >>> better(0.9, 30, 8), better(0.7, 30, 8)
    (False, True)
    """
    # Both to the same order, so that a difference does not come from the approximation.
    gains = [_first_order(d, k, gap / (MARGIN * times), k) - k / (k + (d - k) * exp(-gap))
            for gap in gaps]
    return min(gains) >= -SAME and max(gains) > SAME


def _tail(x: float) -> float:
    """Return P(X > x) of a standard Gumbel variable."""
    return -expm1(-exp(-x)) if x > -20 else 1.0
