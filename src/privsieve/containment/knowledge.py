"""Knowledge: what an attacker may know of each row, and the groups of rows that fit it.

Levels, choices, limits, figures and claims all count the groups of a `Knowledge`.  The group of a
row are the rows that fit all that the attacker knows of it.  So every row is in its own group.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from privsieve.containment.labelled import (
    Bools,
    Codes,
    Ints,
    Masks,
    cells,
    with_classes,
)
from privsieve.errors import ParameterError
from privsieve.kernels.patterns import PatternTable, Rule, around, pattern_table, superset_counts
from privsieve.rows.matrix import Items

#: Units, or patterns, that are counted at a time: bounds memory.
_AT_ONCE = 256


@dataclass(frozen=True, eq=False, repr=False)
class Knowledge:
    """What an attacker may know of each row, and what a group counts.

    items : the attacker may know which of these a row has.
    absences : of which of them also that a row lacks it; None for none.
    columns : other columns of which the value may be known, too, such as the class of each row.
    unit : whose row each is (-1: nobody's), where a group counts these; None counts rows.
    equal : whether all presences and absences may be known, as k-anonymity has it.

    >>> known = Knowledge(Items.dense([[1], [1], [0]]), columns=(np.array([0, 1, 1], np.int32),))
    >>> known.groups().sizes().tolist()
    [1, 1, 2]
    """

    items: Items
    absences: Bools | None = None
    columns: tuple[Codes, ...] = ()
    unit: Codes | None = None
    equal: bool = False

    @classmethod
    def of(cls, items: Items, rule: Rule, y: Codes | None = None, unit: Codes | None = None,
           ) -> Knowledge:
        """Return what a rule lets an attacker know; `y` is needed where that is the class, too."""
        if rule.labelled and y is None:
            raise ParameterError("the rule says that classes may be known, and none are given; "
                                 "give the class of each row")
        columns = (y,) if y is not None and rule.labelled else ()
        return cls(items, rule.absent, columns, unit, rule.model == "k-anonymity")

    def groups(self, y: Codes | None = None, classes: int = 1) -> Groups:
        """Count the groups of all rows, by the class of their rows if `y` is given."""
        items, absent = self.items, self.absences
        for codes in self.columns:
            items, absent = with_classes(items, codes, absent)
        y = np.zeros(items.rows, np.int32) if y is None else np.ascontiguousarray(y, np.int32)
        table = pattern_table(cells(items), y, classes, None if self.equal else absent)
        return Groups(table, self.unit, self.equal)


@dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """The groups of the rows of a table: one for each pattern of what is known.

    table : the patterns, their rows by class, and the pattern of each row.
    unit : whose row each is, where a group counts these.
    equal : whether only rows of the same pattern are in a group.
    """

    table: PatternTable
    unit: Codes | None
    equal: bool

    @cached_property
    def over(self) -> Ints:
        """Of each pattern the rows of its group, by class."""
        return self.around(self.table.counts)

    def around(self, counts: Ints) -> Ints:
        """Sum counts of patterns over the patterns in each group."""
        return counts if self.equal else superset_counts(self.table.masks, counts)

    def rows(self, at: int) -> Bools:
        """Mark the rows in the group of a pattern."""
        masks, pattern = self.table.masks, self.table.pattern
        if self.equal:
            return pattern == at  # type: ignore[no-any-return]
        inside: Bools = ((masks & masks[at]) == masks[at]).all(axis=1)[pattern]
        return inside

    def sizes(self, who: Ints | None = None) -> Ints:
        """Count the rows, or the distinct units, in the group of each row, or of each of `who`."""
        masks, _, pattern = self.table
        if self.unit is not None and not self.equal:
            asked, place = np.unique(pattern if who is None else pattern[who], return_inverse=True)
            return codes_around(masks, pattern, self.unit, masks[asked])[place]
        size: Ints = self.equals() if self.equal else self.over.sum(axis=1)[pattern]
        return size if who is None else size[who]

    def level(self) -> int:
        """Return the size of the smallest group; 0 of no rows."""
        if self.equal or self.unit is not None:
            return int(self.sizes().min(initial=len(self.table.pattern)))
        return smallest_group(self.table.masks, self.table.counts.sum(axis=1))

    def equals(self) -> Ints:
        """Count the rows, or the distinct units, that have the pattern of each row."""
        _, counts, pattern = self.table
        if self.unit is None:
            size: Ints = counts.sum(axis=1)
            return size[pattern]
        pairs = np.unique(np.stack([pattern, self.unit])[:, self.unit >= 0], axis=1)[0]
        return np.bincount(pairs, minlength=len(counts)).astype(np.int64)[pattern]

    def of_one_class(self) -> int:
        """Count the rows whose whole group has one class."""
        return int(self.table.counts[(self.over > 0).sum(axis=1) == 1].sum())


def smallest_group(masks: Masks, rows: Ints) -> int:
    """Return the size of the smallest group of patterns with so many rows each; 0 of no pattern.

    The smallest group is that of a pattern which no other pattern contains, and so it has the rows
    of that pattern alone.  The widest patterns are such.  Of the others only those with fewer rows
    than the smallest group so far are compared with the table.
    """
    if not len(masks):
        return 0
    width = np.bitwise_count(masks).sum(axis=1, dtype=np.int64)
    level = int(rows[width == width.max()].min())
    rest, many = np.argsort(-width, kind="stable"), _AT_ONCE
    while len(rest := rest[rows[rest] < level]):
        over, _ = around(masks, rows[:, None], masks[rest[:many]], rows[rest[:many]])
        level, rest, many = min(level, int(over.min())), rest[many:], 4 * many
    return level


def distinct_masks(items: Items) -> tuple[Masks, Ints]:
    """Return the distinct patterns of at most 64 items, and the rows of each.

    >>> [part.tolist() for part in distinct_masks(Items.dense([[1, 0], [1, 1], [1, 0]]))]
    [[[1], [3]], [2, 1]]
    """
    mask = np.zeros(items.rows, np.uint64)
    for j in range(len(items)):
        mask[items.indices[items.indptr[j]:items.indptr[j + 1]]] |= np.uint64(1 << j)
    masks, rows = np.unique(mask, return_counts=True)
    return masks[:, None], rows


def rows_beyond(counts: Ints, over: Ints, rule: Rule) -> tuple[int, int]:
    """Count the rows of patterns in groups of fewer than k rows, and of fewer than l classes."""
    size = over if rule.labelled else over.sum(axis=1, keepdims=True)
    poor = (over > 0).sum(axis=1) < rule.l_diversity
    return int((counts * (size < rule.k)).sum()), int(counts[poor].sum())


def groups_by_class(items: Items, y: Codes, rule: Rule) -> Groups:
    """Count the groups of an attacker who does not know the class, by the class of their rows.

    >>> groups = groups_by_class(Items.dense([[1], [0]]), np.array([0, 1], np.int32), Rule(2, 2))
    >>> groups.table.counts.tolist(), groups.over.tolist()
    ([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    """
    return Knowledge.of(items, replace(rule, labelled=False)).groups(y, rule.classes)


@dataclass(frozen=True, repr=False)
class Shortfall:
    """Count the patterns of items that are published together, and the rows that miss a rule.

    patterns : distinct rows.
    level : rows, or units where these count, in the smallest group.
    small, poor : rows in groups of fewer than k of them, and of fewer than l classes.
    """

    patterns: int
    level: int
    small: int
    poor: int


def shortfall(items: Items, y: Codes, rule: Rule, unit: Codes | None = None) -> Shortfall:
    """Count the rows that miss a rule; where classes may be known a group is of one class.

    unit : whose row each is, where a group has k of these.

    >>> items, y = Items.dense([[1], [1], [0]]), np.array([0, 1, 1], np.int32)
    >>> known = shortfall(items, y, Rule(2, 2, labelled=True))
    >>> known.level, known.small, shortfall(items, y, Rule(2, 2, l_diversity=2)).poor
    (1, 2, 0)
    """
    groups = groups_by_class(items, y, rule)
    counts, over = groups.table.counts, groups.over
    size = over[counts > 0] if rule.labelled else over.sum(axis=1)
    small, poor = rows_beyond(counts, over, rule)
    if unit is not None:
        size = Knowledge.of(items, rule, y, unit).groups().sizes()
        small = int((size < rule.k).sum())
    return Shortfall(len(counts), int(size.min(initial=items.rows)), small, poor)


def codes_around(masks: Masks, pattern: Codes, codes: Codes, asked: Masks | None = None,
             ) -> Ints:
    """For each mask, or each that is asked, the distinct codes among the rows that contain it."""
    asked = masks if asked is None else asked
    total, nobody = np.zeros(len(asked), np.int64), np.zeros(len(asked), np.int64)
    for low in range(0, int(codes.max(initial=-1)) + 1, _AT_ONCE):
        here = np.flatnonzero((codes >= low) & (codes < low + _AT_ONCE))
        some, place = np.unique(pattern[here], return_inverse=True)
        counts = np.zeros((len(some), _AT_ONCE), np.int64)
        counts[place, codes[here] - low] = 1
        total += (around(masks[some], counts, asked, nobody)[0] > 0).sum(axis=1)
    return total
