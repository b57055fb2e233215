"""Breaking: what single columns, and few of them together, do to a table's level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privsieve.containment.knowledge import shortfall
from privsieve.containment.labelled import Ints, Labelled, Masks, narrowed, rows_of
from privsieve.containment.measures import Survey, surveyed
from privsieve.kernels.patterns import Rule, around
from privsieve.public.canonical import Json
from privsieve.rows.matrix import Items, by_item

#: So many columns are looked at one by one.
MOST_COLUMNS = 64
#: Words of masks that are asked at once: bounds memory.
MOST_WORDS = 2**22
#: So many held items are read in search of rare sets, in all.
MOST_READ = 200_000_000
#: So many closed items are looked at, and so many pairs of patterns are compared, in all.
MOST_CLOSED, MOST_PAIRS = 256, 5 * 10**10

#: Words of a mask, and bits in each.
Words = tuple[Ints, Masks]
#: Sets of items, each with how many rows hold it.
Sets = list[tuple[tuple[int, ...], int]]


@dataclass(frozen=True, repr=False)
class Rare:
    """Sets of items that some rows hold, but fewer than k, and of which each part is held by k.

    sets : positions of items, the smallest sets first; `names` are those of all items.
    rows : how many rows hold each.
    complete : whether there is no other set of at most three.
    """

    sets: tuple[tuple[int, ...], ...]
    rows: tuple[int, ...]
    complete: bool
    names: tuple[str, ...] = ()


def gains(items: Items, survey: Survey | None = None) -> dict[str, int]:
    """The level without a column, for each column without which it is higher.

    Of very many such columns the first ones are looked at.  A sample does not tell: it finds none.

    survey : of these items, if there is one already.

    >>> gains(Items.dense([[1, 1], [1, 0], [1, 0]], ["age", "ill"]))
    {'ill': 3}
    """
    if not items.rows:
        return {}
    found = survey or surveyed(items, np.zeros(items.rows, np.int32), 1, sample=0)
    if not found.complete:
        return {}
    group, masks = found.over.sum(axis=1), found.table.masks
    columns: dict[str, Words] = {}
    level = int(group.min())
    poorest = np.flatnonzero(group == level)
    for name, (words, bits) in _columns(items.origin).items():
        # A row whose group does not depend on a column keeps that group without it.
        if len(columns) < MOST_COLUMNS and (masks[poorest[0], words] & bits).any() \
                and (masks[np.ix_(poorest, words)] & bits).any(axis=1).all():
            columns[name] = words, bits
    return {name: without for name, without in _without(found, group, columns).items()
            if without > level}


def _without(survey: Survey, group: Ints, columns: dict[str, Words]) -> dict[str, int]:
    """The level without a column, for columns that all rows of the smallest groups have.

    Without a column no group is smaller, and the group of a row that lacks it is the same.  So the
    patterns of small groups are asked first, until the next group is no smaller than the smallest
    that was found.
    """
    masks, rows = survey.table.masks, survey.table.counts.sum(axis=1, keepdims=True)
    order = np.argsort(group, kind="stable")
    found = dict.fromkeys(columns, int(rows.sum()))
    at, size, searched = 0, 16, list(found)
    while searched and at < len(order):
        asked = np.stack([masks[order[at:at + size]]] * len(searched))
        for part, name in zip(asked, searched, strict=True):
            words, bits = columns[name]
            part[:, words] &= ~bits
        asked = asked.reshape(-1, masks.shape[1])
        over, _ = around(masks, rows, asked, np.zeros(len(asked), np.int64))
        for name, sums in zip(searched, over.reshape(len(searched), -1), strict=True):
            found[name] = min(found[name], int(sums.min()))
        at += size
        size = max(1, min(4 * size, MOST_WORDS // (len(searched) * masks.shape[1])))
        least = int(group[order[at]] if at < len(order) else 0)
        searched = [name for name in searched if max(group[order[0]], least) < found[name]]
    return found


def _columns(origin: tuple[str, ...]) -> dict[str, Words]:
    """Of each column the words of a mask in which it has bits, and the bits."""
    found: dict[str, dict[int, int]] = {}
    for j, name in enumerate(origin):
        words = found.setdefault(name, {})
        words[j // 64] = words.get(j // 64, 0) | 1 << j % 64
    return {name: (np.array(list(words), np.int64), np.array(list(words.values()), np.uint64))
            for name, words in found.items()}


def rare_sets(items: Items, k: int, at_most: int = 20) -> Rare:
    """The smallest sets of up to three items that break k: each is a way to find somebody.

    >>> rare_sets(Items.dense([[1, 1], [1, 0], [0, 1], [0, 0]]), 2).sets
    ((0, 1),)
    """
    support = np.diff(items.indptr)
    singles = np.flatnonzero((support > 0) & (support < k))
    found: Sets = [((int(j),), int(support[j])) for j in singles]
    search = _Beside(items, k, at_most - len(found))
    if search.left > 0:
        found += search.pairs()
    if search.left > 0:
        found += search.triples()
    found = found[:at_most]
    return Rare(tuple(one for one, _ in found), tuple(rows for _, rows in found),
                search.left > 0 and search.budget > 0, items.names)


class _Beside:
    """Counts of items beside those of a set, read from the rows."""

    def __init__(self, items: Items, k: int, left: int) -> None:
        self.items, self.k, self.left, self.budget = items, k, left, MOST_READ
        support = np.diff(items.indptr)
        self.common = np.flatnonzero(support >= k)
        kept = np.repeat(support >= k, support)
        item = np.repeat(np.arange(len(items), dtype=np.int32), support)[kept]
        self.starts, self.held = by_item(item, items.indices[kept], len(items), items.rows)

    def rows(self, item: int) -> Ints:
        """The rows that hold an item."""
        return rows_of(self.items, item).astype(np.int64)

    def beside(self, rows: Ints, after: int) -> tuple[Ints, Ints]:
        """Items after this one that some of these rows hold, and how many do."""
        sizes = self.starts[rows + 1] - self.starts[rows]
        self.budget -= int(sizes.sum()) + 1
        ends = np.cumsum(sizes)
        at = np.arange(int(sizes.sum())) + np.repeat(self.starts[rows] - ends + sizes, sizes)
        beside = self.held[at]
        if len(beside) < len(self.items):
            return np.unique(beside[beside > after], return_counts=True)
        found = np.bincount(beside, minlength=len(self.items))
        found[:after + 1] = 0
        others = np.flatnonzero(found)
        return others, found[others]

    def pairs(self) -> Sets:
        """Rare pairs of common items."""
        found: Sets = []
        for j in self.common.tolist():
            if self.left <= len(found) or self.budget <= 0:
                break
            others, count = self.beside(self.rows(j), j)
            found += [((j, int(o)), int(c)) for o, c in zip(others, count, strict=True)
                      if c < self.k]
        self.left -= len(found)
        return found

    def triples(self) -> Sets:
        """Rare triples of common pairs."""
        found: Sets = []
        for j in self.common.tolist():
            first = self.rows(j)
            others, count = self.beside(first, j)
            partners = others[count >= self.k]
            for second in partners.tolist():
                if self.left <= len(found) or self.budget <= 0:
                    self.left -= len(found)
                    return found
                both = np.intersect1d(first, self.rows(second), assume_unique=True)
                third, held = self.beside(both, second)
                found += [((j, second, int(o)), int(c)) for o, c in zip(third, held, strict=True)
                          if c < self.k and o in partners and self._common(second, int(o))]
        self.left -= len(found)
        return found

    def _common(self, one: int, other: int) -> bool:
        return len(np.intersect1d(self.rows(one), self.rows(other), assume_unique=True)) >= self.k


def closed(table: Labelled, rule: Rule, selected: Sequence[int]) -> dict[str, Json]:
    """The smallest crowd with each closed item, and the rows that would lose theirs.

    Counted on all rows of the table.  The largest crowds come first; each is
    [name, smallest crowd, rows below k, rows whose crowd has too few classes].  Where classes may
    be known, a crowd is of one class.  Where the table has sources, crowds are counted in them.

    >>> items = Items.dense([[1, 1], [1, 0], [1, 0]], ["age", "ill"])
    >>> table = Labelled(items, np.zeros(3, np.int32), ("all",))
    >>> found = closed(table, Rule(k=2, classes=1), [0])
    >>> found["closed"], found["passed_over"]
    ([['ill', 1, 1, 0]], 0)
    """
    items, rest = table.items, [j for j in range(len(table.items)) if j not in selected]
    found: list[list[Json]] = []
    pairs = 0
    for j in rest[:MOST_CLOSED]:
        if pairs > MOST_PAIRS:
            break
        together = [*selected, j]
        one = shortfall(items.take(together), table.y, narrowed(rule, together), table.sources)
        found.append([items.names[j], one.level, one.small, one.poor])
        pairs += one.patterns**2
    found.sort(key=lambda one: (-one[1], one[2], one[3], one[0]))  # type: ignore[operator]
    return {"rows": items.rows, "items": len(items), "columns": len(set(items.origin)),
            "classes": rule.l_diversity, "closed": found, "passed_over": len(rest) - len(found)}
