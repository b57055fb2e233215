"""Before: columns that were published before are read again and counted, whatever is chosen now."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import TYPE_CHECKING, Any

from privsieve.containment.choice import Choice, standing
from privsieve.errors import LedgerError, NothingFits
from privsieve.kernels.patterns import Rule
from privsieve.rows.cells import date_cell, number_cell
from privsieve.rows.coding import Thermometer

if TYPE_CHECKING:
    from privsieve.containment.labelled import Labelled

    #: How a column is read, as `items_of` takes it.

Claims = Sequence[Mapping[str, Any]]
How = list[float | dt.datetime] | Thermometer | None

#: The parts of an item's name behind that of its column, where no claim says which that is.
_PARTS = re.compile(r"(?P<column>.+?)(?P<rest><[^<>=]+|>=[^<>=]+|=.+)?", re.DOTALL)
_RANGE = re.compile(r"=(.+)\.\.(.+)", re.DOTALL)


@dataclass(frozen=True, repr=False)
class Cut:
    """How a column was made into the items of it that were published.

    below, above : the ends of `age<40` and of `age>=60`; between : both ends of `age=40..60`.
    levels : the texts of `ward=A`.
    """

    below: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()

    @property
    def points(self) -> tuple[str, ...]:
        """All cut points, each once, in their order."""
        return tuple(sorted({*self.below, *self.above, *self.between}, key=_place))

    @property
    def how(self) -> How:
        """How the column has to be read, so that these items come out; None: in any way."""
        if not self.points:
            return None
        if len(set(self.above)) > 1 and not (self.below or self.between):
            return Thermometer(tuple(map(_point, self.points)))
        return [_point(text) for text in self.points]


def read_also(claims: Claims) -> dict[str, How]:
    """How the columns of which something was published have to be read: the same items come out.

    >>> read_also([{"columns": ["age<40", "age=40..60", "ward=A", "smoker", "dose>=3", "dose>=6"]}])
    {'age': [40.0, 60.0], 'ward': None, 'smoker': None, 'dose': Thermometer(cuts=(3.0, 6.0))}
    """
    return {name: cut.how for name, cut in _cuts(claims).items()}


def reading(columns: Sequence[str] | Mapping[Any, Any] | None, claims: Claims,
            ) -> tuple[Any, frozenset[str]]:
    """What `items_of` is to read so that columns of before are there, and which were not asked for.

    `columns` is what was asked for, as `items_of` takes it; what it says of a column is kept.

    >>> reading(["ward"], [{"columns": ["age<40"]}])
    ({'ward': None, 'age': [40.0]}, frozenset({'age'}))
    >>> reading(["ward"], [{"columns": ["ward=A", "smoker"]}])
    (['ward', 'smoker'], frozenset({'smoker'}))
    """
    also = read_also(claims)
    asked = columns if isinstance(columns, Mapping) else dict.fromkeys(columns or ())
    everything = columns is None or ... in asked
    closed = frozenset(name for name in also if asked.get(name, None if everything else False)
                       is False)
    how = {name: asked.get(name) or one for name, one in also.items()}
    if not any(how.values()) and not isinstance(columns, Mapping):
        return columns if columns is None else [*columns, *sorted(closed)], closed
    wanted = {**asked, **{name: one for name, one in how.items()
                          if one is not None or name in closed}}
    if columns is None:
        wanted[...] = None
    return wanted, closed


def counted_items(table: Labelled, claims: Claims) -> tuple[int, ...]:
    """The positions of all items that claims publish; refused where the table lacks one.

    >>> import numpy as np
    >>> from privsieve.containment.labelled import Labelled
    >>> from privsieve.rows.matrix import Items
    >>> table = Labelled(Items.dense([[1, 0]], ["a", "b"]), np.zeros(1, np.int32), (None,))
    >>> counted_items(table, [{"columns": ["b"]}])
    (1,)
    """
    place = {name: at for at, name in enumerate(table.items.names)}
    for one in claims:
        for item, column in zip(one["columns"], _origins(one), strict=True):
            if item not in place:
                raise LedgerError(_lost(table, item, column, _cuts(claims)[column]))
    return tuple(sorted({place[item] for one in claims for item in one["columns"]}))


def beside(table: Labelled, claims: Claims, closed: Collection[str]) -> Labelled:
    """The table with what has to be counted marked, and nothing else of closed columns.

    Where rows were left out nothing can be chosen beside it, and nothing is marked.
    """
    counted = set(counted_items(table, claims))
    alone = any(one.get("suppressed") for one in claims)
    kept = [j for j, name in enumerate(table.items.origin) if name not in closed or j in counted]
    return replace(table, items=table.items.take(kept), closed=tuple(sorted(closed)),
                   counted=() if alone else tuple(at for at, j in enumerate(kept) if j in counted))


def open_part(table: Labelled, rule: Rule, choice: Choice) -> Choice:
    """The part of a choice that leaves: without columns that are counted only.

    What was published before may leave again, if its column is among those to choose from.
    """
    origin = table.items.origin
    selected = tuple(j for j in choice.selected if origin[j] not in table.closed)
    if choice.selected and not selected:
        raise NothingFits("no further column keeps the rule together with what was published of "
                          "this snapshot before; let more columns be chosen from, or publish "
                          "nothing more of it")
    if selected == choice.selected:
        return choice
    level = standing(table.items, table.y, rule, selected)[0]
    return replace(choice, selected=selected, level=level, objective=None, bound=None,
                   proved=False)


def _origins(claim: Mapping[str, Any]) -> Sequence[str]:
    """The column of each published item; version 0.1.0 did not note it."""
    found: Sequence[str] = claim.get("origins") or [_split(item)[0] for item in claim["columns"]]
    return found


def _split(item: str) -> tuple[str, str]:
    found = _PARTS.fullmatch(item)
    return (found["column"], found["rest"] or "") if found else (item, "")


def _cuts(claims: Claims) -> dict[str, Cut]:
    """How each column was cut."""
    found: dict[str, dict[str, list[str]]] = {}
    for one in claims:
        for item, column in zip(one["columns"], _origins(one), strict=True):
            ends = found.setdefault(column, {"below": [], "above": [], "between": [], "levels": []})
            rest = item.removeprefix(column)
            between = _RANGE.fullmatch(rest)
            if rest.startswith("<"):
                ends["below"].append(rest[1:])
            elif rest.startswith(">="):
                ends["above"].append(rest[2:])
            elif between and not any(isnan(_place(end)) for end in between.groups()):
                ends["between"] += between.groups()
            elif rest.startswith("="):
                ends["levels"].append(rest[1:])
    return {column: Cut(*(tuple(dict.fromkeys(texts)) for texts in ends.values()))
            for column, ends in found.items()}


def _place(text: str) -> float:
    """Where a cut point lies; NaN where it is none."""
    found = number_cell(text)
    return date_cell(text) if isnan(found) else found


def _point(text: str) -> float | dt.datetime:
    """A cut point as `items_of` takes it: a number or a date."""
    found = number_cell(text)
    return dt.datetime.fromisoformat(text) if isnan(found) else found


def _lost(table: Labelled, item: str, column: str, cut: Cut) -> str:
    """Why an item of before is not in the table, and what to do."""
    said = f"column {column!r} of this snapshot was published"
    if column == table.target:
        return (f"{said}, and is the target here; what was published counts as a column: choose "
                "another target, or publish nothing more of this snapshot")
    if column in [one.name for one in table.sensitive]:
        return (f"{said}, and cannot be sensitive any more: everybody may know it; leave it out of "
                "--sensitive")
    if column not in table.items.origin:
        return (f"{said}, and this table does not have it; give the same table, cut in the same "
                "way, whatever columns are chosen from")
    if item.endswith("=missing") and "missing" in cut.levels:
        return f"{said} with an item for missing cells; say --missing level"
    if cut.points:
        option = "--thermometer" if isinstance(cut.how, Thermometer) else "--cut"
        return (f"{said} cut at {', '.join(cut.points)}, and is cut otherwise here, where both "
                f"together could be compared; say {option} {column}={','.join(cut.points)}")
    return (f"{said} as {item!r}, and this table does not have that item; give the same table, cut "
            f"in the same way")
