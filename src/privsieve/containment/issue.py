"""Issue: write, count, note, certify.  Written once; the order of statements is the promise.

1. The ledger knows the people, and no other snapshot of them unless somebody signed for that.
2. The table is written under a hidden name, and its level is counted from that file.
3. All publications of the snapshot, taken as one, keep the largest k.
4. The ledger's note is durable before a file gets its name.

Beside them lies a report, made of the release and its certificate alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from privsieve._version import __version__
from privsieve.check.table import limit_reasons, recount_table, recounted
from privsieve.containment.choice import Choice
from privsieve.containment.disclosure import disclosures
from privsieve.containment.fingerprint import Seal, fingerprint, seal_of
from privsieve.containment.groups import sources_at
from privsieve.containment.labelled import Labelled
from privsieve.containment.limits import published
from privsieve.containment.measures import Hub, hub
from privsieve.containment.publish import (
    Promise,
    body_of,
    claim_of,
    facts,
    known_absences,
    project,
    written,
)
from privsieve.containment.together import check_snapshot, check_together, claims_of
from privsieve.errors import CheckFailed, LedgerError
from privsieve.kernels.patterns import Rule
from privsieve.ledger.certificate import contained
from privsieve.ledger.folder import Folder
from privsieve.ledger.ledger import Entry, Ledger, populations
from privsieve.public.canonical import Json, canonical, digest
from privsieve.report import stage_report
from privsieve.rows.matrix import Items


@dataclass(frozen=True, eq=False, repr=False)
class People:
    """Whose rows these are, and the state of their table; `signed` vouches for other people.

    seal : what fingerprints of the table are made with.
    before : what was claimed of the snapshot so far.
    seen : the last publication that was looked at (0: none); a later one refuses this.
    """

    ledger: Ledger
    seal: Seal
    before: tuple[Mapping[str, Any], ...] = ()
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
    """What left: the release, its certificate, and whether the same few rows hide everybody.

    notes : what could not be compared with what was published before.
    """

    release: Mapping[str, Any]
    certificate: Mapping[str, Any]
    hub: Hub
    notes: tuple[str, ...] = ()


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
    return People(ledger, seal_of(ledger, snapshot), claims_of(earlier, snapshot), signed,
                  earlier[-1].seq if earlier else 0)


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
    if any(limit_reasons(claim, recounted(claim, data))):
        raise CheckFailed("a group of the written table tells more than was allowed: this is a "
                          "mistake of privsieve; report it")
    claim |= {"level": counted.level, "table_sha256": digest(data)}
    if people is not None:
        claim["fingerprint"] = fingerprint(table, claim, people.seal)
    measured = {**facts(projected, claim), "disclosure": _told(table, choice, rule, form)}
    body = {**body_of(table.items, choice, form.plan), "measured": measured}
    release = canonical(body)
    folder.stage("release.json", release)
    entry, notes = _note(table, claim, digest(release), people)
    certificate = contained(claim, form.plan, digest(release), entry, {"privsieve": __version__})
    folder.stage("certificate.json", canonical(certificate))
    stage_report(folder, body, certificate)
    folder.link()
    return Issued(body, certificate, hub(Items.dense(projected.cells, projected.names), rule.k),
                  notes)


def _told(table: Labelled, choice: Choice, rule: Rule, form: Form) -> list[Json]:
    """What the groups of the published rows tell of the published target and sensitive columns."""
    part, known = published(table, rule, choice.selected)
    if not form.with_target:
        part = replace(part, y=np.zeros(part.items.rows, np.int32), classes=(None,))
        known = replace(known, labelled=False)
    if not form.with_sensitive:
        part = replace(part, sensitive=())
    return [one.json() for one in disclosures(part, known)]


def _note(table: Labelled, claim: Mapping[str, Any], release_sha256: str, people: People | None,
          ) -> tuple[Entry | None, tuple[str, ...]]:
    """The ledger's entry, unless all publications of the snapshot together break a promise."""
    if people is None:
        return None, ()
    ledger, snapshot = people.ledger, people.seal.snapshot
    notes = check_together(table, claim, ledger.publications(), people.seal)
    if people.signed is not None:
        ledger.other_people(snapshot, people.signed)
    return ledger.publish(snapshot, claim["columns"], claim["k"], claim["model"],
                          claim={**claim, "release_sha256": release_sha256},
                          after=people.seen), notes
