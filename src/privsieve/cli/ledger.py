"""`privsieve ledger`: grant and raise a budget, show what is left, check and copy the ledger."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Literal

import click

from privsieve.cli import words
from privsieve.cli.options import BudgetOptions, refuse
from privsieve.cli.private import kept
from privsieve.cli.verb import Outcome, VerbGroup, verb
from privsieve.errors import LedgerError
from privsieve.ledger.account import Account
from privsieve.ledger.chain import exported
from privsieve.ledger.head import known
from privsieve.ledger.ledger import Entry, Ledger, populations, recount, recount_export
from privsieve.ledger.ledger import backup as copied
from privsieve.public.canonical import DELTA_UNITS, RHO_UNITS, TOP, Json, decimal, parsed
from privsieve.public.option import File, Name
from privsieve.public.plain import opened
from privsieve.telling.document import DataTable, Document, Fact, Facts, Part, literal, name, names


@click.group("ledger", cls=VerbGroup, epilog="Example: privsieve ledger show --ledger budget.db")
def command() -> None:
    """Grant a budget, show how much of it is left, and check, copy and export the ledger."""


@verb("--ledger budget.db --population clinic-2026 --epsilon 2", group=command, name="grant")
def grant(account: BudgetOptions, *, epsilon: Annotated[str, "E"],
          delta: Annotated[str, "D"] = "0", unit: Literal["row", "person"] | None = None,
          rows_per_person: Annotated[int | None, "G"] = None,
          neighbours: Literal["replace-one", "add-remove"] | None = None) -> Outcome:
    """Grant a population its budget, once.

    epsilon : the most that all releases about them may cost together
    delta : the most in delta; by default, releases that need a delta are refused
    unit : the privacy unit of the budget; default: the unit of the first release
    rows_per_person : the most rows of one person in any table.  You declare this in public; tables
        without a person column need it
    neighbours : how neighbouring tables differ; default: replace-one if --unit is given
    """
    ledger = account.opened()
    ledger.grant(epsilon, delta=delta, unit=unit, rows_per_person=rows_per_person,
                 neighbours=neighbours)
    return _show_limits("granted", ledger)


@verb("--ledger budget.db --population clinic-2026 --epsilon 3 "
      '--reason "a second study" --by "A. Clerk" --and "B. Board"', group=command, name="raise")
def raise_limit(account: BudgetOptions, *, epsilon: Annotated[str | None, "E"] = None,
                delta: Annotated[str | None, "D"] = None, reason: Annotated[str, "TEXT"],
                by: Name, and_: Name) -> Outcome:
    """Raise a limit, with a reason and the names of two people.

    The guarantee for these people becomes weaker; all charges stay.

    epsilon : the new limit, larger than the granted one
    delta : the new limit of delta, if one was granted
    reason : the reason; it stays in the ledger
    by : the person who is responsible
    and_ : a second person who is responsible
    """
    ledger = account.opened()
    ledger.raise_limit(by=(by, and_), epsilon=epsilon, delta=delta, reason=reason)
    return _show_limits("raised", ledger)


def _show_limits(word: str, ledger: Ledger) -> Outcome:
    """Show what an account may spend from now on."""
    account = ledger.account()
    words.say(word, f"{ledger.population}: epsilon {_limits(account)}, "
                    f"{decimal(account.left)} left")
    words.say("unit", _unit_text(account))
    return Outcome({"populations": {ledger.population: _account(ledger)}})


@verb("--ledger budget.db first", group=command, name="verify")
def verify(releases: tuple[str, ...] = (), *, ledger: File | None = None,
           export: File | None = None, head: File | None = None) -> Outcome:
    """Recount the ledger from its entries, and check that it is not an older copy.

    RELEASES are release folders: if the ledger lacks the entry of one, it is an older copy.
    Exit code 7 if the ledger is not valid.

    ledger : the ledger
    export : instead of --ledger: a file that `ledger export` wrote
    head : the small file with the ledger's newest entry
    """
    refuse((ledger is None) == (export is None), "give the ledger (--ledger FILE) or an export of "
           "it (--export FILE), not both")
    outside = known(head, releases)
    report = recount(ledger, outside)[0] if ledger is not None else (
        recount_export(_text(str(export)), outside))
    lines = [("valid" if report.valid else "NOT VALID", ""), ("entries", f"{report.entries:,}"),
             ("head", report.head), *(("reason", reason) for reason in report.reasons)]
    if report.valid and not outside:
        lines += [("note", ("an older copy of the ledger is also valid; to detect such a copy, "
                            "give --head or release folders"))]
    return Outcome(
        {"valid": report.valid, "entries": report.entries, "head": report.head,
         "known_outside": len(outside), "reasons": list(report.reasons)}, lines,
        None if report.valid else "the ledger is not valid; stop charging it, and restore its "
                                  "newest copy")


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

    FILE must not exist.  privsieve recounts the copy.

    ledger : the ledger
    """
    entries = copied(ledger, file)
    words.say("copied", f"{entries:,} entries, recounted, to {file}")
    words.say("restore", "a copy does not contain later charges.  Restore only the newest copy, "
              "check it with `ledger verify` against --head or the newest release, and repeat "
              "the charges that it lacks")
    if os.path.lexists(f"{ledger}.key"):
        words.say("key", "the ledger's key is not in the copy; keep a copy of it as safe as the "
                         "table")
    return Outcome({"copied": file, "entries": entries})


@verb("--ledger budget.db", group=command, name="export")
def export(*, ledger: File, out: File | None = None) -> Outcome:
    """Print each entry as a line of canonical JSON; `ledger verify --export` recounts them.

    ledger : the ledger
    out : write here; the file must not exist
    """
    text = exported(recount(ledger)[1])
    return kept(text, {"entries": [parsed(line) for line in text.encode().splitlines()]}, out)


@verb("--ledger budget.db", group=command, name="show")
def show(*, ledger: File, population: Name | None = None, head: File | None = None) -> Outcome:
    """Show limit, spent and left, releases, charges without a release, publications.

    ledger : the ledger
    population : one population; default: all
    head : the small file with the ledger's newest entry
    """
    ledgers = ((Ledger(ledger, population=population, head=head),) if population
               else populations(ledger, head))
    accounts = {each.population: _account(each) for each in ledgers}
    keys = ("limit", "spent", "left", "releases")
    table = DataTable("", ("population", *keys), [
        (literal(name), *(str(account[key]) for key in keys)) for name, account in accounts.items()
    ], words=0)
    return Outcome({"populations": {**accounts}}, lambda: words.tell(Document("Ledger", parts=[
        table, *chain.from_iterable(map(_details, ledgers))])))


def _lost(entry: Entry) -> dict[str, Json]:
    """Return the facts of a charge without a release."""
    body = entry.body
    terms = body.get("claim", {})
    claim, settings = terms.get("claim", {}), terms.get("plan", {}).get("settings", {})
    columns = f", {settings['k']} columns" if "k" in settings else ""
    return {"seq": entry.seq, "reserved_at": body["reserved_at"],
            "epsilon": decimal(body["units"]), "request": entry.request,
            "plan": f"{claim.get('mechanism', 'unknown')}{columns}"}


def _limits(kept: Account) -> str:
    delta = f" and delta {decimal(kept.delta_limit, DELTA_UNITS)}" if kept.delta_limit else ""
    return f"{decimal(kept.limit)}{delta}"


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
        "publications": [{"snapshot": each.snapshot, "columns": list(each.columns), "k": each.k,
                          "model": each.model} for each in ledger.publications()],
    }


def _orphaned(ledger: Ledger) -> str:
    return decimal(sum(charge.units for charge in ledger.charges() if charge.state == "reserved"))


def _unit_text(kept: Account) -> str:
    """Return the privacy unit of an account in words."""
    if kept.protects is None:
        return "not set yet (the first release sets it)"
    rows = "" if kept.rows_per_person is None else (
        f", with up to {kept.rows_per_person} rows in any table")
    return f"{kept.protects.words}{rows}"


def _delta_text(kept: Account) -> str:
    """Return what is left of a delta, and how charges add up."""
    limit = kept.delta_share if kept.spent else kept.delta_limit
    delta = f"{decimal(kept.delta_left, DELTA_UNITS)} of {decimal(limit, DELTA_UNITS)} left"
    if not kept.rho_limit:
        return f"{delta}; epsilons and deltas are added, because of the first release"
    rho = f"rho {decimal(kept.rho_left, RHO_UNITS)} of {decimal(kept.rho_limit, RHO_UNITS)} left"
    if not kept.summed:
        return f"{rho}; only rho counts now: the sums of epsilon and delta are above their limits"
    if not kept.concentrated:
        return f"{delta}; only epsilon and delta count now: the sum of rho is above its limit"
    return f"{delta} if epsilons and deltas are added; {rho}. A charge needs only one of the two"


def _details(ledger: Ledger) -> Iterator[Part]:
    """Yield the unit, the lost charges and the publications of an account."""
    kept = ledger.account()
    facts = [Fact("privacy unit", _unit_text(kept))] if kept.limit else []
    if kept.delta_limit:
        facts.append(Fact("delta", _delta_text(kept)))
    lost = [_lost(entry) for entry in ledger.orphans()]
    if lost:
        charges = "1 charge has" if len(lost) == 1 else f"{len(lost):,} charges have"
        facts.append(Fact("lost", (
            f"{charges} no release (epsilon {_orphaned(ledger)} together). The release failed, was "
            "stopped, or is still running. A charge is never refunded, because the rows may have "
            "been read. `privsieve recover DIR` finishes the release in its folder, or reports "
            "that it is lost")))
    facts += [Fact("published", f"{names(each.columns)} of {literal(each.snapshot)} "
                                f"({each.model}, k = {each.k})") for each in ledger.publications()]
    if facts:
        yield Facts(name(ledger.population), facts)
    if lost:
        yield DataTable("", ("entry", "reserved at", "epsilon", "request", "plan"), [
            [literal(value) for value in charge.values()] for charge in lost], words=0)
