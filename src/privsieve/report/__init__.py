"""Report: what releases, plans and accounts say, as documents, and the page beside a release.

A face: it reads release.json and certificate.json, knows no row, and measures nothing.  The public
page is made of those two files alone, so that no slip of its words can leak what is private.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, Protocol

from privsieve.errors import SchemaError
from privsieve.public.canonical import Json
from privsieve.release import WRONG
from privsieve.report import officer
from privsieve.report.frame import page_of, paths
from privsieve.telling import html as renderer
from privsieve.telling.document import Document
from privsieve.telling.prose import blocks

NAME = "report.html"
#: Of each kind: the function that knows what its page says, and the files of its words.
KINDS = {"selection": ("selection:selection", "private", "selection"),
         "weights": ("weights:weights", "private", "weights"),
         "regression": ("regression:regression", "private", "regression"),
         "histogram": ("histogram:histogram", "private", "histogram"),
         "containment": ("publication:publication", "publication")}
_INTERNAL = ("publication:internal", "publication", "internal")
#: What the internal edition has at its top.
_PRIVATE = {"private": "PRIVATE · INTERNAL EDITION · DO NOT RELEASE",
            "edition": ("report", "Internal edition")}


class Place(Protocol):
    """Where a release is written."""

    def write(self, name: str, data: bytes) -> None:
        """Put a file there."""


def document(release: Mapping[str, Any], certificate: Mapping[str, Any],
             *closed: Mapping[str, Json]) -> Document:
    """What a release says: the public edition, or the internal one where `closed` is given.

    >>> document({"kind": "poem"}, {"claim": {"kind": "poem"}})
    Traceback (most recent call last):
        ...
    privsieve.errors.SchemaError: release.json is of a kind that has no report yet
    """
    kind = release.get("kind")
    if kind not in KINDS:
        raise SchemaError("release.json is of a kind that has no report yet")
    path, *files = _INTERNAL if closed else KINDS[kind]
    try:
        return page_of(_function(path)(release, certificate, *closed), *files,
                       **_PRIVATE if closed else {})
    except WRONG:
        raise SchemaError("release.json or certificate.json lacks what a report says; take the "
                          "files as privsieve wrote them") from None


def html(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> bytes:
    """The public edition: the same two files give the same bytes."""
    return renderer.page(document(release, certificate))


def internal_html(release: Mapping[str, Any], certificate: Mapping[str, Any],
                  closed: Mapping[str, Json]) -> bytes:
    """The internal edition of a publication: PRIVATE, for who holds the table.

    `closed` is what `containment.closed` says of the columns that stay behind.
    """
    return renderer.page(document(release, certificate, closed))


def write_report(folder: Place, release: Mapping[str, Any], certificate: Mapping[str, Any],
                 ) -> bool:
    """Lay the report beside its release; whether that could be done.

    A page is not worth a release: that was paid for and says all, and `privsieve report` makes the
    page again.
    """
    with suppress(Exception, KeyboardInterrupt):
        folder.write(NAME, html(release, certificate))
        return True
    return False


def ready(kind: str) -> None:
    """Load what the page of this kind takes: what is broken there is found for free.

    >>> ready("selection")
    """
    if kind in KINDS:
        path, *files = KINDS[kind]
        _function(path)
        blocks(*paths(*files))
        blocks(officer.WORDS)


def _function(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(f"privsieve.report.{module}"), name)
