"""Exports: a release in forms that others ask for; the officer's form is `officer.py`.

registry : an entry of the Differential Privacy Deployments Registry, in YAML.  A certificate knows
    how a release is protected; a person knows what it is for.  What only people know stands as a
    comment that says what to write, with a placeholder where the form needs one.  Strings are
    written as JSON, which is YAML: no name can end them.
label : a small table that a reader takes in at a glance.  Its rows are those of the privacy labels
    of arXiv 2507.15997, and a last one names what lies in a range that is not ideal.  The ranges
    are ours, and are said in the docs.
results : results.json for the SACRO viewer, for who checks what leaves a TRE.  Its form is that of
    ACRO 0.4.11 (`Records.finalise_json`): one output, of the type "custom", to be reviewed.  The
    viewer opens a copy of the folder with this file in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from privsieve.errors import ParameterError
from privsieve.public.canonical import exact
from privsieve.public.plan import SENTENCES, UNIT, sentence
from privsieve.public.strangers import UNITS, counted
from privsieve.release import ANSWERS, what
from privsieve.report.figures import count
from privsieve.report.officer import WEAK, Spending, odds, quoted
from privsieve.telling.document import DataTable, clean, literal
from privsieve.telling.markdown import table_text

#: What stands where a person has to write.
FILL = "TO BE FILLED IN"
_PRODUCTS = {"regression": "Machine learning model"}
_NOUNS = {words: noun for noun, words in UNIT.items()}
#: Nobody released anything of ours on this day.
_NO_DAY = "1970-01-01"
#: Up to here a cost is called usual.
USUAL = 1
#: Above this product of delta and units a delta is called large: whole rows of so many may leave.
LARGE = Fraction(1, 100)
#: Crowds below this are called small.
SMALL = 5
#: The version whose form this is; the viewer takes it and later ones.
VERSION = "0.4.11"
#: Of a release without a ledger nothing says when it was made.
_NO_TIME = "1970-01-01T00:00:00"


# --- registry -------------------------------------------------------------------------------------

def entry(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> str:
    """The entry; a publication has no epsilon, and is refused."""
    if certificate["claim"]["kind"] == "containment":
        raise ParameterError("the registry is of differential privacy, and a publication of "
                             "columns has no epsilon; export label, officer or acro instead")
    parts = (_head(certificate), _basic(release, certificate), _variant(release, certificate),
             _loss(certificate), _deployed(), _counted(certificate),
             _built(release, certificate), _people())
    return "\n".join([line for part in parts for line in part] + [""])


def text(value: object) -> str:
    r"""A string as JSON and YAML read it alike.

    >>> text('a "b": #c')
    '"a \\"b\\": #c"'
    """
    return json.dumps(" ".join(clean(word) for word in str(value).split(" ")), ensure_ascii=False)


def _sentence(text: str) -> str:
    """A sentence of a release, without a stop at its end."""
    return " ".join(map(clean, text.split(" "))).rstrip(". ")


def _head(certificate: Mapping[str, Any]) -> Iterator[str]:
    yield "# An entry for the Differential Privacy Deployments Registry, made by privsieve export."
    yield f"# Write what is asked for after <-, and take the words {FILL} away."
    yield f"url_slug: {text('privsieve-' + certificate['release_sha256'][:12])}"
    yield 'status: "Draft"'
    yield "tier: 3"
    yield "deployment:"


def _basic(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> Iterator[str]:
    claim = certificate["claim"]
    day = (certificate["ledger"] or {}).get("reserved_at")
    yield "  basic:"
    yield f'    name: "{FILL}" # <- what the result is called'
    yield "    data_curators:"
    yield f'      - "{FILL}" # <- who publishes it'
    yield f'    intended_use: "{FILL}" # <- what it is for'
    kind = _PRODUCTS.get(claim["kind"], "Summary statistics")
    if claim["kind"] == "regression" and release["features"]["map"] == ANSWERS:
        kind = "Summary statistics"
    yield f"    data_product_type: {text(kind)}" + (
        "" if claim["kind"] == "regression" else
        " # <- the nearest word of the list; synthetic rows have one of their own")
    yield f'    data_product_region: "{FILL}" # <- whose data, under which law'
    yield f"    description: {text(_described(release, certificate))}"
    more = "; it was charged on this day" if day else ""
    yield f"    publication_date: {text(day[:10] if day else _NO_DAY)} # <- when published{more}"
    yield "    # data_product_sector: <- one of the sectors of the form"


def _described(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> str:
    chosen = quoted(release["selected"]) if release["selected"] else "none"
    return f"{what(release, certificate)}: {chosen}"


def _variant(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> Iterator[str]:
    claim, columns = certificate["claim"], len(release["columns"])
    pure = claim["delta"] == "0"
    fixed = claim["neighbours"] == "replace-one"
    noun = _NOUNS[claim["unit"]]
    yield "  dp_variant:"
    yield f"    variant_name: {text('Pure DP' if pure else 'Approximate DP')}"
    yield "    data_domain: " + text(
        f"All tables with the {columns} declared columns; their kinds, bounds, levels and classes "
        f"are public, and have the SHA-256 {certificate['domain_sha256']}")
    yield "    unprotected_quantities: " + text(
        "The names of all columns, what was declared of them, the settings"
        + (f", and the number of {noun}s" if fixed and noun != "person" else ""))


def _loss(certificate: Mapping[str, Any]) -> Iterator[str]:
    claim = certificate["claim"]
    yield "  privacy_loss:"
    yield f"    privacy_unit: {text(claim['unit'])}"
    yield "    privacy_unit_details: " + text(
        f"Two tables are neighbours if they differ in {claim['unit']}, which is "
        + ("replaced by another" if claim["neighbours"] == "replace-one" else "added or removed"))
    yield "    privacy_parameters:"
    yield f"      epsilon: {_number(claim['epsilon'])}"
    yield f"      delta: {_number(claim['delta'])}"
    yield "    privacy_parameters_details: " + text(odds(claim, sentence(certificate)))


def _number(value: object) -> str:
    """A decimal text of a verified certificate, which is a number of YAML."""
    if not str(value).replace(".", "", 1).isdecimal():
        raise ValueError("an amount of the certificate is no number")
    return str(value)


def _deployed() -> Iterator[str]:
    yield "  deployment_model:"
    yield '    model_name: "Central"'
    yield "    # actors: <- who holds the table, who receives the result, who is trusted in what"
    yield '    release_type: "One release"'
    yield "    # release_type_details: <- what else is, or will be, released about these people"
    yield "    # data_source_type: <- Static, or Dynamic where new data come in"
    yield '    access_type: "Non-interactive"'


def _counted(certificate: Mapping[str, Any]) -> Iterator[str]:
    kept = ("A ledger is charged before a row is read, and never given back; it refuses what would "
            "exceed the sum that was granted" if certificate["ledger"] else
            "No ledger adds up what is released about the same people")
    yield "  accounting:"
    yield "    post_processing: " + text("None that changes what the mechanism released; whatever "
                                         "is worked out from the result costs nothing more")
    yield f"    composition: {text(kept)}"


def _built(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> Iterator[str]:
    claim = certificate["claim"]
    made = ", ".join(f"{name} {number}" for name, number in sorted(
        certificate["software"].items()))
    assumed = " ".join(SENTENCES.get(str(word), str(word)) for word in claim["assumes"])
    yield "  implementation:"
    yield "    # preprocessing_and_hyperparameter_tuning: <- how epsilon and the bounds were chosen"
    yield "    mechanisms: " + text(
        f"{claim['mechanism']}, with the theorem {claim['theorem']}; made with {made}. "
        f"Assumed: {assumed or 'nothing more'}")
    warning = release.get("warning")
    yield "    # justification: <- why these settings" + (
        f"; said before the charge: {_sentence(warning)}" if warning else "")


def _people() -> Iterator[str]:
    yield "  administrative:"
    yield "    # sources: <- where the result and its report can be read"
    yield "    registry_authors:"
    yield f'      - "{FILL}" # <- who fills this in'


# --- label ----------------------------------------------------------------------------------------

def label(release: Mapping[str, Any], certificate: Mapping[str, Any], sums: Spending | None = None,
          ) -> str:
    """The label as a table of Markdown."""
    claim = certificate["claim"]
    rows = (_crowd(claim) if claim["kind"] == "containment" else
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
        total = left = "stands in the ledger" if ledger else "no ledger keeps it"
    yield "Total budget", total
    yield "Remaining", left
    yield "Unit", claim["unit"]
    yield "Neighbours", ("one is replaced by another" if claim["neighbours"] == "replace-one" else
                         "one is added or removed")
    yield "Epsilon", claim["epsilon"]
    yield "Delta", claim["delta"]
    yield "Not ideal", "; ".join(not_ideal(claim, release["plan"].get("units"), sums)) or (
        "nothing" if ledger else "no ledger adds up what else is released")


def not_ideal(claim: Mapping[str, Any], units: int | None, sums: Spending | None) -> Iterator[str]:
    """What lies in a range that is not ideal, in words.

    >>> claim = {"epsilon": "6", "delta": "0", "unit": "one row of the table"}
    >>> list(not_ideal(claim, 100, None))[0]
    'epsilon is 5 or more: a weak promise'
    """
    epsilon, delta = exact(claim["epsilon"], "epsilon"), exact(claim["delta"], "delta")
    if epsilon >= WEAK:
        yield f"epsilon is {WEAK} or more: a weak promise"
    elif epsilon > USUAL:
        yield f"epsilon is above {USUAL}: a middling promise"
    if sums is not None and exact(sums.limit, "a limit") >= WEAK:
        yield f"the total budget is {WEAK} or more: all releases together promise little"
    if delta and units is not None and delta * int(units) > LARGE:
        yield "delta times the number of units is above 0.01: it should be far smaller"
    if claim["unit"] != UNIT["person"]:
        yield f"{claim['unit']} is protected: a person who has several is protected less"


def _crowd(claim: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    sources, (one, many) = bool(claim.get("counted")), counted(claim)
    # of so many people or sources at least; the level is of rows
    small = int(claim["k"] if sources else claim["level"]) < SMALL
    crowd = (f"{count(claim['level'])} rows, of at least {count(claim['k'])} different {many}"
             if sources else f"{count(claim['level'])} rows (k = {count(claim['k'])})")
    yield "Total budget", "none: a level does not add up"
    yield "Remaining", "none"
    yield "Unit", UNITS[one]
    yield "Neighbours", "none: this is not differential privacy"
    yield "Epsilon", "none"
    yield "Delta", "none"
    yield "Smallest crowd", crowd
    yield "Not ideal", "no epsilon: whoever knows more than was counted is not held back" + (
        f"; the smallest crowd is below {SMALL} {many}" if small
        else "")


# --- acro -----------------------------------------------------------------------------------------

def results(release: Mapping[str, Any], certificate: Mapping[str, Any], files: Iterable[str],
            unchecked: Iterable[str] = ()) -> bytes:
    """results.json of one folder: the names of what was checked in it, and of what was not."""
    claim, uid = certificate["claim"], f"privsieve-{certificate['release_sha256'][:12]}"
    made = (certificate["ledger"] or {}).get("reserved_at")
    method = claim.get("mechanism", claim.get("model"))
    checked = ("Checked by privsieve verify when this file was made; what it cannot check stands "
               "in the officer's form (privsieve export officer)")
    output = {
        "uid": uid, "status": "review", "type": "custom", "properties": {},
        "files": [{"name": name, "sdc": {}} for name in sorted(files)],
        "outcome": {}, "command": f"privsieve: {clean(method)}",
        "summary": f"review; {what(release, certificate)}",
        "timestamp": clean(made).removesuffix("Z") if made else _NO_TIME,
        "comments": [_sentence(sentence(certificate)), checked, *(
            f"Not checked, and not listed: {clean(name)}" for name in unchecked)],
        "exception": ""}
    said = {"version": VERSION, "results": {uid: output}}
    return f"{json.dumps(said, indent=4)}\n".encode()
