"""`privsieve publish --export`: a private folder for sdcMicro or ARX; nothing is published."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from privsieve.cli import words
from privsieve.errors import ParameterError

if TYPE_CHECKING:
    from privsieve.containment.labelled import Labelled, Roles

_NEXT = {
    "sdcmicro": "Rscript sdc.R, in that folder; what it does beyond counting is sdcMicro's, and "
                "stands in the script with a # before it",
    "arx": "javac and java with libarx.jar, in that folder (Anonymize.java says how), or open its "
           "data and hierarchies in ARX",
}


def export(data: str, table: Labelled, roles: Roles, options: Mapping[str, Any]) -> None:
    """Write the folder that `--export` asks for.

    `options` are those of `publish`: export, by_path, k, out, domain_file, and the limits
    l_diversity, entropy_l, closeness and max_share, where they are given.
    """
    from privsieve.bridges.arx import arx, read_arx
    from privsieve.bridges.sdcmicro import sdcmicro
    from privsieve.bridges.table import exported, write_folder
    from privsieve.containment.limits import Limits
    from privsieve.public.domain import Domain

    kind = options["export"]
    if options.get("by_path") and kind != "sdcmicro":
        raise ParameterError("--by-path is for --export sdcmicro: ARX is given the cells in a form "
                             "of its own; leave it away")
    limits = Limits.of(distinct=options.get("l_diversity"), share=options.get("max_share"),
                       entropy=options.get("entropy_l"), closeness=options.get("closeness"))
    domain = Domain.from_toml(options["domain_file"]) if options.get("domain_file") else None
    found = exported(data, table, roles, options["k"], domain.csv if domain else None)
    if kind == "sdcmicro":
        files = sdcmicro(found, by_path=bool(options.get("by_path")))
        write_folder(options["out"], files)
    else:
        write_folder(options["out"], arx(found, limits), read_arx)
    words.say("level", f"{found.level} rows in the smallest group that is equal in all "
                       f"{len(found.of('known'))} known columns, as {_NAMES[kind]} counts; "
                       f"{found.below} rows in groups below k = {found.k}")
    words.say("folder", f"{options['out']} (PRIVATE: not to be released)", fg="yellow")
    words.say("next", _NEXT[kind])


_NAMES = {"sdcmicro": "sdcMicro", "arx": "ARX"}

