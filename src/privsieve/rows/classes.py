"""Classes: a column as one value for each row, of the target or of what must not be learned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.errors import ParameterError, SchemaError
from privsieve.public.columns import Category, Date, Flag, Label, Number, text_of
from privsieve.rows.coding import (
    LARGEST_LEVELS,
    Levels,
    Points,
    Thermometer,
    differs,
    told_apart,
)
from privsieve.rows.cutting import Cutting
from privsieve.rows.gather import Coded, shown

Codes = npt.NDArray[np.int32]
Places = npt.NDArray[np.intp]

#: What all values are called that a list of levels leaves out.
OTHER = "other"
MISSING = "missing"


@dataclass(frozen=True, eq=False, repr=False)
class Valued:
    """A column with the value of each row; it is never made into items.

    codes : for each row the position of its value.
    values : in their order; missing cells are a value of their own, the last.
    ordered : whether they are numbers or dates, so that some are nearer to each other.
    """

    name: str
    codes: Codes
    values: tuple[str, ...]
    ordered: bool = False


def labels(column: Coded, how: Any = None, cutting: Cutting | None = None,
           ) -> tuple[Codes, tuple[Any, ...]]:
    """Classes 0, 1, … in the order of their labels, and these; each class has a row.

    how : None, cut points or a number of bins (a class for each bin), or levels, which are kept;
        all others are the class "other".

    >>> from privsieve.rows.gather import Gather
    >>> column = Gather("ill")
    >>> column.add(["yes", "no", "yes"])
    >>> labels(column.coded())
    (array([1, 0, 1], dtype=int32), ('no', 'yes'))
    >>> column = Gather("salary")
    >>> column.add([20000, 70000, 31000])
    >>> labels(column.coded(), [30000])
    (array([0, 1, 1], dtype=int32), ('salary<30000', 'salary>=30000'))
    """
    part, cutting = column.part, cutting or Cutting()
    missing = -1
    if how is not None or isinstance(part, Number | Category) or _cut(part):
        told = _told(column, how, cutting, "target")
        places, names = _named(told)
        if isinstance(part, Number) and part.missing_level:
            missing, names = len(names), [*names, f"{column.name}={MISSING}"]
        elif isinstance(part, Number) and isinstance(told, Points):
            missing = int(np.searchsorted(told.points, _middle(part), side="right"))
    elif isinstance(part, Label):
        texts = [text_of(value) for value in part.values]
        places, names = _placed(column.texts(), texts), list(part.values)
    else:
        _check_classes(column)
        places, names = _by_label(column)
    return _present(_demanded(column, np.append(places, missing)[column.codes]), names)


def distinct(column: Coded) -> tuple[Codes, tuple[Any, ...]]:
    """Labels as they are, however many: `labels` looks at them again, and may merge them."""
    places, names = _by_label(column)
    return _present(_demanded(column, np.append(places, -1)[column.codes]), names)


def valued(column: Coded, how: Any = None, cutting: Cutting | None = None) -> Valued:
    """A column as values: texts as they are, numbers and dates in their order, or its bins.

    >>> from privsieve.rows.gather import Gather
    >>> column = Gather("salary")
    >>> column.add([900, 70000, None, 900])
    >>> found = valued(column.coded())
    >>> found.values, found.codes.tolist(), found.ordered
    (('900', '70000', 'missing'), [0, 1, 2, 0], True)
    """
    part, cutting, ordered = column.part, cutting or Cutting(), False
    numbers = column.numbers()
    if how is not None or isinstance(part, Category) or _cut(part):
        told = _told(column, how, cutting, "sensitive column")
        (places, names), ordered = _named(told), isinstance(told, Points)
    elif isinstance(part, Flag):
        places, names = _placed(column.texts(), ["0", "1"]), ["no", "yes"]
    elif numbers is not None and len(numbers):
        known, places = np.unique(numbers, return_inverse=True)
        names, ordered = [shown(one, dates=column.dates) for one in known.tolist()], True
    else:
        names = sorted(column.texts())
        places = _placed(column.texts(), names)
    if len(names) > LARGEST_LEVELS:
        raise SchemaError(f"the sensitive column {column.name!r} has more than {LARGEST_LEVELS} "
                          f"values; cut it (--cut {column.name}=…), or list the levels that are "
                          f"told apart (--levels {column.name}=…)")
    codes, values = _present(np.append(places.reshape(-1), len(names))[column.codes],
                             [*names, MISSING])
    return Valued(column.name, codes, values, ordered)


def _cut(part: object) -> bool:
    """Whether a domain says where a column is cut."""
    return isinstance(part, Number | Date) and bool(part.cuts)


def _told(column: Coded, how: Any, cutting: Cutting, what: str) -> Points | Levels:
    """How the cells are told apart, where each row is to have one value."""
    if isinstance(how, Thermometer):
        raise ParameterError(f"the {what} {column.name!r} has one value in each row, and the items "
                             "of a thermometer overlap; cut it (--cut), or list its levels")
    told = told_apart(column, how, cutting)
    assert told is not None  # that it holds yes and no is said of a column that nobody cuts
    if isinstance(told, Points) and not told.points:
        raise SchemaError(f"the {what} {column.name!r} has no cut point that {cutting.k} rows "
                          f"share; give its cut points (--cut {column.name}=…)")
    return told


def _named(told: Points | Levels) -> tuple[Places, list[Any]]:
    """The bin or level of each distinct cell, and what these are called."""
    if isinstance(told, Points):
        return told.places(), told.names()
    places, names = told.places(), list(dict.fromkeys([*told.levels, OTHER]))
    return np.where(places == len(told.levels), names.index(OTHER), places), names


def _placed(texts: Sequence[str], among: Sequence[str]) -> Places:
    place = {text: at for at, text in enumerate(among)}
    return np.array([place[text] for text in texts], np.intp)


def _middle(part: Number) -> float:
    """What a missing number of a target is read as."""
    if part.scale == "log":
        return math.sqrt(part.low) * math.sqrt(part.high)
    return part.low + (part.high - part.low) / 2


def _demanded(column: Coded, codes: Places) -> Places:
    if (codes < 0).any():
        raise SchemaError(f"the target {column.name!r} has rows without a label; give each row "
                          "one, or drop those rows")
    return codes


def _check_classes(column: Coded) -> None:
    """Refuse a target that says whose row it is, or has too many classes."""
    if differs(column):
        raise SchemaError(f"the target {column.name!r} tells almost every row from the others: it "
                          "is an identifier, and no k allows it; choose another target, cut it "
                          f"(--cut {column.name}=…), or merge its classes (--levels "
                          f"{column.name}=…)")
    if len(column.cells) > LARGEST_LEVELS:
        raise SchemaError(f"the target {column.name!r} has more than {LARGEST_LEVELS} classes; "
                          f"cut it (--cut {column.name}=…), or merge its classes (--levels "
                          f"{column.name}=…)")


def _by_label(column: Coded) -> tuple[Places, list[Any]]:
    """A class for each distinct cell, in their order."""
    texts, numbers = column.texts(), column.numbers()
    keys: Sequence[Any] = texts
    if numbers is not None and len(set(numbers.tolist())) == len(texts):
        keys = numbers.tolist()  # 01 and 1 are two texts
    order = sorted(range(len(keys)), key=keys.__getitem__)
    places = np.empty(len(order), int)
    places[order] = np.arange(len(order))
    if column.dates or keys is texts:
        return places, [texts[at] for at in order]
    return places, [int(keys[at]) if keys[at].is_integer() else keys[at] for at in order]


def _present(codes: Places, names: Sequence[Any]) -> tuple[Codes, tuple[Any, ...]]:
    """Codes and names of those that a row has."""
    used, found = np.unique(codes, return_inverse=True)
    return found.reshape(-1).astype(np.int32), tuple(names[at] for at in used.tolist())
