"""`privsieve recover`: finish an interrupted release, without a charge."""

from __future__ import annotations

from privsieve.cli.verb import Existing, Outcome, tell, verb
from privsieve.errors import ReleaseFailed
from privsieve.finish import recover


@verb("first")
def command(folder: str, *, ledger: Existing | None = None) -> None:
    """Finish the interrupted release in FOLDER, or report that it cannot be finished.

    Reads no rows, draws no noise, and charges nothing.  Exit code 6 if the budget is charged and
    there is no release.

    ledger : the path of the ledger now; default: its path at the charge
    """
    result = recover(folder, ledger=ledger)
    tell(Outcome({"state": result.state, "did": list(result.did)},
                 [(result.state, "; ".join(result.did))]))
    if result.state == "lost":
        raise ReleaseFailed
