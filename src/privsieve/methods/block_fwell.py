"""BlockFWELL: an epsilon-DP set of columns by local learning in random blocks.

Local learning asks, for each row, by which columns its nearest row of another class is farther
away than its nearest row of its own.  Over a whole table one row may be the nearest of all others,
and then moves everything; inside a block of few units it moves the votes of that block only.  See
block_fwell.proof.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import log
from typing import TYPE_CHECKING, Literal

from privsieve.errors import DomainError, ParameterError
from privsieve.methods import choosing as forecast
from privsieve.methods.blocks import digest_of, parts_of, public_rows, sizes
from privsieve.methods.choosing import charged, count
from privsieve.public.canonical import Json
from privsieve.public.cost import Cost, exact
from privsieve.public.domain import Box, Domain
from privsieve.public.plan import NoiseSize, Plan, assumed

if TYPE_CHECKING:
    from privsieve.kernels.blocks import Rows
    from privsieve.noise.race import Race
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch
    from privsieve.summaries.blocks import BlockVotes, Scheme

METHOD = "block-fwell/1"
#: 1 on the grid.
WHOLE = 65535
#: Of the blocks, by what share a useful column beats the others on a usual table (measured .14
#: to .45): twice the gap that `forecast` takes as usual.
USUAL_GAP = 2 * forecast.USUAL


@dataclass(frozen=True)
class Voting:
    """The public parameters of one run."""

    domain: Domain
    k: int
    epsilon: Fraction
    units: int
    ordered: bool
    block: int  # 1 with a reference: each unit votes on its own
    repeats: int
    tau: int  # 0: signs
    reference: Rows | None = field(repr=False, compare=False)
    delta: Fraction = Fraction(0)

    @property
    def replace(self) -> bool:
        """Whether neighbours replace a unit (else they add or remove one)."""
        return self.domain.neighbours == "replace-one"

    @property
    def race(self) -> Race:
        """The race for sums that one unit moves by 1."""
        from privsieve.noise.race import Race

        return Race(len(self.domain.columns), self.k, 1, self.epsilon, delta=self.delta,
                    ordered=self.ordered)

    @property
    def forecast(self) -> forecast.Forecast:
        """What the race is expected to find, by gaps of half of the votes."""
        # A block of m units has one vote, so that m times as many units are needed.
        doubled = 2 if self.reference is not None and not self.replace else 1
        return forecast.expected(self.race, len(self.domain.columns), self.k,
                                 Fraction(doubled * self.units, self.block))

    # [sensitivity]
    @property
    def sensitivity(self) -> int:
        """How far one unit can move a sum of votes."""
        largest = self.tau or 1
        if self.reference is not None:
            return (2 if self.replace else 1) * largest
        return 2 * self.repeats * largest
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


def plan(  # the method's public options, all keyword-only
    domain: Domain,
    *,
    k: float | Fraction,
    epsilon: object,
    delta: object = 0,
    rows: int | None = None,
    block: int = 6,
    repeats: int | None = None,
    votes: Literal["sign", "clip"] = "sign",
    tau: object = "0.06",
    ordered: bool = False,
    reference: object = None,
    allow_weak: bool = False,
) -> Plan:
    """Plan one selection; reads no row.  `reference` is public: it is read here.

    >>> from privsieve.public.domain import Domain
    >>> made = plan(Domain.box(0, 1, columns=30), k=3, epsilon=1, rows=4000)
    >>> made.cost.text, made.settings["repeats"]
    ('1', 50)
    """
    cost = Cost.of(epsilon, delta=delta, allow_weak=allow_weak)
    if isinstance(domain, Box):
        raise DomainError("this domain fits arrays of any width; to plan before there is one, say "
                          "how many columns: Domain.box(low, high, columns=30)")
    d, _ = len(domain.columns), domain.classes
    k = count(k, d)
    units = domain.public_units(rows)
    known = None if reference is None else public_rows(reference, domain)
    block, repeats = sizes(units, block, repeats, alone=known is not None)
    voting = Voting(domain, k, cost.epsilon, units, ordered, block, repeats,
                    _tau(votes, tau, block), known, cost.delta)
    cost.check_units(units)
    race = voting.race
    cost = charged(cost, race)
    voting = replace(voting, delta=cost.delta)
    free = k == d and not ordered
    expected = voting.forecast
    costs = forecast.by_cost(cost.epsilon, lambda other: replace(voting, epsilon=other).forecast)
    return Plan(
        method=METHOD, kind="selection", domain=domain,
        cost=Cost(Fraction(0)) if free else cost, units=units, settings=_settings(voting),
        noise=NoiseSize(race.scale, "units on a score"), forecast=_json(expected, costs),
        warning=None if free else _warning(expected, voting),
        theorem="block-fwell", assumes=assumed("block-fwell"),
        summarise=partial(summarise, voting=voting), mechanism=partial(mechanism, voting=voting),
    )


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
    from privsieve.noise.race import top_k

    race = replace(voting.race, sensitivity=voting.sensitivity)
    return top_k(summary.votes.tolist(), race, noise)
# [/mechanism]


def _tau(votes: object, tau: object, block: int) -> int:
    """The largest vote on the grid, summed over a block's units; 0 for signs."""
    if votes == "sign":
        return 0
    if votes != "clip":
        raise ParameterError(f'votes is {votes!r}; write "sign" or "clip"')
    share = exact(tau, "tau")
    if not Fraction(1, WHOLE) <= share <= 1:
        raise ParameterError(f"tau is {tau}; write a share of the columns' range, at most 1")
    return int(share * WHOLE) * block


def _json(made: forecast.Forecast, costs: Mapping[str, Json]) -> Mapping[str, Json]:
    """The forecast as it stands on a release, by gaps of votes."""
    plain = forecast.json(made, costs)
    return {**plain, "usual_gap": str(float(USUAL_GAP)), "found_percent": {
        str(float(2 * gap)): int(100 * share)
        for gap, share in zip(forecast.GAPS, made.recall, strict=True)}}


def _warning(made: forecast.Forecast, voting: Voting) -> str | None:
    said = forecast.warning(made)
    if said is None:
        return None
    least = least_epsilon(voting.units, len(voting.domain.columns), voting.k, voting.block)
    return f"{said} (this method is useful here from an epsilon of about {float(least):.2g})"


def _settings(voting: Voting) -> Mapping[str, Json]:
    return {
        "k": voting.k,
        "block": None if voting.reference is not None else voting.block,
        "repeats": voting.repeats,
        "votes": "clip" if voting.tau else "sign",
        "tau": str(voting.tau) if voting.tau else None,
        "ordered": voting.ordered,
        "reference": None if voting.reference is None else digest_of(voting.reference),
    }
