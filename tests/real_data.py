"""Real tables, from outside of the checkout; a test that needs them skips where they are not."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

DATA = Path(os.environ.get("PRIVSIEVE_DATA", Path(__file__).parents[2] / "shared" / "data"))


def folder(name):
    """The folder of a data set."""
    if not (DATA / name).is_dir():
        pytest.skip(f"PRIVSIEVE_DATA names no folder that holds {name}")
    return DATA / name


def email():
    """PU1, the paper's e-mail: its items and classes."""
    return _email(folder("pu1"))


def adult():
    """The paper's Adult with our cuts: its items and classes."""
    return _adult(folder("adult19"))


@cache
def _email(place):
    import pyarrow.parquet as pq
    from scipy import sparse

    from privsieve.rows.items import items_of

    labels = pq.read_table(place / "rows.parquet")["y"].to_numpy()
    return items_of((sparse.load_npz(place / "X.npz") > 0).tocsc(), labels)[:2]


@cache
def _adult(place):
    import pyarrow.parquet as pq

    from privsieve.rows.items import items_of

    table = pq.read_table(place / "data.parquet")
    names = [name for name in table.column_names if name != "y"]
    return items_of(table.select(names), table["y"].to_numpy())[:2]
