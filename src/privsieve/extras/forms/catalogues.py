"""Catalogues: a release as Croissant metadata, and as a record of data minimisation.

croissant : JSON-LD in the form of Croissant 1.1, from the template `croissant.json`.  A placeholder
    stands for what only people know.
minimisation : which variables were asked for, named or left out, why, and at what cost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from privsieve.public.plan import sentence
from privsieve.release import what
from privsieve.report.officer import Spending, summed
from privsieve.telling.document import DataTable, Document, Fact, Facts, literal

TEMPLATE = Path(__file__).parent / "croissant.json"
_FORMATS = {"json": "application/json", "html": "text/html", "csv": "text/csv"}


def croissant(release: Mapping[str, Any], certificate: Mapping[str, Any],
              digests: Mapping[str, str], header: Sequence[str] = ()) -> bytes:
    """Return the metadata of files with these digests.

    header : the columns of the table in the folder; without a table, column names are the records
    """
    claim, document = certificate["claim"], json.loads(TEMPLATE.read_bytes())
    document["name"] = f"privsieve-{certificate['release_sha256'][:12]}"
    document["description"] = f"Release: {what(release, certificate)}. {sentence(certificate)}"
    document["usageInfo"][0]["text"] = sentence(certificate)
    activity = document["prov:wasGeneratedBy"]
    activity["prov:label"] = claim.get("mechanism", claim.get("model"))
    activity["prov:wasAssociatedWith"]["prov:label"] = ", ".join(
        f"{name} {number}" for name, number in sorted(certificate["software"].items()))
    if day := (certificate["ledger"] or {}).get("reserved_at"):
        document["datePublished"], activity["prov:endedAtTime"] = day[:10], day
    document["distribution"] = [
        {"@type": "cr:FileObject", "@id": name, "name": name, "contentUrl": name,
         "encodingFormat": _FORMATS[name.rpartition(".")[2]], "sha256": digests[name]}
        for name in sorted(digests)]
    document["recordSet"] = [_table(claim, header, digests) if header else _names(release)]
    return f"{json.dumps(document, indent=1)}\n".encode()


def _table(claim: Mapping[str, Any], header: Sequence[str], files: Mapping[str, str],
           ) -> dict[str, Any]:
    """Return the columns of the CSV file as fields; published items are zeros and ones."""
    (file,) = (name for name in files if name.endswith(".csv"))
    return {"@type": "cr:RecordSet", "@id": "table", "name": "table", "field": [
        {"@type": "cr:Field", "@id": f"table/{number}", "name": name,
         "dataType": "sc:Integer" if name in claim.get("columns", ()) else "sc:Text",
         "source": {"fileObject": {"@id": file}, "extract": {"column": name}}}
        for number, name in enumerate(header, 1)]}


def _names(release: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names of all columns, and whether each was named, as records."""
    return {"@type": "cr:RecordSet", "@id": "columns", "name": "columns", "field": [
        {"@type": "cr:Field", "@id": f"columns/{name}", "name": name, "dataType": kind}
        for name, kind in (("column", "sc:Text"), ("named", "sc:Boolean"))],
        "data": [{"columns/column": name, "columns/named": name in release["selected"]}
                 for name in release["columns"]]}


def minimisation(release: Mapping[str, Any], certificate: Mapping[str, Any],
                 sums: Spending | None, signed: Mapping[str, str]) -> Document:
    """Return the record; `signed` are the roles of those who signed, by their fingerprints."""
    claim, published = certificate["claim"], certificate["claim"]["kind"] == "containment"
    variables = _published(claim) if published else _chosen(release, claim["mechanism"])
    cost = ("a published table has no epsilon" if published else
            f"epsilon {claim['epsilon']}, delta {claim['delta']}; total for these people: "
            f"{summed(certificate, sums)}")
    signatures = "; ".join(f"{key} as {role}" for key, role in signed.items())
    return Document(f"Data minimisation: release {certificate['release_sha256'][:12]}", parts=[
        Facts("1 Request", [Fact(label, asks="") for label in (
            "Purpose", "Why these variables were asked for",
            "Variables left out before the domain file was written, and why")]),
        DataTable("2 Variables", ("Variable", "Decision", "Why"),
                  [[literal(text) for text in row] for row in variables], words=3),
        Facts("3 Cost, guarantee, signature", [
            Fact("Result", what(release, certificate)), Fact("Cost", cost),
            Fact("Guarantee", literal(sentence(certificate).rstrip("."))),
            Fact("Warning before the charge", literal(release.get("warning") or "none")),
            Fact("Signature", signatures or "unsigned: nothing shows who made this release"),
            Fact("SHA-256 of release.json", certificate["release_sha256"])])])


def _chosen(release: Mapping[str, Any], mechanism: str) -> Iterator[tuple[str, str, str]]:
    settings = release["plan"]["settings"]
    for name in release["columns"]:
        if name in settings.get("never", ()):
            yield name, "left out", "excluded before the choice; the choice did not use it"
        elif name in settings.get("always", ()):
            yield name, "named", "always included: declared before the choice"
        elif name in release["selected"]:
            yield name, "named", f"by {mechanism}"
        else:
            yield name, "not named", "not in the release; noise can hide a useful column"


def _published(claim: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    roles, items = claim["roles"], list(zip(claim["origins"], claim["columns"], strict=True))
    for name in dict.fromkeys((*roles["both"], *roles["presences"], *roles["sensitive"],
                               *filter(None, [roles["target"]]))):
        columns = [item for origin, item in items if origin == name]
        if columns or name in (*claim["sensitive"], claim["target"]):
            yield name, "published", f"as {', '.join(columns) or 'it is'}"
        else:
            yield name, "not published", f"not chosen for groups of k = {claim['k']}"
