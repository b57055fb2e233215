"""The ledger's file: SQLite, one transaction per change, over a connection of its own.

A file has one name, on a disk of one machine.  What is half written is undone by the journal that
lies beside it under that name; who finds the file without its journal counts it from a checkpoint,
and writes nothing into one that does not add up.  What is wrong is said in a sentence.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from privsieve.errors import LedgerError
from privsieve.folder import sync
from privsieve.ledger.sql import (
    APPLICATION,
    FORMAT,
    STATEMENTS,
    count,
    mark,
    recounted,
    spoken,
)

#: How long to wait for another process, in seconds.
PATIENCE = 60.0
#: And for one that is making the ledger, whose file has two names for a moment.
MAKING = 1.0
HOW = "`privsieve ledger grant --ledger FILE --population NAME --epsilon E`"
#: Where Linux says what is mounted; elsewhere there is no such file.
MOUNTS = "/proc/self/mountinfo"
#: File systems that several machines may have open at once: a lock of one may not reach another.
#: The digits of a version, as in nfs4, are left away.
_SHARED = {
    "nfs", "cifs", "smb", "smbfs", "9p", "virtiofs", "afs", "ceph", "lustre", "gfs", "ocfs", "gpfs",
    "glusterfs", "beegfs", "orangefs", "vboxsf", "prl_fs", "vmhgfs", "fakeowner", "davfs",
    "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse",
    "fuse.blobfuse", "fuse.grpcfuse", "fuse.osxfs", "fuse.vmhgfs-fuse", "fuse.cephfs", "fuse.davfs",
    "fuse.mergerfs", "fuse.goofys", "fuse.juicefs"}
#: What to do where the entries and the tables tell different things.
_APART = ("; if a program was killed, put the -journal file that it left back beside the ledger, "
          "else restore the newest copy")


def create(path: str) -> None:
    """Make an empty ledger, whole or not at all; leave one that exists."""
    if os.path.lexists(path):
        return
    _demand_own_disk(os.path.realpath(path), mounted(_mounts()))
    try:
        with suppress(FileExistsError), spoken(_text_of), _new(path) as db:
            for statement in ("BEGIN", *STATEMENTS, f"PRAGMA application_id={APPLICATION}",
                              f"PRAGMA user_version={FORMAT}", "COMMIT"):
                db.execute(statement)
    except OSError:
        raise LedgerError("the ledger cannot be made there; its folder must exist and be "
                          "writable, on a disk of this machine") from None


def _demand_nothing_left(path: str) -> None:
    """Refuse a place of a new file where SQLite would take what an older one left for its own."""
    for left in ("-wal", "-journal"):
        # Looked at again: somebody else may have made the ledger, and be writing.
        if os.path.lexists(path + left) and not os.path.lexists(path):
            raise LedgerError(f"a {left} file of a deleted ledger lies where the ledger should be "
                              "made; move it away, or restore the ledger that it belongs to")


@contextmanager
def transaction(path: str, population: str = "",  # noqa: ARG001  # a file is locked whole
                ) -> Iterator[sqlite3.Connection]:
    """One locked transaction: durable when the block ends, undone when it raises.

    What does not add up is not written: the first transaction of a process counts from a checkpoint
    of the chain, where there is none from the beginning, and each later one what came since.
    """
    with spoken(_text_of), closing(_open(place := _placed(path, own=True))) as db:
        db.execute("BEGIN IMMEDIATE")
        _demand_format(db)
        mark(db, count(db, place, _APART))
        yield db
        db.execute("COMMIT")


@contextmanager
def reading(path: str) -> Iterator[sqlite3.Connection]:
    """One consistent view; who may not write can read, too."""
    with spoken(_text_of), closing(_open(_placed(path))) as db:
        db.execute("BEGIN")
        _demand_format(db)
        yield db


def backup(path: str, copy: str) -> int:
    """A consistent copy of a ledger (0600), recounted; how many entries it has.

    Nothing is overwritten; what does not add up leaves no copy.
    """
    if os.path.lexists(copy):
        raise LedgerError("the copy exists; nothing is overwritten: name a file that does not "
                          "exist")
    try:
        with spoken(_text_of), _new(copy) as made, closing(_open(_placed(path))) as db:
            _demand_format(db)
            try:
                db.backup(made)
            except sqlite3.OperationalError as error:
                if _code(error) != sqlite3.SQLITE_FULL:
                    raise
                raise LedgerError("the disk of the copy is full, and no copy was kept; make "
                                  "room, or name a file on another disk") from None
            report = recounted(made)[0]
            if not report.valid:
                raise LedgerError(f"the copy does not add up, and was not kept: {report.reasons[0]}"
                                  "; `privsieve ledger verify` lists what is wrong")
    except OSError:
        raise LedgerError("the copy cannot be made there; its folder must exist and be writable, "
                          "and nothing may lie at its place") from None
    return report.entries


# --- opening ------------------------------------------------------------------------------------

@contextmanager
def _new(path: str) -> Iterator[sqlite3.Connection]:
    """A new private database, which has its name when the block ends, whole or not at all."""
    _demand_nothing_left(path)
    # Built beside its place and linked into it: nobody ever opens half a ledger, and no file
    # descriptor of ours closes on a database that another thread has locked.
    draft = f"{path}.{os.urandom(8).hex()}"
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        with closing(_connect(draft)) as db:
            db.execute("PRAGMA synchronous=EXTRA")
            yield db
        os.link(draft, path)
    finally:
        Path(draft).unlink(missing_ok=True)
        sync(Path(path).absolute().parent)


def _connect(path: str, more: str = "mode=rw") -> sqlite3.Connection:
    # One thread at a time uses it, and not always the one that opened it.
    # mode=rw never creates: a ledger that vanishes is an error, not a fresh budget.
    name = quote(os.fsencode(os.path.abspath(path)))  # noqa: PTH100  # as for `_stat`
    return sqlite3.connect(f"file:{name}?{more}", uri=True, isolation_level=None,
                           timeout=PATIENCE, check_same_thread=False)


def _open(path: str, more: str = "mode=rw") -> sqlite3.Connection:
    """A connection that keeps what it writes; `_demand_format` says whether this is a ledger."""
    db = _connect(path, more)
    try:
        # EXTRA: the name of the journal is gone from the disk before a charge is acknowledged.
        # macOS keeps a plain fsync in the drive's cache; elsewhere fullfsync says nothing.
        for pragma in ("synchronous=EXTRA", "fullfsync=ON", "foreign_keys=ON",
                       "trusted_schema=OFF"):
            db.execute(f"PRAGMA {pragma}")
    except BaseException:
        db.close()
        raise
    return db


def _placed(path: str, *, own: bool = False) -> str:
    """The one name of a ledger's file; refused where it has another one, or a stranger's log.

    own : whether its disk has to be this machine's alone.
    """
    if not os.path.lexists(path):
        raise LedgerError(f"there is no ledger at this place; {HOW} makes one")
    place = os.path.realpath(path)
    found = _stat(place)
    if found is None or not stat.S_ISREG(found.st_mode):
        raise LedgerError("the ledger is not a file; name a file, for example budget.db")
    if found.st_nlink > 1:
        _demand_one_name(place)
    points = mounted(_mounts())
    if place in points:
        raise LedgerError("the ledger is mounted as a file of its own, and its journal would lie "
                          "elsewhere under its other name; mount its folder instead")
    if own:
        _demand_own_disk(place, points)
    if _left(place, "-wal"):
        with closing(_connect(place, "mode=ro&immutable=1")) as db:
            _demand_format(db)
        # SQLite would apply it, whatever it is, and take back what was charged since.
        raise LedgerError("a -wal file lies beside the ledger and does not belong to it: an "
                          "earlier state would come back; move that file away")
    return place


def _demand_one_name(place: str) -> None:
    """Refuse a second name; who is making the ledger takes away that of its draft in a moment."""
    until = time.monotonic() + MAKING
    while (found := _stat(place)) is not None and found.st_nlink > 1:
        if time.monotonic() > until:
            raise LedgerError("the ledger has a second name (a hard link), and a crash under the "
                              "one could not be undone under the other; remove one of the names")
        time.sleep(0.01)


def _left(place: str, ending: str) -> bool:
    """Whether a file with something in it lies beside."""
    found = _stat(place + ending)
    return found is not None and found.st_size > 0


def _stat(place: str) -> os.stat_result | None:
    with suppress(OSError):
        return os.stat(place)  # noqa: PTH116  # for each charge: a Path takes longer to make
    return None


def _mounts() -> str:
    with suppress(OSError), open(MOUNTS, "rb", buffering=0) as file:  # noqa: PTH123  # as above
        return os.fsdecode(file.read())
    return ""


@lru_cache(maxsize=1)  # for each charge, and it seldom changes
def mounted(mounts: str) -> dict[str, str]:
    r"""Each place where something is mounted, and its file system; the last one counts.

    >>> mounted(r"36 35 0:9 / /mnt/my\040disk rw shared:1 - nfs4 server:/x rw")
    {'/mnt/my disk': 'nfs4'}
    """
    found = {}
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        if len(fields := before.split(" ")) > 4 and after:
            place = re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), fields[4])
            found[place] = after.split(" ")[0]
    return found


def _demand_own_disk(place: str, points: Mapping[str, str]) -> None:
    part = place
    while part not in points and part != (above := os.path.dirname(part)):  # noqa: PTH120
        part = above
    kind = points.get(part, "")
    if kind.rstrip("0123456789") in _SHARED:
        raise LedgerError(f"the ledger lies on a disk that other machines may have open ({kind}), "
                          "where a lock cannot be relied on; keep it on a disk of this machine")


def _demand_format(db: sqlite3.Connection) -> None:
    """Refuse a file that is no ledger, or is one of another format."""
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise LedgerError("the file is not a privsieve ledger; name another file, or a new one")
    found = db.execute("PRAGMA user_version").fetchone()[0]
    if found < FORMAT:
        raise LedgerError("this ledger was made by version 0.1.0, or a draft after it, which was "
                          f"never released; make a new one, in another file, with {HOW}")
    if found > FORMAT:
        raise LedgerError(f"the ledger has format {found} and this privsieve reads {FORMAT}; "
                          "install the newer privsieve that wrote it")
    if db.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
        raise LedgerError("another program gave the ledger a write-ahead log, with which it cannot "
                          "be kept; run sqlite3 FILE 'PRAGMA journal_mode=DELETE' and try again")


# --- what is said -------------------------------------------------------------------------------

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
    sqlite3.SQLITE_IOERR: "the disk of the ledger fails, or is full; make room and try again",
}
_INTERRUPTED = ("a program was interrupted while it wrote the ledger, and this user cannot undo "
                "that; let somebody who may write it run `privsieve ledger show`")


def _code(error: BaseException) -> int:
    """The primary code of an error of the database; the rest only refines it."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


def _text_of(error: Exception) -> str | None:
    if not isinstance(error, sqlite3.Error | ValueError):  # ValueError: damaged text or JSON
        return None
    if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_READONLY_ROLLBACK:
        return _INTERRUPTED
    return _SAID.get(_code(error), "the ledger cannot be used as it is; check it with `privsieve "
                                   "ledger verify`")
