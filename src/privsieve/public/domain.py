"""Domain: what is public about a table, written down before a row is read.

A domain file is TOML that a person can read and sign.  Reading it never guesses: what is missing,
unknown or misspelled is said with the place and with what to write.
"""

from __future__ import annotations

import codecs
import datetime as dt
import json
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, field, fields, replace
from functools import cached_property
from math import lcm
from operator import index
from typing import Any, Literal

from privsieve.errors import DomainError
from privsieve.frozen import dataclass
from privsieve.public.canonical import Json, canonical, digest, quoted
from privsieve.public.columns import (
    Category,
    Column,
    Date,
    Flag,
    Label,
    Number,
    Scalar,
    Target,
    check_name,
    fields_of,
)
from privsieve.public.printed import Printed

#: More rows, or persons, than this are refused: it is a public cap.
LARGEST_ROWS = 2**40
#: Up to so many rows a person, floor(L / rows) is exact.
EXACT_ROWS, ROUNDED_WEIGHT = 10, 4096

_COLUMNS = {"number": Number, "category": Category, "flag": Flag, "date": Date}
_TARGETS = {"label": Label, "number": Number}
_TABLE = ("unit", "person", "rows_per_person", "neighbours", "rows", "persons", "csv")
#: A domain file is far below; more is a mistake, or an attack on memory.
LARGEST_FILE = 64 * 2**20
_KEY = r"""(?:(?<![\w-])[\w-]+|"[^"\n]*"|'[^'\n]*')"""
#: A key of sixteen parts and more; a domain file needs one or two.
_DEEP_KEY = re.compile(rf"(?:{_KEY}[ \t]*\.[ \t]*){{16}}")
_DEEP = "the domain file is nested too deeply; tables, columns and lists of values are all it needs"
#: Keys that a constructor needs; where one is missing, the constructor says what to write.
_NEEDED = ("low", "high", "values")


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
            raise DomainError(f"csv.delimiter is {quoted(self.delimiter)}; write one character "
                              'such as "," ";" "|" or "\\t"')
        if self.decimal not in (".", ","):
            raise DomainError(f'csv.decimal is {quoted(self.decimal)}; write "." or ","')
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
        if not isinstance(self.header, bool):
            raise DomainError(f"csv.header is {quoted(self.header)}; write true or false")


@dataclass(frozen=True, repr=False)
class Domain(Printed):
    """All that is public about a table: columns with bounds, the label, the unit protected.

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        self._check_columns()
        if self.neighbours not in ("replace-one", "add-remove"):
            raise DomainError(f"table.neighbours is {quoted(self.neighbours)}; "
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
        names = [*self.names, *([self.target.name] if self.target else [])]
        if isinstance(self.target, Number) and self.target.role != "known":
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
        """Read a domain file; what is missing or misspelled is said with its place."""
        try:
            with open(os.fspath(path), "rb") as file:  # noqa: PTH123  # no import
                data = file.read(LARGEST_FILE + 1)
            text = data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
        except (OSError, ValueError):
            raise DomainError("the domain file does not exist, or is not a text in UTF-8; "
                              "check the path") from None
        if len(data) > LARGEST_FILE:
            raise DomainError("the domain file is larger than 64 MB; a domain of 100,000 columns "
                              "has less than 10 MB: check the path")
        return parse(text)

    @staticmethod
    def draft(source: Any) -> str:
        """A domain file to fill in, from the names and physical types of an opened source."""
        from privsieve.public.draft import draft

        shape = source.shape(count_rows=False)
        return draft(list(zip(shape.columns, shape.types, strict=True)))

    def to_toml(self, path: str | os.PathLike[str]) -> None:
        """Write a domain file; nothing is overwritten."""
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
        if not isinstance(self.target, Label):
            found = "there is no target" if self.target is None else (
                f"the target {self.target.name!r} is a number")
            raise DomainError(f'this method needs classes, and {found}: [target] with kind = '
                              '"label" and its values')
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
        rows = self.rows if rows is None else rows
        if rows is None:
            raise DomainError("the number of rows is not known before they are read; say it "
                              "(rows=, --rows, or rows = in [table])")
        whole = index(rows) if hasattr(rows, "__index__") else -1
        if not 0 <= whole <= LARGEST_ROWS:
            raise DomainError(f"the number of rows is {quoted(rows)}; it is a whole number up to "
                              f"{LARGEST_ROWS}")
        return whole

    @cached_property
    def gridless(self) -> tuple[str, ...]:
        """The columns whose codes are no equal steps: no grid, no mean and no weight of them.

        >>> Domain([Number("age", 0, 110), Number("sodium")]).gridless
        ('sodium',)
        """
        return tuple(one.name for one in self.columns if isinstance(one, Number) and one.gridless)

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


def _check_count(value: object, name: str, *, optional: bool) -> None:
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST_ROWS:
        raise DomainError(f"table.{name} is {quoted(value)}; write a whole number from 1 to "
                          f"{LARGEST_ROWS}")


# --- the file -----------------------------------------------------------------------------------
def parse(text: str) -> Domain:
    """Read the text of a domain file.

    >>> parse('''
    ... [[column]]
    ... name = "age"
    ... kind = "number"
    ... low = 0
    ... high = 110
    ... ''').names
    ('age',)
    """
    content = _content(text)
    _check_keys(content, ("table", "column", "target"), "the domain file")
    table = _table(content.get("table", {}), "[table]")
    _check_keys(table, _TABLE, "[table]")
    columns = content.get("column", [])
    if not isinstance(columns, list):
        raise DomainError("the domain file: column is written [column]; write [[column]], once "
                          "for each column")
    parts = [_column(_table(entry, "[[column]]"), at) for at, entry in enumerate(columns, 1)]
    target = _target(_table(content["target"], "[target]")) if "target" in content else None
    return Domain(tuple(parts), target, **_unit(table))


def _content(text: str) -> dict[str, Any]:
    """The tables of a TOML text; what makes the parser give up is said in words."""
    import tomllib

    if _DEEP_KEY.search(text):  # the parser would take memory by the square of the depth
        raise DomainError(_DEEP)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DomainError(f"the domain file is not TOML: {error}") from None
    except RecursionError:
        pass
    except ValueError:  # of Python's integers
        raise DomainError("the domain file holds a number with too many digits; a bound has at "
                          "most a few hundred") from None
    raise DomainError(_DEEP)


def to_toml(domain: Domain) -> str:
    """The text of a domain file; reading it gives an equal domain.

    >>> print(to_toml(Domain([Flag("smoker")])))
    [table]
    unit = "row"
    <BLANKLINE>
    [[column]]
    name = "smoker"
    kind = "flag"
    <BLANKLINE>
    """
    if isinstance(domain, Box):
        raise DomainError("the domain fits an array of any width; name its columns "
                          "(Domain.box(..., columns=[...])) before you write it")
    import tomli_w

    table = {"unit": domain.unit} if domain.unit_declared else {}
    table |= _changed(domain, [name for name in _TABLE if name not in ("unit", "csv")])
    csv = _changed(domain.csv, [item.name for item in fields(Csv)])
    text = [tomli_w.dumps({"table": table | ({"csv": csv} if csv else {})})]
    text += [f"[[column]]\n{tomli_w.dumps(_part(column))}" for column in domain.columns]
    if domain.target is not None:
        text.append(tomli_w.dumps({"target": _part(domain.target)}))
    return "\n".join(text)


def _column(entry: Mapping[str, Any], at: int) -> Column:
    where = f"column {quoted(entry.get('name', ''))} ({_ordinal(at)} [[column]])"
    column: Column = _made(entry, _COLUMNS, where, f"{_ordinal(at)} [[column]]")
    return column


def _target(entry: Mapping[str, Any]) -> Target:
    where = f"target {quoted(entry.get('name', ''))} ([target])"
    if "role" in entry:
        raise DomainError(f"{where}: role is for columns; whether the target is known is said "
                          "where it is published: take it away")
    target: Target = _made(entry, _TARGETS, where, "[target]")
    return target


def _made(entry: Mapping[str, Any], kinds: Mapping[str, type], where: str, place: str) -> Any:
    if "name" not in entry:
        raise DomainError(f"{place}: name is missing; write name = \"the column's name\"")
    kind = entry.get("kind")
    if kind is None:
        raise DomainError(f"{where}: kind is missing; write kind = {_or(kinds)}")
    if not isinstance(kind, str) or kind not in kinds:
        raise DomainError(f"{where}: kind is {quoted(kind)}; write {_or(kinds)}")
    keys = [item.name for item in fields(kinds[kind])]
    _check_keys(entry, ["kind", *keys], where)
    options = {key: entry.get(key) for key in keys if key in entry or key in _NEEDED}
    try:
        return kinds[kind](**options)
    except DomainError as error:
        # The constructor names the column; a file has a place as well.
        said = str(error)
        known = [word for word in ("column", "target") if f"{word} {entry['name']!r}" in said]
        for word in known[:1]:
            said = said.replace(f"{word} {entry['name']!r}", where, 1)
        raise DomainError(said) from None


def _unit(table: Mapping[str, Any]) -> dict[str, Any]:
    """`unit` says in words what `person` says by being there; the two have to agree."""
    options = dict(table)
    unit, person = options.pop("unit", None), options.get("person")
    if unit not in (None, "row", "person"):
        raise DomainError(f'[table]: unit is {quoted(unit)}; write "row" or "person"')
    if unit == "person" and person is None:
        raise DomainError('[table]: unit is "person" and person is missing; write person = "the '
                          'column that says whose row it is"')
    if unit == "row" and person is not None:
        raise DomainError(f'[table]: unit is "row" and person is {quoted(person)}; write unit = '
                          '"person", or take person away')
    if "csv" in options:
        csv = _table(options["csv"], "[table] csv")
        _check_keys(csv, [item.name for item in fields(Csv)], "[table] csv")
        options["csv"] = Csv(**csv)
    return {**options, "unit_declared": unit is not None or person is not None}


def _table(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DomainError(f"{where} is not a table of keys and values; write key = value lines "
                          "below it")
    return value


def _check_keys(entry: Iterable[str], known: Sequence[str], where: str) -> None:
    for key in entry:
        if key not in known:
            import difflib

            near = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"write one of {', '.join(known)}"
            raise DomainError(f"{where}: {quoted(key)} is not known; {hint}")


def _changed(part: object, names: Sequence[str]) -> dict[str, Any]:
    """What differs from its default."""
    defaults = {item.name: item.default for item in fields(part)}  # type: ignore[arg-type]
    found = {name: getattr(part, name) for name in names}
    return {name: _in_toml(value) for name, value in found.items() if value != defaults[name]}


def _part(part: Column | Target) -> dict[str, Any]:
    names = [item.name for item in fields(part)]
    values = {"name": part.name, "kind": part.kind, **_changed(part, names[1:])}
    if isinstance(part, Label):
        values["default"] = part.default
    return values


def _in_toml(value: object) -> object:
    """A value as TOML has it: dates without a clock, whole numbers without a point."""
    if isinstance(value, dt.datetime):
        return value.date() if value.time() == dt.time() else value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return [_in_toml(one) for one in value] if isinstance(value, tuple) else value


def _or(kinds: Iterable[str]) -> str:
    return " or ".join(json.dumps(kind) for kind in kinds)


def _ordinal(at: int) -> str:
    ending = "th" if at % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(at % 10, "th")
    return f"{at}{ending}"
