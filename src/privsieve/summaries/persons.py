"""Persons: choose and weigh the rows of each person; add up all units.

Each person weighs the same, L, however many rows they have: of at most `most` rows (kept by a
keyed order) each counts floor(L / rows).  One of them, the first of that order, stands for the
person where a rule needs one row a unit.  All of it depends on the person's own rows alone.

Rows without an id are nobody's; the reader gives none of them.  So a person who loses all ids is
absent, and the number of persons who are there is private.  What rests on a number of persons
takes the declared one: see `fix_persons`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from privsieve import kernels
from privsieve.public.columns import MISSING
from privsieve.public.domain import Domain, person_weight
from privsieve.rows.batch import Batch, Passes
from privsieve.rows.cells import encoder
from privsieve.rows.room import Room
from privsieve.summaries import S

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Units = npt.NDArray[np.uint64]

#: Bytes of memory for a row whose person's rows are weighed.
WEIGHING = 128
#: Bytes of those that are weighed at a time, at least.
LEAST_WEIGHING = 2**25


def row_weights(unit: npt.NDArray[np.uint64], most: int, key: int) -> tuple[Ints, Flags]:
    """Return the weight of each row (0: not kept), and whether it represents its person.

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


def declared_weights(batch: Batch, domain: Domain) -> Ints | None:
    """Return the weight of each row, from 0 to `weight_max`; None without a declared weight.

    >>> from privsieve.public.columns import Flag
    >>> codes = np.array([[0], [32767], [65534], [65535]], np.uint16)
    >>> batch = Batch(codes, np.zeros(4, np.int32), *np.zeros((2, 4), np.uint64))
    >>> domain = Domain([Flag("ill")], weight="w", weight_max=10)
    >>> declared_weights(batch, domain).tolist()
    [0, 5, 10, 0]
    """
    if domain.weight is None:
        return None
    codes = batch.codes[:, -1].astype(np.int64)
    # [weight] the whole number next to the middle of the code; a missing weight is 0
    weight: Ints = ((2 * codes + 1) * domain.row_weight + MISSING) // (2 * MISSING)
    weight[codes == MISSING] = 0
    return weight


def by_person(rows: Passes, most: int, key: int) -> Iterator[tuple[Batch, Ints, Flags]]:
    """Batches, each with the `row_weights` of its rows; all rows of a person are there.

    Some persons after others are weighed, as many as find room at a time.

    >>> tags = np.array([9, 4, 9], np.uint64)
    >>> rows = Batch(np.zeros((3, 1), np.uint16), np.zeros(3, np.int32), tags, tags)
    >>> [weight.tolist() for _batch, weight, _first in by_person(Passes.of([rows]), 2, key=0)]
    [[1, 2, 1]]
    """
    held, room = list(rows.keep()), rows.room
    weights = [room.empty((len(batch),), np.int64) for batch in held]
    firsts = [room.empty((len(batch),), np.bool_) for batch in held]
    for places, unit in _shares(held, room):
        ends = np.cumsum([0, *map(len, places)])
        weight, first = row_weights(unit, most, key)
        for at, (there, own, own_first) in enumerate(zip(places, weights, firsts, strict=True)):
            own[there] = weight[ends[at]:ends[at + 1]]
            own_first[there] = first[ends[at]:ends[at + 1]]
    return zip(held, weights, firsts, strict=True)


def _shares(held: list[Batch], room: Room) -> Iterator[tuple[list[Ints], Units]]:
    """Persons in shares that find room: the places of their rows in each batch, and their tags."""
    rows = sum(map(len, held))
    many = -(-WEIGHING * rows // room.share(max(1, WEIGHING * rows), LEAST_WEIGHING))
    for share in range(many if rows else 0):
        places = [np.flatnonzero(kernels.mix64(batch.unit) % np.uint64(many) == share)
                  for batch in held]
        yield places, np.concatenate([batch.unit[at]
                                      for batch, at in zip(held, places, strict=True)])


def among_first(rows: Passes, most: int) -> Passes:
    """Return the rows of the `most` units of the smallest tags.

    >>> tags = np.array([9, 4, 9, 5], np.uint64)
    >>> rows = Batch(np.zeros((4, 1), np.uint16), np.zeros(4, np.int32), tags, tags)
    >>> [batch.unit.tolist() for batch in among_first(Passes.of([rows]), 2)]
    [[4, 5]]
    """
    tags = _tags(rows)
    if len(tags) <= most:
        return rows
    # [first] tags are fresh random numbers: no row decides who takes part
    kept = Passes((batch.take(np.flatnonzero(batch.unit <= tags[most - 1]))
                   for batch in rows.keep()), rows.room)
    kept.keep()
    return kept


def fix_persons(batches: Iterable[Batch], domain: Domain) -> Passes:
    """Return exactly the declared number of persons.

    Persons beyond it are left out by their tags; a default record replaces each one who is
    absent, as one does for a broken line where rows are protected.

    >>> from privsieve.public.columns import Flag, Label
    >>> from privsieve.public.domain import Domain
    >>> three = Domain([Flag("smoker")], target=Label("ill", [0, 1]), person="id", persons=3)
    >>> rows = np.arange(2, dtype=np.uint64)
    >>> came = Batch(np.ones((2, 1), np.uint16), np.ones(2, np.int32), rows + np.uint64(1), rows)
    >>> [batch.unit.tolist() for batch in fix_persons([came], three)]
    [[1, 2], [0]]
    """
    rows, many = Passes.of(batches), domain.public_units(None)
    tags = _tags(rows)
    if len(tags) < many:
        # [stand-ins] the first tags that nobody has
        free = np.setdiff1d(np.arange(many, dtype=np.uint64), tags)[:many - len(tags)]
        return Passes([*(batch for batch in rows.keep() if len(batch)), _stand_ins(free, domain)],
                      rows.room)
    # [surplus] the smallest tags stay
    return among_first(rows, many)


def _tags(rows: Passes) -> Units:
    """Return the tags of all persons, in order."""
    shares = _shares(list(rows.keep()), rows.room)
    return np.sort(np.concatenate([np.zeros(0, np.uint64), *(np.unique(unit)
                                                            for _places, unit in shares)]))


def _stand_ins(unit: npt.NDArray[np.uint64], domain: Domain) -> Batch:
    """Return one default record for each of these tags, at positions that no row has."""
    blank = [None] * len(unit)
    codes = np.array([encoder(column)(blank) for column in domain.columns], np.uint16)
    label = np.zeros(len(unit)) if domain.target is None else encoder(domain.target)(blank)
    return Batch(codes.T, label.astype(np.int32), unit, unit + np.uint64(2**63))


def summed(batches: Iterable[Batch], key: int, *, domain: Domain, zero: S,
           of: Callable[[Batch, Ints | None], S], most: int | None = None) -> S:
    """Sum `of` over the batches; at most `most` units take part.

    Rows are counted as they come.  Persons are weighed when all of their rows are there.

    >>> from privsieve.public.domain import Domain
    >>> domain = Domain.box(0, 1, columns=1)
    >>> summed([], 7, domain=domain, zero=0, of=lambda batch, _weight: len(batch))
    0
    """
    total = zero
    if domain.person is None:
        for batch in batches:
            # [rows] those beyond the public number, by position: the reader gives no such row
            inside = batch.row < (most or 2**63)
            total += of(batch if inside.all() else batch.take(np.flatnonzero(inside)), None)
        return total
    rows = Passes.of(batches)
    if most is not None:
        rows = among_first(rows, most)
    for batch, weight, _first in by_person(rows, domain.rows_per_person, key):
        kept = np.flatnonzero(weight)
        total += of(batch.take(kept), weight[kept])
    return total
