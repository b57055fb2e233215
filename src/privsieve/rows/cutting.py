"""Cut points from data: each is a round value that at least k rows share, never one row's own.

The name of an item contains its cut point, which is released with it.  So a quantile is rounded
down to the finest grid (1, 2 or 5 times a power of ten; of dates months, years or decades) on
which at least k rows round to the same value; and each bin holds at least k rows, so that neither
the smallest value nor the largest, nor how many bins there are, depends on fewer.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from privsieve.errors import ParameterError

Doubles = npt.NDArray[np.float64]
Cell = tuple[float, float]

#: Bins of a column of numbers for which nobody gave cut points.
BINS = 4
#: How many rows share a cut point where nobody says it.
SHARED = 5
#: The digits of the finest grid, relative to the width of the middle rows.
DIGITS = 3
_STEPS = (1, 2, 5)


@dataclass(frozen=True, eq=False, repr=False)
class Cutting:
    """How to cut numbers and dates without given cut points.

    bins : the largest number of bins.
    k : the least number of rows that share a cut point, and of rows in a bin.
    sources : the person or source of each row, if k counts these; -1 for none.
    """

    bins: int = BINS
    k: int = SHARED
    sources: npt.NDArray[np.integer] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int | np.integer) or self.k < 1:
            raise ParameterError(f"k is {self.k!r}: a group of one protects nobody; choose at "
                                 "least 2")


def shared_cuts(values: Doubles, cutting: Cutting, *, dates: bool = False) -> list[float]:
    """Return cut points with about as many rows between them; none if none may be shown.

    values : those of the rows, NaN where one is missing; of dates days since 1970.

    >>> ages = np.array([17, 18, 18, 30, 31, 34, 38, 52, 57, 66, 71, 75.0])
    >>> shared_cuts(ages, Cutting(bins=2, k=3))
    [30.0]
    >>> shared_cuts(np.array([0.0] * 20 + [15337.54, 17000, 18500]), Cutting(k=3))
    [15000.0]
    """
    rows = _Rows.of(values, cutting)
    if len(rows.values) < 2 * cutting.k:
        return []
    quantiles = np.quantile(rows.values, np.arange(1, cutting.bins) / cutting.bins,
                            method="higher").tolist()
    cuts = {_shared(rows, quantile, dates=dates) for quantile in quantiles}
    kept = rows.apart(sorted(cut for cut in cuts if cut is not None))
    low, high = rows.middle
    if kept or not low < high:
        return kept
    points = [point for point in (_decades(low, high) if dates else _tens(low, high))
              if rows.splits(point)]
    # The largest point up to each quantile; where there is none, the smallest one.
    return rows.apart(sorted({max((point for point in points if point <= quantile),
                                  default=points[0]) for quantile in quantiles}) if points else [])


@dataclass(frozen=True, eq=False, repr=False)
class _Rows:
    """The values that are not missing, in order, with their sources."""

    values: Doubles
    k: int
    sources: npt.NDArray[np.integer] | None

    @classmethod
    def of(cls, values: Doubles, cutting: Cutting) -> _Rows:
        order = np.argsort(values, kind="stable")[:int((~np.isnan(values)).sum())]
        sources = None if cutting.sources is None else cutting.sources[order]
        return cls(values[order], int(cutting.k), sources)

    @property
    def middle(self) -> Cell:
        """The k-th smallest and the k-th largest value: fewer rows than k do not move these."""
        return float(self.values[self.k - 1]), float(self.values[-self.k])

    def enough(self, low: float, high: float) -> bool:
        """Return whether at least k rows, or persons, lie from `low` to below `high`."""
        first, last = np.searchsorted(self.values, [low, high], side="left")
        if high == math.inf:
            last = len(self.values)
        if self.sources is None or last - first < self.k:
            return bool(last - first >= self.k)
        whose = self.sources[first:last]
        return len(np.unique(whose[whose >= 0])) >= self.k

    def splits(self, cut: float) -> bool:
        """Return whether enough rows lie on both sides."""
        return self.enough(-math.inf, cut) and self.enough(cut, math.inf)

    def apart(self, cuts: Sequence[float]) -> list[float]:
        """Return the cuts, from the smallest on, with enough rows between them."""
        kept: list[float] = []
        for cut in cuts:
            if self.enough(kept[-1] if kept else -math.inf, cut) and self.enough(cut, math.inf):
                kept.append(cut)
        return kept


def _shared(rows: _Rows, quantile: float, *, dates: bool) -> float | None:
    """Round a quantile down to the finest grid on which enough rows share it, or None.

    Where most rows have the quantile's own value and no cut at or below it splits the rows, the
    rows above it are cut off: by a point that enough of these share.
    """
    cut = _rounded(rows, quantile, rows.values, dates=dates)
    above = rows.values[np.searchsorted(rows.values, quantile, side="right"):]
    at = 0
    while cut is None and at < len(above):
        cut = _rounded(rows, float(above[at]), above, dates=dates)
        at = max(2 * at + 1, rows.k - 1)
    return cut


def _rounded(rows: _Rows, value: float, among: Doubles, *, dates: bool) -> float | None:
    """Round a value down to the finest grid that keeps it between its neighbours."""
    cells = _periods(value) if dates else _grid(value, _width(among, value))
    return next((low for low, high in cells if rows.enough(low, high) and rows.splits(low)), None)


def _width(values: Doubles, value: float) -> float:
    """Return the range of the values without the outer tenths."""
    low, high = np.quantile(values, (0.1, 0.9), method="nearest").tolist()
    width = high - low or float(values[-1]) - float(values[0]) or abs(value) or 1.0
    return min(width, sys.float_info.max)


def _grid(value: float, width: float) -> Iterator[Cell]:
    """Yield a number's places on grids, from the finest on."""
    exact = Fraction(repr(float(value)))
    largest = max(abs(value), width)
    for exponent in range(math.floor(math.log10(width)) + 1 - DIGITS,
                          math.floor(math.log10(largest)) + 2):
        for step in _STEPS:
            grid = step * Fraction(10)**exponent
            at = exact // grid
            yield _double(at * grid), _double((at + 1) * grid)


def _double(exact: Fraction) -> float:
    """Return the nearest double; beyond the largest one, infinity."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _periods(day: float) -> Iterator[Cell]:
    """Yield the month, the year and the decade of a day; never a day alone."""
    month = np.datetime64(math.floor(day), "D").astype("M8[M]")
    yield _days(month), _days(month + 1)
    year = month.astype("M8[Y]")
    yield _days(year), _days(year + 1)
    decade = year - np.timedelta64(int(year.astype(np.int64)) % 10, "Y")
    yield _days(decade), _days(decade + 10)


def _days(moment: np.datetime64) -> float:
    return float(moment.astype("M8[D]").astype(np.int64))


def _tens(low: float, high: float) -> list[float]:
    """Return the powers of ten, and zero, from above `low` to `high`; they are public."""
    sizes = [abs(end) for end in (low, high) if end]
    first = -5 if low <= 0 <= high else math.floor(math.log10(min(sizes)))
    powers = [float(f"1e{exponent}")
              for exponent in range(first, min(math.ceil(math.log10(max(sizes))), 308) + 1)]
    return [point for point in [*(-power for power in reversed(powers)), 0.0, *powers]
            if low < point <= high]


def _decades(low: float, high: float) -> list[float]:
    years = [int(np.datetime64(math.floor(end), "D").astype("M8[Y]").astype(np.int64)) + 1970
             for end in (low, high)]
    points = [_days(np.datetime64(f"{year:04d}", "Y"))
              for year in range(years[0] // 10 * 10, years[1] + 1, 10) if year > 0]
    return [point for point in points if low < point <= high]
