"""ReleasedFunction: what a session's `release_function` returns; it holds no row that leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from privsieve import fit as fitting
from privsieve.errors import ParameterError
from privsieve.regression.answers import drawn
from privsieve.regression.basis import Basis
from privsieve.regression.gram import coordinates, original

if TYPE_CHECKING:
    import numpy.typing as npt

    from privsieve.core.domain import Domain
    from privsieve.core.release import Release
    from privsieve.privacy.noise import Noise
    from privsieve.regression.answers import Memory, Task
    from privsieve.regression.gram import Doubles

#: Records that are answered at a time.
CHUNK = 1024


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
        self._basis = Basis.empty(task.kernel)
        self._q: list[int] = []
        #: The whitened numbers without noise: private, and never pickled.
        self._whole: Doubles = np.empty(0)

    def __getstate__(self) -> dict[str, Any]:
        """What may leave: released numbers and public facts."""
        # [leaves] two copies that went on drawing would give the same point two noises
        return {**self.__dict__, "_memory": None, "_whole": None, "_noise": None}

    def __repr__(self) -> str:
        return f"<ReleasedFunction, {self.points_} points drawn>"

    @property
    def points_(self) -> int:
        """At how many points noise was drawn."""
        return len(self._q)

    def predict(self, X: Any) -> Doubles:
        """Predictions in the target's units; free."""
        codes = codes_of(X, self._task.kernel.domain)
        found = [self._chunk(codes[at:at + CHUNK]) for at in range(0, len(codes), CHUNK)]
        return np.concatenate([np.empty(0), *found])

    def _chunk(self, codes: npt.NDArray[np.uint16]) -> Doubles:
        points = coordinates(codes, self._task.kernel.domain)
        memory = self._memory
        if memory is None or not memory.open:
            weights = self._basis.weights(points)
        else:
            # [one-at-a-time] two threads that went on from the same numbers would do the same
            with memory.lock:
                weights = self._drawn(points, memory)
        if not len(self._basis):
            raise ParameterError("nothing was drawn while the session was open: ask the function "
                                 "at the points that matter before the session ends")
        numbers = np.array(self._task.grid.numbers(self._q[:weights.shape[1]]))
        return original(weights @ numbers, self._task.kernel.domain)

    def _drawn(self, points: Doubles, memory: Memory) -> Doubles:
        basis, weights = self._basis.extended(points)
        model = memory.model
        if len(basis) > len(self._basis) and model is not None:
            before = self._whole
            q, whole = fitting.sealed(
                lambda noise: drawn(model, noise, self._task, basis, before), self._noise)
            self._basis, self._q, self._whole = basis, self._q + q, whole
        return weights


def codes_of(X: Any, domain: Domain, *, one: bool = False) -> npt.NDArray[np.uint16]:
    """Queries on the domain's grid: public records, with or without a target.

    >>> from privsieve.core.domain import Domain
    >>> codes_of([0.5], Domain.box(0, 1, columns=1), one=True).tolist()
    [[32768]]
    """
    from dataclasses import replace

    from privsieve.core.batch import Batch
    from privsieve.sources import open_source, resolve
    from privsieve.sources.reader import batches

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
