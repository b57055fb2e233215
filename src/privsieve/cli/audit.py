"""`privsieve audit`: attack a method on two made-up tables that are hard on it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Annotated, Any

from privsieve.check.audit import audit
from privsieve.cli import words
from privsieve.cli.options import Method
from privsieve.cli.progress import staged
from privsieve.cli.verb import Outcome, verb
from privsieve.methods.worst import pair
from privsieve.public.option import Name
from privsieve.public.plan import Cost


@verb("rule-sieve --epsilon 1 --runs 10000")
def command(method: Method, *, mode: Name = "", epsilon: Annotated[str, "E"] = "1",
            runs: int | None = None) -> Outcome:
    """Attack METHOD: try to tell two tables apart that differ in one row, or person.

    The tables are public and made up, and hard on the method; nothing is charged.  A bound above
    the claim refutes it (exit code 7), and is wrong once in a hundred times; a bound below proves
    nothing, and an attack that saw nothing says so.  Ctrl-C ends it with the bound so far.

    mode : what of the method is attacked, for example joint, persons or threshold; a name that is
        none lists them
    epsilon : what the method is to keep
    runs : runs on each of the two tables; more of them see more.  Left out: 3000, or as many as the
        mode needs
    """
    claimed, tables = Cost.of(epsilon, allow_weak=True), pair(method, mode)
    name = f"{method}, {mode}" if mode else method
    attacked = tables.attacked(claimed.epsilon)
    asked = 2 * (tables.runs if runs is None else runs)
    with staged() as progress:
        progress.stage(f"attacking {name}")
        number = count(1)

        def attack(table: Any) -> Any:
            progress.known(f"run {next(number)} of {asked}")
            return attacked(table)

        found = audit(attack, tables.first, tables.second, epsilon=float(claimed.epsilon),
                      delta=tables.delta, profile=asked // 2)
    bound, likely = (f"{max(0.0, each):.3f}" for each in (found.bound, found.bound95))

    def lines() -> Iterator[tuple[str, str]]:
        delta = f" and delta {tables.delta:g}" if tables.delta else ""
        stopped = f" of {asked}, when it was stopped" if found.runs < asked else ""
        yield "method", name
        yield "claimed", f"epsilon {claimed.text}{delta}"
        yield "found", f"at least {bound} (99 % sure), at least {likely} (95 %), by {found.view}"
        yield "runs", (f"{found.runs}{stopped}, on two made-up tables of {len(tables.first)} rows")
        yield "REFUTED" if found.exceeded else found.verdict, ""

    if found.verdict == "saw nothing":
        words.say("advice", "this attack could not tell the tables apart at all, which says "
                            "nothing for the claim: try more --runs")
    return Outcome(
        {"method": method, "mode": mode, "epsilon": claimed.text, "bound": bound,
         "bound95": likely, "exceeded": found.exceeded, "verdict": found.verdict,
         "view": found.view, "runs": found.runs}, lines(), None if not found.exceeded else
        f"{name} gives away epsilon {bound} at least, and {claimed.text} is claimed; one such "
        "alarm in a hundred is false: run it again with more --runs, and if it stands do not rely "
        "on the method")
