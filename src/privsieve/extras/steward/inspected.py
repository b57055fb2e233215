"""Inspected: the private page of a look at the cells of a table, for who holds it.

It is made of what `inspect` tells programs, and knows no row beyond that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from privsieve.report.page import Piece, bar, clean, count, document, name, plural, share_up

#: The template of the page.
_TEMPLATE = str(Path(__file__).with_name("inspecting"))
#: The words of verdicts on columns, and of what is wrong with cells.
_VERDICTS = ("stop", "look", "fine")
_TROUBLES = ("unparsable", "unlisted", "below", "above", "missing")


def inspected_page(told: Mapping[str, Any]) -> bytes:
    """The page of a look at a table: PRIVATE, for who holds it."""
    columns = told["columns"]
    return document(
        _TEMPLATE, kind="internal", said=told, columns=columns,
        troubled=[one for one in columns if one["verdict"] != "fine"],
        rows=[_row(one) for one in columns], troubles=_troubles, value=_value, marked=_marked,
        in_use=_in_use, counts={word: sum(one["verdict"] == word for one in columns)
                                for word in _VERDICTS})


def _row(one: Mapping[str, Any]) -> list[Markup | str]:
    """A column of the table: its name with a bar of what is read, lost and missing."""
    rows = max(int(one["rows"]), 1)
    lost = one["unparsable"] + one["unlisted"]
    read = one["rows"] - one["missing"] - lost
    ends = [100 * read / rows, 100 * (read + lost) / rows]
    pieces = [Piece(0, ends[0]), Piece(ends[0], ends[1], "f4"), Piece(ends[1], 100, "f3")]
    shares = [f"{share_up(part, rows)} {what}" for part, what in (
        (lost, "lost"), (one["missing"], "empty")) if part]
    said = Markup('{}<span class="t">{}</span>').format(
        bar(name(one["name"]), pieces), ", ".join(shares))
    stop = Markup("<b>stop</b>")
    return [said, stop if one["verdict"] == "stop" else one["verdict"], _in_use(one)]


def _in_use(one: Mapping[str, Any]) -> str:
    """What is in use of levels, or of bins; of codes where there are no bins."""
    if one["kind"] in ("category", "label", "flag"):
        return f"{one['levels_used']} of {one['levels']} levels"
    if one["bins"] is None or not sum(one["bins"]):
        return f"{count(one['levels_used'])} codes"
    return f"{sum(many > 0 for many in one['bins'])} of {len(one['bins'])} bins"


def _troubles(one: Mapping[str, Any], place: str) -> Iterator[tuple[str, str, str]]:
    """What is wrong with cells: the word, how many, and where first."""
    for word in _TROUBLES:
        if one[word]:
            places = one["where"].get(word, ())
            more = " …" if places and one[word] > len(places) else ""
            yield (word, f"{count(one[word])} ({share_up(one[word], max(one['rows'], 1))})",
                   f"{place}{'s' * (len(places) > 1)} {', '.join(map(str, places))}{more}"
                   if places else "")


def _value(text: object) -> Markup:
    """A text of the table, harmless."""
    return name(f'"{clean(text)}"')


def _marked(one: Mapping[str, Any], place: str) -> str:
    """A text or number that stands somewhere."""
    return f"{plural(one['many'], 'time')}, first in {place} {one['first']}"
