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
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from privsieve.core.canonical import canonical, parsed
from privsieve.core.cost import DELTA_UNITS, EPSILON_UNITS, Cost, decimal
from privsieve.errors import BudgetExceeded, LedgerError, ParameterError
from privsieve.privacy import ledger_sql as sql
from privsieve.privacy.chain import Account, ChainReport, Entry, Publication, replay

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

    from privsieve.core.canonical import Json

__all__ = ["ChainReport", "Entry", "Ledger", "Publication", "populations", "recount"]

LARGEST_NAME = 128
LARGEST_K = 2**40

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Ledger:
    """A budget file and a population in it: a value, without a connection or a secret.

    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(str(pathlib.Path(folder.name) / "budget.db"), population="clinic-2026")
    >>> ledger.grant(epsilon="3.0")
    >>> entry = ledger.reserve(Cost.of("0.5"), {"mechanism": "demo/1"})
    >>> ledger.left(), entry.seq
    (Fraction(5, 2), 2)
    >>> folder.cleanup()
    """

    path: str
    population: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", _checked_path(self.path))
        # One spelling of an accent: two would be two budgets for the same people.
        name = unicodedata.normalize("NFC", _checked(self.population, "population"))
        object.__setattr__(self, "population", name)

    def grant(self, epsilon: object, *, delta: object = 0) -> None:
        """Give a new population its limits, and make the file (0600) if there is none.

        Without a delta the account is pure: no release that needs one is ever paid from it.
        """
        # More decimals than are kept are refused, so no limit is rounded up.
        limit = Cost.of(epsilon, delta=delta, allow_weak=True)
        row = (limit.account, limit.units, limit.delta_units, self.population)
        sql.create(self.path)
        with sql.transaction(self.path) as db:
            if sql.check_new(db, self.population):
                db.execute("UPDATE population SET account = ?, lim = ?, delta_lim = ? "
                           "WHERE id = ?", row)
            else:
                db.execute("INSERT INTO population (account, lim, delta_lim, id) "
                           "VALUES (?, ?, ?, ?)", row)
            sql.append(db, "grant", {"population": self.population, "account": limit.account,
                                     "limit": limit.units, "delta_limit": limit.delta_text})

    def introduce(self) -> None:
        """Make the people known, and the file if there is none, without a budget.

        What is published of them under containment can then be noted.  People who are known stay
        as they are.
        """
        sql.create(self.path)
        with sql.transaction(self.path) as db:
            names = [row[0] for row in db.execute("SELECT id FROM population")]
            for name in names:
                sql.check_spelling(name, self.population)
            if self.population not in names:
                db.execute("INSERT INTO population (id, account) VALUES (?, 'pure')",
                           (self.population,))
                sql.append(db, "people", {"population": self.population})

    def limit(self) -> Fraction:
        """The granted epsilon; 0 where none was."""
        return Fraction(self._account().limit, EPSILON_UNITS)

    def spent(self) -> Fraction:
        """The epsilon that is charged, with or without a release to show for it."""
        return Fraction(self._account().spent, EPSILON_UNITS)

    def left(self) -> Fraction:
        """The epsilon that may still be spent."""
        found = self._account()
        return Fraction(found.limit - found.spent, EPSILON_UNITS)

    def delta_limit(self) -> Fraction:
        """The granted delta; 0 for a pure account."""
        return Fraction(self._account().delta_limit, DELTA_UNITS)

    def delta_left(self) -> Fraction:
        """The delta that may still be spent."""
        found = self._account()
        return Fraction(found.delta_limit - found.delta_spent, DELTA_UNITS)

    def reserve(self, cost: Cost, claim: Mapping[str, Json]) -> Entry:
        """Charge a cost, durably when this returns; there is no way back.

        `claim` is public (`certificate.terms`) and is kept in the chain with the charge.
        """
        units = cost.units
        if units <= 0:
            raise ParameterError(f"the cost is {decimal(units)}; only a cost above 0 is reserved")
        request = os.urandom(16).hex()
        with sql.transaction(self.path) as db:
            charged = db.execute(
                "UPDATE population SET spent = spent + ?1, delta_spent = delta_spent + ?2 "
                "WHERE id = ?3 AND ?1 <= lim - spent AND ?2 <= delta_lim - delta_spent",
                (units, cost.delta_units, self.population),
            )
            if charged.rowcount != 1:
                raise BudgetExceeded(sql.refusal(self.population, cost, self._row(db)))
            entry = sql.append(db, "reserve", {
                "population": self.population, "request": request, "units": units,
                "delta": cost.delta_text, "claim": claim, "reserved_at": _now(),
            })
            db.execute("INSERT INTO request VALUES (?, ?, ?, ?, 'reserved', ?)",
                       (request, self.population, units, cost.delta_units, entry.seq))
        return entry

    def commit(self, entry: Entry, release_sha256: str) -> Entry:
        """Write down the digest of the release that a charge paid for, once."""
        if not _SHA256.fullmatch(release_sha256):
            raise ParameterError(f"release_sha256 is {release_sha256!r}; write 64 hexadecimal "
                                 "digits in lower case")
        with sql.transaction(self.path) as db:
            changed = db.execute(
                "UPDATE request SET state = 'committed' "
                "WHERE id = ? AND population = ? AND seq = ? AND state = 'reserved'",
                (entry.request, self.population, entry.seq),
            )
            if changed.rowcount != 1:
                raise LedgerError(f"{self.population}: entry {entry.seq} is not a reserved "
                                  "request; each is committed once: reserve anew")
            return sql.append(db, "commit", {
                "population": self.population, "request": entry.request,
                "release_sha256": release_sha256,
            })

    def publish(self, snapshot: str, columns: Sequence[str], k: int, model: str, *,
                claim: Mapping[str, Json] | None = None, after: int | None = None) -> Entry:
        """Note columns published under containment; this never adds to the epsilon account.

        What several publications of one snapshot say together is for the containment methods:
        `after` is the last one that they looked at (0: none), and a later one refuses this.
        `claim` is kept in the chain.
        """
        _checked(snapshot, "snapshot")
        _checked(model, "model")
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= LARGEST_K:
            raise ParameterError(f"k is {k!r}; write a whole number from 1")
        if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
            raise ParameterError("columns must be a list of names")
        with sql.transaction(self.path) as db:
            self._row(db)
            newest = db.execute("SELECT coalesce(max(seq), 0) FROM publication "
                                "WHERE population = ?", (self.population,)).fetchone()[0]
            if after is not None and newest != after:
                raise LedgerError(f"{self.population}: something was published while this was "
                                  "being prepared, and nothing was noted; try again")
            body: dict[str, Json] = {
                "population": self.population, "snapshot": snapshot, "columns": list(columns),
                "k": k, "model": model,
            }
            entry = sql.append(db, "publish", {**body, "claim": claim} if claim else body)
            db.execute("INSERT INTO publication VALUES (?, ?, ?, ?, ?, ?)",
                       (entry.seq, self.population, snapshot,
                        canonical(list(columns)).decode(), k, model))
        return entry

    def other_people(self, snapshot: str, signed: str) -> Entry:
        """Note who vouches that a snapshot is of other people than those before it."""
        _checked(snapshot, "snapshot")
        _checked(signed, "the name of who signs")
        with sql.transaction(self.path) as db:
            self._row(db)
            return sql.append(db, "other-people", {
                "population": self.population, "snapshot": snapshot, "signed": signed,
            })

    def publications(self) -> tuple[Publication, ...]:
        """What was published of this population under containment, in order."""
        with sql.reading(self.path) as db:
            self._row(db)
            rows = db.execute("SELECT seq, snapshot, columns, k, model, payload FROM publication "
                              "JOIN entry USING (seq) WHERE population = ? ORDER BY seq",
                              (self.population,))
            try:
                return tuple(Publication(seq, snapshot, tuple(parsed(columns)), k, model,
                                         parsed(payload).get("claim") or {})
                             for seq, snapshot, columns, k, model, payload in rows)
            except (ValueError, TypeError, AttributeError):
                raise LedgerError("a publication in the ledger is damaged; `privsieve ledger "
                                  "verify` lists what is wrong") from None

    def entries(self) -> tuple[Entry, ...]:
        """The entries of this population, in order."""
        with sql.reading(self.path) as db:
            self._row(db)
            found = sql.chain(db)
        return tuple(e for e in found if e.body.get("population") == self.population)

    def orphans(self) -> tuple[Entry, ...]:
        """Charges without a release: the process died, or is still at work."""
        with sql.reading(self.path) as db:
            self._row(db)
            return tuple(Entry(*row) for row in db.execute(
                "SELECT entry.* FROM entry JOIN request USING (seq) "
                "WHERE state = 'reserved' AND population = ? ORDER BY seq", (self.population,)
            ))

    def verify_chain(self) -> ChainReport:
        """Recount the whole file from its entries alone, and compare its tables with that.

        A file that was cut back consistently passes; a certificate's head finds it
        (`verify(certificate, ledger=…)`).
        """
        return recount(self.path)[0]

    def _account(self) -> Account:
        with sql.reading(self.path) as db:
            return self._row(db)

    def _row(self, db: sqlite3.Connection) -> Account:
        row = db.execute("SELECT account, lim, spent, delta_lim, delta_spent FROM population "
                         "WHERE id = ?", (self.population,)).fetchone()
        if row is None:
            import shlex

            raise LedgerError(f"{self.population}: the ledger has no such population; "
                              "`privsieve ledger grant --ledger FILE --population "
                              f"{shlex.quote(self.population)} --epsilon E` grants it a budget")
        return Account(str(row[0]), *map(int, row[1:]))


def populations(path: str) -> tuple[Ledger, ...]:
    """Each population of a ledger file, by name."""
    with sql.reading(_checked_path(path)) as db:
        names = [row[0] for row in db.execute("SELECT id FROM population ORDER BY id")]
    return tuple(Ledger(path, population=name) for name in names)


def recount(path: str) -> tuple[ChainReport, tuple[Entry, ...]]:
    """Recount a ledger file; the report and the entries that it rests on."""
    with sql.reading(_checked_path(path)) as db:
        entries = sql.chain(db)
        tables = {name: set(db.execute(f"SELECT * FROM {name}"))  # noqa: S608 - constant names
                  for name in ("population", "request", "publication")}
        changed = sql.safeguards(db) != sql.expected_safeguards()
    balance, head, reasons = replay(entries)
    reasons += tuple(f"the table {name} is not what the entries add up to"
                     for name, rows in balance.rows().items() if rows != tables[name])
    reasons += ("the tables, checks or triggers were changed",) if changed else ()
    return ChainReport(len(entries), head, reasons), entries


def _checked_path(path: str) -> str:
    path = os.fspath(path)
    if not path or "\0" in path:
        raise ParameterError("the ledger's path is empty or holds a NUL; write budget.db")
    if "://" in path:
        # Not echoed: a URL may hold a password.
        raise ParameterError("the ledger is a URL; this version keeps a ledger in a file, for "
                             "example budget.db, and PostgreSQL comes with a later one")
    return path


def _checked(name: object, what: str) -> str:
    plain = isinstance(name, str) and name.isprintable() and name == name.strip()
    if not isinstance(name, str) or not plain or not 1 <= len(name) <= LARGEST_NAME:
        raise ParameterError(f"{what} is {name!r}; write 1 to {LARGEST_NAME} printable "
                             "characters, without a space at either end")
    return name


def _now() -> str:
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
