"""PrivateKernelRidge as scikit-learn knows it: a regressor that keeps its release alone."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from privsieve.errors import SchemaError
from privsieve.methods.estimator import Estimator
from privsieve.methods.ridge import RidgeOptions
from privsieve.methods.ridge.ridge import Released
from privsieve.public.option import estimator
from privsieve.release import Release
from privsieve.rows import Source, open_source, resolve
from privsieve.rows.source import fold, names_of


@estimator
class PrivateKernelRidge(RegressorMixin, Estimator, RidgeOptions):  # type: ignore[misc]  # untyped
    """Least squares under pure epsilon-DP: one charge at `fit`, and predictions free for ever.

    Predictions are made from the release alone.

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(40_000.0).reshape(10_000, 4) % 97 / 97
    >>> domain = ps.Domain.box(0.0, 1.0, target=(0, 100))
    >>> model = ps.PrivateKernelRidge("linear", epsilon=5, domain=domain).fit(X, 100 * X[:, 2])
    >>> int(model.feature_importances_.argmax())
    2
    """

    method = "kernel-ridge"
    way_out = ("bounds have to be public facts; give domain=Domain([...], target=Number(name, "
               "low, high)) or, for an array, domain=Domain.box(low, high, target=(0, 100))")

    @classmethod
    def of_release(cls, release: Release) -> Self:
        """A fitted model from a release that was loaded; it predicts, and knows its columns."""
        Released.of(release)  # refuses what is no regression
        return super().of_release(release)

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """A prediction for each row, from the release alone: free, as often as you like."""
        check_is_fitted(self, "release_")
        if getattr(X, "ndim", 2) == 1:
            raise SchemaError("X has one dimension; a table has two.  Reshape your data: "
                              "X.reshape(1, -1) for one row, X.reshape(-1, 1) for one column")
        model = Released.of(self.release_)
        X = self._columns(X)
        source = open_source(X)
        resolve(model.domain, source.shape(count_rows=False), strict=False)
        return model.predict(source)

    @property
    def weights_(self) -> npt.NDArray[np.float64]:
        """The released weights, in half ranges of the target."""
        check_is_fitted(self, "release_")
        return Released.of(self.release_).weights

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """For each column of the domain the length of its released weights; "rbf" has none."""
        check_is_fitted(self, "release_")
        model = Released.of(self.release_).lengths()
        if model is None:
            raise AttributeError('kernel="rbf" mixes all columns in each feature, so that no '
                                 'column has weights of its own; take "linear", "cosine" or '
                                 '"polynomial"')
        order = [self.release_.columns.index(name) for name in self._names()]
        return model[order]

    @property
    def ranking_(self) -> npt.NDArray[np.int64]:
        """For each column its place by the length of its released weights; 1 is the longest."""
        lengths = self.feature_importances_
        place = np.empty(len(lengths), np.int64)
        place[np.argsort(-lengths, kind="stable")] = np.arange(1, len(lengths) + 1)
        return place

    def _columns(self, X: Any) -> Any:
        """X without target and person; refused where its columns are not those of `fit`."""
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags
