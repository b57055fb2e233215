"""Selection: what a page says of a choice of columns under differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from privsieve.core.cost import exact
from privsieve.report.claim import common_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privsieve.report.claim import Column, Common


class Forecast(NamedTuple):
    """Per cent of the best columns that would be found, from public numbers alone.

    by_gap : for each share of rows by which those columns stand out.
    by_cost : for each cost, at the usual gap; empty where the release does not say.
    """

    guessing: int
    by_gap: tuple[tuple[str, int], ...]
    by_cost: tuple[tuple[str, int], ...]
    usual_gap: str | None


class SelectionPage(NamedTuple):
    """All that the public edition may say; made of release.json and certificate.json."""

    common: Common
    chosen: tuple[Column, ...]
    ordered: bool
    forecast: Forecast | None


def page_of(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> SelectionPage:
    """The page of a release; what is not in its two files becomes None."""
    common = common_of(release, certificate)
    ordered = release["plan"]["settings"].get("ordered") is True
    selected = release["selected"] if ordered else sorted(release["selected"], key=_alphabet)
    return SelectionPage(common, common.declared(selected), ordered,
                         _forecast(release.get("forecast")))


def _forecast(said: Mapping[str, Any] | None) -> Forecast | None:
    if not said or "found_percent" not in said:
        return None
    by_cost = said.get("by_cost", {})
    return Forecast(int(said["guessing_percent"]),
                    tuple((gap, int(found)) for gap, found in _increasing(said["found_percent"])),
                    tuple((cost, int(found)) for cost, found in _increasing(by_cost)),
                    said.get("usual_gap"))


def _increasing(told: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return sorted(told.items(), key=lambda one: exact(one[0], "the forecast"))


def _alphabet(name: str) -> tuple[str, str]:
    return name.casefold(), name
