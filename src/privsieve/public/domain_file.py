"""The domain file: what is public about a table, as TOML that a person can read and sign.

Reading it never guesses: what is missing, unknown or misspelled is said with the place and with
what to write.  A draft holds names and physical types, and no value of the table.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from privsieve.errors import DomainError
from privsieve.public.canonical import quoted
from privsieve.public.columns import Category, Column, Date, Flag, Label, Number, Target
from privsieve.public.domain import Box, Csv, Domain

_COLUMNS = {"number": Number, "category": Category, "flag": Flag, "date": Date}
_TARGETS = {"label": Label, "number": Number}
_PARTS = ("table", "column", "target")
_TABLE = ("unit", "person", "rows_per_person", "neighbours", "rows", "persons", "csv")
#: A domain file is far below; more is a mistake, or an attack on memory.
LARGEST_FILE = 64 * 2**20
_KEY = r"""(?:(?<![\w-])[\w-]+|"[^"\n]*"|'[^'\n]*')"""
#: A key of sixteen parts and more; a domain file needs one or two.
_DEEP_KEY = re.compile(rf"(?:{_KEY}[ \t]*\.[ \t]*){{16}}")
_DEEP = "the domain file is nested too deeply; tables, columns and lists of values are all it needs"
#: Keys that a constructor needs; where one is missing, the constructor says what to write.
_NEEDED = ("low", "high", "values")


def from_toml(path: str | Path) -> Domain:
    """Read a domain file."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
        text = data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, ValueError):
        raise DomainError("the domain file does not exist, or is not a text in UTF-8; "
                          "check the path") from None
    if len(data) > LARGEST_FILE:
        raise DomainError("the domain file is larger than 64 MB; a domain of 100,000 columns has "
                          "less than 10 MB: check the path")
    return parse(text)


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
    _check_keys(content, _PARTS, "the domain file")
    table = _table(content.get("table", {}), "[table]")
    _check_keys(table, _TABLE, "[table]")
    columns = content.get("column", [])
    if not isinstance(columns, list):
        raise DomainError("the domain file: column is written [column]; write [[column]], once "
                          "for each column")
    parts = [_column(_table(entry, "[[column]]"), at) for at, entry in enumerate(columns, 1)]
    target = _target(_table(content["target"], "[target]")) if "target" in content else None
    options = {name: table[name] for name in _TABLE if name in table}
    return Domain(tuple(parts), target, **_unit(options))


def _content(text: str) -> dict[str, Any]:
    """The tables of a TOML text; what makes the parser give up is said in words."""
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


def draft(columns: Sequence[tuple[str, str]]) -> str:
    """A domain file to fill in, from names and physical types alone.

    It is refused until the first thing to fill in is filled in.

    >>> "low =   <- fill in" in draft([("age", "number"), ("name", "text")])
    True
    """
    texts = [name for name, kind in columns if kind == "text"]
    lines = [*_TABLE_DRAFT]
    for name, kind in columns:
        if kind == "unreadable":
            lines += ["", "# not used: of a type that no rule reads", f"# {_named(name)}"]
        elif kind != "text":
            lines += ["", "[[column]]", _named(name), *_BLANKS[kind]]
    lines += ["", *_TARGET_DRAFT]
    if texts:
        lines += ["", *_TEXT_DRAFT]
    for name in texts:
        lines += ["#", "# [[column]]", f"# {_named(name)}", '# kind = "category"',
                  '# values = []  # every value that may occur, for example ["A", "B"]']
    return "\n".join([*lines, ""])


_FILL = "<- fill in"
_TABLE_DRAFT = (
    "# What is public about the table.  Write what a code book or the study's plan says;",
    "# never what this table happens to hold.",
    "",
    "[table]",
    f'# unit =   {_FILL}: "row", or "person" with person = "the column that says whose row it is"',
)
_TARGET_DRAFT = (
    "# What is to be predicted; its [[column]] above has to go.  Without a target, delete this.",
    "[target]",
    f"# name =   {_FILL}",
    'kind = "label"',
    f"# values =   {_FILL}: every class",
)
_TEXT_DRAFT = (
    "# not used: texts and identifiers.  For one that has few values, take the # away and",
    "# list them.",
)
_BLANKS = {
    "number": ('kind = "number"', f"# low =   {_FILL}", f"# high =   {_FILL}"),
    "flag": ('kind = "flag"',),
    "date": ('kind = "date"', f"# low =   {_FILL}: a date such as 2020-01-01",
             f"# high =   {_FILL}"),
    "other": (f'# kind =   {_FILL}: "number", "category", "flag" or "date"; or delete the column',
              "# low =        <- for a number or date", "# high =       <- for a number or date",
              "# values = []  <- for a category"),
}


def _column(entry: Mapping[str, Any], at: int) -> Column:
    where = f"column {quoted(entry.get('name', ''))} ({_ordinal(at)} [[column]])"
    made = _made(entry, _COLUMNS, where, f"{_ordinal(at)} [[column]]")
    assert isinstance(made, (Number, Category, Flag, Date))
    return made


def _target(entry: Mapping[str, Any]) -> Target:
    where = f"target {quoted(entry.get('name', ''))} ([target])"
    if "role" in entry:
        raise DomainError(f"{where}: role is for columns; whether the target is known is said "
                          "where it is published: take it away")
    made = _made(entry, _TARGETS, where, "[target]")
    assert isinstance(made, (Label, Number))
    return made


def _made(entry: Mapping[str, Any], kinds: Mapping[str, type], where: str, place: str) -> object:
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


def _unit(options: dict[str, Any]) -> dict[str, Any]:
    """`unit` says in words what `person` says by being there; the two have to agree."""
    unit = options.pop("unit", None)
    person = options.get("person")
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
    return {name: _plain(value) for name, value in found.items() if value != defaults[name]}


def _part(part: Column | Target) -> dict[str, Any]:
    names = [item.name for item in fields(part)]
    values = {"name": part.name, "kind": part.kind, **_changed(part, names[1:])}
    if isinstance(part, Label):
        values["default"] = part.default
    return values


def _plain(value: object) -> object:
    """A value as TOML has it: dates without a clock, whole numbers without a point."""
    if isinstance(value, dt.datetime):
        return value.date() if value.time() == dt.time() else value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def _named(name: str) -> str:
    import tomli_w

    return tomli_w.dumps({"name": name}).rstrip("\n")


def _or(kinds: Iterable[str]) -> str:
    return " or ".join(json.dumps(kind) for kind in kinds)


def _ordinal(at: int) -> str:
    ending = "th" if at % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(at % 10, "th")
    return f"{at}{ending}"
