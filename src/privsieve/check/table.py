"""Recount a published table: its containment level from the file alone.

The checker is not the maker: nothing here is shared with the methods that choose, and NumPy is not
needed.  A set of rows is one large integer, a bit for each row; the group of a row is the
intersection of the columns that it holds.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

PARQUET = b"PAR1"


class Unreadable(Exception):
    """A file that is no table of zeros and ones; its text says what is wrong, and no cell."""


@dataclass(frozen=True)
class Recount:
    """What a table shows.

    level : rows in the smallest group.
    classes : distinct labels in the poorest group; 1 without a target.
    """

    columns: tuple[str, ...]
    rows: int
    level: int
    classes: int


def recount_table(data: bytes, *, target: str | None = None, model: str = "containment",
                  absent: Iterable[str] = (), target_known: bool = False,
                  sensitive: Iterable[str] = ()) -> Recount:
    r"""Count the groups of a published file, CSV or Parquet.

    `target` is not among the columns, and neither are `sensitive` ones; of the columns in `absent`
    it counts as known, too, who does not have them.  With `target_known` a group is of one class;
    `classes` are counted in the group without it.

    >>> recount_table(b"a,b\n1,0\n1,1\n1,1\n", absent=["b"])
    Recount(columns=('a', 'b'), rows=3, level=1, classes=1)
    >>> recount_table(b"a,y\n1,n\n1,y\n1,y\n", target="y", target_known=True)
    Recount(columns=('a',), rows=3, level=1, classes=2)
    """
    table = _read(data)
    labels = table.pop(target) if target is not None and target in table else None
    beside = set(sensitive)
    if (target is not None and labels is None) or not beside <= table.keys():
        raise Unreadable("the table lacks the claimed target, or a sensitive column")
    held = {name: cells for name, cells in table.items() if name not in beside}
    if not held:
        raise Unreadable("the table has no column of zeros and ones")
    rows = len(next(iter(held.values())))
    if not rows or any(set(cells) - {"0", "1"} for cells in held.values()):
        raise Unreadable("the table has no row, or holds something else than 0 and 1")
    hidden = set(held) if model == "k-anonymity" else set(absent)
    level, poorest = _smallest(held, labels, hidden, apart=target_known)
    return Recount(tuple(held), rows, level, poorest)


def _smallest(table: Mapping[str, Sequence[str]], labels: Sequence[str] | None, absent: set[str],
              *, apart: bool) -> tuple[int, int]:
    """Rows in the smallest group, and classes in the poorest; groups of one class if `apart`."""
    rows = len(next(iter(table.values())))
    known = [name in absent for name in table]
    held = [int("".join(cells), 2) for cells in table.values()]
    classes = _classes(labels, rows)
    size: dict[tuple[str, ...], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for place, pattern in enumerate(zip(*table.values(), strict=True)):
        size[pattern][labels[place] if labels is not None else ""] += 1
    level, poorest = rows, len(classes)
    for pattern, found in sorted(size.items(), key=lambda one: min(one[1].values())):
        # A group is never smaller than its own pattern: common patterns are passed over.
        least = min(found.values()) if apart else sum(found.values())
        if least >= level and len(found) >= poorest:
            continue
        group = _group(pattern, held, known, rows)
        parts = [classes[one] & group for one in found] if apart else [group]
        level = min(level, *(part.bit_count() for part in parts))
        poorest = min(poorest, sum(1 for one in classes.values() if one & group))
    return level, poorest


def _group(pattern: Sequence[str], held: Sequence[int], known: Sequence[bool], rows: int) -> int:
    """The rows that hold all that the pattern holds, and lack what it is known to lack."""
    whole = (1 << rows) - 1
    having = (column for cell, column in zip(pattern, held, strict=True) if cell == "1")
    lacking = (whole ^ column for cell, column, seen in zip(pattern, held, known, strict=True)
               if cell == "0" and seen)
    return reduce(and_, lacking, reduce(and_, having, whole))


def _classes(labels: Sequence[str] | None, rows: int) -> dict[str, int]:
    """The rows of each label."""
    if labels is None:
        return {"": (1 << rows) - 1}
    return {one: int("".join("1" if label == one else "0" for label in labels), 2)
            for one in sorted(set(labels))}


def _read(data: bytes) -> dict[str, Sequence[str]]:
    """The cells of each column, as texts."""
    found = _parquet(data) if data.startswith(PARQUET) else _csv(data)
    if len({len(cells) for cells in found.values()}) > 1:
        raise Unreadable("the columns of the table differ in length")
    return dict(found)


def _csv(data: bytes) -> Mapping[str, Sequence[str]]:
    try:
        lines = list(csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True))
    except (UnicodeError, csv.Error):
        lines = []
    if not lines or any(len(line) != len(lines[0]) for line in lines):
        raise Unreadable("the table is not CSV in UTF-8 with equally many fields in each line")
    names = lines[0]
    if len(set(names)) != len(names):
        raise Unreadable("two columns of the table have the same name")
    columns = zip(*lines[1:], strict=True) if len(lines) > 1 else [()] * len(names)
    return dict(zip(names, columns, strict=True))


def _parquet(data: bytes) -> Mapping[str, Sequence[str]]:
    """Parquet is decoded by pyarrow, which is needed for nothing else."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(data))
    except Exception:  # noqa: BLE001  # pyarrow raises of many types, and none may leave
        raise Unreadable("the table is a damaged Parquet file") from None
    if len(set(table.column_names)) != table.num_columns:
        raise Unreadable("two columns of the table have the same name")
    return {name: [str(cell) for cell in column.to_pylist()]
            for name, column in zip(table.column_names, table.columns, strict=True)}
