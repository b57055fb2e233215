"""ReleasedFunction: what a session's `release_function` returns; it holds no row that leaves."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from privsieve import fit as fitting
from privsieve.errors import ParameterError
from privsieve.methods.ridge.answers import Task, drawn
from privsieve.methods.ridge.basis import Basis
from privsieve.methods.ridge.gram import Doubles, coordinates, original
from privsieve.methods.ridge.memory import Memory
from privsieve.noise.streams import Noise
from privsieve.public.domain import Domain
from privsieve.release import Release

#: Records that are answered at a time.
CHUNK = 1024


class Drawn(NamedTuple):
    """Points, and their noisy whitened numbers: all of it may be shown."""

    basis: Basis
    q: list[int]


class ReleasedFunction:
    """A function with noise, at any number of points.

    While its session is open, a new point is asked of the rows and gets noise of its own, given
    all that was released before.  Where that leaves less than a public variance, after the
    session, and in a copy, the answer is the best guess from what was released: no row is asked.

    `release_` is the charge's release; `points_` says how many points were drawn.
    """

    def __init__(self, task: Task, release: Release, memory: Memory,
                 noise: Noise | None = None) -> None:
        self.release_ = release
        self._task = task
        self._memory: Memory | None = memory
        self._noise = noise
        self._drawn = Drawn(Basis.empty(task.kernel), [])

    def __getstate__(self) -> dict[str, Any]:
        """What may leave: released numbers and public facts."""
        # [leaves] two copies that went on drawing would give the same point two noises
        return {**self.__dict__, "_memory": None, "_noise": None}

    def __repr__(self) -> str:
        return f"<ReleasedFunction, {self.points_} points drawn>"

    @property
    def points_(self) -> int:
        """At how many points noise was drawn."""
        return len(self._drawn.q)

    def predict(self, X: Any) -> Doubles:
        """Predictions in the target's units; free."""
        codes = codes_of(X, self._task.kernel.domain)
        found = [self._chunk(codes[at:at + CHUNK]) for at in range(0, len(codes), CHUNK)]
        return np.concatenate([np.empty(0), *found])

    def _chunk(self, codes: npt.NDArray[np.uint16]) -> Doubles:
        points = coordinates(codes, self._task.kernel.domain)
        memory = self._memory
        # [one-at-a-time] two threads that went on from the same numbers would do the same
        with memory.turn if memory is not None else nullcontext():
            weights = (self._draw(points, memory) if memory is not None and memory.open
                       else self._drawn.basis.weights(points))
        if not self.points_:
            raise ParameterError("nothing was drawn while the session was open: ask the function "
                                 "at the points that matter before the session ends")
        numbers = np.array(self._task.grid.numbers(self._drawn.q[:weights.shape[1]]))
        return original(weights @ numbers, self._task.kernel.domain)

    def _draw(self, points: Doubles, memory: Memory) -> Doubles:
        known = self._drawn
        basis, weights = known.basis.extended(points)
        if len(basis) > len(known.basis):
            q = fitting.sealed(partial(self._ask, memory, basis), self._noise)
            # [at-once] one statement: whoever breaks in sees all of a draw or nothing of it
            self._drawn = Drawn(basis, known.q + q)
        return weights

    def _ask(self, memory: Memory, basis: Basis, noise: Noise) -> list[int]:
        """The noisy numbers of the new points.  A failure's traceback has no frame of this one."""
        assert memory.model is not None
        before = memory.whole.get(self, np.empty(0))[:self.points_]
        # [private] numbers without noise: in the session's memory alone, which is forgotten
        q, memory.whole[self] = drawn(memory.model, noise, self._task, basis, before)
        return q


def codes_of(X: Any, domain: Domain, *, one: bool = False) -> npt.NDArray[np.uint16]:
    """Queries on the domain's grid: public records, with or without a target.

    >>> from privsieve.public.domain import Domain
    >>> codes_of([0.5], Domain.box(0, 1, columns=1), one=True).tolist()
    [[32768]]
    """
    from dataclasses import replace

    from privsieve.rows import open_source, resolve
    from privsieve.rows.batch import Batch, batches

    if one and not hasattr(X, "columns") and np.ndim(X) == 1:
        X = [list(X)]
    asked = replace(domain, target=None, rows=None)
    source = open_source(X, csv=domain.csv)
    resolve(asked, source.shape(count_rows=False), strict=False)
    read = list(batches(source, asked, rows=None, entropy=bytes))
    codes = Batch.concat([Batch.empty(len(domain.columns)), *read]).codes
    if one and len(codes) != 1:
        raise ParameterError(f"{len(codes)} records are asked for; predict_one answers for one")
    return codes
