"""`privsieve synthesize`: a noisy table of counts, and synthetic rows that are made of it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from privsieve.cli import options as asked
from privsieve.cli import words
from privsieve.cli.private import result
from privsieve.cli.releasing import release, verified
from privsieve.cli.verb import existing, written
from privsieve.ledger.folder import Folder
from privsieve.methods.histogram.released import check_rows, synthetic_csv
from privsieve.public.domain import demand_cells
from privsieve.release import Release

#: What a release folder calls its synthetic rows.
NAME = "synthetic.csv"
#: What a table needs to be released.
_NEEDED = ("data", "domain_file", "epsilon", "rows", "ledger", "population", "out")
#: What may be said where rows are made of a release that is there.
_FREE = ("from_folder", "rows", "out", "as_json")


@click.command("synthesize", cls=asked.OfMethod, methods=("noisy-histogram",), epilog=(
    "Example: privsieve synthesize patients.csv --domain domain.toml --epsilon 1 --top 3 "
    "--rows 5000 --unit row --ledger budget.db --population clinic-2026 --out tabled"))
@click.argument("data", required=False)
@asked.costing(
    click.option("--top", metavar="K", type=int,
                 help="Choose so many columns first, in the same release."),
    click.option("--rows", metavar="N", type=int, help="How many rows to make."),
    required=False, rows=False,
)
@asked.releasing(required=False)
@click.option("--from", "from_folder", metavar="DIR",
              help="Make rows of this release instead, into --out or on stdout; costs nothing.  "
                   "The same number of rows are the same rows.")
def command(data: str | None, **options: Any) -> None:
    """Count rows of DATA over a few columns and the target, with noise, and make rows of that.

    The budget is charged before a row is read, and is never given back.  The tabulated names go to
    stdout; DIR holds the release, its certificate, and synthetic.csv, which is made of the release
    alone.  What it would cost and be worth: privsieve plan --method noisy-histogram.
    """
    if options["from_folder"] is not None:
        _again(data, options)
        return
    lacks = [written(one) for one, value in _values(data, options)
             if one.name in _NEEDED and value is None]
    asked.refuse(lacks, f"Missing: {', '.join(lacks)}; or make rows of a release, with --from DIR")
    check_rows(options["rows"])
    # `--rows` speaks of the rows to make, and not of DATA.
    plan, source = asked.of_table(
        str(data), {**options, "rows": None, "method": "noisy-histogram"})
    domain, kept = plan.domain, False
    named: Any = plan.settings["columns"] or domain.names
    demand_cells(part for part in (*domain.columns, domain.target)
                 if part is not None and part.name in {*named, plan.settings["target"]})

    def beside(folder: Folder, made: Release) -> None:
        nonlocal kept
        # The release was paid for, and stands without its rows.
        with suppress(OSError, MemoryError):
            folder.write(NAME, synthetic_csv(made.body, options["rows"]))
            kept = True

    release(plan, source, options, lambda made: made.selected, beside)
    words.say("table", f"{plan.forecast['cells']} cells, with noise of about "
                       f"{plan.forecast['noise_each']} on each")
    if kept or (Path(options["out"]) / NAME).is_file():
        words.say("rows", f"{options['rows']} synthetic rows in {NAME}, made of release.json "
                          "alone; more of them cost nothing (--from)")
    else:
        words.say("rows", "they could not be written; the release stands: make them with --from",
                  fg="yellow")


def _values(data: str | None, options: Mapping[str, Any]) -> list[tuple[click.Parameter, Any]]:
    """Each parameter with what was said of it."""
    ctx = click.get_current_context()
    said = {"data": data, **options}
    return [(one, said[one.name]) for one in ctx.command.get_params(ctx) if one.name in said]


def _again(data: str | None, options: Mapping[str, Any]) -> None:
    """Rows of a release that is there; it costs nothing, and no table is read."""
    for one, value in _values(data, options):
        asked.refuse(value not in (None, False, ()) and one.name not in _FREE,
                     f"{written(one)} is given with --from, which makes rows of a release that is "
                     "there; leave it away")
    asked.refuse(options["rows"] is None, "--rows is missing: say how many rows to make")
    folder = str(existing(None, None, options["from_folder"]))
    made = synthetic_csv(verified(folder, "no row is made").body, options["rows"]).decode()
    result(made, {"rows": str(options["rows"]), "csv": made}, options)
