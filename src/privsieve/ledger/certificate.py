"""Certificate: what is claimed of a release, tied to the ledger's entries that paid for it.

An entry is bound to the one before it by its hash.  All but the digest of the release is known
before a row is read: these are the `terms`.  They stand in the ledger's reserve entry, and the
digest in its commit entry, so that no field of a certificate can change without a hash in it
ceasing to fit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from privsieve.errors import LedgerError, ParameterError
from privsieve.frozen import dataclass
from privsieve.public import strangers
from privsieve.public.canonical import Json, canonical, parsed
from privsieve.public.cost import decimal, exact, factor
from privsieve.public.plan import Plan

FORMAT = "privsieve-certificate/1"
GENESIS = "00" * 32
TAG = b"privsieve-ledger/1\0"

#: What is protected, in words.  A record of a CSV file is a line: whoever puts line breaks into a
#: cell brings in several.
UNIT = {"row": "one row of the table", "line": "one line of the file",
        "person": "one person with all their rows"}
_NEIGHBOURS = {"replace-one": "Replacing", "add-remove": "Adding or removing"}
#: What is released, one and several of it, by kind.
_RESULT = {
    "selection": ("set", "sets"),
    "weights": ("vector of weights", "vectors of weights"),
    "regression": ("model", "models"),
    "histogram": ("table of counts", "tables of counts"),
}
#: Theorems of releases that say more of the columns that they select.
_MORE = ("sure-count", "described")
#: The kinds of releases that an epsilon was paid for.
KINDS = tuple(_RESULT)


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


def terms(plan: Plan, software: Mapping[str, str]) -> dict[str, Json]:
    """What a plan promises before a row is read: what `Ledger.reserve` keeps with the charge."""
    return {
        "claim": {
            "kind": plan.kind, "account": plan.cost.account, "epsilon": plan.cost.text,
            "delta": plan.cost.delta_text, "unit": UNIT[plan.protected],
            "neighbours": plan.domain.neighbours, "mechanism": plan.method,
            "theorem": plan.theorem, "assumes": list(plan.assumes)},
        "plan": plan.json(),
        "domain_sha256": plan.domain.digest(),
        "software": dict(software),
    }


def certificate(plan: Plan, release_sha256: str, reserve: Entry | None, commit: Entry | None,
                software: Mapping[str, str]) -> dict[str, Json]:
    """The certificate of a release, not signed; without a charge its ledger is null.

    The charge must have been reserved with `terms(plan, software)`.
    """
    return completed(terms(plan, software), release_sha256, reserve, commit)


def completed(promised: Mapping[str, Json], release_sha256: str, reserve: Entry | None,
              commit: Entry | None) -> dict[str, Json]:
    """The same of terms, as the ledger's reserve entry keeps them."""
    if reserve is None or commit is None:
        return _written(promised, release_sha256, None, None)
    # What is charged is in the population's own change, which may be another than the claim's.
    known = {name: reserve.body[name] for name in ("request", "reserved_at", "rho", "charged")}
    return _written(promised, release_sha256, reserve.body["population"], {
        **known, "reserve": reserve.place, "commit": commit.place, "head": commit.hash})


def contained(claim: Mapping[str, Json], plan: Mapping[str, Json], release_sha256: str,
              entry: Entry | None, software: Mapping[str, str]) -> dict[str, Json]:
    """The certificate of a table that was published under containment: a level, no epsilon.

    `entry` is the ledger's note, made with this claim and the digest of the release.
    """
    promised = {"claim": claim, "plan": plan, "software": dict(software)}
    if entry is None:
        return _written(promised, release_sha256, None, None)
    return _written(promised, release_sha256, entry.body["population"], {
        "snapshot": entry.body["snapshot"], "publish": entry.place, "head": entry.hash})


def _written(promised: Mapping[str, Json], release_sha256: str, population: Json,
             ledger: Mapping[str, Json] | None) -> dict[str, Json]:
    return {"format": FORMAT, **promised, "release_sha256": release_sha256,
            "population": population, "ledger": ledger, "key": None, "signature": None}


def conversion(said: Mapping[str, Any], terms: Mapping[str, Any]) -> str | None:
    """A charge that was converted, in a sentence; None where it was not."""
    if said["factor"] == "1":
        return None
    own, rows = terms["claim"], said["rows_per_person"]
    having = f" with up to {rows} rows" if rows is not None and own["unit"] != said["unit"] else ""
    return (f"charged {said['factor']} times: the release protects {own['unit']} "
            f"({own['neighbours']}), and the account {said['unit']}{having} "
            f"({said['neighbours']}); {said['factor']} of the one make one of the other")


def sentence(certificate: Mapping[str, Any]) -> str:
    """The claim in one plain sentence.

    >>> sentence({"claim": {"kind": "selection", "epsilon": "1", "delta": "0",
    ...                     "neighbours": "replace-one", "unit": "one row of the table"}})[:63]
    'Replacing one row of the table changes the probability of any r'
    """
    claim = certificate["claim"]
    if claim["kind"] == "containment":
        return strangers.promise(claim)
    result, results = _RESULT.get(claim["kind"], ("result", "results"))
    if claim.get("theorem") in _MORE:
        result, results = (f"{one} with what is said of it" for one in (result, results))
    changes = f"{_NEIGHBOURS[claim['neighbours']]} {claim['unit']} changes the probability of any "
    times = factor(exact(claim["epsilon"], "epsilon")) or (
        f"e^{claim['epsilon']}, which promises nothing")
    if claim["delta"] == "0":
        return f"{changes}released {result} by a factor of at most {times}."
    # With a delta the sum over several results may grow by delta once, not each of them.
    return (f"{changes}collection of released {results} by a factor of at most {times}, and by at "
            f"most {claim['delta']} beyond that.")
