"""`privsieve recover`: finish what a release left that died or failed; it charges nothing."""

from __future__ import annotations

import click

from privsieve.cli import words
from privsieve.cli.verb import Verb, existing
from privsieve.errors import ReleaseFailed
from privsieve.finish import recover


@click.command("recover", cls=Verb, epilog="Example: privsieve recover first")
@click.argument("folder")
@click.option("--ledger", metavar="FILE", callback=existing,
              help="Where the ledger lies now; left out, where it lay when it was charged.")
def command(folder: str, ledger: str | None, as_json: bool) -> None:  # noqa: FBT001  # click gives it by name
    """Finish the release in FOLDER, or say that nothing is to be had.

    No row is read, no noise is drawn, and nothing is charged.  Exit code 6 where the budget is
    charged and there is no release.
    """
    found = recover(folder, ledger=ledger)
    if as_json:
        words.json({"state": found.state, "did": list(found.did)})
    else:
        words.show(found.state, "; ".join(found.did),
                   fg="green" if found.state == "finished" else "yellow")
    if found.state == "lost":
        raise ReleaseFailed
