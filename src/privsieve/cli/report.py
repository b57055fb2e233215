"""`privsieve report`: the page of a release, made again of its JSON."""

from __future__ import annotations

from pathlib import Path

from privsieve.cli import words
from privsieve.cli.private import new_file
from privsieve.cli.releasing import verified
from privsieve.cli.verb import Existing, Outcome, verb
from privsieve.public.option import File
from privsieve.report import NAME, html


@verb("first --out first.html")
def command(release: Existing, *, out: File | None = None) -> Outcome:
    """Make the HTML page of the folder RELEASE, from release.json and certificate.json alone.

    The two files are verified first; neither the table nor a ledger is needed.  Whether a page is
    what its release gives, privsieve verify says.

    out : write here instead of RELEASE/report.html; the file must not exist
    """
    made = verified(release, "no report is made")
    place = Path(out) if out is not None else Path(release) / NAME
    with new_file(place, "of the report") as write:
        write(html(made.body, made.certificate or {}))
    words.say("report", str(place))
    return Outcome({"report": str(place)})
