"""The private selectors as scikit-learn knows them: one a method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from privsieve.errors import ParameterError
from privsieve.methods.parameters import MAX_OPS
from privsieve.methods.selector import Selector
from privsieve.public.domain import Domain

if TYPE_CHECKING:
    from privsieve.ledger.ledger import Ledger
    from privsieve.methods.joint import Joint

__all__ = ["NoisyTopK", "PrivateTuning", "RuleSieve", "Selector"]


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
    numeric : "ranks", "all-cuts", "kendall", "median-cut" or None
        how a numeric target is compared with the columns; None is "ranks".

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
        numeric: str | None = None,
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
        self.numeric = numeric


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
        the noise of the race: "exponential", or "laplace" for the order of most columns.
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
