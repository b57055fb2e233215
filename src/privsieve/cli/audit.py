"""`privsieve audit`: try to distinguish two made-up tables by the output of a method."""

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

    The tables are made up, and nothing is charged.  Measures an epsilon that the method has at
    least, with 99 % confidence.  If this is above the claim, the claim is false (exit code 7);
    otherwise nothing is proved.  Ctrl-C stops with the result so far.

    mode : the variant of the method to attack, such as joint; a wrong name prints the list
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
        yield ("REFUTED" if result.exceeded else
               "the claim stands" if result.verdict == "stands" else result.verdict), ""

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
