"""`privsieve export`: a release in a form that others ask for, made of its folder alone."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from privsieve.check.folder import Contents, FolderCheck
from privsieve.check.reasons import Unreadable
from privsieve.cli import words
from privsieve.cli.private import kept
from privsieve.cli.verb import Existing, Outcome, verb
from privsieve.errors import CheckFailed, PrivsieveError, SchemaError
from privsieve.extras.forms import exports
from privsieve.ledger import sql
from privsieve.public.canonical import EPSILON_UNITS, decimal
from privsieve.public.option import File
from privsieve.release import WRONG
from privsieve.report import officer
from privsieve.report.officer import Spending
from privsieve.telling import markdown
from privsieve.telling.document import Document


@verb("officer first --out form.md")
def command(form: Literal["registry", "label", "acro", "officer"], release: Existing, *,
            ledger: Existing | None = None, out: File | None = None) -> Outcome:
    """Write the release folder RELEASE as FORM; the folder is verified first.

    registry: an entry of the Differential Privacy Deployments Registry, in YAML.  label: a privacy
    label.  acro: results.json for the SACRO viewer.  officer: the form that a data protection
    officer signs.  What only people know is left to be filled in.

    ledger : the ledger that was charged: label and officer say what is left of it
    out : write to a new file; to stdout where left out
    """
    checked = _checked(Path(release), ledger)
    for name, why in checked.result(None).unchecked.items():
        words.say("unchecked", f"{name}: {why}", fg="yellow")
    try:
        made = _made(form, checked, ledger).decode()
    except PrivsieveError:
        raise
    except WRONG:
        raise SchemaError("release.json or certificate.json lacks what the form says; take the "
                          "files as privsieve wrote them") from None
    return kept(made, {"form": form, "text": made}, out)


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
            checked.result(None).unchecked)
    sums = _sums(checked, ledger)
    if form == "label":
        return exports.label(release, certificate, sums).encode()
    title = f"Release {certificate['release_sha256'][:12]}: to be signed"
    return markdown.text(Document(title, parts=officer.form(release, certificate, sums))).encode()


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
