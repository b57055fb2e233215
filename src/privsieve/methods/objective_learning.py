"""The scikit-learn face of objective perturbation; `selector` says what all selectors are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from privsieve.methods.local_learning import Weighing
from privsieve.public.domain import Domain

if TYPE_CHECKING:
    from privsieve.ledger.ledger import Ledger

__all__ = ["ObjectiveFWELL"]


class ObjectiveFWELL(Weighing):
    """Release weights of columns under pure differential privacy, by noise inside of the problem.

    As `OutputFWELL`, whose noise is added to the finished weights.  Noise in the problem is shorter
    only where `lam` is small and epsilon large: there the finished weights can move far.

    Parameters
    ----------
    n_features_to_select, epsilon, domain, ledger, lam, clip, block, reference
        as in `OutputFWELL`.
    repeats : int
        how often the table is cut into blocks.

    Attributes
    ----------
    weights_ : array
        the released weights, in the order of the columns.

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

    def __init__(
        self,
        n_features_to_select: float | Literal["positive"] = 5,
        *,
        epsilon: object = None,
        domain: Domain | None = None,
        ledger: Ledger | None = None,
        lam: object = "0.1",
        clip: object = None,
        block: int = 6,
        repeats: int = 1,
        reference: object = None,
        allow_weak: bool = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.epsilon = epsilon
        self.domain = domain
        self.ledger = ledger
        self.lam = lam
        self.clip = clip
        self.block = block
        self.repeats = repeats
        self.reference = reference
        self.allow_weak = allow_weak
