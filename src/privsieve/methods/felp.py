"""FELP: the mean of weights of local learning over windows of the units, released with noise.

Units are thrown into sectors of a circle, and each window takes some of them: nine tenths, cyclic,
so that every unit is in as many windows as any other, or one more.  In each window the units are
cut into blocks, which are the rows of a problem of their own.  Or each problem takes units by a
list that was drawn with repetition: the lists are public.  See felp.proof.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Literal

from privsieve.errors import ParameterError
from privsieve.methods.blocks import whole
from privsieve.methods.local_weights import (
    MOST_NUMBERS,
    Learning,
    VectorNoise,
    decimals,
    forecast,
    released,
    warning,
)
from privsieve.public.canonical import Json
from privsieve.public.cost import Cost, exact
from privsieve.public.domain import Domain
from privsieve.public.plan import NoiseSize, Plan, assumed

if TYPE_CHECKING:
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch
    from privsieve.summaries.blocks import Ints
    from privsieve.summaries.moves import Moves, Sample

METHOD = "felp/1"
LARGEST_ENSEMBLE, MOST_SECTORS = 1000, 10_000
#: The first place of the hash that draws the public lists, whose key is 0.
LISTS = 2**22


@dataclass(frozen=True)
class Ensemble:
    """The public parameters of one run."""

    learning: Learning
    noise: VectorNoise
    sampling: Literal["balanced", "bootstrap"]

    @property
    def sample(self) -> Sample:
        """Which units each problem takes: public."""
        from privsieve.summaries.moves import Draws, Windows

        many = self.learning.repeats
        if self.sampling == "balanced":
            return Windows(*circle(many, self.learning.share))
        return Draws(lists(many, self.learning.share, self.learning.units))


def plan(  # the method's public options, all keyword-only
    domain: Domain,
    *,
    k: float | Fraction | Literal["positive"],
    epsilon: object,
    delta: object = 0,
    rows: int | None = None,
    lam: object = "0.1",
    clip: object = None,
    block: int = 6,
    resamples: int = 20,
    beta: object = "0.9",
    sampling: Literal["balanced", "bootstrap"] = "balanced",
    reference: object = None,
    allow_weak: bool = False,
) -> Plan:
    """Plan a release of mean weights; reads no row.  `reference` is public: it is read here.

    >>> from privsieve.public.domain import Domain
    >>> made = plan(Domain.box(0, 1, columns=10), k=3, epsilon=1, rows=20_000)
    >>> made.forecast
    {'noise_each': '0.005615', 'noise_length': '0.01693', 'longest': '1.178'}
    """
    from privsieve.local.constants import ensemble, r_max

    cost = Cost.of(epsilon, delta=delta, allow_weak=allow_weak)
    learning = _learning(domain, {"k": k, "rows": rows, "lam": lam, "clip": clip, "block": block,
                                  "reference": reference}, (resamples, beta, sampling))
    cost.check_units(learning.units)
    d, longest = len(domain.columns), r_max(learning.lam)
    # [sensitivity] from the lists, before rows are read
    share = (window_share if sampling == "balanced" else drawn_share)(learning)
    moved = ensemble(learning.lam, share, learning.vectors, d)
    noise = VectorNoise.of(d, moved, cost)
    run = Ensemble(learning, noise, sampling)
    return Plan(
        # the delta is not spent where it would buy nothing
        method=METHOD, kind="weights", domain=domain,
        cost=replace(cost, delta=noise.delta, rho=noise.rho),
        units=learning.units, settings=_settings(run),
        noise=NoiseSize(Fraction(noise.length) / moved, "units on the weights"),
        forecast=forecast(noise, longest), warning=warning(noise, longest, learning),
        theorem="felp", assumes=assumed("felp"),
        summarise=partial(summarise, run=run), mechanism=partial(mechanism, run=run),
        says=partial(released, learning=learning, noise=noise),
    )


# [mechanism]
def summarise(batches: Iterable[Batch], key: int, *, run: Ensemble) -> Moves:
    """Rows become vectors of blocks, or of units; `key` is fresh, secret and dropped."""
    return run.learning.summarise(batches, key, run.sample)


def mechanism(summary: Moves, noise: Noise, *, run: Ensemble) -> tuple[int, ...]:
    """The mean of the minimisers meets noise."""
    from privsieve.local.solver import minimise

    learning, sample = run.learning, run.sample
    total = [Fraction(0)] * len(learning.domain.columns)
    for repeat in range(learning.repeats):
        found = minimise(learning.rows(summary, repeat, sample), float(learning.lam)).w
        # [exact-mean]
        total = [a + Fraction(b) for a, b in zip(total, found.tolist(), strict=True)]
    return run.noise.added([x / learning.repeats for x in total], noise)
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

    sectors, found = circle(learning.repeats, learning.share)
    # [once] a window has a unit in one row at most
    uses = [[int(sector in window) for sector in range(sectors)]
            for window in map(frozenset, found)]
    return ensemble_share(uses, [learning.vectors] * learning.repeats)


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
    for ranks in lists(learning.repeats, learning.share, learning.units):
        row = np.arange(len(ranks)) // learning.block
        inside = row < learning.vectors
        # [rows-of-a-unit] each row counts once for a unit that is in it, even if twice
        pairs = np.sort(ranks[inside] * learning.vectors + row[inside])
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
        total += np.bincount(pairs // learning.vectors, minlength=learning.units)
    # All lists have equally many rows: the largest share is that of the unit with most of them.
    return ensemble_share([[int(total.max())]], [learning.vectors * learning.repeats])


def _learning(domain: Domain, options: dict[str, object], samples: tuple[object, object, object],
              ) -> Learning:
    """The parameters with those of the samples: how many, how large, and how they are made."""
    resamples, beta, sampling = samples
    if sampling not in ("balanced", "bootstrap"):
        raise ParameterError(f'sampling is {sampling!r}; write "balanced" or "bootstrap"')
    if sampling == "bootstrap" and not domain.rows_are_public:
        raise ParameterError('sampling is "bootstrap", whose lists need a fixed number of rows; '
                             'for persons, and where rows come and go (add-remove), take '
                             '"balanced"')
    many, share = whole(resamples, "resamples", 1, LARGEST_ENSEMBLE), exact(beta, "beta")
    if not 0 < share <= 1 or many * share.denominator > MOST_SECTORS:
        raise ParameterError(f"beta is {beta}; write a share above 0 and at most 1, of few "
                             "decimals, such as 0.9")
    parts = {"parts": 1} if sampling == "bootstrap" else {}
    learning = Learning.of(domain, {**options, **parts, "resamples": many, "share": share})
    # [held] the lists themselves, and a count for each unit
    if sampling == "bootstrap" and many * learning.units > MOST_NUMBERS:
        raise ParameterError(f"{many} lists of {learning.units} rows or persons are too many to "
                             'hold: take fewer resamples, or sampling "balanced"')
    if int(share * learning.units) < learning.block * learning.parts:
        raise ParameterError(f"beta is {beta}; of {learning.units} rows or persons it takes too "
                             "few for one block: choose a larger beta or smaller blocks")
    return learning


def _settings(run: Ensemble) -> dict[str, Json]:
    found = run.learning.settings()
    del found["repeats"]
    return {**found, "resamples": run.learning.repeats,
            "beta": decimals(run.learning.share), "sampling": run.sampling}
