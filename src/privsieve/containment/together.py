"""Together: what a publication says beside those that were made of the same people before.

The ledger recognises its table: each earlier publication of a snapshot left a fingerprint of what
it read, and that is made again from the table at hand.  Then all columns are taken as one
publication, under the strictest of their rules: an attacker may be able to join their rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.containment.before import counted_items
from privsieve.containment.fingerprint import Seal, fingerprint, rests_on, target_of
from privsieve.containment.groups import sources_of
from privsieve.containment.labelled import Labelled, as_known
from privsieve.containment.limits import Limits, missed
from privsieve.errors import LedgerError
from privsieve.kernels.patterns import Rule, pattern_table, superset_counts
from privsieve.rows.matrix import Items

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Claims = Sequence[Mapping[str, Any]]

#: A limit of attribute disclosure, and which of two is the stricter.
STRICTER = {"share": min, "entropy": max, "closeness": min}


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
    return tuple({"k": noted.k, "model": noted.model, "columns": noted.columns, **noted.claim}
                 for noted in earlier if noted.snapshot == snapshot)


def check_together(table: Labelled, claim: Mapping[str, Any], earlier: Sequence[Any], seal: Seal,
                   ) -> tuple[str, ...]:
    """Refuse a publication that with those of the same snapshot breaks what was promised.

    Parameters
    ----------
    table : as it was read, with the rows that do not leave.
    claim : what is to be published, and promised of it.
    earlier : the ledger's publications of these people.
    seal : the snapshot, and what its fingerprints are made with.

    Returns what `recognise` does.
    """
    before = claims_of(earlier, seal.snapshot)
    notes = recognise(table, before, seal)
    claims = [claim, *before]
    if not before:
        return notes
    if any(one.get("suppressed") for one in claims):
        if any(_terms(one) != _terms(claim) for one in claims):
            raise LedgerError("of this snapshot something was or would be published without some "
                              "rows, and who is missing shows beside the rest; publish the same "
                              "columns under the same rule, or nothing more")
        return notes  # the same rows of the same columns
    _check_union(table, claims, seal.snapshot)
    return notes


def recognise(table: Labelled, before: Claims, seal: Seal) -> tuple[str, ...]:
    """Refuse another table than the one of which claims were made, or one that is read otherwise.

    Returns sentences on what could not be compared: version 0.1.0 noted less.
    """
    counted_items(table, before)
    notes = {note for one in before for note in _same_classes(table, one)}
    for one in before:
        _check_table(table, one, seal)
    if any(not one.get("fingerprint") for one in before):
        notes.add(f"an earlier publication of {seal.snapshot} is of version 0.1.0, which noted no "
                  "fingerprint: that this is the same table was not checked, only that it has the "
                  "columns")
    return tuple(sorted(notes))


def strictest(table: Labelled, claims: Claims) -> Rule:
    """The strictest of the rules of claims, for the items of a table: what all of them keep.

    An absence that one of them counts is counted of all items of its column.
    """
    place = {name: at for at, name in enumerate(table.items.names)}
    lacking = {table.items.origin[place[name]] for one in claims for name in one.get("absent", ())
               if name in place}
    equal = any(one["model"] == "k-anonymity" for one in claims)
    return Rule(
        k=max(one["k"] for one in claims), classes=len(table.classes),
        model="k-anonymity" if equal else "containment",
        l_diversity=max(one.get("l_diversity", 1) for one in claims),
        absent=np.array([name in lacking for name in table.items.origin], np.bool_),
        labelled=any((one.get("roles") or {}).get("target_known") for one in claims))


def limits_of(claims: Claims) -> dict[str, str]:
    """The strictest of the limits of attribute disclosure of claims; those that some claim has.

    >>> limits_of([{"limits": {"share": "0.9", "entropy": None}}, {"limits": {"share": "0.85"}}])
    {'share': '0.85'}
    """
    found = {name: [one["limits"][name] for one in claims if (one.get("limits") or {}).get(name)]
             for name in STRICTER}
    return {name: STRICTER[name](texts, key=Fraction) for name, texts in found.items() if texts}


def tightened(table: Labelled, rule: Rule, before: Claims) -> Rule:
    """The rule under which is to be chosen, so that it is kept together with what was before.

    Refused where what was published before does not keep it already.
    """
    if not before or any(one.get("suppressed") for one in before):
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
    sources = any(one.get("counted") for one in before) or table.sources is not None
    found = union_of(table, made, selected, sources=sources)
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
    return replace(_as_limits(limits_of([{"limits": limits.json()}, *before])),
                   distinct=limits.distinct)


def _as_limits(limits: Mapping[str, str]) -> Limits:
    return Limits.of(share=limits.get("share"), entropy=limits.get("entropy"),
                     closeness=limits.get("closeness"))


@dataclass(frozen=True, repr=False)
class Union:
    """Rows that columns, if all of them are published, would leave beyond a rule; 0 is good.

    small : in groups of fewer than k rows or sources.
    poor : in groups of fewer than l classes, or sensitive values.
    """

    small: int
    poor: int


def union_of(table: Labelled, rule: Rule, selected: Sequence[int], *, sources: bool = False,
             sensitive: Sequence[str] = ()) -> Union:
    """Count what columns give away if they are published together.

    >>> from privsieve.containment.labelled import Labelled
    >>> from privsieve.rows.matrix import Items
    >>> table = Labelled(Items.dense([[1], [1], [0]]), np.array([0, 1, 1], np.int32), ("n", "y"))
    >>> union_of(table, Rule(k=2, classes=2, l_diversity=2), [0]).poor
    0
    >>> union_of(table, Rule(k=2, classes=2, labelled=True), [0]).small
    2
    """
    items, chosen = table.items, list(selected)
    absent = np.zeros(len(items), np.bool_) if rule.absent is None else rule.absent
    told = absent
    if rule.labelled:  # a class is one thing more that a row holds
        classes = [str(at) for at in range(len(table.classes))]
        items = as_known(items, None, ("class", table.y, classes))
        chosen += range(len(table.items), len(items))
        told = np.append(absent, np.zeros(len(classes), np.bool_))
    nobody = np.zeros(items.rows, np.int32)
    rows, groups = _groups(items, (nobody, 1), replace(rule, absent=told), chosen)
    small = int(rows[groups.sum(1) < rule.k].sum())
    if sources and table.sources is not None:
        part = replace(rule, absent=told[chosen], labelled=False)
        small = max(small, int((sources_of(items.take(chosen), part, table.sources)
                                < rule.k).sum()))
    poor = 0
    for codes, count in (_columns(table, sensitive) if rule.l_diversity > 1 else ()):
        rows, groups = _groups(table.items, (codes, count), replace(rule, absent=absent), selected)
        poor = max(poor, int(rows[(groups > 0).sum(1) < rule.l_diversity].sum()))
    return Union(small, poor)


def _columns(table: Labelled, sensitive: Sequence[str]) -> Iterator[tuple[Codes, int]]:
    """The classes and these sensitive columns: codes, and how many there are."""
    yield table.y, len(table.classes)
    for one in table.sensitive:
        if one.name in sensitive:
            yield one.codes, len(one.values)


def _groups(items: Items, column: tuple[Codes, int], rule: Rule, selected: Sequence[int],
            ) -> tuple[Ints, Ints]:
    """For each pattern on some items its rows, and the rows of its group by code."""
    part = items.take(selected)
    assert rule.absent is not None
    masks, counts, _ = pattern_table((part.indptr, part.indices),
                                     np.ascontiguousarray(column[0], np.int32), column[1],
                                     rule.absent[list(selected)])
    equal = rule.model == "k-anonymity"
    return counts.sum(1), counts if equal else superset_counts(masks, counts)


def _same_classes(table: Labelled, before: Mapping[str, Any]) -> Iterator[str]:
    """Refuse a table without the classes or sensitive values on which an earlier claim rests."""
    classes, sensitive = rests_on(before)
    name = target_of(before)
    if classes and table.target is None:
        raise LedgerError(f"of this snapshot something was published whose classes count in "
                          f"groups, and this table is read without them; name the target"
                          f"{f' {name!r}' if name else ''}, too (--target)")
    if classes and name is not None and name != table.target:
        why = ("was published, and both together are not counted"
               if before.get("target") is not None else
               f"was promised in {before.get('l_diversity', 1)} classes a group or within a "
               "limit, which the classes at hand cannot show")
        raise LedgerError(f"another target of this snapshot, {name!r}, {why}; publish with that "
                          f"target, or nothing more of this snapshot")
    lost = sorted(set(sensitive) - {one.name for one in table.sensitive})
    if lost:
        raise LedgerError(f"the sensitive column {lost[0]!r} of this snapshot was published or "
                          "promised within a limit, and here it is not sensitive; name it, too "
                          "(--sensitive)")
    if classes and name is None:
        yield ("an earlier publication counted classes and did not note of which target (version "
               "0.1.0): they were counted by the target at hand")


def _check_table(table: Labelled, before: Mapping[str, Any], seal: Seal) -> None:
    """Refuse another table than the one of which a claim was made."""
    known = before.get("fingerprint")
    if not known:
        return
    if before.get("counted") == "sources" and table.sources is None:
        _refuse_sources()
    if fingerprint(table, before, seal) == known:
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
    beyond = missed(table, rule, _as_limits(limits), selected) if limits else {}
    if rows := max(beyond.values(), default=0):
        named = ", ".join(f"{name} {text}" for name, text in limits.items())
        raise LedgerError(f"{said} {rows} of {table.items.rows} rows beyond a limit ({named}); "
                          f"{out}")


def _refuse_sources() -> None:
    raise LedgerError("of this snapshot something was published whose groups are of k sources; "
                      "name the column of the sources here, too: --source COLUMN")


def _terms(claim: Mapping[str, Any]) -> tuple[object, ...]:
    """What decides which rows of which columns leave."""
    roles = claim.get("roles") or {}
    return (sorted(claim["columns"]), claim["k"], claim["model"], claim.get("l_diversity", 1),
            sorted(claim.get("absent", ())), claim.get("suppressed"), claim.get("counted"),
            roles.get("target"), roles.get("target_known"), claim.get("rows"),
            sorted((claim.get("limits") or {}).items()), sorted(claim.get("sensitive", ())))


def _few(names: Sequence[str]) -> str:
    """The first names of a list."""
    more = f" and {len(names) - 2} more" if len(names) > 3 else ""
    return ", ".join(repr(name) for name in names[:2 if more else 3]) + more
