"""Law: around.  Sums over the patterns that contain one, and that it contains, against loops."""

from __future__ import annotations

import numpy as np
import pytest

import naive_containment as naive
from kernel_calls import serve
from privsieve.kernels import patterns

#: Rows, columns, how full the columns are at most: thin and full tables, wide ones, many blocks.
SHAPES = [(0, 3, 0.5), (1, 1, 1.0), (30, 6, 0.5), (60, 200, 0.05), (400, 12, 0.9), (300, 70, 0.4),
          (900, 40, 0.15), (200, 330, 0.02)]


@pytest.fixture(params=["native", "numpy"], autouse=True)
def implementation(request, monkeypatch):
    """Every law holds for each implementation."""
    serve(request.param, monkeypatch)


def masks_of(rows, width):
    """Rows of yes and no as masks; empty and equal rows stay as they are."""
    bits = np.zeros((len(rows), -(-width // 64) * 64), np.uint8)
    bits[:, :width] = rows
    return np.packbits(bits, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def table(seed, shape):
    """Masks and counts, and others that are asked: parts of them, more than they hold, nothing."""
    rng = np.random.default_rng(seed)
    n, d, full = shape
    rates = full * rng.random(d) ** rng.choice([0.3, 1, 4])
    rows = rng.random((n, d)) < rates
    if n > 4:
        rows[rng.integers(0, n, n // 5)] = rows[rng.integers(0, n, n // 5)]
        rows[rng.integers(0, n)] = False
    counts = rng.integers(0, 5, (n, int(rng.integers(1, 4)))) * (rng.random((n, 1)) < 0.7)
    rows_wanted = rows[rng.integers(0, n, n // 2 + 1)] if n else np.zeros((2, d), np.bool_)
    rows_wanted = rows_wanted & (rng.random(rows_wanted.shape) < rng.choice([0.2, 0.7, 1]))
    rows_wanted[: len(rows_wanted) // 8] |= rng.random((len(rows_wanted) // 8, d)) < 0.05
    return (masks_of(rows, d), counts.astype(np.int64), masks_of(rows_wanted, d),
            rng.integers(0, 4, len(rows_wanted)).astype(np.int64))


@pytest.mark.parametrize("shape", SHAPES)
def test_sums_are_those_of_the_loops(shape):
    """Sums over what contains a mask, and over what it contains, are those of loops over pairs."""
    for seed in range(8 if shape[0] < 100 else 2):
        masks, counts, rows_wanted, rows = table(seed, shape)
        over, held = patterns.around(masks, counts, rows_wanted, rows)

        assert naive.around(masks, counts, rows_wanted, rows) == (over.tolist(),
                                                                  held.tolist()), seed


@pytest.mark.parametrize("shape", SHAPES)
def test_a_table_around_itself(shape):
    """A table's own sums are those of the loops, whichever kernel gives them."""
    for seed in range(5 if shape[0] < 100 else 1):
        masks, counts, _, _ = table(seed, shape)
        size = counts.sum(1)
        over, held = patterns.around(masks, counts, masks, size)
        wanted = naive.around(masks, counts, masks, size)

        assert wanted == (over.tolist(), held.tolist())
        assert wanted[0] == patterns.superset_counts(masks, counts).tolist()


@pytest.mark.parametrize(("rows", "width", "full"), [(9000, 14, 0.5), (5000, 9, 0.95),
                                                     (12000, 90, 0.03)])
def test_long_lists(rows, width, full):
    """Lists of more than one block, whose last one is not full, are counted to their end."""
    rng = np.random.default_rng(rows)
    masks = masks_of(rng.random((rows, width)) < full * rng.random(width), width)
    counts = rng.integers(0, 9, (rows, 2)).astype(np.int64)
    some = np.sort(rng.choice(rows, 40, replace=False))
    over, held = patterns.around(masks, counts, masks, counts.sum(1))
    up, _ = naive.around(masks, counts, masks[some], rows=np.zeros(40, np.int64))
    _, down = naive.around(masks[some], counts[some], masks, counts.sum(1))

    assert up == over[some].tolist()
    assert down == held[some].tolist()


@pytest.mark.parametrize("fault", ["words", "rows", "negative", "large"])
def test_contract(fault):
    """What does not fit is refused before a kernel sees it."""
    masks, counts = np.zeros((2, 1), np.uint64), np.ones((2, 1), np.int64)
    rows_wanted = np.zeros((3, 2 if fault == "words" else 1), np.uint64)
    rows = np.full(2 if fault == "rows" else 3, {"negative": -1, "large": 2**60}.get(fault, 1))

    with pytest.raises(ValueError, match=r"must (not )?(be|sum)|agree"):
        patterns.around(masks, counts, rows_wanted, rows)
