"""Ridge: how well columns predict rows that a ridge regression did not see.

All in closed form: with M = (I + X X'/lam)^-1, the intercept projected out, the error at row i is
(M y)_i / M_ii, and a further column z changes M by a matrix of rank one:
M - (M z)(M z)' / (lam + z'M z).  Classes are predicted as zeros and ones, one against the rest.
Errors and guesses are taken in whole billionths, so that equal columns tie on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from privsieve.errors import SchemaError
from privsieve.kernels.patterns import pattern_table
from privsieve.rows.matrix import Items

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

#: The penalty of a growing regression, and those of which the best one judges a whole set.
LAM = 1.0
PENALTIES = (1.0, 10.0, 100.0)
#: Distinct rows of a regression on given columns; with more of them every other row is passed over.
_DISTINCT = 2048
#: Cells of candidates at a time: bounds memory.
_CELLS = 2**18
#: Cells of all candidates: of more rows than that leaves, a sample is predicted, with at least so
#: many rows of each class (or all it has).
MOST_CELLS, LEAST = 2**23, 32


@dataclass(eq=False, repr=False)
class Ridge:
    """A regression that grows by one candidate at a time.

    targets : what is predicted, one column for each class (one for two classes), centred.
    left : M y, the residuals.
    diagonal : of M.
    moved : M z for each candidate z; `norm` is z'M z.
    rows, column : where the candidates are 1.
    whole : whether all marked rows are in it, and not a sample of them.
    """

    targets: Floats
    left: Floats
    diagonal: Floats
    moved: Floats
    norm: Floats
    rows: Ints
    column: Ints
    whole: bool = True

    @classmethod
    def of(cls, items: Items, pool: Ints, y: Codes, classes: int, marked: Bools) -> Ridge:
        """The regression on nothing but the intercept, over the marked rows or a sample of them."""
        seen = _seen(y, marked, len(pool))
        place = np.full(items.rows, -1, np.int32)
        place[seen] = np.arange(len(seen), dtype=np.int32)
        held = []
        for j in pool:
            found = place[items.indices[items.indptr[j]:items.indptr[j + 1]]]
            held.append(found[found >= 0])
        size = np.array([len(found) for found in held], np.int64)
        rows = np.concatenate([np.zeros(0, np.int64), *held])
        column = np.repeat(np.arange(len(pool)), size)
        targets = centred(y[seen], classes)
        n = len(targets)
        moved = np.zeros((n, len(pool)))
        moved[rows, column] = 1
        moved -= moved.mean(axis=0)
        return cls(targets, targets.copy(), np.full(n, 1 - 1 / n), moved, size - size**2 / n, rows,
                   column, len(seen) == np.count_nonzero(marked))

    def errors(self) -> Ints:
        """For each candidate the error if it were added, in billionths."""
        found = np.empty(self.moved.shape[1])
        for block in self._blocks():
            moved, scale = self.moved[:, block], LAM + self.norm[block]
            diagonal = self.diagonal[:, None] - moved**2 / scale
            total = np.zeros(moved.shape[1])
            for target, left in zip(self.targets.T, self.left.T, strict=True):
                total += (((left[:, None] - moved * (target @ moved / scale)) / diagonal)**2
                          ).sum(axis=0)
            found[block] = total
        return billionths(found / len(self.targets))

    def add(self, candidate: int) -> None:
        """Take a candidate into the regression."""
        moved, scale = self.moved[:, candidate].copy(), LAM + self.norm[candidate]
        self.left -= np.outer(moved, moved @ self.targets / scale)
        self.diagonal -= moved**2 / scale
        shared = np.bincount(self.column, weights=moved[self.rows], minlength=len(self.norm))
        self.norm -= shared**2 / scale
        for block in self._blocks():
            self.moved[:, block] -= moved[:, None] * (shared[block] / scale)

    def _blocks(self) -> Iterator[slice]:
        """The candidates, some at a time."""
        rows, width = self.moved.shape
        step = max(1, _CELLS // rows)
        return (slice(low, low + step) for low in range(0, width, step))


def pair_area(items: Items, y: Codes, classes: int, marked: Bools) -> Fraction:
    """How well these columns rank the classes of rows that the regression did not see.

    The share of pairs of rows, one of a class and one not, that a regression without both rows
    ranks rightly; the mean over classes, of the best of some penalties.  (To leave out one row
    at a time would rank equal rows wrongly: each pulls its own guess away from its class.)

    >>> from privsieve.rows.matrix import Items
    >>> items, y = Items.dense([[1, 0], [1, 1], [0, 0], [0, 1]]), np.array([1, 1, 0, 0], np.int32)
    >>> every = np.ones(4, bool)
    >>> pair_area(items.take([0]), y, 2, every), pair_area(items.take([1]), y, 2, every)
    (Fraction(1, 1), Fraction(1, 4))
    """
    dense, counts = _distinct_rows(items, y, classes, marked)
    size = counts.sum(axis=1)
    total = size.sum()
    root = np.sqrt(size)[:, None]
    basis, spread, _ = np.linalg.svd(root * (dense - size @ dense / total), full_matrices=False)
    best = Fraction(0)
    for penalty in PENALTIES:
        kept = spread**2 / (spread**2 + penalty)
        hat = (basis * kept / root) @ (basis / root).T + 1 / total
        areas = [_area(hat, counts[:, c], size - counts[:, c])
                 for c in range(0 if classes > 2 else 1, classes)]
        best = max(best, sum(areas, Fraction(0)) / len(areas))
    return best


def _area(hat: Floats, yes: Ints, no: Ints) -> Fraction:
    """The share of pairs that are ranked rightly, each by a regression without the two.

    Without the rows i and j their errors e solve (1 - hat_ij) e = (y - fitted) on the two.
    """
    fitted = hat @ yes
    free = 1 - np.diag(hat)
    first, second = np.flatnonzero(yes), np.flatnonzero(no)
    right = 0
    for p in first:
        shared = hat[p, second]
        lost, lost_too = 1 - fitted[p], -fitted[second]
        apart = free[p] * free[second] - shared**2
        error = (free[second] * lost + shared * lost_too) / apart
        error_too = (free[p] * lost_too + shared * lost) / apart
        sign = np.sign(billionths(1 - error + error_too))
        right += int(yes[p]) * int(((1 + sign) * no[second]).sum())
    return Fraction(right, max(1, 2 * int(yes.sum()) * int(no.sum())))


def _distinct_rows(items: Items, y: Codes, classes: int, marked: Bools) -> tuple[Floats, Ints]:
    """The distinct rows among the marked ones, and how many of each class are equal to each."""
    chosen = np.flatnonzero(marked)
    while True:
        part = _rows(items, chosen)
        _, counts, pattern = pattern_table((part.indptr, part.indices), y[chosen], classes)
        if len(counts) <= _DISTINCT:
            break
        chosen = chosen[::2]
    dense = np.zeros((len(counts), len(items)))
    column = np.repeat(np.arange(len(items)), np.diff(part.indptr))
    dense[pattern[part.indices], column] = 1
    return dense, counts


def _rows(items: Items, chosen: Ints) -> Items:
    """The table of these rows, in this order."""
    place = np.full(items.rows, -1, np.int32)
    place[chosen] = np.arange(len(chosen), dtype=np.int32)
    found = place[items.indices]
    ends = np.concatenate([[0], np.cumsum(found >= 0)])[items.indptr]
    return Items(ends.astype(np.int64), found[found >= 0], len(chosen), items.names, items.origin)


def _seen(y: Codes, marked: Bools, candidates: int) -> Ints:
    """The marked rows; where they are too many, a fixed sample, evenly spaced in each class.

    Each class has its share of the sample.
    """
    chosen = np.flatnonzero(marked)
    most = MOST_CELLS // max(1, candidates)
    if len(chosen) <= most:
        return chosen
    classes, count = np.unique(y[chosen], return_counts=True)
    least = max(1, min(LEAST, most // (2 * len(classes))))
    size = np.minimum(count, np.maximum(most * count // len(chosen), least))
    return np.sort(np.concatenate([
        members[np.arange(part) * len(members) // part]
        for members, part in ((chosen[y[chosen] == c], part)
                              for c, part in zip(classes, size.tolist(), strict=True))]))


def centred(y: Codes, classes: int) -> Floats:
    """Zeros and ones for each class (one column for two classes), less their mean."""
    if len(np.unique(y)) < 2:
        raise SchemaError("the labels that may be used are of one class; mark rows of at least two")
    found = (y[:, None] == (np.arange(classes) if classes > 2 else np.array([1]))).astype(float)
    return np.asarray(found - found.mean(axis=0))


def billionths(error: Floats) -> Ints:
    """Whole billionths."""
    return np.rint(error * 1e9).astype(np.int64)
