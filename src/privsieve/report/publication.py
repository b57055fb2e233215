"""Publication: what a page says of columns that were published under containment.

`PublicationPage` holds what anybody can work out from the published table and the public settings;
`InternalPage` adds what its holder knows.  The public template never meets the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from privsieve.ledger.certificate import sentence
from privsieve.public.canonical import canonical, digest
from privsieve.public.strangers import WHO, known, spoken
from privsieve.report.disclosure_html import Limit, Told, limits_of, told_of


class Item(NamedTuple):
    """A published column: how many rows have it, and the smallest crowd without it, if counted."""

    name: str
    rows: int
    without: int | None


class Crowds(NamedTuple):
    """The crowds of one kind of stranger.

    who : what this stranger knows, in words.
    alone : rows without anybody else in their crowd; None where the release does not say.
    average : the mean chance that a row is found, rounded up, in billionths.
    """

    who: str
    level: int
    below: int
    alone: int | None
    billionths: int


class Measured(NamedTuple):
    """What was counted on the published table.

    promised : the stranger of whom the promise speaks; every : the one who knows all cells.
    strangers : each kind, the promised one among them.
    bins : from this size to that (None: and more), how many rows have such a crowd, as promised.
    one_class : rows whose whole crowd has one class, for who knows the columns alone; None where
        no class was published.
    """

    rows: int
    patterns: int
    promised: Crowds
    every: Crowds
    strangers: tuple[Crowds, ...]
    one_class: int | None
    bins: tuple[tuple[int, int | None, int], ...]
    items: tuple[Item, ...]


class PublicationPage(NamedTuple):
    """All that the public edition may say."""

    short: str
    sentence: str
    columns: tuple[str, ...]
    partial: tuple[tuple[str, tuple[str, ...]], ...]
    target: str | None
    k: int
    level: int
    equal: bool
    knows: str
    roles: tuple[tuple[str, tuple[str, ...]], ...]
    l_diversity: int
    suppressed: int
    sources: bool
    measured: Measured | None
    disclosed: tuple[Told, ...] | None
    limits: tuple[Limit, ...]
    population: str | None
    snapshot: str | None
    entry: str | None
    settings: tuple[tuple[str, str], ...]
    software: tuple[tuple[str, str], ...]
    digests: tuple[tuple[str, str], ...]


class Closed(NamedTuple):
    """A column that stays behind: the smallest crowd with it, and the rows it would expose."""

    name: str
    level: int
    below: int
    poor: int


class InternalPage(NamedTuple):
    """The public edition, and what only the holder of the table may know."""

    public: PublicationPage
    rows: int
    items: int
    columns: int
    closed: tuple[Closed, ...]
    passed_over: int


def page_of(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> PublicationPage:
    """The page of a publication; what is not in its two files becomes None."""
    claim, ledger = certificate["claim"], certificate["ledger"]
    digests = [("the published table", claim["table_sha256"]),
               ("certificate.json", digest(canonical(certificate))),
               ("release.json", certificate["release_sha256"])]
    if ledger is not None:
        digests.append(("ledger, head", ledger["head"]))
    return PublicationPage(
        short=certificate["release_sha256"][:12],
        sentence=sentence(certificate),
        columns=tuple(sorted(claim["columns"], key=lambda name: (name.casefold(), name))),
        partial=tuple((name, tuple(items)) for name, items in sorted(release["partial"].items())),
        target=claim["target"],
        k=int(claim["k"]), level=int(claim["level"]), equal=claim["model"] == "k-anonymity",
        knows=known(claim), roles=spoken(claim), l_diversity=int(claim["l_diversity"]),
        suppressed=int(claim["suppressed"]), sources=claim.get("counted") == "sources",
        measured=_measured(release.get("measured"), claim),
        disclosed=told_of(release), limits=limits_of(claim),
        population=certificate["population"],
        snapshot=ledger["snapshot"] if ledger else None,
        entry=str(ledger["publish"]["seq"]) if ledger else None,
        settings=tuple((name, "none" if value is None else str(value))
                       for name, value in sorted(certificate["plan"].items())),
        software=tuple((str(name), str(of)) for name, of in
                       sorted(certificate["software"].items())),
        digests=tuple(digests))


def internal_of(release: Mapping[str, Any], certificate: Mapping[str, Any],
                closed: Mapping[str, Any]) -> InternalPage:
    """The internal page: the public one, and what `containment.closed` says."""
    return InternalPage(
        public=page_of(release, certificate), rows=closed["rows"], items=closed["items"],
        columns=closed["columns"],
        closed=tuple(Closed(str(name), level, below, poor)
                     for name, level, below, poor in closed["closed"]),
        passed_over=closed["passed_over"])


def _measured(said: Mapping[str, Any] | None, claim: Mapping[str, Any]) -> Measured | None:
    if said is None:
        return None
    if "strangers" not in said:
        said = _before_roles(said, claim)
    strangers = {who: _crowds(words.format(target=claim["target"]), said["strangers"][who])
                 for who, words in WHO.items() if who in said["strangers"]}
    every = [who for who in ("everything", "all_class", "all") if who in strangers]
    return Measured(
        rows=int(said["rows"]), patterns=int(said["patterns"]),
        promised=strangers[said["promised"]], every=strangers[every[0]],
        strangers=tuple(strangers.values()), one_class=said["one_class"],
        bins=tuple((int(low), high, int(rows))
                   for low, high, rows in said["strangers"][said["promised"]]["bins"]),
        items=tuple(Item(str(name), int(rows), without) for name, rows, without in said["items"]))


def _before_roles(said: Mapping[str, Any], claim: Mapping[str, Any]) -> dict[str, Any]:
    """What version 0.1.0 counted: who knows what a row has, and who knows all of its cells."""
    equal = claim["model"] == "k-anonymity"
    return {**said, "promised": "known",
            "one_class": said["one_class_equals" if equal else "one_class"],
            "strangers": {"known": {**said["has"], "alone": None}, "all": said["all"]}}


def _crowds(who: str, said: Mapping[str, Any]) -> Crowds:
    whole, _, part = said["average"].partition(".")
    return Crowds(who, int(said["level"]), int(said["below"]), said["alone"],
                  int(whole) * 10**9 + int(part))
