"""Prepare a table for another tool: the cells of each column, and their groups.

A number lies in an interval, a category is itself, a flag is yes or no.  Cells that hold the same
items are one group, and k is counted on these groups.  An export is a new folder that only its
owner may read, and is written whole or not at all.

PRIVATE: all of it is about the rows.
"""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from privsieve.containment.labelled import Bools, Codes, Ints, Labelled, Roles, cells, rows_of
from privsieve.errors import DomainError, ParameterError, SchemaError
from privsieve.kernels.patterns import pattern_table
from privsieve.public.canonical import BLANK, check_name, hidden, text_of
from privsieve.public.columns import Number
from privsieve.public.domain import Csv, Domain
from privsieve.rows.cells import NUMBER, date_cell, number_cell, text_cell
from privsieve.rows.matrix import Items
from privsieve.rows.source import RawColumn, open_source
from privsieve.rows.table import body_of

#: Suffixes of tables of cells; logs, baskets and matrices hold no cells.
TABLES = (".csv", ".tsv", ".txt", ".parquet", ".pq")
#: The name of a missing cell, unless a level has this name.
MISSING = "missing"
#: The name of cells that no item describes.
OTHER = "other"

Role = Literal["known", "sensitive", "target"]
Kind = Literal["text", "number", "date"]
#: The items of a column that a cell holds.
Held = tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Variable:
    """One column of an export.

    role : "known" counts toward k; an attacker must not learn "sensitive"; "target" is the column
        to predict, if no outsider knows it.
    is_target : whether it is the column to predict; if it may be known, its role is "known".
    codes : for each row the position of its cell among `levels.cells`.
    none : numbers that mean a missing cell, if the cells are used as numbers.
    """

    name: str
    role: Role
    codes: Codes
    levels: Grouping
    is_target: bool = False
    none: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Exported:
    """A table with roles, for one of the bridges.

    level : rows in the smallest group of rows that are equal in all known columns.  Both tools
        count this way: an attacker who knows a column knows its absences, too.
    below : rows in groups with fewer than k.
    """

    path: Path
    csv: Csv
    rows: int
    k: int
    level: int
    below: int
    columns: tuple[Variable, ...]

    def of(self, *roles: Role) -> tuple[Variable, ...]:
        """Return the columns of these roles."""
        return tuple(column for column in self.columns if column.role in roles)

    def lines(self, texts: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
        """Yield the names, and the cells of each row; `texts` has each column's distinct cells."""
        yield [column.name for column in self.columns]
        yield from zip(*([cells[code] for code in column.codes.tolist()]
                         for column, cells in zip(self.columns, texts, strict=True)), strict=True)


def exported(data: str | Path, table: Labelled, roles: Roles, k: int,
             domain: Domain | None = None) -> Exported:
    """Return the cells of a table of items, column by column, with the role of each column.

    `table` was read from `data`, with this domain if there is one.  Its items say which cells
    belong to different groups.
    """
    path, how = Path(data), domain.csv if domain else Csv()
    none = {column.name: column.missing_values for column in (domain.columns if domain else ())
            if isinstance(column, Number) and column.missing_values}
    if path.suffix.lower() not in TABLES:
        raise ParameterError(f"the table's name ends in {path.suffix!r}; a bridge takes a CSV or "
                             "Parquet file: save the table as CSV")
    known = [name for name in dict.fromkeys(table.items.origin)
             if name in {*roles.presences, *roles.both} and name not in roles.sensitive]
    _check(table, roles, known, k)
    names = [*known, *roles.sensitive]
    read = dict(zip(names, _cells(path, how, names), strict=True))
    columns = [Variable(name, "known", codes, grouped(name, cells, codes, table.items, how.decimal),
                        none=none.get(name, ()))
               for name, (cells, codes) in read.items() if name in known]
    columns += [Variable(name, "sensitive", codes,
                         plain_levels(cells, how.decimal, none.get(name, ())))
                for name, (cells, codes) in read.items() if name in roles.sensitive]
    if any(len(column.codes) != table.items.rows for column in columns):
        raise SchemaError("the table changed while it was read; try again")
    if roles.target is not None and len(table.classes) > 1:  # it may stand in a file of its own
        texts = tuple(text_of(label) for label in table.classes)
        columns.append(Variable(
            roles.target, "known" if roles.target_known else "target", table.y,
            Grouping(texts, tuple(range(len(texts))), texts), is_target=True))
    _check_columns(columns)
    sizes = _sizes(table, roles, known)
    return Exported(path, how, table.items.rows, k, int(sizes.min(initial=table.items.rows)),
                    int(sizes[sizes < k].sum()), tuple(columns))


def _check(table: Labelled, roles: Roles, known: Sequence[str], k: int) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= max(table.items.rows, 1):
        raise ParameterError(f"k is {k!r}; it is a whole number from 1 to the number of rows")
    if table.sources is not None:
        raise ParameterError("a bridge counts rows, as the other tools do, but k counts people "
                             "here; give a table with one row for each person, without "
                             "--source and without a person in the domain file")
    if not known:
        raise ParameterError("the table has no key variable, so nothing can be counted; name at "
                             "least one known column with --known")
    if roles.target in (*known, *roles.sensitive):
        raise ParameterError(f"the target {roles.target!r} has a second role; give it one role")


def _sizes(table: Labelled, roles: Roles, known: Sequence[str]) -> Ints:
    """Count the rows that are equal in all known items, and in a known class."""
    items = table.items.take([j for j, name in enumerate(table.items.origin) if name in known])
    counts = pattern_table(cells(items), table.y, len(table.classes)).counts
    labelled = roles.target is not None and roles.target_known and len(table.classes) > 1
    return counts[counts > 0] if labelled else counts.sum(axis=1)


def _cells(path: Path, csv: Csv, names: Sequence[str]) -> list[tuple[tuple[str, ...], Codes]]:
    """Return for each column its distinct cells as spelled ("" is missing), and each row's."""
    source = open_source(path, csv=csv)
    absent = [name for name in names if name not in source.columns]
    if absent:
        raise SchemaError(f"column {absent[0]!r} is not in the table; correct its name")
    known: list[dict[str, int]] = [{} for _ in names]
    pieces: list[list[Codes]] = [[np.zeros(0, np.int32)] for _ in names]
    for batch in body_of(source, names):
        for place, piece, raw in zip(known, pieces, batch, strict=True):
            piece.append(_coded(raw, place))
    return [(tuple(place), np.concatenate(piece))
            for place, piece in zip(known, pieces, strict=True)]


def _coded(raw: RawColumn, known: dict[str, int]) -> Codes:
    """Return the position of each cell among the known texts, and add new texts."""
    if isinstance(raw, np.ndarray):
        distinct, inverse = np.unique(raw, return_inverse=True)
        codes = [known.setdefault(text_cell(cell), len(known)) for cell in distinct]
        return np.array(codes, np.int32)[inverse.reshape(-1)]
    # Keep the spelling of the file, so that a reader of the file finds the text.
    texts = (cell.strip(BLANK) if isinstance(cell, str) else text_cell(cell) for cell in raw)
    return np.fromiter((known.setdefault(text, len(known)) for text in texts), np.int32, len(raw))


def _check_columns(columns: Sequence[Variable]) -> None:
    """Refuse names and texts that a file of another tool would not keep."""
    for column in columns:
        try:
            check_name(column.name)
        except DomainError as error:
            raise SchemaError(str(error)) from None
        if re.fullmatch(NUMBER, column.name.replace(",", ".")):
            raise SchemaError(f"the name of column {column.name!r} is a number, so privsieve could "
                              "not read the result of the other tool; rename the column")
        if any(hidden(c) for text in (*column.levels.cells, *column.levels.labels) for c in text):
            raise SchemaError(f"column {column.name!r} has a cell with control or direction "
                              "characters, which the other tool would lose; remove them")


@dataclass(frozen=True, eq=False, repr=False)
class Grouping:
    """The distinct cells of a column, and their groups.

    cells : as they are spelled; "" is missing.
    group : for each cell the position of its group's label.
    labels : what each group is called, in order; no two are equal.
    cuts : the points between labels that are intervals; the labels after the intervals are not
        intervals (missing).
    kind : the kind of all cells that are not missing.
    """

    cells: tuple[str, ...]
    group: tuple[int, ...]
    labels: tuple[str, ...]
    cuts: tuple[str, ...] = ()
    kind: Kind = "text"


def plain_levels(cells: Sequence[str], decimal: str = ".", none: Sequence[float] = ()) -> Grouping:
    """Make each text a level of its own; spellings of one number are one text.

    `none` are numbers that mean a missing cell.

    >>> plain_levels(["3", "A", "3.0", ""]).labels, plain_levels(["3", "99.0"], none=[99]).labels
    (('3', 'A', 'missing'), ('3', 'missing'))
    """
    texts = ["" if number_cell(cell, decimal) in none else text_of(cell) for cell in cells]
    listed = sorted({text for text in texts if text})
    kind, values = kind_of(listed, decimal)
    listed = [listed[at] for at in np.argsort(values, kind="stable")]
    labels = [*listed, *([free(MISSING, listed)] if "" in texts else [])]
    place = {text: at for at, text in enumerate(listed)} | {"": len(listed)}
    return Grouping(tuple(cells), tuple(place[text] for text in texts), tuple(labels), kind=kind)


def grouped(name: str, cells: Sequence[str], codes: Codes, items: Items,
            decimal: str = ".") -> Grouping:
    """Group the cells of a column that hold the same items.

    `codes` is for each row the position of its cell.
    """
    positions = [j for j, origin in enumerate(items.origin) if origin == name]
    held = _held(name, len(cells), codes, items, positions)
    rests = [items.names[j].removeprefix(name) for j in positions]
    bounds = _bounds(rests)
    groups = [tuple(np.flatnonzero(row).tolist()) for row in held]
    labelled = (_intervals(rests, bounds, groups) if bounds else _names(rests, cells, groups))
    listed = list(dict.fromkeys(labelled[at][1] for at in np.argsort(
        np.array([rank for rank, _ in labelled]), kind="stable")))
    place = {label: at for at, label in enumerate(listed)}
    return Grouping(tuple(cells), tuple(place[label] for _, label in labelled), tuple(listed),
                  tuple(bounds), kind_of([cell for cell in cells if cell], decimal)[0])


def kind_of(texts: Sequence[str], decimal: str = ".") -> tuple[Kind, list[float]]:
    """Return whether texts are numbers or dates, and the position of each in their order.

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


def merged(levels: Grouping, first: int, last: int) -> str:
    """Return the name of all intervals from `first` to `last` together.

    >>> four = Grouping((), (), ("<1", "1..2", "2..3", ">=3"), ("1", "2", "3"))
    >>> merged(four, 0, 1), merged(four, 1, 2), merged(four, 2, 3), merged(four, 1, 1)
    ('<2', '1..3', '>=2', '1..2')
    """
    if first == 0:
        return f"<{levels.cuts[last]}"
    if last == len(levels.cuts):
        return f">={levels.cuts[first - 1]}"
    return f"{levels.cuts[first - 1]}..{levels.cuts[last]}"


def free(text: str, taken: Sequence[str]) -> str:
    """Return a text that is not taken.

    >>> free("missing", ["missing", "A"])
    'missing_'
    """
    while text in taken:
        text += "_"
    return text


def _held(name: str, width: int, codes: Codes, items: Items, positions: Sequence[int]) -> Bools:
    """Read from the rows which items each cell holds; all rows of a cell hold the same."""
    held = np.zeros((width, len(positions)), np.bool_)
    for at, j in enumerate(positions):
        mine = np.zeros(len(codes), np.bool_)
        rows = rows_of(items, j)
        if len(rows) and rows[-1] >= len(codes):
            raise SchemaError("the table changed while it was read; try again")
        mine[rows] = True
        held[codes[mine], at] = True
        if (held[codes, at] != mine).any():
            raise SchemaError(f"the cells of column {name!r} do not fit its yes-or-no columns; "
                              "the table changed, or its domain file declares another format: "
                              "try again with --domain")
    return held


def _bounds(rests: Sequence[str]) -> list[str]:
    """Return the cut points of a column from the names of its items; none if it is not cut.

    >>> _bounds(["<18", "=18..65", ">=65", "=missing"]), _bounds(["=A"])
    (['18', '65'], [])
    """
    rests = [rest for rest in rests if rest != f"={MISSING}"]
    if len(rests) > 1 and rests[0].startswith("<"):
        points = [rests[0][1:]]
        for rest in rests[1:-1]:
            low, _, high = rest[1:].partition("..")
            if low != points[-1] or not high:
                return []
            points.append(high)
        return points if rests[-1] == f">={points[-1]}" else []
    return []


def _intervals(rests: Sequence[str], bounds: Sequence[str], groups: Sequence[Held],
               ) -> list[tuple[int, str]]:
    """Return for each cell the position of its interval, and the name of its group."""
    known = Grouping((), (), (), tuple(bounds))
    names = [merged(known, at, at) for at in range(len(bounds) + 1)]
    nothing = free(MISSING, names)
    places = []
    for group in groups:
        inner = [at for at in group if rests[at] != f"={MISSING}"]
        if inner:
            places.append((inner[0], names[inner[0]]))
        else:
            places.append((len(names), nothing))
    return places


def _names(rests: Sequence[str], cells: Sequence[str], groups: Sequence[Held],
           ) -> list[tuple[int, str]]:
    """Return for each cell the position of its group, and the name of the group."""
    flag = rests[:1] == [""]
    texts: dict[Held, list[str]] = {}
    for cell, group in zip(cells, groups, strict=True):
        texts.setdefault(group, []).append(text_of(cell))
    taken: list[str] = []
    labels: dict[Held, str] = {}
    # Groups that hold an item are named first.
    for group, held in sorted(texts.items(), key=lambda pair: not pair[0]):
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


def write_folder(out: str | Path, files: Mapping[str, bytes]) -> None:
    """Write files, by their paths inside, into a new folder; if that fails, remove the folder."""
    place = Path(out)
    try:
        place.mkdir(0o700)
    except FileExistsError:
        raise ParameterError("the folder of --out exists and is not overwritten; name a folder "
                             "that does not exist") from None
    except (OSError, ValueError):
        raise ParameterError("the folder of --out cannot be created; its parent folder must exist "
                             "and be writable") from None
    try:
        for name, data in files.items():
            path = place / name
            path.parent.mkdir(0o700, exist_ok=True)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
    except BaseException as error:
        shutil.rmtree(place, ignore_errors=True)
        if isinstance(error, OSError):
            raise ParameterError("the files cannot be written to the folder of --out; make room "
                                 "on its disk and try again") from None
        raise


def csv_bytes(rows: Iterable[Sequence[str]], delimiter: str = ",") -> bytes:
    r"""Return rows as CSV in UTF-8; a quote in a field is doubled.

    >>> csv_bytes([["a", "b c"], ["", "x,y"]])
    b'a,b c\n,"x,y"\n'
    """
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def filled(template: str, blanks: Mapping[str, str]) -> str:
    """Fill the blanks between @ signs in a program of another tool, a file beside this module.

    One pass fills all blanks, because a name may look like a blank.
    """
    text = Path(__file__).with_name(template).read_text(encoding="utf-8")
    return re.sub("@([A-Z]+)@", lambda blank: blanks[blank[1]], text)


def file_name(at: int, name: str) -> str:
    """Return a safe name for a file or a variable, made from the name of a column.

    >>> file_name(3, "hours per week"), file_name(1, '"); quit("')
    ('v3_hours_per_week', 'v1_quit')
    """
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in name).split()
    return "_".join([f"v{at}", *words])[:40].rstrip("_")
