"""Cells that hospitals write, to codes, against the fastest of pandas, polars and pyarrow.

Each peer makes of the same file what comes nearest to our codes: categories as numbers of a
dictionary, flags as true and false, dates as days, numbers as float64.
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

import privsieve as ps
from measure import Goal
from privsieve import kernels
from privsieve.public.domain import Csv
from privsieve.rows import open_source
from privsieve.rows.batch import batches

WARDS = [f"ward {chr(65 + at)}" for at in range(12)]
#: At most this number of times the CPU of the fastest peer: one kind of cell, and a mixed table.
ONE, MIXED = 1.5, 1.2


def goals(*, short):
    """Every kind of cell of its own, then a table as a hospital has it."""
    if kernels.implementation() != "native":
        return []  # the twins are held to no speed
    rows, runs = 200_000, 1 if short else 5
    with tempfile.TemporaryDirectory() as folder:
        return [case(Path(folder), rows, runs) for case in CASES]


def goal(name, limit, runs, own, peers):
    """The median ratio to the fastest of some peers, all in turns."""
    for peer in (own, *peers.values()):
        peer()
    seconds = []
    for _ in range(runs):
        spent = {peer: call_once(read) for peer, read in peers.items()}
        fastest = min(spent, key=spent.get)
        ours = call_once(own)
        seconds.append((ours / spent[fastest], ours, spent[fastest], fastest))
    ratio, ours, theirs, fastest = sorted(seconds)[len(seconds) // 2]
    return Goal(f"{name} to codes / the fastest of {', '.join(peers)}", ratio, limit,
                f"ours {ours:.3f} s, {fastest} {theirs:.3f} s, CPU")


def call_once(read):
    """CPU seconds of a call; the warm-up was before."""
    gc.collect()
    start = time.process_time()
    read()
    return time.process_time() - start


def ours(path, columns, csv=None):
    """All that `fit` does with a file before a summary sees it."""
    domain = ps.Domain(columns, **({} if csv is None else {"csv": csv}))
    source = open_source(path, csv=domain.csv)
    rows = source.shape(count_rows=True).rows
    return sum(len(batch) for batch in batches(source, domain, rows=rows, entropy=os.urandom))


def written(folder, frame, **how):
    """A CSV file of a frame."""
    path = folder / "table.csv"
    frame.to_csv(path, index=False, **how)
    return path


def frame_of(rows, columns, cells):
    """Columns x0, x1, ... of drawn cells."""
    rng = np.random.default_rng(0)
    return pd.DataFrame({f"x{j}": cells(rng, rows) for j in range(columns)})


def arrow_csv(path, types, delimiter=",", **how):
    """The table that pyarrow reads, in one thread."""
    return pcsv.read_csv(path, pcsv.ReadOptions(use_threads=False),
                         pcsv.ParseOptions(delimiter=delimiter),
                         pcsv.ConvertOptions(column_types=types, **how))


def categories(folder, rows, runs, columns=20):
    """Texts of a list."""
    frame = frame_of(rows, columns, lambda rng, n: rng.choice(WARDS, n))
    path, names = written(folder, frame), list(frame)
    domain = [ps.Category(name, WARDS) for name in names]
    listed = pl.Enum(WARDS)
    return goal("categories", ONE, runs, partial(ours, path, domain), {
        "pandas": lambda: pd.read_csv(path, dtype=pd.CategoricalDtype(WARDS)),
        "polars": lambda: pl.read_csv(path, schema=dict.fromkeys(names, listed)),
        "pyarrow": lambda: arrow_csv(path, dict.fromkeys(
            names, pa.dictionary(pa.int32(), pa.string())))})


def flags(folder, rows, runs, columns=20):
    """Yes and no."""
    frame = frame_of(rows, columns, lambda rng, n: rng.choice(["yes", "no"], n))
    path, names = written(folder, frame), list(frame)
    return goal("flags", ONE, runs, partial(ours, path, list(map(ps.Flag, names))), {
        "pandas": lambda: pd.read_csv(path, true_values=["yes"], false_values=["no"],
                                      dtype=bool),
        "polars": lambda: pl.read_csv(path, schema=dict.fromkeys(names, pl.String)).select(
            pl.all() == "yes"),
        "pyarrow": lambda: arrow_csv(path, dict.fromkeys(names, pa.bool_()),
                                     true_values=["yes"], false_values=["no"])})


def own_flags(folder, rows, runs, columns=20):
    """Yes and no in other words."""
    frame = frame_of(rows, columns, lambda rng, n: rng.choice(["ja", "nein"], n))
    path, names = written(folder, frame), list(frame)
    domain = [ps.Flag(name, true="ja", false="nein") for name in names]
    return goal("flags in other words", ONE, runs, partial(ours, path, domain), {
        "pandas": lambda: pd.read_csv(path, true_values=["ja"], false_values=["nein"],
                                      dtype=bool),
        "polars": lambda: pl.read_csv(path, schema=dict.fromkeys(names, pl.String)).select(
            pl.all() == "ja"),
        "pyarrow": lambda: arrow_csv(path, dict.fromkeys(names, pa.bool_()),
                                     true_values=["ja"], false_values=["nein"])})


def days_of(rng, n):
    """Days of 60 years."""
    return pd.to_datetime(rng.integers(0, 60 * 365, n), unit="D")


def dates(folder, rows, runs, form=None, columns=10):
    """Dates in one form."""
    format_ = form or "%Y-%m-%d"
    frame = frame_of(rows, columns, days_of)
    path, names = written(folder, frame, date_format=format_), list(frame)
    domain = [ps.Date(name, "1970-01-01", "2030-01-01", format=form) for name in names]
    parsers = {} if form is None else {"timestamp_parsers": [form]}
    kind = pa.date32() if form is None else pa.timestamp("s")

    def polars():
        if form is None:
            return pl.read_csv(path, try_parse_dates=True)
        table = pl.read_csv(path, schema=dict.fromkeys(names, pl.String))
        return table.select(pl.all().str.to_date(form, strict=False))

    return goal(f"dates, {format_}", ONE, runs, partial(ours, path, domain), {
        "pandas": lambda: pd.read_csv(path, parse_dates=names, date_format=format_),
        "polars": polars,
        "pyarrow": lambda: arrow_csv(path, dict.fromkeys(names, kind), **parsers)})


def numbers_of(rng, n):
    """Laboratory values."""
    return rng.lognormal(3, 1, n).round(2)


def log_scale(folder, rows, runs, columns=20):
    """Numbers on a log scale; peers take the logarithm and make steps of it."""
    frame = frame_of(rows, columns, numbers_of)
    path, names = written(folder, frame), list(frame)
    domain = [ps.Number(name, 0.01, 10_000, scale="log") for name in names]

    def steps(values):
        return np.clip((np.log(np.maximum(values, 1e-300)) + 4.6) * 4740, 0, 65535).astype("u2")

    return goal("log scale", ONE, runs, partial(ours, path, domain), {
        "pandas": lambda: [steps(cells.to_numpy()) for _, cells in pd.read_csv(path).items()],
        "polars": lambda: list(map(steps, pl.read_csv(path))),
        "pyarrow": lambda: [steps(cells.to_numpy()) for cells in arrow_csv(path, dict.fromkeys(
            names, pa.float64())).columns]})


def missing_values(folder, rows, runs, columns=20):
    """Numbers of which 999 stands for none."""
    def cells(rng, n):
        return np.where(rng.random(n) < .05, 999, numbers_of(rng, n))

    frame = frame_of(rows, columns, cells)
    path, names = written(folder, frame), list(frame)
    domain = [ps.Number(name, 0, 900, missing_values=[999]) for name in names]
    return goal("numbers with missing_values", ONE, runs, partial(ours, path, domain), {
        "pandas": lambda: pd.read_csv(path, na_values=["999.0", "999"]),
        "polars": lambda: pl.read_csv(path, schema=dict.fromkeys(names, pl.Float64),
                                      null_values=["999.0", "999"]),
        "pyarrow": lambda: arrow_csv(path, dict.fromkeys(names, pa.float64()),
                                     null_values=["999.0", "999"])})


def thousands(folder, rows, runs, columns=10):
    """Numbers such as 1.032,3; pandas alone reads them itself, the others read texts first."""
    frame = frame_of(rows, columns, lambda rng, n: [
        f"{x:,.1f}".translate(str.maketrans(",.", ".,")) for x in rng.lognormal(7, 2, n)])
    path, names = written(folder, frame, sep=";"), list(frame)
    domain = [ps.Number(name, 0, 10**6) for name in names]

    def pyarrow():
        table = arrow_csv(path, dict.fromkeys(names, pa.string()), ";")
        return [pc.cast(pc.replace_substring(pc.replace_substring(cells, ".", ""), ",", "."),
                        pa.float64()) for cells in table.columns]

    text = pl.all().str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    return goal("numbers with thousands signs", ONE, runs,
                partial(ours, path, domain, Csv(";", ",", thousands=".")), {
        "pandas": lambda: pd.read_csv(path, sep=";", decimal=",", thousands="."),
        "polars": lambda: pl.read_csv(path, separator=";", schema=dict.fromkeys(
            names, pl.String)).select(text.cast(pl.Float64)),
        "pyarrow": pyarrow})


def numbers(folder, rows, runs, columns=20):
    """Plain numbers."""
    frame = frame_of(rows, columns, numbers_of)
    path, names = written(folder, frame), list(frame)
    domain = [ps.Number(name, 0, 900) for name in names]
    return goal("numbers", 1, runs, partial(ours, path, domain), {
        "pandas": lambda: pd.read_csv(path),
        "polars": lambda: pl.read_csv(path, schema=dict.fromkeys(names, pl.Float64)),
        "pyarrow": lambda: arrow_csv(path, dict.fromkeys(names, pa.float64()))})


def parquet_texts(folder, rows, runs, columns=20):
    """Numbers that a Parquet file holds as texts."""
    frame = frame_of(rows, columns, numbers_of).astype(str)
    path, names = folder / "table.parquet", list(frame)
    pq.write_table(pa.table({name: list(frame[name]) for name in names}), path)
    domain = [ps.Number(name, 0, 900) for name in names]
    return goal("texts of Parquet as numbers", ONE, runs, partial(ours, path, domain), {
        "pandas": lambda: pd.read_parquet(path).astype(float),
        "polars": lambda: pl.read_parquet(path).select(pl.all().cast(pl.Float64)),
        "pyarrow": lambda: [pc.cast(cells, pa.float64())
                            for cells in pq.read_table(path, use_threads=False).columns]})


def mixed(folder, rows, runs):
    """20 floats, 10 integers, 10 categories, 5 dates, 5 flags."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        **{f"n{j}": numbers_of(rng, rows) for j in range(20)},
        **{f"i{j}": rng.integers(0, 110, rows) for j in range(10)},
        **{f"c{j}": rng.choice(WARDS, rows) for j in range(10)},
        **{f"d{j}": days_of(rng, rows) for j in range(5)},
        **{f"f{j}": rng.choice(["yes", "no"], rows) for j in range(5)}})
    path = written(folder, frame, date_format="%Y-%m-%d")
    kinds = {"n": lambda name: ps.Number(name, 0, 900), "i": lambda name: ps.Number(name, 0, 110),
             "c": lambda name: ps.Category(name, WARDS), "f": ps.Flag,
             "d": lambda name: ps.Date(name, "1970-01-01", "2030-01-01")}
    arrow = {"n": pa.float64(), "i": pa.int64(), "c": pa.dictionary(pa.int32(), pa.string()),
             "d": pa.date32(), "f": pa.bool_()}
    polars = {"n": pl.Float64, "i": pl.Int64, "c": pl.Enum(WARDS), "d": pl.Date, "f": pl.String}
    dates_of = [name for name in frame if name[0] == "d"]
    pandas = {"n": "float64", "i": "int64", "c": pd.CategoricalDtype(WARDS), "f": "bool"}
    return goal("a mixed table", MIXED, runs,
                partial(ours, path, [kinds[name[0]](name) for name in frame]), {
        "pandas": lambda: pd.read_csv(
            path, dtype={name: pandas[name[0]] for name in frame if name[0] != "d"},
            parse_dates=dates_of, date_format="%Y-%m-%d", true_values=["yes"],
            false_values=["no"]),
        "polars": lambda: pl.read_csv(
            path, schema={name: polars[name[0]] for name in frame}).with_columns(
                pl.col("^f.*$") == "yes"),
        "pyarrow": lambda: arrow_csv(path, {name: arrow[name[0]] for name in frame},
                                     true_values=["yes"], false_values=["no"])})


CASES = (categories, flags, own_flags, dates, partial(dates, form="%d.%m.%Y"), log_scale,
         missing_values, thousands, numbers, parquet_texts, mixed)
