"""Registry: a release as an entry of the Differential Privacy Deployments Registry, in YAML.

A certificate knows how a release is protected; a person knows what it is for.  What only people
know stands as a comment that says what to write, with a placeholder where the form needs one.
Strings are written as JSON, which is YAML: no name can end them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from privsieve.errors import ParameterError
from privsieve.public.plan import SENTENCES, UNIT, sentence
from privsieve.release import ANSWERS
from privsieve.report.officer import odds, quoted, what
from privsieve.report.page import clean, clean_sentence

#: What stands where a person has to write.
FILL = "TO BE FILLED IN"
_PRODUCTS = {"regression": "Machine learning model"}
_NOUNS = {words: noun for noun, words in UNIT.items()}
#: Nobody released anything of ours on this day.
_NO_DAY = "1970-01-01"


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
    return f"{what(release, certificate['claim'])}: {chosen}"


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
        f"; said before the charge: {clean_sentence(warning)}" if warning else "")


def _people() -> Iterator[str]:
    yield "  administrative:"
    yield "    # sources: <- where the result and its report can be read"
    yield "    registry_authors:"
    yield f'      - "{FILL}" # <- who fills this in'
