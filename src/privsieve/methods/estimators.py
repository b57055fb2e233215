"""The private selectors as scikit-learn knows them; their options are those of the methods."""

from __future__ import annotations

from typing import Any

from privsieve.errors import ParameterError
from privsieve.methods.estimator import Selector, estimator
from privsieve.methods.noisy_top_k import TopKOptions
from privsieve.methods.rule_sieve import RuleSieveOptions
from privsieve.methods.tuning import TuningOptions

__all__ = ["NoisyTopK", "PrivateTuning", "RuleSieve", "Selector"]


@estimator
class RuleSieve(Selector, RuleSieveOptions):
    """Choose columns under pure epsilon-DP by the best of a data-free family of rules.

    Finds columns that matter alone, in pairs and in threes (AND, OR, XOR, parity).

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


@estimator
class NoisyTopK(Selector, TopKOptions):
    """Choose columns under pure epsilon-DP by a score of each column and a race.

    Looks at one column at a time; what matters only together with others is for `RuleSieve`.

    Examples
    --------
    >>> import privsieve as ps
    >>> domain = ps.Domain.box(0.0, 1.0, columns=4)
    >>> ps.NoisyTopK(1, epsilon=2, domain=domain).plan(rows=1000).settings["score"]
    'mean-difference'
    """

    method = "noisy-top-k"


@estimator
class PrivateTuning(Selector, TuningOptions):
    """Choose columns by the best of some public candidates, at one price for all of them.

    A third of the units judges what the others chose.  The number of tries is random and secret.
    In Python a candidate is a selector with its number of columns and its options, without
    epsilon, domain and ledger.

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

    def options(self) -> dict[str, Any]:
        """The parameters as `methods.plan` takes them."""
        return {**super().options(), "candidates": [_candidate(one) for one in self.candidates]}


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
