"""`privsieve verify`: check a release without the program's word."""

from __future__ import annotations

from pathlib import Path

import click

from privsieve.cli import words
from privsieve.errors import CheckFailed

#: What `publish` calls the table in its folder.
TABLES = ("table.csv", "table.parquet")


@click.command("verify", epilog="Example: privsieve verify first --ledger budget.db")
@click.argument("certificate")
@click.option("--release", metavar="FILE",
              help="The release that the certificate speaks of.")
@click.option("--ledger", metavar="FILE", help="The ledger that was charged.")
@click.option("--table", metavar="FILE",
              help="The published table, to count its level again.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines.")
def command(certificate: str, release: str | None, ledger: str | None, table: str | None,
            as_json: bool) -> None:  # noqa: FBT001  # click gives it by name
    """Check CERTIFICATE: a certificate.json, or a release folder with its other files.

    Needs no private table and no network.  Exit code 7 where something does not hold.
    """
    from privsieve.check.verify import verify

    place = Path(certificate)
    if place.is_dir():
        release = release or str(place / "release.json")
        inside = [str(place / name) for name in TABLES if (place / name).is_file()]
        table = table or (inside[0] if len(inside) == 1 else None)
        place /= "certificate.json"
    found = verify(place, release, ledger=ledger, table=table)
    if as_json:
        words.json({"valid": found.valid, "reasons": list(found.reasons),
                    "notes": list(found.notes)})
    else:
        words.show("valid" if found.valid else "NOT VALID", fg="green" if found.valid else "red",
                   bold=True)
        for reason in found.reasons:
            words.show("reason", reason)
        for note in found.notes:
            words.show("note", note)
    if not found.valid:
        count = len(found.reasons)
        raise CheckFailed(f"the certificate does not hold, for {count} "
                          f"reason{'s' * (count > 1)}; do not rely on the release")
