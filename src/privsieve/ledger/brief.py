"""Brief: a ledger's account in a few lines, as a screen or a notebook shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privsieve.errors import PrivsieveError
from privsieve.public.canonical import DELTA_UNITS, decimal
from privsieve.public.shown import Shown, names

if TYPE_CHECKING:
    from privsieve.ledger.ledger import Ledger


def brief(one: Ledger) -> Shown:
    """What was granted and spent, and what for; whatever keeps it from being read is said."""
    try:
        kept, charges, published = one.account(), one.charges(), one.publications()
    except PrivsieveError as error:
        return Shown(f"Ledger: {one.population}", [("account", str(error))])
    facts = [("granted", decimal(kept.limit)), ("spent", decimal(kept.together)),
             ("left", decimal(kept.left))]
    if kept.delta_limit:
        left, whole = (decimal(one, DELTA_UNITS) for one in (kept.delta_left, kept.delta_limit))
        facts.append(("delta", f"{left} of {whole} left"))
    facts.append(("protects", "what the first release will protect" if kept.protects is None
                  else kept.protects.words))
    if one.once:
        facts.append(("pays for", "one fit, of the estimator that it was given to"))
    elif one.request is not None:
        facts.append(("pays for", f"the request {one.request}, once"))
    done = sum(made.state == "committed" for made in charges)
    if charges:
        lost = f"; {len(charges) - done} charged without one" * (len(charges) > done)
        facts.append(("releases", f"{done}{lost}"))
    facts += [("published", f"{names(made.columns)} of {made.snapshot}, k = {made.k}")
              for made in published[-3:]]
    return Shown(f"Ledger: {one.population}", facts)
