"""One machine: the sum of a score's summaries over batches.

Rows are counted as they come.  Persons are weighed when all of their rows are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch
from privsieve.summaries.persons import among_first, row_weights

Weight = npt.NDArray[np.int64]


class Adds(Protocol):
    """What has a sum."""

    def __add__(self, other: Self, /) -> Self: ...


S = TypeVar("S", bound=Adds)


def summed(batches: Iterable[Batch], key: int, *, domain: Domain, zero: S,
           of: Callable[[Batch, Weight | None], S], most: int | None = None) -> S:
    """The sum of `of` over the batches; of units, `most` at most take part.

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
    held = [batch for batch in batches if len(batch)]
    if not held:
        return total
    unit = np.concatenate([batch.unit for batch in held])
    weight, _first = row_weights(unit, domain.rows_per_person, key)
    if most is not None:
        weight[~among_first(unit, most)] = 0
    at = 0
    for batch in held:
        mine = weight[at:at + len(batch)]
        at += len(batch)
        kept = np.flatnonzero(mine)
        total += of(batch.take(kept), mine[kept])
    return total
