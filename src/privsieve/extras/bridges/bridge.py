"""`privsieve bridge`: a table in the form of sdcMicro or ARX, before anything is published."""

from __future__ import annotations

from typing import Any

import click

from privsieve.cli import tables, words
from privsieve.cli.options import refuse
from privsieve.cli.progress import staged
from privsieve.cli.publish import check_target, diversity, target
from privsieve.cli.verb import Verb
from privsieve.extras.bridges.arx import arx, read_arx
from privsieve.extras.bridges.sdcmicro import sdcmicro
from privsieve.extras.bridges.table import exported, write_folder

#: Other tools: their names, and what is to be done in their folder.
_NAMES = {"sdcmicro": "sdcMicro", "arx": "ARX"}
_NEXT = {
    "sdcmicro": "Rscript sdc.R, in that folder; what it does beyond counting is sdcMicro's, and "
                "stands in the script with a # before it",
    "arx": "javac and java with libarx.jar, in that folder (Anonymize.java says how), or open its "
           "data and hierarchies in ARX",
}


@click.command("bridge", cls=Verb, epilog=(
    "Example: privsieve bridge arx patients.csv --target ill -k 5 --out for-arx"))
@click.argument("tool", type=click.Choice(list(_NAMES)))
@click.argument("data")
@click.option("-k", "k", metavar="K", type=int, required=True,
              help="Each row's group has at least so many rows.")
@tables.table
@diversity
@tables.limits
@target
@click.option("--by-path", is_flag=True,
              help="Of sdcmicro: the script names DATA, and no table is written.")
@click.option("--out", metavar="DIR", required=True, help="The folder; it must not exist.")
def command(tool: str, data: str, **options: Any) -> None:
    """PRIVATE: write the rows of DATA with their roles to DIR, for TOOL: sdcmicro or arx.

    Nothing is chosen, and nothing is published.
    """
    check_target(options)
    refuse(options["by_path"] and tool != "sdcmicro",
           "--by-path is for sdcmicro: ARX is given the cells in a form of its own; leave it away")
    with staged() as progress:
        progress.stage("reading the table")
        table = tables.opened(data, options)
    limits = tables.limits_of(options["l_diversity"], options)
    made = exported(data, table, tables.roles_of(table, options), options["k"],
                    tables.domain_of(options))
    if tool == "sdcmicro":
        write_folder(options["out"], sdcmicro(made, by_path=options["by_path"]))
    else:
        write_folder(options["out"], arx(made, limits), read_arx)
    words.say("level", f"{made.level} rows in the smallest group that is equal in all "
                       f"{len(made.of('known'))} known columns, as {_NAMES[tool]} counts; "
                       f"{made.below} rows in groups below k = {made.k}")
    words.say("folder", f"{options['out']} (PRIVATE: not to be released)", fg="yellow")
    words.say("next", _NEXT[tool])
    if options["as_json"]:
        words.json({"folder": options["out"], "tool": tool, "level": made.level,
                    "known": [one.name for one in made.of("known")], "below": made.below,
                    "k": made.k})
