"""Disclosure: what its group tells of a row, in a column that must not be learned.

A stranger who knows the chosen columns of a row, as far as the rule says that they may be known,
finds the group of that row; the group then tells of the sensitive column what its rows have there.
Of the target the group is found without the class, which is what would be learned.  Where the rule
says that the class may be known (`Rule.labelled`), a group of another sensitive column is found
with the class and without it, and every figure is the worse of both.

All figures are of the values that occur in the table, and of groups of rows of the table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, log

import numpy as np

from privsieve.containment.knowledge import Groups, Knowledge
from privsieve.containment.labelled import (
    Bools,
    Codes,
    Floats,
    Ints,
    Labelled,
)
from privsieve.errors import SchemaError
from privsieve.kernels.patterns import Rule
from privsieve.public.canonical import Json, decimal, text_of
from privsieve.rows.matrix import Items, Sensitive

#: Rows are counted of which the group has at least such a share of one value.
STEPS = ("0.8", "0.95")
#: Figures are rounded to such parts of one, risks up and protection down.
PARTS = 10**6
#: Counts of values in groups that are held at a time, and the fewest values at a time.
_CELLS, _VALUES = 2**22, 8
#: What whole numbers of 64 bits hold.
_LARGEST = 2**62
#: A logarithm in floating point is wrong by far less; what is nearer to a limit is counted exactly,
_NEAR = 1e-9
#: in groups that are multiples of so few rows; of a larger one the limit counts as missed.
_EXACT = 4096


@dataclass(frozen=True, eq=False, repr=False)
class GroupValues:
    """What the groups of the rows tell of one column, for one stranger.

    groups : the groups, and the one of each row.
    size, most, values : of each group its rows, those of its commonest value, its values.
    logs : the natural logarithm of its entropy l, in floating point.
    apart, unit : its distance to the whole table is apart / (size * unit), exactly.
    codes : the value of each row.
    """

    groups: Groups
    size: Ints
    most: Ints
    values: Ints
    logs: Floats
    apart: Ints
    unit: int
    codes: Codes

    @property
    def pattern(self) -> Codes:
        """The group of each row."""
        return self.groups.table.pattern

    def counts(self, at: int) -> list[int]:
        """How often each value stands in a group, without those that do not."""
        found = np.bincount(self.codes[self.groups.rows(at)])
        return [int(count) for count in found[found > 0]]

    def poor(self, least: Fraction) -> Bools:
        """The groups whose entropy l is below `least`; never one too few.

        Where floating point cannot tell, whole numbers do.
        """
        above = self.logs - log(least)
        below: Bools = above < 0
        even = self.most * self.values == self.size  # then entropy l is the number of values
        below[even] = ~at_least(self.values[even], np.ones_like(self.values[even]), least)
        for at in np.flatnonzero((np.abs(above) <= _NEAR) & ~even).tolist():
            below[at] = not _diverse(self.counts(at), least)
        return below


@dataclass(frozen=True, repr=False)
class Disclosure:
    """What the groups tell of a column, at worst.

    role : "target" or "sensitive".
    rows, values : of the table, as many as occur in it.
    share : the largest share of one value in a group, rounded up.
    above : for each step the rows whose group has at least such a share of one value.
    distinct : the fewest values in a group.
    entropy : the least entropy l, rounded down.
    closeness : the largest distance to the whole table, rounded up; `ordered` says which.
    """

    column: str
    role: str
    rows: int
    values: int
    share: Fraction
    above: tuple[tuple[str, int], ...]
    distinct: int
    entropy: Fraction
    closeness: Fraction
    ordered: bool

    def json(self) -> dict[str, Json]:
        """The same in words and decimal texts."""
        return {**vars(self), "above": [[step, rows] for step, rows in self.above],
                "share": shown(self.share), "entropy": shown(self.entropy),
                "closeness": shown(self.closeness)}


def disclosures(table: Labelled, rule: Rule) -> list[Disclosure]:
    """What the groups of a table tell of its target and of each sensitive column.

    `table` has the columns that a stranger may know as its items, and nothing else.

    >>> items = Items.dense([[1], [1], [1], [0]], ["smoker"])
    >>> table = Labelled(items, np.array([0, 0, 1, 1], np.int32), ("no", "yes"), "ill")
    >>> [told] = disclosures(table, Rule(k=2, classes=2))
    >>> told.column, told.distinct, shown(told.share), shown(told.entropy), shown(told.closeness)
    ('ill', 2, '0.666667', '1.889881', '0.166667')
    """
    told = []
    for column, role in columns_of(table):
        found = strangers(table, rule, column, role)
        above = {step: [at_least(one.most, one.size, Fraction(step))[one.pattern] for one in found]
                 for step in STEPS}
        told.append(Disclosure(
            column.name, role, len(column.codes), len(np.unique(column.codes)),
            max(_largest(one.most, one.size) for one in found),
            tuple((step, int(np.any(sure, axis=0).sum())) for step, sure in above.items()),
            min(int(one.values.min()) for one in found), min(_least_entropy(one) for one in found),
            max(_largest(one.apart, one.size * one.unit) for one in found), column.ordered))
    return told


def columns_of(table: Labelled) -> list[tuple[Sensitive, str]]:
    """The columns that must not be learned, each with its role; the target first."""
    target = [(Sensitive(table.target or "class", table.y, tuple(map(text_of, table.classes))),
               "target")] if len(table.classes) > 1 else []
    return [*target, *((column, "sensitive") for column in table.sensitive)]


def strangers(table: Labelled, rule: Rule, column: Sensitive, role: str,
              ) -> tuple[GroupValues, ...]:
    """The groups of who does not know the class and, of a column beside it, of who does."""
    without = groups_of(table.items, replace(rule, labelled=False), column)
    if not rule.labelled or role == "target" or len(table.classes) < 2:
        return (without,)
    return (without, groups_of(table.items, rule, column, table.y))


def groups_of(items: Items, rule: Rule, column: Sensitive, y: Codes | None = None) -> GroupValues:
    """What the groups on all of these items tell of a column; `y` is a class that may be known.

    Values are counted some at a time, so that memory does not grow with how many there are.
    """
    given, places = np.unique(column.codes, return_inverse=True)
    codes: Codes = places.astype(np.int32)
    rows, values = items.rows, len(given)
    unit = rows * max(values - 1, 1) if column.ordered else 2 * rows
    if rows * max(unit, 2 * rows) >= _LARGEST:
        raise SchemaError(f"the sensitive column {column.name!r} has {values} values in {rows} "
                          "rows, too many to count exactly; round them, or cut them into bins")
    whole = np.bincount(codes, minlength=values).astype(np.int64)
    groups = Knowledge.of(items, rule, y).groups()
    pattern, many = groups.table.pattern, len(groups.table.masks)
    most, distinct, apart, carried = (np.zeros(many, np.int64) for _ in range(4))
    inner = np.zeros(many)
    wide = max(_CELLS // max(many, 1), _VALUES)
    size = groups.over[:, 0] if groups.equal or values > wide else None
    for low in range(0, values, wide):
        high = min(low + wide, values)
        here = (codes >= low) & (codes < high)
        cell = pattern[here].astype(np.int64) * (high - low) + (codes[here] - low)
        held = np.bincount(cell, minlength=many * (high - low)).astype(np.int64)
        found = groups.around(held.reshape(many, -1))
        size = found.sum(axis=1) if size is None else size
        np.maximum(most, found.max(axis=1), out=most)
        distinct += (found > 0).sum(axis=1)
        inner += (found * np.log(np.maximum(found, 1))).sum(axis=1)
        more = found * rows - whole[low:high] * size[:, None]
        if column.ordered:
            more = np.cumsum(more, axis=1) + carried[:, None]
            carried = more[:, -1]
        apart += np.abs(more).sum(axis=1)
    assert size is not None
    return GroupValues(groups, size, most, distinct, np.log(size) - inner / size, apart, unit,
                       codes)


def at_least(parts: Ints, wholes: Ints, limit: Fraction) -> Bools:
    """Whether a share is at least so much, each, exactly."""
    left, right = limit.denominator, limit.numerator
    if max(int(parts.max(initial=0)) * left, int(wholes.max(initial=0)) * right) < _LARGEST:
        few: Bools = parts * left >= wholes * right
        return few
    return np.asarray(parts.astype(object) * left >= wholes.astype(object) * right, np.bool_)


def beyond(parts: Ints, wholes: Ints, limit: Fraction) -> Bools:
    """Whether a share is above so much, each, exactly."""
    return ~at_least(wholes, parts, 1 / limit)


def shown(figure: Fraction) -> str:
    """A figure that was rounded, as a decimal text.

    >>> shown(Fraction(4, 5)), shown(Fraction(1))
    ('0.8', '1')
    """
    return decimal(int(figure * PARTS), PARTS)


def _largest(parts: Ints, wholes: Ints) -> Fraction:
    """The largest of some shares, rounded up."""
    share = parts / wholes
    near = np.flatnonzero(share >= share.max() - _NEAR)
    pairs = np.unique(np.stack([parts[near], wholes[near]]), axis=1).T.tolist()
    return Fraction(max(-(-part * PARTS // whole) for part, whole in pairs), PARTS)


def _least_entropy(found: GroupValues) -> Fraction:
    """The least entropy l, rounded down."""
    least = Fraction(round(float(np.exp(found.logs.min())) * PARTS), PARTS)
    return least - Fraction(1, PARTS) if found.poor(least).any() else least


def _diverse(counts: list[int], least: Fraction) -> bool:
    """Whether entropy l is at least so much: G^G >= least^G times the product of all c^c."""
    part = gcd(*counts)
    counts = [count // part for count in counts]
    size = sum(counts)
    if size > _EXACT:
        return False
    product = least.numerator ** size
    for count in counts:
        product *= count ** count
    return bool((size * least.denominator) ** size >= product)
