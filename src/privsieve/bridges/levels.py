"""Levels: which cells of a column privsieve does not tell apart, and what they are called together.

A number lies in an interval, a category is itself, a flag is yes or no.  Cells that hold the same
items are one group: whatever cut them, k is counted on these groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from privsieve.errors import SchemaError
from privsieve.public.columns import text_of
from privsieve.rows.cells import date_cell, number_cell

if TYPE_CHECKING:
    from privsieve.rows.matrix import Items

Kind = Literal["text", "number", "date"]

#: What a missing cell is called, unless a level is called so.
MISSING = "missing"
#: What cells are called of which no item tells anything.
OTHER = "other"


@dataclass(frozen=True, eq=False, repr=False)
class Levels:
    """The distinct cells of a column, and their groups.

    cells : as they are spelled; "" is missing.
    group : for each cell the position of its group's label.
    labels : what each group is called, in order; no two are equal.
    cuts : where the labels are intervals the points between them, as they are shown; the labels
        that come after the intervals are of no interval (missing).
    kind : what all cells say but the missing one.
    """

    cells: tuple[str, ...]
    group: tuple[int, ...]
    labels: tuple[str, ...]
    cuts: tuple[str, ...] = ()
    kind: Kind = "text"

    def identical(self) -> bool:
        """Whether each cell is a group of its own, under its own text."""
        return tuple(self.labels[at] for at in self.group) == self.cells


def plain_levels(cells: Sequence[str], decimal: str = ".") -> Levels:
    """Each text is a level of its own, in whatever way it is spelled.

    >>> plain_levels(["3", "A", "3.0", ""]).labels
    ('3', 'A', 'missing')
    """
    texts = [text_of(cell) for cell in cells]
    listed = sorted({text for text in texts if text})
    kind, values = kind_of(listed, decimal)
    listed = [listed[at] for at in np.argsort(values, kind="stable")]
    labels = [*listed, *([free(MISSING, listed)] if "" in texts else [])]
    place = {text: at for at, text in enumerate(listed)} | {"": len(listed)}
    return Levels(tuple(cells), tuple(place[text] for text in texts), tuple(labels),
                  kind=kind)


def grouped(name: str, cells: Sequence[str], codes: npt.NDArray[np.int32], items: Items,
            decimal: str = ".") -> Levels:
    """The groups of a column's cells: those that hold the same items.

    `codes` is for each row the position of its cell.
    """
    positions = [j for j, origin in enumerate(items.origin) if origin == name]
    held = _held(name, len(cells), codes, items, positions)
    rests = [items.names[j].removeprefix(name) for j in positions]
    bounds = _bounds(rests)
    groups = [tuple(np.flatnonzero(row).tolist()) for row in held]
    labelled = (_intervals(rests, bounds, cells, groups) if bounds
                else _names(rests, cells, groups))
    listed = list(dict.fromkeys(labelled[at][1] for at in np.argsort(
        np.array([rank for rank, _ in labelled]), kind="stable")))
    place = {label: at for at, label in enumerate(listed)}
    return Levels(tuple(cells), tuple(place[label] for _, label in labelled), tuple(listed),
                  tuple(bounds), kind_of([cell for cell in cells if cell], decimal)[0])


def kind_of(texts: Sequence[str], decimal: str = ".") -> tuple[Kind, list[float]]:
    """Whether texts are numbers, or dates, and where each stands in their order.

    >>> kind_of(["10", "9"]), kind_of(["1970-01-02"]), kind_of(["A"])
    (('number', [10.0, 9.0]), ('date', [1.0]), ('text', [0.0]))
    """
    numbers = [number_cell(text, decimal) for text in texts]
    if texts and not np.isnan(numbers).any():
        return "number", numbers
    days = [*map(date_cell, texts)]
    if texts and not np.isnan(days).any():
        return "date", days
    return "text", [float(at) for at in range(len(texts))]


def merged(levels: Levels, first: int, last: int) -> str:
    """What the intervals from one to another are called together.

    >>> four = Levels((), (), ("<1", "1..2", "2..3", ">=3"), ("1", "2", "3"))
    >>> merged(four, 0, 1), merged(four, 1, 2), merged(four, 2, 3), merged(four, 1, 1)
    ('<2', '1..3', '>=2', '1..2')
    """
    if first == 0:
        return f"<{levels.cuts[last]}"
    if last == len(levels.cuts):
        return f">={levels.cuts[first - 1]}"
    return f"{levels.cuts[first - 1]}..{levels.cuts[last]}"


def free(text: str, taken: Sequence[str]) -> str:
    """A text that is not taken.

    >>> free("missing", ["missing", "A"])
    'missing_'
    """
    while text in taken:
        text += "_"
    return text


def _held(name: str, width: int, codes: npt.NDArray[np.int32], items: Items,
          positions: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Which items each cell holds, read from the rows; all rows of a cell hold the same."""
    held = np.zeros((width, len(positions)), np.bool_)
    for at, j in enumerate(positions):
        mine = np.zeros(len(codes), np.bool_)
        rows = items.indices[items.indptr[j]:items.indptr[j + 1]]
        if len(rows) and rows[-1] >= len(codes):
            raise SchemaError("the table changed while it was read; try again")
        mine[rows] = True
        held[codes[mine], at] = True
        if (held[codes, at] != mine).any():
            raise SchemaError(f"column {name!r} was read in two ways, as items and as cells; the "
                              "table changed, or its domain says how else it is written: try "
                              "again with its --domain")
    return held


def _bounds(rests: Sequence[str]) -> list[str]:
    """The cut points of a column, from the names of its items; none where it is not cut.

    >>> _bounds(["<18", "=18..65", ">=65", "=missing"]), _bounds([">=18", ">=65"]), _bounds(["=A"])
    (['18', '65'], ['18', '65'], [])
    """
    rests = [rest for rest in rests if rest != f"={MISSING}"]
    if len(rests) > 1 and rests[0].startswith("<"):
        found = [rests[0][1:]]
        for rest in rests[1:-1]:
            low, _, high = rest[1:].partition("..")
            if low != found[-1] or not high:
                return []
            found.append(high)
        return found if rests[-1] == f">={found[-1]}" else []
    if rests and all(rest.startswith(">=") for rest in rests):
        return [rest[2:] for rest in rests]
    return []


def _intervals(rests: Sequence[str], bounds: Sequence[str], cells: Sequence[str],
               groups: Sequence[tuple[int, ...]]) -> list[tuple[int, str]]:
    """For each cell the place of its interval, and what its group is called."""
    bins = rests[0].startswith("<")
    lowest = {at for at, (group, cell) in enumerate(zip(groups, cells, strict=True))
              if cell and not group}
    known = Levels((), (), (), tuple(bounds))
    names = [merged(known, at, at) for at in range(len(bounds) + 1)]
    nothing = free(MISSING, names)
    found = []
    for group in groups:
        inner = [at for at in group if rests[at] != f"={MISSING}"]
        if inner:
            at = inner[0] if bins else len(inner)
            found.append((at, names[at]))
        elif group or bins or not lowest:
            found.append((len(names), nothing))
        else:  # below the first point of a thermometer nothing is held, as where nothing is known
            both = any(not cell and not one for cell, one in zip(cells, groups, strict=True))
            found.append((0, f"{names[0]} or {nothing}" if both else names[0]))
    return found


def _names(rests: Sequence[str], cells: Sequence[str], groups: Sequence[tuple[int, ...]],
           ) -> list[tuple[int, str]]:
    """For each cell the place of its group, and what that is called."""
    flag = rests[:1] == [""]
    texts: dict[tuple[int, ...], list[str]] = {}
    for cell, group in zip(cells, groups, strict=True):
        texts.setdefault(group, []).append(text_of(cell))
    taken: list[str] = []
    labels: dict[tuple[int, ...], str] = {}
    # Who holds something is named first: its name is its own.
    for group, held in sorted(texts.items(), key=lambda one: not one[0]):
        distinct = sorted({text for text in held if text})
        if len(distinct) == 1 and (flag or "" not in held):
            label = distinct[0]
        elif not distinct:
            label = MISSING
        elif flag:
            label = "1" if group else "0"
        elif len(group) == 1:
            label = rests[group[0]].removeprefix("=")
        else:
            label = OTHER
        labels[group] = free(label, taken)
        taken.append(labels[group])
    ordered = sorted(labels, key=lambda group: (bool(group) == flag, labels[group]))
    rank = {group: at for at, group in enumerate(ordered)}
    return [(rank[group], labels[group]) for group in groups]
