"""FWELL and its ensemble, the originals: exact, and NOT private.

Margins say of each row what its nearest hit and miss say of each column; the weights are the
minimiser over the margins.  One row may be the miss of all others, so that no noise worth adding
makes these weights private.  Their private kin is `BlockFWELL`, where a row meets few others only.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from privsieve.errors import ParameterError, SchemaError
from privsieve.kernels.contract import I64
from privsieve.kernels.nearest import F64, I32, LARGEST, METRICS, Metric, nearest, nearest_in
from privsieve.local.limits import ridge
from privsieve.local.solver import minimise
from privsieve.public.canonical import exact, read_flag
from privsieve.public.option import (
    as_given,
    count_or_positive,
    estimator,
    how_many,
    number,
    option,
    plain,
    read_options,
    whole,
)

__all__ = ["FWELL", "FWELLEnsemble"]

#: Numbers that are held at once: they stay in the cache.
HELD = 1 << 16


def margins(X: F64, hit: I64, miss: I64, rows: I64 | None = None, begins: I64 | None = None) -> F64:
    """``|x - miss| - |x - hit|`` of each row; zeros where it has no hit or no miss (-1).

    Positive in a column that tells the row from its miss and not from its hit.

    Parameters
    ----------
    X : float64[n, d]
        the table.
    hit, miss : int64[N]
        positions in X of the nearest row of the same class and of another one.
    rows : int64[N], optional
        whose they are; all rows of X in their order by default.
    begins : int64[d], optional
        where each column begins that `spread` made several of; they are added up.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [0.0, 3.0], [2.0, 0.0]])
    >>> margins(X, np.array([1, 0, -1]), np.array([2, 2, 0])).tolist()
    [[2.0, -3.0], [2.0, 0.0], [0.0, 0.0]]
    """
    rows = np.arange(len(X)) if rows is None else rows
    known = np.flatnonzero((hit >= 0) & (miss >= 0))
    z = np.zeros((len(rows), X.shape[1] if begins is None else len(begins)))
    some = max(1, HELD // max(X.shape[1], 1))
    for first in range(0, len(known), some):
        at = known[first : first + some]
        own = X[rows[at]]
        distances = np.abs(own - X[miss[at]])
        distances -= np.abs(own - X[hit[at]])
        z[at] = distances if begins is None else np.add.reduceat(distances, begins, axis=1)
    return z


def spread(X: F64, categories: Collection[int]) -> tuple[F64, I64]:
    """Encode columns for the search, and return where each begins.

    It holds 1/2 where the row has the value: two rows are 1 apart in a category, or 0.

    >>> coded, begins = spread(np.array([[0.3, 7.0], [0.5, 9.0]]), [1])
    >>> coded.tolist(), begins.tolist()
    ([[0.3, 0.5, 0.0], [0.5, 0.0, 0.5]], [0, 1])
    """
    pieces = []
    for j, column in enumerate(X.T):
        if j in categories:
            values, codes = np.unique(column, return_inverse=True)
            pieces.append(0.5 * np.eye(len(values))[codes])
        else:
            pieces.append(column[:, None])
    widths = [piece.shape[1] for piece in pieces]
    return (np.ascontiguousarray(np.concatenate(pieces, axis=1)),
            np.cumsum([0, *widths[:-1]]).astype(np.int64))


@dataclass(frozen=True, repr=False)
class LocalLearning:
    """How rows become weights: the minimiser of mean ``log(1 + exp(-w.z)) + lam |w|^2``.

    z are the margins, `metric` says what is near, `begins` which columns are one (see `spread`).
    Both functions return the weights, and how far the exact ones are at most (Euclidean).

    Departs from the paper's Algorithm 1, whose steps of unit length do not end at a minimiser.
    """

    lam: float
    metric: Metric = "manhattan"
    begins: I64 | None = None

    def fwell(self, X: F64, label: I32) -> tuple[F64, float]:
        """Learn the weights over the margins of all rows.

        >>> X = np.array([[0.0, 0.5], [0.1, 0.0], [0.9, 0.5], [1.0, 0.0]])
        >>> LocalLearning(0.1).fwell(X, np.array([0, 0, 1, 1], np.int32))[0].round(2).tolist()
        [0.99, -0.62]
        """
        hit, miss = nearest(X, label, self.metric)
        return self._minimum(margins(X, hit, miss, begins=self.begins))

    def ensemble(self, X: F64, label: I32, samples: Sequence[I64]) -> tuple[F64, float]:
        """Return the mean of the weights of `fwell` over samples of the rows.

        A row that was drawn twice counts twice, and is no neighbour of itself.  One search finds
        the neighbours in all samples.

        >>> X = np.array([[0.0, 0.5], [0.1, 0.0], [0.9, 0.5], [1.0, 0.0]])
        >>> y, by = np.array([0, 0, 1, 1], np.int32), LocalLearning(0.1)
        >>> bool((by.ensemble(X, y, [np.arange(4)])[0] == by.fwell(X, y)[0]).all())
        True
        """
        drawn = np.zeros((len(X), len(samples)), bool)
        for r, sample in enumerate(samples):
            drawn[sample, r] = True
        hit, miss = nearest_in(X, label, self.metric, drawn)
        total, error = np.zeros(X.shape[1] if self.begins is None else len(self.begins)), 0.0
        for r, sample in enumerate(samples):
            members, times = np.unique(sample, return_counts=True)
            z = margins(X, hit[members, r], miss[members, r], members, self.begins)
            w, away = self._minimum(np.repeat(z, times, axis=0))
            total += w
            error += away
        return total / len(samples), error / len(samples)

    def _minimum(self, z: F64) -> tuple[F64, float]:
        least = minimise(z, self.lam)
        return least.w, least.gradient / (2 * self.lam)


def sample_size(n: int, beta: object) -> int:
    """Return the size of a sample: beta n rounded up, beta read as written.

    >>> sample_size(569, 0.9), sample_size(100, 0.29)
    (513, 29)
    """
    return ceil(Fraction(str(beta)) * n)


@estimator
class FWELL(SelectorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Weigh columns by local learning.  NOT private: use it on public rows only.

    It finds the nearest row of the same class and of another class for each row, and weights that
    make the second farther away than the first.  One row can change all weights, so the chosen
    columns may reveal something about a person.  `BlockFWELL` is the private selector by the same
    idea; `RuleSieve` is private and needs fewer rows.

    After `fit` it has `weights_`, `error_` (a bound on their distance from the exact weights),
    `n_features_in_` and `feature_names_in_` (for frames).

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(400.0).reshape(100, 4) * [1, 7, 3, 9] % 97 / 97
    >>> ps.FWELL(1).fit(X, X[:, 2] > 0.5).get_support()
    array([False, False,  True, False])
    """

    n_features_to_select: float | Literal["positive"] = option(
        default=0.1, kw_only=False, read=how_many,
        says="the number of columns, a fraction of them (at least one column), or 'positive': all "
             "columns with a weight above zero (at least one)")
    lam: float = option(default=0.01, read=number,
                        says="the penalty on large weights; from 1e-6 to 1e6")
    metric: Metric = option(
        default="manhattan", choices=METRICS,
        says="the distance between rows; hamming takes columns of 0 and 1.  Scale columns of "
             "different size first")
    categorical_features: Sequence[int | str] | None = option(
        default=None, read=as_given,
        says="for manhattan: positions or names of columns whose values have distance 0 if equal, "
             "else 1.  Scale other columns to a range of 1")

    def fit(self, X: Any, y: Any) -> Self:
        """Weigh the columns.

        Parameters
        ----------
        X : array, sparse matrix or frame
            numbers, and none missing; sparse input is made dense.
        y : labels
            the class of each row; any number of classes.
        """
        lam = float(ridge(read_options(type(self), self.get_params(deep=False))["lam"]))
        table, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64,
                                 ensure_min_samples=2)
        wanted(self.n_features_to_select, np.zeros(table.shape[1]))  # before the work
        table = np.ascontiguousarray(table.toarray() if hasattr(table, "toarray") else table)
        _demand_table(table, self.metric)
        chosen = self._categories()
        coded, begins = spread(table, chosen) if chosen else (table, None)
        learning = LocalLearning(lam, self.metric, begins)
        self.weights_, self.error_ = self._weights(learning, coded, _classes(y))
        return self

    def _weights(self, learning: LocalLearning, X: F64, label: I32) -> tuple[F64, float]:
        return learning.fwell(X, label)

    def _categories(self) -> set[int]:
        """Return positions of the columns whose values are only equal or not."""
        listed = [] if self.categorical_features is None else list(self.categorical_features)
        names = list(getattr(self, "feature_names_in_", ()))
        places = {names.index(column) if column in names else column for column in listed}
        wrong = [j for j in places if isinstance(j, bool)
                 or not isinstance(j, (int, np.integer)) or not 0 <= j < self.n_features_in_]
        if wrong:
            raise ParameterError(f"categorical_features has {wrong[0]!r}; write positions from 0 "
                                 f"to {self.n_features_in_ - 1}, or names of a frame's columns")
        if places and self.metric != "manhattan":
            raise ParameterError(f"categorical_features needs metric 'manhattan', but metric is "
                                 f"{self.metric!r}; leave out one of them")
        return {int(j) for j in places}

    def transform(self, X: Any) -> Any:
        """Return the chosen columns of X."""
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


@estimator
class FWELLEnsemble(FWELL):
    """Average the weights of FWELL over random samples of the rows.  NOT private.

    `random_state` draws the samples, so results can be repeated.  No noise is added for privacy.
    For private rows take `BlockFWELL` or `RuleSieve`.

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(400.0).reshape(100, 4) * [1, 7, 3, 9] % 97 / 97
    >>> ps.FWELLEnsemble(1, random_state=0).fit(X, X[:, 2] > 0.5).get_support()
    array([False, False,  True, False])
    """

    repeats: int = option(default=20, read=whole, says="the number of samples")
    beta: float = option(default=0.9, read=number,
                         says="the share of the rows in each sample; above 0, and at most 1")
    replace: bool = option(
        default=False, read=read_flag,
        says="draw with replacement.  A row that is drawn twice counts twice, and is not its "
             "own neighbour")
    random_state: Any = option(default=None, read=as_given, says="the random state of the samples")

    def _weights(self, learning: LocalLearning, X: F64, label: I32) -> tuple[F64, float]:
        options = read_options(type(self), self.get_params(deep=False))
        many, beta, replace = (options[name] for name in ("repeats", "beta", "replace"))
        if many < 1:
            raise ParameterError(f"repeats is {many}; write a whole number from 1")
        if not 0 < exact(beta, "beta") <= 1:
            raise ParameterError(f"beta is {beta}; write a number above 0 and at most 1")
        random, n, size = check_random_state(self.random_state), len(X), sample_size(len(X), beta)
        return learning.ensemble(X, label, [
            random.choice(n, size, replace=replace).astype(np.int64) for _ in range(many)])


def wanted(choice: Any, weights: F64) -> npt.NDArray[np.int64]:
    """Return the columns that are chosen, best first; equal weights go to the lowest position.

    >>> w = np.array([0.5, -1.0, 0.0, 0.5])
    >>> wanted(1, w).tolist(), wanted(0.8, w).tolist(), wanted("positive", w).tolist()
    ([0], [0, 3, 2], [0, 3])
    """
    k: Any = count_or_positive(how_many(plain(choice)), len(weights), "the table has {}")
    if k == "positive":
        k = max(1, int((weights > 0).sum()))
    return np.argsort(-weights, kind="stable")[:k].astype(np.int64)


def _demand_table(X: F64, metric: Metric) -> None:
    """Say in the words of a table what the kernel would refuse."""
    if metric == "hamming" and not ((X == 0) | (X == 1)).all():
        raise SchemaError("metric 'hamming' takes columns of 0 and 1, but X has other numbers; "
                          "use 'manhattan', or make a column for each value")
    if max(X.max(), -X.min()) > LARGEST:
        raise SchemaError(f"X has numbers above {LARGEST:g}, whose distances overflow; scale "
                          "the columns")


def _classes(y: Any) -> I32:
    """Labels as numbers from 0, in the order of their values."""
    kind = type_of_target(y, raise_unknown=True)
    if kind not in ("binary", "multiclass"):
        raise SchemaError(f"y is {kind}; this method needs classes: give one class for each "
                          "row, or cut the numbers into classes")
    codes: I32 = np.unique(y, return_inverse=True)[1].astype(np.int32)
    return codes
