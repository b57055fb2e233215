"""The contract of a score: what NoisyTopK knows of one, and nothing else.

::

    rows --of, +--> summary --values--> one integer a column
                                        sensitivity: how far one unit moves any of them

A score that was made has agreed to its domain: what it cannot measure it refuses in `__init__`,
before the charge, in words that name the thing and the way out.  From there on nothing raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from privsieve.errors import DomainError
from privsieve.public.domain import Domain

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from privsieve.rows.batch import Batch

#: Rows of a person that can be told apart by their weight: sums stay exact.
MOST_ROWS = 4096


@dataclass(frozen=True)
class Public:
    """What a score knows before there are rows: the domain and the public number of units.

    >>> from privsieve.public.domain import Domain
    >>> public = Public(Domain.box(0, 1, columns=3), units=50)
    >>> public.replace, public.weight
    (True, 1)
    """

    domain: Domain
    units: int

    def __post_init__(self) -> None:
        if self.domain.rows_per_person > MOST_ROWS:
            raise DomainError(f"table.rows_per_person is {self.domain.rows_per_person}; scores "
                              f"use at most {MOST_ROWS} rows of a person: write less")

    @property
    def replace(self) -> bool:
        """Whether neighbours replace a unit (else they add or remove one)."""
        return self.domain.neighbours == "replace-one"

    @property
    def weight(self) -> int:
        """The most that the rows of one unit weigh together: 1 for a row, L for a person."""
        return self.domain.unit_weight


class Weights(Protocol):
    """Signed integer class weights, public or released, for each way to cut the classes in two."""

    @property
    def weights(self) -> Sequence[tuple[int, ...]]:
        """Per cut, the weight of each class; its sign is the side."""

    @property
    def squares(self) -> Sequence[int]:
        """Per cut, the sum over units of squared weights: how far chance goes."""

    @property
    def largest(self) -> int:
        """No weight is larger."""


class Summary(Protocol):
    """Integers of some rows; of(A ++ B) = of(A) + of(B) for any cut."""

    @property
    def classes(self) -> Sequence[int]:
        """What the rows of each class weigh together; empty where there are no classes."""

    def __add__(self, other: Self, /) -> Self: ...


S = TypeVar("S", bound=Summary)


class Score(Protocol[S]):
    """A score for one domain.

    A class sets `weighed` and `counted` as plain constants, or computes them from `public`.
    """

    @property
    def weighed(self) -> bool:
        """Whether `values` and `sensitivity` need class weights (else they get None)."""

    @property
    def counted(self) -> bool:
        """Whether the proof needs that there are no more units than `public.units`.

        Never under add-remove, whose bounds do not let one unit push another out.
        """

    def zero(self) -> S:
        """The summary of no rows."""

    def of(self, batch: Batch, weight: npt.NDArray[np.int64] | None) -> S:
        """The summary of some rows; `weight` is what each counts for, None for 1."""

    def values(self, summary: S, weights: Weights | None) -> list[int]:
        """One exact integer for each column."""

    def sensitivity(self, weights: Weights | None) -> int:
        """No neighbouring table moves a value by more."""
