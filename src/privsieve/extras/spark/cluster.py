"""A summary on a cluster: workers make the parts of each stage, and the sum of them comes here.

What travels is written by hand: a worker's bytes are numbers and their shapes, never objects that
run when they are read.  What each of them is says the same stage for no rows, which is made here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privsieve.errors import ParameterError, ReleaseFailed
from privsieve.rows.batch import Batch, batches
from privsieve.rows.source import Source, needed
from privsieve.summaries.stages import Stage, Stages

if TYPE_CHECKING:
    from privsieve.public.plan import Plan

#: A summary of no rows takes at most so many bytes, or it is not sent.
MOST_BYTES = 100_000_000
_WAY_OUT = "write the frame to Parquet, and give the file"


@dataclass(frozen=True, eq=False, repr=False)
class Pass:
    """One stage, as workers do it.

    Examples
    --------
    >>> rows = np.arange(3, dtype=np.uint64)
    >>> batch = Batch(np.ones((3, 2), np.uint16), np.zeros(3, np.int32), rows, rows)
    >>> one = Pass(lambda rows, key, before: sum(int(batch.codes.sum()) for batch in rows), 7)
    >>> one.total([one.plus([one.of([batch]), one.of([batch, batch])])])
    18
    """

    stage: Stage
    key: int
    found: tuple[Any, ...] = ()

    def of(self, batches: Iterable[Batch]) -> bytes:
        """What the stage comes to over some rows."""
        total = self.zero()
        for batch in batches:
            total = total + self.stage([batch], self.key, self.found)
        return written(total)

    def plus(self, answers: Iterable[bytes]) -> bytes:
        """What it comes to over the rows of all of them."""
        return written(self.total(answers))

    def zero(self) -> Any:
        """What it comes to over no rows."""
        return self.stage([], self.key, self.found)

    def total(self, answers: Iterable[bytes]) -> Any:
        """The sum of what was sent."""
        total = zero = self.zero()
        for answer in answers:
            total = total + read(answer, zero)
        return total


def demand_sum(plan: Plan, source: Source) -> None:
    """Refuse, before the charge, what a cluster cannot add up."""
    assert source.cluster is not None
    stages = plan.summarise
    if plan.domain.person is not None:
        raise ParameterError("the domain protects persons, whose rows lie in many parts of a Spark "
                             f"frame; {_WAY_OUT}")
    if not isinstance(stages, Stages):
        raise ParameterError(f"the summary of {plan.method} is no sum over rows, and a Spark frame "
                             f"is read by sums alone; {_WAY_OUT}, or try joint=pair or NoisyTopK")
    if stages.placed:
        if not plan.domain.replaces:
            raise ParameterError(f"{plan.method} breaks ties by a tag of each row, and under "
                                 "add-remove each run of a Spark query would draw others; "
                                 f"{_WAY_OUT}, or say neighbours = replace-one")
        if not source.cluster.placed:
            raise ParameterError(f"{plan.method} needs a place of each row that no run of a query "
                                 "changes, and only the rows of Parquet files have one; write the "
                                 "frame to Parquet, and give spark.read.parquet(...) as it is")
    if len(Pass(stages.each[0], 0).of(())) > MOST_BYTES:
        raise ParameterError(f"the summary of {plan.method} takes more than {MOST_BYTES // 10**6} "
                             "MB for each part of a Spark frame; name fewer columns, or "
                             f"{_WAY_OUT}")
    source.cluster.demand()


def on_workers(plan: Plan, source: Source, key: int) -> Any:
    """The summary of a frame; its rows stay where they are."""
    cluster, stages = source.cluster, plan.summarise
    assert cluster is not None
    assert isinstance(stages, Stages)
    names = needed(plan.coding, source)
    rows = plan.units if plan.domain.rows_are_public else None
    places = cluster.places() if stages.placed else None
    found: tuple[Any, ...] = ()
    for stage in stages.each:
        one = Pass(stage, key, found)
        came, answers = cluster.run(one, names, plan.coding, rows=rows, places=places)
        answers += [one.of(_missing(plan, source, came))] * (rows is not None)
        found = (*found, one.total(answers))
    return stages.ended(found)


# [exactly]
def _missing(plan: Plan, source: Source, came: int) -> Iterator[Batch]:
    """Default records after those that came, up to the public number; more than it never come."""
    if came > plan.units:
        raise ReleaseFailed
    empty = Source(source.columns, source.types, "name", None, lambda _at, _rows: iter(()))
    for batch in batches(empty, plan.coding, rows=plan.units - came, entropy=os.urandom):
        row = batch.row + np.uint64(came)
        yield Batch(batch.codes, batch.label, row, row)
# [/exactly]


def written(value: Any) -> bytes:
    """A summary as bytes: what it is made of, then its numbers.

    >>> read(written((None, 2**70, {"a": np.arange(2)})), (None, 0, {"a": np.zeros(0, int)}))
    (None, 1180591620717411303424, {'a': array([0, 1])})
    """
    arrays: list[bytes] = []

    def form(part: Any) -> Any:
        if part is None:
            return None
        if isinstance(part, int | np.integer):
            return str(int(part))
        if isinstance(part, np.ndarray) and part.dtype.kind in "biu":
            arrays.append(part.tobytes())
            return [part.dtype.str, list(part.shape)]
        if isinstance(part, np.ndarray):
            return [list(map(form, part.ravel().tolist())), list(part.shape)]
        return {"parts": [form(one) for one in _parts(part)]}

    head = json.dumps(form(value)).encode()
    return b"".join([len(head).to_bytes(8), head, *arrays])


def read(data: bytes, like: Any) -> Any:
    """What was written, of the types that a summary of no rows has."""
    at = 8 + int.from_bytes(data[:8])
    head = json.loads(data[8:at])

    def array(held: str | list[str], shape: list[int]) -> npt.NDArray[Any]:
        nonlocal at
        if isinstance(held, list):
            # Whole numbers of any size; None keeps NumPy from giving them one.
            return np.array([None, *map(int, held)], object)[1:].reshape(shape)
        found = np.frombuffer(data, held, int(np.prod(shape)), at)
        at += found.nbytes
        return found.reshape(shape).copy()  # kernels ask for memory in line

    def made(form: Any, like: Any) -> Any:
        if isinstance(form, dict):
            parts = [made(*both) for both in zip(form["parts"], _parts(like), strict=True)]
            return _joined(parts, like)
        if isinstance(form, list):
            return array(*form)
        return None if form is None else int(form)

    return made(head, like)


def _joined(parts: list[Any], like: Any) -> Any:
    if isinstance(like, Mapping):
        return dict(zip(like, parts, strict=True))
    one_by_one = is_dataclass(like) or hasattr(like, "_fields")
    return type(like)(*parts) if one_by_one else type(like)(parts)


def _parts(value: Any) -> list[Any]:
    """What a summary is made of; what is none of these is no summary."""
    if is_dataclass(value):
        return [getattr(value, field.name) for field in fields(value)]
    if isinstance(value, Mapping):
        return list(value.values())
    assert isinstance(value, tuple | list)
    return list(value)
