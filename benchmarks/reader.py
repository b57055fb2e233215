"""CSV to codes against pandas' `read_csv` (its default C engine), in the same process.

pandas gives float64, not rounded correctly; we count the lines, read them, round correctly and give
codes on the domain's grid.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import privsieve as ps
from measure import Goal, call
from privsieve import kernels
from privsieve.rows import open_source
from privsieve.rows.batch import batches

COLUMNS = 50


def goals(*, short):
    """Goal of the plan: not slower than pandas on 1,000,000 x 50 numbers."""
    if kernels.implementation() != "native":
        return []  # the twins are held to no speed
    rows, runs = (200_000, 1) if short else (1_000_000, 3)
    with tempfile.TemporaryDirectory() as folder:
        return [*(goal for decimals in (None, 3)
                  for goal in compared(Path(folder) / "table.csv", rows, decimals, runs)),
                *wide(Path(folder) / "wide.csv", runs)]


def wide(path, runs, rows=200, columns=88_000):
    """A table with more columns than most tools open."""
    names = [f"x{j}" for j in range(columns)]
    rng = np.random.default_rng(0)
    with path.open("w", encoding="ascii") as file:
        file.write(",".join(names) + "\n")
        file.writelines(",".join(f"{x:.4f}" for x in line) + "\n" for line in
                        rng.random((rows, columns)))
    domain = ps.Domain([ps.Number(name, 0, 1) for name in names])
    own = call(lambda: ours(path, domain), runs)
    yield Goal("CSV to codes, 200 x 88000 / 2 s", own / 2, 1, f"ours {own:.2f} s, CPU")


def compared(path, rows, decimals, runs):
    """One file, read by both; each number has the code of the value that pandas found."""
    write(path, rows, decimals)
    domain = ps.Domain([ps.Number(f"x{j}", 0, 1) for j in range(COLUMNS)])
    same(path, domain)
    own = call(lambda: ours(path, domain), runs)
    peer = call(lambda: pd.read_csv(path), runs)
    digits = "all digits" if decimals is None else f"{decimals} decimals"
    return [Goal(f"CSV to codes, {digits} / pandas.read_csv", own / peer, 1,
                 f"{rows} x {COLUMNS}, {path.stat().st_size / 1e6:.0f} MB; ours {own:.2f} s, "
                 f"pandas {peer:.2f} s, CPU")]


def write(path, rows, decimals):
    """Uniform numbers, with all their digits or a few."""
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(COLUMNS)]
    with path.open("w", encoding="ascii") as file:
        for start in range(0, rows, 50_000):
            table = rng.random((min(50_000, rows - start), COLUMNS))
            frame = pd.DataFrame(table if decimals is None else table.round(decimals),
                                 columns=names)
            frame.to_csv(file, index=False, header=not start)


def ours(path, domain):
    """All that `fit` does with a file before a summary sees it."""
    source = open_source(path)
    rows = source.shape(count_rows=True).rows
    return sum(len(batch) for batch in batches(source, domain, rows=rows, entropy=os.urandom))


def same(path, domain):
    """The first rows: codes of the file are codes of the frame, read with exact rounding."""
    frame = pd.read_csv(path, nrows=1000, float_precision="round_trip")
    read = [next(batches(open_source(table), domain, rows=1000, entropy=os.urandom, batch_rows=500))
            for table in (path, frame)]
    if not np.array_equal(read[0].codes, read[1].codes):
        raise RuntimeError("the codes of the file are not those of its numbers")
