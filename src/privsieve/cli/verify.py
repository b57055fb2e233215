"""`privsieve verify`: check a release from its files."""

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

    release : the release.json of the certificate
    ledger : the ledger that was charged
    table : the published table, to count its smallest group again
    signed_by : a key that must have signed: its fingerprint or the file of its public half; for a
        role write maker=KEY or approver=KEY; repeatable
    threshold : the number of these keys that must have signed; default: all
    revoked : a file of revoked fingerprints, one a line
    plan : a signed plan, to compare with the release
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
    """Check CERTIFICATE: a release folder with all its files, or a certificate.json.

    Needs neither the private table nor a network.  Exit code 7 if the release is not valid.
    """
    signers = None
    if against.signed_by or against.threshold is not None or against.revoked is not None:
        from privsieve.trust.signers import Signers

        signers = Signers.of(*against.signed_by, threshold=against.threshold,
                             revoked=against.revoked)
    checked = verify(certificate, against.release, ledger=against.ledger, table=against.table,
                     signers=signers, plan=against.plan)
    count = len(checked.reasons)
    return Outcome(
        {"valid": checked.valid, "reasons": list(checked.reasons), "notes": list(checked.notes),
         "says": checked.says, "signed": dict(checked.signed),
         "unchecked": dict(checked.unchecked)},
        lambda: _show(checked), None if checked.valid else
        f"verification failed ({count} problem{'s' * (count > 1)}); do not rely on this release")


def _show(checked: Verification) -> None:
    words.show("valid" if checked.valid else "NOT VALID", bold=True,
               fg="green" if checked.valid else "red")
    if checked.says:
        words.show("says", checked.says)
    for reason in checked.reasons:
        words.show("problem", reason)
    words.lines(f"{'signed':<{words.INDENT}}{key} as {role}"  # a key is not cut in two
                for key, role in checked.signed.items())
    for note in checked.notes:
        words.show("note", note)
    for name, why in list(checked.unchecked.items())[:MANY]:
        words.show("unchecked", f"{name}: {why}", fg="yellow")
    if len(checked.unchecked) > MANY:
        words.show("unchecked", f"and {len(checked.unchecked) - MANY:,} more", fg="yellow")
