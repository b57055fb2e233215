"""`privsieve bridge`: export a table to sdcMicro or ARX, before anything is published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from privsieve.cli import words
from privsieve.cli.options import refuse
from privsieve.cli.progress import staged
from privsieve.cli.verb import Outcome, verb
from privsieve.containment.options import GroupOptions, TableOptions
from privsieve.extras.bridges.arx import arx
from privsieve.extras.bridges.sdcmicro import sdcmicro
from privsieve.extras.bridges.table import exported, write_folder
from privsieve.public.option import Dir

#: Other tools: their names, and what to do in their folder.
_NAMES = {"sdcmicro": "sdcMicro", "arx": "ARX"}
_NEXT = {
    "sdcmicro": "run Rscript sdc.R in that folder; the script also contains further steps of "
                "sdcMicro, as comments",
    "arx": "run javac and java with libarx.jar in that folder (see Anonymize.java), or open its "
           "data and hierarchies in ARX",
}


@dataclass(frozen=True, kw_only=True)
class BridgeOptions:
    """The folder.

    k : the least number of rows in each group
    out : the folder; it must not exist
    by_path : for sdcmicro: the script reads DATA itself, and no table is written
    """

    k: int
    out: Dir
    by_path: bool = False


@verb("arx patients.csv --target ill -k 5 --out for-arx")
def command(tool: Literal["sdcmicro", "arx"], data: str, place: BridgeOptions,
            options: TableOptions, wanted: GroupOptions) -> Outcome:
    """PRIVATE: write the rows of DATA with their roles to DIR, for TOOL: sdcmicro or arx.

    It chooses and publishes nothing.
    """
    wanted.demand_target(options)
    limits = wanted.limits(wanted.l_diversity)
    refuse(place.by_path and tool != "sdcmicro",
           "--by-path works only with sdcmicro; remove it: ARX needs the cells in another form")
    with staged() as progress:
        progress.stage("reading the table")
        table = options.opened(data, place.k)
    roles = options.roles(table, target_known=wanted.target_known)
    export = exported(data, table, roles, place.k, options.facts)
    write_folder(place.out, sdcmicro(export, by_path=place.by_path) if tool == "sdcmicro" else
                 arx(export, limits))
    words.say("level", f"{export.level} rows in the smallest group of rows that are equal in all "
                       f"{len(export.of('known'))} known columns, as {_NAMES[tool]} counts; "
                       f"{export.below} rows in groups below k = {export.k}")
    words.say("folder", f"{place.out} (PRIVATE: do not release)", fg="yellow")
    words.say("next", _NEXT[tool])
    return Outcome({"folder": place.out, "tool": tool, "level": export.level,
                    "known": [column.name for column in export.of("known")], "below": export.below,
                    "k": export.k})
