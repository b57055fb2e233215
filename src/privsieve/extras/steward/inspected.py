"""Inspected: the private page of a look at the cells of a table, for who holds it.

It is made of what `inspect` tells programs, and knows no row beyond that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from privsieve.report.figures import MANY, capital, count, plural, share_up
from privsieve.telling import html
from privsieve.telling.document import (
    Bar,
    Bullets,
    DataTable,
    Document,
    Heading,
    Paragraph,
    Part,
    Piece,
    Text,
    literal,
    name,
    names,
    plain,
)
from privsieve.telling.prose import Prose

#: The words of the page.
WORDS = Path(__file__).with_name("inspecting.txt")
#: The words of verdicts on columns, and of what is wrong with cells.
_VERDICTS = ("stop", "look", "fine")
_TROUBLES = ("unparsable", "unlisted", "below", "above", "missing")


def inspected_page(told: Mapping[str, Any]) -> bytes:
    """The page of a look at a table: PRIVATE, for who holds it."""
    return html.page(inspected_document(told))


def inspected_document(told: Mapping[str, Any]) -> Document:
    """What a look at a table found: PRIVATE, for who holds it."""
    prose = Prose(_known(told), WORDS)
    return Document(
        prose.text("title"), prose.facts("facts"), prose.parts("page"),
        tab=plain(prose.text("tab")), edition=("inspect", "For who holds the table"),
        about="nothing was charged, nothing is released", closing=prose.text("closing"),
        private="PRIVATE · ABOUT THE ROWS OF A TABLE · DO NOT RELEASE")


def _known(look: Mapping[str, Any]) -> dict[str, Any]:
    """What the page knows; its words lie in `inspecting.txt`."""
    columns, ignored = look["columns"], look["ignored"]
    return {
        "look": look, "columns": columns, "persons": look["persons"],
        "counts": {word: sum(one["verdict"] == word for one in columns) for word in _VERDICTS},
        "verdict": str(look["verdict"]).upper(), "said": _sentence(look["said"]),
        "written": DataTable("As declared, and as it looks", ("What", "Declared", "Looks like"), [
            [name(one["key"]), name(one["declared"]), name(one["found"])]
            for one in look["written"]], words=3),
        "write": list(map(literal, look["write"])),
        "absent": DataTable("Columns that the table lacks", ("Column", "The table has"), [
            [name(one["name"]), name(one["near"]) if one["near"] else "nothing near"]
            for one in look["absent"]], words=2),
        "ignored": names(ignored) if len(ignored) <= MANY else f"{count(len(ignored))} columns",
        "broken": DataTable("Lines that are no records", (
            "Lines", "What to do", "How many", "Where first"), [
            [literal(one["said"]), literal(one["fix"]), count(one["many"]),
             f"line {_places(one['where'], one['many'])}"] for one in look["broken"]], words=4),
        "all_columns": DataTable("All columns, the worst first", ("Column", "Verdict", "In use"),
                             [_row(one) for one in columns], words=3),
        "troubled": [part for one in columns if one["verdict"] != "fine"
                     for part in _troubled(one, look["place"])],
    }


def _troubled(one: Mapping[str, Any], place: str) -> Iterator[Part]:
    """What to do with a column that is not fine."""
    yield Heading(f"{name(one['name'])}: {one['verdict']}")
    about = " (about)" * (not one["different_exact"])
    yield (f"{_sentence(one['said'])} {count(one['different'])} different values{about}; "
           f"{_in_use(one)} in use.")
    if found := list(_troubles(one, place)):
        yield DataTable("Cells", ("What", "How many", "Where first"), found, words=3, narrow=True)
    if one["spellings"] or one["marks"]:
        yield DataTable("Texts and numbers that stand out", (
            "As it stands", "How often", "The domain lists"), [
            *([name(each["text"]), _marked(each, place), literal(each["listed"] or "–")]
              for each in one["spellings"]),
            *([name(each["value"]), _marked(each, place), "–"] for each in one["marks"])],
            words=3)
    if one["more_spellings"]:
        yield Paragraph(f"And {count(one['more_spellings'])} other texts.", quiet=True)
    yield Bullets(list(map(literal, one["fixes"])))


def _row(one: Mapping[str, Any]) -> list[str | Bar]:
    """A column of the table: its name with a bar of what is read, lost and missing."""
    rows = max(int(one["rows"]), 1)
    lost = one["unparsable"] + one["unlisted"]
    ends = [100 * (one["rows"] - one["missing"] - less) / rows for less in (lost, 0)]
    pieces = [Piece(0, ends[0]), Piece(ends[0], ends[1], "f4"), Piece(ends[1], 100, "f3")]
    shares = ", ".join(f"{share_up(part, rows)} {what}" for part, what in (
        (lost, "lost"), (one["missing"], "empty")) if part)
    label = name(one["name"]) + (f"\n~~{shares}~~" if shares else "")
    return [Bar(label, pieces), one["verdict"].replace("stop", "**stop**"), _in_use(one)]


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
            where = one["where"].get(word, ())
            yield (word, f"{count(one[word])} ({share_up(one[word], max(one['rows'], 1))})",
                   f"{place}{'s' * (len(where) > 1)} {_places(where, one[word])}" if where else "")


def _places(where: Sequence[int], many: int) -> str:
    return ", ".join(map(str, where)) + " …" * (many > len(where))


def _marked(one: Mapping[str, Any], place: str) -> str:
    """A text or number that stands somewhere."""
    return f"{plural(one['many'], 'time')}, first in {place} {one['first']}"


def _sentence(text: str) -> Text:
    return Text(literal(capital(text) + "." * (text[-1:] != "?")))
