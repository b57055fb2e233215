"""Measure what groups tell of sensitive columns, and choose columns that keep limits on it.

An attacker who knows the chosen columns of a row, as far as the rule allows, finds the group of
that row.  The values of its rows then tell of the sensitive column.  Groups for the target are
found without the class, which would be learned.  If the rule says that the class may be known
(`Rule.labelled`), groups for another sensitive column are found with the class and without it, and
each figure is the worse of both.

All figures are of values that occur in the table, and of groups of rows of the table.
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

#: Shares of one value in a group: the rows with such a group are counted.
STEPS = ("0.8", "0.95")
#: Figures are rounded to such parts of one, risks up and protection down.
PARTS = 10**6
#: The most counts of values in groups at a time, and the fewest values at a time.
_CELLS, _VALUES = 2**22, 8
#: What whole numbers of 64 bits hold.
_LARGEST = 2**62
#: The error of a logarithm is far smaller; an entropy nearer to its limit counts as missed.
_NEAR = 1e-9
_DECIMAL = r"\d{1,9}(\.\d{1,9})?"
#: What each limit bounds, in words, and its option.
OF = {"distinct": "smallest number of values in a group",
      "share": "largest share of one value in a group", "entropy": "least entropy l of a group",
      "closeness": "largest distance of a group to the whole table"}
ASKED = {"distinct": "--l-diversity", "share": "--max-share", "entropy": "--entropy-l",
         "closeness": "--closeness"}
#: The most choices for the limits; a choice that still misses a limit is repaired.
RUNS = 200
#: The most columns that are tried one by one; of more, one part in 33 is removed at once.
_MANY, _PART = 64, 33
#: Figures that protect better if they are larger.
_MORE_IS_BETTER = ("distinct", "entropy")

Chosen = frozenset[int]
#: A limit, and the column of which it is.
Pair = tuple[str, str]


@dataclass(frozen=True, eq=False, repr=False)
class GroupValues:
    """What the groups of the rows tell one attacker of one column.

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
        """Mark the groups that miss a limit, or are too near to a limit of entropy.

        If all values have the same number of rows, entropy l is the number of values.
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
    """What the worst group tells of a column.

    role : "target" or "sensitive".
    rows, values : the rows of the table, and the values that occur in it.
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
        """Return the figures as decimal texts."""
        return {**vars(self), "above": [[step, rows] for step, rows in self.above],
                "share": decimal_text(self.share), "entropy": decimal_text(self.entropy),
                "closeness": decimal_text(self.closeness)}


def disclosures(table: Labelled, rule: Rule) -> list[Disclosure]:
    """Measure what the groups of a table tell of its target and of each sensitive column.

    The items of `table` are the columns that an attacker may know, and nothing else.

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
    """Return the columns that must not be learned, each with its role; the target first."""
    target = [(Sensitive(table.target or "class", table.y, tuple(map(text_of, table.classes))),
               "target")] if len(table.classes) > 1 else []
    return [*target, *((column, "sensitive") for column in table.sensitive)]


def attacker_groups(table: Labelled, rule: Rule, column: Sensitive, role: str,
                    ) -> tuple[GroupValues, ...]:
    """Return the groups of an attacker without the class and, except for the target, with it."""
    without = groups_of(table.items, rule, column)
    if not rule.labelled or role == "target" or len(table.classes) < 2:
        return (without,)
    return (without, groups_of(table.items, rule, column, table.y))


def groups_of(items: Items, rule: Rule, column: Sensitive, y: Codes | None = None) -> GroupValues:
    """Measure what the groups on all these items tell of a column; `y` is a known class.

    Values are counted in slices, so that memory does not grow with their number.
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
    """Compare each share with the limit, in exact arithmetic."""
    left, right = limit.denominator, limit.numerator
    if max(int(parts.max(initial=0)) * left, int(wholes.max(initial=0)) * right) < _LARGEST:
        few: Bools = parts * left >= wholes * right
        return few
    return np.asarray(parts.astype(object) * left >= wholes.astype(object) * right, np.bool_)


def decimal_text(figure: Fraction) -> str:
    """Return a rounded figure as a decimal text.

    >>> decimal_text(Fraction(4, 5)), decimal_text(Fraction(1))
    ('0.8', '1')
    """
    return decimal(int(figure * PARTS), PARTS)


# --- limits ---------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Limits:
    """Limits that every group keeps, for the target and each sensitive column; None is no limit.

    distinct : the least number of values.
    share : the largest share of one value.
    entropy : the least entropy l: e to the power of the entropy of the values.
    closeness : the largest distance to the whole table (t-closeness).
    """

    distinct: int | None = None
    share: Fraction | None = None
    entropy: Fraction | None = None
    closeness: Fraction | None = None

    @classmethod
    def of(cls, *, distinct: int | None = None, share: object = None, entropy: object = None,
           closeness: object = None) -> Limits:
        """Read limits from decimal texts.

        >>> Limits.of(share="0.8").share
        Fraction(4, 5)
        """
        if distinct is not None and distinct < 1:
            raise ParameterError(f"{ASKED['distinct']} is {distinct}; write 1 or more")
        return cls(distinct, _number("share", share), _number("entropy", entropy),
                   _number("closeness", closeness))

    def json(self) -> dict[str, Json]:
        """Return the limits of a claim other than its `l_diversity`, as decimal texts.

        >>> Limits.of(share="0.80").json()
        {'share': '0.8', 'entropy': None, 'closeness': None}
        """
        return {name: None if limit is None else decimal(int(limit * EPSILON_UNITS))
                for name, limit in (("share", self.share), ("entropy", self.entropy),
                                    ("closeness", self.closeness))}

    def active(self) -> tuple[str, ...]:
        """Return the names of the limits that bound something.

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
        """Mark for each limit the rows whose group misses it for one of the attackers."""
        return {name: np.any([attacker.missed(name, Fraction(getattr(self, name)))
                             for attacker in groups],
                             axis=0) for name in self.active()}

    def monotone(self, rule: Rule) -> Limits:
        """Return the limits that, once missed, are missed with every further column, too.

        A larger group never has fewer values, so `distinct` is one under every rule.  If all
        absences may be known (as under k-anonymity), groups do not overlap.  Without a column, each
        group is a union of such groups.  The values of a union are an average over its groups.  The
        largest share and the distance to the table are convex, and the entropy is concave.  So the
        union is not worse than its worst group, and all limits are monotone.  Groups that overlap
        have no such average.  If rows may be left out, no limit is monotone: the rows that are left
        out depend on the columns.
        """
        if rule.suppress:
            return NONE
        parts = rule.model == "k-anonymity" or (rule.absent is not None and bool(rule.absent.all()))
        return self if parts else Limits(distinct=self.distinct)


#: No limit.
NONE = Limits()


def published(table: Labelled, rule: Rule, selected: Sequence[int]) -> tuple[Labelled, Rule]:
    """Return the table of these items and of the rows that stay, with its rule.

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
    """Count for each limit and column the rows that miss it if these items are published.

    >>> items = Items.dense([[1], [1], [1], [0]])
    >>> table = Labelled(items, np.array([0, 0, 1, 1], np.int32), ("no", "yes"), "ill")
    >>> missed(table, Rule(k=1, classes=2), Limits.of(share="0.6"), [0])
    {('share', 'ill'): 3}
    """
    leaving = published(table, rule, selected)
    return {pair: int(rows.sum()) for pair, rows in _missing(*leaving, limits)}


def failing(table: Labelled, rule: Rule, limits: Limits, selected: Sequence[int]) -> Bools:
    """Mark the rows that are published with these items and miss some limit."""
    leaving, known = published(table, rule, selected)
    rows = [rows for _, rows in _missing(leaving, known, limits)]
    return np.any(rows, axis=0) if rows else np.zeros(leaving.items.rows, np.bool_)


def _missing(table: Labelled, rule: Rule, limits: Limits) -> Iterator[tuple[Pair, Bools]]:
    for column, role in columns_of(table):
        for name, rows in limits.failing(attacker_groups(table, rule, column, role)).items():
            yield (name, column.name), rows


def figures(table: Labelled, rule: Rule, selected: Sequence[int]) -> Mapping[Pair, Fraction]:
    """Return for each limit and column the figure of the groups of these items."""
    leaving, known = published(table, rule, selected)
    return {(name, figure.column): Fraction(getattr(figure, name))
            for figure in disclosures(leaving, known) for name in OF}


def _number(name: str, text: object) -> Fraction | None:
    if text is None:
        return None
    if not re.fullmatch(_DECIMAL, str(text)):
        raise ParameterError(f"{ASKED[name]} is {str(text)!r}; write a number with a decimal point "
                             "and at most nine digits after it, such as 0.8")
    number = Fraction(str(text))
    if number < 1 if name == "entropy" else not 0 < number <= 1:
        kept = "at least 1" if name == "entropy" else "above 0 and at most 1"
        raise ParameterError(f"{ASKED[name]} is {text}; write a number {kept}")
    return number


@dataclass(frozen=True, eq=False)
class Method:
    """How columns are chosen.

    choose : returns a choice of items of a table that keeps a rule.  It is called again with a
        table of fewer items.
    objective : what the method maximises, for `choice_of`; None for no objective.  Its weights also
        rank the items (mutual information without an objective).
    runs : the most calls of `choose`.
    """

    choose: Callable[[Labelled, Rule], Choice]
    objective: Objective | None = None
    runs: int = RUNS


def limited(table: Labelled, rule: Rule, limits: Limits, method: Method) -> Choice:
    """Return a choice that keeps all limits, for the target and each sensitive column.

    1. Monotone limits (`Limits.monotone`) are kept while choosing.  In the order of weight, take
       the first item that misses a limit together with the items before it.  It is forbidden, with
       all later items that miss a limit there, and the choice is made again.  A greedy choice by
       weights gives the same as a check at each step; other methods give one good set of many.
    2. While a row misses a limit, the item is removed without which the fewest rows miss one (ties:
       the lightest, then the first), among the items that such rows show.  With more than 64 items,
       those go first of whose rows the largest share misses a limit.
    3. The removed items are tried again, the heaviest first, and each that fits is added.

    If nothing is left, the choice is refused with what would work.  `bound` is that of the choice
    without limits.

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
    """A search for a choice that keeps the limits of one table and rule."""

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
        """Choose again until no monotone limit is missed, or the runs are used up."""
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
        """Remove items until no row misses a limit, then add what fits; counted items stay."""
        now = frozenset(selected) | self.counted
        while self._failing(now) and (held := self._held(now)):
            tell(f"limits: {self._failing(now)} rows miss a limit with {len(now)} columns")
            now -= {*held[:max(len(now) // _PART, 1)]}
        if self._failing(now) or now <= self.counted:
            return self._grown(self.counted, self.weighty)
        return self._grown(now, set(selected) - now)

    def described(self, selected: Chosen) -> Choice:
        """Return a set of items as a choice of this method."""
        chosen, table, method = sorted(selected), self.table, self.method
        if method.objective is None:
            level, suppressed = measure_selection(table, self.rule, chosen)
            return Choice(tuple(chosen), level, suppressed=suppressed)
        return choice_of(table, self.rule, chosen, method.objective)

    def refusal(self) -> str:
        """Return a sentence on a limit that no column keeps, with the figure of the best column."""
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
        others = "; other limits or columns may also need weaker limits" if len(pairs) > 1 else ""
        together = "" if missed else " and the other limits"
        before = " and the published columns of this snapshot" if self.counted else ""
        return (f"no set of columns was found that keeps {ASKED[name]} "
                f"{decimal(int(getattr(self.limits, name) * EPSILON_UNITS))} for "
                f"{quoted(column)}{together}: the {OF[name]} is {decimal_text(best[pair])} with "
                f"the best column{before}; set {ASKED[name]} to {least} "
                f"{decimal_text(best[pair])}{others}")

    def _wrong(self, selected: Sequence[int]) -> list[int]:
        """Return the items that miss a monotone limit with the items before them."""
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
        """Return whether rows miss a limit, with what was published before."""
        return bool(self._failing(chosen | self.counted))

    def _misses(self, chosen: Iterable[int]) -> bool:
        together = sorted(self.counted.union(chosen))
        return bool(failing(self.table, self.rule, self.always, together).any())

    def _chosen(self, allowed: Bools) -> Choice:
        """Choose among fewer items."""
        among = np.flatnonzero(allowed | np.isin(np.arange(len(allowed)), [*self.counted]))
        counted = tuple(np.flatnonzero(np.isin(among, [*self.counted])).tolist())
        narrow = replace(self.table, items=self.table.items.take(among.tolist()), counted=counted)
        choice = self.method.choose(narrow, narrowed(self.rule, among.tolist()))
        return replace(choice, selected=tuple(int(among[j]) for j in choice.selected))

    def _failing(self, chosen: Chosen) -> int:
        """Count the rows that miss a limit."""
        if chosen not in self._rows:
            rows = failing(self.table, self.rule, self.limits, sorted(chosen))
            self._rows[chosen] = int(rows.sum())
        return self._rows[chosen]

    def _held(self, chosen: Chosen) -> list[int]:
        """Return the items to remove so that rows that miss a limit change groups, best first."""
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
        """Add each item that fits, the heaviest first."""
        now = start
        among = np.array(sorted(set(candidates) - start), np.int64)
        for j in modular_order(self.values, among).tolist():
            if self._keeps(now | {j}) and not self._failing(now | {j}):
                now |= {j}
        return now

    def _keeps(self, chosen: Iterable[int]) -> bool:
        """Return whether a set of items keeps the rule, and enough sources if they count."""
        table, order = self.table, np.array(sorted(chosen), np.int64)
        accepted = patterns.greedy(cells(table.items), np.ascontiguousarray(table.y, np.int32),
                                   order, self.rule)
        return len(accepted) == len(order) and (table.sources is None or Knowledge.of(
            table, self.rule, order.tolist()).groups().level() >= self.rule.k)


def _best(pair: Pair, among: Sequence[Fraction]) -> Fraction:
    return max(among) if pair[0] in _MORE_IS_BETTER else min(among)
