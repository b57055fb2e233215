"""Planted faults: mechanisms that give away more than they claim, each as innocent code makes it.

An auditor that misses one of them is useless; `tests/test_faults.py` runs all of them, and
`tests/reliability.py` counts them for `docs/reliability.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from exact import gamma_norm
from privsieve.noise.discrete import noisy
from privsieve.noise.race import Race, geometric_race, top_k
from privsieve.noise.streams import discrete_laplace, replay

LUCK, NOISE = np.random.default_rng(5), replay(1)
#: Its own, so that what is near its claim is the same in any order of tests.
TIES = replay(7)
ONE, HALF = Fraction(1), Fraction(1, 2)


@dataclass(frozen=True)
class Fault:
    """A mechanism that claims epsilon = 1, and two neighbouring tables that show its fault.

    runs : how many on each table are enough to catch it.
    """

    name: str
    run: Any
    first: Any
    second: Any
    runs: int = 3000
    delta: float = 0.0


def half_count(table):
    """Noise for a count, of half the size."""
    return table + discrete_laplace(HALF, NOISE)


def half_race(table):
    """A race with half of its noise."""
    return {("age", "ward")[j] for j in geometric_race(table, 1, ONE, NOISE)}


def half_vector(table):
    """A vector with half of its noise."""
    return np.array(gamma_norm([table * 1024, 0, 0], 2 * ONE, -10, NOISE)) / 1024


def moved_two(table):
    """A table of counts in which one row moves two cells, and is priced as if it moved one."""
    return noisy(np.array(table), ONE, NOISE).tolist()


def fails(table):
    """An exception where a column is constant, in one run of twenty."""
    if table and LUCK.random() < 0.05:
        raise ValueError("a column is constant")
    return (1, 2)


def speaks(table):
    """An exception that quotes a cell."""
    raise ValueError(f"could not convert {table}")


def low_bits(table):
    """Floating-point noise under a floating-point number."""
    return float(table) + LUCK.laplace()


def low_bits_of_vectors(table):
    """The same for a vector with noise of a random direction and length."""
    direction = LUCK.normal(size=30)
    return direction / np.linalg.norm(direction) * LUCK.gamma(30) + np.eye(30)[0] * table


def off_the_grid(table):
    """Noise on a grid, added to what is on none."""
    return table + discrete_laplace(ONE, NOISE)


def decimals(table):
    """Rounded to as many decimals as the table has."""
    return round(12.5 + LUCK.laplace(scale=100), table)


def tie_order(table):
    """A list whose ties follow the order of the scores."""
    by_score = sorted(range(len(table)), key=lambda j: -table[j])
    race = Race(len(table), 1, 1, Fraction(3))
    return tuple(by_score[j] for j in top_k([table[j] for j in by_score], race, TIES))


def same_noise(table):
    """Two counts with the same noise: their difference has none."""
    drawn = discrete_laplace(ONE, NOISE)
    return {"men": table[0] + drawn, "women": table[1] + drawn}


def named_cells(table):
    """Cells are named where somebody is in them."""
    return {name: count + discrete_laplace(ONE, NOISE) for name, count in table.items() if count}


def zeros_stay(table):
    """A count of zero gets no noise."""
    return table and table + discrete_laplace(ONE, NOISE)


def steps_taken(table):
    """How long a solver took, beside a right answer."""
    return {"weights": [discrete_laplace(ONE, NOISE)], "steps": 17 + 4 * table}


def many_answers(table):
    """Three answers, each at the price of one."""
    return tuple(table + discrete_laplace(ONE, NOISE) for _ in range(3))


def split_price(table):
    """A choice, and a count of what was chosen, each at the whole price: either alone keeps it.

    The count moves up for one choice and down for the other.
    """
    chosen = table if LUCK.random() < np.e / (1 + np.e) else 1 - table
    return {"chosen": "ab"[chosen], "count": round((chosen == table) + LUCK.laplace(), 2)}


FAULTS = (
    Fault("half the noise of a count", half_count, 0, 1),
    Fault("half the noise of a top-k selection", half_race, (2, 0), (1, 1)),
    Fault("half the noise of a vector", half_vector, 0, 1),
    Fault("a sensitivity that counts one cell of two", moved_two, (5, 4), (4, 5)),
    Fault("an exception on one table", fails, 0, 1),
    Fault("an exception that quotes a cell", speaks, "ann", "bob", 200),
    Fault("low bits of a number", low_bits, 0, 1),
    Fault("low bits of a vector", low_bits_of_vectors, 0, 1, 6000),
    Fault("noise on a grid under an off-grid value", off_the_grid, 0.0, 0.3, 300),
    Fault("decimals that the table decides", decimals, 1, 2, 300),
    Fault("ties in the order of the scores", tie_order, (1, 2), (2, 1), 30_000),
    Fault("two answers with the same noise", same_noise, (5, 5), (6, 5), 300),
    Fault("only cells with somebody are named", named_cells, {"a": 3, "b": 1}, {"a": 4, "b": 0},
          300),
    Fault("zero gets no noise", zeros_stay, 0, 1, 300),
    Fault("the steps of a solver leave", steps_taken, 0, 1, 200),
    Fault("three answers at the price of one", many_answers, 0, 1),
    Fault("a choice and its count, each at the whole price", split_price, 0, 1),
)
