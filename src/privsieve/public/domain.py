"""Domain: what is public about a table, written down before a row is read."""

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

#: More rows, or persons, than this are refused: it is a public cap.
LARGEST_ROWS = 2**40
#: Most values within so many codes of each other are too few different ones to be compared.
FEW_CODES = 8
#: So many columns are named; and the part of its distance from `near` that a step is at most.
_NAMED, _PART = 3, "0.2 %"
#: A cell that says a limit, or its sign alone.
_CENSORED = r"[<>]=?[ ]*(?:[+-]?[0-9.,' ]*[0-9])?"
#: Up to so many rows a person, floor(L / rows) is exact.
EXACT_ROWS, ROUNDED_WEIGHT = 10, 4096


@dataclass(frozen=True)
class Csv:
    """How a CSV file is written."""

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    header: bool = True
    #: What parts groups of three digits: nothing, or one of . , ' and a blank.
    thousands: str = ""
    #: Texts that stand for an empty cell in every column.
    missing: Sequence[str] = ()
    #: Signs of a limit whose number is read: < and >, each alone or in an example such as "<5".
    censored: Sequence[str] | str = ()
    #: Whether a quoted cell may hold line breaks.
    line_breaks: bool = False

    def __post_init__(self) -> None:
        self._check_cells()
        one = isinstance(self.delimiter, str) and len(self.delimiter) == 1
        if not one or self.delimiter in '"\r\n\0' or not self.delimiter.isascii():
            raise DomainError(f"csv.delimiter is {quoted(self.delimiter)}; write one character "
                              'such as "," ";" "|" or "\\t"')
        if self.decimal not in (".", ","):
            raise DomainError(f'csv.decimal is {quoted(self.decimal)}; write "." or ","')
        if self.thousands not in ("", ".", ",", "'", " ") or self.thousands == self.decimal:
            raise DomainError(f'csv.thousands is {quoted(self.thousands)}; write ".", ",", '
                              '"\'" or " ", and not the decimal sign')
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
            raise DomainError(f"csv.encoding is {quoted(self.encoding)}; write utf-8, cp1252 or "
                              "another encoding that keeps ASCII (convert UTF-16 first)")
        for name in ("header", "line_breaks"):
            if not isinstance(getattr(self, name), bool):
                raise DomainError(f"csv.{name} is {quoted(getattr(self, name))}; write true or "
                                  "false")
        if self.line_breaks and not self.header:
            raise DomainError("csv.line_breaks needs a header, which says how many fields a row "
                              "has; write a line of column names, or save the table as Parquet")

    def _check_cells(self) -> None:
        """Read the words for missing and the signs of limits."""
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
        """The decimal sign, what parts thousands, if anything does, and the signs of limits."""
        return "".join((self.decimal, self.thousands, *self.censored))


@dataclass(frozen=True, repr=False)
class Domain(Printed):
    """All that is public about a table: columns with bounds, the label, the unit protected.

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
    csv: Csv = field(default_factory=Csv)
    #: False where nobody has said what a row is; the command line then asks.
    unit_declared: bool = field(default=True, compare=False, repr=False)
    #: The domain file that was read, beside which `inspect` keeps its verdict.
    path: str | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", _parts(self.columns, "columns", "is_column"))
        if not isinstance(self.csv, Csv):
            raise DomainError(f"csv holds {quoted(self.csv)}; give a Csv")
        target: Any = self.target
        _parts([] if target is None else [target], "target", "is_target")
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
            raise DomainError("table.rows_per_person needs table.person: the column that says "
                              "whose row it is")
        self._check_csv()
        if self.neighbours == "add-remove":
            self.public_units(None)

    def _check_csv(self) -> None:
        """Refuse a word for missing that is a value, and line breaks where rows are counted."""
        parts = [*self.columns, *([self.target] if self.target else [])]
        for part, word in ((part, word) for part in parts if self.csv.missing
                           for word in self.csv.missing):
            if not part.graded and (word.lower() if part.ignore_case else word) in part.table:
                raise DomainError(f"column {part.name!r}: {quoted(word)} is one of its values, and "
                                  "csv.missing says that it is none; take it out of one of them")
        if self.csv.line_breaks and self.rows_are_public:
            raise DomainError(
                "csv.line_breaks is true and rows are replaced: their number is public, and only "
                'the texts of the rows would say which lines are one row; write unit = "person" '
                'and person, or neighbours = "add-remove" and rows, or save the table as Parquet')

    def _check_columns(self) -> None:
        if not self.columns:
            raise DomainError("the domain names no column; add at least one [[column]]")
        names = [*self.names, *([self.target.name] if self.target else [])]
        if self.target is not None and getattr(self.target, "role", "known") != "known":
            raise DomainError(f"target {self.target.name!r}: role is for columns; whether the "
                              "target is known is said where it is published: take it away")
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
    def box(cls, low: float, high: float, *, classes: Sequence[Scalar] = (0, 1),
            target: tuple[float, float] | None = None,
            columns: Sequence[str] | int | None = None) -> Domain:
        """The same bounds for every column of an array; the unit is a row.

        `target` is the bounds of a numeric target, which then has no classes.  `columns` is names
        or how many; with None the domain fits any number of columns, and takes their names `x0`,
        `x1`, … from the width of the array.

        >>> Domain.box(0.0, 1.0, columns=2).names
        ('x0', 'x1')
        """
        made = Number("y", *_ends(target)) if target is not None else Label("y", tuple(classes))
        if columns is None:
            return Box((Number("x0", low, high),), target=made)
        if isinstance(columns, int):
            columns = [f"x{j}" for j in range(columns)]
        return cls(tuple(Number(name, low, high) for name in columns),
                   target=replace(made, name=_free("y", columns)))

    @staticmethod
    def from_toml(path: str | os.PathLike[str]) -> Domain:
        """Read a domain file; all that is missing or misspelled is said, each with its line."""
        made: Domain = load("core", "read-domain")(path)
        object.__setattr__(made, "path", os.path.abspath(os.fspath(path)))  # noqa: PTH100  # no import
        return made

    @staticmethod
    def of(given: object) -> Domain:
        """A domain, or the one that the file of this path says."""
        if isinstance(given, (str, os.PathLike)):
            return Domain.from_toml(given)
        if isinstance(given, Domain):
            return given
        raise DomainError(f"domain is a {type(given).__name__}; give a Domain, or the path of a "
                          "domain file")

    @staticmethod
    def draft(X: Any, target: str | None = None, *, classes: Sequence[Scalar] = (),
              person: str | None = None, code_book: str | os.PathLike[str] | None = None,
              look: bool = False) -> str:
        """The text of a domain file for a table: a proposal, from names and types alone.

        Save it, correct it by a code book, and read it with `Domain.from_toml`.

        Parameters
        ----------
        X : path, frame, Arrow table or `Source`
            the table; of a CSV file the first line is read.
        target : the column to be predicted.
        classes : its classes, where it has some.
        person : the column that says whose row it is, where persons are protected.
        code_book : a file that says what is public about the columns.
        look : PRIVATE: propose from the rows, too; such a draft is refused until each `seen` in it
            is replaced by a public fact.

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
        """Write a domain file; nothing is overwritten."""
        text = load("core", "write-domain")(self)
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
    def replaces(self) -> bool:
        """Whether neighbours replace a unit (else they add or remove one)."""
        return self.neighbours == "replace-one"

    @property
    def unit_weight(self) -> int:
        """What the rows of one unit weigh together: 1 for a row, L for a person."""
        return person_weight(self.rows_per_person)

    @property
    def classes(self) -> int:
        """How many classes the label has."""
        if self.target is None or self.target.levels is None:
            found = "there is no target" if self.target is None else (
                f"the target {self.target.name!r} is a number")
            raise DomainError(f'this method needs classes, and {found}: [target] with kind = '
                              '"label" and its values')
        return self.target.levels

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
        rows = self.rows if rows is None else rows
        if rows is None:
            raise DomainError("the number of rows is not known before they are read; say it "
                              "(rows=, --rows, or rows = in [table])")
        whole = index(rows) if hasattr(rows, "__index__") else -1
        if not 0 <= whole <= LARGEST_ROWS:
            raise DomainError(f"the number of rows is {quoted(rows)}; it is a whole number up to "
                              f"{LARGEST_ROWS}")
        return whole

    @property
    def rows_are_public(self) -> bool:
        """Whether a source may count its rows before the charge."""
        return self.person is None and self.replaces

    def json(self) -> dict[str, Json]:
        """The domain as JSON without floats: what the certificate binds."""
        return {
            "columns": [fields_of(column) for column in self.columns],
            "target": fields_of(self.target) if self.target else None,
            "unit": self.unit,
            "person": self.person,
            "rows_per_person": self.rows_per_person if self.person else None,
            "neighbours": self.neighbours,
            "rows": self.rows,
            "persons": self.persons,
        }

    def digest(self) -> str:
        """SHA-256 of the canonical form."""
        return self._digest

    @cached_property
    def _digest(self) -> str:  # of 100,000 columns it takes a second, and a release asks often
        return digest(canonical(self.json()))


class Box(Domain):
    """A domain of equal bounds whose width is that of the array it meets."""

    def of_width(self, names: Sequence[str]) -> Domain:
        """The domain for columns of these names."""
        first = self.columns[0]
        assert isinstance(first, Number)  # and there is a target: `Domain.box` made both
        return Domain(tuple(Number(name, *first.reach) for name in names),
                      target=self.target and replace(self.target, name=_free("y", names)))


def person_weight(most: int) -> int:
    """L: the least common multiple of 1..most while that is small.

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


def _parts(listed: object, name: str, place: str) -> tuple[Any, ...]:
    """Return what a domain is made of; refuses a value of another kind."""
    parts = tuple(listed) if isinstance(listed, Iterable) else (listed,)
    for part in parts:
        if not (isinstance(part, ColumnKind) and getattr(part, place)):
            kinds = " or ".join(kind.__name__ for kind in KINDS.values() if getattr(kind, place))
            raise DomainError(f"{name} holds {quoted(part)}; give a {kinds}")
    return parts


def _check_count(value: object, name: str, *, optional: bool) -> None:
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST_ROWS:
        raise DomainError(f"table.{name} is {quoted(value)}; write a whole number from 1 to "
                          f"{LARGEST_ROWS}")


# --- a column in a domain's JSON ------------------------------------------------------------------

def fields_of(part: Column | Target) -> dict[str, Json]:
    """A column, or the target, as JSON without floats.

    >>> from privsieve.public.columns import Flag
    >>> fields_of(Flag("smoker"))
    {'kind': 'flag', 'name': 'smoker', 'default': False}
    """
    found: dict[str, Json] = {"kind": part.kind}
    for name, optional, default in _said_of(part.kind):
        value = getattr(part, name)
        if optional and value == default:
            continue
        found[name] = _in_json(value)
    return found


@cache
def _said_of(kind: str) -> tuple[tuple[str, bool, object], ...]:
    """The fields of a kind: each name, whether it may stay away, and what it is then."""
    return tuple((item.name, item.metadata.get("optional", False), item.default)
                 for item in fields(KINDS[kind]))


def _in_json(value: Any) -> Any:
    """A value as JSON keeps it: a long number as its text, by which it is compared anyhow."""
    if isinstance(value, tuple):
        return [_in_json(one) for one in value]
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dt.datetime):
        return value.isoformat()
    return str(value) if isinstance(value, int) and abs(value) > LARGEST else value


def read_column(said: Mapping[str, Any]) -> Column | Target:
    """A column, or the target, from the words of `fields_of`.

    >>> read_column({"kind": "number", "name": "age", "low": "0.0", "high": "110.0",
    ...              "cuts": ["18.0"]})
    Number(name='age', low=0.0, high=110.0, scale='linear', missing='middle', cuts=(18.0,), \
role='known', near=None, missing_values=())
    """
    own = {name: value for name, value in said.items() if name != "kind"}
    if said["kind"] == "number":
        own |= {key: float(own[key]) for key in ("low", "high", "near") if key in own}
        own |= {key: [float(one) for one in own[key]]
                for key in ("cuts", "missing_values") if key in own}
    part: Column | Target = KINDS[said["kind"]](**own)
    return part


def demand_cells(parts: Iterable[Column | Target]) -> None:
    """Refuse declared names and values that a spreadsheet runs when it opens them in a CSV file.

    >>> demand_cells([Number("cost", 0, 100)])
    """
    for part in parts:
        texts = [*map(text_of, getattr(part, "values", ())), getattr(part, "format", None) or ""]
        for text in (part.name, *texts):
            if is_formula(text) or part.name.startswith(FORMULA):
                raise DomainError(f"{quoted(text)}, of column {quoted(part.name)}, begins like a "
                                  "formula, which a spreadsheet that opens the CSV file would run; "
                                  "rename it in the table and in the domain file")


# --- what codes cannot show -----------------------------------------------------------------------

def demand_grids(domain: Domain) -> None:
    """Refuse a number whose codes have no equal steps, for a method that computes with them."""
    for part in (*domain.columns, domain.target):
        if part is not None and part.gridless:
            raise DomainError(no_grid(part.name))


def after_coding(domain: Domain) -> str | None:
    """Which gap a forecast means, and which columns cannot be found; None without numbers.

    >>> from privsieve.public.columns import Number
    >>> after_coding(Domain([Number("age", 0, 110), Number("sodium")]))[-54:]
    'within 0.2 % of their distance from near (0 of sodium)'
    """
    numbers: list[Any] = [column for column in domain.columns if column.is_number]
    steps = sorted((column for column in numbers if not column.gridless), key=_width, reverse=True)
    free = [column for column in numbers if column.gridless]
    said = []
    if steps:
        said.append(f"within {FEW_CODES} of {CODES} steps of each other "
                    f"({_named(map(_step, steps))})")
    if free:
        said.append(f"{'or, where codes have no bounds, ' if steps else ''}within {_PART} of their "
                    f"distance from near ({_named(map(_near, free))})")
    if not said:
        return None
    return ("the gap is that of codes, and no forecast knows how many values share one: a column "
            f"cannot be found if most of its values lie {', '.join(said)}")


def _width(column: Graded) -> float:
    low, high = column.bounds
    return high - low


def _step(column: Graded) -> str:
    if column.scale == "log":
        low, high = column.bounds
        return f"{100 * ((high / low) ** (FEW_CODES / CODES) - 1):.2g} % of {column.name}"
    step = _width(column) * FEW_CODES / CODES
    return f"{step:{'.0f' if step >= 100 else '.2g'}} of {column.name}"


def _near(column: Graded) -> str:
    return f"{column.near or 0:g} of {column.name}"


def _named(words: Iterable[str]) -> str:
    """Some of the columns, the widest steps first."""
    listed = list(words)
    more = len(listed) - _NAMED
    return ", ".join(listed[:_NAMED]) + (f", and {more} more" if more > 0 else "")
