"""The originals in scikit-learn's manner.  They are NOT private: what they say is of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from privsieve.errors import ParameterError, SchemaError
from privsieve.kernels.nearest import LARGEST, METRICS
from privsieve.local.fwell import Weights, ensemble, fwell, sample_size
from privsieve.local.limits import ridge
from privsieve.local.margins import I64, spread

if TYPE_CHECKING:
    from privsieve.kernels.nearest import F64, I32, Metric

__all__ = ["FWELL", "FWELLEnsemble", "Original"]


class Original(SelectorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """What both originals are: `fit` written once; the weights are the rows' own, and no noise.

    A fitted one holds its parameters, `weights_`, `error_` (the exact weights are no farther),
    `n_features_in_` and `feature_names_in_` (for frames).
    """

    n_features_to_select: Any
    lam: float
    metric: Metric
    categorical_features: Any
    verbose: int
    weights_: F64
    error_: float
    n_features_in_: int

    def _weights(self, X: F64, label: I32, begins: I64 | None) -> Weights:
        raise NotImplementedError

    def fit(self, X: Any, y: Any) -> Self:
        """Weigh the columns.

        Parameters
        ----------
        X : array, sparse matrix or frame
            numbers, and none missing; sparse input is made dense.
        y : labels
            the class of each row; any number of classes.
        """
        _demand_number("lam", self.lam, above=0)
        ridge(float(self.lam))
        if self.metric not in METRICS:
            raise ParameterError(f"metric is {self.metric!r}; write one of {', '.join(METRICS)}")
        table, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64,
                                 ensure_min_samples=2)
        wanted(self.n_features_to_select, np.zeros(table.shape[1]))  # before the work
        table = np.ascontiguousarray(table.toarray() if hasattr(table, "toarray") else table)
        _demand_table(table, self.metric)
        chosen = self._categories()
        coded, begins = spread(table, chosen) if chosen else (table, None)
        self.weights_, self.error_ = self._weights(coded, _classes(y), begins)
        return self

    def _categories(self) -> set[int]:
        """Positions of the columns whose values are only equal or not."""
        asked = [] if self.categorical_features is None else list(self.categorical_features)
        names = list(getattr(self, "feature_names_in_", ()))
        found = {names.index(one) if one in names else one for one in asked}
        wrong = [one for one in found if isinstance(one, bool)
                 or not isinstance(one, (int, np.integer)) or not 0 <= one < self.n_features_in_]
        if wrong:
            raise ParameterError(f"categorical_features has {wrong[0]!r}; write positions from 0 "
                                 f"to {self.n_features_in_ - 1}, or names of a frame's columns")
        if found and self.metric != "manhattan":
            raise ParameterError(f"categorical_features goes with metric 'manhattan', and metric "
                                 f"is {self.metric!r}; leave one of them away")
        return {int(one) for one in found}

    def transform(self, X: Any) -> Any:
        """The chosen columns of X."""
        check_is_fitted(self, "weights_")
        return super().transform(X)

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self, "weights_")
        mask = np.zeros(len(self.weights_), bool)
        mask[wanted(self.n_features_to_select, self.weights_)] = True
        return mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


class FWELL(Original):
    """Weigh columns by local learning.  NOT private: use it on public rows only.

    Of each row it looks for the nearest row of the same class and the nearest of another, and
    finds the weights under which the second is farther than the first.  One row can move all
    weights, and what is chosen may tell of a person.  `BlockFWELL` is the private selector by
    the same idea; `RuleSieve` is private and needs fewer rows.

    Parameters
    ----------
    n_features_to_select : int, float or "positive"
        how many columns, which fraction of them (at least one), or all that have a weight above
        zero (at least one).
    lam : number
        how strongly weights are held small; from 1e-6 to 1e6.
    metric : "manhattan", "euclidean" or "hamming"
        what is near; "hamming" takes columns of 0 and 1.  Columns of different size should be
        scaled before.
    categorical_features : list of positions or names, optional
        with "manhattan", columns whose values are only equal or different: 1 apart, or 0.  Scale
        the others to a range of 1.
    verbose : int
        1 to say on stderr how far the search for neighbours is, where it takes long; 0 for
        silence.

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(400.0).reshape(100, 4) * [1, 7, 3, 9] % 97 / 97
    >>> ps.FWELL(1).fit(X, X[:, 2] > 0.5).get_support()
    array([False, False,  True, False])
    """

    def __init__(
        self,
        n_features_to_select: float | Literal["positive"] = 0.1,
        *,
        lam: float = 0.01,
        metric: Metric = "manhattan",
        categorical_features: Sequence[int | str] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.lam = lam
        self.metric = metric
        self.categorical_features = categorical_features
        self.verbose = verbose

    def _weights(self, X: F64, label: I32, begins: I64 | None) -> Weights:
        return fwell(X, label, float(self.lam), self.metric, verbose=self.verbose, begins=begins)


class FWELLEnsemble(Original):
    """The mean of FWELL's weights over samples of the rows.  NOT private, as FWELL is not.

    The samples are drawn by `random_state`, so that it can be repeated; nothing here is noise.
    For private rows take `BlockFWELL` or `RuleSieve`.

    Parameters
    ----------
    n_features_to_select, lam, metric, categorical_features, verbose
        as in `FWELL`.
    resamples : int
        how many samples are drawn.
    beta : number
        rows of a sample, as a share of all; above 0, and at most 1.
    replace : bool
        whether a row may be drawn twice.  It then counts twice, and is no neighbour of itself.
    random_state : int, RandomState or None
        who draws.

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(400.0).reshape(100, 4) * [1, 7, 3, 9] % 97 / 97
    >>> ps.FWELLEnsemble(1, random_state=0).fit(X, X[:, 2] > 0.5).get_support()
    array([False, False,  True, False])
    """

    def __init__(
        self,
        n_features_to_select: float | Literal["positive"] = 0.1,
        *,
        lam: float = 0.01,
        metric: Metric = "manhattan",
        categorical_features: Sequence[int | str] | None = None,
        resamples: int = 20,
        beta: float = 0.9,
        replace: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.lam = lam
        self.metric = metric
        self.categorical_features = categorical_features
        self.resamples = resamples
        self.beta = beta
        self.replace = replace
        self.random_state = random_state
        self.verbose = verbose

    def _weights(self, X: F64, label: I32, begins: I64 | None) -> Weights:
        many: Any = self.resamples
        if isinstance(many, bool) or not isinstance(many, (int, np.integer)) or many < 1:
            raise ParameterError(f"resamples is {many!r}; write a whole number from 1")
        _demand_number("beta", self.beta, above=0, most=1)
        random, n, replace = check_random_state(self.random_state), len(X), bool(self.replace)
        size = sample_size(n, self.beta)
        samples = [random.choice(n, size, replace=replace).astype(np.int64)
                   for _ in range(many)]
        return ensemble(X, label, float(self.lam), self.metric, samples,
                        verbose=self.verbose, begins=begins)


def wanted(choice: Any, weights: F64) -> npt.NDArray[np.int64]:
    """The columns that are chosen, best first; equal weights go to the lowest position.

    >>> w = np.array([0.5, -1.0, 0.0, 0.5])
    >>> wanted(1, w).tolist(), wanted(0.8, w).tolist(), wanted("positive", w).tolist()
    ([0], [0, 3, 2], [0, 3])
    """
    d = len(weights)
    order = np.argsort(-weights, kind="stable").astype(np.int64)
    if isinstance(choice, str) and choice == "positive":
        return order[: max(1, int((weights > 0).sum()))]
    if not _is_number(choice):
        raise ParameterError(f"n_features_to_select is {choice!r}; write a whole number from 1, a "
                             "fraction between 0 and 1, or 'positive'")
    if isinstance(choice, (int, np.integer)):
        if not 1 <= choice <= d:
            raise ParameterError(f"n_features_to_select is {choice}, and the table has {d} "
                                 f"columns; write a number from 1 to {d}")
        return order[: int(choice)]
    if not 0 < choice < 1:
        raise ParameterError(f"n_features_to_select is {choice}; a fraction lies between 0 and 1 "
                             "(for a number of columns write a whole number)")
    return order[: max(1, int(choice * d))]


def _is_number(value: object) -> bool:
    numbers = (int, float, np.integer, np.floating)
    return isinstance(value, numbers) and not isinstance(value, bool)


def _demand_number(name: str, value: Any, above: float, most: float = float("inf")) -> None:
    if not (_is_number(value) and isfinite(value) and above < value <= most):
        limit = f"above {above}" + (f" and at most {most}" if isfinite(most) else "")
        raise ParameterError(f"{name} is {value!r}; write a number {limit}")


def _demand_table(X: F64, metric: Metric) -> None:
    """Say in the words of a table what the kernel would refuse."""
    if metric == "hamming" and not ((X == 0) | (X == 1)).all():
        raise SchemaError("metric 'hamming' takes columns of 0 and 1, and X holds other numbers; "
                          "take 'manhattan', or make each value a column of its own")
    if max(X.max(), -X.min()) > LARGEST:
        raise SchemaError(f"X holds numbers above {LARGEST:g}, whose distances overflow; scale "
                          "the columns")


def _classes(y: Any) -> I32:
    """Labels as numbers from 0, in the order of their values."""
    kind = type_of_target(y, raise_unknown=True)
    if kind not in ("binary", "multiclass"):
        raise SchemaError(f"y is {kind}; neighbours are hits and misses by classes: give one "
                          "class for each row, or cut the numbers into classes")
    codes: I32 = np.unique(y, return_inverse=True)[1].astype(np.int32)
    return codes
