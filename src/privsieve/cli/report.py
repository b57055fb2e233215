"""`privsieve report`: the page of a release, written again from its JSON files."""

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
    """Write the HTML page of the folder RELEASE, from release.json and certificate.json alone.

    Verifies the two files first; needs neither the table nor the ledger.  `privsieve verify` checks
    whether a page matches its release.

    out : write here instead of RELEASE/report.html; the file must not exist
    """
    content = verified(release, "no report is written")
    path = Path(out) if out is not None else Path(release) / NAME
    with new_file(path, "of the report") as write:
        write(html(content.body, content.certificate or {}))
    words.say("report", str(path))
    return Outcome({"report": str(path)})
