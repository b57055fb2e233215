"""Persons: which rows of a person count, and how much.

Each person weighs the same, L, however many rows they have: of at most `most` rows (kept by a
keyed order) each counts floor(L / rows).  One of them, the first of that order, stands for the
person where a rule needs one row a unit.  All of it depends on the person's own rows alone.

Rows without an id are nobody's; the reader gives none of them.  So a person who loses all ids is
absent, and the number of persons who are there is private.  What rests on a number of persons
takes the declared one: see `settled`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from privsieve import kernels
from privsieve.public.columns import MIDDLE, MISSING, Category, Column, Flag, Label, Target
from privsieve.public.domain import Domain, person_weight
from privsieve.rows.batch import Batch


def row_weights(unit: npt.NDArray[np.uint64], most: int, key: int,
                ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The weight of each row (0: not kept), and whether it stands for its person.

    >>> weight, first = row_weights(np.array([7, 7, 7, 8], np.uint64), 2, key=0)
    >>> sorted(weight.tolist()), int(first.sum())
    ([0, 1, 1, 2], 2)
    """
    weight = np.zeros(len(unit), np.int64)
    first = np.zeros(len(unit), np.bool_)
    if len(unit) == 0:
        return weight, first
    # Rows of a person lie together, in the order of the source.
    order = np.argsort(unit, kind="stable")
    sorted_unit = unit[order]
    begins = np.flatnonzero(np.r_[True, sorted_unit[1:] != sorted_unit[:-1]])
    sizes = np.diff(np.r_[begins, len(unit)])
    nth = np.arange(len(unit)) - np.repeat(begins, sizes)
    # Which of their rows are kept: a keyed order of (person, n-th row of that person).
    draw = kernels.mix64(np.uint64(key) ^ kernels.mix64(sorted_unit + nth.astype(np.uint64)
                                                       * np.uint64(0x9E3779B97F4A7C15)))
    inner = np.lexsort((nth, draw, np.repeat(np.arange(len(sizes)), sizes)))
    rank = np.empty(len(unit), np.int64)
    rank[inner] = nth
    kept = np.minimum(sizes, most)
    share = np.where(rank < most, np.repeat(person_weight(most) // kept, sizes), 0)
    weight[order] = share
    first[order] = rank == 0
    return weight, first


def among_first(unit: npt.NDArray[np.uint64], most: int) -> npt.NDArray[np.bool_]:
    """Which rows belong to the `most` units of the smallest tags.

    >>> among_first(np.array([9, 4, 9, 5], np.uint64), 2).tolist()
    [False, True, False, True]
    """
    tags = np.unique(unit)
    # [first] tags are fresh random numbers: no row decides who takes part
    found: npt.NDArray[np.bool_] = unit <= tags[min(most, len(tags)) - 1]
    return found


def settled(batches: Iterable[Batch], domain: Domain) -> list[Batch]:
    """Exactly the declared number of persons: for what rests on how many there are.

    Persons beyond it are left out by their tags; a default record stands in for each one who is
    absent, as one does for a broken line where rows are protected.

    >>> from privsieve.public.columns import Flag
    >>> from privsieve.public.domain import Domain
    >>> three = Domain([Flag("smoker")], target=Label("ill", [0, 1]), person="id", persons=3)
    >>> rows = np.arange(2, dtype=np.uint64)
    >>> came = Batch(np.ones((2, 1), np.uint16), np.ones(2, np.int32), rows + np.uint64(1), rows)
    >>> [batch.unit.tolist() for batch in settled([came], three)]
    [[1, 2], [0]]
    """
    held, many = [batch for batch in batches if len(batch)], domain.public_units(None)
    tags = np.unique(np.concatenate([np.zeros(0, np.uint64), *(batch.unit for batch in held)]))
    if len(tags) > many:
        # [surplus] the smallest tags stay, as in `among_first`
        last = tags[many - 1]
        held = [batch.take(np.flatnonzero(batch.unit <= last)) for batch in held]
    if len(tags) < many:
        # [stand-ins] the first tags that nobody has
        free = np.setdiff1d(np.arange(many, dtype=np.uint64), tags)[:many - len(tags)]
        held.append(_stand_ins(free, domain))
    return held


def _stand_ins(unit: npt.NDArray[np.uint64], domain: Domain) -> Batch:
    """One default record for each of these tags, at positions that no row has."""
    codes = np.array([default(column) for column in domain.columns], np.uint16)
    label = 0 if domain.target is None else default(domain.target)
    return Batch(np.repeat(codes[:, None], len(unit), axis=1).T,
                 np.full(len(unit), label, np.int32), unit, unit + np.uint64(2**63))


def default(part: Column | Target) -> int:
    """The code of a cell that cannot be read.

    >>> default(Flag("smoker")), default(Category("ward", ["A", "B"]))
    (0, 2)
    """
    if isinstance(part, Flag):
        return int(part.default)
    if isinstance(part, Label):
        return part.default_class
    if isinstance(part, Category):
        return len(part.values)
    return MISSING if part.missing_level else MIDDLE
