"""`privsieve verify`: check a release without the program's word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from privsieve.check.folder import MANY, verify
from privsieve.check.verify import Verification
from privsieve.cli import words
from privsieve.cli.verb import Existing, Outcome, verb
from privsieve.public.option import File


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """Options.

    release : the release that the certificate speaks of
    ledger : the ledger that was charged
    table : the published table, to count its level again
    signed_by : a key that has to have signed: its fingerprint, or the file of its public half, with
        maker= or approver= before it where that matters; repeatable
    threshold : how many of these keys have to have signed; all where left out
    revoked : fingerprints of keys that count no longer, one a line
    plan : a plan that was signed before the release
    """

    release: Existing | None = None
    ledger: Existing | None = None
    table: Existing | None = None
    signed_by: tuple[Annotated[str, "KEY"], ...] = ()
    threshold: int | None = None
    revoked: File | None = None
    plan: Existing | None = None


@verb("first --ledger budget.db")
def command(certificate: Existing, against: CheckOptions) -> Outcome:
    """Check CERTIFICATE: a release folder with all that lies in it, or a certificate.json.

    Needs no private table and no network.  Exit code 7 where something does not hold.
    """
    signers = None
    if against.signed_by or against.threshold is not None or against.revoked is not None:
        from privsieve.trust.signers import Signers

        signers = Signers.of(*against.signed_by, threshold=against.threshold,
                             revoked=against.revoked)
    found = verify(certificate, against.release, ledger=against.ledger, table=against.table,
                   signers=signers, plan=against.plan)
    count = len(found.reasons)
    return Outcome(
        {"valid": found.valid, "reasons": list(found.reasons), "notes": list(found.notes),
         "says": found.says, "signed": dict(found.signed), "unchecked": dict(found.unchecked)},
        lambda: _show(found), None if found.valid else
        f"it does not hold, for {count} reason{'s' * (count > 1)}; do not rely on the release")


def _show(found: Verification) -> None:
    words.verdict(valid=found.valid)
    if found.says:
        words.show("says", found.says)
    for reason in found.reasons:
        words.show("reason", reason)
    for key, role in found.signed.items():
        words.line(f"{'signed':<{words.INDENT}}{key} as {role}")  # not cut in two
    for note in found.notes:
        words.show("note", note)
    for name, why in list(found.unchecked.items())[:MANY]:
        words.show("unchecked", f"{name}: {why}", fg="yellow")
    if len(found.unchecked) > MANY:
        words.show("unchecked", f"and {len(found.unchecked) - MANY} more", fg="yellow")
