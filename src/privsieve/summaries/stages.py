"""Stages: a summary that is made in passes over the rows, each of which is a sum.

A stage sees the rows and what the stages before it came to; what it makes of two parts of the rows
adds up, whatever the cut.  So the parts may be read one after another from a file, by several
threads, by the executors of a cluster or at several sites: the same integers come out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Future

    from privsieve.public.domain import Domain
    from privsieve.rows.batch import Batch

#: (rows, key, what the stages before came to) -> a summary that adds up; of no rows, too
Stage = Callable[[Sequence["Batch"], int, tuple[Any, ...]], Any]
#: (batches, key) -> summary
Summarise = Callable[[Iterable["Batch"], int], Any]
#: Fewer batches than these are summed by one thread: others would come too late.
ALONE = 4


@dataclass(frozen=True, eq=False, repr=False)
class Stages:
    """Passes over the rows, one after another, and what is made of their sums.

    ended : (what all stages came to) -> the summary.
    placed : whether a stage looks at the positions or the units of rows, and not at their cells
        alone.

    Examples
    --------
    >>> Stages((lambda rows, key, before: sum(rows),
    ...         lambda rows, key, before: sum(rows) * before[0]))([1, 2], 7)
    (3, 9)
    """

    stages: tuple[Stage, ...]
    ended: Callable[[tuple[Any, ...]], Any] = tuple
    placed: bool = False

    def __call__(self, batches: Iterable[Batch], key: int) -> Any:
        """The summary of rows that one process reads."""
        from privsieve.rows.batch import Passes

        rows = Passes.of(batches)
        if len(self.stages) > 1:
            rows.keep()
        found: tuple[Any, ...] = ()
        for stage in self.stages:
            total = stage([], key, found)
            for part in added(rows, partial(_part, stage, key, found), rows.room.jobs):
                total = total + part
            found = (*found, total)
        return self.ended(found)


def _part(stage: Stage, key: int, found: tuple[Any, ...], batch: Batch) -> Any:
    return stage([batch], key, found)


def adding(summarise: Summarise, domain: Domain, *, placed: bool = False) -> Summarise:
    """A summary of any rows as the one stage that adds it up.

    Where persons are protected it is left as it is: each is weighed when all of their rows are
    there.

    >>> from privsieve.public.domain import Domain
    >>> adding(lambda rows, key: sum(rows), Domain.box(0, 1))([1, 2, 3], 7)
    6
    """
    if domain.person is not None:
        return summarise
    return Stages((partial(_alone, summarise),), _only, placed)


def seen(summarise: Summarise, how: Callable[[Batch], Batch]) -> Summarise:
    """A summary of rows as `how` shows them.

    >>> seen(Stages((lambda rows, key, before: sum(rows),)), abs)([-1, 2], 7)
    (3,)
    """
    if isinstance(summarise, Stages):
        return replace(summarise, stages=tuple(partial(_seen, one, how)
                                               for one in summarise.stages))
    return partial(_all_seen, summarise, how)


def _seen(stage: Stage, how: Callable[[Batch], Batch], rows: Sequence[Batch], key: int,
          found: tuple[Any, ...]) -> Any:
    return stage([how(batch) for batch in rows], key, found)


def _all_seen(summarise: Summarise, how: Callable[[Batch], Batch], batches: Iterable[Batch],
              key: int) -> Any:
    from privsieve.rows.batch import Passes

    return summarise(Passes.of(batches).seen(how), key)


@dataclass(frozen=True, eq=False, repr=False)
class AtOnce:
    """What several summaries come to in one pass; None of one that has ended."""

    parts: tuple[Any, ...]

    def __add__(self, other: AtOnce) -> AtOnce:
        return AtOnce(tuple(None if one is None else one + two
                             for one, two in zip(self.parts, other.parts, strict=True)))


def together(several: Sequence[Summarise]) -> Summarise:
    """AtOnce summaries of the same rows, as a tuple.

    >>> one = Stages((lambda rows, key, before: sum(rows),))
    >>> two = Stages((lambda rows, key, before: len(rows),
    ...               lambda rows, key, before: len(rows) * before[0]))
    >>> together([one, two])([5, 6], 7)
    ((11,), (2, 4))
    """
    if not all(isinstance(one, Stages) for one in several):
        return partial(_all_together, several)
    staged = [one for one in several if isinstance(one, Stages)]
    passes = max((len(one.stages) for one in staged), default=0)
    return Stages(tuple(partial(_together, staged, at) for at in range(passes)),
                  partial(_ended, staged), placed=any(one.placed for one in staged))


def _together(several: Sequence[Stages], at: int, rows: Sequence[Batch], key: int,
              found: tuple[AtOnce, ...]) -> AtOnce:
    return AtOnce(tuple(
        one.stages[at](rows, key, tuple(before.parts[place] for before in found))
        if at < len(one.stages) else None for place, one in enumerate(several)))


def _ended(several: Sequence[Stages], found: tuple[AtOnce, ...]) -> tuple[Any, ...]:
    return tuple(one.ended(tuple(before.parts[place] for before in found[:len(one.stages)]))
                 for place, one in enumerate(several))


def _all_together(several: Sequence[Summarise], batches: Iterable[Batch], key: int,
                  ) -> tuple[Any, ...]:
    from privsieve.rows.batch import Passes

    rows = Passes.of(batches)
    rows.keep()
    return tuple(one(rows, key) for one in several)


def _alone(summarise: Summarise, rows: Sequence[Batch], key: int, _found: tuple[Any, ...]) -> Any:
    return summarise(rows, key)


def _only(found: tuple[Any, ...]) -> Any:
    return found[0]


def added(batches: Iterable[Batch], of: Callable[[Batch], Any], jobs: int) -> Iterator[Any]:
    """What is made of each batch, in their order, by so many threads at a time.

    >>> list(added(range(9), lambda one: one * one, jobs=2))
    [0, 1, 4, 9, 16, 25, 36, 49, 64]
    """
    rows = iter(batches)
    yield from map(of, rows if jobs < 2 else islice(rows, ALONE))
    if (first := next(rows, None)) is None:
        return
    from concurrent.futures import ThreadPoolExecutor

    waiting: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(jobs) as pool:
        waiting.append(pool.submit(of, first))
        for batch in rows:
            waiting.append(pool.submit(of, batch))
            # No more batches are in memory than threads, and one.
            if len(waiting) > jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
