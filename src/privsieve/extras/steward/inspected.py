"""Write the private page of an inspection of a table, for its holder.

The page uses the JSON of `inspect` and nothing else about the rows.
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


def inspected_page(inspection: Mapping[str, Any]) -> bytes:
    """Return the page of an inspection: PRIVATE, for the holder of the table."""
    return html.page(inspected_document(inspection))


def inspected_document(inspection: Mapping[str, Any]) -> Document:
    """Return the document of an inspection: PRIVATE, for the holder of the table."""
    prose = Prose(_known(inspection), WORDS)
    return Document(
        prose.text("title"), prose.facts("facts"), prose.parts("page"),
        tab=plain(prose.text("tab")), edition=("inspect", "For the holder of the table"),
        about="nothing was charged, nothing is released", closing=prose.text("closing"),
        private="PRIVATE · ABOUT THE ROWS OF A TABLE · DO NOT RELEASE")


def _known(look: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that the words in `inspecting.txt` use."""
    columns, ignored = look["columns"], look["ignored"]
    return {
        "look": look, "columns": columns, "persons": look["persons"],
        "counts": {word: sum(row["verdict"] == word for row in columns) for word in _VERDICTS},
        "verdict": str(look["verdict"]).upper(), "said": _sentence(look["said"]),
        "written": DataTable("Declared and actual format", ("What", "Declared", "Looks like"), [
            [name(row["key"]), name(row["declared"]), name(row["found"])]
            for row in look["written"]], words=3),
        "write": list(map(literal, look["write"])),
        "absent": DataTable("Columns that the table lacks", ("Column", "The table has"), [
            [name(row["name"]), name(row["near"]) if row["near"] else "no similar name"]
            for row in look["absent"]], words=2),
        "ignored": names(ignored) if len(ignored) <= MANY else f"{count(len(ignored))} columns",
        "broken": DataTable("Lines that are not rows", (
            "Lines", "What to do", "How many", "Where first"), [
            [literal(row["said"]), literal(row["fix"]), count(row["many"]),
             f"line {_places(row['where'], row['many'])}"] for row in look["broken"]], words=4),
        "all_columns": DataTable("All columns, the worst first", ("Column", "Verdict", "In use"),
                             [_row(row) for row in columns], words=3),
        "troubled": [section for row in columns if row["verdict"] != "fine"
                     for section in _troubled(row, look["place"])],
    }


def _troubled(column: Mapping[str, Any], place: str) -> Iterator[Part]:
    """Yield what is wrong with a column, and what to do."""
    yield Heading(f"{name(column['name'])}: {column['verdict']}")
    about = " (about)" * (not column["different_exact"])
    yield (f"{_sentence(column['said'])} {count(column['different'])} different values{about}; "
           f"{_in_use(column)} in use.")
    if troubles := list(_troubles(column, place)):
        yield DataTable("Cells", ("What", "How many", "Where first"), troubles, words=3,
                        narrow=True)
    if column["spellings"] or column["marks"]:
        yield DataTable("Texts and numbers that stand out", (
            "In the table", "How often", "The domain lists"), [
            *([name(each["text"]), _marked(each, place), literal(each["listed"] or "–")]
              for each in column["spellings"]),
            *([name(each["value"]), _marked(each, place), "–"] for each in column["marks"])],
            words=3)
    if column["more_spellings"]:
        yield Paragraph(f"And {count(column['more_spellings'])} other texts.", quiet=True)
    yield Bullets(list(map(literal, column["fixes"])))


def _row(column: Mapping[str, Any]) -> list[str | Bar]:
    """Return the row of a column: a bar of the cells that are read, lost and missing."""
    rows = max(int(column["rows"]), 1)
    lost = column["unparsable"] + column["unlisted"]
    ends = [100 * (column["rows"] - column["missing"] - less) / rows for less in (lost, 0)]
    pieces = [Piece(0, ends[0]), Piece(ends[0], ends[1], "f4"), Piece(ends[1], 100, "f3")]
    shares = ", ".join(f"{share_up(cells, rows)} {what}" for cells, what in (
        (lost, "lost"), (column["missing"], "empty")) if cells)
    label = name(column["name"]) + (f"\n~~{shares}~~" if shares else "")
    return [Bar(label, pieces), column["verdict"].replace("stop", "**stop**"), _in_use(column)]


def _in_use(column: Mapping[str, Any]) -> str:
    """Return how many levels, bins or codes are in use."""
    if column["kind"] in ("category", "label", "flag"):
        return f"{column['levels_used']} of {column['levels']} levels"
    if column["bins"] is None or not sum(column["bins"]):
        return f"{count(column['levels_used'])} codes"
    return f"{sum(many > 0 for many in column['bins'])} of {len(column['bins'])} bins"


def _troubles(column: Mapping[str, Any], place: str) -> Iterator[tuple[str, str, str]]:
    """Yield each kind of trouble with its number of cells, and where they are first."""
    for word in _TROUBLES:
        if column[word]:
            where, many = column["where"].get(word, ()), column[word]
            yield (word, f"{count(many)} ({share_up(many, max(column['rows'], 1))})",
                   f"{place}{'s' * (len(where) > 1)} {_places(where, many)}" if where else "")


def _places(where: Sequence[int], many: int) -> str:
    return ", ".join(map(str, where)) + " …" * (many > len(where))


def _marked(mark: Mapping[str, Any], place: str) -> str:
    """Return how often a text or number occurs, and where first."""
    return f"{plural(mark['many'], 'time')}, first in {place} {mark['first']}"


def _sentence(text: str) -> Text:
    return Text(literal(capital(text) + "." * (text[-1:] != "?")))
