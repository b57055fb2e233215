"""FELP: the noisy mean of weights that local learning finds in windows of the units.

Each unit gets a random sector of a circle.  A window is a cyclic run of sectors with nine tenths of
the units, so that the numbers of windows of two units differ by at most 1.  In each window the
units are cut into blocks, which are the rows of a problem.  See felp.proof.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from privsieve.errors import ParameterError
from privsieve.methods.local_weights import Learning, vector_plan
from privsieve.methods.output_fwell import OutputFWELLOptions
from privsieve.public.canonical import exact
from privsieve.public.domain import Domain
from privsieve.public.option import declared, integer, number, option, whole
from privsieve.public.plan import Cost, Plan

if TYPE_CHECKING:
    from privsieve.methods.worst import Pair
    from privsieve.noise.streams import Noise
    from privsieve.noise.values import VectorNoise
    from privsieve.summaries.moves import Moves, Windows

METHOD = "felp/1"
LARGEST_ENSEMBLE, MOST_SECTORS = 1000, 10_000


@declared
class FELPOptions(OutputFWELLOptions):
    """Release weights of columns under differential privacy, as the mean over random subsets.

    Like `OutputFWELL`, but with an ensemble instead of repeats: each member computes weights from
    a share of the units.  It needs as many rows as `OutputFWELL` does.

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(40000.0).reshape(10000, 4) % 97 / 97
    >>> domain = ps.Domain.box(0.0, 1.0, classes=(0, 1))
    >>> weights = ps.FELP("positive", epsilon=4, domain=domain).fit(X, X[:, 2] > 0.5).weights_
    >>> weights.shape, int(weights.argmax())
    ((4,), 2)
    """

    theorems = ("felp",)

    repeats: Any = option(default=20, read=whole, metavar="T", setting="resamples", rare=True,
                          says="the number of members of the ensemble")
    beta: Any = option(
        default="0.9", metavar="B", read=number, rare=True,
        says="the share of the rows (or persons) in each member: above 0, at most 1, with few "
             "decimals")

    def planned(self, domain: Domain, rows: int | None) -> Plan:
        """Plan a release of mean weights; reads no row but the public ones of `reference`."""
        from privsieve.local.constants import ensemble

        cost = Cost.of(self.epsilon, delta=self.delta, allow_weak=self.allow_weak)
        learning = self._ensemble(domain, rows)
        # [sensitivity] from the windows, before rows are read
        moved = ensemble(learning.options.lam, window_share(learning), learning.vectors,
                         len(domain.columns))
        return vector_plan(self, learning, cost, moved, method=METHOD, theorem="felp",
                           mechanism=mechanism)

    def _ensemble(self, domain: Domain, rows: int | None) -> Ensemble:
        """Return the parameters with those of the windows: their number and their size."""
        many = integer(self.repeats, "repeats", 1, LARGEST_ENSEMBLE)
        share = exact(self.beta, "beta")
        if not 0 < share <= 1 or many * share.denominator > MOST_SECTORS:
            raise ParameterError(f"beta is {self.beta}; write a share above 0 and at most 1 "
                                 "with few decimals, such as 0.9")
        learning = Ensemble.of(replace(self, beta=share), domain, rows, members=many, share=share)
        if int(share * learning.units) < learning.options.block * learning.parts:
            raise ParameterError(f"beta is {self.beta}, which takes too few of "
                                 f"{learning.units} rows or persons for one block; choose a "
                                 "larger beta or smaller blocks")
        return learning

    @classmethod
    def worst_pairs(cls) -> Mapping[str, Pair]:
        """Return tables in which a row turns its vector to the other side of the weights."""
        from privsieve.methods.worst import CORNERS, corners, in_two

        return {"": in_two(corners(), k=1, reference=CORNERS, beta=1, repeats=2)}


class Ensemble(Learning):
    """The public parameters of one run; the repeats are the members."""

    @property
    def at_once(self) -> int:
        """The rows of one problem: they are solved one after another."""
        return self.vectors

    @property
    def sample(self) -> Windows:
        """The units of each problem: public."""
        from privsieve.summaries.moves import Windows

        return Windows(*circle(self.options.repeats, self.share))


# [mechanism]
def mechanism(summary: Moves, noise: Noise, *, learning: Ensemble, by: VectorNoise,
              ) -> tuple[int, ...]:
    """Add noise to the mean of the minimisers."""
    from privsieve.local.solver import minimise

    repeats, sample = learning.options.repeats, learning.sample
    total = [Fraction(0)] * len(learning.domain.columns)
    for repeat in range(repeats):
        w = minimise(learning.rows(summary, repeat, sample), float(learning.options.lam)).w
        # [exact-mean]
        total = [a + Fraction(b) for a, b in zip(total, w.tolist(), strict=True)]
    return by.add([x / repeats for x in total], noise)
# [/mechanism]


def circle(many: int, beta: Fraction) -> tuple[int, list[list[int]]]:
    """Return the number of sectors, and cyclic windows of them of the share beta.

    >>> circle(2, Fraction(3, 4))
    (8, [[0, 1, 2, 3, 4, 5], [4, 5, 6, 7, 0, 1]])
    """
    from privsieve.local.constants import windows

    # [sectors] chosen so that a window has a whole number of them
    sectors = many * beta.denominator
    return sectors, windows(sectors, many, beta)


def window_share(learning: Learning) -> Fraction:
    """Return the largest share of one unit in the mean, over all sectors that it may be in."""
    from privsieve.local.constants import ensemble_share

    sectors, windows = circle(learning.options.repeats, learning.share)
    # [once] a window has a unit in one row at most
    uses = [[int(sector in window) for sector in range(sectors)]
            for window in map(frozenset, windows)]
    return ensemble_share(uses, [learning.vectors] * learning.options.repeats)
