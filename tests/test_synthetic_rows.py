"""Law: synthetic rows follow from their release; what does not is found."""

from __future__ import annotations

import random
import warnings
from functools import cache

import numpy as np
import pytest

import privsieve as ps
from privsieve.check.replan import is_made_again
from privsieve.fit import UnsignedWarning
from privsieve.methods.histogram.released import Draws, shared, synthetic_csv


@cache
def tables():
    """Releases of tables of counts with axes of every kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsignedWarning)
        return [table.body for table in counted()]


def counted():
    """One release after the other."""
    rng = np.random.default_rng(5)
    rows = [(rng.random() * 100, rng.random() * 999 + 1, "ABCx"[rng.integers(4)],
             bool(rng.random() < 0.3), f"20{rng.integers(20, 24)}-0{rng.integers(1, 9)}-11",
             int(rng.random() < 0.4)) for _ in range(2000)]  # no cell of a threshold is left alone
    columns = [ps.Number("age", 0, 100, missing="level"), ps.Number("dose", 1, 1000, scale="log"),
               ps.Category("ward", ["A", "B", "C"]), ps.Flag("smoker"),
               ps.Date("seen", "2020-01-01", "2024-01-01")]
    X, y = [row[:-1] for row in rows], [row[-1] for row in rows]
    for names, options in ((["age", "ward"], {}), (["dose", "smoker"], {"bins": 5}),
                           (["seen", "ward"], {"target": False}),
                           (["ward", "smoker"], {"delta": "1e-6"})):
        for neighbours in ("replace-one", "add-remove"):
            domain = ps.Domain(columns, target=ps.Label("ill", [0, 1]), neighbours=neighbours,
                               rows=None if neighbours == "replace-one" else 2000)
            yield ps.NoisyHistogram(names, epsilon=1, domain=domain, **options).fit(X, y).release_


TABLES = range(8)


@pytest.mark.parametrize("at", TABLES)
def test_rows_are_the_same_each_time(at):
    """Rows as privsieve writes them hold, whatever the table and however many they are."""
    body = tables()[at]
    for rows in (0, 1, 7, 300, 70_000):
        assert is_made_again(synthetic_csv(body, rows), body), rows


@pytest.mark.parametrize("at", TABLES)
def test_what_is_changed_is_found(at):
    """Any other byte, order, header, number of rows or release: each is found."""
    body, draw = tables()[at], random.Random(at)
    data = synthetic_csv(body, 400)
    head, first, second, *rest = lines = data.splitlines(keepends=True)
    place = draw.randrange(len(data))
    changed = [data[:place] + bytes([data[place] ^ 1]) + data[place + 1:], b"".join(lines[:-1]),
               b"".join([head, first, *lines[1:]]), data.replace(b"\n", b"\r\n"), data + b"\n", b"",
               b"\xff", data + b'"', b"\n" * 10_000, *([b"".join([head, second, first, *rest])]
                                                    if first != second else [])]

    for other in changed:
        assert not is_made_again(other, body)
    assert not is_made_again(data, tables()[(at + 1) % 8])
    assert not is_made_again(data, {})


def test_draws_are_even_and_stay_inside():
    """Whole numbers from low on and below high, each as often; an order has each value once."""
    draws = Draws(3)
    counts = np.bincount(draws.integers(2, 7, 50_000))
    low, high = np.array([0, -5, 2**40]), np.array([1, -4, 2**40 + 3])
    some = np.array([draws.integers(low, high) for _ in range(200)])

    assert [0, 0] == counts[:2].tolist()
    assert 9_600 < counts[2:].min()
    assert counts[2:].max() < 10_400
    assert ((some >= low) & (some < high)).all()
    assert {2**40, 2**40 + 1, 2**40 + 2} == set(some[:, 2].tolist())
    assert [*range(99)] == sorted(draws.permutation(np.arange(99)).tolist())


def test_each_cell_comes_as_often_as_its_share():
    """Rounded down or up, whatever the draws are; all together as many rows as were asked for."""
    rng = np.random.default_rng(1)
    for seed in range(300):
        counts = rng.integers(0, 12, int(rng.integers(1, 9))) + (seed % 2)
        n, total = int(rng.integers(0, 40)), int(counts.sum())
        if total:
            shares = shared(counts, n, Draws(seed))
            assert n == shares.sum()
            assert (np.abs(shares * total - n * counts) < total).all()
