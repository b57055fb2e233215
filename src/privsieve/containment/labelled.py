"""Labelled: a table as containment takes it: its items, classes, what is sensitive, what is known.

Every thing that a stranger may know can be an item of its own (`as_known`): an absence an item "not
that", the class an item of the class.  What is counted of such a table as if absences were unknown
is then what this stranger finds; so all measures serve every role.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.public.canonical import Json
from privsieve.rows.matrix import Items

Codes = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Sensitive:
    """A column that must not be learned: the value of each row.

    codes : for each row the position of its value.
    values : the texts of the values, in their order; a missing cell is the text "missing", last.
    ordered : whether they are numbers or dates, so that some are nearer to each other.
    """

    name: str
    codes: Codes
    values: tuple[str, ...]
    ordered: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Labelled:
    """Items with the class of each row; `target` is the name of the column of classes.

    sources : whose row each is, where a group is k distinct sources; never published.
    sensitive : columns that are not chosen from, and must not be learned.
    counted : positions of items that were published before: they count, whatever is chosen.
    closed : columns of which only these are here, because they are counted; they do not leave now.
    """

    items: Items
    y: Codes
    classes: tuple[Any, ...]
    target: str | None = None
    sources: Codes | None = None
    sensitive: tuple[Sensitive, ...] = ()
    counted: tuple[int, ...] = ()
    closed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Roles:
    """The role of each column of a table, by its name there.

    presences : may be known, as far as a row has something; counts toward k.
    both : may be known, present or absent: whoever knows the value of a category, number or date
        knows all of its items; counts toward k.
    sensitive : must not be learned; it does not count toward k.
    target : what columns are chosen for; `target_known`: it is published, and counts toward k.
    """

    presences: tuple[str, ...] = ()
    both: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    target: str | None = None
    target_known: bool = False

    def absent(self, items: Items) -> npt.NDArray[np.bool_] | None:
        """The items of which absences count, as `Rule.absent` takes them; None for none."""
        both = set(self.both)
        found = np.array([name in both for name in items.origin], np.bool_)
        return found if found.any() else None

    def json(self) -> dict[str, Json]:
        """What a claim says of them."""
        return {"presences": list(self.presences), "both": list(self.both),
                "sensitive": list(self.sensitive), "target": self.target,
                "target_known": self.target_known}


def as_known(items: Items, absent: Bools | None, label: tuple[str, Codes, Sequence[str]] | None,
             ) -> Items:
    """These items, the absences that may be known, and the class, if it may be: name, codes, texts.

    What is added comes from the same column as what it speaks of.

    >>> items = Items.dense([[1], [0], [0]], ["smoker"])
    >>> made = as_known(items, np.array([True]), ("ill", np.array([0, 1, 1], np.int32), "ny"))
    >>> made.names, made.origin, np.diff(made.indptr).tolist()
    (('smoker', 'not smoker', 'ill=n', 'ill=y'), ('smoker', 'smoker', 'ill', 'ill'), [1, 2, 1, 2])
    """
    pieces, names, origin = [items.indices], list(items.names), list(items.origin)
    lacking = np.flatnonzero(absent).tolist() if absent is not None else []
    for j in lacking:
        held = np.zeros(items.rows, bool)
        held[items.indices[items.indptr[j]:items.indptr[j + 1]]] = True
        pieces.append(np.flatnonzero(~held).astype(np.int32))
        names.append(f"not {items.names[j]}")
        origin.append(items.origin[j])
    if label is not None:
        name, codes, texts = label
        pieces += [np.flatnonzero(codes == at).astype(np.int32) for at in range(len(texts))]
        names += [f"{name}={text}" for text in texts]
        origin += [name] * len(texts)
    more = np.cumsum([len(piece) for piece in pieces[1:]], dtype=np.int64)
    return Items(np.concatenate([items.indptr, items.indptr[-1] + more]),
                 np.concatenate(pieces), items.rows, tuple(names), tuple(origin))


def with_classes(items: Items, y: Codes, absent: Bools | None = None,
                 ) -> tuple[Items, Bools | None]:
    """The items and, last, one for each class that a row has; and whose absence may be known.

    >>> from privsieve.rows.matrix import Items
    >>> found, _ = with_classes(Items.dense([[1], [1], [0]]), np.array([0, 2, 0], np.int32))
    >>> found.indptr.tolist(), found.indices.tolist(), found.names
    ([0, 2, 4, 5], [0, 1, 0, 2, 1], ('x0', 'class 0', 'class 2'))
    """
    codes, size = np.unique(y, return_counts=True)
    names = tuple(f"class {code}" for code in codes)
    by_class = np.argsort(y, kind="stable").astype(np.int32)
    both = replace(
        items, indptr=np.concatenate([items.indptr, items.indptr[-1] + np.cumsum(size)]),
        indices=np.concatenate([items.indices, by_class]),
        names=items.names + names, origin=items.origin + names,
        absent=items.absent and items.absent + (False,) * len(codes))
    return both, None if absent is None else np.append(absent, np.zeros(len(codes), np.bool_))
