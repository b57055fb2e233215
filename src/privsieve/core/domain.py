"""Domain: what is public about a table, written down before a row is read."""

from __future__ import annotations

import codecs
import datetime as dt
import math
import re
import unicodedata
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, Protocol

from privsieve.core.canonical import Json, canonical, digest
from privsieve.errors import DomainError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Scalar = str | int | bool

#: Codes are unsigned 16-bit integers.
CODES = 65536
#: The code of "missing" where missing is a level of its own (then values use 0..65534).
MISSING = CODES - 1
#: The code of "missing" where missing is the middle.
MIDDLE = CODES // 2
LARGEST_NAME = 128


def text_of(value: object) -> str:
    """The text by which a category, label or person is compared.

    >>> text_of(3), text_of(3.0), text_of(" A "), text_of(True)
    ('3', '3', 'A', '1')
    """
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip(" \t")


@dataclass(frozen=True)
class Number:
    """A number with declared bounds; values beyond them become the bound.

    >>> Number("age", 0, 110).low
    0.0
    """

    name: str
    low: float
    high: float
    scale: Literal["linear", "log"] = "linear"
    missing: Literal["middle", "level"] = "middle"
    kind = "number"

    def __post_init__(self) -> None:
        check_name(self.name)
        for end in ("low", "high"):
            object.__setattr__(self, end, _finite(getattr(self, end), self.name, end))
        if not self.low < self.high:
            raise DomainError(f"column {self.name!r}: low is {self.low:g} and high is "
                              f"{self.high:g}; low must be the smaller")
        if not (self.high - self.low < math.inf and CODES / (self.high - self.low) < math.inf):
            raise DomainError(f"column {self.name!r}: low is {self.low:g} and high is "
                              f"{self.high:g}; no grid fits between them: bring them to bounds "
                              "that a value could have")
        if self.scale not in ("linear", "log"):
            raise DomainError(f"column {self.name!r}: scale is {self.scale!r}; "
                              'write "linear" or "log"')
        if self.scale == "log" and self.low <= 0:
            raise DomainError(f"column {self.name!r}: scale is log and low is {self.low:g}; "
                              "a log scale needs low above 0")
        _check_missing(self.name, self.missing)

    @property
    def levels(self) -> None:
        """A number has no levels."""

    @property
    def missing_level(self) -> bool:
        """Whether missing is a level of its own."""
        return self.missing == "level"


@dataclass(frozen=True)
class Date:
    """A date or time with declared bounds, ISO 8601 unless `format` says otherwise.

    >>> Date("admitted", "2020-01-01", "2024-12-31").low
    datetime.datetime(2020, 1, 1, 0, 0)
    """

    name: str
    low: dt.datetime
    high: dt.datetime
    format: str | None = None
    missing: Literal["middle", "level"] = "middle"
    kind = "date"
    scale = "linear"

    def __post_init__(self) -> None:
        check_name(self.name)
        for end in ("low", "high"):
            object.__setattr__(self, end, _moment(getattr(self, end), self.name, end))
        if not self.low < self.high:
            raise DomainError(f"column {self.name!r}: low is {self.low} and high is {self.high}; "
                              "low must be the earlier")
        _check_format(self.name, self.format)
        _check_missing(self.name, self.missing)

    @property
    def levels(self) -> None:
        """A date has no levels."""

    @property
    def missing_level(self) -> bool:
        """Whether missing is a level of its own."""
        return self.missing == "level"


@dataclass(frozen=True)
class Flag:
    """Yes or no.  What is neither, and what is missing, becomes `default`.

    >>> Flag("smoker").levels
    2
    """

    name: str
    default: bool = False
    kind = "flag"
    missing_level = False

    def __post_init__(self) -> None:
        check_name(self.name)
        if not isinstance(self.default, bool):
            raise DomainError(f"column {self.name!r}: default is {self.default!r}; "
                              "write true or false")

    @property
    def levels(self) -> int:
        """No, yes."""
        return 2


@dataclass(frozen=True)
class Category:
    """One of the declared values; anything else, and missing, is the one level "other".

    >>> Category("ward", ["A", "B"]).levels
    3
    """

    name: str
    values: tuple[Scalar, ...]
    kind = "category"
    missing_level = False

    def __post_init__(self) -> None:
        check_name(self.name)
        object.__setattr__(self, "values", _values(self.values, self.name))

    @property
    def levels(self) -> int:
        """The declared values and "other"."""
        return len(self.values) + 1


@dataclass(frozen=True)
class Label:
    """The classes of the target; an unknown label becomes `default` (the first value).

    >>> Label("readmitted", [0, 1]).values
    (0, 1)
    """

    name: str
    values: tuple[Scalar, ...]
    default: Scalar | None = None
    kind = "label"

    def __post_init__(self) -> None:
        check_name(self.name)
        values = _values(self.values, self.name)
        if len(values) < 2:
            raise DomainError(f"target {self.name!r} has one value; a label needs at least two "
                              "(target.values)")
        object.__setattr__(self, "values", values)
        default = values[0] if self.default is None else self.default
        if text_of(default) not in [text_of(value) for value in values]:
            raise DomainError(f"target {self.name!r}: default is {default!r}, which is not among "
                              "target.values")
        object.__setattr__(self, "default", default)

    @property
    def default_class(self) -> int:
        """The class that an unknown label becomes."""
        return [text_of(value) for value in self.values].index(text_of(self.default))


Column = Number | Category | Flag | Date
Target = Label | Number


class HasShape(Protocol):
    """What a draft needs of an opened source: names and physical types."""

    def shape(self, *, count_rows: bool) -> Any:
        """The structure of the table."""


@dataclass(frozen=True)
class Csv:
    """How a CSV file is written."""

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    header: bool = True

    def __post_init__(self) -> None:
        one = isinstance(self.delimiter, str) and len(self.delimiter) == 1
        if not one or self.delimiter in '"\r\n\0' or not self.delimiter.isascii():
            raise DomainError(f"csv.delimiter is {self.delimiter!r}; write one character such as "
                              '"," ";" "|" or "\\t"')
        if self.decimal not in (".", ","):
            raise DomainError(f'csv.decimal is {self.decimal!r}; write "." or ","')
        if self.decimal == self.delimiter:
            raise DomainError("csv.delimiter and csv.decimal are the same character; "
                              "a file cannot be read that way")
        try:
            # Escapes are refused: a decoder that reads them warns about rows.
            plain = ("a,1".encode(self.encoding) == b"a,1"
                     and not codecs.lookup(self.encoding).name.endswith("escape"))
        except (LookupError, UnicodeError, TypeError, ValueError):
            plain = False
        if not plain:
            raise DomainError(f"csv.encoding is {self.encoding!r}; write utf-8, cp1252 or another "
                              "encoding that keeps ASCII (convert UTF-16 first)")
        if not isinstance(self.header, bool):
            raise DomainError(f"csv.header is {self.header!r}; write true or false")


@dataclass(frozen=True)
class Domain:
    """All that is public about a table: columns with bounds, the label, the unit protected.

    >>> domain = Domain([Number("age", 0, 110), Flag("smoker")], target=Label("ill", [0, 1]))
    >>> domain.names
    ('age', 'smoker')
    """

    columns: tuple[Column, ...]
    target: Target | None = None
    person: str | None = None
    rows_per_person: int = 1
    neighbours: Literal["replace-one", "add-remove"] = "replace-one"
    rows: int | None = None
    persons: int | None = None
    csv: Csv = field(default_factory=Csv)
    #: False where nobody has said what a row is; the command line then asks.
    unit_declared: bool = field(default=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        self._check_columns()
        if self.neighbours not in ("replace-one", "add-remove"):
            raise DomainError(f"table.neighbours is {self.neighbours!r}; "
                              'write "replace-one" or "add-remove"')
        for name in ("rows_per_person", "rows", "persons"):
            _check_count(getattr(self, name), name, optional=name != "rows_per_person")
        if self.person is None and self.rows_per_person != 1:
            raise DomainError("table.rows_per_person needs table.person: the column that says "
                              "whose row it is")
        if self.neighbours == "add-remove":
            self.public_units(None)

    def _check_columns(self) -> None:
        if not self.columns:
            raise DomainError("the domain names no column; add at least one [[column]]")
        names = [*self.names]
        names += [self.target.name] if self.target else []
        if self.person is not None:
            check_name(self.person)
            names.append(self.person)
        seen: set[str] = set()
        for name in names:
            folded = unicodedata.normalize("NFC", name).casefold()
            if folded in seen:
                raise DomainError(f"{name!r} is named twice (capitals do not tell names apart)")
            seen.add(folded)

    @classmethod
    def box(
        cls,
        low: float,
        high: float,
        *,
        classes: Sequence[Scalar] = (0, 1),
        columns: Sequence[str] | int | None = None,
    ) -> Domain:
        """The same bounds for every column of an array; the unit is a row.

        `columns` is names or how many; with None the domain fits any number of columns, and
        takes their names `x0`, `x1`, … from the width of the array.

        >>> Domain.box(0.0, 1.0, columns=2).names
        ('x0', 'x1')
        """
        if columns is None:
            return Box((Number("x0", low, high),), target=Label("y", tuple(classes)))
        if isinstance(columns, int):
            columns = [f"x{j}" for j in range(columns)]
        return cls(tuple(Number(name, low, high) for name in columns),
                   target=Label(_free("y", columns), tuple(classes)))

    @staticmethod
    def from_toml(path: str | Path) -> Domain:
        """Read a domain file; what is missing or misspelled is said with its place."""
        from privsieve.core.domain_file import from_toml

        return from_toml(path)

    @staticmethod
    def draft(source: HasShape) -> str:
        """A domain file to fill in, from the names and physical types of an opened source."""
        from privsieve.core.domain_file import draft

        shape = source.shape(count_rows=False)
        return draft(list(zip(shape.columns, shape.types, strict=True)))

    def to_toml(self, path: str | Path) -> None:
        """Write a domain file; nothing is overwritten."""
        from privsieve.core.domain_file import to_toml

        text = to_toml(self)
        try:
            with open(path, "x", encoding="utf-8", newline="\n") as file:  # noqa: PTH123  # no import
                file.write(text)
        except FileExistsError:
            raise DomainError("a file of this name exists and is never overwritten; choose "
                              "another name") from None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def unit(self) -> Literal["row", "person"]:
        """What is protected."""
        return "row" if self.person is None else "person"

    @property
    def classes(self) -> int:
        """How many classes the label has."""
        if not isinstance(self.target, Label):
            raise DomainError('this method needs classes: [target] with kind = "label" and its '
                              "values")
        return len(self.target.values)

    def public_units(self, rows: int | None) -> int:
        """The public number of units: as declared; under replace-one, the rows of the source.

        A declared figure may be round: it shapes the method, and no guarantee rests on it.
        """
        if self.person is not None:
            if self.persons is None:
                raise DomainError("table.persons is missing: with a person to protect, the number "
                                  "of persons has to be a public fact; write a round figure, "
                                  "for example persons = 5000")
            return self.persons
        if self.neighbours == "add-remove":
            if self.rows is None:
                raise DomainError("table.rows is missing: under add-remove the number of rows is "
                                  "private; write a public round figure, for example "
                                  "rows = 10000")
            return self.rows
        if rows is None:
            rows = self.rows
        if rows is None:
            raise DomainError("the number of rows is not known before they are read; say it "
                              "(rows=, --rows, or rows = in [table])")
        return rows

    @property
    def rows_are_public(self) -> bool:
        """Whether a source may count its rows before the charge."""
        return self.person is None and self.neighbours == "replace-one"

    def json(self) -> dict[str, Json]:
        """The domain as JSON without floats: what the certificate binds."""
        return {
            "columns": [_fields(column) for column in self.columns],
            "target": _fields(self.target) if self.target else None,
            "unit": self.unit,
            "person": self.person,
            "rows_per_person": self.rows_per_person if self.person else None,
            "neighbours": self.neighbours,
            "rows": self.rows,
            "persons": self.persons,
        }

    def digest(self) -> str:
        """SHA-256 of the canonical form."""
        return digest(canonical(self.json()))


class Box(Domain):
    """A domain of equal bounds whose width is that of the array it meets."""

    def of_width(self, names: Sequence[str]) -> Domain:
        """The domain for columns of these names."""
        first = self.columns[0]
        assert isinstance(first, Number)
        assert isinstance(self.target, Label)
        return Domain(tuple(Number(name, first.low, first.high) for name in names),
                      target=Label(_free("y", names), self.target.values))


def check_name(name: object) -> None:
    """Refuse a column name that a screen or a report could not show as it is."""
    if not isinstance(name, str) or not name.strip():
        raise DomainError(f"a column is named {name!r}; a name is a text that is not empty")
    if len(name) > LARGEST_NAME:
        raise DomainError(f"a column name has {len(name)} characters; {LARGEST_NAME} are allowed")
    if any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co") for c in name):
        raise DomainError("a column name holds control or direction characters; rename the column")


def _free(name: str, taken: Sequence[str]) -> str:
    folded = {other.casefold() for other in taken}
    while name in folded:
        name += "_"
    return name


def _fields(part: Column | Target) -> dict[str, Json]:
    found: dict[str, Json] = {"kind": part.kind}
    for item in fields(part):
        value = getattr(part, item.name)
        if isinstance(value, float):
            value = repr(value)
        elif isinstance(value, dt.datetime):
            value = value.isoformat()
        elif isinstance(value, tuple):
            value = list(value)
        found[item.name] = value
    return found


def _finite(value: object, name: str, end: str) -> float:
    if value is None:
        raise DomainError(f"column {name!r}: {end} is missing; write the {end}est value that a "
                          "person could have, from a code book, never from this table")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or isinstance(value, (bool, str)):
        raise DomainError(f"column {name!r}: {end} is {value!r}; write a finite number")
    # -0.0 equals 0.0, and equal domains have equal digests.
    return number + 0.0


def _moment(value: object, name: str, end: str) -> dt.datetime:
    if value is None:
        raise DomainError(f"column {name!r}: {end} is missing; write a date such as 2020-01-01, "
                          "from the study's plan, never from this table")
    try:
        if isinstance(value, dt.datetime):
            moment = value
        elif isinstance(value, dt.date):
            moment = dt.datetime(value.year, value.month, value.day)  # noqa: DTZ001
        else:
            moment = dt.datetime.fromisoformat(str(value))
    except ValueError:
        raise DomainError(f"column {name!r}: {end} is {value!r}; write a date such as "
                          "2020-01-01") from None
    # Clock times are compared as written; an offset is folded into universal time.
    return moment.astimezone(dt.UTC).replace(tzinfo=None) if moment.tzinfo else moment


def _values(values: object, name: str) -> tuple[Scalar, ...]:
    if values is None or isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise DomainError(f"column {name!r}: values is missing; list every value that may occur, "
                          'for example values = ["A", "B"]')
    listed = tuple(v.item() if hasattr(v, "item") else v for v in values)
    for value in listed:
        if not isinstance(value, (str, int)):
            raise DomainError(f"column {name!r}: the value {value!r} is neither a text nor a "
                              "whole number")
    texts = [text_of(value) for value in listed]
    if not texts or "" in texts:
        raise DomainError(f"column {name!r}: values is empty or holds an empty text")
    if any(unicodedata.category(c) == "Cs" for text in texts for c in text):
        raise DomainError(f"column {name!r}: a value holds half a character; it cannot be written")
    if len(set(texts)) < len(texts):
        raise DomainError(f"column {name!r}: a value is listed twice")
    if len(texts) >= MISSING:
        raise DomainError(f"column {name!r}: {len(texts)} values are too many; at most 65534")
    return listed


def _check_missing(name: str, missing: object) -> None:
    if missing not in ("middle", "level"):
        raise DomainError(f'column {name!r}: missing is {missing!r}; write "middle" or "level"')


def _check_format(name: str, form: object) -> None:
    """A format that lacks a year would warn, or guess one, when rows are read."""
    if form is None:
        return
    day = dt.datetime(2000, 2, 29, tzinfo=dt.UTC)
    try:
        whole = isinstance(form, str) and form.isascii() and (
            dt.datetime.strptime(day.strftime(form), form).replace(tzinfo=dt.UTC) == day)
    except (ValueError, re.error):
        whole = False
    if not whole:
        raise DomainError(f"column {name!r}: format is {form!r}; write day, month and year, for "
                          'example "%d.%m.%Y", or leave it out for ISO 8601')


def _check_count(value: object, name: str, *, optional: bool) -> None:
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 2**40:
        raise DomainError(f"table.{name} is {value!r}; write a whole number from 1")
