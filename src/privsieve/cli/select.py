"""`privsieve select`: one selection.  The names go to stdout, the words to stderr."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from privsieve.cli import options as asked
from privsieve.cli import words
from privsieve.errors import LedgerError, ParameterError, ReleaseFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from privsieve.core.plan import Plan
    from privsieve.core.release import Release
    from privsieve.privacy.ledger import Ledger
    from privsieve.sources import Source

_EXAMPLE = ("Example: privsieve select patients.csv --domain domain.toml --epsilon 0.5 --top 6 "
            "--unit row --ledger budget.db --population clinic-2026 --out first")

_STAGES = {"reading": "reading the table", "choosing": "choosing"}


@click.command("select", epilog=_EXAMPLE)
@click.argument("data")
@asked.choosing
@click.option("--ledger", metavar="FILE", required=True, help="The budget, made by `ledger grant`.")
@click.option("--population", metavar="NAME", required=True,
              help="The people whom the budget protects.")
@click.option("--out", metavar="DIR", required=True,
              help="The release folder; it must not exist.")
@click.option("--anyway", is_flag=True, help="Go on although the forecast warns.")
def command(data: str, **options: Any) -> None:
    """Choose columns of DATA under differential privacy, once.

    The budget is charged before a row is read, and is never given back.  The chosen names go to
    stdout, one a line; DIR holds the release and its certificate.
    """
    from privsieve.privacy.ledger import Ledger

    domain, source, rows = asked.opened(asked.public(options), data)
    plan = asked.planned(domain, rows, options)
    if plan.warning and not options["anyway"]:
        raise ParameterError(f"{plan.warning}; to go on all the same, say --anyway "
                             "(nothing was charged)")
    ledger = Ledger(options["ledger"], population=options["population"])
    _run(plan, source, ledger, options)


def _run(plan: Plan, source: Source, ledger: Ledger, options: dict[str, Any]) -> None:
    """Make the folder, charge, read, release, show."""
    from privsieve.cli.sealed import sealed
    from privsieve.fit import fit
    from privsieve.privacy.folder import Folder

    with Folder.create(options["out"]) as folder, sealed() as seal:
        try:
            with spinner() as spin:

                def progress(stage: str) -> None:
                    seal.allow()
                    spin(_STAGES.get(stage, stage))

                release = fit(plan, source, ledger=ledger, folder=folder, progress=progress)
                seal.hold()
        except ReleaseFailed:
            raise
        except BaseException:
            # All but a failed release comes before the charge: nothing is to be kept.
            folder.discard()
            raise
        _show(release, plan, ledger, options)


@contextmanager
def spinner() -> Iterator[Callable[[str], None]]:
    """The stage of the work, on a terminal; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield lambda _stage: None
        return
    from rich.console import Console

    with Console(stderr=True).status("charging the budget") as status:
        yield status.update


def _show(release: Release, plan: Plan, ledger: Ledger, options: dict[str, Any]) -> None:
    from privsieve.privacy.certificate import sentence

    assert release.certificate is not None
    left, promise = left_of(ledger), sentence(release.certificate)
    if options["as_json"]:
        words.json({"release": release.body, "release_sha256": release.sha256, "claim": promise,
                    "charged": plan.cost.text, "delta_charged": plan.cost.delta_text,
                    **left})
    else:
        for name in release.selected:
            click.echo(name)
    if plan.warning:
        words.say("warning", plan.warning, fg="yellow")
    delta = f" and delta {left['delta_left']}" if plan.cost.delta else ""
    known = f"{left['left']}{delta}" if left["left"] else "an unknown amount"
    words.say("charged", f"{plan.cost.words}; {ledger.population} has {known} left")
    words.say("promise", promise)
    words.say("folder", options["out"])


def left_of(ledger: Ledger) -> dict[str, str | None]:
    """What is left; None where the ledger went away since the charge, and the release stands."""
    try:
        return {"left": words.amount(ledger.left()), "delta_left": words.delta(ledger.delta_left())}
    except LedgerError:
        return {"left": None, "delta_left": None}
