"""Votes: what a set of columns tells about a number, by the best average of their votes.

A value becomes a vote, a whole number x in -C .. C: its distance from a declared centre, clipped at
half of a declared spread.  For a set S of k columns, votes x of a row and y of its target, and
A = sum of x x', b = sum of x y over the rows,

    U(S) = max over gamma in [-1, 1]^k of  2 k gamma'b - gamma'A gamma,

the largest k^2 sum of (2 y t - t^2) that an average t = gamma'x / k of turned and weakened votes
can have.  The proofs are in `methods/votes.proof.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from privsieve.public.columns import CODES, MIDDLE, MISSING, Column, Flag, Label, Target
from privsieve.summaries import Summary

if TYPE_CHECKING:
    from privsieve.public.domain import Domain
    from privsieve.rows.batch import Batch

Ints = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]
#: Python's integers, of any size.
Exact = npt.NDArray[np.object_]

#: The largest vote: half of a spread away from the centre, and all that is farther.
C = 64
#: The spread of a column of which only bounds are declared, as a part of their width.
SPREAD = 8
#: Below this a pull of the search in doubles is noise of rounding.
TINY = 1e-10


@dataclass(frozen=True, eq=False, repr=False)
class VoteSums(Summary):
    """Weighted sums over rows.

    one : of 1.
    products : of x_i x_j, for each two columns.
    target : of x_j y, for each column.
    """

    one: int
    products: Ints
    target: Ints

    @classmethod
    def zero(cls, columns: int) -> VoteSums:
        """The sums of no rows."""
        return cls(0, np.zeros((columns, columns), np.int64), np.zeros(columns, np.int64))

    @classmethod
    def of(cls, batch: Batch, weight: Ints | None, domain: Domain) -> VoteSums:
        """The sums of some rows."""
        assert domain.target is not None
        # column by column, as the codes lie; [exact] doubles that hold whole numbers below 2^53
        x = np.empty((len(domain.columns), len(batch)))
        for j, column in enumerate(domain.columns):
            x[j] = ballot(column)[batch.codes[:, j]]
        y = ballot(domain.target)[batch.label].astype(np.float64)
        weighted = x if weight is None else x * weight
        one = len(batch) if weight is None else int(weight.sum())
        return cls(one, (weighted @ x.T).astype(np.int64), (weighted @ y).astype(np.int64))


def centre_and_spread(part: Column | Target) -> tuple[Fraction, Fraction]:
    """Where the votes of a column are 0, and half of what makes them C, in codes; public.

    >>> from privsieve.public.columns import Number
    >>> centre_and_spread(Number("age", 0, 110))
    (Fraction(65535, 2), Fraction(65535, 8))
    """
    assert not isinstance(part, Label)
    return Fraction(CODES - 1, 2), Fraction(CODES - 1, SPREAD)


def ballot(part: Column | Target) -> npt.NDArray[np.int8]:
    """The vote of each code of a column; missing is 0, and a flag is -C or C.

    >>> from privsieve.public.columns import Number
    >>> vote = ballot(Number("age", 0, 110))
    >>> [int(vote[code]) for code in (0, 30000, 32700, 32768, 33000, 65535)]
    [-64, -43, -1, 0, 4, 64]
    """
    if isinstance(part, Flag):
        return np.array([-C, C], np.int8)
    return _graded(*centre_and_spread(part), MISSING if part.missing_level else MIDDLE)  # type: ignore[union-attr]  # a category, or a label, is refused by the plan


@lru_cache(maxsize=256)
def _graded(centre: Fraction, spread: Fraction, missing: int) -> npt.NDArray[np.int8]:
    # [votes] the first code of each vote above -C: half a step below it; exact
    steps = [ceil(centre + Fraction(2 * vote - 1, 4 * C) * spread) for vote in range(1 - C, C + 1)]
    made = (np.searchsorted(steps, np.arange(CODES), side="right") - C).astype(np.int8)
    # [missing] a code's own matter; where missing is the middle, what lies there says nothing
    made[missing] = 0
    return made


def values(sums: VoteSums, sets: npt.NDArray[np.intp]) -> list[int]:
    """The floor of U(S) + k^2 C^2 n for each set, exactly; a set is a row of columns."""
    products, target = sums.products[sets[:, :, None], sets[:, None, :]], sums.target[sets]
    k = sets.shape[1]
    return [value + k * k * C * C * sums.one for value in largest(products, target)]


def largest(products: Ints, target: Ints) -> list[int]:
    """The floor of max over [-1, 1]^k of 2 k gamma'b - gamma'A gamma, for each A and b.

    A guess in doubles says which coordinates stand at a bound, and is checked in integers; where
    it is wrong all cases are tried.  The value is that of any case that passes.

    >>> largest(np.array([[[14, 2], [2, 14]]]), np.array([[13, 5]]))
    [42]
    """
    wide, deep = products.astype(object), target.astype(object)
    found, right = floors(wide, deep, guessed(products, target))
    for at in np.flatnonzero(~right):
        found[at] = _tried(wide[at], deep[at])
    floored: list[int] = found.tolist()
    return floored


# [optimum]
def floors(products: Exact, target: Exact, bound: npt.NDArray[np.int8],
           ) -> tuple[Exact, npt.NDArray[np.bool_]]:
    """The floor of the value of each case, and whether the case is one of a largest value.

    A case says of each coordinate whether it is -1 or 1, or free (0): then it is where the
    gradient vanishes, by elimination without fractions.
    """
    k, free = bound.shape[1], bound == 0
    fixed = bound.astype(object)
    system = np.where(free[:, :, None] & free[:, None, :], products, np.eye(k, dtype=int))
    toward = k * target
    # [free] the equations of the free coordinates, and bounds as they are
    side = np.where(free, toward - (products * fixed[:, None, :]).sum(axis=2), fixed)
    rows = np.concatenate([system.astype(object), side[:, :, None]], axis=2)
    regular, whole = np.ones(len(bound), np.bool_), np.full(len(bound), 1, object)
    for p in range(k):
        # [pivot] a leading minor: above zero, or the case is left to others
        regular &= rows[:, p, p] > 0
        pivot = np.where(regular, rows[:, p, p], 1)
        for i in range(k):
            if i != p:
                rows[:, i] = (pivot[:, None] * rows[:, i] - rows[:, i, p][:, None] * rows[:, p]
                              ) // whole[:, None]
        whole = pivot
    gamma = rows[:, :, k]
    pull = toward * whole[:, None] - (products * gamma[:, None, :]).sum(axis=2)
    # [kkt] inside of the box, and no bound that one would want to leave
    held = np.where(free, abs(gamma) <= whole[:, None], fixed * pull >= 0).astype(np.bool_)
    value = (gamma * toward + np.where(free, 0, fixed * pull)).sum(axis=1) // whole
    return value, regular & held.all(axis=1)


def _tried(products: Exact, target: Exact) -> int:
    """The value by all cases; one of them is right."""
    k = len(target)
    cases = np.array(list(product((0, -1, 1), repeat=k)), np.int8)
    found, right = floors(np.broadcast_to(products, (len(cases), k, k)),
                          np.broadcast_to(target, (len(cases), k)), cases)
    return int(found[np.flatnonzero(right)[0]])
# [/optimum]


def guessed(products: Ints, target: Ints) -> npt.NDArray[np.int8]:
    """Which coordinates of a largest value stand at a bound, by a search in doubles.

    All begin at a bound; the one that is pulled away most is freed, and the free ones go where
    the gradient vanishes, or as far as the box allows.  So free ones do not depend on each other.
    """
    wide, k = products.astype(np.float64), target.shape[1]
    size = np.maximum(np.einsum("sii->si", wide).max(axis=1, initial=0), 1)
    wide, toward = wide / size[:, None, None], target * (k / size)[:, None]
    bound = np.where(toward < 0, -1, 1).astype(np.int8)
    gamma = bound.astype(np.float64)
    for _ in range(8 * k):
        gamma, met = _moved(wide, toward, gamma, bound)
        bound = np.where(met, np.sign(gamma), bound).astype(np.int8)
        away = -bound * (toward - np.einsum("sij,sj->si", wide, gamma))
        most = away.argmax(axis=1)
        freed = ~met.any(axis=1) & (away.max(axis=1) > TINY)
        bound[freed, most[freed]] = 0
        if not (freed.any() or met.any()):
            break
    return bound


def _moved(wide: Doubles, toward: Doubles, gamma: Doubles, bound: npt.NDArray[np.int8],
           ) -> tuple[Doubles, npt.NDArray[np.bool_]]:
    """Coordinates after a step to where the free gradient vanishes, and which met a bound."""
    k, free = gamma.shape[1], bound == 0
    system = np.where(free[:, :, None] & free[:, None, :], wide, 0.0)
    system += np.where(free, TINY**2, 1.0)[:, :, None] * np.eye(k)
    side = np.where(free, toward - np.einsum("sij,sj->si", wide, np.where(free, 0.0, gamma)), gamma)
    there = np.linalg.solve(system, side[:, :, None])[:, :, 0]
    over = free & (abs(there) > 1)
    part = np.where(over, (np.sign(there) - gamma) / np.where(over, there - gamma, 1.0), 2.0)
    step = np.minimum(part.min(axis=1), 1.0)[:, None]
    met = over & (part <= step)
    moved = np.where(free, gamma + step * (there - gamma), gamma)
    return np.where(met, np.sign(there), moved), met
