"""The ledger's server: PostgreSQL, one connection per operation, one transaction per change.

A ledger is the schema `privsieve` of a database, with the tables of a file.  Whoever writes locks
the row of the population, then the one row of the head, always in this order: what is read after
that nobody else changes.  What is wrong is said in a sentence that quotes nothing of the server.
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

#: How long to wait for another process, or for a server that starts again, in seconds.
PATIENCE = 60.0
#: The rows that a writer has until its transaction ends, in this order.
LOCKS = ("SELECT 1 FROM population WHERE id = ? FOR UPDATE",
         "SELECT seq, hash FROM head FOR UPDATE")
HOW = "`privsieve ledger grant --ledger URL --population NAME --epsilon E`"

# --- where it lies -----------------------------------------------------------------------------

_HOST = r"(?:\[[\da-fA-F:.]+\]|[\w.%-]*)(?::\d+)?"
_URL = (rf"postgres(?:ql)?://(?:[^:@/?#\s]*@)?(?P<hosts>{_HOST}(?:,{_HOST})*)"
        r"(?:/[^:@/?#\s]*)?(?:\?(?P<more>[^@?#\s]*))?")
#: What a URL may say besides; a password, and what could switch safeguards off, is not among it.
_MAY = {"host", "port", "user", "dbname", "service", "passfile", "sslmode", "sslrootcert",
        "sslcert", "sslkey", "connect_timeout", "target_session_attrs"}


def check_url(url: str) -> None:
    """Refuse a URL that holds a password, or what would weaken the connection."""
    # Nothing of it is echoed: what is written wrongly may be a password.
    found = re.fullmatch(_URL, url)
    options = parse_qsl(found["more"] or "", keep_blank_values=True) if found else []
    if found is None or any(name not in _MAY for name, _ in options):
        raise ParameterError(
            "the ledger's URL holds a password, or something that is not taken; write "
            "postgresql://USER@HOST/DATABASE, with "
            f"{', '.join(sorted(_MAY))} after a ? where needed.  A password belongs into a file "
            "for its owner alone: PGPASSFILE, or a service file (PGSERVICE)")
    need = transport(url)
    if need and any(name == "sslmode" and value != need for name, value in options):
        raise ParameterError("the ledger's server is on another machine, and sslmode is weaker "
                             "than verify-full; write sslmode=verify-full, with sslrootcert=FILE")


def transport(url: str) -> str | None:
    """The sslmode that a URL has to have; None where it names this machine alone.

    A host that is named elsewhere, in a service file or the environment, may be any.

    >>> transport("postgresql:///budgets?host=/run/postgresql"), transport("postgresql://db/b")
    (None, 'verify-full')
    """
    found = re.fullmatch(_URL, url)
    assert found is not None
    hosts = [found["hosts"], *(value for name, value in parse_qsl(found["more"] or "")
                               if name == "host")]
    names = [unquote(re.sub(r":\d+$", "", name)) for host in hosts for name in host.split(",")
             if host]
    local = all(name.startswith("/") or name in ("localhost", "127.0.0.1", "[::1]", "::1")
                for name in names)
    return None if names and local else "verify-full"


# --- the tables, in PostgreSQL's words ----------------------------------------------------------

#: How the statements of `sql` are written here; all else is the same.
_WORDS = ((r"\bINTEGER\b", "BIGINT"), (r"\bTEXT\b", 'TEXT COLLATE "C"'), (r"\) STRICT$", ")"),
          (r"\bIS NOT (?!NULL)", "IS DISTINCT FROM "),
          (r"\bIS (?!NOT|NULL|DISTINCT)", "IS NOT DISTINCT FROM "), (r"\binstr\(", "0 < strpos("))
_TRIGGER = r"(?s)CREATE TRIGGER (\w+) BEFORE (\w+) ON (\w+) (?:WHEN (.*))? BEGIN .* END"
_OWN_TABLES = (
    "CREATE TABLE head(one BIGINT PRIMARY KEY CHECK(one = 1), seq BIGINT NOT NULL, hash TEXT)",
    f"INSERT INTO head VALUES (1, 0, '{GENESIS}')",  # noqa: S608 - constant text
    "CREATE TABLE safeguards(format BIGINT PRIMARY KEY, definition TEXT NOT NULL)")
#: A writer of grants may change limits; of who may not, the chain takes no entry that does.
_FOLLOWS = """
  IF NEW.kind IN ('grant', 'people', 'raise')
     AND NOT has_column_privilege('population', 'lim', 'UPDATE') THEN
    RAISE insufficient_privilege;
  END IF;
  UPDATE head SET seq = NEW.seq, hash = NEW.hash WHERE seq = NEW.seq - 1 AND hash = NEW.prev;
  IF NOT FOUND THEN RAISE EXCEPTION 'append-only'; END IF;"""
_HEAD_STAYS = ("NEW.one <> OLD.one OR NEW.seq <> OLD.seq + 1 OR NOT EXISTS (SELECT 1 FROM entry "
               "WHERE seq = NEW.seq AND hash = NEW.hash AND prev = OLD.hash)")
#: All that makes the tables what they are, a line each.
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
    """The tables and triggers of a ledger, from those of a file."""
    for statement in sql.STATEMENTS:
        if found := re.fullmatch(_TRIGGER, statement):
            name, event, table, when = found.groups()
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


# --- what a ledger's place can do ---------------------------------------------------------------

def create(path: str) -> None:
    """Make an empty ledger, whole or not at all; leave one that exists."""
    with sql.spoken(_text_of), _begun(path) as db:
        # One at a time: who comes second finds what the first has made.
        db.execute("SELECT pg_advisory_xact_lock(?)", (sql.APPLICATION,))
        if not db.made():
            if not db.execute("SELECT to_regnamespace('privsieve')").fetchone()[0]:
                db.execute("CREATE SCHEMA privsieve")
            for statement in statements():
                db.execute(statement)
            db.execute("INSERT INTO safeguards VALUES (?, ?)", (sql.FORMAT, db.safeguards()))
        db.execute("COMMIT")


@contextmanager
def transaction(path: str, population: str = "") -> Iterator[sql.Database]:
    """One locked transaction: durable when the block ends, undone when it raises.

    What does not add up is not written: the first transaction of a process counts from a
    checkpoint on before it locks the ledger, and each later one what came since.
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
    """One consistent view; who may not write can read, too."""
    with sql.spoken(_text_of), _begun(path, "REPEATABLE READ, READ ONLY") as db:
        db.demand_made()
        yield db


def backup(path: str, copy: str) -> NoReturn:  # noqa: ARG001  # as a file is
    """A server's ledger is copied by the server's own program."""
    raise LedgerError("a shared ledger is copied on its server: pg_dump --schema=privsieve; "
                      "`privsieve ledger export` keeps its entries")


# --- the connection -----------------------------------------------------------------------------

@dataclass(frozen=True, repr=False)
class Session:
    """An open transaction as `sql` uses one: "?" marks, rows as tuples."""

    raw: psycopg.Connection[Any]

    def execute(self, statement: str, given: Sequence[Any] = ()) -> sql.Answer:
        """One statement."""
        if given:
            statement = statement.replace("%", "%%").replace("?", "%s")
        answer: sql.Answer = self.raw.execute(statement.encode(), given or None)
        return answer

    def altered(self) -> bool:
        """Whether tables, checks, triggers or the head are not what they were made as."""
        newest = sql.last(self)
        head = (newest.seq, newest.hash) if newest else (0, GENESIS)
        kept = self.execute("SELECT definition FROM safeguards WHERE format = ?",
                            (sql.FORMAT,)).fetchone()
        return (kept is None or kept[0] != self.safeguards()
                or [head] != list(self.execute("SELECT seq, hash FROM head")))

    def safeguards(self) -> str:
        """The tables, checks and triggers that the schema has."""
        return str(self.execute(_SAFEGUARDS).fetchone()[0])

    def made(self) -> bool:
        """Whether there is a ledger; refused where it is of another format."""
        if not self.execute("SELECT to_regclass('privsieve.safeguards')").fetchone()[0]:
            return False
        found = self.execute("SELECT max(format) FROM safeguards").fetchone()[0]
        if found != sql.FORMAT:
            raise LedgerError(f"the ledger has format {found} and this privsieve reads "
                              f"{sql.FORMAT}; install the privsieve that wrote it")
        return True

    def demand_made(self) -> None:
        """Refuse a database without a ledger."""
        if not self.made():
            raise LedgerError(f"there is no ledger in this database; {HOW} makes one")


def _connect(path: str) -> psycopg.Connection[Any]:
    import_library("psycopg", "postgres", "a ledger on a server")
    import psycopg

    more: dict[str, Any] = {"sslmode": ssl} if (ssl := transport(path)) else {}
    if "connect_timeout=" not in path:
        more["connect_timeout"] = 10
    # The last: a network that went away is noticed while an answer is waited for.
    made: psycopg.Connection[Any] = psycopg.connect(
        path, autocommit=True, prepare_threshold=None, client_encoding="utf8",
        application_name="privsieve", tcp_user_timeout=int(PATIENCE * 1000), **more)
    return made


@contextmanager
def _begun(path: str, how: str = "READ COMMITTED") -> Iterator[Session]:
    """A transaction that the server will keep; what is not committed at the end is undone."""
    raw = _connect(path)
    try:
        db = Session(raw)
        db.execute(f"BEGIN ISOLATION LEVEL {how}")
        # `on` waits for the disk, and for standbys where there are any; a stronger one stays.
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
            raise LedgerError("the ledger's server does not keep what it acknowledges: it needs "
                              "fsync and full_page_writes on, session_replication_role origin, "
                              "and a database in UTF8")
        yield db
    finally:
        raw.close()


@contextmanager
def _locked(path: str, population: str) -> Iterator[tuple[Session, tuple[int, str]]]:
    """A transaction that has the rows of the population and of the head; and what the head says."""
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
        time.sleep(random.uniform(0.001, 0.05))  # noqa: S311  # no secret: who waits how long


def _commit(path: str, db: Session) -> None:
    """Commit; where that has no answer, find out on another connection what became of it."""
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
        # Who interrupts is told so, and asks the ledger.
        if not isinstance(error, psycopg.Error):
            raise
        return
    if not done:
        raise LedgerError(_UNDONE)


def _written(path: str, newest: Entry | None) -> bool:
    """Whether the entry is in the chain, once nobody is at work who could still add it.

    The row of the head is locked by who commits: who has it after them sees what became of it.
    """
    import psycopg

    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            with _locked(path, "") as (db, _):
                return newest is None or sql.holds(db, newest.seq, newest.hash)
        except psycopg.OperationalError:  # it may be starting again
            time.sleep(0.1)
    raise LedgerError(_UNKNOWN)


# --- what is said -------------------------------------------------------------------------------

_GONE = ("the ledger's server cannot be reached, went away, or does not let this user in; nothing "
         "was written: look at the URL, at the password file and at the server, and try again")
_UNDONE = ("the ledger's server ended the work while it was being written, and nothing was "
           "written; try again")
_UNKNOWN = ("the ledger's server went away while it was being written, and did not come back: "
            "whether this was written is not known; `privsieve ledger show` and `privsieve "
            "recover DIR` tell when it is there again")
_BUSY = "other processes kept the ledger busy for a minute; try again"
#: By the beginning of an error's code.
_SAID: Mapping[str, str] = {
    "": _GONE, "08": _GONE, "57": _GONE, "40": _BUSY, "55": _BUSY, "25P": _GONE,
    "42501": "this user may not do that in the shared ledger; docs/ledger.md says what to "
             "grant to whoever grants, spends or reads",
    "25006": "the ledger's server only reads; name the one that writes",
    "53": "the ledger's server has no room: its disk is full, or it has too many connections",
}


def _text_of(error: Exception) -> str | None:
    from psycopg import Error

    if not isinstance(error, (Error, ValueError)):  # ValueError: damaged text or JSON
        return None
    code = str(getattr(error, "sqlstate", None) or "" if isinstance(error, Error) else "?")
    said = next((_SAID[code[:width]] for width in (5, 3, 2, 0) if code[:width] in _SAID
                 and (width or not code)), None)
    return said or ("the shared ledger cannot be used as it is; check it with `privsieve ledger "
                    "verify`")
