"""`privsieve synthesize`: a noisy table of counts, and synthetic rows that are made of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from privsieve.cli import options as asked
from privsieve.cli import words
from privsieve.errors import ParameterError, ReleaseFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privsieve.core.plan import Plan
    from privsieve.core.release import Release
    from privsieve.privacy.folder import Folder
    from privsieve.privacy.ledger import Ledger
    from privsieve.sources import Source

_EXAMPLE = ("Example: privsieve synthesize patients.csv --domain domain.toml --epsilon 1 --top 3 "
            "--rows 5000 --unit row --ledger budget.db --population clinic-2026 --out tabled")

#: What a release folder calls its synthetic rows.
NAME = "synthetic.csv"
#: What a table needs to be planned, and to be released.
_PLANNED = ("domain_file", "epsilon")
_NEEDED = (*_PLANNED, "rows", "ledger", "population", "out")


@click.command("synthesize", epilog=_EXAMPLE)
@click.argument("data", required=False)
@click.option("--domain", "domain_file", metavar="FILE",
              help="The domain file: columns, bounds, label, unit.")
@click.option("--epsilon", metavar="E", help="What this release may cost, for example 1.")
@click.option("--delta", metavar="D",
              help="Allow this much beyond epsilon: then only cells that enough rows share are "
                   "named, of a table of any size.")
@click.option("--columns", metavar="A,B,…", help="Tabulate these columns; all where left out.")
@click.option("--top", metavar="K", type=int,
              help="Or: choose so many columns first, in the same release.")
@click.option("--share", metavar="S", help="With --top: the part of epsilon for the choice (0.5).")
@click.option("--no-target", is_flag=True, help="Leave the target out of the table.")
@click.option("--bins", metavar="N", type=int,
              help="Bins of equal width of a number or date (8).")
@click.option("--bin", "some_bins", metavar="COLUMN=N", multiple=True,
              help="Bins of one column; once for each.")
@click.option("--rows", metavar="N", type=int, help="How many rows to make.")
@click.option("--unit", type=click.Choice(["row"]),
              help="Protect a row, where the domain file does not name the unit.")
@click.option("--person", metavar="COLUMN",
              help="Or: protect a person; this column says whose row it is.")
@click.option("--rows-per-person", metavar="G", type=int,
              help="Rows of a person that are counted at most.")
@click.option("--persons", metavar="N", type=int,
              help="Persons in the table: a public round figure.")
@click.option("--ledger", metavar="FILE", help="The budget, made by `ledger grant`.")
@click.option("--population", metavar="NAME", help="The people whom the budget protects.")
@click.option("--out", metavar="DIR",
              help="The release folder; it must not exist.  With --from: a new file, or stdout.")
@click.option("--from", "from_folder", metavar="DIR",
              help="Make more rows of this release instead; costs nothing.")
@click.option("--plan", "only_plan", is_flag=True,
              help="Say size, noise and forecast, and stop: reads no row, charges nothing.")
@click.option("--anyway", is_flag=True, help="Go on although the forecast warns.")
@click.option("--allow-weak", is_flag=True, help="Accept an epsilon above 10.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines.")
def command(data: str | None, **options: Any) -> None:
    """Count rows of DATA over a few columns and the target, with noise, and make rows of that.

    The budget is charged before a row is read, and is never given back.  DIR holds the release,
    its certificate, and synthetic.csv, which is made of the release alone.
    """
    if options["from_folder"] is not None:
        _again(data, options)
        return
    _check(data, options)
    from privsieve.histogram.released import check_rows
    from privsieve.privacy.ledger import Ledger

    plan, source = _planned(str(data), options)
    if options["only_plan"]:
        _forecast(plan, options)
        return
    check_rows(options["rows"])
    if plan.warning and not options["anyway"]:
        raise ParameterError(f"{plan.warning}; to go on all the same, say --anyway "
                             "(nothing was charged)")
    ledger = Ledger(options["ledger"], population=options["population"])
    _run(plan, source, ledger, options)


def _check(data: str | None, options: Mapping[str, Any]) -> None:
    needed = _PLANNED if options["only_plan"] else _NEEDED
    missing = [name for name in needed if options[name] is None]
    if data is None or missing:
        what = "DATA" if data is None else f"--{missing[0].removesuffix('_file')}"
        raise ParameterError(f"{what} is missing; name a table with --domain, --epsilon, --rows, "
                             "--ledger, --population and --out, or a release with --from DIR and "
                             "--rows")
    if options["columns"] and options["top"] is not None:
        raise ParameterError("--columns names the columns, and --top chooses them; give one")
    if options["share"] and options["top"] is None:
        raise ParameterError("--share is for a choice: say --top K, or leave it away")


def _planned(data: str, options: Mapping[str, Any]) -> tuple[Plan, Source]:
    """The plan that the options ask for; `--rows` speaks of the rows to make, and not of DATA."""
    from privsieve.histogram.noisy_histogram import plan

    domain, source, rows = asked.opened(asked.public({**options, "rows": None}), data)
    given: dict[str, Any] = {
        "delta": options["delta"], "k": options["top"], "share": options["share"],
        "columns": options["columns"].split(",") if options["columns"] else None,
        "bins": _bins(options),
    }
    return plan(domain, epsilon=options["epsilon"], rows=rows, target=not options["no_target"],
                allow_weak=options["allow_weak"],
                **{name: value for name, value in given.items() if value is not None}), source


def _bins(options: Mapping[str, Any]) -> int | Mapping[str, int] | None:
    """One number of bins, or one for each column that has its own."""
    own: dict[str, int] = {}
    for text in options["some_bins"]:
        name, _, many = text.rpartition("=")
        if not name or not many.isdecimal() or not many.isascii():
            raise ParameterError(f"--bin is {text!r}; write a column, = and a number of bins")
        own[name] = int(many)
    if own and options["bins"] is not None:
        raise ParameterError("--bins and --bin are both given; columns without a --bin have 8: "
                             "name each that shall have another number")
    return own or options["bins"]


def _forecast(plan: Plan, options: Mapping[str, Any]) -> None:
    """What a release would cost and be worth, from public numbers."""
    from privsieve.privacy.certificate import UNIT

    if options["as_json"]:
        words.json({**plan.json(), "forecast": plan.forecast, "warning": plan.warning})
        return
    k, cells = plan.settings["k"], plan.forecast["cells"]
    words.show("tabulate", f"{k} of {len(plan.domain.columns)} columns: at most {cells} cells")
    words.show("cost", f"{plan.cost.words}, charged before a row is read")
    words.show("protects", f"{UNIT[plan.domain.unit]} ({plan.domain.neighbours})")
    words.show("rows" if plan.domain.unit == "row" else "persons", f"{plan.units}")
    words.show("noise", f"of about {plan.forecast['noise_each']} on each count (standard "
                        "deviation)")
    if "expected_error" in plan.forecast:
        words.show("error", f"noise moves about {plan.forecast['expected_error']} of the table, "
                            "in total variation, before it is made fit")
    else:
        words.show("threshold", f"cells are named from a noisy count of "
                                f"{plan.settings['threshold']} on")
    words.show("theorem", f"{plan.theorem}; assumes {', '.join(plan.assumes)}")
    if plan.warning:
        words.show("warning", plan.warning, fg="yellow")


def _run(plan: Plan, source: Source, ledger: Ledger, options: Mapping[str, Any]) -> None:
    """Make the folder, charge, read, release; then rows, of the release alone."""
    from privsieve.cli.releasing import spinner
    from privsieve.cli.sealed import sealed
    from privsieve.fit import fit
    from privsieve.privacy.folder import Folder

    with Folder.create(options["out"]) as folder, sealed() as seal:
        try:
            with spinner() as spin:

                def progress(stage: str) -> None:
                    seal.allow()
                    spin({"reading": "reading the table"}.get(stage, "counting"))

                release = fit(plan, source, ledger=ledger, folder=folder, progress=progress)
                seal.hold()
        except ReleaseFailed:
            raise
        except BaseException:
            # All but a failed release comes before the charge: nothing is to be kept.
            folder.discard()
            raise
        _show(release, plan, ledger, options, _written(folder, release, options["rows"]))


def _written(folder: Folder, release: Release, rows: int) -> bool:
    """Whether synthetic rows lie beside the release: it was paid for, and stands without them."""
    try:
        folder.write(NAME, made(release, rows))
    except (OSError, MemoryError):
        return False
    return True


def made(release: Release, rows: int) -> bytes:
    """Synthetic rows of a release as a CSV file."""
    import numpy as np

    from privsieve.histogram.released import Table
    from privsieve.histogram.written import as_csv

    table = Table.of(release.body)
    # Post-processing: any randomness that has met no row will do.
    return as_csv(table.axes, table.sample(rows, np.random.default_rng()))


def _again(data: str | None, options: Mapping[str, Any]) -> None:
    """Rows of a release that is there; it costs nothing, and no table is read."""
    from privsieve.cli.private_file import new_file
    from privsieve.core.release import load

    useless = [name for name, value in {"data": data, **options}.items()
               if value not in (None, False, ()) and name not in ("from_folder", "rows", "out")]
    if useless:
        what = "DATA" if useless[0] == "data" else f"--{_flag(useless[0])}"
        raise ParameterError(f"{what} is given with --from, which makes rows of a release that is "
                             "there; leave it away")
    if options["rows"] is None:
        raise ParameterError("--rows is missing: say how many rows to make")
    found = made(load(Path(options["from_folder"])), options["rows"])
    if options["out"] is None:
        click.echo(found, nl=False)
        return
    with new_file(options["out"], "of synthetic rows") as file:
        file.write(found)
    words.say("rows", f"{options['rows']} synthetic rows, at no cost")
    words.say("file", options["out"])


def _flag(name: str) -> str:
    known = {"domain_file": "domain", "some_bins": "bin", "as_json": "json",
             "only_plan": "plan"}
    return known.get(name, name.replace("_", "-"))


def _show(release: Release, plan: Plan, ledger: Ledger, options: Mapping[str, Any],
          written: bool) -> None:  # noqa: FBT001  # one of two endings
    from privsieve.cli.releasing import left_of
    from privsieve.privacy.certificate import sentence

    assert release.certificate is not None
    left, promise = left_of(ledger), sentence(release.certificate)
    if options["as_json"]:
        words.json({"release": release.body, "release_sha256": release.sha256, "claim": promise,
                    "charged": plan.cost.text, "delta_charged": plan.cost.delta_text, **left})
    else:
        for name in release.selected:
            click.echo(name)
    if plan.warning:
        words.say("warning", plan.warning, fg="yellow")
    _told(plan, options["rows"], written)
    words.say("charged", f"{plan.cost.words}; {ledger.population} has "
                         f"{left['left'] or 'an unknown amount'} left")
    words.say("promise", promise)
    words.say("folder", options["out"])


def _told(plan: Plan, rows: int, written: bool) -> None:  # noqa: FBT001  # one of two endings
    words.say("table", f"{plan.forecast['cells']} cells, with noise of about "
                       f"{plan.forecast['noise_each']} on each")
    if written:
        words.say("rows", f"{rows} synthetic rows in {NAME}, made of release.json alone; other "
                          "draws cost nothing (--from)")
    else:
        words.say("rows", "they could not be written; the release stands: make them with --from",
                  fg="yellow")
