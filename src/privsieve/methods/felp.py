"""FELP: the mean of weights of local learning over windows of the units, released with noise.

Units are thrown into sectors of a circle, and each window takes some of them: nine tenths, cyclic,
so that every unit is in as many windows as any other, or one more.  In each window the units are
cut into blocks, which are the rows of a problem of their own.  Or each problem takes units by a
list that was drawn with repetition: the lists are public.  See felp.proof.md.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from privsieve.errors import ParameterError
from privsieve.methods.local_weights import MOST_NUMBERS, Learning, VectorNoise, vector_plan
from privsieve.methods.output_fwell import OutputOptions
from privsieve.public.canonical import exact
from privsieve.public.domain import Domain
from privsieve.public.option import declared, integer, number, option, whole
from privsieve.public.plan import Cost, Plan

if TYPE_CHECKING:
    from privsieve.noise.streams import Noise
    from privsieve.summaries.blocks import Ints
    from privsieve.summaries.moves import Moves, Sample

METHOD = "felp/1"
LARGEST_ENSEMBLE, MOST_SECTORS = 1000, 10_000
#: The first place of the hash that draws the public lists, whose key is 0.
LISTS = 2**22


@declared
class EnsembleOptions(OutputOptions):
    """What FELP is asked for."""

    repeats: Any = option(default=20, read=whole, metavar="T", setting="resamples", was="resamples",
                          says="how many members the ensemble has")
    beta: Any = option(
        default="0.9", metavar="B", read=number,
        says="units of a member, as a share of all: above 0, at most 1, and of few decimals")
    sampling: Literal["balanced", "bootstrap"] = option(
        default="balanced", choices=("balanced", "bootstrap"),
        says="whether members take cyclic windows of the units in a secret order, or draw units "
             "with repetition, which takes more noise and a fixed number of units")

    def planned(self, domain: Domain, rows: int | None) -> Plan:
        """Plan a release of mean weights; reads no row.  `reference` is public: it is read here."""
        from privsieve.local.constants import ensemble

        cost = Cost.of(self.epsilon, delta=self.delta, allow_weak=self.allow_weak)
        learning = _ensemble(self, domain, rows)
        # [sensitivity] from the lists, before rows are read
        share = (window_share if self.sampling == "balanced" else drawn_share)(learning)
        moved = ensemble(learning.asked.lam, share, learning.vectors, len(domain.columns))
        return vector_plan(learning, cost, moved, method=METHOD, theorem="felp",
                           mechanism=mechanism)


class Ensemble(Learning):
    """The public parameters of one run; its repeats are the members."""

    @property
    def at_once(self) -> int:
        """One problem is solved after the other."""
        return self.vectors

    @property
    def sample(self) -> Sample:
        """Which units each problem takes: public."""
        from privsieve.summaries.moves import Draws, Windows

        many = self.asked.repeats
        if self.asked.sampling == "balanced":
            return Windows(*circle(many, self.share))
        return Draws(lists(many, self.share, self.units))


# [mechanism]
def mechanism(summary: Moves, noise: Noise, *, learning: Ensemble, by: VectorNoise,
              ) -> tuple[int, ...]:
    """The mean of the minimisers meets noise."""
    from privsieve.local.solver import minimise

    repeats, sample = learning.asked.repeats, learning.sample
    total = [Fraction(0)] * len(learning.domain.columns)
    for repeat in range(repeats):
        w = minimise(learning.rows(summary, repeat, sample), float(learning.asked.lam)).w
        # [exact-mean]
        total = [a + Fraction(b) for a, b in zip(total, w.tolist(), strict=True)]
    return by.added([x / repeats for x in total], noise)
# [/mechanism]


def circle(many: int, beta: Fraction) -> tuple[int, list[list[int]]]:
    """How many sectors there are, and cyclic windows of them that each take the share beta.

    >>> circle(2, Fraction(3, 4))
    (8, [[0, 1, 2, 3, 4, 5], [4, 5, 6, 7, 0, 1]])
    """
    from privsieve.local.constants import windows

    # [sectors] so many that a window has a whole number of them
    sectors = many * beta.denominator
    return sectors, windows(sectors, many, beta)


def window_share(learning: Learning) -> Fraction:
    """The largest share of one unit in the mean, over all sectors that it may be in."""
    from privsieve.local.constants import ensemble_share

    sectors, found = circle(learning.asked.repeats, learning.share)
    # [once] a window has a unit in one row at most
    uses = [[int(sector in window) for sector in range(sectors)]
            for window in map(frozenset, found)]
    return ensemble_share(uses, [learning.vectors] * learning.asked.repeats)


def lists(many: int, beta: Fraction, units: int) -> list[Ints]:
    """Ranks that were drawn with repetition, for a share beta of the units: the same for all.

    >>> [len(ranks) for ranks in lists(3, Fraction(1, 2), 10)]
    [5, 5, 5]
    """
    import numpy as np

    from privsieve import kernels
    from privsieve.summaries.blocks import scaled

    # [public-lists] from the numbers of units and lists alone
    draws = np.arange(int(beta * units), dtype=np.uint64)
    return [scaled(kernels.tie_keys(draws, LISTS + place, 0), units) for place in range(many)]


def drawn_share(learning: Learning) -> Fraction:
    """The largest share of one unit in the mean, counted in the lists."""
    import numpy as np

    from privsieve.local.constants import ensemble_share

    total = np.zeros(learning.units, np.int64)
    for ranks in lists(learning.asked.repeats, learning.share, learning.units):
        row = np.arange(len(ranks)) // learning.asked.block
        inside = row < learning.vectors
        # [rows-of-a-unit] each row counts once for a unit that is in it, even if twice
        pairs = np.sort(ranks[inside] * learning.vectors + row[inside])
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
        total += np.bincount(pairs // learning.vectors, minlength=learning.units)
    # All lists have equally many rows: the largest share is that of the unit with most of them.
    return ensemble_share([[int(total.max())]], [learning.vectors * learning.asked.repeats])


def _ensemble(asked: EnsembleOptions, domain: Domain, rows: int | None) -> Ensemble:
    """The parameters with those of the samples: how many, how large, and how they are made."""
    sampling = asked.sampling
    if sampling == "bootstrap" and not domain.rows_are_public:
        raise ParameterError('sampling is "bootstrap", whose lists need a fixed number of rows; '
                             'for persons, and where rows come and go (add-remove), take '
                             '"balanced"')
    many = integer(asked.repeats, "repeats", 1, LARGEST_ENSEMBLE)
    share = exact(asked.beta, "beta")
    if not 0 < share <= 1 or many * share.denominator > MOST_SECTORS:
        raise ParameterError(f"beta is {asked.beta}; write a share above 0 and at most 1, of few "
                             "decimals, such as 0.9")
    learning = Ensemble.of(replace(asked, beta=share), domain, rows, members=many, share=share,
                           parts=1 if sampling == "bootstrap" else None)
    # [held] the lists themselves, and a count for each unit
    if sampling == "bootstrap" and many * learning.units > MOST_NUMBERS:
        raise ParameterError(f"{many} lists of {learning.units} rows or persons are too many to "
                             'hold: take fewer repeats, or sampling "balanced"')
    if int(share * learning.units) < learning.asked.block * learning.parts:
        raise ParameterError(f"beta is {asked.beta}; of {learning.units} rows or persons it takes "
                             "too few for one block: choose a larger beta or smaller blocks")
    return learning
