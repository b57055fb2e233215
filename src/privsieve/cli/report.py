"""`privsieve report`: the page of a release, made again, or compared with what its JSON gives."""

from __future__ import annotations

from pathlib import Path

import click

from privsieve._version import __version__
from privsieve.check.folder import LARGEST_PAGE, ours
from privsieve.cli import words
from privsieve.cli.private import new_file
from privsieve.cli.releasing import verified
from privsieve.cli.verb import Verb, existing
from privsieve.errors import CheckFailed, ParameterError
from privsieve.report import NAME, html


@click.command("report", cls=Verb, epilog="Example: privsieve report first --out first.html")
@click.argument("release", callback=existing)
@click.option("--out", metavar="FILE",
              help="Write here instead of RELEASE/report.html; the file must not exist.")
@click.option("--check", is_flag=True,
              help="Write nothing; exit with code 7 unless RELEASE/report.html (or --out) is what "
                   "the release gives, byte for byte.")
def command(release: str, out: str | None, check: bool, as_json: bool) -> None:  # noqa: FBT001  # click gives them by name
    """Make the HTML report of the folder RELEASE, from release.json and certificate.json alone.

    The two files are verified first; neither the table nor a ledger is needed.
    """
    found = verified(release, "no report is made")
    made = html(found.body, found.certificate or {})
    place = Path(out) if out is not None else Path(release) / NAME
    if check:
        _compare(place, made)
        if as_json:
            words.json({"report": str(place), "valid": True})
        else:
            words.show("valid", "the report is what the release gives, byte for byte", fg="green")
        return
    with new_file(place, "of the report") as write:
        write(made)
    words.say("report", str(place))
    if as_json:
        words.json({"report": str(place), "valid": None})


def _compare(place: Path, made: bytes) -> None:
    try:
        with place.open("rb") as file:
            page = file.read(LARGEST_PAGE)
    except (OSError, ValueError):
        raise ParameterError("there is no report to check; make one with privsieve report, or name "
                             "it with --out") from None
    if page == made:
        return
    raise CheckFailed("the report is not what the release gives: it was changed, or belongs to "
                      "another release" if ours(page) else
                      f"the report was not made by privsieve {__version__}, and cannot be "
                      "compared; make it again with privsieve report")
