"""OutputFWELL: the weights of local learning in random blocks, released with noise.

The vectors of all blocks are the rows of one convex problem.  A unit decides one row of each
repeat, so its share in the problem does not grow with the number of repeats.  The minimiser is
released with noise for its largest move.  See output_fwell.proof.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from privsieve.methods.local_weights import Learning, WeightOptions, vector_plan
from privsieve.public.domain import Domain
from privsieve.public.option import declared, number, option
from privsieve.public.plan import Cost, Plan

if TYPE_CHECKING:
    from privsieve.methods.worst import Pair
    from privsieve.noise.streams import Noise
    from privsieve.noise.values import VectorNoise
    from privsieve.summaries.moves import Moves

METHOD = "output-fwell/1"


@declared
class OutputFWELLOptions(WeightOptions):
    """Release weights of columns under differential privacy, from blocks of a few random rows.

    The weights make rows of another class farther away than rows of the same class.  Blocks of few
    units determine them, and each weight gets noise.  `weights_` has them in the order of the
    columns.  If you only choose columns, `BlockFWELL` needs far fewer rows, and `RuleSieve` even
    fewer.

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(40000.0).reshape(10000, 4) % 97 / 97
    >>> domain = ps.Domain.box(0.0, 1.0, classes=(0, 1))
    >>> int(ps.OutputFWELL(1, epsilon=4, domain=domain).fit(X, X[:, 2] > 0.5).weights_.argmax())
    2
    """

    theorems = ("output-fwell",)

    delta: Any = option(
        default=0, metavar="D", setting=None, read=number,
        says="the delta of the guarantee, such as 1e-9: less noise if there are many columns")

    def planned(self, domain: Domain, rows: int | None) -> Plan:
        """Plan a release of weights; reads no row but the public ones of `reference`."""
        from privsieve.local.constants import output

        cost = Cost.of(self.epsilon, delta=self.delta, allow_weak=self.allow_weak)
        learning = Learning.of(self, domain, rows)
        # [sensitivity]
        moved = output(learning.options.lam, learning.vectors, len(domain.columns),
                       partitions=learning.options.repeats)
        return vector_plan(self, learning, cost, moved, method=METHOD, theorem="output-fwell",
                           mechanism=mechanism)

    @classmethod
    def worst_pairs(cls) -> Mapping[str, Pair]:
        """Return tables in which a row turns its vector to the other side of the weights."""
        from privsieve.methods.worst import CORNERS, corners, in_two

        return {"": in_two(corners(), k=1, lam="0.1", reference=CORNERS)}


# [mechanism]
def mechanism(summary: Moves, noise: Noise, *, learning: Learning, by: VectorNoise,
              ) -> tuple[int, ...]:
    """Add noise to the minimiser over all rows."""
    from privsieve.local.solver import minimise

    least = minimise(learning.stacked(summary), float(learning.options.lam))
    return by.add(least.w.tolist(), noise)
# [/mechanism]
