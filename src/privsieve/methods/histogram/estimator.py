"""NoisyHistogram as scikit-learn knows estimators: parameters in, `fit`; then its release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from privsieve import fit as fitting
from privsieve.errors import DomainError
from privsieve.methods.histogram.axes import BINS
from privsieve.methods.histogram.noisy_histogram import SHARE, plan
from privsieve.methods.histogram.released import CountTable, cell_names
from privsieve.public.domain import Domain
from privsieve.public.plan import Plan
from privsieve.release import Release

if TYPE_CHECKING:
    from privsieve.ledger.ledger import Ledger


class NoisyHistogram(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Count rows over a few columns and the target under differential privacy, once.

    The noisy table is the release.  Counts from 0 on, margins and synthetic rows are made of it
    as often as you like, at no cost.  A fitted one holds its parameters and `release_`.

    Parameters
    ----------
    columns : list of names, optional
        what is tabulated; None: all columns, or those that are chosen.
    n_features_to_select : int or float, optional
        let RuleSieve choose so many columns first, in the same release and for the same epsilon.
    bins : int, or a mapping from names
        bins of equal width of a number or date; 8 where a mapping does not say.
    target : bool
        tabulate the target, too, where the domain has one.
    epsilon : number or text
        what this release costs, choice and table together.
    delta : number or text
        what it may cost beyond: then only cells that enough rows share are named.
    share : number or text
        of epsilon, the part of a choice.
    choice : mapping, optional
        options of the choice: class_prior, order, joint, max_ops, numeric.
    domain : Domain
        the public facts about the table.
    ledger : Ledger, optional
        who keeps the sum over all releases.

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(4000.0).reshape(1000, 4) % 97 / 97
    >>> domain = ps.Domain.box(0.0, 1.0, columns=4)
    >>> made = ps.NoisyHistogram(["x0", "x2"], bins=4, epsilon=2, domain=domain)
    >>> made.fit(X, X[:, 2] > 0.5).marginal(["x2", "y"]).shape
    (4, 2)
    >>> sorted(made.sample(100))
    ['x0', 'x2', 'y']
    """

    domain: Domain | None
    release_: Release

    def __init__(
        self,
        columns: Sequence[str] | None = None,
        *,
        n_features_to_select: float | None = None,
        bins: int | Mapping[str, int] = BINS,
        target: bool = True,
        epsilon: object = None,
        delta: object = 0,
        share: object = SHARE,
        choice: Mapping[str, Any] | None = None,
        domain: Domain | None = None,
        ledger: Ledger | None = None,
        allow_weak: bool = False,
    ) -> None:
        self.columns = columns
        self.n_features_to_select = n_features_to_select
        self.bins = bins
        self.target = target
        self.epsilon = epsilon
        self.delta = delta
        self.share = share
        self.choice = choice
        self.domain = domain
        self.ledger = ledger
        self.allow_weak = allow_weak

    @classmethod
    def of(cls, release: Release) -> Self:
        """The table of a release that was kept, as `ps.load` reads it."""
        CountTable.of(release.body)
        found = cls()
        found.release_ = release
        return found

    def plan(self, *, rows: int | None = None, domain: Domain | None = None) -> Plan:
        """Cost, size, noise and forecast; reads no row."""
        options: dict[str, Any] = self.get_params(deep=False)
        del options["domain"], options["ledger"]
        return plan(self._public(domain), rows=rows, k=options.pop("n_features_to_select"),
                    **options)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Charge, read, count.  Each call is a release of its own.

        Parameters
        ----------
        X : a frame, an array, a path, or a `Source`
            the table; a frame may hold the target.
        y : array, optional
            the target, where X does not hold it.
        """
        from privsieve.rows import open_source, resolve

        domain = self._public(None)
        source = open_source(X, y, csv=domain.csv)
        shape = source.shape(count_rows=domain.rows_are_public)
        made = self.plan(rows=shape.rows, domain=resolve(domain, shape, strict=True))
        self.release_ = fitting.fit(made, source, ledger=self.ledger)
        self.n_features_in_ = len(made.domain.columns)
        return self

    @property
    def counts_(self) -> npt.NDArray[np.int64]:
        """The whole table: counts from 0 on, an axis for each column and the target."""
        table = self._table()
        return table.marginal([axis.name for axis in table.axes])

    def marginal(self, names: Sequence[str] | str) -> npt.NDArray[np.int64]:
        """Counts over some of the columns: an axis for each, in this order."""
        return self._table().marginal([names] if isinstance(names, str) else names)

    def cells(self, name: str) -> list[str]:
        """What the cells of a column are called, in their order."""
        table = self._table()
        return cell_names(table.axes[table.axis(name)])

    def sample(self, n: int, *, as_frame: bool = False) -> Any:
        """Synthetic rows: a mapping from names to arrays, or a pandas frame.

        They are made of the release alone and cost nothing.  They are drawn with the system's
        randomness, anew at each call.
        """
        # What is drawn from a release is its post-processing: no noise of a mechanism.
        found = self._table().sample(n, np.random.default_rng())
        if not as_frame:
            return found
        import pandas as pd

        return pd.DataFrame(found)

    def _table(self) -> CountTable:
        check_is_fitted(self, "release_")
        return CountTable.of(self.release_.body)

    def _public(self, domain: Domain | None) -> Domain:
        found = domain or self.domain
        if found is None:
            raise DomainError("no domain is given: bounds and classes have to be public facts; "
                              "give domain=Domain([...])")
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.non_deterministic = True
        return tags
