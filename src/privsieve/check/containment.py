"""Containment: verify the certificate of a publication, its release, ledger entry and table.

Unlike with noise, anybody who has the table can recount the claim and the measured figures: the
groups that each attacker finds.  Patterns are one large integer for each column, as in
`check.table`; figures are fractions.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from privsieve.check.certificate import RELEASE_FORMAT, PublicationRelease, bound, demand_fields
from privsieve.check.reasons import Unreadable, failed
from privsieve.check.table import Disclosed, Opened, limit_notes, limit_reasons, weigh
from privsieve.public import attackers
from privsieve.public.canonical import canonical, digest, visible
from privsieve.public.plain import opened

#: A published table may be larger than the other files of a release.
LARGEST_TABLE = 2**29

#: The most groups that are recounted for each omitted column.
MOST_GROUPS = 20_000
#: The most columns, and rows times columns squared, of a publication with levels of its columns.
MOST_COLUMNS, MOST_SQUARES = 64, 2 * 10**9
#: The largest product of patterns squared and columns whose groups are recounted, in seconds.
MOST_CELLS = 10**10


def claim_reasons(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield the contradictions inside a certificate whose fields have their types."""
    claim, roles = body["claim"], body["claim"]["roles"]
    equal, both = claim["model"] == "k-anonymity", set(roles["both"])
    named = [*roles["presences"], *roles["both"], *roles["sensitive"]]
    lacking = [] if equal else [name for name, origin in zip(
        claim["columns"], claim["origins"], strict=False) if origin in both]
    yield from failed({
        "the certificate has only one of fingerprint and ledger entry":
            (claim["fingerprint"] is not None) == (body["ledger"] is not None),
        "the claimed level is below the claimed k": claim["level"] >= claim["k"],
        "the claim names a column twice": _distinct(claim["columns"]),
        "a column has two roles, or no role":
            _distinct(named) and roles["target"] not in named
            and set(claim["origins"]) <= {*roles["presences"], *both},
        "the claim does not have one origin for each column":
            len(claim["origins"]) == len(claim["columns"]),
        "k-anonymity must count the absences of each column, and this claim does not":
            not equal or set(claim["origins"]) <= both,
        "the known absences differ from the roles": lacking == [*claim["absent"]],
        "the target of the claim differs from its roles":
            claim["target"] in (None, roles["target"]),
        "a target that is not published counts as known":
            not roles["target_known"] or claim["target"] is not None,
        "an ordered column is not a published sensitive column":
            set(claim["limits"]["ordered"]) <= set(claim["sensitive"]),
        "a published sensitive column has another role":
            set(claim["sensitive"]) <= set(roles["sensitive"]) and _distinct(claim["sensitive"]),
    })


def release_reasons(body: Mapping[str, Any], release: Mapping[str, Any]) -> Iterator[str]:
    """Check the form of a release, and yield its contradictions to the claim."""
    demand_fields(release, PublicationRelease, "the release", RELEASE_FORMAT)
    claim, plan = body["claim"], release["plan"]
    chosen: dict[str, list[str]] = {}
    for name, origin in zip(claim["columns"], claim["origins"], strict=False):
        chosen.setdefault(origin, []).append(name)
    partial = release["partial"]
    yield from failed({
        "the plan differs from the claim in k, model, l-diversity or counted units":
            all(plan[name] == claim[name] for name in ("k", "model", "l_diversity"))
            and plan.get("counted") == claim.get("counted"),
        "more rows are suppressed than planned": claim["suppressed"] <= plan["suppress"],
        "the plan names a profile and a method, or neither":
            (plan["profile"] is not None) == (plan["method"] == "profile")
            and (plan["weights"] is None) == (plan["profile"] is not None),
        "an item of a partly published column is not among the columns":
            set(partial) <= set(release["selected"])
            and all(list(names) == chosen.get(name, [*dict.fromkeys(names)])
                    and set(names) <= set(claim["columns"])
                    for name, names in partial.items()),
        "the release names a column twice, or a column without a published item":
            _distinct(release["selected"])
            and all(any(item.startswith(name) for item in claim["columns"])
                    for name in release["selected"]),
    })
    yield from failed({
        "the columns of the release differ from the claim":
            release.get("columns") == body["claim"]["columns"],
        "the selected columns of the release differ from the claim":
            release.get("selected") == list(dict.fromkeys(body["claim"]["origins"])),
    })


def entry_reasons(body: Mapping[str, Any]) -> Iterator[str]:
    """Write the ledger's entry again from the certificate; its hash must be the same."""
    claim, known = body["claim"], body["ledger"]
    content = {"population": body["population"], "snapshot": known["snapshot"],
               "columns": claim["columns"], "k": claim["k"], "model": claim["model"],
               "claim": {**claim, "release_sha256": body["release_sha256"]}}
    return failed({
        "the claim differs from the ledger entry":
            bound(known["publish"], "publish", content),
        "the head is not the entry of the publication":
            known["head"] == known["publish"]["hash"],
    })


def table_reasons(body: Mapping[str, Any], data: str | os.PathLike[str] | bytes,
                  release: Mapping[str, Any] | None = None) -> Iterator[str]:
    """Compare the digest of the published table, then recount the table and compare."""
    claim = body["claim"]
    try:
        table = Opened.of(_bytes(data, claim["table_sha256"]), claim)
        (level, classes), values = table.smallest(), table.disclosures()
        yield from failed({
            "the table does not keep the claimed k": level >= claim["k"],
            "the level of the table differs from the claim": level == claim["level"],
            # Only labels in the file can be recounted.
            "the table does not keep the claimed l-diversity":
                claim["target"] is None or classes >= claim["l_diversity"],
            "the number of rows of the table differs from the claim": table.rows == claim["rows"],
        })
        yield from limit_reasons(claim, values)
        if release is not None:
            yield from figure_reasons(table, values, release["measured"])
    except Unreadable as error:  # not a table, or too large to recount
        yield str(error)


def notes(claim: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a check can never show about this claim."""
    hidden = claim["target"] is None and claim["l_diversity"] > 1
    yield from (f"{role}: {', '.join(map(visible, names))}"
                for role, names in attackers.spoken(claim))
    yield from limit_notes(claim)
    yield from failed({
        "the target is published, and a group may have only one class: this reveals the class of "
        "everyone in it": claim["target"] is None or claim["l_diversity"] > 1,
        f"k counts {attackers.counted(claim)[1]}, but the table has no ids: only rows were "
        "recounted; the holder of the ids can count the rest (privsieve check TABLE FOLDER)":
            "counted" not in claim,
        "the target is not published, so the classes in a group were not recounted": not hidden,
    })


def _bytes(table: str | os.PathLike[str] | bytes, wanted: str) -> bytes:
    """Read a table if it has the certified digest."""
    from hashlib import file_digest

    if not isinstance(table, bytes):
        try:
            with opened(os.path.realpath(table)) as file:
                if os.fstat(file.fileno()).st_size > LARGEST_TABLE:
                    raise Unreadable("the table is larger than 512 MB")
                same = file_digest(file, "sha256").hexdigest() == wanted
                file.seek(0)
                table = file.read() if same else b""
        except (OSError, ValueError):
            raise Unreadable("the table cannot be read, or is not a plain file") from None
    if digest(table) != wanted:
        raise Unreadable("the table is not the certified table")
    return table


def _distinct(names: Sequence[str]) -> bool:
    return len(set(names)) == len(names)


# --- measured figures ---------------------------------------------------------------------------

def figure_reasons(table: Opened, values: Sequence[Disclosed], measured: Mapping[str, Any],
                   ) -> Iterator[str]:
    """Yield the measured figures of a publication that do not follow from its table."""
    claimed = measured["disclosure"]
    holds = {
        "rows": measured["rows"] == table.rows,
        "patterns": measured["patterns"] == len(table.patterns),
        "a column's values": len(claimed) == len(values) and all(
            map(Disclosed.says, values, claimed))}
    if len(table.patterns)**2 * len(table.held) <= MOST_CELLS:
        known = "known_class" if table.claim["roles"]["target_known"] else "known"
        sizes = {who: _sizes(table, *how) for who, how in _attackers(table).items()}
        figures = {who: attackers.describe_sizes(counts, table.claim["k"])
                   for who, counts in sizes.items()}
        level = min(sizes.get(known, sizes["known"]))
        holds |= {
            "the attacker of the promise": measured["promised"] == known and known in figures,
            "the groups that attackers find":
                canonical(measured["strangers"]) == canonical(figures),
            "rows whose group has one class": measured["one_class"] == _one_class(table),
            "the counts of columns": _items(table, measured["items"], level)}
    return failed({f"the release's figures about {what} do not follow from the table": right
                   for what, right in holds.items()})


#: The knowledge of an attacker: absences in some columns, and the cells of further columns.
Known = tuple[frozenset[str], tuple[str, ...]]


def _attackers(table: Opened) -> dict[str, Known]:
    every, beside = frozenset(table.held), tuple(table.beside)
    attackers: dict[str, Known] = {"known": (table.absences, ()), "all": (every, ())}
    if table.labels is not None:
        attackers |= {"known_class": (table.absences, beside[:1]), "all_class": (every, beside[:1])}
    if table.claim["sensitive"]:
        attackers["everything"] = every, beside
    return attackers


def _groups(table: Opened, absences: frozenset[str], names: tuple[str, ...] = (),
            without: str | None = None) -> dict[tuple[int, Any], tuple[int, int]]:
    """Return the rows of each pattern with texts beside it, and the rows of its group."""
    counts = table.counts(zip(*(table.cells[name] for name in names), strict=True)
                          if names else [()] * table.rows)
    digits = {text: table.digits(own) for text, own in counts.items()}
    fitting = [table.group(pattern, absences, without) for pattern in table.patterns]
    return {(at, text): (rows, weigh(fitting[at], digits[text]))
            for text, own in counts.items() for at, rows in own.items()}


def _sizes(table: Opened, *known: Any) -> dict[int, int]:
    """Return the number of rows in groups of each size."""
    rows_of_size: dict[int, int] = Counter()
    for rows, group in _groups(table, *known).values():
        rows_of_size[group] += rows
    return rows_of_size


def _one_class(table: Opened) -> int | None:
    """Return the rows whose group has one class; None without a published target."""
    if table.labels is None:
        return None
    alone, among = (_groups(table, table.absences, names) for names in ((), (table.beside[0],)))
    return sum(rows for (at, _), (rows, size) in among.items() if size == alone[at, ()][1])


def _items(table: Opened, figures: Sequence[Any], level: int) -> bool:
    """Return whether the figures of each published column are right: rows, level without it."""
    names, least = list(table.held), [figure[2] for figure in figures]
    if [tuple(figure[:2]) for figure in figures] != [(name, table.cells[name].count("1"))
                                            for name in names] or any(
            figure is not None and figure < level for figure in least):
        return False
    unsaid = len(names) > MOST_COLUMNS or table.rows * len(names)**2 > MOST_SQUARES
    # with a known class the levels are of items, and some items mean an absence
    return (unsaid and not any(least)) or table.claim["roles"]["target_known"] or (
        len(table.patterns)**2 * len(names) > MOST_GROUPS) or least == [
            max(level, min(_sizes(table, table.absences, (), name))) for name in names]
