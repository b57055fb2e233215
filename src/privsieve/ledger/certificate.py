"""Certificate: what is claimed of a release, tied to the charge that paid for it.

All but the digest of the release is known before a row is read: these are the `terms`.  They stand
in the ledger's reserve entry, and the digest in its commit entry, so that no field of a
certificate can change without a hash in it ceasing to fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from privsieve.public import strangers
from privsieve.public.canonical import Json
from privsieve.public.plan import Plan

if TYPE_CHECKING:
    from privsieve.ledger.chain import Entry

FORMAT = "privsieve-certificate/1"

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
#: The kinds of releases that an epsilon was paid for.
KINDS = tuple(_RESULT)


def terms(plan: Plan, software: Mapping[str, str]) -> dict[str, Json]:
    """What a plan promises before a row is read: what `Ledger.reserve` keeps with the charge."""
    return {
        "claim": {
            "kind": plan.kind,
            "account": plan.cost.account,
            "epsilon": plan.cost.text,
            "delta": plan.cost.delta_text,
            "unit": UNIT[plan.protected],
            "neighbours": plan.domain.neighbours,
            "mechanism": plan.method,
            "theorem": plan.theorem,
            "assumes": list(plan.assumes),
        },
        "plan": plan.json(),
        "domain_sha256": plan.domain.digest(),
        "software": dict(software),
    }


def certificate(
    plan: Plan,
    release_sha256: str,
    reserve: Entry | None,
    commit: Entry | None,
    software: Mapping[str, str],
) -> dict[str, Json]:
    """The certificate of a release, not signed; without a charge its ledger is null.

    The charge must have been reserved with `terms(plan, software)`.
    """
    ledger: dict[str, Json] | None = None
    population = None
    if reserve is not None and commit is not None:
        population = reserve.body["population"]
        ledger = {
            "request": reserve.request,
            "reserved_at": reserve.body["reserved_at"],
            "rho": reserve.body["rho"],
            # In the change that the population protects, which may be another than the claim's.
            "charged": reserve.body["charged"],
            "reserve": {"seq": reserve.seq, "prev": reserve.prev, "hash": reserve.hash},
            "commit": {"seq": commit.seq, "prev": commit.prev, "hash": commit.hash},
            "head": commit.hash,
        }
    return {
        "format": FORMAT,
        **terms(plan, software),
        "release_sha256": release_sha256,
        "population": population,
        "ledger": ledger,
        "key": None,
        "signature": None,
    }


def contained(claim: Mapping[str, Json], plan: Mapping[str, Json], release_sha256: str,
              entry: Entry | None, software: Mapping[str, str]) -> dict[str, Json]:
    """The certificate of a table that was published under containment: a level, no epsilon.

    `entry` is the ledger's note, made with this claim and the digest of the release.
    """
    ledger: dict[str, Json] | None = None
    if entry is not None:
        ledger = {
            "snapshot": entry.body["snapshot"],
            "publish": {"seq": entry.seq, "prev": entry.prev, "hash": entry.hash},
            "head": entry.hash,
        }
    return {
        "format": FORMAT,
        "claim": claim,
        "plan": plan,
        "software": dict(software),
        "release_sha256": release_sha256,
        "population": None if entry is None else entry.body["population"],
        "ledger": ledger,
        "key": None,
        "signature": None,
    }


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
    changes = f"{_NEIGHBOURS[claim['neighbours']]} {claim['unit']} changes the probability of any "
    if claim["delta"] == "0":
        return f"{changes}released {result} by a factor of at most e^{claim['epsilon']}."
    # With a delta the sum over several results may grow by delta once, not each of them.
    return (f"{changes}collection of released {results} by a factor of at most "
            f"e^{claim['epsilon']}, and by at most {claim['delta']} beyond that.")
