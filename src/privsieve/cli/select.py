"""`privsieve select`: one selection.  The names go to stdout, the words to stderr."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from privsieve.cli import options as asked
from privsieve.cli import words
from privsieve.cli.releasing import release
from privsieve.public.plan import Plan
from privsieve.release import Release, Selection
from privsieve.report.plans import figure


@click.command("select", cls=asked.OfMethod, epilog=(
    "Example: privsieve select patients.csv --domain domain.toml --epsilon 0.5 --top 6 "
    "--unit row --ledger budget.db --population clinic-2026 --out first"))
@click.argument("data")
@asked.choosing
@asked.releasing()
def command(data: str, **options: Any) -> None:
    """Choose columns of DATA under differential privacy, once.

    The budget is charged before a row is read, and is never given back.  The chosen names go to
    stdout, one a line; DIR holds the release, with weights where the method releases them.
    """
    asked.demand_choosing(options["method"])
    plan, source = asked.of_table(data, options)
    release(plan, source, options, lambda made: shown(made, plan))
    if plan.kind == "weights":
        words.say("weights", f"one for each of {len(plan.domain.columns)} columns, in release.json "
                             "and report.html; noise of standard deviation "
                             f"{figure(plan.forecast['noise_each'])} on each")


def shown(made: Release, plan: Plan) -> Iterator[str]:
    """The names, one a line; then, in words, what else was asked for."""
    yield from made.selected
    if not plan.chooses:
        return
    if made.missing:
        words.say("target", f"NOT FOUND: {made.missing}", fg="red")
    if made.expected:
        words.say("forecast", made.expected)
    if counts := Selection.counts_of(made.body):
        words.say("classes", counts.text)
