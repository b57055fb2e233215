"""correlation: the covariation of a column with a numeric target.

Codes are numbers between declared bounds; doubled and from the middle of those, x and y lie in
-M .. M, M = 65535.  A covariance needs the mean of y, which is private; the table's own, for which
N must be public, makes one row count twice as much.  So y is centred on the best b of a public grid
instead:

    S_j = min over b of  w_b max(|sum x (y - b)|, M |sum (y - b)|),     w_b ~ 1 / (M + |b|).

The second sum is large where b is far from the mean, and near it the first is N times the
covariance, wherever x lies.  The smallest of many moves no more than each, as the largest does.

A category counts as the best signs that its levels can have.  A missing number counts as the
middle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from privsieve.errors import DomainError
from privsieve.public.columns import CODES, Column, Label, Number, Target
from privsieve.summaries import Summary
from privsieve.summaries.scores import Public, Weights

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from privsieve.rows.batch import Batch

    Ints = npt.NDArray[np.int64]

#: The largest code, M.
ONE = CODES - 1
#: The number of steps between the middle and the last centre on either side.
STEPS = 32
#: What is divided by M + |b|, in steps, and rounded down, so that scores are whole numbers.
FINE = 4096
#: Rows whose products of two codes and a weight add up in 64 bits: 2^(16 + 16 + 12 + 18).
CHUNK = 2**18


@dataclass(frozen=True, eq=False, repr=False)
class Moments(Summary):
    """Exact sums, weighted: of 1 and y, and per column (or level of a category) of x and x y.

    For a level, x is whether a row has it.
    """

    total: int
    y: int
    x: npt.NDArray[np.object_]
    xy: npt.NDArray[np.object_]
    classes: tuple[int, ...] = ()


#: Rows of two columns and the target, to be told apart by one row more.
_ROWS = ["010", "010", "100", "100", "100", "110", "010", "101", "101", "111", "000"]


@dataclass(frozen=True)
class Correlation:
    """Which columns go up, or down, with a numeric target.

    >>> from privsieve.public.columns import Flag
    >>> from privsieve.public.domain import Domain
    >>> from privsieve.summaries.scores import Public
    >>> domain = Domain([Flag("smoker")], target=Number("days", 0, 365))
    >>> Correlation(Public(domain, units=50)).sensitivity(None) == 2 * 4096 * 32 * 65535**2
    True
    """

    public: Public
    weighed: ClassVar[bool] = False
    #: One row more makes the first column go with the target, or neither.
    worst_rows: ClassVar[tuple[list[str], list[str]]] = ([*_ROWS, "111"], [*_ROWS, "001"])

    def __post_init__(self) -> None:
        target = self.public.domain.target
        if not isinstance(target, Number):
            what = "classes" if isinstance(target, Label) else "no target"
            raise DomainError(f"score 'correlation' needs a target that is a number, but the "
                              f'domain has {what}; write kind = "number", low and high, or '
                              "for classes choose score 'mean-difference'")

    def zero(self) -> Moments:
        """Return the sums of no rows."""
        import numpy as np

        slots = sum(map(_slots, self.public.domain.columns))
        return Moments(0, 0, np.full(slots, 0, object), np.full(slots, 0, object))

    def of(self, batch: Batch, weight: Ints | None) -> Moments:
        """Return the sums of some rows."""
        import numpy as np

        moments_sum = self.zero()
        for start in range(0, len(batch), CHUNK):
            rows = slice(start, start + CHUNK)
            y = _value(batch.label[rows].astype(np.int64), self.public.domain.target)
            row_weights = np.ones(len(y), np.int64) if weight is None else weight[rows]
            x: list[int] = []
            xy: list[int] = []
            for j, column in enumerate(self.public.domain.columns):
                codes = batch.codes[rows, j].astype(np.int64)
                x += _sums(codes, column, row_weights)
                xy += _sums(codes, column, y * row_weights)
            moments_sum += Moments(int(row_weights.sum()), int(y @ row_weights),
                                   np.array(x, object), np.array(xy, object))
        return moments_sum

    def values(self, summary: Moments, weights: Weights | None) -> list[int]:
        """S_j, in Python's integers."""
        import numpy as np

        assert weights is None
        # [middle] the sums of w and of w y, y from its middle
        total, y = summary.total, 2 * summary.y - ONE * summary.total
        # [grid] a centre is b steps of M / 32; what is summed is 32 times as large
        b = np.array(range(-STEPS, STEPS + 1), object)
        fine = FINE * STEPS // (STEPS + abs(b))
        alone = ONE * abs(STEPS * y - ONE * total * b)
        column_scores, at = [], 0
        for column in self.public.domain.columns:
            mine = slice(at, at + _slots(column))
            at += _slots(column)
            x, xy = summary.x[mine], 2 * summary.xy[mine] - ONE * summary.x[mine]
            several = bool(column.unordered)
            if not several:
                # [middle] the same of x
                x, xy = 2 * x - ONE * total, 2 * xy - ONE * y
            # [signs] each level takes the sign that tells more; the x of a level is M, not 1
            together = abs(STEPS * xy - ONE * b[:, None] * x).sum(axis=1) * (ONE if several else 1)
            # [minimax] the better of both rules, at the centre where it is smallest
            column_scores.append(int((fine * np.maximum(together, alone)).min()))
        return column_scores

    def sensitivity(self, weights: Weights | None) -> int:
        """Bound a unit's reach at the middle centre, twice if it is replaced."""
        assert weights is None
        # [sensitivity] for no centre is it more: `fine` is rounded down
        return (2 if self.public.replace else 1) * FINE * STEPS * ONE * ONE * self.public.weight


def _slots(column: Column) -> int:
    return column.unordered or 1


def _sums(codes: Ints, column: Column, by: Ints) -> list[int]:
    """Sum `by` times a number (a flag is 0 or 65535); of a category, `by` at each level."""
    import numpy as np

    # [exact] below 2^62 in a chunk; of levels, as doubles, below 2^46
    if column.unordered:
        sums: list[int] = np.bincount(codes, by, column.unordered).astype(np.int64).tolist()
        return sums
    x = codes * ONE if column.levels else _value(codes, column)
    return [int(x @ by)]


def _value(codes: Ints, column: Column | Target | None) -> Ints:
    """Return the codes of a number or date; a missing level becomes the middle."""
    import numpy as np

    assert column is not None
    assert not isinstance(column, Label)
    return np.where(codes == ONE, ONE // 2, codes) if column.missing_level else codes
