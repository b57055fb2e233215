"""Law: of(A ++ B) = of(A) + of(B), for any cut into parts and any order of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tables
from privsieve.rows.batch import Batch
from privsieve.summaries import rules
from test_rules import score, weighing


def cut(whole, rng, pieces):
    """The rows of a batch in some consecutive pieces, empty ones too."""
    ends = np.sort(rng.integers(0, len(whole) + 1, pieces - 1))
    return [whole.take(np.arange(a, b))
            for a, b in zip([0, *ends], [*ends, len(whole)], strict=True)]


@pytest.mark.parametrize("kinds", ["nnnnn", "nmfcw", "mmm", "f" * 8, "n"])
@pytest.mark.parametrize("person", [None, "id"])
def test_any_cut_and_any_order_give_the_same_scores(kinds, person, monkeypatch):
    """One part, many parts, parts in another order: identical integers, on data with ties."""
    rng = np.random.default_rng(5)
    for n in (2, 3, 64, 257, 400):
        classes = int(rng.integers(2, 5))
        options = {"person": "id", "persons": 50, "rows_per_person": 3} if person else {}
        domain = tables.domain(kinds, classes, **options)
        unit = rng.integers(0, n // 2 + 1, n) if person else None
        whole = tables.batch(tables.random_codes(rng, kinds, n), rng.integers(0, classes, n), unit)
        by = weighing(rng.integers(-9, 10, (2, classes)), len(kinds), scale=6 if person else 1)
        monkeypatch.setattr(rules, "PART_CELLS", 2**20)
        expected = score([whole], domain, by, key=77).tolist()

        for pieces in (2, 3, 9):
            parts = cut(whole, rng, pieces)
            # Each piece stays a part of its own.
            monkeypatch.setattr(rules, "PART_CELLS", 1)
            assert expected == score(parts, domain, by, key=77).tolist()
            if not person:
                assert expected == score(parts[::-1], domain, by, key=77).tolist()


def test_batches_join():
    """A batch is its pieces, one after another."""
    rng = np.random.default_rng(6)
    whole = tables.batch(tables.random_codes(rng, "nmf", 50), rng.integers(0, 2, 50))

    joined = Batch.concat(cut(whole, rng, 4))

    assert whole.codes.tolist() == joined.codes.tolist()
    assert whole.row.tolist() == joined.row.tolist()

WHOLE_RUN = """
import sys
sys.path[:0] = sys.argv[1:]
import numpy as np
import tables
from test_rules import score, weighing
from privsieve import kernels
rng = np.random.default_rng(8)
n = 3001
ordinal = rng.integers(0, 5, (n, 3)) * 13107
two_decimals = np.floor(rng.random((n, 3)).round(2) * 65535)
other = tables.random_codes(rng, "mfcw", n)
codes = np.hstack([ordinal, two_decimals, other])
label = rng.integers(0, 3, n)
domain = tables.domain("nnnnnnmfcw", 3)
print(kernels.implementation(), *[
    score([tables.batch(codes, label)], domain, weighing([[-7, 2, 5], [3, -3, 1]], 10, grid=grid),
          key=99).tolist() for grid in (4, 8, 16)])
"""


def whole_run(kernels_wanted):
    """Scores of one table in a fresh process with these kernels."""
    here = Path(__file__).parent
    process = subprocess.run(
        [sys.executable, "-c", WHOLE_RUN, str(here), str(here.parent / "src")],
        env={**os.environ, "PRIVSIEVE_KERNELS": kernels_wanted}, capture_output=True, text=True,
        check=True)
    return process.stdout.split(" ", 1)


def test_native_and_numpy_give_the_same_bits():
    """Ordinal columns, two decimals, missing levels, categories: both kernels, equal integers."""
    native, numpy = whole_run(""), whole_run("numpy")

    if native[0] != "native":
        assert "CI" not in os.environ, "CI must build the native kernels"
        pytest.skip("the native kernels are not built")
    assert numpy[0] == "numpy"
    assert native[1] == numpy[1]
