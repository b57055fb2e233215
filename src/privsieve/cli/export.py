"""`privsieve export`: a release in a form that others ask for, made of its folder alone.

A table that goes to another tool before anything is published (`publish --export`) is here, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from privsieve.bridges.arx import arx, read_arx
from privsieve.bridges.sdcmicro import sdcmicro
from privsieve.bridges.table import exported, write_folder
from privsieve.check.folder import Contents, FolderCheck
from privsieve.check.reasons import Unreadable
from privsieve.cli import tables, words
from privsieve.cli.options import refuse
from privsieve.cli.private import new_file
from privsieve.cli.verb import Verb, existing
from privsieve.containment.labelled import Labelled, Roles
from privsieve.errors import CheckFailed, PrivsieveError, SchemaError
from privsieve.ledger import sql
from privsieve.public.canonical import EPSILON_UNITS, decimal
from privsieve.release import WRONG
from privsieve.report import exports, officer
from privsieve.report.officer import Spending

#: What can be made, and of what.
FORMS = ("registry", "label", "acro", "officer")
#: Other tools: their names, and what is to be done in their folder.
_NAMES = {"sdcmicro": "sdcMicro", "arx": "ARX"}
_NEXT = {
    "sdcmicro": "Rscript sdc.R, in that folder; what it does beyond counting is sdcMicro's, and "
                "stands in the script with a # before it",
    "arx": "javac and java with libarx.jar, in that folder (Anonymize.java says how), or open its "
           "data and hierarchies in ARX",
}


@click.command("export", cls=Verb, epilog="Example: privsieve export officer first --out form.md")
@click.argument("form", type=click.Choice(FORMS))
@click.argument("release", callback=existing)
@click.option("--ledger", metavar="FILE", callback=existing,
              help="The ledger that was charged: label and officer say what is left of it.")
@click.option("--out", metavar="FILE",
              help="Write to a new file; to stdout where left out.")
def command(form: str, release: str, ledger: str | None, out: str | None,
            as_json: bool) -> None:  # noqa: FBT001  # click gives it by name
    """Write the release folder RELEASE as FORM; the folder is verified first.

    registry: an entry of the Differential Privacy Deployments Registry, in YAML.  label: a privacy
    label.  acro: results.json for the SACRO viewer.  officer: the form that a data protection
    officer signs.  What only people know is left to be filled in.
    """
    checked = _checked(Path(release), ledger)
    for name, why in checked.found(None).unchecked.items():
        words.say("unchecked", f"{name}: {why}", fg="yellow")
    try:
        made = _made(form, checked, ledger)
    except PrivsieveError:
        raise
    except WRONG:
        raise SchemaError("release.json or certificate.json lacks what the form says; take the "
                          "files as privsieve wrote them") from None
    if out is not None:
        with new_file(out, "of the export") as write:
            write(made)
        words.say("export", out)
    if as_json:
        words.json({"form": form, "text": made.decode(), "written": out})
    elif out is None:
        click.echo(made, nl=False)


def _checked(place: Path, ledger: str | None) -> FolderCheck:
    """The folder, if all that can be checked of it holds."""
    try:
        found = FolderCheck.of(Contents.of(place), ledger, None)
        found.beside()
        found.signatures(None)
    except (Unreadable, OSError) as error:
        said = str(error) if isinstance(error, Unreadable) else "the folder cannot be read"
        raise CheckFailed(f"{said}; nothing is exported") from None
    if found.reasons:
        raise CheckFailed(f"{found.reasons[0]}; nothing is exported of a release that does not "
                          "hold (privsieve verify says more)")
    return found


def _made(form: str, checked: FolderCheck, ledger: str | None) -> bytes:
    release, certificate = checked.release, checked.body
    if form == "registry":
        return exports.entry(release, certificate).encode()
    if form == "acro":
        return exports.results(release, certificate, [
            name for name in checked.contents.files if name not in checked.unchecked],
            checked.found(None).unchecked)
    sums = _sums(checked, ledger)
    if form == "label":
        return exports.label(release, certificate, sums).encode()
    title = f"Release {certificate['release_sha256'][:12]}: to be signed"
    return officer.markdown(officer.form(release, certificate, sums), title).encode()


def _sums(checked: FolderCheck, ledger: str | None) -> Spending | None:
    """What the ledger says of the people before and after this charge, in plain sums."""
    kept = checked.body["ledger"]
    if ledger is None or not kept or "reserve" not in kept:
        return None
    population, seq = str(checked.body["population"]), int(kept["reserve"]["seq"])
    with sql.store(ledger).reading(sql.checked_path(ledger)) as db:
        account, charges = sql.account_of(db, population), sql.charges_of(db, population)
    units = [(one.seq, one.units) for one in charges]
    before, after = (sum(cost for at, cost in units if at < end) for end in (seq, seq + 1))
    return Spending(*(decimal(amount, EPSILON_UNITS)
                  for amount in (account.limit, before, after, account.left)))


# --- a table for other tools ---------------------------------------------------------------------

def for_tool(data: str, table: Labelled, roles: Roles, options: Mapping[str, Any]) -> None:
    """Write the folder that `publish --export` asks for.

    `options` are its own; those of its limits and of its domain need not be there.
    """
    kind = options["export"]
    refuse(options.get("by_path") and kind != "sdcmicro",
           "--by-path is for --export sdcmicro: ARX is given the cells in a form of its own; leave "
           "it away")
    limits = tables.limits_of(options.get("l_diversity"), options)
    domain = tables.domain_of({"domain_file": None, **options})
    found = exported(data, table, roles, options["k"], domain)
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
    if options.get("as_json"):
        words.json({"folder": options["out"], "export": kind, "level": found.level,
                    "known": [one.name for one in found.of("known")], "below": found.below,
                    "k": found.k})
