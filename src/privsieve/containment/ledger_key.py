"""The key of a ledger: a secret in a file of its own, with which tables are known again.

It is not in the ledger: that may be shown to an auditor, and who has key and ledger can try out
guesses about columns that were never published.  It lies beside the ledger and is kept with it.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from privsieve.containment.fingerprint import OF_KEY, Seal, key_digits
from privsieve.errors import LedgerError
from privsieve.ledger.folder import sync
from privsieve.ledger.ledger import Ledger, populations

#: Bytes of a key.
SIZE = 32


def seal_of(ledger: Ledger, snapshot: str) -> Seal:
    """What fingerprints of a snapshot are made with; makes the key of a ledger that has none.

    >>> import tempfile
    >>> from privsieve.ledger.ledger import Ledger
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/notes.db", population="clinic")
    ...     ledger.introduce()
    ...     seal_of(ledger, "2026").key == seal_of(ledger, "2027").key
    True
    """
    place = Path(os.path.realpath(ledger.path) + ".key")
    noted = {str(made.claim["fingerprint"]) for one in populations(ledger.path)
             for made in one.publications() if made.claim.get("fingerprint")}
    if not os.path.lexists(place):
        if noted:
            raise LedgerError(f"the key of the ledger, {place.name} beside it, is gone, and "
                              "without it nobody can tell whether this is the table of which "
                              "something was published; put it back from the copy that was kept "
                              "with the ledger")
        _make(place)
    key = _read(place)
    if any(not one.startswith(key_digits(key)) for one in noted if len(one) > OF_KEY):
        raise LedgerError(f"{place.name} is the key of another ledger; put back the one that lay "
                          "beside this ledger, from the copy that was kept with it")
    return Seal(key, ledger.population, snapshot)


def _make(place: Path) -> None:
    """A new key, whole or not at all; one that another process made meanwhile stays."""
    draft = place.with_name(f".{os.urandom(8).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        with os.fdopen(os.open(draft, flags, 0o600), "wb") as file:
            try:
                file.write(os.urandom(SIZE))
                file.flush()
                os.fsync(file.fileno())
                with suppress(FileExistsError):
                    os.link(draft, place)
            finally:
                draft.unlink()
        sync(place.parent)
    except OSError:
        raise LedgerError("the key of the ledger cannot be made beside it; the ledger's folder "
                          "must be writable, on a disk of this machine") from None


def _read(place: Path) -> bytes:
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        with os.fdopen(os.open(place, flags), "rb") as file:
            facts = os.fstat(file.fileno())
            if os.name == "posix" and facts.st_mode & 0o077:  # as a restored copy may be
                os.fchmod(file.fileno(), 0o600)
                facts = os.fstat(file.fileno())
            key = file.read(SIZE + 1) if stat.S_ISREG(facts.st_mode) else b""
    except OSError:
        raise LedgerError(f"the key of the ledger, {place.name} beside it, cannot be read; it is "
                          "a file of this user, and no link") from None
    if len(key) != SIZE:
        raise LedgerError(f"{place.name} is no key of a ledger: it does not have {SIZE} bytes; put "
                          "it back from the copy that was kept with the ledger")
    if os.name == "posix" and facts.st_mode & 0o077:
        raise LedgerError(f"others can read {place.name}, the key of the ledger, and its disk "
                          "keeps no permissions; move the ledger and its key to one that does")
    return key
