"""Columns: the domain file as a form, and the form as a domain file."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple
from warnings import catch_warnings

import tomli_w

from privsieve.errors import DomainError
from privsieve.extras.codebooks.code_book import read_sheet
from privsieve.extras.desk.state import DOMAIN, Desk
from privsieve.public.canonical import is_whole
from privsieve.public.domain import Domain
from privsieve.public.domain_file import parse, to_toml
from privsieve.public.draft import proposed
from privsieve.rows.source import TEXT_FILES, open_source
from privsieve.rows.written import recognised

#: The kinds of a column and of a target, and what to write for each.
KINDS = {"": "left out", "number": "number", "flag": "yes or no", "category": "category",
         "date": "date"}
TARGETS = {"label": "classes", "flag": "yes or no", "number": "number"}
#: How a CSV file is written; lists are separated by commas.
WRITTEN = {"delimiter": "delimiter", "decimal": "decimal sign", "thousands": "thousands sign",
           "encoding": "encoding", "missing": "words for missing", "censored": "limits, such as <5"}
#: The fields of a column that the form shows.
FIELDS = ("low", "high", "values")


class ColumnEntry(NamedTuple):
    """A column in the form: its kind, its declaration, and why it is left out."""

    name: str
    kind: str
    facts: Mapping[str, Any]
    why: str = ""

    def __repr__(self) -> str:
        return object.__repr__(self)


class TableForm(NamedTuple):
    """The form of a table: the format of its file, the privacy unit, the columns, the target."""

    table: Mapping[str, Any]
    rows: list[ColumnEntry]
    target: str = ""
    target_facts: Mapping[str, Any] = {}

    def __repr__(self) -> str:
        return object.__repr__(self)


def form_of(folder: Path, file: str) -> TableForm:
    """Return the form of a table, filled in from its domain file, or from names and types."""
    path = folder / file
    how = recognised(path) if path.suffix.lower() in TEXT_FILES else None
    source = open_source(path, csv=how)
    known: dict[str, Any] = {}
    with suppress(DomainError, OSError):
        known = tomllib.loads(to_toml(Domain.from_toml(folder / DOMAIN)))
    columns = {each["name"]: each for each in known.get("column", [])}
    target = known.get("target", {})
    if not columns.keys() & set(source.columns):
        known, columns, target = {}, {}, {}
    rows = []
    for name, kind in zip(source.columns, source.types, strict=True):
        entry = proposed(name, kind)
        own: Mapping[str, Any] = columns.get(name, {}) if columns else entry.facts
        chosen = own.get("kind", "") if columns else "" if entry.aside else entry.kind
        rows.append(ColumnEntry(name, chosen, own, "" if chosen else entry.aside))
    written = {"delimiter": how.delimiter, "decimal": how.decimal,
               "encoding": how.encoding} if how else {}
    table = known.get("table", {})
    return TableForm({**table, "csv": {**written, **table.get("csv", {})} if written else {}}, rows,
                target.get("name", ""), target)


def save_sheet(desk: Desk, file: str) -> str:
    """Save the first sheet of an Excel file as a new CSV file; return its name."""
    with catch_warnings(action="ignore"):  # the library's warnings quote cells
        rows = [list(map(_cell_text, row)) for row in read_sheet(desk.folder / file, file)]
    while rows and not any(rows[-1]):
        rows.pop()
    name, text = f"{Path(file).stem}.csv", StringIO()
    if (desk.folder / name).exists():
        raise DomainError(f"{name} is already in the folder; choose it, or rename the Excel file")
    csv.writer(text).writerows(rows)
    desk.write(name, text.getvalue().encode())
    return name


def _cell_text(cell: Any) -> str:
    """Return a cell of Excel as a field of CSV: a date as 2020-12-31, a text on one line."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, datetime):
        return cell.isoformat(" ").removesuffix(" 00:00:00")
    return "" if cell is None else " ".join(str(cell).split())


def filled(form: TableForm, fields: Mapping[str, str]) -> TableForm:
    """Return a form as a user filled it in; a field of a list is separated by commas."""
    def facts(place: str, old: Mapping[str, Any], kind: str) -> dict[str, Any]:
        # Facts that the form does not show stay unchanged, for a column of the same kind.
        kept = {key: value for key, value in old.items()
                if key not in (*FIELDS, "name", "kind")} if old.get("kind") == kind else {}
        return {**kept, **{key: _value(key, text) for key in FIELDS
                           if (text := fields.get(f"{key}-{place}", "").strip())}}

    rows = [ColumnEntry(row.name, kind, facts(str(at), row.facts, kind), row.why)
            for at, row in enumerate(form.rows)
            for kind in [fields.get(f"kind-{at}", row.kind)]]
    csv_facts = {key: _value(key, text) for key in WRITTEN
                 if (text := fields.get(key, "")) and form.table["csv"]}
    if form.table["csv"] and fields.get("line_breaks"):
        csv_facts["line_breaks"] = True
    kept = {key: value for key, value in form.table.items() if key in ("neighbours", "rows")}
    table: dict[str, Any] = {**kept, "csv": csv_facts}
    if fields.get("unit") in ("row", "person"):
        table["unit"] = fields["unit"]
    if fields.get("unit") == "person":
        table["person"] = fields.get("person", "")
        table |= {key: _value(key, text) for key in ("rows_per_person", "persons")
                  if (text := fields.get(key, "").strip())}
    kind = fields.get("target-kind", "label")
    target = fields.get("target", "")
    return TableForm(table, rows, target, {"kind": kind, **facts(
        "target", form.target_facts, kind)} if target else {})


def text_of(form: TableForm) -> str:
    """Return the domain file of a form; raise DomainError for what is missing or wrong in it."""
    names = (form.target, form.table.get("person"))
    content: dict[str, Any] = {
        "table": {key: value for key, value in form.table.items() if value},
        "column": [{**row.facts, "name": row.name, "kind": row.kind} for row in form.rows
                   if row.kind and row.name not in names]}
    if form.target:
        content["target"] = {"name": form.target, **form.target_facts}
    if "unit" not in content["table"]:
        raise DomainError("choose what is protected: each row, or each person with all their rows")
    if not content["column"]:
        raise DomainError("no column has a kind; choose a kind for at least one column")
    return to_toml(parse(tomli_w.dumps(content)))


def _value(key: str, text: str) -> Any:
    """Return the value of a field: a list, a number, a date or a text."""
    if key in ("missing", "censored", "values"):
        return [_scalar(each.strip()) if key == "values" else each.strip()
                for each in next(csv.reader([text], skipinitialspace=True), []) if each.strip()]
    return text if key in WRITTEN else _scalar(text)


def _scalar(text: str) -> Any:
    if is_whole(text):
        return int(text)
    with suppress(ValueError):
        return float(text)
    with suppress(tomllib.TOMLDecodeError):
        value = tomllib.loads(f"v = {text}")["v"]  # a date
        return value if hasattr(value, "year") else text
    return text


def written_value(value: Any) -> str:
    """Return a value as the form shows it.

    >>> written_value(["a", "b,c", 1])
    'a, "b,c", 1'
    """
    if not isinstance(value, list):
        return str(value)
    return ", ".join('"' + text.replace('"', '""') + '"' if {",", '"'} & set(text) else text
                     for text in map(str, value))
