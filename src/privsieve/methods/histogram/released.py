"""Released: a table of counts as it left, made fit to use.  Free: it sees no row.

The noisy counts are brought to the nearest table, in the sum of squares, that a table of rows
could have: no count below 0, all together the public number of rows, or the noisy sum where that
number is private.  Margins are sums of it, so that they agree with one another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.errors import ParameterError, SchemaError
from privsieve.methods.histogram import values
from privsieve.methods.histogram.axes import Axis
from privsieve.public.canonical import quoted
from privsieve.public.columns import Date, Number
from privsieve.public.domain import part_of

Ints = npt.NDArray[np.int64]

#: Cells of a margin, and rows, that are made at a time.
LARGEST_MARGIN, LARGEST_SAMPLE = 2**24, 2**26
#: What a count of a release can be.
LARGEST_COUNT = 2**42


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Axes, the cells that hold rows, and how many each holds."""

    axes: tuple[Axis, ...]
    places: Ints
    counts: Ints

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Table:
        """The table of a release's JSON."""
        try:
            return _table(body)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise SchemaError("the release holds no table of counts; name one that NoisyHistogram "
                              "or privsieve synthesize made") from None

    def axis(self, name: str) -> int:
        """The position of an axis."""
        known = [axis.name for axis in self.axes]
        if name not in known:
            raise ParameterError(f"{name!r} is no column of the table; it has {', '.join(known)}")
        return known.index(name)

    def cells(self, j: int) -> Ints:
        """The cell of each place on one axis."""
        after = prod(axis.cells for axis in self.axes[j + 1:])
        return self.places // after % self.axes[j].cells

    def marginal(self, names: Sequence[str]) -> Ints:
        """Counts over some of the columns, in this order."""
        kept = [self.axis(name) for name in names]
        shape = [self.axes[j].cells for j in kept]
        if len(set(kept)) < len(kept) or prod(shape) > LARGEST_MARGIN:
            raise ParameterError(f"a margin of {len(kept)} columns with {prod(shape)} cells; name "
                                 f"each column once, and few enough for {LARGEST_MARGIN} cells")
        found = np.zeros(prod(shape), np.int64)
        place = np.zeros(len(self.places), np.int64)
        for j, size in zip(kept, shape, strict=True):
            place = place * size + self.cells(j)
        np.add.at(found, place, self.counts)
        return found.reshape(shape)

    def sample(self, n: int, rng: np.random.Generator) -> dict[str, npt.NDArray[Any]]:
        """Rows whose cells come as often as the counts say, in random order."""
        check_rows(n)
        total = int(self.counts.sum())
        if not total:  # nothing is known: every cell is as likely as any other
            return {axis.name: values.made(axis, rng.integers(0, axis.cells, n), rng)
                    for axis in self.axes}
        drawn = rng.permutation(np.repeat(np.arange(len(self.counts)),
                                          shared(self.counts, int(n), rng)))
        return {axis.name: values.made(axis, self.cells(j)[drawn], rng)
                for j, axis in enumerate(self.axes)}


def check_rows(n: object) -> None:
    """Refuse a number of rows that cannot be made at a time.

    >>> check_rows(1000)
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 0 <= n <= LARGEST_SAMPLE:
        raise ParameterError(f"{quoted(n)} rows are asked for; write a whole number from 0 to "
                             f"{LARGEST_SAMPLE}")


def shared(counts: Ints, n: int, rng: np.random.Generator) -> Ints:
    """How often each cell comes among n rows: its share, rounded down or up at random.

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
    """The counts from 0 on that add up to a total and are nearest in the sum of squares.

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
    found = np.zeros(len(noisy), np.int64)
    found[order[:k]] = np.maximum(falling[:k] - lower, 0)
    found[order[:total - int(found.sum())]] += 1
    return found


def scaled(counts: Ints, total: int) -> Ints:
    """Counts in the same proportions with another sum; what rounding leaves to the largest rest.

    >>> scaled(np.array([30, 60]), 100).tolist()
    [33, 67]
    """
    known = int(counts.sum())
    if not known:
        return counts
    exact = [divmod(int(count) * total, known) for count in counts]
    found = np.array([whole for whole, _rest in exact], np.int64)
    rests = np.array([rest / known for _whole, rest in exact])
    found[np.argsort(-rests, kind="stable")[:total - int(found.sum())]] += 1
    return found


def _table(body: Mapping[str, Any]) -> Table:
    said = body["cells"]
    domain = body["domain"]
    parts = [*domain["columns"], *([domain["target"]] if domain["target"] else [])]
    known = {part["name"]: part_of(part) for part in parts}
    edges = [said["bins"].get(name) for name in said["names"]]
    axes = tuple(Axis(known[name], len(ends) - 1 if ends else 0)
                 for name, ends in zip(said["names"], edges, strict=True))
    if any(bool(axis.bins) is not isinstance(axis.column, Number | Date) for axis in axes):
        raise ValueError  # a number has bins, and nothing else does
    noisy = np.array(said["q"], np.int64)
    cells = prod(axis.cells for axis in axes)
    whole = said["place"] == "all"
    if whole and cells != len(noisy):  # before so many places are made
        raise ValueError
    places = np.arange(cells) if whole else np.array(said["place"], np.int64)
    if [axis.cells for axis in axes] != list(said["shape"]) or len(places) != len(noisy) or (
            np.abs(noisy) > LARGEST_COUNT).any() or not (
            (places >= 0) & (places < cells)).all():
        raise ValueError
    public = domain["unit"] == "row" and domain["neighbours"] == "replace-one"
    total = int(body["plan"]["units"]) if public else max(0, int(noisy.sum()))
    counts = nearest(noisy, total) if whole else scaled(np.maximum(noisy, 0), total)
    held = np.flatnonzero(counts)
    return Table(axes, places[held], counts[held])
