"""correlation: how a column moves with a numeric target.

Codes lie in 0 .. 65535 between declared bounds.  Under replace-one the covariance is centred on
the table's own means and stays an integer, times the number of units N:

    S_j = | N sum x y - (sum x) (sum y) |

Under add-remove N is private, and the middles of the declared bounds stand for the means:

    S_j = | sum (2 x - 65535) (2 y - 65535) |

A category counts as the best yes-or-no variable that can be made of its levels.  A missing number
counts as the middle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from privsieve.errors import DomainError
from privsieve.public.columns import CODES, Category, Column, Label, Number, Target
from privsieve.summaries import Summary
from privsieve.summaries.scores import Public, Weights

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from privsieve.rows.batch import Batch

    Ints = npt.NDArray[np.int64]

#: The largest code: a value of 1.
ONE = CODES - 1
#: Rows whose products of two codes and a weight add up in 64 bits: 2^(16 + 16 + 12 + 18).
CHUNK = 2**18


@dataclass(frozen=True, eq=False, repr=False)
class Moments(Summary):
    """Exact sums, weighted: of 1 and y, and per column (or level of a category) of x and x y.

    For a level, x is whether a row has it.
    """

    one: int
    y: int
    x: npt.NDArray[np.object_]
    xy: npt.NDArray[np.object_]
    classes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Correlation:
    """Which columns go up, or down, with a numeric target.

    >>> from privsieve.public.columns import Flag
    >>> from privsieve.public.domain import Domain
    >>> from privsieve.summaries.scores import Public
    >>> domain = Domain([Flag("smoker")], target=Number("days", 0, 365))
    >>> Correlation(Public(domain, units=50)).sensitivity(None) == 49 * 65535**2
    True
    """

    public: Public
    weighed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        target = self.public.domain.target
        if not isinstance(target, Number):
            what = "classes" if isinstance(target, Label) else "no target"
            raise DomainError(f"score 'correlation' needs a number to go with, and the domain has "
                              f'{what}: [target] with kind = "number", low and high; for '
                              "classes choose score 'mean-difference'")

    @property
    def counted(self) -> bool:
        """Only the centred form rests on the number of units."""
        return self.public.replace

    def zero(self) -> Moments:
        """The sums of no rows."""
        import numpy as np

        slots = sum(map(_slots, self.public.domain.columns))
        return Moments(0, 0, np.full(slots, 0, object), np.full(slots, 0, object))

    def of(self, batch: Batch, weight: Ints | None) -> Moments:
        """The sums of some rows."""
        import numpy as np

        made = self.zero()
        for start in range(0, len(batch), CHUNK):
            rows = slice(start, start + CHUNK)
            y = _value(batch.label[rows].astype(np.int64), self.public.domain.target)
            one = np.ones(len(y), np.int64) if weight is None else weight[rows]
            x: list[int] = []
            xy: list[int] = []
            for j, column in enumerate(self.public.domain.columns):
                codes = batch.codes[rows, j].astype(np.int64)
                x += _sums(codes, column, one)
                xy += _sums(codes, column, y * one)
            made += Moments(int(one.sum()), int(y @ one), np.array(x, object),
                            np.array(xy, object))
        return made

    def values(self, summary: Moments, weights: Weights | None) -> list[int]:
        """S_j; of a category the best set of levels."""
        assert weights is None
        whole, found, at = self.public.units * self.public.weight, [], 0
        for column in self.public.domain.columns:
            mine = slice(at, at + _slots(column))
            at += _slots(column)
            pairs = list(zip(summary.x[mine], summary.xy[mine], strict=True))
            if self.public.replace:
                moved = [whole * xy - x * summary.y for x, xy in pairs]
                found.append(_best_set(moved) if isinstance(column, Category) else abs(moved[0]))
            elif isinstance(column, Category):
                # [signs] each level takes the sign that tells more
                found.append(ONE * sum(abs(2 * xy - ONE * x) for x, xy in pairs))
            else:
                x, xy = pairs[0]
                found.append(abs(4 * xy - 2 * ONE * (x + summary.y) + ONE * ONE * summary.one))
        return found

    def sensitivity(self, weights: Weights | None) -> int:
        """(N - 1) 65535^2 for a replaced row, 65535^2 for one that comes or goes."""
        assert weights is None
        unit, square = self.public.weight, ONE * ONE
        # [sensitivity] persons may also vary in themselves, by at most half of their square
        if self.public.replace:
            several = unit * unit * square // 2 if unit > 1 else 0
            return unit * unit * square * (self.public.units - 1) + several
        return unit * square


def _slots(column: Column) -> int:
    return column.levels if isinstance(column, Category) else 1


def _sums(codes: Ints, column: Column, by: Ints) -> list[int]:
    """The sum of `by` times a number (a flag is 0 or 65535); of a category, `by` at each level."""
    import numpy as np

    # [exact] below 2^62 in a chunk; of levels, as doubles, below 2^46
    if isinstance(column, Category):
        sums: list[int] = np.bincount(codes, by, column.levels).astype(np.int64).tolist()
        return sums
    x = codes * ONE if column.levels else _value(codes, column)
    return [int(x @ by)]


def _value(codes: Ints, column: Column | Target | None) -> Ints:
    """The codes of a number or date; where missing is a level, it becomes the middle."""
    import numpy as np

    assert column is not None
    assert not isinstance(column, Label)
    return np.where(codes == ONE, ONE // 2, codes) if column.missing_level else codes


def _best_set(moved: list[int]) -> int:
    # [best-set] all levels that go up; together the others go down by no more
    return ONE * sum(m for m in moved if m > 0)
