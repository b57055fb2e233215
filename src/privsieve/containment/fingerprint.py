"""Fingerprint: by it a ledger knows a table again, and it tells nothing to who lacks the key.

It is made from the multiset of the rows, restricted to the columns of a claim, with the classes and
sensitive values on which the claim rests.  Rows in another order make the same one; a row that was
added, dropped or changed makes another.

The key is a secret in a file of its own beside the ledger, and is kept with it; of a shared ledger
each machine has a copy.  It is not in the ledger: that may be shown to an auditor, and who has key
and ledger can try out guesses about columns that were never published.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.containment.labelled import Codes, Ints, Labelled, cells, rows_of
from privsieve.errors import LedgerError, ParameterError
from privsieve.kernels.patterns import pattern_table
from privsieve.ledger.folder import sync
from privsieve.ledger.ledger import Ledger, populations
from privsieve.ledger.sql import checked_file, served
from privsieve.public.canonical import canonical, text_of
from privsieve.public.plain import opened
from privsieve.rows.matrix import Items

TAG, KEY_TAG = b"privsieve-fingerprint/1\0", b"privsieve-key/1\0"
#: Hexadecimal digits of a fingerprint: first those that tell the key, then those of the table.
OF_KEY, OF_TABLE = 16, 48
#: Bytes of a key.
SIZE = 32

#: The texts that occur in a column, in order, and for each row the position of its own.
Texts = tuple[list[str], Ints]


@dataclass(frozen=True, eq=False, repr=False)
class Seal:
    """What a fingerprint is bound to: a ledger's secret, the people, the state of their table."""

    key: bytes
    population: str
    snapshot: str


def fingerprint(table: Labelled, claim: Mapping[str, Any], seal: Seal) -> str:
    """The fingerprint of a table on what a claim publishes of it or rests on: 64 digits.

    The whole table is read, with rows that do not leave.

    >>> y, seal = np.zeros(3, np.int32), Seal(b"0" * 32, "clinic", "2026")
    >>> one, other = (Labelled(Items.dense(rows, ["a", "b"]), y, (None,))
    ...               for rows in ([[1, 0], [1, 1], [0, 1]], [[0, 1], [1, 1], [1, 1]]))
    >>> claim = {"l_diversity": 1, "target": None, "sensitive": [],
    ...          "limits": {"share": None, "entropy": None, "closeness": None}}
    >>> [fingerprint(one, {**claim, "columns": [name]}, seal)
    ...  == fingerprint(other, {**claim, "columns": [name]}, seal) for name in ("a", "b")]
    [True, False]
    """
    names = sorted(claim["columns"])
    place = {name: at for at, name in enumerate(table.items.names)}
    bits, patterns = _patterns(table.items.take([place[name] for name in names]))
    columns = dict(_columns(table, claim))
    made = hmac.new(seal.key, TAG, sha256)
    made.update(canonical({
        "population": seal.population, "snapshot": seal.snapshot, "rows": table.items.rows,
        "columns": names, "beside": {name: texts for name, (texts, _) in columns.items()},
    }))
    made.update(bits.tobytes())
    sources = table.sources if claim.get("counted") else None
    for piece in _rows(patterns, list(columns.values()), sources):
        made.update(piece)
    return key_digits(seal.key) + made.hexdigest()[:OF_TABLE]


def key_digits(key: bytes) -> str:
    """The digits with which all fingerprints of a key begin; they do not tell the key."""
    return hmac.new(key, KEY_TAG, sha256).hexdigest()[:OF_KEY]


def rests_on(claim: Mapping[str, Any]) -> tuple[bool, tuple[str, ...]]:
    """Whether a claim publishes or counts classes, and the sensitive columns of which it does so.

    >>> rests_on({"l_diversity": 2, "target": None, "roles": {"sensitive": []}})
    (True, ())
    """
    limited = claim["l_diversity"] > 1 or any(
        claim["limits"][name] is not None for name in ("share", "entropy", "closeness"))
    sensitive = claim["roles"]["sensitive"] if limited else claim["sensitive"]
    return limited or claim["target"] is not None, tuple(sorted(sensitive))


def target_of(claim: Mapping[str, Any]) -> str | None:
    """The target of a claim, published or not."""
    found: str | None = claim["roles"]["target"]
    return found


def _patterns(items: Items) -> tuple[npt.NDArray[np.uint8], Ints]:
    """The different rows as bits, in the order of these, and for each row the position of its own.

    They do not depend on how a kernel numbers patterns: a ledger is kept for years.
    """
    pattern = pattern_table(cells(items), np.zeros(items.rows, np.int32), 1).pattern
    bits = np.zeros((int(pattern.max(initial=-1)) + 1, -(-len(items) // 8)), np.uint8)
    for j in range(len(items)):
        bits[pattern[rows_of(items, j)], j // 8] |= 128 >> j % 8
    order = np.lexsort(bits.T[::-1])
    return bits[order], np.argsort(order)[pattern]


def _columns(table: Labelled, claim: Mapping[str, Any]) -> Iterator[tuple[str, Texts]]:
    """The classes and the sensitive columns on which a claim rests."""
    classes, sensitive = rests_on(claim)
    if classes:
        texts = [text_of(one) for one in table.classes]
        yield f"target {table.target}", _coded(texts, table.y)
    for one in sorted(table.sensitive, key=lambda one: one.name):
        if one.name in sensitive:
            yield f"sensitive {one.name}", _coded(one.values, one.codes)


def _coded(texts: Sequence[str], codes: Codes) -> Texts:
    """A column by the texts that occur in it: others may or may not be declared."""
    there = np.flatnonzero(np.bincount(codes, minlength=len(texts)))
    known = sorted({texts[at] for at in there.tolist()})
    place = {text: at for at, text in enumerate(known)}
    new = np.array([place.get(text, -1) for text in texts], np.int64)
    return known, new[codes]


def _rows(patterns: Ints, columns: Sequence[Texts], sources: Codes | None) -> Iterator[bytes]:
    """The different rows with their numbers; of sources, the rows of each."""
    row = patterns
    for texts, codes in columns:
        row = np.unique(row * len(texts) + codes, return_inverse=True)[1].reshape(-1)
    _, first, row, counts = np.unique(row, return_index=True, return_inverse=True,
                                      return_counts=True)
    for values in (patterns[first], *(codes[first] for _, codes in columns), counts):
        yield values.astype("<i8").tobytes()
    if sources is not None:
        order = np.lexsort((row, sources))
        ends = np.flatnonzero(np.diff(sources[order])) + 1
        yield b"sources"
        for piece in sorted(part.astype(">i8").tobytes()
                            for part in np.split(row.reshape(-1)[order], ends)):
            yield len(piece).to_bytes(8, "little") + piece


def seal_of(ledger: Ledger, snapshot: str, key: str | None = None) -> Seal:
    """What fingerprints of a snapshot are made with; makes the key of a ledger that has none.

    key : the file of a shared ledger's key, which has no place beside it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/notes.db", population="clinic")
    ...     ledger.introduce()
    ...     seal_of(ledger, "2026").key == seal_of(ledger, "2027").key
    True
    """
    place = key_file(ledger, key)
    # Of a shared ledger two machines may make the first keys at once, each of its own people.
    told = (ledger,) if key else populations(ledger.path, ledger.head)
    noted = {str(made.claim["fingerprint"]) for one in told for made in one.publications()
             if made.claim.get("fingerprint")}
    if not os.path.lexists(place):
        if noted:
            raise LedgerError(f"the key of the ledger, {place.name}, is not there, and without it "
                              "nobody can tell whether this is the table of which something was "
                              "published; put it back from the copy that was kept with the ledger")
        _make(place)
    secret = _read(place)
    if any(not one.startswith(key_digits(secret)) for one in noted if len(one) > OF_KEY):
        raise LedgerError(f"{place.name} is the key of another ledger; put back the one with which "
                          "this ledger was begun, from the copy that was kept with it")
    return Seal(secret, ledger.population, snapshot)


def key_file(ledger: Ledger, key: str | None) -> Path:
    """Where the key of a ledger lies, or is to be made."""
    if not served(ledger.path):
        if key:
            raise ParameterError("the key of fingerprints lies beside a ledger that is a file; "
                                 "leave --fingerprint-key away")
        return Path(os.path.realpath(ledger.path) + ".key")
    if not key:
        raise ParameterError("a shared ledger has no folder beside it for the key of fingerprints; "
                             "name its file with --fingerprint-key, the same on each machine that "
                             "publishes of these people")
    return Path(checked_file(key)).absolute()


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
        raise LedgerError(f"the key of the ledger, {place.name}, cannot be made; its folder must "
                          "exist and be writable, on a disk of this machine") from None


def _read(place: Path) -> bytes:
    try:
        with opened(place) as file:
            facts = os.fstat(file.fileno())
            if os.name == "posix" and facts.st_mode & 0o077:  # as a restored copy may be
                os.fchmod(file.fileno(), 0o600)
                facts = os.fstat(file.fileno())
            key = file.read(SIZE + 1)
    except OSError:
        raise LedgerError(f"the key of the ledger, {place.name}, cannot be read; it is "
                          "a file of this user, and no link") from None
    if len(key) != SIZE:
        raise LedgerError(f"{place.name} is no key of a ledger: it does not have {SIZE} bytes; put "
                          "it back from the copy that was kept with the ledger")
    if os.name == "posix" and facts.st_mode & 0o077:
        raise LedgerError(f"others can read {place.name}, the key of the ledger, and its disk "
                          "keeps no permissions; move the ledger and its key to one that does")
    return key
