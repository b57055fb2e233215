"""Moves: the separate vectors by which blocks, or single units, would vote.

A block's vector is the sum of `|x - miss| - |x - hit|` over its rows, in whole numbers.  Blocks
are those of `blocks.py`; against public rows each unit has a vector of its own.  Every vector has a
place that no row decides.  As many of them as a public number says become rows of length up to 1:
the first by place, and zeros where there are fewer.  See moves.proof.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from privsieve import kernels
from privsieve.kernels import blocks as voting
from privsieve.kernels.blocks import Blocks, Rows
from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch
from privsieve.summaries import Summary
from privsieve.summaries.blocks import (
    Group,
    Ints,
    Scheme,
    Units,
    cut,
    kinds,
    parts_of,
    scaled,
    units_of,
)

Doubles: TypeAlias = npt.NDArray[np.float64]

#: The place of the hash that gives units their tags; parts and repeats have other places.
TAGS = 2**23 + 1
#: Rows are this much shorter than they may be, so that rounding makes none longer than 1.
BELOW = 1 - 2.0**-40
#: Whole numbers that are turned into rows at a time.
CELLS = 2**20


class Whole(NamedTuple):
    """Every repeat takes all units."""

    def take(self, tag: Units, repeat: int) -> Ints:
        """Return positions of the units that a repeat takes, by their tags."""
        del repeat
        return np.arange(len(tag))


class Windows(NamedTuple):
    """Each repeat takes the units of some sectors; the tag of a unit gives its sector.

    >>> halves = Windows(4, [[0, 1], [2, 3]])
    >>> halves.take(np.array([0, 2**63, 2**62], np.uint64), 0).tolist()
    [0, 2]
    """

    sectors: int
    lists: Sequence[Sequence[int]]

    def take(self, tag: Units, repeat: int) -> Ints:
        """Return positions of the units that a repeat takes, by their tags."""
        inside = np.zeros(self.sectors, bool)
        inside[list(self.lists[repeat])] = True
        return np.flatnonzero(inside[scaled(tag, self.sectors)])


Sample: TypeAlias = Whole | Windows


@dataclass(frozen=True, eq=False, repr=False)
class Moves(Summary):
    """The summary: vectors of whole numbers, and the place of each."""

    place: Units
    vectors: npt.NDArray[np.int32]

    @classmethod
    def zero(cls, columns: int) -> Moves:
        """Return a sum of no vectors."""
        return cls(np.empty(0, np.uint64), np.empty((0, columns), np.int32))

    @classmethod
    def of(cls, group: Group, at: tuple[int, int], scheme: Scheme, domain: Domain,
           sample: Sample) -> Moves:
        """Return the vectors of a complete part; `at` is the key and the part's number."""
        key, share = at
        tag = tags(group.unit, key)
        pieces = [cls.zero(len(domain.columns))]
        for repeat in range(scheme.repeats):
            taken = sample.take(tag, repeat)
            order, sizes = cut(group.unit[taken], key, scheme, repeat)
            blocks = Blocks(taken[order], np.append(0, np.cumsum(sizes)))
            vectors = voting.block_moves(group.rows, blocks, kinds(domain))
            # [block-place] by repeat, part, and number in the part
            place = np.arange(len(vectors), dtype=np.uint64)
            pieces.append(cls(place + np.uint64(repeat << 48 | share << 32), vectors))
        return cls.total(pieces)

    @classmethod
    def against(cls, reference: Rows, rows: Rows, unit: Units, key: int, domain: Domain) -> Moves:
        """Return the vectors of some units, each on its own, against public rows."""
        # [unit-place]
        return cls(tags(unit, key), voting.reference_moves(rows, reference, kinds(domain)))

    def __add__(self, other: Moves) -> Moves:
        return self.total([self, other])

    @classmethod
    def total(cls, pieces: Sequence[Moves]) -> Moves:
        """Return the sum of several: all of their vectors."""
        return cls(np.concatenate([moved.place for moved in pieces]),
                   np.concatenate([moved.vectors for moved in pieces]))

    def of_repeat(self, repeat: int) -> Ints:
        """Return the places of a repeat's vectors, in the order of its blocks."""
        return self._in_order(np.flatnonzero(self.place >> np.uint64(48) == repeat))

    def of_sample(self, sample: Sample, repeat: int) -> Ints:
        """Return the places of the vectors of a repeat's units, in the order of their tags."""
        return self._in_order(sample.take(self.place, repeat))

    def rows(self, where: Ints, many: int, most: int, length: float) -> Doubles:
        """Return `many` rows of length up to 1: vectors that are cut at `length`, and zeros.

        most : how far a number of a vector counts
        length : the length of vectors that becomes that of 1

        >>> some = Moves(np.arange(2, dtype=np.uint64), np.array([[3, 4], [30, -90]], np.int32))
        >>> some.rows(some.of_repeat(0), 3, 40, 50.0).round(9).tolist()
        [[0.06, 0.08], [0.6, -0.8], [0.0, 0.0]]
        """
        # [first]
        where = where[:many]
        columns = self.vectors.shape[1]
        drawn = np.zeros((many, columns))
        step = max(1, CELLS // max(1, columns))
        for at in range(0, len(where), step):
            some = where[at:at + step]
            drawn[at:at + step][:len(some)] = _shortened(self.vectors[some], most, length)
        return drawn

    def _in_order(self, where: Ints) -> Ints:
        return where[np.argsort(self.place[where], kind="stable")]


def block_moves(batches: Iterable[Batch], key: int, *, domain: Domain, scheme: Scheme,
                sample: Sample) -> Moves:
    """Return the vectors of the blocks of some batches, for each repeat of the scheme."""
    groups = enumerate(parts_of(batches, key, domain, scheme.parts))
    return Moves.total([Moves.zero(len(domain.columns)), *(
        Moves.of(group, (key, share), scheme, domain, sample) for share, group in groups)])


def reference_moves(batches: Iterable[Batch], key: int, *, domain: Domain, scheme: Scheme,
                    reference: Rows) -> Moves:
    """Return the vector of each unit, against public rows."""
    return Moves.total([Moves.zero(len(domain.columns)), *(
        Moves.against(reference, group.rows, group.unit, key, domain)
        for group in units_of(batches, key, domain, scheme.parts))])


def tags(unit: Units, key: int) -> Units:
    """Return a fresh number for each unit, by the unit and the key alone.

    >>> len(set(tags(np.arange(9, dtype=np.uint64), 5).tolist()))
    9
    """
    return kernels.tie_keys(np.ascontiguousarray(unit), TAGS, key)


def _shortened(vectors: npt.NDArray[np.int32], most: int, length: float) -> Doubles:
    """Shorten rows to length 1 at most; each depends on its own numbers alone."""
    whole = np.clip(vectors, -most, most).astype(np.int64)
    # [exact-length] whole numbers: no order of summation makes another sum
    squares = np.einsum("ij,ij->i", whole, whole)
    far = np.maximum(np.sqrt(squares.astype(np.float64)), length)
    # [shortened] cell by cell
    shortened: Doubles = whole / far[:, None] * BELOW
    return shortened
