"""The base of all private estimators: options in, `fit` written once; a fitted one holds a release.

A method's options become an estimator by `@estimator`: the constructor of scikit-learn's contract
and the parameters of the docstring are made from their fields.
"""

from __future__ import annotations

from functools import wraps
from inspect import cleandoc
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from privsieve import fit as fitting
from privsieve.errors import DomainError, ParameterError
from privsieve.ledger.ledger import Ledger
from privsieve.methods import plan
from privsieve.methods.option import abouts, current, declared, documented, option
from privsieve.public.domain import Box, Domain
from privsieve.public.plan import Plan
from privsieve.release import Release
from privsieve.rows import open_source, resolve
from privsieve.rows.source import fold, names_of, typed

Kind = TypeVar("Kind")


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option,))
def estimator(kind: type[Kind]) -> type[Kind]:
    """Make scikit-learn's constructor of the options that a class inherits.

    It takes an option by its old name, too.  What scikit-learn sets is not frozen.
    """
    made: Any = declared(kind)
    made.__setattr__, made.__delattr__ = object.__setattr__, object.__delattr__
    if any(about.was for about in abouts(made).values()):
        init = made.__init__

        @wraps(init)
        def __init__(self: Any, *args: Any, **given: Any) -> None:  # noqa: N807  # it is the constructor
            init(self, *args, **current(made, given))

        made.__init__ = __init__
    said, head, examples = cleandoc(made.__doc__ or "").partition("Examples\n")
    made.__doc__ = f"{said.rstrip()}\n\n{documented(made)}\n\n{head}{examples}"
    return made  # type: ignore[no-any-return]


@estimator
class Estimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """What every private estimator is: options, `plan`, and `fit` written once.

    A fitted one holds its parameters, `n_features_in_`, `feature_names_in_` (for named columns)
    and `release_`, and nothing else.
    """

    domain: Domain | None = option(default=None, says="the public facts about the table")
    ledger: Ledger | None = option(default=None, says="who keeps the sum over all releases")

    #: The name of the method in the registry (`methods.plan`).
    method: ClassVar[str]
    #: What to give where no domain is given.
    way_out: ClassVar[str] = ("bounds and classes have to be public facts; give "
                              "domain=Domain([...]) or, for an array, domain=Domain.box(low, high)")
    supervised: ClassVar[bool] = True

    def options(self) -> dict[str, Any]:
        """The parameters as `methods.plan` takes them."""
        given: dict[str, Any] = self.get_params(deep=False)
        del given["domain"], given["ledger"]
        return given

    def plan(self, *, rows: int | None = None, domain: Domain | None = None) -> Plan:
        """Cost, settings and forecast; reads no row."""
        public = self._public(domain)
        if isinstance(public, Box) and hasattr(self, "n_features_in_"):
            public = public.of_width([f"x{j}" for j in range(self.n_features_in_)])
        return plan(self.method, public, rows=rows, **self.options())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Charge, read, release.  Each call is a release of its own.

        Parameters
        ----------
        X : a frame, an array, a path, or a `Source`
            the table; a frame may hold the target.
        y : array, optional
            the target, where X does not hold it.
        """
        domain = self._public(None)
        source = open_source(X, y, csv=domain.csv)
        shape = source.shape(count_rows=domain.rows_are_public)
        domain = resolve(domain, shape, strict=True)
        if shape.rows == 1:
            raise ParameterError("the table has one row (n_samples = 1); a release from rows needs "
                                 "at least 2")
        made = plan(self.method, domain, rows=shape.rows, **self.options())
        self.release_ = fitting.fit(made, source, ledger=self.ledger)
        self.n_features_in_ = len(domain.columns)
        self._remember(names_of(X), domain)
        return self

    @classmethod
    def of_release(cls, release: Release) -> Self:
        """A fitted estimator from a release that was kept, as `ps.load(folder)` reads it."""
        made = cls()
        made.release_ = release
        made.n_features_in_ = len(release.columns)
        return made

    def _remember(self, names: tuple[str, ...] | None, domain: Domain) -> None:
        """The names of a frame in its order and spelling; none where it had none."""
        if names is not None:
            known = set(map(fold, domain.names))
            self.feature_names_in_ = np.array([name for name in names if fold(name) in known],
                                              dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _order(self) -> list[int]:
        """The places of the release's columns, in the order of the frame that was fitted."""
        columns = self.release_.columns
        place = {fold(name): j for j, name in enumerate(columns)}
        return [place[fold(name)] for name in getattr(self, "feature_names_in_", columns)]

    def _public(self, domain: Domain | None) -> Domain:
        public = domain or self.domain
        if public is None:
            raise DomainError(f"no domain is given: {self.way_out}")
        return public

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.target_tags.required = self.supervised
        tags.non_deterministic = True
        return tags


class Selector(SelectorMixin, Estimator):  # type: ignore[misc]  # scikit-learn is untyped
    """What chooses columns; `transform` returns private rows, for the holder of the table."""

    def transform(self, X: Any) -> Any:
        """The chosen columns of X: private rows, for the holder of the table."""
        check_is_fitted(self, "release_")
        return typed(super().transform(X), X)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """The names of the chosen columns; for an array those that the domain gives."""
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
