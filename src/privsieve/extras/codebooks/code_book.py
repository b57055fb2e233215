"""Code books: what is public about columns, as other programs write it down.

A CSV file or an Excel sheet with a line for each variable; the value labels, missing codes and
variable labels of SPSS, Stata and SAS; a Frictionless table schema.  No row of data is read from
any of them.  All faults of a code book are said at once, each with its line.
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
from privsieve.public.canonical import FLAGS, is_whole, plain, quoted
from privsieve.public.columns import Category, Date, Flag, Number
from privsieve.public.draft import ID, NO, TEXT, UNKNOWN, Proposal, proposed

#: A code book is far below.
LARGEST_BOOK = 64 * 2**20
_MOST_FAULTS = 20
#: Of a statistics file: what reads it, and whether its values may carry labels.
_STATISTICS = {".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por", ".dta": "read_dta",
               ".sas7bdat": "read_sas7bdat", ".xpt": "read_xport"}
_FORMS = (".csv, .tsv, .txt, .xlsx, .json (Frictionless), .sav, .zsav, .por, .dta, .sas7bdat, "
          ".xpt")
#: What the columns of a code book may be called.
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
#: Formats of dates in statistics files begin so; the rest is a number of days or seconds.
_DATE_FORMAT = (r"(?i)%?t[cCd]|[EASJ]?DATE|DTDATE|NLDATE|WORDDAT|WEEKDAT|[EB]8601D|YMDHMS|"
                r"MMDDYY|DDMMYY|YYMMDD")
#: A time of day, in a format of Stata that shows parts of its choice and no day among them.
_TIME_FORMAT = r"(?i)%tc[HhMmSs:._ apAP]+$"
#: What SAS calls a catalogue of formats that was given no name.
_CATALOGUE = "formats.sas7bcat"


def entries_for(path: str | os.PathLike[str], columns: Sequence[str]) -> dict[str, Proposal]:
    """What a code book says of the columns of a table, by their names.

    A name of the book may be a block (`q01..q95`) or a pattern (`q*`); what it says of a name
    stands before what it says of a pattern.  Names that the table lacks are passed over.
    """
    found: dict[str, Proposal] = {}
    loose: list[Proposal] = []
    for entry in read(Path(path)):
        for name in expanded(entry.name):
            if any(sign in name for sign in "*?["):
                loose.append(replace(entry, name=name))
            else:
                found[name] = replace(entry, name=name)
    told: dict[str, Proposal] = {}
    for name in columns:
        said = found.get(name) or next((one for one in loose if fnmatchcase(name, one.name)), None)
        if said is not None:
            told[name] = replace(said, name=name)
    if not told:
        raise SchemaError("the code book names no column of the table; its names and those of the "
                          "table have to be the same, capitals too")
    return told


def read(path: Path) -> list[Proposal]:
    """The entries of a code book, by the form that its name says."""
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
        return _of_lines(_sheet(path))
    if ending == ".json":
        return _of_lines(_frictionless(path.read_bytes()))
    raise SchemaError(f"the code book's name ends in {ending!r}; {_FORMS} are read")


# --- a line for each variable --------------------------------------------------------------------

Lines = Iterable[tuple[int, Mapping[str, Any]]]


def _of_lines(lines: Lines) -> list[Proposal]:
    """An entry for each line; what is wrong with any of them is said together."""
    entries: list[Proposal] = []
    seen: dict[str, int] = {}
    faults: list[str] = []
    for number, line in lines:
        name = str(line.get("name") or "").strip()
        if not name:
            continue
        if name in seen:
            faults.append(f"line {number}: {name!r} stands on line {seen[name]}, too; take one "
                          "away")
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
        more = [f"and {len(faults) - _MOST_FAULTS} more"] * (len(faults) > _MOST_FAULTS)
        raise DomainError("\n".join([f"the code book has {len(faults)} faults:",
                                     *faults[:_MOST_FAULTS], *more]))
    return entries


def _entry(name: str, line: Mapping[str, Any]) -> Proposal:
    """What a line says, checked as the domain file would be."""
    facts: dict[str, Any] = {}
    values = _values(line.get("values"))
    for end in ("low", "high"):
        if (said := _plain(line.get(end))) != "":
            facts[end] = said
    kind = _kind(name, line.get("kind"), values, facts)
    says = str(line.get("says") or "")
    if kind == UNKNOWN:
        return Proposal(name, "number", why=UNKNOWN, says=says)
    if kind in (ID, TEXT, ""):
        return Proposal(name, "", why=kind or TEXT, says=says)
    if kind == "category" and values:
        facts = {"values": values}
    if kind == "number":
        facts = {end: _number(name, end, said) for end, said in facts.items()}
        missing = [_number(name, "missing", one) for one in _values(line.get("missing"))
                   if re.fullmatch(r"-?[0-9.,]+", str(one))]
        facts |= {"missing_values": missing} if missing else {}
    if kind == "date":
        facts = {end: _day(name, end, said) for end, said in facts.items()}
        facts |= {"format": line["format"]} if line.get("format") else {}
    if kind == "flag":
        first = str(values[0]).lower() if values else ""
        pair = values[1::-1] if first in NO or FLAGS.get(first) == 0 else values[:2]
        own = [one if str(one).lower() not in FLAGS else () for one in pair]
        facts = {key: word for key, word in zip(("true", "false"), own, strict=False) if word != ()}
    entry = Proposal(name, kind, facts, says=says)
    if not entry.open:  # a fault of the book, and not of the draft made from it
        known = [item.name for item in fields(_MADE[kind])]
        _MADE[kind](**{"name": name, **{key: facts[key] for key in facts if key in known}})
    return entry


def _kind(name: str, said: object, values: Sequence[Any], facts: Mapping[str, Any]) -> str:
    """The kind that a book's word means; where it says none, what it says else decides."""
    word = str(said or "").strip().casefold()
    if not word:
        entry = proposed(name, "other")
        return "category" if values else "number" if facts else entry.why or entry.kind
    for kind, its in _KINDS.items():
        if word in its:
            return "category" if kind == TEXT and values else kind
    raise DomainError(f"{name!r}: kind is {quoted(said)}; write number, category, flag, date, id "
                      "or text")


def _values(said: object) -> list[str | int]:
    """Levels or codes: a list, or a text such as `1=male | 2=female`."""
    if said is None or said == "":
        return []
    if isinstance(said, list | tuple):
        parts = [str(one) for one in said]
    else:
        text = str(said)
        sign = next((one for one in ("|", ";", "\n", ",") if one in text), "|")
        parts = [part.partition("=")[0] for part in text.split(sign)]
    texts = [plain(part.strip()) for part in parts]
    return [int(text) if is_whole(text) and len(text) < 18 else text for text in texts if text]


def _plain(said: object) -> Any:
    """A cell of a book without blanks; a date or number of a sheet as it is."""
    return "" if said is None else said.strip() if isinstance(said, str) else said


def _number(name: str, key: str, said: object) -> float:
    try:
        number = float(str(said).replace(",", "."))
    except ValueError:
        raise DomainError(f"{name!r}: {key} is {quoted(said)}; write a number") from None
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _day(name: str, key: str, said: object) -> dt.date:
    if isinstance(said, dt.datetime):
        return said.date()
    try:
        return dt.date.fromisoformat(str(said))
    except ValueError:
        raise DomainError(f"{name!r}: {key} is {quoted(said)}; write a date such as "
                          "2020-01-01") from None


def _headed(rows: Iterator[tuple[int, Sequence[Any]]]) -> Lines:
    """Rows below a line of names, each by what these mean."""
    number, head = next(rows, (1, []))
    words = [str(one or "").strip().casefold() for one in head]
    place = {key: words.index(word) for key, its in _HEADS.items() for word in its if word in words}
    if "name" not in place:
        raise DomainError(f"the code book, line {number}: no column is called name (or variable); "
                          "its first line names its columns: name, kind, values, low, high, "
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
            raise DomainError(f"the code book, line {before + 1}: it is no CSV") from None

    return _headed(rows())


def _sheet(path: Path) -> Lines:
    """The first sheet of an Excel file."""
    openpyxl = import_library("openpyxl", "codebooks", "an Excel file")
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        rows = [list(row) for row in book.worksheets[0].iter_rows(values_only=True)]
        book.close()
    except Exception:  # noqa: BLE001  # of a library, about a broken file
        raise SchemaError("the code book is no Excel file that can be read") from None
    return _headed(iter(enumerate(rows, 1)))


def _frictionless(data: bytes) -> Lines:
    """The fields of a table schema, or of the first resource of a data package."""
    try:
        said = json.loads(data)
        said = said["resources"][0]["schema"] if "resources" in said else said
        listed, missing = said["fields"], said.get("missingValues", [])
        found = [(at, one, one.get("constraints", {})) for at, one in enumerate(listed, 1)]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise SchemaError("the code book is no Frictionless table schema: `fields` is "
                          "missing") from None
    for at, one, limits in found:
        form = one.get("format", "default")
        yield at, {
            "name": one.get("name"), "kind": one.get("type"), "values": limits.get("enum"),
            "low": limits.get("minimum"), "high": limits.get("maximum"),
            "missing": [*missing, *one.get("missingValues", [])],
            "format": form if "%" in str(form) else None,
            "says": one.get("title") or one.get("description")}


# --- files of statistics programs ----------------------------------------------------------------

def _statistics(path: Path, reader: str) -> list[Proposal]:
    """Variables of an SPSS, Stata or SAS file, from its dictionary; its rows are not read."""
    readers = import_library("pyreadstat", "codebooks", "a file of SPSS, Stata or SAS")
    # Codes for missing are told by a reader of SPSS only if it is asked for them.
    more: dict[str, Any] = {"output_format": "dict"}
    if reader == "read_sav":
        more["user_missing"] = True
    try:
        said = getattr(readers, reader)(str(path), metadataonly=True, **more)[1]
        if reader == "read_sas7bdat":
            said.variable_value_labels = _catalogued(path, readers, said.original_variable_types)
    except Exception:  # noqa: BLE001  # of a library, about a broken file
        raise SchemaError("the code book is no file of its kind that can be read") from None
    labels = dict(zip(said.column_names, said.column_labels, strict=True))
    return [_variable(said, name, str(labels[name] or "")) for name in said.column_names]


def _catalogued(path: Path, readers: Any, formats: Mapping[str, Any]) -> dict[str, Any]:
    """Value labels of SAS: they lie in a catalogue, by the names of formats."""
    for one in (path.with_suffix(".sas7bcat"), path.with_name(_CATALOGUE)):
        if one.is_file():
            known = readers.read_sas7bcat(str(one), output_format="dict")[1].value_labels
            # A variable's format ends in its width; the name of one never ends in a digit.
            named = {name: re.sub(r"[0-9]+(\.[0-9]*)?$", "", str(shape))
                     for name, shape in formats.items()}
            return {name: known[shape] for name, shape in named.items() if shape in known}
    return {}


def _variable(said: Any, name: str, label: str) -> Proposal:
    """A variable: its kind by its measure, format and value labels."""
    missing = [one for each in said.missing_ranges.get(name, ()) for one in _ends(each)]
    labelled = [one for one in said.variable_value_labels.get(name, {})
                if not _within(one, said.missing_ranges.get(name, ()))]
    shape = str(said.original_variable_types.get(name, ""))
    if re.match(_DATE_FORMAT, shape) and not re.match(_TIME_FORMAT, shape):
        return Proposal(name, "date", says=label)
    if said.readstat_variable_types.get(name) == "string":
        values = [str(one) for one in labelled]
        return Proposal(name, "category", {"values": values}, says=label) if values else replace(
            proposed(name, "text"), says=label)
    facts = {"missing_values": [*map(_whole, missing)]} if missing else {}
    numbers = [_whole(one) for one in labelled if isinstance(one, int | float)]
    measure = said.variable_measure.get(name)
    # Of a scale often the ends alone are named: what lies between is no "other".
    scale = measure == "ordinal" or (len(numbers) == 2 and abs(numbers[0] - numbers[1]) > 1)
    if len(numbers) == len(labelled) > 1 and scale:
        return Proposal(name, "number", {"low": min(numbers), "high": max(numbers), **facts},
                     says=label)
    if len(numbers) > 1 and measure != "scale" and all(isinstance(one, int) for one in numbers):
        return Proposal(name, "category", {"values": numbers}, says=label)
    own = proposed(name, "number")
    return replace(own, facts={**own.facts, **facts}, says=label) if own.kind else replace(
        own, says=label)


def _ends(each: Mapping[str, Any]) -> list[float]:
    """The codes of a range of missing values; of a wide one its whole numbers, if they are few."""
    low, high = each["lo"], each["hi"]
    if isinstance(low, str) or low == high:
        return [] if isinstance(low, str) else [low]
    few = abs(low) < 2**31 and abs(high) < 2**31 and 0 < high - low <= 100
    return [float(one) for one in range(int(low), int(high) + 1)] if few else []


def _within(value: Any, ranges: Iterable[Mapping[str, Any]]) -> bool:
    return any(one["lo"] <= value <= one["hi"] for one in ranges
               if isinstance(one["lo"], str) == isinstance(value, str))


def _whole(value: float) -> float:
    return int(value) if float(value).is_integer() else value
