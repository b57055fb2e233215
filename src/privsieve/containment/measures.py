"""Measures: how well the rows of a table hide.  Levels, risks, groups; all from its patterns.

The *group* of a row are the rows that hold all that it holds: who knows what a person has finds the
person among them.  Its *equals* are the rows of the same pattern: who knows what a person has and
lacks finds the person among these.  A `Survey` counts groups once for all measures, of all rows or
of a sample.  A sample leaves out rows whose groups are counted, never rows of a group: each group
that is counted is exact, and only shares of rows are estimates.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log, sqrt
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from privsieve.containment.knowledge import Knowledge
from privsieve.containment.labelled import Codes, Ints, Masks, bits_of, cells
from privsieve.errors import ParameterError, SchemaError
from privsieve.kernels.patterns import PatternTable, Rule, around, pattern_table
from privsieve.rows.matrix import Items

Positions = npt.NDArray[np.signedinteger[Any]]

#: A count of more work than this (pairs of patterns that contain each other, and a hundredth of
#: those that are compared) takes minutes.
MOST_WORK = 5 * 10**9
#: Rows of a sample that nobody asked for, and patterns from which the work is foreseen.
SAMPLE, FORESEEN = 10_000, 256
#: Above this share of rows that lose k with the busiest rows, a measure warns.
HUB_LIMIT = (1, 5)


@dataclass(frozen=True, eq=False, repr=False)
class Survey:
    """What the groups of the rows `who` are made of.

    table : the patterns of all rows.
    who : the rows whose groups were counted: all, or a sample in their order.
    asked, place : their patterns, and of each of them its position there.
    over : of each pattern asked for, the rows of its group by class.
    held : of each pattern of the table, the rows `who` in whose group its rows sit.
    """

    table: PatternTable
    who: Ints
    asked: Positions
    place: Ints
    over: Ints
    held: Ints

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return len(self.table.pattern)

    @property
    def complete(self) -> bool:
        """Whether the groups of all rows were counted."""
        return len(self.who) == self.rows

    @property
    def margin(self) -> float:
        """The 95 % half-width of a share of rows that the sample estimates; 0 without a sample.

        Hoeffding's: it holds for every share and for rows drawn without replacement.
        """
        return 0.0 if self.complete else sqrt(log(2 / 0.05) / (2 * len(self.who)))

    def group(self) -> Ints:
        """The rows in the group of each of `who`."""
        found: Ints = self.over.sum(axis=1)[self.place]
        return found


def count(table: PatternTable, sample: int | None = None) -> Survey:
    """The survey of a table of patterns."""
    rows = len(table.pattern)
    who = np.arange(rows)
    if sample is not None and sample < rows:
        who = np.sort(np.random.default_rng(0).choice(rows, sample, replace=False))
    asked, place, size = np.unique(table.pattern[who], return_inverse=True, return_counts=True)
    over, held = around(table.masks, table.counts, masks_of(table, asked), size)
    return Survey(table, who, asked, place, over, held)


def surveyed(items: Items, y: Codes, classes: int, *, k: int | None = None,
             sample: int | None = None) -> Survey:
    """Count the groups of all rows, or of a sample where all would take minutes.

    k : a level that is demanded: all rows are counted unless a sample shows that it is not kept.
    sample : so many rows, drawn at random (always the same ones), whatever it takes; 0 is all.

    >>> items, y = Items.dense([[1, 1], [1, 0], [1, 0]]), np.zeros(3, np.int32)
    >>> surveyed(items, y, 1).group().tolist()
    [1, 3, 3]
    >>> some = surveyed(items, y, 1, sample=2)
    >>> len(some.who), some.complete
    (2, False)
    """
    if not items.rows:
        raise SchemaError("the table has no row; a risk is a share of rows: give at least one")
    table = pattern_table(cells(items), y, classes)
    if sample is not None or work(table, np.diff(items.indptr)) <= MOST_WORK:
        return count(table, sample or None)
    some = count(table, SAMPLE)
    return some if k is None or int(some.group().min()) < k else count(table)


def work(table: PatternTable, support: Ints) -> float:
    """What a count of all groups would take, foreseen from some patterns; 0 where it is little.

    support : of each item the rows that hold it.
    """
    many = len(table.masks)
    if many**2 <= MOST_WORK:
        return 0.0
    some = np.random.default_rng(0).choice(many, min(FORESEEN, many), replace=False)
    masks = table.masks[np.sort(some)]
    one = np.ones((many, 1), np.int64)
    over, _ = around(table.masks, one, masks, one[:len(some), 0])
    listed = np.where(bits_of(masks, len(support)), support, many).min(axis=1, initial=many)
    return float((over[:, 0] + listed / 100).mean() * many)


def masks_of(table: PatternTable, patterns: Positions) -> Masks:
    """The masks of these patterns, in the order of the table; no copy of all of them."""
    return table.masks if len(patterns) == len(table.masks) else table.masks[patterns]


@dataclass(frozen=True)
class Crowd:
    """How well the rows hide, against one kind of attacker.

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
    """Whether the crowd that hides everybody is the same few rows.

    everywhere : rows that sit in every group.
    left : rows that stay when the k rows that sit in most groups are taken away.
    below, alone : of those, the rows whose group is then smaller than k, or the row itself.
    """

    everywhere: int
    left: int
    below: int
    alone: int

    @property
    def warning(self) -> str | None:
        """A sentence where more than a fifth of the rows hide behind the busiest ones."""
        part, whole = HUB_LIMIT
        if self.below * whole <= self.left * part:
            return None
        return (f"{self.below} of {self.left} rows fall below k without the k rows that sit in "
                "most groups: the crowd is the same few rows for many; say whose row each is, or "
                "take profile 'few' or 'strict'")


@dataclass(frozen=True)
class Sample:
    """How many rows had their groups counted, where not all had.

    Shares of rows, averages of chances and what is counted of groups are then estimates: each true
    share is within `margin` of its estimate with a probability of 95 %.  A level is an upper bound.
    """

    rows: int
    margin: float


@dataclass(frozen=True)
class Risk:
    """What a table gives away about its rows.

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
    """The size of the smallest group; with `per_row` the size of each row's group.

    Of no rows the level is 0; of no columns it is the number of rows.

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
    """How often the rarest row occurs; with `per_row` how often each row does.

    >>> k_anonymity_level([[1, 0], [1, 0], [1, 1]], per_row=True).tolist()
    [2, 2, 1]
    """
    return _level(X, "k-anonymity", per_row=per_row)


def _level(X: Any, model: Literal["containment", "k-anonymity"], *, per_row: bool) -> int | Ints:
    items, _, _ = read(X)
    sizes = Knowledge.of(items, Rule(1, 1, model=model)).groups().sizes()
    return sizes if per_row else int(sizes.min()) if len(sizes) else 0


def classification_metric(X: Any, y: Any, k: int) -> int:
    """Rows outside the majority of their equals; all rows of a pattern with fewer than k.

    >>> classification_metric([[1], [1], [1], [0]], [0, 0, 1, 1], k=2)
    2
    """
    demand_k(k)
    items, labels, classes = read(X, y)
    counts = pattern_table(cells(items), labels, classes).counts
    size = counts.sum(axis=1)
    return int(np.where(size < k, size, size - counts.max(axis=1)).sum())


def disclosure_risk(X: Any, y: Any = None, *, k: int = 5) -> Risk:
    """What the table gives away, against several kinds of attacker.

    Parameters
    ----------
    X : anything that `items_of` reads, or `Items`
        the table, or a projection of it.
    y : labels, optional
        whose values nobody should learn from a group.
    k : int
        the group size that is asked for.

    Examples
    --------
    >>> risk = disclosure_risk([[1, 0], [1, 0], [1, 1]], [0, 1, 1], k=2)
    >>> risk.containment.level, risk.prosecutor.highest, risk.unique, risk.one_class
    (1, 1.0, 1, 1)
    """
    demand_k(k)
    items, labels, classes = read(X, y)
    return risk_of(surveyed(items, labels, classes, sample=0), k, labelled=y is not None)


def risk_of(survey: Survey, k: int, *, labelled: bool) -> Risk:
    """The risks of a table whose groups were counted."""
    table, group = survey.table, survey.group()
    size = table.counts.sum(axis=1)
    prosecutor = crowd(size[table.pattern], k)
    one = survey.place[((survey.over > 0).sum(axis=1) == 1)[survey.place]]
    return Risk(
        survey.rows, k, len(size), prosecutor, crowd(group, k, survey.rows),
        int((size == 1).sum()), _of_all(len(one), len(group), survey.rows) if labelled else None,
        int(size[(table.counts > 0).sum(axis=1) == 1].sum()) if labelled else None,
        hub_of(survey, k),
        None if survey.complete else Sample(len(survey.who), survey.margin))


def _of_all(found: int, counted: int, rows: int) -> int:
    """How many of all rows, if so many were found among those that were counted."""
    return found if counted == rows else round(found * rows / max(counted, 1))


def hub(items: Items, k: int) -> Hub:
    """Take the k rows away that sit in most groups, ties to the first, and look again.

    >>> hub(Items.dense([[1, 1], [1, 0], [0, 1], [0, 0]]), 2)
    Hub(everywhere=1, left=2, below=1, alone=1)
    """
    return hub_of(surveyed(items, np.zeros(items.rows, np.int32), 1, sample=0), k)


def hub_figure(found: Hub, k: int) -> str:
    """The figure that stands beside every level: whether the same few rows hide everybody."""
    return (f"{found.everywhere} rows sit in every group; without the busiest {k} rows "
            f"{found.below} of {found.left} fall below {k}")


def hub_of(survey: Survey, k: int) -> Hub:
    """The same of a table whose groups were counted; of a sample's groups, it is an estimate."""
    table = survey.table
    held = survey.held[table.pattern]
    busiest = np.argsort(-held, kind="stable")[:k]
    where, many = np.unique(table.pattern[busiest], return_counts=True)
    lost, _ = around(masks_of(table, where), many[:, None], masks_of(table, survey.asked),
                     np.zeros(len(survey.asked), np.int64))
    group = (survey.group() - lost[survey.place, 0])[~np.isin(survey.who, busiest)]
    left = survey.rows - len(busiest)
    return Hub(int((held == len(survey.who)).sum()), left,
               *(_of_all(int(found.sum()), len(group), left) for found in (group < k, group == 1)))


def read(X: Any, y: Any = None) -> tuple[Items, npt.NDArray[np.int32], int]:
    """A table as items, its labels as 0, 1, ... and how many there are (one without labels)."""
    from privsieve.rows.items import items_of

    items, labels, classes = items_of(X, y)
    return items, labels, len(classes)


def demand_k(k: int) -> None:
    """Refuse a k that protects nobody."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 2:
        raise ParameterError(f"k is {k!r}; a group of one hides nobody: give a whole number from "
                             "2 on")


def crowd(group: Ints, k: int, rows: int | None = None) -> Crowd:
    """What the sizes of the rows' groups say together; rows of nobody may have a group of 0.

    rows : of so many rows these are a sample.
    """
    sizes, many = np.unique(group, return_counts=True)
    chance = 1 / np.maximum(sizes, 1)
    return Crowd(int(sizes[0]), float(chance[0]), float((many * chance).sum() / len(group)),
                 _of_all(int(many[sizes < k].sum()), len(group), rows or len(group)),
                 tuple(zip(sizes.tolist(), many.tolist(), strict=True)))
