"""BlockFWELL's summary, from a float32 array to votes, against f_classif on the same array."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from sklearn.feature_selection import f_classif

from measure import Goal, call
from privsieve import kernels
from privsieve.methods import plan
from privsieve.public.domain import Domain
from privsieve.rows import open_source
from privsieve.rows.batch import batches

ROWS, COLUMNS = 1_000_000, 100


def table(rows=ROWS):
    """Uniform columns, every tenth shifted by the class."""
    rng = np.random.default_rng(0)
    y = (rng.random(rows) < 0.5).astype(np.int64)
    X = rng.random((rows, COLUMNS), dtype=np.float32)
    X[:, ::10] = 0.9 * X[:, ::10] + np.float32(0.1) * y[:, None]
    return X, y


def summary(X, y):
    """What `fit` does between the charge and the noise."""
    domain = Domain.box(0, 1, columns=COLUMNS)
    planned = plan("block-fwell", domain, k=10, epsilon=1, rows=len(X))
    return planned.summarise(batches(open_source(X, y), domain, rows=len(X), entropy=bytes), 12345)


def above(rows):
    """Memory above the array at the peak of a summary, as a share of the array (Linux)."""
    X, y = table(rows)
    summary(X[:1000], y[:1000])  # what is imported and kept is not the summary's
    Path("/proc/self/clear_refs").write_text("5")  # the peak is what there is now
    before = _kilobytes("VmRSS")
    summary(X, y)
    return (_kilobytes("VmHWM") - before) * 1024 / X.nbytes


def _kilobytes(name):
    return int(re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def goals(*, short):
    """1,000,000 x 100 float32, reading included; all threads count."""
    lines = []
    if sys.platform == "linux":
        # A process of its own: what this one has held and given back would be in the figure.
        process = subprocess.run([sys.executable, __file__], check=True, text=True,
                                 capture_output=True)
        lines.append(Goal("peak memory above the array / the array", float(process.stdout), 0.6,
                          "codes take 0.5"))
    X, y = table()
    runs = 3 if short else 7
    # In turns, because the machine is shared.
    ratios = []
    for _ in range(runs):
        f, ours = call(lambda: f_classif(X, y), 1), call(lambda: summary(X, y), 1)
        ratios.append((ours / f, f, ours))
    ratio, f, ours = sorted(ratios)[runs // 2]
    size = f"{ROWS} x {COLUMNS}, {kernels.implementation()}"
    lines.append(Goal("blocks of 6, twice / f_classif", ratio, 3,
                      f"{size}: f_classif {f:.2f} s, ours {ours:.2f} s"))
    return lines


if __name__ == "__main__":
    print(above(ROWS))
