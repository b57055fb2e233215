"""The scikit-learn faces of local learning; their options are those of the methods."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from privsieve.methods.block_fwell import BlockOptions
from privsieve.methods.estimator import Selector, estimator
from privsieve.methods.felp import EnsembleOptions
from privsieve.methods.objective_fwell import ObjectiveOptions
from privsieve.methods.output_fwell import OutputOptions
from privsieve.release import ColumnWeights
from privsieve.rows.source import fold

__all__ = ["FELP", "BlockFWELL", "ObjectiveFWELL", "OutputFWELL"]


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
