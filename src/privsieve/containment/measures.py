"""Measure the groups of the rows of a table, and what makes them small.

The *group* of a row are the rows that hold all that it holds: an attacker who knows what a person
has finds these rows.  Its *equals* are the rows of the same pattern: an attacker who knows what a
person has and lacks finds these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from privsieve.containment.knowledge import (
    Groups,
    Knowledge,
    distinct_masks,
    of_all,
    shortfall,
    smallest_group,
)
from privsieve.containment.labelled import Codes, Ints, Labelled, cells, rows_of
from privsieve.errors import ParameterError, SchemaError
from privsieve.kernels.patterns import Rule, around, pattern_table
from privsieve.public.canonical import Json
from privsieve.rows.matrix import Items, by_item

#: The number of patterns from which a sample is drawn by default, and the rows of that sample.
MANY_PATTERNS, SAMPLE = 500_000, 10_000
#: Above this share of rows that lose k with the busiest rows, a measure warns.
HUB_LIMIT = (1, 5)
#: The most items of a pattern that is one number of 64 bits.
_NARROW = 64
#: The most columns that are left out one by one.
MOST_COLUMNS = 64
#: The most held items that are read in the search for rare sets.
MOST_READ = 200_000_000
#: The most closed items that are counted, and pairs of patterns that are compared.
MOST_CLOSED, MOST_PAIRS = 256, 5 * 10**10


def sampled(known: Knowledge, y: Codes | None = None, classes: int = 1, *, k: int | None = None,
            sample: int | None = None) -> Groups:
    """Count the groups of all rows, or of a sample where there are very many patterns.

    k : a level that is demanded: all rows are counted unless a sample shows that it is not kept.
    sample : the number of rows to draw at random (always the same rows); 0 is all rows.

    >>> known = Knowledge(Items.dense([[1, 1], [1, 0], [1, 0]]))
    >>> sampled(known).sizes().tolist(), sampled(known, sample=2).counted
    ([1, 3, 3], 2)
    """
    rows = known.items.rows
    if not rows:
        raise SchemaError("the table has no rows, so there is no risk to measure; give rows")
    groups = known.groups(y, classes)
    if sample is None and len(groups.table.masks) > MANY_PATTERNS:
        some = replace(groups, who=_drawn(rows, SAMPLE))
        return some if k is None or int(some.sizes().min()) < k else groups
    return replace(groups, who=_drawn(rows, sample)) if sample else groups


def _drawn(rows: int, sample: int) -> Ints | None:
    """Return rows of a sample, in rising order; None for all."""
    if sample >= rows:
        return None
    return np.sort(np.random.default_rng(0).choice(rows, sample, replace=False))


@dataclass(frozen=True)
class Crowd:
    """The sizes of the groups that one kind of attacker finds.

    level : rows in the smallest group.
    highest, average : the chance that a row is found, of the worst row and over all rows.
    below : rows whose group is smaller than k.
    sizes : each size of a group, and how many rows have a group of it.
    """

    level: int
    highest: float
    average: float
    below: int
    sizes: tuple[tuple[int, int], ...] = field(default=(), repr=False, compare=False)


@dataclass(frozen=True)
class Hub:
    """Whether the same few rows are in the groups of most rows.

    everywhere : rows that are in every group.
    left : rows that stay when the k rows that are in most groups are removed.
    below, alone : of those, the rows whose group is then smaller than k, or the row itself.
    """

    everywhere: int
    left: int
    below: int
    alone: int

    @property
    def warning(self) -> str | None:
        """A sentence if more than a fifth of the rows depend on the k rows in most groups."""
        share, whole = HUB_LIMIT
        if self.below * whole <= self.left * share:
            return None
        return (f"{self.below:,} of {self.left:,} rows are in a group below k if an attacker "
                "excludes the k rows that are in most groups. Name the column of person ids, or "
                "use the profile 'few' or 'strict'")


@dataclass(frozen=True)
class Sample:
    """The number of rows whose groups were counted, if not all.

    Shares of rows, averages of chances and what is counted of groups are then estimates: each true
    share is within `margin` of its estimate with a probability of 95 %.  A level is an upper bound.
    """

    rows: int
    margin: float


@dataclass(frozen=True)
class Risk:
    """What a table reveals about its rows.

    prosecutor : the attacker knows all cells of a person who is in the table.
    containment : the attacker knows only what the person has.
    unique : rows without an equal.
    one_class, one_class_equals : rows whose whole group, or all of whose equals, have one class;
        None without labels.
    sample : the rows whose groups were counted, unless it is all; what does not need groups
        (prosecutor, patterns, unique, one_class_equals) is counted on all rows nevertheless.
    """

    rows: int
    k: int
    patterns: int
    prosecutor: Crowd
    containment: Crowd
    unique: int
    one_class: int | None
    one_class_equals: int | None
    hub: Hub
    sample: Sample | None = None


@overload
def containment_level(X: Any, *, per_row: Literal[False] = False) -> int: ...


@overload
def containment_level(X: Any, *, per_row: Literal[True]) -> Ints: ...


def containment_level(X: Any, *, per_row: bool = False) -> int | Ints:
    """Return the size of the smallest group; with `per_row` the size of each row's group.

    A row's group is all rows that have its ones.  Without rows the level is 0.

    >>> toy = [[1, 0, 1, 0, 1], [1, 0, 1, 0, 1], [1, 0, 0, 1, 1],
    ...        [1, 0, 1, 0, 1], [1, 1, 1, 0, 1], [1, 1, 0, 1, 1]]
    >>> containment_level(toy), containment_level(toy, per_row=True).tolist()
    (1, [4, 4, 2, 4, 1, 1])
    """
    return _level(X, "containment", per_row=per_row)


@overload
def k_anonymity_level(X: Any, *, per_row: Literal[False] = False) -> int: ...


@overload
def k_anonymity_level(X: Any, *, per_row: Literal[True]) -> Ints: ...


def k_anonymity_level(X: Any, *, per_row: bool = False) -> int | Ints:
    """Return how often the rarest row occurs; with `per_row` how often each row does.

    >>> k_anonymity_level([[1, 0], [1, 0], [1, 1]], per_row=True).tolist()
    [2, 2, 1]
    """
    return _level(X, "k-anonymity", per_row=per_row)


def _level(X: Any, model: Literal["containment", "k-anonymity"], *, per_row: bool) -> int | Ints:
    items, _, _ = read(X)
    if model == "containment" and not per_row and len(items) <= _NARROW:
        return smallest_group(*distinct_masks(items))
    groups = Knowledge(items, equal=model == "k-anonymity").groups()
    return groups.sizes() if per_row else groups.level()


def classification_metric(X: Any, y: Any, k: int) -> int:
    """Count rows outside the largest class of their group; groups below k rows count whole.

    >>> classification_metric([[1], [1], [1], [0]], [0, 0, 1, 1], k=2)
    2
    """
    demand_k(k)
    items, labels, classes = read(X, y)
    counts = pattern_table(cells(items), labels, classes).counts
    size = counts.sum(axis=1)
    return int(np.where(size < k, size, size - counts.max(axis=1)).sum())


def disclosure_risk(X: Any, y: Any = None, *, k: int = 5) -> Risk:
    """Measure what the table reveals to several kinds of attacker.

    Parameters
    ----------
    X : anything that `items_of` reads, or `Items`
        the table, or some of its columns.
    y : labels, optional
        the class of each row, which nobody should learn from a group.
    k : int
        the wanted size of groups.

    Examples
    --------
    >>> risk = disclosure_risk([[1, 0], [1, 0], [1, 1]], [0, 1, 1], k=2)
    >>> risk.containment.level, risk.prosecutor.highest, risk.unique, risk.one_class
    (1, 1.0, 1, 1)
    """
    demand_k(k)
    items, labels, classes = read(X, y)
    return risk_of(sampled(Knowledge(items), labels, classes, sample=0), k, labelled=y is not None)


def risk_of(groups: Groups, k: int, *, labelled: bool) -> Risk:
    """Return the risks of a table whose groups were counted by class."""
    table = groups.table
    size = table.counts.sum(axis=1)
    return Risk(
        groups.rows, k, len(size), crowd(groups.equals(), k),
        crowd(groups.sizes(), k, groups.rows), int((size == 1).sum()),
        groups.of_one_class() if labelled else None,
        int(size[(table.counts > 0).sum(axis=1) == 1].sum()) if labelled else None,
        hub_of(groups, k),
        None if groups.counted == groups.rows else Sample(groups.counted, groups.margin))


def hub_figure(hub: Hub, k: int) -> str:
    """Return whether a level depends on the same few rows, which are in most groups."""
    return (f"{hub.everywhere:,} rows are in every group; if an attacker excludes the {k} rows "
            f"that are in most groups, {hub.below:,} of {hub.left:,} rows are in a group below {k}")


def hub_of(groups: Groups, k: int) -> Hub:
    """Remove the k rows that are in most groups, ties to the first, and count again.

    >>> hub = hub_of(Knowledge(Items.dense([[1, 1], [1, 0], [0, 1], [0, 0]])).groups(), 2)
    >>> hub.everywhere, hub.left, hub.below, hub.alone
    (1, 2, 1, 1)
    """
    table = groups.table
    held = groups.held[table.pattern]
    busiest = np.argsort(-held, kind="stable")[:k]
    where, many = np.unique(table.pattern[busiest], return_counts=True)
    lost, _ = around(table.masks[where], many[:, None], groups.masks,
                     np.zeros(len(groups.masks), np.int64))
    who = np.arange(groups.rows) if groups.who is None else groups.who
    sizes = (groups.sizes() - lost[groups.place, 0])[~np.isin(who, busiest)]
    left = groups.rows - len(busiest)
    return Hub(int((held == groups.counted).sum()), left,
               *(of_all(int(rare.sum()), len(sizes), left) for rare in (sizes < k, sizes == 1)))


def read(X: Any, y: Any = None) -> tuple[Items, npt.NDArray[np.int32], int]:
    """Read a table as items, its labels as 0, 1, ... and their number (1 without labels)."""
    from privsieve.rows.items import items_of

    items, labels, classes = items_of(X, y)
    return items, labels, len(classes)


def demand_k(k: int) -> None:
    """Refuse a k that protects nobody."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 2:
        raise ParameterError(f"k is {k!r}; write a whole number of at least 2")


def crowd(group: Ints, k: int, rows: int | None = None) -> Crowd:
    """Describe the sizes of the rows' groups; rows without a person may have a group of 0.

    rows : the number of all rows, if these are a sample.
    """
    sizes, many = np.unique(group, return_counts=True)
    chance = 1 / np.maximum(sizes, 1)
    return Crowd(int(sizes[0]), float(chance[0]), float((many * chance).sum() / len(group)),
                 of_all(int(many[sizes < k].sum()), len(group), rows or len(group)),
                 tuple(zip(sizes.tolist(), many.tolist(), strict=True)))


# --- what costs, and what breaks ------------------------------------------------------------------

def gains(known: Knowledge, sizes: Ints) -> dict[str, int]:
    """Return the level without a column, for each column without which it is higher.

    Of very many columns the first ones are left out.  `sizes` are those of the groups of all rows.

    >>> known = Knowledge(Items.dense([[1, 1], [1, 0], [1, 0]], ["age", "ill"]))
    >>> gains(known, known.groups().sizes())
    {'ill': 3}
    """
    level = int(sizes.min(initial=known.items.rows))
    poorest = sizes == level
    # a row whose group does not depend on a column keeps that group without it
    names = (name for name in dict.fromkeys(known.items.origin) if known.tells(name, poorest))
    without = {name: known.without(name).groups().level() for name in islice(names, MOST_COLUMNS)}
    return {name: least for name, least in without.items() if least > level}


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


def rare_sets(items: Items, k: int, at_most: int = 20) -> Rare:
    """Return the smallest sets of up to three items that break k: each finds somebody.

    >>> rare_sets(Items.dense([[1, 1], [1, 0], [0, 1], [0, 0]]), 2).sets
    ((0, 1),)
    """
    search = _Search(items, k)
    sets = list(islice(search, at_most))
    return Rare(tuple(names for names, _ in sets), tuple(rows for _, rows in sets),
                len(sets) < at_most and search.budget > 0, items.names)


class _Search:
    """The search for rare sets: from items to pairs to triples, read from the rows."""

    def __init__(self, items: Items, k: int) -> None:
        self.items, self.k, self.budget = items, k, MOST_READ
        self.support = np.diff(items.indptr)
        self.common = self.support >= k
        kept = np.repeat(self.common, self.support)
        item = np.repeat(np.arange(len(items), dtype=np.int32), self.support)[kept]
        self.starts, self.held = by_item(item, items.indices[kept], len(items), items.rows)

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], int]]:
        """Yield each rare set with the rows that hold it, the smallest sets first."""
        for j in np.flatnonzero((self.support > 0) & ~self.common).tolist():
            yield (j,), int(self.support[j])
        common = np.flatnonzero(self.common).tolist()
        for j in common:
            for second, rows in self.beside(self.rows(j), j):
                if rows < self.k:
                    yield (j, second), rows
        for j in common:
            partners = {item for item, rows in self.beside(self.rows(j), j) if rows >= self.k}
            for second in sorted(partners):
                for third, rows in self.beside(self.both(j, second), second):
                    if rows < self.k and third in partners and (
                            len(self.both(second, third)) >= self.k):
                        yield (j, second, third), rows

    def rows(self, item: int) -> Ints:
        """Return the rows that hold an item."""
        return rows_of(self.items, item).astype(np.int64)

    def both(self, first: int, second: int) -> Ints:
        """Return the rows that hold two items."""
        return np.intersect1d(self.rows(first), self.rows(second), assume_unique=True)

    def beside(self, rows: Ints, after: int) -> Iterator[tuple[int, int]]:
        """Yield the items after this one that some of these rows hold, and how many do."""
        if self.budget <= 0:
            return
        sizes = self.starts[rows + 1] - self.starts[rows]
        self.budget -= int(sizes.sum()) + 1
        at = np.arange(int(sizes.sum())) + np.repeat(self.starts[rows] - np.cumsum(sizes) + sizes,
                                                     sizes)
        beside = self.held[at]
        items, many = np.unique(beside[beside > after], return_counts=True)
        yield from zip(items.tolist(), many.tolist(), strict=True)


def closed(table: Labelled, rule: Rule, selected: Sequence[int]) -> dict[str, Json]:
    """Measure the smallest group with each closed item, and the rows that would lose theirs.

    All rows of the table count.  The largest groups come first; each entry is [name, smallest
    group, rows below k, rows whose group has too few classes].  If classes may be known, a group is
    of one class.  If the table has sources, groups count sources.

    >>> items = Items.dense([[1, 1], [1, 0], [1, 0]], ["age", "ill"])
    >>> table = Labelled(items, np.zeros(3, np.int32), ("all",))
    >>> closure = closed(table, Rule(k=2, classes=1), [0])
    >>> closure["closed"], closure["passed_over"]
    ([['ill', 1, 1, 0]], 0)
    """
    items, rest = table.items, [j for j in range(len(table.items)) if j not in selected]
    counted: list[list[Json]] = []
    pairs = 0
    for j in rest[:MOST_CLOSED]:
        if pairs > MOST_PAIRS:
            break
        counts = shortfall(table, rule, [*selected, j])
        counted.append([items.names[j], counts.level, counts.small, counts.poor])
        pairs += counts.patterns**2
    counted.sort(key=lambda counts: (-counts[1], counts[2], counts[3], counts[0]))  # type: ignore[operator]
    return {"rows": items.rows, "items": len(items), "columns": len(set(items.origin)),
            "classes": rule.l_diversity, "closed": counted, "passed_over": len(rest) - len(counted)}
