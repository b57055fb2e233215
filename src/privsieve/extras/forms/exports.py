"""Exports: a release in the formats of other tools; the officer's form is `officer.py`.

registry : an entry of the Differential Privacy Deployments Registry, in YAML.  Comments mark what
    only people know, with a placeholder if the format needs a value.  Strings are written as JSON,
    which is valid YAML, so that no name can end them.
label : a small table with the rows of the privacy labels of arXiv 2507.15997.  A last row lists
    values outside of their ideal range; the documentation explains these ranges.
results : results.json for the SACRO viewer, in the format of ACRO 0.4.11
    (`Records.finalise_json`): one output of type "custom", to be reviewed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from privsieve.errors import ParameterError
from privsieve.public.attackers import UNITS, counted
from privsieve.public.canonical import exact
from privsieve.public.plan import NOUNS, SENTENCES, UNIT, sentence, unit_text
from privsieve.release import ANSWERS, what
from privsieve.report.figures import count
from privsieve.report.officer import WEAK, Spending, odds, quoted
from privsieve.telling.document import DataTable, clean, literal
from privsieve.telling.markdown import table_text

#: The template of an entry.
REGISTRY = Path(__file__).parent / "registry.yaml"
#: The date of a release without a date.
_NO_DAY = "1970-01-01"
#: The largest usual cost.
USUAL = 1
#: A delta times the number of units above this is called large: whole rows may leave.
LARGE = Fraction(1, 100)
#: Groups below this number of rows are called small.
SMALL = 5
#: The version of the format; the viewer reads it in this version and later ones.
VERSION = "0.4.11"
#: The time of a release without a ledger.
_NO_TIME = "1970-01-01T00:00:00"


# --- registry -------------------------------------------------------------------------------------

def entry(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> str:
    """Return the entry; refuse a publication, which has no epsilon."""
    claim = certificate["claim"]
    if claim["kind"] == "containment":
        raise ParameterError("the registry is for differential privacy, and a publication of "
                             "columns has no epsilon; export label, officer or acro instead")
    day = (certificate["ledger"] or {}).get("reserved_at")
    columns = quoted(release["selected"]) if release["selected"] else "none"
    replaces = claim["neighbours"] == "replace-one"
    noun, warning = NOUNS[claim["unit"]], release.get("warning")
    return REGISTRY.read_text(encoding="utf-8").format(
        slug=text(f"privsieve-{certificate['release_sha256'][:12]}"),
        product=_product(release, claim),
        description=text(f"{what(release, certificate)}: {columns}"),
        day=text(day[:10] if day else _NO_DAY) + " # <- when published" + (
            "; it was charged on this day" if day else ""),
        variant=text("Pure DP" if claim["delta"] == "0" else "Approximate DP"),
        data_domain=text(
            f"All tables with the {len(release['columns'])} declared columns; their kinds, bounds, "
            f"levels and classes are public, and have the SHA-256 {certificate['domain_sha256']}"),
        unprotected=text("The names of all columns, their declarations, the settings" + (
            f", and the number of {noun}s" if replaces and noun != "person" else "")),
        unit=text(unit_text(claim["unit"])),
        neighbours=text(f"Two tables are neighbours if they differ in {unit_text(claim['unit'])}, "
                        f"which is {'replaced by another' if replaces else 'added or removed'}"),
        epsilon=_number(claim["epsilon"]), delta=_number(claim["delta"]),
        odds=text(odds(claim, sentence(certificate))),
        composition=text(
            "privsieve charges a ledger before it reads a row, without refunds; the ledger refuses "
            "a charge above the granted sum" if certificate["ledger"] else
            "No ledger adds up the releases about the same people"),
        mechanisms=_mechanisms(certificate),
        warning=f"; warning before the charge: {_sentence(warning)}" if warning else "")


def text(value: object) -> str:
    r"""Return a string that is valid JSON and valid YAML.

    >>> text('a "b": #c')
    '"a \\"b\\": #c"'
    """
    return json.dumps(" ".join(clean(word) for word in str(value).split(" ")), ensure_ascii=False)


def _sentence(text: str) -> str:
    """Return a sentence of a release without its full stop."""
    return " ".join(map(clean, text.split(" "))).rstrip(". ")


def _product(release: Mapping[str, Any], claim: Mapping[str, Any]) -> str:
    if claim["kind"] != "regression":
        return (f"{text('Summary statistics')} # <- the nearest word of the registry's list; the "
                "list has another word for synthetic rows")
    is_model = release["features"]["map"] != ANSWERS
    return text("Machine learning model" if is_model else "Summary statistics")


def _number(value: object) -> str:
    """Return a decimal text of a verified certificate, which is also a YAML number."""
    if not str(value).replace(".", "", 1).isdecimal():
        raise ValueError("an amount of the certificate is not a number")
    return str(value)


def _mechanisms(certificate: Mapping[str, Any]) -> str:
    claim = certificate["claim"]
    software = ", ".join(f"{name} {number}" for name, number in sorted(
        certificate["software"].items()))
    assumed = " ".join(SENTENCES.get(str(word), str(word)) for word in claim["assumes"])
    return text(f"{claim['mechanism']}, with the theorem {claim['theorem']}; made with {software}. "
                f"Assumed: {assumed or 'nothing more'}")


# --- label ----------------------------------------------------------------------------------------

def label(release: Mapping[str, Any], certificate: Mapping[str, Any], sums: Spending | None = None,
          ) -> str:
    """Return the label as a Markdown table."""
    claim = certificate["claim"]
    rows = (_groups(claim) if claim["kind"] == "containment" else
            _budget(release, certificate, sums))
    return table_text(DataTable("", ("Privacy label", ""), [
        [literal(name), literal(value)]
        for name, value in (*rows, ("Release", certificate["release_sha256"]))]))


def _budget(release: Mapping[str, Any], certificate: Mapping[str, Any], sums: Spending | None,
            ) -> Iterator[tuple[str, str]]:
    claim, ledger = certificate["claim"], certificate["ledger"]
    if sums is not None:
        total, left = f"epsilon {sums.limit}", f"epsilon {sums.left}"
    else:
        total = left = "see the ledger" if ledger else "no ledger records it"
    yield "Total budget", total
    yield "Remaining", left
    yield "Unit", unit_text(claim["unit"])
    yield "Neighbours", ("one is replaced by another" if claim["neighbours"] == "replace-one" else
                         "one is added or removed")
    yield "Epsilon", claim["epsilon"]
    yield "Delta", claim["delta"]
    yield "Not ideal", "; ".join(not_ideal(claim, release["plan"].get("units"), sums)) or (
        "nothing" if ledger else "no ledger adds up other releases")


def not_ideal(claim: Mapping[str, Any], units: int | None, sums: Spending | None) -> Iterator[str]:
    """Yield the values outside of their ideal range, in words.

    >>> claim = {"epsilon": "6", "delta": "0", "unit": "one row of the table"}
    >>> list(not_ideal(claim, 100, None))[0]
    'epsilon is 5 or more: a weak guarantee'
    """
    epsilon, delta = exact(claim["epsilon"], "epsilon"), exact(claim["delta"], "delta")
    if epsilon >= WEAK:
        yield f"epsilon is {WEAK} or more: a weak guarantee"
    elif epsilon > USUAL:
        yield f"epsilon is above {USUAL}: a moderate guarantee"
    if sums is not None and exact(sums.limit, "a limit") >= WEAK:
        yield f"the total budget is {WEAK} or more: all releases together guarantee little"
    if delta and units is not None and delta * int(units) > LARGE:
        yield "delta times the number of units is above 0.01: it should be far smaller"
    if claim["unit"] != UNIT["person"]:
        yield (f"{unit_text(claim['unit'])} is protected: a person with several rows is "
               "protected less")


def _groups(claim: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    sources, (noun, nouns) = bool(claim.get("counted")), counted(claim)
    # k counts people or sources; the level counts rows
    small = int(claim["k"] if sources else claim["level"]) < SMALL
    group = (f"{count(claim['level'])} rows, of at least {count(claim['k'])} different {nouns}"
             if sources else f"{count(claim['level'])} rows (k = {count(claim['k'])})")
    yield "Total budget", "none: a level does not add up"
    yield "Remaining", "none"
    yield "Unit", UNITS[noun]
    yield "Neighbours", "none: this is not differential privacy"
    yield "Epsilon", "none"
    yield "Delta", "none"
    yield "Smallest group", group
    yield "Not ideal", "no epsilon: no limit on attackers who know more than was counted" + (
        f"; the smallest group is below {SMALL} {nouns}" if small
        else "")


# --- acro -----------------------------------------------------------------------------------------

def results(release: Mapping[str, Any], certificate: Mapping[str, Any], files: Iterable[str],
            unchecked: Iterable[str] = ()) -> bytes:
    """Return results.json of a folder: the names of checked and of unchecked files."""
    claim, uid = certificate["claim"], f"privsieve-{certificate['release_sha256'][:12]}"
    time = (certificate["ledger"] or {}).get("reserved_at")
    method = claim.get("mechanism", claim.get("model"))
    checked = ("privsieve verify checked these files when this file was written. The officer's "
               "form (privsieve export officer) lists what it cannot check")
    output = {
        "uid": uid, "status": "review", "type": "custom", "properties": {},
        "files": [{"name": name, "sdc": {}} for name in sorted(files)],
        "outcome": {}, "command": f"privsieve: {clean(method)}",
        "summary": f"review; {what(release, certificate)}",
        "timestamp": clean(time).removesuffix("Z") if time else _NO_TIME,
        "comments": [_sentence(sentence(certificate)), checked, *(
            f"Not checked, and not listed: {clean(name)}" for name in unchecked)],
        "exception": ""}
    document = {"version": VERSION, "results": {uid: output}}
    return f"{json.dumps(document, indent=4)}\n".encode()
