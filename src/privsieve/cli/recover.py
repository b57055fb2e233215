"""`privsieve recover`: finish what a release left that died or failed; it charges nothing."""

from __future__ import annotations

from privsieve.cli.verb import Existing, Outcome, tell, verb
from privsieve.errors import ReleaseFailed
from privsieve.finish import recover


@verb("first")
def command(folder: str, *, ledger: Existing | None = None) -> None:
    """Finish the release in FOLDER, or say that nothing is to be had.

    No row is read, no noise is drawn, and nothing is charged.  Exit code 6 where the budget is
    charged and there is no release.

    ledger : where the ledger lies now; left out, where it lay when it was charged
    """
    found = recover(folder, ledger=ledger)
    tell(Outcome({"state": found.state, "did": list(found.did)},
                 [(found.state, "; ".join(found.did))]))
    if found.state == "lost":
        raise ReleaseFailed
