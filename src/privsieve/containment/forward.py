"""Forward choice: one column after the other, those that predict best and keep the rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from privsieve.containment.choice import Choice
from privsieve.containment.greedy import demand_rule, modular_order, standing
from privsieve.containment.groups import distinct
from privsieve.containment.ridge import Ridge, billionths
from privsieve.containment.told import tell
from privsieve.containment.weights import weights
from privsieve.errors import ParameterError
from privsieve.kernels.patterns import Rule, superset_counts
from privsieve.rows.matrix import Items

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
Found = tuple[int, tuple[int, ...]]

#: A choice of few columns adds at most so many.
MOST = 30
#: So many columns of largest mutual information are candidates.
CANDIDATES = 1500
#: So many sets grow side by side; fewer where a table is large, so that the whole is bounded.
WIDEST, CELLS, WORK = 100, 2**25, 2**27


def forward(items: Items, y: Codes, rule: Rule, *, label_rows: Bools | None = None,
            sources: Codes | None = None, prefix: Sequence[int] = (), most: int = MOST) -> Choice:
    """Add columns one by one, and return the set with the least leave-one-out error.

    First the best column that keeps the rule is added, again and again.  Where the table is small
    enough many sets then grow side by side, for the best first columns may leave no room for
    others that together predict better.  Where rows times candidates are very many (2^23), errors
    are those of a fixed sample of the rows, evenly spaced in each class; every set keeps the rule
    on all rows nevertheless.  Ctrl-C ends it with the best set of by then.

    Parameters
    ----------
    items, y, rule
        the table, its classes, and what every set keeps (on all rows).
    label_rows : mask, optional
        the rows whose classes are predicted; all by default.
    sources : numbers, optional
        a group is then k distinct sources, not k rows.
    prefix : positions
        items that were published before: they are part of every set.
    most : int
        at most so many columns are added.

    Examples
    --------
    >>> from privsieve.rows.matrix import Items
    >>> from privsieve.kernels.patterns import Rule
    >>> items = Items.dense([[1, 1], [1, 0], [1, 1], [0, 0], [0, 1], [0, 0]])
    >>> forward(items, np.array([1, 1, 1, 0, 0, 0], np.int32), Rule(k=3, classes=2)).selected
    (0,)
    """
    demand_rule(items, rule, y)
    if rule.suppress:
        raise ParameterError(f"suppress is {rule.suppress}; the forward choice leaves no row out: "
                             "give 0, or take a greedy choice")
    marked = np.ones(items.rows, bool) if label_rows is None else label_rows
    crowd = Crowd.of(y, rule, sources).with_prefix(items, prefix)
    free = _pool(items, y, rule, marked)
    pool = np.concatenate([np.array(prefix, np.int64), free[~np.isin(free, prefix)]])
    found: list[Found] = []
    complete = True
    try:
        for one in _searches(items, pool, lambda: _begun(items, pool, crowd, marked), most):
            found.append(one)
            tell(f"{len(one[1])} of at most {most} columns tried")
    except KeyboardInterrupt:
        complete = False
        if not found:
            raise
    _, chosen = min(found, key=lambda one: (one[0], len(one[1])), default=(0, ()))
    selected = tuple(sorted({*map(int, prefix), *pool[list(chosen)].tolist()}))
    return Choice(selected, standing(items, y, rule, selected)[0], complete=complete)


def _searches(items: Items, pool: Ints, start: Callable[[], _Set], most: int) -> Iterator[Found]:
    """What one set that grows comes to, and then what many do; errors, and candidates."""
    alone, size = start(), 0
    cells = max(1, alone.ridge.moved.size)
    if alone.crowd.width:  # what was published before may do without more
        yield alone.error, ()
    for error, chosen in _grown(items, pool, alone, 1, most):
        size = len(chosen)
        yield error, chosen
    width = min(WIDEST, CELLS // cells, WORK // (cells * max(1, size)))
    if width > 1 and alone.ridge.whole:
        yield from _grown(items, pool, start(), width, most)


def _grown(items: Items, pool: Ints, start: _Set, width: int, most: int) -> Iterator[Found]:
    """The best set of each size that comes of `width` sets of the size before."""
    line = [start]
    for size in range(1, most + 1):
        found = _followers(items, pool, line, width)
        if not found:
            return
        at, best, error = found[0]
        yield error, (*line[at].chosen, best)
        if size < most:
            last = {one: number for number, (one, _, _) in enumerate(found)}
            line = [line[one].grown(items, pool, candidate, error, keep=last[one] > number)
                    for number, (one, candidate, error) in enumerate(found)]


def _followers(items: Items, pool: Ints, line: list[_Set], width: int,
               ) -> list[tuple[int, int, int]]:
    """The best sets of one column more that keep the rule: of which set, the column, the error."""
    errors = np.stack([one.ridge.errors() for one in line])
    found: list[tuple[int, int, int]] = []
    seen = set()
    for place in np.argsort(errors, axis=None, kind="stable").tolist():
        at, candidate = divmod(place, len(pool))
        one = line[at]
        if not one.alive[candidate]:
            continue
        if len(line) > 1:
            key = frozenset((*one.chosen, candidate))
            if key in seen:
                continue
            seen.add(key)
        if not one.crowd.admits(items, pool[candidate]):
            one.alive[candidate] = False
            continue
        found.append((at, candidate, int(errors[at, candidate])))
        if len(found) == width:
            break
    return found


def _begun(items: Items, pool: Ints, crowd: Crowd, marked: Bools) -> _Set:
    """The set of the items published before, with which the pool begins."""
    ridge = Ridge.of(items, pool, crowd.y, crowd.rule.classes, marked)
    alive = np.ones(len(pool), bool)
    for place in range(crowd.width // 2):
        ridge.add(place)
        alive[place] = False
    error = ((ridge.left.T / ridge.diagonal)**2).sum() / len(ridge.left)
    return _Set((), int(billionths(error)), ridge, crowd, alive)


def _pool(items: Items, y: Codes, rule: Rule, marked: Bools) -> Ints:
    """Candidates, those of most information first, ties to the first."""
    worth = weights(items, y, rule.classes, "mutual-information", marked).values
    frequent = np.flatnonzero((np.diff(items.indptr) >= rule.k) & (worth > 0))
    return modular_order(worth, frequent)[:CANDIDATES]


@dataclass(frozen=True, eq=False, repr=False)
class _Set:
    """A set that grows: its candidates by their place in the pool, and its error.

    alive : what may still be added; a candidate that broke the rule breaks it for ever.
    """

    chosen: tuple[int, ...]
    error: int
    ridge: Ridge
    crowd: Crowd
    alive: Bools

    def grown(self, items: Items, pool: Ints, candidate: int, error: int, *, keep: bool) -> _Set:
        """The set with one column more, in a regression of its own if this one's is to be kept."""
        ridge = replace(self.ridge, **{name: getattr(self.ridge, name).copy() for name in (
            "left", "diagonal", "moved", "norm")}) if keep else self.ridge
        ridge.add(candidate)
        alive = self.alive.copy()
        alive[candidate] = False
        return _Set((*self.chosen, candidate), error, ridge,
                    self.crowd.with_item(items, pool[candidate]), alive)


@dataclass(frozen=True, eq=False, repr=False)
class Crowd:
    """The patterns of the columns chosen so far, and what every group must keep.

    pattern : the pattern of each row; masks : of each pattern its bits, two for each column, for
    having it and for lacking it where that may be known.
    """

    y: Codes
    rule: Rule
    sources: Codes | None
    pattern: Codes
    masks: npt.NDArray[np.uint64]
    width: int = 0

    @classmethod
    def of(cls, y: Codes, rule: Rule, sources: Codes | None) -> Crowd:
        """No column yet: all rows are alike."""
        return cls(y, rule, sources, np.zeros(len(y), np.int32), np.zeros((1, 1), np.uint64))

    def with_prefix(self, items: Items, prefix: Sequence[int]) -> Crowd:
        """The patterns of items published before; refused if they do not keep the rule."""
        crowd = self
        for item in prefix:
            if not crowd.admits(items, item):
                raise ParameterError(f"the prefix of {len(prefix)} items does not keep k = "
                                     f"{self.rule.k}; leave some of it out")
            crowd = crowd.with_item(items, item)
        return crowd

    def admits(self, items: Items, item: int) -> bool:
        """Whether the rule still holds with this item."""
        rows = items.indices[items.indptr[item]:items.indptr[item + 1]]
        if not self._fits(rows):
            return False
        if not self._known(item):
            return True
        lacks = np.ones(items.rows, np.bool_)
        lacks[rows] = False
        return self._fits(np.flatnonzero(lacks))

    def with_item(self, items: Items, item: int) -> Crowd:
        """The patterns with one item more."""
        side = 2 * self.pattern
        side[items.indices[items.indptr[item]:items.indptr[item + 1]]] += 1
        there = np.zeros(2 * len(self.masks), np.bool_)
        there[side] = True
        halves = np.flatnonzero(there)
        pattern = (np.cumsum(there, dtype=np.int32) - np.int32(1))[side]
        masks = self.masks[halves // 2]
        if self.width + 2 > 64 * masks.shape[1]:
            masks = np.concatenate([masks, np.zeros((len(masks), 1), np.uint64)], axis=1)
        has = halves % 2
        place = (self.width % 64 + 1 - has).astype(np.uint64)
        told = (has == 1) | self._known(item)
        masks[:, -1] |= np.where(told, np.uint64(1) << place, np.uint64(0))
        return Crowd(self.y, self.rule, self.sources, pattern, masks, self.width + 2)

    def _known(self, item: int) -> bool:
        absent = self.rule.absent
        return self.rule.model == "k-anonymity" or (absent is not None and bool(absent[item]))

    def _fits(self, rows: Codes | Ints) -> bool:
        """Whether the groups of these rows are large enough without all other rows.

        Only they hold the item, and what no row holds needs no group.
        """
        rule = self.rule
        if not len(rows):
            return True
        if len(rows) < rule.k:
            return False
        found = np.bincount(self.pattern[rows] * np.int64(rule.classes) + self.y[rows],
                            minlength=len(self.masks) * rule.classes)
        counts = found.reshape(-1, rule.classes)
        touched = counts.any(axis=1)
        masks = self.masks[touched]
        held = counts[touched]
        over = superset_counts(masks, held)
        if (over > 0).sum(axis=1).min() < rule.l_diversity:
            return False
        group, there = (over, held > 0) if rule.labelled else (over.sum(axis=1), ...)
        if group[there].min() < rule.k:
            return False
        return self.sources is None or self._of_sources(masks, rows, np.cumsum(touched) - 1)

    def _of_sources(self, masks: npt.NDArray[np.uint64], rows: Codes | Ints, place: Ints) -> bool:
        """Whether these groups, of patterns at these places, are of k sources."""
        assert self.sources is not None
        pattern = place[self.pattern[rows]].astype(np.int32)
        known = self.y[rows] * self.rule.labelled
        for part in (known == one for one in np.unique(known)):
            group = distinct(masks, pattern[part], self.sources[rows[part]])[pattern[part]]
            if group.min() < self.rule.k:
                return False
        return True
