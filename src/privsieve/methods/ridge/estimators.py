"""PrivateKernelRidge as scikit-learn knows it: a regressor that keeps its release alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from privsieve import fit as fitting
from privsieve.errors import DomainError, ParameterError, SchemaError
from privsieve.methods.ridge import ridge
from privsieve.methods.ridge.released import Released
from privsieve.public.domain import Box, Domain
from privsieve.public.plan import Plan
from privsieve.release import Release
from privsieve.rows.source import fold

if TYPE_CHECKING:
    from privsieve.ledger.ledger import Ledger

__all__ = ["PrivateKernelRidge"]


class PrivateKernelRidge(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # untyped
    """Least squares under pure epsilon-DP: one charge at `fit`, and predictions free for ever.

    A fitted one holds its parameters, `n_features_in_`, `feature_names_in_` (for named columns)
    and `release_`, and nothing else; predictions are made from the release.

    Parameters
    ----------
    kernel : "rbf", "linear", "cosine" or "polynomial"
        what a prediction may look like.
    gamma : number, optional
        of "rbf": exp(-gamma |x - x'|^2) on columns from 0 to 1; None: one over their number.
    degree : int, optional
        of "polynomial" the largest power (2), of "cosine" the number of waves (3).
    features, feature_seed : int
        of "rbf": how many cosines and sines, and the public seed of their frequencies.
    epsilon : number or text
        what this release costs.
    delta : number or text
        what it may cost beyond: less noise where there are many features.
    lam : number or "auto"
        how strongly the model is held small; the noise falls fast where it grows.  "auto" takes
        the smallest expected error, from public numbers.
    domain : Domain
        the public facts about the table; its target is a number with bounds.
    ledger : Ledger, optional
        who keeps the sum over all releases.

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(40_000.0).reshape(10_000, 4) % 97 / 97
    >>> domain = ps.Domain.box(0.0, 1.0, target=(0, 100))
    >>> model = ps.PrivateKernelRidge("linear", epsilon=5, domain=domain).fit(X, 100 * X[:, 2])
    >>> int(model.feature_importances_.argmax())
    2
    """

    release_: Release
    n_features_in_: int

    def __init__(
        self,
        kernel: str = "rbf",
        *,
        gamma: object = None,
        degree: int | None = None,
        features: int = 200,
        feature_seed: int = 0,
        epsilon: object = None,
        delta: object = 0,
        lam: object = "auto",
        domain: Domain | None = None,
        ledger: Ledger | None = None,
        allow_weak: bool = False,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.features = features
        self.feature_seed = feature_seed
        self.epsilon = epsilon
        self.delta = delta
        self.lam = lam
        self.domain = domain
        self.ledger = ledger
        self.allow_weak = allow_weak

    def plan(self, *, rows: int | None = None, domain: Domain | None = None) -> Plan:
        """Cost, settings and forecast; reads no row."""
        found = domain or self._domain()
        if isinstance(found, Box) and hasattr(self, "n_features_in_"):
            found = found.of_width([f"x{j}" for j in range(self.n_features_in_)])
        return self._plan(found, rows)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Charge, read, release.  Each call is a release of its own.

        Parameters
        ----------
        X : a frame, an array, a path, or a `Source`
            the table; a frame may hold the target.
        y : array, optional
            the target, where X does not hold it.
        """
        from privsieve.rows import open_source, resolve
        from privsieve.rows.source import names_of

        domain = self._domain()
        source = open_source(X, y, csv=domain.csv)
        shape = source.shape(count_rows=domain.rows_are_public)
        domain = resolve(domain, shape, strict=True)
        if shape.rows == 1:
            raise ParameterError("the table has one row (n_samples = 1); a model of rows needs at "
                                 "least 2")
        plan = self._plan(domain, shape.rows)
        self.release_ = fitting.fit(plan, source, ledger=self.ledger)
        self.n_features_in_ = len(domain.columns)
        self._remember(names_of(X), domain)
        return self

    @classmethod
    def of_release(cls, release: Release) -> Self:
        """A fitted model from a release that was loaded; it predicts, and knows its columns.

        Parameters
        ----------
        release : Release
            what `ps.load(folder)` gives.
        """
        Released.of(release)  # refuses what is no regression
        made = cls()
        made.release_ = release
        made.n_features_in_ = len(release.columns)
        return made

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """A prediction for each row, from the release alone: free, as often as you like."""
        from privsieve.rows import open_source, resolve

        check_is_fitted(self, "release_")
        if getattr(X, "ndim", 2) == 1:
            raise SchemaError("X has one dimension; a table has two.  Reshape your data: "
                              "X.reshape(1, -1) for one row, X.reshape(-1, 1) for one column")
        found = Released.of(self.release_)
        X = self._columns(X)
        source = open_source(X)
        resolve(found.domain, source.shape(count_rows=False), strict=False)
        return found.predict(source)

    @property
    def weights_(self) -> npt.NDArray[np.float64]:
        """The released weights, in half ranges of the target."""
        check_is_fitted(self, "release_")
        return Released.of(self.release_).weights

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """For each column of the domain the length of its released weights; "rbf" has none."""
        check_is_fitted(self, "release_")
        found = Released.of(self.release_).lengths()
        if found is None:
            raise AttributeError('kernel="rbf" mixes all columns in each feature, so that no '
                                 'column has weights of its own; take "linear", "cosine" or '
                                 '"polynomial"')
        order = [self.release_.columns.index(name) for name in self._names()]
        return found[order]

    @property
    def ranking_(self) -> npt.NDArray[np.int64]:
        """For each column its place by the length of its released weights; 1 is the longest."""
        lengths = self.feature_importances_
        place = np.empty(len(lengths), np.int64)
        place[np.argsort(-lengths, kind="stable")] = np.arange(1, len(lengths) + 1)
        return place

    def _columns(self, X: Any) -> Any:
        """X without target and person; refused where its columns are not those of `fit`."""
        from privsieve.rows import Source
        from privsieve.rows.source import names_of

        names = names_of(X)
        domain: Any = self.release_.body["domain"]
        others = {fold(name) for name in (domain["target"]["name"], domain["person"]) if name}
        if extra := [name for name in names or () if fold(name) in others]:
            X = (X.drop_columns(extra) if hasattr(X, "drop_columns")
                 else X.drop(columns=extra) if hasattr(X, "iloc") else X.drop(extra))
        # A file, or any table for a release that was loaded, goes by names, in any order.
        whole = isinstance(X, (str, os.PathLike, Source))
        if not whole and (names is None or hasattr(self, "feature_names_in_")):
            validate_data(self, X, reset=False, skip_check_array=True)
        return X

    def _names(self) -> list[str]:
        """The domain's names in the order of the frame that was fitted."""
        known = {fold(name): name for name in self.release_.columns}
        return [known[fold(name)] for name in getattr(self, "feature_names_in_",
                                                      self.release_.columns)]

    def _plan(self, domain: Domain, rows: int | None) -> Plan:
        options: dict[str, Any] = self.get_params(deep=False)
        del options["domain"], options["ledger"]
        return ridge.plan(domain, rows=rows, **options)

    def _domain(self) -> Domain:
        if self.domain is None:
            raise DomainError("no domain is given: bounds have to be public facts; give "
                              "domain=Domain([...], target=Number(name, low, high)) or, for an "
                              "array, domain=Domain.box(low, high, target=(0, 100))")
        return self.domain

    def _remember(self, names: tuple[str, ...] | None, domain: Domain) -> None:
        """The names of a frame in its order and spelling; none where it had none."""
        if names is not None:
            known = set(map(fold, domain.names))
            self.feature_names_in_ = np.array([name for name in names if fold(name) in known],
                                              dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.target_tags.required = True
        tags.regressor_tags.poor_score = True
        tags.non_deterministic = True
        return tags
