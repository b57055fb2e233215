"""mean-difference: the distance between the means of a column in the classes.

With class weights t (one side of a cut positive, the other negative, each side 1 / share in sum)

    S_j = | sum over rows of t_c (2 code - 65535) |

is the weighted difference of means, in integers.  A flag is 0 or 65535.  A category has no mean:
it counts as the best yes-or-no variable that can be made of its levels.  Where missing is a level
of a number, it takes the side that tells more.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, ClassVar

from privsieve.public.columns import CODES, Column
from privsieve.summaries import Summary
from privsieve.summaries.scores import Public, Weights

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from privsieve.rows.batch import Batch

#: The largest code: a value of 1.
ONE = CODES - 1


@dataclass(frozen=True, eq=False, repr=False)
class Sums(Summary):
    """For each class, the sum of codes, and the counts at levels that have no mean.

    sums : per class and column, exact integers of any size.
    levels : per class and level; see `free`.
    """

    sums: npt.NDArray[np.object_]
    levels: npt.NDArray[np.int64]
    classes: tuple[int, ...]


@dataclass(frozen=True)
class MeanDifference:
    """Which columns have different means in different classes.

    >>> from privsieve.public.domain import Domain
    >>> from privsieve.summaries.scores import Public
    >>> MeanDifference(Public(Domain.box(0, 1, columns=3), units=50)).weighed
    True
    """

    public: Public
    weighed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _ = self.public.domain.classes  # refuses a domain without classes

    def zero(self) -> Sums:
        """Return the sums of no rows."""
        import numpy as np

        domain = self.public.domain
        return Sums(np.zeros((domain.classes, len(domain.columns)), object),
                    np.zeros((domain.classes, sum(map(free, domain.columns))), np.int64),
                    (0,) * domain.classes)

    def of(self, batch: Batch, weight: npt.NDArray[np.int64] | None) -> Sums:
        """Return the sums of some rows."""
        import numpy as np

        from privsieve.kernels.sums import code_sums
        from privsieve.summaries.scores.levels import tally

        domain = self.public.domain
        whole = None if weight is not None else code_sums(
            np.ascontiguousarray(batch.codes.T), batch.label, domain.classes)
        inside = batch.label == np.arange(domain.classes)[:, None]
        counts = inside.sum(axis=1) if weight is None else inside @ weight
        sums, levels = [], [np.zeros((domain.classes, 0), np.int64)]
        for j, column in enumerate(domain.columns):
            times, less = _line(column)
            if whole is not None and not free(column):
                sums.append(times * whole[:, j] - less * counts)
                continue
            codes = batch.codes[:, j].astype(np.int64)
            value = times * codes - less
            if beyond := free(column):
                # [free] each level of a category, or the missing level of a number: no mean
                at = codes if column.unordered else (codes != ONE).astype(np.int64)
                levels.append(tally(at, beyond + 1, batch, weight, domain.classes)[:, :beyond])
                value[at < beyond] = 0
            sums.append(inside @ (value if weight is None else weight * value))
        return Sums(np.array(sums, np.int64).T.astype(object), np.concatenate(levels, axis=1),
                    tuple(counts.tolist()))

    def values(self, summary: Sums, weights: Weights | None) -> list[int]:
        """Return S_j for the best cut of the classes; for a category, minus the value by chance."""
        from privsieve.summaries.scores.levels import signed

        assert weights is not None
        column_scores, at, levels = [], 0, summary.levels.T.tolist()
        for j, column in enumerate(self.public.domain.columns):
            sums, mine = [summary.sums[:, j].tolist()], levels[at:at + free(column)]
            at += free(column)
            # [best-cut] a maximum over cuts moves no more than one of them
            column_scores.append(max(
                signed(sums, cut) + ONE * (signed(mine, cut) - self._chance(column, squares))
                for cut, squares in zip(weights.weights, weights.squares, strict=True)))
        return column_scores

    def _chance(self, column: Column, squares: int) -> int:
        # [chance] sqrt(2 levels squares / pi): public or released numbers only
        return self.public.weight * isqrt(636_620 * column.unordered * squares // 1_000_000)

    def sensitivity(self, weights: Weights | None) -> int:
        """Return 65535 times the largest weight, doubled if a unit is replaced."""
        assert weights is not None
        # [sensitivity]
        return (2 if self.public.replace else 1) * ONE * self.public.weight * weights.largest


def free(column: Column) -> int:
    """Count the levels of a column that have no place on its scale.

    >>> from privsieve.public.columns import Category, Flag, Number
    >>> free(Category("ward", ["A", "B"])), free(Flag("smoker"))
    (3, 0)
    >>> free(Number("age", 0, 110, missing="level"))
    1
    """
    return column.unordered or int(column.missing_level)


def _line(column: Column) -> tuple[int, int]:
    """Return twice the distance from the middle, from -65535 to 65535."""
    if column.levels:
        return 2 * ONE, ONE
    return 2, ONE - column.missing_level
