"""Write the table of a choice, with its release, certificate and report.

Rows leave in a random order of the system's entropy, in a new table of zeros and ones, without
index, metadata or statistics.  The claimed level is counted from the written file, by a checker
that shares no code with this module (`check.table`).  The facts of a release follow from the
written file alone: release and report reveal no more than the table does.

The order of the statements of `issue` is the promise:

1. The ledger knows the people, and no other snapshot of them unless somebody signed for that.
2. The table is written under a hidden name, and its level is counted from that file.
3. All publications of the snapshot, taken as one, keep the largest k.
4. The ledger's entry is durable before a file gets its name.

The report follows from the release and its certificate alone.
"""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve._version import __version__
from privsieve.check.reasons import Unreadable
from privsieve.check.table import Opened, limit_reasons
from privsieve.containment.choose import Choice
from privsieve.containment.knowledge import Knowledge, kept_rows
from privsieve.containment.labelled import Codes, Labelled, Roles, rows_of
from privsieve.containment.limits import NONE, Limits, disclosures, published
from privsieve.containment.measures import MOST_COLUMNS, MOST_PAIRS, Hub, crowd, gains, hub_of
from privsieve.containment.publishable import demand_some
from privsieve.containment.snapshot import (
    Seal,
    check_snapshot,
    check_together,
    claims_of,
    fingerprint,
    key_file,
    seal_of,
)
from privsieve.errors import CheckFailed, DomainError, LedgerError, SchemaError
from privsieve.folder import Folder
from privsieve.kernels.patterns import Rule
from privsieve.ledger.chain import certificate as certified
from privsieve.ledger.ledger import Entry, Ledger, populations
from privsieve.ledger.sql import lies
from privsieve.public.attackers import describe_sizes
from privsieve.public.canonical import (
    FORMULA,
    Json,
    canonical,
    check_name,
    digest,
    is_formula,
    text_of,
)
from privsieve.release import FORMAT
from privsieve.report import write_report
from privsieve.rows.matrix import Items

#: The most cells that are compared to learn what each column costs.
MOST_CELLS = 2 * 10**9


@dataclass(frozen=True, eq=False, repr=False)
class Projection:
    """The rows and columns that leave, in the order in which they leave.

    cells : uint8, rows x columns.
    labels : a text for each row; None where the target does not leave.
    sensitive : sensitive columns that leave, by name, with a text for each row.
    """

    names: tuple[str, ...]
    cells: npt.NDArray[np.uint8]
    target: str | None = None
    labels: tuple[str, ...] | None = None
    sensitive: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def beside(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the columns of texts: the sensitive ones, then the target."""
        if self.target is None or self.labels is None:
            return self.sensitive
        return (*self.sensitive, (self.target, self.labels))


@dataclass(frozen=True, eq=False, repr=False)
class Promise:
    """The promise of a publication: the roles of columns, and what the choice keeps."""

    rule: Rule
    roles: Roles
    limits: Limits = NONE


def project(table: Labelled, choice: Choice, rule: Rule, *, with_target: bool,
            with_sensitive: bool = False) -> Projection:
    """Return the chosen columns of the rows that stay, shuffled by the system's entropy."""
    demand_some(table, rule, choice)
    items = table.items.take(choice.selected)
    target = table.target if with_target else None
    beside = table.sensitive if with_sensitive else ()
    _check_names([*items.names, *(column.name for column in beside), *([target] if target else [])])
    order = np.flatnonzero(kept_rows(table, rule, choice.selected)).tolist()
    if items.rows - len(order) > rule.suppress:
        raise CheckFailed("the chosen columns break the rule; this is a bug in privsieve: please "
                          "report it")
    random.SystemRandom().shuffle(order)
    held = np.zeros((items.rows, len(items)), np.uint8)
    for j in range(len(items)):
        held[rows_of(items, j), j] = 1
    texts = [text_of(column) for column in table.classes]
    _check_cells(texts if target else [])
    labels = tuple(texts[table.y[row]] for row in order) if target else None
    sensitive = []
    for column in beside:
        _check_cells(column.values)
        sensitive.append((column.name, tuple(column.values[column.codes[row]] for row in order)))
    return Projection(items.names, held[order], target, labels, tuple(sensitive))


def claim_of(table: Labelled, projected: Projection, choice: Choice, promise: Promise,
             ) -> dict[str, Json]:
    """Return the claim on the table, without level and digest, which come from the file.

    `counted` says whether k counts persons or sources; the level of the file counts rows.
    """
    rule, beside = promise.rule, [name for name, _ in projected.sensitive]
    known = rule.absent if rule.model == "containment" else None
    return {
        **({"counted": table.counts} if table.counts else {}),
        "kind": "containment", "k": rule.k, "model": rule.model,
        "absent": [] if known is None else [
            table.items.names[j] for j in choice.selected if known[j]],
        "l_diversity": rule.l_diversity, "suppressed": choice.suppressed,
        "columns": list(projected.names), "target": projected.target,
        "rows": len(projected.cells), "origins": [table.items.origin[j] for j in choice.selected],
        "roles": promise.roles.json(), "sensitive": [*beside],
        "limits": {**promise.limits.json(), "ordered": [
            column.name for column in table.sensitive if column.ordered and column.name in beside]},
        "fingerprint": None,
    }


def body_of(items: Items, choice: Choice, plan: Mapping[str, Json]) -> dict[str, Json]:
    """Return the release: names, and how they were chosen.

    `selected` are columns of the table; `partial` has the items of columns that leave in part.
    `complete` is false if time or Ctrl-C ended the search.
    """
    chosen: dict[str, list[str]] = {}
    for j in choice.selected:
        chosen.setdefault(items.origin[j], []).append(items.names[j])
    partial = {name: names for name, names in chosen.items()
               if len(names) < items.origin.count(name)}
    return {
        "format": FORMAT,
        "kind": "containment",
        "columns": [items.names[j] for j in choice.selected],
        "selected": list(chosen),
        "partial": partial,
        "complete": choice.complete,
        "plan": dict(plan),
    }


def _check_names(names: Sequence[str]) -> None:
    """Refuse names that a reader of the file could not tell apart, see, or open safely."""
    for name in names:
        try:
            check_name(name)
        except DomainError as error:
            raise SchemaError(str(error)) from None
        if name.startswith(FORMULA):
            raise SchemaError(f"column {name!r} begins with {name[0]!r}, and a spreadsheet would "
                              "run it as a formula; rename it")
    if len(set(names)) < len(names):
        raise SchemaError("the target and a column have the same name; rename one of them")


def _check_cells(texts: Sequence[str]) -> None:
    """Refuse texts that a spreadsheet would run or hide, without quoting them."""
    for text in texts:
        if is_formula(text) or not text.isprintable():
            raise SchemaError("a label of the target or a sensitive value begins like a formula, "
                              "or is not printable; rename it")


def written(table: Projection) -> bytes:
    r"""Return the CSV file of a projection.

    >>> written(Projection(("a", "b"), np.array([[1, 0]], np.uint8), "ill", ("no",)))
    b'a,b,ill\n1,0,no\n'
    """
    head = _line([*table.names, *(name for name, _ in table.beside)])
    rows, width = table.cells.shape
    body = np.full((rows, 2 * width), ord(","), np.uint8)
    body[:, ::2] = table.cells + ord("0")
    if not table.beside:
        body[:, -1] = ord("\n")
        return head + body.tobytes()
    texts = list(zip(*(texts for _, texts in table.beside), strict=True))
    ends = {text: _line(text) for text in set(texts)}
    return head + b"".join(piece for row, text in zip(body, texts, strict=True)
                           for piece in (row.tobytes(), ends[text]))


def _line(fields: Sequence[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(fields)
    return text.getvalue().encode()


def facts(table: Projection, claim: Mapping[str, Any]) -> dict[str, Json]:
    """Measure the groups for each attacker, the cost of each column, and groups of one class.

    `known` knows what the roles say of the columns; `known_class` also the class; `all` knows
    every cell; `all_class` also the class; `everything` also the sensitive columns.

    >>> table = Projection(("x0", "x1"), np.array([[1, 1], [1, 0], [1, 0]], np.uint8))
    >>> claim = {"k": 2, "absent": [], "model": "containment", "roles": {"target_known": False}}
    >>> claim_facts = facts(table, claim)
    >>> claim_facts["items"], claim_facts["strangers"]["known"]["bins"]
    ([['x0', 3, 1], ['x1', 1, 3]], [[1, 1, 1], [2, None, 2]])
    """
    items, k = Items.dense(table.cells, table.names), claim["k"]
    hidden = set(items.names if claim["model"] == "k-anonymity" else claim["absent"])
    label = None if table.target is None else _codes(table.labels or ())
    classes = () if label is None else (label,)
    known = Knowledge(items, np.array([name in hidden for name in items.names], np.bool_))
    groups = known.groups(label, 1 if label is None else int(label.max()) + 1)
    attackers = {"known": groups}
    if classes:
        known_class = replace(known, columns=classes)
        attackers["known_class"] = known_class.groups()
    crowds = {}
    for who, found_by in attackers.items():
        crowds[who] = crowd(found_by.sizes(), k)
        crowds[who.replace("known", "all")] = crowd(found_by.equals(), k)
    if table.sensitive:
        columns = (*classes, *(_codes(texts) for _, texts in table.sensitive))
        every = Knowledge(items, None, columns, equal=True).groups()
        crowds["everything"] = crowd(every.sizes(), k)
    promised = "known_class" if claim["roles"]["target_known"] else "known"
    patterns = len(groups.table.counts)
    # The cost of this count follows from the published table, which is public.
    soon = (len(items) <= MOST_COLUMNS and len(items) * patterns**2 <= MOST_PAIRS
            and items.rows * len(items)**2 <= MOST_CELLS)
    without = gains(known_class if promised == "known_class" else known,
                    attackers[promised].sizes()) if soon else None
    return {
        "rows": items.rows, "patterns": patterns, "promised": promised,
        "strangers": {who: describe_sizes(dict(sizes.sizes), k) for who, sizes in crowds.items()},
        "one_class": groups.of_one_class() if classes else None,
        "items": [[name, rows, None if without is None else
                   without.get(name, crowds[promised].level)]
                  for name, rows in zip(items.names, np.diff(items.indptr).tolist(), strict=True)],
    }


def _codes(texts: Sequence[str]) -> Codes:
    return np.unique(np.array(texts, dtype=object), return_inverse=True)[1].astype(np.int32)


@dataclass(frozen=True, eq=False, repr=False)
class Snapshot:
    """The people of the rows, and the state of their table; `signed` vouches for other people.

    seal : what fingerprints of the table are made with.
    before : what was claimed of the snapshot so far.
    seen : the last publication that was read (0: none); a later one refuses this.
    """

    ledger: Ledger
    seal: Seal
    before: tuple[Mapping[str, Any], ...] = ()
    signed: str | None = None
    seen: int = 0


@dataclass(frozen=True)
class Form:
    """The form of a publication: its plan, with target and sensitive columns or not."""

    plan: Mapping[str, Json]
    with_target: bool = False
    with_sensitive: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Issued:
    """The published release, its certificate, and whether few rows are in most groups.

    page : whether its report could be written.
    """

    release: Mapping[str, Any]
    certificate: Mapping[str, Any]
    hub: Hub
    page: bool = True


def people_of(ledger: Ledger, snapshot: str, *, signed: str | None = None, first: bool = False,
              key: str | None = None) -> Snapshot:
    """Return the people of a ledger, who may be new only with `first`.

    key : the file of a shared ledger's key of fingerprints.
    """
    key_file(ledger, key)  # what is refused is refused before anything is noted
    if first:
        ledger.introduce()  # who is known stays as they are
    accounts = populations(ledger.path) if lies(ledger.path) else ()
    known = {account.population for account in accounts}
    if ledger.population not in known:
        raise LedgerError(f"{ledger.population}: the ledger does not know these people; correct "
                          "--ledger or --population, or add --first if nothing about them was "
                          "published or granted before")
    earlier = ledger.publications()
    check_snapshot(earlier, snapshot, signed=signed is not None)
    return Snapshot(ledger, seal_of(ledger, snapshot, key), claims_of(earlier, snapshot), signed,
                  earlier[-1].seq if earlier else 0)


def issue(table: Labelled, choice: Choice, promise: Promise, form: Form, folder: Folder, *,
          people: Snapshot | None = None) -> Issued:
    """Publish a choice; refuse before the ledger's entry, and before a file has its name."""
    rule = promise.rule
    projected = project(table, choice, rule, with_target=form.with_target,
                        with_sensitive=form.with_sensitive)
    folder.stage("table.csv", written(projected))
    data = folder.staged("table.csv")
    claim = claim_of(table, projected, choice, promise)
    claim["level"] = _level(table, choice, rule, data, claim)
    claim["table_sha256"] = digest(data)
    if people is not None:
        claim["fingerprint"] = fingerprint(table, claim, people.seal)
    measured = {**facts(projected, claim), "disclosure": _disclosed(table, choice, rule, form)}
    body = {**body_of(table.items, choice, form.plan), "measured": measured}
    release = canonical(body)
    folder.stage("release.json", release)
    entry = _note(table, claim, digest(release), people)
    promised = {"claim": claim, "plan": form.plan, "software": {"privsieve": __version__}}
    certificate = certified(promised, digest(release), entry)
    folder.stage("certificate.json", canonical(certificate))
    folder.link()
    folder.sync()
    page = write_report(folder, body, certificate)
    presences = Knowledge(Items.dense(projected.cells, projected.names))
    return Issued(body, certificate, hub_of(presences.groups(), rule.k), page)


def _level(table: Labelled, choice: Choice, rule: Rule, data: bytes, claim: Mapping[str, Any],
           ) -> int:
    """Return the level of the table as it was written; refuse one that does not keep its claim."""
    try:  # as `verify` will
        counted = Opened.of(data, claim)
        (level, classes), values = counted.smallest(), counted.disclosures()
    except Unreadable as error:
        raise SchemaError(f"a recipient could not verify this table: {error}; publish fewer rows, "
                          "columns or values") from None
    if level < rule.k or (claim["target"] and classes < rule.l_diversity):
        raise CheckFailed("the written table breaks the rule, and privsieve deletes it; this is a "
                          "bug in privsieve: please report it")
    if table.sources is not None and Knowledge.of(
            table, rule, choice.selected).groups().level() < rule.k:
        raise CheckFailed("a group of the chosen columns has fewer than k people; this is a bug "
                          "in privsieve: please report it")
    if any(limit_reasons(claim, values)):
        raise CheckFailed("a group of the written table exceeds a limit; this is a bug in "
                          "privsieve: please report it")
    return level


def _disclosed(table: Labelled, choice: Choice, rule: Rule, form: Form) -> list[Json]:
    """Measure what the groups of the published rows tell of published columns."""
    table_out, known = published(table, rule, choice.selected)
    if not form.with_target:
        table_out = replace(table_out, y=np.zeros(table_out.items.rows, np.int32), classes=(None,))
        known = replace(known, labelled=False)
    if not form.with_sensitive:
        table_out = replace(table_out, sensitive=())
    return [figures.json() for figures in disclosures(table_out, known)]


def _note(table: Labelled, claim: Mapping[str, Any], release_sha256: str, people: Snapshot | None,
          ) -> Entry | None:
    """Write the ledger's entry; refuse if all publications together break a promise."""
    if people is None:
        return None
    ledger, snapshot = people.ledger, people.seal.snapshot
    check_together(table, claim, ledger.publications(), people.seal)
    if people.signed is not None:
        ledger.other_people(snapshot, people.signed)
    return ledger.publish(snapshot, claim["columns"], claim["k"], claim["model"],
                          claim={**claim, "release_sha256": release_sha256},
                          after=people.seen)
