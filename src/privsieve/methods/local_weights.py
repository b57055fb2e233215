"""Released weights: what the methods share that release the weights of local learning.

Blocks, or single units against public rows, become rows of length up to 1 of a convex problem
(`summaries/moves.py`); its minimiser is a weight for each column, and leaves with noise on a public
grid.  Here are the public parameters, the noise, and what a plan and a release say of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import isqrt, sqrt
from typing import TYPE_CHECKING, Any, Self

from privsieve.errors import DomainError, ParameterError
from privsieve.methods.blocks import digest_of, parts_of, public_rows, sizes
from privsieve.methods.choosing import count
from privsieve.public.canonical import Json
from privsieve.public.cost import Cost, exact
from privsieve.public.domain import Box, Domain

if TYPE_CHECKING:
    from privsieve.kernels.blocks import Rows
    from privsieve.methods.objective_fwell import Perturbing
    from privsieve.noise.streams import Noise
    from privsieve.noise.values import Grid
    from privsieve.rows.batch import Batch
    from privsieve.summaries.blocks import Scheme
    from privsieve.summaries.moves import Doubles, Moves, Sample

#: 1 on the grid.
WHOLE = 65535
#: Numbers of all rows: so many where the size decides the repeats, and the most that are held.
USUAL_NUMBERS, MOST_NUMBERS = 2**27, 2**31
#: The usual length that becomes 1, over the root of the number of columns.  Vectors are mostly
#: longer (measured: .05 to .2), and most rows get length 1; a larger one only wastes signal.
CLIP = Fraction(1, 20)


@dataclass(frozen=True)
class Learning:
    """The public parameters by which a table becomes rows, and rows become named columns."""

    domain: Domain
    k: int | None  # None: the columns whose weight is positive
    lam: Fraction
    clip: Fraction  # the length that becomes 1, where 1 is the range of a column
    units: int
    block: int  # 1 with a reference
    repeats: int
    parts: int
    share: Fraction  # of the units, that a repeat takes
    reference: Rows | None = field(repr=False, compare=False)

    @classmethod
    def of(cls, domain: Domain, options: Mapping[str, Any]) -> Self:
        """Read and check the options that all methods share; reads no row.

        options : k, rows, lam, clip, block, reference, and repeats; or resamples, share and
            perhaps parts
        """
        from privsieve.local.limits import ridge

        if isinstance(domain, Box):
            raise DomainError("this domain fits arrays of any width; to plan before there is one, "
                              "say how many columns: Domain.box(low, high, columns=30)")
        d, _ = len(domain.columns), domain.classes
        units = domain.public_units(options["rows"])
        reference = options["reference"]
        known = None if reference is None else public_rows(reference, domain)
        asked = options.get("repeats")
        block, repeats = sizes(units, options["block"], asked, alone=known is not None)
        repeats = options.get("resamples", repeats)
        made = cls(domain, _wanted(options["k"], d), ridge(options["lam"]),
                   _clip(options["clip"], d), units, block, repeats,
                   options.get("parts", parts_of(units)), options.get("share", Fraction(1)), known)
        return made.fitting(chosen=asked is not None or "resamples" in options)

    def fitting(self, *, chosen: bool) -> Self:
        """The same with as many repeats as memory holds, unless somebody chose how many."""
        from dataclasses import replace

        each = self.vectors * len(self.domain.columns)
        repeats = self.repeats if chosen else max(1, min(self.repeats, USUAL_NUMBERS // each))
        held = each * (repeats if self.reference is None else 1)
        # [squares] the squared length of a vector fits 63 bits
        if held > MOST_NUMBERS or len(self.domain.columns) * self.most**2 >= 2**63:
            raise ParameterError(
                f"{repeats} times {self.vectors} vectors of {len(self.domain.columns)} columns are "
                "too many to hold: choose larger blocks, fewer repeats or fewer columns")
        return replace(self, repeats=repeats)

    # [vectors]
    @property
    def vectors(self) -> int:
        """How many rows a repeat has: public, whoever came."""
        taken = int(self.share * self.units)
        if self.reference is not None:
            return max(1, taken)
        return max(1, taken // (self.block * self.parts)) * self.parts

    @property
    def scheme(self) -> Scheme:
        """How units are put into blocks, from public numbers alone."""
        from privsieve.summaries.blocks import Scheme

        coins = None if self.domain.rows_are_public else self.vectors // self.parts
        return Scheme(self.block, self.repeats, self.parts, coins, 0)
    # [/vectors]

    @property
    def most(self) -> int:
        """How far a number of a vector counts."""
        return self.block * WHOLE

    def summarise(self, batches: Iterable[Batch], key: int, sample: Sample) -> Moves:
        """Rows become vectors; `key` is fresh, secret and dropped."""
        from privsieve.summaries.moves import block_moves, reference_moves

        if self.reference is not None:
            return reference_moves(batches, key, domain=self.domain, scheme=self.scheme,
                                   reference=self.reference)
        return block_moves(batches, key, domain=self.domain, scheme=self.scheme, sample=sample)

    def rows(self, moves: Moves, repeat: int, sample: Sample) -> Doubles:
        """The rows of a repeat: as many as planned, each of length up to 1."""
        where = (moves.of_repeat(repeat) if self.reference is None
                 else moves.of_sample(sample, repeat))
        return moves.rows(where, self.vectors, self.most, float(self.clip * self.most))

    def named(self, weights: Sequence[int]) -> list[str]:
        """The columns of the largest weights, in the order of the table; ties go to the first."""
        best = sorted(range(len(weights)), key=lambda j: -weights[j])
        k = self.k or max(1, sum(weight > 0 for weight in weights))
        return [self.domain.names[j] for j in sorted(best[:k])]

    def settings(self) -> dict[str, Json]:
        """What a release says of the parameters."""
        alone = self.reference is not None
        return {
            "k": self.k or "positive", "lam": decimals(self.lam), "clip": decimals(self.clip),
            "block": None if alone else self.block, "repeats": self.repeats,
            "vectors": self.vectors,
            "reference": None if self.reference is None else digest_of(self.reference),
        }


@dataclass(frozen=True)
class VectorNoise:
    """The noise on d numbers that one unit moves by at most so much, in the Euclidean norm."""

    grid: Grid
    epsilon: Fraction
    delta: Fraction  # 0: noise of Gamma length

    @classmethod
    def of(cls, d: int, sensitivity: Fraction, cost: Cost) -> VectorNoise:
        """The law with the shorter noise: Gaussian only where a delta makes it so."""
        from privsieve.noise.values import Grid
        from privsieve.public.canonical import LARGEST

        grid = Grid.of(d, sensitivity)
        pure = cls(grid, cost.epsilon, Fraction(0))
        made = cls(grid, cost.epsilon, cost.delta)
        # [law] sqrt(d) sigma, the root of a mean square, against d / beta, a mean: the stricter way
        if not cost.delta or made.scale**2 * grid.beta(cost.epsilon)**2 >= d:
            made = pure
        if made.size >= LARGEST * grid.step:
            raise ParameterError(f"epsilon is {cost.text}; the noise on {d} numbers would not fit "
                                 "the grid on which they leave: choose a larger one")
        return made

    @property
    def exponent(self) -> int:
        """Of the grid on which the numbers leave."""
        return self.grid.exponent

    @property
    def law(self) -> str:
        """The law's name."""
        return "gaussian" if self.delta else "gamma-norm"

    @property
    def scale(self) -> Fraction:
        """The sigma of each number, or 1 / beta of the whole vector."""
        if self.delta:
            return self.grid.sigma(self.epsilon, self.delta)
        return 1 / self.grid.beta(self.epsilon)

    @property
    def rho(self) -> Fraction | None:
        """What it spends under zCDP, where it is Gaussian."""
        return self.grid.rho(self.scale) if self.delta else None

    @property
    def size(self) -> Fraction:
        """What has to fit the grid."""
        return self.scale * (1 if self.delta else self.grid.d)

    @property
    def each(self) -> float:
        """The standard deviation of one number."""
        return float(self.scale) * (1 if self.delta else sqrt(self.grid.d + 1))

    @property
    def length(self) -> float:
        """How long the noise is expected to be (Gaussian: the root of its mean square)."""
        return float(self.scale) * (sqrt(self.grid.d) if self.delta else self.grid.d)

    # [noise]
    def added(self, w: Sequence[float | Fraction], noise: Noise) -> tuple[int, ...]:
        """The numbers on the grid, with noise."""
        from privsieve.noise.values import gamma, gaussian

        q = self.grid.integers(w)
        if self.delta:
            return tuple(gaussian(q, self.grid, self.scale, noise))
        return tuple(gamma(q, self.grid, self.epsilon, noise))
    # [/noise]

    def json(self) -> dict[str, Json]:
        """What a release says of the noise."""
        return {"law": self.law, "each": figure(self.each)}


def released(q: Sequence[int], *, learning: Learning, noise: VectorNoise | Perturbing,
             ) -> dict[str, Json]:
    """What a release says of weights that left."""
    return {
        "selected": learning.named(q),
        "values": {"exponent": noise.exponent, "q": list(q)},
        "noise": noise.json(),
    }


def forecast(noise: VectorNoise | Perturbing, longest: Fraction) -> dict[str, Json]:
    """What is known of the weights before rows are read: the noise, and how long they can be."""
    return {"noise_each": figure(noise.each), "noise_length": figure(noise.length),
            "longest": figure(longest)}


def warning(noise: VectorNoise, longest: Fraction, learning: Learning) -> str | None:
    """A sentence where the noise is longer than any weights can be."""
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


def figure(value: float | Fraction, digits: int = 4) -> str:
    """A number for people, in plain decimals of a few digits.

    >>> figure(0.000123456), figure(1234.5678, 2), figure(Fraction(1, 2))
    ('0.0001235', '1200', '0.5')
    """
    text = f"{Decimal(f'{float(value):.{digits - 1}e}'):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _wanted(k: Any, d: int) -> int | None:
    """How many columns to name; None for those of positive weight."""
    if isinstance(k, str):
        if k != "positive":
            raise ParameterError(f"the number of columns to choose is {k!r}; write a whole number "
                                 'from 1, a fraction between 0 and 1, or "positive"')
        return None
    return count(k, d)


def _clip(clip: object, d: int) -> Fraction:
    """The length that becomes 1, with five decimals where the size decides."""
    if clip is None:
        return Fraction(isqrt(int(d * CLIP**2 * 10**10)), 10**5)
    value = exact(clip, "clip")
    if not Fraction(1, WHOLE) <= value or value**2 > d:
        raise ParameterError(f"clip is {clip}; write a number above 0 and at most the root of the "
                             f"{d} columns ({sqrt(d):.4g}): no vector is longer")
    return value


def decimals(value: Fraction) -> str:
    """A fraction as decimals where it has them, and as a quotient else.

    >>> decimals(Fraction(9, 10)), decimals(Fraction(1, 3))
    ('0.9', '1/3')
    """
    text = format(Decimal(value.numerator) / Decimal(value.denominator), "f")
    return text if Fraction(text) == value else str(value)
