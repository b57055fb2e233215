"""Synthetic: whether rows in a file are a draw that a released table of counts can give.

Of the released counts the fitted table follows, and of that how often each cell may come among so
many rows: one shift decides of all cells together.  So a row that is added, taken away or moved to
another cell is found, unless the draw could have been so; a value that stays in its cell is not.
"""

from __future__ import annotations

import datetime as dt
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from privsieve.check.reasons import Unreadable
from privsieve.public.canonical import text_of
from privsieve.public.columns import Category, Column, Date, Label, Target
from privsieve.public.domain import part_of

#: What stands for values that are not listed.
OTHER = "other"
_NUMBER = r"-?[0-9]{1,400}(\.[0-9]{1,400})?(e[+-]?[0-9]{1,3})?"
#: Bins nearer than this part of their end are not told apart from rounding.
_NARROW = 1e-9
#: A moment whose every part shows, if its form has it.
_PROBE = dt.datetime(2001, 2, 3, 4, 5, 6)  # noqa: DTZ001  # dates of tables have no zone

Cell = Callable[[str], int | None]


class Uncounted(Exception):
    """A table of counts whose rows cannot be told apart from here; nothing is wrong with them."""


def drawn_reasons(release: Mapping[str, Any], data: bytes) -> Iterator[str]:
    """What speaks against the rows in a file; the release is one that holds."""
    cells = release["cells"]
    names, shape = cells["names"], cells["shape"]
    read = [_reader(part, cells["bins"].get(part.name), size) for part, size in zip(
        _parts(release["domain"], names), shape, strict=True)]
    found: Counter[int] = Counter()
    for row in _rows(data, names):
        place = 0
        for text, cell, size in zip(row, read, shape, strict=True):
            at = cell(text)
            if at is None:
                yield "synthetic.csv holds a value that lies in no cell of the released table"
                return
            place = place * size + at
        found[place] += 1
    places = range(math.prod(shape)) if cells["place"] == "all" else cells["place"]
    fitted = dict(zip(places, _fitted(release), strict=True))
    if not sum(fitted.values()):  # nothing is known: every cell is as likely as any other
        return
    if any(not fitted.get(place) for place in found):
        yield "synthetic.csv holds a row of a cell in which the released table has none"
    elif not one_draw([fitted[place] for place in places], [found[place] for place in places]):
        yield ("synthetic.csv is no draw of the released table: its rows are spread over the cells "
               "as none is")


def one_draw(counts: Sequence[int], found: Sequence[int]) -> bool:
    """Whether some shift draws exactly so many rows of each cell.

    Row i of n is of the cell that holds (i * total + shift) // n, for one shift below the total.

    >>> [one_draw([1, 2, 1], found) for found in ([2, 4, 2], [1, 2, 0], [3, 4, 1])]
    [True, True, False]
    """
    total, n = sum(counts), sum(found)
    low, high = 0, total - 1
    for end, rows in zip(accumulate(counts), accumulate(found), strict=True):
        # rows before this end: as many as there are i with i * total + shift < end * n
        low = max(low, end * n - rows * total)
        high = min(high, end * n - (rows - 1) * total - 1)
    return low <= high


def _rows(data: bytes, names: Sequence[str]) -> Iterator[list[str]]:
    import csv  # a table without rows needs none

    try:
        lines = csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True)
        if next(lines, None) != list(names):
            raise Unreadable("synthetic.csv does not have the columns of the released table")
        for row in lines:
            if len(row) != len(names):
                raise Unreadable("synthetic.csv has a row of more or fewer cells than columns")
            yield row
    except (csv.Error, UnicodeDecodeError):
        raise Unreadable("synthetic.csv is not a CSV file in UTF-8") from None


def _parts(domain: Mapping[str, Any], names: Sequence[str]) -> list[Column | Target]:
    said = [*domain["columns"], *([domain["target"]] if domain["target"] else [])]
    known = {part["name"]: part for part in said}
    return [part_of(known[name]) for name in names]


def _reader(part: Column | Target, ends: Sequence[str] | None, cells: int) -> Cell:
    """What finds the cell of a text."""
    if ends is not None:
        return _moments(part, ends, cells) if isinstance(part, Date) else _numbers(ends, cells)
    if not isinstance(part, Category | Label):
        return {"0": 0, "1": 1}.get
    texts = [text_of(value) for value in part.values]
    if cells > len(texts):  # what is not listed has a name where no listed value has it
        texts.append("" if OTHER in texts else OTHER)
    return {text: at for at, text in enumerate(texts)}.get


def _numbers(texts: Sequence[str], cells: int) -> Cell:
    ends = [float(text) for text in texts]
    if any(high - low <= _NARROW * max(abs(low), abs(high)) for low, high in pairwise(ends)):
        raise Uncounted
    place = _bins(ends)

    def cell(text: str) -> int | None:
        if not text:
            return len(ends) - 1 if cells == len(ends) else None
        return place(float(text)) if re.fullmatch(_NUMBER, text) else None

    return cell


def _moments(part: Date, texts: Sequence[str], cells: int) -> Cell:
    ends = [dt.datetime.fromisoformat(text) for text in texts]
    whole = all(end.time() == dt.time() for end in part.reach)
    form, probe = part.format, _PROBE.replace(hour=0, minute=0, second=0) if whole else _PROBE
    step = dt.timedelta(days=1) if whole else dt.timedelta(seconds=1)
    # a form without the year's century, or without the day, says less than was drawn
    if any(high - low < step for low, high in pairwise(ends)) or (form is not None and (
            "%y" in form or dt.datetime.strptime(probe.strftime(form), form) != probe)):  # noqa: DTZ007
        raise Uncounted
    place = _bins(ends)

    def cell(text: str) -> int | None:
        if not text:
            return len(ends) - 1 if cells == len(ends) else None
        try:
            return place(dt.datetime.fromisoformat(text) if form is None
                         else dt.datetime.strptime(text, form))  # noqa: DTZ007
        except (ValueError, TypeError):  # no date, or one with a zone
            return None

    return cell


def _bins(ends: Sequence[Any]) -> Callable[[Any], int | None]:
    """What finds the bin in which a value lies; the last one holds its end.

    >>> [*map(_bins([0, 5, 10]), (0, 5, 10, 11))]
    [0, 1, 1, None]
    """
    from bisect import bisect_right  # a table without rows needs none

    def found(value: Any) -> int | None:
        if not ends[0] <= value <= ends[-1]:
            return None
        return min(bisect_right(ends, value), len(ends) - 1) - 1

    return found


def _fitted(release: Mapping[str, Any]) -> list[int]:
    """The table of which rows are drawn: a count from 0 on for each released one."""
    domain, cells = release["domain"], release["cells"]
    public = domain["unit"] == "row" and domain["neighbours"] == "replace-one"
    total = int(release["plan"]["units"]) if public else max(0, sum(cells["q"]))
    return nearest(cells["q"], total) if cells["place"] == "all" else scaled(cells["q"], total)


def nearest(noisy: Sequence[int], total: int) -> list[int]:
    """The counts from 0 on that add up to a total and are nearest in the sum of squares.

    >>> nearest([7, -3, 4, 1], 10)
    [7, 0, 3, 0]
    """
    order = sorted(range(len(noisy)), key=lambda j: -noisy[j])
    lower, sums = None, 0
    for many, j in enumerate(order, 1):
        sums += noisy[j]
        if total and noisy[j] * many > sums - total:
            lower = -((total - sums) // many)
    found = [0] * len(noisy) if lower is None else [max(0, q - lower) for q in noisy]
    if lower is not None:
        for j in order[:total - sum(found)]:
            found[j] += 1
    return found


def scaled(noisy: Sequence[int], total: int) -> list[int]:
    """Counts in the same proportions with another sum; what rounding leaves to the largest rest.

    >>> scaled([30, -2, 60], 100)
    [33, 0, 67]
    """
    counts = [max(0, q) for q in noisy]
    known = sum(counts)
    if not known:
        return counts
    parts = [divmod(count * total, known) for count in counts]
    found = [whole for whole, _rest in parts]
    order = sorted(range(len(parts)), key=lambda j: -(parts[j][1] / known))
    for j in order[:total - sum(found)]:
        found[j] += 1
    return found
