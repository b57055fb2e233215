"""Report: a release told to people, as one HTML page that needs nothing else.

A face: it reads release.json and certificate.json, knows no row, and measures nothing.  The public
page is made of an object that has no private field, so no slip of a template can leak one.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from privsieve.errors import SchemaError
from privsieve.public.canonical import Json

if TYPE_CHECKING:
    from privsieve.report.exploring import Explored

NAME = "report.html"
#: Each kind of release, and the modules that say and show its page.
KINDS = {**{kind: (kind, kind) for kind in ("selection", "weights", "regression", "histogram")},
         "containment": ("publication", "publication_html")}
#: What a file that privsieve did not write can raise.
_WRONG = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError)


class Place(Protocol):
    """Where a release is written."""

    def stage(self, name: str, data: bytes) -> None:
        """Keep the bytes until all files of the release get their names."""


def html(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> bytes:
    """The public edition: the same two files give the same bytes.

    >>> html({"kind": "poem"}, {"claim": {"kind": "poem"}})
    Traceback (most recent call last):
        ...
    privsieve.errors.SchemaError: release.json is of a kind that has no report yet
    """
    kind = release.get("kind")
    if kind not in KINDS:
        raise SchemaError("release.json is of a kind that has no report yet")
    said, shown = (import_module(f"privsieve.report.{module}") for module in KINDS[kind])
    try:
        page: bytes = shown.page(said.page_of(release, certificate))
    except _WRONG:
        raise SchemaError("release.json or certificate.json lacks what a report says; take the "
                          "files as privsieve wrote them") from None
    return page


def internal_html(release: Mapping[str, Any], certificate: Mapping[str, Any],
                  closed: Mapping[str, Json]) -> bytes:
    """The internal edition of a publication: PRIVATE, for who holds the table.

    `closed` is what `containment.closed` says of the columns that stay behind.
    """
    from privsieve.report.internal_edition import page
    from privsieve.report.publication import internal_of

    return page(internal_of(release, certificate, closed))


def explored_html(told: Explored) -> bytes:
    """The page for whom has to choose k: PRIVATE, for who holds the table."""
    from privsieve.report.exploring_html import page

    return page(told)


def stage_report(folder: Place, release: Mapping[str, Any], certificate: Mapping[str, Any]) -> None:
    """Lay the report beside its release.  If that fails the release leaves without it.

    The release was paid for and says all; `privsieve report` makes the page again.
    """
    with suppress(Exception, KeyboardInterrupt):  # a page is not worth a release
        folder.stage(NAME, html(release, certificate))
