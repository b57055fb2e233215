"""Issue: write, count, note, certify.  Written once; the order of statements is the promise.

1. The ledger knows the people, and no other snapshot of them unless somebody signed for that.
2. The table is written under a hidden name, and its level is counted from that file.
3. All publications of the snapshot, taken as one, keep the largest k.
4. The ledger's note is durable before a file gets its name.

Beside them lies a report, made of the release and its certificate alone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from privsieve._version import __version__
from privsieve.containment.facts import facts
from privsieve.containment.measures import hub
from privsieve.containment.publish import (
    body_of,
    check_snapshot,
    check_together,
    claim_of,
    known_absences,
    project,
    sources_at,
    written,
)
from privsieve.core.canonical import canonical, digest
from privsieve.core.items import Items
from privsieve.errors import CheckFailed, LedgerError
from privsieve.privacy.certificate import contained
from privsieve.privacy.ledger import Ledger, populations
from privsieve.privacy.verify_table import recount_table
from privsieve.report import stage_report

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privsieve.containment.choice import Choice
    from privsieve.containment.measures import Hub
    from privsieve.containment.publish import Labelled, Promise
    from privsieve.core.canonical import Json
    from privsieve.privacy.folder import Folder
    from privsieve.privacy.ledger import Entry


@dataclass(frozen=True)
class People:
    """Whose rows these are, and the state of their table; `signed` vouches for other people.

    seen : the last publication that was looked at (0: none); a later one refuses this.
    """

    ledger: Ledger
    snapshot: str
    signed: str | None = None
    seen: int = 0


@dataclass(frozen=True)
class Form:
    """How a choice leaves: its plan, with target and sensitive columns or not, as which file."""

    plan: Mapping[str, Json]
    with_target: bool = False
    with_sensitive: bool = False
    kind: Literal["csv", "parquet"] = "csv"


@dataclass(frozen=True, eq=False, repr=False)
class Issued:
    """What left: the release, its certificate, and whether the same few rows hide everybody."""

    release: Mapping[str, Any]
    certificate: Mapping[str, Any]
    hub: Hub


def people_of(path: str, population: str, snapshot: str, *, signed: str | None = None,
              first: bool = False) -> People:
    """The people of a ledger, who may be new only if this is said to be the first of them."""
    ledger = Ledger(path, population=population)
    known = {one.population for one in populations(path)} if os.path.lexists(path) else set()
    if ledger.population not in known:
        if not first:
            raise LedgerError(f"{ledger.population}: the ledger does not know these people; "
                              "correct --ledger or --population, or say --first if nothing was "
                              "ever published or granted of them")
        ledger.introduce()
    earlier = ledger.publications()
    check_snapshot(earlier, snapshot, signed=signed is not None)
    return People(ledger, snapshot, signed, earlier[-1].seq if earlier else 0)


def issue(table: Labelled, choice: Choice, promise: Promise, form: Form, folder: Folder, *,
          people: People | None = None) -> Issued:
    """Publish a choice; a refusal comes before the note, and nothing has its name by then."""
    rule = promise.rule
    projected = project(table, choice, rule, with_target=form.with_target,
                        with_sensitive=form.with_sensitive)
    name = f"table.{form.kind}"
    folder.stage(name, written(projected, form.kind))
    data = folder.staged(name)
    claim = claim_of(table, projected, choice, promise)
    counted = recount_table(
        data, target=projected.target, model=rule.model,
        absent=known_absences(table, choice, rule), target_known=promise.roles.target_known,
        sensitive=[name for name, _ in projected.sensitive])
    if counted.level < rule.k or (projected.target and counted.classes < rule.l_diversity):
        raise CheckFailed("the written table does not keep what was asked, and is taken away: "
                          "this is a mistake of privsieve; report it")
    if table.sources is not None and int(sources_at(table, rule, choice.selected).min()) < rule.k:
        raise CheckFailed("a group of the chosen columns has fewer sources than asked: this is a "
                          "mistake of privsieve; report it")
    claim |= {"level": counted.level, "table_sha256": digest(data)}
    measured = facts(projected, claim)
    body = {**body_of(table.items, choice, form.plan), "measured": measured}
    release = canonical(body)
    folder.stage("release.json", release)
    entry = _note(table, claim, digest(release), people)
    certificate = contained(claim, form.plan, digest(release), entry, {"privsieve": __version__})
    folder.stage("certificate.json", canonical(certificate))
    stage_report(folder, body, certificate)
    folder.link()
    return Issued(body, certificate, hub(Items.dense(projected.cells, projected.names), rule.k))


def _note(table: Labelled, claim: Mapping[str, Any], release_sha256: str, people: People | None,
          ) -> Entry | None:
    """The ledger's entry, unless all publications of the snapshot together break a promise."""
    if people is None:
        return None
    ledger, snapshot = people.ledger, people.snapshot
    check_together(table, claim, ledger.publications(), snapshot)
    if people.signed is not None:
        ledger.other_people(snapshot, people.signed)
    return ledger.publish(snapshot, claim["columns"], claim["k"], claim["model"],
                          claim={**claim, "release_sha256": release_sha256}, after=people.seen)
