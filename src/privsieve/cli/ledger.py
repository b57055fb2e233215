"""`privsieve ledger`: grant a budget to the people of a table, and see what is left."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import click

from privsieve.cli import words

if TYPE_CHECKING:
    from privsieve.core.canonical import Json
    from privsieve.privacy.ledger import Ledger

_GRANT = ("Example: privsieve ledger grant --ledger budget.db --population clinic-2026 "
          "--epsilon 2")
_SHOW = "Example: privsieve ledger show --ledger budget.db"


@click.group("ledger", epilog=_SHOW)
def command() -> None:
    """Grant a budget, or show what is left of it."""


@command.command("grant", epilog=_GRANT)
@click.option("--ledger", "path", metavar="FILE", required=True,
              help="The ledger; it is made if it does not exist.")
@click.option("--population", metavar="NAME", required=True,
              help="The people: all tables about them share one name.")
@click.option("--epsilon", metavar="E", required=True,
              help="What all releases about them may cost together.")
@click.option("--delta", metavar="D", default="0", show_default=True,
              help="And in delta; without one every promise to them is pure.")
def grant(path: str, population: str, epsilon: str, delta: str) -> None:
    """Give a population its budget, once."""
    from privsieve.privacy.ledger import Ledger

    ledger = Ledger(path, population=population)
    ledger.grant(epsilon, delta=delta)
    more = f" and delta {words.delta(ledger.delta_limit())}" if ledger.delta_limit() else ""
    words.say("granted", f"{words.amount(ledger.limit())}{more} to {ledger.population}")


@command.command("show", epilog=_SHOW)
@click.option("--ledger", "path", metavar="FILE", required=True, help="The ledger.")
@click.option("--population", metavar="NAME", help="One population; all where left out.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines.")
def show(path: str, population: str | None, as_json: bool) -> None:  # noqa: FBT001  # click gives it by name
    """Show limit, spent and left, releases, charges without a release, publications."""
    from privsieve.privacy.ledger import Ledger, populations

    ledgers = (Ledger(path, population=population),) if population else populations(path)
    accounts = {ledger.population: _account(ledger) for ledger in ledgers}
    if as_json:
        words.json({"populations": accounts})
        return
    words.table(("population", "limit", "spent", "left", "releases"),
                [(name, *(str(account[key]) for key in ("limit", "spent", "left", "releases")))
                 for name, account in accounts.items()])
    for ledger in ledgers:
        _speak(ledger)


def _account(ledger: Ledger) -> dict[str, Json]:
    return {
        "limit": words.amount(ledger.limit()),
        "spent": words.amount(ledger.spent()),
        "left": words.amount(ledger.left()),
        "delta_limit": words.delta(ledger.delta_limit()),
        "delta_left": words.delta(ledger.delta_left()),
        "releases": sum(entry.kind == "commit" for entry in ledger.entries()),
        "without_release": words.amount(_orphaned(ledger)),
        "publications": [{"snapshot": made.snapshot, "columns": list(made.columns), "k": made.k,
                          "model": made.model} for made in ledger.publications()],
    }


def _orphaned(ledger: Ledger) -> Fraction:
    from privsieve.core.cost import EPSILON_UNITS

    return Fraction(sum(entry.body["units"] for entry in ledger.orphans()), EPSILON_UNITS)


def _speak(ledger: Ledger) -> None:
    """What a table of amounts does not say."""
    if limit := ledger.delta_limit():
        words.show(f"{ledger.population}: delta {words.delta(ledger.delta_left())} of "
                   f"{words.delta(limit)} left")
    if count := len(ledger.orphans()):
        lost = "1 charge has" if count == 1 else f"{count} charges have"
        words.show(f"{ledger.population}: {lost} no release ({words.amount(_orphaned(ledger))} in "
                   "all): the work failed or was stopped, or is still going on; a charge is "
                   "never given back")
    for made in ledger.publications():
        words.show(f"{ledger.population}: {', '.join(made.columns)} of {made.snapshot} published "
                   f"({made.model}, k = {made.k})")
