"""Limits: what no group may tell of a column that must not be learned."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from privsieve.containment.disclosure import Groups, beyond, columns_of, disclosures, strangers
from privsieve.containment.greedy import kept_rows
from privsieve.containment.labelled import Labelled
from privsieve.errors import ParameterError
from privsieve.kernels.patterns import Rule
from privsieve.public.canonical import Json
from privsieve.public.cost import EPSILON_UNITS, decimal
from privsieve.rows.matrix import Items

Bools = npt.NDArray[np.bool_]

_DECIMAL = re.compile(r"\d{1,9}(\.\d{1,9})?")
#: What each limit is of, as a sentence says it, and how it is asked for.
OF = {"distinct": "smallest number of values in a group",
      "share": "largest share of one value in a group", "entropy": "least entropy l of a group",
      "closeness": "largest distance of a group to the whole table"}
ASKED = {"distinct": "--l-diversity", "share": "--max-share", "entropy": "--entropy-l",
         "closeness": "--closeness"}


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
        return cls(distinct, _part("share", share), _amount("entropy", entropy),
                   _part("closeness", closeness))

    def json(self) -> dict[str, Json]:
        """What a claim says beside its `l_diversity`: decimal texts.

        >>> Limits.of(share="0.80").json()
        {'share': '0.8', 'entropy': None, 'closeness': None}
        """
        return {name: None if limit is None else decimal(int(limit * EPSILON_UNITS))
                for name, limit in (("share", self.share), ("entropy", self.entropy),
                                    ("closeness", self.closeness))}

    def asked(self) -> tuple[str, ...]:
        """The names of the limits that ask something.

        >>> Limits.of(distinct=1, share="0.8").asked()
        ('share',)
        """
        return tuple(name for name, limit in self._each()
                     if limit is not None and not (name in ("distinct", "entropy") and limit <= 1))

    def failing(self, groups: Sequence[Groups]) -> dict[str, Bools]:
        """For each limit the rows of which a group misses it; `groups` are of several strangers."""
        return {name: np.any([self._missed(name, one)[one.pattern] for one in groups], axis=0)
                for name in self.asked()}

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

    def _each(self) -> tuple[tuple[str, Fraction | int | None], ...]:
        return (("distinct", self.distinct), ("share", self.share), ("entropy", self.entropy),
                ("closeness", self.closeness))

    def _missed(self, name: str, groups: Groups) -> Bools:
        """The groups that miss a limit."""
        if name == "distinct":
            assert self.distinct is not None
            few: Bools = groups.values < self.distinct
            return few
        if name == "share":
            assert self.share is not None
            return beyond(groups.most, groups.size, self.share)
        if name == "entropy":
            assert self.entropy is not None
            return groups.poor(self.entropy)
        assert self.closeness is not None
        return beyond(groups.apart, groups.size * groups.unit, self.closeness)


#: What asks nothing.
NONE = Limits()


def published(table: Labelled, rule: Rule, selected: Sequence[int]) -> tuple[Labelled, Rule]:
    """The table of these items, of the rows that stay, and the rule of it.

    >>> from privsieve.rows.matrix import Items
    >>> from privsieve.kernels.patterns import Rule
    >>> table = Labelled(Items.dense([[1, 0], [1, 1], [0, 1]]), np.zeros(3, np.int32), ("all",))
    >>> published(table, Rule(k=2, classes=1, suppress=1), [0])[0].items.indices.tolist()
    [0, 1]
    """
    part = table.items.take(selected)
    known = None if rule.absent is None else rule.absent[list(selected)]
    sensitive, y = table.sensitive, table.y
    if rule.suppress:
        kept = kept_rows(table.items, table.y, rule, selected)
        part, y = _rows(part, kept), table.y[kept]
        sensitive = tuple(replace(column, codes=column.codes[kept]) for column in sensitive)
    return (Labelled(part, y, table.classes, table.target, sensitive=sensitive),
            replace(rule, absent=known))


def missed(table: Labelled, rule: Rule, limits: Limits, selected: Sequence[int],
           ) -> dict[tuple[str, str], int]:
    """For each limit and column the rows that miss it, if these items are published.

    >>> from privsieve.rows.matrix import Items
    >>> from privsieve.kernels.patterns import Rule
    >>> items = Items.dense([[1], [1], [1], [0]])
    >>> table = Labelled(items, np.array([0, 0, 1, 1], np.int32), ("no", "yes"), "ill")
    >>> missed(table, Rule(k=1, classes=2), Limits.of(share="0.6"), [0])
    {('share', 'ill'): 3}
    """
    part, known = published(table, rule, selected)
    return {(name, column.name): int(rows.sum())
            for column, role in columns_of(part)
            for name, rows in limits.failing(strangers(part, known, column, role)).items()}


def failing(table: Labelled, rule: Rule, limits: Limits, selected: Sequence[int]) -> Bools:
    """The rows that are published with these items and miss some limit."""
    part, known = published(table, rule, selected)
    found = [rows for column, role in columns_of(part)
             for rows in limits.failing(strangers(part, known, column, role)).values()]
    return np.any(found, axis=0) if found else np.zeros(part.items.rows, np.bool_)


def figures(table: Labelled, rule: Rule, selected: Sequence[int],
            ) -> Mapping[tuple[str, str], Fraction]:
    """For each limit and column what the groups of these items come to."""
    part, known = published(table, rule, selected)
    return {(name, told.column): Fraction(getattr(told, name))
            for told in disclosures(part, known) for name in OF}


def _rows(items: Items, kept: Bools) -> Items:
    """Some of the rows, numbered anew."""
    held = kept[items.indices]
    starts = np.concatenate([[0], np.cumsum(held)])[items.indptr]
    place = (np.cumsum(kept) - 1).astype(np.int32)
    return replace(items, indptr=starts.astype(np.int64), indices=place[items.indices[held]],
                   rows=int(kept.sum()))


def _part(name: str, given: object) -> Fraction | None:
    found = _number(name, given)
    if found is not None and not 0 < found <= 1:
        raise ParameterError(f"{ASKED[name]} is {given}; the {OF[name]} is above 0 and at most 1")
    return found


def _amount(name: str, given: object) -> Fraction | None:
    found = _number(name, given)
    if found is not None and found < 1:
        raise ParameterError(f"{ASKED[name]} is {given}; the {OF[name]} is at least 1")
    return found


def _number(name: str, given: object) -> Fraction | None:
    if given is None:
        return None
    if not _DECIMAL.fullmatch(str(given)):
        raise ParameterError(f"{ASKED[name]} is {str(given)!r}; give a decimal number with a point "
                             "and at most nine digits behind it, such as 0.8")
    return Fraction(str(given))
