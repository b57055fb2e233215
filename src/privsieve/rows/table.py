"""Table: a table of cells as items, with the class and the sensitive values of each row.

All of it comes from one pass, so that it is of the same rows in the same order.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privsieve.errors import ParameterError, PrivsieveError, SchemaError
from privsieve.public.columns import Column, Target
from privsieve.public.domain import Box, Domain
from privsieve.rows.classes import Valued, labels, valued
from privsieve.rows.coding import encode, from_columns
from privsieve.rows.cutting import BINS, SHARED, Cutting
from privsieve.rows.gather import Gather
from privsieve.rows.matrix import Items
from privsieve.rows.source import TARGET, check_names, fold
from privsieve.rows.types import check_type

if TYPE_CHECKING:
    from privsieve.rows.source import RawColumn, Source

BATCH = 65_536


@dataclass(frozen=True, eq=False, repr=False)
class Reading:
    """How a table is read as items; the fields of `items_of`, and two more.

    sensitive : columns that are read as values, never as items; None: those that the domain calls
        sensitive.
    sources : whose row each is, where k counts persons and not rows.
    target : what classes are called that came apart from the table.
    """

    domain: Domain | None = None
    columns: Sequence[str] | Mapping[Any, Any] | None = None
    cuts: int = BINS
    missing: str = "absent"
    k: int = SHARED
    sensitive: Sequence[str] | None = None
    sources: npt.NDArray[np.integer] | None = None
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
        Cutting(self.cuts, self.k)  # refuses a k that is none

    def cutting(self, rows: int) -> Cutting:
        """How the numbers of so many rows are cut."""
        if self.sources is not None and len(self.sources) != rows:
            raise SchemaError("the sources and the table have different numbers of rows; give one "
                              "source for each row")
        return Cutting(self.cuts, self.k, self.sources)


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Items with the class of each row, and the sensitive columns.

    y : for each row the position of its class among `classes`.
    """

    items: Items
    y: npt.NDArray[np.int32]
    classes: tuple[Any, ...]
    sensitive: tuple[Valued, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class _Plan:
    """Which columns are read as what.

    how : of each column that becomes items, how it is coded.
    label : the column of classes; its name in results, where they came apart from the table.
    """

    how: dict[str, Any]
    label: str | None
    label_how: Any
    sensitive: dict[str, Any]
    parts: Mapping[str, Column | Target]


def tabular(source: Source, label: str | None, reading: Reading) -> Table:
    """A table of cells, column by column."""
    source, domain = _matched(source, reading.domain)
    reading = replace(reading, domain=domain)
    plan = _plan(source, label, reading)
    _check(source, plan)
    read = [*plan.how, *plan.sensitive]
    decimal = domain.csv.decimal if domain else "."
    gathered = [Gather(name, plan.parts.get(name), decimal) for name in read]
    labelled = label is not None or plan.label is not None or source.y is not None
    classes = Gather(plan.label or "y", plan.parts.get(plan.label or "y"), decimal)
    wanted = [*read, *([TARGET if source.y is not None else plan.label or ""] if labelled else [])]
    rows = 0
    for batch in guarded(source.raw(wanted, BATCH)):
        rows += len(batch[0])
        for column, raw in zip([*gathered, classes], batch, strict=False):
            column.add(raw)
    if source.y is not None and len(source.y) != rows:
        raise SchemaError("X and y have different numbers of rows; give one label for each row")
    cutting = reading.cutting(rows)
    coded = {column.name: column for column in (one.coded() for one in gathered)}
    items = from_columns([(coded[name], encode(coded[name], how, cutting, reading.missing))
                          for name, how in plan.how.items()], rows)
    sensitive = tuple(valued(coded[name], how, cutting) for name, how in plan.sensitive.items())
    if not labelled:
        return Table(items, np.zeros(rows, np.int32), (None,), sensitive)
    return Table(items, *labels(classes.coded(), plan.label_how, cutting), sensitive)


def how_coded(columns: Sequence[str] | Mapping[Any, Any] | None, known: Sequence[str],
              ) -> dict[str, Any]:
    """How each column that is used is coded."""
    if not isinstance(columns, Mapping):
        return dict.fromkeys(known if columns is None else columns)
    how = {name: columns.get(name, columns.get(...))
           for name in known if name in columns or ... in columns}
    how |= {name: one for name, one in columns.items() if name is not ...}
    absent = [name for name, one in how.items() if one is False and name not in known]
    if absent:
        raise SchemaError(f"column {absent[0]!r} is to be left out and is not in the table; "
                          "correct its name")
    return {name: one for name, one in how.items() if one is not False}


def guarded(batches: Iterator[list[RawColumn]]) -> Iterator[list[RawColumn]]:
    """The body, without the warnings and texts of foreign libraries: these could quote a cell."""
    while True:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                batch = next(batches, None)
        except (PrivsieveError, KeyboardInterrupt):
            raise
        except BaseException:  # noqa: BLE001  # see above; a panic is no Exception
            raise SchemaError("the table cannot be read to its end: it is damaged; copy or "
                              "write it again") from None
        if batch is None:
            return
        yield batch


def _matched(source: Source, domain: Domain | None) -> tuple[Source, Domain | None]:
    """The columns of an array by the domain's names, in its order, as `select` has them."""
    if domain is None or source.by != "position":
        return source, domain
    if isinstance(domain, Box):
        return source, domain.of_width(source.columns)
    if len(source.columns) != len(domain.columns):
        raise SchemaError(f"the array has {len(source.columns)} columns and the domain names "
                          f"{len(domain.columns)}; give both the same columns in the same order")
    return replace(source, columns=domain.names), domain


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
        apart = [name for name, part in parts.items() if getattr(part, "role", "") == "sensitive"
                 and name != label]
    if label in apart:
        raise ParameterError(f"column {label!r} is the target, and what is learned of it is "
                             "counted anyhow; leave it away where sensitive columns are named")
    given = columns if isinstance(columns, Mapping) else {}
    own = {name: None if given.get(name) is False else given.get(name)
           for name in (*apart, *([label] if label else []))}
    if given and all(name in own for name in given):
        columns = {**given, ...: None}
    how = how_coded(columns, domain.names if domain else source.columns)
    return _Plan({name: one for name, one in how.items() if name not in own}, label,
                 own.pop(label, None) if label else None, own, parts)


def _check(source: Source, plan: _Plan) -> None:
    if source.by == "name":
        check_names(source.columns)
    if not plan.how:
        raise SchemaError("no column is left to choose from; name at least one")
    names = [*plan.how, *plan.sensitive]
    names += [plan.label] if plan.label and source.y is None else []
    types = dict(zip(map(fold, source.columns), source.types, strict=True))
    absent = [name for name in names if fold(name) not in types]
    if absent:
        raise SchemaError(f"column {absent[0]!r} is not in the table; correct its name")
    for name in {**dict.fromkeys(names), **dict.fromkeys([plan.label] if plan.label else [])}:
        kind = source.y_type if name == plan.label and source.y is not None else types[fold(name)]
        if name in plan.parts:
            check_type(plan.parts[name], kind, array=source.by == "position")
