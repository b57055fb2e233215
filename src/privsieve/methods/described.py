"""Described: what the chosen columns look like in each class, with noise, and how sure that is.

Of each column the units of each class are counted in a few public cells: its levels, or sixteen
bins of equal width on its grid of codes.  All cells get exact discrete noise.  A number has one sum
more in each class, of how far the units lie from the middles of their bins, which moves by a bin
only.  What a page shows is made of these noisy integers alone: counts, quartiles and means, each
with a range that holds the table's own figure with 95 % confidence.  See `described.proof.md`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context
from fractions import Fraction
from itertools import accumulate, pairwise
from math import isqrt
from typing import TYPE_CHECKING, Any, ClassVar

from privsieve.errors import ParameterError
from privsieve.public.canonical import LARGEST, Json, text_of
from privsieve.public.columns import CODES, MISSING, Category, Date, Flag, Label, Number
from privsieve.public.description import ClassFigures, Described, Figure
from privsieve.public.domain import Domain
from privsieve.public.event import Additive, Event
from privsieve.public.plan import Cost

if TYPE_CHECKING:
    from privsieve.noise.streams import Noise
    from privsieve.public.option import Choosing
    from privsieve.summaries.rules import Runs

#: Bins of a number; levels of a category that stand alone, but for one that holds the others.
BINS, LEVELS = 16, 64
#: More classes than these make a table that nobody reads.
MOST_CLASSES = 50
#: A mean of noise above which `noise.discrete` draws none.
LARGEST_NOISE = 2**30
#: Of a number's share, the part of the sums; the counts get the others.
SUMS = Fraction(1, 8)
#: Standard deviations, squared, within which noise stays with 95 %: 2.998 means of one draw, for
#: which the law has 2.996, and more than any sum of several needs.
WITHIN = Fraction(212, 100) ** 2
OTHERS, ALL = "others", "all"
MOST_DIGITS, DAY_SECONDS = 15, 86_400


@dataclass(frozen=True)
class Describing:
    """The public parameters of one description; epsilon is that of all chosen columns together."""

    THEOREM: ClassVar[str] = "described"
    FIELD: ClassVar[str] = "described"
    SETTLES: ClassVar[bool] = False

    domain: Domain
    epsilon: Fraction

    @property
    def moves(self) -> int:
        """How many counts of a column a unit moves by 1: it leaves one cell, and enters another."""
        # [cell-sensitivity]
        return 2 if self.domain.replaces else 1

    @property
    def classes(self) -> list[str]:
        """What the classes are called; one of all units where the target has none."""
        target = self.domain.target
        return [text_of(one) for one in target.values] if isinstance(target, Label) else [ALL]

    def warning(self, most: int) -> str | None:
        """Nothing: ranges say how sure figures are; noise above the integers is refused."""
        if self.moves * width() * most > self.epsilon * SUMS * LARGEST_NOISE:
            raise ParameterError(f"describe shares epsilon {Cost(self.epsilon).text} among {most} "
                                 "columns, and nothing would be seen for the noise; give a larger "
                                 "share, or leave describe away")
        return None

    def event(self, most: int) -> Event:
        """Counts of all chosen columns together, by the share of epsilon that each has."""
        # one column or several: each moves by `moves`, and has its part of epsilon
        return Additive.of("discrete-laplace", self.moves * most,
                           self.moves * most / self.epsilon)

    def said(self, runs: Runs, chosen: Sequence[int], noise: Noise) -> Json:
        """What the chosen columns look like."""
        return described(runs, chosen, noise, rules=self)


def part(_asked: Choosing, domain: Domain, _units: int, epsilon: Fraction) -> Describing:
    """A description for this epsilon; refuses one that cannot be made."""
    classes = len(domain.target.values) if isinstance(domain.target, Label) else 1
    if classes > MOST_CLASSES:
        raise ParameterError(f"describe shows each class, and the target has {classes}; at most "
                             f"{MOST_CLASSES} are shown: leave describe away")
    for column in domain.columns:
        if isinstance(column, Number | Date) and None in (column.low, column.high):
            raise ParameterError(f"describe needs bounds, and column {column.name!r} has none; "
                                 "write low and high in the domain, or leave describe away")
    return Describing(domain, epsilon)


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """How many units of each class lie in each cell of a column; private, or with noise.

    counts : a list of cells for each class.
    beside : of a number, for each class the sum of twice the distances from the middles of bins.
    """

    counts: list[list[int]]
    beside: list[int] | None


# [described-mechanism]
def described(runs: Runs, chosen: Sequence[int], noise: Noise, *, rules: Describing,
              ) -> dict[str, Json]:
    """The chosen columns with noise, by name; each has the same share."""
    found: dict[str, Json] = {}
    for j in chosen:
        column = rules.domain.columns[j]
        cells, size = noisy(counted(runs, j, column), rules.moves, rules.epsilon / len(chosen),
                            noise)
        found[column.name] = figures(cells, column, rules.classes, size).write()
    return found


def noisy(cells: Cells, moves: int, epsilon: Fraction, noise: Noise,
          ) -> tuple[Cells, tuple[Fraction, Fraction]]:
    """Noise on each cell and each sum, and the mean of either noise."""
    import numpy as np

    from privsieve.noise import discrete

    # [sum-share]
    own = epsilon if cells.beside is None else epsilon * (1 - SUMS)
    size = moves / own, moves * width() / (epsilon * SUMS)
    flat = np.array(cells.counts, np.int64)
    counts: Any = discrete.noisy(flat.ravel(), size[0], noise).reshape(flat.shape).tolist()
    if cells.beside is None:
        return Cells(counts, None), size
    return Cells(counts, discrete.noisy(np.array(cells.beside, np.int64), size[1],
                                        noise).tolist()), size


def counted(runs: Runs, j: int, column: Any) -> Cells:
    """The cells of column j: a unit is in one of them, and beside its middle by less than a bin."""
    import numpy as np

    indptr, code, count = runs.table
    here = slice(indptr[j], indptr[j + 1])
    codes, by_class = code[here].astype(np.int64), count[here].astype(np.int64)
    # [one-cell]
    cell = np.minimum(codes, LEVELS - 1) if column.levels else np.where(
        codes < used(column), codes * BINS // used(column), BINS)
    found = np.zeros((cells_of(column), by_class.shape[1]), np.int64)
    np.add.at(found, cell, by_class)
    counts: Any = found.T.tolist()
    if column.levels:
        return Cells(counts, None)
    # [inside-a-bin] twice the middle of a code, less twice that of its bin; 0 where it is missing
    middle = np.array([*middles(column), 0])[cell]
    apart = np.where(cell < BINS, 2 * codes + 1 - middle, 0)
    return Cells(counts, (apart @ by_class).tolist())
# [/described-mechanism]


def cells_of(column: Any) -> int:
    """How many cells a column has."""
    return min(int(column.levels), LEVELS) if column.levels else BINS + int(column.missing_level)


def used(column: Any) -> int:
    """How many codes a number uses for values."""
    return MISSING if column.missing_level else CODES


def begins(column: Any) -> list[int]:
    """The first code of each bin, and the end of the last.

    >>> begins(Number("age", 0, 110))[:3]
    [0, 4096, 8192]
    """
    return [-(-b * used(column) // BINS) for b in range(BINS + 1)]


def middles(column: Any) -> list[int]:
    """Twice the middle of each bin."""
    return [low + high for low, high in pairwise(begins(column))]


def width() -> int:
    """No bin holds more codes, and no unit lies farther from its middle, doubled."""
    return -(-CODES // BINS)


# --- noisy integers become figures: nothing below meets a row or a draw ---


def figures(cells: Cells, column: Any, classes: Sequence[str],
            size: tuple[Fraction, Fraction]) -> Described:
    """What is said of a column, from its noisy cells and the mean of their noise."""
    own = size[0] ** 2 * 2 * WITHIN
    if column.levels:
        by_class = [ClassFigures(name, tuple(counted_within(n, own, 1) for n in counts))
                    for name, counts in zip(classes, cells.counts, strict=True)]
        return Described(tuple(by_class), levels=_levels(column))
    assert cells.beside is not None
    made = []
    for name, counts, beside in zip(classes, cells.counts, cells.beside, strict=True):
        inside = counts[:BINS]
        made.append(ClassFigures(
            name, (counted_within(sum(inside), own, BINS),),
            tuple(quartile(inside, i, own, column) for i in (1, 2, 3)),
            mean(inside, beside, (own, size[1] ** 2 * 2 * WITHIN), column),
            counted_within(counts[BINS], own, 1) if column.missing_level else None))
    return Described(tuple(made), scale=column.scale)


def counted_within(count: int, own: Fraction, cells: int) -> Figure:
    """A count of some cells, and from where to where the table's own lies.

    >>> counted_within(100, Fraction(25), 4)
    (100, 90, 110)
    """
    reach = _root(own * cells)
    low, count, high = (min(LARGEST, max(0, n)) for n in (count - reach, count, count + reach))
    return count, low, high


def quartile(counts: Sequence[int], i: int, own: Fraction, column: Any) -> Figure:
    """The value below which i quarters of the units lie: estimate, and two ends of bins.

    At the end of bin b put D = (4 - i) times the units up to there, less i times those above it.
    The quartile lies in the first bin where D is at least 0: no bin where D with noise is below
    what noise explains can be it, nor one after a bin where it is above that.
    """
    up_to, total, bins = list(accumulate(counts)), sum(counts), len(counts)
    height = [4 * n - i * total for n in up_to]
    reach = [_root(own * ((4 - i) ** 2 * (b + 1) + i * i * (bins - b - 1))) for b in range(bins)]
    first = next((b for b in range(bins) if height[b] >= -reach[b]), bins - 1)
    last = max(b for b in range(bins) if b == 0 or height[b - 1] < reach[b - 1])
    here = next((b for b in range(bins) if height[b] >= 0), bins - 1)
    ends = begins(column)
    before = height[here - 1] if here else -i * total
    rise = height[here] - before
    part = min(Fraction(1), max(Fraction(0), Fraction(-before, rise))) if rise else Fraction(1, 2)
    at = ends[here] + part * (ends[here + 1] - ends[here])
    return _shown(column, at, Fraction(ends[first]), Fraction(ends[last + 1]))


def mean(counts: Sequence[int], beside: int, own: tuple[Fraction, Fraction], column: Any) -> Figure:
    """The mean, and all that it could be: those m for which the sum of (value - m) may be noise.

    That is (T - m N)^2 <= own (sum over bins of (middle - m)^2) + own', for the noisy sum T and
    number N, all in halves of codes: a range, as long as N stands out from its noise.
    """
    middle, bins, total = middles(column), len(counts), sum(counts)
    found = sum(at * n for at, n in zip(middle, counts, strict=True)) + beside
    # m^2 a - 2 m b + c <= 0
    a = total**2 - own[0] * bins
    b = found * total - own[0] * sum(middle)
    c = found**2 - own[0] * sum(at * at for at in middle) - own[1]
    low, high, top = Fraction(0), Fraction(2 * used(column)), Fraction(2 * used(column))
    if a > 0 and total > 0 and b * b >= a * c:
        wide = _root(b * b - a * c)
        low, high = max(low, (b - wide) / a), min(high, (b + wide) / a)
    at = min(max(Fraction(found, total), low), high) if total > 0 else (low + high) / 2
    # [middle-of-a-code] half a code to each side: where in its code a value lies is not known
    low, high = max(Fraction(0), low - 1), min(top, high + 1)
    return _shown(column, at / 2, min(low, high) / 2, max(low, high) / 2)


def _root(square: Fraction) -> int:
    """A square root, rounded up."""
    return isqrt(max(0, math.ceil(square)) - 1) + 1 if square > 0 else 0


def _levels(column: Category | Flag) -> tuple[str, ...]:
    """What the levels are called."""
    if isinstance(column, Flag):
        return ("no", "yes")
    listed = [*(text_of(one) for one in column.values), "other"]
    return tuple(listed if len(listed) <= LEVELS else [*listed[:LEVELS - 1], OTHERS])


def _shown(column: Any, *codes: Fraction) -> Figure:
    """An estimate and two ends as texts; the ends rounded outwards, in as few digits as a code."""
    from privsieve.methods.histogram.released import at_code

    between: Any = [float(code) for code in codes]
    at, low, high = at_code(column, between).tolist()
    rounds: tuple[Any, ...] = (round, math.floor, math.ceil)
    ends = (ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING)
    if isinstance(column, Date):
        return tuple(_moment(column, value, way)  # type: ignore[return-value]
                     for value, way in zip((at, low, high), rounds, strict=True))
    digits = math.ceil(math.log10(CODES / (column.high - column.low)))
    if column.scale == "log" or abs(digits) > MOST_DIGITS:
        return tuple(str(Context(prec=6, rounding=way).create_decimal(value))  # type: ignore[return-value]
                     for value, way in zip((at, low, high), ends, strict=True))
    ten = 10.0**digits
    return tuple(repr(min(max(way(value * ten) / ten, column.low), column.high))  # type: ignore[return-value]
                 for value, way in zip((at, low, high), rounds, strict=True))


def _moment(column: Date, days: float, way: Any) -> str:
    """A date as text: whole days where its bounds are, else seconds."""
    whole = all(end.time() == dt.time() for end in (column.low, column.high))
    seconds = way(days) * DAY_SECONDS if whole else way(days * DAY_SECONDS)
    text = (dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds)).isoformat()  # noqa: DTZ001
    return text.removesuffix("T00:00:00")
