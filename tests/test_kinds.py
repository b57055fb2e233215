"""Law: a new kind of column is one class; readers, files, pages and methods learn of it from it.

Two toys stand here, which no file of the package names: one lists its values, one has a grid.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import privsieve as ps
from data_makers import read
from privsieve.errors import PrivsieveError
from privsieve.public.columns import KINDS, Graded, Listed
from privsieve.public.domain import fields_of, read_column
from privsieve.public.domain_file import parse, to_toml
from privsieve.rows import csv_file as csv_rows
from privsieve.rows.inspect import inspect
from privsieve.rows.items import items_of

SRC = Path(ps.__file__).parent
#: Tests in the core of which kind a column is; a kind knows what it does, so that none is needed.
MOST_LADDERS = 41
CELLS = {"stage": ["II", " iv", "I", "?", None, "iii", "IV"],
         "load": ["12.5", "100", "-3", "x", None, " 7 ", "1e2"]}


@pytest.fixture
def kinds():
    """Stages of a tumour, and percentages."""

    @dataclass(frozen=True)
    class Stage(Listed):
        """A stage in Roman figures, however it is written; all else is one level."""

        name: str
        kind = "stage"
        values = ("I", "II", "III", "IV")
        ignore_case = others_are_a_level = True
        becomes = "unknown"

    @dataclass(frozen=True)
    class Percent(Graded):
        """A number from 0 to 100."""

        name: str
        kind = "percent"
        missing = "level"
        is_number = True
        reach = (0.0, 100.0)

        def reads_type(self, kind):
            """Numbers."""
            return kind == "number"

    yield Stage, Percent
    for kind in (Stage, Percent):
        del KINDS[kind.kind]


@pytest.fixture
def domain(kinds):
    """Both toys and a target."""
    stage, percent = kinds
    return ps.Domain([stage("stage"), percent("load")], target=ps.Label("ill", [0, 1]))


def test_every_reader_gives_the_same_codes(domain, tmp_path, monkeypatch):
    """Lists, frames, Arrow, Parquet and CSV files, with the kernels and without."""
    target = [0, 1, 0, 1, 0, 1, 0]
    expected = [[1, 8191], [3, 65534], [0, 0], [4, 65535], [4, 65535], [2, 4587], [3, 65534]]
    cells = {**CELLS, "ill": target}
    table = pa.table(cells)
    pq.write_table(table, tmp_path / "t.parquet")
    pd.DataFrame(cells).to_csv(tmp_path / "t.csv", index=False)
    held = [pd.DataFrame(cells), pl.DataFrame(cells), table, tmp_path / "t.parquet",
            tmp_path / "t.csv"]
    for source in held:
        codes_read = np.concatenate([batch.codes for batch in read(source, domain)])
        assert expected == codes_read.tolist(), type(source)
    rows = list(map(list, zip(*CELLS.values(), strict=True)))
    assert expected == read(rows, domain, y=target)[0].codes.tolist()
    monkeypatch.setattr(csv_rows, "serves", lambda _source: False)
    assert expected == read(tmp_path / "t.csv", domain)[0].codes.tolist()


def test_files_hold_it(domain, kinds):
    """A domain with a new kind is written, read, digested and refused as any other."""
    text = to_toml(domain)
    assert domain == parse(text)
    assert domain.digest() == parse(text).digest() != ps.Domain(
        [ps.Flag("stage"), ps.Number("load")], target=domain.target).digest()
    assert list(domain.columns) == [read_column(fields_of(column)) for column in domain.columns]
    with pytest.raises(PrivsieveError, match='"percent"'):
        parse(text.replace('"stage"\nkind = "stage"', '"stage"\nkind = "stages"'))
    with pytest.raises(PrivsieveError, match="numbers by its type"):
        read(pa.table({"stage": [1.0], "load": [2.0], "ill": [1]}), domain)


def test_it_is_inspected_and_published(domain):
    """A look counts what is not read; items are made of its values."""
    table = pd.DataFrame({**CELLS, "ill": [0, 1, 0, 1, 0, 1, 0]})
    lines = "\n".join(inspect(table, domain).lines())
    assert "4 of 4 levels in use" in lines
    assert "1 unlisted" in lines
    assert "1 unparsable" in lines
    cut = {"load": [50], "stage": None}
    items, _, _ = items_of(table, "ill", domain=domain, columns=cut)
    assert {"stage=I", "stage=IV", "load<50", "load>=50"} <= set(items.names)


@pytest.mark.parametrize("method", [ps.RuleSieve, ps.NoisyTopK])
def test_methods_take_it(domain, tmp_path, method):
    """A choice is made of it."""
    rng = np.random.default_rng(0)
    n = 400
    y = rng.integers(0, 2, n)
    stage = np.array(["I", "II", "III", "IV", "?"])[np.where(rng.random(n) < .9, 3 * y, 1)]
    table = pd.DataFrame({"stage": stage, "load": rng.random(n) * 100, "ill": y})
    ledger = ps.Ledger(tmp_path / "l.db", population="toys")
    ledger.grant(9)
    model = method(1, epsilon=9, domain=domain, ledger=ledger).fit(table)

    assert ["stage"] == list(model.get_feature_names_out())


def test_nobody_asks_for_the_kind():
    """Rows know kinds by what they do, and so do most others."""
    kind = re.compile(r"isinstance\([^()]*(?:\([^()]*\))?[^()]*"
                      r"\b(Number|Category|Flag|Date|Label)\b")
    places = {path.relative_to(SRC): len(kind.findall(path.read_text(encoding="utf-8")))
              for path in SRC.rglob("*.py") if "extras" not in path.parts}

    assert not any(many for path, many in places.items() if path.parts[0] == "rows")
    assert sum(places.values()) <= MOST_LADDERS
