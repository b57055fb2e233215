"""Coding: a column of any kind becomes yes-or-no items.

A column is held as its distinct cells and the code of each row's cell; what an item holds is then
decided once for each distinct cell.  No text here quotes a cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from privsieve.core.columns import Date, Flag, check_name, text_of
from privsieve.core.items import Items
from privsieve.core.spelling import FLAGS
from privsieve.errors import DomainError, ParameterError, SchemaError
from privsieve.sources.cells import date_cell, number_cell, text_cell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    import numpy.typing as npt

    from privsieve.core.columns import Column
    from privsieve.sources.source import RawColumn

    Mask = npt.NDArray[np.bool_]

#: A column of texts may have this many levels; one with more is cut, or its levels are listed.
LARGEST_LEVELS = 1000
#: From so many rows on, a column that differs in most of them is taken for an identifier.
MANY = 50


@dataclass(frozen=True)
class Thermometer:
    """Items `x >= cut`: each contains the next, so that containment is dominance.

    >>> Thermometer((18, 65)).cuts
    (18, 65)
    """

    cuts: tuple[float | str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Coded:
    """A column: its distinct cells, and for each row the position of its own (-1: missing).

    dates : whether numbers are days since 1970.
    """

    name: str
    cells: tuple[float | str, ...]
    codes: npt.NDArray[np.int32]
    dates: bool = False

    def numbers(self) -> npt.NDArray[np.float64] | None:
        """The distinct cells as numbers; None where one of them is none."""
        read = date_cell if self.dates else number_cell
        found = np.array([read(cell) if isinstance(cell, str) else cell for cell in self.cells],
                         np.float64)
        return None if np.isnan(found).any() else found

    def texts(self) -> list[str]:
        """The distinct cells as texts."""
        return [_shown(cell, dates=self.dates) for cell in self.cells]

    def held(self, mask: Mask) -> npt.NDArray[np.int32]:
        """The rows whose distinct cell is marked; the mask's last place stands for missing."""
        return np.flatnonzero(mask[self.codes]).astype(np.int32)


class Gather:
    """Batches of one raw column, gathered into a `Coded`.

    >>> column = Gather("ward")
    >>> column.add(["A", None, "B", " A"])
    >>> coded = column.coded()
    >>> coded.cells, coded.codes.tolist()
    (('A', 'B'), [0, -1, 1, 0])
    """

    def __init__(self, name: str, part: Column | None = None) -> None:
        self._name, self._part, self._dates = name, part, isinstance(part, Date)
        self._known: dict[float | str, int] = {}
        self._pieces: list[npt.NDArray[np.int32]] = [np.zeros(0, np.int32)]

    def add(self, raw: RawColumn) -> None:
        """Take another batch."""
        if isinstance(raw, np.ndarray):
            distinct, inverse = np.unique(raw, return_inverse=True)
            read: Callable[[Any], float | str] = float
            if raw.dtype.kind == "M":
                self._dates, read = True, date_cell
            elif isinstance(self._part, Flag):
                read = self._cell
            codes = np.array([self._code(read(cell)) for cell in distinct], np.int32)
            self._pieces.append(codes[inverse.reshape(-1)])
            return
        try:
            known = {cell: self._code(self._cell(cell)) for cell in dict.fromkeys(raw)}
            self._pieces.append(np.fromiter((known[cell] for cell in raw), np.int32, len(raw)))
        except TypeError:  # a cell that has no hash is no text either
            self._pieces.append(np.array([self._code(self._cell(cell)) for cell in raw], np.int32))

    def coded(self) -> Coded:
        """All that was added."""
        return Coded(self._name, tuple(self._known), np.concatenate(self._pieces), self._dates)

    def _cell(self, cell: object) -> float | str:
        if isinstance(self._part, Date):
            return date_cell(cell, self._part.format)
        text = text_cell(cell)
        if isinstance(self._part, Flag) and text.lower() in self._part.words:
            return str(self._part.words[text.lower()])
        return text

    def _code(self, cell: float | str) -> int:
        if cell == "" or cell != cell:  # noqa: PLR0124  # what differs from itself is no number
            return -1
        return self._known.setdefault(cell, len(self._known))


def encode(column: Coded, how: Any, bins: int, missing: str) -> list[tuple[str, Mask]]:
    """The items of a column: their names, and which distinct cells each holds.

    `how` is None (decide by the cells), a number of bins, a list of cut points (numbers) or of
    levels (texts), or a `Thermometer`.

    >>> column = Gather("age")
    >>> column.add([17, 30, 70, None])
    >>> [name for name, _ in encode(column.coded(), [18, 65], 4, "level")]
    ['age<18', 'age=18..65', 'age>=65', 'age=missing']
    """
    numbers = column.numbers() if column.cells else None
    listed = isinstance(how, (list, tuple)) and any(isinstance(one, str) for one in how)
    if isinstance(how, Thermometer):
        found = _thermometer(column, _demanded(column, numbers), _points(column, how.cuts))
    elif listed and not column.dates:
        found = _levels(column, [text_of(one) for one in how])
    elif isinstance(how, (list, tuple)):
        found = _bins(column, _demanded(column, numbers), _points(column, how))
    elif isinstance(how, int) and not isinstance(how, bool):
        found = _bins(column, _demanded(column, numbers), _quantiles(column, numbers, how))
    elif how is not None:
        raise ParameterError(f"column {column.name!r} is to be coded by something else than None, "
                             "a number of bins, a list of cuts or levels, or a Thermometer")
    else:
        found = _by_cells(column, numbers, bins)
    if missing == "level":
        nothing = np.zeros(len(column.cells) + 1, np.bool_)
        nothing[-1] = True
        found.append((f"{column.name}=missing", nothing))
    return found


def labels(column: Coded) -> tuple[npt.NDArray[np.int32], tuple[Any, ...]]:
    """Classes 0, 1, … in the order of their labels, and these.

    >>> column = Gather("ill")
    >>> column.add(["yes", "no", "yes"])
    >>> labels(column.coded())
    (array([1, 0, 1], dtype=int32), ('no', 'yes'))
    """
    if (column.codes < 0).any():
        raise SchemaError(f"the target {column.name!r} has rows without a label; give each row "
                          "one, or drop those rows")
    if len(column.cells) > LARGEST_LEVELS:
        raise SchemaError(f"the target {column.name!r} has more than {LARGEST_LEVELS} classes; "
                          "cut it into classes first")
    numbers = column.numbers() if column.cells else None
    keys: Sequence[Any] = column.texts() if numbers is None else numbers.tolist()
    order = sorted(range(len(keys)), key=keys.__getitem__)
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order))
    classes = [keys[at] for at in order]
    if numbers is not None and not column.dates:
        classes = [int(one) if one.is_integer() else one for one in classes]
    if column.dates:
        classes = [column.texts()[at] for at in order]
    return place[column.codes], tuple(classes)


def from_columns(columns: Sequence[tuple[Coded, list[tuple[str, Mask]]]], rows: int) -> Items:
    """Items from coded columns, each with its items."""
    pieces, names, origin = [np.zeros(0, np.int32)], [], []
    for column, items in columns:
        for name, mask in items:
            _check_level(column.name, name)
            pieces.append(column.held(mask))
            names.append(name)
            origin.append(column.name)
    if len(set(names)) != len(names):
        raise SchemaError("two items would have the same name; rename a column, or list the "
                          "levels of the one whose texts look like another")
    indptr = np.cumsum([len(piece) for piece in pieces]).astype(np.int64)
    return Items(indptr, np.concatenate(pieces), rows, tuple(names), tuple(origin))


def _by_cells(column: Coded, numbers: npt.NDArray[np.float64] | None, bins: int,
              ) -> list[tuple[str, Mask]]:
    """What the cells say: yes or no, a number, or one of some texts."""
    texts = [text.lower() for text in column.texts()]
    if set(texts) <= FLAGS.keys():
        return [(column.name, _mask([FLAGS[text] == 1 for text in texts]))]
    rows = len(column.codes)
    if numbers is not None:
        in_order = np.ptp(numbers) + 1 == len(numbers) == rows
        if rows >= MANY and in_order and not column.dates:
            raise SchemaError(_identifier(column.name))
        return _bins(column, numbers, _quantiles(column, numbers, bins))
    if rows >= MANY and 2 * len(texts) > rows:
        raise SchemaError(_identifier(column.name))
    if len(texts) > LARGEST_LEVELS:
        raise SchemaError(f"column {column.name!r} has more than {LARGEST_LEVELS} levels; list "
                          "those that count, or leave the column out")
    return _levels(column, sorted(column.texts()))


def _identifier(name: str) -> str:
    return (f"column {name!r} tells almost every row from the others: it is an identifier, and "
            "no k allows it; leave it out (--without), or say how to cut it")


def _demanded(column: Coded, numbers: npt.NDArray[np.float64] | None) -> npt.NDArray[np.float64]:
    if numbers is None and column.cells:
        raise SchemaError(f"column {column.name!r} is to be cut, and has cells that are no "
                          "numbers; correct them, or list its levels")
    return np.zeros(0) if numbers is None else numbers


def _points(column: Coded, cuts: Sequence[object]) -> list[float]:
    """Given cut points, checked."""
    read = date_cell if column.dates else number_cell
    found = [read(cut) for cut in cuts]
    if not found or any(cut != cut for cut in found) or sorted(set(found)) != found:  # noqa: PLR0124  # NaN
        raise ParameterError(f"the cuts of column {column.name!r} must be numbers (of a date "
                             "column, dates), each larger than the one before")
    return found


def _quantiles(column: Coded, numbers: npt.NDArray[np.float64] | None, bins: int) -> list[float]:
    """Cut points with about as many rows between them, in three digits where these do."""
    if bins < 2:
        raise ParameterError(f"column {column.name!r} is to be cut into {bins} bins; choose from 2")
    values = _demanded(column, numbers)[column.codes[column.codes >= 0]]
    if not len(values) or values.min() == values.max():
        return []
    low, high = values.min(), values.max()
    exact = np.quantile(values, np.arange(1, bins) / bins, method="higher").tolist()
    # A cut point is the value of somebody: round it where the rows are still told apart.
    rounded = [cut if column.dates else float(f"{cut:.3g}") for cut in exact]
    kept = sorted({cut for cut in rounded if low < cut <= high})
    return kept or [float(values[values > low].min())]


def _bins(column: Coded, numbers: npt.NDArray[np.float64], cuts: list[float],
          ) -> list[tuple[str, Mask]]:
    at = np.searchsorted(cuts, numbers, side="right")
    if not cuts:
        return []
    name, text = column.name, [_shown(cut, dates=column.dates) for cut in cuts]
    names = [f"{name}<{text[0]}", *(f"{name}={low}..{high}" for low, high in pairwise(text)),
             f"{name}>={text[-1]}"]
    return [(one, _mask(at == place)) for place, one in enumerate(names)]


def _thermometer(column: Coded, numbers: npt.NDArray[np.float64], cuts: list[float],
                 ) -> list[tuple[str, Mask]]:
    return [(f"{column.name}>={_shown(cut, dates=column.dates)}", _mask(numbers >= cut))
            for cut in cuts]


def _levels(column: Coded, levels: Sequence[str]) -> list[tuple[str, Mask]]:
    texts = column.texts()
    return [(f"{column.name}={level}", _mask([text == level for text in texts]))
            for level in levels]


def _mask(marked: Any) -> Mask:
    """The mask of distinct cells, with a last place for missing: it holds nothing."""
    return np.append(np.asarray(marked, np.bool_), False)


def _shown(cell: float | str, *, dates: bool) -> str:
    if dates and not isinstance(cell, str):
        return str(np.datetime64(0, "D") + np.timedelta64(int(cell), "D"))
    return text_of(cell)


def _check_level(column: str, item: str) -> None:
    try:
        check_name(item)
    except DomainError:
        raise SchemaError(f"column {column!r} has a level that cannot be part of a name (it is "
                          "too long, or not printable); list the levels that count") from None
