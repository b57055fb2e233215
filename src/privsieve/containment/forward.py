"""Forward choice: one column after the other, the one that predicts best and keeps the rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privsieve.containment.choice import Choice
from privsieve.containment.greedy import demand_rule, modular_order, standing
from privsieve.containment.groups import distinct
from privsieve.containment.ridge import Ridge
from privsieve.containment.told import tell
from privsieve.containment.weights import weights
from privsieve.errors import ParameterError
from privsieve.kernels.patterns import superset_counts

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from privsieve.core.items import Items
    from privsieve.kernels.patterns import Rule

    Ints = npt.NDArray[np.int64]
    Codes = npt.NDArray[np.int32]
    Bools = npt.NDArray[np.bool_]

#: A choice of few columns holds at most so many.
MOST = 30
#: So many columns of largest mutual information are candidates, fewer where rows are many.
CANDIDATES, CELLS = 1500, 2**25


def forward(items: Items, y: Codes, rule: Rule, *, label_rows: Bools | None = None,
            sources: Codes | None = None, most: int = MOST) -> Choice:
    """Choose columns one by one and return the prefix with the least leave-one-out error.

    Ctrl-C ends it with the best prefix of the columns that were chosen by then.

    Parameters
    ----------
    items, y, rule
        the table, its classes, and what every prefix keeps (on all rows).
    label_rows : mask, optional
        the rows whose classes are predicted; all by default.
    sources : numbers, optional
        a group is then k distinct sources, not k rows.
    most : int
        at most so many columns.

    Examples
    --------
    >>> from privsieve.core.items import Items
    >>> from privsieve.kernels.patterns import Rule
    >>> items = Items.dense([[1, 1], [1, 0], [1, 1], [0, 0], [0, 1], [0, 0]])
    >>> forward(items, np.array([1, 1, 1, 0, 0, 0], np.int32), Rule(k=3, classes=2)).selected
    (0,)
    """
    demand_rule(items, rule)
    if rule.suppress:
        raise ParameterError(f"suppress is {rule.suppress}; the forward choice leaves no row out: "
                             "give 0, or take a greedy choice")
    marked = np.ones(items.rows, bool) if label_rows is None else label_rows
    pool = _pool(items, y, rule, marked)
    chosen: list[tuple[int, int]] = []
    complete = True
    try:
        ridge = Ridge.of(items.take(pool.tolist()), y, rule.classes, marked)
        for found in _grown(items, pool, ridge, Crowd.of(y, rule, sources), most):
            chosen.append(found)
            tell(f"{len(chosen)} of at most {most} columns tried")
    except KeyboardInterrupt:
        complete = False
        if not chosen:
            raise
    best = 1 + int(np.argmin([error for _, error in chosen])) if chosen else 0
    selected = tuple(sorted(int(pool[c]) for c, _ in chosen[:best]))
    return Choice(selected, standing(items, y, rule, selected)[0], complete=complete)


def _grown(items: Items, pool: Ints, ridge: Ridge, crowd: Crowd, most: int,
           ) -> Iterator[tuple[int, int]]:
    """Candidates in the order in which they are chosen, and the error with each."""
    alive = np.ones(len(pool), bool)
    for _ in range(most):
        error = ridge.errors()
        found = _first_that_fits(crowd, items, pool, error, alive)
        if found is None:
            return
        yield found, int(error[found])
        alive[found] = False
        ridge.add(found)
        crowd = crowd.with_item(items, pool[found])


def _first_that_fits(crowd: Crowd, items: Items, pool: Ints, error: Ints, alive: Bools,
                     ) -> int | None:
    """The best candidate that keeps the rule.

    What breaks the rule now breaks it with every further column, too, and is dropped for ever.
    """
    for candidate in np.argsort(error, kind="stable").tolist():
        if alive[candidate]:
            if crowd.admits(items, pool[candidate]):
                return int(candidate)
            alive[candidate] = False
    return None


def _pool(items: Items, y: Codes, rule: Rule, marked: Bools) -> Ints:
    """Candidates, those of most information first, ties to the first."""
    size = min(CANDIDATES, max(1, CELLS // max(1, items.rows)))
    worth = weights(items, y, rule.classes, "mutual-information", marked).values
    frequent = np.flatnonzero((np.diff(items.indptr) >= rule.k) & (worth > 0))
    return modular_order(worth, frequent)[:size]


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

    def admits(self, items: Items, item: int) -> bool:
        """Whether the rule still holds with this item."""
        rows = items.indices[items.indptr[item]:items.indptr[item + 1]]
        if not self._fits(rows):
            return False
        return not self._known(item) or self._fits(np.delete(np.arange(items.rows), rows))

    def with_item(self, items: Items, item: int) -> Crowd:
        """The patterns with one item more."""
        holds = np.zeros(items.rows, np.int64)
        holds[items.indices[items.indptr[item]:items.indptr[item + 1]]] = 1
        halves, pattern = np.unique(2 * self.pattern.astype(np.int64) + holds, return_inverse=True)
        masks = self.masks[halves // 2]
        if self.width + 2 > 64 * masks.shape[1]:
            masks = np.concatenate([masks, np.zeros((len(masks), 1), np.uint64)], axis=1)
        has = halves % 2
        place = (self.width % 64 + 1 - has).astype(np.uint64)
        told = (has == 1) | self._known(item)
        masks[:, -1] |= np.where(told, np.uint64(1) << place, np.uint64(0))
        return Crowd(self.y, self.rule, self.sources, pattern.astype(np.int32), masks,
                     self.width + 2)

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
        over = superset_counts(masks, counts[touched])
        if over.sum(axis=1).min() < rule.k or (over > 0).sum(axis=1).min() < rule.l_diversity:
            return False
        if self.sources is None:
            return True
        place = np.cumsum(touched) - 1
        pattern = place[self.pattern[rows]].astype(np.int32)
        return bool(distinct(masks, pattern, self.sources[rows]).min() >= rule.k)
