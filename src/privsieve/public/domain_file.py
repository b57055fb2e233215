"""The domain file: TOML that a person can read and sign.

Reading it never guesses.  All that is missing, unknown or misspelled is said at once, each with its
line and with what to write.  What somebody saw in the rows (`seen`, in a draft made with `--look`)
is refused until a public fact stands in its place.
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
#: A key of sixteen parts and more; a domain file needs one or two.
_DEEP_KEY = rf"(?:{_KEY}[ \t]*\.[ \t]*){{16}}"
_DEEP = "the domain file is nested too deeply; tables, columns and lists of values are all it needs"
#: Keys that a constructor needs; where one is missing, the constructor says what to write.
_NEEDED = ("low", "high", "values")
#: The beginning of a table, and of a line that gives a key.
_HEAD = r"[ \t]*\[\[?[ \t]*(table|column|target)[ \t]*\]"
_GIVEN = r"[ \t]*([A-Za-z_]+)[ \t]*="
#: What to write where a draft says what somebody saw.
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
    with faults.of():
        _check_keys(content, ("table", "column", "target"), "the domain file")
    unit: dict[str, Any] = {}
    with faults.of("table"):
        unit = _unit(_table(content.get("table", {}), "[table]"))
    entries, columns = content.get("column", []), list[Column]()
    if not isinstance(entries, list):
        raise DomainError("the domain file: column is written [column]; write [[column]], once "
                          "for each column, or block of columns")
    for at, entry in enumerate(entries):
        with faults.of("column", at, len(entries)):
            columns += _columns(_table(entry, "[[column]]"), at + 1)
    target = None
    with faults.of("target"):
        target = _target(_table(content["target"], "[target]")) if "target" in content else None
    domain = None
    with faults.of():
        if columns or not faults.found:
            domain = Domain(tuple(columns), target, **unit)
    if domain is None or faults.found:
        raise faults.said()
    return domain


class _Faults:
    """What is wrong with a domain file, each with its line where it can be told."""

    def __init__(self, text: str) -> None:
        self.found: list[tuple[int, str]] = []
        #: Of each kind of table, and of each in turn, its line ("") and those of its keys.
        self._lines: dict[str, list[dict[str, int]]] = {"table": [], "column": [], "target": []}
        self._text = text

    @contextmanager
    def of(self, table: str = "", at: int = 0, many: int = 1) -> Iterator[None]:
        """Take what is wrong with one table of the file, a fault a line, and go on."""
        try:
            yield
        except DomainError as error:
            self.found += [(self._line(said, table, at, many), said)
                           for said in str(error).split("\n")]

    def said(self) -> DomainError:
        """All faults in the order of their lines."""
        placed = [f"line {line}: {said}" if line else said for line, said in sorted(
            dict.fromkeys(self.found))]
        if len(placed) == 1:
            return DomainError(placed[0])
        return DomainError("\n".join([f"the domain file has {len(placed)} faults:",
                                      *first_of(placed)]))

    def _line(self, said: str, table: str, at: int, many: int) -> int:
        """The line of the key that a fault names, or of its table; 0 where neither can be told."""
        if not any(self._lines.values()):
            self._find()
        places = self._lines.get(table, [])
        if len(places) != many:  # written in another way
            return 0
        named = [line for key, line in places[at].items() if key and re.search(
            rf"(?:^|: |table\.){key}\b|: '{key}' is not", said)]
        return (named or [places[at][""]])[0]

    def _find(self) -> None:
        place: dict[str, int] = {}
        for number, line in enumerate(self._text.split("\n"), 1):
            if (head := re.match(_HEAD, line)) is not None:
                place = {"": number}
                self._lines[head[1]].append(place)
            elif (given := re.match(_GIVEN, line)) is not None:
                place.setdefault(given[1], number)


def _content(text: str) -> dict[str, Any]:
    """The tables of a TOML text; what makes the parser give up is said in words."""
    import tomllib

    if re.search(_DEEP_KEY, text):  # the parser would take memory by the square of the depth
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
    text += [f"[[column]]\n{tomli_w.dumps(_part(column))}" for column in domain.columns]
    if domain.target is not None:
        text.append(tomli_w.dumps({"target": _part(domain.target)}))
    return "\n".join(text)


def _columns(entry: Mapping[str, Any], at: int) -> list[Column]:
    """The column that an entry says, or all columns of its block."""
    place = f"{_ordinal(at)} [[column]]"
    if "names" not in entry:
        where = f"column {quoted(entry.get('name', ''))} ({place})"
        return [_made(entry, "is_column", where, place)]
    if "name" in entry:
        raise DomainError(f"{place}: name and names are both given; write one of them")
    try:
        names = blocks.names_of(entry["names"])
    except DomainError as error:
        raise DomainError(f"{place}: {error}") from None
    own = {key: value for key, value in entry.items() if key != "names"}
    where = f"columns {quoted(names[0])} to {quoted(names[-1])} ({place})"
    return [_made({"name": name, **own}, "is_column", where, place) for name in names]


def _target(entry: Mapping[str, Any]) -> Target:
    where = f"target {quoted(entry.get('name', ''))} ([target])"
    if "role" in entry:
        raise DomainError(f"{where}: role is for columns; whether the target is known is said "
                          "where it is published: take it away")
    target: Target = _made(entry, "is_target", where, "[target]")
    return target


def _made(entry: Mapping[str, Any], use: str, where: str, place: str) -> Any:
    """A column or target; all that is wrong with it stands in one error, a line each."""
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
        # What it says is private, and is not repeated.
        faults.append(f"{where}: seen is what the rows hold, and is not public: write "
                      f"{_PUBLIC[kind]}, and take the line away")
    options = {key: entry.get(key) for key in keys if key in entry or key in _NEEDED}
    try:
        made = kinds[kind](**options)
    except DomainError as error:
        # The constructor names the column; a file has a place as well.
        said = str(error)
        known = [word for word in ("column", "target") if f"{word} {entry['name']!r}" in said]
        for word in known[:1]:
            said = said.replace(f"{word} {entry['name']!r}", where, 1)
        # What is missing beside `seen` has been asked for.
        if "seen" not in entry or " is missing; " not in said:
            faults.append(said)
    if faults:
        raise DomainError("\n".join(faults))
    return made


def _unit(table: Mapping[str, Any]) -> dict[str, Any]:
    """`unit` says in words what `person` says by being there; the two have to agree."""
    options = dict(table)
    if options.pop("private", False) is not False:
        raise DomainError("[table]: private is true: this draft was made by looking at the rows. "
                          "Put a public fact in the place of each `seen`, then take this line "
                          "away")
    if "seen" in options:
        raise DomainError("[table]: seen is what the rows hold, and is not public: write missing "
                          "and censored in csv, from a code book, and take the line away")
    _check_keys(options, _TABLE, "[table]")
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
    faults = _unknown(entry, known, where)
    if faults:
        raise DomainError("\n".join(faults))


def _unknown(entry: Iterable[str], known: Sequence[str], where: str) -> list[str]:
    """Each key that is not known, and what is near it."""
    faults = []
    for key in entry:
        if key not in known:
            meant = near(key, known)
            hint = f"did you mean {meant}?" if meant else f"write one of {', '.join(known)}"
            faults.append(f"{where}: " + explain(key, f"{quoted(key)} is not known; {hint}"))
    return faults


def _changed(part: object, names: Sequence[str]) -> dict[str, Any]:
    """What differs from its default."""
    defaults = {item.name: item.default for item in fields(part)}  # type: ignore[arg-type]
    found = {name: getattr(part, name) for name in names}
    return {name: _in_toml(value) for name, value in found.items() if value != defaults[name]}


def _part(part: Column | Target) -> dict[str, Any]:
    names = [item.name for item in fields(part)]
    return {"name": part.name, "kind": part.kind, **_changed(part, names[1:])}


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
