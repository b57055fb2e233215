"""Report: documents about releases, plans and accounts, and the page beside a release.

It reads release.json and certificate.json, never rows, and measures nothing.  The public page is
made from those two files alone, so its words cannot leak anything private.
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
#: By kind: the function that returns what its page fills in, and the files of its words.
KINDS = {"selection": ("selection:selection", "private", "selection"),
         "weights": ("weights:weights", "private", "weights"),
         "regression": ("regression:regression", "private", "regression"),
         "histogram": ("histogram:histogram", "private", "histogram"),
         "containment": ("publication:publication", "publication")}
_INTERNAL = ("publication:internal", "publication", "internal")
#: The top of the internal edition.
_PRIVATE = {"private": "PRIVATE · INTERNAL EDITION · DO NOT RELEASE",
            "edition": ("report", "Internal edition")}


class ReleaseFolder(Protocol):
    """A folder that gets the files of a release."""

    def write(self, name: str, data: bytes) -> None:
        """Write a file into the folder."""


def document(release: Mapping[str, Any], certificate: Mapping[str, Any],
             *closed: Mapping[str, Json]) -> Document:
    """Return the document of a release: the internal edition if `closed` is given, else the public.

    >>> document({"kind": "poem"}, {"claim": {"kind": "poem"}})
    Traceback (most recent call last):
        ...
    privsieve.errors.SchemaError: release.json has a kind that this version cannot show; use the \
version that made it
    """
    kind = release.get("kind")
    if kind not in KINDS:
        raise SchemaError("release.json has a kind that this version cannot show; use the version "
                          "that made it")
    path, *files = _INTERNAL if closed else KINDS[kind]
    try:
        return page_of(_function(path)(release, certificate, *closed), *files,
                       **_PRIVATE if closed else {})
    except WRONG:
        raise SchemaError("release.json or certificate.json lacks a value that a report needs; "
                          "use the files as privsieve wrote them") from None


def html(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> bytes:
    """Return the public edition: the same two files give the same bytes."""
    return renderer.page(document(release, certificate))


def internal_html(release: Mapping[str, Any], certificate: Mapping[str, Any],
                  closed: Mapping[str, Json]) -> bytes:
    """Return the internal edition of a publication: PRIVATE, for the holder of the table.

    `closed` is what `containment.closed` says about the unpublished columns.
    """
    return renderer.page(document(release, certificate, closed))


def write_report(folder: ReleaseFolder, release: Mapping[str, Any],
                 certificate: Mapping[str, Any]) -> bool:
    """Write the report beside its release, and return whether that succeeded.

    A failed page does not end a paid release: `privsieve report` writes the page later.
    """
    with suppress(Exception, KeyboardInterrupt):
        folder.write(NAME, html(release, certificate))
        return True
    return False


def ready(kind: str) -> None:
    """Load the words of this kind of page before the charge: a broken file then costs nothing.

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
