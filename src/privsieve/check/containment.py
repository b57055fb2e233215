"""Verify a certificate of containment: its release, its ledger entry, and the published table.

Here, unlike for noise, the claim itself can be recounted, by anybody who has the table, and so can
what the publication measured: the crowds of each stranger.  Patterns are one large integer a
column, as in `check.table`; figures are fractions.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privsieve.check.certificate import (
    RELEASE_FORMAT,
    PublicationRelease,
    bound,
    demand_fields,
)
from privsieve.check.reasons import Unreadable, failed
from privsieve.check.table import (
    OpenGroups,
    figure_reasons,
    limit_notes,
    limit_reasons,
    read_columns,
    recount_table,
    recounted,
    weigh,
)
from privsieve.public import strangers
from privsieve.public.canonical import digest, visible
from privsieve.public.plain import opened

MODELS = ("containment", "k-anonymity")
#: A published table may be larger than the other files of a release.
LARGEST_TABLE = 2**29

_FINGERPRINT = r"[0-9a-f]{64}"
#: Shares are told in so many parts of one, rounded up.
PARTS = 10**9
#: So many groups are counted for each column that is left out; of more that is not recounted.
MOST_GROUPS = 20_000
#: A publication of more columns, or of more rows times columns times columns, says no such level.
MOST_COLUMNS, MOST_SQUARES = 64, 2 * 10**9
#: Patterns times patterns and columns: of more the crowds are not counted again, in seconds.
MOST_CELLS = 10**10


def claim_reasons(body: Mapping[str, Any]) -> Iterator[str]:
    """What contradicts itself in a certificate."""
    claim = body["claim"]
    yield from _role_reasons(claim)
    noted = body["ledger"] is not None
    if (claim["fingerprint"] is not None) != noted or (
            noted and not re.fullmatch(_FINGERPRINT, claim["fingerprint"])):
        yield "the table has no fingerprint in the ledger, or one that is none"
    yield from failed({
        "the claim names no known model": claim["model"] in MODELS,
        "the claim counts neither rows, nor persons or sources":
            claim.get("counted", "persons") in [*strangers.COUNTED],
        "the claimed k protects nobody": claim["k"] >= 2,
        "the claimed level is below the claimed k": claim["level"] >= claim["k"],
        "the claimed columns are not names, each once": _distinct(claim["columns"]),
        "the columns with known absence are not among the claimed ones":
            _distinct([*claim["absent"], ""]) and _distinct(claim["columns"])
            and set(claim["absent"]) <= set(claim["columns"]),
        "the claimed l-diversity or suppression is not a count":
            claim["l_diversity"] >= 1 and claim["suppressed"] >= 0,
    })


def _role_reasons(claim: Mapping[str, Any]) -> Iterator[str]:
    """What contradicts itself in the roles: each column has one, and it is the one that counts."""
    roles, origins = claim["roles"], claim["origins"]
    named = [*roles["presences"], *roles["both"], *roles["sensitive"]]
    if not all(isinstance(name, str) for name in [
            *named, *origins, *claim["sensitive"], *claim["limits"]["ordered"]]):
        yield "the roles name something else than columns"
        return
    equal = claim["model"] == "k-anonymity"
    both = set(roles["both"])
    lacking = [] if equal else [name for name, origin in
                                zip(claim["columns"], origins, strict=False) if origin in both]
    target = roles["target"]
    yield from failed({
        "a column has two roles, or none":
            len(set(named)) == len(named) and target not in named
            and set(origins) <= {*roles["presences"], *both},
        "the origins are not one for each claimed column": len(origins) == len(claim["columns"]),
        "under k-anonymity a column counts in its presences only":
            not equal or set(origins) <= both,
        "the known absences are not those of the roles": lacking == claim["absent"],
        "the target of the claim is not the one of its roles":
            claim["target"] in (None, target),
        "a target that is not published counts as known":
            not roles["target_known"] or claim["target"] is not None,
        "an ordered column is not a published sensitive one":
            set(claim["limits"]["ordered"]) <= set(claim["sensitive"]),
        "a published sensitive column has another role": set(claim["sensitive"]) <= set(
            roles["sensitive"]) and len(set(claim["sensitive"])) == len(claim["sensitive"]),
        "the claimed number of rows is not a count": claim["rows"] >= 1,
    })


def release_reasons(body: Mapping[str, Any], release: Mapping[str, Any]) -> Iterator[str]:
    """What is not of its form, or does not agree with the claim."""
    demand_fields(release, PublicationRelease, "the release", RELEASE_FORMAT)
    claim, plan = body["claim"], release["plan"]
    chosen: dict[str, list[str]] = {}
    for name, origin in zip(claim["columns"], claim["origins"], strict=False):
        chosen.setdefault(origin, []).append(name)
    part = release["partial"]
    yield from failed({
        "the plan is not for the claimed k, model, diversity or sources":
            all(plan[name] == claim[name] for name in ("k", "model", "l_diversity"))
            and plan.get("counted") == claim.get("counted"),
        "more rows are suppressed than planned": claim["suppressed"] <= plan["suppress"],
        "the plan names a profile and a method, or neither":
            (plan["profile"] is not None) == (plan["method"] == "profile")
            and (plan["weights"] is None) == (plan["profile"] is not None),
        "what is published of a column in part is not among the columns":
            set(part) <= set(release["selected"])
            and all(list(names) == chosen.get(name, [*dict.fromkeys(names)])
                    and set(names) <= set(claim["columns"])
                    for name, names in part.items()),
        "the release names a column twice, or one of which nothing is published":
            len(set(release["selected"])) == len(release["selected"])
            and all(any(one.startswith(name) for one in claim["columns"])
                    for name in release["selected"]),
    })
    yield from failed({
        "the columns of the release are not the claimed ones":
            release.get("columns") == body["claim"]["columns"],
        "the plan of the release is not the certified one": release.get("plan") == body["plan"],
        "the columns of the table that the release names are not those of the claim":
            release.get("selected") == list(dict.fromkeys(body["claim"]["origins"])),
    })


def entry_reasons(body: Mapping[str, Any]) -> Iterator[str]:
    """Write the ledger's entry anew from the certificate; its hash must be the same."""
    claim, known = body["claim"], body["ledger"]
    content = {"population": body["population"], "snapshot": known["snapshot"],
               "columns": claim["columns"], "k": claim["k"], "model": claim["model"],
               "claim": {**claim, "release_sha256": body["release_sha256"]}}
    return failed({
        "the claim is not the one that was noted in the ledger":
            bound(known["publish"], "publish", content),
        "the head is not the entry of the publication":
            known["head"] == known["publish"]["hash"],
    })


def table_reasons(body: Mapping[str, Any], table: str | os.PathLike[str] | bytes,
                  release: Mapping[str, Any] | None = None) -> Iterator[str]:
    """Compare the digest of the published table, then count the table again, and compare."""
    claim = body["claim"]
    try:
        columns = read_columns(_bytes(table, claim["table_sha256"]))
        found = recount_table(
            columns, target=claim["target"], model=claim["model"], absent=claim["absent"],
            target_known=claim["roles"]["target_known"], sensitive=claim["sensitive"])
        values = recounted(claim, columns)
    except Unreadable as error:
        yield str(error)
        return
    yield from failed({
        "the table has other columns than claimed": list(found.columns) == claim["columns"],
        "the table does not keep the claimed k": found.level >= claim["k"],
        "the level of the table is not the claimed one": found.level == claim["level"],
        # Without the labels in the file nobody else can count them.
        "the table does not keep the claimed l-diversity":
            claim["target"] is None or found.classes >= claim["l_diversity"],
        "the table has another number of rows than claimed":
            found.rows == claim["rows"],
    })
    yield from limit_reasons(claim, values)
    if release is not None:
        yield from figure_reasons(claim, release, values)
        try:
            yield from _measured(claim, release, columns)
        except Unreadable as error:  # too much to be counted again
            yield str(error)


def notes(claim: Mapping[str, Any]) -> Iterator[str]:
    """What the check cannot show of this claim, whatever is given."""
    hidden = claim["target"] is None and claim["l_diversity"] > 1
    yield from (f"{role}: {', '.join(map(visible, names))}"
                for role, names in strangers.spoken(claim))
    yield from limit_notes(claim)
    yield from failed({
        "the target is published, and a group may have one class: who is in it is known to be of "
        "that class": claim["target"] is None or claim["l_diversity"] > 1,
        f"k counts {strangers.counted(claim)[1]}, which the table does not hold: only that a group "
        "has as many rows was recounted; who holds the ids can count the rest (privsieve check "
        "TABLE FOLDER)": "counted" not in claim,
        "the target is not published: the classes in a group were not recounted": not hidden,
    })


def _bytes(table: str | os.PathLike[str] | bytes, wanted: str) -> bytes:
    """The bytes of a table with the certified digest; what has another one is not held."""
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
            raise Unreadable("the table cannot be read, or is no plain file") from None
    if digest(table) != wanted:
        raise Unreadable("the table is not the certified one")
    return table


def _distinct(names: list[object]) -> bool:
    return bool(names) and all(isinstance(name, str) for name in names) and len(
        set(names)) == len(names)


# --- what a publication measured ----------------------------------------------------------------

#: For each pattern, and texts that are known beside it: how many rows it has, and how many fit.
Crowds = Mapping[tuple[int, Any], tuple[int, int]]


@dataclass(frozen=True)
class Opened:
    """A published table: its columns of zeros and ones, and who knows which absences."""

    held: Mapping[str, Sequence[str]]
    groups: OpenGroups
    absent: frozenset[str]
    target: Sequence[str] | None
    beside: tuple[Sequence[str], ...]

    @classmethod
    def of(cls, table: Mapping[str, Sequence[str]], claim: Mapping[str, Any]) -> Opened:
        """A table as its claim says it."""
        if not {*claim["columns"], *claim["sensitive"]} <= table.keys():
            raise Unreadable("the table lacks a claimed column")
        held = {name: table[name] for name in claim["columns"]}
        shown = held if claim["model"] == "k-anonymity" else claim["absent"]
        target = None if claim["target"] is None else table[claim["target"]]
        return cls(held, OpenGroups.of(held), frozenset(shown), target,
                   tuple(table[name] for name in claim["sensitive"]))

    def crowds(self, absent: frozenset[str], texts: Sequence[Sequence[str]] = (), *,
               without: str | None = None) -> Crowds:
        """How many rows fit what is known of each row."""
        groups = self.groups
        counts = groups.counts(zip(*texts, strict=True) if texts else [()] * groups.rows)
        digits = {text: groups.digits(own) for text, own in counts.items()}
        fitting = [groups.group(pattern, absent, without) for pattern in groups.patterns]
        return {(at, text): (rows, weigh(fitting[at], digits[text]))
                for text, own in counts.items() for at, rows in own.items()}


def _sizes(crowds: Crowds) -> dict[int, int]:
    """How many rows have a crowd of each size."""
    found: dict[int, int] = Counter()
    for rows, size in crowds.values():
        found[size] += rows
    return found


def _measured(claim: Mapping[str, Any], release: Mapping[str, Any],
              columns: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """What a publication says that it measured, and its table does not show."""
    table, told = Opened.of(columns, claim), release["measured"]
    rows, patterns = table.groups.rows, len(table.groups.patterns)
    yield from failed({
        "the release tells another number of rows or patterns than the table has":
            (told["rows"], told["patterns"]) == (rows, patterns)})
    if patterns * patterns * len(table.held) > MOST_CELLS:
        return
    every = frozenset(table.held)
    found, said = _strangers(table, every), told["strangers"]
    known = "known_class" if claim["roles"]["target_known"] else "known"
    yield from failed({
        "the release promises for another stranger than the claim":
            told["promised"] == known and known in found})
    promised = found.get(known, found["known"])
    yield from failed({
        "the release tells of other strangers than the table has":
            said.keys() == found.keys(),
        "the crowds of a stranger are not those of the table":
            said.keys() == found.keys() and all(
                _crowd(said[who], _sizes(crowds), claim["k"]) for who, crowds in found.items()),
        "the rows whose crowd has one class are not those of the table":
            told["one_class"] == _one_class(table, table.absent),
    })
    yield from _items(table, told["items"], min(_sizes(promised)),
                      (table.absent, claim["roles"]["target_known"], patterns * patterns))


def _strangers(table: Opened, every: frozenset[str]) -> dict[str, Crowds]:
    found = {"known": table.crowds(table.absent), "all": table.crowds(every)}
    label = () if table.target is None else (table.target,)
    if label:
        found |= {"known_class": table.crowds(table.absent, label),
                  "all_class": table.crowds(every, label)}
    if table.beside:
        found["everything"] = table.crowds(every, (*label, *table.beside))
    return found


def _crowd(said: Mapping[str, Any], sizes: Mapping[int, int], k: int) -> bool:
    """Whether what is said of crowds is what their sizes are."""
    share = sum(Fraction(count, size) for size, count in sizes.items()) / sum(sizes.values())
    average = -int(-(share * PARTS) // 1)  # rounded up
    starts = [1, *_starts(k, max(sizes))]
    ends = [*(start - 1 for start in starts[1:]), None]
    bins = [[low, high, sum(rows for size, rows in sizes.items()
                            if low <= size and (high is None or size <= high))]
            for low, high in zip(starts, ends, strict=True)]
    below = sum(rows for size, rows in sizes.items() if size < k)
    return (said["level"] == min(sizes) and said["below"] == below
            and said["alone"] == sizes.get(1, 0)
            and said["average"] == f"{average // PARTS}.{average % PARTS:09d}"
            and [list(one) for one in said["bins"]] == bins)


def _starts(k: int, largest: int) -> Iterator[int]:
    """Where bins of sizes begin: k, then 1, 2 or 5 times a power of ten."""
    yield k
    ten = 1
    while ten <= largest:
        yield from (times * ten for times in (1, 2, 5) if k < times * ten <= largest)
        ten *= 10


def _one_class(table: Opened, absent: frozenset[str]) -> int | None:
    """Rows whose whole crowd has one class; None without a published target."""
    if table.target is None:
        return None
    alone, among = table.crowds(absent), table.crowds(absent, (table.target,))
    return sum(rows for (at, _), (rows, size) in among.items() if size == alone[at, ()][1])


def _items(table: Opened, said: Sequence[Any], level: int,
           how: tuple[frozenset[str], bool, int]) -> Iterator[str]:
    """Each published column: how many rows have it, and the level without it."""
    absent, with_class, size = how
    if [one[0] for one in said] != list(table.held) or any(
            one[1] != cells.count("1") for one, cells in zip(said, table.held.values(),
                                                             strict=True)):
        yield "the columns that the release counts are not those of the table"
        return
    if any(one[2] is not None and one[2] < level for one in said):
        yield "the level without a column is below the one with it"
    unsaid = len(said) > MOST_COLUMNS or table.groups.rows * len(said)**2 > MOST_SQUARES
    if unsaid and not any(one[2] for one in said):
        return
    # where the class is known, too, it is told of items, some of which stand for an absence
    if not with_class and size * len(said) <= MOST_GROUPS and any(
            one[2] != max(level, min(_sizes(table.crowds(absent, without=one[0]))))
            for one in said):
        yield "the level without a column is not the one of the table"
