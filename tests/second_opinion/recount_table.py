"""Recount a table of counts: its axes, cells and bins, its noise and its threshold."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, pairwise
from typing import Any

from privsieve.check.reasons import failed
from privsieve.public.columns import Category, Date, Flag, Label, Number
from privsieve.release import figure
from second_opinion.real import Between, agrees
from second_opinion.recount import Facts, warned

#: Codes of a column; one less where missing is a level of its own.
CODES = 65536
#: Bins of a number that a mapping does not name.
BINS = 8
#: Fewer cells than this can hardly be called a table.
FEW = 10
#: The largest noise of a count, and cells of a whole table and of one of named cells.
MOST_NOISE, MOST_WHOLE, MOST_NAMED = 2**30, 2**20, 2**53 - 1
_DAY = 86_400_000_000
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # days are counted without a zone
#: What stands for values that are not listed.
OTHER = "other"
_NUMBER = r"-?[0-9]{1,400}(\.[0-9]{1,400})?(e[+-]?[0-9]{1,3})?"
#: Bins nearer than this part of their end are not told apart from rounding.
_NARROW = 1e-9
#: A moment whose every part shows, if its form has it.
_PROBE = dt.datetime(2001, 2, 3, 4, 5, 6)  # noqa: DTZ001  # dates of tables have no zone

Cell = Callable[[str], int | None]


@dataclass(frozen=True)
class CodeAxis:
    """A column of a table: how many bins it has, and how many cells.

    >>> axis = CodeAxis.of(Number("age", 0, 110, missing="level"), 8)
    >>> axis.cells, axis.edges()[:3]
    (9, ['0.0', '13.75020981155108', '27.50041962310216'])
    """

    column: Any
    bins: int

    @classmethod
    def of(cls, column: Any, bins: int | Mapping[str, int]) -> CodeAxis:
        """The axis of a column, or of the target."""
        if not isinstance(column, Number | Date):
            return cls(column, 0)
        return cls(column, bins.get(column.name, BINS) if isinstance(bins, Mapping) else bins)

    @property
    def cells(self) -> int:
        """How many cells it has."""
        if self.bins:
            return self.bins + bool(self.column.missing_level)
        if isinstance(self.column, Label):
            return len(self.column.values)
        assert isinstance(self.column, Category | Flag)
        levels: int = self.column.levels
        return levels

    def edges(self) -> list[str]:
        """Where the bins begin, and where the last one ends, as texts."""
        used = CODES - self.column.missing_level
        starts = [-(-b * used // self.bins) for b in range(self.bins + 1)]
        if isinstance(self.column, Date):
            low, high = ((end - _EPOCH) / dt.timedelta(days=1)
                         for end in (self.column.low, self.column.high))
            return [_moment(edge) for edge in _even(low, high, starts, used)]
        low, high = self.column.ends
        if self.column.scale == "log":
            return [repr(_uneven(low, high, code)) for code in starts]
        return [repr(edge) for edge in _even(low, high, starts, used)]


def _even(low: float, high: float, starts: Sequence[int], used: int) -> list[float]:
    return [min(max(low + code * ((high - low) / used), low), high) for code in starts]


def _uneven(low: float, high: float, code: int) -> float:
    """Where a code begins on a log scale: by halving with square roots."""
    first, last = 0, CODES
    while code not in (first, last):
        middle, between = (first + last) // 2, math.sqrt(low) * math.sqrt(high)
        if code < middle:
            last, high = middle, between
        else:
            first, low = middle, between
    return low if code == first else high


def _moment(day: float) -> str:
    moment = (_EPOCH + dt.timedelta(microseconds=round(day * _DAY))).isoformat()
    return moment.removesuffix("T00:00:00")


def reasons(facts: Facts) -> Iterator[str]:
    """What of a table of counts does not follow from domain and plan."""
    settings, domain, names = facts.settings, facts.domain, facts.domain.names
    choice, columns, k = settings["choice"], settings["columns"], settings["k"]
    named = columns is not None
    target = domain.target if settings["target"] is not None else None
    yield from failed({
        "a table is of named columns, or of columns that were chosen": named == (choice is None),
        "the columns of the plan are not in the domain, or not in its order":
            not named or (columns == [name for name in names if name in set(columns)]
                          and len(columns) == k),
        "the choice before the table is for another number of columns":
            choice is None or (choice["settings"]["k"] == k < len(names)
                               and not {*choice["settings"]} & {"always", "never"}),
        "the target of the plan is not the one of the domain":
            settings["target"] is None or (
                target is not None and target.name == settings["target"]),
    })
    share = Fraction(0) if choice is None else Fraction(choice["epsilon"])
    if not 0 <= share < facts.epsilon or (choice is not None and not share):
        yield "the shares of choice and table do not add up to the claimed epsilon"
        return
    mean = Fraction((2 if domain.replaces else 1) * domain.rows_per_person) / (
        facts.epsilon - share)
    if mean > MOST_NOISE:
        yield "the noise on a count is beyond what is drawn"
        return
    yield from _cells(facts, target)
    yield from _noise(facts, mean, target)


def _cells(facts: Facts, target: Any) -> Iterator[str]:
    settings, release = facts.settings, facts.release
    cells, selected, bins = release["cells"], list(release["selected"]), settings["bins"]
    parts = [column for column in facts.columns if column.name in set(selected)]
    known = {column.name: column for column in (*facts.columns, target) if column is not None}
    axes = [CodeAxis.of(column, bins) for column in (*parts, *([target] if target else []))]
    graded = {axis.column.name: axis.edges() for axis in axes if axis.bins}
    return failed({
        "the columns of the table are not those of the plan": selected == (
            [axis.name for axis in parts] if settings["columns"] is None
            else settings["columns"]),
        "bins are planned for what has levels":
            not isinstance(bins, Mapping) or all(
                isinstance(known.get(name), Number | Date) for name in bins),
        "the axes of the table are not its columns and the target":
            cells["names"] == [axis.column.name for axis in axes],
        "the shape of the table does not follow from its columns":
            list(cells["shape"]) == [axis.cells for axis in axes],
        "the edges of the bins do not follow from the domain":
            {name: list(ends) for name, ends in cells["bins"].items()} == graded,
    })


def _largest(facts: Facts, target: Any) -> int:
    """Cells of the table, or of the largest one that could have been chosen."""
    bins, columns = facts.settings["bins"], facts.settings["columns"]
    parts = [column for column in facts.columns if columns is None or column.name in set(columns)]
    sizes = sorted((CodeAxis.of(axis, bins).cells for axis in parts), reverse=True)
    kept = sizes[:facts.settings["k"]]
    return math.prod(chain(kept, [CodeAxis.of(target, bins).cells] if target else []))


def _noise(facts: Facts, mean: Fraction, target: Any) -> Iterator[str]:
    release, forecast, settings = facts.release, facts.forecast, facts.settings
    cells, size = release["cells"], _largest(facts, target)
    x = min(float(1 / mean), 700.0)
    each, distance = 1 / (math.sqrt(2) * math.sinh(x / 2)), 1 / math.sinh(x)
    least = None
    if facts.delta:
        least = threshold(mean, facts.domain.rows_per_person, facts.delta)
    if settings["choice"] is None or release["warning"] is None:
        # a warning of the choice may stand alone
        yield from warned(facts, each * size if least is None else FEW * least, facts.units)
    error = Between.about(size * distance / (2 * max(1, facts.units)))
    place = cells["place"]
    yield from failed({
        "the amount of noise is not the one of the claimed epsilon":
            agrees(release["noise"]["each"], Between.about(each), _two),
        "the forecast of the noise is not the noise":
            forecast["noise_each"] == release["noise"]["each"],
        "the threshold is not the one of the claimed delta":
            settings["threshold"] == (None if least is None else str(least)),
        "the release names some cells although the plan has all, or the other way round":
            (place == "all") == (least is None),
        "a cell below the threshold is named":
            least is None or all(count >= least for count in cells["q"]),
        "the forecast does not know the number of cells": forecast["cells"] == str(size),
        "the table has more cells than may be released":
            size <= (MOST_WHOLE if least is None else MOST_NAMED),
        "the forecast of the error does not follow from the noise":
            agrees(forecast["expected_error"], error, _two) if least is None
            and "expected_error" in forecast else
            (least is None) == ("expected_error" in forecast),
    })
    if place != "all" and any(bound >= other for bound, other in pairwise(place)):
        yield "the places of the cells are not in order"


def _two(value: float) -> str:
    return figure(value, 2)


def threshold(mean: Fraction, most: int, delta: Fraction) -> int:
    """The noisy count from which on a cell is named.

    >>> threshold(Fraction(2), 1, Fraction(1, 10**6))
    28
    """
    by, spent = float(mean), float(delta)
    q = math.exp(-1 / by)
    limits = [rows - by * math.log((1 + q) * spent / times)
              for rows, times in ((1, most), (most, 1))]
    limits += [rows - by * math.log((1 + q) * -math.expm1(-rows / by)) for rows in (1, most)]
    return max(most + 1, *(math.ceil(limit) for limit in limits))
