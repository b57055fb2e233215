"""Together: what a publication says beside those that were made of the same people before.

The ledger recognises its table: each earlier publication of a snapshot left a fingerprint of what
it read, and that is made again from the table at hand.  Then all columns are taken as one
publication, under the strictest of their rules: an attacker may be able to join their rows.  So
what was published before is read again and counted, whatever is chosen now.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isnan
from typing import Any

import numpy as np

from privsieve.containment.choice import Choice, standing
from privsieve.containment.fingerprint import Seal, fingerprint, rests_on, target_of
from privsieve.containment.knowledge import Shortfall, shortfall
from privsieve.containment.labelled import Labelled, narrowed
from privsieve.containment.limits import Limits, missed
from privsieve.errors import LedgerError, NothingFits
from privsieve.kernels.patterns import Rule
from privsieve.rows.cells import date_cell, number_cell
from privsieve.rows.coding import Thermometer

_RANGE = r"(?s)=(.+)\.\.(.+)"
#: A limit of attribute disclosure, and which of two is the stricter.
STRICTER = {"share": min, "entropy": max, "closeness": min}

Claims = Sequence[Mapping[str, Any]]
#: How a column is read, as `items_of` takes it.
How = list[float | dt.datetime] | Thermometer | None


@dataclass(frozen=True, repr=False)
class Cut:
    """How a column was made into the items of it that were published.

    below, above : the ends of `age<40` and of `age>=60`; between : both ends of `age=40..60`.
    levels : the texts of `ward=A`.
    """

    below: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()

    @property
    def points(self) -> tuple[str, ...]:
        """All cut points, each once, in their order."""
        return tuple(sorted({*self.below, *self.above, *self.between}, key=_place))

    @property
    def how(self) -> How:
        """How the column has to be read, so that these items come out; None: in any way."""
        if not self.points:
            return None
        if len(set(self.above)) > 1 and not (self.below or self.between):
            return Thermometer(tuple(map(_point, self.points)))
        return [_point(text) for text in self.points]


def read_also(claims: Claims) -> dict[str, How]:
    """How the columns of which something was published have to be read: the same items come out.

    >>> read_also([{"columns": ["age<40", "age=40..60", "ward=A", "smoker", "dose>=3", "dose>=6"],
    ...             "origins": ["age", "age", "ward", "smoker", "dose", "dose"]}])
    {'age': [40.0, 60.0], 'ward': None, 'smoker': None, 'dose': Thermometer(cuts=(3.0, 6.0))}
    """
    return {name: cut.how for name, cut in _cuts(claims).items()}


def reading(columns: Sequence[str] | Mapping[Any, Any] | None, claims: Claims,
            ) -> tuple[Any, frozenset[str]]:
    """What `items_of` is to read so that columns of before are there, and which were not asked for.

    `columns` is what was asked for, as `items_of` takes it; what it says of a column is kept.

    >>> reading(["ward"], [{"columns": ["age<40"], "origins": ["age"]}])
    ({'ward': None, 'age': [40.0]}, frozenset({'age'}))
    >>> reading(["ward"], [{"columns": ["ward=A", "smoker"], "origins": ["ward", "smoker"]}])
    (['ward', 'smoker'], frozenset({'smoker'}))
    """
    also = read_also(claims)
    asked = columns if isinstance(columns, Mapping) else dict.fromkeys(columns or ())
    everything = columns is None or ... in asked
    closed = frozenset(name for name in also if asked.get(name, None if everything else False)
                       is False)
    how = {name: asked.get(name) or one for name, one in also.items()}
    if not any(how.values()) and not isinstance(columns, Mapping):
        return columns if columns is None else [*columns, *sorted(closed)], closed
    wanted = {**asked, **{name: one for name, one in how.items()
                          if one is not None or name in closed}}
    if columns is None:
        wanted[...] = None
    return wanted, closed


def counted_items(table: Labelled, claims: Claims) -> tuple[int, ...]:
    """The positions of all items that claims publish; refused where the table lacks one.

    >>> import numpy as np
    >>> from privsieve.rows.matrix import Items
    >>> table = Labelled(Items.dense([[1, 0]], ["a", "b"]), np.zeros(1, np.int32), (None,))
    >>> counted_items(table, [{"columns": ["b"], "origins": ["b"]}])
    (1,)
    """
    place = {name: at for at, name in enumerate(table.items.names)}
    for one in claims:
        for item, column in zip(one["columns"], one["origins"], strict=True):
            if item not in place:
                raise LedgerError(_lost(table, item, column, _cuts(claims)[column]))
    return tuple(sorted({place[item] for one in claims for item in one["columns"]}))


def beside(table: Labelled, claims: Claims, closed: Collection[str]) -> Labelled:
    """The table with what has to be counted marked, and nothing else of closed columns.

    Where rows were left out nothing can be chosen beside it, and nothing is marked.
    """
    counted = set(counted_items(table, claims))
    alone = any(one["suppressed"] for one in claims)
    kept = [j for j, name in enumerate(table.items.origin) if name not in closed or j in counted]
    return replace(table, items=table.items.take(kept), closed=tuple(sorted(closed)),
                   counted=() if alone else tuple(at for at, j in enumerate(kept) if j in counted))


def open_part(table: Labelled, rule: Rule, choice: Choice) -> Choice:
    """The part of a choice that leaves: without columns that are counted only.

    What was published before may leave again, if its column is among those to choose from.
    """
    origin = table.items.origin
    selected = tuple(j for j in choice.selected if origin[j] not in table.closed)
    if choice.selected and not selected:
        raise NothingFits("no further column keeps the rule together with what was published of "
                          "this snapshot before; let more columns be chosen from, or publish "
                          "nothing more of it")
    if selected == choice.selected:
        return choice
    level = standing(table.items, table.y, rule, selected)[0]
    return replace(choice, selected=selected, level=level, objective=None, bound=None,
                   proved=False)


def _cuts(claims: Claims) -> dict[str, Cut]:
    """How each column was cut."""
    found: dict[str, dict[str, list[str]]] = {}
    for one in claims:
        for item, column in zip(one["columns"], one["origins"], strict=True):
            ends = found.setdefault(column, {"below": [], "above": [], "between": [], "levels": []})
            rest = item.removeprefix(column)
            between = re.fullmatch(_RANGE, rest)
            if rest.startswith("<"):
                ends["below"].append(rest[1:])
            elif rest.startswith(">="):
                ends["above"].append(rest[2:])
            elif between and not any(isnan(_place(end)) for end in between.groups()):
                ends["between"] += between.groups()
            elif rest.startswith("="):
                ends["levels"].append(rest[1:])
    return {column: Cut(*(tuple(dict.fromkeys(texts)) for texts in ends.values()))
            for column, ends in found.items()}


def _place(text: str) -> float:
    """Where a cut point lies; NaN where it is none."""
    found = number_cell(text)
    return date_cell(text) if isnan(found) else found


def _point(text: str) -> float | dt.datetime:
    """A cut point as `items_of` takes it: a number or a date."""
    found = number_cell(text)
    return dt.datetime.fromisoformat(text) if isnan(found) else found


def _lost(table: Labelled, item: str, column: str, cut: Cut) -> str:
    """Why an item of before is not in the table, and what to do."""
    said = f"column {column!r} of this snapshot was published"
    if column == table.target:
        return (f"{said}, and is the target here; what was published counts as a column: choose "
                "another target, or publish nothing more of this snapshot")
    if column in [one.name for one in table.sensitive]:
        return (f"{said}, and cannot be sensitive any more: everybody may know it; leave it out of "
                "--sensitive")
    if column not in table.items.origin:
        return (f"{said}, and this table does not have it; give the same table, cut in the same "
                "way, whatever columns are chosen from")
    if item.endswith("=missing") and "missing" in cut.levels:
        return f"{said} with an item for missing cells; say --missing level"
    if cut.points:
        option = "--thermometer" if isinstance(cut.how, Thermometer) else "--cut"
        return (f"{said} cut at {', '.join(cut.points)}, and is cut otherwise here, where both "
                f"together could be compared; say {option} {column}={','.join(cut.points)}")
    return (f"{said} as {item!r}, and this table does not have that item; give the same table, cut "
            f"in the same way")


def check_snapshot(earlier: Sequence[Any], snapshot: str, *, signed: bool) -> None:
    """Refuse another state of a table about the same people: two states together break both.

    `earlier` are the ledger's publications of these people.
    """
    others = {noted.snapshot for noted in earlier}
    if not others or snapshot in others or signed:
        return
    raise LedgerError(f"columns of another snapshot of these people were published "
                      f"({', '.join(sorted(others))}), and rows of both could be joined; publish "
                      f"from that one, or, if {snapshot} is of other people, let somebody sign for "
                      'it: --other-people "NAME"')


def claims_of(earlier: Sequence[Any], snapshot: str) -> tuple[Mapping[str, Any], ...]:
    """What was claimed of a snapshot, one mapping for each of the ledger's publications of it."""
    claims = tuple(noted.claim for noted in earlier if noted.snapshot == snapshot)
    if not all(claim.get("fingerprint") for claim in claims):
        raise LedgerError(f"something of {snapshot} was noted without a fingerprint of its table, "
                          "so that nobody can tell whether this is that table; publish nothing "
                          "more of this snapshot")
    return claims


def check_together(table: Labelled, claim: Mapping[str, Any], earlier: Sequence[Any], seal: Seal,
                   ) -> None:
    """Refuse a publication that with those of the same snapshot breaks what was promised.

    Parameters
    ----------
    table : as it was read, with the rows that do not leave.
    claim : what is to be published, and promised of it.
    earlier : the ledger's publications of these people.
    seal : the snapshot, and what its fingerprints are made with.
    """
    before = claims_of(earlier, seal.snapshot)
    recognise(table, before, seal)
    claims = [claim, *before]
    if not before:
        return
    if any(one["suppressed"] for one in claims):
        if any(_terms(one) != _terms(claim) for one in claims):
            raise LedgerError("of this snapshot something was or would be published without some "
                              "rows, and who is missing shows beside the rest; publish the same "
                              "columns under the same rule, or nothing more")
        return  # the same rows of the same columns
    _check_union(table, claims, seal.snapshot)


def recognise(table: Labelled, before: Claims, seal: Seal) -> None:
    """Refuse another table than the one of which claims were made, or one read otherwise."""
    counted_items(table, before)
    for one in before:
        _check_classes(table, one)
    for one in before:
        _check_table(table, one, seal)


def strictest(table: Labelled, claims: Claims) -> Rule:
    """The strictest of the rules of claims, for the items of a table: what all of them keep.

    An absence that one of them counts is counted of all items of its column.
    """
    place = {name: at for at, name in enumerate(table.items.names)}
    lacking = {table.items.origin[place[name]] for one in claims for name in one["absent"]
               if name in place}
    equal = any(one["model"] == "k-anonymity" for one in claims)
    return Rule(
        k=max(one["k"] for one in claims), classes=len(table.classes),
        model="k-anonymity" if equal else "containment",
        l_diversity=max(one["l_diversity"] for one in claims),
        absent=np.array([name in lacking for name in table.items.origin], np.bool_),
        labelled=any(one["roles"]["target_known"] for one in claims))


def limits_of(claims: Claims) -> dict[str, Any]:
    """The strictest of the limits of attribute disclosure of claims; those that some claim has.

    >>> limits_of([{"limits": {"share": "0.9", "entropy": None}}, {"limits": {"share": "0.85"}}])
    {'share': '0.85'}
    """
    found = {name: [one["limits"][name] for one in claims if one["limits"].get(name)]
             for name in STRICTER}
    return {name: STRICTER[name](texts, key=Fraction) for name, texts in found.items() if texts}


def tightened(table: Labelled, rule: Rule, before: Claims) -> Rule:
    """The rule under which is to be chosen, so that it is kept together with what was before.

    Refused where what was published before does not keep it already.
    """
    if not before or any(one["suppressed"] for one in before):
        return rule  # beside left-out rows nothing may stand but the same
    first = strictest(table, before)
    equal = "k-anonymity" in (rule.model, first.model)
    absent = np.full(len(table.items), equal)
    for known in (rule.absent, first.absent):
        absent |= False if known is None else known
    made = replace(rule, k=max(rule.k, first.k), absent=absent,
                   l_diversity=max(rule.l_diversity, first.l_diversity),
                   labelled=rule.labelled or first.labelled)
    selected = counted_items(table, before)
    found = union_of(table, made, selected, sources=True)
    if found.small or found.poor:
        kind = (f"below k = {made.k}" if found.small
                else f"of fewer than {made.l_diversity} classes")
        raise LedgerError(f"what was published of this snapshot before leaves "
                          f"{found.small or found.poor} of {table.items.rows} rows in groups "
                          f"{kind} under this rule, and more columns leave no fewer; ask for less, "
                          "or publish nothing more of it")
    return made


def tightened_limits(limits: Limits, before: Claims) -> Limits:
    """The limits under which is to be chosen, so that those of before are kept together with it.

    >>> tightened_limits(Limits.of(share="0.9"), [{"limits": {"share": "0.8"}}]).share
    Fraction(4, 5)
    """
    return Limits.of(distinct=limits.distinct,
                     **limits_of([{"limits": limits.json()}, *before]))


def union_of(table: Labelled, rule: Rule, selected: Sequence[int], *, sources: bool = False,
             sensitive: Sequence[str] = ()) -> Shortfall:
    """What columns give away if they are published together; `small` may be of sources.

    >>> from privsieve.rows.matrix import Items
    >>> table = Labelled(Items.dense([[1], [1], [0]]), np.array([0, 1, 1], np.int32), ("n", "y"))
    >>> union_of(table, Rule(k=2, classes=2, l_diversity=2), [0]).poor
    0
    >>> union_of(table, Rule(k=2, classes=2, labelled=True), [0]).small
    2
    """
    part, own = table.items.take(selected), narrowed(rule, selected)
    whole = shortfall(part, table.y, own, table.sources if sources else None)
    poor = whole.poor
    for one in table.sensitive if rule.l_diversity > 1 else ():
        if one.name in sensitive:
            column = replace(own, classes=len(one.values), labelled=False)
            poor = max(poor, shortfall(part, one.codes, column).poor)
    return replace(whole, poor=poor)


def _check_classes(table: Labelled, before: Mapping[str, Any]) -> None:
    """Refuse a table without the classes or sensitive values on which an earlier claim rests."""
    classes, sensitive = rests_on(before)
    name = target_of(before)
    if classes and table.target is None:
        raise LedgerError(f"of this snapshot something was published whose classes count in "
                          f"groups, and this table is read without them; name the target"
                          f"{f' {name!r}' if name else ''}, too (--target)")
    if classes and name != table.target:
        why = ("was published, and both together are not counted"
               if before["target"] is not None else
               f"was promised in {before['l_diversity']} classes a group or within a "
               "limit, which the classes at hand cannot show")
        raise LedgerError(f"another target of this snapshot, {name!r}, {why}; publish with that "
                          f"target, or nothing more of this snapshot")
    lost = sorted(set(sensitive) - {one.name for one in table.sensitive})
    if lost:
        raise LedgerError(f"the sensitive column {lost[0]!r} of this snapshot was published or "
                          "promised within a limit, and here it is not sensitive; name it, too "
                          "(--sensitive)")


def _check_table(table: Labelled, before: Mapping[str, Any], seal: Seal) -> None:
    """Refuse another table than the one of which a claim was made."""
    if before.get("counted") and table.sources is None:
        _refuse_sources()
    if fingerprint(table, before, seal) == before["fingerprint"]:
        return
    rows = before["rows"] + before["suppressed"]
    change = ("rows or cells were changed, or are read in another way" if rows == table.items.rows
              else f"it has {table.items.rows} rows, and that one had {rows}")
    raise LedgerError(f"the table at hand is not the one of which {_few(before['columns'])} of "
                      f"{seal.snapshot} {'was' if len(before['columns']) == 1 else 'were'} "
                      f"published: {change}; two states of a table show who changed, so publish "
                      "from that table, or nothing more of these people")


def _check_union(table: Labelled, claims: Claims, snapshot: str) -> None:
    """Refuse columns that together break the strictest of the rules."""
    rule, limits = strictest(table, claims), limits_of(claims)
    selected = counted_items(table, claims)
    sources = any(one.get("counted") for one in claims)
    if sources and table.sources is None:
        _refuse_sources()
    sensitive = [name for one in claims for name in rests_on(one)[1]]
    found = union_of(table, rule, selected, sources=sources, sensitive=sensitive)
    said = f"together with what was published of {snapshot} the {len(selected)} columns would leave"
    out = "publish fewer columns, or those of before"
    if found.small or found.poor:
        kind = (f"in groups below k = {rule.k}" if found.small
                else f"in groups of fewer than {rule.l_diversity} classes or values")
        raise LedgerError(f"{said} {found.small or found.poor} of {table.items.rows} rows {kind}; "
                          f"{out}")
    beyond = missed(table, rule, Limits.of(**limits), selected) if limits else {}
    if rows := max(beyond.values(), default=0):
        named = ", ".join(f"{name} {text}" for name, text in limits.items())
        raise LedgerError(f"{said} {rows} of {table.items.rows} rows beyond a limit ({named}); "
                          f"{out}")


def _refuse_sources() -> None:
    raise LedgerError("of this snapshot something was published whose groups are of k people; name "
                      "the column that says whose row each is, too: --source COLUMN, or the person "
                      "of the domain file")


def _terms(claim: Mapping[str, Any]) -> tuple[object, ...]:
    """What decides which rows of which columns leave."""
    roles = claim["roles"]
    return (sorted(claim["columns"]), claim["k"], claim["model"], claim["l_diversity"],
            sorted(claim["absent"]), claim["suppressed"], claim.get("counted"), roles["target"],
            roles["target_known"], claim["rows"], sorted(claim["limits"].items()),
            sorted(claim["sensitive"]))


def _few(names: Sequence[str]) -> str:
    """The first names of a list."""
    more = f" and {len(names) - 2} more" if len(names) > 3 else ""
    return ", ".join(repr(name) for name in names[:2 if more else 3]) + more
