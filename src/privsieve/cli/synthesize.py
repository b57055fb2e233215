"""`privsieve synthesize`: a noisy table of counts, and synthetic rows that are made of it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from privsieve.cli import words
from privsieve.cli.options import MethodVerb, PlanOptions
from privsieve.cli.private import kept
from privsieve.cli.releasing import ReleaseOptions, release, verified
from privsieve.cli.verb import Outcome, existing, verb
from privsieve.folder import Folder
from privsieve.methods.histogram.released import check_rows, synthetic_csv
from privsieve.public.domain import Domain, demand_cells
from privsieve.public.option import Dir
from privsieve.public.plan import Plan
from privsieve.release import Release
from privsieve.rows import Source

#: What a release folder calls its synthetic rows.
NAME = "synthetic.csv"
METHOD = "noisy-histogram"


@dataclass(frozen=True, kw_only=True)
class CountsOptions(PlanOptions):
    """Table and release.

    rows : how many rows to make
    """

    COMMAND: ClassVar[Any] = partial(MethodVerb, methods=(METHOD,))

    rows: int = field()
    method: Any = METHOD

    def declared(self) -> Domain:
        """Read the domain file; `rows` speaks of the rows to make, and not of DATA."""
        return self.protecting(Domain.from_toml(self.domain), None)

    def of_table(self, data: str, *, head: str | None) -> tuple[Plan, Source]:
        """Plan a table whose names and values may stand in a CSV file."""
        plan, source = super().of_table(data, head=head)
        names: Any = plan.settings["columns"] or plan.domain.names
        demand_cells(part for part in (*plan.domain.columns, plan.domain.target)
                     if part is not None and part.name in {*names, plan.settings["target"]})
        return plan, source


@verb("--from first --rows 5000")
def again(*, from_: Dir, rows: int, out: Dir | None = None) -> Outcome:
    """Make rows of a release that is there; it costs nothing, and no table is read.

    from_ : make rows of this release instead, into --out or on stdout; costs nothing.  The same
        number of rows are the same rows
    rows : how many rows to make
    out : a new file for the rows
    """
    text = synthetic_csv(verified(existing(from_), "no row is made").body, rows).decode()
    return kept(text, {"rows": str(rows), "csv": text}, out)


@verb("patients.csv --domain domain.toml --epsilon 1 --top 3 --rows 5000 --unit row "
      "--ledger budget.db --population clinic-2026 --out tabled", instead=again)
def command(data: str, asked: CountsOptions, paid: ReleaseOptions) -> None:
    """Count rows of DATA over a few columns and the target, with noise, and make rows of that.

    The budget is charged before a row is read, and is never given back.  The tabulated names go to
    stdout; DIR holds the release, its certificate, and synthetic.csv, which is made of the release
    alone.  What it would cost and be worth: privsieve plan --method noisy-histogram.
    """
    check_rows(asked.rows)

    def beside(folder: Folder, made: Release) -> None:
        # The release was paid for, and stands without its rows.
        with suppress(OSError, MemoryError):
            folder.write(NAME, synthetic_csv(made.body, asked.rows))

    plan = release(data, asked, paid, lambda made: made.selected, beside)
    words.say("table", f"{plan.forecast['cells']} cells, with noise of about "
                       f"{plan.forecast['noise_each']} on each")
    if (Path(paid.out) / NAME).is_file():
        words.say("rows", f"{asked.rows} synthetic rows in {NAME}, made of release.json alone; "
                          "more of them cost nothing (--from)")
    else:
        words.say("rows", "they could not be written; the release stands: make them with --from",
                  fg="yellow")
