"""The scikit-learn face: parameters in, `fit`, `transform`; a fitted one holds its release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from privsieve import fit as fitting
from privsieve.core.domain import Box
from privsieve.errors import DomainError, ParameterError
from privsieve.selectors import plan
from privsieve.selectors.parameters import MAX_OPS

if TYPE_CHECKING:
    import numpy.typing as npt

    from privsieve.core.domain import Domain
    from privsieve.core.plan import Plan
    from privsieve.core.release import Release
    from privsieve.privacy.ledger import Ledger
    from privsieve.selectors.joint import Joint


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
    delta : number or text
        what it may cost beyond: less noise where many columns are chosen.
    domain : Domain
        the public facts about the table.
    ledger : Ledger, optional
        who keeps the sum over all releases.
    class_prior : "auto", "centred", "unbalanced", "average", share, shares or None
        how the classes are weighted; "auto" spends a tenth of epsilon on noisy counts.
    ordered : bool
        release the order of the chosen columns, too (at the same cost, with more noise where
        more than half are chosen).
    joint : "pair", "triple", "quad" or None
        begin with the best set of two, three or four columns: less redundancy, and finds what
        matters only together.

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(4000.0).reshape(1000, 4) % 97 / 97
    >>> y = X[:, 2] > 0.5
    >>> domain = ps.Domain.box(0.0, 1.0, classes=(0, 1))
    >>> ps.RuleSieve(1, epsilon=2, domain=domain).fit(X, y).get_support().sum()
    np.int64(1)
    """

    method = "rule-sieve"

    def __init__(
        self,
        n_features_to_select: float = 5,
        *,
        epsilon: object = None,
        delta: object = 0,
        domain: Domain | None = None,
        ledger: Ledger | None = None,
        class_prior: object = "auto",
        order: int | None = None,
        ordered: bool = False,
        joint: Joint | None = None,
        max_ops: int = MAX_OPS,
        allow_weak: bool = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.epsilon = epsilon
        self.delta = delta
        self.domain = domain
        self.ledger = ledger
        self.class_prior = class_prior
        self.order = order
        self.ordered = ordered
        self.joint = joint
        self.max_ops = max_ops
        self.allow_weak = allow_weak


class NoisyTopK(Selector):
    """Choose columns under pure epsilon-DP by a score of each column and a race.

    Looks at one column at a time; what matters only together with others is for `RuleSieve`.

    Parameters
    ----------
    n_features_to_select : int or float
        how many columns, or which fraction of them.
    score : text
        what a column is worth: "mean-difference", "disagreement", "class-counts",
        "mutual-information", or "correlation" for a numeric target.
    mechanism : text
        how the race is run: "exponential" (the least noise), "laplace" or "gumbel".
    epsilon : number or text
        what this release costs.
    delta : number or text
        what it may cost beyond: less noise where many columns are chosen.
    domain : Domain
        the public facts about the table.
    ledger : Ledger, optional
        who keeps the sum over all releases.
    class_share : "noisy", share, shares or None
        how the classes are weighed; "noisy" spends a twentieth of epsilon on noisy counts.
    ordered : bool
        release the order of the chosen columns, too.

    Examples
    --------
    >>> import privsieve as ps
    >>> domain = ps.Domain.box(0.0, 1.0, columns=4)
    >>> ps.NoisyTopK(1, epsilon=2, domain=domain).plan(rows=1000).settings["score"]
    'mean-difference'
    """

    method = "noisy-top-k"

    def __init__(
        self,
        n_features_to_select: float = 5,
        *,
        score: str = "mean-difference",
        mechanism: str = "exponential",
        epsilon: object = None,
        delta: object = 0,
        domain: Domain | None = None,
        ledger: Ledger | None = None,
        class_share: object = "noisy",
        ordered: bool = False,
        allow_weak: bool = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.score = score
        self.mechanism = mechanism
        self.epsilon = epsilon
        self.delta = delta
        self.domain = domain
        self.ledger = ledger
        self.class_share = class_share
        self.ordered = ordered
        self.allow_weak = allow_weak


class PrivateTuning(Selector):
    """Choose columns by the best of some public candidates, at one price for all of them.

    A third of the units judges what the others chose.  The number of tries is random and secret.

    Parameters
    ----------
    candidates : list of selectors
        each with its number of columns and its options, without epsilon, domain and ledger.
    epsilon : number or text
        what this release costs in all, however many candidates there are.
    domain : Domain
        the public facts about the table.
    ledger : Ledger, optional
        who keeps the sum over all releases.

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(4000.0).reshape(1000, 4) % 97 / 97
    >>> y = X[:, 2] > 0.5
    >>> domain = ps.Domain.box(0.0, 1.0, classes=(0, 1))
    >>> tuned = ps.PrivateTuning([ps.RuleSieve(1), ps.RuleSieve(2)], epsilon=4, domain=domain)
    >>> tuned.fit(X, y).release_.body["candidate"] in (0, 1)
    True
    """

    method = "private-tuning"

    def __init__(self, candidates: Any = (), *, epsilon: object = None,
                 domain: Domain | None = None, ledger: Ledger | None = None,
                 allow_weak: bool = False) -> None:
        self.candidates = candidates
        self.epsilon = epsilon
        self.domain = domain
        self.ledger = ledger
        self.allow_weak = allow_weak

    def options(self) -> dict[str, Any]:
        """The parameters as the method's `plan` takes them."""
        return {"candidates": [_candidate(one) for one in self.candidates],
                "epsilon": self.epsilon, "allow_weak": self.allow_weak}


def _candidate(selector: Any) -> dict[str, Any]:
    """A selector as options; what tuning decides for it must be left away."""
    if not isinstance(selector, Selector):
        raise ParameterError(f"a candidate is a {type(selector).__name__}; give selectors such as "
                             "RuleSieve(5)")
    found = {"method": selector.method, **selector.options()}
    given = [name for name, value in (("epsilon", found.pop("epsilon")),
                                      ("delta", found.pop("delta", None) or None),
                                      ("domain", selector.domain), ("ledger", selector.ledger))
             if value is not None]
    if given:
        raise ParameterError(f"a candidate has a {given[0]} of its own; PrivateTuning decides it "
                             "for all of them: leave it away")
    found.pop("allow_weak", None)
    return found
