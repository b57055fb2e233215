"""Released weights: the shared parts of methods that release the weights of local learning.

Blocks, or single units against public rows, become rows of length up to 1 of a convex problem
(`summaries/moves.py`).  Its minimiser has a weight for each column, and is released with noise on a
public grid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import isqrt, sqrt
from typing import TYPE_CHECKING, Any, Self

from privsieve.errors import ParameterError
from privsieve.methods.blocks import Blocked, digest_of, part_bytes, parts_of, public_rows, sizes
from privsieve.methods.branches import Extent, takes
from privsieve.methods.method import NUMBERS
from privsieve.public.canonical import Json, exact
from privsieve.public.domain import Domain
from privsieve.public.option import (
    as_json,
    count_or_positive,
    declared,
    how_many,
    number,
    option,
    settings,
)
from privsieve.public.plan import Cost, NoiseSize, Plan, Takes
from privsieve.release import ColumnWeights, GridNumbers, NoiseLaw, exactly, figure

if TYPE_CHECKING:
    from privsieve.methods.objective_fwell import Perturbing
    from privsieve.noise.values import VectorNoise
    from privsieve.rows.batch import Batch
    from privsieve.summaries.blocks import Scheme
    from privsieve.summaries.moves import Doubles, Moves, Sample

#: 1 on the grid.
WHOLE = 65535
#: The numbers in all rows where the size decides the repeats, and the most that are held.
USUAL_NUMBERS, MOST_NUMBERS = 2**27, 2**31
#: Nanoseconds for a vector; bytes for a number of a problem while it is solved, and for the library
#: that solves it.
VECTOR, SOLVING, LIBRARY = 2000, 20, 2**25
#: The usual length that becomes 1, over the root of the number of columns.  Vectors are mostly
#: longer (measured: .05 to .2), so most rows get length 1.  A larger clip only wastes signal.
CLIP = Fraction(1, 20)


@declared
class WeightOptions(Blocked):
    """The options of a method that releases weights."""

    kind = ColumnWeights
    assumes = NUMBERS

    n_features_to_select: Any = option(
        default=5, kw_only=False, needed=True, setting="k", read=how_many, flag="--top",
        metavar="N",
        says='the number of columns, a fraction of all, or "positive": all columns with a weight '
             'above zero (at least one)')
    lam: Any = option(default="0.1", metavar="L", read=number, rare=True,
                      says="the penalty on large weights, from 1e-6 to 1e6")
    clip: Any = option(
        default=None, metavar="S", read=number, rare=True,
        says="the length to which a block's mean vector is shortened, where 1 is the range of a "
             "column.  Default: a twentieth of the square root of the number of columns")


@dataclass(frozen=True, repr=False)
class Learning:
    """The public parameters by which a table becomes rows, and weights become named columns.

    options : as numbers, with the public rows; a block is 1 with a reference
    share : the share of the units that a repeat takes
    """

    options: Any
    domain: Domain
    units: int
    parts: int
    share: Fraction

    @classmethod
    def of(cls, options: WeightOptions, domain: Domain, rows: int | None, *,
           members: int | None = None, share: Fraction = Fraction(1)) -> Self:
        """Check the options that all methods share; reads no row.

        members : of an ensemble, in the place of repeats
        """
        from privsieve.local.limits import ridge

        d, _ = len(domain.columns), domain.classes
        units = domain.public_units(rows)
        known = None if options.reference is None else public_rows(options.reference, domain)
        requested = options.repeats if members is None else None
        block, repeats = sizes(units, options.block, requested, single=known is not None)
        read = replace(
            options, n_features_to_select=count_or_positive(options.n_features_to_select, d),
            lam=ridge(options.lam), clip=_clip(options.clip, d), block=block,
            repeats=members or repeats, reference=known)
        learning = cls(read, domain, units, parts_of(units), share)
        return learning.fitting(requested=options.repeats is not None)

    def fitting(self, *, requested: bool) -> Self:
        """Return the parameters with as many repeats as memory holds, or the requested number."""
        repeats, each = self.options.repeats, self.vectors * len(self.domain.columns)
        if not requested:
            repeats = max(1, min(repeats, USUAL_NUMBERS // each))
        held = each * (repeats if self.options.reference is None else 1)
        # [squares] the squared length of a vector fits 63 bits
        if held > MOST_NUMBERS or len(self.domain.columns) * self.most**2 >= 2**63:
            raise ParameterError(
                f"{repeats} times {self.vectors} vectors of {len(self.domain.columns)} columns "
                "exceed the limits; choose larger blocks, fewer repeats or fewer columns")
        return replace(self, options=replace(self.options, repeats=repeats))

    # [vectors]
    @property
    def vectors(self) -> int:
        """The number of rows of a repeat: public."""
        taken, block = int(self.share * self.units), int(self.options.block)
        if self.options.reference is not None:
            return max(1, taken)
        return max(1, taken // (block * self.parts)) * self.parts

    @property
    def scheme(self) -> Scheme:
        """The scheme by which units are put into blocks, from public numbers alone."""
        from privsieve.summaries.blocks import Scheme

        coins = None if self.domain.rows_are_public else self.vectors // self.parts
        return Scheme(self.options.block, self.options.repeats, self.parts, coins, 0)
    # [/vectors]

    @property
    def at_once(self) -> int:
        """The rows of the problems that are solved together: of all repeats."""
        return int(self.options.repeats) * self.vectors

    @property
    def takes(self) -> Takes:
        """An estimate of time and memory, which holds vectors and rows of problems."""
        d, repeats = len(self.domain.columns), self.options.repeats
        held = self.vectors * (repeats if self.options.reference is None else 1)
        # Vectors with their places twice, while parts are joined; then the rows of problems.
        vectors = held * (8 + 4 * d)
        least = vectors + max(vectors, self.at_once * (SOLVING * d + 32))
        reading = takes(Extent.of(self.domain, self.units))
        return reading._replace(
            seconds=reading.seconds + VECTOR * held / 1e9,
            stages=((LIBRARY + least + part_bytes(self.units, d), 0),))

    @property
    def most(self) -> int:
        """The largest number of a vector."""
        return int(self.options.block * WHOLE)

    @property
    def sample(self) -> Sample:
        """The units of each repeat: all."""
        from privsieve.summaries.moves import Whole

        return Whole()

    def rows(self, moves: Moves, repeat: int, sample: Sample) -> Doubles:
        """Return the rows of a repeat: the planned number, each of length up to 1."""
        where = (moves.of_repeat(repeat) if self.options.reference is None
                 else moves.of_sample(sample, repeat))
        return moves.rows(where, self.vectors, self.most, float(self.options.clip * self.most))

    def stacked(self, moves: Moves) -> Doubles:
        """Return the rows of all repeats, one repeat after another."""
        import numpy as np

        many, sample = self.vectors, self.sample
        rows = np.empty((self.options.repeats * many, len(self.domain.columns)))
        for repeat in range(self.options.repeats):
            rows[repeat * many:][:many] = self.rows(moves, repeat, sample)
        return rows

    def named(self, weights: Sequence[int]) -> list[str]:
        """Return the columns of the largest weights, in table order; ties go to the first."""
        best = sorted(range(len(weights)), key=lambda j: -weights[j])
        k = self.options.n_features_to_select
        if k == "positive":
            k = max(1, sum(weight > 0 for weight in weights))
        return [self.domain.names[j] for j in sorted(best[:k])]

    def settings(self) -> dict[str, Json]:
        """Return the parameters that a release lists."""
        read, known = self.options, self.options.reference
        numbers = {name: exactly(getattr(read, name)) for name in ("lam", "clip", "beta")
                   if hasattr(read, name)}
        return settings(read, **numbers, block=read.block if known is None else None,
                        vectors=self.vectors,
                        reference=None if known is None else digest_of(known))


# [summarise]
def summarise(batches: Iterable[Batch], key: int, *, learning: Learning) -> Moves:
    """Turn rows into vectors of blocks, or of units; `key` is fresh, secret and dropped."""
    from privsieve.summaries.moves import block_moves, reference_moves

    if learning.options.reference is not None:
        return reference_moves(batches, key, domain=learning.domain, scheme=learning.scheme,
                               reference=learning.options.reference)
    return block_moves(batches, key, domain=learning.domain, scheme=learning.scheme,
                       sample=learning.sample)
# [/summarise]


def vector_plan(options: WeightOptions, learning: Learning, cost: Cost, moved: Fraction,
                **own: Any) -> Plan:
    """Plan weights that one unit moves by `moved`, with noise on the computed weights."""
    from privsieve.local.constants import r_max
    from privsieve.noise.values import VectorNoise

    cost.check_units(learning.units)
    by = VectorNoise.of(len(learning.domain.columns), moved, cost)
    longest = r_max(learning.options.lam)
    # the delta is not spent where it does not reduce the noise
    settings = learning.settings()
    return weights_plan(learning, by, longest=longest, moved=moved, settings=settings,
                        options=as_json(options, settings), warning=warning(by, longest, learning),
                        cost=replace(cost, delta=by.delta, rho=by.rho), **own)


def weights_plan(learning: Learning, by: VectorNoise | Perturbing, *, longest: Fraction,
                 moved: Fraction, settings: Mapping[str, Json], mechanism: Any, **own: Any) -> Plan:
    """Plan a release of weights.

    longest, moved : bounds of the length of weights, and of their move by one unit
    own : the method's own fields of `Plan`: asked, method, theorem, cost, and a warning
    """
    return Plan(
        kind=ColumnWeights.kind, domain=learning.domain, units=learning.units,
        settings=settings,
        noise=NoiseSize(Fraction(by.length) / moved, "units on the weights"),
        assumes=learning.options.assumes, takes=learning.takes, event=by.event,
        forecast={"noise_each": figure(by.each), "noise_length": figure(by.length),
                  "longest": figure(longest)},
        summarise=partial(summarise, learning=learning),
        mechanism=partial(mechanism, learning=learning, by=by),
        says=partial(released, learning=learning, by=by), **own)


def released(q: Sequence[int], *, learning: Learning, by: VectorNoise | Perturbing,
             ) -> dict[str, Json]:
    """Return the fields of a release of weights."""
    return ColumnWeights(tuple(learning.named(q)), GridNumbers(by.exponent, tuple(q)),
                         NoiseLaw(by.law, figure(by.each))).write()


def warning(noise: VectorNoise, longest: Fraction, learning: Learning) -> str | None:
    """Warn where the noise is longer than any weights can be."""
    times = noise.length / float(longest)
    if times <= 1:
        return None
    unit = "rows" if learning.domain.unit == "row" else "persons"
    pure = float(noise.grid.d * noise.grid.sensitivity / longest)
    enough = max(float(noise.epsilon), pure)
    return (f"the weights will be mostly noise: its length is about {figure(noise.length, 2)}, and "
            f"no table's weights are longer than {figure(longest, 3)}; they could be as long from "
            f"an epsilon of about {figure(enough, 2)} or from about "
            f"{figure(learning.units * times, 2)} {unit}, and are usually shorter: to choose "
            "columns take a method that releases no weights")


def _clip(clip: object, d: int) -> Fraction:
    """Return the length that becomes 1, with five decimals where the size decides."""
    if clip is None:
        return Fraction(isqrt(int(d * CLIP**2 * 10**10)), 10**5)
    value = exact(clip, "clip")
    if not Fraction(1, WHOLE) <= value or value**2 > d:
        raise ParameterError(f"clip is {clip}; write a number above 0 and at most {sqrt(d):.4g}, "
                             f"the square root of {d} columns: no vector is longer")
    return value
