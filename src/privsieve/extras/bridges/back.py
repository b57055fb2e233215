"""Read the domain of a table that another tool generalised, with its levels as categories.

`[18, 40[`, `18-40`, `(18,40]` and `{A, B}` are levels like any other: their meaning is not
read.  A suppressed cell is a missing cell.
"""

from __future__ import annotations

from pathlib import Path

from privsieve.errors import SchemaError
from privsieve.public.columns import Category
from privsieve.public.domain import Csv, Domain
from privsieve.rows.cells import text_cell
from privsieve.rows.coding import LARGEST_LEVELS
from privsieve.rows.source import open_source
from privsieve.rows.table import body_of

#: How sdcMicro, R and ARX write a suppressed cell; an empty cell is missing as well.
SUPPRESSED = ("*", "NA")


def generalised(path: str | Path, csv: Csv | None = None) -> Domain:
    """Return a domain that lists the levels of each column of the table.

    The levels are read from the rows: the holder of the table must declare that they are public.
    """
    source = open_source(path, csv=csv)
    levels_of: list[dict[str, None]] = [{} for _ in source.columns]
    for batch in body_of(source, source.columns):
        for levels, raw in zip(levels_of, batch, strict=True):
            levels.update(dict.fromkeys(map(text_cell, dict.fromkeys(raw))))
    columns = [column for name, levels in zip(source.columns, levels_of, strict=True)
               if (column := _category(name, levels)) is not None]
    if not columns:
        raise SchemaError("every cell of the table is suppressed; give a table with values")
    return Domain(tuple(columns), csv=csv or Csv())


def _category(name: str, levels: dict[str, None]) -> Category | None:
    """Return a column with its levels; None if all cells are suppressed."""
    missing = {"", *SUPPRESSED} & levels.keys()
    if len(missing) > 1:
        raise SchemaError(f"column {name!r} has more than one mark for a suppressed cell (an "
                          f"empty cell, {', '.join(SUPPRESSED)}); use the same mark everywhere")
    texts = sorted(levels.keys() - missing)
    if len(texts) > LARGEST_LEVELS:
        raise SchemaError(f"column {name!r} has more than {LARGEST_LEVELS} levels; generalise it, "
                          "or remove it from the table")
    return Category(name, tuple(texts)) if texts else None
