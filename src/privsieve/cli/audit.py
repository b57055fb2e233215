"""`privsieve audit`: attack a method on two made-up tables that are hard on it."""

from __future__ import annotations

from itertools import count
from typing import Any

import click

from privsieve.cli import words
from privsieve.cli.progress import shown
from privsieve.errors import CheckFailed


@click.command("audit", epilog="Example: privsieve audit rule-sieve --epsilon 1 --runs 10000")
@click.argument("method")
@click.option("--epsilon", metavar="E", default="1", show_default=True,
              help="What the method is to keep.")
@click.option("--runs", metavar="N", type=int, default=3000, show_default=True,
              help="Runs on each of the two tables; more of them see more.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines.")
def command(method: str, epsilon: str, runs: int, as_json: bool) -> None:  # noqa: FBT001  # click gives it by name
    """Attack METHOD: try to tell two tables apart that differ in one row.

    The tables are public and made up, and hard on the method; nothing is charged.  A bound above
    the claim refutes it (exit code 7), and is wrong once in a hundred times; a bound below proves
    nothing.
    """
    from privsieve.check.audit import audit
    from privsieve.check.pairs import pair
    from privsieve.public.cost import Cost

    claimed, tables = Cost.of(epsilon, allow_weak=True), pair(method)
    attacked = tables.attacked(claimed.epsilon)
    with shown() as progress:
        progress.stage(f"attacking {method}")
        number = count(1)

        def attack(table: Any) -> Any:
            progress.known(f"run {next(number)} of {2 * runs}")
            return attacked(table)

        found = audit(attack, tables.first, tables.second, epsilon=float(claimed.epsilon),
                      profile=runs)
    bound, likely = (f"{max(0.0, each):.3f}" for each in (found.bound, found.bound95))
    if as_json:
        words.json({"method": method, "epsilon": claimed.text, "bound": bound, "bound95": likely,
                    "exceeded": found.exceeded, "runs": found.runs})
    else:
        words.show("method", method)
        words.show("claimed", f"epsilon {claimed.text}")
        words.show("found", f"at least {bound} (99 % sure), at least {likely} (95 %)")
        words.show("runs", f"{found.runs}, on two made-up tables of {len(tables.first)} rows")
        words.show("not refuted" if not found.exceeded else "REFUTED", bold=True,
                   fg="red" if found.exceeded else "green")
    if found.exceeded:
        raise CheckFailed(f"{method} gives away epsilon {bound} at least, and {claimed.text} is "
                          "claimed; one such alarm in a hundred is false: run it again with more "
                          "--runs, and if it stands do not rely on the method")
