"""Laplace-DP and Exponential-DP, to which the anonymity paper compares (Zhang et al. 2017, 5.2).

NOT PRIVATE, and never with a certificate: the noise is of floating-point numbers from a seed, and
the number of columns that the paper asks for was itself found by looking at the data.

Both choose N columns by a noisy HamDist and publish the counts of the 2^N cells per class with
Laplace noise, as rows made up to match.  What a run at `epsilon` costs depends on a reading:

literal
    the formulas of the text: noise Lap(D/epsilon) on each score, or draws with probability
    proportional to exp(epsilon H / 2D); noise Lap(1/epsilon) on each count.
printed
    the paragraph on the settings: half the budget for each of the two steps, the first half
    divided by N.  The counts then have Lap(2/epsilon).
true
    what keeps to `epsilon` if one row, its label too, is replaced by any other.

D is the most that one row moves a score; the paper does not state it.  With fixed labels it is
1 / min(n1, n0), which the first two readings take.  It is not enough: the label is part of the row,
and the class sizes are not known.  The third counts pairs per n^2 rows, where D = (n - 1) / n^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from papers.containment import hamdist_of_each
from privsieve.errors import ParameterError
from privsieve.rows.matrix import Items

__all__ = ["ACCOUNTINGS", "LARGEST", "Baseline", "Mechanism", "Synthetic", "sensitivity"]

Mechanism = Literal["laplace", "exponential"]
Accounting = Literal["literal", "printed", "true"]
ACCOUNTINGS: tuple[Accounting, ...] = get_args(Accounting)

#: Two to this many cells are kept in memory; beyond it the method cannot be run.
LARGEST = 20


@dataclass(frozen=True, eq=False)
class Synthetic:
    """Rows made up from noisy counts: items 0, 1, .. of `held` are those of `selected`."""

    selected: tuple[int, ...]
    held: npt.NDArray[np.bool_]
    y: npt.NDArray[np.int64]


def sensitivity(n1: int, n0: int, accounting: Accounting) -> Fraction:
    """Return the most by which one row moves the score of a column.

    >>> sensitivity(2, 4, "printed"), sensitivity(2, 4, "true")
    (Fraction(1, 2), Fraction(5, 36))
    """
    if accounting == "true":
        return Fraction(n1 + n0 - 1, (n1 + n0) ** 2)
    return Fraction(1, min(n1, n0))


@dataclass(frozen=True)
class Baseline:
    """One of the two methods, at one reading of its budget.

    columns : the paper's N.
    epsilon : the number that the paper would put beside the result.

    >>> method = Baseline("laplace", "literal", columns=11, epsilon=Fraction(1))
    >>> method.spent
    Fraction(24, 1)
    """

    mechanism: Mechanism
    accounting: Accounting
    columns: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        if not 1 <= self.columns <= LARGEST:
            raise ParameterError(f"{self.columns} columns make 2^{self.columns} cells; at most "
                                 f"2^{LARGEST} are kept: give 1 to {LARGEST} columns")
        if self.epsilon <= 0:
            raise ParameterError(f"epsilon={self.epsilon} must be above 0")

    @property
    def step(self) -> Fraction:
        """The epsilon of one column's choice: its noise is Lap(2D/step), or exp(step H / 2D)."""
        share = self.epsilon / (2 * self.columns)
        if self.mechanism == "exponential":
            return self.epsilon if self.accounting == "literal" else share
        return {"literal": 2 * self.epsilon, "printed": 2 * share, "true": share}[self.accounting]

    @property
    def scale(self) -> Fraction:
        """The scale of the noise on each count; replacing a row moves two counts by one each."""
        return {"literal": 1, "printed": 2, "true": 4}[self.accounting] / self.epsilon

    @property
    def spent(self) -> Fraction:
        """What it costs if a row is replaced (its label kept, but for the reading "true").

        N columns by one noisy ranking with Lap(2D/step) cost N steps, and so do N draws; the counts
        cost 2 / scale.  What N itself tells is in no reading.
        """
        return self.columns * self.step + 2 / self.scale

    def choose(self, items: Items, y: npt.ArrayLike, rng: np.random.Generator) -> tuple[int, ...]:
        """Return the N columns of the largest noisy HamDist, or draw N without replacement."""
        if self.columns > len(items):
            raise ParameterError(f"{self.columns} columns asked for, the table has {len(items)}")
        weight, pairs = hamdist_of_each(items, y)
        labels = np.asarray(y)
        n1, n0 = int((labels == 1).sum()), int((labels == 0).sum())
        delta = float(sensitivity(n1, n0, self.accounting))
        score = weight / ((n1 + n0) ** 2 if self.accounting == "true" else pairs)
        # N draws without replacement, each proportional to exp(a), are the N largest a + Gumbel.
        noisy = (score + rng.laplace(scale=2 * delta / float(self.step), size=len(score))
                 if self.mechanism == "laplace"
                 else float(self.step) * score / (2 * delta) + rng.gumbel(size=len(score)))
        return tuple(np.sort(np.argsort(-noisy)[:self.columns]).tolist())

    def publish(self, items: Items, y: npt.ArrayLike, selected: tuple[int, ...],
                rng: np.random.Generator) -> Synthetic:
        """Noisy counts of every cell and class, cut at zero, rounded, and turned into rows."""
        bits = 1 << np.arange(len(selected))
        cell = np.zeros(items.rows, np.int64)
        for bit, j in zip(bits, selected, strict=True):
            cell[items.indices[items.indptr[j]:items.indptr[j + 1]]] += bit
        size = 2 << len(selected)
        count = np.bincount(2 * cell + np.asarray(y), minlength=size)
        noisy = np.rint(count + rng.laplace(scale=float(self.scale), size=size))
        rows = np.repeat(np.arange(size), np.maximum(noisy, 0).astype(np.int64))
        return Synthetic(selected, (rows[:, None] // 2 & bits) > 0, rows % 2)

    def run(self, items: Items, y: npt.ArrayLike,
            random_state: int | np.random.Generator | None = None) -> Synthetic:
        """Choose, then publish.

        >>> method = Baseline("exponential", "printed", columns=1, epsilon=Fraction(1000))
        >>> synthetic = method.run(Items.dense([[1, 1], [1, 1], [0, 1]]), [1, 1, 0], random_state=0)
        >>> synthetic.selected, synthetic.held.tolist(), synthetic.y.tolist()
        ((0,), [[False], [True], [True]], [0, 1, 1])
        """
        rng = np.random.default_rng(random_state)
        return self.publish(items, y, self.choose(items, y, rng), rng)
