"""Entry: one line of a ledger, bound to the one before; and what is read out of a ledger."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from privsieve.errors import LedgerError, ParameterError
from privsieve.public.canonical import Json, canonical, parsed
from privsieve.public.cost import decimal, exact

GENESIS = "00" * 32
TAG = b"privsieve-ledger/1\0"


@dataclass(frozen=True)
class Entry:
    """One line of a ledger: `payload` is canonical JSON, `prev` the hash of the entry before.

    >>> first = Entry.after(None, "grant", {"population": "clinic", "limit": 10**9})
    >>> Entry.after(first, "publish", {"population": "clinic"}).prev == first.hash
    True
    """

    seq: int
    kind: str
    payload: str
    prev: str
    hash: str

    @classmethod
    def after(cls, last: Entry | None, kind: str, body: Mapping[str, Json]) -> Entry:
        """The entry that follows another; None begins a chain."""
        seq, prev = (last.seq + 1, last.hash) if last else (1, GENESIS)
        payload = canonical({**body, "kind": kind, "seq": seq})
        return cls(seq, kind, payload.decode(), prev, link(prev, payload))

    @property
    def body(self) -> dict[str, Any]:
        """The payload, parsed."""
        try:
            found = parsed(self.payload)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise LedgerError(f"entry {self.seq} of the ledger is damaged; "
                              "`privsieve ledger verify` lists what is wrong")
        return found

    @property
    def request(self) -> str:
        """The request that a reserve or a commit speaks of; empty for the other kinds."""
        return str(self.body.get("request", ""))


@dataclass(frozen=True)
class ChainReport:
    """What a recount of the chain found; `reasons` is empty where all is well."""

    entries: int
    head: str
    reasons: tuple[str, ...]

    @property
    def valid(self) -> bool:
        """Whether chain, balances and requests agree."""
        return not self.reasons


@dataclass(frozen=True)
class Publication:
    """Columns that were published under containment; `snapshot` names the state of the table.

    claim : what their certificate claims; empty where nothing was said.
    """

    seq: int
    snapshot: str
    columns: tuple[str, ...]
    k: int
    model: str
    claim: Mapping[str, Any] = field(default_factory=dict)


def link(prev: str, payload: bytes) -> str:
    """The hash of an entry: SHA-256 over a tag, the hash before it and the payload.

    >>> link(GENESIS, b"{}")[:8]
    '6b3d8bb8'
    """
    return hashlib.sha256(TAG + bytes.fromhex(prev) + payload).hexdigest()


def units_of(text: object, per: int) -> int | None:
    """The integer units of a decimal text, if it is the one text for them.

    >>> units_of("0.5", 10**9), units_of("0.50", 10**9)
    (500000000, None)
    """
    try:
        units = exact(text, "an amount") * per
    except ParameterError:
        return None
    return int(units) if units.denominator == 1 and decimal(int(units), per) == text else None
