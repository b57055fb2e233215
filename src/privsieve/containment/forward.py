"""Choose one column after the other: those that predict best and keep the rule.

The leave-one-out error of a ridge regression has a closed form.  With M = (I + X X'/lam)^-1, the
intercept projected out, the error at row i is (M y)_i / M_ii.  A further column z changes M by a
matrix of rank one: M - (M z)(M z)' / (lam + z'M z).  Classes are predicted as zeros and ones, one
against the rest.  Errors and guesses are rounded to whole billionths, so that equal columns tie on
every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from privsieve.containment.choose import (
    MUTUAL,
    Choice,
    demand_rule,
    modular_order,
    tell,
    weights_of,
)
from privsieve.containment.knowledge import codes_around, measure_selection, rows_beyond
from privsieve.containment.labelled import (
    Bools,
    Codes,
    Floats,
    Ints,
    Labelled,
    Masks,
    cells,
    rows_of,
    some_rows,
)
from privsieve.errors import ParameterError, SchemaError
from privsieve.kernels.patterns import Rule, pattern_table, superset_counts
from privsieve.rows.matrix import Items

#: The penalty of a growing regression, and the penalties of which the best judges a whole set.
LAM = 1.0
PENALTIES = (1.0, 10.0, 100.0)
#: Distinct rows of a regression on given columns; with more, every second row is skipped.
_DISTINCT = 2048
#: Cells of candidates at a time: they stay in the cache of a core.
_CELLS = 2**16
#: The most cells of all candidates, and the least rows of each class in a sample of the rows.
MOST_CELLS, LEAST = 2**23, 32
#: The most columns that a choice adds.
MOST = 30
#: The number of candidates: columns of largest mutual information.
CANDIDATES = 1500
#: The most sets that grow side by side, and bounds on their cells and on the whole work.
WIDEST, CELLS, WORK = 100, 2**25, 2**27

#: An error, and the candidates that have it together.
Step = tuple[int, tuple[int, ...]]


@dataclass(eq=False, repr=False)
class Ridge:
    """A regression that grows by one candidate at a time.

    targets : zeros and ones for each class (one column for two classes), centred.
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
        """Return the regression on the intercept alone, over the marked rows or a sample."""
        seen = _seen(y, marked, len(pool))
        sample = some_rows(items, seen).take(pool.tolist())
        rows, size = sample.indices.astype(np.int64), np.diff(sample.indptr)
        column = np.repeat(np.arange(len(pool)), size)
        targets = centred(y[seen], classes)
        n = len(targets)
        moved = np.zeros((n, len(pool)))
        moved[rows, column] = 1
        moved -= moved.mean(axis=0)
        return cls(targets, targets.copy(), np.full(n, 1 - 1 / n), moved, size - size**2 / n, rows,
                   column, len(seen) == np.count_nonzero(marked))

    def errors(self) -> Ints:
        """Return for each candidate the error if it were added, in billionths."""
        scale = LAM + self.norm
        pulls = [target @ self.moved / scale for target in self.targets.T]
        squares = np.zeros(len(scale))
        for rows in self._rows():
            moved = self.moved[rows]
            diagonal = self.diagonal[rows, None] - moved**2 / scale
            for pull, left in zip(pulls, self.left[rows].T, strict=True):
                squares += (((left[:, None] - moved * pull) / diagonal)**2).sum(axis=0)
        return billionths(squares / len(self.targets))

    def add(self, candidate: int) -> None:
        """Add a candidate to the regression."""
        moved, scale = self.moved[:, candidate].copy(), LAM + self.norm[candidate]
        self.left -= np.outer(moved, moved @ self.targets / scale)
        self.diagonal -= moved**2 / scale
        shared = np.bincount(self.column, weights=moved[self.rows], minlength=len(self.norm))
        self.norm -= shared**2 / scale
        for rows in self._rows():
            self.moved[rows] -= moved[rows, None] * (shared / scale)

    def _rows(self) -> Iterator[slice]:
        """Return slices of rows that fit into the cache of a core."""
        rows, width = self.moved.shape
        step = max(1, _CELLS // max(1, width))
        return (slice(low, low + step) for low in range(0, rows, step))


def pair_area(items: Items, y: Codes, classes: int, marked: Bools) -> Fraction:
    """Return how well these columns rank the classes of rows that the regression did not use.

    It is the share of pairs of rows, one of a class and one not, that a regression without both
    rows ranks rightly: the mean over classes, for the best of some penalties.  (A regression
    without one row would rank equal rows wrongly: each pulls its own guess from its class.)

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
    """Return the share of pairs that are ranked rightly, each by a regression without the two.

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
    """Return the distinct marked rows, and how many rows of each class equal each."""
    chosen = np.flatnonzero(marked)
    while True:
        rows = some_rows(items, chosen)
        _, counts, pattern = pattern_table(cells(rows), y[chosen], classes)
        if len(counts) <= _DISTINCT:
            break
        chosen = chosen[::2]
    dense = np.zeros((len(counts), len(items)))
    column = np.repeat(np.arange(len(items)), np.diff(rows.indptr))
    dense[pattern[rows.indices], column] = 1
    return dense, counts


def _seen(y: Codes, marked: Bools, candidates: int) -> Ints:
    """Return the marked rows; of too many rows a fixed sample, evenly spaced in each class.

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
        members[np.arange(share) * len(members) // share]
        for members, share in ((chosen[y[chosen] == c], share)
                              for c, share in zip(classes, size.tolist(), strict=True))]))


def centred(y: Codes, classes: int) -> Floats:
    """Return zeros and ones for each class (one column for two classes), less their mean."""
    if len(np.unique(y)) < 2:
        raise SchemaError("all usable labels are of one class; mark rows of at least two classes")
    targets = (y[:, None] == (np.arange(classes) if classes > 2 else np.array([1]))).astype(float)
    return np.asarray(targets - targets.mean(axis=0))


def billionths(error: Floats) -> Ints:
    """Round to whole billionths."""
    return np.rint(error * 1e9).astype(np.int64)


def forward(table: Labelled, rule: Rule, most: int = MOST) -> Choice:
    """Add columns one by one, and return the set with the least leave-one-out error.

    First, the best column that keeps the rule is added repeatedly.  If the table is small enough,
    many sets then grow side by side: other first columns may predict better together.  If rows
    times candidates exceed 2^23, the errors are those of a fixed sample of the rows, evenly spaced
    in each class.  Every set keeps the rule on all rows.  Ctrl-C ends it with the best set so far.

    Parameters
    ----------
    table, rule
        items and classes, and what every set keeps (on all rows): with `table.sources` a group is
        k distinct sources, `table.counted` are part of every set, and the classes of the rows in
        `table.marked` are predicted.
    most : int
        the most columns that are added.

    Examples
    --------
    >>> items = Items.dense([[1, 1], [1, 0], [1, 1], [0, 0], [0, 1], [0, 0]])
    >>> table = Labelled(items, np.array([1, 1, 1, 0, 0, 0], np.int32))
    >>> forward(table, Rule(k=3, classes=2)).selected
    (0,)
    """
    items, prefix, marked = table.items, table.counted, table.labelled
    demand_rule(table, rule)
    if rule.suppress:
        raise ParameterError(f"suppress is {rule.suppress}, but this method leaves no row out; "
                             "write 0, or choose greedy")
    grouping = Patterns.of(table, rule)
    free = _pool(table, rule)
    pool = np.concatenate([np.array(prefix, np.int64), free[~np.isin(free, prefix)]])
    steps: list[Step] = []
    complete = True
    try:
        for step in _searches(items, pool, lambda: _begun(items, pool, grouping, marked), most):
            steps.append(step)
            tell(f"{len(step[1])} of at most {most} columns tried")
    except KeyboardInterrupt:
        complete = False
        if not steps:
            raise
    _, chosen = min(steps, key=lambda step: (step[0], len(step[1])), default=(0, ()))
    selected = tuple(sorted({*map(int, prefix), *pool[list(chosen)].tolist()}))
    return Choice(selected, measure_selection(table, rule, selected)[0], complete=complete)


def _searches(items: Items, pool: Ints, start: Callable[[], _Set], most: int) -> Iterator[Step]:
    """Yield errors with their candidates: first for one growing set, then for many sets."""
    alone, size = start(), 0
    cells = max(1, alone.ridge.moved.size)
    if alone.grouping.width:  # what was published before may do without more
        yield alone.error, ()
    for error, chosen in _grown(items, pool, alone, 1, most):
        size = len(chosen)
        yield error, chosen
    width = min(WIDEST, CELLS // cells, WORK // (cells * max(1, size)))
    if width > 1 and alone.ridge.whole:
        yield from _grown(items, pool, start(), width, most)


def _grown(items: Items, pool: Ints, start: _Set, width: int, most: int) -> Iterator[Step]:
    """Yield the best set of each size, grown from `width` sets of the size before."""
    line = [start]
    for size in range(1, most + 1):
        followers = _followers(items, pool, line, width)
        if not followers:
            return
        at, best, error = followers[0]
        yield error, (*line[at].chosen, best)
        if size < most:
            last = {at: number for number, (at, _, _) in enumerate(followers)}
            line = [line[at].grown(items, pool, candidate, error, keep=last[at] > number)
                    for number, (at, candidate, error) in enumerate(followers)]


def _followers(items: Items, pool: Ints, line: list[_Set], width: int,
               ) -> list[tuple[int, int, int]]:
    """Return the best sets with one more column: position of the set, column, error."""
    errors = np.stack([grown.ridge.errors() for grown in line])
    followers: list[tuple[int, int, int]] = []
    seen = set()
    for place in np.argsort(errors, axis=None, kind="stable").tolist():
        at, candidate = divmod(place, len(pool))
        grown = line[at]
        if not grown.alive[candidate]:
            continue
        if len(line) > 1:
            key = frozenset((*grown.chosen, candidate))
            if key in seen:
                continue
            seen.add(key)
        if not grown.grouping.admits(items, pool[candidate]):
            grown.alive[candidate] = False
            continue
        followers.append((at, candidate, int(errors[at, candidate])))
        if len(followers) == width:
            break
    return followers


def _begun(items: Items, pool: Ints, grouping: Patterns, marked: Bools) -> _Set:
    """Return the set of the items that were published before; the pool begins with them."""
    ridge = Ridge.of(items, pool, grouping.y, grouping.rule.classes, marked)
    alive = np.ones(len(pool), bool)
    for place in range(grouping.width // 2):
        ridge.add(place)
        alive[place] = False
    error = ((ridge.left.T / ridge.diagonal)**2).sum() / len(ridge.left)
    return _Set((), int(billionths(error)), ridge, grouping, alive)


def _pool(table: Labelled, rule: Rule) -> Ints:
    """Return the candidates, those of most information first, ties to the first."""
    weights = weights_of(table, rule, MUTUAL).values
    frequent = np.flatnonzero((np.diff(table.items.indptr) >= rule.k) & (weights > 0))
    return modular_order(weights, frequent)[:CANDIDATES]


@dataclass(frozen=True, eq=False, repr=False)
class _Set:
    """A set that grows: its candidates by their place in the pool, and its error.

    alive : candidates that may still be added; one that broke the rule also breaks it later.
    """

    chosen: tuple[int, ...]
    error: int
    ridge: Ridge
    grouping: Patterns
    alive: Bools

    def grown(self, items: Items, pool: Ints, candidate: int, error: int, *, keep: bool) -> _Set:
        """Return the set with one more column; `keep` copies the regression of this set."""
        ridge = replace(self.ridge, **{name: getattr(self.ridge, name).copy() for name in (
            "left", "diagonal", "moved", "norm")}) if keep else self.ridge
        ridge.add(candidate)
        alive = self.alive.copy()
        alive[candidate] = False
        return _Set((*self.chosen, candidate), error, ridge,
                    self.grouping.with_item(items, pool[candidate]), alive)


@dataclass(frozen=True, eq=False, repr=False)
class Patterns:
    """The patterns of the columns chosen so far, and what every group must keep.

    pattern : the pattern of each row.
    masks : the bits of each pattern, two for each column: has it, and lacks it if that is known.
    """

    y: Codes
    rule: Rule
    sources: Codes | None
    pattern: Codes
    masks: Masks
    width: int = 0

    @classmethod
    def of(cls, table: Labelled, rule: Rule) -> Patterns:
        """Return the patterns of the items published before; refuse items that break the rule."""
        grouping = cls(table.y, rule, table.sources, np.zeros(len(table.y), np.int32),
                    np.zeros((1, 1), np.uint64))
        for item in table.counted:
            if not grouping.admits(table.items, item):
                raise ParameterError(f"the first {len(table.counted)} items do not keep k = "
                                     f"{rule.k}; leave out some of these items")
            grouping = grouping.with_item(table.items, item)
        return grouping

    def admits(self, items: Items, item: int) -> bool:
        """Return whether the rule still holds with this item."""
        rows = rows_of(items, item)
        if not self._fits(rows):
            return False
        if not self._known(item):
            return True
        lacks = np.ones(items.rows, np.bool_)
        lacks[rows] = False
        return self._fits(np.flatnonzero(lacks))

    def with_item(self, items: Items, item: int) -> Patterns:
        """Return the patterns with one more item."""
        side = 2 * self.pattern
        side[rows_of(items, item)] += 1
        there = np.zeros(2 * len(self.masks), np.bool_)
        there[side] = True
        halves = np.flatnonzero(there)
        pattern = (np.cumsum(there, dtype=np.int32) - np.int32(1))[side]
        masks = self.masks[halves // 2]
        if self.width + 2 > 64 * masks.shape[1]:
            masks = np.concatenate([masks, np.zeros((len(masks), 1), np.uint64)], axis=1)
        has = halves % 2
        place = (self.width % 64 + 1 - has).astype(np.uint64)
        is_known = (has == 1) | self._known(item)
        masks[:, -1] |= np.where(is_known, np.uint64(1) << place, np.uint64(0))
        return Patterns(self.y, self.rule, self.sources, pattern, masks, self.width + 2)

    def _known(self, item: int) -> bool:
        absent = self.rule.absent
        return self.rule.model == "k-anonymity" or (absent is not None and bool(absent[item]))

    def _fits(self, rows: Codes | Ints) -> bool:
        """Return whether the groups of these rows are large enough without all other rows.

        Only these rows hold the item.  An item that no row holds needs no group.
        """
        rule = self.rule
        if not len(rows):
            return True
        if len(rows) < rule.k:
            return False
        cells = np.bincount(self.pattern[rows] * np.int64(rule.classes) + self.y[rows],
                            minlength=len(self.masks) * rule.classes)
        counts = cells.reshape(-1, rule.classes)
        touched = counts.any(axis=1)
        masks = self.masks[touched]
        if any(rows_beyond(counts[touched], superset_counts(masks, counts[touched]), rule)):
            return False
        if self.sources is None:
            return True
        pattern = (np.cumsum(touched, dtype=np.int32) - np.int32(1))[self.pattern[rows]]
        known, sources = self.y[rows] * rule.labelled, self.sources[rows]
        return all(
            codes_around(masks, pattern[of], sources[of])[pattern[of]].min() >= rule.k
            for of in (known == label for label in np.unique(known)))
