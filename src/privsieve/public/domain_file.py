"""The domain file: TOML that a person can read and sign.

Reading it never guesses.  One error lists all faults, each with its line and what to write.  Values
from the rows (`seen`, in a draft made with `--look`) are refused until a public fact replaces them.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from privsieve.errors import DomainError
from privsieve.public import blocks, plain
from privsieve.public.canonical import first_of, near, quoted
from privsieve.public.columns import KINDS, Column, Target
from privsieve.public.domain import Box, Csv, Domain
from privsieve.public.dropped import explain

_TABLE = ("unit", "person", "rows_per_person", "neighbours", "rows", "persons", "weight",
          "weight_max", "csv")
_KEY = r"""(?:(?<![\w-])[\w-]+|"[^"\n]*"|'[^'\n]*')"""
#: A key of sixteen or more parts; a domain file needs one or two.
_DEEP_KEY = rf"(?:{_KEY}[ \t]*\.[ \t]*){{16}}"
_DEEP = "the domain file is nested too deeply; tables, columns and lists of values are all it needs"
#: Required keys; if one is missing, the constructor raises the error.
_NEEDED = ("low", "high", "values")
#: The head of a table, and a line with a key.
_HEAD = r"[ \t]*\[\[?[ \t]*(table|column|target)[ \t]*\]"
_KEY_LINE = r"[ \t]*([A-Za-z_]+)[ \t]*="
#: What to write instead of `seen`.
_PUBLIC = {"number": "low and high from a code book, or no bounds (RuleSieve needs none)",
           "date": "low and high from the study's plan", "flag": "its words from a code book",
           "category": "values from a code book", "label": "values from a code book"}


def read(path: str | os.PathLike[str]) -> Domain:
    """Read a domain file."""
    data = plain.read(path, "the domain file", DomainError, way=(
        "; a domain of 100,000 columns has less than 10 MB: check the path"))
    try:
        text = data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except ValueError:
        raise DomainError("the domain file is not a text in UTF-8; check the path") from None
    return parse(text)


def parse(text: str) -> Domain:
    """Read the text of a domain file.

    >>> parse('''
    ... [[column]]
    ... names = ["age", "q01..q03"]
    ... kind = "number"
    ... ''').names
    ('age', 'q01', 'q02', 'q03')
    """
    content = _content(text)
    faults = _Faults(text)
    with faults.collect():
        _check_keys(content, ("table", "column", "target"), "the domain file")
    unit: dict[str, Any] = {}
    with faults.collect("table"):
        unit = _unit(_table(content.get("table", {}), "[table]"))
    entries, columns = content.get("column", []), list[Column]()
    if not isinstance(entries, list):
        raise DomainError("the domain file: column is written [column]; write [[column]] above "
                          "each column or block of columns")
    for at, entry in enumerate(entries):
        with faults.collect("column", at, len(entries)):
            columns += _columns(_table(entry, "[[column]]"), at + 1)
    target = None
    with faults.collect("target"):
        target = _target(_table(content["target"], "[target]")) if "target" in content else None
    domain = None
    with faults.collect():
        if columns or not faults.messages:
            domain = Domain(tuple(columns), target, **unit)
    if domain is None or faults.messages:
        raise faults.as_error()
    return domain


class _Faults:
    """The faults of a domain file, each with its line if it is known."""

    def __init__(self, text: str) -> None:
        self.messages: list[tuple[int, str]] = []
        #: For each table, by its kind and in order: its line (under "") and the lines of its keys.
        self._lines: dict[str, list[dict[str, int]]] = {"table": [], "column": [], "target": []}
        self._text = text

    @contextmanager
    def collect(self, table: str = "", at: int = 0, many: int = 1) -> Iterator[None]:
        """Collect the faults of one table of the file, one from each line of the error."""
        try:
            yield
        except DomainError as error:
            self.messages += [(self._line(message, table, at, many), message)
                           for message in str(error).split("\n")]

    def as_error(self) -> DomainError:
        """Return an error with all faults in the order of their lines."""
        placed = [f"line {line}: {message}" if line else message for line, message in sorted(
            dict.fromkeys(self.messages))]
        if len(placed) == 1:
            return DomainError(placed[0])
        return DomainError("\n".join([f"the domain file has {len(placed)} faults:",
                                      *first_of(placed)]))

    def _line(self, message: str, table: str, at: int, many: int) -> int:
        """Return the line of the key that a fault names, or of its table; 0 if unknown."""
        if not any(self._lines.values()):
            self._find()
        places = self._lines.get(table, [])
        if len(places) != many:  # the file writes its tables in another way
            return 0
        named = [line for key, line in places[at].items() if key and re.search(
            rf"(?:^|: |table\.){key}\b|: '{key}' is not", message)]
        return (named or [places[at][""]])[0]

    def _find(self) -> None:
        place: dict[str, int] = {}
        for number, line in enumerate(self._text.split("\n"), 1):
            if (head := re.match(_HEAD, line)) is not None:
                place = {"": number}
                self._lines[head[1]].append(place)
            elif (key := re.match(_KEY_LINE, line)) is not None:
                place.setdefault(key[1], number)


def _content(text: str) -> dict[str, Any]:
    """Parse TOML; explain what the parser cannot read."""
    import tomllib

    if re.search(_DEEP_KEY, text):  # the parser's memory grows with the square of the depth
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
    """Return the text of a domain file; reading it gives an equal domain.

    >>> from privsieve.public.columns import Flag
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
    text += [f"[[column]]\n{tomli_w.dumps(_write_entry(column))}" for column in domain.columns]
    if domain.target is not None:
        text.append(tomli_w.dumps({"target": _write_entry(domain.target)}))
    return "\n".join(text)


def _columns(entry: Mapping[str, Any], at: int) -> list[Column]:
    """Read the column of an entry, or all columns of its block."""
    place = f"{_ordinal(at)} [[column]]"
    if "names" not in entry:
        where = f"column {quoted(entry.get('name', ''))} ({place})"
        return [_read_entry(entry, "is_column", where, place)]
    if "name" in entry:
        raise DomainError(f"{place}: name and names are both given; write one of them")
    try:
        names = blocks.names_of(entry["names"])
    except DomainError as error:
        raise DomainError(f"{place}: {error}") from None
    own = {key: value for key, value in entry.items() if key != "names"}
    where = f"columns {quoted(names[0])} to {quoted(names[-1])} ({place})"
    return [_read_entry({"name": name, **own}, "is_column", where, place) for name in names]


def _target(entry: Mapping[str, Any]) -> Target:
    where = f"target {quoted(entry.get('name', ''))} ([target])"
    if "role" in entry:
        raise DomainError(f"{where}: a target has no role; remove it (say with options of "
                          "`privsieve publish` who knows the target)")
    target: Target = _read_entry(entry, "is_target", where, "[target]")
    return target


def _read_entry(entry: Mapping[str, Any], use: str, where: str, place: str) -> Any:
    """Read a column or target; one error lists all faults, one on each line."""
    kinds = {name: kind for name, kind in KINDS.items() if getattr(kind, use)}
    if "name" not in entry:
        raise DomainError(f"{place}: name is missing; write name = \"the column's name\"")
    kind = entry.get("kind")
    if kind is None:
        raise DomainError(f"{where}: kind is missing; write kind = {_or(kinds)}")
    if not isinstance(kind, str) or kind not in kinds:
        raise DomainError(f"{where}: kind is {quoted(kind)}; write {_or(kinds)}")
    keys = [item.name for item in fields(kinds[kind])]  # of a dataclass
    faults = _unknown([key for key in entry if key != "seen"], ["kind", *keys], where)
    if "seen" in entry:
        # Its value is private, and the error does not repeat it.
        faults.append(f"{where}: seen holds values from the rows, which are not public; write "
                      f"{_PUBLIC[kind]}, and remove the line")
    options = {key: entry.get(key) for key in keys if key in entry or key in _NEEDED}
    try:
        column = kinds[kind](**options)
    except DomainError as error:
        # The constructor names the column; add its place in the file.
        message = str(error)
        known = [word for word in ("column", "target") if f"{word} {entry['name']!r}" in message]
        for word in known[:1]:
            message = message.replace(f"{word} {entry['name']!r}", where, 1)
        # The fault about `seen` asks for missing keys already.
        if "seen" not in entry or " is missing; " not in message:
            faults.append(message)
    if faults:
        raise DomainError("\n".join(faults))
    return column


def _unit(table: Mapping[str, Any]) -> dict[str, Any]:
    """Read [table]; refuse a `unit` that contradicts `person`."""
    options = dict(table)
    if options.pop("private", False) is not False:
        raise DomainError("[table]: private is true: this draft contains values from the rows. "
                          "Replace each `seen` by a public fact, then remove this line")
    if "seen" in options:
        raise DomainError("[table]: seen holds values from the rows, which are not public; remove "
                          "it, and write csv.missing and csv.censored from a code book")
    _check_keys(options, _TABLE, "[table]")
    unit, person = options.pop("unit", None), options.get("person")
    if unit not in (None, "row", "person"):
        raise DomainError(f'[table]: unit is {quoted(unit)}; write "row" or "person"')
    if unit == "person" and person is None:
        raise DomainError('[table]: unit is "person" and person is missing; write person = "the '
                          'column with the id of each person"')
    if unit == "row" and person is not None:
        raise DomainError(f'[table]: unit is "row" and person is {quoted(person)}; write unit = '
                          '"person", or remove person')
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
    faults = _unknown(entry, known, where)
    if faults:
        raise DomainError("\n".join(faults))


def _unknown(entry: Iterable[str], known: Sequence[str], where: str) -> list[str]:
    """Return a fault for each unknown key, with a similar known one."""
    faults = []
    for key in entry:
        if key not in known:
            meant = near(key, known)
            hint = f"did you mean {meant}?" if meant else f"write one of {', '.join(known)}"
            faults.append(f"{where}: " + explain(key, f"{quoted(key)} is not known; {hint}"))
    return faults


def _changed(declared: object, names: Sequence[str]) -> dict[str, Any]:
    """Return the named fields that differ from their defaults."""
    defaults = {item.name: item.default for item in fields(declared)}  # type: ignore[arg-type]
    values = {name: getattr(declared, name) for name in names}
    return {name: _in_toml(value) for name, value in values.items() if value != defaults[name]}


def _write_entry(column: Column | Target) -> dict[str, Any]:
    names = [item.name for item in fields(column)]
    return {"name": column.name, "kind": column.kind, **_changed(column, names[1:])}


def _in_toml(value: object) -> object:
    """Return a value as TOML writes it: dates without a time, whole numbers without a point."""
    if isinstance(value, dt.datetime):
        return value.date() if value.time() == dt.time() else value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return [_in_toml(item) for item in value] if isinstance(value, tuple) else value


def _or(kinds: Iterable[str]) -> str:
    return " or ".join(json.dumps(kind) for kind in kinds)


def _ordinal(at: int) -> str:
    ending = "th" if at % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(at % 10, "th")
    return f"{at}{ending}"
