"""OutputFWELL: the weights of local learning in random blocks, released with noise.

The vectors of all blocks are the rows of one convex problem; a unit decides one row of each repeat,
so its share in the problem is one row of a repeat, however often the table is cut.  The minimiser
leaves with noise for how far that can move it.  See output_fwell.proof.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Literal

from privsieve.methods.local_weights import Learning, VectorNoise, forecast, released, warning
from privsieve.public.cost import Cost
from privsieve.public.domain import Domain
from privsieve.public.plan import NoiseSize, Plan, assumed

if TYPE_CHECKING:
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch
    from privsieve.summaries.moves import Doubles, Moves

METHOD = "output-fwell/1"


@dataclass(frozen=True)
class Output:
    """The public parameters of one run."""

    learning: Learning
    noise: VectorNoise


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
    repeats: int | None = None,
    reference: object = None,
    allow_weak: bool = False,
) -> Plan:
    """Plan a release of weights; reads no row.  `reference` is public: it is read here.

    >>> from privsieve.public.domain import Domain
    >>> made = plan(Domain.box(0, 1, columns=10), k=3, epsilon=1, rows=20_000)
    >>> made.forecast
    {'noise_each': '0.005617', 'noise_length': '0.01694', 'longest': '1.178'}
    """
    from privsieve.local.constants import output, r_max

    cost = Cost.of(epsilon, delta=delta, allow_weak=allow_weak)
    learning = Learning.of(domain, {"k": k, "rows": rows, "lam": lam, "clip": clip, "block": block,
                                    "repeats": repeats, "reference": reference})
    cost.check_units(learning.units)
    d, longest = len(domain.columns), r_max(learning.lam)
    # [sensitivity]
    moved = output(learning.lam, learning.vectors, d, partitions=learning.repeats)
    noise = VectorNoise.of(d, moved, cost)
    run = Output(learning, noise)
    return Plan(
        # the delta is not spent where it would buy nothing
        method=METHOD, kind="weights", domain=domain,
        cost=replace(cost, delta=noise.delta, rho=noise.rho),
        units=learning.units, settings=learning.settings(),
        noise=NoiseSize(Fraction(noise.length) / moved, "units on the weights"),
        forecast=forecast(noise, longest), warning=warning(noise, longest, learning),
        theorem="output-fwell", assumes=assumed("output-fwell"),
        summarise=partial(summarise, run=run), mechanism=partial(mechanism, run=run),
        says=partial(released, learning=learning, noise=noise),
    )


# [mechanism]
def summarise(batches: Iterable[Batch], key: int, *, run: Output) -> Moves:
    """Rows become vectors of blocks, or of units; `key` is fresh, secret and dropped."""
    from privsieve.summaries.moves import Whole

    return run.learning.summarise(batches, key, Whole())


def mechanism(summary: Moves, noise: Noise, *, run: Output) -> tuple[int, ...]:
    """The minimiser over all rows meets noise."""
    from privsieve.local.solver import minimise

    found = minimise(stacked(summary, run.learning), float(run.learning.lam))
    return run.noise.added(found.w.tolist(), noise)


def stacked(summary: Moves, learning: Learning) -> Doubles:
    """The rows of all repeats, one repeat after another."""
    import numpy as np

    from privsieve.summaries.moves import Whole

    many = learning.vectors
    found = np.empty((learning.repeats * many, len(learning.domain.columns)))
    for repeat in range(learning.repeats):
        found[repeat * many:][:many] = learning.rows(summary, repeat, Whole())
    return found
# [/mechanism]
