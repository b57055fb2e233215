"""Estimators: the private methods in the interface of scikit-learn.

There is a class for each kind of release.  The estimator of a method is made at its first use, from
the class of its kind and from its options, which define the constructor and the docstring.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import new_class
from typing import TYPE_CHECKING, Any, ClassVar, Self, dataclass_transform

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from privsieve import fit as fitting
from privsieve.errors import DomainError, ParameterError, SchemaError
from privsieve.ledger.ledger import Ledger
from privsieve.methods import METHODS, options_of, plan
from privsieve.methods.histogram.released import CountTable, cell_names
from privsieve.methods.ridge.ridge import Released
from privsieve.public.canonical import read_flag
from privsieve.public.domain import Box, Domain
from privsieve.public.option import current, estimator, option
from privsieve.public.plan import Plan
from privsieve.public.printed import PrintedEstimator
from privsieve.release import ColumnWeights, Histogram, Kind, Regression, Release, Selection
from privsieve.rows import Source, open_source, resolve
from privsieve.rows.room import Room
from privsieve.rows.source import fold, names_of, typed

#: Parameters of a run, which are not options of a method and do not change a release.
_OF_RUNS = ("domain", "ledger", "max_memory", "n_jobs", "allow_copies")
_COPY = ("this estimator is a copy (cross_val_score, GridSearchCV, ColumnTransformer and clone "
         "make copies), and each fit of a copy costs epsilon again; nothing was charged.  Fit the "
         "estimator once and search on its transform(X), or write allow_copies=True")


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option,))
@estimator
class Estimator(PrintedEstimator, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """The base class of private estimators: options, `plan` and `fit`.

    A fitted estimator holds its parameters, `n_features_in_`, `feature_names_in_` (for named
    columns) and `release_`, and nothing else.
    """

    domain: Domain | str | os.PathLike[str] | None = option(
        default=None, says="the public facts about the table, or the path of a domain file")
    ledger: Ledger | str | os.PathLike[str] | None = option(
        default=None, says="the ledger, which adds up all releases, or the path of a ledger of "
                           "one population")
    max_memory: int | str | None = option(
        default=None, says="the memory of a release beside Python, in bytes or as 2GB; by default "
                           "half of the free memory.  Rows that do not fit are kept in a private "
                           "file")
    n_jobs: int | None = option(
        default=None, says="the threads that work on the rows; by default one for each core")
    allow_copies: bool = option(
        default=False, says="fit copies too, as cross_val_score and searches make them; each fit "
                            "is another release and costs epsilon again")

    #: Whether scikit-learn made this estimator as a copy of another one.
    _is_copy = False
    #: The name of the method in the registry (`methods.plan`).
    method: ClassVar[str]
    #: What to do without a domain.
    way_out: ClassVar[str] = ("bounds and classes must be public facts; give "
                              "domain=Domain([...]) or, for an array, domain=Domain.box(low, high)")
    supervised: ClassVar[bool] = True

    def options(self) -> dict[str, Any]:
        """Return the options for `methods.plan`."""
        options: dict[str, Any] = self.get_params(deep=False)
        return {name: value for name, value in options.items() if name not in _OF_RUNS}

    def set_params(self, **params: Any) -> Self:
        """Change parameters; `k` is the number of columns, as for the constructor."""
        super().set_params(**current(type(self), params))
        return self

    def plan(self, *, rows: int | None = None,
             domain: Domain | str | os.PathLike[str] | None = None) -> Plan:
        """Return cost, settings and forecast, without reading rows."""
        public = self._public(domain)
        if isinstance(public, Box) and hasattr(self, "n_features_in_"):
            public = public.of_width([f"x{j}" for j in range(self.n_features_in_)])
        return plan(self.method, public, rows=rows, **self.options())

    def fit(self, X: Any, y: Any = None, **metadata: Any) -> Self:
        """Charge the ledger, read the rows, and release.  Each call is a new release.

        Parameters
        ----------
        X : a frame, an array, a path, or a `Source`
            the table; a frame may contain the target.
        y : array, optional
            the target, if X does not contain it.
        **metadata : refused
            weights of rows are a column, which the domain names with its largest value.
        """
        _demand_none(metadata)
        if self._is_copy and not read_flag(self.allow_copies, "allow_copies"):
            raise ParameterError(_COPY)
        domain = self._public(None)
        source = open_source(X, y, csv=domain.csv)
        shape = source.shape(count_rows=domain.rows_are_public)
        domain = resolve(domain, shape, strict=True)
        if shape.rows == 1:
            raise ParameterError("the table has one row (n_samples = 1); a release needs at least "
                                 "2 rows")
        planned = plan(self.method, domain, rows=shape.rows, **self.options())
        self.release_ = fitting.fit(planned, source, ledger=fitting.ledger_of(self.ledger),
                                    room=Room.usual(self.max_memory, self.n_jobs))
        self.n_features_in_ = len(domain.columns)
        self._remember(names_of(X), domain)
        return self

    @classmethod
    def of_release(cls, release: Release) -> Self:
        """Return a fitted estimator of a release, as `ps.load(folder)` reads it."""
        fitted = cls()
        fitted.release_ = release
        fitted.n_features_in_ = len(release.columns)
        return fitted

    def __sklearn_clone__(self) -> Self:
        copy: Self = super().__sklearn_clone__()
        copy._is_copy = True
        return copy

    def _remember(self, names: tuple[str, ...] | None, domain: Domain) -> None:
        """Store the names of a frame in its order and spelling, if it has names."""
        if names is not None:
            known = set(map(fold, domain.names))
            self.feature_names_in_ = np.array([name for name in names if fold(name) in known],
                                              dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _order(self) -> list[int]:
        """Return the places of the release's columns, in the order of the fitted frame."""
        columns = self.release_.columns
        place = {fold(name): j for j, name in enumerate(columns)}
        return [place[fold(name)] for name in getattr(self, "feature_names_in_", columns)]

    def _public(self, domain: Domain | str | os.PathLike[str] | None) -> Domain:
        public = domain or self.domain
        if public is None:
            raise DomainError(f"no domain is given: {self.way_out}")
        return Domain.of(public)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.target_tags.required = self.supervised
        tags.non_deterministic = True
        return tags


class Selector(SelectorMixin, Estimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Select columns; `transform` returns private rows, for the holder of the table."""

    def transform(self, X: Any) -> Any:
        """Return the selected columns of X: private rows, for the holder of the table."""
        check_is_fitted(self, "release_")
        return typed(super().transform(X), X)

    def get_support(self, indices: bool = False) -> npt.NDArray[Any]:  # noqa: FBT001, FBT002  # scikit-learn's
        """Return a mask of the selected columns, or their places."""
        support: npt.NDArray[Any] = super().get_support(indices)
        return support

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the names of the selected columns; for an array, those of the domain."""
        mask = self._get_support_mask()
        if input_features is None and not hasattr(self, "feature_names_in_"):
            return np.array(self.release_.columns, dtype=object)[mask]
        names: npt.NDArray[Any] = super().get_feature_names_out(input_features)
        return names

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self, "release_")
        chosen = set(map(fold, self.release_.selected))
        names = getattr(self, "feature_names_in_", self.release_.columns)
        return np.array([fold(name) in chosen for name in names])


class WeightSelector(Selector):
    """Release a noisy weight of each column, and select columns by these weights."""

    @property
    def weights_(self) -> npt.NDArray[np.float64]:
        """Return the released weights, in the order of the fitted columns."""
        check_is_fitted(self, "release_")
        return np.array(ColumnWeights.read(self.release_.body).values.doubles)[self._order()]


class Regressor(RegressorMixin, Estimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Predict with a released model; predictions cost nothing."""

    way_out = ("bounds must be public facts; give domain=Domain([...], target=Number(name, "
               "low, high)) or, for an array, domain=Domain.box(low, high, target=(0, 100))")

    @classmethod
    def of_release(cls, release: Release) -> Self:
        """Return a fitted model of a loaded release."""
        Released.of(release)  # refuses other kinds of releases
        return super().of_release(release)

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Predict each row from the release alone, without cost."""
        check_is_fitted(self, "release_")
        if getattr(X, "ndim", 2) == 1:
            raise SchemaError("X has one dimension; a table has two.  Reshape your data: "
                              "X.reshape(1, -1) for one row, X.reshape(-1, 1) for one column")
        return Released.of(self.release_).predict(self._columns(X))

    @property
    def weights_(self) -> npt.NDArray[np.float64]:
        """Return the released weights, in half ranges of the target."""
        check_is_fitted(self, "release_")
        return Released.of(self.release_).weights

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """Return the length of each column's released weights; "rbf" has none."""
        check_is_fitted(self, "release_")
        lengths = Released.of(self.release_).lengths()
        if lengths is None:
            raise AttributeError('kernel="rbf" mixes all columns in each feature, so columns have '
                                 'no weights; use "linear" or "cosine"')
        return lengths[self._order()]

    @property
    def ranking_(self) -> npt.NDArray[np.int64]:
        """Return each column's place by the length of its released weights; 1 is the longest."""
        lengths = self.feature_importances_
        place = np.empty(len(lengths), np.int64)
        place[np.argsort(-lengths, kind="stable")] = np.arange(1, len(lengths) + 1)
        return place

    def _columns(self, X: Any) -> Any:
        """Return X without target and person; refuse other columns than those of `fit`."""
        names = names_of(X)
        domain: Any = self.release_.body["domain"]
        others = {fold(name) for name in (domain["target"]["name"], domain["person"]) if name}
        if extra := [name for name in names or () if fold(name) in others]:
            X = (X.drop_columns(extra) if hasattr(X, "drop_columns")
                 else X.drop(columns=extra) if hasattr(X, "iloc") else X.drop(extra))
        # In a file, and after loading a release, columns are matched by name, in any order.
        whole = isinstance(X, (str, os.PathLike, Source))
        if not whole and (names is None or hasattr(self, "feature_names_in_")):
            validate_data(self, X, reset=False, skip_check_array=True)
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


class Tabulator(Estimator):
    """Release a table of counts; margins and synthetic rows of it do not cost more."""

    way_out = "bounds and classes must be public facts; give domain=Domain([...])"
    supervised = False

    @classmethod
    def of_release(cls, release: Release) -> Self:
        """Return the fitted table of a release, as `ps.load` reads it."""
        CountTable.of(release.body)  # refuses other kinds of releases
        return super().of_release(release)

    @property
    def counts_(self) -> npt.NDArray[np.int64]:
        """Return the table of counts, at least 0, with an axis for each column and the target."""
        table = self._table()
        return table.marginal([axis.name for axis in table.axes])

    def marginal(self, names: Sequence[str] | str) -> npt.NDArray[np.int64]:
        """Return the counts over some columns, with an axis for each, in this order."""
        return self._table().marginal([names] if isinstance(names, str) else names)

    def cells(self, name: str) -> list[str]:
        """Return the names of a column's cells, in order."""
        table = self._table()
        return cell_names(table.axes[table.axis(name)])

    def sample(self, n: int, *, as_frame: bool = False) -> Any:
        """Draw synthetic rows: a mapping from names to arrays, or a pandas frame.

        They follow from the release alone and do not cost anything.  Each call draws new rows with
        the system's randomness.
        """
        # Post-processing of a release: the noise of the mechanism is not involved.
        rows = self._table().sample(n, np.random.default_rng())
        if not as_frame:
            return rows
        import pandas as pd

        return pd.DataFrame(rows)

    def _table(self) -> CountTable:
        check_is_fitted(self, "release_")
        return CountTable.of(self.release_.body)


def _demand_none(metadata: Mapping[str, Any]) -> None:
    """Refuse `sample_weight`, which has no declared bound, and unknown arguments."""
    if "sample_weight" in metadata:
        raise ParameterError(
            "sample_weight has no public maximum, so one row could change a sum without limit; "
            "nothing was charged.  Keep the weights as a column of the table instead, and name it "
            "in the domain (weight = and weight_max = in [table])")
    for name in metadata:
        raise TypeError(f"fit() got an unexpected keyword argument {name!r}")


#: The base class of a method's estimator, by the kind of its release.
FACES: Mapping[type[Kind], type[Estimator]] = {
    Selection: Selector, ColumnWeights: WeightSelector, Regression: Regressor,
    Histogram: Tabulator}

if TYPE_CHECKING:
    from privsieve.methods import block_fwell, felp, noisy_top_k, objective_fwell, output_fwell
    from privsieve.methods import rule_sieve as sieve
    from privsieve.methods.histogram import noisy_histogram
    from privsieve.methods.ridge import ridge

    class RuleSieve(Selector, sieve.RuleSieveOptions):
        """As its options say."""

    class NoisyTopK(Selector, noisy_top_k.NoisyTopKOptions):
        """As its options say."""

    class BlockFWELL(Selector, block_fwell.BlockFWELLOptions):
        """As its options say."""

    class OutputFWELL(WeightSelector, output_fwell.OutputFWELLOptions):
        """As its options say."""

    class ObjectiveFWELL(WeightSelector, objective_fwell.ObjectiveFWELLOptions):
        """As its options say."""

    class FELP(WeightSelector, felp.FELPOptions):
        """As its options say."""

    class PrivateKernelRidge(Regressor, ridge.PrivateKernelRidgeOptions):
        """As its options say."""

    class NoisyHistogram(Tabulator, noisy_histogram.NoisyHistogramOptions):
        """As its options say."""


def __getattr__(name: str) -> type[Estimator]:
    """Make the estimator of a method at its first use."""
    for method, (_file, own) in METHODS.items():
        if own == name:
            globals()[name] = kind = estimator_of(method)
            return kind
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def estimator_of(method: str) -> type[Estimator]:
    """Make the estimator of a method from the class of its kind and its options.

    >>> estimator_of("felp").__mro__[1].__name__
    'WeightSelector'
    """
    options = options_of(method)
    body = {"method": method, "__doc__": options.__doc__, "__module__": __name__}
    kind: type[Estimator] = new_class(
        METHODS[method][1], (FACES[options.kind], options), exec_body=lambda own: own.update(body))
    return estimator(kind)
