"""`privsieve export`: a release in the format of another tool, made from its folder alone."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Literal

from privsieve.check.folder import ROWS, TABLES, Contents, FolderCheck
from privsieve.check.reasons import Unreadable
from privsieve.cli import words
from privsieve.cli.private import kept
from privsieve.cli.verb import Existing, Outcome, verb
from privsieve.errors import CheckFailed, PrivsieveError, SchemaError
from privsieve.extras.forms import catalogues, exports
from privsieve.ledger import sql
from privsieve.public.canonical import EPSILON_UNITS, decimal
from privsieve.public.option import File
from privsieve.release import WRONG
from privsieve.report import officer
from privsieve.report.officer import Spending
from privsieve.telling import markdown
from privsieve.telling.document import Document

Form = Literal["registry", "label", "acro", "officer", "croissant", "minimisation"]


@verb("officer first --out form.md")
def command(form: Form, release: Existing, *,
            ledger: Existing | None = None, out: File | None = None) -> Outcome:
    """Write the release folder RELEASE as FORM, after verifying the folder.

    registry: an entry of the Differential Privacy Deployments Registry, in YAML.  label: a privacy
    label.  acro: results.json for the SACRO viewer.  officer: the form that a data protection
    officer signs.  croissant: metadata in Croissant 1.1 for catalogues.  minimisation: the
    variables that were requested, released and left out, and why.  Fill in empty fields by hand.

    ledger : the ledger that was charged; label, officer and minimisation then show its sums
    out : a new file; default: stdout
    """
    checked = _checked(Path(release), ledger)
    for name, why in checked.result(None).unchecked.items():
        words.say("unchecked", f"{name}: {why}", fg="yellow")
    try:
        text = _text(form, checked, ledger).decode()
    except PrivsieveError:
        raise
    except WRONG:
        raise SchemaError("release.json or certificate.json lacks a value that the form needs; "
                          "use the files as privsieve wrote them") from None
    return kept(text, {"form": form, "text": text}, out)


def _checked(path: Path, ledger: str | None) -> FolderCheck:
    """Return the verified folder, or raise an error."""
    try:
        check = FolderCheck.of(Contents.of(path), ledger, None)
        check.beside()
        check.signatures(None)
    except (Unreadable, OSError) as error:
        reason = str(error) if isinstance(error, Unreadable) else "the folder cannot be read"
        raise CheckFailed(f"{reason}; nothing is exported") from None
    if check.reasons:
        raise CheckFailed(f"{check.reasons[0]}; only a valid release can be exported (see "
                          "privsieve verify)")
    return check


def _text(form: str, checked: FolderCheck, ledger: str | None) -> bytes:
    release, certificate = checked.release, checked.body
    if form == "registry":
        return exports.entry(release, certificate).encode()
    if form == "acro":
        return exports.results(release, certificate, _files(checked),
                               checked.result(None).unchecked)
    if form == "croissant":
        return catalogues.croissant(release, certificate, {
            name: checked.contents.digest(name) for name in _files(checked)}, _header(checked))
    sums = _sums(checked, ledger)
    if form == "label":
        return exports.label(release, certificate, sums).encode()
    if form == "minimisation":
        return markdown.text(catalogues.minimisation(
            release, certificate, sums, checked.signed)).encode()
    title = f"Release {certificate['release_sha256'][:12]}: to be signed"
    return markdown.text(Document(title, parts=officer.form(release, certificate, sums))).encode()


def _files(checked: FolderCheck) -> list[str]:
    """Return the names of the files that were checked."""
    return [name for name in checked.contents.files if name not in checked.unchecked]


def _header(checked: FolderCheck) -> list[str]:
    """Return the columns of the table in the folder, which was checked; without a table, none."""
    for name in (*TABLES, ROWS):
        if name in _files(checked):
            with Path(checked.contents.at(name)).open(encoding="utf-8", newline="") as file:
                return next(csv.reader(file))
    return []


def _sums(checked: FolderCheck, ledger: str | None) -> Spending | None:
    """Return the sums of the ledger before and after this charge."""
    kept = checked.body["ledger"]
    if ledger is None or not kept or "reserve" not in kept:
        return None
    population, seq = str(checked.body["population"]), int(kept["reserve"]["seq"])
    with sql.store(ledger).reading(sql.checked_path(ledger)) as db:
        account, charges = sql.account_of(db, population), sql.charges_of(db, population)
    units = [(charge.seq, charge.units) for charge in charges]
    before, after = (sum(cost for at, cost in units if at < end) for end in (seq, seq + 1))
    return Spending(*(decimal(amount, EPSILON_UNITS)
                  for amount in (account.limit, before, after, account.left)))
