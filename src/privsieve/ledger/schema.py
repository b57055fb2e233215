"""The tables of a ledger file, of this version and of 0.1.0, and how one becomes the other.

The rule of admission is a CHECK of the table, entries are append-only by trigger, and a balance
only grows: a mistake in the code above meets a refusal below.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing

from privsieve.errors import LedgerError
from privsieve.ledger.chain import Balance, ChainReport, Entry, replay
from privsieve.public.canonical import Json
from privsieve.public.cost import TOP

VERSION = 2

_OLD_POPULATION = """
CREATE TABLE population(
  id TEXT PRIMARY KEY, account TEXT NOT NULL CHECK(account IN ('pure', 'approximate')),
  lim INTEGER NOT NULL DEFAULT 0 CHECK(lim >= 0),
  spent INTEGER NOT NULL DEFAULT 0 CHECK(spent BETWEEN 0 AND lim),
  delta_lim INTEGER NOT NULL DEFAULT 0 CHECK((delta_lim > 0) = (account = 'approximate')),
  delta_spent INTEGER NOT NULL DEFAULT 0 CHECK(delta_spent BETWEEN 0 AND delta_lim)) STRICT"""
_POPULATION = f"""
CREATE TABLE population(
  id TEXT PRIMARY KEY, account TEXT NOT NULL CHECK(account IN ('pure', 'approximate')),
  lim INTEGER NOT NULL DEFAULT 0 CHECK(lim >= 0),
  spent INTEGER NOT NULL DEFAULT 0 CHECK(spent BETWEEN 0 AND {TOP}),
  delta_lim INTEGER NOT NULL DEFAULT 0 CHECK((delta_lim > 0) = (account = 'approximate')),
  delta_spent INTEGER NOT NULL DEFAULT 0 CHECK(delta_spent BETWEEN 0 AND {TOP}),
  delta_share INTEGER NOT NULL DEFAULT 0 CHECK(delta_share BETWEEN 0 AND delta_lim),
  rho_lim INTEGER NOT NULL DEFAULT 0
    CHECK(rho_lim >= 0 AND (rho_lim = 0 OR account = 'approximate')),
  rho_spent INTEGER NOT NULL DEFAULT 0 CHECK(rho_spent BETWEEN 0 AND {TOP}),
  unit TEXT CHECK(unit IN ('row', 'person')),
  neighbours TEXT CHECK(neighbours IN ('replace-one', 'add-remove')),
  rows_per_person INTEGER
    CHECK(rows_per_person IS NULL OR (rows_per_person >= 1 AND unit IS 'person')),
  CHECK((unit IS NULL) = (neighbours IS NULL)),
  CHECK((spent <= lim AND delta_spent <= delta_share)
    OR (rho_lim > 0 AND rho_spent <= rho_lim))) STRICT"""
_ENTRY = """
CREATE TABLE entry(
  seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, payload TEXT NOT NULL,
  prev TEXT NOT NULL UNIQUE, hash TEXT NOT NULL UNIQUE) STRICT"""
_OLD_REQUEST = """
CREATE TABLE request(
  id TEXT PRIMARY KEY, population TEXT NOT NULL REFERENCES population(id),
  units INTEGER NOT NULL CHECK(units > 0),
  delta_units INTEGER NOT NULL CHECK(delta_units >= 0),
  state TEXT NOT NULL CHECK(state IN ('reserved', 'committed')),
  seq INTEGER NOT NULL UNIQUE REFERENCES entry(seq)) STRICT"""
_REQUEST = """
CREATE TABLE request(
  id TEXT PRIMARY KEY, population TEXT NOT NULL REFERENCES population(id),
  units INTEGER NOT NULL CHECK(units > 0),
  delta_units INTEGER NOT NULL CHECK(delta_units >= 0),
  state TEXT NOT NULL CHECK(state IN ('reserved', 'committed')),
  seq INTEGER NOT NULL UNIQUE REFERENCES entry(seq),
  rho_units INTEGER NOT NULL CHECK(rho_units > 0),
  factor TEXT NOT NULL) STRICT"""
_PUBLICATION = """
CREATE TABLE publication(
  seq INTEGER PRIMARY KEY REFERENCES entry(seq),
  population TEXT NOT NULL REFERENCES population(id), snapshot TEXT NOT NULL,
  columns TEXT NOT NULL, k INTEGER NOT NULL CHECK(k > 0), model TEXT NOT NULL) STRICT"""


def _never(table: str, event: str, when: str = "") -> str:
    return (f"CREATE TRIGGER {table}_{event.lower()} BEFORE {event} ON {table} {when} "
            f"BEGIN SELECT RAISE(ABORT, 'append-only'); END")


_CHARGE_STAYS = ("WHEN OLD.state <> 'reserved' OR NEW.id <> OLD.id OR "
                 "NEW.population <> OLD.population OR NEW.units <> OLD.units OR "
                 "NEW.delta_units <> OLD.delta_units OR NEW.seq <> OLD.seq")
_LESS = ("WHEN NEW.spent < OLD.spent OR "
         "NEW.delta_spent < OLD.delta_spent OR NEW.id <> OLD.id OR (OLD.lim > 0 AND "
         "(NEW.account, NEW.lim, NEW.delta_lim) <> (OLD.account, OLD.lim, OLD.delta_lim))")
_STAYS = (_never("entry", "UPDATE"), _never("entry", "DELETE"),
          _never("publication", "UPDATE"), _never("publication", "DELETE"))
_OLD_OWN = (_never("request", "DELETE"), _never("request", "UPDATE", _CHARGE_STAYS),
            _never("population", "DELETE"), _never("population", "UPDATE", _LESS))
_OWN = (
    _never("request", "DELETE"),
    _never("request", "UPDATE", f"{_CHARGE_STAYS} OR NEW.rho_units <> OLD.rho_units "
           "OR NEW.factor <> OLD.factor"),
    _never("population", "DELETE"),
    _never("population", "UPDATE", f"{_LESS} OR NEW.rho_spent < OLD.rho_spent OR (OLD.spent > 0 "
           "AND (NEW.delta_share, NEW.rho_lim) <> (OLD.delta_share, OLD.rho_lim)) OR "
           "(OLD.unit IS NOT NULL AND (NEW.unit IS NOT OLD.unit OR NEW.neighbours IS NOT "
           "OLD.neighbours OR NEW.rows_per_person IS NOT OLD.rows_per_person))"),
)
#: Each version's tables and triggers, a statement each.
STATEMENTS: dict[int, tuple[str, ...]] = {
    1: (_OLD_POPULATION, _ENTRY, _OLD_REQUEST, _PUBLICATION, *_STAYS, *_OLD_OWN),
    VERSION: (_POPULATION, _ENTRY, _REQUEST, _PUBLICATION, *_STAYS, *_OWN),
}


def version_of(db: sqlite3.Connection) -> int:
    """The version of an open ledger."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def chain(db: sqlite3.Connection) -> tuple[Entry, ...]:
    """All entries, in order."""
    return tuple(Entry(*row) for row in db.execute("SELECT * FROM entry ORDER BY seq"))


def append(db: sqlite3.Connection, kind: str, body: Mapping[str, Json]) -> Entry:
    """Add an entry to the chain, inside a transaction."""
    last = db.execute("SELECT * FROM entry ORDER BY seq DESC LIMIT 1").fetchone()
    entry = Entry.after(Entry(*last) if last else None, kind, body)
    db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?)",
               (entry.seq, entry.kind, entry.payload, entry.prev, entry.hash))
    return entry


def recounted(db: sqlite3.Connection) -> tuple[ChainReport, tuple[Entry, ...], Balance]:
    """Recount an open ledger from its entries alone, and compare its tables with that."""
    version, entries = version_of(db), chain(db)
    tables = {name: set(db.execute(f"SELECT * FROM {name}"))  # noqa: S608 - constant names
              for name in ("population", "request", "publication")}
    balance, head, reasons = replay(entries)
    reasons += tuple(f"the table {name} is not what the entries add up to"
                     for name, rows in balance.rows(version).items() if rows != tables[name])
    if (balance.version or version) != version:
        reasons += ("the entries are of another version than the tables",)
    if safeguards(db) != expected_safeguards(version):
        reasons += ("the tables, checks or triggers were changed",)
    return ChainReport(len(entries), head, reasons), entries, balance


def migrate(db: sqlite3.Connection) -> None:
    """Take over a ledger of 0.1.0: one transaction, after which it is of this version.

    Its entries stay byte for byte.  One more says that from here on each is of this version, and
    what came before is counted anew, in the change that its population protects.
    """
    db.execute("PRAGMA foreign_keys=OFF")  # not possible inside of a transaction
    db.execute("BEGIN IMMEDIATE")
    if version_of(db) != VERSION:  # another process may have been first
        _taken_over(db)
    db.execute("COMMIT")
    db.execute("PRAGMA foreign_keys=ON")


def _taken_over(db: sqlite3.Connection) -> None:
    report, entries, _ = recounted(db)
    if not report.valid:
        raise LedgerError("the ledger is of version 0.1.0 and does not add up, and was left as it "
                          "is: restore it from its newest copy")
    marker = append(db, "schema", {"version": VERSION})
    rows = replay((*entries, marker))[0].rows()
    db.execute("DROP TABLE request")
    db.execute("DROP TABLE population")
    for statement in (_POPULATION, _REQUEST, *_OWN):
        db.execute(statement)
    for table, width in (("population", 12), ("request", 8)):
        marks = ", ".join("?" * width)
        db.executemany(f"INSERT INTO {table} VALUES ({marks})", rows[table])  # noqa: S608 - constant names
    db.execute(f"PRAGMA user_version={VERSION}")


def balance_of(db: sqlite3.Connection) -> Balance:
    """What the entries add up to: of a ledger of 0.1.0, as when it is taken over."""
    entries = chain(db)
    if version_of(db) != VERSION:
        entries += (Entry.after(entries[-1] if entries else None, "schema",
                                {"version": VERSION}),)
    return replay(entries)[0]


def safeguards(db: sqlite3.Connection) -> set[tuple[str, str]]:
    """The tables, checks and triggers that a file has."""
    return set(db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))


def expected_safeguards(version: int = VERSION) -> set[tuple[str, str]]:
    """The tables, checks and triggers that a ledger has.

    >>> len(expected_safeguards()), len(expected_safeguards(1))
    (12, 12)
    """
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in STATEMENTS[version]:
            db.execute(statement)
        return safeguards(db)
