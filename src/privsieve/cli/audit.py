"""`privsieve audit`: attack a method on two made-up tables that are hard on it."""

from __future__ import annotations

from itertools import count
from typing import Any

import click

from privsieve.check.audit import Audit, audit
from privsieve.cli import words
from privsieve.cli.options import methods_beginning
from privsieve.cli.progress import staged
from privsieve.cli.verb import Verb
from privsieve.errors import CheckFailed
from privsieve.methods.worst import pair
from privsieve.public.plan import Cost

#: How each verdict is said, and in which colour.
_SAID = {"refuted": ("REFUTED", "red"), "stands": ("stands", "green"),
         "saw nothing": ("saw nothing", "yellow")}


@click.command("audit", cls=Verb,
               epilog="Example: privsieve audit rule-sieve --epsilon 1 --runs 10000")
@click.argument("method", shell_complete=methods_beginning)
@click.option("--mode", metavar="NAME", default="",
              help="What of the method is attacked, for example joint, persons or threshold; a "
                   "name that is none lists them.")
@click.option("--epsilon", metavar="E", default="1", show_default=True,
              help="What the method is to keep.")
@click.option("--runs", metavar="N", type=int,
              help="Runs on each of the two tables; more of them see more.  Left out: 3000, or as "
                   "many as the mode needs.")
def command(method: str, mode: str, epsilon: str, runs: int | None, as_json: bool) -> None:  # noqa: FBT001  # click gives it by name
    """Attack METHOD: try to tell two tables apart that differ in one row, or person.

    The tables are public and made up, and hard on the method; nothing is charged.  A bound above
    the claim refutes it (exit code 7), and is wrong once in a hundred times; a bound below proves
    nothing, and an attack that saw nothing says so.  Ctrl-C ends it with the bound so far.
    """
    claimed, tables = Cost.of(epsilon, allow_weak=True), pair(method, mode)
    name = f"{method}, {mode}" if mode else method
    attacked = tables.attacked(claimed.epsilon)
    runs = tables.runs if runs is None else runs
    with staged() as progress:
        progress.stage(f"attacking {name}")
        number = count(1)

        def attack(table: Any) -> Any:
            progress.known(f"run {next(number)} of {2 * runs}")
            return attacked(table)

        found = audit(attack, tables.first, tables.second, epsilon=float(claimed.epsilon),
                      delta=tables.delta, profile=runs)
    bound, likely = (f"{max(0.0, each):.3f}" for each in (found.bound, found.bound95))
    delta = f" and delta {tables.delta:g}" if tables.delta else ""
    if as_json:
        words.json({"method": method, "mode": mode, "epsilon": claimed.text, "bound": bound,
                    "bound95": likely, "exceeded": found.exceeded, "verdict": found.verdict,
                    "view": found.view, "runs": found.runs})
    else:
        words.show("method", name)
        words.show("claimed", f"epsilon {claimed.text}{delta}")
        words.show("found", f"at least {bound} (99 % sure), at least {likely} (95 %), by "
                            f"{found.view}")
        _conclude(found, 2 * runs, len(tables.first))
    if found.exceeded:
        raise CheckFailed(f"{name} gives away epsilon {bound} at least, and {claimed.text} is "
                          "claimed; one such alarm in a hundred is false: run it again with more "
                          "--runs, and if it stands do not rely on the method")


def _conclude(found: Audit, asked: int, rows: int) -> None:
    """How often it ran, and the verdict."""
    stopped = f" of {asked}, when it was stopped" if found.runs < asked else ""
    words.show("runs", f"{found.runs}{stopped}, on two made-up tables of {rows} rows")
    said, colour = _SAID[found.verdict]
    words.show(said, bold=True, fg=colour)
    if found.verdict == "saw nothing":
        words.say("advice", "this attack could not tell the tables apart at all, which says "
                            "nothing for the claim: try more --runs")
