"""class-counts: the difference of the distributions of the classes over the levels.

Per column and level, the rows of each class are counted; with class weights t (one side of a cut
positive, the other negative)

    U_j = sum over levels v of | sum over classes c of t_c n_jcv |

is twice the total variation between the two sides.  Numbers are cut into 16 equal parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, ClassVar

from privsieve.summaries.scores import Public, Weights

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from privsieve.rows.batch import Batch
    from privsieve.summaries.scores.levels import LevelCounts

#: Equal parts of the declared range of a number.
GRID = 16


@dataclass(frozen=True)
class ClassCounts:
    """Which columns spread differently over the classes, in any shape.

    >>> from privsieve.public.domain import Domain
    >>> from privsieve.summaries.scores import Public
    >>> ClassCounts(Public(Domain.box(0, 1, columns=3), units=50)).weighed
    True
    """

    public: Public
    weighed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _ = self.public.domain.classes  # refuses a domain without classes

    def zero(self) -> LevelCounts:
        """Return the counts of no rows."""
        from privsieve.summaries.scores.levels import LevelCounts

        return LevelCounts.zero(self.public.domain, GRID)

    def of(self, batch: Batch, weight: npt.NDArray[np.int64] | None) -> LevelCounts:
        """Return the counts of some rows."""
        from privsieve.summaries.scores.levels import LevelCounts

        return LevelCounts.of(batch, weight, self.public.domain, GRID)

    def values(self, summary: LevelCounts, weights: Weights | None) -> list[int]:
        """Return U_j minus the value by chance, for the best cut of the classes."""
        from privsieve.summaries.scores.levels import signed

        assert weights is not None
        cuts = list(zip(weights.weights, weights.squares, strict=True))
        # [best-cut] a maximum over cuts moves no more than one of them
        return [max(signed(levels, cut) - self._chance(len(levels), squares)
                    for cut, squares in cuts)
                for levels in summary.columns(self.public.domain, GRID)]

    def _chance(self, levels: int, squares: int) -> int:
        # [chance] sqrt(2 levels squares / pi): public or released numbers only
        return self.public.weight * isqrt(636_620 * levels * squares // 1_000_000)

    def sensitivity(self, weights: Weights | None) -> int:
        """Return the largest weight, doubled if a unit is replaced instead of added or removed."""
        assert weights is not None
        # [sensitivity]
        return (2 if self.public.replace else 1) * self.public.weight * weights.largest
