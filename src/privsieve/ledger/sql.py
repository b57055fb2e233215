"""SQL: the tables of a ledger, in a file or on a server, and the statements on them.

A place that begins with postgresql:// is a schema of a server; any other place is a file.  Command
lines, notes and errors show places, so a place never contains a password.

Every amount is an integer.  The rule of admission is a CHECK of the table, entries are append-only
by trigger, and a balance only grows.  The database therefore refuses mistakes of the code.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from functools import cache
from typing import Any, Protocol

from privsieve.entries import load
from privsieve.errors import LedgerError, ParameterError, PrivsieveError
from privsieve.ledger.account import Account, Charge, alike, check_new_name, check_unlike
from privsieve.ledger.chain import (
    GENESIS,
    Balance,
    ChainReport,
    Entry,
    Request,
    Tally,
    replay,
    resumed,
    spacing,
)
from privsieve.public.canonical import DELTA_UNITS, RHO_UNITS, TOP, Json, decimal, quoted
from privsieve.public.plan import Cost


class Answer(Protocol):
    """The rows that a statement returns, as tuples."""

    @property
    def rowcount(self) -> int:
        """Return the number of changed rows."""

    def fetchone(self) -> Any:
        """Return the next row, or None."""

    def __iter__(self) -> Iterator[Any]:
        """Yield the remaining rows."""


class Served(Protocol):
    """A transaction of a server."""

    def execute(self, statement: str, values: Any = ..., /) -> Answer:
        """Execute a statement, with "?" for each value."""

    def altered(self) -> bool:
        """Return whether tables, checks or triggers were changed."""


#: An open transaction: a connection of SQLite, or one with the same methods.
Database = sqlite3.Connection | Served

#: "psv1" as a number: tells a ledger from any other SQLite file.
APPLICATION = 0x70737631
_COLUMNS = ("account, lim, spent, delta_lim, delta_spent, delta_share, rho_lim, rho_spent, unit, "
            "neighbours, rows_per_person")
#: The columns that grants change, and charges do not.
_LIMITS = {"account", "lim", "delta_lim"}
#: The format of the tables.
FORMAT = 3

#: The key of each table.
_KEY = {"request": "id", "publication": "seq"}
#: The error about entries and tables that contradict each other.
APART = ("the ledger does not add up, and nothing was written; `privsieve ledger verify` lists the "
         "faults")
#: The counted part of each ledger; the next charge counts the new entries.
_counted: dict[str, Tally] = {}


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


#: A balance never falls, and the first charge fixes the kind of sums.
_LESS = ("NEW.spent < OLD.spent OR NEW.delta_spent < OLD.delta_spent OR NEW.id <> OLD.id OR "
         "(OLD.lim > 0 AND "
         "(NEW.account, NEW.lim, NEW.delta_lim) <> (OLD.account, OLD.lim, OLD.delta_lim)) "
         "OR NEW.rho_spent < OLD.rho_spent OR (OLD.spent > 0 "
         "AND (NEW.delta_share, NEW.rho_lim) <> (OLD.delta_share, OLD.rho_lim)) OR "
         "(OLD.unit IS NOT NULL AND (NEW.unit IS NOT OLD.unit OR NEW.neighbours IS NOT "
         "OLD.neighbours OR NEW.rows_per_person IS NOT OLD.rows_per_person))")
#: Limits only grow, together with a newest entry that states them in canonical JSON.
_RAISED = """
  OLD.lim > 0 AND NEW.id = OLD.id AND NEW.account = OLD.account AND NEW.lim >= OLD.lim
  AND NEW.delta_lim >= OLD.delta_lim AND NEW.delta_share >= OLD.delta_share
  AND NEW.rho_lim >= OLD.rho_lim AND NEW.spent >= OLD.spent AND NEW.rho_spent >= OLD.rho_spent
  AND NEW.delta_spent >= OLD.delta_spent AND NEW.unit IS OLD.unit
  AND NEW.neighbours IS OLD.neighbours AND NEW.rows_per_person IS OLD.rows_per_person
  AND EXISTS (SELECT 1 FROM entry WHERE kind = 'raise' AND seq = (SELECT max(seq) FROM entry)
    AND instr(payload, '"limit":' || NEW.lim || ',"population":"' || replace(replace(NEW.id,
      '\\', '\\\\'), '"', '\\"') || '","reason":'))"""
#: The tables and triggers, a statement each.
STATEMENTS = (
    _POPULATION, _ENTRY, _REQUEST, _PUBLICATION,
    _never("entry", "UPDATE"), _never("entry", "DELETE"),
    _never("publication", "UPDATE"), _never("publication", "DELETE"),
    _never("request", "DELETE"),
    _never("request", "UPDATE",
           "WHEN OLD.state <> 'reserved' OR NEW.id <> OLD.id OR NEW.population <> OLD.population "
           "OR NEW.units <> OLD.units OR NEW.delta_units <> OLD.delta_units OR NEW.seq <> OLD.seq "
           "OR NEW.rho_units <> OLD.rho_units OR NEW.factor <> OLD.factor"),
    _never("population", "DELETE"),
    _never("population", "UPDATE", f"WHEN ({_LESS}) AND NOT ({_RAISED})"),
)


def account_of(db: Database, population: str) -> Account:
    """Return a population's account."""
    row = db.execute(f"SELECT {_COLUMNS} FROM population WHERE id = ?",  # noqa: S608 - constant names
                     (population,)).fetchone()
    if row is None:
        import shlex

        check_unlike(population, [row[0] for row in db.execute("SELECT id FROM population")])
        raise LedgerError(f"{population}: the ledger does not have this population; "
                          "`privsieve ledger grant --ledger FILE --population "
                          f"{shlex.quote(population)} --epsilon E` grants it a budget")
    return Account(*row)


def charges_of(db: Database, population: str) -> tuple[Request, ...]:
    """Return every charge of a population, in its change."""
    account_of(db, population)
    return tuple(Request(*row) for row in db.execute(
        "SELECT population, units, delta_units, state, seq, rho_units, factor FROM request "
        "WHERE population = ? ORDER BY seq", (population,)))


def write(db: Database, population: str, now: Account, *, limits: bool = True) -> None:
    """Write an account; the table's checks and triggers check it again.

    A charge does not write limits, so that its user needs no right to raise them.
    """
    row = {name: value for name, value in zip(_COLUMNS.split(", "), now, strict=True)
           if limits or name not in _LIMITS}
    marks = ", ".join("?" * len(row))
    db.execute(f"UPDATE population SET ({', '.join(row)}) = ({marks}) WHERE id = ?",  # noqa: S608 - constant names
               (*row.values(), population))


def check_new(db: Database, population: str) -> bool:
    """Return whether a population is known; refuse a new name that looks like a known one."""
    known = [row[0] for row in db.execute("SELECT id FROM population ORDER BY id")]
    if population in known:
        return True
    check_unlike(population, known)
    check_new_name(population)
    return False


def check_ungranted(db: Database, population: str) -> None:
    """Refuse a population that has a budget, also under a name that looks the same."""
    for name, *row in db.execute("SELECT * FROM population ORDER BY id"):
        has = Account(*row)
        if has.limit > 0 and (name == population or alike(name, population)):
            raise LedgerError(f"{name}: this population already has a limit of epsilon "
                              f"{decimal(has.limit)} ({decimal(has.left)} left); `privsieve "
                              "ledger raise` raises it, with a reason and two names")


def refusal(name: str, cost: Cost, factor: int, has: Account, charge: Charge) -> str:
    """Return the error about a charge: the request, and the rest of the budget."""
    left, see = decimal(has.left), "See `privsieve ledger show`."
    request = f"{name}: the cost is {cost.words}"
    if has.protects and factor != 1:
        request += f", {factor} times (the account protects {has.protects.words})"
    if cost.delta and has.account == "pure":
        return (f"{request}, but the account is pure: it has no delta.  Ask without a " "delta.")
    if not cost.delta:
        return f"{request}; the budget has {left} left.  {see}"
    rest = f"epsilon {left} and delta {decimal(has.delta_left, DELTA_UNITS)} left"
    if has.rho_limit and charge.rho < TOP:
        free = decimal(has.rho_left, RHO_UNITS)
        rest += f"; in rho, the cost is {decimal(charge.rho, RHO_UNITS)} and {free} is left"
    return f"{request}; the budget has {rest}.  {see}"


def chain(db: Database) -> tuple[Entry, ...]:
    """Return all entries, in order."""
    return tuple(Entry(*row) for row in db.execute("SELECT * FROM entry ORDER BY seq"))


def last(db: Database) -> Entry | None:
    """Return the newest entry."""
    row = db.execute("SELECT * FROM entry ORDER BY seq DESC LIMIT 1").fetchone()
    return Entry(*row) if row else None


def append(db: Database, kind: str, body: Mapping[str, Json]) -> Entry:
    """Add an entry to the chain, inside a transaction."""
    entry = Entry.after(last(db), kind, body)
    db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?)",
               (entry.seq, entry.kind, entry.payload, entry.prev, entry.hash))
    return entry


def holds(db: Database, seq: int, head: str) -> bool:
    """Return whether the chain has this entry."""
    row = db.execute("SELECT hash FROM entry WHERE seq = ?", (seq,)).fetchone()
    return (row[0] if row else GENESIS if seq == 0 else None) == head


def recounted(db: Database) -> tuple[ChainReport, tuple[Entry, ...]]:
    """Recount an open ledger from its entries alone, and compare its tables with the result."""
    entries = chain(db)
    balance, head, reasons = replay(entries)
    reasons += tuple(_apart(db, balance))
    return ChainReport(len(entries), head, reasons), entries


def _apart(db: Database, balance: Balance) -> Iterator[str]:
    """Yield the contradictions between tables and entries."""
    if isinstance(db, sqlite3.Connection) and (
            db.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok"):
        yield "the file is damaged"
    for name, rows in balance.rows().items():
        if rows != set(db.execute(f"SELECT * FROM {name}")):  # noqa: S608 - constant names
            yield f"the table {name} is not what the entries add up to"
    if altered(db):
        yield "the tables, checks or triggers were changed"


def counted_on(db: Database, known: Tally | None) -> tuple[Tally, tuple[str, ...]]:
    """Count the new entries, and compare the rows that they changed with the tables.

    Without `known`, count from the second newest checkpoint, so that the newest is checked, or from
    the beginning.  `known` must not be used again.
    """
    known = known or _resumed(db)
    if known is None:
        return Tally(), ("the newest checkpoints, or the tables, were changed",)
    rows = db.execute("SELECT * FROM entry WHERE seq > ? ORDER BY seq", (known.seq,))
    entries = tuple(Entry(*row) for row in rows)
    if known.seq:
        _recall(db, known, entries)
    balance, head, reasons = replay(entries, known)
    if reasons:
        return known, reasons
    if known.seq == 0:
        reasons = tuple(_apart(db, balance))
    else:
        people = {key: tuple(row) for key, *row in db.execute("SELECT * FROM population")}
        if people != balance.population or not all(
                db.execute(f"SELECT * FROM {table} WHERE {_KEY[table]} = ?",  # noqa: S608 - constant names
                           row[:1]).fetchone() == row for table, row in balance.touched()):
            reasons = ("the tables are not what the entries add up to",)
    balance.new.clear()
    return Tally(balance, entries[-1].seq if entries else known.seq, head), reasons


def count(db: Database, place: str, advice: str = "") -> Tally:
    """Count the entries since this process counted last; refuse a ledger that does not add up.

    advice : the end of the error, with what to do.
    """
    # Removed during the count: after a failure it starts from the beginning.
    tally = _counted.pop(place, None)
    tally, reasons = counted_on(db, tally if tally and holds(db, tally.seq, tally.head) else None)
    if reasons:
        raise LedgerError(APART + advice)
    _counted[place] = tally
    return tally


def is_counted(place: str) -> bool:
    """Return whether this process has counted a ledger."""
    return place in _counted


@contextmanager
def spoken(text_of: Callable[[Exception], str | None]) -> Iterator[None]:
    """Replace an error of the database by a sentence that does not quote it.

    text_of : returns the sentence, or None if the error is not from the database.
    """
    try:
        yield
    except PrivsieveError:
        raise
    except Exception as error:
        if (text := text_of(error)) is None:
            raise
        raise LedgerError(text) from None


def _resumed(db: Database) -> Tally | None:
    """Return the tally from which a process starts to count; None if it is damaged."""
    newest, people = last(db), db.execute("SELECT count(*) FROM population").fetchone()[0]
    # [window] three times the distance of two checkpoints
    marks = [Entry(*row) for row in db.execute(
        "SELECT * FROM entry WHERE kind = 'checkpoint' AND seq > ? ORDER BY seq DESC LIMIT 2",
        ((newest.seq if newest else 0) - 3 * spacing(people),))]
    if len(marks) < 2:
        return Tally()
    published = {seq: tuple(row) for seq, *row in db.execute(
        "SELECT * FROM publication WHERE seq < ? ORDER BY seq", (marks[1].seq,))}
    return None if altered(db) else resumed(marks[1], published)


def _recall(db: Database, known: Tally, entries: tuple[Entry, ...]) -> None:
    """Add earlier charges that were committed since, in their state at the checkpoint."""
    for entry in entries:
        if entry.kind == "commit" and (name := entry.request) not in known.balance.request:
            row = db.execute(
                "SELECT population, units, delta_units, state, seq, rho_units, factor FROM request "
                "WHERE id = ? AND seq < ?", (name, known.seq)).fetchone()
            if row is not None:
                known.balance.request[name] = Request(*row)._replace(state="reserved")


def mark(db: Database, tally: Tally) -> None:
    """Add a checkpoint to a counted chain if one is due, inside a transaction."""
    if tally.balance.due(tally.seq):
        append(db, "checkpoint", tally.balance.checkpoint())


def altered(db: Database) -> bool:
    """Return whether tables, checks or triggers were changed."""
    if isinstance(db, sqlite3.Connection):
        return safeguards(db) != expected_safeguards()
    return db.altered()


def safeguards(db: Database) -> frozenset[tuple[str, str]]:
    """Return the tables, checks and triggers of a file."""
    return frozenset(db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))


@cache  # each transaction needs them
def expected_safeguards() -> frozenset[tuple[str, str]]:
    """Return the tables, checks and triggers of a valid ledger.

    >>> len(expected_safeguards())
    12
    """
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in STATEMENTS:
            db.execute(statement)
        return safeguards(db)


# --- places -------------------------------------------------------------------------------------

class Store(Protocol):
    """A store of ledgers: `file`, or the extra `postgres`."""

    def create(self, path: str) -> None:
        """Make an empty ledger; leave an existing one."""

    def transaction(self, path: str, population: str = "") -> AbstractContextManager[Database]:
        """Open a locked transaction: durable when the block ends, undone when it raises."""

    def reading(self, path: str) -> AbstractContextManager[Database]:
        """Open one consistent view."""

    def backup(self, path: str, copy: str) -> int:
        """Copy a ledger consistently; return the number of entries."""


def store(path: str) -> Store:
    """Return the store of a place."""
    if served(path):
        server: Store = load("store", "postgresql")
        return server
    file: Store = load("core", "file")
    return file


def served(path: str) -> bool:
    """Return whether a ledger is on a server.

    >>> served("postgresql://db.example.org/budgets"), served("budget.db")
    (True, False)
    """
    return os.fspath(path).startswith(("postgresql://", "postgres://"))


def checked_path(path: str) -> str:
    """Check the place of a ledger: a file, or a server's URL without a password."""
    if not isinstance(path, str | os.PathLike) or not isinstance(path := os.fspath(path), str):
        raise ParameterError(f"the path is {quoted(path)}; write the name of a file")
    if not path or "\0" in path:
        raise ParameterError("the ledger's path is empty or contains a NUL; write budget.db")
    if served(path):
        load("store", "postgresql").check_url(path)
    elif "://" in path:
        # The error does not show the URL, which may contain a password.
        raise ParameterError("the ledger has an unsupported URL; name a file, for example "
                             "budget.db, or postgresql://HOST/DATABASE")
    return path


def checked_file(path: str) -> str:
    """Check the path of a file, of a head or a copy."""
    if "://" in (path := checked_path(path)):
        raise ParameterError("this must be a file, not a URL; name a file")
    return path


def lies(path: str) -> bool:
    """Return whether a ledger may exist at a place; a server is not asked."""
    return served(path) or os.path.lexists(path)


def absolute(path: str) -> str:
    """Return an absolute path, or a URL as it is."""
    return path if served(path) else os.path.abspath(path)  # noqa: PTH100  # Path would follow links
