"""The scikit-learn face of local learning; `estimators` says what all selectors are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from privsieve.selectors.selector import Selector

if TYPE_CHECKING:
    from privsieve.core.domain import Domain
    from privsieve.privacy.ledger import Ledger


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
