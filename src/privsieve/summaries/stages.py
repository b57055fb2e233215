"""Stages: make a summary in several passes over the rows; each pass is a sum.

A stage sees the rows and what the stages before it came to; what it makes of two parts of the rows
adds up, whatever the cut.  So the parts may be read one after another from a file, by several
threads or by the executors of a cluster: the same integers come out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from privsieve.public.domain import Domain
    from privsieve.rows.batch import Batch
    from privsieve.rows.room import Room

#: (a part of the rows, key for ties, what the stages before came to) -> a summary that adds up.
Stage = Callable[[Any, int, tuple[Any, ...]], Any]
#: (batches, key) -> summary
Summarise = Callable[[Iterable["Batch"], int], Any]
#: Cells of a part that is kept: few parts, so that little time goes to adding them up.
PART_CELLS = 2**23
#: Shares of each thread, where all parts are there.
SHARES = 4


def same(batch: Batch) -> Batch:
    """Return rows as they are."""
    return batch


def by_class(batch: Batch) -> Batch:
    """Sort rows by class: once, if they are kept."""
    from privsieve.rows.batch import in_classes

    return in_classes(batch)


@dataclass(frozen=True, eq=False, repr=False)
class OfParts:
    """Sum several parts in one step; adding the results of each part would take longer.

    of : (parts, key, the totals of the stages before) -> the sum over the parts.
    """

    of: Callable[[Sequence[Any], Any, tuple[Any, ...]], Any]

    def __call__(self, chunk: Any, key: Any, totals: tuple[Any, ...]) -> Any:
        """Return the sum of one part."""
        return self.of([chunk], key, totals)


def added(stage: Stage, some: Sequence[Any], key: Any, totals: tuple[Any, ...]) -> Any:
    """Add up a stage over some parts, at least one.

    >>> added(lambda batch, key, before: batch, [1, 2], 7, ()), added(
    ...     OfParts(lambda parts, key, before: sum(parts)), [1, 2], 7, ())
    (3, 3)
    """
    if isinstance(stage, OfParts):
        return stage.of(some, key, totals)
    total = None
    for rows in some:
        addend = stage(rows, key, totals)
        total = addend if total is None else total + addend
        del addend  # two sums and both together are in memory, and not a third
    return total


class InMemory(NamedTuple):
    """The last stage where all rows stay in memory: faster, while they fit.

    stage : what it makes of a part.
    size : bytes that all rows take, by declared sizes.
    """

    stage: Stage
    size: int


@dataclass(frozen=True, eq=False, repr=False)
class Stages:
    """Passes over the rows, one after another, and the function of their sums.

    columns : how many the table has; a stage is also asked about no rows.
    ended : (what all stages came to) -> the summary.
    placed : whether a stage looks at the positions or the units of rows, and not at their cells
        alone.
    ready : what becomes of a batch before any stage sees it; once, where rows are kept.
    whole : the last stage where all rows stay in memory.
    change : what becomes of a batch before all that: see `seen`.

    Examples
    --------
    >>> import numpy as np
    >>> from privsieve.rows.batch import Batch
    >>> rows = np.arange(4, dtype=np.uint64)
    >>> batch = Batch(np.ones((4, 2), np.uint16), np.zeros(4, np.int32), rows, rows)
    >>> counted = Stages((lambda batch, key, before: len(batch),
    ...                   lambda batch, key, before: int(batch.codes.sum()) * before[0]), 2)
    >>> counted([batch, batch], 7)
    (8, 128)
    """

    stages: tuple[Stage, ...]
    columns: int
    ended: Callable[[tuple[Any, ...]], Any] = tuple
    placed: bool = False
    ready: Callable[[Batch], Any] = same
    whole: InMemory | None = None
    change: Callable[[Batch], Batch] = same

    def __call__(self, batches: Iterable[Batch], key: int) -> Any:
        """Summarise rows that one process reads."""
        from privsieve.rows.batch import Passes

        rows, last = Passes.of(batches).mapped(self.change), None
        if self.whole is not None and rows.room.holds(self.whole.size):
            last = self.whole.stage
        elif len(self.stages) == 1:
            return self.over(map(self.ready, rows), key, rows.room)
        parts = rows.keep(max(1, PART_CELLS // self.columns), self.ready)
        return self.over(list(parts) if last else parts, key, rows.room, last)

    def over(self, parts: Iterable[Any], key: int, room: Room, last: Stage | None = None) -> Any:
        """Summarise parts that are ready, and can be read once for each stage.

        last : what replaces the last stage.
        """
        totals: tuple[Any, ...] = ()
        for stage in (*self.stages[:-1], last or self.stages[-1]):
            totals = (*totals, self._sum(stage, parts, (key, totals), room))
        return self.ended(totals)

    @property
    def each(self) -> tuple[Stage, ...]:
        """Return the stages for an engine, which gives them unchanged batches, or none."""
        return tuple(partial(self.once, at) for at in range(len(self.stages)))

    def once(self, at: int, batches: Iterable[Batch], key: Any, totals: tuple[Any, ...]) -> Any:
        """Return the total of one pass; `totals` are those of the passes before."""
        from privsieve.rows.batch import Passes

        rows = Passes.of(batches)
        parts = (self.ready(self.change(batch)) for batch in rows)
        return self._sum(self.stages[at], parts, (key, totals), rows.room)

    def _sum(self, stage: Stage, parts: Iterable[Any], known: tuple[Any, tuple[Any, ...]],
             room: Room) -> Any:
        from privsieve.rows.batch import Batch

        total = None

        def together(some: Sequence[Any]) -> Any:
            # Sums of many codes take as long to add as to make: each thread adds up its own.
            return added(stage, some, *known)

        for addend in room.each(_some(parts, room.jobs), together):
            total = addend if total is None else total + addend
            del addend
        return together([self.ready(self.change(Batch.empty(self.columns)))]
                        ) if total is None else total


def _some(parts: Iterable[Any], jobs: int) -> Iterator[tuple[Any, ...]]:
    """Parts that one thread takes together: those that are kept in a few shares for each."""
    from privsieve.rows.batch import AHEAD

    many = 1 if jobs < 2 else AHEAD
    if isinstance(parts, list):
        many = max(1, -(-len(parts) // (SHARES * jobs)))
    read = iter(parts)
    while some := tuple(islice(read, many)):
        yield some


def adding(summarise: Summarise, domain: Domain, *, placed: bool = False) -> Summarise:
    """Return a summary of any rows as one stage that adds it up.

    Where persons are protected it is left as it is: each is weighed when all of their rows are
    there.

    >>> from privsieve.public.domain import Domain
    >>> stages = adding(lambda rows, key: sum(map(len, rows)), Domain.box(0, 1, columns=2))
    >>> stages([], 7), len(stages.each)
    (0, 1)
    """
    if domain.person is not None:
        return summarise
    return Stages((partial(_alone, summarise),), len(domain.columns), _only, placed)


def passes(make: Callable[[], Any], many: int, size: int = 0, **options: Any) -> Stages:
    """Return stages that run the passes of `make()`: see `passes.TablePasses`.

    size : bytes that all rows take while they are in memory; 0: they never are.
    """
    lazy = _LazyPasses(make)
    whole = InMemory(partial(_held, lazy), size) if size else None
    return Stages(tuple(OfParts(partial(_stage, lazy, at)) for at in range(many)),
                  ended=partial(_ended, lazy), whole=whole, **options)


class _LazyPasses:
    """What is made once, where it is needed."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    @cached_property
    def passes(self) -> Any:
        """Return the passes, made at the first use."""
        return self.make()


def _stage(lazy: _LazyPasses, at: int, some: Sequence[Any], key: Any,
           totals: tuple[Any, ...]) -> Any:
    return added(lazy.passes.stages[at], some, key, totals)


def _held(lazy: _LazyPasses, rows: Any, key: Any, totals: tuple[Any, ...]) -> Any:
    return lazy.passes.held(rows, key, totals)


def _ended(lazy: _LazyPasses, totals: tuple[Any, ...]) -> Any:
    return lazy.passes.ended(totals)


def _alone(summarise: Summarise, rows: Batch, key: int, _totals: tuple[Any, ...]) -> Any:
    return summarise([rows], key)


def _only(totals: tuple[Any, ...]) -> Any:
    return totals[0]


def seen(summarise: Summarise, how: Callable[[Batch], Batch], columns: int) -> Summarise:
    """Return a summary of changed rows, which have `columns` columns before `how`."""
    if isinstance(summarise, Stages):
        return replace(summarise, columns=columns, change=partial(_after, how, summarise.change))
    return partial(_all_seen, summarise, how)


def _after(first: Callable[[Batch], Batch], then: Callable[[Batch], Batch], batch: Batch) -> Batch:
    return then(first(batch))


def _all_seen(summarise: Summarise, how: Callable[[Batch], Batch], batches: Iterable[Batch],
              key: int) -> Any:
    from privsieve.rows.batch import Passes

    return summarise(Passes.of(batches).mapped(how), key)
