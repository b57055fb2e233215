"""mutual-information: how much a column tells about the class, in nats of all rows.

With g(k) = k log k and the counts n_jcv of class c at level v,

    T_j = sum over v, c of g(n_jcv) - sum over v of g(n_jv)

is n times the plug-in mutual information of column and class, up to a number that all columns
share: a race does not feel it, and without it one row moves T_j half as much.  g is rounded to
integers, 2^-20 of a nat; the rounding is part of the proof.  Numbers are cut into 16 equal parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from typing import TYPE_CHECKING, ClassVar

from privsieve.errors import DomainError
from privsieve.summaries.scores import OfLevels, Weights

if TYPE_CHECKING:
    from privsieve.summaries.scores.levels import LevelCounts

#: One nat in integer units.
NAT = 2**20
#: Digits of a logarithm: k log k has at most 14 before the point, NAT adds 7.
_DIGITS = Context(prec=50, rounding=ROUND_HALF_EVEN)


@dataclass(frozen=True)
class MutualInformation(OfLevels):
    """Which columns tell most about the class, in any shape; needs a public number of rows.

    >>> from privsieve.public.domain import Domain
    >>> from privsieve.summaries.scores import Public
    >>> round(MutualInformation(Public(Domain.box(0, 1), units=50)).sensitivity(None) / NAT, 3)
    4.902
    """

    grid: ClassVar[int] = 16
    weighed: ClassVar[bool] = False
    counted: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.public.replace or self.public.domain.rows_per_person > 1:
            raise DomainError("score 'mutual-information' has a proof for replace-one and one row "
                              'a unit (neighbours = "replace-one", rows_per_person = 1); '
                              "elsewhere choose score 'class-counts' or 'mean-difference'")

    def values(self, summary: LevelCounts, weights: Weights | None) -> list[int]:
        """T_j less what chance alone would add: half a nat for each degree of freedom."""
        assert weights is None
        g = _Terms().__getitem__
        found = []
        for levels in summary.columns(self.public.domain, self.grid):
            told = sum(sum(map(g, level)) - g(sum(level)) for level in levels)
            # [chance] public: levels and classes
            chance = NAT * (len(levels) - 1) * (len(summary.classes) - 1) // 2
            found.append(told - chance)
        return found

    def sensitivity(self, weights: Weights | None) -> int:
        """g(n) - g(n - 1), about 1 + log n, and the rounding of ten values of g."""
        assert weights is None
        # [sensitivity]
        return k_log_k(self.public.units) - k_log_k(self.public.units - 1) + 10


class _Terms(dict[int, int]):
    """`k_log_k` of counts that come again.  It lives for one call: its keys are private."""

    __slots__ = ()
    __repr__ = object.__repr__

    def __missing__(self, k: int) -> int:
        self[k] = found = k_log_k(k)
        return found


def k_log_k(k: int) -> int:
    """The integer next to 2^20 k log k; the logarithm is correctly rounded, on every machine.

    >>> k_log_k(0), k_log_k(1), k_log_k(2)
    (0, 0, 1453635)
    """
    if k < 2:
        return 0
    with localcontext(_DIGITS):
        # [rounded] off by less than 1
        return int((NAT * k * Decimal(k).ln()).to_integral_value())
