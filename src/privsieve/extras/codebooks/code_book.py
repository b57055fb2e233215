"""Code books: public facts about columns in files of other programs.

A code book is a CSV file or Excel sheet with a line for each variable, a Frictionless table schema,
or a file of SPSS, Stata or SAS, with its value labels, missing codes and variable labels.  Rows of
data are not read.  One error lists all faults of a code book, each with its line.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from privsieve.entries import import_library
from privsieve.errors import DomainError, SchemaError
from privsieve.public.blocks import expanded
from privsieve.public.canonical import FLAGS, first_of, is_whole, plain, quoted
from privsieve.public.columns import Category, Date, Flag, Number
from privsieve.public.draft import ID, NO, TEXT, UNKNOWN, Proposal, proposed

#: The most bytes of a code book.
LARGEST_BOOK = 64 * 2**20
#: The reader of each kind of statistics file.
_STATISTICS = {".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por", ".dta": "read_dta",
               ".sas7bdat": "read_sas7bdat", ".xpt": "read_xport"}
_FORMS = (".csv, .tsv, .txt, .xlsx, .json (Frictionless), .sav, .zsav, .por, .dta, .sas7bdat, "
          ".xpt")
#: The allowed names of a code book's columns.
_HEADS = {
    "name": ("name", "names", "variable", "column", "field"),
    "kind": ("kind", "type", "measure"),
    "values": ("values", "levels", "categories", "codes", "value labels"),
    "low": ("low", "min", "minimum"),
    "high": ("high", "max", "maximum"),
    "missing": ("missing", "missing_values", "missing values", "missing codes"),
    "format": ("format",),
    "says": ("label", "description", "says", "title"),
}
_KINDS = {
    "number": ("number", "numeric", "integer", "int", "float", "real", "decimal", "scale",
               "continuous", "ordinal", "year"),
    "category": ("category", "categorical", "nominal", "factor", "enum"),
    "flag": ("flag", "boolean", "bool", "yes/no", "binary", "logical"),
    "date": ("date", "datetime", "timestamp"),
    ID: ("id", "identifier"),
    TEXT: ("text", "free text", "string"),
}
_MADE = {"number": Number, "category": Category, "flag": Flag, "date": Date}
#: The beginning of date formats in statistics files.
_DATE_FORMAT = (r"(?i)%?t[cCd]|[EASJ]?DATE|DTDATE|NLDATE|WORDDAT|WEEKDAT|[EB]8601D|YMDHMS|"
                r"MMDDYY|DDMMYY|YYMMDD")
#: A format of Stata with a time of day and without a day.
_TIME_FORMAT = r"(?i)%tc[HhMmSs:._ apAP]+$"
#: SAS's default name of a catalogue of formats.
_CATALOGUE = "formats.sas7bcat"


def entries_for(path: str | os.PathLike[str], columns: Sequence[str]) -> dict[str, Proposal]:
    """Return the entries of a code book for the columns of a table, by their names.

    A name in the book may be a block (`q01..q95`) or a pattern (`q*`).  An exact name takes
    precedence over a pattern.  Names that the table lacks are ignored.
    """
    exact: dict[str, Proposal] = {}
    patterns: list[Proposal] = []
    for entry in read(Path(path)):
        for name in expanded(entry.name):
            if any(sign in name for sign in "*?["):
                patterns.append(replace(entry, name=name))
            else:
                exact[name] = entry
    entries: dict[str, Proposal] = {}
    for name in columns:
        fitting = [*(exact[key] for key in [name] if key in exact),
                   *(each for each in patterns if fnmatchcase(name, each.name))]
        if fitting:
            entries[name] = replace(fitting[0], name=name)
    if not entries:
        raise SchemaError("the code book does not name any column of the table; use the names of "
                          "the table, with the same capital letters")
    return entries


def read(path: Path) -> list[Proposal]:
    """Read a code book in the format of its file name."""
    ending = path.suffix.lower()
    if not path.is_file():
        raise SchemaError("the code book does not exist, or is not a file; check the path")
    if path.stat().st_size > LARGEST_BOOK and ending not in _STATISTICS:
        raise SchemaError("the code book is larger than 64 MB; check the path")
    if ending in _STATISTICS:
        return _statistics(path, _STATISTICS[ending])
    if ending in (".csv", ".tsv", ".txt"):
        return _of_lines(_csv_lines(path.read_bytes()))
    if ending in (".xlsx", ".xlsm"):
        return _of_lines(_headed(iter(enumerate(read_sheet(path, "the code book"), 1))))
    if ending == ".json":
        return _of_lines(_frictionless(path.read_bytes()))
    raise SchemaError(f"the code book's name ends in {ending!r}; take one of {_FORMS}")


# --- a line for each variable --------------------------------------------------------------------

Lines = Iterable[tuple[int, Mapping[str, Any]]]


def _of_lines(lines: Lines) -> list[Proposal]:
    """Read an entry from each line; one error lists all faults."""
    entries: list[Proposal] = []
    seen: dict[str, int] = {}
    faults: list[str] = []
    for number, line in lines:
        name = str(line.get("name") or "").strip()
        if not name:
            continue
        if name in seen:
            faults.append(f"line {number}: {name!r} is also on line {seen[name]}; remove one")
            continue
        seen[name] = number
        try:
            expanded(name)
            entries.append(_entry(name, line))
        except DomainError as error:
            faults.append(f"line {number}: {error}")
    if len(faults) == 1:
        raise DomainError(f"the code book, {faults[0]}")
    if faults:
        raise DomainError("\n".join([f"the code book has {len(faults)} faults:",
                                     *first_of(faults)]))
    return entries


def _entry(name: str, line: Mapping[str, Any]) -> Proposal:
    """Read the entry of a line, checked as in a domain file."""
    facts: dict[str, Any] = {}
    values = _values(line.get("values"))
    for end in ("low", "high"):
        if (value := _plain(line.get(end))) != "":
            facts[end] = value
    kind = _kind(name, line.get("kind"), values, facts)
    says = str(line.get("says") or "")
    if kind == UNKNOWN:
        return Proposal(name, "number", why=UNKNOWN, says=says)
    if kind in (ID, TEXT, ""):
        return Proposal(name, "", why=kind or TEXT, says=says)
    if kind == "category" and values:
        facts = {"values": values}
    if kind == "number":
        facts = {end: _number(name, end, value) for end, value in facts.items()}
        missing = [_number(name, "missing", text) for text in _values(line.get("missing"))
                   if re.fullmatch(r"-?[0-9.,]+", str(text))]
        facts |= {"missing_values": missing} if missing else {}
    if kind == "date":
        facts = {end: _day(name, end, value) for end, value in facts.items()}
        facts |= {"format": line["format"]} if line.get("format") else {}
    if kind == "flag":
        first = str(values[0]).lower() if values else ""
        pair = values[1::-1] if first in NO or FLAGS.get(first) == 0 else values[:2]
        own = [text if str(text).lower() not in FLAGS else () for text in pair]
        facts = {key: word for key, word in zip(("true", "false"), own, strict=False) if word != ()}
    entry = Proposal(name, kind, facts, says=says)
    if not entry.open:  # report faults of the book before a draft is made from it
        known = [item.name for item in fields(_MADE[kind])]
        _MADE[kind](**{"name": name, **{key: facts[key] for key in facts if key in known}})
    return entry


def _kind(name: str, cell: object, values: Sequence[Any], facts: Mapping[str, Any]) -> str:
    """Return the kind that a word of the book means; guess it without a word."""
    word = str(cell or "").strip().casefold()
    if not word:
        entry = proposed(name, "other")
        return "category" if values else "number" if facts else entry.why or entry.kind
    for kind, its in _KINDS.items():
        if word in its:
            return "category" if kind == TEXT and values else kind
    raise DomainError(f"{name!r}: kind is {quoted(cell)}; write number, category, flag, date, id "
                      "or text")


def _values(cell: object) -> list[str | int]:
    """Read levels or codes: a list, or a text such as `1=male | 2=female`."""
    if cell is None or cell == "":
        return []
    if isinstance(cell, list | tuple):
        pieces = [str(item) for item in cell]
    else:
        text = str(cell)
        sign = next((each for each in ("|", ";", "\n", ",") if each in text), "|")
        pieces = [piece.partition("=")[0] for piece in text.split(sign)]
    texts = [plain(piece.strip()) for piece in pieces]
    return [int(text) if is_whole(text) and len(text) < 18 else text for text in texts if text]


def _plain(cell: object) -> Any:
    """Return a cell of a book without blanks; a date or number of a sheet unchanged."""
    return "" if cell is None else cell.strip() if isinstance(cell, str) else cell


def _number(name: str, key: str, cell: object) -> float:
    try:
        number = float(str(cell).replace(",", "."))
    except ValueError:
        raise DomainError(f"{name!r}: {key} is {quoted(cell)}; write a number") from None
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _day(name: str, key: str, cell: object) -> dt.date:
    if isinstance(cell, dt.datetime):
        return cell.date()
    try:
        return dt.date.fromisoformat(str(cell))
    except ValueError:
        raise DomainError(f"{name!r}: {key} is {quoted(cell)}; write a date such as "
                          "2020-01-01") from None


def _headed(rows: Iterator[tuple[int, Sequence[Any]]]) -> Lines:
    """Yield the rows below a line of names, as mappings from the keys of `_HEADS`."""
    number, head = next(rows, (1, []))
    words = [str(cell or "").strip().casefold() for cell in head]
    place = {key: words.index(word) for key, its in _HEADS.items() for word in its if word in words}
    if "name" not in place:
        raise DomainError(f"the code book, line {number}: no column is called name (or variable); "
                          "the first line must name the columns: name, kind, values, low, high, "
                          "missing, format, label")
    for line, row in rows:
        yield line, {key: row[at] for key, at in place.items() if at < len(row)}


def _csv_lines(data: bytes) -> Lines:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeError:
        text = data.decode("cp1252", "replace")
    head = text.partition("\n")[0]
    delimiter = max((",", ";", "\t"), key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)

    def rows() -> Iterator[tuple[int, Sequence[Any]]]:
        before = 0
        try:
            for row in reader:
                yield before + 1, row
                before = reader.line_num
        except csv.Error:
            raise DomainError(f"the code book, line {before + 1}: it is not CSV") from None

    return _headed(rows())


def read_sheet(path: Path, what: str) -> list[list[Any]]:
    """Read the cells of the first sheet of an Excel file."""
    openpyxl = import_library("openpyxl", "codebooks", "an Excel file")
    try:
        book = openpyxl.load_workbook(io.BytesIO(path.read_bytes()), True, data_only=True)
        return [list(row) for row in book.worksheets[0].iter_rows(values_only=True)]
    except Exception:  # noqa: BLE001  # errors of the library about a broken file
        raise SchemaError(f"{what} cannot be read as an Excel file") from None


def _frictionless(data: bytes) -> Lines:
    """Read the fields of a table schema, or of the first resource of a data package."""
    try:
        schema = json.loads(data)
        schema = schema["resources"][0]["schema"] if "resources" in schema else schema
        listed, missing = schema["fields"], schema.get("missingValues", [])
        described = [(field, field.get("constraints", {})) for field in listed]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise SchemaError("the code book is not a Frictionless table schema: `fields` is "
                          "missing") from None
    for at, (field, limits) in enumerate(described, 1):
        form = field.get("format", "default")
        yield at, {
            "name": field.get("name"), "kind": field.get("type"), "values": limits.get("enum"),
            "low": limits.get("minimum"), "high": limits.get("maximum"),
            "missing": [*missing, *field.get("missingValues", [])],
            "format": form if "%" in str(form) else None,
            "says": field.get("title") or field.get("description")}


# --- files of statistics programs ----------------------------------------------------------------

def _statistics(path: Path, reader: str) -> list[Proposal]:
    """Read the variables of an SPSS, Stata or SAS file from its dictionary, not from its rows."""
    readers = import_library("pyreadstat", "codebooks", "a file of SPSS, Stata or SAS")
    # The reader of SPSS omits missing codes by default.
    options: dict[str, Any] = {"output_format": "dict"}
    if reader == "read_sav":
        options["user_missing"] = True
    try:
        book = getattr(readers, reader)(str(path), metadataonly=True, **options)[1]
        if reader == "read_sas7bdat":
            book.variable_value_labels = _catalogued(path, readers, book.original_variable_types)
    except Exception:  # noqa: BLE001  # errors of the library about a broken file
        raise SchemaError("the code book is damaged, or does not fit its file name") from None
    labels = zip(book.column_names, book.column_labels, strict=True)
    return [_variable(book, name, str(label or "")) for name, label in labels]


def _catalogued(path: Path, readers: Any, formats: Mapping[str, Any]) -> dict[str, Any]:
    """Read the value labels of SAS from a catalogue, by the names of formats."""
    for catalogue in (path.with_suffix(".sas7bcat"), path.with_name(_CATALOGUE)):
        if catalogue.is_file():
            known = readers.read_sas7bcat(str(catalogue), output_format="dict")[1].value_labels
            # A variable's format ends in its width; the name of a format never ends in a digit.
            named = {name: re.sub(r"[0-9]+(\.[0-9]*)?$", "", str(shape))
                     for name, shape in formats.items()}
            return {name: known[shape] for name, shape in named.items() if shape in known}
    return {}


def _variable(book: Any, name: str, label: str) -> Proposal:
    """Propose a variable, with a kind from its measure, format and value labels."""
    missing = [code for each in book.missing_ranges.get(name, ()) for code in _ends(each)]
    labelled = [code for code in book.variable_value_labels.get(name, {})
                if not _within(code, book.missing_ranges.get(name, ()))]
    shape = str(book.original_variable_types.get(name, ""))
    if re.match(_DATE_FORMAT, shape) and not re.match(_TIME_FORMAT, shape):
        return Proposal(name, "date", says=label)
    if book.readstat_variable_types.get(name) == "string":
        values = [str(code) for code in labelled]
        return Proposal(name, "category", {"values": values}, says=label) if values else replace(
            proposed(name, "text"), says=label)
    facts = {"missing_values": [*map(_whole, missing)]} if missing else {}
    numbers = [_whole(code) for code in labelled if isinstance(code, int | float)]
    measure = book.variable_measure.get(name)
    # Often only the ends of a scale have labels: values in between are not "other".
    scale = measure == "ordinal" or (len(numbers) == 2 and abs(numbers[0] - numbers[1]) > 1)
    if len(numbers) == len(labelled) > 1 and scale:
        return Proposal(name, "number", {"low": min(numbers), "high": max(numbers), **facts},
                     says=label)
    if len(numbers) > 1 and measure != "scale" and all(isinstance(code, int) for code in numbers):
        return Proposal(name, "category", {"values": numbers}, says=label)
    own = proposed(name, "number")
    return replace(own, facts={**own.facts, **facts}, says=label) if own.kind else replace(
        own, says=label)


def _ends(each: Mapping[str, Any]) -> list[float]:
    """Return the codes of a range of missing values, if they are few."""
    low, high = each["lo"], each["hi"]
    if isinstance(low, str) or low == high:
        return [] if isinstance(low, str) else [low]
    few = abs(low) < 2**31 and abs(high) < 2**31 and 0 < high - low <= 100
    return [float(code) for code in range(int(low), int(high) + 1)] if few else []


def _within(value: Any, ranges: Iterable[Mapping[str, Any]]) -> bool:
    return any(limits["lo"] <= value <= limits["hi"] for limits in ranges
               if isinstance(limits["lo"], str) == isinstance(value, str))


def _whole(value: float) -> float:
    return int(value) if float(value).is_integer() else value
