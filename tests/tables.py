"""Tables that the tests make: batches from codes, and generated data sets with known signals."""

from __future__ import annotations

import numpy as np

from privsieve.public.columns import Category, Flag, Label, Number
from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch


def batch(codes, label, unit=None):
    """A batch from rows of codes and labels; the unit is the row unless given."""
    codes = np.asfortranarray(np.array(codes, dtype=np.uint16))
    row = np.arange(len(codes), dtype=np.uint64)
    return Batch(codes, np.array(label, dtype=np.int32),
                 row if unit is None else np.array(unit, dtype=np.uint64), row)


def domain(kinds, classes=2, **options):
    """A domain, a letter a column: n(umber), m(issing level), f(lag), c(ategory), w(ide).

    Numbers without bounds: u, and v with a missing level.
    """
    columns = {
        "n": lambda name: Number(name, 0, 1),
        "m": lambda name: Number(name, 0, 1, missing="level"),
        "u": Number,
        "v": lambda name: Number(name, missing="level"),
        "f": Flag,
        "c": lambda name: Category(name, ["a", "b", "c"]),
        "w": lambda name: Category(name, [str(v) for v in range(30)]),
    }
    return Domain([columns[kind](f"x{j}") for j, kind in enumerate(kinds)],
                  target=Label("y", list(range(classes))), **options)


def random_codes(rng, kinds, n):
    """Codes with ties: few distinct values, ordinals, constants, or all of the grid."""
    columns = []
    for kind in kinds:
        if kind == "f":
            column = rng.integers(0, 2, n)
        elif kind == "c":
            column = rng.integers(0, 4, n)
        elif kind == "w":
            column = rng.integers(0, 31, n)
        else:
            pool = rng.integers(0, 65536, rng.choice([1, 2, 3, 8, 1000]))
            if kind in "mv":
                pool[0] = 65535
            column = rng.choice(pool, n)
        columns.append(column)
    return np.array(columns, dtype=np.uint16).T.reshape(n, len(kinds))


def xor(rng, n=4200, d=20):
    """Two of d columns decide the class by exclusive or, with 10 % of labels flipped."""
    X = rng.random((n, d))
    y = (X[:, 3] > 0.5) ^ (X[:, 11] > 0.5)
    return X, (y ^ (rng.random(n) < 0.1)).astype(int), {3, 11}


def gauss(rng, n=14_000, d=50, planted=5, positives=0.5, weakest=0.3):
    """Planted columns are normal, shifted between the classes by 1.0 down to `weakest` deviations.

    Signs alternate; the bounds are 4 deviations either way.
    """
    y = (rng.random(n) < positives).astype(int)
    X = rng.standard_normal((n, d))
    chosen = rng.choice(d, planted, replace=False)
    shift = np.linspace(1.0, weakest, planted) * (-1) ** np.arange(planted)
    X[:, chosen] += shift * (y[:, None] - 0.5)
    return np.clip(X / 8 + 0.5, 0, 1), y, set(chosen.tolist())


def recall(selected, planted):
    """The share of planted columns that were selected (names x0, x1, …)."""
    return len({int(name[1:]) for name in selected} & planted) / len(planted)
