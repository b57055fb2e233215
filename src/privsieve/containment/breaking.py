"""Breaking: which columns keep a table from a higher level, and which few of them break k."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privsieve.containment.measures import cells, containment_level
from privsieve.kernels.patterns import pattern_table, superset_counts

if TYPE_CHECKING:
    import numpy.typing as npt

    from privsieve.core.items import Items

    Ints = npt.NDArray[np.int64]

#: So many columns are looked at one by one.
MOST_COLUMNS = 64
#: So many held items are read in search of rare sets, in all.
MOST_READ = 200_000_000


@dataclass(frozen=True, repr=False)
class Rare:
    """Sets of items that some rows hold, but fewer than k, and of which each part is held by k.

    sets : positions of items, the smallest sets first.
    rows : how many rows hold each.
    complete : whether there is no other set of at most three.
    """

    sets: tuple[tuple[int, ...], ...]
    rows: tuple[int, ...]
    complete: bool


def gains(items: Items) -> dict[str, int]:
    """The level without a column, for each column without which it is higher.

    Of very many such columns the first ones are looked at.

    >>> from privsieve.core.items import Items
    >>> gains(Items.dense([[1, 1], [1, 0], [1, 0]], ["age", "ill"]))
    {'ill': 3}
    """
    masks, counts, _ = pattern_table(cells(items), np.zeros(items.rows, np.int32), 1)
    group = superset_counts(masks, counts)[:, 0]
    level = int(group.min(initial=items.rows))
    poorest = masks[group == level]
    # A row whose group does not depend on a column keeps that group without it.
    held = [{items.origin[j] for j in _bits(mask, len(items))} for mask in poorest]
    wanted = set.intersection(*held) if held else set()
    found = {}
    for name in [name for name in dict.fromkeys(items.origin) if name in wanted][:MOST_COLUMNS]:
        rest = items.take([j for j, origin in enumerate(items.origin) if origin != name])
        without = int(containment_level(rest))
        if without > level:
            found[name] = without
    return found


def rare_sets(items: Items, k: int, at_most: int = 20) -> Rare:
    """The smallest sets of up to three items that break k: each is a way to find somebody.

    >>> from privsieve.core.items import Items
    >>> rare_sets(Items.dense([[1, 1], [1, 0], [0, 1], [0, 0]]), 2).sets
    ((0, 1),)
    """
    support = np.diff(items.indptr)
    singles = np.flatnonzero((support > 0) & (support < k))
    found: list[tuple[tuple[int, ...], int]] = [((int(j),), int(support[j])) for j in singles]
    search = _Search(items, k, at_most - len(found))
    if search.left > 0:
        found += search.pairs()
    if search.left > 0:
        found += search.triples()
    found = found[:at_most]
    return Rare(tuple(one for one, _ in found), tuple(rows for _, rows in found),
                search.left > 0 and search.budget > 0)


class _Search:
    """Counts of items beside those of a set, read from the rows."""

    def __init__(self, items: Items, k: int, left: int) -> None:
        self.items, self.k, self.left, self.budget = items, k, left, MOST_READ
        support = np.diff(items.indptr)
        self.common = np.flatnonzero(support >= k)
        kept = np.repeat(support >= k, support)
        item = np.repeat(np.arange(len(items)), support)[kept]
        row = items.indices[kept]
        order = np.argsort(row, kind="stable")
        self.held = item[order]
        self.starts = np.searchsorted(row[order], np.arange(items.rows + 1))

    def rows(self, item: int) -> Ints:
        """The rows that hold an item."""
        return self.items.indices[self.items.indptr[item]:self.items.indptr[item + 1]].astype(
            np.int64)

    def beside(self, rows: Ints, after: int) -> tuple[Ints, Ints]:
        """Items after this one that some of these rows hold, and how many do."""
        sizes = self.starts[rows + 1] - self.starts[rows]
        self.budget -= int(sizes.sum()) + 1
        ends = np.cumsum(sizes)
        at = np.arange(int(sizes.sum())) + np.repeat(self.starts[rows] - ends + sizes, sizes)
        beside = self.held[at]
        return np.unique(beside[beside > after], return_counts=True)

    def pairs(self) -> list[tuple[tuple[int, ...], int]]:
        """Rare pairs of common items."""
        found: list[tuple[tuple[int, ...], int]] = []
        for j in self.common.tolist():
            if self.left <= len(found) or self.budget <= 0:
                break
            others, count = self.beside(self.rows(j), j)
            found += [((j, int(o)), int(c)) for o, c in zip(others, count, strict=True)
                      if c < self.k]
        self.left -= len(found)
        return found

    def triples(self) -> list[tuple[tuple[int, ...], int]]:
        """Rare triples of common pairs."""
        found: list[tuple[tuple[int, ...], int]] = []
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


def _bits(mask: npt.NDArray[np.uint64], items: int) -> Ints:
    """The items of a mask."""
    held = np.unpackbits(mask.astype("<u8").view(np.uint8), bitorder="little")[:items]
    return np.flatnonzero(held)
