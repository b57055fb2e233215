"""Check all publications of one snapshot, a state of a table of some people, as one.

The ledger recognises its table.  Each publication leaves a fingerprint of the multiset of the rows,
restricted to the columns of a claim, with the classes and sensitive values on which the claim
rests.  Rows in another order have the same fingerprint; an added, dropped or changed row gives
another.  All columns then count as one publication, under the strictest of their rules, because an
attacker may join their rows.  So the columns published before are always read and counted again.

The key of fingerprints is a secret in a file beside the ledger; of a shared ledger each machine has
a copy.  It is not in the ledger, which an auditor may see: with key and ledger one can try guesses
about columns that were never published.
"""

from __future__ import annotations

import datetime as dt
import hmac
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.containment.choose import Choice
from privsieve.containment.knowledge import Shortfall, measure_selection, shortfall
from privsieve.containment.labelled import Codes, Ints, Labelled, cells, rows_of
from privsieve.containment.limits import Limits, missed
from privsieve.errors import LedgerError, NothingFits, ParameterError
from privsieve.folder import hidden_file, sync, write_durably
from privsieve.kernels.patterns import Rule, pattern_table
from privsieve.ledger.ledger import Ledger, populations
from privsieve.ledger.sql import checked_file, served
from privsieve.public.canonical import canonical, text_of
from privsieve.public.plain import opened
from privsieve.rows.cells import date_cell, number_cell
from privsieve.rows.matrix import Items

TAG, KEY_TAG = b"privsieve-fingerprint/1\0", b"privsieve-key/1\0"
#: Hexadecimal digits of a fingerprint: first those of the key, then those of the table.
OF_KEY, OF_TABLE = 16, 48
#: Bytes of a key.
SIZE = 32

#: The texts that occur in a column, in order, and for each row the position of its text.
Texts = tuple[list[str], Ints]

#: The ends of a bin, behind the name of its column.
_ENDS = r"(?s)<(?P<below>.+)|>=(?P<above>.+)|=(?P<low>.+)\.\.(?P<high>.+)"
#: A limit of attribute disclosure, and which of two is the stricter.
STRICTER = {"share": min, "entropy": max, "closeness": min}

Claims = Sequence[Mapping[str, Any]]
#: How a column is read, as `items_of` takes it.
How = list[float | dt.datetime] | None


@dataclass(frozen=True, eq=False, repr=False)
class Seal:
    """What a fingerprint binds: a ledger's secret, the people, the state of their table."""

    key: bytes
    population: str
    snapshot: str


def fingerprint(table: Labelled, claim: Mapping[str, Any], seal: Seal) -> str:
    """Return the fingerprint of a table on the columns of a claim: 64 digits.

    The whole table counts, also rows that do not leave.

    >>> y, seal = np.zeros(3, np.int32), Seal(b"0" * 32, "clinic", "2026")
    >>> first, other = (Labelled(Items.dense(rows, ["a", "b"]), y, (None,))
    ...               for rows in ([[1, 0], [1, 1], [0, 1]], [[0, 1], [1, 1], [1, 1]]))
    >>> claim = {"l_diversity": 1, "target": None, "sensitive": [],
    ...          "limits": {"share": None, "entropy": None, "closeness": None}}
    >>> [fingerprint(first, {**claim, "columns": [name]}, seal)
    ...  == fingerprint(other, {**claim, "columns": [name]}, seal) for name in ("a", "b")]
    [True, False]
    """
    names = sorted(claim["columns"])
    place = {name: at for at, name in enumerate(table.items.names)}
    bits, patterns = _patterns(table.items.take([place[name] for name in names]))
    columns = dict(_columns(table, claim))
    digest = hmac.new(seal.key, TAG, sha256)
    digest.update(canonical({
        "population": seal.population, "snapshot": seal.snapshot, "rows": table.items.rows,
        "columns": names, "beside": {name: texts for name, (texts, _) in columns.items()},
    }))
    digest.update(bits.tobytes())
    sources = table.sources if claim.get("counted") else None
    for piece in _rows(patterns, list(columns.values()), sources):
        digest.update(piece)
    return key_digits(seal.key) + digest.hexdigest()[:OF_TABLE]


def key_digits(key: bytes) -> str:
    """Return the digits with which all fingerprints of a key begin."""
    return hmac.new(key, KEY_TAG, sha256).hexdigest()[:OF_KEY]


def rests_on(claim: Mapping[str, Any]) -> tuple[bool, tuple[str, ...]]:
    """Return whether a claim publishes or counts classes, and its sensitive columns.

    >>> rests_on({"l_diversity": 2, "target": None, "roles": {"sensitive": []}})
    (True, ())
    """
    limited = claim["l_diversity"] > 1 or any(
        claim["limits"][name] is not None for name in ("share", "entropy", "closeness"))
    sensitive = claim["roles"]["sensitive"] if limited else claim["sensitive"]
    return limited or claim["target"] is not None, tuple(sorted(sensitive))


def target_of(claim: Mapping[str, Any]) -> str | None:
    """Return the target of a claim, published or not."""
    target: str | None = claim["roles"]["target"]
    return target


def _patterns(items: Items) -> tuple[npt.NDArray[np.uint8], Ints]:
    """Return the distinct rows as bits, sorted, and for each row the position of its bits.

    They do not depend on how a kernel numbers patterns, because a ledger is kept for years.
    """
    pattern = pattern_table(cells(items), np.zeros(items.rows, np.int32), 1).pattern
    bits = np.zeros((int(pattern.max(initial=-1)) + 1, -(-len(items) // 8)), np.uint8)
    for j in range(len(items)):
        bits[pattern[rows_of(items, j)], j // 8] |= 128 >> j % 8
    order = np.lexsort(bits.T[::-1])
    return bits[order], np.argsort(order)[pattern]


def _columns(table: Labelled, claim: Mapping[str, Any]) -> Iterator[tuple[str, Texts]]:
    """Yield the classes and the sensitive columns on which a claim rests."""
    classes, sensitive = rests_on(claim)
    if classes:
        texts = [text_of(column) for column in table.classes]
        yield f"target {table.target}", _coded(texts, table.y)
    for column in sorted(table.sensitive, key=lambda column: column.name):
        if column.name in sensitive:
            yield f"sensitive {column.name}", _coded(column.values, column.codes)


def _coded(texts: Sequence[str], codes: Codes) -> Texts:
    """Code a column by the texts that occur in it, whatever other texts are declared."""
    there = np.flatnonzero(np.bincount(codes, minlength=len(texts)))
    known = sorted({texts[at] for at in there.tolist()})
    place = {text: at for at, text in enumerate(known)}
    new = np.array([place.get(text, -1) for text in texts], np.int64)
    return known, new[codes]


def _rows(patterns: Ints, columns: Sequence[Texts], sources: Codes | None) -> Iterator[bytes]:
    """Yield the bytes of the distinct rows with their counts and, of sources, their rows."""
    row = patterns
    for texts, codes in columns:
        row = np.unique(row * len(texts) + codes, return_inverse=True)[1].reshape(-1)
    _, first, row, counts = np.unique(row, return_index=True, return_inverse=True,
                                      return_counts=True)
    for values in (patterns[first], *(codes[first] for _, codes in columns), counts):
        yield values.astype("<i8").tobytes()
    if sources is not None:
        order = np.lexsort((row, sources))
        ends = np.flatnonzero(np.diff(sources[order])) + 1
        yield b"sources"
        for piece in sorted(rows.astype(">i8").tobytes()
                            for rows in np.split(row.reshape(-1)[order], ends)):
            yield len(piece).to_bytes(8, "little") + piece


def seal_of(ledger: Ledger, snapshot: str, key: str | None = None) -> Seal:
    """Return the seal of a snapshot; make the key of a ledger that has none.

    key : the file of a shared ledger's key, which has no place beside it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/notes.db", population="clinic")
    ...     ledger.introduce()
    ...     seal_of(ledger, "2026").key == seal_of(ledger, "2027").key
    True
    """
    place = key_file(ledger, key)
    # Of a shared ledger two machines may make the first keys at once, each of its own people.
    accounts = (ledger,) if key else populations(ledger.path, ledger.head)
    noted = {str(publication.claim["fingerprint"]) for account in accounts
             for publication in account.publications() if publication.claim.get("fingerprint")}
    if not os.path.lexists(place):
        if noted:
            raise LedgerError(f"the ledger's key {place.name} is missing, so this table cannot be "
                              "compared with the published one; restore the key from its backup")
        _make(place)
    secret = _read(place)
    if any(not text.startswith(key_digits(secret)) for text in noted if len(text) > OF_KEY):
        raise LedgerError(f"{place.name} is the key of another ledger; restore the key of this "
                          "ledger from its backup")
    return Seal(secret, ledger.population, snapshot)


def key_file(ledger: Ledger, key: str | None) -> Path:
    """Return the path of a ledger's key."""
    if not served(ledger.path):
        if key:
            raise ParameterError("this ledger is a file, and its key is a file in the same folder; "
                                 "leave out --fingerprint-key")
        return Path(os.path.realpath(ledger.path) + ".key")
    if not key:
        raise ParameterError("a ledger on a server needs a file for its key; name it with "
                             "--fingerprint-key, and copy it to each machine that publishes")
    return Path(checked_file(key)).absolute()


def _make(place: Path) -> None:
    """Make a new key, whole or not at all; keep the key of another process."""
    try:
        with hidden_file(place) as (file, hidden):
            write_durably(file.fileno(), os.urandom(SIZE))
            with suppress(FileExistsError):
                os.link(hidden, place)
        sync(place.parent)
    except OSError:
        raise LedgerError(f"the ledger's key {place.name} cannot be written; its folder must exist "
                          "and be writable, on a local disk") from None


def _read(place: Path) -> bytes:
    try:
        with opened(place) as file:
            facts = os.fstat(file.fileno())
            if os.name == "posix" and facts.st_mode & 0o077:  # as a restored copy may be
                os.fchmod(file.fileno(), 0o600)
                facts = os.fstat(file.fileno())
            key = file.read(SIZE + 1)
    except OSError:
        raise LedgerError(f"the ledger's key {place.name} cannot be read; it must be a file that "
                          "you own, and not a link") from None
    if len(key) != SIZE:
        raise LedgerError(f"{place.name} is not the key of a ledger: a key has {SIZE} bytes; "
                          "restore the key from its backup")
    if os.name == "posix" and facts.st_mode & 0o077:
        raise LedgerError(f"other users can read the ledger's key {place.name}, and its disk has "
                          "no permissions; move the ledger and its key to a disk that has them")
    return key


# --- what was published before --------------------------------------------------------------------

def read_also(claims: Claims) -> dict[str, How]:
    """Return how to read the columns that claims publish, so that they give the same items.

    >>> read_also([{"columns": ["age<40", "age=40..60", "ward=A", "smoker"],
    ...             "origins": ["age", "age", "ward", "smoker"]}])
    {'age': [40.0, 60.0], 'ward': None, 'smoker': None}
    """
    cuts: dict[str, list[tuple[str, ...]]] = {}
    for claim in claims:
        for item, column in zip(claim["columns"], claim["origins"], strict=True):
            ends = re.fullmatch(_ENDS, item.removeprefix(column))
            texts = tuple(filter(None, ends.groups())) if ends else ()
            cuts.setdefault(column, []).append(
                () if any(isnan(_place(text)) for text in texts) else texts)
    return {column: [_point(text) for text in sorted({text for ends in texts for text in ends},
                                                      key=_place)] or None
            for column, texts in cuts.items()}


def reading(columns: Sequence[str] | Mapping[Any, Any] | None, claims: Claims,
            ) -> tuple[Any, frozenset[str]]:
    """Add the columns of earlier claims to `columns`; return also those that were added.

    `columns` is an argument of `items_of`; its own settings of a column are kept.

    >>> reading(["ward"], [{"columns": ["age<40"], "origins": ["age"]}])
    ({'ward': None, 'age': [40.0]}, frozenset({'age'}))
    >>> reading(["ward"], [{"columns": ["ward=A", "smoker"], "origins": ["ward", "smoker"]}])
    (['ward', 'smoker'], frozenset({'smoker'}))
    """
    also = read_also(claims)
    requested = columns if isinstance(columns, Mapping) else dict.fromkeys(columns or ())
    everything = columns is None or ... in requested
    closed = frozenset(name for name in also if requested.get(name, None if everything else False)
                       is False)
    how = {name: requested.get(name) or cuts for name, cuts in also.items()}
    if not any(how.values()) and not isinstance(columns, Mapping):
        return columns if columns is None else [*columns, *sorted(closed)], closed
    wanted = {**requested, **{name: cuts for name, cuts in how.items()
                          if cuts is not None or name in closed}}
    if columns is None:
        wanted[...] = None
    return wanted, closed


def counted_items(table: Labelled, claims: Claims) -> tuple[int, ...]:
    """Return the positions of all items that claims publish; refuse a table that lacks one.

    >>> import numpy as np
    >>> from privsieve.rows.matrix import Items
    >>> table = Labelled(Items.dense([[1, 0]], ["a", "b"]), np.zeros(1, np.int32), (None,))
    >>> counted_items(table, [{"columns": ["b"], "origins": ["b"]}])
    (1,)
    """
    place = {name: at for at, name in enumerate(table.items.names)}
    for claim in claims:
        for item, column in zip(claim["columns"], claim["origins"], strict=True):
            if item not in place:
                raise LedgerError(_lost(table, item, column, read_also(claims)[column]))
    return tuple(sorted({place[item] for claim in claims for item in claim["columns"]}))


def beside(table: Labelled, claims: Claims, closed: Collection[str]) -> Labelled:
    """Mark the items of the table that count, and drop other items of closed columns.

    If rows were left out before, nothing can be added, and nothing is marked.
    """
    counted = set(counted_items(table, claims))
    alone = any(claim["suppressed"] for claim in claims)
    kept = [j for j, name in enumerate(table.items.origin) if name not in closed or j in counted]
    return replace(table, items=table.items.take(kept), closed=tuple(sorted(closed)),
                   counted=() if alone else tuple(at for at, j in enumerate(kept) if j in counted))


def open_part(table: Labelled, rule: Rule, choice: Choice) -> Choice:
    """Return the items of a choice that leave: without columns that only count.

    An item that was published before may leave again if its column may be chosen.
    """
    origin = table.items.origin
    selected = tuple(j for j in choice.selected if origin[j] not in table.closed)
    if choice.selected and not selected:
        raise NothingFits("no further column keeps the rule together with the published columns of "
                          "this snapshot; offer more columns, or publish nothing more of it")
    if selected == choice.selected:
        return choice
    level = measure_selection(table, rule, selected)[0]
    return replace(choice, selected=selected, level=level, objective=None, bound=None, proved=False)


def _place(text: str) -> float:
    """Return a cut point as a number; NaN for another text."""
    number = number_cell(text)
    return date_cell(text) if isnan(number) else number


def _point(text: str) -> float | dt.datetime:
    """Return a cut point for `items_of`: a number or a date."""
    number = number_cell(text)
    return dt.datetime.fromisoformat(text) if isnan(number) else number


def _lost(table: Labelled, item: str, column: str, how: How) -> str:
    """Say that the table lacks an item that was published before, and what to do."""
    role = ("the target" if column == table.target else
            "sensitive" if column in [other.name for other in table.sensitive] else None)
    if role:
        return (f"column {column!r} of this snapshot is already published, so it cannot be {role} "
                "now; remove this role, or publish nothing more of this snapshot")
    points = ",".join(str(point).removesuffix(".0") for point in how or ())
    cut = f" (--cut {column}={points})" if points else ""
    return (f"column {column!r} of this snapshot was published as {item!r}, but this table does "
            f"not have that item; give the same table, with the same cuts{cut} and the same "
            "--missing")


def check_snapshot(earlier: Sequence[Any], snapshot: str, *, signed: bool) -> None:
    """Refuse another state of a table of the same people: two states together break both.

    `earlier` are the ledger's publications of these people.
    """
    others = {noted.snapshot for noted in earlier}
    if not others or snapshot in others or signed:
        return
    raise LedgerError(f"another snapshot of these people is published "
                      f"({', '.join(sorted(others))}), and an attacker could join the rows of both;"
                      f" publish from that snapshot.  If {snapshot} is about other people, name "
                      'the person who confirms this: --other-people "NAME"')


def claims_of(earlier: Sequence[Any], snapshot: str) -> tuple[Mapping[str, Any], ...]:
    """Return the claims of all publications of a snapshot in the ledger."""
    claims = tuple(noted.claim for noted in earlier if noted.snapshot == snapshot)
    if not all(claim.get("fingerprint") for claim in claims):
        raise LedgerError(f"a publication of {snapshot} has no fingerprint in the ledger, so this "
                          "table cannot be compared with the published one; publish nothing more "
                          "of this snapshot")
    return claims


def check_together(table: Labelled, claim: Mapping[str, Any], earlier: Sequence[Any], seal: Seal,
                   ) -> None:
    """Refuse a publication that breaks a promise together with others of its snapshot.

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
    if any(other["suppressed"] for other in claims):
        if any(_terms(other) != _terms(claim) for other in claims):
            raise LedgerError("one publication of this snapshot leaves out rows, and another would "
                              "show which rows; publish the same columns under the same rule, or "
                              "nothing more of this snapshot")
        return  # the same rows of the same columns
    _check_union(table, claims, seal.snapshot)


def recognise(table: Labelled, before: Claims, seal: Seal) -> None:
    """Refuse a table that differs from the published one, or is read in another way."""
    counted_items(table, before)
    for claim in before:
        _check_classes(table, claim)
    for claim in before:
        _check_table(table, claim, seal)


def strictest(items: Items, claims: Claims, classes: int = 1) -> Rule:
    """Return the strictest of the rules of claims for some items: what all of them keep.

    An absence that one of them counts is counted of all items of its column.
    """
    columns = {name: column for claim in claims
               for name, column in zip(claim["columns"], claim["origins"], strict=True)}
    both = {columns[name] for claim in claims for name in claim["absent"]}
    equal = any(claim["model"] == "k-anonymity" for claim in claims)
    return Rule(
        k=max(claim["k"] for claim in claims), classes=classes,
        model="k-anonymity" if equal else "containment",
        l_diversity=max(claim["l_diversity"] for claim in claims),
        absent=np.array([columns.get(name, column) in both for name, column in
                         zip(items.names, items.origin, strict=True)], np.bool_),
        labelled=any(claim["roles"]["target_known"] for claim in claims))


def limits_of(claims: Claims) -> dict[str, Any]:
    """Return the strictest limits of attribute disclosure that some claim has.

    >>> limits_of([{"limits": {"share": "0.9", "entropy": None}}, {"limits": {"share": "0.85"}}])
    {'share': '0.85'}
    """
    limits = {name: [claim["limits"][name] for claim in claims if claim["limits"].get(name)]
             for name in STRICTER}
    return {name: STRICTER[name](texts, key=Fraction) for name, texts in limits.items() if texts}


def tightened(table: Labelled, rule: Rule, before: Claims) -> Rule:
    """Return the rule for a choice that also keeps the claims of before.

    Refuse if the columns published before do not keep it already.
    """
    if not before or any(claim["suppressed"] for claim in before):
        return rule  # if rows are left out, only the same publication may follow
    first = strictest(table.items, before, len(table.classes))
    absent = np.full(len(table.items), "k-anonymity" in (rule.model, first.model))
    for known in (rule.absent, first.absent):
        absent |= False if known is None else known
    strict = replace(rule, k=max(rule.k, first.k), absent=absent,
                     l_diversity=max(rule.l_diversity, first.l_diversity),
                     labelled=rule.labelled or first.labelled)
    beyond = shortfall(table, strict, counted_items(table, before))
    if beyond.small or beyond.poor:
        raise LedgerError(f"under this rule, the published columns of this snapshot already leave "
                          f"{_rows_beyond(table, strict, beyond)}; choose a weaker rule (such as a "
                          "smaller k), or publish nothing more of this snapshot")
    return strict


def _rows_beyond(table: Labelled, rule: Rule, beyond: Shortfall) -> str:
    kind = (f"below k = {rule.k}" if beyond.small
            else f"with fewer than {rule.l_diversity} classes or values")
    return f"{beyond.small or beyond.poor} of {table.items.rows} rows in groups {kind}"


def tightened_limits(limits: Limits, before: Claims) -> Limits:
    """Return the limits for a choice that also keeps the limits of before.

    >>> tightened_limits(Limits.of(share="0.9"), [{"limits": {"share": "0.8"}}]).share
    Fraction(4, 5)
    """
    return Limits.of(distinct=limits.distinct, **limits_of([{"limits": limits.json()}, *before]))


def union_of(table: Labelled, rule: Rule, selected: Sequence[int], sensitive: Sequence[str] = (),
             ) -> Shortfall:
    """Count the rows that miss a rule if columns are published together.

    >>> table = Labelled(Items.dense([[1], [1], [0]]), np.array([0, 1, 1], np.int32), ("n", "y"))
    >>> union_of(table, Rule(k=2, classes=2, l_diversity=2), [0]).poor
    0
    >>> union_of(table, Rule(k=2, classes=2, labelled=True), [0]).small
    2
    """
    whole = shortfall(table, rule, selected)
    poor = [whole.poor, *(
        shortfall(replace(table, y=column.codes, sources=None),
                  replace(rule, classes=len(column.values), labelled=False), selected).poor
        for column in table.sensitive if rule.l_diversity > 1 and column.name in sensitive)]
    return replace(whole, poor=max(poor))


def _check_classes(table: Labelled, before: Mapping[str, Any]) -> None:
    """Refuse a table without the classes or sensitive values on which an earlier claim rests."""
    classes, sensitive = rests_on(before)
    name = target_of(before)
    if classes and name != table.target:
        here = f"with the target {table.target!r}" if table.target else "without a target"
        raise LedgerError(f"a publication of this snapshot shows or counts the classes of the "
                          f"target {name!r}, but you read the table {here}; name that target "
                          "(--target), or publish nothing more of this snapshot")
    lost = sorted(set(sensitive) - {column.name for column in table.sensitive})
    if lost:
        raise LedgerError(f"the sensitive column {lost[0]!r} of this snapshot is published or has "
                          "a limit, but is not sensitive here; name it with --sensitive")


def _check_table(table: Labelled, before: Mapping[str, Any], seal: Seal) -> None:
    """Refuse a table that differs from the one that a claim is about."""
    if before.get("counted") and table.sources is None:
        raise LedgerError("a publication of this snapshot counts people in its groups; name the "
                          "column of person ids with --source, or as person in the domain file")
    if fingerprint(table, before, seal) == before["fingerprint"]:
        return
    rows = before["rows"] + before["suppressed"]
    change = ("rows or cells were changed, or are read in another way" if rows == table.items.rows
              else f"it has {table.items.rows} rows instead of {rows}")
    raise LedgerError(f"this table is not the one from which {_few(before['columns'])} of "
                      f"{seal.snapshot} {'was' if len(before['columns']) == 1 else 'were'} "
                      f"published: {change}; two versions of a table show who changed, so publish "
                      "from that table, or publish nothing more about these people")


def _check_union(table: Labelled, claims: Claims, snapshot: str) -> None:
    """Refuse columns that together break the strictest of the rules."""
    rule, limits = strictest(table.items, claims, len(table.classes)), limits_of(claims)
    selected = counted_items(table, claims)
    people = any(claim.get("counted") for claim in claims)
    counted = table if people else replace(table, sources=None)
    sensitive = [name for claim in claims for name in rests_on(claim)[1]]
    beyond = union_of(counted, rule, selected, sensitive)
    together = (f"together with the published columns of {snapshot}, these {len(selected)} columns "
                "would leave")
    out = "publish fewer columns, or the same columns as before"
    if beyond.small or beyond.poor:
        raise LedgerError(f"{together} {_rows_beyond(table, rule, beyond)}; {out}")
    rows = missed(table, rule, Limits.of(**limits), selected) if limits else {}
    if most := max(rows.values(), default=0):
        named = ", ".join(f"{name} {text}" for name, text in limits.items())
        raise LedgerError(f"{together} {most} of {table.items.rows} rows beyond a limit ({named}); "
                          f"{out}")


def _terms(claim: Mapping[str, Any]) -> tuple[object, ...]:
    """Return the terms that decide which rows of which columns leave."""
    roles = claim["roles"]
    return (sorted(claim["columns"]), claim["k"], claim["model"], claim["l_diversity"],
            sorted(claim["absent"]), claim["suppressed"], claim.get("counted"), roles["target"],
            roles["target_known"], claim["rows"], sorted(claim["limits"].items()),
            sorted(claim["sensitive"]))


def _few(names: Sequence[str]) -> str:
    """Return the first names of a list, and the number of the others."""
    others = f" and {len(names) - 2} more" if len(names) > 3 else ""
    return ", ".join(repr(name) for name in names[:2 if others else 3]) + others
