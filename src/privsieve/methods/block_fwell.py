"""BlockFWELL: an epsilon-DP set of columns by local learning in random blocks.

Local learning asks, for each row, by which columns its nearest row of another class is farther
away than its nearest row of its own.  Over a whole table one row may be the nearest of all others,
and then moves everything; inside a block of few units it moves the votes of that block only.  See
block_fwell.proof.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import log
from typing import TYPE_CHECKING, Any, Literal

from privsieve.errors import ParameterError
from privsieve.methods.blocks import Blocked, digest_of, part_bytes, parts_of, public_rows, sizes
from privsieve.methods.branches import Extent, takes
from privsieve.methods.choosing import (
    GAPS,
    USUAL,
    Forecast,
    Places,
    among,
    charged,
    fewer,
    selection,
)
from privsieve.public.canonical import exact
from privsieve.public.domain import Domain
from privsieve.public.option import Choosing, declared, number, option, settings, settled
from privsieve.public.plan import Cost, Plan

if TYPE_CHECKING:
    from privsieve.noise.race import Race
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch
    from privsieve.summaries.blocks import BlockVotes, Scheme

METHOD = "block-fwell/1"
#: 1 on the grid.
WHOLE = 65535
#: Of the blocks, by what share a useful column beats the others on a usual table (measured .14
#: to .45): twice the gap that `choosing` takes as usual.
USUAL_GAP = 2 * USUAL


@declared
class BlockOptions(Choosing, Blocked):
    """What BlockFWELL is asked for."""

    votes: Literal["sign", "clip"] = option(
        default="sign", choices=("sign", "clip"), rare=True,
        says="what a block's vote is: the sign of what it found, or that itself, at most tau")
    tau: Any = option(default="0.06", metavar="S", read=number, rare=True,
                         says="the largest vote, as a share of a column's range")

    def planned(self, domain: Domain, rows: int | None) -> Plan:
        """Plan one selection; reads no row.  `reference` is public: it is read here."""
        cost = Cost.of(self.epsilon, delta=self.delta, allow_weak=self.allow_weak)
        _ = domain.classes
        places = among(self, domain)
        units = domain.public_units(rows)
        known = None if self.reference is None else public_rows(self.reference, domain)
        block, repeats = sizes(units, self.block, self.repeats, alone=known is not None)
        voting = settled(
            Voting, self, n_features_to_select=places.total, epsilon=cost.epsilon,
            delta=cost.delta, block=block, repeats=repeats, tau=_tau(self.votes, self.tau, block),
            reference=known, domain=domain, units=units, places=places)
        voting = fewer(voting, _forecast)
        cost.check_units(units)
        cost = charged(cost, voting.race)
        voting = replace(voting, delta=cost.delta)
        return _by_votes(voting, selection(
            voting, cost, _forecast, method=METHOD, settings=voting.settings,
            noise=voting.race.scale, theorem="block-fwell", event=voting.race.event,
            takes=takes(Extent.of(domain, units))._replace(
                stages=((part_bytes(units, len(domain.columns)), 0),)),
            summarise=partial(summarise, voting=voting),
            mechanism=partial(mechanism, voting=voting)))


@declared
class Voting(BlockOptions):
    """The public parameters of one run: the options, settled, and the public facts.

    block : 1 with a reference, where each unit votes on its own
    tau : the largest vote on the grid; 0 for signs
    """

    domain: Domain
    units: int
    places: Places

    @property
    def settings(self) -> dict[str, Any]:
        """What a release says of the parameters."""
        alone = self.reference is not None
        return settings(self, block=None if alone else self.block,
                        tau=str(self.tau) if self.tau else None,
                        reference=digest_of(self.reference) if alone else None)

    @property
    def race(self) -> Race:
        """The race for sums that one unit moves by 1."""
        return self.places.race(self.epsilon, delta=self.delta, ordered=self.ordered)

    # [sensitivity]
    @property
    def sensitivity(self) -> int:
        """How far one unit can move a sum of votes."""
        largest: int = self.tau or 1
        if self.reference is not None:
            return (2 if self.domain.replaces else 1) * largest
        return 2 * int(self.repeats) * largest
    # [/sensitivity]

    @property
    def scheme(self) -> Scheme:
        """How units are put into blocks, from public numbers alone."""
        from privsieve.summaries.blocks import Scheme

        parts = parts_of(self.units)
        # [public-blocks] where the number of units is private, a declared one gives the blocks
        known = self.domain.rows_are_public
        blocks = None if known else max(1, self.units // (self.block * parts))
        return Scheme(self.block, self.repeats, parts, blocks, self.tau)


def _forecast(voting: Voting) -> Forecast:
    """What the race is expected to find, by gaps of half of the votes."""
    # A block of m units has one vote, so that m times as many units are needed.
    doubled = 2 if voting.reference is not None and not voting.domain.replaces else 1
    reach = Fraction(doubled * voting.units, voting.block)
    return voting.places.forecast(voting.race, reach, voting.sought)


def least_epsilon(units: int, d: int, k: int, block: int = 6,
                  gap: Fraction = USUAL_GAP) -> Fraction:
    """From which epsilon on most of the k best of d columns are found, if their gap is usual.

    >>> round(float(least_epsilon(4000, 30, 3)), 2)
    0.3
    """
    named = max(1, min(k, d - k))
    return 4 * named * block * (Fraction(log(d / named)) + 1) / (gap * units)


# [mechanism]
def summarise(batches: Iterable[Batch], key: int, *, voting: Voting) -> BlockVotes:
    """Rows become sums of votes; `key` is fresh, secret and dropped."""
    from privsieve.summaries.blocks import block_votes, reference_votes

    if voting.reference is not None:
        return reference_votes(batches, key, domain=voting.domain, scheme=voting.scheme,
                               reference=voting.reference)
    return block_votes(batches, key, domain=voting.domain, scheme=voting.scheme)


def mechanism(summary: BlockVotes, noise: Noise, *, voting: Voting) -> tuple[int, ...]:
    """Votes meet noise: one race."""
    race = replace(voting.race, sensitivity=voting.sensitivity)
    return voting.places.chosen(summary.votes.tolist(), race, noise)
# [/mechanism]


def _tau(votes: object, tau: object, block: int) -> int:
    """The largest vote on the grid, summed over a block's units; 0 for signs."""
    if votes == "sign":
        return 0
    share = exact(tau, "tau")
    if not Fraction(1, WHOLE) <= share <= 1:
        raise ParameterError(f"tau is {tau}; write a share of the columns' range, at most 1")
    return int(share * WHOLE) * block


def _by_votes(voting: Voting, plan: Plan) -> Plan:
    """The plan with its forecast by gaps of votes, which are twice those of rows."""
    shares: Any = plan.forecast["found_percent"]
    said = {**plan.forecast, "usual_gap": str(float(USUAL_GAP)), "found_percent": {
        str(float(2 * gap)): share for gap, share in zip(GAPS, shares.values(), strict=True)}}
    if plan.warning is None:
        return replace(plan, forecast=said)
    least = least_epsilon(voting.units, voting.places.d, voting.places.k, voting.block)
    return replace(plan, forecast=said, warning=(
        f"{plan.warning} (this method is useful here from an epsilon of about {float(least):.2g})"))
