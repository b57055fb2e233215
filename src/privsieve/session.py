"""KernelRidgeSession: the one object that holds rows, and answers for a price."""

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
    """Predictions of a kernel ridge regression, each for a price; what was paid for may leave.

    The rows (X with y, in any form that `fit` takes) are read at the first answer, after its
    charge, and forgotten when the session ends.  It is neither copied nor pickled.  What it
    returns has noise and may be shown.

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
                             says="the target, where X does not hold it")
    kernel: str = option(default="rbf", choices=("rbf", "linear"),
                         says="how alike two records are")
    gamma: Any = option(default=1.0, read=number, says="of rbf, for columns scaled to a range of 1")
    lam: Any = option(
        default="0.1", read=number,
        says="the ridge; `methods.ridge.sensitivity.suggest_lambda` names one from public numbers")
    domain: Domain | str | os.PathLike[str] = option(
        default=MISSING, read=as_given,
        says="what is public, or the path of a domain file; the target is a number with bounds")
    ledger: Ledger | str | os.PathLike[str] | None = option(
        default=None, read=as_given,
        says="who keeps the sum of what is spent, or the path of a ledger of one population")

    def __post_init__(self, X: Any, y: Any) -> None:
        vars(self).update(read_options(type(self), vars(self)))
        public = Domain.of(self.domain)
        demand_equal_rows(public, "a kernel session")
        source = open_source(X, y, csv=public.csv)
        if public.person is not None or not public.replaces:
            raise DomainError('a session protects one row that is replaced: its domain has unit = '
                              '"row" and neighbours = "replace-one"; for persons take a table with '
                              "one row for each")
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
        self._asked: dict[tuple[bytes, str], float] = {}
        self._open = False
        self.release_: Release | None = None

    def __enter__(self) -> Self:
        """Open the session; it opens once."""
        if self._source is None:
            raise ParameterError("this session has ended and its rows are forgotten; make another")
        self._open = True
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Forget the rows."""
        self._open, self._source = False, None
        self._memory.forget()

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(explain(name, f"a KernelRidgeSession has no attribute {name!r}"))

    def __repr__(self) -> str:
        return f"<KernelRidgeSession, {'open' if self._open else 'closed'}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse: a session holds rows."""
        raise TypeError("a session holds rows; it is neither copied nor pickled")

    def predict_one(self, x: Any, *, epsilon: object, allow_weak: bool = False) -> float:
        """A prediction for one record; the same question again has the same answer, for nothing.

        Parameters
        ----------
        x : one record, in the order of the domain's columns, or a table of one row.
        epsilon : what the answer costs.
        allow_weak : accept an epsilon above 10.
        """
        cost = Cost.of(epsilon, allow_weak=allow_weak)
        codes = codes_of(x, self._kernel.domain, one=True)
        self._check()
        # [cached]
        known = codes.tobytes(), cost.text
        if known not in self._asked:
            points = coordinates(codes, self._kernel.domain)
            alone = Basis(self._kernel, points, np.ones((1, 1)))
            release = self._charged(self._task("one", cost, alone, np.ones((1, 1)), codes))
            self._asked[known] = _answers(release)[0]
        return self._asked[known]

    def predict_batch(self, X: Any, *, epsilon: object, allow_weak: bool = False) -> Doubles:
        """Predictions for the records of a table, together: one charge.

        The noise grows with the square root of how many records are not much like others.
        """
        cost = Cost.of(epsilon, allow_weak=allow_weak)
        self._check()
        return np.array(_answers(self._charged(self._batch(X, cost))))

    def plan(self, X: Any, *, epsilon: object, allow_weak: bool = False) -> Plan:
        """What `predict_batch(X)` would cost and bring; it reads no row and charges nothing.

        One answer has the noise of a batch of one.
        """
        task = self._batch(X, Cost.of(epsilon, allow_weak=allow_weak))
        return answers.plan(task, Memory(keeps=False))  # what is kept of a plan holds no row

    def _batch(self, X: Any, cost: Cost) -> Task:
        codes = codes_of(X, self._kernel.domain)
        if not 1 <= len(codes) <= MOST_QUERIES:
            raise ParameterError(f"{len(codes)} records are asked for; a batch has 1 to "
                                 f"{MOST_QUERIES}: ask for fewer, or take PrivateKernelRidge")
        # Of the longest function a dimension explains the more, the less noise it brings.
        noise = sensitivity(self._lam, self._rows) / cost.epsilon
        basis, weights = Basis.of(coordinates(codes, self._kernel.domain), self._kernel,
                                  float(noise / longest(self._lam)) ** 2)
        if not len(basis):
            raise ParameterError("the kernel of these records is too close to rounding to answer "
                                 "them; ask for other records, or choose a smaller gamma")
        return self._task("batch", cost, basis, weights, codes)

    def _task(self, kind: Any, cost: Cost, basis: Basis, weights: Doubles, codes: Any) -> Task:
        return Task(kind, self._kernel, self._lam, self._rows, cost, basis, weights, codes)

    def _charged(self, task: Task) -> Release:
        """One release, by the one order of statements: plan, charge, rows, noise, release."""
        assert self._source is not None
        self.release_ = fitting.fit(answers.plan(task, self._memory), self._source,
                                    ledger=self._ledger, noise=self._noise)
        return self.release_

    def _check(self) -> None:
        if not self._open:
            raise ParameterError("the session is not open: ask inside of `with "
                                 "KernelRidgeSession(...) as session:`")


def codes_of(X: Any, domain: Domain, *, one: bool = False) -> npt.NDArray[np.uint16]:
    """Queries on the domain's grid: public records, with or without a target.

    >>> codes_of([0.5], Domain.box(0, 1, columns=1), one=True).tolist()
    [[32768]]
    """
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


def _answers(release: Release) -> list[float]:
    return [float(text) for text in Regression.read(release.body).answers or ()]
