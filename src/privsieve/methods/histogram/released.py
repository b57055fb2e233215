"""Released: a released table of counts, and the margins and rows that follow from it at no cost.

The noisy counts are brought to the nearest table, in the sum of squares, that a table of rows
could have: no count below 0, all together the public number of rows, or the noisy sum where that
number is private.  Margins are sums of it, so that they agree with one another.  From cells back
to values is the inverse of the reader's coding: what is made for a cell is read into it again.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.errors import ParameterError, SchemaError
from privsieve.methods.histogram.noisy_histogram import Axis
from privsieve.public.canonical import canonical, digest, quoted, text_of
from privsieve.public.columns import CODES, DAY, Date, Flag, Number
from privsieve.public.domain import demand_cells, read_column
from privsieve.release import WRONG, Histogram, TableCells
from privsieve.rows.cells import log_edges

Ints = npt.NDArray[np.int64]

#: TableCells of a margin, and rows, that are made at a time.
LARGEST_MARGIN, LARGEST_SAMPLE = 2**24, 2**26
#: Rows that are written at a time.
PIECE = 2**16
#: What a count of a release can be.
LARGEST_COUNT = 2**42
#: What a level that is not listed is called, where no listed one has this name.
OTHER = "other"
_SECONDS = 86_400


@dataclass(frozen=True, eq=False, repr=False)
class CountTable:
    """Axes, the cells that hold rows, and how many each holds."""

    axes: tuple[Axis, ...]
    places: Ints
    counts: Ints

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> CountTable:
        """Return the table of a release's JSON."""
        try:
            return _table(Histogram.read(body).cells, body)
        except WRONG:
            raise SchemaError("the release contains no table of counts; name a release of "
                              "NoisyHistogram or privsieve synthesize") from None

    def axis(self, name: str) -> int:
        """Return the position of an axis."""
        known = [axis.name for axis in self.axes]
        if name not in known:
            raise ParameterError(f"{name!r} is not a column; the table has {', '.join(known)}")
        return known.index(name)

    def cells(self, j: int) -> Ints:
        """Return the cell of each place on one axis."""
        after = prod(axis.cells for axis in self.axes[j + 1:])
        return self.places // after % self.axes[j].cells

    def marginal(self, names: Sequence[str]) -> Ints:
        """Return counts over some of the columns, in this order."""
        kept = [self.axis(name) for name in names]
        shape = [self.axes[j].cells for j in kept]
        if len(set(kept)) < len(kept) or prod(shape) > LARGEST_MARGIN:
            raise ParameterError(f"the margin has {len(kept)} columns and {prod(shape)} cells; "
                                 f"name each column once, and at most {LARGEST_MARGIN} cells")
        totals = np.zeros(prod(shape), np.int64)
        place = np.zeros(len(self.places), np.int64)
        for j, size in zip(kept, shape, strict=True):
            place = place * size + self.cells(j)
        np.add.at(totals, place, self.counts)
        return totals.reshape(shape)

    def sample(self, n: int, rng: np.random.Generator | Draws) -> dict[str, npt.NDArray[Any]]:
        """Draw rows in random order with cells as often as the counts say."""
        check_rows(n)
        total = int(self.counts.sum())
        if not total:  # nothing is known: every cell is as likely as any other
            return {axis.name: values_of(axis, rng.integers(0, axis.cells, n), rng)
                    for axis in self.axes}
        drawn = rng.permutation(np.repeat(np.arange(len(self.counts)),
                                          shared(self.counts, int(n), rng)))
        return {axis.name: values_of(axis, self.cells(j)[drawn], rng)
                for j, axis in enumerate(self.axes)}


class Draws:
    """Random numbers that follow from a whole number, on every machine and in every version.

    Of NumPy's generators only the bits are the same everywhere.

    >>> Draws(7).integers(0, 100, 4).tolist(), Draws(7).permutation(np.arange(4)).tolist()
    ([62, 89, 77, 22], [3, 0, 2, 1])
    """

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def integers(self, low: Any, high: Any, size: int | None = None) -> Any:
        """Whole numbers from low on and below high."""
        shape = np.broadcast(low, high).shape if size is None else (size,)
        fractions = (self._bits.random_raw(prod(shape)) >> np.uint64(11)) / 2.0**53
        return np.minimum(low + np.floor(fractions.reshape(shape) * (high - low)).astype(np.int64),
                          high - 1)

    def permutation(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the values in a random order."""
        return values[np.argsort(self._bits.random_raw(len(values)), kind="stable")]


def synthetic_csv(body: Mapping[str, Any], n: int) -> bytes:
    """Return synthetic rows of a release as a CSV file: the same each time, as anybody may check.

    The draws follow from the release, which is public, and meet no row of the table.
    """
    table = CountTable.of(body)
    demand_cells(axis.column for axis in table.axes)
    return as_csv(table.axes, table.sample(n, Draws(int(digest(canonical(body)), 16))))


def check_rows(n: object) -> None:
    """Refuse a number of rows that cannot be made at a time.

    >>> check_rows(1000)
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 0 <= n <= LARGEST_SAMPLE:
        raise ParameterError(f"the number of rows is {quoted(n)}; write a whole number from 0 to "
                             f"{LARGEST_SAMPLE}")


def shared(counts: Ints, n: int, rng: np.random.Generator | Draws) -> Ints:
    """Return how often each cell occurs among n rows, rounded up or down at random.

    >>> shared(np.array([1, 2, 1]), 8, np.random.default_rng(0)).tolist()
    [2, 4, 2]
    """
    if not n:
        return np.zeros(len(counts), np.int64)
    ends, total = np.cumsum(counts), int(counts.sum())
    # [systematic] one random shift for all: each cell's mean is its exact share
    step, rest = divmod(total, n)
    at = np.arange(n, dtype=np.int64)
    marks = at * step + (at * rest + int(rng.integers(0, total))) // n
    return np.bincount(np.searchsorted(ends, marks, side="right"), minlength=len(counts))


def nearest(noisy: Ints, total: int) -> Ints:
    """Return the nearest counts from 0 on with this total, by the sum of squares.

    All are lowered (or raised) by one number, and what falls below 0 is 0; what is left by
    rounding goes to the largest, one each, ties to the first.

    >>> nearest(np.array([7, -3, 4, 1]), 10).tolist()
    [7, 0, 3, 0]
    """
    order = np.argsort(-noisy, kind="stable")
    falling = noisy[order]
    many = np.arange(1, len(noisy) + 1)
    # [support] the k largest stay above 0 while k of them exceed what they have too much
    too_much = np.cumsum(falling) - total
    k = int(np.flatnonzero(falling * many > too_much)[-1]) + 1 if total else 0
    if not k:
        return np.zeros(len(noisy), np.int64)
    lower = -(-int(too_much[k - 1]) // k)
    rounded = np.zeros(len(noisy), np.int64)
    rounded[order[:k]] = np.maximum(falling[:k] - lower, 0)
    rounded[order[:total - int(rounded.sum())]] += 1
    return rounded


def scaled(counts: Ints, total: int) -> Ints:
    """Scale counts to another sum; rounding goes to the largest remainders.

    >>> scaled(np.array([30, 60]), 100).tolist()
    [33, 67]
    """
    known = int(counts.sum())
    if not known:
        return counts
    exact = [divmod(int(count) * total, known) for count in counts]
    rounded = np.array([whole for whole, _rest in exact], np.int64)
    rests = np.array([rest / known for _whole, rest in exact])
    rounded[np.argsort(-rests, kind="stable")[:total - int(rounded.sum())]] += 1
    return rounded


def _table(table: TableCells, body: Mapping[str, Any]) -> CountTable:
    domain = body["domain"]
    columns = [*domain["columns"], *([domain["target"]] if domain["target"] else [])]
    known = {column["name"]: read_column(column) for column in columns}
    axes = tuple(Axis(known[name], max(0, len(table.bins.get(name, ())) - 1))
                 for name in table.names)
    if any(bool(axis.bins) is not isinstance(axis.column, Number | Date) for axis in axes):
        raise ValueError  # a number has bins, and nothing else does
    noisy, places = np.array(table.q, np.int64), np.array(table.places, np.int64)
    if tuple(axis.cells for axis in axes) != table.shape or (np.abs(noisy) > LARGEST_COUNT).any():
        raise ValueError
    public = (domain["unit"] == "row" and domain["neighbours"] == "replace-one"
              and "weight" not in domain)
    total = int(body["plan"]["units"]) if public else max(0, int(noisy.sum()))
    counts = nearest(noisy, total) if table.place == "all" else scaled(np.maximum(noisy, 0), total)
    held = np.flatnonzero(counts)
    return CountTable(axes, places[held], counts[held])


def at_code(column: Number | Date, codes: npt.NDArray[Any] | Sequence[int],
            ) -> npt.NDArray[np.float64]:
    """Return the values at which codes begin; those of a date are days since 1970.

    >>> at_code(Number("age", 0, 110), [0, 32768, 65536]).tolist()
    [0.0, 55.0, 110.0]
    >>> at_code(Number("dose", 1, 16, scale="log"), [0, 16384, 32768, 65536]).tolist()
    [1.0, 2.0, 4.0, 16.0]
    """
    places = np.asarray(codes, np.float64)
    low, high = column.bounds
    if isinstance(column, Number) and column.scale == "log":
        known = np.concatenate([[low], log_edges(column), [high]])
        return known[np.minimum(places, CODES).astype(np.intp)]
    used = CODES - column.missing_level
    days: npt.NDArray[np.float64] = np.clip(low + places * ((high - low) / used), low, high)
    return days


def edges(axis: Axis) -> list[str]:
    """Return the edges of an axis' bins, as text; of a date in ISO 8601.

    >>> edges(Axis(Number("age", 0, 100), 4))
    ['0.0', '25.0', '50.0', '75.0', '100.0']
    >>> edges(Axis(Date("day", "2020-01-01", "2020-01-02"), 2))
    ['2020-01-01', '2020-01-01T12:00:00', '2020-01-02']
    """
    assert isinstance(axis.column, Number | Date)
    ends = at_code(axis.column, axis.begins)
    if isinstance(axis.column, Date):
        moments = [str(np.datetime64(round(day * DAY), "us")) for day in ends.tolist()]
        return [text.removesuffix(".000000").removesuffix("T00:00:00") for text in moments]
    return [repr(edge) for edge in ends.tolist()]


def cell_names(axis: Axis) -> list[str]:
    """Return the names of an axis' cells.

    >>> from privsieve.public.columns import Category
    >>> cell_names(Axis(Category("ward", ["A", "B"])))
    ['A', 'B', 'other']
    >>> cell_names(Axis(Number("age", 0, 100, missing="level"), 2))
    ['0 to 50', '50 to 100', 'missing']
    """
    column = axis.column
    if isinstance(column, Flag):
        return ["no", "yes"]
    if isinstance(column, Number | Date):
        ends = edges(axis)
        if isinstance(column, Number):
            ends = [f"{x:,.0f}" if abs(x) >= 10**4 else f"{x:.4g}" for x in map(float, ends)]
        names = [f"{low} to {high}" for low, high in pairwise(ends)]
        return names + ["missing"] * (axis.cells > axis.bins)
    listed = [text_of(value) for value in column.values]
    return listed + [OTHER] * (axis.cells > len(listed))


def values_of(axis: Axis, cells: Ints, rng: np.random.Generator | Draws) -> npt.NDArray[Any]:
    """Return a value for each cell: its level, or one that is uniform in its bin.

    >>> from privsieve.public.columns import Category
    >>> rng = np.random.default_rng(0)
    >>> values_of(Axis(Category("ward", ["A", "B"])), np.array([1, 2]), rng).tolist()
    ['B', 'other']
    >>> values = values_of(Axis(Number("age", 0, 100), 4), np.array([0, 3]), rng)
    >>> bool(0 <= values[0] < 25 and 75 <= values[1] <= 100)
    True
    """
    column = axis.column
    if isinstance(column, Flag):
        return cells.astype(np.bool_)
    if isinstance(column, Number | Date):
        return _spread(axis, cells, rng)
    listed: list[Any] = list(column.values)
    if axis.cells > len(listed):
        known = {text_of(value) for value in listed}
        listed.append(OTHER if OTHER not in known else None)
    values = np.empty(len(listed), object)
    values[:] = listed
    return (values if len({type(value) for value in listed}) > 1 else np.array(listed))[cells]


def _spread(axis: Axis, cells: Ints, rng: np.random.Generator | Draws) -> npt.NDArray[Any]:
    """Uniform values in bins; nothing where a cell is that of what is missing."""
    column, begins = axis.column, np.array(axis.begins)
    assert isinstance(column, Number | Date)
    missing = cells >= axis.bins
    bins = np.where(missing, 0, cells)
    if isinstance(column, Date):
        return _days(column, at_code(column, begins), bins, rng, missing)
    # [inside] at the middle of a code of the bin: no rounding leads out of it
    codes = rng.integers(begins[bins], begins[bins + 1])
    low, high = at_code(column, codes), at_code(column, codes + 1)
    values = np.sqrt(low) * np.sqrt(high) if column.scale == "log" else _short(column, low, high)
    values[missing] = np.nan
    return values


def _short(column: Number, low: npt.NDArray[np.float64], high: npt.NDArray[np.float64],
           ) -> npt.NDArray[np.float64]:
    """Middles, in as few decimals as keep them in their quarter of the code."""
    digits = int(np.ceil(np.log10(4 * CODES / (column.ends[1] - column.ends[0]))))
    middles: npt.NDArray[np.float64] = (low + high) / 2
    return np.round(middles, digits) if abs(digits) < 15 else middles  # digits of a double


def _days(column: Date, ends: npt.NDArray[np.float64], bins: Ints,
          rng: np.random.Generator | Draws, missing: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """Whole days where the bounds are whole days, else seconds."""
    whole = all(moment.time() == dt.time() for moment in (column.low, column.high))
    per = 1 if whole else _SECONDS
    first = np.ceil(ends[:-1] * per).astype(np.int64)
    last = np.ceil(ends[1:] * per).astype(np.int64)
    # A bin that holds no whole one gets the one before it; the last holds its end.
    last[-1] += ends[-1] * per == last[-1]
    empty = last <= first
    first[empty], last[empty] = first[empty] - 1, first[empty]
    days = rng.integers(first[bins], last[bins]).astype(f"M8[{'D' if whole else 's'}]")
    days[missing] = np.datetime64("NaT")
    return days


def as_csv(axes: Sequence[Axis], rows: Mapping[str, npt.NDArray[Any]]) -> bytes:
    r"""Header and rows: commas, points, UTF-8; what is missing is blank.

    >>> as_csv([Axis(Flag("ill")), Axis(Number("age", 0, 110), 8)],
    ...        {"ill": np.array([True, False]), "age": np.array([3.5, np.nan])})
    b'ill,age\n1,3.5\n0,\n'
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([axis.name for axis in axes])
    for at in range(0, len(rows[axes[0].name]), PIECE):
        writer.writerows(zip(*(_texts(axis, rows[axis.name][at:at + PIECE]) for axis in axes),
                             strict=True))
    return out.getvalue().encode()


def _texts(axis: Axis, cells: npt.NDArray[Any]) -> list[str]:
    column = axis.column
    if isinstance(column, Number):
        return ["" if cell != cell else repr(cell) for cell in cells.tolist()]  # noqa: PLR0124  # NaN
    if isinstance(column, Date):
        form = column.output_format
        return ["" if cell is None else cell.strftime(form) if form else cell.isoformat()
                for cell in cells.astype(object)]
    return ["" if cell is None else text_of(cell) for cell in cells.tolist()]
