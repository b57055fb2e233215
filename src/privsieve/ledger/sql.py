"""The ledger's file: SQLite, one connection per operation, one transaction per change.

Every amount is an integer.  What the tables refuse by themselves stands in `ledger_schema`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from privsieve.errors import LedgerError, PrivsieveError
from privsieve.ledger import names, schema
from privsieve.ledger.account import Account, Charge
from privsieve.ledger.chain import Request
from privsieve.ledger.folder import sync
from privsieve.ledger.schema import STATEMENTS, VERSION, migrate, version_of
from privsieve.public.cost import DELTA_UNITS, RHO_UNITS, TOP, Cost, decimal

#: "psv1" as a number: tells a ledger from any other SQLite file.
APPLICATION = 0x70737631
#: How long to wait for another process, in seconds.
PATIENCE = 60.0

append, chain = schema.append, schema.chain

_COLUMNS = ("account, lim, spent, delta_lim, delta_spent, delta_share, rho_lim, rho_spent, unit, "
            "neighbours, rows_per_person")
HOW = "`privsieve ledger grant --ledger FILE --population NAME --epsilon E`"


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
        found = schema.balance_of(db).population.get(population)
    else:
        row = db.execute(f"SELECT {_COLUMNS} FROM population WHERE id = ?",  # noqa: S608 - constant names
                         (population,)).fetchone()
        found = Account(*row) if row else None
    if found is None:
        import shlex

        names.check_unlike(population, [row[0] for row in db.execute("SELECT id FROM population")])
        raise LedgerError(f"{population}: the ledger has no such population; "
                          "`privsieve ledger grant --ledger FILE --population "
                          f"{shlex.quote(population)} --epsilon E` grants it a budget")
    return found


def charges_of(db: sqlite3.Connection, population: str) -> tuple[Request, ...]:
    """Every charge of a population, in the change that it protects."""
    account_of(db, population)
    if version_of(db) != VERSION:
        found = schema.balance_of(db).request.values()
        return tuple(made for made in found if made.population == population)
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
    names.check_unlike(population, known)
    names.check_new(population)
    return False


def check_ungranted(db: sqlite3.Connection, population: str) -> None:
    """Refuse a budget that is granted already, also under a name that looks like this one."""
    for name, lim, left in granted(db):
        if lim > 0 and (name == population or names.alike(name, population)):
            raise LedgerError(
                f"{name}: a limit of {decimal(lim)} is granted already, {decimal(left)} left; "
                "a limit is raised by a signed entry, which a later version brings"
            )


def granted(db: sqlite3.Connection) -> list[tuple[str, int, int]]:
    """Each population with its limit and what is left of it."""
    return [(name, row[1], Account(*row).left)
            for name, *row in db.execute("SELECT * FROM population ORDER BY id")]


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
