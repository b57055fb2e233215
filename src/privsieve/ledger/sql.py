"""The ledger's file: SQLite, one connection per operation, one transaction per change.

Every amount is an integer.  The rule of admission is a CHECK of the table, entries are append-only
by trigger, and a balance only grows: a mistake in the code above meets a refusal below.  A file of
0.1.0 is read as it is, and taken over before it is written.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from privsieve.errors import LedgerError, PrivsieveError
from privsieve.ledger.account import Account, Charge, alike, check_new_name, check_unlike
from privsieve.ledger.certificate import Entry
from privsieve.ledger.chain import Balance, ChainReport, Request, replay
from privsieve.ledger.folder import sync
from privsieve.public.canonical import Json
from privsieve.public.cost import DELTA_UNITS, RHO_UNITS, TOP, Cost, decimal

#: "psv1" as a number: tells a ledger from any other SQLite file.
APPLICATION = 0x70737631
#: How long to wait for another process, in seconds.
PATIENCE = 60.0
_COLUMNS = ("account, lim, spent, delta_lim, delta_spent, delta_share, rho_lim, rho_spent, unit, "
            "neighbours, rows_per_person")
HOW = "`privsieve ledger grant --ledger FILE --population NAME --epsilon E`"

VERSION = 2

def _people(most: str, owed: str, more: str = "") -> str:
    return f"""
CREATE TABLE population(
  id TEXT PRIMARY KEY, account TEXT NOT NULL CHECK(account IN ('pure', 'approximate')),
  lim INTEGER NOT NULL DEFAULT 0 CHECK(lim >= 0),
  spent INTEGER NOT NULL DEFAULT 0 CHECK(spent BETWEEN 0 AND {most}),
  delta_lim INTEGER NOT NULL DEFAULT 0 CHECK((delta_lim > 0) = (account = 'approximate')),
  delta_spent INTEGER NOT NULL DEFAULT 0 CHECK(delta_spent BETWEEN 0 AND {owed}){more}) STRICT"""


_OLD_POPULATION = _people("lim", "delta_lim")
_POPULATION = _people(f"{TOP}", f"{TOP}", f""",
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
    OR (rho_lim > 0 AND rho_spent <= rho_lim))""")
_ENTRY = """
CREATE TABLE entry(
  seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, payload TEXT NOT NULL,
  prev TEXT NOT NULL UNIQUE, hash TEXT NOT NULL UNIQUE) STRICT"""
_CHARGE = """
CREATE TABLE request(
  id TEXT PRIMARY KEY, population TEXT NOT NULL REFERENCES population(id),
  units INTEGER NOT NULL CHECK(units > 0),
  delta_units INTEGER NOT NULL CHECK(delta_units >= 0),
  state TEXT NOT NULL CHECK(state IN ('reserved', 'committed')),
  seq INTEGER NOT NULL UNIQUE REFERENCES entry(seq)"""
_OLD_REQUEST = f"{_CHARGE}) STRICT"
_REQUEST = f"""{_CHARGE},
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
                for statement in ("BEGIN", *STATEMENTS[VERSION],
                                  f"PRAGMA application_id={APPLICATION}",
                                  f"PRAGMA user_version={VERSION}", "COMMIT"):
                    db.execute(statement)
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
    """One locked transaction: durable when the block ends, undone when it raises.

    A ledger of 0.1.0 is taken over first.
    """
    with _spoken(), closing(_open(path)) as db:
        if version_of(db) != VERSION:
            migrate(db)
        db.execute("BEGIN IMMEDIATE")
        yield db
        db.execute("COMMIT")


@contextmanager
def reading(path: str) -> Iterator[sqlite3.Connection]:
    """One consistent view."""
    with _spoken(), closing(_open(path)) as db:
        db.execute("BEGIN")
        yield db


def account_of(db: sqlite3.Connection, population: str) -> Account:
    """A population's account, of a ledger of 0.1.0 as it will be when that is taken over."""
    found: Account | None
    if version_of(db) != VERSION:
        found = _before(db).population.get(population)
    else:
        row = db.execute(f"SELECT {_COLUMNS} FROM population WHERE id = ?",  # noqa: S608 - constant names
                         (population,)).fetchone()
        found = Account(*row) if row else None
    if found is None:
        import shlex

        check_unlike(population, [row[0] for row in db.execute("SELECT id FROM population")])
        raise LedgerError(f"{population}: the ledger has no such population; "
                          "`privsieve ledger grant --ledger FILE --population "
                          f"{shlex.quote(population)} --epsilon E` grants it a budget")
    return found


def charges_of(db: sqlite3.Connection, population: str) -> tuple[Request, ...]:
    """Every charge of a population, in the change that it protects."""
    account_of(db, population)
    if version_of(db) != VERSION:
        return tuple(made for made in _before(db).request.values() if made.population == population)
    return tuple(Request(*row) for row in db.execute(
        "SELECT population, units, delta_units, state, seq, rho_units, factor FROM request "
        "WHERE population = ? ORDER BY seq", (population,)))


def write(db: sqlite3.Connection, population: str, now: Account) -> None:
    """One statement; the table's checks and triggers look at it once more."""
    db.execute(f"UPDATE population SET ({_COLUMNS}) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "  # noqa: S608 - constant names
               "WHERE id = ?", (*now, population))


def check_new(db: sqlite3.Connection, population: str) -> bool:
    """Refuse a name that looks like a known one, or is none; whether the people are known."""
    known = [row[0] for row in db.execute("SELECT id FROM population ORDER BY id")]
    if population in known:
        return True
    check_unlike(population, known)
    check_new_name(population)
    return False


def check_ungranted(db: sqlite3.Connection, population: str) -> None:
    """Refuse a budget that is granted already, also under a name that looks like this one."""
    for name, *row in db.execute("SELECT * FROM population ORDER BY id"):
        has = Account(*row)
        if has.limit > 0 and (name == population or alike(name, population)):
            raise LedgerError(f"{name}: a limit of {decimal(has.limit)} is granted already, "
                              f"{decimal(has.left)} left; a limit is raised by a signed entry, "
                              "which a later version brings")


def refusal(name: str, cost: Cost, factor: int, has: Account, made: Charge) -> str:
    """What is asked and what is left; delta and rho where they are spoken of."""
    left, see = decimal(has.left), "See `privsieve ledger show`."
    asked = cost.words if cost.delta else cost.text
    if has.protects and factor != 1:
        asked += f" {factor} times (the account protects {has.protects.words})"
    if cost.delta and has.account == "pure":
        return (f"{name}: {asked} asked, and the account is pure: it has no delta.  Ask "
                "without a delta.")
    if not cost.delta:
        return f"{name}: {asked} asked, {left} left.  {see}"
    said = f"epsilon {left} and delta {decimal(has.delta_left, DELTA_UNITS)} left"
    if has.rho_limit and made.rho < TOP:
        free = decimal(has.rho_left, RHO_UNITS)
        said += f"; as rho {decimal(made.rho, RHO_UNITS)} asked, {free} left"
    return f"{name}: {asked} asked, {said}.  {see}"


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
    version = version_of(db)
    if version not in STATEMENTS:
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


def recounted(db: sqlite3.Connection) -> tuple[ChainReport, tuple[Entry, ...]]:
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
    return ChainReport(len(entries), head, reasons), entries


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
    report, entries = recounted(db)
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


def _before(db: sqlite3.Connection) -> Balance:
    """What the entries of a ledger of 0.1.0 will add up to when it is taken over."""
    entries = chain(db)
    marker = Entry.after(entries[-1] if entries else None, "schema", {"version": VERSION})
    return replay((*entries, marker))[0]


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
