"""The table as another tool takes it: each column's cells, and which of them are told apart.

PRIVATE: all of it is about the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from privsieve.bridges.levels import Levels, grouped, plain_levels
from privsieve.errors import DomainError, ParameterError, SchemaError
from privsieve.kernels.patterns import pattern_table
from privsieve.public.canonical import BLANK, hidden
from privsieve.public.columns import check_name, text_of
from privsieve.public.domain import Csv
from privsieve.rows.cells import NUMBER, text_cell
from privsieve.rows.opening import open_source
from privsieve.rows.table import BATCH, guarded

if TYPE_CHECKING:
    from privsieve.containment.labelled import Labelled, Roles
    from privsieve.rows.source import RawColumn


Codes = npt.NDArray[np.int32]

#: What a table of cells is written in; logs, baskets and matrices hold no cells.
TABLES = (".csv", ".tsv", ".txt", ".parquet", ".pq")

Role = Literal["known", "sensitive", "target"]


@dataclass(frozen=True, eq=False, repr=False)
class Column:
    """One column of an export.

    role : "known" counts toward k; "sensitive" must not be learned; "target" is what columns are
        chosen for, where nobody outside knows it.
    is_target : whether columns are chosen for it; where it may be known, its role is "known".
    codes : for each row the position of its cell among `levels.cells`.
    """

    name: str
    role: Role
    codes: Codes
    levels: Levels
    is_target: bool = False

    def texts(self, missing: str) -> list[str]:
        """The cell of each row; where nothing was written, `missing`."""
        shown = [cell or missing for cell in self.levels.cells]
        return [shown[code] for code in self.codes.tolist()]


@dataclass(frozen=True, eq=False, repr=False)
class Exported:
    """A table with roles, for one of the bridges.

    level : rows in the smallest group of rows that are equal in all known columns, as both tools
        count: whoever knows a column knows its absences, too.
    below : rows in groups with fewer than k.
    """

    path: Path
    csv: Csv
    rows: int
    k: int
    level: int
    below: int
    columns: tuple[Column, ...]

    def of(self, *roles: Role) -> tuple[Column, ...]:
        """The columns of these roles."""
        return tuple(column for column in self.columns if column.role in roles)


def exported(data: str | Path, table: Labelled, roles: Roles, k: int,
             csv: Csv | None = None) -> Exported:
    """The cells of a table of items, column by column, with what each column is to be.

    `table` was read from `data`: its items say which cells are told apart.
    """
    path, how = Path(data), csv or Csv()
    if path.suffix.lower() not in TABLES:
        raise ParameterError("--export is for tables of cells, a CSV or Parquet file; this one "
                             "holds yes or no only, and neither tool takes it")
    known = [name for name in dict.fromkeys(table.items.origin)
             if name in {*roles.presences, *roles.both} and name not in roles.sensitive]
    _check(table, roles, known, k)
    names = [*known, *roles.sensitive]
    read = dict(zip(names, _cells(path, how, names), strict=True))
    columns = [Column(name, "known", codes, grouped(name, cells, codes, table.items, how.decimal))
               for name, (cells, codes) in read.items() if name in known]
    columns += [Column(name, "sensitive", codes, plain_levels(cells, how.decimal))
                for name, (cells, codes) in read.items() if name in roles.sensitive]
    if any(len(column.codes) != table.items.rows for column in columns):
        raise SchemaError("the table changed while it was read; try again")
    if roles.target is not None and len(table.classes) > 1:
        columns.append(_target(table, roles))
    _check_columns(columns)
    sizes = _sizes(table, roles, known)
    return Exported(path, how, table.items.rows, k, int(sizes.min(initial=table.items.rows)),
                    int(sizes[sizes < k].sum()), tuple(columns))


def _check(table: Labelled, roles: Roles, known: Sequence[str], k: int) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= max(table.items.rows, 1):
        raise ParameterError(f"k is {k!r}; it is a whole number from 1 to the number of rows")
    if table.sources is not None:
        raise ParameterError("--export counts rows, as the other tools do, and --source counts "
                             "persons; leave --source away")
    if not known:
        raise ParameterError("no column is known to anybody, and without a key variable there is "
                             "nothing to count; name at least one with --known")
    if roles.target in (*known, *roles.sensitive):
        raise ParameterError(f"the target {roles.target!r} has a second role; name it once")


def _sizes(table: Labelled, roles: Roles, known: Sequence[str]) -> npt.NDArray[np.int64]:
    """The groups of rows that are equal in all known items, and of one class where it is known."""
    items = table.items.take([j for j, name in enumerate(table.items.origin) if name in known])
    counts = pattern_table((items.indptr, items.indices), table.y, len(table.classes)).counts
    return counts[counts > 0] if _counts_target(table, roles) else counts.sum(axis=1)


def _counts_target(table: Labelled, roles: Roles) -> bool:
    return roles.target is not None and roles.target_known and len(table.classes) > 1


def _target(table: Labelled, roles: Roles) -> Column:
    """The classes, which may stand in a file of their own."""
    assert roles.target is not None
    cells = tuple(text_of(label) for label in table.classes)
    return Column(roles.target, "known" if roles.target_known else "target", table.y,
                  Levels(cells, tuple(range(len(cells))), cells), is_target=True)


def _cells(path: Path, csv: Csv, names: Sequence[str]) -> list[tuple[tuple[str, ...], Codes]]:
    """For each column its distinct cells as they are spelled, "" for missing, and each row's."""
    source = open_source(path, csv=csv)
    absent = [name for name in names if name not in source.columns]
    if absent:
        raise SchemaError(f"column {absent[0]!r} is not in the table; correct its name")
    known: list[dict[str, int]] = [{} for _ in names]
    pieces: list[list[Codes]] = [[np.zeros(0, np.int32)] for _ in names]
    for batch in guarded(source.raw(names, BATCH)):
        for place, piece, raw in zip(known, pieces, batch, strict=True):
            piece.append(_coded(raw, place))
    return [(tuple(place), np.concatenate(piece))
            for place, piece in zip(known, pieces, strict=True)]


def _coded(raw: RawColumn, known: dict[str, int]) -> Codes:
    """The position of each cell among the texts that are known by now."""
    if isinstance(raw, np.ndarray):
        distinct, inverse = np.unique(raw, return_inverse=True)
        codes = [known.setdefault(text_cell(cell), len(known)) for cell in distinct]
        return np.array(codes, np.int32)[inverse.reshape(-1)]
    return np.fromiter((known.setdefault(_spelled(cell), len(known)) for cell in raw), np.int32,
                       len(raw))


def _spelled(cell: Any) -> str:
    """A text as the file spells it, so that who reads the file finds it; else our text."""
    return cell.strip(BLANK) if isinstance(cell, str) else text_cell(cell)


def _check_columns(columns: Sequence[Column]) -> None:
    """Refuse names and texts that a file of another tool would not keep."""
    for column in columns:
        try:
            check_name(column.name)
        except DomainError as error:
            raise SchemaError(str(error)) from None
        if NUMBER.fullmatch(column.name.replace(",", ".")):
            raise SchemaError(f"column {column.name!r} is named like a number, and the file that "
                              "comes back could not be read; rename it")
        if any(hidden(c) for text in (*column.levels.cells, *column.levels.labels) for c in text):
            raise SchemaError(f"column {column.name!r} has a cell with control or direction "
                              "characters, which the other tool would not keep; correct it")
