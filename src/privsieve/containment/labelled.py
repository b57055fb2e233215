"""A table for containment: its items, its classes, and the roles of its columns.

Each thing that an attacker may know can be an item of its own (`as_known`): an absence is an item
"not that", a class is an item of the class.  Counts of such a table, as if absences were unknown,
are then what this attacker finds.  So all measures serve every role.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from privsieve.kernels.patterns import Rule
from privsieve.public.canonical import Json
from privsieve.rows.matrix import Items, Sensitive

Bools: TypeAlias = npt.NDArray[np.bool_]
Codes: TypeAlias = npt.NDArray[np.int32]
Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Masks: TypeAlias = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False, repr=False)
class Labelled:
    """Items with the class of each row; `target` is the name of the column of classes.

    sources : whose row each is (-1: nobody's), where a group is k distinct sources; it never
        leaves.
    people : whether the sources are the persons that a domain names.
    sensitive : columns that are not chosen from, and must not be learned.
    counted : positions of items that were published before: they count, whatever is chosen.
    closed : columns of which only these are here, because they are counted; they do not leave now.
    marked : the rows whose classes may be used to compare columns; None for all.
    """

    items: Items
    y: Codes
    classes: tuple[Any, ...] = ()
    target: str | None = None
    sources: Codes | None = None
    sensitive: tuple[Sensitive, ...] = ()
    counted: tuple[int, ...] = ()
    closed: tuple[str, ...] = ()
    people: bool = False
    marked: Bools | None = None

    @property
    def labelled(self) -> Bools:
        """Return the rows whose classes may be used to compare columns."""
        return np.ones(len(self.y), np.bool_) if self.marked is None else self.marked

    @property
    def counts(self) -> str | None:
        """Return what k counts if not rows, as a claim says it."""
        return None if self.sources is None else "persons" if self.people else "sources"


@dataclass(frozen=True)
class Roles:
    """The role of each column of a table, by its name there.

    presences : may be known, as far as a row has something; counts toward k.
    both : may be known, present or absent; counts toward k.  An attacker who knows the value of a
        category, number or date knows all of its items.
    sensitive : must not be learned; it does not count toward k.
    target : what columns are chosen for; `target_known`: it is published, and counts toward k.
    """

    presences: tuple[str, ...] = ()
    both: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    target: str | None = None
    target_known: bool = False

    def absent(self, items: Items) -> Bools | None:
        """Return the items whose absences count, for `Rule.absent`; None for none."""
        lacking = np.array([name in self.both for name in items.origin], np.bool_)
        return lacking if lacking.any() else None

    def json(self) -> dict[str, Json]:
        """Return the roles as a claim states them."""
        return {"presences": list(self.presences), "both": list(self.both),
                "sensitive": list(self.sensitive), "target": self.target,
                "target_known": self.target_known}


def cells(items: Items) -> tuple[Ints, Codes]:
    """Return items as the kernels take them."""
    return items.indptr, items.indices


def bits_of(masks: Masks, items: int) -> Floats:
    """Return patterns as zeros and ones, one for each item."""
    bits = np.unpackbits(masks.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    return bits[:, :items].astype(np.float64)


def rows_of(items: Items, item: int) -> Codes:
    """Return the rows that hold an item."""
    return items.indices[items.indptr[item]:items.indptr[item + 1]]


def some_rows(items: Items, chosen: Ints) -> Items:
    """Return the table of these rows, in rising order, with new numbers.

    >>> some_rows(Items.dense([[1, 0], [1, 1], [0, 1]]), np.array([0, 2])).indices.tolist()
    [0, 1]
    """
    place = np.full(items.rows, -1, np.int32)
    place[chosen] = np.arange(len(chosen), dtype=np.int32)
    held = []
    for item in range(len(items)):  # one at a time: a copy of all would be as large as the table
        rows = place[rows_of(items, item)]
        held.append(rows[rows >= 0])
    indptr = np.cumsum([0, *map(len, held)], dtype=np.int64)
    indices = np.concatenate([np.zeros(0, np.int32), *held])
    return replace(items, indptr=indptr, indices=indices, rows=len(chosen))


def narrowed(rule: Rule, selected: Sequence[int]) -> Rule:
    """Return the rule for these items alone."""
    if rule.absent is None:
        return rule
    return replace(rule, absent=rule.absent[np.asarray(selected, np.int64)])


def as_known(items: Items, absent: Bools | None, label: tuple[str, Codes, Sequence[str]] | None,
             ) -> Items:
    """Add to these items the absences that may be known, and the class: name, codes, texts.

    A new item has the column of the item that it negates.

    >>> items = Items.dense([[1], [0], [0]], ["smoker"])
    >>> known = as_known(items, np.array([True]), ("ill", np.array([0, 1, 1], np.int32), "ny"))
    >>> known.names, known.origin, np.diff(known.indptr).tolist()
    (('smoker', 'not smoker', 'ill=n', 'ill=y'), ('smoker', 'smoker', 'ill', 'ill'), [1, 2, 1, 2])
    """
    pieces, names, origin = [items.indices], list(items.names), list(items.origin)
    for j in [] if absent is None else np.flatnonzero(absent).tolist():
        held = np.zeros(items.rows, bool)
        held[rows_of(items, j)] = True
        pieces.append(np.flatnonzero(~held).astype(np.int32))
        names.append(f"not {items.names[j]}")
        origin.append(items.origin[j])
    if label is not None:
        name, codes, texts = label
        ends = np.cumsum(np.bincount(codes, minlength=len(texts)))
        pieces += np.split(np.argsort(codes, kind="stable").astype(np.int32), ends[:-1])
        names += [f"{name}={text}" for text in texts]
        origin += [name] * len(texts)
    ends_of_pieces = np.cumsum([len(piece) for piece in pieces[1:]], dtype=np.int64)
    return Items(np.concatenate([items.indptr, items.indptr[-1] + ends_of_pieces]),
                 np.concatenate(pieces), items.rows, tuple(names), tuple(origin))

