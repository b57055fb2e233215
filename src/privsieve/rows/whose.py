"""Whose row it is: the person or source of each row, from a column that never leaves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from privsieve.errors import ParameterError, SchemaError
from privsieve.public.domain import Csv
from privsieve.rows.gather import Gather
from privsieve.rows.opening import open_source
from privsieve.rows.table import BATCH, guarded

TABLES = (".csv", ".tsv", ".parquet", ".pq")


def whose(path: str, name: str, csv: Csv | None = None) -> npt.NDArray[np.int32]:
    """The source of each row of a table, as a number.

    Rows that name no source may all be of one person, and so count as one; two spellings of a
    name count as two.
    """
    if Path(path).suffix.lower() not in TABLES:
        raise ParameterError("--source is a column of a CSV or Parquet table; this file has no "
                             "other columns than its items")
    source = open_source(path, csv=csv)
    if name not in source.columns:
        raise SchemaError(f"the source {name!r} is not in the table; correct its name")
    column = Gather(name)
    for batch in guarded(source.raw([name], BATCH)):
        column.add(batch[0])
    codes = column.coded().codes
    return np.where(codes < 0, codes.max(initial=-1) + 1, codes).astype(np.int32)
