"""File: a ledger in SQLite, with one transaction per change, each over its own connection.

A ledger's file has one name, on a disk of one machine.  SQLite undoes half-written changes with the
journal file beside it.  A process first counts the ledger from a checkpoint, which detects a lost
journal, and does not write to a ledger that does not add up.
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
from privsieve.folder import hidden_file, sync
from privsieve.ledger.sql import (
    APPLICATION,
    FORMAT,
    STATEMENTS,
    count,
    mark,
    recounted,
    spoken,
)

#: The seconds to wait for another process, and for one that is making the ledger.
PATIENCE, MAKING = 60.0, 1.0
HOW = "`privsieve ledger grant --ledger FILE --population NAME --epsilon E`"
#: The list of mounts of Linux; other systems lack the file.
MOUNTS = "/proc/self/mountinfo"
#: File systems that several machines can share: a lock of one may not reach the others.  Versions,
#: as in nfs4, are removed.
_SHARED = {
    "nfs", "cifs", "smb", "smbfs", "9p", "virtiofs", "afs", "ceph", "lustre", "gfs", "ocfs", "gpfs",
    "glusterfs", "beegfs", "orangefs", "vboxsf", "prl_fs", "vmhgfs", "fakeowner", "davfs",
    "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse",
    "fuse.blobfuse", "fuse.grpcfuse", "fuse.osxfs", "fuse.vmhgfs-fuse", "fuse.cephfs", "fuse.davfs",
    "fuse.mergerfs", "fuse.goofys", "fuse.juicefs"}
#: What to do if entries and tables contradict each other.
_APART = ("; if a program was killed, put its -journal file back next to the ledger; otherwise "
          "restore the newest copy")


def create(path: str) -> None:
    """Make an empty ledger completely or not at all; leave an existing one."""
    if os.path.lexists(path):
        return
    _demand_own_disk(os.path.realpath(path), mounted(_mounts()))
    try:
        with suppress(FileExistsError), spoken(_text_of), _new(path) as db:
            for statement in ("BEGIN", *STATEMENTS, f"PRAGMA application_id={APPLICATION}",
                              f"PRAGMA user_version={FORMAT}", "COMMIT"):
                db.execute(statement)
    except OSError:
        raise LedgerError("the ledger cannot be made at this path; choose a folder that exists, "
                          "is writable, and is on a disk of this machine") from None


def _demand_nothing_left(path: str) -> None:
    """Refuse a new file where SQLite would use the journal of a deleted one."""
    for left in ("-wal", "-journal"):
        # Check again: another process may have made the ledger, and be writing.
        if os.path.lexists(path + left) and not os.path.lexists(path):
            raise LedgerError(f"a {left} file of a deleted ledger is at this path; move it away, "
                              "or restore its ledger")


@contextmanager
def transaction(path: str, population: str = "",  # noqa: ARG001  # a file is locked whole
                ) -> Iterator[sqlite3.Connection]:
    """Open a locked transaction: durable when the block ends, undone when it raises.

    A ledger that does not add up is refused.  The first transaction of a process counts the chain
    from a checkpoint, or from the beginning, and each later one counts the new entries.
    """
    with spoken(_text_of), closing(_open(place := _placed(path, own=True))) as db:
        db.execute("BEGIN IMMEDIATE")
        _demand_format(db)
        mark(db, count(db, place, _APART))
        yield db
        db.execute("COMMIT")


@contextmanager
def reading(path: str) -> Iterator[sqlite3.Connection]:
    """Open one consistent view; it needs no permission to write."""
    with spoken(_text_of), closing(_open(_placed(path))) as db:
        db.execute("BEGIN")
        _demand_format(db)
        yield db


def backup(path: str, copy: str) -> int:
    """Copy a ledger consistently (0600), recount the copy, and return its number of entries.

    A ledger that does not add up leaves no copy.
    """
    if os.path.lexists(copy):
        raise LedgerError("the copy already exists and is not overwritten; name a new file")
    try:
        with spoken(_text_of), _new(copy) as target, closing(_open(_placed(path))) as db:
            _demand_format(db)
            try:
                db.backup(target)
            except sqlite3.OperationalError as error:
                if _code(error) != sqlite3.SQLITE_FULL:
                    raise
                raise LedgerError("the disk of the copy is full, and no copy was kept; free "
                                  "some space, or name a file on another disk") from None
            report = recounted(target)[0]
            if not report.valid:
                raise LedgerError(f"the copy does not add up, and was not kept: {report.reasons[0]}"
                                  "; `privsieve ledger verify` lists what is wrong")
    except OSError:
        raise LedgerError("the copy cannot be made at this path; name a new file in a folder that "
                          "exists and is writable") from None
    return report.entries


# --- opening ------------------------------------------------------------------------------------

@contextmanager
def _new(path: str) -> Iterator[sqlite3.Connection]:
    """Make a new private database, which gets its name when the block ends."""
    _demand_nothing_left(path)
    # Linked into its place when complete: others never open half a ledger.
    try:
        with hidden_file(path) as (file, hidden):
            file.close()  # a later close would release SQLite's locks
            with closing(_connect(str(hidden))) as db:
                db.execute("PRAGMA synchronous=EXTRA")
                yield db
            os.link(hidden, path)
    finally:
        sync(Path(path).absolute().parent)


def _connect(path: str, mode: str = "mode=rw") -> sqlite3.Connection:
    # One thread at a time uses it, not always the one that opened it.
    # mode=rw does not create: a missing ledger is an error, not a fresh budget.
    name = quote(os.fsencode(os.path.abspath(path)))  # noqa: PTH100  # as for `_stat`
    return sqlite3.connect(f"file:{name}?{mode}", uri=True, isolation_level=None,
                           timeout=PATIENCE, check_same_thread=False)


def _open(path: str, mode: str = "mode=rw") -> sqlite3.Connection:
    """Open a durable connection; `_demand_format` then checks the file."""
    db = _connect(path, mode)
    try:
        # EXTRA: the journal's name is removed from the disk before a charge is acknowledged.
        # fullfsync: on macOS a plain fsync stays in the drive's cache; elsewhere it has no effect.
        for pragma in ("synchronous=EXTRA", "fullfsync=ON", "foreign_keys=ON",
                       "trusted_schema=OFF"):
            db.execute(f"PRAGMA {pragma}")
    except BaseException:
        db.close()
        raise
    return db


def _placed(path: str, *, own: bool = False) -> str:
    """Return the real path of a ledger's file; refuse a second name, or a foreign log.

    own : whether its disk must belong to this machine alone.
    """
    if not os.path.lexists(path):
        raise LedgerError(f"there is no ledger at this path; {HOW} makes one")
    place = os.path.realpath(path)
    status = _stat(place)
    if status is None or not stat.S_ISREG(status.st_mode):
        raise LedgerError("the ledger is not a file; name a file, for example budget.db")
    if status.st_nlink > 1:
        _demand_one_name(place)
    points = mounted(_mounts())
    if place in points:
        raise LedgerError("the ledger is mounted as a single file, so its journal would be in "
                          "another folder; mount its folder instead")
    if own:
        _demand_own_disk(place, points)
    if _left(place, "-wal"):
        with closing(_connect(place, "mode=ro&immutable=1")) as db:
            _demand_format(db)
        # SQLite would apply it, and undo later charges.
        raise LedgerError("the -wal file next to the ledger does not belong to it, and would "
                          "restore an earlier state; move this file away")
    return place


def _demand_one_name(place: str) -> None:
    """Refuse a second name; wait for a process that is making the ledger to remove its own."""
    until = time.monotonic() + MAKING
    while (status := _stat(place)) is not None and status.st_nlink > 1:
        if time.monotonic() > until:
            raise LedgerError("the ledger has a second name (a hard link), which would prevent "
                              "recovery after a crash; remove one of the names")
        time.sleep(0.01)


def _left(place: str, ending: str) -> bool:
    """Return whether there is a file with this ending that is not empty."""
    status = _stat(place + ending)
    return status is not None and status.st_size > 0


def _stat(place: str) -> os.stat_result | None:
    with suppress(OSError):
        return os.stat(place)  # noqa: PTH116  # at each charge: faster than a Path
    return None


def _mounts() -> str:
    with suppress(OSError), open(MOUNTS, "rb", buffering=0) as file:  # noqa: PTH123  # as above
        return os.fsdecode(file.read())
    return ""


@lru_cache(maxsize=1)  # needed at each charge, and seldom new
def mounted(mounts: str) -> dict[str, str]:
    r"""Return each mount point with its file system; the last one counts.

    >>> mounted(r"36 35 0:9 / /mnt/my\040disk rw shared:1 - nfs4 server:/x rw")
    {'/mnt/my disk': 'nfs4'}
    """
    points = {}
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        if len(fields := before.split(" ")) > 4 and after:
            place = re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), fields[4])
            points[place] = after.split(" ")[0]
    return points


def _demand_own_disk(place: str, points: Mapping[str, str]) -> None:
    folder = place
    while folder not in points and folder != (above := os.path.dirname(folder)):  # noqa: PTH120
        folder = above
    kind = points.get(folder, "")
    if kind.rstrip("0123456789") in _SHARED:
        raise LedgerError(f"the ledger is on a disk that other machines can share ({kind}), where "
                          "locks are not reliable; keep it on a disk of this machine")


def _demand_format(db: sqlite3.Connection) -> None:
    """Refuse a file that is not a ledger, or has another format."""
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise LedgerError("the file is not a privsieve ledger; name another file, or a new one")
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version < FORMAT:
        raise LedgerError("this ledger was made by version 0.1.0, which was never released; make a "
                          f"new ledger in another file, with {HOW}")
    if version > FORMAT:
        raise LedgerError(f"the ledger has format {version}, but this privsieve reads {FORMAT}; "
                          "install a newer privsieve")
    if db.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
        raise LedgerError("another program gave the ledger a write-ahead log, which is not "
                          "supported; run sqlite3 FILE 'PRAGMA journal_mode=DELETE' and try again")


# --- errors -------------------------------------------------------------------------------------

_TEXTS = {
    sqlite3.SQLITE_BUSY: "other processes kept the ledger busy for a minute; try again",
    sqlite3.SQLITE_NOTADB: "the file is not a privsieve ledger; name another file, or a new one",
    sqlite3.SQLITE_CORRUPT: "the ledger is damaged; restore it from its newest copy, and check "
                            "the copy with `privsieve ledger verify`",
    sqlite3.SQLITE_READONLY: "the ledger cannot be written; give this user write access to the "
                             "file and its folder",
    sqlite3.SQLITE_CANTOPEN: "the ledger cannot be opened; give this user write access to the "
                             "file and its folder",
    sqlite3.SQLITE_FULL: "the disk of the ledger is full; free some space and try again",
    sqlite3.SQLITE_IOERR: "the disk of the ledger fails, or is full; check it and try again",
}
_INTERRUPTED = ("a program was interrupted while it wrote the ledger, and only a user with write "
                "access can undo this; let such a user run `privsieve ledger show`")


def _code(error: BaseException) -> int:
    """Return the primary code of an error of the database."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


def _text_of(error: Exception) -> str | None:
    if not isinstance(error, sqlite3.Error | ValueError):  # ValueError: damaged text or JSON
        return None
    if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_READONLY_ROLLBACK:
        return _INTERRUPTED
    return _TEXTS.get(_code(error), "the ledger cannot be used; check it with `privsieve ledger "
                                    "verify`")
