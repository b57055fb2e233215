"""`privsieve ledger`: grant a budget to the people of a table, and see what is left."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from privsieve.cli import words
from privsieve.public.canonical import Json
from privsieve.public.cost import DELTA_UNITS, EPSILON_UNITS, RHO_UNITS, TOP, decimal

if TYPE_CHECKING:
    from privsieve.ledger.account import Account
    from privsieve.ledger.ledger import Ledger


@click.group("ledger", epilog="Example: privsieve ledger show --ledger budget.db")
def command() -> None:
    """Grant a budget, or show what is left of it."""


@command.command("grant", epilog=(
    "Example: privsieve ledger grant --ledger budget.db --population clinic-2026 --epsilon 2"))
@click.option("--ledger", "path", metavar="FILE", required=True,
              help="The ledger; it is made if it does not exist.")
@click.option("--population", metavar="NAME", required=True,
              help="The people: all tables about them share one name.")
@click.option("--epsilon", metavar="E", required=True,
              help="What all releases about them may cost together.")
@click.option("--delta", metavar="D", default="0", show_default=True,
              help="And in delta; without one every promise to them is pure.")
@click.option("--unit", type=click.Choice(["row", "person"]),
              help="What the budget protects; left out: what the first release protects.")
@click.option("--rows-per-person", metavar="G", type=int,
              help="Rows that a person has at most in any table: a public promise, needed where "
                   "tables without a person column are released.")
@click.option("--neighbours", type=click.Choice(["replace-one", "add-remove"]),
              help="How it changes; replace-one where only the unit is given.")
def grant(path: str, population: str, **options: Any) -> None:
    """Give a population its budget, once."""
    from privsieve.ledger.ledger import Ledger

    ledger = Ledger(path, population=population)
    ledger.grant(options.pop("epsilon"), **options)
    kept = ledger.account()
    more = f" and delta {decimal(kept.delta_limit, DELTA_UNITS)}" if kept.delta_limit else ""
    words.say("granted", f"{words.amount(ledger.limit())}{more} to {ledger.population}")
    words.say("protects", _protects(kept))


@command.command("show", epilog="Example: privsieve ledger show --ledger budget.db")
@click.option("--ledger", "path", metavar="FILE", required=True, help="The ledger.")
@click.option("--population", metavar="NAME", help="One population; all where left out.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines.")
def show(path: str, population: str | None, as_json: bool) -> None:  # noqa: FBT001  # click gives it by name
    """Show limit, spent and left, releases, charges without a release, publications."""
    from privsieve.ledger.ledger import Ledger, populations

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
    kept = ledger.account()
    return {
        "limit": words.amount(ledger.limit()),
        "spent": words.amount(ledger.spent()),
        "left": words.amount(ledger.left()),
        "delta_limit": decimal(kept.delta_limit, DELTA_UNITS),
        "delta_left": decimal(kept.delta_left, DELTA_UNITS),
        "unit": kept.unit,
        "neighbours": kept.neighbours,
        "rows_per_person": kept.rows_per_person,
        "rho_limit": decimal(kept.rho_limit, RHO_UNITS),
        "rho_spent": None if kept.rho_spent == TOP else decimal(kept.rho_spent, RHO_UNITS),
        "releases": sum(entry.kind == "commit" for entry in ledger.entries()),
        "without_release": words.amount(_orphaned(ledger)),
        "publications": [{"snapshot": made.snapshot, "columns": list(made.columns), "k": made.k,
                          "model": made.model} for made in ledger.publications()],
    }


def _orphaned(ledger: Ledger) -> Fraction:
    return Fraction(sum(made.units for made in ledger.charges() if made.state == "reserved"),
                    EPSILON_UNITS)


def _protects(kept: Account) -> str:
    """What an account protects, in words."""
    if kept.protects is None:
        return "what the first release will protect"
    rows = "" if kept.rows_per_person is None else (
        f", with up to {kept.rows_per_person} rows in any table")
    return f"{kept.protects.words}{rows}"


def _sums(kept: Account) -> str:
    """What is still to be had of a delta, and how charges are added up."""
    whole = kept.delta_share if kept.spent else kept.delta_limit
    left = (f"delta {decimal(kept.delta_left, DELTA_UNITS)} of {decimal(whole, DELTA_UNITS)} "
            "left")
    if not kept.rho_limit:
        return (f"{left}; epsilons and deltas are simply added, because of its first release or "
                "because 0.1.0 granted it")
    other = f"rho {decimal(kept.rho_left, RHO_UNITS)} of {decimal(kept.rho_limit, RHO_UNITS)} left"
    if not kept.summed:
        return f"{other}, which is what still counts: epsilons and deltas added up are beyond it"
    if not kept.concentrated:
        return f"{left}, which is what still counts: the sum of rho is beyond its limit"
    return (f"{left} where epsilons and deltas are added, {other} where rho is; one of them is "
            "enough")


def _speak(ledger: Ledger) -> None:
    """What a table of amounts does not say."""
    kept = ledger.account()
    if kept.limit:
        words.show(f"{ledger.population}: protects {_protects(kept)}")
    if kept.delta_limit:
        words.show(f"{ledger.population}: {_sums(kept)}")
    if not kept.rho_limit and sum(made.units for made in ledger.charges()) > kept.limit:
        words.show(f"{ledger.population}: its releases by 0.1.0 protect different things, and "
                   "what they come to in one of them is more than was granted, or has no limit; "
                   "nothing is left", fg="yellow")
    if count := len(ledger.orphans()):
        lost = "1 charge has" if count == 1 else f"{count} charges have"
        words.show(f"{ledger.population}: {lost} no release ({words.amount(_orphaned(ledger))} in "
                   "all): the work failed or was stopped, or is still going on; a charge is "
                   "never given back")
    for made in ledger.publications():
        words.show(f"{ledger.population}: {', '.join(made.columns)} of {made.snapshot} published "
                   f"({made.model}, k = {made.k})")
