"""`privsieve select`: one selection.  The names go to stdout, notes to stderr."""

from __future__ import annotations

from collections.abc import Iterator

from privsieve.cli import words
from privsieve.cli.options import OTHERS, MethodOptions, refuse
from privsieve.cli.releasing import ReleaseOptions, release
from privsieve.cli.verb import verb
from privsieve.release import Release, Selection
from privsieve.report.plans import figure


@verb("patients.csv --domain domain.toml --epsilon 0.5 --top 6 --unit row --ledger budget.db "
      "--population clinic-2026 --out first")
def command(data: str, options: MethodOptions, paid: ReleaseOptions) -> None:
    """Choose columns of DATA under differential privacy.

    The budget is charged before a row is read, and is never refunded.  Prints the chosen names, one
    a line.  DIR holds the release, with the weights if the method releases them.
    """
    refuse(options.method in OTHERS,
           f"{options.method} does not choose columns; {OTHERS.get(options.method)}")
    plan = release(data, options, paid, lines)
    if plan.kind == "weights":
        words.say("weights", f"{len(plan.domain.columns):,} weights, in release.json and "
                             "report.html; noise of standard deviation "
                             f"{figure(plan.forecast['noise_each'])} on each")


def lines(selection: Release) -> Iterator[str]:
    """Yield the names, one a line; say on stderr what else was released."""
    yield from selection.selected
    if selection.missing:
        words.say("target", f"NOT FOUND: {selection.missing}", fg="red")
    if selection.expected:
        words.say("forecast", selection.expected)
    if counts := Selection.counts_of(selection.body):
        words.say("classes", counts.text)
