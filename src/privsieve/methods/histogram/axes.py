"""Axes: how the columns of a domain become the cells of a table.  Public, made from the domain.

A category, flag or label has a cell for each level.  A number or date has bins of equal width on
its public grid of codes, and one cell more where missing is a level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from privsieve.errors import ParameterError
from privsieve.public.canonical import quoted
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

#: Bins of a number where nobody says how many.
BINS = 8


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
