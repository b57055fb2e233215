"""BlockFWELL: an epsilon-DP set of columns by local learning in random blocks.

Local learning asks in which columns the nearest row of another class is farther away than the
nearest row of the own class.  Over a whole table one row may be the nearest of all others, and then
moves everything.  Inside a block of few units it moves the votes of that block only.
See block_fwell.proof.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import log
from typing import TYPE_CHECKING, Any, Literal

from privsieve.errors import ParameterError
from privsieve.methods.blocks import Blocked, digest_of, part_bytes, parts_of, public_rows, sizes
from privsieve.methods.branches import Extent, takes
from privsieve.methods.choosing import USUAL, Choosing, ColumnChoice, Run, charged, selection
from privsieve.methods.method import BITS
from privsieve.public.canonical import exact
from privsieve.public.option import declared, number, option, settings
from privsieve.public.plan import Plan

if TYPE_CHECKING:
    from privsieve.methods.worst import Pair
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch
    from privsieve.summaries.blocks import BlockVotes, Scheme

METHOD = "block-fwell/1"
#: 1 on the grid.
WHOLE = 65535
#: The share of blocks by which a useful column exceeds the others on a usual table (measured .14
#: to .45): twice the gap that `choosing` takes as usual.
USUAL_GAP = 2 * USUAL


@declared
class BlockFWELLOptions(Choosing, Blocked):
    """Choose columns under pure epsilon-DP by nearest neighbours in blocks of a few random rows.

    Each block votes for the columns in which the nearest row of another class is farther away than
    the nearest row of the same class.  This finds columns that matter alone or together, but
    `RuleSieve` needs several times fewer rows.

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(4000.0).reshape(1000, 4) % 97 / 97
    >>> domain = ps.Domain.box(0.0, 1.0, classes=(0, 1))
    >>> ps.BlockFWELL(1, epsilon=2, domain=domain).fit(X, X[:, 2] > 0.5).get_support().sum()
    np.int64(1)
    """

    theorems = ("block-fwell",)
    assumes = BITS

    votes: Literal["sign", "clip"] = option(
        default="sign", choices=("sign", "clip"), rare=True,
        says="the vote of a block: the sign of a column's difference of distances, or the "
             "difference itself, clipped at tau")
    tau: Any = option(default="0.06", metavar="S", read=number, rare=True,
                         says="the largest vote of a block, as a share of a column's range")

    def planned_choice(self, choice: ColumnChoice, rows: int | None) -> Plan:
        """Plan one selection; reads no row but the public ones of `reference`."""
        domain = choice.domain
        _ = domain.classes
        cost, units = choice.priced(rows, least=0)
        known = None if self.reference is None else public_rows(self.reference, domain)
        block, repeats = sizes(units, self.block, self.repeats, single=known is not None)
        voting = choice.run(
            Voting, cost, units, block=block, repeats=repeats, reference=known,
            tau=self._tau_on_grid(block))
        cost = charged(cost, voting.race)
        voting = replace(voting, delta=cost.delta)
        least = least_epsilon(units, voting.places.d, voting.places.k, block)
        return selection(
            choice, voting, cost, method=METHOD, settings=voting.settings,
            noise=voting.race.scale, times=2, theorem="block-fwell", event=voting.race.event,
            hint=f" (this method is useful here from an epsilon of about {float(least):.2g})",
            takes=takes(Extent.of(domain, units))._replace(
                stages=((part_bytes(units, len(domain.columns)), 0),)),
            summarise=partial(summarise, voting=voting),
            mechanism=partial(mechanism, voting=voting))

    def _tau_on_grid(self, block: int) -> int:
        """Return the largest vote on the grid, summed over a block's units; 0 for signs."""
        if self.votes == "sign":
            return 0
        share = exact(self.tau, "tau")
        if not Fraction(1, WHOLE) <= share <= 1:
            raise ParameterError(f"tau is {self.tau}; write a share of a column's range, at most 1")
        return int(share * WHOLE) * block

    @classmethod
    def worst_pairs(cls) -> Mapping[str, Pair]:
        """Return tables in which a row turns the vector of its block around."""
        from privsieve.methods.worst import block, in_two

        blocks = {"k": 1, "block": 3, "repeats": 1}
        return {"": in_two(block(), **blocks),
                "clip": in_two(block(), **blocks, votes="clip", tau="0.01")}


@declared
class Voting(BlockFWELLOptions, Run):
    """The public parameters of one run.

    block : 1 with a reference, where each unit votes by itself
    tau : the largest vote on the grid; 0 for signs
    """

    @property
    def settings(self) -> dict[str, Any]:
        """The parameters that a release lists."""
        known = self.reference is not None
        return settings(self, block=None if known else self.block,
                        tau=str(self.tau) if self.tau else None,
                        reference=digest_of(self.reference) if known else None)

    @property
    def reach(self) -> Fraction:
        """The lead of a column whose gap is half of the votes."""
        # A block of m units has one vote, so that m times as many units are needed.
        doubled = 2 if self.reference is not None and not self.domain.replaces else 1
        return Fraction(doubled * self.units, self.block)

    # [sensitivity]
    @property
    def sensitivity(self) -> int:
        """The largest move of a sum of votes by one unit."""
        largest: int = self.tau or 1
        if self.reference is not None:
            return (2 if self.domain.replaces else 1) * largest
        return 2 * int(self.repeats) * largest
    # [/sensitivity]

    @property
    def scheme(self) -> Scheme:
        """The scheme by which units are put into blocks, from public numbers alone."""
        from privsieve.summaries.blocks import Scheme

        parts = parts_of(self.units)
        # [public-blocks] where the number of units is private, a declared one gives the blocks
        known = self.domain.rows_are_public
        blocks = None if known else max(1, self.units // (self.block * parts))
        return Scheme(self.block, self.repeats, parts, blocks, self.tau)


def least_epsilon(units: int, d: int, k: int, block: int = 6,
                  gap: Fraction = USUAL_GAP) -> Fraction:
    """Return the epsilon from which most of the k best of d columns are found at this gap.

    >>> round(float(least_epsilon(4000, 30, 3)), 2)
    0.3
    """
    named = max(1, min(k, d - k))
    return 4 * named * block * (Fraction(log(d / named)) + 1) / (gap * units)


# [mechanism]
def summarise(batches: Iterable[Batch], key: int, *, voting: Voting) -> BlockVotes:
    """Add up the votes of rows; `key` is fresh, secret and dropped."""
    from privsieve.summaries.blocks import block_votes, reference_votes

    if voting.reference is not None:
        return reference_votes(batches, key, domain=voting.domain, scheme=voting.scheme,
                               reference=voting.reference)
    return block_votes(batches, key, domain=voting.domain, scheme=voting.scheme)


def mechanism(summary: BlockVotes, noise: Noise, *, voting: Voting) -> tuple[int, ...]:
    """Run one race over the votes."""
    race = replace(voting.race, sensitivity=voting.sensitivity)
    return voting.places.chosen(summary.votes.tolist(), race, noise)
# [/mechanism]
