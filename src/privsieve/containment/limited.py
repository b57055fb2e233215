"""Limited: a choice whose groups tell no more than was allowed, by any method that chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt

from privsieve.containment.choice import Choice
from privsieve.containment.disclosure import shown
from privsieve.containment.greedy import choice_of, modular_order, standing
from privsieve.containment.labelled import Labelled
from privsieve.containment.limits import ASKED, OF, Limits, failing, figures, missed
from privsieve.containment.measures import cells
from privsieve.containment.publish import sources_at
from privsieve.containment.told import tell
from privsieve.containment.weights import Asked, weights
from privsieve.errors import NothingFits
from privsieve.kernels import patterns
from privsieve.kernels.patterns import Rule
from privsieve.public.cost import EPSILON_UNITS, decimal
from privsieve.public.shown import quoted

Bools = npt.NDArray[np.bool_]
Chosen = frozenset[int]
Pair = tuple[str, str]
Alone = tuple[Mapping[Pair, int], Mapping[Pair, Fraction]]

#: A choice is made again so often for the limits; what then still misses one is repaired.
RUNS = 200
#: Of more columns than this not each is tried, and such a part of them is taken away at once.
_MANY, _PART = 64, 33
#: Objectives that weigh sets of items, and no item alone.
_PAIRS = ("distinct", "class-errors")
#: Figures of which a larger one tells less.
_MORE_IS_BETTER = ("distinct", "entropy")


@dataclass(frozen=True, eq=False)
class Method:
    """How columns are chosen.

    choose : gives a choice of the items of a table that keeps a rule.  It is called again with a
        table of fewer items.
    objective : what the method maximises, as `choice_of` takes it; None where the choice has none.
        Its weights say which item is dearer, too (mutual information, where it has none).
    label_rows : the rows whose classes may be used to compare items.
    runs : how often the choice may be made.
    """

    choose: Callable[[Labelled, Rule], Choice]
    objective: Asked | None = None
    label_rows: Bools | None = None
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

    >>> from privsieve.containment.greedy import greedy
    >>> from privsieve.containment.labelled import Labelled
    >>> from privsieve.rows.matrix import Items
    >>> from privsieve.kernels.patterns import Rule
    >>> items = Items.dense([[1, 1], [1, 1], [1, 0], [0, 0], [0, 1], [0, 0]])
    >>> table = Labelled(items, np.array([1, 1, 1, 0, 0, 0], np.int32), ("no", "yes"), "ill")
    >>> how = Method(lambda part, rule: greedy(part.items, part.y, rule))
    >>> limited(table, Rule(k=2, classes=2), Limits.of(share="0.7"), how).selected
    (1,)
    """
    first = method.choose(table, rule)
    if not limits.asked() or not first.selected:
        return first
    run = _Run(table, rule, limits, method, first.selected)
    choice = run.monotone(first)
    selected = run.repaired(choice.selected)
    # What was published before may leave again, unless its column is not to be chosen from.
    again = {j for j in run.counted & set(first.selected)
             if table.items.origin[j] not in table.closed}
    if not selected - (run.counted - again):
        raise NothingFits(run.refusal())
    if not run.counted <= set(first.selected):
        selected -= run.counted
    if selected != set(choice.selected):
        choice = replace(run.described(selected), complete=choice.complete)
    return replace(choice, bound=first.bound, complete=choice.complete and first.complete,
                   proved=first.bound is not None and choice.objective == first.bound)


class _Run:
    """One table, one rule, one set of limits."""

    def __init__(self, table: Labelled, rule: Rule, limits: Limits, method: Method,
                 first: Sequence[int]) -> None:
        self.table, self.rule, self.limits, self.method = table, rule, limits, method
        asked = method.objective
        named = asked if isinstance(asked, str) else ""
        by: Asked = "mutual-information" if asked is None or named in _PAIRS else asked
        self.values = weights(table.items, table.y, rule.classes, by, method.label_rows).values
        self.worth = sorted({*np.flatnonzero(self.values).tolist(), *first})
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
            return self._grown(self.counted, self.worth)
        return self._grown(now, set(selected) - now)

    def described(self, selected: Chosen) -> Choice:
        """A set of items as a choice of this method."""
        chosen, table, method = sorted(selected), self.table, self.method
        if method.objective is None:
            level, suppressed = standing(table.items, table.y, self.rule, chosen)
            return Choice(tuple(chosen), level, suppressed=suppressed)
        return choice_of(table.items, table.y, self.rule, chosen, method.objective,
                         label_rows=method.label_rows)

    def refusal(self) -> str:
        """Which limit nothing keeps, for which column, and what would work.

        Where one limit alone is in the way, a column that keeps all others has the figure.
        """
        alone = self._alone()
        whole = figures(self.table, self.rule, sorted(self.counted))
        pairs = [pair for pair in whole if pair[0] in self.limits.asked()]
        for pair in pairs:
            rest = [found[pair] for rows, found in alone
                    if not any(count for other, count in rows.items() if other != pair)]
            if rest:
                return self._sentence(pair, whole[pair], _best(pair, rest), "")
        pair = next(pair for pair in pairs if not all(rows[pair] == 0 for rows, _ in alone))
        return self._sentence(pair, whole[pair], _best(pair, [found[pair] for _, found in alone]),
                              ", and less of other limits or columns, which miss theirs as well")

    def _sentence(self, pair: Pair, whole: Fraction, best: Fraction, more: str) -> str:
        name, column = pair
        limit = decimal(int(getattr(self.limits, name) * EPSILON_UNITS))
        least = "at most" if name in _MORE_IS_BETTER else "at least"
        return (f"{ASKED[name]} {limit} for {quoted(column)} is kept by no set of columns "
                f"that was found: the {OF[name]} is {shown(whole)} without any column, and "
                f"{shown(best)} with the best column alone; ask for {least} {shown(best)}{more}")

    def _wrong(self, selected: Sequence[int]) -> list[int]:
        """Items that miss a monotone limit beside those that come before all of them."""
        if not self.always.asked():
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

    def _misses(self, chosen: Iterable[int]) -> bool:
        together = sorted(self.counted.union(chosen))
        return bool(failing(self.table, self.rule, self.always, together).any())

    def _chosen(self, allowed: Bools) -> Choice:
        """The choice among fewer items."""
        among = np.flatnonzero(allowed | np.isin(np.arange(len(allowed)), [*self.counted]))
        rule = self.rule if self.rule.absent is None else replace(
            self.rule, absent=self.rule.absent[among])
        counted = tuple(np.flatnonzero(np.isin(among, [*self.counted])).tolist())
        found = self.method.choose(replace(self.table, items=self.table.items.take(among.tolist()),
                                           counted=counted), rule)
        return replace(found, selected=tuple(int(among[j]) for j in found.selected))

    def _failing(self, chosen: Chosen) -> int:
        """How many rows miss a limit."""
        if chosen not in self._rows:
            rows = failing(self.table, self.rule, self.limits, sorted(chosen))
            self._rows[chosen] = int(rows.sum())
        return self._rows[chosen]

    def _held(self, chosen: Chosen) -> list[int]:
        """What may be taken away for rows that miss a limit to have other groups, best first."""
        items, absent = self.table.items, self.rule.absent
        mine = sorted(chosen - self.counted)
        if self.rule.suppress:  # who leaves may change with any of them
            return sorted(mine, key=partial(self._without, chosen))
        rows = failing(self.table, self.rule, self.limits, sorted(chosen))
        shown = {j: rows[items.indices[items.indptr[j]:items.indptr[j + 1]]] for j in mine}
        known = {j for j in mine
                 if self.rule.model == "k-anonymity" or (absent is not None and absent[j])}
        held = [j for j in mine if j in known or shown[j].any()]
        if len(mine) > _MANY:
            return sorted(held, key=lambda j: (-shown[j].sum() / max(len(shown[j]), 1),
                                               self.values[j], j))
        return sorted(held, key=partial(self._without, chosen))

    def _without(self, chosen: Chosen, j: int) -> tuple[int, int, int]:
        return self._failing(chosen - {j}), int(self.values[j]), j

    def _grown(self, start: Chosen, candidates: Iterable[int]) -> Chosen:
        """Add whatever fits, the heaviest first."""
        now = start
        among = np.array(sorted(set(candidates) - start), np.int64)
        for j in modular_order(self.values, among).tolist():
            if self._keeps(now | {j}) and not self._failing(now | {j}):
                now |= {j}
        return now

    def _keeps(self, chosen: Chosen) -> bool:
        """Whether a set of items keeps the rule, and enough sources where these are counted."""
        table, order = self.table, np.array(sorted(chosen), np.int64)
        accepted = patterns.greedy(cells(table.items), np.ascontiguousarray(table.y, np.int32),
                                   order, self.rule)
        return len(accepted) == len(order) and (table.sources is None or bool(
            sources_at(table, self.rule, order.tolist()).min() >= self.rule.k))

    def _alone(self) -> list[Alone]:
        """For each item that keeps the rule by itself: the rows that miss a limit, its figures."""
        sets = [sorted(self.counted | {j}) for j in self.worth if self._keeps(self.counted | {j})]
        return [(missed(self.table, self.rule, self.limits, one),
                 figures(self.table, self.rule, one)) for one in sets]


def _best(pair: Pair, among: Sequence[Fraction]) -> Fraction:
    return max(among) if pair[0] in _MORE_IS_BETTER else min(among)
