"""The scikit-learn faces of local learning; `selector` says what all selectors are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from privsieve.methods.estimator import Selector
from privsieve.public.domain import Domain
from privsieve.rows.source import fold

if TYPE_CHECKING:
    from privsieve.ledger.ledger import Ledger


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
    delta : number or text
        what it may cost beyond: less noise where many columns are chosen.
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

    method = "block-fwell"

    def __init__(
        self,
        n_features_to_select: float = 5,
        *,
        epsilon: object = None,
        delta: object = 0,
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
        self.delta = delta
        self.domain = domain
        self.ledger = ledger
        self.block = block
        self.repeats = repeats
        self.votes = votes
        self.tau = tau
        self.ordered = ordered
        self.reference = reference
        self.allow_weak = allow_weak


class Weighing(Selector):
    """A selector that releases a noisy weight of each column, and names columns by them."""

    @property
    def weights_(self) -> npt.NDArray[np.float64]:
        """The weights as they were released, in the order of the columns that were fitted."""
        check_is_fitted(self, "release_")
        values: Any = self.release_.body["values"]
        weights = np.array(values["q"], np.float64) * 2.0 ** values["exponent"]
        place = {fold(name): j for j, name in enumerate(self.release_.columns)}
        names = getattr(self, "feature_names_in_", self.release_.columns)
        found: npt.NDArray[np.float64] = weights[[place[fold(name)] for name in names]]
        return found


class OutputFWELL(Weighing):
    """Release weights of columns under differential privacy, by local learning in random blocks.

    The weights are those under which rows of another class are farther than rows of the same, found
    in blocks of few units, with noise on each.  To choose columns alone, `BlockFWELL` needs far
    fewer rows, and `RuleSieve` fewer still.

    Parameters
    ----------
    n_features_to_select : int, float or "positive"
        how many columns, which fraction of them, or those with a weight above zero (at least one).
    epsilon : number or text
        what this release costs.
    delta : number or text
        what it may cost beyond: shorter noise where there are many columns.
    domain : Domain
        the public facts about the table.
    ledger : Ledger, optional
        who keeps the sum over all releases.
    lam : number or text
        how strongly weights are held small; from 1e-6 to 1e6.
    clip : number or text, optional
        the length of a block's mean vector that counts as 1, where 1 is the range of a column;
        longer ones are shortened to it.  None: a twentieth of the root of the number of columns.
    block : int
        units of a block, from 3.
    repeats : int, optional
        how often the table is cut into blocks; free of charge.  None: by the size.
    reference : frame, path, or (X, y), optional
        public rows of the same columns with labels: each unit then looks for its hit and miss
        there, and has a vector of its own.

    Attributes
    ----------
    weights_ : array
        the released weights, in the order of the columns.

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

    def __init__(
        self,
        n_features_to_select: float | Literal["positive"] = 5,
        *,
        epsilon: object = None,
        delta: object = 0,
        domain: Domain | None = None,
        ledger: Ledger | None = None,
        lam: object = "0.1",
        clip: object = None,
        block: int = 6,
        repeats: int | None = None,
        reference: object = None,
        allow_weak: bool = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.epsilon = epsilon
        self.delta = delta
        self.domain = domain
        self.ledger = ledger
        self.lam = lam
        self.clip = clip
        self.block = block
        self.repeats = repeats
        self.reference = reference
        self.allow_weak = allow_weak


class FELP(Weighing):
    """Release the mean of weights over an ensemble, under differential privacy.

    As `OutputFWELL`, whose repeats it replaces by an ensemble: each member weighs columns on a part
    of the units.  It needs as many rows as `OutputFWELL` does.

    Parameters
    ----------
    n_features_to_select, epsilon, delta, domain, ledger, lam, clip, block, reference
        as in `OutputFWELL`.
    resamples : int
        how many members the ensemble has.
    beta : number or text
        units of a member, as a share of all: above 0, at most 1, and of few decimals.
    sampling : "balanced" or "bootstrap"
        whether members take cyclic windows of the units in a secret order, or draw units with
        repetition, which takes more noise and a fixed number of units.

    Attributes
    ----------
    weights_ : array
        the released weights, in the order of the columns.

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

    def __init__(
        self,
        n_features_to_select: float | Literal["positive"] = 5,
        *,
        epsilon: object = None,
        delta: object = 0,
        domain: Domain | None = None,
        ledger: Ledger | None = None,
        lam: object = "0.1",
        clip: object = None,
        block: int = 6,
        resamples: int = 20,
        beta: object = "0.9",
        sampling: Literal["balanced", "bootstrap"] = "balanced",
        reference: object = None,
        allow_weak: bool = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.epsilon = epsilon
        self.delta = delta
        self.domain = domain
        self.ledger = ledger
        self.lam = lam
        self.clip = clip
        self.block = block
        self.resamples = resamples
        self.beta = beta
        self.sampling = sampling
        self.reference = reference
        self.allow_weak = allow_weak
