"""Ledger: what was spent on a population, for ever.

A charge is made before a row is read and is never refunded: a crash, an error or a lost output
keeps it.  Whether a charge is refused depends on public numbers alone.  The population is the
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
#: How a request is called that has no name of letters.
_DRAWN = r"[0-9a-f]{32}"


@dataclass(frozen=True, repr=False)
class Ledger(Printed):
    """A budget file and a population in it: a value, without a connection or a secret.

    head : a small file that keeps the newest entry, so that a ledger which was set back to an
        older copy is refused; best on another disk.
    request : a name for one charge, which is then made once: a second one of this name is refused.

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
        # One spelling of an accent: two would be two budgets for the same people.
        name = unicodedata.normalize("NFC", checked_name(self.population, "population"))
        object.__setattr__(self, "population", name)
        if self.request is not None:
            # As in a population, one spelling of an accent.
            name = unicodedata.normalize("NFC", checked_name(self.request, "request"))
            object.__setattr__(self, "request", name)

    def grant(self, epsilon: object, *, delta: object = 0, unit: str | None = None,
              rows_per_person: int | None = None, neighbours: str | None = None) -> None:
        """Give a new population its limits, and make the file (0600) if there is none.

        Without a delta the account is pure: no release that needs one is ever paid from it.

        Parameters
        ----------
        epsilon, delta : what all releases together may cost.
        unit : what is protected, "row" or "person"; left out, what the first release protects.
        rows_per_person : the most rows that a person has in a table that is read by rows: a public
            promise.  Needed to convert releases about rows.
        neighbours : "replace-one" (where left out) or "add-remove".
        """
        # More decimals than are kept are refused, so no limit is rounded up.
        limit = Cost.of(epsilon, delta=delta, allow_weak=True)
        facts = accounts.facts(unit, neighbours, rows_per_person)
        made = accounts.granted(limit.units, limit.delta_units)._replace(**facts)
        sql.store(self.path).create(self.path)
        with self._writing() as db:
            sql.check_ungranted(db, self.population)
            if sql.check_new(db, self.population):
                sql.write(db, self.population, made)
            else:
                db.execute("INSERT INTO population VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                           (self.population, *made))
            sql.append(db, "grant", {
                "population": self.population, "account": made.account, "limit": made.limit,
                "delta_limit": limit.delta_text, "rho_limit": decimal(made.rho_limit, RHO_UNITS),
                **facts})

    def raise_limit(self, *, epsilon: object = None, delta: object = None, reason: str,
                    by: Sequence[str]) -> None:
        """Give a population higher limits; what it has released stays charged.

        Parameters
        ----------
        epsilon, delta : the new limits; left out, what was granted.
        reason : why, for whoever reads the chain.
        by : the names of the two people who answer for it.
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
        """Make the people known, and the file if there is none, without a budget.

        What is published of them under containment can then be noted.  People who are known stay
        as they are.
        """
        sql.store(self.path).create(self.path)
        with self._writing() as db:
            if not sql.check_new(db, self.population):
                db.execute("INSERT INTO population (id, account) VALUES (?, 'pure')",
                           (self.population,))
                sql.append(db, "people", {"population": self.population})

    def account(self) -> Account:
        """Limits, charges, and what is protected, in units; `account.proof.md` says what holds."""
        with self._reading() as db:
            return sql.account_of(db, self.population)

    def limit(self) -> Decimal:
        """Return the granted epsilon; 0 where none was."""
        return Decimal(decimal(self.account().limit))

    def spent(self) -> Decimal:
        """Return the epsilon of all charges together, with or without a release for each.

        This is their sum.  With a delta it is the smaller figure that the sum of rho allows.
        """
        return Decimal(decimal(self.account().together))

    def left(self) -> Decimal:
        """Return the largest epsilon that one more release without a delta may cost."""
        return Decimal(decimal(self.account().left))

    def delta_limit(self) -> Decimal:
        """Return the granted delta; 0 for a pure account."""
        return Decimal(decimal(self.account().delta_limit, DELTA_UNITS))

    def delta_left(self) -> Decimal:
        """Return the delta that plain sums may still take."""
        return Decimal(decimal(self.account().delta_left, DELTA_UNITS))

    def conversion(self, claim: Mapping[str, Json]) -> str | None:
        """How a release with these terms (`plan.terms`) is converted, in a sentence.

        None where it protects what the population does; one that cannot be converted is refused.
        """
        has, times = self._protecting(self.account(), claim)
        return conversion(accounts.charged(has, accounts.Charge(0, 0, 0), times), claim)

    def reserve(self, cost: Cost, claim: Mapping[str, Json]) -> Entry:
        """Charge a cost, durably when this returns; there is no way back.

        `claim` is public (`plan.terms`) and is kept in the chain with the charge.  A release
        that protects another change than the population is charged as often as that takes.  A
        request that has a name is charged once.
        """
        rho, request = cost.rho_units, self.named().request_id
        with self._writing() as db:
            after, made, factor = self._admitted(db, cost, claim)
            sql.write(db, self.population, after, limits=False)
            entry = sql.append(db, "reserve", {
                "population": self.population, "request": request, "units": cost.units,
                "delta": cost.delta_text,
                "rho": None if rho is None else decimal(rho, RHO_UNITS),
                "charged": accounts.charged(after, made, factor),
                "claim": claim,
                "reserved_at": dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")})
            db.execute("INSERT INTO request VALUES (?, ?, ?, ?, 'reserved', ?, ?, ?)",
                       (request, self.population, made.units, made.delta, entry.seq, made.rho,
                        str(factor)))
        return entry

    def demand(self, cost: Cost, claim: Mapping[str, Json]) -> None:
        """Refuse now what `reserve` would refuse; nothing is charged."""
        with self._reading() as db:
            self._admitted(db, cost, claim)

    def _admitted(self, db: sql.Database, cost: Cost, claim: Mapping[str, Json],
                  ) -> tuple[Account, accounts.Charge, int]:
        """The account after a charge, what it comes to, and how often its own change is charged."""
        if cost.units <= 0:
            raise ParameterError(f"the cost is {decimal(cost.units)}; only a cost above 0 is "
                                 "reserved")
        rho = cost.rho_units
        if rho is not None and rho <= 0:
            raise ParameterError(f"the cost has rho {cost.rho}; it must be larger than 0")
        has, factor = self._protecting(sql.account_of(db, self.population), claim)
        if self.request is not None and db.execute(
                "SELECT 1 FROM request WHERE id = ?", (self.request_id,)).fetchone():
            raise ParameterError(
                f"{self.population}: request {self.request!r} was charged before, and is charged "
                "once; take the release that it gave, or name another request")
        made = accounts.charge(cost.units, cost.delta_units, rho, factor)
        after = has.plus(made)
        if after is None:
            raise BudgetExceeded(sql.refusal(self.population, cost, factor, has, made))
        return after, made, factor

    def named(self) -> Ledger:
        """The same with a request of its own, where it has none."""
        return self if self.request else replace(self, request=_drawn())

    @property
    def request_id(self) -> str:
        """The request as the chain names it; a name of letters by its digest, for each population.

        >>> named = [Ledger("b.db", "clinic", request=name) for name in ("ab" * 16, "spring")]
        >>> named[0].request_id == "ab" * 16, len(named[1].request_id)
        (True, 32)
        """
        name = str(self.request)
        if re.fullmatch(_DRAWN, name):
            return name
        return digest(b"privsieve-request/1\0" + canonical([self.population, name]))[:32]

    def charge(self) -> tuple[Entry, Entry | None] | None:
        """The charge of the request and, where it was committed, its completion; None: no charge.

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
            return reserve, next((entry for entry in (Entry(*one) for one in later)
                                  if entry.request == name), None)

    def newest(self) -> str:
        """The hash of the chain's last entry; empty where there is none."""
        with self._reading() as db:
            last = sql.last(db)
        return last.hash if last else ""

    def holds(self, head: str) -> bool:
        """Whether this was the chain's last entry once; another ledger says no, and an older copy.

        >>> import tempfile, pathlib
        >>> folder = tempfile.TemporaryDirectory()
        >>> ledger = Ledger(str(pathlib.Path(folder.name) / "budget.db"), population="clinic")
        >>> ledger.grant(1)
        >>> ledger.holds(ledger.newest()), ledger.holds("00" * 32)
        (True, False)
        >>> folder.cleanup()
        """
        with self._reading() as db:
            found = db.execute("SELECT 1 FROM entry WHERE hash = ?", (head,)).fetchone()
        return found is not None

    def commit(self, entry: Entry, release_sha256: str) -> Entry:
        """Write down the digest of the release that a charge paid for, once."""
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
                raise LedgerError(f"{self.population}: entry {entry.seq} is not a reserved "
                                  "request; each is committed once: reserve anew")
            return sql.append(db, "commit", {
                "population": self.population, "request": request,
                "release_sha256": release_sha256})

    def publish(self, snapshot: str, columns: Sequence[str], k: int, model: str, *,
                claim: Mapping[str, Json], after: int | None = None) -> Entry:
        """Note columns published under containment; this never adds to the epsilon account.

        What several publications of one snapshot say together is for the containment methods:
        `after` is the last one that they looked at (0: none), and a later one refuses this.
        `claim` is kept in the chain.
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
                raise LedgerError(f"{self.population}: something was published while this was "
                                  "being prepared, and nothing was noted; try again")
            entry = sql.append(db, "publish", {
                "population": self.population, "snapshot": snapshot, "columns": list(columns),
                "k": k, "model": model, "claim": claim})
            db.execute("INSERT INTO publication VALUES (?, ?, ?, ?, ?, ?)",
                       (entry.seq, self.population, snapshot,
                        canonical(list(columns)).decode(), k, model))
        return entry

    def other_people(self, snapshot: str, signed: str) -> Entry:
        """Note who vouches that a snapshot is of other people than those before it."""
        checked_name(snapshot, "snapshot")
        checked_name(signed, "the name of who signs")
        with self._writing() as db:
            sql.account_of(db, self.population)
            return sql.append(db, "other-people", {
                "population": self.population, "snapshot": snapshot, "signed": signed})

    def publications(self) -> tuple[Publication, ...]:
        """What was published of this population under containment, in order."""
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
        """The entries of this population, in order."""
        with self._reading() as db:
            sql.account_of(db, self.population)
            found = sql.chain(db)
        return tuple(e for e in found if e.body.get("population") == self.population)

    def orphans(self) -> tuple[Entry, ...]:
        """Charges without a release: the process died, or is still at work."""
        with self._reading() as db:
            sql.account_of(db, self.population)
            return tuple(Entry(*row) for row in db.execute(
                "SELECT entry.* FROM entry JOIN request USING (seq) "
                "WHERE state = 'reserved' AND population = ? ORDER BY seq", (self.population,)))

    def charges(self) -> tuple[Request, ...]:
        """Every charge, in the change that the population protects."""
        with self._reading() as db:
            return sql.charges_of(db, self.population)

    def backup(self, copy: str) -> int:
        """Copy the whole file, with all populations, to a new one; how many entries it has."""
        return backup(self.path, copy)

    def verify_chain(self, *releases: str) -> ChainReport:
        """Recount the whole file from its entries alone, and compare its tables with that.

        A file that was cut back consistently passes, unless a head or a release folder is given
        that knows of a later entry.
        """
        return recount(self.path, heads.known(self.head, releases))[0]

    @contextmanager
    def _writing(self) -> Iterator[sql.Database]:
        """One transaction, and then the head; the head is looked at before."""
        kept = sql.store(self.path)
        if self.head is None:
            with kept.transaction(self.path, self.population) as db:
                yield db
            return
        with heads.staged(self.head) as keep:
            with kept.transaction(self.path, self.population) as db:
                self._demand(heads.read(self.head), db)
                yield db
            # What is written is written: without its head the ledger is only ahead of it.
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
    """A name of a request that nobody has used."""
    return os.urandom(16).hex()


def populations(path: str, head: str | None = None) -> tuple[Ledger, ...]:
    """Each population of a ledger file, by name."""
    with sql.store(path).reading(sql.checked_path(path)) as db:
        found = [row[0] for row in db.execute("SELECT id FROM population ORDER BY id")]
    return tuple(Ledger(path, population=name, head=head) for name in found)


def recount(path: str, known: Iterable[heads.Head] = (),
            ) -> tuple[ChainReport, tuple[Entry, ...]]:
    """Recount a ledger file; the report and the entries that it rests on.

    `known` are entries that it has to hold.
    """
    with sql.store(path).reading(sql.checked_path(path)) as db:
        report, entries = sql.recounted(db)
    return held(report, entries, known), entries


def backup(path: str, copy: str) -> int:
    """Copy a ledger, with all its populations, to a new file (0600); how many entries it has.

    The copy is consistent whoever writes meanwhile, and was recounted.  Who restores it has its old
    balance: keep a head outside, which tells.
    """
    return sql.store(path).backup(sql.checked_path(path), sql.checked_file(copy))


def recount_export(text: str, known: Iterable[heads.Head] = ()) -> ChainReport:
    """Recount the entries of an export (`chain.exported`), without a ledger."""
    entries = imported(text)
    _, head, reasons = replay(entries)
    return held(ChainReport(len(entries), head, reasons), entries, known)


def held(report: ChainReport, entries: Iterable[Entry], known: Iterable[heads.Head],
         ) -> ChainReport:
    """The report, with what is known of the chain and not in it."""
    hashes = {entry.seq: entry.hash for entry in entries}
    lost = heads.set_back(known, lambda seq, text: hashes.get(seq) == text)
    return replace(report, reasons=(*report.reasons, lost)) if lost else report
