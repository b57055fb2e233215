"""The reader: the body of a table becomes integers.  After the charge there is always an answer.

Each code is a function of its own cell and of the domain.  Nothing here raises, warns or logs
because of what a row holds; a fault of the machine has the one constant text of `ReleaseFailed`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from privsieve.errors import ReleaseFailed
from privsieve.public.domain import Domain
from privsieve.rows import csv_codes
from privsieve.rows.batch import Batch
from privsieve.rows.columns import encoder, texts
from privsieve.rows.opening import needed
from privsieve.rows.source import TARGET

if TYPE_CHECKING:
    from privsieve.rows.columns import Codes, Encode
    from privsieve.rows.source import RawColumn, Source

    #: Codes of the columns and the target, a row for each, and the persons.
    Piece = tuple[Codes, RawColumn | None]

Units = npt.NDArray[np.uint64]

#: Cells of a batch: what is in memory at a time.
BATCH_CELLS = 2**21
LARGEST_BATCH = 2**16


def batches(source: Source, domain: Domain, *, rows: int | None,
            entropy: Callable[[int], bytes], batch_rows: int | None = None) -> Iterator[Batch]:
    """Read a table as integers.

    Parameters
    ----------
    source, domain
        as `resolve` left them.
    rows : int or None
        the public number of records: exactly so many come out (missing ones are default records,
        surplus ones are not read).  None: as they come.
    entropy : (number of bytes) -> bytes
        where the tags of persons, and of rows under add-remove, come from.
    batch_rows : int, optional
        at most so many rows in a batch; any number gives the same codes.

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
    size = batch_rows or max(1, min(LARGEST_BATCH, BATCH_CELLS // len(domain.columns)))
    encode = _Encoder.of(domain, entropy)
    at = 0
    for codes, person in _guarded(_pieces(source, domain, encode, size)):
        count = codes.shape[1]
        left = count if rows is None else min(count, rows - at)
        if left <= 0:
            break
        yield encode.batch(codes[:, :left], None if person is None else person[:left], at)
        at += left
    while rows is not None and at < rows:
        count = min(size, rows - at)
        yield encode.batch(*encode.piece([[None] * count] * encode.width), at)
        at += count


def _pieces(source: Source, domain: Domain, encode: _Encoder, size: int) -> Iterator[Piece]:
    """The body as codes; which of two ways it goes is a public fact."""
    names = names_read(source, domain)
    if csv_codes.serves(source):
        yield from csv_codes.pieces(source, domain, names, size)
    else:
        yield from map(encode.piece, source.raw(names, size))


@dataclass(frozen=True, eq=False, repr=False)
class _Encoder:
    """One function for each column of the domain, the target, and the unit."""

    parts: tuple[Encode, ...]
    columns: int
    unit: Callable[[list[str], npt.NDArray[np.uint64]], Units]
    person: bool

    @classmethod
    def of(cls, domain: Domain, entropy: Callable[[int], bytes]) -> _Encoder:
        parts = [*domain.columns, *([domain.target] if domain.target else [])]
        return cls(tuple(encoder(part, domain.csv.decimal) for part in parts),
                   len(domain.columns), _units(domain, entropy), domain.person is not None)

    @property
    def width(self) -> int:
        """How many raw columns are read."""
        return len(self.parts) + self.person

    def piece(self, raw: Sequence[RawColumn]) -> Piece:
        """Encode the columns, the target and the person, in this order."""
        codes = np.empty((len(self.parts), len(raw[0])), dtype=np.uint16)
        for j, encode in enumerate(self.parts):
            codes[j] = encode(raw[j])
        return codes, raw[-1] if self.person else None

    def batch(self, codes: Codes, person: RawColumn | None, at: int) -> Batch:
        """Some rows, the first of which stands at this position; those of nobody are left out."""
        row = np.arange(at, at + codes.shape[1], dtype=np.uint64)
        who: list[str] = []
        if person is not None:
            who = texts(person)
            # [nobody] a row without an id is no person's: it weighs nothing, in any method
            named = np.flatnonzero(np.array(who, object) != "")
            if len(named) < len(who):
                who = [text for text in who if text]
                codes, row = codes[:, named], row[named]
        n, d = codes.shape[1], self.columns
        label = codes[d] if d < len(codes) else np.zeros(n, dtype=np.int32)
        return Batch(np.ascontiguousarray(codes[:d]).T, label.astype(np.int32),
                     self.unit(who, row), row)


def names_read(source: Source, domain: Domain) -> list[str]:
    """What is read, by the names of the source: columns, target, person."""
    labelled = domain.target is not None and source.y is not None
    if source.by == "position":
        return [*source.columns, *[TARGET] * labelled]
    names = needed(domain, labelled=labelled)
    if labelled:
        names.insert(len(domain.columns), TARGET)
    return names


def _units(domain: Domain, entropy: Callable[[int], bytes],
           ) -> Callable[[list[str], npt.NDArray[np.uint64]], Units]:
    """What is protected, for rows at some positions: the position, or a fresh tag.

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
        found = np.empty(len(row), np.uint64)
        for at, text in enumerate(who):
            if text not in known:
                known[text] = tag()
            found[at] = known[text]
        return found

    return tagged


def _guarded(raw: Iterator[Piece]) -> Iterator[Piece]:
    """The body, without the warnings and the error texts of foreign libraries."""
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = _next(raw)
        if found is None:
            return
        yield found


def _next(raw: Iterator[Piece]) -> Piece | None:
    try:
        return next(raw, None)
    except KeyboardInterrupt:
        raise  # it is whoever reads that is stopped: `fit` after its charge, or a prediction
    except BaseException:  # noqa: BLE001, S110  # a panic too: its text could speak of rows
        pass
    # Raised here, and not above, so that it carries no context.
    raise ReleaseFailed
