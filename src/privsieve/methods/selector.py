"""The base of all private selectors: parameters in, `fit`; a fitted one holds its release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from privsieve import fit as fitting
from privsieve.errors import DomainError, ParameterError
from privsieve.methods import plan
from privsieve.public.domain import Box, Domain
from privsieve.public.plan import Plan
from privsieve.release import Release
from privsieve.rows.source import fold

if TYPE_CHECKING:
    from privsieve.ledger.ledger import Ledger


class Selector(SelectorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """What every private selector is: parameters, `plan`, and `fit` written once.

    A fitted selector holds its parameters, `n_features_in_`, `feature_names_in_` (for named
    columns) and `release_`, and nothing else.  `transform` returns private rows: it is for the
    holder of the table.
    """

    #: The name of the method in the registry (`selectors.plan`).
    method: str
    domain: Domain | None
    ledger: Ledger | None
    release_: Release
    n_features_in_: int

    def options(self) -> dict[str, Any]:
        """The parameters as the method's `plan` takes them."""
        found: dict[str, Any] = self.get_params(deep=False)
        del found["domain"], found["ledger"]
        return {"k": found.pop("n_features_to_select"), **found}

    def _plan(self, domain: Domain, rows: int | None) -> Plan:
        return plan(self.method, domain, rows=rows, **self.options())

    def plan(self, *, rows: int | None = None, domain: Domain | None = None) -> Plan:
        """Cost, settings and forecast; reads no row."""
        found = self._public(domain)
        if isinstance(found, Box) and hasattr(self, "n_features_in_"):
            found = found.of_width([f"x{j}" for j in range(self.n_features_in_)])
        return self._plan(found, rows)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Charge, read, choose.  Each call is a release of its own.

        Parameters
        ----------
        X : a frame, an array, a path, or a `Source`
            the table; a frame may hold the target.
        y : array, optional
            the target, where X does not hold it.
        """
        from privsieve.rows import open_source, resolve
        from privsieve.rows.opening import names_of

        domain = self._public(None)
        source = open_source(X, y, csv=domain.csv)
        shape = source.shape(count_rows=domain.rows_are_public)
        domain = resolve(domain, shape, strict=True)
        if shape.rows == 1:
            raise ParameterError("the table has one row (n_samples = 1); a choice from rows needs "
                                 "at least 2")
        plan = self._plan(domain, shape.rows)
        self.release_ = fitting.fit(plan, source, ledger=self.ledger)
        self.n_features_in_ = len(domain.columns)
        self._remember(names_of(X), domain)
        return self

    def transform(self, X: Any) -> Any:
        """The chosen columns of X: private rows, for the holder of the table."""
        from privsieve.rows.opening import typed

        check_is_fitted(self, "release_")
        return typed(super().transform(X), X)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """The names of the chosen columns; for an array those that the domain gives."""
        mask = self._get_support_mask()
        if input_features is None and not hasattr(self, "feature_names_in_"):
            return np.array(self.release_.columns, dtype=object)[mask]
        found: npt.NDArray[Any] = super().get_feature_names_out(input_features)
        return found

    def _remember(self, names: tuple[str, ...] | None, domain: Domain) -> None:
        """The names of a frame in its order and spelling; none where it had none."""
        if names is not None:
            known = set(map(fold, domain.names))
            self.feature_names_in_ = np.array([name for name in names if fold(name) in known],
                                              dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _public(self, domain: Domain | None) -> Domain:
        found = domain or self.domain
        if found is None:
            raise DomainError("no domain is given: bounds and classes have to be public facts; "
                              "give domain=Domain([...]) or, for an array, "
                              "domain=Domain.box(low, high)")
        return found

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self, "release_")
        chosen = set(map(fold, self.release_.selected))
        names = getattr(self, "feature_names_in_", self.release_.columns)
        return np.array([fold(name) in chosen for name in names])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.target_tags.required = True
        tags.non_deterministic = True
        return tags
