"""The ledger's file: SQLite, one connection per operation, one transaction per change.

Every amount is an integer.  The limit is a CHECK of the table, entries are append-only by trigger,
and a balance only grows: a mistake in the code above meets a refusal below.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from privsieve.core.cost import DELTA_UNITS, decimal
from privsieve.errors import LedgerError, PrivsieveError
from privsieve.privacy.chain import Entry
from privsieve.privacy.folder import sync

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from privsieve.core.canonical import Json
    from privsieve.core.cost import Cost
    from privsieve.privacy.chain import Account

#: "psv1" as a number: tells a ledger from any other SQLite file.
APPLICATION = 0x70737631
VERSION = 1
#: How long to wait for another process, in seconds.
PATIENCE = 60.0

HOW = "`privsieve ledger grant --ledger FILE --population NAME --epsilon E`"

_TABLES = """
CREATE TABLE population(
  id TEXT PRIMARY KEY, account TEXT NOT NULL CHECK(account IN ('pure', 'approximate')),
  lim INTEGER NOT NULL DEFAULT 0 CHECK(lim >= 0),
  spent INTEGER NOT NULL DEFAULT 0 CHECK(spent BETWEEN 0 AND lim),
  delta_lim INTEGER NOT NULL DEFAULT 0 CHECK((delta_lim > 0) = (account = 'approximate')),
  delta_spent INTEGER NOT NULL DEFAULT 0 CHECK(delta_spent BETWEEN 0 AND delta_lim)) STRICT;
CREATE TABLE entry(
  seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, payload TEXT NOT NULL,
  prev TEXT NOT NULL UNIQUE, hash TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE request(
  id TEXT PRIMARY KEY, population TEXT NOT NULL REFERENCES population(id),
  units INTEGER NOT NULL CHECK(units > 0),
  delta_units INTEGER NOT NULL CHECK(delta_units >= 0),
  state TEXT NOT NULL CHECK(state IN ('reserved', 'committed')),
  seq INTEGER NOT NULL UNIQUE REFERENCES entry(seq)) STRICT;
CREATE TABLE publication(
  seq INTEGER PRIMARY KEY REFERENCES entry(seq),
  population TEXT NOT NULL REFERENCES population(id), snapshot TEXT NOT NULL,
  columns TEXT NOT NULL, k INTEGER NOT NULL CHECK(k > 0), model TEXT NOT NULL) STRICT;
"""


def _never(table: str, event: str, when: str = "") -> str:
    return (f"CREATE TRIGGER {table}_{event.lower()} BEFORE {event} ON {table} {when} "
            f"BEGIN SELECT RAISE(ABORT, 'append-only'); END;\n")


SCHEMA = _TABLES + "".join([
    _never("entry", "UPDATE"), _never("entry", "DELETE"),
    _never("publication", "UPDATE"), _never("publication", "DELETE"),
    _never("request", "DELETE"),
    _never("request", "UPDATE", "WHEN OLD.state <> 'reserved' OR NEW.id <> OLD.id OR "
           "NEW.population <> OLD.population OR NEW.units <> OLD.units OR "
           "NEW.delta_units <> OLD.delta_units OR NEW.seq <> OLD.seq"),
    _never("population", "DELETE"),
    _never("population", "UPDATE", "WHEN NEW.spent < OLD.spent OR "
           "NEW.delta_spent < OLD.delta_spent OR NEW.id <> OLD.id OR (OLD.lim > 0 AND "
           "(NEW.account, NEW.lim, NEW.delta_lim) <> (OLD.account, OLD.lim, OLD.delta_lim))"),
])


def create(path: str) -> None:
    """Make an empty ledger, whole or not at all; leave one that exists."""
    if os.path.lexists(path):
        return
    if os.path.lexists(path + "-wal"):
        raise LedgerError("a -wal file of a deleted ledger lies where the ledger should be made; "
                          "move it away, or restore the ledger that it belongs to")
    # Built beside its place and linked into it: nobody ever opens half a ledger, and no file
    # descriptor of ours closes on a database that another thread has locked.
    draft = f"{path}.{os.urandom(8).hex()}"
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        try:
            with _spoken(), closing(sqlite3.connect(draft, isolation_level=None)) as db:
                db.execute("PRAGMA journal_mode=WAL")
                db.execute("PRAGMA synchronous=FULL")
                db.executescript(f"BEGIN; {SCHEMA} PRAGMA application_id={APPLICATION}; "
                                 f"PRAGMA user_version={VERSION}; COMMIT;")
            with suppress(FileExistsError):
                os.link(draft, path)
        finally:
            Path(draft).unlink()
        sync(Path(path).absolute().parent)
    except OSError:
        raise LedgerError("the ledger cannot be made there; its folder must exist and be "
                          "writable, on a disk of this machine") from None


@contextmanager
def transaction(path: str) -> Iterator[sqlite3.Connection]:
    """One locked transaction: durable when the block ends, undone when it raises."""
    with _spoken(), closing(_open(path)) as db:
        db.execute("BEGIN IMMEDIATE")
        yield db
        db.execute("COMMIT")


@contextmanager
def reading(path: str) -> Iterator[sqlite3.Connection]:
    """One consistent view."""
    with _spoken(), closing(_open(path)) as db:
        db.execute("BEGIN")
        yield db


def check_new(db: sqlite3.Connection, population: str) -> bool:
    """Refuse a budget that is granted already; whether the people are known without one."""
    folded, known = population.casefold(), False
    for name, lim, spent in db.execute("SELECT id, lim, spent FROM population"):
        if name.casefold() == folded and lim > 0:
            raise LedgerError(
                f"{name}: a limit of {decimal(lim)} is granted already, "
                f"{decimal(lim - spent)} left; a limit is raised by a signed entry, "
                "which a later version brings"
            )
        check_spelling(name, population)
        known |= name == population
    return known


def refusal(name: str, cost: Cost, has: Account) -> str:
    """What is asked and what is left; delta where it is spoken of."""
    left, see = decimal(has.limit - has.spent), "See `privsieve ledger show`."
    if not cost.delta:
        return f"{name}: {cost.text} asked, {left} left.  {see}"
    if has.account == "pure":
        return (f"{name}: {cost.words} asked, and the account is pure: it has no delta.  Ask "
                "without a delta.")
    delta_left = decimal(has.delta_limit - has.delta_spent, DELTA_UNITS)
    return f"{name}: {cost.words} asked, epsilon {left} and delta {delta_left} left.  {see}"


def check_spelling(known: str, population: str) -> None:
    """Refuse a name that differs from a known one in capitals only."""
    if known != population and known.casefold() == population.casefold():
        raise LedgerError(f"{known}: these people are in the ledger under this spelling; use it, "
                          "for two names would be two accounts")


def append(db: sqlite3.Connection, kind: str, body: Mapping[str, Json]) -> Entry:
    """Add an entry to the chain, inside a transaction."""
    last = db.execute("SELECT * FROM entry ORDER BY seq DESC LIMIT 1").fetchone()
    entry = Entry.after(Entry(*last) if last else None, kind, body)
    db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?)",
               (entry.seq, entry.kind, entry.payload, entry.prev, entry.hash))
    return entry


def chain(db: sqlite3.Connection) -> tuple[Entry, ...]:
    """All entries, in order."""
    return tuple(Entry(*row) for row in db.execute("SELECT * FROM entry ORDER BY seq"))


def safeguards(db: sqlite3.Connection) -> set[tuple[str, str]]:
    """The tables, checks and triggers that a file has."""
    return set(db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))


def expected_safeguards() -> set[tuple[str, str]]:
    """The tables, checks and triggers that a ledger has.

    >>> len(expected_safeguards())
    12
    """
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SCHEMA)
        return safeguards(db)


def _open(path: str) -> sqlite3.Connection:
    if not os.path.lexists(path):
        raise LedgerError(f"there is no ledger at this place; {HOW} makes one")
    if not Path(path).is_file():
        raise LedgerError("the ledger is not a file; name a file, for example budget.db")
    # mode=rw never creates: a ledger that vanishes is an error, not a fresh budget.
    db = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=rw", uri=True,
                         isolation_level=None, timeout=PATIENCE)
    try:
        _check(db)
        # macOS keeps a plain fsync in the drive's cache; elsewhere fullfsync says nothing.
        for pragma in ("synchronous=FULL", "fullfsync=ON", "foreign_keys=ON",
                       "trusted_schema=OFF"):
            db.execute(f"PRAGMA {pragma}")
    except BaseException:
        db.close()
        raise
    return db


def _check(db: sqlite3.Connection) -> None:
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise LedgerError("the file is not a privsieve ledger; name another file, or a new one")
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version != VERSION:
        raise LedgerError(f"the ledger has schema {version} and this privsieve reads {VERSION}; "
                          "install the newer privsieve that wrote it")


_SAID = {
    sqlite3.SQLITE_BUSY: "other processes kept the ledger busy for a minute; try again",
    sqlite3.SQLITE_NOTADB: "the file is not a privsieve ledger; name another file, or a new one",
    sqlite3.SQLITE_CORRUPT: "the ledger is damaged; restore it from its newest copy, and check "
                            "the copy with `privsieve ledger verify`",
    sqlite3.SQLITE_READONLY: "the ledger cannot be written; give this user write access to the "
                             "file and its folder",
    sqlite3.SQLITE_CANTOPEN: "the ledger cannot be opened; give this user write access to the "
                             "file and its folder",
    sqlite3.SQLITE_FULL: "the disk of the ledger is full; make room and try again",
}


@contextmanager
def _spoken() -> Iterator[None]:
    """Say an error of the database in one sentence that quotes nothing of it."""
    try:
        yield
    except PrivsieveError:
        raise
    except (sqlite3.Error, ValueError) as error:  # ValueError: damaged text or JSON
        # The low byte is the primary code; the rest only refines it.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        raise LedgerError(_SAID.get(code, "the ledger cannot be used as it is; check it with "
                                          "`privsieve ledger verify`")) from None
