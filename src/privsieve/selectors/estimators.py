"""The scikit-learn face: parameters in, `fit`, `transform`; a fitted one holds its release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from privsieve import fit as fitting
from privsieve.core.domain import Box
from privsieve.errors import DomainError
from privsieve.selectors import block_fwell, rule_sieve
from privsieve.selectors.parameters import MAX_OPS

if TYPE_CHECKING:
    import numpy.typing as npt

    from privsieve.core.domain import Domain
    from privsieve.core.plan import Plan
    from privsieve.core.release import Release
    from privsieve.privacy.ledger import Ledger


class Selector(SelectorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """What every private selector is: parameters, `plan`, and `fit` written once.

    A fitted selector holds its parameters, `n_features_in_`, `feature_names_in_` (for named
    columns) and `release_`, and nothing else.  `transform` returns private rows: it is for the
    holder of the table.
    """

    domain: Domain | None
    ledger: Ledger | None
    release_: Release
    n_features_in_: int

    def _plan(self, domain: Domain, rows: int | None) -> Plan:
        raise NotImplementedError

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
        from privsieve.sources import open_source, resolve

        domain = self._public(None)
        source = open_source(X, y, csv=domain.csv)
        shape = source.shape(count_rows=domain.rows_are_public)
        domain = resolve(domain, shape, strict=True)
        plan = self._plan(domain, shape.rows)
        self.release_ = fitting.fit(plan, source, ledger=self.ledger)
        self.n_features_in_ = len(domain.columns)
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.array(
                [name for name in X.columns if name in set(domain.names)], dtype=object)
        return self

    def _public(self, domain: Domain | None) -> Domain:
        found = domain or self.domain
        if found is None:
            raise DomainError("no domain is given: bounds and classes have to be public facts; "
                              "give domain=Domain([...]) or, for an array, "
                              "domain=Domain.box(low, high)")
        return found

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self, "release_")
        chosen = set(self.release_.selected)
        names = getattr(self, "feature_names_in_", self.release_.columns)
        return np.array([name in chosen for name in names])


class RuleSieve(Selector):
    """Choose columns under pure epsilon-DP by the best of a data-free family of rules.

    Finds columns that matter alone, in pairs and in threes (AND, OR, XOR, parity).

    Parameters
    ----------
    n_features_to_select : int or float
        how many columns, or which fraction of them.
    epsilon : number or text
        what this release costs.
    domain : Domain
        the public facts about the table.
    ledger : Ledger, optional
        who keeps the sum over all releases.
    class_prior : "auto", share, shares or None
        how the classes are weighted; "auto" spends a tenth of epsilon on noisy counts.
    ordered : bool
        release the order of the chosen columns, too (at the same cost, with more noise where
        more than half are chosen).
    diverse : bool
        begin with the best pair: less redundancy, where rows are many.

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(4000.0).reshape(1000, 4) % 97 / 97
    >>> y = X[:, 2] > 0.5
    >>> domain = ps.Domain.box(0.0, 1.0, classes=(0, 1))
    >>> ps.RuleSieve(1, epsilon=2, domain=domain).fit(X, y).get_support().sum()
    np.int64(1)
    """

    def __init__(
        self,
        n_features_to_select: float = 5,
        *,
        epsilon: object = None,
        domain: Domain | None = None,
        ledger: Ledger | None = None,
        class_prior: object = "auto",
        order: int | None = None,
        ordered: bool = False,
        diverse: bool = False,
        max_ops: int = MAX_OPS,
        allow_weak: bool = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.epsilon = epsilon
        self.domain = domain
        self.ledger = ledger
        self.class_prior = class_prior
        self.order = order
        self.ordered = ordered
        self.diverse = diverse
        self.max_ops = max_ops
        self.allow_weak = allow_weak

    def _plan(self, domain: Domain, rows: int | None) -> Plan:
        options = self.get_params(deep=False)
        for name in ("n_features_to_select", "domain", "ledger"):
            del options[name]
        return rule_sieve.plan(domain, k=self.n_features_to_select, rows=rows, **options)


class BlockFWELL(Selector):
    """Choose columns under pure epsilon-DP by local learning in random blocks.

    Looks, in each block of few units, by which columns the nearest row of another class is farther
    than the nearest of the same.  Finds columns that matter alone or together; `RuleSieve` needs
    several times fewer rows.

    Parameters
    ----------
    n_features_to_select : int or float
        how many columns, or which fraction of them.
    epsilon : number or text
        what this release costs.
    domain : Domain
        the public facts about the table.
    ledger : Ledger, optional
        who keeps the sum over all releases.
    block : int
        units of a block, from 3.
    repeats : int, optional
        how often the table is cut into blocks; free of charge.  None: by the size.
    votes : "sign" or "clip"
        what a block's vote is: the sign of what it found, or that itself, at most `tau`.
    tau : number or text
        the largest vote, as a share of a column's range.
    ordered : bool
        release the order of the chosen columns, too.
    reference : frame, path, or (X, y), optional
        public rows of the same columns with labels: each unit then looks for its hit and miss
        there, and has a vote of its own.

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(4000.0).reshape(1000, 4) % 97 / 97
    >>> y = X[:, 2] > 0.5
    >>> domain = ps.Domain.box(0.0, 1.0, classes=(0, 1))
    >>> ps.BlockFWELL(1, epsilon=2, domain=domain).fit(X, y).get_support().sum()
    np.int64(1)
    """

    def __init__(
        self,
        n_features_to_select: float = 5,
        *,
        epsilon: object = None,
        domain: Domain | None = None,
        ledger: Ledger | None = None,
        block: int = 6,
        repeats: int | None = None,
        votes: Literal["sign", "clip"] = "sign",
        tau: object = "0.06",
        ordered: bool = False,
        reference: object = None,
        allow_weak: bool = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.epsilon = epsilon
        self.domain = domain
        self.ledger = ledger
        self.block = block
        self.repeats = repeats
        self.votes = votes
        self.tau = tau
        self.ordered = ordered
        self.reference = reference
        self.allow_weak = allow_weak

    def _plan(self, domain: Domain, rows: int | None) -> Plan:
        options = self.get_params(deep=False)
        for name in ("n_features_to_select", "domain", "ledger"):
            del options[name]
        return block_fwell.plan(domain, k=self.n_features_to_select, rows=rows, **options)
