"""Long logs: a line says that a user has an item.  Users become rows, items become columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privsieve.errors import SchemaError
from privsieve.public.columns import Column, Target
from privsieve.public.domain import Domain
from privsieve.rows.coding import Coded, Gather
from privsieve.rows.items import Found, Labels, without_labels
from privsieve.rows.matrix import from_pairs
from privsieve.rows.source import open_source
from privsieve.rows.table import gathered, labels


@dataclass(frozen=True, eq=False, repr=False)
class Long:
    """Which columns of a log say what.

    value : a column of 0 and 1: a line with 0 says nothing.
    people : a table of the users, one row each: who is in no line has no item.
    target : a column of that table, the class of each user.
    """

    user: str
    item: str
    value: str | None = None
    people: Any = None
    target: str | None = None


def read_long(log: Any, how: Long, *, items: Sequence[str] | None = None,
              domain: Domain | None = None) -> Found:
    """Items of a log (a path or a frame); a line that comes twice counts once.

    With people, a line of somebody else is refused; with `items`, a line with another item.
    `domain` says how the files are written, and how `value` and the people's target are read.

    >>> import pyarrow as pa
    >>> log = pa.table({"user": ["u2", "u1", "u2"], "film": ["A", "B", "B"]})
    >>> found, y, classes = read_long(log, Long("user", "film"))
    >>> found.rows, found.names, found.indices.tolist()
    (2, ('A', 'B'), [1, 0, 1])
    """
    wanted = [how.user, how.item, *([how.value] if how.value else [])]
    user, item, *value = _columns(log, wanted, "the log", domain)
    for column in (user, item):
        if (column.codes < 0).any():
            raise SchemaError(f"the log has lines without {column.name!r}; give each line a user "
                              "and an item")
    keep = _kept(value[0]) if value else np.ones(len(user.codes), np.bool_)
    known, found = ((sorted(user.texts()), None) if how.people is None
                    else _people(how, domain))
    names = list(items) if items is not None else sorted(item.texts())
    row, column = _looked_up(user, known, "user"), _looked_up(item, names, "item")
    made = from_pairs(row[keep], column[keep], len(known), names)
    return made, *(found or without_labels(len(known)))


def _columns(table: Any, names: Sequence[str], what: str, domain: Domain | None) -> list[Coded]:
    source = open_source(table, csv=domain.csv if domain else None)
    for name in names:
        if name not in source.columns:
            raise SchemaError(f"column {name!r} is not in {what}; correct its name")
    parts: dict[str, Column | Target] = {}
    if domain is not None:
        parts = {part.name: part for part in domain.columns}
        parts |= {domain.target.name: domain.target} if domain.target else {}
    # Users and items are known by their texts, whatever a domain says.
    texts = 2 if what == "the log" else 1
    decimal = domain.csv.decimal if domain else "."
    return gathered(source, [Gather(name, parts.get(name) if at >= texts else None,
                                    decimal if at >= texts else ".")
                             for at, name in enumerate(names)], names)


def _people(how: Long, domain: Domain | None) -> tuple[list[str], Labels | None]:
    """The users in the order of their names, and their classes."""
    wanted = [how.user, *([how.target] if how.target else [])]
    who, *label = _columns(how.people, wanted, "the table of people", domain)
    if (who.codes < 0).any() or len(set(who.codes.tolist())) != len(who.codes):
        raise SchemaError(f"the table of people must hold each {how.user!r} in one row, and none "
                          "that is empty; correct it")
    texts = who.texts()
    names = [texts[code] for code in who.codes]
    order = sorted(range(len(names)), key=names.__getitem__)
    if not label:
        return [names[at] for at in order], None
    codes, classes = labels(label[0])
    return [names[at] for at in order], (codes[order], classes)


def _looked_up(column: Coded, known: Sequence[str], what: str) -> Any:
    """The place of each line's user or item among those that are known."""
    place = {name: at for at, name in enumerate(known)}
    found = np.array([place.get(text, -1) for text in column.texts()], np.int64)[column.codes]
    if (found < 0).any():
        where = "the table of people" if what == "user" else "the list of items"
        raise SchemaError(f"column {column.name!r} of the log holds an unknown {what}, which "
                          f"{where} lacks; add it there, or drop its lines")
    return found


def _kept(value: Coded) -> Any:
    """Which lines say yes."""
    numbers = value.numbers()
    if numbers is None or not set(numbers.tolist()) <= {0.0, 1.0} or (value.codes < 0).any():
        raise SchemaError(f"column {value.name!r} of the log holds other values than 0 and 1; "
                          "cut it into yes and no first")
    return numbers[value.codes] == 1
