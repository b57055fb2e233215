"""The naive twins of cut points: loops over decimals, and over rows."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import pairwise

import numpy as np


def enough(rows, whose, k):
    """Whether rows at these positions are of at least k owners."""
    return len({whose[row] for row in rows}) >= k


def grids():
    """1, 2 and 5 times the powers of ten."""
    return [step * Decimal(10)**exponent for exponent in range(-12, 13) for step in (1, 2, 5)]


def shared(values, cut, whose, k):
    """Whether rows of k owners round down to a cut on one of the grids."""
    number = Decimal(repr(cut))
    for grid in grids():
        if number % grid == 0 and enough([row for row, value in enumerate(values)
                                          if not math.isnan(value)
                                          and number <= Decimal(repr(value)) < number + grid],
                                          whose, k):
            return True
    return False


def public(cut):
    """Whether a cut is zero, or a power of ten with a sign or none."""
    number = Decimal(repr(abs(cut))).normalize()
    return cut == 0 or number == Decimal(10)**number.adjusted()


def period(day, unit):
    """The first day of the month, year or decade of a day since 1970."""
    date = np.datetime64(math.floor(day), "D").astype(object)
    if unit == "decade":
        return date.replace(year=date.year // 10 * 10, month=1, day=1)
    return date.replace(day=1) if unit == "month" else date.replace(month=1, day=1)


def shared_date(days, cut, whose, k):
    """Whether days of k owners fall into the month, year or decade that begins at a cut."""
    first = np.datetime64(int(cut), "D").astype(object)
    return any(period(cut, unit) == first and enough(
        [row for row, day in enumerate(days)
         if not math.isnan(day) and period(day, unit) == first], whose, k)
        for unit in ("month", "year", "decade"))


def bins(values, cuts):
    """The rows of each bin."""
    ends = [-math.inf, *cuts, math.inf]
    return [[row for row, value in enumerate(values) if low <= value < high]
            for low, high in pairwise(ends)]
