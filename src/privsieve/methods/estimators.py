"""The private selectors as scikit-learn knows them; their options are those of the methods."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from privsieve.errors import ParameterError
from privsieve.methods.block_fwell import BlockOptions
from privsieve.methods.estimator import Selector
from privsieve.methods.felp import EnsembleOptions
from privsieve.methods.noisy_top_k import TopKOptions
from privsieve.methods.objective_fwell import ObjectiveOptions
from privsieve.methods.output_fwell import OutputOptions
from privsieve.methods.rule_sieve import RuleSieveOptions
from privsieve.methods.tuning import TuningOptions
from privsieve.public.option import estimator
from privsieve.release import ColumnWeights
from privsieve.rows.source import fold

__all__ = ["FELP", "BlockFWELL", "NoisyTopK", "ObjectiveFWELL", "OutputFWELL", "PrivateTuning",
           "RuleSieve", "Selector"]


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


@estimator
class BlockFWELL(Selector, BlockOptions):
    """Choose columns under pure epsilon-DP by local learning in random blocks.

    Looks, in each block of few units, by which columns the nearest row of another class is farther
    than the nearest of the same.  Finds columns that matter alone or together; `RuleSieve` needs
    several times fewer rows.

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(4000.0).reshape(1000, 4) % 97 / 97
    >>> y = X[:, 2] > 0.5
    >>> domain = ps.Domain.box(0.0, 1.0, classes=(0, 1))
    >>> ps.BlockFWELL(1, epsilon=2, domain=domain).fit(X, y).get_support().sum()
    np.int64(1)
    """

    method = "block-fwell"


class WeightSelector(Selector):
    """A selector that releases a noisy weight of each column, and names columns by them."""

    @property
    def weights_(self) -> npt.NDArray[np.float64]:
        """The weights as they were released, in the order of the columns that were fitted."""
        check_is_fitted(self, "release_")
        weights = np.array(ColumnWeights.read(self.release_.body).values.doubles)
        place = {fold(name): j for j, name in enumerate(self.release_.columns)}
        names = getattr(self, "feature_names_in_", self.release_.columns)
        ordered: npt.NDArray[np.float64] = weights[[place[fold(name)] for name in names]]
        return ordered


@estimator
class OutputFWELL(WeightSelector, OutputOptions):
    """Release weights of columns under differential privacy, by local learning in random blocks.

    The weights are those under which rows of another class are farther than rows of the same, found
    in blocks of few units, with noise on each.  `weights_` has them, in the order of the columns.
    To choose columns alone, `BlockFWELL` needs far fewer rows, and `RuleSieve` fewer still.

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(40000.0).reshape(10000, 4) % 97 / 97
    >>> domain = ps.Domain.box(0.0, 1.0, classes=(0, 1))
    >>> made = ps.OutputFWELL(1, epsilon=4, domain=domain).fit(X, X[:, 2] > 0.5)
    >>> made.weights_.shape, int(made.weights_.argmax())
    ((4,), 2)
    """

    method = "output-fwell"


@estimator
class ObjectiveFWELL(WeightSelector, ObjectiveOptions):
    """Release weights of columns under pure differential privacy, by noise inside of the problem.

    As `OutputFWELL`, whose noise is added to the finished weights.  Noise in the problem is shorter
    only where `lam` is small and epsilon large: there the finished weights can move far.

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(40000.0).reshape(10000, 4) % 97 / 97
    >>> domain = ps.Domain.box(0.0, 1.0, classes=(0, 1))
    >>> made = ps.ObjectiveFWELL(1, epsilon=4, domain=domain).fit(X, X[:, 2] > 0.5)
    >>> made.weights_.shape, int(made.weights_.argmax())
    ((4,), 2)
    """

    method = "objective-fwell"


@estimator
class FELP(WeightSelector, EnsembleOptions):
    """Release the mean of weights over an ensemble, under differential privacy.

    As `OutputFWELL`, whose repeats it replaces by an ensemble: each member weighs columns on a part
    of the units.  It needs as many rows as `OutputFWELL` does.

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(40000.0).reshape(10000, 4) % 97 / 97
    >>> domain = ps.Domain.box(0.0, 1.0, classes=(0, 1))
    >>> made = ps.FELP("positive", epsilon=4, domain=domain).fit(X, X[:, 2] > 0.5)
    >>> made.weights_.shape, int(made.weights_.argmax())
    ((4,), 2)
    """

    method = "felp"
