"""Verify: check a certificate and its release, and optionally a ledger and a published table.

Each fault becomes a reason in words that do not quote the file.  Only a ledger's server that does
not answer raises an error, because this is not a fault of the certificate.  The check shows that a
release follows from its plan and has the numbers of its kind.  Fresh noise cannot be recounted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from privsieve._version import __version__
from privsieve.check import events
from privsieve.check.certificate import CONTAINMENT, RELEASE_FORMAT, bound, demand_certificate
from privsieve.check.reasons import Unreadable, failed
from privsieve.errors import LedgerError, ParameterError, SchemaError
from privsieve.public import plain
from privsieve.public.canonical import (
    EPSILON_UNITS,
    RHO_UNITS,
    canonical,
    digest,
    exact,
    parsed,
    units_of,
)
from privsieve.public.event import Event
from privsieve.public.plan import KINDS
from privsieve.release import Release

if TYPE_CHECKING:
    from pathlib import Path

    from privsieve.ledger.ledger import Ledger

Source = str | os.PathLike[str] | bytes | Mapping[str, Any]
#: The note about a release without a signature.
UNSIGNED = "Unsigned: nothing shows who made this release"

_WORD = {"reserve": "charge", "commit": "release", "publish": "publication"}


@dataclass(frozen=True)
class Verification:
    """The result of a check: `reasons` say why it fails, `notes` what it cannot show.

    says : the claim of a valid folder, in a sentence
    signed : the fingerprints of the signers of a folder, with their roles
    unchecked : the files of a folder that were not checked, and why

    >>> Verification(reasons=("the digest differs",), notes=()).valid
    False
    """

    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    says: str = ""
    signed: Mapping[str, str] = field(default_factory=dict)
    unchecked: Mapping[str, str] = field(default_factory=dict)

    @property
    def valid(self) -> bool:
        """Return whether the check found no fault."""
        return not self.reasons


def verify(certificate: Source, release: Source | None = None, *,
           ledger: str | Path | Ledger | None = None, table: object = None) -> Verification:
    """Check a certificate, and a release, ledger and published table if given.

    >>> verify({}).reasons[0]
    'the certificate does not have the fields of privsieve-certificate/1, at the file'
    """
    try:
        body = _read(certificate, "the certificate")
        demand_certificate(body)
        content = None if release is None else _read(release, "the release")
        own = _contained if body["claim"]["kind"] == CONTAINMENT else _paid
        reasons, notes = own(body, content, table)
        if ledger is not None:
            reasons += _ledger(body, ledger)
    except (Unreadable, SchemaError) as error:
        return Verification((str(error),), ())
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError):
        return Verification(("a field of the files has a wrong type",), ())
    return Verification(tuple(reasons), (*_unseen(body, release, ledger), *notes))


def verify_plan(certificate: Mapping[str, Any], public: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the faults that `verify` would find in the release of a plan, before it is made.

    public : the fields of the release that are known before rows are read.
    """
    from privsieve.check.replan import plan_again, plan_reasons

    try:
        demand_certificate(certificate)
        wrong = [*_claim(certificate), *_theorem(certificate)]
        return tuple(wrong or plan_reasons(certificate, public, plan_again(certificate, public)))
    except Unreadable as error:
        return (str(error),)


def _read(source: Source, what: str) -> dict[str, Any]:
    """Read JSON from a file or a mapping; a file must be in canonical form."""
    if isinstance(source, str | os.PathLike):
        source = plain.read(source, what, Unreadable)
    try:
        body = source if isinstance(source, Mapping) else parsed(source)
        if not isinstance(body, Mapping) or source not in (body, canonical(body)):
            raise Unreadable(f"{what} is not a JSON object in canonical form")
    except (TypeError, ValueError, AttributeError, RecursionError):
        raise Unreadable(f"{what} is not JSON of strings, integers, booleans and null") from None
    return dict(body)


def _paid(body: Mapping[str, Any], release: Mapping[str, Any] | None, table: object,
          ) -> tuple[list[str], list[str]]:
    """Return reasons and notes about a certificate with an epsilon."""
    reasons = [*_claim(body), *_needing_methods(_theorem, body)]
    notes = [*failed({"the table was not read, because fresh noise cannot be recounted":
                      table is None})]
    if body["ledger"] is not None:
        reasons += _entries(body)
    if release is not None:
        reasons += [reason for reason in _needing_methods(_release, body, release)
                    if reason not in reasons]
        notes += failed({"the target was not found: a class has a noisy count near 0, so the "
                         "names may answer another question; check the domain file":
                         bool(reasons) or not Release(release, None).missing})
    return reasons, notes


def _contained(body: Mapping[str, Any], release: Mapping[str, Any] | None, table: object,
               ) -> tuple[list[str], list[str]]:
    """Return reasons and notes about a certificate that promises a level."""
    from privsieve.check import containment

    reasons = [*containment.claim_reasons(body)]
    if body["ledger"] is not None:
        reasons += containment.entry_reasons(body)
    if release is not None:
        reasons += [*_certified(body, release), *containment.release_reasons(body, release)]
    if isinstance(table, str | os.PathLike | bytes):
        reasons += containment.table_reasons(body, table, release)
    elif table is not None:
        reasons.append("the table must be given as a file")
    return reasons, [*containment.notes(body["claim"]), *failed({
        "no table was given, so its groups were not recounted": table is not None})]


def _needing_methods(check: Callable[..., Iterable[str]], *parameters: object) -> list[str]:
    """Return the reasons of a check that imports methods, or that a library is missing."""
    try:
        return [*check(*parameters)]
    except ModuleNotFoundError as error:
        return [(f"the plan was not checked, because {error.name} is not installed; install "
                 "privsieve with all its requirements")]


def _theorem(body: Mapping[str, Any]) -> Iterator[str]:
    from privsieve.check.replan import is_proved

    return failed({"this version does not have the theorem or an assumption":
                   is_proved(body["claim"])})


def _claim(body: Mapping[str, Any]) -> Iterator[str]:
    claim, plan = body["claim"], body["plan"]
    epsilon, delta = exact(claim["epsilon"], "epsilon"), exact(claim["delta"], "delta")
    event: Event = msgspec.convert(plan["event"], Event)
    rho, charged = events.rho_of(event), body["ledger"] and body["ledger"]["rho"]
    return failed({
        "the claim does not name a known kind of release": claim["kind"] in KINDS,
        "the claimed delta is not below 1": delta < 1,
        "the account does not follow from the claimed delta":
            claim["account"] == ("approximate" if delta else "pure"),
        "the epsilon of the plan differs from the claim": plan["epsilon"] == claim["epsilon"],
        "the delta of the plan differs from the claim": plan["delta"] == claim["delta"],
        "the method of the plan differs from the claim": plan["method"] == claim["mechanism"],
        "the planned noise does not have the claimed epsilon and delta":
            events.holds(event, epsilon, delta),
        "the charge has a smaller rho than the planned noise":
            not charged or (rho is not None
                            and rho <= float(exact(charged, "rho")) * (1 + events.NEAR)
                            + 1 / RHO_UNITS),
    })


def _entries(body: Mapping[str, Any]) -> Iterator[str]:
    """Write both ledger entries again from the certificate; their hashes must be the same."""
    from privsieve.ledger.account import recharged

    known = body["ledger"]
    common = {"population": body["population"], "request": known["request"]}
    terms = {name: body[name] for name in ("claim", "plan", "domain_sha256", "software")}
    reserve = {**common, "units": units_of(body["claim"]["epsilon"], EPSILON_UNITS),
               "delta": body["claim"]["delta"], "claim": terms,
               "reserved_at": known["reserved_at"],
               "rho": known["rho"], "charged": known["charged"]}
    commit = {**common, "release_sha256": body["release_sha256"]}
    return failed({
        "the charge does not follow from the release and the change that the account protects":
            recharged(known["charged"], known["rho"], terms),
        "the claim differs from the charged claim":
            bound(known["reserve"], "reserve", reserve),
        "the release differs from the charged release":
            bound(known["commit"], "commit", commit),
        "the release was committed before it was charged":
            known["reserve"]["seq"] < known["commit"]["seq"],
        "the charge and the release are not in the same chain":
            known["reserve"]["seq"] + 1 != known["commit"]["seq"]
            or known["commit"]["prev"] == known["reserve"]["hash"],
        "the head is not the entry of the release": known["head"] == known["commit"]["hash"],
    })


def _certified(body: Mapping[str, Any], release: Mapping[str, Any]) -> Iterator[str]:
    return failed({
        "the digest of the release differs from the certificate":
            digest(canonical(release)) == body["release_sha256"],
        f"the release is not a {RELEASE_FORMAT}": release.get("format") == RELEASE_FORMAT,
        "the kind of the release differs from the claim":
            release.get("kind") == body["claim"]["kind"],
        "the plan of the release differs from the certificate": release.get("plan") == body["plan"],
    })


def _release(body: Mapping[str, Any], release: Mapping[str, Any]) -> Iterator[str]:
    from privsieve.check import replan

    wrong = [*_certified(body, release), *failed({
        "the noise of the release was replayed, so it protects nobody":
            "replayed" not in release,
        "the domain of the release differs from the certificate":
            digest(canonical(release.get("domain"))) == body["domain_sha256"],
    })]
    yield from wrong
    if wrong:
        return
    plan = replan.plan_again(body, release)
    wrong = [*replan.plan_reasons(body, release, plan)]
    yield from wrong or replan.drawn_reasons(release, plan)
    other = body["software"]["privsieve"]
    if wrong and other != __version__:
        yield (f"another version of privsieve made this release (this is {__version__}): check "
               "the release with that version")


def _ledger(body: Mapping[str, Any], ledger: str | Path | Ledger) -> Iterator[str]:
    from privsieve.ledger.ledger import Ledger, recount
    from privsieve.ledger.sql import served

    known = body["ledger"]
    if known is None:
        if body["claim"].get("epsilon") != "0":  # a free release has no ledger entry
            yield "you gave a ledger, but the certificate was made without a ledger"
        return
    place = ledger.path if isinstance(ledger, Ledger) else str(ledger)
    try:
        report, entries = recount(place)
    except (LedgerError, ParameterError) as error:
        if served(place):  # not a fault of the certificate
            raise LedgerError(f"nothing was checked, for {error}") from None
        yield f"the ledger cannot be checked: {error}"
        return
    yield from (f"the ledger does not add up: {reason}" for reason in report.reasons)
    held = {entry.kind + entry.hash for entry in entries}
    yield from failed({
        **{f"the ledger lacks the {word}: it is another ledger, or an older copy":
           kind + known[kind]["hash"] in held for kind, word in _WORD.items() if kind in known},
        "the ledger lacks the head: it is another ledger, or an older copy":
            known["head"] in {entry.hash for entry in entries},
    })


def _unseen(body: Mapping[str, Any], release: object, ledger: object) -> Iterator[str]:
    """Yield what the check cannot show without a signature, a ledger or a release."""
    done, noted = ("published of these people", "this was noted there") if (
        body["claim"]["kind"] == CONTAINMENT) else ("spent on these people", "the charge was made")
    return failed({
        UNSIGNED: body["signature"] is not None,
        f"made without a ledger: nothing shows what else was {done}": body["ledger"] is not None,
        f"no ledger was given: only the hashes in the certificate show that {noted}":
            body["ledger"] is None or ledger is not None,
        "no release was given: only its digest is known": release is not None,
    })
