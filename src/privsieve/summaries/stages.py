"""Stages: a summary that is made in passes over the rows, each of which is a sum.

A stage sees the rows and what the stages before it came to; what it makes of two parts of the rows
adds up, whatever the cut.  So the parts may be read one after another from a file, by several
threads, by the executors of a cluster or at several sites: the same integers come out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from privsieve.frozen import dataclass
from privsieve.rows.batch import Batch, Passes

#: (rows, key, what the stages before came to) -> a summary that adds up
Stage = Callable[[Batch, int, tuple[Any, ...]], Any]


@dataclass(frozen=True, eq=False, repr=False)
class Stages:
    """Passes over the rows, one after another, and what is made of their sums.

    columns : how many the table has; a stage is also asked about no rows.
    ended : (what all stages came to) -> the summary.
    ordered : whether a stage looks at a row's place or unit; else any order of rows will do.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.arange(4, dtype=np.uint64)
    >>> batch = Batch(np.ones((4, 2), np.uint16), np.zeros(4, np.int32), rows, rows)
    >>> counted = Stages((lambda part, key, before: len(part),
    ...                   lambda part, key, before: int(part.codes.sum()) * before[0]), 2)
    >>> counted([batch, batch], 7)
    (8, 128)
    """

    stages: tuple[Stage, ...]
    columns: int
    ended: Callable[[tuple[Any, ...]], Any] = tuple
    ordered: bool = True

    def __call__(self, batches: Iterable[Batch], key: int) -> Any:
        """The summary of rows that one process reads."""
        rows = Passes.of(batches)
        if len(self.stages) > 1:
            rows.keep()
        found: tuple[Any, ...] = ()
        for at in range(len(self.stages)):
            found = (*found, self.stage(at, rows, key, found))
        return self.ended(found)

    def stage(self, at: int, batches: Iterable[Batch], key: int, found: tuple[Any, ...]) -> Any:
        """What one pass comes to; `found` is what those before it came to, over all rows."""
        rows, one = Passes.of(batches), self.stages[at]
        total = one(Batch.empty(self.columns), key, found)
        for part in added(rows, lambda batch: one(batch, key, found), rows.room.jobs):
            total = total + part
        return total


def added(batches: Iterable[Batch], of: Callable[[Batch], Any], jobs: int) -> Iterator[Any]:
    """What is made of each batch, in their order, by so many threads at a time."""
    if jobs < 2:
        yield from map(of, batches)
        return
    waiting: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(jobs) as pool:
        for batch in batches:
            waiting.append(pool.submit(of, batch))
            # No more batches are in memory than threads, and one.
            if len(waiting) > jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
