"""Read a table of cells as items, with the class and the sensitive values of each row.

All of these come from one pass, so they have the same rows in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.errors import DomainError, ParameterError, SchemaError
from privsieve.public.canonical import text_of
from privsieve.public.columns import ColumnKind, Listed
from privsieve.public.domain import Box, Domain
from privsieve.rows.coding import (
    LARGEST_LEVELS,
    MISSING,
    Coded,
    Gather,
    Split,
    differs,
    encode,
    from_columns,
    split,
    write_cell,
)
from privsieve.rows.cutting import BINS, SHARED, Cutting
from privsieve.rows.matrix import Items, Sensitive
from privsieve.rows.source import (
    TARGET,
    RawColumn,
    Source,
    check_fields,
    check_lengths,
    check_names,
    check_type,
    fold,
    guarded,
)

Codes = npt.NDArray[np.int32]
Places = npt.NDArray[np.intp]

#: The name of all values that are not in a list of levels.
OTHER = "other"


def labels(column: Coded, how: Any = None, cutting: Cutting | None = None,
           ) -> tuple[Codes, tuple[Any, ...]]:
    """Return the class of each row (0, 1, …, in the order of labels), and the labels that occur.

    how : None, cut points or a number of bins (a class for each bin), or levels, which are kept;
        all others are the class "other".

    >>> from privsieve.rows.coding import Gather
    >>> column = Gather("ill")
    >>> column.add(["yes", "no", "yes"])
    >>> labels(column.coded())
    (array([1, 0, 1], dtype=int32), ('no', 'yes'))
    >>> column = Gather("salary")
    >>> column.add([20000, 70000, 31000])
    >>> labels(column.coded(), [30000])
    (array([0, 1, 1], dtype=int32), ('salary<30000', 'salary>=30000'))
    """
    kind, cutting = column.kind, cutting or Cutting()
    missing = -1
    if how is not None or _is_told_apart(kind):
        divided = _divided(column, how, cutting, "target")
        places, names = _named(divided)
        if kind is not None and kind.is_number and kind.missing_level:
            missing, names = len(names), [*names, f"{column.name}={MISSING}"]
        elif kind is not None and kind.is_number and divided.points is not None:
            missing = int(np.searchsorted(divided.points, _middle(kind), side="right"))
    elif isinstance(kind, Listed) and not kind.is_binary:
        places, names = _placed(column.texts(), kind.texts), list(kind.values)
    else:
        _check_classes(column)
        places, names = _by_label(column)
    return _present(_demanded(column, np.append(places, missing)[column.codes]), names)


def unmerged(column: Coded) -> tuple[Codes, tuple[Any, ...]]:
    """Return all labels unchanged; `labels` may merge them later."""
    places, names = _by_label(column)
    return _present(_demanded(column, np.append(places, -1)[column.codes]), names)


def valued(column: Coded, how: Any = None, cutting: Cutting | None = None) -> Sensitive:
    """Return a column as values: texts as they are, ordered numbers and dates, or its bins.

    Two values say yes and no, however they are spelled: they have no order, in which a missing cell
    would be the third.

    >>> from privsieve.rows.coding import Gather
    >>> column = Gather("salary")
    >>> column.add([900, 70000, None, 900, 1500])
    >>> values = valued(column.coded())
    >>> values.values, values.codes.tolist(), values.ordered
    (('900', '1500', '70000', 'missing'), [0, 2, 3, 0, 1], True)
    """
    kind, cutting, ordered = column.kind, cutting or Cutting(), False
    numbers = column.numbers()
    if how is not None or (kind is not None and (kind.others_are_a_level or kind.cuts)):
        divided = _divided(column, how, cutting, "sensitive column")
        (places, names), ordered = _named(divided), divided.points is not None
    elif isinstance(kind, Listed):
        places, names = _placed(column.texts(), kind.texts), list(map(text_of, kind.values))
    elif numbers is not None and len(numbers):
        known, places = np.unique(numbers, return_inverse=True)
        names, ordered = [write_cell(value, dates=column.dates) for value in known.tolist()], True
    else:
        names = sorted(column.texts())
        places = _placed(column.texts(), names)
    if len(names) > LARGEST_LEVELS:
        raise SchemaError(f"the sensitive column {column.name!r} has more than {LARGEST_LEVELS} "
                          f"values; cut it (--cut {column.name}=…), or list the levels to keep "
                          f"(--levels {column.name}=…)")
    codes, values = _present(np.append(places.reshape(-1), len(names))[column.codes],
                             [*names, MISSING])
    several = len(values) - bool((column.codes < 0).any()) > 2
    return Sensitive(column.name, codes, values, ordered and several)


def _is_told_apart(kind: ColumnKind | None) -> bool:
    """Return whether a target of this kind has bins or levels for classes."""
    return kind is not None and (kind.others_are_a_level or kind.is_number or bool(kind.cuts))


def _divided(column: Coded, how: Any, cutting: Cutting, what: str) -> Split:
    """Return how the cells are told apart, if each row is to have one value."""
    divided = split(column, how, cutting)
    assert divided is not None  # that it holds yes and no is said of a column that nobody cuts
    if divided.points == ():
        raise SchemaError(f"the {what} {column.name!r} has no cut point with enough rows "
                          f"(k = {cutting.k}); give its cut points (--cut {column.name}=…)")
    return divided


def _named(divided: Split) -> tuple[Places, list[Any]]:
    """Return the bin or level of each distinct cell, and their names."""
    if divided.points is not None:
        return divided.places, list(divided.names)
    names = list(dict.fromkeys([*divided.names, OTHER]))
    return np.where(divided.places == len(divided.names), names.index(OTHER), divided.places), names


def _placed(texts: Sequence[str], among: Sequence[str]) -> Places:
    place = {text: at for at, text in enumerate(among)}
    return np.array([place[text] for text in texts], np.intp)


def _middle(target: Any) -> float:
    """Return the value that replaces a missing number of a target."""
    if target.gridless:
        return float(target.near or 0.0)
    low, high = target.ends
    if target.scale == "log":
        return math.sqrt(low) * math.sqrt(high)
    return float(low + (high - low) / 2)


def _demanded(column: Coded, codes: Places) -> Places:
    if (codes < 0).any():
        raise SchemaError(f"the target {column.name!r} has rows without a label; give each row a "
                          "label, or drop those rows")
    return codes


def _check_classes(column: Coded) -> None:
    """Refuse a target that identifies rows, or has too many classes."""
    many = len(column.cells) > LARGEST_LEVELS
    if many or differs(column):
        what = (f"has more than {LARGEST_LEVELS} classes" if many and not differs(column) else
                "differs in almost every row, like an identifier, so it cannot keep k")
        raise SchemaError(f"the target {column.name!r} {what}; choose another target, cut it "
                          f"(--cut {column.name}=…), or merge its classes (--levels "
                          f"{column.name}=…)")


def _by_label(column: Coded) -> tuple[Places, list[Any]]:
    """Return a class for each distinct cell, in their order."""
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
    """Return codes and names of those that a row has."""
    used, positions = np.unique(codes, return_inverse=True)
    return positions.reshape(-1).astype(np.int32), tuple(names[at] for at in used.tolist())


BATCH = 65_536


@dataclass(frozen=True, eq=False, repr=False)
class Reading:
    """The way to read a table as items.

    domain : the columns, their kinds and how they are written; without it, the cells decide.
        Sensitive columns of the domain do not become items.
    columns : names, or a mapping of each name to its coding
        coding: None, a number of bins, a list of cut points (numbers or dates) or of levels
        (texts; all others become one level), or False (leave it out).  The key `...` means all
        other columns.  If a target has cut points or levels, its classes are the bins, or these
        levels and "other".
    cuts : the number of bins of a number without cut points, by quantiles.
    missing : "absent" (a missing cell holds no item) or "level" (an item of its own).
    k : the least number of rows that share a cut point from data, and of rows in a bin.
    sensitive : columns that are read as values, never as items; None: those that the domain calls
        sensitive.
    sources : the person or source of each row, if k counts these; -1 for none.
    person : or the column of person ids, by default the domain's; it does not become an item.
    target : the name of the classes if they are passed separately from the table.
    """

    domain: Domain | None = None
    columns: Sequence[str] | Mapping[Any, Any] | None = None
    cuts: int = BINS
    missing: str = "absent"
    k: int = SHARED
    sensitive: Sequence[str] | None = None
    sources: npt.NDArray[np.int32] | None = None
    person: str | None = None
    target: str | None = None

    def __post_init__(self) -> None:
        if self.missing not in ("absent", "level"):
            raise ParameterError(f"missing is {self.missing!r}; choose 'absent' or 'level'")
        if isinstance(self.cuts, bool) or not isinstance(self.cuts, int) or self.cuts < 2:
            raise ParameterError(f"cuts is {self.cuts!r}; write a whole number of bins from 2, and "
                                 "give cut points with the column: columns={'age': [18, 65]}")
        if isinstance(self.sensitive, str):
            raise ParameterError("sensitive is a text; give a list of names, for example "
                                 "sensitive=['diagnosis']")
        if self.domain is not None and self.domain.weight is not None:
            raise DomainError(f"table.weight is {self.domain.weight!r}, but groups count rows or "
                              "people; remove weight and weight_max from the domain")
        Cutting(self.cuts, self.k)  # refuses a k that is none

    def cutting(self, rows: int) -> Cutting:
        """Return how numbers are cut."""
        if self.sources is not None and len(self.sources) != rows:
            raise SchemaError("the sources and the table have different numbers of rows; give one "
                              "source for each row")
        return Cutting(self.cuts, self.k, self.sources)


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Items with the class of each row, and the sensitive columns.

    y : for each row the position of its class among `classes`.
    sources : the person or source of each row, if known; -1 for none.
    """

    items: Items
    y: npt.NDArray[np.int32]
    classes: tuple[Any, ...]
    sensitive: tuple[Sensitive, ...] = ()
    sources: npt.NDArray[np.int32] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class _Plan:
    """The use of each column.

    how : the coding of each column that becomes items.
    label : the column of classes, or their name in results if they are passed separately.
    person : the column of person ids.
    """

    how: dict[str, Any]
    label: str | None
    label_how: Any
    sensitive: dict[str, Any]
    parts: Mapping[str, ColumnKind]
    person: str | None


def tabular(source: Source, label: str | None, reading: Reading) -> Table:
    """Encode a table of cells, column by column."""
    domain = reading.domain
    if domain is not None and source.by == "position":
        # The columns of an array by the domain's names, in its order, as `select` has them.
        if isinstance(domain, Box):
            domain = domain.of_width(source.columns)
        else:
            check_fields(len(source.columns), domain)
            source = replace(source, columns=domain.names)
    plan = _plan(source, label, replace(reading, domain=domain))
    _check(source, plan)
    wanted = {name: name for name in (*plan.how, *plan.sensitive)}
    labelled = label is not None or plan.label is not None or source.y is not None
    columns = [*wanted, *[plan.label or "y"] * labelled]
    read = [*wanted, *[TARGET if source.y is not None else plan.label or ""] * labelled]
    decimal = domain.csv.signs if domain else "."
    who = [] if plan.person is None else [plan.person]
    gathered_columns = gathered(source, [
        *(Gather(name, ids=True) for name in who),
        *(Gather(name, plan.parts.get(name), decimal) for name in columns)], [*who, *read])
    rows = len(gathered_columns[0].codes)
    check_lengths(rows, source.y)
    if who:
        reading = replace(reading, sources=gathered_columns.pop(0).codes)
    cutting, sources = reading.cutting(rows), reading.sources
    coded = {column.name: column for column in gathered_columns[:len(wanted)]}
    items = from_columns([(coded[name], encode(coded[name], how, cutting, reading.missing))
                          for name, how in plan.how.items()], rows)
    sensitive = tuple(valued(coded[name], how, cutting) for name, how in plan.sensitive.items())
    if not labelled:
        return Table(items, np.zeros(rows, np.int32), (None,), sensitive, sources)
    return Table(items, *labels(gathered_columns[-1], plan.label_how, cutting), sensitive, sources)


def how_coded(columns: Sequence[str] | Mapping[Any, Any] | None, known: Sequence[str],
              ) -> dict[str, Any]:
    """Return how each column that is used is coded."""
    if not isinstance(columns, Mapping):
        return dict.fromkeys(known if columns is None else columns)
    how = {name: columns.get(name, columns.get(...))
           for name in known if name in columns or ... in columns}
    how |= {name: coding for name, coding in columns.items() if name is not ...}
    absent = [name for name, coding in how.items() if coding is False and name not in known]
    if absent:
        raise SchemaError(f"column {absent[0]!r}, which you leave out, is not in the table; "
                          "correct its name")
    return {name: coding for name, coding in how.items() if coding is not False}


def body_of(source: Source, names: Sequence[str]) -> Iterator[list[RawColumn]]:
    """Yield columns of a table in batches; replace errors of libraries, which may quote cells."""
    return guarded(source.raw(names, BATCH), SchemaError(
        "the table cannot be read to its end: it is damaged; copy or write it again"))


def gathered(source: Source, columns: Sequence[Gather], names: Sequence[str]) -> list[Coded]:
    """Gather columns of a table, each as its distinct cells."""
    for batch in body_of(source, names):
        for column, raw in zip(columns, batch, strict=True):
            column.add(raw)
    return [column.coded() for column in columns]


def _plan(source: Source, label: str | None, reading: Reading) -> _Plan:
    domain, columns = reading.domain, reading.columns
    parts: dict[str, Any] = {column.name: column for column in (domain.columns if domain else ())}
    if source.y is not None:
        label = reading.target
    if domain is not None and domain.target is not None and label in (None, domain.target.name):
        label = domain.target.name if source.by != "position" or source.y is not None else None
        parts[domain.target.name] = domain.target
    if source.y is not None and label is None and "y" not in source.columns:
        label = "y"
    apart = reading.sensitive
    if apart is None:
        apart = [name for name, declared in parts.items()
                 if getattr(declared, "role", "") == "sensitive" and name != label]
    if label in apart:
        raise ParameterError(f"column {label!r} is the target, which is always measured; remove it "
                             "from the sensitive columns")
    mapping = columns if isinstance(columns, Mapping) else {}
    own = {name: None if mapping.get(name) is False else mapping.get(name)
           for name in (*apart, *([label] if label else []))}
    if mapping and all(name in own for name in mapping):
        columns = {**mapping, ...: None}
    how = how_coded(columns, domain.names if domain else source.columns)
    person = reading.person or (domain.person if domain else None)
    _check_person(person, columns, how, own)
    how = {name: coding for name, coding in how.items() if name not in (*own, person)}
    return _Plan(how, label, own.pop(label, None) if label else None, own, parts, person)


def _check_person(person: str | None, columns: Sequence[str] | Mapping[Any, Any] | None,
                  how: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Refuse another use of the column of person ids."""
    chosen = not isinstance(columns, Mapping) and person in (columns or ())
    if person is not None and (chosen or person in own or how.get(person) is not None):
        raise ParameterError(f"column {person!r} identifies the person and is never published; do "
                             "not choose or cut it, or make it sensitive or the target")


def _check(source: Source, plan: _Plan) -> None:
    if source.by == "name":
        check_names(source.columns)
    if not plan.how:
        raise SchemaError("no column is left to choose from; name at least one")
    names = [*plan.how, *plan.sensitive]
    names += [plan.label] if plan.label and source.y is None else []
    names += [plan.person] if plan.person else []
    types = dict(zip(map(fold, source.columns), source.types, strict=True))
    absent = [name for name in names if fold(name) not in types]
    if absent:
        raise SchemaError(f"column {absent[0]!r} is not in the table; correct its name")
    for name in {**dict.fromkeys(names), **dict.fromkeys([plan.label] if plan.label else [])}:
        kind = source.y_type if name == plan.label and source.y is not None else types[fold(name)]
        if name in plan.parts:
            check_type(plan.parts[name], kind, array=source.by == "position")
