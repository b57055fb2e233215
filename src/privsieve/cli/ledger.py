"""`privsieve ledger`: grant and raise a budget, see what is left, and keep what proves it."""

from __future__ import annotations

import os
from typing import Any

import click

from privsieve.cli import words
from privsieve.cli.options import HEAD, asking, refuse
from privsieve.cli.private import result
from privsieve.cli.verb import VerbGroup
from privsieve.errors import CheckFailed, LedgerError
from privsieve.ledger.account import Account
from privsieve.ledger.chain import ChainReport, exported
from privsieve.ledger.head import known
from privsieve.ledger.ledger import Entry, Ledger, populations, recount, recount_export
from privsieve.ledger.ledger import backup as copied
from privsieve.public.canonical import (
    DELTA_UNITS,
    RHO_UNITS,
    TOP,
    Json,
    decimal,
    parsed,
)
from privsieve.public.plain import opened

_LEDGER = click.option("--ledger", "path", metavar="FILE", required=True, help="The ledger.")


@click.group("ledger", cls=VerbGroup, epilog="Example: privsieve ledger show --ledger budget.db")
def command() -> None:
    """Grant a budget, show what is left of it, and check, copy and export the ledger."""


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
@HEAD
def grant(path: str, population: str, head: str | None, as_json: bool,  # noqa: FBT001  # click gives it by name
          **options: Any) -> None:
    """Give a population its budget, once."""
    ledger = Ledger(path, population=population, head=head)
    ledger.grant(options.pop("epsilon"), **options)
    _settled("granted", ledger, as_json=as_json)


@command.command("raise", epilog=(
    "Example: privsieve ledger raise --ledger budget.db --population clinic-2026 --epsilon 3 "
    '--reason "a second study" --by "A. Clerk" --and "B. Board"'))
@asking(_LEDGER, click.option("--population", metavar="NAME", required=True, help="The people."),
        HEAD)
@click.option("--epsilon", metavar="E", help="The new limit, larger than the one that was granted.")
@click.option("--delta", metavar="D", help="And in delta, where one was granted.")
@click.option("--reason", metavar="TEXT", required=True, help="Why; it stays in the ledger.")
@click.option("--by", metavar="NAME", required=True, help="Who answers for it.")
@click.option("--and", "other", metavar="NAME", required=True, help="And somebody else who does.")
def raise_limit(path: str, population: str, head: str | None, **options: Any) -> None:
    """Raise a limit, with a reason and the names of two people.

    What was promised about these people becomes weaker; what was charged stays charged.
    """
    ledger = Ledger(path, population=population, head=head)
    as_json, by = options.pop("as_json"), (options.pop("by"), options.pop("other"))
    ledger.raise_limit(by=by, **options)
    _settled("raised", ledger, as_json=as_json)


def _settled(word: str, ledger: Ledger, *, as_json: bool) -> None:
    """What an account may spend from now on."""
    kept = ledger.account()
    words.say(word, f"{ledger.population}: {_limits(kept)}, {decimal(kept.left)} left")
    words.say("protects", _protects(kept))
    if as_json:
        words.json({"populations": {ledger.population: _account(ledger)}})


@command.command("verify", epilog="Example: privsieve ledger verify --ledger budget.db first")
@click.argument("releases", nargs=-1)
@click.option("--ledger", "path", metavar="FILE", help="The ledger.")
@click.option("--export", metavar="FILE", help="Or: what `ledger export` wrote.")
@HEAD
def verify(releases: tuple[str, ...], path: str | None, export: str | None, head: str | None,
           as_json: bool) -> None:  # noqa: FBT001  # click gives it by name
    """Recount the ledger from its entries alone, and look whether it was set back.

    RELEASES are folders of releases: an older copy of the ledger lacks an entry that a later
    release knows of.  Exit code 7 where something does not add up.
    """
    refuse((path is None) == (export is None), "name the ledger (--ledger FILE), or an export of "
           "it (--export FILE), and one of them only")
    outside = known(head, releases)
    report = recount(path, outside)[0] if path is not None else (
        recount_export(_text(str(export)), outside))
    _verdict(report, len(outside), as_json=as_json)


def _text(path: str) -> str:
    try:
        with opened(os.path.realpath(path)) as file:
            return file.read().decode()
    except (OSError, ValueError):
        raise LedgerError("the export cannot be read; name a file that `privsieve ledger export` "
                          "wrote") from None


def _verdict(report: ChainReport, outside: int, *, as_json: bool) -> None:
    if as_json:
        words.json({"valid": report.valid, "entries": report.entries, "head": report.head,
                    "known_outside": outside, "reasons": list(report.reasons)})
    else:
        words.verdict(valid=report.valid)
        words.show("entries", str(report.entries))
        words.show("head", report.head)
        for reason in report.reasons:
            words.show("reason", reason)
        if report.valid and not outside:
            words.show("note", "an older copy of the ledger would be valid, too: give --head, or "
                       "the folders of releases")
    if not report.valid:
        raise CheckFailed("the ledger does not add up; charge nothing more to it, and restore its "
                          "newest copy")


@command.command("backup", epilog="Example: privsieve ledger backup monday.db --ledger budget.db")
@click.argument("copy", metavar="FILE")
@_LEDGER
def backup(copy: str, path: str, as_json: bool) -> None:  # noqa: FBT001  # click gives it by name
    """Copy the ledger to FILE, consistently, while others may be writing.

    FILE must not exist.  The copy is recounted.
    """
    entries = copied(path, copy)
    words.say("copied", f"{entries} entries, which add up, to {copy}")
    words.say("restore", "a copy has the balance of its day: what was charged since would be free "
              "again.  Restore the newest copy only, check it with `ledger verify` against --head "
              "or the newest release, and charge again what it lacks")
    if os.path.lexists(f"{path}.key"):
        words.say("key", "the ledger's key was not copied; keep a copy of it as you keep the table")
    if as_json:
        words.json({"copied": copy, "entries": entries})


@command.command("export", epilog="Example: privsieve ledger export --ledger budget.db")
@_LEDGER
@click.option("--out", metavar="FILE", help="Write here; the file must not exist.")
def export(path: str, **options: Any) -> None:
    """Print all entries, a line of canonical JSON each: `ledger verify --export` recounts them."""
    text = exported(recount(path)[1])
    result(text, {"entries": [parsed(line) for line in text.encode().splitlines()]}, options)


def _lost(entry: Entry) -> dict[str, Json]:
    """A charge without a release."""
    body = entry.body
    said = body.get("claim", {})
    claim, settings = said.get("claim", {}), said.get("plan", {}).get("settings", {})
    names = f", {settings['k']} columns" if "k" in settings else ""
    return {"seq": entry.seq, "reserved_at": body["reserved_at"],
            "epsilon": decimal(body["units"]), "request": entry.request,
            "plan": f"{claim.get('mechanism', 'not said')}{names}"}


def _limits(kept: Account) -> str:
    more = f" and delta {decimal(kept.delta_limit, DELTA_UNITS)}" if kept.delta_limit else ""
    return f"{decimal(kept.limit)}{more}"


@command.command("show", epilog="Example: privsieve ledger show --ledger budget.db")
@asking(_LEDGER, click.option("--population", metavar="NAME",
                              help="One population; all where left out."), HEAD)
def show(path: str, population: str | None, head: str | None, as_json: bool) -> None:  # noqa: FBT001  # click gives it by name
    """Show limit, spent and left, releases, charges without a release, publications."""
    ledgers = ((Ledger(path, population=population, head=head),) if population
               else populations(path, head))
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
        "limit": decimal(kept.limit),
        "spent": decimal(kept.together),
        "left": decimal(kept.left),
        "delta_limit": decimal(kept.delta_limit, DELTA_UNITS),
        "delta_left": decimal(kept.delta_left, DELTA_UNITS),
        "unit": kept.unit,
        "neighbours": kept.neighbours,
        "rows_per_person": kept.rows_per_person,
        "rho_limit": decimal(kept.rho_limit, RHO_UNITS),
        "rho_spent": None if kept.rho_spent == TOP else decimal(kept.rho_spent, RHO_UNITS),
        "releases": sum(entry.kind == "commit" for entry in ledger.entries()),
        "without_release": _orphaned(ledger),
        "orphans": [_lost(entry) for entry in ledger.orphans()],
        "publications": [{"snapshot": made.snapshot, "columns": list(made.columns), "k": made.k,
                          "model": made.model} for made in ledger.publications()],
    }


def _orphaned(ledger: Ledger) -> str:
    return decimal(sum(made.units for made in ledger.charges() if made.state == "reserved"))


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
        return f"{left}; epsilons and deltas are simply added, because of its first release"
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
    if lost := [_lost(entry) for entry in ledger.orphans()]:
        has = "1 charge has" if len(lost) == 1 else f"{len(lost)} charges have"
        words.show(f"{ledger.population}: {has} no release ({_orphaned(ledger)} in all): the work "
                   "failed or was stopped, or is still going on.  A charge is never given back: "
                   "who looks and cancels would look for free.  `privsieve recover DIR` finishes "
                   "what lies in its folder, or says that it is lost")
        words.table(("entry", "reserved at", "epsilon", "request", "plan"),
                    [[str(value) for value in one.values()] for one in lost])
    for made in ledger.publications():
        words.show(f"{ledger.population}: {', '.join(made.columns)} of {made.snapshot} published "
                   f"({made.model}, k = {made.k})")
