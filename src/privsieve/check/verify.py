"""Verify: check a certificate without the program that made it.

Whatever is wrong becomes a reason, in words that quote nothing of the file; nothing raises.  It
reads two JSON files and, where given, a ledger and a published table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privsieve.check import containment
from privsieve.check import release as verify_release
from privsieve.errors import BudgetExceeded, LedgerError, ParameterError
from privsieve.ledger.certificate import FORMAT, KINDS, UNIT
from privsieve.ledger.chain import link, recharged, units_of
from privsieve.ledger.ledger import Ledger, recount
from privsieve.public.canonical import canonical, digest, parsed
from privsieve.public.cost import DELTA_UNITS, EPSILON_UNITS
from privsieve.release import FORMAT as RELEASE_FORMAT

#: A release folder's file is far below; more is an attack on memory.
LARGEST_FILE = 64 * 2**20

Source = str | Path | Mapping[str, Any]

_HASH = {"seq": int, "prev": str, "hash": str}
_SHAPE: Mapping[str, Any] = {
    "format": str,
    "claim": {"kind": str, "account": str, "epsilon": str, "delta": str, "unit": str,
              "neighbours": str, "mechanism": str, "theorem": str, "assumes": list},
    "plan": dict,
    "domain_sha256": str,
    "software": dict,
    "release_sha256": str,
    "population": (str, type(None)),
    "ledger": (dict, type(None)),
    "key": (str, type(None)),
    "signature": (str, type(None)),
}
#: The kind of certificates that promise a level, and no epsilon.
CONTAINMENT = "containment"
_WORD = {"reserve": "charge", "commit": "release", "publish": "publication"}
#: As version 0.1.0 wrote it: a charge of its own change, whatever the population protects.
_LEDGER_BEFORE: Mapping[str, Any] = {"request": str, "reserved_at": str, "reserve": _HASH,
                                     "commit": _HASH, "head": str}
_LEDGER: Mapping[str, Any] = {**_LEDGER_BEFORE, "rho": (str, type(None)), "charged": {
    "unit": str, "neighbours": str, "rows_per_person": (int, type(None)), "factor": str,
    "epsilon": str, "delta": str, "rho": (str, type(None))}}


@dataclass(frozen=True)
class Verification:
    """What a check found: `reasons` say why it fails, `notes` what it cannot show.

    >>> Verification(reasons=("the digest differs",), notes=()).valid
    False
    """

    reasons: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def valid(self) -> bool:
        """Whether nothing was found against the claim."""
        return not self.reasons


class _Unreadable(Exception):
    """A file that is not what it should be."""


def verify(
    certificate: Source,
    release: Source | None = None,
    *,
    ledger: str | Path | Ledger | None = None,
    table: object = None,
    key: str | None = None,
) -> Verification:
    """Check a certificate, and what is given with it: release, ledger, published table.

    >>> verify({}).reasons[0]
    'the certificate does not have the fields of privsieve-certificate/1'
    """
    try:
        body = _read(certificate, "the certificate")
        _check_shape(body)
        if body["claim"]["kind"] == CONTAINMENT:
            return _containment(body, release, ledger, table, key)
        reasons = [*_claim(body), *_key(body, key)]
        if body["ledger"] is not None:
            reasons += _entries(body)
        if release is not None:
            reasons += _release(body, _read(release, "the release"))
        if ledger is not None:
            reasons += _ledger(body, ledger)
    except _Unreadable as error:
        return Verification((str(error),), ())
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError):
        return Verification(("a field of the files is of a type that it cannot have",), ())
    return Verification(tuple(reasons), tuple(_notes(body, release, ledger, table)))


def _read(source: Source, what: str) -> dict[str, Any]:
    """The JSON of a file or a mapping, of allowed types and, for a file, in canonical form."""
    try:
        if isinstance(source, Mapping):
            data, body = canonical(source), source
        else:
            with Path(source).open("rb") as file:
                data = file.read(LARGEST_FILE + 1)
            if len(data) > LARGEST_FILE:
                raise _Unreadable(f"{what} is larger than 64 MB")
            body = parsed(data)
        if not isinstance(body, Mapping) or canonical(body) != data:
            raise _Unreadable(f"{what} is not a JSON object in canonical form")
    except OSError:
        raise _Unreadable(f"{what} cannot be read") from None
    except (TypeError, ValueError, AttributeError, RecursionError):
        raise _Unreadable(f"{what} is not JSON of strings, integers, booleans and null") from None
    return dict(body)


def _fits(value: object, shape: Any) -> bool:
    if isinstance(shape, dict):
        return (isinstance(value, Mapping) and value.keys() == shape.keys()
                and all(_fits(value[name], shape[name]) for name in shape))
    if shape is int:
        return type(value) is int
    if shape is dict:
        return isinstance(value, Mapping)
    return isinstance(value, shape)


def _containment(body: Mapping[str, Any], release: Source | None,
                 ledger: str | Path | Ledger | None, table: object, key: str | None,
                 ) -> Verification:
    """A certificate that promises a level, and no epsilon."""
    reasons = [*containment.claim_reasons(body), *_key(body, key)]
    if body["ledger"] is not None:
        reasons += containment.entry_reasons(body)
    said = None if release is None else _read(release, "the release")
    if said is not None:
        reasons += containment.release_reasons(body, said)
    if ledger is not None:
        reasons += _ledger(body, ledger, ("publish",))
    if isinstance(table, str | Path | bytes):
        reasons += containment.table_reasons(body, table, said)
    elif table is not None:
        reasons.append("the table is to be given as a file")
    found = containment.notes(body, release=release is not None, ledger=ledger is not None,
                              table=table is not None)
    return Verification(tuple(reasons), tuple(found))


def _check_shape(body: Mapping[str, Any]) -> None:
    claim = body.get("claim")
    contained = isinstance(claim, Mapping) and claim.get("kind") == CONTAINMENT
    shape, entries = _SHAPE, [_LEDGER, _LEDGER_BEFORE]
    if contained:
        shape, entries = containment.shape(body["claim"]), [containment.LEDGER]
    known = body["ledger"] if _fits(body, shape) else ()
    if known is not None and not any(_fits(known, entry) for entry in entries):
        raise _Unreadable(f"the certificate does not have the fields of {FORMAT}")
    if body["format"] != FORMAT:
        raise _Unreadable(f"the certificate is not a {FORMAT}; a newer privsieve may read it")


def _failed(checks: Mapping[str, bool]) -> Iterator[str]:
    return (reason for reason, holds in checks.items() if not holds)


def _claim(body: Mapping[str, Any]) -> Iterator[str]:
    claim, plan = body["claim"], body["plan"]
    return _failed({
        "the claim names no known kind of release": claim["kind"] in KINDS,
        "the claimed epsilon is not an exact amount":
            units_of(claim["epsilon"], EPSILON_UNITS) is not None,
        "the claimed delta is not an exact amount":
            units_of(claim["delta"], DELTA_UNITS) is not None,
        "the account is not the one of the claimed delta":
            claim["account"] == ("pure" if claim["delta"] == "0" else "approximate"),
        "the claim names no known unit": claim["unit"] in UNIT.values(),
        "the claim names no known neighbours":
            claim["neighbours"] in ("replace-one", "add-remove"),
        "the epsilon of the plan is not the claimed one": plan.get("epsilon") == claim["epsilon"],
        "the delta of the plan is not the claimed one": plan.get("delta") == claim["delta"],
        "the method of the plan is not the claimed one": plan.get("method") == claim["mechanism"],
        "a population stands without a ledger, or a ledger without a population":
            (body["population"] is None) == (body["ledger"] is None),
    })


def _key(body: Mapping[str, Any], key: str | None) -> Iterator[str]:
    return _failed({
        "the certificate names a key or signature, which this version cannot check":
            body["key"] is None and body["signature"] is None,
        "the certificate is unsigned, and a key was given to check it": key is None,
    })


def _entries(body: Mapping[str, Any]) -> Iterator[str]:
    """Write both ledger entries anew from the certificate; their hashes must be its own."""
    known = body["ledger"]
    common = {"population": body["population"], "request": known["request"]}
    terms = {name: body[name] for name in ("claim", "plan", "domain_sha256", "software")}
    reserve = {**common, "units": units_of(body["claim"]["epsilon"], EPSILON_UNITS),
               "delta": body["claim"]["delta"], "claim": terms,
               "reserved_at": known["reserved_at"],
               **{name: known[name] for name in ("rho", "charged") if name in known}}
    commit = {**common, "release_sha256": body["release_sha256"]}
    return _failed({
        "the charge is not what the release comes to in the change that the account protects":
            "charged" not in known or _converted(known, terms),
        "the claim is not the one that was charged": _bound(known["reserve"], "reserve", reserve),
        "the release is not the one that was charged": _bound(known["commit"], "commit", commit),
        "the release was committed before it was charged":
            known["reserve"]["seq"] < known["commit"]["seq"],
        "the head is not the entry of the release": known["head"] == known["commit"]["hash"],
    })


def _converted(known: Mapping[str, Any], terms: Mapping[str, Any]) -> bool:
    """Whether factor and amounts follow from the claim and from what the account protects."""
    try:
        return recharged(known["charged"], known["rho"], terms)
    except (BudgetExceeded, ValueError):
        return False


def _bound(known: Mapping[str, Any], kind: str, content: Mapping[str, Any]) -> bool:
    payload = canonical({**content, "kind": kind, "seq": known["seq"]})
    try:
        return bool(link(known["prev"], payload) == known["hash"])
    except ValueError:  # prev is no hash
        return False


def _release(body: Mapping[str, Any], release: Mapping[str, Any]) -> Iterator[str]:
    yield from _failed({
        "the digest of the release is not the certified one":
            digest(canonical(release)) == body["release_sha256"],
        f"the release is not a {RELEASE_FORMAT}": release.get("format") == RELEASE_FORMAT,
        "the kind of the release is not the claimed one":
            release.get("kind") == body["claim"]["kind"],
        "the release says that it is not private": release.get("private") is True,
        "the plan of the release is not the certified one": release.get("plan") == body["plan"],
        "the domain of the release is not the certified one":
            "domain" not in release
            or digest(canonical(release["domain"])) == body["domain_sha256"],
    })
    yield from _failed(verify_release.checks(body["claim"]["kind"], body["plan"], release))


def _ledger(body: Mapping[str, Any], ledger: str | Path | Ledger,
            kinds: tuple[str, ...] = ("reserve", "commit")) -> Iterator[str]:
    known = body["ledger"]
    if known is None:
        yield "a ledger was given, and the certificate was made without one"
        return
    try:
        report, entries = recount(ledger.path if isinstance(ledger, Ledger) else str(ledger))
    except (LedgerError, ParameterError) as error:
        yield f"the ledger cannot be checked: {error}"
        return
    yield from (f"the ledger does not add up: {reason}" for reason in report.reasons)
    held = {entry.kind + entry.hash for entry in entries}
    yield from _failed({
        **{f"the ledger does not hold the {_WORD[kind]}: it is another one, or was set back":
           kind + known[kind]["hash"] in held for kind in kinds},
        "the ledger does not hold the head: it is another one, or was set back":
            known["head"] in {entry.hash for entry in entries},
    })


def _notes(
    body: Mapping[str, Any], release: object, ledger: object, table: object,
) -> Iterator[str]:
    return _failed({
        "unsigned: it shows what is claimed, and not who claims it": body["signature"] is not None,
        "made without a ledger: nothing shows what else was spent on these people":
            body["ledger"] is not None,
        "the ledger was not given: only its own hashes show that the charge was made":
            body["ledger"] is None or ledger is not None,
        "the release was not given: only its digest was seen": release is not None,
        "the table was not read: fresh noise cannot be recounted": table is None,
    })
