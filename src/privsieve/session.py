"""Session: the only object that keeps rows in memory; each answer costs epsilon."""

from __future__ import annotations

import os
from dataclasses import MISSING, InitVar, replace
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from privsieve import fit as fitting
from privsieve.errors import DomainError, ParameterError
from privsieve.ledger.ledger import Ledger
from privsieve.methods import demand_equal_rows
from privsieve.methods.ridge import answers
from privsieve.methods.ridge.answers import MOST_QUERIES, Memory, Task
from privsieve.methods.ridge.dual import Basis, Kernel, Rounding, coordinates, target
from privsieve.methods.ridge.features import Doubles
from privsieve.methods.ridge.sensitivity import longest, sensitivity
from privsieve.noise.streams import Noise
from privsieve.public.domain import Domain, demand_grids
from privsieve.public.dropped import explain
from privsieve.public.option import as_given, estimator, number, option, read_options
from privsieve.public.plan import Cost, Plan
from privsieve.release import Regression, Release
from privsieve.rows import Source, open_source, resolve
from privsieve.rows.batch import Batch, batches


@estimator
class KernelRidgeSession:
    """Answer with predictions of a kernel ridge regression; each answer costs epsilon.

    The rows (X with y, in any form that `fit` takes) are read at the first answer, after its
    charge, and deleted when the session ends.  A session cannot be copied or pickled.  Its answers
    have noise and may be published.

    Examples
    --------
    >>> import privsieve as ps
    >>> X, y = [[0.0], [0.5], [1.0]], [0.0, 0.5, 1.0]
    >>> domain = ps.Domain.box(0, 1, target=(0, 1))
    >>> with KernelRidgeSession(X, y, kernel="linear", lam=0.1, domain=domain) as session:
    ...     answer = session.predict_one([0.25], epsilon=1)
    >>> 0 <= answer <= 1
    True
    """

    X: InitVar[Any] = option(default=MISSING, kw_only=False, says="the table")
    y: InitVar[Any] = option(default=None, kw_only=False,
                             says="the target, if X does not contain it")
    kernel: str = option(default="rbf", choices=("rbf", "linear"),
                         says="how the similarity of two records is measured")
    gamma: Any = option(default=1.0, read=number, says="the width of rbf; columns run from 0 to 1")
    lam: Any = option(
        default="0.1", read=number,
        says="the ridge; `methods.ridge.sensitivity.suggest_lambda` gets it from public numbers")
    domain: Domain | str | os.PathLike[str] = option(
        default=MISSING, read=as_given,
        says="the public facts, or the path of a domain file; the target is a number with bounds")
    ledger: Ledger | str | os.PathLike[str] | None = option(
        default=None, read=as_given,
        says="the ledger, which adds up all charges, or the path of a ledger of one population")

    def __post_init__(self, X: Any, y: Any) -> None:
        vars(self).update(read_options(type(self), vars(self)))
        public = Domain.of(self.domain)
        demand_equal_rows(public, "a kernel session")
        source = open_source(X, y, csv=public.csv)
        if public.person is not None or not public.replaces:
            raise DomainError('a session protects the replacement of one row; write unit = "row" '
                              'and neighbours = "replace-one" (to protect people, take a table '
                              "with one row for each person)")
        shape = source.shape(count_rows=True)
        domain = resolve(public, shape, strict=True)
        target(domain)
        demand_grids(domain)
        self._rows = domain.public_units(shape.rows)
        self._lam = Rounding.of(self.lam, self._rows).lam
        self._kernel = Kernel.of(domain, self.kernel, self.gamma)
        self._ledger = fitting.ledger_of(self.ledger)
        self._source: Source | None = source
        self._memory = Memory()
        self._noise: Noise | None = None
        self._answered: dict[tuple[bytes, str], float] = {}
        self._open = False
        self.release_: Release | None = None

    def __enter__(self) -> Self:
        """Open the session, once."""
        if self._source is None:
            raise ParameterError("this session has ended and its rows are deleted; open another")
        self._open = True
        return self

    def __exit__(self, *_: object) -> None:
        """Close the session."""
        self.close()

    def close(self) -> None:
        """Delete the rows."""
        self._open, self._source = False, None
        self._memory.forget()

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(explain(name, f"a KernelRidgeSession has no attribute {name!r}"))

    def __repr__(self) -> str:
        return f"<KernelRidgeSession, {'open' if self._open else 'closed'}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse copies, since a session holds rows."""
        raise TypeError("a session contains rows; it cannot be copied or pickled")

    def predict_one(self, x: Any, *, epsilon: object, allow_weak: bool = False) -> float:
        """Predict one record; repeating a question gives the same answer without cost.

        Parameters
        ----------
        x : a record, in the order of the domain's columns, or a table of one row.
        epsilon : the cost of the answer.
        allow_weak : accept an epsilon above 10.
        """
        cost = Cost.of(epsilon, allow_weak=allow_weak)
        codes = codes_of(x, self._kernel.domain, single=True)
        self._check()
        # [cached]
        known = codes.tobytes(), cost.text
        if known not in self._answered:
            points = coordinates(codes, self._kernel.domain)
            alone = Basis(self._kernel, points, np.ones((1, 1)))
            release = self._charged(self._task("one", cost, alone, np.ones((1, 1)), codes))
            self._answered[known] = _answers(release)[0]
        return self._answered[known]

    def predict_batch(self, X: Any, *, epsilon: object, allow_weak: bool = False) -> Doubles:
        """Predict the records of a table together, for one charge.

        The noise grows with the square root of the number of distinct records.
        """
        cost = Cost.of(epsilon, allow_weak=allow_weak)
        self._check()
        return np.array(_answers(self._charged(self._batch(X, cost))))

    def plan(self, X: Any, *, epsilon: object, allow_weak: bool = False) -> Plan:
        """Plan `predict_batch(X)` without reading rows or charging.

        One answer has the noise of a batch of one.
        """
        task = self._batch(X, Cost.of(epsilon, allow_weak=allow_weak))
        return answers.plan(task, Memory(keeps=False))  # a plan must not keep rows

    def _batch(self, X: Any, cost: Cost) -> Task:
        codes = codes_of(X, self._kernel.domain)
        if not 1 <= len(codes) <= MOST_QUERIES:
            raise ParameterError(f"there are {len(codes)} records; a batch takes 1 to "
                                 f"{MOST_QUERIES}: ask for fewer, or use PrivateKernelRidge")
        # Drop dimensions that add more noise than they explain of the longest function.
        noise = sensitivity(self._lam, self._rows) / cost.epsilon
        basis, weights = Basis.of(coordinates(codes, self._kernel.domain), self._kernel,
                                  float(noise / longest(self._lam)) ** 2)
        if not len(basis):
            raise ParameterError("rounding errors are too large for the kernel of these records; "
                                 "ask for other records, or choose a smaller gamma")
        return self._task("batch", cost, basis, weights, codes)

    def _task(self, kind: Any, cost: Cost, basis: Basis, weights: Doubles, codes: Any) -> Task:
        return Task(kind, self._kernel, self._lam, self._rows, cost, basis, weights, codes)

    def _charged(self, task: Task) -> Release:
        """Release the answers of a task by `fit.fit`."""
        assert self._source is not None
        self.release_ = fitting.fit(answers.plan(task, self._memory), self._source,
                                    ledger=self._ledger, noise=self._noise)
        return self.release_

    def _check(self) -> None:
        if not self._open:
            raise ParameterError("the session is not open; predict inside `with "
                                 "KernelRidgeSession(...) as session:`")


def codes_of(X: Any, domain: Domain, *, single: bool = False) -> npt.NDArray[np.uint16]:
    """Return queries on the domain's grid: public records, with or without a target.

    >>> codes_of([0.5], Domain.box(0, 1, columns=1), single=True).tolist()
    [[32768]]
    """
    if single and not hasattr(X, "columns") and np.ndim(X) == 1:
        X = [list(X)]
    public = replace(domain, target=None, rows=None)
    source = open_source(X, csv=domain.csv)
    resolve(public, source.shape(count_rows=False), strict=False)
    read = list(batches(source, public, rows=None, entropy=bytes))
    codes = Batch.concat([Batch.empty(len(domain.columns)), *read]).codes
    if single and len(codes) != 1:
        raise ParameterError(f"there are {len(codes)} records; predict_one takes exactly one")
    return codes


def _answers(release: Release) -> list[float]:
    return [float(text) for text in Regression.read(release.body).answers or ()]
