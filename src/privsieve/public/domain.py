"""Domain: the public facts about a table, declared before a row is read."""

from __future__ import annotations

import codecs
import datetime as dt
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import cache, cached_property
from math import lcm
from operator import index
from typing import Any, Literal

from privsieve.entries import load
from privsieve.errors import DomainError
from privsieve.public.canonical import (
    FORMULA,
    LARGEST,
    Json,
    canonical,
    check_name,
    digest,
    hidden,
    is_formula,
    quoted,
    read_flag,
    text_of,
)
from privsieve.public.columns import (
    CODES,
    KINDS,
    MOST_CODES,
    Column,
    ColumnKind,
    Graded,
    Label,
    Number,
    Scalar,
    Target,
    label_of,
    no_grid,
)
from privsieve.public.printed import Printed

#: The most rows, or persons, of a table.
LARGEST_ROWS = 2**40
#: Columns with most values within this many codes cannot be found.
FEW_CODES = 8
#: The most columns that a sentence names; the largest step, relative to the distance from `near`.
_NAMED, _STEP = 3, "0.2 %"
#: A cell that gives a limit such as "<5", or the sign of a limit.
_CENSORED = r"[<>]=?[ ]*(?:[+-]?[0-9.,' ]*[0-9])?"
#: The most rows a person for which floor(L / rows) is exact.
EXACT_ROWS, ROUNDED_WEIGHT = 10, 4096
#: The largest `weight_max`: below it, each whole weight has codes of its own.
LARGEST_WEIGHT = 10_000


@dataclass(frozen=True)
class Csv:
    """The format of a CSV file."""

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    header: bool = True
    #: The thousands separator: nothing, or one of . , ' and a blank.
    thousands: str = ""
    #: Texts that mean an empty cell in every column.
    missing: Sequence[str] = ()
    #: Signs before a limit: < and >, each alone or in an example such as "<5".
    censored: Sequence[str] | str = ()
    #: Whether a quoted cell may hold line breaks.
    line_breaks: bool = False

    def __post_init__(self) -> None:
        self._check_cells()
        is_character = isinstance(self.delimiter, str) and len(self.delimiter) == 1
        if not is_character or self.delimiter in '"\r\n\0' or not self.delimiter.isascii():
            raise DomainError(f"csv.delimiter is {quoted(self.delimiter)}; write one character "
                              'such as "," ";" "|" or "\\t"')
        if self.decimal not in (".", ","):
            raise DomainError(f'csv.decimal is {quoted(self.decimal)}; write "." or ","')
        if self.thousands not in ("", ".", ",", "'", " ") or self.thousands == self.decimal:
            raise DomainError(f'csv.thousands is {quoted(self.thousands)}; write ".", ",", '
                              '"\'" or " ", and not the decimal sign')
        if self.decimal == self.delimiter:
            raise DomainError("csv.delimiter and csv.decimal are the same character; "
                              "write two different characters")
        try:
            # Escapes are refused: a decoder that reads them warns about rows.
            plain = ("a,1".encode(self.encoding) == b"a,1"
                     and not codecs.lookup(self.encoding).name.endswith("escape"))
        except (LookupError, UnicodeError, TypeError, ValueError):
            plain = False
        if not plain:
            raise DomainError(f"csv.encoding is {quoted(self.encoding)}; write utf-8, cp1252 or "
                              "another encoding that keeps ASCII (convert UTF-16 first)")
        for name in ("header", "line_breaks"):
            if not isinstance(getattr(self, name), bool):
                raise DomainError(f"csv.{name} is {quoted(getattr(self, name))}; write true or "
                                  "false")
        if self.line_breaks and not self.header:
            raise DomainError("csv.line_breaks needs a header, which shows the number of fields; "
                              "add a line of column names, or save the table as Parquet")

    def _check_cells(self) -> None:
        """Read the words for a missing value, and the signs of limits."""
        words = [self.missing] if isinstance(self.missing, str) else self.missing
        if not isinstance(words, Sequence) or len(words) > MOST_CODES or not all(
                isinstance(word, str) and text_of(word) and not any(map(hidden, word))
                for word in words):
            raise DomainError(f"csv.missing is {quoted(self.missing)}; write a list of at most "
                              f'{MOST_CODES} texts, for example missing = ["k.A.", "-"]')
        object.__setattr__(self, "missing", tuple(dict.fromkeys(map(text_of, words))))
        forms = [self.censored] if isinstance(self.censored, str) else self.censored
        if not isinstance(forms, Sequence) or not all(
                isinstance(form, str) and re.fullmatch(_CENSORED, form) for form in forms):
            raise DomainError(f'csv.censored is {quoted(self.censored)}; write "<", ">" or both, '
                              'each alone or as an example of such a cell: censored = ["<5", ">"]')
        object.__setattr__(self, "censored", tuple(sorted({form[0] for form in forms})))

    @property
    def signs(self) -> str:
        """Return the decimal sign, the thousands separator, if any, and the signs of limits."""
        return "".join((self.decimal, self.thousands, *self.censored))


@dataclass(frozen=True, repr=False)
class Domain(Printed):
    """The public facts about a table: its columns, its target, and the unit that is protected.

    weight : the column that says how often a row counts, for methods that add rows up.
    weight_max : the largest weight of a row, a public fact.

    >>> from privsieve.public.columns import Flag
    >>> domain = Domain([Number("age", 0, 110), Flag("smoker")], target=Label("ill", [0, 1]))
    >>> domain.names
    ('age', 'smoker')
    """

    columns: Sequence[Column]
    target: Target | None = None
    _: KW_ONLY
    person: str | None = None
    rows_per_person: int = 1
    neighbours: Literal["replace-one", "add-remove"] = "replace-one"
    rows: int | None = None
    persons: int | None = None
    weight: str | None = None
    weight_max: int | None = None
    csv: Csv = field(default_factory=Csv)
    #: False if nobody declared the unit; the command line then asks for it.
    unit_declared: bool = field(default=True, compare=False, repr=False)
    #: The path of the domain file.
    path: str | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", _read_columns(self.columns, "columns", "is_column"))
        if not isinstance(self.csv, Csv):
            raise DomainError(f"csv holds {quoted(self.csv)}; give a Csv")
        target: Any = self.target
        _read_columns([] if target is None else [target], "target", "is_target")
        read_flag(self.unit_declared, "unit_declared")
        self._check_columns()
        if target is not None and target.is_binary:
            object.__setattr__(self, "target", label_of(target))
        if self.neighbours not in ("replace-one", "add-remove"):
            raise DomainError(f"table.neighbours is {quoted(self.neighbours)}; "
                              'write "replace-one" or "add-remove"')
        for name in ("rows_per_person", "rows", "persons"):
            _check_count(getattr(self, name), name, optional=name != "rows_per_person")
        if self.person is None and self.rows_per_person != 1:
            raise DomainError("table.rows_per_person needs table.person; name the column with "
                              "the id of each person")
        self._check_weight()
        self._check_csv()
        if self.neighbours == "add-remove":
            self.public_units(None)

    def _check_weight(self) -> None:
        """Refuse a weight without a public maximum, and a maximum without a weight."""
        if self.weight is None and self.weight_max is None:
            return
        if self.weight is None:
            raise DomainError("table.weight_max needs table.weight; name the column with the "
                              "weight of each row")
        if self.weight_max is None:
            raise DomainError("table.weight_max is missing: without a public maximum one row could "
                              "change a sum without limit; write the largest weight that the "
                              "study's plan allows, for example weight_max = 20")
        _check_count(self.weight_max, "weight_max", optional=False, most=LARGEST_WEIGHT)

    def _check_csv(self) -> None:
        """Refuse a missing word that is a value, and line breaks if the row count is public."""
        columns = [*self.columns, *([self.target] if self.target else [])]
        for column in columns if self.csv.missing else ():
            words = () if column.graded else column.table
            for word in self.csv.missing:
                if (word.lower() if column.ignore_case else word) in words:
                    raise DomainError(f"column {column.name!r}: {quoted(word)} is one of its values"
                                      " and in csv.missing; remove it from one of them")
        if self.csv.line_breaks and self.rows_are_public:
            raise DomainError(
                "csv.line_breaks is true, so the number of rows depends on private cells, but the "
                'domain makes it public; write unit = "person" '
                'and person, or neighbours = "add-remove" and rows, or save the table as Parquet')

    def _check_columns(self) -> None:
        if not self.columns:
            raise DomainError("the domain names no column; add at least one [[column]]")
        names = [*self.names, *([self.target.name] if self.target else [])]
        if self.target is not None and getattr(self.target, "role", "known") != "known":
            raise DomainError(f"target {self.target.name!r}: a target has no role; remove it (say "
                              "with options of `privsieve publish` who knows the target)")
        if self.person is not None:
            check_name(self.person)
            names.append(self.person)
        if self.weight is not None:
            check_name(self.weight)
            names.append(self.weight)
        seen: set[str] = set()
        for name in names:
            folded = unicodedata.normalize("NFC", name).casefold()
            if folded in seen:
                raise DomainError(f"{name!r} is named twice (capitals are ignored); remove one")
            seen.add(folded)

    @classmethod
    def box(cls, low: float, high: float, *, classes: Sequence[Scalar] = (0, 1),
            target: tuple[float, float] | None = None,
            columns: Sequence[str] | int | None = None) -> Domain:
        """Make a domain with the same bounds for every column of an array; the unit is a row.

        `target` is the bounds of a numeric target, which then has no classes.  `columns` is the
        names or the number of columns.  With None the domain fits arrays of any width, and names
        their columns `x0`, `x1`, …

        >>> Domain.box(0.0, 1.0, columns=2).names
        ('x0', 'x1')
        """
        answer = Number("y", *_ends(target)) if target is not None else Label("y", tuple(classes))
        if columns is None:
            return Box((Number("x0", low, high),), target=answer)
        if isinstance(columns, int):
            columns = [f"x{j}" for j in range(columns)]
        return cls(tuple(Number(name, low, high) for name in columns),
                   target=replace(answer, name=_free("y", columns)))

    @staticmethod
    def from_toml(path: str | os.PathLike[str]) -> Domain:
        """Read a domain file; the error lists every missing or misspelled entry with its line."""
        domain: Domain = load("core", "read-domain")(path)
        object.__setattr__(domain, "path", os.path.abspath(os.fspath(path)))  # noqa: PTH100  # no import
        return domain

    @staticmethod
    def of(value: object) -> Domain:
        """Return a domain as it is, or read the domain file at a path."""
        if isinstance(value, (str, os.PathLike)):
            return Domain.from_toml(value)
        if isinstance(value, Domain):
            return value
        raise DomainError(f"domain is a {type(value).__name__}; give a Domain, or the path of a "
                          "domain file")

    @staticmethod
    def draft(X: Any, target: str | None = None, *, classes: Sequence[Scalar] = (),
              person: str | None = None,
              code_book: str | os.PathLike[str] | Mapping[str, Sequence[Scalar]] | None = None,
              look: bool = False) -> str:
        """Draft the text of a domain file for a table, from names and types alone.

        Save it, correct it with a code book, and read it with `Domain.from_toml`.

        Parameters
        ----------
        X : path, frame, Arrow table or `Source`
            the table; of a CSV file the first line is read.
        target : the column to be predicted.
        classes : the classes of the target, if it has some.
        person : the column with the person's id, if persons are protected.
        code_book : the public facts about the columns: a file; a mapping from the names of
            categories to their values; or "dtype", for the levels in a frame's types (pandas
            `category`, polars Enum).  You vouch that these are public.  `astype("category")`
            without a list takes them from the rows, and they then reveal who is in the table.
        look : PRIVATE: read the rows, too; the draft is refused until you replace each `seen` in
            it by a public fact.

        Examples
        --------
        >>> import pyarrow as pa
        >>> text = Domain.draft(pa.table({"age": [34], "ill": [True]}), "ill")
        >>> from privsieve.public.domain_file import parse
        >>> parse(text).target
        Label(name='ill', values=('no', 'yes'), default='no', ignore_case=True, \
words=(('0', 'false', 'n', 'f'), ('1', 'true', 'y', 't')))
        """
        text: str = load("core", "draft-domain")(X, target, classes, person=person,
                                                 code_book=code_book, look=look)
        return text

    def to_toml(self, path: str | os.PathLike[str]) -> None:
        """Write a new domain file."""
        text = load("core", "write-domain")(self)
        try:
            with open(path, "x", encoding="utf-8", newline="\n") as file:  # noqa: PTH123  # no import
                file.write(text)
        except FileExistsError:
            raise DomainError("a file of this name exists and is not overwritten; choose "
                              "another name") from None

    @property
    def names(self) -> tuple[str, ...]:
        """Return the columns' names, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def unit(self) -> Literal["row", "person"]:
        """Return the unit that is protected."""
        return "row" if self.person is None else "person"

    @property
    def replaces(self) -> bool:
        """Return whether neighbouring tables replace a unit; else they add or remove one."""
        return self.neighbours == "replace-one"

    @property
    def unit_weight(self) -> int:
        """Return the total weight of one unit: 1 for a row, `person_weight` for a person."""
        return person_weight(self.rows_per_person)

    @property
    def row_weight(self) -> int:
        """The largest weight of a row: 1 where no weight is declared."""
        return self.weight_max or 1

    @property
    def with_weight(self) -> Domain:
        """Return the domain with a declared weight as its last column: readers of tables use it.

        A weight is a number from 0 to `weight_max`; a missing one has a code of its own.
        """
        if self.weight is None:
            return self
        weight = Number(self.weight, 0, self.weight_max, missing="level")
        return replace(self, columns=(*self.columns, weight), weight=None, weight_max=None)

    @property
    def classes(self) -> int:
        """Return the number of classes of the target."""
        if self.target is None or self.target.levels is None:
            reason = "there is no target" if self.target is None else (
                f"the target {self.target.name!r} is a number")
            raise DomainError(f'this method needs classes, but {reason}; write [target] with '
                              'kind = "label" and its values')
        return self.target.levels

    def public_units(self, rows: int | None) -> int:
        """Return the public number of units: as declared, or the rows of the source.

        A declared number may be round: no guarantee depends on it.
        """
        if self.person is not None:
            if self.persons is None:
                raise DomainError("table.persons is missing: if a release protects people, their "
                                  "number must be public; write a round figure, for example "
                                  "persons = 5000")
            return self.persons
        if self.neighbours == "add-remove":
            if self.rows is None:
                raise DomainError("table.rows is missing: under add-remove the number of rows is "
                                  "private; write a public round figure, for example "
                                  "rows = 10000")
            return self.rows
        rows = self.rows if rows is None else rows
        if rows is None:
            raise DomainError("the number of rows is unknown before the table is read; write it "
                              "(rows=, --rows, or rows = in [table])")
        whole = index(rows) if hasattr(rows, "__index__") else -1
        if not 0 <= whole <= LARGEST_ROWS:
            raise DomainError(f"the number of rows is {quoted(rows)}; write a whole number up to "
                              f"{LARGEST_ROWS}")
        return whole

    @property
    def rows_are_public(self) -> bool:
        """Return whether the number of rows is public, so that it may be counted."""
        return self.person is None and self.replaces

    def json(self) -> dict[str, Json]:
        """Return the domain as JSON without floats; the certificate contains its digest."""
        return {
            "columns": [fields_of(column) for column in self.columns],
            "target": fields_of(self.target) if self.target else None,
            "unit": self.unit,
            "person": self.person,
            "rows_per_person": self.rows_per_person if self.person else None,
            "neighbours": self.neighbours,
            "rows": self.rows,
            "persons": self.persons,
            **({} if self.weight is None else
               {"weight": self.weight, "weight_max": self.weight_max}),
        }

    def digest(self) -> str:
        """Return the SHA-256 of the canonical form."""
        return self._digest

    @cached_property
    def _digest(self) -> str:  # cached: it takes a second for 100,000 columns
        return digest(canonical(self.json()))


class Box(Domain):
    """A domain with the same bounds for every column of an array of any width."""

    def of_width(self, names: Sequence[str]) -> Domain:
        """Return the domain for columns of these names."""
        first = self.columns[0]
        assert isinstance(first, Number)  # and there is a target: `Domain.box` made both
        return Domain(tuple(Number(name, *first.reach) for name in names),
                      target=self.target and replace(self.target, name=_free("y", names)))


def person_weight(most: int) -> int:
    """Return L: the least common multiple of 1..most while that is small.

    >>> person_weight(1), person_weight(4), person_weight(50)
    (1, 12, 4096)
    """
    return lcm(*range(1, most + 1)) if most <= EXACT_ROWS else max(ROUNDED_WEIGHT, most)


def _ends(target: object) -> tuple[float, float]:
    if not isinstance(target, (tuple, list)) or len(target) != 2:
        raise DomainError(f"target is {quoted(target)}; write its two bounds, for example (0, "
                          "500), or leave it out and give classes")
    return target[0], target[1]


def _free(name: str, taken: Sequence[str]) -> str:
    folded = {other.casefold() for other in taken}
    while name in folded:
        name += "_"
    return name


def _read_columns(listed: object, name: str, place: str) -> tuple[Any, ...]:
    """Return the columns of a domain; refuse other values."""
    columns = tuple(listed) if isinstance(listed, Iterable) else (listed,)
    for column in columns:
        if not (isinstance(column, ColumnKind) and getattr(column, place)):
            kinds = " or ".join(kind.__name__ for kind in KINDS.values() if getattr(kind, place))
            raise DomainError(f"{name} holds {quoted(column)}; give a {kinds}")
    return columns


def _check_count(value: object, name: str, *, optional: bool, most: int = LARGEST_ROWS) -> None:
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise DomainError(f"table.{name} is {quoted(value)}; write a whole number from 1 to {most}")


# --- a column in a domain's JSON ------------------------------------------------------------------

def fields_of(column: Column | Target) -> dict[str, Json]:
    """Return a column, or the target, as JSON without floats.

    >>> from privsieve.public.columns import Flag
    >>> fields_of(Flag("smoker"))
    {'kind': 'flag', 'name': 'smoker', 'default': False}
    """
    body: dict[str, Json] = {"kind": column.kind}
    for name, optional, default in _stored_fields(column.kind):
        value = getattr(column, name)
        if optional and value == default:
            continue
        body[name] = _in_json(value)
    return body


@cache
def _stored_fields(kind: str) -> tuple[tuple[str, bool, object], ...]:
    """Return the fields of a kind: each name, whether it is optional, and its default."""
    return tuple((item.name, item.metadata.get("optional", False), item.default)
                 for item in fields(KINDS[kind]))


def _in_json(value: Any) -> Any:
    """Return a value as JSON stores it; a long number as its text."""
    if isinstance(value, tuple):
        return [_in_json(item) for item in value]
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dt.datetime):
        return value.isoformat()
    return str(value) if isinstance(value, int) and abs(value) > LARGEST else value


def read_column(body: Mapping[str, Any]) -> Column | Target:
    """Return the column, or the target, of the fields that `fields_of` wrote.

    >>> read_column({"kind": "number", "name": "age", "low": "0.0", "high": "110.0",
    ...              "cuts": ["18.0"]})
    Number(name='age', low=0.0, high=110.0, scale='linear', missing='middle', cuts=(18.0,), \
role='known', near=None, missing_values=())
    """
    own = {name: value for name, value in body.items() if name != "kind"}
    if body["kind"] == "number":
        own |= {key: float(own[key]) for key in ("low", "high", "near") if key in own}
        own |= {key: [float(number) for number in own[key]]
                for key in ("cuts", "missing_values") if key in own}
    column: Column | Target = KINDS[body["kind"]](**own)
    return column


def demand_cells(columns: Iterable[Column | Target]) -> None:
    """Refuse names and values that a spreadsheet runs when it opens the CSV file.

    >>> demand_cells([Number("cost", 0, 100)])
    """
    for column in columns:
        forms = column.format if isinstance(column.format, tuple) else (column.format or "",)
        for text in (column.name, *map(text_of, getattr(column, "values", ())), *forms):
            if is_formula(text) or column.name.startswith(FORMULA):
                raise DomainError(f"{quoted(text)} in column {quoted(column.name)} begins like a "
                                  "formula, and a spreadsheet would run it; rename it in the table "
                                  "and in the domain file")


# --- the limits of codes --------------------------------------------------------------------------

def demand_grids(domain: Domain) -> None:
    """Refuse a number whose codes have no equal steps, for a method that computes with them."""
    for column in (*domain.columns, domain.target):
        if column is not None and column.gridless:
            raise DomainError(no_grid(column.name))


def after_coding(domain: Domain) -> str | None:
    """Return a note about columns that codes make equal; None without numbers.

    >>> from privsieve.public.columns import Number
    >>> after_coding(Domain([Number("age", 0, 110), Number("sodium")]))[-51:]
    "distance from the domain file's near (0 for sodium)"
    """
    numbers: list[Any] = [column for column in domain.columns if column.is_number]
    steps = sorted((column for column in numbers if not column.gridless), key=_width, reverse=True)
    free = [column for column in numbers if column.gridless]
    gaps = []
    if steps:
        gaps.append(f"by less than {FEW_CODES} of {CODES} steps " f"({_named(map(_step, steps))})")
    if free:
        gaps.append(f"{'or ' if steps else ''}by less than {_STEP} of their "
                    f"distance from the domain file's near ({_named(map(_near, free))})")
    if not gaps:
        return None
    return ("privsieve rounds numbers, and the forecast does not know how many become equal. "
            f"A column cannot be found if most of its values differ {', '.join(gaps)}")


def _width(column: Graded) -> float:
    low, high = column.bounds
    return high - low


def _step(column: Graded) -> str:
    if column.scale == "log":
        low, high = column.bounds
        return f"{100 * ((high / low) ** (FEW_CODES / CODES) - 1):.2g} % for {column.name}"
    step = _width(column) * FEW_CODES / CODES
    return f"{step:{'.0f' if step >= 100 else '.2g'}} for {column.name}"


def _near(column: Graded) -> str:
    return f"{column.near or 0:g} for {column.name}"


def _named(words: Iterable[str]) -> str:
    """Join the first columns, which have the widest steps."""
    listed = list(words)
    rest = len(listed) - _NAMED
    return ", ".join(listed[:_NAMED]) + (f", and {rest} more" if rest > 0 else "")
