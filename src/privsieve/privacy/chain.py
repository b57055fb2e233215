"""Chain: what a ledger writes, each entry bound to the one before.  Arithmetic, no database.

An entry's hash covers the hash before it and the canonical payload.  `replay` adds up a chain from
its entries alone, into the very rows that the ledger's tables should hold.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from privsieve.core.canonical import canonical, parsed
from privsieve.core.cost import DELTA_UNITS, decimal, exact
from privsieve.errors import LedgerError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from privsieve.core.canonical import Json

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


class Account(NamedTuple):
    """What a population was granted and has spent, in units of 1e-9 and, of delta, of 1e-18."""

    account: str  # "pure", or "approximate" where a delta was granted
    limit: int = 0
    spent: int = 0
    delta_limit: int = 0
    delta_spent: int = 0


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


@dataclass
class Balance:
    """What a chain adds up to, shaped as the ledger's tables."""

    population: dict[str, Account] = field(default_factory=dict)
    request: dict[str, tuple[str, int, int, str, int]] = field(default_factory=dict)
    publication: dict[int, tuple[str, str, str, int, str]] = field(default_factory=dict)

    def rows(self) -> dict[str, set[tuple[Any, ...]]]:
        """Each table's rows."""
        return {
            "population": {(key, *row) for key, row in self.population.items()},
            "request": {(key, *row) for key, row in self.request.items()},
            "publication": {(key, *row) for key, row in self.publication.items()},
        }


def replay(entries: Iterable[Entry]) -> tuple[Balance, str, tuple[str, ...]]:
    """Add up a chain: its balance, its head, and what is wrong with it.

    >>> replay([])[1] == GENESIS
    True
    """
    balance, seq, prev, reasons = Balance(), 0, GENESIS, []
    for entry in entries:
        if entry.seq != seq + 1 or entry.prev != prev:
            reasons.append(f"entry {entry.seq} does not follow entry {seq}")
        if not _sound(entry):
            reasons.append(f"entry {entry.seq} does not match its hash")
        try:
            _APPLY[entry.kind](balance, entry.seq, entry.body)
        except (LedgerError, KeyError, TypeError, ValueError, RecursionError):
            reasons.append(f"entry {entry.seq} is not possible after those before it")
        seq, prev = entry.seq, entry.hash
    return balance, prev, tuple(reasons)


def _sound(entry: Entry) -> bool:
    try:
        body = entry.body
        payload = canonical(body)
        return (
            payload == entry.payload.encode()
            and body["seq"] == entry.seq
            and body["kind"] == entry.kind
            and link(entry.prev, payload) == entry.hash
        )
    except (LedgerError, KeyError, TypeError, ValueError, RecursionError):
        return False


def _people(balance: Balance, _seq: int, body: Mapping[str, Any]) -> None:
    if body["population"] in balance.population:
        raise ValueError
    balance.population[body["population"]] = Account("pure")


def _grant(balance: Balance, _seq: int, body: Mapping[str, Any]) -> None:
    name, account, delta = body["population"], body["account"], _delta(body["delta_limit"])
    known = balance.population.get(name)
    if (known and known.limit > 0) or _amount(body["limit"]) < 1:
        raise ValueError
    if account != ("approximate" if delta else "pure"):
        raise ValueError
    balance.population[name] = Account(account, body["limit"], 0, delta, 0)


def _reserve(balance: Balance, seq: int, body: Mapping[str, Any]) -> None:
    name, request = body["population"], body["request"]
    units, delta = _amount(body["units"]), _delta(body["delta"])
    known = balance.population[name]
    if request in balance.request or units < 1:
        raise ValueError
    now = known._replace(spent=known.spent + units, delta_spent=known.delta_spent + delta)
    balance.population[name] = now
    balance.request[request] = (name, units, delta, "reserved", seq)
    if now.spent > now.limit or now.delta_spent > now.delta_limit:
        raise ValueError


def _commit(balance: Balance, _seq: int, body: Mapping[str, Any]) -> None:
    name, units, delta, state, seq = balance.request[body["request"]]
    if state != "reserved" or name != body["population"]:
        raise ValueError
    balance.request[body["request"]] = (name, units, delta, "committed", seq)


def _publish(balance: Balance, seq: int, body: Mapping[str, Any]) -> None:
    if body["population"] not in balance.population:
        raise ValueError
    columns = canonical(body["columns"]).decode()
    balance.publication[seq] = (
        body["population"], body["snapshot"], columns, _amount(body["k"]), body["model"],
    )


def _other_people(balance: Balance, _seq: int, body: Mapping[str, Any]) -> None:
    if body["population"] not in balance.population:
        raise ValueError
    if not all(isinstance(body[name], str) and body[name] for name in ("snapshot", "signed")):
        raise TypeError


def _amount(value: object) -> int:
    if type(value) is not int:
        raise TypeError
    return value


def _delta(text: object) -> int:
    """A delta is a text in the chain: its units pass the integers that JSON keeps."""
    found = units_of(text, DELTA_UNITS)
    if found is None:
        raise ValueError
    return found


_APPLY = {"people": _people, "grant": _grant, "reserve": _reserve, "commit": _commit,
          "publish": _publish, "other-people": _other_people}
