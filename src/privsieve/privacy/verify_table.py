"""Recount a published table: its containment level from the file alone.

The checker is not the maker: nothing here is shared with the methods that choose, and NumPy is not
needed.  A set of rows is one large integer, a bit for each row; the group of a row is the
intersection of the columns that it holds.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
                  absent: Iterable[str] = ()) -> Recount:
    r"""Count the groups of a published file, CSV or Parquet.

    `target` is not among the columns; of the columns in `absent` it counts as known, too, who does
    not have them.

    >>> recount_table(b"a,b\n1,0\n1,1\n1,1\n", absent=["b"])
    Recount(columns=('a', 'b'), rows=3, level=1, classes=1)
    """
    table = _read(data)
    labels = table.pop(target) if target is not None and target in table else None
    if (target is not None and labels is None) or not table:
        raise Unreadable("the table lacks the claimed target, or every other column")
    rows = len(next(iter(table.values())))
    if not rows or any(set(cells) - {"0", "1"} for cells in table.values()):
        raise Unreadable("the table has no row, or holds something else than 0 and 1")
    hidden = set(absent)
    known = [name in hidden for name in table]
    held = [int("".join(cells), 2) for cells in table.values()]
    counts: dict[tuple[str, ...], set[str]] = defaultdict(set)
    size: dict[tuple[str, ...], int] = defaultdict(int)
    for place, pattern in enumerate(zip(*table.values(), strict=True)):
        size[pattern] += 1
        counts[pattern].add(labels[place] if labels is not None else "")
    classes = _classes(labels, rows)
    level, poorest = rows, len(classes)
    for pattern in sorted(size, key=size.__getitem__):
        # A group is never smaller than its own pattern: common patterns are passed over.
        if size[pattern] >= level and len(counts[pattern]) >= poorest:
            continue
        group = (_equal if model == "k-anonymity" else _group)(pattern, held, known, rows)
        level = min(level, group.bit_count())
        poorest = min(poorest, sum(1 for one in classes if one & group))
    return Recount(tuple(table), rows, level, poorest)


def _group(pattern: Sequence[str], held: Sequence[int], known: Sequence[bool], rows: int) -> int:
    """The rows that hold all that the pattern holds, and lack what it is known to lack."""
    whole = (1 << rows) - 1
    having = (column for cell, column in zip(pattern, held, strict=True) if cell == "1")
    lacking = (whole ^ column for cell, column, seen in zip(pattern, held, known, strict=True)
               if cell == "0" and seen)
    return reduce(and_, lacking, reduce(and_, having, whole))


def _equal(pattern: Sequence[str], held: Sequence[int], known: Sequence[bool], rows: int) -> int:
    """The rows of the same pattern."""
    return _group(pattern, held, [True] * len(known), rows)


def _classes(labels: Sequence[str] | None, rows: int) -> list[int]:
    """The rows of each label."""
    if labels is None:
        return [(1 << rows) - 1]
    return [int("".join("1" if label == one else "0" for label in labels), 2)
            for one in sorted(set(labels))]


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
