"""`privsieve verify`: check a release without the program's word."""

from __future__ import annotations

from typing import Any

import click

from privsieve.check.folder import MANY
from privsieve.check.verify import Verification
from privsieve.cli import words
from privsieve.cli.verb import Verb, existing
from privsieve.errors import CheckFailed


@click.command("verify", cls=Verb, epilog="Example: privsieve verify first --ledger budget.db")
@click.argument("certificate", callback=existing)
@click.option("--release", metavar="FILE", callback=existing,
              help="The release that the certificate speaks of.")
@click.option("--ledger", metavar="FILE", callback=existing,
              help="The ledger that was charged.")
@click.option("--table", metavar="FILE", callback=existing,
              help="The published table, to count its level again.")
@click.option("--signed-by", metavar="KEY", multiple=True,
              help="A key that has to have signed: its fingerprint, or the file of its public "
                   "half, with maker= or approver= before it where that matters; repeatable.")
@click.option("--threshold", metavar="N", type=int,
              help="How many of these keys have to have signed; all where left out.")
@click.option("--revoked", metavar="FILE",
              help="Fingerprints of keys that count no longer, one a line.")
@click.option("--plan", metavar="FILE", callback=existing,
              help="A plan that was signed before the release.")
def command(certificate: str, **options: Any) -> None:
    """Check CERTIFICATE: a release folder with all that lies in it, or a certificate.json.

    Needs no private table and no network.  Exit code 7 where something does not hold.
    """
    from privsieve.check.folder import verify

    signers = None
    if any(options[name] not in (None, ()) for name in (
            "signed_by", "threshold", "revoked")):
        from privsieve.trust.signers import Signers

        signers = Signers.of(*options["signed_by"], threshold=options["threshold"],
                             revoked=options["revoked"])
    found = verify(certificate, options["release"], ledger=options["ledger"],
                   table=options["table"], signers=signers, plan=options["plan"])
    if options["as_json"]:
        words.json({"valid": found.valid, "reasons": list(found.reasons),
                    "notes": list(found.notes), "says": found.says,
                    "signed": dict(found.signed), "unchecked": dict(found.unchecked)})
    else:
        _show(found)
    if not found.valid:
        count = len(found.reasons)
        raise CheckFailed(f"it does not hold, for {count} "
                          f"reason{'s' * (count > 1)}; do not rely on the release")


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
