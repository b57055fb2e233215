"""Axes: how the columns of a domain become the cells of a table, and how many make sense.

A category, flag or label has a cell for each level.  A number or date has bins of equal width on
its public grid of codes, and one cell more where missing is a level.  All of it is public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod, sinh, sqrt

from privsieve.errors import ParameterError
from privsieve.public.columns import (
    CODES,
    MISSING,
    Category,
    Column,
    Date,
    Flag,
    Label,
    Number,
    Target,
)
from privsieve.public.domain import Domain
from privsieve.public.shown import quoted

#: Bins of a number where nobody says how many.
BINS = 8
#: Cells of a table that is released whole, and of one of which only large cells are named.
LARGEST_WHOLE, LARGEST_NAMED = 2**20, 2**53 - 1
#: A table of which fewer than so many cells can pass the threshold is hardly one.
FEW = 10


@dataclass(frozen=True)
class Axis:
    """One column of a table of counts.

    bins : of a number or date; 0 where the column has levels.

    >>> Axis(Number("age", 0, 110, missing="level"), 8).cells, Axis(Flag("smoker")).cells
    (9, 2)
    """

    column: Column | Target
    bins: int = 0

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.column.name

    @property
    def used(self) -> int:
        """How many codes are used for values."""
        return MISSING if getattr(self.column, "missing_level", False) else CODES

    @property
    def cells(self) -> int:
        """How many cells the column has."""
        if self.bins:
            return self.bins + (self.used == MISSING)
        if isinstance(self.column, Label):
            return len(self.column.values)
        assert isinstance(self.column, Category | Flag)
        return self.column.levels

    @property
    def begins(self) -> tuple[int, ...]:
        """The first code of each bin, and the end of the last.

        >>> Axis(Number("age", 0, 110), 4).begins
        (0, 16384, 32768, 49152, 65536)
        """
        # [bins] code c lies in bin c * bins // used
        return tuple(-(-b * self.used // self.bins) for b in range(self.bins + 1))


def axes_of(domain: Domain, names: Sequence[str], bins: int | Mapping[str, int], *,
            target: bool) -> tuple[Axis, ...]:
    """The axes of these columns in the domain's order; the target, if it is wanted, is the last.

    >>> from privsieve.public.domain import Domain
    >>> made = axes_of(Domain.box(0, 1, columns=3), ["x2", "x0"], {"x2": 5}, target=True)
    >>> [(axis.name, axis.cells) for axis in made]
    [('x0', 8), ('x2', 5), ('y', 2)]
    """
    wanted = set(names)
    parts: list[Column | Target] = [part for part in domain.columns if part.name in wanted]
    if target and domain.target is not None:
        parts.append(domain.target)
    return tuple(_axis(part, bins) for part in parts)


def check_bins(domain: Domain, bins: object) -> None:
    """Refuse numbers of bins that no column of the domain can have.

    >>> from privsieve.public.domain import Domain
    >>> check_bins(Domain.box(0, 1, columns=3), {"x2": 5})
    """
    if not isinstance(bins, Mapping):
        _whole(bins, "bins")
        return
    parts = {part.name: part for part in (*domain.columns, domain.target) if part is not None}
    for name, many in bins.items():
        if name not in parts:
            raise ParameterError(f"bins are given for {name!r}, which is no column of the domain; "
                                 "write a name of the domain")
        if not isinstance(parts[name], Number | Date):
            raise ParameterError(f"bins are given for {name!r}, whose cells are its levels; leave "
                                 "it away")
        _whole(many, f"the number of bins of {name!r}")


def cells(axes: Sequence[Axis]) -> int:
    """How many cells a table has."""
    return prod(axis.cells for axis in axes)


def _axis(part: Column | Target, bins: int | Mapping[str, int]) -> Axis:
    if not isinstance(part, Number | Date):
        return Axis(part)
    many = bins.get(part.name, BINS) if isinstance(bins, Mapping) else bins
    return Axis(part, many)


def _whole(value: object, name: str) -> None:
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, bool) or not isinstance(plain, int) or not 1 <= plain < MISSING:
        raise ParameterError(f"{name} is {quoted(value)}; write a whole number from 1 to "
                             f"{MISSING - 1}")


def check_size(axes: Sequence[Axis], *, sparse: bool) -> None:
    """Refuse a table that nobody could use.

    >>> from privsieve.public.columns import Number
    >>> check_size([Axis(Number("age", 0, 110), 8)] * 6, sparse=False)
    """
    size = cells(axes)
    if not sparse and size > LARGEST_WHOLE:
        raise ParameterError(
            f"the table of {len(axes)} columns would have {size} cells, and at most "
            f"{LARGEST_WHOLE} are released: each has noise of its own, so that in a larger table "
            f"noise is nearly all there is; {fewer(axes, LARGEST_WHOLE)}, or give a delta, and "
            "only cells that many rows share are named")
    if size > LARGEST_NAMED:
        raise ParameterError(f"the table of {len(axes)} columns would have more than 2^53 cells, "
                             f"whose places no reader could tell apart; "
                             f"{fewer(axes, LARGEST_NAMED)}")


def warning(axes: Sequence[Axis], units: int, each: float, threshold: int | None) -> str | None:
    """A sentence where the table will be mostly noise, with the largest one that would not.

    >>> from privsieve.public.columns import Number
    >>> warning([Axis(Number("age", 0, 110), 50)] * 2, 1000, 2.8, None)[:61]
    'a cell holds 0.4 rows on average and noise of about 2.8: the '
    """
    size = cells(axes)
    if threshold is not None:
        if units >= FEW * threshold:
            return None
        return (f"only cells of about {threshold} rows or more are named, and there are {units} "
                f"rows: at most {units // threshold} cells can be; a larger epsilon or delta "
                "would help")
    if units >= each * size:
        return None
    sensible = max(1, int(units / each))
    return (f"a cell holds {units / size:.2g} rows on average and noise of about {each:.2g}: the "
            f"table will be mostly noise; at this epsilon up to {sensible} cells make sense "
            f"({fewer(axes, sensible)}), or take a larger epsilon")


def fewer(axes: Sequence[Axis], limit: int) -> str:
    """How to come to so many cells.

    >>> from privsieve.public.columns import Flag, Number
    >>> fewer([Axis(Number("age", 0, 110), 50)] * 2, 110)
    'take at most 10 bins a column'
    >>> fewer([Axis(Flag("ill"))] * 7, 64)
    'take at most 6 of the columns'
    """
    most = max((axis.bins for axis in axes), default=0)
    low, high = 1, most + 1
    while high - low > 1:  # the largest number of bins that fits
        middle = (low + high) // 2
        cut = [replace(axis, bins=min(axis.bins, middle)) for axis in axes]
        low, high = (middle, high) if cells(cut) <= limit else (low, middle)
    if most > low > 1:
        return f"take at most {low} bins a column"
    found, many = 1, 0
    for size in sorted(axis.cells for axis in axes):
        found *= size
        many += found <= limit
    return f"take at most {many} of the columns" if many > 1 else "take fewer columns"


def spread(mean: Fraction) -> tuple[float, float]:
    """The standard deviation of the noise on a count, and its mean distance from 0.

    >>> from fractions import Fraction
    >>> [round(x, 3) for x in spread(Fraction(2))]
    [2.799, 1.919]
    """
    x = min(float(1 / mean), 700.0)  # beyond it there is next to none, and no double for it
    return 1 / (sqrt(2) * sinh(x / 2)), 1 / sinh(x)


def digits(value: float) -> str:
    """Two digits that matter.

    >>> digits(2.799), digits(0.000123), digits(31456.0), digits(1e-30)
    ('2.8', '0.00012', '31000', '1e-30')
    """
    short = f"{value:.2g}"
    return short if value < 1e-9 else f"{float(short):.12f}".rstrip("0").rstrip(".")
