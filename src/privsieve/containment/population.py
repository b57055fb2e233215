"""Population: what the rows of a sample that are alone in it are worth to a stranger.

A row without an equal in the table may have equals among the people who are not in it.  How many
is estimated from the sizes of the classes of equal rows, as statistics offices do it.  Both
estimators assume that the table is a simple random sample of the population, drawn without
replacement, and that a stranger knows all published cells, without an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, lgamma

import numpy as np
import numpy.typing as npt

from privsieve.containment.measures import cells, in_population
from privsieve.errors import ParameterError, SchemaError
from privsieve.kernels.patterns import pattern_table
from privsieve.rows.matrix import Items

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Uniques:
    """Rows that are alone in a table, and what that means among all people.

    rows, people : rows of the table, and people of the population; their ratio is the sampling
        fraction.
    alone : rows without an equal in the table (sample uniques).
    pairs : classes of just two equal rows; where there are few, estimates are rough.
    unique : how many of those alone have no equal in the population either; `share` of `alone`.
    right : the chance that a match with a row that is alone is the right person.

    `share` and `right` are None where no row is alone: there is nothing to find.
    """

    rows: int
    people: int
    alone: int
    pairs: int
    unique: float
    share: float | None
    right: float | None

    @property
    def fraction(self) -> float:
        """The sampling fraction."""
        return self.rows / self.people


def estimated(items: Items, people: int) -> Uniques:
    """The estimates of Zayatz, and of Skinner and Elliot, for a sample of so many people.

    >>> from privsieve.rows.matrix import Items
    >>> found = estimated(Items.dense([[1, 0], [1, 1], [1, 1], [0, 1]]), 8)
    >>> found.alone, found.pairs, round(found.share, 3), found.right
    (2, 1, 0.636, 0.5)
    """
    if people < items.rows:
        raise ParameterError(f"the population has {people} people and the table {items.rows} rows; "
                             f"the table is a part of it: give at least {items.rows}")
    sizes = _sizes(items)
    alone, pairs = int((sizes == 1).sum()), int((sizes == 2).sum())
    share = zayatz(sizes, people)
    return Uniques(items.rows, people, alone, pairs, alone * (share or 0.0), share,
                   data_intrusion(alone, pairs, items.rows / people))


def counted(items: Items, population: Items) -> Uniques:
    """The same, counted on a table of the whole population, of which the first one is a part.

    >>> from privsieve.rows.matrix import Items
    >>> whole = Items.dense([[1, 0], [1, 1], [0, 1], [0, 1]])
    >>> found = counted(Items.dense([[1, 0], [0, 1]]), whole)
    >>> found.alone, found.unique, found.share, round(found.right, 3)
    (2, 1.0, 0.5, 0.667)
    """
    _, _, pattern = pattern_table(cells(items), np.zeros(items.rows, np.int32), 1)
    sizes = _sizes(items)
    outside, _ = in_population(items, population)
    mine = outside[sizes[pattern] == 1]
    alone, unique = len(mine), int((mine == 1).sum())
    return Uniques(items.rows, population.rows, alone, int((sizes == 2).sum()), float(unique),
                   unique / alone if alone else None,
                   alone / int(mine.sum()) if alone else None)


def zayatz(sizes: Ints, people: int) -> float | None:
    """The share of sample uniques that are population uniques, by Zayatz (1991); None without any.

    `sizes` has the size of each class of equal rows.  By Bayes' rule from the chance, under
    sampling without replacement, that a class of j people has one row in the sample; how common
    classes of j people are is taken from the sample.  In a small sample classes look smaller than
    they are, so that the estimate is then too large: on the side of caution.

    >>> zayatz(np.array([1, 2]), 3), zayatz(np.array([2, 2]), 8)
    (1.0, None)
    """
    rows = int(sizes.sum())
    size, classes = np.unique(sizes, return_counts=True)
    if not len(size) or size[0] != 1:
        return None
    chance = np.array([_once(int(one), rows, people) for one in size])
    return float(classes[0] * chance[0] / (classes * chance).sum())


def data_intrusion(alone: int, pairs: int, fraction: float) -> float | None:
    """The chance that a match with a unique row is right, by Skinner and Elliot (2002).

    Data intrusion simulation: a row is taken out and put back with the chance of having been
    drawn, and matched; the mean over all of that needs the classes of one and of two rows only.
    None where no row is alone.

    >>> data_intrusion(10, 5, 0.5), data_intrusion(10, 5, 1.0), data_intrusion(0, 5, 0.5)
    (0.5, 1.0, None)
    """
    if not alone:
        return None
    return fraction * alone / (fraction * alone + 2 * (1 - fraction) * pairs)


def _sizes(items: Items) -> Ints:
    """How many rows each class of equal rows has."""
    if not items.rows:
        raise SchemaError("the table has no row; a share of rows needs at least one")
    counts = pattern_table(cells(items), np.zeros(items.rows, np.int32), 1).counts
    found: Ints = counts.sum(axis=1)
    return found


def _once(size: int, rows: int, people: int) -> float:
    """The chance that of so many people just one is among the rows: hypergeometric."""
    if people - size < rows - 1:
        return 0.0
    return size * exp(_log_choose(people - size, rows - 1) - _log_choose(people, rows))


def _log_choose(whole: int, part: int) -> float:
    return lgamma(whole + 1) - lgamma(part + 1) - lgamma(whole - part + 1)
