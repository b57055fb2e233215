"""Recount a description: its classes, levels and scales, and how far its counts may be off."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any

from privsieve.check.reasons import failed
from privsieve.public.canonical import LARGEST, text_of
from privsieve.public.columns import Category, Date, Flag, Label, Number
from privsieve.public.domain import Domain

#: Of a number's share, the part of its counts; how many bins it has, and levels a category.
COUNTS, BINS, LEVELS = Fraction(7, 8), 16, 64
#: Standard deviations, squared, within which noise stays with 95 %.
WITHIN = Fraction(212, 100)**2


def reasons(told: Mapping[str, Any], domain: Domain, epsilon: Fraction) -> Iterator[str]:
    """What of a description does not follow from the domain and its share of epsilon."""
    parts = {part.name: part for part in domain.columns}
    target = domain.target
    classes = [text_of(one) for one in target.values] if isinstance(target, Label) else ["all"]
    for name, said in told.items():
        part = parts.get(name)
        if part is None or ("levels" in said) != isinstance(part, Category | Flag):
            yield "a column is described by what it has not"
            return
        own = epsilon / len(told) * (1 if "levels" in said else COUNTS)
        # twice the square of a mean of noise is its variance
        square = 2 * WITHIN * Fraction(2 if domain.replaces else 1)**2 / own**2
        yield from failed({
            "the described classes are not those of the domain":
                [one["class"] for one in said["classes"]] == classes,
            "the described levels are not those of the domain":
                "levels" not in said or list(said["levels"]) == levels_of(part),
            "a column is described on another scale than its own":
                "scale" not in said or said["scale"] == getattr(part, "scale", None),
            "the counts of a description are not within the noise of the claimed epsilon":
                all(_within(one, square, part) for one in said["classes"]),
            "figures of a description lie beyond the column's bounds, or not in order":
                "scale" not in said or all(_ordered(one, part) for one in said["classes"]),
        })


def levels_of(part: Any) -> list[str]:
    """What the levels are called.

    >>> levels_of(Flag("smoker"))
    ['no', 'yes']
    """
    if isinstance(part, Flag):
        return ["no", "yes"]
    listed = [*map(text_of, part.values), "other"]
    return listed if len(listed) <= LEVELS else [*listed[:LEVELS - 1], "others"]


def _within(said: Mapping[str, Any], square: Fraction, part: Any) -> bool:
    graded = isinstance(part, Number | Date)
    counts = [(one, BINS if graded else 1) for one in said["counts"]]
    if ("missing" in said) != (graded and part.missing_level):
        return False
    counts += [(said["missing"], 1)] if "missing" in said else []
    expected = 1 if graded else len(levels_of(part))
    return len(said["counts"]) == expected and all(_count(one, square * n) for one, n in counts)


def _count(one: Sequence[int], square: Fraction) -> bool:
    """Whether a range is as wide as the noise; below 0 and above all integers it is cut off."""
    count, low, high = one
    reach = math.isqrt(math.ceil(square) - 1) + 1
    if count == 0:
        return low == 0 and high <= reach
    return low == max(0, count - reach) and high == min(LARGEST, count + reach)


def _plain(said: Mapping[str, Any], part: Any) -> bool:
    """Whether numbers of a linear scale are written as Python writes them."""
    return not isinstance(part, Number) or part.scale == "log" or all(
        repr(float(text)) == text or "E" in text or "e" in text or float(text).is_integer()
        for one in (*said["quartiles"], said["mean"]) for text in one)


def _ordered(said: Mapping[str, Any], part: Any) -> bool:
    read: Any = datetime.fromisoformat if isinstance(part, Date) else float
    try:
        if not _plain(said, part):
            return False
        figures = [[read(text) for text in one] for one in (*said["quartiles"], said["mean"])]
    except ValueError:
        return False
    # six digits of a log scale may lie a little beyond a bound
    slack = 0.0 if isinstance(part, Date) or part.scale == "linear" else 1e-5
    low, high = part.low, part.high
    if slack:
        low, high = low * (1 - slack), high * (1 + slack)
    return all(low <= at[1] <= at[0] <= at[2] <= high for at in figures)
