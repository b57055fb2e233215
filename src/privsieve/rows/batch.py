"""Batches: the body of a table as integers on the domain's public grid.

After the charge there is always an answer.  Each code is a function of its own cell and of the
domain.  Nothing here raises, warns or logs because of what a row holds; a fault of the machine has
the one constant text of `ReleaseFailed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privsieve.errors import ParameterError, ReleaseFailed, SchemaError
from privsieve.kernels import contract
from privsieve.public.domain import Domain
from privsieve.public.plan import Takes
from privsieve.rows import csv_file
from privsieve.rows.cells import Codes, Encode, encoder, texts
from privsieve.rows.room import Room
from privsieve.rows.source import TARGET, RawColumn, Source, foreign, guarded, needed

if TYPE_CHECKING:
    from privsieve.public.plan import Plan

Units = npt.NDArray[np.uint64]
#: Codes of the columns and the target, a row for each, and the persons.
Piece = tuple[Codes, RawColumn | None]

#: Cells of a batch: what is in memory at a time.
BATCH_CELLS = 2**21
LARGEST_BATCH = 2**16
#: The least rows of a batch of a wide table: each batch has a cost for each column.
LEAST_BATCH = 256
#: What a row takes beside its codes, with what its batch is rounded up to.
ROW_BYTES = 24
#: The same of a person's row, which is weighed; and of a person, whose id has a tag.
WEIGHED_BYTES, PERSON_BYTES = 33, 256
#: Bytes that any release takes, and each of several threads with its stack.
PROCESS, THREAD = 10 * 10**6, 2**23 + 2**21
#: Batches that a thread takes at a time while they are read; bytes of a row of a column of a file
#: whose pages hold all rows of a group: as it is written, and read.
AHEAD, PAGE_ROW = 4, 16
#: Bytes of a page as programs write them, with what it is read from; and of a cell that is a text.
PAGE, TEXT_BYTES = 2**21, 64


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """Rows as integers.

    codes : uint16, rows x columns (column-major: a column is contiguous)
        a number is 0..65535 between low and high; a category or flag is its level.
    label : int32
        the class, or the code of a numeric target.
    unit : uint64
        what is protected: the row's position, or a fresh random number for each row (add-remove)
        or person.
    row : uint64
        the position in the source.
    """

    codes: npt.NDArray[np.uint16]
    label: npt.NDArray[np.int32]
    unit: npt.NDArray[np.uint64]
    row: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.label)

    def __add__(self, other: Batch) -> Batch:
        return Batch.concat([self, other])

    @classmethod
    def empty(cls, columns: int) -> Batch:
        """Return a batch without rows."""
        return cls(np.empty((columns, 0), np.uint16).T, np.empty(0, np.int32),
                   np.empty(0, np.uint64), np.empty(0, np.uint64))

    @classmethod
    def concat(cls, batches: list[Batch]) -> Batch:
        """Join batches, one after another."""
        if len(batches) == 1:
            return batches[0]
        row = np.concatenate([b.row for b in batches])
        return Batch(
            np.concatenate([b.codes.T for b in batches], axis=1).T,
            np.concatenate([b.label for b in batches]),
            row if all(b.unit is b.row for b in batches) else np.concatenate(
                [b.unit for b in batches]),
            row,
        )

    def rows(self, begin: int, end: int) -> Batch:
        """Return the rows at these places, not copied."""
        return Batch(self.codes[begin:end], self.label[begin:end], self.unit[begin:end],
                     self.row[begin:end])

    def take(self, index: npt.NDArray[np.intp]) -> Batch:
        """These rows, in this order."""
        row = self.row[index]
        return Batch(np.take(self.codes.T, index, axis=1).T, self.label[index],
                     row if self.unit is self.row else self.unit[index], row)


class Passes:
    """The body of a table; kept, it is read in as many passes as a summary wants.

    Examples
    --------
    >>> rows = Passes(iter([Batch.empty(3)]), Room())
    >>> [len(batch) for batch in rows.keep()], [len(batch) for batch in rows]
    ([0], [0])
    """

    def __init__(self, read: Iterable[Batch], room: Room) -> None:
        self.room = room
        self._read, self._kept = read, isinstance(read, (list, _Changed))

    @classmethod
    def of(cls, batches: Iterable[Batch]) -> Passes:
        """Batches as rows; what is not rows already is held in memory, if it is kept."""
        return batches if isinstance(batches, Passes) else cls(batches, Room())

    def __iter__(self) -> Iterator[Batch]:
        return iter(self._read)

    def keep(self, part_rows: int = 1, ready: Callable[[Batch], Batch] | None = None,
             ) -> Iterable[Batch]:
        """Keep all batches to read them again: in memory while they fit, then in a file.

        part_rows : the rows of a joined batch; fewer where memory is short.
        ready : what becomes of a part before it is kept.
        """
        if self._kept:
            return self._read if ready is None else _Changed(self._read, ready)
        def stored(together: list[Batch]) -> Batch:
            joined_batch = Batch.concat(together)
            together.clear()
            return self._stored(joined_batch if ready is None else ready(joined_batch))

        kept = list(self.room.each(self._together(part_rows), stored))
        self._read, self._kept = kept, True
        return kept

    def _together(self, part_rows: int) -> Iterator[list[Batch]]:
        first = next(read := iter(self._read), None)
        if first is None:
            return iter(())
        return together(chain([first], read), self.part_rows(part_rows, first.codes.shape[1]))

    def part_rows(self, wanted: int, columns: int) -> int:
        """Return the rows of a part: the wanted number, or fewer if memory is short.

        What is made of a part is in memory beside it, and each thread has one.
        """
        each = 2 * columns + ROW_BYTES
        return self.room.share(wanted * each, each) // each

    def mapped(self, change: Callable[[Batch], Batch]) -> Passes:
        """Return the same rows, changed as they are read, in the same room.

        Those that are kept are not kept twice: they are changed in each pass.
        """
        return Passes(_Changed(self._read, change) if self._kept else map(change, self._read),
                      self.room)

    def _stored(self, batch: Batch) -> Batch:
        same = batch.unit is batch.row
        arrays: list[npt.NDArray[Any]] = [batch.codes.T, batch.label, batch.unit]
        held = [self.room.held(array) for array in (arrays if same else [*arrays, batch.row])]
        return Batch(held[0].T, held[1], held[2], held[-1])


@dataclass(frozen=True, eq=False, repr=False)
class _Changed:
    """Batches that are kept, each changed whenever it is read."""

    kept: Iterable[Batch]
    change: Callable[[Batch], Batch]

    def __iter__(self) -> Iterator[Batch]:
        return map(self.change, self.kept)


def joined(batches: Iterable[Batch], part_rows: int) -> Iterator[Batch]:
    """Join small batches into parts of at least this many rows."""
    return map(Batch.concat, together(batches, part_rows))


def together(batches: Iterable[Batch], part_rows: int) -> Iterator[list[Batch]]:
    """Join batches to parts of at least this number of rows."""
    held: list[Batch] = []
    for batch in batches:
        held.append(batch)
        if sum(map(len, held)) >= part_rows:
            yield held
            held = []
    if held:
        yield held


def batches(source: Source, domain: Domain, *, rows: int | None,
            entropy: Callable[[int], bytes], batch_rows: int | None = None,
            room: Room | None = None) -> Iterator[Batch]:
    """Read a table as integers.

    Parameters
    ----------
    source, domain
        as `resolve` left them.
    rows : int or None
        the public number of records: exactly this number comes out (missing records are
        default records, surplus ones are not read).  None: as they come.
    entropy : (number of bytes) -> bytes
        where the tags of persons, and of rows under add-remove, come from.
    batch_rows : int, optional
        the most rows of a batch; any number gives the same codes.
    room : optional
        the number of threads that read; default: one.

    Examples
    --------
    >>> import os
    >>> from privsieve.public.domain import Domain
    >>> from privsieve.rows import open_source
    >>> domain = Domain.box(0.0, 1.0, columns=1)
    >>> source = open_source([[0.5], ["?"]], y=[1, 0])
    >>> [batch.codes.tolist() for batch in batches(source, domain, rows=3, entropy=os.urandom)]
    [[[32768], [32768]], [[32768]]]
    """
    size = batch_rows or min(LARGEST_BATCH, max(LEAST_BATCH, BATCH_CELLS // len(domain.columns)))
    encode = _Encoder(domain, entropy)
    at = 0
    for codes, person in guarded(_pieces(source, encode, size, room or Room()), ReleaseFailed):
        count = codes.shape[1]
        left = count if rows is None else min(count, rows - at)
        if not count:
            continue  # a container may have pieces without rows in its midst
        if left <= 0:
            break
        yield encode.batch(codes[:, :left], None if person is None else person[:left], at)
        at += left
    while rows is not None and at < rows:
        count = min(size, rows - at)
        yield encode.batch(*encode.piece([[None] * count] * encode.width), at)
        at += count


def coded(pieces: Iterable[tuple[Sequence[RawColumn], Units]], domain: Domain,
          entropy: Callable[[int], bytes]) -> Iterator[Batch]:
    """Encode rows of a table, with their places, as integers; the unit is a row.

    >>> import os
    >>> rows = np.array([7, 3], np.uint64)
    >>> box = Domain.box(0, 1, columns=1)
    >>> [batch] = coded([([[0.5, 1.0], [1, 0]], rows)], box, os.urandom)
    >>> batch.codes.tolist(), batch.unit.tolist()
    ([[32768], [65535]], [7, 3])
    """
    encode = _Encoder(domain, entropy)
    for raw, row in pieces:
        batch = encode.batch(encode.piece(raw)[0], None, 0)
        yield Batch(batch.codes, batch.label, row if domain.replaces else batch.unit, row)


def demand_readable(source: Source, domain: Domain) -> None:
    """Refuse a column whose type cannot be read, by an empty batch: no row is looked at."""
    if source.empty is None:
        return
    names = needed(domain, source)
    parts = dict(zip(names, [*domain.columns, domain.target], strict=False))
    inside = [name for name in names if name != TARGET]
    place = dict(zip(source.positions(inside), inside, strict=True))
    for j, piece in source.empty(list(place)).items():
        cells = foreign(piece, SchemaError(
            f"column {place[j]!r} has a type that this system cannot read (an unknown time zone "
            "or memory layout); give it as text, or give the path of the file"))
        column = parts.get(place[j])
        if column is not None:
            encoder(column, domain.csv.signs, domain.csv.missing)(cells)


def demand_room(plan: Plan, source: Source, room: Room | None) -> Room:
    """Reserve the room for the rows of a plan: memory first, then disk."""
    room = room or Room.usual()
    if size := spilled(plan, source, room):
        room.reserve(size)
    return room


def spilled(plan: Plan, source: Source, room: Room) -> int:
    """Return the bytes of rows that need a file, or 0; refuse a release that needs more memory.

    How many rows come is public, or bounded by the container: no row is looked at.  The room is
    told what is left for rows, so that the path that runs is the one that was asked for.
    """
    if room.memory is None:
        return 0
    takes = plan.takes or Takes(0.0)
    ways = [(whole, jobs, need) for jobs in range(1, room.jobs + 1)
            for need, whole in _needs(plan, source, takes, jobs)]
    fitting = [way for way in ways if way[2] <= room.memory]
    if not fitting:
        least = min(need for _whole, _jobs, need in ways)
        raise ParameterError(
            f"this release needs {-(-least // 10**6)} MB of memory, even with temporary files, but "
            f"{room.memory // 10**6} MB may be used; allow more (max_memory), or use fewer "
            "columns, classes or repeats, larger blocks, or simpler rules (depth=1, joint=none, a "
            "smaller max_ops)")
    whole, room.jobs, need = max(fitting)
    room.spend(need, whole=whole)
    at_once = whole and getattr(plan.summarise, "whole", None) is not None
    if not plan.holds or at_once:
        return 0
    # Of persons twice: where more come than were declared, some are kept for themselves.
    persons = plan.domain.person is not None
    each = 2 * len(plan.coding.columns) + (WEIGHED_BYTES if persons else ROW_BYTES)
    size = (1 + persons) * each * _most_rows(plan, source)
    return 0 if room.keeps(size) else size


def _needs(plan: Plan, source: Source, takes: Takes, jobs: int) -> Iterator[tuple[int, bool]]:
    """Yield the bytes that each path takes, and whether it holds all rows at once.

    While all rows are read that will be in memory at once, half of what they take is there.
    """
    fixed = PROCESS + (jobs > 1) * jobs * THREAD
    if plan.domain.person is not None:
        fixed += PERSON_BYTES * plan.domain.public_units(None) + 2**25
    read = reading(plan, source, jobs)
    if takes.whole:
        yield fixed + max(takes.whole, read + takes.whole // 2), True
    if takes.stages:
        parts = takes.parts(jobs)
        # Where there are no stages, all rows are kept before anything is made of them.
        staged = hasattr(plan.summarise, "stages")
        yield fixed + (read + parts if staged else max(read, parts)), False


def reading(plan: Plan, source: Source, jobs: int) -> int:
    """Bytes of what is read, and of batches in the hands of threads, at most.

    A batch is there as cells, as codes, and as what is made of them; of a file in groups, the codes
    of one group and the pages of one column.
    """
    names = needed(plan.coding, source)
    inside = source.positions([name for name in names if name != TARGET])
    texts = sum(source.types[j] == "text" for j in inside if j < len(source.types))
    columns = len(names) + 1
    all_rows, each = _most_rows(plan, source), 2 * columns + ROW_BYTES
    rows = min(LARGEST_BATCH, max(LEAST_BATCH, BATCH_CELLS // len(plan.coding.columns)), all_rows)
    batch = rows * each
    if source.file is not None:
        batch, cells = min(batch, 2**21), 2**22
    elif source.group:
        cells = source.group * (2 * columns + PAGE_ROW)
        # Where texts are coded cell by cell, pages of all columns are there at a time.
        cells = max(cells, min(PAGE, PAGE_ROW * source.group) * columns) if texts else cells
    else:
        cells = 8 * rows * columns
    cells += texts * TEXT_BYTES * rows * (jobs + 1)
    return cells + min(batch * AHEAD * (jobs + (jobs > 1)), all_rows * each)


def _most_rows(plan: Plan, source: Source) -> int:
    """Return the largest number of rows; of a stream about twice what was declared."""
    if plan.domain.rows_are_public:
        return plan.units
    if source.file is not None:
        # A field takes a byte at least, with what ends it.
        return source.file.path.stat().st_size // len(plan.coding.columns)
    return 2 * plan.units if source.count is None else source.count()


def _pieces(source: Source, encode: _Encoder, size: int, room: Room) -> Iterator[Piece]:
    """Return the body as codes; which of three ways it goes is a public fact."""
    names = needed(encode.domain, source)
    if csv_file.serves(source):
        yield from csv_file.pieces(source, encode.domain, (names, size), room)
    elif source.arrow is not None and contract.extension is not None:
        from privsieve.rows import arrow

        yield from arrow.pieces(source, encode.domain, (names, size), room)
    else:
        yield from map(encode.piece, source.raw(names, size))


class _Encoder:
    """One function for each column of the domain, the target, and the unit."""

    def __init__(self, domain: Domain, entropy: Callable[[int], bytes]) -> None:
        self.domain = domain
        self.columns, self.person = len(domain.columns), domain.person is not None
        self.width = self.columns + bool(domain.target) + self.person
        self.unit = _units(domain, entropy)

    @cached_property
    def parts(self) -> list[Encode]:
        """For each part; only where they are needed: tens of thousands take their time."""
        parts = [*self.domain.columns, *([self.domain.target] if self.domain.target else [])]
        csv = self.domain.csv
        return [encoder(column, csv.signs, csv.missing) for column in parts]

    def piece(self, raw: Sequence[RawColumn]) -> Piece:
        """Encode the columns, the target and the person, in this order."""
        codes = np.empty((len(self.parts), len(raw[0])), dtype=np.uint16)
        for j, encode in enumerate(self.parts):
            codes[j] = encode(raw[j])
        return codes, raw[-1] if self.person else None

    def batch(self, codes: Codes, person: RawColumn | None, at: int) -> Batch:
        """Return a batch of rows from this position on; rows without a person are left out."""
        row = np.arange(at, at + codes.shape[1], dtype=np.uint64)
        who: list[str] = []
        if person is not None:
            gone = self.domain.csv.missing
            who = ["" if text in gone else text for text in texts(person)]
            # [nobody] a row without an id is no person's: it weighs nothing, in any method
            named = np.flatnonzero(np.array(who, object) != "")
            if len(named) < len(who):
                who = [text for text in who if text]
                codes, row = codes[:, named], row[named]
        n, d = codes.shape[1], self.columns
        label = codes[d] if d < len(codes) else np.zeros(n, dtype=np.int32)
        return Batch(np.ascontiguousarray(codes[:d]).T, label.astype(np.int32),
                     self.unit(who, row), row)


def _units(domain: Domain, entropy: Callable[[int], bytes],
           ) -> Callable[[list[str], npt.NDArray[np.uint64]], Units]:
    """Return the unit of rows at some positions: the position, or a fresh tag.

    A tag is drawn for each row, or for each person: the texts say whose a row is.
    """
    if domain.person is None and domain.neighbours == "replace-one":
        return lambda _who, row: row
    if domain.person is None:
        return lambda _who, row: np.frombuffer(entropy(8 * len(row)), "<u8").astype(np.uint64)
    known: dict[str, int] = {}
    taken: set[int] = set()

    def tag() -> int:
        # Persons are told apart for certain: a tag that is taken is drawn again.
        while (drawn := int.from_bytes(entropy(8), "little")) in taken:
            pass
        taken.add(drawn)
        return drawn

    def tagged(who: list[str], row: npt.NDArray[np.uint64]) -> Units:
        tags = np.empty(len(row), np.uint64)
        for at, text in enumerate(who):
            if text not in known:
                known[text] = tag()
            tags[at] = known[text]
        return tags

    return tagged


# --- rows by class --------------------------------------------------------------------------------

@dataclass(frozen=True, eq=False, repr=False)
class Part:
    """Rows sorted by class, columns contiguous: what the kernels take.

    unit, row : of each row, as in its batch.
    starts : where each class begins, and the end.
    weight : what each row counts for; None is 1.
    """

    codes: npt.NDArray[np.uint16]
    unit: npt.NDArray[np.uint64]
    row: npt.NDArray[np.uint64]
    starts: npt.NDArray[np.int64]
    weight: npt.NDArray[np.int64] | None = None

    @classmethod
    def of(cls, batch: Batch, classes: int, weight: npt.NDArray[np.int64] | None = None) -> Part:
        """Sort the rows of a batch by class, keeping their order otherwise."""
        if (batch.label[1:] >= batch.label[:-1]).all():
            return cls._sorted(batch, classes, weight)
        order = by_class(batch.label)
        starts = np.searchsorted(batch.label[order], np.arange(classes + 1))
        return cls(
            np.ascontiguousarray(np.take(batch.codes.T, order, axis=1)),
            batch.unit[order],
            batch.row[order],
            starts.astype(np.int64),
            None if weight is None else np.ascontiguousarray(weight[order]),
        )

    @classmethod
    def _sorted(cls, batch: Batch, classes: int, weight: npt.NDArray[np.int64] | None) -> Part:
        """Return rows that are sorted by class already."""
        starts = np.searchsorted(batch.label, np.arange(classes + 1))
        return cls(np.ascontiguousarray(batch.codes.T), batch.unit, batch.row,
                   starts.astype(np.int64), weight)

    @cached_property
    def ids(self) -> npt.NDArray[np.uint64]:
        """The unit and the row, 2 x n; only where something asks for them."""
        return np.stack([self.unit, self.row])

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """How many rows each class has."""
        return np.diff(self.starts)

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """The same, each row with its weight."""
        if self.weight is None:
            return self.rows
        return np.diff(np.concatenate([[0], np.cumsum(self.weight)])[self.starts])


def by_class(label: npt.NDArray[np.int32]) -> npt.NDArray[np.intp]:
    """Return the order of rows by their class, else as they came.

    >>> by_class(np.array([1, 0, 1, 0], np.int32)).tolist()
    [1, 3, 0, 2]
    """
    # Numbers of 16 bits are sorted by counting.
    return np.argsort(label.astype(np.uint16), kind="stable")


def in_classes(batch: Batch) -> Batch:
    """Sort the rows by class."""
    if (batch.label[1:] >= batch.label[:-1]).all():
        return batch
    return batch.take(by_class(batch.label))
