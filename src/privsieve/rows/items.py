"""Read any table as items, for containment.  Results name the original columns.

Each line of a log says that a user has an item: users become rows, and items become columns.  This
needs no budget and no domain: cut points may be read from the table, and are published with it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.errors import ParameterError, SchemaError
from privsieve.public.columns import Column, Target
from privsieve.public.domain import Csv, Domain
from privsieve.rows.arrays import target
from privsieve.rows.coding import Coded, Gather
from privsieve.rows.matrix import FORMS, Items, Sensitive, from_pairs, of_matrix
from privsieve.rows.source import RawColumn, Source, check_lengths, open_source
from privsieve.rows.table import (
    Reading,
    Table,
    body_of,
    gathered,
    how_coded,
    labels,
    tabular,
    unmerged,
)

Labels = tuple[npt.NDArray[np.int32], tuple[Any, ...]]
Found = tuple[Items, npt.NDArray[np.int32], tuple[Any, ...]]

__all__ = ["Long", "Reading", "Table", "column_of", "items_of", "label_codes",
           "read_long", "restricted", "table_of", "without_labels"]

#: Files that are tables with names, by the ends of theirs.
TABLES = (".csv", ".tsv", ".parquet", ".pq")


def items_of(X: Any, y: Any = None, **how: Any) -> Found:
    """Return a table as items, the class of each row, and the classes.

    Parameters
    ----------
    X : array of zeros and ones, sparse matrix, frame, `Items`, or path
        a path may be CSV, Parquet, .npz, .dat or .basket (a line of items a row).
    y : array, or the name of a column, optional
        without it all rows are of one class, None.
    **how : how the table is read
        the fields of `Reading`: domain, columns, cuts, missing, k, ...

    Examples
    --------
    >>> items, y, classes = items_of([[1, "A"], [0, "B"]], y=["no", "yes"])
    >>> items.names, items.origin, y.tolist(), classes
    (('x0', 'x1=A', 'x1=B'), ('x0', 'x1', 'x1'), [0, 1], ('no', 'yes'))
    """
    table = table_of(X, y, Reading(**how))
    return table.items, table.y, table.classes


def table_of(X: Any, y: Any = None, reading: Reading | None = None) -> Table:
    """Return items, classes and sensitive columns of a table, with rows in the same order.

    >>> table = table_of([[1, "A"], [0, "B"]], None, Reading(sensitive=("x1",)))
    >>> table.items.names, [(column.name, column.values) for column in table.sensitive]
    (('x0',), [('x1', ('A', 'B'))])
    """
    reading = reading or Reading()
    whole = None if reading.domain is not None and isinstance(X, np.ndarray) else _whole(X, y)
    if isinstance(X, Source) and y is not None and not isinstance(y, str):
        raise SchemaError("X is an opened source, so y cannot be separate; open both together")
    if whole is None:
        csv, apart = reading.domain.csv if reading.domain else None, not isinstance(y, str)
        if apart and y is not None and isinstance(X, str | os.PathLike):
            cells, kind = target(y)
            source = replace(open_source(X, csv=csv), y=cells, y_type=kind)
        else:
            source = open_source(X, y if apart else None, csv=csv)
        return tabular(source, None if apart else y, reading)
    if reading.person is not None:
        raise ParameterError("this table holds only items (yes or no), so no column identifies a "
                             "person; give a CSV or Parquet table with such a column")
    if reading.domain is not None:
        raise ParameterError("this table holds only yes and no, but a domain describes cells; "
                             "leave domain out, and give columns= instead")
    return _of_items(whole, reading.target or (y if isinstance(y, str) else "y"), reading)


def _of_items(whole: Found, label: str, reading: Reading) -> Table:
    """Restrict a table without cells to some items, and merge its classes if asked to."""
    (items, code, classes), columns, how = whole, reading.columns, None
    if isinstance(columns, Mapping) and label in columns and label not in items.names:
        how = columns[label]
        columns = {name: entry for name, entry in columns.items() if name != label} or None
    apart = list(dict.fromkeys(reading.sensitive or ()))
    sensitive = tuple(_yes_or_no(items, name) for name in apart)
    kept = restricted(items, columns)
    if apart:
        kept = kept.take([j for j, name in enumerate(kept.names) if name not in apart])
    if classes != (None,):
        cells = tuple(float(c) if isinstance(c, int | float) else c for c in classes)
        code, classes = labels(Coded(label, cells, code), how, reading.cutting(items.rows))
    reading.cutting(items.rows)  # as many sources as rows
    return Table(kept, code, classes, sensitive, reading.sources)


def _yes_or_no(items: Items, name: str) -> Sensitive:
    """Return an item of a table without cells as a column of values."""
    codes = np.zeros(items.rows, np.int32)
    codes[restricted(items, [name]).indices] = 1
    return Sensitive(name, codes, ("no", "yes"))


def restricted(items: Items, columns: Sequence[str] | Mapping[Any, Any] | None) -> Items:
    """Return the items of these columns; all of them for None."""
    if columns is None:
        return items
    if isinstance(columns, Mapping) and any(how not in (None, False) for how in columns.values()):
        raise ParameterError("the table holds only yes and no, so its columns cannot be cut; "
                             "give only their names")
    columns = how_coded(columns, items.names)
    place = {name: at for at, name in enumerate(items.names)}
    absent = [name for name in columns if name not in place]
    if absent:
        raise SchemaError(f"column {absent[0]!r} is not in the table; correct its name")
    return items.take([place[name] for name in columns])


def column_of(path: Path, name: str | None, csv: Csv | None = None) -> list[Any]:
    """Return a column: of a table by its name, of other files each line."""
    if path.suffix.lower() not in TABLES:
        if path.exists() and not path.is_file():  # a device may have no end
            raise SchemaError("the path of the labels is not a file; give one label a line")
        try:
            return path.read_text(csv.encoding if csv else "utf-8").splitlines()
        except (OSError, UnicodeError):
            raise SchemaError("the file of labels cannot be read as text; give one label a "
                              "line") from None
    source = open_source(path, csv=csv)
    if name is None or name not in source.columns:
        raise SchemaError("the file of labels is a table; name its column of labels as target")
    return [cell for batch in body_of(source, [name])
            for cell in (batch[0] if isinstance(batch[0], list) else batch[0].tolist())]


def without_labels(rows: int) -> Labels:
    """Give all rows one class, if there are no labels."""
    return np.zeros(rows, np.int32), (None,)


def _whole(X: Any, y: Any) -> Found | None:
    """Return items made of yes and no, or None for a table of cells."""
    if isinstance(X, (str, os.PathLike)):
        read = FORMS.get(Path(X).suffix.lower())
        if read is None:
            return None
        if not Path(X).is_file():
            raise SchemaError("the data file does not exist, or is not a file; check the path")
        label = y if isinstance(y, str) else None
        whole, own = read(Path(X), label)
        labelled = without_labels(whole.rows) if own is None else label_codes(own)
        return whole, *(labelled if label is not None else _labels(y, whole.rows, labelled))
    items = X if isinstance(X, Items) else of_matrix(X)
    if items is None:
        return None
    if isinstance(y, str) and items is not X:
        raise SchemaError("y is a name, but an array has no names; give one label for each row")
    return items, *_labels(y, items.rows, without_labels(items.rows))


def _labels(y: Any, rows: int, otherwise: Labels) -> Labels:
    """Return the classes of labels that are passed separately from the table."""
    if y is None:
        return otherwise
    raw, _kind = target(y)
    check_lengths(rows, raw)
    return label_codes(raw)


def label_codes(raw: RawColumn) -> Labels:
    """Return the class of each label (0, 1, …), and the classes.

    >>> label_codes([3, 1, 3])[1]
    (1, 3)
    """
    column = Gather("y")
    column.add(raw)
    return unmerged(column.coded())


# --- long logs ------------------------------------------------------------------------------------

@dataclass(frozen=True, eq=False, repr=False)
class Long:
    """The columns of a log.

    value : a column of 0 and 1; lines with 0 are ignored.
    people : a table of the users, one row each; a user without a line has no item.
    target : a column of that table, the class of each user.
    """

    user: str
    item: str
    value: str | None = None
    people: Any = None
    target: str | None = None


def read_long(log: Any, how: Long, *, items: Sequence[str] | None = None,
              domain: Domain | None = None) -> Found:
    """Return the items of a log (a path or a frame); a repeated line counts once.

    With `people`, refuse a line of another user; with `items`, refuse a line with another item.
    `domain` says how the files are written, and how `value` and the people's target are read.

    >>> import pyarrow as pa
    >>> log = pa.table({"user": ["u2", "u1", "u2"], "film": ["A", "B", "B"]})
    >>> table, y, classes = read_long(log, Long("user", "film"))
    >>> table.rows, table.names, table.indices.tolist()
    (2, ('A', 'B'), [1, 0, 1])
    """
    wanted = [how.user, how.item, *([how.value] if how.value else [])]
    user, item, *value = _columns(log, wanted, "the log", domain)
    for column in (user, item):
        if (column.codes < 0).any():
            raise SchemaError(f"the log has lines without {column.name!r}; give each line a user "
                              "and an item")
    keep = _kept(value[0]) if value else np.ones(len(user.codes), np.bool_)
    known, classes_of_users = ((sorted(user.texts()), None) if how.people is None
                    else _people(how, domain))
    names = list(items) if items is not None else sorted(item.texts())
    row, place = _looked_up(user, known, "user"), _looked_up(item, names, "item")
    table = from_pairs(row[keep], place[keep], len(known), names)
    return table, *(classes_of_users or without_labels(len(known)))


def _columns(table: Any, names: Sequence[str], what: str, domain: Domain | None) -> list[Coded]:
    source = open_source(table, csv=domain.csv if domain else None)
    for name in names:
        if name not in source.columns:
            raise SchemaError(f"column {name!r} is not in {what}; correct its name")
    parts: dict[str, Column | Target] = {}
    if domain is not None:
        parts = {column.name: column for column in domain.columns}
        parts |= {domain.target.name: domain.target} if domain.target else {}
    # Users and items are known by their texts, whatever a domain says.
    texts = 2 if what == "the log" else 1
    decimal = domain.csv.signs if domain else "."
    return gathered(source, [Gather(name, parts.get(name) if at >= texts else None,
                                    decimal if at >= texts else ".")
                             for at, name in enumerate(names)], names)


def _people(how: Long, domain: Domain | None) -> tuple[list[str], Labels | None]:
    """Return the users in the order of their names, and their classes."""
    wanted = [how.user, *([how.target] if how.target else [])]
    who, *label = _columns(how.people, wanted, "the table of people", domain)
    if (who.codes < 0).any() or len(set(who.codes.tolist())) != len(who.codes):
        raise SchemaError(f"the table of people has an empty or repeated {how.user!r}; give each "
                          "user exactly one row")
    texts = who.texts()
    names = [texts[code] for code in who.codes]
    order = sorted(range(len(names)), key=names.__getitem__)
    if not label:
        return [names[at] for at in order], None
    codes, classes = labels(label[0])
    return [names[at] for at in order], (codes[order], classes)


def _looked_up(column: Coded, known: Sequence[str], what: str) -> npt.NDArray[np.int64]:
    """Return the place of each line's user or item among the known ones."""
    place = {name: at for at, name in enumerate(known)}
    places = np.array([place.get(text, -1) for text in column.texts()], np.int64)[column.codes]
    if (places < 0).any():
        where = "the table of people" if what == "user" else "the list of items"
        raise SchemaError(f"column {column.name!r} of the log holds an unknown {what}; add it to "
                          f"{where}, or drop its lines")
    return places


def _kept(value: Coded) -> npt.NDArray[np.bool_]:
    """Return which lines have the value 1."""
    numbers = value.numbers()
    if numbers is None or not set(numbers.tolist()) <= {0.0, 1.0} or (value.codes < 0).any():
        raise SchemaError(f"column {value.name!r} of the log holds values other than 0 and 1; "
                          "convert it to 0 and 1 first")
    says_yes: npt.NDArray[np.bool_] = numbers[value.codes] == 1
    return says_yes
