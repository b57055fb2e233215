"""`privsieve audit`: attack a method on two made-up tables that are hard for it."""

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
    """Attack METHOD: try to distinguish two tables that differ in one row or person.

    The tables are public and made up; nothing is charged.  A bound above the claim refutes the
    claim (exit code 7), and is wrong at most once in a hundred times.  A bound below the claim
    proves nothing.  Ctrl-C stops with the bound so far.

    mode : which rule of the method is attacked, for example joint, persons or threshold; any other
        word lists them
    epsilon : the claim to test
    runs : runs on each of the two tables; more runs detect more.  Default: 3,000, or the number
        that the mode needs
    """
    claimed, tables = Cost.of(epsilon, allow_weak=True), pair(method, mode)
    name = f"{method}, {mode}" if mode else method
    attacked = tables.attacked(claimed.epsilon)
    wanted = 2 * (tables.runs if runs is None else runs)
    with staged() as progress:
        progress.stage(f"attacking {name}")
        number = count(1)

        def attack(table: Any) -> Any:
            progress.known(f"run {next(number):,} of {wanted:,}")
            return attacked(table)

        result = audit(attack, tables.first, tables.second, epsilon=float(claimed.epsilon),
                       delta=tables.delta, profile=wanted // 2)
    bound, likely = (f"{max(0.0, each):.3f}" for each in (result.bound, result.bound95))

    def lines() -> Iterator[tuple[str, str]]:
        delta = f" and delta {tables.delta:g}" if tables.delta else ""
        stopped = f" of {wanted:,} (stopped)" if result.runs < wanted else ""
        yield "method", name
        yield "claimed", f"epsilon {claimed.text}{delta}"
        yield "measured", (f"epsilon at least {bound} (99 % confidence), at least {likely} (95 %), "
                           f"by {result.view}")
        yield "runs", f"{result.runs:,}{stopped}, on two made-up tables of {len(tables.first)} rows"
        yield "REFUTED" if result.exceeded else result.verdict, ""

    if result.verdict == "saw nothing":
        words.say("advice", "this attack could not distinguish the tables, so it does not support "
                            "the claim; try more --runs")
    return Outcome(
        {"method": method, "mode": mode, "epsilon": claimed.text, "bound": bound,
         "bound95": likely, "exceeded": result.exceeded, "verdict": result.verdict,
         "view": result.view, "runs": result.runs}, lines(), None if not result.exceeded else
        f"{name} reveals at least epsilon {bound}, above the claim {claimed.text}; one such alarm "
        "in a hundred is false, so repeat with more --runs, and do not rely on the method if it "
        "fails again")
