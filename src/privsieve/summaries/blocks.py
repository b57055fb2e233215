"""Block votes: local learning in which one unit moves at most two votes of each partition.

A keyed hash of its unit puts every row into a part; inside a part, `repeats` keyed orders cut the
units into blocks.  Each block looks for nearest hits and misses among its own rows and has one vote
for each column.  Nothing that a row holds decides where it goes.  A part votes when it is complete;
votes of parts add up.  See blocks.proof.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from privsieve import kernels
from privsieve.kernels import blocks as voting
from privsieve.kernels.blocks import Blocks, Rows
from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch, Passes
from privsieve.rows.room import Room
from privsieve.summaries import Summary

Ints: TypeAlias = npt.NDArray[np.int64]
Units: TypeAlias = npt.NDArray[np.uint64]

#: Rows of a person beyond these (in the order of the source) have no part in a block's vote:
#: the work of a block grows with the square of its rows.
MOST_ROWS = 256
#: Codes are held in pieces of up to 32 megabytes, for which the system gives large pages.
PIECE_CODES = 2**24
#: The place of the hash that puts units into parts; orders have the places from 0.
PARTS = 2**23
#: 65535 is the whole of the grid: the distance of two levels, and of missing from any value.
WHOLE = 65535


class Scheme(NamedTuple):
    """How votes are cast: public, decided before a row is read.

    block : units of a block.
    repeats : how many times the units are cut into blocks.
    parts : how many parts the table has, at most 65536.
    blocks : blocks of a part, each unit thrown into one of them; None: the units of a part are
        ranked and cut, which takes a public number of units.
    tau : the largest vote; 0 takes signs, which are at most 1.
    """

    block: int
    repeats: int
    parts: int
    blocks: int | None
    tau: int


class Group(NamedTuple):
    """Some units with all their rows; units rise, and rows of one lie together."""

    rows: Rows
    unit: Units

    def __repr__(self) -> str:
        return object.__repr__(self)  # its fields are private

    @classmethod
    def of(cls, codes: npt.NDArray[np.uint16], label: npt.NDArray[np.int32],
           ids: tuple[Units, Units]) -> Group:
        """Bring rows into the order (unit, row)."""
        unit, row = ids
        if not (unit[1:] > unit[:-1]).all():
            order = np.lexsort((row, unit))
            order = order[_nth(unit[order]) < MOST_ROWS]
            codes, label, unit = codes[order], label[order], unit[order]
        begins = np.flatnonzero(np.r_[True, unit[1:] != unit[:-1]][:len(unit)])
        starts = np.append(begins, len(unit)).astype(np.int64)
        return cls(Rows(codes, label, starts), unit[begins])


@dataclass(frozen=True, eq=False, repr=False)
class Dealt:
    """The rows of a batch, those of one part together: held until all parts are complete."""

    codes: npt.NDArray[np.uint16]  # a row of it is a row of the table
    label: npt.NDArray[np.int32]
    ids: tuple[Units, Units]
    starts: Ints

    @classmethod
    def all(cls, batches: Iterable[Batch], key: int, parts: int) -> list[Dealt]:
        """Deal batches into parts; each code is held once, in pieces that grow with the table."""
        passes = Passes.of(batches)
        dealt, held, piece = [], 0, np.empty((0, 0), np.uint16)
        for batch in passes:
            many, columns = batch.codes.shape
            if not many:
                continue
            if many > len(piece):
                rows = max(many, min(held, PIECE_CODES // columns))
                piece = passes.room.empty((rows, columns), np.uint16)
            dealt.append(cls.of(batch, key, parts, piece[:many]).lying(passes.room))
            held, piece = held + many, piece[many:]
        return dealt

    def lying(self, room: Room) -> Dealt:
        """Return the same, with labels and units if there is place for them."""
        unit, row = self.ids
        kept = room.held(unit)
        return replace(self, label=room.held(self.label),
                       ids=(kept, kept if row is unit else room.held(row)))

    @classmethod
    def of(cls, batch: Batch, key: int, parts: int, room: npt.NDArray[np.uint16]) -> Dealt:
        """Deal a batch into parts; its codes are written into `room`."""
        share = part_of(batch.unit, key, parts).astype(np.uint16)  # there are few: sorting is fast
        order = np.argsort(share, kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        ids = batch.unit[order]
        # Where the unit is the row, one array serves.
        same = batch.unit is batch.row or np.array_equal(batch.unit, batch.row)
        codes = voting.deal(np.ascontiguousarray(batch.codes.T), place, room)
        return cls(codes, batch.label[order], (ids, ids if same else batch.row[order]),
                   np.searchsorted(share[order], np.arange(parts + 1)))

    @staticmethod
    def share(dealt: Sequence[Dealt], share: int, columns: int) -> Group:
        """Return all units of one part."""
        cut = [(pile, slice(pile.starts[share], pile.starts[share + 1])) for pile in dealt]
        codes = [np.empty((0, columns), np.uint16), *(pile.codes[rows] for pile, rows in cut)]
        label = [np.empty(0, np.int32), *(pile.label[rows] for pile, rows in cut)]
        unit, row = (np.concatenate([np.empty(0, np.uint64), *(pile.ids[i][rows]
                                                              for pile, rows in cut)])
                     for i in (0, 1))
        return Group.of(np.concatenate(codes), np.concatenate(label), (unit, row))


@dataclass(frozen=True, eq=False, repr=False)
class BlockVotes(Summary):
    """The summary: for each column, the sum of all votes."""

    votes: Ints

    @classmethod
    def zero(cls, columns: int) -> BlockVotes:
        """Return a sum of no votes."""
        return cls(np.zeros(columns, np.int64))

    @classmethod
    def of(cls, group: Group, key: int, scheme: Scheme, domain: Domain) -> BlockVotes:
        """Return the votes of a complete part."""
        return cls(voting.block_votes(group.rows, blocks_of(group.unit, key, scheme),
                                      kinds(domain), scheme.tau))

    @classmethod
    def against(cls, reference: Rows, rows: Rows, tau: int, domain: Domain) -> BlockVotes:
        """Return the votes of some units, each on its own, against public rows."""
        return cls(voting.reference_votes(rows, reference, kinds(domain), tau))


def block_votes(batches: Iterable[Batch], key: int, *, domain: Domain, scheme: Scheme,
                ) -> BlockVotes:
    """Summarise batches for BlockFWELL: each part votes after all rows are read."""
    votes = BlockVotes.zero(len(domain.columns))
    for group in parts_of(batches, key, domain, scheme.parts):
        votes += BlockVotes.of(group, key, scheme, domain)
    return votes


def reference_votes(batches: Iterable[Batch], key: int, *, domain: Domain, scheme: Scheme,
                    reference: Rows) -> BlockVotes:
    """Let each unit vote on its own, against public rows; only persons are held."""
    votes = BlockVotes.zero(len(domain.columns))
    for group in units_of(batches, key, domain, scheme.parts):
        votes += BlockVotes.against(reference, group.rows, scheme.tau, domain)
    return votes


def parts_of(batches: Iterable[Batch], key: int, domain: Domain, parts: int) -> Iterator[Group]:
    """Yield the units of each part, after all rows are read."""
    dealt = Dealt.all(batches, key, parts)
    for share in range(parts):
        yield Dealt.share(dealt, share, len(domain.columns))


def units_of(batches: Iterable[Batch], key: int, domain: Domain, parts: int) -> Iterator[Group]:
    """Yield whole units: each row at once, or persons after all rows are read."""
    if domain.person is not None:
        yield from parts_of(batches, key, domain, parts)
        return
    for batch in batches:
        own = np.arange(len(batch) + 1)
        yield Group(Rows(np.ascontiguousarray(batch.codes), batch.label, own), batch.unit)


# [placement]
def part_of(unit: Units, key: int, parts: int) -> Ints:
    """Return the part of each unit, by the unit and the key alone.

    >>> set(part_of(np.arange(99, dtype=np.uint64), 5, 3).tolist())
    {0, 1, 2}
    """
    return scaled(kernels.tie_keys(np.ascontiguousarray(unit), PARTS, key), parts)


def blocks_of(unit: Units, key: int, scheme: Scheme) -> Blocks:
    """Return the blocks of a part with these units, for all repeats.

    >>> four = Scheme(block=4, repeats=2, parts=1, blocks=None, tau=0)
    >>> layout = blocks_of(np.arange(9, dtype=np.uint64), 5, four)
    >>> layout.starts.tolist(), len(set(layout.order[:8].tolist()))
    ([0, 4, 8, 12, 16], 8)
    """
    cuts = [cut(unit, key, scheme, repeat) for repeat in range(scheme.repeats)]
    orders, sizes = zip((np.empty(0, np.int64), np.zeros(1, np.int64)), *cuts, strict=True)
    return Blocks(np.concatenate(orders), np.cumsum(np.concatenate(sizes)))


def cut(unit: Units, key: int, scheme: Scheme, repeat: int) -> tuple[Ints, Ints]:
    """Return the units of the blocks of one repeat in order, and the blocks' sizes.

    >>> two = Scheme(block=2, repeats=1, parts=1, blocks=None, tau=0)
    >>> [len(block) for block in cut(np.arange(5, dtype=np.uint64), 5, two, 0)]
    [4, 2]
    """
    # Keys of different units are different: they are a bijection of the unit.
    drawn = kernels.tie_keys(unit, repeat, key)
    order = np.argsort(drawn)
    if scheme.blocks is None:
        # [cut] a rank depends on the public positions of units, or on their fresh tags
        many = len(unit) // scheme.block
        return order[:many * scheme.block], np.full(many, scheme.block)
    # [coins] a unit's block is its own affair; the keys in a block are its tags
    mine = scaled(drawn[order], scheme.blocks)
    counts = np.bincount(mine, minlength=scheme.blocks)
    return order[_nth(mine) < scheme.block], np.minimum(counts, scheme.block)
# [/placement]


def kinds(domain: Domain) -> npt.NDArray[np.uint16] | None:
    """Return how codes of each column differ, for the kernels; None if all are numbers.

    >>> from privsieve.public.columns import Flag, Number
    >>> from privsieve.public.domain import Domain
    >>> kinds(Domain([Number("age", 0, 9), Flag("smoker")])).tolist()
    [[0, 65535], [0, 0]]
    """
    level = [WHOLE * (column.levels is not None) for column in domain.columns]
    top = [WHOLE * column.missing_level for column in domain.columns]
    masks = np.array([level, top], np.uint16)
    return masks if masks.any() else None


def scaled(drawn: Units, many: int) -> Ints:
    """Uniform 64 bits as a number below `many`; it never falls where they rise.

    >>> scaled(np.array([0, 2**63, 2**64 - 1], np.uint64), 10).tolist()
    [0, 5, 9]
    """
    return ((drawn >> np.uint64(32)) * np.uint64(many) >> np.uint64(32)).astype(np.int64)


def _nth(sorted_values: npt.NDArray[np.integer]) -> Ints:
    """Count the equal entries before each entry."""
    here = np.arange(len(sorted_values))
    begins = np.r_[True, sorted_values[1:] != sorted_values[:-1]][:len(here)]
    return here - np.maximum.accumulate(np.where(begins, here, 0))
