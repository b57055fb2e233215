"""`privsieve select`: one selection.  The names go to stdout, the words to stderr."""

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
def command(data: str, asked: MethodOptions, paid: ReleaseOptions) -> None:
    """Choose columns of DATA under differential privacy, once.

    The budget is charged before a row is read, and is never given back.  The chosen names go to
    stdout, one a line; DIR holds the release, with weights where the method releases them.
    """
    refuse(asked.method in OTHERS,
           f"{asked.method} chooses no columns; {OTHERS.get(asked.method)}")
    plan = release(data, asked, paid, lines)
    if plan.kind == "weights":
        words.say("weights", f"one for each of {len(plan.domain.columns)} columns, in release.json "
                             "and report.html; noise of standard deviation "
                             f"{figure(plan.forecast['noise_each'])} on each")


def lines(made: Release) -> Iterator[str]:
    """The names, one a line; then, in words, what else was asked for."""
    yield from made.selected
    if made.missing:
        words.say("target", f"NOT FOUND: {made.missing}", fg="red")
    if made.expected:
        words.say("forecast", made.expected)
    if counts := Selection.counts_of(made.body):
        words.say("classes", counts.text)
