"""Stages: a summary that is made in passes over the rows, each of which is a sum.

A stage sees the rows and what the stages before it came to; what it makes of two parts of the rows
adds up, whatever the cut.  So the parts may be read one after another from a file, by several
threads, by the executors of a cluster or at several sites: the same integers come out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from privsieve.frozen import dataclass

if TYPE_CHECKING:
    from privsieve.rows.batch import Batch

#: (rows, key, what the stages before came to) -> a summary that adds up
Stage = Callable[[Any, int, tuple[Any, ...]], Any]
#: Cells of a part: few parts, so that little time goes to adding them up.
PART_CELLS = 2**23


def same(batch: Batch) -> Batch:
    """Rows as they are."""
    return batch


def by_class(batch: Batch) -> Batch:
    """Rows in the order of their classes: sorted once, where they are kept."""
    from privsieve.summaries.layout import in_classes

    return in_classes(batch)


@dataclass(frozen=True, eq=False, repr=False)
class AllRows:
    """Another way to the same summary, of all rows at once: faster while they fit into memory.

    of : (batches, key) -> summary.
    rows : how many of them make a part.
    size : bytes that it takes, by declared sizes.
    """

    of: Callable[[Iterable[Batch], int], Any]
    rows: int
    size: int


@dataclass(frozen=True, eq=False, repr=False)
class Stages:
    """Passes over the rows, one after another, and what is made of their sums.

    columns : how many the table has; a stage is also asked about no rows.
    ended : (what all stages came to) -> the summary.
    ready : what becomes of a batch before any stage sees it; once, where rows are kept.
    whole : all rows at once, where that is faster.
    change : what becomes of a batch before all that: see `after`.

    Examples
    --------
    >>> import numpy as np
    >>> from privsieve.rows.batch import Batch
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
    ready: Callable[[Batch], Any] = same
    whole: AllRows | None = None
    change: Callable[[Batch], Batch] = same

    def __call__(self, batches: Iterable[Batch], key: int) -> Any:
        """The summary of rows that one process reads."""
        from privsieve.rows.batch import Passes, joined

        rows, whole = Passes.of(batches).mapped(self.change), self.whole
        if whole is not None and rows.room.holds(whole.size):
            return whole.of(list(joined(rows, whole.rows)), key)
        part = max(1, PART_CELLS // self.columns)
        if len(self.stages) > 1:
            return self.over(rows.keep(part, self.ready), key, rows.room.jobs)
        return self.over(map(self.ready, joined(rows, rows.part_rows(part, self.columns))), key,
                         rows.room.jobs)

    def over(self, parts: Iterable[Any], key: int, jobs: int) -> Any:
        """The summary of parts that are ready, and can be read once for each stage."""
        found: tuple[Any, ...] = ()
        for at in range(len(self.stages)):
            found = (*found, self._sum(at, parts, (key, found), jobs))
        return self.ended(found)

    def stage(self, at: int, batches: Iterable[Batch], key: int, found: tuple[Any, ...]) -> Any:
        """What one pass comes to; `found` is what those before it came to, over all rows."""
        from privsieve.rows.batch import Passes

        rows = Passes.of(batches)
        parts = (self.ready(self.change(batch)) for batch in rows)
        return self._sum(at, parts, (key, found), rows.room.jobs)

    def after(self, change: Callable[[Batch], Batch], columns: int) -> Stages:
        """The same of batches that are changed first, and have so many columns till then."""
        return Stages(self.stages, columns, self.ended, self.ready, self.whole, change)

    def _sum(self, at: int, parts: Iterable[Any], known: tuple[int, tuple[Any, ...]], jobs: int,
             ) -> Any:
        from privsieve.rows.batch import Batch

        (key, found), one = known, self.stages[at]
        total = one(self.ready(self.change(Batch.empty(self.columns))), key, found)
        for part in added(parts, lambda rows: one(rows, key, found), jobs):
            total = total + part
        return total


def added(parts: Iterable[Any], of: Callable[[Any], Any], jobs: int) -> Iterator[Any]:
    """What is made of each part, in their order, by so many threads at a time."""
    # One part is no work for two.
    first = list(islice(coming := iter(parts), 2))
    parts = chain(first, coming)
    if jobs < 2 or len(first) < 2:
        yield from map(of, parts)
        return
    waiting: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(jobs) as pool:
        for part in parts:
            waiting.append(pool.submit(of, part))
            # No more parts are in memory than threads, and one.
            if len(waiting) > jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
