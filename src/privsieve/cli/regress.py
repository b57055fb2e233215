"""`privsieve regress`: one least-squares model, from which predictions are free."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from privsieve.cli import options as asked
from privsieve.cli import words
from privsieve.cli.releasing import release
from privsieve.methods.ridge.ridge import Released
from privsieve.release import Release
from privsieve.report.plans import noise


@click.command("regress", cls=asked.OfMethod, methods=("kernel-ridge",), epilog=(
    "Example: privsieve regress patients.csv --domain domain.toml --epsilon 1 "
    "--kernel linear --unit row --ledger budget.db --population clinic-2026 --out model"))
@click.argument("data")
@asked.costing()
@asked.releasing()
def command(data: str, **options: Any) -> None:
    """Fit a least-squares model to DATA under differential privacy, once.

    The target of the domain file is a number with bounds.  The budget is charged before a row is
    read, and is never given back; predictions from DIR are free for ever (`privsieve predict`).
    Columns go to stdout by the length of their weights, the longest first; rbf has none.  What it
    would cost and be worth: privsieve plan --method kernel-ridge.
    """
    plan, source = asked.of_table(data, {**options, "method": "kernel-ridge"})
    release(plan, source, options, lines)
    words.say("noise", noise(plan))


def lines(made: Release) -> Iterator[str]:
    """The columns by the length of their weights; none where features mix all columns."""
    lengths = Released.of(made).lengths()
    if lengths is not None:
        places = sorted(range(len(lengths)), key=lambda j: -lengths[j])
        yield from (f"{made.columns[j]}\t{lengths[j]:.4g}" for j in places)
