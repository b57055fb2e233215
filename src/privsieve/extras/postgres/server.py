"""Server: a ledger in PostgreSQL, with one connection and one transaction per change.

A ledger is the schema `privsieve` of a database, with the tables of a file.  A writer locks the row
of the population, and then the row of the head, so that others cannot change them.  Errors do not
quote the server.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import parse_qsl, unquote

from privsieve.entries import import_library
from privsieve.errors import LedgerError, ParameterError
from privsieve.ledger import sql
from privsieve.ledger.chain import GENESIS, Entry

if TYPE_CHECKING:
    import psycopg

#: The seconds to wait for another process, or for a server that restarts.
PATIENCE = 60.0
#: The rows that a writer locks until its transaction ends, in this order.
LOCKS = ("SELECT 1 FROM population WHERE id = ? FOR UPDATE",
         "SELECT seq, hash FROM head FOR UPDATE")
HOW = "`privsieve ledger grant --ledger URL --population NAME --epsilon E`"

# --- URLs --------------------------------------------------------------------------------------

_HOST = r"(?:\[[\da-fA-F:.]+\]|[\w.%-]*)(?::\d+)?"
_URL = (rf"postgres(?:ql)?://(?:[^:@/?#\s]*@)?(?P<hosts>{_HOST}(?:,{_HOST})*)"
        r"(?:/[^:@/?#\s]*)?(?:\?(?P<more>[^@?#\s]*))?")
#: The allowed options of a URL, without passwords and without options that weaken safeguards.
_MAY = {"host", "port", "user", "dbname", "service", "passfile", "sslmode", "sslrootcert",
        "sslcert", "sslkey", "connect_timeout", "target_session_attrs"}


def check_url(url: str) -> None:
    """Refuse a URL with a password, or with options that weaken the connection."""
    # The error does not show the URL, which may contain a password.
    match = re.fullmatch(_URL, url)
    options = parse_qsl(match["more"] or "", keep_blank_values=True) if match else []
    if match is None or any(name not in _MAY for name, _ in options):
        raise ParameterError(
            "the ledger's URL has a password, or options that are not allowed; write "
            "postgresql://USER@HOST/DATABASE, with "
            f"{', '.join(sorted(_MAY))} after a ? if needed.  Put a password into a private "
            "file: PGPASSFILE, or a service file (PGSERVICE)")
    need = transport(url)
    if need and any(name == "sslmode" and value != need for name, value in options):
        raise ParameterError("the ledger's server is on another machine, and sslmode is weaker "
                             "than verify-full; write sslmode=verify-full, with sslrootcert=FILE")


def transport(url: str) -> str | None:
    """Return the sslmode that a URL needs; None if it names this machine alone.

    A host from a service file or the environment may be any machine.

    >>> transport("postgresql:///budgets?host=/run/postgresql"), transport("postgresql://db/b")
    (None, 'verify-full')
    """
    match = re.fullmatch(_URL, url)
    assert match is not None
    hosts = [match["hosts"], *(value for name, value in parse_qsl(match["more"] or "")
                               if name == "host")]
    names = [unquote(re.sub(r":\d+$", "", name)) for host in hosts for name in host.split(",")
             if host]
    local = all(name.startswith("/") or name in ("localhost", "127.0.0.1", "[::1]", "::1")
                for name in names)
    return None if names and local else "verify-full"


# --- the tables of PostgreSQL -------------------------------------------------------------------

#: The differences of PostgreSQL's statements from those of `sql`.
_WORDS = ((r"\bINTEGER\b", "BIGINT"), (r"\bTEXT\b", 'TEXT COLLATE "C"'), (r"\) STRICT$", ")"),
          (r"\bIS NOT (?!NULL)", "IS DISTINCT FROM "),
          (r"\bIS (?!NOT|NULL|DISTINCT)", "IS NOT DISTINCT FROM "), (r"\binstr\(", "0 < strpos("))
_TRIGGER = r"(?s)CREATE TRIGGER (\w+) BEFORE (\w+) ON (\w+) (?:WHEN (.*))? BEGIN .* END"
_OWN_TABLES = (
    "CREATE TABLE head(one BIGINT PRIMARY KEY CHECK(one = 1), seq BIGINT NOT NULL, hash TEXT)",
    f"INSERT INTO head VALUES (1, 0, '{GENESIS}')",  # noqa: S608 - constant text
    "CREATE TABLE safeguards(format BIGINT PRIMARY KEY, definition TEXT NOT NULL)")
#: The chain refuses entries that change limits from users who may not change limits.
_FOLLOWS = """
  IF NEW.kind IN ('grant', 'people', 'raise')
     AND NOT has_column_privilege('population', 'lim', 'UPDATE') THEN
    RAISE insufficient_privilege;
  END IF;
  UPDATE head SET seq = NEW.seq, hash = NEW.hash WHERE seq = NEW.seq - 1 AND hash = NEW.prev;
  IF NOT FOUND THEN RAISE EXCEPTION 'append-only'; END IF;"""
_HEAD_STAYS = ("NEW.one <> OLD.one OR NEW.seq <> OLD.seq + 1 OR NOT EXISTS (SELECT 1 FROM entry "
               "WHERE seq = NEW.seq AND hash = NEW.hash AND prev = OLD.hash)")
#: A line for each constraint, trigger, function and column of the tables.
_SAFEGUARDS = """
WITH own AS (SELECT oid, relname FROM pg_class
  WHERE relnamespace = 'privsieve'::regnamespace AND relkind = 'r')
SELECT string_agg(line, chr(10) ORDER BY line COLLATE "C") FROM (
  SELECT relname || ' ' || conname || ' ' || pg_get_constraintdef(c.oid) || convalidated AS line
    FROM pg_constraint c JOIN own ON conrelid = own.oid WHERE contype IN ('c', 'p', 'u', 'f')
  UNION ALL SELECT pg_get_triggerdef(t.oid)
    FROM pg_trigger t JOIN own ON tgrelid = own.oid WHERE NOT tgisinternal
  UNION ALL SELECT relname || ' off: ' || count(*)
    FROM pg_trigger t JOIN own ON tgrelid = own.oid WHERE tgenabled <> 'O' GROUP BY relname
  UNION ALL SELECT proname || ' ' || prosrc FROM pg_proc
    WHERE pronamespace = 'privsieve'::regnamespace
  UNION ALL SELECT relname || '.' || attname || ' ' || format_type(atttypid, atttypmod)
      || attnotnull
    FROM pg_attribute JOIN own ON attrelid = own.oid WHERE attnum > 0 AND NOT attisdropped) made"""


def statements() -> Iterator[str]:
    """Yield the tables and triggers of a ledger, translated from those of a file."""
    for statement in sql.STATEMENTS:
        if match := re.fullmatch(_TRIGGER, statement):
            name, event, table, when = match.groups()
            yield from _refused(name, f"BEFORE {event} ON {table}", _said_here(when or "true"))
        else:
            yield _said_here(statement)
    yield from _OWN_TABLES
    yield from _called("entry_follows", "AFTER INSERT ON entry", _FOLLOWS)
    yield from _refused("head_update", "BEFORE UPDATE ON head", _HEAD_STAYS)
    yield from _refused("append_only", "BEFORE DELETE ON head", "true")
    yield ("CREATE TRIGGER safeguards_stay BEFORE UPDATE OR DELETE ON safeguards "
           "FOR EACH ROW EXECUTE FUNCTION append_only()")
    for table in ("population", "entry", "request", "publication", "head", "safeguards"):
        yield (f"CREATE TRIGGER {table}_truncate BEFORE TRUNCATE ON {table} "
               "FOR EACH STATEMENT EXECUTE FUNCTION append_only()")


def _said_here(text: str) -> str:
    for word, here in _WORDS:
        text = re.sub(word, here, text)
    return text


def _refused(name: str, event: str, when: str) -> Iterator[str]:
    yield from _called(name, event, f"IF {when} THEN RAISE EXCEPTION 'append-only'; END IF;")


def _called(name: str, event: str, body: str) -> Iterator[str]:
    yield (f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql "
           f"SET search_path = privsieve, pg_temp AS $$BEGIN {body} RETURN NEW; END$$")
    yield f"CREATE TRIGGER {name} {event} FOR EACH ROW EXECUTE FUNCTION {name}()"


# --- the store ----------------------------------------------------------------------------------

def create(path: str) -> None:
    """Make an empty ledger completely or not at all; leave an existing one."""
    with sql.spoken(_text_of), _begun(path) as db:
        # One process at a time: the second finds the ledger of the first.
        db.execute("SELECT pg_advisory_xact_lock(?)", (sql.APPLICATION,))
        if not db.exists():
            if not db.execute("SELECT to_regnamespace('privsieve')").fetchone()[0]:
                db.execute("CREATE SCHEMA privsieve")
            for statement in statements():
                db.execute(statement)
            db.execute("INSERT INTO safeguards VALUES (?, ?)", (sql.FORMAT, db.safeguards()))
        db.execute("COMMIT")


@contextmanager
def transaction(path: str, population: str = "") -> Iterator[sql.Database]:
    """Open a locked transaction: durable when the block ends, undone when it raises.

    A ledger that does not add up is refused.  The first transaction of a process counts from a
    checkpoint before it locks the ledger, and each later one counts the new entries.
    """
    if not sql.is_counted(path):
        with reading(path) as db:
            sql.count(db, path)
    with sql.spoken(_text_of), _locked(path, population) as (db, head):
        tally = sql.count(db, path)
        if (tally.seq, tally.head) != head:
            raise LedgerError(sql.APART)
        sql.mark(db, tally)
        yield db
        _commit(path, db)


@contextmanager
def reading(path: str) -> Iterator[sql.Database]:
    """Open one consistent view; it needs no permission to write."""
    with sql.spoken(_text_of), _begun(path, "REPEATABLE READ, READ ONLY") as db:
        db.demand_made()
        yield db


def backup(path: str, copy: str) -> NoReturn:  # noqa: ARG001  # as a file is
    """Refuse: the server's own program copies its ledgers."""
    raise LedgerError("privsieve does not copy a shared ledger; run pg_dump --schema=privsieve on "
                      "its server, or save its entries with `privsieve ledger export`")


# --- the connection -----------------------------------------------------------------------------

@dataclass(frozen=True, repr=False)
class Session:
    """An open transaction in the form of `sql`: "?" marks, rows as tuples."""

    raw: psycopg.Connection[Any]

    def execute(self, statement: str, values: Sequence[Any] = ()) -> sql.Answer:
        """Execute a statement."""
        if values:
            statement = statement.replace("%", "%%").replace("?", "%s")
        answer: sql.Answer = self.raw.execute(statement.encode(), values or None)
        return answer

    def altered(self) -> bool:
        """Return whether tables, checks, triggers or the head were changed."""
        newest = sql.last(self)
        head = (newest.seq, newest.hash) if newest else (0, GENESIS)
        kept = self.execute("SELECT definition FROM safeguards WHERE format = ?",
                            (sql.FORMAT,)).fetchone()
        return (kept is None or kept[0] != self.safeguards()
                or [head] != list(self.execute("SELECT seq, hash FROM head")))

    def safeguards(self) -> str:
        """Return the tables, checks and triggers of the schema."""
        return str(self.execute(_SAFEGUARDS).fetchone()[0])

    def exists(self) -> bool:
        """Return whether there is a ledger; refuse another format."""
        if not self.execute("SELECT to_regclass('privsieve.safeguards')").fetchone()[0]:
            return False
        version = self.execute("SELECT max(format) FROM safeguards").fetchone()[0]
        if version != sql.FORMAT:
            raise LedgerError(f"the ledger has format {version} and this privsieve reads "
                              f"{sql.FORMAT}; install the privsieve that wrote it")
        return True

    def demand_made(self) -> None:
        """Refuse a database without a ledger."""
        if not self.exists():
            raise LedgerError(f"there is no ledger in this database; create it with {HOW}")


def _connect(path: str) -> psycopg.Connection[Any]:
    import_library("psycopg", "postgres", "a ledger on a server")
    import psycopg

    options: dict[str, Any] = {"sslmode": ssl} if (ssl := transport(path)) else {}
    if "connect_timeout=" not in path:
        options["connect_timeout"] = 10
    # tcp_user_timeout detects a lost network while waiting for an answer.
    connection: psycopg.Connection[Any] = psycopg.connect(
        path, autocommit=True, prepare_threshold=None, client_encoding="utf8",
        application_name="privsieve", tcp_user_timeout=int(PATIENCE * 1000), **options)
    return connection


@contextmanager
def _begun(path: str, how: str = "READ COMMITTED") -> Iterator[Session]:
    """Begin a durable transaction; undo it unless it is committed at the end."""
    raw = _connect(path)
    try:
        db = Session(raw)
        db.execute(f"BEGIN ISOLATION LEVEL {how}")
        # `on` waits for the disk and for standbys; a stronger setting stays.
        db.execute("SELECT set_config('search_path', 'privsieve, pg_temp', true), "
                   "set_config('lock_timeout', ?, true), "
                   "set_config('idle_in_transaction_session_timeout', ?, true), "
                   "set_config('synchronous_commit', CASE current_setting('synchronous_commit') "
                   "WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)",
                   (f"{int(PATIENCE * 1500)}ms", f"{int(PATIENCE * 1000)}ms"))
        facts = db.execute("SELECT current_setting('fsync'), current_setting('full_page_writes'), "
                           "current_setting('session_replication_role'), "
                           "current_setting('server_encoding')").fetchone()
        if facts != ("on", "on", "origin", "UTF8"):
            raise LedgerError("the ledger's server is not durable: it needs fsync and "
                              "full_page_writes on, session_replication_role origin, and a "
                              "database in UTF8")
        yield db
    finally:
        raw.close()


@contextmanager
def _locked(path: str, population: str) -> Iterator[tuple[Session, tuple[int, str]]]:
    """Begin a transaction, lock the population and the head, and yield it with the head."""
    import psycopg

    until, entered = time.monotonic() + PATIENCE, False
    while True:
        try:
            with _begun(path) as db:
                db.demand_made()
                db.execute(LOCKS[0], (population,))
                head = db.execute(LOCKS[1]).fetchone()
                entered = True
                yield db, tuple(head or ())
                return
        except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected):
            if entered or time.monotonic() > until:
                raise
        time.sleep(random.uniform(0.001, 0.05))  # noqa: S311  # a waiting time is not secret


def _commit(path: str, db: Session) -> None:
    """Commit; without an answer, find out the result on another connection."""
    import psycopg

    newest = sql.last(db)
    try:
        done = db.raw.execute("COMMIT").statusmessage == "COMMIT"
    except BaseException as error:
        db.raw.close()
        if not _written(path, newest):
            if isinstance(error, psycopg.Error):
                raise LedgerError(_UNDONE) from None
            raise
        # After an interruption the caller asks the ledger.
        if not isinstance(error, psycopg.Error):
            raise
        return
    if not done:
        raise LedgerError(_UNDONE)


def _written(path: str, newest: Entry | None) -> bool:
    """Return whether the entry is in the chain, after any commit in progress.

    A commit holds the lock of the head, so that this sees its result after it.
    """
    import psycopg

    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            with _locked(path, "") as (db, _):
                return newest is None or sql.holds(db, newest.seq, newest.hash)
        except psycopg.OperationalError:  # the server may be restarting
            time.sleep(0.1)
    raise LedgerError(_UNKNOWN)


# --- errors -------------------------------------------------------------------------------------

_GONE = ("the ledger's server cannot be reached, or does not let this user in, and nothing was "
         "written; check the URL, the password file and the server, and try again")
_UNDONE = "the ledger's server ended the transaction, and nothing was written; try again"
_UNKNOWN = ("the ledger's server stopped during a write, and the entry may or may not be written: "
            "run `privsieve ledger show` and `privsieve recover DIR` when the server is back")
_BUSY = "other processes kept the ledger busy for a minute; try again"
#: The text of each error, by the beginning of its code.
_TEXTS: Mapping[str, str] = {
    "": _GONE, "08": _GONE, "57": _GONE, "40": _BUSY, "55": _BUSY, "25P": _GONE,
    "42501": "this user may not do that in the shared ledger; docs/ledger.md lists the rights "
             "of users who grant, spend or read",
    "25006": "the ledger's server is read-only; name the server that accepts writes",
    "53": "the ledger's server has a full disk or too many connections; make room and try again",
}


def _text_of(error: Exception) -> str | None:
    from psycopg import Error

    if not isinstance(error, (Error, ValueError)):  # ValueError: damaged text or JSON
        return None
    code = str(getattr(error, "sqlstate", None) or "" if isinstance(error, Error) else "?")
    text = next((_TEXTS[code[:width]] for width in (5, 3, 2, 0) if code[:width] in _TEXTS
                 and (width or not code)), None)
    return text or "the shared ledger cannot be used; check it with `privsieve ledger verify`"
