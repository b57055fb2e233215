"""FELP: the mean of weights of local learning over windows of the units, released with noise.

Units are thrown into sectors of a circle, and each window takes some of them: nine tenths, cyclic,
so that every unit is in as many windows as any other, or one more.  In each window the units are
cut into blocks, which are the rows of a problem of their own.  See felp.proof.md.
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
    """Release the mean of weights over an ensemble, under differential privacy.

    As `OutputFWELL`, whose repeats it replaces by an ensemble: each member weighs columns on a part
    of the units.  It needs as many rows as `OutputFWELL` does.

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(40000.0).reshape(10000, 4) % 97 / 97
    >>> domain = ps.Domain.box(0.0, 1.0, classes=(0, 1))
    >>> made = ps.FELP("positive", epsilon=4, domain=domain).fit(X, X[:, 2] > 0.5)
    >>> made.weights_.shape, int(made.weights_.argmax())
    ((4,), 2)
    """

    theorems = ("felp",)

    repeats: Any = option(default=20, read=whole, metavar="T", setting="resamples", rare=True,
                          says="how many members the ensemble has")
    beta: Any = option(
        default="0.9", metavar="B", read=number, rare=True,
        says="units of a member, as a share of all: above 0, at most 1, and of few decimals")

    def planned(self, domain: Domain, rows: int | None) -> Plan:
        """Plan a release of mean weights; reads no row.  `reference` is public: it is read here."""
        from privsieve.local.constants import ensemble

        cost = Cost.of(self.epsilon, delta=self.delta, allow_weak=self.allow_weak)
        learning = _ensemble(self, domain, rows)
        # [sensitivity] from the windows, before rows are read
        moved = ensemble(learning.asked.lam, window_share(learning), learning.vectors,
                         len(domain.columns))
        return vector_plan(self, learning, cost, moved, method=METHOD, theorem="felp",
                           mechanism=mechanism)

    @classmethod
    def worst_pairs(cls) -> Mapping[str, Pair]:
        """A row turns its vector from one side of the weights to the other."""
        from privsieve.methods.worst import CORNERS, corners, in_two

        return {"": in_two(corners(), k=1, reference=CORNERS, beta=1, repeats=2)}


class Ensemble(Learning):
    """The public parameters of one run; its repeats are the members."""

    @property
    def at_once(self) -> int:
        """One problem is solved after the other."""
        return self.vectors

    @property
    def sample(self) -> Windows:
        """Which units each problem takes: public."""
        from privsieve.summaries.moves import Windows

        return Windows(*circle(self.asked.repeats, self.share))


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
    return by.add([x / repeats for x in total], noise)
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


def _ensemble(asked: FELPOptions, domain: Domain, rows: int | None) -> Ensemble:
    """The parameters with those of the windows: how many, and how large."""
    many = integer(asked.repeats, "repeats", 1, LARGEST_ENSEMBLE)
    share = exact(asked.beta, "beta")
    if not 0 < share <= 1 or many * share.denominator > MOST_SECTORS:
        raise ParameterError(f"beta is {asked.beta}; write a share above 0 and at most 1, of few "
                             "decimals, such as 0.9")
    learning = Ensemble.of(replace(asked, beta=share), domain, rows, members=many, share=share)
    if int(share * learning.units) < learning.asked.block * learning.parts:
        raise ParameterError(f"beta is {asked.beta}; of {learning.units} rows or persons it takes "
                             "too few for one block: choose a larger beta or smaller blocks")
    return learning
