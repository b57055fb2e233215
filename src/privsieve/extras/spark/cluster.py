"""Cluster: a summary on a cluster; workers compute the terms of each stage, and send their sums.

The bytes of a worker are numbers and their shapes, never objects that could run code.  The driver
computes the same stage for no rows, which gives the types of the numbers.
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

#: The most bytes of a summary of no rows.
MOST_BYTES = 100_000_000
_WAY_OUT = "write the frame to Parquet, and give the file"


@dataclass(frozen=True, eq=False, repr=False)
class Pass:
    """One stage on workers.

    Examples
    --------
    >>> rows = np.arange(3, dtype=np.uint64)
    >>> batch = Batch(np.ones((3, 2), np.uint16), np.zeros(3, np.int32), rows, rows)
    >>> task = Pass(lambda rows, key, before: sum(int(batch.codes.sum()) for batch in rows), 7)
    >>> task.total([task.plus([task.of([batch]), task.of([batch, batch])])])
    18
    """

    stage: Stage
    key: int
    before: tuple[Any, ...] = ()

    def of(self, batches: Iterable[Batch]) -> bytes:
        """Return the result of the stage for some rows."""
        total = self.zero()
        for batch in batches:
            total = total + self.stage([batch], self.key, self.before)
        return written(total)

    def plus(self, answers: Iterable[bytes]) -> bytes:
        """Return the result for the rows of all answers."""
        return written(self.total(answers))

    def zero(self) -> Any:
        """Return the result for no rows."""
        return self.stage([], self.key, self.before)

    def total(self, answers: Iterable[bytes]) -> Any:
        """Return the sum of answers."""
        total = zero = self.zero()
        for answer in answers:
            total = total + read(answer, zero)
        return total


def demand_sum(plan: Plan, source: Source) -> None:
    """Refuse, before the charge, a summary that a cluster cannot add up."""
    assert source.cluster is not None
    stages = plan.summarise
    if plan.domain.person is not None:
        raise ParameterError("the domain protects people, but the rows of a person are in many "
                             f"partitions of a Spark frame; {_WAY_OUT}")
    if not isinstance(stages, Stages):
        raise ParameterError(f"{plan.method} does not add up rows, and cannot read a Spark frame; "
                             f"{_WAY_OUT}, or try joint=pair or NoisyTopK")
    if stages.placed:
        if not plan.domain.replaces:
            raise ParameterError(f"{plan.method} breaks ties by a tag of each row; under "
                                 "add-remove each run of a Spark query would give other tags: "
                                 f"{_WAY_OUT}, or write neighbours = replace-one")
        if not source.cluster.placed:
            raise ParameterError(f"{plan.method} needs rows with a fixed position, and only "
                                 "Parquet files have such rows; write the frame to Parquet, and "
                                 "give spark.read.parquet(...) unchanged")
    if len(Pass(stages.each[0], 0).of(())) > MOST_BYTES:
        raise ParameterError(f"the summary of {plan.method} takes more than {MOST_BYTES // 10**6} "
                             "MB for each partition of a Spark frame; name fewer columns, or "
                             f"{_WAY_OUT}")
    source.cluster.demand()


def on_workers(plan: Plan, source: Source, key: int) -> Any:
    """Return the summary of a frame; its rows stay on the workers."""
    cluster, stages = source.cluster, plan.summarise
    assert cluster is not None
    assert isinstance(stages, Stages)
    names = needed(plan.coding, source)
    rows = plan.units if plan.domain.rows_are_public else None
    places = cluster.places() if stages.placed else None
    results: tuple[Any, ...] = ()
    for stage in stages.each:
        task = Pass(stage, key, results)
        came, answers = cluster.run(task, names, plan.coding, rows=rows, places=places)
        answers += [task.of(_missing(plan, source, came))] * (rows is not None)
        results = (*results, task.total(answers))
    return stages.ended(results)


# [exactly]
def _missing(plan: Plan, source: Source, came: int) -> Iterator[Batch]:
    """Yield default records up to the public number; refuse more rows than that."""
    if came > plan.units:
        raise ReleaseFailed
    empty = Source(source.columns, source.types, "name", None, lambda _at, _rows: iter(()))
    for batch in batches(empty, plan.coding, rows=plan.units - came, entropy=os.urandom):
        row = batch.row + np.uint64(came)
        yield Batch(batch.codes, batch.label, row, row)
# [/exactly]


def written(value: Any) -> bytes:
    """Write a summary as bytes: its structure, and then its numbers.

    >>> read(written((None, 2**70, {"a": np.arange(2)})), (None, 0, {"a": np.zeros(0, int)}))
    (None, 1180591620717411303424, {'a': array([0, 1])})
    """
    arrays: list[bytes] = []

    def form(node: Any) -> Any:
        if node is None:
            return None
        if isinstance(node, int | np.integer):
            return str(int(node))
        if isinstance(node, np.ndarray) and node.dtype.kind in "biu":
            arrays.append(node.tobytes())
            return [node.dtype.str, list(node.shape)]
        if isinstance(node, np.ndarray):
            return [list(map(form, node.ravel().tolist())), list(node.shape)]
        return {"parts": [form(item) for item in _parts(node)]}

    head = json.dumps(form(value)).encode()
    return b"".join([len(head).to_bytes(8), head, *arrays])


def read(data: bytes, like: Any) -> Any:
    """Read a summary, with the types of a summary of no rows."""
    at = 8 + int.from_bytes(data[:8])
    head = json.loads(data[8:at])

    def array(held: str | list[str], shape: list[int]) -> npt.NDArray[Any]:
        nonlocal at
        if isinstance(held, list):
            # Whole numbers of any size; None makes NumPy keep them as objects.
            return np.array([None, *map(int, held)], object)[1:].reshape(shape)
        numbers = np.frombuffer(data, held, int(np.prod(shape)), at)
        at += numbers.nbytes
        return numbers.reshape(shape).copy()  # kernels need contiguous memory

    def build(form: Any, like: Any) -> Any:
        if isinstance(form, dict):
            parts = [build(*both) for both in zip(form["parts"], _parts(like), strict=True)]
            return _joined(parts, like)
        if isinstance(form, list):
            return array(*form)
        return None if form is None else int(form)

    return build(head, like)


def _joined(parts: list[Any], like: Any) -> Any:
    if isinstance(like, Mapping):
        return dict(zip(like, parts, strict=True))
    one_by_one = is_dataclass(like) or hasattr(like, "_fields")
    return type(like)(*parts) if one_by_one else type(like)(parts)


def _parts(value: Any) -> list[Any]:
    """Return the components of a summary."""
    if is_dataclass(value):
        return [getattr(value, field.name) for field in fields(value)]
    if isinstance(value, Mapping):
        return list(value.values())
    assert isinstance(value, tuple | list)
    return list(value)
