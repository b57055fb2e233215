"""The reader: the body of a table becomes integers.  After the charge there is always an answer.

Each code is a function of its own cell and of the domain.  Nothing here raises, warns or logs
because of what a row holds; a fault of the machine has the one constant text of `ReleaseFailed`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privsieve.core.batch import Batch
from privsieve.errors import ReleaseFailed
from privsieve.sources.columns import encoder, texts
from privsieve.sources.opening import needed
from privsieve.sources.source import TARGET

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy.typing as npt

    from privsieve.core.domain import Domain
    from privsieve.sources.columns import Encode
    from privsieve.sources.source import RawColumn, Source

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
    >>> from privsieve.core.domain import Domain
    >>> from privsieve.sources import open_source
    >>> domain = Domain.box(0.0, 1.0, columns=1)
    >>> source = open_source([[0.5], ["?"]], y=[1, 0])
    >>> [batch.codes.tolist() for batch in batches(source, domain, rows=3, entropy=os.urandom)]
    [[[32768], [32768]], [[32768]]]
    """
    size = batch_rows or max(1, min(LARGEST_BATCH, BATCH_CELLS // len(domain.columns)))
    encode = _Encoder.of(domain, entropy)
    at = 0
    for columns in _guarded(source.raw(names_read(source, domain), size)):
        left = len(columns[0]) if rows is None else min(len(columns[0]), rows - at)
        if left <= 0:
            break
        yield encode.batch([column[:left] for column in columns], at)
        at += left
    while rows is not None and at < rows:
        count = min(size, rows - at)
        yield encode.batch([[None] * count] * encode.width, at)
        at += count


@dataclass(frozen=True, eq=False, repr=False)
class _Encoder:
    """One function for each column of the domain, the target, and the unit."""

    columns: tuple[Encode, ...]
    target: Encode | None
    unit: Callable[[RawColumn | None, int, int], Units]
    person: bool

    @classmethod
    def of(cls, domain: Domain, entropy: Callable[[int], bytes]) -> _Encoder:
        decimal = domain.csv.decimal
        return cls(tuple(encoder(column, decimal) for column in domain.columns),
                   encoder(domain.target, decimal) if domain.target else None,
                   _units(domain, entropy), domain.person is not None)

    @property
    def width(self) -> int:
        return len(self.columns) + (self.target is not None) + self.person

    def batch(self, raw: Sequence[RawColumn], at: int) -> Batch:
        """Encode the columns, the target and the person, in this order."""
        n, d = len(raw[0]), len(self.columns)
        codes = np.empty((d, n), dtype=np.uint16)
        for j, encode in enumerate(self.columns):
            codes[j] = encode(raw[j])
        label = np.zeros(n, dtype=np.int32) if self.target is None else self.target(raw[d])
        row = np.arange(at, at + n, dtype=np.uint64)
        unit = self.unit(raw[-1] if self.person else None, at, n)
        return Batch(codes.T, label.astype(np.int32), unit, row)


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
           ) -> Callable[[RawColumn | None, int, int], Units]:
    """What is protected: the position, or a fresh tag for each row or person."""
    if domain.person is None and domain.neighbours == "replace-one":
        return lambda _person, at, n: np.arange(at, at + n, dtype=np.uint64)
    if domain.person is None:
        return lambda _person, _at, n: np.frombuffer(entropy(8 * n), dtype="<u8").astype(np.uint64)
    known: dict[str, int] = {}
    taken: set[int] = set()

    def tag() -> int:
        # Persons are told apart for certain: a tag that is taken is drawn again.
        while (drawn := int.from_bytes(entropy(8), "little")) in taken:
            pass
        taken.add(drawn)
        return drawn

    def tagged(person: RawColumn | None, _at: int, n: int) -> Units:
        assert person is not None
        found = np.empty(n, np.uint64)
        for at, text in enumerate(texts(person)):
            if text not in known:
                known[text] = tag()
            found[at] = known[text]
        return found

    return tagged


def _guarded(raw: Iterator[list[RawColumn]]) -> Iterator[list[RawColumn]]:
    """The body, without the warnings and the error texts of foreign libraries."""
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = _next(raw)
        if found is None:
            return
        yield found


def _next(raw: Iterator[list[RawColumn]]) -> list[RawColumn] | None:
    try:
        return next(raw, None)
    except Exception:  # noqa: BLE001, S110  # whatever it was, its text could speak of rows
        pass
    # Raised here, and not above, so that it carries no context.
    raise ReleaseFailed
