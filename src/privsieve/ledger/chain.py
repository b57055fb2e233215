"""Chain: what a ledger writes, each entry bound to the one before.  Arithmetic, no database.

`replay` adds up a chain from its entries alone, into the very rows that the ledger's tables should
hold.  `certificate` ties a release to the entries that paid for it.  All that it says but the
digest of the release is known before a row is read: these are the `terms` of a plan.  They stand
in the reserve entry, and the digest in the commit entry, so that no field of a certificate can
change without a hash in it ceasing to fit.
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
#: A checkpoint is due after so many entries, or as many as there are populations.
EVERY = 64


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

    @property
    def place(self) -> dict[str, Json]:
        """Where it stands in the chain, as a certificate says it."""
        return {"seq": self.seq, "prev": self.prev, "hash": self.hash}


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

    claim : what their certificate claims.
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
    factor: str = "1"  # how many of its own changes make the population's; "0" where none do


@dataclasses.dataclass
class Balance:
    """What a chain adds up to, shaped as the ledger's tables.

    new : the rows that entries wrote since somebody looked: a table and a key.
    marked : the entry of the newest checkpoint.
    """

    population: dict[str, Account] = field(default_factory=dict)
    request: dict[str, Request] = field(default_factory=dict)
    publication: dict[int, tuple[str, str, str, int, str]] = field(default_factory=dict)
    new: set[tuple[str, str | int]] = field(default_factory=set)
    marked: int = 0

    def due(self, seq: int) -> bool:
        """Whether a checkpoint follows this entry."""
        return seq - self.marked >= spacing(len(self.population))

    def checkpoint(self) -> dict[str, Json]:
        """What a checkpoint says: all accounts, and what the publications come to."""
        return {"accounts": {name: [value if value is None else str(value) for value in account]
                             for name, account in self.population.items()},
                "publications": digest(canonical(sorted(
                    [key, *row] for key, row in self.publication.items())))}

    def rows(self) -> dict[str, set[tuple[Any, ...]]]:
        """Each table's rows."""
        return {table: {(key, *row) for key, row in getattr(self, table).items()}
                for table in ("population", "request", "publication")}

    def touched(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """The rows of `new` as they are now, each with its table."""
        for table, key in self.new:
            yield table, (key, *getattr(self, table)[key])


@dataclass(frozen=True)
class Tally:
    """How far a chain was added up: its balance, which grows with it, and its last entry."""

    balance: Balance = field(default_factory=Balance)
    seq: int = 0
    head: str = GENESIS


def spacing(people: int) -> int:
    """After how many entries a checkpoint is due: what it says of each population takes room.

    >>> spacing(3), spacing(1000)
    (64, 1000)
    """
    return max(EVERY, people)


def resumed(mark: Entry, publications: Mapping[int, tuple[str, str, str, int, str]],
            ) -> Tally | None:
    """What a chain comes to at a checkpoint, by its own words; None where it is damaged.

    `publications` are the rows that stand before it.  Charges before it are not there.
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
    """Whether a checkpoint says just what a balance comes to."""
    return body == {**balance.checkpoint(), "kind": "checkpoint", "seq": seq}


def replay(entries: Iterable[Entry], known: Tally | None = None,
           ) -> tuple[Balance, str, tuple[str, ...]]:
    """Add up a chain, or what came since: its balance, its head, and what is wrong with it.

    >>> replay([])[1] == GENESIS
    True
    """
    known = known or Tally()
    balance, seq, prev, reasons = known.balance, known.seq, known.head, list[str]()
    for entry in entries:
        if entry.seq != seq + 1 or entry.prev != prev:
            reasons.append(f"entry {entry.seq} does not follow entry {seq}")
        body: Any = None  # what no kind of entry can be
        with suppress(LedgerError, RecursionError):
            body = entry.body
        if not _sound(entry, body):
            reasons.append(f"entry {entry.seq} does not match its hash")
        try:
            _APPLY[entry.kind](balance, entry.seq, body)
        except (PrivsieveError, KeyError, TypeError, ValueError, RecursionError):
            reasons.append(f"entry {entry.seq} is not possible after those before it")
        seq, prev = entry.seq, entry.hash
    return balance, prev, tuple(reasons)


def exported(entries: Iterable[Entry]) -> str:
    """A chain as canonical JSON lines, the first of which says what they are.

    >>> imported(exported([Entry.after(None, "people", {"population": "clinic"})]))[0].kind
    'people'
    """
    lines: list[Json] = [{"format": EXPORT}]
    lines += [{"seq": entry.seq, "kind": entry.kind, "payload": entry.payload, "prev": entry.prev,
               "hash": entry.hash} for entry in entries]
    return "".join(f"{canonical(line).decode()}\n" for line in lines)


def imported(text: str) -> tuple[Entry, ...]:
    """The entries of an export; `replay` recounts them."""
    try:
        first, *rest = [parsed(line) for line in text.removesuffix("\n").split("\n")]
        entries = tuple(Entry(**line) for line in rest)
    except (ValueError, TypeError, RecursionError):
        first, entries = None, ()
    if first != {"format": EXPORT} or not all(
            type(one.seq) is int
            and all(isinstance(text, str) for text in (one.kind, one.payload, one.prev, one.hash))
            for one in entries):
        raise LedgerError("the export cannot be read; name a file that `privsieve ledger export` "
                          "wrote")
    return entries


def certificate(promised: Mapping[str, Json], release_sha256: str, *noted: Entry | None,
                ) -> dict[str, Json]:
    """The certificate of a release, not signed; without a ledger nothing is noted.

    promised : `terms(plan, software)`, with which the charge was reserved; of a publication its
        claim, plan and software.
    noted : the charge and its completion, or the note of the publication.
    """
    ledger: dict[str, Json] | None = None
    entries = [entry for entry in noted if entry is not None]
    if entries:
        # What is charged is in the population's own change, which may be another than the claim's.
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
    name, said, delta = body["population"], body["account"], _delta(body["delta_limit"])
    known = balance.population.get(name)
    if (known and known.limit > 0) or _amount(body["limit"]) < 1:
        raise ValueError
    if said != ("approximate" if delta else "pure"):
        raise ValueError
    # The limits that a grant says are no more than follows from epsilon and delta.
    made = accounts.granted(body["limit"], delta)
    rho = _units(body["rho_limit"], RHO_UNITS)
    if rho > made.rho_limit or (rho == 0) != (made.rho_limit == 0):
        raise ValueError
    balance.population[name] = made._replace(rho_limit=rho, **facts(
        body["unit"], body["neighbours"], body["rows_per_person"]))


def _raise(balance: Balance, _seq: int, body: Mapping[str, Any]) -> None:
    """Higher limits, by two people, for what a population released and will release."""
    name = body["population"]
    known, rho = balance.population[name], _units(body["rho_limit"], RHO_UNITS)
    accounts.signed(body["reason"], body["by"])
    made = accounts.raised(known, _amount(body["limit"]), _delta(body["delta_limit"]))
    # As in a grant: no more than follows, and never less than there was.
    if not known.rho_limit <= rho <= made.rho_limit:
        raise ValueError
    balance.population[name] = made._replace(rho_limit=rho)


def _reserve(balance: Balance, seq: int, body: Mapping[str, Any]) -> None:
    """A charge, which says what it comes to in the population's own change."""
    name, request = body["population"], body["request"]
    units, delta = _amount(body["units"]), _delta(body["delta"])
    if request in balance.request or units < 1:
        raise ValueError
    balance.new.add(("request", request))
    rho = None if body["rho"] is None else _units(body["rho"], RHO_UNITS)
    known, factor = accounts.protecting(balance.population[name],
                                        change_of(body.get("claim", {})))
    made = accounts.charge(units, delta, rho, factor)
    now = known.plus(made)
    if now is None or body["charged"] != accounts.charged(known, made, factor):
        raise ValueError
    balance.population[name] = now
    balance.request[request] = Request(name, made.units, made.delta, "reserved", seq, made.rho,
                                       str(factor))


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
    """A delta is a text in the chain: its units pass the integers that JSON keeps."""
    return _units(text, DELTA_UNITS)


def _units(text: object, per: int) -> int:
    found = units_of(text, per)
    if found is None:
        raise ValueError
    return found


_APPLY = {"people": _people, "grant": _grant, "raise": _raise, "reserve": _reserve,
          "commit": _commit, "publish": _publish, "other-people": _other_people,
          "checkpoint": _checkpoint}
