"""Limits: what the groups tell of a column that must not be learned, and choices that keep limits.

An attacker who knows the chosen columns of a row, as far as the rule says that they may be known,
finds the group of that row; the group then tells of the sensitive column what its rows have there.
Of the target the group is found without the class, which is what would be learned.  Where the rule
says that the class may be known (`Rule.labelled`), a group of another sensitive column is found
with the class and without it, and every figure is the worse of both.

All figures are of the values that occur in the table, and of groups of rows of the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import log

import numpy as np

from privsieve.containment.choose import (
    MUTUAL,
    OF_SETS,
    Choice,
    Objective,
    choice_of,
    modular_order,
    named,
    tell,
    weights_of,
)
from privsieve.containment.knowledge import Groups, Knowledge, kept_rows, measure_selection
from privsieve.containment.labelled import (
    Bools,
    Codes,
    Floats,
    Ints,
    Labelled,
    cells,
    narrowed,
    rows_of,
    some_rows,
)
from privsieve.errors import NothingFits, ParameterError, SchemaError
from privsieve.kernels import patterns
from privsieve.kernels.patterns import Rule
from privsieve.public.canonical import EPSILON_UNITS, Json, decimal, quoted, text_of
from privsieve.rows.matrix import Items, Sensitive

#: Rows are counted of which the group has at least such a share of one value.
STEPS = ("0.8", "0.95")
#: Figures are rounded to such parts of one, risks up and protection down.
PARTS = 10**6
#: Counts of values in groups that are held at a time, and the fewest values at a time.
_CELLS, _VALUES = 2**22, 8
#: What whole numbers of 64 bits hold.
_LARGEST = 2**62
#: A logarithm in floating point is wrong by far less; what is nearer to a limit counts as missed.
_NEAR = 1e-9
_DECIMAL = r"\d{1,9}(\.\d{1,9})?"
#: What each limit is of, as a sentence says it, and how it is asked for.
OF = {"distinct": "smallest number of values in a group",
      "share": "largest share of one value in a group", "entropy": "least entropy l of a group",
      "closeness": "largest distance of a group to the whole table"}
ASKED = {"distinct": "--l-diversity", "share": "--max-share", "entropy": "--entropy-l",
         "closeness": "--closeness"}
#: A choice is made again so often for the limits; what then still misses one is repaired.
RUNS = 200
#: Of more columns than this not each is tried, and such a part of them is taken away at once.
_MANY, _PART = 64, 33
#: Figures of which a larger one tells less.
_MORE_IS_BETTER = ("distinct", "entropy")

Chosen = frozenset[int]
#: A limit, and the column of which it is.
Pair = tuple[str, str]


@dataclass(frozen=True, eq=False, repr=False)
class GroupValues:
    """What the groups of the rows tell of one column, for one stranger.

    groups : the groups, and the one of each row.
    size, most, values : of each group its rows, those of its commonest value, its values.
    logs : the natural logarithm of its entropy l, in floating point.
    apart, unit : its distance to the whole table is apart / (size * unit), exactly.
    """

    groups: Groups
    size: Ints
    most: Ints
    values: Ints
    logs: Floats
    apart: Ints
    unit: int

    def worst(self, name: str) -> Fraction:
        """Return a figure of the worst group; risks are rounded up, and protection down."""
        if name == "distinct":
            return Fraction(int(self.values.min()))
        if name == "entropy":
            least = Fraction(round(float(np.exp(self.logs.min())) * PARTS), PARTS)
            return least - Fraction(1, PARTS) if self._missed(name, least).any() else least
        parts, wholes = self._shares(name)
        share = parts / wholes
        near = np.flatnonzero(share >= share.max() - _NEAR)
        pairs = np.unique(np.stack([parts[near], wholes[near]]), axis=1).T.tolist()
        return Fraction(max(-(-share_rows * PARTS // whole) for share_rows, whole in pairs), PARTS)

    def missed(self, name: str, limit: Fraction) -> Bools:
        """Mark the rows of which the group misses a limit."""
        return self._missed(name, limit)[self.groups.table.pattern]

    def is_one_value(self, share: Fraction) -> Bools:
        """Mark the rows of which the group has at least such a share of one value."""
        return at_least(self.most, self.size, share)[self.groups.table.pattern]

    def _missed(self, name: str, limit: Fraction) -> Bools:
        """Mark the groups that miss a limit, or are too near to one of entropy to tell.

        Where each value has as many rows, entropy l is the number of values.
        """
        few = ~at_least(self.values, np.ones_like(self.values), limit)
        if name == "distinct":
            return few
        if name == "entropy":
            even = self.most * self.values == self.size
            return np.where(even, few, self.logs - log(limit) <= _NEAR)
        parts, wholes = self._shares(name)
        return ~at_least(wholes, parts, 1 / limit)

    def _shares(self, name: str) -> tuple[Ints, Ints]:
        """Return the share of the commonest value, or the distance, as parts of wholes."""
        return (self.most, self.size) if name == "share" else (self.apart, self.size * self.unit)


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
                "share": decimal_text(self.share), "entropy": decimal_text(self.entropy),
                "closeness": decimal_text(self.closeness)}


def disclosures(table: Labelled, rule: Rule) -> list[Disclosure]:
    """What the groups of a table tell of its target and of each sensitive column.

    `table` has the columns that a stranger may know as its items, and nothing else.

    >>> items = Items.dense([[1], [1], [1], [0]], ["smoker"])
    >>> table = Labelled(items, np.array([0, 0, 1, 1], np.int32), ("no", "yes"), "ill")
    >>> [ill] = disclosures(table, Rule(k=2, classes=2))
    >>> ill.column, ill.distinct, *map(decimal_text, (ill.share, ill.entropy, ill.closeness))
    ('ill', 2, '0.666667', '1.889881', '0.166667')
    """
    disclosed = []
    for column, role in columns_of(table):
        attackers = attacker_groups(table, rule, column, role)
        above = tuple((step, int(np.any([groups.is_one_value(Fraction(step))
                                         for groups in attackers], axis=0).sum()))
                      for step in STEPS)
        worst = {name: (min if name in _MORE_IS_BETTER else max)(
            groups.worst(name) for groups in attackers) for name in OF}
        disclosed.append(Disclosure(
            column.name, role, len(column.codes), len(np.unique(column.codes)), worst["share"],
            above, int(worst["distinct"]), worst["entropy"], worst["closeness"], column.ordered))
    return disclosed


def columns_of(table: Labelled) -> list[tuple[Sensitive, str]]:
    """The columns that must not be learned, each with its role; the target first."""
    target = [(Sensitive(table.target or "class", table.y, tuple(map(text_of, table.classes))),
               "target")] if len(table.classes) > 1 else []
    return [*target, *((column, "sensitive") for column in table.sensitive)]


def attacker_groups(table: Labelled, rule: Rule, column: Sensitive, role: str,
                    ) -> tuple[GroupValues, ...]:
    """The groups of who does not know the class and, of a column beside it, of who does."""
    without = groups_of(table.items, rule, column)
    if not rule.labelled or role == "target" or len(table.classes) < 2:
        return (without,)
    return (without, groups_of(table.items, rule, column, table.y))


def groups_of(items: Items, rule: Rule, column: Sensitive, y: Codes | None = None) -> GroupValues:
    """What the groups on all of these items tell of a column; `y` is a class that may be known.

    Values are counted some at a time, so that memory does not grow with how many there are.
    """
    values_held, places = np.unique(column.codes, return_inverse=True)
    codes: Codes = places.astype(np.int32)
    rows, values = items.rows, len(values_held)
    unit = rows * max(values - 1, 1) if column.ordered else 2 * rows
    if rows * max(unit, 2 * rows) >= _LARGEST:
        raise SchemaError(f"the sensitive column {column.name!r} has {values} values in {rows} "
                          "rows, too many to count exactly; round them, or cut them into bins")
    whole = np.bincount(codes, minlength=values).astype(np.int64)
    groups = Knowledge(items, rule.absent, () if y is None else (y,),
                       equal=rule.model == "k-anonymity").groups()
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
        counts = groups.around(held.reshape(many, -1))
        size = counts.sum(axis=1) if size is None else size
        np.maximum(most, counts.max(axis=1), out=most)
        distinct += (counts > 0).sum(axis=1)
        inner += (counts * np.log(np.maximum(counts, 1))).sum(axis=1)
        excess = counts * rows - whole[low:high] * size[:, None]
        if column.ordered:
            excess = np.cumsum(excess, axis=1) + carried[:, None]
            carried = excess[:, -1]
        apart += np.abs(excess).sum(axis=1)
    assert size is not None
    return GroupValues(groups, size, most, distinct, np.log(size) - inner / size, apart, unit)


def at_least(parts: Ints, wholes: Ints, limit: Fraction) -> Bools:
    """Whether a share is at least so much, each, exactly."""
    left, right = limit.denominator, limit.numerator
    if max(int(parts.max(initial=0)) * left, int(wholes.max(initial=0)) * right) < _LARGEST:
        few: Bools = parts * left >= wholes * right
        return few
    return np.asarray(parts.astype(object) * left >= wholes.astype(object) * right, np.bool_)


def decimal_text(figure: Fraction) -> str:
    """A figure that was rounded, as a decimal text.

    >>> decimal_text(Fraction(4, 5)), decimal_text(Fraction(1))
    ('0.8', '1')
    """
    return decimal(int(figure * PARTS), PARTS)


# --- limits ---------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Limits:
    """What every group keeps, of the target and of each sensitive column; None asks nothing.

    distinct : at least so many values.
    share : at most such a share of one value.
    entropy : an entropy l of at least so much: e to the power of the entropy of its values.
    closeness : at most such a distance to the whole table (t-closeness).
    """

    distinct: int | None = None
    share: Fraction | None = None
    entropy: Fraction | None = None
    closeness: Fraction | None = None

    @classmethod
    def of(cls, *, distinct: int | None = None, share: object = None, entropy: object = None,
           closeness: object = None) -> Limits:
        """Limits from decimal texts.

        >>> Limits.of(share="0.8").share
        Fraction(4, 5)
        """
        if distinct is not None and distinct < 1:
            raise ParameterError(f"{ASKED['distinct']} is {distinct}; a group has at least 1 value")
        return cls(distinct, _number("share", share), _number("entropy", entropy),
                   _number("closeness", closeness))

    def json(self) -> dict[str, Json]:
        """What a claim says beside its `l_diversity`: decimal texts.

        >>> Limits.of(share="0.80").json()
        {'share': '0.8', 'entropy': None, 'closeness': None}
        """
        return {name: None if limit is None else decimal(int(limit * EPSILON_UNITS))
                for name, limit in (("share", self.share), ("entropy", self.entropy),
                                    ("closeness", self.closeness))}

    def active(self) -> tuple[str, ...]:
        """The names of the limits that ask something.

        >>> Limits.of(distinct=1, share="0.8").active()
        ('share',)
        """
        return tuple(name for name in OF if (limit := getattr(self, name)) is not None
                     and not (name in _MORE_IS_BETTER and limit <= 1))

    def keeps(self, name: str, figure: Fraction) -> bool:
        """Return whether a figure keeps a limit."""
        limit = getattr(self, name)
        return bool(figure >= limit if name in _MORE_IS_BETTER else figure <= limit)

    def failing(self, groups: Sequence[GroupValues]) -> dict[str, Bools]:
        """For each limit the rows of which a group misses it; `groups` are of several strangers."""
        return {name: np.any([attacker.missed(name, Fraction(getattr(self, name)))
                             for attacker in groups],
                             axis=0) for name in self.active()}

    def monotone(self, rule: Rule) -> Limits:
        """The limits that, once missed, are missed with every further column, too.

        Fewer values never come of larger groups, so that `distinct` is one under every rule.
        Where all absences may be known (and so under k-anonymity) groups are parts of the table
        that do not overlap: without a column each is a union of such parts, and the others follow:
        the values of a union are an average of those of its parts, of which the largest share and
        the distance to the table are convex and the entropy is concave, so that the union is no
        worse than its worst part.  Groups that overlap are not averaged so: a row in two of them
        counts once in their union.  Where rows may be left out none is: who leaves depends on
        the columns.
        """
        if rule.suppress:
            return NONE
        parts = rule.model == "k-anonymity" or (rule.absent is not None and bool(rule.absent.all()))
        return self if parts else Limits(distinct=self.distinct)


#: What asks nothing.
NONE = Limits()


def published(table: Labelled, rule: Rule, selected: Sequence[int]) -> tuple[Labelled, Rule]:
    """The table of these items, of the rows that stay, and the rule of it.

    >>> table = Labelled(Items.dense([[1, 0], [1, 1], [0, 1]]), np.zeros(3, np.int32), ("all",))
    >>> published(table, Rule(k=2, classes=1, suppress=1), [0])[0].items.indices.tolist()
    [0, 1]
    """
    items, y, sensitive = table.items.take(selected), table.y, table.sensitive
    if rule.suppress:
        kept = np.flatnonzero(kept_rows(table, rule, selected))
        items, y = some_rows(items, kept), y[kept]
        sensitive = tuple(replace(column, codes=column.codes[kept]) for column in sensitive)
    return (Labelled(items, y, table.classes, table.target, sensitive=sensitive),
            narrowed(rule, selected))


def missed(table: Labelled, rule: Rule, limits: Limits, selected: Sequence[int]) -> dict[Pair, int]:
    """For each limit and column the rows that miss it, if these items are published.

    >>> items = Items.dense([[1], [1], [1], [0]])
    >>> table = Labelled(items, np.array([0, 0, 1, 1], np.int32), ("no", "yes"), "ill")
    >>> missed(table, Rule(k=1, classes=2), Limits.of(share="0.6"), [0])
    {('share', 'ill'): 3}
    """
    leaving = published(table, rule, selected)
    return {pair: int(rows.sum()) for pair, rows in _missing(*leaving, limits)}


def failing(table: Labelled, rule: Rule, limits: Limits, selected: Sequence[int]) -> Bools:
    """The rows that are published with these items and miss some limit."""
    leaving, known = published(table, rule, selected)
    rows = [rows for _, rows in _missing(leaving, known, limits)]
    return np.any(rows, axis=0) if rows else np.zeros(leaving.items.rows, np.bool_)


def _missing(table: Labelled, rule: Rule, limits: Limits) -> Iterator[tuple[Pair, Bools]]:
    for column, role in columns_of(table):
        for name, rows in limits.failing(attacker_groups(table, rule, column, role)).items():
            yield (name, column.name), rows


def figures(table: Labelled, rule: Rule, selected: Sequence[int]) -> Mapping[Pair, Fraction]:
    """For each limit and column what the groups of these items come to."""
    leaving, known = published(table, rule, selected)
    return {(name, figure.column): Fraction(getattr(figure, name))
            for figure in disclosures(leaving, known) for name in OF}


def _number(name: str, text: object) -> Fraction | None:
    if text is None:
        return None
    if not re.fullmatch(_DECIMAL, str(text)):
        raise ParameterError(f"{ASKED[name]} is {str(text)!r}; give a decimal number with a point "
                             "and at most nine digits behind it, such as 0.8")
    number = Fraction(str(text))
    if number < 1 if name == "entropy" else not 0 < number <= 1:
        kept = "at least 1" if name == "entropy" else "above 0 and at most 1"
        raise ParameterError(f"{ASKED[name]} is {text}; the {OF[name]} is {kept}")
    return number


@dataclass(frozen=True, eq=False)
class Method:
    """How columns are chosen.

    choose : gives a choice of the items of a table that keeps a rule.  It is called again with a
        table of fewer items.
    objective : what the method maximises, as `choice_of` takes it; None where the choice has none.
        Its weights say which item is dearer, too (mutual information, where it has none).
    runs : how often the choice may be made.
    """

    choose: Callable[[Labelled, Rule], Choice]
    objective: Objective | None = None
    runs: int = RUNS


def limited(table: Labelled, rule: Rule, limits: Limits, method: Method) -> Choice:
    """A choice that keeps all limits, for the target and each sensitive column.

    1. Monotone limits (`Limits.monotone`) are kept while choosing.  In the order of weight, the
       first item with which those before it miss one can never stand beside them: it is forbidden,
       with all others that miss it there, and the choice is made again.  For a greedy choice by
       weights that passes over what does not fit, this is what a look at each step would give; for
       other methods it is one good set of many, and the limits are kept as well.
    2. Of what still misses a limit, the item is taken away without which fewest rows miss one
       (ties: the lightest, then the first), of those that such rows show, until none does.  While
       there are more than 64, those go first of whose rows most, as a share, miss one.
    3. What was taken away is tried again, the heaviest first, and whatever fits is added.

    Refused where nothing is left, with what would work.  `bound` is that of the choice without
    limits, of which every choice with limits is one.

    >>> from privsieve.containment.choose import greedy
    >>> items = Items.dense([[1, 1], [1, 1], [1, 0], [0, 0], [0, 1], [0, 0]])
    >>> table = Labelled(items, np.array([1, 1, 1, 0, 0, 0], np.int32), ("no", "yes"), "ill")
    >>> how = Method(greedy)
    >>> limited(table, Rule(k=2, classes=2), Limits.of(share="0.7"), how).selected
    (1,)
    """
    first = method.choose(table, rule)
    if not limits.active() or not first.selected:
        return first
    run = _Limited(table, rule, limits, method, first.selected)
    choice = run.monotone(first)
    selected = run.repaired(choice.selected)
    # What was published before may leave again, unless its column is not to be chosen from.
    again = {j for j in run.counted & set(first.selected)
             if table.items.origin[j] not in table.closed}
    if not selected - (run.counted - again) or run.misses(selected):
        raise NothingFits(run.refusal())
    if not run.counted <= set(first.selected):
        selected -= run.counted
    if selected != set(choice.selected):
        choice = replace(run.described(selected), complete=choice.complete)
    return replace(choice, bound=first.bound, complete=choice.complete and first.complete,
                   proved=first.bound is not None and choice.objective == first.bound)


class _Limited:
    """One table, one rule, one set of limits."""

    def __init__(self, table: Labelled, rule: Rule, limits: Limits, method: Method,
                 first: Sequence[int]) -> None:
        self.table, self.rule, self.limits, self.method = table, rule, limits, method
        by = method.objective
        self.values = weights_of(table, rule, MUTUAL if by is None or named(by) in OF_SETS else by,
                                 ).values
        self.weighty = sorted({*np.flatnonzero(self.values).tolist(), *first})
        self.counted: Chosen = frozenset(table.counted)
        self.always = limits.monotone(rule)
        self._rows: dict[Chosen, int] = {}

    def monotone(self, choice: Choice) -> Choice:
        """Choose again until no monotone limit is missed, or often enough."""
        allowed = np.ones(len(self.table.items), np.bool_)
        for again in range(self.method.runs):
            wrong = self._wrong(choice.selected)
            if not wrong:
                return choice
            allowed[wrong] = False
            if not set(np.flatnonzero(allowed).tolist()) - self.counted:
                return replace(choice, selected=())
            tell(f"limits: {int((~allowed).sum())} columns forbidden, chosen {again + 1} times")
            choice = self._chosen(allowed)
        return choice

    def repaired(self, selected: Sequence[int]) -> Chosen:
        """Take away until no row misses a limit, then add what fits; the counted ones stay."""
        now = frozenset(selected) | self.counted
        while self._failing(now) and (held := self._held(now)):
            tell(f"limits: {self._failing(now)} rows miss one with {len(now)} columns")
            now -= {*held[:max(len(now) // _PART, 1)]}
        if self._failing(now) or now <= self.counted:
            return self._grown(self.counted, self.weighty)
        return self._grown(now, set(selected) - now)

    def described(self, selected: Chosen) -> Choice:
        """A set of items as a choice of this method."""
        chosen, table, method = sorted(selected), self.table, self.method
        if method.objective is None:
            level, suppressed = measure_selection(table, self.rule, chosen)
            return Choice(tuple(chosen), level, suppressed=suppressed)
        return choice_of(table, self.rule, chosen, method.objective)

    def refusal(self) -> str:
        """Name a limit that no column keeps, and the figure that the best column would keep."""
        first = sorted(self.counted)
        tried = [first, *(sorted(self.counted | {j}) for j in self.weighty)]
        alone = [figures(self.table, self.rule, selected) for selected in tried
                 if selected and self._keeps(selected)]
        pairs = [pair for pair in figures(self.table, self.rule, first)
                 if pair[0] in self.limits.active()]
        best = {pair: _best(pair, [figure_of[pair] for figure_of in alone]) for pair in pairs}
        missed = [pair for pair in pairs if not self.limits.keeps(pair[0], best[pair])]
        name, column = pair = (missed or pairs)[0]
        least = "at most" if name in _MORE_IS_BETTER else "at least"
        others = (", and less of other limits or columns, which may miss theirs as well"
                  if len(pairs) > 1 else "")
        together = "" if missed else " together with the others"
        before = " with what was published of this snapshot before" if self.counted else ""
        return (f"{ASKED[name]} {decimal(int(getattr(self.limits, name) * EPSILON_UNITS))} for "
                f"{quoted(column)}{together} is kept by no set of columns that was found: the "
                f"{OF[name]} is {decimal_text(best[pair])} with the best column{before}; ask for "
                f"{least} {decimal_text(best[pair])}{others}")

    def _wrong(self, selected: Sequence[int]) -> list[int]:
        """Items that miss a monotone limit beside those that come before all of them."""
        if not self.always.active():
            return []
        order = modular_order(self.values, np.array(sorted(set(selected) - self.counted), np.int64))
        ranked = order.tolist()
        if not self._misses(ranked):
            return []
        low, high = 0, len(ranked) - 1
        while low < high:  # the first item with which all before it miss a limit
            middle = (low + high) // 2
            low, high = (low, middle) if self._misses(ranked[:middle + 1]) else (middle + 1, high)
        return [j for j in ranked[low:] if j == ranked[low] or self._misses([*ranked[:low], j])]

    def misses(self, chosen: Chosen) -> bool:
        """Whether rows miss a limit, if these leave beside what was published before."""
        return bool(self._failing(chosen | self.counted))

    def _misses(self, chosen: Iterable[int]) -> bool:
        together = sorted(self.counted.union(chosen))
        return bool(failing(self.table, self.rule, self.always, together).any())

    def _chosen(self, allowed: Bools) -> Choice:
        """The choice among fewer items."""
        among = np.flatnonzero(allowed | np.isin(np.arange(len(allowed)), [*self.counted]))
        counted = tuple(np.flatnonzero(np.isin(among, [*self.counted])).tolist())
        narrow = replace(self.table, items=self.table.items.take(among.tolist()), counted=counted)
        choice = self.method.choose(narrow, narrowed(self.rule, among.tolist()))
        return replace(choice, selected=tuple(int(among[j]) for j in choice.selected))

    def _failing(self, chosen: Chosen) -> int:
        """How many rows miss a limit."""
        if chosen not in self._rows:
            rows = failing(self.table, self.rule, self.limits, sorted(chosen))
            self._rows[chosen] = int(rows.sum())
        return self._rows[chosen]

    def _held(self, chosen: Chosen) -> list[int]:
        """What may be taken away for rows that miss a limit to have other groups, best first."""
        absent, held = self.rule.absent, sorted(chosen - self.counted)
        if not self.rule.suppress:  # else who leaves may change with any of them
            rows, many = failing(self.table, self.rule, self.limits, sorted(chosen)), len(held)
            hit = {j: rows[rows_of(self.table.items, j)] for j in held}
            held = [j for j in held if hit[j].any() or self.rule.model == "k-anonymity"
                    or (absent is not None and absent[j])]
            if many > _MANY:
                return sorted(held, key=lambda j: (-hit[j].sum() / max(len(hit[j]), 1),
                                                   self.values[j], j))
        return sorted(held, key=lambda j: (self._failing(chosen - {j}), int(self.values[j]), j))

    def _grown(self, start: Chosen, candidates: Iterable[int]) -> Chosen:
        """Add whatever fits, the heaviest first."""
        now = start
        among = np.array(sorted(set(candidates) - start), np.int64)
        for j in modular_order(self.values, among).tolist():
            if self._keeps(now | {j}) and not self._failing(now | {j}):
                now |= {j}
        return now

    def _keeps(self, chosen: Iterable[int]) -> bool:
        """Whether a set of items keeps the rule, and enough sources where these are counted."""
        table, order = self.table, np.array(sorted(chosen), np.int64)
        accepted = patterns.greedy(cells(table.items), np.ascontiguousarray(table.y, np.int32),
                                   order, self.rule)
        return len(accepted) == len(order) and (table.sources is None or Knowledge.of(
            table, self.rule, order.tolist()).groups().level() >= self.rule.k)


def _best(pair: Pair, among: Sequence[Fraction]) -> Fraction:
    return max(among) if pair[0] in _MORE_IS_BETTER else min(among)
