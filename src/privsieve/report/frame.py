"""Frame: what the pages of all kinds of releases have in common."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from privsieve.public.canonical import canonical, digest
from privsieve.public.plan import sentence
from privsieve.report import officer
from privsieve.report.figures import pairs
from privsieve.telling import document
from privsieve.telling.document import Document, Text, Words, literal, plain
from privsieve.telling.prose import Prose

WORDS = Path(__file__).with_name("words")
#: What a file of words may fill in, by name; a function is called only when its value is needed.
Known = dict[str, Any]


@cache
def glossary() -> dict[str, str]:
    """Return each term of the glossary with its meaning."""
    file = Path(document.__file__).with_name("glossary.txt")
    return dict(line.split(": ", 1) for line in file.read_text(encoding="utf-8").splitlines())


def page_of(known: Known, *files: str, **fields: Any) -> Document:
    """Return the document of a release in the words of some files; `fields` replace its fields."""
    prose = Prose(known, *paths(*files))
    return Document(prose.text("title"), prose.facts("facts"), prose.parts("page"),
                    glossary=glossary(), **{
                        "tab": plain(prose.text("tab")), "edition": ("report", "Public edition"),
                        "about": prose.text("about"), "notice": prose.text("notice"),
                        "closing": prose.text("closing"), **fields})


def paths(*files: str) -> list[Path]:
    """Return the paths of some files of words; the words of the frame come first."""
    return [WORDS / f"{file}.txt" for file in ("frame", *files)]


def known_of(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> Known:
    """Return what every page of a release may fill in."""
    ledger = certificate["ledger"]
    return {
        "release": release, "certificate": certificate, "claim": certificate["claim"],
        "ledger": ledger, "day": str((ledger or {}).get("reserved_at", ""))[:10],
        "sentence": lambda: sentence(certificate),
        "release_id": str(certificate["release_sha256"])[:12],
        "certificate_sha256": lambda: digest(canonical(certificate)),
        "software": pairs(sorted(certificate["software"].items())),
        "form": lambda: officer.form(release, certificate),
        "words": Words(), "newline": Text("\n"), "open": literal("["), "close": literal("]"),
    }
