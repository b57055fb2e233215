"""Ledger: a permanent record of the budget that was spent on a population.

A charge is made before rows are read, and is never refunded, not even after a crash, an error or a
lost output.  Whether a charge is refused depends on public numbers alone.  The population is the
people, not the file: all copies and extracts about the same people share one name.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial

from privsieve.errors import BudgetExceeded, LedgerError, ParameterError
from privsieve.ledger import account as accounts
from privsieve.ledger import head as heads
from privsieve.ledger import sql
from privsieve.ledger.account import Account, checked_name
from privsieve.ledger.chain import ChainReport, Entry, Publication, Request, imported, replay
from privsieve.public.canonical import (
    DELTA_UNITS,
    EPSILON_UNITS,
    RHO_UNITS,
    Json,
    canonical,
    decimal,
    digest,
    parsed,
)
from privsieve.public.plan import Cost, conversion
from privsieve.public.printed import Printed

__all__ = ["ChainReport", "Entry", "Ledger", "Publication", "backup", "populations", "recount",
           "recount_export"]

LARGEST_K = 2**40
_SHA256 = r"[0-9a-f]{64}"
#: The form of a request's random name.
_DRAWN = r"[0-9a-f]{32}"


@dataclass(frozen=True, repr=False)
class Ledger(Printed):
    """Name a ledger file and a population in it; the object holds no connection or secret.

    head : a small file with the newest entry, best on another disk; an older copy of the ledger is
        then refused.
    request : a name for one charge; a second charge of this name is refused.

    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(str(pathlib.Path(folder.name) / "budget.db"), population="clinic-2026")
    >>> ledger.grant(epsilon="3.0")
    >>> entry = ledger.reserve(Cost.of("0.5"), {"mechanism": "demo/1"})
    >>> ledger.left(), entry.seq
    (Decimal('2.5'), 2)
    >>> folder.cleanup()
    """

    path: str
    population: str
    head: str | None = None
    request: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", sql.checked_path(self.path))
        if self.head is not None:
            object.__setattr__(self, "head", sql.checked_file(self.head))
        # One spelling of accents: two would be two budgets for the same people.
        name = unicodedata.normalize("NFC", checked_name(self.population, "population"))
        object.__setattr__(self, "population", name)
        if self.request is not None:
            name = unicodedata.normalize("NFC", checked_name(self.request, "request"))
            object.__setattr__(self, "request", name)

    def grant(self, epsilon: object, *, delta: object = 0, unit: str | None = None,
              rows_per_person: int | None = None, neighbours: str | None = None) -> None:
        """Give a new population its limits, and make the file (0600) if there is none.

        Without a delta the account is pure: it refuses releases that need a delta.

        Parameters
        ----------
        epsilon, delta : the limits of all releases together.
        unit : the protected unit, "row" or "person"; by default that of the first release.
        rows_per_person : the most rows of a person in tables without a person column: a public
            promise, by which releases about rows are converted.
        neighbours : "replace-one" (the default) or "add-remove".
        """
        # Further decimals are refused, so a limit is not rounded up.
        limit = Cost.of(epsilon, delta=delta, allow_weak=True)
        facts = accounts.facts(unit, neighbours, rows_per_person)
        account = accounts.granted(limit.units, limit.delta_units)._replace(**facts)
        sql.store(self.path).create(self.path)
        with self._writing() as db:
            sql.check_ungranted(db, self.population)
            if sql.check_new(db, self.population):
                sql.write(db, self.population, account)
            else:
                db.execute("INSERT INTO population VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                           (self.population, *account))
            sql.append(db, "grant", {
                "population": self.population, "account": account.account, "limit": account.limit,
                "delta_limit": limit.delta_text, "rho_limit": decimal(account.rho_limit, RHO_UNITS),
                **facts})

    def raise_limit(self, *, epsilon: object = None, delta: object = None, reason: str,
                    by: Sequence[str]) -> None:
        """Give a population higher limits; its charges stay.

        Parameters
        ----------
        epsilon, delta : the new limits; by default the granted ones.
        reason : the reason, for readers of the chain.
        by : the names of the two people who are responsible.
        """
        why, names = accounts.signed(reason, by)
        with self._writing() as db:
            has = sql.account_of(db, self.population)
            if epsilon is None:
                epsilon = Fraction(max(1, has.limit), EPSILON_UNITS)
            if delta is None:
                delta = Fraction(has.delta_limit, DELTA_UNITS)
            limit = Cost.of(epsilon, delta=delta, allow_weak=True)
            after = accounts.raised(has, limit.units, limit.delta_units)
            sql.append(db, "raise", {
                "population": self.population, "limit": after.limit,
                "delta_limit": decimal(after.delta_limit, DELTA_UNITS),
                "rho_limit": decimal(after.rho_limit, RHO_UNITS), "reason": why, "by": names})
            sql.write(db, self.population, after)

    def introduce(self) -> None:
        """Add the population without a budget, and make the file if there is none.

        Publications under containment can then be noted.  A known population does not change.
        """
        sql.store(self.path).create(self.path)
        with self._writing() as db:
            if not sql.check_new(db, self.population):
                db.execute("INSERT INTO population (id, account) VALUES (?, 'pure')",
                           (self.population,))
                sql.append(db, "people", {"population": self.population})

    def account(self) -> Account:
        """Return limits, charges and the protected change, in units; see `account.proof.md`."""
        with self._reading() as db:
            return sql.account_of(db, self.population)

    def limit(self) -> Decimal:
        """Return the granted epsilon, or 0."""
        return Decimal(decimal(self.account().limit))

    def spent(self) -> Decimal:
        """Return the epsilon of all charges together, with or without a release for each.

        This is their sum or, with a delta, the epsilon of their sum of rho if that is smaller.
        """
        return Decimal(decimal(self.account().together))

    def left(self) -> Decimal:
        """Return the largest epsilon that one more release without a delta may cost."""
        return Decimal(decimal(self.account().left))

    def delta_limit(self) -> Decimal:
        """Return the granted delta; 0 for a pure account."""
        return Decimal(decimal(self.account().delta_limit, DELTA_UNITS))

    def delta_left(self) -> Decimal:
        """Return the delta that is left if the deltas of all charges are added."""
        return Decimal(decimal(self.account().delta_left, DELTA_UNITS))

    def conversion(self, claim: Mapping[str, Json]) -> str | None:
        """Describe how a release with these terms (`plan.terms`) is converted, in a sentence.

        Return None if it protects the population's own unit.  Refuse it if it cannot be converted.
        """
        has, times = self._protecting(self.account(), claim)
        return conversion(accounts.charged(has, accounts.Charge(0, 0, 0), times), claim)

    def reserve(self, cost: Cost, claim: Mapping[str, Json]) -> Entry:
        """Charge a cost; when this returns, the charge is durable and final.

        `claim` is public (`plan.terms`) and is stored in the chain with the charge.  A release that
        protects another unit (row or person) than the population is charged several times.  A
        named request is charged once.
        """
        rho, request = cost.rho_units, self.named().request_id
        with self._writing() as db:
            after, charge, factor = self._admitted(db, cost, claim)
            sql.write(db, self.population, after, limits=False)
            entry = sql.append(db, "reserve", {
                "population": self.population, "request": request, "units": cost.units,
                "delta": cost.delta_text,
                "rho": None if rho is None else decimal(rho, RHO_UNITS),
                "charged": accounts.charged(after, charge, factor),
                "claim": claim,
                "reserved_at": dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")})
            db.execute("INSERT INTO request VALUES (?, ?, ?, ?, 'reserved', ?, ?, ?)",
                       (request, self.population, charge.units, charge.delta, entry.seq, charge.rho,
                        str(factor)))
        return entry

    def demand(self, cost: Cost, claim: Mapping[str, Json]) -> None:
        """Refuse what `reserve` would refuse, without charging."""
        with self._reading() as db:
            self._admitted(db, cost, claim)

    def _admitted(self, db: sql.Database, cost: Cost, claim: Mapping[str, Json],
                  ) -> tuple[Account, accounts.Charge, int]:
        """Return the account after a charge, the charge, and the factor of its change."""
        if cost.units <= 0:
            raise ParameterError(f"the cost is {decimal(cost.units)}; it must be larger than 0")
        rho = cost.rho_units
        if rho is not None and rho <= 0:
            raise ParameterError(f"the cost has rho {cost.rho}; it must be larger than 0")
        has, factor = self._protecting(sql.account_of(db, self.population), claim)
        if self.request is not None and db.execute(
                "SELECT 1 FROM request WHERE id = ?", (self.request_id,)).fetchone():
            raise ParameterError(
                f"{self.population}: request {self.request!r} was charged before; use its "
                "release, or name another request")
        charge = accounts.charge(cost.units, cost.delta_units, rho, factor)
        after = has.plus(charge)
        if after is None:
            raise BudgetExceeded(sql.refusal(self.population, cost, factor, has, charge))
        return after, charge, factor

    def named(self) -> Ledger:
        """Return the ledger with a request; draw its name if it has none."""
        return self if self.request else replace(self, request=_drawn())

    @property
    def request_id(self) -> str:
        """Return the request as the chain names it: a random name, or the digest of a given one.

        >>> named = [Ledger("b.db", "clinic", request=name) for name in ("ab" * 16, "spring")]
        >>> named[0].request_id == "ab" * 16, len(named[1].request_id)
        (True, 32)
        """
        name = str(self.request)
        if re.fullmatch(_DRAWN, name):
            return name
        return digest(b"privsieve-request/1\0" + canonical([self.population, name]))[:32]

    def charge(self) -> tuple[Entry, Entry | None] | None:
        """Return the charge of the request and its completion, if any; None without a charge.

        >>> import tempfile, pathlib
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = str(pathlib.Path(folder.name) / "budget.db")
        >>> ledger = Ledger(path, population="clinic", request="spring report")
        >>> ledger.grant(1)
        >>> entry = ledger.reserve(Cost.of("0.5"), {})
        >>> ledger.charge() == (entry, None)
        True
        >>> folder.cleanup()
        """
        name = self.request_id
        with self._reading() as db:
            row = db.execute("SELECT entry.* FROM entry JOIN request USING (seq) "
                             "WHERE id = ? AND population = ?",
                             (name, self.population)).fetchone()
            if row is None:
                return None
            reserve = Entry(*row)
            later = db.execute("SELECT * FROM entry WHERE kind = 'commit' AND seq > ? "
                               "AND payload LIKE '%' || ? || '%'", (reserve.seq, name))
            return reserve, next((entry for entry in (Entry(*entry_row) for entry_row in later)
                                  if entry.request == name), None)

    def newest(self) -> str:
        """Return the hash of the chain's last entry; empty for an empty chain."""
        with self._reading() as db:
            last = sql.last(db)
        return last.hash if last else ""

    def holds(self, head: str) -> bool:
        """Return whether the chain has an entry with this hash; older copies may lack it.

        >>> import tempfile, pathlib
        >>> folder = tempfile.TemporaryDirectory()
        >>> ledger = Ledger(str(pathlib.Path(folder.name) / "budget.db"), population="clinic")
        >>> ledger.grant(1)
        >>> ledger.holds(ledger.newest()), ledger.holds("00" * 32)
        (True, False)
        >>> folder.cleanup()
        """
        with self._reading() as db:
            row = db.execute("SELECT 1 FROM entry WHERE hash = ?", (head,)).fetchone()
        return row is not None

    def commit(self, entry: Entry, release_sha256: str) -> Entry:
        """Store the digest of the release of a charge, once."""
        if not re.fullmatch(_SHA256, release_sha256):
            raise ParameterError(f"release_sha256 is {release_sha256!r}; write 64 hexadecimal "
                                 "digits in lower case")
        request = entry.request
        with self._writing() as db:
            changed = db.execute(
                "UPDATE request SET state = 'committed' "
                "WHERE id = ? AND population = ? AND seq = ? AND state = 'reserved'",
                (request, self.population, entry.seq))
            if changed.rowcount != 1:
                raise LedgerError(f"{self.population}: entry {entry.seq} is not an open "
                                  "charge; each charge is committed once: reserve again")
            return sql.append(db, "commit", {
                "population": self.population, "request": request,
                "release_sha256": release_sha256})

    def publish(self, snapshot: str, columns: Sequence[str], k: int, model: str, *,
                claim: Mapping[str, Json], after: int | None = None) -> Entry:
        """Note columns published under containment; this does not cost epsilon.

        Containment methods check the publications of one snapshot together.  `after` is the last
        one that they checked (0: none); if there is a later one, this is refused.  `claim` is
        stored in the chain.
        """
        checked_name(snapshot, "snapshot")
        checked_name(model, "model")
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= LARGEST_K:
            raise ParameterError(f"k is {k!r}; write a whole number from 1")
        if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
            raise ParameterError("columns must be a list of names")
        with self._writing() as db:
            sql.account_of(db, self.population)
            newest = db.execute("SELECT coalesce(max(seq), 0) FROM publication "
                                "WHERE population = ?", (self.population,)).fetchone()[0]
            if after is not None and newest != after:
                raise LedgerError(f"{self.population}: another publication was noted in the "
                                  "meantime, and this one was not; try again")
            entry = sql.append(db, "publish", {
                "population": self.population, "snapshot": snapshot, "columns": list(columns),
                "k": k, "model": model, "claim": claim})
            db.execute("INSERT INTO publication VALUES (?, ?, ?, ?, ?, ?)",
                       (entry.seq, self.population, snapshot,
                        canonical(list(columns)).decode(), k, model))
        return entry

    def other_people(self, snapshot: str, signed: str) -> Entry:
        """Note who signs that a snapshot describes other people than earlier snapshots."""
        checked_name(snapshot, "snapshot")
        checked_name(signed, "the name of the signer")
        with self._writing() as db:
            sql.account_of(db, self.population)
            return sql.append(db, "other-people", {
                "population": self.population, "snapshot": snapshot, "signed": signed})

    def publications(self) -> tuple[Publication, ...]:
        """Return the publications of this population under containment, in order."""
        with self._reading() as db:
            sql.account_of(db, self.population)
            rows = db.execute("SELECT seq, snapshot, columns, k, model, payload FROM publication "
                              "JOIN entry USING (seq) WHERE population = ? ORDER BY seq",
                              (self.population,))
            try:
                return tuple(Publication(seq, snapshot, tuple(parsed(columns)), k, model,
                                         parsed(payload)["claim"])
                             for seq, snapshot, columns, k, model, payload in rows)
            except (ValueError, TypeError, LookupError):
                raise LedgerError("a publication in the ledger is damaged; `privsieve ledger "
                                  "verify` lists what is wrong") from None

    def entries(self) -> tuple[Entry, ...]:
        """Return the entries of this population, in order."""
        with self._reading() as db:
            sql.account_of(db, self.population)
            entries = sql.chain(db)
        return tuple(e for e in entries if e.body.get("population") == self.population)

    def orphans(self) -> tuple[Entry, ...]:
        """Return charges without a release: their process died, or still works."""
        with self._reading() as db:
            sql.account_of(db, self.population)
            return tuple(Entry(*row) for row in db.execute(
                "SELECT entry.* FROM entry JOIN request USING (seq) "
                "WHERE state = 'reserved' AND population = ? ORDER BY seq", (self.population,)))

    def charges(self) -> tuple[Request, ...]:
        """Return every charge, converted to the unit that the population protects."""
        with self._reading() as db:
            return sql.charges_of(db, self.population)

    def backup(self, copy: str) -> int:
        """Copy the file, with all populations, to a new one; return its number of entries."""
        return backup(self.path, copy)

    def verify_chain(self, *releases: str) -> ChainReport:
        """Recount the file from its entries alone, and compare its tables with the result.

        A file without its last entries passes, unless a head or a release folder contains a later
        entry.
        """
        return recount(self.path, heads.known(self.head, releases))[0]

    @contextmanager
    def _writing(self) -> Iterator[sql.Database]:
        """Check the head, make one transaction, and then write the new head."""
        kept = sql.store(self.path)
        if self.head is None:
            with kept.transaction(self.path, self.population) as db:
                yield db
            return
        with heads.staged(self.head) as keep:
            with kept.transaction(self.path, self.population) as db:
                self._demand(heads.read(self.head), db)
                yield db
            # If this fails, the ledger is ahead of its head, which is valid.
            with suppress(LedgerError), kept.transaction(self.path, self.population) as db:
                if last := sql.last(db):  # under the lock: never an older head over a newer one
                    keep(heads.Head(last.seq, last.hash))

    @contextmanager
    def _reading(self) -> Iterator[sql.Database]:
        newest = None if self.head is None else heads.read(self.head)
        with sql.store(self.path).reading(self.path) as db:
            self._demand(newest, db)
            yield db

    @staticmethod
    def _demand(newest: heads.Head | None, db: sql.Database) -> None:
        if newest and (wrong := heads.set_back([newest], partial(sql.holds, db))):
            raise LedgerError(wrong)

    def _protecting(self, has: Account, claim: Mapping[str, Json]) -> tuple[Account, int]:
        try:
            return accounts.protecting(has, accounts.change_of(claim))
        except BudgetExceeded as error:
            raise BudgetExceeded(f"{self.population}: {error}") from None


def _drawn() -> str:
    """Draw a random name of a request."""
    return os.urandom(16).hex()


def populations(path: str, head: str | None = None) -> tuple[Ledger, ...]:
    """Return each population of a ledger file, sorted by name."""
    with sql.store(path).reading(sql.checked_path(path)) as db:
        names = [row[0] for row in db.execute("SELECT id FROM population ORDER BY id")]
    return tuple(Ledger(path, population=name, head=head) for name in names)


def recount(path: str, known: Iterable[heads.Head] = ()) -> tuple[ChainReport, tuple[Entry, ...]]:
    """Recount a ledger file; return the report and the entries.

    `known` are entries that it must have.
    """
    with sql.store(path).reading(sql.checked_path(path)) as db:
        report, entries = sql.recounted(db)
    return held(report, entries, known), entries


def backup(path: str, copy: str) -> int:
    """Copy a ledger, with all populations, to a new file (0600); return its number of entries.

    The copy is consistent even if others write meanwhile, and is recounted.  A restored copy has
    its old balance; a head that is kept outside detects that.
    """
    return sql.store(path).backup(sql.checked_path(path), sql.checked_file(copy))


def recount_export(text: str, known: Iterable[heads.Head] = ()) -> ChainReport:
    """Recount the entries of an export (`chain.exported`), without a ledger."""
    entries = imported(text)
    _, head, reasons = replay(entries)
    return held(ChainReport(len(entries), head, reasons), entries, known)


def held(report: ChainReport, entries: Iterable[Entry], known: Iterable[heads.Head]) -> ChainReport:
    """Add to a report that the chain lacks a known entry."""
    hashes = {entry.seq: entry.hash for entry in entries}
    lost = heads.set_back(known, lambda seq, text: hashes.get(seq) == text)
    return replace(report, reasons=(*report.reasons, lost)) if lost else report
