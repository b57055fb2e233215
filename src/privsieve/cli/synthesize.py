"""`privsieve synthesize`: a noisy table of counts, and synthetic rows made from it."""

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

#: The file of synthetic rows in a release folder.
NAME = "synthetic.csv"
METHOD = "noisy-histogram"


@dataclass(frozen=True, kw_only=True)
class CountsOptions(PlanOptions):
    """Table and release.

    rows : the number of synthetic rows
    """

    COMMAND: ClassVar[Any] = partial(MethodVerb, methods=(METHOD,))

    rows: int = field()
    method: Any = METHOD

    def declared(self) -> Domain:
        """Read the domain file; `rows` are the synthetic rows, not those of DATA."""
        return self.protecting(Domain.from_toml(self.domain), None)

    def of_table(self, data: str, *, head: str | None) -> tuple[Plan, Source]:
        """Plan a table whose names and values can be written to a CSV file."""
        plan, source = super().of_table(data, head=head)
        names: Any = plan.settings["columns"] or plan.domain.names
        demand_cells(column for column in (*plan.domain.columns, plan.domain.target)
                     if column is not None and column.name in {*names, plan.settings["target"]})
        return plan, source


@verb("--from first --rows 5000")
def again(*, from_: Dir, rows: int, out: Dir | None = None) -> Outcome:
    """Make synthetic rows from an existing release; this costs nothing and reads no table.

    from_ : make rows from this existing release, into --out or on stdout, at no cost.  The same
        number of rows gives the same rows
    rows : the number of synthetic rows
    out : a new file for the rows
    """
    text = synthetic_csv(verified(existing(from_), "no rows are made").body, rows).decode()
    return kept(text, {"rows": str(rows), "csv": text}, out)


@verb("patients.csv --domain domain.toml --epsilon 1 --top 3 --rows 5000 --unit row "
      "--ledger budget.db --population clinic-2026 --out tabled", instead=again)
def command(data: str, options: CountsOptions, paid: ReleaseOptions) -> None:
    """Count rows of DATA over a few columns and the target, with noise, and make synthetic rows.

    The budget is charged before a row is read, and is never refunded.  DIR holds the release, its
    certificate, and synthetic.csv, made from the release alone.  To see the cost first: privsieve
    plan --method noisy-histogram.  Without DATA, --from RELEASE makes rows again, at no cost.
    """
    check_rows(options.rows)

    def beside(folder: Folder, table: Release) -> None:
        # The release was paid for, and is valid without synthetic rows.
        with suppress(OSError, MemoryError):
            folder.write(NAME, synthetic_csv(table.body, options.rows))

    plan = release(data, options, paid, lambda table: table.selected, beside)
    words.say("table", f"{int(str(plan.forecast['cells'])):,} cells, with noise of about "
                       f"{plan.forecast['noise_each']} on each")
    if (Path(paid.out) / NAME).is_file():
        words.say("rows", f"{options.rows:,} synthetic rows in {NAME}, made from release.json "
                          "alone; more rows cost nothing (--from)")
    else:
        words.say("rows", "synthetic.csv could not be written; the release is valid. Make the "
                          "rows with --from", fg="yellow")
