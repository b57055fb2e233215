"""Sizes: how many cells a table may have, and how many make sense; from public numbers alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import sinh, sqrt

from privsieve.errors import ParameterError
from privsieve.methods.histogram.axes import Axis, cells

#: Cells of a table that is released whole, and of one of which only large cells are named.
LARGEST_WHOLE, LARGEST_NAMED = 2**20, 2**53 - 1
#: A table of which fewer than so many cells can pass the threshold is hardly one.
FEW = 10


def check_size(axes: Sequence[Axis], *, sparse: bool) -> None:
    """Refuse a table that nobody could use.

    >>> from privsieve.public.columns import Number
    >>> from privsieve.methods.histogram.axes import Axis
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
    >>> from privsieve.methods.histogram.axes import Axis
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
    >>> from privsieve.methods.histogram.axes import Axis
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
