"""`privsieve ledger`: grant and raise a budget, see what is left, and keep what proves it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated, Literal

import click

from privsieve.cli import words
from privsieve.cli.options import refuse
from privsieve.cli.private import kept
from privsieve.cli.verb import Outcome, VerbGroup, verb
from privsieve.errors import LedgerError
from privsieve.ledger.account import Account
from privsieve.ledger.chain import exported
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
from privsieve.public.option import File, Name
from privsieve.public.plain import opened


@dataclass(frozen=True, kw_only=True)
class AccountOptions:
    """Options.

    ledger : the ledger; `ledger grant` makes it if it does not exist
    population : the people: all tables about them share one name
    head : a small file that keeps the ledger's newest entry: an older copy of the ledger is
        refused.  It is made if it does not exist
    """

    ledger: File
    population: Name
    head: File | None = None

    def opened(self) -> Ledger:
        """Return the account of these people."""
        return Ledger(self.ledger, population=self.population, head=self.head)


@click.group("ledger", cls=VerbGroup, epilog="Example: privsieve ledger show --ledger budget.db")
def command() -> None:
    """Grant a budget, show what is left of it, and check, copy and export the ledger."""


@verb("--ledger budget.db --population clinic-2026 --epsilon 2", group=command, name="grant")
def grant(account: AccountOptions, *, epsilon: Annotated[str, "E"],
          delta: Annotated[str, "D"] = "0", unit: Literal["row", "person"] | None = None,
          rows_per_person: Annotated[int | None, "G"] = None,
          neighbours: Literal["replace-one", "add-remove"] | None = None) -> Outcome:
    """Give a population its budget, once.

    epsilon : what all releases about them may cost together
    delta : and in delta; without one every promise to them is pure
    unit : what the budget protects; left out: what the first release protects
    rows_per_person : rows that a person has at most in any table: a public promise, needed where
        tables without a person column are released
    neighbours : how it changes; replace-one where only the unit is given
    """
    ledger = account.opened()
    ledger.grant(epsilon, delta=delta, unit=unit, rows_per_person=rows_per_person,
                 neighbours=neighbours)
    return _settled("granted", ledger)


@verb("--ledger budget.db --population clinic-2026 --epsilon 3 "
      '--reason "a second study" --by "A. Clerk" --and "B. Board"', group=command, name="raise")
def raise_limit(account: AccountOptions, *, epsilon: Annotated[str | None, "E"] = None,
                delta: Annotated[str | None, "D"] = None, reason: Annotated[str, "TEXT"],
                by: Name, and_: Name) -> Outcome:
    """Raise a limit, with a reason and the names of two people.

    What was promised about these people becomes weaker; what was charged stays charged.

    epsilon : the new limit, larger than the one that was granted
    delta : and in delta, where one was granted
    reason : why; it stays in the ledger
    by : who answers for it
    and_ : and somebody else who does
    """
    ledger = account.opened()
    ledger.raise_limit(by=(by, and_), epsilon=epsilon, delta=delta, reason=reason)
    return _settled("raised", ledger)


def _settled(word: str, ledger: Ledger) -> Outcome:
    """What an account may spend from now on."""
    account = ledger.account()
    words.say(word, f"{ledger.population}: {_limits(account)}, {decimal(account.left)} left")
    words.say("protects", _protects(account))
    return Outcome({"populations": {ledger.population: _account(ledger)}})


@verb("--ledger budget.db first", group=command, name="verify")
def verify(releases: tuple[str, ...] = (), *, ledger: File | None = None,
           export: File | None = None, head: File | None = None) -> Outcome:
    """Recount the ledger from its entries alone, and look whether it was set back.

    RELEASES are folders of releases: an older copy of the ledger lacks an entry that a later
    release knows of.  Exit code 7 where something does not add up.

    ledger : the ledger
    export : or: what `ledger export` wrote
    head : the small file that keeps the ledger's newest entry
    """
    refuse((ledger is None) == (export is None), "name the ledger (--ledger FILE), or an export of "
           "it (--export FILE), and one of them only")
    outside = known(head, releases)
    report = recount(ledger, outside)[0] if ledger is not None else (
        recount_export(_text(str(export)), outside))
    lines = [("valid" if report.valid else "NOT VALID", ""), ("entries", str(report.entries)),
             ("head", report.head), *(("reason", reason) for reason in report.reasons)]
    if report.valid and not outside:
        lines += [("note", ("an older copy of the ledger would be valid, too: give --head, or the "
                            "folders of releases"))]
    return Outcome(
        {"valid": report.valid, "entries": report.entries, "head": report.head,
         "known_outside": len(outside), "reasons": list(report.reasons)}, lines,
        None if report.valid else "the ledger does not add up; charge nothing more to it, and "
                                  "restore its newest copy")


def _text(path: str) -> str:
    try:
        with opened(os.path.realpath(path)) as file:
            return file.read().decode()
    except (OSError, ValueError):
        raise LedgerError("the export cannot be read; name a file that `privsieve ledger export` "
                          "wrote") from None


@verb("monday.db --ledger budget.db", group=command, name="backup")
def backup(file: str, *, ledger: File) -> Outcome:
    """Copy the ledger to FILE, consistently, while others may be writing.

    FILE must not exist.  The copy is recounted.

    ledger : the ledger
    """
    entries = copied(ledger, file)
    words.say("copied", f"{entries} entries, which add up, to {file}")
    words.say("restore", "a copy has the balance of its day: what was charged since would be free "
              "again.  Restore the newest copy only, check it with `ledger verify` against --head "
              "or the newest release, and charge again what it lacks")
    if os.path.lexists(f"{ledger}.key"):
        words.say("key", "the ledger's key was not copied; keep a copy of it as you keep the table")
    return Outcome({"copied": file, "entries": entries})


@verb("--ledger budget.db", group=command, name="export")
def export(*, ledger: File, out: File | None = None) -> Outcome:
    """Print all entries, a line of canonical JSON each: `ledger verify --export` recounts them.

    ledger : the ledger
    out : write here; the file must not exist
    """
    text = exported(recount(ledger)[1])
    return kept(text, {"entries": [parsed(line) for line in text.encode().splitlines()]}, out)


@verb("--ledger budget.db", group=command, name="show")
def show(*, ledger: File, population: Name | None = None, head: File | None = None) -> Outcome:
    """Show limit, spent and left, releases, charges without a release, publications.

    ledger : the ledger
    population : one population; all where left out
    head : the small file that keeps the ledger's newest entry
    """
    ledgers = ((Ledger(ledger, population=population, head=head),) if population
               else populations(ledger, head))
    accounts = {each.population: _account(each) for each in ledgers}

    def lines() -> None:
        words.table(("population", "limit", "spent", "left", "releases"),
                    [(name, *(str(account[key])
                              for key in ("limit", "spent", "left", "releases")))
                     for name, account in accounts.items()])
        for each in ledgers:
            _speak(each)

    return Outcome({"populations": {**accounts}}, lines)


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
