"""Placed: records of ranks by sums of a fixed size, in an order that each site keeps to itself.

Rows that share a code stand in the order of keys of their site's own: distinct, uniform, and others
for each column.  A round counts the next bits of the keys of those that share the code of a rank
and the bits so far; after the last round one key is left.  Who sees these counts sees how many rows
share the code, which the codes told before, thrown into bins by chance: the keys of `tie_keys`, of
which everybody knows whose they are, would tell which rows they are.

`passes.Ranks` finds records in fewer words and passes, but not by sums of a fixed size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from privsieve import kernels
from privsieve.frozen import dataclass
from privsieve.kernels.rules import tie_keys
from privsieve.rows.batch import Part
from privsieve.summaries.ranks import Record, bucket
from privsieve.summaries.rules import ORDERED_WITH_MISSING, Cuts, Ints, Keys, Layout, Runs, Signs

#: Bits of a key that a round counts: as many counts as a column has codes.
BITS = 16
#: Of so many rows keys of 48 bits are distinct soon enough; of more they have 64.
FEW = 2**18
#: A column, and a 0-based rank among its rows, or -1 where it has none.
Asked = tuple[int, int]


class Own(Protocol):
    """Keys of a site's own."""

    def keys(self, rows: Keys, column: int) -> Keys:
        """Those of the rows at these positions."""


#: A site's own keys; or the number for ties, where all rows are in one place.
Ties = Own | int


@dataclass(frozen=True, eq=False, repr=False)
class Order:
    """How long the keys of so many rows are.

    >>> [(Order(n).rounds, Order(n).bits) for n in (300, 10**6)]
    [(3, 48), (4, 64)]
    """

    rows: int

    @property
    def rounds(self) -> int:
        """How many rounds of counts leave one key."""
        return 3 if self.rows <= FEW else 4

    @property
    def bits(self) -> int:
        """The length of a key."""
        return BITS * self.rounds

    def keys(self, part: Part, column: int, ties: Ties) -> Keys:
        """The keys of the rows of a part in this column."""
        if isinstance(ties, int):
            return tie_keys(part.ids[0], column, ties) >> np.uint64(64 - self.bits)
        return ties.keys(part.ids[1], column)


@dataclass(frozen=True, eq=False, repr=False)
class Placed:
    """Where ranks lie, as far as it is known: a place for each, whether or not a row is there.

    places : a column and a code each.
    left : the ranks inside of those places.
    begun : the bits of the keys that are known, so many.
    """

    order: Order
    places: Ints
    left: tuple[int, ...]
    begun: Keys
    known: int = 0

    # [placed]
    @classmethod
    def of(cls, runs: Runs, asked: Sequence[Asked], order: Order) -> Placed:
        """The codes that hold these ranks; code 0 where there is no such rank."""
        indptr, code, count = runs.table
        places, left = np.zeros((len(asked), 2), np.int64), []
        for place, (column, rank) in zip(places, asked, strict=True):
            here = slice(indptr[column], indptr[column + 1])
            counts, held, inside = count[here].sum(axis=1, dtype=np.int64), 0, 0
            if 0 <= rank < counts.sum():
                at, inside = bucket(counts, rank)
                held = int(code[here][at])
            place[:] = column, held
            left.append(inside)
        return cls(order, places, tuple(left), np.zeros(len(asked), np.uint64))

    def counts(self, part: Part, ties: Ties) -> Ints:
        """How the keys go on of the rows at each place."""
        found = np.zeros((len(self.places), 1 << BITS), np.int64)
        shift = np.uint64(self.order.bits - self.known - BITS)
        for column, here in self._columns() if part.ids.size else ():
            keys = self.order.keys(part, column, ties) >> shift
            for at in here:
                mine = keys[part.codes[column] == self.places[at, 1]]
                inside = mine[mine >> np.uint64(BITS) == self.begun[at]]
                next_bits = (inside & np.uint64((1 << BITS) - 1)).astype(np.int64)
                found[at] = np.bincount(next_bits, minlength=1 << BITS)
        return found

    def among(self, counts: Ints) -> Placed:
        """The same, with the next bits of the keys that hold the ranks."""
        begun, left = self.begun << np.uint64(BITS), []
        for at, (mine, rank) in enumerate(zip(counts, self.left, strict=True)):
            bits, inside = bucket(mine, rank) if rank < mine.sum() else (0, 0)
            begun[at] |= np.uint64(bits)
            left.append(inside)
        return Placed(self.order, self.places, tuple(left), begun, self.known + BITS)

    @property
    def records(self) -> list[Record]:
        """The records, when all bits are known: what stands in place of a row is the key."""
        return [Record(code, 0, key) for code, key in
                zip(self.places[:, 1].tolist(), self.begun.tolist(), strict=True)]
    # [/placed]

    def _columns(self) -> list[tuple[int, Ints]]:
        """Each column, whose keys are asked for once, and its places."""
        column = self.places[:, 0]
        return [(one, np.flatnonzero(column == one)) for one in dict.fromkeys(column.tolist())]


# [own-signs]
def signs(part: Part, cuts: Cuts, ties: Ties, layout: Layout, order: Order) -> Signs:
    """Split the columns that have ranks at records that `Placed` found."""
    words = kernels.plane_words(part.starts)
    planes, masks = (np.zeros((len(layout.ordered), int(words[-1])), np.uint64) for _ in range(2))
    zeros = np.full(len(layout.ordered), -1, np.int64)
    for at, j in enumerate(layout.ordered.tolist()):
        # A column with missing codes beside it, so that there are masks; it has no rows.
        codes = np.stack([part.codes[j], np.zeros_like(part.codes[j])])
        kind = np.array([layout.kind[j], ORDERED_WITH_MISSING], np.uint8)
        # Of one unit all tie keys are the same, and rows are compared by what stands as the row.
        ids = np.stack([np.zeros_like(part.ids[1]), order.keys(part, j, ties)])
        same = tie_keys(np.zeros(2, np.uint64), 0, 0)
        cut = (np.array([cuts[0][j], 0], np.uint16), same, np.array([cuts[2][j], 0], np.uint64),
               np.array([cuts[3][j], 0], np.int64))
        plane, mask, zero = kernels.sign_planes(codes, part.starts, ids, 0, cut, kind)
        assert mask is not None
        planes[at], masks[at], zeros[at] = plane[0], mask[0], zero[0]
    some = bool((layout.kind == ORDERED_WITH_MISSING).any())
    return Signs(planes, masks if some else None, zeros, words, part.rows)


def standing(codes: npt.NDArray[np.int32], keys: Keys, records: Sequence[Record],
             ) -> npt.NDArray[np.int32]:
    """For each row, how many of these records it stands at or above."""
    found = np.zeros_like(codes)
    for code, _tie, key in records:
        found += (codes > code) | ((codes == code) & (keys >= np.uint64(key)))
    return found
# [/own-signs]
