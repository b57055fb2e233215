"""Sure count: at least how many of the chosen columns are related to the classes.

Of each chosen column c is the largest covariance that a set of its values has with a side of the
classes.  A column that is unrelated reaches tau0 with a chance of at most alpha / d, by the law of
the range of a bridge; a race over "how many" finds a count whose columns lie above it, but for a
chance of beta.  All of it in integers: n times a covariance, for n units.  See
`sure_count.proof.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, isqrt, log
from typing import TYPE_CHECKING, ClassVar

from privsieve.errors import ParameterError
from privsieve.public.columns import Label
from privsieve.public.domain import Domain
from privsieve.public.event import Event

if TYPE_CHECKING:
    from privsieve.noise.streams import Noise
    from privsieve.public.option import Choosing
    from privsieve.summaries.rules import Runs

#: The chance that an unrelated column seems related, and that noise makes the count too large.
ALPHA = BETA = Fraction(1, 40)
#: Up to so many units n times a covariance fits 64 bits, with room.
MOST_UNITS = 2**30
#: Thousandths in which the law's quantile is rounded up.
FINE = 1000


@dataclass(frozen=True)
class SureCount:
    """The public parameters of one count.

    >>> rules = SureCount(Domain.box(0, 1, columns=50), 1000, Fraction(1, 10))
    >>> rules.reach, rules.margin(5)  # n-fold covariances; the largest is n^2 / 4
    (37711, 87555)
    """

    #: The theorem, the field of `release.Selection`, and whether the law is one of exactly the
    #: declared number of persons.
    THEOREM: ClassVar[str] = "sure-count"
    FIELD: ClassVar[str] = "sure"
    SETTLES: ClassVar[bool] = True

    domain: Domain
    units: int
    epsilon: Fraction

    @property
    def moves(self) -> int:
        """How far a unit moves what the race compares."""
        # [sure-sensitivity]
        return max(1, self.units - 1)

    @property
    def reach(self) -> int:
        """What an unrelated column hardly reaches, in n-fold covariances."""
        from privsieve.methods.labels import cuts

        # [cuts-in-alpha] each column is compared with each way to cut the classes in two
        tried = len(self.domain.columns) * len(cuts(self.domain.classes))
        w = quantile(ALPHA / tried)
        # ceil(n sqrt(n) w / 2): sqrt(n) / 2 is the largest scale, that of even classes
        return isqrt(self.units**3 * w.numerator**2 // (4 * w.denominator**2)) + 1

    def margin(self, k: int) -> int:
        """How far above that k columns have to lie, so that noise rarely counts one too many."""
        # [short-t] (k - 1) q^t and k q^(2t) are at most beta (1 + q), with a mean of noise of
        mean = float(2 * self.moves / self.epsilon)
        chance = float(BETA) * (1 + exp(-1 / mean))
        return ceil(mean * max(log(max(k - 1, chance) / chance), log(k / chance) / 2)) + 1

    def warning(self, most: int) -> str | None:
        """A sentence where no column could be counted, not even one that tells even classes apart.

        >>> SureCount(Domain.box(0, 1, columns=50), 10**5, Fraction(1, 10)).warning(5) is None
        True
        """
        if self.reach + self.margin(most) <= self.units**2 // 4:
            return None
        return ("with so few rows and so small a share of epsilon no column could be counted as "
                "sure, not even one that tells the classes apart: give sure= a larger share, or "
                "leave it away")

    def event(self, most: int) -> Event:
        """A race for one number, from 0 to so many."""
        from privsieve.noise.race import Race

        return Race(most + 1, 1, self.moves, self.epsilon).event

    def said(self, runs: Runs, chosen: Sequence[int], noise: Noise) -> int:
        """How many of the chosen columns are surely related, at least."""
        return sure(runs, chosen, noise, rules=self)


def part(asked: Choosing, domain: Domain, units: int, epsilon: Fraction) -> SureCount:
    """A sure count for this epsilon; refuses one that could not be true."""
    if not asked.independent_rows:
        raise ParameterError(
            "sure counts columns that are related to the target, and the count is true only if "
            "rows were drawn independently of each other: rows of one site, machine or season go "
            "together, and unrelated columns would be counted; if yours were, say "
            "independent_rows=True (--independent-rows), or leave sure away")
    if not domain.replaces:
        raise ParameterError("sure needs the number of units, which is private under add-remove; "
                             'say neighbours = "replace-one", or leave sure away')
    if not isinstance(domain.target, Label):
        raise ParameterError("sure counts columns that are related to classes, and the target is "
                             "no label; cut it into classes before, or leave sure away")
    if not 2 <= units <= MOST_UNITS:
        raise ParameterError(f"the table has {units} units; a sure count takes from 2 to "
                             f"{MOST_UNITS}: leave sure away")
    return SureCount(domain, units, epsilon)


def tail(w: float) -> float:
    """The chance that the range of a Brownian bridge is at least w (Kuiper), w >= 1.

    >>> round(tail(2.385), 4)
    0.0005
    """
    return sum((8 * i * i * w * w - 2) * exp(-2 * i * i * w * w) for i in range(1, 20))


def quantile(level: Fraction) -> Fraction:
    """The least range, in thousandths, whose chance is at most this level.

    >>> float(quantile(Fraction(5, 10000)))
    2.385
    """
    # [at-least-two] below 2 any set of eight levels would need more than the range does
    low, high = 2 * FINE, 40 * FINE
    while low < high:
        middle = (low + high) // 2
        if tail(middle / FINE) <= level:
            high = middle
        else:
            low = middle + 1
    return Fraction(low, FINE)


# [sure-mechanism]
def sure(runs: Runs, chosen: Sequence[int], noise: Noise, *, rules: SureCount) -> int:
    """How many of the chosen columns are surely related, at least."""
    from privsieve.noise.race import Race, top_k

    if not chosen:
        return 0
    k = len(chosen)
    values = heights(associations(runs, chosen, rules.domain), rules.reach + rules.margin(k))
    return top_k(values, Race(k + 1, 1, rules.moves, rules.epsilon), noise)[0]


def heights(found: Sequence[int], tau: int) -> list[int]:
    """For r = 0 to k how well "r columns" fits: above 0 where r of them reach tau and no more do.

    >>> heights([70, 20, 90], 50)
    [-40, -20, 20, -30]
    """
    best = sorted(found, reverse=True)
    inside = [value - tau for value in best]
    outside = [tau - value for value in best]
    return [outside[0], *map(min, inside[:-1], outside[1:]), inside[-1]]


def associations(runs: Runs, chosen: Sequence[int], domain: Domain) -> list[int]:
    """Of each chosen column n times its largest covariance with a side of the classes."""
    import numpy as np

    from privsieve import kernels
    from privsieve.methods.labels import centred
    from privsieve.summaries.rules import ORDERED, ORDERED_WITH_MISSING, Layout

    indptr, code, count = runs.table
    here = [slice(indptr[j], indptr[j + 1]) for j in chosen]
    ends = np.cumsum([0, *(one.stop - one.start for one in here)]).astype(np.int64)
    own = (ends, np.concatenate([code[one] for one in here]),
           np.concatenate([count[one] for one in here]))
    # [missing-last] missing is the last code: an interval of the order, and nothing beside it
    kind = Layout.of(domain).kind[list(chosen)]
    kind[kind == ORDERED_WITH_MISSING] = ORDERED
    weights = np.array(centred(runs.counts.tolist()), np.int64)
    # [half] a rule of two signs gains twice what its set does, where all weights add up to 0
    best: list[int] = (kernels.interval(own, weights, kind).max(axis=0) // 2).tolist()
    return best
# [/sure-mechanism]
