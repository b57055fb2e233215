"""disagreement: how many pairs of rows from different classes a column tells apart.

    C_j = number of pairs {i, l} with different classes and different levels of column j

A count of pairs, not divided by class sizes: those are private, and the division is where the
published sensitivity goes wrong.  Whole variables count, whatever their levels; a number is cut
in the middle of its declared range.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from privsieve.errors import DomainError
from privsieve.summaries.scores import OfLevels, Weights

if TYPE_CHECKING:
    from privsieve.summaries.scores.levels import LevelCounts


@dataclass(frozen=True)
class Disagreement(OfLevels):
    """How many cross-class pairs differ in a column; needs the number of units to be public.

    >>> from privsieve.public.domain import Domain
    >>> from privsieve.summaries.scores import Public
    >>> Disagreement(Public(Domain.box(0, 1, columns=3), units=50)).sensitivity(None)
    49
    """

    grid: ClassVar[int] = 2  # below or above the middle of a number's range
    weighed: ClassVar[bool] = False
    counted: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.public.replace:
            raise DomainError("score 'disagreement' counts pairs, and one unit is in as many "
                              "pairs as there are others: under add-remove their number is "
                              "private and nothing bounds it; choose score 'class-counts', or "
                              'neighbours = "replace-one"')

    def values(self, summary: LevelCounts, weights: Weights | None) -> list[int]:
        """C_j: the pairs of two classes, less those that agree at a level."""
        assert weights is None
        return [_pairs(summary.classes) - sum(map(_pairs, levels))
                for levels in summary.columns(self.public.domain, self.grid)]

    def sensitivity(self, weights: Weights | None) -> int:
        """N - 1: one unit meets each other unit once."""
        assert weights is None
        # [sensitivity] persons also have pairs inside: at most half the square of their weight
        unit = self.public.weight
        return unit * unit * (self.public.units - 1) + unit * unit // 2


def _pairs(classes: tuple[int, ...] | list[int]) -> int:
    """Pairs from two different classes."""
    return (sum(classes) ** 2 - sum(n * n for n in classes)) // 2
