"""Law: synthetic rows are a draw of their released table; what no draw gives is found."""

from __future__ import annotations

import csv
import io
import random
import warnings
from functools import cache

import numpy as np
import pytest

import privsieve as ps
from privsieve.check import synthetic
from privsieve.check.table import Unreadable
from privsieve.cli.synthesize import rows_of
from privsieve.fit import UnsignedWarning
from privsieve.methods.histogram import released

pytestmark = pytest.mark.filterwarnings("ignore::privsieve.fit.UnsignedWarning")


def reasons(release, data):
    """What the checker says of rows."""
    return list(synthetic.drawn_reasons(release.body, data))


@cache
def tables():
    """Releases of tables of counts with axes of every kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsignedWarning)
        return list(counted())


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
    for names, more in ((["age", "ward"], {}), (["dose", "smoker"], {"bins": 5}),
                        (["seen", "ward"], {"target": False}),
                        (["ward", "smoker"], {"delta": "1e-6"})):
        for neighbours in ("replace-one", "add-remove"):
            domain = ps.Domain(columns, target=ps.Label("ill", [0, 1]), neighbours=neighbours,
                               rows=None if neighbours == "replace-one" else 2000)
            yield ps.NoisyHistogram(names, epsilon=1, domain=domain, **more).fit(X, y).release_


TABLES = range(8)


@pytest.mark.parametrize("at", TABLES)
def test_every_draw_is_confirmed(at):
    """Rows as privsieve writes them hold, whatever the table and however many they are."""
    release = tables()[at]
    for rows in (0, 1, 7, 300, 5000):
        assert [] == reasons(release, rows_of(release, rows)), rows


@pytest.mark.parametrize("at", TABLES)
def test_rows_that_no_draw_gives_are_found(at):
    """Rows of a table that is much unlike the released one are found."""
    release = tables()[at]
    head, *body = list(csv.reader(io.StringIO(rows_of(release, 400).decode())))
    first = body[0]
    forged = "\n".join(",".join(row) for row in [head, *([first] * 400)]) + "\n"

    assert 1 == len(reasons(release, forged.encode()))


def test_a_cell_that_is_repeated_is_found():
    """One row in the place of every tenth is found: its cell has more rows than any draw gives.

    Which row, does not matter: no cell holds half of them, so that 20 rows are moved or more.
    """
    missed = 0
    for release in tables():
        head, *body = list(csv.reader(io.StringIO(rows_of(release, 400).decode())))
        again = random.choice(body)
        body[::10] = [again] * 40
        text = "\n".join(",".join(row) for row in [head, *body]) + "\n"
        missed += not reasons(release, text.encode())

    assert 0 == missed


def test_values_outside_of_cells_are_found():
    """A value that lies in no cell, another header, a longer row: each is a reason."""
    release = tables()[0]
    data = rows_of(release, 50).decode()
    head, first, *rest = data.splitlines()
    age, ward, ill = first.split(",")
    for cells in ((age, "D", ill), ("101", ward, ill), ("-1", ward, ill), ("nan", ward, ill),
                  ("1e999", ward, ill), ("x", ward, ill), (age, "", ill), (age, ward, "2"),
                  (age, ward, ""), ("9" * 400, ward, ill)):
        text = "\n".join([head, ",".join(cells), *rest, ""])

        assert 1 == len(reasons(release, text.encode())), cells
    for text in (data.replace("age", "Age", 1), f"{data}1,2\n", f"{data}1,2,3,4\n", "", "\xff",
                 f'{data}"1,A,0\n'):
        with pytest.raises(Unreadable):
            reasons(release, text.encode("latin-1"))


def test_the_fitted_table_is_recounted():
    """The checker's fit agrees with the maker's, and its test of draws with trying all shifts."""
    rng = np.random.default_rng(1)
    for _ in range(1000):
        size = int(rng.integers(1, 12))
        noisy, total = rng.integers(-5, 12, size), int(rng.integers(0, 60))
        counts = released.nearest(noisy, total)
        assert counts.tolist() == synthetic.nearest(noisy.tolist(), total)
        assert released.scaled(np.maximum(noisy, 0), total).tolist() == synthetic.scaled(
            noisy.tolist(), total)
        if not (total := int(counts.sum())):
            continue
        n = int(rng.integers(0, 40))
        found = released.shared(counts, n, rng)
        if n and rng.random() < 0.7:
            found[np.flatnonzero(found)[0]] -= 1
            found[rng.integers(size)] += 1
        ends = np.cumsum(counts)
        draws = (np.bincount([int(np.searchsorted(ends, (i * total + shift) // n, "right"))
                              for i in range(n)], minlength=size) for shift in range(total))
        possible = any((draw == found).all() for draw in draws) if n else True

        assert possible == (not found[counts == 0].any()
                            and synthetic.one_draw(counts.tolist(), found.tolist()))


@pytest.mark.parametrize("column", [
    ps.Number("a", 1e15, 1e15 + 1e-3 * 2**10), ps.Date("a", "2020-01-01", "2020-01-05"),
    ps.Date("a", "1950-01-01", "2020-01-05", format="%d/%m/%y"),
    ps.Date("a", "1950-01-01T01:00", "2020-01-05", format="%d/%m/%Y"),
])
def test_what_cannot_be_told_apart_is_said(column, tmp_path):
    """Bins that are narrower than values are written are named as not checked, and not as wrong."""
    domain = ps.Domain([column, ps.Flag("b")], target=ps.Label("y", [0, 1]))
    value = "2020-01-02" if column.kind == "date" else 1e15
    made = ps.NoisyHistogram(["a", "b"], epsilon=1, domain=domain, bins=64).fit(
        [[value, True]] * 20, [0, 1] * 10).release_
    made.save(tmp_path / "out")
    (tmp_path / "out" / "synthetic.csv").write_bytes(rows_of(made, 30))
    found = ps.verify(tmp_path / "out")

    assert found.valid
    assert "too narrow" in found.unchecked["synthetic.csv"]
