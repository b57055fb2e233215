"""Knowledge: what an attacker may know of each row, and the groups of rows that fit it.

Levels, choices, limits, figures and claims all count the groups of a `Knowledge`.  The group of a
row are the rows that fit all that the attacker knows of it.  So every row is in its own group.

A group counts rows, or the distinct units of its rows where these are given: the people, or other
sources, of whom several rows may be.  Five copies of one message hide nobody from its sender.  A
row without a unit (-1) counts nothing in a group, and needs one like every row.

*What k promises if units are counted.*  An attacker who knows what one row of a person says, or
any part of it, finds all rows that fit.  The group of that row is among them: what fits the whole
row fits every part of it.  So these rows belong to at least k people.  Nothing else follows.  Many
of the rows may belong to one person, so a guess at a row is not bounded.  An attacker who knows
several rows of a person finds k people for each row, which is not a promise for all at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log, sqrt
from typing import Any

import numpy as np

from privsieve.containment.labelled import (
    Bools,
    Codes,
    Ints,
    Labelled,
    Masks,
    as_known,
    cells,
    narrowed,
    rows_of,
)
from privsieve.errors import SchemaError
from privsieve.kernels.patterns import (
    PatternTable,
    Rule,
    around,
    pattern_table,
    peel,
    superset_counts,
)
from privsieve.rows.cells import texts
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
    def of(cls, table: Labelled, rule: Rule, selected: Sequence[int]) -> Knowledge:
        """Return what a rule lets an attacker know of these items of a table."""
        return cls(table.items.take(selected), narrowed(rule, selected).absent,
                   (table.y,) if rule.labelled else (), table.sources, rule.model == "k-anonymity")

    def groups(self, y: Codes | None = None, classes: int = 1, who: Ints | None = None) -> Groups:
        """Count the groups of all rows, or of these, by the class of their rows if `y` is given."""
        items, absent = self.items, self.absences
        for codes in self.columns:
            known, place = np.unique(codes, return_inverse=True)
            items = as_known(items, None, ("", place.astype(np.int32), [""] * len(known)))
            absent = None if absent is None else np.append(absent, np.zeros(len(known), np.bool_))
        y = np.zeros(items.rows, np.int32) if y is None else np.ascontiguousarray(y, np.int32)
        table = pattern_table(cells(items), y, classes, None if self.equal else absent)
        return Groups(table, self.unit, self.equal, who)

    def without(self, column: str) -> Knowledge:
        """Return what is known without the items of a column."""
        rest = [j for j, name in enumerate(self.items.origin) if name != column]
        return replace(self, items=self.items.take(rest), absences=(
            None if self.absences is None else self.absences[rest]))

    def tells(self, column: str, rows: Bools) -> bool:
        """Return whether something of a column is known of each of some rows."""
        lacks = rows.copy()
        for j, name in enumerate(self.items.origin):
            if name == column and self.absences is not None and self.absences[j]:
                return True
            if name == column:
                lacks[rows_of(self.items, j)] = False
        return not lacks.any()


@dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """The groups of the rows of a table: one for each pattern of what is known.

    table : the patterns, their rows by class, and the pattern of each row.
    unit : whose row each is, where a group counts these.
    equal : whether only rows of the same pattern are in a group.
    who : the rows whose groups are counted, in rising order; None for all.  A sample leaves out
        rows whose groups are counted, never rows of a group.
    """

    table: PatternTable
    unit: Codes | None = None
    equal: bool = False
    who: Ints | None = None

    @property
    def rows(self) -> int:
        """Return the rows of the table."""
        return len(self.table.pattern)

    @property
    def counted(self) -> int:
        """Return the number of rows whose groups are counted."""
        return self.rows if self.who is None else len(self.who)

    @property
    def margin(self) -> float:
        """Return the 95 % half-width of a share of rows that a sample estimates; 0 without one.

        Hoeffding's: it holds for every share and for rows drawn without replacement.
        """
        return 0.0 if self.counted == self.rows else sqrt(log(2 / 0.05) / (2 * self.counted))

    @cached_property
    def _counted_patterns(self) -> tuple[Ints, Ints, Ints]:
        """The patterns whose groups are counted, the place of each row's there, and its rows."""
        if self.who is None:
            return (np.arange(len(self.table.masks)), self.table.pattern.astype(np.int64),
                    self.table.counts.sum(axis=1))
        return np.unique(self.table.pattern[self.who], return_inverse=True, return_counts=True)

    @property
    def masks(self) -> Masks:
        """Return the patterns whose groups are counted."""
        return self.table.masks if self.who is None else self.table.masks[self._counted_patterns[0]]

    @property
    def place(self) -> Ints:
        """Return of each row whose group is counted the position of its pattern in `over`."""
        return self._counted_patterns[1]

    @cached_property
    def _both_ways(self) -> tuple[Ints, Ints]:
        patterns, _, many = self._counted_patterns
        if self.equal:
            return self.table.counts[patterns], self.table.counts.sum(axis=1)
        return around(self.table.masks, self.table.counts, self.masks, many)

    @property
    def over(self) -> Ints:
        """Return the rows of each group, by class."""
        return self._both_ways[0]

    @property
    def held(self) -> Ints:
        """Return of each pattern of the table in how many of the groups its rows are."""
        return self._both_ways[1]

    def around(self, counts: Ints) -> Ints:
        """Sum counts of patterns over the patterns in each group."""
        return counts if self.equal else superset_counts(self.table.masks, counts)

    def sizes(self) -> Ints:
        """Count the rows, or the distinct units, in the group of each row."""
        if self.unit is None:
            size: Ints = self.over.sum(axis=1)[self.place]
            return size
        if self.equal:
            return self.equals() if self.who is None else self.equals()[self.who]
        return codes_around(self.table.masks, self.table.pattern, self.unit, self.masks)[self.place]

    def level(self) -> int:
        """Return the size of the smallest group; 0 of no rows."""
        if self.equal or self.unit is not None:
            return int(self.sizes().min(initial=self.rows))
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
        """Count the rows whose group has one class; of a sample, estimate it."""
        single = (self.over > 0).sum(axis=1) == 1
        return of_all(int(single[self.place].sum()), self.counted, self.rows)


def of_all(among: int, counted: int, rows: int) -> int:
    """Scale a number of the counted rows to all rows."""
    return among if counted == rows else round(among * rows / max(counted, 1))


def smallest_group(masks: Masks, rows: Ints) -> int:
    """Return the size of the smallest group; `rows` are those of each pattern.

    Without a pattern it is 0.  No other pattern contains the pattern of the smallest group, so the
    group has the rows of that pattern alone.  The widest patterns are such.  Of the others only
    those with fewer rows than the smallest group so far are compared with the table.
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

    >>> [masks.tolist() for masks in distinct_masks(Items.dense([[1, 0], [1, 1], [1, 0]]))]
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


def groups_by_class(table: Labelled, rule: Rule, selected: Sequence[int]) -> Groups:
    """Count the groups of an attacker who does not know the class, by the class of their rows.

    >>> table = Labelled(Items.dense([[1], [0]]), np.array([0, 1], np.int32))
    >>> groups = groups_by_class(table, Rule(2, 2), [0])
    >>> groups.table.counts.tolist(), groups.over.tolist()
    ([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    """
    known = Knowledge.of(replace(table, sources=None), replace(rule, labelled=False), selected)
    return known.groups(table.y, rule.classes)


def measure_selection(table: Labelled, rule: Rule, selected: Sequence[int]) -> tuple[int, int]:
    """Return the smallest group when `selected` is published, and the rows to be left out.

    No row must be left out of a set that keeps the rule; the group is among those that stay.

    >>> toy = Labelled(Items.dense([[1], [0], [0]]), np.zeros(3, np.int32))
    >>> measure_selection(toy, Rule(k=2, classes=1), [0])
    (2, 1)
    """
    groups, stays = _staying(table, rule, selected)
    counts, over = groups.table.counts, groups.over
    left = counts * stays
    if not stays.all():
        over = groups.around(left)
    size = over[left > 0] if rule.labelled else over.sum(1)[left.any(1)]
    return int(size.min(initial=table.items.rows)) if len(size) else 0, int((counts - left).sum())


def kept_rows(table: Labelled, rule: Rule, selected: Sequence[int]) -> Bools:
    """Return the rows that stay when `selected` is published: all, if it keeps the rule.

    >>> toy = Labelled(Items.dense([[1], [0], [0]]), np.zeros(3, np.int32))
    >>> kept_rows(toy, Rule(k=2, classes=1), [0]).tolist()
    [False, True, True]
    """
    groups, stays = _staying(table, rule, selected)
    kept: Bools = stays[groups.table.pattern, table.y]
    return kept


def _staying(table: Labelled, rule: Rule, selected: Sequence[int]) -> tuple[Groups, Bools]:
    """Return the groups on `selected`, and of each pattern which rows stay, by class."""
    groups = groups_by_class(table, rule, selected)
    counts = groups.table.counts
    if not any(rows_beyond(counts, groups.over, rule)):
        return groups, np.ones(counts.shape, np.bool_)
    if rule.model == "containment":
        return groups, peel(groups.table.masks, counts, rule.k, rule.l_diversity,
                            labelled=rule.labelled)
    large = (counts if rule.labelled else counts.sum(1, keepdims=True)) >= rule.k
    diverse = (large & (counts > 0)).sum(1, keepdims=True) >= rule.l_diversity
    return groups, np.broadcast_to(large & diverse, counts.shape)


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


def shortfall(table: Labelled, rule: Rule, selected: Sequence[int]) -> Shortfall:
    """Count the rows that miss a rule; where classes may be known a group is of one class.

    >>> table = Labelled(Items.dense([[1], [1], [0]]), np.array([0, 1, 1], np.int32))
    >>> known = shortfall(table, Rule(2, 2, labelled=True), [0])
    >>> known.level, known.small, shortfall(table, Rule(2, 2, l_diversity=2), [0]).poor
    (1, 2, 0)
    """
    groups = groups_by_class(table, rule, selected)
    counts, over = groups.table.counts, groups.over
    size = over[counts > 0] if rule.labelled else over.sum(axis=1)
    small, poor = rows_beyond(counts, over, rule)
    if table.sources is not None:
        size = Knowledge.of(table, rule, selected).groups().sizes()
        small = int((size < rule.k).sum())
    return Shortfall(len(counts), int(size.min(initial=table.items.rows)), small, poor)


def numbered(sources: Any) -> Codes:
    """Number the sources of the rows 0, 1, ... in the order in which they appear; -1 for none.

    >>> numbered(["b", None, "a", "b"]).tolist()
    [0, -1, 1, 0]
    """
    column, known = np.asarray(sources, object), dict[str, int]()
    if column.ndim != 1:
        raise SchemaError(f"sources has {column.ndim} dimensions; give one source for each row")
    return np.array([known.setdefault(text, len(known)) if text else -1
                     for text in texts(column.tolist())], np.int32)


def codes_around(masks: Masks, pattern: Codes, codes: Codes, wanted: Masks | None = None) -> Ints:
    """Count for each wanted mask the distinct codes among the rows that contain it."""
    wanted = masks if wanted is None else wanted
    total, nobody = np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.int64)
    for low in range(0, int(codes.max(initial=-1)) + 1, _AT_ONCE):
        here = np.flatnonzero((codes >= low) & (codes < low + _AT_ONCE))
        some, place = np.unique(pattern[here], return_inverse=True)
        counts = np.zeros((len(some), _AT_ONCE), np.int64)
        counts[place, codes[here] - low] = 1
        total += (around(masks[some], counts, wanted, nobody)[0] > 0).sum(axis=1)
    return total
