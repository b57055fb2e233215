"""Chain: the entries of a ledger, each bound to the one before by its hash; without a database.

`replay` adds up the entries of a chain, and returns the rows that the ledger's tables should have.
`certificate` ties a release to the entries that paid for it.  Everything in it except the digest of
the release is known before rows are read: the `terms` of a plan.  The reserve entry contains the
terms, and the commit entry the digest, so a changed field of a certificate contradicts a hash.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from privsieve.errors import LedgerError, PrivsieveError
from privsieve.ledger import account as accounts
from privsieve.ledger.account import Account, change_of, facts
from privsieve.public.canonical import (
    DELTA_UNITS,
    RHO_UNITS,
    TOP,
    Json,
    canonical,
    digest,
    link,
    parsed,
    units_of,
)
from privsieve.public.plan import FORMAT

EXPORT = "privsieve-ledger-export/1"
GENESIS = "00" * 32
#: A checkpoint is due after this number of entries, or after the number of populations.
EVERY = 64


@dataclass(frozen=True)
class Entry:
    """An entry of a ledger: `payload` is canonical JSON, `prev` the hash of the entry before.

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
        """Make the entry after another; None begins a chain."""
        seq, prev = (last.seq + 1, last.hash) if last else (1, GENESIS)
        payload = canonical({**body, "kind": kind, "seq": seq})
        return cls(seq, kind, payload.decode(), prev, link(prev, payload))

    @property
    def body(self) -> dict[str, Any]:
        """Return the parsed payload."""
        try:
            body = parsed(self.payload)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise LedgerError(f"entry {self.seq} of the ledger is damaged; "
                              "`privsieve ledger verify` lists what is wrong")
        return body

    @property
    def request(self) -> str:
        """Return the request of a reserve or commit entry; empty for other kinds."""
        return str(self.body.get("request", ""))

    @property
    def place(self) -> dict[str, Json]:
        """Return its place in the chain, as a certificate stores it."""
        return {"seq": self.seq, "prev": self.prev, "hash": self.hash}


@dataclass(frozen=True)
class ChainReport:
    """The result of a recount of the chain; `reasons` is empty if it is valid."""

    entries: int
    head: str
    reasons: tuple[str, ...]

    @property
    def valid(self) -> bool:
        """Return whether chain, balances and requests agree."""
        return not self.reasons


@dataclass(frozen=True)
class Publication:
    """Columns that were published under containment; `snapshot` names the state of the table.

    claim : the claim of their certificate.
    """

    seq: int
    snapshot: str
    columns: tuple[str, ...]
    k: int
    model: str
    claim: Mapping[str, Any]


class Request(NamedTuple):
    """A charge, in the change that its population protects: a row of the ledger's table."""

    population: str
    units: int
    delta_units: int
    state: str
    seq: int
    rho_units: int = TOP
    factor: str = "1"  # how many of its changes make one of the population's; "0" if none do


@dataclasses.dataclass
class Balance:
    """The sum of a chain, in the form of the ledger's tables.

    new : the rows, as table and key, that entries wrote since the last comparison.
    marked : the entry of the newest checkpoint.
    """

    population: dict[str, Account] = field(default_factory=dict)
    request: dict[str, Request] = field(default_factory=dict)
    publication: dict[int, tuple[str, str, str, int, str]] = field(default_factory=dict)
    new: set[tuple[str, str | int]] = field(default_factory=set)
    marked: int = 0

    def due(self, seq: int) -> bool:
        """Return whether a checkpoint follows this entry."""
        return seq - self.marked >= spacing(len(self.population))

    def checkpoint(self) -> dict[str, Json]:
        """Return the content of a checkpoint: all accounts, and a digest of publications."""
        return {"accounts": {name: [value if value is None else str(value) for value in account]
                             for name, account in self.population.items()},
                "publications": digest(canonical(sorted(
                    [key, *row] for key, row in self.publication.items())))}

    def rows(self) -> dict[str, set[tuple[Any, ...]]]:
        """Return the rows of each table."""
        return {table: {(key, *row) for key, row in getattr(self, table).items()}
                for table in ("population", "request", "publication")}

    def touched(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Yield the current rows of `new`, each with its table."""
        for table, key in self.new:
            yield table, (key, *getattr(self, table)[key])


@dataclass(frozen=True)
class Tally:
    """A partly added chain: its balance, which grows, and its last added entry."""

    balance: Balance = field(default_factory=Balance)
    seq: int = 0
    head: str = GENESIS


def spacing(people: int) -> int:
    """Return the number of entries between checkpoints, which store every population.

    >>> spacing(3), spacing(1000)
    (64, 1000)
    """
    return max(EVERY, people)


def resumed(mark: Entry, publications: Mapping[int, tuple[str, str, str, int, str]],
            ) -> Tally | None:
    """Return the sum of a chain that a checkpoint states; None if it is damaged.

    `publications` are the rows before it.  The balance lacks the charges before it.
    """
    with suppress(PrivsieveError, KeyError, TypeError, ValueError, AttributeError, RecursionError):
        body = mark.body
        accounts = {name: Account._make(int(value) if value and value.isdecimal() else value
                                        for value in row) for name, row in body["accounts"].items()}
        balance = Balance(accounts, publication=dict(publications), marked=mark.seq)
        if _sound(mark, body) and _says(mark.seq, body, balance):
            return Tally(balance, mark.seq, mark.hash)
    return None


def _says(seq: int, body: Mapping[str, Any], balance: Balance) -> bool:
    """Return whether a checkpoint states exactly this balance."""
    return body == {**balance.checkpoint(), "kind": "checkpoint", "seq": seq}


def replay(entries: Iterable[Entry], known: Tally | None = None,
           ) -> tuple[Balance, str, tuple[str, ...]]:
    """Add up a chain, or its entries since `known`; return balance, head and faults.

    >>> replay([])[1] == GENESIS
    True
    """
    known = known or Tally()
    balance, seq, prev, reasons = known.balance, known.seq, known.head, list[str]()
    for entry in entries:
        if entry.seq != seq + 1 or entry.prev != prev:
            reasons.append(f"entry {entry.seq} does not follow entry {seq}")
        body: Any = None  # refused by every kind of entry
        with suppress(LedgerError, RecursionError):
            body = entry.body
        if not _sound(entry, body):
            reasons.append(f"entry {entry.seq} does not match its hash")
        try:
            _APPLY[entry.kind](balance, entry.seq, body)
        except (PrivsieveError, KeyError, TypeError, ValueError, RecursionError):
            reasons.append(f"entry {entry.seq} is not possible after the earlier entries")
        seq, prev = entry.seq, entry.hash
    return balance, prev, tuple(reasons)


def exported(entries: Iterable[Entry]) -> str:
    """Write a chain as canonical JSON lines; the first names the format.

    >>> imported(exported([Entry.after(None, "people", {"population": "clinic"})]))[0].kind
    'people'
    """
    lines: list[Json] = [{"format": EXPORT}]
    lines += [{"seq": entry.seq, "kind": entry.kind, "payload": entry.payload, "prev": entry.prev,
               "hash": entry.hash} for entry in entries]
    return "".join(f"{canonical(line).decode()}\n" for line in lines)


def imported(text: str) -> tuple[Entry, ...]:
    """Read the entries of an export; `replay` recounts them."""
    try:
        first, *rest = [parsed(line) for line in text.removesuffix("\n").split("\n")]
        entries = tuple(Entry(**line) for line in rest)
    except (ValueError, TypeError, RecursionError):
        first, entries = None, ()
    if first != {"format": EXPORT} or not all(
            type(seq) is int and all(isinstance(text, str) for text in texts)
            for seq, *texts in map(dataclasses.astuple, entries)):
        raise LedgerError("the export cannot be read; name a file that `privsieve ledger export` "
                          "wrote")
    return entries


def certificate(promised: Mapping[str, Json], release_sha256: str, *noted: Entry | None,
                ) -> dict[str, Json]:
    """Make the unsigned certificate of a release.

    promised : the `terms(plan, software)` of the charge, or a publication's claim, plan and
        software.
    noted : the ledger's entries: charge and completion, or publication; none without a ledger.
    """
    ledger: dict[str, Json] | None = None
    entries = [entry for entry in noted if entry is not None]
    if entries:
        # The charge is in the population's change, which may differ from the claim's.
        known = entries[0].body
        kept = ("request", "reserved_at", "rho", "charged") if "charged" in known else ("snapshot",)
        ledger = {**{name: known[name] for name in kept},
                  **{entry.kind: entry.place for entry in entries}, "head": entries[-1].hash}
    return {"format": FORMAT, **promised, "release_sha256": release_sha256,
            "population": known["population"] if entries else None, "ledger": ledger,
            "key": None, "signature": None}


def _sound(entry: Entry, body: Any) -> bool:
    try:
        payload = canonical(body)
        return (payload == entry.payload.encode() and body["seq"] == entry.seq
                and body["kind"] == entry.kind and link(entry.prev, payload) == entry.hash)
    except (KeyError, TypeError, ValueError, RecursionError):
        return False


def _people(balance: Balance, _seq: int, body: Mapping[str, Any]) -> None:
    if body["population"] in balance.population:
        raise ValueError
    balance.population[body["population"]] = Account("pure")


def _grant(balance: Balance, _seq: int, body: Mapping[str, Any]) -> None:
    name, kind, delta = body["population"], body["account"], _delta(body["delta_limit"])
    known = balance.population.get(name)
    if (known and known.limit > 0) or _amount(body["limit"]) < 1:
        raise ValueError
    if kind != ("approximate" if delta else "pure"):
        raise ValueError
    # The limits of a grant are at most those that follow from epsilon and delta.
    account = accounts.granted(body["limit"], delta)
    rho = _units(body["rho_limit"], RHO_UNITS)
    if rho > account.rho_limit or (rho == 0) != (account.rho_limit == 0):
        raise ValueError
    balance.population[name] = account._replace(rho_limit=rho, **facts(
        body["unit"], body["neighbours"], body["rows_per_person"]))


def _raise(balance: Balance, _seq: int, body: Mapping[str, Any]) -> None:
    """Raise the limits of a population, in the names of two people."""
    name = body["population"]
    known, rho = balance.population[name], _units(body["rho_limit"], RHO_UNITS)
    accounts.signed(body["reason"], body["by"])
    account = accounts.raised(known, _amount(body["limit"]), _delta(body["delta_limit"]))
    # As in a grant, and at least the earlier limits.
    if not known.rho_limit <= rho <= account.rho_limit:
        raise ValueError
    balance.population[name] = account._replace(rho_limit=rho)


def _reserve(balance: Balance, seq: int, body: Mapping[str, Any]) -> None:
    """Charge a population, in its own change."""
    name, request = body["population"], body["request"]
    units, delta = _amount(body["units"]), _delta(body["delta"])
    if request in balance.request or units < 1:
        raise ValueError
    balance.new.add(("request", request))
    rho = None if body["rho"] is None else _units(body["rho"], RHO_UNITS)
    known, factor = accounts.protecting(balance.population[name], change_of(body.get("claim", {})))
    charge = accounts.charge(units, delta, rho, factor)
    now = known.plus(charge)
    if now is None or body["charged"] != accounts.charged(known, charge, factor):
        raise ValueError
    balance.population[name] = now
    balance.request[request] = Request(name, charge.units, charge.delta, "reserved", seq,
                                       charge.rho, str(factor))


def _commit(balance: Balance, _seq: int, body: Mapping[str, Any]) -> None:
    known = balance.request[body["request"]]
    if known.state != "reserved" or known.population != body["population"]:
        raise ValueError
    balance.request[body["request"]] = known._replace(state="committed")
    balance.new.add(("request", body["request"]))


def _publish(balance: Balance, seq: int, body: Mapping[str, Any]) -> None:
    if body["population"] not in balance.population:
        raise ValueError
    balance.publication[seq] = (body["population"], body["snapshot"],
                                canonical(body["columns"]).decode(), _amount(body["k"]),
                                body["model"])
    balance.new.add(("publication", seq))


def _other_people(balance: Balance, _seq: int, body: Mapping[str, Any]) -> None:
    if body["population"] not in balance.population:
        raise ValueError
    if not all(isinstance(body[name], str) and body[name] for name in ("snapshot", "signed")):
        raise TypeError


def _checkpoint(balance: Balance, seq: int, body: Mapping[str, Any]) -> None:
    if not balance.due(seq - 1) or not _says(seq, body, balance):
        raise ValueError
    balance.marked = seq


def _amount(value: object) -> int:
    if type(value) is not int:
        raise TypeError
    return value


def _delta(text: object) -> int:
    """Read a delta, a text in the chain: its units exceed the integers of JSON."""
    return _units(text, DELTA_UNITS)


def _units(text: object, per: int) -> int:
    units = units_of(text, per)
    if units is None:
        raise ValueError
    return units


_APPLY = {"people": _people, "grant": _grant, "raise": _raise, "reserve": _reserve,
          "commit": _commit, "publish": _publish, "other-people": _other_people,
          "checkpoint": _checkpoint}
